//! DCTCP-SCE: a round trip of SCE echoes takes half the window, scaled by the parameter `scale_bytes`
//! (chromi/sce net/ipv4/tcp_dctcp_sce.c, June 2019; draft-morton-tsvwg-sce).

use super::{Response, SceWindow, CUT_TWICE, SCALE_BYTES, SSTHRESH_RATCHET};
use crate::cc::{AnyCc, Control, Needs, Version};

pub(in crate::cc) const CONTROL: Control = Control {
    name: "dctcp-sce",
    summary: "DCTCP's response to SCE marks (SCE tree, June 2019)",
    needs: Needs { sce: true, ..Needs::NOTHING },
    since: Version(5, 1),
    parameters: &[SCALE_BYTES, SSTHRESH_RATCHET, CUT_TWICE],
    build: |p| AnyCc::SceWindow(SceWindow::new(p, Response::HalfWindow)),
};
