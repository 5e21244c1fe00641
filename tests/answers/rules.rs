//! Soundness rules end to end, one test named after each: SQL and rows in, released values out.

use crate::bikes::{Asked, Bikes};
use crate::support;
use crate::usual::rules;
use bigdecimal::BigDecimal;
use noisegate::dp::{Distribution, Ratio};
use noisegate::error::{ClientError, SqlState};
use noisegate::plan::aggregates::Average;
use noisegate::plan::bound::bounding::Groups;
use noisegate::plan::{PartKind, Plan};

/// One private table without any key, so that a unit can hold whatever a test needs, and one public table.
const TABLES: &str = "
    CREATE TABLE people (id int PRIMARY KEY);
    CREATE TABLE wards (ward text PRIMARY KEY, beds int NOT NULL);
    INSERT INTO wards VALUES ('north', 10), ('south', 20), ('empty', 30);
    CREATE TABLE visits (id int, ward text, kind text, age int, free int, cost numeric, score float8, mark float4,
        at timestamptz, day date, ill boolean, code char(4))";

const RULES: &str = concat!(
    rules!([epsilon = 1, delta = 1e-6, max_groups = 4, max_rows = 8] ["approx", epsilon = 1000, delta = 0.5]),
    "[privacy]
    unit = \"people.id\"
    [table.people]
    unit_column = \"id\"
    [table.wards]
    public = true
    [table.visits]
    unit_column = \"id\"
    columns.ward = { references = \"wards.ward\" }
    columns.kind = { values = [\"a\", \"b\"] }
    columns.age = { range = [0, 100] }
    columns.free = {}
    columns.cost = { range = [0, 60], grid = 0.01 }
    columns.score = { range = [-10, 10], grid = 0.5 }
    columns.mark = { range = [0, 5], grid = 0.25 }
    columns.at = { range = [2024-01-01, 2024-12-31] }
    columns.day = { range = [2024-01-01, 2024-12-31] }
    columns.ill = {}
    columns.code = {}"
);

async fn visits(rows: &str) -> Bikes {
    let db = support::database(TABLES).await;
    db.publish(&["wards"]).await;
    if !rows.is_empty() {
        db.execute(rows).await;
    }
    Bikes::over(db, RULES).await
}

async fn exactly(rows: &str) -> Bikes {
    visits(rows).await.without_noise()
}

fn text(asked: &Asked) -> Vec<Vec<&str>> {
    asked.rows.iter().map(|r| r.iter().map(|c| c.as_deref().unwrap_or("NULL")).collect()).collect()
}

async fn refused(b: &Bikes, sql: &str) -> ClientError {
    b.typed(sql).await.err().unwrap_or_else(|| panic!("not refused: {sql}"))
}

/// The exact integers that a statement's one fetch gives, as text; `seed` orders what is dropped.
async fn fetched(b: &Bikes, sql: &str, seed: i64) -> Vec<Vec<String>> {
    let asked = b.ask(sql).await.unwrap();
    let [fetch] = asked.fetches.as_slice() else { panic!("one fetch expected: {sql}") };
    let text = fetch.sql.replace("$1", &format!("({seed})"));
    let messages = b.db.superuser().await.simple_query(&text).await.unwrap();
    let rows = messages.iter().filter_map(|m| match m {
        tokio_postgres::SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|i| row.get(i).unwrap_or("NULL").to_owned()).collect())
        }
        _ => None,
    });
    rows.collect()
}

/// ε of a release's events, all together.
fn total(plan: &Plan) -> Ratio {
    let events = plan.charge.as_ref().unwrap().events.iter();
    events.map(|e| e.epsilon().unwrap()).fold(Ratio::from_integer(0), |a, b| a + b)
}

#[tokio::test]
async fn rule_01_nullness_never_depends_on_exact_data() {
    let sums = "SELECT count(*), count(age), sum(age), sum(cost), sum(score), count(DISTINCT id) FROM visits";
    let grouped = "SELECT kind, count(*), sum(cost), avg(age) FROM visits GROUP BY kind";
    let mut b = visits("").await;
    let mut seen = [false; 2];
    for round in 0..2 {
        for seed in 0..20 {
            b.seed = seed;
            let asked = b.ask(sums).await.unwrap();
            assert_eq!(asked.rows.len(), 1);
            assert!(asked.rows[0].iter().all(Option::is_some), "{asked_rows:?}", asked_rows = asked.rows);
            let asked = b.ask(grouped).await.unwrap();
            let Average { count, .. } = asked.plan.releases[0].outputs[2].1.of().unwrap();
            // kind can be NULL: three groups.
            assert_eq!(asked.rows.len(), 3);
            for (group, row) in asked.rows.iter().enumerate() {
                assert!(row[1].is_some() && row[2].is_some());
                let noisy = asked.noisy[0].values[*count][group];
                assert_eq!(row[3].is_none(), noisy < 1, "avg is NULL by the noisy count alone");
                seen[usize::from(row[3].is_none())] = true;
            }
        }
        assert_eq!(seen, [true; 2], "both were seen in round {round}");
        seen = [false; 2];
        // The same with one row in the table.
        b.db.execute("INSERT INTO visits (id, kind, age, cost) VALUES (1, 'a', 30, 5)").await;
    }
}

