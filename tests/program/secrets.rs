//! What comes from the environment (`${NAME}` in a policy) is shown nowhere, whichever key it was put into, and no password becomes
//! the name of a host that is looked up.

use crate::support::{NOISEGATE, run};
use tokio::process::Command;

/// A part of every value.
const SECRET: &str = "s3cretmarker";

/// A key of the base policy and what stands there in its place; and a text that is added.
const CASES: &[(&str, &str, &str)] = &[
    ("127.0.0.1:0", "${SECRET}", ""),
    ("127.0.0.1:0", "127.0.0.1:${SECRET}", ""),
    ("127.0.0.1:0", "unix:/nowhere/${SECRET}", ""),
    ("fetch@127.0.0.1:1/b", "${SECRET}@127.0.0.1:1/b", ""),
    ("fetch@127.0.0.1:1/b", "fetch@127.0.0.1:1/${SECRET}", ""),
    ("fetch@127.0.0.1:1/b", "fetch@127.0.0.1:${SECRET}/b", ""),
    ("fetch@127.0.0.1:1/b", "fetch@127.0.0.1:1/b?sslmode=${SECRET}", ""),
    ("fetch@127.0.0.1:1/b", "fetch@127.0.0.1:1/b?sslmode=verify-full&sslrootcert=/${SECRET}", ""),
    ("postgres://fetch@127.0.0.1:1/b", "${SECRET}", ""),
    ("sqlite:l.db", "${SECRET}", ""),
    // A ledger that cannot be made, and one that is.
    ("sqlite:l.db", "sqlite:/nowhere/${SECRET}/l.db", ""),
    ("sqlite:l.db", "sqlite:${SECRET}.db", ""),
    ("listen", "tls = { cert = \"${SECRET}.crt\", key = \"${SECRET}.key\" }\nlisten", ""),
    ("[ledger]", "password_file = \"${SECRET}\"\n[ledger]", ""),
    ("[ledger]", "schema = \"${SECRET}\"\n[ledger]", ""),
    ("", "", "[metrics]\nlisten = \"${SECRET}\"\n"),
    ("", "", "[metrics]\nhealth_listen = \"127.0.0.1:${SECRET}\"\n"),
    ("", "", "[console]\nlisten = \"${SECRET}\"\n"),
    ("", "", "[cache]\nkey = \"${SECRET}\"\n"),
    ("", "", "[cache]\nkey_file = \"${SECRET}\"\n"),
    // Passwords that are not percent-encoded: what follows the `@` would be a host.
    ("fetch@127.0.0.1:1/b", "fetch:p@${SECRET}@127.0.0.1:1/b", ""),
    ("fetch@127.0.0.1:1/b", "fetch:${AT}@127.0.0.1:1/b", ""),
    ("fetch@127.0.0.1:1/b", "fetch:${SLASH}@127.0.0.1:1/b", ""),
    ("postgres://fetch@127.0.0.1:1/b", "${URL}", ""),
    ("postgres://fetch@127.0.0.1:1/b", "host=127.0.0.1 port=1 user=fetch password=${WORDS}", ""),
    ("sqlite:l.db", "postgres://books:${AT}@127.0.0.1:1/b", ""),
    ("sqlite:l.db", "postgres://books@${SECRET}.invalid/b", ""),
];

const POLICY: &str = "[server]
listen = [\"127.0.0.1:0\"]
[backend]
url = \"postgres://fetch@127.0.0.1:1/b\"
finish_url = \"postgres://finish@127.0.0.1:1/b\"
[ledger]
url = \"sqlite:l.db\"
[privacy]
unit = \"riders.rider_id\"
[[budget]]
name = \"everyone\"
epsilon = 8.0
delta = 1e-6
[table.riders]
unit_column = \"rider_id\"
";

/// All that the commands say of a policy.
async fn said(policy: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("policy.toml"), policy).unwrap();
    let commands: [&[&str]; 10] = [
        &["check"],
        &["check", "--offline"],
        &["serve"],
        &["explain", "SELECT 1"],
        &["budget", "show"],
        &["budget", "create"],
        &["budget", "create"],
        &["budget", "verify"],
        &["serve"],
        &["ctl", "reload"],
    ];
    let mut all = String::new();
    for arguments in commands {
        let mut command = Command::new(NOISEGATE);
        command
            .args(arguments)
            .args(["--policy", "policy.toml"])
            .current_dir(folder.path())
            .env("SECRET", SECRET)
            .env("AT", format!("p@{SECRET}/x"))
            .env("SLASH", format!("p@x/{SECRET}"))
            .env("URL", format!("postgres://fetch:p@{SECRET}@127.0.0.1:1/b"))
            .env("WORDS", format!("p host={SECRET}"));
        let out = run(command, "").await;
        all.push_str(&format!("{arguments:?}: {}{}\n", out.stdout, out.stderr));
    }
    all
}

#[tokio::test]
async fn no_command_says_a_word_of_the_environment() {
    for (key, instead, more) in CASES {
        assert!(POLICY.contains(key), "{key}");
        let policy = if key.is_empty() { POLICY.to_owned() } else { POLICY.replacen(key, instead, 1) };
        let said = said(&format!("{policy}{more}")).await;
        assert!(!said.contains(SECRET), "{instead}{more}: {said}");
    }
}

/// Whoever reads a message finds the file by the name that the policy gives it.
#[tokio::test]
async fn a_ledger_is_named_as_the_policy_names_it() {
    let said = said(&POLICY.replacen("sqlite:l.db", "sqlite:${SECRET}.db", 1)).await;
    assert!(said.contains("${SECRET}.db"), "{said}");
    assert!(!said.contains(SECRET), "{said}");
}

#[tokio::test]
async fn a_password_that_ends_its_part_of_a_url_is_a_mistake_of_the_policy() {
    for url in ["fetch:${AT}@127.0.0.1:1/b", "fetch:${SLASH}@127.0.0.1:1/b"] {
        let said = said(&POLICY.replacen("fetch@127.0.0.1:1/b", url, 1)).await;
        let wanted = "url: the value of a variable ends the part of the URL in which it stands";
        assert!(said.contains(wanted) && said.contains("percent-encode"), "{said}");
        assert!(!said.contains("lookup"), "{said}");
    }
}
