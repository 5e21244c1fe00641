//! TLS with the database and with the ledger's, in every mode that libpq has, on a server that has it and on one that has not.

use crate::city::{self, PASSWORD, policy, room_for, rows};
use crate::support::{LOGIN_PASSWORD, TestDb, Workdir, connect, database_in, own_cluster};
use noisegate::demo::Cluster;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

/// A key, and a certificate for it; by itself, or by an authority in the same folder.
fn certificate(folder: &Path, name: &str, subject: &str, by: Option<&str>) {
    let mut command = Command::new("openssl");
    command.current_dir(folder).args(["req", "-x509", "-nodes", "-days", "2", "-newkey", "ec"]);
    command.args(["-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", &format!("/CN={subject}")]);
    command.args(["-keyout", &format!("{name}.key"), "-out", &format!("{name}.crt")]);
    if let Some(by) = by {
        command.args(["-CA", &format!("{by}.crt"), "-CAkey", &format!("{by}.key")]);
        command.args(["-addext", &format!("subjectAltName=DNS:{subject}")]);
        command.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
    }
    let made = command.output().expect("openssl is installed");
    assert!(made.status.success(), "{made:?}");
}

/// A certificate of version 1 in the place of the one for this key.
fn first_version(folder: &Path, name: &str) {
    let openssl = |args: &[&str]| {
        let made =
            Command::new("openssl").current_dir(folder).args(args).output().expect("openssl is installed");
        made.status.success()
    };
    let (key, csr, cert) = (format!("{name}.key"), format!("{name}.csr"), format!("{name}.crt"));
    assert!(openssl(&["req", "-new", "-key", &key, "-subj", "/CN=localhost", "-out", &csr]));
    let sign = ["x509", "-req", "-in", &csr, "-signkey", &key, "-days", "2", "-out", &cert];
    // From OpenSSL 3.4 on it is asked for.
    assert!(openssl(&[&sign[..], &["-x509v1"]].concat()) || openssl(&sign));
}

/// Lets a server use certificates of a folder, and asks for one where this role logs in.
async fn secure(cluster: &Cluster, from: &Path, shows_one: &str) {
    let data = cluster.dir().join("data");
    let owner = std::fs::metadata(&data).unwrap();
    for (file, to) in [("server.crt", "server.crt"), ("server.key", "server.key"), ("ca.crt", "ca.crt")] {
        let to = data.join(to);
        std::fs::copy(from.join(file), &to).unwrap();
        std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o600)).unwrap();
        chown(&to, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
    let rules = std::fs::read_to_string(data.join("pg_hba.conf")).unwrap();
    std::fs::write(data.join("pg_hba.conf"), format!("hostssl all {shows_one} all cert\n{rules}")).unwrap();
    let admin = connect(&cluster.superuser_url("postgres")).await;
    for sql in
        ["ALTER SYSTEM SET ssl_ca_file = 'ca.crt'", "ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()"]
    {
        admin.batch_execute(sql).await.unwrap();
    }
}

/// The database at the name that its certificate is for.
fn by_name(url: &str, parameters: &str) -> String {
    assert!(url.contains("127.0.0.1"));
    format!("{}?{parameters}", url.replace("127.0.0.1", "localhost"))
}

