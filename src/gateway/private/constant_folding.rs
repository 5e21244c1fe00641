//! Constants that only PostgreSQL can evaluate, parameters among them: asked for in one round trip, before the
//! statement is planned, and put into it as typed constants. No row of any table is read.

use super::parameters;
use crate::gateway::session::ask::Ask;
use crate::gateway::typing_error;
use answer::Values;
use answer::{ClientError, SqlState};
use backend::{RelayError, Setting, Settings};
use emit::print::{self, Constants};
use policy::{Policy, Privacy};
use schema::SqlType;
use sql::ast::*;
use sql::constants::{Wanted, constants, is_read_by_settings, visit};

/// Elements of an array that `<`, `>` and their like may be compared with.
const CHAIN: usize = 100;

/// `name`, in pg_type.
const NAME: u32 = 19;

/// A constant's value.
enum Value {
    Scalar(Option<String>, SqlType),
    /// An array; None is a NULL array.
    Array(Option<Vec<Option<String>>>, SqlType),
}

impl Ask<'_> {
    /// Replaces parameters, and in statements over private rows every constant that the planner cannot compute, by
    /// their values.
    pub async fn fold(
        &self,
        statement: &mut Statement,
        policy: &Policy,
        texts: &Constants,
        types: &[u32],
        values: &Values,
    ) -> Result<(), ClientError> {
        let wanted = if reads_private(statement, policy) { Wanted::Values } else { Wanted::Parameters };
        if wanted == Wanted::Values {
            give_types(statement, policy);
        }
        // Plain dates need no round trip.
        visit(statement, wanted, &mut |e, array| {
            if let Some(value) = plan::expr::constant::evaluate(e, None).filter(|_| !array) {
                *e = value;
            }
        });
        let found = constants(statement, wanted);
        let zones = if wanted == Wanted::Values { zones(statement) } else { Vec::new() };
        if found.is_empty() && zones.is_empty() {
            return Ok(());
        }
        let mut list: Vec<(&Expr, bool)> = found.iter().map(|c| (&c.expr, c.array)).collect();
        list.extend(zones.iter().map(|e| (e, false)));
        let text = print::constants(statement, &list, policy, texts);
        let params = parameters::params(types, values);
        let settings = round_trip(&self.settings.backend());
        let backend = &self.gateway.backend;
        let failed = |e: RelayError| typing_error(e, &text, &statement.bindings);
        let rows =
            backend.serve(self.behalf(true), &settings, &text.sql, &params, &[0]).await.map_err(failed)?;
        let rows = rows.into_texts().await.map_err(failed)?;
        let cells: Vec<Option<String>> = rows.into_iter().flatten().collect();
        let mut answers = Vec::with_capacity(found.len());
        let mut names = Vec::new();
        for (constant, cells) in found.iter().zip(cells.chunks_exact(2)) {
            let [text, oid] = cells else { return Err(defect()) };
            let oid = oid.as_ref().and_then(|o| o.parse().ok()).ok_or_else(defect)?;
            answers.push(value(text.as_deref(), oid, constant.array, policy, constant.expr.pos)?);
            if oid == NAME {
                names.extend(shown_as(&statement.query, &constant.expr));
            }
        }
        if answers.len() != found.len() {
            return Err(defect());
        }
        let mut failure = None;
        visit(statement, wanted, &mut |e, array| {
            let at = found.iter().position(|c| c.array == array && c.expr == *e);
            match at.and_then(|at| answers.get(at)) {
                Some(Value::Scalar(text, ty)) => *e = parameters::constant(text.as_deref(), ty, e.pos),
                Some(Value::Array(None, ty)) => *e = parameters::constant(None, ty, e.pos),
                Some(Value::Array(Some(list), ty)) => {
                    let list = list.iter().map(|x| parameters::constant(x.as_deref(), ty, e.pos)).collect();
                    *e = Expr::new(ExprKind::Array(list), e.pos);
                }
                None => failure = Some(defect()),
            }
        });
        failure.map_or(Ok(()), Err)?;
        keep_names(&mut statement.query, &names);
        comparisons(statement, policy.limits.max_in_list)
    }
}

