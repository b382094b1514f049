//! Whose TCP a stack is: each implementation is a state machine of its own, with options of its own.

use serde_json::{json, Map, Value};

use super::bsd;
use crate::catalogue::Entry;
use crate::cc::{find, Control, Needs, Parameters, Version, CONTROLS};
use crate::packet::MSS;
use crate::refusal::Flaws;
use crate::spec::{StackSpec, TcpSpec};
use crate::tcp::common::idle_window::IdleWindow;
use crate::tcp::common::overrides::overridden;
use crate::tcp::linux::options::LossDetection;
use crate::tcp::linux::receiver;
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
    /// The stack of a description.
    ///
    /// # Errors
    /// A name or options that there are not, or values that no kernel can have.
    pub fn from_spec(spec: &StackSpec) -> Result<Self, Flaws> {
        if let Some((_, _, base)) = bsd::stack::STACKS.iter().find(|(name, ..)| *name == spec.name) {
            let (parameters, check) = (bsd::stack::Stack::PARAMETERS, bsd::stack::Stack::check);
            return overridden(base, &spec.options, parameters, check).map(Self::Bsd);
        }
        if version_of(&spec.name).is_none() {
            let names: Vec<String> = listing().into_iter().map(|(name, _)| name).collect();
            let listed = names.join(", ");
            let expected = format_args!("one of {listed}");
            return Err(Flaws::one("name", format_args!("unknown {:?}", spec.name), expected));
        }
        Stack::from_spec(spec).map(Self::Linux)
    }

    /// Return the window of the end that sends the data of one-way connections.
    #[must_use]
    pub fn idle_window(&self, spec: &TcpSpec) -> IdleWindow {
        match self {
            Self::Linux(stack) => receiver::idle_window(spec, stack),
            Self::Bsd(stack) => bsd::receiver::idle_window(spec, stack),
        }
    }

    /// The window after the handshake, segments.
    #[must_use]
    pub fn initial_cwnd(&self) -> u32 {
        match self {
            Self::Linux(stack) => stack.initial_cwnd,
            Self::Bsd(stack) if stack.initcwnd10 => 10,
            Self::Bsd(_) => 3,
        }
    }
}

/// Refuses a congestion control that came to Linux later than the stack, and sizes of segments that stack or control do not know.
pub(crate) fn check_linux(spec: &TcpSpec, options: &Stack) -> Result<(), Flaws> {
    let (name, cc) = (&spec.stack.name, &spec.cc.kind);
    for (field, asked) in [("sack", spec.sack), ("timestamps", spec.timestamps)] {
        if !asked && options.loss_detection != LossDetection::Rack {
            let what = format_args!("false on the stack {name} without loss_detection rack");
            return Err(Flaws::one(field, what, "true, or a stack with RACK, such as linux-6.12"));
        }
    }
    check_codepoint(spec)?;
    check_accecn(spec, options)?;
    if spec.segment_bytes != MSS {
        check_segments(spec, options)?;
    }
    if let Some(bps) = spec.host.max_pacing_bps.filter(|_| !options.pacing) {
        let what = format_args!("{bps} bit/s on the stack {name} without pacing, which came with Linux 3.12");
        return Err(Flaws::one("host.max_pacing_bps", what, "none, or a stack with pacing: true, such as linux-6.12"));
    }
    let (Some(version), Some(control)) = (version_of(name), find(cc)) else {
        return Ok(());
    };
    if control.since > version {
        let what = format_args!("{cc}, which came with Linux {}, on the stack {name}", control.since);
        return Err(Flaws::one("cc.kind", what, names_on(version, options)));
    }
    Ok(())
}

/// Refuses AccECN where there is none.
fn check_accecn(spec: &TcpSpec, options: &Stack) -> Result<(), Flaws> {
    let name = &spec.stack.name;
    if spec.accecn.is_none() {
        return Ok(());
    }
    let rack = options.loss_detection == LossDetection::Rack;
    let (what, expected) = if !spec.ecn {
        ("AccECN without ECN".to_owned(), "ecn: true")
    } else if spec.sce_echo {
        ("AccECN where ECT(1) is a mark of SCE".to_owned(), "no sce_echo")
    } else if !options.accecn || !rack {
        (format!("AccECN on the stack {name}, which does not have it"), "the stack linux-7.3")
    } else {
        return Ok(());
    };
    Err(Flaws::one("accecn", what, expected))
}

/// Refuses a codepoint that connections cannot have.
fn check_codepoint(spec: &TcpSpec) -> Result<(), Flaws> {
    match spec.ect {
        0 => Ok(()),
        1 if !spec.ecn => Err(Flaws::one("ect", "1 without ECN", 0)),
        1 if spec.sce_echo => Err(Flaws::one("ect", "1 where ECT(1) is a mark of SCE", 0)),
        1 => Ok(()),
        other => Err(Flaws::one("ect", other, "0 or 1")),
    }
}

