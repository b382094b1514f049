//! Whose TCP a stack is: each implementation is a state machine of its own, with options of its own.

use serde_json::{json, Map, Value};

use super::bsd;
use crate::cc::CONTROLS;
use crate::spec::{FlowSpec, StackSpec};
use crate::tcp::common::overrides::overridden;
use crate::tcp::linux::stack::{Stack, STACKS};

/// A stack of any implementation.
#[derive(Clone, Debug)]
pub enum Implementation {
    /// Linux's.
    Linux(Stack),
    /// FreeBSD's.
    Bsd(bsd::stack::Stack),
}

impl Implementation {
    /// The stack of a description; an error names what does not exist.
    pub fn from_spec(spec: &StackSpec) -> Result<Self, String> {
        let Some((_, _, base)) = bsd::stack::STACKS.iter().find(|(name, ..)| *name == spec.name) else {
            return Stack::from_spec(spec).map(Self::Linux);
        };
        overridden(base, &spec.options)
            .and_then(|stack| stack.check().map(|()| Self::Bsd(stack)))
            .map_err(|e| format!("stack {}: {e}", spec.name))
    }
}

/// Refuses what FreeBSD's TCP does not do; the message names what it does.
pub(crate) fn check_bsd(spec: &FlowSpec, stack: &bsd::stack::Stack) -> Result<(), String> {
    let (name, host) = (&spec.stack.name, &spec.host);
    if !bsd::stack::CONTROLS.contains(&spec.cc.as_str()) {
        return Err(format!("cc {} on the stack {name}; expected {}", spec.cc, bsd::stack::CONTROLS.join(" or ")));
    }
    if spec.ecn || spec.sce_echo {
        return Err(format!("ECN on the stack {name}; expected none"));
    }
    if host.tso {
        return Err(format!("TSO on the stack {name}; expected no offload"));
    }
    for (which, bytes) in [("receive", host.rcvbuf), ("send", host.sndbuf)] {
        if let Some(bytes) = bytes.filter(|&bytes| bytes > stack.most_buffer()) {
            return Err(format!("a {which} buffer of {bytes} bytes; at most {}", stack.most_buffer()));
        }
    }
    Ok(())
}

/// Every stack by name: summary, options, and what runs on it.
///
/// `{summary, options, implementation, cc: [names], ecn, offload, buffer_factor, buffer_options}`: what becomes of the size that an
/// application asks for, and the options in place of Linux's sysctls `rmem` and `wmem`.
#[must_use]
pub fn listing() -> Map<String, Value> {
    let linux_cc: Vec<&str> = CONTROLS.iter().map(|(name, ..)| *name).collect();
    let linux = STACKS.iter().map(|(name, summary, data)| {
        let entry = json!({
            "summary": summary, "options": data, "implementation": "linux",
            "cc": linux_cc, "ecn": true, "offload": true, "buffer_factor": 2,
        });
        ((*name).to_owned(), entry)
    });
    let bsd = bsd::stack::STACKS.iter().map(|(name, summary, data)| {
        let entry = json!({
            "summary": summary, "options": data, "implementation": "bsd",
            "cc": bsd::stack::CONTROLS, "ecn": false, "offload": false, "buffer_factor": 1,
            "buffer_options": {"rmem": "recvspace", "wmem": "sendspace"},
        });
        ((*name).to_owned(), entry)
    });
    linux.chain(bsd).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str, options: Value) -> StackSpec {
        let Value::Object(options) = options else { panic!() };
        StackSpec { name: name.into(), options }
    }

    #[test]
    fn the_name_finds_the_implementation_and_options_override_its_own_fields() {
        let bsd = Implementation::from_spec(&spec("freebsd-9", json!({"delacktime_ms": 40}))).unwrap();
        assert!(matches!(bsd, Implementation::Bsd(stack) if stack.delacktime_ms == 40));
        assert!(matches!(Implementation::from_spec(&spec("linux-6.12", json!({}))), Ok(Implementation::Linux(_))));
        let refused = |name, options| Implementation::from_spec(&spec(name, options)).unwrap_err();
        assert_eq!(
            refused("freebsd-9", json!({"tail_loss_probe": true})),
            "stack freebsd-9: unknown option \"tail_loss_probe\""
        );
        assert_eq!(refused("freebsd-9", json!({"hz": 50})), "stack freebsd-9: option hz is 50; expected 100 to 1000");
        assert_eq!(refused("freebsd-8", json!({})), "unknown stack \"freebsd-8\"");
    }

    #[test]
    fn every_stack_is_listed_once_with_what_runs_on_it() {
        let list = listing();
        assert_eq!(list.len(), STACKS.len() + bsd::stack::STACKS.len());
        assert_eq!(list["freebsd-9"]["cc"], json!(["reno"]));
        assert_eq!(list["freebsd-9"]["options"]["abc_l_var"], json!(2));
        assert_eq!(list["linux-6.12"]["buffer_factor"], json!(2));
    }
}
