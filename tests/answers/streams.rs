//! Sparse vector streams over the wire: what they cost, who may ask, how they end.

use crate::city::{self, PASSWORD, policy, rows, sqlstate};
use crate::support::{Gate, TestDb, Workdir, connect, psql};
use crate::usual::rules;
use tokio_postgres::Client;

const RULES: &str = concat!(
    rules!([epsilon = 0.1, max_groups = 1, max_rows = 5] ["zcdp", epsilon = 8, delta = 1e-6]),
    "[[budget]]\nname = \"quota\"\nper = \"user\"\naccounting = \"approx\"\nepsilon = 3\ndelta = 1e-6\n
[[stream]]\nname = \"alerts\"\nvariant = \"numeric_sparse\"\nepsilon = 0.5\npositives = 5
[[stream]]\nname = \"bell\"\nvariant = \"above_threshold\"\nepsilon = 1
[[stream]]\nname = \"rise\"\nvariant = \"monotone_gap\"\nepsilon = 1\npositives = 2\nmax_rows = 2
[[stream]]\nname = \"soft\"\nvariant = \"sparse\"\nepsilon = 0.9\ndelta = 1e-9\npositives = 100\nroles = [\"research\"]
[[stream]]\nname = \"dear\"\nvariant = \"improved\"\nepsilon = 3.5\npositives = 2
[[stream]]\nname = \"bobs\"\nvariant = \"improved\"\nepsilon = 1\nusers = [\"bob\"]\n"
);

struct World {
    _db: TestDb,
    dir: Workdir,
    gate: Gate,
}

impl World {
    async fn new() -> Self {
        let db = city::bikes().await;
        let dir = Workdir::new(&policy(&db.backend_toml(), &["ada", "bob"], RULES));
        let gate = dir.serve().await;
        Self { _db: db, dir, gate }
    }

    async fn user(&self, name: &str) -> Client {
        connect(&self.gate.url(name, PASSWORD, "bikes")).await
    }

    async fn ada(&self) -> Client {
        self.user("ada").await
    }

    /// What psql shows of a script, with its notices.
    async fn told(&self, script: &str) -> String {
        let out = psql(&self.gate.url("ada", PASSWORD, "bikes"), script).await;
        out.stdout + &out.stderr
    }
}

