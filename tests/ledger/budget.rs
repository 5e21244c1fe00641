//! `noisegate budget …` as an owner types it. No database: the policy's text and its snapshot say all that is needed.

use noisegate::answer::Identity;
use noisegate::dp::Ratio;
use noisegate::ledger::{Ledger, Terms, usual};
use noisegate::policy::{self, Policy};
use std::path::{Path, PathBuf};
use std::process::Command;

struct Office {
    folder: tempfile::TempDir,
}

struct Said {
    ok: bool,
    out: String,
    err: String,
}

impl Office {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["bikes.toml", "bikes.schema.json"] {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("config").join(name);
            std::fs::copy(from, folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn edit(&self, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.path("bikes.toml")).unwrap();
        assert!(text.contains(from), "{from}");
        std::fs::write(self.path("bikes.toml"), text.replacen(from, to, 1)).unwrap();
    }

    fn budget(&self, args: &[&str]) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_noisegate"));
        command.arg("budget").args(args).arg("--policy").arg(self.path("bikes.toml"));
        let out = command.env("USER", "olga").env_remove("SUDO_USER").output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Said { ok: out.status.success(), out: text(&out.stdout), err: text(&out.stderr) }
    }

    /// What a command prints that must succeed.
    fn done(&self, args: &[&str]) -> String {
        let said = self.budget(args);
        assert!(said.ok && said.err.is_empty(), "{args:?}: {}{}", said.out, said.err);
        said.out
    }

    /// What a command says that must not.
    fn refused(&self, args: &[&str]) -> String {
        let said = self.budget(args);
        assert!(!said.ok && said.out.is_empty() && !said.err.contains("panicked"), "{args:?}: {}", said.out);
        said.err
    }

    fn policy(&self) -> Policy {
        let raw = policy::load(&self.path("bikes.toml")).unwrap_or_else(|e| panic!("{e}"));
        let snapshot = std::fs::read_to_string(self.path("bikes.schema.json")).unwrap();
        let snapshot = noisegate::schema::Snapshot::from_json(&snapshot).unwrap();
        raw.check(&snapshot.schema).unwrap_or_else(|e| panic!("{e}"))
    }

    fn open(&self) -> Result<Ledger, String> {
        let policy = self.policy();
        Ledger::open(&policy.ledger, &Terms::of(&policy)).map_err(|e| e.to_string())
    }

    /// As a server would.
    fn answer(&self, user: &str, times: usize) {
        let ledger = self.open().unwrap();
        let who = Identity { user: user.into(), role: None };
        let charge = usual(&Ratio::new(1, 10), dp::Preference::Laplace, &[]).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for _ in 0..times {
            runtime
                .block_on(ledger.debit(&who, [7; 32], &price::Proven::unproven(charge.clone())))
                .unwrap_or_else(|e| panic!("{e}"));
        }
    }
}

#[test]
fn an_owner_follows_the_books_from_their_first_day() {
    let office = Office::new();
    assert!(office.refused(&["show"]).contains("noisegate budget create --policy"));
    assert!(office.done(&["create"]).contains("noisegate.db with the budget(s) \"everyone\""));
    office.answer("ada", 3);
    let shown = office.done(&["show"]);
    assert!(shown.starts_with("everyone (zcdp, for everybody together): epsilon = 10, delta = "), "{shown}");
    assert!(shown.contains("  everybody: ρ = 0.0149876 of 1.4784"), "{shown}");
    let history = office.done(&["history"]);
    let lines: Vec<&str> = history.lines().collect();
    // Opening, policy, the policy as a server checked it, and three debits.
    assert_eq!(lines.len(), 6, "{history}");
    assert!(
        lines[0].trim_start().starts_with("1  20") && lines[0].contains("opened by noisegate"),
        "{history}"
    );
    assert!(lines[2].contains("served for the first time"), "{history}");
    assert!(lines[5].contains("UTC  ada:  epsilon 1/10 from everyone"), "{history}");
    let exported = office.done(&["export"]);
    for line in exported.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["hash"].as_str().unwrap().len(), 64);
    }
    let verified = office.done(&["verify"]);
    assert!(verified.starts_with("ok: 6 entries, the last of 20"), "{verified}");
    // The hash that was written down today is found tomorrow; another is not.
    let hash = verified.lines().nth(1).unwrap().rsplit(' ').next().unwrap();
    office.answer("bob", 1);
    assert!(office.done(&["verify", "--contains", hash]).contains("entry 6 has the hash"));
    assert!(office.refused(&["verify", "--contains", &"0".repeat(64)]).contains("no entry has the hash"));
}

