//! Numbers with noise in them, as texts: what they are to first order, and the ends of their intervals.
//!
//! Noise moves through a number as through its derivatives: of x = f(a₁, …) with independent noise of variance vⱼ on each aⱼ it
//! has the variance V = Σ(∂f/∂aⱼ)²·vⱼ and the fourth cumulant F = Σ(∂f/∂aⱼ)⁴·κⱼ. Both are exact where f is linear. Ends lie
//! k·√V away, where k is that of a sum of Laplace and Gaussian variables with the excess kurtosis F/V²
//! ([`super::quantile`]). A ratio N / D has the ends of Fieller's interval instead (1954), which holds for small D, too: all
//! θ with |N - θ·D| ≤ k·σ(N - θ·D). Where numbers may share their noise, standard deviations are added, which is never too
//! little.
//!
//! What bounds cut moves a number, too, by no more than is known of it: of a part, from `below` to
//! `above`; of x to first order by that times its slope. An end lies as far beyond the noise. Where
//! nobody knows how far, the end is NULL.

use super::draw::Part;
use super::quantile::Quantile;
use super::real::Real;
use sql::ast::Reach;
use std::collections::BTreeSet;

/// A source of noise in a number.
#[derive(Clone)]
pub struct Term {
    /// Text of the source's column.
    pub atom: String,
    /// By how much the number changes with it.
    pub slope: Real,
    /// The variance of the noise.
    pub variance: Real,
    /// Fourth cumulant.
    pub fourth: Real,
    /// Distance between values, when it is known.
    pub step: Option<f64>,
    /// The released integers that it is of.
    pub parts: BTreeSet<Part>,
    /// What bounds cut of the source.
    pub cut: Cut,
}

/// How far the truth may lie from a number for what bounds cut.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// Below it.
    pub below: Real,
    /// Above it.
    pub above: Real,
}

impl Cut {
    /// Nothing is cut.
    pub const NOTHING: Self = Self { below: Real::Known(0.0), above: Real::Known(0.0) };

    /// Nobody knows.
    pub const UNKNOWN: Self = Self { below: Real::Known(f64::NAN), above: Real::Known(f64::NAN) };

    /// That of the number times a slope.
    fn times(&self, slope: &Real) -> Self {
        match slope {
            _ if *self == Self::NOTHING => Self::NOTHING,
            Real::Known(s) if *s >= 0.0 => {
                Self { below: self.below.times(slope), above: self.above.times(slope) }
            }
            Real::Known(_) => {
                let slope = slope.negated();
                Self { below: self.above.times(&slope), above: self.below.times(&slope) }
            }
            // Of a slope that nobody knows yet, either end may be the other.
            Real::Text(_) if self.below.is_unknown() || self.above.is_unknown() => Self::UNKNOWN,
            Real::Text(_) => {
                let (up, down) = (slope.positive(), slope.negated().positive());
                let both = |by: &Real, other: &Real| up.times(by).plus(&down.times(other));
                Self { below: both(&self.below, &self.above), above: both(&self.above, &self.below) }
            }
        }
    }

    /// That of a sum of terms.
    fn of(terms: &[Term]) -> Self {
        let each: Vec<Self> = terms.iter().map(|t| t.cut.times(&t.slope)).collect();
        let sum = |of: fn(&Self) -> &Real| Real::sum(each.iter().map(|c| of(c).clone()));
        Self { below: sum(|c| &c.below), above: sum(|c| &c.above) }
    }

    /// No less than either.
    fn most(&self) -> Real {
        match (&self.below, &self.above) {
            (Real::Known(a), Real::Known(b)) if a.is_nan() || b.is_nan() => Real::Known(f64::NAN),
            (Real::Known(a), Real::Known(b)) => Real::Known(a.max(*b)),
            (a, b) if a == b => a.clone(),
            (a, b) => a.plus(b),
        }
    }
}

