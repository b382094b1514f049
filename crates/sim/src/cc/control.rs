//! The table of congestion controls: everything that there is to know of each without running it.

use std::fmt;

use super::{AnyCc, Parameter, Parameters, CONTROLS};
use crate::catalogue::{Draws, Entry};

/// Needs of a control, which the connection fulfils.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// It works on ECN marks: every packet is ECN-capable, and the receiver echoes marks one by one (DCTCP).
    pub ecn: bool,
    /// It needs the marks counted (AccECN, RFC 9768), and takes ECT(1) for its codepoint.
    pub accecn: bool,
    /// It answers to SCE marks. Without them it works as what it is named after; that is not what asking for it means.
    pub sce: bool,
    /// It sets window and pacing rate itself after every ACK, by its `cong_control`.
    pub cong_control: bool,
    /// It reads the delivery rate of the samples ([`RateSample::rate`](super::RateSample::rate)).
    pub rate_samples: bool,
    /// It is told of every segment that is deemed lost ([`CongestionControl::on_lost`](super::CongestionControl::on_lost)). For one that needs
    /// rate samples.
    pub losses: bool,
    /// It reads of every ACK what the sender's fast path does not tell all controls (`slow_path` and the timestamps of the sample), or asks for
    /// reductions by [`Window::enters_cwr`](super::Window::enters_cwr).
    pub whole_acks: bool,
    /// It is paced, at [`Window::pacing_rate`](super::Window::pacing_rate).
    pub pacing: bool,
    /// It is told RTTs in microseconds by stacks, too, that count them in ticks (`rtt_sample` of Linux 2.6.18, later `TCP_CONG_RTT_STAMP`).
    pub rtt_stamps: bool,
    /// It draws random numbers ([`View::random_stream`](super::View::random_stream)): a run with another seed is another run.
    pub random: bool,
    /// Windows that a send buffer which grows has room for (Linux's `sndbuf_expand`).
    pub send_windows: u8,
}

impl Needs {
    /// Needs of a control that works by windows, RTTs and losses alone.
    pub const NOTHING: Self = Self {
        ecn: false,
        accecn: false,
        sce: false,
        cong_control: false,
        rate_samples: false,
        losses: false,
        whole_acks: false,
        pacing: false,
        rtt_stamps: false,
        random: false,
        send_windows: 2,
    };
}

impl Default for Needs {
    fn default() -> Self {
        Self::NOTHING
    }
}

/// A version of Linux: `Version(3, 18)` is 3.18.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u16, pub u16);

impl Version {
    /// A control that no Linux has had: every stack may have it.
    pub const ANY: Self = Self(0, 0);
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// A congestion control that can be asked for by name.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// Name in a description.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Its needs.
    pub needs: Needs,
    /// The first Linux that had it, or to which its patch applies; no earlier stack runs it. [`Version::ANY`] of one that none has had.
    pub since: Version,
    /// Parameters that a description may set.
    pub parameters: &'static [Parameter],
    /// Makes one for a connection.
    pub build: fn(&Parameters) -> AnyCc,
}

impl Control {
    /// Its entry of the catalogue, as data.
    #[must_use]
    pub fn listing(&self) -> serde_json::Value {
        let Self { name, summary, parameters, .. } = *self;
        let draws = if self.needs.random { Draws::Hash } else { Draws::Nothing };
        let mut listed = Entry { draws, ..Entry::plain(name, summary, summary, parameters) }.listing();
        if self.since != Version::ANY {
            listed["since"] = self.since.to_string().into();
        }
        listed
    }
}

/// The control of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Control> {
    CONTROLS.iter().find(|control| control.name == name)
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::catalogue::{Kind, Preset};
    use crate::cc::STATES;

    #[test]
    fn every_control_can_be_built_from_its_defaults() {
        for control in CONTROLS {
            // A parameter that the constructor reads and the table lacks would panic.
            (control.build)(&Parameters::resolve(control.parameters, &[], &Map::new()).unwrap());
            assert!(find(control.name).is_some_and(|found| found.summary == control.summary));
        }
        assert!(find("vegas2").is_none());
    }

    #[test]
    fn state_is_of_controls_that_there_are() {
        for (name, states) in STATES {
            assert!(find(name).is_some(), "{name}");
            assert!(!states.is_empty(), "{name}");
        }
    }

    #[test]
    fn defaults_are_values_that_the_parameters_take_and_names_are_unique() {
        for control in CONTROLS {
            for (i, parameter) in control.parameters.iter().enumerate() {
                let within = |number| parameter.least.unwrap() <= number && number <= parameter.most.unwrap();
                let fits = match (parameter.kind, parameter.preset) {
                    (Kind::Flag, Preset::Flag(_)) => true,
                    (Kind::Integer(_), Preset::Number(number)) => within(number),
                    (Kind::Choice(words), Preset::Word(word)) => words.contains(&word),
                    _ => false,
                };
                assert!(fits && !parameter.meaning.is_empty(), "{} {}", control.name, parameter.name);
                let before = &control.parameters[..i];
                assert!(before.iter().all(|other| other.name != parameter.name), "{} {}", control.name, parameter.name);
            }
        }
    }
}
