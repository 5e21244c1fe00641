//! Ways around the guarantee that a reader of the first version found and ran. Each is asked of two neighbouring
//! databases: either it is refused, or neither side fails and no integer moves by more than its noise is made for.

use crate::bikes::Bikes;
use crate::support;
use crate::usual::rules;
use noisegate::dp::{Distribution, Noise, Sensitivity};
use noisegate::emit::fetch;
use noisegate::error::{ClientError, SqlState};
use std::collections::BTreeMap;

/// Unit 1 is the one that is asked about; `p` is what the attacker wants to know of it.
const TABLES: &str = "
    CREATE TABLE people (id int PRIMARY KEY, p boolean NOT NULL, age int NOT NULL, valid_until timestamptz NOT NULL,
        seen timestamp NOT NULL, born timestamp NOT NULL, weight float8 NOT NULL, name text NOT NULL);
    INSERT INTO people
        SELECT n, n = 1, 30, '2024-06-01', '2024-06-01', '1990-01-01', 70, 'somebody' FROM generate_series(1, 20) AS n;
    CREATE TABLE visits (id int NOT NULL, at timestamptz NOT NULL);
    CREATE TABLE codes (code int NOT NULL);
    INSERT INTO codes SELECT generate_series(1, 2000);";

const RULES: &str = concat!(
    rules!([epsilon = 1, delta = 1e-6, max_groups = 3, max_rows = 8] ["approx", epsilon = 1000, delta = 0.5]),
    "[privacy]
    unit = \"people.id\"
    [table.people]
    unit_column = \"id\"
    columns.p = {}
    columns.age = { range = [0, 100] }
    columns.valid_until = {}
    columns.seen = { range = [2024-01-01, 2024-12-31] }
    columns.born = {}
    columns.weight = { range = [0, 300], grid = 0.1 }
    columns.name = {}
    [table.visits]
    unit_column = \"id\"
    columns.at = { range = [2024-03-01, 2024-03-31] }
    [table.codes]
    public = true"
);

struct World {
    bikes: Bikes,
    zone: &'static str,
}

impl World {
    async fn new(rows: &str) -> Self {
        let db = support::database(TABLES).await;
        db.publish(&["codes"]).await;
        db.execute(rows).await;
        Self { bikes: Bikes::over(db, RULES).await, zone: "UTC" }
    }

    async fn in_zone(rows: &str, zone: &'static str) -> Self {
        let mut world = Self::new(rows).await;
        world.bikes.time_zone(zone);
        Self { zone, ..world }
    }

    async fn refusal(&self, sql: &str) -> ClientError {
        self.bikes.plan(sql).await.err().unwrap_or_else(|| panic!("not refused: {sql}"))
    }

