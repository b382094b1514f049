//! Libraries as they may come. A library that does not fit is an error in a line, before anything but its table is used.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dumbbell_foreign::Library;
use dumbbell_sim::cc::BoxedControl;
use dumbbell_sim::refusal::{lines, Flaws, Part, Place, Refusal};
use serde_json::json;

/// Compiles the library with these definitions. None, with a word about it, without a C compiler: dumbbell needs none.
fn compiled(name: &str, defined: &[&str]) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let out = folder.join(format!("{name}.so"));
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-shared", "-fPIC", "-w", "-I"]).arg(root.join("../../dumbbell/templates/cc"));
    cc.args(defined.iter().map(|each| format!("-D{each}"))).arg("-o").arg(&out).arg(root.join("tests/odd.c"));
    match cc.status() {
        Ok(status) => assert!(status.success(), "{name} does not compile"),
        Err(_) => {
            eprintln!("skipped: there is no C compiler (cc)");
            return None;
        }
    }
    Some(out)
}

fn text<T>(made: Result<T, Flaws>) -> String {
    let place = Place { kind: Part::Workload, index: Some(0) };
    let refusals: Vec<Refusal> = made.err().expect("a flaw").at(place).collect();
    lines(&refusals)
}

fn open(path: &Path) -> Result<&'static Library, Flaws> {
    // SAFETY: it is compiled from the source beside this file, whose initialiser does nothing here.
    unsafe { Library::open(path, "odd.so") }
}

/// Return the error line of a library.
fn refused(name: &str, defined: &[&str]) -> Option<String> {
    Some(text(open(&compiled(name, defined)?)))
}

fn made(name: &str, does: &str, defined: &[&str]) -> Option<Result<Box<dyn BoxedControl>, Flaws>> {
    let library = open(&compiled(name, defined)?).expect("it fits");
    Some(library.control(json!({"does": does}).as_object().expect("an object")))
}

#[test]
fn a_file_that_is_no_library_and_one_without_the_function_are_refused() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("text.so");
    fs::write(&path, "no library").expect("a folder to write to");
    let line = text(open(&path));
    assert!(line.starts_with("Workload 0.library: odd.so cannot be loaded (") && line.contains("text.so"), "{line}");
    if let Some(line) = refused("no-symbol", &["NO_SYMBOL"]) {
        assert_eq!(
            line,
            "Workload 0.library: odd.so exports no dumbbell_cc_v1; expected a congestion control for dumbbell"
        );
    }
    if let Some(line) = refused("no-table", &["NO_TABLE=1"]) {
        assert_eq!(line, "Workload 0.library: odd.so has no table: dumbbell_cc_v1 returned NULL; expected a table");
    }
}

#[test]
fn a_table_of_another_interface_is_refused() {
    let cases = [
        ("abi", ".abi=2", "has version 2 of the interface, not 1"),
        ("view", "DUMBBELL_THIS_INTERFACE,.view_size=8", "has a struct dumbbell_view of 8 bytes, not "),
        ("sample", "DUMBBELL_THIS_INTERFACE,.sample_size=1", "has a struct dumbbell_sample of 1 bytes, not "),
        ("lacks", "DUMBBELL_THIS_INTERFACE", "has no ssthresh; expected one"),
        ("avoid", "DUMBBELL_THIS_INTERFACE,.ssthresh=ssthresh", "has neither cong_avoid nor cong_control"),
        ("needs", "DUMBBELL_THIS_INTERFACE,.needs=128", "needs 0x80, which nobody knows"),
        ("says", "DUMBBELL_THIS_INTERFACE,.ssthresh=ssthresh,.needs=2", "has a cong_control, or says so"),
    ];
    for (name, table, expected) in cases {
        if let Some(line) = refused(name, &[&format!("TABLE={table}")]) {
            assert!(line.starts_with(&format!("Workload 0.library: odd.so {expected}")), "{line}");
        }
    }
}

#[test]
fn parameters_go_to_the_library_which_may_refuse_them() {
    let Some(refused) = made("sleep", "sleep", &[]) else { return };
    assert_eq!(
        text(refused),
        "Workload 0: odd.so refuses its parameters: it does nothing of that kind; expected others"
    );
    assert!(made("plain", "nothing", &[]).expect("a compiler").is_ok());
    let bare = ["TABLE=DUMBBELL_THIS_INTERFACE,.ssthresh=ssthresh,.cong_avoid=cong_avoid"];
    assert_eq!(
        text(made("bare", "nothing", &bare).expect("a compiler")),
        "Workload 0.does: no such parameter; expected no parameters"
    );
}

#[test]
fn what_a_library_needs_is_told() {
    let table = "TABLE=DUMBBELL_THIS_INTERFACE,.ssthresh=ssthresh,.cong_control=cong_control,.create=create,.needs=18,.send_windows=3";
    let Some(control) = made("paced", "nothing", &[table]) else { return };
    let needs = control.expect("it fits").needs();
    assert!(needs.cong_control && needs.pacing && !needs.ecn && !needs.rate_samples && !needs.whole_acks);
    assert_eq!(needs.send_windows, 3);
}
