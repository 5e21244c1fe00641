//! What costs: charge, fetch, release.

use super::price::{log_price, no_entropy, price_notice, statement_text};
use super::reads;
use super::{Gateway, Session};
use crate::store;
use answer::Notice;
use answer::{ClientError, SqlState};
use backend::{self, FetchRequest, FetchText, Param};
use dp::{BigRatio, Charge, Entropy, Ratio, SecureRng, Share, Spec};
use emit::fetch;
use ledger::{Ledger, Payment, Question as Debit};
use num_traits::{ToPrimitive, Zero};
use plan::{self, Plan, Release};
use release::{Exact, Noisy, perturb};

impl Session {
    /// Charges for these releases, reads what is private, and perturbs it.
    pub(super) async fn pay(
        &self,
        gateway: &Gateway,
        plan: &Plan,
        order: Order<'_>,
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
        let opened = gateway.backend.open(request).await.map_err(backend::FetchError::into_client_error)?;
        let debit = Debit {
            tables: Some(&plan.tables),
            release: order.release,
            read: Some(gateway.read_terms(releases.len())),
            text: text.as_deref(),
            ..Debit::new(&self.identity, order.statement, order.charge)
        };
        let mut receipt = match gateway.ledger.pay(debit).await.map_err(|r| r.client())? {
            Payment::Paid(receipt) => receipt,
            Payment::Kept(_) => return Ok(Purchase::Kept),
            Payment::Wait => return Ok(Purchase::Wait),
            Payment::Full => return Ok(Purchase::Full),
        };
        let entry = receipt.entry();
        // Until it is kept, others may wait for it.
        let owed = order.release.map(|key| Owed { ledger: gateway.ledger.clone(), entry, key, kept: false });
        if self.settings.notices() {
            notices.push(price_notice(&receipt));
        }
        log_price(&receipt);
        let mut place = receipt.take_read().ok_or_else(uncounted)?;
        let answers = reads::counted(opened, &mut place).await?;
        let mut parts = Vec::with_capacity(answers.len());
        for (((_, release), rows), certified) in releases.iter().zip(&answers).zip(&certified) {
            let exact = Exact::decode(rows, certified, &release.spec).map_err(|e| e.client())?;
            parts.push((exact, &release.spec));
        }
        drop(answers);
        place.ended_well();
        let mut rng = SecureRng::new().map_err(|e| no_entropy(&e))?;
        let noisy = perturb(parts, receipt, &mut rng).map_err(|e| e.client())?;
        let answers = releases.iter().map(|(i, _)| *i).zip(noisy).collect();
        Ok(Purchase::Paid(Paid { answers, entry, owed }))
    }
}

/// A read without a place among its user's reads.
fn uncounted() -> ClientError {
    let cause = "the books reserved no place for the read";
    ClientError::incident(SqlState::INTERNAL, "the statement could not be read", &cause)
}

/// What is to be paid for.
pub(super) struct Order<'a> {
    /// Places of releases in the plan.
    pub places: Vec<usize>,
    pub charge: &'a Charge,
    /// What the books call it.
    pub statement: [u8; 32],
    /// What others wait for it by, where it will be kept.
    pub release: Option<store::Key>,
}

/// What came of it.
pub(super) enum Purchase {
    Paid(Paid),
    /// Somebody stored it meanwhile.
    Kept,
    /// Somebody else has paid for it.
    Wait,
    /// As many reads of the user are under way as may still fail.
    Full,
}

/// Answers that were paid for, by their places in the plan.
pub(super) struct Paid {
    pub answers: Vec<(usize, Noisy)>,
    /// The entry of the books.
    pub entry: i64,
    owed: Option<Owed>,
}

impl Paid {
    /// It is kept: nobody waits for it any more.
    pub fn kept(&mut self) {
        if let Some(owed) = &mut self.owed {
            owed.kept = true;
        }
    }
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
