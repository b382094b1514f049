//! The modules of congestion control (cc(4), mod_cc(4)).

use super::cdg::Cdg;
use super::cubic::Cubic;
use super::stack::Stack;
use crate::rng::Rng;

/// The congestion controls of these stacks. `reno` is the module `newreno`.
pub const CONTROLS: &[&str] = &["cdg", "cubic", "reno"];

/// The module of a connection, with the state that it alone has.
#[derive(Clone, Debug)]
pub(super) enum Module {
    NewReno,
    Cubic(Cubic),
    Cdg(Box<Cdg>),
}

impl Module {
    /// The module of a name among [`CONTROLS`].
    pub fn of(name: &str, stack: &Stack) -> Self {
        match name {
            "cubic" => Self::Cubic(Cubic::new(stack.hz)),
            "cdg" => Self::Cdg(Box::new(Cdg::new(stack, Rng::for_component(0, "cc")))),
            _ => Self::NewReno,
        }
    }
}
