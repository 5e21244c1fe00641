//! Who may log in, and how the proxy itself does: users_file, auth_query, password_file, PGPASSFILE, ${ENV}. From the
//! outside, with the binary.

use crate::city::{PASSWORD, bikes, eventually, policy, room_for, rows};
use crate::support::{Gate, NOISEGATE, TestDb, Workdir, connect, run};
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use tokio_postgres::NoTls;

/// A policy with these keys in [server] and these users.
fn text(db: &TestDb, server: &str, users: &[&str]) -> String {
    let listen = "listen = [\"127.0.0.1:0\"]\n";
    policy(&db.backend_toml(), users, &room_for(99)).replacen(listen, &format!("{listen}{server}"), 1)
}

fn verifier(password: &str) -> String {
    postgres_protocol::password::scram_sha_256(password.as_bytes())
}

/// Serves with the log in a file.
async fn serve(dir: &Workdir) -> (Gate, PathBuf) {
    let path = dir.path().join("log");
    let log = File::create(&path).unwrap();
    assert!(dir.noisegate(&["budget", "create"]).await.status.success());
    let gate = dir
        .serve_with(|c| {
            c.stderr(log);
        })
        .await;
    (gate, path)
}

/// SQLSTATE of a login, or what a first question answers.
async fn login(gate: &Gate, user: &str, password: &str) -> Result<String, String> {
    match tokio_postgres::connect(&gate.url(user, password, "bikes"), NoTls).await {
        Ok((client, connection)) => {
            tokio::spawn(connection);
            let answer = rows(&client, "SELECT current_user").await.unwrap();
            Ok(answer[0][0].clone().unwrap())
        }
        Err(e) => Err(e.code().map_or_else(|| format!("{e:?}"), |c| c.code().to_owned())),
    }
}

fn wrong() -> Result<String, String> {
    Err("28P01".into())
}

#[tokio::test(flavor = "multi_thread")]
async fn users_of_a_file_log_in_and_follow_it() {
    let db = bikes().await;
    let dir = Workdir::new(&text(&db, "users_file = \"users.txt\"\n", &["ada"]));
    let file = dir.path().join("users.txt");
    let lines = format!(
        "; PgBouncer's\n\"bo\" \"{}\"\n\"c\"\"y\" \"{}\" \"sales\"\n",
        verifier("one"),
        verifier("two")
    );
    std::fs::write(&file, lines).unwrap();
    let (gate, log) = serve(&dir).await;
    assert_eq!(login(&gate, "ada", PASSWORD).await, Ok("ada".into()));
    assert_eq!(login(&gate, "bo", "one").await, Ok("bo".into()));
    assert_eq!(login(&gate, "c%22y", "two").await, Ok("c\"y".into()));
    assert_eq!(login(&gate, "bo", "two").await, wrong());
    assert_eq!(login(&gate, "dora", "one").await, wrong());
    // passwd writes the file, and a reload reads it.
    let mut passwd = tokio::process::Command::new(NOISEGATE);
    passwd.args(["passwd", "dora", "--stdin", "--users-file"]).arg(&file);
    assert!(run(passwd, "three").await.status.success());
    gate.send("HUP").await;
    eventually("the reload", async || login(&gate, "dora", "three").await.is_ok()).await;
    // A file that cannot be read is a mistake; the users stay who they were.
    std::fs::write(&file, "dora: three\n").unwrap();
    gate.send("HUP").await;
    eventually("the refusal", async || std::fs::read_to_string(&log).unwrap().contains("users_file, line 1"))
        .await;
    assert_eq!(login(&gate, "dora", "three").await, Ok("dora".into()));
    assert!(!std::fs::read_to_string(&log).unwrap().contains("three"));
}

