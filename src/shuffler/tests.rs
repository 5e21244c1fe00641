#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
use super::*;
use dp::{Entropy, Ratio, SecureRng};
use encode::{AnalyserKey, Answer, Sealed};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

struct World {
    analyser: AnalyserKey,
    shuffler: Shuffler,
    folder: tempfile::TempDir,
    rng: SecureRng,
}

/// ε so large that a number of `range` is reported as it is: what a report says names it.
const SURE: &str =
    r#"{"name": "n", "kind": "count", "range": ["0", "60000"], "randomiser": "response", "epsilon": "900"}"#;

impl World {
    fn new() -> Self {
        let mut rng = SecureRng::new().unwrap();
        let key = ShufflerKey::generate(&mut rng).unwrap();
        let analyser = AnalyserKey::generate(&mut rng).unwrap();
        let (public, other) = (key.public(), analyser.public());
        let described = ["one", "two"].map(|name| {
            let json = format!(
                r#"{{"collection": "{name}", "shuffler_key": "{public}", "analyser_key": "{other}", "columns": [{SURE}]}}"#
            );
            Collection::parse(&json).unwrap()
        });
        let shuffler = Shuffler::new(key, described.into());
        Self { analyser, shuffler, folder: tempfile::tempdir().unwrap(), rng }
    }

    fn spool(&self) -> Spool {
        Spool::open(&self.folder.path().join("spool"), 10_000).unwrap()
    }

    fn message(&mut self, number: u32, group: &str) -> Message {
        let answer = number.to_string();
        self.shuffler.collections()[0].encode(&[Answer::One(&answer)], group, &mut self.rng).unwrap()
    }

    fn send(&mut self, spool: &mut Spool, number: u32, group: &str, writer: &str) -> Accepted {
        let message = self.message(number, group);
        self.pass(spool, &[message], writer)
    }

    fn pass(&self, spool: &mut Spool, messages: &[Message], writer: &str) -> Accepted {
        let opened: Vec<_> = messages.iter().map(|m| self.shuffler.open(m).unwrap()).collect();
        spool.accept(&opened, self.shuffler.writer(writer), 1000).unwrap()
    }

    /// What an analyser finds in a batch.
    fn numbers(&self, lines: &str) -> Vec<u32> {
        use base64::Engine;
        let decode = |line: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(line).unwrap();
        let open = |line| {
            let sealed = Sealed::from_bytes(&decode(line));
            match self.analyser.open(&self.shuffler.collections()[0], &sealed).unwrap()[..] {
                [dp::randomised::Report::Symbol(n)] => n,
                _ => panic!("a response is a symbol"),
            }
        };
        lines.lines().map(open).collect()
    }
}

fn rules(min_batch: u64, max_delay: u64, min_group: u64) -> Rules {
    Rules::new(min_batch, max_delay, min_group, 1, &Ratio::from_integer(1)).unwrap()
}

