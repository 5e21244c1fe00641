//! From a plan to its rows: stored answers first, and for what is not stored the way that costs: charge, fetch, release.

use super::{Gateway, Planned, Session, finish};
use crate::answer::{Field, Notice, Outcome};
use crate::backend::{self, FetchRequest, FetchText, Param};
use crate::dp::{BigRatio, Charge, Entropy, Ratio, SecureRng, Share, Spec};
use crate::emit::fetch;
use crate::emit::print;
use crate::error::{ClientError, SqlState};
use crate::ledger::{Ledger, Payment, Question as Debit, Receipt};
use crate::plan::{self, Plan, Release};
use crate::policy::Policy;
use crate::release::{Exact, Noisy, perturb};
use crate::store::{self, Around, Known, Question, Served};
use num_traits::{ToPrimitive, Zero};
use sha2::{Digest, Sha256};
use std::time::Duration;

/// The releases of a plan, by their places: None where nothing private is read.
type Places = Vec<usize>;

impl Session {
    /// The rows of a planned statement.
    pub(super) async fn answer(
        &self,
        gateway: &Gateway,
        planned: Planned,
        fields: Vec<Field>,
        notices: &mut Vec<Notice>,
    ) -> Result<Outcome, ClientError> {
        let Planned { mut plan, mut constants, settings, snapped } = planned;
        if let Some(snapped) = snapped.filter(|_| self.settings.notices() && plan.charge.is_some()) {
            notices.push(snap_notice(&snapped, gateway));
        }
        if let Some(question) = plan.question.clone() {
            return self.ask_stream(gateway, &plan, &question, constants, fields, notices).await;
        }
        let noisy = match plan.charge.clone() {
            None => Vec::new(),
            Some(charge) => {
                gateway.suspended.check(&self.identity.user)?;
                self.released(gateway, &mut plan, &charge, &settings, notices).await?
            }
        };
        constants.own = self.own_rows(gateway, &plan.statement).await?;
        let (text, arrays) = print::finish(&plan, &gateway.policy, &constants);
        let params = finish::params(&plan, &noisy, &arrays)?;
        let formats: Vec<i16> = fields.iter().map(|f| f.format).collect();
        let rows = gateway
            .backend
            .query(&self.settings.backend(), &text.sql, &params, &formats)
            .await
            .map_err(backend::RelayError::into_finish_error)?;
        finish::same_types(&fields, &rows.fields)?;
        Ok(Outcome::Rows { fields, rows: rows.into_finish_stream(), verb: "SELECT", count: true })
    }

    /// Every release's answer, in the plan's order: those that are kept, and the others for their price.
    async fn released(
        &self,
        gateway: &Gateway,
        plan: &mut Plan,
        charge: &Charge,
        settings: &plan::Settings,
        notices: &mut Vec<Notice>,
    ) -> Result<Vec<Noisy>, ClientError> {
        let paying: Places = (0..plan.releases.len())
            .filter(|i| plan.releases.get(*i).is_some_and(|r| !r.is_domain_only()))
            .collect();
        let mut noisy = vec![Noisy { keys: Vec::new(), values: Vec::new(), rows: 0 }; plan.releases.len()];
        if !gateway.store.enabled() || !self.settings.cached() {
            let statement = statement_hash(plan, gateway);
            let order = Order { places: paying, charge, statement, release: None };
            return match self.pay(gateway, plan, order, notices).await? {
                Bought::Paid(paid) => {
                    place(&mut noisy, paid.answers);
                    Ok(noisy)
                }
                Bought::Kept | Bought::Wait => Err(ClientError::incident(
                    SqlState::INTERNAL,
                    "the statement could not be paid for",
                    &"the books keep a release that has no key",
                )),
            };
        }
        let selecting = paying.iter().filter_map(|i| plan.releases.get(*i)).filter(|r| !r.public_groups);
        let selecting = u128::try_from(selecting.count().max(1)).unwrap_or(u128::MAX);
        let (ledger, session) = (&gateway.ledger, self.settings.backend());
        let epoch = gateway.store.epoch(ledger).await.map_err(|r| r.client())?;
        let around = Around {
            policy: &gateway.policy,
            epoch: &epoch,
            role: self.identity.role.as_deref(),
            settings: &session,
            delta: &(settings.delta / Ratio::from_integer(selecting)),
            mechanism: settings.mechanism,
        };
        let questions: Vec<(usize, Question)> = paying
            .iter()
            .filter_map(|i| Some((*i, Question::new(plan.releases.get(*i)?, &around))))
            .collect();
        let mut waited = Waiting::default();
        loop {
            let looked = look(gateway, plan, &questions).await;
            if looked.missing.is_empty() {
                self.free(gateway, &questions, notices).await?;
                serve(plan, &mut noisy, looked.found);
                return Ok(noisy);
            }
            let key = looked.key();
            let Some(_lead) = gateway.store.turn(key).await else {
                // Somebody else paid for it, or failed to: look again.
                continue;
            };
            // Between the look and the turn it may have been stored.
            let missing = looked.missing.len();
            let looked = look(gateway, plan, &questions).await;
            if looked.missing.len() < missing {
                continue;
            }
            let charge = match looked.found.is_empty() {
                true => charge.clone(),
                false => rest(plan, &looked.missing, charge)?,
            };
            let order = Order {
                places: looked.missing.iter().map(|m| m.place).collect(),
                charge: &charge,
                statement: together_hash(&looked.missing),
                release: (!waited.unreadable && looked.storable()).then_some(key),
            };
            let paid = match self.pay(gateway, plan, order, notices).await? {
                Bought::Paid(paid) => paid,
                // Another proxy has it: look again, and where it cannot be read, pay without asking whether it is there.
                Bought::Kept => {
                    waited.unreadable = true;
                    continue;
                }
                Bought::Wait => {
                    waited.a_while().await;
                    continue;
                }
            };
            // Before anything can fail that comes later: what was paid for is kept.
            keep(gateway, plan, &looked.missing, key, &paid).await;
            place(&mut noisy, paid.answers);
            serve(plan, &mut noisy, looked.found);
            return Ok(noisy);
        }
    }

