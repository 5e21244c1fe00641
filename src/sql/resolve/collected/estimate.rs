//! Aggregates over a collected relation, as sums over reports of the cells of
//! [`weigh`](super::weigh), their variances and the ends of their intervals.

use super::build::*;
use super::expansion::Hidden;
use super::look::columns_of;
use crate::ast::*;
use crate::estimates::Estimates;
use crate::resolve::resolver::Result;
use answer::{ClientError, SqlState};
use schema::SqlType;
use std::collections::BTreeSet;

/// Turns what stands above the aggregates.
pub(super) struct Weigher<'h> {
    pub binding: BindingId,
    pub hidden: &'h Hidden,
    /// The keys of GROUP BY.
    pub keys: Vec<Expr>,
    /// The binding that the inner SELECT will have.
    pub outer: BindingId,
    /// Cells that the inner SELECT adds up.
    pub cells: Vec<Expr>,
    /// The columns whose weights stand by themselves, in the order of [`Hidden::own`].
    pub oracles: Vec<usize>,
    /// The columns that every estimate hangs on: those of conditions and keys.
    pub common: BTreeSet<usize>,
    /// The collected relation stands alone in FROM: a writer counts once or not at all.
    pub plain: bool,
    /// Grouping sets are apart in the inner SELECT already, since intervals need what a report gives to each.
    pub apart: bool,
    pub estimates: Estimates,
    /// Factors of the variance of counts, and of all else, where rows of a person err together.
    pub together: (f64, f64),
}

/// An estimate.
enum Estimate {
    /// A count, of a cell.
    Count(usize),
    /// A sum, and the count of what is added up.
    Sum(usize),
    /// An average.
    Average { sum: usize, count: usize },
}

