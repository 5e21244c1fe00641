//! Interval arithmetic over exact decimals, rounded outward: where a value can lie.
//!
//! Dates and timestamps are numbers here: microseconds since 2000-01-01.

use bigdecimal::{BigDecimal, RoundingMode, Signed, Zero};

/// Digits kept after the point where a quotient does not end; bounds are rounded outward there.
const QUOTIENT_SCALE: i64 = 30;

/// A closed interval; None is unbounded.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Interval {
    /// Lower end.
    pub lo: Option<BigDecimal>,
    /// Upper end.
    pub hi: Option<BigDecimal>,
}

impl Interval {
    /// From both ends.
    pub fn new(lo: impl Into<BigDecimal>, hi: impl Into<BigDecimal>) -> Self {
        Self { lo: Some(lo.into()), hi: Some(hi.into()) }
    }

    /// An interval of one point.
    pub fn point(x: BigDecimal) -> Self {
        Self { lo: Some(x.clone()), hi: Some(x) }
    }

    /// The two ends, when both are finite.
    pub fn finite(&self) -> Option<(&BigDecimal, &BigDecimal)> {
        Some((self.lo.as_ref()?, self.hi.as_ref()?))
    }

    /// Whether the whole interval lies within ±limit.
    pub fn within(&self, limit: &BigDecimal) -> bool {
        self.finite().is_some_and(|(lo, hi)| lo.abs() <= *limit && hi.abs() <= *limit)
    }

    /// The largest absolute value.
    pub fn magnitude(&self) -> Option<BigDecimal> {
        self.finite().map(|(lo, hi)| lo.abs().max(hi.abs()))
    }

    fn both(
        a: &Option<BigDecimal>,
        b: &Option<BigDecimal>,
        f: impl Fn(&BigDecimal, &BigDecimal) -> BigDecimal,
    ) -> Option<BigDecimal> {
        Some(f(a.as_ref()?, b.as_ref()?))
    }

    /// -x
    pub fn neg(&self) -> Self {
        Self { lo: self.hi.as_ref().map(|x| -x), hi: self.lo.as_ref().map(|x| -x) }
    }

    /// x + y
    pub fn add(&self, o: &Self) -> Self {
        Self { lo: Self::both(&self.lo, &o.lo, |a, b| a + b), hi: Self::both(&self.hi, &o.hi, |a, b| a + b) }
    }

    /// x - y
    pub fn sub(&self, o: &Self) -> Self {
        self.add(&o.neg())
    }

    /// x · y
    pub fn mul(&self, o: &Self) -> Self {
        let (Some((a, b)), Some((c, d))) = (self.finite(), o.finite()) else { return Self::default() };
        Self::hull_of([a * c, a * d, b * c, b * d])
    }

    /// x / y for y that is 0 nowhere, where `least` is a positive lower bound of |y|.
    pub fn div(&self, o: &Self, least: &BigDecimal) -> Self {
        let Some((a, b)) = self.finite() else { return Self::default() };
        if !least.is_positive() {
            return Self::default();
        }
        // The extreme divisors: the ends of y, and ±least where y may come that near to 0. A quotient is monotone
        // between two of one sign; where the far one is infinite, quotients come near to 0.
        let mut divisors = Vec::new();
        let mut ends = Vec::new();
        let positive = o.hi.as_ref().is_none_or(|h| h.is_positive());
        let negative = o.lo.as_ref().is_none_or(|l| l.is_negative());
        if positive {
            let low = o.lo.clone().filter(|l| l > least).unwrap_or_else(|| least.clone());
            match &o.hi {
                Some(hi) => divisors.push(hi.clone().max(low.clone())),
                None => ends.push(BigDecimal::zero()),
            }
            divisors.push(low);
        }
        if negative {
            let high = o.hi.clone().filter(|h| *h < -least).unwrap_or_else(|| -least);
            match &o.lo {
                Some(lo) => divisors.push(lo.clone().min(high.clone())),
                None => ends.push(BigDecimal::zero()),
            }
            divisors.push(high);
        }
        if divisors.is_empty() {
            // y is 0 wherever it is: there is no quotient.
            ends.push(BigDecimal::zero());
        }
        let ulp = BigDecimal::new(1.into(), QUOTIENT_SCALE);
        for d in &divisors {
            for n in [a, b] {
                // An exact quotient is its own bound; another is cut at QUOTIENT_SCALE digits, and one unit further
                // out covers both that cut and the one that `/` makes itself at 100 digits.
                let q = n / d;
                let cut = q.with_scale_round(QUOTIENT_SCALE, RoundingMode::Down);
                if &cut * d == *n {
                    ends.push(cut);
                } else {
                    ends.push(&cut - &ulp);
                    ends.push(cut + &ulp);
                }
            }
        }
        Self::hull_of(ends)
    }

