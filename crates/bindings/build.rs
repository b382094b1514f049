//! Exports `SOURCE_HASH`: SHA-256 of all that decides the simulator's results - its sources, its manifest and the lock file - and
//! `TRACE_HASH`: SHA-256 of all that decides the measurements from captures.

use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest, Sha256};

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    let mut files = vec![PathBuf::from("Cargo.lock"), PathBuf::from("crates/sim/Cargo.toml")];
    files.extend(["crates/bindings/src/capture.rs", "crates/trace/src/write.rs"].map(PathBuf::from));
    for folder in ["crates/foreign/src", "crates/sim/src"] {
        collect(&root, Path::new(folder), &mut files);
    }
    println!("cargo:rustc-env=SOURCE_HASH={}", hash(&root, files));
    let mut files = vec![PathBuf::from("Cargo.lock")];
    collect(&root, Path::new("crates/trace/src"), &mut files);
    println!("cargo:rustc-env=TRACE_HASH={}", hash(&root, files));
    for watched in [
        "Cargo.lock",
        "crates/sim/Cargo.toml",
        "crates/sim/src",
        "crates/foreign/src",
        "crates/bindings/src",
        "crates/trace/src",
    ] {
        println!("cargo:rerun-if-changed={}", root.join(watched).display());
    }
}

/// Return the hash of files; their order does not matter.
fn hash(root: &Path, mut files: Vec<PathBuf>) -> String {
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let content = fs::read(root.join(&file)).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        hash.update(format!("{}\n{}\n", file.display(), content.len()));
        hash.update(content);
    }
    format!("{:x}", hash.finalize())
}

/// Adds the Rust files below `folder`, relative to `root`.
fn collect(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(root.join(folder)).expect("the simulator's sources are there") {
        let entry = entry.expect("a readable folder");
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            collect(root, &path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}
