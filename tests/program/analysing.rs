//! Reports that were sealed where they were given, from the shuffler into the table of a policy: batches over the wire, once each,
//! whatever dies on the way.

use crate::city::{self, PASSWORD, policy, rows, sqlstate};
use crate::collecting::{Shuffling, batches, noisegate, shuffle};
use crate::support::{Gate, LOGIN_PASSWORD, TestDb, Workdir, connect, database_in, own_cluster, psql, soon};
use crate::usual::rules;
use noisegate::demo::Cluster;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_postgres::{Client, NoTls};

const RULES: &str = rules!([epsilon = 100] ["pure", epsilon = 1000]);

/// At such an ε a response says what was answered: each can be told from the others.
const COLUMNS: &str = "\
columns.n = { kind = \"count\", range = [0, 1999], epsilon = 900, randomiser = \"response\" }
columns.b = { kind = \"boolean\", epsilon = 900, randomiser = \"unary\" }
columns.p = { kind = \"set\", values = [\"cat\", \"dog\", \"other\"], other = \"other\", max_values = 1, epsilon = 900, randomiser = \"response\" }
";

pub struct World {
    /// Dropped last: it holds the database.
    pub db: TestDb,
    pub dir: Workdir,
    pub gate: Gate,
    _cluster: Cluster,
}

impl World {
    /// A policy with both keys beside it, its description, and a proxy that also listens at a socket in the folder.
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// The same, with what a test adds to the proxy's command.
    pub async fn with(more: impl FnOnce(&mut tokio::process::Command)) -> Self {
        let cluster = tokio::task::spawn_blocking(|| own_cluster(&[])).await.unwrap();
        let db = city::published(database_in(&cluster, city::DATA).await).await;
        let name = db.name.clone();
        db.execute(&format!(
            "CREATE ROLE {name}_collect LOGIN PASSWORD '{LOGIN_PASSWORD}';
             GRANT CONNECT ON DATABASE {name} TO {name}_collect;
             CREATE TABLE survey_reports (n int4 NOT NULL, b bytea NOT NULL, p int4 NOT NULL);
             CREATE TABLE survey_reports_batches (batch uuid NOT NULL, reports int4 NOT NULL, left_out int4 NOT NULL,
                small boolean NOT NULL, PRIMARY KEY (batch));
             GRANT INSERT ON survey_reports, survey_reports_batches TO {name}_collect;
             GRANT SELECT ON survey_reports TO {name}_fetch, {name}_finish;"
        ))
        .await;
        let url = db.fetch_url.replace(&format!("{name}_fetch"), &format!("{name}_collect"));
        let backend = format!("{}collect_url = \"{url}\"\n", db.backend_toml());
        let dir = Workdir::new("");
        let mut public = Vec::new();
        for whose in ["shuffler", "analyser"] {
            let made =
                noisegate(dir.path(), &["collect", "key", whose, "--output", &format!("{whose}.key")], "")
                    .await;
            public.push(made.stdout.trim().to_owned());
        }
        let collect = format!(
            "[collect.survey]\nusers = [\"shuffle\"]\nencoder = \"client\"\nshuffler = \"process\"\nshuffler_key = \"{}\"
analyser_key_file = \"analyser.key\"\nmin_batch = 50\nmax_delay = \"1s\"\nmin_group = 1\n{COLUMNS}",
            public[0]
        );
        let text = policy(&backend, &["ada", "shuffle"], &format!("{RULES}{collect}"));
        let text = text.replace("[\"127.0.0.1:0\"]", "[\"127.0.0.1:0\", \"unix:.s.PGSQL.1\"]");
        fs::write(dir.policy(), text).unwrap();
        let described = noisegate(
            dir.path(),
            &["collect", "describe", "--policy", dir.policy().to_str().unwrap(), "survey"],
            "",
        )
        .await;
        assert!(described.status.success() && described.stderr.is_empty(), "{described:?}");
        fs::write(dir.path().join("survey.json"), &described.stdout).unwrap();
        let created = dir.noisegate(&["budget", "create"]).await;
        assert!(created.status.success(), "{created:?}");
        let gate = dir.serve_with(more).await;
        Self { db, dir, gate, _cluster: cluster }
    }

    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    /// Keys of a shuffler that delivers to this proxy, whichever process that is.
    pub fn delivering(&self) -> String {
        let folder = self.folder().display();
        format!(
            "[analyser]\nurl = \"host={folder} port=1 user=shuffle password='{PASSWORD}' dbname=bikes\"\n"
        )
    }

    /// Reports of people who say these numbers.
    async fn reports(&self, numbers: impl Iterator<Item = usize>, description: &str) -> Vec<String> {
        let csv: String = numbers
            .map(|n| format!("{n},{},{}\n", n % 3 == 0, ["", "cat", "dog", "newt;rat"][n % 4]))
            .collect();
        let args = ["collect", "encode", "--collection", description];
        let out = noisegate(self.folder(), &args, &format!("n,b,p\n{csv}")).await;
        assert!(out.status.success() && out.stderr.is_empty(), "{out:?}");
        out.stdout.lines().map(str::to_owned).collect()
    }

    pub async fn client(&self, user: &str) -> Client {
        connect(&self.gate.url(user, PASSWORD, "bikes")).await
    }

    pub async fn stored(&self) -> Vec<i32> {
        stored(&self.db).await
    }
}

async fn stored(db: &TestDb) -> Vec<i32> {
    let admin = db.superuser().await;
    let rows = admin.query("SELECT n FROM survey_reports ORDER BY n", &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// Batches come from the shuffler by themselves, are estimated like anything else, and one that is refused holds up no other.
#[tokio::test(flavor = "multi_thread")]
async fn batches_arrive_and_are_estimated() {
    let world = World::new().await;
    let folder = world.folder();
    // A description of the same name that the analyser does not have.
    let other = fs::read_to_string(folder.join("survey.json")).unwrap();
    let other = other.replace("\"min_batch\":50", "\"min_batch\":20");
    fs::write(folder.join("other.json"), other).unwrap();
    let keys = format!(
        "collections = [\"other.json\", \"survey.json\"]\nmax_reports = 1000\n{}",
        world.delivering()
    );
    let shuffling = shuffle(folder, &keys).await;
    let strangers = world.reports(500..530, "other.json").await;
    let own = world.reports(0..300, "survey.json").await;
    assert_eq!(shuffling.send(&strangers.join("\n"), "").await.0, 200);
    assert_eq!(shuffling.send(&own.join("\n"), "").await.0, 200);
    soon("the reports", async || world.stored().await.len() == 300).await;
    assert_eq!(world.stored().await, (0..300).collect::<Vec<_>>());
    let refused = folder.join("batches/refused");
    soon("the refused batch", async || fs::read_dir(&refused).is_ok_and(|files| files.count() == 1)).await;
    let ada = world.client("ada").await;
    let told = rows(&ada, "SELECT n % 2, count(*), sum(n) FROM survey GROUP BY 1 ORDER BY 1").await.unwrap();
    let of = |rest: &str, sum: &str| [Some(rest.to_owned()), Some("150".into()), Some(sum.to_owned())];
    assert_eq!(told, [of("0", "22350.000000"), of("1", "22500.000000")]);
    let pets = "SELECT pet, count(*), count(*) FILTER (WHERE n % 12 = 5) FROM survey, unnest(p) AS pet GROUP BY pet ORDER BY 1";
    let of = |(pet, fifth): (&str, &str)| [pet, "75", fifth].map(|c| Some(c.to_owned()));
    assert_eq!(rows(&ada, pets).await.unwrap(), [("cat", "25"), ("dog", "0"), ("other", "0")].map(of));
    // What is waiting goes out when it has waited long, and says so.
    let few = world.reports(1000..1003, "survey.json").await;
    assert_eq!(shuffling.send(&few.join("\n"), "").await.0, 200);
    soon("the small batch", async || world.stored().await.len() == 303).await;
    let admin = world.db.superuser().await;
    let small = "SELECT count(*) FROM survey_reports_batches WHERE small AND reports = 3 AND left_out = 0";
    assert_eq!(admin.query_one(small, &[]).await.unwrap().get::<_, i64>(0), 1);
}

/// What an operator does with a batch by hand, and what is no batch.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_stored_once_and_whole_or_refused_with_a_reason() {
    let world = World::new().await;
    let folder = world.folder();
    let shuffling = shuffle(folder, "collections = [\"survey.json\"]\n").await;
    let own = world.reports(0..60, "survey.json").await;
    assert_eq!(shuffling.send(&own.join("\n"), "").await.0, 200);
    soon("the batch", async || batches(folder).len() == 1).await;
    let file = batches(folder).remove(0);
    let batch = fs::read_to_string(&file).unwrap();
    let url = world.gate.url("shuffle", PASSWORD, "bikes");
    let copy = async |text: &str| {
        fs::write(folder.join("try.batch"), text).unwrap();
        psql(
            &url,
            &format!(
                "\\set VERBOSITY verbose\n\\copy survey from '{}'\n",
                folder.join("try.batch").display()
            ),
        )
        .await
    };
    let (head, lines) = batch.split_once('\n').unwrap();
    // Each leaves nothing behind.
    let (digest, id) = (
        &head[head.find("\"collection\":\"").unwrap() + 14..][..64],
        &head[head.find("\"batch\":\"").unwrap() + 9..][..32],
    );
    let garbage = lines.replace('A', "B");
    for (text, code, said) in [
        (String::new(), "22P04", "first line is not JSON"),
        ("{}\n".into(), "22P04", "no id"),
        (
            batch.lines().take(40).map(|line| format!("{line}\n")).collect(),
            "22P04",
            "another number of reports",
        ),
        (batch.replace(digest, &"0".repeat(64)), "22023", "another description"),
        (
            format!("{head}\n{}", garbage.lines().map(|_| "AAAA\n").collect::<String>()),
            "22023",
            "none of which opens",
        ),
    ] {
        let out = copy(&text).await;
        assert!(out.stderr.contains(code) && out.stderr.contains(said), "{said}: {out:?}");
        assert!(world.stored().await.is_empty(), "{said}");
    }
    // One writer's nonsense does not hold up the others.
    let first = lines.lines().next().unwrap();
    let out = copy(&batch.replace(first, "AAAA")).await;
    assert!(
        out.stdout.contains("COPY 59") && out.stderr.contains("1 reports of the batch do not open"),
        "{out:?}"
    );
    let out = copy(&batch).await;
    assert!(out.stdout.contains("COPY 0") && out.stderr.contains("is here already"), "{out:?}");
    assert_eq!(world.stored().await.len(), 59);
    let admin = world.db.superuser().await;
    let row = admin
        .query_one("SELECT batch::text, reports, left_out FROM survey_reports_batches", &[])
        .await
        .unwrap();
    let known: String = row.get(0);
    assert_eq!((known.replace('-', "").as_str(), row.get(1), row.get(2)), (id, 59, 1));
    // By the extended protocol, and what is no way for a batch.
    let shuffle = world.client("shuffle").await;
    assert_eq!(sqlstate(&shuffle, "INSERT INTO survey VALUES (1, true)").await, "0A000");
    assert_eq!(sqlstate(&shuffle, "COPY survey (n, b) FROM STDIN").await, "0A000");
    assert_eq!(sqlstate(&shuffle, "COPY survey FROM STDIN (FORMAT csv)").await, "0A000");
    assert_eq!(sqlstate(&shuffle, "SELECT count(*) FROM survey").await, "42501");
    shuffle.batch_execute("BEGIN").await.unwrap();
    assert_eq!(sqlstate(&shuffle, "COPY survey FROM STDIN").await, "25001");
    let ada = world.client("ada").await;
    assert_eq!(sqlstate(&ada, "COPY survey FROM STDIN").await, "42501");
    let checked = noisegate(folder, &["check", "--policy", world.dir.policy().to_str().unwrap()], "").await;
    for said in [
        "a shuffler lets 50 reports or more go together",
        "central ε at δ = 1e-6 for who sees a batch",
        "CREATE TABLE \"public\".\"survey_reports_batches\"",
    ] {
        assert!(checked.stdout.contains(said), "{said}: {checked:?}");
    }
}

/// The shuffler, the proxy and the database die again and again while reports come: each that was acknowledged is in the table
/// once.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_dies_each_acknowledged_report_is_stored_once() {
    const REPORTS: usize = 1200;
    let world = World::new().await;
    let lines = world.reports(0..REPORTS, "survey.json").await;
    let keys =
        format!("collections = [\"survey.json\"]\nreports_per_minute = 100000\n{}", world.delivering());
    let folder = world.folder().to_owned();
    let mut shuffling = shuffle(&folder, &keys).await;
    let address = Arc::new(Mutex::new(shuffling.address.clone()));
    let sending = {
        let address = address.clone();
        tokio::spawn(async move {
            for chunk in lines.chunks(40) {
                // Who was not told that they are kept sends them again.
                loop {
                    let to = address.lock().unwrap().clone();
                    if Shuffling::post(&to, &chunk.join("\n"), "")
                        .await
                        .is_some_and(|(status, _)| status == 200)
                    {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(30)).await;
                }
                tokio::time::sleep(Duration::from_millis(60)).await;
            }
        })
    };
    let World { db, dir, mut gate, _cluster } = world;
    for round in 0..9u64 {
        tokio::time::sleep(Duration::from_millis(150 + 90 * (round % 4))).await;
        match round % 3 {
            0 => {
                shuffling.process.kill().await.unwrap();
                shuffling = shuffle(&folder, &keys).await;
                *address.lock().unwrap() = shuffling.address.clone();
            }
            1 => {
                gate.kill().await;
                gate = dir.serve_again().await;
            }
            _ => {
                // A server process that is killed takes all of the database with it, which recovers from its log.
                let admin = db.superuser().await;
                let pid = "SELECT pid FROM pg_stat_activity WHERE usename LIKE '%collect' ORDER BY backend_start DESC LIMIT 1";
                if let Some(row) = admin.query_opt(pid, &[]).await.unwrap() {
                    let pid: i32 = row.get(0);
                    let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
                    assert!(killed.unwrap().success());
                    soon("the crash", async || admin.is_closed()).await;
                }
                soon("the database", async || {
                    tokio_postgres::connect(&db.superuser_url, NoTls).await.is_ok()
                })
                .await;
            }
        }
    }
    sending.await.unwrap();
    soon("all reports", async || stored(&db).await.len() >= REPORTS).await;
    // What was sent twice would be there by the next turn of the shuffler.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(stored(&db).await, (0..REPORTS as i32).collect::<Vec<_>>());
    let admin = db.superuser().await;
    let counted =
        admin.query_one("SELECT sum(reports)::int8, sum(left_out)::int8 FROM survey_reports_batches", &[]);
    let counted = counted.await.unwrap();
    assert_eq!((counted.get::<_, i64>(0), counted.get::<_, i64>(1)), (REPORTS as i64, 0));
    drop((gate, shuffling));
}

/// A certificate for `localhost` that is no authority's, at `server.crt` and `server.key` of a folder.
fn certificate(folder: &Path) {
    let extensions = "[req]\ndistinguished_name = dn\nx509_extensions = leaf\n[dn]\n[leaf]\nbasicConstraints = critical, CA:FALSE\n\
        subjectAltName = DNS:localhost, IP:127.0.0.1\n";
    fs::write(folder.join("openssl.cnf"), extensions).unwrap();
    let made = std::process::Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
        ])
        .args([
            "-config",
            "openssl.cnf",
            "-subj",
            "/CN=localhost",
            "-keyout",
            "server.key",
            "-out",
            "server.crt",
        ])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
}

