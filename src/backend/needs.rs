//! Needs, which a server has to meet: one list for PostgreSQL and for all that speaks as if it were it.
//!
//! Fetches rest on it: a server that computes otherwise, or keeps no snapshot, would give wrong numbers without a word. So it
//! is asked once, at start, in the words of `docs/operations.md`, and refused by the name of what it lacks.

use super::error::cause;
use super::pool::Reader;
use tokio_postgres::SimpleQueryMessage;

/// The answer that a need has.
enum Answer {
    /// One true value.
    True,
    /// An error of this SQLSTATE.
    Error(&'static str),
}

/// Something that a server has to give.
pub struct Need {
    /// The need's name, for messages and the document.
    pub name: &'static str,
    /// The harm where a server does not meet it.
    pub why: &'static str,
    /// The statement that shows it.
    pub sql: &'static str,
    answer: Answer,
}

const fn shown(name: &'static str, why: &'static str, sql: &'static str) -> Need {
    Need { name, why, sql, answer: Answer::True }
}

const fn refused(name: &'static str, why: &'static str, sql: &'static str, code: &'static str) -> Need {
    Need { name, why, sql, answer: Answer::Error(code) }
}

/// All needs. Each is asked in a transaction like those of fetches.
pub const NEEDS: &[Need] = &[
    shown(
        "one snapshot for a transaction",
        "one unit would be seen in several states",
        "SELECT current_setting('transaction_isolation') = 'repeatable read' AND current_setting('transaction_read_only') = 'on'",
    ),
    shown(
        "locks that hold off a change of a table",
        "a table could be altered between the check of its schema and the read",
        "LOCK TABLE pg_ts_template IN ACCESS SHARE MODE; SELECT count(*) = 1 FROM pg_locks \
         WHERE pid = pg_backend_pid() AND relation = 'pg_ts_template'::regclass AND mode = 'AccessShareLock' AND granted",
    ),
    shown(
        "versions of catalog rows",
        "a change of the schema would not be noticed",
        "SELECT bool_and(ctid IS NOT NULL AND xmin::text ~ '^[0-9]+$') FROM pg_class WHERE relname = 'pg_class'",
    ),
    refused(
        "whole numbers that overflow with an error",
        "sums would be wrong, and private",
        "SELECT 9223372036854775807::int8 + 1",
        "22003",
    ),
    shown(
        "whole numbers that divide towards zero",
        "shares of a unit's rows would be larger than their bounds",
        "SELECT (-7)::int8 / 2 = -3 AND (-7)::int8 % 2 = -1 AND div((-7)::numeric, 2) = -3 AND 7::numeric / 2 = 3.5",
    ),
    shown(
        "double precision as IEEE 754 has it",
        "shares of a unit's rows would be larger than their bounds",
        "SELECT sqrt(2::float8) = 1.4142135623730951::float8 AND trunc(2.9999999999999996::float8) = 2 AND 0.1::float8 + 0.2::float8 <> 0.3::float8",
    ),
    shown(
        "hashes of numbers and texts by a seed",
        "which groups of a unit count would not be a secret order",
        "SELECT hashint8extended(1, 1) <> hashint8extended(1, 2) AND hashtextextended('a', 1) = hashtextextended('a', 1)",
    ),
    shown(
        "empty texts that are not NULL",
        "rows would be left out",
        "SELECT ''::text IS NOT NULL AND length('') = 0",
    ),
    shown(
        "windows over aggregates, and queries that are computed once",
        "bounds of units could not be computed in one statement",
        "WITH d AS MATERIALIZED (SELECT x FROM unnest(ARRAY[1, 1, 2]) AS t(x)), c AS (SELECT x, count(*) AS n FROM d GROUP BY x) \
         SELECT sum(n) OVER () = 3 FROM c LIMIT 1",
    ),
    shown(
        "trees of partitions",
        "a foreign partition would not be noticed",
        "SELECT count(*) >= 0 FROM pg_partition_tree('pg_class'::regclass)",
    ),
    shown(
        "the time of its start",
        "a server that fell would be taken for a statement that made it fall",
        "SELECT pg_postmaster_start_time() <= clock_timestamp()",
    ),
    refused(
        "limits on the time of statements",
        "one statement could keep a connection for ever",
        "SET LOCAL statement_timeout = 20; SELECT pg_sleep(5)",
        "57014",
    ),
];

/// Asks for all needs. Gives what the server lacks, one line each.
///
/// # Errors
/// The server cannot be asked.
pub async fn lacking(reader: &Reader) -> Result<Vec<String>, String> {
    let mut out = Vec::new();
    for need in NEEDS {
        // Each in a transaction of its own: after an error there is nothing more to ask.
        let begun = reader.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await;
        let answer = match begun {
            Ok(()) => reader.simple_query(need.sql).await,
            Err(e) => Err(e),
        };
        let is_given = match (&need.answer, &answer) {
            (Answer::True, Ok(rows)) => {
                matches!(rows.iter().find_map(value), Some("t"))
            }
            (Answer::Error(code), Err(e)) => e.code().is_some_and(|c| c.code() == *code),
            _ => false,
        };
        if !is_given {
            let said = match &answer {
                Err(e) => format!(" ({})", cause(e)),
                Ok(_) => String::new(),
            };
            out.push(format!(
                "the database does not give {}: {}; it is shown by: {}{said}",
                need.name, need.why, need.sql
            ));
        }
        reader.batch_execute("ROLLBACK").await.map_err(|e| cause(&e))?;
    }
    Ok(out)
}

/// The first value of a row.
fn value(message: &SimpleQueryMessage) -> Option<&str> {
    match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    }
}
