#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! The state machine by itself: entries in, decisions out.

mod coverage;
mod profiles;
mod schedules;
mod streams;

use super::*;
use crate::account::{Amount, Counter};
use crate::entry::Charged;
use crate::error::Refusal;
use crate::faults::Wrong;
use crate::log::{Row, Tip};
use answer::Identity;
use dp::{Charge, Event, Mechanism, Ratio, Spec, UNITS_PER_ONE};
use policy::{Accounting, Budget, Declared, Scope, Window};
use std::sync::Arc;

const DAY: i64 = 86_400_000_000;
/// 2026-11-21 00:00:00 UTC.
const START: i64 = 20_778 * DAY;
const TENTH: u128 = UNITS_PER_ONE / 10;

fn pure(name: &str, scope: Scope, epsilon: &str) -> Budget {
    Budget::new(name, scope, Accounting::Notion(dp::Notion::Pure), epsilon.parse().unwrap(), 0.into())
}

fn any(name: &str, accounting: Accounting) -> Budget {
    let delta = if accounting == Accounting::Notion(dp::Notion::Pure) { "0" } else { "1e-6" };
    Budget::new(name, Scope::Dataset, accounting, 1.into(), delta.parse().unwrap())
}

fn terms(budgets: &[Budget]) -> Terms {
    let table = |name: &str, rows: &str| TableTerms { name: name.into(), rows: rows.into() };
    Terms {
        version: Some("v1".into()),
        data: Some("database 1 of system 1".into()),
        unit: "riders.rider_id".into(),
        tables: vec![
            table("riders", "by rider_id"),
            table("trips", "by rider_id"),
            table("payments", "by trip_id -> trips.trip_id"),
            table("stations", PUBLIC),
        ],
        budgets: budgets.iter().map(BudgetTerms::new).collect(),
    }
}

fn charge(n: u128, d: u128) -> Charge {
    let epsilon = Ratio::new(n, d);
    Charge::of(&epsilon, &[Spec::laplace(&epsilon, 1, &[1], None).unwrap()]).unwrap()
}

/// One that selects groups for this δ.
fn selecting(delta: &str) -> Charge {
    Charge { selection_delta: dp::ratio(&delta.parse().unwrap()).unwrap(), ..charge(1, 100) }
}

/// Books, and the chain that they follow.
#[derive(Clone)]
struct Chain {
    books: Books,
    tip: Tip,
    rows: Vec<Row>,
    now: i64,
}

impl Chain {
    fn new(budgets: &[Budget]) -> Self {
        let mut chain = Self { books: Books::new(), tip: Tip::START, rows: Vec::new(), now: START };
        let opening = Opening { id: "00".into(), software: "test".into() };
        chain.write(&Entry::new(START, Body::Opening(opening))).unwrap();
        chain.policy(&terms(budgets), false).unwrap();
        chain
    }

    fn write(&mut self, entry: &Entry) -> Result<(), Wrong> {
        self.raw(&entry.write().unwrap())
    }

    fn raw(&mut self, body: &str) -> Result<(), Wrong> {
        let row = self.tip.next(body.to_owned());
        self.books.apply(&row)?;
        self.tip = Tip { id: row.id, hash: row.hash };
        self.rows.push(row);
        Ok(())
    }

    fn policy(&mut self, terms: &Terms, forgets: bool) -> Result<(), Wrong> {
        let entry = self.books.accept(terms, forgets, "owner", "test", self.now);
        self.write(&entry)
    }

    fn ask(&self, user: &str, charge: &Charge, tables: Option<&[&str]>) -> Ask {
        let charged = Charged::new(charge);
        let (who, tables) = (
            Identity { user: user.into(), role: None },
            tables.map(|t| t.iter().map(|t| (*t).to_owned()).collect()),
        );
        Ask {
            who,
            terms: Arc::new(self.books.terms().unwrap().clone()),
            statement: "07".repeat(32),
            id: "1".into(),
            charge: charge.clone(),
            key: serde_json::to_string(&charged).unwrap(),
            charged,
            tables,
            release: None,
            stream: None,
            text: None,
        }
    }

