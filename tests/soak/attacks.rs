//! What the clients of the crowd do: some mean well, and each of the others has one way to take the service from everybody.
//! However it ends, it must end; what it is told is its own affair.

use crate::city::rows;
use crate::clients::Guest;
use crate::hostile::statements;
use std::fmt::Write;
use std::future::poll_fn;
use std::pin::pin;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_postgres::{Client, NoTls};

/// Everybody, how many there are of each, and who they are: two hundred, of whom those who mean ill are one user.
pub const ALL: [(&str, usize, &str); 20] = [
    ("good", 30, "bob"),
    ("good", 24, "carol"),
    ("paying", 16, "bob"),
    ("slow reader", 16, "eve"),
    ("disconnecting", 20, "eve"),
    ("garbage", 14, "eve"),
    ("cancelling", 16, "eve"),
    ("huge statement", 8, "eve"),
    ("hostile texts", 6, "eve"),
    ("portals", 4, "eve"),
    ("prepared statements", 2, "eve"),
    ("savepoints", 4, "eve"),
    ("heavy joins", 12, "eve"),
    ("growing texts", 6, "eve"),
    ("disk", 6, "eve"),
    ("cursors", 6, "eve"),
    ("forged names", 2, "eve"),
    ("silent", 8, "eve"),
    ("half a login", 2, "eve"),
    ("reload", 2, "eve"),
];

/// Minutes of work, for nothing.
const HEAVY: &str = "SELECT count(*) FROM generate_series(1, 20000) AS a(n), generate_series(1, 20000) AS b(n), \
    generate_series(1, 20000) AS c(n) WHERE a.n + b.n = c.n";
/// Rows without end, almost.
const MANY: &str = "SELECT a.n, b.n, 'a row that is long enough to fill all that lies between' \
    FROM generate_series(1, 5000) AS a(n), generate_series(1, 5000) AS b(n)";

/// Whoever repeats what must wait for its turn has had enough after so long.
const ENOUGH: Duration = Duration::from_secs(20);

/// One round of a client.
pub async fn run(what: &str, guest: &Guest) {
    match what {
        "good" => good(guest).await,
        "paying" => paying(guest).await,
        "slow reader" => slow_reader(guest).await,
        "disconnecting" => disconnecting(guest).await,
        "garbage" => garbage(guest).await,
        "cancelling" => cancelling(guest).await,
        "huge statement" => huge_statement(guest).await,
        "hostile texts" => hostile_texts(guest).await,
        "portals" => portals(guest).await,
        "prepared statements" => prepared_statements(guest).await,
        "savepoints" => savepoints(guest).await,
        "heavy joins" => one(guest, HEAVY).await,
        "growing texts" => growing_texts(guest).await,
        "disk" => one(guest, "SELECT count(*) FROM (SELECT DISTINCT a.n, b.n FROM generate_series(1, 9000) AS a(n), generate_series(1, 9000) AS b(n)) t").await,
        "cursors" => cursors(guest).await,
        "forged names" => forged_names(guest).await,
        "silent" => silent(guest).await,
        "half a login" => half_a_login(guest).await,
        "reload" => reload(guest).await,
        other => panic!("{other}"),
    }
}

/// A connection, or none: the crowd may be too many.
async fn enter(guest: &Guest) -> Option<Client> {
    match tokio_postgres::connect(&guest.url(), NoTls).await {
        Ok((client, connection)) => {
            tokio::spawn(connection);
            Some(client)
        }
        Err(_) => {
            sleep(Duration::from_millis(200)).await;
            None
        }
    }
}

/// Asks one thing, whatever becomes of it.
async fn one(guest: &Guest, sql: &str) {
    if let Some(client) = enter(guest).await {
        let _ = client.simple_query(sql).await;
    }
}

/// What an analyst does, at an analyst's pace.
async fn good(guest: &Guest) {
    let Some(client) = enter(guest).await else { return };
    for sql in [
        "SELECT count(*) FROM stations",
        "SELECT station FROM stations ORDER BY 1",
        "SELECT relname FROM pg_class LIMIT 3",
    ] {
        let _ = rows(&client, sql).await;
        sleep(Duration::from_millis(200 + guest.draw(800))).await;
    }
    let _ = client.query("SELECT capacity FROM stations WHERE station = $1", &[&"Station 3"]).await;
}

/// Questions that are paid for; sometimes the answer is not waited for.
async fn paying(guest: &Guest) {
    let Some(client) = enter(guest).await else { return };
    for n in 0..4 {
        guest.books.asked(guest.user);
        let question = format!("SELECT count(*) FROM trips WHERE fare > {n}");
        match guest.draw(4) {
            0 => drop(timeout(Duration::from_millis(guest.draw(30)), rows(&client, &question)).await),
            _ => {
                if rows(&client, &question).await.is_ok() {
                    guest.books.answered(guest.user);
                }
            }
        }
        sleep(Duration::from_millis(300)).await;
    }
}

