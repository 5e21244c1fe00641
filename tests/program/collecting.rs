//! Reports that are sealed where they are given: keys, `noisegate collect encode`, `noisegate collect shuffle` over HTTP, and `noisegate collect open`.

use crate::support::{NOISEGATE, Output, run, soon};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

pub async fn noisegate(folder: &Path, args: &[&str], input: &str) -> Output {
    let mut command = Command::new(NOISEGATE);
    command.args(args).current_dir(folder);
    run(command, input).await
}

/// A folder with both keys and a description of two columns.
pub async fn collection() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut public = Vec::new();
    for whose in ["shuffler", "analyser"] {
        let made =
            noisegate(folder.path(), &["collect", "key", whose, "--output", &format!("{whose}.key")], "")
                .await;
        assert!(made.status.success(), "{made:?}");
        public.push(made.stdout.trim().to_owned());
    }
    let json = format!(
        r#"{{"collection": "survey", "shuffler_key": "{}", "analyser_key": "{}", "columns": [
            {{"name": "answer", "kind": "categorical", "values": ["yes", "no"], "missing": true, "epsilon": "3"}},
            {{"name": "pets", "kind": "set", "values": ["cat", "dog", "horse"], "max_values": 2, "randomiser": "unary", "epsilon": "3"}}]}}"#,
        public[0], public[1]
    );
    fs::write(folder.path().join("survey.json"), json).unwrap();
    folder
}

pub struct Shuffling {
    pub process: Child,
    pub address: String,
    /// What it promised.
    pub said: String,
}

/// A shuffler of `survey.json`, unless `config` names its collections.
pub async fn shuffle(folder: &Path, config: &str) -> Shuffling {
    shuffle_with(folder, config, |_| {}).await
}

/// The same, with what a test adds to its command.
pub async fn shuffle_with(folder: &Path, config: &str, more: impl FnOnce(&mut Command)) -> Shuffling {
    let named = if config.starts_with("collections") { "" } else { "collections = [\"survey.json\"]\n" };
    let common =
        "listen = \"127.0.0.1:0\"\nkey = \"shuffler.key\"\nspool = \"spool.db\"\nbatches = \"batches\"\n";
    fs::write(folder.join("shuffle.toml"), format!("{common}{named}{config}")).unwrap();
    let mut command = Command::new(NOISEGATE);
    command
        .args(["collect", "shuffle", "--config", "shuffle.toml"])
        .current_dir(folder)
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    more(&mut command);
    let mut process = command.spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut said = String::new();
    loop {
        let line = lines.next_line().await.unwrap().unwrap();
        if let Some(address) = line.strip_prefix("listening on ") {
            return Shuffling { process, address: address.into(), said };
        }
        said.push_str(&line);
    }
}

impl Shuffling {
    /// Status and text of an answer.
    pub async fn send(&self, reports: &str, token: &str) -> (u16, String) {
        Self::post(&self.address, reports, token).await.unwrap()
    }

    /// The same, of whoever listens there; None where nobody answers.
    pub async fn post(address: &str, reports: &str, token: &str) -> Option<(u16, String)> {
        let mut socket = TcpStream::connect(address).await.ok()?;
        let request = format!(
            "POST /reports HTTP/1.1\r\nhost: shuffler\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{reports}",
            reports.len()
        );
        socket.write_all(request.as_bytes()).await.ok()?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }
}

pub fn batches(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder.join("batches")).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|e| e == "batch")).collect()
}

fn reports(folder: &Path) -> usize {
    batches(folder).iter().map(|batch| fs::read_to_string(batch).unwrap().lines().count() - 1).sum()
}

