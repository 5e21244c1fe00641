//! Sparse vector streams: which a session asks, which instances are open, and the way of a question.
//!
//! An instance belongs to a user and a stream of the policy; the user's sessions share it, and their questions wait for
//! each other. Its noisy threshold exists here only: when the process ends it is gone, which the ledger's entry of the
//! opening tells the next process.

mod reopen;
mod shown;

use super::pay::{fetches, log_price, no_entropy, price_notice, statement_text};
use super::settings::custom::Own;
use super::{Gateway, Session, finish};
use answer::{ClientError, SqlState};
use answer::{Field, Identity, Notice, Outcome};
use backend::{self, FetchRequest};
use dp::SecureRng;
use emit::print::{self, Constants};
use ledger::{self, Ledger, Refusal};
use plan::{self, Plan, PlanError, stream_question::Question};
use policy::Stream;
use release::stream::{Instance, Told};
use release::{Exact, Noisy};
pub(super) use reopen::Reopening;
use sha2::{Digest, Sha256};
use sql::ast::Statement;
use sql::functions::nearest_of;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::OwnedMutexGuard;

type Result<T> = std::result::Result<T, ClientError>;

/// Where one user stands with one stream.
#[derive(Default)]
pub(super) struct Seat {
    /// Whoever holds it asks; others wait for their turn (soundness rule 28).
    turn: Arc<tokio::sync::Mutex<()>>,
    standing: Mutex<Standing>,
}

/// What can be looked at while somebody asks.
#[derive(Default)]
struct Standing {
    state: State,
    /// The ledger was asked for openings elsewhere.
    looked: bool,
    /// Groups that were asked of the present instance.
    asked: u64,
}

#[derive(Default)]
enum State {
    /// Never opened.
    #[default]
    Closed,
    /// Paid for by this entry of the ledger.
    Open { instance: Box<Instance>, paid: Box<Stream>, entry: i64 },
    /// Nothing can be asked any more of what this entry paid for.
    Ended { why: End, entry: i64 },
}

/// Why an instance has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    UsedUp,
    Restart,
    Changed,
    Lost,
}

impl End {
    /// The word of `noisegate.streams`.
    fn word(self) -> &'static str {
        match self {
            Self::UsedUp => "used up",
            Self::Restart => "closed by a restart",
            Self::Changed => "closed by a change of the policy",
            Self::Lost => "lost",
        }
    }

    fn because(self) -> &'static str {
        match self {
            Self::UsedUp => "all its positives are used up",
            Self::Restart => {
                "it was opened before the proxy was restarted, or at another proxy, and its threshold is not here"
            }
            Self::Changed => "the owner has changed it since it was opened",
            Self::Lost => "its noise could not be drawn",
        }
    }
}

type Key = (String, String);

/// The seats of all users.
#[derive(Default)]
pub(super) struct Streams(Mutex<HashMap<Key, Arc<Seat>>>);

impl Streams {
    /// The user's seat at this stream, as the policy has it now and the ledger has known it before.
    async fn seat(&self, user: &str, stream: &Stream, ledger: &Ledger) -> Result<Arc<Seat>> {
        let seat = {
            let mut seats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            seats.entry((user.to_owned(), stream.name.clone())).or_default().clone()
        };
        if !seat.standing().looked {
            seat.look(user, stream, ledger).await?;
        }
        let mut standing = seat.standing();
        if let State::Open { paid, entry, .. } = &standing.state
            && !same_terms(paid, stream)
        {
            standing.state = State::Ended { why: End::Changed, entry: *entry };
        }
        drop(standing);
        Ok(seat)
    }
}

/// Whether two streams draw and cost the same.
fn same_terms(a: &Stream, b: &Stream) -> bool {
    (a.variant, &a.epsilon, &a.delta, a.positives) == (b.variant, &b.epsilon, &b.delta, b.positives)
}

/// An opening's identity in the books.
fn opening_hash(stream: &Stream) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"noisegate stream\0");
    hash.update(stream.name.as_bytes());
    hash.finalize().into()
}

