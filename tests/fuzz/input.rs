//! Where inputs come from.

use std::path::{Path, PathBuf};

/// What is changed and mixed.
#[derive(Default)]
pub struct Corpus {
    pub inputs: Vec<Vec<u8>>,
    /// Pieces that are put in.
    pub words: Vec<Vec<u8>>,
    /// Inputs are texts, whose words are changed.
    pub text: bool,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of what is kept.
fn folder(name: &str) -> PathBuf {
    root().join("tests/fuzz/corpus").join(name)
}

/// All files under a folder of the repository with one of these endings, in order.
pub fn files(under: &str, endings: &[&str]) -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    collect(&root().join(under), &mut paths);
    paths.sort();
    let wanted = |p: &PathBuf| {
        let ending = p.extension().unwrap_or_default().to_string_lossy().into_owned();
        endings.is_empty() || endings.contains(&ending.as_str())
    };
    paths.into_iter().filter(wanted).map(|p| std::fs::read(p).unwrap()).collect()
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() { collect(&path, into) } else { into.push(path) }
    }
}

/// What is kept for this function.
pub fn kept(name: &str) -> Vec<Vec<u8>> {
    files(&format!("tests/fuzz/corpus/{name}"), &[])
}

/// Keeps an input that failed.
pub fn keep(name: &str, input: &[u8]) -> PathBuf {
    let hash =
        input.iter().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3));
    let path = folder(name).join(format!("failed-{hash:016x}"));
    let _ = std::fs::write(&path, input);
    path
}