/// From 600 answers in CSV to counts, through a shuffler that is killed between two requests.
#[tokio::test(flavor = "multi_thread")]
async fn answers_arrive_as_reports_that_can_be_counted() {
    let folder = collection().await;
    let folder = folder.path();
    let mut csv = "pets,answer\n".to_owned();
    for person in 0..600 {
        csv += if person % 3 == 0 { "dog;cat,yes\n" } else { ",no\n" };
    }
    let encoded = noisegate(folder, &["collect", "encode", "--collection", "survey.json"], &csv).await;
    assert!(encoded.status.success() && encoded.stderr.is_empty(), "{encoded:?}");
    let lines: Vec<&str> = encoded.stdout.lines().collect();
    assert_eq!(lines.len(), 600);
    assert!(lines.iter().all(|line| line.len() == lines[0].len()), "all reports are as long");
    let rules = "min_batch = 600\nmax_delay = 3600\nmin_group = 0\n";
    let mut shuffling = shuffle(folder, rules).await;
    let (first, second) = (lines[..300].join("\n"), lines[300..].join("\n"));
    assert_eq!(shuffling.send(&first, "").await, (200, "300 kept\n".into()));
    shuffling.process.kill().await.unwrap();
    let shuffling = shuffle(folder, rules).await;
    // Whoever is not sure sends again.
    assert_eq!(shuffling.send(&first, "").await.0, 200);
    assert_eq!(batches(folder), Vec::<PathBuf>::new());
    assert_eq!(shuffling.send(&second, "").await.0, 200);
    soon("the batch", async || reports(folder) == 600).await;
    let batch = batches(folder).remove(0);
    let batch = batch.to_str().unwrap();
    let args = ["collect", "open", "--collection", "survey.json", "--key", "analyser.key", batch];
    let opened = noisegate(folder, &args, "").await;
    assert!(opened.status.success() && opened.stderr.is_empty(), "{opened:?}");
    let mut rows = opened.stdout.lines();
    assert_eq!(rows.next(), Some("\"answer\",\"pets\""));
    let mut counts: BTreeMap<&str, i32> = BTreeMap::new();
    for row in rows {
        let (answer, pets) = row.split_once(',').unwrap();
        *counts.entry(answer).or_default() += 1;
        assert!(pets.starts_with("\\x") && pets.len() == 4, "{row}");
    }
    // p = e³/(e³+2) = 0.909, q = 0.045: 400 of "no" are 373 ± 8, and 200 of "yes" 200 ± 6; these are six deviations.
    let within = |answer, expected: i32, width| (counts[answer] - expected).abs() < width;
    assert!(within("1", 373, 50) && within("0", 200, 45) && within("2", 27, 32), "{counts:?}");
    // The shuffler's key opens no inner layer.
    let wrong = noisegate(
        folder,
        &["collect", "open", "--collection", "survey.json", "--key", "shuffler.key", batch],
        "",
    )
    .await;
    assert!(!wrong.status.success() && wrong.stderr.contains("no secret key of an analyser"), "{wrong:?}");
}

/// Writers by token, limits, and what is refused: nothing of a request is kept then.
#[tokio::test(flavor = "multi_thread")]
async fn shufflers_refuse_with_a_reason() {
    let folder = collection().await;
    let folder = folder.path();
    let csv = format!("answer,pets\n{}", "yes,\n".repeat(8));
    let encoded =
        noisegate(folder, &["collect", "encode", "--collection", "survey.json", "--group", "a"], &csv).await;
    let lines: Vec<&str> = encoded.stdout.lines().collect();
    // SHA-256 of "open sesame".
    let writer = "[[writer]]\nname = \"form\"\ntoken_sha256 = \"41ef4bb0b23661e66301aac36066912dac037827b4ae63a7b1165a5aa93ed4eb\"\n";
    let rules = "min_batch = 1\nmax_delay = 0\nmin_group = 0\nmax_reports = 4\nreports_per_minute = 12\n";
    let shuffling = shuffle(folder, &format!("{rules}{writer}")).await;
    assert_eq!(shuffling.send(lines[0], "wrong").await.0, 401);
    let (status, text) = shuffling.send(&format!("{}\nnonsense", lines[0]), "open sesame").await;
    assert!(
        status == 400 && text.contains("line 2") && text.contains("nothing was taken"),
        "{status} {text}"
    );
    let (status, text) = shuffling.send(&lines[..5].join("\n"), "open sesame").await;
    assert!(status == 503 && text.contains("no room"), "{status} {text}");
    assert_eq!(shuffling.send(&lines[..4].join("\n"), "open sesame").await, (200, "4 kept\n".into()));
    assert_eq!(shuffling.send(&lines[..4].join("\n"), "open sesame").await.0, 429);
    soon("the batches", async || reports(folder) == 4).await;
    fs::write(folder.join("public.toml"), "listen = \"0.0.0.0:0\"\nkey = \"shuffler.key\"\ncollections = [\"survey.json\"]\nspool = \"s\"\nbatches = \"b\"\nmin_batch = 1\nmax_delay = 1\nmin_group = 0\n").unwrap();
    let refused = noisegate(folder, &["collect", "shuffle", "--config", "public.toml"], "").await;
    assert!(!refused.status.success() && refused.stderr.contains("behind a web server"), "{refused:?}");
}

