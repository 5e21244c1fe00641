//! Statements that are too large, too deep, no text, or not for noisegate.

use super::World;
use crate::city::{room_for, rows, sqlstate};
use crate::raw::{message, query};
use std::fmt::Write;
use std::time::{Duration, Instant};

fn in_list(n: usize) -> String {
    let mut sql = "SELECT count(*) FROM trips WHERE minutes IN (0".to_owned();
    for i in 1..n {
        write!(sql, ",{i}").unwrap();
    }
    sql.push(')');
    sql
}

/// Every one is refused for free, and the next statement of the same session works.
#[tokio::test(flavor = "multi_thread")]
async fn limits_are_refused_by_the_name_of_their_key() {
    let world = World::new(&format!("{}[limits]\nmax_statement_bytes = 16_000_000\n", room_for(1))).await;
    let ada = world.ada().await;
    let mut wrong = Vec::new();
    for (sql, key) in [
        (in_list(10_001), "limits.max_in_list"),
        (in_list(40_000), "limits.max_in_list"),
        (format!("SELECT {}1{}", "(".repeat(5_000), ")".repeat(5_000)), "limits.max_depth"),
        (format!("SELECT {}1{}", "(".repeat(150), ")".repeat(150)), "limits.max_depth"),
        (format!("SELECT {}1", "- ".repeat(1_900)), "limits.max_depth"),
        (format!("SELECT {}true", "NOT ".repeat(1_900)), "limits.max_depth"),
        (format!("SELECT {}1", "NOT (".repeat(60)), "limits.max_depth"),
        (format!("SELECT 1{}", " + 1".repeat(90_000)), "limits.max_depth"),
        (format!("SELECT 1 WHERE true{}", " AND true".repeat(30_000)), "limits.max_depth"),
        (format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(5_000)), "limits.max_depth"),
        (format!("SELECT {}1{}", "CASE WHEN true THEN ".repeat(120), " END".repeat(120)), "limits.max_depth"),
        (
            format!("SELECT * FROM {}stations{}", "(SELECT * FROM ".repeat(120), ") q".repeat(120)),
            "limits.max_depth",
        ),
        (format!("SELECT 1{}", ", 1".repeat(60_000)), "limits.max_expressions"),
        ("SELECT 1;".repeat(101), "limits.max_statements"),
    ] {
        let start: String = sql.chars().take(60).collect();
        let error = ada.simple_query(&sql).await.expect_err(&start);
        let error = error.as_db_error().unwrap_or_else(|| panic!("{start}: {error:?}"));
        let says = [error.message(), error.hint().unwrap_or_default()].iter().all(|t| t.contains(key));
        if (error.severity(), error.code().code(), says) != ("ERROR", "54000", true) {
            wrong.push(format!("{start}: {error}"));
        }
        assert_eq!(rows(&ada, "SELECT 1").await.unwrap().len(), 1);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let large = ada.simple_query(&in_list(1_000_000)).await.unwrap_err();
    let large = large.as_db_error().unwrap();
    assert_eq!((large.code().code(), large.message().contains("limits.max_expressions")), ("54000", true));
    let large = ada.simple_query(&in_list(95_000)).await.unwrap_err();
    let large = large.as_db_error().unwrap();
    assert_eq!(
        (large.code().code(), large.detail().unwrap().contains("limits.max_session_bytes")),
        ("53200", true)
    );
    // What just fits is answered.
    assert_eq!(rows(&ada, &in_list(10_000)).await.unwrap().len(), 1);
}