/// A number, its noise to first order, and the ratio that it is, if it is one.
#[derive(Clone)]
pub struct Number {
    /// The number.
    pub value: Real,
    /// Noise of the number, to first order.
    pub terms: Vec<Term>,
    /// The ratio that it is.
    pub ratio: Option<Box<Ratio>>,
    /// Range of the number.
    pub range: Option<Range>,
    /// The number that this one is the square of: its ends are better known when it may be 0.
    pub root: Option<Box<Number>>,
}

/// Range of a number whatever the noise is.
#[derive(Clone)]
pub struct Range {
    /// The least that it can be.
    pub low: f64,
    /// The most that it can be.
    pub high: f64,
    /// The condition on which there is a number.
    pub when: String,
}

/// A quotient of numbers that are linear in their noise.
#[derive(Clone)]
pub struct Ratio {
    over: Number,
    under: Number,
}

impl Number {
    /// Without noise.
    pub fn exact(value: Real) -> Self {
        Self { value, terms: Vec::new(), ratio: None, range: None, root: None }
    }

    /// Of which nothing is known.
    pub fn unknown() -> Self {
        Self::exact(Real::Text("NULL::pg_catalog.float8".into()))
    }

    /// A number with a single term.
    pub fn one(value: Real, term: Term) -> Self {
        Self { value, terms: vec![term], ratio: None, range: None, root: None }
    }

    /// A column that is its own only term, with what is told of its noise and of cuts beside it.
    pub fn column(atom: String, variance: Real, fourth: Real, cut: Cut, parts: BTreeSet<Part>) -> Self {
        let value = Real::of(&atom);
        Self::one(value, Term { atom, slope: Real::Known(1.0), variance, fourth, step: None, parts, cut })
    }

    /// Terms of a number that changes with this one by a factor.
    pub fn slopes(&self, factor: &Real) -> Vec<Term> {
        self.terms.iter().map(|t| Term { slope: t.slope.times(factor), ..t.clone() }).collect()
    }

    /// The product of this number with one without noise.
    pub fn times(&self, factor: &Real) -> Self {
        let ratio = self
            .ratio
            .as_ref()
            .map(|r| Box::new(Ratio { over: r.over.times(factor), under: r.under.clone() }));
        Self { value: self.value.times(factor), terms: self.slopes(factor), ratio, range: None, root: None }
    }

    /// The number as if nothing were cut where nobody knows how much is.
    fn where_known(&self) -> Self {
        let known = |t: &Term| Term {
            cut: Cut { below: t.cut.below.or_nothing(), above: t.cut.above.or_nothing() },
            ..t.clone()
        };
        let of = |r: &Ratio| Box::new(Ratio { over: r.over.where_known(), under: r.under.where_known() });
        Self {
            terms: self.terms.iter().map(known).collect(),
            ratio: self.ratio.as_deref().map(of),
            root: self.root.as_deref().map(|root| Box::new(root.where_known())),
            ..self.clone()
        }
    }

    /// Text of whether it says nothing: its interval is wider than it is, or than half of all that it can be (a year of birth is large, and
    /// its range is not). Where nobody knows what bounds cut, noise alone decides.
    pub fn says_nothing(&self, quantile: Quantile) -> String {
        let known = self.where_known();
        let [low, high] = [Reach::Low, Reach::High].map(|what| reached(what, &known, quantile).text());
        let most = match &self.range {
            Some(Range { low: least, high: most, .. }) if least.is_finite() && most.is_finite() => {
                format!(
                    "LEAST(pg_catalog.abs({}), {})",
                    self.value.text(),
                    Real::Known((most - least) / 2.0).text()
                )
            }
            _ => format!("pg_catalog.abs({})", self.value.text()),
        };
        format!("COALESCE({high} - {low} > {most}, true)")
    }

