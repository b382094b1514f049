//! PIE as its authors distributed it in the summer of 2013, before Linux had it: everything is counted in ticks of the kernel,
//! the delay comes from the departure rate, and each packet is dropped by a throw of its own.
//!
//! Source: the module that CeroWrt's patches for Linux 3.10 carried from 20 August 2013 ("latest cisco code"), without the
//! byte mode and ECN that CeroWrt had kept: its log says that the code of the authors had neither. The integer arithmetic,
//! 32 bits wide, is that of the source, overflows included: the bound of 2 % on a step is 1 %, and the decay misses above 1 %.

use super::peek_buffer::{Backlog, PeekByDequeue};
use super::{QdiscStats, QueueContext, Verdict};
use crate::packet::{DropCause, Packet};
use crate::pool::{Id, Pool, Queue};
use crate::refusal::Flaws;
use crate::rng::Rng;
use crate::spec::Pie2013Spec;
use crate::time::{Time, MS, SEC};

/// Bytes that must leave for an estimate of the departure rate.
const RATE_CYCLE: u32 = 5_000;
/// Backlog below which nothing is dropped, bytes.
const FLOOR: u64 = 3_000;
/// Two hundredths of `u32::MAX`, as 32 bits have it.
const STEP: u32 = u32::MAX.wrapping_mul(2) / 100;

/// State of the controller.
#[derive(Clone, Debug, Default)]
struct State {
    delay: u32,
    /// Rest of the time without drops.
    burst: u32,
    prob: u32,
    /// Bytes per tick; 0 without an estimate.
    rate: u32,
    /// Start of the measurement of the departure rate, and bytes since.
    cycle: Option<(u32, u32)>,
}

/// A queue under the PIE of 2013. Times are in ticks.
#[derive(Clone, Debug)]
pub struct Pie2013 {
    limit: usize,
    hz: u64,
    target: u32,
    tupdate: u64,
    alpha: u32,
    beta: u32,
    state: State,
    /// Time at which the controller runs next.
    next_update: u64,
    queue: Queue,
    held: Backlog,
    stats: QdiscStats,
}

impl Pie2013 {
    /// An empty queue of at most `limit` packets.
    ///
    /// # Errors
    /// Times that the clock of such ticks cannot tell.
    pub fn new(limit: usize, spec: &Pie2013Spec) -> Result<Self, Flaws> {
        let mut flaws = Flaws::default();
        // tc of that time took milliseconds.
        let ticks = |ns: u64| ns / MS * u64::from(spec.hz) / 1000;
        let (target, tupdate) = (ticks(spec.target_ns), ticks(spec.tupdate_ns));
        flaws.at_least("control.tupdate_ns", tupdate, "ticks", 1);
        flaws.done()?;
        let mut pie = Self {
            limit,
            hz: u64::from(spec.hz),
            target: target as u32,
            tupdate,
            alpha: spec.alpha,
            beta: spec.beta,
            state: State::default(),
            next_update: 1,
            queue: Queue::default(),
            held: Backlog::default(),
            stats: QdiscStats::default(),
        };
        pie.restart();
        Ok(pie)
    }

    fn ticks(&self, now: Time) -> u64 {
        now * self.hz / SEC
    }

    /// Forgets everything: the next congestion gets the burst allowance again.
    fn restart(&mut self) {
        self.state = State { burst: self.hz as u32 / 10, ..State::default() };
    }

    fn drops(&self, rng: &mut Rng) -> bool {
        let s = &self.state;
        s.burst == 0
            && !(s.delay < self.target / 2 && s.prob < u32::MAX / 5)
            && self.held.bytes >= FLOOR
            && rng.u32() < s.prob
    }

    /// A packet of `len` bytes left the queue.
    fn on_departure(&mut self, len: u32, now: u32) {
        let long = self.held.bytes >= u64::from(RATE_CYCLE);
        let s = &mut self.state;
        if long && s.cycle.is_none() {
            s.cycle = Some((now, 0));
        }
        let Some((since, bytes)) = &mut s.cycle else { return };
        *bytes += len;
        let span = now.wrapping_sub(*since);
        if *bytes < RATE_CYCLE || span == 0 {
            return;
        }
        let rate = *bytes / span;
        s.rate = if s.rate == 0 { rate } else { s.rate - (s.rate >> 3) + (rate >> 3) };
        s.cycle = long.then_some((now, 0));
        s.burst = s.burst.saturating_sub(span);
    }

