#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
use super::*;
use dp::{Charge, Ratio, Spec};
use policy::{Accounting, Scope};

#[test]
fn create_makes_the_file_once_and_show_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = LedgerLocation::Sqlite(folder.path().join("noisegate.db").into());
    let budgets = [Budget::new(
        "everyone",
        Scope::Dataset,
        Accounting::Notion(dp::Notion::Zcdp),
        8.into(),
        "1e-6".parse().unwrap(),
    )];
    assert!(matches!(show(&ledger, &budgets), Err(LedgerError::Missing(_))));
    let said = create(&ledger, &budgets, "riders.rider_id").unwrap();
    assert!(said.contains("noisegate.db") && said.contains("\"everyone\""), "{said}");
    assert!(matches!(create(&ledger, &budgets, "riders.rider_id"), Err(LedgerError::Exists(_))));
    let shown = show(&ledger, &budgets).unwrap();
    assert_eq!(shown.lines().nth(1), Some("  nothing spent"), "{shown}");
    assert!(proven(&ledger, None).unwrap().starts_with("ok: 2 entries"));
}

#[tokio::test]
async fn the_owner_reads_the_books_while_they_are_open() {
    let folder = tempfile::tempdir().unwrap();
    let place = LedgerLocation::Sqlite(folder.path().join("books.db").into());
    let pure = |name: &str, scope, epsilon: u32| {
        Budget::new(name, scope, Accounting::Notion(dp::Notion::Pure), epsilon.into(), 0.into())
    };
    let budgets = [
        Budget::new(
            "everyone",
            Scope::Dataset,
            Accounting::Notion(dp::Notion::Zcdp),
            8.into(),
            "1e-6".parse().unwrap(),
        ),
        pure("quota", Scope::User, 2),
        pure("unused", Scope::Role, 2),
    ];
    let terms = Terms::unchecked(&budgets, "riders.rider_id");
    Ledger::create(&place, &terms).unwrap();
    let ledger = Ledger::open(&place, &terms).unwrap();
    let epsilon = Ratio::new(1, 10);
    let charge = Charge::of(&epsilon, &[Spec::laplace(&epsilon, 4, &[1, 60], None).unwrap()]).unwrap();
    let ada = answer::Identity { user: "ada".into(), role: None };
    ledger.debit(&ada, [7; 32], &price::Proven::unproven(charge)).await.unwrap();
    let text = show(&place, &budgets).unwrap();
    let text: Vec<&str> = text.lines().collect();
    assert!(
        text[0].starts_with("everyone (zcdp, for everybody together): epsilon = 8, delta = "),
        "{text:?}"
    );
    assert!(text[1].contains("everybody: ρ = 0.000624992 of 1.0084"), "{text:?}");
    assert_eq!(text[3], "  ada: ε = 0.1 of 2 spent, 95.0 % left");
    assert_eq!(text[5], "  nothing spent");
    let more = show(&place, &[pure("new", Scope::Dataset, 1)]).unwrap();
    assert!(more.contains("not in the ledger yet") && more.contains("not in the policy"), "{more}");
    let nowhere = LedgerLocation::Sqlite(folder.path().join("nowhere.db").into());
    assert!(matches!(show(&nowhere, &budgets), Err(LedgerError::Missing(_))));
}
