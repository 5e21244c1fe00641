//! Units of few rows, told from others: where the line is drawn, at most at the bound, changes no integer of a fetch. With all units
//! above it, each has groups of its own.

use crate::data::Variant;
use crate::harness::{Claim, Lab, settings};
use noisegate::dp::Preference;
use noisegate::plan::Settings;

/// Statements about all rows of a table: of listed groups, of as many as a public table or a calendar has, and of points.
const STATEMENTS: &[&str] = &[
    "SELECT station, count(*), count(note), sum(minutes) FROM trips GROUP BY station",
    "SELECT station, count(*), sum(minutes) FROM trips WHERE minutes BETWEEN 5 AND 200 GROUP BY station",
    "SELECT extract(quarter FROM started_at), count(*), sum(fare), avg(minutes) FROM trips GROUP BY 1",
    "SELECT date_trunc('month', started_at), count(*), avg(fare) FROM trips GROUP BY 1",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY minutes) FROM trips",
];

#[tokio::test]
async fn light_units_are_added_up_as_they_were() {
    let (mut told, mut scaled) = (0, 0);
    for (dirty, nullable_unit, seed) in [(false, false, 1), (true, true, 3)] {
        let mut lab = Lab::new(Variant { dirty, nullable_unit, tied: 0, seed }).await;
        for mechanism in [Preference::Laplace, Preference::Gaussian] {
            for (groups, rows) in [(2, 16), (1, 30), (1, 20)] {
                for sql in STATEMENTS {
                    let settings = Settings { mechanism, ..settings(groups, rows) };
                    let Ok(planned) = lab.plan(sql, &settings).await else { panic!("{sql}") };
                    for (release, text) in lab.paying(&planned) {
                        let Some(most) = release.light() else { continue };
                        told += 1;
                        let line = format!("AND h.n > {most} ");
                        assert_eq!(text.matches(&line).count(), 1, "{text}");
                        let claim = Claim::of(release);
                        let mut answers = Vec::new();
                        for n in [most, 0, 1, most / 2, 1000] {
                            let text = text.replace(&line, &format!("AND h.n > {n} "));
                            answers.push(
                                lab.fetch(&text, &claim).await.unwrap_or_else(|e| panic!("{text}\n{e}")).0,
                            );
                        }
                        let beyond = answers.pop();
                        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{sql}\n{text}");
                        scaled += u32::from(beyond != answers.pop());
                    }
                }
            }
        }
    }
    assert!(told >= 40 && scaled >= 24, "{told} texts tell light units, and {scaled} scale others");
}
