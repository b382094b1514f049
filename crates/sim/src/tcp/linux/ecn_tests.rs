//! How both ends agree on ECN, whatever is lost of the handshake.

use super::close_tests::Path;
use crate::packet::{Ecn, MSS};
use crate::segment::{flags, Segment};
use crate::tcp::common::layout::tests::bulk_flow;

/// Facts about an upload or a download whose SYNs (`lost_syns`) and SYN-ACKs are lost so often: whether each SYN offers ECN, whether each
/// SYN-ACK agrees, whether data and what acknowledges them are ECN-capable.
fn negotiated(
    stack: &str,
    cc: &str,
    upload: bool,
    lost_syns: usize,
    lost_answers: usize,
) -> (Vec<bool>, Vec<bool>, bool, bool) {
    let mut spec = bulk_flow();
    (spec.ecn, spec.transfer_bytes) = (true, Some(3 * u64::from(MSS)));
    let (mut syns, mut answers) = (0, 0);
    let is_answer = |p: &Segment| p.has(flags::SYN) && (upload == p.is_reverse());
    let is_syn = |p: &Segment| p.has(flags::SYN) && !is_answer(p);
    let lost = |p: &Segment| {
        syns += usize::from(is_syn(p));
        answers += usize::from(is_answer(p));
        (is_syn(p) && syns <= lost_syns) || (is_answer(p) && answers <= lost_answers)
    };
    let path = Path::of(&spec, stack, cc);
    let sent = if upload { path.run_upload(lost) } else { path.run_download(lost) }.sent;
    let of = |which: &dyn Fn(&Segment) -> bool| sent.iter().map(|(_, p)| *p).filter(|p| which(p)).collect::<Vec<_>>();
    let offers = of(&is_syn).iter().map(|p| p.flags & flags::ECN_SETUP == flags::ECN_SETUP).collect();
    let consents = of(&is_answer).iter().map(|p| p.flags & flags::ECN_SETUP == flags::ECE).collect();
    let capable = |which: &dyn Fn(&Segment) -> bool| of(which).iter().any(|p| p.ecn() == Ecn::Ect0);
    let data = capable(&|p| u32::from(p.len) > MSS);
    let acks = capable(&|p| p.is_reverse() && !p.has(flags::SYN));
    (offers, consents, data, acks)
}

#[test]
fn ecn_is_agreed_on_and_a_syn_that_is_sent_again_does_not_offer_it() {
    for upload in [true, false] {
        let of = |stack, cc, syns, answers| negotiated(stack, cc, upload, syns, answers);
        assert_eq!(of("linux-6.12", "reno", 0, 0), (vec![true], vec![true], true, false));
        assert_eq!(of("linux-6.12", "reno", 1, 0), (vec![true, false], vec![false], false, false));
        assert_eq!(of("linux-3.9", "reno", 1, 0), (vec![true, true], vec![true], true, false));
        // DCTCP's ACKs are ECN-capable, too. Without ECN it is Reno.
        assert_eq!(of("linux-6.12", "dctcp", 0, 0), (vec![true], vec![true], true, true));
        assert_eq!(of("linux-6.12", "dctcp", 1, 0), (vec![true, false], vec![false], false, false));
    }
}

#[test]
fn the_first_syn_that_comes_decides() {
    // The SYN comes again without an offer, as its answer got lost; the answer is the same again.
    let (offers, consents, data, _) = negotiated("linux-6.12", "reno", true, 0, 1);
    assert_eq!(offers, [true, false]);
    assert!(consents.len() > 1 && consents.iter().all(|&agrees| agrees) && data);
}
