//! What integration tests share: one private server per test process, a database per test, the gateway and psql
//! as child processes.
//!
//! A test program says `mod support;` and uses what it needs. The server is started by the first test that asks
//! for a database, and the watchdog removes it when the test process ends, however it ends.
#![allow(dead_code, reason = "each test program uses its own part of this")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use noisegate::demo::{Binaries, Cluster, Options};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio_postgres::{Client, NoTls};

/// The program under test.
pub const NOISEGATE: &str = env!("CARGO_BIN_EXE_noisegate");

/// The program that serves: the one that was built with the tests, or another (`NOISEGATE_BIN`), a release say.
fn program() -> String {
    std::env::var("NOISEGATE_BIN").unwrap_or_else(|_| NOISEGATE.to_owned())
}

/// The password of both logins of a [`TestDb`]: on loopback, for the time of one test, in a server whose superuser's
/// password is random.
pub const LOGIN_PASSWORD: &str = "only-for-this-test";

/// How long a child may take for anything before a test fails. Generous: machines that test are busy.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The server of this test process.
pub fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    // As many tests run at once as there are processors, each with a few pools.
    CLUSTER.get_or_init(|| own_cluster(&[("max_connections", "1000")]))
}

/// A server of its own, with these settings, for a test that stops it, starts it another way, or counts all that is in it.
/// Blocks for a second.
pub fn own_cluster(settings: &[(&str, &str)]) -> Cluster {
    let binaries = Binaries::find().unwrap_or_else(|e| panic!("{e}"));
    let mut options = Options::new(NOISEGATE);
    options.settings.extend(settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    Cluster::start(&binaries, &options).unwrap_or_else(|e| panic!("{e}"))
}

/// Ends a server as an administrator in a hurry does.
pub async fn stop_server(cluster: &Cluster) {
    let pid = cluster.server_pid().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let pid_file = cluster.dir().join("data/postmaster.pid");
    soon("the end of the server", async || !pid_file.exists()).await;
    assert!(TcpStream::connect(("127.0.0.1", cluster.port())).is_err());
}

/// Starts a server that was stopped as it was started before, by its own record of that.
pub async fn start_server(cluster: &Cluster) -> std::process::Child {
    let data = cluster.dir().join("data");
    let options = std::fs::read_to_string(data.join("postmaster.opts")).unwrap();
    // `/path/postgres "-D" "/folder" …`
    let (program, arguments) = options.trim().split_once(" \"").unwrap();
    let arguments = arguments.trim_end_matches('"').split("\" \"");
    let owner = std::fs::metadata(&data).unwrap();
    let child = std::process::Command::new(program)
        .args(arguments)
        .uid(owner.uid())
        .gid(owner.gid())
        .process_group(0)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let url = cluster.superuser_url("postgres");
    soon("the start of the server", async || tokio_postgres::connect(&url, NoTls).await.is_ok()).await;
    child
}

/// Waits for something that happens soon.
pub async fn soon(what: &str, happened: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !happened().await {
        assert!(Instant::now() < deadline, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

/// A database of its own for one test, with the two logins that a gateway needs.
#[derive(Clone, Debug)]
pub struct TestDb {
    /// Its name.
    pub name: String,
    /// May do everything.
    pub superuser_url: String,
    /// May read every table.
    pub fetch_url: String,
    /// May read nothing but what [`publish`](Self::publish) names.
    pub finish_url: String,
    /// More lines of the `[backend]` of its policies.
    pub backend: &'static str,
}

/// Makes a database and runs `setup_sql` in it as superuser. Tables made later are readable by the fetch login, too.
pub async fn database(setup_sql: &str) -> TestDb {
    let cluster = tokio::task::spawn_blocking(cluster).await.unwrap();
    database_in(cluster, setup_sql).await
}

/// Makes a database of this name and its two logins, as superuser.
pub async fn make_database(superuser_url: &str, name: &str) {
    let admin = connect(superuser_url).await;
    for sql in [
        format!("CREATE DATABASE {name}"),
        format!("REVOKE ALL ON DATABASE {name} FROM PUBLIC"),
        format!("CREATE ROLE {name}_fetch LOGIN CONNECTION LIMIT 1000 PASSWORD '{LOGIN_PASSWORD}'"),
        format!("CREATE ROLE {name}_finish LOGIN CONNECTION LIMIT 1000 PASSWORD '{LOGIN_PASSWORD}'"),
        format!("ALTER ROLE {name}_finish SET temp_file_limit = '4GB'"),
        format!("GRANT CONNECT ON DATABASE {name} TO {name}_fetch, {name}_finish"),
    ] {
        admin.batch_execute(&sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }
}

/// [`database`], in another server than the one that all tests share.
pub async fn database_in(cluster: &Cluster, setup_sql: &str) -> TestDb {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let (fetch, finish) = (format!("{name}_fetch"), format!("{name}_finish"));
    let password = LOGIN_PASSWORD;
    make_database(&cluster.superuser_url("postgres"), &name).await;
    let db = TestDb {
        superuser_url: cluster.superuser_url(&name),
        fetch_url: cluster.url(&fetch, password, &name),
        finish_url: cluster.url(&finish, password, &name),
        backend: "",
        name,
    };
    db.execute(&format!(
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC;
         ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {fetch};"
    ))
    .await;
    db.execute(setup_sql).await;
    db
}

impl TestDb {
    /// Lets the finish login read these tables.
    pub async fn publish(&self, tables: &[&str]) {
        for table in tables {
            self.execute(&format!("GRANT SELECT ON {table} TO {}_finish", self.name)).await;
        }
    }

    /// Runs SQL as superuser.
    pub async fn execute(&self, sql: &str) {
        self.superuser().await.batch_execute(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }

    /// A superuser's connection.
    pub async fn superuser(&self) -> Client {
        connect(&self.superuser_url).await
    }

    /// The `[backend]` section of a policy for this database.
    pub fn backend_toml(&self) -> String {
        format!(
            "[backend]\n{}url = \"{}\"\nfinish_url = \"{}\"\n",
            self.backend, self.fetch_url, self.finish_url
        )
    }
}

/// SQL that makes a nondeterministic collation, here and in a PostgreSQL that was built without ICU, as the private copy
/// is: there, one that the catalogs merely call so, which is all that noisegate looks at.
pub fn nondeterministic_collation(name: &str, locale: &str) -> String {
    format!(
        "DO $$ BEGIN
           CREATE COLLATION {name} (provider = icu, locale = '{locale}', deterministic = false);
         EXCEPTION WHEN feature_not_supported THEN
           CREATE COLLATION {name} (provider = libc, locale = 'C');
           UPDATE pg_collation SET collisdeterministic = false WHERE oid = '{name}'::regcollation;
         END $$;"
    )
}

/// A connection that is driven in the background.
pub async fn connect(url: &str) -> Client {
    let (client, connection) =
        tokio_postgres::connect(url, NoTls).await.unwrap_or_else(|e| panic!("{url}: {e:?}"));
    tokio::spawn(connection);
    client
}

/// A folder with a policy in it, removed at the end. A relative ledger (`sqlite:noisegate.db`) lands there, too.
pub struct Workdir {
    dir: tempfile::TempDir,
}

impl Workdir {
    /// Writes the policy.
    pub fn new(policy: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("policy.toml"), policy).unwrap();
        Self { dir }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The policy's file.
    pub fn policy(&self) -> PathBuf {
        self.dir.path().join("policy.toml")
    }

    /// Runs `noisegate ARGS --policy F` to its end.
    pub async fn noisegate(&self, args: &[&str]) -> Output {
        let policy = self.policy();
        let mut command = Command::new(program());
        command.args(args).arg("--policy").arg(policy);
        run(command, "").await
    }

    /// Creates the ledger and starts `noisegate serve`.
    pub async fn serve(&self) -> Gate {
        let created = self.noisegate(&["budget", "create"]).await;
        assert!(created.status.success(), "budget create: {}{}", created.stdout, created.stderr);
        self.serve_again().await
    }

    /// Starts `noisegate serve` on the ledger that is there.
    pub async fn serve_again(&self) -> Gate {
        self.serve_with(|_| ()).await
    }

    /// [`serve_again`](Self::serve_again), with something else about the child than usual.
    pub async fn serve_with(&self, more: impl FnOnce(&mut Command)) -> Gate {
        let policy = self.policy();
        Gate::start_with(&["serve", "--policy", policy.to_str().unwrap()], more).await
    }
}

/// A gateway as a child process, killed when dropped.
pub struct Gate {
    child: Child,
    /// Where it listens, as it said: `127.0.0.1:PORT`.
    pub address: String,
    /// What it printed to standard output up to and with the line that says where it listens.
    pub greeting: String,
}

impl Gate {
    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Runs `noisegate ARGS` and waits until it prints `listening on ADDRESS`.
    pub async fn start(args: &[&str]) -> Self {
        Self::start_with(args, |_| ()).await
    }

    /// [`start`](Self::start), with something else about the child than usual. Its log has warnings only, unless
    /// that says otherwise.
    pub async fn start_with(args: &[&str], more: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(program());
        command.args(args).env("NOISEGATE_LOG", "warn");
        more(&mut command);
        Self::start_command(command).await
    }

    /// [`start`](Self::start), with a command of its own.
    pub async fn start_command(mut command: Command) -> Self {
        let args = format!("{:?}", command.as_std());
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut greeting = String::new();
        let address = tokio::time::timeout(PATIENCE, async {
            loop {
                let line = lines.next_line().await.unwrap().unwrap_or_else(|| {
                    panic!("{args} ended before it listened; it said: {greeting}");
                });
                greeting.push_str(&line);
                greeting.push('\n');
                if let Some(address) = line.strip_prefix("listening on ") {
                    return address.trim().to_owned();
                }
            }
        })
        .await
        .unwrap_or_else(|_| panic!("{args} did not listen within {PATIENCE:?}"));
        // Whatever else it prints must not fill the pipe.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self { child, address, greeting }
    }

    /// Where a client connects.
    pub fn url(&self, user: &str, password: &str, database: &str) -> String {
        format!("postgres://{user}:{password}@{}/{database}", self.address)
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Sends a signal (`HUP`).
    pub async fn send(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status().await;
        assert!(sent.unwrap().success());
    }

    /// Sends a signal (`INT`, `KILL`), and waits until it is gone.
    pub async fn signal(self, name: &str) -> ExitStatus {
        self.send(name).await;
        self.ended(name).await
    }

    /// Waits until it is gone, by a signal that was sent.
    pub async fn ended(mut self, name: &str) -> ExitStatus {
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        ended.unwrap_or_else(|_| panic!("noisegate did not end by SIG{name}")).unwrap()
    }

    /// `kill -9`, and waits until it is gone.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}

/// What a child printed.
#[derive(Debug)]
pub struct Output {
    /// Standard output.
    pub stdout: String,
    /// Standard error; psql prints notices and errors there.
    pub stderr: String,
    /// How it ended.
    pub status: ExitStatus,
}

/// What whoever watches a gateway with `[metrics]` is told of its readiness: status and text.
pub async fn ready(gate: &Gate) -> (u16, String) {
    let line = gate.greeting.lines().find_map(|l| l.strip_prefix("metrics at http://")).expect("metrics");
    let mut socket = tokio::net::TcpStream::connect(line.trim_end_matches("/metrics")).await.unwrap();
    socket.write_all(b"GET /ready HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// Runs a script in psql, without the reader's own settings. Errors do not stop it; `\set ON_ERROR_STOP 1` does.
pub async fn psql(url: &str, script: &str) -> Output {
    let mut command = Command::new("psql");
    command.args(["-X", "-f", "-", url]).env("PGCONNECT_TIMEOUT", "30");
    run(command, script).await
}

/// Runs a child to its end, with this standard input.
pub async fn run(mut command: Command, input: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let (mut stdin, mut out, mut err) =
        (child.stdin.take().unwrap(), child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let all = async {
        let feed = async {
            // A child that ends before it has read everything closes the pipe: its status tells why.
            let _ = stdin.write_all(input.as_bytes()).await;
            drop(stdin);
        };
        let (_, o, e) = tokio::join!(feed, out.read_to_end(&mut stdout), err.read_to_end(&mut stderr));
        o.and(e).unwrap();
        child.wait().await.unwrap()
    };
    let status = tokio::time::timeout(PATIENCE, all)
        .await
        .unwrap_or_else(|_| panic!("{command:?} did not end within {PATIENCE:?}"));
    Output {
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
        status,
    }
}

/// Python with the libraries of tests/clients/requirements.txt: PYTHON, if it is set, else one in the target folder that
/// is made where it is missing.
pub async fn python() -> PathBuf {
    if let Some(python) = std::env::var_os("PYTHON") {
        return python.into();
    }
    let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join("venv");
    let wanted = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/requirements.txt");
    let python = venv.join("bin/python");
    // Test programs may run side by side.
    let lock = std::fs::File::create(venv.with_extension("lock")).unwrap();
    let lock = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock)).await.unwrap().unwrap();
    let installed = venv.join("installed.txt");
    let text = std::fs::read(&wanted).unwrap();
    if std::fs::read(&installed).ok().as_ref() != Some(&text) {
        let mut make = Command::new("python3");
        make.args(["-m", "venv", "--clear"]).arg(&venv);
        let mut install = Command::new(&python);
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]).arg(&wanted);
        for command in [make, install] {
            let done = run(command, "").await;
            assert!(done.status.success(), "Python's clients (./test installs python3-venv): {done:?}");
        }
        std::fs::write(&installed, text).unwrap();
    }
    drop(lock);
    python
}
