//! Open instances of streams, by user and stream: their openings, and questions one after the
//! other.

use crate::gateway::tell::price::{log_price, no_entropy, price_notice};
use answer::{ClientError, Identity, Notice, SqlState};
use dp::SecureRng;
use ledger::{self, Ledger, Opened, Refusal, StreamEnd};
use plan::Question;
use policy::Stream;
use release::stream::{Instance, Told};
use release::{Exact, Noisy};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::OwnedMutexGuard;

type Result<T> = std::result::Result<T, ClientError>;

/// Standing of one user with one stream.
#[derive(Default)]
pub struct UserStream {
    /// The right to ask: one question at a time (soundness rule 28).
    pub(super) turn: Arc<tokio::sync::Mutex<()>>,
    status: Mutex<Status>,
}

/// The part of a standing that can be read while a question is asked.
#[derive(Default)]
pub(super) struct Status {
    pub(super) state: State,
    /// The ledger was asked for openings elsewhere.
    looked: bool,
    /// Groups that were asked of the present instance.
    pub(super) asked: u64,
}

#[derive(Default)]
pub(super) enum State {
    /// Never opened.
    #[default]
    Closed,
    /// Paid for by this entry of the ledger.
    Open { instance: Box<Instance>, paid: Box<Stream>, entry: i64 },
    /// Nothing can be asked any more of what this entry paid for.
    Ended { why: End, entry: i64 },
}

/// Why an instance has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    UsedUp,
    Restart,
    Changed,
    Lost,
    /// The owner closed it, or a budget that paid for it.
    Closed,
    /// The payment is used up: it pays for no more questions.
    Unpaid(StreamEnd),
}

impl End {
    /// The word of `noisegate.streams`.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::UsedUp => "used up",
            Self::Restart => "closed by a restart",
            Self::Changed => "closed by a change of the policy",
            Self::Lost => "lost",
            Self::Closed => "closed by the owner",
            Self::Unpaid(StreamEnd::Elsewhere) => "opened elsewhere",
            Self::Unpaid(StreamEnd::Policy) => "closed by a change of the policy",
            Self::Unpaid(StreamEnd::Anew) => "closed by an acceptance",
            Self::Unpaid(StreamEnd::Window { .. }) => "closed by the end of a window",
        }
    }

    pub(super) fn because(&self) -> String {
        match self {
            Self::UsedUp => "all its positives are used up".into(),
            Self::Restart => {
                "it was opened before the proxy was restarted, or at another proxy, and its threshold is \
                              not here"
                    .into()
            }
            Self::Changed => "the owner has changed it since it was opened".into(),
            Self::Lost => "its noise could not be drawn".into(),
            Self::Closed => "the owner has closed it, or a budget that paid for it".into(),
            Self::Unpaid(end) => end.because(),
        }
    }
}

type Key = (String, String);

/// The user_streams of all users.
#[derive(Default)]
pub struct Streams(Mutex<HashMap<Key, Arc<UserStream>>>);

/// Standing of one user with one stream, for owners of the proxy.
#[derive(Clone, Debug)]
pub struct StreamStanding {
    /// The stream's name.
    pub stream: String,
    /// Login name.
    pub user: String,
    /// `open`, or why it is not.
    pub state: &'static str,
    /// Positives that are left.
    pub left: u32,
    /// Groups that were asked of the present instance; None where an earlier process was asked.
    pub asked: Option<u64>,
}

