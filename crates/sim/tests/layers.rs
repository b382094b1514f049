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
    (
        "tcp",
        &["attachment", "catalogue", "cc", "outbox", "packet", "prefetch", "refusal", "rng", "segment", "spec", "time"],
    ),
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

/// The names of a module from the crate's root: `["tcp", "bsd", "sender"]`.
type Module = Vec<String>;

/// The module that a source file is.
fn module_of(root: &Path, file: &Path) -> Module {
    let below = file.strip_prefix(root).expect("below the root").with_extension("");
    let mut names: Module = below.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.last().is_some_and(|name| name == "mod") {
        names.pop();
    }
    names
}

/// The paths of a tree of uses such as `a::{b::C, d}` at the start of some code, each behind `before`.
fn uses(code: &mut &str, before: &[String], found: &mut Vec<Module>) {
    let mut path = before.to_vec();
    loop {
        let end = code.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(code.len());
        path.push(code[..end].to_owned());
        *code = &code[end..];
        let Some(rest) = code.strip_prefix("::") else { break };
        *code = rest;
        if let Some(rest) = code.strip_prefix('{') {
            *code = rest;
            while !code.is_empty() && !code.starts_with('}') {
                *code = code.trim_start_matches([',', ' ', '\n']);
                if !code.starts_with('}') {
                    uses(code, &path, found);
                    *code = code.split_once([',', '}']).map_or("", |(skipped, _)| &code[skipped.len()..]);
                }
            }
            *code = code.strip_prefix('}').unwrap_or(code);
            return;
        }
    }
    found.push(path);
}

/// The paths from the crate's root that the code of a module names.
fn paths(module: &[String], text: &str) -> Vec<Module> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String = code.lines().flat_map(|line| [line.split("//").next().unwrap_or_default(), "\n"]).collect();
    let mut found = vec![];
    for word in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(word) {
            if !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                let mut all = vec![];
                uses(&mut &code[at..], &[], &mut all);
                found.extend(all);
            }
        }
    }
    let absolute = |path: Module| {
        let above = path.iter().take_while(|name| *name == "super").count();
        let from = if path[0] == "crate" { 0 } else { module.len().saturating_sub(above) };
        let names = path.into_iter().skip_while(|name| ["crate", "super", "self"].contains(&name.as_str()));
        module[..from].iter().cloned().chain(names).collect()
    };
    found.into_iter().map(absolute).collect()
}

/// The arrows of every room: a room's path, and for each module in it the neighbours that it, or a module below it, names.
fn arrows() -> BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = vec![];
    sources(&root, &mut files);
    let modules: BTreeMap<Module, String> =
        files.iter().map(|file| (module_of(&root, file), fs::read_to_string(file).expect("text"))).collect();
    let mut rooms: BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (module, text) in &modules {
        for path in paths(module, text) {
            let known = (0..=path.len()).rev().map(|end| &path[..end]).find(|path| modules.contains_key(*path));
            let Some(known) = known else { continue };
            let common = module.iter().zip(known).take_while(|(a, b)| a == b).count();
            if let (Some(from), Some(to)) = (module.get(common), known.get(common)) {
                let room = rooms.entry(module[..common].to_vec()).or_default();
                room.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    rooms
}

/// The modules of a room that are in a circle, or know one that is.
fn in_circles(room: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let mut rest: BTreeSet<String> = room.keys().cloned().collect();
    while let Some(ground) = rest.iter().find(|module| room[*module].is_disjoint(&rest)).cloned() {
        rest.remove(&ground);
    }
    rest
}

#[test]
fn no_room_has_a_circle() {
    let rooms = arrows();
    assert!(rooms[&vec!["tcp".to_owned()]]["bsd"].contains("common"), "arrows are found");
    let circles: Vec<_> =
        rooms.iter().map(|(room, all)| (room, in_circles(all))).filter(|(_, all)| !all.is_empty()).collect();
    assert!(circles.is_empty(), "{circles:?}");
}

#[test]
fn a_circle_is_found() {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let room = |arrows: &[(&str, &[&str])]| arrows.iter().map(|(from, to)| ((*from).to_owned(), set(to))).collect();
    assert_eq!(in_circles(&room(&[("a", &["b", "c"]), ("b", &["c"])])), set(&[]));
    assert_eq!(in_circles(&room(&[("a", &["b"]), ("b", &["c"]), ("c", &["b", "d"])])), set(&["a", "b", "c"]));
}

#[test]
fn paths_are_found_in_trees_of_uses() {
    let module = ["a".to_owned(), "b".to_owned()];
    let text = "use super::{c::{self, D}, e};\nuse crate::f::{g,\n    h::i};\nfn k() { self::l::m(super::super::n()) } // crate::o";
    let found: BTreeSet<String> = paths(&module, text).iter().map(|path| path.join("::")).collect();
    let expected = ["a::b::l::m", "a::c::D", "a::c::self", "a::e", "f::g", "f::h::i", "n"];
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn comments_and_tests_name_nothing() {
    let text =
        "use crate::a::b; // crate::c\nfn f() { crate::d_e::g() }\n#[cfg(test)]\nmod tests {\n    use crate::h;\n}\n";
    assert_eq!(named(text).into_iter().collect::<Vec<_>>(), ["a", "d_e"]);
}
