//! A kernel timer whose event stays where it is when a later deadline is set. TCP sets its timers anew with nearly every packet, and nearly
//! always to a later time: the event comes early, finds the deadline in the future and moves there. Only an earlier deadline moves it at
//! once. What costs the most, in which tick a timer really fires, is computed when the event must move and not before.

use std::cmp::Reverse;

use crate::outbox::Outbox;
use crate::time::{Time, NEVER, US};

/// How a kernel counts time, and when its timers fire.
pub(in crate::tcp) trait Ticks {
    /// The tick that a time falls in.
    fn tick(&self, time: Time) -> u64;

    /// When a tick begins.
    fn start(&self, tick: u64) -> Time;

    /// Microseconds in ticks, rounded up.
    fn in_ticks(&self, us: u64) -> u64;

    /// The tick with whose beginning a timer fires that is set in tick `now` for tick `expires`: not before `expires`. The timers of all ticks
    /// below `run` have been run when it is set.
    fn fires(&self, now: u64, run: u64, expires: u64) -> u64;

    /// The level of the wheel that such a timer is queued in; a higher level rounds ticks more coarsely. If several timers fire in a tick, those of the
    /// highest level fire first.
    fn level(&self, _now: u64, _run: u64, _expires: u64) -> u32 {
        0
    }

    /// True if the timer that was set last fires first among those of a level that fire in the same tick.
    fn is_last_set_first(&self) -> bool;
}

/// Where a timer comes among those that fire in the same tick; the minimum is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn(Reverse<u32>, Time, u32);

/// A timer on an event source of its own.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct LazyTimer {
    is_set: bool,
    /// Nobody has asked yet which tick it is set for.
    is_late: bool,
    /// The event comes when what it is queued for comes: nothing has to be computed then.
    is_exact: bool,
    /// The tick that it is queued for, or if nobody has asked yet the us from [`Self::set_at`] on. A timer that is cleared stays queued as it is, as
    /// Linux's sockets leave it (`inet_csk_clear_xmit_timer`).
    expires: u64,
    /// When it was queued for that.
    set_at: Time,
    /// The tick with whose beginning the event comes; the largest number: it is not set.
    armed: u64,
    /// A deadline that is not before this time cannot fire before the event, however its tick is rounded.
    covered_from: Time,
    /// First tick after the one in which it fired last: no timer of the ticks before it is left to run.
    run: u64,
    source: usize,
    /// Its place among those that fired when it fired last: they may all have been set again at that time, one after the other.
    place: u32,
}

impl LazyTimer {
    /// A timer that is not set.
    pub fn new(source: usize) -> Self {
        Self {
            is_set: false,
            is_late: false,
            is_exact: false,
            expires: 0,
            set_at: 0,
            armed: u64::MAX,
            covered_from: NEVER,
            run: 0,
            source,
            place: 0,
        }
    }

