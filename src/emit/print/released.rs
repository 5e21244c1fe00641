//! What stands for a released relation: arrays of its columns, side by side, and the analyst's aggregates over them.

use super::Printer;
use crate::{domain, number};
use bigdecimal::BigDecimal;
use plan::release::{Output, PartKind, Release};
use schema::SqlType;

/// One parameter of the finish: a column of a released relation, as an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrayParam {
    /// Group key number `key` of release number `release`.
    Key {
        /// Index in [`plan::Plan::releases`].
        release: usize,
        /// Index of the key.
        key: usize,
        /// Its type.
        ty: SqlType,
    },
    /// A count, as int8.
    Count {
        /// Index in [`plan::Plan::releases`].
        release: usize,
        /// Index of the part.
        part: usize,
    },
    /// A sum times its grid, as numeric.
    Sum {
        /// Index in [`plan::Plan::releases`].
        release: usize,
        /// Index of the part.
        part: usize,
        /// The grid.
        grid: BigDecimal,
    },
}

impl Printer<'_> {
    /// FROM of a released relation: its arrays, side by side.
    pub(super) fn released(&mut self, index: usize) {
        let Some(r) = self.plan.and_then(|p| p.releases.get(index)) else { return };
        if r.is_domain_only() {
            let rows = domain::rows(r, self.policy);
            self.put(&format!(" FROM ({rows}) AS r{index}"));
            return;
        }
        let mut arrays = Vec::new();
        let mut names = Vec::new();
        for (k, key) in r.keys.iter().enumerate() {
            let ty = key.scalar.ty().clone();
            arrays.push(ty.sql_name());
            names.push(format!("k{k}"));
            self.params.push(ArrayParam::Key { release: index, key: k, ty });
        }
        for (i, part) in r.parts.iter().enumerate() {
            names.push(format!("a{i}"));
            match &part.kind {
                PartKind::Sum(s) => {
                    arrays.push("pg_catalog.numeric".into());
                    self.params.push(ArrayParam::Sum { release: index, part: i, grid: s.grid().clone() });
                }
                _ => {
                    arrays.push("pg_catalog.int8".into());
                    self.params.push(ArrayParam::Count { release: index, part: i });
                }
            }
        }
        let first = self.params.len() - arrays.len() + 1;
        let unnest: Vec<String> = arrays
            .iter()
            .enumerate()
            .map(|(i, ty)| format!("pg_catalog.unnest(${}::{ty}[])", first + i))
            .collect();
        self.put(&format!(" FROM ROWS FROM ({}) AS r{index}({})", unnest.join(", "), names.join(", ")));
    }
}

/// One of the analyst's aggregates over the released columns, in the type that PostgreSQL gives it.
pub(super) fn output_text(index: usize, r: &Release, output: &Output) -> String {
    match output {
        Output::Count(part) => format!("r{index}.a{part}"),
        Output::Sum(part, SqlType::Int8) => {
            format!(
                "LEAST(GREATEST(r{index}.a{part}, -9223372036854775808), 9223372036854775807)::pg_catalog.int8"
            )
        }
        Output::Sum(part, ty) => typed(&format!("r{index}.a{part}"), ty),
        Output::Zero(ty) => typed("0", ty),
        Output::Constant { count, ty, value } => {
            typed(&format!("CASE WHEN r{index}.a{count} >= 1 THEN {} END", number(value)), ty)
        }
        Output::Moment(m) => super::moments::text(index, r, m),
        Output::Truth { deciding, count, all } => {
            let compared = if *all { "<" } else { ">=" };
            let least = plan::deciding(r, *deciding);
            format!("(CASE WHEN r{index}.a{count} >= 1 THEN r{index}.a{deciding} {compared} {least} END)")
        }
        Output::Avg { sum, count, ty, low, high } => {
            let Some(PartKind::Sum(s)) = r.parts.get(*sum).map(|p| &p.kind) else { return "NULL".into() };
            let center = number(&(BigDecimal::from(s.centre()) * s.grid()));
            let (low, high) = (number(low), number(high));
            let average = format!(
                "CASE WHEN r{index}.a{count} >= 1 THEN LEAST(GREATEST({center} + r{index}.a{sum} / r{index}.a{count}, {low}), {high}) END"
            );
            typed(&average, ty)
        }
    }
}

/// A released number in a type; of an interval it is the length in seconds, within what its days can hold.
fn typed(number: &str, ty: &SqlType) -> String {
    match ty {
        SqlType::Interval => {
            let held = format!(
                "pg_catalog.numeric_smaller(pg_catalog.numeric_larger(({number})::pg_catalog.numeric, -185000000000000), 185000000000000)"
            );
            format!(
                "pg_catalog.make_interval(days => pg_catalog.div({held}, 86400)::pg_catalog.int4, secs => ({held} % 86400)::pg_catalog.float8)"
            )
        }
        ty => format!("({number})::{}", ty.sql_name()),
    }
}
