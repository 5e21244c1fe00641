//! CASE, COALESCE, NULLIF, LEAST and GREATEST: one of several values.

use super::facts::{Declared, Facts, Phys, Proven, Spelling};
use super::numbers::gcd;
use super::print::{Print, collated, is_varied, operand};
use super::refusal::Result;
use super::scalar::{Choice, Node, Scalar};
use super::table::Entry;
use super::{casts, numbers};
use crate::expr::domain;
use crate::expr::interval::{self, Interval};
use crate::refusals::value::Value;
use schema::SqlType;
use sql::ast::{BinaryOp, BindingId};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        form: "CASE … WHEN … THEN … ELSE … END, NULLIF(a, b)",
        types: "values of one type, or numbers, or texts → their common type",
        total: "branches of one type of computation; none of them can fail, so which is evaluated does not matter",
        range: "that of any branch; NULL without ELSE, or where a branch is",
        cost: "10",
        samples: &[
            "CASE WHEN {b} THEN {n} ELSE {n} END",
            "CASE WHEN {b} THEN {c} WHEN {b} THEN {n} END",
            "NULLIF({n}, {n})",
            "CASE WHEN {b} THEN {s} ELSE {e} END",
        ],
    },
    Entry {
        form: "COALESCE(a, …)",
        types: "as CASE",
        total: "as CASE",
        range: "that of any argument; NULL where all are",
        cost: "10",
        samples: &["COALESCE({n}, {n})", "COALESCE({n}, {c})", "COALESCE({s}, {e})"],
    },
    Entry {
        form: "LEAST(a, …), GREATEST(a, …)",
        types: "numbers, dates or timestamps → as CASE",
        total: "as CASE",
        range: "an argument that is never NULL bounds the result; NULL where all are. LEAST(GREATEST(x, 0), 10) bounds a \
                column without a range",
        cost: "10",
        samples: &[
            "LEAST({n}, {n})",
            "GREATEST({n}, {c})",
            "LEAST(GREATEST({n}, {c}), {c})",
            "extract(year FROM LEAST({t}, {t}))",
        ],
    },
];

fn hull<'a>(list: &[&'a Scalar], f: impl Fn(&'a Scalar) -> Interval) -> Interval {
    let typed = list.iter().filter(|s| !matches!(s.node, Node::Null));
    typed.map(|s| f(s)).reduce(|a, b| a.hull(&b)).unwrap_or_default()
}

/// Facts of one of several values.
fn merged(list: &[&Scalar], nullable: bool) -> Facts {
    let ty = list.first().map_or(SqlType::Text, |s| s.facts.ty.clone());
    // Numbers, and intervals that are lengths.
    let phys = if list.iter().any(|s| s.facts.phys == Phys::Other) {
        Phys::Other
    } else if list.iter().all(|s| s.facts.phys == Phys::Int) {
        Phys::Int
    } else {
        Phys::Num
    };
    let typed = || list.iter().filter(|s| !matches!(s.node, Node::Null));
    let lattice = typed().map(|s| s.facts.lattice.clone()).reduce(|a, b| Some(gcd(&a?, &b?))).flatten();
    Facts {
        phys,
        span: Proven::by_text(hull(list, |s| s.facts.span.interval().clone())),
        bound: Declared::says(hull(list, |s| s.facts.bound.interval().clone())),
        lattice,
        binned: list.iter().all(|s| s.facts.binned || matches!(s.node, Node::Null)),
        canonical: list.iter().all(|s| s.facts.canonical),
        spelling: if list.iter().all(|s| s.has_one_spelling()) { Spelling::Own } else { Spelling::Any },
        scale: list.iter().map(|s| s.facts.scale).max().unwrap_or(0),
        longest: typed().map(|s| s.facts.longest).max().unwrap_or(0),
        cost: list.iter().fold(10, |sum: u64, s| sum.saturating_add(s.facts.cost)),
        ..Facts::of_type(ty, nullable)
    }
}

