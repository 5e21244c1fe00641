//! Citus: what a fetch has to show before it is paid for, and what is true on the servers that hold the rows.
//!
//! Servers of Citus share no snapshot, so that a statement which reads private rows twice, in two subplans, may see one
//! unit in two states; bounds of what a unit adds would hold of neither. All of a unit's rows are on one server
//! (`policy::placement`), and a server runs its part of *one* subplan as one statement, in one snapshot. So a fetch is sound where
//! one subplan reads all private rows, and nothing above it adds up a unit's parts: `Spread::prove` reads this from EXPLAIN.
//! A text that Citus cannot run is refused there, and a server that is away is found by a statement that reads no row. Nothing
//! was paid for then.

mod plan;
mod shards;

pub use shards::{CHECK, finish_login_on_servers, unproven_placement};

use crate::connection::FetchClient;
use crate::error::{FetchError, cause, early, place};
use crate::text::FetchText;
use futures::future::{join, join_all};
use postgres_types::{FromSql, ToSql, Type};
use schema::quoted::ident;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio_postgres::{Client, Error};

/// Facts about the tables of a fetch that Citus spreads.
#[derive(Clone, Debug)]
pub(crate) struct Spread(Arc<Facts>);

#[derive(Debug)]
struct Facts {
    /// Shards of reference tables, which hold nothing private.
    whole: BTreeSet<i64>,
    /// A statement that every server answers, and that reads no row.
    probe: Option<String>,
}

/// Shards of reference tables.
const WHOLE: &str = "select s.shardid from pg_catalog.pg_dist_shard s \
    join pg_catalog.pg_dist_partition p on p.logicalrelid = s.logicalrelid where p.partmethod = 'n' and p.repmodel = 't'";

impl Spread {
    /// Reads what is known of these tables.
    pub(crate) async fn read(client: &Client, tables: &[u32]) -> Result<Self, Error> {
        let whole = client.query(WHOLE, &[]).await?;
        let whole = whole.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
        let spread = "select n.nspname::text, c.relname::text from pg_catalog.pg_dist_partition p \
            join pg_catalog.pg_class c on c.oid = p.logicalrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace \
            where p.partmethod = 'h' and c.oid = any ($1) order by c.oid limit 1";
        let spread = client.query_opt(spread, &[&tables]).await?;
        let probe = spread.map(|row| {
            let (schema, name): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
            Ok::<_, Error>(format!("SELECT FROM {}.{} LIMIT 0", ident(schema), ident(name)))
        });
        Ok(Self(Arc::new(Facts { whole, probe: probe.transpose()? })))
    }

    /// Proves of the texts of a fetch that each unit's rows are read in one snapshot, by plans that the transaction makes,
    /// and that all servers answer. What this connection has proven is not proven again: a change of what it rests on is one of
    /// the schema.
    ///
    /// # Errors
    /// Citus refuses a text, a server is away, or the proof fails. No private row was read.
    pub(crate) async fn prove(
        &self,
        connection: &FetchClient,
        texts: &[FetchText],
    ) -> Result<(), FetchError> {
        let probe = async {
            if let Some(probe) = &self.0.probe {
                let probe = connection.prepared(probe).await.map_err(away)?;
                connection.client.query(&probe, &[]).await.map_err(away)?;
            }
            Ok(())
        };
        let proofs = texts.iter().map(|text| self.prove_one(connection, text));
        let (probe, proofs): (Result<(), FetchError>, Vec<Result<(), FetchError>>) =
            join(probe, join_all(proofs)).await;
        probe?;
        proofs.into_iter().collect()
    }

    async fn prove_one(&self, connection: &FetchClient, text: &FetchText) -> Result<(), FetchError> {
        let sql = text.certified.text();
        if connection.is_proven(sql) {
            return Ok(());
        }
        let explain = format!("EXPLAIN (FORMAT JSON, COSTS OFF) {sql}");
        let params = text.params.iter().map(|p| (p as &(dyn ToSql + Sync), p.ty())).collect::<Vec<_>>();
        let rows = connection.client.query_typed(&explain, &params).await.map_err(away)?;
        let plan = match rows.as_slice() {
            [row] => row.try_get::<_, Json>(0).map_err(away)?.0,
            _ => Value::Null,
        };
        plan::proves(&plan, &self.0.whole, text.certified.keys)
            .map_err(|why| FetchError::Spread(why.into()))?;
        connection.note_proven(sql);
        Ok(())
    }
}

/// The answer of EXPLAIN.
struct Json(Value);

impl<'r> FromSql<'r> for Json {
    fn from_sql(_: &Type, raw: &'r [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(serde_json::from_slice(raw)?))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::JSON
    }
}

/// An error before the first private row: what Citus does not run is told as that.
fn away(e: Error) -> FetchError {
    match e.as_db_error().map(|db| db.code().code()) {
        Some("0A000") => FetchError::Spread(cause(&e)),
        _ if is_of_a_server(&e) => FetchError::Unreachable(place(&e)),
        _ => early(e),
    }
}

/// Whether the coordinator tells that another server is away, or ended a session: of these it has an internal error, too.
pub(crate) fn is_of_a_server(e: &Error) -> bool {
    let code = e.as_db_error().map_or("", |db| db.code().code());
    code.starts_with("08") || ["XX000", "57P01", "57P02", "57P03"].contains(&code)
}
