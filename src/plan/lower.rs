//! The allow-list of row expressions: from a resolved expression to a typed, total, bounded [`Scalar`].
//!
//! Everything that can fail, be slow on chosen rows, or differ between calls is refused here or given a total
//! meaning: NULL for a divisor of zero, for a date that a function cannot take, for a number that its new type
//! cannot hold; numbers from float columns are clamped first.

use super::domain::{self, Domain};
use super::interval::{self, Interval};
use super::scalar::{Choice, Node, Phys, Rounding, Scalar};
use answer::{ClientError, SqlState};
use bigdecimal::{BigDecimal, RoundingMode, Signed, Zero};
use schema::SqlType;
use schema::time::{self, DAY};
use sql::ast::{BinaryOp, CastType, Expr, ExprKind, Literal, Pos};
use std::str::FromStr;

type Result<T> = std::result::Result<T, ClientError>;

/// A column of a scan, as lowering needs it.
pub struct ColumnInfo<'a> {
    /// The policy's column.
    pub column: &'a policy::Column,
    /// It can be NULL, by itself or by an outer join.
    pub nullable: bool,
    /// Its table's name, for messages.
    pub table: &'a str,
    /// A public domain that follows from where it is (a public table's column).
    pub public_table: Option<usize>,
}

/// Finds columns.
pub trait Columns {
    /// The column behind a binding.
    fn column(&self, binding: usize, column: usize) -> Option<ColumnInfo<'_>>;
    /// A column that a set operation computes.
    fn computed(&self, _binding: usize, _column: usize) -> Option<Scalar> {
        None
    }
    /// A subquery that was found to be allowed, in its place.
    fn prepared(&self, _e: &Expr) -> Option<Scalar> {
        None
    }
    /// EXTRACT gives numeric since PostgreSQL 14, double precision before.
    fn extract_type(&self) -> SqlType;
    /// Counts one expression against the statement's limit: several forms look at their arguments more than once, and
    /// nested they would double with each level.
    fn spend(&self) -> Result<()>;
}

/// Integers up to this magnitude are computed as int8: sums of two, and products checked by span, cannot overflow.
fn int_limit() -> BigDecimal {
    BigDecimal::from(1i64 << 62)
}

/// Spans beyond this are refused: numeric would hold them, but slowly.
fn num_limit() -> BigDecimal {
    BigDecimal::new(1.into(), -60)
}

/// Lattices finer than this are forgotten.
const FINEST: i64 = 60;

/// Lowers an expression.
pub fn lower(e: &Expr, env: &dyn Columns) -> Result<Scalar> {
    let pos = e.pos;
    env.spend()?;
    match &e.kind {
        ExprKind::Column { binding, column } => column_scalar(*binding, *column, env, pos),
        ExprKind::Literal(l) => literal(l, None, pos),
        ExprKind::Negate(x) => {
            let x = number(lower(x, env)?, x, pos)?;
            let (span, bound) = (x.span.neg(), x.bound.neg());
            Ok(Scalar { span, bound, lattice: x.lattice.clone(), ty: x.ty.clone(), phys: x.phys, nullable: x.nullable, binned: x.binned, canonical: true, domain: None, node: Node::Neg(Box::new(x)) })
        }
        ExprKind::Not(x) => {
            let x = truth(lower(x, env)?, pos)?;
            Ok(Scalar::boolean(Node::Not(Box::new(x.clone())), x.nullable))
        }
        ExprKind::Binary { op, left, right } => binary(*op, left, right, env, pos),
        ExprKind::Is { expr, what, negated } => {
            let x = lower(expr, env)?;
            let x = if *what == sql::ast::Is::Null { x } else { truth(x, pos)? };
            Ok(Scalar::boolean(Node::Is(Box::new(x), *what, *negated), false))
        }
        ExprKind::Like { expr, pattern, escape, insensitive, negated } => {
            let arg = lower(expr, env)?;
            if arg.ty.is_text() && !arg.canonical {
                // Fails for each row, where there is one.
                return Err(refuse("LIKE over text with a nondeterministic collation", pos)
                    .hint("Compare with = or IN."));
            }
            if !arg.ty.is_text() {
                return Err(refuse("LIKE over anything but text", pos).hint("Compare numbers and dates with <, = and >."));
            }
            let Some(pattern) = constant_text(pattern) else {
                return Err(refuse("LIKE with a pattern that is not a constant", pos)
                    .hint("Write the pattern into the statement."));
            };
            check_pattern(pattern, escape.as_deref(), pos)?;
            let nullable = arg.nullable;
            let node = Node::Like {
                arg: Box::new(arg),
                pattern: pattern.clone(),
                escape: escape.clone(),
                insensitive: *insensitive,
                negated: *negated,
            };
            Ok(Scalar::boolean(node, nullable))
        }
        ExprKind::In { expr, list, negated } => {
            let arg = lower(expr, env)?;
            let mut items = Vec::with_capacity(list.len());
            for item in list {
                let x = coerce(lower_like(item, &arg, env)?, &arg, item.pos)?;
                if !matches!(x.node, Node::Number(_) | Node::Text(_) | Node::Bool(_) | Node::Null) {
                    return Err(refuse("an IN list of anything but constants", item.pos)
                        .hint("Write a = b OR a = c."));
                }
                items.push(x);
            }
            let nullable = arg.nullable || items.iter().any(|i| i.nullable);
            Ok(Scalar::boolean(Node::In(Box::new(arg), items, *negated), nullable))
        }
        ExprKind::Between { expr, low, high, negated } => {
            let ge = compare(BinaryOp::Ge, expr, low, env, pos)?;
            let le = compare(BinaryOp::Le, expr, high, env, pos)?;
            let nullable = ge.nullable || le.nullable;
            let both = Scalar::boolean(Node::Logic(BinaryOp::And, Box::new(ge), Box::new(le)), nullable);
            Ok(if *negated { Scalar::boolean(Node::Not(Box::new(both)), nullable) } else { both })
        }
        ExprKind::Case { branches, otherwise } => case(branches, otherwise.as_deref(), env, pos),
        ExprKind::Cast { expr, ty } => cast(expr, ty, env, pos),
        ExprKind::Extract { field, expr } => extract(field, expr, env.extract_type(), env, pos),
        ExprKind::Call { name, args } => call(name, args, env, pos),
        ExprKind::Interval(_) => Err(refuse("INTERVAL in a row expression", pos)
            .hint("Compare with a constant: ts >= TIMESTAMP '2024-01-01 00:00'.")),
        ExprKind::AtTimeZone { .. } => Err(refuse("AT TIME ZONE over private rows", pos)),
        ExprKind::Session(_) => Err(refuse("now() and its kin over private rows", pos)
            .hint("Write the date or timestamp as a constant.")),
        ExprKind::Exists { .. } | ExprKind::InQuery { .. } => env.prepared(e).ok_or_else(|| {
            refuse("IN or EXISTS with a subquery anywhere but in WHERE, over private rows", pos)
                .hint("Write it into WHERE, or join the table in FROM.")
        }),
        ExprKind::Subquery(_) => {
            Err(refuse("a subquery in an expression over private rows", pos)
                .hint("Join the table in FROM instead."))
        }
        ExprKind::Aggregate(_) => {
            Err(ClientError::new(SqlState::GROUPING_ERROR, "aggregate functions are not allowed here").at(pos))
        }
        ExprKind::Window { .. } => Err(refuse("a window function over private rows", pos)
            .hint("Windows may stand over aggregates: SELECT k, count(*), rank() OVER (ORDER BY count(*)) … GROUP BY k.")),
        ExprKind::Param(n) => Err(refuse(&format!("the parameter ${n} in this place"), pos)),
        ExprKind::Any { .. } => Err(refuse("ANY or ALL of anything but a constant list", pos)
            .hint("Write x = ANY (ARRAY['a', 'b']), x IN ('a', 'b'), or a parameter.")),
        ExprKind::Array(_) => Err(refuse("ARRAY over private rows", pos)),
        ExprKind::Output(_) => Err(refuse("this reference", pos)),
    }
}

