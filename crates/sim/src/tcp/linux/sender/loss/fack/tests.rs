//! The machine step by step, each against what Linux 3.9 net/ipv4/tcp_input.c says of that case. Segments 1..=10 leave at 1020 ms.

use serde_json::{json, Value};

use crate::cc::{AnyCc, BoxedControl, CaState, CongestionControl, Needs, Reno, View, Window};
use crate::outbox::LoneOutbox;
use crate::packet::MSS;
use crate::segment::flags;
use crate::spec::{StackSpec, TcpSpec};
use crate::tcp::common::layout::tests::bulk_flow;
use crate::tcp::linux::sender::scoreboard::mark;
use crate::tcp::linux::sender::{Pending, Sender};
use crate::tcp::linux::stack::Stack;
use crate::time::MS;

pub(super) struct Rig {
    pub s: Sender,
    pub out: LoneOutbox,
}

impl Rig {
    /// A sender of `segments`, just connected over a path of 20 ms: what the windows allow is out.
    fn new(segments: u32, options: Value) -> Self {
        let mut rig = Self::begun("linux-3.9", segments, options);
        rig.receive(1020, 1, &[], 1000, flags::SYN);
        rig
    }

    /// A sender of `segments` on a stack, whose SYN has just left.
    pub fn begun(stack: &str, segments: u32, options: Value) -> Self {
        Self::begun_on(stack, segments, options, false)
    }

    /// The same, on a host with TSO or without.
    pub fn begun_on(stack: &str, segments: u32, options: Value, tso: bool) -> Self {
        let Value::Object(options) = options else { panic!("options are a map") };
        let mut spec = TcpSpec { transfer_bytes: Some(u64::from(segments * MSS)), ..bulk_flow() };
        spec.stack = StackSpec { name: stack.into(), options };
        spec.host.tso = tso;
        spec.host.rmem[1] = 87_380;
        spec.host.wmem[1] = 65_535;
        spec.host.sndbuf = Some(1_200_000);
        let mut s =
            Sender::new(0, 0, &spec, Stack::from_spec(&spec.stack).unwrap(), AnyCc::Reno(Reno), Needs::default());
        s.close.keep_open();
        let mut rig = Self { s, out: LoneOutbox::new(1) };
        rig.out.now = 1000 * MS;
        rig.s.connect(&mut rig.out);
        rig
    }

    pub fn receive(&mut self, ms: u64, ack: u32, blocks: &[(u32, u32)], tsecr: u32, flags: u16) -> Vec<u32> {
        self.out.now = ms * MS;
        let p = self.out.ack_packet(ack, blocks, tsecr, flags);
        self.s.on_ack(&p, &mut self.out);
        self.sent()
    }

    /// An ACK that echoes what was sent 20 ms ago; returns the segments that it lets out.
    pub fn ack(&mut self, ms: u64, ack: u32, blocks: &[(u32, u32)]) -> Vec<u32> {
        self.receive(ms, ack, blocks, ms as u32 - 20, 0)
    }

    /// Runs the timer once; returns the time, ms, and the segments sent.
    pub fn timer(&mut self) -> (u64, Vec<u32>) {
        loop {
            let (time, _) = self.out.next_timer().expect("a timer is set");
            self.out.now = time;
            self.s.on_timer(&mut self.out);
            let sent = self.sent();
            if !sent.is_empty() {
                return (time / MS, sent);
            }
        }
    }

    pub fn sent(&mut self) -> Vec<u32> {
        self.out.take_sent().iter().filter(|p| !p.has(flags::HANDSHAKE)).map(|p| p.seq).collect()
    }

    pub fn lost(&self) -> Vec<u32> {
        (self.s.view.snd_una..self.s.view.snd_nxt).filter(|&s| self.s.board.get(s).marks & mark::LOST != 0).collect()
    }
}

#[test]
fn fack_counts_the_distance_and_leaves_three_segments() {
    // tcp_time_to_recover: fackets_out > reordering; tcp_update_scoreboard: fackets_out - reordering are lost.
    let mut r = Rig::new(100, json!({}));
    assert_eq!(r.ack(1040, 1, &[(4, 5)]), [1], "4 > 3; one segment is lost, and entering recovery sends one");
    assert_eq!((r.s.view.state, r.lost()), (CaState::Recovery, vec![1]));
    r.ack(1041, 1, &[(4, 7)]);
    assert_eq!(r.lost(), [1, 2, 3], "of the six below the highest SACKed the last three are spared, SACKed or not");
}

