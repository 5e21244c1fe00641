//! Intervals that hold the truth: what bounds cut is inside of them, whatever a statement groups by.
//!
//! Exact integers are those of the very fetches, noise is drawn for them many times, and profiles are drawn, too. What is
//! compared is the truth of the rows, and not the sum of what bounds leave of them.

use crate::bikes::Bikes;
use crate::bikes::testing::SeededRng;
use crate::support;
use noisegate::dp::profile::{BINS, ENDS, Histogram};
use noisegate::dp::{DiscreteGaussian, Distribution, Noise, Preference, Ratio, Sensitivity};
use noisegate::emit::fetch;
use noisegate::plan::noise::quantile::Quantile;
use noisegate::plan::{PartKind, explain};
use noisegate::policy::{Added, ByKey, Deviations, Measure, Measured};
use std::collections::HashMap;
use tokio_postgres::Client;

/// 10,000 patients, of whom half have one or two admissions, one in a hundred 38 and more, and nobody more than 70. Those who
/// have many come as emergencies more often, and to one ward most times.
const HOSPITAL: &str = "
    CREATE FUNCTION pick(a int, b int, salt text) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
        $$ SELECT (hashtextextended(salt, a::int8 * 1000 + b) & 1048575) / 1048576.0::float8 $$;
    CREATE TABLE patients (patient_id int PRIMARY KEY);
    INSERT INTO patients SELECT generate_series(1, 10000);
    CREATE TABLE admissions (patient_id int NOT NULL REFERENCES patients, admitted date NOT NULL,
        emergency bool NOT NULL, outcome text NOT NULL, ward int NOT NULL, cost int NOT NULL);
    INSERT INTO admissions
    SELECT p, date '2019-01-01' + (1826 * pick(p, i, 'day'))::int % 1826,
        pick(p, i, 'emergency') < CASE WHEN n > 16 THEN 0.3 ELSE 0.1 END,
        (ARRAY['home', 'transfer', 'died', 'left', 'other'])[1 + (5 * pick(p, i, 'outcome') ^ 2)::int % 5],
        1 + CASE WHEN pick(p, i, 'other ward') < 0.3 THEN (12 * pick(p, i, 'ward'))::int ELSE p END % 12,
        (100 / (0.01 + pick(p, i, 'cost')))::int
    FROM (SELECT p, CASE WHEN x < 0.39 THEN 1 WHEN x < 0.56 THEN 2 WHEN x < 0.66 THEN 3 WHEN x < 0.71 THEN 4
                WHEN x < 0.81 THEN 6 WHEN x < 0.86 THEN 8 WHEN x < 0.91 THEN 11 WHEN x < 0.93 THEN 15 WHEN x < 0.952 THEN 21
                WHEN x < 0.981 THEN 29 WHEN x < 0.994 THEN 40 WHEN x < 0.999 THEN 56 ELSE 70 END AS n
          FROM (SELECT p, pick(p, 0, 'rows') AS x FROM generate_series(1, 10000) AS p) AS u) AS u,
        generate_series(1, n) AS i;
    ANALYZE admissions;";