    /// The same interval, or a slightly wider one with few digits: ends of long chains of products would otherwise
    /// grow without limit.
    pub fn shortened(self) -> Self {
        const DIGITS: i64 = 100;
        let cut = |x: BigDecimal, mode| {
            if x.fractional_digit_count() > DIGITS { x.with_scale_round(DIGITS, mode) } else { x }
        };
        Self {
            lo: self.lo.map(|x| cut(x, RoundingMode::Floor)),
            hi: self.hi.map(|x| cut(x, RoundingMode::Ceiling)),
        }
    }

    /// |x|
    pub fn abs(&self) -> Self {
        let zero = BigDecimal::zero;
        match (&self.lo, &self.hi) {
            (Some(lo), _) if !lo.is_negative() => self.clone(),
            (_, Some(hi)) if !hi.is_positive() => self.neg(),
            (Some(lo), Some(hi)) => Self::new(zero(), lo.abs().max(hi.abs())),
            _ => Self { lo: Some(zero()), hi: None },
        }
    }

    /// Rounding at `digits` digits (negative: tens, hundreds), each end in the given mode.
    pub fn round(&self, digits: i64, mode: RoundingMode) -> Self {
        let f = |x: &Option<BigDecimal>| x.as_ref().map(|x| x.with_scale_round(digits, mode));
        Self { lo: f(&self.lo), hi: f(&self.hi) }
    }

    /// The least interval that contains both.
    pub fn hull(&self, o: &Self) -> Self {
        Self {
            lo: Self::both(&self.lo, &o.lo, |a, b| a.min(b).clone()),
            hi: Self::both(&self.hi, &o.hi, |a, b| a.max(b).clone()),
        }
    }

    /// The intersection of both; None when it is empty.
    pub fn intersect(&self, o: &Self) -> Option<Self> {
        let pick = |a: &Option<BigDecimal>, b: &Option<BigDecimal>, larger: bool| match (a, b) {
            (Some(a), Some(b)) => Some(if (a > b) == larger { a.clone() } else { b.clone() }),
            (Some(x), None) | (None, Some(x)) => Some(x.clone()),
            (None, None) => None,
        };
        let out = Self { lo: pick(&self.lo, &o.lo, true), hi: pick(&self.hi, &o.hi, false) };
        match out.finite() {
            Some((lo, hi)) if lo > hi => None,
            _ => Some(out),
        }
    }

    /// Wider by one part in 10^digits of each end: what a rounding to more digits than that cannot leave.
    pub fn widened(&self, digits: i64) -> Self {
        let part = BigDecimal::new(1.into(), digits);
        let by = |x: &BigDecimal| x.abs() * &part;
        Self { lo: self.lo.as_ref().map(|x| x - by(x)), hi: self.hi.as_ref().map(|x| x + by(x)) }
    }

    fn hull_of(values: impl IntoIterator<Item = BigDecimal>) -> Self {
        let mut it = values.into_iter();
        let Some(first) = it.next() else { return Self::default() };
        let (mut lo, mut hi) = (first.clone(), first);
        for v in it {
            if v < lo {
                lo = v.clone();
            }
            if v > hi {
                hi = v;
            }
        }
        Self { lo: Some(lo.normalized()), hi: Some(hi.normalized()) }
    }
}

