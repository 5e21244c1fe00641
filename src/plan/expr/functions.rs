//! Roots, logarithms, powers and angles: computed in double precision, whose functions are fast whatever the value, and
//! moved into where the ends of the argument put the result. Also signs, whole quotients and bins.

use super::facts::{Declared, Facts, OF_FLOAT, Phys, Proven, num_limit};
use super::print::{Print, float, number, operand, within};
use super::refusal::{Result, refused};
use super::rounding::{Rounding, rounding};
use super::scalar::{Node, Param, Scalar};
use super::table::{Entry, Function};
use super::{numbers, times};
use crate::expr::interval::Interval;
use crate::refusals::number::Number;
use crate::refusals::value::{Unfit, Value};
use bigdecimal::{BigDecimal, FromPrimitive, RoundingMode, Signed, ToPrimitive, Zero};
use schema::SqlType;
use sql::ast::{BinaryOp, Pos};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        form: "sqrt(x), cbrt(x), ln(x), log(x), log(b, x), exp(x)",
        types: "number → double precision, or numeric where x is (but for cbrt), and for log(b, x), whose base is a constant",
        total: "computed in double precision; NULL for the root of a negative number and the logarithm of one that is not positive; exp is refused where x is not proven to be within ±700",
        range: "the values at the ends; NULL where x is",
        cost: "1,000, and the digits of x",
        samples: &[
            "sqrt({n})",
            "cbrt({n})",
            "ln({n})",
            "log({n})",
            "sqrt({n} - {n})",
            "exp(LEAST(GREATEST({n}, -700), 100))",
            "ln({f} + {c})",
            "log(2, {n})",
        ],
    },
    Entry {
        form: "power(x, y), x ^ y",
        types: "numbers → as sqrt",
        total: "computed in double precision, after x was rounded to 30 digits; y is a constant from -10 to 10, and where x has no such power the value is NULL",
        range: "the values at the ends, and at 0; NULL where x is",
        cost: "as for sqrt",
        samples: &["power({n}, 2)", "power({n}, 0.5)", "(({n} % 7) ^ 3)", "power({n}, -1.5)"],
    },
    Entry {
        form: "sin(x), cos(x), tan(x), atan(x), atan2(y, x), degrees(x), radians(x), pi()",
        types: "number → double precision",
        total: "as for sqrt",
        range: "-1 to 1 for sin and cos; tan within ±10^17; atan2 within ±π; others as for sqrt",
        cost: "as for sqrt",
        samples: &[
            "sin({n})",
            "cos({n})",
            "atan({n})",
            "degrees({n})",
            "radians({n})",
            "({n} * pi())",
            "tan({f})",
            "atan2({n}, {n})",
        ],
    },
    Entry {
        form: "sign(x)",
        types: "number → double precision, or numeric where x is",
        total: "numbers are far from the ends of their types",
        range: "-1, 0 and 1; NULL where x is",
        cost: "10",
        samples: &["sign({n})", "sign({n} - {n})"],
    },
    Entry {
        form: "div(x, y)",
        types: "numbers → numeric",
        total: "a divisor of 0 gives NULL",
        range: "the quotients of the ends, cut; NULL as for x / y",
        cost: "as for x / y",
        samples: &["div({n}, {c})", "div({i}, {i})"],
    },
    Entry {
        form: "width_bucket(x, low, high, count)",
        types: "number → integer",
        total: "low, high and count are constants, count from 1 to 100,000, and the first two differ",
        range: "0 to count + 1, which are public groups; NULL where x is",
        cost: "200, and the digits of x",
        samples: &["width_bucket({n}, 0, 100, 10)", "width_bucket({n}, 10, -5.5, 4)"],
    },
];

/// Both ends of an interval in double precision, which may be off by one part in 10^15.
fn ends(i: &Interval) -> Option<(f64, f64)> {
    let (lo, hi) = i.finite()?;
    Some((lo.to_f64()?, hi.to_f64()?))
}

