//! Facts about the policy's tables in the database: how large they are, which indexes and
//! statistics they have, and what the planner of PostgreSQL thinks. Read by their owner.

use crate::cli::database;
use ::policy::{Policy, Table};
use plan::expr::print::ident;
use std::collections::HashMap;
use tokio_postgres::{Client, SimpleQueryMessage};

/// Of all tables, and the connection for more.
pub struct Facts<'c> {
    client: &'c Client,
    tables: HashMap<u32, TableFacts>,
}

/// Of one table.
pub struct TableFacts {
    /// Rows, as PostgreSQL last counted; None where it never did.
    pub rows: Option<f64>,
    /// Declaratively partitioned.
    pub partitioned: bool,
    pub indexes: Vec<Index>,
    /// Columns of each of its statistics of distinct values.
    statistics: Vec<Vec<String>>,
}

/// An index.
pub struct Index {
    pub name: String,
    /// Columns in order, without those that the index only includes; empty where it has
    /// expressions.
    pub columns: Vec<String>,
    /// Those that it only includes.
    included: Vec<String>,
    /// The index can be used for all rows.
    pub whole: bool,
    /// The index was made to its end.
    pub valid: bool,
}

impl TableFacts {
    /// Whether a usable index begins with these columns, in whatever order.
    pub fn is_indexed(&self, columns: &[String]) -> bool {
        let begins = |i: &Index| {
            let first = i.columns.get(..columns.len());
            i.whole && i.valid && first.is_some_and(|first| columns.iter().all(|c| first.contains(c)))
        };
        self.indexes.iter().any(begins)
    }

    /// Whether a usable index begins with this column and has all of the others.
    pub fn is_covered(&self, first: &str, others: &[String]) -> bool {
        let covers = |i: &Index| {
            let has = |c: &String| i.columns.contains(c) || i.included.contains(c);
            i.whole && i.valid && i.columns.first().is_some_and(|c| c == first) && others.iter().all(has)
        };
        self.indexes.iter().any(covers)
    }

    /// Whether there are statistics of the distinct values of these columns together.
    pub fn has_statistics(&self, columns: &[&str]) -> bool {
        self.statistics.iter().any(|s| columns.iter().all(|c| s.iter().any(|have| have == c)))
    }
}

const TABLES: &str =
    "SELECT c.oid, c.reltuples::float8, c.relkind = 'p' FROM pg_catalog.pg_class AS c WHERE c.oid = ANY ($1)";

const INDEXES: &str = "SELECT i.indrelid, x.relname::text, i.indisvalid AND i.indisready, i.indpred IS NULL AND i.indexprs IS NULL AND am.amname = 'btree',
    i.indnkeyatts::int4, ARRAY(SELECT a.attname::text FROM pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY AS k(n, place)
        JOIN pg_catalog.pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.n ORDER BY k.place)
    FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS x ON x.oid = i.indexrelid JOIN pg_catalog.pg_am AS am ON am.oid = x.relam
    WHERE i.indrelid = ANY ($1)";

const STATISTICS: &str = "SELECT s.stxrelid, ARRAY(SELECT a.attname::text FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid = s.stxrelid AND a.attnum = ANY (s.stxkeys::int2[]))
    FROM pg_catalog.pg_statistic_ext AS s WHERE s.stxrelid = ANY ($1) AND 'd' = ANY (s.stxkind)";

impl<'c> Facts<'c> {
    /// Reads catalogs; no row.
    pub async fn read(client: &'c Client, policy: &Policy) -> Result<Self, String> {
        let oids: Vec<u32> = policy.tables.iter().map(|t| t.oid).collect();
        let said = |e: tokio_postgres::Error| database::reason(&e);
        let mut tables = HashMap::new();
        for row in client.query(TABLES, &[&oids]).await.map_err(said)? {
            let rows: f64 = row.try_get(1).map_err(said)?;
            let rows = Some(rows).filter(|rows| *rows >= 0.0);
            let facts = TableFacts {
                rows,
                partitioned: row.try_get(2).map_err(said)?,
                indexes: Vec::new(),
                statistics: Vec::new(),
            };
            tables.insert(row.try_get::<_, u32>(0).map_err(said)?, facts);
        }
        for row in client.query(INDEXES, &[&oids]).await.map_err(said)? {
            let (whole, keys): (bool, i32) = (row.try_get(3).map_err(said)?, row.try_get(4).map_err(said)?);
            let all: Vec<String> = row.try_get(5).map_err(said)?;
            let keys = usize::try_from(keys).unwrap_or(0).min(all.len());
            let (columns, included) = all.split_at(keys);
            let index = Index {
                name: row.try_get(1).map_err(said)?,
                valid: row.try_get(2).map_err(said)?,
                whole,
                columns: columns.to_vec(),
                included: included.to_vec(),
            };
            if let Some(table) = tables.get_mut(&row.try_get::<_, u32>(0).map_err(said)?) {
                table.indexes.push(index);
            }
        }
        for row in client.query(STATISTICS, &[&oids]).await.map_err(said)? {
            if let Some(table) = tables.get_mut(&row.try_get::<_, u32>(0).map_err(said)?) {
                table.statistics.push(row.try_get(1).map_err(said)?);
            }
        }
        Ok(Self { client, tables })
    }

    /// Facts about a table.
    pub fn table(&self, table: &Table) -> Option<&TableFacts> {
        self.tables.get(&table.oid)
    }

    /// Number of rows that PostgreSQL expects of a query.
    pub async fn expected(&self, query: &str) -> Result<f64, String> {
        let told = self.client.simple_query(&format!("EXPLAIN (FORMAT JSON) {query}")).await;
        let told = told.map_err(|e| database::reason(&e))?;
        let text = told.iter().find_map(|m| match m {
            SimpleQueryMessage::Row(row) => row.try_get(0).ok().flatten(),
            _ => None,
        });
        let plan: Option<serde_json::Value> = text.and_then(|text| serde_json::from_str(text).ok());
        let rows = plan.and_then(|plan| plan.pointer("/0/Plan/Plan Rows")?.as_f64());
        rows.ok_or_else(|| "PostgreSQL's EXPLAIN tells no number of rows".into())
    }

    /// The number that a query gives: exact, and for its owner.
    pub async fn count(&self, query: &str) -> Result<i64, String> {
        let row = self.client.query_one(query, &[]).await.map_err(|e| database::reason(&e))?;
        row.try_get(0).map_err(|e| database::reason(&e))
    }
}

/// A table as SQL names it.
pub fn qualified(table: &Table) -> String {
    let only = if table.only { "ONLY " } else { "" };
    format!("{only}{}.{}", ident(&table.schema), ident(&table.name))
}
