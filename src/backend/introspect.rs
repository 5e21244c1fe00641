//! Reads the schema snapshot from PostgreSQL's catalogs: no rows, no statistics, no privilege on any table.
//!
//! What it reads decides what keys and bounds prove (soundness rule 7), so it errs on the side of proving less:
//! an index that compares differently from `=`, a NOT NULL that was never validated, a CHECK of a form not
//! known here, all prove nothing. [`fingerprint_sql`] prints the same definitions as one hash, so that a fetch
//! can notice, inside its own transaction, that what was planned on has changed.

use schema::{Check, Column, ForeignKey, Key, Relation, RelationKind, Schema, SqlType};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio_postgres::{Client, Row};

mod checks;
mod reach;
mod watch;

pub use reach::{behind, database};
pub use watch::watch;

/// Oldest and newest `server_version_num`, without minor version, that noisegate was built for.
const VERSIONS: std::ops::RangeInclusive<u32> = 13..=18;

/// Why the schema could not be read.
#[derive(Debug, thiserror::Error)]
pub enum IntrospectError {
    /// A catalog query failed, or the connection did.
    #[error("cannot read the catalogs: {}", describe(.0))]
    Query(#[from] tokio_postgres::Error),
    /// The server is not PostgreSQL 13 to 18.
    #[error("the server says it is version {0}; noisegate works with PostgreSQL 13 to 18")]
    Version(String),
    /// The database is not UTF8.
    #[error("the database's encoding is {0}; noisegate works with UTF8 (createdb -E UTF8 -T template0)")]
    Encoding(String),
    /// A catalog query returned what its text does not allow.
    #[error("a catalog query returned something unexpected: {0}")]
    Decode(#[from] serde_json::Error),
}

/// The server's own message where there is one: `tokio_postgres::Error` prints only "db error".
fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(db) => format!("{} (SQLSTATE {})", db.message(), db.code().code()),
        None => error.to_string(),
    }
}

/// Column definitions of relation `c`. The type is that under all domains, whose NOT NULL proves nothing (an
/// outer join or a failed scalar subquery puts NULL into a domain column). In PostgreSQL 18 `attnotnull` is set
/// for constraints that were never validated, too.
const COLUMNS: &str = r#"(select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
    'name', a.attname, 'attnum', a.attnum, 'oid', b.oid::int8, 'typmod', b.typmod,
    'type', pg_catalog.quote_ident(bn.nspname) || '.' || pg_catalog.quote_ident(bt.typname),
    'not_null', a.attnotnull and not exists (select from pg_catalog.pg_constraint k
        where k.conrelid = c.oid and k.contype = 'n' and not k.convalidated and k.conkey[1] = a.attnum),
    'deterministic', coalesce(co.collisdeterministic, true),
    'virtual', a.attgenerated = 'v',
    'labels', case when bt.typtype = 'e' then (select pg_catalog.jsonb_agg(e.enumlabel order by e.enumsortorder)
        from pg_catalog.pg_enum e where e.enumtypid = bt.oid) end) order by a.attnum)
  from pg_catalog.pg_attribute a
  join pg_catalog.pg_type own on own.oid = a.atttypid
  cross join lateral (select a.atttypid, a.atttypmod where own.typtype <> 'd' union all
    (with recursive d(oid, typmod, base, mod) as (
      select own.oid, a.atttypmod, own.typbasetype, own.typtypmod where own.typtype = 'd'
      union all
      select t.oid, d.mod, t.typbasetype, t.typtypmod from d join pg_catalog.pg_type t on t.oid = d.base)
    select d.oid, d.typmod from d where d.base = 0)) b(oid, typmod)
  join pg_catalog.pg_type bt on bt.oid = b.oid
  join pg_catalog.pg_namespace bn on bn.oid = bt.typnamespace
  left join pg_catalog.pg_collation co on co.oid = a.attcollation
  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)"#;

/// Key columns of index `i` without INCLUDE columns; NULL where one is an expression.
const KEY_COLUMNS: &str = r#"(select case when i.indexprs is null
    then pg_catalog.jsonb_agg(a.attname order by k.ord) end
  from pg_catalog.unnest(i.indkey::int2[]) with ordinality k(attnum, ord)
  left join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
  where k.ord <= i.indnkeyatts)"#;

/// Index `i` holds, and two rows that it tells apart are apart for `=` as well: default operator classes, and
/// for columns of a nondeterministic collation the column's own collation.
const KEY_VALID: &str = r#"(i.indisvalid and i.indisready and not exists (
  select from rows from (pg_catalog.unnest(i.indkey::int2[]), pg_catalog.unnest(i.indclass::oid[]),
      pg_catalog.unnest(i.indcollation::oid[])) with ordinality k(attnum, opclass, collation_oid, ord)
  join pg_catalog.pg_opclass o on o.oid = k.opclass
  left join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
  left join pg_catalog.pg_collation co on co.oid = a.attcollation
  where k.ord <= i.indnkeyatts
    and (not o.opcdefault or (not co.collisdeterministic and a.attcollation <> k.collation_oid))))"#;

