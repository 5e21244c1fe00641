//! Distinct values: `count(DISTINCT x)` where x is not the unit, `sum(DISTINCT x)` and `avg(DISTINCT x)`.
//!
//! The fetch has a row for each unit, group and value, keeps few of each unit's, and counts values in each group, or adds them
//! up. All rows of a unit together bring and take away no more values than it has there, whatever values others have: a count
//! changes by at most so many, and a sum by so many times the largest magnitude. Where groups are private, values are looked at
//! in those that another release of the same rows selects.

use super::builder::{Builder, Distinct, Result, too_wide};
use super::keys::has_canonical_form;
use super::model::{Part, PartKind, Release};
use super::output::Output;
use super::sums::{grid, result_type};
use crate::bound::bounding;
use crate::expr::{GridValue, Node, Scalar, filtered, unbounded};
use crate::groups::Groups;
use crate::groups::key::Key;
use answer::ClientError;
use bigdecimal::BigDecimal;
use schema::SqlType;
use sql::ast::*;

impl Distinct {
    /// Whether it serves this aggregate already.
    pub(super) fn has(&self, a: &Aggregate) -> bool {
        self.outputs.iter().any(|(have, _)| have == a)
    }

    /// Its name in messages.
    pub(super) fn name(&self) -> &'static str {
        match self.outputs.first().map(|(a, _)| a.name) {
            Some("sum") => "sum(DISTINCT x)",
            Some("avg") => "avg(DISTINCT x)",
            _ => "count(DISTINCT x)",
        }
    }

    fn part(&mut self, kind: PartKind) -> usize {
        self.parts.iter().position(|have| *have == kind).unwrap_or_else(|| {
            self.parts.push(kind);
            self.parts.len() - 1
        })
    }
}

impl Builder<'_, '_> {
    /// Notes that values are to be counted or added up; `when` is FILTER.
    pub(super) fn distinct(
        &mut self,
        a: &Aggregate,
        value: Scalar,
        when: Option<Scalar>,
        pos: Pos,
    ) -> Result<()> {
        let count = a.name == "count";
        if count && matches!(value.node(), Node::Null) {
            self.outputs.push((a.clone(), Output::Zero(SqlType::Int8)));
            return Ok(());
        }
        if count && self.is_unit(&value, false) {
            return Err(ClientError::unsupported(
                "count(DISTINCT …) of a unit column of an optional side is not supported",
            )
            .hint(self.unit_hint())
            .at(pos)
            .into());
        }
        if !has_canonical_form(&value) || !count && !value.is_measured() {
            let ty = value.ty().sql_name().replace("pg_catalog.", "");
            let what = format!("{}(DISTINCT …) of type {ty} is not supported", a.name);
            let refused = ClientError::unsupported(what).at(pos);
            return Err(match count {
                true => refused
                    .detail("Values of this type have several forms that compare equal.")
                    .hint("Count text, numbers, dates, timestamps, booleans, enums or uuids."),
                false => refused.hint("Add up numbers."),
            }
            .into());
        }
        let of = match when {
            None => value,
            Some(when) => filtered(when, value),
        };
        match count {
            false => self.add_up(a, of, pos),
            true => {
                let kind = PartKind::Values(of.clone());
                self.serve(a, of, std::slice::from_ref(&kind), pos, |d| Output::Count(d.part(kind.clone())));
                Ok(())
            }
        }
    }

    /// The sum or the average of distinct values. Values outside the range are its ends, and so one value each.
    fn add_up(&mut self, a: &Aggregate, of: Scalar, pos: Pos) -> Result<()> {
        let ty = result_type(a.name == "avg", of.ty());
        let Some((low, high)) = of.bound().finite() else { return Err(unbounded(&of, pos).into()) };
        let (low, high) = (low.clone(), high.clone());
        let grid = grid(&of, &low, &high);
        let on_grid =
            |centred| GridValue::new(of.clone(), &low, &high, &grid, centred).map_err(|_| too_wide());
        let (plain, centred) = (on_grid(false)?, on_grid(true)?);
        let count = PartKind::Values(centred.arg().clone());
        let [sum, mean] = [&plain, &centred].map(|s| PartKind::SumOfValues(s.clone()));
        if a.name == "sum" {
            if plain.bound() == 0 {
                self.outputs.push((a.clone(), Output::Zero(ty)));
                return Ok(());
            }
            self.serve(a, of, std::slice::from_ref(&sum), pos, |d| Output::Sum(d.part(sum.clone()), ty));
        } else if centred.bound() == 0 {
            let value = BigDecimal::from(centred.centre()) * &grid;
            let constant = |d: &mut Distinct| Output::Constant { count: d.part(count.clone()), ty, value };
            self.serve(a, of, std::slice::from_ref(&count), pos, constant);
        } else {
            // A sum that is released anyway serves the average too; else it is centred, which halves its bound.
            let average = |d: &mut Distinct| {
                if d.parts.is_empty() {
                    d.parts.push(mean.clone());
                }
                Output::Avg { sum: 0, count: d.part(count), ty, low, high }
            };
            self.serve(a, of, &[sum, mean.clone()], pos, average);
        }
        Ok(())
    }

    /// Has an aggregate served by what is asked of the same value and begins with one of these parts, or by something new.
    fn serve(
        &mut self,
        a: &Aggregate,
        of: Scalar,
        first: &[PartKind],
        pos: Pos,
        output: impl FnOnce(&mut Distinct) -> Output,
    ) {
        let mut new = None;
        let same = |d: &&mut Distinct| d.of == of && d.parts.first().is_some_and(|p| first.contains(p));
        let d = match self.distinct.iter_mut().find(same) {
            Some(d) => d,
            None => new.insert(Distinct { of, parts: Vec::new(), outputs: Vec::new(), pos }),
        };
        let output = output(d);
        d.outputs.push((a.clone(), output));
        self.distinct.extend(new);
    }

    /// A release for each value.
    pub(super) fn of_values(
        &mut self,
        keys: &[Key],
        select: &Select,
        found: &Groups,
    ) -> Result<Vec<Release>> {
        let all = std::mem::take(&mut self.distinct);
        all.into_iter().map(|d| self.of_one_value(d, keys, select, found)).collect()
    }

    fn of_one_value(&self, d: Distinct, keys: &[Key], select: &Select, found: &Groups) -> Result<Release> {
        let bounding = bounding::of_values(&self.source, self.policy, self.settings);
        let mut scalars: Vec<&Scalar> = keys.iter().map(|k| &k.scalar).collect();
        scalars.push(&d.of);
        let work = self.flattener.work(&self.source, &scalars, self.sizes, select.pos)?;
        let values = u128::from(bounding.rows());
        let part = |kind: PartKind| {
            let (each, label) = match kind.on_grid() {
                Some(s) => (s.bound(), "sum of values"),
                None => (1, "count of values"),
            };
            Ok(Part { linf: values.checked_mul(each).ok_or_else(too_wide)?, kind, label: label.into() })
        };
        Ok(Release {
            select: select.id,
            set: 0,
            ranking: None,
            round: None,
            source: self.source.clone(),
            parts: d.parts.into_iter().map(part).collect::<Result<_>>()?,
            cells: None,
            keys: keys.to_vec(),
            groups: found.public.then_some(self.group_count),
            public_groups: found.public,
            groups_why: found.why.clone(),
            groups_remedy: found.remedy.clone(),
            only: found.only.clone(),
            outputs: d.outputs,
            bounding,
            work,
            given: self.flattener.given.used(),
            zone: self.settings.zone.clone(),
            spec: dp::Spec { l0: 1, ..dp::Spec::default() },
        })
    }
}
