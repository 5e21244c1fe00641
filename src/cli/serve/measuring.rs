//! Steps of `noisegate profile`, over a gateway that has the ledger.

use super::request::{Beside, Measured, ProfilePrice, Profiled, Profiling, Table};
use crate::gateway::Gateway;
use crate::gateway::measuring::{Measuring, Question, Share, Wanted, columns, key, measurable};
use policy::decimal_text;
use std::sync::Arc;

/// Does a step of `noisegate profile` over a gateway.
pub async fn answer(gateway: &Arc<Gateway>, step: &Profiling) -> Result<Profiled, String> {
    let at = |epsilon: &str| {
        let number =
            decimal_text(epsilon, 10).ok_or_else(|| format!("epsilon = {epsilon:?} is no number"))?;
        Ok::<_, String>(Measuring::new(gateway, &number))
    };
    let policy = gateway.policy();
    let wanted = |table: &str, beside: &Beside| -> Result<Wanted, String> {
        let of = policy.tables.iter().find(|t| t.name == table);
        let key =
            |written: &String| of.map_or_else(|| Err(format!("no table {table:?}")), |t| key(t, written));
        let keys = beside.keys.iter().map(key).collect::<Result<_, _>>()?;
        Ok(Wanted { columns: beside.columns.clone(), keys })
    };
    Ok(match step {
        Profiling::Tables => {
            let table = |(t, can): (&policy::Table, Result<(), String>)| Table {
                name: t.name.clone(),
                nothing: can.err(),
                adds: columns(t).into_iter().map(|c| c.name.clone()).collect(),
                columns: t.columns.iter().map(|c| c.name.clone()).collect(),
            };
            Profiled::Tables {
                tables: measurable(policy).into_iter().map(table).collect(),
                least: policy.statement.min_epsilon.normalized().to_plain_string(),
            }
        }
        Profiling::Price { table, what, epsilon } => {
            let at = at(epsilon)?;
            let shares = match what {
                Measured::Units => at.price(table, &Question::Units).await,
                Measured::Items(beside) => at.price_of_items(table, &wanted(table, beside)?).await,
            };
            let price =
                |Share { budget, part, left, statements }| ProfilePrice { budget, part, left, statements };
            Profiled::Price(shares.map_err(|e| e.to_string())?.into_iter().map(price).collect())
        }
        Profiling::Units { table, epsilon } => {
            let units = at(epsilon)?.units(table).await.map_err(|e| e.to_string())?;
            tracing::info!(%table, %epsilon, "units were counted");
            Profiled::Units(i64::try_from(units).unwrap_or(i64::MAX))
        }
        Profiling::Items { table, beside, epsilon, author, reason } => {
            let wanted = wanted(table, beside)?;
            let measured = at(epsilon)?.items(table, &wanted, author, reason).await;
            let measured = measured.map_err(|e| e.to_string())?;
            tracing::info!(%table, %epsilon, entry = measured.id, %author, "units were measured");
            let most_rows = policy.tables.iter().find(|t| t.name == *table).and_then(|t| t.most_rows);
            Profiled::Items { id: measured.id, profile: measured.written(), most_rows }
        }
    })
}