/// Whatever is changed by hand is found, and nothing is served from it.
#[test]
fn a_ledger_that_was_changed_by_hand_is_refused_at_its_first_wrong_entry() {
    let office = Office::new();
    office.done(&["create"]);
    office.answer("ada", 3);
    let file = rusqlite::Connection::open(office.path("noisegate.db")).unwrap();
    let tables: Vec<String> = file
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%body%'")
        .unwrap()
        .query_map([], |r| r.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let [table] = tables.as_slice() else { panic!("{tables:?}") };
    // Triggers keep hands off; whoever drops them is told apart by the chain.
    let triggers: Vec<String> = file
        .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |r| r.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for trigger in triggers {
        file.execute_batch(&format!("DROP TRIGGER {trigger}")).unwrap();
    }
    let changed = format!("UPDATE {table} SET body = replace(body, '1/10', '1/99') WHERE id = 5");
    assert_eq!(file.execute(&changed, []).unwrap(), 1);
    drop(file);
    let told = office.refused(&["verify"]);
    assert!(told.contains("entry 5 is not as it was written"), "{told}");
    assert!(office.open().err().unwrap().contains("entry 5"));
    assert!(!office.budget(&["show"]).ok);
}

#[test]
fn grants_and_ends_are_signed() {
    let office = Office::new();
    office.edit("[[budget]]", "[[budget]]\nname = \"own\"\nper = \"user\"\naccounting = \"pure\"\nepsilon = 0.1\nwindow = \"month\"\n[[budget]]");
    office.done(&["create"]);
    office.answer("ada", 1);
    let grant = |more: &[&str]| {
        let mut args = vec!["grant", "--epsilon", "0.2"];
        args.extend(more);
        office.budget(&args)
    };
    assert!(grant(&["--budget", "own"]).err.contains("--reason"));
    assert!(grant(&["--budget", "own", "--reason", " "]).err.contains("--reason is empty"));
    assert!(grant(&["--budget", "nobody", "--reason", "x"]).err.contains("no budget \"nobody\""));
    let said = grant(&["--budget", "own", "--to", "ada", "--reason", "the board asked"]);
    assert!(said.ok && said.out.contains("present window, which ends on 20"), "{}{}", said.out, said.err);
    assert!(said.out.contains("ada: ε = 0.1 of 0.3 spent, 66.7 % left"), "{}", said.out);
    assert!(said.out.contains("a year touches up to 13, together at most epsilon = 1.300"), "{}", said.out);
    office.answer("ada", 2);
    let said = grant(&["--budget", "everyone", "--reason", "x", "--author", "otto"]);
    assert!(
        said.ok && said.out.contains("the guarantee over the whole dataset is that much weaker"),
        "{}",
        said.out
    );
    let closed = office.done(&["close", "--budget", "own", "--reason", "the project has ended"]);
    assert!(closed.contains("\"own\" is closed for good"), "{closed}");
    assert!(office.done(&["show"]).contains("  closed: it pays for nothing any more"));
    assert!(office.done(&["close", "--stream", "alerts", "--reason", "x"]).contains("stream \"alerts\""));
    assert!(office.refused(&["close", "--reason", "x"]).contains("--budget"));
    let history = office.done(&["history"]);
    for part in [
        "olga:  epsilon 0.2 and delta 0 granted to ada in own: the board asked",
        "otto:  epsilon 0.2 and delta 0 granted in everyone: x",
        "olga:  budget own closed: the project has ended",
        "olga:  stream alerts closed: x",
    ] {
        assert!(history.contains(part), "{part} in\n{history}");
    }
    // A server has the file: reading goes on, writing says what to do.
    let _server = office.open().unwrap();
    office.done(&["show"]);
    office.done(&["verify"]);
    let said = grant(&["--budget", "everyone", "--reason", "x"]);
    assert!(!said.ok && said.err.contains("stop it, run this again, and start it"), "{}", said.err);
}

#[test]
fn a_changed_policy_goes_on_or_is_accepted_in_writing() {
    let office = Office::new();
    office.done(&["create"]);
    office.answer("ada", 1);
    office.edit("epsilon = 10.0", "epsilon = 9.0");
    office.answer("ada", 1);
    assert!(office.done(&["history"]).contains("epsilon was 10 and is 9"));
    office.edit("epsilon = 9.0", "epsilon = 11.0");
    assert!(office.open().err().unwrap().contains("epsilon was 9 and is 11: more may be lost"));
    office.edit("name = \"everyone\"", "name = \"everybody\"");
    assert!(office.open().err().unwrap().contains("\"everyone\" is gone, and no other counts all"));
    office.edit("epsilon = 11.0", "epsilon = 9.0");
    office.open().unwrap();
    office.edit("name = \"everybody\"", "name = \"everyone\"");
    office.open().unwrap();
    office.edit("accounting = \"zcdp\"", "accounting = \"gdp\"");
    let refused = office.open().err().unwrap();
    assert!(refused.contains("accounting was zcdp and is gdp"), "{refused}");
    assert!(refused.contains("noisegate budget accept --policy FILE --reason"), "{refused}");
    assert!(office.done(&["show"]).contains("changed in the policy"));
    let accepted = office.done(&["accept", "--offline", "--reason", "we compared them beforehand"]);
    assert!(accepted.contains("accounting was zcdp and is gdp: which way to count"), "{accepted}");
    // What was spent is counted anew: three answers at μ² = 0.0157.
    office.answer("ada", 1);
    let shown = office.done(&["show"]);
    assert!(shown.contains("everybody: μ² = 0.0471071 of"), "{shown}");
    // Another unit: a ledger of its own, or in writing.
    office.edit("accounting = \"gdp\"", "accounting = \"gdp\"\nwindow = \"30d\"");
    assert!(office.open().err().unwrap().contains("window was none and is 30d"));
    office.edit("window = \"30d\"\n", "");
    office.answer("ada", 1);
    let history = office.done(&["history"]);
    assert!(history.contains("accepted with what it forgets: we compared them beforehand"), "{history}");
    assert!(office.done(&["verify"]).starts_with("ok:"));
}

/// A copy that lacks a day, and one that lacks nothing: what serve, verify and show say, and the two ways on.
#[test]
fn rule_42_an_owner_restores_what_was_lost_and_marks_what_was_moved() {
    let office = Office::new();
    office.done(&["create"]);
    office.answer("ada", 3);
    let hash_of = |verified: &str| verified.lines().nth(1).unwrap().rsplit(' ').next().unwrap().to_owned();
    let monday = hash_of(&office.done(&["verify"]));
    // Moved to another disk: another file.
    let [file, mark, copy] = ["noisegate.db", "noisegate.db-mark", "copy.db"].map(|name| office.path(name));
    std::fs::copy(&file, &copy).unwrap();
    std::fs::rename(&copy, &file).unwrap();
    assert!(office.open().err().unwrap().contains("is another file than the one that its mark was made for"));
    assert!(office.done(&["verify"]).contains("nothing is served from this: the ledger"));
    assert!(
        office
            .refused(&["grant", "--budget", "everyone", "--epsilon", "1", "--reason", "r"])
            .contains("a copy")
    );
    assert!(office.refused(&["mark", "--hash", &"0".repeat(64)]).contains("no entry has the hash"));
    assert!(office.done(&["mark", "--hash", &monday]).contains("has 6 entries, and is served from here on"));
    std::fs::copy(&file, &copy).unwrap();
    office.answer("ada", 2);
    assert!(office.refused(&["restore", "--reason", "why not"]).contains("nothing is missing"));
    // Put back without what came after it.
    std::fs::rename(&copy, &file).unwrap();
    let lost = "has lost entries: its mark says entry 8, and it ends with entry 6";
    assert!(office.open().err().unwrap().contains(lost));
    assert!(office.refused(&["verify"]).contains(lost));
    assert!(office.done(&["show"]).contains(lost));
    assert!(office.refused(&["mark", "--hash", &monday]).contains(lost));
    assert!(office.refused(&["restore", "--reason", " "]).contains("--reason is empty"));
    let fewer = ["restore", "--reason", "r", "--each-epsilon", "0.1", "--entries", "1"];
    assert!(office.refused(&fewer).contains("more entries are missing than that"));
    let told = office.done(&["restore", "--reason", "the disk died on Tuesday", "--each-epsilon", "0.1"]);
    let entry = "entry 7: restored after entry 6: entries up to 8 were lost, and 2 of epsilon 1/10 are charged for them: the \
                 disk died on Tuesday";
    assert!(told.starts_with(entry), "{told}");
    // Three and two at ρ = 0.0049958.
    assert!(told.contains("everybody: ρ = 0.0249792 of"), "{told}");
    assert!(office.done(&["history"]).contains("olga:  restored after entry 6"));
    office.answer("ada", 1);
    // The mark is gone: nobody knows, and all of it counts as spent.
    std::fs::remove_file(&mark).unwrap();
    assert!(office.open().err().unwrap().contains("has no mark"));
    let unknown = ["restore", "--reason", "r", "--each-epsilon", "0.1"];
    assert!(office.refused(&unknown).contains("nobody knows how many entries are missing"));
    let told = office.done(&["restore", "--reason", "the mark was lost"]);
    assert!(
        told.contains("nobody knows how many entries were lost, and every budget counts as spent in full"),
        "{told}"
    );
    assert!(told.contains("0.0 % left"), "{told}");
    assert!(office.done(&["verify"]).starts_with("ok: 9 entries"));
    office.open().unwrap();
}