#[test]
fn three_segments_of_distance_are_disorder() {
    let mut r = Rig::new(100, json!({}));
    assert_eq!(r.ack(1040, 1, &[(3, 4)]), [11], "a new segment for the one that left");
    assert_eq!((r.s.view.state, r.lost()), (CaState::Disorder, vec![]));
}

#[test]
fn without_fack_the_number_of_sacks_counts() {
    // tcp_dupack_heuristics: sacked_out + 1.
    let mut r = Rig::new(100, json!({"loss_detection": "sack"}));
    r.ack(1040, 1, &[(8, 10)]);
    assert_eq!(r.s.view.state, CaState::Disorder);
    r.ack(1041, 1, &[(8, 11)]);
    assert_eq!((r.s.view.state, r.lost()), (CaState::Recovery, (1..8).collect()));
}

#[test]
fn reordering_raises_the_threshold_and_ends_fack() {
    let mut r = Rig::new(100, json!({}));
    r.ack(1040, 1, &[(9, 10)]);
    assert!(r.s.fack.enabled);
    r.ack(1041, 1, &[(5, 6), (9, 10)]);
    assert_eq!((r.s.fack.enabled, r.s.reordering.degree()), (false, 5), "segment 5 came late by 5");
}

#[test]
fn a_retransmission_that_was_overtaken_is_lost() {
    // tcp_mark_lost_retrans: the highest SACK is above snd_nxt at the time of the retransmission.
    let mut r = Rig::new(100, json!({}));
    assert_eq!(r.ack(1040, 1, &[(4, 11)]), [1, 2, 3, 11, 12], "7 of 10 have left, so the five of ssthresh may go");
    assert_eq!(r.lost(), [1, 2, 3]);
    assert_eq!(r.s.view.retrans_out, 3);
    assert_eq!(r.ack(1061, 1, &[(4, 12)]), [1, 2, 3, 13], "11 was sent after the three, and came first");
}

#[test]
fn holes_that_are_not_lost_are_retransmitted_when_nothing_else_is_left() {
    // tcp_xmit_retransmit_queue: forward retransmissions, in recovery alone.
    let mut r = Rig::new(6, json!({}));
    assert_eq!(r.ack(1040, 1, &[(5, 6)]), [1, 2]);
    assert_eq!(r.ack(1041, 1, &[(5, 7)]), [3, 4]);
    assert_eq!(r.lost(), [1, 2, 3]);
}

#[test]
fn early_retransmit_waits_for_a_quarter_of_the_rtt() {
    let mut r = Rig::new(3, json!({}));
    assert_eq!(r.ack(1040, 1, &[(2, 4)]), [0; 0]);
    assert_eq!(r.s.timer.pending(), Pending::EarlyRetransmit);
    assert_eq!(r.timer(), (1045, vec![1]));
    assert_eq!(r.s.view.state, CaState::Recovery);
}

#[test]
fn an_ack_ends_the_wait_of_early_retransmit() {
    let mut r = Rig::new(3, json!({}));
    r.ack(1040, 1, &[(2, 4)]);
    r.ack(1042, 4, &[]);
    assert_eq!((r.s.timer.pending(), r.s.view.packets_out), (Pending::Nothing, 0));
}

#[test]
fn early_retransmit_may_be_at_once_or_off() {
    let mut r = Rig::new(3, json!({"early_retransmit": "at-once"}));
    assert_eq!(r.ack(1040, 1, &[(2, 4)]), [1]);
    let mut r = Rig::new(3, json!({"early_retransmit": "off"}));
    assert_eq!(r.ack(1040, 1, &[(2, 4)]), [0; 0]);
    assert_eq!(r.timer(), (1240, vec![1]), "the timer set when they were sent: rtt 20 + 200 ms");
}