/// A string constant, or one that is cast to text.
fn constant_text(e: &Expr) -> Option<&String> {
    match &e.kind {
        ExprKind::Literal(Literal::String(s)) => Some(s),
        ExprKind::Cast { expr, ty }
            if ty.modifier.is_empty() && matches!(ty.ty, SqlType::Text | SqlType::Varchar) =>
        {
            constant_text(expr)
        }
        _ => None,
    }
}

fn refuse(what: &str, pos: Pos) -> ClientError {
    ClientError::unsupported(format!("{what} is not supported")).at(pos)
}

fn mismatch(what: &str, pos: Pos) -> ClientError {
    ClientError::new(SqlState::DATATYPE_MISMATCH, what.to_owned())
        .hint("Add a cast, or compare values of one type.")
        .at(pos)
}

/// What a whole-number type can hold; no bounds for other types.
pub(super) fn type_span(ty: &SqlType) -> Interval {
    match ty {
        SqlType::Int2 => Interval::new(i64::from(i16::MIN), i64::from(i16::MAX)),
        SqlType::Int4 => Interval::new(i64::from(i32::MIN), i64::from(i32::MAX)),
        SqlType::Int8 => Interval::new(i64::MIN, i64::MAX),
        _ => Interval::default(),
    }
}

fn column_scalar(binding: usize, column: usize, env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    if let Some(computed) = env.computed(binding, column) {
        return Ok(computed);
    }
    let Some(info) = env.column(binding, column) else {
        return Err(
            refuse("a column of an outer query", pos).hint("Correlated subqueries are not supported yet.")
        );
    };
    let c = info.column;
    let span = type_span(&c.ty);
    let bound = match &c.range {
        Some(policy::Range::Number { low, high }) => Interval::new(low.clone(), high.clone()),
        Some(policy::Range::Time { low, high }) => Interval::new(*low, *high),
        None => Interval::default(),
    };
    let domain = match (&c.domain, info.public_table) {
        (_, Some(table)) => Some(Domain::Table { table, column: c.name.clone() }),
        (Some(policy::Domain::Values(v)), _) => Some(Domain::Values(v.clone())),
        (Some(policy::Domain::References { table, column }), _) => {
            Some(Domain::Table { table: *table, column: column.clone() })
        }
        (None, None) if c.ty == SqlType::Bool => Some(Domain::Bool),
        (None, None) => None,
    };
    let phys = match &c.ty {
        t if t.is_integer() => Phys::Int,
        SqlType::Numeric { .. } => Phys::Num,
        t if t.is_float() => Phys::Float,
        _ => Phys::Other,
    };
    // An int8 column may hold values beyond the limit of int8 arithmetic: it is computed as numeric.
    let phys = if c.ty == SqlType::Int8 { Phys::Num } else { phys };
    Ok(Scalar {
        node: Node::Column { binding, name: c.name.clone() },
        ty: c.ty.clone(),
        phys,
        nullable: info.nullable,
        span,
        bound,
        lattice: c.grid.clone(),
        binned: false,
        canonical: c.deterministic,
        domain,
    })
}

/// A constant, as the type of what it meets where it is a string.
fn literal(l: &Literal, like: Option<&SqlType>, pos: Pos) -> Result<Scalar> {
    match (l, like) {
        (Literal::Null, like) => {
            let mut s = Scalar::other(Node::Null, like.cloned().unwrap_or(SqlType::Text), true);
            s.phys = if s.ty.is_number() { Phys::Int } else { Phys::Other };
            if s.ty.is_number() {
                s.span = Interval::point(BigDecimal::zero());
                s.bound = s.span.clone();
                s.lattice = Some(BigDecimal::from(1));
            }
            Ok(s)
        }
        (Literal::Bool(b), _) => Ok(Scalar::boolean(Node::Bool(*b), false)),
        (Literal::Number(n), _) => number_literal(n, None, pos),
        (Literal::String(s), Some(ty)) if ty.is_number() => number_literal(s.trim(), Some(ty), pos),
        (Literal::String(s), Some(SqlType::Bool)) => {
            let b = match s.trim().to_lowercase().as_str() {
                "t" | "true" | "yes" | "on" | "1" => true,
                "f" | "false" | "no" | "off" | "0" => false,
                _ => return Err(invalid("boolean", pos)),
            };
            Ok(Scalar::boolean(Node::Bool(b), false))
        }
        (Literal::String(s), Some(ty)) => Ok(Scalar::other(Node::Text(s.clone()), ty.clone(), false)),
        (Literal::String(s), None) => Ok(Scalar::other(Node::Text(s.clone()), SqlType::Text, false)),
    }
}

