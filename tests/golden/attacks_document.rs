//! The table of what was tried on the service names tests that there are.

use std::path::Path;

fn sources(folder: &Path, into: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn each_attempt_has_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = String::new();
    ["src", "tests"].iter().for_each(|folder| sources(&root.join(folder), &mut all));
    let text = std::fs::read_to_string(root.join("docs/operations.md")).unwrap();
    let (_, table) = text.split_once("| attempt | tests |\n|---|---|\n").unwrap();
    let rows: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 19);
    for row in rows {
        let names: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "{row}");
        for name in names {
            assert!(all.contains(&format!("fn {name}(")), "{name} is no test: {row}");
        }
    }
}