/// CASE over truth values and values of one type.
pub(super) fn case(branches: Vec<(Scalar, Scalar)>, otherwise: Option<Scalar>) -> Scalar {
    let results: Vec<&Scalar> = branches.iter().map(|(_, then)| then).chain(otherwise.as_ref()).collect();
    let nullable = otherwise.is_none() || results.iter().any(|s| s.facts.nullable);
    let mut facts = merged(&results, nullable);
    let before = |n: usize, then: &Scalar| {
        branches.iter().take(n).flat_map(|(when, _)| taken(when, then)).collect::<Vec<String>>()
    };
    facts.domain = domain::of_cases(results.iter().enumerate().map(|(n, then)| (*then, before(n, then))));
    facts.cost = branches.iter().fold(facts.cost, |sum, (when, _)| sum.saturating_add(when.facts.cost));
    Scalar::of(Node::Case(branches, otherwise.map(Box::new)), facts)
}

/// The values of `of` for which a condition is true, where it lists them: `of = 'a'`, `of IN ('a', 'b')`. Domains write the
/// same values in the same way; of types that do not, nothing is said.
fn taken(when: &Scalar, of: &Scalar) -> Vec<String> {
    let constant = |s: &Scalar| match &s.node {
        Node::Number(n) if of.facts.ty.is_integer() => Some(n.to_plain_string()),
        Node::Text(t) if of.facts.ty.is_text() || matches!(of.facts.ty, SqlType::Enum { .. }) => {
            Some(t.clone())
        }
        Node::Bool(b) => Some(b.to_string()),
        _ => None,
    };
    match &when.node {
        Node::Compare(BinaryOp::Eq, a, b) if **a == *of => constant(b).into_iter().collect(),
        Node::Compare(BinaryOp::Eq, a, b) if **b == *of => constant(a).into_iter().collect(),
        Node::In(x, items, false) if **x == *of => items.iter().filter_map(constant).collect(),
        Node::Logic(BinaryOp::Or, a, b) => [a, b].into_iter().flat_map(|c| taken(c, of)).collect(),
        _ => Vec::new(),
    }
}

/// A value where a condition is true, else NULL: what FILTER makes of an argument.
pub fn filtered(when: Scalar, value: Scalar) -> Scalar {
    let facts = Facts {
        nullable: true,
        domain: None,
        cost: value.facts.cost.saturating_add(when.facts.cost).saturating_add(10),
        ..Facts::clone(&value.facts)
    };
    Scalar::of(Node::Case(vec![(when, value)], None), facts)
}

/// COALESCE, LEAST or GREATEST of values of one type.
pub(super) fn choice(which: Choice, list: Vec<Scalar>) -> Result<Scalar, Value> {
    let all: Vec<&Scalar> = list.iter().collect();
    // LEAST and GREATEST ignore NULL: an argument bounds the result only where it is proven to be there.
    let of = |f: &dyn Fn(&Scalar) -> Interval| {
        let pairs: Vec<(Interval, bool)> =
            list.iter().filter(|s| !matches!(s.node, Node::Null)).map(|s| (f(s), s.facts.nullable)).collect();
        match which {
            Choice::Least => interval::least(&pairs),
            Choice::Greatest => interval::greatest(&pairs),
            Choice::Coalesce => hull(&all, f),
        }
    };
    let span = Proven::by_text(of(&|s| s.facts.span.interval().clone()));
    let bound = Declared::says(of(&|s| s.facts.bound.interval().clone()));
    let mut facts = Facts { span, bound, ..merged(&all, list.iter().all(|s| s.facts.nullable)) };
    if which == Choice::Coalesce {
        facts.domain = domain::of_branches(list.iter());
    } else if facts.phys == Phys::Other && !facts.ty.is_datetime() {
        return Err(Value::Least);
    }
    Ok(Scalar::of(Node::Choice(which, list), facts))
}

