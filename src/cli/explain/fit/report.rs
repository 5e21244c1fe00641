//! Output of `noisegate explain fit`.

use super::histogram::Histogram;
use std::fmt::Write;

/// A bound on the groups of a unit.
pub fn groups(key: &str, h: &Histogram, cut: f64) -> String {
    let (total, error) = (h.total(), h.error);
    let mut out = format!("{key}: values of a unit, of about {total:.0} units, each number ±{error}\n");
    let Some(most) = h.bound(cut) else { return out + NOTHING };
    let at = |share: f64| h.quantile(share).unwrap_or_default();
    let _ = writeln!(
        out,
        "  half of them have at most {} values, 90 % at most {}, 99 % at most {}",
        at(0.5),
        at(0.9),
        at(0.99)
    );
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

const NOTHING: &str = "  nothing stands out of the noise: ask with a larger --epsilon\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_goes_into_a_policy() {
        let h = Histogram::new(vec![(1.0, 900.0), (12.0, 90.0), (128.0, 10.0)], 2.0);
        let text = groups("station", &h, 0.5);
        assert!(text.ends_with("# Where groups are private: 26.2 % of (unit, station) pairs are dropped.\n[statement]\nmax_groups = 12\n\n"), "{text}");
        assert!(groups("station", &h, 0.0).contains("max_groups = 128"));
        let v = Histogram::new(vec![(0.0, 0.0), (1.0, 500.0), (50.0, 400.0), (100.0, 0.0)], 1.0);
        assert!(values("fare", &v, 0.01).contains("columns.fare = { range = [0, 50] }"));
        assert!(groups("t", &Histogram::new(Vec::new(), 1.0), 0.1).contains("larger --epsilon"));
    }
}
