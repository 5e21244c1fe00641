//! Against sums of 60 digits (mpmath): never below, and within a millionth above.
use super::*;

/// Whose truth is a decimal; the bound may be a few roundings of it.
fn near(parts: Vec<(Source, u32)>, delta: f64, truth: f64) {
    let name = format!("{parts:?} at {delta}");
    let pld = Pld::new(parts);
    let ours = pld.epsilon(delta).unwrap();
    // The nearest float to the truth may be above it by half a unit in the last place.
    assert!(ours >= truth.next_down(), "{ours} is below {truth}: {name}");
    assert!(ours - truth <= 1e-6, "{ours} is above {truth} by {:e}: {name}", ours - truth);
    // δ at that ε is δ again, from above.
    let back = pld.delta(truth).unwrap();
    assert!(back >= delta * (1.0 - 1e-13) && back <= delta * (1.0 + 1e-4), "{back} against {delta}: {name}");
}

fn discrete(sensitivity: u128, rate: f64) -> Source {
    Source::Loss(PrivacyLoss::discrete_laplace(sensitivity, rate.into()).unwrap())
}

fn gauss(sensitivity: u128, variance: f64) -> Source {
    Source::Loss(PrivacyLoss::discrete_gaussian(sensitivity, variance.into()).unwrap())
}

#[test]
fn sums_of_60_digits_are_met_from_above() {
    near(vec![(laplace(0.5), 10)], 1e-3, 4.521_308_127_047_462);
    near(vec![(laplace(0.5), 20)], 1e-6, 9.670_920_161_644_649);
    near(vec![(laplace(0.5), 10)], 9.7e-4, 4.530_259_890_078_089_5);
    near(vec![(laplace(0.5), 10)], 9.8e-4, 4.527_259_715_695_155);
    near(vec![(laplace(0.5), 10)], 0.01, 3.649_275_059_837_998_4);
    near(vec![(laplace(0.5), 10)], 0.3, 1.034_691_646_210_831_3);
    near(vec![(laplace(0.5), 3)], 0.05, 1.130_169_525_329_4);
    near(vec![(laplace(0.1), 20)], 1e-6, 1.773_991_551_093_336_8);
    near(vec![(laplace(1.0), 8)], 1e-5, 7.997_449_761_104_551);
    near(vec![(laplace(0.3), 12)], 0.01, 2.208_010_832_203_546_8);
    near(vec![(laplace(2.0), 4)], 1e-9, 7.999_999_984_000_000_5);
    near(vec![(response(0.1), 100)], 1e-6, 4.774_567_588_107_986_5);
    near(vec![(response(0.1), 1000)], 1e-6, 19.344_671_447_993_044);
    near(vec![(response(1.0), 5)], 1e-3, 4.995_199_559_436_825);
    near(vec![(response(0.02), 3000)], 1e-8, 6.388_325_319_792_347);
    near(vec![(response(0.5), 10)], 5e-3, 4.149_937_784_274_06);
    near(vec![(response(3.0), 2)], 0.1, 5.883_235_495_462_003);
    near(vec![(discrete(3, 0.1), 50)], 1e-6, 10.560_225_946_863_575);
    near(vec![(discrete(7, 0.25), 10)], 1e-4, 17.467_770_552_633_237);
    near(vec![(discrete(40, 0.001), 60)], 1e-7, 1.426_012_294_091_792_8);
    near(vec![(discrete(2, 1.0), 3)], 0.01, 5.974_072_454_968_036);
    near(vec![(response(0.3), 8), (response(0.5), 5)], 1e-4, 4.805_408_785_051_432);
    near(vec![(response(0.3), 8), (response(0.7), 5)], 0.01, 4.529_926_075_532_179);
    near(vec![(response(0.3), 20), (response(0.1), 30)], 1e-6, 6.750_941_155_068_559);
    near(vec![(gauss(1, 100.0), 4)], 1e-6, 0.834_200_407_410_786_5);
    near(vec![(gauss(3, 9.0), 2)], 1e-3, 4.859_319_350_980_832);
}
