//! The recorder fails where it should: wrong claims and broken fetches are caught.

use crate::data::{HOSTILE, Variant};
use crate::harness::{Claim, Lab, settings};
use noisegate::dp::Preference;
use noisegate::plan::Settings;

/// What a spoiled fetch, or claim, is caught by.
struct Bench {
    lab: Lab,
    sql: String,
    claim: Claim,
}

impl Bench {
    /// A statement of one release that passes as it is.
    async fn of(text: &str, dirty: bool) -> Self {
        Self::bounded(text, dirty, 3).await
    }

    async fn bounded(text: &str, dirty: bool, max_rows: u32) -> Self {
        Self::with(text, dirty, &settings(2, max_rows)).await
    }

    async fn with(text: &str, dirty: bool, settings: &Settings) -> Self {
        let mut lab = Lab::new(Variant { dirty, nullable_unit: false, tied: 0, seed: 5 }).await;
        let planned = lab.plan(text, settings).await.unwrap_or_else(|e| panic!("{text}: {e:?}"));
        let paying = lab.paying(&planned);
        let [(release, sql)] = paying.as_slice() else { panic!("{} releases", paying.len()) };
        let (claim, sql) = (Claim::of(release), (*sql).to_owned());
        let bench = Self { lab, sql, claim };
        if let Err(e) = bench.run(&bench.sql, &bench.claim).await {
            panic!("{text} should pass: {e}\n{}", bench.sql);
        }
        bench
    }

    async fn run(&self, sql: &str, claim: &Claim) -> Result<(), String> {
        let units: Vec<i64> = (1..=HOSTILE).collect();
        self.lab.record(sql, claim, &units).await.map(|_| ())
    }

    async fn caught(&self, sql: &str, claim: &Claim, by: &str) {
        match self.run(sql, claim).await {
            Ok(()) => panic!("not caught ({by}): {claim:?}\n{sql}"),
            Err(e) => assert!(e.contains(by), "caught by {e:?} instead of {by:?}\n{sql}"),
        }
    }

    /// With another claim.
    async fn claims(&self, change: impl Fn(&mut Claim), by: &str) {
        let mut claim = self.claim.clone();
        change(&mut claim);
        self.caught(&self.sql, &claim, by).await;
    }

    /// With another text.
    async fn texts(&self, from: &str, to: &str, by: &str) {
        assert!(self.sql.contains(from), "{from:?} is not in {}", self.sql);
        self.caught(&self.sql.replace(from, to), &self.claim, by).await;
    }
}

#[tokio::test]
async fn wrong_claims_and_broken_fetches_are_caught() {
    let trips =
        "SELECT station, count(*), sum(minutes), count(DISTINCT rider_id) FROM trips GROUP BY station";
    let b = Bench::of(trips, false).await;
    // A sum is in steps of 1/64.
    assert_eq!(b.claim.linf, [3, 720 * 64, 1]);
    b.claims(|c| c.linf[0] -= 1, "changes by 3").await;
    b.claims(|c| c.linf[1] /= 2, "changes by 46080").await;
    b.claims(|c| c.linf[2] = 0, "changes by 1").await;
    b.claims(|c| c.l0 -= 1, "groups change").await;
    b.texts("WHERE e.r <= 2", "", "groups change").await;
    b.texts("LEAST(e.n0, 3)", "e.n0", "changes by 100").await;
}

/// Distinct values, of which no two units have one: a unit has few, and those of all groups count together.
#[tokio::test]
async fn values_that_are_not_bounded_are_caught() {
    for text in [
        "SELECT count(DISTINCT trip_id) FROM trips",
        "SELECT station, count(DISTINCT trip_id) FROM trips GROUP BY station",
    ] {
        let b = Bench::of(text, false).await;
        assert_eq!((b.claim.linf.as_slice(), b.claim.l0), (&[2][..], 1));
        b.claims(|c| c.all[0] -= 1, "add up to").await;
        b.claims(|c| c.linf[0] -= 1, "changes by").await;
        b.texts(" WHERE e.r <= 2", "", "changes by").await;
    }
    let sum =
        "SELECT station, sum(DISTINCT LEAST(GREATEST(trip_id, 0), 1000) + 59000) FROM trips GROUP BY station";
    let b = Bench::of(sum, false).await;
    assert_eq!((b.claim.linf.as_slice(), b.claim.l0), (&[120_000][..], 1));
    b.claims(|c| c.all[0] /= 2, "add up to").await;
    b.texts(" WHERE e.r <= 2", "", "changes by").await;
}

