//! `noisegate budget …`: what the owner of the data does with the ledger. One function for each command; dispatch here.
//!
//! `write` has those that write, `account` the accountants without any ledger.

pub mod account;
mod write;

use super::args::PolicyFile;
use super::budgets;
use super::collect::persons;
use super::print::{hex, lines, say};
use ledger::{Ledger, LedgerError, Owner, Terms, time, verify};
use policy::{Budget, LedgerLocation};
use std::error::Error;
use std::fmt::Write as _;
use write::{Accept, Close, Grant, Mark, Restore};

/// What to do with the ledger of a policy.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "\
Examples:
  noisegate budget create --policy shop.toml
  noisegate budget show --policy shop.toml")]
pub enum Command {
    /// Creates the ledger, with all budgets unspent, and the files of what persons have said, where there is a limit. An existing
    /// one is never overwritten.
    #[command(after_help = "Example:\n  noisegate budget create --policy shop.toml")]
    Create(PolicyFile),
    /// Shows what is spent of each budget.
    #[command(after_help = "Example:\n  noisegate budget show --policy shop.toml")]
    Show(PolicyFile),
    /// Shows every entry in words.
    #[command(after_help = "Example:\n  noisegate budget history --policy shop.toml")]
    History(PolicyFile),
    /// Prints every entry as a line of JSON, as it is in the ledger, with its number and its hash.
    #[command(after_help = "Example:\n  noisegate budget export --policy shop.toml")]
    Export(PolicyFile),
    /// Proves the ledger: every hash, every price and every sum. Prints the last hash, to be kept elsewhere.
    Verify(Verify),
    /// Grants more of a budget. Where it has a window, for the present one.
    Grant(Grant),
    /// Closes a budget or a stream for good: it pays for nothing any more.
    Close(Close),
    /// Accepts a policy that forgets something of what was spent.
    Accept(Accept),
    /// Says that a ledger without a mark, such as one that was moved, is the newest copy.
    Mark(Mark),
    /// Goes on from a ledger that has lost entries. What stands for them is charged to every budget: all it has, unless
    /// the owner knows what they cost at most.
    Restore(Restore),
    /// The accountant by itself: checks a file of cases, or says how many answers fit a budget.
    Account(account::Args),
}

/// Arguments of `budget verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  noisegate budget verify --policy shop.toml
  noisegate budget verify --policy shop.toml --contains 5f1c")]
pub struct Verify {
    #[command(flatten)]
    policy: PolicyFile,
    /// A hash that was printed before: it must be that of an entry
    #[arg(long, value_name = "HASH")]
    contains: Option<String>,
}

/// Runs a command.
pub async fn run(command: &Command) -> Result<(), Box<dyn Error>> {
    let text = match command {
        Command::Create(file) => {
            let books = file.books()?;
            let mut text = create(&books.ledger, &books.budgets, &books.unit)?;
            // Books of what persons have said, as those of what analysts ask.
            for line in persons::made(file)? {
                let _ = writeln!(text, "{line}");
            }
            text
        }
        Command::Show(file) => {
            let books = file.books()?;
            show(&books.ledger, &books.budgets)?
        }
        Command::History(file) => return history(&file.books()?.ledger),
        Command::Export(file) => return export(&file.books()?.ledger),
        Command::Verify(args) => proven(&args.policy.books()?.ledger, args.contains.as_deref())?,
        Command::Grant(args) => write::grant(args)?,
        Command::Close(args) => write::close(args)?,
        Command::Accept(args) => write::accept(args).await?,
        Command::Mark(args) => write::mark(args)?,
        Command::Restore(args) => write::restore(args)?,
        Command::Account(args) => return account::run(args),
    };
    Ok(say(text.trim_end())?)
}

/// `budget create`: makes the ledger, with every budget unspent. Says what it did.
pub fn create(ledger: &LedgerLocation, budgets: &[Budget], unit: &str) -> Result<String, LedgerError> {
    Ledger::create(ledger, &Terms::unchecked(budgets, unit))?;
    let names: Vec<String> = budgets.iter().map(|b| format!("\"{}\"", b.name)).collect();
    let mut out = format!("created {ledger} with the budget(s) {}\n", names.join(", "));
    for budget in budgets {
        if let Some(chosen) = budgets::chosen(budget) {
            let _ = writeln!(out, "\"{}\" counts by {chosen}; the ledger keeps it", budget.name);
        }
    }
    Ok(out)
}

/// `budget show`: every budget, its limit, and what each of its owners has spent. Reads the ledger while a server has
/// it open, too.
pub fn show(ledger: &LedgerLocation, budgets: &[Budget]) -> Result<String, LedgerError> {
    let mut owner = Owner::read(ledger)?;
    let mut out = String::new();
    if let Some(mismatch) = owner.mismatch() {
        let _ = writeln!(out, "nothing is served from this: {mismatch}\n");
    }
    for summary in owner.budgets() {
        out.push_str(&budgets::summary(&summary));
        let Some(own) = budgets.iter().find(|b| b.name == summary.budget.name) else {
            out.push_str("  not in the policy: gone when the server next starts\n");
            continue;
        };
        if !owner.in_force(own) {
            out.push_str("  changed in the policy: compared when the server next starts\n");
        }
    }
    let known = owner.budgets();
    for budget in budgets.iter().filter(|b| known.iter().all(|k| k.budget.name != b.name)) {
        out.push_str(&budgets::budget(budget));
        out.push_str("\n  not in the ledger yet: added when the server next starts\n");
    }
    Ok(out)
}

fn history(ledger: &LedgerLocation) -> Result<(), Box<dyn Error>> {
    let mut all = Vec::new();
    Owner::read(ledger)?.history(|told| {
        let who = if told.who.is_empty() { String::new() } else { format!("  {}:", told.who) };
        all.push(format!("{:>6}  {}{who}  {}", told.id, time(told.at), told.what));
    })?;
    Ok(lines(&all)?)
}

fn export(ledger: &LedgerLocation) -> Result<(), Box<dyn Error>> {
    let mut all = Vec::new();
    Owner::read(ledger)?.export(|line| all.push(line))?;
    Ok(lines(&all)?)
}

/// `budget verify`.
pub fn proven(ledger: &LedgerLocation, contains: Option<&str>) -> Result<String, LedgerError> {
    let head = verify(ledger)?;
    let mut out = String::new();
    let hash = hex(&head.hash);
    let _ = writeln!(out, "ok: {} entries, the last of {}", head.id, time(head.at));
    let _ = writeln!(out, "the last hash is {hash}");
    let owner = Owner::read(ledger)?;
    if let Some(mismatch) = owner.mismatch() {
        let _ = writeln!(out, "nothing is served from this: {mismatch}");
    }
    for dearer in owner.dearer() {
        let _ = writeln!(out, "{dearer}");
    }
    if let Some(wanted) = contains {
        let mut found = None;
        Owner::read(ledger)?.hashes(|id, hash| {
            if hex(hash).eq_ignore_ascii_case(wanted) {
                found = Some(id);
            }
        })?;
        let Some(id) = found else {
            let what =
                format!("no entry has the hash {wanted}: this ledger is not one that grew from that one");
            return Err(LedgerError::Impossible(what));
        };
        let _ = writeln!(out, "entry {id} has the hash {wanted}");
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
