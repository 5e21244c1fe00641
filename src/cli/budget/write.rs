//! The commands that write: each entry has an author and a reason.

use super::{Accept, Close, Grant, Mark, Restore, Signed};
use bigdecimal::BigDecimal;
use ledger::{LedgerError, Missing, Owner, user};
use policy::LedgerLocation;
use std::error::Error;
use std::fmt::Write as _;

impl Signed {
    fn author(&self) -> String {
        self.author.clone().unwrap_or_else(user)
    }

    fn reason(&self) -> Result<&str, LedgerError> {
        let reason = self.reason.trim();
        if reason.is_empty() {
            return Err(LedgerError::Impossible("--reason is empty: say why, it stays in the ledger".into()));
        }
        Ok(reason)
    }
}

/// A file that a server has open is the server's alone.
fn open(ledger: &LedgerLocation) -> Result<Owner, LedgerError> {
    Owner::open(ledger).map_err(told)
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
pub(super) fn grant(ledger: &LedgerLocation, args: &Grant) -> Result<String, LedgerError> {
    let selection =
        args.selection_delta.clone().unwrap_or_else(|| (&args.delta / BigDecimal::from(2)).normalized());
    let amounts = [&args.epsilon, &args.delta, &selection];
    if amounts.iter().any(|a| num_traits::Signed::is_negative(*a)) {
        return Err(LedgerError::Impossible(
            "a grant is not negative: lower the limit in the policy instead".into(),
        ));
    }
    let reason = args.signed.reason()?;
    let mut owner = open(ledger)?;
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
        out.push_str(&super::print::summary(summary));
    }
    Ok(out)
}

/// `budget close`.
pub(super) fn close(ledger: &LedgerLocation, args: &Close) -> Result<String, LedgerError> {
    let (author, reason) = (args.signed.author(), args.signed.reason()?);
    let mut owner = open(ledger)?;
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
pub(super) async fn accept(ledger: &LedgerLocation, args: &Accept) -> Result<String, Box<dyn Error>> {
    let reason = args.signed.reason()?;
    let terms = crate::cli::check::terms(&args.policy.policy, args.offline).await?;
    let mut owner = open(ledger)?;
    let changes = owner.accept(&terms, &args.signed.author(), reason)?;
    let mut out = String::from("accepted\n");
    for change in changes {
        let forgets = change.forgets.map(|why| format!(": {why}")).unwrap_or_default();
        let _ = writeln!(out, "  {}{forgets}", change.what);
    }
    Ok(out)
}

/// `budget mark`.
pub(super) fn mark(ledger: &LedgerLocation, args: &Mark) -> Result<String, LedgerError> {
    let head = Owner::mark(ledger, &args.hash).map_err(told)?;
    Ok(format!("marked: the ledger {ledger} has {} entries, and is served from here on\n", head.id))
}

/// `budget restore`.
pub(super) fn restore(ledger: &LedgerLocation, args: &Restore) -> Result<String, LedgerError> {
    let reason = args.signed.reason()?;
    let missing = args.each_epsilon.as_ref().map(|epsilon| Missing {
        epsilon,
        delta: &args.each_delta,
        entries: args.entries,
    });
    let entry = Owner::restore(ledger, missing, &args.signed.author(), reason).map_err(told)?;
    let mut out = format!("entry {}: {}\n", entry.id, entry.what);
    for summary in Owner::read(ledger)?.budgets() {
        out.push_str(&super::print::summary(&summary));
    }
    Ok(out)
}