    /// The sum.
    pub fn plus(&self, other: &Self) -> Self {
        let terms = merged(self.terms.clone(), other.terms.clone());
        // c + N / D = (c·D + N) / D.
        let moved = |of: &Self, by: &Self| {
            let ratio = of.ratio.as_ref().filter(|_| by.terms.is_empty())?;
            let over = ratio.over.plus(&ratio.under.times(&by.value));
            Some(Box::new(Ratio { over, under: ratio.under.clone() }))
        };
        let ratio = moved(self, other).or_else(|| moved(other, self));
        Self { value: self.value.plus(&other.value), terms, ratio, range: None, root: None }
    }

    /// The product.
    pub fn multiplied(&self, other: &Self) -> Self {
        if other.terms.is_empty() {
            return self.times(&other.value);
        }
        if self.terms.is_empty() {
            return other.times(&self.value);
        }
        let terms = merged(self.slopes(&other.value), other.slopes(&self.value));
        Self { value: self.value.times(&other.value), terms, ratio: None, range: None, root: None }
    }

    /// The quotient.
    pub fn divided(&self, other: &Self) -> Self {
        if other.terms.is_empty() {
            return self.times(&Real::Known(1.0).divided_by(&other.value));
        }
        let linear = self.ratio.is_none() && other.ratio.is_none();
        Self::ratio(self.clone(), other.clone(), linear)
    }

    /// The ratio of two numbers, which are linear in their noise or not: θ = N / D changes with N by 1 / D, and with D by -θ / D.
    pub fn ratio(over: Number, under: Number, linear: bool) -> Self {
        let value = over.value.divided_by(&under.value);
        let part = Real::Known(1.0).divided_by(&under.value);
        let terms = merged(over.slopes(&part), under.slopes(&value.negated().times(&part)));
        let ratio = linear.then(|| Box::new(Ratio { over, under }));
        Self { value, terms, ratio, range: None, root: None }
    }
}

impl Real {
    /// The number, or 0 where nobody knows it.
    fn or_nothing(&self) -> Self {
        match self {
            Self::Known(a) if a.is_nan() => Self::Known(0.0),
            Self::Known(_) => self.clone(),
            Self::Text(t) => Self::Text(format!("COALESCE({t}, 0)")),
        }
    }
}

/// Terms of two numbers that are added up: what both have has one slope.
pub fn merged(mut one: Vec<Term>, other: Vec<Term>) -> Vec<Term> {
    for t in other {
        match one.iter_mut().find(|have| have.atom == t.atom) {
            Some(have) => have.slope = have.slope.plus(&t.slope),
            None => one.push(t),
        }
    }
    one
}

/// No two of them share noise.
fn independent(terms: &[Term]) -> bool {
    let apart = |a: &Term, b: &Term| a.parts.iter().all(|a| b.parts.iter().all(|b| a.is_apart(b)));
    terms.iter().enumerate().all(|(i, a)| terms.iter().skip(i + 1).all(|b| apart(a, b)))
}

/// Variance and fourth cumulant of a sum of terms.
fn moments(terms: &[Term]) -> (Real, Real) {
    let square = |x: &Real| x.times(x);
    if independent(terms) {
        let variance = terms.iter().map(|t| square(&t.slope).times(&t.variance));
        let fourth = terms.iter().map(|t| square(&square(&t.slope)).times(&t.fourth));
        return (Real::sum(variance), Real::sum(fourth));
    }
    let variance = square(&Real::sum(terms.iter().map(deviation)));
    // As if it were one Laplace variable: the widest of them.
    let fourth = square(&variance).times(&Real::Known(3.0));
    (variance, fourth)
}

fn deviation(t: &Term) -> Real {
    t.slope.magnitude().times(&t.variance.root())
}

/// Half the width of an interval around a sum of terms.
fn half_width(terms: &[Term], quantile: Quantile) -> Real {
    let (variance, fourth) = moments(terms);
    if let (Real::Known(v), Real::Known(f)) = (&variance, &fourth) {
        return Real::Known(quantile.half_width(*v, *f, step(terms)));
    }
    let (normal, first, second) = quantile.parabola();
    let widths = match (&variance, &fourth) {
        (_, Real::Known(0.0)) => Real::Known(normal),
        (v, f) => {
            let kurtosis = Real::Text(format!("LEAST({}, 3)", f.divided_by(&v.times(v)).text()));
            let slope = Real::Known(first).plus(&kurtosis.times(&Real::Known(second)));
            Real::Known(normal).plus(&kurtosis.times(&slope))
        }
    };
    widths.times(&variance.root())
}

