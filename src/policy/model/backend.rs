//! The database behind the proxy: `[backend]`.

use std::path::PathBuf;
use std::time::Duration;

/// `[backend]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    /// Reads private tables.
    pub url: String,
    /// Can read public tables only.
    pub finish_url: String,
    /// Reads what it may for passthrough roles, which have no privacy.
    pub passthrough_url: Option<String>,
    /// Passwords of both, where the URLs have none.
    pub password_file: Option<PathBuf>,
    /// Connections in each of the two pools.
    pub pool: usize,
    /// `statement_timeout` of backend sessions.
    pub statement_timeout: Duration,
    /// `work_mem` of fetch sessions, for example `64MB`.
    pub work_mem: Option<String>,
    /// Where `check --write-schema` puts the schema snapshot, and `explain` reads it.
    pub schema: PathBuf,
}
