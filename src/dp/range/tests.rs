#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::testing::SeededRng;

/// Rows below and above each point.
fn outside(grid: &[i128], rows: &[i128]) -> (Vec<u64>, Vec<u64>) {
    let count = |f: &dyn Fn(&i128, &i128) -> bool| {
        grid.iter().map(|g| rows.iter().filter(|x| f(x, g)).count() as u64).collect()
    };
    (count(&|x, g| x < g), count(&|x, g| x > g))
}

#[test]
fn the_grid_is_symmetric_and_rises() {
    let grid = logarithmic(4).unwrap();
    assert_eq!(grid, [-16, -8, -4, -2, -1, 0, 1, 2, 4, 8, 16]);
    let widest = logarithmic(126).unwrap();
    assert!(widest.windows(2).all(|w| w[0] < w[1]) && widest.len() == 255);
    assert!(logarithmic(127).is_err());
}

#[test]
fn ranges_hold_nearly_all_rows_and_little_else() {
    let grid = logarithmic(62).unwrap();
    let epsilon = Ratio::from_integer(1);
    let stray = RangeFinder::stray_for(grid.len(), 1, &epsilon, 0.01);
    let finder = RangeFinder::new(1, &epsilon, stray).unwrap();
    let rows: Vec<i128> = (0..3000).map(|i| i % 900 - 37).collect();
    let (below, above) = outside(&grid, &rows);
    let mut rng = SeededRng::new(7);
    let mut late = 0;
    for _ in 0..200 {
        let (low, high) = finder.find(&below, &above, &mut rng).unwrap();
        let (low, high) = (grid[low], grid[high]);
        late += usize::from(low < -64 || high > 1024);
        let out = rows.iter().filter(|x| **x < low || **x > high).count() as u64;
        assert!(out <= 5 * stray, "{low}..{high} leaves {out}");
        assert!(low <= 0 && high >= 256, "{low}..{high}");
    }
    assert!(late <= 8, "{late} of 200 went too far");
    assert_eq!(finder.guarantee(), Guarantee::Pure { epsilon });
}

/// Nothing depends on there being rows, and no number overflows.
#[test]
fn empty_and_extreme_columns_have_a_range() {
    let grid = logarithmic(126).unwrap();
    let finder = RangeFinder::new(1, &Ratio::from_integer(1), 40).unwrap();
    let mut rng = SeededRng::new(4);
    let (below, above) = outside(&grid, &[]);
    let (low, high) = finder.find(&below, &above, &mut rng).unwrap();
    assert!(low <= high && high < grid.len());
    let full = vec![u64::MAX; grid.len()];
    assert_eq!(finder.find(&full, &full, &mut rng).unwrap(), (0, grid.len() - 1));
    assert!(finder.find(&[], &[], &mut rng).is_err() && finder.find(&[1], &[1, 2], &mut rng).is_err());
    assert!(RangeFinder::new(0, &Ratio::from_integer(1), 1).is_err());
    assert!(RangeFinder::new(1, &Ratio::from_integer(0), 1).is_err());
}

/// Both ends together cost ε: each stream has half of it, and one positive.
#[test]
fn each_end_has_half_of_epsilon() {
    let finder = RangeFinder::new(3, &Ratio::from_integer(1), 1).unwrap();
    assert_eq!(finder.plan.guarantee(), Guarantee::Pure { epsilon: Ratio::new(1, 2) });
    assert_eq!((finder.plan.positives(), finder.plan.sensitivity()), (1, 3));
    assert_eq!(finder.plan.threshold_scale(), &Ratio::from_integer(12));
    assert_eq!(finder.plan.question_scale(), &Ratio::from_integer(12));
}