#[tokio::test]
async fn rule_02_rows_outside_a_public_domain_change_nothing() {
    let mut b = exactly(
        "INSERT INTO visits (id, ward, kind, cost) SELECT i, 'north', 'a', 1.000 FROM generate_series(1, 30) i",
    )
    .await;
    let by_kind = "SELECT kind, count(*) FROM visits GROUP BY kind ORDER BY 1";
    let by_ward = "SELECT ward, count(*) FROM visits WHERE ward IS NOT NULL GROUP BY ward ORDER BY 1";
    let by_cost = "SELECT cost, count(*) FROM visits WHERE cost IN (1, 2) GROUP BY cost ORDER BY 1";
    let kinds = [["a", "30"], ["b", "0"], ["NULL", "0"]];
    let wards = [["empty", "0"], ["north", "30"], ["south", "0"]];
    // The domain's spelling, not the rows': 1 and not 1.000.
    let costs = [["1", "30"], ["2", "0"]];
    assert_eq!(text(&b.ask(by_kind).await.unwrap()), kinds);
    assert_eq!(text(&b.ask(by_ward).await.unwrap()), wards);
    assert_eq!(text(&b.ask(by_cost).await.unwrap()), costs);
    // A unit may touch one group. Each of the thirty gets ten groups outside, and must not lose the one inside.
    b.plan.max_groups = 1;
    b.db.execute(
        "INSERT INTO visits (id, ward, kind, cost)
         SELECT i, 'nowhere' || j, 'outside' || j, 7 + j FROM generate_series(1, 30) i, generate_series(1, 10) j",
    )
    .await;
    assert_eq!(text(&b.ask(by_kind).await.unwrap()), kinds);
    assert_eq!(text(&b.ask(by_ward).await.unwrap()), wards);
    assert_eq!(text(&b.ask(by_cost).await.unwrap()), costs);
    // Fields with fractions are no public domain.
    for field in ["second", "epoch"] {
        let plan = b.plan(&format!("SELECT extract({field} FROM at), count(*) FROM visits GROUP BY 1")).await;
        assert!(!plan.unwrap().releases[0].public_groups, "{field}");
    }
}

#[tokio::test]
async fn rule_02_domains_follow_the_sessions_time_zone() {
    let rows = "INSERT INTO visits (id, at, day) SELECT i, timestamptz '2024-01-01 00:30+00' + i * interval '29 hours',
        date '2024-01-01' + i FROM generate_series(0, 280) i";
    for zone in ["UTC", "Asia/Tokyo", "America/St_Johns", "Europe/Berlin"] {
        let mut b = exactly(rows).await;
        b.plan.max_groups = 500;
        b.time_zone(zone);
        for key in [
            "date_trunc('day', at)",
            "date_trunc('month', at)",
            "date_trunc('week', day)",
            "extract(hour FROM at)",
        ] {
            let sql = format!(
                "SELECT {key}, count(*) FROM visits WHERE at IS NOT NULL AND day IS NOT NULL GROUP BY 1"
            );
            let asked = b.ask(&sql).await.unwrap();
            assert!(asked.plan.releases[0].public_groups);
            let counted: i64 =
                asked.rows.iter().map(|r| r[1].as_deref().unwrap().parse::<i64>().unwrap()).sum();
            assert_eq!(counted, 281, "{key} in {zone}: every row is inside the domain");
        }
    }
}