/// The parser's time doubles with each POSITION around another.
#[tokio::test(flavor = "multi_thread")]
async fn statements_that_would_keep_the_parser_busy_are_refused_at_once() {
    let world = World::new(&room_for(1)).await;
    let ada = world.ada().await;
    let started = Instant::now();
    let sql = format!("SELECT {}1{}", "POSITION(".repeat(40), ")".repeat(40));
    assert_eq!(sqlstate(&ada, &sql).await, "54000");
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_megabytes_end_the_connection_and_say_which_key() {
    let world = World::new(&room_for(1)).await;
    let mut client = world.raw();
    client.send(&query(&format!("SELECT '{}'", "x".repeat(10_000_000))));
    let reply = client.reply();
    assert!(reply.is_fatal("54000"), "{:?}", reply.error());
    assert!(reply.error_field('D').unwrap().contains("limits.max_statement_bytes"));
    world.assert_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_text_are_refused() {
    let world = World::new(&room_for(1)).await;
    let mut client = world.raw();
    for bytes in [&b"SELECT '\xff\xfe'\0"[..], b"SELECT '\xc3'\0", b"SELECT '\xed\xa0\x80'\0", b"\x80\0"] {
        client.send(&message('Q', bytes));
        let reply = client.reply();
        assert_eq!(reply.error(), Some(("ERROR".into(), "22021".into())), "{reply:?}");
        assert_eq!(reply.status(), Some('I'));
    }
    // A NUL ends the text; what follows belongs to no message.
    client.send(&message('Q', b"SELECT '\0'\0"));
    assert!(client.reply().is_fatal("08P01"));
    // Characters that are rare but text.
    let ada = world.ada().await;
    let odd = "a\u{1}\u{7f}\u{a0}\u{200b}\u{feff}\u{10ffff}'\\";
    let answer = rows(&ada, &format!("SELECT '{}'", odd.replace('\'', "''"))).await.unwrap();
    assert_eq!(answer, [[Some(odd.to_owned())]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_for_noisegate_is_refused_and_nothing_is_charged() {
    let world = World::new(&room_for(1)).await;
    let ada = world.ada().await;
    let mut wrong = Vec::new();
    for (sql, code) in [
        ("EXPLAIN ANALYZE SELECT fare FROM trips", "0A000"),
        ("EXPLAIN (ANALYZE) SELECT fare FROM trips", "0A000"),
        ("EXPLAIN (FORMAT xml) SELECT count(*) FROM trips", "0A000"),
        ("EXPLAIN DELETE FROM trips", "42501"),
        ("COPY trips TO STDOUT", "0A000"),
        ("COPY (SELECT * FROM trips) TO STDOUT", "0A000"),
        ("COPY trips FROM STDIN", "42501"),
        ("COPY trips TO PROGRAM 'cat'", "42501"),
        ("COPY stations TO '/tmp/stations'", "42501"),
        ("SET ROLE admin", "42501"),
        ("SET default_transaction_read_only = maybe", "22023"),
        ("SET noisegate.epsilon = 0", "22023"),
        ("SET noisegate.epsilon = 'x'", "22023"),
        ("SET noisegate.noise = off", "42704"),
        ("SET no_such_setting = 1", "42704"),
        ("SHOW data_directory", "42704"),
        ("SHOW work_mem", "42704"),
        ("LISTEN x", "0A000"),
        ("NOTIFY x", "0A000"),
        ("PREPARE p AS SELECT fare FROM trips", "0A000"),
        ("EXECUTE p", "26000"),
        ("TABLE trips", "0A000"),
        ("DECLARE c CURSOR FOR SELECT 1", "25P01"),
        ("DECLARE c CURSOR WITH HOLD FOR SELECT * FROM trips", "0A000"),
        ("DECLARE c CURSOR WITH HOLD FOR DELETE FROM trips", "42501"),
        ("FETCH c", "34000"),
        ("INSERT INTO trips VALUES (1)", "42501"),
        ("UPDATE trips SET fare = 0", "42501"),
        ("DELETE FROM trips", "42501"),
        ("TRUNCATE trips", "42501"),
        ("CREATE TABLE mine (x int)", "42501"),
        ("CREATE TEMP TABLE mine AS SELECT * FROM trips", "42501"),
        ("SELECT * INTO mine FROM trips", "42501"),
        ("DROP TABLE trips", "42501"),
        ("ALTER ROLE ada SUPERUSER", "42501"),
        ("GRANT ALL ON trips TO ada", "42501"),
        ("LOCK TABLE trips", "42501"),
        ("VACUUM trips", "42501"),
        ("SELECT count(*) FROM trips FOR UPDATE", "42501"),
        ("WITH gone AS (DELETE FROM trips RETURNING *) SELECT count(*) FROM gone", "42501"),
        ("SELECT", "42601"),
        ("SELECT count(* FROM trips", "42601"),
        ("SELEKT 1", "42601"),
        ("SELECT 'never closed", "42601"),
        ("SELECT /* never closed", "42601"),
        ("SELECT $1", "42P02"),
        ("SELECT count(*) FROM trip", "42P01"),
        ("SELECT count(*) FROM trips WHERE minute > 3", "42703"),
        ("SELECT count(email) FROM riders", "42703"),
        ("SELECT cuont(*) FROM trips", "0A000"),
        ("SELECT * FROM trips", "0A000"),
        ("SELECT rider_id, count(*) FROM trips GROUP BY rider_id", "0A000"),
        ("SELECT station FROM trips ORDER BY fare DESC LIMIT 1", "0A000"),
    ] {
        let found = sqlstate(&ada, sql).await;
        if found != code {
            wrong.push(format!("{sql}: {found}, not {code}"));
        }
        assert_eq!(rows(&ada, "SELECT 1").await.unwrap().len(), 1);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let shown = world.dir.noisegate(&["budget", "show"]).await.stdout;
    assert!(shown.contains("nothing spent"), "{shown}");
    let trips = rows(&world.db.superuser().await, "SELECT count(*) FROM trips").await.unwrap();
    assert_eq!(trips, [[Some("2000".to_owned())]]);
}
