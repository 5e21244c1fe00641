//! Joins of private tables, paths to the unit, subqueries and set operations over private rows: what noisegate answers
//! without noise is what PostgreSQL answers, and what it cannot keep within units it refuses.

use crate::bikes::{self, Bikes};
use crate::support;
use bigdecimal::BigDecimal;
use tokio_postgres::SimpleQueryMessage;

/// Rows that belong to nobody: their path leads nowhere.
const NOBODYS: &str = "
    DELETE FROM legs WHERE trip_id IS NULL OR trip_id NOT IN (SELECT trip_id FROM trips);
    DELETE FROM fixes WHERE leg_id IS NULL OR leg_id NOT IN (SELECT leg_id FROM legs)";

/// Each is asked of noisegate and, word for word, of PostgreSQL over the rows that belong to somebody.
const AGREE: &[&str] = &[
    // A path, of one step and of two.
    "SELECT count(*), sum(km), avg(km) FROM legs",
    "SELECT surface, count(*), sum(km) FROM legs GROUP BY surface ORDER BY 1",
    "SELECT count(*), sum(cost), count(station) FROM fixes",
    "SELECT count(*) FROM fixes f JOIN stations s ON s.station = f.station",
    "SELECT count(*), count(s.city) FROM fixes f LEFT JOIN stations s USING (station)",
    // Unit with unit, in every spelling.
    "SELECT count(*), sum(t.fare), avg(r.birth_year) FROM trips t JOIN riders r ON r.rider_id = t.rider_id",
    "SELECT count(*) FROM riders r JOIN trips t ON r.rider_id = t.rider_id",
    "SELECT count(*) FROM riders JOIN trips USING (rider_id)",
    "SELECT count(*), count(DISTINCT rider_id) FROM riders NATURAL JOIN trips",
    "SELECT count(*), count(DISTINCT t.rider_id) FROM riders r, trips t WHERE t.rider_id = r.rider_id AND t.fare > 10",
    "SELECT count(*), count(DISTINCT r.rider_id) FROM riders r CROSS JOIN trips t WHERE r.rider_id = t.rider_id",
    "SELECT r.plan, count(*), sum(t.fare), count(DISTINCT t.rider_id) FROM trips t, riders r WHERE r.rider_id = t.rider_id GROUP BY r.plan ORDER BY 1",
    "SELECT count(*) FROM riders a JOIN riders b ON a.rider_id = b.rider_id",
    "SELECT count(*), sum(a.minutes - b.minutes) FROM trips a JOIN trips b ON a.rider_id = b.rider_id AND a.trip_id < b.trip_id",
    "SELECT count(*) FROM trips a JOIN trips b USING (rider_id) JOIN riders c USING (rider_id) WHERE a.fare < b.fare AND c.birth_year > 1980",
    "SELECT count(*) FROM riders r, trips t, payments p WHERE r.rider_id = t.rider_id AND p.rider_id = r.rider_id AND p.amount > t.fare",
    "SELECT count(*), sum(d.battery) FROM trips t JOIN (riders r JOIN devices d ON d.rider_id = r.rider_id) ON t.rider_id = r.rider_id",
    "SELECT count(*) FROM (trips t CROSS JOIN riders r) JOIN payments p ON p.rider_id = t.rider_id AND r.rider_id = p.rider_id",
    "SELECT d.kind, count(*), count(DISTINCT d.rider_id) FROM devices d JOIN riders r USING (rider_id) WHERE r.plan = 'day' GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    // Along a declared path.
    "SELECT count(*), sum(l.km), sum(t.fare) FROM trips t JOIN legs l ON l.trip_id = t.trip_id",
    "SELECT count(*), count(DISTINCT t.rider_id) FROM legs l, trips t WHERE t.trip_id = l.trip_id",
    "SELECT count(*) FROM legs JOIN trips USING (trip_id) JOIN riders USING (rider_id) WHERE plan = 'month'",
    "SELECT r.plan, sum(l.km), count(DISTINCT r.rider_id) FROM riders r, legs l, trips t WHERE l.trip_id = t.trip_id AND t.rider_id = r.rider_id GROUP BY 1 ORDER BY 1",
    "SELECT count(*), sum(f.cost + l.km) FROM fixes f JOIN legs l ON f.leg_id = l.leg_id",
    "SELECT count(*), sum(t.minutes) FROM fixes f JOIN legs l USING (leg_id) JOIN trips t USING (trip_id)",
    "SELECT count(*) FROM legs a JOIN legs b ON a.trip_id = b.trip_id WHERE a.km < b.km",
    "SELECT count(*) FROM fixes a JOIN fixes b ON a.leg_id = b.leg_id AND a.cost <> b.cost",
    "SELECT s.city, sum(l.km) FROM legs l JOIN trips t USING (trip_id) JOIN stations s ON s.station = t.station GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    // Outer joins.
    "SELECT count(*), count(t.trip_id), sum(t.fare) FROM riders r LEFT JOIN trips t ON t.rider_id = r.rider_id AND t.fare > 20",
    "SELECT count(*), count(t.fare) FROM trips t RIGHT JOIN riders r ON t.rider_id = r.rider_id AND t.minutes < 20",
    "SELECT count(*), count(d.slot), count(t.trip_id) FROM riders r LEFT JOIN devices d USING (rider_id) LEFT JOIN trips t ON t.rider_id = d.rider_id AND t.stars = d.slot",
    "SELECT count(*), count(l.leg_id), sum(l.km) FROM trips t LEFT JOIN legs l ON l.trip_id = t.trip_id AND l.surface = 'road'",
    "SELECT count(*), count(t.trip_id) FROM legs l LEFT JOIN trips t ON t.trip_id = l.trip_id AND t.fare > 20",
    "SELECT count(*), count(f.cost) FROM legs l LEFT JOIN fixes f ON f.leg_id = l.leg_id",
    "SELECT count(*), count(x.cost) FROM trips t LEFT JOIN (legs l JOIN fixes x ON x.leg_id = l.leg_id) ON l.trip_id = t.trip_id",
    "SELECT count(*), count(q.km) FROM trips t LEFT JOIN (SELECT trip_id AS id, km FROM legs WHERE surface = 'path') q ON q.id = t.trip_id",
    "WITH q AS (SELECT * FROM trips WHERE fare > 15) SELECT count(*), sum(q.fare) FROM riders r LEFT JOIN q ON q.rider_id = r.rider_id WHERE r.birth_year > 1960",
    "SELECT count(*), count(s.station) FROM riders r LEFT JOIN (trips t JOIN stations s ON s.station = t.station AND s.capacity > 28) ON t.rider_id = r.rider_id",
    "SELECT count(*), count(r.plan), count(d.kind) FROM (SELECT * FROM riders WHERE plan = 'day') r LEFT JOIN devices d ON d.rider_id = r.rider_id",
    "SELECT count(*), count(a.trip_id), count(b.trip_id) FROM trips a FULL JOIN trips b ON a.rider_id = b.rider_id AND a.minutes = b.minutes + 29",
    "SELECT count(*), count(d.slot), count(t.fare) FROM devices d FULL JOIN trips t ON t.rider_id = d.rider_id AND d.slot = t.stars",
    "SELECT coalesce(d.slot, 0), count(*), count(DISTINCT coalesce(d.rider_id, t.rider_id)) FROM devices d FULL JOIN trips t ON t.rider_id = d.rider_id AND d.slot = t.stars WHERE d.slot IN (1, 2) GROUP BY 1 ORDER BY 1",
    "SELECT count(*), count(l.km), count(t.fare) FROM legs l FULL JOIN trips t ON t.trip_id = l.trip_id AND l.km > 10",
    "SELECT count(*) FROM (devices d FULL JOIN trips t ON t.rider_id = d.rider_id AND d.slot = t.stars) JOIN riders r ON r.rider_id = t.rider_id",
    "SELECT count(*), count(p.amount) FROM (devices d FULL JOIN trips t ON t.rider_id = d.rider_id AND d.slot = t.stars) LEFT JOIN payments p ON p.rider_id = t.rider_id AND p.amount > 40",
    "SELECT s.city, count(*), count(r.city) FROM trips t LEFT JOIN riders r ON r.rider_id = t.rider_id AND r.plan = 'day' LEFT JOIN stations s ON s.station = t.station GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT count(*), count(d.slot), count(t.fare) FROM devices d FULL JOIN trips t ON t.rider_id = d.rider_id AND d.slot + t.stars > 5 AND t.fare > 20 AND d.slot > 1",
    "SELECT count(*), count(a.km), count(b.km) FROM legs a FULL JOIN legs b ON a.trip_id = b.trip_id AND a.km < b.km",
    "SELECT count(*), count(q.n) FROM (SELECT rider_id AS u, slot AS n FROM devices UNION SELECT rider_id, stars FROM trips) q FULL JOIN trips t ON t.rider_id = q.u AND t.stars = q.n",
    // Several public tables, in any position.
    "SELECT count(*) FROM stations s JOIN (trips t LEFT JOIN stations z ON z.city = t.station) ON s.station = t.station JOIN stations y ON y.city = s.city, riders r WHERE r.rider_id = t.rider_id",
    "SELECT count(*) FROM stations a LEFT JOIN stations b ON b.city = a.city AND b.capacity > 50, trips t WHERE t.station = a.station",
    "SELECT count(*) FROM stations a RIGHT JOIN trips t ON t.station = a.station AND a.capacity > 28 WHERE a.city IS NULL",
    // Public LEFT JOIN private, where that is an inner join with public groups.
    "SELECT s.station, count(t.trip_id), sum(t.fare) FROM stations s LEFT JOIN trips t ON t.station = s.station GROUP BY s.station HAVING count(t.trip_id) > 0 ORDER BY 1",
    "SELECT s.station, count(t.trip_id) FROM trips t RIGHT JOIN stations s ON s.station = t.station AND t.fare > 10 GROUP BY s.station ORDER BY 1",
    "SELECT s.station, count(t.trip_id), count(DISTINCT t.rider_id), count(*) FILTER (WHERE t.fare > 30) FROM stations s LEFT JOIN (SELECT * FROM trips WHERE minutes > 40) t ON t.station = s.station GROUP BY 1 ORDER BY 1",
    "SELECT s.station, count(r.plan), sum(t.fare * s.capacity) FROM stations s LEFT JOIN trips t ON t.station = s.station LEFT JOIN riders r ON r.rider_id = t.rider_id AND r.plan = 'year' GROUP BY 1 HAVING count(t.fare) > 0 ORDER BY 1",
    "SELECT s.city, count(*) FROM stations s LEFT JOIN trips t ON t.station = s.station WHERE t.fare > 25 GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT count(*) FROM stations s LEFT JOIN trips t ON t.station = s.station JOIN riders r ON r.rider_id = t.rider_id",
    "SELECT s.station, count(l.km) FROM stations s LEFT JOIN (trips t JOIN legs l ON l.trip_id = t.trip_id) ON t.station = s.station GROUP BY 1 ORDER BY 1",
    // IN and EXISTS.
    "SELECT count(*) FROM riders r WHERE EXISTS (SELECT 1 FROM trips t WHERE t.rider_id = r.rider_id AND t.fare > 40)",
    "SELECT count(*) FROM riders r WHERE NOT EXISTS (SELECT * FROM trips t WHERE r.rider_id = t.rider_id AND t.minutes > r.birth_year - 1900)",
    "SELECT plan, count(*) FROM riders WHERE rider_id IN (SELECT rider_id FROM trips WHERE fare > 30) GROUP BY plan ORDER BY 1",
    "SELECT count(*) FROM riders WHERE rider_id NOT IN (SELECT t.rider_id FROM trips t WHERE t.fare > 30)",
    "SELECT count(*) FROM trips t WHERE t.minutes IN (SELECT u.minutes + 29 FROM trips u WHERE u.rider_id = t.rider_id)",
    "SELECT count(*) FROM trips t WHERE t.stars NOT IN (SELECT u.slot FROM devices u WHERE u.rider_id = t.rider_id)",
    "SELECT count(*) FROM trips t WHERE t.stars IN (SELECT u.stars FROM trips u WHERE u.rider_id = t.rider_id AND u.trip_id <> t.trip_id) OR t.fare > 40",
    "SELECT count(*) FROM trips t WHERE t.trip_id IN (SELECT trip_id FROM legs WHERE km > 15)",
    "SELECT count(*) FROM legs l WHERE l.trip_id IN (SELECT trip_id FROM trips WHERE fare > 20)",
    "SELECT count(*), sum(km) FROM legs l WHERE EXISTS (SELECT 1 FROM fixes f WHERE f.leg_id = l.leg_id AND f.cost > 20)",
    "SELECT count(*) FROM trips t WHERE EXISTS (SELECT 1 FROM legs l JOIN fixes f ON f.leg_id = l.leg_id WHERE l.trip_id = t.trip_id)",
    "SELECT count(*) FROM trips t WHERE EXISTS (SELECT 1 FROM riders r WHERE r.rider_id = t.rider_id AND EXISTS (SELECT 1 FROM devices d WHERE d.rider_id = r.rider_id AND d.slot = 3))",
    "SELECT count(*) FROM trips t JOIN riders r USING (rider_id) WHERE EXISTS (SELECT 1 FROM devices d WHERE d.rider_id = t.rider_id AND d.battery > t.minutes)",
    "SELECT count(*) FROM (SELECT * FROM riders r WHERE EXISTS (SELECT 1 FROM devices d WHERE d.rider_id = r.rider_id AND d.slot = 2)) q JOIN trips t ON t.rider_id = q.rider_id",
    "SELECT count(*) FROM trips WHERE station IN (SELECT station FROM stations WHERE city = 'Norwick')",
    "SELECT count(*) FROM trips t WHERE NOT EXISTS (SELECT 1 FROM stations s WHERE s.station = t.station AND s.capacity < t.minutes)",
    "SELECT count(*) FROM trips t WHERE t.station NOT IN (SELECT s.station FROM stations s WHERE s.capacity > t.minutes)",
    "SELECT count(*) FROM riders r LEFT JOIN trips t ON t.rider_id = r.rider_id AND t.fare > 40 WHERE EXISTS (SELECT 1 FROM devices d WHERE d.rider_id = r.rider_id AND d.slot = 2)",
    "SELECT count(*) FROM devices d FULL JOIN trips t ON t.rider_id = d.rider_id AND d.slot = t.stars WHERE EXISTS (SELECT 1 FROM riders r WHERE r.rider_id = t.rider_id AND r.plan = 'day')",
    // Set operations.
    "SELECT count(*), sum(x) FROM (SELECT rider_id, fare AS x FROM trips UNION ALL SELECT rider_id, amount FROM payments) q",
    "SELECT kind, count(*), sum(x), count(DISTINCT rider_id) FROM (SELECT rider_id, 'trip' AS kind, fare AS x FROM trips UNION ALL SELECT rider_id, 'payment', amount FROM payments) q GROUP BY kind ORDER BY 1",
    "SELECT count(*) FROM (SELECT rider_id FROM trips UNION SELECT rider_id FROM devices) q",
    "SELECT count(*) FROM (SELECT rider_id, stars FROM trips EXCEPT SELECT rider_id, slot FROM devices) q",
    "SELECT count(*) FROM (SELECT rider_id, stars FROM trips INTERSECT ALL SELECT rider_id, slot FROM devices) q",
    "SELECT stars, count(*) FROM (SELECT stars, rider_id AS u FROM trips EXCEPT ALL SELECT NULL, rider_id FROM riders) q WHERE stars IN (1, 5) GROUP BY 1 ORDER BY 1",
    "SELECT r.plan, count(*), sum(q.n) FROM (SELECT rider_id AS u, minutes AS n FROM trips WHERE fare > 5 UNION ALL (SELECT rider_id, slot FROM devices UNION SELECT rider_id, birth_year FROM riders)) q JOIN riders r ON r.rider_id = q.u GROUP BY 1 ORDER BY 1",
    "SELECT count(*), count(q.k) FROM riders r LEFT JOIN (SELECT rider_id AS u, 'a' AS k FROM trips WHERE fare > 40 UNION ALL SELECT rider_id, note FROM trips WHERE fare < 5) q ON q.u = r.rider_id",
    "WITH q AS (SELECT t.rider_id, l.km FROM legs l JOIN trips t USING (trip_id) UNION ALL SELECT rider_id, fare FROM trips) SELECT count(*), sum(km) FROM q",
    "SELECT station, count(*) FROM (SELECT rider_id, station FROM trips UNION ALL SELECT rider_id, station FROM trips WHERE fare > 9) q GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    // A CTE that is read twice is two relations.
    "WITH q AS (SELECT * FROM trips WHERE fare > 5) SELECT count(*), sum(a.fare - b.minutes) FROM q a JOIN q b ON a.rider_id = b.rider_id AND a.fare < b.fare",
    "WITH q AS (SELECT r.rider_id, t.minutes FROM riders r JOIN trips t USING (rider_id)) SELECT count(*) FROM q a WHERE EXISTS (SELECT 1 FROM q b WHERE b.rider_id = a.rider_id AND b.minutes > a.minutes)",
    "WITH q AS (SELECT * FROM trips), p AS (SELECT a.rider_id, a.fare AS x, b.fare AS y FROM q a JOIN q b USING (rider_id)) SELECT count(*), sum(p.x - p.y) FROM p JOIN riders z ON z.rider_id = p.rider_id AND z.birth_year > 1980",
    "WITH q AS (SELECT * FROM riders r WHERE EXISTS (SELECT 1 FROM trips t WHERE t.rider_id = r.rider_id AND t.fare > 35)) SELECT count(*) FROM q JOIN q z USING (rider_id)",
    "WITH s AS (SELECT * FROM stations WHERE capacity > 20) SELECT count(*) FROM trips t JOIN s ON s.station = t.station LEFT JOIN s z ON z.city = s.city AND z.station <> s.station",
    "WITH q AS (SELECT rider_id, fare FROM trips UNION ALL SELECT rider_id, amount FROM payments) SELECT count(*) FROM q JOIN (SELECT rider_id, fare, row_number() OVER (PARTITION BY rider_id ORDER BY fare) AS n FROM q) z ON z.rider_id = q.rider_id AND z.fare < q.fare AND z.n <= 1000",
    // Columns renamed by an alias: bounds follow the expression (rule 10).
    "SELECT count(*), sum(y) FROM trips AS a(t, u) JOIN riders AS b(v, y) ON b.v = u",
];

