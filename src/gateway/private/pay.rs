//! Payment: charge, fetch, release. `Settlement → Paid → Fetched` are its steps, and no step can be
//! taken without the one before.

use super::private_groups::within;
use super::reads;
use crate::gateway::Gateway;
use crate::gateway::session::ask::Ask;
use crate::gateway::tell::price::{log_price, no_entropy, statement_text};
use crate::store::{self, Question};
use answer::{ClientError, Identity, SqlState};
use backend::{self, FetchText, Hints, Keeps, Opened, Param, Sieve};
use dp::{Charge, Entropy, SecureRng};
use emit::fetch;
use kernel::Certified;
use ledger::{BudgetState, Ledger, Payment, Question as Debit, ReadPlace, Receipt, Refusal};
use plan::{self, Plan, Release};
use price::{Proof, Proven};
use record::Stage;
use release::arriving::{self, Arrived, Arriving};
use release::within::{Groups, Within};
use release::{Exact, Noisy, perturb};
use std::sync::Arc;
use tracing::Instrument;

impl Ask<'_> {
    /// Charges for these releases, reads private rows, perturbs the answers and keeps them.
    ///
    /// Until the charge is asked for, dropping the future costs nothing. From then on the rest is
    /// done whether or not somebody still waits for it: a client that cancels has paid, and finds
    /// the answer when it asks the same again.
    pub async fn pay(&self, plan: &Plan, mut order: Order) -> Result<Purchase, ClientError> {
        let gateway = self.gateway;
        let releases: Vec<(usize, &Release)> =
            order.places.iter().filter_map(|i| Some((*i, plan.releases.get(*i)?))).collect();
        // Printed and certified before it is paid for: what cannot be costs nothing.
        let fetches = fetches(gateway, &releases, true, &order.given, &order.without)?;
        reads_only(&fetches, &plan.tables)?;
        let certified: Vec<_> = fetches.iter().map(|f| f.certified.clone()).collect();
        // What is booked follows from what was proven of these texts, and not from what was planned.
        let proofs = certified.iter().map(|c| Proof::from(&**c)).zip(releases.iter().map(|(_, r)| &r.spec));
        let charge = Proven::of(&order.charge.epsilon, &proofs.collect::<Vec<_>>()).map_err(|e| {
            ClientError::incident(SqlState::INTERNAL, "the statement could not be priced", &e)
        })?;
        let text = gateway.policy.ledger_text.then(|| statement_text(&fetches));
        let fingerprint = gateway.fingerprints.of(&gateway.backend, &gateway.policy, &plan.tables).await?;
        let opened = reads::opened(gateway, &plan.tables, fetches, fingerprint).await?;
        let parts = releases.into_iter().zip(certified).zip(std::mem::take(&mut order.groups));
        let part = |(((place, release), certified), groups): (((usize, &Release), _), Option<Groups>)| Part {
            place,
            release: release.clone(),
            certified,
            within: groups.and_then(|groups| within(release, groups)),
        };
        let payment = Settlement {
            gateway: gateway.clone(),
            who: self.identity.clone(),
            tables: plan.tables.clone(),
            order,
            charge,
            text,
            parts: parts.map(part).collect(),
            opened,
        };
        let settled =
            tokio::spawn(record::inherited(payment.settle().in_current_span())).await.map_err(|e| {
                ClientError::incident(SqlState::INTERNAL, "the statement could not be answered", &e)
            })??;
        Ok(match settled {
            Settled::Paid(bought) => Purchase::Paid(bought),
            Settled::Kept => Purchase::Kept,
            Settled::Wait => Purchase::Wait,
            Settled::Full => Purchase::Full,
            Settled::Exhausted(refusal) => return Err(self.exhausted(plan, &refusal).await),
        })
    }
}

/// A payment that is ready: releases that can be read as soon as their charge is debited.
struct Settlement {
    gateway: Arc<Gateway>,
    who: Identity,
    tables: Vec<usize>,
    order: Order,
    charge: Proven,
    text: Option<String>,
    parts: Vec<Part>,
    opened: Opened,
}