#[tokio::test]
async fn rule_03_null_belongs_to_a_public_domain() {
    let mut b =
        exactly("INSERT INTO visits (id, ward, kind, age) VALUES (1, NULL, 'a', 1), (2, 'north', NULL, 2)")
            .await;
    let null = async |b: &Bikes, from: &str| {
        let asked = b.ask(&format!("{from} GROUP BY 1")).await.unwrap();
        assert!(asked.plan.releases[0].public_groups, "{from}");
        asked.rows.iter().filter(|r| r[0].is_none()).map(|r| r[1].clone().unwrap()).collect::<Vec<_>>()
    };
    for (from, expected) in [
        ("SELECT kind, count(*) FROM visits", Some("1")),
        ("SELECT ill, count(*) FROM visits", Some("2")),
        ("SELECT w.ward, count(*) FROM visits v LEFT JOIN wards w ON w.ward = v.ward", Some("1")),
        ("SELECT CASE WHEN age = 1 THEN 'x' END, count(*) FROM visits", Some("1")),
        ("SELECT CASE WHEN age = 1 THEN 'x' ELSE 'y' END, count(*) FROM visits", None),
        ("SELECT kind, count(*) FROM visits WHERE kind IS DISTINCT FROM 'a'", Some("1")),
        ("SELECT kind, count(*) FROM visits WHERE kind <> 'a'", None),
        ("SELECT kind, count(*) FROM visits WHERE kind IS NOT NULL", None),
        ("SELECT kind, count(*) FROM visits WHERE kind IN ('a', NULL)", None),
        ("SELECT w.ward, count(*) FROM visits v JOIN wards w ON w.ward = v.ward", None),
    ] {
        assert_eq!(null(&b, from).await, expected.into_iter().collect::<Vec<_>>(), "{from}");
    }
    // It counts: true, false and NULL are one group more than a unit may touch.
    b.plan.max_groups = 2;
    let units = "SELECT ill, count(DISTINCT id) FROM visits";
    let plan = b.plan(&format!("{units} GROUP BY 1")).await.unwrap();
    assert_eq!(*plan.releases[0].bounding.of_groups(), Groups::Ranked(2));
    let plan = b.plan(&format!("{units} WHERE ill IS NOT NULL GROUP BY 1")).await.unwrap();
    assert_eq!(*plan.releases[0].bounding.of_groups(), Groups::Exact(2));
}

#[tokio::test]
async fn rule_04_private_keys_have_one_form() {
    let b = exactly(
        "INSERT INTO visits (id, cost, score, mark, code) SELECT i, 1.0, 0.0, 0.0, 'ab' FROM generate_series(1, 30) i;
         INSERT INTO visits (id, cost, score, mark, code) SELECT i, 'NaN', 'NaN', 'NaN', 'b' FROM generate_series(31, 60) i",
    )
    .await;
    let keys = ["cost", "score", "mark", "score + 0", "cost * 1.00", "code"];
    let mut before = Vec::new();
    for key in keys {
        let sql = format!("SELECT {key}, count(*) > 0 FROM visits GROUP BY 1 ORDER BY 1");
        let asked = b.ask(&sql).await.unwrap();
        assert!(!asked.plan.releases[0].public_groups);
        before.push((sql, asked.rows.iter().map(|r| r[0].clone()).collect::<Vec<_>>()));
    }
    assert_eq!(before[0].1, [Some("1".into()), Some("NaN".into())]);
    assert_eq!(before[1].1, [Some("0".into()), Some("NaN".into())]);
    // Blanks at the end are none of a char(n)'s value.
    assert_eq!(before[5].1, [Some("ab".into()), Some("b".into())]);
    // One unit with another form of equal values: first in the table, so that it would be the one that is shown.
    b.db.execute(
        "CREATE TABLE later AS TABLE visits; TRUNCATE visits;
         INSERT INTO visits (id, cost, score, mark, code) VALUES (99, 1.000, '-0', '-0', 'ab  ');
         INSERT INTO visits TABLE later; DROP TABLE later",
    )
    .await;
    for (sql, rows) in before {
        let asked = b.ask(&sql).await.unwrap();
        assert_eq!(asked.rows.iter().map(|r| r[0].clone()).collect::<Vec<_>>(), rows, "{sql}");
    }
}

#[tokio::test]
async fn rule_04_nondeterministic_collations_are_no_private_keys() {
    let b = exactly("").await;
    b.db.execute(&support::nondeterministic_collation("ci", "und-u-ks-level2")).await;
    b.db.execute("ALTER TABLE visits ALTER kind TYPE text COLLATE ci, ALTER ward TYPE text").await;
    let rules = RULES.replace("columns.kind = { values = [\"a\", \"b\"] }", "columns.kind = {}");
    let b = Bikes::over(b.db, &rules).await;
    let e = refused(&b, "SELECT kind, count(*) FROM visits GROUP BY kind").await;
    assert_eq!(e.code, SqlState::FEATURE_NOT_SUPPORTED);
}

