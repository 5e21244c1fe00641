//! What users are told of their budgets: at what price a refused statement would be answered, and what a grant has raised.

use crate::city::{self, PASSWORD, policy, room_for, rows, sqlstate};
use crate::support::{Workdir, connect, psql};
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
    assert!(detail.contains("still fit 0 into everybody's budget \"everyone\", "), "{detail}");
    assert!(detail.contains(" into your budget \"own\"."), "{detail}");
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

/// What is left of a budget is one number, in the check, in notices and in noisegate.budget: of plain counts at the session's
/// price, with the noise that they have there.
#[tokio::test]
async fn what_is_left_is_the_same_number_wherever_it_is_told() {
    let db = city::bikes().await;
    for accounting in ["zcdp", "rdp", "approx", "auto"] {
        let budgets = format!(
            "[statement]\nepsilon = 0.1\ndelta = 1e-8\n[[budget]]\nname = \"everyone\"\naccounting = \"{accounting}\"\n\
             epsilon = 2\ndelta = 1e-6\n"
        );
        let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], &budgets));
        let checked = dir.noisegate(&["check"]).await.stdout;
        let of_check = checked.split_once(" answers at ε = 0.1").unwrap().0.rsplit(' ').next().unwrap();
        let of_check: u32 = of_check.parse().unwrap();
        let gate = dir.serve().await;
        let url = gate.url("ada", &PASSWORD.replace(' ', "%20"), "bikes");
        let ask = async |sql: &str| {
            let out = psql(&url, &format!("{sql};\nSELECT 'left', answers_left FROM noisegate.budget")).await;
            assert!(out.status.success(), "{out:?}");
            let left = out.stdout.lines().find_map(|l| l.trim().strip_prefix("left"));
            let left = left.unwrap().trim_matches(|c: char| !c.is_ascii_digit()).parse::<u32>().unwrap();
            (left, out.stderr)
        };
        assert_eq!(ask("SELECT 1").await.0, of_check, "{accounting}");
        let (left, notice) = ask(COUNT).await;
        assert_eq!(left, of_check - 1, "{accounting}");
        assert!(
            notice.contains(&format!("left, about {left} questions like this\n")),
            "{accounting}: {notice}"
        );
        // Private groups have a part of their own, of which less is left: both are told.
        let (left, notice) = ask("SELECT city, count(*) FROM riders GROUP BY city").await;
        let said = notice.contains(&format!(" ({left} plain counts)"))
            || notice.contains(&format!("about {left} questions like this\n"));
        assert!(said && left <= of_check - 2, "{accounting}: {left} {notice}");
        // At another price it is another number, and the same in both.
        let (left, notice) = ask("SET noisegate.epsilon = 0.05;\nSELECT count(*) FROM riders").await;
        assert!(notice.contains(&format!("about {left} questions like this\n")), "{accounting}: {notice}");
    }
}

/// The ledger keeps the notion that was chosen when it was made, whatever would be chosen later.
#[tokio::test]
async fn a_notion_that_nobody_named_is_chosen_once() {
    let db = city::bikes().await;
    let budgets = |price: &str| {
        format!(
            "[statement]\nepsilon = {price}\n[[budget]]\nname = \"everyone\"\nepsilon = 8\ndelta = 1e-6\n\
             [[budget]]\nname = \"own\"\nper = \"user\"\naccounting = \"auto\"\nepsilon = 2\ndelta = 1e-7\n"
        )
    };
    let usual = policy(&db.backend_toml(), &["ada"], &budgets("0.1"));
    let text = |price: &str| usual.replacen("epsilon = 0.1\n", &format!("epsilon = {price}\n"), 1);
    let dir = Workdir::new(&text("0.1"));
    let check = dir.noisegate(&["check"]).await.stdout;
    // As many as adding up would, at least.
    for part in ["own: each user ε = 2, δ = 1E-7, approx: 20 answers", "zcdp 14, rdp 13, approx 20"] {
        assert!(check.contains(part), "{part}: {check}");
    }
    let created = dir.noisegate(&["budget", "create"]).await.stdout;
    assert!(created.contains("\"own\" counts by auto: approx. Answers that each buys"), "{created}");
    let seen = async |ask: bool| {
        let gate = dir.serve_again().await;
        let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
        if ask {
            rows(&ada, COUNT).await.unwrap();
        }
        let own = "SELECT accounting FROM noisegate.budget WHERE name = 'own'";
        let own = rows(&ada, own).await.unwrap()[0][0].clone().unwrap();
        let reloaded = dir.noisegate(&["ctl", "reload"]).await.stdout;
        assert_eq!(reloaded, "reloaded: nothing has changed\n");
        assert!(gate.signal("TERM").await.success());
        own
    };
    assert_eq!(seen(true).await, "approx");
    // At this price another would buy more.
    std::fs::write(dir.policy(), text("0.01")).unwrap();
    let check = dir.noisegate(&["check"]).await.stdout;
    assert!(check.contains("auto: zcdp. "), "{check}");
    assert_eq!(seen(false).await, "approx");
    let shown = dir.noisegate(&["budget", "show"]).await.stdout;
    assert!(shown.contains("own (approx, per user)") && !shown.contains("changed in the policy"), "{shown}");
    // A reload chooses no other, either.
    let gate = dir.serve_again().await;
    std::fs::write(dir.policy(), text("0.1")).unwrap();
    assert_eq!(dir.noisegate(&["ctl", "reload"]).await.stdout, "reloaded: [statement]\n");
    drop(gate);
    // Naming what it has become changes nothing; naming another has to be signed.
    std::fs::write(dir.policy(), text("0.1").replace("\"auto\"", "\"approx\"")).unwrap();
    let gate = dir.serve_again().await;
    assert!(gate.signal("TERM").await.success());
    std::fs::write(dir.policy(), text("0.1").replace("\"auto\"", "\"zcdp\"")).unwrap();
    let refused = dir.noisegate(&["serve"]).await.stderr;
    assert!(refused.contains("accounting was approx and is zcdp"), "{refused}");
}
