//! `noisegate explain --policy F SQL`: what a statement would cost and send, from the schema snapshot alone.

pub mod advise;
pub mod fit;
mod proxy;

use super::args::Either;
use super::file;
use super::offline::{self, Chosen, Failed, Offline, constants, told};
use super::print::{pretty, say};
use super::stack::with_stack;
use crate::explained::{self, number};
use answer::{ClientError, SqlState};
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;

/// `noisegate explain`, and what else is said of statements and their bounds before anybody relies on them.
pub type Command = Either<Args, Other>;

/// Commands about many statements, and about bounds.
#[derive(Debug, clap::Subcommand)]
pub enum Other {
    /// Says of a file of statements what they cost, how wrong they will be and what would help; by itself it asks no database.
    Advise(advise::Args),
    /// Measures, through a proxy and at its price, where a column's values lie and how many private groups a unit has.
    Fit(fit::Args),
}

/// Arguments of `noisegate explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  noisegate explain --policy shop.toml \"SELECT plan, count(*) FROM customers GROUP BY plan\"
  noisegate explain --policy shop.toml --format json - <statement.sql
  noisegate explain advise --policy shop.toml dashboard.sql")]
pub struct Args {
    #[command(flatten)]
    offline: offline::Args,
    #[command(flatten)]
    chosen: Chosen,
    /// text: as EXPLAIN (VERBOSE) prints it; json: with the SQL, sensitivities and price, for programs
    #[arg(long, value_enum, default_value_t = Format::Text, hide_possible_values = true)]
    format: Format,
    /// The statement; `-` reads it from standard input
    #[arg(value_name = "SQL")]
    sql: String,
}

/// How the plan is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Lines.
    Text,
    /// One object.
    Json,
}

/// A refusal, which has been printed: in JSON it is an answer, and goes to standard output.
#[derive(Debug, thiserror::Error)]
#[error("the statement is refused")]
pub struct Refused;

/// Explains.
pub async fn run(command: &Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Own(args) => explain(args),
        Command::Other(Other::Advise(args)) => advise::run(args).await,
        Command::Other(Other::Fit(args)) => fit::run(args).await,
    }
}

fn explain(args: &Args) -> Result<(), Box<dyn Error>> {
    let answer = |object: &Value| {
        println!("{}", pretty(object));
        Refused.into()
    };
    let failed = |e: Failed, sql: &str| -> Box<dyn Error> {
        match (e, args.format) {
            (Failed::Statement(e), Format::Text) => {
                eprintln!("{}", told(&e, sql));
                Refused.into()
            }
            (Failed::Statement(e), Format::Json) => answer(&explained::error(&e)),
            (Failed::Other(e), Format::Text) => e.into(),
            (Failed::Other(e), Format::Json) => answer(&json!({ "error": { "message": e } })),
        }
    };
    let sql = match args.sql.as_str() {
        "-" => file::text(Path::new("-")).map_err(|e| failed(Failed::Other(e), ""))?,
        sql => sql.to_owned(),
    };
    let planned = with_stack(|| Ok(plan(args, &sql)))?;
    Ok(say(&planned.map_err(|e| failed(e, &sql))?)?)
}

fn plan(args: &Args, sql: &str) -> Result<String, Failed> {
    let offline = Offline::read(&args.offline, &args.chosen)?;
    let Offline { policy, settings, found, .. } = &offline;
    let mut parsed = sql::parse::parse(sql, &policy.limits)?;
    let statements = parsed.len();
    let (Some(only), 1) = (parsed.pop(), statements) else {
        let message = format!("one statement is explained at a time, this text has {statements}");
        return Err(ClientError::new(SqlState::SYNTAX_ERROR, message)
            .hint("For a file of statements there is noisegate explain advise.")
            .into());
    };
    let plan = offline.plan(only, policy, settings)?;
    Ok(match args.format {
        Format::Text => {
            [explained::summary(&plan, policy), plan::explain::lines(&plan, policy)].concat().join("\n")
        }
        Format::Json => {
            let mut all = json!({
                "statement": sql.trim(),
                "settings": {
                    "epsilon": number::decimal(args.offline.epsilon.as_ref().unwrap_or(&policy.statement.epsilon)),
                    "delta": number::decimal(&policy.statement.delta),
                    "max_groups": settings.max_groups,
                    "max_rows": settings.chosen_rows.unwrap_or(settings.max_rows),
                },
                "schema": {
                    "server_version": found.schema.server_version,
                    "written": found.written,
                },
            });
            let more = explained::plan(&plan, policy, &constants());
            if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
                all.extend(more);
            }
            pretty(&all)
        }
    })
}
