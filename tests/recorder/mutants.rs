//! The recorder fails where it should: wrong claims and broken fetches are caught.

use crate::data::{HOSTILE, Variant};
use crate::harness::{Claim, Lab, settings};

/// What a spoiled fetch, or claim, is caught by.
struct Bench {
    lab: Lab,
    sql: String,
    claim: Claim,
}

impl Bench {
    /// A statement of one release that passes as it is.
    async fn of(text: &str, dirty: bool) -> Self {
        let mut lab = Lab::new(Variant { dirty, nullable_unit: false, seed: 5 }).await;
        let planned = lab.plan(text, &settings(2, 3)).await.unwrap_or_else(|e| panic!("{text}: {e:?}"));
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
    assert_eq!(b.claim.linf, [3, 720, 1]);
    b.claims(|c| c.linf[0] -= 1, "changes by 3").await;
    b.claims(|c| c.linf[1] /= 2, "changes by 720").await;
    b.claims(|c| c.linf[2] = 0, "changes by 1").await;
    b.claims(|c| c.l0 -= 1, "groups change").await;
    b.texts("WHERE e.r <= 2", "", "groups change").await;
    b.texts("LEAST(e.n0, 3)", "e.n0", "changes by 100").await;
}

#[tokio::test]
async fn other_broken_fetches_are_caught() {
    // One row per unit: the clamp of the value is all there is.
    let b = Bench::of("SELECT sum(birth_year) FROM riders", true).await;
    let clamp =
        "CASE WHEN b0.\"birth_year\" IS NOT NULL THEN LEAST(GREATEST(b0.\"birth_year\", 1920), 2010) END";
    b.texts(clamp, "b0.\"birth_year\"", "").await;

    // Division by what may be zero.
    let b = Bench::of("SELECT sum(minutes / zero) FROM trips", false).await;
    b.texts("NULLIF(", "COALESCE(", "division by zero").await;

    // Public groups: all of them, once.
    let b = Bench::of("SELECT plan, count(*) FROM riders GROUP BY plan", false).await;
    assert!(b.claim.public && b.claim.l0 == 1);
    b.texts(
        "SELECT DISTINCT v.v FROM",
        "SELECT v.v FROM (VALUES (1), (2)) AS twice(n) CROSS JOIN",
        "comes back twice",
    )
    .await;

    // Private groups: their number of units.
    let b = Bench::of("SELECT city, count(*) FROM riders GROUP BY city", false).await;
    assert!(b.claim.selects && b.claim.l0 == 1);
    b.texts("pg_catalog.count(*) AS units", "2 * pg_catalog.count(*) AS units", "changes by 2").await;
    b.claims(|c| c.l0 = 0, "groups change").await;
}
