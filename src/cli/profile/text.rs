//! Words of `noisegate profile`.

use crate::cli::serve::control::{Beside, ProfilePrice};
use crate::gateway::measuring::histograms;
use bigdecimal::{BigDecimal, ToPrimitive};
use dp::Distribution;
use dp::profile::{BINS, Histogram, Tail};
use policy::{Added, Item, Measure, Measured};
use std::error::Error;
use std::fmt::Write as _;

/// Standard errors of half an interval that holds 95 %: of Gaussian noise of σ = 1, and of Laplace
/// noise of scale 1.
const GAUSSIAN: f64 = 1.96;
const LAPLACE: f64 = 2.9957;
/// Prices of which is told what bounds at them cut.
const PRICES: [f64; 2] = [0.1, 1.0];

/// An ε, rounded up to thousandths.
pub fn epsilon(value: f64) -> String {
    let thousandths = (value * 1_000.0 - 1e-6).ceil().max(1.0);
    let text = format!("{:.3}", thousandths / 1_000.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The price of counting units.
pub fn units(table: &str, epsilon: &str, price: &[ProfilePrice]) -> String {
    format!(
        "{table}: first the number of units, at epsilon {epsilon}; the price of what follows depends on it: epsilon 0.05 for \
         6,000 units or more, 0.3 for 1,000, at most 1\n{}",
        shares(price)
    )
}

/// The price of a table's items.
pub fn items(
    table: &str,
    beside: &Beside,
    epsilon: &str,
    units: Option<i64>,
    price: &[ProfilePrice],
) -> String {
    let about = match units {
        Some(units) => format!(", of about {} units", number(units.max(0) as f64)),
        None => String::new(),
    };
    let mut said = vec!["how many rows each unit has".to_owned()];
    if !beside.columns.is_empty() {
        let columns = beside.columns.join(", ");
        said.push(format!("what its values of {columns} add up to, about 0 and about their median"));
    }
    if !beside.keys.is_empty() {
        said.push(format!("all that by {}", beside.keys.join(", and by ")));
    }
    let each = numbered(histograms(beside.columns.len(), beside.keys.len()));
    format!(
        "{table}: {}{about}: {each} of {BINS} bins, at epsilon {epsilon} each\n{}",
        said.join("; "),
        shares(price)
    )
}

/// So many items, in words.
pub fn numbered(items: usize) -> String {
    format!("{items} {}", if items == 1 { "item" } else { "items" })
}

/// An error for prices that a budget has not left.
pub fn over(prices: &[ProfilePrice]) -> Option<String> {
    let over = |p: &&ProfilePrice| {
        let all = prices.iter().filter(|other| other.budget == p.budget);
        all.map(|other| other.part).sum::<f64>() > p.left
    };
    let budget = &prices.iter().find(over)?.budget;
    Some(format!(
        "budget {budget:?} has not so much left: measure fewer columns (--column NAME, or --column none), fewer keys or tables, or at \
         a smaller --epsilon. Nothing was spent for this"
    ))
}

fn shares(price: &[ProfilePrice]) -> String {
    let line = |p: &ProfilePrice| {
        format!(
            "  {} % of budget {:?}, as much as {} at the policy's price; {} % of it is left",
            digits(p.part * 100.0),
            p.budget,
            match p.statements {
                n if (n - 1.0).abs() < 0.005 => "1 question".to_owned(),
                n => format!("{} questions", digits(n)),
            },
            digits(p.left * 100.0)
        )
    };
    price.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Findings of a measurement.
pub fn found(id: u64, profile: &schema::Profile, most_rows: Option<u32>) -> Result<String, Box<dyn Error>> {
    let read = Measured::read(id, profile).ok_or("the profile that was written cannot be read")?;
    let mut out = format!(
        "{}: measured, and kept as entry {id} of the ledger; valid until {}",
        read.table,
        day(read.valid_until)
    );
    for (of, histogram) in &read.items {
        let (tail, z) = (histogram.tail(most_rows.map(|rows| of.most(rows))), z(histogram));
        let _ = write!(out, "\n  {of}: {}", beyond(of, &tail, most_rows.is_some()));
        for price in PRICES {
            let c = tail.choose(z / price);
            let _ = write!(out, "\n  {}", cuts(of, price, c, tail.b_plus(c)));
        }
    }
    Ok(out)
}

/// The day of a moment, in microseconds since 1970.
pub fn day(micros: i64) -> String {
    let text = ledger::time(micros);
    text.split_once(' ').map_or(text.clone(), |(day, _)| day.to_owned())
}

/// Standard errors of half an interval of noise as the profile's.
fn z(histogram: &Histogram) -> f64 {
    if matches!(histogram.noise(), Distribution::Gaussian { .. }) { GAUSSIAN } else { LAPLACE }
}

/// An item in a line: what a bound at this price cuts, and how many units have more than H rows.
pub fn told(item: &Item, epsilon: &BigDecimal, known: bool) -> String {
    let price = epsilon.to_f64().filter(|e| *e > 0.0).unwrap_or(f64::MIN_POSITIVE);
    let c = item.tail.choose(z(&item.histogram) / price);
    let cut = match item.tail.b_plus(c).ceil() {
        0.0 => "none".to_owned(),
        cut => format!("at most {} of any group", number(cut)),
    };
    let epsilon = epsilon.normalized().to_plain_string();
    let mut out = format!("at ε = {epsilon} at most {} of a unit count, which cuts {cut}", rows_of(c));
    if !known {
        let (kappa, h) = (number(item.tail.kappa().floor()), number(item.tail.h() as f64));
        let _ = write!(out, "; at most {kappa} units have more than {h}");
    }
    out
}

/// H and κ, in words.
fn beyond(of: &Measure, tail: &Tail, known: bool) -> String {
    let h = amount(of, tail.h() as f64);
    if known {
        return format!("no unit has more than {h} (H), as the policy says");
    }
    let kappa = number(tail.kappa().floor());
    format!(
        "what follows is true of each unit up to {h} (H); at most {kappa} units have more (κ, 95 %), and what these have \
         beyond is counted nowhere"
    )
}

fn cuts(of: &Measure, price: f64, c: u64, cut: f64) -> String {
    let cut = match cut {
        0.0 => "that cuts none of these".to_owned(),
        cut => format!("that cuts at most {} of any group", amount(of, cut)),
    };
    format!("at epsilon {price} at most {} of a unit count: {cut}", amount(of, c as f64))
}

fn rows_of(n: u64) -> String {
    amount(&Measure::ROWS, n as f64)
}

/// A number of a unit, in its own unit: whole rows, or an amount of a column.
fn amount(of: &Measure, ends: f64) -> String {
    match &of.added {
        Added::Rows => {
            let n = ends.ceil();
            format!("{} {}", number(n), if n == 1.0 { "row" } else { "rows" })
        }
        Added::Deviations(_) => plan::words::short(of.told(ends)),
    }
}

/// A whole number, in groups of three digits.
fn number(n: f64) -> String {
    let digits = format!("{n:.0}");
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Two significant digits, or whole numbers.
fn digits(x: f64) -> String {
    match x {
        x if !x.is_finite() => "more than all".to_owned(),
        x if x >= 99.95 => format!("{x:.0}"),
        x if x >= 9.95 => format!("{x:.1}"),
        x if x >= 0.1 || x == 0.0 => format!("{x:.2}"),
        x => format!("{x:.4}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use dp::Ratio;

    #[test]
    fn what_was_found_is_told() {
        let mut bins = vec![0; BINS];
        for (k, n) in
            [11_800, 5_010, 2_990, 1_480, 3_010, 1_490, 1_480, 610, 660, 880, 395, 158, 41, -3, 6, -9, 2]
                .into_iter()
                .enumerate()
        {
            *bins.get_mut(k).unwrap() = n;
        }
        let noise = Distribution::Gaussian { variance: Ratio::from_integer(100) };
        let histogram = Histogram::new(bins, noise, Ratio::new(1, 10)).unwrap();
        let profile = Measured {
            schema: "public".into(),
            table: "admissions".into(),
            owner: "patient_id".into(),
            id: 7,
            measured: 0,
            valid_until: 7_776_000_000_000,
            items: vec![(Measure::ROWS, histogram)],
        };
        let said = found(7, &profile.written(), None).unwrap();
        assert_eq!(
            said,
            "admissions: measured, and kept as entry 7 of the ledger; valid until 1970-04-01\n  \
             rows: what follows is true of each unit up to 128 rows (H); at most 82 units have more (κ, 95 %), and what \
             these have beyond is counted nowhere\n  \
             at epsilon 0.1 at most 96 rows of a unit count: that cuts at most 717 rows of any group\n  \
             at epsilon 1 at most 128 rows of a unit count: that cuts none of these"
        );
        let said = found(7, &profile.written(), Some(100)).unwrap();
        assert!(said.contains("no unit has more than 100 rows (H), as the policy says"), "{said}");
    }

    #[test]
    fn prices_are_told() {
        let price = ProfilePrice { budget: "everyone".into(), part: 0.00124, left: 0.9712, statements: 0.25 };
        assert_eq!(
            items("trips", &Beside::default(), "0.05", Some(29_987), &[price]),
            "trips: how many rows each unit has, of about 29,987 units: 1 item of 39 bins, at epsilon 0.05 each\n  \
             0.12 % of budget \"everyone\", as much as 0.25 questions at the policy's price; 97.1 % of it is left"
        );
        assert_eq!([12.0, 1_234_567.0, 100.0].map(number), ["12", "1,234,567", "100"]);
    }
}
