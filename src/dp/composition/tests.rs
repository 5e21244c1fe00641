#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;

/// Each rule beats the one before it where it should, and none is below the exact one.
#[test]
fn the_rules_are_ordered() {
    let (e, k, d) = (0.1, 100, 1e-6);
    let exact = optimal_epsilon(e, 0.0, k, d);
    let filter = adaptive(squares(vec![e; 100]), d).hi();
    let three = optimal_heterogeneous(&[e; 100], d);
    assert!(exact < three && three < filter && filter < advanced(e, k, d));
    // Few uses: the sum is best, and the three bounds know.
    assert!((optimal_heterogeneous(&[1.0; 3], d) - 3.0).abs() < 1e-14);
    assert!((optimal_epsilon(1.0, 0.0, 3, 0.0) - 3.0).abs() < 1e-12);
}

#[test]
fn optimal_composition_inverts_itself() {
    for (e, d, k, within) in [(0.1, 0.0, 100, 1e-6), (0.5, 1e-8, 20, 1e-6), (0.02, 1e-10, 3000, 1e-5)] {
        let found = optimal_epsilon(e, d, k, within);
        assert!(optimal_delta(e, d, k, found) <= within * (1.0 + 1e-6), "{e} {d} {k}");
        assert!(optimal_delta(e, d, k, found * 0.999) > within);
    }
    // k·δ is above what may fail.
    assert_eq!(optimal_epsilon(0.1, 1e-7, 100, 1e-6), f64::INFINITY);
}

/// The group bound holds for the group's own dominating pair: k steps of an (ε, δ)-DP chain.
#[test]
fn groups() {
    let (e, d) = group(0.5, 1e-6, 4);
    assert!((e - 2.0).abs() < 1e-14 && (d - 9.848_692_169_497_238e-6).abs() < 1e-18);
    assert!((group(0.0, 1e-6, 4).1 - 4e-6).abs() < 1e-19);
    assert_eq!(group(10.0, 0.5, 10).1, 1.0);
}
