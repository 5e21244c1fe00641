//! `noisegate check --policy F`: proves a policy against the database that it names, or against a snapshot of its
//! schema where the database is away. With the database, it proves all that `serve` proves before it opens the ledger.

mod collected;
mod ledger_folder;
mod measured;
pub mod prepare;

use super::args::Either;
use super::budgets::{a_year, chosen};
use super::database::{self, Connected, Failed};
use super::print::say;
use super::serve::databases::agree;
use super::snapshot;
use crate::gateway::{Checked, Reached};
use policy::{self, Budget, Given, Policy, Privacy, RawPolicy, Scope, Table};
use schema::{Schema, Snapshot, differences};
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// `noisegate check`, and what makes the tables of a policy ready.
pub type Command = Either<Args, Other>;

/// Commands before a policy is served, beside the check itself.
#[derive(Debug, clap::Subcommand)]
pub enum Other {
    /// Proposes, and makes, what helps fetches in the database: indexes, statistics, keys; for its owner.
    Prepare(prepare::Args),
}

/// Arguments of `noisegate check`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  noisegate check --policy shop.toml
  noisegate check --policy shop.toml --write-schema
  noisegate check prepare --policy shop.toml --backend postgres://owner@host/shop")]
pub struct Args {
    /// The policy, or a folder of policies
    #[arg(long, value_name = "FILE")]
    pub policy: PathBuf,
    /// Writes the schema's snapshot, for `explain` and for checks without the database
    #[arg(long, conflicts_with = "offline")]
    pub write_schema: bool,
    /// Asks the snapshot and not the database
    #[arg(long)]
    pub offline: bool,
}

/// Checks.
pub async fn run(command: &Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Own(args) => Ok(say(&report(args).await?)?),
        Command::Other(Other::Prepare(args)) => prepare::run(args).await,
    }
}

/// What the policy is held against.
enum Known {
    Database(Schema, Connected),
    /// A snapshot, and a line that says so.
    Snapshot(Box<Snapshot>, String),
}

/// The summary of a policy, or its mistakes; of a folder of policies, all of them, and what they must have in common.
pub async fn report(args: &Args) -> Result<String, String> {
    let (files, folder) = policy::files(&args.policy).map_err(|e| e.to_string())?;
    if !folder {
        return one(args).await.map(|(text, ..)| text);
    }
    let (mut text, mut wrong, mut policies) = (String::new(), false, Vec::new());
    for file in &files {
        let _ = writeln!(text, "{}:", file.display());
        let checked = one(&Args { policy: file.clone(), ..*args }).await;
        wrong |= checked.is_err();
        match checked {
            Ok((said, policy, reached)) => {
                let _ = writeln!(text, "{said}\n  database  {}", policy.database_name(file));
                policies.push((file.as_path(), policy, reached));
            }
            Err(said) => {
                let _ = writeln!(text, "{}", said.trim_end());
            }
        }
    }
    let all: Vec<(&Path, &Policy, Option<&Reached>)> =
        policies.iter().map(|(file, policy, reached)| (*file, policy, reached.as_ref())).collect();
    if let Err(said) = agree(&all) {
        wrong = true;
        let _ = writeln!(text, "{said}");
    }
    let text = text.trim_end().to_owned();
    if wrong { Err(text) } else { Ok(text) }
}

