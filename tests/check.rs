//! `noisegate check` against a database that is there, and one that is not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod pg;

use noisegate::cli::check::report;
use std::path::Path;

#[tokio::test]
async fn check_against_a_database() {
    let server = pg::Server::start();
    drop(server.database("bikes").await);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bikes.toml");
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("config/bikes.toml")).unwrap();
    let text = text.replace("postgres://noisegate@127.0.0.1/bikes", &server.url("bikes"));

    std::fs::write(&file, &text).unwrap();
    let ok = report(&file).await.unwrap();
    assert!(ok.starts_with("policy ok\n"), "{ok}");

    std::fs::write(&file, text.replace("[0, 240]", "[240, 0]").replace("columns.method", "columns.methot"))
        .unwrap();
    let errors = report(&file).await.unwrap_err();
    assert!(errors.contains("low end above its high end"), "{errors}");
    assert!(errors.contains("did you mean \"method\"?"), "{errors}");

    // Nobody listens on port 1. The mistake that the text shows is reported with it.
    let down = text.replace(&server.url("bikes"), "postgres://me:secret@127.0.0.1:1/bikes");
    std::fs::write(&file, down.replace("epsilon = 8.0", "epsilon = 0")).unwrap();
    let errors = report(&file).await.unwrap_err();
    assert!(errors.contains("epsilon must be greater than 0"), "{errors}");
    assert!(errors.contains("cannot connect to the database \"bikes\" at 127.0.0.1:1: "), "{errors}");
    assert!(!errors.contains("secret"), "{errors}");

    let absent = text.replace("/bikes\"", "/absent\"");
    std::fs::write(&file, absent).unwrap();
    let errors = report(&file).await.unwrap_err();
    assert!(errors.contains("(SQLSTATE 3D000)"), "{errors}");
}
