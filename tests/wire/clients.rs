//! psql, as it comes.

use crate::fake::{Harness, PASSWORD};
use std::process::{Command, Output};

pub fn psql(server: &Harness, more: &str, sql: &str) -> Output {
    let target = format!("host=127.0.0.1 port={} dbname=bikes {more}", server.address.port());
    Command::new("psql")
        .args(["-X", "-A", "-t", "-v", "VERBOSITY=verbose", "-d", &target, "-c", sql])
        .env("PGPASSWORD", PASSWORD)
        .env("PGCLIENTENCODING", "UTF8")
        .output()
        .expect("psql is installed")
}

pub fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap().trim_end()
}

pub fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

#[test]
fn psql_logs_in_and_selects() {
    let server = Harness::new();
    for user in ["ana", "sam"] {
        let output = psql(&server, &format!("user={user}"), "select hello");
        assert_eq!(stdout(&output), "hello", "{}", stderr(&output));
        assert!(output.status.success());
    }
}

#[test]
fn who_looks_for_a_primary_finds_one() {
    let server = Harness::new();
    for wanted in ["any", "read-write", "primary", "prefer-standby"] {
        let output = psql(&server, &format!("user=ana target_session_attrs={wanted}"), "select hello");
        assert_eq!(stdout(&output), "hello", "{wanted}: {}", stderr(&output));
    }
    // As at a primary: it is none of these.
    for (wanted, why) in
        [("read-only", "session is not read-only"), ("standby", "server is not in hot standby mode")]
    {
        let output = psql(&server, &format!("user=ana target_session_attrs={wanted}"), "select hello");
        assert!(stderr(&output).contains(why), "{wanted}: {}", stderr(&output));
    }
}

#[test]
fn psql_shows_errors_notices_and_several_results() {
    let server = Harness::new();
    let output = psql(&server, "user=ana", "nonsense");
    let text = stderr(&output);
    for part in ["ERROR:  42703: column \"nonsense\"", "DETAIL:  It was never", "HINT:  Ask for another."] {
        assert!(text.contains(part), "{text}");
    }
    let output = psql(&server, "user=ana", "notice; select 2");
    assert_eq!(stdout(&output), "1\n2");
    assert!(stderr(&output).contains("NOTICE:  00000: spent"), "{}", stderr(&output));
    let output = psql(&server, "user=nobody", "select 1");
    assert!(stderr(&output).contains("password authentication failed for user \"nobody\""));
}