    /// Tells that nothing was spent, and notes it in the books.
    async fn free(
        &self,
        gateway: &Gateway,
        questions: &[(usize, Question)],
        notices: &mut Vec<Notice>,
    ) -> Result<(), ClientError> {
        if self.settings.notices() {
            notices.push(free_notice());
        }
        tracing::Span::current().record("epsilon", "0");
        let all = |key: fn(&Question) -> store::Key| {
            store::together(&questions.iter().map(|(_, q)| key(q)).collect::<Vec<_>>())
        };
        let (statement, release) = (all(|q| q.keys.statement), all(|q| q.keys.exact));
        gateway.ledger.reuse(&self.identity, statement, release).await.map_err(|r| r.client())
    }

    /// Charges for these releases, reads what is private, and perturbs it.
    async fn pay(
        &self,
        gateway: &Gateway,
        plan: &Plan,
        order: Order<'_>,
        notices: &mut Vec<Notice>,
    ) -> Result<Bought, ClientError> {
        let releases: Vec<(usize, &Release)> =
            order.places.iter().filter_map(|i| Some((*i, plan.releases.get(*i)?))).collect();
        // Printed before it is paid for: what cannot be printed costs nothing.
        let fetches = fetches(&releases, &gateway.policy)?;
        let text = gateway.policy.ledger_text.then(|| statement_text(&fetches));
        let fingerprint = gateway.fingerprints.of(&gateway.backend, &gateway.policy, &plan.tables).await?;
        // Up to the first private row: a database that is away, or was altered, must not cost anything.
        let request = FetchRequest {
            settings: self.settings.backend(),
            statements: fetches,
            fingerprint: Some(fingerprint),
            max_rows: gateway.policy.limits.max_result_groups,
        };
        let opened = gateway.backend.open(request).await.map_err(backend::FetchError::into_client_error)?;
        let debit = Debit {
            tables: Some(&plan.tables),
            release: order.release,
            text: text.as_deref(),
            ..Debit::new(&self.identity, order.statement, order.charge)
        };
        let receipt = match gateway.ledger.pay(debit).await.map_err(|r| r.client())? {
            Payment::Paid(receipt) => receipt,
            Payment::Kept(_) => return Ok(Bought::Kept),
            Payment::Wait => return Ok(Bought::Wait),
        };
        let entry = receipt.entry();
        // Until it is kept, others may wait for it.
        let owed = order.release.map(|key| Owed { ledger: gateway.ledger.clone(), entry, key });
        if self.settings.notices() {
            notices.push(price_notice(&receipt));
        }
        log_price(&receipt);
        let answers = opened.read().await.map_err(|e| {
            if matches!(e, backend::FetchError::Failed(_)) {
                gateway.suspended.failed(&self.identity.user);
            }
            e.into_client_error()
        })?;
        let mut parts = Vec::with_capacity(answers.len());
        for ((_, release), rows) in releases.iter().zip(&answers) {
            let exact = Exact::decode(rows, release.keys.len(), &release.spec).map_err(|e| e.client())?;
            parts.push((exact, &release.spec));
        }
        drop(answers);
        let mut rng = SecureRng::new().map_err(|e| no_entropy(&e))?;
        let noisy = perturb(parts, receipt, &mut rng).map_err(|e| e.client())?;
        let answers = releases.iter().map(|(i, _)| *i).zip(noisy).collect();
        Ok(Bought::Paid(Paid { answers, entry, _owed: owed }))
    }
}

