//! Members of json values: `payload->>'device'`, `payload->'device'->>'os'`, `payload #>> '{device,os}'`, where the policy
//! declares the path.
//!
//! Values are jsonb, of which every one that is stored can be read: the text of a json is parsed anew for each row, and
//! fails at what it writes as `\u0000`. A member is a text where it is a string, a number or a truth value. Objects and lists
//! are NULL, since writing one out takes as long as it is large; and so is all of a value that takes more than 4,096 bytes as it
//! is stored, since what is compressed may be some hundred times as long (soundness rule 38).

use super::columns::Columns;
use super::constant_text;
use super::facts::Facts;
use super::leaves::column_scalar;
use super::print::{Print, string};
use super::refusal::{Result, refusal, refused};
use super::scalar::{Node, Param, Scalar};
use super::table::{Entry, Function};
use crate::expr::domain::Domain;
use crate::expr::interval::Interval;
use crate::refusals::text::Member;
use crate::refusals::value::{Unfit, Value};
use policy::{JsonPath, is_jsonb};
use schema::SqlType;
use sql::ast::{BinaryOp, Expr, ExprKind, Literal, Pos};

/// Bytes of a value as it is stored.
const MOST_STORED: u64 = 4_096;

/// No compression of PostgreSQL's makes less than a byte of so many.
const MOST_EXPANDED: u64 = 255;

/// Twice a megabyte is unpacked, which is what so many bytes can hold.
const COST: u64 = 600_000;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    form: "x->>'a', x->'a'->>'b', x #>> '{a,b}'",
    types: "jsonb → text",
    total: "of paths that the policy declares; a member that is no string, number or truth value is NULL, and so is one of a \
            value that takes more than 4,096 bytes as it is stored",
    range: "the values that the policy lists; cast to a number, the range that it declares; NULL where there is no such member",
    cost: "600,000",
    samples: &["({j}->>'kind')", "({j}->'size'->>'cm')::int4", "({j}->>'price')::numeric", "({j}->>'free')"],
}];

const MEMBER: Function = Function::plain("jsonb_extract_path_text", rule, text);

/// Whether it is a member of a json value.
pub(crate) fn is_member(x: &Scalar) -> bool {
    matches!(x.node, Node::Apply(_, _, Param::Path(_)))
}

/// A member of a column.
pub(super) fn member(op: BinaryOp, left: &Expr, right: &Expr, env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    if op == BinaryOp::Member {
        return refused(Member::NoText, pos);
    }
    let mut keys = match op {
        BinaryOp::PathText => elements(right, pos)?,
        _ => vec![key(right, pos)?],
    };
    let mut of = left;
    while let ExprKind::Binary { op: BinaryOp::Member, left, right } = &of.kind {
        keys.insert(0, key(right, pos)?);
        of = left;
    }
    let not_column = || refusal(Member::OfNoColumn, pos);
    let ExprKind::Column { binding, column } = &of.kind else { return Err(not_column()) };
    if env.computed(*binding, *column).is_some() {
        return refused(Member::OfComputed, pos);
    }
    let Some(info) = env.column(*binding, *column) else { return Err(not_column()) };
    if !is_jsonb(&info.column.ty) {
        return Err(not_column());
    }
    let declared = &info.column.paths;
    let Some(path) = declared.iter().find(|p| p.keys == keys) else {
        let (column, declared) = (info.column.name.clone(), declared.clone());
        let wanted = Box::new(JsonPath { keys, values: None, range: None });
        return refused(Member::Undeclared { column, wanted, declared }, pos);
    };
    let x = column_scalar(*binding, *column, env, pos)?;
    Scalar::apply(&MEMBER, vec![x], Param::Path(Box::new(path.clone()))).map_err(|r| r.at(pos))
}

/// The policy's range of a member as a number: declared as such, or that of its values.
pub(super) fn declared_range(x: &Scalar) -> Option<Interval> {
    let Node::Apply(_, _, Param::Path(path)) = &x.node else { return None };
    if let Some((low, high)) = &path.range {
        return Some(Interval::new(low.clone(), high.clone()));
    }
    let numbers = path.values.as_ref()?.iter().map(|v| policy::decimal_text(v, 10));
    let points = numbers.map(|n| Some(Interval::point(n?))).collect::<Option<Vec<_>>>()?;
    points.into_iter().reduce(|a, b| a.hull(&b))
}

/// The name of a member.
fn key(e: &Expr, pos: Pos) -> Result<String> {
    constant_text(e).cloned().ok_or_else(|| refusal(Member::Name, pos))
}

/// The names of `'{a,b}'`.
fn elements(e: &Expr, pos: Pos) -> Result<Vec<String>> {
    let wrong = || refusal(Member::Path, pos);
    let text = match &e.kind {
        ExprKind::Literal(Literal::String(s)) => s,
        _ => return Err(wrong()),
    };
    let inner = text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}')).ok_or_else(wrong)?;
    let names: Vec<String> = inner.split(',').map(|n| n.trim().to_owned()).collect();
    let odd =
        |n: &String| n.is_empty() || n.contains(['"', '\\', '{', '}']) || n.eq_ignore_ascii_case("null");
    if names.iter().any(odd) { Err(wrong()) } else { Ok(names) }
}

fn rule(args: &[Scalar], param: &Param) -> Result<Facts, Value> {
    let ([x], Param::Path(path)) = (args, param) else { return Err(Unfit::MemberOf.into()) };
    if !matches!(x.node, Node::Column { .. }) || !is_jsonb(&x.facts.ty) {
        return Err(Unfit::MemberRead.into());
    }
    Ok(Facts {
        domain: path.values.clone().map(Domain::Values),
        longest: MOST_STORED * MOST_EXPANDED,
        cost: COST,
        ..Facts::of_type(SqlType::Text, true)
    })
}

fn text(_: &Scalar, args: &[Scalar], param: &Param, print: Print) -> String {
    let (Some(x), Param::Path(path)) = (args.first(), param) else { return "NULL".into() };
    let x = print(x);
    let keys: Vec<String> = path.keys.iter().map(|k| string(k)).collect();
    let of = format!("{x}, {}", keys.join(", "));
    format!(
        "(CASE WHEN pg_catalog.pg_column_size({x}) <= {MOST_STORED} THEN CASE WHEN pg_catalog.jsonb_typeof(pg_catalog.jsonb_extract_path({of})) IN ('string', 'number', 'boolean') THEN pg_catalog.jsonb_extract_path_text({of}) END END)"
    )
}
