//! Parameters of a congestion control: their values in a description.

use serde_json::Map;

use crate::catalogue::{Kind, Parameter, Preset};
use crate::refusal::Flaws;

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// The value of a [`Kind::Flag`].
    Flag(bool),
    /// The value of a [`Kind::Integer`].
    Integer(u32),
    /// The value of a [`Kind::Choice`].
    Word(&'static str),
}

/// The value of a parameter that nobody sets.
fn default(parameter: &Parameter) -> Value {
    match parameter.preset {
        Preset::Flag(on) => Value::Flag(on),
        Preset::Number(number) => Value::Integer(number as u32),
        Preset::Word(word) => Value::Word(word),
        _ => unreachable!("{} has a default", parameter.name),
    }
}

/// True if a value fits that a stack has for a parameter of this name: words may be those of another control.
fn takes(parameter: &Parameter, value: &Value) -> bool {
    match (parameter.kind, value) {
        (Kind::Choice(words), Value::Word(word)) => words.contains(word),
        _ => true,
    }
}

/// The value that is written as `given`, if the parameter takes it.
fn parse(parameter: &Parameter, given: &serde_json::Value) -> Option<Value> {
    match parameter.kind {
        Kind::Flag => given.as_bool().map(Value::Flag),
        Kind::Choice(words) => {
            let word = given.as_str()?;
            words.iter().copied().find(|known| *known == word).map(Value::Word)
        }
        _ => {
            let number = given.as_u64().and_then(|number| i64::try_from(number).ok())?;
            let fits =
                parameter.least.is_none_or(|least| number >= least) && parameter.most.is_none_or(|most| number <= most);
            fits.then_some(Value::Integer(number as u32))
        }
    }
}

/// The values that a parameter takes, in words.
fn expected(parameter: &Parameter) -> String {
    match parameter.kind {
        Kind::Flag => "true or false".to_owned(),
        Kind::Choice(words) => format!("one of {}", words.join(", ")),
        _ => {
            let [least, most] = [parameter.least, parameter.most].map(Option::unwrap_or_default);
            format!("a whole number from {least} to {most}")
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
            let fits = |(of_stack, value): &&(&str, Value)| of_stack == name && takes(parameter, value);
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
            match parse(&known[at], written) {
                Some(value) => {
                    values.values[at].1 = value;
                    values.given.push(known[at].name);
                }
                None => flaws.add(name, written, expected(&known[at])),
            }
        }
        flaws.and(Ok(values))
    }

    /// The parameters `known`, each with its default.
    #[must_use]
    pub fn defaults(known: &[Parameter]) -> Self {
        let values = known.iter().map(|parameter| (parameter.name, default(parameter))).collect();
        Self { values, given: vec![] }
    }

    fn value(&self, name: &str) -> Value {
        let found = self.values.iter().find(|(known, _)| *known == name);
        found.unwrap_or_else(|| panic!("the table of the congestion control has no parameter {name}")).1
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
    use serde_json::json;

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
}
