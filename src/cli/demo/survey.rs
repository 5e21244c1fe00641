//! The survey of the demo's console: reports of browsers go to the table of a collected relation, and what is known of them is
//! asked as any analyst would ask it.

use crate::gateway::Gateway;
use backend::{Cells, Reports, Target};
use console::{Known, Question, Survey};
use demo::{ASKS, DEMO_DATABASE, DEMO_USER, RELATION};
use policy::{Collect, Randomiser};
use std::error::Error;
use std::net::SocketAddr;
use std::pin::Pin;
use tokio_postgres::{Config, NoTls};

/// Below it a browser's uniform number is.
const UNIFORM: f64 = 9_007_199_254_740_992.0;
/// That many lies more, of as many as there are uniform numbers: rounding makes lies more likely, and never less.
const ROUNDED: u64 = 4;

/// Of the demo's policy.
pub struct Helmets {
    question: Question,
    target: Target,
    reports: Reports,
    /// The proxy itself.
    proxy: Config,
}

impl Helmets {
    /// The survey of the policy in force, asked by way of the proxy at this address.
    ///
    /// # Errors
    /// The policy has no such collection, or its login cannot write.
    pub async fn open(gateway: &Gateway, proxy: SocketAddr, run: String) -> Result<Self, Box<dyn Error>> {
        let policy = gateway.policy();
        let collect =
            policy.collects.iter().find(|c| c.name == RELATION).ok_or("the demo collects nothing")?;
        let reports = Reports::connect(&policy.backend, gateway.backend()).await?;
        let columns = collect.columns.iter().map(|c| c.name.clone()).collect();
        let mut config = Config::new();
        config.host(proxy.ip().to_string()).port(proxy.port()).user(DEMO_USER).dbname(DEMO_DATABASE);
        Ok(Self {
            question: question(collect, run).ok_or("the demo's survey is of another kind")?,
            target: Target {
                schema: collect.schema.clone(),
                table: collect.table.clone(),
                columns,
                batches: None,
            },
            reports: reports.ok_or("the demo has no login that writes")?,
            proxy: config,
        })
    }

    async fn known(&self) -> Result<Known, tokio_postgres::Error> {
        let (client, connection) = self.proxy.connect(NoTls).await?;
        let driven = tokio::spawn(connection);
        let all = client.query_one(&format!("SELECT count(*) FROM {RELATION}"), &[]).await?;
        let sql = format!(
            "SELECT answer, count(*)::float8, noisegate.low(count(*))::float8, noisegate.high(count(*))::float8 \
             FROM {RELATION} GROUP BY answer"
        );
        let rows = client.query(&sql, &[]).await?;
        drop(client);
        driven.abort();
        let mut estimates = vec![[0.0; 3]; self.question.answers.len()];
        for row in rows {
            let answer: &str = row.try_get(0)?;
            let place = self.question.answers.iter().position(|a| a == answer);
            if let Some(estimate) = place.and_then(|n| estimates.get_mut(n)) {
                *estimate = [row.try_get(1)?, row.try_get(2)?, row.try_get(3)?];
            }
        }
        Ok(Known { reports: all.try_get::<_, i64>(0)?.unsigned_abs(), estimates })
    }
}

/// What browsers need to randomise as [`dp::randomised::RandomisedResponse`] does.
fn question(collect: &Collect, run: String) -> Option<Question> {
    let [column] = collect.columns.as_slice() else { return None };
    let Randomiser::Oracle(oracle) = &column.randomiser else { return None };
    if oracle.kind() != dp::randomised::OracleKind::Response || column.size() > 10 {
        return None;
    }
    let (truthful, _) = oracle.probabilities();
    Some(Question {
        asks: ASKS,
        relation: collect.name.clone(),
        answers: column.values.clone(),
        epsilon: column.epsilon.normalized().to_string(),
        truthful,
        lie: lie(truthful),
        run,
    })
}

/// Of [`UNIFORM`] numbers those that stand for a lie.
fn lie(truthful: f64) -> u64 {
    ((1.0 - truthful) * UNIFORM).ceil() as u64 + ROUNDED
}

impl Survey for Helmets {
    fn question(&self) -> Question {
        self.question.clone()
    }

    fn take(&self, reports: Vec<u32>) -> Pin<Box<dyn Future<Output = Result<Known, String>> + Send + '_>> {
        Box::pin(async move {
            if !reports.is_empty() {
                let cells: Option<Vec<i32>> = reports.iter().map(|r| i32::try_from(*r).ok()).collect();
                let cells = cells.ok_or("a report that is no answer")?;
                let stored = self.reports.store(&[(self.target.clone(), vec![Cells::Symbols(cells)])]).await;
                stored.map_err(|e| {
                    tracing::warn!(cause = %e, "reports of the survey were not stored");
                    "The reports could not be stored."
                })?;
            }
            self.known().await.map_err(|e| {
                tracing::warn!(cause = %e, "the survey's estimates could not be asked");
                "The reports are stored, but what is known of them could not be asked.".to_owned()
            })
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use dp::Ratio;
    use dp::randomised::{Oracle, OracleKind};

    #[test]
    fn a_browser_lies_no_less_often_than_the_mechanism() {
        for (answers, epsilon) in [(2, (1, 1)), (3, (1, 1)), (10, (1, 10)), (3, (4, 1)), (5, (30, 1))] {
            let epsilon = Ratio::new(epsilon.0, epsilon.1);
            let (truthful, other) =
                Oracle::new(OracleKind::Response, answers, &epsilon).unwrap().probabilities();
            let told = lie(truthful) as f64 / UNIFORM;
            let lies = other * f64::from(answers - 1);
            assert!(told > lies && told - lies < 8.0 / UNIFORM, "{answers}: {told} and {lies}");
            // What the odds change by: with lies that are rarer it would be more than e^ε.
            let factor = (1.0 - told) * f64::from(answers - 1) / told;
            assert!(
                factor <= (*epsilon.numer() as f64 / *epsilon.denom() as f64).exp(),
                "{answers}: {factor}"
            );
        }
    }
}
