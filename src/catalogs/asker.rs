//! The user who asks, and the session.

/// The user who asks, and what the session knows.
#[derive(Clone, Debug)]
pub struct Asker {
    /// The login.
    pub user: String,
    /// The database's name, as the client wrote it.
    pub database: String,
    /// Other databases that the login may connect to.
    pub databases: Vec<String>,
    /// Schemas that names without one are looked up in, after `pg_catalog`.
    pub path: Vec<String>,
    /// Settings that the session knows the value of, by their names in lower case.
    pub settings: Vec<(String, String)>,
    /// Settings that may be shown, as PostgreSQL writes their names.
    pub readable: Vec<String>,
    /// Number of `pg_backend_pid()`.
    pub pid: i32,
}
