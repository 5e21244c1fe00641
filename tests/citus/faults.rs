//! Servers that fall, and shards that move.

use crate::city::{PASSWORD, policy, rows, sqlstate};
use crate::proxy::{Action, Proxy, Trigger};
use crate::support::{Workdir, connect, soon, start_server, stop_server};
use crate::usual::rules;
use crate::{bike_share, own};

/// A price at which noise is less than a row.
const EXACT: &str = rules!([epsilon = 100, max_rows = 4] ["approx", epsilon = 1000, delta = 1e-3]);

/// Noise of less than a dozen rows, for many answers.
const NEARLY: &str =
    rules!([epsilon = 10, max_rows = 4, max_groups = 1] ["approx", epsilon = 1000, delta = 1e-3]);

const COUNT: &str = "SELECT count(*) FROM trips";

/// A server that is away costs nothing; one that falls while it is read costs what was charged, and its part of a sum is
/// never left out.
#[tokio::test]
async fn a_server_that_falls_leaves_no_part_out() {
    let citus = own(2).await;
    let db = bike_share(&citus).await;
    let port = citus.coordinator.port();
    let fetch = Proxy::to(port).await;
    let backend = format!(
        "[backend]\nengine = \"citus\"\nurl = \"{}\"\nfinish_url = \"{}\"\n",
        fetch.by_way(&db.fetch_url),
        db.finish_url
    );
    let dir = Workdir::new(&policy(&backend, &["ada"], EXACT));
    let gate = dir.serve().await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let spent = async || {
        let shown = dir.noisegate(&["budget", "show"]).await.stdout;
        shown
            .split_once("everybody: ε = ")
            .map_or(0.0, |(_, s)| s.split_once(' ').unwrap().0.parse::<f64>().unwrap())
    };
    let whole = rows(&ada, COUNT).await.unwrap();
    assert_eq!(whole, [[Some("2000".to_owned())]]);
    let before = spent().await;
    stop_server(&citus.workers[1]).await;
    assert_eq!(sqlstate(&ada, COUNT).await, "08006");
    assert_eq!(spent().await, before);
    let mut server = start_server(&citus.workers[1]).await;
    soon("an answer", async || rows(&ada, COUNT).await.is_ok_and(|n| n == whole)).await;
    // Between the debit and the rows.
    let before = spent().await;
    let pid = server.id().to_string();
    let kill = move || {
        assert!(std::process::Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
        // Sessions of a server whose first process is gone end by themselves at once, or when they are asked.
        std::thread::sleep(std::time::Duration::from_millis(300));
    };
    fetch.trap(Trigger::Sent(b"ROLLBACK"), Action::Run(Box::new(kill)));
    let fallen = rows(&ada, COUNT).await;
    assert!(fetch.sprung());
    server.wait().unwrap();
    match fallen {
        // Its sessions were there for long enough.
        Ok(answer) => assert_eq!(answer, whole),
        Err(e) => assert!(["XX000", "08006"].contains(&e.code().unwrap().code()), "{e:?}"),
    }
    assert_eq!(spent().await, before + 100.0);
}

/// Shards may move while it serves: each answer is whole.
#[tokio::test]
async fn shards_move_while_it_serves() {
    let citus = own(2).await;
    let db = bike_share(&citus).await;
    let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], NEARLY));
    let gate = dir.serve().await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let by = "SELECT plan, count(*) FROM riders JOIN trips USING (rider_id) GROUP BY plan ORDER BY plan";
    let counts = async || {
        let answer = rows(&ada, by).await?;
        Ok::<Vec<i64>, tokio_postgres::Error>(
            answer.iter().map(|r| r[1].as_ref().unwrap().parse().unwrap()).collect(),
        )
    };
    let truth = rows(&db.superuser().await, by).await.unwrap();
    let truth: Vec<i64> = truth.iter().map(|r| r[1].as_ref().unwrap().parse().unwrap()).collect();
    // A shard has more than a hundred rows.
    let near = |all: &[i64]| all.len() == 3 && all.iter().zip(&truth).all(|(a, b)| (a - b).abs() < 12);
    assert!(near(&counts().await.unwrap()));
    let admin = db.superuser().await;
    let shards =
        "SELECT shardid, nodeport FROM citus_shards WHERE table_name = 'riders'::regclass ORDER BY 1 LIMIT 3";
    let shards = rows(&admin, shards).await.unwrap();
    let ports: Vec<u16> = citus.workers.iter().map(|w| w.port()).collect();
    let moving = async {
        for shard in &shards {
            let from: u16 = shard[1].as_ref().unwrap().parse().unwrap();
            let to = ports.iter().find(|p| **p != from).unwrap();
            let id = shard[0].as_ref().unwrap();
            let sql = format!(
                "SELECT citus_move_shard_placement({id}, '127.0.0.1', {from}, '127.0.0.1', {to}, 'block_writes')"
            );
            admin.batch_execute(&sql).await.unwrap();
        }
    };
    let (mut answered, mut moving) = (0, std::pin::pin!(moving));
    loop {
        tokio::select! {
            () = &mut moving => break,
            answer = counts() => {
                // A table that is moved cannot be locked for a moment, before anything is paid for.
                match answer {
                    Ok(answer) => { assert!(near(&answer), "{answer:?} {truth:?}"); answered += 1; }
                    Err(e) => assert!(["57014", "08006"].contains(&e.code().unwrap().code()), "{e:?}"),
                }
            }
        }
    }
    assert!(near(&counts().await.unwrap()));
    assert!(answered > 0);
}
