#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
use crate::{Database, Ledger, METRICS, Metric, Pool, Reading, exposition};
use record::{Asked, Ended, Recorder, Running, Stage, Stages};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

const ALERTS: &str = include_str!("../../packaging/alerts.yml");
const DASHBOARD: &str = include_str!("../../packaging/grafana.json");
const DOCUMENT: &str = include_str!("../../docs/operations.md");

fn reading() -> Reading {
    let record = Arc::new(Recorder::default());
    let mut before = Stages::default();
    before.add(Stage::Parse, Duration::from_micros(300));
    let asked = Asked { user: "ada".into(), database: None, session: 1, class: "query", text: None, before };
    Running::begin(&record, asked.clone()).end(Ended::Done, 3);
    Running::begin(&record, asked).end(Ended::Error("0A000".into(), "it is \"ada\"'s".into()), 0);
    let ledger = Ledger { commits: Arc::default(), failures: 0, tip_age: 1.5, answers: true };
    ledger.commits.observe(Duration::from_millis(3));
    let pools = vec![Pool { name: "fetch", most: 8, busy: 1, waiting: 0 }];
    let spent = vec![("total \"a\\b\"\n".to_owned(), 0.25)];
    let database = Database { name: "bikes".into(), record, pools, known: 3, spent, ledger };
    Reading { version: "0.1.0", since: 1.7e9, sessions: 2, incidents: 1, databases: vec![database] }
}

/// How a metric's samples are called.
fn samples(metric: &Metric) -> Vec<String> {
    let endings: &[&str] = match metric.kind {
        "counter" => &["_total"],
        "info" => &["_info"],
        "histogram" => &["_bucket", "_count", "_sum"],
        _ => &[""],
    };
    endings.iter().map(|ending| format!("{}{ending}", metric.name)).collect()
}

#[test]
fn every_metric_of_the_list_is_exposed_and_no_other() {
    let text = exposition(reading()).unwrap();
    assert!(text.ends_with("# EOF\n"), "{text}");
    for line in [
        "noisegate_build_info{version=\"0.1.0\"} 1",
        "noisegate_statements_total{database=\"bikes\",outcome=\"public\"} 1",
        "noisegate_statements_total{database=\"bikes\",outcome=\"refused\"} 1",
        "noisegate_errors_total{database=\"bikes\",sqlstate=\"0A000\"} 1",
        "noisegate_stage_seconds_bucket{le=\"0.0005\",database=\"bikes\",stage=\"parse\"} 2",
        "noisegate_ledger_commit_seconds_count{database=\"bikes\"} 1",
        "noisegate_ledger_commit_seconds_bucket{le=\"+Inf\",database=\"bikes\"} 1",
        "noisegate_budget_spent_ratio{database=\"bikes\",budget=\"total \\\"a\\\\b\\\"\\n\"} 0.25",
        "noisegate_connections_limit{database=\"bikes\",pool=\"fetch\"} 8",
        "# TYPE noisegate_ledger_tip_age_seconds gauge",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
    }
    assert!(!text.contains("ada"), "no user, no reason");
    let known: BTreeSet<String> = METRICS.iter().flat_map(samples).collect();
    let mut exposed = BTreeSet::new();
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        assert!(known.contains(name), "{line} is on no list");
        exposed.insert(name.to_owned());
    }
    assert_eq!(exposed, known);
    for metric in METRICS {
        let line = text.lines().find(|l| l.starts_with(&format!("{}{{", samples(&metric)[0])));
        for label in metric.labels {
            assert!(line.is_some_and(|l| l.contains(&format!("{label}=\""))), "{label} of {}", metric.name);
        }
    }
}

