#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! A policy beside the one in force: what counts less needs the owner's word, under whatever name it comes.

use super::*;

impl Chain {
    /// Nothing of it needs to be accepted, and the state machine takes it.
    fn harmless(&self, budgets: &[Budget]) -> Self {
        let mut next = self.clone();
        assert_eq!(self.forgotten(&terms(budgets)), Vec::<String>::new());
        next.policy(&terms(budgets), false).unwrap();
        next
    }

    /// It must be accepted, once, and the state machine insists.
    fn forgets(&self, budgets: &[Budget], what: &str) {
        let told = self.forgotten(&terms(budgets));
        assert!(told.len() == 1 && told[0].contains(what), "{what}: {told:?}");
        assert!(
            self.clone().policy(&terms(budgets), false).unwrap_err().why.contains("nobody accepted this")
        );
    }
}

#[test]
fn what_a_policy_would_forget_is_told_and_the_rest_goes_on() {
    let everyone = pure("everyone", Scope::Dataset, "1");
    let quota = Budget { window: Some(Window::Days(30)), ..pure("quota", Scope::User, "1") };
    let old = [everyone.clone(), quota.clone()];
    let mut c = Chain::new(&old);
    assert!(c.tenth("ada") && c.tenth("bob"));
    c.harmless(&old);
    c.harmless(&[Budget { epsilon: "0.1".parse().unwrap(), ..everyone.clone() }, quota.clone()]);
    c.harmless(&[everyone.clone(), Budget { window: None, ..quota.clone() }]);
    c.harmless(&[everyone.clone(), Budget { window: Some(Window::Days(60)), ..quota.clone() }]);
    c.harmless(&[old[0].clone(), old[1].clone(), any("new", Accounting::Notion(dp::Notion::Zcdp))]);
    c.harmless(std::slice::from_ref(&everyone));
    c.forgets(&[Budget { epsilon: 2.into(), ..everyone.clone() }, quota.clone()], "epsilon was 1 and is 2");
    c.forgets(
        &[Budget { window: Some(Window::Month), ..everyone.clone() }, quota.clone()],
        "window was none",
    );
    let all_for_good = Budget { scope: Scope::User, window: None, ..everyone.clone() };
    c.forgets(&[all_for_good, quota.clone()], "per was dataset and is user");
    let zcdp = Budget { delta: 0.into(), ..any("everyone", Accounting::Notion(dp::Notion::Zcdp)) };
    c.forgets(&[zcdp, quota.clone()], "accounting was pure and is zcdp");
    let trips = Budget { tables: vec!["trips".into()], ..everyone.clone() };
    c.forgets(&[trips, quota.clone()], "tables was all and is trips");
    // A budget that was away is charged with what was spent meanwhile.
    let mut away = c.clone();
    away.policy(&terms(std::slice::from_ref(&quota)), true).unwrap();
    assert!(away.tenth("eve"));
    assert_eq!(away.harmless(&old).spent("everyone", ""), 3 * TENTH);
}

/// Each was taken over without a word while budgets were compared by their names.
#[test]
fn rule_41_another_name_is_no_other_budget() {
    let everyone = pure("everyone", Scope::Dataset, "0.3");
    let mut c = Chain::new(std::slice::from_ref(&everyone));
    assert!(c.tenth("ada") && c.tenth("ada") && c.tenth("ada") && !c.tenth("ada"));
    let other = Budget { name: "everybody".into(), ..everyone.clone() };
    let gone = "budget \"everyone\" is gone, and no other counts all that it counted";
    c.forgets(&[Budget { window: Some(Window::Days(1)), ..other.clone() }], gone);
    c.forgets(&[Budget { scope: Scope::User, ..other.clone() }], gone);
    c.forgets(&[Budget { tables: vec!["trips".into(), "riders".into()], ..other.clone() }], gone);
    c.forgets(&[Budget { epsilon: "0.4".parse().unwrap(), ..other.clone() }], gone);
    c.forgets(
        &[Budget {
            epsilon: "0.3".parse().unwrap(),
            ..any("everybody", Accounting::Notion(dp::Notion::Zcdp))
        }],
        gone,
    );
    // In two steps: the name first, which forgets nothing, and then the window.
    let mut renamed = c.harmless(std::slice::from_ref(&other));
    assert_eq!(renamed.spent("everybody", ""), 3 * TENTH);
    assert!(!renamed.tenth("ada"));
    let third = Budget { name: "third".into(), window: Some(Window::Days(1)), ..other.clone() };
    renamed.forgets(std::slice::from_ref(&third), "no other counts all");
    // And the other way round: the one with a window joins, and then the first one leaves.
    let mut both = c.harmless(&[everyone.clone(), third.clone()]);
    assert!(!both.tenth("ada"));
    both.forgets(std::slice::from_ref(&third), gone);
    // What counts more may take its place.
    let quota = pure("quota", Scope::User, "0.3");
    let mut each = Chain::new(std::slice::from_ref(&quota));
    assert!(each.tenth("ada") && each.tenth("bob"));
    assert_eq!(each.harmless(std::slice::from_ref(&everyone)).spent("everyone", ""), 2 * TENTH);
}