    /// The controller runs.
    fn update(&mut self) {
        let backlog = self.held.bytes as u32;
        let s = &mut self.state;
        let before = s.delay;
        let delay = backlog.checked_div(s.rate).unwrap_or(0);
        // A short queue has no measurable delay.
        let mut settle = delay != 0 || backlog == 0;

        let shift = match s.prob {
            p if p < u32::MAX / 100 => 7,
            p if p < u32::MAX / 10 => 5,
            _ => 4,
        };
        let weight = |parameter: u32| (parameter * (u32::MAX / self.hz as u32)) >> shift;
        let mut delta = weight(self.alpha)
            .wrapping_mul(delay.wrapping_sub(self.target))
            .wrapping_add(weight(self.beta).wrapping_mul(delay.wrapping_sub(before))) as i32;
        if delta > STEP as i32 && s.prob >= u32::MAX / 10 {
            delta = STEP as i32;
        }
        if u64::from(delay) > self.hz / 4 {
            delta = delta.wrapping_add(STEP as i32);
        }
        let prob = s.prob.wrapping_add(delta as u32);
        s.prob = if delta > 0 && prob < s.prob {
            settle = false;
            u32::MAX
        } else if delta <= 0 && prob > s.prob {
            0
        } else {
            prob
        };
        if delay == 0 && before == 0 && settle {
            s.prob = s.prob.wrapping_mul(98) / 100;
        }
        s.delay = delay;
        let low = self.target / 2;
        if delay < low && before < low && s.prob == 0 && s.rate > 0 {
            self.restart();
        }
    }
}

impl PeekByDequeue for Pie2013 {
    #[inline]
    fn run_timers(&mut self, now: Time) {
        while self.next_update <= self.ticks(now) {
            self.update();
            self.next_update += self.tupdate;
        }
    }

    fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict {
        let full = self.held.packets >= self.limit;
        if full || self.drops(&mut s.rngs[s.port]) {
            s.dropped.push((id, if full { DropCause::Overflow } else { DropCause::Aqm }));
            return Verdict::Dropped;
        }
        let slot = &mut s.packets[id];
        slot.time = s.now;
        self.held.add(slot.bytes());
        self.queue.push(id, &mut s.packets);
        Verdict::Queued
    }

