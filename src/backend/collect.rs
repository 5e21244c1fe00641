//! The login that writes randomised reports: INSERT into the tables of `[collect]`, and nothing else.
//!
//! It has a pool of its own and is no part of [`Backend`]: who holds a backend cannot write. Nothing gets here that was not
//! randomised before.

use super::connect::{ConnectError, database_of};
use super::error::cause;
use super::login::Login;
use super::options::common_options;
use super::pool::{Backend, pool};
use deadpool::managed::{Manager, Metrics, Pool, RecycleError, RecycleResult};
use schema::quoted::ident;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Transaction, types::ToSql};

const KEY: &str = "collect_url";

/// Which database a session is in; as [`database_of`] has it.
const DATABASE: &str = "\
SELECT datname::pg_catalog.text || ' (oid ' || oid::pg_catalog.text || ')'
  FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()";

/// A table and its columns, as the policy has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Schema, unquoted.
    pub schema: String,
    /// Name, unquoted.
    pub table: String,
    /// Columns, unquoted, in the order of the cells of a report.
    pub columns: Vec<String>,
    /// The table that remembers its batches, unquoted, where reports arrive in batches.
    pub batches: Option<String>,
}

impl Target {
    /// The tables that are written, as SQL has them.
    fn names(&self) -> impl Iterator<Item = String> {
        let all = [Some(&self.table), self.batches.as_ref()].into_iter().flatten();
        all.map(|table| quoted(self, table))
    }
}

/// A commit is on disk when it is acknowledged, whatever the server thinks is enough for others: a report that was acknowledged is
/// sent by nobody again.
const DURABLE: &str = "\
SELECT pg_catalog.set_config('synchronous_commit', 'on', false)
 WHERE pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'off'";

/// The cells of one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cells {
    /// int4
    Symbols(Vec<i32>),
    /// bytea
    Bits(Vec<Box<[u8]>>),
}

/// Reports that arrived together, and are stored once, however often they arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Id of the batch: hexadecimal digits of 16 bytes.
    pub id: String,
    /// Number of its reports that are stored.
    pub reports: i32,
    /// Number of reports that could not be opened, and are not stored.
    pub left_out: i32,
    /// The batch has fewer reports than one should.
    pub small: bool,
}

/// Why reports were not stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing was stored.
    #[error("{0}")]
    Nothing(String),
    /// The connection was lost while the transaction was being committed.
    #[error("{0}")]
    Unknown(String),
}

struct Writing(Login);

struct Written {
    client: Client,
    task: JoinHandle<()>,
}

impl Drop for Written {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Manager for Writing {
    type Type = Written;
    type Error = String;

    async fn create(&self) -> Result<Written, String> {
        let (client, connection) = self.0.connect().await.map_err(|e| cause(&e))?;
        let task = tokio::spawn(async move {
            if let Err(e) = connection.await {
                tracing::debug!(cause = %cause(&e), "a connection that writes reports was lost");
            }
        });
        let written = Written { client, task };
        written.client.batch_execute(DURABLE).await.map_err(|e| cause(&e))?;
        Ok(written)
    }

    async fn recycle(&self, made: &mut Written, _: &Metrics) -> RecycleResult<String> {
        if made.client.is_closed() || made.task.is_finished() {
            return Err(RecycleError::message("closed"));
        }
        Ok(())
    }
}

/// A database by the login that writes reports.
pub struct Reports(Pool<Writing>);

impl Reports {
    /// Connects the login, where the policy names one, to the database of `backend`.
    ///
    /// # Errors
    /// [`ConnectError`], with what to do.
    pub async fn connect(policy: &policy::Backend, backend: &Backend) -> Result<Option<Self>, ConnectError> {
        let Some(url) = &policy.collect_url else { return Ok(None) };
        let unusable = |cause| ConnectError::Url { key: KEY, cause };
        let url = policy::with_password(url, policy.password_file.as_ref()).map_err(unusable)?;
        let timeout = policy.statement_timeout;
        let mut options = common_options(timeout);
        options.retain(|(name, _)| !name.starts_with("default_transaction"));
        let login = Login::parse(&url, &options, timeout).map_err(unusable)?;
        let user = login.shown.clone();
        let reports = Self(pool(Writing(login), policy.pool).map_err(unusable)?);
        let away = |cause| ConnectError::Unreachable { key: KEY, user: user.clone(), cause };
        let connection = reports.0.get().await.map_err(|e| away(e.to_string()))?;
        let row = connection.client.query_one(DATABASE, &[]).await.map_err(|e| away(cause(&e)))?;
        let other: String = row.try_get(0).map_err(|e| away(cause(&e)))?;
        let own = database_of(&backend.finish).await.map_err(unusable)?;
        match own == other {
            true => Ok(Some(reports)),
            false => Err(unusable(format!("it leads to database {other}, and finish_url to {own}"))),
        }
    }

