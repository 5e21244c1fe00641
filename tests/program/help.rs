//! What the program says of itself: eleven commands in groups, each with an example, and where a command is that stands in another.

use crate::support::{NOISEGATE, Output, run};
use tokio::process::Command;

const COMMANDS: [&str; 11] =
    ["demo", "init", "check", "profile", "serve", "ctl", "passwd", "explain", "budget", "report", "collect"];

async fn noisegate(line: &str, input: &str) -> Output {
    let mut command = Command::new(NOISEGATE);
    command.args(line.split_whitespace());
    run(command, input).await
}

#[tokio::test]
async fn help_lists_eleven_commands_each_with_an_example() {
    let out = noisegate("--help", "").await;
    assert!(out.status.success() && out.stderr.is_empty(), "{out:?}");
    let (groups, _) = out.stdout.split_once("\nOptions:\n").unwrap();
    let lines: Vec<&str> = groups.lines().skip_while(|line| *line != "Try it:").collect();
    let listed: Vec<(usize, &str)> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|(i, line)| Some((i, line.split_whitespace().next()?)))
        .collect();
    let names: Vec<&str> = listed.iter().map(|(_, name)| *name).collect();
    assert_eq!(names, COMMANDS, "{}", out.stdout);
    for (i, name) in listed {
        assert!(lines[i + 1].trim().starts_with(&format!("noisegate {name}")), "{}", out.stdout);
    }
    let widest = out.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{widest:?}");
    assert_eq!(noisegate("help", "").await.stdout, out.stdout);
}

#[tokio::test]
async fn help_of_each_command_has_an_example() {
    for name in COMMANDS {
        let asked = noisegate(&format!("{name} --help"), "").await;
        assert!(asked.status.success(), "{asked:?}");
        assert!(asked.stdout.contains(&format!("\n  noisegate {name}")), "{}", asked.stdout);
        assert_eq!(noisegate(&format!("help {name}"), "").await.stdout, asked.stdout);
    }
    let advise = noisegate("help explain advise", "").await.stdout;
    assert!(advise.contains("\n  noisegate explain advise --policy"), "{advise}");
}

#[tokio::test]
async fn an_old_name_says_where_the_command_is() {
    for (old, new) in [
        ("reload --policy p.toml", "ctl reload"),
        ("refresh", "ctl refresh"),
        ("prepare", "check prepare"),
        ("advise --policy p.toml q.sql", "explain advise"),
        ("fit", "explain fit"),
        ("account", "budget account"),
        ("risk", "report risk"),
        ("key shuffler", "collect key"),
        ("describe", "collect describe"),
        ("encode", "collect encode"),
        ("shuffle", "collect shuffle"),
        ("open", "collect open"),
    ] {
        let out = noisegate(old, "").await;
        assert_eq!(out.status.code(), Some(2), "{out:?}");
        assert!(out.stderr.contains(&format!("it is `noisegate {new}`")), "{}", out.stderr);
        assert!(!out.stderr.contains("similar"), "{}", out.stderr);
    }
    for gone in ["completions bash", "man --directory d"] {
        let out = noisegate(gone, "").await;
        assert!(out.stderr.contains("unrecognized subcommand"), "{out:?}");
    }
}

#[tokio::test]
async fn a_command_by_itself_says_what_it_needs() {
    for (line, missing) in [
        ("check", "--policy <FILE>"),
        ("explain --policy p.toml", "<SQL>"),
        ("report --policy p.toml", "--output <FILE>"),
        ("check prepare", "--backend <URL>"),
        ("report risk", "--table <NAME>"),
    ] {
        let out = noisegate(line, "").await;
        assert_eq!(out.status.code(), Some(2), "{out:?}");
        assert!(out.stderr.contains(missing), "{line}: {}", out.stderr);
    }
}

#[tokio::test]
async fn explain_takes_a_statement_wherever_it_stands() {
    let policy = "--policy config/bikes.toml";
    let sql = "SELECT plan, count(*) FROM riders GROUP BY plan";
    let explained = noisegate(&format!("explain {policy} -"), sql).await;
    assert!(explained.status.success() && explained.stdout.contains("Release 1"), "{explained:?}");
    for args in [[sql, "--policy", "config/bikes.toml"], ["--policy", "config/bikes.toml", sql]] {
        let mut command = Command::new(NOISEGATE);
        command.arg("explain").args(args);
        assert_eq!(run(command, "").await.stdout, explained.stdout);
    }
    // Behind an option the name of a command is a statement, if a wrong one.
    let word = noisegate(&format!("explain {policy} advise"), "").await;
    assert!(word.stderr.contains("ERROR:  42601"), "{word:?}");
    let json = noisegate(&format!("explain {policy} --format json -"), "SELECT nothing FROM riders").await;
    assert!(
        !json.status.success() && json.stdout.contains("\"error\"") && json.stderr.is_empty(),
        "{json:?}"
    );
}
