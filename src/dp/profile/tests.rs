#![allow(clippy::unwrap_used)]
use super::*;

/// ε_p = 0.1, so that Gaussian noise has a standard deviation of 10.
fn gaussian(units: &[(u64, i64)]) -> Histogram {
    let variance = Ratio::from_integer(100);
    Histogram::new(bins(units), Distribution::Gaussian { variance }, Ratio::new(1, 10)).unwrap()
}

fn laplace(units: &[(u64, i64)]) -> Histogram {
    let scale = Ratio::from_integer(10);
    Histogram::new(bins(units), Distribution::Laplace { scale }, Ratio::new(1, 10)).unwrap()
}

fn bins(units: &[(u64, i64)]) -> Vec<i64> {
    let of = |end: &u64| units.iter().find(|(e, _)| e == end).map_or(0, |(_, n)| *n);
    ENDS.iter().map(of).chain([0]).collect()
}

const HOSPITAL: [(u64, i64); 17] = [
    (1, 11_800),
    (2, 5_010),
    (3, 2_990),
    (4, 1_480),
    (6, 3_010),
    (8, 1_490),
    (12, 1_480),
    (16, 610),
    (24, 660),
    (32, 880),
    (48, 395),
    (64, 158),
    (96, 41),
    (128, -3),
    (192, 6),
    (256, -9),
    (384, 2),
];

#[test]
fn ends_are_two_per_octave() {
    assert_eq!(BINS, 39);
    for (k, end) in ENDS.iter().enumerate() {
        let expected = match k {
            0 => 1,
            k if k % 2 == 1 => 1 << k.div_ceil(2),
            k => 3 << (k / 2 - 1),
        };
        assert_eq!(*end, expected, "{k}");
    }
}

#[test]
fn the_tail_of_the_hospital_is_that_of_the_design() {
    let tail = gaussian(&HOSPITAL).tail(None);
    assert_eq!(tail.h(), 128);
    assert!((tail.kappa() - 82.25).abs() < 1e-9, "{}", tail.kappa());
    let golden = [
        (32, 16_705.86, 1_134.14, [17_960.3, 16_831.3, 18_623.1, 16_897.6]),
        (48, 6_616.32, 0.0, [8_497.9, 6_804.5, 9_492.2, 6_903.9]),
        (64, 2_914.81, 0.0, [5_423.6, 3_165.7, 6_749.3, 3_298.3]),
        (96, 716.80, 0.0, [4_480.0, 1_093.1, 6_468.5, 1_292.0]),
        (128, 0.0, 0.0, [5_017.6, 501.8, 7_669.0, 766.9]),
    ];
    // Half the width of noise for a row: Gaussian at ε 0.1 and 1, Laplace likewise.
    let q1 = [19.6, 1.96, 29.957, 2.9957];
    for (c, plus, minus, widths) in golden {
        assert!((tail.b_plus(c) - plus).abs() < 0.005, "B⁺({c}) = {}", tail.b_plus(c));
        assert!((tail.b_minus(c) - minus).abs() < 0.005, "B⁻({c}) = {}", tail.b_minus(c));
        for (q, width) in q1.iter().zip(widths) {
            assert!((tail.width(*q, c) - width).abs() < 0.051, "{c} {q}: {}", tail.width(*q, c));
        }
    }
    assert_eq!(q1.map(|q| tail.choose(q)), [96, 128, 96, 128]);
    assert_eq!(tail.ends().last(), Some(128));
    assert_eq!(tail.ends().count(), 14);
}

#[test]
fn between_ends_a_bound_cuts_no_more_than_at_the_end_below() {
    let tail = gaussian(&HOSPITAL).tail(None);
    for c in 1..200 {
        assert!(tail.b_plus(c) <= tail.b_plus(c - 1), "{c}");
        assert!(tail.b_minus(c) <= tail.b_plus(c), "{c}");
    }
    assert!(tail.b_plus(80) < tail.b_plus(64) && tail.b_plus(80) > tail.b_plus(96));
    assert_eq!((tail.b_plus(128), tail.b_plus(5_000)), (0.0, 0.0));
}