fn rules(accounting: &str) -> String {
    let delta = if accounting == "pure" { "" } else { "delta = 1e-6\n" };
    format!(
        "[privacy]\nunit = \"patients.patient_id\"\n[statement]\nepsilon = 0.1\n
         [[budget]]\nname = \"all\"\naccounting = \"{accounting}\"\nepsilon = 1000\n{delta}
         [table.patients]\nunit_column = \"patient_id\"\n
         [table.admissions]\nunit_column = \"patient_id\"\ncolumns.admitted = {{ range = [2019-01-01, 2023-12-31] }}
         columns.emergency = {{}}\ncolumns.outcome = {{ values = [\"home\", \"transfer\", \"died\", \"left\", \"other\"] }}
         columns.ward = {{ range = [1, 12] }}\ncolumns.cost = {{ range = [0, 10000] }}\n"
    )
}

/// Groupings of one total.
const GROUPINGS: [&str; 7] = [
    "SELECT count(*) AS n FROM admissions",
    "SELECT emergency AS k, count(*) AS n FROM admissions GROUP BY emergency",
    "SELECT outcome AS k, count(*) AS n FROM admissions GROUP BY outcome",
    "SELECT extract(year FROM admitted) AS k, count(*) AS n FROM admissions GROUP BY 1",
    "SELECT ward AS k, count(*) AS n FROM admissions GROUP BY ward",
    "SELECT date_trunc('month', admitted) AS k, count(*) AS n FROM admissions GROUP BY 1",
    "SELECT ward * 2 + emergency::int AS k, count(*) AS n FROM admissions GROUP BY 1",
];

/// The middle of costs, about which sums of them were measured.
const COST: i64 = 190;

/// Sums of costs and of what they differ from their middle, with the truth of the integer that is released: alone, and in groups
/// of a key that was measured, of parts of it, and of others.
const SUMS: [(&str, &str); 6] = [
    ("SELECT sum(cost) AS n FROM admissions", "SELECT sum(cost) AS n FROM admissions"),
    (
        "SELECT ward AS k, sum(cost) AS n FROM admissions GROUP BY ward",
        "SELECT ward AS k, sum(cost) AS n FROM admissions GROUP BY ward",
    ),
    (
        "SELECT avg(cost) AS n FROM admissions WHERE emergency",
        "SELECT sum(cost - 190) AS n FROM admissions WHERE emergency",
    ),
    (
        "SELECT ward AS k, avg(cost) AS n FROM admissions GROUP BY ward",
        "SELECT ward AS k, sum(cost - 190) AS n FROM admissions GROUP BY ward",
    ),
    (
        "SELECT ward * 2 + emergency::int AS k, avg(cost) AS n FROM admissions GROUP BY 1",
        "SELECT ward * 2 + emergency::int AS k, sum(cost - 190) AS n FROM admissions GROUP BY 1",
    ),
    (
        "SELECT outcome AS k, avg(cost) AS n FROM admissions GROUP BY 1",
        "SELECT outcome AS k, sum(cost - 190) AS n FROM admissions GROUP BY 1",
    ),
];

/// A hospital, and what was asked of it without noise.
struct Hospital {
    bikes: Bikes,
    client: Client,
    /// Items, and how many units are in each bin of them.
    items: Vec<(Measure, Vec<i64>)>,
    kept: HashMap<String, HashMap<String, f64>>,
    rng: SeededRng,
}

/// How often intervals held: those of totals, and those of groups.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    totals: u32,
    of: u32,
    groups: u32,
    of_groups: u32,
    /// Where nothing is said of what is cut.
    groups_without: u32,
}

impl Held {
    fn share(n: u32, of: u32) -> f64 {
        f64::from(n) / f64::from(of.max(1))
    }
}

impl Hospital {
    async fn new(accounting: &str) -> Self {
        let db = support::database(HOSPITAL).await;
        let client = db.superuser().await;
        client.batch_execute("SET TimeZone = 'UTC'").await.unwrap();
        let bikes = Bikes::over(db, &rules(accounting)).await;
        let sums = |about: i64, steps: u64| {
            let (about, grid) = (about.into(), 1.into());
            Added::Deviations(Deviations {
                column: "cost".into(),
                about,
                low: 0.into(),
                high: 10_000.into(),
                grid,
                steps,
            })
        };
        let ward = Some(ByKey { column: "ward".into(), to: None });
        let mut items = Vec::new();
        for (added, each, steps) in [
            (Added::Rows, "count(*)".to_owned(), 1),
            (sums(0, 1), "sum(cost)".to_owned(), 1),
            (sums(COST, 2), format!("sum(abs(cost - {COST}))"), 2),
        ] {
            for by in [None, ward.clone()] {
                let key = by.as_ref().map_or("1", |_| "ward");
                let norms = format!(
                    "SELECT ceil(sqrt(sum(n * n)) / {steps})::int8 FROM (SELECT patient_id, {key}, {each}::numeric AS n
                     FROM admissions GROUP BY 1, 2) AS g GROUP BY patient_id"
                );
                let mut histogram = vec![0; BINS];
                for row in client.query(&norms, &[]).await.unwrap() {
                    let n: i64 = row.get(0);
                    histogram[ENDS.iter().position(|end| *end >= n.unsigned_abs()).unwrap()] += 1;
                }
                items.push((Measure { added: added.clone(), by }, histogram));
            }
        }
        Self { bikes, client, items, kept: HashMap::new(), rng: SeededRng::new(33) }
    }

    /// Measures a profile anew, with Gaussian noise of this ε.
    fn profile(&mut self, epsilon: Ratio) {
        let variance = Ratio::from_integer(1) / (epsilon * epsilon);
        let noise = DiscreteGaussian::new(&variance).unwrap();
        let mut drawn = |n: &i64| n + i64::try_from(noise.sample(&mut self.rng).unwrap()).unwrap();
        let mut histogram = |(of, bins): &(Measure, Vec<i64>)| {
            let bins = bins.iter().map(&mut drawn).collect();
            (of.clone(), Histogram::new(bins, Distribution::Gaussian { variance }, epsilon).unwrap())
        };
        let items = self.items.iter().map(&mut histogram).collect();
        let policy = &mut self.bikes.policy;
        let table = policy.tables.iter().find(|t| t.name == "admissions").unwrap();
        let measured = Measured {
            schema: table.schema.clone(),
            table: table.name.clone(),
            owner: policy.owner(table).unwrap(),
            id: 1,
            measured: 0,
            valid_until: i64::MAX,
            items,
        };
        policy.with_profiles([&measured]);
    }

    /// Groups and their one number, of a text that has them as `k` and `column`.
    async fn numbers(&mut self, sql: &str, column: &str) -> HashMap<String, f64> {
        if let Some(kept) = self.kept.get(sql) {
            return kept.clone();
        }
        let key = if column == "n" { "k" } else { "k0" };
        let key = if sql.contains(&format!("AS {key}")) { format!("x.{key}::text") } else { "''".to_owned() };
        let text = format!("SELECT {key}, x.{column}::float8 FROM ({sql}) AS x");
        let found = self.client.query(&text, &[]).await.unwrap_or_else(|e| panic!("{e:?}: {text}"));
        let found: HashMap<String, f64> =
            found.iter().map(|r| (r.get::<_, Option<String>>(0).unwrap_or_default(), r.get(1))).collect();
        self.kept.insert(sql.to_owned(), found.clone());
        found
    }

    /// Draws the noise of a statement so often, and counts intervals that hold the truth.
    async fn held(&mut self, sql: &str, draws: usize) -> Held {
        self.held_of(sql, sql, draws).await
    }

    /// The same of the sum that a statement releases, or of its only integer.
    async fn held_of(&mut self, sql: &str, truth: &str, draws: usize) -> Held {
        let truth = self.numbers(truth, "n").await;
        let plan = self.bikes.plan(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        let [release] = plan.releases.as_slice() else { panic!("{sql}") };
        let text = fetch::fetch(release, &self.bikes.policy).sql;
        let sum = release.parts.iter().position(|p| matches!(p.kind, PartKind::Sum(_))).unwrap_or(0);
        let exact = self.numbers(&text, &format!("a{sum}")).await;
        assert!(truth.keys().all(|k| exact.contains_key(k)), "{truth:?} {exact:?}");
        let (noise, quantile) = (&release.spec.aggregates[sum], Quantile::of(950_000));
        let known = release.drawn().noise(sum);
        let half = |n: f64| quantile.half_width(known.variance * n, known.fourth * n, None);
        let groups = exact.len() as f64;
        // What units lose over groups, by the norm of the noise.
        let root =
            if matches!(noise.distribution, Distribution::Gaussian { .. }) { groups.sqrt() } else { 1.0 };
        let mut held = Held::default();
        let sampler = noise.sampler().unwrap();
        for _ in 0..draws {
            let drawn = sampler.draw(exact.len(), &mut self.rng).unwrap();
            let mut total = 0.0;
            for ((key, steps), drawn) in exact.iter().zip(drawn) {
                let told = noise.number(*steps as i128 + drawn) as f64;
                let truth = truth.get(key).copied().unwrap_or(0.0);
                let (low, high) = (told - half(1.0) - known.below, told + half(1.0) + known.above);
                held.groups += u32::from(low <= truth && truth <= high);
                held.groups_without += u32::from((truth - told).abs() <= half(1.0));
                held.of_groups += 1;
                total += told;
            }
            let truth: f64 = truth.values().sum();
            let (low, high) = (total - half(groups), total + half(groups) + root * known.above);
            held.totals += u32::from(low <= truth && truth <= high);
            held.of += 1;
        }
        held
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_total_whatever_the_grouping() {
    for accounting in ["zcdp", "pure"] {
        let mut hospital = Hospital::new(accounting).await;
        for sql in GROUPINGS {
            let mut all = Held::default();
            for _ in 0..10 {
                hospital.profile(Ratio::new(1, 10));
                let held = hospital.held(sql, 20).await;
                all = Held { totals: all.totals + held.totals, of: all.of + held.of, ..all };
            }
            // Of 200, three standard errors below 94 %.
            let share = Held::share(all.totals, all.of);
            assert!(share >= 0.89, "{accounting}, {sql}: {share}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn intervals_hold_the_truth() {
    for (accounting, epsilon) in [("zcdp", (1, 10)), ("zcdp", (1, 1)), ("pure", (1, 10)), ("pure", (1, 1))] {
        let mut hospital = Hospital::new(accounting).await;
        hospital.bikes.plan.epsilon = Ratio::new(epsilon.0, epsilon.1);
        for (sql, truth) in GROUPINGS.map(|sql| (sql, sql)).into_iter().chain(SUMS) {
            let (mut held, mut of) = (0, 0);
            for _ in 0..10 {
                hospital.profile(Ratio::new(1, 10));
                let one = hospital.held_of(sql, truth, 30).await;
                (held, of) = (held + one.groups, of + one.of_groups);
            }
            let share = Held::share(held, of);
            assert!(share >= 0.91, "{accounting}, {epsilon:?}, {sql}: {share}");
        }
    }
}

/// By groups of a key that was measured, averages err by a fraction of what rows times the range of their values would bring.
#[tokio::test(flavor = "multi_thread")]
async fn averages_do_not_drown() {
    let mut hospital = Hospital::new("zcdp").await;
    hospital.profile(Ratio::new(1, 10));
    let (sql, truth) = SUMS[3];
    let sigma = |plan: &noisegate::plan::Plan| {
        let release = &plan.releases[0];
        let sum = release.parts.iter().position(|p| matches!(p.kind, PartKind::Sum(_))).unwrap();
        (release.drawn().noise(sum).variance.sqrt(), release.parts[sum].own.clone())
    };
    let plan = hospital.bikes.plan(sql).await.unwrap();
    // Nor does a narrower range help them, which another value would have.
    let advice = |plan: &noisegate::plan::Plan| {
        let release = &plan.releases[0];
        let (aggregate, output) = &release.outputs[0];
        explain::narrower(aggregate, output, &release.parts, &plan.statement.bindings)
    };
    assert_eq!(advice(&plan), None);
    let (own, by) = sigma(&plan);
    assert_eq!(by.unwrap().item().unwrap().of.to_string(), format!("cost about {COST} by ward"));
    for table in &mut hospital.bikes.policy.tables {
        if let Some(profile) = &mut table.profile {
            profile.items.retain(|item| item.of == Measure::ROWS);
        }
    }
    let plan = hospital.bikes.plan(sql).await.unwrap();
    assert!(advice(&plan).is_some());
    let (rows, none) = sigma(&plan);
    assert!(none.is_none() && own * 8.0 < rows, "{own} {rows}: {truth}");
}

/// A profile that is too old chooses bounds, and says nothing of what they cut: of sums with norms of their own alone, too.
#[tokio::test(flavor = "multi_thread")]
async fn an_old_profile_says_nothing_of_sums() {
    let mut hospital = Hospital::new("zcdp").await;
    hospital.profile(Ratio::new(1, 10));
    let plan = hospital.bikes.plan(SUMS[0].0).await.unwrap();
    let release = &plan.releases[0];
    assert!(release.own_norms().count() == 1 && release.lost_rows().is_none());
    hospital.bikes.plan.day = 1;
    for table in &mut hospital.bikes.policy.tables {
        table.profile.iter_mut().for_each(|profile| profile.valid_until = 0);
    }
    let plan = hospital.bikes.plan(SUMS[0].0).await.unwrap();
    let release = &plan.releases[0];
    assert!(release.own_norms().count() == 1 && release.lost_rows().is_some_and(f64::is_nan));
    assert!(release.drawn().noise(0).above.is_nan());
}

/// Were what a bound cuts left out, most intervals would hold something else than the truth; the test above would find it.
#[tokio::test(flavor = "multi_thread")]
async fn an_interval_without_what_is_cut_is_caught() {
    let mut hospital = Hospital::new("zcdp").await;
    hospital.profile(Ratio::new(1, 10));
    // The session's bound, which cuts much.
    hospital.bikes.plan.chosen_rows = Some(8);
    for sql in [GROUPINGS[0], GROUPINGS[1], GROUPINGS[2]] {
        let held = hospital.held(sql, 100).await;
        let (with, without) =
            (Held::share(held.groups, held.of_groups), Held::share(held.groups_without, held.of_groups));
        assert!(with >= 0.94 && without < 0.5, "{sql}: {with} {without}");
    }
    // Without a profile nobody knows how much.
    for table in &mut hospital.bikes.policy.tables {
        table.profile = None;
    }
    let plan = hospital.bikes.plan(GROUPINGS[0]).await.unwrap();
    let noise = plan.releases[0].drawn().noise(0);
    assert!(noise.below == 0.0 && noise.above.is_nan());
}

/// A unit of 30, 20 and 10 rows in three groups, of which 16 count: as many 64ths of a row as the root of squares leaves, and the sum.
#[tokio::test(flavor = "multi_thread")]
async fn shares_are_those_of_the_design() {
    let db = support::database(
        "CREATE TABLE patients (patient_id int PRIMARY KEY); INSERT INTO patients VALUES (1);
         CREATE TABLE admissions (patient_id int NOT NULL REFERENCES patients, admitted date NOT NULL, emergency bool NOT NULL,
             outcome text NOT NULL, ward int NOT NULL, cost int NOT NULL);
         INSERT INTO admissions SELECT 1, '2020-01-01', true, o, 1, 1
         FROM (VALUES ('home', 30), ('died', 20), ('left', 10)) AS v(o, n), generate_series(1, n);",
    )
    .await;
    let client = db.superuser().await;
    let mut bikes = Bikes::over(db, &rules("zcdp")).await;
    bikes.plan.chosen_rows = Some(16);
    for (mechanism, expected) in
        [(Preference::Gaussian, [547, 821, 273]), (Preference::Laplace, [341, 512, 170])]
    {
        bikes.plan.mechanism = mechanism;
        let plan = bikes.plan("SELECT outcome, count(*) FROM admissions GROUP BY outcome").await.unwrap();
        let text = fetch::fetch(&plan.releases[0], &bikes.policy).sql;
        let text = format!("SELECT array_agg(x.a0::int8 ORDER BY x.k0) FROM ({text}) AS x WHERE x.a0 > 0");
        let shares: Vec<i64> = client.query_one(&text, &[]).await.unwrap().get(0);
        assert_eq!(shares, expected, "{mechanism:?}");
    }
}

#[test]
fn steps_are_rounded_to_the_nearest_row() {
    let noise = Noise { steps: 64, ..Noise::new(Sensitivity::of_one(64), Distribution::None) };
    for (steps, rows) in [(0, 0), (31, 0), (32, 1), (64, 1), (-32, 0), (-33, -1), (95, 1), (96, 2)] {
        assert_eq!(noise.number(steps), rows, "{steps}");
    }
}
