//! Roles that are answered in a way of their own: synthetic ones, from rows that are made up; passthrough ones, by the database.

use crate::bikes::{POLICY, SETUP};
use crate::city::{self, PASSWORD, policy, rows, sqlstate};
use crate::support::{self, Gate, TestDb, Workdir, connect, psql};
use std::path::Path;
use tokio_postgres::Client;

const BUDGET: &str = "[cache]\n[[budget]]\nname = \"everyone\"\naccounting = \"pure\"\nepsilon = 1000\n";
const SYNTHETIC: &str = "[[role]]\nname = \"builders\"\nmode = \"synthetic\"\n";

struct World {
    db: TestDb,
    dir: Workdir,
    gate: Gate,
}

/// A policy in which this user has this role.
fn with_role(policy: &str, user: &str, role: &str) -> String {
    let name = format!("[[user]]\nname = \"{user}\"\n");
    assert!(policy.contains(&name));
    policy.replace(&name, &format!("{name}role = \"{role}\"\n"))
}

impl World {
    /// Ada is private, Bob builds.
    async fn new(rules: &str) -> Self {
        let db = city::bikes().await;
        let text = policy(&db.backend_toml(), &["ada", "bob"], rules);
        let dir = Workdir::new(&with_role(&text, "bob", "builders"));
        let gate = dir.serve().await;
        Self { db, dir, gate }
    }

    async fn client(&self, user: &str) -> Client {
        connect(&self.gate.url(user, PASSWORD, "bikes")).await
    }

    async fn told(&self, user: &str, sql: &str) -> (String, String) {
        let out = psql(&self.gate.url(user, PASSWORD, "bikes"), sql).await;
        (out.stdout, out.stderr)
    }

    /// Takes every right to private tables from both logins.
    async fn lock_up(&self) {
        let name = &self.db.name;
        self.db.execute(&format!("REVOKE SELECT ON riders, trips FROM {name}_fetch, {name}_finish")).await;
    }
}

const ASKED: &str =
    "SELECT station, count(*), avg(fare), count(DISTINCT rider_id) FROM trips GROUP BY 1 ORDER BY 1";

#[tokio::test(flavor = "multi_thread")]
async fn synthetic_answers_read_no_private_row_and_cost_nothing() {
    let world = World::new(&format!("[statement]\nepsilon = 1\n{BUDGET}{SYNTHETIC}")).await;
    let bob = world.client("bob").await;
    let before = rows(&bob, ASKED).await.unwrap();
    assert_eq!(before.len(), 10, "every station: {before:?}");
    world.lock_up().await;
    assert_eq!(rows(&world.client("bob").await, ASKED).await.unwrap(), before);
    world.db.execute("TRUNCATE trips").await;
    assert_eq!(rows(&bob, ASKED).await.unwrap(), before);
    // Values keep to what is declared, and rows find each other.
    let [row] = &rows(
        &bob,
        "SELECT count(*), min(t.minutes), max(t.minutes), count(DISTINCT r.plan), avg(r.birth_year)
         FROM trips t JOIN riders r ON r.rider_id = t.rider_id",
    )
    .await
    .unwrap()[..] else {
        panic!("one row")
    };
    let n = |i: usize| row[i].as_deref().unwrap().parse::<f64>().unwrap();
    assert!(n(0) > 100.0 && (0.0..=240.0).contains(&n(1)) && n(1) < n(2) && n(2) <= 240.0, "{row:?}");
    assert!(n(3) == 3.0 && (1920.0..=2010.0).contains(&n(4)), "{row:?}");
    // The books have heard of nothing.
    let left = rows(&bob, "SELECT fraction_left FROM noisegate.budget").await.unwrap();
    assert_eq!(left, [[Some("1.000000".to_owned())]]);
    assert!(rows(&bob, "SELECT * FROM noisegate.history").await.unwrap().is_empty());
    // Who needs the rows is not answered without them.
    assert_eq!(sqlstate(&world.client("ada").await, "SELECT count(*) FROM riders").await, "XX000");
}

