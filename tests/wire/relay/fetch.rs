//! Reading private rows.

use super::recovery::{request, unproven};
use super::until_none;
use super::world::Database;
use crate::support::own_cluster;
use noisegate::backend::introspect::{read_schema, watch};
use noisegate::backend::{Backend, ConnectError, FetchError, FetchRequest, Fingerprint, Hints, Param};
use noisegate::error::SqlState;
use noisegate::schema::quoted::string;
use std::time::{Duration, Instant};

fn many(texts: &[&str]) -> FetchRequest {
    let mut request = request("");
    request.statements = texts.iter().map(|t| unproven(t)).collect();
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn all_statements_see_one_snapshot() {
    let db = Database::new().await;
    let backend = Backend::connect(&db.policy()).await.unwrap();
    let count = "SELECT count(*) FROM public.riders";
    let fetch = backend.fetch(many(&[count, "SELECT pg_sleep(1)::text", count]));
    let update = async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        db.admin.batch_execute("INSERT INTO riders VALUES (1000, 'late')").await.unwrap();
        Instant::now()
    };
    let (rows, updated) = tokio::join!(async { (fetch.await.unwrap(), Instant::now()) }, update);
    let (rows, done) = rows;
    assert!(updated < done, "the update came between the two counts");
    assert_eq!((rows[0][0].get::<_, i64>(0), rows[2][0].get::<_, i64>(0)), (100, 100));
    assert_eq!(backend.fetch(many(&[count])).await.unwrap()[0][0].get::<_, i64>(0), 101);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_statements_with_parameters_and_unknown_types() {
    let db = Database::new().await;
    let sql = "CREATE TYPE mood AS ENUM ('sad', 'glad'); ALTER TABLE riders ADD mood mood DEFAULT 'glad';
               INSERT INTO riders SELECT g, repeat('n', 200) FROM generate_series(1001, 20000) g";
    db.admin.batch_execute(sql).await.unwrap();
    let backend = Backend::connect(&db.policy()).await.unwrap();
    // Types that tokio-postgres must look up, while many rows are on their way.
    let rows = backend.fetch(many(&["SELECT rider_id, mood, name FROM public.riders"; 40])).await.unwrap();
    assert_eq!(rows.len(), 40);
    assert!(rows.iter().all(|r| r.len() == 19_100));

    let mut request = request("SELECT $1 + 1, $2, $3, current_setting('jit'), current_setting('work_mem')");
    request.statements[0].params = vec![Param::int8(i64::MIN), Param::text("it's"), Param::new(1082, None)];
    let rows = backend.fetch(request).await.unwrap();
    let row = &rows[0][0];
    assert_eq!(row.get::<_, i64>(0), i64::MIN + 1);
    assert_eq!(row.get::<_, &str>(1), "it's");
    assert_eq!((row.get::<_, &str>(3), row.get::<_, &str>(4)), ("off", "16MB"));
    assert_eq!(backend.fetch(many(&[])).await.unwrap().len(), 0);
}

/// Whatever the login, the database or the URL would have.
#[tokio::test(flavor = "multi_thread")]
async fn rule_49_fetch_sessions_have_the_same_settings_for_everybody() {
    let db = Database::new().await;
    let styles = [
        ("TimeZone", "Asia/Tokyo", "UTC"),
        ("DateStyle", "German, DMY", "ISO, MDY"),
        ("IntervalStyle", "sql_standard", "postgres"),
        ("extra_float_digits", "-15", "1"),
        ("bytea_output", "escape", "hex"),
        ("timezone_abbreviations", "India", "Default"),
    ];
    let mut policy = db.policy();
    for (name, other, _) in styles {
        db.admin.batch_execute(&format!("ALTER ROLE ALL SET {name} = '{other}'")).await.unwrap();
    }
    policy.url = policy.url.map(|url| url + "?options=-c%20IntervalStyle%3Diso_8601");
    let backend = Backend::connect(&policy).await.unwrap();
    let each = styles.map(|(name, ..)| format!("current_setting('{name}')"));
    let rows = backend.fetch(request(&format!("SELECT {}", each.join(", ")))).await;
    for (name, ..) in styles {
        db.admin.batch_execute(&format!("ALTER ROLE ALL RESET {name}")).await.unwrap();
    }
    for (i, (name, _, pinned)) in styles.iter().enumerate() {
        assert_eq!(rows.as_ref().unwrap()[0][0].get::<_, &str>(i), *pinned, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_planner_is_told_what_it_cannot_see_and_until_the_end_alone() {
    let db = Database::new().await;
    let mut policy = db.policy();
    policy.pool = 1;
    let backend = Backend::connect(&policy).await.unwrap();
    for (hashed, joined) in [(false, false), (true, false), (false, true), (true, true), (false, false)] {
        let sql = "SELECT current_setting('enable_nestloop'), current_setting('parallel_tuple_cost')";
        let mut request = request(sql);
        request.statements[0].hints = Hints { hashed, joined };
        let rows = backend.fetch(request).await.unwrap();
        let told = (rows[0][0].get::<_, &str>(0), rows[0][0].get::<_, &str>(1));
        assert_eq!(told, (if hashed { "off" } else { "on" }, if joined { "0.01" } else { "0.1" }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_07_a_changed_schema_refuses_before_any_row_is_read() {
    let db = Database::new().await;
    let backend = Backend::connect(&db.policy()).await.unwrap();
    let sql = "SELECT string_agg(attname || ' ' || atttypid, ',' ORDER BY attnum) FROM pg_attribute \
               WHERE attrelid = 'public.riders'::regclass AND attnum > 0 AND NOT attisdropped";
    let fingerprint = Fingerprint::new(sql, "rider_id 23,name 25");
    let mut request = many(&["SELECT name FROM public.riders"]);
    request.fingerprint = Some(fingerprint);
    assert_eq!(backend.fetch(request.clone()).await.unwrap()[0].len(), 100);
    db.admin.batch_execute("ALTER TABLE riders RENAME name TO nom").await.unwrap();
    for _ in 0..2 {
        let error = backend.fetch(request.clone()).await.unwrap_err();
        assert!(matches!(error, FetchError::SchemaChanged), "{error:?}");
        let error = error.into_client_error();
        assert_eq!(error.code, SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
        assert_eq!(error.message, "the schema changed; the operator must reload the policy");
    }
    db.admin.batch_execute("ALTER TABLE riders RENAME nom TO name").await.unwrap();
    assert_eq!(backend.fetch(request.clone()).await.unwrap()[0].len(), 100);
    // A fingerprint of nothing is not a match.
    request.fingerprint = Some(Fingerprint::new("SELECT 'x' WHERE false", "x"));
    assert!(matches!(backend.fetch(request).await, Err(FetchError::SchemaChanged)));
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_07_a_change_that_the_fetch_waited_for_is_noticed() {
    let db = Database::new().await;
    let backend = Backend::connect(&db.policy()).await.unwrap();
    let sql = "SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute \
               WHERE attrelid = 'public.riders'::regclass AND attnum > 0 AND NOT attisdropped";
    let mut request = many(&["SELECT name FROM public.riders"]);
    request.fingerprint = Some(Fingerprint::new(sql, "rider_id,name"));
    assert_eq!(backend.fetch(request.clone()).await.unwrap()[0].len(), 100);
    let change = async |alter: &str| {
        db.admin.batch_execute(alter).await.unwrap();
        let commit = async {
            // Inside a transaction the view repeats what it has shown first.
            let waits =
                "SELECT count(*) FROM pg_stat_activity WHERE usename = $1 AND wait_event_type = 'Lock'";
            while db.admin.query_one(waits, &[&db.fetch]).await.unwrap().get::<_, i64>(0) == 0 {
                db.admin.batch_execute("SELECT pg_stat_clear_snapshot()").await.unwrap();
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            db.admin.batch_execute("COMMIT").await.unwrap();
        };
        let (rows, ()) = tokio::join!(backend.fetch(request.clone()), commit);
        assert!(matches!(rows, Err(FetchError::SchemaChanged)), "{alter}: {rows:?}");
    };
    // The columns change places while the fetch waits for the lock: its snapshot is older than that.
    change(
        "BEGIN; ALTER TABLE riders RENAME name TO x; ALTER TABLE riders RENAME rider_id TO name;
         ALTER TABLE riders RENAME x TO rider_id",
    )
    .await;
    let back = "ALTER TABLE riders RENAME rider_id TO x; ALTER TABLE riders RENAME name TO rider_id;
                ALTER TABLE riders RENAME x TO name";
    db.admin.batch_execute(back).await.unwrap();
    assert_eq!(backend.fetch(request.clone()).await.unwrap()[0].len(), 100);
    // A column that the text names is gone when it is prepared.
    change("BEGIN; ALTER TABLE riders DROP name").await;
}

/// How much a fetch sorts hangs on private rows, and an analyst could fill all of a limit but for one unit's.
#[tokio::test(flavor = "multi_thread")]
async fn rule_51_a_limit_of_temporary_files_is_refused() {
    let db = Database::new().await;
    let role = async |set: &str| {
        db.admin.batch_execute(&format!("ALTER ROLE {} SET {set}", db.fetch)).await.unwrap();
    };
    let mut policy = db.policy();
    policy.work_mem = Some("64kB".into());
    let sorted = "SELECT g FROM generate_series(1, 100000) g, public.stations ORDER BY md5(g::text)";
    let mut request = many(&[sorted]);
    request.max_rows = 1_000_000;
    let backend = Backend::connect(&policy).await.unwrap();
    assert_eq!(backend.fetch(request.clone()).await.unwrap()[0].len(), 200_000);

    role("temp_file_limit = '1MB'").await;
    let error = Backend::connect(&policy).await.err().unwrap();
    assert!(matches!(error, ConnectError::Limited(_)), "{error}");
    let cure = format!("as superuser: ALTER ROLE {} SET temp_file_limit = -1", db.fetch);
    assert!(
        error.to_string().contains("temp_file_limit is 1MB") && error.to_string().contains(&cure),
        "{error}"
    );
    // New sessions of a proxy that runs have it, too.
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1";
    db.admin.query(end, &[&db.fetch]).await.unwrap();
    let error = backend.fetch(request.clone()).await.unwrap_err();
    assert!(matches!(error, FetchError::Limited(_)), "{error}");
    let error = error.into_client_error();
    assert_eq!(error.code, SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
    assert!(
        !error.to_string().contains("1MB") && error.to_string().contains("nothing was charged"),
        "{error}"
    );

    role("temp_file_limit = -1").await;
    assert_eq!(backend.fetch(request).await.unwrap()[0].len(), 200_000);
}

/// What a reload of the server's files sets is set in sessions that stand.
#[tokio::test(flavor = "multi_thread")]
async fn rule_51_a_limit_that_comes_with_a_reload_is_refused() {
    let cluster = tokio::task::spawn_blocking(|| own_cluster(&[])).await.unwrap();
    let db = Database::in_cluster(&cluster).await;
    let backend = Backend::connect(&db.policy()).await.unwrap();
    let count = many(&["SELECT count(*) FROM public.riders"]);
    backend.fetch(count.clone()).await.unwrap();
    for (limit, refused) in [("'1GB'", true), ("-1", false)] {
        db.admin.batch_execute(&format!("ALTER SYSTEM SET temp_file_limit = {limit}")).await.unwrap();
        db.admin.batch_execute("SELECT pg_reload_conf()").await.unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            match backend.fetch(count.clone()).await {
                Err(FetchError::Limited(_)) if refused => break,
                Ok(_) if !refused => break,
                other => assert!(Instant::now() < deadline, "{limit}: {other:?}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Limits that a login may lift for itself end no fetch, whatever role or database have.
#[tokio::test(flavor = "multi_thread")]
async fn rule_51_no_time_but_that_of_the_policy_ends_a_fetch() {
    let db = Database::new().await;
    let known = "SELECT name FROM pg_settings WHERE name IN
        ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')";
    let known: Vec<String> = db.admin.query(known, &[]).await.unwrap().iter().map(|r| r.get(0)).collect();
    assert!(known.len() >= 3, "{known:?}");
    for name in &known {
        let sql = format!("ALTER ROLE {} SET {name} = '100ms'", db.fetch);
        db.admin.batch_execute(&sql).await.unwrap();
    }
    let backend = Backend::connect(&db.policy()).await.unwrap();
    for name in &known {
        let shown = format!("SELECT current_setting('{name}')");
        let rows = backend.fetch(many(&[&shown])).await.unwrap();
        let expected = if name == "statement_timeout" { "30s" } else { "0" };
        assert_eq!(rows[0][0].get::<_, &str>(0), expected, "{name}");
    }
    let slow = "SELECT pg_sleep(0.2)::text, count(*) FROM public.riders";
    assert_eq!(backend.fetch(many(&[slow])).await.unwrap()[0].len(), 1);
    // What was opened waits for its payer.
    let opened = backend.open(many(&[slow])).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(opened.read().await.unwrap()[0].len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_18_whatever_fails_the_client_reads_the_same() {
    let db = Database::new().await;
    let mut policy = db.policy();
    policy.statement_timeout = Duration::from_millis(500);
    let backend = Backend::connect(&policy).await.unwrap();
    let mut seen = Vec::new();
    for sql in [
        "SELECT 1/(rider_id - 50) FROM public.riders",
        "SELECT name::int FROM public.riders",
        "SELECT pg_sleep(0.1) FROM public.riders",
        "SELECT * FROM public.riders, public.riders r2",
        "SELECT nothing FROM public.riders",
        "UPDATE public.riders SET name = ''",
    ] {
        let mut request = many(&["SELECT 1 FROM public.riders", sql, "SELECT 2"]);
        request.max_rows = 1_000;
        let error = backend.fetch(request).await.unwrap_err();
        let FetchError::Failed(cause) = &error else { panic!("{sql}: {error:?}") };
        // The log has the cause: `invalid input syntax for type integer: "r1"` would be a value of a row.
        assert!(!cause.contains('"') && !cause.contains("nothing"), "{sql}: {cause}");
        if sql.contains("name::int") {
            assert!(cause.starts_with("SQLSTATE 22P02 from pg_strtoint"), "{cause}");
        }
        let error = error.into_client_error();
        assert!(error.detail.as_ref().is_some_and(|d| d.starts_with("Incident ")), "{error:?}");
        seen.push((error.code, error.message, error.hint, error.position));
        // The pool has one place, and it is good again.
        assert_eq!(backend.fetch(many(&["SELECT 1 FROM public.riders"])).await.unwrap()[0].len(), 100);
    }
    assert!(seen.windows(2).all(|w| w[0] == w[1]), "{seen:?}");
    assert_eq!(seen[0].0, SqlState::INTERNAL);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_fetch_stops_on_the_server() {
    let db = Database::new().await;
    let backend = Backend::connect(&db.policy()).await.unwrap();
    for sql in
        ["SELECT pg_sleep(25)", "SELECT count(*) FROM generate_series(1, 1000000000) g WHERE g % 7 = 1"]
    {
        for wait in [0, 1, 5, 20, 300] {
            let fetch = backend.fetch(many(&[sql, sql]));
            assert!(tokio::time::timeout(Duration::from_millis(wait), fetch).await.is_err());
        }
        until_none(&db, &db.fetch, "state <> 'idle'").await;
        let rows = backend.fetch(many(&["SELECT count(*) FROM public.riders"])).await.unwrap();
        assert_eq!(rows[0][0].get::<_, i64>(0), 100);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_writes_nothing_and_leaves_nothing() {
    let db = Database::new().await;
    db.admin.batch_execute(&format!("GRANT ALL ON riders TO {}", db.fetch)).await.unwrap();
    let backend = Backend::connect(&db.policy()).await.unwrap();
    let delete = backend.fetch(many(&["DELETE FROM public.riders"])).await.unwrap_err();
    assert!(matches!(&delete, FetchError::Failed(cause) if cause.contains("SQLSTATE 25006")), "{delete:?}");
    backend.fetch(many(&["SELECT set_config('search_path', 'public', false)"])).await.unwrap();
    let rows = backend.fetch(many(&["SELECT current_setting('search_path')"])).await.unwrap();
    assert_eq!(rows[0][0].get::<_, &str>(0), "pg_catalog");
    let reader = backend.reader().await.unwrap();
    reader.batch_execute("BEGIN; SET search_path = public").await.unwrap();
    drop(reader);
    let rows = backend.fetch(many(&["SELECT current_setting('search_path')"])).await.unwrap();
    assert_eq!(rows[0][0].get::<_, &str>(0), "pg_catalog");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_that_is_opened_and_not_wanted_reads_nothing_and_gives_its_connection_back() {
    let db = Database::new().await;
    let backend = Backend::connect(&db.policy()).await.unwrap();
    let pid =
        async || backend.fetch(many(&["SELECT pg_backend_pid()"])).await.unwrap()[0][0].get::<_, i32>(0);
    let before = pid().await;
    for _ in 0..3 {
        // A statement that would fail as soon as it ran.
        drop(backend.open(many(&["SELECT 1/0"])).await.unwrap());
    }
    assert_eq!(pid().await, before);
    // Whoever gives up while a fetch is opened loses nothing, either.
    for wait in [0, 1, 2, 5] {
        let open = backend.open(many(&["SELECT 1 FROM public.riders"]));
        let _ = tokio::time::timeout(Duration::from_millis(wait), open).await;
    }
    assert_eq!(backend.fetch(many(&["SELECT 1 FROM public.riders"])).await.unwrap()[0].len(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_waits_for_a_place_to_read_and_others_do_not() {
    let db = Database::new().await;
    let backend = Backend::connect(&db.policy()).await.unwrap();
    let briefly = Duration::from_millis(10);
    let held = backend.place_to_read("eve", briefly).await.unwrap();
    let refused = backend.place_to_read("eve", briefly).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "53300", "{refused:?}");
    backend.place_to_read("ada", briefly).await.unwrap();
    drop(held);
    backend.place_to_read("eve", briefly).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn catalogs_are_read_by_none_of_the_connections_of_those_who_ask() {
    let db = Database::new().await;
    // One connection.
    let backend = Backend::connect(&db.policy()).await.unwrap();
    let reader = backend.reader().await.unwrap();
    assert_eq!(backend.fetch(many(&["SELECT 1 FROM public.riders"])).await.unwrap()[0].len(), 100);
    reader.batch_execute("SELECT 1").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_07_a_table_that_cannot_be_locked_is_watched_all_the_same() {
    let db = Database::new().await;
    // LOCK needs the right on the whole table.
    let sql = format!("REVOKE ALL ON riders FROM {0}; GRANT SELECT (rider_id) ON riders TO {0}", db.fetch);
    db.admin.batch_execute(&sql).await.unwrap();
    let backend = Backend::connect(&db.policy()).await.unwrap();
    let reader = backend.reader().await.unwrap();
    let oid: u32 = reader.query_one("SELECT 'public.riders'::regclass::oid", &[]).await.unwrap().get(0);
    let mut request = many(&["SELECT rider_id FROM public.riders"]);
    request.fingerprint = Some(watch(&reader, &[oid], Default::default()).await.unwrap());
    drop(reader);
    assert_eq!(backend.fetch(request.clone()).await.unwrap()[0].len(), 100);
    // The change is made while the fetch waits where its text is prepared, after its snapshot.
    db.admin.batch_execute("BEGIN; ALTER TABLE riders DROP CONSTRAINT riders_pkey").await.unwrap();
    let commit = async {
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE usename = $1 AND wait_event_type = 'Lock'";
        while db.admin.query_one(waits, &[&db.fetch]).await.unwrap().get::<_, i64>(0) == 0 {
            db.admin.batch_execute("SELECT pg_stat_clear_snapshot()").await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        db.admin.batch_execute("COMMIT").await.unwrap();
    };
    let (rows, ()) = tokio::join!(backend.fetch(request.clone()), commit);
    assert!(matches!(rows, Err(FetchError::SchemaChanged)), "{rows:?}");
    assert!(matches!(backend.fetch(request).await, Err(FetchError::SchemaChanged)));
}

/// A partition that is a foreign table, attached further down while a proxy serves, ends what was planned without it.
#[tokio::test(flavor = "multi_thread")]
async fn rule_07_a_foreign_partition_is_noticed_at_any_depth() {
    let db = Database::new().await;
    let sql = format!(
        "CREATE FOREIGN DATA WRAPPER elsewhere; CREATE SERVER far FOREIGN DATA WRAPPER elsewhere;
         CREATE TABLE split (id int NOT NULL, x int) PARTITION BY RANGE (x);
         CREATE TABLE near PARTITION OF split FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (x);
         CREATE TABLE nearest PARTITION OF near FOR VALUES FROM (0) TO (5);
         INSERT INTO split VALUES (1, 1); GRANT SELECT ON split TO {}",
        db.fetch
    );
    db.admin.batch_execute(&sql).await.unwrap();
    let backend = Backend::connect(&db.policy()).await.unwrap();
    let reader = backend.reader().await.unwrap();
    let oid: u32 = reader.query_one("SELECT 'public.split'::regclass::oid", &[]).await.unwrap().get(0);
    let part = async || {
        let schema = read_schema(&reader).await.unwrap();
        schema.relation("public", "split").unwrap().foreign_part.clone()
    };
    let mut request = many(&["SELECT id FROM public.split WHERE x < 5"]);
    request.fingerprint = Some(watch(&reader, &[oid], Default::default()).await.unwrap());
    for change in [
        // Partitions may come and go, while a proxy serves.
        "CREATE TABLE later PARTITION OF split FOR VALUES FROM (10) TO (20)",
        "DROP TABLE later",
    ] {
        db.admin.batch_execute(change).await.unwrap();
        assert_eq!(backend.fetch(request.clone()).await.unwrap()[0].len(), 1, "{change}");
        assert_eq!(part().await, None);
    }
    let far = "CREATE FOREIGN TABLE further PARTITION OF near FOR VALUES FROM (5) TO (10) SERVER far";
    db.admin.batch_execute(far).await.unwrap();
    assert_eq!(part().await.as_deref(), Some("public.further"));
    assert!(matches!(backend.fetch(request).await, Err(FetchError::SchemaChanged)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_read_again_is_parsed_once() {
    let db = Database::new().await;
    let backend = Backend::connect(&db.policy()).await.unwrap();
    let table = "SELECT 'public.riders'::regclass::oid";
    let table: u32 = db.admin.query_one(table, &[]).await.unwrap().get(0);
    let reader = backend.reader().await.unwrap();
    let fingerprint = watch(&reader, &[table], Default::default()).await.unwrap();
    drop(reader);
    let ask = async |sql: &str, fingerprint: Option<&Fingerprint>| {
        let mut request = many(&[sql]);
        request.fingerprint = fingerprint.cloned();
        backend.fetch(request).await.unwrap()[0][0].get::<_, String>(0)
    };
    // The pool has one place. What is given up is closed a little later.
    let parsed = async |sql: &str, times: &str, why: &str| {
        let all =
            format!("SELECT count(*)::text FROM pg_prepared_statements WHERE statement = {}", string(sql));
        let end = std::time::Instant::now() + Duration::from_secs(20);
        let mut found = ask(&all, None).await;
        while found != times && std::time::Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(20)).await;
            found = ask(&all, None).await;
        }
        assert_eq!(found, times, "{sql}: {why}");
    };
    let sql = "SELECT extract(epoch FROM timestamptz '2024-01-01 00:00')::int::text FROM public.riders";
    for _ in 0..2 {
        assert_eq!(ask(sql, Some(&fingerprint)).await, "1704067200");
    }
    parsed(sql, "1", "once").await;
    let now = "SELECT (timestamptz 'now')::text FROM public.riders";
    assert_ne!(ask(now, Some(&fingerprint)).await, ask(now, Some(&fingerprint)).await);
    parsed(now, "0", "each time it is another moment").await;
    let open = "SELECT name FROM public.riders";
    ask(open, None).await;
    parsed(open, "0", "nothing keeps the table as it is until it is read").await;
    ask(open, Some(&fingerprint)).await;
    parsed(open, "1", "a lock keeps it").await;
    db.admin.batch_execute("ALTER TABLE riders RENAME name TO nom").await.unwrap();
    let mut request = many(&[open]);
    request.fingerprint = Some(fingerprint.clone());
    assert!(matches!(backend.fetch(request).await, Err(FetchError::SchemaChanged)));
    parsed(open, "0", "it may not be right any more").await;
    db.admin.batch_execute("ALTER TABLE riders RENAME nom TO name").await.unwrap();
    assert_eq!(ask(open, Some(&fingerprint)).await, "r1");
}
