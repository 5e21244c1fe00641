//! What one user can take of the database from the others.

use crate::city::{self, PASSWORD, policy, room_for, rows};
use crate::support::{Workdir, connect};
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

/// A cell of 86 MB, made by a short statement, is not carried through the proxy, whose next statement is answered as ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_beyond_all_measure_is_refused() {
    let db = city::bikes().await;
    let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], &room_for(9)));
    let gate = dir.serve().await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let many = "a".repeat(21);
    let large = (1..5).fold(format!("'{many}'"), |text, _| format!("replace({text}, 'a', '{many}')"));
    assert_eq!(
        rows(&ada, &format!("SELECT length({large})")).await.unwrap().concat(),
        [Some("4084101".to_owned())]
    );
    let refused = rows(&ada, &format!("SELECT replace({large}, 'a', '{many}')")).await.unwrap_err();
    let refused = refused.as_db_error().expect("an answer of the gateway");
    assert_eq!(
        (refused.code().code(), refused.message()),
        ("54000", "a row of the answer is larger than 64 MiB")
    );
    for _ in 0..3 {
        assert_eq!(rows(&ada, "SELECT 1").await.unwrap().len(), 1);
    }
}
