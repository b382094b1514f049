//! Reno-SCE: a round trip of SCE echoes takes sqrt(W) segments, scaled by the parameter `scale_bytes`
//! (chromi/sce net/ipv4/tcp_reno_sce.c, June 2019; draft-morton-tsvwg-sce).

use super::{Response, SceWindow, CUT_TWICE, SCALE_BYTES, SSTHRESH_RATCHET};
use crate::cc::{AnyCc, Control, Needs, Parameter, Version};

pub(in crate::cc) const CONTROL: Control = Control {
    name: "reno-sce",
    summary: "Reno that answers SCE marks (SCE tree, June 2019)",
    needs: Needs { sce: true, ..Needs::NOTHING },
    since: Version(5, 1),
    parameters: &[
        SCALE_BYTES,
        SSTHRESH_RATCHET,
        CUT_TWICE,
        Parameter::flag("half_response", false, "answers an SCE echo half as strongly (an older form)"),
    ],
    build: |p| AnyCc::SceWindow(SceWindow::new(p, Response::SquareRoot { half: p.flag("half_response") })),
};
