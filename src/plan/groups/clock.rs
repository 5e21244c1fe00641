//! Hours and minutes that conditions on the clock leave: of `t::time >= '08:00'` those from 8 on.

use crate::expr::domain::Domain;
use crate::expr::{Node, Param, Scalar, alike};
use bigdecimal::{BigDecimal, ToPrimitive};
use schema::SqlType;
use schema::time::{DAY, MICROS_PER_SECOND};
use sql::ast::BinaryOp;

const MINUTE: i64 = 60 * MICROS_PER_SECOND;
const HOUR: i64 = 60 * MINUTE;

/// The domain of `extract(hour FROM t)`, or of `date_trunc('hour', t)::time`, without what begins and ends outside the times of
/// day that conditions on t leave. Of conditions that contradict each other none is looked at: no row meets them.
pub(super) fn narrowed(domain: Domain, key: &Scalar, conditions: &[Scalar]) -> Domain {
    let Some((time, width)) = cut(key) else { return domain };
    let each = conditions.iter().filter_map(|c| within(c, time));
    let (lo, hi) = each.fold((0, DAY - 1), |a, b| (a.0.max(b.0), a.1.min(b.1)));
    let is_left = |begins: i64| begins <= hi && begins + (width - 1) >= lo;
    match domain {
        Domain::Series { lo: first, hi: last, step } if *key.ty() != SqlType::Time && lo <= hi => {
            let hour = |at: i64| BigDecimal::from(at / HOUR);
            Domain::Series { lo: first.max(hour(lo)), hi: last.min(hour(hi)), step }
        }
        Domain::Values(all) if *key.ty() == SqlType::Time => {
            let left: Vec<String> = all.iter().filter(|v| clock(v).is_none_or(is_left)).cloned().collect();
            Domain::Values(if left.is_empty() { all } else { left })
        }
        other => other,
    }
}

/// What a key cuts, and how long its pieces are, in microseconds.
fn cut(key: &Scalar) -> Option<(&Scalar, i64)> {
    let (name, cut) = match key.node() {
        Node::Cast(x) if *key.ty() == SqlType::Time => ("date_trunc", &**x),
        _ => ("extract", key),
    };
    let Node::Apply(f, args, Param::Field(unit, _)) = cut.node() else { return None };
    let width = match *unit {
        "hour" => HOUR,
        "minute" if name == "date_trunc" => MINUTE,
        _ => return None,
    };
    (f.name == name).then_some((args.first()?, width))
}

/// The first and the last time of day that a condition leaves.
fn within(condition: &Scalar, time: &Scalar) -> Option<(i64, i64)> {
    let Node::Compare(op, a, b) = condition.node() else { return None };
    let turned = match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        op => *op,
    };
    [(a, *op, b), (b, turned, a)].into_iter().find_map(|(x, op, c)| {
        let (first, last) = match (x.node(), c.node()) {
            (Node::Cast(of), Node::Text(c)) if *x.ty() == SqlType::Time && alike(of, time) => {
                clock(c).map(|at| (at, at))?
            }
            (Node::Apply(f, of, Param::Field("hour", _)), Node::Number(n))
                if f.name == "extract" && of.first().is_some_and(|of| alike(of, time)) && n.is_integer() =>
            {
                let hour = n.to_i64().filter(|n| (0..24).contains(n))?;
                (hour * HOUR, hour * HOUR + (HOUR - 1))
            }
            _ => return None,
        };
        Some(match op {
            BinaryOp::Eq => (first, last),
            BinaryOp::Ge => (first, DAY),
            BinaryOp::Gt => (last + 1, DAY),
            BinaryOp::Le => (0, last),
            BinaryOp::Lt => (0, first - 1),
            _ => return None,
        })
    })
}

/// Microseconds since midnight of `8:00`, `08:00:30` or `08:00:30.5`; None for what PostgreSQL may read in another way.
fn clock(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let mut whole = |most: i64| {
        let part =
            parts.next().filter(|p| matches!(p.len(), 1 | 2) && p.bytes().all(|b| b.is_ascii_digit()))?;
        part.parse::<i64>().ok().filter(|n| *n <= most)
    };
    let (hour, minute) = (whole(23)?, whole(59)?);
    let seconds: BigDecimal = match parts.next() {
        None => 0.into(),
        Some(s) if s.bytes().all(|b| b.is_ascii_digit() || b == b'.') => s.parse().ok()?,
        Some(_) => return None,
    };
    let micros = (seconds * BigDecimal::from(MICROS_PER_SECOND)).to_i64().filter(|n| *n < MINUTE)?;
    parts.next().is_none().then_some(hour * HOUR + minute * MINUTE + micros)
}

#[cfg(test)]
mod tests {
    use super::{HOUR, MINUTE, clock};

    #[test]
    fn times_of_day_are_read_as_postgresql_reads_them() {
        assert_eq!(clock("8:00"), Some(8 * HOUR));
        assert_eq!(clock("08:05:00"), Some(8 * HOUR + 5 * MINUTE));
        assert_eq!(clock("23:59:59.999999"), Some(24 * HOUR - 1));
        for other in
            ["8", "8am", "24:00", "08:60", "-1:00", "08:00:60", "08:00:00+02", "08:00 PM", "1:2:3:4", ""]
        {
            assert_eq!(clock(other), None, "{other}");
        }
    }
}
