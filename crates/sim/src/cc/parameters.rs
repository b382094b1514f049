//! Parameters of a congestion control: what a description may set, and what it means.

use serde_json::{json, Map};

use crate::refusal::Flaws;

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// true or false.
    Flag,
    /// A whole number from `least` to `most`.
    Integer {
        /// The least.
        least: u32,
        /// The most.
        most: u32,
    },
    /// One of these words.
    Word(&'static [&'static str]),
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Of a [`Kind::Flag`].
    Flag(bool),
    /// Of a [`Kind::Integer`].
    Integer(u32),
    /// Of a [`Kind::Word`].
    Word(&'static str),
}

impl Value {
    /// As data.
    #[must_use]
    pub fn listing(&self) -> serde_json::Value {
        match self {
            Self::Flag(on) => json!(on),
            Self::Integer(number) => json!(number),
            Self::Word(word) => json!(word),
        }
    }
}

/// A parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name; where Linux's module has such a parameter, that one's.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Its value unless the stack or the description says another.
    pub default: Value,
    /// What it does, with its unit and source.
    pub meaning: &'static str,
}

impl Parameter {
    /// A parameter that is on or off.
    #[must_use]
    pub const fn flag(name: &'static str, default: bool, meaning: &'static str) -> Self {
        Self { name, kind: Kind::Flag, default: Value::Flag(default), meaning }
    }

    /// A whole number.
    #[must_use]
    pub const fn integer(name: &'static str, default: u32, least: u32, most: u32, meaning: &'static str) -> Self {
        Self { name, kind: Kind::Integer { least, most }, default: Value::Integer(default), meaning }
    }

    /// One of some words.
    #[must_use]
    pub const fn word(
        name: &'static str,
        default: &'static str,
        words: &'static [&'static str],
        meaning: &'static str,
    ) -> Self {
        Self { name, kind: Kind::Word(words), default: Value::Word(default), meaning }
    }

    /// As data: `{kind: flag | integer | choice, default, meaning}`, with `least` and `most` of an integer and the `words` of a choice.
    #[must_use]
    pub fn listing(&self) -> serde_json::Value {
        let (default, meaning) = (self.default.listing(), self.meaning);
        match self.kind {
            Kind::Flag => json!({"kind": "flag", "default": default, "meaning": meaning}),
            Kind::Integer { least, most } => {
                json!({"kind": "integer", "default": default, "meaning": meaning, "least": least, "most": most})
            }
            Kind::Word(words) => json!({"kind": "choice", "default": default, "meaning": meaning, "words": words}),
        }
    }

    /// True of a value that a stack has for a parameter of this name: words may be those of another control.
    fn takes(&self, value: &Value) -> bool {
        match (self.kind, value) {
            (Kind::Word(words), Value::Word(word)) => words.contains(word),
            _ => true,
        }
    }

    /// The value that is written as `given`, if the parameter takes it.
    fn parse(&self, given: &serde_json::Value) -> Option<Value> {
        match self.kind {
            Kind::Flag => given.as_bool().map(Value::Flag),
            Kind::Integer { least, most } => {
                let number = u32::try_from(given.as_u64()?).ok()?;
                (least..=most).contains(&number).then_some(Value::Integer(number))
            }
            Kind::Word(words) => {
                let word = given.as_str()?;
                words.iter().copied().find(|known| *known == word).map(Value::Word)
            }
        }
    }

    /// What is expected, in words.
    fn expected(&self) -> String {
        match self.kind {
            Kind::Flag => "true or false".to_owned(),
            Kind::Integer { least, most } => format!("a whole number from {least} to {most}"),
            Kind::Word(words) => format!("one of {}", words.join(", ")),
        }
    }
}

