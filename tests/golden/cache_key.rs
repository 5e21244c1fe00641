//! Keys of questions: the same for the same question in other words, another for every other question.

use noisegate::dp::{Preference, Ratio};
use noisegate::plan::{self, Plan};
use noisegate::policy::{self, Limits, Policy};
use noisegate::sql::{self, Kind};
use noisegate::store::{Epoch, KeyContext, Keys, canonical};
use proptest::prelude::*;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

pub fn policy() -> &'static Policy {
    static POLICY: OnceLock<Policy> = OnceLock::new();
    POLICY.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let schema = std::fs::read_to_string(root.join("tests/policy/schema.json")).unwrap();
        let text = std::fs::read_to_string(root.join("config/bikes.toml")).unwrap();
        let raw = policy::parse(&text, "bikes.toml", root).unwrap_or_else(|e| panic!("{e}"));
        raw.check(&serde_json::from_str(&schema).unwrap()).unwrap_or_else(|e| panic!("{e}"))
    })
}

pub fn usual() -> plan::Settings {
    plan::Settings::new(Ratio::new(1, 10), Ratio::new(1, 1_000_000_000), 4, 8)
}

pub fn planned(sql: &str, settings: &plan::Settings) -> Plan {
    let limits = Limits::default();
    let parsed = sql::parse::parse(sql, &limits).unwrap().pop().unwrap();
    let Kind::Query(query, lines) = sql::classify(parsed).unwrap().kind else { panic!("{sql}") };
    let mut statement =
        sql::resolve::resolve(&query, &lines, policy(), &limits).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let stations = policy().tables.iter().position(|t| t.name == "stations").unwrap();
    let sizes = [(plan::Size::Distinct(stations, "station".to_owned()), 10)].into();
    plan::plan(&mut statement, policy(), settings, &sizes).unwrap_or_else(|e| panic!("{sql}: {e:?}"))
}

/// What a key depends on beside the statement.
struct Where {
    plan: plan::Settings,
    role: Option<&'static str>,
    epoch: Epoch,
    version: [u8; 32],
}

fn here() -> Where {
    Where {
        plan: usual(),
        role: None,
        epoch: Epoch::at(0, Some(Duration::from_secs(86_400)), 0),
        version: [1; 32],
    }
}

fn keys_in(sql: &str, place: &Where) -> Vec<Keys> {
    let plan = planned(sql, &place.plan);
    let mut policy = policy().clone();
    policy.version = place.version;
    let around = KeyContext {
        database: "database 16384 of system 7",
        policy: &policy,
        epoch: &place.epoch,
        role: place.role,
        delta: &place.plan.delta,
        mechanism: place.plan.mechanism,
        given: &[],
        without: &[],
        within: None,
    };
    let keys = plan.releases.iter().map(|r| Keys::of(&canonical(r), &r.spec, &around));
    keys.collect()
}

fn keys(sql: &str) -> Keys {
    let mut all = keys_in(sql, &here());
    assert_eq!(all.len(), 1, "{sql}");
    all.remove(0)
}