    fn debit(&mut self, user: &str, charge: &Charge, tables: Option<&[&str]>) -> Result<(), Refusal> {
        let ask = self.ask(user, charge, tables);
        let entry = self.books.decide(&ask, self.now)?;
        self.write(&entry).unwrap_or_else(|e| panic!("{e}"));
        Ok(())
    }

    fn tenth(&mut self, user: &str) -> bool {
        self.debit(user, &charge(1, 10), None).is_ok()
    }

    /// What is spent, in the present window, by the first owner of a name.
    fn spent(&mut self, budget: &str, owner: &str) -> u128 {
        let all = self.books.summaries(self.now);
        let summary = all.iter().find(|s| s.budget.name == budget).unwrap();
        let share = summary.shares.iter().find(|s| s.owner == owner);
        share.map_or(0, |s| s.state.reading().unwrap().0)
    }

    fn grant(&mut self, budget: &str, owner: Option<&str>, epsilon: &str) -> Result<(), String> {
        let grant = Grant {
            budget: budget.into(),
            owner: owner.map(Into::into),
            window: self.books.window(budget, self.now),
            epsilon: epsilon.into(),
            delta: "0".into(),
            selection_delta: "0".into(),
            author: "owner".into(),
            reason: "test".into(),
        };
        self.books.check_grant(&grant, self.now)?;
        self.write(&Entry::new(self.books.now(self.now), Body::Grant(grant))).map_err(|e| e.to_string())
    }

    fn forgotten(&self, terms: &Terms) -> Vec<String> {
        let changes = self.books.compare(terms, self.now);
        changes.into_iter().filter(|c| c.forgets.is_some()).map(|c| c.what).collect()
    }
}

#[test]
fn a_window_restarts_a_budget_and_only_that() {
    let day = Budget { window: Some(Window::Days(1)), ..pure("day", Scope::User, "0.2") };
    let mut c = Chain::new(&[pure("everyone", Scope::Dataset, "0.5"), day]);
    assert!(c.tenth("ada") && c.tenth("ada") && !c.tenth("ada"));
    c.now += DAY - 1;
    assert!(!c.tenth("ada"), "a microsecond before midnight");
    c.now += 1;
    assert!(c.tenth("ada"), "midnight");
    assert_eq!((c.spent("day", "ada"), c.spent("everyone", "")), (TENTH, 3 * TENTH));
    c.now += DAY;
    assert!(c.tenth("ada") && c.tenth("ada"));
    c.now += DAY;
    assert!(!c.tenth("ada"), "the budget of everyone has no window");
}

#[test]
fn a_clock_that_steps_back_gives_nothing_back() {
    let month = Budget { window: Some(Window::Month), ..pure("month", Scope::Dataset, "0.2") };
    let mut c = Chain::new(&[month]);
    // To the end of a month, and over it.
    c.now = START + 9 * DAY;
    assert!(c.tenth("ada") && c.tenth("ada") && !c.tenth("ada"));
    c.now = START + 10 * DAY;
    assert!(c.tenth("ada"), "the first of December");
    // Back into November, whose budget was spent: it is December still.
    c.now = START + 9 * DAY;
    assert!(c.tenth("ada") && !c.tenth("ada"));
    assert_eq!(c.spent("month", ""), 2 * TENTH);
    c.now = START + 10 * DAY + 1;
    assert!(!c.tenth("ada"));
    let times: Vec<i64> = c.rows.iter().map(|r| Entry::read(r.id, &r.body).unwrap().at).collect();
    assert!(times.is_sorted());
}