async fn without_noise() -> Bikes {
    let mut bikes = Bikes::new().await.without_noise();
    bikes.plan.max_rows = 600;
    bikes
}

async fn exact(bikes: &Bikes, sql: &str) -> Vec<Vec<Option<String>>> {
    let client = bikes.db.superuser().await;
    client.batch_execute(&format!("SET TimeZone = 'UTC'; BEGIN; {NOBODYS}")).await.unwrap();
    let messages = client.simple_query(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    let rows = messages.iter().filter_map(|m| match m {
        SimpleQueryMessage::Row(row) => Some((0..row.len()).map(|i| row.get(i).map(str::to_owned)).collect()),
        _ => None,
    });
    rows.collect()
}

/// Equal as text, or as numbers to their twelfth digit; a sum over nothing is 0 here.
fn same(ours: Option<&str>, theirs: Option<&str>) -> bool {
    let number = |c: Option<&str>| c.and_then(|c| c.parse::<BigDecimal>().ok());
    match (number(ours), number(theirs)) {
        (Some(a), Some(b)) => {
            let scale = a.abs().max(BigDecimal::from(1));
            (a - b).abs() <= scale * BigDecimal::new(1.into(), 12)
        }
        (Some(a), None) if theirs.is_none() => a == 0,
        _ => ours == theirs,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn answers_are_postgresqls_own() {
    agree(AGREE).await;
}

/// Asks both, and compares.
pub async fn agree(statements: &[&str]) {
    let bikes = without_noise().await;
    let mut wrong = Vec::new();
    for sql in statements {
        let expected = exact(&bikes, sql).await;
        let asked = match bikes.ask(sql).await {
            Ok(asked) => asked,
            Err(e) => {
                wrong.push(format!("{sql}\n  refused: {e:?}"));
                continue;
            }
        };
        let equal = asked.rows.len() == expected.len()
            && asked.rows.iter().zip(&expected).all(|(a, b)| {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a.as_deref(), b.as_deref()))
            });
        if !equal || expected.is_empty() {
            let fetches: Vec<&str> = asked.fetches.iter().map(|f| f.sql.as_str()).collect();
            wrong.push(format!(
                "{sql}\n  answered {:?}\n  expected {expected:?}\n  fetch {fetches:#?}",
                asked.rows
            ));
        }
        // Something must have been counted.
        let nothing = expected.iter().flatten().all(|c| c.as_deref().is_none_or(|c| c == "0"));
        if nothing {
            wrong.push(format!("{sql}\n  compares nothing: {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), statements.len(), wrong.join("\n\n"));
}

/// What is refused, and what the hint says.
const REFUSED: &[(&str, &str, &str)] = &[
    // Units that may differ.
    (
        "SELECT count(*) FROM trips t JOIN riders r ON r.birth_year = t.minutes",
        "different units",
        "ON t.rider_id = r.rider_id",
    ),
    ("SELECT count(*) FROM trips t, riders r", "different units", "ON t.rider_id = r.rider_id"),
    (
        "SELECT count(*) FROM trips a JOIN trips b ON a.station = b.station",
        "different units",
        "ON a.rider_id = b.rider_id",
    ),
    (
        "SELECT count(*) FROM trips t JOIN riders r ON r.rider_id = t.rider_id OR r.plan = 'day'",
        "different units",
        "ON ",
    ),
    (
        "SELECT count(*) FROM trips t JOIN riders r ON r.rider_id >= t.rider_id AND NOT r.rider_id = t.rider_id",
        "different units",
        "ON ",
    ),
    // NULL meets NULL, and neither side is known to have none.
    (
        "SELECT count(*) FROM trips t JOIN riders r ON r.birth_year IS NOT DISTINCT FROM t.stars",
        "different units",
        "ON ",
    ),
    ("SELECT count(*) FROM trips t JOIN riders r ON r.rider_id = t.rider_id + 0", "different units", "ON "),
    (
        "SELECT count(*) FROM trips t JOIN riders r ON r.rider_id::float8 = t.rider_id",
        "different units",
        "ON ",
    ),
    (
        "SELECT count(*) FROM riders r LEFT JOIN trips t ON t.minutes = r.birth_year",
        "different units",
        "ON t.rider_id = r.rider_id",
    ),
    // An outer join's condition says nothing of the rows it keeps, and WHERE nothing of how they met.
    (
        "SELECT count(*) FROM (riders r LEFT JOIN trips t ON t.rider_id = r.rider_id) JOIN devices d ON d.slot = t.stars",
        "different units",
        "ON r.rider_id = d.rider_id",
    ),
    (
        "SELECT count(*) FROM riders r LEFT JOIN trips t ON true WHERE t.rider_id = r.rider_id",
        "different units",
        "ON t.rider_id = r.rider_id",
    ),
    (
        "SELECT count(*) FROM devices d FULL JOIN trips t ON d.slot = t.stars WHERE d.rider_id = t.rider_id",
        "different units",
        "ON d.rider_id = t.rider_id",
    ),
    // Along something that is not the declared path.
    (
        "SELECT count(*) FROM legs l JOIN trips t ON t.minutes = l.km",
        "different units",
        "ON l.trip_id = t.trip_id",
    ),
    (
        "SELECT count(*) FROM fixes f JOIN trips t ON t.minutes = f.cost",
        "different units",
        "Join legs too, along f.leg_id",
    ),
    (
        "SELECT count(*) FROM legs l JOIN payments p ON p.rider_id = l.trip_id",
        "different units",
        "Join trips too, along l.trip_id",
    ),
    // Outer joins that tell who is missing.
    (
        "SELECT count(*) FROM trips t FULL JOIN stations s ON s.station = t.station",
        "FULL JOIN of private rows with public",
        "LEFT JOIN",
    ),
    (
        "SELECT s.station, count(*) FROM stations s LEFT JOIN trips t ON t.station = s.station GROUP BY 1",
        "without private ones",
        "count(t.x)",
    ),
    (
        "SELECT s.station, count(1) FROM stations s LEFT JOIN trips t ON t.station = s.station GROUP BY 1",
        "without private ones",
        "count(t.x)",
    ),
    (
        "SELECT s.station, sum(coalesce(t.fare, 1)) FROM stations s LEFT JOIN trips t ON t.station = s.station GROUP BY 1",
        "without private ones",
        "count(t.x)",
    ),
    (
        "SELECT s.station, sum(s.capacity) FROM stations s LEFT JOIN trips t ON t.station = s.station GROUP BY 1",
        "without private ones",
        "count(t.x)",
    ),
    (
        "SELECT s.station FROM stations s LEFT JOIN trips t ON t.station = s.station GROUP BY 1 HAVING count(*) = 1",
        "without private ones",
        "count(t.x)",
    ),
    (
        "SELECT count(t.fare) FROM stations s LEFT JOIN trips t ON t.station = s.station WHERE t.trip_id IS NULL",
        "IS NULL",
        "count(t.x)",
    ),
    (
        "SELECT count(t.fare) FILTER (WHERE t.note IS NULL) FROM stations s LEFT JOIN trips t ON t.station = s.station",
        "IS NULL",
        "count(t.x)",
    ),
    (
        "SELECT t.note, count(t.fare) FROM stations s LEFT JOIN trips t ON t.station = s.station GROUP BY 1",
        "GROUP BY a private column",
        "inner JOIN",
    ),
    (
        "SELECT count(t.fare) FROM riders r LEFT JOIN (stations s LEFT JOIN trips t ON t.station = s.station) ON t.rider_id = r.rider_id",
        "inside another outer join",
        "inner JOIN",
    ),
    (
        "SELECT count(*) FROM riders r WHERE EXISTS (SELECT 1 FROM stations s LEFT JOIN trips t ON t.rider_id = 5)",
        "in this subquery",
        "inner JOIN",
    ),
    // Derived tables whose filter or columns an outer join would change.
    (
        "SELECT count(*) FROM (SELECT * FROM devices WHERE slot > 1) d FULL JOIN trips t ON t.rider_id = d.rider_id",
        "WHERE in a FULL JOIN",
        "UNION ALL",
    ),
    (
        "SELECT sum(q.x) FROM riders r LEFT JOIN (SELECT rider_id, coalesce(stars, 1) AS x FROM trips) q ON q.rider_id = r.rider_id",
        "computed column",
        "plain column",
    ),
    (
        "SELECT count(q.x) FROM riders r LEFT JOIN (SELECT rider_id, 1 AS x FROM trips) q ON q.rider_id = r.rider_id",
        "computed column",
        "plain column",
    ),
    // Subqueries that are not tied.
    (
        "SELECT count(*) FROM riders r WHERE EXISTS (SELECT 1 FROM trips t WHERE t.fare > 40)",
        "not tied",
        "r.rider_id",
    ),
    (
        "SELECT count(*) FROM riders r WHERE NOT EXISTS (SELECT 1 FROM trips t WHERE t.rider_id = r.rider_id OR t.fare > 40)",
        "not tied",
        "r.rider_id",
    ),
    (
        "SELECT count(*) FROM trips t WHERE t.station IN (SELECT u.station FROM trips u)",
        "not tied",
        "u.rider_id",
    ),
    ("SELECT count(*) FROM riders WHERE birth_year NOT IN (SELECT minutes FROM trips)", "not tied", ""),
    // Whether a rider without trips has one in an empty list depends on the trips of others.
    (
        "SELECT count(*) FROM riders r LEFT JOIN trips t ON t.rider_id = r.rider_id WHERE t.rider_id NOT IN (SELECT rider_id FROM devices)",
        "not tied",
        "",
    ),
    (
        "SELECT count(*) FROM riders r WHERE r.rider_id NOT IN (SELECT d.rider_id FROM trips t LEFT JOIN devices d ON d.rider_id = t.rider_id)",
        "not tied",
        "",
    ),
    (
        "SELECT count(*) FROM stations s WHERE EXISTS (SELECT 1 FROM trips t WHERE t.station = s.station)",
        "IN or EXISTS over a private subquery",
        "count",
    ),
    (
        "SELECT count(*) FROM riders r WHERE EXISTS (SELECT count(*) FROM trips t WHERE t.rider_id = r.rider_id)",
        "",
        "",
    ),
    (
        "SELECT count(*) FROM riders r WHERE r.rider_id IN (SELECT t.rider_id FROM trips t WHERE t.rider_id = r.rider_id LIMIT 1)",
        "LIMIT",
        "",
    ),
    (
        "SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 FROM trips t WHERE t.fare > 40)) FROM riders r",
        "not tied to the unit",
        "t.rider_id = r.rider_id",
    ),
    // Set operations that lose the unit, or mix it.
    (
        "SELECT count(*) FROM (SELECT rider_id, fare FROM trips UNION SELECT amount::int, amount FROM payments) q",
        "same place",
        "every branch",
    ),
    (
        "SELECT count(*) FROM (SELECT rider_id, fare FROM trips UNION ALL SELECT payment_id, amount FROM payments) q",
        "",
        "",
    ),
    (
        "SELECT count(*) FROM (SELECT rider_id, minutes FROM trips EXCEPT SELECT slot, rider_id FROM devices) q",
        "same place",
        "every branch",
    ),
    (
        "SELECT count(*) FROM (SELECT rider_id FROM trips UNION SELECT capacity FROM stations) q",
        "private rows with other rows",
        "each branch",
    ),
    (
        "SELECT count(*) FROM (SELECT rider_id FROM trips EXCEPT VALUES (1)) q",
        "private rows with other rows",
        "each branch",
    ),
    (
        "SELECT count(*) FROM (SELECT d.rider_id FROM riders r LEFT JOIN devices d ON d.rider_id = r.rider_id UNION SELECT rider_id FROM trips) q",
        "same place",
        "every branch",
    ),
    (
        "SELECT count(*) FROM (SELECT rider_id, note FROM trips UNION ALL SELECT rider_id, battery FROM devices) q",
        "several types",
        "Cast",
    ),
    (
        "SELECT count(*) FROM (SELECT rider_id FROM trips UNION ALL SELECT rider_id FROM payments LIMIT 5) q",
        "LIMIT",
        "",
    ),
    // The unit itself.
    (
        "SELECT t.rider_id, count(*) FROM trips t JOIN riders r ON r.rider_id = t.rider_id GROUP BY 1",
        "the privacy unit",
        "",
    ),
    (
        "SELECT coalesce(d.rider_id, t.rider_id), count(*) FROM devices d FULL JOIN trips t ON t.rider_id = d.rider_id GROUP BY 1",
        "the privacy unit",
        "",
    ),
    (
        "SELECT count(DISTINCT t.rider_id) FROM riders r LEFT JOIN trips t ON t.rider_id = r.rider_id",
        "DISTINCT",
        "count(DISTINCT r.rider_id)",
    ),
    (
        "SELECT count(DISTINCT d.rider_id) FROM devices d FULL JOIN trips t ON t.rider_id = d.rider_id",
        "DISTINCT",
        "",
    ),
    (
        "SELECT count(*) FROM (SELECT rider_id, rank() OVER (PARTITION BY station ORDER BY fare) AS n FROM trips) q",
        "window",
        "PARTITION BY trips.rider_id",
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_leaves_the_unit_is_refused_with_what_to_write() {
    let bikes = Bikes::new().await;
    let mut wrong = Vec::new();
    for (sql, message, hint) in REFUSED {
        match bikes.plan(sql).await {
            Ok(_) => wrong.push(format!("not refused: {sql}")),
            Err(e) => {
                let said = e.hint.clone().unwrap_or_default();
                if !e.message.contains(message) || !said.contains(hint) || e.message.contains("this FROM") {
                    wrong.push(format!("{sql}\n  {}\n  hint: {said}", e.message));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), REFUSED.len(), wrong.join("\n"));
}

/// Soundness rule 11: the units' equality stands in ON, where it decides who meets; in WHERE it would drop who meets
/// nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn rule_11_units_are_equated_in_on_and_never_in_where() {
    let bikes = without_noise().await;
    for (sql, tie, elsewhere) in [
        (
            "SELECT count(*) FROM riders r LEFT JOIN trips t ON t.rider_id = r.rider_id AND t.fare > 40",
            "(b1.\"rider_id\" = b0.\"rider_id\")",
            "b1.\"rider_id\" = b0.\"rider_id\"",
        ),
        (
            "SELECT count(*) FROM devices d FULL JOIN trips t ON t.rider_id = d.rider_id AND t.stars = d.slot",
            "(b1.\"rider_id\" = b0.\"rider_id\")",
            "b1.\"rider_id\" = b0.\"rider_id\"",
        ),
        // The statement equates the left side's unit with a third table's; the equality with the unit is implied.
        (
            "SELECT count(*) FROM riders r JOIN devices d ON d.rider_id = r.rider_id LEFT JOIN trips t ON t.rider_id = d.rider_id AND t.fare > 40",
            "(b0.\"rider_id\" = b2.\"rider_id\")",
            "b0.\"rider_id\" = b2.\"rider_id\"",
        ),
        (
            "SELECT count(*) FROM trips t LEFT JOIN legs l ON l.trip_id = t.trip_id AND l.km > 12",
            "(b1.\"trip_id\" = b0.\"trip_id\")",
            "b1.\"trip_id\" = b0.\"trip_id\"",
        ),
    ] {
        let asked = bikes.ask(sql).await.unwrap();
        let fetch = &asked.fetches[0].sql;
        let (from, rest) = fetch.split_once(" FROM ").unwrap().1.split_once(" GROUP BY ").unwrap();
        assert!(from.contains(" JOIN ") && from.contains(tie), "{tie} in {fetch}");
        assert!(!from.contains(" WHERE "), "{fetch}");
        // Moved into WHERE, it would mean something else: this test can fail.
        let moved = fetch.replace(
            &format!("{from} GROUP BY {rest}"),
            &format!("{from} WHERE {elsewhere} GROUP BY {rest}"),
        );
        let count = async |sql: &str| -> i64 {
            let client = bikes.db.superuser().await;
            client.query_one(&sql.replace("$1", "0"), &[]).await.unwrap().get::<_, i64>(0)
        };
        let exact: i64 = exact(&bikes, sql).await[0][0].as_ref().unwrap().parse().unwrap();
        assert_eq!(count(fetch).await, exact, "{fetch}");
        assert!(count(&moved).await < exact, "{moved}");
    }
}

/// Soundness rule 7: what leads to the unit is proven by a key of the parent. Without it, nothing is answered.
#[tokio::test(flavor = "multi_thread")]
async fn rule_07_a_path_rests_on_the_parents_key() {
    let db = support::database(bikes::SETUP).await;
    db.publish(&["stations"]).await;
    let verifier = postgres_protocol::password::scram_sha_256(b"secret");
    let dir = support::Workdir::new(&format!(
        "[server]\nlisten = [\"127.0.0.1:0\"]\n{}[ledger]\nurl = \"sqlite:books.db\"\n[[user]]\nname = \"ada\"\nscram = \"{verifier}\"\n[cache]\nenabled = false\n{}",
        db.backend_toml(),
        bikes::POLICY
    ));
    let gate = dir.serve().await;
    let ada = support::connect(&gate.url("ada", "secret", "bikes")).await;
    let asks = [
        "SELECT count(*) FROM legs",
        "SELECT count(*) FROM fixes",
        "SELECT count(*) FROM riders r WHERE r.rider_id > 3 AND EXISTS (SELECT 1 FROM trips t JOIN legs l USING (trip_id) WHERE t.rider_id = r.rider_id)",
        "SELECT count(*) FROM (SELECT t.rider_id, l.km FROM trips t JOIN legs l USING (trip_id) UNION SELECT rider_id, fare FROM trips) q",
    ];
    for sql in asks {
        ada.simple_query(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }
    // The hidden parent of legs, and the parent's parent of fixes.
    db.execute("ALTER TABLE trips DROP CONSTRAINT trips_pkey CASCADE").await;
    for sql in asks {
        let e = ada.simple_query(sql).await.expect_err("the key is gone");
        assert_eq!(e.code().map(|c| c.code()), Some("55000"), "{sql}: {e:?}");
    }
    ada.simple_query("SELECT count(*) FROM riders").await.expect("riders rest on their own key");
    // It is back, but not NOT NULL, or not at once.
    for no_key in [
        "ALTER TABLE trips ALTER trip_id DROP NOT NULL; CREATE UNIQUE INDEX again ON trips (trip_id)",
        "DROP INDEX again; ALTER TABLE trips ALTER trip_id SET NOT NULL, ADD UNIQUE (trip_id) DEFERRABLE",
    ] {
        db.execute(no_key).await;
        for sql in asks {
            let e = ada.simple_query(sql).await.expect_err("this proves nothing");
            assert_eq!(e.code().map(|c| c.code()), Some("55000"), "{no_key}: {sql}: {e:?}");
        }
    }
    // Started anew over such a table, the policy is wrong.
    let out = dir.noisegate(&["check"]).await;
    let text = format!("{}{}", out.stdout, out.stderr);
    assert!(!out.status.success() && text.contains("trip_id is not a key of \"trips\""), "{text}");
}

/// How many rows of a unit the plan takes for proven, by keys; None where they are counted in the fetch.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn rule_07_rows_after_joins_are_bounded_by_keys_alone() {
    let mut bikes = Bikes::new().await;
    bikes.plan.max_rows = 1_000;
    for (sql, rows) in [
        ("FROM riders r", Some(1)),
        ("FROM devices d", Some(3)),
        ("FROM riders a JOIN riders b USING (rider_id) NATURAL JOIN devices", Some(3)),
        ("FROM riders r, devices d WHERE d.rider_id = r.rider_id", Some(3)),
        ("FROM devices a JOIN devices b ON a.rider_id = b.rider_id", Some(9)),
        ("FROM devices a JOIN devices b ON a.rider_id = b.rider_id AND a.slot = b.slot", Some(3)),
        ("FROM devices a JOIN devices b ON a.rider_id = b.rider_id AND b.slot = 2", Some(3)),
        ("FROM devices a, devices b WHERE a.rider_id = b.rider_id AND b.slot = a.slot - 1", Some(3)),
        ("FROM devices d WHERE d.slot = 1", Some(3)),
        ("FROM riders r LEFT JOIN devices d ON d.rider_id = r.rider_id", Some(3)),
        ("FROM riders r LEFT JOIN devices d ON d.rider_id = r.rider_id AND d.slot = 2", Some(1)),
        ("FROM devices d LEFT JOIN riders r ON d.rider_id = r.rider_id", Some(3)),
        ("FROM devices a FULL JOIN devices b ON a.rider_id = b.rider_id AND a.slot = b.slot", Some(9)),
        ("FROM devices a FULL JOIN riders b ON a.rider_id = b.rider_id", Some(4)),
        ("FROM (SELECT rider_id FROM devices UNION SELECT rider_id FROM riders) q", Some(4)),
        (
            "FROM (SELECT rider_id, slot AS s FROM devices EXCEPT SELECT rider_id, stars FROM trips) q",
            Some(3),
        ),
        (
            "FROM (SELECT rider_id, slot AS s FROM devices INTERSECT ALL SELECT rider_id, stars FROM trips) q",
            Some(3),
        ),
        ("FROM (SELECT rider_id FROM devices UNION ALL SELECT rider_id FROM trips) q", None),
        ("FROM devices d JOIN stations s ON s.station = d.kind::text", Some(3)),
        ("FROM devices d LEFT JOIN stations s ON s.station = 'Central'", Some(3)),
        ("FROM devices d LEFT JOIN stations s ON s.city = 'Norwick'", None),
        ("FROM devices d CROSS JOIN stations s", None),
        ("FROM riders r JOIN trips t USING (rider_id)", None),
        ("FROM riders r JOIN trips t USING (rider_id) WHERE t.trip_id = 101", Some(1)),
        ("FROM riders r JOIN trips t USING (rider_id) WHERE t.trip_id = 101 OR r.plan = 'day'", None),
        ("FROM riders r LEFT JOIN trips t ON t.rider_id = r.rider_id AND t.trip_id = 101", Some(1)),
        ("FROM riders r LEFT JOIN trips t ON t.rider_id = r.rider_id AND t.trip_id >= 101", None),
        ("FROM devices d LEFT JOIN trips t ON t.rider_id = d.rider_id AND t.trip_id = d.serial", Some(3)),
        ("FROM devices d LEFT JOIN trips t ON t.rider_id = d.rider_id AND t.trip_id = d.battery", None),
        (
            "FROM riders r, trips t, legs l WHERE t.rider_id = r.rider_id AND l.trip_id = t.trip_id AND l.leg_id = 5",
            Some(1),
        ),
        ("FROM legs l", None),
        // In WHERE an equality holds for every row; in ON of a LEFT JOIN, for those that meet.
        ("FROM riders r LEFT JOIN devices d ON d.rider_id = r.rider_id WHERE d.slot = 2", Some(3)),
        (
            "FROM (riders r LEFT JOIN devices d ON d.rider_id = r.rider_id AND d.slot = 2) JOIN devices e ON e.rider_id = r.rider_id AND e.slot = d.slot",
            Some(1),
        ),
    ] {
        let plan =
            bikes.plan(&format!("SELECT count(*) {sql}")).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        let b = &plan.releases[0].bounding;
        assert_eq!((!b.rows_stage()).then_some(b.rows()), rows, "{sql}: {b:?}");
    }
}

/// Which bound counts where the statement does not say: the table's whose rows the joins keep.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn bounds_follow_the_table_whose_rows_are_kept() {
    let bikes = Bikes::new().await;
    for (sql, rows, why) in [
        ("FROM trips t", 80, "at most 80 rows per unit:"),
        ("FROM trips t JOIN riders r USING (rider_id)", 80, "the bound of trips"),
        ("FROM legs l JOIN trips t USING (trip_id)", 120, "the bound of legs"),
        (
            "FROM riders r LEFT JOIN legs l ON true JOIN trips t ON t.trip_id = l.trip_id AND t.rider_id = r.rider_id",
            0,
            "",
        ),
        ("FROM trips t LEFT JOIN legs l ON l.trip_id = t.trip_id", 120, "the bound of legs"),
        ("FROM trips a JOIN trips b USING (rider_id)", 32, "the statement's: the joins multiply rows"),
        (
            "FROM trips t JOIN stations s ON s.city = t.station",
            32,
            "the statement's: the joins multiply rows",
        ),
        ("FROM trips t JOIN stations s USING (station)", 80, "at most 80 rows per unit:"),
    ] {
        match bikes.plan(&format!("SELECT count(*) {sql}")).await {
            Ok(plan) => {
                let b = &plan.releases[0].bounding;
                assert_eq!(b.rows(), rows, "{sql}: {b:?}");
                assert!(noisegate::plan::explain::bounds(b, None)[0].contains(why), "{sql}: {b:?}");
            }
            Err(e) => assert_eq!(rows, 0, "{sql}: {e:?}"),
        }
    }
    // What the session chooses holds for every table.
    let mut bikes = bikes;
    bikes.plan.chosen_rows = Some(5);
    let plan = bikes.plan("SELECT count(*) FROM trips t JOIN riders r USING (rider_id)").await.unwrap();
    assert_eq!(plan.releases[0].bounding.rows(), 5);
}

/// The tables that a statement rests on, those that are read for their units only included.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn plans_rest_on_every_table_that_is_read() {
    let bikes = Bikes::new().await;
    for (sql, tables) in [
        ("SELECT count(*) FROM fixes", vec!["fixes", "legs", "trips"]),
        ("SELECT count(*) FROM fixes f JOIN legs l USING (leg_id)", vec!["fixes", "legs", "trips"]),
        (
            "SELECT count(*) FROM trips t WHERE EXISTS (SELECT 1 FROM fixes f JOIN legs l USING (leg_id) WHERE l.trip_id = t.trip_id)",
            vec!["fixes", "legs", "trips"],
        ),
        (
            "SELECT count(*) FROM legs l WHERE EXISTS (SELECT 1 FROM fixes f WHERE f.leg_id = l.leg_id)",
            vec!["fixes", "legs", "trips"],
        ),
        (
            "SELECT count(*) FROM (SELECT t.rider_id, 1 FROM fixes f JOIN legs l USING (leg_id) JOIN trips t USING (trip_id) UNION SELECT rider_id, 2 FROM riders) q",
            vec!["fixes", "legs", "riders", "trips"],
        ),
    ] {
        let plan = bikes.plan(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        let mut names: Vec<&str> =
            plan.tables.iter().map(|t| bikes.policy.tables[*t].name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, tables, "{sql}");
    }
}

/// Whatever names a unit, and whatever a path follows: joins, paths, subqueries and set operations over every type that
/// a policy allows, texts of two collations included.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn rule_10_units_and_paths_of_every_type() {
    let types = [
        ("text COLLATE \"C\"", "text", "'u' || %"),
        ("varchar(9)", "varchar(5) COLLATE \"C\"", "'u' || %"),
        ("uuid", "uuid", "md5(%::text)::uuid"),
        ("date", "date", "date '2020-01-01' + %::int"),
        ("timestamptz", "timestamptz", "timestamptz '2020-01-01 00:00+00' + % * interval '1 hour'"),
        ("bigint", "bigint", "% * 10000000000"),
        ("numeric(9,2)", "numeric(9,2)", "% / 4.0"),
        ("mood", "mood", "('m' || %)::mood"),
    ];
    for (unit, other, of) in types {
        let of = |n: &str| of.replace('%', n);
        let setup = format!(
            "CREATE TYPE mood AS ENUM ('m0', 'm1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7');
             CREATE TABLE people (id {unit} PRIMARY KEY, age int NOT NULL);
             CREATE TABLE visits (id {other}, ref {unit} NOT NULL UNIQUE, cost int NOT NULL);
             CREATE TABLE items (ref {other}, price int NOT NULL);
             INSERT INTO people SELECT {p}, 20 + n FROM generate_series(0, 7) n;
             INSERT INTO visits SELECT {v}, {r}, n FROM generate_series(0, {last}) n;
             INSERT INTO items SELECT CASE WHEN n <> 5 THEN {i} END, n FROM generate_series(0, 20) n",
            p = of("n"),
            v = of("(n % 5)"),
            r = of("n"),
            i = of("(n % 8)"),
            last = if unit == "mood" { 7 } else { 12 },
        );
        let rules = "[privacy]\nunit = \"people.id\"\n[statement]\nepsilon = 1\ndelta = 1e-6\nmax_groups = 9\nmax_rows = 99\n\
            [[budget]]\nname = \"everyone\"\naccounting = \"approx\"\nepsilon = 1000\ndelta = 1e-3\n\
            [table.people]\nunit_column = \"id\"\ncolumns.age = { range = [0, 99] }\n\
            [table.visits]\nunit_column = \"id\"\ncolumns.ref = {}\ncolumns.cost = { range = [0, 99] }\n\
            [table.items]\nunit_path = \"ref -> visits.ref\"\ncolumns.price = { range = [0, 99] }\n";
        let bikes = Bikes::over(support::database(&setup).await, rules).await.without_noise();
        for sql in [
            "SELECT count(*), sum(cost), count(DISTINCT v.id) FROM people p JOIN visits v ON v.id = p.id",
            "SELECT count(*), sum(cost) FROM people p LEFT JOIN visits v ON v.id = p.id AND v.cost > 3",
            "SELECT count(*), sum(age), count(DISTINCT coalesce(p.id, v.id)) FROM people p FULL JOIN visits v ON v.id = p.id AND v.cost = p.age - 20",
            "SELECT count(*), sum(price) FROM items WHERE ref IS NOT NULL AND price < 5",
            "SELECT count(*), sum(price + age) FROM items i JOIN visits v USING (ref) JOIN people p ON p.id = v.id",
            "SELECT count(*), count(i.price) FROM visits v LEFT JOIN items i ON i.ref = v.ref",
            "SELECT count(*) FROM people WHERE id NOT IN (SELECT id FROM visits WHERE cost < 4)",
            "SELECT count(*) FROM visits v WHERE EXISTS (SELECT 1 FROM items i WHERE i.ref = v.ref AND i.price > 6)",
            "SELECT count(*) FROM (SELECT id, age FROM people UNION SELECT id, cost + 20 FROM visits) q",
            "SELECT count(*), sum(q.age) FROM (SELECT id, age FROM people EXCEPT SELECT id, cost + 20 FROM visits) q JOIN people p ON p.id = q.id",
        ] {
            let expected = bikes.exact(sql).await.1;
            let asked = bikes.ask(sql).await.unwrap_or_else(|e| panic!("{unit}: {sql}: {e:?}"));
            let equal = asked
                .rows
                .iter()
                .flatten()
                .zip(expected.iter().flatten())
                .all(|(a, b)| same(a.as_deref(), b.as_deref()));
            assert!(equal, "{unit}: {sql}\n{:?}\n{expected:?}\n{}", asked.rows, asked.fetches[0].sql);
        }
    }
}
