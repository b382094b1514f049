//! Abilities that an engine may lack.

use serde::Serialize;

macro_rules! features {
    ($($(#[$doc:meta])* $name:ident = $words:literal,)*) => {
        /// An ability that an engine may lack.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Feature {
            $(
                #[doc = $words]
                $name,
            )*
        }

        impl Feature {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its name in messages.
            #[must_use]
            pub const fn words(self) -> &'static str {
                match self {
                    $(Self::$name => $words,)*
                }
            }
        }
    };
}

features! {
    AdaptiveRed = "adaptive RED",
    FqCeThreshold = "ce_threshold of fq",
    GentleRed = "gentle RED",
    NetemTick = "tick of netem",
    OtherKernels = "qdiscs of other kernels",
    Sce = "SCE",
}
