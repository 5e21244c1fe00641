//! The schema changes under the proxy: what rests on it is refused until a reload, and in no race does a key that is
//! gone bound anything (soundness rule 7).

use super::World;
use crate::city::{eventually, fetch_waits, rows, sqlstate};
use tokio_postgres::Client;

/// A change that matters, and what undoes it.
const CHANGES: [(&str, &str); 11] = [
    ("ALTER TABLE riders DROP CONSTRAINT riders_pkey CASCADE", "ALTER TABLE riders ADD PRIMARY KEY (rider_id)"),
    (
        "ALTER TABLE riders DROP CONSTRAINT riders_pkey CASCADE, ADD PRIMARY KEY (rider_id) DEFERRABLE",
        "ALTER TABLE riders DROP CONSTRAINT riders_pkey CASCADE, ADD PRIMARY KEY (rider_id)",
    ),
    ("ALTER TABLE riders ALTER birth_year TYPE numeric", "ALTER TABLE riders ALTER birth_year TYPE int"),
    ("ALTER TABLE riders ALTER birth_year TYPE text", "ALTER TABLE riders ALTER birth_year TYPE int USING birth_year::int"),
    ("ALTER TABLE riders ADD COLUMN added int", "ALTER TABLE riders DROP COLUMN added"),
    ("ALTER TABLE riders ALTER plan DROP NOT NULL", "ALTER TABLE riders ALTER plan SET NOT NULL"),
    ("ALTER TABLE riders RENAME TO people", "ALTER TABLE people RENAME TO riders"),
    (
        "ALTER TABLE riders RENAME TO people; CREATE VIEW riders AS SELECT * FROM people UNION ALL SELECT * FROM people;
         GRANT SELECT ON riders TO PUBLIC",
        "DROP VIEW riders; ALTER TABLE people RENAME TO riders",
    ),
    (
        "ALTER TABLE riders RENAME TO people; CREATE TABLE riders (LIKE people); GRANT SELECT ON riders TO PUBLIC",
        "DROP TABLE riders; ALTER TABLE people RENAME TO riders",
    ),
    ("CREATE TABLE more (LIKE riders INCLUDING CONSTRAINTS); ALTER TABLE more INHERIT riders", "DROP TABLE more"),
    ("ALTER TABLE riders ENABLE ROW LEVEL SECURITY", "ALTER TABLE riders DISABLE ROW LEVEL SECURITY"),
];

/// What an owner does every day, and what must not end the service.
const HARMLESS: [&str; 9] = [
    "ANALYZE riders",
    "VACUUM FULL riders",
    "VACUUM FULL pg_attribute",
    "CREATE INDEX riders_city ON riders (city)",
    "GRANT SELECT ON riders TO CURRENT_USER",
    "COMMENT ON TABLE riders IS 'people'",
    "ALTER TABLE riders SET (fillfactor = 90)",
    "REINDEX TABLE riders",
    "TRUNCATE trips",
];

const SUM: &str = "SELECT sum(birth_year), count(*) FROM riders";

/// A world whose `riders` has a CHECK constraint, and no birth year that is not one.
async fn world() -> World {
    let db = crate::city::bikes().await;
    db.execute(
        "DELETE FROM trips WHERE rider_id = 500; DELETE FROM riders WHERE rider_id = 500;
         ALTER TABLE riders ADD CONSTRAINT positive CHECK (rider_id > 0)",
    )
    .await;
    World::over(db).await
}

async fn assert_refused(world: &World, ada: &Client, sql: &str, why: &str) {
    let before = world.paid().await;
    let refused = rows(ada, sql).await.unwrap_err();
    let refused = refused.as_db_error().unwrap();
    assert_eq!(refused.code().code(), "55000", "{why}: {sql}: {refused:?}");
    let table =
        refused.message().strip_prefix("the table \"").and_then(|m| m.split_once("\" is not defined as"));
    assert!(table.is_some_and(|(table, _)| sql.contains(table)), "{why}: {sql}: {refused:?}");
    assert_eq!(world.paid().await, before, "{why}: {sql}");
}

