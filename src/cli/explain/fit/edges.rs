//! Bins of numbers: an upper end each, so that what they hold is public.

/// Upper ends of bins of counts: 1, 2, 3, 4, 6, 8, 12, … up to 786,432, each at most half again as large as the one before.
pub fn counts() -> Vec<f64> {
    let powers = (0..20).map(|k| f64::from(1u32 << k));
    let halves = (0..19).map(|k| f64::from(3u32 << k));
    let mut all: Vec<f64> = powers.chain(halves).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

/// Upper ends of bins of values: 0 and ±1, ±2, ±5 times the powers of ten from 0.01 to 10⁹.
pub fn values() -> Vec<f64> {
    let steps = (-2..=9).flat_map(|k: i32| [1.0, 2.0, 5.0].map(|m| format!("{m}e{k}")));
    let above: Vec<f64> = steps.filter_map(|s| s.parse().ok()).collect();
    above.iter().rev().map(|x| -x).chain([0.0]).chain(above.iter().copied()).collect()
}

/// The bin of a value, by its upper end; NULL for what is above all.
pub fn bin(value: &str, ends: &[f64]) -> String {
    let each: String = ends.iter().map(|end| format!(" WHEN {value} <= {end} THEN {end}")).collect();
    format!("CASE{each} END")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_ascend_and_are_close() {
        let counts = counts();
        assert!(counts.starts_with(&[1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0]));
        assert_eq!(counts.last(), Some(&786_432.0));
        assert!(counts.iter().zip(counts.iter().skip(1)).all(|(a, b)| a < b && *b <= 2.0 * a));
        let values = values();
        assert!(values.is_sorted_by(|a, b| a < b));
        assert!(values.contains(&0.01) && values.contains(&-5e9) && values.contains(&0.0));
    }

    #[test]
    fn the_text_of_a_bin() {
        assert_eq!(bin("n", &[1.0, 0.5]), "CASE WHEN n <= 1 THEN 1 WHEN n <= 0.5 THEN 0.5 END");
    }
}