/// An interval around numbers in double precision, with room for their rounding and for another machine's library.
fn around(values: &[f64]) -> Interval {
    let room = |x: f64| x.abs() * 1e-12 + 1e-15;
    let end = |x: f64| BigDecimal::from_f64(x).map(|x| x.with_prec(15));
    let lo = values.iter().copied().reduce(f64::min).and_then(|x| end(x - room(x)));
    let hi = values.iter().copied().reduce(f64::max).and_then(|x| end(x + room(x)));
    match (lo, hi, values.iter().all(|x| x.is_finite())) {
        (Some(lo), Some(hi), true) => Interval::new(lo, hi),
        _ => Interval::default(),
    }
}

/// What an interval becomes: None where no value of it has a result.
type Curve = fn(f64, f64) -> Option<[f64; 2]>;

/// A function of one number.
struct Known {
    name: &'static str,
    /// Values at the ends of an interval.
    curve: Curve,
    from: From,
    /// Its type is numeric where the argument's is.
    numeric: bool,
}

/// Where a function is defined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// Everywhere.
    All,
    /// From 0 on.
    Zero,
    /// Above 0.
    Positive,
}

const fn known(name: &'static str, curve: Curve, from: From, numeric: bool) -> Known {
    Known { name, curve, from, numeric }
}

/// Logarithms begin at the least number that is not 0 for double precision here.
const LEAST: f64 = 1e-300;

const KNOWN: &[Known] = &[
    known("sqrt", |a, b| (b >= 0.0).then(|| [a.max(0.0).sqrt(), b.sqrt()]), From::Zero, true),
    known("cbrt", |a, b| Some([a.cbrt(), b.cbrt()]), From::All, false),
    known("ln", |a, b| (b > 0.0).then(|| [a.max(LEAST).ln(), b.max(LEAST).ln()]), From::Positive, true),
    known(
        "log",
        |a, b| (b > 0.0).then(|| [a.max(LEAST).log10(), b.max(LEAST).log10()]),
        From::Positive,
        true,
    ),
    known("exp", |a, b| Some([a.exp(), b.exp()]), From::All, true),
    known("sin", |_, _| Some([-1.0, 1.0]), From::All, false),
    known("cos", |_, _| Some([-1.0, 1.0]), From::All, false),
    known("tan", |_, _| Some([-1e17, 1e17]), From::All, false),
    known("atan", |a, b| Some([a.atan(), b.atan()]), From::All, false),
    known("degrees", |a, b| Some([a.to_degrees(), b.to_degrees()]), From::All, false),
    known("radians", |a, b| Some([a.to_radians(), b.to_radians()]), From::All, false),
];

const REAL: Function = Function::plain("real", real_rule, real_text);
const POWER: Function = Function::plain("power", power_rule, power_text);
const ATAN2: Function = Function::plain("atan2", angle_rule, angle_text);
const SIGN: Function = Function::plain("sign", sign_rule, sign_text);
const DIV: Function = Function::plain("div", div_rule, div_text);
const BUCKET: Function = Function::plain("width_bucket", bucket_rule, bucket_text);

/// Whether a function of one number has this name.
pub(super) fn is_known(name: &str) -> bool {
    KNOWN.iter().any(|k| k.name == name)
}

/// `name(x)`
pub(super) fn call(name: &str, x: Scalar, pos: Pos) -> Result<Scalar> {
    let Some(k) = KNOWN.iter().find(|k| k.name == name) else { return refused(Unfit::Function, pos) };
    let ty = real_type(&x, k.numeric);
    Scalar::apply(&REAL, vec![x], Param::Field(k.name, ty)).map_err(|e| e.at(pos))
}

/// PostgreSQL computes such functions of numerics as numerics, those of other numbers in double precision.
fn real_type(x: &Scalar, numeric: bool) -> SqlType {
    match &x.facts.ty {
        SqlType::Numeric { .. } if numeric => SqlType::Numeric { scale: None },
        _ => SqlType::Float8,
    }
}

