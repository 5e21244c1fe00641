//! A noisy histogram, and what it says of bounds.

/// Of the stated 95 % error, how much a bin must hold to be believed: the tail of Laplace noise there is 1 in 4,000, and there
/// are some eighty bins.
const BELIEVED: f64 = 2.8;

/// Numbers in bins, each known by its upper end, ascending. Bins that hold no more than noise does are left out.
#[derive(Debug)]
pub struct Histogram {
    bins: Vec<Bin>,
    /// Error of each number, in 95 of 100 draws.
    pub error: f64,
}

#[derive(Clone, Copy, Debug)]
struct Bin {
    /// The end of the bin below: what is in here is above it.
    low: Option<f64>,
    high: f64,
    held: f64,
}

impl Bin {
    /// What is in here is about this, for whole numbers.
    fn middle(&self) -> f64 {
        self.low.map_or(self.high, |low| (low + 1.0 + self.high) / 2.0)
    }
}

impl Histogram {
    /// From upper ends and noisy numbers.
    pub fn new(mut bins: Vec<(f64, f64)>, error: f64) -> Self {
        bins.sort_by(|a, b| a.0.total_cmp(&b.0));
        let lows = std::iter::once(None).chain(bins.iter().map(|b| Some(b.0)));
        let all = bins.iter().zip(lows).map(|(&(high, held), low)| Bin { low, high, held });
        let bins = all.filter(|b| b.held > BELIEVED * error).collect();
        Self { bins, error }
    }

    /// All that is believed.
    pub fn total(&self) -> f64 {
        self.bins.iter().map(|b| b.held).sum()
    }

    /// The least end that this share lies at or below; None where nothing is believed.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = share * self.total();
        let mut below = 0.0;
        let found = self.bins.iter().find(|b| {
            below += b.held;
            below >= wanted
        });
        found.or(self.bins.last()).map(|b| b.high)
    }

    /// The lower end of values of which at most this share lies below: the end of the bin before,
    /// and None where that has none.
    pub fn lower(&self, share: f64) -> Option<f64> {
        let (allowed, mut below) = (share * self.total(), 0.0);
        let found = self.bins.iter().find(|b| {
            below += b.held;
            below > allowed
        });
        found.and_then(|b| b.low)
    }

    /// The share of what is counted that a bound on each number cuts: Σ max(n − most, 0) / Σ n.
    pub fn cut(&self, most: f64) -> f64 {
        let all: f64 = self.bins.iter().map(|b| b.held * b.middle()).sum();
        let over = |b: &Bin| b.held * (b.middle() - most).max(0.0);
        if all > 0.0 { (self.bins.iter().map(over).sum::<f64>() / all).abs() } else { 0.0 }
    }

    /// The least end that cuts no more than this share.
    pub fn bound(&self, cut: f64) -> Option<f64> {
        self.bins.iter().map(|b| b.high).find(|most| self.cut(*most) <= cut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 900 units with one row, 90 with up to 12, 10 with up to 128; noise elsewhere.
    fn example() -> Histogram {
        Histogram::new(
            vec![(1.0, 900.0), (8.0, 2.0), (12.0, 90.0), (96.0, -1.5), (128.0, 10.0), (256.0, 5.0)],
            2.0,
        )
    }

    #[test]
    fn noise_is_left_out() {
        assert_eq!(example().total(), 1000.0);
        assert_eq!(Histogram::new(vec![(1.0, 3.0)], 2.0).bound(0.5), None);
    }

    #[test]
    fn bounds_and_what_they_cut() {
        let h = example();
        assert_eq!(
            (h.quantile(0.5), h.quantile(0.95), h.quantile(1.0)),
            (Some(1.0), Some(12.0), Some(128.0))
        );
        // 900 + 90·10.5 + 10·112.5 rows, of which a bound of 12 leaves 900 + 945 + 120.
        assert!((h.cut(12.0) - 1005.0 / 2970.0).abs() < 1e-12);
        assert_eq!(h.cut(128.0), 0.0);
        assert_eq!((h.bound(0.5), h.bound(0.001)), (Some(12.0), Some(128.0)));
    }

    #[test]
    fn ranges_start_at_the_end_of_the_bin_before() {
        let h = Histogram::new(vec![(-1.0, 0.0), (0.0, 5.0), (1.0, 500.0), (2.0, 495.0), (5.0, 0.0)], 0.1);
        assert_eq!((h.lower(0.0), h.lower(0.01), h.quantile(0.99)), (Some(-1.0), Some(0.0), Some(2.0)));
        assert_eq!(example().lower(0.5), None);
    }
}
