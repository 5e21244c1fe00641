//! What goes on in the proxy, as the console shows it.

use super::super::journal::break_a_fetch;
use super::super::text;
use super::{Browser, console, keeps_to_itself};
use crate::city::{PASSWORD, bikes};
use crate::support::{Gate, NOISEGATE, Workdir, run};

#[tokio::test]
async fn who_is_connected_what_waits_what_is_open_and_what_went_wrong_is_seen() {
    let db = bikes().await;
    let stream = "[[stream]]\nname = \"rare\"\nvariant = \"improved\"\nepsilon = 1.0\npositives = 2\n[cache]\nenabled = true\n";
    let policy = text(&db, &["ada"], &format!("{stream}{}", console(&[("dpo", "auditor")])));
    let dir = Workdir::new(&policy);
    let gate = dir.serve().await;
    let url = gate.url("ada", &PASSWORD.replace(' ', "%20"), "bikes");
    let mut browser = Browser::at(&gate);
    browser.log_in("dpo", PASSWORD).await;
    let connections = browser.get("/connections").await;
    for said in ["It answers, in ", "It is PostgreSQL 1", "<p>Nobody.</p>", "reading people's rows"] {
        assert!(connections.body.contains(said), "{said} in {}", connections.body);
    }
    let client = crate::support::connect(&format!("{url}?application_name=notebook")).await;
    for _ in 0..3 {
        client.simple_query("SELECT count(*) FROM trips").await.unwrap();
    }
    client.simple_query("SET noisegate.stream = 'rare'").await.unwrap();
    client.simple_query("SELECT FROM trips WHERE minutes > 60 HAVING count(*) > 5").await.unwrap();
    let connections = browser.get("/connections").await;
    for said in [">1 client<", ">ada<", ">notebook<", ">127.0.0.1<"] {
        assert!(connections.body.contains(said), "{said} in {}", connections.body);
    }
    let kept = browser.get("/kept").await;
    for said in [
        "Given again, free",
        "<td class=\"n\">2</td><td class=\"n\">1</td>",
        "Answers are kept for 1 day.",
        "At hand in this proxy: ",
    ] {
        assert!(kept.body.contains(said), "{said} in {}", kept.body);
    }
    let streams = browser.get("/streams").await;
    for said in [
        "<th scope=\"row\">rare</th>",
        "until 2 questions got a yes",
        "Opened so far, by the ledger",
        "<td>open</td>",
    ] {
        assert!(streams.body.contains(said), "{said} in {}", streams.body);
    }
    assert!(browser.get("/incidents").await.body.contains("None since the proxy was started."));
    drop(client);

    // Whoever meets an incident has an id, and so has the page; neither has its cause.
    break_a_fetch(&db, &url, "SELECT count(*) FROM trips WHERE note = 'sikrit'").await;
    let incidents = browser.get("/incidents").await;
    assert!(incidents.body.contains("the private data could not be read"), "{}", incidents.body);
    assert!(incidents.body.contains("<td>ada</td>"), "{}", incidents.body);
    for cause in ["sikrit", "57P01 from", "ProcessInterrupts"] {
        assert!(!incidents.body.contains(cause), "{}", incidents.body);
    }
    for page in [&connections, &kept, &streams, &incidents] {
        keeps_to_itself(page);
    }
}

/// Each of a folder's databases has a console of its own; what went wrong in one, and for whom, is not on the other's.
#[tokio::test]
async fn incidents_are_on_the_console_of_their_database() {
    let (bikes_db, other_db) = (bikes().await, bikes().await);
    let dir = tempfile::tempdir().unwrap();
    for (file, db) in [("bikes", &bikes_db), ("other", &other_db)] {
        let policy = text(db, &["ada"], &console(&[("dpo", "auditor")]));
        let path = dir.path().join(format!("{file}.toml"));
        std::fs::write(&path, policy.replace("noisegate.db", &format!("{file}.db"))).unwrap();
        let mut create = tokio::process::Command::new(NOISEGATE);
        create.args(["budget", "create", "--policy"]).arg(&path);
        assert!(run(create, "").await.status.success());
    }
    let gate = Gate::start(&["serve", "--policy", dir.path().to_str().unwrap()]).await;
    let consoles: Vec<&str> =
        gate.greeting.lines().filter_map(|l| l.strip_prefix("console at http://")).collect();
    break_a_fetch(
        &other_db,
        &gate.url("ada", &PASSWORD.replace(' ', "%20"), "other"),
        "SELECT count(*) FROM trips",
    )
    .await;
    let mut seen = Vec::new();
    for console in consoles {
        let mut browser = Browser::of(console);
        browser.log_in("dpo", PASSWORD).await;
        seen.push(browser.get("/incidents").await.body.contains("<td>ada</td>"));
    }
    assert_eq!(seen, [false, true], "{}", gate.greeting);
}
