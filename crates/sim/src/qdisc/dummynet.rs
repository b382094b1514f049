//! A pipe of dummynet, FreeBSD's traffic shaper, with a queue limited in bytes (FreeBSD 5 `sys/netinet/ip_dummynet.c`: `dummynet_io`,
//! `ready_event`, `SET_TICKS`).
//!
//! - A packet is accepted while the queue holds no more than the limit, whatever its own length: the queue may exceed it by one packet.
//! - Lengths are those of IP packets. A packet counts as queued until its last bit is out.
//! - A tick is that of a kernel whose clock ticks that often. At a tick the pipe's credit grows by the bits that the rate gives since the
//!   last service, and the packets that it covers leave together. Without a tick the server is ideal.
//! - Credit is lost when the queue runs empty.
//!
//! Left out: queues limited in slots, RED, WF2Q+, random losses, and the delay of the pipe, which is that of the port.

use super::parameters::{limit_bytes, tick};
use super::{Dequeued, Qdisc, QdiscStats, QueueContext, Verdict};
use crate::catalogue::{Draws, Entry};
use crate::packet::{DropCause, Packet, ETHERNET};
use crate::pool::{self, Id, Pool};
use crate::time::{serialisation, Duration, Time, NEVER, SEC};

/// dummynet's parameters. The rate is the port's.
pub const ENTRY: Entry = Entry {
    name: "dummynet",
    summary: "a pipe of FreeBSD's dummynet: tail drop by bytes, shaper",
    about: "A pipe of FreeBSD's dummynet: tail drop by bytes that tests before it adds, and a shaper; rate and limit count IP packets.",
    draws: Draws::Nothing,
    parameters: &[
        limit_bytes("Limit of the queue, bytes or `bdp`. The queue may exceed it by one packet."),
        tick("Time between ticks of the kernel's clock, at which packets leave in bursts; by default the server is ideal."),
    ],
    tc: &[],
    since: "",
};

/// A pipe and its queue.
#[derive(Clone, Debug)]
pub struct Dummynet {
    rate_bps: u64,
    limit: u64,
    /// 0: the server is ideal.
    tick: Duration,
    queue: pool::Queue,
    /// Frames.
    bytes: u64,
    /// Time at which the first packet leaves, if there is one.
    due: Time,
    /// Bits times ns per s, as of `credit_at`; 0 without a tick.
    credit: u64,
    credit_at: Time,
    stats: QdiscStats,
}

impl Dummynet {
    /// An empty one of a rate (bit/s), a limit (bytes of IP packets) and a clock tick (ns; none: an ideal server).
    #[must_use]
    pub fn new(rate_bps: u64, limit: u64, tick: Option<Duration>) -> Self {
        Self {
            rate_bps,
            limit,
            tick: tick.unwrap_or(0),
            queue: pool::Queue::default(),
            bytes: 0,
            due: NEVER,
            credit: 0,
            credit_at: 0,
            stats: QdiscStats::default(),
        }
    }

    /// Changes the rate, bit/s; the packet that is being sent leaves when it would have.
    pub fn set_rate(&mut self, rate_bps: u64) {
        self.rate_bps = rate_bps;
    }

    /// Bytes of IP packets held.
    fn held(&self) -> u64 {
        self.bytes - self.queue.len() as u64 * u64::from(ETHERNET)
    }

    /// Return when a packet of `len` bytes leaves that is first now, if its server is free from `from` on.
    fn due(&self, len: u64, from: Time) -> Time {
        if self.tick == 0 {
            return from + serialisation(len, self.rate_bps);
        }
        let lacking = cost(len).saturating_sub(self.credit);
        self.credit_at + lacking.div_ceil(self.rate_bps).div_ceil(self.tick) * self.tick
    }

