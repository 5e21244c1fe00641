//! Output of `noisegate explain fit`.

use super::histogram::Histogram;
use std::fmt::Write;

/// Bounds on the rows of a unit in all, and the lines for the policy.
pub fn rows(table: &str, h: &Histogram, cut: f64) -> String {
    let mut out = format!("{table}: about {:.0} units, each number ±{}\n", h.total(), h.error);
    let Some(most) = h.bound(cut) else { return out + NOTHING };
    quantiles(&mut out, h, "rows");
    out += "  max_total_rows  units above  rows cut\n";
    let mut bound = most;
    let mut lines = Vec::new();
    while lines.len() < 5 && bound >= 1.0 {
        let shares = (100.0 * h.above(bound), 100.0 * h.cut(bound));
        lines.push(format!("  {bound:>14}  {:>9.1} %  {:>6.1} %\n", shares.0, shares.1));
        bound = (bound / 2.0).floor();
    }
    out.extend(lines.iter().rev().map(String::as_str));
    let _ = writeln!(out, "\n[table.{table}]\nmax_total_rows = {most}\ncut_rows = {:.3}\n", h.cut(most));
    out
}

/// A bound on the groups of a unit.
pub fn groups(key: &str, h: &Histogram, cut: f64) -> String {
    let mut out = format!("{key}: values of a unit, each number ±{}\n", h.error);
    let Some(most) = h.bound(cut) else { return out + NOTHING };
    quantiles(&mut out, h, "values");
    let _ = writeln!(
        out,
        "\n# Where groups are private: {:.1} % of (unit, {key}) pairs are dropped.\n[statement]\nmax_groups = {most}\n",
        100.0 * h.cut(most)
    );
    out
}

/// A range of values.
pub fn values(column: &str, h: &Histogram, cut: f64) -> String {
    let mut out = format!("{column}: about {:.0} values, each number ±{}\n", h.total(), h.error);
    let (low, high) = (h.lower(cut / 2.0), h.quantile(1.0 - cut / 2.0));
    let Some((low, high)) = low.zip(high) else { return out + NOTHING };
    let _ = writeln!(out, "\ncolumns.{column} = {{ range = [{low}, {high}] }}\n");
    out
}

fn quantiles(out: &mut String, h: &Histogram, what: &str) {
    let at = |share: f64| h.quantile(share).unwrap_or_default();
    let _ = writeln!(
        out,
        "  half of them have at most {} {what}, 90 % at most {}, 99 % at most {}",
        at(0.5),
        at(0.9),
        at(0.99)
    );
}

const NOTHING: &str = "  nothing stands out of the noise: ask with a larger --epsilon\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_goes_into_a_policy() {
        let h = Histogram::new(vec![(1.0, 900.0), (12.0, 90.0), (128.0, 10.0)], 2.0);
        let text = rows("trips", &h, 0.5);
        assert!(text.ends_with("[table.trips]\nmax_total_rows = 12\ncut_rows = 0.262\n\n"), "{text}");
        assert!(text.contains("              12        1.0 %    26.2 %\n"), "{text}");
        assert!(groups("station", &h, 0.0).contains("max_groups = 128"));
        let v = Histogram::new(vec![(0.0, 0.0), (1.0, 500.0), (50.0, 400.0), (100.0, 0.0)], 1.0);
        assert!(values("fare", &v, 0.01).contains("columns.fare = { range = [0, 50] }"));
        assert!(rows("t", &Histogram::new(Vec::new(), 1.0), 0.1).contains("larger --epsilon"));
    }
}
