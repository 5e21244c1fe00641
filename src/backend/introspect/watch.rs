//! Cheap checks of a fingerprint: a lock under which most of what it rests on cannot change, and
//! queries that give the versions of the catalog rows it is computed from.

use super::super::fetch::{Fingerprint, Quick};
use super::error::IntrospectError;
use super::texts::fingerprint_sql;
use crate::citus::Spread;
use schema::Engine;
use tokio_postgres::Client;

/// Objects that initdb made have smaller OIDs, and no command alters what the fingerprint has of them.
const FIRST_OWN: u32 = 16_384;

/// The [`Fingerprint`] of these relations as they are in the caller's transaction.
pub async fn watch(client: &Client, tables: &[u32], engine: Engine) -> Result<Fingerprint, IntrospectError> {
    let sql = fingerprint_sql(tables, engine);
    let expected: String = client.query_one(&sql, &[]).await?.try_get(0)?;
    let row = client.query_one(&format!("select {}", watched_sql(tables)), &[]).await?;
    let names: Vec<String> = row.try_get(0)?;
    let types: Vec<u32> = row.try_get(1)?;
    let schemas: Vec<u32> = row.try_get(2)?;
    let lock = match names.as_slice() {
        [] => String::new(),
        names => format!("; LOCK TABLE {} IN ACCESS SHARE MODE", names.join(", ")),
    };
    let free: &[Rows] = match engine {
        Engine::Postgresql => &FREE,
        Engine::Citus => &[&FREE[..], &[("dist_partition", "logicalrelid", Of::Tables)]].concat(),
    };
    let versions = versions_sql(&[&HELD[..], free].concat(), tables, &types, &schemas);
    let locks_all = names.len() == tables.len();
    // Locks hold most of it, if all could be locked.
    let rest = if locks_all { versions_sql(free, tables, &types, &schemas) } else { versions.clone() };
    // A child that was attached for a while has left its mark in the parent's row.
    let oids = oids(tables);
    let settled = format!(
        "select case when not exists (select from pg_catalog.pg_class c where c.oid = any ({oids}) and c.relkind = 'r' \
         and c.relhassubclass) then ({sql}) end"
    );
    let quick = Quick { lock, locks_all, versions, rest, settled, known: Default::default() };
    quick.learn(client).await?;
    let fingerprint = Fingerprint::new(sql, expected).with_quick(quick);
    Ok(match engine {
        Engine::Postgresql => fingerprint,
        Engine::Citus => fingerprint.with_spread(Spread::read(client, tables).await?),
    })
}

fn oids(list: &[u32]) -> String {
    let oids: Vec<String> = list.iter().map(u32::to_string).collect();
    format!("'{{{}}}'::pg_catalog.oid[]", oids.join(","))
}

/// These, and their partitions that are partitioned themselves: a foreign one may be attached to any of them.
fn divided(list: &[u32]) -> String {
    let oids = oids(list);
    format!(
        "{oids} operator(pg_catalog.||) array(select p.relid::pg_catalog.oid from pg_catalog.unnest({oids}) t(oid), \
         pg_catalog.pg_partition_tree(t.oid) p where not p.isleaf)"
    )
}

/// Names to lock; types, with those that domains are made of; schemas of tables and types.
///
/// LOCK takes tables only; ONLY, because partitions cannot lose what their parent has. It needs the SELECT right on a
/// table as a whole.
fn watched_sql(tables: &[u32]) -> String {
    let oids = oids(tables);
    format!(
        r#"array(select 'ONLY ' || pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname)
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.oid = any ({oids}) and c.relkind in ('r', 'p') and pg_catalog.has_table_privilege(c.oid, 'SELECT')
    order by c.oid),
  t.types, array(select c.relnamespace from pg_catalog.pg_class c where c.oid = any ({oids})
    union select y.typnamespace from pg_catalog.pg_type y where y.oid = any (t.types))
from (select array(
  with recursive u(oid) as (
    select a.atttypid from pg_catalog.pg_attribute a
    where a.attrelid = any ({oids}) and a.attnum > 0 and not a.attisdropped
    union select y.typbasetype from u join pg_catalog.pg_type y on y.oid = u.oid where y.typtype = 'd')
  select u.oid from u where u.oid >= {FIRST_OWN}) as types) t"#
    )
}

/// A catalog, its column that leads to what is watched, and what that is.
type Rows = (&'static str, &'static str, Of);

#[derive(Clone, Copy)]
enum Of {
    Tables,
    Types,
    Schemas,
}

/// Catalog rows that do not change as to what the fingerprint has of them while somebody holds ACCESS SHARE on their
/// table. (An index may become valid or vanish, a constraint may be validated; rows that are there already stay as
/// unique and as checked as they are.)
const HELD: [Rows; 4] = [
    ("attribute", "attrelid", Of::Tables),
    ("index", "indrelid", Of::Tables),
    ("constraint", "conrelid", Of::Tables),
    ("rewrite", "ev_class", Of::Tables),
];

/// Those that may change all the same: by a child that is attached, a rename of a schema or type, a label of an enum.
const FREE: [Rows; 5] = [
    ("class", "oid", Of::Tables),
    ("inherits", "inhparent", Of::Tables),
    ("namespace", "oid", Of::Schemas),
    ("type", "oid", Of::Types),
    ("enum", "enumtypid", Of::Types),
];

/// Gives place and transaction of every catalog row of these kinds that [`fingerprint_sql`] reads: a row that changes
/// gets both anew. (Only one that is replaced four billion transactions later, at its old place, would look the same.)
/// Left out are operator classes and collations: no command changes of an existing one what the fingerprint has of it.
fn versions_sql(kinds: &[Rows], tables: &[u32], types: &[u32], schemas: &[u32]) -> String {
    let parts: Vec<String> = kinds
        .iter()
        .filter_map(|(catalog, column, of)| {
            let list = match of {
                Of::Tables => tables,
                Of::Types => types,
                Of::Schemas => schemas,
            };
            let rows = || {
                let of_list = match *catalog {
                    "inherits" => divided(list),
                    _ => oids(list),
                };
                format!(
                    "select '{catalog}' || r.ctid::text || r.xmin::text as version from pg_catalog.pg_{catalog} r \
                     where r.{column} = any ({of_list})"
                )
            };
            (!list.is_empty()).then(rows)
        })
        .collect();
    let parts = parts.join(" union all ");
    format!(
        r#"select coalesce(pg_catalog.string_agg(v.version, ' ' order by v.version collate "C"), '') from ({parts}) v"#
    )
}
