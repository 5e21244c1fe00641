//! The rows of `noisegate.*`: the books and the policy as one user may see them, and the session's settings.

use super::settings::own::Own as Setting;
use super::{Gateway, Session};
use crate::dp;
use crate::emit::print::OwnRow;
use crate::error::ClientError;
use crate::plan;
use crate::policy::{Column, Domain, Policy, Privacy, Range, Table};
use crate::sql::ast::{Own, Source, Statement};

impl Session {
    /// The rows of every relation of ours that the statement names.
    pub(super) async fn own_rows(
        &self,
        gateway: &Gateway,
        statement: &Statement,
    ) -> Result<Vec<(Own, Vec<OwnRow>)>, ClientError> {
        let mut out = Vec::new();
        for own in Own::ALL {
            if statement.bindings.iter().all(|b| b.source != Source::Own(own)) {
                continue;
            }
            let rows = match own {
                Own::Budget => self.budgets(gateway).await?,
                Own::Columns => columns(&gateway.policy),
                Own::Settings => self.settings_rows(gateway),
                Own::Streams => self.stream_rows(gateway).await?,
            };
            out.push((own, rows));
        }
        Ok(out)
    }

    async fn budgets(&self, gateway: &Gateway) -> Result<Vec<OwnRow>, ClientError> {
        let states = gateway.ledger.remaining(&self.identity).await.map_err(|r| r.client())?;
        let usual = usual_charge(&self.settings.plan(&gateway.settings));
        let row = |state: &crate::ledger::BudgetState| {
            let b = &state.budget;
            let left = usual.as_ref().and_then(|c| state.fits(c).ok());
            vec![
                Some(b.name.clone()),
                Some(b.scope.word().into()),
                Some(b.accounting.word().into()),
                Some(b.epsilon.normalized().to_plain_string()),
                Some(b.delta.normalized().to_plain_string()),
                Some(b.selection_delta.normalized().to_plain_string()),
                Some(format!("{:.6}", state.fraction_left())),
                left.map(|n| i64::try_from(n).unwrap_or(i64::MAX).to_string()),
            ]
        };
        Ok(states.iter().map(row).collect())
    }

    fn settings_rows(&self, gateway: &Gateway) -> Vec<OwnRow> {
        let row = |own: Setting| {
            let default = own.default(&gateway.settings);
            let value = self.settings.get(own.name()).map_or_else(|| default.clone(), str::to_owned);
            vec![Some(own.name().into()), Some(value), Some(default), Some(own.description().into())]
        };
        Setting::ALL.into_iter().map(row).collect()
    }
}

/// A count over public groups at the session's ε: the unit in which `answers_left` counts.
fn usual_charge(settings: &plan::Settings) -> Option<dp::Charge> {
    let spec = dp::Spec::laplace(&settings.epsilon, 1, &[1], None).ok()?;
    dp::Charge::of(&settings.epsilon, &[spec]).ok()
}

fn columns(policy: &Policy) -> Vec<OwnRow> {
    let rows = |t: &Table| -> Vec<OwnRow> {
        let row = |(i, c): (usize, &Column)| column(policy, t, i, c);
        t.columns.iter().enumerate().map(row).collect()
    };
    policy.tables.iter().flat_map(rows).collect()
}

fn column(policy: &Policy, t: &Table, index: usize, c: &Column) -> OwnRow {
    let unit = t.unit_column();
    let (low, high) = match &c.range {
        Some(Range::Number { low, high }) => {
            (Some(low.normalized().to_plain_string()), Some(high.normalized().to_plain_string()))
        }
        Some(Range::Time { low, high }) => {
            (Some(plan::time::timestamp(*low)), Some(plan::time::timestamp(*high)))
        }
        None => (None, None),
    };
    let domain = match &c.domain {
        Some(Domain::Values(v)) => Some(v.join(", ")),
        Some(Domain::References { table, column }) => {
            policy.tables.get(*table).map(|t| format!("{}.{column}", t.name))
        }
        None => None,
    };
    let public = t.privacy == Privacy::Public;
    let listed = domain.is_some() || c.ty == crate::schema::SqlType::Bool;
    let text = |s: &str| Some(s.to_owned());
    vec![
        Some(t.schema.clone()),
        Some(t.name.clone()),
        Some(c.name.clone()),
        Some((index + 1).to_string()),
        Some(c.ty.sql_name().replace("pg_catalog.", "")),
        text(if c.not_null { "false" } else { "true" }),
        text(if public { "public" } else { "private" }),
        text(if unit == Some(c.name.as_str()) { "true" } else { "false" }),
        text(if public || listed { "public" } else { "private" }),
        low,
        high,
        c.grid.as_ref().map(|g| g.normalized().to_plain_string()),
        domain,
    ]
}
