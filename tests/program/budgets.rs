//! What users are told of their budgets: at what price a refused statement would be answered, and what a grant has raised.

use crate::city::{self, PASSWORD, policy, room_for, rows, sqlstate};
use crate::support::{Workdir, connect};
use tokio_postgres::Client;
use tokio_postgres::error::DbError;

const COUNT: &str = "SELECT count(*) FROM trips";

async fn refused(client: &Client, sql: &str) -> DbError {
    rows(client, sql).await.unwrap_err().as_db_error().unwrap().clone()
}

/// The ε that a hint proposes.
fn proposed(error: &DbError) -> String {
    let hint = error.hint().unwrap();
    let (_, rest) = hint.split_once("SET noisegate.epsilon = ").unwrap_or_else(|| panic!("{error:?}"));
    rest.split_once(". Or ").unwrap().0.to_owned()
}

#[tokio::test]
async fn a_refusal_says_at_which_epsilon_the_statement_would_fit() {
    let db = city::bikes().await;
    let budgets = "[statement]\nepsilon = 0.1\nmin_epsilon = 0.001\n\
        [[budget]]\nname = \"everyone\"\naccounting = \"pure\"\nepsilon = 0.25\n\
        [[budget]]\nname = \"own\"\nper = \"user\"\nepsilon = 9\ndelta = 1e-6\n";
    let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], budgets));
    let gate = dir.serve().await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    ada.batch_execute("SET noisegate.cache = off").await.unwrap();
    for _ in 0..2 {
        rows(&ada, COUNT).await.unwrap();
    }
    let error = refused(&ada, COUNT).await;
    assert_eq!(error.code().code(), "53400", "{error:?}");
    assert_eq!(proposed(&error), "0.05");
    let detail = error.detail().unwrap();
    assert!(detail.contains("at epsilon 0.1: 0 in budget \"everyone\" (per dataset), "), "{detail}");
    assert!(detail.contains(" in budget \"own\" (per user)."), "{detail}");
    // Several releases share the price of their statement.
    let error = refused(&ada, "SELECT count(*), sum(minutes), avg(fare) FROM trips").await;
    assert_eq!(proposed(&error), "0.05", "{error:?}");
    ada.batch_execute("SET noisegate.epsilon = 0.05").await.unwrap();
    rows(&ada, COUNT).await.unwrap();
    let error = refused(&ada, COUNT).await;
    let hint = error.hint().unwrap();
    assert!(hint.starts_with("No epsilon fits, down to 0.001, the policy's statement.min_epsilon"), "{hint}");
}

/// In a notion where the price is no multiple of ε, what is proposed is admitted, and the next number is not.
#[tokio::test]
async fn what_is_proposed_is_admitted_and_no_more_is() {
    let db = city::bikes().await;
    let budgets = "[statement]\nepsilon = 0.5\n[[budget]]\nname = \"everyone\"\nepsilon = 1\ndelta = 1e-6\n";
    let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], budgets));
    let gate = dir.serve().await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    ada.batch_execute("SET noisegate.cache = off").await.unwrap();
    let statement = "SELECT plan, count(*), avg(birth_year) FROM riders GROUP BY plan";
    let error = refused(&ada, statement).await;
    let epsilon = proposed(&error);
    let number: f64 = epsilon.parse().unwrap();
    assert!(number < 0.5 && number > 0.1 && epsilon.len() <= 5, "{error:?}");
    ada.batch_execute(&format!("SET noisegate.epsilon = {}", number + 0.001)).await.unwrap();
    assert_eq!(sqlstate(&ada, statement).await, "53400");
    ada.batch_execute(&format!("SET noisegate.epsilon = {epsilon}")).await.unwrap();
    rows(&ada, statement).await.unwrap();
}

#[tokio::test]
async fn a_grant_is_advertised_as_it_is_admitted() {
    let db = city::bikes().await;
    let quota = "[[budget]]\nname = \"own\"\nper = \"user\"\naccounting = \"pure\"\nepsilon = 0.1\nwindow = \"month\"\n";
    let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], &(room_for(1) + quota)));
    assert!(dir.noisegate(&["budget", "create"]).await.status.success());
    let shown = "SELECT name, epsilon, lifetime, answers_left FROM noisegate.budget ORDER BY name";
    let seen = async || {
        let gate = dir.serve_again().await;
        let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
        let rows = rows(&ada, shown).await.unwrap();
        assert!(gate.signal("TERM").await.success());
        rows.into_iter().map(|r| r.into_iter().flatten().collect::<Vec<_>>().join(" | ")).collect::<Vec<_>>()
    };
    assert_eq!(
        seen().await,
        [
            "everyone | 0.1 | for all time: epsilon 0.1, delta 0 | 1",
            "own | 0.1 | a year: 13 windows, epsilon 1.300, delta 0.00e0 | 1"
        ]
    );
    for (budget, epsilon) in [("everyone", "0.3"), ("own", "0.2")] {
        let granted = ["budget", "grant", "--budget", budget, "--epsilon", epsilon, "--reason", "asked"];
        let out = dir.noisegate(&granted).await;
        assert!(out.status.success(), "{out:?}");
    }
    // A grant in a window is for that window: the other twelve are as they were.
    assert_eq!(
        seen().await,
        [
            "everyone | 0.4 | for all time: epsilon 0.4, delta 0 | 4",
            "own | 0.3 | a year: 13 windows, epsilon 1.500, delta 0.00e0 | 3"
        ]
    );
}