/// Strings beside a moment that styles or names of zones decide about are constants of its type, as PostgreSQL makes them.
fn give_types(statement: &mut Statement, policy: &Policy) {
    let Statement { query, bindings, .. } = statement;
    query.each_expr(&mut |e| {
        let (typed, strings): (&Expr, Vec<&mut Expr>) = match &mut e.kind {
            ExprKind::Binary { op, left, right } if is_comparison(*op) => {
                match moment_type(left, bindings, policy).is_some() {
                    true => (left, vec![right]),
                    false => (right, vec![left]),
                }
            }
            ExprKind::Between { expr, low, high, .. } => (expr, vec![low, high]),
            ExprKind::In { expr, list, .. } => (expr, list.iter_mut().collect()),
            _ => return,
        };
        let Some(ty) = moment_type(typed, bindings, policy) else { return };
        for string in strings {
            if is_read_by_settings(string) {
                let ty = CastType { ty: ty.clone(), modifier: String::new() };
                string.kind = ExprKind::Cast { expr: Box::new(string.clone()), ty };
            }
        }
    });
}

fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::{Distinct, Eq, Ge, Gt, Le, Lt, Ne, NotDistinct};
    matches!(op, Eq | Ne | Lt | Le | Gt | Ge | Distinct | NotDistinct)
}

/// The type of an expression that is a date or a timestamp, where that is seen at once.
fn moment_type(e: &Expr, bindings: &Bindings, policy: &Policy) -> Option<SqlType> {
    let ty = match &e.kind {
        ExprKind::Column { binding, column } => {
            let binding = bindings.get(*binding)?;
            let Source::Table(table) = binding.source else { return None };
            // An alias may call its columns otherwise.
            policy.tables.get(table)?.columns.get(*column)?.ty.clone()
        }
        ExprKind::Cast { ty, .. } => ty.ty.clone(),
        ExprKind::Call { name: "date_trunc", args } => match moment_type(args.get(1)?, bindings, policy)? {
            SqlType::Date => SqlType::Timestamptz,
            ty => ty,
        },
        ExprKind::AtTimeZone { expr, .. } => match moment_type(expr, bindings, policy)? {
            SqlType::Timestamptz => SqlType::Timestamp,
            _ => SqlType::Timestamptz,
        },
        _ => return None,
    };
    Some(ty).filter(SqlType::is_datetime)
}

/// Columns of the statement that are nothing but this constant, and that it is not grouped by.
fn shown_as(query: &Query, constant: &Expr) -> Vec<usize> {
    let Body::Select(select) = &query.body else { return Vec::new() };
    let items = select.items.iter().enumerate();
    let shown = items.filter(|(_, i)| i.expr == *constant && !select.group_by.contains(&i.expr));
    shown.map(|(at, _)| at).collect()
}

/// Names that are shown stay names. Elsewhere they are texts.
fn keep_names(query: &mut Query, at: &[usize]) {
    let Body::Select(select) = &mut query.body else { return };
    for at in at {
        if let Some(item) = select.items.get_mut(*at) {
            let ty = SqlType::Other { oid: NAME, name: "pg_catalog.name".into() };
            let text = Box::new(item.expr.clone());
            item.expr.kind = ExprKind::Cast { expr: text, ty: CastType { ty, modifier: String::new() } };
        }
    }
}

/// A moment in each time zone that the statement names: PostgreSQL says which it does not know, before anything is paid.
fn zones(statement: &mut Statement) -> Vec<Expr> {
    let mut found = Vec::new();
    statement.query.each_expr(&mut |e| {
        let zone = match &e.kind {
            ExprKind::AtTimeZone { zone, .. } => &**zone,
            ExprKind::Call { name: "timezone", args } => match args.as_slice() {
                [zone, _] => zone,
                _ => return,
            },
            _ => return,
        };
        if matches!(zone.kind, ExprKind::Literal(Literal::String(_))) {
            let moment =
                Box::new(parameters::constant(Some("2000-01-01 00:00:00"), &SqlType::Timestamp, e.pos));
            let there = ExprKind::AtTimeZone { expr: moment, zone: Box::new(zone.clone()) };
            found.push(Expr::new(there, e.pos));
        }
    });
    found
}

