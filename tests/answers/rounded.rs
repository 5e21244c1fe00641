//! `noisegate.round`: numbers with noise are shown to the digit that their intervals support, and are computed with as they are.

use crate::city::{World, room_for, rows};
use std::cmp::Ordering;

/// As the document has it: of half a width the digit of 10^⌈log₁₀(3.55 / h)⌉.
fn digit(half: f64) -> i32 {
    (3.55 / half).log10().ceil() as i32
}

/// A number as text, to so many digits behind the point.
fn to_digit(x: f64, digit: i32) -> f64 {
    let unit = 10f64.powi(-digit);
    (x / unit).round() * unit
}

const NUMBERS: &str = "SELECT plan, avg(birth_year) AS a, avg(birth_year)::float8 AS f, \
    count(*) FILTER (WHERE birth_year < 1980) * 100.0 / count(*) AS share, stddev(birth_year)::float4 AS s, count(*) AS n \
    FROM riders GROUP BY plan ORDER BY plan";

#[tokio::test(flavor = "multi_thread")]
async fn numbers_are_shown_to_the_digit_that_their_intervals_support() {
    let world = World::new(&["ada"], &format!("{}[cache]\nenabled = true\n", room_for(200))).await;
    let client = world.client("ada").await;
    // Prices of all sizes, so that noise is.
    for epsilon in ["0.1", "0.7", "5"] {
        client
            .batch_execute(&format!(
                "SET noisegate.epsilon = {epsilon}; SET noisegate.intervals = on; SET noisegate.round = off"
            ))
            .await
            .unwrap();
        let whole = rows(&client, NUMBERS).await.unwrap();
        client.batch_execute("SET noisegate.round = on").await.unwrap();
        let ends = rows(&client, NUMBERS).await.unwrap();
        client.batch_execute("SET noisegate.intervals = off").await.unwrap();
        let shown = rows(&client, NUMBERS).await.unwrap();
        let number = |cell: &Option<String>| cell.as_deref().map(|c| c.parse::<f64>().unwrap());
        // Ends go out, by a tenth of the last digit that is shown at most.
        for (whole, rounded) in whole.iter().zip(&ends) {
            assert_eq!(whole[13..], rounded[13..], "ends of counts stay");
            for i in 0..4 {
                let of = |row: &[Option<String>], j: usize| number(&row[1 + 3 * i + j]);
                let (Some(low), Some(high)) = (of(whole, 1), of(whole, 2)) else { continue };
                let (shown_low, shown_high) = (of(rounded, 1).unwrap(), of(rounded, 2).unwrap());
                let most = 10f64.powi(-digit((high - low) / 2.0)) / 10.0 + 1e-9 * high.abs();
                assert!((0.0..=most).contains(&(low - shown_low)), "{low} is shown as {shown_low}");
                assert!((0.0..=most).contains(&(shown_high - high)), "{high} is shown as {shown_high}");
                let length = rounded[2 + 3 * i].as_ref().unwrap().len();
                assert!(length <= 9, "{:?}", rounded[2 + 3 * i]);
            }
        }
        for (whole, shown) in whole.iter().zip(&shown) {
            assert_eq!((&whole[0], &whole[13]), (&shown[0], &shown[5]), "keys and counts stay");
            for i in 0..4 {
                let [value, low, high] = [0, 1, 2].map(|j| number(&whole[1 + 3 * i + j]));
                let (Some(value), Some(low), Some(high)) = (value, low, high) else { continue };
                let digit = digit((high - low) / 2.0);
                let text = shown[1 + i].as_deref().unwrap();
                let expected = to_digit(value, digit);
                assert!(
                    (text.parse::<f64>().unwrap() - expected).abs() <= 1e-6 * expected.abs().max(1.0),
                    "{text} of {value} from {low} to {high}"
                );
                let behind = text.split_once('.').map_or(0, |(_, digits)| digits.len());
                assert!(
                    behind <= usize::try_from(digit.max(0)).unwrap(),
                    "{text} has more than {digit} digits"
                );
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_compared_sorted_and_computed_has_all_digits() {
    let world = World::new(&["ada"], &format!("{}[cache]\nenabled = true\n", room_for(200))).await;
    let client = world.client("ada").await;
    // So little noise that no average lies at an end of its range.
    client.batch_execute("SET noisegate.epsilon = 5").await.unwrap();
    let types = async |sql: &str| -> Vec<u32> {
        client.prepare(sql).await.unwrap().columns().iter().map(|c| c.type_().oid()).collect()
    };
    let by_size = "SELECT plan, avg(birth_year) AS a, sum(birth_year * 1.5) AS s FROM riders GROUP BY plan ORDER BY 3 DESC";
    let before = types(by_size).await;
    let whole = rows(&client, by_size).await.unwrap();
    let spent = "SELECT fraction_left FROM noisegate.budget";
    let left = rows(&client, spent).await.unwrap();
    client.batch_execute("SET noisegate.round = on").await.unwrap();
    assert_eq!(types(by_size).await, before);
    let shown = rows(&client, by_size).await.unwrap();
    let keys = |rows: &[Vec<Option<String>>]| rows.iter().map(|r| r[0].clone()).collect::<Vec<_>>();
    assert_eq!(keys(&shown), keys(&whole), "rows are sorted by what they were");
    assert_ne!(shown, whole);
    // A condition and an expression above see the number itself: the mean of what is shown would be another.
    let above =
        "SELECT avg(a)::float8 AS m FROM (SELECT plan, avg(birth_year) AS a FROM riders GROUP BY plan) t";
    let compared = format!("SELECT count(*) FROM ({by_size}) t WHERE a <> round(a, 3)");
    // A quotient by some noisy counts, such as 80, ends before.
    let longer = |row: &&Vec<Option<String>>| {
        let (_, behind) = row[1].as_deref().unwrap().split_once('.').unwrap_or_default();
        behind.chars().skip(3).any(|digit| digit != '0')
    };
    let longer = whole.iter().filter(longer).count();
    assert_eq!(rows(&client, &compared).await.unwrap(), [[Some(longer.to_string())]]);
    client.batch_execute("SET noisegate.round = off").await.unwrap();
    let mean: f64 = rows(&client, above).await.unwrap()[0][0].as_deref().unwrap().parse().unwrap();
    client.batch_execute("SET noisegate.round = on").await.unwrap();
    let rounded: f64 = rows(&client, above).await.unwrap()[0][0].as_deref().unwrap().parse().unwrap();
    assert!((mean - rounded).abs() <= mean / 10.0 && mean.total_cmp(&rounded) != Ordering::Equal);
    assert_eq!(rows(&client, spent).await.unwrap(), left, "digits cost nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_says_whether_sessions_begin_with_it() {
    let rules = format!("{}[answers]\nround = true\n", room_for(200));
    let world = World::new(&["ada"], &rules).await;
    let client = world.client("ada").await;
    let shown = rows(&client, "SHOW noisegate.round").await.unwrap();
    assert_eq!(shown, [[Some("on".to_owned())]]);
    client.batch_execute("SET noisegate.epsilon = 5").await.unwrap();
    let average = rows(&client, "SELECT avg(birth_year)::text, avg(birth_year) FROM riders").await.unwrap();
    let [text, number] = [0, 1].map(|i| average[0][i].clone().unwrap());
    assert!(text.len() > 12, "a text is no number: {text}");
    assert!(number.len() < 8, "{number}");
    client.batch_execute("SET noisegate.round = off").await.unwrap();
    let average = rows(&client, "SELECT avg(birth_year) FROM riders").await.unwrap();
    assert!(average[0][0].as_deref().unwrap().len() > 12);
}
