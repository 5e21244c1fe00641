//! The allow-list of row expressions: from a resolved expression to a typed, total, bounded [`Scalar`].
//!
//! A file per subject holds the entries of its functions, operators and casts (`table`), the rule that computes the facts
//! of each, and its text, side by side. Everything that can fail, be slow on chosen rows, or differ between calls is
//! refused here or given a total meaning: NULL for a divisor of zero, for a date that a function cannot take, for a number
//! that its new type cannot hold; numbers from float columns are clamped first.

mod casts;
mod choice;
mod comparison;
mod dates;
mod facts;
mod formats;
mod functions;
mod grid;
pub mod moments;
mod numbers;
pub(crate) mod per_unit;
pub mod print;
mod regex;
mod scalar;
mod strings;
mod substitute;
mod table;
mod text;
mod times;

pub use choice::filtered;
pub(crate) use choice::united;
pub(crate) use comparison::comparison;
pub use comparison::{compared, in_list, is, logic, not, operator};
pub use facts::{Declared, Phys, Proven, type_span};
pub use grid::{GridValue, TooWide};
pub use numbers::gcd;
pub use scalar::{Choice, Node, Param, Relation, Scalar};
pub(crate) use substitute::weighted;
pub use substitute::{BASES, KEYS, VALUE, alike};
pub use table::{Entry, Function, entries, reference};
pub use text::LONGEST_TEXT;
pub use times::clamp;
pub(crate) use times::truncated;

use crate::domain::Domain;
use crate::interval::Interval;
use answer::{ClientError, SqlState};
use facts::Facts;
use numbers::Rounding;
use schema::SqlType;
use sql::ast::{BinaryOp, Expr, ExprKind, Is, Literal, Pattern, Pos, Query};

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
    /// A column that a set operation, or a SELECT over several rows of a unit, computes.
    fn computed(&self, _binding: usize, _column: usize) -> Option<Scalar> {
        None
    }
    /// A subquery that was found to be allowed, in its place.
    fn prepared(&self, _e: &Expr) -> Option<Scalar> {
        None
    }
    /// A subquery whose value is released before these rows are read.
    fn given(&self, _q: &Query) -> Option<Scalar> {
        None
    }
    /// EXTRACT gives numeric since PostgreSQL 14, double precision before.
    fn extract_type(&self) -> SqlType;
    /// Counts one expression against the statement's limit: several forms look at their arguments more than once, and
    /// nested they would double with each level.
    fn spend(&self) -> Result<()>;
}

/// Why a rule of the table gives no facts. The caller knows where it stands in the statement.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    what: &'static str,
    hint: Option<&'static str>,
}

impl Refusal {
    fn new(what: &'static str) -> Self {
        Self { what, hint: None }
    }

