//! The sender against a peer that the test plays.

use super::tcb::CaState;
use super::Sender;
use crate::cc::{AnyCc, Reno};
use crate::packet::{flags, Ecn, Packet, Verdict, Way, ACK_FRAME, MSS, NO_SACK};
use crate::tcp::common::layout::tests::bulk_flow;
use crate::tcp::common::test_outbox::TestOutbox;
use crate::tcp::linux::stack::Stack;
use crate::time::MS;

/// A sender over a path of 20 ms, its handshake done; its host's port has the `verdicts` on what it sends then.
fn connected(verdicts: &[Verdict]) -> (Sender, TestOutbox) {
    let spec = bulk_flow();
    let stack = Stack::from_spec(&spec.stack).unwrap();
    let mut s = Sender::new(0, 0, &spec, stack, AnyCc::Reno(Reno), false);
    let mut out = TestOutbox::new(1);
    s.connect(&mut out);
    out.take_sent();
    out.now = 20 * MS;
    out.verdicts = verdicts.iter().copied().collect();
    let syn_ack = Packet {
        way: Way::new(0),
        len: ACK_FRAME as u16,
        seq: 1,
        window: 100 * MSS,
        tsval: 0,
        tsecr: 0,
        sack: NO_SACK,
        flags: flags::ACK | flags::SYN,
        ecn: Ecn::NotEct,
    };
    s.on_ack(&syn_ack, &mut out);
    (s, out)
}

#[test]
fn a_drop_at_the_hosts_own_port_ends_the_burst_and_reduces_the_window() {
    // The ACK of the handshake and four segments are queued, the fifth is dropped.
    let verdicts = [[Verdict::Queued; 5].as_slice(), &[Verdict::Dropped]].concat();
    let (s, mut out) = connected(&verdicts);
    assert_eq!(out.take_sent().len(), 6);
    assert_eq!((s.t.state, s.t.snd_nxt, s.t.packets_out, s.t.ssthresh), (CaState::Cwr, 5, 4, 5));
    assert_eq!(s.counters.sent, 7, "the SYN and the segment that was dropped count");
}