impl Seat {
    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the ledger whether an earlier process, or another one, has opened what is closed here.
    async fn look(&self, user: &str, stream: &Stream, ledger: &Ledger) -> Result<()> {
        let last = ledger.opened(user, &stream.name).await.map_err(|r| r.client())?;
        let mut standing = self.standing();
        standing.looked = true;
        if let (State::Closed, Some(entry)) = (&standing.state, last) {
            standing.state = State::Ended { why: End::Restart, entry };
        }
        Ok(())
    }

    /// Pays for an instance and opens it, whether or not somebody still waits for it: what is paid for must not be
    /// forgotten, or the next question would pay again. The turn comes back.
    async fn open(
        self: Arc<Self>,
        turn: OwnedMutexGuard<()>,
        ledger: Ledger,
        who: Identity,
        stream: Stream,
        text: Option<String>,
    ) -> Result<(OwnedMutexGuard<()>, Notice)> {
        let span = tracing::Span::current();
        let opening = async move {
            let defect = |e: &dyn std::fmt::Display| {
                ClientError::incident(SqlState::INTERNAL, "the stream could not be opened", e)
            };
            let plan = stream.plan().map_err(|e| defect(&e))?;
            let charge = stream.charge().map_err(|e| defect(&e))?;
            // Its questions may read any table: every budget of the user pays.
            let question = ledger::Question {
                stream: Some(&stream.name),
                text: text.as_deref(),
                ..ledger::Question::new(&who, opening_hash(&stream), &charge)
            };
            let receipt = ledger.receipt(question).await.map_err(|r| refused(&r, &stream))?;
            span.in_scope(|| log_price(&receipt));
            let mut notice = price_notice(&receipt);
            notice.message = format!(
                "opened stream \"{}\": {}; {} more question(s) will be answered with yes",
                stream.name, notice.message, stream.positives
            );
            let entry = receipt.entry();
            let opened = SecureRng::new()
                .map_err(|e| no_entropy(&e))
                .and_then(|mut rng| Instance::open(plan, receipt, &mut rng).map_err(|e| e.client()));
            let mut standing = self.standing();
            standing.asked = 0;
            standing.state = match opened {
                Ok(instance) => State::Open { instance: Box::new(instance), paid: Box::new(stream), entry },
                Err(e) => {
                    standing.state = State::Ended { why: End::Lost, entry };
                    return Err(e);
                }
            };
            drop(standing);
            Ok((turn, notice))
        };
        tokio::spawn(opening)
            .await
            .map_err(|e| ClientError::incident(SqlState::INTERNAL, "the stream could not be opened", &e))?
    }

    /// Decides a question on the rows of its fetch, and tells how many groups may still pass. An instance that is used up
    /// by it has ended.
    fn ask(&self, exact: Exact, question: &Question, stream: &Stream) -> Result<(Noisy, Told, u32)> {
        let mut rng = SecureRng::new().map_err(|e| no_entropy(&e))?;
        let mut standing = self.standing();
        let (told, left, entry) = match &mut standing.state {
            State::Open { instance, entry, .. } => {
                let told = instance.ask(exact, &question.comparison, &mut rng).map_err(|e| e.client());
                (told, instance.left(), *entry)
            }
            // The policy was changed while the rows were read.
            State::Ended { why, .. } => return Err(ended(stream, *why)),
            State::Closed => {
                let cause = &"a question without an instance";
                return Err(ClientError::incident(SqlState::INTERNAL, "the stream is not open", cause));
            }
        };
        if left == 0 {
            let why = if told.is_ok() { End::UsedUp } else { End::Lost };
            standing.state = State::Ended { why, entry };
        }
        let (noisy, told) = told?;
        let asked = u64::try_from(told.above + told.below).unwrap_or(u64::MAX);
        standing.asked = standing.asked.saturating_add(asked);
        Ok((noisy, told, left))
    }
}

