//! Profiles that say anything of a table: what a unit changes is within what the bound allows that follows from them.

use crate::data::{self, Variant};
use crate::harness::{Claim, Lab, settings};
use noisegate::dp::profile::{BINS, Histogram};
use noisegate::dp::{Distribution, Preference, Ratio};
use noisegate::plan::Settings;
use noisegate::policy::{Added, ByKey, Calendar, Deviations, Measure, Measured, Range, Table};

/// Histograms that are far from the truth, and one that may be true.
fn histograms() -> Vec<Vec<i64>> {
    let bins = |f: &dyn Fn(usize) -> i64| (0..BINS).map(f).collect();
    vec![
        bins(&|_| 0),
        bins(&|k| if k == 0 { 1_000_000 } else { -7 }),
        bins(&|k| if k < 9 { 1000 >> k } else { 0 }),
        bins(&|k| if k == 20 { 5_000 } else { 0 }),
        bins(&|k| i64::try_from(k).unwrap() * 9_973 % 811 - 300),
    ]
}

/// Items of trips: of rows, and of two columns, about 0 and other numbers, by a key and not.
fn items(table: &Table, bins: &[i64]) -> Vec<(Measure, Histogram)> {
    let sums = |column: &str, about: &str, steps: u64| {
        let c = table.column(column).unwrap();
        let Some(Range::Number { low, high }) = c.range.clone() else { panic!("{c:?}") };
        let (column, about, grid) = (c.name.clone(), about.parse().unwrap(), c.grid.clone().unwrap());
        Added::Deviations(Deviations { column, about, low, high, grid, steps })
    };
    let station = Some(ByKey { column: "station".into(), to: None });
    let month = Some(ByKey { column: "started_at".into(), to: Some(Calendar::Month) });
    let all = [Added::Rows, sums("fare", "0", 64), sums("fare", "3.2", 1), sums("minutes", "15", 2)];
    let mut out = Vec::new();
    for (i, added) in all.into_iter().enumerate() {
        for (k, by) in [None, station.clone(), month.clone()].into_iter().enumerate() {
            let mut bins = bins.to_vec();
            bins.rotate_right((i + 2 * k) % 7);
            let noise = Distribution::Gaussian { variance: Ratio::from_integer(100) };
            let histogram = Histogram::new(bins, noise, Ratio::new(1, 10)).unwrap();
            out.push((Measure { added: added.clone(), by }, histogram));
        }
    }
    out
}

const STATEMENTS: [&str; 12] = [
    "SELECT sum(fare), avg(minutes) FROM trips",
    "SELECT station, avg(fare), avg(minutes) FILTER (WHERE note IS NULL) FROM trips GROUP BY station",
    "SELECT date_trunc('month', started_at), station, sum(fare), count(fare) FROM trips GROUP BY 1, 2",
    "SELECT minutes > 20, sum(minutes), sum(fare), sum(minutes * 2) FROM trips GROUP BY 1",
    "SELECT count(*), count(note), sum(minutes), avg(fare) FROM trips",
    "SELECT station, count(*), sum(minutes) FROM trips GROUP BY station",
    "SELECT extract(month FROM started_at), avg(fare), count(*) FILTER (WHERE minutes > 3) FROM trips GROUP BY 1",
    "SELECT station, count(*), count(DISTINCT rider_id) FROM trips GROUP BY station",
    "SELECT r.plan, count(*) FROM trips t JOIN riders r ON r.rider_id = t.rider_id GROUP BY r.plan",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY minutes) FROM trips",
    "SELECT station, percentile_cont(0.9) WITHIN GROUP (ORDER BY minutes) FROM trips GROUP BY station",
    "SELECT note, count(*), sum(minutes) FROM trips GROUP BY note",
];

#[tokio::test]
async fn a_profile_that_is_wrong_leaks_nothing() {
    let units: Vec<i64> = (1..=data::HOSTILE).collect();
    let (mut by_profile, mut own, mut bounds) = (0, 0, std::collections::BTreeSet::new());
    for v in [
        Variant { dirty: true, nullable_unit: true, tied: 0, seed: 45 },
        Variant { dirty: false, nullable_unit: false, tied: 0, seed: 46 },
    ] {
        let mut lab = Lab::new(v).await;
        for (i, bins) in histograms().into_iter().enumerate() {
            let table = lab.policy.tables.iter().find(|t| t.name == "trips").unwrap();
            let measured = Measured {
                schema: table.schema.clone(),
                table: table.name.clone(),
                owner: lab.policy.owner(table).unwrap(),
                id: i.try_into().unwrap(),
                measured: 0,
                valid_until: i64::MAX,
                items: items(table, &bins),
            };
            lab.policy.with_profiles([&measured]);
            for mechanism in [Preference::Laplace, Preference::Gaussian] {
                let settings = Settings { mechanism, ..settings(2, 3) };
                for text in STATEMENTS {
                    let planned = lab.plan(text, &settings).await.unwrap_or_else(|e| panic!("{text}: {e:?}"));
                    for (release, sql) in lab.paying(&planned) {
                        if release.bounding.is_by_profile() {
                            by_profile += 1;
                            bounds.insert(release.bounding.rows());
                        }
                        own += release.own_norms().count();
                        if let Err(e) = lab.record(sql, &Claim::of(release), &units).await {
                            panic!("{e}\n{text}\n{sql}");
                        }
                    }
                }
            }
        }
    }
    assert!(by_profile >= 100 && own >= 100 && bounds.len() >= 3, "{by_profile} {own} {bounds:?}");
}
