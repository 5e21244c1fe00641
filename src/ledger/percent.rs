//! Parts as percentages.

/// A part of a whole as a percentage: one decimal, two digits where it is small. Nothing but 0 is 0 %, nothing but all is
/// 100 %.
pub fn percent(part: f64) -> String {
    let x = part * 100.0;
    let number = match x {
        x if x <= 0.0 => "0".to_owned(),
        x if x < 0.001 => return "under 0.001 %".to_owned(),
        x if x < 0.0095 => format!("{x:.4}"),
        x if x < 0.095 => format!("{x:.3}"),
        x if (99.95..100.0).contains(&x) => return "over 99.9 %".to_owned(),
        x => format!("{x:.1}"),
    };
    match number.contains('.') {
        true => format!("{} %", number.trim_end_matches('0').trim_end_matches('.')),
        false => format!("{number} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_for_readers() {
        for (part, text) in [
            (0.0, "0 %"),
            (1.0, "100 %"),
            (0.004, "0.4 %"),
            (0.961, "96.1 %"),
            (0.12, "12 %"),
            (0.000_05, "0.005 %"),
            (0.000_53, "0.053 %"),
            (0.000_953, "0.1 %"),
            (1e-7, "under 0.001 %"),
            (0.999_999, "over 99.9 %"),
            (2.5, "250 %"),
        ] {
            assert_eq!(percent(part), text, "{part}");
        }
    }
}