/// A column of all branches of a set operation, whose type is `ty`: named `name` under `binding`.
/// None when floats meet other numbers, which PostgreSQL would cast.
pub(crate) fn united(each: &[&Scalar], ty: SqlType, binding: BindingId, name: String) -> Option<Scalar> {
    let typed = || each.iter().filter(|s| !matches!(s.node, Node::Null));
    if !ty.is_number() && each.iter().any(|s| s.facts.phys != Phys::Other) {
        return None;
    }
    let phys = if !ty.is_number() {
        Phys::Other
    } else if typed().all(|s| s.facts.phys == Phys::Int) {
        Phys::Int
    } else if typed().all(|s| s.facts.phys == Phys::Float) {
        Phys::Float
    } else if typed().any(|s| s.facts.phys == Phys::Float) {
        return None;
    } else {
        Phys::Num
    };
    let same_table = || {
        let first = each.first()?.facts.domain.clone()?;
        let table = matches!(first, domain::Domain::Table { .. });
        (table && each.iter().all(|s| s.facts.domain.as_ref() == Some(&first))).then_some(first)
    };
    let facts = Facts {
        phys,
        binned: typed().all(|s| s.facts.binned),
        domain: same_table().or_else(|| domain::of_branches(each.iter().copied())),
        ty: ty.clone(),
        cost: 1,
        ..merged(each, each.iter().any(|s| s.facts.nullable))
    };
    // A numeric's scale is no other type.
    let numeric = |t: &SqlType| matches!(t, SqlType::Numeric { .. });
    let same = |t: &SqlType| *t == ty || numeric(t) && numeric(&ty);
    let raw = each.iter().all(|x| matches!(x.node, Node::Column { .. }) && same(&x.facts.ty));
    let column = Scalar::of(Node::Column { binding, name }, facts);
    Some(match phys {
        // Branches give the type that computes, which may be wider than the analyst's.
        Phys::Int | Phys::Num if !raw => casts::as_computed(column),
        _ => column,
    })
}

/// A branch in the physical type of the whole. `several` branches are not constants.
fn branch(x: &Scalar, whole: &Scalar, several: bool, print: Print) -> String {
    match whole.facts.phys {
        Phys::Int | Phys::Num => operand(x, whole.facts.phys, print),
        _ if matches!(x.node, Node::Null) => format!("NULL::{}", whole.facts.ty.sql_name()),
        _ if whole.facts.ty.is_text() && several && is_varied(x) => collated(x, print),
        _ => print(x),
    }
}

pub(super) fn text(s: &Scalar, print: Print) -> String {
    match &s.node {
        Node::Choice(which, list) => {
            let name = match which {
                Choice::Coalesce => "COALESCE",
                Choice::Least => "LEAST",
                Choice::Greatest => "GREATEST",
            };
            let several = list.iter().filter(|x| is_varied(x)).count() > 1;
            let items: Vec<String> = list.iter().map(|x| branch(x, s, several, print)).collect();
            format!("{name}({})", items.join(", "))
        }
        Node::Case(branches, otherwise) => {
            let mut out = "CASE".to_owned();
            let results = branches.iter().map(|(_, then)| then).chain(otherwise.as_deref());
            let several = results.filter(|x| is_varied(x)).count() > 1;
            for (when, then) in branches {
                out.push_str(&format!(" WHEN {} THEN {}", print(when), branch(then, s, several, print)));
            }
            if let Some(e) = otherwise {
                out.push_str(&format!(" ELSE {}", branch(e, s, several, print)));
            }
            format!("({out} END)")
        }
        _ => "NULL".into(),
    }
}

/// A number for CASE, COALESCE, LEAST, GREATEST: these cannot fail, so a number without bounds may stay without.
pub(super) fn number_or_raw(x: Scalar, at: sql::ast::Pos) -> super::Result<Scalar> {
    if numbers::is_special(&x) {
        return Err(numbers::only_compared(at));
    }
    if x.facts.phys == Phys::Float {
        // Floats become numeric through their clamp only.
        return numbers::ready(x, at);
    }
    if x.facts.bound.finite().is_some() && x.facts.span.interval() != x.facts.bound.interval() {
        return Ok(super::times::clamp(x));
    }
    Ok(x)
}
