//! A number on a grid: the one place where a value of private rows is rounded to the integers that are added up.
//!
//! The text does the rounding, and nothing else does: it ends in a clamp to integers after its last rounding, so that what
//! a row can add follows from the outermost constants of the text (soundness rule 34). The ends of the range are rounded
//! outwards here; a tie that PostgreSQL's arithmetic moves across stays inside.

use super::facts::{FINEST, Phys, int_limit};
use super::print::{Print, number};
use super::scalar::{Node, Relation, Scalar};
use super::{numbers, steps, times};
use bigdecimal::{BigDecimal, One, RoundingMode, Signed, ToPrimitive};
use schema::SqlType;

/// A value in whole steps of a grid, less a centre, within proven ends.
#[derive(Clone, Debug, PartialEq)]
pub struct GridValue {
    /// A number of finite, proven span.
    arg: Scalar,
    grid: BigDecimal,
    /// Subtracted from each value, in steps.
    centre: i128,
    /// Least and greatest value in steps, before the centre is taken off.
    ends: (i128, i128),
}

/// The range is too wide for its grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooWide;

/// Steps beyond ±2^62 do not fit the integers that PostgreSQL adds up.
const MOST_STEPS: i128 = 1 << 62;

/// What clamps: they keep NULL, and name their argument once.
const INT8: [&str; 2] = ["int8smaller", "int8larger"];
const NUMERIC: [&str; 2] = ["numeric_smaller", "numeric_larger"];

impl GridValue {
    /// A number within [low, high] on a grid; `centred` takes off the middle of the range, which halves its magnitude.
    /// None where the number has no proven, finite span (it has none where it is not a number, or was not clamped).
    ///
    /// # Errors
    /// [`TooWide`].
    pub fn new(
        x: Scalar,
        low: &BigDecimal,
        high: &BigDecimal,
        grid: &BigDecimal,
        centred: bool,
    ) -> Result<Self, TooWide> {
        // Floats enter through their clamp: NaN is NULL, and so does not enter. What is longer than any grid is cut.
        let x = if x.phys() == Phys::Float { times::clamp(x) } else { x };
        let proven = x.span().finite().is_some();
        let arg = numbers::short(if proven { x } else { times::clamp(x) });
        if !grid.is_positive() || arg.span().finite().is_none() {
            return Err(TooWide);
        }
        let steps = |x: &BigDecimal, mode| {
            // The quotient of two decimals may not end: it is cut towards zero, and one step further out holds it.
            let q = x / grid;
            let whole = q.with_scale_round(0, mode);
            let exact = &whole * grid == *x;
            let out = if exact || !q.is_integer() {
                whole
            } else {
                q + if mode == RoundingMode::Floor { -1 } else { 1 }
            };
            out.to_i128().filter(|n| n.abs() <= MOST_STEPS).ok_or(TooWide)
        };
        let ends = (steps(low, RoundingMode::Floor)?, steps(high, RoundingMode::Ceiling)?);
        let plain = Self { arg, grid: grid.clone(), centre: 0, ends };
        Ok(if centred { plain.centred() } else { plain })
    }

    /// The value; NULLs do not enter.
    pub fn arg(&self) -> &Scalar {
        &self.arg
    }

    /// The size of a step.
    pub fn grid(&self) -> &BigDecimal {
        &self.grid
    }

    /// The centre that is taken off each value, in steps.
    pub fn centre(&self) -> i128 {
        self.centre
    }

    /// Least and greatest value in its own unit.
    pub fn range(&self) -> (BigDecimal, BigDecimal) {
        (BigDecimal::from(self.ends.0) * &self.grid, BigDecimal::from(self.ends.1) * &self.grid)
    }

    /// Least and greatest of what is added up for a row, in steps.
    pub fn ends(&self) -> (i128, i128) {
        (self.ends.0 - self.centre, self.ends.1 - self.centre)
    }

    /// The largest magnitude of what is added up for a row, in steps.
    pub fn bound(&self) -> u128 {
        let (lo, hi) = self.ends();
        lo.unsigned_abs().max(hi.unsigned_abs())
    }

    /// The same value without its centre: what is released where the sum itself is asked for.
    pub fn uncentred(&self) -> Self {
        Self { centre: 0, ..self.clone() }
    }

    /// The same value less the middle of its range.
    pub fn centred(&self) -> Self {
        Self { centre: (self.ends.0 + self.ends.1).div_euclid(2), ..self.clone() }
    }

    /// The same value less this many steps.
    pub fn about(&self, centre: i128) -> Self {
        Self { centre, ..self.clone() }
    }

    /// The number of steps of the range that is nearest to a number.
    pub fn nearest_step(&self, x: &BigDecimal) -> i128 {
        let steps = (x / &self.grid).with_scale_round(0, RoundingMode::HalfEven).to_i128();
        steps.unwrap_or(self.centre).clamp(self.ends.0, self.ends.1)
    }

