//! Arithmetic and rounding: exact, in int8 where a proof shows that it fits, else in numeric.

use super::facts::{Declared, FINEST, Facts, LONGEST, Phys, Proven, int_limit, num_limit, type_span};
use super::print::{Print, operand};
use super::refusal::{Result, refused};
use super::scalar::{Node, Param, Scalar};
use super::table::{Entry, Function};
use super::times;
use crate::expr::interval::Interval;
use crate::refusals::Refusal;
use crate::refusals::number::Number;
use crate::refusals::value::{Unfit, Value};
use bigdecimal::{BigDecimal, RoundingMode, Signed, Zero};
use schema::SqlType;
use sql::ast::{BinaryOp, Pos};
use std::str::FromStr;
use std::sync::Arc;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        form: "a + b, a - b, a * b, - a",
        types: "numbers → as PostgreSQL",
        total: "int8 where the span is proven within ±2^62, else numeric; refused where it may exceed 60 digits",
        range: "interval arithmetic; NULL where an argument is",
        cost: "10 for integers, the product of the lengths for numerics",
        samples: &["({n} + {n})", "({n} - {n})", "({n} * {n})", "(- {n})"],
    },
    Entry {
        form: "a / b",
        types: "numbers → as PostgreSQL: integers truncate",
        total: "a divisor of 0 gives NULL; the quotient is clamped to where declared ranges put it",
        range: "the quotients of the ends; NULL where an argument is, or where b may be 0",
        cost: "the product of the lengths",
        samples: &["({n} / {n})", "({i} / {i})", "({n} / greatest({n}, 1))", "(1 / ({n} - {c}))"],
    },
    Entry {
        form: "a % b, mod(a, b)",
        types: "integers and numerics → as PostgreSQL",
        total: "a divisor of 0 gives NULL",
        range: "smaller than b and no larger than a, with the sign of a; NULL as for a / b",
        cost: "the product of the lengths",
        samples: &["({n} % {n})", "mod({i}, {i})"],
    },
    Entry {
        form: "abs(x)",
        types: "number → its type",
        total: "numbers are far from the ends of their types",
        range: "from 0; NULL where x is",
        cost: "10",
        samples: &["abs({n})"],
    },
    Entry {
        form: "floor(x), ceil(x), trunc(x[, digits]), round(x[, digits])",
        types: "number → double precision for integers, else its type, as PostgreSQL",
        total: "computed in numeric; digits is a constant from -20 to 20; of floats, round goes to even",
        range: "the rounded ends; NULL where x is",
        cost: "10, and the digits of x",
        samples: &[
            "floor({n})",
            "ceil({n})",
            "trunc({n})",
            "round({n})",
            "round({n}::numeric, {d})",
            "trunc({n}::numeric, {d})",
            "round({f})",
        ],
    },
];

/// A number that arithmetic may take: clamped to its bound where it has one, else spanned by its text; and short.
pub(super) fn ready(x: Scalar, at: Pos) -> Result<Scalar> {
    if matches!(x.node, Node::Null) && !x.facts.ty.is_number() {
        return Ok(Scalar::null(SqlType::Int4));
    }
    if is_special(&x) {
        return Err(only_compared(at));
    }
    if !x.facts.ty.is_number() {
        return refused(Number::Operand, at);
    }
    let proven = x.facts.span.finite().is_some();
    if proven && x.facts.span.interval() == x.facts.bound.interval() {
        return Ok(short(x));
    }
    if x.facts.bound.finite().is_some() {
        return Ok(short(times::clamp(x)));
    }
    if proven {
        return Ok(short(x));
    }
    Err(super::unbounded(&x, at))
}

/// A numeric of which the text proves how long it is.
pub(super) fn short(x: Scalar) -> Scalar {
    if x.facts.scale < LONGEST || x.facts.phys != Phys::Num {
        return x;
    }
    let outward = |i: &Interval| Interval {
        lo: i.round(FINEST, RoundingMode::Floor).lo,
        hi: i.round(FINEST, RoundingMode::Ceiling).hi,
    };
    let facts = Facts {
        span: x.facts.span.one(outward),
        bound: x.facts.bound.one(outward),
        scale: FINEST.unsigned_abs().try_into().unwrap_or(LONGEST),
        cost: x.facts.cost.saturating_add(u64::from(LONGEST)),
        canonical: true,
        ..Facts::clone(&x.facts)
    };
    Scalar::of(Node::Short(Box::new(x)), facts)
}

