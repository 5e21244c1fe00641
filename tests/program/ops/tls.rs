//! Certificates that change while the proxy serves.

use super::{certificate, port, text, with_server};
use crate::city::{PASSWORD, bikes};
use crate::support::{Workdir, psql};

#[tokio::test]
async fn a_new_certificate_is_shown_after_a_reload_and_a_broken_one_is_not() {
    let db = bikes().await;
    let keys = "listen = [\"127.0.0.1:0\"]\ntls = { cert = \"server.crt\", key = \"server.key\" }";
    let dir = Workdir::new(&with_server(&text(&db, &["ada"], ""), keys));
    certificate(&dir);
    let gate = dir.serve().await;
    let root = |name: &str| dir.path().join(name);
    std::fs::copy(root("server.crt"), root("old.crt")).unwrap();
    let trusts = async |certificate: &str| {
        let url = format!(
            "host=127.0.0.1 port={} user=ada password='{PASSWORD}' dbname=bikes sslmode=verify-ca sslrootcert={}",
            port(&gate),
            root(certificate).display()
        );
        psql(&url, "SELECT count(*) FROM stations").await.status.success()
    };
    assert!(trusts("old.crt").await);

    certificate(&dir);
    assert!(trusts("old.crt").await, "not before the reload");
    let out = dir.noisegate(&["ctl", "reload"]).await;
    assert_eq!(out.stdout, "reloaded: the certificate\n", "{out:?}");
    assert!(trusts("server.crt").await && !trusts("old.crt").await);

    std::fs::copy(root("server.crt"), root("new.crt")).unwrap();
    std::fs::write(root("server.crt"), "no certificate").unwrap();
    let out = dir.noisegate(&["ctl", "reload"]).await;
    assert!(
        !out.status.success() && out.stderr.contains("server.crt: no certificate in PEM form"),
        "{out:?}"
    );
    assert!(trusts("new.crt").await, "the old one is still in force");
}