/// A number of rows that the owner knows of everybody ends the tail, and leaves nobody beyond.
#[test]
fn a_ceiling_is_where_the_tail_ends() {
    let tail = gaussian(&HOSPITAL).tail(Some(100));
    assert_eq!((tail.h(), tail.kappa()), (100, 0.0));
    assert_eq!(tail.ends().skip(11).collect::<Vec<_>>(), [64, 96, 100]);
    // One bin is above 96, and ends at 100.
    assert!((tail.b_plus(96) - 2.24 * 10.0 * 4.0).abs() < 1e-9);
    assert_eq!(tail.b_plus(100), 0.0);
    let wide = gaussian(&HOSPITAL).tail(Some(1_000_000));
    assert_eq!((wide.h(), wide.kappa()), (1_000_000, 0.0));
    assert!(wide.b_plus(524_288) >= 2.24 * 10.0 * (1_000_000.0 - 524_288.0));
    let one = gaussian(&HOSPITAL).tail(Some(1));
    assert_eq!((one.choose(19.6), one.b_plus(1)), (1, 0.0));
}

/// A step of Laplace noise is twice as high: the same tail ends earlier, and more units are said to
/// be beyond.
#[test]
fn laplace_noise_has_its_own_threshold() {
    let tail = laplace(&HOSPITAL).tail(None);
    // 41 is not above 0.75·69.
    assert_eq!(tail.h(), 96);
    // Bins above 96 add up to less than 0.
    assert!((tail.kappa() - 1.645 * 200f64.sqrt() * 26f64.sqrt()).abs() < 1e-9, "{}", tail.kappa());
}

/// A gap of two bins is stepped over, one of three is not, but for what noise never makes.
#[test]
fn steps_reach_three_bins() {
    let h = |next: u64| gaussian(&[(8, 900), (next, 30)]).tail(None).h();
    assert_eq!((h(12), h(16), h(24), h(32)), (16, 24, 32, 12));
    let far = |units: i64| gaussian(&[(8, 900), (64, units), (96, 30)]).tail(None).h();
    assert_eq!((far(49), far(50)), (12, 128));
}

/// Where everybody has more rows than any end, the tail ends at the last, and all of them are
/// beyond.
#[test]
fn the_open_bin_has_no_end() {
    let mut bins = vec![0; BINS];
    *bins.last_mut().unwrap() = 500;
    let variance = Ratio::from_integer(100);
    let histogram = Histogram::new(bins, Distribution::Gaussian { variance }, Ratio::new(1, 10)).unwrap();
    let tail = histogram.tail(None);
    assert_eq!(tail.h(), 524_288);
    assert!((tail.kappa() - 516.45).abs() < 1e-9);
}

/// With eight bins per octave a tail of the same units falls below what is seen: why ends are two
/// per octave.
#[test]
fn a_tail_in_finer_bins_is_not_found() {
    let threshold = STEP * SEEN_LAPLACE * 10.0;
    // 41 to 70 rows: 200 units in three bins of two per octave, or in seven of eight per octave.
    assert_eq!(top([900.0, 120.0, 80.0, 0.0, 0.0].into_iter(), threshold), 2);
    assert_eq!(top([900.0, 40.0, 40.0, 40.0, 30.0, 30.0, 20.0].into_iter(), threshold), 0);
}

#[test]
fn a_histogram_has_its_bins_and_noise() {
    let variance = Ratio::from_integer(100);
    let gaussian = Distribution::Gaussian { variance };
    assert!(Histogram::new(vec![0; BINS - 1], gaussian, Ratio::new(1, 10)).is_err());
    assert!(Histogram::new(vec![0; BINS], Distribution::None, Ratio::new(1, 10)).is_err());
    assert!(Histogram::new(vec![0; BINS], gaussian, Ratio::from_integer(0)).is_err());
}