#[test]
fn a_notion_is_chosen_before_the_first_answer() {
    let zcdp = any("everyone", Accounting::Notion(dp::Notion::Zcdp));
    let rdp = any("everyone", Accounting::Notion(dp::Notion::Rdp));
    let mut c = Chain::new(std::slice::from_ref(&zcdp));
    c.harmless(std::slice::from_ref(&rdp));
    assert!(c.tenth("ada"));
    c.forgets(std::slice::from_ref(&rdp), "accounting was zcdp and is rdp");
    c.forgets(&[any("everybody", Accounting::Notion(dp::Notion::Rdp))], "\"everyone\" is gone");
    c.harmless(&[zcdp, any("beside", Accounting::Notion(dp::Notion::Rdp))]);
}

#[test]
fn a_closed_budget_does_not_open_under_another_name() {
    let everyone = pure("everyone", Scope::Dataset, "1");
    let mut c = Chain::new(std::slice::from_ref(&everyone));
    let close =
        Close { what: Closed::Budget("everyone".into()), author: "owner".into(), reason: "test".into() };
    c.write(&Entry::new(START, Body::Close(close))).unwrap();
    assert!(!c.tenth("ada"));
    c.forgets(
        &[Budget { name: "everybody".into(), ..everyone.clone() }],
        "\"everyone\" is gone, and was closed",
    );
    c.harmless(&[everyone.clone(), pure("own", Scope::User, "1")]);
}

#[test]
fn units_and_tables_are_somebodys() {
    let old = [pure("everyone", Scope::Dataset, "1"), pure("quota", Scope::User, "1")];
    let mut c = Chain::new(&old);
    c.debit("ada", &charge(1, 10), Some(&["trips"])).unwrap();
    c.debit("ada", &charge(1, 10), Some(&["riders"])).unwrap();
    c.debit("ada", &charge(1, 10), Some(&["riders", "trips"])).unwrap();
    assert!(c.tenth("bob"), "of whatever tables");
    let with = |unit: &str, trips: &str| {
        let mut terms = terms(&old);
        terms.unit = unit.into();
        terms.tables[1].rows = trips.into();
        terms
    };
    let [household, payer, published] = [
        with("riders.household", "by rider_id"),
        with("riders.rider_id", "by payer_id"),
        with("riders.rider_id", PUBLIC),
    ];
    for terms in [&household, &payer, &published] {
        assert_eq!(c.forgotten(terms).len(), 1);
        assert!(c.clone().policy(terms, false).is_err());
    }
    // Only what reads that table and no other protected nobody else.
    let mut one = c.clone();
    one.policy(&payer, true).unwrap();
    assert_eq!((one.spent("everyone", ""), one.spent("quota", "ada")), (3 * TENTH, 2 * TENTH));
    let mut exact = c.clone();
    exact.policy(&published, true).unwrap();
    assert_eq!(exact.spent("everyone", ""), 4 * TENTH, "what was spent is spent");
    // Accepted: the books of the old unit are closed.
    c.policy(&household, true).unwrap();
    assert_eq!((c.spent("everyone", ""), c.spent("quota", "ada")), (0, 0));
    // A proxy that was started under the old unit is refused.
    let mut ask = c.ask("ada", &charge(1, 10), None);
    ask.terms = Arc::new(terms(&old));
    assert_eq!(c.books.decide(&ask, c.now), Err(Refusal::Superseded));
    assert!(c.tenth("ada"));
}

