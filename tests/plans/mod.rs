//! Plans, written down: what a planner says of many statements, a line of JSON each, so that the planners of two commits can be
//! held against each other byte by byte (`tests/plans/compare`).
//!
//! `NOISEGATE_PLANS` names the folder that they are written into.
#![allow(dead_code, reason = "each test program uses its own part of this")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use noisegate::emit::fetch;
use noisegate::emit::print::{self, Constants};
use noisegate::explained;
use noisegate::plan::Plan;
use noisegate::policy::Policy;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// All that is said of a plan: price, what is released and how, each text, what EXPLAIN tells.
pub fn of_plan(plan: &Plan, policy: &Policy, constants: &Constants) -> Value {
    let paying = plan.releases.iter().filter(|r| !r.is_domain_only());
    json!({
        "said": explained::plan(plan, policy, constants),
        "typed": print::typed(&plan.statement, policy, constants).sql,
        "fetches": paying.map(|r| fetch::fetch(r, policy).sql).collect::<Vec<_>>(),
        "charge": format!("{:?}", plan.charge),
        "free": format!("{:?}", plan.free),
        "question": format!("{:?}", plan.question),
    })
}

/// Plans of one family, in the order in which they were made.
pub struct Written {
    lines: Vec<String>,
}

impl Written {
    /// None yet.
    pub fn new() -> Self {
        Self { lines: Vec::new() }
    }

    /// One more.
    pub fn add(&mut self, sql: &str, told: &Value) {
        self.lines.push(json!({ "sql": sql, "told": told }).to_string());
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// How many of them read private rows.
    pub fn planned(&self) -> usize {
        self.lines.iter().filter(|l| l.contains("\"fetches\":[\"")).count()
    }

    /// Into the folder, if one is wanted.
    pub fn keep(&self, family: &str) {
        let Some(folder) = folder() else { return };
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{family}.jsonl")), self.lines.join("\n") + "\n").unwrap();
    }

    /// The first statement of which the other says something else.
    pub fn first_difference(&self, other: &Self) -> Option<(String, String)> {
        assert_eq!(self.lines.len(), other.lines.len());
        let pairs = self.lines.iter().zip(&other.lines);
        pairs.into_iter().find(|(a, b)| a != b).map(|(a, b)| (a.clone(), b.clone()))
    }
}

/// Where plans are wanted.
pub fn folder() -> Option<PathBuf> {
    std::env::var_os("NOISEGATE_PLANS").map(PathBuf::from)
}

/// Every query that stands in a test, a script, the documents or the corpus of the fuzzer, each once, in order.
pub fn statements() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    for folder in ["tests", "docs", "examples"] {
        collect(&root.join(folder), &mut |path, text| {
            if path.starts_with(root.join("tests/fuzz/corpus/statements")) {
                found.insert(text.trim().to_owned());
            } else if path.starts_with(root.join("tests/scripts")) {
                found.extend(text.lines().filter_map(|l| {
                    let (kind, sql) = l.split_once("> ")?;
                    let is_script = kind.is_empty() || kind.starts_with('[') || kind == "!";
                    is_script.then(|| sql.trim_end_matches('\\').trim().to_owned())
                }));
            } else {
                match path.extension().and_then(|e| e.to_str()) {
                    Some("rs") => quoted(text, &mut found),
                    Some("md") => fenced(text, &mut found),
                    Some("sql") => found.extend(text.split(";\n").map(|s| s.trim().to_owned())),
                    _ => {}
                }
            }
        });
    }
    found.into_iter().filter(|s| is_query(s)).collect()
}

fn is_query(text: &str) -> bool {
    let first = text.split(|c: char| !c.is_ascii_alphabetic()).find(|w| !w.is_empty()).unwrap_or_default();
    ["SELECT", "WITH", "TABLE", "VALUES"].iter().any(|w| first.eq_ignore_ascii_case(w))
        && !text.contains("{}")
        && !text.contains('\0')
}

/// Literals of Rust that begin like a query.
fn quoted(text: &str, found: &mut BTreeSet<String>) {
    for (at, _) in text.match_indices('"') {
        let rest = &text[at + 1..];
        if !["SELECT ", "WITH ", "select ", "with "].iter().any(|w| rest.trim_start().starts_with(w)) {
            continue;
        }
        let (mut sql, mut chars) = (String::new(), rest.chars().peekable());
        while let Some(c) = chars.next() {
            match c {
                '"' => break,
                '\\' => match chars.next() {
                    Some('n') => sql.push('\n'),
                    Some('\n') => while chars.next_if(|c| c.is_whitespace()).is_some() {},
                    Some(other) => sql.push(other),
                    None => {}
                },
                other => sql.push(other),
            }
        }
        found.insert(sql.trim().to_owned());
    }
}

/// Blocks of SQL in a document.
fn fenced(text: &str, found: &mut BTreeSet<String>) {
    for block in text.split("```sql\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        found.extend(block.split(';').map(|s| s.trim().to_owned()));
    }
}

fn collect(folder: &Path, with: &mut impl FnMut(&Path, &str)) {
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, with);
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            with(&path, &text);
        }
    }
}