/// Users with a password in PostgreSQL, which a query reaches.
async fn with_people(db: &TestDb) -> Vec<String> {
    let [ada, md5, none, expired, expiring] =
        ["ada", "md5", "none", "expired", "expiring"].map(|n| format!("{}_{n}", db.name));
    db.execute(&format!(
        "SET password_encryption = 'scram-sha-256'; CREATE ROLE {ada} LOGIN PASSWORD 'lovelace';
         CREATE ROLE {expired} LOGIN PASSWORD 'lovelace' VALID UNTIL '2020-01-01';
         CREATE ROLE {expiring} LOGIN PASSWORD 'lovelace' VALID UNTIL '2200-01-01';
         SET password_encryption = 'md5'; CREATE ROLE {md5} LOGIN PASSWORD 'old'; CREATE ROLE {none} LOGIN"
    ))
    .await;
    vec![ada, md5, none, expired, expiring]
}

#[tokio::test(flavor = "multi_thread")]
async fn auth_query_asks_postgresql_for_the_verifier() {
    let db = bikes().await;
    let people = with_people(&db).await;
    // As docs/policy.md has it: a login that may do nothing but ask.
    let document = include_str!("../../docs/policy.md");
    let (_, sql) = document.split_once("```sql\nCREATE ROLE noisegate_auth").unwrap();
    let (sql, _) = sql.split_once("```").unwrap();
    let asker = format!("{}_auth", db.name);
    let sql = sql.replace("DATABASE bikes", &format!("DATABASE {}", db.name));
    db.execute(&format!("CREATE ROLE noisegate_auth{sql}").replace("noisegate_auth", &asker)).await;
    let fetch = format!("{}_fetch:only-for-this-test", db.name);
    let url = db.fetch_url.replace(&fetch, &format!("{asker}:third%20password"));
    let keys = format!(
        "auth_query = {{ url = \"{url}\", query = \"SELECT public.noisegate_verifier($1)\", role = \"analysts\" }}\n"
    );
    let listed = text(&db, &keys, &["listed"]);
    let dir = Workdir::new(&format!(
        "{listed}[[budget]]\nname = \"quota\"\nper = \"role\"\nepsilon = 9\ndelta = 1e-6\n"
    ));
    let (gate, log) = serve(&dir).await;
    let [ada, md5, none, expired, expiring] = people.as_slice() else { panic!() };
    assert_eq!(login(&gate, ada, "lovelace").await, Ok(ada.clone()));
    assert_eq!(login(&gate, "listed", PASSWORD).await, Ok("listed".into()));
    assert_eq!(login(&gate, expiring, "lovelace").await, Ok(expiring.clone()));
    for (user, password) in [
        (ada.as_str(), "byron"),
        (md5, "old"),
        (expired, "lovelace"),
        (none, "x"),
        ("nobody", "x"),
        ("%27%3B%20DROP%20TABLE%20riders", "x"),
        (&"x".repeat(200), "x"),
    ] {
        assert_eq!(login(&gate, user, password).await, wrong(), "{user}");
    }
    // The role of the query is the role of who is found: its quota is debited.
    let client = connect(&gate.url(ada, "lovelace", "bikes")).await;
    rows(&client, "SELECT count(*) FROM riders").await.unwrap();
    let shown = dir.noisegate(&["budget", "show"]).await.stdout;
    assert!(shown.contains("analysts"), "{shown}");
    // What is wrong with the md5 user only the operator hears, and not the password's hash.
    let said = std::fs::read_to_string(&log).unwrap();
    let hash = format!("SELECT rolpassword FROM pg_authid WHERE rolname = '{md5}'");
    let hash = rows(&db.superuser().await, &hash).await.unwrap()[0][0].clone().unwrap();
    assert!(said.contains("not a SCRAM-SHA-256 verifier") && !said.contains(&hash), "{said}");
    // A server that was started anew, as far as a connection can tell.
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'noisegate auth_query'";
    rows(&db.superuser().await, cut).await.unwrap();
    assert_eq!(login(&gate, ada, "lovelace").await, Ok(ada.clone()));
    // A removed role is refused from then on.
    drop(client);
    db.execute(&format!("DROP ROLE {ada}")).await;
    assert_eq!(login(&gate, ada, "lovelace").await, wrong());
}