/// Between shuffler and analyser TLS is that of PostgreSQL: who shows no certificate of the named authority is sent nothing, and what waits goes out
/// when it is the right one. (Encoders speak HTTP to the shuffler, behind a web server: what they send is sealed.)
#[tokio::test(flavor = "multi_thread")]
async fn batches_go_to_whom_the_certificate_proves() {
    let World { db, dir, gate, _cluster } = World::new().await;
    gate.kill().await;
    let (plain, tls) = (
        "\"unix:.s.PGSQL.1\"]",
        "\"unix:.s.PGSQL.1\"]\ntls = { cert = \"server.crt\", key = \"server.key\" }",
    );
    let text = fs::read_to_string(dir.policy()).unwrap();
    assert!(text.contains(plain));
    fs::write(dir.policy(), text.replacen(plain, tls, 1)).unwrap();
    certificate(dir.path());
    fs::rename(dir.path().join("server.crt"), dir.path().join("other.crt")).unwrap();
    certificate(dir.path());
    let gate = dir.serve_again().await;
    let world = World { db, dir, gate, _cluster };
    let port = world.gate.address.rsplit_once(':').unwrap().1;
    let analyser = |root: &str| {
        let root = world.folder().join(root);
        format!(
            "[analyser]\nurl = \"host=127.0.0.1 port={port} user=shuffle password='{PASSWORD}' dbname=bikes sslmode=verify-ca sslrootcert={}\"\n",
            root.display()
        )
    };
    let mut shuffling = shuffle(world.folder(), &analyser("other.crt")).await;
    let own = world.reports(0..60, "survey.json").await;
    assert_eq!(shuffling.send(&own.join("\n"), "").await.0, 200);
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert!(world.stored().await.is_empty(), "nothing goes to a stranger");
    shuffling.process.kill().await.unwrap();
    let _shuffling = shuffle(world.folder(), &analyser("server.crt")).await;
    soon("the reports", async || world.stored().await == (0..60).collect::<Vec<_>>()).await;
}