/// A release that is to be read.
struct Part {
    /// Place in the plan.
    place: usize,
    release: Release,
    certified: Arc<Certified>,
    within: Option<Within>,
}

/// For each part what decides about its rows as they come, where its groups are private, and what that leaves.
fn sieves(parts: &[Part], receipt: &mut Receipt) -> Result<Vec<(Option<Sieve>, Arrived)>, ClientError> {
    let each = parts.iter().map(|part| arriving::Part {
        proof: Proof::from(&*part.certified),
        spec: &part.release.spec,
        groups: part.within.as_ref().map(|within| &within.groups),
        keys: part.release.group_keys().len(),
    });
    let each = arriving::arriving(&each.collect::<Vec<_>>(), receipt).map_err(|e| e.client())?;
    let sieve = |mut arriving: Arriving| -> Sieve {
        let limited = arriving.selects();
        let keeps: Keeps = Box::new(move |row| arriving.keeps(row).map_err(|e| e.to_string()));
        Sieve { keeps, limited }
    };
    Ok(each.into_iter().map(|(arriving, arrived)| (arriving.map(sieve), arrived)).collect())
}

/// Outcome of a settlement.
enum Settled {
    Paid(Answered),
    Kept,
    Wait,
    Full,
    /// Nothing was charged.
    Exhausted(Refusal),
}

impl Settlement {
    async fn settle(self) -> Result<Settled, ClientError> {
        let booking = record::step(Stage::Ledger);
        let paid = match self.debit().await? {
            Ok(paid) => paid,
            Err(unpaid) => return Ok(unpaid),
        };
        drop(booking);
        let fetching = record::step(Stage::Fetch);
        let fetched = paid.fetch().await?;
        drop(fetching);
        let _perturbing = record::step(Stage::Noise);
        fetched.release().await
    }

    /// Debits the charge; nothing of it where that is not to be.
    async fn debit(self) -> Result<Result<Paid, Settled>, ClientError> {
        let Self { gateway, who, tables, order, charge, text, parts, opened } = self;
        let release = order.keeping.as_ref().filter(|k| k.awaited).map(|k| k.key);
        let debit = Debit {
            tables: Some(&tables),
            release,
            read: Some(gateway.read_terms()),
            text: text.as_deref(),
            ..Debit::new(&who, order.statement, &charge)
        };
        let mut receipt = match gateway.ledger.pay(debit).await {
            Ok(Payment::Paid(receipt)) => receipt,
            Ok(Payment::Kept(_)) => return Ok(Err(Settled::Kept)),
            Ok(Payment::Wait) => return Ok(Err(Settled::Wait)),
            Ok(Payment::Full) => return Ok(Err(Settled::Full)),
            Err(refusal @ Refusal::Exhausted(_)) => return Ok(Err(Settled::Exhausted(refusal))),
            Err(refusal) => return Err(refusal.client()),
        };
        // Until it is kept, others may wait for it.
        let owed = release.map(|key| Owed {
            ledger: gateway.ledger.clone(),
            entry: receipt.entry(),
            key,
            kept: false,
        });
        log_price(&receipt);
        let place = receipt.take_read().ok_or_else(uncounted)?;
        let bought = Bought { gateway, who, order, parts, place, owed };
        Ok(Ok(Paid { bought, tables, opened, receipt }))
    }
}

/// Parts of a settlement that the steps after its debit need.
struct Bought {
    gateway: Arc<Gateway>,
    who: Identity,
    order: Order,
    parts: Vec<Part>,
    /// The place of the read among its user's.
    place: ReadPlace,
    owed: Option<Owed>,
}

/// Releases whose charge is on disk, with fetches that are open and were not read.
struct Paid {
    bought: Bought,
    tables: Vec<usize>,
    opened: Opened,
    receipt: Receipt,
}

