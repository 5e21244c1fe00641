//! The console as a browser sees it: who gets in, what pages say of a real history, and what browsers are told to refuse.

mod live;
mod report;
mod statements;

use super::{certificate, text, with_server};
use crate::city::{PASSWORD, bikes};
use crate::support::{Gate, Workdir, psql};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A response: status, head, body.
struct Page {
    status: u16,
    head: String,
    body: String,
}

impl Page {
    /// The value of a cookie that it sets, with its attributes.
    fn cookie(&self, name: &str) -> Option<String> {
        let line =
            |l: &str| l.strip_prefix("set-cookie: ")?.strip_prefix(&format!("{name}=")).map(str::to_owned);
        self.head.lines().find_map(line)
    }

    /// The hidden field of its form.
    fn form(&self) -> String {
        let rest = self.body.split_once("name=\"form\" value=\"").expect("a form").1;
        rest.split_once('"').unwrap().0.to_owned()
    }
}

/// A browser without scripts, at one console.
struct Browser {
    address: String,
    port: String,
    session: String,
}

impl Browser {
    fn at(gate: &Gate) -> Self {
        let line =
            gate.greeting.lines().find_map(|l| l.strip_prefix("console at http://")).expect("a console");
        Self::of(line)
    }

    /// At this address.
    fn of(line: &str) -> Self {
        let address = line.trim_end_matches('/').to_owned();
        let port = address.rsplit_once(':').unwrap().1.to_owned();
        Self { address, port, session: String::new() }
    }

