//! Sums: the most that a row adds, read off the clamp around it; and the change by one unit.

use super::claim::Part;
use super::facts::{Norm, Part as Joined, Scans, Share, is_exact};
use super::light;
use super::types::is_in;
use grammar::tree::{Expr, Item};
use grammar::{Result, refuse};
use schema::SqlType;

/// A sum over units.
pub(crate) struct Added {
    pub name: String,
    /// The change that one unit makes.
    pub part: Part,
    /// The sum counts units.
    pub units: bool,
}

/// Rows that are added up: one for each unit and group.
pub(crate) struct Over<'a> {
    /// The most groups of a unit.
    pub groups: Option<u64>,
    /// The most rows of a unit in all, when there may be several in a group.
    pub rows: Option<u64>,
    /// The stage in which rows of light units are together, and the most rows of such a unit.
    pub light: Option<(&'a str, u64)>,
    /// Facts about the rows around, when these are straight from tables.
    pub part: Option<&'a Joined>,
}

/// The kind of the stage `e`.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Middle {
    Missing,
    Ranked,
    /// With shares of units.
    Shares,
}

/// Arguments that are counted, or added up alike in every order of rows (by an outermost cast to
/// integers or numerics); whether they are counted, and whether equal ones count once.
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

/// What one unit changes in a sum of such values.
fn adds(value: &Expr, scans: &Scans<'_>, over: &Over<'_>) -> Option<Part> {
    let Some((n, share)) = shared(value, scans) else {
        return of_each(magnitude(value, scans)?, over);
    };
    let (Norm::Sum(most) | Norm::Squares(most)) = share.norm;
    let part = Part::in_all(n.checked_mul(most.into())?);
    let l1 = part.l1.filter(|_| matches!(share.norm, Norm::Sum(_)));
    Some(Part { l1, ..part }.rising(share.rises))
}

/// The same, of values of at most this magnitude.
fn of_each((n, rises): (u128, bool), over: &Over<'_>) -> Option<Part> {
    let part = match over.rows {
        Some(rows) => Part::in_all(n.checked_mul(rows.into())?),
        None => Part::in_each(n, over.groups),
    };
    Some(part.rising(rises))
}

/// A multiple n of a unit's share: the share itself, or a value that is clamped to ±(share · n), as a whole number.
fn shared(value: &Expr, scans: &Scans<'_>) -> Option<(u128, Share)> {
    let share = |e: &Expr| e.column().and_then(|c| scans.column(c)).and_then(|c| c.share);
    let times = |e: &Expr| {
        let [m, n] = e.call("*")? else { return None };
        let m = if let Expr::Cast(m, SqlType::Numeric { .. }) = m { m } else { m };
        Some((n.integer()?, share(m)?))
    };
    let (inner, ty) = whole(value)?;
    if let Some(share) = share(inner).filter(|_| ty.is_integer()) {
        return Some((1, share));
    }
    let [low, high] = inner.call("LEAST")? else { return None };
    let [x, low] = low.call("GREATEST")? else { return None };
    scans.type_of(x).filter(is_exact)?;
    let ((low, share), (high, of)) = (times(low)?, times(high)?);
    (high >= 0 && low == -high && of == share)
        .then_some((high.unsigned_abs(), Share { rises: false, ..share }))
}

/// What a whole number is made of: what is cast to an integer type, or a numeric that is rounded.
fn whole(value: &Expr) -> Option<(&Expr, &SqlType)> {
    let Expr::Cast(inner, ty) = value else { return None };
    match inner.call("round") {
        _ if ty.is_integer() => Some((inner, ty)),
        Some([x]) if matches!(ty, SqlType::Numeric { .. }) => Some((x, ty)),
        _ => None,
    }
}

/// The largest magnitude of a whole number: of a clamp to integers, which are its ends where it was rounded after it. A
/// value that is NULL adds nothing. With it, whether no value is below 0.
pub(crate) fn magnitude(value: &Expr, scans: &Scans<'_>) -> Option<(u128, bool)> {
    let (clamp, ty) = whole(value)?;
    let (inner, high) = end(clamp, "LEAST int8smaller numeric_smaller")?;
    // A count is never NULL, and at least 0.
    let counts = inner.column().and_then(|c| scans.column(c)).is_some_and(|c| c.count);
    let (x, low) = if counts { (inner, 0) } else { end(inner, "GREATEST int8larger numeric_larger")? };
    let most = low.unsigned_abs().max(high.unsigned_abs());
    // GREATEST and LEAST round their ends to the type of what they clamp.
    let whole = match scans.type_of(x)? {
        t if is_exact(&t) => u128::MAX,
        SqlType::Float4 if ty.is_integer() => 1 << f32::MANTISSA_DIGITS,
        SqlType::Float8 if ty.is_integer() => 1 << f64::MANTISSA_DIGITS,
        _ => return None,
    };
    (most <= whole).then_some((most, low >= 0))
}

/// What one of these calls clamps, and its end.
fn end<'e>(e: &'e Expr, names: &str) -> Option<(&'e Expr, i128)> {
    let Expr::Call(name, args) = e else { return None };
    let [x, end] = args.as_slice() else { return None };
    if is_in(names, name) { Some((x, end.integer()?)) } else { None }
}

/// Sums of a list. Counting equal values once changes no bound: a row brings or takes away one.
/// Where rows of light units are together, a sum is theirs, and else the share of a unit.
pub(crate) fn sums(list: &[Item], scans: &mut Scans<'_>, over: &Over<'_>) -> Result<Vec<Added>> {
    let mut out = Vec::new();
    for (e, name) in list {
        let Some((args, count, once)) = added(e).filter(|a| a.1 || !a.2 || over.rows.is_some()) else {
            return refuse("neither a count nor COALESCE(sum(…), 0)", e);
        };
        let (light, args) = match over.light {
            None => (None, args),
            Some((stage, most)) => {
                let sum = args.first().filter(|_| !count && !once);
                let Some((whole, bounded)) = sum.and_then(|x| light::either(x, stage, most, scans)) else {
                    return refuse("a sum that does not tell light units from others", e);
                };
                (Some(whole), std::slice::from_ref(bounded))
            }
        };
        args.iter().try_for_each(|e| scans.walk(e, over.part))?;
        let part = match args.first() {
            _ if count => of_each((1, true), over),
            x => x.and_then(|x| adds(x, scans, over)),
        };
        let Some(part) = part.map(|part| light.map_or(part, |whole| part.either(whole))) else {
            return refuse("a sum of values that no clamp bounds on both sides", e);
        };
        let units = over.light.is_none() && over.rows.is_none_or(|n| n == 1) && count && args.is_empty();
        out.push(Added { name: name.clone(), part, units });
    }
    Ok(out)
}
