//! Getting in: methods, refusals, and what a server must be.

use crate::server::Server;
use crate::{policy, text};
use noisegate::backend::{Backend, ConnectError};

#[tokio::test(flavor = "multi_thread")]
async fn every_password_method_works_and_a_wrong_password_does_not() {
    let server = Server::shared();
    let db = server.database().await;
    let roles = "SET password_encryption = 'scram-sha-256';
         CREATE ROLE ng_scram LOGIN PASSWORD 'p@ss wörd';
         CREATE ROLE ng_clear LOGIN PASSWORD 'p@ss wörd';
         SET password_encryption = 'md5';
         CREATE ROLE ng_md5 LOGIN PASSWORD 'p@ss wörd'";
    db.admin.batch_execute(roles).await.unwrap();
    for user in ["ng_scram", "ng_md5", "ng_clear"] {
        let mut policy = policy(&server, &db);
        policy.finish_url = server.url(&format!("{user}:p%40ss%20w%C3%B6rd"), &db.name);
        let backend = Backend::connect(&policy).await.unwrap();
        assert_eq!(text(&backend, "SELECT current_user").await, user);
        for (login, word) in [(format!("{user}:wrong"), "password"), (user.to_owned(), "none is set")] {
            policy.finish_url = server.url(&login, &db.name);
            let error = Backend::connect(&policy).await.err().unwrap();
            assert!(matches!(error, ConnectError::Unreachable { key: "finish_url", .. }), "{error}");
            assert!(error.to_string().contains(word), "{error}");
            assert!(!error.to_string().contains("wrong"), "{error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unix_socket_serves_too() {
    let server = Server::shared();
    let db = server.database().await;
    let mut policy = policy(&server, &db);
    let folder = server.socket_folder().to_str().unwrap().replace('/', "%2F");
    policy.finish_url = format!("postgres://{}@{folder}:{}/{}", db.finish, server.port, db.name);
    let backend = Backend::connect(&policy).await.unwrap();
    assert_eq!(text(&backend, "SELECT inet_server_port() IS NULL").await, "t");
    assert!(backend.server_version() >= 130_000);
    assert_eq!(backend.parameters().get("server_encoding").map(String::as_str), Some("UTF8"));
    assert!(backend.parameters().contains_key("server_version"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_served_is_refused_with_what_to_do() {
    let server = Server::shared();
    let db = server.database().await;
    for encoding in ["SQL_ASCII", "LATIN1"] {
        let name = format!("{}_{}", db.name, encoding.to_lowercase());
        let sql = format!("CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LOCALE 'C'");
        db.admin.batch_execute(&sql).await.unwrap();
        let mut policy = policy(&server, &db);
        policy.url = server.url(&db.fetch, &name);
        policy.finish_url = server.url(&db.finish, &name);
        let error = Backend::connect(&policy).await.err().unwrap();
        assert!(matches!(&error, ConnectError::Encoding { found } if found == encoding), "{error}");
        assert!(error.to_string().contains("UTF8"), "{error}");
    }

    let mut elsewhere = policy(&server, &db);
    elsewhere.finish_url = server.url(&db.finish, "postgres");
    let error = Backend::connect(&elsewhere).await.err().unwrap();
    assert!(matches!(&error, ConnectError::OtherDatabase { .. }), "{error}");

    let mut tls = policy(&server, &db);
    tls.url.push_str("?sslmode=require");
    let error = Backend::connect(&tls).await.err().unwrap();
    assert!(error.to_string().contains("backend.url: TLS to the backend is not supported yet"), "{error}");

    let mut nobody = policy(&server, &db);
    nobody.url = server.url("no_such_role", &db.name);
    let error = Backend::connect(&nobody).await.err().unwrap();
    assert!(error.to_string().contains("no_such_role"), "{error}");

    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut down = policy(&server, &db);
    down.url = format!("postgres://x@127.0.0.1:{port}/x");
    let error = Backend::connect(&down).await.err().unwrap();
    assert!(matches!(&error, ConnectError::Unreachable { key: "url", .. }), "{error}");
}
