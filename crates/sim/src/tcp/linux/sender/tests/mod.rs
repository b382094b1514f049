//! The sender against a peer that the test plays.

mod handshake;
mod pacing;
mod packets;
mod rates;
mod stream;
mod tso;

use std::sync::{Arc, Mutex};

use super::{Sender, SOURCES};
use crate::cc::{AnyCc, BoxedControl, CaState, CongestionControl, Event, Needs, RateSample, Reno, View, Window};
use crate::outbox::HostQueue;
use crate::outbox::LoneOutbox;
use crate::packet::{Verdict, ACK_FRAME, MSS};
use crate::segment::{flags, Segment};
use crate::spec::TcpSpec;
use crate::tcp::common::layout::tests::bulk_flow;
use crate::tcp::linux::stack::Stack;
use crate::time::MS;

/// A sender over a path of 20 ms, and its receiver.
pub(in crate::tcp::linux::sender) struct Pair {
    pub s: Sender,
    pub out: LoneOutbox,
}

impl Pair {
    /// The handshake is done and the initial window sent; its host's port has the `verdicts` on that.
    fn new(cc: AnyCc, needs: Needs, verdicts: &[Verdict]) -> Self {
        let spec = bulk_flow();
        let stack = Stack::from_spec(&spec.stack).unwrap();
        let mut pair = Self::of(Sender::new(0, 0, &spec, stack, cc, needs), LoneOutbox::new(SOURCES));
        pair.out.verdicts = std::iter::once(Verdict::Queued).chain(verdicts.iter().copied()).collect();
        pair.connect();
        pair
    }

    pub fn of(s: Sender, out: LoneOutbox) -> Self {
        Self { s, out }
    }

    /// Does the handshake.
    pub fn connect(&mut self) {
        self.s.connect(&mut self.out);
        self.out.take_sent();
        self.receive(1, &[], flags::SYN);
    }

    fn reno(verdicts: &[Verdict]) -> Self {
        Self::new(AnyCc::Reno(Reno), Needs::default(), verdicts)
    }

    pub fn custom(control: impl BoxedControl + 'static) -> Self {
        let needs = control.needs();
        Self::new(AnyCc::Boxed(Box::new(control)), needs, &[])
    }

    /// A packet of the receiver, 20 ms after the one before; it echoes the time of that.
    fn receive(&mut self, ack: u32, blocks: &[(u32, u32)], flags: u16) {
        let tsecr = (self.out.now / MS) as u32;
        self.out.now += 20 * MS;
        let p = self.out.ack_packet(ack, blocks, tsecr, flags);
        self.s.on_ack(&p, &mut self.out);
        self.s.let_device_take(&mut self.out);
    }

    pub fn ack(&mut self, ack: u32, blocks: &[(u32, u32)]) {
        self.receive(ack, blocks, 0);
    }

    pub fn ack_with(&mut self, ack: u32, flags: u16) {
        self.receive(ack, &[], flags);
    }
}

#[test]
fn an_ack_that_others_have_overtaken_is_not_heard() {
    // The ACKs of segments 1 to 3 have come, the last of them sent at 50 ms. Then one comes late, of this age, number and window.
    let heard = |tsval: u32, ack: u32, window: u32| {
        let mut pair = Pair::reno(&[]);
        pair.ack(4, &[]);
        let newest = Segment { tsval: 50, ..pair.out.ack_packet(4, &[], 20, 0) };
        pair.s.on_ack(&newest, &mut pair.out);
        pair.out.take_sent();
        let late = Segment { tsval, window, ..pair.out.ack_packet(ack, &[(6, 8)], 20, 0) };
        pair.s.on_ack(&late, &mut pair.out);
        let answers: Vec<_> = pair.out.take_sent().into_iter().filter(|p| p.len == ACK_FRAME as u16).collect();
        assert!(answers.iter().all(|p| (p.seq, p.tsecr) == (pair.s.view.snd_nxt, 50)));
        assert_eq!(answers.len(), usize::from(pair.s.view.sacked_out == 0));
        pair.s.view.sacked_out > 0
    };
    let window = 1000 * MSS;
    assert!(heard(49, 3, window), "a millisecond older");
    assert!(!heard(48, 3, window), "two, and it says less than was known");
    assert!(heard(0, 4, window), "a duplicate, and no older than 1.2 timeouts");
    assert!(!heard(0, 4, window + MSS), "it would change the window");
    assert!(!heard(0, 4, 0), "so would this");
}

