//! What is said beside an answer: errors that drown it, groups that are missing, and `noisegate.help`.

use crate::city::{PASSWORD, World};
use crate::support::connect;
use crate::usual::rules;
use noisegate::gateway::help::HELP;

const RULES: &str =
    rules!([epsilon = 1, delta = 1e-6, max_groups = 3, max_rows = 4] ["approx", epsilon = 1000, delta = 0.1]);

#[tokio::test(flavor = "multi_thread")]
async fn few_private_groups_are_explained() {
    let world = World::new(&["ada"], RULES).await;
    let (_, told) = world.psql("ada", "SELECT note, count(*) FROM trips GROUP BY note;").await;
    assert!(told.contains("no group passed: groups are private: the values of note do not follow"), "{told}");
    assert!(told.contains("is at least ") && told.contains("WHERE note IN ('a', 'b')"), "{told}");
    // The hint is right: groups of listed values are public, and nobody is told of a threshold.
    let (_, told) =
        world.psql("ada", "SELECT note, count(*) FROM trips WHERE note IN ('a', 'b') GROUP BY note;").await;
    assert!(!told.contains("passed"), "{told}");
    let (_, told) = world
        .psql("ada", "SET noisegate.notices = off; SELECT note, count(*) FROM trips GROUP BY note;")
        .await;
    assert_eq!(told, "");
    let (plan, _) =
        world.psql("ada", "EXPLAIN (VERBOSE) SELECT note, count(*) FROM trips GROUP BY note;").await;
    assert!(plan.contains("to make them public: WHERE note IN ('a', 'b')"), "{plan}");
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_below_their_error_are_told() {
    let world = World::new(&["ada"], RULES).await;
    let (_, told) = world.psql("ada", "SET noisegate.epsilon = 100; SELECT count(*) FROM riders;").await;
    assert!(!told.contains("smaller than the 95 % error"), "{told}");
    // One time in twenty noise is larger than the error that it stays within at 95 %.
    let in_one_of_six = async |sql: &str, says: &str| {
        let mut told = String::new();
        for _ in 0..6 {
            told = world.psql("ada", sql).await.1;
            if told.contains(says) {
                break;
            }
        }
        assert!(told.contains(says), "{sql}: {told}");
        told
    };
    let few = "SET noisegate.epsilon = 0.001; SELECT count(*), sum(fare) FROM trips WHERE minutes < 0;";
    let told = in_one_of_six(few, " is smaller than the 95 % error of ±").await;
    assert!(!told.contains("empty_groups"), "{told}");
    // The error of an average hangs on how many rows there are.
    let nowhere = "SELECT avg(CASE WHEN note = 'nowhere' THEN 1 ELSE 0 END) FROM trips";
    let nowhere = format!("SET noisegate.epsilon = 10; {nowhere};");
    in_one_of_six(&nowhere, "avg is smaller than its 95 % error of ±").await;
    // A narrower value helps most, and the hint says which; it can be asked.
    let small = "SELECT avg(fare) FROM trips WHERE minutes < 0";
    let told = in_one_of_six(&format!("SET noisegate.epsilon = 0.01; {small};"), "avg is smaller than").await;
    let narrower = "avg(least(greatest(fare, 0), 15))";
    assert!(told.contains(&format!("HINT:  Average a narrower value, if most are small: noise is that of values from 0 to 60, and {narrower}")), "{told}");
    let (_, told) = world.psql("ada", &format!("SELECT {narrower} FROM trips;")).await;
    assert!(!told.contains("ERROR"), "{told}");
    let (_, told) = world.psql("ada", "SET noisegate.epsilon = 100; SELECT avg(fare) FROM trips;").await;
    assert!(!told.contains("avg is smaller"), "{told}");
    let (_, told) = world.psql("ada", "SELECT count(DISTINCT note) FROM trips;").await;
    assert!(told.contains("at most 3 values of a unit count"), "{told}");
    // Years without trips: of three groups, one has rows.
    let years = "SELECT date_trunc('year', started_at), count(*) FROM trips GROUP BY 1";
    let told =
        in_one_of_six(&format!("{years};"), " of 3 values of count are smaller than the 95 % error of ±")
            .await;
    assert!(told.contains("SET noisegate.empty_groups = off"), "{told}");
}

/// An end of a distribution is told from inside, by as many rows as its noise may miss.
#[tokio::test(flavor = "multi_thread")]
async fn ends_leave_out_rows_and_say_how_many() {
    let world = World::new(&["ada"], RULES).await;
    let (_, told) = world.psql("ada", "SELECT max(minutes) FROM trips;").await;
    assert!(told.contains("max leaves out the rows at the end: up to "), "{told}");
    assert!(told.contains("such as percentile_cont(0.99) WITHIN GROUP (ORDER BY x)"), "{told}");
    let (_, told) =
        world.psql("ada", "SELECT plan, min(birth_year), max(birth_year) FROM riders GROUP BY plan;").await;
    assert!(told.contains("min and max leave out the rows at the end: up to "), "{told}");
    assert!(told.contains(" rows of a group lie beyond (95 %)"), "{told}");
    let hinted = "SELECT percentile_cont(0.99) WITHIN GROUP (ORDER BY minutes) FROM trips;";
    let (_, told) = world.psql("ada", hinted).await;
    assert!(!told.contains("ERROR") && !told.contains("at the end"), "{told}");
    assert!(told.contains("NOTICE:  percentile_cont lies within "), "{told}");
    assert!(told.contains(" rows of its rank (95 %)"), "{told}");
    // Where intervals say it in the value's own unit, nothing is said of ranks.
    let (_, told) = world.psql("ada", &format!("SET noisegate.intervals = on; {hinted}")).await;
    assert!(!told.contains("rank"), "{told}");
    // Beside counts it is known which groups are too small for it.
    let counted = "SELECT plan, count(*), max(birth_year), median(birth_year) FROM riders GROUP BY plan;";
    let (_, told) = world.psql("ada", &format!("SET noisegate.epsilon = 0.01; {counted}")).await;
    assert!(
        told.contains("; 3 of 3 groups have too few rows for that, and their values mean nothing"),
        "{told}"
    );
    let (_, told) = world.psql("ada", &format!("SET noisegate.epsilon = 50; {counted}")).await;
    assert!(told.contains("at the end") && !told.contains("mean nothing"), "{told}");
    assert!(told.contains("beyond (95 %); median lies within "), "{told}");
    // Nor has a table of which nobody knows how many rows its units have the noise that it could have.
    let drowned = "SET noisegate.epsilon = 0.001; SELECT station, avg(fare) FROM trips GROUP BY station;";
    let (_, told) = world.psql("ada", drowned).await;
    assert!(told.contains("Average a narrower value") && told.contains("noisegate profile)"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_that_cannot_be_told_from_empty_ones_may_be_left_out() {
    let world = World::new(&["ada"], RULES).await;
    let years = "SELECT extract(year FROM started_at) AS y, count(*) FROM trips WHERE fare > 0 AND fare < 60 GROUP BY 1 ORDER BY 1;";
    let (all, told) = world.psql("ada", &format!("SET noisegate.epsilon = 100; {years}")).await;
    assert!(all.contains("2023") && all.contains("2024") && all.contains("2025"), "{all}");
    assert!(!told.contains("leaves out"), "{told}");
    let (some, told) = world
        .psql("ada", &format!("SET noisegate.epsilon = 100; SET noisegate.empty_groups = off; {years}"))
        .await;
    assert!(some.contains("2024") && !some.contains("2023"), "{some}");
    assert!(told.contains("leaves out 1 group of 3") || told.contains("leaves out 2 groups of 3"), "{told}");
    // Without a count nothing says which are empty; one group is no group that could be left out.
    let sums = "SET noisegate.empty_groups = off; SELECT extract(year FROM started_at), sum(fare) FROM trips GROUP BY 1;";
    let (rows, told) = world.psql("ada", sums).await;
    assert!(rows.contains("2023") && told.contains("Select count(*), too"), "{rows}{told}");
    let (rows, told) = world
        .psql("ada", "SET noisegate.empty_groups = off; SELECT count(*) FROM trips WHERE minutes < 0;")
        .await;
    assert!(rows.contains("(1 row)") && !told.contains("leaves out"), "{rows}{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn help_is_there_for_whoever_has_no_documents() {
    let world = World::new(&["ada"], RULES).await;
    let (topics, told) = world.psql("ada", "SELECT DISTINCT topic FROM noisegate.help ORDER BY 1;").await;
    assert_eq!(told, "");
    for topic in
        ["start", "budget", "groups", "bounds", "joins", "settings", "intervals", "functions", "errors"]
    {
        assert!(topics.contains(topic), "{topics}");
    }
    let (all, told) = world.psql("ada", "SELECT * FROM noisegate.help;").await;
    assert!(all.contains("date_trunc('unit', t): date or timestamp") && told.is_empty(), "{all}");
    // The order of a topic's lines is theirs.
    let (groups, _) = world.psql("ada", "SELECT text FROM noisegate.help WHERE topic = 'groups';").await;
    let places: Vec<usize> = HELP
        .iter()
        .find(|(t, _)| *t == "groups")
        .unwrap()
        .1
        .iter()
        .map(|l| groups.find(l).unwrap())
        .collect();
    assert!(places.is_sorted());
    // Its examples are accepted, and so is what refusals send people to.
    let client = connect(&world.gate.url("ada", PASSWORD, "bikes")).await;
    let lines = HELP.iter().flat_map(|(_, lines)| *lines).flat_map(|line| line.split("; "));
    let examples: Vec<String> = lines
        .map(|l| l.split(": ").next().unwrap().split(" lists ").next().unwrap().trim_end_matches('.'))
        .filter(|l| {
            ["SELECT ", "SET ", "RESET ", "SHOW "].iter().any(|w| l.starts_with(w)) && !l.contains('…')
        })
        .map(|l| l.split(" leaves out ").next().unwrap().to_owned())
        .collect();
    assert!(examples.len() >= 8, "{examples:?}");
    for sql in examples {
        client.simple_query(&sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }
    for wrong in ["SELECT sum(asinh(fare)) FROM trips", "SELECT xmlagg(note) FROM trips"] {
        let e = client.simple_query(wrong).await.unwrap_err();
        let hint = e.as_db_error().unwrap().hint().unwrap_or_default().to_owned();
        assert!(hint.contains("noisegate.help"), "{wrong}: {hint}");
    }
}