fn invalid(ty: &str, pos: Pos) -> ClientError {
    ClientError::new(SqlState(*b"22P02"), format!("invalid input syntax for type {ty}")).at(pos)
}

fn number_literal(text: &str, like: Option<&SqlType>, pos: Pos) -> Result<Scalar> {
    // Strings come here as they were written: a few characters of exponent would be a gigabyte of digits.
    let exponent = text.split_once(['e', 'E']).map_or("0", |(_, e)| e);
    if text.len() > 1_000 || !exponent.parse::<i32>().is_ok_and(|e| e.abs() <= 300) {
        return Err(invalid("numeric", pos));
    }
    let value = BigDecimal::from_str(text).map_err(|_| invalid("numeric", pos))?.normalized();
    if value.abs() > num_limit() || value.fractional_digit_count() > FINEST {
        return Err(refuse("a constant of more than 60 digits", pos));
    }
    let integer = value.is_integer() && !text.contains(['.', 'e', 'E']);
    let fits = |ty: &SqlType| type_span(ty).finite().is_some_and(|(lo, hi)| *lo <= value && value <= *hi);
    let ty = match like {
        Some(t) if t.is_integer() && !(integer && fits(t)) => return Err(invalid("integer", pos)),
        Some(t) => t.clone(),
        None if integer && fits(&SqlType::Int4) => SqlType::Int4,
        None if integer && fits(&SqlType::Int8) => SqlType::Int8,
        None => SqlType::Numeric { scale: None },
    };
    let phys = if value.is_integer() && value.abs() <= int_limit() && ty.is_integer() {
        Phys::Int
    } else {
        Phys::Num
    };
    let lattice = if value.is_zero() { BigDecimal::from(1) } else { value.abs() };
    Ok(Scalar {
        node: Node::Number(value.clone()),
        ty,
        phys,
        nullable: false,
        span: Interval::point(value.clone()),
        bound: Interval::point(value.clone()),
        lattice: Some(lattice),
        binned: true,
        canonical: true,
        domain: None,
    })
}

fn truth(x: Scalar, pos: Pos) -> Result<Scalar> {
    match (&x.ty, &x.node) {
        (SqlType::Bool, _) => Ok(x),
        (_, Node::Null) => literal(&Literal::Null, Some(&SqlType::Bool), pos),
        _ => Err(mismatch("argument must be of type boolean", pos)),
    }
}

/// A number that arithmetic may take: clamped to its bound where it has one, else spanned by its type.
fn number(x: Scalar, e: &Expr, pos: Pos) -> Result<Scalar> {
    if matches!(x.node, Node::Null) && !x.ty.is_number() {
        return literal(&Literal::Null, Some(&SqlType::Int4), pos);
    }
    if !x.ty.is_number() {
        return Err(mismatch("arithmetic needs numbers", e.pos.or(pos)));
    }
    if x.span.finite().is_some() && x.span == x.bound {
        return Ok(x);
    }
    let bounded = x.bound.finite().is_some();
    if bounded {
        return Ok(clamp(x));
    }
    if x.span.finite().is_some() {
        return Ok(x);
    }
    Err(unbounded(&x, pos))
}

/// The refusal of a number without bounds, with the remedy.
pub fn unbounded(x: &Scalar, pos: Pos) -> ClientError {
    let what = match &x.node {
        Node::Column { name, .. } => format!("column \"{name}\" has no declared range"),
        Node::Clamp(inner) | Node::Guard(inner) => return unbounded(inner, pos),
        _ => "the expression has no finite range".into(),
    };
    let remedy = match &x.node {
        Node::Column { name, .. } => format!(
            "Clamp it in the query, LEAST(GREATEST({name}, low), high), or ask the owner to declare columns.{name} = {{ range = [low, high] }} in the policy."
        ),
        _ => "Clamp it in the query, LEAST(GREATEST(x, low), high), or ask the owner to declare the ranges of its columns in the policy.".into(),
    };
    ClientError::unsupported(what)
        .detail("Its effect on an aggregate, or on arithmetic, cannot be bounded.")
        .hint(remedy)
        .at(pos)
}

/// Moves a number, date or timestamp into its bound.
pub fn clamp(x: Scalar) -> Scalar {
    let bound = x.bound.clone();
    let phys = match x.phys {
        Phys::Other => Phys::Other,
        Phys::Int => Phys::Int,
        Phys::Num if x.ty.is_integer() && bound.within(&int_limit()) => Phys::Int,
        Phys::Num | Phys::Float => Phys::Num,
    };
    // NaN is NULL for floats.
    let nullable = x.nullable || x.phys == Phys::Float;
    Scalar {
        ty: x.ty.clone(),
        phys,
        nullable,
        span: bound.clone(),
        bound,
        lattice: x.lattice.clone(),
        binned: x.binned,
        canonical: x.canonical,
        domain: x.domain.clone(),
        node: Node::Clamp(Box::new(x)),
    }
}

/// Lowers `e` where it meets `other`: a string constant takes the other's type.
fn lower_like(e: &Expr, other: &Scalar, env: &dyn Columns) -> Result<Scalar> {
    match &e.kind {
        ExprKind::Literal(l) => literal(l, Some(&other.ty), e.pos),
        _ => lower(e, env),
    }
}

fn is_constant_text(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Literal(Literal::String(_) | Literal::Null))
}

fn pair(left: &Expr, right: &Expr, env: &dyn Columns) -> Result<(Scalar, Scalar)> {
    if is_constant_text(left) && !is_constant_text(right) {
        let r = lower(right, env)?;
        Ok((lower_like(left, &r, env)?, r))
    } else {
        let l = lower(left, env)?;
        let r = if is_constant_text(right) { lower_like(right, &l, env)? } else { lower(right, env)? };
        Ok((l, r))
    }
}