#[test]
fn a_budget_of_tables_counts_statements_that_read_them() {
    let some = |name: &str, scope, tables: &[&str]| Budget {
        tables: tables.iter().map(|t| (*t).to_owned()).collect(),
        ..pure(name, scope, "0.2")
    };
    let all = pure("everyone", Scope::Dataset, "1");
    let rides = some("rides", Scope::User, &["payments", "trips"]);
    let mut c = Chain::new(&[all, rides.clone()]);
    c.debit("ada", &charge(1, 10), Some(&["riders"])).unwrap();
    assert_eq!((c.spent("everyone", ""), c.spent("rides", "ada")), (TENTH, 0));
    c.debit("ada", &charge(1, 10), Some(&["riders", "trips"])).unwrap();
    // Who does not say which tables reads them all.
    c.debit("ada", &charge(1, 10), None).unwrap();
    assert_eq!((c.spent("everyone", ""), c.spent("rides", "ada")), (3 * TENTH, 2 * TENTH));
    assert!(matches!(c.debit("ada", &charge(1, 10), Some(&["payments"])), Err(Refusal::Exhausted(_))));
    c.debit("bob", &charge(1, 10), Some(&["payments"])).unwrap();
    c.debit("ada", &charge(1, 10), Some(&["riders"])).unwrap();
    // Without a total, what no budget counts is not answered.
    let mut c = Chain::new(&[rides, some("people", Scope::Dataset, &["riders"])]);
    let asked = |c: &mut Chain, tables: Option<&[&str]>| c.debit("ada", &charge(1, 20), tables).is_ok();
    assert!(asked(&mut c, Some(&["trips"])) && asked(&mut c, Some(&["riders", "payments"])));
    assert!(!asked(&mut c, None));
    let mut c = Chain::new(&[some("rides", Scope::Dataset, &["trips"])]);
    assert!(matches!(
        c.debit("ada", &charge(1, 20), Some(&["trips", "payments"])),
        Err(Refusal::NoBudget { .. })
    ));
    assert_eq!(c.spent("rides", ""), 0);
}

/// Two steps that numerical composition after the fact would admit at (1, 10^-6), and that break it when the second is
/// chosen by the first one's answer (see `rule_pld_as_a_filter_is_unsound`): each ledger refuses the second.
#[test]
fn rule_22_the_natural_filter_counterexample_is_refused() {
    let second = Charge {
        events: vec![Event {
            mechanism: Mechanism::DiscreteLaplace {
                sensitivity: dp::Sensitivity::of_one(1),
                scale: Ratio::new(10_000_000_000_000_000, 9_000_026_792_000_000),
            },
            times: 1,
        }],
        ..charge(1, 1)
    };
    for accounting in Accounting::all()
        .filter(|a| !matches!(a, Accounting::Notion(dp::Notion::Pure) | Accounting::Envelope))
    {
        let budget = Budget { selection_delta: 0.into(), ..any("everyone", accounting) };
        let mut c = Chain::new(&[budget]);
        c.debit("ada", &charge(1, 10), None).unwrap_or_else(|e| panic!("{accounting:?}: {e}"));
        assert!(matches!(c.debit("bob", &second, None), Err(Refusal::Exhausted(_))), "{accounting:?}");
    }
    // An envelope that declared the first has no price for what is chosen after it.
    let declared = Declared { mechanism: charge(1, 10).events[0].mechanism.clone(), uses: 3 };
    let budget = Budget {
        mechanisms: vec![declared],
        selection_delta: 0.into(),
        ..any("everyone", Accounting::Envelope)
    };
    let mut c = Chain::new(&[budget]);
    c.debit("ada", &charge(1, 10), None).unwrap();
    assert!(matches!(c.debit("bob", &second, None), Err(Refusal::Unpriced { .. })));
    assert!(c.tenth("bob") && c.tenth("ada") && !c.tenth("ada"), "three uses were declared");
    assert!(c.grant("everyone", None, "1").unwrap_err().contains("takes no grant"));
}