impl Streams {
    /// Standings of all users who have asked since the start, as far as this process knows.
    pub fn standings(&self) -> Vec<StreamStanding> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<StreamStanding> = known
            .iter()
            .map(|((user, stream), user_stream)| {
                let status = user_stream.status();
                let (state, left, asked) = match &status.state {
                    State::Closed => ("not opened", 0, Some(0)),
                    State::Open { instance, .. } => ("open", instance.left(), Some(status.asked)),
                    State::Ended { why: why @ End::Restart, .. } => (why.word(), 0, None),
                    State::Ended { why, .. } => (why.word(), 0, Some(status.asked)),
                };
                StreamStanding { stream: stream.clone(), user: user.clone(), state, left, asked }
            })
            .collect();
        all.sort_by(|a, b| (&a.stream, &a.user).cmp(&(&b.stream, &b.user)));
        all
    }

    /// The user's user_stream at this stream, as the policy has it now and the ledger has known it before.
    pub(super) async fn user_stream(
        &self,
        user: &str,
        stream: &Stream,
        ledger: &Ledger,
    ) -> Result<Arc<UserStream>> {
        let user_stream = {
            let mut user_streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            user_streams.entry((user.to_owned(), stream.name.clone())).or_default().clone()
        };
        if !user_stream.status().looked {
            user_stream.look(user, stream, ledger).await?;
        }
        let mut status = user_stream.status();
        if let State::Open { paid, entry, .. } = &status.state
            && !same_terms(paid, stream)
        {
            status.state = State::Ended { why: End::Changed, entry: *entry };
        }
        drop(status);
        Ok(user_stream)
    }

    /// As [`Self::user_stream`], to be shown: with what the books say of an instance that is open. Who asks is told so
    /// when a place for the read is reserved.
    pub(super) async fn as_the_books_say(
        &self,
        user: &str,
        stream: &Stream,
        ledger: &Ledger,
    ) -> Result<Arc<UserStream>> {
        let user_stream = self.user_stream(user, stream, ledger).await?;
        let open = match user_stream.status().state {
            State::Open { entry, .. } => Some(entry),
            _ => None,
        };
        if let Some(entry) = open
            && let Err(refusal) = ledger.still_open(Opened { user, stream: &stream.name, entry }).await
        {
            match refusal {
                Refusal::StreamOver { .. } | Refusal::Closed { .. } => {
                    drop(user_stream.over(stream, &refusal))
                }
                other => return Err(other.client()),
            }
            user_stream.look(user, stream, ledger).await?;
        }
        Ok(user_stream)
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

/// Terms on which an instance is opened.
pub(super) struct Opening {
    pub(super) ledger: Ledger,
    pub(super) who: Identity,
    pub(super) stream: Stream,
    /// The entry of the opening that this one replaces.
    pub(super) after: Option<i64>,
    /// Text for the books.
    pub(super) text: Option<String>,
}

impl UserStream {
    pub(super) fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the ledger whether an earlier process, or another one, has opened what is closed here.
    pub(super) async fn look(&self, user: &str, stream: &Stream, ledger: &Ledger) -> Result<()> {
        let last = ledger.opened(user, &stream.name).await.map_err(|r| r.client())?;
        let mut status = self.status();
        status.looked = true;
        if let (State::Closed, Some(entry)) = (&status.state, last) {
            status.state = State::Ended { why: End::Restart, entry };
        }
        Ok(())
    }

    /// The books' refusal of a question: what it says of this instance stays.
    pub(super) fn over(&self, stream: &Stream, refusal: &Refusal) -> ClientError {
        let (why, error) = match refusal {
            Refusal::StreamOver { end, .. } => {
                let why = End::Unpaid(end.clone());
                let error = ended(stream, &why);
                (why, error)
            }
            Refusal::Closed { .. } => (End::Closed, refusal.client()),
            _ => return refusal.client(),
        };
        let mut status = self.status();
        if let State::Open { entry, .. } = status.state {
            status.state = State::Ended { why, entry };
        }
        if matches!(refusal, Refusal::StreamOver { end: StreamEnd::Elsewhere, .. }) {
            // The entry that can be replaced now is the other one.
            (status.state, status.looked) = (State::Closed, false);
        }
        error
    }

    /// Pays for an instance and opens it, whether or not somebody still waits for it: what is paid for must not be
    /// forgotten, or the next question would pay again. The turn comes back.
    pub(super) async fn open(
        self: Arc<Self>,
        turn: OwnedMutexGuard<()>,
        opening: Opening,
    ) -> Result<(OwnedMutexGuard<()>, Notice)> {
        let span = tracing::Span::current();
        let Opening { ledger, who, stream, after, text } = opening;
        let opening = async move {
            let defect = |e: &dyn std::fmt::Display| {
                ClientError::incident(SqlState::INTERNAL, "the stream could not be opened", e)
            };
            let plan = stream.plan().map_err(|e| defect(&e))?;
            let charge = price::Proven::of_stream(&plan).map_err(|e| defect(&e))?;
            // Its questions may read any table: every budget of the user pays.
            let question = ledger::Question {
                stream: Some(ledger::Opens { name: &stream.name, after }),
                text: text.as_deref(),
                ..ledger::Question::new(&who, opening_hash(&stream), &charge)
            };
            let receipt = ledger.receipt(question).await.map_err(|r| match r {
                Refusal::StreamOver { .. } => self.over(&stream, &r),
                r => refused(&r, &stream),
            })?;
            span.in_scope(|| log_price(&receipt));
            let mut notice = price_notice(receipt.charge(), None, receipt.budgets(), None);
            notice.message = format!(
                "opened stream \"{}\": {}; {} questions of it may be answered with yes",
                stream.name, notice.message, stream.positives
            );
            let entry = receipt.entry();
            let opened = SecureRng::new()
                .map_err(|e| no_entropy(&e))
                .and_then(|mut rng| Instance::open(plan, receipt, &mut rng).map_err(|e| e.client()));
            let mut status = self.status();
            status.asked = 0;
            status.state = match opened {
                Ok(instance) => State::Open { instance: Box::new(instance), paid: Box::new(stream), entry },
                Err(e) => {
                    status.state = State::Ended { why: End::Lost, entry };
                    return Err(e);
                }
            };
            drop(status);
            Ok((turn, notice))
        };
        tokio::spawn(record::inherited(opening))
            .await
            .map_err(|e| ClientError::incident(SqlState::INTERNAL, "the stream could not be opened", &e))?
    }

    /// Decides a question on the rows of its fetch, and tells how many groups may still pass. An instance that is used up
    /// by it has ended.
    pub(super) fn ask(
        &self,
        exact: Exact,
        question: &Question,
        stream: &Stream,
    ) -> Result<(Noisy, Told, u32)> {
        let mut rng = SecureRng::new().map_err(|e| no_entropy(&e))?;
        let mut status = self.status();
        let (told, left, entry) = match &mut status.state {
            State::Open { instance, entry, .. } => {
                let told = instance.ask(exact, &question.comparison, &mut rng).map_err(|e| e.client());
                (told, instance.left(), *entry)
            }
            // The policy was changed while the rows were read.
            State::Ended { why, .. } => return Err(ended(stream, why)),
            State::Closed => {
                let cause = &"a question without an instance";
                return Err(ClientError::incident(SqlState::INTERNAL, "the stream is not open", cause));
            }
        };
        if left == 0 {
            let why = if told.is_ok() { End::UsedUp } else { End::Lost };
            status.state = State::Ended { why, entry };
        }
        let (noisy, told) = told?;
        let asked = u64::try_from(told.above + told.below).unwrap_or(u64::MAX);
        status.asked = status.asked.saturating_add(asked);
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
pub(super) fn ended(stream: &Stream, why: &End) -> ClientError {
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

/// The ended instance that the session's next question may replace, by the ledger's entry of its opening; 0 is none.
#[derive(Default)]
pub struct Reopening(AtomicI64);

impl Reopening {
    /// The instance that this entry paid for may be replaced.
    pub(super) fn cover(&self, entry: i64) {
        self.0.store(entry, Ordering::Relaxed);
    }

    /// Whether the instance that this entry paid for may be replaced.
    pub(super) fn covers(&self, entry: i64) -> bool {
        entry != 0 && self.0.load(Ordering::Relaxed) == entry
    }

    /// ROLLBACK: what SET has said in the transaction is unsaid.
    pub fn forget(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}