#[tokio::test(flavor = "multi_thread")]
async fn synthetic_answers_are_said_to_be_so() {
    let world = World::new(&format!("{BUDGET}{SYNTHETIC}notices = false\n")).await;
    let (_, told) = world.told("bob", ASKED).await;
    assert!(told.contains("NOTICE:  synthetic rows"), "{told}");
    assert!(!told.contains("NOTICE:  spent ") && !told.contains("passed"), "{told}");
    let (_, told) = world.told("ada", ASKED).await;
    assert!(told.contains("NOTICE:  spent ") && !told.contains("synthetic"), "{told}");
    // Public rows are real, and nothing is said of them.
    let (shown, told) = world.told("bob", "SELECT count(*) FROM stations").await;
    assert!(shown.contains("10") && told.is_empty(), "{shown}{told}");
    let (shown, _) = world.told("bob", &format!("EXPLAIN {ASKED}")).await;
    assert!(shown.contains("This costs nothing: your role is answered from synthetic rows"), "{shown}");
    let (shown, told) = world.told("bob", &format!("EXPLAIN ANALYZE {ASKED}")).await;
    assert!(
        shown.contains("It was asked, and 10 rows came back; nothing was spent.")
            && told.contains("synthetic"),
        "{shown}{told}"
    );
    // What is refused to others is refused to builders, in the same words.
    let bob = world.client("bob").await;
    let ada = world.client("ada").await;
    for sql in
        ["SELECT * FROM trips", "SELECT email FROM riders", "SELECT sum(rider_id) FROM trips", "SELECT 1 +"]
    {
        let refused = async |c: &Client| {
            let e = c.simple_query(sql).await.unwrap_err();
            let e = e.as_db_error().unwrap().clone();
            (e.code().clone(), e.message().to_owned(), e.hint().map(str::to_owned))
        };
        assert_eq!(refused(&bob).await, refused(&ada).await, "{sql}");
    }
}

/// Neither is given what the other was answered.
#[tokio::test(flavor = "multi_thread")]
async fn rule_26_synthetic_answers_are_neither_kept_nor_taken_from_what_is() {
    let world = World::new(&format!("[statement]\nepsilon = 0.001\n{BUDGET}{SYNTHETIC}")).await;
    let asked = "SELECT count(*) FROM trips";
    let made_up = rows(&world.client("bob").await, asked).await.unwrap();
    let (_, told) = world.told("ada", asked).await;
    assert!(told.contains("NOTICE:  spent "), "{told}");
    let (_, told) = world.told("ada", asked).await;
    assert!(told.contains("answered from an earlier release"), "{told}");
    let (_, told) = world.told("bob", asked).await;
    assert!(told.contains("synthetic") && !told.contains("earlier"), "{told}");
    assert_eq!(rows(&world.client("bob").await, asked).await.unwrap(), made_up);
    // A reload that takes the mode away is heard by the next statement of an open session.
    let bob = world.client("bob").await;
    assert_eq!(rows(&bob, asked).await.unwrap(), made_up);
    let text = std::fs::read_to_string(world.dir.policy()).unwrap();
    std::fs::write(world.dir.policy(), text.replace("mode = \"synthetic\"", "mode = \"private\"")).unwrap();
    let reloaded = world.dir.noisegate(&["ctl", "reload"]).await;
    assert!(reloaded.status.success() && reloaded.stdout.contains("[[role]]"), "{reloaded:?}");
    assert_ne!(rows(&bob, asked).await.unwrap(), made_up);
}

/// A stream's state is what real rows decided: a synthetic role neither asks one nor has a question to it explained.
#[tokio::test(flavor = "multi_thread")]
async fn synthetic_roles_have_no_part_in_streams() {
    let stream = "[[stream]]\nname = \"bell\"\nvariant = \"numeric_sparse\"\nepsilon = 1\npositives = 2\n";
    let world = World::new(&format!("{BUDGET}{SYNTHETIC}{stream}")).await;
    let (ada, bob) = (world.client("ada").await, world.client("bob").await);
    let question = "SELECT count(*) FROM riders HAVING count(*) > 100";
    for client in [&ada, &bob] {
        client.batch_execute("SET noisegate.stream = 'bell'").await.unwrap();
    }
    rows(&ada, &format!("EXPLAIN {question}")).await.unwrap();
    for sql in
        [question.to_owned(), format!("EXPLAIN {question}"), format!("EXPLAIN (FORMAT JSON) {question}")]
    {
        let refused = rows(&bob, &sql).await.unwrap_err();
        assert!(
            refused.as_db_error().is_some_and(|e| e.message().contains("synthetic")),
            "{sql}: {refused:?}"
        );
    }
}