async fn run(client: &Client, sql: &str) {
    client.simple_query(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
}

async fn all(client: &Client, sql: &str) -> Vec<Vec<String>> {
    let rows = rows(client, sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    rows.into_iter().map(|r| r.into_iter().map(|c| c.unwrap_or_else(|| "NULL".into())).collect()).collect()
}

/// What is left of every budget.
async fn budgets(client: &Client) -> Vec<Vec<String>> {
    all(client, "SELECT name, fraction_left, answers_left FROM noisegate.budget ORDER BY name").await
}

async fn stream(client: &Client, name: &str) -> Vec<String> {
    let sql = format!(
        "SELECT state, positives_left, asked, openings_left FROM noisegate.streams WHERE name = '{name}'"
    );
    all(client, &sql).await.remove(0)
}

/// Debits of the whole ledger.
async fn debits(world: &World, user: &str) -> f64 {
    let shown = world.dir.noisegate(&["budget", "show"]).await.stdout;
    let Some((_, spent)) = shown.split_once(&format!("  {user}: ε = ")) else { return 0.0 };
    spent.split_once(' ').unwrap().0.parse().unwrap()
}

/// NumericSparse, ten thousand questions, c = 5: what it costs is its opening.
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_questions_cost_the_opening_price() {
    let world = World::new().await;
    let c = world.ada().await;
    let before = budgets(&c).await;
    assert_eq!(before[1][2], "30", "answers at 0.1 of a quota of 3");
    // Accuracy and price are told before anything is paid.
    run(&c, "SET noisegate.stream = 'alerts'; SET noisegate.stream_questions = 10000").await;
    let accuracy = all(&c, "SHOW noisegate.stream_accuracy").await.remove(0).remove(0);
    // Theorem 3.28: 9·5·(ln 10000 + ln(4·5/0.05))/0.5.
    let alpha = 90.0 * (10_000f64.ln() + 400f64.ln());
    assert!(accuracy.contains(&format!("alpha {alpha:.0} times")), "{accuracy}");
    assert!(
        accuracy.contains("Theorem 3.28") && accuracy.contains("16.7 % of your budget \"quota\""),
        "{accuracy}"
    );
    let shown =
        all(&c, "SELECT alpha, alpha_10000, price FROM noisegate.streams WHERE name = 'alerts'").await;
    assert!(
        (shown[0][0].parse::<f64>().unwrap() - alpha).abs() < 0.01 && shown[0][0] == shown[0][1],
        "{shown:?}"
    );
    assert!(shown[0][2].contains("quota: 16.667 %"), "{shown:?}");
    assert_eq!(budgets(&c).await, before, "nothing was paid");
    assert_eq!(stream(&c, "alerts").await, ["closed", "5", "0", "6"]);

    assert!(all(&c, "SELECT count(*) FROM trips HAVING count(*) > 1000000000").await.is_empty());
    let opened = budgets(&c).await;
    assert_eq!(opened[1][2], "25", "ε = 0.5 of 3");
    assert_eq!(debits(&world, "ada").await, 0.5);
    // 1096 groups each: every day of the declared range.
    let mut asked = 1;
    let daily = "SELECT date_trunc('day', started_at), count(*) FROM trips GROUP BY 1 HAVING count(*) > $1";
    let daily = c.prepare(daily).await.unwrap();
    for i in 0..9i64 {
        assert!(c.query(&daily, &[&(1_000_000_000 + i)]).await.unwrap().is_empty());
        asked += 1096;
    }
    while asked < 10_000 {
        let sql =
            format!("SELECT sum(fare) FROM trips WHERE minutes < {} HAVING sum(fare) >= 1e9", asked % 240);
        assert!(all(&c, &sql).await.is_empty());
        asked += 1;
    }
    assert_eq!(stream(&c, "alerts").await, ["open", "5", &asked.to_string(), "5"]);
    assert_eq!(budgets(&c).await, opened, "ten thousand questions cost what one did");
    assert_eq!(debits(&world, "ada").await, 0.5);

    let history = all(&c, "SELECT epsilon, cached FROM noisegate.history").await;
    assert_eq!(history, [["0.5", "f"]], "one entry");

    // The positives, each with its number; then no more, for all of the user's sessions.
    for i in 0..5 {
        let row = all(&c, "SELECT count(*) AS n FROM trips HAVING count(*) > -1000000000").await.remove(0);
        assert!((row[0].parse::<f64>().unwrap() - 2000.0).abs() < 50_000.0, "{row:?}");
        let left = stream(&c, "alerts").await;
        assert_eq!(left[1], (4 - i).to_string(), "{left:?}");
    }
    assert_eq!(budgets(&c).await, opened);
    let ask = "SELECT count(*) FROM trips HAVING count(*) > 5";
    assert_eq!(sqlstate(&c, ask).await, "53400");
    let other = world.ada().await;
    run(&other, "SET noisegate.stream = 'alerts'").await;
    assert_eq!(
        sqlstate(&other, ask).await,
        "53400",
        "a session that selects it anew pays nothing and hears nothing"
    );
    assert_eq!(stream(&c, "alerts").await[0], "used up");
    assert_eq!(budgets(&c).await, opened);
    // Another user has an instance of her own, and pays for it.
    let bob = world.user("bob").await;
    assert_eq!(stream(&bob, "alerts").await, ["closed", "5", "0", "6"]);
    // By a statement of its own it is opened anew, at its price.
    run(&other, "SET noisegate.stream_reopen = 'alerts'").await;
    assert_eq!(sqlstate(&c, ask).await, "53400", "only the session that said so");
    assert_eq!(budgets(&c).await, opened, "nothing yet");
    all(&other, "SELECT count(*) FROM trips HAVING count(*) > 1000000000").await;
    assert_eq!(stream(&c, "alerts").await[..2], ["open", "5"]);
    assert_eq!(debits(&world, "ada").await, 1.0);
}

/// Two sessions of one user race for one instance.
#[tokio::test(flavor = "multi_thread")]
async fn rule_28_racing_sessions_share_c_positives_and_one_price() {
    let world = World::new().await;
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let c = world.ada().await;
        tasks.push(tokio::spawn(async move {
            run(&c, "SET noisegate.stream = 'alerts'").await;
            let mut yes = 0;
            for _ in 0..4 {
                match rows(&c, "SELECT count(*) FROM trips HAVING count(*) > -1e9").await {
                    Ok(rows) => yes += rows.len(),
                    Err(e) => assert_eq!(e.code().unwrap().code(), "53400"),
                }
            }
            yes
        }));
    }
    let mut yes = 0;
    for task in tasks {
        yes += task.await.unwrap();
    }
    assert_eq!(yes, 5);
    assert_eq!(debits(&world, "ada").await, 0.5, "one opening");
}

/// Groups are questions in the order of their domain; those after the last positive get no answer.
#[tokio::test(flavor = "multi_thread")]
async fn rule_28_groups_are_questions_in_domain_order() {
    let world = World::new().await;
    let told = world
        .told(
            "SET noisegate.stream = 'alerts';
             SELECT station, count(*) FROM trips GROUP BY station HAVING count(*) > -1000000000 ORDER BY count(*) LIMIT 2;
             SELECT station FROM trips GROUP BY station HAVING count(*) > 5;",
        )
        .await;
    assert!(told.contains("the first question to stream \"alerts\" opens it, which costs "), "{told}");
    assert!(told.contains("opened stream \"alerts\": spent "), "{told}");
    assert!(told.contains("5 above of 5 asked, 5 after the last positive and not asked"), "{told}");
    assert!(told.contains("the stream is used up"), "{told}");
    assert!(told.contains("(2 rows)"), "LIMIT is post-processing: {told}");
    assert!(told.contains("answers no more questions: all its positives are used up"), "{told}");
    // All of a statement's groups that pass, in order.
    let c = world.ada().await;
    run(&c, "SET noisegate.stream = 'rise'").await;
    let passed = all(&c, "SELECT station FROM trips GROUP BY station HAVING count(*) > -100000").await;
    assert_eq!(passed, [["Station 0"], ["Station 1"]]);
}

/// The wording of a question, and who may ask it; refusals cost nothing and open nothing.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_question_is_refused_before_anything_is_paid() {
    let world = World::new().await;
    let c = world.ada().await;
    let before = budgets(&c).await;
    for (sql, code) in [
        ("SET noisegate.stream = 'alert'", "42704"),
        ("SET noisegate.stream = 'bobs'", "42501"),
        ("SET noisegate.stream = 'soft'", "42501"),
        ("SET noisegate.stream_accuracy = 5", "55P02"),
        ("SET noisegate.stream_beta = 0", "22023"),
        ("SET noisegate.stream_questions = 0.5", "22023"),
        ("SHOW noisegate.stream_accuracy", "55000"),
    ] {
        assert_eq!(sqlstate(&c, sql).await, code, "{sql}");
    }
    let names = all(&c, "SELECT name FROM noisegate.streams ORDER BY 1").await;
    assert_eq!(names, [["alerts"], ["bell"], ["dear"], ["rise"]], "those that ada may open");
    run(&c, "SET noisegate.stream = 'alerts'").await;
    for sql in [
        "SELECT count(*) FROM trips",
        "SELECT count(*) FROM trips HAVING count(*) > 5 AND sum(fare) > 2",
        "SELECT count(*), sum(fare) FROM trips HAVING count(*) > 5",
        "SELECT avg(fare) FROM trips HAVING avg(fare) > 5",
        "SELECT count(*) FROM trips HAVING count(*) = 5",
        "SELECT count(*) FROM trips HAVING count(*) > sum(fare)",
        "SELECT note, count(*) FROM trips GROUP BY note HAVING count(*) > 5",
        "SELECT (SELECT count(*) FROM trips HAVING count(*) > 5)",
        "SELECT count(*) FROM trips HAVING count(*) > 5 UNION ALL SELECT count(*) FROM riders HAVING count(*) > 5",
        "SELECT station, count(*) FROM trips GROUP BY station HAVING count(*) > 5 ORDER BY sum(fare)",
    ] {
        assert_eq!(sqlstate(&c, sql).await, "0A000", "{sql}");
    }
    // A stream that tells no numbers, and one that needs questions to be monotone.
    run(&c, "SET noisegate.stream = 'bell'").await;
    for sql in [
        "SELECT count(*) FROM trips HAVING count(*) > 5",
        "SELECT station FROM trips GROUP BY station HAVING count(*) > 5 ORDER BY count(*)",
    ] {
        assert_eq!(sqlstate(&c, sql).await, "0A000", "{sql}");
    }
    run(&c, "SET noisegate.stream = 'rise'").await;
    for sql in [
        "SELECT 1 FROM trips HAVING count(*) < 5",
        "SELECT 1 FROM trips HAVING count(*) >= 5",
        "SELECT 1 FROM trips HAVING sum(fare - 30) > 5",
        "SELECT 1 FROM trips HAVING avg(fare) > 5",
        "SELECT 1 FROM trips HAVING 5 > count(*)",
    ] {
        assert_eq!(sqlstate(&c, sql).await, "0A000", "{sql}");
    }
    // More than the quota.
    run(&c, "SET noisegate.stream = 'dear'").await;
    assert_eq!(sqlstate(&c, "SELECT 1 FROM trips HAVING count(*) > 5").await, "53400");
    assert_eq!(stream(&c, "dear").await, ["closed", "2", "0", "0"], "nothing was opened");
    // What reads no private rows is no question.
    assert_eq!(all(&c, "SELECT count(*) FROM stations").await, [["10"]]);
    assert_eq!(budgets(&c).await, before);
    // Without a stream statements are paid for as ever.
    run(&c, "SET noisegate.stream = DEFAULT").await;
    assert_eq!(all(&c, "SELECT count(*) FROM trips").await.len(), 1);
    assert_eq!(budgets(&c).await[1][2], "29");
}

