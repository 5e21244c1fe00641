#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! Openings of streams: for how long one pays for questions, and that nobody pays twice.

use super::*;
use crate::error::StreamEnd;

impl Chain {
    fn open(&mut self, user: &str, after: Option<i64>) -> Result<i64, Refusal> {
        let mut ask = self.ask(user, &charge(1, 10), None);
        ask.stream = Some(Opens { name: "bell".into(), after });
        let entry = self.books.decide(&ask, self.now)?;
        self.write(&entry).unwrap_or_else(|e| panic!("{e}"));
        Ok(self.books.opened(user, "bell").unwrap())
    }

    fn question(&self, entry: i64) -> Result<(), Refusal> {
        let terms = Arc::new(self.books.terms().unwrap().clone());
        let claim = Claim { user: "ada".into(), stream: "bell".into(), entry, terms };
        self.books.claim(&claim, self.now)
    }

    fn over(&self, entry: i64) -> StreamEnd {
        match self.question(entry) {
            Err(Refusal::StreamOver { stream, end }) if stream == "bell" => end,
            other => panic!("{other:?}"),
        }
    }

    fn close(&mut self, what: Closed) {
        let close = Close { what, author: "owner".into(), reason: "test".into() };
        self.write(&Entry::new(self.now, Body::Close(close))).unwrap();
    }
}

fn opened(budgets: &[Budget]) -> (Chain, i64) {
    let mut c = Chain::new(budgets);
    let entry = c.open("ada", None).unwrap();
    c.question(entry).unwrap();
    (c, entry)
}

#[test]
fn rule_40_an_opening_pays_until_what_paid_for_it_has_ended() {
    let everyone = pure("everyone", Scope::Dataset, "1");
    let day = Budget { window: Some(Window::Days(1)), ..pure("day", Scope::User, "0.5") };
    let budgets = [everyone.clone(), day];
    let (c, entry) = opened(&budgets);
    // Later on the same day, and after whatever changes nothing.
    let mut same = c.clone();
    same.now += DAY - 1;
    assert!(same.tenth("bob"));
    same.question(entry).unwrap();
    // The next day's budget has not paid.
    let mut next = c.clone();
    next.now += DAY;
    assert_eq!(next.over(entry), StreamEnd::Window { budget: "day".into() });
    // Closed: the stream, or a budget that paid.
    for (what, word) in
        [(Closed::Stream("bell".into()), "stream"), (Closed::Budget("everyone".into()), "budget")]
    {
        let mut closed = c.clone();
        closed.close(what);
        assert!(matches!(closed.question(entry), Err(Refusal::Closed { what, .. }) if what == word));
    }
    let mut other = c.clone();
    other.close(Closed::Stream("horn".into()));
    other.question(entry).unwrap();
    // Another policy, by a reload.
    let mut policy = c.clone();
    let mut changed = terms(&budgets);
    changed.version = Some("v2".into());
    policy.policy(&changed, false).unwrap();
    assert_eq!(policy.over(entry), StreamEnd::Policy);
    // Everything starts anew, or a table does.
    for (unit, rows) in [("riders.household", "by rider_id"), ("riders.rider_id", "by payer_id")] {
        let mut anew = c.clone();
        let mut changed = terms(&budgets);
        changed.unit = unit.into();
        changed.tables[1].rows = rows.into();
        anew.policy(&changed, true).unwrap();
        assert_eq!(anew.over(entry), StreamEnd::Anew);
        let entry = anew.open("ada", Some(entry)).unwrap();
        anew.question(entry).unwrap();
    }
    // A budget for all time under another name counts the opening.
    let mut renamed = c.clone();
    let everybody = Budget { name: "everybody".into(), ..everyone };
    renamed.policy(&terms(&[everybody, budgets[1].clone()]), false).unwrap();
    renamed.question(entry).unwrap();
    // Somebody else's entry is none.
    assert_eq!(c.over(entry - 1), StreamEnd::Elsewhere);
}

#[test]
fn rule_40_who_opens_says_what_came_before() {
    let (mut c, first) = opened(&[pure("everyone", Scope::Dataset, "1")]);
    let refused = |r: Result<i64, Refusal>| {
        let elsewhere = Refusal::StreamOver { stream: "bell".into(), end: StreamEnd::Elsewhere };
        assert_eq!(r.unwrap_err(), elsewhere);
    };
    // Two proxies that saw no opening, and two that saw the same one: one of them pays.
    refused(c.clone().open("ada", None));
    let second = c.open("ada", Some(first)).unwrap();
    refused(c.open("ada", Some(first)));
    assert_eq!(c.over(first), StreamEnd::Elsewhere);
    c.question(second).unwrap();
    assert_eq!(c.spent("everyone", ""), 2 * TENTH);
}
