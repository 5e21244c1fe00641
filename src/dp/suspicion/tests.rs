#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::gdp;

/// Randomised response reaches the bound: an answer "yes" has likelihoods e^ε/(1+e^ε) and 1/(1+e^ε).
#[test]
fn the_update_is_bayes_rule_at_its_worst() {
    for e in [0.0f64, 0.1, 1.0, 8.0] {
        for prior in [0.0, 0.001, 0.1, 0.5, 0.99, 1.0] {
            let (low, high) = update(prior, e).unwrap();
            let (yes, no) = (e.exp() / (1.0 + e.exp()), 1.0 / (1.0 + e.exp()));
            let after = |a: f64, b: f64| prior * a / (prior * a + (1.0 - prior) * b);
            assert!(
                (high - after(yes, no)).abs() < 1e-14 && (low - after(no, yes)).abs() < 1e-14,
                "{e} {prior}"
            );
            assert!(high >= prior && low <= prior);
        }
    }
    assert_eq!(update(1.5, 1.0), None);
    assert_eq!(update(0.5, -1.0), None);
    let (low, high) = update(0.5, f64::INFINITY).unwrap();
    assert!(low == 0.0 && high == 1.0);
}

/// The exact probability of a large loss is within the bound: for Gaussian noise L is N(μ²/2, μ²) where present.
#[test]
fn large_losses_are_as_rare_as_stated() {
    for mu in [0.3, 1.0, 2.0] {
        for e in [0.5, 2.0, 5.0] {
            let delta = gdp::delta(mu, e);
            for more in [0.1, 0.7, 3.0] {
                let bound = e + more;
                let exact = crate::special::normal(Interval::from((mu * mu / 2.0 - bound) / mu)).lo();
                assert!(exact <= exceeded(e, delta, bound), "{mu} {e} {bound}");
            }
        }
    }
    assert_eq!(exceeded(1.0, 0.0, 1.0), 0.0);
    assert_eq!(exceeded(1.0, 1e-6, 1.0), 1.0);
    let meaning = Meaning::of(1.0, 1e-6);
    assert!(
        (meaning.usual_loss() - 1.0 + 0.99f64.ln()).abs() < 1e-9
            && exceeded(1.0, 1e-6, meaning.usual_loss()) <= 1e-4
    );
    // A large δ promises little: no chance above 1 % is hidden in small print, but where δ itself is that large.
    for (delta, chance, more) in [(1e-3, 0.01, -0.9f64.ln()), (0.1, 0.2, 2f64.ln())] {
        let meaning = Meaning::of(1.0, delta);
        assert_eq!(meaning.chance(), chance);
        assert!((meaning.usual_loss() - 1.0 - more).abs() < 1e-9, "{}", meaning.usual_loss());
    }
}

#[test]
fn it_is_told_in_words() {
    let text = Meaning::of(1.0, 0.0).to_string();
    assert_eq!(
        text,
        "Who suspects that somebody is in the data with 1 % may end between 0.37 % and 2.68 %; with 10 % may end between \
         3.92 % and 23.2 %; with 50 % may end between 26.8 % and 73.2 %. The best attack that accuses 1 % of those who are \
         absent finds at most 2.72 % of those who are present, and 5 % of those who are absent finds at most 13.6 % of \
         those who are present."
    );
    let approximate = Meaning::of(1.0, 1e-6).to_string();
    assert!(approximate.contains("but for a chance of 1e-4"), "{approximate}");
    assert_eq!(
        Meaning::of(0.1, 0.0).brief(),
        "who suspects with 10 % that somebody is in the data may end between 9.13 % and 11 %"
    );
    assert!(Meaning::of(0.1, 1e-9).brief().ends_with(", but for a chance of 1e-7"));
    assert!(Meaning::of(0.1, 9.995e-8).brief().ends_with(", but for a chance of 1e-5"));
    assert_eq!([2e-9, 2.01e-9, 1.5e-6, 0.1].map(chance), ["2e-9", "2.1e-9", "1.5e-6", "1e-1"]);
    // Rounded to the side that says more.
    assert_eq!(percent(0.123_41, true), "12.4 %");
    assert_eq!(percent(0.123_49, false), "12.3 %");
    assert_eq!(percent(0.999_934_1, true), "99.99341 %");
    assert_eq!(percent(1.0, true), "100 %");
    let strong = Meaning::of(50.0, 0.0).to_string();
    assert!(strong.contains("and 100 %"), "{strong}");
}