    fn next(&mut self, s: &mut QueueContext) -> Dequeued {
        if self.queue.is_empty() {
            return Dequeued::Empty;
        }
        if self.due > s.now {
            return Dequeued::Wait(self.due);
        }
        let Some(id) = self.queue.pop_ahead(&s.packets) else { return Dequeued::Empty };
        let slot = &s.packets[id];
        let bytes = u64::from(slot.bytes());
        self.bytes -= bytes;
        self.stats.last_sojourn = s.now - slot.time;
        if self.tick > 0 {
            self.credit += (self.due - self.credit_at) * self.rate_bps;
            self.credit_at = self.due;
            self.credit = self.credit.saturating_sub(cost(ip_bytes(bytes)));
        }
        match self.queue.first() {
            Some(next) => self.due = self.due(ip_bytes(s.packets[next].bytes().into()), self.due),
            None => self.credit = 0,
        }
        Dequeued::Packet(id)
    }
}

/// The IP packet in a frame, bytes.
fn ip_bytes(frame: u64) -> u64 {
    frame - u64::from(ETHERNET)
}

/// Return the credit that a packet of `len` bytes takes.
fn cost(len: u64) -> u64 {
    len * 8 * SEC
}

impl Qdisc for Dummynet {
    fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict {
        if self.held() > self.limit {
            s.dropped.push((id, DropCause::Overflow));
            return Verdict::Dropped;
        }
        let now = s.now;
        let slot = &mut s.packets[id];
        slot.time = now;
        let bytes = u64::from(slot.bytes());
        if self.queue.is_empty() {
            if self.tick > 0 {
                // The kernel's time is that of its last tick.
                self.credit_at = now - now % self.tick;
            }
            self.due = self.due(ip_bytes(bytes), now);
        }
        self.bytes += bytes;
        self.queue.push(id, &mut s.packets);
        Verdict::Queued
    }

    fn release(&mut self, s: &mut QueueContext, leaving: &mut pool::Queue) -> Time {
        loop {
            match self.next(s) {
                Dequeued::Packet(id) => leaving.push(id, &mut s.packets),
                Dequeued::Wait(t) => return t,
                Dequeued::Empty => return NEVER,
            }
        }
    }

    fn dequeue(&mut self, s: &mut QueueContext) -> Dequeued {
        self.next(s)
    }

    fn peek(&mut self, s: &mut QueueContext) -> Option<u32> {
        self.queue.first().map(|id| s.packets[id].bytes())
    }

    fn for_each(&self, packets: &Pool, f: &mut dyn FnMut(&Packet)) {
        self.queue.iter(packets).for_each(f);
    }

    fn shapes_itself(&self) -> bool {
        true
    }

    fn packets(&self) -> usize {
        self.queue.len()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn stats(&self) -> &QdiscStats {
        &self.stats
    }
}

#[cfg(test)]
mod tests {
    use super::Dummynet;
    use crate::packet::{Ecn, Verdict, ETHERNET, FULL_FRAME};
    use crate::qdisc::lab::{packet, queue_context, Answer, Lab};
    use crate::qdisc::Qdisc;
    use crate::rng::Rng;
    use crate::time::{Duration, Time, MS};
    use proptest::prelude::*;

    const RATE: u64 = 12_000_000;
    const FULL: u64 = FULL_FRAME as u64 - ETHERNET as u64;

    fn lab(limit: u64, tick: Option<Duration>) -> Lab<Dummynet> {
        Lab::with(Dummynet::new(RATE, limit, tick), queue_context(Rng::for_component(1, "qdisc/q"), vec![]))
    }

    /// Times at which packets leave, until none is left.
    fn departures(lab: &mut Lab<Dummynet>) -> Vec<Time> {
        let mut found = vec![];
        loop {
            match lab.dequeue() {
                Answer::Packet(_) => found.push(lab.now),
                Answer::Wait(t) => lab.now = t,
                Answer::Empty => return found,
            }
        }
    }

