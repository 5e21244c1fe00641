//! Half widths of intervals before noise is drawn: of numbers that are linear in it, from public
//! parameters alone.

use super::{Queries, Result, Uncertain, lost};
use crate::aggregates::Output;
use crate::noise::quantile::Quantile;
use crate::noise::{Part, PartNoise, Rows};
use crate::refusals::interval::Unfollowed;
use crate::release::Release;
use sql::ast::*;

/// A released integer's noise in a number.
struct Term {
    part: Part,
    slope: f64,
    noise: PartNoise,
}

impl Term {
    fn times(self, factor: f64) -> Self {
        Self { slope: self.slope * factor, ..self }
    }
}

impl Queries<'_> {
    /// Half the width of the interval of a number, as `noisegate.high(x)` will give it. `e`: where it stands.
    ///
    /// Numbers that may share their noise have their standard deviations added, which is never too little.
    ///
    /// # Errors
    /// It depends on what is released.
    pub fn half_width(&self, of: &Uncertain<'_>, e: &Expr, quantile: Quantile) -> Result<f64> {
        Ok(reached(&self.terms(of, e.pos)?, quantile))
    }

    fn terms(&self, of: &Uncertain<'_>, pos: Pos) -> Result<Vec<Term>> {
        Ok(match of {
            Uncertain::Exact(_) => Vec::new(),
            Uncertain::Released { from, output, .. } => {
                let known = self.plan.releases.get(*from).and_then(|r| released(*from, r, output));
                match known {
                    Some(terms) => terms,
                    None => return lost(output.unforeseen(), pos),
                }
            }
            Uncertain::OfSets { .. } => return lost(Unfollowed::OfSets, pos),
            Uncertain::Column { select, item, .. } => {
                let Some(item) = select.items.get(*item) else { return lost(Unfollowed::Column, pos) };
                let inner = self.follow(&item.expr, self.place(select))?;
                let outside = |t: Term| match t.part.rows {
                    Rows::Own => t,
                    _ => Term { part: Part { rows: Rows::Any, ..t.part }, ..t },
                };
                self.terms(&inner, pos)?.into_iter().map(outside).collect()
            }
            Uncertain::Query { query, .. } => {
                let Some((item, place)) = self.only_item(query) else {
                    return lost(Unfollowed::Subquery, pos);
                };
                let any = |t: Term| Term { part: Part { rows: Rows::Any, ..t.part }, ..t };
                self.terms(&self.follow(item, place)?, pos)?.into_iter().map(any).collect()
            }
            Uncertain::Same(_, x) => self.terms(x, pos)?,
            Uncertain::Negated(_, x) => self.terms(x, pos)?.into_iter().map(|t| t.times(-1.0)).collect(),
            Uncertain::Sum(_, minus, pair) => {
                let [x, y] = &**pair;
                let sign = if *minus { -1.0 } else { 1.0 };
                let mut terms = self.terms(x, pos)?;
                terms.extend(self.terms(y, pos)?.into_iter().map(|t| t.times(sign)));
                terms
            }
            Uncertain::Product(_, pair) => {
                let (of, factor) = match &**pair {
                    [x, Uncertain::Exact(c)] | [Uncertain::Exact(c), x] => (x, constant(c)),
                    _ => return lost(Unfollowed::Product, pos),
                };
                let Some(factor) = factor else { return lost(Unfollowed::Factor, pos) };
                self.terms(of, pos)?.into_iter().map(|t| t.times(factor)).collect()
            }
            Uncertain::Quotient(_, pair) => {
                let [of, Uncertain::Exact(divisor)] = &**pair else { return lost(Unfollowed::Ratio, pos) };
                let Some(divisor) = constant(divisor).filter(|d| *d != 0.0) else {
                    return lost(Unfollowed::Divisor, pos);
                };
                self.terms(of, pos)?.into_iter().map(|t| t.times(1.0 / divisor)).collect()
            }
            Uncertain::Total { .. } => return lost(Unfollowed::Total, pos),
            Uncertain::Shifted { of, by, .. } => {
                let shifted = |t: Term| {
                    let rows = if t.part.rows == Rows::Own { Rows::Shifted(*by) } else { Rows::Any };
                    Term { part: Part { rows, ..t.part }, ..t }
                };
                self.terms(of, pos)?.into_iter().map(shifted).collect()
            }
        })
    }
}

/// Half the width of the interval of a count or a sum, which is an output of this release; None of others.
pub fn of_output(from: usize, r: &Release, output: &Output, quantile: Quantile) -> Option<f64> {
    released(from, r, output).map(|terms| reached(&terms, quantile))
}

/// Half the width of an interval around a sum of terms.
fn reached(terms: &[Term], quantile: Quantile) -> f64 {
    let apart = |i: usize, a: &Term| terms.iter().skip(i + 1).all(|b| a.part.is_apart(&b.part));
    let independent = terms.iter().enumerate().all(|(i, a)| apart(i, a));
    let (variance, fourth) = if independent {
        let moments = terms.iter().map(|t| (t.slope * t.slope, t.noise));
        moments.fold((0.0, 0.0), |(v, f), (s, n)| (v + s * n.variance, f + s * s * n.fourth))
    } else {
        let deviation: f64 = terms.iter().map(|t| t.slope.abs() * t.noise.variance.sqrt()).sum();
        // As if it were one Laplace variable: the widest of them.
        (deviation.powi(2), 3.0 * deviation.powi(4))
    };
    let steps: Vec<f64> = terms.iter().map(|t| t.slope.abs() * t.noise.step).collect();
    let same = |first: &&f64| **first > 0.0 && steps.iter().all(|s| (s - **first).abs() <= 1e-9 * **first);
    quantile.half_width(variance, fourth, steps.first().filter(same).copied())
}

/// The noise of a count or a sum; None of what is not linear in its parts.
fn released(from: usize, r: &Release, output: &Output) -> Option<Vec<Term>> {
    let term = |part: usize, slope: f64| Term {
        part: Part { release: from, part, rows: Rows::Own },
        slope,
        noise: r.drawn().noise(part),
    };
    let terms = output.linear(&r.drawn())?;
    Some(terms.into_iter().map(|(part, slope)| term(part, slope)).collect())
}

/// The value of a constant number.
fn constant(e: &Expr) -> Option<f64> {
    match &e.kind {
        ExprKind::Literal(Literal::Number(n)) => n.parse().ok().filter(|x: &f64| x.is_finite()),
        ExprKind::Negate(x) => constant(x).map(|x| -x),
        // A cast to another type of number may round.
        ExprKind::Cast { expr, ty } if ty.ty.is_number() && ty.modifier.is_empty() && !ty.ty.is_integer() => {
            constant(expr)
        }
        _ => None,
    }
}