    /// Rights that the login lacks, or has and must not have, in words for the owner.
    ///
    /// # Errors
    /// The database could not be asked.
    pub async fn problems(&self, targets: &[Target]) -> Result<Vec<String>, String> {
        let connection = self.0.get().await.map_err(|e| e.to_string())?;
        let mut problems = Vec::new();
        for name in targets.iter().flat_map(Target::names) {
            let sql = "SELECT pg_catalog.has_table_privilege($1::pg_catalog.text, 'INSERT'), \
                              pg_catalog.has_any_column_privilege($1::pg_catalog.text, 'SELECT')";
            let row = connection.client.query_one(sql, &[&name]).await.map_err(|e| cause(&e))?;
            let (insert, select): (bool, bool) =
                (row.try_get(0).map_err(|e| cause(&e))?, row.try_get(1).map_err(|e| cause(&e))?);
            if !insert {
                problems.push(format!(
                    "backend.collect_url may not write to {name}: GRANT INSERT ON {name} TO it"
                ));
            }
            if select {
                problems.push(format!(
                    "backend.collect_url can read {name}: it is to write only. Use a login that owns nothing, is no superuser, \
                     and has INSERT alone"
                ));
            }
        }
        Ok(problems)
    }

    /// Writes reports, all or none: for each target its columns, whose cells at one place are one report.
    ///
    /// # Errors
    /// [`StoreError`]; its text is the operator's.
    pub async fn store(&self, reports: &[(Target, Vec<Cells>)]) -> Result<(), StoreError> {
        let mut connection = self.0.get().await.map_err(|e| StoreError::Nothing(e.to_string()))?;
        let transaction = connection.client.transaction().await.map_err(|e| nothing(&e))?;
        for (target, columns) in reports {
            insert(&transaction, target, columns).await?;
        }
        commit(transaction).await
    }

    /// Writes a batch to a target that remembers batches, whole, unless it was written before.
    /// Returns whether it was written now. The batch's id is written by the same transaction as its
    /// reports, under a unique key: a client that dies anywhere in between, and sends it again,
    /// stores it once.
    ///
    /// # Errors
    /// [`StoreError`]; its text is the operator's.
    pub async fn store_batch(
        &self,
        batch: &Batch,
        target: &Target,
        columns: &[Cells],
    ) -> Result<bool, StoreError> {
        let Some(table) = &target.batches else {
            return Err(StoreError::Nothing(format!(
                "{} remembers no batches",
                quoted(target, &target.table)
            )));
        };
        let mut connection = self.0.get().await.map_err(|e| StoreError::Nothing(e.to_string()))?;
        let transaction = connection.client.transaction().await.map_err(|e| nothing(&e))?;
        // Without a conflict target, which would need the right to read it. Who writes the same id meanwhile is waited for.
        let sql = format!(
            "INSERT INTO {} (batch, reports, left_out, small) \
             VALUES ($1::pg_catalog.text::pg_catalog.uuid, $2, $3, $4) ON CONFLICT DO NOTHING",
            quoted(target, table)
        );
        let row: [&(dyn ToSql + Sync); 4] = [&batch.id, &batch.reports, &batch.left_out, &batch.small];
        if transaction.execute(&sql, &row).await.map_err(|e| nothing(&e))? == 0 {
            transaction.rollback().await.map_err(|e| nothing(&e))?;
            return Ok(false);
        }
        insert(&transaction, target, columns).await?;
        commit(transaction).await?;
        Ok(true)
    }
}

fn nothing(e: &tokio_postgres::Error) -> StoreError {
    StoreError::Nothing(cause(e))
}

async fn insert(transaction: &Transaction<'_>, target: &Target, columns: &[Cells]) -> Result<(), StoreError> {
    let names: Vec<String> = target.columns.iter().map(|c| ident(c)).collect();
    let array = |(i, cells): (usize, &Cells)| match cells {
        Cells::Symbols(_) => format!("${}::pg_catalog.int4[]", i + 1),
        Cells::Bits(_) => format!("${}::pg_catalog.bytea[]", i + 1),
    };
    let arrays: Vec<String> = columns.iter().enumerate().map(array).collect();
    let sql = format!(
        "INSERT INTO {} ({}) SELECT * FROM unnest({})",
        quoted(target, &target.table),
        names.join(", "),
        arrays.join(", ")
    );
    let value = |cells: &Cells| match cells {
        Cells::Symbols(symbols) => Box::new(symbols.clone()) as Box<dyn ToSql + Sync + Send>,
        Cells::Bits(bits) => Box::new(bits.iter().map(|b| b.to_vec()).collect::<Vec<Vec<u8>>>()),
    };
    let values: Vec<Box<dyn ToSql + Sync + Send>> = columns.iter().map(value).collect();
    let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|v| &**v as &(dyn ToSql + Sync)).collect();
    transaction.execute(&sql, &values).await.map_err(|e| nothing(&e))?;
    Ok(())
}

async fn commit(transaction: Transaction<'_>) -> Result<(), StoreError> {
    transaction.commit().await.map_err(|e| match e.as_db_error() {
        Some(_) => StoreError::Nothing(cause(&e)),
        None => StoreError::Unknown(cause(&e)),
    })
}

/// A table beside the target's, or its own.
fn quoted(t: &Target, table: &str) -> String {
    format!("{}.{}", ident(&t.schema), ident(table))
}
