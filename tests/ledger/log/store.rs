//! Logs to test, in a file or in a database of their own.

use crate::support::{TestDb, database};
use noisegate::ledger::LedgerError;
use noisegate::ledger::log::{self, Log, Row, Tip};
use noisegate::policy::{LedgerDatabase, LedgerLocation};
use std::path::PathBuf;
use std::time::Duration;

/// The two kinds of log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Sqlite,
    Postgres,
}

pub const BOTH: [Kind; 2] = [Kind::Sqlite, Kind::Postgres];

/// A log that exists, with one entry.
pub struct Store {
    pub location: LedgerLocation,
    folder: Option<tempfile::TempDir>,
    db: Option<TestDb>,
}

pub const FIRST: &str = r#"{"entry":"created"}"#;

impl Store {
    /// Not made yet.
    pub fn absent(kind: Kind) -> Self {
        match kind {
            Kind::Sqlite => {
                let folder = tempfile::tempdir().unwrap();
                let location = LedgerLocation::Sqlite(folder.path().join("books.db").into());
                Self { location, folder: Some(folder), db: None }
            }
            Kind::Postgres => {
                let db = runtime().block_on(database(""));
                Self { location: in_database(&db.superuser_url), folder: None, db: Some(db) }
            }
        }
    }

    pub fn new(kind: Kind) -> Self {
        let store = Self::absent(kind);
        log::create(&store.location, &[FIRST.to_owned()]).unwrap_or_else(|e| panic!("{kind:?}: {e}"));
        store
    }

    pub fn open(&self) -> Box<dyn Log> {
        open(&self.location).unwrap_or_else(|e| panic!("{e}"))
    }

    /// The ledger's file.
    pub fn file(&self) -> PathBuf {
        self.folder.as_ref().unwrap().path().join("books.db")
    }

    pub fn db(&self) -> &TestDb {
        self.db.as_ref().unwrap()
    }

    /// What somebody does who is not noisegate, with every right.
    pub fn vandalise(&self, sql: &str) {
        match &self.location {
            LedgerLocation::Sqlite(file) => {
                let connection = rusqlite::Connection::open(file).unwrap();
                let triggers: Vec<String> = connection
                    .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
                    .unwrap()
                    .query_map([], |row| row.get(0))
                    .unwrap()
                    .collect::<Result<_, _>>()
                    .unwrap();
                for trigger in triggers {
                    connection.execute_batch(&format!("DROP TRIGGER {trigger}")).unwrap();
                }
                connection.execute_batch(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
            }
            LedgerLocation::Postgres(_) => {
                let sql = format!(
                    "SET session_replication_role = replica; SET search_path = noisegate_ledger, public; {sql}"
                );
                runtime().block_on(self.db().execute(&sql));
            }
        }
    }
}

/// A ledger in the usual schema.
pub fn in_database(url: &str) -> LedgerLocation {
    LedgerLocation::Postgres(LedgerDatabase {
        url: url.into(),
        password_file: None,
        schema: "noisegate_ledger".into(),
        timeout: Duration::from_secs(10),
        mark: std::path::PathBuf::from("/nonexistent/mark").into(),
    })
}

/// The same with another timeout.
pub fn with_timeout(location: &LedgerLocation, timeout: Duration) -> LedgerLocation {
    match location.clone() {
        LedgerLocation::Postgres(database) => {
            LedgerLocation::Postgres(LedgerDatabase { timeout, ..database })
        }
        file => file,
    }
}

pub fn open(location: &LedgerLocation) -> Result<Box<dyn Log>, LedgerError> {
    let mut log = log::open(location)?;
    log.replay(&mut |_| Ok(()))?;
    Ok(log)
}

/// Every row, proven.
pub fn verify(location: &LedgerLocation) -> Result<Vec<Row>, LedgerError> {
    let mut rows = Vec::new();
    let mut visit = |row: &Row| {
        rows.push(row.clone());
        Ok(())
    };
    let tip = log::open_read_only(location)?.replay(&mut visit)?;
    assert_eq!(rows.last().map_or(Tip::START, |row| Tip { id: row.id, hash: row.hash }), tip);
    Ok(rows)
}

/// One batch with these bodies.
pub fn write(log: &mut Box<dyn Log>, bodies: &[&str]) -> Result<Vec<Row>, LedgerError> {
    log.begin(log.tip().id)?;
    let rows = bodies.iter().map(|body| log.append((*body).to_owned())).collect::<Result<Vec<_>, _>>()?;
    log.commit()?;
    Ok(rows)
}

pub fn bodies(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row.body.as_str()).collect()
}

/// For what the support of other tests does in async functions. It lives as long as the process: the clusters' watchdog
/// and connections are on it.
pub fn runtime() -> &'static tokio::runtime::Runtime {
    static RUNTIME: std::sync::OnceLock<tokio::runtime::Runtime> = std::sync::OnceLock::new();
    RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
    })
}