/// What is to be paid for.
struct Order<'a> {
    /// Places of releases in the plan.
    places: Places,
    charge: &'a Charge,
    /// What the books call it.
    statement: [u8; 32],
    /// What others wait for it by, where it will be kept.
    release: Option<store::Key>,
}

/// What came of it.
enum Bought {
    Paid(Paid),
    /// Somebody stored it meanwhile.
    Kept,
    /// Somebody else has paid for it.
    Wait,
}

/// Answers that were paid for, by their places in the plan.
struct Paid {
    answers: Vec<(usize, Noisy)>,
    entry: i64,
    _owed: Option<Owed>,
}

/// A release that was paid for. When this goes, it is kept, or it never comes: then others who wait pay for themselves
/// (soundness rule 26), and need not wait until the payer's time is over.
struct Owed {
    ledger: Ledger,
    entry: i64,
    key: store::Key,
}

impl Drop for Owed {
    fn drop(&mut self) {
        let (ledger, entry, key) = (self.ledger.clone(), self.entry, self.key);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                // The books may be gone: then nobody waits.
                let _ = ledger.give_up(entry, key).await;
            });
        }
    }
}

/// Waiting for what another proxy pays for.
#[derive(Default)]
struct Waiting {
    times: u32,
    /// It is kept, and cannot be read here.
    unreadable: bool,
}

impl Waiting {
    /// Longer each time, up to a second.
    async fn a_while(&mut self) {
        let millis = 20u64 << self.times.min(6);
        self.times += 1;
        tokio::time::sleep(Duration::from_millis(millis.min(1_000))).await;
    }
}

/// A question without a stored answer.
struct Missing<'q> {
    /// Of its release in the plan.
    place: usize,
    question: &'q Question,
    /// Where its answer can be kept.
    shelf: Option<store::Key>,
}

/// Questions, with and without stored answers.
struct Looked<'q> {
    found: Vec<(usize, Served)>,
    missing: Vec<Missing<'q>>,
}

impl Looked<'_> {
    /// What a payment for all that is missing goes by.
    fn key(&self) -> store::Key {
        let key = |m: &Missing<'_>| m.shelf.unwrap_or(m.question.keys.exact);
        store::together(&self.missing.iter().map(key).collect::<Vec<_>>())
    }

    /// Whether all of it will be kept.
    fn storable(&self) -> bool {
        self.missing.iter().all(|m| m.shelf.is_some())
    }
}

async fn look<'q>(gateway: &Gateway, plan: &Plan, questions: &'q [(usize, Question)]) -> Looked<'q> {
    let mut looked = Looked { found: Vec::new(), missing: Vec::new() };
    for (place, question) in questions {
        let Some(release) = plan.releases.get(*place) else { continue };
        match gateway.store.find(&gateway.ledger, question, release).await {
            Known::Answer(served) => looked.found.push((*place, *served)),
            Known::Nothing(shelf) => looked.missing.push(Missing { place: *place, question, shelf }),
        }
    }
    looked
}