/// An entry that charges less, elsewhere, or twice is found, whatever its hash says.
#[test]
fn what_does_not_follow_is_refused() {
    let mut c = Chain::new(&[pure("everyone", Scope::Dataset, "0.3"), pure("own", Scope::User, "1")]);
    assert!(c.tenth("ada"));
    let body = c.rows.last().unwrap().body.clone();
    let cost = TENTH.to_string();
    let wrong = |from: &str, to: &str| {
        assert!(body.contains(from), "{from} in {body}");
        let mut c = c.clone();
        c.raw(&body.replacen(from, to, 1)).unwrap_err().why
    };
    assert!(wrong(&cost, &(TENTH - 1).to_string()).contains("less than its events cost"));
    assert!(wrong(&cost, &(3 * TENTH).to_string()).contains("over budget \"everyone\""));
    assert!(wrong("\"owner\":\"ada\"", "\"owner\":\"bob\"").contains("debited for"));
    assert!(wrong("\"budget\":\"own\"", "\"budget\":\"everyone\"").contains("debited for"));
    assert!(wrong("\"1/10\"", "\"1/0\"").contains("cannot be read"));
    assert!(wrong("{\"v\":1", "{\"v\":2").contains("version 2"));
    assert!(wrong("{\"v\":1", "{ \"v\":1").contains("not written as"));
    assert!(wrong("\"user\":", "\"value\":5,\"user\":").contains("cannot be read"));
    assert!(wrong(&format!("\"at\":{START}"), &format!("\"at\":{}", START - 1)).contains("older"));
    assert!(wrong(&format!("\"at\":{START}"), "\"at\":9007199254740992").contains("no time"));
    let first = c.rows[0].body.clone();
    assert!(c.clone().raw(&first).unwrap_err().why.contains("one opening"));
    let debit: serde_json::Value = serde_json::from_str(&body).unwrap();
    let mut without = debit.clone();
    without["what"]["debit"]["paid"].as_array_mut().unwrap().pop();
    // Written with its keys in order, as this program does.
    let without: Entry = serde_json::from_value(without).unwrap();
    assert!(c.clone().write(&without).unwrap_err().why.contains("2 budgets match it, and 1 were debited"));
    // What costs more than it must is only dear; the same debit twice is two debits, until there is no room.
    let mut twice = c.clone();
    twice.raw(&body).unwrap();
    twice.raw(&body).unwrap();
    assert!(twice.raw(&body).unwrap_err().why.contains("over budget"));
    // Nothing of a refused entry is kept.
    let before = format!("{:?}", c.books.summaries(START));
    assert!(c.raw(&body.replacen(&cost, &(3 * TENTH).to_string(), 1)).is_err());
    assert_eq!(format!("{:?}", c.books.summaries(START)), before);
}

/// Entries of the first pricing that count uses of Laplace noise may be of a unit that brought all rows to one group: they count as
/// one use of the product, in each notion, and what is said of them names the budget and the entries.
#[test]
fn rule_47_uses_of_an_earlier_pricing_count_as_one_of_the_product() {
    for accounting in [
        Accounting::Notion(dp::Notion::Pure),
        Accounting::Notion(dp::Notion::Zcdp),
        Accounting::Notion(dp::Notion::Gdp),
        Accounting::Notion(dp::Notion::Advanced),
        Accounting::Notion(dp::Notion::Rdp),
    ] {
        let delta = if accounting == Accounting::Notion(dp::Notion::Pure) {
            0.into()
        } else {
            "1e-6".parse().unwrap()
        };
        let budget = Budget {
            selection_delta: 0.into(),
            ..Budget::new("everyone", Scope::Dataset, accounting, 50.into(), delta)
        };
        let mut c = Chain::new(std::slice::from_ref(&budget));
        // 500 uses of one row at a scale of 500.
        let event = |linf: u128, l1: u128| {
            let sensitivity = dp::Sensitivity::in_all(l1, linf);
            Event {
                mechanism: Mechanism::DiscreteLaplace { sensitivity, scale: Ratio::from_integer(500) },
                times: 1,
            }
        };
        let charged = |event: Event| Charge { events: vec![event], ..charge(1, 1) };
        c.debit("ada", &charged(event(1, 500)), None).unwrap();
        let now = c.rows.last().unwrap().body.clone();
        // As it was written then: by its uses, and without the version.
        let then = now.replacen("\"times\":1,\"l1\":\"500\"", "\"times\":500", 1).replacen(
            &format!("\"pricing\":{},", dp::PRICING),
            "",
            1,
        );
        assert_ne!(now, then);
        let mut old = Chain::new(std::slice::from_ref(&budget));
        old.raw(&then).unwrap();
        let dearer = Counter::of(&budget, &[]).unwrap();
        let expected = dearer.price(&charged(event(500, 500))).unwrap();
        let key = (0, std::sync::Arc::from(""));
        assert_eq!(old.books.spent(&key, None), expected, "{accounting:?}");
        let told = old.books.dearer();
        assert_eq!(told.len(), usize::from(accounting != Accounting::Notion(dp::Notion::Pure)), "{told:?}");
        assert!(told.iter().all(|line| line.contains("\"everyone\"")));
    }
}