/// Rows that are spread over groups: by the sum of shares for Laplace noise, by their squares for Gaussian noise.
#[tokio::test]
async fn rows_that_are_spread_too_wide_are_caught() {
    let text = "SELECT station, sum(minutes) FROM trips GROUP BY station";
    let by = |mechanism| Settings { mechanism, ..settings(2, 3) };
    // Six in all, which may be in one group, in steps of 1/64.
    let most = 6 * 64 * 240;
    let b = Bench::with(text, false, &by(Preference::Laplace)).await;
    assert_eq!((b.claim.linf[0], b.claim.all[0]), (most, most));
    b.claims(|c| c.all[0] /= 4, "changes add up to").await;
    b.claims(|c| c.linf[0] /= 2, "changes by").await;
    b.texts("> 6 THEN", "> 6000 THEN", "changes by").await;
    b.texts("::pg_catalog.numeric * 384,", "::pg_catalog.numeric * 768,", "changes by").await;
    let b = Bench::with(text, false, &by(Preference::Gaussian)).await;
    assert_eq!((b.claim.linf[0], b.claim.all[0]), (most, most * most));
    b.claims(|c| c.all[0] /= 4, "squares add up to").await;
    b.texts("> 6::pg_catalog.int8 * 6 THEN", "> 6::pg_catalog.int8 * 600000 THEN", "changes by").await;
    b.texts("* 384::pg_catalog.float8 /", "* 543::pg_catalog.float8 /", "changes by").await;
}

/// An owner's bound on all rows of a unit is that of every grouping.
#[tokio::test]
async fn rows_above_an_owners_bound_are_caught() {
    let text = "SELECT surface, sum(km) FROM legs GROUP BY surface";
    let by = |mechanism| Settings { mechanism, ..settings(2, 3) };
    let most = 6 * 64 * 205;
    let b = Bench::with(text, false, &by(Preference::Laplace)).await;
    assert_eq!(b.claim.all[0], most);
    b.texts("::pg_catalog.numeric * 384,", "::pg_catalog.numeric * 448,", "changes add up to").await;
    let b = Bench::with(text, false, &by(Preference::Gaussian)).await;
    assert_eq!(b.claim.all[0], most * most);
    b.claims(|c| c.all[0] /= 4, "squares add up to").await;
    b.texts("> 6::pg_catalog.int8 * 6 THEN", "> 6::pg_catalog.int8 * 60000 THEN", "changes by").await;
    b.texts("* 384::pg_catalog.float8 /", "* 470::pg_catalog.float8 /", "squares add up to").await;
}

#[tokio::test]
async fn other_broken_fetches_are_caught() {
    // One row per unit: the clamp of the value is all there is.
    let b = Bench::of("SELECT sum(birth_year) FROM riders", true).await;
    let clamp =
        "pg_catalog.int8smaller(pg_catalog.int8larger((b0.\"birth_year\")::pg_catalog.int8, 1920), 2010)";
    b.texts(clamp, "b0.\"birth_year\"", "").await;

    // Division by what may be zero.
    let b = Bench::of("SELECT sum(minutes / zero) FROM trips", false).await;
    b.texts("NULLIF(", "COALESCE(", "division by zero").await;

    // Public groups: all of them, once.
    let b = Bench::of("SELECT plan, count(*) FROM riders GROUP BY plan", false).await;
    assert!(b.claim.public && b.claim.l0 == 1);
    b.texts(") AS x0(k)", ") AS x0(k) CROSS JOIN (VALUES (1), (2)) AS twice(n)", "comes back twice").await;

    // Private groups: their number of units.
    let b = Bench::of("SELECT city, count(*) FROM riders GROUP BY city", false).await;
    assert!(b.claim.selects && b.claim.l0 == 1);
    b.texts("pg_catalog.count(*) AS units", "2 * pg_catalog.count(*) AS units", "changes by 2").await;
    b.claims(|c| c.l0 = 0, "groups change").await;
}

