//! Statements that are nothing but released columns, in an order and a number that need no database to see.

use super::array_param::ArrayParam;
use super::constants::Constants;
use super::printer::Printer;
use bigdecimal::{BigDecimal, One};
use plan::Plan;
use plan::aggregates::Straight as Integers;
use policy::Policy;
use schema::SqlType;
use sql::ast::{Body, Distinct, Expr, ExprKind, Literal, Query};

/// The answer of a statement, by the released columns that it is made of. PostgreSQL, which is given [`finish`](super::finish),
/// gives the same rows; in the same order as far as the statement says one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Straight {
    /// The released columns.
    pub arrays: Vec<ArrayParam>,
    /// The columns of the answer.
    pub columns: Vec<Column>,
    /// Order of the rows, the first key first.
    pub order: Vec<Sorted>,
    /// OFFSET.
    pub offset: usize,
    /// LIMIT.
    pub limit: Option<usize>,
}

/// A column of such an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// A released column as it is, by its place among the arrays.
    Same(usize),
    /// A sum of whole numbers, within what int8 holds.
    Whole(Whole),
}

/// A sum of whole numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    /// The place of the sum among the arrays. Its grid is 1.
    pub sum: usize,
    /// The centre that was taken off each value, and the place of the number of values.
    pub centre: Option<(i64, usize)>,
}

/// A column that rows are sorted by: a number or a truth value, which no collation is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sorted {
    /// The column.
    pub by: Column,
    /// DESC.
    pub desc: bool,
    /// Rows without a value come first.
    pub nulls_first: bool,
}

/// The answer of a plan's statement, if it is nothing but released columns.
pub fn straight(plan: &Plan, policy: &Policy, constants: &Constants) -> Option<Straight> {
    Printer::new(&plan.statement, Some(plan), policy, constants).straight(&plan.statement.query)
}

impl Printer<'_> {
    fn straight(mut self, q: &Query) -> Option<Straight> {
        let Body::Select(s) = &q.body else { return None };
        self.stand(s);
        let index = self.release?;
        let released = self.plan?.releases.get(index)?;
        let judged = self.plan?.unsure.as_ref().is_some_and(|unsure| !unsure.judged.is_empty());
        let plain = !judged && q.with.is_empty() && s.distinct == Distinct::No && s.having.is_none();
        if !plain || self.sets_of(index).is_some() || released.is_domain_only() {
            return None;
        }
        self.released(index);
        let arrays = std::mem::take(&mut self.params);
        let columns: Vec<Column> =
            s.items.iter().map(|item| self.column_of(index, &arrays, &item.expr)).collect::<Option<_>>()?;
        let sorted = |item: &sql::ast::OrderItem| {
            let by = match &item.expr.kind {
                ExprKind::Output(i) => columns.get(*i)?.clone(),
                _ => self.column_of(index, &arrays, &item.expr)?,
            };
            let nulls_first = item.nulls_first.unwrap_or(item.desc);
            is_ordered(&by, &arrays).then_some(Sorted { by, desc: item.desc, nulls_first })
        };
        let order = q.order_by.iter().map(sorted).collect::<Option<_>>()?;
        let number = |e: &Option<Expr>| match e {
            None => Some(None),
            Some(e) => rows(e).map(Some),
        };
        let (offset, limit) = (number(&q.offset)?.unwrap_or(0), number(&q.limit)?);
        Some(Straight { arrays, columns, order, offset, limit })
    }

    /// The released column that an expression is.
    fn column_of(&self, index: usize, arrays: &[ArrayParam], e: &Expr) -> Option<Column> {
        let place = |is: &dyn Fn(&ArrayParam) -> bool| arrays.iter().position(is);
        let keys = self.plan?.releases.get(index)?.group_keys();
        if let Some(k) = keys.iter().position(|key| key.expr == *e) {
            let is = |a: &ArrayParam| matches!(a, ArrayParam::Key { release, key, .. } if (*release, *key) == (index, k));
            return place(&is).map(Column::Same);
        }
        let ExprKind::Aggregate(aggregate) = &e.kind else { return None };
        let (from, integers) = self.of_select(index).find_map(|(from, r)| {
            let (_, output) = r.outputs.iter().find(|(have, _)| *have == **aggregate)?;
            Some((from, output.straight(&r.drawn())?))
        })?;
        let of = |wanted: usize, a: &ArrayParam| match a {
            ArrayParam::Count { release, part } => (*release, *part) == (from, wanted),
            ArrayParam::Sum { release, part, grid } => {
                (*release, *part) == (from, wanted) && *grid == BigDecimal::one()
            }
            ArrayParam::Key { .. } => false,
        };
        let column = |part: usize| place(&|a| of(part, a));
        Some(match integers {
            Integers::Part(part) => Column::Same(column(part)?),
            Integers::Whole { sum, centre } => {
                let centre = match centre {
                    Some((off, count)) => Some((off, column(count)?)),
                    None => None,
                };
                Column::Whole(Whole { sum: column(sum)?, centre })
            }
        })
    }
}

/// Whether values of a column are sorted as the numbers that they are.
fn is_ordered(column: &Column, arrays: &[ArrayParam]) -> bool {
    match column {
        Column::Whole(_) => true,
        Column::Same(array) => match arrays.get(*array) {
            Some(ArrayParam::Key { ty, .. }) => {
                matches!(ty, SqlType::Bool | SqlType::Int2 | SqlType::Int4 | SqlType::Int8)
            }
            of => of.is_some(),
        },
    }
}

/// A number of rows that is written out.
fn rows(e: &Expr) -> Option<usize> {
    match &e.kind {
        ExprKind::Literal(Literal::Number(n)) => n.parse().ok(),
        _ => None,
    }
}