/// A later, tighter (or wider) price leaves what was paid as it is, and readable.
#[test]
fn rule_43_entries_say_which_pricing_made_their_prices() {
    let mut c = Chain::new(&[pure("everyone", Scope::Dataset, "0.1")]);
    assert!(c.tenth("ada"));
    let body = c.rows.last().unwrap().body.clone();
    let named = format!("\"pricing\":{},\"paid\":", dp::PRICING);
    assert!(body.contains(&named), "{body}");
    // The first one is not named.
    let body = body.replacen(&named, "\"paid\":", 1);
    let mut again = Chain::new(&[pure("everyone", Scope::Dataset, "0.1")]);
    let with = |pricing: u32, loss: u128| {
        let price = format!("\"loss\":\"{loss}\"");
        let body = body.replacen(&format!("\"loss\":\"{TENTH}\""), &price, 1);
        assert!(loss == TENTH || body.contains(&price));
        body.replacen("\"paid\":", &format!("\"pricing\":{pricing},\"paid\":"), 1)
    };
    let later = again.raw(&with(dp::PRICING + 1, TENTH)).unwrap_err().why;
    assert!(later.contains("by a later version of noisegate"), "{later}");
    assert!(again.raw(&with(1, TENTH)).is_err(), "one spelling for each meaning");
    let (less, more) = (TENTH / 2, 3 * TENTH);
    again.raw(&with(0, less)).unwrap();
    assert_eq!(again.spent("everyone", ""), less);
    again.raw(&with(0, more)).unwrap();
    assert_eq!(again.spent("everyone", ""), less + more);
    assert!(!again.tenth("ada"));
}

#[test]
fn an_accepted_change_counts_what_it_can() {
    let everyone = pure("everyone", Scope::Dataset, "1");
    let mut c = Chain::new(std::slice::from_ref(&everyone));
    c.debit("ada", &charge(1, 10), Some(&["trips"])).unwrap();
    c.now += 3 * DAY;
    c.debit("bob", &charge(2, 10), Some(&["riders"])).unwrap();
    let accepted = |budget: Budget| {
        let mut c = c.clone();
        c.policy(&terms(&[budget]), true).unwrap_or_else(|e| panic!("{e}"));
        c
    };
    let mut users = accepted(Budget { scope: Scope::User, ..everyone.clone() });
    assert_eq!((users.spent("everyone", "ada"), users.spent("everyone", "bob")), (TENTH, 2 * TENTH));
    let mut trips = accepted(Budget { tables: vec!["trips".into()], ..everyone.clone() });
    assert_eq!(trips.spent("everyone", ""), TENTH);
    let mut day = accepted(Budget { window: Some(Window::Days(1)), ..everyone.clone() });
    assert_eq!(day.spent("everyone", ""), 2 * TENTH, "today's");
    let mut zcdp = accepted(any("everyone", Accounting::Notion(dp::Notion::Zcdp)));
    let rho = |n| dp::Notion::Zcdp.price(&charge(n, 10)).unwrap().loss;
    assert_eq!(zcdp.spent("everyone", ""), rho(1) + rho(2));
    // And a replay of the same entries is the same state.
    let mut again = Books::new();
    for row in &zcdp.rows {
        again.apply(row).unwrap();
    }
    assert_eq!(format!("{:?}", again.summaries(c.now)), format!("{:?}", zcdp.books.summaries(c.now)));
}

