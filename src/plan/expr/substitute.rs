//! Expressions over the values of others instead of rows: what the keys and conditions of a statement are over a public
//! domain.

use super::casts::as_computed;
use super::facts::{Facts, Phys};
use super::numbers;
use super::scalar::{Node, Param, Scalar};
use schema::SqlType;
use sql::ast::{BinaryOp, BindingId};

/// A stand-in for a value of a public domain, by its place among those of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandIn {
    /// A key, printed as `x0`, `x1`, ….
    Key(usize),
    /// A base that a key is a function of, printed as `y0`, `y1`, ….
    Base(usize),
}

/// The numbers of relations beyond all of a statement: those of keys, and above them those of bases.
const KEYS: usize = 1 << 40;
const BASES: usize = 1 << 41;

impl StandIn {
    /// The relation whose one column it is.
    pub const fn binding(self) -> BindingId {
        match self {
            Self::Key(place) => BindingId::new(KEYS + place),
            Self::Base(place) => BindingId::new(BASES + place),
        }
    }
}

/// The stand-in of a binding that is none of a statement.
pub fn stands_for(binding: BindingId) -> Option<StandIn> {
    let number = binding.number();
    let key = || number.checked_sub(KEYS).map(StandIn::Key);
    number.checked_sub(BASES).map(StandIn::Base).or_else(key)
}

/// The one column of such a binding.
pub const VALUE: &str = "k";

impl Scalar {
    /// The column that holds its values in a public domain, in the type that computes.
    pub fn stand_in(&self, binding: BindingId) -> Scalar {
        self.stand_in_as(binding, VALUE)
    }

    /// The same, of a column that is called otherwise.
    pub fn stand_in_as(&self, binding: BindingId, name: &str) -> Scalar {
        let facts = Facts { cost: 1, ..Facts::clone(&self.facts) };
        let column = Scalar::of(Node::Column { binding, name: name.into() }, facts);
        match (self.phys(), self.ty()) {
            (Phys::Num, ty) if !matches!(ty, SqlType::Numeric { .. }) => as_computed(column),
            _ => column,
        }
    }

    /// The same expression, with each of `given` (what stands for what) in its place; None where it looks at anything
    /// else. Its value for a row is that of the result for the row's values of what was given.
    pub fn over(&self, given: &[(&Scalar, Scalar)]) -> Option<Scalar> {
        if let Some((_, stand)) = given.iter().find(|(of, _)| alike(of, self)) {
            return Some(stand.clone());
        }
        if let Some(stand) = given.iter().find_map(|(of, stand)| coarser(self, of, stand)) {
            return Some(self.reworded(&mut |_| stand.clone()));
        }
        if matches!(self.node, Node::Column { .. } | Node::Exists(..) | Node::InRows(..)) {
            return None;
        }
        let mut complete = true;
        let out = self.reworded(&mut |x| {
            x.over(given).unwrap_or_else(|| {
                complete = false;
                x.clone()
            })
        });
        complete.then_some(out)
    }
}

/// `a * n + b`, and numbers to compare it with.
pub(crate) fn weighted(a: Scalar, n: i64, b: Scalar, ends: [i64; 2]) -> Option<(Scalar, [Scalar; 2])> {
    let number = |n: i64| numbers::literal(&n.to_string(), None, None).ok();
    let product = numbers::arithmetic(BinaryOp::Mul, a, number(n)?, None).ok()?;
    let sum = numbers::arithmetic(BinaryOp::Add, product, b, None).ok()?;
    let [lo, hi] = ends;
    Some((sum, [number(lo)?, number(hi)?]))
}

/// Whether two expressions compute the same, where what is moved into a range lies within it: what is known of ranges may
/// differ.
pub fn alike(a: &Scalar, b: &Scalar) -> bool {
    let all = |a: &[Scalar], b: &[Scalar]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b));
    match (&a.node, &b.node) {
        (Node::Column { .. }, Node::Column { .. }) => a.node == b.node,
        (Node::Clamp(a) | Node::Guard(a), Node::Clamp(b) | Node::Guard(b)) => alike(a, b),
        (Node::Short(x), Node::Short(y)) => alike(x, y),
        (Node::Cast(x), Node::Cast(y)) => a.ty() == b.ty() && a.phys() == b.phys() && alike(x, y),
        (Node::Apply(f, x, p), Node::Apply(g, y, q)) => f == g && p == q && all(x, y),
        _ => a == b,
    }
}

/// What may stand for the argument of `s`, an EXTRACT, date_trunc or cast to a date, where `of` is a truncation of the same
/// argument to a unit that is at least as fine.
fn coarser(s: &Scalar, of: &Scalar, stand: &Scalar) -> Option<Scalar> {
    let (argument, wanted) = match &s.node {
        Node::Apply(f, args, Param::Field(field, _)) if matches!(f.name, "extract" | "date_trunc") => {
            (args.first()?, *field)
        }
        Node::Cast(x) if *s.ty() == SqlType::Date && x.ty().is_datetime() => (&**x, "day"),
        _ => return None,
    };
    let (given, unit) = match &of.node {
        Node::Apply(f, args, Param::Field(unit, _)) if f.name == "date_trunc" => (args.first()?, *unit),
        // A truncation of a date would be one of a timestamp with time zone.
        Node::Cast(x)
            if *of.ty() == SqlType::Date && matches!(&s.node, Node::Apply(f, ..) if f.name == "extract") =>
        {
            (&**x, "day")
        }
        _ => return None,
    };
    (alike(given, argument) && is_constant_within(wanted, unit)).then(|| stand.clone())
}

/// Whether a field of EXTRACT, or the unit of a truncation, is the same for all times of one `unit`.
fn is_constant_within(field: &str, unit: &str) -> bool {
    const YEARS: &[&str] = &["year", "decade", "century", "millennium"];
    match unit {
        "minute" => !matches!(field, "second" | "epoch"),
        "hour" => !matches!(field, "second" | "epoch" | "minute"),
        "day" => !matches!(field, "second" | "epoch" | "minute" | "hour"),
        "week" => matches!(field, "week" | "isoyear"),
        "month" => matches!(field, "month" | "quarter") || YEARS.contains(&field),
        "quarter" => field == "quarter" || YEARS.contains(&field),
        "year" => YEARS.contains(&field),
        "decade" => field == "decade",
        "century" => matches!(field, "century" | "millennium"),
        _ => false,
    }
}
