//! Options as the fields of a struct: one declaration gives the field, its documentation and its entry in the catalogue.

use super::{Kind, Parameter, Preset};

/// A type that an option may have.
pub trait OptionType {
    /// Kind of its values.
    const KIND: Kind;
    /// Words of a choice, each with its meaning.
    const MEANINGS: &'static [(&'static str, &'static str)] = &[];
    /// Meaning of the option that has this type; empty if the option says that.
    const ABOUT: &'static str = "";
    /// True if the option may have no value.
    const IS_OPTIONAL: bool = false;
}

impl OptionType for bool {
    const KIND: Kind = Kind::Flag;
}

impl OptionType for u32 {
    const KIND: Kind = Kind::Integer("");
}

impl OptionType for u64 {
    const KIND: Kind = Kind::Integer("");
}

impl<T: OptionType> OptionType for Option<T> {
    const KIND: Kind = T::KIND;
    const IS_OPTIONAL: bool = true;
}

/// Return the parameter of an option with this name and documentation.
#[must_use]
pub const fn option<T: OptionType>(name: &'static str, documentation: &'static str) -> Parameter {
    let meaning = if T::ABOUT.is_empty() { documentation } else { T::ABOUT };
    let preset = if T::IS_OPTIONAL { Preset::Unset } else { Preset::Required };
    Parameter { meanings: T::MEANINGS, ..Parameter::new(name, T::KIND, name, meaning).or(preset) }
}

/// Declares a struct of options and, as `PARAMETERS`, what the catalogue says of each: `name: type => .range("unit", least, most),`.
macro_rules! options {
    (
        $(#[$attribute:meta])*
        pub struct $Stack:ident {
            $(
                $(#[doc = $doc:literal])+
                pub $field:ident : $type:ty $(=> $(. $method:ident ( $($argument:expr),* ))+)?,
            )*
        }
    ) => {
        $(#[$attribute])*
        pub struct $Stack {
            $(
                $(#[doc = $doc])+
                pub $field: $type,
            )*
        }

        impl $Stack {
            /// Each option as the catalogue has it.
            pub const PARAMETERS: &'static [$crate::catalogue::Parameter] = &[$(
                $crate::catalogue::option::<$type>(stringify!($field), concat!($($doc),+))
                    $($(.$method($($argument),*))+)?,
            )*];
        }
    };
}

/// Declares the words that an option may have, each with its meaning.
macro_rules! words {
    ($(
        $(#[doc = $about:literal])+
        pub enum $Choice:ident {
            $(
                $(#[doc = $doc:literal])+
                $variant:ident = $word:literal,
            )*
        }
    )*) => {$(
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $Choice {
            $(
                $(#[doc = $doc])+
                #[serde(rename = $word)]
                $variant,
            )*
        }

        impl $crate::catalogue::OptionType for $Choice {
            const KIND: $crate::catalogue::Kind = $crate::catalogue::Kind::Choice(&[$($word),*]);
            const MEANINGS: &'static [(&'static str, &'static str)] = &[$(($word, concat!($($doc),+))),*];
            const ABOUT: &'static str = concat!($($about),+);
        }
    )*};
}

pub(crate) use {options, words};