/// A number in the form that all share that are equal to it. Integers have one, and so has a column of numerics that has a
/// scale, beside itself.
pub(super) fn in_one_form(x: Scalar, beside_others: bool) -> Scalar {
    let stored = match x.facts.ty {
        SqlType::Numeric { scale } => scale.is_some() && !beside_others,
        _ => x.facts.ty.is_integer(),
    };
    if x.facts.phys != Phys::Num || stored && matches!(x.node, Node::Column { .. }) {
        return x;
    }
    Scalar::apply(&TRIM, vec![x.clone()], Param::None).unwrap_or(x)
}

/// NaN and the infinities of a type of number: they can be compared with, and nothing else.
pub(super) fn special(text: &str, ty: &SqlType) -> Option<Scalar> {
    let word = text.trim().to_ascii_lowercase();
    let word = word.strip_prefix(['+', '-']).unwrap_or(&word);
    if ty.is_integer() || !matches!(word, "nan" | "inf" | "infinity") || text.trim().ends_with(['+', '-']) {
        return None;
    }
    let phys = if ty.is_float() { Phys::Float } else { Phys::Num };
    let facts = Facts { phys, scale: LONGEST, ..Facts::of_type(ty.clone(), false) };
    Some(Scalar::of(Node::Text(text.trim().to_owned()), facts))
}

/// Whether it is one of these.
pub(super) fn is_special(x: &Scalar) -> bool {
    matches!(x.node, Node::Text(_)) && x.facts.ty.is_number()
}

/// One of these in the kind of number that it meets: it is the same in both, and the other needs no cast.
pub(super) fn special_beside(x: Scalar, other: &Scalar) -> Scalar {
    let (ty, phys) = match (is_special(&x), x.facts.phys, other.facts.phys) {
        (true, Phys::Num, Phys::Float) => (SqlType::Float8, Phys::Float),
        (true, Phys::Float, Phys::Num) => (SqlType::Numeric { scale: None }, Phys::Num),
        _ => return x,
    };
    Scalar::of(x.node, Facts { ty, phys, ..Arc::unwrap_or_clone(x.facts) })
}

/// The refusal of one of these in any other place.
pub(super) fn only_compared(pos: Pos) -> Refusal {
    Value::Special.at(pos)
}

/// A number as it stands in the statement, of the type of what it meets where it is written as a string.
pub(super) fn literal(text: &str, like: Option<&SqlType>, pos: Pos) -> Result<Scalar> {
    let shown: String = text.chars().take(60).collect();
    let invalid = || {
        let ty = match like {
            Some(SqlType::Int2) => "smallint",
            Some(SqlType::Int4) => "integer",
            Some(SqlType::Int8) => "bigint",
            Some(SqlType::Float4) => "real",
            Some(SqlType::Float8) => "double precision",
            _ => "numeric",
        };
        Value::Invalid { ty, text: Some(shown.clone()) }.at(pos)
    };
    // Strings come here as they were written: a few characters of exponent would be a gigabyte of digits.
    let exponent = text.split_once(['e', 'E']).map_or("0", |(_, e)| e);
    if text.len() > 1_000 || !exponent.parse::<i32>().is_ok_and(|e| e.abs() <= 300) {
        return Err(invalid());
    }
    let value = BigDecimal::from_str(text).map_err(|_| invalid())?.normalized();
    if value.abs() > num_limit() || value.fractional_digit_count() > FINEST {
        return refused(Value::Long, pos);
    }
    let integer = value.is_integer() && !text.contains(['.', 'e', 'E']);
    let fits = |ty: &SqlType| type_span(ty).finite().is_some_and(|(lo, hi)| *lo <= value && value <= *hi);
    let ty = match like {
        Some(t) if t.is_integer() && !(integer && fits(t)) => return Err(invalid()),
        Some(t) => t.clone(),
        None if integer && fits(&SqlType::Int4) => SqlType::Int4,
        None if integer && fits(&SqlType::Int8) => SqlType::Int8,
        None => SqlType::Numeric { scale: None },
    };
    let whole = value.is_integer() && value.abs() <= int_limit() && ty.is_integer();
    let lattice = if value.is_zero() { BigDecimal::from(1) } else { value.abs() };
    let span = Proven::by_text(Interval::point(value.clone()));
    let facts = Facts {
        phys: if whole { Phys::Int } else { Phys::Num },
        bound: Declared::of(&span),
        span,
        lattice: Some(lattice),
        binned: true,
        scale: u32::try_from(value.fractional_digit_count().max(0)).unwrap_or(LONGEST),
        ..Facts::of_type(ty, false)
    };
    Ok(Scalar::of(Node::Number(value), facts))
}