#[test]
fn acks_that_are_not_heard_are_answered_twice_a_second() {
    let mut pair = Pair::reno(&[]);
    let newest = Segment { tsval: 50, ..pair.out.ack_packet(4, &[], 20, 0) };
    pair.s.on_ack(&newest, &mut pair.out);
    pair.out.take_sent();
    for _ in 0..1000 {
        pair.out.now += MS;
        let late = pair.out.ack_packet(3, &[], 20, 0);
        pair.s.on_ack(&late, &mut pair.out);
    }
    assert_eq!(pair.out.take_sent().iter().filter(|p| p.len == ACK_FRAME as u16).count(), 2);
}

#[test]
fn what_is_sacked_is_joined_to_what_is_before_it_and_behind_a_filled_hole() {
    let merged = |blocks: &[&[(u32, u32)]]| {
        let mut pair = Pair::reno(&[]);
        blocks.iter().for_each(|blocks| pair.ack(1, blocks));
        pair.s.buffer.merged()
    };
    assert_eq!(merged(&[&[(3, 4)]]), 0);
    assert_eq!(merged(&[&[(3, 4)], &[(3, 5)]]), 1);
    assert_eq!(merged(&[&[(4, 5)], &[(3, 5)]]), 0, "what was SACKed earlier stays alone");
    assert_eq!(merged(&[&[(3, 4)], &[(5, 6), (3, 4)], &[(3, 6)]]), 2, "the hole and what is behind it");
}

#[test]
fn without_sack_duplicate_acks_tell_of_losses() {
    let spec = TcpSpec { sack: false, ..bulk_flow() };
    let stack = Stack::from_spec(&spec.stack).unwrap();
    let s = Sender::new(0, 0, &spec, stack, AnyCc::Reno(Reno), Needs::default());
    let mut pair = Pair::of(s, LoneOutbox::new(SOURCES));
    pair.connect();
    let resent = |pair: &mut Pair, ack: u32| {
        pair.out.take_sent();
        pair.ack(ack, &[]);
        let sent = pair.out.take_sent();
        sent.iter().filter(|p| p.has(flags::RETRANSMISSION)).map(|p| p.seq).collect::<Vec<_>>()
    };
    // Segments 1 and 5 of ten are lost.
    assert_eq!(
        (resent(&mut pair, 1), pair.s.view.sacked_out),
        (vec![], 0),
        "the first after the SYN-ACK is no duplicate"
    );
    assert_eq!((resent(&mut pair, 1), resent(&mut pair, 1)), (vec![], vec![]));
    assert_eq!(resent(&mut pair, 1), [1], "the third");
    assert_eq!((pair.s.view.state, pair.s.view.sacked_out, pair.s.view.lost_out), (CaState::Recovery, 3, 1));
    let end = pair.s.rec.end();
    // An ACK that ends at the next hole: it is lost, and goes as soon as the reduction of the window lets it.
    assert!(resent(&mut pair, 5).is_empty());
    assert_eq!((pair.s.view.sacked_out, pair.s.view.lost_out), (0, 1));
    assert_eq!((0..4).flat_map(|_| resent(&mut pair, 5)).collect::<Vec<_>>(), [5]);
    assert!(resent(&mut pair, end).is_empty());
    assert_eq!((pair.s.view.state, pair.s.view.sacked_out), (CaState::Recovery, 0), "held until more is acknowledged");
    resent(&mut pair, end + 1);
    assert_eq!(pair.s.view.state, CaState::Open);
}