/// LEAST over arguments given as (interval, nullable): NULLs are ignored by PostgreSQL.
pub fn least(args: &[(Interval, bool)]) -> Interval {
    let mirrored: Vec<_> = args.iter().map(|(i, n)| (i.neg(), *n)).collect();
    greatest(&mirrored).neg()
}

/// GREATEST over arguments given as (interval, nullable): a NULL argument leaves the others, so only arguments that
/// are never NULL raise the lower end.
pub fn greatest(args: &[(Interval, bool)]) -> Interval {
    let all = args.iter().map(|(i, _)| i.clone()).reduce(|a, b| a.hull(&b)).unwrap_or_default();
    let sure = args.iter().filter(|(_, nullable)| !nullable).filter_map(|(i, _)| i.lo.clone()).max();
    Interval { lo: sure.or(all.lo), hi: all.hi }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    fn dec(x: i64) -> BigDecimal {
        BigDecimal::from(x)
    }

    fn contains(i: &Interval, x: &BigDecimal) -> bool {
        i.lo.as_ref().is_none_or(|l| l <= x) && i.hi.as_ref().is_none_or(|h| h >= x)
    }

    proptest! {
        /// Whatever values are inside, the result is inside: the property that sensitivity rests on.
        #[test]
        fn results_are_enclosed(a in -50i64..50, w in 0i64..40, c in -50i64..50, v in 0i64..40, s in 0i64..40, t in 0i64..40) {
            let (x, y) = (dec(a + s.min(w)), dec(c + t.min(v)));
            let (i, j) = (Interval::new(dec(a), dec(a + w)), Interval::new(dec(c), dec(c + v)));
            prop_assert!(contains(&i.add(&j), &(&x + &y)));
            prop_assert!(contains(&i.sub(&j), &(&x - &y)));
            prop_assert!(contains(&i.mul(&j), &(&x * &y)));
            prop_assert!(contains(&i.abs(), &x.abs()));
            prop_assert!(contains(&i.neg(), &-&x));
            if !y.is_zero() {
                let q = i.div(&j, &dec(1));
                prop_assert!(contains(&q, &(&x / &y)), "{x} / {y} not in {q:?}");
                let whole = q.round(0, RoundingMode::Down);
                prop_assert!(contains(&whole, &(&x / &y).with_scale_round(0, RoundingMode::Down)));
            }
            let (n, m) = (i.clone(), j.clone());
            prop_assert!(contains(&least(&[(n.clone(), false), (m.clone(), false)]), &x.clone().min(y.clone())));
            prop_assert!(contains(&greatest(&[(n.clone(), false), (m.clone(), false)]), &x.clone().max(y.clone())));
            // One argument may be NULL: the other is the result.
            prop_assert!(contains(&least(&[(n.clone(), true), (m.clone(), false)]), &y));
            prop_assert!(contains(&greatest(&[(n, true), (m, false)]), &y));
        }
    }

    #[test]
    fn disjoint_intervals_have_nothing_in_common() {
        let (low, high) = (Interval::new(dec(0), dec(3)), Interval::new(dec(5), dec(9)));
        assert_eq!(low.intersect(&high), None);
        assert_eq!(low.intersect(&Interval::new(dec(3), dec(9))), Some(Interval::point(dec(3))));
        assert_eq!(low.intersect(&Interval::default()), Some(low));
    }

    #[test]
    fn a_null_argument_does_not_bound() {
        let x = Interval::default();
        let zero = Interval::point(dec(0));
        // GREATEST(x, 0) with x nullable: at least 0, no upper end.
        assert_eq!(
            greatest(&[(x.clone(), true), (zero.clone(), false)]),
            Interval { lo: Some(dec(0)), hi: None }
        );
        // LEAST(x, y) with both nullable: whatever either can be.
        let small = Interval::new(dec(0), dec(1));
        let big = Interval::new(dec(0), dec(9));
        assert_eq!(least(&[(small, true), (big, true)]), Interval::new(dec(0), dec(9)));
    }
}