#[test]
fn the_documentation_lists_them_all() {
    let row = |m: &Metric| {
        let labels: Vec<String> = m.labels.iter().map(|l| format!("`{l}`")).collect();
        let name = if m.kind == "histogram" { m.name.to_owned() } else { samples(m).remove(0) };
        format!("| `{name}` | {} | {} | {} |", m.kind, labels.join(", "), m.help)
    };
    let rows: Vec<String> = METRICS.iter().map(row).collect();
    let documented: Vec<&str> = DOCUMENT.lines().filter(|l| l.starts_with("| `noisegate_")).collect();
    assert_eq!(documented, rows, "docs/operations.md should have:\n{}", rows.join("\n"));
}

#[test]
fn the_dashboard_asks_for_metrics_and_labels_that_exist() {
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut queries = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            queries.push(target["expr"].as_str().unwrap().to_owned());
            let legend = target["legendFormat"].as_str().unwrap();
            let labels = legend.split("{{").skip(1).map(|l| l.split("}}").next().unwrap());
            let asked = queries.last().unwrap().clone();
            for label in labels.filter(|l| *l != "instance") {
                let metric = metrics(&asked).remove(0);
                assert!(metric.labels.contains(&label), "{label} in the legend of {asked}");
            }
        }
    }
    queries.extend(dashboard["templating"]["list"].as_array().unwrap().iter().filter_map(|variable| {
        let query = variable["query"].as_str().unwrap();
        (query != "prometheus").then(|| query.to_owned())
    }));
    let mut asked = BTreeSet::new();
    for query in &queries {
        for metric in metrics(query) {
            asked.insert(metric.name);
            for label in labels(query) {
                let has =
                    metric.labels.contains(&label.as_str()) || metric.kind == "histogram" && label == "le";
                assert!(has, "{} has no label {label}: {query}", metric.name);
            }
        }
    }
    let missing: Vec<&str> =
        METRICS.iter().map(|m| m.name).filter(|n| !asked.contains(n) && *n != "noisegate_build").collect();
    assert_eq!(missing, Vec::<&str>::new(), "what is measured is shown");
}

/// The metrics that a query names.
fn metrics(query: &str) -> Vec<Metric> {
    let words = query.split(|c: char| !c.is_alphanumeric() && c != '_');
    let find = |word: &str| {
        let found = METRICS.into_iter().find(|m| samples(m).iter().any(|s| s == word));
        found.unwrap_or_else(|| panic!("{word} is no metric: {query}"))
    };
    words.filter(|w| w.starts_with("noisegate_")).map(find).collect()
}

/// The labels that it names: in braces, in `by (…)`, and in `label_values(…, label)`.
fn labels(query: &str) -> Vec<String> {
    let parts = |open: &str, close: char| -> Vec<String> {
        let inside = query.split(open).skip(1).map(|rest| rest.split(close).next().unwrap());
        inside.flat_map(|list| list.split(',').map(|l| l.trim().to_owned())).collect()
    };
    let matched = parts("{", '}').into_iter().map(|m| m.split(['=', '!']).next().unwrap().to_owned());
    let grouped = parts("by (", ')');
    let listed = parts("label_values(", ')').into_iter().skip(1);
    matched.chain(grouped).chain(listed).collect()
}

#[test]
fn queries_are_read_for_their_labels() {
    assert_eq!(labels("sum by (a, b) (x{c=~\"1\", d=\"2\"})"), ["c", "d", "a", "b"]);
    assert_eq!(labels("label_values(noisegate_statements_total, database)"), ["database"]);
}

#[test]
fn the_alerts_ask_for_metrics_and_labels_that_exist() {
    let is_rule = |line: &&str| line.contains("noisegate_");
    let mut asked = BTreeSet::new();
    for line in ALERTS.lines().filter(is_rule) {
        for metric in metrics(line) {
            asked.insert(metric.name);
        }
        for label in labels(line) {
            let known = METRICS.iter().any(|m| m.labels.contains(&label.as_str()));
            assert!(known || ["instance", "job"].contains(&label.as_str()), "{label} in {line}");
        }
    }
    assert_eq!(asked.len(), 6, "{asked:?}");
}
