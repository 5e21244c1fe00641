//! Why a ledger cannot be opened, and why a debit is refused.

use super::change::Change;
use super::faults::{Broken, Mismatch, Wrong};
use super::percent::percent;
use super::time::time;
use answer::{ClientError, SqlState};
use dp::Shortfall;
use dp::{UNITS_PER_ONE, Unpriced};
use policy::{GivenFile, Scope};

/// Why a ledger cannot be created or opened. For the owner.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// There is no file.
    #[error("there is no ledger at {0}; create it once with `noisegate budget create --policy FILE`")]
    Missing(GivenFile),
    /// `create` found a file.
    #[error("{0} exists already; a ledger is never overwritten, because it holds what was spent")]
    Exists(GivenFile),
    /// Another process serves from it.
    #[error("the ledger {0} is in use by another noisegate process")]
    InUse(GivenFile),
    /// The file is something else.
    #[error("{path} is not a ledger of this version of noisegate: {why}")]
    Foreign {
        /// The file.
        path: GivenFile,
        /// The reason.
        why: String,
    },
    /// The file, or its folder, cannot be read or written.
    #[error("cannot use the ledger {path}: {cause}")]
    Io {
        /// The file.
        path: GivenFile,
        /// The operating system's or SQLite's words.
        cause: String,
    },
    /// A budget of the policy has no filter.
    #[error("budget \"{name}\": {why}")]
    Budget {
        /// Name of the budget.
        name: String,
        /// The mistake.
        why: String,
    },
    /// The policy would forget something that was spent.
    #[error("{}", forgets(.0))]
    Forgets(Vec<Change>),
    /// An entry does not follow from those before it.
    #[error(
        "{0}. The ledger was changed by hand, or by a version of noisegate that counts otherwise; nothing is served from it"
    )]
    Wrong(#[from] Wrong),
    /// What the owner asks for cannot be.
    #[error("{0}")]
    Impossible(String),
    /// The rows are not those that were written.
    #[error(
        "the ledger {place} is damaged or was changed: {broken}. Nothing is served from it. Restore the latest backup \
         that `noisegate budget verify` accepts, and lower the budgets by what was spent after it"
    )]
    Broken {
        /// The file, or the database and schema.
        place: String,
        /// What was found.
        broken: Broken,
    },
    /// Rows that were there before are gone, or others stand in their place.
    #[error(
        "the ledger {place} has lost entries: this process has seen entry {seen}, which is not there any more (the \
         last one is {found}). Was an older backup restored, or did a standby take over that had not received \
         everything? Nothing more is served from it. Bring those entries back; or lower the budgets by what they \
         spent and start noisegate again"
    )]
    Behind {
        /// The file, or the database and schema.
        place: String,
        /// The last row that was known to be there.
        seen: i64,
        /// The last one that is.
        found: i64,
    },
    /// The mark that is kept outside of the ledger does not fit it.
    #[error(transparent)]
    Mark(#[from] Mismatch),
    /// The file has another name, under which it could be served, too.
    #[error(
        "the ledger {0} has more than one name (a hard link): under another one it has another -wal, and would be another \
         ledger. Remove the others; `find -samefile` lists them"
    )]
    Linked(GivenFile),
    /// The database has no ledger.
    #[error("there is no ledger in {0}; create it once with `noisegate budget create --policy FILE`")]
    NoSchema(String),
    /// `create` found a ledger in the database.
    #[error("{0} has a ledger already; it is never overwritten, because it holds what was spent")]
    HasSchema(String),
    /// The database cannot hold a ledger, or what is there is something else.
    #[error("the ledger {place} is of no use: {why}")]
    Unusable {
        /// The database and schema.
        place: String,
        /// The reason, and what would be right.
        why: String,
    },
    /// A file of the format before this one.
    #[error(
        "{0} was written by an earlier version of noisegate, and this one does not read it. Note what is spent, with \
         `noisegate budget show` of that version; move the file away; lower the budgets of the policy by what is spent; \
         and run `noisegate budget create`"
    )]
    Old(GivenFile),
    /// Cannot be used now.
    #[error("the ledger {place} cannot be reached: {cause}")]
    Unavailable {
        /// The database and schema.
        place: String,
        /// Words of the system or the server.
        cause: String,
    },
    /// A call out of turn: a defect of the program.
    #[error("no batch of the ledger is open")]
    NoBatch,
    /// No thread for the writer.
    #[error("cannot start the ledger's writer: {0}")]
    Thread(String),
}

/// A budget that has no room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The budget's name.
    pub budget: String,
    /// Scope of the budget: who shares it.
    pub scope: Scope,
    /// The sum that has no room.
    pub lacking: Lacking,
    /// When its next window begins, in microseconds since 1970; None where there is none.
    pub next: Option<i64>,
}

