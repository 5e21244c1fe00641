//! Proposals that follow from the policy: units, paths to them, and public values that rows are
//! grouped by.

use super::facts::{Facts, TableFacts, qualified};
use super::proposal::Proposal;
use ::policy::{Policy, Privacy, Table};
use backend::citus;
use plan::expr::print::{ident, string};
use schema::Engine;
use sql::names::truncate;

/// Smaller tables are read whole in no time.
pub const LARGE: f64 = 10_000.0;

/// How far an estimate of PostgreSQL's must be off to be mended.
const OFF: f64 = 2.0;

/// Proposals for all tables of a policy.
pub async fn of(policy: &Policy, facts: &Facts<'_>) -> Result<Vec<Proposal>, String> {
    let mut out = Vec::new();
    for table in policy.tables.iter().filter(|t| !t.published && !t.collected) {
        let Some(known) = facts.table(table) else { continue };
        if known.rows.is_none() {
            out.push(Proposal {
                sql: vec![format!("ANALYZE {}", qualified(table))],
                reason: format!("{}: PostgreSQL has never counted its rows, and plans fetches without knowing how many there are.", table.name),
                is_key: false,
            });
        }
        match &table.privacy {
            Privacy::Public => {}
            Privacy::Private { unit, nullable, .. } => {
                let count = format!("SELECT count(DISTINCT {}) FROM {}", ident(unit), qualified(table));
                let counted = facts.count(&count).await?;
                out.extend(key(table, unit, *nullable, counted, facts).await?);
                if policy.backend.engine == Engine::Citus {
                    out.extend(placement(table, unit, facts).await?);
                }
                out.extend(units(table, known, unit, counted as f64, facts).await?);
                out.extend(distinct(table, known, unit, facts).await?);
                out.extend(index(table, known, std::slice::from_ref(unit), &format!(
                    "every fetch groups the rows of {} by {unit}, and joins of private tables meet by it: an index has them in order",
                    table.name
                )));
            }
            Privacy::Path(path) => {
                let parent = policy.tables.get(path.table).map(|t| t.name.as_str()).unwrap_or_default();
                out.extend(index(table, known, &path.columns, &format!(
                    "rows of {} find their unit through {parent}, by {}: where a statement keeps few rows of {parent}, theirs are found without reading all",
                    table.name,
                    path.columns.join(", ")
                )));
            }
        }
    }
    Ok(out)
}

/// CHECKs that keep the rows of other units out of Citus's shards, where there are none.
async fn placement(table: &Table, unit: &str, facts: &Facts<'_>) -> Result<Option<Proposal>, String> {
    let name = string(&qualified(table));
    let check = string(citus::CHECK);
    // Of each shard: its server, and what is to be done there.
    let shards = format!(
        "SELECT pg_catalog.array_agg(n.nodename::text ORDER BY s.shardid) AS names, \
         pg_catalog.array_agg(n.nodeport ORDER BY s.shardid) AS ports, \
         pg_catalog.array_agg(pg_catalog.format('ALTER TABLE %1$s DROP CONSTRAINT IF EXISTS %2$I, ADD CONSTRAINT %2$I CHECK (pg_catalog.worker_hash(%3$I) BETWEEN %4$s AND %5$s)', \
         pg_catalog.shard_name(s.logicalrelid, s.shardid), {check}, {unit}, s.shardminvalue, s.shardmaxvalue) ORDER BY s.shardid) AS texts \
         FROM pg_catalog.pg_dist_shard s JOIN pg_catalog.pg_dist_placement p USING (shardid) \
         JOIN pg_catalog.pg_dist_node n USING (groupid) WHERE s.logicalrelid = {name}::pg_catalog.regclass AND n.noderole = 'primary'",
        unit = string(unit)
    );
    let lacking = format!(
        "SELECT count(*) FROM pg_catalog.run_command_on_shards({name}, {}) c WHERE c.result IS DISTINCT FROM '1'",
        string(&format!(
            "SELECT count(*) FROM pg_catalog.pg_constraint k WHERE k.conrelid = '%s'::pg_catalog.regclass AND k.conname = {check}"
        ))
    );
    if facts.count(&lacking).await? == 0 {
        return Ok(None);
    }
    Ok(Some(Proposal {
        sql: vec![format!(
            "DO $do$ DECLARE why text; BEGIN SELECT pg_catalog.string_agg(pg_catalog.concat(r.node_name, ':', r.node_port, ': ', r.result), '; ') \
             INTO why FROM ({shards}) AS x, LATERAL pg_catalog.master_run_on_worker(x.names, x.ports, x.texts, false) AS r \
             WHERE NOT r.success; IF why IS NOT NULL THEN RAISE EXCEPTION '%', why; END IF; END $do$"
        )],
        reason: format!(
            "{}: a row that is written on a server of Citus's, into the wrong shard, is another unit there. These CHECKs keep such rows \
             out; each looks at its shard once, and a shard that is moved needs its own again.",
            table.name
        ),
        is_key: true,
    }))
}

