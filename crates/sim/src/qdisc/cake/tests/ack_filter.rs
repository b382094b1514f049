//! ACKs that a cake drops because of later ones: cases worked out by hand along the kernel's loop.

use super::{limited, separate};
use crate::attachment::Blocks;
use crate::packet::{Agreed, Body, Direction, DropCause, Ecn, FlowTuple, Kind, Packet, ACK_FRAME, FULL_FRAME};
use crate::qdisc::cake::CakeTins;
use crate::qdisc::lab::{packet, queue_context, Lab};
use crate::qdisc::{Qdisc, Verdict};
use crate::rng::Rng;
use crate::segment::{flags, Options};
use crate::spec::{CakeAckFilter, CakeDiffserv, CakeIsolation, CakeMore, QdiscSpec};
use CakeAckFilter::{Aggressive, Off, On};

/// Two flows in one queue of a cake without a rate.
fn lab(ack_filter: CakeAckFilter) -> Lab<CakeTins> {
    lab_of(ack_filter, Agreed::default())
}

/// The same for flows whose ends have agreed on this.
fn lab_of(ack_filter: CakeAckFilter, agreed: Agreed) -> Lab<CakeTins> {
    let mut spec: QdiscSpec = limited(super::spec(None, CakeIsolation::Flowblind, 0), 1 << 30);
    if let QdiscSpec::Cake { more, .. } = &mut spec {
        *more = CakeMore { ack_filter, ..CakeMore::default() };
    }
    let mut rng = Rng::for_component(1, "port/q");
    let tins = CakeTins::from_spec(&spec, CakeDiffserv::Besteffort, FULL_FRAME, &mut rng).unwrap();
    let tuples = (0..2).map(|i| FlowTuple { agreed, ..separate(i) }).collect();
    Lab::with(tins, queue_context(rng, tuples))
}

/// An ACK of flow 0.
fn ack(seq: u32) -> Packet {
    let p = packet(0, ACK_FRAME, seq, Ecn::NotEct);
    let body = Body([seq, 0, 100 + seq, 50 + seq]);
    Packet { flags: p.flags | Direction::Reverse.flags(), body, ..p }
}

fn with(p: Packet, bits: u16) -> Packet {
    Packet { flags: p.flags | bits, ..p }
}

/// Offers an ACK with SACK blocks.
fn sack(lab: &mut Lab<CakeTins>, seq: u32, ranges: &[(u32, u32)]) {
    let mut blocks = Blocks::default();
    ranges.iter().for_each(|&range| blocks.push(range));
    let mut p = ack(seq);
    p.len += blocks.option_bytes() as u16;
    lab.attach(&mut p, blocks.into());
    lab.offer(p);
}

/// The numbers of the packets that were dropped since the last call.
fn dropped(lab: &mut Lab<CakeTins>) -> Vec<u32> {
    lab.dropped.drain(..).map(|(p, _)| p.number()).collect()
}

#[test]
fn of_two_needless_acks_the_older_goes() {
    let mut lab = lab(On);
    for seq in 1..=2 {
        assert_eq!(lab.offer(ack(seq)), Verdict::Queued);
    }
    assert!(lab.dropped.is_empty(), "the only older one stays");
    for seq in 3..=6 {
        assert_eq!(lab.offer(ack(seq)), Verdict::Queued);
        assert_eq!(lab.dropped.last().map(|(p, cause)| (p.number(), *cause)), Some((seq - 2, DropCause::Aqm)));
    }
    let found = lab.qdisc.classes()[0];
    assert_eq!((found.arrived_packets, found.tin.unwrap().ack_drops, found.dropped), (6, 4, 0));
    assert_eq!((lab.qdisc.packets(), lab.qdisc.bytes(), found.backlog_bytes), (2, 132, 132));
    assert_eq!(lab.found(), (2, 132));
    assert_eq!([lab.take(), lab.take(), lab.take()].map(|p| p.map(|p| p.number())), [Some(5), Some(6), None]);
    assert_eq!(lab.qdisc.memory(), 0);
}

