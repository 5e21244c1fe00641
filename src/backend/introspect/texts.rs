//! Texts of the catalog queries.

use schema::Engine;

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

/// A partition of relation `c`, at any depth, that is no ordinary table: the first by name. (Children by inheritance are never
/// read.)
const FOREIGN_PART: &str = r#"(with recursive d(oid) as (
    select h.inhrelid from pg_catalog.pg_inherits h where h.inhparent = c.oid and c.relkind = 'p'
    union select h.inhrelid from d join pg_catalog.pg_inherits h on h.inhparent = d.oid)
  select pg_catalog.quote_ident(pn.nspname) || '.' || pg_catalog.quote_ident(p.relname)
  from d join pg_catalog.pg_class p on p.oid = d.oid join pg_catalog.pg_namespace pn on pn.oid = p.relnamespace
  where p.relkind not in ('r', 'p') order by 1 limit 1)"#;

/// Placement of relation `c` by Citus.
const PLACEMENT: &str = "(select pg_catalog.jsonb_build_array(s.partmethod::text, s.partkey::text, s.colocationid, \
    s.repmodel::text) from pg_catalog.pg_dist_partition s where s.logicalrelid = c.oid)";

/// Whether the database has Citus.
pub(super) const HAS_CITUS: &str =
    "select exists (select from pg_catalog.pg_extension e where e.extname = 'citus')";

/// Placements of Citus's tables: OID, method, column, co-location group.
pub(super) const PLACEMENTS: &str = "select s.logicalrelid::oid, \
    case when s.partmethod = 'h' then 'hash' when s.partmethod = 'n' and s.repmodel = 't' then 'reference' else 'other' end, \
    case when s.partmethod = 'h' then pg_catalog.column_to_column_name(s.logicalrelid, s.partkey) end, \
    s.colocationid::int8 from pg_catalog.pg_dist_partition s";

/// CHECK constraints `k` of relation `c` that hold for all its rows.
const VALID_CHECK: &str = "k.conrelid = c.oid and k.contype = 'c' and k.convalidated and not k.connoinherit";

/// The query of [`read_schema`](super::read_schema).
pub(super) fn schema_sql() -> String {
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
    from pg_catalog.pg_constraint k where {VALID_CHECK})::text, {FOREIGN_PART}
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname not like 'pg\_%' and n.nspname <> 'information_schema'
order by n.nspname::text collate "C", c.relname::text collate "C""#
    )
}

/// A statement that returns one text: a hash of the definitions of the relations with these OIDs, as far as a
/// plan can rest on them (soundness rule 7). Run it once at start-up, *before* [`read_schema`](super::read_schema), and again inside
/// each fetch transaction; when the two differ, the policy must be loaded again.
///
/// The hash depends on no setting of the session (CHECKs are hashed as parse trees, not as text), and indexes that
/// prove nothing are left out, so that REINDEX CONCURRENTLY and the like do not count as changes. It is meant to
/// be prepared once for each connection: planning it costs several times what running it does.
pub fn fingerprint_sql(tables: &[u32], engine: Engine) -> String {
    let placement = match engine {
        Engine::Postgresql => String::new(),
        Engine::Citus => format!(", {PLACEMENT}"),
    };
    let oids: Vec<String> = tables.iter().map(u32::to_string).collect();
    let oids = oids.join(",");
    format!(
        r#"select coalesce(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(
  pg_catalog.string_agg(d.definition, E'\n' order by d.oid), 'UTF8')), 'hex'), '')
from (select c.oid, pg_catalog.jsonb_build_array(c.oid::int8, n.nspname, c.relname, c.relkind::text,
    c.relrowsecurity, {HAS_CHILDREN}, {COLUMNS}, {FOREIGN_PART}{placement},
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
