//! netem that delays: every packet is held for a constant time (Linux 6.12 net/sched/sch_netem.c: `netem_enqueue`, `netem_dequeue`; with a
//! tick Linux 2.6.18 of the same name, include/net/pkt_sched.h, net/sched/Kconfig).
//!
//! - It drops an arriving packet while it holds as many as its limit. The first packet leaves once its time has come, because the timer
//!   that waits for it is exact.
//! - A tick is that of kernels without timers of high resolution (before 2.6.22), whose clock ticks that often. Times are in whole
//!   microseconds (the clock `gettimeofday`, the default of 2.6.18), and a packet must be more than due. The timer comes at a tick. It is
//!   set to the delay rounded up, and set again if that was too early, so that it finds the packet at the first tick at which the packet
//!   may leave. Anyone who asks earlier, the next arriving packet or a link that is free again, finds the packet as well.
//! - On a host it takes packets off the account of their connection when they come (`skb_orphan_partial`), but TCP still sees that they are
//!   there: `tcp/linux/sender/output/small_queue`.
//!
//! Left out: loss, duplication, corruption, reordering, jitter and a rate (all these belong to links: `port/faults`), slots, a discipline
//! inside; with a tick the clocks `jiffies` and `cpu`, which were other choices when the kernel was built.

use super::parameters::{limit_packets, tick, MOST_DELAY_NS};
use super::peek_buffer::{Backlog, PeekByDequeue};
use super::{Dequeued, QdiscStats, QueueContext, Verdict};
use crate::catalogue::{Draws, Entry, Feature, Kind, Parameter};
use crate::packet::{DropCause, Packet};
use crate::pool::{Id, Pool, Queue};
use crate::time::{Duration, Time, US};

/// netem's parameters.
pub const ENTRY: Entry = Entry {
    name: "netem",
    summary: "delays every packet by the same time; tail drop by packets",
    about: "netem that delays (Linux netem): it holds every packet for the same time, and drops packets that come while it is full.",
    draws: Draws::Nothing,
    parameters: &[
        Parameter::new("delay", Kind::Duration, "delay_ns", "Delay of each packet; not part of the path's `rtt`.")
            .at_least(1)
            .at_most(MOST_DELAY_NS)
            .example("20ms")
            .tc("delay {}us"),
        Parameter {
            meaning: "Maximum number of packets (or `bdp`), with those that are held for the delay.",
            ..limit_packets().or_number(1000)
        },
        tick(
            "Time between clock ticks of a kernel before 2.6.22, at which packets leave in bursts; by default timers are exact.",
        )
        .needs(Feature::NetemTick),
    ],
    tc: &["limit", "delay"],
    since: "2.6.7",
};

/// Packets that wait until their time has come.
#[derive(Clone, Debug)]
pub struct Netem {
    delay: Duration,
    limit: usize,
    /// Tick of the kernel's clock; `None` if timers are exact.
    tick: Option<Duration>,
    queue: Queue,
    held: Backlog,
    /// Time of the timer that waits for the first packet, if there is one.
    timer: Time,
    stats: QdiscStats,
}

impl Netem {
    /// An empty one of a delay (ns), a limit (packets) and a clock tick (ns; none: exact timers).
    #[must_use]
    pub fn new(delay: Duration, limit: usize, tick: Option<Duration>) -> Self {
        let (queue, held, stats) = (Queue::default(), Backlog::default(), QdiscStats::default());
        Self { delay, limit, tick, queue, held, timer: 0, stats }
    }

    /// Return when a packet that came at `arrival` may leave, and the time of the timer that waits for it.
    fn due(&self, arrival: Time) -> (Time, Time) {
        let Some(tick) = self.tick else { return (arrival + self.delay, arrival + self.delay) };
        let due = (arrival / US + self.delay / US + 1) * US;
        (due, due.next_multiple_of(tick))
    }
}

impl PeekByDequeue for Netem {
    fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict {
        if self.held.packets >= self.limit {
            s.dropped.push((id, DropCause::Overflow));
            return Verdict::Dropped;
        }
        let slot = &mut s.packets[id];
        slot.time = s.now;
        self.held.add(slot.bytes());
        self.queue.push(id, &mut s.packets);
        Verdict::Queued
    }

    fn next(&mut self, s: &mut QueueContext) -> Option<Id> {
        let slot = &s.packets[self.queue.first()?];
        let (due, timer) = self.due(slot.time);
        if due > s.now {
            self.timer = timer;
            return None;
        }
        self.held.remove(slot.bytes());
        self.stats.last_sojourn = s.now - slot.time;
        self.queue.pop_ahead(&s.packets)
    }

    fn without_next(&self) -> Dequeued {
        if self.queue.is_empty() {
            Dequeued::Empty
        } else {
            Dequeued::Wait(self.timer)
        }
    }

    fn backlog(&mut self) -> &mut Backlog {
        &mut self.held
    }

    fn held(&self) -> Backlog {
        self.held
    }

    fn for_each(&self, packets: &Pool, f: &mut dyn FnMut(&Packet)) {
        self.queue.iter(packets).for_each(f);
    }

    fn stats(&self) -> &QdiscStats {
        &self.stats
    }
}

