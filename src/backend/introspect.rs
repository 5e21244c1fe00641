//! Reads the schema snapshot from PostgreSQL's catalogs: no rows, no statistics, no privilege on any table.
//!
//! What it reads decides what keys and bounds prove (soundness rule 7), so it errs on the side of proving less:
//! an index that compares differently from `=`, a NOT NULL that was never validated, a CHECK of a form not
//! known here, all prove nothing. [`fingerprint_sql`] prints the same definitions as one hash, so that a fetch
//! can notice, inside its own transaction, that what was planned on has changed.

use schema::{Check, Column, Engine, ForeignKey, Key, Placement, Relation, RelationKind, Schema, SqlType};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use tokio_postgres::{Client, Row};

mod checks;
mod error;
mod reach;
mod texts;
mod watch;

pub use error::IntrospectError;
pub use reach::{behind, database};
pub use texts::fingerprint_sql;
pub use watch::watch;

use texts::{HAS_CITUS, PLACEMENTS, schema_sql};

/// Oldest and newest `server_version_num`, without minor version, that noisegate was built for.
const VERSIONS: std::ops::RangeInclusive<u32> = 13..=18;

/// The value of [`fingerprint_sql`] now.
pub async fn fingerprint(client: &Client, tables: &[u32], engine: Engine) -> Result<String, IntrospectError> {
    Ok(client.query_one(&fingerprint_sql(tables, engine), &[]).await?.try_get(0)?)
}

/// Reads the schema in a transaction of its own; `client` must not be inside one.
pub async fn read_schema(client: &Client) -> Result<Schema, IntrospectError> {
    // ISO and UTC, because bounds of CHECK constraints are printed in the session's style; pg_catalog alone on
    // the path, because names and operators from elsewhere are then printed with their schema.
    client
        .batch_execute(
            "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; \
             SET LOCAL search_path = pg_catalog; SET LOCAL DateStyle = ISO; SET LOCAL TimeZone = 'UTC'",
        )
        .await?;
    let schema = read_in_transaction(client).await;
    // What the transaction did was read: after an error of the query, its own report matters, not this one's.
    let ended = client.batch_execute("ROLLBACK").await;
    let schema = schema?;
    ended?;
    Ok(schema)
}

async fn read_in_transaction(client: &Client) -> Result<Schema, IntrospectError> {
    let settings = client
        .query_one(
            "select pg_catalog.current_setting('server_version_num'), \
             pg_catalog.current_setting('server_version'), pg_catalog.current_setting('server_encoding')",
            &[],
        )
        .await?;
    let number: String = settings.try_get(0)?;
    let server_version = number.parse::<u32>().ok().filter(|v| VERSIONS.contains(&(v / 10_000)));
    let Some(server_version) = server_version else {
        return Err(IntrospectError::Version(settings.try_get(1)?));
    };
    let encoding: String = settings.try_get(2)?;
    if encoding != "UTF8" {
        return Err(IntrospectError::Encoding(encoding));
    }
    let rows = client.query(&schema_sql(), &[]).await?;
    let mut relations = rows.iter().map(relation).collect::<Result<Vec<Relation>, _>>()?;
    let is_citus: bool = client.query_one(HAS_CITUS, &[]).await?.try_get(0)?;
    let engine = if is_citus { Engine::Citus } else { Engine::Postgresql };
    if is_citus {
        let placements = client.query(PLACEMENTS, &[]).await?;
        let placements =
            placements.iter().map(placement).collect::<Result<HashMap<u32, Placement>, IntrospectError>>()?;
        relations.iter_mut().for_each(|r| r.placement = placements.get(&r.oid).cloned());
    }
    Ok(Schema { server_version, engine, relations })
}

fn placement(row: &Row) -> Result<(u32, Placement), IntrospectError> {
    let (method, column): (&str, Option<String>) = (row.try_get(1)?, row.try_get(2)?);
    let placement = match (method, column) {
        ("hash", Some(column)) => Placement::Hash { column, group: row.try_get(3)? },
        ("reference", _) => Placement::Reference,
        _ => Placement::Other,
    };
    Ok((row.try_get(0)?, placement))
}

fn relation(row: &Row) -> Result<Relation, IntrospectError> {
    let kind: String = row.try_get(3)?;
    let kind = match (kind.as_str(), row.try_get(5)?) {
        ("r", true) => RelationKind::InheritanceParent,
        ("p", _) => RelationKind::Partitioned,
        ("v", _) => RelationKind::View,
        ("m", _) => RelationKind::MaterializedView,
        ("f", _) => RelationKind::Foreign,
        _ => RelationKind::Table,
    };
    let columns: Vec<Column> = list::<ColumnRow>(row, 6)?.into_iter().map(column).collect();
    let definitions: Vec<String> = list(row, 9)?;
    Ok(Relation {
        oid: row.try_get(0)?,
        schema: row.try_get(1)?,
        name: row.try_get(2)?,
        kind,
        row_security: row.try_get(4)?,
        keys: list::<KeyRow>(row, 7)?.into_iter().map(key).collect(),
        foreign_keys: list::<ForeignKey>(row, 8)?,
        foreign_part: row.try_get(10)?,
        placement: None,
        checks: definitions.iter().flat_map(|d| checks::parse(d, &columns)).collect::<Vec<Check>>(),
        columns,
    })
}

/// A JSON array in a column of text; NULL (an aggregate over nothing) is an empty one.
fn list<T: DeserializeOwned>(row: &Row, index: usize) -> Result<Vec<T>, IntrospectError> {
    match row.try_get::<_, Option<&str>>(index)? {
        Some(json) => Ok(serde_json::from_str(json)?),
        None => Ok(Vec::new()),
    }
}

#[derive(Deserialize)]
struct ColumnRow {
    name: String,
    attnum: i16,
    oid: u32,
    typmod: i32,
    #[serde(rename = "type")]
    ty: String,
    not_null: bool,
    deterministic: bool,
    #[serde(rename = "virtual")]
    virtual_expression: bool,
    labels: Option<Vec<String>>,
}

fn column(row: ColumnRow) -> Column {
    let ty = match &row.labels {
        Some(_) => SqlType::Enum { oid: row.oid, name: row.ty },
        None => SqlType::from_oid(row.oid, row.typmod, &row.ty),
    };
    // A negative scale (PostgreSQL 15) lifts the limit that the precision sets; SqlType does not carry it.
    let precise = matches!(ty, SqlType::Numeric { .. }) && row.typmod >= 4 && (row.typmod - 4) & 0x400 == 0;
    Column {
        name: row.name,
        attnum: row.attnum,
        // The upper half of the typmod less its header, see numeric_typmod_precision() in PostgreSQL.
        numeric_precision: precise.then(|| ((row.typmod - 4) >> 16) as u16),
        ty,
        virtual_expression: row.virtual_expression,
        not_null: row.not_null,
        deterministic_collation: row.deterministic,
        enum_labels: row.labels,
    }
}

#[derive(Deserialize)]
struct KeyRow {
    columns: Option<Vec<Option<String>>>,
    primary: bool,
    valid: bool,
    immediate: bool,
    partial: bool,
}

fn key(row: KeyRow) -> Key {
    // A nameless key column would be a system column: none of this proves anything then.
    let columns = row.columns.and_then(|names| names.into_iter().collect::<Option<Vec<_>>>());
    Key {
        columns: columns.unwrap_or_default(),
        primary: row.primary,
        valid: row.valid,
        immediate: row.immediate,
        partial: row.partial,
    }
}
