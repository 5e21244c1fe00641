//! The rows of `noisegate.*`: the books and the policy as one user may see them, and the session's settings.

use crate::gateway::session::ask::Ask;
use crate::gateway::session::settings::custom::NoisegateSetting;
use answer::ClientError;
use bigdecimal::BigDecimal;
use emit::print::OwnRow;
use plan::noise::quantile::Quantile;
use plan::words::approximate;
use policy::{
    Collect, Collected, CollectedKind, Column, Domain, Item, Measure, Policy, Privacy, Profile, Randomiser,
    Range, Table, View,
};
use schema::SqlType;
use schema::time::DAY;
use sql::ast::{Own, Source, Statement};

impl Ask<'_> {
    /// The rows of every relation of ours that the statement names.
    pub async fn own_rows(&self, statement: &Statement) -> Result<Vec<(Own, Vec<OwnRow>)>, ClientError> {
        let mut out = Vec::new();
        for own in Own::ALL {
            if statement.bindings.iter().any(|(_, b)| b.source == Source::Own(own)) {
                out.push((own, self.rows_of(own).await?));
            }
        }
        Ok(out)
    }

    /// The rows of a relation of ours.
    pub async fn rows_of(&self, own: Own) -> Result<Vec<OwnRow>, ClientError> {
        let gateway = self.gateway;
        Ok(match own {
            Own::Budget => self.budgets().await?,
            Own::Columns => columns(&gateway.policy, &self.terms()),
            Own::Settings => self.settings_rows(),
            Own::History => self.history().await?,
            Own::Streams => self.stream_rows().await?,
            Own::Help => super::help::rows(),
            Own::Bounds => bounds(&gateway.policy),
        })
    }

    async fn budgets(&self) -> Result<Vec<OwnRow>, ClientError> {
        let gateway = self.gateway;
        let states = gateway.ledger.remaining(self.identity).await.map_err(|r| r.client())?;
        let usual = self.usual();
        let row = |state: &ledger::BudgetState| {
            let b = &state.admitted();
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
                (!b.tables.is_empty()).then(|| b.tables.join(", ")),
                b.window.map(policy::Window::word),
                state.next.map(timestamp),
                Some(lifetime(state)),
                Some(state.closed.to_string()),
            ]
        };
        Ok(states.iter().map(row).collect())
    }

    async fn history(&self) -> Result<Vec<OwnRow>, ClientError> {
        let gateway = self.gateway;
        let lines = gateway.ledger.history(self.identity).await.map_err(|r| r.client())?;
        let statements = lines.iter().map(ledger::Line::hash);
        let user = &self.identity.user;
        let texts = gateway.store.remembered(&gateway.ledger, user, statements).await;
        let texts = texts.map_err(|r| r.client())?;
        let row = |(line, text): (&ledger::Line, Option<String>)| {
            vec![
                Some(line.entry.to_string()),
                Some(timestamp(line.at)),
                Some(line.statement.clone()),
                Some(plan::words::decimal(&line.epsilon)),
                Some(plan::words::decimal(&line.selection_delta)),
                line.price(),
                Some(line.cached.to_string()),
                text,
            ]
        };
        Ok(lines.iter().zip(texts).map(row).collect())
    }

    fn settings_rows(&self) -> Vec<OwnRow> {
        let gateway = self.gateway;
        let row = |own: NoisegateSetting| {
            let default = own.default(&gateway.settings);
            let value = self.settings.get(own.name()).map_or_else(|| default.clone(), str::to_owned);
            vec![Some(own.name().into()), Some(value), Some(default), Some(own.description().into())]
        };
        NoisegateSetting::ALL.iter().copied().map(row).collect()
    }
}

/// Microseconds since 1970, as text that casts to timestamptz.
fn timestamp(micros: i64) -> String {
    ledger::time(micros).replace(" UTC", "+00")
}