#[test]
fn the_same_question_in_other_words() {
    for same in [
        &[
            "SELECT plan, count(*) FROM riders GROUP BY plan",
            "select count( * ) as n, r.plan p from riders as r group by 2 -- a comment",
            "SELECT plan FROM riders GROUP BY plan HAVING count(*) > 5 ORDER BY count(*) DESC LIMIT 3",
            "SELECT x.k, x.n + 1 FROM (SELECT plan AS k, count(1) AS n FROM riders GROUP BY 1) x WHERE x.n > 2",
            "WITH t AS (SELECT plan FROM riders) SELECT plan, 100.0 * count(*) FROM t GROUP BY plan",
        ][..],
        &[
            "SELECT plan, birth_year > 1980, count(*), sum(birth_year) FROM riders GROUP BY plan, birth_year > 1980",
            "SELECT sum(birth_year), count(*) FROM riders GROUP BY 1980 < birth_year, plan",
        ],
        &[
            "SELECT count(*) FROM riders r JOIN trips t ON r.rider_id = t.rider_id WHERE r.plan = 'day' AND t.fare > 3",
            "SELECT count(*) FROM riders r JOIN trips t ON t.rider_id = r.rider_id AND t.fare > 3.0 AND r.plan = 'day'",
            "SELECT count(*) FROM riders r JOIN (SELECT * FROM trips WHERE fare > 3) t ON r.rider_id = t.rider_id WHERE r.plan = 'day'",
            "SELECT count(*) FROM riders r, trips t WHERE 'day' = r.plan AND 3 < t.fare AND r.rider_id = t.rider_id",
            "SELECT count(*) FROM trips JOIN riders USING (rider_id) WHERE plan IN ('day') AND fare > 3",
        ],
        &[
            "SELECT count(*) FROM trips WHERE station IN ('a', 'b', 'c')",
            "SELECT count(*) FROM trips WHERE station IN ('c', 'a', 'b', 'a')",
            "SELECT count(*) FROM trips WHERE NOT station NOT IN ('b', 'c', 'a')",
        ],
        &[
            "SELECT count(*) FROM riders WHERE EXISTS (SELECT 1 FROM trips t WHERE t.rider_id = riders.rider_id AND t.fare > 3 AND t.minutes < 9)",
            "SELECT count(*) FROM riders r WHERE EXISTS (SELECT 1 FROM trips WHERE 9 > minutes AND NOT fare <= 3 AND r.rider_id = trips.rider_id)",
        ],
        &[
            "SELECT sum(fare * minutes) FROM trips WHERE fare + minutes > 3",
            "SELECT sum(minutes * fare) FROM trips WHERE 3 < minutes + fare",
        ],
        &[
            "SELECT avg(fare) FROM trips",
            "SELECT round(avg(fare), 2), avg(fare) IS NULL, avg(fare) * 2 FROM trips",
        ],
    ] {
        let first = keys(same[0]);
        for other in &same[1..] {
            let other_keys = keys(other);
            assert_eq!(other_keys.exact, first.exact, "{}\n{other}", same[0]);
            assert_eq!((other_keys.like, other_keys.statement), (first.like, first.statement));
        }
    }
}

