//! `noisegate report risk`: its figures are those of the definitions and of pycanon, over generated tables and the Adult data; it shows no
//! value of a row, and says whom it is for.

use crate::city::{self, PASSWORD};
use crate::support::{NOISEGATE, Output, TestDb, Workdir, database, python, run};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::process::Command;

/// 600 people of a town of 1,500; visits of 300; names that need quotes, and NULL.
const TABLES: &str = r#"
    CREATE TABLE town (id int, postcode text, birth_year int, sex text);
    INSERT INTO town SELECT i, '10' || abs(hashint4(i)) % 7, 1950 + abs(hashint4(i + 5000)) % 40, (ARRAY['f', 'm'])[1 + abs(hashint4(i + 9000)) % 2]
        FROM generate_series(1, 1500) AS i;
    CREATE TABLE patients AS SELECT t.*, (ARRAY['flu', 'asthma', 'angina', 'gout', 'none'])[1 + abs(hashint4(id + 77)) % 5 * (abs(hashint4(id + 78)) % 2)]
        AS diagnosis, 10 * (abs(hashint4(id + 79)) % 30 + birth_year % 7) AS income FROM town AS t WHERE id <= 600;
    CREATE TABLE few AS SELECT sex, birth_year / 10 AS decade, diagnosis, income FROM patients;
    CREATE TABLE visits (patient uuid, ward text, age_group int, finding text);
    INSERT INTO visits SELECT CASE WHEN i % 50 > 0 THEN md5((abs(hashint4(i)) % 300)::text)::uuid END, 'Ward ' || abs(hashint4(i + 1)) % 9,
        abs(hashint4(i)) % 300 % 80 / 4, (ARRAY['a', 'b', NULL])[1 + abs(hashint4(i + 3)) % 3] FROM generate_series(1, 900) AS i;
    CREATE SCHEMA "Odd Schema";
    CREATE TABLE "Odd Schema"."Patients, all" ("Birth Year" int, "the ""zip""" text, q1 text, v float8, "NULL" date);
    INSERT INTO "Odd Schema"."Patients, all" SELECT nullif(abs(hashint4(i)) % 6, 3), nullif('z' || abs(hashint4(i + 1)) % 5, 'z2'), 'x' || i % 2,
        nullif(abs(hashint4(i + 2)) % 12, 5), NULL FROM generate_series(1, 200) AS i;
    CREATE TABLE one_value AS SELECT i % 3 AS a, 7 AS same FROM generate_series(1, 9) AS i;
    CREATE TABLE nobody (a int, b text);
"#;

async fn risk(db: &TestDb, more: &[&str]) -> Output {
    let mut command = Command::new(NOISEGATE);
    command.args(["report", "risk", "--backend", &db.superuser_url]).args(more);
    run(command, "").await
}

/// A folder with pycanon, and the package that ships the Adult data. Their pins would hold the other clients back.
async fn references(python: &Path) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("risk");
    let lock = std::fs::File::create(folder.with_extension("lock")).unwrap();
    let lock = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock)).await.unwrap().unwrap();
    let done = folder.join("pycanon-1.3.6-fairness-0.1.8");
    if !done.exists() {
        let pip = async |path: &Path, target: &Path, package: &str| {
            let mut install = Command::new(python);
            install.env("PYTHONPATH", path).args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--no-deps",
            ]);
            install.arg("--target").arg(target).args(["--upgrade", package]);
            // The Adult data is 14 MB, and others build meanwhile.
            let installed = tokio::time::timeout(Duration::from_secs(300), install.output()).await;
            let installed =
                installed.unwrap_or_else(|_| panic!("{package} is not installed in five minutes")).unwrap();
            assert!(installed.status.success(), "{package}: {installed:?}");
        };
        // Later ones refuse a package that names one of its dependencies wrongly, whether it is wanted or not.
        let old = folder.join("pip");
        pip(Path::new(""), &old, "pip==24.0").await;
        pip(&old, &folder, "pycanon==1.3.6").await;
        pip(&old, &folder, "fairness==0.1.8").await;
        std::fs::write(done, "").unwrap();
    }
    drop(lock);
    folder
}

struct Reference<'a> {
    db: &'a TestDb,
    python: PathBuf,
    packages: PathBuf,
}

