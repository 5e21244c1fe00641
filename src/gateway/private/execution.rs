//! The answers of a plan's releases: stored ones first, and for what is not stored the way that costs: charge, fetch,
//! release.

use super::pay::{Answered, Keeping, Kept, Order, Purchase};
use super::private_groups::selected;
use super::rounds::Columns;
use super::step::{Asked, Got, Step, part, paying};
use crate::gateway::Gateway;
use crate::gateway::session::ask::Ask;
use crate::store::{self, Accept, Epoch, KeyContext, Known, Question, Served};
use answer::{ClientError, SqlState};
use bytes::Bytes;
use dp::{Charge, Ratio};
use ledger::Refusal;
use plan::{self, Plan, Release};
use record::{Stage, step as enter};
use release::Noisy;
use release::within::Groups;
use std::sync::Arc;
use std::time::Duration;

impl Ask<'_> {
    /// The answers of a step's releases, put into their places: those that are kept, and the others for their price.
    pub async fn released(
        &self,
        of: &Asked<'_>,
        plan: &mut Plan,
        step: &Step<'_>,
        noisy: &mut [Noisy],
    ) -> Result<Got, ClientError> {
        let Asked { charge, text, settings, .. } = of;
        let gateway = self.gateway;
        let cached = gateway.store.enabled() && self.settings.cached();
        let questions = self.questions(plan, step, settings, cached).await?;
        if !cached {
            let turn = gateway.turn_to_read(&self.identity.user).await?;
            let statement = statement_of(questions.iter().map(|(_, q)| &**q));
            self.all_fits(of, plan, &step.places, step).await?;
            loop {
                let (places, charge) = (step.places.clone(), part(plan, &step.places, charge)?);
                let (text, turned, given) = ((*text).clone(), turn.permit.clone(), step.given.to_vec());
                let without = step.left_out(plan, &places)?;
                let own = |first| places.iter().position(|p| *p == first).map(Groups::Of);
                let groups = selected(plan, &places, own);
                let order = Order {
                    places,
                    groups,
                    charge,
                    statement,
                    text,
                    keeping: None,
                    turn: turned,
                    given,
                    without,
                };
                match self.pay(plan, order).await? {
                    Purchase::Paid(Answered { answers, budgets, .. }) => {
                        place(noisy, answers);
                        return Ok(Got::Paid(step.places.clone(), budgets));
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
        let mut first = true;
        let (mut waited, mut turn, accept) = (Waiting::default(), None, self.settings.accepted());
        loop {
            let looking = enter(Stage::Ledger);
            let lookup = look(gateway, plan, &questions, accept).await;
            drop(looking);
            if std::mem::take(&mut first) {
                record::looked(lookup.found.len(), lookup.missing.len());
            }
            if lookup.missing.is_empty() {
                let wider = wider(plan, &lookup.found);
                self.free(&questions, text).await?;
                serve(plan, noisy, lookup.found);
                return Ok(Got::Kept(wider));
            }
            let key = lookup.key();
            // Before the lead, so that who leads does not wait for reads of its own user.
            let turn = match &turn {
                Some(turn) => turn,
                None => turn.insert(gateway.turn_to_read(&self.identity.user).await?),
            };
            let waiting = enter(Stage::Place);
            let lead = gateway.store.turn(key).await;
            drop(waiting);
            let Some(lead) = lead else {
                // Somebody else paid for it, or failed to: look again.
                continue;
            };
            // Between the look and the turn it may have been stored.
            let missing = lookup.missing.len();
            let lookup = look(gateway, plan, &questions, accept).await;
            if lookup.missing.len() < missing {
                continue;
            }
            let places: Vec<usize> = lookup.missing.iter().map(|m| m.place).collect();
            self.all_fits(of, plan, &places, step).await?;
            let charge = part(plan, &places, charge)?;
            let keeping = Keeping {
                key,
                awaited: !waited.unreadable && lookup.storable(),
                questions: lookup.missing.iter().map(|m| lookup.keeping(plan, m)).collect(),
                lead,
            };
            let order = Order {
                without: step.left_out(plan, &places)?,
                groups: selected(plan, &places, |first| lookup.groups(first)),
                places,
                charge,
                statement: statement_of(lookup.missing.iter().map(|m| &**m.question)),
                text: (*text).clone(),
                keeping: Some(keeping),
                turn: turn.permit.clone(),
                given: step.given.to_vec(),
            };
            let paying = order.places.clone();
            let (paid, budgets) = match self.pay(plan, order).await? {
                Purchase::Paid(Answered { answers, budgets, .. }) => (answers, budgets),
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
            place(noisy, paid);
            serve(plan, noisy, lookup.found);
            serve(plan, noisy, repeated);
            return Ok(Got::Paid(paying, budgets));
        }
    }

    /// Checks that the budgets admit these releases and all that come in later steps: a statement
    /// that begins can end, as far as nobody else spends meanwhile.
    async fn all_fits(
        &self,
        of: &Asked<'_>,
        plan: &Plan,
        places: &[usize],
        step: &Step<'_>,
    ) -> Result<(), ClientError> {
        if step.later.is_empty() {
            return Ok(());
        }
        let places: Vec<usize> = places.iter().chain(&step.later).copied().collect();
        let charge = part(plan, &places, of.charge)?;
        self.admits(plan, &charge).await
    }

    /// Checks that the budgets admit a charge for this plan now. Nothing is debited.
    pub async fn admits(&self, plan: &Plan, charge: &Charge) -> Result<(), ClientError> {
        let gateway = self.gateway;
        let _booking = enter(Stage::Ledger);
        match gateway.ledger.admits(self.identity, &plan.tables, charge).await {
            Ok(()) => Ok(()),
            Err(refusal @ Refusal::Exhausted(_)) => Err(self.exhausted(plan, &refusal).await),
            Err(refusal) => Err(refusal.client()),
        }
    }

    /// The question of each release of a step: the key under which its answer is kept.
    async fn questions(
        &self,
        plan: &Plan,
        step: &Step<'_>,
        settings: &plan::Settings,
        cached: bool,
    ) -> Result<Vec<(usize, Arc<Question>)>, ClientError> {
        let gateway = self.gateway;
        let paying = paying(plan);
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
            delta: &(settings.delta / Ratio::from_integer(selecting)),
            mechanism: settings.mechanism,
            given: step.given,
            without: &[],
            within: None,
        };
        let question = |(i, without): (&usize, &Columns)| {
            let release = plan.releases.get(*i)?;
            let first = release.first(&plan.releases).filter(|_| release.is_within());
            let first = first.and_then(|i| plan.releases.get(i)).map(|r| Question::new(r, &context));
            let within = first.map(|q| q.keys.exact);
            Some((*i, Question::new(release, &KeyContext { without, within, ..context.clone() }).into()))
        };
        Ok(step.places.iter().zip(&step.without).filter_map(question).collect())
    }

    /// Puts kept answers of a step into their places, and makes their releases what was stored.
    /// Returns how many there are, and the factor by which their noise is wider than fresh noise,
    /// when it is wider.
    pub async fn kept(
        &self,
        of: &Asked<'_>,
        plan: &mut Plan,
        step: &Step<'_>,
        noisy: &mut [Noisy],
    ) -> Result<(usize, Option<f64>), ClientError> {
        let questions = self.questions(plan, step, of.settings, true).await?;
        let lookup = look(self.gateway, plan, &questions, self.settings.accepted()).await;
        let (kept, wider) = (lookup.found.len(), wider(plan, &lookup.found));
        serve(plan, noisy, lookup.found);
        Ok((kept, wider))
    }

    /// Notes in the books that nothing was spent.
    async fn free(&self, questions: &[(usize, Arc<Question>)], text: &str) -> Result<(), ClientError> {
        let gateway = self.gateway;
        tracing::Span::current().record("epsilon", "0");
        let statement = statement_of(questions.iter().map(|(_, q)| &**q));
        let release = store::together(&questions.iter().map(|(_, q)| q.keys.exact).collect::<Vec<_>>());
        let user = &self.identity.user;
        // Beside the first entry of all: what others paid for.
        gateway.store.remember(&gateway.ledger, 0, user, &statement, text).await;
        gateway.ledger.reuse(self.identity, statement, release).await.map_err(|r| r.client())
    }
}

impl Lookup<'_> {
    /// The groups that a release selects: by its place among the releases that are paid for now, or
    /// as they were released.
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
    /// An answer is kept, and cannot be read here.
    unreadable: bool,
}

impl Waiting {
    /// Longer each time, up to a second.
    async fn a_while(&mut self) {
        let millis = 20u64 << self.times.min(6);
        self.times += 1;
        let _waiting = enter(Stage::Place);
        tokio::time::sleep(Duration::from_millis(millis.min(1_000))).await;
    }
}

/// A question without a stored answer.
struct Missing<'q> {
    /// Of its release in the plan.
    place: usize,
    question: &'q Arc<Question>,
    /// The same in the groups that are selected, where it is kept for others.
    in_groups: Option<Arc<Question>>,
    /// The place where its answer can be kept.
    storage_key: Option<store::Key>,
}

/// Questions, with and without stored answers.
struct Lookup<'q> {
    found: Vec<(usize, Served)>,
    missing: Vec<Missing<'q>>,
    /// Questions that stand earlier in the same statement: the place in the plan, and the index
    /// among those that are missing.
    repeated: Vec<(usize, &'q Question, usize)>,
}

impl Lookup<'_> {
    /// Whether this answer, in groups that another release selects, has all those that are kept of it.
    fn holds(&self, plan: &Plan, release: &Release, served: &Served) -> bool {
        let keys = release.group_keys().len();
        self.selected(plan, release).is_some_and(|groups| served.noisy.keys.get(..keys) == Some(groups))
    }

    /// The groups that its first release selected, where that is kept.
    fn selected(&self, plan: &Plan, release: &Release) -> Option<&[Vec<Option<Bytes>>]> {
        let first = release.first(&plan.releases);
        self.found.iter().find(|(place, _)| Some(*place) == first).map(|(_, s)| s.noisy.keys.as_slice())
    }

    /// The way in which the answer to a missing question is kept.
    fn keeping(&self, plan: &Plan, m: &Missing<'_>) -> Kept {
        let question = m.in_groups.as_ref().unwrap_or(m.question).clone();
        let first =
            plan.releases.get(m.place).filter(|r| r.is_within()).and_then(|r| r.first(&plan.releases));
        let selected_by = first.and_then(|first| self.missing.iter().position(|m| m.place == first));
        Kept { question, place: m.storage_key, selected_by }
    }

    /// The key of one payment for all that is missing.
    fn key(&self) -> store::Key {
        let own = |m: &Missing<'_>| m.in_groups.as_ref().unwrap_or(m.question).keys.exact;
        let key = |m: &Missing<'_>| m.storage_key.unwrap_or_else(|| own(m));
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
    accept: Accept,
) -> Lookup<'q> {
    let mut lookup = Lookup { found: Vec::new(), missing: Vec::new(), repeated: Vec::new() };
    for (place, question) in questions {
        let Some(release) = plan.releases.get(*place) else { continue };
        if let Some(first) = lookup.missing.iter().position(|m| m.question.keys.exact == question.keys.exact)
        {
            lookup.repeated.push((*place, question, first));
            continue;
        }
        let find = |question| gateway.store.find(&gateway.ledger, question, release, accept);
        let holds = |served: &Served| !release.is_within() || lookup.holds(plan, release, served);
        let (mut in_groups, mut known) = (None, find(question).await);
        if let Known::Answer(served) = &known
            && !holds(served)
        {
            // It is kept for groups that were selected another time.
            in_groups = lookup.selected(plan, release).map(|groups| Arc::new(question.in_groups(groups)));
            known = match &in_groups {
                Some(question) => find(question).await,
                None => Known::Nothing(None),
            };
        }
        match known {
            Known::Answer(served) if holds(&served) => lookup.found.push((*place, *served)),
            Known::Answer(_) => {
                lookup.missing.push(Missing { place: *place, question, in_groups, storage_key: None })
            }
            Known::Nothing(storage_key) => {
                lookup.missing.push(Missing { place: *place, question, in_groups, storage_key })
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

/// The largest factor by which noise of a kept answer is wider than fresh noise, when one is wider.
fn wider(plan: &Plan, found: &[(usize, Served)]) -> Option<f64> {
    let each = found.iter().filter_map(|(i, served)| served.wider(plan.releases.get(*i)?));
    each.max_by(f64::total_cmp)
}
