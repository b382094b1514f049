//! Named data with fields overridden by a description.

use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::catalogue::{check_options, Parameter};
use crate::refusal::Flaws;

/// The `options` of a stack, which begins with those of `base`: `parameters` and `check` bound them.
///
/// # Errors
/// Options that there are not, that cannot have such a value, or that are out of bounds.
pub(in crate::tcp) fn overridden<T: Clone + Serialize + DeserializeOwned>(
    base: &T,
    options: &Map<String, Value>,
    parameters: &[Parameter],
    check: impl Fn(&T) -> Result<(), Flaws>,
) -> Result<T, Flaws> {
    let bounded = |made: T| Flaws::both(check_options(parameters, options), check(&made)).map(|_| made);
    Flaws::within("options", with_fields(base, options).and_then(bounded))
}

/// Data with fields overridden, whatever their bounds.
fn with_fields<T: Clone + Serialize + DeserializeOwned>(base: &T, options: &Map<String, Value>) -> Result<T, Flaws> {
    let (mut made, mut flaws) = (base.clone(), Flaws::default());
    for (key, value) in options {
        let Ok(Value::Object(mut fields)) = serde_json::to_value(&made) else {
            unreachable!("a struct serialises to an object")
        };
        if !fields.contains_key(key) {
            let names: Vec<&str> = fields.keys().map(String::as_str).collect();
            flaws.add(key, "no such option", format_args!("one of {}", names.join(", ")));
            continue;
        }
        fields.insert(key.clone(), value.clone());
        match serde_json::from_value(Value::Object(fields)) {
            Ok(overridden) => made = overridden,
            Err(error) => {
                let error = error.to_string();
                let (what, expected) = error.split_once(", expected ").unwrap_or((&error, "another value"));
                flaws.add(key, what, expected);
            }
        }
    }
    flaws.done()?;
    Ok(made)
}
