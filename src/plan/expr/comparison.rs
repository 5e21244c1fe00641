//! Comparisons, truth values and lists: they look at values and change none.

use super::facts::{Facts, OF_FLOAT, Phys};
use super::print::{Print, collated, is_varied};
use super::refusal::{Result, refused};
use super::scalar::{Node, Scalar};
use super::table::Entry;
use super::{casts, dates, numbers};
use crate::refusals::value::Value;
use schema::SqlType;
use sql::ast::{BinaryOp, Is, Pos};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        form: "a = b, <>, <, <=, >, >=, IS [NOT] DISTINCT FROM, BETWEEN",
        types: "numbers; texts; dates and timestamps; intervals; booleans; one of enums, uuid, inet, cidr and time → boolean",
        total: "both sides are of types that PostgreSQL compares without a cast that could fail; texts under one collation",
        range: "NULL where a side is, but for IS DISTINCT FROM",
        cost: "10",
        samples: &[
            "({n} < {n})",
            "({n} = {c})",
            "({s} = {e})",
            "({t} >= {m})",
            "({n} BETWEEN {c} AND {n})",
            "({n} IS DISTINCT FROM {n})",
            "({f} > {n})",
        ],
    },
    Entry {
        form: "x [NOT] IN (constants)",
        types: "as for = → boolean",
        total: "as for =",
        range: "NULL where x or an item is",
        cost: "10 for each item",
        samples: &["({n} IN ({c}, {c}))", "({s} NOT IN ({e}, {e}))"],
    },
    Entry {
        form: "a AND b, a OR b, NOT a, x IS [NOT] NULL | TRUE | FALSE | UNKNOWN",
        types: "booleans (any type for IS NULL) → boolean",
        total: "nothing can fail",
        range: "three-valued logic; IS is never NULL",
        cost: "1",
        samples: &[
            "({b} AND {b})",
            "({b} OR {b})",
            "(NOT {b})",
            "({n} IS NULL)",
            "({s} IS NOT NULL)",
            "({b} IS NOT TRUE)",
        ],
    },
];

fn cost(parts: &[&Scalar]) -> u64 {
    parts.iter().fold(10, |sum: u64, x| sum.saturating_add(x.facts.cost))
}

/// A truth value; a bare NULL is one.
pub(super) fn truth(x: Scalar, pos: Pos) -> Result<Scalar> {
    match (&x.facts.ty, &x.node) {
        (SqlType::Bool, _) => Ok(x),
        (_, Node::Null) => Ok(Scalar::null(SqlType::Bool)),
        _ => refused(Value::Truth, pos),
    }
}

/// NOT of a truth value.
pub fn not(x: Scalar) -> Scalar {
    let facts = Facts::truth(x.facts.nullable, cost(&[&x]));
    Scalar::of(Node::Not(Box::new(x)), facts)
}

/// AND or OR of truth values.
pub fn logic(op: BinaryOp, l: Scalar, r: Scalar) -> Scalar {
    let facts = Facts::truth(l.facts.nullable || r.facts.nullable, cost(&[&l, &r]));
    Scalar::of(Node::Logic(op, Box::new(l), Box::new(r)), facts)
}

/// IS \[NOT\] NULL and its like: never NULL.
pub fn is(x: Scalar, what: Is, negated: bool) -> Scalar {
    let facts = Facts::truth(false, cost(&[&x]));
    Scalar::of(Node::Is(Box::new(x), what, negated), facts)
}

/// `[NOT] IN` a list of constants.
pub fn in_list(x: Scalar, items: Vec<Scalar>, negated: bool) -> Scalar {
    let nullable = x.facts.nullable || items.iter().any(|i| i.facts.nullable);
    let each = u64::try_from(items.len()).unwrap_or(u64::MAX).saturating_mul(10);
    let facts = Facts::truth(nullable, cost(&[&x]).saturating_add(each));
    Scalar::of(Node::In(Box::new(x), items, negated), facts)
}

/// `x [NOT] IN` these values; of nothing where `any` is false.
pub(crate) fn among(x: &Scalar, values: &[Scalar], any: Scalar, negated: bool, pos: Pos) -> Result<Scalar> {
    let each = |v: &Scalar| comparison(BinaryOp::Eq, x.clone(), v.clone(), pos);
    let mut each = values.iter().map(each).collect::<Result<Vec<_>>>()?;
    // In halves, so that the tree is not as deep as the list is long.
    while each.len() > 1 {
        let mut rest = each.into_iter();
        let mut half = Vec::with_capacity(rest.len() / 2 + 1);
        while let Some(a) = rest.next() {
            half.push(match rest.next() {
                Some(b) => logic(BinaryOp::Or, a, b),
                None => a,
            });
        }
        each = half;
    }
    let member = match each.pop() {
        Some(one) => logic(BinaryOp::And, any, one),
        None => Scalar::constant_truth(false),
    };
    Ok(if negated { not(member) } else { member })
}

/// A comparison of values that `comparison` let meet, with its sides exchanged or its operator turned round.
pub fn compared(op: BinaryOp, l: Scalar, r: Scalar) -> Scalar {
    let nullable =
        !matches!(op, BinaryOp::Distinct | BinaryOp::NotDistinct) && (l.facts.nullable || r.facts.nullable);
    let facts = Facts::truth(nullable, cost(&[&l, &r]));
    Scalar::of(Node::Compare(op, Box::new(l), Box::new(r)), facts)
}