#[test]
fn reports_go_out_once_and_batches_until_they_are_delivered() {
    let mut world = World::new();
    let mut spool = world.spool();
    let first = world.message(0, "");
    for number in 1..10 {
        assert_eq!(world.send(&mut spool, number, "", "a"), Accepted { new: 1, again: 0 });
    }
    assert_eq!(world.pass(&mut spool, &[first.clone(), first.clone()], "a"), Accepted { new: 1, again: 1 });
    assert_eq!(spool.form(&rules(11, 60, 0), 1000, &mut world.rng).unwrap(), 0);
    assert_eq!(spool.form(&rules(10, 60, 0), 1000, &mut world.rng).unwrap(), 1);
    let batch = spool.next().unwrap().unwrap();
    assert_eq!((batch.reports, batch.small, spool.held()), (10, false, 10));
    // Whoever asks again gets the same batch, after a restart, too.
    drop(spool);
    let mut spool = world.spool();
    assert_eq!(spool.next().unwrap(), Some(batch.clone()));
    let mut numbers = world.numbers(&batch.lines);
    numbers.sort_unstable();
    assert_eq!(numbers, (0..10).collect::<Vec<_>>());
    spool.delivered(&batch).unwrap();
    spool.delivered(&batch).unwrap();
    assert_eq!((spool.next().unwrap(), spool.held()), (None, 0));
    // A report that has gone out is known.
    assert_eq!(world.pass(&mut spool, &[first], "b"), Accepted { new: 0, again: 1 });
    to_folder(world.folder.path(), &batch).unwrap();
    to_folder(world.folder.path(), &batch).unwrap();
    let text = std::fs::read_to_string(world.folder.path().join(format!("{}.batch", batch.name()))).unwrap();
    let (head, lines) = text.split_once('\n').unwrap();
    assert_eq!(lines, batch.lines);
    assert!(
        head.contains(r#""reports":10"#) && head.contains(r#""small":false"#) && head.contains(&batch.name())
    );
}

/// Who waited long enough goes in a small batch, which says so.
#[test]
fn after_the_longest_delay_a_batch_is_small() {
    let mut world = World::new();
    let mut spool = world.spool();
    world.send(&mut spool, 1, "", "a");
    let rules = rules(100, 60, 0);
    assert_eq!(spool.form(&rules, 1000, &mut world.rng).unwrap(), 0);
    assert_eq!(spool.form(&rules, 1059, &mut world.rng).unwrap(), 0);
    assert_eq!(spool.form(&rules, 1060, &mut world.rng).unwrap(), 1);
    assert!(spool.next().unwrap().unwrap().small);
}

/// What is a second's work for an analyser goes in several batches, none of which is smaller than `min_batch`; each collection by
/// its own rules, and by none not at all; who could not deliver one batch has the others.
#[test]
fn large_batches_are_divided_and_rules_are_a_collections_own() {
    for (reports, min_batch, sizes) in
        [(9, 4, vec![9]), (20_005, 4, vec![10_002, 10_003]), (20_005, 10_003, vec![20_005])]
    {
        let sealed: Vec<Vec<u8>> = (0..reports as u64).map(|n| n.to_be_bytes().to_vec()).collect();
        let mut divided: Vec<usize> = super::spool::parts(&sealed, min_batch).map(<[_]>::len).collect();
        divided.sort_unstable();
        assert_eq!(divided, sizes);
        assert_eq!(super::spool::parts(&sealed, min_batch).flatten().count(), reports);
    }
    let mut world = World::new();
    let mut spool = world.spool();
    world.send(&mut spool, 1, "", "a");
    let (mine, other) = (world.shuffler.collections()[0].digest().to_vec(), vec![7; 32]);
    let now = 1000;
    assert_eq!(spool.form(&vec![(other.clone(), rules(1, 0, 0))], now, &mut world.rng).unwrap(), 0);
    let own = vec![(other, rules(100, 60, 0)), (mine, rules(1, 0, 0))];
    assert_eq!(spool.form(&own, now, &mut world.rng).unwrap(), 1);
    world.send(&mut spool, 2, "", "a");
    assert_eq!(spool.form(&own, now, &mut world.rng).unwrap(), 2);
    let first = spool.next().unwrap().unwrap();
    let second = spool.after(Some(first.id)).unwrap().unwrap();
    assert_ne!(first.id, second.id);
    assert_eq!(spool.after(Some(second.id)).unwrap(), None);
}

/// A group waits, however long, until it is about large enough; others go before it.
#[test]
fn small_groups_are_held_back() {
    let mut world = World::new();
    let mut spool = world.spool();
    let rules = Rules::new(1, 0, 40, 1, &Ratio::from_integer(2)).unwrap();
    for number in 0..100 {
        let name = format!("device {number}");
        world.send(&mut spool, number, "large", &name);
        if number < 10 {
            world.send(&mut spool, 1000 + number, "small", &name);
        }
    }
    for now in [1000, 1_000_000] {
        spool.form(&rules, now, &mut world.rng).unwrap();
    }
    let batch = spool.next().unwrap().unwrap();
    spool.delivered(&batch).unwrap();
    assert_eq!(world.numbers(&batch.lines).iter().filter(|n| **n < 1000).count(), 100);
    assert_eq!((batch.reports, spool.next().unwrap(), spool.held()), (100, None, 10));
}

/// A flood of one writer counts as one report: it cannot lead another writer's report out of a group of its own. Mutation: with
/// all of a writer's reports counted, it goes.
#[test]
fn a_flood_of_one_writer_unmasks_nobody() {
    for (counted, held) in [(1, true), (1000, false)] {
        let mut world = World::new();
        let mut spool = world.spool();
        world.send(&mut spool, 7, "rare", "victim");
        for number in 0..200 {
            world.send(&mut spool, 100 + number, "rare", "flood");
        }
        let rules = Rules::new(1, 0, 60, counted, &Ratio::from_integer(1)).unwrap();
        spool.form(&rules, 1_000_000, &mut world.rng).unwrap();
        assert_eq!(spool.next().unwrap().is_none(), held);
    }
}

/// The threshold of a group is drawn once: forming again and again does not get around it. The first passes with
/// 4e-9.
#[test]
fn a_threshold_is_drawn_once() {
    let mut world = World::new();
    let mut spool = world.spool();
    let strict = Rules::new(1, 0, 20, 1, &Ratio::from_integer(1)).unwrap();
    world.send(&mut spool, 7, "rare", "a");
    assert_eq!(spool.form(&strict, 1000, &mut world.rng).unwrap(), 0);
    // With these rules a new group of one goes out with 49 % each time.
    let loose = Rules::new(1, 0, 2, 1, &Ratio::new(1, 1_000_000)).unwrap();
    for _ in 0..60 {
        assert_eq!(spool.form(&loose, 1000, &mut world.rng).unwrap(), 0);
    }
    let mut other = World::new();
    let mut fresh = 0;
    for number in 0..60 {
        let mut spool = Spool::open(&other.folder.path().join(number.to_string()), 10).unwrap();
        other.send(&mut spool, number, "rare", "a");
        fresh += spool.form(&loose, 1000, &mut other.rng).unwrap();
    }
    assert!((10..=50).contains(&fresh), "{fresh}");
}

/// (ε, δ) of groups, against sums over the law of the threshold: with one report more a group goes out at the same number of
/// others under a threshold that is one larger.
#[test]
fn thresholds_promise_what_is_said() {
    let of = |min_group, n, d| Rules::new(1, 0, min_group, 1, &Ratio::new(n, d)).unwrap();
    assert_eq!(of(0, 1, 1).promise(), None);
    let promise = of(20, 1, 1).promise().unwrap();
    // e^-19/(1+e^-1)
    assert!(
        (promise.delta / 4.096_1e-9 - 1.0).abs() < 1e-4 && promise.epsilon == Ratio::from_integer(1),
        "{promise:?}"
    );
    let mut rng = SecureRng::new().unwrap();
    let (rules, draws) = (of(6, 1, 1), 40_000);
    let mut counts: BTreeMap<i64, f64> = BTreeMap::new();
    for _ in 0..draws {
        *counts.entry(rules.threshold(&mut rng).unwrap()).or_default() += 1.0;
    }
    let q = (-1f64).exp();
    for (threshold, count) in counts {
        let p = match threshold {
            ..=0 => 0.0,
            1 => q.powi(5) / (1.0 + q),
            t => (1.0 - q) / (1.0 + q) * q.powi((t as i32 - 6).abs()),
        };
        let n = f64::from(draws);
        let deviation = (n * p * (1.0 - p)).sqrt();
        assert!((count - n * p).abs() < 5.5 * deviation + 3.0, "{threshold}: {count} of {}", n * p);
    }
    assert!(Rules::new(0, 0, 0, 1, &Ratio::from_integer(1)).is_err());
    assert!(Rules::new(1, 0, 0, 0, &Ratio::from_integer(1)).is_err());
    assert!(Rules::new(1, 0, 0, 1, &Ratio::from_integer(0)).is_err());
}

/// Orders of batches are drawn: a report that came first is as often anywhere.
#[test]
fn batches_are_in_a_drawn_order() {
    let mut world = World::new();
    let mut spool = world.spool();
    let mut places = [0u32; 4];
    for _ in 0..200 {
        for number in 0..4 {
            world.send(&mut spool, number, "", "a");
        }
        spool.form(&rules(4, 0, 0), 1000, &mut world.rng).unwrap();
        let batch = spool.next().unwrap().unwrap();
        places[world.numbers(&batch.lines).iter().position(|n| *n == 0).unwrap()] += 1;
        spool.delivered(&batch).unwrap();
    }
    assert!(places.iter().all(|n| (20..=85).contains(n)), "{places:?}");
}

#[test]
fn what_there_is_no_room_for_is_refused_whole() {
    let mut world = World::new();
    let path = world.folder.path().join("small");
    let mut spool = Spool::open(&path, 3).unwrap();
    let messages: Vec<Message> = (0..4).map(|n| world.message(n, "")).collect();
    let opened: Vec<_> = messages.iter().map(|m| world.shuffler.open(m).unwrap()).collect();
    assert!(matches!(spool.accept(&opened, [0; 16], 0), Err(SpoolError::Full(_))));
    assert_eq!(spool.accept(&opened[1..], [0; 16], 0).unwrap().new, 3);
    assert!(matches!(spool.accept(&opened[..1], [0; 16], 0), Err(SpoolError::Full(_))));
    spool.form(&rules(1, 0, 0), 1000, &mut world.rng).unwrap();
    let batch = spool.next().unwrap().unwrap();
    spool.delivered(&batch).unwrap();
    assert_eq!(spool.accept(&opened[..1], [0; 16], 0).unwrap().new, 1);
    let mut writers = Writers::new(5);
    assert!(
        writers.admit([1; 16], 5, 60) && !writers.admit([1; 16], 1, 119) && writers.admit([2; 16], 1, 119)
    );
    assert!(writers.admit([1; 16], 5, 120) && !writers.admit([1; 16], u64::MAX, 121));
}

/// Nobody but its owner reads a spool: it knows for a while what stands for a writer.
#[test]
fn spools_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let mut spool = world.spool();
    spool.accept(&[], [0; 16], 0).unwrap();
    let modes = std::fs::read_dir(world.folder.path()).unwrap().map(|file| {
        let file = file.unwrap();
        (file.file_name(), file.metadata().unwrap().permissions().mode() & 0o777)
    });
    for (name, mode) in modes {
        assert_eq!(mode, 0o600, "{name:?}");
    }
}

