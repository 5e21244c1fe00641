//! What one row adds to a sum, whatever it holds: read off the outermost operation, a clamp to constants.

use super::facts::is_exact;
use super::rows::Scans;
use grammar::tree::Expr;
use schema::SqlType;

/// What is counted, or added up so that the result is the same in every order of its rows: integers or numerics, by an
/// outermost cast that says so. With it, whether it is counted, and whether what is equal counts once.
pub(crate) fn added(e: &Expr) -> Option<(&[Expr], bool, bool)> {
    let (all, count) = match (e.call("count"), e.call("COALESCE")) {
        (Some(args), _) => (args, true),
        (_, Some([x, zero])) if zero.integer() == Some(0) => (x.call("sum")?, false),
        _ => return None,
    };
    let once = if let [x] = all { x.call("DISTINCT") } else { None };
    let args = once.unwrap_or(all);
    (count || matches!(args, [Expr::Cast(_, ty)] if is_exact(ty))).then_some((args, count, once.is_some()))
}

/// A multiple of a unit's share of rows: the share itself, or a value that is clamped to ±(share · n), cast to an integer
/// type or a numeric that is rounded. Gives n.
pub(crate) fn shared(value: &Expr, scans: &Scans<'_>) -> Option<u128> {
    let Expr::Cast(inner, ty) = value else { return None };
    let share = |e: &Expr| e.column().and_then(|c| scans.column(c)).is_some_and(|c| c.share);
    let times = |e: &Expr| match e.call("*")? {
        [Expr::Cast(m, ty), n] if share(m) && is_exact(ty) => n.integer(),
        [m, n] if share(m) => n.integer(),
        _ => None,
    };
    let inner = match inner.call("round") {
        Some([whole]) if matches!(ty, SqlType::Numeric { .. }) => whole,
        None if ty.is_integer() && share(inner) => return Some(1),
        None if ty.is_integer() => inner,
        _ => return None,
    };
    let [low, high] = inner.call("LEAST")? else { return None };
    let [_, low] = low.call("GREATEST")? else { return None };
    let (low, high) = (times(low)?, times(high)?);
    (high >= 0 && low == -high).then_some(high.unsigned_abs())
}

/// The largest magnitude of an integer: a cast to an integer type, or a numeric that is rounded, of a clamp to integers. A
/// value that is NULL adds nothing.
pub(crate) fn magnitude(value: &Expr, scans: &Scans<'_>) -> Option<u128> {
    let Expr::Cast(inner, ty) = value else { return None };
    // A value of numeric is one that was rounded after it was clamped: the ends are integers.
    let clamp = match (ty.is_integer(), inner.call("round")) {
        (true, _) => &**inner,
        (false, Some([whole])) if matches!(ty, SqlType::Numeric { .. }) => whole,
        _ => return None,
    };
    let pair = |e: &Expr, names: [&str; 3]| match e {
        Expr::Call(name, args) if names.contains(&name.as_str()) => match args.as_slice() {
            [x, end] => Some((x.clone(), end.integer()?)),
            _ => None,
        },
        _ => None,
    };
    let (inner, high) = pair(clamp, ["LEAST", "int8smaller", "numeric_smaller"])?;
    // A count is never NULL, and at least 0.
    let counts = inner.column().and_then(|c| scans.column(c)).is_some_and(|c| c.count);
    let low = if counts { 0 } else { pair(&inner, ["GREATEST", "int8larger", "numeric_larger"])?.1 };
    Some(low.unsigned_abs().max(high.unsigned_abs()))
}