#[tokio::test]
async fn rule_06_selection_counts_units_after_l0_and_shares_their_groups() {
    let mut b = visits(
        "INSERT INTO visits (id, free, age) SELECT i, j, 10 FROM generate_series(1, 40) i, generate_series(1, 5) j",
    )
    .await;
    b.plan.max_groups = 2;
    for seed in [1, 2, -3] {
        let groups = fetched(&b, "SELECT free, count(*), sum(age) FROM visits GROUP BY free", seed).await;
        let number = |cell: &str| cell.parse::<i64>().unwrap();
        let units: i64 = groups.iter().map(|g| number(&g[1])).sum();
        assert_eq!(units, 80, "forty units in two groups each");
        for g in &groups {
            assert!(number(&g[1]) < 40, "no unit was dropped from {g:?}");
            assert_eq!(g[1], g[2], "one row of each selected unit");
            // A sum of rows that may be scaled is in steps of 1/64.
            assert_eq!(number(&g[3]), 64 * 10 * number(&g[1]));
        }
    }
    let [a, c] = [1, 2].map(|seed| fetched(&b, "SELECT free, count(*) FROM visits GROUP BY free", seed));
    assert_ne!(a.await, c.await, "the order of dropping depends on the seed");
}

#[tokio::test]
async fn rule_08_public_left_join_private_needs_strict_aggregates() {
    let b = visits("").await;
    let question = |what: &str| {
        format!("SELECT w.ward, {what} FROM wards w LEFT JOIN visits v ON v.ward = w.ward GROUP BY 1")
    };
    let plan = b.plan(&question("count(v.id)")).await.unwrap();
    assert!(plan.releases[0].public_groups);
    for what in ["count(*)", "count(1)", "sum(coalesce(v.age, 1))"] {
        let e = refused(&b, &question(what)).await;
        assert_eq!(e.code, SqlState::FEATURE_NOT_SUPPORTED, "{what}");
        assert!(e.hint.is_some(), "{what}");
    }
}

#[tokio::test]
async fn rule_09_scalar_subqueries_are_releases_and_never_bounds() {
    let b = visits("").await;
    let plan = b.plan("SELECT count(*), (SELECT sum(age) FROM visits) FROM visits").await.unwrap();
    assert_eq!((plan.releases.len(), total(&plan)), (2, Ratio::from_integer(1)));
    // Among rows it is released first, for a part of the same price, and is any value of its type to what follows.
    let plan = b.plan("SELECT count(*) FROM visits WHERE age > (SELECT avg(age) FROM visits)").await.unwrap();
    assert_eq!((plan.stages.len(), plan.releases.len(), total(&plan)), (1, 2, Ratio::from_integer(1)));
    for sql in [
        "SELECT sum(least(greatest(free, 0), (SELECT count(*) FROM visits))) FROM visits",
        "SELECT ward FROM wards WHERE beds > (SELECT count(*) FROM visits)",
        "SELECT ward, (SELECT count(*) FROM visits) FROM wards",
        "SELECT count(*) FROM wards LIMIT (SELECT count(*) FROM visits)",
        "SELECT ward FROM wards w WHERE (SELECT count(*) FROM visits v WHERE v.ward = w.ward) > 5",
        "SELECT (SELECT age FROM visits)",
        "SELECT kind, (SELECT max(beds) FROM wards w WHERE w.ward = v.kind) FROM visits v GROUP BY kind",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM visits)",
        "SELECT 1 WHERE 3 IN (SELECT age FROM visits)",
        "SELECT 1 WHERE 3 IN (SELECT count(*) FROM visits)",
    ] {
        let e = refused(&b, sql).await;
        assert_eq!(e.code, SqlState::FEATURE_NOT_SUPPORTED, "{sql}: {e}");
    }
}

#[tokio::test]
async fn rule_10_bounds_follow_the_expression_never_the_name() {
    let b = visits("").await;
    let bound = async |sql: &str| match &b.plan(sql).await.unwrap().releases[0].parts[0].kind {
        PartKind::Sum(s) => (BigDecimal::from(s.bound()) * s.grid()).to_plain_string(),
        _ => panic!("{sql}"),
    };
    assert_eq!(bound("SELECT sum(age) FROM visits").await, "100");
    // Columns: id, ward, kind, age, free.
    assert_eq!(bound("SELECT sum(free) FROM visits AS v(id, ward, kind, free, age)").await, "100");
    assert_eq!(bound("SELECT sum(free) FROM (SELECT age * 2 AS free FROM visits) v").await, "200");
    assert_eq!(bound("WITH v(cost) AS (SELECT age FROM visits) SELECT sum(cost) FROM v").await, "100");
    for sql in [
        "SELECT sum(age) FROM visits AS v(id, ward, kind, free, age)",
        "SELECT sum(age) FROM (SELECT free AS age FROM visits) v",
        "WITH v(age) AS (SELECT free FROM visits) SELECT sum(age) FROM v",
    ] {
        assert!(refused(&b, sql).await.message.contains("\"free\" has no declared range"), "{sql}");
    }
    // Domains and the unit, too.
    let plan =
        b.plan("SELECT kind, count(*) FROM visits AS v(id, ward, x, age, kind) GROUP BY kind").await.unwrap();
    assert!(!plan.releases[0].public_groups);
    let e = refused(&b, "SELECT kind, count(*) FROM visits AS v(kind, ward, x) GROUP BY kind").await;
    assert!(e.message.contains("privacy unit"), "{e}");
}

