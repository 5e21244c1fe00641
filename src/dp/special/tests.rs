#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;

/// x and erfc(x) to 25 digits (mpmath).
const ERFC: [(f64, &str); 14] = [
    (-3.0, "1.999977909503001414558627"),
    (-0.5, "1.520499877813046537682747"),
    (0.0625, "0.9295680222776129219494099"),
    (0.25, "0.7236736098317630670149317"),
    (0.5, "0.4795001221869534623172533"),
    (0.75, "0.2888443663464848684010622"),
    (1.0, "0.1572992070502851306587794"),
    (1.5, "0.03389485352468927293302374"),
    (2.0, "0.004677734981047265837930744"),
    (3.0, "0.00002209049699858544137277613"),
    (5.0, "1.537459794428034850188343e-12"),
    (10.0, "2.088487583762544757000786e-45"),
    (20.0, "5.395865611607900928934999e-176"),
    (25.0, "8.300172571196522752044013e-274"),
];

/// x and Φ(x) to 25 digits (mpmath).
const NORMAL: [(f64, &str); 11] = [
    (-37.0, "5.725571222524576822683193e-300"),
    (-12.5, "3.732564298877713377225836e-36"),
    (-6.0, "9.865876450376981407008641e-10"),
    (-4.0, "0.00003167124183311992125377076"),
    (-3.5, "0.0002326290790355250363499259"),
    (-1.0, "0.1586552539314570514147675"),
    (0.0, "0.5"),
    (0.5, "0.6914624612740131036377046"),
    (2.0, "0.9772498680518207927997174"),
    (4.0, "0.9999683287581668800787462"),
    (8.0, "0.9999999999999993779039426"),
];

/// t and Mills' ratio to 25 digits (mpmath).
const MILLS: [(f64, &str); 8] = [
    (0.0, "1.253314137315500251207883"),
    (0.5, "0.8763644564536923467278531"),
    (2.0, "0.4213692292880544732249343"),
    (3.875, "0.2435114006154559674740774"),
    (4.0, "0.2366523829135606706239859"),
    (6.0, "0.1623776608968674618156821"),
    (20.0, "0.04987592598183678365824056"),
    (100.0, "0.009999000299850104905603815"),
];

/// The true value lies inside, and the interval is narrow.
fn encloses(interval: Interval, text: &str, width: f64) {
    let value: f64 = text.parse().unwrap();
    assert!(interval.lo() <= value && value <= interval.hi(), "{text} is outside {interval:?}");
    assert!(interval.hi() - interval.lo() <= value.abs() * width, "{text}: {interval:?} is wide");
}

#[test]
fn bounds_enclose_values_of_25_digits() {
    for (x, value) in ERFC {
        encloses(erfc(x.into()), value, 1e-14);
    }
    for (x, value) in NORMAL {
        encloses(normal(x.into()), value, 1e-12);
    }
    for (t, value) in MILLS {
        encloses(mills(t.into()), value, 1e-13);
    }
    encloses(density(1.0.into()), "0.2419707245191433497978302", 1e-14);
}

/// Why Φ stands on libm, and what is assumed of libm: statrs' erfc is wrong in the tenth digit, libm's in the last.
#[test]
fn erfc_of_libm_is_right_to_the_last_digits_and_that_of_statrs_is_not() {
    let worst = |f: fn(f64) -> f64| {
        let error = |(x, value): (f64, &str)| {
            let value: f64 = value.parse().unwrap();
            (f(x) / value - 1.0).abs()
        };
        ERFC.into_iter().map(error).fold(0.0, f64::max)
    };
    let (ours, theirs) = (worst(libm::erfc), worst(statrs::function::erf::erfc));
    assert!(ours <= super::ERFC / 10.0, "libm's erfc is wrong by {ours:e}");
    assert!(theirs > 5e-11, "statrs' erfc is wrong by {theirs:e} only: it could be used");
}

/// Both ways to compute a tail agree where they meet.
#[test]
fn the_continued_fraction_meets_erfc() {
    for i in 0..2000 {
        let t = FAR + f64::from(i) / 200.0;
        let half = Interval::from(0.5).sqrt();
        let by_erfc = erfc(Interval::from(t) * half) / 2.0;
        let by_fraction = density(t.into()) * mills(t.into());
        assert!(by_erfc.lo() <= by_fraction.hi() && by_fraction.lo() <= by_erfc.hi(), "t = {t}");
        assert!(by_fraction.hi() / by_fraction.lo() - 1.0 < 1e-11, "t = {t}");
    }
}

/// The two ways to cut the fraction off lie on both sides of it, and near.
#[test]
fn convergents_alternate() {
    for t in [4.0, 5.0, 7.9, 8.0, 12.0, 15.9, 16.0, 100.0, 1e6] {
        let (below, above) = (convergent(t, true), convergent(t, false));
        assert!(
            below.lo() <= above.hi() && above.hi() / below.lo() - 1.0 < 1e-14,
            "t = {t}: {below:?} {above:?}"
        );
        let more = (1..=400).rev().fold(t, |v, j| f64::from(j) / v + t);
        assert!(below.lo() <= 1.0 / more && 1.0 / more <= above.hi(), "t = {t}");
    }
}

#[test]
fn tails_never_become_zero_from_above() {
    for x in [27.0, 30.0, 1e3, 1e300, f64::INFINITY] {
        let tail = erfc(x.into());
        assert!(tail.lo() == 0.0 && tail.hi() > 0.0, "{x}: {tail:?}");
        assert!(normal((-x).into()).hi() > 0.0);
    }
}

#[test]
fn quantiles_enclose_what_phi_says() {
    for p in [1e-300, 1e-20, 1e-6, 0.05, 0.3, 0.5, 0.7, 0.95, 1.0 - 1e-9, 1.0 - 1e-16] {
        let q = normal_quantile(p);
        assert!(normal(q.lo().into()).hi() <= p, "{p}");
        assert!(q.hi() == f64::INFINITY || normal(q.hi().into()).lo() >= p, "{p}");
        assert!(p > 0.999_999 || q.hi() - q.lo() < 1e-11 * q.hi().abs().max(1.0), "{p}: {q:?}");
    }
    encloses(normal_quantile(0.975), "1.959963984540054235524595", 1e-12);
    assert_eq!(normal_quantile(0.0).hi(), f64::NEG_INFINITY);
    assert_eq!(normal_quantile(1.0).lo(), f64::INFINITY);
    assert_eq!(normal_quantile(1.5), Interval::ALL);
}
