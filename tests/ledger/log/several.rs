//! Several proxies on one ledger in PostgreSQL, and the roles they come as.

use super::store::{FIRST, Kind, Store, in_database, open, runtime, verify, write};
use crate::support::cluster;
use noisegate::ledger::LedgerError;
use noisegate::ledger::log::{self, Forget, Row, grants};

#[test]
fn writers_interleave_into_one_chain_and_see_all_of_it() {
    let store = Store::new(Kind::Postgres);
    const WRITERS: usize = 3;
    const BATCHES: usize = 60;
    let seen: Vec<Vec<Row>> = std::thread::scope(|scope| {
        let write = |writer: usize| {
            let mut log = store.open();
            let mut seen = log.begin(0).unwrap().rows;
            log.abandon();
            for batch in 0..BATCHES {
                seen.extend(log.begin(seen.len() as i64).unwrap().rows);
                for n in 0..(batch + writer) % 4 {
                    seen.push(log.append(format!("{writer}:{batch}:{n}")).unwrap());
                }
                if batch % 7 == 3 {
                    log.abandon();
                    seen.truncate(log.tip().id as usize);
                } else {
                    log.commit().unwrap();
                }
            }
            seen.extend(log.begin(seen.len() as i64).unwrap().rows);
            seen
        };
        let writers: Vec<_> = (0..WRITERS).map(|w| scope.spawn(move || write(w))).collect();
        writers.into_iter().map(|w| w.join().unwrap()).collect()
    });
    let rows = verify(&store.location).unwrap();
    let expected: usize =
        (0..WRITERS).map(|w| (0..BATCHES).filter(|b| b % 7 != 3).map(|b| (b + w) % 4).sum::<usize>()).sum();
    assert_eq!(rows.len(), 1 + expected);
    for seen in seen {
        assert_eq!(rows[..seen.len()], seen[..], "one order for all");
    }
    // Not one after the other: they took turns.
    let turns = rows.windows(2).filter(|w| w[0].body.get(..1) != w[1].body.get(..1)).count();
    assert!(turns > 2 * WRITERS, "{turns}");
}

/// Two that store under one key store once, and sizes are counted once.
#[test]
fn releases_are_shared() {
    let store = Store::new(Kind::Postgres);
    let (mut one, mut other) = (store.open(), store.open());
    for (log, bytes) in [(&mut one, vec![1; 10]), (&mut other, vec![2; 20])] {
        log.begin(1).unwrap();
        log.put(&[7; 32], 1, 0, bytes).unwrap();
        log.commit().unwrap();
    }
    assert_eq!(other.get(&[7; 32]).unwrap().unwrap().bytes, vec![1; 10]);
    other.begin(1).unwrap();
    assert_eq!(other.stored().unwrap(), 10);
    other.forget(Forget::All).unwrap();
    other.commit().unwrap();
    assert_eq!(one.get(&[7; 32]).unwrap(), None);
}