#[test]
fn aggressively_the_one_right_before_goes_if_it_echoes_the_same() {
    let mut aggressive = lab(Aggressive);
    for seq in 1..=3 {
        aggressive.offer(ack(seq));
    }
    assert_eq!(dropped(&mut aggressive), [1, 2]);
    aggressive.offer(with(ack(4), flags::ECE));
    assert!(dropped(&mut aggressive).is_empty(), "what 3 does not echo");
    // Not next to it.
    aggressive.offer(packet(1, FULL_FRAME, 0, Ecn::NotEct));
    aggressive.offer(with(ack(5), flags::ECE));
    assert!(dropped(&mut aggressive).is_empty());
    let mut off = lab(Off);
    (1..=9).for_each(|seq| assert_eq!(off.offer(ack(seq)), Verdict::Queued));
    assert!(off.dropped.is_empty());
}

#[test]
fn the_last_ack_before_a_change_of_the_echo_stays() {
    let mut lab = lab(On);
    lab.offer(with(ack(1), flags::ECE));
    lab.offer(ack(2));
    lab.offer(ack(3));
    assert!(dropped(&mut lab).is_empty());
    lab.offer(ack(4));
    assert_eq!(dropped(&mut lab), [2]);
}

#[test]
fn what_says_more_than_an_ack_stays() {
    for bits in [flags::SYN, flags::FIN, flags::PSH, flags::ESCE] {
        let mut lab = lab(On);
        lab.offer(with(ack(1), bits));
        lab.offer(ack(2));
        lab.offer(ack(3));
        assert!(lab.dropped.is_empty(), "{bits}");
    }
    let mut lab = lab(On);
    lab.offer(ack(1));
    lab.offer(ack(2));
    lab.offer(with(ack(3), flags::SYN));
    assert!(lab.dropped.is_empty(), "a SYN does not make ACKs needless");
    // With times that lie behind the new ones, and of another flow.
    lab.offer(Packet { body: Body([4, 0, 1000, 54]), ..ack(4) });
    lab.offer(Packet { way: packet(1, 0, 0, Ecn::NotEct).way, ..ack(9) });
    assert_eq!(dropped(&mut lab), [1]);
    lab.offer(ack(6));
    assert!(dropped(&mut lab).is_empty(), "2 is the only one that goes: 4 has a later time");
}

#[test]
fn duplicates_stay_unless_the_new_one_reports_more() {
    let mut lab = lab(On);
    (0..4).for_each(|_| assert_eq!(lab.offer(ack(5)), Verdict::Queued));
    assert!(lab.dropped.is_empty());
    // Each block is covered by the next: of two ACKs like that the older goes.
    sack(&mut lab, 5, &[(7, 8)]);
    assert_eq!(dropped(&mut lab), [5]);
    let mut lab = self::lab(On);
    sack(&mut lab, 5, &[(7, 8)]);
    sack(&mut lab, 5, &[(7, 9)]);
    sack(&mut lab, 5, &[(7, 10)]);
    assert_eq!(dropped(&mut lab), [5]);
    // One that is not covered, and one that reports a duplicate.
    for kept in [(12, 13), (2, 3)] {
        let mut lab = self::lab(On);
        sack(&mut lab, 5, &[kept]);
        sack(&mut lab, 5, &[(7, 9)]);
        sack(&mut lab, 5, &[(7, 10)]);
        assert!(lab.dropped.is_empty(), "{kept:?}");
        lab.offer(ack(20));
        assert!(lab.dropped.is_empty(), "blocks are more than none");
    }
}

#[test]
fn where_both_ends_send_only_packets_without_data_go() {
    let mut lab = lab_of(On, Options::default().agreed(true));
    lab.offer(Packet { len: 500, ..ack(1) });
    lab.offer(Packet { len: 500, ..ack(2) });
    lab.offer(ack(3));
    lab.offer(ack(4));
    assert!(lab.dropped.is_empty());
    lab.offer(Packet { len: 500, ..ack(5) });
    assert_eq!(dropped(&mut lab), [3]);
    let mut lab = self::lab(Aggressive);
    (1..=4).for_each(|seq| assert_eq!(lab.offer(with(ack(seq), Kind::Datagram.flags())), Verdict::Queued));
    assert!(lab.dropped.is_empty());
}
