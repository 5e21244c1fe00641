//! Facts of the servers that hold a table's rows: that they are where their units' hashes say, and that the finish
//! login cannot read them there, either.

use crate::error::cause;
use crate::pool::{Backend, Reader};
use policy::{Policy, Privacy, Table};
use schema::quoted::{ident, string};

/// The name of the CHECK of a shard's hashes.
pub const CHECK: &str = "noisegate_placement";

/// For each private table of which a shard may hold rows of other hashes than its own, what to do. A row that was written into
/// the wrong shard, on its server, is another unit's there.
///
/// # Errors
/// The servers could not be asked.
pub async fn unproven_placement(reader: &Reader, policy: &Policy) -> Result<Vec<String>, String> {
    let mut out = Vec::new();
    for table in private(policy) {
        let Privacy::Private { unit, .. } = &table.privacy else { continue };
        if !is_proven(reader, table, unit).await? {
            out.push(format!(
                "{}.{}: that Citus's shards hold rows of their own units alone is the owner's promise, since rows can be \
                 written on a server; `noisegate check prepare` has CHECKs that the servers keep (a shard that was moved \
                 needs its own again)",
                table.schema, table.name
            ));
        }
    }
    Ok(out)
}

/// The policy's private tables.
fn private(policy: &Policy) -> impl Iterator<Item = &Table> {
    policy.tables.iter().filter(|t| t.privacy != Privacy::Public)
}

/// Whether each shard of a table has a CHECK of just its hashes.
async fn is_proven(reader: &Reader, table: &Table, unit: &str) -> Result<bool, String> {
    let command = format!(
        "select coalesce(pg_catalog.string_agg(pg_catalog.pg_get_constraintdef(k.oid), ' '), '') from pg_catalog.pg_constraint k \
         where k.conrelid = '%s'::pg_catalog.regclass and k.conname = '{CHECK}' and k.convalidated"
    );
    // As PostgreSQL prints integers: those below 0 as texts.
    let printed = |end: &str| {
        format!(
            "case when {end}::int8 < 0 then pg_catalog.quote_literal({end}) || '::integer' else {end} end"
        )
    };
    let sql = format!(
        "select coalesce(pg_catalog.bool_and(coalesce(c.success and c.result = pg_catalog.format(\
           'CHECK (((worker_hash(%1$I) >= %2$s) AND (worker_hash(%1$I) <= %3$s)))', {unit}, {low}, {high}), false)), false)::text \
         from pg_catalog.pg_dist_shard s left join pg_catalog.run_command_on_shards({name}, {command}) c on c.shardid = s.shardid \
         where s.logicalrelid = {name}::pg_catalog.regclass",
        unit = string(unit),
        low = printed("s.shardminvalue"),
        high = printed("s.shardmaxvalue"),
        name = string(&name(table)),
        command = string(&command),
    );
    asked(reader, &sql).await.map(|rows| rows == ["true"])
}

/// Problems of the finish login on the servers of Citus: rights on shards of private tables, its own or by a role that it
/// may take, and attributes by which it could get any.
///
/// # Errors
/// The servers could not be asked.
pub async fn finish_login_on_servers(
    backend: &Backend,
    reader: &Reader,
    policy: &Policy,
) -> Result<Vec<String>, String> {
    let user = &backend.finish.manager().0.user;
    let login = string(user);
    let mut out = Vec::new();
    let rank = format!(
        "select pg_catalog.string_agg((r.rolsuper or r.rolbypassrls or r.rolcreaterole or r.rolreplication)::text, '') \
         from pg_catalog.pg_roles r where r.rolname = {login}"
    );
    let sql = format!(
        "select pg_catalog.concat(c.nodename, ':', c.nodeport, ': ', c.result) from pg_catalog.run_command_on_workers({}) c \
         where not c.success or c.result is distinct from 'false'",
        string(&rank)
    );
    for place in asked(reader, &sql).await? {
        out.push(format!(
            "the finish login {user} is not there, or may do more than log in, on a server of Citus ({place}); CREATE ROLE or \
             ALTER ROLE it on the coordinator, which tells the servers"
        ));
    }
    for table in private(policy) {
        let reads = format!(
            "select coalesce(pg_catalog.bool_or(pg_catalog.has_any_column_privilege(r.oid, '%s', 'SELECT')), false) \
             from pg_catalog.pg_roles r where pg_catalog.pg_has_role({login}, r.oid, 'MEMBER')"
        );
        let sql = format!(
            "select c.result from pg_catalog.run_command_on_shards({}, {}) c \
             where not c.success or c.result is distinct from 'f' limit 1",
            string(&name(table)),
            string(&reads)
        );
        if !asked(reader, &sql).await?.is_empty() {
            out.push(format!(
                "the finish login {user} may read shards of the private table {} on a server of Citus; REVOKE SELECT there",
                name(table)
            ));
        }
    }
    Ok(out)
}

/// The first column of a query, as texts.
async fn asked(reader: &Reader, sql: &str) -> Result<Vec<String>, String> {
    let unable = |e: tokio_postgres::Error| format!("the servers of Citus could not be asked: {}", cause(&e));
    let rows = reader.simple_query(sql).await.map_err(unable)?;
    let first = |message: &tokio_postgres::SimpleQueryMessage| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_owned()),
        _ => None,
    };
    Ok(rows.iter().filter_map(first).collect())
}

fn name(table: &Table) -> String {
    format!("{}.{}", ident(&table.schema), ident(&table.name))
}
