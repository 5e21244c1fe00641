//! Against the composition in integers: both are upper bounds, and this one is never the larger by more than a millionth.
use super::*;
use crate::pld::integers::Exactly;

#[test]
fn it_agrees_with_exact_integers() {
    let loss = |l: Option<PrivacyLoss>| Source::Loss(l.unwrap());
    let workloads: Vec<Vec<(Source, u32)>> = vec![
        vec![(laplace(0.5), 10)],
        vec![(laplace(0.1), 300)],
        vec![(response(0.1), 100)],
        vec![(loss(PrivacyLoss::discrete_laplace(3, Interval::from(0.1))), 50)],
        vec![(loss(PrivacyLoss::discrete_gaussian(2, Interval::from(50.0))), 40)],
        vec![(gaussian(0.1), 60), (laplace(0.2), 20)],
        vec![(response(0.3), 20), (laplace(0.2), 20), (gaussian(0.05), 100)],
        vec![(Source::Loss(PrivacyLoss::k_ary_response(0.7.into(), 5)), 12), (response(0.2), 30)],
        vec![(Source::Loss(PrivacyLoss::approximate(0.3.into(), 1e-8.into())), 25)],
    ];
    for parts in workloads {
        let pld = Pld::new(parts);
        for delta in [1e-8, 0.01] {
            let (ours, theirs) = (pld.epsilon(delta).unwrap(), Exactly(&pld).epsilon(delta).unwrap());
            if theirs == f64::INFINITY {
                continue;
            }
            assert!(ours <= theirs * (1.0 + 1e-6) + 2e-6, "{ours} against {theirs} at {delta}: {pld:?}");
            assert!(ours >= theirs * 0.9, "{ours} against {theirs} at {delta}: {pld:?}");
        }
    }
}

/// No line makes the bound too low: whatever θ, period and place it is planned for, δ is at least what it is.
#[test]
fn no_plan_is_too_low() {
    let exact = PrivacyLoss::repeated_response(0.3.into(), 12);
    for parts in [vec![(response(0.3), 12)], vec![(response(0.3), 12), (gaussian(1e-5), 1)]] {
        let composed = Pld::new(parts).composed().unwrap();
        for theta in [0.01, 0.3, 1.0, 4.0, 20.0] {
            for period in [0.5, 2.0, 8.0, 40.0] {
                let plan = Plan { theta, period, epsilon: 1.0, delta: 1e-3, negligible: 1e-7 };
                let lines = composed.lines(plan, 1e-6);
                for i in 0..40 {
                    let epsilon = f64::from(i) * 0.1;
                    let (ours, truth) = (composed.upper(&lines, epsilon).0, exact.profile(epsilon).lo());
                    assert!(
                        ours >= truth * (1.0 - 1e-12),
                        "θ = {theta}, P = {period}, ε = {epsilon}: {ours} {truth}"
                    );
                }
            }
        }
    }
}