#[test]
fn timestamps_tell_which_syn_is_answered() {
    let spec = bulk_flow();
    let stack = Stack::from_spec(&spec.stack).unwrap();
    for (echo_ms, rtt_ms) in [(0, 1120), (1100, 20)] {
        let s = Sender::new(0, 0, &spec, stack.clone(), AnyCc::Reno(Reno), Needs::default());
        let mut pair = Pair { s, out: LoneOutbox::new(SOURCES) };
        pair.s.connect(&mut pair.out);
        assert_eq!(pair.out.take_sent().len(), 1);
        // Nothing comes, and the SYN goes again after a second: its answer or itself was lost, which the echo tells.
        for ms in 1..=1100 {
            pair.out.now = ms * MS;
            pair.s.on_timer(&mut pair.out);
        }
        assert_eq!(pair.out.take_sent().len(), 1);
        pair.out.now = 1120 * MS;
        let p = pair.out.ack_packet(1, &[], echo_ms, flags::SYN);
        pair.s.on_ack(&p, &mut pair.out);
        assert_eq!(pair.s.rtt.srtt_us8(), 8000 * rtt_ms);
    }
}

#[test]
fn a_drop_at_the_hosts_own_port_ends_the_burst_and_reduces_the_window() {
    // The ACK of the handshake and four segments are queued, the fifth is dropped.
    let verdicts = [[Verdict::Queued; 5].as_slice(), &[Verdict::Dropped]].concat();
    let Pair { s, mut out } = Pair::reno(&verdicts);
    assert_eq!(out.take_sent().len(), 6);
    assert_eq!((s.view.state, s.view.snd_nxt, s.view.packets_out, s.window.ssthresh), (CaState::Cwr, 5, 4, 5));
    assert_eq!(s.counters.sent, 7, "the SYN and the segment that was dropped count");
}

/// The handshake is done on a host with a queue of its own, and what that let be sent is taken.
fn in_small_queue(verdicts: &[Verdict]) -> (Pair, Vec<Segment>) {
    in_host_queue(HostQueue::Charges, verdicts)
}

fn in_host_queue(kind: HostQueue, verdicts: &[Verdict]) -> (Pair, Vec<Segment>) {
    let spec = bulk_flow();
    let stack = Stack::from_spec(&spec.stack).unwrap();
    let s = Sender::new(0, 0, &spec, stack, AnyCc::Reno(Reno), Needs::default());
    let mut pair = Pair { s, out: LoneOutbox::new(SOURCES) };
    pair.s.on_host_with_queue(kind);
    pair.s.connect(&mut pair.out);
    pair.out.take_sent();
    pair.out.verdicts = verdicts.iter().copied().collect();
    pair.receive(1, &[], flags::SYN);
    let data = pair.out.take_sent().into_iter().filter(|p| !p.has(flags::HANDSHAKE)).collect();
    (pair, data)
}

#[test]
fn what_waits_for_room_in_the_host_is_sent_when_a_packet_leaves() {
    let (mut pair, sent) = in_small_queue(&[]);
    assert_eq!(sent.iter().map(|p| p.seq).collect::<Vec<_>>(), [1, 2], "at 10 segments in 20 ms two may lie there");
    assert!(pair.s.on_left_host(&sent[0]));
    pair.s.on_room_in_host(&mut pair.out);
    assert_eq!(pair.out.take_sent().iter().map(|p| p.seq).collect::<Vec<_>>(), [3]);
    // Two leave at once, and with one of them nobody waits any more.
    let third = Segment { seq: 3, ..sent[1] };
    assert_eq!([sent[1], third].map(|p| pair.s.on_left_host(&p)), [true, false]);
    pair.s.on_room_in_host(&mut pair.out);
    assert_eq!(pair.out.take_sent().iter().map(|p| p.seq).collect::<Vec<_>>(), [4, 5]);
}

