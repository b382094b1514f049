//! Reasons why a description cannot be run, as data: the place, the field, the flaw and the expected value. The words are put together
//! where a user reads them, with the file, the line and the key that the field came from.

use std::fmt::{self, Display};
use std::ops::RangeInclusive;

use serde::Serialize;

/// The kinds of parts that a description has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The run as a whole.
    Run,
    /// A host.
    Host,
    /// A port.
    Port,
    /// A path.
    Path,
    /// A workload.
    Workload,
    /// Something that happens to a port at a set time.
    Change,
}

/// A part of a description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The kind of part.
    pub kind: Part,
    /// Index of the part among those of its kind; `None` for the run.
    pub index: Option<usize>,
}

/// Something that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The part that it is in.
    pub place: Place,
    /// The field of that part, e.g. `qdisc.limit_packets`; empty for the part as a whole.
    pub field: String,
    /// The flaw, for example `0 packets`.
    pub what: String,
    /// A value that would be right, for example `at least 1`.
    pub expected: String,
}

impl Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { place, field, what, expected } = self;
        match place.index {
            Some(index) => write!(f, "{:?} {index}", place.kind)?,
            None => write!(f, "{:?}", place.kind)?,
        }
        let dot = if field.is_empty() { "" } else { "." };
        write!(f, "{dot}{field}: {what}; expected {expected}")
    }
}

/// Return refusals as lines of text.
#[must_use]
pub fn lines(refusals: &[Refusal]) -> String {
    refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// A field with a wrong value, without the part that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Flaw {
    field: String,
    what: String,
    expected: String,
}

/// All that is wrong with a part of a description. Parts are built as far as they can be, so that every flaw is found at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flaws(Vec<Flaw>);

impl Flaws {
    /// A single flaw.
    #[must_use]
    pub fn one(field: &str, what: impl Display, expected: impl Display) -> Self {
        let mut flaws = Self::default();
        flaws.add(field, what, expected);
        flaws
    }

    /// Adds a flaw.
    pub fn add(&mut self, field: &str, what: impl Display, expected: impl Display) {
        let (field, what, expected) = (field.to_owned(), what.to_string(), expected.to_string());
        self.0.push(Flaw { field, what, expected });
    }

    /// Refuses a number of `unit`s outside of its range.
    pub fn range<T: PartialOrd + Display>(&mut self, field: &str, value: T, unit: &str, range: RangeInclusive<T>) {
        if !range.contains(&value) {
            self.add(field, quantity(value, unit), format_args!("{} to {}", range.start(), range.end()));
        }
    }

    /// Refuses a number of `unit`s below `least`.
    pub fn at_least<T: PartialOrd + Display>(&mut self, field: &str, value: T, unit: &str, least: T) {
        if value < least {
            self.add(field, quantity(value, unit), format_args!("at least {least}"));
        }
    }

    /// Refuses a number of `unit`s above `most`.
    pub fn at_most<T: PartialOrd + Display>(&mut self, field: &str, value: T, unit: &str, most: T) {
        if value > most {
            self.add(field, quantity(value, unit), format_args!("at most {most}"));
        }
    }

    /// Check a position. It is a flaw if nothing has this position.
    ///
    /// # Errors
    /// `index` is not below `count`.
    pub fn position(field: &str, index: usize, kind: &str, count: usize) -> Result<(), Self> {
        if index < count {
            Ok(())
        } else {
            Err(Self::one(field, format_args!("{kind} {index} of {count}"), "one that there is"))
        }
    }

    /// Return the value that was made from the field `name`, or its flaws as those of fields `name.FIELD`.
    ///
    /// # Errors
    /// The flaws of `made`, with the longer field names.
    pub fn within<T>(name: &str, made: Result<T, Self>) -> Result<T, Self> {
        made.map_err(|mut flaws| {
            for Flaw { field, .. } in &mut flaws.0 {
                *field = if field.is_empty() { name.to_owned() } else { format!("{name}.{field}") };
            }
            flaws
        })
    }

    /// Both of two things that were made.
    ///
    /// # Errors
    /// The flaws of either.
    pub fn both<A, B>(a: Result<A, Self>, b: Result<B, Self>) -> Result<(A, B), Self> {
        match (a, b) {
            (Ok(a), Ok(b)) => Ok((a, b)),
            (Ok(_), Err(flaws)) => Err(flaws),
            (Err(flaws), b) => Err(flaws.and(b).err().unwrap_or_default()),
        }
    }

    /// Return the value in `made` if there are no flaws in it or in `self`.
    ///
    /// # Errors
    /// These flaws and those of `made`.
    pub fn and<T>(mut self, made: Result<T, Self>) -> Result<T, Self> {
        match made {
            Ok(made) => self.done().map(|()| made),
            Err(flaws) => {
                self.0.extend(flaws.0);
                Err(self)
            }
        }
    }

    /// An error if there are any, which are taken out.
    ///
    /// # Errors
    /// The flaws.
    pub fn done(&mut self) -> Result<(), Self> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(std::mem::take(self))
        }
    }

    /// Return the flaws as refusals of the part at `place`.
    pub fn at(self, place: Place) -> impl Iterator<Item = Refusal> {
        self.0.into_iter().map(move |Flaw { field, what, expected }| Refusal { place, field, what, expected })
    }

    /// For tests: the fields.
    #[cfg(test)]
    pub fn fields(&self) -> Vec<&str> {
        self.0.iter().map(|flaw| flaw.field.as_str()).collect()
    }
}

/// A value in words.
fn quantity(value: impl Display, unit: &str) -> String {
    if unit.is_empty() {
        format!("{value} is out of range")
    } else {
        format!("{value} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Flaws, Part, Place};

    #[test]
    fn flaws_of_parts_are_named_from_the_outside_in_and_all_are_kept() {
        let mut queues = Flaws::default();
        queues.range("flows", 0, "", 1..=65_536);
        queues.range("quantum_bytes", 1514, "bytes", 1..=2000);
        let mut qdisc = Flaws::default();
        qdisc.at_least("limit_packets", 0, "packets", 1);
        let qdisc = qdisc.and(Flaws::within("queues", queues.done()));
        let shaper = Err::<(), _>(Flaws::one("", "own", "one that paces"));
        let parts = Flaws::both(Flaws::within("qdisc", qdisc), Flaws::within("shaper", shaper));
        let port = Flaws::one("", "a rate", "none").and(parts).unwrap_err();
        let place = Place { kind: Part::Port, index: Some(2) };
        let lines: Vec<String> = port.at(place).map(|refusal| refusal.to_string()).collect();
        assert_eq!(
            lines,
            [
                "Port 2: a rate; expected none",
                "Port 2.qdisc.limit_packets: 0 packets; expected at least 1",
                "Port 2.qdisc.queues.flows: 0 is out of range; expected 1 to 65536",
                "Port 2.shaper: own; expected one that paces",
            ]
        );
        assert_eq!(Flaws::default().and(Flaws::both(Ok(7), Ok(8))), Ok((7, 8)));
        assert_eq!(Flaws::both(Ok(7), Err::<(), _>(Flaws::one("b", 1, 2))).unwrap_err().fields(), ["b"]);
    }

    #[test]
    fn a_refusal_is_plain_data() {
        let refusals = Flaws::one("", "4 days", "less").at(Place { kind: Part::Run, index: None });
        assert_eq!(
            serde_json::to_value(refusals.collect::<Vec<_>>()).unwrap(),
            serde_json::json!([{"place": {"kind": "run", "index": null}, "field": "", "what": "4 days", "expected": "less"}])
        );
    }
}
