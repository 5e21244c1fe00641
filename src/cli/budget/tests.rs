#![allow(clippy::unwrap_used, clippy::panic)]
use super::*;
use crate::policy::{Accounting, Scope};

#[test]
fn create_makes_the_file_once_and_show_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = LedgerLocation::Sqlite(folder.path().join("noisegate.db"));
    let budgets =
        [Budget::new("everyone", Scope::Dataset, Accounting::Zcdp, 8.into(), "1e-6".parse().unwrap())];
    assert!(matches!(show(&ledger, &budgets), Err(LedgerError::Missing(_))));
    let said = create(&ledger, &budgets, "riders.rider_id").unwrap();
    assert!(said.contains("noisegate.db") && said.contains("\"everyone\""), "{said}");
    assert!(matches!(create(&ledger, &budgets, "riders.rider_id"), Err(LedgerError::Exists(_))));
    let shown = show(&ledger, &budgets).unwrap();
    assert_eq!(shown.lines().nth(1), Some("  nothing spent"), "{shown}");
    assert!(proven(&ledger, None).unwrap().starts_with("ok: 2 entries"));
}