/// The guarantee of a budget in the long run.
fn lifetime(state: &ledger::BudgetState) -> String {
    match ledger::year_of(state) {
        Some(year) if year.epsilon.is_finite() => {
            format!("a year: {} windows, epsilon {:.3}, delta {:.2e}", year.windows, year.epsilon, year.delta)
        }
        Some(year) => format!("a year: {} windows, no guarantee", year.windows),
        None => {
            let admitted = state.admitted();
            let (epsilon, delta) = (admitted.epsilon.normalized(), admitted.delta.normalized());
            format!("for all time: epsilon {}, delta {}", epsilon.to_plain_string(), delta.to_plain_string())
        }
    }
}

/// What was measured of the units of each private table; NULL where nothing was.
fn bounds(policy: &Policy) -> Vec<OwnRow> {
    let row = |table: &Table, of: &Measure, found: Option<(&Profile, &Item)>| -> OwnRow {
        let known = [table.schema.clone(), table.name.clone(), of.to_string()].map(Some);
        let found = match found {
            None => vec![None; 5],
            Some((profile, item)) => [
                timestamp(profile.measured),
                timestamp(profile.valid_until),
                plan::words::decimal(item.histogram.epsilon()),
                item.of.amount(item.tail.h()).normalized().to_plain_string(),
                format!("{:.0}", item.tail.kappa().floor()),
            ]
            .map(Some)
            .to_vec(),
        };
        known.into_iter().chain(found).collect()
    };
    let rows = |table: &Table| -> Vec<OwnRow> {
        match &table.profile {
            None => vec![row(table, &Measure::ROWS, None)],
            Some(profile) => profile.items.iter().map(|i| row(table, &i.of, Some((profile, i)))).collect(),
        }
    };
    policy.tables.iter().filter(|t| t.privacy != Privacy::Public).flat_map(rows).collect()
}

fn columns(policy: &Policy, settings: &plan::Settings) -> Vec<OwnRow> {
    let rows = |t: &Table| -> Vec<OwnRow> {
        let row = |(i, c): (usize, &Column)| {
            let members = c.paths.iter().map(move |path| member(t, i, c, path));
            let known = std::iter::once(column(policy, t, i, c)).chain(members);
            known.map(|row| [row, measured(t, settings)].concat()).collect::<Vec<_>>()
        };
        t.columns.iter().enumerate().flat_map(row).collect()
    };
    let views = policy.views.iter().flat_map(|v| v.columns.iter().enumerate().map(move |c| of_view(v, c)));
    let of = |c: &Collect| c.columns.iter().enumerate().map(|at| of_collected(c, at)).collect::<Vec<_>>();
    let collected = policy.collects.iter().flat_map(of);
    policy.tables.iter().filter(|t| !t.collected).flat_map(rows).chain(views).chain(collected).collect()
}

/// The most rows of any group that the bound of the session's price cuts of a table, and when that was measured. Either is NULL where
/// nobody knows.
fn measured(t: &Table, settings: &plan::Settings) -> OwnRow {
    let Some((profile, item)) = t.profile.as_ref().zip(t.item_of_rows()) else { return vec![None; 2] };
    let usual = Quantile::of(sql::ast::Reach::USUAL);
    let gaussian = matches!(item.histogram.noise(), dp::Distribution::Gaussian { .. });
    let z = if gaussian { usual.at(0.0) } else { usual.at(3.0) * std::f64::consts::SQRT_2 };
    let half = z / approximate(&settings.epsilon);
    let holds = settings.profiles && settings.day <= profile.valid_until;
    let cut = holds.then(|| item.tail.b_plus(item.tail.choose(half)).ceil());
    vec![cut.map(|rows| format!("{rows:.0}")), Some(timestamp(profile.measured))]
}

