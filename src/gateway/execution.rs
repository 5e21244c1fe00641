//! The answers of a plan's releases: stored ones first, and for what is not stored the way that costs: charge, fetch,
//! release.

use super::pay::{Keeping, Order, Purchase, rest};
use super::private_groups::selected;
use super::{Gateway, Session};
use crate::store::{self, Epoch, KeyContext, Known, Question, Served};
use answer::Notice;
use answer::{ClientError, SqlState};
use dp::{Charge, Ratio};
use plan::{self, Plan};
use release::Noisy;
use release::points::Groups;
use std::sync::Arc;
use std::time::Duration;

impl Session {
    /// Every release's answer, in the plan's order: those that are kept, and the others for their price.
    pub(super) async fn released(
        &self,
        gateway: &Arc<Gateway>,
        plan: &mut Plan,
        charge: &Charge,
        text: &Arc<str>,
        settings: &plan::Settings,
        notices: &mut Vec<Notice>,
    ) -> Result<Vec<Noisy>, ClientError> {
        let paying = paying(plan);
        let mut noisy = vec![Noisy { keys: Vec::new(), values: Vec::new(), rows: 0 }; plan.releases.len()];
        let cached = gateway.store.enabled() && self.settings.cached();
        let questions = self.questions(gateway, plan, &paying, settings, cached).await?;
        if !cached {
            let turn = gateway.turn_to_read(&self.identity.user).await?;
            let statement = statement_of(questions.iter().map(|(_, q)| &**q));
            loop {
                let (places, charge) = (paying.clone(), charge.clone());
                let (text, turned) = (text.clone(), turn.permit.clone());
                let own = |first| places.iter().position(|p| *p == first).map(Groups::Of);
                let groups = selected(plan, &places, own);
                let order = Order { places, groups, charge, statement, text, keeping: None, turn: turned };
                match self.pay(gateway, plan, order, notices).await? {
                    Purchase::Paid(paid) => {
                        place(&mut noisy, paid);
                        return Ok(noisy);
                    }
                    Purchase::Full => turn.wait().await?,
                    Purchase::Kept | Purchase::Wait => {
                        return Err(ClientError::incident(
                            SqlState::INTERNAL,
                            "the statement could not be paid for",
                            &"the books keep a release that has no key",
                        ));
                    }
                }
            }
        }
        let (mut waited, mut turn, best) = (Waiting::default(), None, self.settings.best());
        loop {
            let lookup = look(gateway, plan, &questions, best).await;
            if lookup.missing.is_empty() {
                self.free(gateway, &questions, text, wider(plan, &lookup.found), notices).await?;
                serve(plan, &mut noisy, lookup.found);
                return Ok(noisy);
            }
            let key = lookup.key();
            // Before the lead, so that who leads does not wait for reads of its own user.
            let turn = match &turn {
                Some(turn) => turn,
                None => turn.insert(gateway.turn_to_read(&self.identity.user).await?),
            };
            let Some(lead) = gateway.store.turn(key).await else {
                // Somebody else paid for it, or failed to: look again.
                continue;
            };
            // Between the look and the turn it may have been stored.
            let missing = lookup.missing.len();
            let lookup = look(gateway, plan, &questions, best).await;
            if lookup.missing.len() < missing {
                continue;
            }
            let places: Vec<usize> = lookup.missing.iter().map(|m| m.place).collect();
            let charge = match places.len() == questions.len() {
                true => charge.clone(),
                false => rest(plan, &places, charge)?,
            };
            let keeping = Keeping {
                key,
                awaited: !waited.unreadable && lookup.storable(),
                questions: lookup.missing.iter().map(|m| (m.question.clone(), m.storage_key)).collect(),
                lead,
            };
            let order = Order {
                groups: selected(plan, &places, |first| lookup.groups(first)),
                places,
                charge,
                statement: statement_of(lookup.missing.iter().map(|m| &**m.question)),
                text: text.clone(),
                keeping: Some(keeping),
                turn: turn.permit.clone(),
            };
            let paid = match self.pay(gateway, plan, order, notices).await? {
                Purchase::Paid(paid) => paid,
                // Another proxy has it: look again, and where it cannot be read, pay without asking whether it is there.
                Purchase::Kept => {
                    waited.unreadable = true;
                    continue;
                }
                Purchase::Wait => {
                    waited.a_while().await;
                    continue;
                }
                Purchase::Full => {
                    turn.wait().await?;
                    continue;
                }
            };
            let repeated = repeats(plan, &lookup, &paid)?;
            place(&mut noisy, paid);
            serve(plan, &mut noisy, lookup.found);
            serve(plan, &mut noisy, repeated);
            return Ok(noisy);
        }
    }