/// The summary of one policy, and what it reaches of its database.
async fn one(args: &Args) -> Result<(String, Policy, Option<Reached>), String> {
    let load = if args.offline { policy::load_elsewhere } else { policy::load };
    let raw = load(&args.policy).map_err(|e| e.to_string())?;
    let mistakes = || raw.mistakes().iter().map(|e| format!("{e}\n")).collect::<String>();
    let Some(backend) = raw.backend() else {
        let why = "tables and columns were not checked: the policy does not say which database";
        return Err(mistakes() + why);
    };
    // Without any schema, what the text alone shows is worth knowing all the same.
    let known = known(args, backend)
        .await
        .map_err(|e| format!("{}tables and columns were not checked: {e}", mistakes()))?;
    let (schema, said) = match &known {
        Known::Database(schema, _) => (schema, String::new()),
        Known::Snapshot(snapshot, said) => (&snapshot.schema, format!("warning: {said}\n")),
    };
    let checked = raw.check_with_warnings(schema);
    let mut text = said;
    if let Known::Database(schema, connected) = &known {
        if args.write_schema {
            // Written for a policy with mistakes, too: it is what they can be mended with, away from the database.
            let policy = checked.as_ref().ok().map(|(policy, _)| policy);
            for warning in snapshot::write(&backend.schema, schema.clone(), policy, connected).await? {
                let _ = writeln!(text, "warning: {warning}");
            }
            let _ = writeln!(text, "wrote {}", backend.schema);
        } else {
            text.push_str(&compare(args, &raw, &backend.schema, schema));
        }
    }
    // The books are where the proxy is, and a policy that is asked offline may be read elsewhere.
    let books = if args.offline { None } else { raw.ledger().and_then(ledger_folder::mistake) };
    let with_books = |said: String| books.iter().fold(said, |said, books| format!("{said}\n{books}"));
    let (mut policy, warnings) = checked.map_err(|e| with_books(format!("{text}{e}")))?;
    let (warnings, notes, reached) = match &known {
        // What `serve` would do, by the very function: it cannot refuse what is right here, nor warn of more.
        Known::Database(..) => {
            let checked = Checked::new(&raw).await.map_err(|e| with_books(format!("{text}{e}")))?;
            (checked.warnings, checked.notes, Some(checked.reached))
        }
        Known::Snapshot(..) => {
            let of =
                |note: bool| warnings.iter().filter(|w| w.note == note).map(ToString::to_string).collect();
            (of(false), of(true), None)
        }
    };
    for warning in warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    if let Some(books) = books {
        return Err(text + &books);
    }
    let measured = match &known {
        Known::Database(..) => snapshot::measured(&policy.ledger),
        Known::Snapshot(snapshot, _) => Ok(snapshot::profiles(snapshot)),
    };
    match measured {
        Ok(measured) => policy.with_profiles(&measured),
        Err(why) => {
            let _ = writeln!(text, "warning: the ledger does not say what was measured of units: {why}");
        }
    }
    text.push_str(&measured::warnings(&policy, &args.policy));
    text.push_str(&summary(&policy).map_err(|e| format!("{text}{e}"))?);
    for note in notes {
        let _ = write!(text, "\nnote: {note}");
    }
    Ok((text, policy, reached))
}

/// Terms for the books of a policy that is right, by its database or, when that is away or is not
/// to be asked, by the snapshot.
pub(super) async fn terms(file: &Path, offline: bool) -> Result<ledger::Terms, String> {
    let raw = policy::load(file).map_err(|e| e.to_string())?;
    let (policy, _, known) = by_schema(&raw, file, offline).await?;
    let terms = ledger::Terms::of(&policy);
    let Known::Database(_, connected) = known else { return Ok(terms) };
    let data = backend::introspect::database(&connected.client).await.map_err(|e| e.to_string())?;
    Ok(terms.over(&data))
}

/// The same, with what it allows but probably does not mean. Offline its secrets need not be there.
pub(super) async fn judged(file: &Path, offline: bool) -> Result<(Policy, Vec<String>), String> {
    let load = if offline { policy::load_elsewhere } else { policy::load };
    let (policy, warnings, _) = by_schema(&load(file).map_err(|e| e.to_string())?, file, offline).await?;
    Ok((policy, warnings))
}

