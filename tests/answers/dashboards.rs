//! The dashboards of `examples/dashboards`: each of their statements, as the tool sends it, gives the rows that PostgreSQL gives, with
//! ends around its numbers.

use crate::city::{PASSWORD, bikes, policy, rows};
use crate::support::{Gate, Workdir, connect};
use crate::usual::rules;
use serde_json::Value;
use tokio_postgres::Client;

const RULES: &str = rules!([epsilon = 5, delta = 1e-6, max_groups = 12, max_rows = 4] ["approx", epsilon = 1000, delta = 0.1]);

/// Trips of the rest of 2024, so that no week is without any.
const MORE: &str = "INSERT INTO trips SELECT 10000 + i, 1 + i % 499, timestamp '2024-11-28' + i * interval '4 hours', \
    'Station ' || i % 10, 31 + i * 7 % 60, (i % 50) + 0.25, '', i % 30 FROM generate_series(0, 203) i";

/// PostgreSQL with functions of these names, which know of no noise.
const WITHOUT_NOISE: &str = "CREATE SCHEMA noisegate; \
    CREATE FUNCTION noisegate.low(numeric) RETURNS float8 LANGUAGE sql AS 'SELECT $1::float8'; \
    CREATE FUNCTION noisegate.high(numeric) RETURNS float8 LANGUAGE sql AS 'SELECT $1::float8'";

struct World {
    gate: Client,
    exact: Client,
    _dir: Workdir,
    _served: Gate,
}

impl World {
    async fn new() -> Self {
        let (db, exact) = (bikes().await, bikes().await);
        for db in [&db, &exact] {
            db.execute(MORE).await;
        }
        exact.execute(WITHOUT_NOISE).await;
        let text = policy(&db.backend_toml(), &["ada"], RULES)
            .replacen("[table.trips]\n", "[table.trips]\nmax_total_rows = 10\ncut_rows = 0\n", 1)
            .replacen("[table.riders]\n", "[table.riders]\nmost_rows = 1\n", 1);
        let dir = Workdir::new(&text);
        let served = dir.serve().await;
        let gate = connect(&served.url("ada", PASSWORD, "bikes")).await;
        Self { gate, exact: exact.superuser().await, _dir: dir, _served: served }
    }

    /// The same keys come from both, and numbers lie between their ends, which hold the truth.
    async fn judge(&self, title: &str, sql: &str, ordered: bool) {
        let (mut ours, mut truth) = (
            rows(&self.gate, sql).await.unwrap_or_else(|e| panic!("{title}: {e:?}")),
            rows(&self.exact, sql).await.unwrap(),
        );
        if !ordered {
            ours.sort();
            truth.sort();
        }
        assert!(truth.len() >= 3, "{title}: {truth:?}");
        let keys = |rows: &[Vec<Option<String>>]| rows.iter().map(|r| r[0].clone()).collect::<Vec<_>>();
        assert_eq!(keys(&ours), keys(&truth), "{title}");
        for (ours, truth) in ours.iter().zip(&truth) {
            for place in (1..truth.len()).step_by(3) {
                let number = |row: &[Option<String>], at: usize| -> f64 {
                    row[at].as_deref().unwrap_or_else(|| panic!("{title}: {row:?}")).parse().unwrap()
                };
                let [value, low, high] = [0, 1, 2].map(|i| number(ours, place + i));
                assert!(low <= value && value <= high, "{title}: {ours:?}");
                // One in a hundred thousand lies further out than this.
                let (exact, wide) = (number(truth, place), 1.0 + 3.0 * (high - low));
                assert!((value - exact).abs() <= wide, "{title}: {ours:?} of {truth:?}");
            }
        }
    }
}

fn read(name: &str) -> Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/dashboards").join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A statement as Grafana sends it for its range: `pkg/tsdb/grafana-postgresql-datasource/macros.go`.
fn expanded(sql: &str, from: &str, to: &str) -> String {
    let mut out = sql.to_owned();
    while let Some((before, rest)) = out.split_once("$__") {
        let (name, rest) = rest.split_once('(').unwrap();
        let (args, rest) = rest.split_once(')').unwrap();
        let args: Vec<&str> = args.split(',').map(str::trim).collect();
        let text = match (name, args.as_slice()) {
            ("timeFilter", [column]) => format!("{column} BETWEEN '{from}' AND '{to}'"),
            ("timeGroupAlias", [column, "'7d'"]) => {
                format!("floor(extract(epoch from {column})/604800)*604800 AS \"time\"")
            }
            other => panic!("{other:?}"),
        };
        out = format!("{before}{text}{rest}");
    }
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn grafanas_panels_have_postgresqls_rows_and_ends_around_their_numbers() {
    let (world, dashboard) = (World::new().await, read("grafana.json"));
    let time = |end: &str| dashboard["time"][end].as_str().unwrap().to_owned();
    let panels = dashboard["panels"].as_array().unwrap();
    assert_eq!(panels.len(), 3);
    for panel in panels {
        let target = &panel["targets"][0];
        let sql = expanded(target["rawSql"].as_str().unwrap(), &time("from"), &time("to"));
        let series = target["format"] == "time_series";
        world.judge(panel["title"].as_str().unwrap(), &sql, series).await;
        // The band is between columns that there are.
        for column in ["AS low", "AS high"] {
            assert!(sql.contains(column), "{sql}");
        }
        let filled = panel["fieldConfig"]["overrides"].to_string().contains("custom.fillBelowTo");
        assert_eq!(filled, series);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metabases_questions_have_postgresqls_rows_and_ends_around_their_numbers() {
    let (world, file) = (World::new().await, read("metabase.json"));
    let cards = file["cards"].as_array().unwrap();
    assert_eq!(cards.len(), 3);
    for card in cards {
        let sql = card["dataset_query"]["native"]["query"].as_str().unwrap();
        world.judge(card["name"].as_str().unwrap(), sql, false).await;
        let shown = card["visualization_settings"]["graph.metrics"].as_array();
        for metric in shown.into_iter().flatten() {
            assert!(sql.contains(&format!("AS {}", metric.as_str().unwrap())), "{metric} of {sql}");
        }
    }
}
