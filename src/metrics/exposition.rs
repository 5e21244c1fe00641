//! The text of a reading, and the list of all metrics, from which the table of the documentation is held.

use crate::reading::{Database, Reading};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use record::{Histogram, Outcome, Stage};
use std::fmt::Error;

/// A metric as monitoring finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Name, without the ending of its kind (`_total`, `_bucket`).
    pub name: &'static str,
    /// `counter`, `gauge`, `histogram` or `info`.
    pub kind: &'static str,
    /// Labels.
    pub labels: &'static [&'static str],
    /// Help.
    pub help: &'static str,
}

const fn metric(
    name: &'static str,
    kind: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> Metric {
    Metric { name, kind, labels, help }
}

const DATABASE: &[&str] = &["database"];
const POOL: &[&str] = &["database", "pool"];

/// All metrics, in the order in which they are written.
pub const METRICS: [Metric; 19] = [
    metric("noisegate_build", "info", &["version"], "The program"),
    metric("noisegate_start_time_seconds", "gauge", &[], "When the process began, since 1970"),
    metric("noisegate_sessions", "gauge", &[], "Clients that have logged in"),
    metric("noisegate_incidents", "counter", &[], "Failures of which clients learn no more than an id"),
    metric("noisegate_statements", "counter", &["database", "outcome"], "Statements, by how they ended"),
    metric("noisegate_errors", "counter", &["database", "sqlstate"], "Statements that ended with an error"),
    metric("noisegate_statements_running", "gauge", DATABASE, "Statements that run"),
    metric(
        "noisegate_statement_seconds",
        "histogram",
        DATABASE,
        "From the beginning of a statement to its last row",
    ),
    metric("noisegate_stage_seconds", "histogram", &["database", "stage"], "Each part of a statement's way"),
    metric(
        "noisegate_kept_answers",
        "counter",
        &["database", "result"],
        "Releases that were looked for among kept answers",
    ),
    metric(
        "noisegate_statements_known",
        "gauge",
        DATABASE,
        "Messages whose syntax is remembered, by their text",
    ),
    metric(
        "noisegate_budget_spent_ratio",
        "gauge",
        &["database", "budget"],
        "The spent part of a budget; of one for each user or role, by whoever has spent most",
    ),
    metric("noisegate_connections_limit", "gauge", POOL, "Connections to the database that there may be"),
    metric("noisegate_connections_busy", "gauge", POOL, "Connections to the database that work"),
    metric("noisegate_connections_waiting", "gauge", POOL, "Statements that wait for a connection"),
    metric("noisegate_ledger_commit_seconds", "histogram", DATABASE, "Commits of the ledger"),
    metric("noisegate_ledger_failures", "counter", DATABASE, "Commits of the ledger that failed"),
    metric("noisegate_ledger_tip_age_seconds", "gauge", DATABASE, "Since the ledger's latest entry"),
    metric("noisegate_ledger_answers", "gauge", DATABASE, "1 where the ledger answers, else 0"),
];

/// The text of a reading in OpenMetrics.
///
/// # Errors
/// None: a text can always be written.
pub fn exposition(reading: Reading) -> Result<String, Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Shown(reading)));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

struct Shown(Reading);

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shown")
    }
}

impl Collector for Shown {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        for metric in &METRICS {
            let (kind, unit) = match metric.kind {
                "counter" => (MetricType::Counter, None),
                "histogram" => (MetricType::Histogram, Some(Unit::Seconds)),
                "info" => (MetricType::Info, None),
                _ if metric.name.ends_with("_seconds") => (MetricType::Gauge, Some(Unit::Seconds)),
                _ if metric.name.ends_with("_ratio") => {
                    (MetricType::Gauge, Some(Unit::Other("ratio".into())))
                }
                _ => (MetricType::Gauge, None),
            };
            // The encoder writes the unit itself.
            let name =
                unit.as_ref().and_then(|unit| metric.name.strip_suffix(&format!("_{}", unit.as_str())));
            let name = name.unwrap_or(metric.name);
            let mut encoder = encoder.encode_descriptor(name, metric.help, unit.as_ref(), kind)?;
            self.0.measure(metric.name, &mut encoder)?;
        }
        Ok(())
    }
}

