//! Why a statement is refused: reasons with their data, of which `words` says what an analyst reads.

pub(crate) mod aggregate;
pub(crate) mod group;
pub(crate) mod interval;
pub(crate) mod join;
pub(crate) mod meeting;
pub(crate) mod moment;
pub(crate) mod number;
pub(crate) mod price;
pub(crate) mod returned;
pub(crate) mod set_operation;
pub(crate) mod stream;
pub(crate) mod subquery;
pub(crate) mod text;
pub(crate) mod value;
pub(crate) mod within;
mod words;

use crate::Settings;
use aggregate::Aggregation;
use answer::ClientError;
use group::Group;
use interval::Interval;
use join::Join;
use meeting::Meeting;
use moment::Moment;
use number::Number;
use policy::Policy;
use price::Price;
use returned::{By, Returned};
use set_operation::SetOperation;
use sql::ast::*;
use stream::Question;
use subquery::Subquery;
use text::{Member, Pattern, Text};
use value::{Unfit, Value};
use within::Within;

/// A reason, by its subject, and where it is in the statement.
#[derive(Clone, Debug)]
pub(crate) enum Refusal {
    Aggregation(Aggregation, Pos),
    Group(Group, Pos),
    Interval(Interval, Pos),
    Price(Price, Pos),
    Returned(Returned, Pos),
    Question(Question, Pos),
    Join(Join, Pos),
    Meeting(Meeting, Pos),
    SetOperation(SetOperation, Pos),
    Subquery(Subquery, Pos),
    Value(Value, Pos),
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

placed!(Aggregation, Group, Interval, Join, Meeting, Price);
placed!(Question, Returned, SetOperation, Subquery, Value, Within);

/// Reasons of one kind of values, which are those of values.
macro_rules! of_values {
    ($($kind:ident),*) => {$(
        impl std::convert::From<$kind> for Value {
            fn from(reason: $kind) -> Self {
                Self::$kind(reason)
            }
        }
    )*};
}

of_values!(Member, Moment, Number, Pattern, Text, Unfit);

pub(crate) fn undrawn(e: dp::DpError) -> Refusal {
    Price::Undrawn(e).at(None)
}

/// Refuses Gaussian noise that the budget of this index cannot pay for.
pub(crate) fn gaussian_unpriced(settings: &Settings, budget: usize) -> Refusal {
    let (budget, notion) = settings.budgets.get(budget).map_or(("", ""), |(n, k)| (n.as_str(), k.word()));
    Price::Gaussian { budget: budget.to_owned(), notion: notion.to_owned() }.at(None)
}

/// Refuses a statement that would return rows of units, or a row for each. `tables`: those that it reads.
pub(crate) fn rows_of_units(body: &Body, policy: &Policy, tables: &[usize]) -> Refusal {
    let by = match body {
        Body::Select(s) if !s.group_by.is_empty() => By::Groups,
        Body::Select(s) if s.distinct == Distinct::All => By::Distinct,
        _ => return Returned::Rows.at(position(body)),
    };
    let mut own = tables.iter().filter_map(|t| policy.tables.get(*t)).chain(&policy.tables);
    let example = own.find_map(|t| Some((t.name.clone(), t.unit_column()?.to_string())));
    Returned::Units { by, example }.at(position(body))
}

pub(crate) fn position(body: &Body) -> Pos {
    match body {
        Body::Select(s) => s.pos,
        Body::SetOp { left, .. } => position(left),
        Body::Query(q) => position(&q.body),
        Body::Values(_) | Body::Rows { .. } => None,
    }
}