/// The type that PostgreSQL computes two numbers in.
pub(super) fn common_type(a: &SqlType, b: &SqlType) -> SqlType {
    use SqlType as T;
    match (a, b) {
        (a, b) if a == b => a.clone(),
        (T::Float8, _) | (_, T::Float8) => T::Float8,
        // float4 with an integer or numeric is computed as float8.
        (T::Float4, _) | (_, T::Float4) => T::Float8,
        (T::Numeric { .. }, _) | (_, T::Numeric { .. }) => T::Numeric { scale: None },
        (T::Int8, _) | (_, T::Int8) => T::Int8,
        _ => T::Int4,
    }
}

const ADD: Function = Function { name: "+", rule: add, text: infix, commutes: true, int8: true };
const SUB: Function = Function { name: "-", rule: sub, text: infix, commutes: false, int8: true };
const MUL: Function = Function { name: "*", rule: mul, text: infix, commutes: true, int8: true };
const DIV: Function = Function { name: "/", rule: div, text: divided, commutes: false, int8: true };
const MOD: Function = Function { name: "%", rule: modulo, text: divided, commutes: false, int8: true };
const NEG: Function = Function::plain("neg", neg, negated);
const ABS: Function = Function::plain("abs", abs, absolute);
const TRIM: Function = Function::plain("trim_scale", trim, trimmed);

/// `l op r`.
pub(super) fn arithmetic(op: BinaryOp, l: Scalar, r: Scalar, pos: Pos) -> Result<Scalar> {
    let f: &'static Function = match op {
        BinaryOp::Add => &ADD,
        BinaryOp::Sub => &SUB,
        BinaryOp::Mul => &MUL,
        BinaryOp::Div => &DIV,
        _ => &MOD,
    };
    let out = Scalar::apply(f, vec![l, r], Param::None).map_err(|e| e.at(pos))?;
    // A quotient comes near the ends of its range by PostgreSQL's own rounding, and where the divisor's grid is declared
    // it may lie anywhere: the clamp proves it.
    match out.facts.span.within(&num_limit()) {
        true => Ok(out),
        false if out.facts.bound.interval().within(&num_limit()) => Ok(times::clamp(out)),
        false => refused(Number::NearZero, pos),
    }
}

/// `- x`
pub(super) fn negative(x: Scalar, pos: Pos) -> Result<Scalar> {
    Scalar::apply(&NEG, vec![x], Param::None).map_err(|e| e.at(pos))
}

/// `abs(x)`
pub(super) fn magnitude(x: Scalar, pos: Pos) -> Result<Scalar> {
    Scalar::apply(&ABS, vec![x], Param::None).map_err(|e| e.at(pos))
}

/// The arguments of arithmetic, which are numbers of finite, proven spans.
fn two(args: &[Scalar]) -> Result<(&Facts, &Facts), Value> {
    match args {
        [l, r] if l.facts.span.finite().is_some() && r.facts.span.finite().is_some() => {
            Ok((&l.facts, &r.facts))
        }
        _ => Err(Number::Unbounded.into()),
    }
}

pub(super) fn one(args: &[Scalar]) -> Result<&Facts, Value> {
    match args {
        [x] if x.facts.span.finite().is_some() => Ok(&x.facts),
        _ => Err(Number::Unbounded.into()),
    }
}

/// Facts of a result of two numbers; `least` says which results are refused as too long.
fn of_two(
    l: &Facts,
    r: &Facts,
    span: Proven,
    bound: Declared,
    lattice: Option<BigDecimal>,
    (scale, cost): (u32, u64),
) -> Result<Facts, Value> {
    let ty = match common_type(&l.ty, &r.ty) {
        SqlType::Numeric { .. } => SqlType::Numeric { scale: None },
        t => t,
    };
    let (span, bound) = (span.one(|i| i.clone().shortened()), bound.one(|i| i.clone().shortened()));
    let whole = ty.is_integer();
    // Integers are computed as int8 where both sides and the result fit.
    let small = whole && span.within(&int_limit()) && l.phys == Phys::Int && r.phys == Phys::Int;
    let lattice = lattice.filter(|x| x.fractional_digit_count() <= FINEST).map(|x| x.normalized());
    Ok(Facts {
        phys: if small { Phys::Int } else { Phys::Num },
        span,
        bound,
        lattice,
        binned: l.binned && r.binned,
        scale,
        cost,
        ..Facts::of_type(ty, l.nullable || r.nullable)
    })
}

