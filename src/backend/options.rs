//! What every session is set to at its start, and the proof that it is.

use std::time::Duration;

/// True where a session has the settings that were asked for at its start.
pub(super) const OPTIONS_HOLD: &str = "\
SELECT pg_catalog.current_setting('default_transaction_isolation') OPERATOR(pg_catalog.=) 'repeatable read'
   AND pg_catalog.current_setting('default_transaction_read_only') OPERATOR(pg_catalog.=) 'on'
   AND pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.=) 'pg_catalog'
   AND pg_catalog.current_setting('standard_conforming_strings') OPERATOR(pg_catalog.=) 'on'
   AND pg_catalog.current_setting('transform_null_equals') OPERATOR(pg_catalog.=) 'off'";

/// What is said where a connection pooler stands between.
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

pub(super) fn fetch_options(
    statement_timeout: Duration,
    work_mem: Option<&str>,
) -> Vec<(&'static str, String)> {
    let mut options = common_options(statement_timeout);
    // Compiling costs tens to hundreds of milliseconds for each of the many expressions of a fetch text, and its
    // use depends on row estimates: time would say more about the data than it has to.
    options.push(("jit", "off".into()));
    options.extend(work_mem.map(|w| ("work_mem", w.to_owned())));
    options
}