/// `pi()`
pub(super) fn pi(pos: Pos) -> Result<Scalar> {
    Ok(numbers::retyped(numbers::literal("3.141592653589793", None, pos)?, SqlType::Float8))
}

/// `power(x, y)`
pub(super) fn power(x: Scalar, y: Scalar, pos: Pos) -> Result<Scalar> {
    // Powers of numbers nearer to 0 than this would be too near for double precision.
    let x = if x.facts.scale > 30 { rounding(Rounding::Round, x, 30, pos)? } else { x };
    Scalar::apply(&POWER, vec![x, y], Param::None).map_err(|e| e.at(pos))
}

/// `sign(x)`
pub(super) fn sign(x: Scalar, pos: Pos) -> Result<Scalar> {
    Scalar::apply(&SIGN, vec![x], Param::None).map_err(|e| e.at(pos))
}

/// `div(x, y)`
pub(super) fn quotient(x: Scalar, y: Scalar, pos: Pos) -> Result<Scalar> {
    let out = Scalar::apply(&DIV, vec![x, y], Param::None).map_err(|e| e.at(pos))?;
    match out.facts.span.within(&num_limit()) {
        true => Ok(out),
        false if out.facts.bound.interval().within(&num_limit()) => Ok(times::clamp(out)),
        false => refused(Number::NearZero, pos),
    }
}

/// `width_bucket(x, low, high, count)`
pub(super) fn bucket(args: Vec<Scalar>, pos: Pos) -> Result<Scalar> {
    Scalar::apply(&BUCKET, args, Param::None).map_err(|e| e.at(pos))
}

/// `atan2(y, x)`
pub(super) fn angle(y: Scalar, x: Scalar, pos: Pos) -> Result<Scalar> {
    Scalar::apply(&ATAN2, vec![y, x], Param::None).map_err(|e| e.at(pos))
}

/// `log(b, x)`, a numeric: the quotient of the natural logarithms.
pub(super) fn log_to(b: Scalar, x: Scalar, pos: Pos) -> Result<Scalar> {
    let base = match &b.node {
        Node::Number(n) => n.to_f64().filter(|n| *n > 0.0 && (*n - 1.0).abs() > 1e-6),
        _ => None,
    };
    if base.is_none() {
        return refused(Number::Base, pos);
    }
    let numeric = SqlType::Numeric { scale: None };
    let quotient = numbers::arithmetic(BinaryOp::Div, call("ln", x, pos)?, call("ln", b, pos)?, pos)?;
    Ok(numbers::retyped(quotient, numeric))
}

fn angle_rule(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    let [y, x] = args else { return Err(Unfit::Arguments.into()) };
    let (y, x) = (bounded(y)?, bounded(x)?);
    let span = Proven::by_text(around(&[-std::f64::consts::PI, std::f64::consts::PI]));
    let bound = Declared::of(&span);
    let of = of_real(y, SqlType::Float8, span, bound);
    Ok(Facts { nullable: y.nullable || x.nullable, cost: of.cost + x.digits() * 2, ..of })
}

fn angle_text(s: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    let [y, x] = args else { return "NULL".into() };
    clamped(s, &format!("pg_catalog.atan2({}, {})", real(y, print), real(x, print)))
}

fn bounded(x: &Scalar) -> Result<&Facts, Value> {
    match x.facts.span.within(&num_limit()) {
        true => Ok(&x.facts),
        false => Err(Number::ArgumentUnbounded.into()),
    }
}

/// Facts of a result in double precision.
fn of_real(x: &Facts, ty: SqlType, span: Proven, bound: Declared) -> Facts {
    let facts = Facts::of_type(ty, x.nullable);
    Facts { phys: Phys::Num, span, bound, scale: OF_FLOAT, cost: 1_000 + x.digits() * 2, ..facts }
}