#[test]
fn what_still_lies_in_the_host_is_not_sent_again() {
    let (mut pair, sent) = in_small_queue(&[]);
    let timeout = |pair: &mut Pair| {
        pair.out.now = pair.out.timer(0);
        pair.s.on_timer(&mut pair.out);
        pair.out.take_sent().len()
    };
    // First the loss probe, for which there is no room, then the timeout.
    assert_eq!([timeout(&mut pair), timeout(&mut pair)], [0; 2]);
    assert_eq!((pair.s.counters.rto_timeouts, pair.s.counters.retransmits), (1, 0));
    assert!(pair.s.on_left_host(&sent[0]));
    pair.s.on_room_in_host(&mut pair.out);
    assert_eq!(pair.out.take_sent().iter().map(|p| p.seq).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_netem_holds_nothing_back_and_what_lies_there_is_not_sent_again() {
    let (mut pair, sent) = in_host_queue(HostQueue::Orphans, &[]);
    assert_eq!(sent.len(), 10, "the whole window lies there");
    let timeout = |pair: &mut Pair| {
        pair.out.now = pair.out.timer(0);
        pair.s.on_timer(&mut pair.out);
        pair.out.take_sent().iter().map(|p| p.seq).collect::<Vec<_>>()
    };
    // The loss probe has something new to send; its event moves to the timeout, which finds its segment there.
    assert_eq!([timeout(&mut pair), timeout(&mut pair), timeout(&mut pair)].concat(), [11]);
    assert_eq!((pair.s.counters.rto_timeouts, pair.s.counters.retransmits), (1, 0));
    assert!(!pair.s.on_left_host(&sent[0]), "nobody waits for that");
    assert_eq!(timeout(&mut pair), [1]);
}

#[test]
fn what_the_host_refuses_is_tried_one_by_one_every_half_second() {
    let (mut pair, sent) = in_small_queue(&[Verdict::Queued, Verdict::Dropped, Verdict::Dropped]);
    assert_eq!((sent.len(), pair.s.view.packets_out, pair.s.view.state), (1, 0, CaState::Cwr));
    let mut tries = vec![];
    while pair.s.view.packets_out == 0 {
        let before = pair.out.now;
        pair.out.now = pair.out.timer(0);
        pair.s.on_timer(&mut pair.out);
        tries.extend(pair.out.take_sent().iter().map(|p| (p.seq, (pair.out.now - before) / MS)));
    }
    let [(1, first), (1, second)] = tries[..] else { panic!("{tries:?}") };
    assert!((200..=230).contains(&first) && (500..=570).contains(&second), "{tries:?}");
}

#[test]
fn a_packet_dropped_in_the_place_of_another_reduces_the_window_as_well() {
    let (pair, sent) = in_small_queue(&[Verdict::Queued, Verdict::Queued, Verdict::Congestion]);
    assert_eq!(sent.iter().map(|p| p.seq).collect::<Vec<_>>(), [1, 2]);
    let s = &pair.s;
    assert_eq!((s.view.state, s.view.packets_out, s.rec.end(), s.window.ssthresh), (CaState::Cwr, 2, 2, 5));
}

/// Writes down what it is told.
#[derive(Clone, Debug, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl Recorder {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl CongestionControl for Recorder {
    fn init(&mut self, _: &View, _: &mut Window) {
        self.note("init");
    }
    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        self.note("ssthresh");
        w.cwnd / 2
    }
    fn cong_avoid(&mut self, _: &View, w: &mut Window, acked: u32) {
        self.note(format!("cong_avoid {acked}"));
        w.cwnd += acked;
    }
    fn undo_cwnd(&mut self, _: &View, w: &Window) -> u32 {
        self.note("undo_cwnd");
        w.cwnd
    }
    fn on_event(&mut self, _: &View, _: &mut Window, e: Event) {
        self.note(format!("{e:?}"));
    }
    fn pkts_acked(&mut self, _: &View, _: &mut Window, s: &RateSample) {
        self.note(format!("pkts_acked {} {}", s.acked, s.rtt_us));
    }
    fn on_ack(&mut self, _: &View, _: &mut Window, s: &RateSample) {
        self.note(format!("on_ack {}", s.acked));
    }
    fn on_sent(&mut self, v: &View, _: &mut Window, segments: u32) {
        self.note(format!("on_sent {segments} of {}", v.packets_out));
    }
}

impl BoxedControl for Recorder {}