    async fn send(&self, head: &str, cookie: &str, body: &str) -> Page {
        let mut socket = TcpStream::connect(&self.address).await.unwrap();
        let request = format!(
            "{head} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncookie: {cookie}\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Page { status, head: head.to_owned(), body: body.to_owned() }
    }

    async fn get(&self, path: &str) -> Page {
        self.send(&format!("GET {path}"), &format!("noisegate-{}={}", self.port, self.session), "").await
    }

    /// Logs in by the form; the session is the browser's from here on if that worked.
    async fn log_in(&mut self, name: &str, password: &str) -> Page {
        let asked = self.send("GET /login", "", "").await;
        let kept = asked.cookie(&format!("noisegate-form-{}", self.port)).unwrap();
        let kept = kept.split_once(';').unwrap().0.to_owned();
        let password = password.replace(' ', "+");
        let body = format!("name={name}&password={password}&form={}&next=%2Fledger", asked.form());
        let page = self.send("POST /login", &format!("noisegate-form-{}={kept}", self.port), &body).await;
        if let Some(session) = page.cookie(&format!("noisegate-{}", self.port)) {
            self.session = session.split_once(';').unwrap().0.to_owned();
        }
        page
    }
}

fn console(users: &[(&str, &str)]) -> String {
    let verifier = postgres_protocol::password::scram_sha_256(PASSWORD.as_bytes());
    let user = |(name, role): &(&str, &str)| {
        format!("[[console.user]]\nname = \"{name}\"\nrole = \"{role}\"\nscram = \"{verifier}\"\n")
    };
    let users: String = users.iter().map(user).collect();
    format!("\n[console]\nlisten = \"127.0.0.1:0\"\n{users}")
}

/// Whatever a browser would fetch or run of a page stands on the same host.
fn keeps_to_itself(page: &Page) {
    for outside in
        ["http://", "https://", "//", "<script", "javascript:", " style=", "onload", "onclick", "@import"]
    {
        assert!(!page.body.contains(outside), "{outside} in {}", page.body);
    }
    let csp = "content-security-policy: default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'";
    assert!(page.head.contains(csp), "{}", page.head);
    for header in ["x-content-type-options: nosniff", "x-frame-options: DENY", "referrer-policy: no-referrer"]
    {
        assert!(page.head.contains(header), "{header} in {}", page.head);
    }
}

#[tokio::test]
async fn pages_show_the_history_to_who_logs_in_and_to_nobody_else() {
    let db = bikes().await;
    let console = console(&[("owner", "owner"), ("dpo", "auditor")]);
    let policy = text(&db, &["ada", "bo"], &console).replace("[ledger]\n", "[ledger]\ntext = true\n");
    let dir = Workdir::new(&policy);
    let gate = dir.serve().await;
    for (user, sql) in [
        ("ada", "SELECT count(*) FROM riders"),
        ("ada", "SELECT sum(fare) FROM trips"),
        ("bo", "SELECT count(*) FROM trips WHERE minutes > 42"),
    ] {
        let out = psql(&gate.url(user, &PASSWORD.replace(' ', "%20"), "bikes"), sql).await;
        assert!(out.status.success(), "{out:?}");
    }
    // What is refused is told without what only its author knows.
    for (user, sql) in [
        ("ada", "SELECT fare FROM trips WHERE started_at = 'Jane O''Hara'"),
        ("bo", "SELECT maria_de_los_santos FROM trips"),
        ("bo", "SELECT fare FROM trips"),
    ] {
        let out = psql(&gate.url(user, &PASSWORD.replace(' ', "%20"), "bikes"), sql).await;
        assert!(out.stderr.contains("ERROR"), "{out:?}");
    }

    let mut browser = Browser::at(&gate);
    assert_eq!(browser.get("/report.html").await.status, 303);
    for path in ["/", "/statements", "/ledger"] {
        let page = browser.get(path).await;
        assert_eq!((page.status, page.body.as_str()), (303, ""), "{path}");
        assert!(page.head.contains(&format!("location: /login?next={path}")), "{}", page.head);
    }
    assert_eq!(browser.get("/nothing").await.status, 404);
    keeps_to_itself(&browser.get("/login?next=//evil.example").await);
    assert!(browser.get("/login?next=//evil.example").await.body.contains("name=\"next\" value=\"/\""));

    let wrong = browser.log_in("owner", "wrong").await;
    assert_eq!(wrong.status, 403);
    let unknown = browser.log_in("eve", PASSWORD).await;
    assert_eq!(unknown.status, 403);
    let plain = |p: &Page| p.body.replace(&p.form(), "");
    assert_eq!(plain(&wrong), plain(&unknown), "nobody learns who there is");
    assert_eq!(browser.get("/").await.status, 303);
    // A form that is not ours: another site has no cookie of ours, and cannot guess it.
    let forged = format!("name=owner&password={}&form=AAAA&next=%2F", PASSWORD.replace(' ', "+"));
    for cookie in
        ["", &format!("noisegate-form-{}=", browser.port), &format!("noisegate-form-{}=BBBB", browser.port)]
    {
        let page = browser.send("POST /login", cookie, &forged).await;
        assert!(
            page.status == 403 && !page.head.contains(&format!("noisegate-{}=", browser.port)),
            "{}",
            page.head
        );
    }

    let inside = browser.log_in("owner", PASSWORD).await;
    assert_eq!(inside.status, 303, "{}", inside.body);
    assert!(inside.head.contains("location: /ledger"), "{}", inside.head);
    let cookie = inside.cookie(&format!("noisegate-{}", browser.port)).unwrap();
    assert!(cookie.contains("; HttpOnly; SameSite=Strict") && !cookie.contains("Secure"), "{cookie}");

    let budgets = browser.get("/").await;
    assert_eq!(budgets.status, 200);
    for said in [
        "<h1>Budgets</h1>",
        "A neighbour who was 10 % sure",
        "<title id=\"burn",
        "by 3 questions",
        ">ada<",
        ">bo<",
        "trips",
    ] {
        assert!(budgets.body.contains(said), "{said} in {}", budgets.body);
    }
    let statements = browser.get("/statements").await;
    assert!(statements.body.contains("&gt; 42") && statements.body.contains("<pre>"), "{}", statements.body);
    for said in [
        "No statement runs",
        "column \"…\" does not exist (42703)".replace('"', "&quot;").as_str(),
        "paid for",
        "a query that returns private rows is not supported (0A000)",
        "reading rows ",
        "<summary>Text</summary>",
        "<th scope=\"row\">bo</th>",
        "The most expensive",
    ] {
        assert!(statements.body.contains(said), "{said} in {}", statements.body);
    }
    let ledger = browser.get("/ledger").await;
    let verified = dir.noisegate(&["budget", "verify"]).await;
    let tip = ledger.body.split("<code>").find(|c| c.len() > 64 && c.as_bytes()[64] == b'<').unwrap();
    assert!(verified.stdout.contains(&tip[..64]), "{verified:?}");
    assert!(ledger.body.contains("every fingerprint, every price and every sum"), "{}", ledger.body);
    for page in [&budgets, &statements, &ledger] {
        keeps_to_itself(page);
        assert_eq!(page.body.matches("<h1>").count(), 1);
        for landmark in [
            "<header>",
            "<nav aria-label",
            "<main id=\"content\"",
            "<footer>",
            "lang=\"en\"",
            "href=\"#content\"",
        ] {
            assert!(page.body.contains(landmark), "{landmark}");
        }
        assert!(!page.body.contains("http-equiv"), "nothing moves unless the reader wants it");
    }
    assert!(browser.get("/?refresh=on").await.body.contains("http-equiv=\"refresh\" content=\"30\""));
    let style = browser.get("/console.css").await;
    assert!(style.head.contains("text/css") && !style.body.contains("url("), "{}", style.head);

    let mut auditor = Browser::at(&gate);
    assert_eq!(auditor.log_in("dpo", PASSWORD).await.status, 303);
    let theirs = auditor.get("/statements").await;
    assert!(
        theirs.body.contains(">bo") && !theirs.body.contains("&gt; 42"),
        "no text for auditors: {}",
        theirs.body
    );
    for hidden in ["Jane", "Hara", "maria", "santos", "<summary>Text</summary>", " ms<", "Time of all"] {
        assert!(!theirs.body.contains(hidden), "{hidden} in {}", theirs.body);
    }

    // Only the session's own form ends it.
    let cookie = format!("noisegate-{}={}", browser.port, browser.session);
    assert_eq!(browser.send("POST /logout", &cookie, &format!("form={}", theirs.form())).await.status, 403);
    assert_eq!(browser.get("/").await.status, 200);
    assert_eq!(browser.send("POST /logout", &cookie, &format!("form={}", budgets.form())).await.status, 303);
    assert_eq!(browser.get("/").await.status, 303, "the session is over on this side, too");

    // Who is no longer in the policy is out at once, and so is who has another password there; for good.
    let other = frontend::password::verifier("another", b"0123456789abcdef", 4096);
    let (head, own) = policy.split_once("name = \"dpo\"").unwrap();
    let (before, after) = own.split_once("SCRAM-SHA-256$").unwrap();
    let repassed = format!("{head}name = \"dpo\"{before}{other}{}", &after[after.find('"').unwrap()..]);
    for changed in [repassed, policy.replace("name = \"dpo\"", "name = \"other\"")] {
        assert_eq!(auditor.log_in("dpo", PASSWORD).await.status, 303);
        assert_eq!(auditor.get("/").await.status, 200);
        std::fs::write(dir.policy(), &changed).unwrap();
        let out = dir.noisegate(&["ctl", "reload"]).await;
        assert!(out.stdout.contains("[console]"), "{out:?}");
        assert_eq!(auditor.get("/").await.status, 303);
        std::fs::write(dir.policy(), &policy).unwrap();
        assert!(dir.noisegate(&["ctl", "reload"]).await.status.success());
        assert_eq!(auditor.get("/").await.status, 303);
    }
}

#[tokio::test]
async fn guesses_are_counted_and_a_certificate_makes_cookies_safer() {
    let db = bikes().await;
    let more = console(&[("owner", "owner")]);
    let dir = Workdir::new(&text(&db, &["ada"], &more));
    let gate = dir.serve().await;
    let mut browser = Browser::at(&gate);
    let mut refused = 0;
    for _ in 0..12 {
        let page = browser.log_in("owner", "guess").await;
        refused += u32::from(page.status == 429);
        assert!(page.status == 403 || page.status == 429, "{}", page.status);
    }
    assert_eq!(refused, 4);
    assert_eq!(browser.log_in("owner", PASSWORD).await.status, 429, "the right one waits, too");

    let keys = "listen = [\"127.0.0.1:0\"]\ntls = { cert = \"server.crt\", key = \"server.key\" }";
    let dir = Workdir::new(&with_server(&text(&db, &["ada"], &more), keys));
    certificate(&dir);
    let gate = dir.serve().await;
    let url =
        gate.greeting.lines().find_map(|l| l.strip_prefix("console at https://")).expect("https").to_owned();
    let mut client = tokio::process::Command::new("openssl");
    client.args(["s_client", "-quiet", "-connect", url.trim_end_matches('/'), "-servername", "localhost"]);
    client.args(["-verify_return_error", "-CAfile", "server.crt"]).current_dir(dir.path());
    let request = "GET /login HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let answer = crate::support::run(client, request).await;
    assert!(answer.stdout.contains("HTTP/1.1 200 OK"), "{answer:?}");
    assert!(answer.stdout.contains("set-cookie: __Host-noisegate-form-"), "{answer:?}");
    assert!(answer.stdout.contains("SameSite=Strict; Secure"), "{answer:?}");
    let plain =
        Browser { address: url.trim_end_matches('/').into(), port: String::new(), session: String::new() };
    let mut socket = TcpStream::connect(&plain.address).await.unwrap();
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer).await;
    assert!(!String::from_utf8_lossy(&answer).contains("HTTP"), "nothing is said in the clear");
}