/// kill -9: the threshold is gone, the debit is not, and nobody pays again without saying so.
#[tokio::test(flavor = "multi_thread")]
async fn rule_28_a_restart_closes_the_stream_and_a_reopened_one_pays_again() {
    let World { _db, dir, gate } = World::new().await;
    let world = World { _db, dir, gate };
    let below = "SELECT 1 FROM trips HAVING count(*) > 1000000000";
    let c = world.ada().await;
    run(&c, "SET noisegate.stream = 'alerts'").await;
    assert!(all(&c, below).await.is_empty());
    drop(c);
    let World { _db, dir, gate } = world;
    gate.kill().await;
    let gate = dir.serve_again().await;
    let world = World { _db, dir, gate };
    let told = world
        .told(
            "SET noisegate.stream = 'alerts';
             SELECT 1 FROM trips HAVING count(*) > 1000000000;
             SET noisegate.stream = 'alerts';
             SELECT 1 FROM trips HAVING count(*) > 1000000000;",
        )
        .await;
    assert_eq!(told.matches("ERROR:  stream \"alerts\" answers no more questions").count(), 2, "{told}");
    assert!(told.contains("opened before the proxy was restarted"), "{told}");
    assert!(told.contains("SET noisegate.stream_reopen = 'alerts'"), "{told}");
    assert_eq!(debits(&world, "ada").await, 0.5);
    let c = world.ada().await;
    assert_eq!(stream(&c, "alerts").await, ["closed by a restart", "0", "NULL", "5"]);
    run(&c, "SET noisegate.stream = 'alerts'").await;
    assert_eq!(sqlstate(&c, below).await, "55000");
    // What was said in a transaction that is rolled back was not said.
    run(&c, "BEGIN; SET noisegate.stream_reopen = 'alerts'; ROLLBACK").await;
    assert_eq!(sqlstate(&c, below).await, "55000");
    let told = world.told("SET noisegate.stream_reopen = 'bell'").await;
    assert!(told.contains("stream \"bell\" has not ended"), "{told}");
    run(&c, "SET noisegate.stream_reopen = 'alerts'").await;
    assert!(all(&c, below).await.is_empty());
    assert_eq!(stream(&c, "alerts").await, ["open", "5", "1", "4"]);
    assert_eq!(debits(&world, "ada").await, 1.0, "it was paid again");
    // Bob has never opened it, so there is nothing to reopen.
    let bob = world.user("bob").await;
    assert_eq!(stream(&bob, "alerts").await[0], "closed");
}