/// Checks that `x` may be compared with `to`.
fn coerce(x: Scalar, to: &Scalar, pos: Pos) -> Result<Scalar> {
    let class = |t: &SqlType| match t {
        t if t.is_number() => 1,
        t if t.is_text() => 2,
        t if t.is_datetime() => 3,
        SqlType::Bool => 4,
        SqlType::Enum { oid, .. } => 100 + u64::from(*oid),
        SqlType::Uuid => 5,
        SqlType::Time => 6,
        SqlType::Bpchar => 7,
        SqlType::Interval => 8,
        _ => 0,
    };
    let (a, b) = (class(&x.ty), class(&to.ty));
    if a == 0 || b == 0 {
        return Err(refuse("a comparison of this type", pos));
    }
    if a != b && !matches!(x.node, Node::Null) {
        return Err(mismatch("the two sides of the comparison have types that do not fit", pos));
    }
    // With a constant, PostgreSQL compares in the column's own type and collation.
    if matches!(x.ty, SqlType::Bpchar) && !is_constant(&x) && !is_constant(to) {
        return Err(
            refuse("a comparison of two character(n) columns", pos).hint("Ask the owner for a text column.")
        );
    }
    Ok(x)
}

fn compare(op: BinaryOp, left: &Expr, right: &Expr, env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    let (l, r) = pair(left, right, env)?;
    comparison(op, l, r, pos)
}

/// A comparison of two values that cannot fail.
pub(super) fn comparison(op: BinaryOp, l: Scalar, r: Scalar, pos: Pos) -> Result<Scalar> {
    let l = coerce(l, &r, pos)?;
    let r = coerce(r, &l, pos)?;
    // A date compared with a timestamp is cast by PostgreSQL, which fails for far dates: guard it.
    let mixed = l.ty != r.ty && l.ty.is_datetime() && r.ty.is_datetime();
    let (l, r) = if mixed { (guard_time(l), guard_time(r)) } else { (l, r) };
    let (l, r) = match (l.phys, r.phys) {
        (Phys::Float, Phys::Num) => (l, as_float(r)),
        (Phys::Num, Phys::Float) => (as_float(l), r),
        _ => (l, r),
    };
    let columns = l.ty.is_text() && !is_constant(&l) && !is_constant(&r);
    if columns && (!l.canonical || !r.canonical) {
        return Err(refuse("a comparison of two texts of which one has a nondeterministic collation", pos)
            .hint("Compare with a constant."));
    }
    let nullable = !matches!(op, BinaryOp::Distinct | BinaryOp::NotDistinct) && (l.nullable || r.nullable);
    Ok(Scalar::boolean(Node::Compare(op, Box::new(l), Box::new(r)), nullable))
}

fn is_constant(x: &Scalar) -> bool {
    matches!(x.node, Node::Text(_) | Node::Null)
}

/// A numeric that meets a float: PostgreSQL would cast it, which fails for numbers that double precision cannot hold,
/// large or small. Constants are short enough, and whole numbers are in reach.
fn as_float(x: Scalar) -> Scalar {
    if matches!(x.node, Node::Number(_)) || x.ty.is_integer() {
        return x;
    }
    Scalar { ty: SqlType::Float8, phys: Phys::Float, node: Node::Cast(Box::new(x.clone())), ..x }
}

fn binary(op: BinaryOp, left: &Expr, right: &Expr, env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    use BinaryOp as B;
    match op {
        B::And | B::Or => {
            let l = truth(lower(left, env)?, left.pos)?;
            let r = truth(lower(right, env)?, right.pos)?;
            let nullable = l.nullable || r.nullable;
            Ok(Scalar::boolean(Node::Logic(op, Box::new(l), Box::new(r)), nullable))
        }
        B::Eq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge | B::Distinct | B::NotDistinct => {
            compare(op, left, right, env, pos)
        }
        B::Concat => Err(refuse("|| over private rows", pos)
            .hint("Group by the columns themselves, and concatenate above the aggregates.")),
        B::Add | B::Sub | B::Mul | B::Div | B::Mod => {
            let (l, r) = pair(left, right, env)?;
            if l.ty.is_datetime() || r.ty.is_datetime() {
                return Err(refuse("arithmetic with dates over private rows", pos)
                    .hint("Use date_trunc or EXTRACT, or compare with constants."));
            }
            let (l, r) = (number(l, left, pos)?, number(r, right, pos)?);
            arithmetic(op, l, r, pos)
        }
    }
}

fn common_type(a: &SqlType, b: &SqlType) -> SqlType {
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

fn arithmetic(op: BinaryOp, l: Scalar, r: Scalar, pos: Pos) -> Result<Scalar> {
    use BinaryOp as B;
    let ty = match common_type(&l.ty, &r.ty) {
        SqlType::Numeric { .. } => SqlType::Numeric { scale: None },
        t => t,
    };
    let whole = ty.is_integer();
    // Whole numbers are at least 1 apart; a declared grid is what rows should keep, which the clamp below makes good.
    let least = if whole { Some(BigDecimal::from(1)) } else { r.lattice.clone() };
    let away = |i: &Interval| match (&i.lo, &i.hi) {
        (Some(lo), _) if lo.is_positive() => Some(lo.clone()),
        (_, Some(hi)) if hi.is_negative() => Some(-hi),
        _ => None,
    };
    let quotient = |a: &Interval, b: &Interval| match away(b).or_else(|| least.clone()) {
        Some(least) => a.div(b, &least),
        None => Interval::default(),
    };
    let apply = |a: &Interval, b: &Interval| match op {
        B::Add => a.add(b),
        B::Sub => a.sub(b),
        B::Mul => a.mul(b),
        B::Div if whole => quotient(a, b).round(0, RoundingMode::Down),
        B::Div => quotient(a, b),
        // |a % b| < |b| and |a % b| <= |a|, with the sign of a.
        _ => {
            let m = b.magnitude().into_iter().chain(a.magnitude()).min();
            match m {
                Some(m) => {
                    let low = if a.lo.as_ref().is_some_and(|l| !l.is_negative()) {
                        BigDecimal::zero()
                    } else {
                        -&m
                    };
                    Interval { lo: Some(low), hi: Some(m) }
                }
                None => Interval::default(),
            }
        }
    };
    let bound = apply(&l.bound, &r.bound).shortened();
    let span = apply(&l.span, &r.span).shortened();
    let lattice = lattice(op, whole, &l, &r);
    let nullable = l.nullable || r.nullable || (matches!(op, B::Div | B::Mod) && may_be_zero(&r.span));
    let binned = (l.binned && r.binned) || (whole && op == B::Div);
    if !span.within(&num_limit()) {
        if span.finite().is_none() {
            let mut e = refuse("division by a value that may come arbitrarily near to 0", pos);
            e.hint = Some("Clamp the divisor away from 0: GREATEST(x, 1).".into());
            return Err(e);
        }
        return Err(refuse("arithmetic beyond 60 digits", pos));
    }
    let phys = if whole && span.within(&int_limit()) { Phys::Int } else { Phys::Num };
    // Integers are computed as int8 where both sides and the result fit.
    let phys = if l.phys == Phys::Int && r.phys == Phys::Int { phys } else { Phys::Num };
    let out = Scalar {
        node: Node::Arith(op, Box::new(l), Box::new(r)),
        ty,
        phys,
        nullable,
        span,
        bound,
        lattice,
        binned,
        canonical: true,
        domain: None,
    };
    // A quotient's span may rest on a declared grid, which rows need not keep: the clamp proves it.
    Ok(if matches!(op, B::Div) && !whole && out.bound.finite().is_some() { clamp(out) } else { out })
}

fn may_be_zero(span: &Interval) -> bool {
    !(span.lo.as_ref().is_some_and(|l| l.is_positive()) || span.hi.as_ref().is_some_and(|h| h.is_negative()))
}

fn lattice(op: BinaryOp, whole: bool, l: &Scalar, r: &Scalar) -> Option<BigDecimal> {
    let (a, b) = (l.lattice.as_ref()?, r.lattice.as_ref()?);
    let out = match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mod => gcd(a, b),
        BinaryOp::Mul => a * b,
        BinaryOp::Div if whole => BigDecimal::from(1),
        _ => return None,
    };
    (out.fractional_digit_count() <= FINEST).then(|| out.normalized())
}

