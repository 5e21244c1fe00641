//! Quantiles, least and greatest values and modes: points of a public grid, chosen by how many rows there are at each.
//!
//! The fetch counts cells: groups by one more key, which is the point that a value is nearest to. A unit's rows are bounded
//! over all cells together, and spread over them where it has more. No cell comes back ([`dp::Points`]).

use super::builder::{Builder, Request, Result, refuse, too_wide};
use super::distance::distance;
use super::model::{Axis, Cells, Part, PartKind, Release};
use super::output::Output;
use crate::bound::bounding::{self, Bounding, Number};
use crate::expr::domain::Domain;
use crate::expr::{Scalar, filtered, nearest, unbounded};
use crate::groups::key::Key;
use crate::groups::{self, Groups};
use crate::quantile_ends;
use answer::{ClientError, SqlState};
use bigdecimal::{BigDecimal, RoundingMode, Signed};
use dp::quantile::Side;
use dp::{Pick, Ratio};
use schema::SqlType;
use schema::time::MICROS_PER_SECOND;
use sql::ast::*;

/// No grid has more points.
const MOST_POINTS: u32 = 20_000;
/// Where groups are private, of which nobody knows how many there are.
pub(super) const MOST_PRIVATE_POINTS: u32 = 1_000;
/// Nor fewer than this because there are many groups.
const LEAST_POINTS: u32 = 16;
/// No call has more fractions.
const MOST_FRACTIONS: usize = 100;
/// Digits of a fraction: their common denominator is below 2^32.
const DIGITS: i64 = 9;
/// From 1970, where epochs begin, to 2000, where PostgreSQL's moments do.
const SECONDS_TO_2000: i64 = 946_684_800;

/// Whether a name is one of these.
pub(super) fn is_choice(name: &str) -> bool {
    matches!(name, "median" | "percentile_cont" | "percentile_disc" | "mode" | "min" | "max")
}

impl Builder<'_, '_> {
    /// Notes what an aggregate asks for; `when` is its FILTER.
    pub(super) fn choice(&mut self, a: &Aggregate, when: Option<&Scalar>, pos: Pos) -> Result<()> {
        if a.distinct && a.name != "min" && a.name != "max" {
            return Err(refuse(&format!("DISTINCT in {}", a.name), pos));
        }
        let ordered = |args: usize| match a.within_group.as_slice() {
            [by] if a.args.len() == args && a.order_by.is_empty() => Ok(by),
            _ => {
                let m = format!("{} is written {}(…) WITHIN GROUP (ORDER BY x)", a.name, a.name);
                Err(ClientError::new(SqlState::UNDEFINED_FUNCTION, m).at(pos))
            }
        };
        if a.name == "mode" {
            let by = ordered(0)?;
            return self.mode(a, &by.expr, when, pos);
        }
        let (x, picks, array) = match (a.name, a.args.as_slice()) {
            ("min" | "max", [x]) if a.within_group.is_empty() && a.order_by.is_empty() => {
                (x, vec![if a.name == "min" { Pick::Least } else { Pick::Greatest }], false)
            }
            ("median", [x]) if a.within_group.is_empty() && a.order_by.is_empty() => {
                (x, vec![Pick::Quantile(Ratio::new(1, 2))], false)
            }
            ("min" | "max" | "median", _) => {
                let m = format!("{} takes one argument", a.name);
                return Err(ClientError::new(SqlState::UNDEFINED_FUNCTION, m).at(pos).into());
            }
            (_, args) => {
                let by = ordered(1)?;
                let list = match args {
                    [Expr { kind: ExprKind::Array(list), .. }] => Some(list.as_slice()),
                    _ => None,
                };
                let picks =
                    list.unwrap_or(args).iter().map(|f| fraction(f, by.desc)).collect::<Result<_>>()?;
                (&by.expr, picks, list.is_some())
            }
        };
        if picks.is_empty() || picks.len() > MOST_FRACTIONS {
            let m = format!("{} takes from 1 to {MOST_FRACTIONS} fractions", a.name);
            return Err(ClientError::new(SqlState::INVALID_PARAMETER_VALUE, m).at(pos).into());
        }
        let scalar = self.lower(x)?;
        let ty = if matches!(a.name, "percentile_cont" | "median") {
            SqlType::Float8
        } else {
            scalar.ty().clone()
        };
        if scalar.ty().is_text() && matches!(a.name, "min" | "max") {
            // In the order of a collation, of which no text says which is the next value.
            return Err(self
                .of_released(a.name, &format!("{} of texts over private rows", a.name), a, pos)
                .into());
        }
        let (key, axis) = self.grid_key(a.name, x, &scalar, when)?;
        self.request(key, axis, pos, |all| {
            let parts = picks.into_iter().map(|p| pick(all, p)).collect();
            (a.clone(), Output::Points { parts, array, ty })
        });
        Ok(())
    }

