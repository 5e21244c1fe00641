//! How far the noise of a number reaches, as an expression over released columns and the public parameters of their noise.
//!
//! Noise moves through a number as through its derivatives: of x = f(a₁, …) with independent noise of variance vⱼ on each aⱼ it
//! has the variance V = Σ(∂f/∂aⱼ)²·vⱼ and the fourth cumulant F = Σ(∂f/∂aⱼ)⁴·κⱼ. Both are exact where f is linear. Ends lie
//! k·√V away, where k is that of a sum of Laplace and Gaussian variables with the excess kurtosis F/V²
//! (`plan::reach::quantile`). A ratio N / D has the ends of Fieller's interval instead (1954), which holds for small D, too: all
//! θ with |N - θ·D| ≤ k·σ(N - θ·D). Where numbers may share their noise, standard deviations are added, which is never too
//! little.

use super::Printer;
use super::real::Real;
use super::released::{Row, output_text};
use crate::alias;
use bigdecimal::{BigDecimal, ToPrimitive};
use plan::expected_error::centre;
use plan::reach::quantile::Quantile;
use plan::reach::{Part, Rows, Uncertain, noise};
use plan::release::moments::{Moment, Statistic};
use plan::release::{Output, PartKind, Release};
use sql::ast::*;
use std::collections::BTreeSet;

/// One source of noise in a number.
#[derive(Clone)]
struct Term {
    /// Which: the text of its column.
    atom: String,
    /// By how much the number changes with it.
    slope: Real,
    variance: Real,
    fourth: Real,
    /// How far its values are apart, where that is known.
    step: Option<f64>,
    parts: BTreeSet<Part>,
}

/// A number, its noise to first order, and the ratio that it is, if it is one.
#[derive(Clone)]
struct Number {
    value: Real,
    terms: Vec<Term>,
    ratio: Option<Box<Ratio>>,
    range: Option<Range>,
}

/// Where a number lies whatever the noise is.
#[derive(Clone)]
struct Range {
    low: f64,
    high: f64,
    /// The condition on which there is a number.
    when: String,
}

/// A quotient of numbers that are linear in their noise.
#[derive(Clone)]
struct Ratio {
    over: Number,
    under: Number,
}

impl Number {
    fn exact(value: Real) -> Self {
        Self { value, terms: Vec::new(), ratio: None, range: None }
    }

    fn slopes(&self, factor: &Real) -> Vec<Term> {
        self.terms.iter().map(|t| Term { slope: t.slope.times(factor), ..t.clone() }).collect()
    }

    /// This number times one without noise.
    fn times(&self, factor: &Real) -> Self {
        let ratio = self
            .ratio
            .as_ref()
            .map(|r| Box::new(Ratio { over: r.over.times(factor), under: r.under.clone() }));
        Self { value: self.value.times(factor), terms: self.slopes(factor), ratio, range: None }
    }

    fn plus(&self, other: &Self) -> Self {
        let terms = merged(self.terms.clone(), other.terms.clone());
        // c + N / D = (c·D + N) / D.
        let moved = |of: &Self, by: &Self| {
            let ratio = of.ratio.as_ref().filter(|_| by.terms.is_empty())?;
            let over = ratio.over.plus(&ratio.under.times(&by.value));
            Some(Box::new(Ratio { over, under: ratio.under.clone() }))
        };
        let ratio = moved(self, other).or_else(|| moved(other, self));
        Self { value: self.value.plus(&other.value), terms, ratio, range: None }
    }

    fn multiplied(&self, other: &Self) -> Self {
        if other.terms.is_empty() {
            return self.times(&other.value);
        }
        if self.terms.is_empty() {
            return other.times(&self.value);
        }
        let terms = merged(self.slopes(&other.value), other.slopes(&self.value));
        Self { value: self.value.times(&other.value), terms, ratio: None, range: None }
    }

    fn divided(&self, other: &Self) -> Self {
        if other.terms.is_empty() {
            return self.times(&Real::Known(1.0).divided_by(&other.value));
        }
        let linear = self.ratio.is_none() && other.ratio.is_none();
        Self::ratio(self.clone(), other.clone(), linear)
    }

