//! Two proxies on one ledger: each has books of its own, takes what the other wrote with each batch, and loses commits,
//! some of which are there all the same.

use super::*;
use crate::log::PrivateRead;
use policy::LedgerDatabase;
use std::sync::Condvar;

#[derive(Clone, Default)]
struct State {
    rows: Vec<Row>,
    shelf: HashMap<[u8; 32], Kept>,
    reads: Vec<PrivateRead>,
}

#[derive(Default)]
struct Server {
    /// None while a batch has the lock.
    state: Mutex<Option<State>>,
    free: Condvar,
    failed: Mutex<u32>,
}

/// A store in memory, as a database is one: whoever has the lock is alone.
struct Shared {
    server: Arc<Server>,
    tip: Tip,
    /// Before the batch, and with it.
    batch: Option<(State, State)>,
    clock: i64,
    dice: Dice,
}

fn end(rows: &[Row]) -> Tip {
    rows.last().map_or(Tip::START, |row| Tip { id: row.id, hash: row.hash })
}

impl Shared {
    fn new(server: &Arc<Server>, dice: Dice) -> Self {
        Self { server: server.clone(), tip: Tip::START, batch: None, clock: crate::time::clock(), dice }
    }

    fn take(&self) -> State {
        let mut state = self.server.state.lock().unwrap();
        loop {
            match state.take() {
                Some(state) => return state,
                None => state = self.server.free.wait(state).unwrap(),
            }
        }
    }

    fn give(&self, state: State) {
        *self.server.state.lock().unwrap() = Some(state);
        self.server.free.notify_one();
    }

    fn open(&mut self) -> Result<&mut State, LedgerError> {
        self.batch.as_mut().map(|(_, state)| state).ok_or(LedgerError::NoBatch)
    }
}

impl Log for Shared {
    fn replay(&mut self, visit: Visit<'_>) -> Result<Tip, LedgerError> {
        let state = self.take();
        self.give(state.clone());
        state.rows.iter().try_for_each(visit)?;
        self.tip = end(&state.rows);
        Ok(self.tip)
    }

    fn begin(&mut self, after: i64) -> Result<Begun, LedgerError> {
        self.abandon();
        let state = self.take();
        assert!(self.tip.id == 0 || state.rows[self.tip.id as usize - 1].hash == self.tip.hash);
        self.tip = end(&state.rows);
        self.clock += self.dice.below(1000) as i64;
        let rows = state.rows[after as usize..].to_vec();
        let begun = Begun { rows, now: self.clock, reads: state.reads.clone() };
        self.batch = Some((state.clone(), state));
        Ok(begun)
    }

    fn append(&mut self, body: String) -> Result<Row, LedgerError> {
        let rows = &mut self.open()?.rows;
        let row = end(rows).next(body);
        rows.push(row.clone());
        Ok(row)
    }

    fn note(&mut self, change: ReadChange) -> Result<(), LedgerError> {
        reads::apply(&mut self.open()?.reads, &change);
        Ok(())
    }

    fn relax(&mut self, _: bool) {}

    fn commit(&mut self) -> Result<(), LedgerError> {
        let (before, with) = self.batch.take().ok_or(LedgerError::NoBatch)?;
        let fate = self.dice.below(8);
        let tip = end(&with.rows);
        self.give(if fate == 0 { before } else { with });
        if fate < 2 {
            *self.server.failed.lock().unwrap() += 1;
            return Err(failed());
        }
        self.tip = tip;
        Ok(())
    }

    fn abandon(&mut self) {
        if let Some((before, _)) = self.batch.take() {
            self.give(before);
        }
    }

    fn in_place(&self) -> bool {
        true
    }

    fn tip(&self) -> Tip {
        self.tip
    }
}

impl Shelf for Shared {
    fn put(&mut self, key: &[u8; 32], entry: i64, epoch: i64, bytes: Vec<u8>) -> Result<(), LedgerError> {
        self.open()?.shelf.entry(*key).or_insert(Kept { entry, epoch, bytes });
        Ok(())
    }