    /// A number within the range in whole steps, if it is.
    pub fn steps_to(&self, x: &BigDecimal) -> Option<i128> {
        let whole = self.nearest_step(x);
        (BigDecimal::from(whole) * &self.grid == *x).then_some(whole)
    }

    /// The same value with its argument in other words, for a form that is hashed and not run.
    pub fn reworded(&self, f: &mut dyn FnMut(&Scalar) -> Scalar) -> Self {
        Self { arg: f(&self.arg), ..self.clone() }
    }

    /// Whether the text is of type int4, so that PostgreSQL adds it up as int8.
    pub fn is_int4(&self) -> bool {
        self.bound() < 1 << 31
    }

    /// Text of a row's value in steps, less the centre; NULL when the argument is. Its outermost
    /// operation is a clamp to the ends, but for a cast to an integer type that holds them.
    pub fn text(&self, relation: Relation) -> String {
        self.printed(&|x: &Scalar| x.text(relation))
    }

    pub(super) fn printed(&self, print: Print) -> String {
        let whole = match self.arg.node() {
            // The clamp that the text ends in is enough: the difference with a centre cannot overflow.
            Node::Clamp(x) if self.grid.is_one() && is_short_integer(x) => Some(print(x)),
            _ if self.grid.is_one() && self.arg.phys() == Phys::Int => Some(print(&self.arg)),
            Node::Clamp(x) if x.phys() == Phys::Float => {
                Some(self.float_steps(&times::clamped_float(&self.arg, x, print)))
            }
            _ => None,
        };
        // Both within ±2^62, or a float's rounding of it: the difference fits.
        let whole = whole.map(|x| format!("({x})::pg_catalog.int8"));
        if let Some(x) = whole.or_else(|| self.exact(&mut |x| steps::leaf(x, print))) {
            return self.held(INT8, &x);
        }
        self.held(NUMERIC, &self.steps(print))
    }

    /// Whole steps, less the centre; clamped by the functions of their type.
    fn held(&self, [smaller, larger]: [&str; 2], whole: &str) -> String {
        let (lo, hi) = self.ends();
        let (lo, hi) = (integer(lo), integer(hi));
        let less = |x: &str| match self.centre {
            0 => x.to_owned(),
            c => format!("{x} - {}", integer(c)),
        };
        let x = less(whole);
        let clamped = format!("pg_catalog.{smaller}(pg_catalog.{larger}({x}, {lo}), {hi})");
        let held = if self.is_int4() { "int4" } else { "int8" };
        format!("{clamped}::pg_catalog.{held}")
    }

    /// The parts that [`Self::text_over`] is computed from, each as often as it stands there; None where that is none.
    pub fn leaves(&self) -> Option<Vec<Scalar>> {
        let mut out = Vec::new();
        self.exact(&mut |x| {
            out.push(x.clone());
            String::new()
        })?;
        Some(out)
    }

    /// The text of a leaf, as int8.
    pub fn leaf_text(leaf: &Scalar, relation: Relation) -> String {
        steps::leaf(leaf, &|x: &Scalar| x.text(relation))
    }

    /// [`Self::text`], where each of the leaves has been computed and has this name.
    pub fn text_over(&self, name: &dyn Fn(&Scalar) -> String) -> Option<String> {
        Some(self.held(INT8, &self.exact(&mut |x| name(x))?))
    }

    /// The argument in whole steps as int8, without any rounding; None where it is not proven to be whole and to fit.
    fn exact(&self, leaf: &mut dyn FnMut(&Scalar) -> String) -> Option<String> {
        let (text, scale) = steps::whole(&self.arg, leaf)?;
        let times = BigDecimal::one() / steps::power(scale)? / &self.grid;
        let whole = times.is_integer() && &times * &self.grid * steps::power(scale)? == BigDecimal::one();
        if !whole || !self.arg.span().within(&(int_limit() * &self.grid)) {
            return None;
        }
        Some(if times.is_one() { text } else { format!("{text} * {}", number(&times)) })
    }

    /// The place of a float on a grid: the whole number of steps that it is nearest to, from its declared range.
    pub(super) fn nearest(x: &Scalar, step: &BigDecimal) -> Option<Self> {
        let (low, high) = x.bound().finite()?;
        Self::new(x.clone(), low, high, step, false).ok()
    }

    /// A float within its bounds, in whole steps: floats are rounded as they are multiplied or divided, by less than a
    /// thousandth of a millionth of a step where steps are far from 2^53, and the ends hold whatever comes out.
    fn float_steps(&self, x: &str) -> String {
        match self.steps_in_one() {
            Some(steps) if steps.is_one() => format!("pg_catalog.round({x})"),
            Some(steps) => format!("pg_catalog.round({x} * {}::pg_catalog.float8)", number(&steps)),
            None => format!("pg_catalog.round({x} / {}::pg_catalog.float8)", number(&self.grid)),
        }
    }

