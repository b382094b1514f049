//! A hash of what Rust code does. It covers tokens, so that an edit of a comment, of a docstring, of the layout or of a test leaves it as it is,
//! and what was computed before the edit stays valid.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use sha2::{Digest, Sha256};

/// Return the SHA-256 of files below `root`, and of the Rust files in folders there, in hexadecimal digits. Rust files count as code, without
/// the modules that are only there for tests; other files count byte for byte. The order of `paths` does not matter.
///
/// # Panics
/// A file cannot be read, or is no Rust.
#[must_use]
pub fn hash(root: &Path, paths: &[&str]) -> String {
    let mut files = BTreeMap::new();
    for path in paths {
        collect(root, Path::new(path), &mut vec![], &mut files);
    }
    let mut hash = Sha256::new();
    for (path, content) in files {
        hash.update(format!("{}\n{}\n", path.display(), content.len()));
        hash.update(content);
    }
    format!("{:x}", hash.finalize())
}

/// Add a file, or the Rust files below a folder. `tests` has the files and folders, without `.rs`, that are known to be there for tests only.
fn collect(root: &Path, path: &Path, tests: &mut Vec<PathBuf>, files: &mut BTreeMap<PathBuf, String>) {
    let full = root.join(path);
    if full.is_file() {
        let text = fs::read_to_string(&full).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let content = if is_rust(path) { code(&text).0 } else { text };
        files.insert(path.to_owned(), content);
        return;
    }
    let listed = fs::read_dir(&full).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let names: Vec<_> = listed.map(|entry| path.join(entry.expect("a readable folder").file_name())).collect();
    tests.extend(names.iter().filter(|name| is_rust(name)).flat_map(|name| tests_of(root, name)));
    for name in names {
        if !tests.contains(&name.with_extension("")) && (is_rust(&name) || root.join(&name).is_dir()) {
            collect(root, &name, tests, files);
        }
    }
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// Return the files or folders, without `.rs`, of the modules that a file declares for tests only.
fn tests_of(root: &Path, file: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(root.join(file)).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let is_room = file.file_stem().is_some_and(|stem| stem == "mod" || stem == "lib");
    let folder = if is_room { file.with_file_name("") } else { file.with_extension("") };
    code(&text).1.into_iter().map(|name| folder.join(name)).collect()
}

/// Return the tokens of some code without comments and without modules for tests, and the names of those modules that are files.
fn code(text: &str) -> (String, Vec<String>) {
    let (mut out, mut tests) = (String::new(), vec![]);
    write(text.parse().expect("Rust"), &mut out, &mut tests);
    (out, tests)
}

fn write(tokens: TokenStream, out: &mut String, tests: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match attribute(&tokens[at..]) {
            Some((length, text)) if text.starts_with("doc") => at += length,
            Some((length, text)) if text == "cfg(test)" => match module(&tokens[at + length..]) {
                Some((rest, name)) => {
                    tests.extend(name);
                    at += length + rest;
                }
                None => at += token(&tokens[at], out, tests),
            },
            _ => at += token(&tokens[at], out, tests),
        }
    }
}

/// Write a token with all that is in it. Return 1.
fn token(token: &TokenTree, out: &mut String, tests: &mut Vec<String>) -> usize {
    if let TokenTree::Group(group) = token {
        let [open, close] = match group.delimiter() {
            Delimiter::Parenthesis => ["(", ")"],
            Delimiter::Brace => ["{", "}"],
            Delimiter::Bracket => ["[", "]"],
            Delimiter::None => ["", ""],
        };
        out.push_str(open);
        write(group.stream(), out, tests);
        out.push_str(close);
    } else {
        out.push_str(&token.to_string());
    }
    out.push('\n');
    1
}

/// Return the number of tokens of the attribute at the start, and its text without white space; `None` if something else is there.
fn attribute(tokens: &[TokenTree]) -> Option<(usize, String)> {
    let is = |at: usize, sign| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == sign);
    let at = if is(1, '!') { 2 } else { 1 };
    match tokens.get(at) {
        Some(TokenTree::Group(group)) if is(0, '#') && group.delimiter() == Delimiter::Bracket => {
            let text = group.stream().to_string();
            Some((at + 1, text.split_whitespace().collect()))
        }
        _ => None,
    }
}

