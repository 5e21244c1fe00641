//! `noisegate budget …`: what the owner of the data does with the ledger. One function for each command; dispatch here.

pub mod print;
mod write;

use bigdecimal::BigDecimal;
use ledger::{Ledger, LedgerError, Owner, Terms, time, verify};
use policy::{Budget, LedgerLocation};
use std::error::Error;
use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

/// What to do with the ledger of a policy.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Creates the ledger, with all budgets unspent. An existing one is never overwritten.
    Create(PolicyFile),
    /// Shows what is spent of each budget.
    Show(PolicyFile),
    /// Shows every entry in words.
    History(PolicyFile),
    /// Prints every entry as a line of JSON, as it is in the ledger, with its number and its hash.
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
}

/// The policy.
#[derive(Debug, clap::Args)]
pub struct PolicyFile {
    /// The policy.
    #[arg(long, value_name = "FILE")]
    pub policy: PathBuf,
}

/// Arguments of `budget verify`.
#[derive(Debug, clap::Args)]
pub struct Verify {
    #[command(flatten)]
    policy: PolicyFile,
    /// A hash that was printed before: it must be that of an entry
    #[arg(long, value_name = "HASH")]
    contains: Option<String>,
}

/// Who writes, and why.
#[derive(Debug, clap::Args)]
pub struct Signed {
    /// Why: stays in the ledger
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Who: stays in the ledger [default: the user of this shell]
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
}

/// Arguments of `budget grant`.
#[derive(Debug, clap::Args)]
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
pub struct Mark {
    #[command(flatten)]
    policy: PolicyFile,
    /// The hash that `budget verify` printed last: it must be that of an entry
    #[arg(long, value_name = "HASH")]
    hash: String,
}

/// Arguments of `budget restore`.
#[derive(Debug, clap::Args)]
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

/// Runs a command.
pub async fn run(command: &Command) -> Result<(), Box<dyn Error>> {
    let file = match command {
        Command::Create(args) | Command::Show(args) | Command::History(args) | Command::Export(args) => args,
        Command::Verify(args) => &args.policy,
        Command::Grant(args) => &args.policy,
        Command::Close(args) => &args.policy,
        Command::Accept(args) => &args.policy,
        Command::Mark(args) => &args.policy,
        Command::Restore(args) => &args.policy,
    };
    let raw = policy::load(&file.policy)?;
    let Some((ledger, budgets)) = raw.books() else {
        return Err(policy::PolicyErrors(raw.mistakes()).into());
    };
    let text = match command {
        Command::Create(_) => create(ledger, budgets, raw.unit_name().unwrap_or_default())?,
        Command::Show(_) => show(ledger, budgets)?,
        Command::History(_) => return history(ledger),
        Command::Export(_) => return export(ledger),
        Command::Verify(args) => proven(ledger, args.contains.as_deref())?,
        Command::Grant(args) => write::grant(ledger, args)?,
        Command::Close(args) => write::close(ledger, args)?,
        Command::Accept(args) => write::accept(ledger, args).await?,
        Command::Mark(args) => write::mark(ledger, args)?,
        Command::Restore(args) => write::restore(ledger, args)?,
    };
    println!("{}", text.trim_end());
    Ok(())
}

/// `budget create`: makes the ledger, with every budget unspent. Says what it did.
pub fn create(ledger: &LedgerLocation, budgets: &[Budget], unit: &str) -> Result<String, LedgerError> {
    Ledger::create(ledger, &Terms::unchecked(budgets, unit))?;
    let names: Vec<String> = budgets.iter().map(|b| format!("\"{}\"", b.name)).collect();
    let mut out = format!("created {ledger} with the budget(s) {}\n", names.join(", "));
    for budget in budgets {
        if let Some(chosen) = print::chosen(budget) {
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
        out.push_str(&print::summary(&summary));
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
        out.push_str(&print::budget(budget));
        out.push_str("\n  not in the ledger yet: added when the server next starts\n");
    }
    Ok(out)
}

fn history(ledger: &LedgerLocation) -> Result<(), Box<dyn Error>> {
    let mut lines = Vec::new();
    Owner::read(ledger)?.history(|told| {
        let who = if told.who.is_empty() { String::new() } else { format!("  {}:", told.who) };
        lines.push(format!("{:>6}  {}{who}  {}", told.id, time(told.at), told.what));
    })?;
    print(&lines)
}

fn export(ledger: &LedgerLocation) -> Result<(), Box<dyn Error>> {
    let mut lines = Vec::new();
    Owner::read(ledger)?.export(|line| lines.push(line))?;
    print(&lines)
}

/// A pipe that somebody closed is no mistake of ours, and no reason to go on.
fn print(lines: &[String]) -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    for line in lines {
        match writeln!(out, "{line}") {
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
            done => done?,
        }
    }
    Ok(out.flush()?)
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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, b| {
        let _ = write!(text, "{b:02x}");
        text
    })
}

#[cfg(test)]
mod tests;