impl Reading {
    fn measure(&self, name: &str, out: &mut MetricEncoder<'_>) -> Result<(), Error> {
        match name {
            "noisegate_build" => return out.encode_info(&[("version", self.version)]),
            "noisegate_start_time_seconds" => return out.encode_gauge(&self.since),
            "noisegate_sessions" => return out.encode_gauge(&count(self.sessions)),
            "noisegate_incidents" => return counter(out, self.incidents),
            _ => {}
        }
        self.databases.iter().try_for_each(|database| database.measure(name, out))
    }
}

impl Database {
    fn measure(&self, name: &str, out: &mut MetricEncoder<'_>) -> Result<(), Error> {
        let database = ("database", self.name.as_str());
        let (totals, own) = (self.record.totals(), [database]);
        match name {
            "noisegate_statements" => Outcome::ALL.into_iter().try_for_each(|outcome| {
                let labels = [database, ("outcome", outcome.word())];
                counter(&mut out.encode_family(&labels)?, totals.statements(outcome))
            }),
            "noisegate_errors" => self.record.errors().into_iter().try_for_each(|(code, times)| {
                counter(&mut out.encode_family(&[database, ("sqlstate", code.as_str())])?, times)
            }),
            "noisegate_statements_running" => {
                out.encode_family(&own)?.encode_gauge(&count(self.record.running()))
            }
            "noisegate_statement_seconds" => histogram(&mut out.encode_family(&own)?, totals.whole()),
            "noisegate_stage_seconds" => Stage::ALL.into_iter().try_for_each(|stage| {
                let labels = [database, ("stage", stage.word())];
                histogram(&mut out.encode_family(&labels)?, totals.stage(stage))
            }),
            "noisegate_kept_answers" => {
                let (found, missing) = totals.looked();
                [("hit", found), ("miss", missing)].into_iter().try_for_each(|(result, times)| {
                    counter(&mut out.encode_family(&[database, ("result", result)])?, times)
                })
            }
            "noisegate_statements_known" => out.encode_family(&own)?.encode_gauge(&count(self.known)),
            "noisegate_budget_spent_ratio" => self.spent.iter().try_for_each(|(budget, part)| {
                out.encode_family(&[database, ("budget", budget.as_str())])?.encode_gauge(part)
            }),
            "noisegate_connections_limit" => self.pools(out, |pool| pool.most),
            "noisegate_connections_busy" => self.pools(out, |pool| pool.busy),
            "noisegate_connections_waiting" => self.pools(out, |pool| pool.waiting),
            "noisegate_ledger_commit_seconds" => {
                histogram(&mut out.encode_family(&own)?, &self.ledger.commits)
            }
            "noisegate_ledger_failures" => counter(&mut out.encode_family(&own)?, self.ledger.failures),
            "noisegate_ledger_tip_age_seconds" => out.encode_family(&own)?.encode_gauge(&self.ledger.tip_age),
            "noisegate_ledger_answers" => {
                out.encode_family(&own)?.encode_gauge(&i64::from(self.ledger.answers))
            }
            // A metric of the list that nothing measures.
            _ => Err(Error),
        }
    }

    fn pools(
        &self,
        out: &mut MetricEncoder<'_>,
        of: impl Fn(&crate::reading::Pool) -> usize,
    ) -> Result<(), Error> {
        self.pools.iter().try_for_each(|pool| {
            let labels = [("database", self.name.as_str()), ("pool", pool.name)];
            out.encode_family(&labels)?.encode_gauge(&count(of(pool)))
        })
    }
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn counter(out: &mut MetricEncoder<'_>, n: u64) -> Result<(), Error> {
    out.encode_counter::<NoLabelSet, u64, u64>(&n, None)
}

fn histogram(out: &mut MetricEncoder<'_>, of: &Histogram) -> Result<(), Error> {
    let buckets = of.buckets();
    let count = buckets.iter().map(|(_, n)| n).sum();
    out.encode_histogram::<NoLabelSet>(of.sum(), count, &buckets, None)
}