/// Which login lacks which right, and nothing that sounds as if it were the analyst's.
#[tokio::test(flavor = "multi_thread")]
async fn a_right_that_was_revoked_is_missed_by_the_login_that_had_it() {
    let world = world().await;
    let ada = world.ada().await;
    let (fetch, finish) = (format!("{}_fetch", world.db.name), format!("{}_finish", world.db.name));
    let public = "SELECT count(*) FROM stations";
    for (sql, revoke, grant, code, says) in [
        (
            SUM,
            format!("REVOKE SELECT ON riders FROM {fetch}"),
            format!("GRANT SELECT ON riders TO {fetch}"),
            "55000",
            "the fetch login (backend.url) may not read a table of this statement",
        ),
        (
            public,
            format!("REVOKE SELECT ON stations FROM {finish}"),
            format!("GRANT SELECT ON stations TO {finish}"),
            "42501",
            "the finish login (backend.finish_url) lacks a right: permission denied for table stations",
        ),
    ] {
        rows(&ada, sql).await.unwrap();
        let paid = world.paid().await;
        world.db.execute(&revoke).await;
        // Asked anew, and not answered from what is kept.
        ada.batch_execute("SET noisegate.cache = off").await.unwrap();
        let refused = rows(&ada, sql).await.unwrap_err();
        let refused = refused.as_db_error().unwrap();
        assert_eq!((refused.code().code(), world.paid().await), (code, paid), "{refused:?}");
        assert!(refused.message().contains(says), "{refused:?}");
        assert!(refused.hint().unwrap().contains("noisegate check"), "{refused:?}");
        world.db.execute(&grant).await;
        rows(&ada, sql).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_07_what_rests_on_a_changed_table_is_55000_and_free() {
    let world = world().await;
    let ada = world.ada().await;
    assert_eq!(rows(&ada, SUM).await.unwrap().len(), 1);
    let new = |n: usize| format!("SELECT sum(birth_year) AS n{n}, count(*) FROM riders");
    for (n, (change, undo)) in CHANGES.into_iter().enumerate() {
        world.db.execute(change).await;
        // One that is known, and is not typed again; and one that is new.
        assert_refused(&world, &ada, SUM, change).await;
        assert_refused(&world, &ada, &new(n), change).await;
        // Other tables go on.
        world.assert_answers(&ada).await;
        world.db.execute(undo).await;
        assert_eq!(rows(&ada, SUM).await.unwrap_or_else(|e| panic!("after {undo}: {e:?}")).len(), 1);
    }
    // A constraint that need not hold any more.
    let unproven = "ALTER TABLE riders DROP CONSTRAINT positive;
        ALTER TABLE riders ADD CONSTRAINT positive CHECK (rider_id > 0) NOT VALID";
    world.db.execute(unproven).await;
    assert_refused(&world, &ada, SUM, unproven).await;
    // A column that is gone, and one of its name that is another.
    world.db.execute("ALTER TABLE riders DROP COLUMN birth_year").await;
    assert_refused(&world, &ada, SUM, "dropped").await;
    assert_refused(&world, &ada, &new(CHANGES.len()), "dropped").await;
    world.db.execute("ALTER TABLE riders ADD COLUMN birth_year int").await;
    assert_refused(&world, &ada, SUM, "made again").await;
    world.assert_answers(&ada).await;
    // A schema under another name, with the same tables in one of the old name.
    world
        .db
        .execute(
            "ALTER SCHEMA public RENAME TO older; CREATE SCHEMA public; GRANT USAGE ON SCHEMA public TO PUBLIC;
             CREATE TABLE public.trips AS TABLE older.trips; GRANT SELECT ON public.trips TO PUBLIC",
        )
        .await;
    assert_refused(&world, &ada, super::PRIVATE, "another schema").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_owner_does_every_day_does_not_end_the_service() {
    let world = world().await;
    let ada = world.ada().await;
    for change in HARMLESS {
        world.db.execute(change).await;
        let before = world.paid().await;
        for sql in [SUM, super::PRIVATE] {
            assert_eq!(rows(&ada, sql).await.unwrap_or_else(|e| panic!("{change}: {e:?}")).len(), 1);
        }
        assert_eq!(world.paid().await, before + 2, "{change}");
    }
}

/// Whether somebody of the database waits for a lock with a statement like this.
async fn waits(world: &World, like: &str) -> bool {
    let sql = format!(
        "SELECT 1 FROM pg_stat_activity WHERE datname = '{}' AND wait_event_type = 'Lock' AND query ~ '{like}'",
        world.db.name
    );
    !rows(&world.db.superuser().await, &sql).await.unwrap().is_empty()
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_07_a_change_that_a_statement_waits_for_is_seen_before_it_is_paid_for() {
    let world = world().await;
    let ada = world.ada().await;
    assert_eq!(rows(&ada, SUM).await.unwrap().len(), 1);
    let mut ada = Some(ada);
    for (end, code) in [("ROLLBACK", None), ("COMMIT", Some("55000"))] {
        let owner = world.db.superuser().await;
        owner.batch_execute("BEGIN; ALTER TABLE riders DROP CONSTRAINT riders_pkey CASCADE").await.unwrap();
        let before = world.paid().await;
        let client = ada.take().unwrap();
        let asked = tokio::spawn(async move {
            let code = client.simple_query(SUM).await.err().map(|e| e.code().unwrap().code().to_owned());
            (code, client)
        });
        eventually("the wait for the owner", async || waits(&world, "LOCK TABLE").await).await;
        assert_eq!(world.paid().await, before, "nothing is paid while it waits");
        owner.batch_execute(end).await.unwrap();
        let (heard, client) = asked.await.unwrap();
        assert_eq!(heard.as_deref(), code, "{end}");
        assert_eq!(world.paid().await, before + u32::from(code.is_none()), "{end}");
        ada = Some(client);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_who_takes_too_long_costs_nothing() {
    let world = world().await;
    let ada = world.ada().await;
    assert_eq!(rows(&ada, SUM).await.unwrap().len(), 1);
    let owner = world.db.superuser().await;
    owner.batch_execute("BEGIN; ALTER TABLE riders ADD COLUMN added int").await.unwrap();
    // The statement timeout is a second.
    world.assert_fails(&ada, SUM, "57014", 0).await;
    owner.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(rows(&ada, SUM).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_07_a_change_waits_for_the_statement_that_rests_on_what_it_changes() {
    let world = world().await;
    let ada = world.ada().await;
    let sql = super::PRIVATE;
    assert_eq!(rows(&ada, sql).await.unwrap().len(), 1);
    let before = world.paid().await;
    let holder = crate::city::hold_trips(&world.db).await;
    // A fetch that was planned before does not wait to be planned.
    let new = format!("{sql} WHERE minutes > 1");
    let asked = tokio::spawn(async move { (rows(&ada, &new).await, ada) });
    eventually("the fetch", async || fetch_waits(&world.db).await).await;
    let owner = world.db.superuser().await;
    let change = tokio::spawn(async move {
        owner.batch_execute("ALTER TABLE trips DROP CONSTRAINT trips_pkey CASCADE").await.unwrap();
    });
    eventually("the owner's wait", async || waits(&world, "^ALTER TABLE trips").await).await;
    holder.batch_execute("ROLLBACK").await.unwrap();
    let (answer, ada) = asked.await.unwrap();
    assert_eq!(answer.unwrap().len(), 1, "what was checked held to the end");
    change.await.unwrap();
    assert_eq!(world.paid().await, before + 1);
    assert_refused(&world, &ada, sql, "after it").await;
}

/// What no lock of a reader holds off: a child of a table whose rows are then read, and would have no key.
#[tokio::test(flavor = "multi_thread")]
async fn rule_07_a_child_that_is_attached_while_a_statement_is_planned_gives_no_answer() {
    let world = world().await;
    world.db.execute("CREATE TABLE more (LIKE stations); INSERT INTO more SELECT * FROM stations; GRANT SELECT ON more TO PUBLIC").await;
    let sql = "SELECT count(*) FROM stations JOIN trips USING (station)";
    for detach in [false, true] {
        let ada = world.ada().await;
        assert_eq!(rows(&ada, sql).await.unwrap().len(), 1);
        let before = world.paid().await;
        let holder = crate::city::hold_trips(&world.db).await;
        // Another fetch: one that was planned before does not wait to be planned.
        let new = format!("{sql} WHERE minutes > {}", u8::from(detach));
        let asked = tokio::spawn(async move { (sqlstate(&ada, &new).await, ada) });
        eventually("the fetch", async || fetch_waits(&world.db).await).await;
        world.db.execute("ALTER TABLE more INHERIT stations").await;
        if detach {
            // Gone again before anybody looks.
            world.db.execute("ALTER TABLE more NO INHERIT stations").await;
        }
        holder.batch_execute("ROLLBACK").await.unwrap();
        let (code, ada) = asked.await.unwrap();
        assert_eq!(code, "55000", "detached: {detach}");
        assert_eq!(world.paid().await, before + 1, "it was paid for before the change");
        if !detach {
            assert_refused(&world, &ada, sql, "while it is attached").await;
            world.db.execute("ALTER TABLE more NO INHERIT stations").await;
        }
        world.db.execute("ANALYZE stations").await;
    }
}
