//! The backend against a real PostgreSQL: the relay, the pools, the fetch, and the proof of the finish login.

mod fetch;
mod finish_login;
mod login;
mod recovery;
mod world;

use bytes::Bytes;
use futures::StreamExt;
use noisegate::backend::{Backend, Param, RelayError, Rows, Setting, Settings};
use std::time::{Duration, Instant};
use world::Database;

async fn texts(backend: &Backend, sql: &str) -> Result<Vec<Vec<Option<String>>>, RelayError> {
    backend.query(&Settings::default(), sql, &[], &[0]).await?.into_texts().await
}

async fn text(backend: &Backend, sql: &str) -> String {
    texts(backend, sql).await.unwrap()[0][0].clone().unwrap()
}

/// Waits until a count over pg_stat_activity is zero.
async fn until_none(db: &Database, user: &str, condition: &str) {
    let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE usename = '{user}' AND {condition}");
    let start = Instant::now();
    while db.admin.query_one(&sql, &[]).await.unwrap().get::<_, i64>(0) > 0 {
        assert!(start.elapsed() < Duration::from_secs(5), "still true of {user}: {condition}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn collect(rows: Rows) -> Vec<Bytes> {
    rows.rows.map(|r| r.unwrap()).collect().await
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_come_in_the_format_asked_for() {
    let db = Database::new().await;
    let backend = Backend::connect(&db.policy()).await.unwrap();
    let sql = "SELECT $1 AS a, 'é' AS b, NULL::date AS c, 2.50::numeric(6,2) AS d";
    let params = [Param::int8(-7)];

    let rows = backend.query(&Settings::default(), sql, &params, &[]).await.unwrap();
    let names: Vec<_> =
        rows.fields.iter().map(|f| (f.name.as_str(), f.type_oid, f.type_modifier, f.format)).collect();
    assert_eq!(
        names,
        [("a", 20, -1, 0), ("b", 25, -1, 0), ("c", 1082, -1, 0), ("d", 1700, ((6 << 16) | 2) + 4, 0)]
    );
    let got = collect(rows).await;
    assert_eq!(got, [&b"\0\x04\0\0\0\x02-7\0\0\0\x02\xc3\xa9\xff\xff\xff\xff\0\0\0\x042.50"[..]]);

    let rows = backend.query(&Settings::default(), sql, &params, &[1, 0, 1, 0]).await.unwrap();
    assert_eq!(rows.fields.iter().map(|f| f.format).collect::<Vec<_>>(), [1, 0, 1, 0]);
    let got = collect(rows).await;
    let expected =
        b"\0\x04\0\0\0\x08\xff\xff\xff\xff\xff\xff\xff\xf9\0\0\0\x02\xc3\xa9\xff\xff\xff\xff\0\0\0\x042.50";
    assert_eq!(got, [&expected[..]]);

    let none = backend.query(&Settings::default(), sql, &[Param::new(20, None)], &[1]).await.unwrap();
    assert!(collect(none).await[0].starts_with(b"\0\x04\xff\xff\xff\xff"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_million_rows_arrive_in_order_and_the_connection_is_whole_afterwards() {
    let db = Database::new().await;
    let backend = Backend::connect(&db.policy()).await.unwrap();
    let sql = "SELECT g FROM generate_series(1, 1000000) g";
    let mut rows = backend.query(&Settings::default(), sql, &[], &[1]).await.unwrap().rows;
    let mut expected = 0i32;
    while let Some(row) = rows.next().await {
        expected += 1;
        let row = row.unwrap();
        assert_eq!(row.len(), 10);
        assert_eq!(row[6..], expected.to_be_bytes());
    }
    assert_eq!(expected, 1_000_000);
    let pid = text(&backend, "SELECT pg_backend_pid()").await;
    assert_eq!(pid, text(&backend, "SELECT pg_backend_pid()").await, "the connection is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_holds_the_server_back_and_a_vanished_one_cancels() {
    let db = Database::new().await;
    let backend = Backend::connect(&db.policy()).await.unwrap();
    let pid = text(&backend, "SELECT pg_backend_pid()").await;
    // A gigabyte, if it were not held back.
    let sql = "SELECT g, repeat('x', 1000) FROM generate_series(1, 1000000) g";
    let mut rows = backend.query(&Settings::default(), sql, &[], &[0]).await.unwrap().rows;
    for _ in 0..10 {
        rows.next().await.unwrap().unwrap();
    }
    let waits = format!("NOT (wait_event = 'ClientWrite') AND pid = {pid}");
    until_none(&db, &db.finish, &waits).await;
    drop(rows);
    until_none(&db, &db.finish, "state = 'active'").await;
    // The pool has one place: this waits for it, and sees its own answer only.
    assert_eq!(text(&backend, "SELECT 'next'").await, "next");
    assert_ne!(
        text(&backend, "SELECT pg_backend_pid()").await,
        pid,
        "another session: that one keeps what it took"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_worked_for_long_or_on_much_is_replaced() {
    let db = Database::new().await;
    let backend = Backend::connect(&db.policy()).await.unwrap();
    let pid = async || text(&backend, "SELECT pg_backend_pid()").await;
    let first = pid().await;
    assert_eq!(text(&backend, "SELECT length(repeat('x', 1000))").await, "1000");
    assert_eq!(pid().await, first, "what is small leaves it");
    let long = format!("SELECT length('{}')", "x".repeat(300 << 10));
    assert_eq!(text(&backend, &long).await, (300 << 10).to_string());
    let second = pid().await;
    assert_ne!(second, first);
    assert_eq!(text(&backend, "SELECT 1 FROM pg_sleep(5.2)").await, "1");
    assert_ne!(pid().await, second);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_connection_is_replaced_and_no_signal_hits_what_comes_later() {
    let db = Database::new().await;
    let backend = Backend::connect(&db.policy()).await.unwrap();
    for round in 0..40 {
        // Twice the same text is prepared under a name, which may be cut short, too.
        let sql =
            format!("SELECT count(*) FROM generate_series(1, 1000000000) g WHERE g % 7 = {}", round / 3);
        let query = async { backend.query(&Settings::default(), &sql, &[], &[0]).await?.into_texts().await };
        assert!(tokio::time::timeout(Duration::from_millis(round % 9), query).await.is_err());
        for n in 0..5 {
            assert_eq!(text(&backend, &format!("SELECT {n}")).await, n.to_string());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_is_cancelled_when_its_future_is_dropped() {
    let db = Database::new().await;
    let backend = Backend::connect(&db.policy()).await.unwrap();
    // Its one row comes long after its columns.
    let sql = "SELECT count(*) FROM generate_series(1, 1000000000) g WHERE g % 7 = 1";
    let query = async {
        let rows = backend.query(&Settings::default(), sql, &[], &[0]).await?;
        rows.into_texts().await
    };
    assert!(tokio::time::timeout(Duration::from_millis(300), query).await.is_err());
    until_none(&db, &db.finish, "state = 'active'").await;
    assert_eq!(text(&backend, "SELECT 'next'").await, "next");
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_32_errors_keep_their_sqlstate_and_place_and_cost_no_connection() {
    let db = Database::new().await;
    let backend = Backend::connect(&db.policy()).await.unwrap();
    let pid = text(&backend, "SELECT pg_backend_pid()").await;
    for (sql, code, position) in [
        ("SELECT nothing", "42703", Some(8)),
        ("SELECT 'é', f(1)", "42883", Some(13)),
        ("SELEC 1", "42601", Some(1)),
        ("SELECT 1/0", "22012", None),
        ("INSERT INTO public.stations VALUES (3, 'x')", "25006", None),
        ("SELECT count(*) FROM public.riders", "42501", None),
        ("SELECT 1; SELECT 2", "42601", None),
    ] {
        let error = texts(&backend, sql).await.unwrap_err();
        let RelayError::Db(db) = &error else { panic!("{sql}: {error:?}") };
        assert_eq!((db.code.as_str(), db.position), (code, position), "{sql}: {db}");
        assert_eq!(error.clone().into_finish_error().code.as_str(), code);
    }
    let mut rows = backend
        .query(&Settings::default(), "SELECT 100/(5000-g) FROM generate_series(1, 9000) g", &[], &[0])
        .await
        .unwrap()
        .rows;
    let mut before = 0;
    let error = loop {
        match rows.next().await {
            Some(Ok(_)) => before += 1,
            Some(Err(e)) => break e,
            None => panic!("an error must end the rows"),
        }
    };
    assert!(matches!(&error, RelayError::Db(e) if e.code.as_str() == "22012"), "{error:?}");
    assert_eq!(before, 4999);
    assert!(rows.next().await.is_none());
    assert_eq!(text(&backend, "SELECT pg_backend_pid()").await, pid);
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_those_of_each_statement_and_a_poisoned_session_heals() {
    let db = Database::new().await;
    let backend = Backend::connect(&db.policy()).await.unwrap();
    let sql = "SELECT current_setting('TimeZone'), timestamptz '2024-01-01 00:00+00', interval '1 day 2 hours', \
               '\\x01'::bytea, 0.1::float4";
    let mut tokyo = Settings::default();
    tokyo.set(Setting::TimeZone, "Asia/Tokyo");
    tokyo.set(Setting::DateStyle, "German");
    tokyo.set(Setting::IntervalStyle, "iso_8601");
    tokyo.set(Setting::ByteaOutput, "escape");
    tokyo.set(Setting::ExtraFloatDigits, "-6");
    let cells = |rows: Vec<Vec<Option<String>>>| rows.into_iter().flatten().flatten().collect::<Vec<_>>();
    let plain = ["UTC", "2024-01-01 00:00:00+00", "1 day 02:00:00", "\\x01", "0.1"];
    let there = backend.query(&tokyo, sql, &[], &[0]).await.unwrap().into_texts().await.unwrap();
    assert_eq!(cells(there), ["Asia/Tokyo", "01.01.2024 09:00:00 JST", "P1DT2H", "\\001", "0.1"]);
    assert_eq!(cells(texts(&backend, sql).await.unwrap()), plain);

    // Even a statement that sets for the session leaves nothing behind.
    let poison = "SELECT set_config('search_path', 'public', false), set_config('TimeZone', 'Asia/Tokyo', false), \
                  set_config('default_transaction_read_only', 'off', false)";
    texts(&backend, poison).await.unwrap();
    let now = "SELECT current_setting('search_path'), current_setting('TimeZone'), \
               current_setting('default_transaction_read_only'), current_setting('transaction_isolation'), \
               current_setting('transaction_read_only')";
    assert_eq!(
        cells(texts(&backend, now).await.unwrap()),
        ["pg_catalog", "UTC", "on", "repeatable read", "on"]
    );

    // A value that PostgreSQL does not take is its error, and the session goes on.
    let mut wrong = Settings::default();
    wrong.set(Setting::TimeZone, "Nowhere'; SELECT pg_sleep(9); --");
    let error = backend.query(&wrong, sql, &[], &[0]).await.err().unwrap();
    assert!(matches!(&error, RelayError::Db(e) if e.code.as_str() == "22023"), "{error:?}");
    assert!(backend.describe(&wrong, sql, &[]).await.is_err());
    assert_eq!(cells(texts(&backend, sql).await.unwrap()), plain);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_again_is_prepared_until_it_gives_something_else() {
    let db = Database::new().await;
    let backend = Backend::connect(&db.policy()).await.unwrap();
    let sql = "SELECT s.*, $1 AS more FROM public.stations AS s WHERE id = 1";
    let params = [Param::int8(7)];
    let ask = |settings: Settings| {
        let (backend, params) = (&backend, &params);
        async move { backend.query(&settings, sql, params, &[0]).await.unwrap().into_texts().await.unwrap() }
    };
    let prepared = async || -> i64 {
        let sql = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT s.%'";
        text(&backend, sql).await.parse().unwrap()
    };
    let first = ask(Settings::default()).await;
    assert_eq!(prepared().await, 0, "what is asked once is not kept");
    assert_eq!(ask(Settings::default()).await, first);
    assert_eq!(ask(Settings::default()).await, first);
    assert_eq!(prepared().await, 1);

    // Its columns change: it is asked anew, and nobody hears of it.
    db.admin.batch_execute("ALTER TABLE stations ADD opened date DEFAULT '2024-03-01'").await.unwrap();
    let after = ask(Settings::default()).await;
    assert_eq!(after[0].len(), first[0].len() + 1);
    let mut german = Settings::default();
    german.set(Setting::DateStyle, "German");
    for _ in 0..3 {
        assert!(ask(german.clone()).await[0].contains(&Some("01.03.2024".into())));
        assert_eq!(ask(Settings::default()).await, after);
    }
    // An error leaves no trace of a statement.
    for _ in 0..3 {
        assert!(texts(&backend, "SELECT s.name FROM public.stationary AS s").await.is_err());
    }
    assert_eq!(prepared().await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn describe_needs_no_select_right_and_reads_no_row() {
    let db = Database::new().await;
    let backend = Backend::connect(&db.policy()).await.unwrap();
    let settings = Settings::default();
    let sql = "SELECT name, count(*) AS n, $2::numeric FROM public.riders WHERE rider_id > $1 GROUP BY name";
    let before = reads(&db).await;
    let description = backend.describe(&settings, sql, &[]).await.unwrap();
    assert_eq!(description.parameters, [23, 1700]);
    let fields: Vec<_> =
        description.fields.iter().map(|f| (f.name.as_str(), f.type_oid, f.type_size)).collect();
    assert_eq!(fields, [("name", 25, -1), ("n", 20, 8), ("numeric", 1700, -1)]);
    let typed = backend.describe(&settings, sql, &[20]).await.unwrap();
    assert_eq!(typed.parameters, [20, 1700]);
    let error = backend.describe(&settings, "SELECT nam FROM public.riders", &[]).await.unwrap_err();
    assert!(
        matches!(&error, RelayError::Db(e) if e.code.as_str() == "42703" && e.position == Some(8)),
        "{error:?}"
    );
    // Nothing is executed.
    let start = Instant::now();
    backend.describe(&settings, "SELECT pg_sleep(20)", &[]).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(reads(&db).await, before);
}

/// Scans of the private table that the server has counted.
async fn reads(db: &Database) -> i64 {
    // The counts of a session arrive when it is idle, at most once a second.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let sql = "SELECT coalesce(seq_scan, 0) + coalesce(idx_scan, 0) FROM pg_stat_user_tables WHERE relname = 'riders'";
    db.admin.query_one(sql, &[]).await.unwrap().get(0)
}