/// Rows of different units meet as soon as the equality of units is gone, and one unit then decides over all others.
#[tokio::test]
async fn joins_without_the_units_equality_are_caught() {
    // Trip 1 is unit 2's: without the tie, every rider is matched by it.
    let b = Bench::of("SELECT count(t.minutes) FROM riders r LEFT JOIN trips t ON t.rider_id = r.rider_id AND t.trip_id = 1", false).await;
    b.texts("(b1.\"rider_id\" = b0.\"rider_id\") AND ", "", "changes by 60").await;

    let b = Bench::of(
        "SELECT count(*) FROM riders r, trips t WHERE t.rider_id = r.rider_id AND t.trip_id = 1",
        false,
    )
    .await;
    let whole = b.sql.clone();
    let without = whole.replace(
        "JOIN \"public\".\"trips\" AS b1 ON (b0.\"rider_id\" = b1.\"rider_id\")",
        "CROSS JOIN \"public\".\"trips\" AS b1",
    );
    assert_ne!(whole, without);
    b.caught(&without.replace("(b1.\"rider_id\" = b0.\"rider_id\") AND ", ""), &b.claim, "changes by 60")
        .await;
    // The tie in ON holds alone: what the statement says in WHERE only made it safe to add.
    b.run(&whole.replace("(b1.\"rider_id\" = b0.\"rider_id\") AND ", ""), &b.claim).await.unwrap();

    let b = Bench::of(
        "SELECT count(x.n) FROM trips t FULL JOIN slots x ON x.rider_id = t.rider_id AND t.trip_id = 1",
        false,
    )
    .await;
    b.texts("(b1.\"rider_id\" = b0.\"rider_id\") AND ", "b1.\"n\" = b0.\"zero\" AND ", "changes by ").await;
}

#[tokio::test]
async fn subqueries_without_a_tie_are_caught() {
    for (text, by) in [
        (
            "SELECT count(*) FROM riders r WHERE EXISTS (SELECT 1 FROM trips u WHERE u.rider_id = r.rider_id AND u.trip_id = 1)",
            "changes by 60",
        ),
        (
            "SELECT count(*) FROM riders r WHERE NOT EXISTS (SELECT 1 FROM trips u WHERE u.rider_id = r.rider_id AND u.trip_id = 1)",
            "changes by 59",
        ),
    ] {
        let b = Bench::of(text, false).await;
        b.texts("(b1.\"rider_id\" = b0.\"rider_id\") AND ", "", by).await;
    }
    let b = Bench::of(
        "SELECT count(*) FROM legs l WHERE l.trip_id IN (SELECT u.trip_id FROM trips u WHERE u.trip_id = 1)",
        false,
    )
    .await;
    b.texts(
        "(b1.\"trip_id\" = 1)",
        "(b1.\"trip_id\" = 1) OR EXISTS (SELECT FROM public.trips z WHERE z.trip_id = 1)",
        "changes by ",
    )
    .await;
}

/// A step that is no key gives a row to many units, and each of them a part of the others' rows.
#[tokio::test]
async fn a_path_without_a_key_is_caught() {
    let b = Bench::of("SELECT count(*) FROM legs l", false).await;
    b.texts("b0.\"trip_id\" = b1.\"trip_id\"", "b0.\"trip_id\" = 4 AND b1.\"zero\" <> 0", "changes by ")
        .await;
    let b = Bench::bounded("SELECT count(*), sum(z) FROM marks m", false, 10).await;
    assert_eq!(b.claim.linf, [10, 100], "five slots with two marks each");
    b.texts("(b0.\"slot\" = b1.\"n\")", "true", "changes by ").await;
}