    /// Notes an end of the interval of a quantile of numbers; nothing of what is none, unless it was `asked` for by name.
    pub(super) fn end(&mut self, what: Reach, e: &Expr, asked: bool) -> Result<()> {
        let (Some((a, side)), ExprKind::Aggregate(of)) = (quantile_ends::end(what, e), &e.kind) else {
            return Ok(());
        };
        let (Some(x), false) = (ordered_by(of), self.requests.iter().any(|r| r.has(&a))) else {
            return Ok(());
        };
        let q = match of.name {
            "median" => Pick::Quantile(Ratio::new(1, 2)),
            _ => match (of.args.first(), of.within_group.first()) {
                (Some(f), Some(by)) => fraction(f, by.desc)?,
                _ => return Ok(()),
            },
        };
        let scalar = self.lower(x)?;
        let (true, Pick::Quantile(q)) = (scalar.ty().is_number(), q) else {
            return match asked {
                true => Err(ClientError::unsupported("an interval of this quantile is not supported")
                    .detail("Quantiles of numbers have one, strictly between the least and the greatest value.")
                    .hint("Write noisegate.low(percentile_cont(0.05) WITHIN GROUP (ORDER BY x)), or leave the interval away.")
                    .at(e.pos)
                    .into()),
                false => Ok(()),
            };
        };
        let when = of.filter.as_ref().map(|f| self.lower(f)).transpose()?;
        let (key, axis) = self.grid_key(of.name, x, &scalar, when.as_ref())?;
        let end = self.settings.ends.pick(q, side);
        self.request(key, axis, e.pos, |all| {
            (a, Output::Points { parts: vec![pick(all, end)], array: false, ty: SqlType::Float8 })
        });
        Ok(())
    }

    /// Adds to the choices among these points.
    pub(super) fn request(
        &mut self,
        key: Key,
        axis: Axis,
        pos: Pos,
        add: impl FnOnce(&mut Vec<Pick>) -> (Aggregate, Output),
    ) {
        let have = self.requests.iter().position(|r| r.key.scalar == key.scalar && r.axis == axis);
        let place = have.unwrap_or_else(|| {
            self.requests.push(Request { key, axis, picks: Vec::new(), outputs: Vec::new(), pos });
            self.requests.len() - 1
        });
        if let Some(request) = self.requests.get_mut(place) {
            let output = add(&mut request.picks);
            request.outputs.push(output);
        }
    }

