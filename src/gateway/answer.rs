//! From a plan to its rows: stored answers first, and for what is not stored the way that costs: charge, fetch, release.

use super::{Gateway, Planned, Session, finish};
use crate::answer::{Field, Notice, Outcome};
use crate::backend::{self, FetchRequest, FetchText, Param};
use crate::dp::{BigRatio, Charge, Entropy, Ratio, SecureRng, Share, Spec};
use crate::emit::fetch;
use crate::emit::print;
use crate::error::{ClientError, SqlState};
use crate::ledger::{self, Receipt};
use crate::plan::{self, Plan, Release};
use crate::policy::Policy;
use crate::release::{Exact, Noisy, perturb};
use crate::store::{self, Around, Question, Served};
use num_traits::{ToPrimitive, Zero};
use sha2::{Digest, Sha256};

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
            let paid =
                self.pay(gateway, plan, &paying, charge, statement_hash(plan, gateway), notices).await?;
            place(&mut noisy, paid);
            return Ok(noisy);
        }
        let selecting = paying.iter().filter_map(|i| plan.releases.get(*i)).filter(|r| !r.public_groups);
        let selecting = u128::try_from(selecting.count().max(1)).unwrap_or(u128::MAX);
        let (epoch, session) = (gateway.store.epoch(), self.settings.backend());
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
        loop {
            let (found, missing) = look(gateway, plan, &questions).await;
            if missing.is_empty() {
                if self.settings.notices() {
                    notices.push(free_notice());
                }
                tracing::Span::current().record("epsilon", "0");
                serve(plan, &mut noisy, found);
                return Ok(noisy);
            }
            let keys: Vec<store::Key> = missing.iter().map(|(_, q)| q.keys.exact).collect();
            let Some(_lead) = gateway.store.turn(store::together(&keys)).await else {
                // Somebody else paid for it, or failed to: look again.
                continue;
            };
            // Between the look and the turn it may have been stored.
            if look(gateway, plan, &questions).await.1.len() < missing.len() {
                continue;
            }
            let charge = match found.is_empty() {
                true => charge.clone(),
                false => rest(plan, &missing, charge)?,
            };
            let places: Places = missing.iter().map(|(i, _)| *i).collect();
            let hash = together_hash(&missing);
            let paid = self.pay(gateway, plan, &places, &charge, hash, notices).await?;
            // Before anything can fail that comes later: what was paid for is kept.
            for ((_, question), (i, answer)) in missing.iter().zip(&paid) {
                if let Some(release) = plan.releases.get(*i) {
                    gateway.store.keep(question, release, answer).await;
                }
            }
            place(&mut noisy, paid);
            serve(plan, &mut noisy, found);
            return Ok(noisy);
        }
    }

    /// Charges for these releases, reads what is private, and perturbs it.
    async fn pay(
        &self,
        gateway: &Gateway,
        plan: &Plan,
        places: &Places,
        charge: &Charge,
        statement: [u8; 32],
        notices: &mut Vec<Notice>,
    ) -> Result<Vec<(usize, Noisy)>, ClientError> {
        let releases: Vec<(usize, &Release)> =
            places.iter().filter_map(|i| Some((*i, plan.releases.get(*i)?))).collect();
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
        let (tables, text) = (Some(plan.tables.as_slice()), text.as_deref());
        let question =
            ledger::Question { tables, text, ..ledger::Question::new(&self.identity, statement, charge) };
        let receipt = gateway.ledger.receipt(question).await.map_err(|r| r.client())?;
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
        Ok(releases.iter().map(|(i, _)| *i).zip(noisy).collect())
    }
}

/// The answers that are kept, and the questions without one.
async fn look<'q>(
    gateway: &Gateway,
    plan: &Plan,
    questions: &'q [(usize, Question)],
) -> (Vec<(usize, Served)>, Vec<&'q (usize, Question)>) {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for asked in questions {
        let (i, question) = asked;
        let Some(release) = plan.releases.get(*i) else { continue };
        match gateway.store.find(question, release).await {
            Some(served) => found.push((*i, served)),
            None => missing.push(asked),
        }
    }
    (found, missing)
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
fn rest(plan: &Plan, missing: &[&(usize, Question)], whole: &Charge) -> Result<Charge, ClientError> {
    let specs: Vec<Spec> =
        missing.iter().filter_map(|(i, _)| plan.releases.get(*i)).map(|r| r.spec.clone()).collect();
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

/// What the books say of a statement where the policy wants its text.
pub(super) fn statement_text(fetches: &[FetchText]) -> String {
    fetches.iter().map(|f| f.sql.as_str()).collect::<Vec<_>>().join(";\n")
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

/// The same, of releases in canonical form.
fn together_hash(questions: &[&(usize, Question)]) -> [u8; 32] {
    let statements: Vec<store::Key> = questions.iter().map(|(_, q)| q.keys.statement).collect();
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