/// The greatest decimal of which both are multiples.
pub fn gcd(a: &BigDecimal, b: &BigDecimal) -> BigDecimal {
    use num_integer::Integer;
    let scale = a.fractional_digit_count().max(b.fractional_digit_count()).max(0);
    let whole = |x: &BigDecimal| x.with_scale(scale).into_bigint_and_exponent().0;
    BigDecimal::new(whole(a).gcd(&whole(b)), scale).normalized()
}

fn case(branches: &[(Expr, Expr)], otherwise: Option<&Expr>, env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    let mut conditions = Vec::with_capacity(branches.len());
    for (when, _) in branches {
        conditions.push(truth(lower(when, env)?, when.pos)?);
    }
    let results: Vec<&Expr> = branches.iter().map(|(_, t)| t).chain(otherwise).collect();
    let lowered = unify(&results, env, pos)?;
    let span = hull(&lowered, |s| &s.span);
    let bound = hull(&lowered, |s| &s.bound);
    let nullable = otherwise.is_none() || lowered.iter().any(|s| s.nullable);
    let domain = domain::of_branches(lowered.iter());
    let mut out = merged(&lowered, span, bound, nullable);
    out.domain = domain;
    let mut values = lowered.into_iter();
    let pairs: Vec<(Scalar, Scalar)> = conditions.into_iter().zip(values.by_ref()).collect();
    out.node = Node::Case(pairs, values.next().map(Box::new));
    Ok(out)
}

/// Lowers several expressions to one type, as CASE, COALESCE and their like do.
fn unify(list: &[&Expr], env: &dyn Columns, pos: Pos) -> Result<Vec<Scalar>> {
    let mut ty: Option<SqlType> = None;
    for e in list.iter().filter(|e| !is_constant_text(e)) {
        let t = lower(e, env)?.ty;
        ty = Some(match ty {
            None => t,
            Some(have) if have == t => t,
            Some(have) if have.is_number() && t.is_number() => match (&have, &t) {
                // CASE picks the preferred of the types, not that of an arithmetic operator.
                (SqlType::Float4, SqlType::Float8) | (SqlType::Float8, _) => SqlType::Float8,
                (SqlType::Float4, _) | (_, SqlType::Float4) => SqlType::Float4,
                _ => common_type(&have, &t),
            },
            Some(have) if have.is_text() && t.is_text() => SqlType::Text,
            Some(_) => return Err(mismatch("the branches have types that do not fit", e.pos.or(pos))),
        });
    }
    let ty = ty.unwrap_or(SqlType::Text);
    list.iter()
        .map(|e| {
            let mut x = match &e.kind {
                ExprKind::Literal(l @ (Literal::String(_) | Literal::Null)) => literal(l, Some(&ty), e.pos)?,
                _ => lower(e, env)?,
            };
            if ty.is_number() {
                x = number_or_raw(x, e, pos)?;
            }
            Ok(Scalar { ty: ty.clone(), ..x })
        })
        .collect()
}

/// A number for CASE, COALESCE, LEAST, GREATEST: these cannot fail, so a number without bounds may stay without.
fn number_or_raw(x: Scalar, e: &Expr, pos: Pos) -> Result<Scalar> {
    if x.phys == Phys::Float {
        // Floats become numeric through their clamp only.
        return number(x, e, pos);
    }
    if x.bound.finite().is_some() && x.span != x.bound {
        return Ok(clamp(x));
    }
    Ok(x)
}

fn hull<'a>(list: &'a [Scalar], f: impl Fn(&'a Scalar) -> &'a Interval) -> Interval {
    list.iter()
        .filter(|s| !matches!(s.node, Node::Null))
        .map(|s| f(s).clone())
        .reduce(|a, b| a.hull(&b))
        .unwrap_or_default()
}

/// A scalar of the common type of `list`; its node is the caller's.
fn merged(list: &[Scalar], span: Interval, bound: Interval, nullable: bool) -> Scalar {
    let ty = list.first().map_or(SqlType::Text, |s| s.ty.clone());
    let phys = if !ty.is_number() {
        Phys::Other
    } else if list.iter().all(|s| s.phys == Phys::Int) {
        Phys::Int
    } else {
        Phys::Num
    };
    let lattice = list
        .iter()
        .filter(|s| !matches!(s.node, Node::Null))
        .map(|s| s.lattice.clone())
        .reduce(|a, b| Some(gcd(&a?, &b?)))
        .flatten();
    let binned = list.iter().all(|s| s.binned || matches!(s.node, Node::Null));
    Scalar {
        node: Node::Null,
        ty,
        phys,
        nullable,
        span,
        bound,
        lattice,
        binned,
        canonical: list.iter().all(|s| s.canonical),
        domain: None,
    }
}

