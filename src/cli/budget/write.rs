//! The commands that write: each entry has an author and a reason.

use crate::cli::args::{PolicyFile, Signed};
use crate::cli::{budgets, check};
use bigdecimal::BigDecimal;
use ledger::{LedgerError, Missing, Owner};
use std::error::Error;
use std::fmt::Write as _;

/// Arguments of `budget grant`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  noisegate budget grant --policy shop.toml --budget everyone --epsilon 1 --reason \"a second study\"")]
pub struct Grant {
    #[command(flatten)]
    policy: PolicyFile,
    /// The budget
    #[arg(long, value_name = "NAME")]
    budget: String,
    /// The user or role that it is for [default: each]
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// So much more ε
    #[arg(long)]
    epsilon: BigDecimal,
    /// So much more δ in all
    #[arg(long, default_value = "0")]
    delta: BigDecimal,
    /// The part of it that pays for private groups [default: half]
    #[arg(long)]
    selection_delta: Option<BigDecimal>,
    #[command(flatten)]
    signed: Signed,
}

/// Arguments of `budget close`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  noisegate budget close --policy shop.toml --budget everyone --reason \"the study has ended\"")]
pub struct Close {
    #[command(flatten)]
    policy: PolicyFile,
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    signed: Signed,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct What {
    /// The budget
    #[arg(long, value_name = "NAME")]
    budget: Option<String>,
    /// The stream
    #[arg(long, value_name = "NAME")]
    stream: Option<String>,
}

/// Arguments of `budget accept`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  noisegate budget accept --policy shop.toml --reason \"orders hold people now\"")]
pub struct Accept {
    #[command(flatten)]
    policy: PolicyFile,
    /// Asks the schema's snapshot and not the database
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    signed: Signed,
}

/// Arguments of `budget mark`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  noisegate budget mark --policy shop.toml --hash 5f1c")]
pub struct Mark {
    #[command(flatten)]
    policy: PolicyFile,
    /// The hash that `budget verify` printed last: it must be that of an entry
    #[arg(long, value_name = "HASH")]
    hash: String,
}

/// Arguments of `budget restore`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  noisegate budget restore --policy shop.toml --reason \"the disk was lost\"")]
pub struct Restore {
    #[command(flatten)]
    policy: PolicyFile,
    /// No statement that is missing cost more ε [default: not known: each budget counts as spent in full]
    #[arg(long)]
    each_epsilon: Option<BigDecimal>,
    /// Nor more δ
    #[arg(long, default_value = "0", requires = "each_epsilon")]
    each_delta: BigDecimal,
    /// No more statements are missing [default: as many as the mark knows]
    #[arg(long, value_name = "N", requires = "each_epsilon")]
    entries: Option<u32>,
    #[command(flatten)]
    signed: Signed,
}

/// A file that a server has open is the server's alone.
fn open(file: &PolicyFile) -> Result<Owner, Box<dyn Error>> {
    Ok(Owner::open(&file.books()?.ledger).map_err(told)?)
}

fn told(error: LedgerError) -> LedgerError {
    match error {
        LedgerError::InUse(path) => LedgerError::Impossible(format!(
            "the ledger {path} is in use by a running noisegate, which alone may write to a SQLite file: stop it, run this \
             again, and start it. (A ledger in PostgreSQL can be written to at any time.) Nothing was changed"
        )),
        e => e,
    }
}

/// `budget grant`.
pub(super) fn grant(args: &Grant) -> Result<String, Box<dyn Error>> {
    let selection =
        args.selection_delta.clone().unwrap_or_else(|| (&args.delta / BigDecimal::from(2)).normalized());
    let amounts = [&args.epsilon, &args.delta, &selection];
    if amounts.iter().any(|a| num_traits::Signed::is_negative(*a)) {
        return Err("a grant is not negative: lower the limit in the policy instead".into());
    }
    let reason = args.signed.reason()?;
    let mut owner = open(&args.policy)?;
    owner.grant(&args.budget, args.to.as_deref(), amounts, &args.signed.author(), reason)?;
    let mut out = format!("granted epsilon {} more in \"{}\"", args.epsilon, args.budget);
    if let Some(to) = &args.to {
        let _ = write!(out, " to {to}");
    }
    out.push('\n');
    for summary in owner.budgets().iter().filter(|s| s.budget.name == args.budget) {
        if let Some(next) = summary.next {
            let _ = writeln!(out, "it is for the present window, which ends on {}", ledger::time(next));
        }
        if summary.budget.scope == policy::Scope::Dataset {
            out.push_str("the guarantee over the whole dataset is that much weaker\n");
        }
        out.push_str(&budgets::summary(summary));
    }
    Ok(out)
}

/// `budget close`.
pub(super) fn close(args: &Close) -> Result<String, Box<dyn Error>> {
    let (author, reason) = (args.signed.author(), args.signed.reason()?);
    let mut owner = open(&args.policy)?;
    if let Some(budget) = &args.what.budget {
        owner.close_budget(budget, &author, reason)?;
        return Ok(format!(
            "budget \"{budget}\" is closed for good: statements that it would have to pay for are refused\n"
        ));
    }
    let stream = args.what.stream.as_deref().unwrap_or_default();
    owner.close_stream(stream, &author, reason)?;
    Ok(format!("stream \"{stream}\" is closed for good: it is not opened again\n"))
}

/// `budget accept`: with the tables as the database, or the snapshot, has them.
pub(super) async fn accept(args: &Accept) -> Result<String, Box<dyn Error>> {
    let reason = args.signed.reason()?;
    let terms = check::terms(&args.policy.policy, args.offline).await?;
    let mut owner = open(&args.policy)?;
    let changes = owner.accept(&terms, &args.signed.author(), reason)?;
    let mut out = String::from("accepted\n");
    for change in changes {
        let forgets = change.forgets.map(|why| format!(": {why}")).unwrap_or_default();
        let _ = writeln!(out, "  {}{forgets}", change.what);
    }
    Ok(out)
}

/// `budget mark`.
pub(super) fn mark(args: &Mark) -> Result<String, Box<dyn Error>> {
    let ledger = args.policy.books()?.ledger;
    let head = Owner::mark(&ledger, &args.hash).map_err(told)?;
    Ok(format!("marked: the ledger {ledger} has {} entries, and is served from here on\n", head.id))
}

/// `budget restore`.
pub(super) fn restore(args: &Restore) -> Result<String, Box<dyn Error>> {
    let (ledger, reason) = (args.policy.books()?.ledger, args.signed.reason()?);
    let missing = args.each_epsilon.as_ref().map(|epsilon| Missing {
        epsilon,
        delta: &args.each_delta,
        entries: args.entries,
    });
    let entry = Owner::restore(&ledger, missing, &args.signed.author(), reason).map_err(told)?;
    let mut out = format!("entry {}: {}\n", entry.id, entry.what);
    for summary in Owner::read(&ledger)?.budgets() {
        out.push_str(&budgets::summary(&summary));
    }
    Ok(out)
}