/// Whatever is answered from private rows is answered from synthetic ones, with the columns that were promised: every statement
/// of the golden scripts.
#[tokio::test(flavor = "multi_thread")]
async fn synthetic_answers_have_the_shape_of_real_ones() {
    let db = support::database(SETUP).await;
    db.publish(&["stations"]).await;
    let verifier = postgres_protocol::password::scram_sha_256(PASSWORD.as_bytes());
    let dir = Workdir::new(&format!(
        "[server]\nlisten = [\"127.0.0.1:0\"]\n{}[ledger]\nurl = \"sqlite:noisegate.db\"\n{POLICY}
         [[user]]\nname = \"bob\"\nrole = \"builders\"\nscram = \"{verifier}\"\n{SYNTHETIC}",
        db.backend_toml()
    ));
    let gate = dir.serve().await;
    let bob = connect(&gate.url("bob", PASSWORD, "bikes")).await;
    let members = "SELECT payload->'device'->>'os' AS os, count(*) FROM app_events WHERE payload->'device'->>'os' IS NOT NULL GROUP BY 1";
    let counted = rows(&bob, members).await.unwrap();
    let many = |row: &Vec<Option<String>>| row[1].as_ref().is_some_and(|n| n.parse::<i64>().unwrap() > 10);
    assert!(counted.len() > 1 && counted.iter().all(many), "{counted:?}");
    // As many rows as are made up, whatever steps they are counted in.
    let all = rows(&bob, "SELECT count(*) FROM trips").await.unwrap();
    let by =
        "SELECT sum(n) FROM (SELECT date_trunc('month', started_at), count(*) AS n FROM trips GROUP BY 1) t";
    let [all, by] =
        [all, rows(&bob, by).await.unwrap()].map(|n| n[0][0].as_ref().unwrap().parse::<f64>().unwrap());
    assert!((1.0..=6_000.0).contains(&all) && (all - by).abs() <= 0.02 * all, "{all} in all, {by} by month");
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut asked = 0;
    for script in std::fs::read_dir(scripts).unwrap() {
        let script = script.unwrap();
        let text = std::fs::read_to_string(script.path()).unwrap();
        let statements = text.lines().filter(|l| l.starts_with('>') || l.starts_with('['));
        let statements = statements.filter_map(|l| l.split_once("> ").map(|(_, sql)| sql));
        for sql in statements.filter(|sql| !sql.starts_with("SET ")) {
            // What is refused is the scripts' matter.
            let Ok(promised) = bob.prepare(sql).await else { continue };
            let given = bob.query(&promised, &[]).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
            let types = |columns: &[tokio_postgres::Column]| -> Vec<_> {
                columns.iter().map(|c| (c.name().to_owned(), c.type_().clone())).collect()
            };
            let made_up = given.first().map(|row| types(row.columns()));
            assert!(made_up.is_none_or(|made_up| made_up == types(promised.columns())), "{sql}");
            asked += 1;
        }
    }
    assert!(asked > 300, "{asked}");
}

/// A third login of the database, which reads all tables, and the key of the policy that names it.
async fn owners_login(db: &TestDb) -> String {
    let name = format!("{}_owner", db.name);
    let password = support::LOGIN_PASSWORD;
    db.execute(&format!(
        "CREATE ROLE {name} LOGIN PASSWORD '{password}'; GRANT CONNECT ON DATABASE {} TO {name};
         GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}",
        db.name
    ))
    .await;
    let url = db.fetch_url.replace(&format!("{}_fetch", db.name), &name);
    format!("passthrough_url = \"{url}\"\n")
}

const PASSTHROUGH: &str = "[[role]]\nname = \"owners\"\nmode = \"passthrough\"\n";