/// Asks for many rows and takes none of them.
async fn slow_reader(guest: &Guest) {
    let Some(client) = enter(guest).await else { return };
    let none: [&str; 0] = [];
    if let Ok(stream) = client.query_raw(MANY, none).await {
        let mut stream = pin!(stream);
        // The first, and then nothing.
        poll_fn(|cx| futures::Stream::poll_next(stream.as_mut(), cx)).await;
        sleep(Duration::from_secs(3 + guest.draw(9))).await;
    }
}

/// Goes away in the middle.
async fn disconnecting(guest: &Guest) {
    let Ok(mut stream) = TcpStream::connect(&guest.address).await else { return };
    match guest.draw(3) {
        0 => drop(stream.write_all(&startup(guest.user)[..9]).await),
        1 => drop(stream.write_all(&startup(guest.user)).await),
        _ => {
            drop(stream);
            if let Some(client) = enter(guest).await {
                let _ = timeout(Duration::from_millis(guest.draw(50)), client.simple_query(HEAVY)).await;
                return;
            }
        }
    }
    sleep(Duration::from_millis(guest.draw(300))).await;
}

/// Bytes that mean nothing, before the login or after it.
async fn garbage(guest: &Guest) {
    let bytes: Vec<u8> = (0..400u64).map(|n| (n * n * 31 + guest.draw(251) * (n + 7)) as u8).collect();
    let Ok(stream) = TcpStream::connect(&guest.address).await else { return };
    let mut stream = match guest.draw(2) {
        0 => stream,
        _ => {
            let Ok(again) = stream.into_std().map(|s| (s.try_clone().unwrap(), s)) else { return };
            let config: tokio_postgres::Config = guest.url().parse().unwrap();
            let login = config.connect_raw(TcpStream::from_std(again.0).unwrap(), NoTls).await;
            let Ok((_client, _connection)) = login else { return };
            TcpStream::from_std(again.1).unwrap()
        }
    };
    let _ = stream.write_all(&bytes).await;
    let mut answer = [0; 1_000];
    let _ = timeout(Duration::from_secs(5), stream.read(&mut answer)).await;
}

/// Cancels what it has begun, early or late.
async fn cancelling(guest: &Guest) {
    let Some(client) = enter(guest).await else { return };
    let cancel = client.cancel_token();
    for n in 0..3 {
        let sql = if guest.draw(2) == 0 {
            HEAVY.to_owned()
        } else {
            format!("SELECT sum(fare) FROM trips WHERE fare < {n}")
        };
        if !sql.starts_with(HEAVY) {
            guest.books.asked(guest.user);
        }
        let (answer, _) = tokio::join!(client.simple_query(&sql), async {
            sleep(Duration::from_millis(guest.draw(60))).await;
            cancel.cancel_query(NoTls).await
        });
        if answer.is_ok() && !sql.starts_with(HEAVY) {
            guest.books.answered(guest.user);
        }
    }
}

/// A statement as long as one may be, and longer.
async fn huge_statement(guest: &Guest) {
    let Some(client) = enter(guest).await else { return };
    let list = |length: usize| {
        let mut sql = String::from("SELECT 1");
        while sql.len() < length {
            let _ = write!(sql, ", {}", sql.len());
        }
        sql
    };
    for length in [90_000, 1_000_000, 1_100_000] {
        let sql = list(length);
        // Held while something else of the same message runs.
        let _ = timeout(Duration::from_secs(10), client.simple_query(&format!("SELECT 1; {sql}"))).await;
        if client.is_closed() {
            return;
        }
    }
}

/// Statements that once ended the process, explained and asked.
async fn hostile_texts(guest: &Guest) {
    let Some(client) = enter(guest).await else { return };
    let all = statements();
    let sql = &all[guest.draw(all.len() as u64) as usize];
    let _ = client.simple_query(&format!("EXPLAIN {sql}")).await;
    let _ = client.simple_query(sql).await;
}

/// Long statements over private rows, bound again and again and never executed.
async fn portals(guest: &Guest) {
    let Some(mut client) = enter(guest).await else { return };
    let Ok(statement) = client.prepare(&long_statement()).await else { return };
    let Ok(transaction) = client.transaction().await else { return };
    let (mut kept, begun) = (Vec::new(), Instant::now());
    while kept.len() < 150 && begun.elapsed() < ENOUGH {
        match transaction.bind(&statement, &[]).await {
            Ok(portal) => kept.push(portal),
            Err(_) => break,
        }
    }
}

/// 60 kB over private rows.
fn long_statement() -> String {
    let list: Vec<String> = (0..9_000).map(|n| n.to_string()).collect();
    format!("SELECT count(*) FROM trips WHERE minutes IN ({})", list.join(", "))
}

