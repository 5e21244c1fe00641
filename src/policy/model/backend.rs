//! The database behind the proxy: `[backend]`.

use crate::given::Given;
use schema::Engine;
use std::path::PathBuf;
use std::time::Duration;

/// `[backend]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    /// The engine that answers for the database.
    pub engine: Engine,
    /// Reads private tables.
    pub url: Given<String>,
    /// Can read public tables only.
    pub finish_url: Given<String>,
    /// Reads what it may for passthrough roles, which have no privacy.
    pub passthrough_url: Option<Given<String>>,
    /// Writes randomised reports into the tables of `[collect]`, and reads nothing.
    pub collect_url: Option<Given<String>>,
    /// Passwords of all, where the URLs have none.
    pub password_file: Option<Given<PathBuf>>,
    /// Connections in each of the two pools.
    pub pool: usize,
    /// Statements of one user that run at once on each login.
    pub pool_per_user: u32,
    /// Connections of a user whose statements have kept as many running for a quarter of a minute,
    /// while others ask, too.
    pub pool_per_user_steady: u32,
    /// Longest time that a statement over public tables alone may take, and that its reader may take nothing.
    pub public_timeout: Duration,
    /// `statement_timeout` of backend sessions.
    pub statement_timeout: Duration,
    /// `work_mem` of fetch sessions, for example `64MB`.
    pub work_mem: Option<String>,
    /// File of the schema snapshot, which `check --write-schema` writes, and `explain` reads.
    pub schema: Given<PathBuf>,
}

/// What the sessions that read private rows may take together where the policy does not say.
const FETCH_MEGABYTES: usize = 256;

impl Backend {
    /// `work_mem` of fetch sessions: as the policy says, else as the URL does (None), else 32 MB, and less where a larger pool
    /// shares it. Grouping by unit spills to disk with PostgreSQL's own 4 MB.
    pub fn fetch_work_mem(&self) -> Option<String> {
        let by_default = || {
            let each = (FETCH_MEGABYTES / self.pool.max(1)).clamp(4, 32);
            (!self.url.reveal().contains("work_mem")).then(|| format!("{each}MB"))
        };
        self.work_mem.clone().or_else(by_default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_pool_shares_memory_and_what_is_written_stands() {
        let with = |pool, work_mem: Option<&str>, url: &str| {
            let backend = Backend {
                engine: Engine::default(),
                url: url.into(),
                finish_url: Given::default(),
                passthrough_url: None,
                collect_url: None,
                password_file: None,
                pool,
                pool_per_user: 1,
                pool_per_user_steady: 1,
                public_timeout: Duration::ZERO,
                statement_timeout: Duration::ZERO,
                work_mem: work_mem.map(str::to_owned),
                schema: Given::default(),
            };
            backend.fetch_work_mem()
        };
        let plain = "postgres://a@b/c";
        assert_eq!(with(8, None, plain).as_deref(), Some("32MB"));
        assert_eq!(with(1, None, plain).as_deref(), Some("32MB"));
        assert_eq!(with(20, None, plain).as_deref(), Some("12MB"));
        assert_eq!(with(1000, None, plain).as_deref(), Some("4MB"));
        assert_eq!(with(20, Some("1GB"), plain).as_deref(), Some("1GB"));
        assert_eq!(with(20, None, "postgres://a@b/c?options=-c%20work_mem%3D1MB"), None);
    }
}