fn real_rule(args: &[Scalar], param: &Param) -> Result<Facts, Value> {
    let ([x], Param::Field(name, ty)) = (args, param) else {
        return Err(Unfit::Arguments.into());
    };
    let Some(k) = KNOWN.iter().find(|k| k.name == *name) else { return Err(Unfit::Function.into()) };
    let of = bounded(x)?;
    let exponent = Interval::new(-700, 700);
    if k.name == "exp" && !of.span.inside(&exponent) {
        return Err(Number::Exp.into());
    }
    // A curve that has no value here is NULL for every row.
    let f = |i: &Interval| match ends(i).map(|(a, b)| (k.curve)(a, b)) {
        Some(Some(values)) if matches!(k.name, "sqrt" | "exp") => around(&values)
            .intersect(&Interval { lo: Some(BigDecimal::zero()), hi: None })
            .unwrap_or_default(),
        Some(Some(values)) => around(&values),
        Some(None) => Interval::point(BigDecimal::zero()),
        None => Interval::default(),
    };
    let span = of.span.one(f);
    if !span.within(&num_limit()) {
        return Err(Number::FunctionLong.into());
    }
    let facts = of_real(of, ty.clone(), span, of.bound.one(f));
    Ok(Facts { nullable: facts.nullable || !defined(k.from, of.span.interval()), ..facts })
}

/// Whether all of an interval has a value.
fn defined(from: From, i: &Interval) -> bool {
    match from {
        From::All => true,
        From::Zero => i.lo.as_ref().is_some_and(|lo| !lo.is_negative()),
        // What is nearer to 0 than double precision is rounded to 0.
        From::Positive => i.lo.as_ref().and_then(ToPrimitive::to_f64).is_some_and(|lo| lo > 1e-290),
    }
}

fn real_text(s: &Scalar, args: &[Scalar], param: &Param, print: Print) -> String {
    let ([x], Param::Field(name, _)) = (args, param) else { return "NULL".into() };
    let Some(k) = KNOWN.iter().find(|k| k.name == *name) else { return "NULL".into() };
    let argument = domain(k.from, x, &real(x, print));
    clamped(s, &format!("pg_catalog.{name}({argument})"))
}

/// A number in double precision: its magnitude is 0, or at least 1e-300.
fn real(x: &Scalar, print: Print) -> String {
    float(&operand(x, Phys::Num, print), &SqlType::Float8)
}

/// NULL where a function is not defined: what lies there moves to one value, and that becomes NULL.
fn domain(from: From, x: &Scalar, text: &str) -> String {
    let below = match from {
        _ if defined(from, x.facts.span.interval()) => return text.to_owned(),
        From::All | From::Zero => "'-1e-305'",
        From::Positive => "'0'",
    };
    format!("NULLIF(pg_catalog.float8larger({text}, {below}::pg_catalog.float8), {below}::pg_catalog.float8)")
}

/// A result in double precision as a numeric, moved into its proven span.
fn clamped(s: &Scalar, text: &str) -> String {
    match s.facts.span.finite() {
        Some((lo, hi)) => within(text, &number(lo), &number(hi)),
        None => "NULL".into(),
    }
}

/// A constant exponent.
fn exponent(y: &Scalar) -> Result<f64, Value> {
    let constant = match &y.node {
        Node::Number(n) => n.to_f64(),
        _ => None,
    };
    constant.filter(|y| y.abs() <= 10.0).ok_or_else(|| Number::Exponent.into())
}

/// Where x has this power.
fn base(y: f64) -> (From, bool) {
    let whole = y.fract() == 0.0;
    match (whole, y < 0.0) {
        (true, false) => (From::All, true),
        (false, false) => (From::Zero, false),
        // Of negative numbers whole powers exist, too; they are NULL here.
        (_, true) => (From::Positive, whole),
    }
}

