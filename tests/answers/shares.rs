//! What one user can take of the database from the others.

use crate::city::{self, PASSWORD, policy, room_for, rows};
use crate::support::{Workdir, connect};
use futures::StreamExt;
use futures::future::join_all;
use std::time::Duration;

/// Minutes of work, for nothing.
const HEAVY: &str = "SELECT count(*) FROM generate_series(1, 20000) AS a(n), generate_series(1, 20000) AS b(n), \
    generate_series(1, 20000) AS c(n) WHERE a.n + b.n = c.n";

/// Heavy statements of one user that cost nothing take that user's places. Everybody else logs in, has statements typed and
/// explained, and is answered; and the heavy ones end.
#[tokio::test(flavor = "multi_thread")]
async fn free_statements_of_one_user_leave_room_for_everybody_else() {
    let db = city::bikes().await;
    let text = policy(&db.backend_toml(), &["ada", "eve"], &room_for(9));
    let dir =
        Workdir::new(&text.replacen("[backend]\n", "[backend]\npool = 4\npublic_timeout = \"4s\"\n", 1));
    let gate = dir.serve().await;
    let eves = join_all((0..8).map(|_| async { connect(&gate.url("eve", PASSWORD, "bikes")).await })).await;
    let heavy = tokio::spawn(async move { join_all(eves.iter().map(|eve| rows(eve, HEAVY))).await });
    tokio::time::sleep(Duration::from_millis(500)).await;
    for _ in 0..3 {
        let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
        let answers = join_all([
            rows(&ada, "SELECT 1"),
            rows(&ada, "SET TimeZone = 'Europe/Oslo'"),
            rows(&ada, "SELECT count(*) FROM stations"),
            rows(&ada, "EXPLAIN SELECT count(*) FROM trips"),
            rows(&ada, "SELECT count(*) FROM trips"),
            rows(&ada, "SELECT relname FROM pg_class WHERE relname = 'trips'"),
        ])
        .await;
        for answer in answers {
            answer.unwrap_or_else(|e| panic!("{e:?}"));
        }
        ada.prepare("SELECT station FROM stations WHERE capacity > $1").await.unwrap();
    }
    assert!(!heavy.is_finished(), "eve was still at it");
    for ended in heavy.await.unwrap() {
        let ended = ended.unwrap_err();
        let code = ended.code().map(|c| c.code().to_owned());
        assert!(matches!(code.as_deref(), Some("57014" | "53300")), "{ended:?}");
    }
}

/// Clients of one user that ask for rows without end and take none hold that user's places, and lose them soon.
#[tokio::test(flavor = "multi_thread")]
async fn readers_that_take_nothing_leave_room_for_everybody_else() {
    let db = city::bikes().await;
    let text = policy(&db.backend_toml(), &["ada", "eve"], &room_for(9));
    let dir =
        Workdir::new(&text.replacen("[backend]\n", "[backend]\npool = 4\npublic_timeout = \"2s\"\n", 1));
    let gate = dir.serve().await;
    let many = "SELECT a.n, b.n, 'a row that is long enough to fill all that lies between' \
                FROM generate_series(1, 5000) AS a(n), generate_series(1, 5000) AS b(n)";
    let eves = join_all((0..8).map(|_| async { connect(&gate.url("eve", PASSWORD, "bikes")).await })).await;
    let readers = join_all(eves.iter().map(|eve| async move {
        let none: [&str; 0] = [];
        let mut rows = Box::pin(eve.query_raw(many, none).await?);
        // One row, and then nothing for as long as it takes to lose the others. Who has no place may hear so instead.
        let first = rows.next().await.transpose()?;
        tokio::time::sleep(Duration::from_secs(8)).await;
        while let Some(row) = rows.next().await {
            row?;
        }
        drop(first);
        Ok::<(), tokio_postgres::Error>(())
    }));
    let ada = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        for _ in 0..20 {
            let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
            let answers = [rows(&ada, "SELECT 1").await, rows(&ada, "SELECT count(*) FROM stations").await];
            answers.into_iter().for_each(|answer| drop(answer.unwrap_or_else(|e| panic!("{e:?}"))));
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
        rows(&ada, "SELECT count(*) FROM trips").await.unwrap();
    };
    let (ended, ()) = tokio::join!(readers, ada);
    for ended in ended {
        let ended = ended.unwrap_err();
        let code = ended.code().map(|c| c.code().to_owned());
        assert!(matches!(code.as_deref(), Some("57014" | "53300")), "{ended:?}");
    }
}

/// A cell of 80 MB, made by a short statement, is not carried through the proxy, whose next statement is answered as ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_beyond_all_measure_is_refused() {
    let db = city::bikes().await;
    let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], &room_for(9)));
    let gate = dir.serve().await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let many = "a".repeat(1_000);
    // A million letters.
    let large = format!("replace('{many}', 'a', '{many}')");
    let all = |n: u32| format!("string_agg(t, '') FROM (SELECT {large} AS t) AS x, generate_series(1, {n})");
    assert_eq!(
        rows(&ada, &format!("SELECT length({large})")).await.unwrap().concat(),
        [Some("1000000".to_owned())]
    );
    // Texts that grow by themselves are refused before the database hears of them.
    for grown in [format!("replace({large}, 'a', '{many}')"), all(80)] {
        let refused = rows(&ada, &format!("SELECT {grown}")).await.unwrap_err();
        let refused = refused.as_db_error().expect("an answer of the gateway");
        assert_eq!(
            (refused.code().code(), refused.message()),
            ("54000", "the texts of this statement can grow too long")
        );
    }
    // What tables hold is not known before: here it is ten stations, five times.
    let long = "SELECT string_agg(x, '') FROM (SELECT replace('aaaaaaaaaaaaaaaaaaaa', 'a', \
                'aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd') AS x \
                FROM stations a, stations b, stations c, stations d, stations e) AS all_of_them";
    let refused = rows(&ada, long).await.unwrap_err();
    let refused = refused.as_db_error().expect("an answer of the gateway");
    assert_eq!(
        (refused.code().code(), refused.message()),
        ("54000", "a row of the answer is larger than 64 MiB")
    );
    for _ in 0..3 {
        assert_eq!(rows(&ada, "SELECT 1").await.unwrap().len(), 1);
    }
}
