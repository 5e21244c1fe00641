#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;

/// x, e^x and e^x - 1 to 25 digits (mpmath).
const EXP: [(f64, &str, &str); 7] = [
    (-700.0, "9.859676543759770856705373e-305", "-1.0"),
    (-20.0, "2.06115362243855782796594e-9", "-0.9999999979388463775614422"),
    (-1.0, "0.3678794411714423215955238", "-0.6321205588285576784044762"),
    (-0.03125, "0.9692332344763440818481092", "-0.03076676552365591815189081"),
    (0.5, "1.648721270700128146848651", "0.6487212707001281468486508"),
    (3.0, "20.08553692318766774092853", "19.08553692318766774092853"),
    (100.0, "2.688117141816135448412626e+43", "2.688117141816135448412626e+43"),
];

/// x, ln x and ln(1 + x) to 25 digits (mpmath).
const LN: [(f64, &str, &str); 5] = [
    (0.0009765625, "-6.931471805599453094172321", "0.0009760859730554588959608249"),
    (0.5, "-0.6931471805599453094172321", "0.4054651081081643819780131"),
    (1.5, "0.4054651081081643819780131", "0.9162907318741550651835272"),
    (3.0, "1.098612288668109691395245", "1.386294361119890618834464"),
    (1000.0, "6.907755278982137052053974", "6.908754779315220585220784"),
];

/// The true value lies inside, and the interval is narrow. A nearest double lies inside whenever the number does.
fn encloses(interval: Interval, text: &str) {
    let value: f64 = text.parse().unwrap();
    assert!(interval.lo() <= value && value <= interval.hi(), "{text} is outside {interval:?}");
    assert!(interval.hi() - interval.lo() <= value.abs() * 1e-14, "{text}: {interval:?} is wide");
}

#[test]
fn functions_enclose_values_of_25_digits() {
    for (x, exp, exp_m1) in EXP {
        encloses(Interval::from(x).exp(), exp);
        encloses(Interval::from(x).exp_m1(), exp_m1);
    }
    for (x, ln, ln_1p) in LN {
        encloses(Interval::from(x).ln(), ln);
        encloses(Interval::from(x).ln_1p(), ln_1p);
    }
    encloses(Interval::from(0.5).tanh(), "0.4621171572600097585023185");
    encloses(Interval::from(-0.5).tanh(), "-0.4621171572600097585023185");
    encloses(Interval::from(2.0).sqrt(), "1.414213562373095048801689");
    encloses(Interval::PI, "3.141592653589793238462643");
    encloses(Interval::from(1.1).power(7), "1.948717100000000124007545");
}

/// Sums of tenths, against exact rationals: each operation widens, so the true value cannot get lost.
#[test]
fn arithmetic_encloses_rationals() {
    use num_bigint::BigInt;
    type Exact = num_rational::Ratio<BigInt>;
    let exact = |x: f64| {
        let (mantissa, exponent, sign) = num_traits::float::FloatCore::integer_decode(x);
        Exact::new((BigInt::from(mantissa) * sign) << (1100 + exponent) as u32, BigInt::from(1) << 1100u32)
    };
    let inside = |i: Interval, e: &Exact| {
        assert!(exact(i.lo()) <= *e && *e <= exact(i.hi()), "{i:?}");
    };
    let numbers = [-7.3, -1.0, -0.1, 0.3, 1.0 / 3.0, 2.5, 1e10, 1e-10];
    for a in numbers {
        for b in numbers {
            let (x, y) = (Interval::from(a), Interval::from(b));
            inside(x + y, &(exact(a) + exact(b)));
            inside(x - y, &(exact(a) - exact(b)));
            inside(x * y, &(exact(a) * exact(b)));
            inside(x / y, &(exact(a) / exact(b)));
        }
    }
    inside(numbers.into_iter().map(Interval::from).sum(), &numbers.into_iter().map(exact).sum());
}

#[test]
fn what_is_not_a_number_bounds_nothing() {
    for i in [
        Interval::from(f64::NAN),
        Interval::from(1.0) / Interval::new(-1.0, 1.0),
        Interval::from(0.0) * f64::INFINITY,
        Interval::new(2.0, 1.0),
    ] {
        assert_eq!(i, Interval::ALL);
    }
    assert_eq!(Interval::from(1e308).exp().hi(), f64::INFINITY);
    assert!(Interval::from(-1e308).exp().lo() >= 0.0);
}

#[test]
fn searches_return_what_they_checked() {
    let root = least(0.0, 4.0, |x| x * x >= 2.0).unwrap();
    assert!(root * root >= 2.0 && root.next_down() * root.next_down() < 2.0);
    assert_eq!(least(0.0, 1.0, |x| x * x >= 2.0), None);
    assert_eq!(least(3.0, 4.0, |x| x * x >= 2.0), Some(3.0));
    let tiny = least_positive(|x| x >= 1e-100).unwrap();
    assert_eq!(tiny, 1e-100);
    assert_eq!(least_positive(|x| x >= 1e100), Some(1e100));
    assert_eq!(least_positive(|_| false), None);
    let most = largest(|x| x * x <= 2.0).unwrap();
    assert!(most * most <= 2.0 && (most * (1.0 + 1e-15)).powi(2) > 2.0);
    // Where the condition is not monotone, it still holds at what is returned.
    for seed in 1u64..50 {
        let odd = |x: f64| x >= 3.9 || ((x * seed as f64 * 1000.0) as u64).is_multiple_of(3);
        assert!(odd(least(0.1, 4.0, odd).unwrap()));
    }
}