    /// The key of a value's nearest point, `round(x / step)`, on a grid of at most so many points that its groups allow.
    pub(super) fn grid_key(
        &mut self,
        name: &str,
        x: &Expr,
        scalar: &Scalar,
        when: Option<&Scalar>,
    ) -> Result<(Key, Axis)> {
        let ty = scalar.ty().clone();
        if !ty.is_number() && !ty.is_datetime() {
            let shown = ty.sql_name().replace("pg_catalog.", "");
            return Err(ClientError::unsupported(format!("{name} of type {shown} is not supported"))
                .hint("Numbers, dates and timestamps have quantiles; mode() WITHIN GROUP (ORDER BY x) finds the most frequent of public values.")
                .at(x.pos)
                .into());
        }
        if scalar.bound().finite().is_none() {
            return Err(unbounded(scalar, x.pos).into());
        }
        // Cells outside a public grid are dropped by the fetch. Of private groups each cell must be in it, by the key's text.
        let within = match self.public {
            true => {
                let over_scans = self.flattener.expand(x)?;
                let value = (scalar, &over_scans);
                groups::bound_within(self.flattener, &self.source, self.settings, value, when)
            }
            false => scalar.bound().interval().clone(),
        };
        let Some((low, high)) = within.finite() else { return Err(unbounded(scalar, x.pos).into()) };
        let (per, since) = match ty.is_datetime() {
            true => (MICROS_PER_SECOND, SECONDS_TO_2000),
            false => (1, 0),
        };
        let unit = |x: &BigDecimal| (x / BigDecimal::from(per) + BigDecimal::from(since)).normalized();
        // What is narrowed to values beside a constant has more digits than anybody wants to see.
        let rounded = |x: &BigDecimal, mode| match unit(x) {
            x if x.fractional_digit_count() > DIGITS => x.with_scale_round(DIGITS, mode).normalized(),
            x => x,
        };
        let (low, high) = (rounded(low, RoundingMode::Floor), rounded(high, RoundingMode::Ceiling));
        let most = if self.public { MOST_POINTS } else { MOST_PRIVATE_POINTS };
        let each = self.policy.limits.max_public_groups / self.group_count.max(1);
        let most = u32::try_from(each).map_or(most, |each| most.min(each));
        if most < LEAST_POINTS {
            return Err(ClientError::unsupported(format!(
                "{name} in {} groups is not supported",
                self.group_count
            ))
            .detail("Groups and the points of a quantile make more cells than limits.max_public_groups.")
            .hint("Group by something with fewer values.")
            .at(x.pos)
            .into());
        }
        let step = distance(&ty, &low, &high, scalar.lattice(), most);
        let ends = [(&low, RoundingMode::Floor), (&high, RoundingMode::Ceiling)];
        let [first, last] = ends.map(|(x, mode)| (x / &step).with_scale_round(0, mode));
        let limit = BigDecimal::from(1i64 << 62);
        if first.abs() > limit || last.abs() > limit {
            return Err(too_wide());
        }
        let at = |kind| Expr::new(kind, x.pos);
        let cast =
            |e, ty| at(ExprKind::Cast { expr: Box::new(e), ty: CastType { ty, modifier: String::new() } });
        let value = match ty.is_datetime() {
            true => at(ExprKind::Extract { field: "epoch".into(), expr: Box::new(x.clone()) }),
            false => x.clone(),
        };
        let divisor = at(ExprKind::Literal(Literal::Number(step.to_plain_string())));
        let quotient = at(ExprKind::Binary {
            op: BinaryOp::Div,
            left: Box::new(cast(value, SqlType::Numeric { scale: None })),
            right: Box::new(divisor),
        });
        let rounded = at(ExprKind::Call { name: "round", args: vec![quotient] });
        let expr = cast(rounded, SqlType::Int8);
        let float = nearest(scalar, &step);
        let mut key = float.map_or_else(|| self.lower(&expr), Ok)?;
        if let Some(when) = when {
            key = filtered(when.clone(), key);
        }
        let domain = Domain::Series { lo: first, hi: last, step: BigDecimal::from(1) };
        let label = format!("points of {}", self.label(x));
        Ok((
            Key { expr, scalar: key, domain: Some((domain, false)), label },
            Axis::Grid { step, low, high, of: ty },
        ))
    }

    /// The releases of all requests.
    pub(super) fn cells(&mut self, keys: &[Key], select: &Select, found: &Groups) -> Result<Vec<Release>> {
        let requests = std::mem::take(&mut self.requests);
        requests.into_iter().map(|r| self.cells_of(r, keys, select, found)).collect()
    }

