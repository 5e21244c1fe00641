//! NaN of a float: NULL, or, where the owner rules it out, one more value beyond the upper end of its range.

use crate::bikes::Bikes;
use crate::support;
use crate::usual::rules;
use noisegate::emit::fetch;
use noisegate::kernel;

const TABLES: &str = "
    CREATE TABLE people (id int PRIMARY KEY, income float8 NOT NULL, wealth float8);
    INSERT INTO people SELECT i, 10, 10 FROM generate_series(1, 5) AS i;
    INSERT INTO people VALUES (6, 'NaN', 'NaN'), (7, 'Infinity', NULL), (8, '-Infinity', 3), (9, 1e308, 4)";

fn rules(nan: &str) -> String {
    format!(
        "{}[privacy]
    unit = \"people.id\"
    [table.people]
    unit_column = \"id\"
    columns.income = {{ range = [0, 100], grid = 1{nan} }}
    columns.wealth = {{ range = [0, 100], grid = 1{nan} }}",
        rules!([epsilon = 1, delta = 1e-6, max_groups = 4, max_rows = 8] ["zcdp", epsilon = 1000, delta = 0.5])
    )
}

/// The exact integers of a statement's only fetch, which are certified.
async fn integers(nan: &str, sql: &str) -> Vec<i64> {
    let b = Bikes::over(support::database(TABLES).await, &rules(nan)).await;
    let plan = b.plan(sql).await.unwrap();
    let text = fetch::fetch(&plan.releases[0], &b.policy).sql;
    kernel::certify(&text, &b.policy).unwrap();
    let client = b.db.superuser().await;
    let parts = plan.releases[0].parts.len();
    let columns: Vec<String> = (0..parts).map(|i| format!("x.a{i}::int8")).collect();
    let row =
        client.query_one(&format!("SELECT {} FROM ({text}) AS x", columns.join(", ")), &[]).await.unwrap();
    (0..parts).map(|i| row.get(i)).collect()
}

#[tokio::test]
async fn rule_17_nan_is_null_or_beyond_the_upper_end() {
    let sql = "SELECT count(*), sum(income), avg(income) FROM people";
    // NaN is left out: 50 + 100 + 0 + 100, less 50 for each of eight.
    let mut all = integers("", sql).await;
    all.sort_unstable();
    assert_eq!(all, [-150, 8, 9]);
    // It counts as 100, and rows are counted once.
    let mut all = integers(", nan = false", sql).await;
    all.sort_unstable();
    assert_eq!(all, [-100, 9]);
    // NULL is no value, whoever rules out what: 50 + 100 + 3 + 4, less 50 for each of eight.
    let mut all = integers(", nan = false", "SELECT count(*), avg(wealth) FROM people").await;
    all.sort_unstable();
    assert_eq!(all, [-243, 8, 9]);
}

#[tokio::test]
async fn rule_17_a_float_is_counted_at_its_nearest_point() {
    for (nan, most) in [("", 2), (", nan = false", 3)] {
        let b = Bikes::over(support::database(TABLES).await, &rules(nan)).await;
        let plan =
            b.plan("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY income) FROM people").await.unwrap();
        let text = fetch::fetch(&plan.releases[0], &b.policy).sql;
        kernel::certify(&text, &b.policy).unwrap();
        let client = b.db.superuser().await;
        let points = format!("SELECT x.k0, x.a0::int8 FROM ({text}) AS x WHERE x.a0 > 0 ORDER BY 1");
        let rows = client.query(&points, &[]).await.unwrap();
        let points: Vec<(i64, i64)> = rows.iter().map(|r| (r.get(0), r.get(1))).collect();
        assert_eq!(points, [(0, 1), (10, 5), (100, most)], "{text}");
    }
}