    /// θ = N / D changes with N by 1 / D, and with D by -θ / D.
    fn ratio(over: Number, under: Number, linear: bool) -> Self {
        let value = over.value.divided_by(&under.value);
        let part = Real::Known(1.0).divided_by(&under.value);
        let terms = merged(over.slopes(&part), under.slopes(&value.negated().times(&part)));
        let ratio = linear.then(|| Box::new(Ratio { over, under }));
        Self { value, terms, ratio, range: None }
    }
}

/// Terms of two numbers that are added up: what both have has one slope.
fn merged(mut one: Vec<Term>, other: Vec<Term>) -> Vec<Term> {
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

impl Printer<'_> {
    /// `noisegate.low(x)` and its like; while the statement is typed, a number.
    pub(super) fn reach(&mut self, what: Reach, expr: &Expr, confidence: u32) {
        let of = self.queries.as_ref().zip(self.place).map(|(queries, place)| queries.follow(expr, place));
        let Some(of) = of else {
            return self.wrapped("(", expr, ")::pg_catalog.float8");
        };
        let text = match of {
            Ok(of) => {
                let number = self.number(&of);
                reached(what, &number, Quantile::of(confidence)).text()
            }
            // Whatever it is of was refused before anything was read.
            Err(_) => "NULL".into(),
        };
        self.put(&format!("({text})::pg_catalog.float8"));
    }

    /// The text of an expression.
    fn text(&mut self, e: &Expr) -> String {
        let (out, marks) = (std::mem::take(&mut self.out), self.marks.len());
        self.expr(e);
        self.marks.truncate(marks);
        std::mem::replace(&mut self.out, out)
    }

    fn float(&mut self, e: &Expr) -> Real {
        match &e.kind {
            ExprKind::Literal(Literal::Number(n)) => n.parse().map_or_else(|_| float(n), Real::Known),
            _ => float(&self.text(e)),
        }
    }

    fn number(&mut self, of: &Uncertain<'_>) -> Number {
        match of {
            Uncertain::Exact(e) => Number::exact(self.float(e)),
            Uncertain::Released { row, from, output } => {
                let release = self.plan.and_then(|p| p.releases.get(*from));
                release
                    .map_or_else(unknown, |r| released(&Row { row: *row, from: *from, cells: 1 }, r, output))
            }
            Uncertain::Column { expr, binding, parts, .. } => {
                let beside = |what| match of.beside(what) {
                    Some(place) => Real::Text(format!("{}.c{place}", alias(*binding))),
                    None => Real::Text("NULL::pg_catalog.float8".into()),
                };
                let (variance, fourth) = (beside(Reach::Variance), beside(Reach::Fourth));
                column(self.text(expr), variance, fourth, parts.clone())
            }
            Uncertain::Query { expr, query, parts } => {
                let mut inner = |what| {
                    let mut query = (*query).clone();
                    asking(&mut query.body, what);
                    let kind = ExprKind::Subquery(Box::new(query));
                    Real::Text(self.text(&Expr::new(kind, None)))
                };
                let (variance, fourth) = (inner(Reach::Variance), inner(Reach::Fourth));
                column(self.text(expr), variance, fourth, parts.clone())
            }
            Uncertain::Same(_, x) => self.number(x),
            Uncertain::Negated(_, x) => self.number(x).times(&Real::Known(-1.0)),
            Uncertain::Sum(_, minus, pair) => {
                let [x, y] = &**pair;
                let (x, y) = (self.number(x), self.number(y));
                x.plus(&if *minus { y.times(&Real::Known(-1.0)) } else { y })
            }
            Uncertain::Product(_, pair) => {
                let [x, y] = &**pair;
                let (x, y) = (self.number(x), self.number(y));
                x.multiplied(&y)
            }
            Uncertain::Quotient(_, pair) => {
                let [x, y] = &**pair;
                let (x, y) = (self.number(x), self.number(y));
                x.divided(&y)
            }
            Uncertain::Total { expr, mean, .. } => self.total(expr, of, *mean),
            Uncertain::Shifted { expr, .. } => self.total(expr, of, false),
        }
    }

    /// A sum or an average of rows, each with noise of its own.
    fn total(&mut self, e: &Expr, whole: &Uncertain<'_>, mean: bool) -> Number {
        let mut call = |name: Option<&'static str>, what: Option<Reach>| {
            let outer = self.place;
            self.place = outer.map(plan::reach::Place::rows);
            let text = self.text(&calling(e, name, what));
            self.place = outer;
            float(&text)
        };
        let (mut variance, mut fourth) = (
            call(mean.then_some("sum"), Some(Reach::Variance)),
            call(mean.then_some("sum"), Some(Reach::Fourth)),
        );
        if mean {
            let n = call(Some("count"), None);
            let square = n.times(&n);
            variance = variance.divided_by(&square);
            fourth = fourth.divided_by(&square.times(&square));
        }
        column(self.text(e), variance, fourth, whole.parts())
    }
}