/// Whether any table of the statement is private.
fn reads_private(statement: &Statement, policy: &Policy) -> bool {
    statement.bindings.iter().any(|(_, b)| match b.source {
        Source::Table(t) => policy.tables.get(t).is_none_or(|t| t.privacy != Privacy::Public),
        _ => false,
    })
}

/// The session's settings, but for what would lose a part of a value on its way through text.
pub fn round_trip(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    let order = settings.get(Setting::DateStyle).rsplit(',').next().unwrap_or("MDY").trim().to_owned();
    settings.set(Setting::DateStyle, format!("ISO, {order}"));
    settings.set(Setting::ExtraFloatDigits, "3");
    settings.set(Setting::ByteaOutput, "hex");
    settings.set(Setting::IntervalStyle, "postgres");
    settings
}

fn value(text: Option<&str>, oid: u32, array: bool, policy: &Policy, pos: Pos) -> Result<Value, ClientError> {
    // `unknown`: a string that nothing gave a type.
    let ty = if oid == 705 { Some(SqlType::Text) } else { parameters::scalar(oid, policy) };
    let Some(ty) = ty else {
        return Err(ClientError::unsupported(format!(
            "a constant of this type (OID {oid}) is not supported"
        ))
        .hint("Cast it to a number, text, date, timestamp or boolean.")
        .at(pos));
    };
    Ok(match (text, array) {
        (text, false) => Value::Scalar(text.map(str::to_owned), ty),
        (None, true) => Value::Array(None, ty),
        (Some(json), true) => {
            let list = serde_json::from_str::<Vec<Option<String>>>(json).map_err(|_| defect())?;
            Value::Array(Some(list), ty)
        }
    })
}

fn defect() -> ClientError {
    ClientError::incident(
        SqlState::INTERNAL,
        "a constant could not be evaluated",
        &"the answer has another shape",
    )
}

/// `x op ANY (ARRAY[…])` as plain comparisons, now that the elements are known.
fn comparisons(statement: &mut Statement, limit: usize) -> Result<(), ClientError> {
    let mut failure = None;
    statement.query.each_expr(&mut |e| {
        let ExprKind::Any { op, expr, array, all } = &e.kind else { return };
        let null = matches!(&array.kind, ExprKind::Cast { expr, .. } if matches!(expr.kind, ExprKind::Literal(Literal::Null)));
        let list = match &array.kind {
            ExprKind::Array(list) => list.as_slice(),
            _ if null => &[],
            _ => return,
        };
        // Other comparisons than = and <> become a chain, each of them a level of the tree.
        let member = matches!((op, all), (BinaryOp::Eq, false) | (BinaryOp::Ne, true));
        let limit = if member { limit } else { limit.min(CHAIN) };
        if list.len() > limit {
            failure = Some(sql::parse::too_large("an array", "max_in_list", limit).at(e.pos));
            return;
        }
        let pos = e.pos;
        let compare = |x: &Expr| {
            let (left, right) = (expr.clone(), Box::new(x.clone()));
            Expr::new(ExprKind::Binary { op: *op, left, right }, pos)
        };
        let kind = match (list, op, all) {
            ([], ..) if null => parameters::constant(None, &SqlType::Bool, pos).kind,
            ([], ..) => ExprKind::Literal(Literal::Bool(*all)),
            _ if member => ExprKind::In { expr: expr.clone(), list: list.to_vec(), negated: *all },
            _ => {
                let op = if *all { BinaryOp::And } else { BinaryOp::Or };
                let joined = list.iter().map(compare).reduce(|a, b| {
                    Expr::new(ExprKind::Binary { op, left: Box::new(a), right: Box::new(b) }, pos)
                });
                joined.map_or(ExprKind::Literal(Literal::Bool(*all)), |e| e.kind)
            }
        };
        e.kind = kind;
    });
    failure.map_or(Ok(()), Err)
}