#[test]
fn a_grant_is_for_the_budget_that_it_was_made_for() {
    let everyone = pure("everyone", Scope::Dataset, "0.1");
    let quota = pure("quota", Scope::User, "0.1");
    let mut c = Chain::new(&[everyone.clone(), quota.clone()]);
    c.grant("everyone", None, "1").unwrap();
    c.grant("quota", None, "0.1").unwrap();
    assert!(c.tenth("ada") && c.tenth("ada") && !c.tenth("ada"));
    // Everybody's from now on: what was granted to each was not granted to all together.
    c.policy(&terms(&[everyone.clone(), Budget { scope: Scope::Dataset, ..quota.clone() }]), true).unwrap();
    assert!(!c.tenth("bob"));
    c.policy(&terms(&[everyone, quota]), true).unwrap();
    assert!(c.tenth("bob") && !c.tenth("bob"), "and it does not come back");
}

/// δ of private groups was moved to the conversion after it was spent, unsigned: in all 1.9 times what was promised.
#[test]
fn rule_52_a_limit_is_compared_in_every_coordinate() {
    let split = |selection: &str, budget: &Budget| Budget {
        selection_delta: selection.parse().unwrap(),
        ..budget.clone()
    };
    for notion in [
        Accounting::Notion(dp::Notion::Zcdp),
        Accounting::Notion(dp::Notion::Rdp),
        Accounting::Notion(dp::Notion::Gdp),
        Accounting::Notion(dp::Notion::Advanced),
    ] {
        let everyone = split("9e-7", &any("everyone", notion));
        let mut c = Chain::new(std::slice::from_ref(&everyone));
        // Before the first answer the split is free, as the notion is.
        c.harmless(&[split("1e-8", &everyone)]);
        c.debit("ada", &selecting("8e-7"), None).unwrap();
        for less in ["1e-8", "8e-7"] {
            c.forgets(&[split(less, &everyone)], "selection_delta was 9E-7 and is");
        }
        c.forgets(&[split("95e-8", &everyone)], "selection_delta was 9E-7 and is");
        // Nor under another name, nor beside the old one, which then leaves.
        let other = Budget { name: "other".into(), ..split("1e-8", &everyone) };
        c.forgets(std::slice::from_ref(&other), "(\"other\" differs in selection_delta)");
        c.harmless(&[everyone.clone(), other.clone()]).forgets(std::slice::from_ref(&other), "is gone");
        // Where nothing is admitted beyond what was, it goes on.
        c.harmless(&[Budget { epsilon: "0.9".parse().unwrap(), ..everyone.clone() }]);
        // A smaller promise in ε that makes room in δ for the conversion is another one all the same.
        let moved = Budget { epsilon: "0.99".parse().unwrap(), ..split("1e-9", &everyone) };
        c.forgets(&[moved], "selection_delta was");
    }
}

/// Limits of an rdp budget are of orders: another δ moves the order that has most of it.
#[test]
fn rule_52_orders_are_compared_one_by_one() {
    let limit = |b: &Budget| match Account::new(b).unwrap().counter.limit() {
        Amount::Cost(cost) => cost.orders,
        Amount::Uses(_) => panic!("no envelope"),
    };
    let with = |delta: &str| Budget {
        delta: delta.parse().unwrap(),
        selection_delta: 0.into(),
        epsilon: 4.into(),
        ..any("everyone", Accounting::Notion(dp::Notion::Rdp))
    };
    let everyone = with("1e-6");
    let mut c = Chain::new(std::slice::from_ref(&everyone));
    assert!(c.tenth("ada"));
    let mut seen = [false; 2];
    for exponent in 7..30 {
        let less = with(&format!("1e-{exponent}"));
        let more = limit(&less).iter().zip(limit(&everyone)).any(|(new, old)| *new > old);
        seen[usize::from(more)] = true;
        match more {
            true => c.forgets(&[less], "delta was 0.000001 and is"),
            false => drop(c.harmless(&[less])),
        }
    }
    assert_eq!(seen, [true; 2], "both happen");
}