/// A query that gives every verifier there is lets in analysts alone.
#[tokio::test(flavor = "multi_thread")]
async fn auth_query_admits_no_role_that_is_no_analyst() {
    let db = bikes().await;
    let people = with_people(&db).await;
    let [admin, replica, nologin] = ["admin", "replica", "nologin"].map(|n| format!("{}_{n}", db.name));
    db.execute(&format!(
        "CREATE ROLE {admin} SUPERUSER LOGIN PASSWORD 'lovelace'; CREATE ROLE {replica} REPLICATION LOGIN PASSWORD 'lovelace';
         CREATE ROLE {nologin} PASSWORD 'lovelace'"
    ))
    .await;
    let url = &db.superuser_url;
    let query = "SELECT rolpassword FROM pg_authid WHERE rolname = $1";
    let dir = Workdir::new(&text(
        &db,
        &format!("auth_query = {{ url = \"{url}\", query = \"{query}\" }}\n"),
        &["listed"],
    ));
    let (gate, log) = serve(&dir).await;
    let [ada, _, _, expired, expiring] = people.as_slice() else { panic!() };
    for user in [ada, expiring] {
        assert_eq!(login(&gate, user, "lovelace").await, Ok(user.clone()));
    }
    for user in [&admin, &replica, &nologin, expired] {
        assert_eq!(login(&gate, user, "lovelace").await, wrong(), "{user}");
    }
    // The logins of the service, by the password that the policy has.
    for login_of in ["fetch", "finish"] {
        let user = format!("{}_{login_of}", db.name);
        assert_eq!(login(&gate, &user, "only-for-this-test").await, wrong(), "{user}");
    }
    let log = std::fs::read_to_string(&log).unwrap();
    for why in [
        "is a superuser",
        "BYPASSRLS or REPLICATION",
        "may not log in",
        "has expired",
        "a login of noisegate itself",
    ] {
        assert!(log.contains(why), "{why}: {log}");
    }
    db.execute(&format!("DROP ROLE {admin}; DROP ROLE {replica}; DROP ROLE {nologin}")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn auth_query_fails_closed() {
    let db = bikes().await;
    let people = with_people(&db).await;
    let good = db.superuser_url.clone();
    for (url, query, said) in [
        (
            "postgres://a@127.0.0.1:1/x",
            "SELECT rolpassword FROM pg_authid WHERE rolname = $1",
            "server.auth_query failed",
        ),
        (good.as_str(), "SELECT rolpassword FROM pg_nowhere WHERE rolname = $1", "pg_nowhere"),
        (&good, "SELECT rolname, rolpassword FROM pg_authid WHERE rolname = $1", "one column of type text"),
        (&good, "SELECT oid FROM pg_authid WHERE rolname = $1", "one column of type text"),
        (&good, "SELECT rolpassword FROM pg_authid WHERE rolname <> $1", "rows for one name"),
        (
            &good,
            "SELECT rolpassword FROM pg_authid, pg_sleep(20) WHERE rolname = $1",
            "server.auth_query failed",
        ),
    ] {
        let keys = format!("auth_query = {{ url = \"{url}\", query = \"{query}\" }}\n");
        let dir = Workdir::new(&text(&db, &keys, &["listed"]));
        let (gate, log) = serve(&dir).await;
        assert_eq!(login(&gate, &people[0], "lovelace").await, wrong(), "{query}");
        // Users of the policy do not depend on it.
        assert_eq!(login(&gate, "listed", PASSWORD).await, Ok("listed".into()), "{query}");
        let log = std::fs::read_to_string(&log).unwrap();
        assert!(log.contains(said), "{query}: {log}");
    }
}

/// Logins without passwords in the policy: from a file, from PGPASSFILE, from the environment.
#[tokio::test(flavor = "multi_thread")]
async fn passwords_of_the_backend_stand_elsewhere() {
    let db = bikes().await;
    let password = "only-for-this-test";
    let bare = db.backend_toml().replace(&format!(":{password}@"), "@");
    assert_ne!(bare, db.backend_toml());
    let of = |backend: &str| policy(backend, &["ada"], &room_for(9));
    let pgpass = format!("# all of them\n*:*:{}:*:{password}\n", db.name);

    let dir = Workdir::new(&of(&bare));
    let file = dir.path().join("pgpass");
    std::fs::write(&file, &pgpass).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    let none = dir.noisegate(&["check"]).await;
    assert!(!none.status.success() && none.stderr.contains("password"), "{none:?}");
    assert!(dir.noisegate(&["budget", "create"]).await.status.success());
    // Of either login, in words of ours.
    let only_fetch = db.backend_toml().replacen(&format!("_finish:{password}@"), "_finish@", 1);
    for (backend, key) in [(&bare, "backend.url"), (&only_fetch, "backend.finish_url")] {
        let dir = Workdir::new(&of(backend));
        let said = dir.noisegate(&["serve"]).await.stderr;
        assert!(said.contains(&format!("{key}: the database cannot be reached as ")), "{said}");
        assert!(said.contains("asks for a password, and none is set: give it in the URL"), "{said}");
        assert!(!said.contains("object") && !said.contains("configuration"), "{said}");
    }
    let gate = dir
        .serve_with(|c| {
            c.env("PGPASSFILE", &file);
        })
        .await;
    assert_eq!(login(&gate, "ada", PASSWORD).await, Ok("ada".into()));
    gate.kill().await;

    std::fs::write(dir.policy(), of(&format!("{bare}password_file = \"pgpass\"\n"))).unwrap();
    let checked = dir.noisegate(&["check", "--write-schema"]).await;
    assert!(checked.status.success(), "{checked:?}");
    let gate = dir.serve_again().await;
    assert_eq!(login(&gate, "ada", PASSWORD).await, Ok("ada".into()));
    gate.kill().await;
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    let open = dir.noisegate(&["check"]).await;
    assert!(
        !open.status.success() && open.stderr.contains("chmod 600") && !open.stderr.contains(password),
        "{open:?}"
    );

    let variable = db.backend_toml().replace(&format!(":{password}@"), ":${NOISEGATE_TEST_PASSWORD}@");
    std::fs::write(dir.policy(), of(&variable)).unwrap();
    let unset = dir.noisegate(&["check"]).await;
    assert!(!unset.status.success(), "{unset:?}");
    assert!(
        unset.stderr.contains("url: the environment has no variable NOISEGATE_TEST_PASSWORD"),
        "{unset:?}"
    );
    // Where nothing is connected to, nothing is missing.
    let offline = dir.noisegate(&["check", "--offline"]).await;
    assert!(offline.status.success(), "{offline:?}");
    let explained = dir.noisegate(&["explain", "SELECT count(*) FROM riders"]).await;
    assert!(explained.status.success(), "{explained:?}");
    let gate = dir
        .serve_with(|c| {
            c.env("NOISEGATE_TEST_PASSWORD", password);
        })
        .await;
    assert_eq!(login(&gate, "ada", PASSWORD).await, Ok("ada".into()));
    gate.kill().await;

    // A value that makes the text wrong is not shown with what is wrong.
    let listen = of(&db.backend_toml()).replace("127.0.0.1:0", "${NOISEGATE_TEST_ADDRESS}");
    std::fs::write(dir.policy(), listen).unwrap();
    let mut check = tokio::process::Command::new(NOISEGATE);
    check.args(["check", "--policy"]).arg(dir.policy()).env("NOISEGATE_TEST_ADDRESS", "sikrit");
    let out = run(check, "").await;
    assert!(
        out.stderr.contains("is not an IP address and port") && !out.stderr.contains("sikrit"),
        "{out:?}"
    );
}