    /// It will fire.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.is_set
    }

    /// It will not fire, unless it is set again.
    #[inline]
    pub fn clear(&mut self) {
        self.is_set = false;
    }

    /// Sets it, in tick `now`, for tick `expires`. One that is queued for that tick stays where it is, however near the tick has come
    /// (`__mod_timer`).
    #[inline]
    pub fn set(&mut self, clock: &impl Ticks, now: u64, expires: u64, out: &mut impl Outbox) {
        if let Some(set_in) = self.queue(clock, now, expires, out) {
            self.come_earlier_separately(clock, set_in, out);
        }
    }

    /// [`Self::set`] where the event mostly has to move.
    #[inline(always)]
    pub fn set_inline(&mut self, clock: &impl Ticks, now: u64, expires: u64, out: &mut impl Outbox) {
        if let Some(set_in) = self.queue(clock, now, expires, out) {
            self.come_earlier(clock, set_in, out);
        }
    }

    /// Queues it for tick `expires`; returns the tick in which it was set for that if the event may come too late.
    #[inline(always)]
    fn queue(&mut self, clock: &impl Ticks, now: u64, expires: u64, out: &mut impl Outbox) -> Option<u64> {
        debug_assert_eq!(now, clock.tick(out.now()));
        let is_same = self.expires == expires && !self.is_late;
        if !is_same || !(self.is_set || self.is_queued(clock, out.now())) {
            (self.expires, self.is_late, self.is_exact, self.set_at) = (expires, false, false, out.now());
        }
        self.is_set = true;
        // It does not fire before the tick begins.
        (expires < self.armed).then(|| if self.set_at == out.now() { now } else { clock.tick(self.set_at) })
    }

    /// It was set for something else in between: set next, it is queued anew, for whichever tick.
    #[inline]
    pub fn requeue(&mut self) {
        (self.expires, self.is_late, self.is_exact) = (u64::MAX, false, false);
    }

    /// True if what it was queued for has not come yet, although it may have been cleared.
    #[cold]
    #[inline(never)]
    fn is_queued(&self, clock: &impl Ticks, now: Time) -> bool {
        clock.start(self.queued_until(clock)) > now
    }

    /// Moves the event to where the deadline is, the tick in `expires`, which was set in tick `set_in`, if that is earlier.
    #[inline(always)]
    fn come_earlier(&mut self, clock: &impl Ticks, set_in: u64, out: &mut impl Outbox) {
        let fires = clock.fires(set_in, self.run, self.expires);
        if fires < self.armed {
            self.arm(clock, fires, out);
        }
    }

    #[inline(never)]
    fn come_earlier_separately(&mut self, clock: &impl Ticks, set_in: u64, out: &mut impl Outbox) {
        self.come_earlier(clock, set_in, out);
    }

    /// True if a deadline `us` after `now` cannot fire before the event, so that it can be [set later](Self::set_later).
    #[inline]
    pub fn covers(&self, now: Time, us: u64) -> bool {
        now + us * US >= self.covered_from
    }

    /// Sets it for the tick in which `us` after `now` end, without asking which that is. The event must [cover](Self::covers) that, and the
    /// time must be so short that no clock rounds its tick.
    #[inline]
    pub fn set_later(&mut self, now: Time, us: u64) {
        debug_assert!(self.covers(now, us));
        (self.is_set, self.is_late, self.is_exact) = (true, true, false);
        (self.expires, self.set_at) = (us, now);
    }

    /// When it was [set later](Self::set_later), if it was, whether or not it has fired since.
    #[inline]
    pub fn set_later_at(&self) -> Option<Time> {
        self.is_late.then_some(self.set_at)
    }

    /// The tick that it is set for.
    #[inline]
    pub fn expires(&self, clock: &impl Ticks) -> Option<u64> {
        self.is_set.then(|| self.queued_for(clock).0)
    }

    /// The tick that it is queued for, and the one in which it was queued.
    #[inline]
    fn queued_for(&self, clock: &impl Ticks) -> (u64, u64) {
        let set_in = clock.tick(self.set_at);
        let expires = if self.is_late { set_in + clock.in_ticks(self.expires) } else { self.expires };
        (expires, set_in)
    }

    /// The tick with which what it is queued for comes.
    #[inline(always)]
    fn queued_until(&self, clock: &impl Ticks) -> u64 {
        let (expires, set_in) = self.queued_for(clock);
        clock.fires(set_in, self.run, expires)
    }

    /// The event has come; true if that is the deadline. Else the event moves there, if the timer is set.
    #[inline(always)]
    fn is_due(&mut self, clock: &impl Ticks, out: &mut impl Outbox) -> bool {
        if !self.is_set {
            self.disarm(out);
            return false;
        }
        let fires = if self.is_exact { self.armed } else { self.queued_until(clock) };
        if clock.start(fires) > out.now() {
            self.arm(clock, fires, out);
            return false;
        }
        true
    }

    /// The event has come: where it comes among the timers that fire now, if it fires. Then the caller takes the event away, and [fires](Self::fire)
    /// the timer when its turn has come. Else the event moves to where the deadline is.
    pub fn turn(&mut self, clock: &impl Ticks, out: &mut impl Outbox) -> Option<Turn> {
        if !self.is_due(clock, out) {
            return None;
        }
        self.note_disarmed();
        let (expires, set_in) = self.queued_for(clock);
        let level = Reverse(clock.level(set_in, self.run, expires));
        let (set_at, place) =
            if clock.is_last_set_first() { (!self.set_at, !self.place) } else { (self.set_at, self.place) };
        Some(Turn(level, set_at, place))
    }

    /// It fires, as its [turn](Self::turn) has come: it is the `place`th of those that fire now. It is not set any more.
    pub fn fire(&mut self, place: u32, clock: &impl Ticks, now: Time) {
        self.place = place;
        self.end(clock, now);
    }

    /// It has fired, and is not set any more.
    #[inline]
    fn end(&mut self, clock: &impl Ticks, now: Time) {
        self.clear();
        self.run = clock.tick(now) + 1;
    }

    /// The event has come. True if the timer fires, and then it is not set any more; else the event moves to where the deadline is.
    pub fn expired(&mut self, clock: &impl Ticks, out: &mut impl Outbox) -> bool {
        let is_due = self.is_due(clock, out);
        if is_due {
            self.end(clock, out.now());
            self.disarm(out);
        }
        is_due
    }

    /// Moves the event to where the deadline is, a tick.
    #[inline]
    fn arm(&mut self, clock: &impl Ticks, tick: u64, out: &mut impl Outbox) {
        (self.armed, self.is_exact) = (tick, true);
        // The tick that a time falls in begins up to a tick's length before it.
        self.covered_from = clock.start(tick + 1);
        out.set_timer(self.source, clock.start(tick));
    }

    /// Takes the event away.
    #[inline]
    fn disarm(&mut self, out: &mut impl Outbox) {
        self.note_disarmed();
        out.clear_timer(self.source);
    }

    #[inline]
    fn note_disarmed(&mut self) {
        (self.armed, self.is_exact, self.covered_from) = (u64::MAX, false, NEVER);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::outbox::LoneOutbox;
    use crate::tcp::bsd;
    use crate::tcp::linux::clock::Clock;
    use crate::tcp::linux::options::TimerWheel;
    use crate::time::MS;

    /// Action of a test on a timer, some time after the step before.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// Sets it so many us ahead.
        Set(u64),
        Clear,
    }

    fn step() -> impl Strategy<Value = (Time, Step)> {
        let what = prop_oneof![9 => (0u64..400_000).prop_map(Step::Set), 1 => Just(Step::Clear)];
        (0..60 * MS, what)
    }

    /// When the timer fires if its event moves with every deadline, as Linux's `__mod_timer` moves its timers. Whoever clears a timer leaves it
    /// in the wheel and takes no notice when it comes.
    fn fires_eagerly(clock: &impl Ticks, steps: &[(Time, Step)]) -> Vec<Time> {
        let (mut now, mut run, mut is_set, mut fired) = (0, 0, false, vec![]);
        let mut queued: Option<(u64, Time)> = None;
        for &(after, step) in steps {
            now += after;
            if let Some((_, due)) = queued.filter(|&(_, due)| due <= now) {
                if is_set {
                    fired.push(due);
                    run = clock.tick(due) + 1;
                }
                queued = None;
            }
            is_set = matches!(step, Step::Set(_));
            if let Step::Set(us) = step {
                let expires = clock.tick(now) + clock.in_ticks(us);
                if queued.is_none_or(|(before, _)| before != expires) {
                    queued = Some((expires, clock.start(clock.fires(clock.tick(now), run, expires))));
                }
            }
        }
        fired
    }

    /// When it fires as it is, set later where that is possible if `lazily`; and how often its event came.
    fn fires(clock: &impl Ticks, steps: &[(Time, Step)], lazily: bool) -> (Vec<Time>, usize) {
        let (mut timer, mut out, mut fired, mut events) = (LazyTimer::new(0), LoneOutbox::new(1), vec![], 0);
        let mut now = 0;
        for &(after, step) in steps {
            now += after;
            while out.timer(0) <= now {
                out.now = out.timer(0);
                events += 1;
                if timer.expired(clock, &mut out) {
                    fired.push(out.now);
                }
            }
            out.now = now;
            match step {
                Step::Set(us) if lazily && us <= 40_000 && timer.covers(now, us) => timer.set_later(now, us),
                Step::Set(us) => timer.set(clock, clock.tick(now), clock.tick(now) + clock.in_ticks(us), &mut out),
                Step::Clear => timer.clear(),
            }
            assert!(timer.is_set() != matches!(step, Step::Clear));
        }
        (fired, events)
    }

    proptest! {
        #[test]
        fn it_fires_when_one_that_moves_its_event_at_once_would(
            steps in prop::collection::vec(step(), 1..200),
            hz in prop::sample::select(vec![100, 250, 300, 1000]),
        ) {
            for wheel in [TimerWheel::Levels, TimerWheel::Slack] {
                let clock = Clock::new(hz, wheel);
                let expected = fires_eagerly(&clock, &steps);
                prop_assert_eq!(&fires(&clock, &steps, false).0, &expected);
                prop_assert_eq!(&fires(&clock, &steps, true).0, &expected);
            }
            let clock = bsd::clock::Clock::new(hz);
            let expected = fires_eagerly(&clock, &steps);
            prop_assert_eq!(&fires(&clock, &steps, true).0, &expected);
        }
    }

    #[test]
    fn its_event_comes_once_in_the_time_that_it_is_set_for_however_often_it_is_set() {
        let clock = Clock::new(1000, TimerWheel::Levels);
        // Every ms for 10 s, 200 ms ahead: it never fires.
        let steps = vec![(MS, Step::Set(200_000)); 10_000];
        let (fired, events) = fires(&clock, &steps, true);
        assert!(fired.is_empty() && (40..=60).contains(&events), "{events}");
    }
}