/// The values of all parameters of a control.
#[derive(Clone, Debug)]
pub struct Parameters {
    values: Vec<(&'static str, Value)>,
    /// The names of those that the description gives.
    given: Vec<&'static str>,
}

impl Parameters {
    /// The parameters `known` with their values: as `given`, else as the `stack` has it, else the default.
    ///
    /// # Errors
    /// What is given is unknown or wrong: each by its parameter.
    pub fn resolve(
        known: &[Parameter],
        stack: &[(&'static str, Value)],
        given: &Map<String, serde_json::Value>,
    ) -> Result<Self, Flaws> {
        let (mut flaws, mut values) = (Flaws::default(), Self::defaults(known));
        for (parameter, (name, value)) in known.iter().zip(&mut values.values) {
            let fits = |(of_stack, value): &&(&str, Value)| of_stack == name && parameter.takes(value);
            if let Some((_, of_stack)) = stack.iter().find(fits) {
                *value = *of_stack;
            }
        }
        for (name, written) in given {
            let Some(at) = known.iter().position(|parameter| parameter.name == name) else {
                let names: Vec<&str> = known.iter().map(|parameter| parameter.name).collect();
                let expected = if names.is_empty() { "no parameters".to_owned() } else { names.join(", ") };
                flaws.add(name, "no such parameter", expected);
                continue;
            };
            match known[at].parse(written) {
                Some(value) => {
                    values.values[at].1 = value;
                    values.given.push(known[at].name);
                }
                None => flaws.add(name, written, known[at].expected()),
            }
        }
        flaws.and(Ok(values))
    }

    /// The parameters `known`, each with its default.
    #[must_use]
    pub fn defaults(known: &[Parameter]) -> Self {
        let values = known.iter().map(|parameter| (parameter.name, parameter.default)).collect();
        Self { values, given: vec![] }
    }

    fn value(&self, name: &str) -> Value {
        let found = self.values.iter().find(|(known, _)| *known == name);
        found.unwrap_or_else(|| panic!("the table of the control has no parameter {name}")).1
    }

    /// A parameter that is on or off.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        let Value::Flag(on) = self.value(name) else { panic!("{name} is no flag") };
        on
    }

    /// A whole number.
    #[must_use]
    pub fn integer(&self, name: &str) -> u32 {
        let Value::Integer(number) = self.value(name) else { panic!("{name} is no integer") };
        number
    }

    /// A whole number, or another default than the table's unless the description gives it.
    #[must_use]
    pub fn integer_or(&self, name: &str, default: u32) -> u32 {
        let number = self.integer(name);
        if self.given.contains(&name) {
            number
        } else {
            default
        }
    }

    /// One of some words.
    #[must_use]
    pub fn word(&self, name: &str) -> &'static str {
        let Value::Word(word) = self.value(name) else { panic!("{name} is no word") };
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Parameter] = &[
        Parameter::flag("on", true, ""),
        Parameter::integer("number", 7, 1, 9, ""),
        Parameter::word("word", "a", &["a", "b"], ""),
    ];

    fn resolve(stack: &[(&'static str, Value)], given: serde_json::Value) -> Result<Parameters, Flaws> {
        let serde_json::Value::Object(given) = given else { panic!("parameters are a map") };
        Parameters::resolve(KNOWN, stack, &given)
    }

    #[test]
    fn what_is_given_comes_before_the_stack_and_that_before_the_default() {
        let stack = [("number", Value::Integer(3)), ("word", Value::Word("b")), ("another", Value::Flag(true))];
        let p = resolve(&stack, json!({"word": "a", "on": false})).unwrap();
        assert_eq!((p.flag("on"), p.integer("number"), p.word("word")), (false, 3, "a"));
        assert_eq!(
            (p.integer_or("number", 5), resolve(&[], json!({"number": 7})).unwrap().integer_or("number", 5)),
            (5, 7)
        );
        let p = resolve(&[], json!({})).unwrap();
        assert_eq!((p.flag("on"), p.integer("number"), p.word("word")), (true, 7, "a"));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_expected() {
        let refused = |given| resolve(&[], given).unwrap_err();
        assert_eq!(refused(json!({"off": 1})), Flaws::one("off", "no such parameter", "on, number, word"));
        assert_eq!(refused(json!({"on": 1})), Flaws::one("on", "1", "true or false"));
        for wrong in [json!(0), json!(10), json!(1.5), json!("7"), json!(-1), json!(null), json!(true)] {
            let expected = Flaws::one("number", &wrong, "a whole number from 1 to 9");
            assert_eq!(refused(json!({"number": wrong})), expected);
        }
        assert_eq!(refused(json!({"word": "c"})), Flaws::one("word", "\"c\"", "one of a, b"));
        assert_eq!(refused(json!({"on": 1, "word": 2})).fields(), ["on", "word"]);
        let none = Parameters::resolve(&[], &[], json!({"x": 1}).as_object().unwrap()).unwrap_err();
        assert_eq!(none, Flaws::one("x", "no such parameter", "no parameters"));
    }

    #[test]
    fn a_parameter_is_listed_with_its_range() {
        let listed: Vec<serde_json::Value> = KNOWN.iter().map(Parameter::listing).collect();
        assert_eq!(listed[0], json!({"kind": "flag", "default": true, "meaning": ""}));
        assert_eq!(
            (&listed[1]["kind"], &listed[1]["least"], &listed[1]["most"]),
            (&json!("integer"), &json!(1), &json!(9))
        );
        assert_eq!((&listed[2]["kind"], &listed[2]["words"]), (&json!("choice"), &json!(["a", "b"])));
    }
}