    /// What each release is kept under.
    async fn questions(
        &self,
        gateway: &Gateway,
        plan: &Plan,
        paying: &[usize],
        settings: &plan::Settings,
        cached: bool,
    ) -> Result<Vec<(usize, Arc<Question>)>, ClientError> {
        let selecting = paying.iter().filter_map(|i| plan.releases.get(*i)).filter(|r| r.selects());
        let selecting = u128::try_from(selecting.count().max(1)).unwrap_or(u128::MAX);
        let epoch = match cached {
            true => gateway.store.epoch(&gateway.ledger).await.map_err(|r| r.client())?,
            false => Epoch::default(),
        };
        let context = KeyContext {
            policy: &gateway.policy,
            database: gateway.backend.database(),
            epoch: &epoch,
            role: self.identity.role.as_deref(),
            settings: &self.settings.backend(),
            delta: &(settings.delta / Ratio::from_integer(selecting)),
            mechanism: settings.mechanism,
        };
        let question = |i: &usize| Some((*i, Question::new(plan.releases.get(*i)?, &context).into()));
        Ok(paying.iter().filter_map(question).collect())
    }

    /// For EXPLAIN: which releases would be answered for nothing; they become what was stored. None where none would be.
    pub(super) async fn free_parts(
        &self,
        gateway: &Gateway,
        plan: &mut Plan,
        settings: &plan::Settings,
    ) -> Result<Option<String>, ClientError> {
        if plan.charge.is_none() || !gateway.store.enabled() || !self.settings.cached() {
            return Ok(None);
        }
        let paying = paying(plan);
        let questions = self.questions(gateway, plan, &paying, settings, true).await?;
        let lookup = look(gateway, plan, &questions, self.settings.best()).await;
        let (kept, missing) = (lookup.found.len(), lookup.missing.len());
        let wider = wider(plan, &lookup.found);
        for (i, served) in lookup.found {
            if let Some(release) = plan.releases.get_mut(i) {
                served.become_of(release);
            }
        }
        let noise = wider.map(|ratio| format!("; {}", wider_text(ratio))).unwrap_or_default();
        Ok(match (kept, missing) {
            (0, _) => None,
            (_, 0) => Some(format!("Kept: answered from an earlier release, nothing would be spent{noise}")),
            (kept, _) => Some(format!(
                "Kept: {kept} of {} releases are answered from earlier ones, and the price is for the others{noise}",
                paying.len()
            )),
        })
    }

    /// Tells that nothing was spent, and notes it in the books.
    async fn free(
        &self,
        gateway: &Gateway,
        questions: &[(usize, Arc<Question>)],
        text: &str,
        wider: Option<f64>,
        notices: &mut Vec<Notice>,
    ) -> Result<(), ClientError> {
        if self.settings.notices() {
            notices.push(free_notice(wider));
        }
        tracing::Span::current().record("epsilon", "0");
        let statement = statement_of(questions.iter().map(|(_, q)| &**q));
        let release = store::together(&questions.iter().map(|(_, q)| q.keys.exact).collect::<Vec<_>>());
        let user = &self.identity.user;
        // Beside the first entry of all: what others paid for.
        gateway.store.remember(&gateway.ledger, 0, user, &statement, text).await;
        gateway.ledger.reuse(&self.identity, statement, release).await.map_err(|r| r.client())
    }
}

impl Lookup<'_> {
    /// Which groups this release selects: where it is paid for now, its place among what is; else those that were released.
    fn groups(&self, release: usize) -> Option<Groups> {
        if let Some((_, served)) = self.found.iter().find(|(place, _)| *place == release) {
            return Some(Groups::Released(served.noisy.keys.clone()));
        }
        let repeated = self.repeated.iter().find(|(place, ..)| *place == release).map(|(_, _, part)| *part);
        repeated.or_else(|| self.missing.iter().position(|m| m.place == release)).map(Groups::Of)
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
    question: &'q Arc<Question>,
    /// Where its answer can be kept.
    storage_key: Option<store::Key>,
}

