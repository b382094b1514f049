//! Reno-SCE: a round trip of SCE echoes takes sqrt(W) segments, scaled by `Stack::sce_scale_bytes`
//! (chromi/sce net/ipv4/tcp_reno_sce.c, June 2019; draft-morton-tsvwg-sce).

use super::sce::{Response, SceWindow};
use crate::tcp::linux::stack::Stack;

/// Reno-SCE on a stack.
#[must_use]
pub fn reno_sce(stack: &Stack) -> SceWindow {
    SceWindow::new(stack, Response::SquareRoot { half: stack.sce_half_response })
}