/// A column of what is collected: its values are public, and nobody's are stored.
fn of_collected(of: &Collect, (index, c): (usize, &Collected)) -> OwnRow {
    let text = |s: &str| Some(s.to_owned());
    let end = |steps: i64, low: &BigDecimal, grid: &BigDecimal| {
        Some((low + grid * BigDecimal::from(steps)).normalized().to_plain_string())
    };
    let (low, high, grid) = match &c.randomiser {
        Randomiser::Mean { mean, low, grid } => (
            end(0, low, grid),
            end(mean.steps().into(), low, grid),
            Some(grid.normalized().to_plain_string()),
        ),
        Randomiser::Oracle(_) if c.kind == CollectedKind::Count => {
            (c.values.first().cloned(), c.values.last().cloned(), None)
        }
        Randomiser::Oracle(_) | Randomiser::Sets(_) => (None, None, None),
    };
    let listed = matches!(c.kind, CollectedKind::Categorical | CollectedKind::Set);
    vec![
        text(&of.schema),
        text(&of.name),
        text(&c.name),
        Some((index + 1).to_string()),
        Some(c.kind.ty().sql_name().replace("pg_catalog.", "")),
        text(if c.missing { "true" } else { "false" }),
        text("collected"),
        text("false"),
        text(if c.randomiser.oracle().is_some() { "public" } else { "private" }),
        low,
        high,
        grid,
        listed.then(|| c.values.join(", ")),
        None,
        None,
        None,
    ]
}

/// A member of a jsonb column, as it is written.
fn member(t: &Table, index: usize, c: &Column, path: &policy::JsonPath) -> OwnRow {
    let end = |n: &BigDecimal| n.normalized().to_plain_string();
    let (low, high) = path.range.as_ref().map(|(low, high)| (end(low), end(high))).unzip();
    let text = |s: &str| Some(s.to_owned());
    vec![
        text(&t.schema),
        text(&t.name),
        Some(path.written(&c.name)),
        Some((index + 1).to_string()),
        text("text"),
        text("true"),
        text(if t.privacy == Privacy::Public { "public" } else { "private" }),
        text("false"),
        text(if path.values.is_some() { "public" } else { "private" }),
        low,
        high,
        None,
        path.values.as_ref().map(|v| v.join(", ")),
        None,
    ]
}

/// A column of a view: what is known of its values follows from its query.
fn of_view(view: &View, (index, (name, ty)): (usize, &(String, SqlType))) -> OwnRow {
    let known = [View::SCHEMA, &view.name, name, &(index + 1).to_string()].map(|s| Some(s.to_owned()));
    let ty =
        [ty.sql_name().replace("pg_catalog.", ""), "true".into(), "view".into(), "false".into()].map(Some);
    let rest = vec![None; Own::Columns.columns().len() - known.len() - ty.len()];
    known.into_iter().chain(ty).chain(rest).collect()
}

fn column(policy: &Policy, t: &Table, index: usize, c: &Column) -> OwnRow {
    let unit = t.unit_column();
    let (low, high) = match &c.range {
        Some(Range::Number { low, high }) => {
            (Some(low.normalized().to_plain_string()), Some(high.normalized().to_plain_string()))
        }
        Some(Range::Time { low, high }) => {
            (Some(schema::time::timestamp(*low)), Some(schema::time::timestamp(*high)))
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
    // A whole number or a day is a group of its own, where the range holds no more of them than groups may be.
    let days = |low: &i64, high: &i64| (high.div_euclid(DAY) - low.div_euclid(DAY)).into();
    let counted = match &c.range {
        Some(Range::Number { low, high }) if c.ty.is_integer() => Some(high - low),
        Some(Range::Time { low, high }) if c.ty == SqlType::Date => Some(days(low, high)),
        _ => None,
    };
    let most = BigDecimal::from(u64::try_from(policy.limits.max_public_groups).unwrap_or(u64::MAX));
    let listed = domain.is_some()
        || c.ty == SqlType::Bool
        || counted.is_some_and(|n| n < most) && unit != Some(c.name.as_str());
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
        t.cut_rows.as_ref().map(|share| share.normalized().to_plain_string()),
    ]
}