impl Paid {
    /// Reads private rows. A read that fails is counted.
    async fn fetch(self) -> Result<Fetched, ClientError> {
        let Self { mut bought, tables, opened, mut receipt } = self;
        let Bought { gateway, parts, place, .. } = &mut bought;
        let (sieves, arrived): (Vec<_>, Vec<_>) = sieves(parts, &mut receipt)?.into_iter().unzip();
        let answers = reads::counted(gateway, &tables, opened, sieves, place).await?;
        let mut exact = Vec::with_capacity(answers.len());
        for ((part, rows), arrived) in parts.iter_mut().zip(&answers).zip(arrived) {
            let decoded = Exact::decode(rows, &part.certified, &part.release.spec, true);
            exact.push(arrived.of(decoded.map_err(|e| e.client())?).within(part.within.take()));
        }
        Ok(Fetched { bought, receipt, exact })
    }
}

/// Exact answers, with the receipt of their charge.
struct Fetched {
    bought: Bought,
    receipt: Receipt,
    exact: Vec<Exact>,
}

impl Fetched {
    /// Perturbs exact answers against their receipt, and keeps the noisy ones.
    async fn release(self) -> Result<Settled, ClientError> {
        let Self { bought, receipt, exact } = self;
        let Bought { gateway, who, order, parts, mut owed, mut place } = bought;
        drop(order.turn);
        // Held until the answer is kept: others wait for it as long as its read is under way.
        place.never_failed();
        let (entry, budgets) = (receipt.entry(), receipt.budgets().to_vec());
        let mut rng = SecureRng::new().map_err(|e| no_entropy(&e))?;
        let exact = exact.into_iter().zip(&parts).map(|(exact, part)| (exact, &part.release.spec));
        let noisy = perturb(exact.collect(), receipt, &mut rng).map_err(|e| e.client())?;
        // Before anything can fail that comes later: what was paid for is kept.
        let keep = async {
            if let Some(keeping) = order.keeping {
                keeping.keep(&gateway, entry, &parts, &noisy).await;
            }
        };
        let (store, ledger) = (&gateway.store, &gateway.ledger);
        tokio::join!(keep, store.remember(ledger, entry, &who.user, &order.statement, &order.text));
        place.ended_well();
        if let Some(owed) = &mut owed {
            owed.kept = true;
        }
        let answers = parts.iter().map(|p| p.place).zip(noisy).collect();
        Ok(Settled::Paid(Answered { answers, budgets, entry }))
    }
}

/// A place in the store for one answer.
pub struct Kept {
    /// The question that the answer is of.
    pub question: Arc<Question>,
    /// The place; None when the books have none for it.
    pub place: Option<store::Key>,
    /// Index, among the answers that are paid for, of the one that selects the groups.
    pub selected_by: Option<usize>,
}

/// Places in the store for the answers of a payment.
pub struct Keeping {
    /// Key of the payment.
    pub key: store::Key,
    /// Other sessions wait for the payment.
    pub awaited: bool,
    /// The place of each answer.
    pub questions: Vec<Kept>,
    /// The right to pay for it; others of this process wait for its end.
    pub lead: store::Lead,
}

impl Keeping {
    async fn keep(self, gateway: &Gateway, entry: i64, parts: &[Part], noisy: &[Noisy]) {
        let Self { key, questions, lead, .. } = self;
        let (store, ledger) = (&gateway.store, &gateway.ledger);
        for (kept, (part, answer)) in questions.iter().zip(parts.iter().zip(noisy)) {
            let (mut question, mut place) = (kept.question.clone(), kept.place);
            if let (None, Some(groups)) = (place, kept.selected_by.and_then(|first| noisy.get(first))) {
                // Its place is taken by the answer for groups that were selected another time.
                question = Arc::new(question.in_groups(&groups.keys));
                place = store.place(ledger, &question).await;
            }
            if let Some(place) = place {
                store.keep(ledger, entry, place, &question, &part.release, answer).await;
            }
        }
        if questions.len() > 1 {
            store.keep_several(ledger, entry, key).await;
        }
        drop(lead);
    }
}

/// A read without a place among its user's reads.
fn uncounted() -> ClientError {
    let cause = "the books reserved no place for the read";
    ClientError::incident(SqlState::INTERNAL, "the statement could not be read", &cause)
}