async fn by_schema(
    raw: &RawPolicy,
    file: &Path,
    offline: bool,
) -> Result<(Policy, Vec<String>, Known), String> {
    let args = Args { policy: file.to_owned(), write_schema: false, offline };
    let backend = raw.backend().ok_or_else(|| policy::PolicyErrors(raw.mistakes()).to_string())?;
    let known = known(&args, backend).await?;
    let schema = match &known {
        Known::Database(schema, _) => schema,
        Known::Snapshot(snapshot, _) => &snapshot.schema,
    };
    let (policy, warnings) = raw.check_with_warnings(schema).map_err(|e| e.to_string())?;
    Ok((policy, warnings.iter().map(ToString::to_string).collect(), known))
}

async fn known(args: &Args, backend: &policy::Backend) -> Result<Known, String> {
    let snapshot = |why: &str| {
        let found = snapshot::read(&backend.schema, &args.policy)?;
        let said = format!("{why}; checked against the {}", snapshot::describe(&backend.schema, &found));
        Ok(Known::Snapshot(Box::new(found), said))
    };
    if args.offline {
        return snapshot("the database was not asked");
    }
    let read = async {
        let connected =
            database::connect(&backend.url, backend.password_file.as_ref(), "backend.url").await?;
        Ok((database::schema(&connected).await?, connected))
    };
    match read.await {
        Ok((schema, connected)) => Ok(Known::Database(schema, connected)),
        Err(Failed::Away(why)) if !args.write_schema => {
            snapshot(&why).map_err(|none: String| format!("{why}. {none}"))
        }
        Err(e) => Err(e.to_string()),
    }
}

/// Warnings for what the snapshot, if there is one, has otherwise than the database.
fn compare(args: &Args, raw: &RawPolicy, path: &Given<PathBuf>, schema: &Schema) -> String {
    if !path.reveal().exists() {
        return String::new();
    }
    let again = format!("write it anew: noisegate check --policy {} --write-schema", args.policy.display());
    match snapshot::read(path, &args.policy) {
        Err(e) => format!("warning: {e}\n"),
        Ok(snapshot) => {
            let found = differences(&snapshot.schema, schema, &raw.table_names());
            if found.is_empty() {
                return String::new();
            }
            let mut text = format!("warning: the schema snapshot {path} is not the database's schema:\n");
            for line in found {
                let _ = writeln!(text, "    {line}");
            }
            text + "    " + &again + "\n"
        }
    }
}

fn rows_per_unit(t: &Table) -> String {
    match t.proven_rows {
        Some(1) => ", one row per unit".to_owned(),
        Some(n) => format!(", at most {n} rows per unit"),
        None => String::new(),
    }
}

/// Tables, unit and budgets in a few lines; of budgets that no ledger would be opened with, why.
fn summary(policy: &Policy) -> Result<String, String> {
    let mut text = String::from("policy ok\n");
    let _ = match &policy.unit {
        Some(_) => writeln!(text, "  unit      {}", policy.unit_name()),
        None => writeln!(text, "  unit      none: no table is about people"),
    };
    for t in policy.tables.iter().filter(|t| !t.collected) {
        let whose = match &t.privacy {
            Privacy::Public => "public".to_owned(),
            Privacy::Private { unit, nullable, .. } => {
                let dropped = if *nullable { ", rows without a unit are dropped" } else { "" };
                format!("private by {unit}{}{dropped}", rows_per_unit(t))
            }
            Privacy::Path(path) => {
                let dropped = ", rows that lead nowhere are dropped";
                format!("private by {}{}{dropped}", path.text(policy), rows_per_unit(t))
            }
        };
        let columns: Vec<&str> = t.columns.iter().map(|c| c.name.as_str()).collect();
        let _ = writeln!(text, "  table     {}: {whose}; columns {}", t.name, columns.join(", "));
    }
    text.push_str(&measured::summary(policy));
    text.push_str(&collected::summary(policy));
    for b in &policy.budgets {
        text.push_str(&budget(b, policy)?);
    }
    Ok(text.trim_end().to_owned())
}

