//! Variation of the delay (Linux 6.12 net/sched/sch_netem.c, `tabledist`).

use super::parameters::{JITTER, MOST_ENTRIES};
use super::random::Numbers;
use super::tables::{self, SCALE};
use crate::refusal::Flaws;
use crate::rng::Rng;
use crate::spec::{JitterShape, JitterSpec};

/// A delay that varies.
#[derive(Clone, Debug)]
pub(super) struct Jitter {
    deviation: i64,
    numbers: Numbers,
    /// `None` for a uniform distribution.
    table: Option<Vec<i16>>,
}

impl Jitter {
    /// Build the jitter that `spec` describes.
    ///
    /// # Errors
    /// A `spec` that netem cannot do.
    pub fn build(spec: &JitterSpec, rng: Rng) -> Result<Self, Flaws> {
        let mut flaws = JITTER.check(spec).err().unwrap_or_default();
        let table = match &spec.shape {
            JitterShape::Uniform => None,
            JitterShape::Normal => Some(tables::normal()),
            JitterShape::Pareto => Some(tables::pareto()),
            JitterShape::Paretonormal => Some(tables::paretonormal()),
            JitterShape::Table(entries) => {
                flaws.range("shape", entries.len(), "entries", 1..=MOST_ENTRIES);
                Some(entries.clone())
            }
        };
        flaws.done()?;
        Ok(Self { deviation: spec.deviation_ns as i64, numbers: Numbers::new(rng, spec.correlation), table })
    }

    /// Return the deviation of the next packet's delay from the usual one, ns.
    pub fn draw(&mut self) -> i64 {
        let number = self.numbers.draw();
        let Some(table) = &self.table else {
            return i64::from(number) % (2 * self.deviation) - self.deviation;
        };
        let entry = i64::from(table[number as usize % table.len()]);
        let rest = self.deviation % SCALE * entry;
        let half = if rest >= 0 { SCALE / 2 } else { -SCALE / 2 };
        (rest + half) / SCALE + self.deviation / SCALE * entry
    }
}