/// Parse, Bind, Describe, Execute, with the threshold as a parameter; numbers come back in binary.
#[tokio::test(flavor = "multi_thread")]
async fn the_extended_protocol_asks_with_a_parameter() {
    let world = World::new().await;
    let c = world.ada().await;
    run(&c, "SET noisegate.stream = 'alerts'").await;
    let q =
        c.prepare("SELECT plan, count(*) AS n FROM riders GROUP BY plan HAVING count(*) > $1").await.unwrap();
    assert_eq!((q.columns().len(), q.columns()[1].name()), (2, "n"));
    assert_eq!(debits(&world, "ada").await, 0.0, "neither Parse nor Describe opens it");
    assert!(c.query(&q, &[&1_000_000_000i64]).await.unwrap().is_empty());
    let passed = c.query(&q, &[&-1_000_000_000i64]).await.unwrap();
    let plans: Vec<String> = passed.iter().map(|r| r.get(0)).collect();
    assert_eq!(plans, ["day", "month", "year"]);
    let n: i64 = passed[0].get(1);
    assert!((n - 166).abs() < 20_000, "{n}");
    let float = c.prepare("SELECT 1 FROM trips HAVING avg(fare) > $1::float8 * 2").await.unwrap();
    assert!(c.query(&float, &[&1e6f64]).await.unwrap().is_empty());
    assert_eq!(stream(&c, "alerts").await, ["open", "2", "7", "5"]);
}

