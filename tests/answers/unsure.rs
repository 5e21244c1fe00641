//! `noisegate.unsure`: values that say nothing are NULL, by what was released alone.

use crate::city::{PASSWORD, World, bikes, policy, room_for, rows};
use crate::support::{Workdir, connect};

type Row = Vec<Option<String>>;

fn number(cell: &Option<String>) -> Option<f64> {
    cell.as_deref().map(|c| c.parse().unwrap())
}

/// Counts, sums, averages, ratios, a spread, and what is computed of them, in listed groups, some without rows.
const NUMBERS: &str = "SELECT station, count(*) AS n, sum(minutes) AS s, avg(fare) AS a, \
    count(*) FILTER (WHERE minutes > 60)::float8 / nullif(count(*), 0) AS share, coalesce(sum(fare), 0) AS f, count(*) - 190 AS over, \
    stddev(minutes) AS sd FROM trips GROUP BY station ORDER BY station";

/// Nobody knows what bounds cut: the noise alone decides. Those that are kept are so unchanged, and those that are not have wide
/// intervals.
#[tokio::test(flavor = "multi_thread")]
async fn numbers_are_null_where_their_interval_is_wider_than_they_are() {
    let world = World::new(&["ada"], &format!("{}[cache]\nenabled = true\n", room_for(900))).await;
    let client = world.client("ada").await;
    let (mut kept, mut gone) = (0, 0);
    for epsilon in ["0.1", "0.5", "2", "20"] {
        client
            .batch_execute(&format!("SET noisegate.epsilon = {epsilon}; SET noisegate.unsure = keep"))
            .await
            .unwrap();
        // Deviations are of noise alone, whatever is cut.
        let deviations = "SELECT station, noisegate.stddev(count(*)), noisegate.stddev(sum(minutes)), noisegate.stddev(avg(fare)), \
            noisegate.stddev(count(*) FILTER (WHERE minutes > 60)::float8 / nullif(count(*), 0)), noisegate.stddev(coalesce(sum(fare), 0)), \
            noisegate.stddev(count(*) - 190), noisegate.stddev(stddev(minutes)), count(*) AS n, sum(minutes) AS s, avg(fare) AS a, \
            count(*) FILTER (WHERE minutes > 60)::float8 / nullif(count(*), 0) AS share, coalesce(sum(fare), 0) AS f, \
            count(*) - 190 AS over, stddev(minutes) AS sd \
            FROM trips GROUP BY station ORDER BY station";
        let whole = rows(&client, NUMBERS).await.unwrap();
        let deviations = rows(&client, deviations).await.unwrap();
        client.batch_execute("SET noisegate.unsure = 'null'").await.unwrap();
        let shown = rows(&client, NUMBERS).await.unwrap();
        assert_eq!(shown.len(), whole.len());
        for ((whole, shown), deviation) in whole.iter().zip(&shown).zip(&deviations) {
            assert_eq!(whole[0], shown[0], "keys stay");
            for i in 1..whole.len() {
                let (Some(value), of) = (number(&whole[i]), number(&deviation[i])) else {
                    assert_eq!(shown[i], None);
                    continue;
                };
                // Of ratios and spreads intervals are others than to first order, and within the range of an average.
                let linear = [1, 2, 5, 6].contains(&i);
                match &shown[i] {
                    Some(_) => {
                        kept += 1;
                        assert_eq!(shown[i], whole[i], "what is shown is what it was");
                        // Half a width of 95 % is at least 1.9 deviations of the noise.
                        let wide = 2.0 * 1.9 * of.unwrap();
                        assert!(!linear || wide <= value.abs() * 1.05, "{i}: {value} of {of:?}");
                    }
                    None => {
                        gone += 1;
                        assert!(!linear || 2.0 * 2.3 * of.unwrap() > value.abs(), "{i}: {value} of {of:?}");
                    }
                }
            }
        }
    }
    assert!(kept > 40 && gone > 40, "{kept} are kept, {gone} gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn totals_queries_over_results_and_orders_have_the_numbers_themselves() {
    let world = World::new(&["ada"], &format!("{}[cache]\nenabled = true\n", room_for(200))).await;
    let client = world.client("ada").await;
    client.batch_execute("SET noisegate.epsilon = 0.8").await.unwrap();
    let spent = "SELECT fraction_left FROM noisegate.budget";
    let sorted = "SELECT station, count(*) AS n FROM trips GROUP BY station ORDER BY n DESC, station";
    let total = "SELECT sum(n) AS n FROM (SELECT station, count(*) AS n FROM trips GROUP BY station) t";
    let sets = "SELECT station, count(*) AS n FROM trips GROUP BY ROLLUP (station) ORDER BY station";
    let mut whole: Vec<Vec<Row>> = Vec::new();
    for sql in [sorted, total, sets] {
        whole.push(rows(&client, sql).await.unwrap());
    }
    let left = rows(&client, spent).await.unwrap();
    client.batch_execute("SET noisegate.unsure = 'null'").await.unwrap();
    let shown = rows(&client, sorted).await.unwrap();
    let keys = |rows: &[Row]| rows.iter().map(|r| r[0].clone()).collect::<Vec<_>>();
    assert_eq!(keys(&shown), keys(&whole[0]), "rows are sorted by what they were");
    assert!(shown.iter().any(|r| r[1].is_none()), "{shown:?}");
    // A sum over groups sees each of them, and has noise of its own, which is less.
    assert_eq!(rows(&client, total).await.unwrap(), whole[1]);
    let of_sets = rows(&client, sets).await.unwrap();
    let last = of_sets.len() - 1;
    assert_eq!(of_sets[last], whole[2][last], "the total stays");
    assert!(of_sets.iter().take(last).any(|r| r[1].is_none()), "{of_sets:?}");
    assert_eq!(rows(&client, spent).await.unwrap(), left, "it costs nothing");
}

/// An average that can be most of its range says nothing, however small the range is beside it.
#[tokio::test(flavor = "multi_thread")]
async fn an_interval_of_all_that_there_is_says_nothing() {
    let world = World::new(&["ada"], &room_for(200)).await;
    let client = world.client("ada").await;
    client.batch_execute("SET noisegate.unsure = 'null'; SET noisegate.intervals = on").await.unwrap();
    // Nobody was born in 2005: the range is 90 years wide, and a year is some two thousand.
    let sql = "SELECT avg(birth_year) AS a FROM riders WHERE birth_year = 2005";
    assert_eq!(rows(&client, sql).await.unwrap()[0][0], None);
    client.batch_execute("SET noisegate.epsilon = 5").await.unwrap();
    let all = rows(&client, "SELECT avg(birth_year) AS a FROM riders").await.unwrap();
    assert!(number(&all[0][0]).is_some_and(|a| (a - 1969.0).abs() < 10.0), "{all:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn points_are_judged_by_the_counts_beside_them() {
    let world = World::new(&["ada"], &room_for(4000)).await;
    let client = world.client("ada").await;
    client.batch_execute("SET noisegate.unsure = 'null'; SET noisegate.epsilon = 20").await.unwrap();
    // Of no trip is it known that it began so early.
    let of = |rest: &str, when: &str| {
        format!("SELECT max(fare) AS top, median(fare) AS mid{rest} FROM trips WHERE started_at {when}")
    };
    for (when, there) in [(">= '2024-01-01'", true), ("< '2023-06-01'", false)] {
        let beside = rows(&client, &of(", count(*) AS n", when)).await.unwrap();
        assert!(beside[0][..2].iter().all(|cell| cell.is_some() == there), "{when}: {beside:?}");
        let alone = rows(&client, &of("", when)).await.unwrap();
        assert!(alone[0].iter().all(Option::is_some), "nobody can tell: {alone:?}");
    }
}

/// The ends of a median are choices of their own, and NULL where nobody knows what is cut.
#[tokio::test(flavor = "multi_thread")]
async fn quantiles_are_judged_by_their_ends() {
    for (more, known) in [("", false), ("max_total_rows = 10\ncut_rows = 0\n", true)] {
        let db = bikes().await;
        let text = policy(&db.backend_toml(), &["ada"], &room_for(4000));
        let dir = Workdir::new(&text.replacen("[table.trips]\n", &format!("[table.trips]\n{more}"), 1));
        let gate = dir.serve().await;
        let client = connect(&gate.url("ada", PASSWORD, "bikes")).await;
        client.batch_execute("SET noisegate.unsure = 'null'; SET noisegate.epsilon = 20").await.unwrap();
        client.batch_execute("SET noisegate.intervals = on").await.unwrap();
        for (when, there) in [(">= '2024-01-01'", true), ("< '2023-06-01'", false)] {
            let sql = format!("SELECT median(fare) AS mid FROM trips WHERE started_at {when}");
            let ends = rows(&client, &sql).await.unwrap();
            let [mid, low, high] = [0, 1, 2].map(|i| number(&ends[0][i]));
            assert_eq!(
                (mid.is_some(), low.is_some(), high.is_some()),
                (there || !known, known, known),
                "{sql}: {ends:?}"
            );
            let wide = low.zip(high).map(|(low, high)| high - low);
            assert!(mid.zip(wide).is_none_or(|(mid, wide)| wide <= mid.abs()), "{ends:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_and_one_notice_say_it() {
    let world = World::new(&["ada"], &room_for(200)).await;
    let script = "SET noisegate.unsure = 'null'; \
        SELECT count(*) AS n, mode() WITHIN GROUP (ORDER BY plan) AS most FROM riders; \
        EXPLAIN SELECT count(*) AS n, mode() WITHIN GROUP (ORDER BY plan) AS most FROM riders; \
        EXPLAIN SELECT DISTINCT count(*) AS n FROM riders; \
        SET noisegate.unsure = keep; SELECT count(*) AS n FROM riders;";
    let (out, told) = world.psql("ada", script).await;
    let said = "n is NULL where noise leaves nothing to see (noisegate.unsure = null); most is kept, since nobody knows an interval.";
    assert_eq!(told.matches(said).count(), 1, "{told}");
    assert_eq!(told.matches("noisegate.unsure").count(), 1, "{told}");
    assert!(out.contains(said), "{out}");
    assert!(out.contains("No value is judged by noisegate.unsure: n is kept"), "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_says_it_for_all_or_for_a_role() {
    let roles = "[answers]\nunsure = \"null\"\n[[role]]\nname = \"charts\"\nintervals = true\n[[role]]\nname = \"careful\"\nunsure = \"keep\"\n";
    let db = bikes().await;
    let mut text = policy(&db.backend_toml(), &["ada", "bo", "cy"], &format!("{}{roles}", room_for(400)));
    for (user, role) in [("bo", "charts"), ("cy", "careful")] {
        let name = format!("[[user]]\nname = \"{user}\"\n");
        assert!(text.contains(&name));
        text = text.replace(&name, &format!("{name}role = \"{role}\"\n"));
    }
    let dir = Workdir::new(&text);
    let gate = dir.serve().await;
    for (user, unsure, intervals) in [("ada", "null", "off"), ("bo", "null", "on"), ("cy", "keep", "off")] {
        let client = connect(&gate.url(user, PASSWORD, "bikes")).await;
        for (name, value) in [("unsure", unsure), ("intervals", intervals)] {
            let shown = rows(&client, &format!("SHOW noisegate.{name}")).await.unwrap();
            assert_eq!(shown, [[Some(value.to_owned())]], "{user}");
        }
        client.batch_execute("SET noisegate.intervals = on; RESET ALL").await.unwrap();
        let answer = rows(&client, "SELECT count(*) AS n FROM riders WHERE birth_year = 2005").await.unwrap();
        assert_eq!(answer[0].len(), if intervals == "on" { 3 } else { 1 }, "{user}: {answer:?}");
        // Of no rows a count with an error of some tens.
        assert_eq!(answer[0][0].is_none(), unsure == "null", "{user}: {answer:?}");
    }
}
