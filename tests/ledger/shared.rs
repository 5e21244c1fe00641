//! Proxies that share a ledger in PostgreSQL, from the outside: no answer too many, and none without the ledger.

use crate::city::{self, PASSWORD, eventually, policy, room_for, rows, sqlstate};
use crate::relay::{Mode, Relay, Trap};
use crate::support::{Gate, TestDb, Workdir, connect, database, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_postgres::Client;

/// A policy whose ledger is in that database.
fn shared(data: &TestDb, ledger: &str, room: u32) -> Workdir {
    let text = policy(&data.backend_toml(), &["ada", "bob"], &room_for(room));
    let url = "url = \"sqlite:noisegate.db\"";
    assert!(text.contains(url));
    Workdir::new(&text.replace(url, &format!("url = \"{ledger}\"\ntimeout = \"2s\"")))
}

async fn client(gate: &Gate, user: &str) -> Client {
    connect(&gate.url(user, PASSWORD, "bikes")).await
}

/// Each is another statement: asking one again might be free.
fn question(n: usize) -> String {
    format!("SELECT count(*) FROM trips WHERE minutes < {n}")
}

#[tokio::test(flavor = "multi_thread")]
async fn two_proxies_never_give_one_answer_too_many() {
    const ROOM: usize = 45;
    let (data, books) = (city::bikes().await, database("").await);
    let dirs = [0, 1].map(|_| shared(&data, &books.superuser_url, ROOM as u32));
    // Each looks for a ledger before there is one.
    let none = dirs[0].noisegate(&["serve"]).await;
    assert_eq!(none.status.code(), Some(1));
    assert!(none.stderr.contains("noisegate budget create"), "{}", none.stderr);
    let gates = [dirs[0].serve().await, dirs[1].serve_again().await];
    let again = dirs[1].noisegate(&["budget", "create"]).await;
    assert!(!again.status.success() && again.stderr.contains("has a ledger already"), "{}", again.stderr);
    assert!(!again.stderr.contains("postgres://"), "{}", again.stderr);
    let mut sessions = Vec::new();
    for n in 0..16 {
        let client = client(&gates[n % 2], ["ada", "bob"][n / 8]).await;
        sessions.push(tokio::spawn(async move {
            let mut answers = 0;
            loop {
                match rows(&client, &question(1 + n * ROOM + answers)).await {
                    Ok(answer) => assert_eq!(answer.len(), 1),
                    Err(e) => {
                        let code = e.code().unwrap_or_else(|| panic!("{e:?}")).code();
                        assert_eq!(code, "53400", "{e:?}");
                        return answers;
                    }
                }
                answers += 1;
            }
        }));
    }
    let mut answers = 0;
    for session in sessions {
        answers += session.await.unwrap();
    }
    assert_eq!(answers, ROOM, "answers were given");
    // Each sees what both have spent, and so does the owner, beside them.
    for (dir, gate) in dirs.iter().zip(&gates) {
        assert_eq!(sqlstate(&client(gate, "ada").await, &question(9_999)).await, "53400");
        let shown = dir.noisegate(&["budget", "show"]).await;
        assert!(shown.stdout.contains("ε = 4.5 of 4.5"), "{}{}", shown.stdout, shown.stderr);
        let verified = dir.noisegate(&["budget", "verify"]).await;
        assert!(verified.status.success(), "{}{}", verified.stdout, verified.stderr);
    }
    // Who asks for a reload finds the proxy of this policy.
    let reloaded = dirs[1].noisegate(&["ctl", "reload"]).await;
    assert!(reloaded.status.success(), "{}{}", reloaded.stdout, reloaded.stderr);
    // A start on it is one on what was spent.
    let [one, _other] = gates;
    one.kill().await;
    let gate = dirs[0].serve_again().await;
    assert_eq!(sqlstate(&client(&gate, "bob").await, &question(9_998)).await, "53400");
}

/// Salt and iterations that a name is shown before its password.
async fn shown(gate: &Gate, user: &str) -> String {
    let mut socket = TcpStream::connect(&gate.address).await.unwrap();
    let body = [b"\0\x03\0\0user\0", user.as_bytes(), b"\0database\0bikes\0\0"].concat();
    let length = |n: usize| u32::try_from(n).unwrap().to_be_bytes();
    socket.write_all(&[&length(body.len() + 4)[..], &body].concat()).await.unwrap();
    let mut asked = async || {
        let mut head = [0; 5];
        socket.read_exact(&mut head).await.unwrap();
        assert_eq!(head[0], b'R');
        let mut body = vec![0; u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4];
        socket.read_exact(&mut body).await.unwrap();
        let first = b"n,,n=,r=abcdefghijkl";
        let message = [b"SCRAM-SHA-256\0", &length(first.len())[..], first].concat();
        socket.write_all(&[b"p", &length(message.len() + 4)[..], &message].concat()).await.unwrap();
        String::from_utf8_lossy(&body).into_owned()
    };
    asked().await;
    let challenge = asked().await;
    challenge.split_once(",s=").unwrap_or_else(|| panic!("{challenge}")).1.to_owned()
}

/// Names are not told by asking twice: at another proxy, after a restart, or after a reload.
#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_exist_is_shown_the_same_salt_wherever_and_whenever_they_ask() {
    let (data, books) = (city::bikes().await, database("").await);
    let dirs = [0, 1].map(|_| shared(&data, &books.superuser_url, 10));
    let gates = [dirs[0].serve().await, dirs[1].serve_again().await];
    for user in ["ada", "eve", "mallory"] {
        let before = shown(&gates[0], user).await;
        assert_eq!(shown(&gates[0], user).await, before, "{user}");
        // That of the other proxy; users have salts of their own there, since each file has its own verifiers.
        if user != "ada" {
            assert_eq!(shown(&gates[1], user).await, before, "{user}");
        }
    }
    let before = shown(&gates[0], "eve").await;
    let text = std::fs::read_to_string(dirs[0].policy()).unwrap();
    std::fs::write(dirs[0].policy(), text.replace("\"bob\"", "\"carl\"")).unwrap();
    assert!(dirs[0].noisegate(&["ctl", "reload"]).await.stdout.contains("[[user]]"));
    assert_eq!(shown(&gates[0], "eve").await, before);
    let [one, other] = gates;
    one.kill().await;
    drop(other);
    assert_eq!(shown(&dirs[0].serve_again().await, "eve").await, before);
}

