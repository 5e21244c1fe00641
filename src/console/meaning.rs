//! The meaning of a guarantee for one person, without letters.

use dp::suspicion::{self, update};
use dp::tradeoff::TradeOff;

/// A guarantee of (ε, δ), in people's terms.
#[derive(Clone, Copy, Debug)]
pub struct Meaning {
    epsilon: f64,
    delta: f64,
}

/// Suspicions beforehand that are shown.
const PRIORS: [f64; 4] = [0.01, 0.1, 0.25, 0.5];

/// A suspicion, where it can end, and the chance that it ends further.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suspicion {
    /// Beforehand.
    pub before: f64,
    /// At least afterwards.
    pub least: f64,
    /// At most afterwards.
    pub most: f64,
}

impl Meaning {
    /// Of a guarantee over all answers, adding or removing one person.
    pub fn of(epsilon: f64, delta: f64) -> Self {
        Self { epsilon, delta }
    }

    /// The largest probability that a suspicion moves further than is said; 0 where it never does.
    pub fn chance(&self) -> f64 {
        self.bound().chance()
    }

    /// What EXPLAIN says of the same guarantee.
    fn bound(&self) -> suspicion::Meaning {
        suspicion::Meaning::of(self.epsilon, self.delta)
    }

    /// The end of a suspicion.
    pub fn suspicion(&self, before: f64) -> Suspicion {
        let (least, most) = update(before, self.bound().usual_loss()).unwrap_or((0.0, 1.0));
        Suspicion { before, least, most }
    }

    /// The ends of usual suspicions.
    pub fn suspicions(&self) -> Vec<Suspicion> {
        PRIORS.iter().map(|p| self.suspicion(*p)).collect()
    }

    /// Numbers of people who are accused wrongly, of 100 who are not in the data, with the most who
    /// are found of 100 who are in it.
    pub fn detection(&self, steps: u32) -> Vec<(f64, f64)> {
        let curve = TradeOff::Approximate { epsilon: self.epsilon, delta: self.delta };
        let point = |i: u32| {
            let alarms = f64::from(i) / f64::from(steps.max(1));
            (alarms, curve.power(alarms).clamp(alarms, 1.0))
        };
        (0..=steps).map(point).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn a_suspicion_moves_by_the_factor_of_the_loss() {
        // Odds of 1 to 9, times e.
        let pure = Meaning::of(1.0, 0.0);
        let s = pure.suspicion(0.1);
        assert!((s.most - std::f64::consts::E / (std::f64::consts::E + 9.0)).abs() < 1e-9, "{s:?}");
        assert_eq!((pure.chance(), crate::words::at_most(s.most).as_str()), (0.0, "24 %"));
        let nothing = Meaning::of(0.0, 0.0).suspicion(0.1);
        assert!((nothing.most - 0.1).abs() < 1e-9 && (nothing.least - 0.1).abs() < 1e-9);
        // A δ of one in a million moves it a little more, but for one in ten thousand.
        let approximate = Meaning::of(1.0, 1e-6);
        assert!((approximate.chance() - 1e-4).abs() < 1e-12);
        let more = approximate.suspicion(0.1).most;
        assert!(more > s.most && more < s.most + 0.01, "{more}");
        // A large δ promises little, and says so.
        assert!(Meaning::of(1.0, 0.1).chance() >= 0.1);
    }

    #[test]
    fn detection_begins_at_guessing_and_never_falls_below_it() {
        let points = Meaning::of(1.0, 1e-6).detection(20);
        assert_eq!(points.len(), 21);
        assert!(points.iter().all(|(a, found)| found >= a));
        assert!(points.windows(2).all(|w| w[0].1 <= w[1].1 + 1e-12));
        let nothing = Meaning::of(0.0, 0.0).detection(10);
        assert!(nothing.iter().all(|(a, found)| (found - a).abs() < 1e-9));
    }
}