/// The owner makes the ledger; the proxies' login can serve from it, and can change nothing that is in it.
#[test]
fn the_proxies_role_can_append_and_no_more() {
    let store = Store::absent(Kind::Postgres);
    let db = store.db().clone();
    let (owner, proxy) = (format!("{}_owner", db.name), format!("{}_proxy", db.name));
    let schema = "the \"books\"";
    let location = |user: &str| {
        let mut location = in_database(&cluster().url(user, "only-for-this-test", &db.name));
        if let noisegate::policy::LedgerLocation::Postgres(database) = &mut location {
            database.schema = schema.into();
        }
        location
    };
    runtime().block_on(db.execute(&format!(
        "CREATE ROLE {owner} LOGIN PASSWORD 'only-for-this-test'; CREATE ROLE {proxy} LOGIN PASSWORD 'only-for-this-test';
         GRANT CONNECT, CREATE ON DATABASE {0} TO {owner}; GRANT CONNECT ON DATABASE {0} TO {proxy}",
        db.name
    )));
    let denied = log::create(&location(&proxy), &[FIRST.into()]).unwrap_err();
    assert!(
        matches!(denied, LedgerError::Unavailable { .. }) && denied.to_string().contains("permission"),
        "{denied}"
    );
    log::create(&location(&owner), &[FIRST.into()]).unwrap();
    let denied = open(&location(&proxy)).err().unwrap();
    assert!(denied.to_string().contains("permission denied"), "{denied}");
    runtime().block_on(async {
        let owner = crate::support::connect(&cluster().url(&owner, "only-for-this-test", &db.name)).await;
        owner.batch_execute(&grants(schema, &proxy)).await.unwrap();
    });
    let mut log = open(&location(&proxy)).unwrap();
    write(&mut log, &["a"]).unwrap();
    log.begin(2).unwrap();
    log.put(&[1; 32], 2, 0, vec![1]).unwrap();
    assert_eq!(log.forget(Forget::All).unwrap(), 1);
    log.put(&[1; 32], 2, 0, vec![1]).unwrap();
    assert_eq!(log.make_room(0).unwrap(), 1);
    log.commit().unwrap();
    runtime().block_on(async {
        let proxy = crate::support::connect(&cluster().url(&proxy, "only-for-this-test", &db.name)).await;
        for sql in [
            "UPDATE s.entries SET body = 'x'",
            "DELETE FROM s.entries",
            "TRUNCATE s.entries",
            "DELETE FROM s.head",
            "TRUNCATE s.shelf",
            "UPDATE s.shelf SET epoch = 0",
            "DROP TABLE s.entries",
            "DROP SCHEMA s CASCADE",
            "ALTER TABLE s.entries DISABLE TRIGGER ALL",
            "CREATE TABLE s.more ()",
            "UPDATE s.head SET id = 0",
        ] {
            let sql = sql
                .replace(" s.", " \"the \"\"books\"\"\".")
                .replace("SCHEMA s ", "SCHEMA \"the \"\"books\"\"\" ");
            let error = proxy.batch_execute(&sql).await.unwrap_err();
            assert_eq!(error.code().unwrap().code(), "42501", "{sql}: {error:?}");
        }
    });
    assert_eq!(verify(&location(&proxy)).unwrap().len(), 2);
    // What gives budget back is for the owner.
    let kinds = ["opening", "grant", "close", "restore"].map(|kind| format!("{{\"{kind}\":{{}}}}"));
    let forgets = "{\"policy\":{\"terms\":{},\"forgets\":true,\"author\":\"eve\"}}".to_owned();
    for what in kinds.into_iter().chain([forgets.clone()]) {
        let body = format!("{{\"v\":1,\"at\":7,\"what\":{what}}}");
        let denied = write(&mut log, &[&body]).unwrap_err().to_string();
        assert!(denied.contains("only the owner of the ledger writes"), "{what}: {denied}");
        write(&mut open(&location(&owner)).unwrap(), &[&body]).unwrap();
    }
    let said = forgets.replace("true", "false").replace("eve", "\\\"forgets\\\":true");
    write(&mut log, &[&format!("{{\"v\":1,\"at\":7,\"what\":{said}}}")]).unwrap();
    assert_eq!(verify(&location(&proxy)).unwrap().len(), 8);
}

/// A trigger that somebody else made takes a row away: nothing is answered.
#[test]
fn a_row_that_is_not_written_is_noticed() {
    for (table, when) in [("entries", "INSERT"), ("head", "UPDATE")] {
        let store = Store::new(Kind::Postgres);
        let mut log = store.open();
        store.vandalise(&format!(
            "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
             CREATE TRIGGER swallow BEFORE {when} ON {table} FOR EACH ROW EXECUTE FUNCTION swallow()"
        ));
        let noticed = write(&mut log, &["a"]).unwrap_err();
        assert!(matches!(noticed, LedgerError::Unusable { .. }), "{noticed}");
    }
    let store = Store::new(Kind::Sqlite);
    let mut log = store.open();
    store.vandalise("CREATE TRIGGER swallow BEFORE INSERT ON entries BEGIN SELECT RAISE(IGNORE); END");
    let noticed = write(&mut log, &["a"]).unwrap_err();
    assert!(noticed.to_string().contains("changed 0 rows"), "{noticed}");
}

/// Another format, a way that is not supported, another encoding.
#[test]
fn a_database_of_no_use_is_refused_at_the_start() {
    let store = Store::new(Kind::Postgres);
    store.vandalise("UPDATE head SET version = 3");
    let error = open(&store.location).err().unwrap();
    assert!(
        matches!(error, LedgerError::Unusable { .. }) && error.to_string().contains("format is 3"),
        "{error}"
    );
    let name = &store.db().name;
    for url in ["sslmode=verify-full", "target_session_attrs=read-write"] {
        let location = in_database(&format!("{}?{url}", store.db().superuser_url));
        let error = open(&location).err().unwrap();
        assert!(matches!(error, LedgerError::Unusable { .. }), "{error}");
        assert!(!error.to_string().contains("postgres://"), "{error}");
    }
    let latin = format!("{name}_latin");
    runtime().block_on(async {
        let superuser = store.db().superuser().await;
        superuser
            .batch_execute(&format!(
                "CREATE DATABASE {latin} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"
            ))
            .await
            .unwrap();
    });
    let error = log::create(&in_database(&cluster().superuser_url(&latin)), &[]).unwrap_err();
    assert!(error.to_string().contains("UTF8"), "{error}");
}

#[test]
fn the_document_grants_what_the_program_needs() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/ledger.md")).unwrap();
    assert!(text.contains(&grants("noisegate_ledger", "noisegate_proxy")));
}