#[test]
fn a_control_hears_of_everything_in_the_order_that_the_trait_says() {
    let told = Recorder::default();
    let mut pair = Pair::custom(told.clone());
    assert_eq!(told.taken(), ["init", "TxStart", "on_sent 10 of 10"]);
    pair.ack(3, &[]);
    assert_eq!(told.taken(), ["pkts_acked 2 20000", "on_ack 2", "cong_avoid 2", "on_sent 4 of 12"]);
    // Segment 3 is missing, and what was SACKed was sent with it: that may be reordering.
    pair.ack(3, &[(4, 6)]);
    let disorder = ["pkts_acked 0 40000", "on_ack 0", "State(Disorder)"];
    assert_eq!(told.taken()[..3], disorder);
    // A segment that was sent a round trip later has arrived: it is lost.
    pair.ack(3, &[(4, 15)]);
    let recovery = ["pkts_acked 0 40000", "on_ack 0", "ssthresh", "State(Recovery)", "on_sent 1 of 14"];
    assert_eq!(told.taken()[..5], recovery);
    // A timeout comes without an ACK.
    pair.out.now = pair.out.timer(0);
    while pair.s.counters.rto_timeouts == 0 {
        pair.s.on_timer(&mut pair.out);
        pair.out.now = pair.out.timer(0);
    }
    let told = told.taken();
    let lost = told.iter().position(|what| what == "State(Loss)").unwrap();
    // Nothing counts as in flight after a timeout, and the retransmission starts anew.
    assert!(told[lost + 1] == "TxStart" && told[lost + 2].starts_with("on_sent 1 of"), "{told:?}");
}

/// Sets a window and a pacing rate of its own, whatever happens.
#[derive(Debug)]
struct Stubborn {
    samples: Arc<Mutex<Vec<RateSample>>>,
}

impl CongestionControl for Stubborn {
    fn ssthresh(&mut self, _: &View, _: &Window) -> u32 {
        2
    }
    fn cong_avoid(&mut self, _: &View, _: &mut Window, _: u32) {
        unreachable!("it has a cong_control");
    }
    fn cong_control(&mut self, _: &View, w: &mut Window, s: &RateSample) {
        self.samples.lock().unwrap().push(*s);
        (w.cwnd, w.pacing_rate) = (20, 1_000_000);
    }
}

impl BoxedControl for Stubborn {
    fn needs(&self) -> Needs {
        Needs { cong_control: true, ..Needs::default() }
    }
}

#[test]
fn a_control_that_sets_the_window_is_asked_after_every_ack_and_not_overruled() {
    let samples = Arc::<Mutex<Vec<RateSample>>>::default();
    let mut pair = Pair::custom(Stubborn { samples: Arc::clone(&samples) });
    pair.ack(3, &[]);
    assert_eq!((pair.s.window.cwnd, pair.s.view.packets_out), (20, 20));
    pair.ack(3, &[(4, 6)]);
    pair.ack(3, &[(4, 15)]);
    assert_eq!((pair.s.view.state, pair.s.window.cwnd), (CaState::Recovery, 20), "PRR does not reduce it");
    // Recovery ends: the window does not become the threshold.
    let end = pair.s.view.snd_nxt;
    pair.ack(end, &[]);
    assert_eq!((pair.s.view.state, pair.s.window.cwnd, pair.s.window.ssthresh), (CaState::Open, 20, 2));
    assert_eq!(pair.s.window.pacing_rate, 1_000_000);
    let samples = samples.lock().unwrap();
    let [first, .., lossy, _] = samples[..] else { panic!("four ACKs") };
    assert_eq!((samples.len(), first.acked, first.delivered, first.prior_in_flight), (4, 2, 2, 10));
    assert_eq!((lossy.acked, lossy.delivered, lossy.losses), (0, 9, 1));
}

/// An ACK for everything sent advertises so many bytes.
fn advertise(pair: &mut Pair, bytes: u32) {
    let mut p = pair.out.ack_packet(pair.s.view.snd_nxt, &[], (pair.out.now / MS) as u32, 0);
    p.window = bytes;
    pair.s.on_ack(&p, &mut pair.out);
}

