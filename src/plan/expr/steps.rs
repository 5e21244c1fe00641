//! Exact arithmetic as int8: where no number of an expression has more digits after the point than is proven, the expression
//! is a whole number of some power of ten, and integers are ten times as fast as numerics.
//!
//! Nothing is rounded here: what is cast to int8 is a whole number by its proven scale, and every sum and product lies within
//! ±2^62 by its proven span.

use super::facts::{Phys, int_limit};
use super::print::{Print, number};
use super::scalar::{Node, Param, Scalar};
use bigdecimal::BigDecimal;

/// More digits than int8 has leave no room for a number.
const MOST_DIGITS: u32 = 18;

/// The text of `x · 10^scale` as int8, and that scale, from the texts of its leaves ([`leaf`]); None where it may not be whole
/// or not fit.
pub(super) fn whole(x: &Scalar, leaf: &mut dyn FnMut(&Scalar) -> String) -> Option<(String, u32)> {
    let (text, scale) = match &x.node {
        Node::Number(n) => {
            let scale = u32::try_from(n.normalized().fractional_digit_count().max(0)).ok()?;
            let steps = power(scale)? * n;
            (constant(&steps), scale)
        }
        Node::Apply(f, args, Param::None) if matches!(f.name, "+" | "-" | "*") => {
            let [l, r] = args.as_slice() else { return None };
            let ((l_text, l_scale), (r_text, r_scale)) = (whole(l, leaf)?, whole(r, leaf)?);
            if f.name == "*" {
                (format!("{l_text} * {r_text}"), l_scale.checked_add(r_scale)?)
            } else {
                let scale = l_scale.max(r_scale);
                let (l, r) = (finer(l, l_text, l_scale, scale)?, finer(r, r_text, r_scale, scale)?);
                (format!("({l} {} {r})", f.name), scale)
            }
        }
        Node::Clamp(_) if x.facts.phys == Phys::Num => (leaf(x), x.facts.scale),
        _ if x.facts.phys == Phys::Int => (leaf(x), 0),
        _ => return None,
    };
    fits(x, scale).then_some((text, scale))
}

/// A number of private rows as int8, in units of its last digit.
pub(super) fn leaf(x: &Scalar, print: Print) -> String {
    match power(x.facts.scale).filter(|_| x.facts.phys == Phys::Num && x.facts.scale > 0) {
        Some(steps) => format!("({} * {})::pg_catalog.int8", print(x), number(&steps)),
        None => format!("({})::pg_catalog.int8", print(x)),
    }
}

/// The same number in units of more digits.
fn finer(x: &Scalar, text: String, from: u32, to: u32) -> Option<String> {
    if from == to {
        return Some(text);
    }
    fits(x, to).then_some(())?;
    if let Node::Number(n) = &x.node {
        return Some(constant(&(power(to)? * n)));
    }
    Some(format!("{text} * {}", number(&power(to - from)?)))
}

/// An int8: two constants of int4 would be computed as such.
fn constant(n: &BigDecimal) -> String {
    format!("{}::pg_catalog.int8", number(n))
}

fn fits(x: &Scalar, scale: u32) -> bool {
    power(scale).is_some_and(|steps| x.facts.span.within(&(int_limit() / steps)))
}

/// 10^digits
pub(super) fn power(digits: u32) -> Option<BigDecimal> {
    (digits <= MOST_DIGITS).then(|| BigDecimal::new(1.into(), -i64::from(digits)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::expr::interval::Interval;
    use crate::expr::numbers::{arithmetic, literal, ready};
    use schema::SqlType;
    use sql::ast::{BinaryOp, Pos};

    fn price(number: usize, scale: Option<u16>, most: i64) -> Scalar {
        let x = Scalar::given(number, SqlType::Numeric { scale }, Interval::new(0, most));
        ready(x, Pos::default()).unwrap()
    }

    fn op(op: BinaryOp, l: Scalar, r: Scalar) -> Scalar {
        arithmetic(op, l, r, Pos::default()).unwrap()
    }

    fn text(x: &Scalar) -> Option<(String, u32)> {
        whole(x, &mut |x| match &x.node {
            Node::Clamp(of) => format!("{:?}", of.node),
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn rule_34_products_of_decimals_are_whole_numbers_of_their_last_digits() {
        let n = |t: &str| literal(t, None, Pos::default()).unwrap();
        let (cents, rate) = (price(0, Some(2), 1_000), price(1, Some(3), 1));
        let less = op(BinaryOp::Sub, n("1"), rate.clone());
        let both = text(&op(BinaryOp::Mul, cents.clone(), less)).unwrap();
        assert_eq!(both, ("Given(0) * (1000::pg_catalog.int8 - Given(1))".to_owned(), 5));
        let sum = text(&op(BinaryOp::Add, cents.clone(), rate)).unwrap();
        assert_eq!(sum, ("(Given(0) * 10 + Given(1))".to_owned(), 3));
        assert_eq!(
            text(&op(BinaryOp::Mul, cents.clone(), n("-0.5"))).unwrap().0,
            "Given(0) * (-5)::pg_catalog.int8"
        );
        // Quotients have any number of digits, and so have numerics that nothing bounds.
        assert_eq!(text(&op(BinaryOp::Div, cents, n("3"))), None);
        assert_eq!(text(&price(0, None, 1_000)), None);
    }

    #[test]
    fn rule_34_what_may_not_fit_stays_numeric() {
        let all = |most| {
            let x = price(0, Some(2), most);
            text(&op(BinaryOp::Mul, x.clone(), x))
        };
        // Squares in ten thousandths: the largest is at most 2^62.
        assert!(all(21_474_836).is_some());
        assert_eq!(all(21_474_837), None);
    }
}