#[test]
fn other_questions_have_other_keys() {
    let all = [
        "SELECT count(*) FROM riders",
        "SELECT count(*) FROM riders WHERE plan = 'day'",
        "SELECT count(*) FROM riders WHERE plan <> 'day'",
        "SELECT count(*) FROM riders WHERE plan IS NULL",
        "SELECT count(*) FROM riders WHERE plan IS NOT NULL",
        "SELECT count(*) FROM riders WHERE plan = 'month'",
        "SELECT count(*) FROM riders WHERE plan LIKE 'day'",
        "SELECT count(*) FROM riders WHERE plan ILIKE 'day'",
        "SELECT count(*) FROM riders WHERE plan = 'day' OR birth_year > 1980",
        "SELECT count(*) FROM riders WHERE plan = 'day' AND birth_year > 1980",
        "SELECT count(*) FROM riders WHERE (plan = 'day') = (birth_year > 1980)",
        "SELECT count(*) FROM riders WHERE birth_year > 1980",
        "SELECT count(*) FROM riders WHERE birth_year >= 1980",
        "SELECT count(*) FROM riders WHERE birth_year < 1980",
        "SELECT count(*) FROM riders WHERE birth_year - 1980 > 3",
        "SELECT count(*) FROM riders WHERE 1980 - birth_year > 3",
        "SELECT count(*) FROM riders GROUP BY plan",
        "SELECT count(*) FROM riders GROUP BY city",
        "SELECT count(birth_year) FROM riders",
        "SELECT sum(birth_year) FROM riders",
        "SELECT avg(birth_year) FROM riders",
        "SELECT sum(birth_year) FILTER (WHERE plan = 'day') FROM riders",
        "SELECT sum(LEAST(birth_year, 2000)) FROM riders",
        "SELECT count(DISTINCT rider_id) FROM trips",
        "SELECT count(*) FROM trips",
        "SELECT count(*) FROM payments",
        "SELECT count(*) FROM riders JOIN trips USING (rider_id)",
        "SELECT count(*) FROM riders LEFT JOIN trips USING (rider_id)",
        "SELECT count(*) FROM trips LEFT JOIN riders USING (rider_id)",
        "SELECT count(*) FROM riders LEFT JOIN trips ON riders.rider_id = trips.rider_id AND fare > 3",
        "SELECT count(*) FROM riders LEFT JOIN trips ON riders.rider_id = trips.rider_id WHERE fare > 3",
        "SELECT count(*) FROM trips a JOIN trips b ON a.rider_id = b.rider_id AND a.fare < b.fare",
        "SELECT count(*) FROM trips a JOIN trips b ON a.rider_id = b.rider_id AND a.fare < b.minutes",
        "SELECT count(*) FROM riders r WHERE EXISTS (SELECT 1 FROM trips t WHERE t.rider_id = r.rider_id)",
        "SELECT count(*) FROM riders r WHERE NOT EXISTS (SELECT 1 FROM trips t WHERE t.rider_id = r.rider_id)",
        "SELECT count(*) FROM trips WHERE station IN ('a', 'b')",
        "SELECT count(*) FROM trips WHERE station NOT IN ('a', 'b')",
        "SELECT count(*) FROM trips WHERE station IN ('a', 'b', NULL)",
        "SELECT sum(fare) FROM trips",
        "SELECT sum(-fare) FROM trips",
        "SELECT sum(fare - minutes) FROM trips",
        "SELECT sum(minutes - fare) FROM trips",
        "SELECT sum(CASE WHEN minutes > 9 THEN fare END) FROM trips",
        "SELECT sum(CASE WHEN minutes > 9 THEN fare ELSE 0 END) FROM trips",
        "SELECT count(*) FROM trips GROUP BY date_trunc('month', started_at)",
        "SELECT count(*) FROM trips GROUP BY date_trunc('year', started_at)",
        "SELECT count(*) FROM trips GROUP BY extract(month FROM started_at)",
        "SELECT count(*), sum(fare) FROM trips",
    ];
    let keys: Vec<_> = all.iter().map(|sql| keys(sql)).collect();
    for (i, a) in keys.iter().enumerate() {
        for (j, b) in keys.iter().enumerate().skip(i + 1) {
            assert_ne!(a.exact, b.exact, "{}\n{}", all[i], all[j]);
            assert_ne!(a.statement, b.statement, "{}\n{}", all[i], all[j]);
        }
    }
}

/// Keys of one statement in another place; whether they are those of [`here`].
fn same(sql: &str, change: impl FnOnce(&mut Where)) -> bool {
    let mut place = here();
    change(&mut place);
    keys_in(sql, &place)[0].exact == keys_in(sql, &here())[0].exact
}

#[test]
fn what_an_answer_depends_on_is_in_its_key_and_nothing_else() {
    let (count, months) =
        ("SELECT count(*) FROM trips", "SELECT count(*) FROM trips GROUP BY date_trunc('month', started_at)");
    let cities = "SELECT count(*) FROM riders GROUP BY city";
    for sql in [count, months, cities] {
        assert!(same(sql, |_| ()));
        assert!(!same(sql, |w| w.plan.epsilon = Ratio::new(1, 5)));
        assert!(!same(sql, |w| w.role = Some("research")));
        assert!(!same(sql, |w| w.version = [2; 32]));
        assert!(!same(sql, |w| w.epoch = Epoch::at(0, Some(Duration::from_secs(86_400)), 1)));
        assert!(!same(sql, |w| w.epoch = Epoch::at(0, None, 0)));
    }
    assert!(!same(count, |w| w.plan.chosen_rows = Some(2)), "the table's bound is overruled");
    assert!(same(count, |w| w.plan.max_rows = 9), "the table has a bound of its own");
    assert!(
        same(count, |w| w.plan.max_groups = 9) && !same(cities, |w| w.plan.delta = Ratio::new(1, 1_000_000))
    );
    assert!(same(count, |w| w.plan.delta = Ratio::new(1, 1_000_000)));
    assert!(same(months, |w| w.plan.max_groups = 9), "the bound on all rows is less");
    let hours = "SELECT count(*) FROM trips WHERE extract(hour FROM started_at::timestamptz) = 8";
    let tokyo = |w: &mut Where| w.plan.zone = "Asia/Tokyo".into();
    assert!(same(count, tokyo) && same(cities, tokyo) && same(months, tokyo), "no clock is looked at");
    assert!(!same(hours, tokyo));
    // Asking by name for the noise that is taken anyway.
    assert!(same(count, |w| w.plan.mechanism = Preference::Laplace));
    assert!(
        keys_in(count, &Where { role: Some(""), ..here() })[0] != keys(count),
        "a role without a name is a role"
    );
}

