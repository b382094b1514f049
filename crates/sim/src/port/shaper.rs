//! Shapers: when the next packet may leave a queue discipline.

use super::htb::Htb;
use super::media::{SharedLine, SharedMedia, Station};
use super::opportunities::Opportunities;
use super::tbf::Tbf;
use crate::catalogue::{Draws, Entry, Kind, Parameter, Preset};
use crate::pool::Queue;
use crate::qdisc::{AnyQdisc, Dequeued, Qdisc, QdiscVisitor, QueueContext};
use crate::refusal::Flaws;
use crate::spec::ShaperSpec;
use crate::time::{serialisation, Time, NEVER, SEC};

/// Every shaper that a scenario may ask for by name.
pub const SHAPERS: &[Entry] = &[LINK, super::tbf::ENTRY, super::htb::ENTRY, CAKE, DUMMYNET];

/// Store and forward.
const LINK: Entry = entry("link", "store and forward: a packet has left when its last bit has", &[], "");
/// The shaper of cake, which is part of the discipline.
const CAKE: Entry = entry("cake", "the shaper of cake, as part of cake", &[], "4.19");
/// The shaper of dummynet, which is part of the discipline.
const DUMMYNET: Entry = entry("dummynet", "the shaper of dummynet, as part of dummynet", &[], "");

/// Return the entry of a shaper.
pub(super) const fn entry(
    name: &'static str,
    summary: &'static str,
    parameters: &'static [Parameter],
    since: &'static str,
) -> Entry {
    Entry { name, summary, about: summary, draws: Draws::Nothing, parameters, tc: &[], since }
}

/// Return the bucket of a shaper, `beyond_frame` bytes larger than the largest frame by default. No bucket is smaller than the largest frame.
pub(super) const fn burst(beyond_frame: u32) -> Parameter {
    let meaning = "Size of the bucket. It has room for the largest frame at least.";
    let bucket = Parameter::new("burst", Kind::Size, "burst_bytes", meaning).or(Preset::FrameAnd(beyond_frame));
    bucket.at_least(1).example("3kB").tc("burst {}")
}

/// State of a shaper.
#[derive(Debug)]
pub enum Shaper {
    /// Store and forward: a packet is taken when the link is free, and has left one serialisation time later.
    Link {
        /// Rate, bit/s.
        rate_bps: u64,
        /// Time at which the link is free.
        free_at: Time,
    },
    /// Token bucket filter.
    Tbf(Tbf),
    /// A class of a hierarchical token bucket.
    Htb(Htb),
    /// Opportunities of a trace.
    Trace(Box<Opportunities>),
    /// A line that other ports send over, too.
    Shared(Station<SharedLine>),
    /// The qdisc shapes itself.
    Own,
}

impl Shaper {
    /// Builds a shaper of frames of `frame` bytes at most. It may join one of the `lines` that ports share.
    ///
    /// # Errors
    /// No rate, a bucket that is too small, or a rate that a shared line does not have.
    pub fn build(spec: &ShaperSpec, frame: u32, lines: &mut SharedMedia<SharedLine>) -> Result<Self, Flaws> {
        match *spec {
            ShaperSpec::Trace { ref at_ms, .. } => Ok(Self::Trace(Box::new(Opportunities::new(at_ms)?))),
            ShaperSpec::Link { rate_bps: 0 }
            | ShaperSpec::Shared { rate_bps: 0, .. }
            | ShaperSpec::Tbf { rate_bps: 0, .. }
            | ShaperSpec::Htb { rate_bps: 0, .. } => Err(Flaws::one("rate_bps", "0 bit/s", "at least 1")),
            ShaperSpec::Link { rate_bps } => Ok(Self::Link { rate_bps, free_at: 0 }),
            ShaperSpec::Tbf { rate_bps, burst_bytes } => Ok(Self::Tbf(Tbf::new(rate_bps, burst_bytes, frame)?)),
            ShaperSpec::Htb { rate_bps, burst_bytes } => Ok(Self::Htb(Htb::new(rate_bps, burst_bytes))),
            ShaperSpec::Shared { ref medium, rate_bps } => Ok(Self::Shared(SharedLine::join(lines, medium, rate_bps)?)),
            ShaperSpec::Own => Ok(Self::Own),
        }
    }

    /// Moves the packets of `qdisc` that may go by now to `leaving`, in order (see [`Self::out`]); returns when the next may, or
    /// `NEVER` if none waits.
    #[inline(always)]
    pub fn serve(&mut self, qdisc: &mut AnyQdisc, s: &mut QueueContext, leaving: &mut Queue) -> Time {
        qdisc.accept(Service { shaper: self, s, leaving })
    }

    /// The rate changes, bit/s; a trace has none, and a discipline that shapes itself has its own. True if more packets may leave now than
    /// the last call of [`Self::serve`] said.
    pub fn set_rate(&mut self, rate: u64) -> bool {
        match self {
            // A packet on the link comes out when it would have come out without the change.
            Self::Link { rate_bps, .. } => *rate_bps = rate,
            Self::Shared(station) => station.set_rate(rate),
            Self::Htb(htb) => htb.set_rate(rate),
            Self::Tbf(tbf) => {
                tbf.set_rate(rate);
                return true;
            }
            Self::Trace(_) | Self::Own => {}
        }
        false
    }

    /// Return when the last bit of a packet that was taken `now` is out.
    #[inline]
    #[must_use]
    pub fn out(&self, now: Time) -> Time {
        match self {
            Self::Link { free_at, .. } => *free_at,
            Self::Trace(line) => line.out(),
            Self::Shared(station) => station.out(),
            Self::Tbf(_) | Self::Htb(_) | Self::Own => now,
        }
    }
}

