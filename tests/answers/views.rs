//! Views of the policy: analysts find them as tables, and what is private in them stays so.

use crate::city::{World, bikes, policy, rows};
use crate::usual::rules;
use noisegate::gateway::Checked;
use std::path::Path;

const RULES: &str =
    rules!([epsilon = 20, delta = 1e-6, max_rows = 4] ["approx", epsilon = 1000, delta = 0.1]);

const VIEWS: &str = "
[[view]]
name = \"long_trips\"
sql = \"SELECT t.rider_id, t.fare, t.minutes, s.city FROM trips t JOIN stations s ON s.station = t.station WHERE t.minutes > 60\"
[[view]]
name = \"city_sizes\"
sql = \"SELECT city, count(*) AS stations, avg(capacity) AS size FROM stations GROUP BY city\"
[[view]]
name = \"busy_riders\"
sql = \"SELECT rider_id, count(*) AS n FROM long_trips GROUP BY rider_id\"
[[view]]
name = \"by_city\"
sql = \"SELECT city, count(*) AS n FROM long_trips GROUP BY city\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn views_are_found_as_tables() {
    let world = World::new(&["ada"], &format!("{RULES}{VIEWS}")).await;
    let ada = world.client("ada").await;
    let one = async |sql: &str| {
        let all = rows(&ada, sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        all.first().and_then(|r| r.first().cloned().flatten()).unwrap_or_else(|| panic!("{sql}: {all:?}"))
    };
    let near = |text: String, exact: f64| {
        let n: f64 = text.parse().unwrap();
        assert!((n - exact).abs() < 20.0, "{n}, not {exact}");
    };
    // The same as its query, written out; names of the statement around it do not reach into it.
    near(one("SELECT count(*) FROM long_trips").await, 998.0);
    near(one("SELECT count(*) FROM public.long_trips AS l WHERE l.city = 'City 1'").await, 299.0);
    near(one("WITH trips AS (SELECT 1) SELECT count(*) FROM long_trips").await, 998.0);
    near(one("SELECT sum(n) FROM busy_riders").await, 998.0);
    near(one("SELECT max(n) FROM by_city").await, 399.0);
    near(
        one("SELECT count(*) FROM long_trips l JOIN city_sizes c ON c.city = l.city AND c.stations > 3")
            .await,
        399.0,
    );
    assert_eq!(one("SELECT sum(stations) FROM city_sizes").await, "10");
    // A CTE of its name stands before it.
    assert_eq!(one("WITH long_trips AS (SELECT 7 AS x) SELECT x FROM long_trips").await, "7");
    let columns = "SELECT string_agg(column_name || ' ' || data_type, ', ') FROM noisegate.columns WHERE table_name = 'city_sizes' AND privacy = 'view'";
    assert_eq!(one(columns).await, "city text, stations int8, size numeric");
    let found = "SELECT string_agg(column_name || ' ' || data_type, ', ' ORDER BY ordinal_position) FROM information_schema.columns c
        JOIN information_schema.tables t USING (table_schema, table_name) WHERE table_name = 'city_sizes' AND table_type = 'VIEW'";
    assert_eq!(one(found).await, "city text, stations bigint, size numeric");
    // Rows of units stay where they are, and errors point at what was written.
    let refused = rows(&ada, "SELECT * FROM long_trips").await.unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "0A000");
    let unknown = rows(&ada, "SELECT nothing FROM long_trips").await.unwrap_err();
    assert_eq!(unknown.code().unwrap().code(), "42703");
}

#[tokio::test(flavor = "multi_thread")]
async fn views_that_are_wrong_are_told_at_load() {
    let db = bikes().await;
    for (name, sql, told) in [
        ("v", "SELECT x FROM trips", "the view \"v\": column \"x\" does not exist"),
        ("v", "SELECT * FROM nowhere", "the view \"v\": relation \"nowhere\" does not exist"),
        ("v", "SELECT note + 1 FROM trips", "the view \"v\": operator does not exist"),
        ("v", "SELECT * FROM v", "the view \"v\": the view \"v\" refers to itself"),
        ("v", "DELETE FROM trips", "the view \"v\": "),
        ("v", "SELECT 1; SELECT 2", "the view \"v\": a view is one SELECT"),
        ("v", "SELECT email FROM riders", "the view \"v\": column \"email\" does not exist"),
        ("Trips", "SELECT 1", "\"Trips\" cannot be a view's name"),
        ("trips", "SELECT 1", "a table is called \"trips\", too"),
    ] {
        let view = format!("[[view]]\nname = \"{name}\"\nsql = \"{sql}\"\n");
        let text = policy(&db.backend_toml(), &["ada"], &format!("{RULES}{view}"));
        let raw = noisegate::policy::parse(&text, "policy.toml", Path::new("/")).unwrap();
        let Err(error) = Checked::new(&raw).await else { panic!("{sql}: taken") };
        assert!(error.to_string().contains(told), "{sql}: {error}");
    }
}
