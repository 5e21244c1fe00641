//! Short names for the parts of a tree that estimates are made of.

use crate::ast::*;
use schema::SqlType;

/// A column of a binding.
pub fn column(binding: BindingId, column: usize) -> Expr {
    Expr::new(ExprKind::Column { binding, column }, None)
}

/// A whole number.
pub fn whole(n: usize) -> Expr {
    Expr::new(ExprKind::Literal(Literal::Number(n.to_string())), None)
}

/// A float8 constant, with every digit that it has.
pub fn float(x: f64) -> Expr {
    cast(Expr::new(ExprKind::Literal(Literal::String(format!("{x:e}"))), None), SqlType::Float8)
}

/// A string of unknown type.
pub fn string(s: &str) -> Expr {
    Expr::new(ExprKind::Literal(Literal::String(s.to_owned())), None)
}

/// NULL.
pub fn null() -> Expr {
    Expr::new(ExprKind::Literal(Literal::Null), None)
}

/// A cast.
pub fn cast(e: Expr, ty: SqlType) -> Expr {
    Expr::new(ExprKind::Cast { expr: Box::new(e), ty: CastType { ty, modifier: String::new() } }, None)
}

/// A binary operator.
pub fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::new(ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }, None)
}

/// `a * b`
pub fn times(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Mul, a, b)
}

/// `a - b`
pub fn minus(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Sub, a, b)
}

/// A function of `pg_catalog`, or one that is syntax.
pub fn call(name: &'static str, args: Vec<Expr>) -> Expr {
    Expr::new(ExprKind::Call { name, args }, None)
}

/// `CASE WHEN test THEN yes ELSE no END`
pub fn choose(test: Expr, yes: Expr, no: Option<Expr>) -> Expr {
    Expr::new(ExprKind::Case { branches: vec![(test, yes)], otherwise: no.map(Box::new) }, None)
}

/// `COALESCE(e, 0)`
pub fn or_zero(e: Expr) -> Expr {
    call("coalesce", vec![e, float(0.0)])
}

/// An aggregate with a FILTER, if there is one.
pub fn aggregate(name: &'static str, args: Vec<Expr>, filter: Option<Expr>) -> Expr {
    let (order_by, within_group) = (Vec::new(), Vec::new());
    let origin = Origin::AddedBy(Rule::Collected);
    let aggregate = Aggregate { name, args, distinct: false, order_by, filter, within_group, origin };
    Expr::new(ExprKind::Aggregate(Box::new(aggregate)), None)
}

/// `function OVER ()`
pub fn over_all(function: Expr) -> Expr {
    over(function, Vec::new())
}

/// `function OVER (ORDER BY …)`
pub fn over(function: Expr, order_by: Vec<OrderItem>) -> Expr {
    let function = Box::new(function);
    Expr::new(ExprKind::Window { function, partition_by: Vec::new(), order_by, frame: None }, None)
}

/// An item of a select list.
pub fn item(expr: Expr, name: &str) -> Item {
    Item { expr, name: name.to_owned() }
}

/// A query that is this SELECT alone.
pub fn query(select: Select) -> Query {
    Query::of(Body::Select(Box::new(select)))
}

/// A relation in FROM.
pub fn relation(binding: BindingId, query: Option<Query>) -> From {
    From::Relation { binding, query: query.map(Box::new), lateral: false, pos: None }
}

/// A cross join.
pub fn cross(left: From, right: From) -> From {
    let (left, right) = (Box::new(left), Box::new(right));
    From::Join { left, right, kind: JoinKind::Inner, on: None, pos: None }
}
