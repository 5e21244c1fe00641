//! `noisegate report`: the pages in one file.

use super::super::text;
use super::{Browser, console};
use crate::city::{PASSWORD, bikes};
use crate::support::{Workdir, psql};

#[tokio::test]
async fn a_report_is_the_pages_in_one_file_that_asks_for_nothing() {
    let db = bikes().await;
    let policy = text(&db, &["ada"], "").replace("[ledger]\n", "[ledger]\ntext = true\n");
    let dir = Workdir::new(&policy);
    let gate = dir.serve().await;
    let url = gate.url("ada", &PASSWORD.replace(' ', "%20"), "bikes");
    assert!(psql(&url, "SELECT count(*) FROM trips WHERE minutes > 42").await.status.success());
    let [report, copied, none, nowhere] =
        ["report.html", "copy.html", "none.html", "no/such/report.html"].map(|f| dir.path().join(f));
    let [report_at, copied_at, none_at, nowhere_at] =
        [&report, &copied, &none, &nowhere].map(|f| f.to_str().unwrap());
    let out = dir.noisegate(&["report", "--output", report_at]).await;
    assert!(out.status.success(), "{out:?}");
    let tip = dir.noisegate(&["budget", "verify"]).await.stdout;
    let hash = out.stdout.trim().rsplit(' ').next().unwrap();
    assert!(hash.len() == 64 && tip.contains(hash), "{out:?} {tip}");
    let mode = std::fs::metadata(&report).unwrap().permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o600);
    let report = std::fs::read_to_string(&report).unwrap();
    // From the console it is the same file, without texts for owners, too.
    let shown = dir.path().join("policy.toml");
    let policy = std::fs::read_to_string(&shown).unwrap();
    std::fs::write(&shown, policy + &console(&[("owner", "owner")])).unwrap();
    gate.signal("TERM").await;
    let gate = dir.serve_again().await;
    let mut browser = Browser::at(&gate);
    browser.log_in("owner", PASSWORD).await;
    let saved = browser.get("/report.html").await;
    assert!(
        saved.head.contains("content-disposition: attachment; filename=\"noisegate-report.html\""),
        "{}",
        saved.head
    );
    let parts = |page: &str| page.matches("<h1>").count();
    assert_eq!((saved.status, parts(&saved.body)), (200, parts(&report)));
    assert!(
        saved.body.contains(">ada<")
            && !saved.body.contains("minutes &gt; 42")
            && !saved.body.contains("> 42")
    );
    assert!(browser.get("/").await.body.contains("href=\"/report.html\""));
    for said in [
        "<h1>Budgets</h1>",
        "A neighbour who was 10 % sure",
        "<h1>Statements</h1>",
        ">ada<",
        "<h1>Policy</h1>",
        "Hidden from everybody: email.",
        "<h1>Ledger</h1>",
        "default-src &#39;none&#39;",
        hash,
    ] {
        let plain = said.replace("&#39;", "'");
        assert!(report.contains(said) || report.contains(&plain), "{said} in {report}");
    }
    for outside in
        ["http:", "https:", "//", "<script", " src=", "url(", "@import", "href=\"/", "<form", "&gt; 42"]
    {
        assert!(!report.contains(outside), "{outside} in {report}");
    }

    // Away from the database, over a copy: the snapshot of the schema and the file are enough.
    assert!(dir.noisegate(&["check", "--write-schema"]).await.status.success());
    assert!(gate.signal("TERM").await.success());
    let copy = dir.path().join("copy.db");
    std::fs::copy(dir.path().join("noisegate.db"), &copy).unwrap();
    let again = ["report", "--offline", "--ledger", copy.to_str().unwrap(), "--output", copied_at];
    let out = dir.noisegate(&again).await;
    assert!(out.status.success() && out.stdout.contains(hash), "{out:?}");
    assert!(out.stdout.contains("note: "), "a copy has no mark: {out:?}");
    assert!(std::fs::read_to_string(&copied).unwrap().contains("copy.db"));

    // A ledger that somebody changed is not reported on.
    let mut bytes = std::fs::read(&copy).unwrap();
    let name = bytes.windows(5).position(|w| w == b"\"ada\"").unwrap();
    bytes[name + 1..name + 4].copy_from_slice(b"eve");
    std::fs::write(&copy, bytes).unwrap();
    std::fs::remove_file(&copied).unwrap();
    let out = dir.noisegate(&again).await;
    assert!(!out.status.success() && out.stderr.starts_with("noisegate: "), "{out:?}");
    assert!(!copied.exists());
    let missing = dir.path().join("none.db");
    let out = dir.noisegate(&["report", "--ledger", missing.to_str().unwrap(), "--output", none_at]).await;
    assert!(!out.status.success() && !missing.exists() && !none.exists(), "{out:?}");
    let out = dir.noisegate(&["report", "--output", nowhere_at]).await;
    assert!(out.stderr.contains("no/such/report.html cannot be written"), "{out:?}");
}
