#![allow(clippy::unwrap_used)]
use super::*;
use crate::testing::SeededRng;

#[test]
fn the_error_covers_95_percent_of_the_noise() {
    let mut rng = SeededRng::new(4);
    let laplace = [(1u128, 3u128), (1, 1), (7, 2), (320, 1), (100_000, 1)]
        .map(|(n, d)| Distribution::Laplace { scale: Ratio::new(n, d) });
    let gaussian = [(1u128, 16u128), (1, 4), (1, 1), (9, 2), (100, 1), (4095, 1), (4100, 1), (1 << 40, 1)]
        .map(|(n, d)| Distribution::Gaussian { variance: Ratio::new(n, d) });
    for distribution in laplace.into_iter().chain(gaussian) {
        let noise = Noise::new(crate::Sensitivity::of_one(1), distribution);
        let draws = noise.sampler().unwrap().draw(100_000, &mut rng).unwrap();
        let within = |w: f64| draws.iter().filter(|x| x.unsigned_abs() as f64 <= w).count() as f64 / 1e5;
        let width = noise.error95();
        assert!(within(width) > 0.947, "{distribution:?}: {}", within(width));
        // And it is the least such: a twentieth less (or one less) does not.
        assert!(width == 0.0 || within((width * 0.95).min(width - 1.0)) < 0.9515, "{distribution:?}");
    }
}

/// What a unit can change never goes without noise; what it cannot has none.
#[test]
fn only_constants_have_no_noise() {
    let constant = Noise::new(crate::Sensitivity::of_one(0), Distribution::None);
    assert_eq!(constant.sampler().unwrap().draw(3, &mut SeededRng::new(1)).unwrap(), [0, 0, 0]);
    assert_eq!(constant.error95(), 0.0);
    assert!(Noise { sensitivity: crate::Sensitivity::of_one(1), ..constant }.sampler().is_err());
}