/// Refuses a congestion control that needs what the stack does not do.
pub(crate) fn check_needs(spec: &TcpSpec, needs: &Needs, options: &Stack) -> Result<(), Flaws> {
    if needs.accecn && spec.ecn && spec.accecn.is_none() {
        let what = format_args!("none with {}, which works on the number of marks", spec.cc.kind);
        return Err(Flaws::one("accecn", what, "AccECN"));
    }
    let Some(lack) = lack(needs, options) else { return Ok(()) };
    let what = format_args!("{}, which {lack}", spec.cc.kind);
    let version = version_of(&spec.stack.name).unwrap_or(Version::ANY);
    Err(Flaws::one("cc.kind", what, names_on(version, options)))
}

/// The version of Linux that a stack is.
fn version_of(name: &str) -> Option<Version> {
    STACKS.iter().find(|stack| stack.name == name).map(|stack| stack.version)
}

/// The needs of a congestion control that the stack does not meet.
fn lack(needs: &Needs, options: &Stack) -> Option<&'static str> {
    if needs.accecn && !options.accecn {
        Some("needs AccECN, on a stack without it")
    } else if needs.pacing && !options.pacing {
        Some("is paced, on a stack without pacing")
    } else if needs.rate_samples && options.loss_detection != LossDetection::Rack {
        Some("needs rate samples, on a stack without loss_detection rack")
    } else {
        None
    }
}

/// The congestion controls that a version of Linux has and that a stack with such options runs.
fn controls_on(version: Version, options: &Stack) -> impl Iterator<Item = &'static str> + '_ {
    let runs = move |control: &&Control| control.since <= version && lack(&control.needs, options).is_none();
    CONTROLS.iter().filter(runs).map(|control| control.name)
}

fn names_on(version: Version, options: &Stack) -> String {
    controls_on(version, options).collect::<Vec<_>>().join(" or ")
}

/// Other segments than the usual ones need a stack whose charges for memory are known for them, and a control that counts them.
fn check_segments(spec: &TcpSpec, options: &Stack) -> Result<(), Flaws> {
    let (name, cc) = (&spec.stack.name, &spec.cc.kind);
    let flaw = |what| Err(Flaws::one("segment_bytes", what, MSS));
    if !options.receive_coalescing {
        return flaw(format!("{} on the stack {name}, whose buffers do not lie in pages", spec.segment_bytes));
    }
    if find(cc).is_some_and(|control| control.needs.sce) {
        return flaw(format!("{} with {cc}", spec.segment_bytes));
    }
    Ok(())
}

/// Refuses what FreeBSD's TCP does not do.
pub(crate) fn check_bsd(spec: &TcpSpec, stack: &bsd::stack::Stack) -> Result<(), Flaws> {
    let (name, host) = (&spec.stack.name, &spec.host);
    let mut flaws = Flaws::default();
    if !bsd::modules::CONTROLS.contains(&spec.cc.kind.as_str()) {
        let names = bsd::modules::CONTROLS.join(" or ");
        flaws.add("cc.kind", format_args!("{} on the stack {name}", spec.cc.kind), names);
    }
    if spec.ect != 0 {
        flaws.add("ect", format_args!("{} on the stack {name}", spec.ect), 0);
    }
    let accecn = spec.accecn.is_some();
    for (field, asked) in [("accecn", accecn), ("sce_echo", spec.sce_echo), ("host.tso", host.tso), ("gro", spec.gro)] {
        if asked {
            flaws.add(field, format_args!("true on the stack {name}"), false);
        }
    }
    for (field, asked) in
        [("sack", spec.sack), ("timestamps", spec.timestamps), ("window_scaling", spec.window_scaling)]
    {
        if !asked {
            flaws.add(field, format_args!("false on the stack {name}"), true);
        }
    }
    if spec.segment_bytes != MSS {
        flaws.add("segment_bytes", format_args!("{} on the stack {name}", spec.segment_bytes), MSS);
    }
    if let Some(bps) = host.reads_bps {
        flaws.add("host.reads_bps", format_args!("{bps} bit/s on the stack {name}"), "none");
    }
    if let Some(bps) = host.max_pacing_bps {
        flaws.add("host.max_pacing_bps", format_args!("{bps} bit/s on the stack {name}"), "none");
    }
    for (field, bytes) in [("host.rcvbuf", host.rcvbuf), ("host.sndbuf", host.sndbuf)] {
        flaws.at_most(field, bytes.unwrap_or(0), "bytes", stack.most_buffer());
    }
    flaws.and(Flaws::within("cc", Parameters::resolve(&[], &[], &spec.cc.parameters).map(|_| ())))
}

/// Every stack by name: summary, options, and what runs on it.
///
/// `{summary, options, implementation, cc: [names], ecn, offload, buffer_factor, buffer_options}`: what becomes of the size that an
/// application asks for, and the options in place of Linux's sysctls `rmem` and `wmem`.
#[must_use]
pub fn listing() -> Map<String, Value> {
    let linux = STACKS.iter().map(|stack| {
        let entry = json!({
            "summary": stack.summary, "options": stack.options, "implementation": "linux",
            "cc": controls_on(stack.version, &stack.options).collect::<Vec<_>>(), "ecn": true, "offload": true, "buffer_factor": 2,
        });
        (stack.name.to_owned(), entry)
    });
    let bsd = bsd::stack::STACKS.iter().map(|(name, summary, data)| {
        let entry = json!({
            "summary": summary, "options": data, "implementation": "bsd",
            "cc": bsd::modules::CONTROLS, "ecn": true, "offload": false, "buffer_factor": 1,
            "buffer_options": {"rmem": "recvspace", "wmem": "sendspace"},
        });
        ((*name).to_owned(), entry)
    });
    linux.chain(bsd).collect()
}

