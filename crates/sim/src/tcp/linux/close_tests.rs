//! Closing a transfer of one segment or a few, whatever is lost on the way.

use std::collections::VecDeque;

use proptest::prelude::*;

use crate::outbox::LoneOutbox;
use crate::packet::{Direction, MSS};
use crate::segment::{flags, Segment};
use crate::spec::TcpSpec;
use crate::tcp::common::layout::tests::bulk_flow;
use crate::tcp::linux::receiver::{self, Receiver};
use crate::tcp::linux::sender::Sender;
use crate::tcp::linux::test_ends::ends;
use crate::time::{Time, MS, SEC};

const DELAY: Time = 10 * MS;

/// Both ends of a transfer, and what is on its way between them.
pub(super) struct Path {
    out: LoneOutbox,
    s: Sender,
    r: Receiver,
    under_way: VecDeque<(Time, Segment)>,
    /// Packets that were sent, and when.
    pub sent: Vec<(Time, Segment)>,
}

impl Path {
    fn new(stack: &str, bytes: u64) -> Self {
        let mut spec = bulk_flow();
        spec.transfer_bytes = Some(bytes);
        Self::of(&spec, stack, "reno")
    }

    pub fn of(spec: &TcpSpec, stack: &str, cc: &str) -> Self {
        let (s, r, out) = ends(spec, stack, cc);
        Self { out, s, r, under_way: VecDeque::new(), sent: vec![] }
    }

    /// Runs until nothing is on its way and no timer is set; `lost` says of each packet that is sent whether it is lost.
    fn run(&mut self, lost: impl FnMut(&Segment) -> bool) {
        self.s.connect(&mut self.out);
        self.go_on(lost);
    }

    /// The same, but that the receiving end opens.
    pub fn run_download(mut self, lost: impl FnMut(&Segment) -> bool) -> Self {
        self.r = self.r.opening();
        self.r.connect(&mut self.out);
        self.go_on(lost);
        self
    }

    /// The same, but that the sending end opens.
    pub fn run_upload(mut self, lost: impl FnMut(&Segment) -> bool) -> Self {
        self.run(lost);
        self
    }

    fn go_on(&mut self, mut lost: impl FnMut(&Segment) -> bool) {
        loop {
            for p in self.out.take_sent() {
                self.sent.push((self.out.now, p));
                if !lost(&p) {
                    self.under_way.push_back((self.out.now + DELAY, p));
                }
            }
            let arrival = self.under_way.front().map(|&(time, _)| time);
            match (arrival, self.out.next_timer()) {
                (None, None) => return,
                (Some(at), timer) if timer.is_none_or(|(time, _)| at <= time) => {
                    self.out.now = at;
                    let (_, p) = self.under_way.pop_front().expect("a packet");
                    if p.is_reverse() {
                        self.s.on_ack(&p, &mut self.out);
                    } else {
                        self.r.on_packet(&p, &mut self.out);
                    }
                }
                (_, Some((time, source))) => {
                    self.out.now = time;
                    if source == receiver::SOURCES {
                        self.s.on_timer(&mut self.out);
                    } else {
                        self.r.on_timer(source, &mut self.out);
                    }
                }
                (Some(_), None) => unreachable!("an arrival is before no timer"),
            }
            assert!(self.out.now < 3600 * SEC, "it goes on and on");
        }
    }

    /// Times of the packets with these header bits, and their lengths beyond the header, ms and bytes.
    fn times(&self, bits: u16) -> Vec<(Time, u16)> {
        self.sent.iter().filter(|(_, p)| p.flags & bits == bits).map(|(t, p)| (t / MS, p.len - 66)).collect()
    }
}

/// Ten segments go at once. A FIN behind them has to wait for the window, as the eleventh segment has, unless it may exceed it.
#[test]
fn the_fin_goes_with_the_last_data_that_wait_or_alone() {
    for (stack, segments, fin) in [
        ("linux-6.12", 9, (20, 0)),
        ("linux-6.12", 10, (40, 0)),
        ("linux-6.12", 11, (40, 1448)),
        ("linux-5.1-sce", 10, (20, 0)),
        ("linux-5.1-sce", 11, (20, 1448)),
    ] {
        let mut path = Path::new(stack, segments * u64::from(MSS));
        path.run(|_| false);
        assert_eq!(path.times(flags::FIN)[0], fin);
        let last = path.sent.last().unwrap().1;
        assert!(last.has(flags::CLOSED) && !last.is_reverse());
        assert!(path.s.has_closed() && path.r.has_closed());
        assert_eq!(path.r.bytes_read(), segments * u64::from(MSS));
    }
}

/// A round trip is 20 ms: the retransmission timeout is 220 ms, that of a probe would be 240.
#[test]
fn a_lost_fin_of_the_receiver_is_sent_again_at_ever_longer_intervals() {
    let old = [220, 440, 880, 1760];
    for (stack, gaps) in [("linux-6.12", [220, 220, 440, 880]), ("linux-3.9", old), ("linux-2.6", old)] {
        let mut path = Path::new(stack, 1000);
        let mut left = 4;
        path.run(|p| {
            let hit = p.has(flags::FIN) && p.is_reverse() && left > 0;
            left -= u32::from(hit);
            hit
        });
        let sent: Vec<Time> = path.times(flags::FIN | Direction::Reverse.flags()).iter().map(|&(t, _)| t).collect();
        for (pair, gap) in sent.windows(2).zip(gaps) {
            // A timer fires up to an eighth of its time late, by the level of the wheel that it falls in.
            assert!((gap..=gap + gap / 8 + 2).contains(&(pair[1] - pair[0])), "{stack}: {sent:?}");
        }
        assert_eq!(sent.len(), 5);
        assert!(path.s.has_closed() && path.r.has_closed());
    }
}

#[test]
fn a_receiver_whose_fin_nobody_answers_gives_up() {
    let mut path = Path::new("linux-6.12", 1000);
    path.run(|p| p.has(flags::FIN) && p.is_reverse());
    let sent = path.times(flags::FIN | Direction::Reverse.flags());
    assert!((9..=12).contains(&sent.len()), "{sent:?}");
    assert!(path.r.has_closed() && !path.s.has_closed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// The transfer is read whole, both ends close, and then all is silent.
    #[test]
    fn every_transfer_closes(
        stack in prop::sample::select(vec!["linux-6.12", "linux-5.1-sce", "linux-3.9", "linux-2.6"]),
        bytes in 1..40_000_u64,
        fates in prop::collection::vec(prop::bool::weighted(0.3), 0..60),
    ) {
        let mut path = Path::new(stack, bytes);
        let mut fates = fates.into_iter();
        path.run(|_| fates.next().unwrap_or(false));
        prop_assert_eq!(path.r.bytes_read(), bytes);
        prop_assert!(path.s.has_closed() && path.r.has_closed());
        let (s, r) = (&path.s.counters, path.r.counters());
        prop_assert!(s.sent >= r.arrived && r.acks_sent >= s.acks_arrived);
    }
}
