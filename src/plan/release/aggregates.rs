//! Aggregates: what is released of each group, and how the analyst's aggregates follow from it.

use super::builder::{Builder, Result, refuse, too_wide};
use super::model::{Part, PartKind};
use super::moments::{is_moment, is_of_two};
use super::output::Output;
use super::points::is_choice;
use super::sums::{grid, result_type};
use crate::expr::{GridValue, Node, Scalar, filtered, not, unbounded};
use crate::quantile_ends;
use crate::refusals::of_ages;
use answer::{ClientError, SqlState};
use bigdecimal::BigDecimal;
use schema::SqlType;
use sql::ast::*;

/// What may stand instead of an aggregate that may not.
pub const SUPPORTED: &str = "Over private rows: count, count(DISTINCT x), sum, avg, variance, stddev, covar_pop, covar_samp, corr, regr_*, bool_and, bool_or, median, percentile_cont, percentile_disc, min, max and mode.";

impl Builder<'_, '_> {
    /// Walks an expression above the aggregates: keys and aggregates are its leaves, plain columns an error.
    /// `only`: no other aggregates are looked at.
    pub(super) fn above(&mut self, e: &Expr, keys: &[Expr], only: Option<&[Aggregate]>) -> Result<()> {
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

    pub(super) fn part(&mut self, kind: PartKind, label: String) -> usize {
        match self.parts.iter().position(|p| p.kind == kind) {
            Some(i) => i,
            None => {
                self.parts.push(Part { kind, linf: 0, label });
                self.parts.len() - 1
            }
        }
    }

    pub(super) fn count_part(&mut self, arg: Option<&Scalar>) -> usize {
        let kind = PartKind::Count(arg.filter(|a| a.nullable()).cloned());
        let label = if arg.is_some_and(|a| a.nullable()) { "count of non-NULL rows" } else { "count(*)" };
        self.part(kind, label.into())
    }

    /// A count of the rows where the argument is not NULL.
    pub(super) fn count_output(&mut self, arg: &Scalar) -> Output {
        match arg.node() {
            Node::Null => Output::Zero(SqlType::Int8),
            _ => Output::Count(self.count_part(Some(arg))),
        }
    }

    fn aggregate(&mut self, a: &Aggregate, pos: Pos) -> Result<()> {
        if self.outputs.iter().any(|(have, _)| have == a) {
            return Ok(());
        }
        if self.requests.iter().any(|r| r.has(a)) || self.distinct.iter().any(|d| d.has(a)) {
            return Ok(());
        }
        // Of rows in another order, what is answered here is the same.
        if !is_choice(a.name) && !a.within_group.is_empty() {
            return Err(refuse(&format!("WITHIN GROUP of {} over private rows", a.name), pos));
        }
        let when = a.filter.as_ref().map(|f| self.lower(f)).transpose()?;
        if when.as_ref().is_some_and(|w| *w.ty() != SqlType::Bool) {
            let m = "argument of FILTER must be type boolean";
            return Err(ClientError::new(SqlState::DATATYPE_MISMATCH, m).at(pos).into());
        }
        if is_choice(a.name) {
            return self.choice(a, when.as_ref(), pos);
        }
        let only = |s: Scalar| match &when {
            None => s,
            // FILTER (WHERE w): CASE WHEN w THEN x END.
            Some(w) => filtered(w.clone(), s),
        };
        let output = match (a.name, a.args.as_slice(), a.distinct) {
            ("count", [], false) => {
                let arg = when.is_some().then(|| only(Scalar::constant_truth(true)));
                Output::Count(self.count_part(arg.as_ref()))
            }
            ("count", [x], false) => {
                let x = only(self.lower(x)?);
                self.count_output(&x)
            }
            ("count", [x], true) => {
                let s = self.lower(x)?;
                if !self.is_unit(&s, true) {
                    return self.distinct(a, s, when, x.pos);
                }
                let arg = when.is_some().then(|| only(Scalar::constant_truth(true)));
                Output::Count(self.part(PartKind::Units(arg), "count of units".into()))
            }
            ("sum" | "avg", [x], false) => {
                let value = only(self.lower(x)?);
                self.sum_or_avg(a.name == "avg", &value, x)?
            }
            ("sum" | "avg", [x], true) => {
                let s = self.lower(x)?;
                if !matches!(s.node(), Node::Null) {
                    return self.distinct(a, s, when, x.pos);
                }
                self.sum_or_avg(a.name == "avg", &s, x)?
            }
            ("bool_and" | "bool_or" | "every", [x], false) => {
                let value = self.lower(x)?;
                self.truth(a.name != "bool_or", value, &only, x.pos)?
            }
            (name, [x], false) if is_moment(name) && !is_of_two(name) => {
                let value = only(self.lower(x)?);
                self.spread(name, &value, x.pos)?
            }
            (name, [y, x], false) if is_of_two(name) => {
                let (y, x) = (self.lower(y)?, self.lower(x)?);
                self.pairs(name, &y, &x, &only, pos)?
            }
            (name, _, true) if is_moment(name) => {
                let what = format!("DISTINCT in {name} over private rows");
                return Err(self.of_released(name, &what, a, pos).into());
            }
            ("string_agg" | "array_agg", ..) => {
                let what = format!("{} over private rows", a.name);
                return Err(self.of_released(a.name, &what, a, pos).into());
            }
            ("count" | "sum" | "avg" | "bool_and" | "bool_or" | "every", _, _) => {
                let m = format!("{} takes one argument", a.name);
                return Err(ClientError::new(SqlState::UNDEFINED_FUNCTION, m).at(pos).into());
            }
            (name, _, _) if is_moment(name) => {
                let m = format!(
                    "{name} takes {}",
                    if is_of_two(name) { "two arguments" } else { "one argument" }
                );
                return Err(ClientError::new(SqlState::UNDEFINED_FUNCTION, m).at(pos).into());
            }
            (name, _, _) => {
                return Err(ClientError::unsupported(format!(
                    "{name} over private rows is not supported yet"
                ))
                .hint(SUPPORTED)
                .at(pos)
                .into());
            }
        };
        self.outputs.push((a.clone(), output));
        Ok(())
    }

    /// Refuses an aggregate of the values themselves: it can be one of values that were released.
    pub(super) fn of_released(&self, name: &str, what: &str, a: &Aggregate, pos: Pos) -> ClientError {
        let x = a.args.first().map_or_else(|| "x".into(), |x| self.label(x));
        let x = if x.starts_with('?') { "x".to_owned() } else { x };
        let more = if name == "string_agg" { ", ', '" } else { "" };
        ClientError::unsupported(format!("{what} is not supported"))
            .detail("It shows which values single rows have.")
            .hint(format!(
                "Release the values that enough rows have, and aggregate them: SELECT {name}({x}{more}) FROM (SELECT {x} FROM … GROUP BY {x} HAVING count(*) > 10) d."
            ))
            .at(pos)
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

    fn sum_or_avg(&mut self, average: bool, value: &Scalar, x: &Expr) -> Result<Output> {
        if !value.is_measured() && !matches!(value.node(), Node::Null) {
            if *value.ty() == SqlType::Interval {
                return Err(of_ages(x.pos).into());
            }
            let m = format!(
                "sum and avg of type {} are not supported",
                value.ty().sql_name().replace("pg_catalog.", "")
            );
            return Err(ClientError::unsupported(m).at(x.pos).into());
        }
        let null = Scalar::null(SqlType::Int4);
        let value = if value.is_measured() { value } else { &null };
        let Some((low, high)) = value.bound().finite() else {
            return Err(unbounded(value, x.pos).into());
        };
        let (low, high) = (low.clone(), high.clone());
        let ty = result_type(average, value.ty());
        if average {
            return self.average(value, ty, x.pos);
        }
        let grid = grid(value, &low, &high);
        let plain = GridValue::new(value.clone(), &low, &high, &grid, false).map_err(|_| too_wide())?;
        // What cannot move from 0 is no question to anybody.
        if plain.bound() == 0 {
            return Ok(Output::Zero(ty));
        }
        Ok(Output::Sum(self.part(PartKind::Sum(plain), "sum".into()), ty))
    }

    /// The average of a number within bounds, as this type.
    pub(super) fn average(&mut self, value: &Scalar, ty: SqlType, pos: Pos) -> Result<Output> {
        let Some((low, high)) = value.bound().finite() else { return Err(unbounded(value, pos).into()) };
        let (low, high) = (low.clone(), high.clone());
        let grid = grid(value, &low, &high);
        let centred = GridValue::new(value.clone(), &low, &high, &grid, true).map_err(|_| too_wide())?;
        let count = self.count_part(Some(centred.arg()));
        match self.mean_part(value, &low, &high, "sum for avg")? {
            Some(sum) => Ok(Output::Avg { sum, count, ty, low, high }),
            None => {
                let value = BigDecimal::from(centred.centre()) * &grid;
                Ok(Output::Constant { count, ty, value })
            }
        }
    }

    /// The sum that a mean of values within [low, high] follows from; None where no row can change it.
    pub(super) fn mean_part(
        &mut self,
        value: &Scalar,
        low: &BigDecimal,
        high: &BigDecimal,
        label: &str,
    ) -> Result<Option<usize>> {
        let grid = grid(value, low, high);
        let on_grid =
            |centred| GridValue::new(value.clone(), low, high, &grid, centred).map_err(|_| too_wide());
        let (plain, centred) = (on_grid(false)?, on_grid(true)?);
        if centred.bound() == 0 {
            return Ok(None);
        }
        // A sum that is released anyway serves the average too; else the sum is centred, which halves its bound.
        let have = self.parts.iter().position(|p| p.kind == PartKind::Sum(plain.clone()));
        Ok(Some(have.unwrap_or_else(|| self.part(PartKind::Sum(centred), label.into()))))
    }

    /// `bool_and(x)` and `bool_or(x)`, from the number of rows that decide it.
    fn truth(
        &mut self,
        all: bool,
        value: Scalar,
        only: &dyn Fn(Scalar) -> Scalar,
        pos: Pos,
    ) -> Result<Output> {
        if *value.ty() != SqlType::Bool {
            let m = format!("{} takes a boolean", if all { "bool_and" } else { "bool_or" });
            return Err(ClientError::new(SqlState::UNDEFINED_FUNCTION, m).at(pos).into());
        }
        let deciding = if all { not(value.clone()) } else { value.clone() };
        let deciding = filtered(deciding, Scalar::constant_truth(true));
        let deciding = self.count_part(Some(&only(deciding)));
        let count = self.count_part(Some(&only(value)));
        Ok(Output::Truth { deciding, count, all })
    }
}

/// The sums of values of which something else is asked, too.
pub(super) fn sums_beside_others<'e>(above: &[&'e Expr]) -> Vec<Aggregate> {
    let aggregate = |e: &'e Expr| if let ExprKind::Aggregate(a) = &e.kind { Some(&**a) } else { None };
    let all: Vec<&Aggregate> = above.iter().flat_map(|e| e.parts()).filter_map(aggregate).collect();
    let beside = |a: &&Aggregate| {
        a.name == "sum" && all.iter().any(|b| b.name != a.name && b.args == a.args && b.filter == a.filter)
    };
    all.iter().copied().filter(beside).cloned().collect()
}