#[test]
fn averages_may_take_sums_at_the_same_price() {
    let (avg, sum) = (keys("SELECT avg(fare) FROM trips"), keys("SELECT sum(fare) FROM trips"));
    assert_eq!(avg.like, sum.like);
    let plain: Vec<_> = avg.parts.iter().filter_map(|p| p.plain).collect();
    assert_eq!(plain, [sum.parts[0].key]);
    assert_eq!(sum.parts[0].plain, None);
    // Of a sum with its count the parts are those of the average, with other shares of the price.
    let mut both = keys("SELECT sum(fare), count(fare) FROM trips");
    assert!(avg.like == both.like && avg.exact != both.exact);
    both.parts.sort_by_key(|p| avg.parts.iter().position(|a| a.key == p.key));
    assert_eq!(both.parts, avg.parts);
    let dearer = &keys_in("SELECT avg(fare) FROM trips", &{
        let mut place = here();
        place.plan.epsilon = Ratio::new(1, 5);
        place
    })[0];
    assert!(dearer.like != avg.like && dearer.parts == avg.parts && dearer.statement == avg.statement);
}

/// A condition over riders.
#[derive(Clone, Debug)]
enum P {
    Year(&'static str, i32),
    YearBetween(i32, i32),
    YearIn(Vec<i32>),
    YearNull,
    Plan(&'static str),
    PlanIn(Vec<&'static str>),
    And(Vec<P>),
    Or(Vec<P>),
    Not(Box<P>),
}

const OPS: [(&str, &str, &str); 6] = [
    ("<", ">", ">="),
    ("<=", ">=", ">"),
    (">", "<", "<="),
    (">=", "<=", "<"),
    ("=", "=", "<>"),
    ("<>", "<>", "="),
];
const PLANS: [&str; 3] = ["day", "month", "year"];

fn condition() -> impl Strategy<Value = P> {
    let year = 1950..1954i32;
    let leaf = prop_oneof![
        (0..6usize, year.clone()).prop_map(|(op, y)| P::Year(OPS[op].0, y)),
        (year.clone(), year.clone()).prop_map(|(a, b)| P::YearBetween(a, b)),
        proptest::collection::vec(year, 1..4).prop_map(P::YearIn),
        Just(P::YearNull),
        (0..3usize).prop_map(|p| P::Plan(PLANS[p])),
        proptest::collection::vec((0..3usize).prop_map(|p| PLANS[p]), 1..3).prop_map(P::PlanIn),
    ];
    leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 1..4).prop_map(P::And),
            proptest::collection::vec(inner.clone(), 1..4).prop_map(P::Or),
            inner.prop_map(|p| P::Not(Box::new(p))),
        ]
    })
}

/// A coin that is thrown many times.
struct Coin(u64);

impl Coin {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }

    fn shuffled<T: Clone>(&mut self, list: &[T]) -> Vec<T> {
        let mut list = list.to_vec();
        for i in (1..list.len()).rev() {
            list.swap(i, self.below(i + 1));
        }
        list
    }
}