fn unknown() -> Number {
    Number::exact(Real::Text("NULL::pg_catalog.float8".into()))
}

fn float(text: &str) -> Real {
    Real::Text(format!("({text})::pg_catalog.float8"))
}

fn one(value: Real, term: Term) -> Number {
    Number { value, terms: vec![term], ratio: None, range: None }
}

/// A number that is its own only term, with what is told of its noise beside it.
fn column(atom: String, variance: Real, fourth: Real, parts: BTreeSet<Part>) -> Number {
    let value = float(&atom);
    one(value, Term { atom, slope: Real::Known(1.0), variance, fourth, step: None, parts })
}

/// The query with this of its only item.
fn asking(body: &mut Body, what: Reach) {
    match body {
        Body::Select(s) => {
            for item in &mut s.items {
                let expr = Box::new(item.expr.clone());
                item.expr = Expr::new(ExprKind::Reach { what, expr, confidence: Reach::USUAL }, None);
            }
        }
        Body::Query(q) => asking(&mut q.body, what),
        Body::SetOp { .. } | Body::Values(_) | Body::Rows { .. } => {}
    }
}

/// The aggregate, or the call over a window, under another name and of something of its argument.
fn calling(e: &Expr, name: Option<&'static str>, what: Option<Reach>) -> Expr {
    let mut call = e.clone();
    let inner = match &mut call.kind {
        ExprKind::Window { function, .. } => &mut function.kind,
        kind => kind,
    };
    let (own, first) = match inner {
        ExprKind::Aggregate(a) => (&mut a.name, a.args.first_mut()),
        ExprKind::Call { name, args } => (name, args.first_mut()),
        _ => return call,
    };
    *own = name.unwrap_or(*own);
    if let (Some(what), Some(arg)) = (what, first) {
        let kind = ExprKind::Reach { what, expr: Box::new(arg.clone()), confidence: Reach::USUAL };
        *arg = Expr::new(kind, arg.pos);
    }
    call
}

/// A released integer times its grid.
fn part(row: &Row, r: &Release, part: usize) -> Number {
    let (atom, noise) = (row.column(part), noise(r, part));
    let [variance, fourth] = [noise.variance, noise.fourth].map(Real::Known);
    let parts = BTreeSet::from([Part { release: row.from, part, rows: Rows::Own }]);
    let value = float(&atom);
    one(value, Term { atom, slope: Real::Known(1.0), variance, fourth, step: Some(noise.step), parts })
}

/// A sum of values less a centre, and that centre for each row that is counted.
fn uncentred(row: &Row, r: &Release, sum: usize, count: usize) -> Number {
    let centre = centre(r, sum).to_f64().unwrap_or(f64::NAN);
    part(row, r, sum).plus(&part(row, r, count).times(&Real::Known(centre)))
}

/// One of the analyst's aggregates.
fn released(row: &Row, r: &Release, output: &Output) -> Number {
    let decimal = |x: &BigDecimal| x.to_f64().unwrap_or(f64::NAN);
    match output {
        Output::Count(p) | Output::Sum(p, _) => part(row, r, *p),
        Output::CentredSum { sum, count, .. } => uncentred(row, r, *sum, *count),
        Output::Avg { sum, count, low, high, .. } => {
            let n = part(row, r, *count);
            let over = uncentred(row, r, *sum, *count);
            let average = Number::ratio(over, n, true);
            let when = format!("{} >= 1", row.column(*count));
            let range = Some(Range { low: decimal(low), high: decimal(high), when });
            Number { value: float(&output_text(row, r, output)), range, ..average }
        }
        Output::Moment(m) => moment(row, r, m, float(&output_text(row, r, output))),
        Output::Zero(_) | Output::Constant { .. } | Output::Points { .. } | Output::Truth { .. } => {
            Number::exact(float(&output_text(row, r, output)))
        }
    }
}

