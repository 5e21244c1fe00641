//! `noisegate budget create` and `budget show`.

use crate::ledger::{Ledger, LedgerError, summary};
use crate::policy::{Budget, LedgerLocation};
use std::fmt::Write;

/// `budget create`: makes the file, with every budget unspent. Says what it did.
pub fn create(ledger: &LedgerLocation, budgets: &[Budget]) -> Result<String, LedgerError> {
    let LedgerLocation::Sqlite(path) = ledger else {
        return Err(LedgerError::Unusable { place: "in PostgreSQL".into(), why: "not served yet".into() });
    };
    Ledger::create(path, budgets)?;
    let names: Vec<String> = budgets.iter().map(|b| format!("\"{}\"", b.name)).collect();
    Ok(format!("created {} with the budget(s) {}\n", path.display(), names.join(", ")))
}

/// `budget show`: every budget, its limit, and what each of its owners has spent. Reads the file while a server has
/// it open, too.
pub fn show(ledger: &LedgerLocation, budgets: &[Budget]) -> Result<String, LedgerError> {
    let LedgerLocation::Sqlite(path) = ledger else {
        return Err(LedgerError::Unusable { place: "in PostgreSQL".into(), why: "not served yet".into() });
    };
    let mut out = String::new();
    for budget in summary(path, budgets)? {
        // Writing to a String does not fail.
        let _ = writeln!(out, "{budget}");
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use crate::policy::{Accounting, Scope};

    #[test]
    fn create_makes_the_file_once_and_show_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = LedgerLocation::Sqlite(folder.path().join("noisegate.db"));
        let budgets = [Budget {
            name: "everyone".into(),
            scope: Scope::Dataset,
            accounting: Accounting::Zcdp,
            epsilon: 8.into(),
            delta: "1e-6".parse().unwrap(),
            selection_delta: "5e-7".parse().unwrap(),
        }];
        assert!(matches!(show(&ledger, &budgets), Err(LedgerError::Missing(_))));
        let said = create(&ledger, &budgets).unwrap();
        assert!(said.contains("noisegate.db") && said.contains("\"everyone\""), "{said}");
        assert!(matches!(create(&ledger, &budgets), Err(LedgerError::Exists(_))));
        let shown = show(&ledger, &budgets).unwrap();
        assert_eq!(shown.lines().nth(1), Some("  nothing spent"), "{shown}");
    }
}
