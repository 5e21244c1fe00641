//! Text of `noisegate --help`: commands in groups, each with its first example; and where a command
//! is that is not at the top.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::fmt::Write as _;

/// Commands in the order in which people need them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Try it", &["demo"]),
    ("Run it", &["init", "check", "profile", "serve", "ctl", "passwd"]),
    ("Ask", &["explain"]),
    ("Keep the books", &["budget", "report"]),
    ("Collect", &["collect"]),
];

/// The command line, whose help has groups.
pub(super) fn grouped(command: Command) -> Command {
    let mut text = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(text, "{title}:");
        for command in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {:<8} {about}", command.get_name());
            if let Some(example) = examples(command).first() {
                let _ = writeln!(text, "  {:<8} {example}", "");
            }
        }
        text.push('\n');
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}Options:\n{{options}}\n\n`noisegate help COMMAND` says more of one."
    ))
}

/// Lines below a command's help that call the program.
fn examples(command: &Command) -> Vec<String> {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    text.lines().map(str::trim).filter(|line| line.starts_with("noisegate ")).map(str::to_owned).collect()
}

/// The error, with the place of a command that stands in another one.
pub(super) fn placed(mut error: clap::Error, command: &mut Command) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let inside = command.get_subcommands().find(|c| c.find_subcommand(name).is_some());
    if let Some(inside) = inside {
        let found = format!("it is `noisegate {} {name}`", inside.get_name());
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![found.into()]));
    }
    error
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
    use super::super::{Cli, command};
    use super::*;
    use clap::FromArgMatches;

    /// Words of a line as a shell has them, up to where it sends them elsewhere.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut quoted, mut within) = (vec![String::new()], false, false);
        for c in line.chars() {
            match c {
                '"' => (quoted, within) = (!quoted, true),
                '>' | '<' | '|' | '#' if !quoted => break,
                ' ' if !quoted => {
                    if std::mem::take(&mut within) {
                        words.push(String::new());
                    }
                }
                c => {
                    words.last_mut().unwrap().push(c);
                    within = true;
                }
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    fn visit(command: &Command, path: &[&str], look: &mut impl FnMut(&Command, &[&str])) {
        for c in command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
            let path = [path, &[c.get_name()]].concat();
            look(c, &path);
            visit(c, &path, look);
        }
    }

    #[test]
    fn every_command_has_examples_and_they_parse() {
        let mut seen = 0;
        visit(&command(), &[], &mut |c, path| {
            let own = examples(c);
            let called = format!("noisegate {}", path.join(" "));
            assert!(
                own.first().is_some_and(|line| line.starts_with(&called)),
                "{called} has no example: {own:?}"
            );
            for line in own {
                assert!(line.chars().count() <= 98, "this line would be wrapped: {line}");
                let parsed = command().try_get_matches_from(words(&line));
                let parsed = parsed.and_then(|matches| Cli::from_arg_matches(&matches));
                assert!(parsed.is_ok(), "{line}\n{}", parsed.err().unwrap());
                seen += 1;
            }
        });
        assert!(seen > 25, "{seen}");
        assert!(command().try_get_matches_from(words("noisegate explain \"SELECT 1\" --polcy f")).is_err());
    }

    #[test]
    fn all_commands_are_in_one_group() {
        let mut shown: Vec<_> = command()
            .get_subcommands()
            .filter(|c| !c.is_hide_set())
            .map(|c| c.get_name().to_owned())
            .collect();
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(shown, grouped);
    }

    #[test]
    fn help_is_readable() {
        let mut look = |c: &Command, path: &[&str]| {
            let help = c.clone().term_width(100).render_help().to_string();
            for line in help.lines() {
                assert!(line.chars().count() <= 100, "{path:?}: {line}");
            }
        };
        look(&command(), &[]);
        visit(&command(), &[], &mut look);
    }

    #[test]
    fn a_statement_is_no_command() {
        let sql = |line: &str| {
            let matches = command().try_get_matches_from(words(line)).unwrap();
            let (_, matches) = matches.subcommand().unwrap();
            (matches.subcommand_name().map(str::to_owned), matches.get_one::<String>("sql").cloned())
        };
        for line in ["noisegate explain --policy f \"SELECT 1\"", "noisegate explain \"SELECT 1\" --policy f"]
        {
            assert_eq!(sql(line), (None, Some("SELECT 1".into())), "{line}");
        }
        assert_eq!(sql("noisegate explain --policy f -"), (None, Some("-".into())));
        assert_eq!(sql("noisegate explain --policy f advise"), (None, Some("advise".into())));
        let other =
            command().try_get_matches_from(words("noisegate explain advise --policy f q.sql")).unwrap();
        let (_, explain) = other.subcommand().unwrap();
        assert_eq!(explain.subcommand_name(), Some("advise"));
        // What one command has is not the other's.
        assert!(
            command().try_get_matches_from(words("noisegate explain --policy f advise --people 3")).is_err()
        );
    }

    #[test]
    fn a_command_that_stands_in_another_is_found() {
        for (line, found) in
            [("reload --policy f", "ctl reload"), ("advise", "explain advise"), ("encode", "collect encode")]
        {
            let error = command().try_get_matches_from(words(&format!("noisegate {line}"))).unwrap_err();
            let text = placed(error, &mut command()).to_string();
            assert!(text.contains(&format!("it is `noisegate {found}`")), "{text}");
        }
    }
}
