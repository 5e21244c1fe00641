//! The commands of golden scripts: what they ask, and what they show of it.

use crate::bikes::{Asked, Bikes};
use goldenscript::{Command, Context};
use noisegate::dp::{Preference, Ratio};
use noisegate::emit::fetch;
use noisegate::error::ClientError;
use noisegate::plan::Accuracy;
use noisegate::plan::explain::stream;
use noisegate::plan::explain::summary;
use noisegate::plan::price::row_choice;
use noisegate::plan::{self, Plan};
use noisegate::policy::{Added, ByKey, Calendar, Measure, Policy};
use noisegate::release::stream::Told;
use noisegate::schema::SqlType;
use std::error::Error;
use std::fmt::Write;

/// Commands over a small database.
pub struct Runner {
    /// What waits for the database.
    pub runtime: tokio::runtime::Runtime,
    /// The database and its policy.
    pub bikes: Bikes,
}

impl goldenscript::Runner for Runner {
    type Command = Command;

    fn run(&mut self, command: &Command, context: &Context) -> Result<String, Box<dyn Error>> {
        let sql = command.name.as_str();
        if let Some(word) = sql.strip_prefix("SET noisegate.mechanism = ") {
            self.bikes.plan.mechanism = Preference::parse(word).ok_or("auto, laplace or gaussian")?;
            return Ok(String::new());
        }
        if let Some(word) = sql.strip_prefix("SET noisegate.intervals = ") {
            self.bikes.intervals = word == "on";
            return Ok(String::new());
        }
        if let Some(word) = sql.strip_prefix("SET noisegate.accuracy = ") {
            let half_width = word.parse().ok();
            let accuracy = half_width.map(|half_width| Accuracy { half_width, confidence: 950_000 });
            self.bikes.plan.accuracy = accuracy;
            return Ok(String::new());
        }
        if let Some(word) = sql.strip_prefix("SET noisegate.consistent = ") {
            self.bikes.consistent = word == "on";
            return Ok(String::new());
        }
        // As if a release had chosen it.
        if let Some(word) = sql.strip_prefix("SET noisegate.bounds = ") {
            self.bikes.plan.total_rows = word.parse().ok();
            return Ok(String::new());
        }
        if let Some(bins) = sql.strip_prefix("SET noisegate.profile = ") {
            self.bikes.profile("trips", Measure::ROWS, numbers(bins)?);
            return Ok(String::new());
        }
        if let Some(item) = sql.strip_prefix("SET noisegate.item = ") {
            let (of, bins) = item.split_once(": ").ok_or("an item without bins")?;
            let words: Vec<&str> = of.split(' ').collect();
            let key = |column: &str| {
                let (column, to) =
                    column.split_once(':').map_or((column, None), |(c, to)| (c, Calendar::of_word(to)));
                Some(ByKey { column: column.into(), to })
            };
            let of = match words.as_slice() {
                ["rows", "by", by] => Measure { added: Added::Rows, by: key(by) },
                [column, "about", m, "in", steps] => {
                    Measure { added: self.bikes.deviations(column, m, steps.parse()?), by: None }
                }
                [column, "about", m, "in", steps, "by", by] => {
                    Measure { added: self.bikes.deviations(column, m, steps.parse()?), by: key(by) }
                }
                _ => return Err(format!("unknown item {of:?}").into()),
            };
            self.bikes.profile("trips", of, numbers(bins)?);
            return Ok(String::new());
        }
        if let Some(name) = sql.strip_prefix("SET noisegate.stream = ") {
            self.bikes.stream = Some(name.to_owned()).filter(|n| n != "DEFAULT");
            return Ok(String::new());
        }
        let tags: Vec<&str> = context.tags.iter().map(String::as_str).collect();
        if tags == ["same"] {
            let plan = self.runtime.block_on(self.bikes.plan(sql)).map_err(|e| told(sql, &e))?;
            return Ok(forms(&plan, &self.bikes.policy));
        }
        if tags == ["choice"] {
            let plan = self.runtime.block_on(self.bikes.plan(sql)).map_err(|e| told(sql, &e))?;
            return Ok(choice(&plan, &self.bikes));
        }
        if tags == ["words"] {
            let plan = self.runtime.block_on(self.bikes.plan(sql)).map_err(|e| told(sql, &e))?;
            let policy = &self.bikes.policy;
            return Ok(lines(&match &plan.question {
                Some(question) => stream::sentences(&plan, question, policy),
                None => summary::sentences(&plan, policy),
            }));
        }
        let asked = self.runtime.block_on(self.bikes.ask(sql)).map_err(|e| told(sql, &e))?;
        if tags.is_empty() {
            return Ok(whole(&asked));
        }
        // The parts, in the order of the whole.
        let shown = [("plan", lines(&asked.lines)), ("sql", texts(&asked)), ("answer", answer(&asked))];
        if let Some(other) = tags.iter().find(|t| !shown.iter().any(|(name, _)| name == *t)) {
            return Err(format!("unknown tag {other:?}").into());
        }
        let wanted = shown.into_iter().filter(|(name, _)| tags.contains(name));
        Ok(wanted.map(|(_, text)| text.trim_end().to_owned()).collect::<Vec<_>>().join("\n"))
    }
}

