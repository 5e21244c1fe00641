//! Which statements ask the same.

use super::world::{World, all, one, rules, user};
use crate::city::{PASSWORD, rows};
use crate::support::psql;

#[tokio::test(flavor = "multi_thread")]
async fn the_same_question_in_other_words_is_free() {
    let world = World::new("").await;
    let c = world.ada().await;
    let first = all(&c, "SELECT plan, count(*) FROM riders WHERE birth_year >= 1950 AND birth_year <= 1980 AND city = 'City 1' GROUP BY plan ORDER BY 1").await;
    assert_eq!((first.len(), world.paid().await), (3, 1));
    let other = world.ada().await;
    for sql in [
        "select  r.plan AS p, count(*) as n from riders r -- again\n where r.city = 'City 1' and r.birth_year between 1950 and 1980 group by 1 order by p",
        "SELECT plan, count(*) FROM riders AS x WHERE 'City 1' = city AND 1980 >= birth_year AND NOT birth_year < 1950 GROUP BY plan ORDER BY plan",
        "SELECT plan, count(*) FROM (SELECT * FROM riders WHERE city = 'City 1') t WHERE birth_year BETWEEN 1950 AND 1980 GROUP BY 1 ORDER BY 1",
        "WITH t AS (SELECT plan AS a, birth_year AS b FROM riders WHERE city IN ('City 1')) SELECT a, count(*) FROM t WHERE b >= 1950 AND b <= 1980 GROUP BY a ORDER BY a",
    ] {
        assert_eq!(all(&other, sql).await, first, "{sql}");
    }
    let sum: i64 = first.iter().map(|r| r[1].as_deref().unwrap().parse::<i64>().unwrap()).sum();
    let base = "FROM riders WHERE birth_year BETWEEN 1950 AND 1980 AND city = 'City 1' GROUP BY plan";
    assert_eq!(
        one(&c, &format!("SELECT sum(n) FROM (SELECT count(*) AS n {base}) t")).await,
        sum.to_string()
    );
    assert_eq!(all(&c, &format!("SELECT plan {base} HAVING count(*) > 100000")).await.len(), 0);
    let top = format!("SELECT plan, 2 * count(*) AS n {base} ORDER BY n DESC LIMIT 1");
    assert_eq!(all(&c, &top).await.len(), 1);
    assert_eq!(one(&c, &format!("SELECT count(*) FROM (SELECT plan, count(*) {base}) t")).await, "3");
    assert_eq!(world.paid().await, 1, "all of it asks one question");
    // Parameters of the extended protocol, in text and binary.
    let sql = "SELECT plan, count(*) FROM riders WHERE birth_year BETWEEN $1 AND $2 AND city = $3 GROUP BY 1 ORDER BY 1";
    let bound = c.query(sql, &[&1950i32, &1980i32, &"City 1"]).await.unwrap();
    let bound: Vec<String> = bound.iter().map(|r| r.get::<_, i64>(1).to_string()).collect();
    assert_eq!(bound, first.iter().map(|r| r[1].clone().unwrap()).collect::<Vec<_>>());
    assert_eq!(world.paid().await, 1);
    c.query(sql, &[&1951i32, &1980i32, &"City 1"]).await.unwrap();
    assert_eq!(world.paid().await, 2, "another value is another question");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_questions_and_other_settings_are_paid_for() {
    let world = World::new("").await;
    let c = world.ada().await;
    let statements = [
        "SELECT count(*) FROM riders",
        "SELECT count(*) FROM riders WHERE plan = 'day'",
        "SELECT count(*) FROM riders WHERE plan <> 'day'",
        "SELECT count(*) FROM riders WHERE plan = 'day' OR birth_year > 1960",
        "SELECT count(*) FROM riders WHERE plan = 'day' AND birth_year > 1960",
        "SELECT count(*) FROM riders WHERE plan = 'day' AND birth_year >= 1960",
        "SELECT count(city) FROM riders",
        "SELECT count(*) FROM trips",
        "SELECT sum(minutes) FROM trips",
        "SELECT sum(fare) FROM trips",
        "SELECT sum(fare) FROM trips GROUP BY station",
        "SET noisegate.max_rows = 3; SELECT count(*) FROM trips",
        "SET noisegate.max_rows = 8; SET noisegate.mechanism = laplace; SELECT sum(minutes) FROM trips WHERE fare > 3",
        "SET timezone = 'Europe/Berlin'; SELECT count(*) FROM trips WHERE extract(hour FROM started_at::timestamptz) = 8",
        "SET timezone = 'UTC'; SELECT count(*) FROM trips WHERE extract(hour FROM started_at::timestamptz) = 8",
        "SELECT count(*) FROM trips WHERE started_at > '2024-02-01'",
    ];
    for (n, sql) in statements.iter().enumerate() {
        c.simple_query(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        assert_eq!(world.paid().await, n + 1, "{sql}");
    }
    // What none of these depends on.
    for sql in [
        "SET timezone = 'Asia/Tokyo'; SET extra_float_digits = 3; SET datestyle = 'SQL, DMY'; SELECT count(*) FROM riders",
        "SELECT count(*) FROM trips WHERE started_at > '2024-02-01'",
        "SET noisegate.max_groups = 7; SET noisegate.delta = 1e-8; SELECT count(*) FROM riders",
        "SET search_path = public; SET application_name = 'x'; SELECT count(*) FROM riders WHERE plan = 'day'",
    ] {
        c.simple_query(sql).await.unwrap();
        assert_eq!(world.paid().await, statements.len(), "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_average_is_free_where_its_sum_and_count_are_stored() {
    let world = World::new("").await;
    let c = world.ada().await;
    let both = all(&c, "SELECT station, count(fare), sum(fare) FROM trips GROUP BY station ORDER BY 1").await;
    let avg = all(&c, "SELECT station, avg(fare) FROM trips GROUP BY station ORDER BY 1").await;
    assert_eq!(world.paid().await, 1);
    let number = |s: &Option<String>| s.as_deref().unwrap().parse::<f64>().unwrap();
    for (b, a) in both.iter().zip(&avg) {
        if number(&b[1]) >= 1.0 {
            let ratio = (number(&b[2]) / number(&b[1])).clamp(0.0, 60.0);
            assert!((ratio - number(&a[1])).abs() < 1e-6, "{b:?} {a:?}");
        }
    }
    // One part of a stored release, and parts of two of them over the same public groups.
    let count = all(&c, "SELECT station, count(*) FROM trips GROUP BY 1 ORDER BY 1").await;
    assert_eq!(count, both.iter().map(|r| vec![r[0].clone(), r[1].clone()]).collect::<Vec<_>>());
    assert_eq!(world.paid().await, 1);
    let minutes = all(&c, "SELECT station, sum(minutes) FROM trips GROUP BY 1 ORDER BY 1").await;
    assert_eq!(world.paid().await, 2);
    let three = all(&c, "SELECT station, sum(minutes), sum(fare) FROM trips GROUP BY 1 ORDER BY 1").await;
    assert_eq!(world.paid().await, 2);
    for ((t, m), b) in three.iter().zip(&minutes).zip(&both) {
        assert_eq!((&t[1], &t[2]), (&m[1], &b[2]));
    }
}

/// Points of private groups are chosen in those that were selected before, where these are kept; else they come with a
/// selection of their own, and nobody is told of other groups.
#[tokio::test(flavor = "multi_thread")]
async fn points_are_chosen_in_groups_that_are_kept() {
    let world = World::new("").await;
    let c = world.ada().await;
    c.simple_query("SET noisegate.epsilon = 4").await.unwrap();
    let by_city = |what: &str| format!("SELECT city, {what} FROM riders GROUP BY city ORDER BY 1");
    let median = all(&c, &by_city("median(birth_year)")).await;
    let most = all(&c, &by_city("max(birth_year)")).await;
    // Forty times 0.1 for the first, and its second half for the other: the groups are kept.
    assert_eq!(world.paid().await, 60);
    let keys = |rows: &[Vec<Option<String>>]| rows.iter().map(|r| r[0].clone()).collect::<Vec<_>>();
    assert!(!median.is_empty() && keys(&median) == keys(&most), "{median:?} {most:?}");
    assert!(median.iter().chain(&most).all(|r| r[1].is_some()), "{median:?} {most:?}");
    assert_eq!(all(&c, &by_city("median(birth_year)")).await, median);
    // Of five, two fifths are for the groups, as before.
    c.simple_query("SET noisegate.epsilon = 5").await.unwrap();
    assert_eq!(all(&c, &by_city("max(birth_year) - 1 < 3000, median(birth_year)")).await.len(), median.len());
    assert_eq!(world.paid().await, 90);
}

/// What was released in groups that another release selected is kept for these. To other groups it has no answer.
#[tokio::test(flavor = "multi_thread")]
async fn rule_06_answers_in_selected_groups_are_kept_for_these() {
    let world = World::new("").await;
    let c = world.ada().await;
    let by_city = |what: &str| format!("SELECT city, {what} FROM riders GROUP BY city ORDER BY 1");
    // The share of what comes after the selection is the same in both, and so is its noise.
    for (epsilon, paid, what) in [
        (2.0, 20, "median(birth_year)"),
        (2.0, 40, "count(*), median(birth_year)"),
        (1.7, 57, "count(DISTINCT birth_year)"),
        (2.5, 82, "sum(birth_year), count(DISTINCT birth_year)"),
    ] {
        c.simple_query(&format!("SET noisegate.epsilon = {epsilon}")).await.unwrap();
        let rows = all(&c, &by_city(what)).await;
        assert_eq!(world.paid().await, paid, "{what}");
        assert!(
            !rows.is_empty() && rows.iter().all(|r| r.iter().skip(1).all(Option::is_some)),
            "{what}: {rows:?}"
        );
        assert_eq!(all(&c, &by_city(what)).await, rows, "{what}");
        assert_eq!(world.paid().await, paid, "{what}");
    }
}

/// Where the groups are selected anew, what is released in them is kept for the new ones, too.
#[tokio::test(flavor = "multi_thread")]
async fn rule_06_groups_that_are_selected_anew_have_answers_of_their_own() {
    let world = World::new("").await;
    let c = world.ada().await;
    let keys = |rows: &[Vec<Option<String>>]| rows.iter().map(|r| r[0].clone()).collect::<Vec<_>>();
    let mut moved = 0;
    // Of some hundred riders in each city, a city is there or not as its noise has it; with fewer parts it is more likely.
    for year in [1949, 1951, 1953, 1955, 1957, 1959] {
        let ask = |what: &str| {
            format!("SELECT city, {what} FROM riders WHERE birth_year > {year} GROUP BY 1 ORDER BY 1")
        };
        c.simple_query("SET noisegate.epsilon = 0.4").await.unwrap();
        let three =
            "sum(birth_year), count(*) FILTER (WHERE plan = 'day'), count(*) FILTER (WHERE plan = 'year')";
        all(&c, &ask(three)).await;
        // The groups of a sum and a median have two thirds of its price.
        c.simple_query("SET noisegate.epsilon = 0.6").await.unwrap();
        let served = all(&c, &ask("sum(birth_year), median(birth_year)")).await;
        c.simple_query("SET noisegate.cache = best").await.unwrap();
        let best = all(&c, &ask("sum(birth_year), median(birth_year)")).await;
        let paid = world.paid().await;
        moved += usize::from(keys(&served) != keys(&best));
        for _ in 0..2 {
            assert_eq!(all(&c, &ask("sum(birth_year), median(birth_year)")).await, best);
            assert_eq!(world.paid().await, paid, "{year}: what is kept is paid for again");
        }
        c.simple_query("SET noisegate.cache = on").await.unwrap();
    }
    assert!(moved > 0, "no selection had other groups");
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_06_parts_of_two_selections_never_mix() {
    let world = World::new("").await;
    let c = world.ada().await;
    let by_city = |what: &str| format!("SELECT city, {what} FROM riders GROUP BY city ORDER BY 1");
    all(&c, &by_city("count(*)")).await;
    all(&c, &by_city("sum(birth_year)")).await;
    assert_eq!(world.paid().await, 2);
    let both = all(&c, &by_city("count(*), sum(birth_year)")).await;
    assert_eq!(world.paid().await, 3, "each stored release has groups of its own");
    let again = all(&c, &by_city("sum(birth_year), count(*)")).await;
    let swapped: Vec<_> = both.iter().map(|r| vec![r[0].clone(), r[2].clone(), r[1].clone()]).collect();
    assert_eq!((again, world.paid().await), (swapped, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_releases_only_what_is_missing_is_paid_for() {
    let world = World::new("").await;
    let c = world.ada().await;
    let two = |a: &str, b: &str| {
        format!(
            "SELECT (SELECT count(*) FROM riders WHERE plan = '{a}'), (SELECT count(*) FROM riders WHERE plan = '{b}')"
        )
    };
    let first = all(&c, &two("day", "month")).await;
    assert_eq!(world.paid().await, 1);
    assert_eq!(all(&c, &two("month", "day")).await[0], first[0].iter().rev().cloned().collect::<Vec<_>>());
    assert_eq!(world.paid().await, 1);
    let told = psql(&world.gate.url("ada", PASSWORD, "bikes"), &format!("{};", two("day", "year"))).await;
    assert!(told.stderr.contains("NOTICE:  spent 0.6 % of "), "{}", told.stderr);
    assert!(told.stdout.contains(first[0][0].as_deref().unwrap()), "{}", told.stdout);
    // A half of the price, that of the one that was missing; by itself, at the same half, it is free.
    c.simple_query("SET noisegate.epsilon = 0.05").await.unwrap();
    assert_eq!(
        one(&c, "SELECT count(*) FROM riders WHERE plan = 'month'").await,
        first[0][1].clone().unwrap()
    );
    let left = one(&c, "SELECT fraction_left FROM noisegate.budget").await.parse::<f64>().unwrap();
    assert!((left - (9.0 - 0.15) / 9.0).abs() < 1e-6, "{left}");
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_share_their_answers_and_no_others() {
    let more = format!("{}{}{}", user("carl", "research"), user("dora", "research"), user("emil", "press"));
    let db = crate::city::bikes().await;
    let policy = crate::city::policy(&db.backend_toml(), &["ada", "bob"], &rules(&more));
    let dir = crate::support::Workdir::new(&policy);
    let gate = dir.serve().await;
    let world = World { db, dir, gate };
    let ask = |name: &'static str| {
        let world = &world;
        async move { one(&world.user(name).await, "SELECT sum(minutes) FROM trips").await }
    };
    let (ada, bob) = (ask("ada").await, ask("bob").await);
    assert_eq!((ada == bob, world.paid().await), (true, 1), "users without a role share theirs");
    let (carl, dora) = (ask("carl").await, ask("dora").await);
    assert_eq!((carl == dora, world.paid().await), (true, 2));
    let emil = ask("emil").await;
    assert_eq!(world.paid().await, 3);
    assert!(ada != carl && carl != emil && ada != emil, "{ada} {carl} {emil}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_free_says_so_and_who_wants_new_noise_pays() {
    let world = World::new("").await;
    let ask = "SELECT sum(minutes) FROM trips;";
    let script = format!(
        "\\pset tuples_only on\n{ask}\n{ask}\nSET noisegate.cache = off;\n{ask}\n{ask}\nRESET ALL;\n{ask}"
    );
    let told = psql(&world.gate.url("ada", PASSWORD, "bikes"), &script).await;
    let notices = told.stderr.lines().filter_map(|l| l.split_once("NOTICE:  ").map(|x| x.1));
    let free = "answered from an earlier release; nothing was spent";
    // Whether a value is small hangs on its noise.
    let notices: Vec<&str> = notices.filter(|n| n.starts_with(free) || n.starts_with("spent ")).collect();
    let kinds: Vec<bool> = notices.iter().map(|n| n.starts_with(free)).collect();
    assert_eq!(kinds, [false, true, false, false, true], "{notices:?}");
    let numbers: Vec<i64> = told.stdout.lines().filter_map(|l| l.trim().parse().ok()).collect();
    assert_eq!(numbers.len(), 5, "{}", told.stdout);
    assert!(numbers[0] == numbers[1] && numbers[0] == numbers[4], "{numbers:?}");
    assert!(numbers[2] != numbers[0] && numbers[3] != numbers[2], "{numbers:?}");
    assert_eq!(world.paid().await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_cache_every_answer_is_paid_for() {
    let world = World::new("[cache]\nenabled = false").await;
    let c = world.ada().await;
    let answers = [(); 3].map(|()| "SELECT sum(minutes) FROM trips");
    let mut seen = std::collections::HashSet::new();
    for sql in answers {
        seen.insert(one(&c, sql).await);
    }
    assert_eq!((seen.len(), world.paid().await), (3, 3));
    assert!(rows(&c, "SET noisegate.cache = on").await.is_ok());
    one(&c, answers[0]).await;
    assert_eq!(world.paid().await, 4, "a session cannot turn it on");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_statement_asks_twice_is_paid_for_once_and_has_one_answer() {
    let world = World::new("").await;
    let c = world.ada().await;
    let twice = "SELECT a.n, b.n FROM (SELECT plan, birth_year > 1970 AS young, count(*) AS n FROM riders GROUP BY 1, 2) a
        JOIN (SELECT birth_year > 1970 AS young, plan, count(*) AS n FROM riders GROUP BY 1, 2) b ON a.plan = b.plan AND a.young = b.young";
    let told = psql(&world.gate.url("ada", PASSWORD, "bikes"), &format!("{twice};")).await;
    assert!(told.stderr.contains("NOTICE:  spent 0.6 % of "), "{}", told.stderr);
    let pairs = all(&c, twice).await;
    assert!(pairs.len() == 6 && pairs.iter().all(|p| p[0] == p[1]), "{pairs:?}");
    assert!(told.stdout.contains(pairs[0][0].as_deref().unwrap()), "{}", told.stdout);
    let left = one(&c, "SELECT fraction_left FROM noisegate.budget").await.parse::<f64>().unwrap();
    assert!((left - (9.0 - 0.05) / 9.0).abs() < 1e-6, "{left}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_books_tell_what_was_given_again() {
    let world = World::new("").await;
    let c = world.ada().await;
    for _ in 0..3 {
        one(&c, "SELECT count(*) FROM riders").await;
    }
    let entries =
        all(&c, "SELECT cached, count(*) FROM noisegate.history GROUP BY cached ORDER BY cached").await;
    // Once a day for each user and answer, so that a dashboard does not fill the ledger.
    let text = |s: &str| Some(s.to_owned());
    assert_eq!(entries, [vec![text("f"), text("1")], vec![text("t"), text("1")]]);
}

/// An answer to more questions at one price has more noise for each: that is said, and whoever wants the best pays for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_narrower_question_is_told_of_wider_noise_and_may_pay_for_less() {
    let world = World::new("").await;
    let c = world.ada().await;
    let narrow = "SELECT sum(fare) FROM trips";
    let told = async |script: &str| {
        let out = crate::support::psql(&world.gate.url("ada", PASSWORD, "bikes"), script).await;
        out.stdout + &out.stderr
    };
    assert!(!told(&format!("EXPLAIN {narrow};")).await.contains("an earlier release"));
    one(&c, "SELECT sum(fare) + sum(minutes) FROM trips").await;
    assert_eq!(world.paid().await, 1);
    let first = one(&c, narrow).await;
    let shown =
        told(&format!("{narrow}; EXPLAIN {narrow}; SET noisegate.cache = best; EXPLAIN {narrow};")).await;
    assert_eq!(world.paid().await, 1, "nothing of this is paid for");
    let wider = "nothing was spent; its noise is 2 times as wide as that of a fresh answer";
    assert!(shown.contains(wider), "{shown}");
    assert!(shown.contains("SET noisegate.cache = best pays for a fresh answer"), "{shown}");
    let (free, paying) = shown.split_once("\nSET\n").unwrap();
    let kept = "This costs nothing: it is answered from an earlier release; its noise is 2 times as wide";
    assert!(free.contains(kept) && !paying.contains("This costs nothing"), "{shown}");
    // Paid for once, and then it is the answer to all who ask.
    c.simple_query("SET noisegate.cache = BEST").await.unwrap();
    assert_eq!(one(&c, "SHOW noisegate.cache").await, "best");
    let best = one(&c, narrow).await;
    assert_ne!(best, first);
    assert_eq!((one(&c, narrow).await, world.paid().await), (best.clone(), 2));
    let other = world.ada().await;
    assert_eq!((one(&other, narrow).await, world.paid().await), (best, 2));
    assert!(!told(&format!("{narrow};")).await.contains("times as wide"));
    let wrong = c.simple_query("SET noisegate.cache = good").await.unwrap_err();
    assert_eq!(wrong.code().unwrap().code(), "22023", "{wrong:?}");
}

/// A kept answer is given to whoever wants no more than it has, and a finer one is bought; the price follows from what is wanted.
#[tokio::test(flavor = "multi_thread")]
async fn an_accuracy_is_bought_once() {
    let world = World::new("").await;
    let c = world.ada().await;
    let told = async |script: &str| {
        let out = psql(&world.gate.url("ada", PASSWORD, "bikes"), script).await;
        out.stdout + &out.stderr
    };
    let paid = async || -> usize {
        let paid = "SELECT count(*) FROM noisegate.history WHERE NOT cached";
        one(&world.ada().await, paid).await.parse().unwrap()
    };
    let ask = "SELECT count(*) FROM riders WHERE birth_year > 1960";
    let shown = told(&format!("SET noisegate.accuracy = 40; {ask}; {ask}; EXPLAIN {ask};")).await;
    assert_eq!(paid().await, 1, "{shown}");
    assert!(shown.contains("; each number is within ±40, 95 times in 100\n"), "{shown}");
    assert!(shown.contains("is the least price for an accuracy of ±40"), "{shown}");
    let less = "SELECT max(epsilon) < 0.1 FROM noisegate.history";
    assert_eq!(one(&c, less).await, "t", "less than what ±30 costs");
    c.simple_query("SET noisegate.accuracy = 60").await.unwrap();
    let coarse = one(&c, ask).await;
    assert_eq!(paid().await, 1, "what is kept is as near");
    c.simple_query("SET noisegate.epsilon = 1; SET noisegate.accuracy = 20; SET noisegate.intervals = on")
        .await
        .unwrap();
    let finer = all(&c, ask).await;
    assert_eq!(paid().await, 2, "a finer one is another release");
    let ends: Vec<i64> = finer[0].iter().map(|x| x.as_ref().unwrap().parse().unwrap()).collect();
    assert_eq!((ends[0] - ends[1], ends[2] - ends[0]), (20, 20), "{finer:?} after {coarse}");
    // Without intervals, at another confidence: the price is for these.
    c.simple_query("SET noisegate.confidence = 0.5; SET noisegate.accuracy = 10").await.unwrap();
    all(&c, ask).await;
    assert_eq!(paid().await, 2, "half of the draws are within 10 at less than the price of 20");
    c.simple_query("SET noisegate.confidence = 0.95; SET noisegate.accuracy = 0.1").await.unwrap();
    let refused = c.simple_query(ask).await.unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "53400", "{refused:?}");
    assert_eq!(paid().await, 2, "nothing is paid for a refusal");
}

/// An accuracy in percent: small releases say how large the number is, and the answer costs what it needs; asked again it is free.
#[tokio::test(flavor = "multi_thread")]
async fn an_accuracy_in_percent_costs_what_the_number_needs() {
    let world = World::new("").await;
    let c = world.ada().await;
    let spent = async || -> f64 {
        let spent = "SELECT COALESCE(sum(epsilon), 0) FROM noisegate.history WHERE NOT cached";
        one(&world.ada().await, spent).await.parse().unwrap()
    };
    let told = async |script: &str| {
        let set = "SET noisegate.epsilon = 4; SET noisegate.accuracy = '10 %'; SET noisegate.intervals = on;";
        let out = psql(&world.gate.url("ada", PASSWORD, "bikes"), &format!("{set} {script}")).await;
        out.stdout + &out.stderr
    };
    let ask = "SELECT count(*) FROM riders WHERE birth_year > 1950";
    let explained = told(&format!("EXPLAIN {ask};")).await;
    let most = "That is the most: an accuracy of 10 % takes as little of it as the numbers need";
    assert!(explained.contains(most), "{explained}");
    let shown = told(&format!("{ask};")).await;
    let first = spent().await;
    assert!(first > 0.0 && first < 4.0, "{first}: {shown}");
    assert!(shown.matches("NOTICE:  spent").count() >= 2, "{shown}");
    assert!(shown.contains("NOTICE:  each number is within about "), "{shown}");
    let again = told(&format!("{ask};")).await;
    assert_eq!(spent().await, first, "asked again it is free: {again}");
    assert!(again.contains("nothing was spent"), "{again}");
    // A number near 0 is out of reach: it is told, and costs no more than a quarter of what might be spent. (At an epsilon of 4 a count
    // has no noise 95 times in 100, and so is as near as can be wanted.)
    let none = told("SET noisegate.accuracy = '1 %'; SET noisegate.epsilon = 2; SELECT count(*) FROM riders WHERE city = 'none';").await;
    let hard = "an accuracy of 1 % is out of reach: some number is hard to tell from 0";
    assert!(none.contains(hard) || none.contains("an accuracy of 1 % would cost epsilon"), "{none}");
    assert!(spent().await < first + 0.5, "{none}");
    c.simple_query("SET noisegate.accuracy = '2 %'").await.unwrap();
    let before = spent().await;
    for wrong in [
        "SELECT avg(birth_year) FROM riders",
        "SELECT count(*) + sum(birth_year) FROM riders",
        "SELECT n FROM (SELECT count(*) AS n FROM riders) t",
        "SELECT city, count(*) FROM riders GROUP BY city",
        "SELECT plan FROM riders GROUP BY plan HAVING count(*) > 3",
    ] {
        let refused = c.simple_query(wrong).await.unwrap_err();
        assert_eq!(refused.code().unwrap().code(), "0A000", "{wrong}: {refused:?}");
        let explain = c.simple_query(&format!("EXPLAIN {wrong}")).await.unwrap_err();
        assert_eq!(explain.code().unwrap().code(), "0A000", "{wrong}: {explain:?}");
    }
    // What it may take in all has to fit before anything is drawn.
    let whole = told("SET noisegate.epsilon = 100; SELECT count(*) FROM trips;").await;
    assert!(whole.contains("ERROR:") && !whole.contains("NOTICE:  spent"), "{whole}");
    assert_eq!(spent().await, before, "{whole}");
    // Groups: the smallest decides, which is far from 2 % at this price.
    let groups = told("SET noisegate.accuracy = '1 %'; SET noisegate.epsilon = 0.5; SELECT plan, count(*) FROM riders GROUP BY plan;").await;
    assert!(groups.contains("would cost epsilon") || groups.contains("is out of reach"), "{groups}");
    assert!(spent().await <= before + 0.5, "{groups}");
}

/// Everybody recognises what they asked, and nobody what others did.
#[tokio::test(flavor = "multi_thread")]
async fn history_shows_each_user_what_they_wrote_themselves() {
    let world = World::new("").await;
    let (ada, bob) = (world.ada().await, world.user("bob").await);
    let history = "SELECT query FROM noisegate.history ORDER BY entry";
    let written = async |client: &tokio_postgres::Client| {
        all(client, history).await.into_iter().flatten().flatten().collect::<Vec<_>>()
    };
    ada.simple_query("SELECT 1; SELECT count(*)\n  FROM riders -- mine\n; SELECT 2").await.unwrap();
    ada.query("SELECT count(*) FROM trips WHERE minutes < $1", &[&30]).await.unwrap();
    let own = ["SELECT count(*)\n  FROM riders -- mine", "SELECT count(*) FROM trips WHERE minutes < $1"];
    assert_eq!(written(&ada).await, own);
    assert!(written(&bob).await.is_empty());
    // For nothing, in other words: his words.
    one(&bob, "SELECT COUNT(*) AS n FROM riders r").await;
    assert_eq!(written(&bob).await, ["SELECT COUNT(*) AS n FROM riders r"]);
    assert_eq!(written(&ada).await, own);
    // A text of any length is cut, and ends with the answers.
    let long = format!("SELECT count(*) FROM riders WHERE plan <> '{}'", "é".repeat(10_000));
    one(&ada, &long).await;
    let shown = written(&ada).await.remove(2);
    assert!(shown.ends_with("é…") && shown.chars().count() == 4_001);
    assert!(world.dir.noisegate(&["ctl", "refresh"]).await.status.success());
    crate::city::eventually("texts have ended", async || written(&ada).await.is_empty()).await;
    assert_eq!(world.paid().await, 3);
}