impl Reference<'_> {
    async fn run(&self, args: &[&str], input: &str) -> String {
        let mut command = Command::new(&self.python);
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/risk/reference.py")).args(args);
        command.env("PYTHONPATH", &self.packages);
        let done = run(command, input).await;
        assert!(done.status.success(), "{}", done.stderr);
        done.stdout
    }

    /// Compares all figures, and says whether pycanon looked at them, too.
    async fn agrees(
        &self,
        table: &str,
        quasi: &[&str],
        sensitive: &[&str],
        unit: Option<&str>,
        population: Option<&str>,
    ) -> bool {
        let mut args = vec!["--table", table, "--format", "json"];
        args.extend(quasi.iter().flat_map(|c| ["--quasi", c]));
        args.extend(sensitive.iter().flat_map(|c| ["--sensitive", c]));
        args.extend(unit.iter().flat_map(|u| ["--unit", u]));
        args.extend(population.iter().flat_map(|p| ["--population", p]));
        let ours = risk(self.db, &args).await;
        assert!(ours.status.success(), "{ours:?}");
        let mut ours: Value = serde_json::from_str(&ours.stdout).unwrap();
        // The same order of sets and of columns in each.
        for set in ours["sets"].as_array_mut().unwrap() {
            set["columns"].as_array_mut().unwrap().sort_by_key(Value::to_string);
        }
        let asked = json!({
            "url": self.db.superuser_url, "table": table, "quasi": quasi, "sensitive": sensitive, "unit": unit, "population": population,
        });
        let theirs: Value = serde_json::from_str(&self.run(&[], &asked.to_string()).await).unwrap();
        for key in
            ["people", "classes", "k_anonymity", "unique", "prosecutor_risk", "sensitive", "population"]
        {
            same(&theirs[key], &ours[key], &format!("{table}.{key}"));
        }
        let found = ours["sets"].as_array().unwrap();
        assert_eq!(found.len(), theirs["sets"].as_array().unwrap().len(), "{table}");
        for set in theirs["sets"].as_array().unwrap() {
            let here = found
                .iter()
                .find(|s| s["columns"] == set["columns"])
                .unwrap_or_else(|| panic!("{table}: {set}"));
            same(set, here, table);
        }
        theirs["pycanon"] == true
    }
}

