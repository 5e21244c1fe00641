//! Answers: the types between the gateway and the frontend, for users, values, rows, notices and
//! errors; and what the sessions of one user share.

mod cancelling;
mod control;
mod copy;
mod cursor;
mod description;
pub mod error;
mod modes;
mod notice;
mod outcome;
mod per_user;

pub use cancelling::{Errand, Errands};
pub use control::Control;
pub use copy::{Copy, ForceQuote};
pub use cursor::{Cursor, Direction, Fetch};
pub use description::{Description, Field, Values};
pub use error::{ClientError, Severity, SqlState};
pub use modes::Modes;
pub use notice::Notice;
pub use outcome::{Outcome, RowStream, text_cells};
pub use per_user::PerUser;

/// An authenticated user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Login name.
    pub user: String,
    /// Role, for budgets per role.
    pub role: Option<String>,
}