/// Waits for the timer; returns how long that took, ms, and what was sent.
fn wait(pair: &mut Pair) -> (u64, Vec<Segment>) {
    let began = pair.out.now;
    loop {
        let (at, _) = pair.out.next_timer().expect("a timer is set");
        pair.out.now = at;
        pair.s.on_timer(&mut pair.out);
        let sent = pair.out.take_sent();
        if !sent.is_empty() {
            return ((at - began) / MS, sent);
        }
    }
}

#[test]
fn a_closed_window_is_probed_less_and_less_often_until_it_opens() {
    let mut pair = Pair::reno(&[]);
    pair.out.now += 20 * MS;
    pair.out.take_sent();
    advertise(&mut pair, 0);
    assert!(pair.out.take_sent().is_empty());
    let rto = pair.s.rto_ticks();
    let mut taken = vec![];
    for _ in 0..5 {
        let (ms, sent) = wait(&mut pair);
        taken.push(ms);
        let probe: Vec<_> = sent.iter().map(|p| (p.seq, u32::from(p.len), p.has(flags::FIN | flags::SYN))).collect();
        assert_eq!(probe, [(10, 66, false)], "it has a number from before what is expected, and no data");
    }
    for (i, ms) in taken.iter().enumerate() {
        let expected = rto << i;
        assert!((expected..=expected + expected / 7 + 1).contains(ms), "{taken:?}, a timeout is {rto} ms");
    }
    // The answer that it is still closed: the next probe waits for the same time from then on.
    advertise(&mut pair, 0);
    let (ms, _) = wait(&mut pair);
    assert!(ms >= rto << 5, "{ms}");
    advertise(&mut pair, 3 * MSS);
    let seqs: Vec<u32> = pair.out.take_sent().iter().map(|p| p.seq).collect();
    assert_eq!(seqs, [11, 12, 13], "and the window had been halved down to the initial one");
    assert_eq!((pair.s.window.cwnd, pair.s.view.packets_out), (10, 3));
}

#[test]
fn a_probe_is_on_the_account_while_it_lies_in_the_host() {
    for kind in [HostQueue::Charges, HostQueue::Orphans] {
        let (mut pair, sent) = in_host_queue(kind, &[]);
        pair.out.now += 20 * MS;
        for p in &sent {
            pair.s.on_left_host(p);
        }
        advertise(&mut pair, 0);
        let (_, probe) = wait(&mut pair);
        assert_eq!(pair.s.small_queue.is_empty(), kind == HostQueue::Orphans);
        pair.s.on_left_host(&probe[0]);
        assert!(pair.s.small_queue.is_empty());
        assert!(!pair.s.on_left_host(&probe[0]), "what was not put on it is not taken off, as a pure ACK");
        assert!(pair.s.small_queue.is_empty());
    }
}

#[test]
fn what_limited_until_a_transfer_was_complete_does_not_depend_on_what_came_later() {
    let mut pair = Pair::reno(&[]);
    pair.out.now += 20 * MS;
    let complete = pair.out.now;
    let until_then = pair.s.limited_times(complete);
    // The last ACK comes a minute later.
    pair.out.now += 60_000 * MS;
    advertise(&mut pair, 0);
    pair.out.now += 1000 * MS;
    advertise(&mut pair, 1000 * MSS);
    assert_eq!(pair.s.limited_times(complete), until_then);
    assert!(pair.s.limited_times(pair.out.now).cwnd_us >= 60_000_000);
}

#[test]
fn what_limits_is_counted_in_the_order_of_the_kernel() {
    let mut pair = Pair::reno(&[]);
    pair.out.now += 20 * MS;
    let begun = pair.out.now;
    advertise(&mut pair, 4 * MSS);
    assert!(pair.s.chrono.is_receiver());
    pair.out.now += 30 * MS;
    advertise(&mut pair, 1000 * MSS);
    assert!(!pair.s.chrono.is_receiver());
    let times = pair.s.limited_times(pair.out.now + 5 * MS);
    assert_eq!((times.cwnd_us, times.rwnd_us, times.sndbuf_us), (25_000, 30_000, 0));
    assert_eq!(begun, 40 * MS);
}