impl Lack {
    fn text(&self) -> String {
        let mut text = match &self.lacking {
            // In none of its orders: no number says how much is missing.
            Lacking::Sum(s) if s.needed == u128::MAX => "it needs more than is left".into(),
            Lacking::Sum(s) if s.needed == 0 => {
                let what = if s.of_delta { "its part for private groups" } else { "it" };
                format!("more of {what} is spent than its limit, which was lowered")
            }
            Lacking::Sum(s) => {
                let of = |units: u128| percent(units as f64 / s.limit.max(1) as f64);
                let what = if s.of_delta { "its part for private groups" } else { "it" };
                match (of(s.needed), of(s.left)) {
                    (needed, left) if needed == left => {
                        format!("it needs a little more of {what} than the {left} that are left")
                    }
                    (needed, left) => format!("it needs {needed} of {what}, and {left} is left"),
                }
            }
            Lacking::Uses => "of noise like this, fewer uses are left than it needs".into(),
        };
        if let Some(next) = self.next {
            text.push_str(&format!("; it starts anew on {}", time(next)));
        }
        text
    }
}

/// What a policy would forget, and how to accept that.
fn forgets(changes: &[Change]) -> String {
    let mut text = String::from(
        "the policy is not the one that the ledger was kept under, and would forget what was spent:",
    );
    for change in changes {
        if let Some(why) = &change.forgets {
            text.push_str(&format!("\n  {}: {why}", change.what));
        }
    }
    text.push_str(
        "\nNothing is served under it. Change the policy back; or, if this is meant, accept it in writing: \
         noisegate budget accept --policy FILE --reason \"why\"",
    );
    text
}

/// Why a debit did not happen. Depends on the statement's text and on earlier charges only.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Budgets without room, at least one.
    #[error("{} budget(s) have no room", .0.len())]
    Exhausted(Vec<Lack>),
    /// A budget has no price for such a statement.
    #[error("budget \"{budget}\": {reason}")]
    Unpriced {
        /// Name of the budget.
        budget: String,
        /// Why.
        reason: Unpriced,
    },
    /// No budget covers the user, so nothing would bound what is released.
    #[error("no budget covers user \"{user}\"")]
    NoBudget {
        /// The user.
        user: String,
    },
    /// As many of the user's reads failed in a day as may.
    #[error("the user is suspended")]
    Suspended,
    /// The owner ended it for good.
    #[error("the {what} \"{name}\" is closed")]
    Closed {
        /// "budget" or "stream".
        what: &'static str,
        /// Name of the stream.
        name: String,
    },
    /// The payment for a stream pays for no more questions.
    #[error("the stream \"{stream}\" is over: {end:?}")]
    StreamOver {
        /// Name of the stream.
        stream: String,
        /// Why.
        end: StreamEnd,
    },
    /// A policy that protects others came into force in the ledger since this one was read.
    #[error("another policy came into force in the ledger")]
    Superseded,
    /// The ledger is away, or may not be used any more; the cause is for the operator.
    #[error("the ledger is away: {0}")]
    Away(String),
    /// The ledger's file is not at its place any more: what was written would not be found after a restart.
    #[error("the ledger's file was moved, removed or replaced")]
    Lost,
    /// The ledger could not be written; the cause is for the operator.
    #[error("the ledger cannot be written: {0}")]
    Unavailable(String),
}

/// Why an opening of a stream pays for no more questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// The stream was opened once more, elsewhere.
    Elsewhere,
    /// Another policy came into force.
    Policy,
    /// Budgets started anew: what paid for it was forgotten.
    Anew,
    /// The window of a budget that paid for it has ended.
    Window {
        /// Name of the budget.
        budget: String,
    },
}

impl StreamEnd {
    /// In words that follow a colon.
    pub fn because(&self) -> String {
        match self {
            Self::Elsewhere => "it was opened once more, in another process".into(),
            Self::Policy => "the owner has changed the policy since it was opened".into(),
            Self::Anew => {
                "the owner has accepted a policy under which what paid for it counts no more".into()
            }
            Self::Window { budget } => {
                format!("the window of budget \"{budget}\" in which it was paid for has ended")
            }
        }
    }
}

impl From<&LedgerError> for Refusal {
    fn from(e: &LedgerError) -> Self {
        match e {
            LedgerError::Unavailable { .. }
            | LedgerError::Broken { .. }
            | LedgerError::Behind { .. }
            | LedgerError::Wrong(_)
            | LedgerError::Mark(_)
            | LedgerError::Linked(_)
            | LedgerError::Missing(_)
            | LedgerError::InUse(_) => Self::Away(e.to_string()),
            _ => Self::Unavailable(e.to_string()),
        }
    }
}