/// A variance: c + q/n - d² with d = d₀ + s/n, from the released sums s of deviations and q of their squares. It changes with q
/// by 1/n, with s by -2d/n and with n by (2d·s/n - q/n)/n; times n/(n - 1) for a sample; and its root by as much divided by twice
/// that.
fn moment(row: &Row, r: &Release, m: &Moment, value: Real) -> Number {
    let Statistic::Variance { sample, root } = m.what else { return unknown() };
    let decimal = |x: &BigDecimal| x.to_f64().unwrap_or(f64::NAN);
    let n = part(row, r, m.count);
    let unit = Real::Known(1.0).divided_by(&n.value);
    let mut terms = Vec::new();
    let mut of_count = Real::Known(0.0);
    if let Some(squares) = m.x.squares {
        let q = part(row, r, squares);
        terms = merged(terms, q.slopes(&unit));
        of_count = q.value.times(&unit).negated();
    }
    if let Some(sum) = m.x.sum {
        let s = part(row, r, sum);
        let centre = match r.parts.get(sum).map(|p| &p.kind) {
            Some(PartKind::Sum(g)) => decimal(&(BigDecimal::from(g.centre()) * g.grid() - &m.x.centre)),
            _ => 0.0,
        };
        let mean = s.value.times(&unit);
        let d = mean.plus(&Real::Known(centre));
        terms = merged(terms, s.slopes(&d.times(&unit).times(&Real::Known(-2.0))));
        of_count = of_count.plus(&d.times(&mean).times(&Real::Known(2.0)));
    }
    terms = merged(terms, n.slopes(&of_count.times(&unit)));
    let most = decimal(&m.x.half);
    // Of a sample it may be a little more.
    let high = match (sample, root) {
        (true, _) => f64::INFINITY,
        (false, true) => most,
        (false, false) => most * most,
    };
    let when = format!("{} >= {}", row.column(m.count), if sample { 2 } else { 1 });
    let range = Some(Range { low: 0.0, high, when });
    let mut number = Number { value: value.clone(), terms, ratio: None, range };
    if sample {
        let factor = n.value.divided_by(&n.value.plus(&Real::Known(-1.0)));
        number.terms = number.slopes(&factor);
    }
    if root {
        number.terms = number.slopes(&Real::Known(0.5).divided_by(&value));
    }
    number
}

/// What is asked of a number.
fn reached(what: Reach, number: &Number, quantile: Quantile) -> Real {
    let (variance, fourth) = moments(&number.terms);
    match what {
        Reach::Variance => variance,
        Reach::Fourth => fourth,
        Reach::Deviation => variance.root(),
        Reach::Low | Reach::High if number.terms.is_empty() => number.value.clone(),
        Reach::Low | Reach::High => match &number.ratio {
            Some(ratio) => fieller(ratio, number.range.as_ref(), what, quantile),
            None => {
                let half = half_width(&number.terms, quantile);
                // 15 digits: what a float has beyond them is not the number's.
                let short = matches!(half, Real::Known(_));
                let end = number.value.plus(&if what == Reach::Low { half.negated() } else { half });
                let end = match (short, end) {
                    (true, Real::Text(t)) => {
                        Real::Text(format!("{t}::pg_catalog.numeric::pg_catalog.float8"))
                    }
                    (_, end) => end,
                };
                within(&end, number.range.as_ref())
            }
        },
    }
}

/// An end, no further than the number can lie.
fn within(end: &Real, range: Option<&Range>) -> Real {
    let Some(Range { low, high, when }) = range else { return end.clone() };
    let cut = format!("GREATEST({}, {})", end.text(), Real::Known(*low).text());
    let cut = match high.is_finite() {
        true => format!("LEAST({cut}, {})", Real::Known(*high).text()),
        false => cut,
    };
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
    let (decided, end) = match independent(&difference) {
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
    within(&end, range)
}