/// EXPLAIN: scales, accuracy, price; nothing is charged.
#[tokio::test(flavor = "multi_thread")]
async fn rule_30_explain_tells_public_facts_for_nothing() {
    let world = World::new().await;
    let c = world.ada().await;
    run(&c, "SET noisegate.stream = 'alerts'").await;
    let explain = async |sql: &str| all(&c, &format!("EXPLAIN VERBOSE {sql}")).await.concat().join("\n");
    let plan = explain("SELECT station FROM trips GROUP BY station HAVING sum(fare) > 100.5").await;
    for part in [
        "Question to stream \"alerts\" (numeric_sparse): sum > 100.5",
        "This opens stream \"alerts\", which pays for all its questions: ",
        "Of 1000 questions like this none errs by more than ",
        "Before the noise: at most 5 rows of a rider_id count",
        "Price: epsilon 0.5, which opens the stream for all its questions",
        "at most 5 rows per unit",
        // Five fares of up to 60.00.
        "One unit changes sum by at most 30000 steps of 0.01",
        // 9·5/(4·0.5) = 22.5 sensitivities, twice that, and 9·5/0.5 = 90.
        "threshold scale 675000 steps of 0.01, question scale 1350000 steps of 0.01, number scale 2700000 steps of 0.01",
        "of 1000 questions",
        "Theorem 3.28",
    ] {
        assert!(plan.contains(part), "{part} in\n{plan}");
    }
    assert_eq!(debits(&world, "ada").await, 0.0);
    assert_eq!(stream(&c, "alerts").await[0], "closed");
    all(&c, "SELECT 1 FROM trips HAVING count(*) > 1000000000").await;
    let plan = explain("SELECT 1 FROM trips HAVING count(*) > 5").await;
    assert!(plan.contains("This costs nothing: the stream is open, 5 of 5 positives left."), "{plan}");
    assert!(plan.contains("Price: nothing: the stream is open, 5 of 5 positives left"), "{plan}");
    run(&c, "SET noisegate.stream = 'rise'").await;
    let plan = explain("SELECT 1 FROM trips HAVING count(*) > 5").await;
    assert!(plan.contains("One unit changes count(*) by at most 2\n"), "the stream's max_rows: {plan}");
}