/// How far values of a sum of terms are apart, where it is the same for all of them.
fn step(terms: &[Term]) -> Option<f64> {
    let of = |t: &Term| match (&t.slope, t.step) {
        (Real::Known(slope), Some(step)) => Some(slope.abs() * step).filter(|s| *s > 0.0),
        _ => None,
    };
    let first = of(terms.first()?)?;
    terms.iter().all(|t| of(t).is_some_and(|s| (s - first).abs() <= 1e-9 * first)).then_some(first)
}

/// The answer to a question about a number.
pub fn reached(what: Reach, number: &Number, quantile: Quantile) -> Real {
    let (variance, fourth) = moments(&number.terms);
    let cut = Cut::of(&number.terms);
    match what {
        Reach::Variance => variance,
        Reach::Fourth => fourth,
        Reach::Below => cut.below,
        Reach::Above => cut.above,
        Reach::Deviation => variance.root(),
        Reach::Low | Reach::High if number.terms.is_empty() => number.value.clone(),
        Reach::Low if cut.below.is_unknown() => cut.below,
        Reach::High if cut.above.is_unknown() => cut.above,
        Reach::Low | Reach::High => match (&number.ratio, &number.root) {
            (_, Some(root)) => {
                let half = half_width(&root.terms, quantile).plus(&Cut::of(&root.terms).most());
                let size = root.value.magnitude();
                let end = match what {
                    Reach::Low => Real::Text(format!("GREATEST({}, 0)", size.plus(&half.negated()).text())),
                    _ => size.plus(&half),
                };
                // GREATEST leaves NULL out.
                let known = Real::Text(format!(
                    "(CASE WHEN {} IS NOT NULL THEN {} END)",
                    half.text(),
                    end.times(&end).text()
                ));
                within(&known, number.range.as_ref(), what)
            }
            (Some(ratio), None) => fieller(ratio, number.range.as_ref(), what, quantile),
            (None, None) => {
                let beyond = if what == Reach::Low { &cut.below } else { &cut.above };
                let half = half_width(&number.terms, quantile).plus(beyond);
                // 15 digits: what a float has beyond them is not the number's.
                let short = matches!(half, Real::Known(_));
                let end = number.value.plus(&if what == Reach::Low { half.negated() } else { half });
                let end = match (short, end) {
                    (true, Real::Text(t)) => {
                        Real::Text(format!("{t}::pg_catalog.numeric::pg_catalog.float8"))
                    }
                    (_, end) => end,
                };
                within(&end, number.range.as_ref(), what)
            }
        },
    }
}

/// An end, no further than the number can lie; where it is not known, as far as that.
fn within(end: &Real, range: Option<&Range>, what: Reach) -> Real {
    let Some(Range { low, high, when }) = range else { return end.clone() };
    let far = if what == Reach::Low { *low } else { *high };
    let mut cut = end.text();
    // GREATEST and LEAST leave NULL out: an end that is unknown stays so where nothing bounds it, and else is the bound.
    if far.is_finite() {
        cut = format!("COALESCE({cut}, {})", Real::Known(far).text());
        for (function, bound) in [("GREATEST", *low), ("LEAST", *high)] {
            if bound.is_finite() {
                cut = format!("{function}({cut}, {})", Real::Known(bound).text());
            }
        }
    }
    Real::Text(format!("(CASE WHEN {when} THEN {cut} END)"))
}