    /// Asks with and without unit 1.
    async fn holds(&self, sql: &str) {
        let plan = self.bikes.plan(sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
        let mut read = 0;
        for release in plan.releases.iter().filter(|r| !r.is_domain_only()) {
            read += 1;
            for noise in &release.spec.aggregates {
                assert!(noise.sensitivity.linf > 0, "a part without sensitivity is fetched: {sql}");
                assert!(noise.distribution != Distribution::None, "a part without noise is fetched: {sql}");
            }
            let text = fetch::fetch(release, &self.bikes.policy).sql.replace("$1", "(42)");
            let keys = release.keys.len();
            let with = self.rows("", &text, keys).await;
            let without = self
                .rows("DELETE FROM visits WHERE id = 1; DELETE FROM people WHERE id = 1;", &text, keys)
                .await;
            let limits: Vec<Sensitivity> = release
                .spec
                .selection
                .iter()
                .map(|s| s.weights.sensitivity(release.spec.l0))
                .chain(release.spec.aggregates.iter().map(|a| a.sensitivity))
                .collect();
            let none = vec![0; limits.len()];
            let (mut changed, mut norms) = (0, none.clone());
            let gaussian = |a: &Noise| matches!(a.distribution, Distribution::Gaussian { .. });
            let squared = release.spec.aggregates.iter().any(gaussian);
            let groups: std::collections::BTreeSet<_> = with.keys().chain(without.keys()).collect();
            for group in groups {
                let (a, b) = (with.get(group).unwrap_or(&none), without.get(group).unwrap_or(&none));
                changed += u32::from(a != b);
                for (i, (x, y)) in a.iter().zip(b).enumerate() {
                    let difference = x.abs_diff(*y) as i128;
                    norms[i] += if squared { difference * difference } else { difference };
                }
            }
            // Over all groups together, in the norm that the noise covers.
            for (norm, limit) in norms.iter().zip(&limits) {
                let limit = (if squared { limit.l2_squared } else { limit.l1 }) as i128;
                assert!(*norm <= limit, "changes of {norm} are more than {limit}: {sql}\n{text}");
            }
            let selects = release.spec.selection.is_some();
            assert!(
                !selects || changed <= release.spec.l0,
                "{changed} groups of {} changed: {sql}",
                release.spec.l0
            );
        }
        assert!(read > 0, "nothing private is read: {sql}");
    }

    /// The integers of each group, where a statement ran first.
    async fn rows(&self, first: &str, sql: &str, keys: usize) -> BTreeMap<Vec<String>, Vec<i128>> {
        let client = self.bikes.db.superuser().await;
        let begin = format!(
            "BEGIN; {first} SET LOCAL TimeZone = '{}'; SET LOCAL statement_timeout = '20s'",
            self.zone
        );
        client.batch_execute(&begin).await.unwrap();
        let messages =
            client.simple_query(sql).await.unwrap_or_else(|e| panic!("the fetch failed: {e:?}\n{sql}"));
        let rows = messages.iter().filter_map(|m| match m {
            tokio_postgres::SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let cell = |row: &tokio_postgres::SimpleQueryRow, i: usize| row.get(i).unwrap_or("NULL").to_owned();
        rows.map(|row| {
            let key = (0..keys).map(|i| cell(row, i)).collect();
            (key, (keys..row.len()).map(|i| cell(row, i).parse().unwrap()).collect())
        })
        .collect()
    }
}

/// On a fallback grid of 1000, the exact end was 1234567890 steps and PostgreSQL's quotient one more: a centred sum had a
/// bound of 0, no noise and no price.
#[tokio::test]
async fn rule_34_rounding_is_done_once_and_by_the_text() {
    let w = World::new("").await;
    for (yes, no, low, high) in [
        ("9000000000000", "1234567890000", "1234567889500", "1234567890499.9999999"),
        ("9000000000000", "0", "0", "2147483647499.9999999"),
        ("0.5", "0.4999999999", "0.4999999999", "0.5"),
    ] {
        for f in ["avg", "sum"] {
            let x = format!("CASE WHEN p THEN {yes} ELSE {no} END");
            w.holds(&format!("SELECT {f}(LEAST(GREATEST({x}, {low}), {high})) FROM people")).await;
            w.holds(&format!("SELECT p, {f}(LEAST(GREATEST({x}, {low}), {high})) FROM people GROUP BY p"))
                .await;
        }
    }
}

/// A cast to int4 of what was proven to fit, and PostgreSQL rounded to 2^31.
#[tokio::test]
async fn rule_34_values_at_the_edge_of_a_type_do_not_fail() {
    let w = World::new("").await;
    for edge in ["2147483647499.9999999", "9223372036854775807499.9", "4611686018427387904"] {
        let sql =
            format!("SELECT avg(LEAST(GREATEST(CASE WHEN p THEN 9e21 ELSE 0 END, 0), {edge})) FROM people");
        match w.bikes.plan(&sql).await {
            Ok(_) => w.holds(&sql).await,
            Err(e) => assert_eq!(e.code, SqlState::FEATURE_NOT_SUPPORTED, "{e}"),
        }
    }
}

/// In this zone a year has jumps of 144 hours: more weeks than the shortest week allows.
#[tokio::test]
async fn rule_37_groups_of_a_zone_are_ranked_and_not_counted() {
    let visits = "INSERT INTO visits SELECT 1, '2024-03-01'::timestamptz + n * interval '6 hours'
        FROM generate_series(0, 119) AS n; INSERT INTO visits SELECT n, '2024-03-05' FROM generate_series(2, 20) AS n";
    for zone in ["AAA97BBB-47,J57/2,J300/0", "AAA97BBB-47,J72/2,J82/0", "UTC", "Pacific/Apia"] {
        let w = World::in_zone(visits, zone).await;
        for unit in ["week", "month", "day"] {
            w.holds(&format!("SELECT date_trunc('{unit}', at), count(*) FROM visits GROUP BY 1")).await;
        }
        w.holds("SELECT date_trunc('quarter', at), count(*) FROM visits GROUP BY 1").await;
    }
}

/// EXTRACT is local, and the span that dropped NULLIF was that of UTC.
#[tokio::test]
async fn rule_36_fields_of_local_time_leave_the_years_of_utc() {
    for (at, zone) in [
        ("9999-12-31 23:59:59+00", "Pacific/Kiritimati"),
        ("9999-12-31 23:59:59+00", "Asia/Tokyo"),
        ("9999-12-31 23:59:59+00", "A-48"),
        ("0001-01-01 00:00:00+00", "America/New_York"),
        ("infinity", "UTC"),
        ("-infinity", "UTC"),
        ("294276-12-31", "UTC"),
        ("4713-01-01 BC", "UTC"),
    ] {
        let w = World::in_zone(&format!("UPDATE people SET valid_until = '{at}' WHERE p"), zone).await;
        for (field, edge) in [
            ("year", "10000"),
            ("year", "-1"),
            ("isoyear", "10000"),
            ("isoyear", "0"),
            ("isoyear", "-1"),
            ("decade", "1000"),
            ("decade", "-1"),
            ("century", "101"),
            ("century", "-1"),
            ("millennium", "11"),
            ("millennium", "-1"),
        ] {
            w.holds(&format!(
                "SELECT sum(LEAST(GREATEST(1 / (extract({field} FROM valid_until) - ({edge})), -1), 1)) FROM people"
            ))
            .await;
        }
    }
}

/// A guard said that a declared range leaves no NULL, and GREATEST believed it.
#[tokio::test]
async fn rule_36_a_declared_range_does_not_prove_that_a_value_is_there() {
    for at in ["infinity", "-infinity", "290000-01-01", "4000-01-01 BC"] {
        let w = World::new(&format!("UPDATE people SET seen = '{at}', born = '{at}' WHERE p")).await;
        for column in ["seen", "born"] {
            let x = format!("1 / (GREATEST(extract(hour FROM {column}), -1) + 1)");
            w.holds(&format!("SELECT sum(LEAST(GREATEST({x}, 0), 1)) FROM people")).await;
            w.holds(&format!("SELECT count(*) FROM people WHERE {x} > 0")).await;
        }
    }
}

/// Patterns that recurse for each %, or that look for long runs in long texts, told a row by an error or by seconds.
#[tokio::test]
async fn rule_38_patterns_are_bounded_by_the_text() {
    let w = World::new("UPDATE people SET name = repeat('a', 1000000) WHERE p").await;
    let deep = "%".repeat(60_000);
    let run = format!("%{}%", "a".repeat(12_000));
    let many = (0..900).map(|i| format!("name LIKE '%ab{i}c%'")).collect::<Vec<_>>().join(" OR ");
    let e = w.refusal(&format!("SELECT count(*) FROM people WHERE name LIKE '{deep}x'")).await;
    assert!(e.message.contains("wildcards"), "{e}");
    for sql in [
        format!("SELECT count(*) FROM people WHERE name LIKE '{run}'"),
        format!("SELECT count(*) FROM people WHERE {many}"),
    ] {
        let e = w.refusal(&sql).await;
        assert!(e.message.contains("limits.max_row_cost"), "{e}");
    }
    w.holds("SELECT count(*) FROM people WHERE name LIKE '%a%a%a%a%b' OR name ILIKE '%some%body%'").await;
}

/// Three copies of a public table of 2,000 rows, met by one private row: seconds against milliseconds.
#[tokio::test]
async fn rule_38_joins_that_no_key_narrows_are_bounded() {
    let w = World::new("").await;
    for sql in [
        "SELECT count(*) FROM people p, codes a, codes b WHERE p.age = 99",
        "SELECT count(*) FROM people p LEFT JOIN codes a ON a.code > p.age",
        "SELECT count(*) FROM people p WHERE EXISTS (SELECT 1 FROM codes a WHERE a.code > p.age)",
        "SELECT count(*) FROM people p WHERE p.age NOT IN (SELECT NULLIF(a.code, 5) FROM codes a)",
    ] {
        let e = w.refusal(sql).await;
        assert!(e.message.contains("limits.max_fan_out"), "{sql}: {e}");
    }
    w.holds("SELECT count(*) FROM people p JOIN codes a ON a.code = p.age").await;
}

/// Each row of a unit met all of its rows, twice: the cube of their number, and the square in a frame that moves.
#[tokio::test]
async fn rule_50_rows_of_a_unit_that_meet_are_bounded() {
    let visits = "INSERT INTO visits SELECT 1, '2024-01-01'::timestamptz + n * interval '1 s' FROM generate_series(1, 3000) AS n";
    let w = World::new(visits).await;
    let framed = |frame: &str| {
        format!(
            "SELECT count(*) FROM (SELECT max(at) OVER (PARTITION BY id ORDER BY at {frame}) AS m FROM visits) t WHERE m > '2024-01-01'"
        )
    };
    for sql in [
        "SELECT count(*) FROM visits a, visits b, visits c WHERE a.id = b.id AND b.id = c.id AND a.at < b.at AND b.at < c.at",
        "SELECT count(*) FROM visits a WHERE a.id IN (SELECT b.id FROM visits b JOIN visits c ON b.id = c.id WHERE b.at > a.at AND c.at > b.at)",
        "SELECT count(*) FROM visits a WHERE EXISTS (SELECT 1 FROM visits b WHERE b.id = a.id AND EXISTS (SELECT 1 FROM visits c WHERE c.id = b.id AND c.at > a.at))",
        &framed("ROWS BETWEEN 500000 PRECEDING AND CURRENT ROW"),
    ] {
        let e = w.refusal(sql).await;
        assert!(e.message.contains("limits.max_row_cost"), "{sql}: {e}");
    }
    for sql in [
        "SELECT count(*) FROM (SELECT DISTINCT id, at FROM visits) a JOIN (SELECT DISTINCT id, at FROM visits) b ON a.id = b.id",
    ] {
        let e = w.refusal(sql).await;
        assert!(e.message.contains("all rows of its unit on the other side"), "{sql}: {e}");
    }
    for sql in [
        "SELECT count(*) FROM visits a JOIN visits b ON a.id = b.id AND a.at < b.at",
        "SELECT count(*) FROM visits a FULL JOIN visits b ON a.id = b.id AND a.at = b.at",
        "SELECT count(*) FROM visits a WHERE EXISTS (SELECT 1 FROM visits b WHERE b.id = a.id AND b.at > a.at)",
        &framed("ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"),
    ] {
        w.holds(sql).await;
    }
}

/// A numeric of 16,000 digits, multiplied by itself again and again.
#[tokio::test]
async fn rule_38_numerics_enter_short() {
    let w = World::new("").await;
    let product = vec!["(weight::numeric / 7)"; 30].join(" * ");
    let e = w.refusal(&format!("SELECT count(*) FROM people WHERE {product} > 0")).await;
    assert_eq!(e.code, SqlState::FEATURE_NOT_SUPPORTED, "{e}");
}

/// Statements without an event ran a fetch when every budget was spent.
#[tokio::test]
async fn rule_35_nothing_private_is_read_for_nothing() {
    let w = World::new("").await;
    for sql in [
        "SELECT sum(age * 0) FROM people",
        "SELECT sum(NULL) FROM people",
        "SELECT count(NULL) FROM people",
        "SELECT sum(LEAST(age, 0) * 0) FROM people",
        "SELECT sum(age / 1000) FROM people",
        "SELECT 1 FROM people HAVING sum(age / 1000) >= 0",
        "SELECT (SELECT sum(age * 0) FROM people)",
        "SELECT sum(0) FROM people WHERE p",
    ] {
        let e = w.refusal(sql).await;
        assert_eq!(e.code, SqlState::FEATURE_NOT_SUPPORTED, "{sql}: {e}");
    }
    // A constant part beside others is known without the database.
    let plan = w.bikes.plan("SELECT count(*), sum(age * 0), avg(5) FROM people").await.unwrap();
    assert_eq!(plan.releases[0].parts.len(), 1);
    w.holds("SELECT count(*), sum(age * 0), avg(5) FROM people").await;
    let asked = w.bikes.ask("SELECT sum(age * 0), avg(5) FROM people").await.unwrap();
    assert_eq!(asked.rows[0][0].as_deref(), Some("0"));
    // Over public groups the domain alone is read.
    let plan = w.bikes.plan("SELECT p, sum(age * 0) FROM people GROUP BY p").await.unwrap();
    assert!(plan.charge.is_none() && plan.releases[0].is_domain_only());
}

/// numeric to float and back keeps fifteen digits; the proof rounded exactly.
#[tokio::test]
async fn rule_34_the_way_through_double_precision_moves_values() {
    let w = World::new("").await;
    for (yes, edge) in [
        ("999999999999999999.0", "1000000000000000000"),
        ("-999999999999999999.0", "-1000000000000000000"),
        ("9007199254740993", "9007199254740992"),
        ("0.49999999999999999999", "0"),
        ("123456789012345678", "123456789012346000"),
        ("123456789012345678", "123456789012345680"),
    ] {
        for cast in ["float8::bigint", "float8"] {
            let x = format!("CASE WHEN p THEN {yes} ELSE 5 END::{cast}");
            let x = if cast == "float8" { format!("round({x})") } else { x };
            w.holds(&format!("SELECT count(*) FROM people WHERE 1 / ({x} - ({edge})) > 0")).await;
            w.holds(&format!("SELECT sum(LEAST(GREATEST(1 / ({x} - ({edge})), 0), 1)) FROM people")).await;
        }
    }
}
