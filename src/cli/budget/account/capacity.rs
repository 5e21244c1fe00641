//! Capacity: how many answers of one kind fit a budget, for each notion side by side.

use super::decimal::Decimal;
use dp::loss::PrivacyLoss;
use dp::pld::{Pld, Source};
use dp::suspicion::Meaning;
use dp::tradeoff::{Bounds, TradeOff};
use dp::{Filter, Guarantee, Notion, Ratio, composition};
use std::fmt;

/// Kind of an answer.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// Discrete Laplace noise of this ε at sensitivity 1, which is randomised response: the dearest noise of its ε.
    Laplace(Decimal),
    /// Rounded Gaussian noise of this μ.
    Gaussian(Decimal),
}

/// A row: a rule, what it needs to hold, and how many fit.
struct Row {
    name: &'static str,
    holds: &'static str,
    fits: Result<u64, &'static str>,
}

/// The answer to "how many fit".
pub(super) struct Table {
    epsilon: Decimal,
    delta: Decimal,
    answer: Answer,
    rows: Vec<Row>,
}

/// More are not counted.
const MOST: u32 = 1 << 20;

const ADAPTIVE: &str = "however questions and noise are chosen";
const FIXED: &str = "noise fixed in advance";
const DECLARED: &str = "number and noise declared in advance";

/// Counts for all notions.
pub(super) fn table(epsilon: Decimal, delta: Decimal, answer: Answer) -> Result<Table, String> {
    let (e, d) = (epsilon.exact, delta.exact);
    if *e.numer() == 0 || d >= Ratio::from_integer(1) {
        return Err("epsilon is above 0, and delta is below 1".into());
    }
    let (Answer::Laplace(size) | Answer::Gaussian(size)) = &answer;
    let size = size.exact;
    if *size.numer() == 0 {
        return Err("answers that cost nothing fit without end".into());
    }
    let guarantee = match answer {
        Answer::Laplace(_) => Guarantee::Pure { epsilon: size },
        Answer::Gaussian(_) => {
            let big = |x: u128| num_bigint::BigUint::from(x);
            let square = dp::BigRatio::new(big(*size.numer()).pow(2), big(*size.denom()).pow(2));
            Guarantee::Gaussian { square }
        }
    };
    let mut rows: Vec<Row> = Notion::ALL.into_iter().map(|n| filter(n, (&e, &d), &guarantee)).collect();
    // What a filter admits fits: the search starts there.
    let known =
        rows.iter().filter_map(|r| r.fits.as_ref().ok()).max().map_or(0, |n| (*n).min(MOST.into()) as u32);
    // What is asked of floats is asked of those on the safe side.
    let (most_loss, least_delta) = (epsilon.low(), delta.low());
    if let Answer::Laplace(each) = &answer {
        let optimal = |k| composition::optimal_epsilon(each.high(), 0.0, k, least_delta) <= most_loss;
        let fits = most(least_delta, known, optimal);
        rows.push(Row { name: "optimal (Kairouz, Oh, Viswanath)", holds: FIXED, fits });
    }
    let source = source(&answer);
    let numerical =
        |k| Pld::new(vec![(source.clone(), k)]).epsilon(least_delta).is_ok_and(|e| e <= most_loss);
    rows.push(Row {
        name: "envelope (numerical)",
        holds: DECLARED,
        fits: most(least_delta, known, numerical),
    });
    Ok(Table { epsilon, delta, answer, rows })
}

fn source(answer: &Answer) -> Source {
    match answer {
        Answer::Laplace(epsilon) => Source::Loss(PrivacyLoss::randomised_response(epsilon.enclosed())),
        Answer::Gaussian(mu) => Source::Curve(TradeOff::Gaussian { mu: mu.high() }),
    }
}