/// Ada is private, Bob owns. What the proxy says goes to a file.
async fn owned() -> (World, std::path::PathBuf) {
    let db = city::bikes().await;
    let backend = format!("{}{}", db.backend_toml(), owners_login(&db).await);
    let text =
        policy(&backend, &["ada", "bob"], &format!("[statement]\nepsilon = 0.1\n{BUDGET}{PASSTHROUGH}"));
    let dir = Workdir::new(&with_role(&text, "bob", "owners"));
    assert!(dir.noisegate(&["budget", "create"]).await.status.success());
    let log = dir.path().join("log");
    let file = std::fs::File::create(&log).unwrap();
    let gate = dir.serve_with(|command| {
        // No level of the log hides what is asked.
        command.stderr(file).env("NOISEGATE_LOG", "off");
    });
    let gate = gate.await;
    (World { db, dir, gate }, log)
}

#[tokio::test(flavor = "multi_thread")]
async fn passthrough_answers_are_exact_and_loud() {
    let (world, log) = owned().await;
    let check = world.dir.noisegate(&["check"]).await;
    let said = format!("{}{}", check.stdout, check.stderr);
    assert!(check.status.success() && said.contains("\"owners\" read exact rows"), "{said}");
    let read = || std::fs::read_to_string(&log).unwrap();
    let bob = world.client("bob").await;
    assert!(read().contains("a passthrough session begins"), "{}", read());
    let exact = rows(&bob, "SELECT email FROM riders WHERE rider_id = 500").await.unwrap();
    assert_eq!(exact, [[Some("eve@example.org".to_owned())]]);
    assert!(read().contains("SELECT email FROM riders WHERE rider_id = 500"), "{}", read());
    let (_, told) = world.told("bob", "SET noisegate.notices = off; SELECT count(*) FROM riders").await;
    assert!(told.contains("NOTICE:  passthrough: exact rows"), "{told}");
    // Parameters, cursors, COPY, EXPLAIN, catalogs, in the database's own words.
    let n: i64 =
        bob.query_one("SELECT count(*) FROM trips WHERE station = $1", &[&"Station 1"]).await.unwrap().get(0);
    assert_eq!(n, 202);
    assert!(read().contains("WHERE station = $1\" $1=\"Station 1\""), "{}", read());
    bob.query("SELECT count(*) FROM riders WHERE birth_year > $1::int4", &[&1950_i32]).await.unwrap();
    assert!(read().contains(" $1=\"1950\""), "{}", read());
    let script = "BEGIN; DECLARE c CURSOR FOR SELECT email FROM riders ORDER BY rider_id; FETCH 2 FROM c; COMMIT;
        COPY (SELECT rider_id FROM riders ORDER BY 1 LIMIT 2) TO STDOUT; EXPLAIN SELECT * FROM riders;
        PREPARE p(int) AS SELECT plan FROM riders WHERE rider_id = $1; EXECUTE p(500);
        SELECT relname FROM pg_class WHERE relname = 'riders'; SET search_path = pg_catalog; SHOW search_path";
    let (shown, told) = world.told("bob", script).await;
    assert!(!told.contains("ERROR"), "{told}");
    for part in ["1@example.org", "2@example.org", "Seq Scan on riders", "day", "(1 row)"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // What set_config sets lasts as long as in PostgreSQL, and SHOW and current_setting tell the same.
    for (sql, value) in [
        ("SELECT set_config('search_path', 'pg_catalog, public', false)", "pg_catalog, public"),
        ("SELECT set_config('extra_float_digits', '2', false), 5", "2"),
        ("SELECT 1", "2"),
        ("BEGIN", ""),
        ("SELECT set_config('datestyle', 'SQL, DMY', true)", "SQL, DMY"),
    ] {
        bob.simple_query(sql).await.unwrap();
        let name = if sql.contains("search_path") { "search_path" } else { "extra_float_digits" };
        let name = if sql.contains("datestyle") { "datestyle" } else { name };
        let shown = rows(&bob, &format!("SHOW {name}")).await.unwrap();
        let read = rows(&bob, &format!("SELECT current_setting('{name}')")).await.unwrap();
        assert_eq!(shown, read, "{sql}");
        assert!(value.is_empty() || shown == [[Some(value.to_owned())]], "{sql}: {shown:?}");
    }
    bob.simple_query("COMMIT").await.unwrap();
    assert_ne!(rows(&bob, "SHOW datestyle").await.unwrap(), [[Some("SQL, DMY".to_owned())]]);
    for name in ["server_version", "timezone", "transaction_isolation", "is_superuser", "client_encoding"] {
        let shown = rows(&bob, &format!("SHOW {name}")).await.unwrap();
        assert_eq!(shown, rows(&bob, &format!("SELECT current_setting('{name}')")).await.unwrap(), "{name}");
    }
    let computed = "SELECT set_config('search_path', plan, false) FROM riders";
    assert_eq!(sqlstate(&bob, computed).await, "0A000");
    bob.simple_query("RESET search_path; RESET extra_float_digits").await.unwrap();
    // It reads, and that is all.
    assert_eq!(sqlstate(&bob, "DELETE FROM trips").await, "42501");
    assert_eq!(sqlstate(&bob, "SELECT * FROM trips FOR UPDATE").await.len(), 5);
    let writes = "SELECT set_config('transaction_read_only', 'off', true)";
    assert_eq!(sqlstate(&bob, writes).await, "25001");
    let ada = world.client("ada").await;
    let history = rows(&ada, "SELECT * FROM noisegate.history").await.unwrap();
    assert!(history.is_empty(), "{history:?}");
}

/// What cannot be put down is not answered.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn without_an_audit_there_are_no_exact_rows() {
    let (world, _log) = owned().await;
    drop(world.gate);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let gate = world.dir.serve_with(|command| {
        command.stderr(full);
    });
    let gate = gate.await;
    let refused = psql(&gate.url("bob", PASSWORD, "bikes"), "SELECT email FROM riders").await;
    assert!(refused.stderr.contains("the audit cannot be written"), "{refused:?}");
    assert!(!refused.stdout.contains("@example.org"), "{refused:?}");
    // Everybody else goes on.
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    assert_eq!(rows(&ada, "SELECT count(*) FROM stations").await.unwrap().len(), 1);
}

