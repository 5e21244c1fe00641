//! Public domains: rows of constants and of public tables, each combination of keys once.

use super::classes::Scan;
use super::expression::{Allowed, column_of, conjuncts, walk};
use super::names::{Callee, arguments, callee, catalog, ident};
use super::range::digits_of;
use super::rows::{Context, Found, Frame, Rows, Source, alias_of, strip, table_of};
use super::shape::{distinct_select, items, plain_query, plain_select};
use super::types::{Ty, of as type_of};
use super::{Result, refuse};
use policy::Privacy;
use sqlparser::ast::*;
use std::collections::HashSet;
use std::rc::Rc;

/// A domain that was read.
#[derive(Clone, Debug)]
pub(crate) struct Domain {
    /// Its columns.
    pub rows: Rc<Rows>,
    /// How many rows there are at most, if the text says so.
    pub size: Option<u64>,
}

/// Values of one key.
struct Values {
    ty: Ty,
    size: Option<u64>,
    /// NULL is not among them.
    solid: bool,
}

/// `SELECT x0.k AS k0, … FROM (…) AS x0(k) CROSS JOIN …`
pub(crate) fn domain(select: &Select, context: Context<'_>) -> Result<Domain> {
    plain_select(select)?;
    no_conditions(select)?;
    let [from] = select.from.as_slice() else { return refuse("a domain of an unknown kind", select) };
    let crossed = from.joins.iter().map(|j| match j.join_operator {
        JoinOperator::CrossJoin(JoinConstraint::None) if !j.global => Ok(&j.relation),
        _ => refuse("a domain that is no cross join", &j.relation),
    });
    let mut columns = Vec::new();
    let mut size = Some(1u64);
    let mut from = std::iter::once(Ok(&from.relation)).chain(crossed);
    for (item, name) in items(select)? {
        let Some(factor) = from.next() else { return refuse("a domain with a column twice", item) };
        let TableFactor::Derived { lateral: false, subquery, alias, sample: None } = factor? else {
            return refuse("a domain of an unknown kind", select);
        };
        let named = alias_of(alias.as_ref())?;
        let [column] = named.iter().flat_map(|(_, c)| c).collect::<Vec<_>>()[..] else {
            return refuse("a domain of an unknown kind", subquery);
        };
        let column = named.as_ref().map(|(alias, _)| (alias.clone(), column.clone()));
        if column_of(item) != column || name.is_empty() {
            return refuse("a domain whose columns are not those of its parts, in order", item);
        }
        let values = values(plain_query(subquery)?, context)?;
        size = size.zip(values.size).and_then(|(a, b)| a.checked_mul(b));
        columns.push((name, Found::of(values.ty)));
    }
    match from.next() {
        None => Ok(Domain { rows: Rc::new(Rows { columns, ..Rows::default() }), size }),
        Some(_) => refuse("a domain with a part that no column shows", select),
    }
}

fn no_conditions(select: &Select) -> Result<()> {
    match (&select.selection, &select.group_by) {
        (None, GroupByExpr::Expressions(g, m)) if g.is_empty() && m.is_empty() => Ok(()),
        _ => refuse("a domain with conditions", select),
    }
}

fn values(body: &SetExpr, context: Context<'_>) -> Result<Values> {
    match body {
        SetExpr::Query(query) => values(plain_query(query)?, context),
        SetExpr::SetOperation { left, op: SetOperator::Union, set_quantifier: SetQuantifier::All, right } => {
            let last = constant(right, context)?;
            // Both truth values.
            if let (Some(("true", ty)), Some(("false", _))) = (&constant(left, context)?, &last) {
                return Ok(Values { ty: ty.clone(), size: Some(2), solid: true });
            }
            let rest = values(left, context)?;
            match last {
                Some(("NULL", ty))
                    if rest.solid && (ty == rest.ty || (ty.is_exact() && rest.ty.is_exact())) =>
                {
                    let size = rest.size.and_then(|n| n.checked_add(1));
                    Ok(Values { ty: rest.ty.or(ty), size, solid: false })
                }
                _ => refuse("a domain whose values could come twice", body),
            }
        }
        SetExpr::Select(select) => one(select, context),
        _ => refuse("a domain of an unknown kind", body),
    }
}

