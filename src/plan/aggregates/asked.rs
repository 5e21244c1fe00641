//! What is asked for of a SELECT: its aggregates are looked up in the table, once each.

use super::builder::{Builder, Call, Result, refuse};
use super::table::{self, supported};
use crate::quantile_ends;
use answer::{ClientError, SqlState};
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
                    Some(k) => {
                        let m = "arguments to GROUPING must be grouping expressions of the associated query level";
                        Err(ClientError::new(SqlState::GROUPING_ERROR, m).at(k.pos).into())
                    }
                }
            }
            ExprKind::Reach { what, expr, .. } if quantile_ends::end(*what, expr).is_some() => match only {
                Some(_) => Ok(()),
                None => self.end(*what, expr, true),
            },
            ExprKind::Aggregate(a) if only.is_some_and(|only| !only.contains(a)) => Ok(()),
            ExprKind::Aggregate(a) => self.aggregate(a, e.pos),
            ExprKind::Column { binding, column } => {
                let b = self.flattener.bindings.get(*binding);
                let name = b.and_then(|b| b.columns.get(*column)).cloned().unwrap_or_default();
                let table = b.map(|b| b.name.clone()).unwrap_or_default();
                Err(ClientError::new(
                    SqlState::GROUPING_ERROR,
                    format!("column \"{table}.{name}\" must appear in the GROUP BY clause or be used in an aggregate function"),
                )
                .at(e.pos)
                .into())
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
            return Err(refuse(&format!("WITHIN GROUP of {} over private rows", a.name), pos));
        }
        let when = a.filter.as_ref().map(|f| self.lower(f)).transpose()?;
        if when.as_ref().is_some_and(|w| *w.ty() != SqlType::Bool) {
            let m = "argument of FILTER must be type boolean";
            return Err(ClientError::new(SqlState::DATATYPE_MISMATCH, m).at(pos).into());
        }
        let Some(entry) = entry else {
            let what = format!("{} over private rows is not supported yet", a.name);
            return Err(ClientError::unsupported(what).hint(supported()).at(pos).into());
        };
        let output = (entry.ask)(self, &Call { aggregate: a, when, pos })?;
        self.outputs.extend(output.map(|output| (a.clone(), output)));
        Ok(())
    }

    /// Refuses an aggregate of the values themselves: it can be one of values that were released.
    pub(super) fn of_released(&self, what: &str, call: &Call<'_>) -> ClientError {
        let (name, args) = (call.aggregate.name, &call.aggregate.args);
        let x = args.first().map_or_else(|| "x".into(), |x| self.label(x));
        let x = if x.starts_with('?') { "x".to_owned() } else { x };
        let more = if name == "string_agg" { ", ', '" } else { "" };
        ClientError::unsupported(format!("{what} is not supported"))
            .detail("It shows which values single rows have.")
            .hint(format!(
                "Release the values that enough rows have, and aggregate them: SELECT {name}({x}{more}) FROM (SELECT {x} FROM … GROUP BY {x} HAVING count(*) > 10) d."
            ))
            .at(call.pos)
    }

    /// How to count units.
    pub(super) fn unit_hint(&self) -> String {
        let sides = self.source.aliases.iter().filter(|c| self.flattener.binding(c.0).is_some());
        let sides: Vec<String> = sides.map(|c| self.flattener.shown(c)).collect();
        if self.source.exact.is_empty() && sides.len() > 1 {
            // FULL JOIN: the unit is of either side.
            return format!("count(DISTINCT coalesce({})) counts units.", sides.join(", "));
        }
        let named = self.source.exact.iter().chain(&self.source.aliases);
        match named.into_iter().find(|c| self.flattener.binding(c.0).is_some()) {
            Some(c) if self.source.named().count() > 1 => {
                format!("count(DISTINCT {}) counts units.", self.flattener.shown(c))
            }
            Some((_, name)) => format!("count(DISTINCT {name}) counts units."),
            None => "Join the table that holds the unit, and count its unit column.".into(),
        }
    }
}