/// What a budget guarantees and buys. Answers are counts without groups, at the default price.
fn budget(b: &Budget, policy: &Policy) -> Result<String, String> {
    let whose = match b.scope {
        Scope::Dataset => "the whole dataset",
        Scope::User => "each user",
        Scope::Role => "each role",
    };
    let tables = if b.tables.is_empty() { String::new() } else { format!(" ({})", b.tables.join(", ")) };
    let mut text = format!("  budget    {}: {whose}{tables} ε = {}", b.name, b.epsilon.normalized());
    if b.accounting.has_delta() {
        let _ = write!(text, ", δ = {}", b.delta);
    }
    let _ = write!(text, ", {}", b.accounting.word());
    if let Some(window) = b.window {
        let _ = write!(text, ", anew every {}", window.word());
    }
    let chosen =
        chosen(b).map(|c| format!("            {c}; a ledger keeps the one that it was made with\n"));
    let price = policy.statement.epsilon.normalized();
    let worth = ledger::usual_of(policy).map(|charge| ledger::worth(b, &charge));
    match worth {
        Some(Ok(worth)) => {
            let _ = match worth.answers {
                Ok(n) => writeln!(text, ": {n} answers at ε = {price} (basic composition: {})", worth.basic),
                Err(why) => writeln!(text, ": no answers at the default price: {why}"),
            };
            text.push_str(chosen.as_deref().unwrap_or_default());
            if let Some(year) = worth.year {
                let _ = writeln!(text, "            {}", a_year(&year));
            }
        }
        Some(Err(e)) => return Err(e.to_string()),
        None => {
            let _ = writeln!(text, ": the default price cannot be computed with");
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    fn policy() -> Policy {
        policy_of(include_str!("../../config/bikes.toml"))
    }

    fn policy_of(text: &str) -> Policy {
        let schema = serde_json::from_str(include_str!("../../tests/policy/schema.json")).unwrap();
        policy::parse(text, "policy.toml", Path::new("")).unwrap().check(&schema).unwrap()
    }

    #[test]
    fn summary_shows_paths() {
        let text = summary(&policy_of(include_str!("../../config/tpch.toml"))).unwrap();
        let line = "lineitem: private by l_orderkey -> orders.o_orderkey, rows that lead nowhere are dropped; columns l_orderkey,";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn what_a_budget_allows() {
        let mut policy = policy();
        let shown = |policy: &Policy| budget(&policy.budgets[0], policy).unwrap();
        // ρ = 1.4784, and a statement costs 0.1·tanh(0.05).
        assert!(
            shown(&policy).contains(": 295 answers at ε = 0.1 (basic composition: 100)"),
            "{}",
            shown(&policy)
        );
        let one = &mut policy.budgets[0];
        (one.accounting, one.delta, one.selection_delta) =
            (policy::Accounting::Notion(dp::Notion::Pure), 0.into(), 0.into());
        assert!(shown(&policy).contains(": 100 answers"), "{}", shown(&policy));
        policy.budgets[0].window = Some(policy::Window::Month);
        assert!(
            shown(&policy).contains("up to 13, together at most epsilon = 130.000"),
            "{}",
            shown(&policy)
        );
        policy.budgets[0].epsilon = "1.5".parse().unwrap();
        policy.budgets[0].tables = vec!["trips".into()];
        assert!(
            shown(&policy).contains("the whole dataset (trips) ε = 1.5, pure, anew every month: 15 answers")
        );
    }

    #[test]
    fn summary_names_units_tables_and_budgets() {
        let text = summary(&policy()).unwrap();
        for part in [
            "policy ok\n",
            "unit      riders.rider_id\n",
            "riders: private by rider_id, one row per unit; columns rider_id, birth_year, plan, city\n",
            "stations: public; columns station, city, capacity\n",
            "everyone: the whole dataset ε = 10, δ = 0.000001, zcdp: 295 answers",
        ] {
            assert!(text.contains(part), "{part:?} in\n{text}");
        }
    }
}