fn lattices(l: &Facts, r: &Facts, f: impl Fn(&BigDecimal, &BigDecimal) -> BigDecimal) -> Option<BigDecimal> {
    Some(f(l.lattice.as_ref()?, r.lattice.as_ref()?))
}

/// Numeric keeps its digits in groups of four.
fn product_cost(l: &Facts, r: &Facts) -> u64 {
    10 + (l.digits() / 4 + 1).saturating_mul(r.digits() / 4 + 1)
}

fn long(span: &Proven) -> Result<(), Value> {
    if span.within(&num_limit()) { Ok(()) } else { Err(Number::Long.into()) }
}

/// Products of more digits would be slow for chosen rows.
const MOST_DIGITS: u32 = 2_000;

fn sum_scale(l: &Facts, r: &Facts) -> u32 {
    l.scale.max(r.scale)
}

fn add(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    let (l, r) = two(args)?;
    let span = l.span.two(&r.span, Interval::add);
    long(&span)?;
    let cost = 10 + (l.digits() + r.digits()) / 4;
    of_two(l, r, span, l.bound.two(&r.bound, Interval::add), lattices(l, r, gcd), (sum_scale(l, r), cost))
}

fn sub(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    let (l, r) = two(args)?;
    let span = l.span.two(&r.span, Interval::sub);
    long(&span)?;
    let cost = 10 + (l.digits() + r.digits()) / 4;
    of_two(l, r, span, l.bound.two(&r.bound, Interval::sub), lattices(l, r, gcd), (sum_scale(l, r), cost))
}

fn mul(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    let (l, r) = two(args)?;
    let span = l.span.two(&r.span, Interval::mul);
    long(&span)?;
    let scale = l.scale.saturating_add(r.scale);
    if scale > MOST_DIGITS {
        return Err(Number::Product.into());
    }
    let lattice = lattices(l, r, |a, b| a * b);
    of_two(l, r, span, l.bound.two(&r.bound, Interval::mul), lattice, (scale, product_cost(l, r)))
}

/// How far from 0 an interval stays.
fn away(i: &Interval) -> Option<BigDecimal> {
    match (&i.lo, &i.hi) {
        (Some(lo), _) if lo.is_positive() => Some(lo.clone()),
        (_, Some(hi)) if hi.is_negative() => Some(-hi),
        _ => None,
    }
}

fn div(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    let (l, r) = two(args)?;
    let whole = common_type(&l.ty, &r.ty).is_integer();
    let quotient = |a: &Interval, b: &Interval, least: Option<BigDecimal>| match away(b).or(least) {
        Some(least) => {
            let q = a.div(b, &least);
            if whole { q.round(0, RoundingMode::Down) } else { q }
        }
        None => Interval::default(),
    };
    // Integers are at least 1 apart. What else is declared of a divisor's grid may be false for a row.
    let one_apart = whole.then(|| BigDecimal::from(1));
    let span = l.span.two(&r.span, |a, b| {
        let q = quotient(a, b, one_apart.clone());
        // numeric rounds a quotient to 16 digits or more.
        if whole { q } else { q.widened(12) }
    });
    let grid = one_apart.clone().or_else(|| r.lattice.clone());
    let bound = l.bound.two(&r.bound, |a, b| quotient(a, b, grid.clone()));
    let lattice = whole.then(|| BigDecimal::from(1));
    // PostgreSQL cuts quotients at a thousand digits.
    let scale = if whole { 0 } else { 1_000.min(160 + l.scale.saturating_add(r.scale)) };
    let cost = product_cost(l, r).saturating_mul(4);
    let mut out = of_two(l, r, span, bound, lattice, (scale, cost))?;
    out.nullable |= may_be_zero(r);
    out.binned |= whole;
    if whole {
        long(&out.span)?;
    }
    Ok(out)
}

/// Facts about a quotient that is cut to a whole number.
pub(super) fn quotient(args: &[Scalar]) -> Result<Facts, Value> {
    div(args, &Param::None)
}