/// An order for releases: the input of a payment.
pub struct Order {
    /// Places of releases in the plan.
    pub places: Vec<usize>,
    /// The price that was proposed.
    pub charge: Charge,
    /// For each place, in which groups it is released, where these are private and another selects them.
    pub groups: Vec<Option<Groups>>,
    /// Name of the statement in the books.
    pub statement: [u8; 32],
    /// Text of the statement, as its user wrote it.
    pub text: Arc<str>,
    /// Places in the store; None when answers are not kept.
    pub keeping: Option<Keeping>,
    /// A place in the queue of the user's reads, until they are done.
    pub turn: Arc<reads::Permit>,
    /// The values of the stages before.
    pub given: Vec<Param>,
    /// For each place, the groups that rounds before it have selected.
    pub without: Vec<Vec<Param>>,
}

/// Answers that were paid for.
pub struct Answered {
    /// Answers, by their places in the plan.
    pub answers: Vec<(usize, Noisy)>,
    /// Budgets after the payment.
    pub budgets: Vec<BudgetState>,
    /// Number of the ledger's entry.
    pub entry: i64,
}

/// Outcome of an order.
pub enum Purchase {
    /// Answers that were paid for.
    Paid(Answered),
    /// Somebody stored it meanwhile.
    Kept,
    /// Somebody else has paid for it.
    Wait,
    /// As many reads of the user are under way as may still fail.
    Full,
}

/// A release that was paid for. If this goes before it is kept, it never comes: others who wait pay for themselves
/// (soundness rule 26), and need not wait until the payer's time is over.
struct Owed {
    ledger: Ledger,
    entry: i64,
    key: store::Key,
    kept: bool,
}

impl Drop for Owed {
    fn drop(&mut self) {
        let (ledger, entry, key) = (self.ledger.clone(), self.entry, self.key);
        if let (false, Ok(runtime)) = (self.kept, tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move {
                // The books may be gone: then nobody waits.
                let _ = ledger.give_up(entry, key).await;
            });
        }
    }
}

/// Checks that texts read no tables but these, by which budgets are chosen and schemas compared
/// (soundness rule 49).
///
/// # Errors
/// An incident: planner and kernel disagree.
pub fn reads_only(fetches: &[FetchText], tables: &[usize]) -> Result<(), ClientError> {
    let unnamed = |f: &FetchText| f.certified.tables.iter().find(|t| !tables.contains(t)).copied();
    match fetches.iter().find_map(unnamed) {
        None => Ok(()),
        Some(table) => {
            let m = "the statement was not certified, and so it was not run";
            Err(ClientError::incident(
                SqlState::INTERNAL,
                m,
                &format!("it reads table {table}, which its plan leaves out"),
            ))
        }
    }
}

/// The fetch of each release, certified, with a secret seed where one is needed. `groups`: how many groups a unit touches
/// matters. `given`: the values of the stages before, which follow the seed. `without`: of each release, the groups that it leaves out,
/// which follow these.
pub fn fetches(
    gateway: &Gateway,
    releases: &[(usize, &Release)],
    groups: bool,
    given: &[Param],
    without: &[Vec<Param>],
) -> Result<Vec<FetchText>, ClientError> {
    let policy = &gateway.policy;
    let mut rng = SecureRng::new().map_err(|e| no_entropy(&e))?;
    let mut seed = || rng.next_u64().map(u64::cast_signed).map_err(|e| no_entropy(&e));
    releases
        .iter()
        .enumerate()
        .map(|(i, (_, r))| {
            let text = fetch::fetch(r, policy);
            let certified = gateway.known.certificates.of(r, text.sql, policy, groups)?;
            let mut params = Vec::new();
            if certified.seeded || !r.given.is_empty() {
                params.push(Param::int8(seed()?));
            }
            params.extend(given.iter().take(r.given_width()).cloned());
            params.extend(without.get(i).into_iter().flatten().cloned());
            let hints = Hints { hashed: r.joins_without_index(), joined: r.joins_tables() };
            Ok(FetchText { certified, params, hints })
        })
        .collect()
}
