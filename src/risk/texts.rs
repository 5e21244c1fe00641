//! The texts that PostgreSQL counts by. They are written for a session without a `search_path`, where functions and operators are
//! the system's own.
//!
//! Columns are called q1, q2, … (quasi-identifiers), v (a sensitive value) and u (whose a row is). NULL is a value like others, as
//! in GROUP BY; rows that are nobody's are left out. All counts fit bigint, and come back as that.

use crate::asked::{Asked, Column};
use crate::sets::Set;
use schema::quoted::ident;

/// `q1, q2, …`
fn keys(asked: &Asked) -> String {
    (1..=asked.quasi.len()).map(|i| format!("q{i}")).collect::<Vec<_>>().join(", ")
}

/// Rows of the table by their columns' short names: one for each person and combination of values where rows have owners.
fn rows(asked: &Asked, value: Option<&Column>) -> String {
    let quasi = asked.quasi.iter().enumerate().map(|(i, c)| format!("t.{} AS q{}", ident(c), i + 1));
    let value = value.map(|c| format!("t.{} AS v", ident(&c.name)));
    let whose = asked.unit.as_ref().map(|u| format!("t.{}::text AS u", ident(u)));
    let columns: Vec<String> = quasi.chain(value).chain(whose).collect();
    let (columns, table) = (columns.join(", "), &asked.table);
    match &asked.unit {
        Some(u) => format!("SELECT DISTINCT {columns} FROM {table} AS t WHERE t.{} IS NOT NULL", ident(u)),
        None => format!("SELECT {columns} FROM {table} AS t"),
    }
}

/// Classes of people who share all quasi-identifiers, by size: rows of (size, people whose smallest class it is, classes).
pub fn classes(asked: &Asked) -> String {
    let (rows, keys) = (rows(asked, None), keys(asked));
    if asked.unit.is_none() {
        return format!(
            "WITH c AS (SELECT count(*) AS n FROM ({rows}) AS d GROUP BY {keys}) \
             SELECT n, n * count(*) AS people, count(*) AS classes FROM c GROUP BY n ORDER BY n"
        );
    }
    // Whoever has rows in several classes is found in the smallest.
    format!(
        "WITH d AS MATERIALIZED ({rows}), \
         c AS (SELECT count(*) AS n FROM d GROUP BY {keys}), \
         m AS (SELECT min(x.n) AS n FROM (SELECT d.u, count(*) OVER (PARTITION BY {keys}) AS n FROM d) AS x GROUP BY x.u), \
         b AS (SELECT n, 0 AS people, count(*) AS classes FROM c GROUP BY n UNION ALL SELECT n, count(*), 0 FROM m GROUP BY n) \
         SELECT n, sum(people)::int8 AS people, sum(classes)::int8 AS classes FROM b GROUP BY n ORDER BY n"
    )
}

/// The same for sets of the columns: rows of (set as GROUPING writes it, classes, size of the smallest, people alone in theirs).
pub fn sets(asked: &Asked, sets: &[Set]) -> String {
    let (rows, keys) = (rows(asked, None), keys(asked));
    let listed: Vec<String> = sets
        .iter()
        .map(|s| format!("({})", s.columns().map(|i| format!("q{}", i + 1)).collect::<Vec<_>>().join(", ")))
        .collect();
    let listed = listed.join(", ");
    let (base, each, alone) = match asked.unit {
        None => (
            format!("SELECT {keys}, count(*) AS n FROM ({rows}) AS r GROUP BY {keys}"),
            "sum(d.n)::int8 AS n",
            "count(*)",
        ),
        Some(_) => (rows, "count(DISTINCT d.u) AS n, min(d.u) AS u", "count(DISTINCT x.u)"),
    };
    format!(
        "WITH d AS MATERIALIZED ({base}), \
         x AS (SELECT grouping({keys}) AS g, {each} FROM d GROUP BY GROUPING SETS ({listed})) \
         SELECT x.g, count(*) AS classes, min(x.n) AS k, {alone} FILTER (WHERE x.n = 1) AS alone FROM x GROUP BY x.g"
    )
}

