#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! Random schedules of debits, policies, acceptances, closings, streams and days, against what they mean: without a
//! signature nobody gets an answer more than before, on any day to come; and a question to a stream is answered while every
//! budget that would have to pay for it holds its opening.
//!
//! `LEDGER_SCHEDULES=n` runs n of them; a failure names its seed.

use super::*;

/// SplitMix64: a schedule is its seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn of<T: Clone>(&mut self, list: &[T]) -> T {
        list[usize::try_from(self.below(list.len() as u64)).unwrap()].clone()
    }

    fn budget(&mut self, name: &str) -> Budget {
        let epsilon = self.of(&["0.3", "0.5", "0.8"]);
        let tables: [&[&str]; 4] = [&[], &[], &["trips"], &["riders", "trips"]];
        Budget {
            window: self.of(&[None, None, Some(Window::Days(1)), Some(Window::Days(2)), Some(Window::Month)]),
            tables: self.of(&tables).iter().map(|t| (*t).to_owned()).collect(),
            ..pure(name, self.of(&[Scope::Dataset, Scope::Dataset, Scope::User]), epsilon)
        }
    }

    /// Budgets near those in force: some renamed, some changed, some gone, some new.
    fn near(&mut self, old: &[Budget]) -> Vec<Budget> {
        let names = ["a", "b", "c", "d"];
        let mut next: Vec<Budget> = Vec::new();
        for budget in old {
            let changed = self.budget(&budget.name);
            let one = match self.below(9) {
                0 => continue,
                1 => Budget { name: self.of(&names).into(), ..budget.clone() },
                2 => Budget { window: changed.window, ..budget.clone() },
                3 => Budget { scope: changed.scope, ..budget.clone() },
                4 => Budget { tables: changed.tables, ..budget.clone() },
                5 => Budget { epsilon: changed.epsilon, ..budget.clone() },
                6 => changed,
                _ => budget.clone(),
            };
            next.push(one);
        }
        if next.is_empty() || self.below(3) == 0 {
            let name = self.of(&names);
            next.push(self.budget(name));
        }
        let mut seen = BTreeSet::new();
        next.retain(|b| seen.insert(b.name.clone()));
        next
    }
}

const USERS: [&str; 2] = ["ada", "bob"];

/// How many answers somebody gets from these tables, if nobody else asks; None where no budget is about them.
fn room(chain: &Chain, user: &str, tables: &[&str]) -> Option<u32> {
    let mut chain = chain.clone();
    let mut answers = 0;
    loop {
        match chain.debit(user, &charge(1, 10), Some(tables)) {
            Ok(()) => answers += 1,
            Err(Refusal::NoBudget { .. }) => return None,
            Err(_) => return Some(answers),
        }
    }
}

/// Nobody gets more under the second than under the first, today or later.
fn no_more(old: &Chain, new: &Chain, seed: u64) {
    for days in [0, 1, 2, 40] {
        let later = |chain: &Chain| Chain { now: chain.now + days * DAY, ..chain.clone() };
        let (old, new) = (later(old), later(new));
        for user in USERS {
            for tables in [&["trips"][..], &["riders"], &["riders", "trips"]] {
                let Some(before) = room(&old, user, tables) else { continue };
                let after = room(&new, user, tables).unwrap_or(0);
                assert!(
                    after <= before,
                    "seed {seed}: {after} answers for {before}, {user}, {tables:?}, in {days} days"
                );
            }
        }
    }
}

/// What the test remembers of the opening that is asked.
#[derive(Clone)]
struct Opening {
    entry: i64,
    at: i64,
    dead: bool,
}

fn schedule(seed: u64, told: &mut [u32; 4]) {
    let mut dice = Dice(seed);
    let first = [dice.budget("a"), dice.budget("b")];
    let mut c = Chain::new(&first);
    let (mut budgets, mut closed) = (first.to_vec(), BTreeSet::new());
    let mut opening: Option<Opening> = None;
    for _ in 0..24 {
        match dice.below(10) {
            0..=2 => {
                let tables: [&[&str]; 3] = [&["trips"], &["riders"], &["riders", "trips"]];
                let (user, tables) = (dice.of(&USERS), dice.of(&tables));
                let _ = c.debit(user, &charge(1, 10), Some(tables));
            }
            3 => c.now += dice.of(&[DAY / 3, DAY, 2 * DAY]),
            4..=6 => {
                let next = dice.near(&budgets);
                let mut unsigned = c.clone();
                let taken = unsigned.policy(&terms(&next), false).is_ok();
                assert_eq!(taken, c.forgotten(&terms(&next)).is_empty());
                if taken {
                    // Before the first answer there is nothing that could count less.
                    if !c.books.is_unspent() {
                        no_more(&c, &unsigned, seed);
                    }
                    told[0] += 1;
                    (c, budgets) = (unsigned, next);
                } else if dice.below(3) == 0 {
                    c.policy(&terms(&next), true).unwrap();
                    told[1] += 1;
                    budgets = next;
                }
            }
            7 => {
                let after = opening.as_ref().map(|o| o.entry);
                let mut ask = c.ask("ada", &charge(1, 10), None);
                ask.stream = Some(Opens { name: "bell".into(), after });
                if let Ok(entry) = c.books.decide(&ask, c.now) {
                    c.write(&entry).unwrap();
                    let entry = c.books.opened("ada", "bell").unwrap();
                    opening = Some(Opening { entry, at: c.now, dead: false });
                }
            }
            8 if dice.below(4) == 0 => {
                let name = dice.of(&budgets).name;
                let close =
                    Close { what: Closed::Budget(name.clone()), author: "o".into(), reason: "r".into() };
                c.write(&Entry::new(c.books.now(c.now), Body::Close(close))).unwrap();
                closed.insert(name);
            }
            8 => {
                // Another way from a table to its unit: what began before does not go on.
                let mut changed = terms(&budgets);
                changed.tables[1].rows = "by payer_id".into();
                c.policy(&changed, true).unwrap();
                c.policy(&terms(&budgets), true).unwrap();
                opening.iter_mut().for_each(|o| o.dead = true);
            }
            _ => {
                let Some(o) = &opening else { continue };
                let terms = Arc::new(c.books.terms().unwrap().clone());
                let claim = Claim { user: "ada".into(), stream: "bell".into(), entry: o.entry, terms };
                let holds =
                    |b: &Budget| !closed.contains(&b.name) && b.window.is_none_or(|w| w.start(c.now) <= o.at);
                let pays = !o.dead && budgets.iter().all(holds);
                assert_eq!(c.books.claim(&claim, c.now).is_ok(), pays, "seed {seed}");
                told[if pays { 2 } else { 3 }] += 1;
            }
        }
    }
    // And whoever reads the entries again is where we are.
    let mut again = Books::new();
    c.rows.iter().for_each(|row| again.apply(row).unwrap());
    assert_eq!(
        format!("{:?}", again.summaries(c.now)),
        format!("{:?}", c.books.summaries(c.now)),
        "seed {seed}"
    );
}

#[test]
fn rule_41_without_a_signature_nobody_gets_more() {
    let times = std::env::var("LEDGER_SCHEDULES").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    let mut told = [0; 4];
    for seed in 0..times {
        schedule(seed, &mut told);
    }
    let [unsigned, signed, asked, refused] = told;
    println!(
        "{times} schedules: {unsigned} unsigned and {signed} signed policies, {asked} questions and {refused} refused"
    );
    assert!(told.iter().all(|n| u64::from(*n) > times / 20), "{told:?}");
}