#[tokio::test]
async fn rule_12_what_is_aggregated_is_clamped_in_the_fetch() {
    let b = exactly(
        "INSERT INTO visits (id, age, cost, score, mark, free) VALUES
         (1, 2000000000, 1e30, 1e300, 1e30, 2000000000), (2, -2000000000, -1e30, -1e300, -1e30, -2000000000)",
    )
    .await;
    let asked = b
        .ask(
            "SELECT sum(age), sum(cost), sum(score), sum(mark), sum(age * 2), sum(age + cost), sum(-age),
             sum(least(greatest(free, -3), 7)), sum(abs(age - 50)), avg(age), sum(CASE WHEN age > 5 THEN age END),
             sum(age) FILTER (WHERE age > 5), sum(coalesce(age, 9)), sum(greatest(age, 7)) FROM visits",
        )
        .await
        .unwrap();
    assert_eq!(
        text(&asked),
        [[
            "100",
            "60.00",
            "0",
            "5",
            "200",
            "160.00",
            "-100",
            "4",
            "100",
            "50.0000000000000000",
            "100",
            "100",
            "100",
            "107"
        ]]
    );
}

#[tokio::test]
async fn rule_13_k_counts_the_rows_that_enter() {
    let mut b = exactly(
        "INSERT INTO visits (id, age, cost) VALUES
         (1, 10, 1), (1, 20, NULL), (1, 30, 2), (1, 40, NULL), (2, 10, 1), (2, 10, 1), (2, 10, 1), (2, 10, 1)",
    )
    .await;
    b.plan.chosen_rows = Some(2);
    let asked = b
        .ask(
            "SELECT count(*), count(cost), sum(cost) FILTER (WHERE id = 1), sum(cost), sum(age) FILTER (WHERE id = 2),
             avg(age) FILTER (WHERE id = 2), count(*) FILTER (WHERE age > 25), sum(age) FILTER (WHERE age > 25) FROM visits",
        )
        .await
        .unwrap();
    // Each rider brings four rows, of which two count, so that all numbers of a rider are halved: a count or a sum of some rows is cut
    // like that of all, and a ratio of them is one of weighted rows.
    assert_eq!(text(&asked)[0][..5], ["4", "3", "1.50", "3.50", "20"]);
    assert_eq!(text(&asked)[0][5..], ["10.0000000000000000", "1", "35"]);
}

#[tokio::test]
async fn rule_14_a_units_share_is_within_its_bound_after_scaling() {
    let mut b = exactly(
        "INSERT INTO visits (id, age, score) SELECT 1, 100, CASE WHEN i % 3 = 0 THEN 10 ELSE 9.5 END FROM generate_series(1, 7) i;
         INSERT INTO visits (id, age, score) SELECT 2, 99, -10 FROM generate_series(1, 5) i",
    )
    .await;
    b.plan.chosen_rows = Some(3);
    let sql = "SELECT kind, sum(age), sum(score), count(*) FROM visits WHERE id = 1 GROUP BY kind";
    let limits: Vec<u128> = b.plan(sql).await.unwrap().releases[0].parts.iter().map(|p| p.linf).collect();
    assert_eq!(limits, [300, 60, 3]);
    // Scaling cuts towards zero and cannot pass the bound; the text does not rest on that.
    let fetch = &b.ask(sql).await.unwrap().fetches[0].sql;
    for ends in ["ELSE e.s0 * 64 END, e.m1 * (-100)), e.m1 * 100)", "* 64 END, e.m2 * (-20)), e.m2 * 20)"] {
        assert!(fetch.contains(ends), "{fetch}");
    }
    let mut seen = 0;
    for id in [1, 2] {
        for row in fetched(&b, &sql.replace("id = 1", &format!("id = {id}")), 1).await {
            for (cell, limit) in row[1..].iter().zip(&limits) {
                let share = cell.parse::<i128>().unwrap().unsigned_abs();
                assert!(share <= 64 * *limit, "{row:?}");
                seen += usize::from(share == 64 * *limit);
            }
        }
    }
    // Both counts, the sum of hundreds, the sum of -10s: the bound is reached and not passed.
    assert_eq!(seen, 4);
}

