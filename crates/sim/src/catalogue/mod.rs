//! The catalogue of what may be set: each parameter is declared once, beside the algorithm that it is of, with its unit, default, bounds and
//! meaning. The simulator refuses by it. The Python package reads it as JSON and makes of it what a user writes, the plan's values, tc's
//! words, the refusals and the documents.

mod feature;
mod options;
pub mod state;

pub use feature::Feature;
pub use options::{option, OptionType};
pub(crate) use options::{options, words};
pub use state::{State, Tell};

use serde::Serialize;
use serde_json::{json, Map, Value};

use crate::refusal::Flaws;

/// Kind of a parameter, with the unit of its values in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// True or false.
    Flag,
    /// A whole number; the unit may be empty.
    Integer(&'static str),
    /// A time, ns.
    Duration,
    /// A time of whole seconds, s.
    Seconds,
    /// A rate, bit/s.
    Rate,
    /// An amount of data, bytes.
    Size,
    /// A number of packets.
    Packets,
    /// Room in packets, which a user may also write in bandwidth-delay products.
    LimitPackets,
    /// Room in bytes, which a user may also write in bandwidth-delay products.
    LimitBytes,
    /// A probability; in a plan units of 2^-32. Its bounds are in millionths.
    Probability,
    /// A share of packets as netem has it, of which 2^32 - 1 is all. Its default is in per cent.
    Share,
    /// A number from 0 to 1, with a fraction.
    Ratio,
    /// One of some words.
    Choice(&'static [&'static str]),
    /// Text that matches a regular expression.
    Text(&'static str),
    /// A size, or a distribution that sizes are drawn from, bytes.
    DrawnSize,
    /// A time, or a distribution that times are drawn from, ns.
    DrawnDuration,
    /// Start of several connections: a time, or the time of the first, the time between two and a random delay.
    Start,
    /// Three sizes that rise: minimum, initial, maximum, bytes.
    Sizes,
    /// A codepoint of differentiated services, by name or number.
    Codepoint,
    /// A name that an entity of the results may have.
    Name,
    /// Keys of their own.
    Keys,
}

/// The value of a parameter that nobody sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Somebody must set it.
    Required,
    /// None at all.
    Unset,
    /// Default of a flag.
    Flag(bool),
    /// Default of a quantity; that of a probability is in millionths.
    Number(i64),
    /// Default of a choice.
    Word(&'static str),
    /// This number of the largest frames, bytes.
    Frames(u32),
    /// The largest frame and this number of bytes.
    FrameAnd(u32),
    /// Default of a quantity as scenarios have it.
    Written(&'static str),
}

/// A parameter. Wide because everybody who needs a fact of it takes it from here.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name in scenarios, which is tc's name where tc has one.
    pub name: &'static str,
    /// Kind of its values.
    pub kind: Kind,
    /// Dotted name in a plan; empty if a plan has no field of its own for it.
    pub field: &'static str,
    /// Its value unless a scenario says another.
    pub preset: Preset,
    /// The minimum value, as a plan has it.
    pub least: Option<i64>,
    /// The maximum value, as a plan has it.
    pub most: Option<i64>,
    /// Meaning in a sentence or two.
    pub meaning: &'static str,
    /// Meanings of the words of a choice that the catalogue has.
    pub meanings: &'static [(&'static str, &'static str)],
    /// A value as scenarios have it.
    pub example: &'static str,
    /// Linux's words for it. tc's: `{}` stands for the value, `ON|OFF` are those of a flag, `WORD=...|WORD=...` those of a choice. Of a
    /// congestion control: the module's parameter, if that can be set while the kernel runs. Of a stack's option: `SYSCTL={}`, where a flag
    /// has `ON|OFF`, or the metric of a route. Empty if there are none.
    pub word: &'static str,
    /// Series of Linux that has it first; empty if that is the discipline's own.
    pub since: &'static str,
    /// The variants of the entry that have it; empty for all.
    pub variants: &'static [&'static str],
    /// Ability that an engine must have if it is set.
    pub feature: Option<Feature>,
    /// A plan has the field only if it differs from the default.
    pub sparse: bool,
}

impl Parameter {
    /// A parameter that must be set, has no bounds, and is in a plan as `field`.
    #[must_use]
    pub const fn new(name: &'static str, kind: Kind, field: &'static str, meaning: &'static str) -> Self {
        Self {
            name,
            kind,
            field,
            preset: Preset::Required,
            least: None,
            most: None,
            meaning,
            meanings: &[],
            example: "",
            word: "",
            since: "",
            variants: &[],
            feature: None,
            sparse: false,
        }
    }