/// Files of the spool hold neither who wrote, once a group went out, nor what was answered at any time; nor does a batch.
#[test]
fn the_spool_holds_no_answer_and_forgets_writers() {
    let mut world = World::new();
    let mut spool = world.spool();
    let planted = "planted-writer-7";
    let digest = world.shuffler.writer(planted);
    assert_ne!(digest, World::new().shuffler.writer(planted), "under another key it is another digest");
    for number in 0..50 {
        world.send(&mut spool, 4242 + number, "planted-group", planted);
    }
    let files = || {
        let read = std::fs::read_dir(world.folder.path())
            .unwrap()
            .map(|f| std::fs::read(f.unwrap().path()).unwrap());
        read.collect::<Vec<_>>().concat()
    };
    let holds = |files: &[u8], what: &[u8]| files.windows(what.len()).any(|w| w == what);
    let before = files();
    assert!(holds(&before, &digest) && !holds(&before, b"planted"));
    spool.form(&rules(1, 0, 0), 1000, &mut world.rng).unwrap();
    assert!(!holds(&files(), &digest), "the writer is forgotten");
    let batch = spool.next().unwrap().unwrap();
    let group = world.shuffler.collections()[0].group("planted-group");
    assert!(!holds(&files(), &group) && !batch.text().contains("4242"));
    spool.delivered(&batch).unwrap();
}

