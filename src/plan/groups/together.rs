//! Combinations of several keys' values that no row can have: they are left out of the domain.

use super::conditions::{is_same_anywhere, looks};
use crate::expr::{Node, Param, Scalar, StandIn, alike, compared, logic, weighted};
use crate::groups::key::Key;
use bigdecimal::ToPrimitive;
use schema::SqlType;
use schema::time::{DAY, civil};
use sql::ast::BinaryOp;

/// Conditions over keys. `narrowed`: the same keys over the ranges that conditions leave of columns.
pub(super) fn together(keys: &[Key], narrowed: &[Scalar], utc: bool) -> Vec<Scalar> {
    let mut out = functions(keys);
    out.extend(branches(keys));
    out.extend(seasons(narrowed, utc).unwrap_or_default());
    out
}

fn stand(keys: &[Key], i: usize) -> Option<Scalar> {
    keys.get(i).map(|k| k.scalar.stand_in(StandIn::Key(i).binding()))
}

/// Of a key that is a function of another, what it is for the other's value. Floats are left alone, which may round.
fn functions(keys: &[Key]) -> Vec<Scalar> {
    let mut out = Vec::new();
    let mut done: Vec<(usize, usize)> = Vec::new();
    for (i, key) in keys.iter().enumerate() {
        for (j, other) in keys.iter().enumerate() {
            let float = key.scalar.ty().is_float() || other.scalar.ty().is_float();
            if i == j || float || done.contains(&(j, i)) || alike(&key.scalar, &other.scalar) {
                continue;
            }
            let (Some(given), Some(own)) = (stand(keys, i), stand(keys, j)) else { continue };
            let value = other.scalar.over(&[(&key.scalar, given)]);
            if let Some(value) = value.filter(|v| looks(v) && is_same_anywhere(v)) {
                done.push((i, j));
                out.push(compared(BinaryOp::NotDistinct, own, value));
            }
        }
    }
    out
}

/// Of two CASEs that choose among constants by the same conditions, such as a label and what it is ordered by: the pairs that
/// come together.
fn branches(keys: &[Key]) -> Vec<Scalar> {
    let mut out = Vec::new();
    for (i, key) in keys.iter().enumerate() {
        for (j, other) in keys.iter().enumerate().skip(i + 1) {
            let (Some(a), Some(b)) = (stand(keys, i), stand(keys, j)) else { continue };
            let is = |stand: &Scalar, value: &Scalar| {
                compared(BinaryOp::NotDistinct, stand.clone(), value.clone())
            };
            let pairs = chosen(&key.scalar, &other.scalar).unwrap_or_default();
            let each = pairs.iter().map(|(x, y)| logic(BinaryOp::And, is(&a, x), is(&b, y)));
            out.extend(each.reduce(|a, b| logic(BinaryOp::Or, a, b)));
        }
    }
    out
}

/// The values that two CASEs have for the same row, each pair once. Floats are left alone, and more branches than people write.
fn chosen(a: &Scalar, b: &Scalar) -> Option<Vec<(Scalar, Scalar)>> {
    const MOST: usize = 50;
    let (Node::Case(whens, otherwise), Node::Case(others, or)) = (a.node(), b.node()) else { return None };
    let same = whens.iter().zip(others).all(|((when, _), (other, _))| when == other);
    if !same || whens.len() != others.len() || whens.len() > MOST || [a, b].iter().any(|k| k.ty().is_float())
    {
        return None;
    }
    let last = |value: &Option<Box<Scalar>>, of: &Scalar| {
        value.as_ref().map_or_else(|| Scalar::null(of.ty().clone()), |value| (**value).clone())
    };
    let mut pairs: Vec<(Scalar, Scalar)> = Vec::new();
    let each = whens.iter().zip(others).map(|((_, x), (_, y))| (x.clone(), y.clone()));
    for (x, y) in each.chain([(last(otherwise, a), last(or, b))]) {
        let constant =
            |s: &Scalar| matches!(s.node(), Node::Number(_) | Node::Text(_) | Node::Bool(_) | Node::Null);
        if !constant(&x) || !constant(&y) {
            return None;
        }
        if !pairs.contains(&(x.clone(), y.clone())) {
            pairs.push((x, y));
        }
    }
    Some(pairs)
}

/// The years and months, or quarters, of a range of times.
fn seasons(keys: &[Scalar], utc: bool) -> Option<Vec<Scalar>> {
    let field = |s: &Scalar, wanted: &str| match s.node() {
        Node::Apply(f, args, Param::Field(field, _)) if f.name == "extract" && *field == wanted => {
            args.first().cloned()
        }
        _ => None,
    };
    let (at, (key, time)) = keys.iter().enumerate().find_map(|(i, k)| Some((i, (k, field(k, "year")?))))?;
    let parts =
        |name: &str| keys.iter().enumerate().find(|(_, k)| field(k, name).is_some_and(|x| alike(&x, &time)));
    let ((place, part), n) = parts("month").map(|p| (p, 12)).or_else(|| parts("quarter").map(|p| (p, 4)))?;
    let (lo, hi) = time.bound().finite()?;
    let zone = if *time.ty() == SqlType::Timestamptz && !utc { DAY } else { 0 };
    let index = |at: i64| {
        let (year, month, _) = civil(at.div_euclid(DAY));
        year * n + (month - 1) * n / 12 + 1
    };
    let (lo, hi) = (index(lo.to_i64()?.saturating_sub(zone)), index(hi.to_i64()?.saturating_add(zone)));
    let whole = |first: i64, last: i64| (first - 1).rem_euclid(n) == 0 && last.rem_euclid(n) == 0;
    if whole(lo, hi) {
        return None;
    }
    let stand = |s: &Scalar, place| s.stand_in(StandIn::Key(place).binding());
    let (sum, [lo, hi]) = weighted(stand(key, at), n, stand(part, place), [lo, hi])?;
    Some(vec![compared(BinaryOp::Ge, sum.clone(), lo), compared(BinaryOp::Le, sum, hi)])
}
