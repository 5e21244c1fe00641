//! The documents as a reader uses them: every command and statement of the tutorials runs and says what is printed there, the book
//! has every page, and links lead somewhere.

use crate::support::{NOISEGATE, own_cluster, run};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tokio::process::Command;
use tokio_postgres::config::{Config, Host};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Follows a tutorial on a server of its own. With UPDATE=1 it says what was printed.
async fn follow(name: &str) {
    let cluster = tokio::task::spawn_blocking(|| own_cluster(&[])).await.unwrap();
    let config: Config = cluster.superuser_url("postgres").parse().unwrap();
    let [Host::Tcp(host)] = config.get_hosts() else { panic!("{config:?}") };
    let mut command = Command::new(root().join("docs/run_tutorial"));
    command.arg(format!("docs/tutorials/{name}.md")).current_dir(root());
    command.env("NOISEGATE", NOISEGATE).env("PGHOST", host).env("PGPORT", cluster.port().to_string());
    command.env("PGUSER", config.get_user().unwrap());
    command.env("PGPASSWORD", String::from_utf8_lossy(config.get_password().unwrap_or_default()).as_ref());
    let done = run(command, "").await;
    assert!(done.status.success(), "{}\n{}", done.stdout, done.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_hour() {
    follow("first_hour").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hospital() {
    follow("hospital").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn telemetry() {
    follow("telemetry").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bi_team() {
    follow("bi_team").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_auditor() {
    follow("auditor").await;
}

/// All documents in a folder and below.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let mut found: Vec<PathBuf> = entries
        .flat_map(|path| match path.is_dir() {
            true => documents(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .collect();
    found.sort();
    found
}

/// Where the links of a document lead, without those to other hosts.
fn links(document: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(document).unwrap();
    // What stands in code is no link.
    let prose = text.split("```").step_by(2).collect::<String>();
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let here = targets.map(|(target, _)| target.split('#').next().unwrap().to_owned());
    here.filter(|t| !t.is_empty() && !t.contains("://") && !t.contains(' ')).collect()
}

#[test]
fn links_lead_somewhere_and_the_book_has_every_page() {
    let docs = root().join("docs");
    let mut all = documents(&docs);
    all.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"].map(|f| root().join(f)));
    let mut wrong = Vec::new();
    for document in &all {
        for target in links(document) {
            if !document.parent().unwrap().join(&target).exists() {
                wrong.push(format!("{}: {target}", document.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let listed: BTreeSet<PathBuf> = links(&docs.join("SUMMARY.md")).iter().map(|t| docs.join(t)).collect();
    let there: BTreeSet<PathBuf> =
        documents(&docs).into_iter().filter(|d| !d.ends_with("SUMMARY.md")).collect();
    assert_eq!(listed, there);
}
