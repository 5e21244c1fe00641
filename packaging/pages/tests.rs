#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
use super::write;
use std::path::Path;
use std::process::Command;

fn written() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path()).unwrap();
    folder
}

fn read(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// The names of commands that people see, as pages have them.
fn commands(of: &clap::Command, before: &str, found: &mut Vec<String>) {
    for c in of.get_subcommands().filter(|c| !c.is_hide_set()) {
        let name = format!("{before}-{}", c.get_name());
        commands(c, &name, found);
        found.push(name);
    }
}

fn all() -> Vec<String> {
    let mut found = vec!["noisegate".to_owned()];
    commands(&noisegate::cli::command(), "noisegate", &mut found);
    assert!(found.len() > 30, "{found:?}");
    found
}

#[test]
fn bash_completes_commands_and_options() {
    let folder = written();
    let script = folder.path().join("completions/noisegate");
    let complete = |words: &str, at: usize| {
        let text = format!(
            "source {}; COMP_WORDS=({words}); COMP_CWORD={at}
             _noisegate noisegate \"${{COMP_WORDS[{at}]}}\" \"${{COMP_WORDS[{at} - 1]}}\"; echo \"${{COMPREPLY[@]}}\"",
            script.display()
        );
        let out = Command::new("bash").args(["-c", &text]).output().unwrap();
        assert!(out.status.success() && out.stderr.is_empty(), "{out:?}");
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("noisegate bud", 1), "budget");
    assert_eq!(complete("noisegate budget ver", 2), "verify");
    assert_eq!(complete("noisegate ctl rel", 2), "reload");
    assert_eq!(complete("noisegate explain adv", 2), "advise");
    assert_eq!(complete("noisegate serve --po", 2), "--policy");
    assert_eq!(complete("noisegate collect encode --format js", 4), "jsonl");
}

#[test]
fn every_shell_knows_every_command_and_none_that_is_hidden() {
    let folder = written();
    for (file, first) in
        [("_noisegate", "#compdef noisegate"), ("noisegate.fish", "# "), ("noisegate", "_noisegate() {")]
    {
        let text = read(folder.path(), &format!("completions/{file}"));
        assert!(text.starts_with(first), "{file}: {text}");
        for name in all().iter().filter_map(|name| name.rsplit('-').next()) {
            assert!(text.contains(name), "{name} in {file}");
        }
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = written();
    let mut pages: Vec<String> = all().iter().map(|name| format!("{name}.1")).collect();
    for page in &pages {
        let text = read(folder.path(), &format!("man/{page}"));
        assert!(text.contains(".TH ") && text.contains(".SH SYNOPSIS"), "{page}: {text}");
    }
    let serve = read(folder.path(), "man/noisegate-serve.1");
    assert!(serve.contains("\\-\\-policy") && serve.contains("a folder of policies"), "{serve}");
    let there = std::fs::read_dir(folder.path().join("man")).unwrap();
    let mut there: Vec<String> = there.map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    there.sort_unstable();
    pages.sort_unstable();
    assert_eq!(there, pages, "what is hidden has none");
    // Where the reader is installed, it finds nothing wrong with them.
    if Command::new("mandoc").arg("-V").output().is_ok() {
        let mut lint = Command::new("mandoc");
        lint.args(["-T", "lint", "-W", "error"])
            .args(pages.iter().map(|p| folder.path().join("man").join(p)));
        assert!(lint.output().unwrap().status.success());
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    assert!(write(Path::new("/proc/nowhere")).is_err());
}
