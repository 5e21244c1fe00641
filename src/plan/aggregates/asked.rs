//! Aggregates of a SELECT: each is looked up in the table once.

use super::builder::{Builder, Call, Result};
use super::table::{self, supported};
use crate::quantile_ends;
use crate::refusals::Refusal;
use crate::refusals::aggregate::{Aggregation, Shows, Units};
use crate::refusals::group::Group;
use crate::refusals::value::Value;
use schema::SqlType;
use sql::ast::*;

impl Builder<'_, '_> {
    /// Walks an expression above the aggregates: keys and aggregates are its leaves, plain columns an error.
    /// `only`: no other aggregates are looked at.
    pub(crate) fn above(&mut self, e: &Expr, keys: &[Expr], only: Option<&[Aggregate]>) -> Result<()> {
        if keys.contains(e) {
            return Ok(());
        }
        match &e.kind {
            ExprKind::Aggregate(a) if a.name == "grouping" => {
                match a.args.iter().find(|k| !keys.contains(k)) {
                    None => Ok(()),
                    Some(k) => Err(Group::Grouping.at(k.pos).into()),
                }
            }
            ExprKind::Reach { what, expr, .. } if quantile_ends::end(*what, expr).is_some() => match only {
                Some(_) => Ok(()),
                None => self.end(*what, expr, true),
            },
            ExprKind::Aggregate(a) if only.is_some_and(|only| !only.contains(a)) => Ok(()),
            ExprKind::Aggregate(a) => self.aggregate(a, e.pos),
            ExprKind::Column { binding, column } => {
                let b = self.relation.scans.scope.bindings.get(*binding);
                let column = b.and_then(|b| b.columns.get(*column)).cloned().unwrap_or_default();
                let table = b.map(|b| b.name.clone()).unwrap_or_default();
                Err(Group::Ungrouped { table, column }.at(e.pos).into())
            }
            // A windowed function stands over results; its arguments are walked, not itself.
            _ => e.operands().into_iter().try_for_each(|c| self.above(c, keys, only)),
        }
    }

    fn aggregate(&mut self, a: &Aggregate, pos: Pos) -> Result<()> {
        if self.outputs.iter().any(|(have, _)| have == a) {
            return Ok(());
        }
        if self.requests.iter().any(|r| r.has(a)) || self.distinct.iter().any(|d| d.has(a)) {
            return Ok(());
        }
        let entry = table::entry(a.name);
        // Of rows in another order, what is answered here is the same.
        if !entry.is_some_and(|e| e.within_group) && !a.within_group.is_empty() {
            return Err(Aggregation::WithinGroup(a.name).at(pos).into());
        }
        let when = a.filter.as_ref().map(|f| self.lower(f)).transpose()?;
        if when.as_ref().is_some_and(|w| *w.ty() != SqlType::Bool) {
            return Err(Value::Condition("FILTER".into()).at(pos).into());
        }
        let Some(entry) = entry else {
            return Err(Aggregation::Unlisted { name: a.name, listed: supported() }.at(pos).into());
        };
        let output = (entry.ask)(self, &Call { aggregate: a, when, pos })?;
        self.outputs.extend(output.map(|output| (a.clone(), output)));
        Ok(())
    }

    /// Refuses an aggregate of the values themselves: it can be one of values that were released.
    pub(super) fn of_released(&self, shows: Shows, call: &Call<'_>) -> Refusal {
        let (name, args) = (call.aggregate.name, &call.aggregate.args);
        let x = args.first().map_or_else(|| "x".into(), |x| self.label(x));
        let of = if x.starts_with('?') { "x".to_owned() } else { x };
        Aggregation::OfValues { shows, name, of }.at(call.pos)
    }

    /// The counting of units.
    pub(super) fn units(&self) -> Units {
        let sides = self.source.aliases.iter().filter(|c| self.relation.scans.scope.binding(c.0).is_some());
        let sides: Vec<String> = sides.map(|c| self.relation.scans.shown(c)).collect();
        if self.source.exact.is_empty() && sides.len() > 1 {
            // FULL JOIN: the unit is of either side.
            return Units::Sides(sides);
        }
        let named = self.source.exact.iter().chain(&self.source.aliases);
        match named.into_iter().find(|c| self.relation.scans.scope.binding(c.0).is_some()) {
            Some(c) if self.source.named().count() > 1 => Units::Column(self.relation.scans.shown(c)),
            Some((_, name)) => Units::Column(name.clone()),
            None => Units::Unnamed,
        }
    }
}
