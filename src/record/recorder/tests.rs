#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::asked::{Asked, Share};
use crate::running::{Running, answered, inherited, paid, step};

fn asked(user: &str, text: Option<&str>) -> Asked {
    let text = text.map(str::to_owned);
    Asked { user: user.into(), database: None, session: 7, class: "query", text, before: Stages::default() }
}

fn price(part: f64) -> Price {
    Price { epsilon: "0.5".into(), entry: 3, shares: vec![Share { budget: "total".into(), part }] }
}

#[tokio::test]
async fn a_statement_is_listed_while_it_runs_and_after_it() {
    let recorder = Arc::new(Recorder::default());
    let running = Running::begin(&recorder, asked("ada", None));
    running
        .working(async {
            let _fetching = step(Stage::Fetch);
            tokio::time::sleep(Duration::from_millis(5)).await;
            // Another task works on the same statement.
            tokio::spawn(inherited(async { paid(price(0.1)) })).await.unwrap();
            answered(Outcome::Repeated);
            let live = recorder.shown(9).live;
            assert_eq!((live[0].user.as_str(), live[0].stage, live[0].outcome), ("ada", Stage::Fetch, None));
        })
        .await;
    running.sends();
    running.end(Ended::Done, 4);
    running.end(Ended::Early, 9);
    drop(running);
    let shown = recorder.shown(9);
    assert!(shown.live.is_empty() && shown.past.len() == 1);
    let line = &shown.past[0];
    assert_eq!(
        (line.outcome, line.rows, line.prices.as_slice()),
        (Some(Outcome::Fresh), 4, &[price(0.1)][..])
    );
    assert!(line.stages.of(Stage::Fetch) >= Duration::from_millis(5), "{:?}", line.stages);
    assert_eq!(shown.users[0].1.of(Outcome::Fresh), 1);
    assert_eq!(recorder.totals().statements(Outcome::Fresh), 1);
    assert_eq!(recorder.totals().stage(Stage::Fetch).count(), 1);
    // Outside of any statement nothing is recorded, and nothing fails.
    paid(price(0.2));
    drop(step(Stage::Fetch));
}

#[tokio::test]
async fn who_goes_away_has_paid_all_the_same() {
    let recorder = Arc::new(Recorder::default());
    let running = Running::begin(&recorder, asked("ada", None));
    let later = running.working(async { Some(inherited(async { paid(price(0.1)) })) }).await;
    drop(running);
    later.unwrap().await;
    let line = &recorder.shown(1).past[0];
    assert_eq!((line.outcome, line.prices.len()), (Some(Outcome::Cancelled), 1));
}

#[test]
fn however_many_are_asked_the_record_stays_within_its_bounds() {
    let recorder = Arc::new(Recorder::default());
    let long = "é".repeat(100_000);
    for i in 0..5_000 {
        let running = Running::begin(&recorder, asked(&format!("user {i}"), Some(&long)));
        let why = format!("reason {i}");
        running.end(Ended::Error("0A000".into(), why), 0);
    }
    let shown = recorder.shown(usize::MAX);
    assert!(shown.past.len() <= PAST && shown.past.len() > 500, "{}", shown.past.len());
    assert!(lock(&recorder.past).bytes <= PAST_BYTES);
    assert!(shown.past[0].text.as_ref().unwrap().len() <= 2_003);
    assert!(shown.users.len() <= 1_001, "{}", shown.users.len());
    assert_eq!(shown.users.iter().map(|(_, t)| t.of(Outcome::Refused)).sum::<u64>(), 5_000);
    assert!(shown.refused.len() <= 501);
    assert_eq!(shown.refused.iter().map(|r| r.times).sum::<u64>(), 5_000);
    assert_eq!(recorder.errors(), BTreeMap::from([("0A000".to_owned(), 5_000)]));
    let open: Vec<Running> = (0..LIVE + 5).map(|_| Running::begin(&recorder, asked("ada", None))).collect();
    assert_eq!(recorder.running(), LIVE);
    drop(open);
    assert_eq!(recorder.running(), 0);
}