#[tokio::test]
async fn the_policy_is_shown_in_words_with_its_warnings_and_what_a_reload_has_changed() {
    let db = bikes().await;
    let policy = text(&db, &["ada"], &console(&[("dpo", "auditor")]))
        .replace("columns.speed = { range = [0, 40], grid = 0.5 }", "columns.speed = {}");
    let dir = Workdir::new(&policy);
    let gate = dir.serve().await;
    let mut browser = Browser::at(&gate);
    browser.log_in("dpo", PASSWORD).await;
    let page = browser.get("/policy").await;
    keeps_to_itself(&page);
    for said in [
        "<h1>Policy</h1>",
        "Each row belongs to whom its rider_id names.",
        "Hidden from everybody: email.",
        "<th scope=\"row\">minutes</th><td>whole number</td><td>Sums, averages and the like; what lies outside 0 to 240",
        "Groups by these values, which are no secret: day, month, year.",
        "Nothing, since the proxy was started.",
    ] {
        assert!(page.body.contains(said), "{said} in {}", page.body);
    }
    // Warnings and notes are those of `check`.
    let checked = dir.noisegate(&["check"]).await;
    let warning = checked.stdout.lines().find_map(|l| l.strip_prefix("note: "));
    let warning = warning.unwrap_or_else(|| panic!("{checked:?}"));
    let warned = page.body.split_once("Allowed, but probably not meant").expect("warnings").1;
    let (_, said) = warning.split_once(": ").unwrap();
    let plain =
        warned.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    assert!(plain.contains(said), "{said} in {plain}");

    let changed = policy.replace("range = [0, 240]", "range = [0, 120]").replace("columns.note = {}\n", "");
    std::fs::write(dir.policy(), changed).unwrap();
    assert!(dir.noisegate(&["ctl", "reload"]).await.status.success());
    // One that changes nothing leaves it at that.
    assert!(dir.noisegate(&["ctl", "reload"]).await.status.success());
    let page = browser.get("/policy").await;
    for said in [
        "<th scope=\"row\">column trips.minutes</th>",
        "outside 0 to 240 counts as the nearest end.</td><td>",
        "<th scope=\"row\">column trips.note</th>",
        "<em>nothing</em>",
    ] {
        assert!(page.body.contains(said), "{said} in {}", page.body);
    }
    assert!(!page.body.contains("column trips.fare</th>"), "{}", page.body);
}
