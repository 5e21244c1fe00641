//! `noisegate init`: starters for schemas that nobody made for it, proven by `check` and by opening a gateway over them.
//!
//! `UPDATE=1 cargo test --test program init` writes the expected starters anew; read the difference before committing it.

use crate::support::{NOISEGATE, Output, TestDb, Workdir, cluster, database, run};
use noisegate::gateway::Checked;
use noisegate::policy;
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn schema(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

async fn init(url: &str, args: &[&str]) -> Output {
    let mut command = tokio::process::Command::new(NOISEGATE);
    command.arg("init").arg("--backend").arg(url).args(args);
    run(command, "").await
}

/// The starter of a database; the database's own name and place are left out of what is compared.
async fn starter(db: &TestDb, args: &[&str], golden: &str) -> String {
    let out = init(&db.superuser_url, args).await;
    assert!(out.status.success(), "{out:?}");
    let port = cluster().superuser_url("").rsplit_once(':').unwrap().1.trim_end_matches('/').to_owned();
    let shown = out.stdout.replace(&db.name, "DATABASE").replace(&port, "PORT");
    let file = path("tests/init").join(golden).with_extension("toml");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path("tests/init")).unwrap();
        std::fs::write(&file, &shown).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(shown == expected, "{}\n--- expected\n{expected}--- got\n{shown}", file.display());
    out.stdout
}

/// Runs the statements at the end of a starter, with logins of this test's own; gives the policy with those.
async fn grant(db: &TestDb, policy: &str) -> String {
    let (_, sql) = policy.split_once("# CREATE ROLE").expect("the statements");
    let sql: String =
        format!("# CREATE ROLE{sql}").lines().map(|l| format!("{}\n", l.trim_start_matches("# "))).collect();
    let (fetch, finish) = (format!("{}_reader", db.name), format!("{}_finisher", db.name));
    let named = |text: &str| text.replace("noisegate_finish", &finish).replace("noisegate", &fetch);
    db.execute(&named(&sql)).await;
    // The cluster of the tests asks for passwords.
    policy
        .replace("postgres://noisegate_finish@", &format!("postgres://{finish}:second password@"))
        .replace("postgres://noisegate@", &format!("postgres://{fetch}:first password@"))
        .replace(" password@", "%20password@")
}

/// Checks a policy as the program does, and then everything that `serve` proves before it listens.
async fn prove(policy: &str) -> String {
    let dir = Workdir::new(policy);
    let out = dir.noisegate(&["check"]).await;
    assert!(out.status.success(), "{}{}\n{policy}", out.stdout, out.stderr);
    let raw = policy::load(&dir.policy()).unwrap_or_else(|e| panic!("{e}"));
    Checked::new(&raw).await.map(|_| ()).unwrap_or_else(|e| panic!("{e}"));
    out.stdout
}