/// A budget's filter with its whole δ for the conversion, because there are no private groups; in approx and advanced
/// budgets half of it pays for Gaussian noise, a ten-thousandth of that for each answer.
fn filter(notion: Notion, (epsilon, delta): (&Ratio, &Ratio), guarantee: &Guarantee) -> Row {
    let gaussian = matches!(guarantee, Guarantee::Gaussian { .. });
    let none = Ratio::from_integer(0);
    let half = *delta / Ratio::from_integer(2);
    let aside = if gaussian && notion.is_analytic() { half } else { none };
    let own = if notion.has_delta() { *delta } else { none };
    let each = aside / Ratio::from_integer(10_000);
    let fits = Filter::new(notion, epsilon, &own, &aside).map_err(|_| "needs a delta").and_then(|filter| {
        let price = notion.price_of(guarantee, 1, Some(&each)).map_err(|_| "has no price for it")?;
        Ok(u64::try_from(filter.fits(dp::Cost::default(), price)).unwrap_or(u64::MAX))
    });
    Row { name: notion.word(), holds: ADAPTIVE, fits }
}

/// The largest k up to [`MOST`] for which `fits` holds, looked for around `known`.
fn most(delta: f64, known: u32, fits: impl Fn(u32) -> bool) -> Result<u64, &'static str> {
    if delta <= 0.0 {
        return Err("needs a delta");
    }
    let (mut low, mut step) = (known, 1 + known / 8);
    while low > 0 && !fits(low) {
        // An upper bound may lie a little above what a filter knows exactly.
        low = low.saturating_sub(step);
        step *= 2;
    }
    step = 1 + known / 8;
    let mut high = low.saturating_add(step);
    while high <= MOST && fits(high) {
        step *= 2;
        (low, high) = (high, high.saturating_add(step));
    }
    high = high.min(MOST + 1);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if fits(middle) { low = middle } else { high = middle }
    }
    Ok(low.into())
}

impl Table {
    /// The curves to draw: one answer, and what the budget promises, with their names.
    pub(super) fn curves(&self) -> Vec<(String, TradeOff)> {
        let (name, one) = match &self.answer {
            Answer::Laplace(epsilon) => {
                (format!("one answer, epsilon = {epsilon}"), TradeOff::randomised_response(epsilon.high()))
            }
            Answer::Gaussian(mu) => (format!("one answer, mu = {mu}"), TradeOff::Gaussian { mu: mu.high() }),
        };
        let budget = TradeOff::Approximate { epsilon: self.epsilon.high(), delta: self.delta.high() };
        let mut curves = vec![
            (name, one.clone()),
            (format!("budget, epsilon = {}, delta = {}", self.epsilon, self.delta), budget),
        ];
        // As many as the notion that admits most: what the budget's promise allows in truth.
        let most = self.rows.iter().filter_map(|r| r.fits.as_ref().ok()).max().copied().unwrap_or(0);
        if let Some(k) = u32::try_from(most).ok().filter(|k| (2..=MOST).contains(k)) {
            let all = match one {
                TradeOff::Gaussian { mu } => TradeOff::gaussians([mu * f64::from(k).sqrt()]),
                other => TradeOff::Lines(Bounds::around(&other).power(k).lower),
            };
            curves.push((format!("{k} answers together"), all));
        }
        curves
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = match &self.answer {
            Answer::Laplace(epsilon) => format!("Laplace noise of epsilon = {epsilon}"),
            Answer::Gaussian(mu) => format!("Gaussian noise of mu = {mu}"),
        };
        writeln!(f, "Answers with {of} each that fit epsilon = {}, delta = {}:\n", self.epsilon, self.delta)?;
        for row in &self.rows {
            let fits = match &row.fits {
                Ok(n) => n.to_string(),
                Err(why) => (*why).to_owned(),
            };
            writeln!(f, "{:<34} {fits:>20}   {}", row.name, row.holds)?;
        }
        writeln!(f, "\n{}", Meaning::of(self.epsilon.nearest(), self.delta.nearest()))
    }
}
