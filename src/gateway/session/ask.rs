//! An immutable view of a session, by which its statements are answered.

use super::settings::SessionSettings;
use crate::gateway::private::stream::Reopening;
use crate::gateway::way::report::Encoder;
use crate::gateway::{Databases, Gateway};
use answer::Identity;
use backend::Asker;
use emit::print::Constants;
use std::sync::Arc;

/// A view of a session: its user, its gateway, its settings. No field changes while a statement is
/// answered.
#[derive(Clone, Copy)]
pub struct Ask<'s> {
    /// Policy, database and books.
    pub gateway: &'s Arc<Gateway>,
    /// The user and the role.
    pub identity: &'s Identity,
    /// The session's settings.
    pub settings: &'s SessionSettings,
    /// The name of the database.
    pub database: &'s str,
    /// All databases of the port.
    pub databases: &'s Databases,
    /// `now()` of the transaction that is open.
    pub transaction_start: Option<&'s str>,
    /// A query was asked, or prepared, in that transaction.
    pub queried: bool,
    /// The number by which the client cancels.
    pub pid: i32,
    /// Encoders of what the session has written.
    pub encoders: &'s [Arc<Encoder>],
    /// Streams that the next question may open again.
    pub reopening: &'s Reopening,
}

impl<'s> Ask<'s> {
    /// On whose behalf a statement runs on the database.
    pub fn behalf(&self, public: bool) -> Asker<'s> {
        Asker { user: &self.identity.user, public }
    }

    /// The constants of a statement that begins now.
    pub fn constants(&self) -> Constants {
        Constants {
            now: self.transaction_start.map_or_else(now, str::to_owned),
            user: self.identity.user.clone(),
            database: self.database.to_owned(),
            schema: self.search_path().into_iter().next(),
            own: Vec::new(),
        }
    }
}

/// The moment, as text that casts to timestamptz.
pub fn now() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    // 2000-01-01 is 946,684,800 seconds after 1970-01-01.
    let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX) - 946_684_800 * 1_000_000;
    format!("{}+00", schema::time::timestamp(micros))
}
