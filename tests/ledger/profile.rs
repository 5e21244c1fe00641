//! Profiles in a ledger that proxies share: each plans by the latest, from its next reload or start
//! on.

use crate::city::{self, PASSWORD, policy, room_for, rows};
use crate::faults::proxy::{Action, Mode, Proxy, Trigger};
use crate::support::{Gate, TestDb, Workdir, connect, database};

fn shared(data: &TestDb, ledger: &str) -> Workdir {
    let text = policy(&data.backend_toml(), &["ada"], &room_for(99));
    let url = "url = \"sqlite:noisegate.db\"";
    Workdir::new(&text.replace(url, &format!("url = \"{ledger}\"\ntimeout = \"2s\"")))
}

/// The price at which trips were measured, as a user of a proxy sees it.
async fn price(gate: &Gate) -> Option<String> {
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let told = rows(&ada, "SELECT price FROM noisegate.bounds WHERE table_name = 'trips'").await.unwrap();
    told[0][0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn proxies_that_share_a_ledger_share_its_profiles() {
    let (data, books) = (city::bikes().await, database("").await);
    let dirs = [0, 1].map(|_| shared(&data, &books.superuser_url));
    let (one, other) = (dirs[0].serve().await, dirs[1].serve_again().await);
    let measure = async |epsilon: &str| {
        let done = dirs[0].noisegate(&["profile", "--yes", "--column", "none", "--epsilon", epsilon]).await;
        assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
        done.stdout
    };
    let said = measure("2").await;
    assert!(said.ends_with("the proxy that serves the policy plans by it from now on\n"), "{said}");
    assert_eq!((price(&one).await.as_deref(), price(&other).await), (Some("2"), None));
    assert!(dirs[1].noisegate(&["ctl", "reload"]).await.status.success());
    assert_eq!(price(&other).await.as_deref(), Some("2"));
    // Where its own proxy is down the command writes beside the other, whose reads go on.
    one.kill().await;
    let said = measure("1").await;
    assert!(said.ends_with("noisegate serve plans by it from its next start or reload on\n"), "{said}");
    assert_eq!(price(&other).await.as_deref(), Some("2"));
    let one = dirs[0].serve_again().await;
    assert_eq!(price(&one).await.as_deref(), Some("1"));
    let verified = dirs[1].noisegate(&["budget", "verify"]).await;
    assert!(verified.status.success(), "{}{}", verified.stdout, verified.stderr);
    let shown = dirs[1].noisegate(&["budget", "show"]).await;
    assert!(shown.stdout.contains("everybody: ε = 3 of 9.9 spent"), "{}{}", shown.stdout, shown.stderr);
}

/// A database that goes away half-way leaves what was measured and paid for, and the command says so.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_measured_before_a_failure_is_kept_and_told() {
    let data = city::bikes().await;
    let server = data.fetch_url.rsplit_once(':').unwrap().1.split_once('/').unwrap().0.parse().unwrap();
    let fetch = Proxy::to(server).await;
    let backend = format!(
        "[backend]\nurl = \"{}\"\nfinish_url = \"{}\"\n",
        fetch.by_way(&data.fetch_url),
        data.finish_url
    );
    let dir = Workdir::new(&policy(&backend, &["ada"], &room_for(99)));
    assert!(dir.noisegate(&["budget", "create"]).await.status.success());
    // The statement that looks for the median.
    fetch.trap(Trigger::Sent(b"b0.\"minutes\""), Action::Reset(Mode::Refuse));
    let profile = ["profile", "--yes", "--table", "trips", "--column", "minutes", "--epsilon", "1"];
    let failed = dir.noisegate(&profile).await;
    assert!(!failed.status.success() && fetch.sprung(), "{}", failed.stdout);
    let told = "1 item(s) were measured and paid for before that, and are the table's profile now";
    assert!(failed.stderr.contains(told), "{}", failed.stderr);
    let shown = dir.noisegate(&["budget", "show"]).await;
    assert!(shown.stdout.contains("everybody: ε = 1 of 9.9 spent"), "{}{}", shown.stdout, shown.stderr);
    fetch.set(Mode::Pass);
    assert!(dir.noisegate(&profile).await.status.success());
}