    /// A key that a plan has no field of its own for, because making the plan uses it up. It may be left out.
    #[must_use]
    pub const fn key(name: &'static str, kind: Kind, meaning: &'static str) -> Self {
        Self::new(name, kind, "", meaning).or(Preset::Unset)
    }

    /// A flag with a default, under its own name in a plan.
    #[must_use]
    pub const fn flag(name: &'static str, default: bool, meaning: &'static str) -> Self {
        Self::new(name, Kind::Flag, name, meaning).or(Preset::Flag(default))
    }

    /// A whole number with default and bounds, under its own name in a plan.
    #[must_use]
    pub const fn integer(name: &'static str, default: u32, least: u32, most: u32, meaning: &'static str) -> Self {
        let bounded = Self::new(name, Kind::Integer(""), name, meaning).at_least(least as i64).at_most(most as i64);
        bounded.or_number(default as i64)
    }

    /// A whole number from `least` on without a default, under its own name in a plan.
    #[must_use]
    pub const fn optional_count(name: &'static str, field: &'static str, meaning: &'static str) -> Self {
        Self::new(name, Kind::Integer(""), field, meaning).or(Preset::Unset).at_least(1)
    }

    /// One of some words with a default, under its own name in a plan.
    #[must_use]
    pub const fn word(
        name: &'static str,
        default: &'static str,
        words: &'static [&'static str],
        meaning: &'static str,
    ) -> Self {
        Self::new(name, Kind::Choice(words), name, meaning).or(Preset::Word(default))
    }

    /// With a default.
    #[must_use]
    pub const fn or(self, preset: Preset) -> Self {
        Self { preset, ..self }
    }

    /// With a default as scenarios have it.
    #[must_use]
    pub const fn written_as(self, written: &'static str) -> Self {
        self.or(Preset::Written(written))
    }

    /// With a default number.
    #[must_use]
    pub const fn or_number(self, number: i64) -> Self {
        self.or(Preset::Number(number))
    }

    /// Not below `least`.
    #[must_use]
    pub const fn at_least(self, least: i64) -> Self {
        Self { least: Some(least), ..self }
    }

    /// Not above `most`.
    #[must_use]
    pub const fn at_most(self, most: i64) -> Self {
        Self { most: Some(most), ..self }
    }

    /// A whole number of `unit`s.
    #[must_use]
    pub const fn unit(self, unit: &'static str) -> Self {
        Self { kind: Kind::Integer(unit), ..self }
    }

    /// A whole number of `unit`s within these bounds.
    #[must_use]
    pub const fn range(self, unit: &'static str, least: i64, most: i64) -> Self {
        self.unit(unit).within(least, most)
    }

    /// With an example.
    #[must_use]
    pub const fn example(self, example: &'static str) -> Self {
        Self { example, ..self }
    }

    /// Within these bounds.
    #[must_use]
    pub const fn within(self, least: i64, most: i64) -> Self {
        self.at_least(least).at_most(most)
    }

    /// With another meaning.
    #[must_use]
    pub const fn meaning(self, meaning: &'static str) -> Self {
        Self { meaning, ..self }
    }

    /// With tc's words.
    #[must_use]
    pub const fn tc(self, word: &'static str) -> Self {
        Self { word, ..self }
    }

    /// With the name of the module's parameter.
    #[must_use]
    pub const fn module(self, word: &'static str) -> Self {
        self.tc(word)
    }

    /// With the sysctl, or the metric of a route.
    #[must_use]
    pub const fn sysctl(self, word: &'static str) -> Self {
        self.tc(word)
    }

    /// With the series of Linux that has it first.
    #[must_use]
    pub const fn since(self, since: &'static str) -> Self {
        Self { since, ..self }
    }

    /// Only in some variants.
    #[must_use]
    pub const fn only(self, variants: &'static [&'static str]) -> Self {
        Self { variants, ..self }
    }

    /// Only on engines with a feature.
    #[must_use]
    pub const fn needs(self, feature: Feature) -> Self {
        Self { feature: Some(feature), ..self }
    }

    /// In a plan only if it is set.
    #[must_use]
    pub const fn sparse(self) -> Self {
        Self { sparse: true, ..self }
    }

    /// Return it as data, without what is empty.
    #[must_use]
    pub fn listing(&self) -> Value {
        let mut listed = Map::new();
        let mut put = |key: &str, value: Value| {
            if !value.is_null() && value != json!("") && value != json!([]) {
                listed.insert(key.to_owned(), value);
            }
        };
        put("name", json!(self.name));
        let (kind, detail, facts) = match self.kind {
            Kind::Flag => ("flag", "", Value::Null),
            Kind::Integer(unit) => ("integer", "unit", json!(unit)),
            Kind::Duration => ("duration", "unit", json!("ns")),
            Kind::Seconds => ("seconds", "unit", json!("s")),
            Kind::Rate => ("rate", "unit", json!("bit/s")),
            Kind::Size => ("size", "unit", json!("bytes")),
            Kind::Packets => ("packets", "unit", json!("packets")),
            Kind::LimitPackets => ("limit-packets", "unit", json!("packets")),
            Kind::LimitBytes => ("limit-bytes", "unit", json!("bytes")),
            Kind::Probability => ("probability", "unit", json!("millionths")),
            Kind::Share => ("share", "unit", json!("per cent")),
            Kind::Ratio => ("ratio", "", Value::Null),
            Kind::Choice(words) => ("choice", "words", json!(words)),
            Kind::Text(pattern) => ("text", "pattern", json!(pattern)),
            Kind::DrawnSize => ("drawn-size", "unit", json!("bytes")),
            Kind::DrawnDuration => ("drawn-duration", "unit", json!("ns")),
            Kind::Start => ("start", "", Value::Null),
            Kind::Sizes => ("sizes", "unit", json!("bytes")),
            Kind::Codepoint => ("codepoint", "", Value::Null),
            Kind::Name => ("name", "", Value::Null),
            Kind::Keys => ("keys", "", Value::Null),
        };
        put("kind", json!(kind));
        put(detail, facts);
        put("field", json!(self.field));
        match self.preset {
            Preset::Required => put("required", json!(true)),
            Preset::Unset => {}
            Preset::Flag(on) => put("default", json!(on)),
            Preset::Number(number) => {
                put("default", json!(number));
                put("written", json!(self.written(self.in_plan(number))));
            }
            Preset::Word(word) => put("default", json!(word)),
            Preset::Frames(frames) => put("frames", json!(frames)),
            Preset::FrameAnd(bytes) => put("beyond_frame", json!(bytes)),
            Preset::Written(written) => put("written", json!(written)),
        }
        put("least", json!(self.least));
        put("most", json!(self.most));
        put("meaning", json!(self.meaning.trim_start()));
        let meanings = self.meanings.iter().map(|(word, meaning)| ((*word).to_owned(), json!(meaning.trim_start())));
        put("meanings", (!self.meanings.is_empty()).then(|| meanings.collect::<Map<String, Value>>()).into());
        put("example", json!(self.example));
        put("word", json!(self.word));
        put("since", json!(self.since));
        put("variants", json!(self.variants));
        put("feature", json!(self.feature));
        put("sparse", json!(self.sparse.then_some(true)));
        Value::Object(listed)
    }

    /// Adds a flaw if a value of a plan, below which the fields lie, is out of bounds.
    fn check(&self, plan: &Value, flaws: &mut Flaws) {
        let found = self.field.split('.').try_fold(plan, |value, part| value.get(part));
        let Some(found) = found.filter(|value| value.is_number()) else { return };
        if let (Kind::Ratio, Some(number)) = (self.kind, found.as_f64()) {
            if !(0.0..=1.0).contains(&number) {
                let expected = if number < 0.0 { "at least 0" } else { "at most 1" };
                flaws.add(self.field, format_args!("{number} is out of range"), expected);
            }
            return;
        }
        let number = found.as_u64().map_or_else(|| i128::from(found.as_i64().unwrap_or_default()), i128::from);
        let bounds = [self.least, self.most].map(|bound| bound.map(|bound| self.in_plan(bound)));
        let expected = match (bounds[0], bounds[1]) {
            (Some(least), _) if number < least => format!("at least {}", self.written(least)),
            (_, Some(most)) if number > most => format!("at most {}", self.written(most)),
            _ => return,
        };
        let what = format!("{} is out of range", self.written(number));
        flaws.add(self.field, what, expected);
    }

    /// Adds a flaw if a value that somebody set is a number out of bounds.
    fn check_set(&self, value: &Value, flaws: &mut Flaws) {
        let number = value.as_u64().map(i128::from).or(value.as_i64().map(i128::from));
        let (Kind::Integer(unit), Some(number)) = (self.kind, number) else { return };
        match (self.least.map(i128::from), self.most.map(i128::from)) {
            (Some(least), Some(most)) => flaws.range(self.name, number, unit, least..=most),
            (Some(least), None) => flaws.at_least(self.name, number, unit, least),
            (None, Some(most)) => flaws.at_most(self.name, number, unit, most),
            (None, None) => {}
        }
    }

    /// A default or a bound as a plan has it.
    #[must_use]
    pub fn in_plan(&self, number: i64) -> i128 {
        match self.kind {
            Kind::Probability => (i128::from(number) << 32) / 1_000_000,
            Kind::Share => i128::from(number) * i128::from(u32::MAX) / 100,
            _ => i128::from(number),
        }
    }

    /// A value of a plan as a scenario has it.
    fn written(&self, number: i128) -> String {
        let units: &[(i128, &str)] = match self.kind {
            Kind::Duration | Kind::DrawnDuration => &[(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us"), (1, "ns")],
            Kind::Seconds => &[(1, "s")],
            Kind::Rate => &[(1_000_000_000, "gbit"), (1_000_000, "mbit"), (1000, "kbit"), (1, "bit")],
            Kind::Size | Kind::DrawnSize | Kind::LimitBytes => &[
                (1 << 30, "GiB"),
                (1_000_000_000, "GB"),
                (1 << 20, "MiB"),
                (1_000_000, "MB"),
                (1 << 10, "KiB"),
                (1000, "kB"),
                (1, "B"),
            ],
            Kind::Packets | Kind::LimitPackets => &[(1, "p")],
            Kind::Share => return format!("{}%", number * 100 / i128::from(u32::MAX)),
            Kind::Probability => return format!("{}", (number as f64 / (1_u64 << 32) as f64 * 1e6).round() / 1e6),
            _ => &[(1, "")],
        };
        let (size, unit) = units.iter().find(|(size, _)| number % size == 0).expect("the last unit is the smallest");
        format!("{}{unit}", number / size)
    }
}

/// Purpose of the random numbers that a discipline draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Draws {
    /// Nothing.
    Nothing,
    /// The key of its hash, or little else: runs with different seeds differ.
    Hash,
    /// Each packet: only its behaviour over many seeds can be compared.
    EachPacket,
}