/// An end of Fieller's interval: with v₁₁, v₁₂ and v₂₂ the variances and the covariance of N and D, A = D² - k²v₂₂ and θ = N / D
/// it is θ + (k²(θv₂₂ - v₁₂) ± k|D|·√(v₁₁ - 2θv₁₂ + θ²v₂₂ - (v₁₁v₂₂ - v₁₂²)k²/D²)) / A. Where A is not above 0, D cannot be told
/// from 0, and the interval is all that θ can be.
fn fieller(ratio: &Ratio, range: Option<&Range>, what: Reach, quantile: Quantile) -> Real {
    let Ratio { over, under } = ratio;
    let (n, d) = (&over.value, &under.value);
    let theta = n.divided_by(d);
    let difference = merged(over.terms.clone(), under.slopes(&theta.negated()));
    let laplace = difference.iter().any(|t| t.fourth != Real::Known(0.0)) || !independent(&difference);
    let k = Real::Known(if laplace { quantile.widest() } else { quantile.at(0.0) });
    let sign = Real::Known(if what == Reach::Low { -1.0 } else { 1.0 });
    let (moved, moved_under) = (Cut::of(&difference), Cut::of(&under.terms));
    let (decided, end) = match independent(&difference) {
        // With N - θ·D and D moved by no more than c and d, the quotient is by no more than (k·σ(N - θ·D) + c)/(|D| - k·σ(D) - d).
        _ if moved != Cut::NOTHING || moved_under != Cut::NOTHING => {
            let noise = |terms: &[Term]| moments(terms).0.root().times(&k);
            let least = noise(&under.terms).plus(&moved_under.most()).negated();
            let under = d.magnitude().plus(&least);
            let half = noise(&difference).plus(&moved.most()).divided_by(&under);
            (under, theta.plus(&half.times(&sign)))
        }
        true => {
            let both = |f: &dyn Fn(&Term) -> Real, terms: &[Term]| Real::sum(terms.iter().map(f));
            let own = |t: &Term| t.slope.times(&t.slope).times(&t.variance);
            let shared = |t: &Term| match under.terms.iter().find(|u| u.atom == t.atom) {
                Some(u) => t.slope.times(&u.slope).times(&t.variance),
                None => Real::Known(0.0),
            };
            let (v11, v12, v22) =
                (both(&own, &over.terms), both(&shared, &over.terms), both(&own, &under.terms));
            let (k2, d2) = (k.times(&k), d.times(d));
            let a = d2.plus(&k2.times(&v22).negated());
            let determinant = v11.times(&v22).plus(&v12.times(&v12).negated());
            let (spread, _) = moments(&difference);
            let under_root = spread.plus(&determinant.times(&k2).divided_by(&d2).negated());
            let half = k.times(&d.magnitude()).times(&under_root.root());
            let middle = k2.times(&theta.times(&v22).plus(&v12.negated()));
            (a.clone(), theta.plus(&middle.plus(&half.times(&sign)).divided_by(&a)))
        }
        // All that |N - θ·D| ≤ k(σ_N + |θ|σ_D) allows: the least and greatest quotient of the ends of N and D.
        false => {
            let sigma = |number: &Number| moments(&number.terms).0.root().times(&k);
            let (wide, low, high) = (sigma(over), sigma(under).negated(), sigma(under));
            let end = n.plus(&wide.times(&sign));
            // Towards the far end where the quotient is to be large, the near one of the other sign.
            let corners = [d.plus(&low), d.plus(&high)].map(|d| end.divided_by(&d).text());
            let function = if what == Reach::Low { "LEAST" } else { "GREATEST" };
            let end = Real::Text(format!("{function}({}, {})", corners[0], corners[1]));
            (d.magnitude().plus(&low), end)
        }
    };
    let otherwise = match range {
        None => "NULL".to_owned(),
        Some(range) => Real::Known(if what == Reach::Low { range.low } else { range.high }).text(),
    };
    let end =
        Real::Text(format!("(CASE WHEN {} > 0 THEN {} ELSE {otherwise} END)", decided.text(), end.text()));
    within(&end, range, what)
}