#[tokio::test(flavor = "multi_thread")]
async fn tpch_is_usable_at_once() {
    let db = database(&schema("tests/schemas/tpch.sql")).await;
    let public = ["region", "nation", "part", "supplier", "partsupp"].map(|t| ["--public", t]).concat();
    let args = [&["--unit", "customer.c_custkey"], public.as_slice()].concat();
    let text = starter(&db, &args, "tpch").await;
    let said = prove(&grant(&db, &text).await).await;
    assert!(text.contains("[table.lineitem]\nunit_path = \"l_orderkey -> orders.o_orderkey\"\n"), "{text}");
    for table in ["customer: private", "orders: private", "lineitem: private", "nation: public"] {
        assert!(said.contains(table), "{table} in {said}");
    }
    // What is left to do is ranges and lists, and the two budgets and the login that every starter has.
    for line in text.lines().filter(|l| l.starts_with("columns.") && l.contains("TODO")) {
        assert!(line.contains("range = [") || line.contains("values = ["), "{line}");
    }
    // With a range filled in, there are answers to be had.
    let with = text
        .replace("columns.o_totalprice = { grid = 0.01 }", "columns.o_totalprice = { range = [0, 600_000] }");
    assert_ne!(text, with);
    let raw = policy::parse(&with, "p", Path::new("")).unwrap();
    assert!(raw.mistakes().is_empty(), "{:?}", raw.mistakes());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_public_that_was_not_named() {
    let db = database(&schema("tests/schemas/tpch.sql")).await;
    let out = init(&db.superuser_url, &["--unit", "customer.c_custkey"]).await;
    assert!(out.status.success(), "{out:?}");
    assert!(!out.stdout.lines().any(|l| l.starts_with("public = true")), "{}", out.stdout);
    assert!(out.stdout.contains("# [table.nation]\n# public = true\n"), "{}", out.stdout);
    assert!(out.stdout.contains(
        "columns.c_nationkey = {}  # TODO references = \"nation.n_nationkey\", if nation is public"
    ));
    assert!(!out.stdout.contains("TO noisegate_finish;\n# GRANT SELECT"), "{}", out.stdout);
    prove(&grant(&db, &out.stdout).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tests_own_schema() {
    let sql = schema("tests/bikes/setup.sql");
    let db = database(&sql).await;
    let text = starter(&db, &["--unit", "riders.rider_id", "--public", "stations"], "bikes").await;
    prove(&grant(&db, &text).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nasty_schema() {
    let db = database(&schema("tests/schemas/nasty.sql")).await;
    let args = ["--unit", "User Accounts.Account Id", "--public", "clubs", "--public", "products"];
    let text = starter(&db, &args, "nasty").await;
    prove(&grant(&db, &text).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_row_is_read() {
    let db = database(&schema("tests/schemas/tpch.sql")).await;
    // A login that may read no table at all sees the same.
    let rights = format!("REVOKE SELECT ON ALL TABLES IN SCHEMA public FROM {0}_fetch", db.name);
    db.execute(&rights).await;
    let args = ["--unit", "customer.c_custkey", "--public", "nation"];
    let (all, none) = (init(&db.superuser_url, &args).await, init(&db.fetch_url, &args).await);
    assert!(none.status.success(), "{none:?}");
    assert_eq!(all.stdout, none.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_say_what_to_write() {
    let db = database(&schema("tests/schemas/nasty.sql")).await;
    for (args, said) in [
        (vec!["--unit", "events"], "write TABLE.COLUMN"),
        (vec!["--unit", "nowhere.id"], "there is no table \"nowhere\"; there are: "),
        (vec!["--unit", "memberships.club"], "memberships.club is not a key"),
        (vec!["--unit", "events.account"], "several tables \"events\""),
        (
            vec!["--unit", "public.events.account"],
            "events.account is not a key, so it names no unit; events has no key of one",
        ),
        (vec!["--unit", "products.name"], "products has no column \"name\"; keys of products are: product"),
        (vec!["--unit", "parent.id"], "has inheritance children"),
        (vec!["--unit", "products.product", "--public", "products"], "it is the unit's table"),
        (vec!["--unit", "products.product", "--public", "x"], "--public: there is no table \"x\""),
        (vec!["--unit", "products.product", "--schema", "x"], "--schema x: it has no table"),
    ] {
        let out = init(&db.superuser_url, &args).await;
        assert!(!out.status.success() && out.stderr.contains(said), "{args:?}: {out:?}");
    }
    let secret = init("postgres://me:secret@127.0.0.1:1/d", &["--unit", "a.b"]).await;
    assert!(secret.stderr.contains("cannot connect to the database \"d\" at 127.0.0.1:1"), "{secret:?}");
    assert!(!secret.stderr.contains("secret"), "{secret:?}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.toml");
    let args = ["--unit", "products.product", "--output", file.to_str().unwrap()];
    let first = init(&db.superuser_url, &args).await;
    assert!(first.status.success() && first.stdout.contains("next: "), "{first:?}");
    let again = init(&db.superuser_url, &args).await;
    assert!(!again.status.success() && again.stderr.contains("cannot be written"), "{again:?}");
}
