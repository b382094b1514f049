//! What befalls ports at set times: outages and changes of rate.

use std::vec::IntoIter;

use super::{Kind, Port, Shaper};
use crate::qdisc::cake;
use crate::spec::ImpairmentSpec;
use crate::time::{Time, NEVER};

/// Something that happens to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impairment {
    /// Whatever leaves its queue before this time is lost.
    OutageUntil(Time),
    /// Its shaper's rate changes to this, bit/s.
    Rate(u64),
}

/// All of a run, in order of time; those of one time in order of the description.
#[derive(Debug)]
pub struct Schedule {
    rest: IntoIter<(Time, usize, Impairment)>,
}

impl Schedule {
    /// The schedule of `ports`; an error says what cannot be.
    pub fn build(specs: &[ImpairmentSpec], ports: &[Port]) -> Result<Self, String> {
        let mut all = specs.iter().map(|spec| resolve(spec, ports)).collect::<Result<Vec<_>, _>>()?;
        all.sort_by_key(|&(at, ..)| at);
        Ok(Self { rest: all.into_iter() })
    }

    /// When the next is due.
    #[must_use]
    pub fn next(&self) -> Time {
        self.rest.as_slice().first().map_or(NEVER, |&(at, ..)| at)
    }

    /// The next that is due at `now`: the index of its port, and what it is.
    pub fn due(&mut self, now: Time) -> Option<(usize, Impairment)> {
        if self.next() > now {
            return None;
        }
        self.rest.next().map(|(_, port, what)| (port, what))
    }
}

fn resolve(spec: &ImpairmentSpec, ports: &[Port]) -> Result<(Time, usize, Impairment), String> {
    let (at, port, what) = match *spec {
        ImpairmentSpec::Outage { port, at_ns, for_ns } => {
            (at_ns, port, Impairment::OutageUntil(at_ns.saturating_add(for_ns)))
        }
        ImpairmentSpec::Rate { port, at_ns, rate_bps } => (at_ns, port, Impairment::Rate(rate_bps)),
    };
    let Some(found) = ports.get(port) else {
        return Err(format!("an impairment names port {port} of {}", ports.len()));
    };
    let Kind::Queue { shaper, .. } = &found.kind else {
        return Err(format!("port {}: an impairment befalls a delay stage; expected a queue", found.name));
    };
    let least = if matches!(shaper, Shaper::Own) { cake::LEAST_RATE_BPS } else { 1 };
    match what {
        Impairment::Rate(rate) if rate < least => {
            Err(format!("port {}: the rate becomes {rate} bit/s; at least {least}", found.name))
        }
        _ => Ok((at, port, what)),
    }
}
