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
use sql::ast::{Expr, Reach};
use std::collections::BTreeMap;

/// The items of a finish that are rounded, by their places: those with false digits, which whole numbers have none of.
pub(super) fn of(plan: &Plan, types: &[u32]) -> BTreeMap<usize, SqlType> {
    let shown = |oid: &u32| match oid {
        1700 => Some(SqlType::Numeric { scale: None }),
        700 => Some(SqlType::Float4),
        701 => Some(SqlType::Float8),
        _ => None,
    };
    plan.rounded.iter().filter_map(|i| Some((*i, types.get(*i).and_then(shown)?))).collect()
}

impl Printer<'_> {
    /// A number of this type, rounded. It is as it was where nobody knows its interval.
    pub(super) fn rounded(&mut self, e: &Expr, ty: &SqlType) {
        let Some(half) = self.half(e) else { return self.expr(e) };
        // GREATEST leaves NULL out: what is not known, as what is 0, has more digits than there are. NaN is above all numbers.
        let half = format!("LEAST(GREATEST({half}, 1e-300), 1e300)");
        let digit = format!("pg_catalog.ceil(pg_catalog.log(3.55 / {half}))::pg_catalog.int4");
        let number = self.text(e);
        let round = |number: &str| {
            let number = format!("({number})::pg_catalog.numeric");
            // No digit is added to those that there are.
            format!("pg_catalog.round({number}, LEAST({digit}, pg_catalog.scale({number})))")
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