/// A cancelled question leaves the stream as it was: paid once, and open.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_question_does_not_pay_again() {
    let world = World::new().await;
    let c = world.ada().await;
    run(&c, "SET noisegate.stream = 'alerts'").await;
    let holder = city::hold_trips(&world._db).await;
    let cancel = c.cancel_token();
    let asked = tokio::spawn(async move {
        let code = sqlstate(&c, "SELECT 1 FROM trips HAVING count(*) > 1000000000").await;
        (code, c)
    });
    city::eventually("the fetch", async || city::fetch_waits(&world._db).await).await;
    // Who only looks does not wait for who asks.
    let other = world.ada().await;
    assert!(["open", "closed"].contains(&stream(&other, "alerts").await[0].as_str()));
    run(&other, "SET noisegate.stream = 'alerts'").await;
    cancel.cancel_query(tokio_postgres::NoTls).await.unwrap();
    let (code, c) = asked.await.unwrap();
    assert_eq!(code, "57014");
    holder.batch_execute("ROLLBACK").await.unwrap();
    let paid = debits(&world, "ada").await;
    assert!(all(&c, "SELECT 1 FROM trips HAVING count(*) > 1000000000").await.is_empty());
    assert_eq!(stream(&c, "alerts").await[..3], ["open", "5", "1"]);
    assert!(paid <= 0.5 && (debits(&world, "ada").await - 0.5).abs() < 1e-9);
}

/// At thresholds where the answer is a coin's toss, and far from them: sums of noise of the stated scales.
#[tokio::test(flavor = "multi_thread")]
async fn far_thresholds_are_answered_rightly() {
    let world = World::new().await;
    for (user, far) in [("ada", 100_000), ("bob", 200_000)] {
        let c = world.user(user).await;
        run(&c, "SET noisegate.stream = 'bell'").await;
        for _ in 0..20 {
            assert!(all(&c, &format!("SELECT 1 FROM trips HAVING count(*) > {far}")).await.is_empty());
            assert!(all(&c, &format!("SELECT 1 FROM trips HAVING count(*) < -{far}")).await.is_empty());
        }
        assert_eq!(all(&c, &format!("SELECT 'yes' FROM trips HAVING count(*) < {far}")).await, [["yes"]]);
        assert_eq!(stream(&c, "bell").await[..3], ["used up", "0", "41"]);
    }
}

