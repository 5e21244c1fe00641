//! The public domain of a key: what is known of it by itself, or what it is a function of.

use super::conditions::{is_same_anywhere, looks, rejects_null};
use crate::expr::domain::{Base, Domain, Image, of_lattice};
use crate::expr::{Node, Param, Scalar, StandIn, truncated, type_span};
use bigdecimal::{BigDecimal, ToPrimitive};
use schema::SqlType;

/// The domain of a key, if it has one. `conditions` hold for all rows; of more values than `limit` nobody makes groups.
pub(super) fn of_key(key: &Scalar, conditions: &[Scalar], limit: usize) -> Option<Domain> {
    let own = own(key).filter(|_| units(key).is_none());
    // Multiples of a lattice may be more than what it is computed from.
    if own.is_some() && (key.domain().is_some() || !key.binned()) {
        return own;
    }
    let mut smallest = Vec::new();
    let listed = deep(key, &mut smallest).filter(|()| smallest.iter().all(is_listed)).map(|()| smallest);
    let images = [listed, bases(key, limit)].into_iter().flatten();
    let fewest = images.filter_map(|bases| image(key, &bases, conditions)).min_by_key(count);
    let fewer = |d: &Domain| own.as_ref().is_none_or(|own| count(d) < count(own));
    fewest.filter(fewer).or(own)
}

/// Whether its values stand in the text or the policy one by one.
fn is_listed(s: &Scalar) -> bool {
    matches!(s.domain(), Some(Domain::Values(_) | Domain::Bool))
}

fn is_constant(s: &Scalar) -> bool {
    !looks(s) && !matches!(s.node(), Node::Exists(..) | Node::InRows(..))
}

/// What is known of the values of an expression without looking at its parts.
pub(super) fn own(s: &Scalar) -> Option<Domain> {
    s.domain().cloned().or_else(|| bins(s)).or_else(|| plain(s))
}

/// A binned number: the multiples of its lattice within its bounds.
fn bins(s: &Scalar) -> Option<Domain> {
    if !s.binned() || matches!(s.node(), Node::Number(_)) {
        return None;
    }
    // A cast to an integer type is NULL beyond it, and so are values that no cast could print.
    match s.bound().interval().intersect(&type_span(s.ty())) {
        // All of it is beyond the type.
        None => Some(Domain::Values(Vec::new())),
        Some(held) => of_lattice(&held, s.lattice()),
    }
}

/// A whole number or a date with a range: each of it.
fn plain(s: &Scalar) -> Option<Domain> {
    let column = match s.node() {
        Node::Clamp(x) | Node::Guard(x) => x,
        _ => s,
    };
    if !matches!(column.node(), Node::Column { .. }) {
        return None;
    }
    match s.ty() {
        t if t.is_integer() => {
            s.bound().finite()?;
            let one = BigDecimal::from(1);
            let grid = s.lattice().filter(|l| l.is_integer() && **l > one).unwrap_or(&one);
            of_lattice(&s.bound().interval().intersect(&type_span(t))?, Some(grid))
        }
        SqlType::Date => {
            let (lo, hi) = micros(s)?;
            Some(Domain::Days { lo, hi, from: SqlType::Date })
        }
        _ => None,
    }
}

fn micros(s: &Scalar) -> Option<(i64, i64)> {
    let (lo, hi) = s.bound().finite()?;
    Some((lo.to_i64()?, hi.to_i64()?))
}

/// What a field of times with a range is a function of, with fewer values: the beginning of each unit that it is the same in.
/// Years follow the zone, which PostgreSQL knows; other fields are all of theirs, unless the range is shorter than that.
fn units(s: &Scalar) -> Option<Scalar> {
    let Node::Apply(f, args, Param::Field(field, _)) = s.node() else { return None };
    let x = args.first().filter(|_| f.name == "extract")?;
    let unit = match *field {
        "year" | "decade" | "century" | "millennium" => "year",
        "isoyear" | "week" => "week",
        "quarter" => "quarter",
        "month" => "month",
        "day" | "doy" | "dow" | "isodow" => "day",
        "hour" => "hour",
        _ => return None,
    };
    // Of a time that is truncated already, or a date, there are few.
    if x.domain().is_some() {
        return Some(x.clone());
    }
    let base = truncated(unit, x)?;
    let begins = count(base.domain()?);
    let fewer = bins(s).is_none_or(|all| begins < count(&all));
    (fewer || unit == "year" && *x.ty() == SqlType::Timestamptz).then_some(base)
}

/// How many values are enumerated. Those of public tables are not known here.
pub(super) fn count(domain: &Domain) -> usize {
    domain.size(&|_, _| 1)
}

