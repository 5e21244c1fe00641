//! Why a statement is refused: reasons with their data, of which `words` says what an analyst reads.

pub(crate) mod aggregate;
pub(crate) mod group;
pub(crate) mod join;
pub(crate) mod set_operation;
pub(crate) mod subquery;
pub(crate) mod within;
mod words;

use crate::Settings;
use aggregate::Aggregation;
use answer::{ClientError, SqlState};
use group::Group;
use join::Join;
use policy::Policy;
use set_operation::SetOperation;
use sql::ast::*;
use subquery::Subquery;
use within::Within;

/// A reason, by its subject, and where it is in the statement.
#[derive(Clone, Debug)]
pub(crate) enum Refusal {
    Aggregation(Aggregation, Pos),
    Group(Group, Pos),
    Join(Join, Pos),
    SetOperation(SetOperation, Pos),
    Subquery(Subquery, Pos),
    Within(Within, Pos),
    /// A form that no rule reads, as the analyst would call it.
    Unread(&'static str, Pos),
    /// What is said elsewhere already.
    Said(ClientError),
}

impl std::convert::From<ClientError> for Refusal {
    fn from(e: ClientError) -> Self {
        Self::Said(e)
    }
}

/// Reasons of one subject, which become refusals by their place.
macro_rules! placed {
    ($($subject:ident),*) => {$(
        impl $subject {
            pub(crate) fn at(self, pos: Pos) -> Refusal {
                Refusal::$subject(self, pos)
            }
        }
    )*};
}

placed!(Aggregation, Group, Join, SetOperation, Subquery, Within);

pub(crate) fn undrawn(e: dp::DpError) -> ClientError {
    let what = format!("the noise of this statement cannot be drawn: {e}");
    ClientError::new(SqlState::INVALID_PARAMETER_VALUE, what)
        .hint("Ask with a larger epsilon, or over narrower ranges.")
}

/// Refuses Gaussian noise that the budget of this index cannot pay for.
pub(crate) fn gaussian_unpriced(settings: &Settings, budget: usize) -> ClientError {
    let (name, notion) = settings.budgets.get(budget).map_or(("", ""), |(n, k)| (n.as_str(), k.word()));
    ClientError::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("privacy budget \"{name}\" ({notion} accounting) has no price for Gaussian noise"),
    )
    .hint("SET noisegate.mechanism = auto, or ask the owner of the data for a budget with zcdp accounting.")
}

/// Refuses a statement that would return rows of units.
pub(crate) fn private_rows(pos: Pos) -> ClientError {
    ClientError::unsupported("a query that returns private rows is not supported")
        .detail("Rows of single units are never returned; aggregates over many units are, with noise.")
        .hint("Aggregate them: SELECT count(*), avg(x) … GROUP BY …")
        .at(pos)
}

/// Refuses a statement that would return rows of units, or a row for each. `tables`: those that it reads.
pub(crate) fn rows_of_units(body: &Body, policy: &Policy, tables: &[usize]) -> ClientError {
    let what = match body {
        Body::Select(s) if !s.group_by.is_empty() => "GROUP BY the privacy unit",
        Body::Select(s) if s.distinct == Distinct::All => "SELECT DISTINCT of the privacy unit",
        _ => return private_rows(position(body)),
    };
    let own = tables.iter().filter_map(|t| policy.tables.get(*t)).chain(&policy.tables);
    let example = own.filter_map(|t| Some((&t.name, t.unit_column()?))).next().map(|(table, unit)| {
        format!(
            ", for example SELECT avg(n) FROM (SELECT {unit}, count(*) AS n FROM {table} GROUP BY {unit}) t"
        )
    });
    ClientError::unsupported(format!("{what} is not supported at the top of a statement"))
        .detail("Each row would be of one unit; aggregates over many units are returned, with noise.")
        .hint(format!(
            "Aggregate these rows{}; or group by something that many units share.",
            example.unwrap_or_default()
        ))
        .at(position(body))
}

pub(crate) fn ordered_rows(pos: Pos) -> ClientError {
    unsupported("ORDER BY, LIMIT or OFFSET over private rows", pos)
        .detail("Rows of single units are never returned, and which rows remain would depend on them.")
        .hint(
            "Aggregate, then order and cut the result: SELECT k, count(*) … GROUP BY k ORDER BY 2 LIMIT 10.",
        )
}

pub(crate) fn position(body: &Body) -> Pos {
    match body {
        Body::Select(s) => s.pos,
        Body::SetOp { left, .. } => position(left),
        Body::Query(q) => position(&q.body),
        Body::Values(_) | Body::Rows { .. } => None,
    }
}

pub(crate) fn unsupported(what: &str, pos: Pos) -> ClientError {
    ClientError::unsupported(format!("{what} is not supported")).at(pos)
}

/// Refuses a set operation of private rows with others.
pub(crate) fn mixed(pos: Pos) -> ClientError {
    SetOperation::Mixed.at(pos).into()
}

/// The refusal of what depends on an order of all rows.
pub(crate) fn cut(pos: Pos) -> ClientError {
    Within::Ordered.at(pos).into()
}

/// Refuses grouping sets of rows that stay private.
pub(crate) fn sets_of_rows(pos: Pos) -> ClientError {
    Within::Sets.at(pos).into()
}