#[test]
fn other_files_are_no_spools() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other");
    std::fs::write(&path, "not a database, but long enough to be looked at").unwrap();
    assert!(Spool::open(&path, 1).is_err());
    let path = folder.path().join("newer");
    let newer = rusqlite::Connection::open(&path).unwrap();
    newer.execute_batch("CREATE TABLE x (y); PRAGMA user_version = 2").unwrap();
    drop(newer);
    assert!(matches!(Spool::open(&path, 1), Err(SpoolError::Version(_))));
}

const CHILD: &str = "NOISEGATE_SHUFFLER_CHILD";

/// Another process: takes messages from its input, one a line, and says of each that it is on disk; now and then it forms
/// batches and delivers them.
fn child(folder: &Path) {
    let json = std::fs::read_to_string(folder.join("description")).unwrap();
    let key = ShufflerKey::parse(&std::fs::read_to_string(folder.join("key")).unwrap()).unwrap();
    let shuffler = Shuffler::new(key, vec![Collection::parse(&json).unwrap()]);
    let mut rng = SecureRng::new().unwrap();
    let mut spool = Spool::open(&folder.join("spool"), 100_000).unwrap();
    let deliver = |spool: &mut Spool, rng: &mut SecureRng| {
        spool.form(&rules(1, 0, 0), 1000, rng).unwrap();
        while let Some(batch) = spool.next().unwrap() {
            to_folder(&folder.join("batches"), &batch).unwrap();
            spool.delivered(&batch).unwrap();
        }
    };
    for (n, line) in std::io::stdin().lines().enumerate() {
        let message = Message::parse(&line.unwrap()).unwrap();
        spool.accept(&[shuffler.open(&message).unwrap()], [1; 16], 1000).unwrap();
        println!("kept");
        std::io::stdout().flush().unwrap();
        if n % 7 == 6 {
            deliver(&mut spool, &mut rng);
        }
    }
    deliver(&mut spool, &mut rng);
}