fn modulo(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    let (l, r) = two(args)?;
    // |a % b| < |b| and |a % b| <= |a|, with the sign of a.
    let rest = |a: &Interval, b: &Interval| match b.magnitude().into_iter().chain(a.magnitude()).min() {
        Some(m) => {
            let low = if a.lo.as_ref().is_some_and(|l| !l.is_negative()) { BigDecimal::zero() } else { -&m };
            let high = if a.hi.as_ref().is_some_and(|h| !h.is_positive()) { BigDecimal::zero() } else { m };
            Interval { lo: Some(low), hi: Some(high) }
        }
        None => Interval::default(),
    };
    let (span, bound) = (l.span.two(&r.span, rest), l.bound.two(&r.bound, rest));
    let mut out = of_two(l, r, span, bound, lattices(l, r, gcd), (sum_scale(l, r), product_cost(l, r) * 4))?;
    out.nullable |= may_be_zero(r);
    Ok(out)
}

/// By its proven span.
fn may_be_zero(x: &Facts) -> bool {
    away(x.span.interval()).is_none()
}

/// The greatest decimal of which both are multiples.
pub fn gcd(a: &BigDecimal, b: &BigDecimal) -> BigDecimal {
    use num_integer::Integer;
    let scale = a.fractional_digit_count().max(b.fractional_digit_count()).max(0);
    let whole = |x: &BigDecimal| x.with_scale(scale).into_bigint_and_exponent().0;
    BigDecimal::new(whole(a).gcd(&whole(b)), scale).normalized()
}

/// Facts of a number whose value alone changes.
pub(super) fn same(x: &Facts, span: Proven, bound: Declared) -> Facts {
    Facts { span, bound, canonical: true, domain: None, cost: 10, ..x.clone() }
}

fn neg(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    let x = one(args)?;
    Ok(same(x, x.span.one(Interval::neg), x.bound.one(Interval::neg)))
}

fn abs(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    let x = one(args)?;
    Ok(same(x, x.span.one(Interval::abs), x.bound.one(Interval::abs)))
}

fn trim(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    match args {
        [x] if x.facts.phys == Phys::Num => {
            Ok(Facts { cost: x.facts.digits(), canonical: true, ..Facts::clone(&x.facts) })
        }
        _ => Err(Unfit::Trimmed.into()),
    }
}

fn trimmed(_: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    let x = args.first().map(|x| operand(x, Phys::Num, print)).unwrap_or_default();
    format!("pg_catalog.trim_scale({x})")
}

/// The same value, which the analyst sees as another type of number or of text. Its text and what is proven of it stay.
pub(super) fn retyped(x: Scalar, ty: SqlType) -> Scalar {
    let same = (x.facts.ty.is_number() && ty.is_number())
        || (x.facts.ty.is_text() && ty.is_text())
        || matches!(x.node, Node::Null);
    if same { Scalar::of(x.node, Facts { ty, ..Arc::unwrap_or_clone(x.facts) }) } else { x }
}

fn operands(s: &Scalar, args: &[Scalar], print: Print) -> (String, String) {
    let at = |i: usize| args.get(i).map(|x| operand(x, s.facts.phys, print)).unwrap_or_default();
    (at(0), at(1))
}

fn infix(s: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    let (a, b) = operands(s, args, print);
    let name = match s.node() {
        Node::Apply(f, ..) => f.name,
        _ => "+",
    };
    format!("({a} {name} {b})")
}

fn divided(s: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    let (a, b) = operands(s, args, print);
    let free = args.get(1).is_some_and(|r| !may_be_zero(&r.facts));
    let divisor = if free { b } else { format!("NULLIF({b}, 0)") };
    let modulo = matches!(s.node(), Node::Apply(f, ..) if f.name == "%");
    match (modulo, s.facts.ty.is_integer() && s.facts.phys != Phys::Int) {
        (true, _) => format!("({a} % {divisor})"),
        (false, true) => format!("pg_catalog.div({a}, {divisor})"),
        (false, false) => format!("({a} / {divisor})"),
    }
}

fn first(s: &Scalar, args: &[Scalar], print: Print) -> String {
    args.first().map(|x| operand(x, s.facts.phys, print)).unwrap_or_default()
}

fn negated(s: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    format!("(- {})", first(s, args, print))
}

fn absolute(s: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    format!("pg_catalog.abs({})", first(s, args, print))
}