/// Whether all that the reference says stands in ours.
fn same(theirs: &Value, ours: &Value, at: &str) {
    match theirs {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| same(value, &ours[key], &format!("{at}.{key}")))
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            assert_eq!(items.len(), ours.as_array().unwrap().len(), "{at}");
            items.iter().zip(ours.as_array().unwrap()).for_each(|(a, b)| same(a, b, at));
        }
        Value::Number(n) => {
            let (a, b) = (n.as_f64().unwrap(), ours.as_f64().unwrap_or_else(|| panic!("{at}: {ours}")));
            assert!((a - b).abs() <= 1e-9 * a.abs().max(1.0), "{at}: {a} by definition, {b} here");
        }
        other => assert_eq!(other, ours, "{at}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_figures_are_those_of_the_definitions_and_of_pycanon() {
    let db = database(TABLES).await;
    let python = python().await;
    let packages = references(&python).await;
    let reference = Reference { db: &db, python, packages };
    reference.run(&[&db.superuser_url], "").await;
    let quasi = ["postcode", "birth_year", "sex"];
    assert!(reference.agrees("patients", &quasi, &["diagnosis", "income"], None, Some("town")).await);
    assert!(reference.agrees("few", &["sex", "decade"], &["income", "diagnosis"], None, None).await);
    // Classes that the population does not have, or has fewer of.
    reference.agrees("town", &quasi, &[], None, Some("patients")).await;
    reference.agrees("visits", &["ward", "age_group"], &["finding"], Some("patient"), None).await;
    let odd = "\"Odd Schema\".\"Patients, all\"";
    reference.agrees(odd, &["Birth Year", "the \"zip\"", "q1"], &["v", "NULL"], None, Some(odd)).await;
    reference.agrees("one_value", &["a"], &["same"], None, None).await;
    assert!(reference.agrees("adult", &["race", "sex"], &["occupation", "hours-per-week"], None, None).await);
    assert!(reference.agrees("adult", &["age", "education", "race", "sex"], &[], None, None).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_says_whom_it_is_for_and_what_a_policy_would_protect() {
    let db = city::bikes().await;
    let rules = "[[budget]]\nname = \"all\"\nepsilon = 1.0\ndelta = 1e-6\n[[role]]\nname = \"dba\"\nmode = \"passthrough\"\n";
    let text = city::policy(&db.backend_toml(), &["ada"], rules)
        .replace("[ledger]", "passthrough_url = \"postgres://nobody@127.0.0.1/x\"\n[ledger]");
    let work = Workdir::new(&text);
    let policy = work.policy();
    let policy = policy.to_str().unwrap();
    let asked =
        ["--table", "riders", "--quasi", "birth_year,plan,city", "--sensitive", "email", "--policy", policy];
    let told = risk(&db, &asked).await;
    assert!(told.status.success(), "{told:?}");
    for part in [
        "These figures are exact and without noise: they are for the owner of the data, not for analysts.",
        "500 people, one for each row.",
        "k-anonymity            1",
        "Whoever was 10 % sure of something about one riders.rider_id, such as their email, can become at most 24 % sure",
        "Users of the role dba are answered exactly",
        "Which values plan can have is told to everybody",
        "email: Nothing: it does not exist for them.",
    ] {
        assert!(told.stdout.contains(part), "{part:?} is missing in\n{}", told.stdout);
    }
    // Rider 500 alone lives there; none of their values is shown, in any form.
    for format in ["text", "json", "html"] {
        let page = work.path().join(format);
        let mut args = asked.to_vec();
        args.extend(["--format", format, "--output", page.to_str().unwrap()]);
        let written = risk(&db, &args).await;
        assert!(written.status.success(), "{written:?}");
        assert_eq!(std::fs::metadata(&page).unwrap().permissions().mode() & 0o777, 0o600);
        let page = std::fs::read_to_string(&page).unwrap();
        for never in ["Nowhere", "eve@example.org", "2147483647", "<script", "://", "src="] {
            assert!(!page.contains(never), "{never} in {page}");
        }
        assert!(
            page.contains("not for analysts") && (format != "html" || page.matches("<svg").count() > 3),
            "{page}"
        );
    }
    // The unit of the policy is the one by which people are told apart, where somebody may have several rows.
    let trips = risk(&db, &["--table", "trips", "--quasi", "station,minutes", "--policy", policy]).await;
    assert!(trips.stdout.contains("500 people, told apart by rider_id"), "{trips:?}");
    let stations = risk(&db, &["--table", "stations", "--quasi", "city", "--policy", policy]).await;
    assert!(stations.stdout.contains("What the policy would protect\n  Nothing.\n"), "{stations:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_counted_is_said() {
    let db = city::bikes().await;
    db.execute(TABLES).await;
    let nobody = risk(&db, &["--table", "nobody", "--quasi", "a", "--sensitive", "b"]).await;
    assert!(
        nobody.status.success()
            && nobody.stdout.contains("0 people")
            && nobody.stdout.contains("k-anonymity            0"),
        "{nobody:?}"
    );
    db.execute("CREATE TABLE documents (a json, b int)").await;
    for (args, why) in [
        (&["--table", "nowhere", "--quasi", "a"][..], "the database has no table or view \"nowhere\""),
        (&["--table", "patients", "--quasi", "a"], "has no column \"a\": it has id, postcode"),
        (&["--table", "patients", "--quasi", "sex,sex"], "\"sex\" is named twice"),
        (&["--table", "patients", "--quasi", "sex", "--sensitive", "sex"], "\"sex\" is named twice"),
        (
            &["--table", "patients", "--quasi", "sex", "--population", "visits"],
            "\"visits\" has no column \"sex\"",
        ),
        (&["--table", "documents", "--quasi", "a"], "could not identify an equality operator for type json"),
        (&["--table", "patients", "--quasi", "a,b,c,d,e,f,g,h,i,j,k,l,m"], "names 13 columns"),
    ] {
        let refused = risk(&db, args).await;
        assert!(!refused.status.success() && refused.stderr.contains(why), "{args:?}: {}", refused.stderr);
    }
    // A login that row security shows a part of the rows would count that part.
    db.execute(
        "ALTER TABLE patients ENABLE ROW LEVEL SECURITY; ALTER TABLE patients FORCE ROW LEVEL SECURITY",
    )
    .await;
    let budget = "[[budget]]\nname = \"all\"\naccounting = \"pure\"\nepsilon = 9\n";
    let work = Workdir::new(&city::policy(&db.backend_toml(), &["ada"], budget));
    let gate = work.serve().await;
    let through = async |url: &str| {
        let mut command = Command::new(NOISEGATE);
        command.args(["report", "risk", "--backend", url, "--table", "patients", "--quasi", "sex"]);
        run(command, "").await
    };
    let refused = through(&gate.url("ada", &PASSWORD.replace(' ', "%20"), "bikes")).await;
    assert!(!refused.status.success() && refused.stderr.contains("leads to noisegate itself"), "{refused:?}");
    db.publish(&["patients"]).await;
    let refused = through(&db.finish_url).await;
    assert!(!refused.status.success() && refused.stderr.contains("row-level security"), "{refused:?}");
}