/// kill -9 at any moment, thirty times: what was acknowledged goes out, once, and what was not is sent again and goes out once.
#[test]
fn kill_9_loses_nothing_and_duplicates_nothing() {
    if let Some(folder) = std::env::var_os(CHILD) {
        return child(Path::new(&folder));
    }
    let mut world = World::new();
    let folder = world.folder.path().to_owned();
    std::fs::create_dir(folder.join("batches")).unwrap();
    let json = world.shuffler.collections()[0].json().to_owned();
    std::fs::write(folder.join("description"), json).unwrap();
    let mut rng = SecureRng::new().unwrap();
    std::fs::write(folder.join("key"), world.shuffler.key.text()).unwrap();
    let total = 400u32;
    let messages: Vec<String> = (0..total).map(|n| world.message(n, "").line()).collect();
    let mut kept = 0usize;
    let mut kills = 0;
    while kept < messages.len() {
        let last = kills == 30;
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["tests::kill_9_loses_nothing_and_duplicates_nothing", "--exact", "--nocapture"])
            .env(CHILD, &folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = process.stdin.take().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let upto = kept + 1 + rng.bits(4).unwrap() as usize;
        let feed = messages[kept..].to_vec();
        // It may die while it is fed.
        let feeder = std::thread::spawn(move || {
            for line in feed {
                if writeln!(input, "{line}").is_err() {
                    return;
                }
            }
        });
        let mut line = String::new();
        while output.read_line(&mut line).unwrap() > 0 {
            kept += usize::from(line.trim() == "kept");
            if !last && kept >= upto {
                std::thread::sleep(Duration::from_micros(rng.bits(11).unwrap() as u64));
                process.kill().unwrap();
                kills += 1;
            }
            line.clear();
        }
        assert!(process.wait().unwrap().success() || !last);
        feeder.join().unwrap();
    }
    assert!(kills > 5, "{kills}");
    // What waits, and what was formed and not delivered.
    let mut spool = world.spool();
    spool.form(&rules(1, 0, 0), 1000, &mut world.rng).unwrap();
    while let Some(batch) = spool.next().unwrap() {
        to_folder(&folder.join("batches"), &batch).unwrap();
        spool.delivered(&batch).unwrap();
    }
    let mut all = Vec::new();
    for file in std::fs::read_dir(folder.join("batches")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|e| e == "batch") {
            let text = std::fs::read_to_string(path).unwrap();
            all.extend(world.numbers(text.split_once('\n').unwrap().1));
        }
    }
    assert_eq!(all.len(), total as usize);
    assert_eq!(all.iter().copied().collect::<BTreeSet<_>>(), (0..total).collect());
}