#[test]
fn grants_raise_a_limit_for_those_they_name() {
    let day = Budget { window: Some(Window::Days(1)), ..pure("day", Scope::User, "0.1") };
    let mut c = Chain::new(&[pure("everyone", Scope::Dataset, "0.4"), day.clone()]);
    assert!(c.tenth("ada") && !c.tenth("ada"));
    c.grant("day", Some("ada"), "0.1").unwrap();
    assert!(c.tenth("ada") && !c.tenth("ada"));
    assert!(c.tenth("bob") && !c.tenth("bob"), "bob was granted nothing");
    c.grant("day", None, "0.1").unwrap();
    assert!(c.tenth("ada") && !c.tenth("bob"), "now everyone's budget is spent");
    c.grant("everyone", None, "1").unwrap();
    assert!(c.tenth("bob") && !c.tenth("bob"));
    c.now += DAY;
    assert!(c.tenth("ada") && !c.tenth("ada"), "a grant is for the window it was made in");
    for (budget, owner, epsilon, why) in [
        ("nobody", None, "1", "no budget"),
        ("everyone", Some("ada"), "1", "everybody's"),
        ("day", None, "-1", "no amount"),
        ("day", None, "x", "no amount"),
    ] {
        let told = c.grant(budget, owner, epsilon).unwrap_err();
        assert!(told.contains(why), "{told}");
    }
    // A limit that is changed in the policy keeps what was granted for good.
    c.policy(&terms(&[pure("everyone", Scope::Dataset, "0.5"), day]), true).unwrap();
    let all = c.books.summaries(c.now);
    let shares = &all[0].shares[0].state;
    assert_eq!(shares.counter.fits(&shares.spent, &all[0].counter.price(&charge(1, 10)).unwrap()), 9);
}

#[test]
fn what_is_closed_stays_closed() {
    let budgets = [pure("everyone", Scope::Dataset, "1"), pure("own", Scope::User, "1")];
    let mut c = Chain::new(&budgets);
    let close = |what| Close { what, author: "owner".into(), reason: "test".into() };
    let entry = |c: &Chain, what| Entry::new(c.now, Body::Close(close(what)));
    let nobody = entry(&c, Closed::Budget("nobody".into()));
    assert!(c.write(&nobody).unwrap_err().why.contains("no budget \"nobody\""));
    let stream = entry(&c, Closed::Stream("alerts".into()));
    c.write(&stream).unwrap();
    let mut ask = c.ask("ada", &charge(1, 10), None);
    ask.stream = Some(Opens { name: "alerts".into(), after: None });
    assert!(matches!(c.books.decide(&ask, c.now), Err(Refusal::Closed { what: "stream", .. })));
    assert!(c.tenth("ada"));
    let body = c.rows.last().unwrap().body.clone();
    let own = entry(&c, Closed::Budget("own".into()));
    c.write(&own).unwrap();
    assert!(!c.tenth("ada"));
    assert!(c.raw(&body).unwrap_err().why.contains("was closed before it"));
    assert_eq!(
        c.forgotten(&terms(&budgets[..1])).len(),
        1,
        "to take it out of the policy opens what it closed"
    );
    c.policy(&terms(&budgets[..1]), true).unwrap();
    assert!(c.tenth("ada"), "whose owner takes it out of the policy goes on without it");
    c.policy(&terms(&budgets), false).unwrap();
    assert!(!c.tenth("ada"), "and it does not come back");
    assert_eq!(c.spent("own", "ada"), 2 * TENTH);
}

/// Of releases that others kept, or that never came, no more are remembered than are waited for.
#[test]
fn rule_26_who_is_not_waited_for_is_forgotten() {
    let mut c = Chain::new(&[pure("everyone", Scope::Dataset, "1000")]);
    let mut asked = 0u64;
    let mut release = |c: &mut Chain| {
        asked += 1;
        let mut ask = c.ask("ada", &charge(1, 10), None);
        let mut key = [0; 32];
        key[..8].copy_from_slice(&asked.to_be_bytes());
        ask.release = Some(key);
        c.books.sweep(c.now, 5, &[]);
        let entry = c.books.decide(&ask, c.now).unwrap();
        c.write(&entry).unwrap();
        key
    };
    for _ in 0..3000 {
        c.now += 1;
        let key = release(&mut c);
        assert!(c.books.awaited(&key, c.now, 5, &[]));
        assert!(c.books.pending.len() <= replay::SWEEP + 1, "{}", c.books.pending.len());
    }
}