fn workdir(fetch: &str, finish: &str, ledger: &str) -> Workdir {
    let backend = format!("[backend]\nurl = \"{fetch}\"\nfinish_url = \"{finish}\"\n");
    let text = policy(&backend, &["ada"], &room_for(100));
    Workdir::new(&text.replace("url = \"sqlite:noisegate.db\"", &format!("url = \"{ledger}\"")))
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_goes_to_the_database_is_under_tls_where_the_urls_say_so() {
    let cluster = own_cluster(&[]);
    let db: TestDb = city::published(database_in(&cluster, city::DATA).await).await;
    let books = database_in(&cluster, "").await;
    let folder = tempfile::tempdir().unwrap();
    let own = |file: &str| folder.path().join(file).display().to_string();
    let fetch_role = format!("{}_fetch", db.name);
    certificate(folder.path(), "ca", "an authority", None);
    certificate(folder.path(), "other", "another authority", None);
    certificate(folder.path(), "server", "localhost", Some("ca"));
    certificate(folder.path(), "fetch", &fetch_role, Some("ca"));
    let strict = format!("sslmode=verify-full&sslrootcert={}&channel_binding=require", own("ca.crt"));

    // Before there is TLS: what insists on it is refused, with what is missing.
    let plain = workdir(&db.fetch_url, &by_name(&db.finish_url, "sslmode=require"), &books.superuser_url);
    let refused = plain.noisegate(&["serve"]).await;
    assert!(refused.stderr.contains("the server has no TLS"), "{}", refused.stderr);
    secure(&cluster, folder.path(), &fetch_role).await;

    // The fetch login shows a certificate, the finish login binds its password to the server's, the ledger asks a file.
    let shows = format!(
        "sslmode=verify-ca&sslrootcert={}&sslcert={}&sslkey={}",
        own("ca.crt"),
        own("fetch.crt"),
        own("fetch.key")
    );
    let no_password = db.fetch_url.replace(&format!(":{LOGIN_PASSWORD}@"), "@");
    assert_ne!(no_password, db.fetch_url);
    let dir = workdir(
        &by_name(&no_password, &shows),
        &by_name(&db.finish_url, &strict),
        &by_name(&books.superuser_url, &strict),
    );
    let made = dir.noisegate(&["budget", "create"]).await;
    assert!(made.status.success(), "{}", made.stderr);
    let gate = dir.serve_again().await;
    let client = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    assert_eq!(rows(&client, "SELECT count(*) FROM trips").await.unwrap().len(), 1);
    assert_eq!(rows(&client, "SELECT count(*) FROM stations").await.unwrap().len(), 1);
    let admin = connect(&cluster.superuser_url("postgres")).await;
    let seen = admin
        .query_one(
            "SELECT count(*), count(*) FILTER (WHERE s.ssl), count(DISTINCT a.usename), count(s.client_dn)
               FROM pg_stat_activity a JOIN pg_stat_ssl s USING (pid)
              WHERE a.application_name LIKE 'noisegate%'",
            &[],
        )
        .await
        .unwrap();
    let [all, secured, roles, certified] = [0, 1, 2, 3].map(|n| seen.get::<_, i64>(n));
    assert!(
        all >= 3 && all == secured && roles == 3 && certified >= 1,
        "{all} {secured} {roles} {certified}"
    );

    // A cancel request goes the same way.
    let waiting = client.cancel_token();
    let long = "SELECT count(*) FROM stations a, stations b, stations c, stations d, stations e, stations f, stations g, \
                stations h, stations i, stations j, stations k, stations l";
    let question = tokio::spawn(async move { rows(&client, long).await });
    let busy =
        format!("SELECT 1 FROM pg_stat_activity WHERE usename = '{}_finish' AND state = 'active'", db.name);
    let runs = async || !rows(&admin, &busy).await.unwrap().is_empty();
    city::eventually("the statement runs", runs).await;
    waiting.cancel_query(tokio_postgres::NoTls).await.unwrap();
    assert_eq!(question.await.unwrap().unwrap_err().code().unwrap().code(), "57014");
    city::eventually("the statement ends", async || !runs().await).await;

    // Who else shows a certificate, or one that is for another name, is not believed.
    let numbered = |parameters: &str| format!("{}?{parameters}", db.finish_url);
    for (url, words) in [
        (
            by_name(&db.finish_url, &format!("sslmode=verify-ca&sslrootcert={}", own("other.crt"))),
            "UnknownIssuer",
        ),
        (
            by_name(&db.finish_url, &format!("sslmode=require&sslrootcert={}", own("other.crt"))),
            "UnknownIssuer",
        ),
        (numbered(&strict), "not valid for name"),
        (by_name(&db.finish_url, "sslmode=verify-full&sslrootcert=/nowhere.crt"), "/nowhere.crt"),
        (by_name(&db.finish_url, "sslmode=verify-full"), "needs sslrootcert"),
    ] {
        let refused =
            workdir(&by_name(&no_password, &shows), &url, &books.superuser_url).noisegate(&["serve"]).await;
        assert!(refused.stderr.contains(words), "{url}: {}", refused.stderr);
        assert!(!refused.stderr.contains(LOGIN_PASSWORD), "{}", refused.stderr);
    }
    // Names and authorities are not looked at unless the URL says so.
    for parameters in
        ["sslmode=require", "sslmode=prefer", &format!("sslmode=verify-ca&sslrootcert={}", own("ca.crt"))]
    {
        let dir = workdir(&by_name(&no_password, &shows), &numbered(parameters), &books.superuser_url);
        let checked = dir.noisegate(&["check"]).await;
        assert!(checked.status.success(), "{parameters}: {}{}", checked.stdout, checked.stderr);
    }
    // From PostgreSQL 17 on TLS may begin at once.
    let version: i32 =
        admin.query_one("SELECT current_setting('server_version_num')::int", &[]).await.unwrap().get(0);
    let direct = by_name(&db.finish_url, &format!("{strict}&sslnegotiation=direct"));
    let dir = workdir(&by_name(&no_password, &shows), &direct, &books.superuser_url);
    let checked = dir.noisegate(&["check"]).await;
    assert_eq!(checked.status.success(), version >= 170_000, "{}{}", checked.stdout, checked.stderr);

    // A certificate of version 1, as Citus makes one, is refused in words that say what to do.
    first_version(folder.path(), "server");
    secure(&cluster, folder.path(), "nobody").await;
    let dir = workdir(&db.fetch_url, &numbered("sslmode=require"), "sqlite:noisegate.db");
    let words = async || dir.noisegate(&["check"]).await.stderr.contains("of X.509 version 1");
    city::eventually("the refusal", words).await;
    assert!(dir.noisegate(&["check"]).await.stderr.contains("sslmode=disable"));
}