/// The condition in one of the many ways to say it.
fn said(p: &P, coin: &mut Coin) -> String {
    let column = ["birth_year", "r.birth_year", "(birth_year)"][coin.below(3)];
    match p {
        P::Year(op, y) => {
            let (_, mirrored, opposite) = OPS.iter().find(|o| o.0 == *op).unwrap();
            match coin.below(4) {
                0 => format!("{column} {op} {y}"),
                1 => format!("{y} {mirrored} {column}"),
                2 => format!("NOT {column} {opposite} {y}"),
                _ => format!("({column} {op} {y}.0)"),
            }
        }
        P::YearBetween(a, b) => match coin.below(4) {
            0 => format!("{column} BETWEEN {a} AND {b}"),
            1 => format!("({column} <= {b} AND {a} <= {column})"),
            2 => format!("NOT {column} NOT BETWEEN {a} AND {b}"),
            _ => format!("NOT ({column} > {b} OR {column} < {a})"),
        },
        P::YearIn(list) => {
            let mut items: Vec<String> = coin.shuffled(list).iter().map(i32::to_string).collect();
            items.push(items[0].clone());
            format!("{column} IN ({})", items.join(", "))
        }
        P::YearNull => ["birth_year IS NULL", "NOT birth_year IS NOT NULL"][coin.below(2)].into(),
        P::Plan(plan) => match coin.below(3) {
            0 => format!("plan = '{plan}'"),
            1 => format!("'{plan}' = r.plan"),
            _ => format!("plan IN ('{plan}')"),
        },
        P::PlanIn(list) => {
            let items: Vec<String> = coin.shuffled(list).iter().map(|p| format!("'{p}'")).collect();
            format!("plan IN ({})", items.join(", "))
        }
        P::And(list) | P::Or(list) => {
            let word = if matches!(p, P::And(_)) { " AND " } else { " OR " };
            let parts: Vec<String> =
                coin.shuffled(list).iter().map(|p| format!("({})", said(p, coin))).collect();
            match coin.below(3) {
                // De Morgan.
                0 => {
                    let word = if word == " AND " { " OR " } else { " AND " };
                    let parts: Vec<String> = parts.iter().map(|p| format!("NOT {p}")).collect();
                    format!("NOT ({})", parts.join(word))
                }
                _ => format!("({})", parts.join(word)),
            }
        }
        P::Not(p) => format!("(NOT ({}))", said(p, coin)),
    }
}

/// What PostgreSQL makes of it for one row.
fn truth(p: &P, year: Option<i32>, plan: &str) -> Option<bool> {
    match p {
        P::Year(op, y) => year.map(|x| match *op {
            "<" => x < *y,
            "<=" => x <= *y,
            ">" => x > *y,
            ">=" => x >= *y,
            "=" => x == *y,
            _ => x != *y,
        }),
        P::YearBetween(a, b) => year.map(|x| *a <= x && x <= *b),
        P::YearIn(list) => year.map(|x| list.contains(&x)),
        P::YearNull => Some(year.is_none()),
        P::Plan(p) => Some(*p == plan),
        P::PlanIn(list) => Some(list.contains(&plan)),
        P::And(list) => {
            let each: Vec<Option<bool>> = list.iter().map(|p| truth(p, year, plan)).collect();
            if each.contains(&Some(false)) {
                Some(false)
            } else {
                each.iter().all(Option::is_some).then_some(true)
            }
        }
        P::Or(list) => {
            let each: Vec<Option<bool>> = list.iter().map(|p| truth(p, year, plan)).collect();
            if each.contains(&Some(true)) {
                Some(true)
            } else {
                each.iter().all(Option::is_some).then_some(false)
            }
        }
        P::Not(p) => truth(p, year, plan).map(|b| !b),
    }
}

fn kept(p: &P) -> Vec<bool> {
    let years = std::iter::once(None).chain((1949..1956).map(Some));
    years.flat_map(|y| PLANS.map(|plan| truth(p, y, plan) == Some(true))).collect()
}

fn key_of(p: &P, coin: &mut Coin) -> [u8; 32] {
    let list = coin.shuffled(&["count(*)", "sum(birth_year)", "city AS x"]).join(", ");
    // Not grouped by what the condition names: which groups there are may follow from its words.
    keys(&format!("SELECT {list} FROM riders r WHERE {} GROUP BY city", said(p, coin))).exact
}

