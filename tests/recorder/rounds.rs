//! Keys in rounds: whatever groups were selected before, of which these rows are in some, what one unit adds to the others keeps to
//! its norm, and to the weight by which the threshold was computed.

use crate::data::{HOSTILE, Variant};
use crate::harness::{Claim, Lab, settings};
use noisegate::dp::{Preference, ROUNDS};
use noisegate::plan::Settings;

const STATEMENTS: &[&str] = &[
    "SELECT DISTINCT note FROM trips",
    "SELECT short, note FROM trips WHERE minutes > 3 GROUP BY short, note",
    "SELECT fare FROM trips GROUP BY fare",
    "SELECT started_at FROM trips GROUP BY started_at",
    "SELECT DISTINCT s.city, t.zero, t.note FROM trips t LEFT JOIN stations s USING (station)",
    "SELECT upper(note) || zero FROM trips GROUP BY 1",
];

/// As a later round finds them: nothing was selected before, or every nth of the groups that there are.
fn left_out(text: &str, types: &[String], rows: &[String]) -> String {
    let mut out = text.to_owned();
    for (i, ty) in types.iter().enumerate() {
        let all: Vec<&str> = rows.iter().map(|row| row.split('\u{1f}').nth(i).unwrap()).collect();
        let array = format!("(ARRAY[{}]::{ty}[])", all.join(", "));
        let parameter = format!("${}::{ty}[]", i + 2);
        assert_eq!(out.matches(&parameter).count(), 1, "{parameter} in {text}");
        out = out.replace(&parameter, &array);
    }
    out
}

#[tokio::test]
async fn rounds_keep_to_the_norm_whatever_was_selected() {
    let units: Vec<i64> = (1..=HOSTILE).collect();
    let (mut recorded, mut fewer) = (0, 0);
    for (dirty, nullable_unit, seed) in [(false, false, 1), (true, true, 3)] {
        let mut lab = Lab::new(Variant { dirty, nullable_unit, tied: 0, seed }).await;
        for mechanism in [Preference::Laplace, Preference::Gaussian] {
            for groups in [3, 60] {
                for sql in STATEMENTS {
                    let settings = Settings { mechanism, ..settings(groups, 3) };
                    let planned = lab.plan(sql, &settings).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
                    let paying = lab.paying(&planned);
                    assert_eq!(paying.len(), ROUNDS, "{sql}");
                    let types: Vec<String> =
                        paying[0].0.keys.iter().map(|k| k.scalar.ty().sql_name()).collect();
                    let claim = Claim::of(paying[0].0);
                    lab.record(paying[0].1, &claim, &units).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
                    let all = lab.keys(paying[0].1, types.len()).await;
                    for nth in [1, 2, 3, usize::MAX] {
                        let rows: Vec<String> =
                            all.iter().step_by(nth).skip(usize::from(nth > 9)).cloned().collect();
                        let text = left_out(paying[1].1, &types, &rows);
                        let claim = Claim::of(paying[1].0);
                        lab.record(&text, &claim, &units)
                            .await
                            .unwrap_or_else(|e| panic!("{sql}: {e}\n{text}"));
                        let (whole, left) = (all.len(), lab.fetch(&text, &claim).await.unwrap().0.len());
                        // As many as units keep of so many, and none that was left out.
                        assert!(left <= whole - rows.len() || groups < 60, "{sql}: {left} of {whole}");
                        fewer += usize::from(left < whole);
                        let again = lab.keys(&text, types.len()).await;
                        assert!(again.iter().all(|key| !rows.contains(key)), "{sql}: {again:?}\n{text}");
                        recorded += 1;
                    }
                }
            }
        }
    }
    assert!(recorded > 180 && fewer > 100, "{recorded} recorded, {fewer} with groups left out");
}