/// What was granted is granted on top of limits that have moved.
#[test]
fn rule_52_grants_are_counted_in() {
    let everyone = Budget {
        selection_delta: "9e-7".parse().unwrap(),
        ..any("everyone", Accounting::Notion(dp::Notion::Zcdp))
    };
    let mut c = Chain::new(std::slice::from_ref(&everyone));
    assert!(c.tenth("ada"));
    // Alone it admits less: nine tenths of ε, at a δ that is ten times as large.
    let moved = Budget { epsilon: "0.9".parse().unwrap(), selection_delta: 0.into(), ..everyone.clone() };
    c.harmless(std::slice::from_ref(&moved));
    c.grant("everyone", None, "8").unwrap();
    c.forgets(&[moved], "selection_delta was");
}

/// While δ of what is spent is above its limit, no charge is small enough that needs none.
#[test]
fn rule_52_nothing_is_admitted_while_any_coordinate_is_above() {
    for notion in [
        Accounting::Notion(dp::Notion::Approx),
        Accounting::Notion(dp::Notion::Zcdp),
        Accounting::Notion(dp::Notion::Rdp),
        Accounting::Notion(dp::Notion::Gdp),
        Accounting::Notion(dp::Notion::Advanced),
    ] {
        let everyone = any("everyone", notion);
        let mut c = Chain::new(std::slice::from_ref(&everyone));
        c.debit("ada", &selecting("4e-7"), None).unwrap();
        assert!(c.tenth("ada"));
        let lower = Budget {
            delta: "4e-7".parse().unwrap(),
            selection_delta: "2e-7".parse().unwrap(),
            ..everyone.clone()
        };
        let mut lowered = c.clone();
        lowered.policy(&terms(std::slice::from_ref(&lower)), true).unwrap();
        assert!(!lowered.tenth("ada"), "{notion:?}");
        let refused = lowered.debit("ada", &charge(1, 1000), None).unwrap_err();
        assert!(
            refused.client().message.contains("more of its part for private groups is spent"),
            "{refused:?}"
        );
        // The old limits back, which the owner signs: it goes on.
        lowered.policy(&terms(std::slice::from_ref(&everyone)), true).unwrap();
        assert!(lowered.tenth("ada"));
    }
}

/// Books are of the rows of one database.
#[test]
fn rule_52_books_are_of_one_database() {
    let everyone = [pure("everyone", Scope::Dataset, "1")];
    let of = |data: Option<&str>| Terms { data: data.map(Into::into), ..terms(&everyone) };
    let mut c = Chain::new(&everyone);
    assert!(c.tenth("ada"));
    let moved = of(Some("database 2 of system 1"));
    let told = c.forgotten(&moved);
    assert_eq!(told, ["the data were database 1 of system 1, and are database 2 of system 1"]);
    assert!(c.clone().policy(&moved, false).is_err());
    // Who asked no server says nothing of it, and does not make it unknown.
    c.policy(&of(None), false).unwrap();
    assert_eq!(c.forgotten(&moved).len(), 1);
    c.policy(&moved, true).unwrap();
    assert_eq!(c.spent("everyone", ""), TENTH, "what was spent is spent");
    let mut ask = c.ask("ada", &charge(1, 10), None);
    ask.terms = Arc::new(terms(&everyone));
    assert_eq!(c.books.decide(&ask, c.now), Err(Refusal::Superseded), "a proxy that still has the other one");
    assert!(c.tenth("ada"));
}

/// A ledger of a version that compared keys alone is read: what it took over stands.
#[test]
fn rule_52_what_was_taken_over_before_stands() {
    let everyone = Budget {
        selection_delta: "9e-7".parse().unwrap(),
        ..any("everyone", Accounting::Notion(dp::Notion::Zcdp))
    };
    let moved = Budget { selection_delta: "1e-8".parse().unwrap(), ..everyone.clone() };
    let before = |budget: &Budget| Terms { data: None, ..terms(std::slice::from_ref(budget)) };
    let mut c = Chain::new(&[]);
    c.books = Books::new();
    c.tip = Tip::START;
    let opening = Opening { id: "00".into(), software: "test".into() };
    c.write(&Entry::new(START, Body::Opening(opening))).unwrap();
    c.policy(&before(&everyone), false).unwrap();
    c.debit("ada", &selecting("8e-7"), None).unwrap();
    c.policy(&before(&moved), false).unwrap();
    // Once the data are known, no more.
    c.policy(&terms(std::slice::from_ref(&moved)), false).unwrap();
    assert!(c.policy(&before(&everyone), false).is_err());
    assert!(!c.tenth("ada"), "more is spent of δ than its limit");
}
