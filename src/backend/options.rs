//! Options of every session at its start, and the proof that it has them.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Which database of which server this is: of copies by pg_basebackup, and of those alone, the numbers are the same.
macro_rules! database {
    () => {
        "pg_catalog.concat('database ', (SELECT oid FROM pg_catalog.pg_database
                           WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()),
           CASE WHEN pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')
                THEN pg_catalog.concat(' of system ', (SELECT system_identifier FROM pg_catalog.pg_control_system()))
           END)"
    };
}

/// An expression that says so.
pub(super) const DATABASE: &str = database!();

/// Three columns: whether the session has the settings that were asked for at its start, [`DATABASE`], and in which life of the server
/// it is answered: when it was started, and the first of its processes that are nobody's sessions, which all are others after
/// a crash.
pub(super) const SESSION_PROOF: &str = concat!(
    "\
SELECT pg_catalog.current_setting('default_transaction_isolation') OPERATOR(pg_catalog.=) 'repeatable read'
   AND pg_catalog.current_setting('default_transaction_read_only') OPERATOR(pg_catalog.=) 'on'
   AND pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.=) 'pg_catalog'
   AND pg_catalog.current_setting('standard_conforming_strings') OPERATOR(pg_catalog.=) 'on'
   AND pg_catalog.current_setting('transform_null_equals') OPERATOR(pg_catalog.=) 'off',
       ",
    database!(),
    ",
       pg_catalog.concat(pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time()), '/',
           (SELECT pg_catalog.min(pid) FROM pg_catalog.pg_stat_activity WHERE datid IS NULL AND usesysid IS NULL))"
);

/// The database that all connections of a login must lead to: that of the first one.
#[derive(Clone, Debug, Default)]
pub(super) struct SameDatabase(Arc<OnceLock<String>>);

impl SameDatabase {
    /// The database, once there was a connection.
    pub(super) fn known(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    /// Judges what a new connection gave for [`SESSION_PROOF`].
    pub(super) fn prove(&self, options_hold: bool, database: Option<&str>) -> Result<(), String> {
        let Some(found) = database.filter(|_| options_hold) else { return Err(OPTIONS_LOST.into()) };
        let known = self.0.get_or_init(|| found.to_owned());
        if known == found {
            return Ok(());
        }
        Err(format!(
            "at this address there is another database now ({found}) than when noisegate started ({known}); if this is \
             meant, restart noisegate"
        ))
    }
}

/// Error when a connection pooler stands between.
pub const OPTIONS_LOST: &str = "the session does not have the settings that were asked for at its start; \
connect to PostgreSQL itself and not to a connection pooler";

pub(super) fn common_options(statement_timeout: Duration) -> Vec<(&'static str, String)> {
    vec![
        ("default_transaction_isolation", "repeatable read".into()),
        ("default_transaction_read_only", "on".into()),
        ("search_path", "pg_catalog".into()),
        ("statement_timeout", statement_timeout.as_millis().to_string()),
        // Printed literals rely on the first, `x = NULL` on the second.
        ("standard_conforming_strings", "on".into()),
        ("transform_null_equals", "off".into()),
        ("client_min_messages", "error".into()),
    ]
}

/// What values look like to a fetch session, whoever asks.
const PINNED: [(&str, &str); 6] = [
    ("TimeZone", "UTC"),
    ("DateStyle", "ISO, MDY"),
    ("IntervalStyle", "postgres"),
    ("extra_float_digits", "1"),
    ("bytea_output", "hex"),
    ("timezone_abbreviations", "Default"),
];

/// Limits of a role or of the server that would end a fetch beside `statement_timeout`, which is ours (soundness rule 51).
const UNLIMITED: [(&str, &str); 2] = [("lock_timeout", "0"), ("idle_in_transaction_session_timeout", "0")];

/// Text of one column: whether a fetch session has them. PostgreSQL 17 has one more limit, of which
/// older ones do not want to hear at the start of a session.
pub(super) fn pinned_proof() -> String {
    let each = PINNED.iter().chain(&UNLIMITED).map(|(name, value)| {
        format!("pg_catalog.current_setting('{name}') OPERATOR(pg_catalog.=) '{value}'")
    });
    let each: Vec<String> = each.collect();
    format!(
        "SELECT {} AND CASE WHEN pg_catalog.current_setting('transaction_timeout', true) IS NULL THEN true
                ELSE pg_catalog.set_config('transaction_timeout', '0', false) OPERATOR(pg_catalog.=) '0' END",
        each.join(" AND ")
    )
}

/// Text of one row when temporary files of this session have a limit, which no login can lift for
/// itself: the role, as SQL names it, and the limit. A fetch would fail by how much it sorts, and
/// an analyst could ask so that one unit's rows decide that (soundness rule 51).
pub(super) const LIMITED: &str = "\
SELECT pg_catalog.quote_ident(SESSION_USER), pg_catalog.current_setting('temp_file_limit')
 WHERE pg_catalog.current_setting('temp_file_limit') OPERATOR(pg_catalog.<>) '-1'";

pub(super) fn fetch_options(
    statement_timeout: Duration,
    work_mem: Option<&str>,
) -> Vec<(&'static str, String)> {
    let mut options = common_options(statement_timeout);
    // Compiling costs tens to hundreds of milliseconds for each of the many expressions of a fetch text, and its
    // use depends on row estimates: time would say more about the data than it has to.
    options.push(("jit", "off".into()));
    // The same for all analysts, and as the proof has them (soundness rule 49): what a text means is in the text.
    options.extend(PINNED.iter().chain(&UNLIMITED).map(|(name, value)| (*name, (*value).to_owned())));
    options.extend(work_mem.map(|w| ("work_mem", w.to_owned())));
    options
}