/// `SELECT true`, `SELECT false`, `SELECT NULL::t`.
fn constant(body: &SetExpr, context: Context<'_>) -> Result<Option<(&'static str, Ty)>> {
    let SetExpr::Select(select) = body else { return Ok(None) };
    if !select.from.is_empty() || select.selection.is_some() {
        return Ok(None);
    }
    plain_select(select)?;
    no_conditions(select)?;
    let frame = Frame::stage(Vec::new(), context);
    let [(item, _)] = items(select)?[..] else { return Ok(None) };
    walk(item, &frame, Allowed::default(), &mut Vec::new())?;
    let ty = type_of(item, &frame, context.policy);
    let value = |e: &Expr| match e {
        Expr::Value(v) => Some(v.value.clone()),
        _ => None,
    };
    Ok(match item {
        Expr::Cast { expr, .. } if value(expr) == Some(Value::Null) => Some(("NULL", ty)),
        e if value(e) == Some(Value::Boolean(true)) => Some(("true", ty)),
        e if value(e) == Some(Value::Boolean(false)) => Some(("false", ty)),
        _ => None,
    })
}

/// One SELECT that gives each value once.
fn one(select: &Select, context: Context<'_>) -> Result<Values> {
    let distinct = distinct_select(select)?;
    let [(item, _)] = items(select)?[..] else { return refuse("a domain of several columns", select) };
    if !matches!(&select.group_by, GroupByExpr::Expressions(g, m) if g.is_empty() && m.is_empty()) {
        return refuse("a domain that groups", select);
    }
    let [from] = select.from.as_slice() else {
        let none = matches!(&select.selection, Some(Expr::Value(v)) if v.value == Value::Boolean(false));
        let frame = Frame::stage(Vec::new(), context);
        walk(item, &frame, Allowed::default(), &mut Vec::new())?;
        return match select.from.is_empty() && none {
            true => Ok(Values { ty: type_of(item, &frame, context.policy), size: Some(0), solid: true }),
            false => refuse("a domain of an unknown kind", select),
        };
    };
    if !from.joins.is_empty() {
        return refuse("a domain with joins", select);
    }
    let (scan, given) = scan(&from.relation, context)?;
    let frame = Frame::stage(vec![scan], context);
    walk(item, &frame, Allowed::default(), &mut Vec::new())?;
    let ty = type_of(item, &frame, context.policy);
    // NULL comes of NULL alone: in constants that are not NULL, steps of a series, and where the condition says so.
    let inner = match item {
        Expr::Cast { expr, .. } => strip(expr),
        e => e,
    };
    let mut solid = !matches!(given, Given::Table) && keeps_null_out(inner);
    for e in conjuncts(select.selection.as_ref()) {
        match strip(e) {
            Expr::IsNotNull(x) if column_of(x).is_some() => solid |= column_of(x) == column_of(inner),
            e => return refuse("a condition in a domain", e),
        }
        walk(e, &frame, Allowed::default(), &mut Vec::new())?;
    }
    let size = match &given {
        Given::Values(n) => Some(*n),
        Given::Series(s) => s.as_ref().map(|s| s.count),
        Given::Table => None,
    };
    let apart = match &given {
        // Steps stay apart as numerics, and as integers where they are integers.
        Given::Series(Some(s)) if matches!(inner, Expr::CompoundIdentifier(_)) => {
            matches!(ty, Ty::Exact | Ty::Integral) || (ty.is_integral() && s.whole)
        }
        // Days as dates.
        Given::Series(None) => ty == Ty::Date && days(&from.relation) && column_of(inner).is_some(),
        _ => false,
    };
    match distinct || apart {
        true => Ok(Values { ty, size, solid }),
        false => refuse("a domain whose values could come twice", select),
    }
}

/// A column, or what is NULL only where a column is.
fn keeps_null_out(e: &Expr) -> bool {
    match e {
        Expr::Nested(x) | Expr::Cast { expr: x, .. } => keeps_null_out(x),
        Expr::Function(f) => match (callee(f), arguments(f)) {
            (Ok(Callee::Pure(name)), Ok((args, false, false))) if name == "date_trunc" => match args[..] {
                [unit, x] => !has_null(unit) && keeps_null_out(x),
                _ => false,
            },
            _ => false,
        },
        e => column_of(e).is_some(),
    }
}

enum Given {
    /// So many constants.
    Values(u64),
    Series(Option<Series>),
    Table,
}

struct Series {
    count: u64,
    /// First value and step are integers.
    whole: bool,
}

