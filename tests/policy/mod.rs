//! Wrong policies.

use std::path::{Path, PathBuf};

/// The policies of `tests/policy/bad`: where each stands, and its whole text. A line `= [a] [b]` of a
/// file stands for these sections of `base.toml`.
pub fn wrong() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/policy");
    let base = std::fs::read_to_string(folder.join("base.toml")).unwrap();
    let files = folder.join("bad").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    files
        .into_iter()
        .map(|path| (path.clone(), whole(&std::fs::read_to_string(path).unwrap(), &base)))
        .collect()
}

fn whole(text: &str, base: &str) -> String {
    let section = |header: &str| {
        let mut sections = base.split("\n\n").map(str::trim_end);
        sections.find(|s| s.lines().next() == Some(header)).unwrap_or_else(|| panic!("{header}")).to_owned()
            + "\n"
    };
    let lines = text.lines().map(|line| match line.strip_prefix("= ") {
        Some(headers) => headers.split(' ').map(section).collect::<Vec<_>>().join("\n"),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n").trim_end().to_owned() + "\n"
}
