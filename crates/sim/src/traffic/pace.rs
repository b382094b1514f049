//! Times at which the datagrams of a stream are sent, and their sizes. Random times and sizes come from streams of random numbers of their
//! own.

use crate::draw::Distribution;
use crate::packet::FULL_FRAME;
use crate::refusal::Flaws;
use crate::rng::Rng;
use crate::spec::{ConnectionSpec, DatagramsSpec, DistributionSpec};
use crate::time::{Time, NEVER};

/// Least frame, bytes.
const LEAST_FRAME: u64 = 64;

/// Something that is drawn again and again.
#[derive(Debug)]
struct Drawn {
    distribution: Distribution,
    rng: Rng,
}

impl Drawn {
    fn build(spec: &DistributionSpec, what: &str, stream: &str, seed: u64) -> Result<Self, Flaws> {
        let distribution = Distribution::build(spec)?;
        Ok(Self { distribution, rng: Rng::for_component(seed, &format!("datagrams/{stream}/{what}")) })
    }

    fn next(&mut self) -> u64 {
        self.distribution.draw(&mut self.rng)
    }
}

/// Times of sending and of silence.
#[derive(Debug)]
struct Bursts {
    on: Drawn,
    off: Drawn,
    /// The current one ends here.
    end: Time,
}

/// The sender of a stream.
#[derive(Debug)]
pub struct Pace {
    size: Drawn,
    interval: Drawn,
    /// One is sent as soon as a burst begins: the intervals are all the same.
    at_once: bool,
    bursts: Option<Bursts>,
    first: Time,
    /// No datagram is sent from this time on.
    stop: Time,
    /// Datagrams that may still be sent.
    left: u64,
}

impl Pace {
    /// Make a pace that has sent nothing yet; `seed` is that of the run, and `end` its end.
    ///
    /// # Errors
    /// Datagrams in no time, sizes that Ethernet does not have, and specs that are no distribution.
    pub fn build(spec: &DatagramsSpec, stream: &ConnectionSpec, seed: u64, end: Time) -> Result<Self, Flaws> {
        let mut flaws = Flaws::default();
        if let DistributionSpec::Fixed(interval) = spec.interval_ns {
            flaws.at_least("interval_ns", interval, "ns", 1);
        }
        if let DistributionSpec::Fixed(bytes) = spec.size_bytes {
            flaws.range("size_bytes", bytes, "bytes", LEAST_FRAME..=u64::from(FULL_FRAME));
        }
        flaws.done()?;
        let drawn = |spec, what| Drawn::build(spec, what, &stream.name, seed);
        let within = |field: &'static str, spec, what| Flaws::within(field, drawn(spec, what));
        let bursts = match &spec.bursts {
            None => None,
            Some(bursts) => {
                let on = within("bursts.on_ns", &bursts.on_ns, "on")?;
                let off = within("bursts.off_ns", &bursts.off_ns, "off")?;
                Some(Bursts { on, off, end: 0 })
            }
        };
        let mut pace = Self {
            size: within("size_bytes", &spec.size_bytes, "size")?,
            interval: within("interval_ns", &spec.interval_ns, "interval")?,
            at_once: matches!(spec.interval_ns, DistributionSpec::Fixed(_)),
            bursts,
            first: NEVER,
            stop: stream.stop_ns.unwrap_or(end),
            left: spec.count.unwrap_or(u64::MAX),
        };
        if let Some(bursts) = &mut pace.bursts {
            bursts.end = stream.start_ns.saturating_add(bursts.on.next().max(1));
        }
        let first = if pace.at_once { stream.start_ns } else { stream.start_ns.saturating_add(pace.interval.next()) };
        let first = pace.in_burst(first);
        pace.first = pace.or_never(first);
        Ok(pace)
    }

    /// Return when the first one is due; `NEVER` if there is none.
    #[must_use]
    pub fn first(&self) -> Time {
        self.first
    }

    /// One is sent now: its size in bytes, and when the next is due, `NEVER` if none is.
    pub fn send(&mut self, now: Time) -> (u16, Time) {
        self.left -= 1;
        let size = self.size.next().clamp(LEAST_FRAME, u64::from(FULL_FRAME)) as u16;
        let mut next = now.saturating_add(self.interval.next().max(1));
        if self.bursts.is_some() {
            next = self.in_burst(next);
        }
        (size, self.or_never(next))
    }

    /// Return the time from which nothing is sent.
    #[must_use]
    pub fn stop(&self) -> Time {
        self.stop
    }

    /// The time, or one in the next burst if the current one is over by then.
    fn in_burst(&mut self, mut at: Time) -> Time {
        while let Some(bursts) = self.bursts.as_mut().filter(|bursts| at >= bursts.end && bursts.end < self.stop) {
            let begin = bursts.end.saturating_add(bursts.off.next());
            bursts.end = begin.saturating_add(bursts.on.next().max(1));
            at = if self.at_once { begin } else { begin.saturating_add(self.interval.next()) };
        }
        at
    }

    fn or_never(&self, at: Time) -> Time {
        if at < self.stop && self.left > 0 {
            at
        } else {
            NEVER
        }
    }
}

/// Return when each datagram of a stream is sent, ns, and its size, bytes; for engines that make the traffic themselves.
///
/// # Errors
/// Those of [`Pace::build`].
pub fn listed(
    spec: &DatagramsSpec,
    stream: &ConnectionSpec,
    seed: u64,
    end: Time,
) -> Result<(Vec<Time>, Vec<u64>), Flaws> {
    let mut pace = Pace::build(spec, stream, seed, end)?;
    let (mut times, mut sizes, mut due) = (vec![], vec![], pace.first());
    while due != NEVER {
        let (size, next) = pace.send(due);
        times.push(due);
        sizes.push(u64::from(size));
        due = next;
    }
    Ok((times, sizes))
}
