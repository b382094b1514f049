//! Changes of ports at set times: outages, new rates, and packets that are chosen to be lost or to be late.

use std::vec::IntoIter;

use crate::qdisc::cake;
use crate::refusal::Flaws;
use crate::spec::{ChangeSpec, PortSpec, ShaperSpec};
use crate::time::{Time, NEVER};

/// Something that happens to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Whatever leaves its queue before this time is lost.
    OutageUntil(Time),
    /// Its shaper's rate changes to this, bit/s.
    Rate(u64),
    /// So many packets that leave it are lost, one in `every`.
    Drop {
        /// Packets to lose.
        packets: u64,
        /// One in so many.
        every: u64,
    },
    /// The next packets that leave it, so many at most, are set aside.
    Hold(u64),
    /// All that are set aside go on.
    Release,
}

/// Return all changes of a run, in order of time. Changes at one time are in order of the description.
#[derive(Debug)]
pub struct Schedule {
    rest: IntoIter<(Time, usize, Change)>,
}

impl Schedule {
    /// The schedule of what [`resolve`] made of each.
    #[must_use]
    pub fn new(mut all: Vec<(Time, usize, Change)>) -> Self {
        all.sort_by_key(|&(at, ..)| at);
        Self { rest: all.into_iter() }
    }

    /// Return the time of the next change.
    #[must_use]
    pub fn next(&self) -> Time {
        self.rest.as_slice().first().map_or(NEVER, |&(at, ..)| at)
    }

    /// Return the next change that is due at `now`: the index of its port, and the change.
    pub fn due(&mut self, now: Time) -> Option<(usize, Change)> {
        if self.next() > now {
            return None;
        }
        self.rest.next().map(|(_, port, what)| (port, what))
    }
}

/// Return the time of a change, the index of its port among `ports`, and the change; two of one that ends by itself.
///
/// # Errors
/// A change that cannot happen to that port.
pub fn resolve(spec: &ChangeSpec, ports: &[PortSpec]) -> Result<Vec<(Time, usize, Change)>, Flaws> {
    let (at, port, what) = match *spec {
        ChangeSpec::Outage { port, at_ns, for_ns } => (at_ns, port, Change::OutageUntil(at_ns.saturating_add(for_ns))),
        ChangeSpec::Rate { port, at_ns, rate_bps } => (at_ns, port, Change::Rate(rate_bps)),
        ChangeSpec::Drop { port, at_ns, packets, every } => (at_ns, port, Change::Drop { packets, every }),
        ChangeSpec::Hold { port, at_ns, packets, .. } => (at_ns, port, Change::Hold(packets.unwrap_or(u64::MAX))),
    };
    let Some(found) = ports.get(port) else {
        return Err(Flaws::one("port", format_args!("port {port} of {}", ports.len()), "one that there is"));
    };
    let PortSpec::Queue { shaper, .. } = found else {
        return Err(Flaws::one("port", "a link", "a queue"));
    };
    let mut flaws = Flaws::default();
    if let Change::Rate(rate_bps) = what {
        if matches!(shaper, ShaperSpec::Trace { .. }) {
            return Err(Flaws::one("port", "has the opportunities of a trace", "one with a rate"));
        }
        let least = if *shaper == ShaperSpec::Own { cake::LEAST_RATE_BPS } else { 1 };
        flaws.at_least("rate_bps", rate_bps, "bit/s", least);
    }
    if let Change::Drop { every, .. } = what {
        flaws.at_least("every", every, "packets", 1);
    }
    flaws.done()?;
    let mut changes = vec![(at, port, what)];
    if let ChangeSpec::Hold { for_ns, .. } = *spec {
        changes.push((at.saturating_add(for_ns), port, Change::Release));
    }
    Ok(changes)
}
