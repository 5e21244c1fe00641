//! The fetches of the golden scripts.

use super::policy;
use crate::certify;
use std::path::Path;

/// Every text under `fetch:`, with its script.
pub(super) fn fetches() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scripts");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let mut out = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            if line == "fetch:" {
                let mut sql = Vec::new();
                while let Some(piece) = lines.next_if(|l| l.starts_with("  ")) {
                    sql.push(piece.trim());
                }
                out.push((name.to_owned(), sql.join(" ")));
            }
        }
    }
    out
}

#[test]
fn every_fetch_of_the_scripts_is_certified() {
    let all = fetches();
    assert!(all.len() > 80, "{}", all.len());
    let mut wrong = Vec::new();
    for (name, sql) in &all {
        match certify(sql, policy()) {
            Ok(c) => {
                assert_eq!(c.seeded, sql.contains("$1::"), "{sql}");
                assert_eq!(c.text(), sql);
            }
            Err(e) => wrong.push(format!("{name}: {e}\n  {sql}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), all.len(), wrong.join("\n"));
}
