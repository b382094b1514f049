//! A stack of a description: its options, and what is refused.

use serde_json::Value;

use super::*;

fn spec(name: &str, options: Value) -> StackSpec {
    let Value::Object(options) = options else { panic!() };
    StackSpec { name: name.into(), options }
}

#[test]
fn options_override_the_named_stack() {
    let s = Stack::from_spec(&spec("linux-5.1-sce", serde_json::json!({"sce_scale_bytes": 1448}))).unwrap();
    assert_eq!(s, Stack { sce_scale_bytes: 1448, ..LINUX_5_1_SCE });
}

#[test]
fn what_does_not_exist_is_named() {
    for (name, options, fields) in [
        ("linux-6", serde_json::json!({}), &["name"][..]),
        ("linux-6.12", serde_json::json!({"sce": 1, "hz": "fast"}), &["options.hz", "options.sce"]),
        ("linux-6.12", serde_json::json!({"hz": 0, "initial_cwnd": 0}), &["options.hz", "options.initial_cwnd"]),
        ("linux-3.9", serde_json::json!({"frto": "rfc5682"}), &["options.frto"]),
        ("linux-3.9", serde_json::json!({"tail_loss_probe": true}), &["options.tail_loss_probe"]),
        ("linux-6.12", serde_json::json!({"early_retransmit": "delayed"}), &["options.early_retransmit"]),
        ("linux-6.12", serde_json::json!({"loss_detection": "fack"}), &["options.frto", "options.tail_loss_probe"]),
        ("linux-5.1-sce", serde_json::json!({"sce_scale_bytes": 0}), &["options.sce_scale_bytes"]),
        ("linux-6.12", serde_json::json!({"cwnd_reduction": "rate-halving"}), &["options.cwnd_reduction"]),
        (
            "linux-6.12",
            serde_json::json!({"max_burst": 3, "loss_marking": "episode"}),
            &["options.loss_marking", "options.max_burst"],
        ),
        ("linux-2.6", serde_json::json!({"cwnd_reduction": "halving"}), &["options.cwnd_reduction"]),
        (
            "linux-2.6",
            serde_json::json!({"rto_initial_ms": 0, "restart_cwnd": 0}),
            &["options.restart_cwnd", "options.rto_initial_ms"],
        ),
    ] {
        assert_eq!(Stack::from_spec(&spec(name, options)).unwrap_err().fields(), fields);
    }
    let flaws = Stack::from_spec(&spec("linux-6.12", serde_json::json!({"hz": "fast"}))).unwrap_err();
    assert_eq!(flaws, Flaws::one("options.hz", "invalid type: string \"fast\"", "u32"));
}

#[test]
fn a_control_takes_of_an_early_stack_what_is_its_own() {
    use crate::cc::{find, Parameters};
    let stack = Stack::from_spec(&spec("linux-2.6", serde_json::json!({}))).unwrap();
    let on = |control: &str, given: Value| {
        let Value::Object(given) = given else { panic!() };
        Parameters::resolve(find(control).unwrap().parameters, &stack.control_parameters(), &given).unwrap()
    };
    assert_eq!(on("cubic", serde_json::json!({})).word("version"), "2.0");
    assert_eq!(on("cubic", serde_json::json!({"version": "2.1"})).word("version"), "2.1");
    assert_eq!(on("htcp", serde_json::json!({})).word("version"), "linux-2.6.18");
    assert_eq!(on("westwood", serde_json::json!({})).word("version"), "today");
    assert_eq!(on("bic", serde_json::json!({})).integer("initial_ssthresh"), 100);
    assert_eq!(on("bic", serde_json::json!({"initial_ssthresh": 0})).integer("initial_ssthresh"), 0);
}