/// A stream with δ > 0 for one role; a reload that changes its terms ends the open instance, one that does not leaves it.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_policy_ends_what_was_opened_under_another() {
    let world = World::new().await;
    let c = world.user("bob").await;
    run(&c, "SET noisegate.stream = 'bobs'").await;
    let below = "SELECT 1 FROM trips HAVING count(*) > 1000000000";
    assert!(all(&c, below).await.is_empty());
    let reload = async |from: &str, to: &str| {
        let file = world.dir.policy();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{from}");
        std::fs::write(&file, text.replace(from, to)).unwrap();
        let done = world.dir.noisegate(&["ctl", "reload"]).await;
        assert!(done.status.success(), "{done:?}");
    };
    reload("roles = [\"research\"]", "users = [\"bob\"]").await;
    assert!(all(&c, below).await.is_empty(), "it is still open");
    assert_eq!(stream(&c, "bobs").await[..3], ["open", "1", "2"]);
    reload("variant = \"improved\"\nepsilon = 1\n", "variant = \"improved\"\nepsilon = 0.5\n").await;
    assert_eq!(sqlstate(&c, below).await, "55000");
    assert_eq!(stream(&c, "bobs").await[0], "closed by a change of the policy");
    run(&c, "SET noisegate.stream_reopen = 'bobs'").await;
    assert!(all(&c, below).await.is_empty());
    assert_eq!(debits(&world, "bob").await, 1.5);
    // Other bounds: what a question can change is another.
    assert_eq!(stream(&c, "bobs").await[0], "open");
    reload("columns.minutes = { range = [0, 240] }", "columns.minutes = { range = [0, 120] }").await;
    assert_eq!(sqlstate(&c, below).await, "55000");
    assert_eq!(stream(&c, "bobs").await[0], "closed by a change of the policy");
    assert_eq!(debits(&world, "bob").await, 1.5, "and nothing was paid for that");
    // δ of all budgets that match, beside ε; and the stream is open to him by now.
    run(&c, "SET noisegate.stream = 'soft'").await;
    assert!(all(&c, below).await.is_empty());
    let shown = world.dir.noisegate(&["budget", "show"]).await.stdout;
    assert!(shown.contains("bob: ε = 2.4 of 3 spent"), "{shown}");
    assert!(shown.contains("δ of private groups = 0.000000001 of 0.0000005"), "{shown}");
    // Taken away: private statements are refused, others are not.
    reload("users = [\"bob\"]\n[[stream]]\nname = \"dear\"", "roles = [\"x\"]\n[[stream]]\nname = \"dear\"")
        .await;
    assert_eq!(sqlstate(&c, below).await, "42501");
    assert_eq!(all(&c, "SELECT 1").await, [["1"]]);
    run(&c, "RESET noisegate.stream").await;
    assert_eq!(all(&c, "SELECT count(*) FROM trips").await.len(), 1);
}

/// Chosen in the start-up packet, a stream is selected; nothing of the past is reopened by it.
#[tokio::test(flavor = "multi_thread")]
async fn start_up_options_select_a_stream_and_reopen_none() {
    let world = World::new().await;
    let url = world.gate.url("ada", PASSWORD, "bikes");
    let c = connect(&format!("{url}?options=-c%20noisegate.stream=bell%20-c%20noisegate.stream_reopen=bell"))
        .await;
    assert_eq!(all(&c, "SELECT 'rung' FROM trips HAVING count(*) > -1000000000").await, [["rung"]]);
    assert_eq!(sqlstate(&c, "SELECT 'rung' FROM trips HAVING count(*) > 5").await, "53400");
    assert_eq!(debits(&world, "ada").await, 1.0);
    let refused = psql(&format!("{url}?options=-c%20noisegate.stream%3Dbobs"), "SELECT 1").await;
    assert!(refused.stderr.contains("permission denied for stream \"bobs\""), "{refused:?}");
    // SET LOCAL ends with its transaction, and what is reset was not said.
    let c = connect(&format!("{url}?options=-c%20noisegate.stream=bell")).await;
    for sql in [
        "BEGIN; SET LOCAL noisegate.stream_reopen = 'bell'; COMMIT",
        "SET noisegate.stream_reopen = 'bell'; RESET noisegate.stream_reopen",
        "SET noisegate.stream_reopen = 'bell'; RESET ALL",
    ] {
        run(&c, sql).await;
        assert_eq!(sqlstate(&c, "SELECT 'rung' FROM trips HAVING count(*) > 5").await, "53400", "{sql}");
    }
    assert_eq!(all(&c, "SHOW noisegate.stream").await, [["bell"]], "back to the start-up's");
    assert_eq!(debits(&world, "ada").await, 1.0);
}
