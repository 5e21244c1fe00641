//! `noisegate.bounds = auto`: the release that chooses a bound, and the statement with each bound that may come of it.
//!
//! Both are functions of statement, policy and settings, as [`Lab::draft`] asserts, so that shape and charge are the same on
//! neighbours that were given the same bound; what one unit changes of either is recorded here.

use crate::data::{self, Variant};
use crate::harness::{Claim, Lab, Planned, settings};
use crate::query;
use crate::rng::Rng;
use crate::samples::Samples;
use noisegate::dp::Ratio;
use noisegate::emit::fetch;
use noisegate::plan::price::row_choice::{self, RowChoice};
use noisegate::plan::{Plan, Settings};

/// Bounds that may have been chosen.
const MOST: u32 = 40;

/// The choice for a statement, priced.
pub fn choice(lab: &Lab, plan: &Plan, settings: &Settings) -> Option<RowChoice> {
    let choice =
        row_choice::of(plan, &lab.policy, settings, lab.sizes(), MOST).unwrap_or_else(|e| panic!("{e:?}"));
    let mut choice = choice.ok()?;
    choice.plan.at(settings, Ratio::new(1, 5)).unwrap();
    Some(choice)
}

/// It as a statement that was planned.
pub fn planned(lab: &Lab, choice: &RowChoice) -> Planned {
    let fetches = choice.plan.releases.iter().map(|r| fetch::fetch(r, &lab.policy).sql).collect();
    Planned { plan: choice.plan.clone(), typed: String::new(), fetches }
}

/// How many releases were recorded.
async fn recorded(lab: &mut Lab, text: &str, settings: &Settings, units: &[i64]) -> usize {
    let Ok(asked) = lab.plan(text, settings).await else { return 0 };
    let Some(choice) = choice(lab, &asked.plan, settings) else { return 0 };
    let mut all = vec![planned(lab, &choice)];
    if !std::env::var("NOISEGATE_RECORDER_KERNEL").is_ok_and(|v| v == "off") {
        lab.certify(&all[0]).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    }
    assert_eq!(Claim::of(&choice.plan.releases[0]).linf, [1], "a unit is one row: {text}");
    for point in [0, 3, i128::MAX] {
        let bound = choice.bound(point);
        assert!((1..=MOST).contains(&bound));
        let chosen = Settings { total_rows: Some(bound), ..settings.clone() };
        all.push(lab.plan(text, &chosen).await.unwrap_or_else(|e| panic!("{text}, {bound}: {e:?}")));
        let last = all.last().unwrap();
        let most = |p: &Planned| p.plan.releases.iter().map(|r| r.bounding.rows()).max();
        assert!(most(last) <= Some(bound), "{text}: {bound}");
    }
    let mut n = 0;
    for planned in &all {
        for (release, sql) in lab.paying(planned) {
            n += 1;
            if let Err(e) = lab.record(sql, &Claim::of(release), units).await {
                panic!("{e}\n{text}\n{sql}");
            }
        }
    }
    n
}

const STATEMENTS: [&str; 9] = [
    "SELECT count(*), sum(minutes) FROM trips",
    "SELECT sum(fare) FILTER (WHERE minutes > 3), avg(minutes) FROM trips WHERE station <> 'Station 1'",
    "SELECT station, count(*) FROM trips GROUP BY station",
    "SELECT station, sum(minutes), count(*) FROM trips GROUP BY station",
    "SELECT count(*) FROM trips t JOIN riders r ON r.rider_id = t.rider_id",
    "SELECT r.plan, count(*) FROM trips t JOIN riders r ON r.rider_id = t.rider_id GROUP BY r.plan",
    "SELECT count(*) FROM (SELECT rider_id, station, count(*) AS n FROM trips GROUP BY rider_id, station) t",
    "SELECT count(*), var_pop(minutes) FROM trips t JOIN stations s ON s.station = t.station",
    "SELECT count(*) FROM trips t WHERE EXISTS (SELECT 1 FROM riders r WHERE r.rider_id = t.rider_id AND r.active)",
];

#[tokio::test]
async fn rule_45_a_bound_is_a_release_and_what_follows_keeps_to_it() {
    for v in [
        Variant { dirty: true, nullable_unit: true, tied: 0, seed: 45 },
        Variant { dirty: false, nullable_unit: false, tied: 0, seed: 46 },
    ] {
        let mut lab = Lab::new(v).await;
        let units: Vec<i64> = (1..=data::HOSTILE).collect();
        for text in STATEMENTS {
            let n = recorded(&mut lab, text, &settings(2, 3), &units).await;
            assert_eq!(n, 4, "{text}");
        }
        // Statements that are drawn, of which some have a bound to choose.
        let samples = Samples::of_lab(&mut lab).await;
        let (mut rng, mut chosen) = (Rng::of_case(45, v.seed), 0);
        for _ in 0..60 {
            let drawn = query::query(&mut rng, &samples, false);
            let n = recorded(&mut lab, &drawn.sql, &settings(2, 3), &units[..4]).await;
            chosen += usize::from(n > 0);
        }
        assert!(chosen >= 4, "{chosen}");
    }
}
