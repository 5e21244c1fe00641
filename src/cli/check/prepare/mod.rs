//! `noisegate check prepare`: what would make fetches faster, or answers more exact, that only the owner of the tables can make: indexes,
//! statistics, keys.
//!
//! `facts` reads catalogs and counts, by the owner's login and never through the proxy; `proposals` says what follows from the policy,
//! `statements` what from a file of statements. What is printed is SQL with its reasons, without a value of a row; with `--apply`
//! it is made. What is there already is not proposed, so that a second run has nothing to say.

mod facts;
mod proposal;
mod proposals;
mod statements;

use crate::cli::args::PolicyFile;
use crate::cli::database;
use crate::cli::offline::{self, Chosen, Offline};
use facts::Facts;
use proposal::Proposal;
use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Arguments of `noisegate check prepare`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  noisegate check prepare --policy shop.toml --backend postgres://owner@host/shop
  noisegate check prepare --policy shop.toml --backend postgres://owner@host/shop --apply")]
pub struct Args {
    #[command(flatten)]
    policy: PolicyFile,
    /// The database itself (not the proxy), as the owner of the tables
    #[arg(long, value_name = "URL")]
    backend: String,
    /// A file of statements that are asked often: what helps those. Needs the schema's snapshot (noisegate check --write-schema)
    #[arg(long, value_name = "FILE")]
    statements: Option<PathBuf>,
    /// Makes the indexes and statistics that it proposes
    #[arg(long)]
    apply: bool,
    /// With --apply, makes keys, too: from then on the database refuses rows that break them
    #[arg(long, requires = "apply")]
    keys: bool,
}

/// Proposes, and makes.
pub async fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let raw = policy::load_elsewhere(&args.policy.policy).map_err(|e| e.to_string())?;
    let connected = database::backend(&args.backend).await?;
    let schema = database::schema(&connected).await.map_err(|e| e.to_string())?;
    let policy = raw.check(&schema).map_err(|e| e.to_string())?;
    let facts = Facts::read(&connected.client, &policy).await?;
    let mut all = proposals::of(&policy, &facts).await?;
    if let Some(file) = &args.statements {
        let offline = Offline::read(&offline::Args::of(&args.policy), &Chosen::default())?;
        for proposal in statements::of(file, &offline, &facts).await? {
            let same = |p: &Proposal| p.sql == proposal.sql;
            if !all.iter().any(same) {
                all.push(proposal);
            }
        }
    }
    print!("{}", printed(&all));
    if !args.apply {
        println!("{}", if all.is_empty() { NOTHING } else { PROPOSED });
        return Ok(());
    }
    let (mut made, mut left) = (0, 0);
    for proposal in &all {
        if proposal.is_key && !args.keys {
            left += 1;
            continue;
        }
        for sql in &proposal.sql {
            connected
                .client
                .batch_execute(sql)
                .await
                .map_err(|e| format!("{sql}\n  {}", database::reason(&e)))?;
        }
        made += 1;
    }
    println!(
        "-- made {made} of {}{}",
        all.len(),
        if left > 0 { "; keys are made with --keys, too" } else { "" }
    );
    if all.iter().any(|p| p.is_key) && args.keys {
        println!("-- keys are part of what the proxy checks: noisegate ctl reload takes them over");
    }
    Ok(())
}

const NOTHING: &str = "-- nothing to prepare";
const PROPOSED: &str =
    "-- nothing was changed: --apply makes indexes and statistics, --apply --keys the keys, too";

fn printed(all: &[Proposal]) -> String {
    let mut out = String::new();
    for p in all {
        for line in p.reason.lines() {
            let _ = writeln!(out, "-- {line}");
        }
        for sql in &p.sql {
            let _ = writeln!(out, "{sql};");
        }
        out.push('\n');
    }
    out
}