impl Refusal {
    /// Whether the ledger failed, so that nothing was decided.
    pub(crate) fn is_failure(&self) -> bool {
        matches!(self, Self::Away(_) | Self::Lost | Self::Unavailable(_))
    }

    /// The client's error.
    pub fn client(&self) -> ClientError {
        match self {
            Self::Exhausted(lacks) => {
                let mut lacks = lacks.iter();
                let message = match lacks.next() {
                    Some(lack) => format!(
                        "privacy budget \"{}\" does not cover this statement: {}",
                        lack.budget,
                        lack.text()
                    ),
                    None => "the privacy budget does not cover this statement".into(),
                };
                let others: Vec<String> = lacks
                    .map(|l| format!("Budget \"{}\" (per {}): {}.", l.budget, l.scope.word(), l.text()))
                    .collect();
                let mut error = ClientError::new(SqlState::BUDGET_EXCEEDED, message).hint(
                    "Ask with a smaller epsilon, ask for fewer releases in one statement, or ask the owner of the data \
                     to raise the budget. Nothing was charged.",
                );
                if !others.is_empty() {
                    error = error.detail(others.join(" "));
                }
                error
            }
            Self::Unpriced { budget, reason } => {
                let hint = match reason {
                    Unpriced::PrivateGroups => {
                        "Group by columns whose values are public (declared in the policy), or ask the owner of the \
                         data for an approx or zcdp budget. Nothing was charged."
                    }
                    Unpriced::Mechanism(_) => {
                        "SET noisegate.mechanism = laplace, or ask the owner of the data for a zcdp budget. Nothing was \
                         charged."
                    }
                    Unpriced::Unbounded => "Nothing was charged.",
                };
                let message = format!("privacy budget \"{budget}\" cannot pay for this statement: {reason}");
                ClientError::new(SqlState::BUDGET_EXCEEDED, message).hint(hint)
            }
            Self::NoBudget { user } => ClientError::new(
                SqlState::BUDGET_EXCEEDED,
                format!("no privacy budget covers user \"{user}\""),
            )
            .hint("The owner of the data can add a [[budget]] for everyone, or give the user a role that has one."),
            Self::Closed { what, name } => ClientError::new(
                SqlState::BUDGET_EXCEEDED,
                format!("the privacy {what} \"{name}\" was closed by the owner of the data"),
            )
            .hint("It pays for nothing any more; the owner of the data can say what takes its place. Nothing was charged."),
            Self::Suspended => ClientError::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                "this user is suspended: too many statements failed while private rows were read",
            )
            .hint("Ask the operator: the log has the causes, and limits.max_backend_errors the limit. Nothing was charged."),
            Self::StreamOver { stream, end } => ClientError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("stream \"{stream}\" answers no more questions: {}", end.because()),
            )
            .detail("Nothing was charged."),
            Self::Superseded => ClientError::incident(
                SqlState::CANNOT_CONNECT_NOW,
                "another policy has come into force, so the statement was not answered",
                &"the ledger was taken over by a policy with another unit or other tables: reload this proxy",
            ),
            Self::Away(cause) => ClientError::incident(
                SqlState::CANNOT_CONNECT_NOW,
                "the privacy ledger cannot be reached, so the statement was not answered",
                cause,
            ),
            Self::Lost => ClientError::incident(
                SqlState::CANNOT_CONNECT_NOW,
                "the privacy ledger is gone, so the statement was not answered",
                &self,
            ),
            Self::Unavailable(cause) => ClientError::incident(
                SqlState::IO_ERROR,
                "the privacy ledger cannot be written, so the statement was not answered",
                cause,
            ),
        }
    }
}

/// Units as a decimal number of six significant digits, rounded up or down.
pub fn decimal(units: u128, up: bool) -> String {
    let digits = units.checked_ilog10().map_or(1, |l| l + 1);
    let drop = 10u128.pow(digits.saturating_sub(6));
    let excess = if up && !units.is_multiple_of(drop) { drop } else { 0 };
    let rounded = (units - units % drop).saturating_add(excess);
    let (whole, fraction) = (rounded / UNITS_PER_ONE, rounded % UNITS_PER_ONE);
    if fraction == 0 {
        return whole.to_string();
    }
    format!("{whole}.{fraction:024}").trim_end_matches('0').to_owned()
}

/// The sum that a budget has no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// Room in a sum.
    Sum(Shortfall),
    /// Uses of a declared mechanism.
    Uses,
}
