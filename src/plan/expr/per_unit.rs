//! Values that are computed from several rows of one unit, exactly, inside the fetch, and the facts
//! about them.
//!
//! Every function here is total and gives the same in whatever order its rows come: numbers are
//! added up as numerics, clamped before, so that no sum overflows and none is rounded.

use super::choice::united;
use super::facts::{Declared, Facts, LONGEST, OF_FLOAT, Phys, Proven, Spelling, int_limit};
use super::refusal::Result;
use super::{Scalar, casts, numbers};
use crate::expr::interval::Interval;
use crate::refusals::within::Within;
use bigdecimal::BigDecimal;
use schema::SqlType;
use sql::ast::{BindingId, Pos};
use std::sync::Arc;

/// Place of a value: the scan that it comes out of, its name there, and whether a row can make it
/// NULL.
pub(crate) struct Place {
    /// The scan's binding.
    pub binding: BindingId,
    /// The column's name.
    pub name: String,
    /// There may be no row to compute it from.
    pub nullable: bool,
}

impl Place {
    fn column(self, facts: Facts) -> Scalar {
        let column = Scalar {
            facts: Arc::new(Facts { nullable: facts.nullable || self.nullable, cost: 1, ..facts }),
            node: super::Node::Column { binding: self.binding, name: self.name },
        };
        // The text's type is numeric, whatever the analyst sees.
        if column.is_numeric_in_text() { casts::as_computed(column) } else { column }
    }
}

/// A count of rows, of which a unit is said to have no more than `most`. Rows are counted one by one: 2^62 of them would
/// take a century.
pub(crate) fn count(place: Place, least: u32, most: u32) -> Scalar {
    let span = Proven::by_text(Interval { lo: Some(least.into()), hi: Some(int_limit()) });
    let facts = Facts {
        phys: Phys::Int,
        span,
        bound: Declared::says(Interval::new(least, most.max(least))),
        lattice: Some(1.into()),
        binned: true,
        ..Facts::of_type(SqlType::Int8, false)
    };
    place.column(facts)
}

/// The argument of a sum or an average: a number within its range.
pub(crate) fn addend(x: Scalar, pos: Pos) -> Result<Scalar> {
    numbers::ready(x, pos)
}

/// A sum of at least one and at most `most` such numbers.
pub(crate) fn sum(place: Place, x: &Scalar, most: u32) -> Scalar {
    let ty = match &x.facts.ty {
        SqlType::Int2 | SqlType::Int4 => SqlType::Int8,
        SqlType::Int8 | SqlType::Numeric { .. } => SqlType::Numeric { scale: None },
        t => t.clone(),
    };
    let whole = x.facts.bound.interval();
    let all = whole.mul(&Interval::point(BigDecimal::from(most))).hull(whole);
    place.column(Facts {
        phys: Phys::Num,
        bound: Declared::says(all),
        lattice: x.facts.lattice.clone(),
        scale: x.facts.scale,
        ..Facts::of_type(ty, x.facts.nullable)
    })
}

/// An average of such numbers, which lies where they do.
pub(crate) fn average(place: Place, x: &Scalar) -> Scalar {
    let ty = if x.facts.ty.is_float() { SqlType::Float8 } else { SqlType::Numeric { scale: None } };
    place.column(Facts {
        phys: Phys::Num,
        bound: x.facts.bound.clone(),
        scale: LONGEST,
        ..Facts::of_type(ty, x.facts.nullable)
    })
}

/// A variance of such numbers, or its root. Over a range of width w that of the values themselves (`_pop`) is at most w²/4,
/// and an estimate (of two values at least) at most w²/2.
pub(crate) fn spread(place: Place, x: &Scalar, name: &str) -> Scalar {
    let ty = if x.facts.ty.is_float() { SqlType::Float8 } else { SqlType::Numeric { scale: None } };
    let whole = x.facts.bound.interval();
    let width = whole.sub(whole);
    let most = match name.starts_with("stddev") {
        true => width,
        false => width.mul(&width).div(&Interval::point(2.into()), &2.into()),
    };
    let bound = most.intersect(&Interval { lo: Some(0.into()), hi: None }).unwrap_or(most);
    let nullable = x.facts.nullable || !name.ends_with("_pop");
    place.column(Facts {
        phys: Phys::Num,
        bound: Declared::says(bound),
        scale: LONGEST,
        ..Facts::of_type(ty, nullable)
    })
}