fn numbers(text: &str) -> Result<Vec<i64>, std::num::ParseIntError> {
    text.split(' ').map(str::parse).collect()
}

/// Each release in canonical form: what is hashed, beside its noise, its policy and the like.
fn forms(plan: &Plan, policy: &Policy) -> String {
    let paying = plan.releases.iter().filter(|r| !r.is_domain_only());
    let form = |r: &noisegate::plan::Release| {
        let whole = noisegate::store::canonical(r).whole(&r.spec);
        let sql = fetch::fetch(&whole, policy).sql;
        sql.replace("), g AS (", "),\n  g AS (").replace(") SELECT ", ")\n  SELECT ") + "\n"
    };
    paying.map(form).collect()
}

/// The release that chooses a statement's bound on rows, at a fifth of its price; or why there is none.
fn choice(plan: &Plan, bikes: &Bikes) -> String {
    let (policy, settings, sizes) = (&bikes.policy, &bikes.plan, bikes.sizes());
    let mut choice = match row_choice::of(plan, policy, settings, &sizes, 100).unwrap() {
        Ok(choice) => choice,
        Err(why) => return format!("no choice: {why}\n"),
    };
    choice.plan.at(settings, settings.epsilon / Ratio::from_integer(5)).unwrap();
    let fetches = choice
        .plan
        .releases
        .iter()
        .map(|r| fetch::fetch(r, policy).sql.replace("), g AS (", "),\n  g AS (") + "\n");
    lines(&plan::explain::lines(&choice.plan, policy)) + &fetches.collect::<String>()
}

/// The whole way of a statement.
fn whole(asked: &Asked) -> String {
    format!("{}{}{}", lines(&asked.lines), texts(asked), answer(asked))
}

fn lines(lines: &[String]) -> String {
    lines.iter().map(|l| format!("{l}\n")).collect()
}

/// What PostgreSQL runs. Line breaks before each CTE are the only thing that is added.
fn texts(asked: &Asked) -> String {
    let mut out = String::new();
    for f in &asked.fetches {
        let mut sql = f.sql.clone();
        for name in ["c", "e", "g"] {
            sql = sql.replace(&format!("), {name} AS ("), &format!("),\n    {name} AS ("));
        }
        if let Some(i) = sql.rfind(") SELECT ") {
            sql.replace_range(i..=i + 1, ")\n  ");
        }
        let seeded = if f.seeded { " (with a secret seed)" } else { "" };
        writeln!(out, "fetch{seeded}:\n  {sql}").unwrap();
    }
    writeln!(out, "finish:\n  {}", asked.finish).unwrap();
    out
}

fn answer(asked: &Asked) -> String {
    let header = asked.fields.iter().map(|f| format!("{} {}", f.name, type_name(f.type_oid)));
    let mut out = String::new();
    if let Some((told, left)) = asked.told {
        let Told { above, below, unasked } = told;
        writeln!(out, "stream: {above} above, {below} below, {unasked} not asked; {left} left").unwrap();
    }
    writeln!(out, "answer: {}", header.collect::<Vec<_>>().join(" | ")).unwrap();
    for row in &asked.rows {
        let cells = row.iter().map(|c| c.as_deref().unwrap_or("NULL"));
        writeln!(out, "  {}", cells.collect::<Vec<_>>().join(" | ")).unwrap();
    }
    if asked.rows.is_empty() {
        out.push_str("  (no rows)\n");
    }
    out
}

fn type_name(oid: u32) -> String {
    SqlType::from_oid(oid, -1, "another type").sql_name().replace("pg_catalog.", "")
}

/// An error as a terminal shows it: SQLSTATE, message, a caret under the position, detail and hint.
fn told(sql: &str, e: &ClientError) -> String {
    let mut out = format!("{} {}", e.code.as_str(), e.message);
    if let Some(position) = e.position {
        let caret = " ".repeat(position.saturating_sub(1));
        write!(out, "\n  {sql}\n  {caret}^").unwrap();
    }
    for (name, text) in [("DETAIL", &e.detail), ("HINT", &e.hint)] {
        if let Some(text) = text {
            assert!(!text.starts_with("Incident"), "a defect: {e:?}");
            write!(out, "\n{name}: {text}").unwrap();
        }
    }
    out
}
