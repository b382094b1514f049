//! State variables: what an algorithm keeps and a scenario may record as a series. Each is declared once, beside the algorithm that it is of.

use serde_json::{json, Value};

/// Takes the values of state variables by name. A variable without a value at the moment is left out, or NaN.
pub type Tell<'a> = dyn FnMut(&str, f64) + 'a;

/// A state variable.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// Name of its series. Every algorithm that has this name means the same kind of quantity by it, in the same unit.
    pub name: &'static str,
    /// Unit; empty of plain numbers and words.
    pub unit: &'static str,
    /// Meaning in a sentence.
    pub meaning: &'static str,
    /// The words that the values 0, 1, ... stand for; empty if the values are numbers.
    pub words: &'static [&'static str],
}

impl State {
    /// A number.
    #[must_use]
    pub const fn new(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self { name, unit, meaning, words: &[] }
    }

    /// One of some words.
    #[must_use]
    pub const fn word(name: &'static str, words: &'static [&'static str], meaning: &'static str) -> Self {
        Self { name, unit: "", meaning, words }
    }

    /// True (1) or false (0).
    #[must_use]
    pub const fn flag(name: &'static str, meaning: &'static str) -> Self {
        Self::word(name, &["no", "yes"], meaning)
    }

    /// Return it as data.
    #[must_use]
    pub fn listing(&self) -> Value {
        let mut listed = json!({"name": self.name, "unit": self.unit, "meaning": self.meaning});
        if !self.words.is_empty() {
            listed["words"] = json!(self.words);
        }
        listed
    }
}

/// Return the listings of several, by the name of their algorithm.
#[must_use]
pub fn listing(several: &[(&str, &[State])]) -> Value {
    let listed = |states: &[State]| json!(states.iter().map(State::listing).collect::<Vec<_>>());
    several.iter().map(|(name, states)| ((*name).to_owned(), listed(states))).collect::<serde_json::Map<_, _>>().into()
}

/// Microseconds as ms; none of the largest number, which stands for no measurement.
pub(crate) fn ms_of_us(us: u32) -> f64 {
    if us == u32::MAX || us == 0x7fff_ffff {
        f64::NAN
    } else {
        f64::from(us) / 1e3
    }
}
