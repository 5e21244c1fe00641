//! Relations behind relations: partitions, children, and the tables that views read. Two policies
//! that name different relations may reach the same rows.

use super::error::IntrospectError;
use tokio_postgres::Client;

/// Pairs of each of these relations with every relation whose rows it shows, itself among them.
///
/// Tables that a function reads which a view calls are not found.
pub async fn behind(client: &Client, relations: &[u32]) -> Result<Vec<(u32, u32)>, IntrospectError> {
    const BEHIND: &str = "with recursive reached(by, oid) as (
  select r, r from pg_catalog.unnest($1::pg_catalog.oid[]) r
  union
  select reached.by, next.oid from reached join (
    select i.inhparent as of, i.inhrelid as oid from pg_catalog.pg_inherits i
    union all
    select r.ev_class, d.refobjid from pg_catalog.pg_rewrite r join pg_catalog.pg_depend d
      on d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass and d.objid = r.oid
      and d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass) next on next.of = reached.oid)
select by, oid from reached order by 1, 2";
    let rows = client.query(BEHIND, &[&relations]).await?;
    Ok(rows
        .iter()
        .map(|r| Ok((r.try_get(0)?, r.try_get(1)?)))
        .collect::<Result<_, tokio_postgres::Error>>()?)
}

/// Name of the server and its database, as the books have it.
pub async fn database(client: &Client) -> Result<String, IntrospectError> {
    Ok(client.query_one(&format!("select {}", crate::options::DATABASE), &[]).await?.try_get(0)?)
}