fn scan(factor: &TableFactor, context: Context<'_>) -> Result<(Scan, Given)> {
    let nothing = Frame::stage(Vec::new(), context);
    let rows = |ty: Ty, alias: Option<&TableAlias>| match alias_of(alias)? {
        Some((alias, columns)) if columns.len() == 1 => {
            let columns = columns.into_iter().map(|c| (c, Found::of(ty.clone()))).collect();
            Ok(Scan { alias, source: Source::Rows(Rc::new(Rows { columns, ..Rows::default() })) })
        }
        _ => refuse("a domain without a name", factor),
    };
    match factor {
        TableFactor::Derived { lateral: false, subquery, alias, sample: None } => {
            let SetExpr::Values(list) = plain_query(subquery)? else {
                return refuse("a domain of an unknown kind", subquery);
            };
            let (mut ty, mut seen) = (None, HashSet::new());
            for row in &list.rows {
                let [e] = row.content.as_slice() else {
                    return refuse("a domain of several columns", subquery);
                };
                walk(e, &nothing, Allowed::default(), &mut Vec::new())?;
                let own = type_of(e, &nothing, context.policy);
                if matches!(own, Ty::Null | Ty::Unknown) || has_null(e) {
                    return refuse("a domain with a value of an unknown kind", e);
                }
                ty = match ty {
                    None => Some(own),
                    Some(t) if t == own => Some(t),
                    Some(_) => return refuse("a domain of several types", e),
                };
                seen.insert(e.to_string());
            }
            let Some(ty) = ty else { return refuse("a domain without values", subquery) };
            let count = u64::try_from(seen.len()).unwrap_or(u64::MAX);
            Ok((rows(ty, alias.as_ref())?, Given::Values(count)))
        }
        TableFactor::Table { name, args: Some(_), alias, .. } => {
            let args = series_arguments(factor)?;
            if catalog(name)?.as_deref() != Some("generate_series") {
                return refuse("a function in FROM that is no series", name);
            }
            for e in &args {
                walk(e, &nothing, Allowed::default(), &mut Vec::new())?;
            }
            let ty = args.first().map_or(Ty::Unknown, |e| type_of(e, &nothing, context.policy));
            let numeric = args.iter().all(|e| type_of(e, &nothing, context.policy).is_exact());
            let series = if numeric { Some(count(&args)?) } else { None };
            let ty = match ty {
                Ty::Date => Ty::Timestamptz,
                _ if series.as_ref().is_some_and(|s| s.whole) => Ty::Integral,
                _ if numeric => Ty::Exact,
                ty => ty,
            };
            Ok((rows(ty, alias.as_ref())?, Given::Series(series)))
        }
        TableFactor::Table { alias, .. } => {
            let at = table_of(factor, context)?;
            let public = context.policy.tables.get(at).is_some_and(|t| t.privacy == Privacy::Public);
            match alias_of(alias.as_ref())? {
                Some((alias, columns)) if public && columns.is_empty() => {
                    Ok((Scan { alias, source: Source::Table(at) }, Given::Table))
                }
                _ => refuse("a domain that reads a private table", factor),
            }
        }
        _ => refuse("a domain of an unknown kind", factor),
    }
}

/// Whether a constant has NULL in it.
fn has_null(e: &Expr) -> bool {
    match e {
        Expr::Nested(x) | Expr::Cast { expr: x, .. } => has_null(x),
        Expr::Value(v) => v.value == Value::Null,
        Expr::Function(f) => arguments(f).is_ok_and(|(args, ..)| args.into_iter().any(has_null)),
        Expr::UnaryOp { expr, .. } => has_null(expr),
        _ => true,
    }
}

fn series_arguments(factor: &TableFactor) -> Result<Vec<&Expr>> {
    let TableFactor::Table {
        name: _,
        alias: _,
        args: Some(TableFunctionArgs { args, settings: None }),
        with_hints,
        version: None,
        with_ordinality: false,
        partitions,
        json_path: None,
        sample: None,
        index_hints,
    } = factor
    else {
        return refuse("a series of an unknown kind", factor);
    };
    if !(with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty()) || args.len() != 3 {
        return refuse("a series of an unknown kind", factor);
    }
    let one = |a| match a {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref e)) => Ok(e),
        _ => refuse("a series of an unknown kind", factor),
    };
    args.iter().map(one).collect()
}

/// Midnights without a time zone, a day apart.
fn days(factor: &TableFactor) -> bool {
    let Ok(args) = series_arguments(factor) else { return false };
    let cast = |e: &Expr| match e {
        Expr::Cast { expr, data_type: DataType::Custom(name, _), .. } => match (&**expr, catalog(name)) {
            (Expr::Value(v), Ok(Some(ty))) => v.value.clone().into_string().map(|s| (s, ty)),
            _ => None,
        },
        _ => None,
    };
    match args.into_iter().map(cast).collect::<Option<Vec<_>>>().as_deref() {
        Some([(_, a), (_, b), (step, c)]) => {
            a == "timestamp" && b == "timestamp" && c == "interval" && step == "1 day"
        }
        _ => false,
    }
}

