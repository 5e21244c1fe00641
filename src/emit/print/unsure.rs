//! Values that say nothing: NULL in their place (`noisegate.unsure`).
//!
//! Post-processing: what a value says follows from the noisy number, from noisy counts beside it, and from the public parameters of
//! their noise.

use super::printer::Printer;
use super::released::Row;
use plan::aggregates::Row as _;
use plan::noise::quantile::Quantile;
use plan::reach::Uncertain;
use plan::reach::judged::CountBeside;
use sql::ast::{Expr, Reach};

impl Printer<'_> {
    /// Text of whether a value says nothing.
    pub(super) fn says_nothing(&mut self, e: &Expr) -> Option<String> {
        let (queries, place) = self.queries.as_ref().zip(self.place)?;
        let ends = [Reach::Low, Reach::High].map(|what| queries.end(what, e, place));
        let beside = queries.count_beside(e, place);
        if let [Some(low), Some(high)] = &ends {
            let [low, high, value] = [low, high, e].map(|e| format!("({})::pg_catalog.float8", self.text(e)));
            // Where nobody knows what bounds cut, there are no ends.
            let otherwise = beside.and_then(|beside| self.has_too_few(&beside)).unwrap_or("false".into());
            return Some(format!("COALESCE({high} - {low} > pg_catalog.abs({value}), {otherwise})"));
        }
        if let Some(beside) = beside {
            return self.has_too_few(&beside);
        }
        match queries.follow(e, place).ok()? {
            Uncertain::Exact(_) => None,
            of => Some(self.in_each_set(|p| p.number(&of).says_nothing(Quantile::of(Reach::USUAL)))),
        }
    }

    fn has_too_few(&self, beside: &CountBeside) -> Option<String> {
        let counts = self.plan?.releases.get(beside.from)?;
        let (count, step) =
            (Row::of(beside.row, beside.from).column(beside.part), counts.drawn().shown(beside.part, 1));
        Some(format!("({count} < {})", beside.least / step))
    }
}
