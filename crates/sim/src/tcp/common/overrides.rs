//! Named data with fields overridden by a description.

use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::{Map, Value};

/// Data with fields overridden.
pub(in crate::tcp) fn overridden<T: Clone + Serialize + DeserializeOwned>(
    base: &T,
    options: &Map<String, Value>,
) -> Result<T, String> {
    if options.is_empty() {
        return Ok(base.clone());
    }
    let Value::Object(mut fields) = serde_json::to_value(base).map_err(|e| e.to_string())? else {
        unreachable!("a struct serialises to an object")
    };
    for (key, value) in options {
        if fields.insert(key.clone(), value.clone()).is_none() {
            return Err(format!("unknown option {key:?}"));
        }
    }
    serde_json::from_value(Value::Object(fields)).map_err(|e| e.to_string())
}

/// Refuses a number beyond its bounds.
pub(in crate::tcp) fn range<T: PartialOrd + std::fmt::Display>(
    name: &str,
    value: T,
    least: T,
    most: T,
) -> Result<(), String> {
    if value >= least && value <= most {
        Ok(())
    } else {
        Err(format!("option {name} is {value}; expected {least} to {most}"))
    }
}
