//! Released relations in a text: arrays of their columns, side by side. The analyst's aggregates
//! over them are texts of their estimators (`plan::aggregates`).

use super::array_param::ArrayParam;
use super::carried::Carried;
use super::printer::Printer;
use crate::domain;
use plan::aggregates::{Axis, PartKind, Released};
use plan::noise::{Part, Rows};
use plan::release::Release;
use schema::SqlType;

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
                let (param, ty) = column(from, i, &part.kind, r);
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
    /// The most released groups that were added up to one.
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

    /// The parts of a release as they are in the row.
    pub fn released(&self, r: &'c Release) -> Released<'_> {
        Released { row: self, drawn: r.added_up(self.cells) }
    }
}

impl plan::aggregates::Row for Row<'_> {
    fn column(&self, part: usize) -> String {
        format!("r{}.{}", self.row, self.name(part))
    }

    fn draw(&self, part: usize) -> Part {
        let own = Part { release: self.from, part, rows: Rows::Own };
        self.carried.and_then(|c| c.part(self.from, part)).unwrap_or(own)
    }

    fn added(&self) -> Option<&String> {
        self.carried.and_then(|c| c.added.as_ref())
    }
}

/// The parameter of a part, and the type of its cells.
fn column(release: usize, part: usize, of: &PartKind, r: &Release) -> (ArrayParam, SqlType) {
    let numeric = SqlType::Numeric { scale: None };
    let axis = r.cells.as_ref().map(|c| &c.axis);
    match (of.grid(), axis, r.keys.split_last()) {
        (Some(grid), ..) | (None, Some(Axis::Grid { step: grid, .. }), _) => {
            (ArrayParam::Sum { release, part, grid: grid.clone() }, numeric)
        }
        (None, Some(Axis::Values), Some((last, before))) => {
            let ty = last.scalar.ty().clone();
            (ArrayParam::Key { release, key: before.len(), ty: ty.clone() }, ty)
        }
        _ => (ArrayParam::Count { release, part }, SqlType::Int8),
    }
}