/// What cannot be written there is told to whoever watches, whatever can be read.
#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_that_takes_no_entry_is_not_ready() {
    let (data, books) = (city::bikes().await, database("").await);
    let dir = shared(&data, &books.superuser_url, 10);
    let text = std::fs::read_to_string(dir.policy()).unwrap();
    std::fs::write(dir.policy(), text + "\n[metrics]\nlisten = \"127.0.0.1:0\"\n").unwrap();
    let gate = dir.serve().await;
    assert_eq!(ready(&gate).await.0, 200);
    // As a disk without room does.
    books
        .execute(
            "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS
             $$BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END$$;
             CREATE TRIGGER no_room BEFORE INSERT ON noisegate_ledger.entries EXECUTE FUNCTION no_room();
             CREATE TRIGGER no_room BEFORE INSERT ON noisegate_ledger.reads EXECUTE FUNCTION no_room();",
        )
        .await;
    eventually("it is not ready", async || ready(&gate).await.0 == 503).await;
    assert_eq!(ready(&gate).await.1, "policy: the ledger cannot be written\n");
    assert_eq!(sqlstate(&client(&gate, "ada").await, &question(1)).await, "57P03");
    books.execute("DROP FUNCTION no_room CASCADE").await;
    eventually("it is ready", async || ready(&gate).await.0 == 200).await;
    let left = "SELECT count(*) FROM noisegate_ledger.reads";
    assert_eq!(books.superuser().await.query_one(left, &[]).await.unwrap().get::<_, i64>(0), 0);
}

