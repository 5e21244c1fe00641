//! Keys in rounds: one price, one answer, and each round is kept.

use super::world::{World, all, one};
use crate::city::rows;
use std::collections::BTreeSet;

const NOTES: &str = "SELECT left(note, 1) FROM trips GROUP BY 1";

#[tokio::test(flavor = "multi_thread")]
async fn rounds_have_one_price_and_are_free_again() {
    let world = World::new("").await;
    let c = world.ada().await;
    c.batch_execute("SET noisegate.epsilon = 8").await.unwrap();
    let notes = all(&c, NOTES).await;
    assert_eq!(world.paid().await, 80);
    // Each is a note that there is, and comes back once.
    let known: BTreeSet<String> = notes.iter().map(|row| row[0].clone().unwrap()).collect();
    assert!(known.len() == notes.len() && known.len() > 5, "{known:?}");
    assert!(known.iter().all(|note| note.parse::<u32>().is_ok_and(|n| n < 10)), "{known:?}");
    // However it is asked for, and by whom.
    let sorted = "SELECT DISTINCT left(trips.note, 1) AS n FROM public.trips ORDER BY 1";
    let again = all(&world.user("bob").await, &format!("SET noisegate.epsilon = 8; {sorted}")).await;
    assert_eq!(again.iter().map(|row| row[0].clone().unwrap()).collect::<BTreeSet<_>>(), known);
    assert_eq!(one(&c, &format!("SELECT count(*) FROM ({NOTES}) t")).await, known.len().to_string());
    let told = all(&c, &format!("EXPLAIN {NOTES}")).await;
    assert!(told.iter().flatten().flatten().any(|line| line.contains("nothing")), "{told:?}");
    assert_eq!(world.paid().await, 80);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_pay_for_all_rounds_begins_none() {
    let world = World::new("").await;
    let c = world.ada().await;
    c.batch_execute("SET noisegate.epsilon = 3").await.unwrap();
    one(&c, "SELECT count(*) FROM riders").await;
    c.batch_execute("SET noisegate.epsilon = 8").await.unwrap();
    // A first round alone would fit.
    let refused = rows(&c, NOTES).await.unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "53400", "{refused:?}");
    assert_eq!(world.paid().await, 30);
}

/// Whoever stops between two rounds has paid for those that were read; asked again, they are not paid for again.
#[tokio::test(flavor = "multi_thread")]
async fn a_round_that_was_paid_for_is_not_paid_for_again() {
    let world = World::new("").await;
    let c = world.ada().await;
    c.batch_execute("SET noisegate.epsilon = 8").await.unwrap();
    let mut paid = 0;
    // A sixteenth of the price is the first round's.
    for _ in 0..40 {
        let token = c.cancel_token();
        let asking = rows(&c, NOTES);
        let stopping = async {
            tokio::time::sleep(std::time::Duration::from_millis(3)).await;
            token.cancel_query(tokio_postgres::NoTls).await
        };
        let (asked, stopped) = tokio::join!(asking, stopping);
        stopped.unwrap();
        let now = world.paid().await;
        assert!(now >= paid && [0, 5, 80].contains(&now), "{now} after {paid}");
        paid = now;
        if asked.is_ok() {
            break;
        }
    }
    all(&c, NOTES).await;
    assert_eq!(world.paid().await, 80);
}
