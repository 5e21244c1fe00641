//! The error that a statement's numbers are expected to have: it is asked of rows that are made up, with its intervals.
//!
//! The whole way of a statement is walked, fetch and finish, by the login that can read no private row. Answers over made-up rows
//! are exact; the intervals around them are as wide as those around noisy answers of the same size.

use crate::gateway::{Checked, Gateway, Session, Texts};
use emit::synthetic::Sizes;
use plan::words::short;
use policy::Profile;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Of one released column.
pub(super) struct Expected {
    pub column: String,
    /// Rows of the answer that have it.
    pub groups: usize,
    /// The middle one of its values, by size.
    answer: f64,
    /// Half of the width of its interval, at 95 %.
    error: f64,
    /// The middle one of the errors, as shares of what they are errors of. None where all are 0.
    pub share: Option<f64>,
    /// The largest of these.
    worst: Option<f64>,
}

/// Errors of a statement that was asked, or why they are unknown.
pub(super) type Asked = Result<Vec<Expected>, String>;

/// Asks these statements, at this price. `profiles`: what was measured of each table, in the order of the policy.
///
/// # Errors
/// The policy cannot be served.
pub(super) async fn ask(
    policy: PathBuf,
    profiles: Vec<Option<Profile>>,
    sizes: Sizes,
    epsilon: String,
    statements: Vec<Option<String>>,
) -> Result<Vec<Option<Asked>>, String> {
    let raw = policy::load(&policy).map_err(|e| e.to_string())?;
    let mut checked = Checked::new(&raw).await.map_err(|e| e.to_string())?;
    // What bounds cut is a profile's to say. Where there is none it is the noise that is asked for: of rows that are made up nothing
    // is cut.
    let statement = &checked.policy.statement;
    let (rows, groups) = (statement.max_rows, statement.max_groups);
    for (table, profile) in checked.policy.tables.iter_mut().zip(profiles) {
        table.profile = profile;
        let all = table.max_rows.unwrap_or(rows).saturating_mul(groups);
        table.max_total_rows.get_or_insert(all);
        table.cut_rows = Some(0.into());
    }
    let folder = tempfile::tempdir().map_err(|e| format!("no folder can be made for a ledger: {e}"))?;
    let session = Gateway::of_synthetic_rows(checked, sizes, folder.path());
    let mut session = session.map_err(|e| e.to_string())?;
    let settings = format!("SET noisegate.epsilon = {epsilon}; SET noisegate.intervals = on");
    session.texts(&settings).await.map_err(|e| e.message)?;
    let mut all = Vec::with_capacity(statements.len());
    for sql in statements {
        all.push(match sql {
            Some(sql) => Some(one(&mut session, &sql).await),
            None => None,
        });
    }
    Ok(all)
}

async fn one(session: &mut Session, sql: &str) -> Asked {
    let texts = session.texts(sql).await.map_err(|e| e.message)?;
    Ok(columns(&texts))
}

/// Every column with its two ends beside it.
fn columns(texts: &Texts) -> Vec<Expected> {
    let three = |(at, names): (usize, &[String])| match names {
        [name, low, high] if *low == format!("{name}_low") && *high == format!("{name}_high") => {
            Some((at, name.clone()))
        }
        _ => None,
    };
    let found = texts.columns.windows(3).enumerate().filter_map(three);
    found.filter_map(|(at, name)| column(name, at, &texts.rows)).collect()
}

fn column(column: String, at: usize, rows: &[Vec<Option<String>>]) -> Option<Expected> {
    let number = |row: &[Option<String>], i: usize| row.get(i)?.as_deref()?.parse::<f64>().ok();
    let read = |row: &Vec<Option<String>>| {
        let (x, low, high) = (number(row, at)?, number(row, at + 1)?, number(row, at + 2)?);
        Some((x, (high - low) / 2.0)).filter(|(x, e)| x.is_finite() && e.is_finite())
    };
    let mut each: Vec<(f64, f64)> = rows.iter().filter_map(read).collect();
    let groups = each.len();
    each.sort_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    let (answer, error) = *each.get(groups / 2)?;
    let mut shares: Vec<f64> =
        each.iter().filter(|(x, _)| *x != 0.0).map(|(x, error)| error / x.abs()).collect();
    shares.sort_by(f64::total_cmp);
    let share = shares.get(shares.len() / 2).copied();
    Some(Expected { column, groups, answer, error, share, worst: shares.last().copied() })
}

impl Expected {
    /// In a sentence.
    pub fn told(&self) -> String {
        let Self { column, groups, answer, error, share, worst } = self;
        let percent = |x: &f64| format!("{} %", short(x * 100.0));
        let share = share.as_ref().map_or(String::new(), |s| format!(" ({})", percent(s)));
        let about = format!("{column} is about {} ±{}{share}", short(*answer), short(*error));
        match (groups, worst) {
            (1, _) | (_, None) => format!("Expected: {about}."),
            (n, Some(worst)) => {
                format!(
                    "Expected: in the middle one of {n} groups {about}; in the worst ±{}.",
                    percent(worst)
                )
            }
        }
    }

    pub fn object(&self) -> Value {
        json!({
            "column": self.column,
            "groups": self.groups,
            "answer": self.answer,
            "error": self.error,
            "relative": self.share,
            "worst_relative": self.worst,
        })
    }
}

/// Sentences about a statement that was asked.
pub(super) fn told(asked: &Asked) -> Vec<String> {
    match asked {
        Err(why) => vec![format!("No error can be expected from made-up rows: {why}")],
        Ok(columns) if columns.is_empty() => {
            vec!["No number of it has an interval on these rows: its conditions leave none of them, or there is no rule for one.".into()]
        }
        Ok(columns) => columns.iter().map(Expected::told).collect(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn texts(columns: &[&str], rows: &[&[Option<&str>]]) -> Texts {
        let cell = |c: &Option<&str>| c.map(str::to_owned);
        Texts {
            columns: columns.iter().map(|&c| c.to_owned()).collect(),
            rows: rows.iter().map(|r| r.iter().map(cell).collect()).collect(),
        }
    }

    #[test]
    fn the_middle_group_and_the_worst_are_told() {
        let names = ["plan", "n", "n_low", "n_high", "x_low"];
        let row = |n, low, high| [Some("a"), Some(n), Some(low), Some(high), Some("1")];
        let rows = [row("100", "90", "110"), row("10", "0", "20"), row("1000", "990", "1010")];
        let found = columns(&texts(&names, &[&rows[0], &rows[1], &rows[2]]));
        let told: Vec<_> = found.iter().map(Expected::told).collect();
        assert_eq!(
            told,
            ["Expected: in the middle one of 3 groups n is about 100 ±10 (10 %); in the worst ±100 %."]
        );
        let zero = [Some("0"), Some("-3"), Some("3")];
        let found = columns(&texts(&["n", "n_low", "n_high"], &[&zero]));
        assert_eq!(found.first().unwrap().told(), "Expected: n is about 0 ±3.");
        assert!(columns(&texts(&["n", "n_low", "n_high"], &[&[None, None, None]])).is_empty());
    }
}