/// A key of the unit, where each unit has one row and nothing proves it.
async fn key(
    table: &Table,
    unit: &str,
    nullable: bool,
    units: i64,
    facts: &Facts<'_>,
) -> Result<Option<Proposal>, String> {
    let proven = table.keys.iter().any(|k| k.as_slice() == [unit]) || table.proven_rows.is_some();
    if proven || table.only {
        return Ok(None);
    }
    let (name, column) = (qualified(table), ident(unit));
    let rows = facts.count(&format!("SELECT count(*) FROM {name}")).await?;
    if rows < 2 || units != rows {
        return Ok(None);
    }
    let mut sql = Vec::new();
    if nullable {
        sql.push(format!("ALTER TABLE {name} ALTER COLUMN {column} SET NOT NULL"));
    }
    let constraint = ident(&named(table, &[unit.to_owned()], "key"));
    sql.push(format!("ALTER TABLE {name} ADD CONSTRAINT {constraint} UNIQUE ({column})"));
    let reason = format!(
        "{}: no {unit} has two rows now. If none ever will, this key proves it, and noise is for one row of each and not for max_rows.\n\
         It locks the table while it is made, and rows that break it are refused from then on.",
        table.name
    );
    Ok(Some(Proposal { sql, reason, is_key: true }))
}

/// How many units have rows, where PostgreSQL is far off: it takes a hash table of all of them to be small, and rows that an index has
/// in the order of the unit for not worth reading so.
async fn units(
    table: &Table,
    known: &TableFacts,
    unit: &str,
    counted: f64,
    facts: &Facts<'_>,
) -> Result<Option<Proposal>, String> {
    let Some(rows) = known.rows.filter(|rows| *rows >= LARGE) else { return Ok(None) };
    let (name, column) = (qualified(table), ident(unit));
    let expected = facts.expected(&format!("SELECT {column} FROM {name} GROUP BY {column}")).await?.max(1.0);
    let off = (expected / counted.max(1.0)).max(counted / expected);
    if off < OFF {
        return Ok(None);
    }
    // As PostgreSQL's own ANALYZE: what is more than a tenth of the rows is taken to grow with them.
    let share = (counted / rows).min(1.0);
    let distinct =
        if share > 0.1 { format!("-{}", (share * 1e6).round() / 1e6) } else { counted.to_string() };
    let option = if known.partitioned { "n_distinct_inherited" } else { "n_distinct" };
    Ok(Some(Proposal {
        sql: vec![
            format!("ALTER TABLE {name} ALTER COLUMN {column} SET ({option} = {distinct})"),
            format!("ANALYZE {name}"),
        ],
        reason: format!(
            "{}: PostgreSQL's sample makes it expect {off:.1} times too {} values of {unit}. By the true number it finds the better of two ways\n\
             to group rows by them: in memory, or in the order of an index.",
            table.name,
            if expected > counted { "many" } else { "few" },
        ),
        is_key: false,
    }))
}

