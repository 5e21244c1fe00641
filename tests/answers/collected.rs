//! What is collected by local differential privacy: written through the proxy, stored as randomised reports, estimated for
//! analysts, over the wire.

mod confided;
mod permanent;
mod sets;

use crate::city::{self, PASSWORD, policy, rows, sqlstate};
use crate::support::{Gate, LOGIN_PASSWORD, Output, TestDb, Workdir, connect, psql, run};
use crate::usual::rules;
use std::process::Stdio;
use tokio::process::Command;
use tokio_postgres::Client;

const RULES: &str = rules!([epsilon = 100] ["pure", epsilon = 1000]);

/// Columns at an ε by which randomised response tells the truth but once in e^100 times: estimates are exact, and those over
/// weights must equal those over rows.
const TRUTHFUL: &str = "\
[collect.survey]
users = [\"form\"]
columns.answer = { kind = \"categorical\", values = [\"yes\", \"no\", \"other\"], other = \"other\", epsilon = 100, randomiser = \"response\" }
columns.city = { kind = \"categorical\", values = [\"City 0\", \"City 1\", \"City 2\"], epsilon = 100, missing = true, randomiser = \"response\" }
columns.visits = { kind = \"count\", range = [0, 9], epsilon = 100, randomiser = \"response\" }
";

struct World {
    db: TestDb,
    dir: Workdir,
    gate: Gate,
}

impl World {
    /// The table that the policy's `survey` needs is made with `columns`.
    async fn new(collect: &str, columns: &str) -> Self {
        Self::with(collect, columns, |policy| policy).await
    }

    /// Under a policy that is written otherwise.
    async fn with(collect: &str, columns: &str, edit: impl FnOnce(String) -> String) -> Self {
        let db = city::bikes().await;
        let name = db.name.clone();
        db.execute(&format!(
            "CREATE ROLE {name}_collect LOGIN PASSWORD '{LOGIN_PASSWORD}';
             GRANT CONNECT ON DATABASE {name} TO {name}_collect;
             CREATE TABLE survey_reports ({columns});
             GRANT INSERT ON survey_reports TO {name}_collect;
             GRANT SELECT ON survey_reports TO {name}_fetch, {name}_finish;"
        ))
        .await;
        let url = db.fetch_url.replace(&format!("{name}_fetch"), &format!("{name}_collect"));
        let backend = format!("{}collect_url = \"{url}\"\n", db.backend_toml());
        let dir = Workdir::new(&edit(policy(&backend, &["ada", "form"], &format!("{RULES}{collect}"))));
        let key = dir.path().join("person.key");
        std::fs::write(&key, [7; 32]).unwrap();
        std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let gate = dir.serve().await;
        Self { db, dir, gate }
    }

    /// A policy that collects, has no table about people, and no budget.
    async fn alone(collect: &str, columns: &str) -> (TestDb, Workdir) {
        let world = Self::new(collect, columns).await;
        let text = std::fs::read_to_string(world.dir.policy()).unwrap();
        let (head, rest) = text.split_once(RULES).unwrap();
        let (collected, _) = rest.split_once("[privacy]").unwrap();
        drop(world.gate);
        (world.db, Workdir::new(&format!("{head}{collected}")))
    }

    async fn truthful() -> Self {
        Self::new(TRUTHFUL, "answer int4 NOT NULL, city int4 NOT NULL, visits int4 NOT NULL").await
    }

    async fn client(&self, user: &str) -> Client {
        connect(&self.gate.url(user, PASSWORD, "bikes")).await
    }

    async fn psql(&self, user: &str, script: &str) -> Output {
        psql(&self.gate.url(user, PASSWORD, "bikes"), script).await
    }

    async fn stored(&self) -> i64 {
        let admin = self.db.superuser().await;
        admin.query_one("SELECT count(*) FROM survey_reports", &[]).await.unwrap().get(0)
    }
}

/// The same rows as they are, for PostgreSQL to answer.
const RAW: &str = "
    CREATE TABLE raw (answer text, city text, visits int);
    INSERT INTO raw SELECT (ARRAY['yes', 'no', 'maybe'])[1 + i % 3], (ARRAY['City 0', 'City 1', 'City 2', NULL])[1 + i * 7 % 4],
        i * i % 10 FROM generate_series(1, 200) i;";

#[tokio::test(flavor = "multi_thread")]
async fn estimates_over_truthful_reports_are_those_of_postgresql() {
    let world = World::truthful().await;
    world.db.execute(RAW).await;
    let admin = world.db.superuser().await;
    // By COPY, as psql does it.
    let said = rows(&admin, "SELECT answer, coalesce(city, '\\N'), visits FROM raw").await.unwrap();
    let lines: String = said
        .iter()
        .map(|r| format!("{}\n", r.iter().map(|c| c.as_deref().unwrap()).collect::<Vec<_>>().join("\t")))
        .collect();
    let out =
        world.psql("form", &format!("COPY survey (answer, city, visits) FROM STDIN;\n{lines}\\.\n")).await;
    assert!(out.stdout.contains("COPY 200"), "{out:?}");
    let ada = world.client("ada").await;
    admin
        .batch_execute(
            "UPDATE raw SET answer = 'other' WHERE answer = 'maybe'; ALTER TABLE raw RENAME TO survey",
        )
        .await
        .unwrap();
    for sql in [
        "SELECT count(*) FROM survey",
        "SELECT answer, count(*) FROM survey GROUP BY answer ORDER BY 1",
        "SELECT city, count(*), sum(visits), round(avg(visits), 4) FROM survey GROUP BY 1 ORDER BY 1",
        "SELECT count(*) FILTER (WHERE visits > 4), count(city) FROM survey WHERE answer <> 'no'",
        "SELECT visits % 2, count(*) AS n FROM survey WHERE answer = 'yes' OR city IS NULL GROUP BY 1 HAVING count(*) > 3 ORDER BY n",
        "SELECT s.answer, c.capacity, count(*) FROM survey s JOIN stations c ON s.city = c.city GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT count(*), sum(n), round(avg(share), 4) FROM (SELECT answer, count(*) AS n, count(*) / 200.0 AS share
           FROM survey GROUP BY answer) t",
        "WITH t AS (SELECT city, count(*) AS n FROM survey GROUP BY city) SELECT city, n, rank() OVER (ORDER BY n DESC, city) FROM t
           ORDER BY 1",
        "SELECT answer, count(*) * 2 + 1, sum(count(*)) OVER () FROM survey GROUP BY answer ORDER BY count(*) DESC, answer",
        "SELECT round(sum(visits * 2 + 1)) FROM survey WHERE visits BETWEEN 2 AND 7",
        "SELECT answer, city, grouping(answer, city) AS g, count(*), sum(visits) FROM survey GROUP BY ROLLUP (answer, city) ORDER BY 3, 1, 2",
        "SELECT answer, visits % 2 AS odd, count(*) FROM survey GROUP BY CUBE (answer, 2) HAVING grouping(answer) = 0 OR count(*) > 90 ORDER BY 1, 2",
        "SELECT city, answer, count(*) FROM survey GROUP BY GROUPING SETS ((city), (answer), (answer), ()) ORDER BY 1, 2",
        "SELECT answer, count(*) FROM survey WHERE answer = 'nobody' GROUP BY ROLLUP (answer)",
        "SELECT count(*) FROM survey GROUP BY ()",
        "SELECT coalesce(city, 'none'), max(n) FROM (SELECT city, answer, count(*) n FROM survey GROUP BY 1, 2) x GROUP BY 1 ORDER BY 1",
    ] {
        let told = rows(&ada, sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        let number = |c: &Option<String>| c.as_ref().map(|c| c.parse::<f64>().map_or(c.clone(), |n| format!("{n:.4}")));
        let plain = |rows: Vec<Vec<Option<String>>>| -> Vec<Vec<Option<String>>> {
            rows.iter().map(|r| r.iter().map(number).collect()).collect()
        };
        assert_eq!(plain(told), plain(rows(&admin, sql).await.unwrap()), "{sql}");
    }
    // Beside noise over private rows, at the price of those alone.
    let both = "SELECT s.n, r.n FROM (SELECT count(*) AS n FROM survey WHERE answer = 'no') s, (SELECT count(*) AS n FROM riders) r";
    let told = rows(&ada, both).await.unwrap();
    assert_eq!(told, [[Some("67".to_owned()), Some("500".to_owned())]]);
    // Nothing else was charged.
    let left = rows(&ada, "SELECT fraction_left FROM noisegate.budget").await.unwrap();
    assert_eq!(left, [[Some("0.900000".to_owned())]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_estimates_cannot_tell_is_refused() {
    let world = World::truthful().await;
    let ada = world.client("ada").await;
    for sql in [
        "SELECT * FROM survey",
        "SELECT answer FROM survey",
        "SELECT DISTINCT answer, count(*) FROM survey GROUP BY answer",
        "SELECT count(DISTINCT answer) FROM survey",
        "SELECT max(visits) FROM survey",
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY visits) FROM survey",
        "SELECT count(*) FROM survey a JOIN survey b ON a.answer = b.answer",
        "SELECT count(*) FROM stations s LEFT JOIN survey v ON s.city = v.city",
        "SELECT count(*) FROM survey v WHERE EXISTS (SELECT FROM stations s WHERE s.city = v.city)",
        "INSERT INTO survey VALUES ('yes', NULL, 1)",
    ] {
        let code = sqlstate(&ada, sql).await;
        assert!(["0A000", "42501"].contains(&code.as_str()), "{sql}: {code}");
    }
    // The reports themselves have no name.
    assert_eq!(sqlstate(&ada, "SELECT count(*) FROM survey_reports").await, "42P01");
    assert_eq!(sqlstate(&ada, "SELECT count(*) FROM public.survey_reports").await, "42P01");
    let shown =
        rows(&ada, "SELECT relname FROM pg_catalog.pg_class WHERE relname LIKE 'survey%'").await.unwrap();
    assert_eq!(shown, [[Some("survey".to_owned())]], "what is collected, and no reports");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_writes_reads_nothing_and_what_would_read_is_refused() {
    let world = World::truthful().await;
    let form = world.client("form").await;
    for sql in [
        "SELECT count(*) FROM survey",
        "SELECT * FROM stations",
        "SELECT count(*) FROM riders",
        "SELECT * FROM noisegate.budget",
        "SELECT relname FROM pg_catalog.pg_class",
        "INSERT INTO stations VALUES ('x', 'y', 1)",
        "INSERT INTO survey_reports VALUES (0, 0, 0)",
    ] {
        assert_eq!(sqlstate(&form, sql).await, "42501", "{sql}");
    }
    for sql in [
        "INSERT INTO survey VALUES ('yes', NULL, 1) RETURNING *",
        "INSERT INTO survey VALUES ('yes', NULL, 1) ON CONFLICT DO NOTHING",
        "INSERT INTO survey SELECT 'yes', NULL, 1",
        "INSERT INTO survey VALUES (lower('YES'), NULL, 1)",
        "INSERT INTO survey VALUES ((SELECT city FROM stations LIMIT 1), NULL, 1)",
        "INSERT INTO survey DEFAULT VALUES",
    ] {
        assert_eq!(sqlstate(&form, sql).await, "0A000", "{sql}");
    }
    for (sql, code) in [
        ("INSERT INTO survey VALUES ('yes', 'Atlantis', 1)", "23514"),
        ("INSERT INTO survey VALUES ('yes', NULL, 10)", "22003"),
        ("INSERT INTO survey VALUES ('yes', NULL, 'many')", "22P02"),
        ("INSERT INTO survey VALUES ('yes', NULL, NULL)", "23502"),
        ("INSERT INTO survey (answer) VALUES ('yes')", "23502"),
        ("INSERT INTO survey (answer, age) VALUES ('yes', 1)", "42703"),
        ("INSERT INTO survey VALUES ('yes')", "42601"),
        ("INSERT INTO survey VALUES ('yes', NULL, 1), ('yes', 'Atlantis', 1)", "23514"),
        ("INSERT INTO survey VALUES ($1, NULL, 1)", "42P02"),
    ] {
        assert_eq!(sqlstate(&form, sql).await, code, "{sql}");
    }
    let out = world
        .psql("form", "COPY survey FROM STDIN (FORMAT csv);\nyes,City 1,3\nyes,Atlantis,3\n\\.\nSELECT 7;\n")
        .await;
    assert!(out.stderr.contains("a value outside of the domain in column \"city\" of row 2"), "{out:?}");
    assert!(out.stdout.contains('7') && !out.stderr.contains("Atlantis"), "{out:?}");
    assert_eq!(world.stored().await, 0, "what fails stores nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_are_postgresqls() {
    let world = World::truthful().await;
    let mut form = world.client("form").await;
    let insert = "INSERT INTO survey VALUES ('yes', NULL, 1)";
    form.simple_query(insert).await.unwrap();
    assert_eq!(world.stored().await, 1);
    form.batch_execute(&format!("BEGIN; {insert}; {insert}")).await.unwrap();
    assert_eq!(world.stored().await, 1, "until COMMIT nothing is stored");
    form.batch_execute("ROLLBACK").await.unwrap();
    form.batch_execute(&format!("BEGIN; {insert}; SAVEPOINT a; {insert}; ROLLBACK TO a; {insert}; COMMIT"))
        .await
        .unwrap();
    assert_eq!(world.stored().await, 3);
    // One that failed ends in a rollback, whatever it is told.
    form.batch_execute(&format!("BEGIN; {insert}")).await.unwrap();
    assert_eq!(sqlstate(&form, "INSERT INTO survey VALUES ('yes', 'Atlantis', 1)").await, "23514");
    assert_eq!(sqlstate(&form, insert).await, "25P02");
    form.batch_execute("COMMIT").await.unwrap();
    assert_eq!(world.stored().await, 3);
    // Prepared, with parameters of each kind.
    let transaction = form.transaction().await.unwrap();
    let prepared =
        transaction.prepare("INSERT INTO survey (visits, answer, city) VALUES ($1, $2, $3)").await.unwrap();
    for i in 0..50i32 {
        let city = (i % 2 == 0).then_some("City 2");
        assert_eq!(transaction.execute(&prepared, &[&(i % 10), &"no", &city]).await.unwrap(), 1);
    }
    transaction.commit().await.unwrap();
    assert_eq!(world.stored().await, 53);
    // A COMMIT that cannot store says so, and the transaction is over.
    world.db.execute(&format!("REVOKE INSERT ON survey_reports FROM {}_collect", world.db.name)).await;
    form.batch_execute(&format!("BEGIN; {insert}")).await.unwrap();
    assert_eq!(sqlstate(&form, "COMMIT").await, "57P03");
    form.batch_execute("BEGIN; ROLLBACK").await.unwrap();
    assert_eq!(world.stored().await, 53);
}

/// Of each randomiser: 3,000 people, estimates within what randomising may do but once in a million times.
#[tokio::test(flavor = "multi_thread")]
async fn estimates_are_as_near_as_they_say() {
    let words: Vec<String> = (0..40).map(|i| format!("\"w{i}\"")).collect();
    let collect = format!(
        "[collect.survey]\nusers = [\"form\"]\n\
         columns.answer = {{ kind = \"categorical\", values = [\"a\", \"b\", \"c\"], epsilon = 2, randomiser = \"response\" }}\n\
         columns.pet = {{ kind = \"categorical\", values = [\"cat\", \"dog\", \"fish\"], epsilon = 2, randomiser = \"unary\" }}\n\
         columns.word = {{ kind = \"categorical\", values = [{}], epsilon = 2, randomiser = \"hadamard\" }}\n\
         columns.age = {{ kind = \"number\", range = [0, 100], epsilon = 2, randomiser = \"piecewise\" }}\n\
         columns.fee = {{ kind = \"number\", range = [-1, 1], grid = 0.5, epsilon = 2, randomiser = \"rounding\" }}\n",
        words.join(", ")
    );
    let columns =
        "answer int4 NOT NULL, pet bytea NOT NULL, word int4 NOT NULL, age int4 NOT NULL, fee int4 NOT NULL";
    let world = World::new(&collect, columns).await;
    let n = 3_000;
    let row = |i: i32| {
        format!(
            "{},{},w{},{},{}",
            ["a", "b"][usize::from(i % 4 == 0)],
            ["cat", "dog"][usize::from(i % 3 == 0)],
            i % 2 * 7,
            20 + i % 30,
            0.5
        )
    };
    let lines: String = (0..n).map(|i| row(i) + "\n").collect();
    let out = world.psql("form", &format!("COPY survey FROM STDIN (FORMAT csv);\n{lines}\\.\n")).await;
    assert!(out.stdout.contains("COPY 3000"), "{out:?}");
    let ada = world.client("ada").await;
    let each = async |sql: &str| -> Vec<f64> {
        let cells = rows(&ada, sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        cells[0].iter().map(|c| c.as_ref().unwrap().parse().unwrap()).collect()
    };
    for (aggregate, filter, truth) in [
        ("count(*)", "answer = 'a'", 2250.0),
        ("count(*)", "answer = 'c'", 0.0),
        ("count(*)", "answer IN ('a', 'c')", 2250.0),
        ("count(*)", "pet = 'dog'", 1000.0),
        ("count(*)", "word = 'w7'", 1500.0),
        ("count(*)", "word = 'w39'", 0.0),
        ("count(*)", "answer = 'b' AND pet = 'cat'", 500.0),
        ("avg(age)", "true", 34.5),
        ("sum(fee)", "true", 1500.0),
        ("avg(age)", "pet = 'cat'", 34.5),
        ("sum(age)", "answer = 'b'", 750.0 * 34.0),
    ] {
        let sql = format!("SELECT {aggregate}, noisegate.stddev({aggregate}) FROM survey WHERE {filter}");
        let told = each(&sql).await;
        // 4.9 deviations are exceeded once in a million times, of a normal error; a count is rounded.
        assert!((told[0] - truth).abs() <= 5.5 * told[1] + 0.5, "{sql}: {told:?}, not {truth}");
        assert!(told[1] > 0.0 && told[1] < truth.abs().max(3000.0), "{sql}: {told:?}");
    }
    // The deviation is that of theory: for a share of the domain √(n·q(1-q))/(p-q) and a little more.
    let oracle = noisegate::dp::randomised::Oracle::new(
        noisegate::dp::randomised::OracleKind::Hadamard,
        40,
        &noisegate::dp::Ratio::from_integer(2),
    );
    let expected = oracle.unwrap().deviation(3_000, 1_500);
    let told = each("SELECT noisegate.stddev(count(*)) FROM survey WHERE word = 'w7'").await[0];
    assert!((told / expected - 1.0).abs() < 0.1, "{told}, by theory {expected}");
    // All of an interval, beside what was asked.
    let all =
        rows(&ada, "SET noisegate.intervals = on; SELECT answer, count(*) FROM survey GROUP BY 1 ORDER BY 1")
            .await
            .unwrap();
    let number = |c: &Option<String>| c.as_ref().unwrap().parse::<i64>().unwrap();
    assert!(
        all.len() == 3 && all.iter().all(|r| number(&r[2]) < number(&r[1]) && number(&r[1]) < number(&r[3])),
        "{all:?}"
    );
    ada.batch_execute("SET noisegate.intervals = off").await.unwrap();
    // Of grouping sets each has the error that it has by itself, the weights of randomised response adding up to one.
    let sets = "SELECT grouping(answer, answer = 'a'), answer, answer = 'a', count(*), noisegate.stddev(count(*)), avg(age), noisegate.stddev(avg(age))
        FROM survey GROUP BY GROUPING SETS ((answer, answer = 'a'), (answer = 'a'), ()) ORDER BY 1, 2, 3";
    let sets = rows(&ada, sets).await.unwrap();
    assert_eq!(sets.len(), 3 + 2 + 1);
    for (g, by) in [("0", "answer, answer = 'a'"), ("2", "answer = 'a'"), ("3", "")] {
        let list = if by.is_empty() { String::new() } else { format!("{by}, ") };
        let group = if by.is_empty() { String::new() } else { format!("GROUP BY {by} ORDER BY {by}") };
        let sql = format!(
            "SELECT {list}count(*), noisegate.stddev(count(*)), avg(age), noisegate.stddev(avg(age)) FROM survey {group}"
        );
        let alone = rows(&ada, &sql).await.unwrap();
        let own: Vec<_> = sets.iter().filter(|r| r[0].as_deref() == Some(g)).collect();
        assert_eq!(own.len(), alone.len());
        for (own, alone) in own.iter().zip(alone) {
            for (a, b) in own[3..].iter().zip(&alone[alone.len() - 4..]) {
                let number = |c: &Option<String>| c.as_ref().map_or(f64::NAN, |c| c.parse::<f64>().unwrap());
                let (a, b) = (number(a), number(b));
                assert!(
                    (a - b).abs() <= 1e-4 * b.abs().max(1.0) || (a.is_nan() && b.is_nan()),
                    "{by}: {own:?}, not {alone:?}"
                );
            }
        }
    }
    let twice =
        "SELECT answer, noisegate.low(count(*)) FROM survey GROUP BY GROUPING SETS ((answer), (answer))";
    assert_eq!(sqlstate(&ada, twice).await, "0A000");
    // What a number does not hang on adds nothing to it.
    let beside = "SELECT count(*), count(*) FILTER (WHERE pet = 'dog'), noisegate.stddev(count(*) FILTER (WHERE answer = 'a')) FROM survey";
    let beside = each(beside).await;
    let alone = each("SELECT count(*), noisegate.stddev(count(*)) FROM survey WHERE answer = 'a'").await;
    assert!(beside[0] == 3000.0 && (beside[2] / alone[1] - 1.0).abs() < 1e-6, "{beside:?} {alone:?}");
    // A number alone is noise.
    assert_eq!(sqlstate(&ada, "SELECT count(*) FROM survey WHERE age > 40").await, "0A000");
    assert_eq!(sqlstate(&ada, "SELECT age, count(*) FROM survey GROUP BY age").await, "0A000");
}

/// What people said is in no log, at any level, in no file of the proxy, and in no table.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_is_written_nowhere() {
    let collect = "[log]\nlevel = \"trace\"\n[collect.survey]\nusers = [\"form\"]\n\
         columns.answer = { kind = \"categorical\", values = [\"yes\", \"rest\"], other = \"rest\", epsilon = 1 }\n\
         columns.visits = { kind = \"count\", range = [0, 9], epsilon = 1 }\n";
    let world = World::new(collect, "answer int4 NOT NULL, visits int4 NOT NULL").await;
    let text = std::fs::read_to_string(world.dir.policy()).unwrap();
    std::fs::write(
        world.dir.policy(),
        text.replace("url = \"sqlite:noisegate.db\"", "url = \"sqlite:noisegate.db\"\ntext = true"),
    )
    .unwrap();
    let World { db, dir, gate } = world;
    gate.kill().await;
    let log = dir.path().join("trace.log");
    let file = std::fs::File::create(&log).unwrap();
    let gate = dir
        .serve_with(|command| {
            command.env("NOISEGATE_LOG", "trace").stderr(Stdio::from(file));
        })
        .await;
    let world = World { db, dir, gate };
    let planted = "xyzzyplugh";
    let mut form = world.client("form").await;
    form.simple_query(&format!("INSERT INTO survey VALUES ('{planted}', 1)")).await.unwrap();
    let transaction = form.transaction().await.unwrap();
    transaction.execute("INSERT INTO survey VALUES ($1, $2)", &[&planted, &3i32]).await.unwrap();
    transaction.commit().await.unwrap();
    let copied = world.psql("form", &format!("COPY survey FROM STDIN;\n{planted}\t4\n\\.\n")).await;
    assert!(copied.stdout.contains("COPY 1"), "{copied:?}");
    // What fails, too: outside of a domain, of another type, not understood.
    for sql in [
        format!("INSERT INTO survey VALUES ('yes', '{planted}')"),
        format!("INSERT INTO survey VALUES ('{planted}', 99)"),
        format!("INSERT INTO survey VALUES (upper('{planted}'), 9)"),
        format!("INSERT INTO survey VALUES ('{planted}', 9) RETURNING 1"),
        format!("INSERT INTO survey VALUES ('{planted}', 9"),
        format!("INSERT INTO elsewhere VALUES ('{planted}', 9)"),
    ] {
        assert!(form.simple_query(&sql).await.is_err(), "{sql}");
    }
    world.psql("form", &format!("COPY survey FROM STDIN;\nyes\t{planted}\n\\.\n")).await;
    assert_eq!(world.stored().await, 3);
    let written = std::fs::read_to_string(&log).unwrap();
    assert!(
        written.contains("class=\"insert\"") || written.contains("class=insert"),
        "the log is there: {written}"
    );
    for file in std::fs::read_dir(world.dir.path()).unwrap() {
        let file = file.unwrap().path();
        // There are sockets, too.
        if !file.is_file() {
            continue;
        }
        let bytes = std::fs::read(&file).unwrap();
        let found = bytes.windows(planted.len()).any(|w| w == planted.as_bytes());
        assert!(!found, "{}", file.display());
    }
}

/// A proxy that is killed while it writes: what was acknowledged is there, once; of what was not, all of a transaction or none.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_is_there_once() {
    let world = World::truthful().await;
    let World { db, dir, mut gate } = world;
    let (mut acknowledged, mut sent) = (0i64, 0i64);
    for round in 0..3u64 {
        let form = connect(&gate.url("form", PASSWORD, "bikes")).await;
        let writing = tokio::spawn(async move {
            let mut done = 0;
            // Each transaction has three rows; the last one's answer may not come.
            while form.batch_execute("BEGIN; INSERT INTO survey VALUES ('yes', NULL, 1), ('no', NULL, 2); INSERT INTO survey VALUES ('no', NULL, 3); COMMIT").await.is_ok() {
                done += 1;
            }
            done
        });
        tokio::time::sleep(std::time::Duration::from_millis(200 + 70 * round)).await;
        gate.kill().await;
        let done: i64 = writing.await.unwrap();
        acknowledged += 3 * done;
        sent += 3 * (done + 1);
        gate = dir.serve_again().await;
    }
    let admin = db.superuser().await;
    let stored: i64 = admin.query_one("SELECT count(*) FROM survey_reports", &[]).await.unwrap().get(0);
    assert!(
        acknowledged > 0 && acknowledged <= stored && stored <= sent && stored % 3 == 0,
        "{acknowledged} {stored} {sent}"
    );
}

/// A person gives as many rows as fit into a window, whatever they say and however they write, and after a crash no more; who it is
/// stands nowhere.
#[tokio::test(flavor = "multi_thread")]
async fn one_person_gives_as_many_rows_as_fit_into_a_window() {
    let collect = "[collect.survey]\nusers = [\"form\"]\nperson = \"device\"\nperson_key_file = \"person.key\"\nepsilon = 350
window = \"365d\"\ncolumns.answer = { kind = \"boolean\", epsilon = 100, randomiser = \"response\" }\n";
    let world = World::new(collect, "answer int4 NOT NULL").await;
    let form = world.client("form").await;
    let of = |device: &str| format!("INSERT INTO survey (device, answer) VALUES ('{device}', true)");
    for sql in [
        of("planted-1"),
        format!("BEGIN; {}; {}; ROLLBACK", of("planted-1"), of("planted-1")),
        format!("BEGIN; {}; {}; COMMIT", of("planted-1"), of("planted-2")),
        "INSERT INTO survey VALUES (false, 'planted-1')".to_owned(),
    ] {
        form.batch_execute(&sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }
    assert_eq!(sqlstate(&form, &of("planted-1")).await, "53400");
    assert_eq!(
        sqlstate(&form, "INSERT INTO survey VALUES (true, 'planted-2'), (true, 'planted-1')").await,
        "53400"
    );
    form.batch_execute("BEGIN; INSERT INTO survey VALUES (true, 'planted-1')").await.unwrap();
    assert_eq!(sqlstate(&form, "COMMIT").await, "53400");
    assert_eq!(sqlstate(&form, "INSERT INTO survey (answer) VALUES (true)").await, "23502");
    assert_eq!(sqlstate(&form, "INSERT INTO survey VALUES (true, '')").await, "23502");
    assert_eq!(world.stored().await, 4);
    let ada = world.client("ada").await;
    assert_eq!(sqlstate(&ada, "SELECT device, count(*) FROM survey GROUP BY 1").await, "42703");
    let World { db, dir, gate } = world;
    gate.kill().await;
    let gate = dir.serve_again().await;
    let out = psql(
        &gate.url("form", PASSWORD, "bikes"),
        "\\set VERBOSITY verbose\nCOPY survey FROM STDIN;\nt\tplanted-2\nf\tplanted-1\n\\.\nCOPY survey FROM STDIN;\nt\tplanted-2\nf\tplanted-2\n\\.\n",
    )
    .await;
    assert!(out.stderr.contains("53400: row 2 is of a person") && out.stdout.contains("COPY 2"), "{out:?}");
    assert!(!out.stderr.contains("planted"), "{out:?}");
    let admin = db.superuser().await;
    let stored: i64 = admin.query_one("SELECT count(*) FROM survey_reports", &[]).await.unwrap().get(0);
    assert_eq!(stored, 6);
    let checked = dir.noisegate(&["check"]).await;
    assert!(
        checked.stdout.contains("told apart by \"device\", gives 3 rows in 31536000 s, ε = 300 of 350"),
        "{checked:?}"
    );
    assert!(dir.path().join("survey.persons.db").exists());
    nothing_planted(dir.path());
    // With another key everybody would be somebody new.
    std::fs::write(dir.path().join("person.key"), [8; 32]).unwrap();
    let reloaded = dir.noisegate(&["ctl", "reload"]).await;
    assert!(reloaded.stderr.contains("made with another person_key_file"), "{reloaded:?}");
    gate.kill().await;
    let started = dir.noisegate(&["serve"]).await;
    assert!(started.stderr.contains("made with another person_key_file"), "{started:?}");
}

/// No file below a folder holds what the tests call planted.
fn nothing_planted(folder: &std::path::Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            nothing_planted(&path);
        } else if let Ok(bytes) = std::fs::read(&path) {
            assert!(!bytes.windows(7).any(|w| w == b"planted"), "{}", path.display());
        }
    }
}

/// psycopg, as a form would use it: executemany, and COPY.
#[tokio::test(flavor = "multi_thread")]
async fn psycopg_writes() {
    let world = World::truthful().await;
    let script = format!(
        "import psycopg\n\
         with psycopg.connect({:?}) as c:\n\
         \x20   with c.cursor() as cur:\n\
         \x20       cur.executemany('INSERT INTO survey (answer, city, visits) VALUES (%s, %s, %s)',\n\
         \x20           [(['yes', 'no'][i % 2], None if i % 3 else 'City 0', i % 10) for i in range(500)])\n\
         \x20       with cur.copy('COPY survey (answer, visits) FROM STDIN') as copy:\n\
         \x20           for i in range(500):\n\
         \x20               copy.write_row(('other', 1))\n\
         print('written')\n",
        world.gate.url("form", PASSWORD, "bikes")
    );
    let mut python = Command::new(crate::support::python().await);
    python.args(["-c", &script]);
    let out = run(python, "").await;
    assert!(out.stdout.contains("written"), "{out:?}");
    let ada = world.client("ada").await;
    let told =
        rows(&ada, "SELECT answer, count(*), count(city) FROM survey GROUP BY 1 ORDER BY 1").await.unwrap();
    let text = |cells: &[&str]| cells.iter().map(|c| Some((*c).to_owned())).collect::<Vec<_>>();
    assert_eq!(told, [text(&["no", "250", "83"]), text(&["other", "500", "0"]), text(&["yes", "250", "84"])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_may_collect_and_hold_nothing() {
    let (_db, dir) =
        World::alone(TRUTHFUL, "answer int4 NOT NULL, city int4 NOT NULL, visits int4 NOT NULL").await;
    let checked = dir.noisegate(&["check"]).await;
    assert!(checked.status.success(), "{checked:?}");
    assert!(checked.stdout.contains("unit      none: no table is about people"), "{}", checked.stdout);
    let gate = dir.serve().await;
    let form = connect(&gate.url("form", PASSWORD, "bikes")).await;
    form.batch_execute("INSERT INTO survey VALUES ('yes', 'City 1', 3), ('no', NULL, 4)").await.unwrap();
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let told = rows(&ada, "SELECT answer, count(*) FROM survey GROUP BY 1 ORDER BY 2 DESC, 1").await.unwrap();
    assert_eq!(told.len(), 3, "{told:?}");
    // Tables about people may come later: nothing was spent on anybody before.
    drop((form, ada, gate));
    let text = std::fs::read_to_string(dir.policy()).unwrap();
    let people = "[privacy]\nunit = \"riders.rider_id\"\n[table.riders]\nunit_column = \"rider_id\"\n";
    std::fs::write(dir.policy(), format!("{text}{RULES}{people}")).unwrap();
    let gate = dir.serve_again().await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    assert_eq!(rows(&ada, "SELECT count(*) FROM riders").await.unwrap().len(), 1);
}

/// Estimates of few people at a small ε, of which some are below 0.
const NOISY: &str = "\
[collect.survey]
users = [\"form\"]
columns.answer = { kind = \"count\", range = [0, 7], epsilon = 0.5, randomiser = \"response\" }
columns.smokes = { kind = \"boolean\", epsilon = 0.5, randomiser = \"response\" }
columns.age = { kind = \"number\", range = [0, 100], epsilon = 1, randomiser = \"rounding\" }
";

/// The nearest point with sum `whole` and no coordinate below 0, by bisection.
fn nearest(estimates: &[f64], whole: f64) -> Vec<f64> {
    let above = |theta: f64| estimates.iter().map(|u| (u - theta).max(0.0)).collect::<Vec<f64>>();
    let (mut low, mut high) = (-1e9, 1e9);
    for _ in 0..200 {
        let theta = f64::midpoint(low, high);
        if above(theta).iter().sum::<f64>() > whole { low = theta } else { high = theta }
    }
    above(low)
}

#[tokio::test(flavor = "multi_thread")]
async fn consistent_estimates_are_the_nearest_that_can_be_true() {
    let columns = "answer int4 NOT NULL, smokes int4 NOT NULL, age int4 NOT NULL";
    let world = World::new(NOISY, columns).await;
    let form = world.client("form").await;
    let said: Vec<String> = (0..200).map(|i| format!("({}, {}, 40)", i % 3, i % 4 == 0)).collect();
    form.batch_execute(&format!("INSERT INTO survey VALUES {}", said.join(", "))).await.unwrap();
    let ada = world.client("ada").await;
    let estimates = async |sql: &str| -> Vec<f64> {
        let told = rows(&ada, sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        told.iter().map(|row| row.last().unwrap().as_ref().unwrap().parse().unwrap()).collect()
    };
    for by in ["answer", "smokes, answer"] {
        let sql = format!("SELECT {by}, count(*) FROM survey GROUP BY {by} ORDER BY {by}");
        ada.batch_execute("SET noisegate.consistent = off").await.unwrap();
        let raw = estimates(&sql).await;
        ada.batch_execute("SET noisegate.consistent = on").await.unwrap();
        let made = estimates(&sql).await;
        // Each is rounded to a whole number, before and after.
        let expected = nearest(&raw, 200.0);
        assert_eq!(made.len(), expected.len());
        for (made, expected) in made.iter().zip(&expected) {
            assert!(*made >= 0.0 && (made - expected).abs() < 2.0, "{by}: {raw:?}, {made} for {expected}");
        }
        let sum: f64 = made.iter().sum();
        assert!((sum - 200.0).abs() <= made.len() as f64 / 2.0, "{sum} of 200");
    }
    let told = rows(&ada, "EXPLAIN SELECT answer, count(*) FROM survey GROUP BY answer").await.unwrap();
    let told: String = told.iter().flatten().flatten().map(String::as_str).collect();
    assert!(told.contains("noisegate.consistent is on"), "{told}");
    // Parts of the whole, and the whole; in a query around it, too.
    let parts = "SELECT count(*) FILTER (WHERE smokes) + count(*) FILTER (WHERE NOT smokes) FROM survey";
    assert!((estimates(parts).await[0] - 200.0).abs() <= 1.0);
    assert_eq!(estimates("SELECT count(*) FROM survey").await, [200.0]);
    let around = "SELECT sum(n) FROM (SELECT answer, count(*) AS n FROM survey GROUP BY answer) t";
    assert!((estimates(around).await[0] - 200.0).abs() <= 4.0);
    for refused in [
        "SELECT answer, noisegate.low(count(*)) FROM survey GROUP BY answer",
        "SET noisegate.intervals = on; SELECT answer, count(*) FROM survey GROUP BY answer",
        "SET noisegate.intervals = off; SELECT answer, avg(age) FROM survey GROUP BY answer",
    ] {
        assert_eq!(sqlstate(&ada, refused).await, "0A000", "{refused}");
    }
    assert_eq!(estimates("SELECT avg(age) FROM survey").await.len(), 1, "no parts of a whole");
}

/// What is collected is found like a view by who looks around, with the types that it is asked in; the table of its reports is not.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_collected_is_found_by_who_looks_around() {
    let world = World::truthful().await;
    let out = world.psql("ada", "\\d\n\\d survey\n\\d survey_reports").await;
    assert!(out.stdout.contains(" public | survey   | view  | noisegate"), "{}", out.stdout);
    assert!(out.stdout.contains(" visits | integer |"), "{}", out.stdout);
    assert!(!out.stdout.contains("survey_reports"), "{}", out.stdout);
    assert!(out.stderr.contains("Did not find any relation named \"survey_reports\""), "{}", out.stderr);
    let ada = world.client("ada").await;
    let all = async |sql: &str| {
        let cells = rows(&ada, sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        let line = |row: &Vec<Option<String>>| {
            row.iter().map(|c| c.as_deref().unwrap_or("NULL")).collect::<Vec<_>>().join("|")
        };
        cells.iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(
        all("SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE table_name LIKE 'survey%'").await,
        ["public|survey|VIEW"]
    );
    let columns = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'survey' ORDER BY ordinal_position";
    assert_eq!(all(columns).await, ["answer|text", "city|text", "visits|integer"]);
    assert_eq!(
        all("SELECT column_name, data_type, is_nullable, privacy, groups, low, high, domain FROM noisegate.columns WHERE table_name = 'survey'").await,
        [
            "answer|text|f|collected|public|NULL|NULL|yes, no, other",
            "city|text|t|collected|public|NULL|NULL|City 0, City 1, City 2",
            "visits|int4|f|collected|public|0|9|NULL",
        ]
    );
    let told = "SELECT pg_table_is_visible(c.oid), has_table_privilege(c.oid, 'SELECT'), obj_description(c.oid), col_description(c.oid, 3)
        FROM pg_class c WHERE c.relname LIKE 'survey%'";
    assert_eq!(
        all(told).await,
        [
            "t|t|noisegate: collected; answers are estimates, and cost nothing|noisegate: count, randomised by response at epsilon 100"
        ]
    );
}