#[cfg(test)]
mod tests {
    use super::Netem;
    use crate::packet::{DropCause, Ecn, Verdict, FULL_FRAME};
    use crate::qdisc::lab::{packet, queue_context, Answer, Lab};
    use crate::qdisc::{PeekBuffer, Qdisc};
    use crate::rng::Rng;
    use crate::time::{Duration, Time, MS, US};
    use proptest::prelude::*;

    type Delaying = Lab<PeekBuffer<Netem>>;

    fn lab(delay: Duration, limit: usize, tick: Option<Duration>) -> Delaying {
        let netem = PeekBuffer::new(Netem::new(delay, limit, tick));
        Lab::with(netem, queue_context(Rng::for_component(1, "qdisc/q"), vec![]))
    }

    /// Times at which packets leave that are asked for by the timer alone, until none is left.
    fn departures(lab: &mut Delaying) -> Vec<Time> {
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
    fn each_packet_leaves_to_the_nanosecond_when_its_time_has_come() {
        let mut lab = lab(100 * MS, 1000, None);
        for at in [0, 1, 7 * MS] {
            lab.now = at;
            lab.offer_full(0, 2, Ecn::NotEct);
        }
        lab.now = 100 * MS - 1;
        assert!(matches!(lab.dequeue(), Answer::Wait(t) if t == 100 * MS));
        let due = [100 * MS, 100 * MS + 1, 107 * MS].map(|t| [t, t]).concat();
        assert_eq!(departures(&mut lab), due);
        assert_eq!((lab.qdisc.stats().last_sojourn, lab.sojourn), (100 * MS, 100 * MS));
    }

    #[test]
    fn what_comes_while_it_is_full_is_refused() {
        let mut lab = lab(MS, 2, None);
        lab.offer_full(0, 2, Ecn::NotEct);
        assert_eq!(lab.offer(packet(0, 66, 9, Ecn::NotEct)), Verdict::Dropped);
        assert_eq!((lab.dropped.len(), lab.dropped[0].1, lab.qdisc.packets()), (1, DropCause::Overflow, 2));
        // One that a token bucket has looked at is still held.
        lab.now = MS;
        assert_eq!(lab.peek(), Some(FULL_FRAME));
        assert_eq!(lab.offer(packet(0, 66, 10, Ecn::NotEct)), Verdict::Dropped);
        assert!(matches!(lab.dequeue(), Answer::Packet(_)));
        assert_eq!(lab.offer(packet(0, 66, 11, Ecn::NotEct)), Verdict::Queued);
    }

    #[test]
    fn a_bucket_sees_nothing_before_its_time() {
        let mut lab = lab(MS, 10, None);
        lab.offer_full(0, 1, Ecn::NotEct);
        assert_eq!(lab.peek(), None);
        lab.now = MS;
        assert_eq!((lab.peek(), lab.qdisc.packets()), (Some(FULL_FRAME), 1));
    }

    #[test]
    fn the_timer_comes_at_the_first_tick_at_which_a_packet_is_more_than_due() {
        let leaves = |arrival: Time, delay: Duration, tick: Duration| {
            let mut lab = lab(delay, 9, Some(tick));
            lab.now = arrival;
            lab.offer_full(0, 1, Ecn::NotEct);
            departures(&mut lab)[0]
        };
        assert_eq!(leaves(300 * US, 100 * MS, MS), 101 * MS);
        assert_eq!(leaves(0, 100 * MS, MS), 101 * MS, "due just at a tick, it waits for the next");
        assert_eq!(leaves(MS - 1, 100 * MS, MS), 101 * MS, "999 us: what is less is not seen");
        assert_eq!(leaves(3 * MS, 1500 * US, MS), 5 * MS);
        assert_eq!(leaves(3 * MS, 9 * MS, 10 * MS), 20 * MS);
    }

    #[test]
    fn what_asks_before_the_tick_finds_what_is_due() {
        let mut lab = lab(2 * MS, 9, Some(10 * MS));
        lab.now = MS;
        lab.offer_full(0, 1, Ecn::NotEct);
        lab.now = 3 * MS;
        assert!(matches!(lab.dequeue(), Answer::Wait(t) if t == 10 * MS));
        lab.now = 3 * MS + US;
        assert!(matches!(lab.dequeue(), Answer::Packet(_)));
        assert!(matches!(lab.dequeue(), Answer::Empty));
    }

    proptest! {
        #[test]
        fn a_packet_is_held_for_the_delay_and_up_to_a_tick_more(
            gaps in prop::collection::vec(0..5 * MS, 1..200), delay in 1..20 * MS, tick in prop::option::of(1..5 * MS),
        ) {
            let mut lab = lab(delay, usize::MAX, tick);
            let mut arrivals = vec![];
            for gap in gaps {
                lab.now += gap;
                arrivals.push(lab.now);
                lab.offer_full(0, 1, Ecn::NotEct);
            }
            lab.now = 0;
            let left = departures(&mut lab);
            prop_assert_eq!(left.len(), arrivals.len());
            for (left, arrival) in left.into_iter().zip(arrivals) {
                let held = left - arrival;
                match tick {
                    None => prop_assert_eq!(held, delay),
                    Some(tick) => {
                        prop_assert_eq!(left % tick, 0);
                        prop_assert!(held + US > delay && held <= delay + US + tick, "{}", held);
                    }
                }
            }
        }
    }
}
