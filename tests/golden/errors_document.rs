//! docs/errors.md lists every SQLSTATE that the sources can send, and no other.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn is_code(text: &str) -> bool {
    text.len() == 5 && text.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Codes that are written down outside test modules: `SqlState(*b"…")`, the list of `states!`, and notices' codes.
fn sent() -> BTreeSet<String> {
    let mut files = Vec::new();
    sources(&path("src"), &mut files);
    let mut codes = BTreeSet::new();
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let literals = code.split("b\"").skip(1).chain(code.split("code: \"").skip(1));
        codes.extend(literals.filter_map(|l| l.split('"').next()).filter(|l| is_code(l)).map(str::to_owned));
    }
    // Success is no error.
    codes.remove("00000");
    codes
}

/// Codes of the first columns; those of PostgreSQL's own errors, which end in "…", apart.
fn documented() -> (BTreeSet<String>, BTreeSet<String>) {
    let text = std::fs::read_to_string(path("docs/errors.md")).unwrap();
    let (mut own, mut relayed) = (BTreeSet::new(), BTreeSet::new());
    for line in text.lines().filter(|l| l.starts_with("| ")) {
        let cell = line.trim_start_matches("| ").split(" |").next().unwrap();
        let codes = cell.split(", ").filter(|c| is_code(c)).map(str::to_owned);
        if cell.ends_with('…') { relayed.extend(codes) } else { own.extend(codes) }
    }
    (own, relayed)
}

#[test]
fn every_sqlstate_is_documented_and_no_other() {
    let (sent, (documented, relayed)) = (sent(), documented());
    assert!(sent.len() > 35, "{sent:?}");
    let missing: Vec<&String> = sent.difference(&documented).collect();
    assert!(missing.is_empty(), "not in docs/errors.md: {missing:?}");
    let gone: Vec<&String> = documented.difference(&sent).collect();
    assert!(gone.is_empty(), "docs/errors.md has what nothing sends: {gone:?}");
    assert!(relayed.is_disjoint(&sent), "{relayed:?} are ours, too");
}

/// Each row says what it comes from.
#[test]
fn every_row_has_a_cause() {
    let text = std::fs::read_to_string(path("docs/errors.md")).unwrap();
    for line in text.lines().filter(|l| l.starts_with("| ") && !l.starts_with("| SQLSTATE")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        assert!(cells.len() == 3 && cells[1].len() > 10, "{line}");
    }
}