#[tokio::test]
async fn rule_15_centring_uses_the_rounded_midpoint() {
    let b = visits("").await;
    let mut odd = 0;
    for (low, high) in [(0, 5), (0, 6), (-7, 4), (-9, -2), (-1, 0), (1, 1000)] {
        let sql = format!("SELECT avg(least(greatest(coalesce(free, {low}), {low}), {high})) FROM visits");
        let plan = b.plan(&sql).await.unwrap();
        let sum = plan.releases[0].parts.iter().find_map(|p| match &p.kind {
            PartKind::Sum(s) => Some(s.clone()),
            _ => None,
        });
        let s = sum.unwrap();
        assert_eq!(*s.grid(), BigDecimal::from(1));
        let centre = s.centre();
        assert_eq!(i128::try_from(s.bound()).unwrap(), (high - centre).max(centre - low), "{low}..{high}");
        assert!((2 * centre - (low + high)).abs() <= 1, "{low}..{high}: {centre}");
        odd += (high - low) % 2;
    }
    assert!(odd > 0);
}

#[tokio::test]
async fn rule_16_sensitivities_cover_all_aggregates_and_each_release_has_its_own_l0() {
    let b = visits("").await;
    let plan = b
        .plan("SELECT kind, count(*), sum(age), avg(cost), (SELECT count(*) FROM visits) FROM visits GROUP BY kind, ill")
        .await
        .unwrap();
    let l0: Vec<u32> = plan.releases.iter().map(|r| r.spec.l0).collect();
    assert_eq!(l0, [1, 1]);
    // What one unit can move, over the scale: each release's share of the price is exactly what it was given. The total has a fifth.
    for (r, of_price) in plan.releases.iter().zip([Ratio::new(1, 5), Ratio::new(4, 5)]) {
        assert_eq!(r.parts.len(), r.spec.aggregates.len());
        let share = r.spec.aggregates.iter().fold(Ratio::from_integer(0), |sum, a| {
            let Distribution::Laplace { scale } = a.distribution else { panic!("{:?}", a.distribution) };
            sum + Ratio::from_integer(a.sensitivity.l1) / scale
        });
        assert_eq!(share, of_price);
        assert!(r.parts.iter().zip(&r.spec.aggregates).all(|(p, a)| p.linf == a.linf() && p.linf > 0));
    }
    let plan = b.plan("SELECT free, count(*) FROM visits GROUP BY free").await.unwrap();
    assert!(plan.releases[0].spec.selection.is_some());
    assert_eq!(total(&plan), Ratio::from_integer(1), "selection is within the price");
}

/// Rows that hold what types allow and no sane application stores.
const NASTY: &str = "INSERT INTO visits (id, ward, kind, age, free, cost, score, mark, at, day, ill, code) VALUES
    (1, '', '', 2147483647, 2147483647, 'NaN', 'NaN', 'NaN', 'infinity', 'infinity', NULL, ''),
    (2, 'north', 'a', -2147483648, -2147483648, 1e1000, 'Infinity', 'Infinity', '-infinity', '-infinity', true, 'x'),
    (3, NULL, NULL, 0, 0, -1e1000, '-Infinity', '-Infinity', '294276-12-31 23:59:59+00', '5874897-12-31', false, NULL),
    (4, 'south', 'b', NULL, NULL, 1e-1000, '-0', '-0', '4714-11-24 00:00:00+00 BC', '4714-11-24 BC', true, 'y'),
    (NULL, 'north', 'a', 5, 5, 5, 5, 5, '2024-05-05', '2024-05-05', true, 'z'),
    (5, '%_\\', 'a', 1, 1, NULL, 4.9e-324, 1e-45, '2024-02-29', '2024-02-29', true, 'z'),
    (6, 'north', 'a', 3, -1, 0, 1.7e308, 3e38, '10000-01-01', '0001-01-01 BC', true, 'z')";

