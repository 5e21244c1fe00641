//! Statements that ended the process, or took all the memory, each by itself and in every way to send it: whatever a client writes
//! ends in an answer or in a refusal of its own, and the next statement is answered by the same process.

use crate::city::{self, DATA, PASSWORD, policy, room_for};
use crate::measure::Memory;
use crate::support::{Workdir, connect, database_in, own_cluster};
use futures::TryStreamExt;
use tokio_postgres::Client;

/// Megabytes that the proxy may take more at one of them, and that PostgreSQL may.
const PROXY: u64 = 200;
const DATABASE: u64 = 300;

fn chain(operand: &str, more: &str, times: usize) -> String {
    operand.to_owned() + &more.repeat(times)
}

fn nest(pattern: &str, times: usize) -> String {
    (0..times).fold("SELECT capacity AS x FROM stations".to_owned(), |q, _| {
        pattern.replace("(q)", &format!("({q})"))
    })
}

pub fn statements() -> Vec<String> {
    let over_trips = |e: &str| format!("SELECT sum({e}) FROM trips");
    vec![
        over_trips(&chain("minutes", "+1", 1_583)),
        over_trips(&chain("minutes", "+1", 900)),
        over_trips(&chain("minutes", "/1", 1_200)),
        over_trips(&chain("minutes", "/1", 480)),
        over_trips(&("- ".repeat(1_900) + "minutes")),
        format!("SELECT {}", chain("1", " NOTNULL", 9_609)),
        format!("SELECT {}", chain("1", " ISNULL", 990)),
        format!("SELECT {}", chain("'a'", " SIMILAR TO 'a'", 8_421)),
        format!("SELECT count(*) FROM trips WHERE {}", chain("minutes", " IS NULL", 1_900)),
        format!("SELECT count(*) FROM trips WHERE {}", chain("minutes", " IS NULL", 900)),
        format!("SELECT count(*) FROM trips WHERE {}", chain("minutes = 1", " OR minutes = 1", 900)),
        format!("SELECT {}", chain("capacity", " OPERATOR(pg_catalog.+) 1", 900)) + " FROM stations",
        format!("SELECT coalesce({}) AS x", vec!["1"; 1_589].join(", ")),
        (0..40).fold("SELECT 1::oid".to_owned(), |q, _| {
            format!("SELECT pg_table_is_visible({})::int::oid", q.trim_start_matches("SELECT "))
        }),
        format!(
            "SELECT count(*) FROM {}",
            (0..2_000).map(|n| format!("pg_attribute a{n}")).collect::<Vec<_>>().join(", ")
        ),
        format!("SELECT relname || {} FROM pg_class", vec!["'a'"; 900].join(" || ")),
        nest("SELECT x * 0 + x * 0 AS x FROM (q) t", 24),
        nest("SELECT x BETWEEN x AND x AS x FROM (q) t", 24),
        nest("SELECT *, * FROM (q) t", 26),
        nest("SELECT x FROM (q) t WHERE x = x", 45),
        nest("WITH w AS (q) SELECT a.x FROM w a JOIN w b ON a.x = b.x", 20),
        format!("SELECT count(*) FROM trips WHERE minutes IN ({})", vec!["1"; 100_000].join(", ")),
        format!("SELECT {}", "(".repeat(500_000)),
        format!("SELECT '{}'", "'',".repeat(200_000)),
    ]
}

/// Whether it was answered; what was wrong with its refusal otherwise.
async fn tried(client: &Client, way: &str, sql: &str) -> Result<bool, String> {
    let done = match way {
        "prepared" => match client.prepare(sql).await {
            Ok(statement) => client.query(&statement, &[]).await.map(drop),
            Err(e) => Err(e),
        },
        "copied" => match client.copy_out(&format!("COPY ({sql}) TO STDOUT")).await {
            Ok(rows) => rows.try_for_each(|_| async { Ok(()) }).await,
            Err(e) => Err(e),
        },
        "declared" => {
            let script = format!("BEGIN; DECLARE k CURSOR FOR {sql}; FETCH ALL FROM k; COMMIT");
            let done = client.simple_query(&script).await.map(drop);
            client.simple_query("ROLLBACK").await.map_err(|e| format!("ROLLBACK: {e}"))?;
            done
        }
        "named" => {
            let done = client.simple_query(&format!("PREPARE p AS {sql}; EXECUTE p")).await.map(drop);
            client.simple_query("DEALLOCATE ALL").await.map_err(|e| format!("DEALLOCATE: {e}"))?;
            done
        }
        "explained" => client.simple_query(&format!("EXPLAIN {sql}")).await.map(drop),
        _ => client.simple_query(sql).await.map(drop),
    };
    match done {
        Ok(()) => Ok(true),
        Err(e) => match e.as_db_error() {
            Some(db) if db.code().code() != "XX000" => Ok(false),
            _ => Err(format!("{e:?}")),
        },
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_to_end_the_process_is_refused_or_answered() {
    let settings = [("max_connections", "100")];
    let cluster = tokio::task::spawn_blocking(move || own_cluster(&settings)).await.unwrap();
    let db = city::published(database_in(&cluster, DATA).await).await;
    let dir = Workdir::new(&policy(&db.backend_toml(), &["eve", "ada"], &room_for(900)));
    let gate = dir.serve().await;
    let (eve, ada) = (
        connect(&gate.url("eve", PASSWORD, "bikes")).await,
        connect(&gate.url("ada", PASSWORD, "bikes")).await,
    );
    ada.simple_query("SELECT count(*) FROM stations").await.unwrap();
    let memory = Memory::of(gate.pid(), cluster.server_pid().unwrap());
    let (mut wrong, mut answered, mut refused) = (Vec::new(), 0, 0);
    for sql in statements() {
        let shown: String = sql.chars().take(80).collect();
        let before = memory.now();
        let watched = memory.watch();
        for way in ["plain", "explained", "prepared", "declared", "copied", "named"] {
            match tried(&eve, way, &sql).await {
                Ok(true) => answered += 1,
                Ok(false) => refused += 1,
                Err(e) => wrong.push(format!("{way}: {shown}: {}", e.chars().take(300).collect::<String>())),
            }
            let alive = ada.simple_query("SELECT 1").await;
            assert!(alive.is_ok(), "nobody is answered after {way}: {shown}: {alive:?}");
        }
        let most = watched.end().await;
        if most.proxy > before.proxy + PROXY || most.database > before.database + DATABASE {
            wrong.push(format!("{shown}: from {before:?} to {most:?} megabytes"));
        }
    }
    println!("{answered} answered, {refused} refused");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(answered > 20 && refused > 40, "{answered} answered, {refused} refused");
}