/// The same statement, prepared again and again.
async fn prepared_statements(guest: &Guest) {
    let Some(client) = enter(guest).await else { return };
    let (mut kept, begun) = (Vec::new(), Instant::now());
    while kept.len() < 150 && begun.elapsed() < ENOUGH {
        match client.prepare(&long_statement()).await {
            Ok(statement) => kept.push(statement),
            Err(_) => break,
        }
    }
}

/// A long setting, copied by each savepoint.
async fn savepoints(guest: &Guest) {
    let Some(client) = enter(guest).await else { return };
    let set = format!("BEGIN; SET my.setting = '{}'", "x".repeat(60_000));
    let _ = client.batch_execute(&set).await;
    for n in 0..300 {
        let step = format!("SAVEPOINT s{n}; SET LOCAL my.other{n} = '{}'", "y".repeat(1_000));
        if client.batch_execute(&step).await.is_err() {
            let _ = client.batch_execute("ROLLBACK; BEGIN").await;
        }
    }
}

/// Texts that grow in the database.
async fn growing_texts(guest: &Guest) {
    let many = "a".repeat(70);
    let nested = (0..4).fold(format!("'{many}'"), |t, _| format!("replace({t}, 'a', '{many}')"));
    let doubled = (0..24)
        .fold("SELECT 'abcdefgh'::text AS s".to_owned(), |q, _| format!("SELECT s || s AS s FROM ({q}) t"));
    let grown =
        format!("SELECT string_agg(replace('{many}', 'a', '{many}'), '') FROM generate_series(1, 60000)");
    for sql in [
        format!("SELECT {nested}"),
        format!("SELECT length(s) FROM ({doubled}) t"),
        format!("SELECT count(*), length({nested}) FROM trips"),
        "WITH RECURSIVE t(s) AS (SELECT 'a' UNION ALL SELECT s || s FROM t) SELECT max(length(s)) FROM t"
            .into(),
        grown,
    ] {
        one(guest, &sql).await;
    }
}

/// Cursors that keep more than memory has.
async fn cursors(guest: &Guest) {
    let Some(client) = enter(guest).await else { return };
    let _ = client.batch_execute("BEGIN").await;
    for n in 0..3 {
        let declared = format!("DECLARE c{n} CURSOR FOR {}", MANY.replace("5000", "1000"));
        if client.batch_execute(&declared).await.is_err() {
            return;
        }
        let _ = client.simple_query(&format!("FETCH 10 FROM c{n}")).await;
    }
    sleep(Duration::from_secs(1)).await;
}

/// Names that would be lines of a log.
async fn forged_names(guest: &Guest) {
    let name = format!("x\n2026-01-01T00:00:00Z ERROR all is lost\u{1b}[31m {}", guest.round);
    let Ok(mut stream) = TcpStream::connect(&guest.address).await else { return };
    let _ = stream.write_all(&startup(&name)).await;
    let mut answer = [0; 1_000];
    let _ = timeout(Duration::from_secs(5), stream.read(&mut answer)).await;
    sleep(Duration::from_millis(500)).await;
}

/// Connections that say nothing, from an address of their own.
async fn silent(guest: &Guest) {
    let mut idle = Vec::new();
    for _ in 0..40 {
        idle.extend(elsewhere(guest).await);
    }
    sleep(Duration::from_secs(2)).await;
}

/// Logins that stop half-way.
async fn half_a_login(guest: &Guest) {
    let mut idle = Vec::new();
    for _ in 0..60 {
        if let Some(mut stream) = elsewhere(guest).await {
            let _ = stream.write_all(&startup(guest.user)).await;
            idle.push(stream);
        }
    }
    sleep(Duration::from_secs(12)).await;
}

/// A connection from another address of this machine.
async fn elsewhere(guest: &Guest) -> Option<TcpStream> {
    let socket = tokio::net::TcpSocket::new_v4().ok()?;
    socket.bind(([127, 0, 0, 2], 0).into()).ok()?;
    socket.connect(guest.address.parse().ok()?).await.ok()
}

/// The policy is written anew, in two halves, while it is read.
async fn reload(guest: &Guest) {
    let text = std::fs::read_to_string(&guest.policy).unwrap();
    if text.ends_with('\n') && text.contains("[cache]") {
        let copy = guest.policy.with_extension(format!("new{}", guest.number));
        std::fs::write(&copy, &text).unwrap();
        std::fs::rename(&copy, &guest.policy).unwrap();
    }
    let hup = std::process::Command::new("kill").args(["-HUP", &guest.proxy.to_string()]).status();
    assert!(hup.unwrap().success());
    sleep(Duration::from_secs(3)).await;
}

/// A startup packet.
fn startup(user: &str) -> Vec<u8> {
    let mut body = 196_608i32.to_be_bytes().to_vec();
    for text in ["user", user, "database", "bikes", ""] {
        body.extend(text.as_bytes());
        body.push(0);
    }
    let length = (body.len() as i32 + 4).to_be_bytes();
    [&length[..], &body].concat()
}
