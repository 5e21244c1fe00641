//! What costs: charge, fetch, release.

use super::price::{log_price, no_entropy, price_notice, statement_text};
use super::private_groups::points_within;
use super::reads;
use super::{Gateway, Session};
use crate::store::{self, Question};
use answer::{ClientError, Identity, Notice, SqlState};
use backend::{self, FetchRequest, FetchText, Opened, Param};
use dp::{BigRatio, Charge, Entropy, Ratio, SecureRng, Share, Spec};
use emit::fetch;
use kernel::Certified;
use ledger::{Ledger, Payment, Question as Debit, Refusal};
use num_traits::{ToPrimitive, Zero};
use plan::{self, Plan, Release};
use release::points::{Groups, Within};
use release::{Exact, Noisy, perturb};
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;
use tracing::Instrument;

impl Session {
    /// Charges for these releases, reads what is private, perturbs it and keeps it.
    ///
    /// Until the charge is asked for, dropping the future costs nothing. From then on the rest is done whether or not
    /// somebody still waits for it: whoever cancels has paid, and finds the answer when the same is asked again.
    pub(super) async fn pay(
        &self,
        gateway: &Arc<Gateway>,
        plan: &Plan,
        mut order: Order,
        notices: &mut Vec<Notice>,
    ) -> Result<Purchase, ClientError> {
        let releases: Vec<(usize, &Release)> =
            order.places.iter().filter_map(|i| Some((*i, plan.releases.get(*i)?))).collect();
        // Printed and certified before it is paid for: what cannot be costs nothing.
        let fetches = fetches(gateway, &releases, true)?;
        let certified: Vec<_> = fetches.iter().map(|f| f.certified.clone()).collect();
        let text = gateway.policy.ledger_text.then(|| statement_text(&fetches));
        let fingerprint = gateway.fingerprints.of(&gateway.backend, &gateway.policy, &plan.tables).await?;
        // Up to the first private row: a database that is away, or was altered, must not cost anything.
        let request = FetchRequest {
            settings: self.settings.backend(),
            statements: fetches,
            fingerprint: Some(fingerprint),
            max_rows: gateway.policy.limits.max_result_groups,
        };
        let opened = match gateway.backend.open(request).await {
            Ok(opened) => opened,
            Err(e) => {
                let (backend, policy) = (&gateway.backend, &gateway.policy);
                return Err(gateway.fingerprints.told(backend, policy, &plan.tables, e).await);
            }
        };
        let parts = releases.into_iter().zip(certified).zip(std::mem::take(&mut order.groups));
        let part = |(((place, release), certified), groups): (((usize, &Release), _), Option<Groups>)| Part {
            place,
            release: release.clone(),
            certified,
            within: groups.and_then(|groups| points_within(release, groups)),
        };
        let payment = Settlement {
            gateway: gateway.clone(),
            who: self.identity.clone(),
            tables: plan.tables.clone(),
            order,
            text,
            parts: parts.map(part).collect(),
            opened,
        };
        let settled = tokio::spawn(payment.settle().in_current_span()).await.map_err(|e| {
            ClientError::incident(SqlState::INTERNAL, "the statement could not be answered", &e)
        })??;
        Ok(match settled {
            Settled::Paid(answers, notice) => {
                if self.settings.notices() {
                    notices.push(notice);
                }
                Purchase::Paid(answers)
            }
            Settled::Kept => Purchase::Kept,
            Settled::Wait => Purchase::Wait,
            Settled::Full => Purchase::Full,
            Settled::Exhausted(refusal) => return Err(self.exhausted(gateway, plan, &refusal).await),
        })
    }
}

/// All that it takes to pay for releases that are ready to be read, to read them, and to keep what comes of it.
struct Settlement {
    gateway: Arc<Gateway>,
    who: Identity,
    tables: Vec<usize>,
    order: Order,
    text: Option<String>,
    parts: Vec<Part>,
    opened: Opened,
}

/// A release that is to be read.
struct Part {
    /// Its place in the plan.
    place: usize,
    release: Release,
    certified: Arc<Certified>,
    within: Option<Within>,
}

/// What came of a settlement.
enum Settled {
    Paid(Vec<(usize, Noisy)>, Notice),
    Kept,
    Wait,
    Full,
    /// Nothing was charged.
    Exhausted(Refusal),
}