    #[test]
    fn it_tests_before_it_adds() {
        let mut lab = lab(2 * FULL, None);
        lab.offer_full(0, 3, Ecn::NotEct);
        assert_eq!((lab.qdisc.packets(), lab.dropped.len()), (3, 0));
        assert_eq!(lab.offer(packet(0, 66, 9, Ecn::NotEct)), Verdict::Dropped);
        // A packet stays in the queue until its last bit is out.
        lab.now = MS;
        assert!(matches!(lab.dequeue(), Answer::Packet(_)));
        assert_eq!(lab.offer(packet(0, 66, 10, Ecn::NotEct)), Verdict::Queued);
        assert_eq!(lab.offer(packet(0, 66, 11, Ecn::NotEct)), Verdict::Dropped);
    }

    #[test]
    fn an_ideal_server_sends_ip_bytes_at_its_rate() {
        let mut lab = lab(1 << 20, None);
        lab.now = 7;
        lab.offer_full(0, 2, Ecn::NotEct);
        lab.offer(packet(0, 66, 3, Ecn::NotEct));
        // 1500 bytes take 1 ms, 52 bytes 34.7 us.
        assert_eq!(departures(&mut lab), [MS + 7, 2 * MS + 7, 2 * MS + 7 + 34_667]);
        lab.now = 10 * MS;
        lab.offer_full(0, 1, Ecn::NotEct);
        assert_eq!(departures(&mut lab), [11 * MS]);
    }

    #[test]
    fn with_a_tick_packets_leave_in_bursts() {
        let mut lab = lab(1 << 20, Some(10 * MS));
        lab.now = 3 * MS;
        // Ten packets a tick, counted from the tick before the first of them came.
        lab.offer_full(0, 25, Ecn::NotEct);
        let found = departures(&mut lab);
        assert_eq!(found, [vec![10 * MS; 10], vec![20 * MS; 10], vec![30 * MS; 5]].concat());
    }

    #[test]
    fn credit_that_no_packet_takes_is_kept_only_while_the_queue_holds_one() {
        let mut lab = lab(1 << 20, Some(10 * MS));
        lab.qdisc.set_rate(15_000_000);
        // 12.5 packets a tick.
        lab.offer_full(0, 26, Ecn::NotEct);
        assert_eq!(departures(&mut lab), [vec![10 * MS; 12], vec![20 * MS; 13], vec![30 * MS; 1]].concat());
        lab.offer_full(0, 13, Ecn::NotEct);
        assert_eq!(departures(&mut lab), [vec![40 * MS; 12], vec![50 * MS; 1]].concat());
    }

    proptest! {
        #[test]
        fn it_never_sends_more_than_its_rate_brings(
            arrivals in prop::collection::vec((0..5 * MS, 60..=FULL_FRAME), 1..200), tick in prop::option::of(1..5 * MS),
        ) {
            let mut lab = lab(20_000, tick);
            let (mut sent, mut last) = (0, 0);
            let mut serve = |lab: &mut Lab<Dummynet>, until: Time| loop {
                match lab.dequeue() {
                    Answer::Packet(p) => {
                        assert!(lab.now >= last);
                        last = lab.now;
                        sent += u64::from(p.len) - u64::from(ETHERNET);
                    }
                    Answer::Wait(t) if t <= until => lab.now = t,
                    Answer::Wait(_) | Answer::Empty => {
                        lab.now = until;
                        // A tick may be as old as itself when its credit begins to count.
                        assert!(sent * 8 <= RATE * (until + tick.unwrap_or(0)) / crate::time::SEC);
                        return;
                    }
                }
            };
            let mut now = 0;
            for (gap, len) in arrivals {
                now += gap;
                serve(&mut lab, now);
                lab.offer(packet(0, len, 0, Ecn::NotEct));
                lab.dropped.clear();
                prop_assert_eq!(lab.found(), (lab.qdisc.packets(), lab.qdisc.bytes()));
                prop_assert!(lab.qdisc.held() <= 20_000 + FULL);
            }
            serve(&mut lab, now + crate::time::SEC);
            prop_assert_eq!(lab.qdisc.packets(), 0);
        }
    }
}
