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
use super::refusal::{Refusal, Result, refuse};
use super::scalar::{Node, Param, Scalar};
use super::table::{Entry, Function};
use crate::expr::domain::Domain;
use crate::expr::interval::Interval;
use answer::ClientError;
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
pub(super) fn member(e: &Expr, env: &dyn Columns) -> Result<Scalar> {
    let ExprKind::Binary { op, left, right } = &e.kind else { return Err(refuse("this member", e.pos)) };
    if *op == BinaryOp::Member {
        return Err(refuse("a part of a json value that is no text", e.pos)
            .hint("End with the text of a member: payload->'device'->>'os'."));
    }
    let mut keys = match op {
        BinaryOp::PathText => elements(right, e.pos)?,
        _ => vec![key(right, e.pos)?],
    };
    let mut of = &**left;
    while let ExprKind::Binary { op: BinaryOp::Member, left, right } = &of.kind {
        keys.insert(0, key(right, e.pos)?);
        of = left;
    }
    let not_column = || {
        refuse("a member of anything but a column of type jsonb", e.pos)
            .hint("Write the column's name: payload->>'device'.")
    };
    let ExprKind::Column { binding, column } = &of.kind else { return Err(not_column()) };
    if env.computed(*binding, *column).is_some() {
        return Err(refuse("a member of what a subquery over several rows computes", e.pos)
            .hint("Select the member in the subquery: payload->>'device' AS device."));
    }
    let Some(info) = env.column(*binding, *column) else { return Err(not_column()) };
    if !is_jsonb(&info.column.ty) {
        return Err(not_column());
    }
    let declared = &info.column.paths;
    let Some(path) = declared.iter().find(|p| p.keys == keys) else {
        return Err(undeclared(&info.column.name, &keys, declared, e.pos));
    };
    let x = column_scalar(*binding, *column, env, e.pos)?;
    Scalar::apply(&MEMBER, vec![x], Param::Path(Box::new(path.clone()))).map_err(|r| r.at(e.pos))
}

/// Where the policy says that a member lies as a number: in its range, or among its values.
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
    constant_text(e).cloned().ok_or_else(|| {
        refuse("a member whose name is not a constant text", pos)
            .hint("Write the name of a member: payload->>'device'. Elements of lists have none.")
    })
}

/// The names of `'{a,b}'`.
fn elements(e: &Expr, pos: Pos) -> Result<Vec<String>> {
    let wrong = || refuse("this path of members", pos).hint("Write their names: payload #>> '{device,os}'.");
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

fn undeclared(column: &str, keys: &[String], declared: &[JsonPath], pos: Pos) -> ClientError {
    let wanted = JsonPath { keys: keys.to_vec(), values: None, range: None };
    let hint = match declared {
        [] => format!(
            "Ask the owner to declare it in the policy: columns.{column} = {{ paths = {{ \"{}\" = {{}} }} }}.",
            keys.join(".")
        ),
        list => {
            let all: Vec<String> = list.iter().map(|p| p.written(column)).collect();
            format!("Declared are {}.", all.join(", "))
        }
    };
    refuse(&format!("{}, which the policy does not declare,", wanted.written(column)), pos).hint(hint)
}

fn rule(args: &[Scalar], param: &Param) -> std::result::Result<Facts, Refusal> {
    let ([x], Param::Path(path)) = (args, param) else { return Err(Refusal::new("a member of this")) };
    if !matches!(x.node, Node::Column { .. }) || !is_jsonb(&x.facts.ty) {
        return Err(Refusal::new("a member of anything but a column of type jsonb"));
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
