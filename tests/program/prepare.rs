//! `noisegate check prepare`: what it proposes, that it makes it once, and that it says no more after that.

use crate::support::{NOISEGATE, Output, TestDb, Workdir, database, run};
use std::path::Path;
use tokio::process::Command;

/// 3,000 people with profiles that no key counts, 30,000 visits of each of them in ten places, and their lines.
const TABLES: &str = r#"
    CREATE TABLE people (id int PRIMARY KEY);
    CREATE TABLE profiles (id int, plan text NOT NULL);
    CREATE TABLE visits (visit int PRIMARY KEY, id int NOT NULL, place text NOT NULL, day date NOT NULL, amount int NOT NULL);
    CREATE TABLE "Odd lines" (visit int NOT NULL, "Line no" int NOT NULL, price int NOT NULL);
    INSERT INTO people SELECT generate_series(1, 3000);
    INSERT INTO profiles SELECT i, 'a' FROM generate_series(1, 3000) AS i;
    INSERT INTO visits SELECT i, i % 3000 + 1, 'place ' || i / 3000 % 10, date '2024-01-01' + i % 365, i % 50 FROM generate_series(1, 30000) AS i;
    INSERT INTO "Odd lines" SELECT i, 1, 5 FROM generate_series(1, 30000) AS i;
    CREATE TABLE small (id int NOT NULL);
    INSERT INTO small VALUES (1), (1), (2);
    CREATE TABLE walks (id int NOT NULL, steps int NOT NULL);
    INSERT INTO walks SELECT i % 3000 + 1, i FROM generate_series(1, 12000) AS i;
    ALTER TABLE walks ALTER COLUMN id SET (n_distinct = 100);
    ANALYZE people, profiles, visits, "Odd lines", walks;
"#;

const POLICY: &str = r#"
[privacy]
unit = "people.id"
[[budget]]
name = "all"
epsilon = 10
delta = 1e-6
[table.people]
unit_column = "id"
[table.profiles]
unit_column = "id"
columns.plan = { values = ["a", "b"] }
[table.visits]
unit_column = "id"
columns.visit = {}
columns.place = { values = ["place 1", "place 2"] }
columns.day = { range = [2024-01-01, 2024-12-31] }
columns.amount = { range = [0, 50] }
[table."Odd lines"]
unit_path = "visit -> visits.visit"
columns.price = { range = [0, 9] }
[table.small]
unit_column = "id"
[table.walks]
unit_column = "id"
columns.steps = { range = [0, 12000] }
"#;

async fn prepare(db: &TestDb, policy: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(NOISEGATE);
    command.args(["check", "prepare", "--backend", &db.superuser_url, "--policy"]).arg(policy).args(more);
    run(command, "").await
}

async fn proposed(db: &TestDb, policy: &Path, more: &[&str]) -> String {
    let out = prepare(db, policy, more).await;
    assert!(out.status.success(), "{more:?}: {}{}", out.stdout, out.stderr);
    out.stdout
}