    fn get(&mut self, key: &[u8; 32]) -> Result<Option<Kept>, LedgerError> {
        if let Ok(state) = self.open() {
            return Ok(state.shelf.get(key).cloned());
        }
        let state = self.take();
        let kept = state.shelf.get(key).cloned();
        self.give(state);
        Ok(kept)
    }

    fn look(&mut self, _: &[[u8; 32]]) -> Result<(), LedgerError> {
        Ok(())
    }

    fn forget(&mut self, _: Forget) -> Result<u64, LedgerError> {
        Err(failed())
    }

    fn stored(&mut self) -> Result<u64, LedgerError> {
        Ok(0)
    }

    fn make_room(&mut self, _: u64) -> Result<u64, LedgerError> {
        Ok(0)
    }
}

/// What two proxies' clients were answered is in one chain, once, and never over a limit; and both books say so.
#[test]
fn two_proxies_that_share_and_lose_commits_never_answer_one_too_many() {
    let runtime = runtime();
    let mut failures = 0;
    for seed in 0..12 {
        let mut dice = Dice(seed);
        let server = Arc::new(Server::default());
        let opening = Opening { id: "00".into(), software: "test".into() };
        let at = crate::time::clock();
        let wanted = terms().check().unwrap();
        let first = [
            Entry::new(at, Body::Opening(opening)),
            Books::new().accept(&wanted, false, "owner", "created", at),
        ];
        let mut state = State::default();
        for entry in first {
            state.rows.push(end(&state.rows).next(entry.write().unwrap()));
        }
        *server.state.lock().unwrap() = Some(state);
        let folder = tempfile::tempdir().unwrap();
        let mut proxies = Vec::new();
        for name in ["one", "two"] {
            let location = LedgerLocation::Postgres(LedgerDatabase {
                url: Default::default(),
                password_file: None,
                schema: "books".into(),
                timeout: Duration::ZERO,
                mark: folder.path().join(name).into(),
            });
            let log = Box::new(Shared::new(&server, Dice(dice.next())));
            let keeper = Keeper::load(log, Mark::find(&location, true).unwrap(), &location).unwrap();
            let ledger = Ledger::start(keeper, wanted.clone(), terms().budgets()).unwrap();
            proxies.push(ledger.with_lease(Duration::from_millis(1)));
        }
        let mut known = Known::default();
        for _ in 0..8 {
            let tasks: Vec<_> = (0..8)
                .map(|n| (proxies[n % 2].clone(), format!("{n}"), Dice(dice.next())))
                .map(|(ledger, user, dice)| runtime.spawn(client(ledger, user, dice)))
                .collect();
            for task in tasks {
                let one = runtime.block_on(task).unwrap();
                for (entry, user) in one.paid {
                    assert!(known.paid.insert(entry, user).is_none(), "one entry paid twice");
                }
                known.unsure += one.unsure;
                known.kept.extend(one.kept);
            }
        }
        // Both say the same, and what the entries say.
        let who = Identity { user: "0".into(), role: None };
        let spent = proxies.iter().map(|proxy| {
            loop {
                if let Ok(states) = runtime.block_on(proxy.remaining(&who)) {
                    break states[0].reading().unwrap().0;
                }
            }
        });
        let spent: Vec<u128> = spent.collect();
        drop(proxies);
        let state = server.state.lock().unwrap().clone().unwrap();
        let mut users = HashMap::new();
        for row in &state.rows {
            if let Body::Debit(debit) = Entry::read(row.id, &row.body).unwrap().what {
                users.insert(row.id, debit.user);
            }
        }
        assert_eq!(spent, [users.len() as u128 * TENTH; 2]);
        assert!(users.len() as u128 <= EVERYONE);
        assert!(users.len() <= known.paid.len() + known.unsure);
        assert!(known.paid.iter().all(|(entry, user)| users.get(entry) == Some(user)));
        assert!(known.kept.keys().all(|key| state.shelf.contains_key(key)));
        failures += *server.failed.lock().unwrap();
    }
    assert!(failures > 12, "{failures} commits were lost");
}
