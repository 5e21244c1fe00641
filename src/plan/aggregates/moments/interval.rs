//! Intervals of variances, covariances and statistics that follow from them: to first order, by
//! derivatives.

use super::moment::{Moment, Variable};
use super::statistic::Statistic;
use crate::aggregates::drawn::Released;
use crate::noise::number::{Cut, Number, Range, merged};
use crate::noise::real::Real;
use bigdecimal::{BigDecimal, ToPrimitive, Zero};

/// A statistic, of which `text` is the value.
pub(super) fn number(released: &Released<'_>, m: &Moment, text: &str) -> Number {
    match m.what {
        Statistic::Variance { sample, root } => variance(released, m, (sample, root), Real::of(text)),
        // About 0 a square is no line.
        Statistic::Determination => {
            let root = Moment { what: Statistic::Correlation, ..m.clone() };
            let root = of_means(released, &root, &format!("pg_catalog.sqrt({text})"));
            Number { root: Some(Box::new(root)), ..of_means(released, m, text) }
        }
        _ => of_means(released, m, text),
    }
}

fn decimal(x: &BigDecimal) -> f64 {
    x.to_f64().unwrap_or(f64::NAN)
}

/// The centre that was taken off each value of a sum, less another centre.
fn offset(released: &Released<'_>, part: usize, less: &BigDecimal) -> f64 {
    decimal(&(released.drawn.centre(part) - less))
}