/// Keeps what was paid for.
async fn keep(gateway: &Gateway, plan: &Plan, missing: &[Missing<'_>], key: store::Key, paid: &Paid) {
    let (store, ledger) = (&gateway.store, &gateway.ledger);
    for (m, (i, answer)) in missing.iter().zip(&paid.answers) {
        if let (Some(release), Some(shelf)) = (plan.releases.get(*i), m.shelf) {
            store.keep(ledger, paid.entry, shelf, m.question, release, answer).await;
        }
    }
    if missing.len() > 1 {
        store.keep_several(ledger, paid.entry, key).await;
    }
}

/// Puts answers in their places.
fn place(noisy: &mut [Noisy], answers: Vec<(usize, Noisy)>) {
    for (i, answer) in answers {
        if let Some(slot) = noisy.get_mut(i) {
            *slot = answer;
        }
    }
}

/// Puts stored answers in their places, and makes their releases what was stored.
fn serve(plan: &mut Plan, noisy: &mut [Noisy], found: Vec<(usize, Served)>) {
    for (i, served) in found {
        if let (Some(slot), Some(release)) = (noisy.get_mut(i), plan.releases.get_mut(i)) {
            served.become_of(release);
            *slot = served.noisy;
        }
    }
}

/// The charge for a part of a statement's releases: their own events, under the least name that pays for them.
///
/// Each release keeps the noise that it has within the whole statement, so that the rest costs no more than the rest.
fn rest(plan: &Plan, missing: &[Missing<'_>], whole: &Charge) -> Result<Charge, ClientError> {
    let specs: Vec<Spec> =
        missing.iter().filter_map(|m| plan.releases.get(m.place)).map(|r| r.spec.clone()).collect();
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

/// The fetch of each release, with a secret seed where one is needed.
pub(super) fn fetches(
    releases: &[(usize, &Release)],
    policy: &Policy,
) -> Result<Vec<FetchText>, ClientError> {
    let mut rng = SecureRng::new().map_err(|e| no_entropy(&e))?;
    let mut seed = || rng.next_u64().map(u64::cast_signed).map_err(|e| no_entropy(&e));
    releases
        .iter()
        .map(|(_, r)| {
            let text = fetch::fetch(r, policy);
            let params = if text.seeded { vec![Param::int8(seed()?)] } else { Vec::new() };
            Ok(FetchText { sql: text.sql, params })
        })
        .collect()
}

pub(super) fn no_entropy(e: &dyn std::fmt::Display) -> ClientError {
    ClientError::incident(SqlState::INTERNAL, "no randomness is available", e)
}

/// A statement's identity in the books: a hash of what is fetched.
fn statement_hash(plan: &Plan, gateway: &Gateway) -> [u8; 32] {
    let mut hash = Sha256::new();
    for r in plan.releases.iter().filter(|r| !r.is_domain_only()) {
        let sql = fetch::fetch(r, &gateway.policy).sql;
        hash.update(sql.len().to_be_bytes());
        hash.update(sql.as_bytes());
    }
    hash.finalize().into()
}

/// What the books say of a statement where the policy wants its text.
pub(super) fn statement_text(fetches: &[FetchText]) -> String {
    fetches.iter().map(|f| f.sql.as_str()).collect::<Vec<_>>().join(";\n")
}

/// A statement's identity in the books, of releases in canonical form.
fn together_hash(missing: &[Missing<'_>]) -> [u8; 32] {
    let statements: Vec<store::Key> = missing.iter().map(|m| m.question.keys.statement).collect();
    store::together(&statements)
}

/// The price and the entry of the books, for the event that the frontend writes.
pub(super) fn log_price(receipt: &Receipt) {
    let epsilon = plan::explain::decimal(&receipt.charge().epsilon);
    tracing::Span::current().record("epsilon", epsilon.as_str()).record("entry", receipt.entry());
}

/// What the statement cost and what is left, in one line.
pub(super) fn price_notice(receipt: &Receipt) -> Notice {
    let charge = receipt.charge();
    let left: Vec<String> = receipt
        .budgets()
        .iter()
        .map(|b| {
            let more = match b.fits(charge) {
                Ok(n) => format!(", {n} more like this"),
                Err(_) => String::new(),
            };
            format!("{} {:.1} % left{more}", b.budget.name, b.fraction_left() * 100.0)
        })
        .collect();
    let epsilon = plan::explain::decimal(&charge.epsilon);
    Notice { message: format!("charged epsilon {epsilon}; {}", left.join("; ")), code: "00000", hint: None }
}

/// What the statement's moving bounds were computed from.
fn snap_notice(snapped: &str, gateway: &Gateway) -> Notice {
    let every = gateway.policy.cache.snap.unwrap_or_default();
    let message = format!(
        "noisegate: now() was rounded down to {snapped} where private rows are compared with it (to multiples of {every:?})"
    );
    Notice { message, code: "00000", hint: None }
}

fn free_notice() -> Notice {
    Notice {
        message: "noisegate: answered from an earlier release, nothing was spent".into(),
        code: "00000",
        hint: None,
    }
}