impl Weigher<'_> {
    /// An expression above the aggregates, over estimates.
    pub(super) fn above(&mut self, e: &Expr) -> Result<Expr> {
        let mut out = e.clone();
        self.put_above(&mut out)?;
        Ok(out)
    }

    fn put_above(&mut self, e: &mut Expr) -> Result<()> {
        if let Some(key) = self.keys.iter().position(|k| k == e) {
            *e = Expr::new(ExprKind::Column { binding: self.outer, column: key }, e.pos);
            return Ok(());
        }
        match &mut e.kind {
            ExprKind::Aggregate(a) if a.name == "grouping" => {
                if !self.apart {
                    return e.each_child(&mut |c| self.put_above(c));
                }
                let which = self.cell(e.clone());
                let same = aggregate("max", vec![column(self.outer, which)], None);
                *e = cast(same, SqlType::Int4);
                Ok(())
            }
            ExprKind::Aggregate(a) => {
                let estimate = self.estimate(a, e.pos)?;
                *e = self.value(&estimate);
                Ok(())
            }
            ExprKind::Reach { what, expr, .. } => {
                *e = self.reach(*what, expr)?;
                Ok(())
            }
            ExprKind::Window { function, partition_by, order_by, .. } => {
                // Of an aggregate over a window the arguments are estimates, not itself.
                function.each_child(&mut |c| self.put_above(c))?;
                let mut rest = partition_by.iter_mut().chain(order_by.iter_mut().map(|o| &mut o.expr));
                rest.try_for_each(|c| self.put_above(c))
            }
            ExprKind::Column { binding, .. } if *binding != self.outer => {
                let m = "a column that is selected beside aggregates must appear in the GROUP BY clause";
                Err(ClientError::new(SqlState::GROUPING_ERROR, m).at(e.pos))
            }
            _ => e.each_child(&mut |c| self.put_above(c)),
        }
    }

    /// The aggregate that an item is, if it is one.
    pub(super) fn estimate_in<'e>(&self, e: &'e Expr) -> Option<&'e Aggregate> {
        match &e.kind {
            ExprKind::Aggregate(a) if a.name != "grouping" => Some(a),
            _ => None,
        }
    }

    pub(super) fn cell(&mut self, e: Expr) -> usize {
        let place = self.cells.iter().position(|c| *c == e).unwrap_or_else(|| {
            self.cells.push(e);
            self.cells.len() - 1
        });
        self.keys.len() + 2 + place
    }

    /// The weight of a row for an aggregate: that of the values of the columns that it hangs on.
    fn weight(&self, a: &Aggregate) -> Expr {
        let mut used = self.common.clone();
        a.args.iter().chain(&a.filter).for_each(|e| columns_of(e, self.binding, &mut used));
        let of = |(n, c): (usize, &usize)| {
            let (weight, one) = self.hidden.own(n);
            column(self.binding, if used.contains(c) { weight } else { one })
        };
        let sets = column(self.binding, self.hidden.weight);
        self.oracles.iter().enumerate().map(of).fold(sets, times)
    }

    fn estimate(&mut self, a: &Aggregate, pos: Pos) -> Result<Estimate> {
        let plain = !a.distinct && a.order_by.is_empty() && a.within_group.is_empty();
        let weight = self.weight(a);
        let not_null = |arg: &Expr| {
            let is = ExprKind::Is { expr: Box::new(arg.clone()), what: Is::Null, negated: true };
            Expr::new(is, None)
        };
        let both = |arg: Option<&Expr>| match (a.filter.clone(), arg.map(not_null)) {
            (Some(f), Some(n)) => Some(binary(BinaryOp::And, f, n)),
            (f, n) => f.or(n),
        };
        match (a.name, a.args.as_slice(), plain) {
            ("count", [], true) => {
                Ok(Estimate::Count(self.cell(aggregate("sum", vec![weight], a.filter.clone()))))
            }
            ("count", [x], true) => {
                Ok(Estimate::Count(self.cell(aggregate("sum", vec![weight], both(Some(x))))))
            }
            ("sum" | "avg", [x], true) => {
                let weighted = times(weight.clone(), cast(x.clone(), SqlType::Float8));
                let sum = self.cell(aggregate("sum", vec![weighted], both(Some(x))));
                if a.name == "sum" {
                    return Ok(Estimate::Sum(sum));
                }
                let count = self.cell(aggregate("sum", vec![weight], both(Some(x))));
                Ok(Estimate::Average { sum, count })
            }
            (name, ..) => {
                let what = if a.distinct { format!("{name}(DISTINCT …)") } else { name.to_owned() };
                Err(ClientError::unsupported(format!("{what} of a collected relation is not supported"))
                    .hint("Counts, sums and averages are estimated, with FILTER; how values are distributed is told by a count for each of them.")
                    .at(pos))
            }
        }
    }

    /// Σ over reports of a product of cells.
    fn total(&self, cells: &[usize]) -> Expr {
        let n = column(self.outer, self.keys.len());
        let product = cells.iter().fold(n, |e, cell| times(e, column(self.outer, *cell)));
        or_zero(aggregate("sum", vec![product], None))
    }

    /// The number itself: a whole number for counts, as ever.
    fn value(&self, estimate: &Estimate) -> Expr {
        let rounded = |e: Expr| call("round", vec![cast(e, SqlType::Numeric { scale: None }), whole(6)]);
        match estimate {
            Estimate::Count(y) => cast(call("round", vec![self.total(&[*y])]), SqlType::Int8),
            Estimate::Sum(z) => rounded(self.total(&[*z])),
            Estimate::Average { sum, count } => {
                rounded(binary(BinaryOp::Div, self.total(&[*sum]), self.some(*count)))
            }
        }
    }

    /// A count to divide by: where the estimate is below one there is no average.
    fn some(&self, count: usize) -> Expr {
        let n = self.total(&[count]);
        choose(binary(BinaryOp::Ge, n.clone(), float(1.0)), n, None)
    }

    /// An estimate of the variance that randomisation gives it, however many rows of a person there are.
    fn variance(&self, estimate: &Estimate) -> Expr {
        let (counts, any) = self.together;
        let factor = if matches!(estimate, Estimate::Count(_)) && self.plain { counts } else { any };
        let variance = self.variance_of_rows(estimate);
        if factor > 1.0 { times(float(factor), variance) } else { variance }
    }

    /// The same of rows that are randomised independently.
    fn variance_of_rows(&self, estimate: &Estimate) -> Expr {
        let least = |e: Expr| call("greatest", vec![e, float(0.0)]);
        match estimate {
            Estimate::Count(y) if self.plain => least(minus(self.total(&[*y, *y]), self.total(&[*y]))),
            // A writer may count several times: E[y²] alone is no less.
            Estimate::Count(y) => self.total(&[*y, *y]),
            Estimate::Sum(z) => {
                let all = aggregate("max", vec![column(self.outer, self.keys.len() + 1)], None);
                let square = times(self.total(&[*z]), self.total(&[*z]));
                least(minus(self.total(&[*z, *z]), or_zero(binary(BinaryOp::Div, square, all))))
            }
            // The delta method: Σ(z - Ry)² / (Σy)².
            Estimate::Average { sum, count } => {
                let n = self.some(*count);
                let r = binary(BinaryOp::Div, self.total(&[*sum]), n.clone());
                let cross = times(times(float(2.0), r.clone()), self.total(&[*sum, *count]));
                let squares = binary(
                    BinaryOp::Add,
                    minus(self.total(&[*sum, *sum]), cross),
                    times(times(r.clone(), r), self.total(&[*count, *count])),
                );
                binary(BinaryOp::Div, least(squares), times(n.clone(), n))
            }
        }
    }

    /// `noisegate.low(x)` and its like.
    pub(super) fn reach(&mut self, what: Reach, e: &Expr) -> Result<Expr> {
        let Some(a) = self.estimate_in(e) else {
            return Err(ClientError::unsupported("this interval of an estimate is not supported")
                .hint("Ask for it of a count, a sum or an average by itself.")
                .at(e.pos));
        };
        let estimate = self.estimate(a, e.pos)?;
        let variance = self.variance(&estimate);
        let half = |factor: f64| times(float(factor), call("sqrt", vec![variance.clone()]));
        let number = match &estimate {
            Estimate::Count(y) => self.total(&[*y]),
            Estimate::Sum(z) => self.total(&[*z]),
            Estimate::Average { sum, count } => binary(BinaryOp::Div, self.total(&[*sum]), self.some(*count)),
        };
        let quantile = self.estimates.quantile;
        let is_count = matches!(estimate, Estimate::Count(_));
        let whole_number = |name: &'static str, e: Expr| match is_count {
            true => cast(call(name, vec![e]), SqlType::Int8),
            false => call("round", vec![cast(e, SqlType::Numeric { scale: None }), whole(6)]),
        };
        Ok(match what {
            Reach::Low => whole_number("floor", minus(number, half(quantile))),
            Reach::High => whole_number("ceil", binary(BinaryOp::Add, number, half(quantile))),
            Reach::Deviation => half(1.0),
            Reach::Variance | Reach::Fourth | Reach::Below | Reach::Above => variance,
        })
    }
}
