//! The points of a value: those of a public grid, each the nearest to some of the values.

use super::distance::distance;
use crate::aggregates::builder::{Builder, Request, Result, place, too_wide};
use crate::aggregates::estimator::Output;
use crate::aggregates::part::Axis;
use crate::expr::domain::Domain;
use crate::expr::{Scalar, filtered, nearest, unbounded};
use crate::groups;
use crate::groups::key::Key;
use crate::refusals::aggregate::Aggregation;
use bigdecimal::{BigDecimal, RoundingMode};
use dp::Pick;
use schema::SqlType;
use schema::time::MICROS_PER_SECOND;
use sql::ast::*;

/// No grid has more points.
const MOST_POINTS: u32 = 20_000;
/// Points of a grid where groups are private, so that nobody knows how many groups there are.
pub(super) const MOST_PRIVATE_POINTS: u32 = 1_000;
/// Nor fewer than this because there are many groups.
const LEAST_POINTS: u32 = 16;
/// Digits of a point.
const DIGITS: i64 = 9;
/// From 1970, where epochs begin, to 2000, where PostgreSQL's moments do.
const SECONDS_TO_2000: i64 = 946_684_800;

impl Builder<'_, '_> {
    /// Adds to the choices among these points.
    pub(super) fn request(
        &mut self,
        key: Key,
        axis: Axis,
        pos: Pos,
        add: impl FnOnce(&mut Vec<Pick>) -> (Aggregate, Output),
    ) {
        let have = self.requests.iter().position(|r| r.key.scalar == key.scalar && r.axis == axis);
        let at = have.unwrap_or_else(|| {
            self.requests.push(Request { key, axis, picks: Vec::new(), outputs: Vec::new(), pos });
            self.requests.len() - 1
        });
        if let Some(request) = self.requests.get_mut(at) {
            let output = add(&mut request.picks);
            request.outputs.push(output);
        }
    }

    /// The key of a value's nearest point, `round(x / step)`, on a grid of at most as many points
    /// as its groups allow.
    pub(super) fn grid_key(
        &mut self,
        name: &str,
        x: &Expr,
        scalar: &Scalar,
        when: Option<&Scalar>,
    ) -> Result<(Key, Axis)> {
        let ty = scalar.ty().clone();
        if !ty.is_number() && !ty.is_datetime() {
            return Err(Aggregation::Quantile { name: name.to_owned(), ty }.at(x.pos).into());
        }
        if scalar.bound().finite().is_none() {
            return Err(unbounded(scalar, x.pos).into());
        }
        // Cells outside a public grid are dropped by the fetch. Of private groups each cell must be in it, by the key's text.
        let within = match self.public {
            true => {
                let over_scans = self.relation.scans.expand(x)?;
                let value = (scalar, &over_scans);
                groups::bound_within(&self.relation.scans, &self.source, self.settings, value, when)
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
            let (name, groups) = (name.to_owned(), self.group_count);
            return Err(Aggregation::QuantileGroups { name, groups }.at(x.pos).into());
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
}

/// The place of a pick, which is listed once.
pub(super) fn pick(picks: &mut Vec<Pick>, p: Pick) -> usize {
    place(picks, |have| *have == p, || p)
}