/// Rows that a join multiplies are counted, or a key proves how many there are.
#[tokio::test]
async fn rows_that_a_join_multiplies_are_caught() {
    let b =
        Bench::of("SELECT count(*) FROM riders r LEFT JOIN trips t ON t.rider_id = r.rider_id", false).await;
    b.texts("LEAST(c.n0, 6)", "c.n0", "changes by 100").await;
    let b = Bench::bounded("SELECT count(*) FROM riders r JOIN slots x USING (rider_id)", false, 30).await;
    assert_eq!(b.claim.linf, [5]);
    b.claims(|c| c.linf[0] = 1, "changes by 5").await;
    let b = Bench::bounded("SELECT count(*) FROM slots x JOIN slots y USING (rider_id)", false, 30).await;
    assert_eq!(b.claim.linf, [25]);
    b.claims(|c| c.linf[0] = 24, "changes by 25").await;
    let b = Bench::bounded(
        "SELECT count(*) FROM slots x FULL JOIN slots y ON x.rider_id = y.rider_id AND x.n = y.n + 9",
        false,
        30,
    )
    .await;
    b.claims(|c| c.linf[0] = 9, "changes by 10").await;
    let b = Bench::bounded(
        "SELECT count(*) FROM (SELECT rider_id FROM riders UNION ALL SELECT rider_id FROM slots) q",
        false,
        30,
    )
    .await;
    assert_eq!(b.claim.linf, [6]);
    b.claims(|c| c.linf[0] = 5, "changes by 6").await;
}

/// A public row that bears a unit's number, and is taken for one of that unit's.
#[tokio::test]
async fn public_rows_of_a_unit_are_caught() {
    let b = Bench::bounded("SELECT avg(n) FROM (SELECT rider_id AS u, minutes AS n FROM trips UNION ALL SELECT capacity, capacity FROM stations) q", false, 3).await;
    let private = "FROM \"public\".\"trips\" AS b";
    assert!(!b.sql.contains("stations"), "{}", b.sql);
    b.texts(
        private,
        "FROM (SELECT rider_id, minutes FROM \"public\".\"trips\" UNION ALL SELECT g, 0 FROM generate_series(1, 60) g, generate_series(1, 3)) AS b",
        "changes by ",
    )
    .await;
}

/// A set operation that compares rows of different units.
#[tokio::test]
async fn set_operations_across_units_are_caught() {
    let b = Bench::bounded("SELECT count(*) FROM (SELECT rider_id AS u, n FROM slots EXCEPT SELECT rider_id, 7 FROM trips WHERE trip_id = 1) q WHERE n = 2", false, 9).await;
    b.texts(
        "EXCEPT (SELECT b1.\"rider_id\", (7)::pg_catalog.int8 FROM",
        "EXCEPT (SELECT g.g, 2 FROM generate_series(1, 60) g(g), \"public\".\"trips\" AS b9 WHERE b9.trip_id = 1) EXCEPT (SELECT b1.\"rider_id\", (7)::pg_catalog.int8 FROM",
        "changes by ",
    )
    .await;
}

/// Weights of a unit over its groups, by their sum and by their squares.
#[tokio::test]
async fn weights_that_add_up_to_more_are_caught() {
    for (mechanism, by) in
        [(Preference::Laplace, "changes add up to"), (Preference::Gaussian, "squares add up to")]
    {
        let settings = Settings { mechanism, ..settings(4, 3) };
        let mut lab = Lab::new(Variant { dirty: false, nullable_unit: false, tied: 0, seed: 5 }).await;
        let planned = lab.plan("SELECT note FROM trips GROUP BY note", &settings).await.unwrap();
        let (release, sql) = lab.paying(&planned)[0];
        let (claim, sql) = (Claim::of(release), sql.to_owned());
        let b = Bench { lab, sql, claim };
        b.run(&b.sql, &b.claim).await.unwrap();
        b.texts("LEAST(e.t, 4)", "1", by).await;
        b.texts("LEAST(e.t, 4)", "LEAST(e.t, 3)", by).await;
        b.texts("(PARTITION BY c.u)", "(PARTITION BY c.u, c.k0)", by).await;
        b.texts("WHERE e.r <= 4", "", "groups change").await;
        b.claims(|c| c.l0 -= 1, "groups change").await;
    }
}
