//! The modules of the crate that each module may know: those above it in this list, and of these only the ones named.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A module, and what it may know besides itself, lowest layer first.
const LAYERS: &[(&str, &[&str])] = &[
    ("prefetch", &[]),
    ("time", &[]),
    ("rng", &[]),
    ("packet", &[]),
    ("attachment", &["packet", "prefetch"]),
    ("headers", &["attachment", "packet"]),
    ("outbox", &["attachment", "packet", "time"]),
    ("segment", &["attachment", "headers", "outbox", "packet"]),
    ("refusal", &[]),
    ("catalogue", &["refusal"]),
    ("spec", &["catalogue", "packet", "segment"]),
    ("draw", &["refusal", "rng", "spec"]),
    ("playback", &["time"]),
    ("events", &["time"]),
    ("pool", &["packet", "prefetch", "time"]),
    ("fingerprint", &["packet", "segment", "time"]),
    ("tap", &["attachment", "packet", "time"]),
    ("qdisc", &["attachment", "catalogue", "headers", "packet", "pool", "prefetch", "refusal", "rng", "spec", "time"]),
    ("port", &["catalogue", "packet", "pool", "qdisc", "refusal", "rng", "spec", "time"]),
    (
        "network",
        &[
            "attachment",
            "events",
            "fingerprint",
            "headers",
            "outbox",
            "packet",
            "pool",
            "port",
            "qdisc",
            "rng",
            "tap",
            "time",
        ],
    ),
    ("cc", &["catalogue", "packet", "refusal", "rng"]),
    ("tcp", &["attachment", "catalogue", "cc", "outbox", "packet", "prefetch", "refusal", "segment", "spec", "time"]),
    ("flow", &["outbox", "packet", "prefetch", "tcp", "time"]),
    ("capture", &["attachment", "packet", "segment", "spec", "tap", "tcp", "time"]),
    ("output", &["capture", "time"]),
    (
        "probe",
        &[
            "catalogue",
            "cc",
            "flow",
            "network",
            "output",
            "packet",
            "playback",
            "port",
            "qdisc",
            "segment",
            "spec",
            "tcp",
            "time",
        ],
    ),
    (
        "traffic",
        &[
            "attachment",
            "capture",
            "catalogue",
            "cc",
            "draw",
            "flow",
            "network",
            "outbox",
            "output",
            "packet",
            "playback",
            "probe",
            "refusal",
            "rng",
            "segment",
            "spec",
            "tcp",
            "time",
        ],
    ),
    (
        "simulation",
        &[
            "capture", "events", "flow", "network", "outbox", "output", "packet", "port", "prefetch", "probe",
            "refusal", "segment", "spec", "tap", "tcp", "time", "traffic",
        ],
    ),
];

/// The source files of a module, without those of its tests.
fn sources(module: &Path, out: &mut Vec<PathBuf>) {
    if module.is_file() {
        return out.push(module.to_owned());
    }
    let entries = || fs::read_dir(module).expect("a folder").map(|entry| entry.expect("readable").path());
    let mut tests = BTreeSet::new();
    for file in entries().filter(|path| path.is_file()) {
        let text = fs::read_to_string(&file).expect("text");
        for (declared, _) in text.match_indices("#[cfg(test)]\n") {
            let line = text[declared..].lines().nth(1).unwrap_or_default().trim_start_matches("pub(crate) ");
            if let Some(name) = line.strip_prefix("mod ").and_then(|line| line.strip_suffix(';')) {
                tests.insert(name.to_owned());
            }
        }
    }
    for path in entries() {
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if !tests.contains(&stem) {
            sources(&path, out);
        }
    }
}

/// The modules of this crate that a source file names outside of comments and tests.
fn named(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    let mut found = BTreeSet::new();
    for line in lines {
        for (at, prefix) in line.match_indices("crate::") {
            let rest = &line[at + prefix.len()..];
            let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(rest.len());
            found.insert(rest[..end].to_owned());
        }
    }
    found
}

/// Return the modules that each module names.
fn knowledge() -> BTreeMap<String, BTreeSet<String>> {
    let mut known = BTreeMap::new();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).expect("the sources") {
        let path = entry.expect("readable").path();
        let module = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let mut files = vec![];
        sources(&path, &mut files);
        let all: &mut BTreeSet<String> = known.entry(module.clone()).or_default();
        for file in files {
            all.extend(named(&fs::read_to_string(file).expect("text")));
        }
        all.remove(&module);
    }
    known.remove("lib");
    known
}

#[test]
fn every_module_knows_exactly_those_that_it_may() {
    let mut found = knowledge();
    for (module, listed) in LAYERS {
        let listed: BTreeSet<String> = listed.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(found.remove(*module), Some(listed), "what {module} knows, and what this file says of it");
    }
    assert!(found.is_empty(), "not in the list: {found:?}");
}

/// The modules between the ends of a flow. A packet's body is none of its business.
const NETWORK: [&str; 8] = ["packet", "attachment", "headers", "pool", "tap", "qdisc", "port", "network"];

#[test]
fn the_network_knows_no_transport() {
    for (module, known) in LAYERS.iter().filter(|(module, _)| NETWORK.contains(module)) {
        assert!(!["segment", "tcp"].iter().any(|transport| known.contains(transport)), "{module}");
    }
}

#[test]
fn there_is_no_circle() {
    for (i, (module, known)) in LAYERS.iter().enumerate() {
        for other in *known {
            assert!(LAYERS[..i].iter().any(|(name, _)| name == other), "{module} knows {other}");
        }
    }
}

#[test]
fn comments_and_tests_name_nothing() {
    let text =
        "use crate::a::b; // crate::c\nfn f() { crate::d_e::g() }\n#[cfg(test)]\nmod tests {\n    use crate::h;\n}\n";
    assert_eq!(named(text).into_iter().collect::<Vec<_>>(), ["a", "d_e"]);
}