/// Statistics of how many groups the unit and a public key make together, where PostgreSQL is far off.
async fn distinct(
    table: &Table,
    known: &TableFacts,
    unit: &str,
    facts: &Facts<'_>,
) -> Result<Vec<Proposal>, String> {
    let mut out = Vec::new();
    if known.rows.is_none_or(|rows| rows < LARGE) {
        return Ok(out);
    }
    let name = qualified(table);
    for column in table.columns.iter().filter(|c| c.domain.is_some() && c.name != unit) {
        if known.has_statistics(&[unit, &column.name]) {
            continue;
        }
        let both = format!("{}, {}", ident(unit), ident(&column.name));
        let expected = facts.expected(&format!("SELECT {both} FROM {name} GROUP BY {both}")).await?.max(1.0);
        let counted = format!("SELECT count(*) FROM (SELECT {both} FROM {name} GROUP BY {both}) AS g");
        let counted = facts.count(&counted).await? as f64;
        let off = (expected / counted.max(1.0)).max(counted / expected);
        if off < OFF {
            continue;
        }
        let statistics = ident(&named(table, &[unit.to_owned(), column.name.clone()], "distinct"));
        out.push(Proposal {
            sql: vec![
                format!("CREATE STATISTICS IF NOT EXISTS {}.{statistics} (ndistinct) ON {both} FROM {name}", ident(&table.schema)),
                format!("ANALYZE {name}"),
            ],
            reason: format!(
                "{}: fetches by {} group by it and {unit}, and PostgreSQL expects {:.1} times too {} such groups: it takes too {} memory for them.",
                table.name,
                column.name,
                off,
                if expected > counted { "many" } else { "few" },
                if expected > counted { "much" } else { "little" },
            ),
            is_key: false,
        });
    }
    Ok(out)
}

/// An index on these columns, where a large table has none that begins with them.
pub fn index(table: &Table, known: &TableFacts, columns: &[String], why: &str) -> Option<Proposal> {
    if known.rows.is_none_or(|rows| rows < LARGE) || known.is_indexed(columns) {
        return None;
    }
    Some(made(table, known, columns, &[], why))
}

/// An index that has more columns than it is ordered by.
pub fn covering(
    table: &Table,
    known: &TableFacts,
    first: &str,
    others: &[String],
    why: &str,
) -> Option<Proposal> {
    if known.rows.is_none_or(|rows| rows < LARGE) || known.is_covered(first, others) {
        return None;
    }
    Some(made(table, known, &[first.to_owned()], others, why))
}

fn made(table: &Table, known: &TableFacts, columns: &[String], included: &[String], why: &str) -> Proposal {
    let list = |names: &[String]| names.iter().map(|c| ident(c)).collect::<Vec<_>>().join(", ");
    let all: Vec<String> = columns.iter().chain(included).cloned().collect();
    let name = named(table, &all, "idx");
    let include = if included.is_empty() { String::new() } else { format!(" INCLUDE ({})", list(included)) };
    // Of a partitioned table none can be made beside its writers.
    let concurrently = if known.partitioned { "" } else { " CONCURRENTLY" };
    let mut sql = Vec::new();
    if known.indexes.iter().any(|i| i.name == name && !i.valid) {
        // An earlier attempt was ended.
        sql.push(format!("DROP INDEX{concurrently} {}.{}", ident(&table.schema), ident(&name)));
    }
    let (name, on) = (ident(&name), qualified(table));
    sql.push(format!("CREATE INDEX{concurrently} IF NOT EXISTS {name} ON {on} ({}){include}", list(columns)));
    Proposal { sql, reason: format!("{}: {why}.", table.name), is_key: false }
}

/// The name of what is made, of at most as many bytes as PostgreSQL keeps.
fn named(table: &Table, columns: &[String], what: &str) -> String {
    let most = 63 - what.len() - 1;
    let mut name = truncate(format!("noisegate_{}_{}", table.name, columns.join("_")));
    while name.len() > most {
        name.pop();
    }
    format!("{name}_{what}")
}