impl Settlement {
    async fn settle(self) -> Result<Settled, ClientError> {
        let Self { gateway, who, tables, order, text, mut parts, opened } = self;
        let release = order.keeping.as_ref().filter(|k| k.awaited).map(|k| k.key);
        let debit = Debit {
            tables: Some(&tables),
            release,
            read: Some(gateway.read_terms()),
            text: text.as_deref(),
            ..Debit::new(&who, order.statement, &order.charge)
        };
        let mut receipt = match gateway.ledger.pay(debit).await {
            Ok(Payment::Paid(receipt)) => receipt,
            Ok(Payment::Kept(_)) => return Ok(Settled::Kept),
            Ok(Payment::Wait) => return Ok(Settled::Wait),
            Ok(Payment::Full) => return Ok(Settled::Full),
            Err(refusal @ Refusal::Exhausted(_)) => return Ok(Settled::Exhausted(refusal)),
            Err(refusal) => return Err(refusal.client()),
        };
        let entry = receipt.entry();
        // Until it is kept, others may wait for it.
        let mut owed = release.map(|key| Owed { ledger: gateway.ledger.clone(), entry, key, kept: false });
        let notice = price_notice(&receipt);
        log_price(&receipt);
        let mut place = receipt.take_read().ok_or_else(uncounted)?;
        let answers = reads::counted(&gateway, &tables, opened, &mut place).await?;
        let mut exact = Vec::with_capacity(answers.len());
        for (part, rows) in parts.iter_mut().zip(&answers) {
            let (spec, within) = (&part.release.spec, part.within.take());
            let decoded = Exact::decode(rows, &part.certified, spec, true).map_err(|e| e.client())?;
            exact.push((decoded.within(within), spec));
        }
        drop(answers);
        drop(order.turn);
        // Held until the answer is kept: others wait for it as long as its read is under way.
        place.never_failed();
        let mut rng = SecureRng::new().map_err(|e| no_entropy(&e))?;
        let noisy = perturb(exact, receipt, &mut rng).map_err(|e| e.client())?;
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
        Ok(Settled::Paid(parts.iter().map(|p| p.place).zip(noisy).collect(), notice))
    }
}

/// Where answers are kept.
pub(super) struct Keeping {
    /// What the payment is known by.
    pub key: store::Key,
    /// Others wait for it.
    pub awaited: bool,
    /// The question of each place, and where its answer can be kept.
    pub questions: Vec<(Arc<Question>, Option<store::Key>)>,
    /// The right to pay for it; others of this process wait for its end.
    pub lead: store::Lead,
}

impl Keeping {
    async fn keep(self, gateway: &Gateway, entry: i64, parts: &[Part], noisy: &[Noisy]) {
        let Self { key, questions, lead, .. } = self;
        let (store, ledger) = (&gateway.store, &gateway.ledger);
        for ((question, place), (part, answer)) in questions.iter().zip(parts.iter().zip(noisy)) {
            if let Some(place) = *place {
                store.keep(ledger, entry, place, question, &part.release, answer).await;
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

/// What is to be paid for.
pub(super) struct Order {
    /// Places of releases in the plan.
    pub places: Vec<usize>,
    pub charge: Charge,
    /// For each place, in which groups points are chosen, where these are private.
    pub groups: Vec<Option<Groups>>,
    /// What the books call it.
    pub statement: [u8; 32],
    /// What its user wrote.
    pub text: Arc<str>,
    /// None where answers are not kept.
    pub keeping: Option<Keeping>,
    /// Its place in the queue of the user's reads, until it is read.
    pub turn: Arc<OwnedSemaphorePermit>,
}

/// What came of it.
pub(super) enum Purchase {
    /// Answers that were paid for, by their places in the plan.
    Paid(Vec<(usize, Noisy)>),
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

/// The charge for a part of a statement's releases: their own events, under the least name that pays for them.
///
/// Each release keeps the noise that it has within the whole statement, so that the rest costs no more than the rest.
pub(super) fn rest(plan: &Plan, places: &[usize], whole: &Charge) -> Result<Charge, ClientError> {
    let specs: Vec<Spec> =
        places.iter().filter_map(|i| plan.releases.get(*i)).map(|r| r.spec.clone()).collect();
    let named = name(&specs).and_then(|epsilon| Charge::of(&epsilon, &specs).ok());
    match named {
        Some(charge) if charge.epsilon < whole.epsilon => Ok(charge),
        _ => Charge::of(&whole.epsilon, &specs)
            .map_err(|e| ClientError::incident(SqlState::INTERNAL, "the statement could not be priced", &e)),
    }
}

/// The ε that names the price of these releases: exact for Laplace noise, rounded up to millionths else.
fn name(specs: &[Spec]) -> Option<Ratio> {
    let (mut pure, mut squares) = (BigRatio::zero(), BigRatio::zero());
    for event in specs.iter().flat_map(Spec::events) {
        match event.share()? {
            Share::Epsilon(e) => pure += e,
            Share::Square(e) => squares += e,
        }
    }
    if squares.is_zero() {
        return Some(Ratio::new(pure.numer().to_u128()?, pure.denom().to_u128()?));
    }
    let square = &pure * &pure + squares;
    let root = (square.numer().to_f64()? / square.denom().to_f64()?).sqrt();
    let millionths = (root * 1e6).ceil() + 1.0;
    // Too large a number, or none.
    (millionths < 1e15).then(|| Ratio::new(millionths as u128, 1_000_000))
}

/// The fetch of each release, certified, with a secret seed where one is needed. `groups`: how many groups a unit touches
/// matters.
pub(super) fn fetches(
    gateway: &Gateway,
    releases: &[(usize, &Release)],
    groups: bool,
) -> Result<Vec<FetchText>, ClientError> {
    let policy = &gateway.policy;
    let mut rng = SecureRng::new().map_err(|e| no_entropy(&e))?;
    let mut seed = || rng.next_u64().map(u64::cast_signed).map_err(|e| no_entropy(&e));
    releases
        .iter()
        .map(|(_, r)| {
            let text = fetch::fetch(r, policy);
            let certified = gateway.certificates.of(r, text.sql, policy, groups)?;
            let params = if certified.seeded() { vec![Param::int8(seed()?)] } else { Vec::new() };
            Ok(FetchText { certified, params })
        })
        .collect()
}