/// Return the number of tokens of the module at the start, and its name if it is a file of its own; `None` if something else is there.
fn module(tokens: &[TokenTree]) -> Option<(usize, Option<String>)> {
    let mut at = 0;
    while let Some((length, _)) = attribute(&tokens[at..]) {
        at += length;
    }
    if tokens.get(at)?.to_string() == "pub" {
        at += if matches!(tokens.get(at + 1), Some(TokenTree::Group(_))) { 2 } else { 1 };
    }
    match tokens.get(at..at + 3)? {
        [word, name, body] if word.to_string() == "mod" => {
            let is_file = !matches!(body, TokenTree::Group(_));
            Some((at + 3, is_file.then(|| name.to_string())))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{code, hash};
    use std::fs;
    use std::path::Path;

    const CODE: &str = "/// Doubles.\n#[inline]\npub fn double(x: u32) -> u32 { 2 * x }\n";

    #[test]
    fn comments_layout_and_modules_of_tests_are_no_code_and_all_else_is() {
        let same = [
            "#[inline] pub fn double(x: u32) -> u32 { /* twice */ 2 * x }",
            "//! A file.\n#[inline]\npub fn double(x: u32) -> u32 {\n    // Twice.\n    2 * x\n}\n",
            "#[inline] pub fn double(x: u32) -> u32 { 2 * x }\n#[cfg(test)]\nmod tests { #[test] fn f() {} }",
            "#[cfg(test)]\n#[allow(dead_code)]\npub(crate) mod lab;\n#[inline] pub fn double(x: u32) -> u32 { 2 * x }",
        ];
        assert!(same.iter().all(|other| code(other).0 == code(CODE).0));
        let others = [
            CODE.replace("2 * x", "3 * x"),
            CODE.replace("#[inline]", ""),
            CODE.replace("2 * x", "\"// no comment\""),
            format!("{CODE}#[cfg(test)]\nfn helper() {{}}"),
            format!("{CODE}mod tests {{}}"),
        ];
        assert!(others.iter().all(|other| code(other).0 != code(CODE).0));
        assert_ne!(code("a >> b").0, code("a b").0);
        assert_eq!(code("#[cfg(test)] mod tests; #[cfg(test)] pub mod lab; mod real;").1, ["tests", "lab"]);
    }

    #[test]
    fn a_hash_is_of_the_code_below_a_folder_without_the_files_of_tests() {
        let root = std::env::temp_dir().join(format!("dumbbell-code-hash-{}", std::process::id()));
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
            fs::write(path, text).expect("writable");
        };
        let now = || hash(&root, &["src", "Cargo.lock"]);
        write("Cargo.lock", "# packages\n");
        write("src/lib.rs", "mod a; mod b;");
        write("src/a.rs", "#[cfg(test)] mod tests;");
        write("src/a/tests.rs", "fn f() {}");
        write("src/b/mod.rs", "#[cfg(test)] mod tests; mod real;");
        write("src/b/tests/mod.rs", "mod more;");
        write("src/b/tests/more.rs", "fn f() {}");
        write("src/b/real.rs", "fn f() {}");
        let before = now();
        write("src/a/tests.rs", "fn g() {}");
        write("src/b/tests/more.rs", "fn g() {}");
        write("src/b/real.rs", "// A comment.\nfn f() {}");
        assert_eq!(now(), before);
        write("src/b/real.rs", "fn g() {}");
        assert_ne!(now(), before);
        write("src/b/real.rs", "fn f() {}");
        write("Cargo.lock", "# other packages\n");
        assert_ne!(now(), before, "a file that is no Rust counts byte for byte");
        fs::remove_dir_all(&root).expect("removable");
    }

    #[test]
    fn the_project_itself_is_code() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert_eq!(hash(&root, &["sim/src", "trace/src", "foreign/src", "bindings/src"]).len(), 64);
    }
}