/// Who may hold a group back for ever is said at the start: one that sends for everybody is one writer.
#[tokio::test(flavor = "multi_thread")]
async fn shufflers_say_how_many_writers_a_group_takes() {
    let folder = collection().await;
    let rules = "min_batch = 1\nmax_delay = 0\nmin_group = 20\n";
    let writer = format!("[[writer]]\nname = \"form\"\ntoken_sha256 = \"{}\"\n", "0".repeat(64));
    for (more, said) in [
        (
            "counted_per_writer = 3\n",
            "of one address 3 of a group count, so that it goes out when reports of it have come from about 7;",
        ),
        (
            "forwarded_for = true\n",
            "of one address in X-Forwarded-For 1 of a group count, so that it goes out when reports of it have come from about 20;",
        ),
        (writer.as_str(), "of one token 1 of a group count"),
    ] {
        let shuffling = shuffle(folder.path(), &format!("{rules}{more}")).await;
        assert!(shuffling.said.contains(said), "{}", shuffling.said);
    }
    let shuffling = shuffle(folder.path(), "min_batch = 1\nmax_delay = 0\nmin_group = 0\n").await;
    assert!(shuffling.said.contains("groups are not held back"), "{}", shuffling.said);
}

/// Mistakes in answers, descriptions and files are named; no answer is repeated.
#[tokio::test(flavor = "multi_thread")]
async fn encoders_say_what_is_wrong_and_repeat_no_answer() {
    let folder = collection().await;
    let folder = folder.path();
    for (format, input, said) in [
        ("csv", "answer\nyes\n", "no column \"pets\""),
        (
            "csv",
            "answer,pets,name\nyes,,planted\n",
            "a column \"name\" that the description does not ask for",
        ),
        (
            "csv",
            "answer,pets\nyes,\nplanted,\n",
            "record 2: column \"answer\": the value is not in its domain",
        ),
        ("csv", "answer,pets\nyes,cat;dog;horse\n", "record 1: column \"pets\" has more values"),
        ("csv", "answer,pets\nyes,cat,planted\n", "record 1: it is no CSV"),
        (
            "jsonl",
            "{\"answer\": \"planted\"}\n",
            "record 1: column \"answer\": the value is not in its domain",
        ),
        ("jsonl", "{\"answer\": {\"planted\": 1}}\n", "record 1: an answer is a string"),
        ("jsonl", "{\"planted\": 1}\n", "record 1: it has a key"),
        ("jsonl", "planted\n", "record 1: it is no JSON object"),
    ] {
        let args = ["collect", "encode", "--collection", "survey.json", "--format", format];
        let out = noisegate(folder, &args, input).await;
        assert!(!out.status.success() && out.stderr.contains(said), "{input}: {out:?}");
        assert!(!out.stderr.contains("planted"), "{out:?}");
    }
    let jsonl =
        "{\"answer\": null, \"pets\": [\"cat\", \"dog\"]}\n\n{\"pets\": \"cat\", \"answer\": \"no\"}\n{}\n";
    let out =
        noisegate(folder, &["collect", "encode", "--collection", "survey.json", "--format", "jsonl"], jsonl)
            .await;
    assert!(out.status.success() && out.stdout.lines().count() == 3, "{out:?}");
    let again = noisegate(folder, &["collect", "key", "shuffler", "--output", "shuffler.key"], "").await;
    assert!(!again.status.success() && again.stderr.contains("is there already"), "{again:?}");
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(folder.join("analyser.key"), readable).unwrap();
    fs::write(folder.join("x.batch"), "{}\n").unwrap();
    let open = ["collect", "open", "--collection", "survey.json", "--key", "analyser.key", "x.batch"];
    let out = noisegate(folder, &open, "").await;
    assert!(!out.status.success() && out.stderr.contains("chmod 600"), "{out:?}");
}
