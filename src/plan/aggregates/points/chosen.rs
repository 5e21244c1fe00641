//! Chosen points, as answers.

use crate::aggregates::drawn::{Drawn, Released};
use crate::aggregates::estimator::{Estimator, Followed};
use crate::aggregates::part::{Axis, Cells, Part, PartKind};
use crate::expr::print::{number, string};
use crate::words::{distance, short};
use bigdecimal::BigDecimal;
use dp::Pick;
use schema::SqlType;

/// Chosen points: one, or an array of several.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    /// The choices.
    pub parts: Vec<usize>,
    /// An array.
    pub array: bool,
    /// The type of a point.
    pub ty: SqlType,
}

impl Points {
    fn picks<'c>(&self, cells: &'c Cells) -> Vec<&'c Pick> {
        self.parts.iter().filter_map(|part| cells.picks.get(*part)).collect()
    }
}

impl Estimator for Points {
    fn parts(&self) -> Vec<usize> {
        Vec::new()
    }

    fn text(&self, released: &Released<'_>) -> String {
        let axis = released.drawn.cells.map(|c| &c.axis);
        // How far what is cut moves an end nobody knows.
        let unknown = |p: &usize| match released.drawn.parts.get(*p).map(|p| &p.kind) {
            Some(kind @ PartKind::Point(Pick::End { .. })) => released.drawn.lost(kind).is_nan(),
            _ => false,
        };
        let text = |p: &usize| match unknown(p) {
            true => format!("NULL::{}", self.ty.sql_name()),
            false => point(&released.column(*p), axis, &self.ty),
        };
        let each: Vec<String> = self.parts.iter().map(text).collect();
        let each = each.join(", ");
        if self.array { format!("ARRAY[{each}]") } else { each }
    }

    fn noise(&self) -> Followed {
        Followed::ByRank
    }

    fn error95(&self, drawn: &Drawn<'_>) -> String {
        let Some((error, cells)) = drawn.rank95().zip(drawn.cells) else {
            return String::new();
        };
        let error = short(error);
        let picks = self.picks(cells);
        if picks.contains(&&Pick::Mode) {
            return format!("in 95 % its rows are at most {error} fewer than the most");
        }
        if let Some(Pick::End { fails, .. }) = picks.first() {
            let times = short(100.0 - f64::from(*fails) / 1e4);
            return format!(
                "it holds {times} times in 100 or more, for which it aims {error} rows or more further out"
            );
        }
        let half = match &cells.axis {
            Axis::Grid { step, of, .. } => format!("; points are {} apart", distance(step, of)),
            Axis::Values | Axis::Listed(_) => String::new(),
        };
        let ends = picks.iter().any(|p| matches!(p, Pick::Least | Pick::Greatest));
        let inside = if ends { ", and ends lie about as many rows inside" } else { "" };
        format!("95 % within ±{error} rows of the rank{inside}{half}")
    }

    fn sentence(&self, drawn: &Drawn<'_>, name: &str) -> String {
        let Some((error, cells)) = drawn.rank95().zip(drawn.cells) else {
            return name.to_owned();
        };
        let error = short(error.ceil());
        match self.picks(cells).contains(&&Pick::Mode) {
            true => format!("{name} a value with at most {error} rows fewer than the most frequent"),
            false => format!("{name} within {error} rows of its rank"),
        }
    }

    fn range(&self, cells: Option<&Cells>) -> Option<(BigDecimal, BigDecimal)> {
        match cells.map(|c| &c.axis) {
            Some(Axis::Grid { low, high, .. }) if !self.array => Some((low.clone(), high.clone())),
            _ => None,
        }
    }

    fn weights(&self, _: &[Part]) -> Vec<(usize, f64)> {
        Vec::new()
    }
}

/// A point, as this type: of a grid within the range of its values.
fn point(column: &str, axis: Option<&Axis>, ty: &SqlType) -> String {
    let name = ty.sql_name();
    let (low, high, of) = match axis {
        Some(Axis::Grid { low, high, of, .. }) => (low, high, of),
        Some(Axis::Listed(values)) => {
            let values: Vec<String> = values.iter().map(|v| string(v)).collect();
            return format!("(ARRAY[{}]::{name}[])[{column} + 1]", values.join(", "));
        }
        Some(Axis::Values) => return format!("({column})::{name}"),
        None => return "NULL".into(),
    };
    let cut = format!("LEAST(GREATEST({column}, {}), {})", number(low), number(high));
    match of {
        SqlType::Date => format!("('1970-01-01'::pg_catalog.date + ({cut} / 86400)::pg_catalog.int4)"),
        t if t.is_datetime() => {
            let zone = if *t == SqlType::Timestamptz { "+00" } else { "" };
            let seconds = format!("pg_catalog.make_interval(secs => ({cut})::pg_catalog.float8)");
            format!("('1970-01-01 00:00:00{zone}'::{} + {seconds})", t.sql_name())
        }
        _ => format!("({cut})::{name}"),
    }
}