/// How many steps a series of constants has.
fn count(args: &[&Expr]) -> Result<Series> {
    let numbers: Vec<(i128, u32)> = args.iter().filter_map(|e| decimal(e)).collect();
    let &[start, stop, step] = numbers.as_slice() else {
        return refuse("a series whose ends are no constants", "");
    };
    let digits = start.1.max(stop.1).max(step.1);
    let scaled = |(n, d): (i128, u32)| 10i128.checked_pow(digits - d).and_then(|p| n.checked_mul(p));
    let (Some(a), Some(b), Some(s)) = (scaled(start), scaled(stop), scaled(step)) else {
        return refuse("a series with too many digits", "");
    };
    let whole = |(n, d): (i128, u32)| 10i128.checked_pow(d).is_some_and(|p| n % p == 0);
    let steps = b.checked_sub(a).and_then(|d| if s > 0 { Some(d.div_euclid(s)) } else { None });
    match steps.map(|n| u64::try_from(n.saturating_add(1).max(0))) {
        Some(Ok(count)) => Ok(Series { count, whole: whole(start) && whole(step) }),
        _ => refuse("a series that does not rise", ""),
    }
}

/// A decimal constant: its digits, and how many stand behind the point.
fn decimal(e: &Expr) -> Option<(i128, u32)> {
    match e {
        Expr::Nested(x) => decimal(x),
        Expr::Cast { expr, data_type: DataType::Custom(name, _), .. } => {
            catalog(name).ok().flatten().filter(|n| n == "numeric")?;
            decimal(expr)
        }
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => decimal(expr).map(|(n, d)| (-n, d)),
        Expr::Value(v) => match &v.value {
            Value::Number(n, false) => {
                let (whole, part) = n.split_once('.').unwrap_or((n, ""));
                let digits = digits_of(&format!("{whole}{part}"))?;
                Some((digits, u32::try_from(part.len()).ok()?))
            }
            _ => None,
        },
        _ => None,
    }
}

/// `of.k = d.k` for each key, in order, NULL with NULL where both stand in ARRAY.
pub(crate) fn matches(on: &Expr, of: (&str, &[(String, Found)]), d: (&str, &Domain)) -> Result<()> {
    let columns = &d.1.rows.columns;
    let mut left: Vec<bool> = vec![true; columns.len()];
    for e in conjuncts(Some(on)) {
        let Expr::BinaryOp { left: a, op: BinaryOperator::Eq, right: b } = strip(e) else {
            return refuse("a join with a domain that is no equality", e);
        };
        let (a, b) = match (&**a, &**b) {
            (Expr::Array(x), Expr::Array(y)) => match (x.elem.as_slice(), y.elem.as_slice()) {
                ([a], [b]) if x.named && y.named => (a, b),
                _ => return refuse("a join with a domain that is no equality", e),
            },
            (a, b) => (a, b),
        };
        let collated = |e: &Expr| match e {
            Expr::Collate { collation, .. } => matches!(catalog(collation), Ok(Some(c)) if c == "default"),
            _ => true,
        };
        let bare = |e: &Expr| match e {
            Expr::Collate { expr, .. } => column_of(expr),
            e => column_of(e),
        };
        let ours = |c: &Option<(String, String)>, scan: &str, columns: &[(String, Found)]| {
            c.as_ref().filter(|c| c.0 == scan).and_then(|c| columns.iter().position(|(n, _)| *n == c.1))
        };
        let (x, y) = (bare(a), bare(b));
        let found = ours(&x, of.0, of.1).zip(ours(&y, d.0, columns));
        let found = found.or_else(|| ours(&y, of.0, of.1).zip(ours(&x, d.0, columns)));
        let Some((i, j)) = found.filter(|(i, j)| i == j && collated(a) && collated(b)) else {
            return refuse("a join with a domain by something else than its keys, in order", e);
        };
        let pair = of.1.get(i).zip(columns.get(j));
        // Converted to another type, two rows of the domain could be one.
        if !pair.is_some_and(|((_, a), (_, b))| a.ty.compares_exactly(&b.ty)) {
            return refuse("a join with a domain of another type", e);
        }
        if let Some(open) = left.get_mut(i) {
            *open = false;
        }
    }
    match left.len() == of.1.len() && left.iter().all(|open| !open) {
        true => Ok(()),
        false => refuse("a join with a domain by some of its keys only", on),
    }
}

/// Names in FROM that stand for stages.
pub(crate) fn stage_of(factor: &TableFactor) -> Result<Option<String>> {
    let TableFactor::Table {
        name,
        alias: None,
        args: None,
        with_hints,
        version: None,
        with_ordinality: false,
        partitions,
        json_path: None,
        sample: None,
        index_hints,
    } = factor
    else {
        return Ok(None);
    };
    let bare = with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty();
    match name.0.as_slice() {
        [one] if bare => one.as_ident().map(ident).transpose(),
        _ => Ok(None),
    }
}