/// What a key is a function of: parts that have domains and hold all that it looks at. The largest of them, unless two look
/// at the same column: then each with each would make values that no row can have, and smaller ones are better.
fn bases(key: &Scalar, limit: usize) -> Option<Vec<Scalar>> {
    let mut large = Vec::new();
    match units(key) {
        Some(unit) => large.push(unit),
        None => key.children().into_iter().try_for_each(|x| cover(x, limit, &mut large))?,
    }
    let alone = |i: usize, s: &Scalar| {
        let others = || large.iter().enumerate().filter(|(j, _)| i != *j);
        !columns(s).iter().any(|c| others().any(|(_, o)| columns(o).contains(c)))
    };
    if large.iter().enumerate().all(|(i, s)| alone(i, s)) {
        return Some(large);
    }
    let few = |list: &Vec<Scalar>| {
        let mut each = list.iter().map(|s| own(s).map(|d| count(&d)));
        each.try_fold(1usize, |all, n| all.checked_mul(n?)).is_some_and(|all| all <= limit)
    };
    let mut small = Vec::new();
    let columns = deep(key, &mut small).map(|()| small).filter(few);
    Some(columns.or_else(|| truncation(key, key).map(|t| vec![t]).filter(few)).unwrap_or(large))
}

/// The columns that an expression looks at.
pub(super) fn columns(s: &Scalar) -> Vec<&Scalar> {
    match s.node() {
        Node::Column { .. } => vec![s],
        _ => s.children().into_iter().flat_map(columns).collect(),
    }
}

/// The coarsest truncation, of a time that `part` looks at, that `key` is a function of.
fn truncation(key: &Scalar, part: &Scalar) -> Option<Scalar> {
    let time = match part.node() {
        Node::Apply(f, args, Param::Field(..)) if matches!(f.name, "extract" | "date_trunc") => args.first(),
        Node::Cast(x) if *part.ty() == SqlType::Date && x.ty().is_datetime() => Some(&**x),
        _ => None,
    };
    let units = ["year", "quarter", "month", "week", "day", "hour", "minute"];
    let whole = |base: &Scalar| {
        base.domain().is_some() && key.over(&[(base, base.stand_in(StandIn::Base(0).binding()))]).is_some()
    };
    let found = time.and_then(|x| units.iter().filter_map(|u| truncated(u, x)).find(whole));
    found.or_else(|| part.children().into_iter().find_map(|c| truncation(key, c)))
}

/// The truncations of all times that an expression looks at.
pub(super) fn truncations(s: &Scalar, out: &mut Vec<Scalar>) {
    let time = match s.node() {
        Node::Apply(f, args, Param::Field(..)) if matches!(f.name, "extract" | "date_trunc") => args.first(),
        Node::Cast(x) if *s.ty() == SqlType::Date && x.ty().is_datetime() => Some(&**x),
        _ => None,
    };
    for unit in ["year", "quarter", "month", "week", "day", "hour", "minute"] {
        let found = time.and_then(|x| truncated(unit, x)).filter(|t| t.domain().is_some());
        out.extend(found.filter(|t| !out.contains(t)));
    }
    s.children().into_iter().for_each(|c| truncations(c, out));
}

/// The smallest parts that have domains.
fn deep(s: &Scalar, out: &mut Vec<Scalar>) -> Option<()> {
    let before = out.len();
    let parts = match s.node() {
        _ if is_constant(s) => return Some(()),
        Node::Column { .. } | Node::Exists(..) | Node::InRows(..) => None,
        _ => s.children().into_iter().try_for_each(|x| deep(x, out)),
    };
    if parts.is_none() {
        own(s)?;
        out.truncate(before);
        if !out.contains(s) {
            out.push(s.clone());
        }
    }
    Some(())
}

/// The largest parts of an expression that have domains of so many values at most, if they hold all that it looks at.
fn cover(s: &Scalar, limit: usize, out: &mut Vec<Scalar>) -> Option<()> {
    if is_constant(s) {
        return Some(());
    }
    let few = |d: &Domain| count(d) <= limit || s.children().is_empty();
    if let Some(part) = units(s).or_else(|| own(s).filter(few).map(|_| s.clone())) {
        if !out.contains(&part) {
            out.push(part);
        }
        return Some(());
    }
    match s.node() {
        Node::Column { .. } | Node::Exists(..) | Node::InRows(..) => None,
        _ => s.children().into_iter().try_for_each(|x| cover(x, limit, out)),
    }
}

/// What an expression is for the values of its parts, where these meet the conditions over them alone.
fn image(s: &Scalar, bases: &[Scalar], conditions: &[Scalar]) -> Option<Domain> {
    let given: Vec<(&Scalar, Scalar)> =
        bases.iter().enumerate().map(|(i, b)| (b, b.stand_in(StandIn::Base(i).binding()))).collect();
    let of = s.over(&given)?;
    let over = conditions.iter().filter_map(|c| c.over(&given).filter(|c| looks(c) && is_same_anywhere(c)));
    let bases = bases.iter().map(|b| {
        let column = match b.node() {
            Node::Clamp(x) => x,
            _ => b,
        };
        let null = b.nullable() && !conditions.iter().any(|c| rejects_null(c, column));
        Some(Base { ty: b.ty().clone(), domain: own(b)?, null })
    });
    let most = bins(s).and_then(|d| d.exact_size());
    Some(Domain::Image(Box::new(Image {
        bases: bases.collect::<Option<_>>()?,
        of,
        only: over.collect(),
        most,
    })))
}