/// Text that counts what a class tells of one sensitive column: rows of (distinct values in a
/// class, classes, entries, least exponential of the entropy, greatest earth mover's distance from
/// the whole table, values in the whole table), by the number of values. An entry is a row, or a
/// person with a value.
///
/// Distances are those of Li, Li and Venkatasubramanian (2007): between values on a line by how
/// many values lie between them, over one less than there are; else all values are equally far from
/// each other. The first is the sum of the differences of the two distribution functions, P of the
/// table and Q of the class. Q is a constant between two values of the class, so that this sum is
/// had from sums of P up to where P passes Q, which `width_bucket` finds by bisection: a class
/// costs its own values, not all.
pub fn diversity(asked: &Asked, column: &Column) -> String {
    let (rows, keys) = (rows(asked, Some(column)), keys(asked));
    let shares = format!(
        "WITH s AS (SELECT {keys}, v, count(*) AS n FROM ({rows}) AS d GROUP BY {keys}, v), \
         r AS MATERIALIZED (SELECT {keys}, n, dense_rank() OVER (ORDER BY v) AS i, \
             n / sum(n) OVER (PARTITION BY {keys})::float8 AS q, \
             sum(n) OVER (PARTITION BY v) / (sum(n) OVER ())::float8 AS p FROM s), \
         f AS (SELECT i, p, sum(p) OVER (ORDER BY i) AS c FROM (SELECT DISTINCT i, p FROM r) AS w), \
         h AS (SELECT count(*) AS m, array_agg(c ORDER BY i) AS c, \
             array_prepend(0::float8, array_agg(z ORDER BY i)) AS z \
             FROM (SELECT i, c, sum(c) OVER (ORDER BY i) AS z FROM f) AS w), "
    );
    let distance = match column.ordered {
        false => format!(
            "e AS (SELECT count(*) AS l, sum(n) AS n, exp(-sum(q * ln(q))) AS h, \
             (sum(abs(q - p)) + 1 - sum(p)) / 2 AS t FROM r GROUP BY {keys}) "
        ),
        // z[i + 1] is the sum of P over the first i values; from value i to the one before b the class's Q is the same; x of
        // these values, counted from the first of all, have a P of at most Q.
        true => format!(
            "a AS (SELECT {keys}, n, q, i, sum(q) OVER w AS cq, lead(i, 1, (SELECT m FROM h) + 1) OVER w AS b, \
                 row_number() OVER w AS first FROM r WINDOW w AS (PARTITION BY {keys} ORDER BY i)), \
             y AS (SELECT a.*, least(greatest(width_bucket(cq, (SELECT c FROM h))::int8, i - 1), b - 1) AS x FROM a), \
             g AS (SELECT {keys}, n, q, CASE first WHEN 1 THEN (SELECT z FROM h)[i] ELSE 0 END \
                 + cq * (2 * x - i + 2 - b) - 2 * (SELECT z FROM h)[x + 1] + (SELECT z FROM h)[i] + (SELECT z FROM h)[b] AS far \
                 FROM y), \
             e AS (SELECT count(*) AS l, sum(n) AS n, exp(-sum(q * ln(q))) AS h, \
                 coalesce(sum(far) / nullif((SELECT m FROM h) - 1, 0), 0) AS t FROM g GROUP BY {keys}) "
        ),
    };
    format!(
        "{shares}{distance}SELECT l, count(*) AS classes, sum(n)::int8 AS entries, min(h) AS h, max(greatest(t, 0)) AS t, \
         (SELECT m FROM h) AS m FROM e GROUP BY l ORDER BY l"
    )
}

/// Classes of the table beside the same of the population, by the size in the population: rows of (size there, people of the table,
/// classes with people of the table, classes with more of them than there, classes, least and greatest share of the population's
/// that are in the table). None where there is no population.
pub fn population(asked: &Asked) -> Option<String> {
    let population = asked.population.as_ref()?;
    let (rows, keys) = (rows(asked, None), keys(asked));
    let quasi: Vec<String> = asked.quasi.iter().map(|c| format!("t.{}", ident(c))).collect();
    let quasi = quasi.join(", ");
    // A join by IS NOT DISTINCT FROM could not be hashed.
    Some(format!(
        "WITH b AS (SELECT {keys}, count(*) AS n, 0 AS p FROM ({rows}) AS d GROUP BY {keys} \
             UNION ALL SELECT {quasi}, 0, count(*) FROM {population} AS t GROUP BY {quasi}), \
         j AS (SELECT sum(n)::int8 AS n, sum(p)::int8 AS p FROM b GROUP BY {keys}) \
         SELECT p, sum(n)::int8 AS people, count(*) FILTER (WHERE n > 0) AS classes, count(*) FILTER (WHERE n > p) AS exceeding, \
             count(*) AS there, min(n / nullif(p, 0)::float8) AS least, max(n / nullif(p, 0)::float8) AS most \
         FROM j GROUP BY p ORDER BY p"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(unit: Option<&str>) -> Asked {
        Asked {
            table: "\"public\".\"t\"".into(),
            unit: unit.map(str::to_owned),
            quasi: vec!["a".into(), "odd \"name\"".into()],
            sensitive: Vec::new(),
            population: None,
        }
    }

    #[test]
    fn names_are_quoted_and_people_counted_once() {
        let text = classes(&asked(None));
        assert!(
            text.contains("SELECT t.\"a\" AS q1, t.\"odd \"\"name\"\"\" AS q2 FROM \"public\".\"t\" AS t)"),
            "{text}"
        );
        let text = classes(&asked(Some("u")));
        assert!(
            text.contains("SELECT DISTINCT t.\"a\" AS q1") && text.contains("WHERE t.\"u\" IS NOT NULL"),
            "{text}"
        );
        assert_eq!(population(&asked(None)), None);
    }

    #[test]
    fn sets_are_listed() {
        let text = sets(&asked(None), &crate::sets::sets(2, 2));
        assert!(text.contains("GROUPING SETS ((q1), (q2), (q1, q2))"), "{text}");
    }
}
