//! `noisegate passwd` against PostgreSQL's own idea of a verifier.

use crate::support::{NOISEGATE, Output, database, run};
use std::os::unix::fs::PermissionsExt;

async fn passwd(args: &[&str], input: &str) -> Output {
    let mut command = tokio::process::Command::new(NOISEGATE);
    command.arg("passwd").args(args);
    run(command, input).await
}

/// The verifier in an entry for a policy.
fn verifier(out: &Output) -> String {
    assert!(out.status.success(), "{out:?}");
    let line = out.stdout.lines().find_map(|l| l.strip_prefix("scram = \"")).unwrap();
    line.trim_end_matches('"').to_owned()
}

/// PostgreSQL takes the verifier as it is, and lets the password in: also one that SASLprep changes, one that it
/// refuses and that stays as it is, and one with spaces at its ends.
#[tokio::test(flavor = "multi_thread")]
async fn postgresql_accepts_what_passwd_makes() {
    let db = database("").await;
    let superuser = db.superuser().await;
    for (i, (password, typed)) in [
        ("pencil", "pencil"),
        ("ｆｕｌｌ\u{ad} ⅸ", "full ix"),
        ("a\u{7}b", "a\u{7}b"),
        (" x' \"y\" ", " x' \"y\" "),
    ]
    .into_iter()
    .enumerate()
    {
        let out = passwd(&["ada", "--stdin", "--iterations", "5000"], &format!("{password}\n")).await;
        let verifier = verifier(&out);
        assert!(verifier.starts_with("SCRAM-SHA-256$5000:"), "{verifier}");
        assert!(!out.stdout.contains(password) && out.stderr.is_empty(), "{out:?}");
        let role = format!("{}_p{i}", db.name);
        superuser.batch_execute(&format!("CREATE ROLE {role} LOGIN PASSWORD '{verifier}'")).await.unwrap();
        superuser.batch_execute(&format!("GRANT CONNECT ON DATABASE {} TO {role}", db.name)).await.unwrap();
        let mut config: tokio_postgres::Config = db.fetch_url.parse().unwrap();
        config.user(&role).password(typed);
        drop(config.connect(tokio_postgres::NoTls).await.unwrap_or_else(|e| panic!("{password:?}: {e:?}")));
        config.password("another");
        assert!(config.connect(tokio_postgres::NoTls).await.is_err());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_and_files() {
    let out = passwd(&["a\"da", "--role", "research", "--stdin"], "secret").await;
    assert!(
        out.stdout
            .starts_with("[[user]]\nname = \"a\\\"da\"\nrole = \"research\"\nscram = \"SCRAM-SHA-256$4096:"),
        "{out:?}"
    );

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("users.txt");
    std::fs::write(&file, "; people\n\"bo\" \"SCRAM-SHA-256$old\" \"sales\"\n").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    let path = file.to_str().unwrap();
    let out = passwd(&["ada", "--stdin", "--users-file", path], "one").await;
    assert!(out.stdout.starts_with("added \"ada\" in "), "{out:?}");
    let out = passwd(&["bo", "--stdin", "--users-file", path], "two").await;
    assert!(out.stdout.starts_with("replaced \"bo\" in "), "{out:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), lines[0]), (3, "; people"));
    assert!(
        lines[1].starts_with("\"bo\" \"SCRAM-SHA-256$4096:") && lines[1].ends_with(" \"sales\""),
        "{text}"
    );
    assert!(lines[2].starts_with("\"ada\" \"SCRAM-SHA-256$4096:"), "{text}");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    // What it does not understand it does not touch.
    std::fs::write(&file, "ada: secret\n").unwrap();
    let out = passwd(&["ada", "--stdin", "--users-file", path], "three").await;
    assert!(
        !out.status.success()
            && out.stderr.contains("line 1: write \"name\"")
            && !out.stderr.contains("secret"),
        "{out:?}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "ada: secret\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused() {
    for (args, input, said) in [
        (vec!["ada", "--stdin"], "\n", "the password is empty"),
        (vec!["ada", "--stdin"], "", "the password is empty"),
        (vec!["", "--stdin"], "x", "the name is empty"),
        (vec!["a\nb", "--stdin"], "x", "characters that no name has"),
        (vec!["ada", "--stdin", "--role", ""], "x", "the role is empty"),
        (vec!["ada"], "x", "no terminal"),
        (vec!["ada", "--stdin", "--iterations", "100"], "x", "4096"),
    ] {
        let out = passwd(&args, input).await;
        assert!(
            !out.status.success() && out.stderr.contains(said) && out.stdout.is_empty(),
            "{args:?}: {out:?}"
        );
    }
}
