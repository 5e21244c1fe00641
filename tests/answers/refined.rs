//! `SET noisegate.accuracy = 'x %'`: how often each number lies as near to what it would be without noise as was asked for. The
//! price of the answer follows from small releases before it, so that no formula says it: it is asked a hundred times.

use crate::city::{PASSWORD, rows};
use crate::support::{Workdir, connect, database};

/// Groups of 8,000, 9,000, 10,000 and 13,000 people.
const PEOPLE: &str = "CREATE TABLE people (id int PRIMARY KEY, g text NOT NULL);
    INSERT INTO people SELECT i, CASE WHEN i <= 8000 THEN 'a' WHEN i <= 17000 THEN 'b' WHEN i <= 27000 THEN 'c' ELSE 'd' END
    FROM generate_series(1, 40000) AS i;";

const TRUTH: [(&str, f64); 4] = [("a", 8_000.0), ("b", 9_000.0), ("c", 10_000.0), ("d", 13_000.0)];

/// How many times each question is asked.
const TIMES: u32 = 110;

/// The policy of a session that may ask as often as it likes, and is answered anew each time.
fn policy(backend: &str, accounting: &str) -> String {
    let verifier = postgres_protocol::password::scram_sha_256(PASSWORD.as_bytes());
    format!(
        "[server]\nlisten = [\"127.0.0.1:0\"]\n{backend}[ledger]\nurl = \"sqlite:noisegate.db\"\n
        [[user]]\nname = \"ada\"\nscram = \"{verifier}\"\n
        [privacy]\nunit = \"people.id\"\n[statement]\nepsilon = 1\nmin_epsilon = 1e-6\n
        [[budget]]\nname = \"all\"\naccounting = \"{accounting}\"\nepsilon = 1000\ndelta = 1e-6\n
        [table.people]\nunit_column = \"id\"\ncolumns.g = {{ values = [\"a\", \"b\", \"c\", \"d\"] }}\n
        [cache]\nenabled = false\n"
    )
}

/// Of the smallest group and of the others, the share of numbers that lie within this part of the truth; and the share of all
/// whose intervals hold the truth.
async fn held(accounting: &str, confidence: f64, percent: f64) -> [f64; 3] {
    let db = database(PEOPLE).await;
    let work = Workdir::new(&policy(&db.backend_toml(), accounting));
    let gate = work.serve().await;
    let client = connect(&gate.url("ada", PASSWORD, "db")).await;
    let set = format!(
        "SET noisegate.accuracy = '{percent} %'; SET noisegate.confidence = {confidence}; SET noisegate.intervals = on"
    );
    client.batch_execute(&set).await.unwrap();
    let (mut inside, mut all) = ([0u32; 3], [0u32; 3]);
    for _ in 0..TIMES {
        let found = rows(&client, "SELECT g, count(*) FROM people GROUP BY g ORDER BY g").await.unwrap();
        for (row, (group, truth)) in found.iter().zip(TRUTH) {
            assert_eq!(row[0].as_deref(), Some(group));
            let n: f64 = row[1].as_deref().unwrap().parse().unwrap();
            let place = usize::from(group != "a");
            all[place] += 1;
            inside[place] += u32::from((n - truth).abs() <= truth * percent / 100.0);
            let [low, high] = [2, 3].map(|i| row[i].as_deref().unwrap().parse::<f64>().unwrap());
            all[2] += 1;
            inside[2] += u32::from((low..=high).contains(&truth));
        }
    }
    // It bought what was asked for, and not everything.
    let spent = "SELECT sum(epsilon)::float8 / count(*) FROM noisegate.history";
    let spent: f64 = rows(&client, spent).await.unwrap()[0][0].as_deref().unwrap().parse().unwrap();
    assert!(spent < 0.6, "{spent}");
    std::array::from_fn(|i| f64::from(inside[i]) / f64::from(all[i]))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relative_accuracy_holds_as_often_as_it_says() {
    for (accounting, confidence, percent) in [("approx", 0.95, 0.1), ("zcdp", 0.8, 0.1)] {
        let [smallest, others, intervals] = held(accounting, confidence, percent).await;
        println!(
            "{accounting}: {smallest} of the smallest, {others} of the others at {confidence}; intervals {intervals}"
        );
        // Five standard deviations of what chance does to so many numbers.
        let slack = |n: u32| 5.0 * (confidence * (1.0 - confidence) / f64::from(n)).sqrt();
        assert!(smallest >= confidence - slack(TIMES), "{accounting}: {smallest}");
        assert!(others >= confidence - slack(3 * TIMES), "{accounting}: {others}");
        assert!(intervals >= confidence - slack(4 * TIMES), "{accounting}: {intervals}");
        // The larger ones have the noise that the smallest needs.
        assert!(others >= smallest - slack(TIMES), "{accounting}: {others} and {smallest}");
        // Nor did it buy the next better accuracy: of twice the noise far fewer would lie inside.
        assert!(smallest < 1.0 || confidence > 0.9, "{accounting}: {smallest}");
    }
}