/// Something that parameters are of, such as a queue discipline.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its kind in scenarios.
    pub name: &'static str,
    /// Summary in a line, for lists.
    pub summary: &'static str,
    /// Description with its source, for the documents.
    pub about: &'static str,
    /// Purpose of the random numbers that it draws.
    pub draws: Draws,
    /// Its parameters, in the order of the documents and of the plan.
    pub parameters: &'static [Parameter],
    /// The parameters that tc is told, in its order; empty if that is the order of all that have words.
    pub tc: &'static [&'static str],
    /// The series of Linux that has it first; empty if none has.
    pub since: &'static str,
}

impl Entry {
    /// An entry that draws nothing, and of which no series of Linux and no order of tc's is known.
    #[must_use]
    pub const fn plain(
        name: &'static str,
        summary: &'static str,
        about: &'static str,
        parameters: &'static [Parameter],
    ) -> Self {
        Self { name, summary, about, draws: Draws::Nothing, parameters, tc: &[], since: "" }
    }

    /// Return it as data.
    #[must_use]
    pub fn listing(&self) -> Value {
        let Self { name, summary, about, draws, parameters, tc, since } = self;
        let parameters: Vec<Value> = parameters.iter().map(Parameter::listing).collect();
        json!({
            "name": name,
            "summary": summary,
            "about": about,
            "draws": draws,
            "since": since,
            "tc": tc,
            "parameters": parameters,
        })
    }

    /// Check the bounds of all parameters of one in a plan.
    ///
    /// # Errors
    /// A parameter is out of bounds: each by its field.
    pub fn check(&self, plan: &impl Serialize) -> Result<(), Flaws> {
        let plan = serde_json::to_value(plan).expect("a plan is data");
        let mut flaws = Flaws::default();
        for parameter in self.parameters {
            parameter.check(&plan, &mut flaws);
        }
        flaws.done()
    }
}

/// Check the bounds of options that somebody set.
///
/// # Errors
/// Options that are out of bounds.
pub fn check_options(parameters: &[Parameter], set: &Map<String, Value>) -> Result<(), Flaws> {
    let mut flaws = Flaws::default();
    for parameter in parameters {
        if let Some(value) = set.get(parameter.name) {
            parameter.check_set(value, &mut flaws);
        }
    }
    flaws.done()
}
