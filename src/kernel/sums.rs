//! What one row adds to a sum, whatever it holds: read off the outermost operation, a clamp to constants; and what one unit does.

use super::facts::is_exact;
use super::rows::{Part as Joined, Scans};
use super::{Part, light};
use grammar::tree::{Expr, Item};
use grammar::{Result, refuse};
use schema::SqlType;

/// How much one unit changes a sum.
pub(crate) enum Sum {
    /// By at most this in each group.
    Each(u128),
    /// By at most this in all groups.
    All(u128),
    /// By at most this times its share of rows in a group.
    Shares(u128),
}

/// A sum over units.
pub(crate) struct Added {
    pub name: String,
    /// How much one unit changes it; or, one of few rows, by at most so much in all groups.
    pub by: Sum,
    pub light: Option<u128>,
    /// It counts units.
    pub units: bool,
    /// A unit that comes lowers it in no group.
    pub rises: bool,
}

/// What `e` does.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Middle {
    Missing,
    Ranked,
    /// Shares of a unit add up to at most so many, of which so many are in one group.
    Sum(u64, u64),
    /// Squares of a unit's shares add up to at most so many.
    Squares(u64),
}

impl Added {
    /// Its norms, where a unit touches so many groups.
    pub(crate) fn part(&self, middle: Middle, groups: Option<u64>) -> Option<Part> {
        let part = match (&self.by, middle) {
            (Sum::Each(n), _) => Part::in_each(*n, groups),
            (Sum::All(n), _) => Part::in_all(*n),
            (Sum::Shares(n), Middle::Sum(most, each)) => {
                Part::in_both(n.checked_mul(most.into())?, n.checked_mul(each.into())?)
            }
            (Sum::Shares(n), Middle::Squares(most)) => Part {
                linf: n.checked_mul(most.isqrt().into())?,
                l1: None,
                l2_squared: n.checked_mul(*n).and_then(|n| n.checked_mul(most.into())),
                rises: false,
            },
            (Sum::Shares(_), _) => return None,
        };
        let either = self.light.map_or(part, |n| part.either(Part::in_all(n)));
        Some(Part { rises: self.rises, ..either })
    }
}

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

/// What a value adds where there is one for each unit and group, and whether none is below 0.
fn adds(value: &Expr, scans: &Scans<'_>) -> Option<(Sum, bool)> {
    let share = shared(value, scans).map(|(n, rises)| (Sum::Shares(n), rises));
    share.or_else(|| magnitude(value, scans).map(|(n, rises)| (Sum::Each(n), rises)))
}

/// A multiple of a unit's share of rows: the share itself, which is a number of rows, or a value that is clamped to
/// ±(share · n), cast to an integer type or a numeric that is rounded. Gives n, and whether it is the share.
fn shared(value: &Expr, scans: &Scans<'_>) -> Option<(u128, bool)> {
    let share = |e: &Expr| e.column().and_then(|c| scans.column(c)).is_some_and(|c| c.share);
    let times = |e: &Expr| match e.call("*")? {
        [Expr::Cast(m, ty), n] if share(m) && is_exact(ty) => n.integer(),
        [m, n] if share(m) => n.integer(),
        _ => None,
    };
    let (inner, ty) = whole(value)?;
    if ty.is_integer() && share(inner) {
        return Some((1, true));
    }
    let [low, high] = inner.call("LEAST")? else { return None };
    let [x, low] = low.call("GREATEST")? else { return None };
    scans.type_of(x).filter(is_exact)?;
    let (low, high) = (times(low)?, times(high)?);
    (high >= 0 && low == -high).then_some((high.unsigned_abs(), false))
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
    let (x, low) =
        if counts { (inner, 0) } else { pair(&inner, ["GREATEST", "int8larger", "numeric_larger"])? };
    let most = low.unsigned_abs().max(high.unsigned_abs());
    // GREATEST and LEAST round their ends to the type of what they clamp.
    let whole = match scans.type_of(&x)? {
        t if is_exact(&t) => u128::MAX,
        SqlType::Float4 if ty.is_integer() => 1 << f32::MANTISSA_DIGITS,
        SqlType::Float8 if ty.is_integer() => 1 << f64::MANTISSA_DIGITS,
        _ => return None,
    };
    (most <= whole).then_some((most, low >= 0))
}

/// What is added up: over one row for each unit and group, or `rows` of a unit in all. That equal ones count once changes no
/// bound: a row brings or takes away one of them. Where rows of light units are `together` in a stage, of each at most so many,
/// it is the whole of those, and else what a unit adds.
pub(crate) fn sums(
    list: &[Item],
    scans: &mut Scans<'_>,
    part: Option<&Joined>,
    rows: Option<u64>,
    together: Option<(&str, u64)>,
) -> Result<Vec<Added>> {
    let mut out = Vec::new();
    for (e, name) in list {
        let Some((args, count, once)) = added(e).filter(|(_, count, once)| *count || !once || rows.is_some())
        else {
            return refuse("neither a count nor COALESCE(sum(…), 0)", e);
        };
        let (light, rise, args) = match together {
            None => (None, true, args),
            Some((stage, most)) => {
                let sum = args.first().filter(|_| !count && !once);
                let Some((n, rise, bounded)) = sum.and_then(|x| light::either(x, stage, most, scans)) else {
                    return refuse("a sum that does not tell light units from others", e);
                };
                (Some(n), rise, std::slice::from_ref(bounded))
            }
        };
        args.iter().try_for_each(|e| scans.walk(e, part))?;
        let each = if count { Some((Sum::Each(1), true)) } else { args.first().and_then(|x| adds(x, scans)) };
        let by = each.and_then(|(each, rises)| match (each, rows) {
            (Sum::Each(n), Some(rows)) => Some((Sum::All(n.checked_mul(rows.into())?), rises)),
            (each, _) => Some((each, rises)),
        });
        let Some((by, rises)) = by else {
            return refuse("a sum of values that no clamp bounds on both sides", e);
        };
        let units = together.is_none() && rows.is_none_or(|n| n == 1) && count && args.is_empty();
        out.push(Added { name: name.clone(), by, light, units, rises: rises && rise });
    }
    Ok(out)
}