#[tokio::test]
async fn rule_17_nan_is_null_and_infinities_are_the_bounds() {
    let b = exactly(
        "INSERT INTO visits (id, score, mark) VALUES (1, 'NaN', 'NaN'), (2, 'Infinity', 'Infinity'),
         (3, '-Infinity', '-Infinity'), (4, 'Infinity', 2.5), (5, NULL, NULL)",
    )
    .await;
    let asked = b
        .ask("SELECT sum(score), avg(score), sum(mark), avg(mark), sum(score * 2) FROM visits")
        .await
        .unwrap();
    assert_eq!(text(&asked), [["10", "3.3333333333333335", "7.5", "2.5", "20"]]);
    // numeric, which has infinities since PostgreSQL 14: NaN sorts above everything and counts as the upper bound.
    b.db.execute("INSERT INTO visits (id, cost) VALUES (1, 'NaN'), (2, 3)").await;
    let asked = b.ask("SELECT sum(cost) FROM visits").await.unwrap();
    assert_eq!(text(&asked), [["63.00"]]);
}

#[tokio::test]
async fn rule_18_no_row_makes_a_fetch_fail() {
    let b = exactly(NASTY).await;
    let mut keys = 0;
    for expression in [
        "age",
        "-age",
        "age + 1",
        "age * age",
        "age / free",
        "age % free",
        "age / age",
        "free / 2",
        "free * free - free",
        "-free",
        "abs(free)",
        "abs(free * free)",
        "cost",
        "cost * cost",
        "cost / age",
        "cost % 7",
        "cost / 3",
        "round(cost)",
        "round(cost, 1)",
        "floor(cost)",
        "ceil(cost)",
        "trunc(cost, -1)",
        "score",
        "score * score",
        "score / mark",
        "score / 3",
        "round(score)",
        "floor(score)",
        "ceil(score)",
        "trunc(score)",
        "score::int",
        "(score * 100)::int2",
        "mark",
        "mark::int",
        "mark::float8",
        "mark * score",
        "age::int2",
        "free::int2",
        "free::int8",
        "cost::int",
        "cost::numeric(3,1)",
        "(cost * 1000)::int2",
        "age::float4",
        "free::float8",
        "least(free, 5)",
        "greatest(age, cost, score)",
        "coalesce(free, age)",
        "nullif(free, age)",
        "CASE WHEN free / age > 1 THEN age ELSE cost END",
        "extract(year FROM at)",
        "extract(epoch FROM at)",
        "extract(isoyear FROM day)",
        "extract(week FROM day)",
        "extract(millennium FROM at)",
        "date_part('second', at)",
        "extract(dow FROM day::timestamp)",
        "extract(hour FROM day::timestamptz)",
    ] {
        let clamped = format!("least(greatest({expression}, -1000), 1000)");
        for sql in [
            format!("SELECT count({expression}), sum({clamped}), avg({clamped}) FROM visits"),
            format!("SELECT {expression}, count(*) FROM visits GROUP BY 1"),
            format!(
                "SELECT count(*) FROM visits WHERE {expression} > 1 OR {expression} IN (1, 2) OR {expression} IS NULL"
            ),
        ] {
            match b.ask(&sql).await {
                Ok(_) => keys += 1,
                // What is refused, is refused before any row is read; PostgreSQL's own errors are none.
                Err(e) => assert_eq!(e.code, SqlState::FEATURE_NOT_SUPPORTED, "{sql}: {e:?}"),
            }
        }
    }
    for key in [
        "ward",
        "kind",
        "ill",
        "at",
        "day",
        "date_trunc('month', at)",
        "date_trunc('week', day)",
        "day::timestamp",
        "day::timestamptz",
        "date_trunc('century', at)",
        "at > day",
        "day < timestamp '2024-01-01'",
        "ward LIKE '%\\%%'",
        "ward ILIKE '_'",
        "ward LIKE '%!%' ESCAPE '%!'",
        "coalesce(ward, kind)",
        "ward || kind",
        "cost > score",
        "score < cost",
        "score * score > mark",
        "cost * cost = mark",
        "score IS DISTINCT FROM cost",
        "age > score",
        "mark >= free",
        "score BETWEEN mark AND cost",
        "CASE WHEN cost > mark THEN score ELSE mark END",
    ] {
        match b.ask(&format!("SELECT {key}, count(*), count(DISTINCT id) FROM visits GROUP BY 1")).await {
            Ok(_) => keys += 1,
            Err(e) => assert_eq!(e.code, SqlState::FEATURE_NOT_SUPPORTED, "{key}: {e:?}"),
        }
    }
    assert!(keys > 150, "{keys} statements were answered");
}