fn power_rule(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    let [x, y] = args else { return Err(Unfit::Arguments.into()) };
    let (of, y_value) = (bounded(x)?, exponent(y)?);
    if of.scale > 30 {
        return Err(Number::PowerScale.into());
    }
    let (from, _) = base(y_value);
    let f = |i: &Interval| {
        let Some((a, b)) = ends(i) else { return Interval::default() };
        let least = match from {
            From::All => a,
            From::Zero => a.max(0.0),
            From::Positive => a.max(1e-30),
        };
        if b < least {
            return Interval::point(BigDecimal::zero());
        }
        let turn = if least < 0.0 && b > 0.0 { 0.0f64.powf(y_value) } else { b.powf(y_value) };
        around(&[least.powf(y_value), b.powf(y_value), turn])
    };
    let span = of.span.one(f);
    if !span.within(&num_limit()) {
        return Err(Number::PowerLong.into());
    }
    let numeric = [x, y].iter().any(|a| matches!(a.facts.ty, SqlType::Numeric { .. }));
    let real = [x, y].iter().any(|a| a.facts.ty.is_float());
    let ty = if numeric && !real { SqlType::Numeric { scale: None } } else { SqlType::Float8 };
    let facts = of_real(of, ty, span, of.bound.one(f));
    Ok(Facts { nullable: facts.nullable || !defined(from, of.span.interval()), ..facts })
}

fn power_text(s: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    let [x, y] = args else { return "NULL".into() };
    let Ok(value) = exponent(y) else { return "NULL".into() };
    let (from, _) = base(value);
    let argument = domain(from, x, &real(x, print));
    clamped(s, &format!("pg_catalog.power({argument}, ({})::pg_catalog.float8)", print(y)))
}

fn sign_rule(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    let [x] = args else { return Err(Unfit::Arguments.into()) };
    let of = bounded(x)?;
    let f = |i: &Interval| {
        let end = |x: &Option<BigDecimal>| x.as_ref().map(|x| x.signum());
        Interval { lo: end(&i.lo), hi: end(&i.hi) }
    };
    Ok(Facts {
        phys: Phys::Num,
        span: of.span.one(f),
        bound: of.bound.one(f),
        lattice: Some(1.into()),
        binned: true,
        cost: 10 + of.digits(),
        ..Facts::of_type(real_type(x, true), of.nullable)
    })
}

fn sign_text(_: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    args.first().map_or_else(String::new, |x| format!("pg_catalog.sign({})", operand(x, Phys::Num, print)))
}

fn div_rule(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    let quotient = numbers::quotient(args)?;
    let cut = |i: &Interval| i.round(0, RoundingMode::Down);
    Ok(Facts {
        ty: SqlType::Numeric { scale: None },
        phys: Phys::Num,
        span: quotient.span.one(cut),
        bound: quotient.bound.one(cut),
        lattice: Some(1.into()),
        binned: true,
        scale: 0,
        ..quotient
    })
}

fn div_text(_: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    let [a, b] = args else { return "NULL".into() };
    format!("pg_catalog.div({}, NULLIF({}, 0))", operand(a, Phys::Num, print), operand(b, Phys::Num, print))
}

/// Bins of a histogram, at most.
const MOST_BINS: i64 = 100_000;

fn bucket_rule(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    let [x, low, high, count] = args else { return Err(Unfit::Arguments.into()) };
    let of = bounded(x)?;
    let constant = |x: &Scalar| match &x.node {
        Node::Number(n) => Some(n.clone()),
        _ => None,
    };
    let bins = constant(count)
        .and_then(|n| n.to_i64())
        .filter(|n| count.facts.ty.is_integer() && (1..=MOST_BINS).contains(n));
    let (Some(low), Some(high), Some(bins)) = (constant(low), constant(high), bins) else {
        return Err(Number::Bucket.into());
    };
    if low == high {
        return Err(Number::BucketEmpty.into());
    }
    Ok(Facts { cost: 200 + of.digits(), ..Facts::whole(Interval::new(0, bins + 1), of.nullable) })
}

fn bucket_text(_: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    let [x, low, high, count] = args else { return "NULL".into() };
    let of = |x: &Scalar| operand(x, Phys::Num, print);
    format!(
        "pg_catalog.width_bucket({}, {}, {}, ({})::pg_catalog.int4)",
        of(x),
        of(low),
        of(high),
        print(count)
    )
}