/// A number that says where a row stands among those of its unit, from 0 on.
pub(crate) fn standing(place: Place, most: Option<u32>) -> Scalar {
    let facts = match most {
        // ntile
        Some(most) => Facts::whole(Interval::new(1, most), false),
        None => {
            let span = Proven::by_text(Interval::new(0, 1));
            let facts = Facts::of_type(SqlType::Float8, false);
            Facts { phys: Phys::Num, bound: Declared::of(&span), span, scale: OF_FLOAT, ..facts }
        }
    };
    place.column(facts)
}

/// All or any of truth values.
pub(crate) fn truth(place: Place, x: &Scalar) -> Scalar {
    place.column(Facts::truth(x.facts.nullable, 1))
}

/// A value as it is merged with those that are equal to it (GROUP BY, DISTINCT, `min`, `max`; `beside_others`: of other
/// branches): one form of a number, so that it does not matter which comes first.
pub(crate) fn merged(x: Scalar, beside_others: bool) -> Scalar {
    numbers::in_one_form(x, beside_others)
}

/// A value among several that are equal, when these may look different.
pub(crate) fn one_of_equals(mut column: Scalar) -> Scalar {
    if matches!(column.facts.phys, Phys::Float) || column.facts.ty == SqlType::Interval {
        Arc::make_mut(&mut column.facts).spelling = Spelling::Any;
    }
    column
}

/// A value of the unit's: the least, the greatest, that of another row. `what` names the function
/// in a refusal.
pub(crate) fn one_of(place: Place, x: &Scalar, what: &str, pos: Pos) -> Result<Scalar> {
    let untyped = || Within::Type(what.to_owned()).at(pos);
    match x.ty() {
        SqlType::Other { .. } | SqlType::Bpchar => return Err(untyped()),
        t if t.is_text() && !x.canonical() => return Err(Within::Collation(what.to_owned()).at(pos)),
        _ => {}
    }
    let ty = match x.ty() {
        SqlType::Numeric { .. } => SqlType::Numeric { scale: None },
        t => t.clone(),
    };
    let mut column = united(&[x], ty, place.binding, place.name).ok_or_else(untyped)?;
    Arc::make_mut(&mut column.facts).nullable |= place.nullable;
    if let super::Node::Cast(inner) = &mut column.node {
        Arc::make_mut(&mut inner.facts).nullable |= place.nullable;
    }
    Ok(one_of_equals(column))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::{comparison, filtered};
    use super::*;
    use crate::refusals::Refusal;
    use crate::refusals::value::Value;
    use sql::ast::BinaryOp;

    /// It may be compared and handed on, and no function looks at it but as a numeric.
    #[test]
    fn rule_48_a_spelling_that_rows_on_disk_choose_is_shown_by_nothing() {
        for ty in [SqlType::Float8, SqlType::Float4, SqlType::Interval] {
            let x = one_of_equals(Scalar::given(0, ty.clone(), Interval::new(0, 5)));
            let there = filtered(Scalar::constant_truth(true), x.clone());
            assert!(!x.has_one_spelling() && !there.has_one_spelling(), "{ty:?}");
            for shown in [&x, &there] {
                let why = numbers::magnitude(shown.clone(), None).unwrap_err();
                assert!(matches!(why, Refusal::Value(Value::StandIn, _)), "{why:?}");
            }
            assert!(comparison(BinaryOp::Eq, x.clone(), x.clone(), None).unwrap().has_one_spelling());
            if ty.is_float() {
                assert!(addend(x, None).unwrap().has_one_spelling());
            }
        }
        // Numerics are brought to one form where they are merged.
        let x = Scalar::given(0, SqlType::Numeric { scale: None }, Interval::new(0, 5));
        let text = merged(x, false).text(&|_| String::new());
        assert_eq!(text, "pg_catalog.trim_scale(($2::pg_catalog.numeric)::pg_catalog.numeric)");
    }
}