const ASKED: &[&str] = &[
    "SELECT count(*), sum(age), avg(cost) FROM visits",
    "SELECT kind, ill, count(*) FROM visits GROUP BY 1, 2",
    "SELECT ward, count(*) FROM visits GROUP BY ward HAVING count(*) > 3 ORDER BY 2 LIMIT 1",
    "SELECT free, count(*), avg(score) FROM visits GROUP BY free",
    "SELECT free FROM visits GROUP BY free UNION ALL SELECT age FROM visits GROUP BY age",
    "SELECT count(*) / nullif((SELECT count(*) FROM visits), 0), (SELECT avg(age) FROM visits) FROM visits GROUP BY kind",
    "WITH n AS (SELECT ward, count(*) AS k FROM visits GROUP BY ward) SELECT sum(k), count(*) FROM n WHERE k > 5",
];

#[tokio::test]
async fn rule_23_shares_add_up_to_the_price() {
    let b = visits("").await;
    for sql in ASKED {
        let plan = b.plan(sql).await.unwrap();
        assert_eq!(total(&plan), Ratio::from_integer(1), "{sql}");
        let charge = plan.charge.unwrap();
        let private = plan.releases.iter().filter(|r| !r.public_groups).count();
        assert!(charge.selection_delta <= b.plan.delta, "{sql}");
        assert_eq!(*charge.selection_delta.numer() > 0, private > 0, "{sql}");
    }
}

#[tokio::test]
async fn rule_25_the_price_depends_on_the_text_alone() {
    let mut b = visits("").await;
    let mut empty = Vec::new();
    for sql in ASKED {
        empty.push((b.ask(sql).await.unwrap().plan.charge, b.ask(sql).await.unwrap().plan.charge));
    }
    b.db.execute(
        "INSERT INTO visits (id, ward, kind, age, free, cost) SELECT i % 50, 'north', 'a', i, i % 3, 5 FROM generate_series(1, 2000) i;
         ANALYZE visits",
    )
    .await;
    for (sql, (a, c)) in ASKED.iter().zip(empty) {
        b.seed += 1;
        assert_eq!(a, c);
        assert_eq!(b.ask(sql).await.unwrap().plan.charge, a, "{sql}");
    }
}

#[tokio::test]
async fn rule_30_explain_uses_public_data_only() {
    let b = visits("").await;
    let mut before = Vec::new();
    for sql in ASKED {
        before.push(b.ask(sql).await.unwrap().lines);
    }
    assert!(before[0].iter().any(|l| l.contains("avg") && l.contains("/ n for n rows")), "{:?}", before[0]);
    b.db.execute(
        "INSERT INTO visits (id, ward, kind, age, free, cost) SELECT i % 50, 'north', 'a', i, i % 3, 5 FROM generate_series(1, 2000) i;
         ANALYZE visits",
    )
    .await;
    for (sql, lines) in ASKED.iter().zip(before) {
        assert_eq!(b.ask(sql).await.unwrap().lines, lines, "{sql}");
    }
}

#[tokio::test]
async fn rule_31_the_finish_names_no_private_relation() {
    let b = visits("").await;
    for sql in ASKED {
        let finish = b.ask(sql).await.unwrap().finish;
        assert!(!finish.contains("visits") && !finish.contains("people"), "{finish}");
    }
    // What a role without grants could still read of a private table.
    for sql in [
        "SELECT reltuples FROM pg_class WHERE relname = 'visits'",
        "SELECT n_live_tup FROM pg_stat_user_tables",
        "SELECT * FROM pg_stats",
        "SELECT pg_relation_size('visits')",
        "SELECT pg_total_relation_size('visits'), count(*) FROM visits",
        "SELECT count(*), current_setting('data_directory') FROM visits",
        "SELECT count(*), (SELECT reltuples FROM pg_catalog.pg_class LIMIT 1) FROM visits",
        "SELECT query_to_xml('SELECT * FROM visits', true, true, '')",
        "SELECT count(*) FROM visits HAVING pg_sleep(count(*)) IS NULL",
        "SELECT 'visits'::regclass",
    ] {
        let e = refused(&b, sql).await;
        assert_eq!(e.code, SqlState::FEATURE_NOT_SUPPORTED, "{sql}: {e}");
    }
}

#[tokio::test]
async fn rule_32_errors_of_the_finish_are_told_and_name_the_analysts_columns() {
    let b = visits("").await;
    let e = b.ask("SELECT count(*) / (count(*) - count(*)) FROM visits").await.err().unwrap();
    assert_eq!((e.code.as_str(), e.message.as_str()), ("22012", "division by zero"));
    let e = refused(&b, "SELECT beds, count(*) FROM wards").await;
    assert!(e.message.contains("\"wards.beds\""), "{e}");
    let e =
        refused(&b, "SELECT q.n || 1.5 - 1 FROM (SELECT count(*) FROM visits) AS q(n) GROUP BY q.m").await;
    assert_eq!(e.code, SqlState::UNDEFINED_COLUMN);
}