/// The state that [`Shaper::serve`] works on.
struct Service<'a> {
    shaper: &'a mut Shaper,
    s: &'a mut QueueContext,
    leaving: &'a mut Queue,
}

impl QdiscVisitor for Service<'_> {
    type Output = Time;

    #[inline(always)]
    fn visit<Q: Qdisc>(self, qdisc: &mut Q) -> Time {
        let Self { shaper, s, leaving } = self;
        let now = s.now;
        match shaper {
            // A link takes a packet out only when it is free, and asks even if there is none; a token bucket must know its length first.
            Shaper::Link { rate_bps, free_at } => {
                let next = drain(qdisc, s, leaving, |qdisc, s| {
                    if *free_at > now {
                        return Dequeued::Wait(*free_at);
                    }
                    let next = qdisc.dequeue(s);
                    if let Dequeued::Packet(id) = next {
                        *free_at = now + serialisation(u64::from(s.packets[id].bytes()), *rate_bps);
                    }
                    next
                });
                if next == NEVER {
                    qdisc.found_empty((*free_at).max(now));
                }
                next
            }
            Shaper::Tbf(tbf) => drain(qdisc, s, leaving, |qdisc, s| qdisc.dequeue_when(|len| tbf.take(len, now), s)),
            Shaper::Htb(htb) => drain(qdisc, s, leaving, |qdisc, s| {
                if htb.ready() > now {
                    return Dequeued::Wait(htb.ready());
                }
                let next = qdisc.dequeue(s);
                if let Dequeued::Packet(id) = next {
                    htb.take(s.packets[id].bytes(), now);
                }
                next
            }),
            Shaper::Trace(line) => {
                let at = if qdisc.packets() > 0 { line.ready(now) } else { line.next(false, now) };
                if at > now {
                    return at;
                }
                // One at a time: each may be out at another time.
                let next = match qdisc.dequeue(s) {
                    Dequeued::Packet(id) => {
                        line.take(s.packets[id].bytes(), now);
                        leaving.push(id, &mut s.packets);
                        line.next(qdisc.packets() > 0, now)
                    }
                    Dequeued::Wait(t) => t,
                    Dequeued::Empty => line.next(false, now),
                };
                if next == NEVER {
                    qdisc.found_empty(line.out().max(now));
                }
                next
            }
            Shaper::Shared(station) => serve_shared(station, qdisc, s, leaving),
            Shaper::Own => qdisc.release(s, leaving),
        }
    }
}

/// [`Shaper::serve`] for a line that other ports send over, too.
#[cold]
#[inline(never)]
fn serve_shared<Q: Qdisc>(
    station: &Station<SharedLine>,
    qdisc: &mut Q,
    s: &mut QueueContext,
    leaving: &mut Queue,
) -> Time {
    let now = s.now;
    let next = drain(qdisc, s, leaving, |qdisc, s| {
        if let Some(at) = station.ask(now) {
            return Dequeued::Wait(at);
        }
        let next = qdisc.dequeue(s);
        match next {
            Dequeued::Packet(id) => station.send(s.packets[id].bytes(), now),
            Dequeued::Wait(_) | Dequeued::Empty => station.rest(),
        }
        next
    });
    if qdisc.packets() == 0 {
        station.rest();
        qdisc.found_empty(station.out().max(now));
    }
    next
}

/// Moves packets from `qdisc` to `leaving` while `next` gives any.
#[inline(always)]
fn drain<Q: Qdisc>(
    qdisc: &mut Q,
    s: &mut QueueContext,
    leaving: &mut Queue,
    mut next: impl FnMut(&mut Q, &mut QueueContext) -> Dequeued,
) -> Time {
    while qdisc.packets() > 0 {
        match next(qdisc, s) {
            Dequeued::Packet(id) => leaving.push(id, &mut s.packets),
            Dequeued::Wait(t) => return t,
            Dequeued::Empty => break,
        }
    }
    NEVER
}

/// Time that `bytes` take at `rate_bps`, ns, rounded down; saturates well below overflow.
pub(super) fn tokens_for(bytes: u64, rate_bps: u64) -> i64 {
    i64::try_from(u128::from(bytes) * 8 * u128::from(SEC) / u128::from(rate_bps)).unwrap_or(i64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Ecn, FULL_FRAME};
    use crate::qdisc::lab::{packet, queue_context};
    use crate::qdisc::{Fifo, Limit};
    use crate::rng::Rng;

    #[test]
    fn link_stores_and_forwards() {
        let mut line =
            Shaper::build(&ShaperSpec::Link { rate_bps: 12_112_000 }, FULL_FRAME, &mut SharedMedia::default()).unwrap();
        let mut s = queue_context(Rng::for_component(1, "port/q"), vec![]);
        s.now = 7;
        let mut fifo = AnyQdisc::Fifo(Fifo::new(Limit::Packets(2)));
        for seq in 0..2 {
            let id = s.packets.put(packet(0, FULL_FRAME, seq, Ecn::NotEct));
            fifo.enqueue(id, &mut s);
        }
        for (seq, now, next) in [(0, 7, 1_000_007), (1, 1_000_007, NEVER)] {
            s.now = now;
            let mut leaving = Queue::default();
            assert_eq!(line.serve(&mut fifo, &mut s, &mut leaving), next);
            assert_eq!(leaving.iter(&s.packets).map(|p| p.number()).collect::<Vec<_>>(), [seq]);
            assert_eq!(line.out(s.now), now + 1_000_000);
        }
    }
}