/// A variance: c + q/n - d² with d = d₀ + s/n, from the released sums s of deviations and q of their squares. It changes with q
/// by 1/n, with s by -2d/n and with n by (2d·s/n - q/n)/n; times n/(n - 1) for a sample; and its root by as much divided by twice
/// that.
fn variance(released: &Released<'_>, m: &Moment, (sample, root): (bool, bool), value: Real) -> Number {
    let n = released.part(m.count);
    let unit = Real::Known(1.0).divided_by(&n.value);
    let mut terms = Vec::new();
    let mut of_count = Real::Known(0.0);
    if let Some(squares) = m.x.squares {
        let q = released.part(squares);
        terms = merged(terms, q.slopes(&unit));
        of_count = q.value.times(&unit).negated();
    }
    if let Some(sum) = m.x.sum {
        let s = released.part(sum);
        let mean = s.value.times(&unit);
        let d = mean.plus(&Real::Known(offset(released, sum, &m.x.centre)));
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
    let when = format!("{} >= {}", released.column(m.count), if sample { 2 } else { 1 });
    let range = Some(Range { low: 0.0, high, when });
    let mut number = Number { value: value.clone(), terms, ratio: None, range, root: None };
    if sample {
        let factor = n.value.divided_by(&n.value.plus(&Real::Known(-1.0)));
        number.terms = number.slopes(&factor);
    }
    if root {
        number.terms = number.slopes(&Real::Known(0.5).divided_by(&value));
    }
    number
}

/// A mean that a statistic is a function of: a released sum, divided by the number of rows.
struct Mean {
    /// Name in the texts below.
    name: &'static str,
    part: Option<usize>,
    /// Offset that is added after the noise.
    offset: f64,
    /// The derivative of the statistic by it.
    by: String,
}

/// A function f of means sⱼ/n of released sums. It changes with sⱼ by fⱼ/n, fⱼ being its derivative by the mean, and with n by
/// -Σ(sⱼ/n)·fⱼ/n. Where it is a sum, n·f, it changes with sⱼ by fⱼ and with n by f - Σ(sⱼ/n)·fⱼ. A sample's has n/(n - 1) times
/// all that.
///
/// In the texts a and b are the means of the deviations of x and y from their centres, p and q those of their squares, c that of
/// their products; v, w and k are the variances and the covariance that follow, dx and dy the deviations of the means.
/// f divides by v or w; where one is not more than three standard deviations above 0, derivatives say nothing, and the noise is
/// unknown: NULL.
fn of_means(released: &Released<'_>, m: &Moment, text: &str) -> Number {
    let zero = BigDecimal::zero();
    let centre = |part: Option<usize>, less: &BigDecimal| part.map_or(0.0, |p| offset(released, p, less));
    let sum = |v: Option<&Variable>| v.and_then(|v| v.sum);
    let squares = |v: Option<&Variable>| v.and_then(|v| v.squares);
    let (x, y) = (Some(&m.x), m.y.as_ref());
    let [fa, fb, fp, fq, fc] = m.what.derivatives(decimal(&m.x.centre));
    let of = |name, part: Option<usize>, less: &BigDecimal, by| Mean {
        name,
        part,
        offset: centre(part, less),
        by,
    };
    let means = [
        of("a", sum(x), &m.x.centre, fa),
        of("b", sum(y), y.map_or(&zero, |y| &y.centre), fb),
        of("p", squares(x), &zero, fp),
        of("q", squares(y), &zero, fq),
        of("c", m.products, &zero, fc),
    ];
    let n = Real::of(&released.column(m.count)).text();
    let noises = |part: usize| {
        let (noise, added) = (released.drawn.noise(part), released.row.added());
        let times = added.map_or(Real::Known(1.0), |n| Real::Text(n.clone()));
        [noise.variance, noise.fourth].map(|x| Real::Known(x).times(&times).text())
    };
    // What is released, and the noise of each.
    let mut known = vec![format!("{n} AS n"), with_noise("n", &noises(m.count))];
    let mut sums = Vec::new();
    for mean in &means {
        let name = mean.name;
        match mean.part {
            Some(part) => {
                known.push(format!("{} / NULLIF({n}, 0) AS {name}", Real::of(&released.column(part)).text()));
                known.push(with_noise(name, &noises(part)));
                sums.push(mean);
            }
            None => known.push(format!("0::pg_catalog.float8 AS {name}")),
        }
    }
    let moved = |name: &str| {
        let offset = means.iter().find(|m| m.name == name).map_or(0.0, |m| m.offset);
        format!("(s.{name} + {})", Real::Known(offset).text())
    };
    let deviations = format!("s.*, {} AS dx, {} AS dy", moved("a"), moved("b"));
    let spreads = format!(
        "s.*, {} - s.dx * s.dx AS v, {} - s.dy * s.dy AS w, {} - s.dx * s.dy AS k",
        moved("p"),
        moved("q"),
        moved("c")
    );
    // Variances of v and w, by the same rule.
    let spread = |square: &str, mean: &str, d: &str| {
        let has = |name: &str| sums.iter().any(|m| m.name == name);
        let mut noise = vec![format!("(s.{square} - 2 * s.{d} * s.{mean}) ^ 2 * s.vn")];
        noise.extend(has(square).then(|| format!("s.v{square}")));
        noise.extend(has(mean).then(|| format!("4 * s.{d} * s.{d} * s.v{mean}")));
        format!("9 * ({}) / (s.n * s.n)", noise.join(" + "))
    };
    let told = |v: &str, square: &str, mean: &str, d: &str| {
        format!("s.{v} > 0 AND s.{v} * s.{v} > {}", spread(square, mean, d))
    };
    let [by_v, by_w] = m.what.divides_by();
    let clear = by_v.then(|| told("v", "p", "a", "dx")).into_iter();
    let clear: Vec<String> = clear.chain(by_w.then(|| told("w", "q", "b", "dy"))).collect();
    let clear = if clear.is_empty() { "true".to_owned() } else { clear.join(" AND ") };
    let by: Vec<String> =
        sums.iter().map(|m| format!("CASE WHEN {clear} THEN {} END AS f{}", m.by, m.name)).collect();
    let own: Vec<String> = sums.iter().map(|m| format!("s.{0} * s.f{0}", m.name)).collect();
    let own = if own.is_empty() { "0".to_owned() } else { own.join(" + ") };
    let (value, times) = m.what.of_rows();
    let steps = [
        deviations,
        spreads,
        [vec!["s.*".to_owned()], by].concat().join(", "),
        format!("s.*, {value} - ({own}) AS fn, {times} AS t"),
    ];
    let rows = steps.iter().fold(format!("(SELECT {} OFFSET 0)", known.join(", ")), |rows, step| {
        format!("(SELECT {step} FROM {rows} AS s OFFSET 0)")
    });
    let total = |power: u32, noise: &str| {
        let names = sums.iter().map(|m| m.name).chain(["n"]);
        let terms: Vec<String> =
            names.map(|name| format!("(s.f{name} * s.t) ^ {power} * s.{noise}{name}")).collect();
        Real::Text(format!("(SELECT {} FROM {rows} AS s)", terms.join(" + ")))
    };
    let all = || std::iter::once(m.count).chain(sums.iter().filter_map(|m| m.part));
    let gaussian = all().all(|p| released.drawn.noise(p).fourth == 0.0);
    let fourth = if gaussian { Real::Known(0.0) } else { total(4, "k") };
    let parts = all().flat_map(|p| released.part(p).terms.into_iter().flat_map(|t| t.parts)).collect();
    let range = range(m, format!("{text} IS NOT NULL"));
    // What is cut moves it in no way that is written down here.
    let nothing = |p: usize| released.drawn.noise(p).is_whole();
    let cut = if all().all(nothing) { Cut::NOTHING } else { Cut::UNKNOWN };
    Number { range: Some(range), ..Number::column(text.to_owned(), total(2, "v"), fourth, cut, parts) }
}

/// Columns with the variance and the fourth cumulant of a part's noise.
fn with_noise(name: &str, [variance, fourth]: &[String; 2]) -> String {
    format!("{variance} AS v{name}, {fourth} AS k{name}")
}

/// Range of a statistic whatever the noise is, on the condition that there is one.
fn range(m: &Moment, when: String) -> Range {
    let most = decimal(&m.x.half) * m.y.as_ref().map_or(0.0, |y| decimal(&y.half));
    let (low, high) = m.what.ends(most);
    Range { low, high, when }
}
