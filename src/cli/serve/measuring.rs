//! Steps of `noisegate profile`, over a gateway that has the ledger.

use super::request::{Measured, ProfilePrice, Profiled, Profiling};
use crate::gateway::Gateway;
use crate::gateway::measuring::{Measuring, Question, Share, measurable};
use policy::decimal_text;
use std::sync::Arc;

/// Does a step of `noisegate profile` over a gateway.
pub async fn answer(gateway: &Arc<Gateway>, step: &Profiling) -> Result<Profiled, String> {
    let at = |epsilon: &str| {
        let number =
            decimal_text(epsilon, 10).ok_or_else(|| format!("epsilon = {epsilon:?} is no number"))?;
        Ok::<_, String>(Measuring::new(gateway, &number))
    };
    Ok(match step {
        Profiling::Tables => {
            let tables = measurable(gateway.policy()).into_iter();
            let least = &gateway.policy().statement.min_epsilon;
            Profiled::Tables {
                tables: tables.map(|(table, can)| (table.name.clone(), can.err())).collect(),
                least: least.normalized().to_plain_string(),
            }
        }
        Profiling::Price { table, what, epsilon } => {
            let question = match what {
                Measured::Units => Question::Units,
                Measured::Rows => Question::Rows,
            };
            let shares = at(epsilon)?.price(table, question).await.map_err(|e| e.to_string())?;
            let price =
                |Share { budget, part, left, statements }| ProfilePrice { budget, part, left, statements };
            Profiled::Price(shares.into_iter().map(price).collect())
        }
        Profiling::Units { table, epsilon } => {
            let units = at(epsilon)?.units(table).await.map_err(|e| e.to_string())?;
            tracing::info!(%table, %epsilon, "units were counted");
            Profiled::Units(i64::try_from(units).unwrap_or(i64::MAX))
        }
        Profiling::Rows { table, epsilon, author, reason } => {
            let measured = at(epsilon)?.rows(table, author, reason).await.map_err(|e| e.to_string())?;
            tracing::info!(%table, %epsilon, entry = measured.id, %author, "rows of units were measured");
            let tables = &gateway.policy().tables;
            let most_rows = tables.iter().find(|t| t.name == *table).and_then(|t| t.most_rows);
            Profiled::Rows { id: measured.id, profile: measured.written(), most_rows }
        }
    })
}
