//! `noisegate budget create` and `budget show`.

use crate::ledger::{Ledger, LedgerError, summary};
use crate::policy::{Budget, LedgerLocation};
use std::fmt::Write;

/// `budget create`: makes the file, with every budget unspent. Says what it did.
pub fn create(ledger: &LedgerLocation, budgets: &[Budget]) -> Result<String, LedgerError> {
    let LedgerLocation::Sqlite(path) = ledger;
    Ledger::create(path, budgets)?;
    let names: Vec<String> = budgets.iter().map(|b| format!("\"{}\"", b.name)).collect();
    Ok(format!("created {} with the budget(s) {}\n", path.display(), names.join(", ")))
}

/// `budget show`: every budget, its limit, and what each of its owners has spent. Reads the file while a server has
/// it open, too.
pub fn show(ledger: &LedgerLocation, budgets: &[Budget]) -> Result<String, LedgerError> {
    let LedgerLocation::Sqlite(path) = ledger;
    let mut out = String::new();
    for budget in summary(path, budgets)? {
        // Writing to a String does not fail.
        let _ = writeln!(out, "{budget}");
    }
    Ok(out)
}