    fn hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    fn at(self, pos: Pos) -> ClientError {
        let mut e = refuse(self.what, pos);
        e.hint = self.hint.map(str::to_owned);
        e
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

/// A number by itself, for tests of what is built on one.
#[cfg(test)]
fn literal_number(text: &str) -> Result<Scalar> {
    numbers::literal(text, None, None)
}

/// Lowers an expression.
pub fn lower(e: &Expr, env: &dyn Columns) -> Result<Scalar> {
    let pos = e.pos;
    env.spend()?;
    match &e.kind {
        ExprKind::Column { binding, column } => column_scalar(*binding, *column, env, pos),
        ExprKind::Literal(l) => literal(l, None, pos),
        ExprKind::Negate(x) => numbers::negative(number(x, env, pos)?, pos),
        ExprKind::Not(x) => Ok(not(comparison::truth(lower(x, env)?, pos)?)),
        ExprKind::Binary { op, left, right } => binary(*op, left, right, env, pos),
        ExprKind::Is { expr, what, negated } => {
            let x = lower(expr, env)?;
            let x = if *what == Is::Null { x } else { comparison::truth(x, pos)? };
            Ok(is(x, *what, *negated))
        }
        ExprKind::Like { expr, pattern, escape, insensitive, negated } => {
            let x = lower(expr, env)?;
            let Some(pattern) = constant_text(pattern) else {
                return Err(refuse("LIKE with a pattern that is not a constant", pos)
                    .hint("Write the pattern into the statement."));
            };
            let like = text::like(x, pattern, escape.as_deref(), *insensitive, pos)?;
            Ok(if *negated { not(like) } else { like })
        }
        ExprKind::Matches { expr, pattern, how, negated } => {
            let x = lower(expr, env)?;
            let Some(pattern) = constant_text(pattern) else {
                return Err(refuse("a pattern that is not a constant", pos)
                    .hint("Write the pattern into the statement: note ~ '^[A-Z]+$'."));
            };
            let (similar, insensitive) = (*how == Pattern::Similar, *how == Pattern::RegexAnyCase);
            let found = regex::matches(x, pattern, similar, insensitive, pos)?;
            Ok(if *negated { not(found) } else { found })
        }
        ExprKind::In { expr, list, negated } => {
            let x = lower(expr, env)?;
            let mut items = Vec::with_capacity(list.len());
            for item in list {
                let mut y = comparison::coerce(lower_like(item, &x, env)?, &x, item.pos)?;
                if dates::is_length(&x) {
                    y = dates::seconds(y, item.pos)?;
                }
                if !matches!(y.node, Node::Number(_) | Node::Text(_) | Node::Bool(_) | Node::Null) {
                    return Err(refuse("an IN list of anything but constants", item.pos)
                        .hint("Write a = b OR a = c."));
                }
                items.push(y);
            }
            Ok(in_list(x, items, *negated))
        }
        ExprKind::Between { expr, low, high, negated } => {
            let ge = compare(BinaryOp::Ge, expr, low, env, pos)?;
            let le = compare(BinaryOp::Le, expr, high, env, pos)?;
            let both = logic(BinaryOp::And, ge, le);
            Ok(if *negated { not(both) } else { both })
        }
        ExprKind::Case { branches, otherwise } => case(branches, otherwise.as_deref(), env, pos),
        ExprKind::Cast { expr, ty } => {
            if let ExprKind::Literal(l) = &expr.kind
                && (ty.modifier.is_empty() || matches!(l, Literal::Null))
                && matches!(l, Literal::String(_) | Literal::Null)
            {
                return literal(l, Some(&ty.ty), pos);
            }
            casts::cast(lower(expr, env)?, ty, expr.pos.or(pos), pos)
        }
        ExprKind::Extract { field, expr } => times::extract(field, lower(expr, env)?, env.extract_type(), pos),
        ExprKind::Call { name, args } => call(name, args, env, pos),
        ExprKind::Interval(text) => {
            let facts = Facts::of_type(SqlType::Interval, false);
            Ok(Scalar { node: Node::Text(text.clone()), facts })
        }
        ExprKind::AtTimeZone { expr, zone } => {
            let Some(zone) = constant_text(zone) else {
                return Err(refuse("AT TIME ZONE with a zone that is not a constant", pos)
                    .hint("Write its name: ts AT TIME ZONE 'Europe/Berlin'."));
            };
            dates::at_time_zone(lower(expr, env)?, zone, pos)
        }
        ExprKind::Session(_) => Err(refuse("now() and its kin over private rows", pos)
            .hint("Write the date or timestamp as a constant.")),
        ExprKind::Exists { .. } | ExprKind::InQuery { .. } => env.prepared(e).ok_or_else(|| {
            refuse("IN or EXISTS with a subquery in this place, over private rows,", pos)
                .hint("Write it into WHERE, or join the table in FROM.")
        }),
        ExprKind::Subquery(q) => env.given(q).ok_or_else(|| {
            refuse("a subquery in an expression over private rows", pos)
                .hint("Ask for it by itself, and write its answer as a constant; or tie it to the unit: (SELECT avg(u.x) FROM … u WHERE u.unit = t.unit).")
        }),
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
    let domain = match (&c.domain, info.public_table) {
        (_, Some(table)) => Some(Domain::Table { table, column: c.name.clone() }),
        (Some(policy::Domain::Values(v)), _) => Some(Domain::Values(v.clone())),
        (Some(policy::Domain::References { table, column }), _) => {
            Some(Domain::Table { table: *table, column: column.clone() })
        }
        (None, None) if c.ty == SqlType::Bool => Some(Domain::Bool),
        (None, None) => None,
    };
    let bound = match &c.range {
        Some(policy::Range::Number { low, high }) => Interval::new(low.clone(), high.clone()),
        Some(policy::Range::Time { low, high }) => Interval::new(*low, *high),
        None => Interval::default(),
    };
    let facts = Facts {
        bound: Declared::says(bound),
        lattice: c.grid.clone(),
        canonical: c.deterministic,
        domain,
        ..Facts::of_stored(c.ty.clone(), info.nullable)
    };
    Ok(Scalar { node: Node::Column { binding, name: c.name.clone() }, facts })
}

/// A constant, as the type of what it meets where it is a string.
fn literal(l: &Literal, like: Option<&SqlType>, pos: Pos) -> Result<Scalar> {
    match (l, like) {
        (Literal::Null, like) => Ok(Scalar::null(like.cloned().unwrap_or(SqlType::Text))),
        (Literal::Bool(b), _) => Ok(Scalar::constant_truth(*b)),
        (Literal::Number(n), _) => numbers::literal(n, None, pos),
        (Literal::String(s), Some(ty)) if ty.is_number() && numbers::special(s, ty).is_some() => {
            numbers::special(s, ty).ok_or_else(|| numbers::only_compared(pos))
        }
        (Literal::String(s), Some(ty)) if ty.is_number() => numbers::literal(s.trim(), Some(ty), pos),
        (Literal::String(s), Some(SqlType::Bool)) => {
            let b = match s.trim().to_lowercase().as_str() {
                "t" | "true" | "yes" | "on" | "1" => true,
                "f" | "false" | "no" | "off" | "0" => false,
                _ => {
                    let m = "invalid input syntax for type boolean";
                    return Err(ClientError::new(SqlState(*b"22P02"), m).at(pos));
                }
            };
            Ok(Scalar::constant_truth(b))
        }
        (Literal::String(s), Some(ty)) if ty.is_datetime() => Ok(times::literal(s, ty)),
        (Literal::String(s), like) => {
            let ty = like.cloned().unwrap_or(SqlType::Text);
            let longest = u64::try_from(s.chars().count()).unwrap_or(u64::MAX);
            Ok(Scalar { node: Node::Text(s.clone()), facts: Facts { longest, ..Facts::of_type(ty, false) } })
        }
    }
}

fn number(e: &Expr, env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    numbers::ready(lower(e, env)?, e.pos.or(pos))
}

/// The refusal of a number without bounds, with the remedy.
pub fn unbounded(x: &Scalar, pos: Pos) -> ClientError {
    if numbers::is_special(x) {
        return numbers::only_compared(pos);
    }
    let name = match &x.node {
        Node::Column { name, .. } => Some(name),
        Node::Clamp(inner) | Node::Guard(inner) | Node::Short(inner) => return unbounded(inner, pos),
        // FILTER's CASE hides the column that the message should name.
        Node::Case(branches, None) if branches.len() == 1 => match branches.first() {
            Some((_, inner)) => return unbounded(inner, pos),
            None => None,
        },
        _ => None,
    };
    let (what, remedy) = match name {
        Some(name) => (
            format!("column \"{name}\" has no declared range"),
            format!(
                "Clamp it in the query, LEAST(GREATEST({name}, low), high), or ask the owner to declare columns.{name} = {{ range = [low, high] }} in the policy."
            ),
        ),
        None => (
            "the expression has no finite range".to_owned(),
            "Clamp it in the query, LEAST(GREATEST(x, low), high), or ask the owner to declare the ranges of its columns in the policy.".to_owned(),
        ),
    };
    ClientError::unsupported(what)
        .detail("Its effect on an aggregate, or on arithmetic, cannot be bounded.")
        .hint(remedy)
        .at(pos)
}

/// Lowers `e` where it meets `other`: a string constant takes the other's type.
fn lower_like(e: &Expr, other: &Scalar, env: &dyn Columns) -> Result<Scalar> {
    match &e.kind {
        ExprKind::Literal(l) => literal(l, Some(&other.facts.ty), e.pos),
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

fn compare(op: BinaryOp, left: &Expr, right: &Expr, env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    let (l, r) = pair(left, right, env)?;
    comparison(op, l, r, pos)
}

fn binary(op: BinaryOp, left: &Expr, right: &Expr, env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    use BinaryOp as B;
    match op {
        B::And | B::Or => {
            // Chains are as long as a message allows: their left spine is walked, not recursed into.
            let mut rights = vec![right];
            let mut first = left;
            while let ExprKind::Binary { op: next, left, right } = &first.kind
                && *next == op
            {
                env.spend()?;
                rights.push(right);
                first = left;
            }
            let mut out = comparison::truth(lower(first, env)?, first.pos)?;
            for e in rights.into_iter().rev() {
                out = logic(op, out, comparison::truth(lower(e, env)?, e.pos)?);
            }
            Ok(out)
        }
        B::Eq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge | B::Distinct | B::NotDistinct => {
            compare(op, left, right, env, pos)
        }
        B::Concat => strings::concatenation(lower(left, env)?, lower(right, env)?, pos),
        B::Add | B::Sub | B::Mul | B::Div | B::Mod => {
            let (mut l, mut r) = pair(left, right, env)?;
            // What is added to a moment is an interval; what is subtracted from it is a moment, too.
            if op == B::Add && l.facts.ty.is_datetime() && r.facts.ty.is_datetime() {
                let interval = Some(&SqlType::Interval);
                if let ExprKind::Literal(s) = &right.kind {
                    r = literal(s, interval, right.pos)?;
                } else if let ExprKind::Literal(s) = &left.kind {
                    l = literal(s, interval, left.pos)?;
                }
            }
            let of_time = |x: &Scalar| x.facts.ty.is_datetime() || x.facts.ty == SqlType::Interval;
            if of_time(&l) || of_time(&r) {
                return dates::arithmetic(op, l, r, pos);
            }
            let (l, r) = (numbers::ready(l, left.pos.or(pos))?, numbers::ready(r, right.pos.or(pos))?);
            numbers::arithmetic(op, l, r, pos)
        }
    }
}

fn case(branches: &[(Expr, Expr)], otherwise: Option<&Expr>, env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    let mut conditions = Vec::with_capacity(branches.len());
    for (when, _) in branches {
        conditions.push(comparison::truth(lower(when, env)?, when.pos)?);
    }
    let results: Vec<&Expr> = branches.iter().map(|(_, t)| t).chain(otherwise).collect();
    let mut values = unify(&results, env, pos)?.into_iter();
    let pairs: Vec<(Scalar, Scalar)> = conditions.into_iter().zip(values.by_ref()).collect();
    Ok(choice::case(pairs, values.next()))
}

/// Lowers several expressions to one type, as CASE, COALESCE and their like do.
fn unify(list: &[&Expr], env: &dyn Columns, pos: Pos) -> Result<Vec<Scalar>> {
    let mut ty: Option<SqlType> = None;
    for e in list.iter().filter(|e| !is_constant_text(e)) {
        let t = lower(e, env)?.facts.ty;
        ty = Some(match ty {
            None => t,
            Some(have) if have == t => t,
            Some(have) if have.is_number() && t.is_number() => match (&have, &t) {
                // CASE picks the preferred of the types, not that of an arithmetic operator.
                (SqlType::Float4, SqlType::Float8) | (SqlType::Float8, _) => SqlType::Float8,
                (SqlType::Float4, _) | (_, SqlType::Float4) => SqlType::Float4,
                _ => numbers::common_type(&have, &t),
            },
            Some(have) if have.is_text() && t.is_text() => SqlType::Text,
            Some(_) => return Err(mismatch("the branches have types that do not fit", e.pos.or(pos))),
        });
    }
    let ty = ty.unwrap_or(SqlType::Text);
    let mut lengths = false;
    if ty == SqlType::Interval {
        for e in list.iter().filter(|e| !is_constant_text(e)) {
            lengths |= dates::is_length(&lower(e, env)?);
        }
    }
    list.iter()
        .map(|e| {
            let mut x = match &e.kind {
                ExprKind::Literal(l @ (Literal::String(_) | Literal::Null)) => literal(l, Some(&ty), e.pos)?,
                _ => lower(e, env)?,
            };
            if ty.is_number() {
                x = choice::number_or_raw(x, e.pos.or(pos))?;
            }
            if lengths {
                x = dates::seconds(x, e.pos.or(pos))?;
            }
            Ok(numbers::retyped(x, ty.clone()))
        })
        .collect()
}

fn chosen(which: Choice, args: &[Expr], env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    if args.is_empty() {
        return Err(ClientError::new(SqlState::SYNTAX_ERROR, "this function needs arguments").at(pos));
    }
    let refs: Vec<&Expr> = args.iter().collect();
    choice::choice(which, unify(&refs, env, pos)?).map_err(|e| e.at(pos))
}

fn call(name: &str, args: &[Expr], env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    match (name, args) {
        ("coalesce", _) => chosen(Choice::Coalesce, args, env, pos),
        ("least", _) => chosen(Choice::Least, args, env, pos),
        ("greatest", _) => chosen(Choice::Greatest, args, env, pos),
        ("nullif", [a, b]) => {
            // NULLIF(a, b) is CASE WHEN a = b THEN NULL ELSE a END.
            let same = Expr::new(
                ExprKind::Binary { op: BinaryOp::Eq, left: Box::new(a.clone()), right: Box::new(b.clone()) },
                pos,
            );
            let null = Expr::new(ExprKind::Literal(Literal::Null), pos);
            let (l, r) = pair(a, b, env)?;
            let ty = nullif_type(&l.facts.ty, &r.facts.ty);
            Ok(numbers::retyped(case(&[(same, null)], Some(a), env, pos)?, ty))
        }
        ("concat", _) => {
            let list = args.iter().map(|e| lower(e, env)).collect::<Result<Vec<_>>>()?;
            strings::concat(list, pos)
        }
        ("concat_ws", [separator, rest @ ..]) => {
            let Some(separator) = constant_text(separator) else {
                return Err(refuse("concat_ws with a separator that is not a constant", pos));
            };
            let list = rest.iter().map(|e| lower(e, env)).collect::<Result<Vec<_>>>()?;
            strings::concat_with(separator, list, pos)
        }
        (name, _) if strings::is_known(name) => {
            let list = args.iter().map(|e| lower(e, env)).collect::<Result<Vec<_>>>()?;
            strings::call(name, list, pos)
        }
        (name, [x]) if functions::is_known(name) => functions::call(name, number(x, env, pos)?, pos),
        ("pi", []) => functions::pi(pos),
        ("sign", [x]) => functions::sign(number(x, env, pos)?, pos),
        ("power", [x, y]) => functions::power(number(x, env, pos)?, number(y, env, pos)?, pos),
        ("div", [x, y]) => functions::quotient(number(x, env, pos)?, number(y, env, pos)?, pos),
        ("width_bucket", [_, _, _, _]) => {
            let list = args.iter().map(|e| number(e, env, pos)).collect::<Result<Vec<_>>>()?;
            functions::bucket(list, pos)
        }
        ("to_char" | "to_date", [x, format]) => {
            let Some(format) = constant_text(format) else {
                return Err(refuse(&format!("{name} with a format that is not a constant"), pos)
                    .hint("Write the format into the statement: to_char(ts, 'YYYY-MM')."));
            };
            let x = lower(x, env)?;
            if name == "to_char" { formats::to_char(x, format, pos) } else { formats::to_date(x, format, pos) }
        }
        ("to_number", _) => {
            Err(refuse("to_number over private rows", pos).hint("Write a cast: note::numeric is NULL where the text is no number."))
        }
        ("abs", [x]) => numbers::magnitude(number(x, env, pos)?, pos),
        ("round", [x]) => rounded(Rounding::Round, x, None, env, pos),
        ("floor", [x]) => rounded(Rounding::Floor, x, None, env, pos),
        ("ceil", [x]) => rounded(Rounding::Ceil, x, None, env, pos),
        ("trunc", [x]) => rounded(Rounding::Trunc, x, None, env, pos),
        ("round", [x, digits]) => rounded(Rounding::Round, x, Some(digits_of(digits)?), env, pos),
        ("trunc", [x, digits]) => rounded(Rounding::Trunc, x, Some(digits_of(digits)?), env, pos),
        ("mod", [a, b]) => binary(BinaryOp::Mod, a, b, env, pos),
        ("age", [a, b]) => {
            let (a, b) = pair(a, b, env)?;
            dates::age(a, b, pos)
        }
        ("age", [_]) => Err(refuse("age with one argument, which depends on the day, over private rows", pos)
            .hint("Write the day: age(DATE '2025-01-01', born).")),
        ("timezone", [zone, x]) => {
            let Some(zone) = constant_text(zone) else {
                return Err(refuse("timezone with a zone that is not a constant", pos));
            };
            dates::at_time_zone(lower(x, env)?, zone, pos)
        }
        ("date_part", [field, x]) => {
            let Some(field) = constant_text(field) else {
                return Err(refuse("date_part with a field that is not a constant", pos));
            };
            times::extract(&field.to_lowercase(), lower(x, env)?, SqlType::Float8, pos)
        }
        ("date_trunc", [unit, x]) => {
            let Some(unit) = constant_text(unit) else {
                return Err(refuse("date_trunc with a unit that is not a constant", pos));
            };
            times::date_trunc(unit, lower(x, env)?, pos)
        }
        _ => Err(ClientError::unsupported(format!("function {} is not supported over private rows", written(name)))
            .hint("SELECT text FROM noisegate.help WHERE topic = 'functions' lists what may stand over rows; others may stand above the aggregates.")
            .at(pos)),
    }
}

/// The analyst's word for what the parser calls otherwise.
fn written(name: &str) -> &str {
    match name {
        "substr" => "substring",
        "btrim" => "trim",
        "strpos" => "position",
        other => other,
    }
}

/// NULLIF has the type that its first argument is compared in.
fn nullif_type(a: &SqlType, b: &SqlType) -> SqlType {
    match (a, b) {
        (a, _) if a.is_text() => SqlType::Text,
        (a, b) if !a.is_number() || !b.is_number() => a.clone(),
        (a, b) if a.is_float() || a.is_integer() && b.is_integer() => a.clone(),
        (a, b) => numbers::common_type(a, b),
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
    let x = number(e, env, pos)?;
    let to_even = how == Rounding::Round && digits.is_none() && x.facts.ty.is_float();
    let how = if to_even { Rounding::Even } else { how };
    let out = numbers::rounding(how, x, digits.unwrap_or(0), pos)?;
    Ok(numbers::rounded_type(out, digits.is_some()))
}
