//! Statistics as answers.

use super::moment::{Moment, Variable};
use super::{interval, texts};
use crate::aggregates::drawn::{Drawn, Released};
use crate::aggregates::estimator::{Estimator, Followed};
use crate::aggregates::part::Part;
use crate::noise::number::Number;
use crate::refusals::interval::Unfollowed;
use crate::words::short;
use bigdecimal::{BigDecimal, ToPrimitive};

impl Moment {
    /// Of a mean of squares or products times the number of rows: near the centre of the ranges, and at their ends.
    fn errors(&self, drawn: &Drawn<'_>) -> (f64, f64) {
        let float = |x: &BigDecimal| x.to_f64().unwrap_or(0.0);
        let count = drawn.error95(self.count);
        let part = |p: Option<usize>| p.map_or(0.0, |p| drawn.error95(p));
        // |q'/n' - q/n| <= (|error of q| + |q/n - its centre| * |error of n|) / n, and the same for each mean deviation d, of which
        // the product is taken off: |d'e' - de| <= |d||error of e| + |e||error of d|.
        let mean = |a: &Variable| part(a.sum) + float(&a.half) * count;
        let square = |a: &Variable| {
            let half = float(&a.half);
            let middle = part(a.squares) + half * half / 2.0 * count;
            (middle, middle + 2.0 * half * mean(a))
        };
        match &self.y {
            None => square(&self.x),
            Some(y) => {
                let (hx, hy) = (float(&self.x.half), float(&y.half));
                let middle = part(self.products) + hx * hy * count;
                (middle, middle + hx * mean(y) + hy * mean(&self.x))
            }
        }
    }
}

impl Estimator for Moment {
    fn parts(&self) -> Vec<usize> {
        let axes = std::iter::once(&self.x).chain(&self.y);
        let sums = axes.flat_map(|a| [a.sum, a.squares]).flatten();
        std::iter::once(self.count).chain(sums).chain(self.products).collect()
    }

    fn text(&self, released: &Released<'_>) -> String {
        texts::text(released, self)
    }

    fn number(&self, released: &Released<'_>) -> Number {
        interval::number(released, self, &self.text(released))
    }

    fn noise(&self) -> Followed {
        Followed::Known
    }

    fn unforeseen(&self) -> Unfollowed {
        Unfollowed::Moment
    }

    fn error95(&self, drawn: &Drawn<'_>) -> String {
        let ((middle, end), count) = (self.errors(drawn), drawn.error95(self.count));
        format!(
            "{}about 95 % within ±{} / n for n rows in the group with means near the middle of the range, ±{} / n near its ends (n above {})",
            self.what.error_of(),
            short(middle),
            short(end),
            short(count)
        )
    }

    fn sentence(&self, drawn: &Drawn<'_>, name: &str) -> String {
        let (middle, end) = self.errors(drawn);
        self.what.sentence(name, &short(middle), &short(end))
    }

    fn cuts(&self, _: &Drawn<'_>) -> Vec<(usize, BigDecimal, BigDecimal)> {
        // Of two arguments the first is the one that depends.
        let variables = self.y.iter().chain(std::iter::once(&self.x)).enumerate();
        variables.map(|(i, v)| (i, &v.centre - &v.half, &v.centre + &v.half)).collect()
    }

    fn weights(&self, _: &[Part]) -> Vec<(usize, f64)> {
        self.parts().into_iter().map(|part| (part, 1.0)).collect()
    }
}