/// One small change somewhere, which may or may not change the meaning.
fn changed(p: &P, coin: &mut Coin) -> P {
    match p {
        P::And(list) | P::Or(list) if coin.below(3) > 0 => {
            let mut list = list.clone();
            let at = coin.below(list.len());
            list[at] = changed(&list[at], coin);
            if matches!(p, P::And(_)) { P::And(list) } else { P::Or(list) }
        }
        P::And(list) if coin.below(2) == 0 => P::Or(list.clone()),
        P::And(list) | P::Or(list) if list.len() > 1 => {
            let mut list = list.clone();
            list.remove(coin.below(list.len()));
            if matches!(p, P::And(_)) { P::And(list) } else { P::Or(list) }
        }
        P::Or(list) => P::And(list.clone()),
        P::And(list) => P::Not(Box::new(P::And(list.clone()))),
        P::Not(p) if coin.below(2) == 0 => (**p).clone(),
        P::Not(p) => P::Not(Box::new(changed(p, coin))),
        P::Year(op, y) if coin.below(2) == 0 => P::Year(op, y + 1),
        P::Year(_, y) => P::Year(OPS[coin.below(6)].0, *y),
        P::YearBetween(a, b) => P::YearBetween(*a, b + 1),
        P::YearIn(list) => P::YearIn(list.iter().map(|y| y + 1).collect()),
        P::YearNull => P::Not(Box::new(P::YearNull)),
        P::Plan(p) => P::Plan(if *p == "day" { "year" } else { "day" }),
        P::PlanIn(list) => P::PlanIn(list[..1].to_vec()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn other_words_keep_the_key(p in condition(), a in any::<u64>(), b in any::<u64>()) {
        prop_assert_eq!(key_of(&p, &mut Coin(a)), key_of(&p, &mut Coin(b)), "{}\n{}", said(&p, &mut Coin(a)), said(&p, &mut Coin(b)));
    }

    #[test]
    fn one_key_keeps_the_same_rows(p in condition(), q in condition(), seed in any::<u64>()) {
        let mut coin = Coin(seed);
        let near = changed(&p, &mut coin);
        for q in [q, near] {
            let same = key_of(&p, &mut coin) == key_of(&q, &mut coin);
            prop_assert!(!same || kept(&p) == kept(&q), "{}\n{}", said(&p, &mut coin), said(&q, &mut coin));
        }
    }
}

/// The largest statements that are planned, in forms that nest: keys cost no more than plans do.
#[test]
fn large_statements_have_keys_in_no_time() {
    // The stack of the program's own threads.
    let thread = std::thread::Builder::new().stack_size(32 << 20).spawn(large_statements).unwrap();
    thread.join().unwrap();
}

fn large_statements() {
    let sum = vec!["birth_year"; 300].join(" + ");
    let years: Vec<String> = (0..9_999).map(|y| y.to_string()).collect();
    let mut nested = "birth_year = 1".to_owned();
    for n in 0..40 {
        let word = if n % 2 == 0 { "OR" } else { "AND" };
        nested = format!("({nested} {word} birth_year = {n} {word} plan = '{n}')");
    }
    let chain: Vec<String> = (0..300).map(|n| format!("birth_year <> {n}")).collect();
    let compared = (0..30).fold("birth_year = 1".to_owned(), |e, n| format!("(({e}) = (birth_year < {n}))"));
    for condition in [
        format!("{sum} > 3"),
        format!("birth_year IN ({})", years.join(", ")),
        nested,
        chain.join(" OR "),
        compared,
    ] {
        let sql = format!("SELECT count(*) FROM riders WHERE {condition}");
        let start = std::time::Instant::now();
        let plan = planned(&sql, &usual());
        let took = start.elapsed();
        let start = std::time::Instant::now();
        let forms: usize = plan.releases.iter().map(|r| canonical(r).parts.len()).sum();
        let keyed = start.elapsed();
        println!("{} bytes: planned in {took:?}, keyed in {keyed:?}", sql.len());
        assert_eq!(forms, 1);
        assert!(keyed < took * 5 + Duration::from_millis(200), "{keyed:?} after {took:?}: {}", &sql[..100]);
    }
}