fn choice(which: Choice, args: &[Expr], env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    if args.is_empty() {
        return Err(ClientError::new(SqlState::SYNTAX_ERROR, "this function needs arguments").at(pos));
    }
    let refs: Vec<&Expr> = args.iter().collect();
    let list = unify(&refs, env, pos)?;
    let of = |f: fn(&Scalar) -> &Interval| {
        let pairs: Vec<(Interval, bool)> = list
            .iter()
            .filter(|s| !matches!(s.node, Node::Null))
            .map(|s| (f(s).clone(), s.nullable))
            .collect();
        match which {
            Choice::Least => interval::least(&pairs),
            Choice::Greatest => interval::greatest(&pairs),
            Choice::Coalesce => hull(&list, f),
        }
    };
    let (span, bound) = (of(|s| &s.span), of(|s| &s.bound));
    let nullable = list.iter().all(|s| s.nullable);
    let mut out = merged(&list, span, bound, nullable);
    if which == Choice::Coalesce {
        out.domain = domain::of_branches(list.iter());
    } else if !(out.ty.is_number() || out.ty.is_datetime()) {
        return Err(refuse("LEAST and GREATEST of anything but numbers and dates", pos));
    }
    // A clamp written by the analyst bounds a column that has no declared range.
    out.node = Node::Choice(which, list);
    Ok(out)
}

fn call(name: &str, args: &[Expr], env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    match (name, args) {
        ("coalesce", _) => choice(Choice::Coalesce, args, env, pos),
        ("least", _) => choice(Choice::Least, args, env, pos),
        ("greatest", _) => choice(Choice::Greatest, args, env, pos),
        ("nullif", [a, b]) => {
            // NULLIF(a, b) is CASE WHEN a = b THEN NULL ELSE a END.
            let same = Expr::new(
                ExprKind::Binary { op: BinaryOp::Eq, left: Box::new(a.clone()), right: Box::new(b.clone()) },
                pos,
            );
            let null = Expr::new(ExprKind::Literal(Literal::Null), pos);
            let (l, r) = pair(a, b, env)?;
            let ty = nullif_type(&l.ty, &r.ty);
            Ok(Scalar { ty, ..case(&[(same, null)], Some(a), env, pos)? })
        }
        ("abs", [x]) => {
            let x = number(lower(x, env)?, x, pos)?;
            let (span, bound) = (x.span.abs(), x.bound.abs());
            Ok(Scalar { span, bound, ty: x.ty.clone(), phys: x.phys, nullable: x.nullable, lattice: x.lattice.clone(), binned: x.binned, canonical: true, domain: None, node: Node::Abs(Box::new(x)) })
        }
        ("round", [x]) => rounded(Rounding::Round, x, None, env, pos),
        ("floor", [x]) => rounded(Rounding::Floor, x, None, env, pos),
        ("ceil", [x]) => rounded(Rounding::Ceil, x, None, env, pos),
        ("trunc", [x]) => rounded(Rounding::Trunc, x, None, env, pos),
        ("round", [x, digits]) => rounded(Rounding::Round, x, Some(digits_of(digits)?), env, pos),
        ("trunc", [x, digits]) => rounded(Rounding::Trunc, x, Some(digits_of(digits)?), env, pos),
        ("mod", [a, b]) => binary(BinaryOp::Mod, a, b, env, pos),
        ("date_part", [field, x]) => {
            let Some(field) = constant_text(field) else {
                return Err(refuse("date_part with a field that is not a constant", pos));
            };
            extract(&field.to_lowercase(), x, SqlType::Float8, env, pos)
        }
        ("date_trunc", [unit, x]) => {
            let Some(unit) = constant_text(unit) else {
                return Err(refuse("date_trunc with a unit that is not a constant", pos));
            };
            date_trunc(unit, x, env, pos)
        }
        _ => Err(ClientError::unsupported(format!("function {name} is not supported over private rows"))
            .hint("Over rows: arithmetic, comparison, COALESCE, NULLIF, CASE, LEAST, GREATEST, ABS, ROUND, FLOOR, CEIL, TRUNC, MOD, EXTRACT, date_trunc. Others may stand above the aggregates.")
            .at(pos)),
    }
}

/// NULLIF has the type that its first argument is compared in.
fn nullif_type(a: &SqlType, b: &SqlType) -> SqlType {
    match (a, b) {
        (a, _) if a.is_text() => SqlType::Text,
        (a, b) if !a.is_number() || !b.is_number() => a.clone(),
        (a, b) if a.is_float() || a.is_integer() && b.is_integer() => a.clone(),
        (a, b) => common_type(a, b),
    }
}

fn digits_of(e: &Expr) -> Result<i64> {
    let constant = match &e.kind {
        ExprKind::Cast { expr, ty } if ty.ty.is_integer() => &expr.kind,
        kind => kind,
    };
    match constant {
        ExprKind::Literal(Literal::Number(n) | Literal::String(n)) => n
            .parse::<i64>()
            .ok()
            .filter(|d| (-20..=20).contains(d))
            .ok_or_else(|| refuse("this number of digits", e.pos)),
        _ => Err(refuse("rounding at a number of digits that is not a constant", e.pos)),
    }
}

