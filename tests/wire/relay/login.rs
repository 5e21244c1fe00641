//! Getting in: methods, refusals, and what a server must be.

use super::text;
use super::world::{Database, elsewhere, somebody};
use crate::city::eventually;
use crate::support::{cluster, connect, own_cluster};
use noisegate::backend::{Backend, ConnectError};

/// One method for each of these names, in front of the rules that are there.
const METHODS: &str = "host all ng_scram 127.0.0.1/32 scram-sha-256
host all ng_md5 127.0.0.1/32 md5
host all ng_clear 127.0.0.1/32 password
";

/// Lets people in by [`METHODS`].
async fn allow_every_method(db: &Database) {
    let file = cluster().dir().join("data/pg_hba.conf");
    let rules = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{METHODS}{rules}")).unwrap();
    let loaded = async || {
        // A session tells when its server process was told.
        let admin = connect(&cluster().superuser_url("postgres")).await;
        let row = admin.query_one("SELECT pg_conf_load_time()::text", &[]).await.unwrap();
        row.get::<_, String>(0)
    };
    let before = loaded().await;
    db.admin.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    eventually("the reload", async || loaded().await != before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_password_method_works_and_a_wrong_password_does_not() {
    let db = Database::new().await;
    allow_every_method(&db).await;
    let roles = format!(
        "SET password_encryption = 'scram-sha-256';
         CREATE ROLE ng_scram LOGIN PASSWORD 'p@ss wörd';
         CREATE ROLE ng_clear LOGIN PASSWORD 'p@ss wörd';
         SET password_encryption = 'md5';
         CREATE ROLE ng_md5 LOGIN PASSWORD 'p@ss wörd';
         GRANT CONNECT ON DATABASE {} TO ng_scram, ng_clear, ng_md5",
        db.name
    );
    db.admin.batch_execute(&roles).await.unwrap();
    let usual = db.policy();
    for user in ["ng_scram", "ng_md5", "ng_clear"] {
        let mut policy = db.policy();
        policy.finish_url = somebody(&usual.finish_url, &format!("{user}:p%40ss%20w%C3%B6rd"));
        let backend = Backend::connect(&policy).await.unwrap();
        assert_eq!(text(&backend, "SELECT current_user").await, user);
        for (login, word) in [(format!("{user}:wrong"), "password"), (user.to_owned(), "none is set")] {
            policy.finish_url = somebody(&usual.finish_url, &login);
            let error = Backend::connect(&policy).await.err().unwrap();
            assert!(matches!(error, ConnectError::Unreachable { key: "finish_url", .. }), "{error}");
            assert!(error.to_string().contains(word), "{error}");
            assert!(!error.to_string().contains("wrong"), "{error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unix_socket_serves_too() {
    // The folder is the server's data's.
    let sockets = [("unix_socket_directories", ".")];
    let server = tokio::task::spawn_blocking(move || own_cluster(&sockets)).await.unwrap();
    let db = Database::in_cluster(&server).await;
    let mut policy = db.policy();
    let folder = server.dir().join("data").to_str().unwrap().replace('/', "%2F");
    policy.finish_url = policy.finish_url.map(|url| url.replace("127.0.0.1", &folder));
    let backend = Backend::connect(&policy).await.unwrap();
    assert_eq!(text(&backend, "SELECT inet_server_port() IS NULL").await, "t");
    assert!(backend.server_version() >= 130_000);
    assert_eq!(backend.parameters().get("server_encoding").map(String::as_str), Some("UTF8"));
    assert!(backend.parameters().contains_key("server_version"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_served_is_refused_with_what_to_do() {
    let db = Database::new().await;
    for encoding in ["SQL_ASCII", "LATIN1"] {
        let name = format!("{}_{}", db.name, encoding.to_lowercase());
        let sql = format!("CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LOCALE 'C'");
        db.admin.batch_execute(&sql).await.unwrap();
        let mut policy = db.policy();
        policy.url = elsewhere(&policy.url, &name);
        policy.finish_url = elsewhere(&policy.finish_url, &name);
        let error = Backend::connect(&policy).await.err().unwrap();
        assert!(matches!(&error, ConnectError::Encoding { found } if found == encoding), "{error}");
        assert!(error.to_string().contains("UTF8"), "{error}");
    }

    let mut other = db.policy();
    other.finish_url = elsewhere(&other.finish_url, "postgres");
    let error = Backend::connect(&other).await.err().unwrap();
    assert!(matches!(&error, ConnectError::OtherDatabase { .. }), "{error}");

    for (mode, words) in [
        ("require", "server does not support TLS"),
        ("verify-full", "backend.url: sslmode=verify-full needs sslrootcert"),
    ] {
        let mut tls = db.policy();
        tls.url = tls.url.map(|url| format!("{url}?sslmode={mode}"));
        let error = Backend::connect(&tls).await.err().unwrap();
        assert!(error.to_string().contains(words), "{error}");
    }

    let mut nobody = db.policy();
    nobody.url = somebody(&nobody.url, "no_such_role:x");
    let error = Backend::connect(&nobody).await.err().unwrap();
    assert!(error.to_string().contains("no_such_role"), "{error}");

    // Nobody listens on port 1.
    let mut down = db.policy();
    down.url = "postgres://x@127.0.0.1:1/x".into();
    let error = Backend::connect(&down).await.err().unwrap();
    assert!(matches!(&error, ConnectError::Unreachable { key: "url", .. }), "{error}");
}