#[test]
fn a_spurious_timeout_costs_one_retransmission_and_half_the_window() {
    let mut r = Rig::new(100, json!({}));
    assert_eq!(r.timer(), (1240, vec![1]));
    assert_eq!((r.s.view.state, r.s.window.ssthresh), (CaState::Disorder, 5));
    let late = |r: &mut Rig, ms, ack| r.receive(ms, ack, &[], 1020, 0);
    assert_eq!(late(&mut r, 1250, 2), [11, 12], "the first ACK lets two new segments out");
    assert_eq!(r.lost(), [0; 0]);
    late(&mut r, 1251, 3);
    assert_eq!((r.s.view.state, r.s.frto_waits(), r.s.counters.retransmits), (CaState::Cwr, false, 1));
}

#[test]
fn a_sack_of_what_was_sent_since_proves_the_timeout() {
    let mut r = Rig::new(100, json!({}));
    r.timer();
    r.ack(1260, 2, &[]);
    assert_eq!(r.ack(1280, 2, &[(11, 12)]), [2, 3, 4], "conventional recovery, with three segments");
    assert_eq!((r.s.view.state, r.lost()), (CaState::Loss, [(2..11).collect(), vec![12]].concat()));
}

#[test]
fn a_timeout_without_frto_starts_from_one_segment() {
    let mut r = Rig::new(100, json!({"frto": "off"}));
    assert_eq!(r.timer(), (1240, vec![1]));
    assert_eq!((r.s.view.state, r.s.window.cwnd, r.lost().len()), (CaState::Loss, 1, 10));
    assert_eq!(r.ack(1260, 2, &[]), [2, 3], "slow start");
}

#[test]
fn a_backed_off_timeout_doubles() {
    let mut r = Rig::new(100, json!({}));
    assert_eq!(r.timer().0, 1240);
    // 440 ticks on, 1680; the slack of 440/256 allows 1681.
    assert_eq!(r.timer().0, 1681);
}

#[test]
fn old_timestamps_undo_a_reduction() {
    // tcp_try_undo_recovery: all that was out is acknowledged, by the originals.
    let mut r = Rig::new(100, json!({}));
    r.ack(1040, 1, &[(5, 6)]);
    assert_eq!(r.s.window.ssthresh, 5);
    r.receive(1045, 11, &[], 1020, 0);
    assert_eq!((r.s.view.state, r.s.counters.undos), (CaState::Open, 1));
    assert!(r.s.window.cwnd >= 10 && r.s.window.ssthresh > 1000, "{} {}", r.s.window.cwnd, r.s.window.ssthresh);
}

/// A control without a threshold.
#[derive(Debug)]
struct Unbounded;

impl BoxedControl for Unbounded {}

impl CongestionControl for Unbounded {
    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        w.ssthresh
    }
    fn cong_avoid(&mut self, _: &View, _: &mut Window, _: u32) {}
}

#[test]
fn an_undo_does_not_take_a_missing_threshold_for_a_window() {
    // tcp_undo_cwr with prior_ssthresh 0: an ECN echo has come since.
    let mut r = Rig::new(100, json!({}));
    r.s.cc = AnyCc::Boxed(Box::new(Unbounded));
    r.ack(1040, 1, &[(5, 6)]);
    r.s.undo.forget_ssthresh();
    r.receive(1045, 11, &[], 1020, 0);
    assert_eq!((r.s.view.state, r.s.counters.undos), (CaState::Open, 1));
    assert!(r.s.window.cwnd <= 20, "{}", r.s.window.cwnd);
}

#[test]
fn doubtful_acks_moderate_the_window() {
    // tcp_moderate_cwnd: in flight + reordering.
    let mut r = Rig::new(10, json!({}));
    r.s.window.cwnd = 50;
    r.ack(1040, 1, &[(3, 4)]);
    assert_eq!(r.s.window.cwnd, 9 + 3);
}

#[test]
fn an_ack_counts_once_and_only_if_the_window_was_used() {
    let mut r = Rig::new(100, json!({}));
    r.ack(1040, 3, &[]);
    assert_eq!(r.s.window.cwnd, 11);
    let mut r = Rig::new(6, json!({}));
    r.ack(1040, 3, &[]);
    assert_eq!(r.s.window.cwnd, 10, "6 in flight, 4 unused");
    let mut r = Rig::new(7, json!({}));
    r.ack(1040, 3, &[]);
    assert_eq!(r.s.window.cwnd, 11, "3 unused");
    let mut r = Rig::new(100, json!({"growth": "segments"}));
    r.ack(1040, 3, &[]);
    assert_eq!(r.s.window.cwnd, 12);
}
