//! What stands for a released relation: arrays of its columns, side by side, and the analyst's aggregates over them.

use super::Printer;
use super::sets::Carried;
use crate::{domain, number};
use bigdecimal::{BigDecimal, Zero};
use plan::expr::print::string;
use plan::release::Axis;
use plan::release::expected_error::centre;
use plan::release::{Output, Part, PartKind, Release};
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

impl<'a> Printer<'a> {
    /// The releases that stand for one SELECT, or one grouping set of it, the first of which has this index.
    pub(super) fn of_select(&self, index: usize) -> impl Iterator<Item = (usize, &'a Release)> + use<'a> {
        let all = self.plan.map(|p| p.releases.as_slice()).unwrap_or_default();
        let of = all.get(index).map(|r| (r.select, r.set));
        all.iter().enumerate().filter(move |(_, r)| Some((r.select, r.set)) == of)
    }

    /// FROM of a released relation: its arrays, side by side.
    pub(super) fn released(&mut self, index: usize) {
        let Some(r) = self.plan.and_then(|p| p.releases.get(index)) else { return };
        if r.is_domain_only() {
            let rows = domain::rows(r, self.policy);
            self.put(&format!(" FROM ({rows}) AS r{index}"));
            return;
        }
        let (mut arrays, mut names, mut params) = (Vec::new(), Vec::new(), Vec::new());
        for (k, key) in r.group_keys().iter().enumerate() {
            let ty = key.scalar.ty().clone();
            arrays.push(ty.sql_name());
            names.push(format!("k{k}"));
            params.push(ArrayParam::Key { release: index, key: k, ty });
        }
        let releases: Vec<(usize, &Release)> = self.of_select(index).collect();
        for (from, r) in releases {
            let row = Row::of(index, from);
            for (i, part) in r.parts.iter().enumerate() {
                names.push(row.name(i));
                let (param, ty) = column(from, i, part, r);
                arrays.push(ty.sql_name());
                params.push(param);
            }
        }
        let next = self.params.len() + 1;
        let first = *self.first_param.entry(index).or_insert(next);
        if first == next {
            self.params.append(&mut params);
        }
        let unnest: Vec<String> = arrays
            .iter()
            .enumerate()
            .map(|(i, ty)| format!("pg_catalog.unnest(${}::{ty}[])", first + i))
            .collect();
        self.put(&format!(" FROM ROWS FROM ({}) AS r{index}({})", unnest.join(", "), names.join(", ")));
    }
}

/// A released column of a SELECT, or of one of its grouping sets, whose first release names the row.
pub(super) struct Row<'c> {
    /// The first release.
    pub row: usize,
    /// The column's own.
    pub from: usize,
    /// How many released groups were added up to one, at most.
    pub cells: usize,
    /// In rows of grouping sets, what they carry of the set.
    pub carried: Option<&'c Carried>,
}

impl<'c> Row<'c> {
    /// Of a release that stands for its SELECT.
    pub fn of(row: usize, from: usize) -> Self {
        Self { row, from, cells: 1, carried: None }
    }

    fn name(&self, part: usize) -> String {
        match self.carried {
            Some(carried) => carried.name(self.from, part),
            None if self.row == self.from => format!("a{part}"),
            None => format!("p{}_{part}", self.from),
        }
    }

    /// The column of a part.
    pub fn column(&self, part: usize) -> String {
        format!("r{}.{}", self.row, self.name(part))
    }
}

/// The parameter of a part, and the type of its cells.
fn column(release: usize, part: usize, of: &Part, r: &Release) -> (ArrayParam, SqlType) {
    let numeric = SqlType::Numeric { scale: None };
    let axis = r.cells.as_ref().map(|c| &c.axis);
    match (&of.kind, axis, r.keys.split_last()) {
        (PartKind::Sum(s) | PartKind::SumOfValues(s), ..) => {
            (ArrayParam::Sum { release, part, grid: s.grid().clone() }, numeric)
        }
        (PartKind::Point(_), Some(Axis::Grid { step, .. }), _) => {
            (ArrayParam::Sum { release, part, grid: step.clone() }, numeric)
        }
        (PartKind::Point(_), Some(Axis::Values), Some((last, before))) => {
            let ty = last.scalar.ty().clone();
            (ArrayParam::Key { release, key: before.len(), ty: ty.clone() }, ty)
        }
        _ => (ArrayParam::Count { release, part }, SqlType::Int8),
    }
}

/// One of the analyst's aggregates over the released columns, in the type that PostgreSQL gives it.
pub(super) fn output_text(row: &Row<'_>, r: &Release, output: &Output) -> String {
    let of = |part: &usize| row.column(*part);
    match output {
        Output::Count(part) => of(part),
        Output::Sum(part, ty) => total(&of(part), ty),
        Output::CentredSum { sum, count, ty } => total(&uncentred(row, r, *sum, *count), ty),
        Output::Zero(ty) => typed("0", ty),
        Output::Constant { count, ty, value } => {
            typed(&format!("CASE WHEN {} >= 1 THEN {} END", of(count), number(value)), ty)
        }
        Output::Moment(m) => super::moments::text(row, r, m),
        Output::Points { parts, array, ty } => {
            let axis = r.cells.as_ref().map(|c| &c.axis);
            let each: Vec<String> = parts.iter().map(|p| point(&of(p), axis, ty)).collect();
            let each = each.join(", ");
            if *array { format!("ARRAY[{each}]") } else { each }
        }
        Output::Truth { deciding, count, all } => {
            let compared = if *all { "<" } else { ">=" };
            let least = plan::deciding(r, *deciding, row.cells);
            format!("(CASE WHEN {} >= 1 THEN {} {compared} {least} END)", of(count), of(deciding))
        }
        Output::Avg { sum, count, ty, low, high } => {
            let (low, high, n) = (number(low), number(high), of(count));
            // As whoever divides the sum by the count computes it.
            let all = uncentred(row, r, *sum, *count);
            let average = format!("CASE WHEN {n} >= 1 THEN LEAST(GREATEST({all} / {n}, {low}), {high}) END");
            typed(&average, ty)
        }
    }
}

/// A sum of whose values a centre was taken off, with that centre for each row that is counted.
fn uncentred(row: &Row<'_>, r: &Release, sum: usize, count: usize) -> String {
    let (sum_of, centre) = (row.column(sum), centre(r, sum));
    match centre.is_zero() {
        true => sum_of,
        false => format!("({sum_of} + {} * {})", number(&centre), row.column(count)),
    }
}

/// A sum, as this type.
fn total(sum: &str, ty: &SqlType) -> String {
    match ty {
        SqlType::Int8 => {
            format!("LEAST(GREATEST({sum}, -9223372036854775808), 9223372036854775807)::pg_catalog.int8")
        }
        ty => typed(sum, ty),
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