/// Types that compare with each other.
fn class(t: &SqlType) -> u64 {
    match t {
        t if t.is_number() => 1,
        t if t.is_text() => 2,
        t if t.is_datetime() => 3,
        SqlType::Bool => 4,
        SqlType::Enum { oid, .. } => 100 + u64::from(*oid),
        SqlType::Uuid => 5,
        SqlType::Time => 6,
        SqlType::Bpchar => 7,
        SqlType::Interval => 8,
        SqlType::Inet => 9,
        SqlType::Cidr => 10,
        _ => 0,
    }
}

/// Checks that `x` may be compared with `to`.
pub(super) fn coerce(x: Scalar, to: &Scalar, pos: Pos) -> Result<Scalar> {
    let (a, b) = (class(&x.facts.ty), class(&to.facts.ty));
    if a == 0 || b == 0 {
        return refused(Value::Compared, pos);
    }
    if a != b && !matches!(x.node, Node::Null) {
        return refused(Value::Sides, pos);
    }
    // With a constant, PostgreSQL compares in the column's own type and collation.
    if matches!(x.facts.ty, SqlType::Bpchar) && is_varied(&x) && is_varied(to) {
        return refused(Value::Padded, pos);
    }
    Ok(x)
}

/// A comparison of two values that cannot fail.
pub(crate) fn comparison(op: BinaryOp, l: Scalar, r: Scalar, pos: Pos) -> Result<Scalar> {
    let l = coerce(l, &r, pos)?;
    let r = coerce(r, &l, pos)?;
    // Two types of time are compared in the wider one, by a cast that is printed: PostgreSQL's own comparison of the two
    // fails for far dates, and a merge join by it fails where a zone's clock goes back.
    let mixed = l.facts.ty != r.facts.ty && l.facts.ty.is_datetime() && r.facts.ty.is_datetime();
    let (l, r) = match mixed {
        true if [&l, &r].iter().any(|x| x.facts.ty == SqlType::Timestamptz) => {
            (casts::to_time(l, SqlType::Timestamptz, pos)?, casts::to_time(r, SqlType::Timestamptz, pos)?)
        }
        true => (casts::to_time(l, SqlType::Timestamp, pos)?, casts::to_time(r, SqlType::Timestamp, pos)?),
        false => (l, r),
    };
    let (l, r) = match dates::is_length(&l) || dates::is_length(&r) {
        true => (dates::seconds(l, pos)?, dates::seconds(r, pos)?),
        false => (l, r),
    };
    let l = numbers::special_beside(l, &r);
    let r = numbers::special_beside(r, &l);
    let (l, r) = match (l.facts.phys, r.facts.phys) {
        (Phys::Float, Phys::Num) => (l, as_float(r)),
        (Phys::Num, Phys::Float) => (as_float(l), r),
        _ => (l, r),
    };
    let columns = l.facts.ty.is_text() && is_varied(&l) && is_varied(&r);
    if columns && (!l.facts.canonical || !r.facts.canonical) {
        return refused(Value::Spelled, pos);
    }
    Ok(compared(op, l, r))
}

/// A numeric that meets a float: PostgreSQL would cast it, which fails for numbers that double precision cannot hold,
/// large or small. Constants are short enough, and whole numbers are in reach.
fn as_float(x: Scalar) -> Scalar {
    if matches!(x.node, Node::Number(_)) || x.facts.ty.is_integer() {
        return x;
    }
    let facts = Facts {
        ty: SqlType::Float8,
        phys: Phys::Float,
        scale: OF_FLOAT,
        // Fifteen digits of a float are not those of the numeric: nothing is known of it.
        span: Default::default(),
        domain: None,
        ..Facts::clone(&x.facts)
    };
    Scalar::of(Node::Cast(Box::new(x)), facts)
}

/// Types whose comparison needs one collation; char(n) is compared by the plan's own conditions only.
fn collatable(s: &Scalar) -> bool {
    s.facts.ty.is_text() || s.facts.ty == SqlType::Bpchar
}

pub(super) fn text(node: &Node, print: Print) -> String {
    match node {
        Node::Compare(op, l, r) if collatable(l) && is_varied(l) && is_varied(r) => {
            format!("({} {} {})", collated(l, print), operator(*op), collated(r, print))
        }
        Node::Compare(op, l, r) | Node::Logic(op, l, r) => {
            format!("({} {} {})", print(l), operator(*op), print(r))
        }
        Node::Not(x) => format!("(NOT {})", print(x)),
        Node::Is(x, what, negated) => {
            let what = match what {
                Is::Null => "NULL",
                Is::True => "TRUE",
                Is::False => "FALSE",
                Is::Unknown => "UNKNOWN",
            };
            format!("({} IS {}{what})", print(x), if *negated { "NOT " } else { "" })
        }
        Node::In(x, list, negated) => {
            let items: Vec<String> = list.iter().map(print).collect();
            format!("({} {}IN ({}))", print(x), if *negated { "NOT " } else { "" }, items.join(", "))
        }
        // Nothing else is printed here.
        _ => "NULL".into(),
    }
}

/// Text of an operator.
pub fn operator(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Mod => "%",
        BinaryOp::Concat => "||",
        BinaryOp::Member => "->",
        BinaryOp::MemberText => "->>",
        BinaryOp::PathText => "#>>",
        BinaryOp::Eq => "=",
        BinaryOp::Ne => "<>",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::And => "AND",
        BinaryOp::Or => "OR",
        BinaryOp::Distinct => "IS DISTINCT FROM",
        BinaryOp::NotDistinct => "IS NOT DISTINCT FROM",
    }
}
