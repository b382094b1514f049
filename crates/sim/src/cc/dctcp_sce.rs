//! DCTCP-SCE: a round trip of SCE echoes takes half the window, scaled by `Stack::sce_scale_bytes`
//! (chromi/sce net/ipv4/tcp_dctcp_sce.c, June 2019; draft-morton-tsvwg-sce).

use super::sce::{Response, SceWindow};
use crate::tcp::linux::stack::Stack;

/// DCTCP-SCE on a stack.
#[must_use]
pub fn dctcp_sce(stack: &Stack) -> SceWindow {
    SceWindow::new(stack, Response::HalfWindow)
}