    /// How many steps 1 has, if that is a whole number.
    fn steps_in_one(&self) -> Option<BigDecimal> {
        let one = BigDecimal::one();
        let inverse = (&one / &self.grid).with_scale_round(FINEST, RoundingMode::Down).normalized();
        (inverse.is_integer() && &inverse * &self.grid == one).then_some(inverse)
    }

    /// The argument in whole steps: multiplied or divided exactly, and rounded once.
    fn steps(&self, print: Print) -> String {
        let x = super::print::operand(&self.arg, Phys::Num, print);
        match self.steps_in_one() {
            Some(steps) if steps.is_one() => return format!("pg_catalog.round({x})"),
            Some(steps) => return format!("pg_catalog.round({x} * {})", number(&steps)),
            None => {}
        }
        let (digits, exponent) = self.grid.normalized().into_bigint_and_exponent();
        if digits == 1.into() && exponent < 0 {
            // A power of ten: what is rounded there divides without a rest.
            return format!("pg_catalog.round({x}, {exponent}) / {}", number(&self.grid));
        }
        // Half a step is added away from zero, and the quotient is cut: numeric's own division would round before that.
        let (half, double) = (&self.grid, &self.grid * BigDecimal::from(2));
        format!("pg_catalog.div({x} * 2 + pg_catalog.sign({x}) * {}, {})", number(half), number(&double))
    }
}

/// A column of two or four bytes.
fn is_short_integer(x: &Scalar) -> bool {
    matches!(x.node(), Node::Column { .. }) && matches!(x.ty(), SqlType::Int2 | SqlType::Int4)
}

fn integer(n: i128) -> String {
    if n < 0 { format!("({n})") } else { n.to_string() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::expr::interval::Interval;
    use crate::expr::literal_number;

    fn value(low: &str, high: &str, grid: &str, centred: bool) -> Result<GridValue, TooWide> {
        let x = literal_number("5").unwrap();
        GridValue::new(x, &low.parse().unwrap(), &high.parse().unwrap(), &grid.parse().unwrap(), centred)
    }

    #[test]
    fn rule_34_ends_are_rounded_outwards() {
        let v = value("1234567889500", "1234567890499.9999999", "1000", true).unwrap();
        assert_eq!(v.ends, (1_234_567_889, 1_234_567_891));
        assert_eq!(v.bound(), 1);
        let v = value("0", "2147483647499.9999999", "1000", false).unwrap();
        assert_eq!((v.bound(), v.is_int4()), (1 << 31, false));
        let v = value("0", "1", "0.3", false).unwrap();
        assert_eq!(v.ends, (0, 4));
        let v = value("-1", "1", "3", false).unwrap();
        assert_eq!(v.ends, (-1, 1));
        assert_eq!(value("0", "1e30", "1", false), Err(TooWide));
    }

    #[test]
    fn floats_are_scaled_and_rounded_as_floats() {
        let text = |grid: &str| {
            let x = Scalar::given(0, SqlType::Float8, Interval::new(0, 2000));
            let v = GridValue::new(x, &0.into(), &2000.into(), &grid.parse().unwrap(), false).unwrap();
            v.text(&|_| String::new())
        };
        let x = "pg_catalog.float8smaller(pg_catalog.float8larger(NULLIF(($2::pg_catalog.float8)::pg_catalog.float8, 'NaN'), 0), 2000)";
        let held = |x: String, n| {
            format!(
                "pg_catalog.int8smaller(pg_catalog.int8larger(({x})::pg_catalog.int8, 0), {n})::pg_catalog.int4"
            )
        };
        assert_eq!(text("1"), held(format!("pg_catalog.round({x})"), 2000));
        assert_eq!(text("0.01"), held(format!("pg_catalog.round({x} * 100::pg_catalog.float8)"), 200_000));
        assert_eq!(text("1000"), held(format!("pg_catalog.round({x} / 1000::pg_catalog.float8)"), 2));
        assert_eq!(text("0.3"), held(format!("pg_catalog.round({x} / 0.3::pg_catalog.float8)"), 6667));
    }

    #[test]
    fn texts_end_in_a_clamp() {
        let text = |v: GridValue| v.text(&|_| String::new());
        assert_eq!(
            text(value("0", "10", "1", true).unwrap()),
            "pg_catalog.int8smaller(pg_catalog.int8larger((5)::pg_catalog.int8 - 5, (-5)), 5)::pg_catalog.int4"
        );
        assert_eq!(
            text(value("0", "60", "0.01", false).unwrap()),
            "pg_catalog.int8smaller(pg_catalog.int8larger(5::pg_catalog.int8 * 100, 0), 6000)::pg_catalog.int4"
        );
        assert!(
            text(value("0", "6000", "1000", false).unwrap())
                .contains("round((5)::pg_catalog.numeric, -3) / 1000")
        );
        assert!(text(value("0", "6000", "3", false).unwrap()).contains("pg_catalog.div("));
    }
}
