//! What is in the memory of those who handle reports, as a core dump would have it; and that they make none.

use crate::analysing::World;
use crate::collecting::{noisegate, shuffle_with};
use crate::support::soon;
use std::fs;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// Whether these bytes stand anywhere that a process may write to: what a core dump would have of it.
fn holds(pid: u32, wanted: &str) -> bool {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let memory = fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    let mut grep = Command::new("grep")
        .args(["-a", "-c", "-F", "-e", wanted])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = grep.stdin.take().unwrap();
    let (mut buffer, mut read) = (vec![0; 1 << 20], 0);
    for line in maps.lines() {
        let mut words = line.split(' ');
        let (range, rights) = (words.next().unwrap(), words.next().unwrap());
        if !rights.starts_with("rw") {
            continue;
        }
        let (from, to) = range.split_once('-').unwrap();
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let (mut from, to) = (number(from), number(to));
        // What is not there any more, or never was, is in no dump either.
        while from < to {
            let most = buffer.len().min((to - from) as usize);
            let Ok(n @ 1..) = memory.read_at(&mut buffer[..most], from) else { break };
            input.write_all(&buffer[..n]).unwrap();
            from += n as u64;
            read += n;
        }
    }
    drop(input);
    assert!(read > 1 << 20, "the memory of {pid} was read: {read} bytes");
    let found = grep.wait_with_output().unwrap();
    String::from_utf8(found.stdout).unwrap().trim() != "0"
}

/// Answers in words of people's own are in the memory of neither the shuffler nor the proxy that stores their reports: both hold
/// what was randomised before. What one of them did hold would be found: the same words are, once they are said to each.
#[tokio::test(flavor = "multi_thread")]
async fn neither_shuffler_nor_analyser_holds_what_was_said() {
    let world = World::with(|command| {
        command.env("NOISEGATE_DUMPABLE", "1");
    })
    .await;
    let folder = world.folder();
    let shuffling = shuffle_with(folder, &world.delivering(), |command| {
        command.env("NOISEGATE_DUMPABLE", "1");
    })
    .await;
    // Put together here, so that no file and no argument has them but the encoder's input.
    let (said, control) = (["plant", "ed-axolotl"].concat(), ["plant", "ed-control"].concat());
    let csv: String = (0..200).map(|n| format!("{n},true,{said}\n")).collect();
    let encoded =
        noisegate(folder, &["collect", "encode", "--collection", "survey.json"], &format!("n,b,p\n{csv}"))
            .await;
    assert!(encoded.status.success() && !encoded.stdout.contains(&said), "{encoded:?}");
    assert_eq!(shuffling.send(&encoded.stdout, "").await.0, 200);
    let (shuffler, proxy) = (shuffling.process.id().unwrap(), world.gate.id());
    assert!(!holds(shuffler, &said), "while reports wait");
    soon("the reports", async || world.stored().await.len() == 200).await;
    assert!(!holds(shuffler, &said) && !holds(proxy, &said), "when they are stored");
    // What the description says is public, and both have it.
    assert!(holds(shuffler, "max_values") && holds(proxy, "max_values"));
    // The same search finds what they do hold: a request that is not over, and a statement that is prepared.
    let mut socket = TcpStream::connect(&shuffling.address).await.unwrap();
    let part = format!("POST /reports HTTP/1.1\r\nhost: shuffler\r\ncontent-length: 1000\r\n\r\n{control}");
    socket.write_all(part.as_bytes()).await.unwrap();
    soon("the request", async || holds(shuffler, &control)).await;
    let ada = world.client("ada").await;
    let prepared = ada.prepare(&format!("SELECT '{control}'::text, count(*) FROM survey")).await.unwrap();
    assert!(holds(proxy, &control));
    drop(prepared);
}

/// Soft and hard limit of the size of a core dump.
fn core_limits(pid: u32) -> Vec<String> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits.lines().find(|l| l.starts_with("Max core file size")).unwrap();
    line.split_whitespace().skip(4).take(2).map(str::to_owned).collect()
}

/// Whoever handles answers or reports makes no core dump, whatever the shell allows.
#[tokio::test(flavor = "multi_thread")]
async fn who_handles_reports_makes_no_core_dump() {
    let world = World::new().await;
    let shuffling = shuffle_with(world.folder(), &world.delivering(), |_| {}).await;
    assert_eq!(core_limits(world.gate.id()), ["0", "0"]);
    assert_eq!(core_limits(shuffling.process.id().unwrap()), ["0", "0"]);
    let mut encoding = tokio::process::Command::new(env!("CARGO_BIN_EXE_noisegate"))
        .args(["collect", "encode", "--collection", "survey.json"])
        .current_dir(world.folder())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let pid = encoding.id().unwrap();
    soon("the encoder", async || core_limits(pid) == ["0", "0"]).await;
    encoding.kill().await.unwrap();
}