/// The books' refusal, said of an opening.
fn refused(refusal: &Refusal, stream: &Stream) -> ClientError {
    let mut error = refusal.client();
    if matches!(refusal, Refusal::Exhausted(_) | Refusal::Unpriced { .. }) {
        error.hint = Some(format!(
            "Opening stream \"{}\" costs the epsilon and delta of all its questions at once; the owner of the data can \
             raise the budget or declare a smaller stream. Nothing was charged, and the stream was not opened.",
            stream.name
        ));
    }
    error
}

/// Refuses a question to what has ended.
fn ended(stream: &Stream, why: End) -> ClientError {
    let code = match why {
        End::UsedUp => SqlState::BUDGET_EXCEEDED,
        _ => SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
    };
    ClientError::new(code, format!("stream \"{}\" answers no more questions: {}", stream.name, why.because()))
        .detail("Nothing was charged.")
        .hint(format!(
            "SET noisegate.stream_reopen = '{}' lets your next question open it anew, at its whole price.",
            stream.name.replace('\'', "''")
        ))
}

impl Session {
    /// The stream that the session asks, if any.
    pub(super) fn selected<'g>(&self, gateway: &'g Gateway) -> Option<Result<&'g Stream>> {
        let name = self.settings.get(Own::Stream.name()).filter(|n| !n.is_empty())?;
        Some(self.stream_named(gateway, name))
    }

    /// A stream that the user may open.
    pub(super) fn stream_named<'g>(&self, gateway: &'g Gateway, name: &str) -> Result<&'g Stream> {
        let streams = &gateway.policy.streams;
        let Some(stream) = streams.iter().find(|s| s.name == name) else {
            let mine = streams.iter().filter(|s| self.may_open(s)).map(|s| s.name.as_str());
            let hint = match nearest_of(name, mine.clone()) {
                Some(near) => format!("Perhaps you meant '{near}'."),
                None => match mine.collect::<Vec<_>>().as_slice() {
                    [] => "The policy has no stream that you may open.".to_owned(),
                    mine => format!("You may open: {}.", mine.join(", ")),
                },
            };
            let shown: String = name.chars().take(63).collect();
            let message = format!("stream \"{shown}\" does not exist");
            return Err(ClientError::new(SqlState::UNDEFINED_OBJECT, message).hint(hint));
        };
        if self.may_open(stream) {
            return Ok(stream);
        }
        let message = format!("permission denied for stream \"{name}\"");
        Err(ClientError::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
            .hint("noisegate.streams lists those that you may open; the owner of the data decides who may."))
    }

    fn may_open(&self, stream: &Stream) -> bool {
        stream.admits(&self.identity.user, self.identity.role.as_deref())
    }

    /// Plans a statement, as a question where a stream is selected.
    pub(super) fn planned(
        &self,
        gateway: &Gateway,
        statement: Statement,
        settings: &plan::Settings,
        sizes: &HashMap<(usize, String), usize>,
    ) -> std::result::Result<Plan, PlanError> {
        match self.selected(gateway) {
            None => plan::plan(statement, &gateway.policy, settings, sizes),
            Some(Ok(stream)) => {
                let (questions, beta) = self.settings.stream_accuracy();
                let terms = plan::stream_question::Terms { stream, questions, beta };
                plan::stream_question::plan(statement, &gateway.policy, settings, sizes, terms)
            }
            // A stream that was taken away concerns nobody who reads no private rows.
            Some(Err(e)) => {
                let plan = plan::plan(statement, &gateway.policy, settings, sizes)?;
                if plan.charge.is_some() { Err(e.into()) } else { Ok(plan) }
            }
        }
    }

    /// The way of a question: the seat, its opening if it has to be paid for, the fetch, the decision, the finish.
    pub(super) async fn ask_stream(
        &self,
        gateway: &Gateway,
        plan: &Plan,
        question: &Question,
        mut constants: Constants,
        fields: Vec<Field>,
        notices: &mut Vec<Notice>,
    ) -> Result<Outcome> {
        gateway.suspended.check(&self.identity.user)?;
        let stream = self.stream_named(gateway, &question.stream.name)?;
        let releases: Vec<_> = plan.releases.iter().enumerate().collect();
        let statements = fetches(&releases, &gateway.policy)?;
        let text = gateway.policy.ledger_text.then(|| statement_text(&statements));
        let fingerprint = gateway.fingerprints.of(&gateway.backend, &gateway.policy, &plan.tables).await?;
        let seat = gateway.streams.seat(&self.identity.user, stream, &gateway.ledger).await?;
        let mut turn = seat.turn.clone().lock_owned().await;
        if matches!(seat.standing().state, State::Closed) {
            // About to pay: had anybody else done so meanwhile, it would be a second time.
            seat.look(&self.identity.user, stream, &gateway.ledger).await?;
        }
        let open = match seat.standing().state {
            State::Ended { why, entry } if !self.may_reopen(stream, entry) => return Err(ended(stream, why)),
            State::Open { .. } => true,
            _ => false,
        };
        // Up to the first private row: a database that is away, or was altered, must not cost anything.
        let request = FetchRequest {
            settings: self.settings.backend(),
            statements,
            fingerprint: Some(fingerprint),
            max_rows: gateway.policy.limits.max_result_groups,
        };
        let opened = gateway.backend.open(request).await.map_err(backend::FetchError::into_client_error)?;
        if !open {
            let (ledger, who) = (gateway.ledger.clone(), self.identity.clone());
            let (taken, notice) = seat.clone().open(turn, ledger, who, stream.clone(), text).await?;
            turn = taken;
            if self.settings.notices() {
                notices.push(notice);
            }
        }
        let answers = opened.read().await.map_err(|e| {
            if matches!(e, backend::FetchError::Failed(_)) {
                gateway.suspended.failed(&self.identity.user);
            }
            e.into_client_error()
        })?;
        let defect = || {
            ClientError::incident(
                SqlState::INTERNAL,
                "the question could not be asked",
                &"its fetch is missing",
            )
        };
        let (release, rows) = plan.releases.first().zip(answers.first()).ok_or_else(defect)?;
        let exact = Exact::decode(rows, release.keys.len(), &release.spec).map_err(|e| e.client())?;
        drop(answers);
        let (noisy, told, left) = seat.ask(exact, question, stream)?;
        if self.settings.notices() {
            notices.push(outcome_notice(stream, told, left));
        }
        drop(turn);
        constants.own = self.own_rows(gateway, &plan.statement).await?;
        let (text, arrays) = print::finish(plan, &gateway.policy, &constants);
        let params = finish::params(plan, &[noisy], &arrays)?;
        let formats: Vec<i16> = fields.iter().map(|f| f.format).collect();
        let rows = gateway.backend.query(&self.settings.backend(), &text.sql, &params, &formats).await;
        let rows = rows.map_err(backend::RelayError::into_finish_error)?;
        finish::same_types(&fields, &rows.fields)?;
        Ok(Outcome::Rows { fields, rows: rows.into_finish_stream(), verb: "SELECT", count: true })
    }
}

/// What came out, and what is left.
fn outcome_notice(stream: &Stream, told: Told, left: u32) -> Notice {
    let name = &stream.name;
    let mut message = match told {
        Told { above: 0, below: 1, unasked: 0 } => format!("stream \"{name}\": below; no row"),
        Told { above: 1, below: 0, unasked: 0 } => format!("stream \"{name}\": above"),
        Told { above, below, .. } => format!("stream \"{name}\": {above} group(s) above, {below} below"),
    };
    if told.unasked > 0 {
        message.push_str(&format!(", {} after the last positive and not asked", told.unasked));
    }
    message.push_str("; nothing was charged for it; ");
    message.push_str(&match left {
        0 => "the stream is used up".to_owned(),
        n => format!("{n} of {} positives left", stream.positives),
    });
    Notice { message, code: "00000", hint: None }
}