/// Whatever a private user does, the owners' login does nothing; and what was answered to the one is not given to the other.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_comes_to_the_owners_login() {
    let (world, _log) = owned().await;
    let owner = format!("{}_owner", world.db.name);
    let asked = "SELECT count(*) FROM trips";
    let exact = rows(&world.client("bob").await, asked).await.unwrap();
    assert_eq!(exact, [[Some("2000".to_owned())]]);
    let (_, told) = world.told("ada", asked).await;
    assert!(told.contains("NOTICE:  spent ") && !told.contains("passthrough"), "{told}");
    // From here on that login fails whatever it is asked for.
    let ends = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{owner}'");
    world.db.execute(&format!("ALTER ROLE {owner} NOLOGIN; {ends}")).await;
    assert_eq!(sqlstate(&world.client("bob").await, asked).await.len(), 5);
    let ada = world.client("ada").await;
    for sql in [
        "SET search_path = public",
        "SELECT station, count(*) FROM trips GROUP BY 1",
        "SELECT avg(birth_year) FROM riders",
        "EXPLAIN ANALYZE SELECT count(*) FROM riders",
        "SELECT * FROM stations",
        "SELECT relname FROM pg_class",
        "SHOW ALL",
        "PREPARE p AS SELECT count(*) FROM trips",
        "EXECUTE p",
        "BEGIN",
        "DECLARE c CURSOR FOR SELECT count(*) FROM riders",
        "FETCH c",
        "COMMIT",
        "SELECT * FROM noisegate.budget",
    ] {
        ada.simple_query(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }
    for sql in ["SELECT * FROM trips", "SELECT email FROM riders", "SET ROLE owners", "SET role = 'owners'"] {
        assert!(ada.simple_query(sql).await.is_err(), "{sql}");
    }
    // Who loses the role loses the way, in the middle of a session.
    world.db.execute(&format!("ALTER ROLE {owner} LOGIN")).await;
    let bob = world.client("bob").await;
    let prepared = bob.prepare("SELECT email FROM riders LIMIT 1").await.unwrap();
    assert_eq!(bob.query(&prepared, &[]).await.unwrap().len(), 1);
    let text = std::fs::read_to_string(world.dir.policy()).unwrap();
    std::fs::write(world.dir.policy(), text.replace("role = \"owners\"\n", "")).unwrap();
    assert!(world.dir.noisegate(&["ctl", "reload"]).await.status.success());
    assert!(bob.query(&prepared, &[]).await.is_err());
    assert_eq!(sqlstate(&bob, "SELECT * FROM trips").await, "0A000");
}