    fn next(&mut self, s: &mut QueueContext) -> Option<Id> {
        let id = self.queue.pop(&s.packets)?;
        let slot = &s.packets[id];
        self.held.remove(slot.bytes());
        self.on_departure(slot.bytes(), self.ticks(s.now) as u32);
        self.stats.last_sojourn = s.now - slot.time;
        Some(id)
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
    use super::super::lab::Lab;
    use super::super::Qdisc;
    use super::{Pie2013, State, STEP};
    use crate::packet::{DropCause, Ecn, FULL_FRAME};
    use crate::spec::{Pie2013Spec, QdiscSpec};
    use crate::time::{Time, MS, SEC};

    /// A full packet at 10 Mbit/s, ns.
    const SLOT: u64 = 1_211_200;
    const SPEC: Pie2013Spec = Pie2013Spec { target_ns: 20 * MS, tupdate_ns: 30 * MS, alpha: 2, beta: 20, hz: 10_000 };

    fn pie() -> Pie2013 {
        Pie2013::new(180, &SPEC).unwrap()
    }

    /// With a delay of `delay` ticks now, after one of `before`, at 100 bytes a tick.
    fn updated(prob: u32, delay: u32, before: u32) -> i64 {
        let mut pie = pie();
        pie.state = State { prob, rate: 100, delay: before, ..State::default() };
        pie.held.bytes = u64::from(delay) * 100;
        pie.update();
        i64::from(pie.state.prob) - i64::from(prob)
    }

    #[test]
    fn the_weights_fall_at_ten_and_at_one_percent() {
        // 429496 a tick and unit of alpha, in sixteenths and less.
        let percent = u32::MAX / 100;
        assert_eq!(updated(percent / 2, 210, 205), 6710 * 10 + 67108 * 5);
        assert_eq!(updated(5 * percent, 210, 205), 26843 * 10 + 268_435 * 5);
        assert_eq!(updated(50 * percent, 210, 205), 53687 * 10 + 536_870 * 5);
        assert_eq!(updated(50 * percent, 190, 205), -(53687 * 10 + 536_870 * 15));
    }

    #[test]
    fn a_step_is_one_percent_where_two_were_meant() {
        assert_eq!(STEP, 42_949_672);
        assert_eq!(updated(u32::MAX / 2, 1000, 205), i64::from(STEP));
        assert_eq!(updated(u32::MAX / 2, 2500, 205), i64::from(STEP));
        // Beyond 250 ms it comes on top.
        assert_eq!(updated(u32::MAX / 2, 2501, 205), 2 * i64::from(STEP));
    }

    #[test]
    fn decay_and_restart() {
        let mut pie = pie();
        pie.state = State { prob: 40_000_000, rate: 100, ..State::default() };
        pie.update();
        assert_eq!(pie.state.prob, (40_000_000 - 6710 * 200) * 98_u64 as u32 / 100);
        (0..100).for_each(|_| pie.update());
        assert_eq!((pie.state.prob, pie.state.burst, pie.state.rate), (0, 1000, 0));
        // Without a rate there was nothing to forget.
        pie.state.burst = 7;
        pie.update();
        assert_eq!(pie.state.burst, 7);
    }

    #[test]
    fn the_departure_rate_stays_below_the_truth() {
        let mut pie = pie();
        pie.held.bytes = 100_000;
        for n in 0..2000_u64 {
            pie.on_departure(FULL_FRAME, (n * SLOT / 100_000) as u32);
        }
        // 125 bytes a tick; eighths are cut off.
        assert!((120..=127).contains(&pie.state.rate), "{}", pie.state.rate);
    }

    #[test]
    fn a_short_queue_and_a_short_delay_are_spared() {
        let mut rng = crate::rng::Rng::for_component(1, "pie");
        let mut drops = |prob: u32, delay: u32, backlog: u64| {
            let mut pie = pie();
            pie.state = State { prob, delay, ..State::default() };
            pie.held.bytes = backlog;
            (0..1000).filter(|_| pie.drops(&mut rng)).count()
        };
        assert_eq!(drops(u32::MAX, 200, 2999), 0);
        assert_eq!(drops(u32::MAX, 200, 3000), 1000);
        // Below half the target nothing is dropped up to a probability of 20 %.
        assert_eq!(drops(u32::MAX / 5 - 1, 99, 9000), 0);
        assert!(drops(u32::MAX / 5, 99, 9000) > 150);
        assert!(drops(u32::MAX / 5 - 1, 100, 9000) > 150);
    }

    #[test]
    fn nothing_is_dropped_in_the_first_tenth_of_a_second_of_congestion() {
        let mut lab = Lab::new(&QdiscSpec::Pie2013 { limit_packets: 180, control: SPEC }, 1);
        let mut first: Option<Time> = None;
        while lab.now < 30 * SEC {
            lab.now += SLOT;
            lab.offer_full(0, 1 + u32::from((lab.now / SLOT).is_multiple_of(5)), Ecn::Ect0);
            lab.take();
            if !lab.dropped.is_empty() {
                first = first.or(Some(lab.now));
            }
        }
        assert!(first.is_some_and(|t| t > 100 * MS), "{first:?}");
        assert!(lab.dropped.iter().all(|(_, cause)| *cause == DropCause::Aqm));
        assert_eq!(lab.qdisc.stats().ce_marks, 0);
        let sojourn = lab.qdisc.stats().last_sojourn;
        assert!((5 * MS..40 * MS).contains(&sojourn), "{sojourn}");
    }
}