    fn cells_of(&self, r: Request, keys: &[Key], select: &Select, found: &Groups) -> Result<Release> {
        let public = found.public;
        let number = if public { Number::Public(self.group_count) } else { Number::Any };
        let base = bounding::bound(&self.source, self.policy, self.settings, keys, number, false);
        let points = groups::size(std::slice::from_ref(&r.key), self.sizes).max(1);
        if points.saturating_mul(self.group_count) > self.policy.limits.max_public_groups {
            return Err(ClientError::unsupported(
                "a choice among so many values in so many groups is not supported",
            )
            .detail("Groups and values make more cells than limits.max_public_groups.")
            .hint("Group by something with fewer values.")
            .at(r.pos)
            .into());
        }
        let bounding = Bounding::of_cells(&base, public);
        let (rows, cells) = (bounding.rows(), bounding.l0());
        let weight = rows.checked_mul(cells).ok_or_else(too_wide)?;
        let mut keys = keys.to_vec();
        keys.push(r.key);
        let scalars: Vec<&Scalar> = keys.iter().map(|k| &k.scalar).collect();
        let work = self.flattener.work(&self.source, &scalars, self.sizes, select.pos)?;
        let part = |p: &Pick| Part { kind: PartKind::Point(*p), linf: rows.into(), label: named(p) };
        Ok(Release {
            select: select.id,
            set: 0,
            zone: self.settings.zone.clone(),
            ranking: None,
            round: None,
            source: self.source.clone(),
            parts: r.picks.iter().map(part).collect(),
            cells: Some(Cells { axis: r.axis, points, picks: r.picks, weight }),
            keys,
            groups: public.then_some(self.group_count),
            public_groups: public,
            groups_why: found.why.clone(),
            groups_remedy: found.remedy.clone(),
            only: found.only.clone(),
            outputs: r.outputs,
            bounding,
            work,
            given: self.flattener.given.used(),
            spec: dp::Spec { l0: 1, ..dp::Spec::default() },
        })
    }
}

/// The value that a quantile is of.
fn ordered_by(a: &Aggregate) -> Option<&Expr> {
    match (a.name, a.args.as_slice(), a.within_group.as_slice()) {
        ("median", [x], []) => Some(x),
        (_, [_], [by]) => Some(&by.expr),
        _ => None,
    }
}

/// The place of a pick, which is listed once.
pub(super) fn pick(picks: &mut Vec<Pick>, p: Pick) -> usize {
    picks.iter().position(|have| *have == p).unwrap_or_else(|| {
        picks.push(p);
        picks.len() - 1
    })
}

/// What is chosen, in words.
fn named(p: &Pick) -> String {
    match p {
        Pick::Quantile(q) => format!("quantile {}", crate::words::decimal(q)),
        Pick::Least => "least value".into(),
        Pick::Greatest => "greatest value".into(),
        Pick::Mode => "most frequent value".into(),
        Pick::End { of, side: Side::Below, .. } => {
            format!("lower end around quantile {}", crate::words::decimal(of))
        }
        Pick::End { of, side: Side::Above, .. } => {
            format!("upper end around quantile {}", crate::words::decimal(of))
        }
    }
}

/// A constant fraction: the ends are the least and the greatest value.
fn fraction(e: &Expr, desc: bool) -> Result<Pick> {
    let constant = |e: &Expr| match &e.kind {
        ExprKind::Literal(Literal::Number(n) | Literal::String(n)) => n.parse::<BigDecimal>().ok(),
        _ => None,
    };
    let value = match &e.kind {
        ExprKind::Cast { expr, .. } => constant(expr),
        _ => constant(e),
    };
    let Some(value) = value.map(|v| v.normalized()).filter(|v| v.fractional_digit_count() <= DIGITS) else {
        return Err(ClientError::unsupported("a fraction that is not a constant is not supported")
            .hint("Write a number from 0 to 1 with at most nine digits: percentile_cont(0.5).")
            .at(e.pos)
            .into());
    };
    let one = BigDecimal::from(1);
    if value.is_negative() || value > one {
        let m = format!("percentile value {} is not between 0 and 1", value.to_plain_string());
        return Err(ClientError::new(SqlState(*b"22003"), m).at(e.pos).into());
    }
    let value = if desc { one - value } else { value };
    match dp::ratio(&value) {
        Some(q) if q == Ratio::from_integer(0) => Ok(Pick::Least),
        Some(q) if q == Ratio::from_integer(1) => Ok(Pick::Greatest),
        Some(q) => Ok(Pick::Quantile(q)),
        None => Err(too_wide()),
    }
}
