//! Who may connect from where.

use super::{certificate, socket_url, text, with_server};
use crate::city::{PASSWORD, bikes};
use crate::support::{Workdir, psql};

const RULES: &str = "
[[access]]
from = [\"127.0.0.0/8\", \"::1\"]
users = [\"bo\"]
action = \"deny\"

[[access]]
from = [\"127.0.0.1\"]
users = [\"ada\", \"bo\", \"nobody\"]
action = \"allow\"

[[access]]
from = [\"127.0.0.1\"]
roles = [\"research\"]
tls = true
action = \"allow\"

[[access]]
from = [\"local\"]
users = [\"bo\"]
action = \"allow\"
";

#[tokio::test]
async fn the_first_rule_that_matches_decides_and_none_is_a_refusal() {
    let db = bikes().await;
    let keys = "listen = [\"127.0.0.1:0\", \"unix:.s.PGSQL.1\"]
        tls = { cert = \"server.crt\", key = \"server.key\", required = false }";
    let text = text(&db, &["ada", "bo", "cy", "dee"], RULES)
        .replace("name = \"cy\"", "name = \"cy\"\nrole = \"research\"");
    let dir = Workdir::new(&with_server(&text, keys));
    certificate(&dir);
    let gate = dir.serve().await;
    let url = |user: &str, password: &str, tls: &str| {
        format!("{}?sslmode={tls}", gate.url(user, password, "bikes"))
    };
    let ask = async |url: &str| psql(url, "SELECT count(*) FROM stations").await;

    assert!(ask(&url("ada", PASSWORD, "disable")).await.status.success());
    let out = ask(&url("bo", PASSWORD, "disable")).await;
    let denied = "FATAL:  access rules reject connection for host \"127.0.0.1\", user \"bo\", database \"bikes\", \
        no encryption";
    assert!(out.stderr.contains(denied), "{out:?}");
    let folder = dir.path().to_str().unwrap();
    assert!(ask(&socket_url(folder, "1", "bo")).await.status.success());
    let out = ask(&socket_url(folder, "1", "ada")).await;
    let unmatched =
        "FATAL:  no access rule for host \"[local]\", user \"ada\", database \"bikes\", no encryption";
    assert!(out.stderr.contains(unmatched), "{out:?}");

    // A role's rule, for connections with TLS: without it the role does not matter.
    assert!(ask(&url("cy", PASSWORD, "require")).await.status.success());
    let unmatched = |user: &str, tls: &str| {
        format!("no access rule for host \"127.0.0.1\", user \"{user}\", database \"bikes\", {tls}")
    };
    for (user, password) in [("cy", PASSWORD), ("cy", "wrong"), ("dee", PASSWORD), ("unknown", PASSWORD)] {
        let out = ask(&url(user, password, "disable")).await;
        assert!(out.stderr.contains(&unmatched(user, "no encryption")), "{out:?}");
    }
    // With it, nobody learns who has the role, or who exists, without the password.
    for (user, password) in [("cy", "wrong"), ("dee", "wrong"), ("unknown", PASSWORD)] {
        let out = ask(&url(user, password, "require")).await;
        let failed = format!("FATAL:  password authentication failed for user \"{user}\"");
        assert!(out.stderr.contains(&failed), "{out:?}");
    }
    let out = ask(&url("dee", PASSWORD, "require")).await;
    assert!(out.stderr.contains(&unmatched("dee", "SSL encryption")), "{out:?}");
    // Who is named and does not exist looks like who does.
    let out = ask(&url("nobody", PASSWORD, "disable")).await;
    assert!(out.stderr.contains("password authentication failed for user \"nobody\""), "{out:?}");
    let out = psql(&url("dee", PASSWORD, "require"), "").await;
    assert_eq!(out.status.code(), Some(2), "a refused connection");
}

#[tokio::test]
async fn limits_of_a_user_hold_over_all_addresses() {
    let db = bikes().await;
    let keys = "listen = [\"127.0.0.1:0\", \"unix:.s.PGSQL.1\"]";
    let limits = "[limits]\nmax_connections_per_user = 1\n";
    let dir = Workdir::new(&with_server(&text(&db, &["ada", "bo"], limits), keys));
    let gate = dir.serve().await;
    let _open = crate::support::connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let folder = dir.path().to_str().unwrap();
    let script = "\\set VERBOSITY verbose\nSELECT 1";
    let out = psql(&socket_url(folder, "1", "ada"), script).await;
    for part in
        ["too many connections for user \"ada\"", "limits.max_connections_per_user is 1.", "HINT:  Close"]
    {
        assert!(out.stderr.contains(part), "{out:?}");
    }
    assert!(psql(&socket_url(folder, "1", "bo"), "SELECT count(*) FROM stations").await.status.success());
}