/// Relation `c` has children by inheritance other than partitions.
const HAS_CHILDREN: &str =
    "(c.relkind = 'r' and exists (select from pg_catalog.pg_inherits h where h.inhparent = c.oid))";

/// CHECK constraints `k` of relation `c` that hold for all its rows.
const VALID_CHECK: &str = "k.conrelid = c.oid and k.contype = 'c' and k.convalidated and not k.connoinherit";

/// The query of [`read_schema`].
fn schema_sql() -> String {
    format!(
        r#"select c.oid, n.nspname::text, c.relname::text, c.relkind::text, c.relrowsecurity, {HAS_CHILDREN},
  {COLUMNS}::text,
  (select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('columns', {KEY_COLUMNS}, 'primary', i.indisprimary,
      'valid', {KEY_VALID}, 'immediate', i.indimmediate, 'partial', i.indpred is not null) order by i.indexrelid)
    from pg_catalog.pg_index i
    where i.indrelid = c.oid and i.indisunique and not i.indisexclusion)::text,
  (select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
      'columns', (select pg_catalog.jsonb_agg(a.attname order by u.ord)
        from pg_catalog.unnest(k.conkey) with ordinality u(attnum, ord)
        join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.attnum),
      'references', pg_catalog.jsonb_build_array(fn.nspname, f.relname),
      'referenced_columns', (select pg_catalog.jsonb_agg(a.attname order by u.ord)
        from pg_catalog.unnest(k.confkey) with ordinality u(attnum, ord)
        join pg_catalog.pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.attnum),
      'valid', k.convalidated) order by k.conname, k.oid)
    from pg_catalog.pg_constraint k
    join pg_catalog.pg_class f on f.oid = k.confrelid join pg_catalog.pg_namespace fn on fn.oid = f.relnamespace
    where k.conrelid = c.oid and k.contype = 'f')::text,
  (select pg_catalog.jsonb_agg(pg_catalog.pg_get_constraintdef(k.oid) order by k.conname, k.oid)
    from pg_catalog.pg_constraint k where {VALID_CHECK})::text
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname not like 'pg\_%' and n.nspname <> 'information_schema'
order by n.nspname::text collate "C", c.relname::text collate "C""#
    )
}

/// A statement that returns one text: a hash of the definitions of the relations with these OIDs, as far as a
/// plan can rest on them (soundness rule 7). Run it once at start-up, *before* [`read_schema`], and again inside
/// each fetch transaction; when the two differ, the policy must be loaded again.
///
/// It depends on no setting of the session (CHECKs are hashed as parse trees, not as text), and indexes that
/// prove nothing are left out, so that REINDEX CONCURRENTLY and the like do not count as changes. It is meant to
/// be prepared once for each connection: planning it costs several times what running it does.
pub fn fingerprint_sql(tables: &[u32]) -> String {
    let oids: Vec<String> = tables.iter().map(u32::to_string).collect();
    let oids = oids.join(",");
    format!(
        r#"select coalesce(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(
  pg_catalog.string_agg(d.definition, E'\n' order by d.oid), 'UTF8')), 'hex'), '')
from (select c.oid, pg_catalog.jsonb_build_array(c.oid::int8, n.nspname, c.relname, c.relkind::text,
    c.relrowsecurity, {HAS_CHILDREN}, {COLUMNS},
    (select pg_catalog.jsonb_agg(distinct {KEY_COLUMNS}) from pg_catalog.pg_index i
      where i.indrelid = c.oid and i.indisunique and not i.indisexclusion
        and i.indimmediate and i.indpred is null and {KEY_VALID}),
    (select pg_catalog.jsonb_agg(distinct k.conbin::text) from pg_catalog.pg_constraint k where {VALID_CHECK}),
    case when c.relkind in ('v', 'm') then (select pg_catalog.jsonb_agg(distinct r.ev_action::text)
      from pg_catalog.pg_rewrite r where r.ev_class = c.oid) end)::text as definition
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.oid = any ('{{{oids}}}'::oid[])) d"#
    )
}

/// The value of [`fingerprint_sql`] now.
pub async fn fingerprint(client: &Client, tables: &[u32]) -> Result<String, IntrospectError> {
    Ok(client.query_one(&fingerprint_sql(tables), &[]).await?.try_get(0)?)
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
    let relations = rows.iter().map(relation).collect::<Result<_, _>>()?;
    Ok(Schema { server_version, relations })
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