#[tokio::test]
async fn what_helps_is_proposed_made_and_not_proposed_again() {
    let db = database(TABLES).await;
    let head = format!(
        "[server]\nlisten = [\"127.0.0.1:0\"]\n{}[ledger]\nurl = \"sqlite:noisegate.db\"\n",
        db.backend_toml()
    );
    let work = Workdir::new(&format!("{head}{POLICY}"));
    let policy = work.policy();
    let checked = work.noisegate(&["check", "--write-schema"]).await;
    assert!(checked.status.success(), "{}{}", checked.stdout, checked.stderr);

    let said = proposed(&db, &policy, &[]).await;
    for line in [
        r#"ANALYZE "public"."small";"#,
        r#"ALTER TABLE "public"."profiles" ALTER COLUMN "id" SET NOT NULL;"#,
        r#"ALTER TABLE "public"."profiles" ADD CONSTRAINT "noisegate_profiles_id_key" UNIQUE ("id");"#,
        r#"CREATE STATISTICS IF NOT EXISTS "public"."noisegate_visits_id_place_distinct" (ndistinct) ON "id", "place" FROM "public"."visits";"#,
        r#"CREATE INDEX CONCURRENTLY IF NOT EXISTS "noisegate_visits_id_idx" ON "public"."visits" ("id");"#,
        r#"ALTER TABLE "public"."walks" ALTER COLUMN "id" SET (n_distinct = -0.25);"#,
        r#"CREATE INDEX CONCURRENTLY IF NOT EXISTS "noisegate_walks_id_idx" ON "public"."walks" ("id");"#,
        r#"CREATE INDEX CONCURRENTLY IF NOT EXISTS "noisegate_Odd lines_visit_idx" ON "public"."Odd lines" ("visit");"#,
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let few = "-- walks: PostgreSQL's sample makes it expect 30.0 times too few values of id.";
    assert!(said.contains(few) && said.contains("ANALYZE \"public\".\"walks\";"), "{said}");
    // Each has its reason before it; a table that is small, or has a key, wants no index.
    assert!(said.contains("-- visits: fetches by place group by it and id, and PostgreSQL expects 10.0 times too few such groups"), "{said}");
    assert!(
        said.contains("-- Odd lines: rows of Odd lines find their unit through visits, by visit"),
        "{said}"
    );
    assert!(!said.contains("ON \"public\".\"small\"") && !said.contains("people"), "{said}");
    assert!(
        said.ends_with(
            "-- nothing was changed: --apply makes indexes and statistics, --apply --keys the keys, too\n"
        ),
        "{said}"
    );
    assert_eq!(proposed(&db, &policy, &[]).await, said, "nothing was changed");

    // Statements: their columns in the order of the unit, and a condition that leaves few rows; what is refused is left out.
    let file = policy.with_file_name("asked.sql");
    std::fs::write(&file, "SELECT sum(amount) FROM visits;\nSELECT * FROM visits;\nSELECT count(*) FROM visits WHERE day = '2024-05-01';").unwrap();
    let asked = proposed(&db, &policy, &["--statements", file.to_str().unwrap()]).await;
    let covering = r#"CREATE INDEX CONCURRENTLY IF NOT EXISTS "noisegate_visits_id_amount_idx" ON "public"."visits" ("id") INCLUDE ("amount");"#;
    let by_day =
        r#"CREATE INDEX CONCURRENTLY IF NOT EXISTS "noisegate_visits_day_idx" ON "public"."visits" ("day");"#;
    assert!(asked.contains(covering) && asked.contains(by_day), "{asked}");
    assert!(asked.contains("-- visits: statement 3 keeps about 0.3 % of its rows by day."), "{asked}");

    // An attempt that was ended is made anew.
    let owner = db.superuser().await;
    let broken = "CREATE INDEX noisegate_visits_day_idx ON visits (day);
        UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'noisegate_visits_day_idx'::regclass";
    owner.batch_execute(broken).await.unwrap();
    let made = proposed(&db, &policy, &["--statements", file.to_str().unwrap(), "--apply"]).await;
    assert!(made.contains(r#"DROP INDEX CONCURRENTLY "public"."noisegate_visits_day_idx";"#), "{made}");
    assert!(made.ends_with("-- made 8 of 9; keys are made with --keys, too\n"), "{made}");
    let left = proposed(&db, &policy, &["--statements", file.to_str().unwrap()]).await;
    assert_eq!(left.matches(";\n").count(), 2, "{left}");
    assert!(left.contains("noisegate_profiles_id_key"), "{left}");

    // Keys change what the database takes, and what one unit can have.
    let bound = "SELECT plan, count(*) FROM profiles GROUP BY plan";
    let explain = ["explain", bound];
    let before = work.noisegate(&explain).await.stdout;
    assert!(before.contains(" 32") && !before.contains("nothing to bound"), "{before}");
    let keyed = proposed(&db, &policy, &["--apply", "--keys"]).await;
    assert!(
        keyed.contains(
            "-- made 1 of 1\n-- keys are part of what the proxy checks: noisegate ctl reload takes them over"
        ),
        "{keyed}"
    );
    assert!(work.noisegate(&["check", "--write-schema"]).await.status.success());
    assert!(work.noisegate(&explain).await.stdout.contains("profiles.id is a key; nothing to bound"));
    assert_eq!(proposed(&db, &policy, &[]).await, "-- nothing to prepare\n");

    // A person with two profiles has no key.
    owner.batch_execute("ALTER TABLE profiles DROP CONSTRAINT noisegate_profiles_id_key; INSERT INTO profiles VALUES (1, 'b')").await.unwrap();
    assert_eq!(proposed(&db, &policy, &[]).await, "-- nothing to prepare\n");
    let out = prepare(&db, &policy, &["--keys"]).await;
    assert!(!out.status.success() && out.stderr.contains("--apply"), "{}", out.stderr);
}