fn rounded(how: Rounding, e: &Expr, digits: Option<i64>, env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    let x = number(lower(e, env)?, e, pos)?;
    let how =
        if how == Rounding::Round && digits.is_none() && x.ty.is_float() { Rounding::Even } else { how };
    // floor and its like of an integer are double precision in PostgreSQL; of numeric they are numeric. With
    // digits, an integer becomes numeric.
    let ty = match (&x.ty, digits) {
        (t, None) if t.is_integer() => SqlType::Float8,
        (SqlType::Float4, _) => SqlType::Float8,
        (t, _) if t.is_integer() => SqlType::Numeric { scale: None },
        (SqlType::Numeric { .. }, _) => SqlType::Numeric { scale: None },
        (t, _) => t.clone(),
    };
    let digits = digits.unwrap_or(0);
    let step = BigDecimal::new(1.into(), digits).normalized();
    let lattice = match &x.lattice {
        // Rounding keeps a lattice that is coarser than its step.
        Some(l) if (l / &step).is_integer() => l.clone(),
        _ => step,
    };
    let (span, bound) = (round_span(&x.span, how, digits), round_span(&x.bound, how, digits));
    let phys = x.phys;
    Ok(Scalar {
        ty,
        phys,
        nullable: x.nullable,
        span,
        bound,
        lattice: Some(lattice),
        binned: true,
        canonical: true,
        domain: None,
        node: Node::Round(how, Box::new(x), digits),
    })
}

/// Where a rounded value can lie.
fn round_span(i: &Interval, how: Rounding, digits: i64) -> Interval {
    match how {
        Rounding::Round => i.round(digits, RoundingMode::HalfUp),
        Rounding::Floor => i.round(digits, RoundingMode::Floor),
        Rounding::Ceil => i.round(digits, RoundingMode::Ceiling),
        Rounding::Trunc => i.round(digits, RoundingMode::Down),
        // The way through double precision may move a value that is next to a tie onto it.
        Rounding::Even => Interval {
            lo: i.round(digits, RoundingMode::Floor).lo,
            hi: i.round(digits, RoundingMode::Ceiling).hi,
        },
    }
}

/// Fields of EXTRACT: name, lowest and highest value for dates of the years 1 to 9999, and whether it is whole.
const FIELDS: &[(&str, i64, i64, bool)] = &[
    ("year", 1, 9999, true),
    ("isoyear", 0, 10_000, true),
    ("quarter", 1, 4, true),
    ("month", 1, 12, true),
    ("week", 1, 53, true),
    ("day", 1, 31, true),
    ("doy", 1, 366, true),
    ("dow", 0, 6, true),
    ("isodow", 1, 7, true),
    ("hour", 0, 23, true),
    ("minute", 0, 59, true),
    ("second", 0, 60, false),
    ("decade", 0, 1000, true),
    ("century", 1, 100, true),
    ("millennium", 1, 10, true),
    ("epoch", -62_200_000_000, 253_500_000_000, false),
];

fn extract(field: &str, e: &Expr, ty: SqlType, env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    let x = lower(e, env)?;
    if !x.ty.is_datetime() {
        return Err(mismatch("EXTRACT needs a date or a timestamp", pos));
    }
    let Some((field, lo, hi, whole)) = FIELDS.iter().find(|(f, ..)| *f == field) else {
        let names: Vec<&str> = FIELDS.iter().map(|f| f.0).collect();
        return Err(
            refuse(&format!("EXTRACT of {field}"), pos).hint(format!("Fields are {}.", names.join(", ")))
        );
    };
    if x.ty == SqlType::Date && matches!(*field, "hour" | "minute" | "second") {
        return Err(mismatch("a date has no time of day", pos));
    }
    let span = Interval::new(*lo, *hi);
    // Years and epochs follow the declared range; a day on either side covers every time zone.
    let per_year = |f: &str| matches!(f, "year" | "isoyear");
    let bound = match x.bound.finite() {
        Some((low, high)) if per_year(field) => {
            let year = |t: &BigDecimal, days: i64| {
                use bigdecimal::ToPrimitive;
                let micros = t.to_i64().unwrap_or(0).saturating_add(days * DAY);
                BigDecimal::from(time::civil(micros.div_euclid(DAY)).0)
            };
            let margin = if *field == "isoyear" { 4 } else { i64::from(x.ty == SqlType::Timestamptz) };
            Interval::new(year(low, -margin), year(high, margin)).intersect(&span)
        }
        Some(_) | None if per_year(field) || *field == "epoch" => span.clone(),
        _ => span.clone(),
    };
    let guarded = guard_time(x);
    Ok(Scalar {
        ty,
        phys: Phys::Num,
        nullable: guarded.nullable,
        span,
        bound,
        lattice: Some(if *whole { BigDecimal::from(1) } else { BigDecimal::new(1.into(), 6) }),
        binned: *whole,
        canonical: true,
        domain: None,
        node: Node::Extract(field, Box::new(guarded)),
    })
}

/// A date or timestamp that functions can take: outside the years 1 to 9999 it is NULL.
fn guard_time(x: Scalar) -> Scalar {
    if matches!(x.node, Node::Text(_) | Node::Null | Node::Guard(_)) {
        return x;
    }
    Scalar {
        ty: x.ty.clone(),
        phys: Phys::Other,
        // Under a declared range nobody expects a NULL; without one it stands for the times that are cut off.
        nullable: x.nullable || !in_years(&x.bound),
        span: Interval::new(time::FIRST, time::LAST),
        bound: x.bound.clone(),
        lattice: None,
        binned: false,
        canonical: x.canonical,
        domain: None,
        node: Node::Guard(Box::new(x)),
    }
}

fn in_years(bound: &Interval) -> bool {
    micros(bound).is_some_and(|(lo, hi)| time::FIRST <= lo && hi <= time::LAST)
}

fn date_trunc(unit: &str, e: &Expr, env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    let x = lower(e, env)?;
    if !x.ty.is_datetime() {
        return Err(mismatch("date_trunc needs a date or a timestamp", pos));
    }
    let wanted = unit.to_lowercase();
    let Some((unit, _)) = domain::TRUNC_UNITS.iter().find(|(u, _)| *u == wanted.trim_end_matches('s')) else {
        let names: Vec<&str> = domain::TRUNC_UNITS.iter().map(|u| u.0).collect();
        return Err(
            refuse(&format!("date_trunc to {wanted}"), pos).hint(format!("Units are {}.", names.join(", ")))
        );
    };
    // PostgreSQL reads a date as a timestamp with time zone here.
    let ty = if x.ty == SqlType::Timestamp { SqlType::Timestamp } else { SqlType::Timestamptz };
    let domain = micros(&x.bound).map(|(lo, hi)| Domain::DateTrunc { unit, lo, hi, from: x.ty.clone() });
    let guarded = guard_time(x);
    let mut out = Scalar::other(Node::DateTrunc(unit, Box::new(guarded.clone())), ty, guarded.nullable);
    out.domain = domain;
    Ok(out)
}

