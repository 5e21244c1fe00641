//! Numbers as they are shown: with the digits that their intervals support (`noisegate.round`).
//!
//! Post-processing: the digit follows from the noisy number and from the public parameters of its noise. Of half a width h it is
//! that of 10^⌈log₁₀(3.55 / h)⌉, as the Particle Data Group rounds: two digits of h where they are 10 to 35, and one otherwise, so
//! that rounding moves a number by at most a seventh of h.

use super::printer::Printer;
use plan::Plan;
use plan::noise::number::reached;
use plan::noise::quantile::Quantile;
use plan::reach::Uncertain;
use schema::SqlType;
use sql::ast::{Body, Expr, ExprKind, Reach};
use std::collections::BTreeMap;

/// The items of a finish that are rounded, by their places: those with false digits, which whole numbers have none of, and the ends
/// of their intervals right behind them.
pub(super) fn of(plan: &Plan, types: &[u32]) -> BTreeMap<usize, SqlType> {
    let shown = |oid: &u32| match oid {
        1700 => Some(SqlType::Numeric { scale: None }),
        700 => Some(SqlType::Float4),
        701 => Some(SqlType::Float8),
        _ => None,
    };
    let Body::Select(select) = &plan.statement.query.body else { return BTreeMap::new() };
    let is_end = |at: usize, of: usize| match (select.items.get(at), select.items.get(of)) {
        (Some(end), Some(of)) => matches!(&end.expr.kind,
            ExprKind::Reach { what: Reach::Low | Reach::High, expr, .. } if **expr == of.expr),
        _ => false,
    };
    let numbers = plan.rounded.iter().filter_map(|i| Some((*i, types.get(*i).and_then(shown)?)));
    let with_ends = |(i, ty): (usize, SqlType)| {
        let ends = [i + 1, i + 2].into_iter().filter(|at| is_end(*at, i)).map(|at| (at, SqlType::Float8));
        ends.chain([(i, ty)]).collect::<Vec<_>>()
    };
    numbers.flat_map(with_ends).collect()
}

impl Printer<'_> {
    /// A number of this type, rounded; an end of an interval outward, and to one digit more. It is as it was where nobody knows its
    /// interval.
    pub(super) fn rounded(&mut self, e: &Expr, ty: &SqlType) {
        let (of, end) = match &e.kind {
            ExprKind::Reach { what, expr, .. } => (&**expr, Some(*what)),
            _ => (e, None),
        };
        let Some(half) = self.half(of) else { return self.expr(e) };
        // GREATEST leaves NULL out: what is not known, as what is 0, has more digits than there are. NaN is above all numbers.
        let half = format!("LEAST(GREATEST({half}, 1e-300), 1e300)");
        let digit = format!("pg_catalog.ceil(pg_catalog.log(3.55 / {half}))::pg_catalog.int4");
        let number = self.text(e);
        let round = |number: &str| {
            let number = format!("({number})::pg_catalog.numeric");
            // No digit is added to those that there are.
            let digit = |more: &str| format!("LEAST({digit}{more}, pg_catalog.scale({number}))");
            let Some(end) = end else { return format!("pg_catalog.round({number}, {})", digit("")) };
            let (digit, outward) = (digit(" + 1"), if end == Reach::Low { "-" } else { "+" });
            // Half a step further out, of which the nearest is no further in.
            let beyond = format!(
                "(CASE WHEN {digit} < pg_catalog.scale({number}) THEN {number} {outward} 0.5 * pg_catalog.power(10::pg_catalog.numeric, -{digit}) ELSE {number} END)"
            );
            format!("pg_catalog.round({beyond}, {digit})")
        };
        let back = match ty {
            SqlType::Float4 => "float4",
            SqlType::Float8 => "float8",
            _ => return self.put(&round(&number)),
        };
        // PostgreSQL before 14 has no infinite numeric.
        let finite = format!("NULLIF(NULLIF({number}, 'Infinity'), '-Infinity')");
        self.put(&format!("COALESCE({}::pg_catalog.{back}, {number})", round(&finite)));
    }

    /// Half the width of a number's interval of 95 %; from the end that is known, where cutting moves the other without bound.
    fn half(&mut self, e: &Expr) -> Option<String> {
        let (queries, place) = self.queries.as_ref().zip(self.place)?;
        let ends = [Reach::Low, Reach::High].map(|what| queries.end(what, e, place));
        if let [Some(low), Some(high)] = &ends {
            let [low, high] = [low, high].map(|end| self.text(end));
            return Some(format!("(({high} - {low})::pg_catalog.float8 / 2)"));
        }
        match queries.follow(e, place).ok()? {
            Uncertain::Exact(_) => None,
            of => Some(self.in_each_set(|p| {
                let number = p.number(&of);
                let [low, high] = [Reach::Low, Reach::High]
                    .map(|what| reached(what, &number, Quantile::of(Reach::USUAL)).text());
                let value = number.value.text();
                format!("COALESCE(({high} - {low}) / 2, {high} - {value}, {value} - {low})")
            })),
        }
    }
}