/// What the books say of an opening holds at every proxy, while it runs: an instance outlived all of this.
#[tokio::test(flavor = "multi_thread")]
async fn rule_40_open_streams_end_with_what_paid_for_them() {
    let (data, books) = (city::bikes().await, database("").await);
    let streams = room_for(100)
        + "[[stream]]\nname = \"bell\"\nvariant = \"above_threshold\"\nepsilon = 1\n
           [[stream]]\nname = \"horn\"\nvariant = \"above_threshold\"\nepsilon = 1\n";
    let dirs = [0, 1].map(|_| {
        let text = policy(&data.backend_toml(), &["ada", "bob"], &streams);
        let url = "url = \"sqlite:noisegate.db\"";
        Workdir::new(&text.replace(url, &format!("url = \"{}\"", books.superuser_url)))
    });
    let gates = [dirs[0].serve().await, dirs[1].serve_again().await];
    let [here, there] = [client(&gates[0], "ada").await, client(&gates[1], "ada").await];
    let far = "SELECT 1 FROM trips HAVING count(*) > 1000000000";
    let both = [&here, &there];
    for client in both {
        client.simple_query("SET noisegate.stream = 'bell'").await.unwrap();
    }
    let spent = async || {
        let shown = dirs[0].noisegate(&["budget", "show"]).await.stdout;
        let (_, spent) = shown.split_once("ε = ").unwrap_or_else(|| panic!("{shown}"));
        spent.split_once(' ').unwrap().0.to_owned()
    };
    // Two proxies open it in the same instant: one of them pays, and only there it is open.
    let asked = tokio::join!(rows(&here, far), rows(&there, far));
    let (open, other) = match asked {
        (Ok(_), Err(e)) => (&here, e),
        (Err(e), Ok(_)) => (&there, e),
        both => panic!("{both:?}"),
    };
    assert_eq!(other.code().map(|c| c.code()), Some("55000"), "{other:?}");
    assert_eq!(spent().await, "1");
    assert!(rows(open, far).await.unwrap().is_empty());
    // Opened anew where it was not: the first opening pays for nothing any more.
    let other = if std::ptr::eq(open, &here) { &there } else { &here };
    assert_eq!(sqlstate(other, far).await, "55000");
    other.simple_query("SET noisegate.stream_reopen = 'bell'").await.unwrap();
    assert!(rows(other, far).await.unwrap().is_empty());
    assert_eq!(sqlstate(open, far).await, "55000");
    assert_eq!(spent().await, "2");
    // The owner closes it under the feet of who asks, and then the budget that paid for another one.
    let done = dirs[0].noisegate(&["budget", "close", "--stream", "bell", "--reason", "enough"]).await;
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
    assert_eq!(sqlstate(other, far).await, "53400");
    assert_eq!(sqlstate(open, far).await, "55000");
    here.simple_query("SET noisegate.stream = 'horn'").await.unwrap();
    assert!(rows(&here, far).await.unwrap().is_empty());
    let done = dirs[0].noisegate(&["budget", "close", "--budget", "everyone", "--reason", "enough"]).await;
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
    assert_eq!(sqlstate(&here, far).await, "53400");
    let state = rows(&here, "SELECT state FROM noisegate.streams ORDER BY name").await.unwrap();
    assert_eq!(state[1][0].as_deref(), Some("closed by the owner"));
    assert_eq!(spent().await, "3");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_loses_the_ledger_refuses_until_it_is_back() {
    let (data, books) = (city::bikes().await, database("").await);
    let (relay, through) = Relay::before(&books.superuser_url);
    let dir = shared(&data, &through, 100);
    let gate = dir.serve().await;
    let ada = client(&gate, "ada").await;
    let mut asked = 0;
    let mut ask = || {
        asked += 1;
        question(asked)
    };
    assert_eq!(rows(&ada, &ask()).await.unwrap().len(), 1);
    let (owner, mut unknown) = (books.superuser().await, 0);
    for trap in [
        None,
        Some(Trap::FreezeBefore(b"BEGIN ISOLATION")),
        Some(Trap::FreezeBefore(b"COMMIT\0")),
        Some(Trap::FreezeAnswer(b"COMMIT\0")),
        Some(Trap::CutAnswer(b"COMMIT\0")),
    ] {
        // The last answer's place is given back in a commit of its own, which is not the one that is meant.
        eventually("the end of the reads", async || {
            rows(&owner, "SELECT FROM noisegate_ledger.reads").await.is_ok_and(|r| r.is_empty())
                && relay.settled()
        })
        .await;
        match trap {
            Some(trap) => relay.trap(trap),
            None => {
                relay.set(Mode::Refuse);
                relay.cut();
            }
        }
        unknown += u32::from(matches!(trap, Some(Trap::FreezeAnswer(_) | Trap::CutAnswer(_))));
        let start = Instant::now();
        assert_eq!(sqlstate(&ada, &ask()).await, "57P03", "{trap:?}");
        assert!(start.elapsed() < Duration::from_secs(8), "{trap:?}: {:?}", start.elapsed());
        assert!(trap.is_none() || relay.sprung(), "{trap:?}");
        // What costs nothing goes on.
        assert_eq!(rows(&ada, "SELECT count(*) FROM stations").await.unwrap().len(), 1, "{trap:?}");
        relay.set(Mode::Pass);
        let start = Instant::now();
        // The session that hung may have the lock for a while.
        while let Err(e) = rows(&ada, &ask()).await {
            assert_eq!(e.code().unwrap().code(), "57P03", "{trap:?}: {e:?}");
            assert!(start.elapsed() < Duration::from_secs(20), "{trap:?}");
        }
    }
    // No read began of what was refused: none of them counts as a failure.
    eventually("the end of the reads", async || {
        rows(&owner, "SELECT FROM noisegate_ledger.reads").await.is_ok_and(|r| r.is_empty())
    })
    .await;
    // Six answers; and what was committed without anybody knowing is spent, too, but was not answered.
    let spent = f64::from(6 + unknown) / 10.0;
    let shown = dir.noisegate(&["budget", "show"]).await.stdout;
    assert!(shown.contains(&format!("ε = {spent} of 10")), "{spent}: {shown}");
}