/// The implementations as entries of the catalogue, with their options. Defaults are those of the first stack of each.
#[must_use]
pub fn entries() -> Vec<Value> {
    let entry = |name, summary, parameters, defaults: Value| {
        let mut listed = Entry::plain(name, summary, summary, parameters).listing();
        for each in listed["parameters"].as_array_mut().into_iter().flatten() {
            let default = &defaults[each["name"].as_str().unwrap_or_default()];
            if let (Some(fields), false) = (each.as_object_mut(), default.is_null()) {
                fields.remove("required");
                fields.insert("default".to_owned(), default.clone());
            }
        }
        listed
    };
    let (linux, bsd) = (json!(STACKS[0].options), json!(bsd::stack::STACKS[0].2));
    vec![
        entry("linux", "Linux's TCP", Stack::PARAMETERS, linux),
        entry("bsd", "FreeBSD's TCP", bsd::stack::Stack::PARAMETERS, bsd),
    ]
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
        let flaws = refused("freebsd-9", json!({"tail_loss_probe": true, "abc_l_var": "two", "hz": 50}));
        assert_eq!(flaws.fields(), ["options.abc_l_var", "options.tail_loss_probe"], "what it is, before its range");
        let hz = Flaws::one("options.hz", "50 ticks a second", "100 to 1000");
        assert_eq!(refused("freebsd-9", json!({"hz": 50})), hz);
        let names = "one of freebsd-9, linux-2.6, linux-3.9, linux-5.1-sce, linux-6.12, linux-7.3";
        assert_eq!(refused("freebsd-8", json!({})), Flaws::one("name", "unknown \"freebsd-8\"", names));
    }

    #[test]
    fn a_stack_without_pacing_refuses_what_is_paced_and_lists_none_of_it() {
        use crate::tcp::common::layout::tests::bulk_flow;
        let check = |stack: StackSpec, cc: &str, max_pacing_bps| {
            let mut spec = bulk_flow();
            (spec.cc.kind, spec.host.max_pacing_bps) = (cc.into(), max_pacing_bps);
            let options = Stack::from_spec(&stack).unwrap();
            spec.stack = stack;
            let needs = find(cc).unwrap().needs;
            check_linux(&spec, &options).and_then(|()| check_needs(&spec, &needs, &options))
        };
        let rate = Some(10_000_000);
        for name in ["linux-3.9", "linux-2.6"] {
            let flaws = check(spec(name, json!({})), "reno", rate).unwrap_err();
            let what = format!("10000000 bit/s on the stack {name} without pacing, which came with Linux 3.12");
            let expected = "none, or a stack with pacing: true, such as linux-6.12";
            assert_eq!(flaws, Flaws::one("host.max_pacing_bps", what, expected));
            assert_eq!(check(spec(name, json!({})), "bbr3", None).unwrap_err().fields(), ["cc.kind"]);
            assert_eq!(check(spec(name, json!({"pacing": true})), "reno", rate), Ok(()));
            let list = listing();
            let names: Vec<&str> = list[name]["cc"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            assert!(names.iter().all(|cc| !find(cc).unwrap().needs.pacing && !find(cc).unwrap().needs.rate_samples));
        }
        let unpaced = || spec("linux-6.12", json!({"pacing": false}));
        assert_eq!(check(unpaced(), "bbr", None).unwrap_err().fields(), ["cc.kind"]);
        assert_eq!(check(unpaced(), "cubic", rate).unwrap_err().fields(), ["host.max_pacing_bps"]);
        assert_eq!(check(spec("linux-6.12", json!({})), "bbr", rate), Ok(()));
    }

    #[test]
    fn every_stack_is_listed_once_with_what_runs_on_it() {
        let list = listing();
        assert_eq!(list.len(), STACKS.len() + bsd::stack::STACKS.len());
        assert_eq!(list["freebsd-9"]["cc"], json!(["cdg", "cubic", "reno"]));
        assert_eq!(list["freebsd-9"]["options"]["abc_l_var"], json!(2));
        assert_eq!(list["linux-6.12"]["buffer_factor"], json!(2));
        let has = |stack: &str, cc: &str| list[stack]["cc"].as_array().unwrap().contains(&json!(cc));
        assert!(["reno", "cubic", "bic", "westwood"].iter().all(|cc| has("linux-3.9", cc)));
        assert!(!has("linux-2.6", "dctcp") && has("linux-2.6", "htcp") && has("linux-2.6", "fast"));
        assert!(!has("linux-3.9", "dctcp") && has("linux-5.1-sce", "dctcp"));
        assert_eq!(list["linux-5.1-sce"]["cc"], list["linux-6.12"]["cc"]);
    }
}
