//! The findings in lines.

use super::expected;
use super::findings::{Findings, Outcome};
use plan::words::short;
use std::fmt::Write as _;

pub(super) fn print(found: &Findings) -> String {
    let n = found.statements.len();
    let mut out =
        format!("{n} statement{}, at epsilon {} each.\n", if n == 1 { "" } else { "s" }, found.epsilon);
    for line in &found.together {
        let _ = writeln!(out, "{line}");
    }
    for line in found.on.iter().flat_map(|(lines, _)| lines) {
        let _ = writeln!(out, "{line}");
    }
    for (i, statement) in found.statements.iter().enumerate() {
        let _ = writeln!(out, "\n{}. {}", i + 1, statement.text);
        match &statement.outcome {
            Outcome::Free => out.push_str("   It costs nothing: no private rows are read.\n"),
            Outcome::Refused(r) => {
                let _ = writeln!(out, "   Refused ({}): {}", r.code, r.message);
                if let Some(hint) = &r.hint {
                    let _ = writeln!(out, "   Hint: {hint}");
                }
            }
            Outcome::Priced { costs, expected, helps, .. } => {
                for line in costs.iter().chain(expected) {
                    let _ = writeln!(out, "   {line}");
                }
                for line in statement.asked.iter().flat_map(expected::told) {
                    let _ = writeln!(out, "   {line}");
                }
                for help in helps {
                    let factor = help.factor.map(|f| format!(": noise {} times as wide", short(f)));
                    let _ = writeln!(out, "   Would help: {}{}.", help.change, factor.unwrap_or_default());
                }
            }
        }
    }
    if !found.shared.is_empty() {
        out.push('\n');
    }
    for shared in &found.shared {
        let _ = writeln!(out, "{}", shared.told());
    }
    out.truncate(out.trim_end().len());
    out
}