fn micros(bound: &Interval) -> Option<(i64, i64)> {
    use bigdecimal::ToPrimitive;
    let (lo, hi) = bound.finite()?;
    Some((lo.to_i64()?, hi.to_i64()?))
}

fn cast(e: &Expr, to: &CastType, env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    if let ExprKind::Literal(l) = &e.kind
        && (to.modifier.is_empty() || matches!(l, Literal::Null))
        && matches!(l, Literal::String(_) | Literal::Null)
    {
        return literal(l, Some(&to.ty), pos);
    }
    let x = lower(e, env)?;
    match (&x.ty, &to.ty) {
        (a, b) if a == b && to.modifier.is_empty() => Ok(x),
        (SqlType::Numeric { .. }, SqlType::Numeric { .. }) if to.modifier.is_empty() => {
            Ok(Scalar { ty: to.ty.clone(), ..x })
        }
        (a, b) if a.is_number() && b.is_number() => cast_number(x, e, to, pos),
        (a, b) if a.is_text() && b.is_text() && to.modifier.is_empty() => {
            let mut out = x.clone();
            out.ty = b.clone();
            out.node = Node::Cast(Box::new(x));
            Ok(out)
        }
        (SqlType::Enum { .. }, b) if b.is_text() && to.modifier.is_empty() => {
            let domain = x.domain.clone();
            let mut out = Scalar::other(Node::Cast(Box::new(x.clone())), b.clone(), x.nullable);
            out.domain = domain;
            Ok(out)
        }
        (SqlType::Date, SqlType::Timestamp | SqlType::Timestamptz)
        | (SqlType::Timestamp, SqlType::Timestamptz) => {
            let guarded = guard_time(x);
            let mut out =
                Scalar::other(Node::Cast(Box::new(guarded.clone())), to.ty.clone(), guarded.nullable);
            out.bound = guarded.bound.clone();
            Ok(out)
        }
        (SqlType::Timestamp, SqlType::Date) => {
            let domain = micros(&x.bound).map(|(lo, hi)| Domain::Days { lo: lo - lo.rem_euclid(DAY), hi });
            let guarded = guard_time(x);
            let mut out =
                Scalar::other(Node::Cast(Box::new(guarded.clone())), SqlType::Date, guarded.nullable);
            out.bound = guarded.bound.clone();
            out.domain = domain;
            Ok(out)
        }
        (a, b) => Err(refuse(&format!("a cast from {} to {} over private rows", short(a), short(b)), pos)
            .hint("Casts between numbers, from date to timestamp and from timestamp to date are.")),
    }
}

fn short(ty: &SqlType) -> String {
    ty.sql_name().replace("pg_catalog.", "")
}

fn cast_number(x: Scalar, e: &Expr, to: &CastType, pos: Pos) -> Result<Scalar> {
    let x = number(x, e, pos)?;
    if to.ty.is_float() || (to.modifier.is_empty() && matches!(to.ty, SqlType::Numeric { .. })) {
        // Computed as before; the type matters to the result's column alone. A node of its own, because a key that is
        // a column's is printed in the column's type.
        return Ok(Scalar { ty: to.ty.clone(), canonical: true, node: Node::Cast(Box::new(x.clone())), ..x });
    }
    let (digits, limit) = match &to.ty {
        SqlType::Numeric { scale } => {
            let scale = i64::from(scale.unwrap_or(0));
            let precision: i64 = to
                .modifier
                .trim_matches(['(', ')'])
                .split(',')
                .next()
                .and_then(|p| p.trim().parse().ok())
                // PostgreSQL's own limit; more would be that many digits here.
                .filter(|p| (1..=1_000).contains(p))
                .ok_or_else(|| refuse("this precision", pos))?;
            let whole = BigDecimal::new(1.into(), scale - precision) - BigDecimal::new(1.into(), scale);
            (scale, Interval::new(-&whole, whole))
        }
        ty => (0, type_span(ty)),
    };
    // Half away from zero, as PostgreSQL's casts from numeric do, or half to even, as its casts from floats to
    // integers do; what the type cannot hold is NULL.
    let how = if x.ty.is_float() && to.ty.is_integer() { Rounding::Even } else { Rounding::Round };
    let (span, bound) = (round_span(&x.span, how, digits), round_span(&x.bound, how, digits));
    let fits = span.finite().zip(limit.finite()).is_some_and(|((a, b), (lo, hi))| lo <= a && b <= hi);
    let phys = if to.ty.is_integer() && span.within(&int_limit()) { Phys::Int } else { Phys::Num };
    let step = BigDecimal::new(1.into(), digits);
    let lattice = match &x.lattice {
        Some(l) if (l / &step).is_integer() => l.clone(),
        _ => step,
    };
    let inner = Scalar {
        ty: to.ty.clone(),
        phys: x.phys,
        nullable: x.nullable,
        span: span.clone(),
        bound: bound.clone(),
        lattice: Some(lattice),
        binned: true,
        canonical: true,
        domain: None,
        node: Node::Round(how, Box::new(x), digits),
    };
    if fits {
        return Ok(Scalar { phys, node: Node::Cast(Box::new(inner.clone())), ..inner });
    }
    let (span, bound) = (span.intersect(&limit), bound.intersect(&limit));
    let guard =
        Scalar { span: limit, nullable: true, node: Node::Guard(Box::new(inner.clone())), ..inner.clone() };
    let phys = if to.ty.is_integer() && span.within(&int_limit()) { Phys::Int } else { Phys::Num };
    Ok(Scalar { phys, span, bound, nullable: true, node: Node::Cast(Box::new(guard)), ..inner })
}

/// A LIKE pattern that matching can never reject: it does not end in its escape character.
fn check_pattern(pattern: &str, escape: Option<&str>, pos: Pos) -> Result<()> {
    let escape = match escape {
        None => Some('\\'),
        Some(e) => e.chars().next(),
    };
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if Some(c) == escape && chars.next().is_none() {
            return Err(ClientError::new(
                SqlState(*b"22025"),
                "LIKE pattern must not end with escape character",
            )
            .at(pos));
        }
    }
    Ok(())
}
