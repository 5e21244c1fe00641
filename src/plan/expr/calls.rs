//! Calls of functions: by name, to the file that has the entry.

use super::rounding::{Rounding, rounded_type, rounding};
use super::*;
use crate::refusals::moment::Moment;
use crate::refusals::value::{Constant, Value};

pub(super) fn call(name: &str, args: &[Expr], env: &dyn Columns, pos: Pos) -> Result<Scalar> {
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
                return refused(Value::Inconstant(Constant::Separator), pos);
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
        ("atan2", [y, x]) => functions::angle(number(y, env, pos)?, number(x, env, pos)?, pos),
        ("log", [b, x]) => functions::log_to(number(b, env, pos)?, number(x, env, pos)?, pos),
        ("to_timestamp", [n]) => made::to_timestamp(number(n, env, pos)?, pos),
        ("make_date", [_, _, _]) => made::make_date(lowered(args, env)?, pos),
        ("make_timestamp", [_, _, _, _, _, _]) => made::make_timestamp(lowered(args, env)?, pos),
        ("date_bin", [stride, x, origin]) => {
            let Some(stride) = constant_interval(stride) else {
                return refused(Value::Inconstant(Constant::Stride), pos);
            };
            let (x, origin) = pair(x, origin, env)?;
            made::date_bin(stride, x, origin, pos)
        }
        ("power", [x, y]) => functions::power(number(x, env, pos)?, number(y, env, pos)?, pos),
        ("div", [x, y]) => functions::quotient(number(x, env, pos)?, number(y, env, pos)?, pos),
        ("width_bucket", [_, _, _, _]) => {
            let list = args.iter().map(|e| number(e, env, pos)).collect::<Result<Vec<_>>>()?;
            functions::bucket(list, pos)
        }
        ("to_char" | "to_date" | "to_timestamp" | "to_number", [x, format]) => {
            let Some(format) = constant_text(format) else {
                return refused(Value::Inconstant(Constant::Format(name.to_owned())), pos);
            };
            let x = lower(x, env)?;
            match name {
                "to_char" => formats::to_char(x, format, pos),
                "to_number" => formats::to_number(x, format, pos),
                _ => formats::to_time(name, x, format, pos),
            }
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
        ("age", [_]) => refused(Value::AgeOfToday, pos),
        ("timezone", [zone, x]) => {
            let Some(zone) = constant_text(zone) else {
                return refused(Value::Inconstant(Constant::Timezone), pos);
            };
            zones::at_time_zone(lower(x, env)?, zone, env.utc(), pos)
        }
        ("date", [x]) => {
            let ty = sql::ast::CastType { ty: SqlType::Date, modifier: String::new() };
            match &x.kind {
                ExprKind::Literal(l) => literal(l, Some(&ty.ty), pos),
                _ => casts::cast(lower(x, env)?, &ty, env.iso(), x.pos.or(pos), pos),
            }
        }
        ("date_part", [field, x]) => {
            let Some(field) = constant_text(field) else {
                return refused(Value::Inconstant(Constant::Field), pos);
            };
            times::extract(&field.to_lowercase(), lower(x, env)?, SqlType::Float8, pos)
        }
        ("date_trunc", [unit, x]) => {
            let Some(unit) = constant_text(unit) else {
                return refused(Value::Inconstant(Constant::Unit), pos);
            };
            times::date_trunc(unit, lower(x, env)?, pos)
        }
        // There, cut, and back: an hour that clocks show twice is one for these units alone.
        ("date_trunc", [unit, x, zone]) => {
            let (Some(unit), Some(zone)) = (constant_text(unit), constant_text(zone)) else {
                return refused(Value::Inconstant(Constant::Unit), pos);
            };
            let clock = ["hour", "minute", "second", "milli", "micro"];
            if clock.iter().any(|c| unit.to_lowercase().starts_with(c)) && !zones::is_utc(zone) {
                return refused(Moment::TruncClock, pos);
            }
            let x = casts::to_time(lower(x, env)?, SqlType::Timestamptz, pos)?;
            let local = zones::at_time_zone(x, zone, env.utc(), pos)?;
            zones::at_time_zone(times::date_trunc(unit, local, pos)?, zone, env.utc(), pos)
        }
        _ => refused(Value::Function(written(name).to_owned()), pos),
    }
}

fn chosen(which: Choice, args: &[Expr], env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    if args.is_empty() {
        return refused(Value::NoArguments, pos);
    }
    let refs: Vec<&Expr> = args.iter().collect();
    choice::choice(which, unify(&refs, env, pos)?).map_err(|e| e.at(pos))
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
            .map_or_else(|| refused(Value::Digits, e.pos), Ok),
        _ => refused(Value::Inconstant(Constant::Digits), e.pos),
    }
}

fn rounded(how: Rounding, e: &Expr, digits: Option<i64>, env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    let x = number(e, env, pos)?;
    let to_even = how == Rounding::Round && digits.is_none() && x.facts.ty.is_float();
    let how = if to_even { Rounding::Even } else { how };
    let out = rounding(how, x, digits.unwrap_or(0), pos)?;
    Ok(rounded_type(out, digits.is_some()))
}

fn lowered(args: &[Expr], env: &dyn Columns) -> Result<Vec<Scalar>> {
    args.iter().map(|e| lower(e, env)).collect()
}

/// The text of a constant interval.
pub(super) fn constant_interval(e: &Expr) -> Option<&String> {
    match &e.kind {
        ExprKind::Interval(text) | ExprKind::Literal(Literal::String(text)) => Some(text),
        ExprKind::Cast { expr, ty } if ty.ty == SqlType::Interval && ty.modifier.is_empty() => {
            constant_interval(expr)
        }
        _ => None,
    }
}

/// An interval that varies, as constants and how many times they are taken; None for other expressions.
pub(super) fn multiple(e: &Expr, env: &dyn Columns) -> Result<Option<made::Multiple>> {
    let typed = |e: &Expr| !matches!(e.kind, ExprKind::Literal(_));
    match &e.kind {
        ExprKind::Binary { op: BinaryOp::Mul, left, right } => {
            let (text, n) = match (constant_interval(left), constant_interval(right)) {
                (Some(text), None) if typed(left) => (text, right),
                (None, Some(text)) if typed(right) => (text, left),
                _ => return Ok(None),
            };
            made::multiple(text, lower(n, env)?, e.pos).map(Some)
        }
        // (n || ' minutes')::interval
        ExprKind::Cast { expr, ty } if ty.ty == SqlType::Interval && ty.modifier.is_empty() => {
            match &expr.kind {
                ExprKind::Binary { op: BinaryOp::Concat, left, right } => {
                    let ExprKind::Literal(Literal::String(unit)) = &right.kind else { return Ok(None) };
                    let n = lower(left, env)?;
                    if !n.facts.ty.is_integer() {
                        return Ok(None);
                    }
                    made::multiple(&format!("1 {}", unit.trim()), n, e.pos).map(Some)
                }
                _ => Ok(None),
            }
        }
        ExprKind::Call { name: "make_interval", args } => {
            made::make_interval(lowered(args, env)?, e.pos).map(Some)
        }
        _ => Ok(None),
    }
}