/// Questions, with and without stored answers.
struct Lookup<'q> {
    found: Vec<(usize, Served)>,
    missing: Vec<Missing<'q>>,
    /// Those that are asked before in the same statement: the place in the plan, and which of the missing it is.
    repeated: Vec<(usize, &'q Question, usize)>,
}

impl Lookup<'_> {
    /// What a payment for all that is missing goes by.
    fn key(&self) -> store::Key {
        let key = |m: &Missing<'_>| m.storage_key.unwrap_or(m.question.keys.exact);
        store::together(&self.missing.iter().map(key).collect::<Vec<_>>())
    }

    /// Whether all of it will be kept.
    fn storable(&self) -> bool {
        self.missing.iter().all(|m| m.storage_key.is_some())
    }
}

async fn look<'q>(
    gateway: &Gateway,
    plan: &Plan,
    questions: &'q [(usize, Arc<Question>)],
    best: bool,
) -> Lookup<'q> {
    let mut lookup = Lookup { found: Vec::new(), missing: Vec::new(), repeated: Vec::new() };
    for (place, question) in questions {
        let Some(release) = plan.releases.get(*place) else { continue };
        if let Some(first) = lookup.missing.iter().position(|m| m.question.keys.exact == question.keys.exact)
        {
            lookup.repeated.push((*place, question, first));
            continue;
        }
        match gateway.store.find(&gateway.ledger, question, release, best).await {
            Known::Answer(served) => lookup.found.push((*place, *served)),
            Known::Nothing(storage_key) => {
                lookup.missing.push(Missing { place: *place, question, storage_key })
            }
        }
    }
    lookup
}

/// The answers to questions that the statement asks more than once: those that were paid for.
fn repeats(
    plan: &Plan,
    lookup: &Lookup<'_>,
    paid: &[(usize, Noisy)],
) -> Result<Vec<(usize, Served)>, ClientError> {
    let each = |(place, question, first): &(usize, &Question, usize)| {
        let (m, (i, noisy)) = (lookup.missing.get(*first)?, paid.get(*first)?);
        let (asked, release) = (plan.releases.get(*i)?, plan.releases.get(*place)?);
        Some((*place, question.again(release, m.question, asked, noisy)?))
    };
    lookup.repeated.iter().map(|r| each(r).ok_or_else(unlike)).collect()
}

fn unlike() -> ClientError {
    let cause = "releases of one key have other parts";
    ClientError::incident(SqlState::INTERNAL, "the answer could not be assembled", &cause)
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

/// A statement's identity in the books: a hash of what is fetched, in canonical form.
fn statement_of<'q>(questions: impl Iterator<Item = &'q Question>) -> [u8; 32] {
    store::together(&questions.map(|q| q.keys.statement).collect::<Vec<_>>())
}

fn free_notice(wider: Option<f64>) -> Notice {
    let mut message = "noisegate: answered from an earlier release, nothing was spent".to_owned();
    if let Some(ratio) = wider {
        message.push_str(&format!("; {}", wider_text(ratio)));
    }
    let hint =
        wider.map(|_| "SET noisegate.cache = best pays for a fresh answer where it has less noise.".into());
    Notice { message, code: "00000", hint }
}

fn wider_text(ratio: f64) -> String {
    format!("its noise is {} times as wide as that of a fresh answer", plan::explain::short(ratio))
}

/// Places of the releases that have a price.
fn paying(plan: &Plan) -> Vec<usize> {
    let paying = |i: &usize| plan.releases.get(*i).is_some_and(|r| !r.is_domain_only());
    (0..plan.releases.len()).filter(paying).collect()
}

/// How many times as wide as fresh noise the widest of what is found is, if any is wider.
fn wider(plan: &Plan, found: &[(usize, Served)]) -> Option<f64> {
    let each = found.iter().filter_map(|(i, served)| served.wider(plan.releases.get(*i)?));
    each.max_by(f64::total_cmp)
}
