//! What a refusal says to write instead is accepted: each example of the hints that golden scripts show, filled in for the
//! bikes.

use crate::bikes::Bikes;
use crate::support;
use std::collections::BTreeSet;

/// A piece of a hint, and statements that do as it says.
const TRIED: &[(&str, &[&str])] = &[
    (
        "Write date_trunc('hour', t AT TIME ZONE 'zone')",
        &[
            "SELECT date_trunc('hour', started_at::timestamptz AT TIME ZONE 'Europe/Berlin'), count(*) FROM trips WHERE started_at < '2023-01-02' GROUP BY 1",
        ],
    ),
    (
        "Ask for the counts and sums that it rests on: SELECT sum(x), count(x) …",
        &["SELECT sum(birth_year), count(birth_year) FROM riders"],
    ),
    (
        "Average a difference, avg(a - b), or a part, avg(extract(year FROM age(a, b)))",
        &[
            "SELECT avg(DATE '2025-01-01' - day), avg(extract(year FROM age(DATE '2025-01-01', day))) FROM trips",
        ],
    ),
    (
        "Join the groups: LEFT JOIN (SELECT station, avg(fare) AS mean FROM trips GROUP BY station) g ON g.station = t.station",
        &[
            "SELECT count(*) FROM trips t LEFT JOIN (SELECT station, avg(fare) AS mean FROM trips GROUP BY station) g ON g.station = t.station WHERE t.fare > g.mean",
        ],
    ),
    (
        "noisegate.low(count(*)), noisegate.high(avg(x))",
        &["SELECT noisegate.low(count(*)), noisegate.high(avg(fare)) FROM trips"],
    ),
    (
        "Write noisegate.low(percentile_cont(0.05) WITHIN GROUP (ORDER BY x))",
        &[
            "SELECT noisegate.low(percentile_cont(0.05) WITHIN GROUP (ORDER BY minutes)) FROM trips",
            "SELECT percentile_cont(0.05) WITHIN GROUP (ORDER BY minutes) FROM trips",
        ],
    ),
    (
        "Compute with the ends: noisegate.low(median(x)) + 1. For min and max ask near the ends",
        &["SELECT noisegate.low(median(minutes)) + 1, noisegate.high(median(minutes)) FROM trips"],
    ),
    (
        "Ask for that of an aggregate: noisegate.low(avg(x))",
        &["SELECT noisegate.low(avg(fare)), noisegate.stddev(sum(fare)) FROM trips"],
    ),
    (
        "Ask for it by itself: SELECT noisegate.low(avg(x)) FROM …",
        &["SELECT noisegate.low(avg(minutes)) FROM trips"],
    ),
    (
        "noisegate.low(x), noisegate.high(x) and noisegate.stddev(x) are there",
        &["SELECT noisegate.stddev(count(*)), noisegate.low(sum(fare) / count(*)) FROM trips"],
    ),
    (
        "Write which: CASE WHEN plan < 'month' THEN plan ELSE 'month' END",
        &["SELECT CASE WHEN plan < 'month' THEN plan ELSE 'month' END, count(*) FROM riders GROUP BY 1"],
    ),
    (
        "SELECT sum(n) FROM (SELECT count(*) AS n FROM trips UNION ALL SELECT count(*) FROM stations) t",
        &["SELECT sum(n) FROM (SELECT count(*) AS n FROM trips UNION ALL SELECT count(*) FROM stations) t"],
    ),
    (
        "Write it into GROUP BY, or leave it out",
        &[
            "SELECT q.k FROM (SELECT station AS k FROM trips UNION ALL SELECT city FROM stations) q GROUP BY q.k HAVING count(*) > 5",
        ],
    ),
    (
        "Write x = ANY (ARRAY['a', 'b']), x IN ('a', 'b')",
        &["SELECT count(*) FROM trips WHERE station = ANY (ARRAY['a', 'b']) OR station IN ('a', 'b')"],
    ),
    (
        "Clamp the number: day + LEAST(GREATEST(n, 0), 1000)",
        &["SELECT count(*) FROM trips WHERE day + LEAST(GREATEST(trip_id, 0), 1000)::int < '2024-01-01'"],
    ),
    (
        "wrap the query: SELECT … FROM (…) q ORDER BY …",
        &[
            "SELECT * FROM (SELECT station FROM stations UNION SELECT city FROM stations) q ORDER BY station || 'x'",
        ],
    ),
    (
        "write rtrim(x) LIKE 'pattern', or 'pattern%'.",
        &[
            "SELECT count(*) FROM devices WHERE rtrim(code) LIKE '%1'",
            "SELECT count(*) FROM devices WHERE code LIKE '%1%'",
        ],
    ),
    (
        "Write nth_value(x, 2)",
        &[
            "SELECT count(*) FROM (SELECT nth_value(fare, 2) OVER (PARTITION BY rider_id ORDER BY started_at) AS x FROM trips) t WHERE x > 5",
        ],
    ),
    (
        "Write the FULL JOIN as UNION ALL of two LEFT JOINs",
        &[
            "SELECT count(*) FROM (SELECT rank() OVER (PARTITION BY q.u ORDER BY q.slot) AS n FROM (SELECT d.rider_id AS u, d.slot FROM devices d LEFT JOIN trips t ON t.rider_id = d.rider_id UNION ALL SELECT t.rider_id, d.slot FROM trips t LEFT JOIN devices d ON t.rider_id = d.rider_id) q) q WHERE n = 1",
        ],
    ),
    (
        "Join by the columns of a key; or number the rows of each unit",
        &[
            "SELECT count(*) FROM trips t JOIN riders r ON r.rider_id = t.rider_id",
            "SELECT count(*) FROM (SELECT rider_id, station, count(*) AS n FROM trips GROUP BY 1, 2) a JOIN (SELECT rider_id, station, row_number() OVER (PARTITION BY rider_id ORDER BY station) AS n FROM (SELECT DISTINCT rider_id, station FROM trips) t) b ON a.rider_id = b.rider_id AND b.n <= 100",
        ],
    ),
    (
        "Join the tables themselves, or UNION ALL two LEFT JOINs",
        &["SELECT count(*) FROM trips t FULL JOIN payments p ON p.rider_id = t.rider_id"],
    ),
    (
        "Write SELECT DISTINCT around it, over a derived table",
        &[
            "SELECT count(*) FROM (SELECT DISTINCT rider_id, n FROM (SELECT rider_id, station, count(*) AS n FROM trips GROUP BY rider_id, station) y) t WHERE n > 2",
        ],
    ),
    (
        "Write (SELECT avg(u.x) FROM … u WHERE u.unit = t.unit): one aggregate",
        &[
            "SELECT count(*) FROM trips t WHERE fare > (SELECT avg(u.fare) FROM trips u WHERE u.rider_id = t.rider_id)",
        ],
    ),
    (
        "Select a column by a key of its table, or join the table in FROM",
        &[
            "SELECT count(*) FROM trips t WHERE fare > (SELECT s.capacity FROM stations s WHERE s.station = t.station)",
            "SELECT count(*) FROM trips t JOIN stations s ON s.station = t.station WHERE fare > s.capacity",
        ],
    ),
    (
        "Group by columns of the public side, or write an inner JOIN",
        &[
            "SELECT s.city, count(t.fare) FROM stations s LEFT JOIN trips t ON t.station = s.station GROUP BY s.city",
            "SELECT t.stars, count(t.fare) FROM stations s JOIN trips t ON t.station = s.station GROUP BY t.stars",
        ],
    ),
    (
        "Write it: date_bin('15 minutes', ts, TIMESTAMP '2001-01-01')",
        &[
            "SELECT count(*) FROM trips WHERE date_bin('15 minutes', started_at, TIMESTAMP '2001-01-01') > '2024-01-01'",
        ],
    ),
    (
        "Write the format into the statement: to_char(ts, 'YYYY-MM')",
        &["SELECT count(*) FROM trips WHERE to_char(started_at, 'YYYY-MM') = '2024-01'"],
    ),
    (
        "Fields of an age are year, month, day, hour, minute and second; a - b has an epoch: extract(epoch FROM a - b)",
        &[
            "SELECT avg(extract(epoch FROM started_at - day)), avg(extract(second FROM age(started_at, day))) FROM trips",
        ],
    ),
    (
        "Ask for each branch by itself: SELECT 'trips' AS kind, stddev(minutes) FROM trips UNION ALL",
        &[
            "SELECT 'trips' AS kind, stddev(minutes) FROM trips UNION ALL SELECT 'stations', stddev(capacity) FROM stations",
            "SELECT count(*) FROM (SELECT station FROM trips GROUP BY station UNION SELECT station FROM stations) d",
        ],
    ),
    (
        "Write IN: t.station IN (SELECT x.station FROM (SELECT station, count(*) AS n FROM trips GROUP BY station) x WHERE n > 5)",
        &[
            "SELECT count(*) FROM trips t WHERE t.station IN (SELECT x.station FROM (SELECT station, count(*) AS n FROM trips GROUP BY station) x WHERE n > 5)",
        ],
    ),
    ("one point: to_number(note, '999,999.99')", &["SELECT sum(to_number(note, '999,999.99')) FROM trips"]),
    (
        "It may stand in WHERE, among AND and OR; elsewhere compare with min or max: x > (SELECT min(y) FROM …)",
        &[
            "SELECT count(*) FROM trips WHERE minutes > ANY (SELECT capacity FROM stations) OR fare > 5",
            "SELECT minutes > (SELECT min(capacity) FROM stations), count(*) FROM trips GROUP BY 1",
        ],
    ),
    (
        "End with the text of a member: payload->'device'->>'os'",
        &["SELECT count(*) FROM app_events WHERE payload->'device'->>'os' IS NOT NULL"],
    ),
    (
        "Write the name of a member: payload->>'device'. Elements of lists have none",
        &["SELECT count(*) FROM app_events WHERE payload->>'ok' = 'true'"],
    ),
    (
        "Write the column's name: payload->>'device'",
        &["SELECT payload->>'ok', count(*) FROM app_events GROUP BY 1"],
    ),
    (
        "Declared are payload->'device'->>'os'",
        &["SELECT payload->'device'->>'os', count(*) FROM app_events GROUP BY 1"],
    ),
    (
        "Cut the timestamp: date_trunc('hour', ts)::time",
        &["SELECT date_trunc('hour', started_at)::time, count(*) FROM trips GROUP BY 1"],
    ),
    (
        "SELECT minutes, count(*) FROM trips WHERE minutes > (SELECT avg(minutes) FROM trips) GROUP BY minutes",
        &[
            "SELECT minutes, count(*) FROM trips WHERE minutes > (SELECT avg(minutes) FROM trips) GROUP BY minutes",
        ],
    ),
    (
        "mode() WITHIN GROUP (ORDER BY x) … WHERE x IN ('a', 'b')",
        &[
            "SELECT mode() WITHIN GROUP (ORDER BY city) FROM riders WHERE city IN ('a', 'b')",
            "SELECT note, mode() WITHIN GROUP (ORDER BY station) FROM trips WHERE station IN ('a', 'b') GROUP BY note",
        ],
    ),
    (
        "mode() WITHIN GROUP (ORDER BY x) finds the most frequent of public values",
        &["SELECT mode() WITHIN GROUP (ORDER BY station) FROM trips"],
    ),
    (
        "a number from 0 to 1 with at most nine digits: percentile_cont(0.5)",
        &["SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY minutes) FROM trips"],
    ),
    (
        "Aggregate them: SELECT count(*), avg(x) … GROUP BY …",
        &["SELECT plan, count(*), avg(birth_year) FROM riders GROUP BY plan"],
    ),
    (
        "SELECT k, count(*) … GROUP BY k ORDER BY 2 LIMIT 10",
        &["SELECT station AS k, count(*) FROM trips GROUP BY k ORDER BY 2 LIMIT 10"],
    ),
    (
        "SELECT avg(n) FROM (SELECT rider_id, count(*) AS n FROM trips GROUP BY rider_id) t",
        &["SELECT avg(n) FROM (SELECT rider_id, count(*) AS n FROM trips GROUP BY rider_id) t"],
    ),
    (
        "SELECT avg(n) FROM (SELECT rider_id, k, count(*) AS n FROM … GROUP BY rider_id, k) t",
        &[
            "SELECT avg(n) FROM (SELECT rider_id, trip_id, count(*) AS n FROM trips GROUP BY rider_id, trip_id) t",
            "SELECT avg(n) FROM (SELECT t.rider_id, l.trip_id, count(*) AS n FROM legs l JOIN trips t ON t.trip_id = l.trip_id GROUP BY t.rider_id, l.trip_id) t",
        ],
    ),
    (
        "Take fewer of them: ORDER BY … LIMIT 100",
        &[
            "SELECT count(*) FROM trips t JOIN (SELECT minutes, count(*) AS n FROM trips GROUP BY minutes ORDER BY 2 LIMIT 100) m ON m.minutes = t.minutes",
        ],
    ),
    (
        "Write x LIKE ANY (ARRAY['a%', 'b%'])",
        &["SELECT count(*) FROM riders WHERE city LIKE ANY (ARRAY['N%', 'E%'])"],
    ),
    ("(SELECT count(*) FROM … WHERE …) > 10", &["SELECT (SELECT count(*) FROM trips WHERE fare > 50) > 10"]),
    (
        "Write GROUP BY ROLLUP (a, b), or GROUP BY a, GROUPING SETS ((b), ())",
        &["SELECT plan, active, count(*) FROM riders GROUP BY plan, GROUPING SETS ((active), ())"],
    ),
    (
        "List those that you need: GROUP BY GROUPING SETS",
        &[
            "SELECT station, stars, sum(minutes) FROM trips GROUP BY GROUPING SETS ((station, stars), (station), ())",
        ],
    ),
    (
        "Write GROUPING(a, b)",
        &["SELECT plan, grouping(plan, active), count(*) FROM riders GROUP BY CUBE (plan, active)"],
    ),
    (
        "Release the values that enough rows have, and aggregate them",
        &[
            "SELECT sum(stars) FROM (SELECT stars FROM trips GROUP BY stars HAVING count(*) > 10) d",
            "SELECT string_agg(station, ', ') FROM (SELECT station FROM trips GROUP BY station HAVING count(*) > 10) d",
            "SELECT array_agg(note) FROM (SELECT note FROM trips GROUP BY note HAVING count(*) > 10) d",
            "SELECT min(plan), max(plan) FROM (SELECT plan FROM riders GROUP BY plan HAVING count(*) > 10) d",
            "SELECT variance(minutes) FROM (SELECT minutes FROM trips GROUP BY minutes HAVING count(*) > 10) d",
        ],
    ),
    (
        "Group by the unit below and by the sets above",
        &[
            "SELECT s, avg(n) FROM (SELECT rider_id, station AS s, count(*) AS n FROM trips GROUP BY rider_id, s) t GROUP BY ROLLUP (s)",
        ],
    ),
    (
        "Write ON ",
        &[
            "SELECT count(*) FROM trips t JOIN riders r ON t.rider_id = r.rider_id",
            "SELECT count(*) FROM trips t JOIN payments p ON t.rider_id = p.rider_id",
        ],
    ),
    (
        "into its WHERE",
        &[
            "SELECT count(*) FROM riders r WHERE EXISTS (SELECT 1 FROM trips t WHERE t.fare > 50 AND t.rider_id = r.rider_id)",
        ],
    ),
    (
        "into the subquery's WHERE",
        &[
            "SELECT count(*) FROM trips t WHERE t.minutes IN (SELECT u.minutes FROM trips u WHERE u.rider_id = t.rider_id)",
        ],
    ),
    (
        "SELECT rider_id, … UNION ALL SELECT rider_id, …",
        &[
            "SELECT count(*) FROM (SELECT rider_id, fare FROM trips UNION ALL SELECT rider_id, amount FROM payments) q",
        ],
    ),
    (
        "Release each by itself",
        &[
            "WITH a AS (SELECT station, count(*) AS n FROM trips GROUP BY station), b AS (SELECT station, sum(fare) AS f FROM trips GROUP BY station) SELECT a.n, b.f FROM a JOIN b USING (station)",
        ],
    ),
    (
        "Clamp it in the query, LEAST(GREATEST(",
        &[
            "SELECT sum(LEAST(GREATEST(version, 0), 10)) FROM devices",
            "SELECT sum(LEAST(GREATEST(serial, 0), 10)) FROM devices",
            "SELECT sum(LEAST(GREATEST(trip_id, 0), 10)) FROM trips",
        ],
    ),
    (
        "Clamp the divisor away from 0: GREATEST(x, 1)",
        &["SELECT sum(fare / GREATEST(minutes, 1)) FROM trips"],
    ),
    (
        "count(DISTINCT coalesce(d.rider_id, t.rider_id)) counts units",
        &[
            "SELECT count(DISTINCT coalesce(d.rider_id, t.rider_id)) FROM devices d FULL JOIN trips t ON t.rider_id = d.rider_id",
        ],
    ),
    (
        "Write an inner JOIN.",
        &[
            "SELECT s.station, count(DISTINCT t.stars) FROM stations s JOIN trips t ON t.station = s.station GROUP BY 1",
        ],
    ),
    (
        "count(DISTINCT r.rider_id) counts units",
        &["SELECT count(DISTINCT r.rider_id) FROM riders r LEFT JOIN trips t ON t.rider_id = r.rider_id"],
    ),
    (
        "ts + interval '1 day'",
        &["SELECT count(*) FROM trips WHERE started_at + interval '1 day' < '2024-01-01'"],
    ),
    ("day + 30", &["SELECT count(*) FROM trips WHERE day + 30 < '2024-01-01'"]),
    (
        "age(DATE '2025-01-01', born)",
        &["SELECT extract(year FROM age(DATE '2025-01-01', day)), count(*) FROM trips GROUP BY 1"],
    ),
    ("replace(note, 'from', 'to')", &["SELECT count(*) FROM trips WHERE replace(note, 'from', 'to') = 'to'"]),
    ("left(note, 3)", &["SELECT count(*) FROM trips WHERE left(note, 3) = 'fin'"]),
    ("left(x, 1000)", &["SELECT count(*) FROM trips WHERE length(left(note, 1000)) > 3"]),
    ("split_part(note, ' ', 1)", &["SELECT count(*) FROM trips WHERE split_part(note, ' ', 1) = 'fine'"]),
    ("note || ' ' || stars", &["SELECT count(*) FROM trips WHERE note || ' ' || stars = 'fine 5'"]),
    (
        "interval '90 days', interval '1 day 02:30:00'",
        &["SELECT count(*) FROM trips WHERE started_at + interval '1 day 02:30:00' < '2024-01-01'"],
    ),
    ("Write a = b OR a = c", &["SELECT count(*) FROM trips WHERE minutes = stars OR minutes = fare"]),
    (
        "Write private LEFT JOIN public, or an inner JOIN",
        &["SELECT count(*) FROM trips t LEFT JOIN stations s ON s.station = t.station"],
    ),
    (
        "SELECT k, count(*), rank() OVER (ORDER BY count(*)) … GROUP BY k",
        &["SELECT plan AS k, count(*), rank() OVER (ORDER BY count(*)) FROM riders GROUP BY k"],
    ),
    ("Write (SELECT …) AS q", &["SELECT count(*) FROM (SELECT fare FROM trips) AS q"]),
    ("SELECT (SELECT count(*) FROM …)", &["SELECT (SELECT count(*) FROM riders)"]),
    (
        "noisegate.help WHERE topic = 'functions'",
        &["SELECT text FROM noisegate.help WHERE topic = 'functions'"],
    ),
    ("WHERE k = 'a'", &["SELECT count(*) FROM riders WHERE city = 'Norwick'"]),
    ("extract(epoch FROM a - b)", &["SELECT avg(extract(epoch FROM started_at - day)) FROM trips"]),
    (
        "a - b < interval '30 days'",
        &["SELECT count(*) FROM trips WHERE started_at - day < interval '30 days'"],
    ),
    (
        "(SELECT avg(u.x) FROM … u WHERE u.unit = t.unit AND …)",
        &[
            "SELECT count(*) FROM trips t WHERE t.fare > (SELECT avg(u.fare) FROM trips u WHERE u.rider_id = t.rider_id)",
        ],
    ),
    (
        "count(t.x)",
        &[
            "SELECT s.station, count(t.trip_id) FROM stations s LEFT JOIN trips t ON t.station = s.station GROUP BY s.station",
        ],
    ),
    (
        "row_number() OVER (PARTITION BY the unit ORDER BY …) AS n, and filter n <= 3",
        &[
            "SELECT count(*) FROM (SELECT rider_id, fare, row_number() OVER (PARTITION BY rider_id ORDER BY fare) AS n FROM trips) t WHERE n <= 3",
        ],
    ),
    (
        "lag(x) OVER (PARTITION BY unit ORDER BY …)",
        &[
            "SELECT count(*) FROM (SELECT rider_id, fare - lag(fare) OVER (PARTITION BY rider_id ORDER BY started_at) AS d FROM trips) t WHERE d > 0",
        ],
    ),
    (
        "PARTITION BY trips.rider_id, the privacy unit",
        &[
            "SELECT count(*) FROM (SELECT rider_id, rank() OVER (PARTITION BY trips.rider_id ORDER BY fare) AS n FROM trips) t WHERE n = 1",
        ],
    ),
    (
        "stddev and their kin, bool_and and bool_or; over windows",
        &[
            "SELECT count(*) FROM (SELECT rider_id, count(*) AS n, max(fare) AS m FROM trips GROUP BY rider_id) t WHERE n > 2 AND m > 20",
        ],
    ),
    (
        "WHERE city IN ('a', 'b') makes groups",
        &["SELECT city, count(*) FROM riders WHERE city IN ('a', 'b') GROUP BY city"],
    ),
    (
        "WHERE note IN ('a', 'b') makes groups",
        &["SELECT note, count(*) FROM trips WHERE note IN ('a', 'b') GROUP BY note"],
    ),
    (
        "give the columns in them ranges by WHERE (x BETWEEN 0 AND 99)",
        &["SELECT trip_id / 10, count(*) FROM trips WHERE trip_id BETWEEN 0 AND 99 GROUP BY 1"],
    ),
    (
        "BETWEEN 0 AND 99 makes each of these numbers",
        &["SELECT trip_id, count(*) FROM trips WHERE trip_id BETWEEN 0 AND 99 GROUP BY trip_id"],
    ),
    (
        "GROUP BY floor(LEAST(GREATEST(",
        &["SELECT floor(LEAST(GREATEST(version, 0), 100) / 10) * 10, count(*) FROM devices GROUP BY 1"],
    ),
    (
        "a count, sum or avg",
        &["SELECT station FROM trips WHERE fare > 1 GROUP BY station HAVING count(*) > 100"],
    ),
    ("HAVING count(*) > 100", &["SELECT station FROM trips GROUP BY station HAVING count(*) > 100"]),
    (
        "to_date(note, 'YYYY-MM-DD')",
        &["SELECT count(*) FROM trips WHERE to_date(note, 'YYYY-MM-DD') > '2024-01-01'"],
    ),
    (
        "date_trunc('minute', ts)",
        &["SELECT count(*) FROM trips WHERE to_char(date_trunc('minute', started_at), 'HH24:MI') = '08:00'"],
    ),
    (
        "to_char(ts, 'YYYY-MM')",
        &["SELECT count(*) FROM trips WHERE to_char(started_at, 'YYYY-MM') = '2024-05'"],
    ),
    ("exp(LEAST(GREATEST(x, -10), 10))", &["SELECT sum(exp(LEAST(GREATEST(minutes, -10), 10))) FROM trips"]),
    ("power(GREATEST(x, 1), -1)", &["SELECT sum(power(GREATEST(minutes, 1), -1)) FROM trips"]),
    ("WHERE x <> 'NaN'", &["SELECT count(*) FROM devices WHERE battery <> 'NaN'"]),
    (r"such as '^[A-Z]+-\d{3}$'", &[r"SELECT count(*) FROM trips WHERE note ~ '^[A-Z]+-\d{3}$'"]),
    (
        "(a, b) = (1, 2), (a, b) IN ((1, 2), (3, 4))",
        &[
            "SELECT count(*) FROM trips WHERE (stars, minutes) = (1, 2) OR (stars, minutes) IN ((1, 2), (3, 4))",
        ],
    ),
    ("Write power(x, 2)", &["SELECT sum(power(stars, 2)) FROM trips"]),
    (
        "width_bucket(fare, 0, 60, 12)",
        &["SELECT width_bucket(fare, 0, 60, 12), count(*) FROM trips GROUP BY 1"],
    ),
    (
        "date_bin('15 minutes', ts, TIMESTAMP '2001-01-01')",
        &[
            "SELECT count(*) FROM trips WHERE date_bin('15 minutes', started_at, TIMESTAMP '2001-01-01') > '2024-03-01'",
            "SELECT date_trunc('month', started_at), count(*) FROM trips GROUP BY 1",
        ],
    ),
    (
        "ts + interval '1 minute' * LEAST(GREATEST(n, 0), 1000)",
        &[
            "SELECT count(*) FROM trips WHERE started_at + interval '1 minute' * LEAST(GREATEST(minutes, 0), 1000) > '2024-03-01'",
        ],
    ),
    (
        "to_timestamp(LEAST(GREATEST(n, 0), 4000000000))",
        &[
            "SELECT count(*) FROM trips WHERE to_timestamp(LEAST(GREATEST(minutes, 0), 4000000000)) > '2024-03-01'",
        ],
    ),
    (
        "Write log(2, x), or ln(x) / ln(b)",
        &["SELECT sum(log(2, minutes + 1)), sum(ln(minutes + 1) / ln(10)) FROM trips"],
    ),
    (
        "Write ntile(4).",
        &[
            "SELECT avg(q) FROM (SELECT ntile(4) OVER (PARTITION BY rider_id ORDER BY fare) AS q FROM trips) t",
        ],
    ),
    (
        "JOIN (SELECT k, count(*) AS n FROM t GROUP BY k) x ON x.k = s.k",
        &[
            "SELECT s.station, x.n FROM stations s JOIN (SELECT station AS k, count(*) AS n FROM trips GROUP BY station) x ON x.k = s.station",
        ],
    ),
    (
        "Join the table in FROM: JOIN stations s ON s.station = t.station",
        &["SELECT count(*) FROM trips t JOIN stations s ON s.station = t.station"],
    ),
    ("Write GROUP BY.", &["SELECT answer, count(*) FROM survey GROUP BY answer"]),
    (
        "Units of a range are public groups: GROUP BY date_trunc('month', started_at) with WHERE",
        &[
            "SELECT date_trunc('month', started_at), count(*) FROM trips WHERE started_at BETWEEN '2024-01-01' AND '2024-12-31' GROUP BY 1",
        ],
    ),
    (
        "Begin it with ",
        &[
            "SELECT count(*) FROM (SELECT DISTINCT ON (trips.rider_id) rider_id, fare FROM trips ORDER BY trips.rider_id, fare) t",
        ],
    ),
    (
        "Ask for numbers: SELECT answer, count(*) FROM survey",
        &["SELECT answer, count(*) FROM survey GROUP BY answer"],
    ),
    (
        "Each report is of one value: ask for each by itself",
        &["SELECT count(*) FROM survey WHERE 'Norwick' = ANY (towns)"],
    ),
    (
        "Each report of a set is of one of its values",
        &[
            "SELECT count(*) FILTER (WHERE 'Norwick' = ANY (towns)) FROM survey",
            "SELECT value, count(*) FROM survey, unnest(towns) AS value GROUP BY value",
        ],
    ),
    (
        "Write 'a' = ANY (column), or column @> ARRAY['a']",
        &["SELECT count(*) FROM survey WHERE towns @> ARRAY['Norwick']"],
    ),
    (
        "Write 'a' = ANY (column); to join the values with a table",
        &[
            "SELECT count(*) FROM survey WHERE 'Norwick' = ANY (towns)",
            "SELECT s.capacity, count(*) FROM survey, unnest(towns) AS value JOIN stations AS s ON s.city = value GROUP BY 1",
        ],
    ),
    (
        "Write FROM survey CROSS JOIN unnest(column) AS value",
        &["SELECT value, count(*) FROM survey CROSS JOIN unnest(towns) AS value GROUP BY value"],
    ),
    (
        "FROM survey, unnest(column) AS value WHERE value = 'a'",
        &["SELECT count(*) FROM survey, unnest(towns) AS value WHERE value = 'Norwick'"],
    ),
    (
        "Write it on the side that is kept: survey LEFT JOIN",
        &[
            "SELECT answer, count(*) FROM survey LEFT JOIN stations AS s ON s.city = survey.answer GROUP BY answer",
        ],
    ),
];

/// Hints of the planner and of what reads statements that no golden script shows: a piece of each, and why.
const NOT_SHOWN: &[(&str, &str)] = &[
    ("Write strpos(b, a)", "hundreds of POSITIONs in one another: tests/wire/bad_input"),
    ("Write EXPLAIN (FORMAT JSON)", "no query: tests/answers/explain.rs"),
    ("or for an accuracy in their unit", "more than one release: tests/answers/cache/questions.rs"),
    ("It takes an epsilon from 1e-9 to 1000", "no query: tests/answers/explain.rs"),
    ("BUDGET proposes prices, and asks nothing", "no query: tests/answers/explain.rs"),
    ("the policy's statement.min_epsilon: ask for fewer", "no query: tests/answers/explain.rs"),
    ("noisegate answers SELECT", "no query: tests/wire/bad_input"),
    ("the privacy unit, and what you like behind it", "told in the words of what stands around it"),
    ("Round its factors: round(x, 6)", "a product of dozens of columns"),
    ("Compare with = or IN", "texts under a nondeterministic collation: tests/recorder"),
    ("or tie it to the unit: (SELECT avg(u.x)", "behind what is released first"),
    ("Write SELECT instead", "VALUES in brackets is no expression to the parser"),
    ("Group by keys whose values are public, or write", "more values than limits.max_public_groups"),
    ("makes a group of this value public", "the bikes have no uuid: below"),
    ("Ask for each set once, or SET", "under noisegate.intervals: below"),
    ("paths = ", "a key of the policy, for its owner"),
    ("is estimated from randomised reports", "a sentence of EXPLAIN, and no hint"),
    ("for a report that supports a value", "a sentence of EXPLAIN, and no hint"),
];

/// Hints that tell a name or a rule, and no statement; a piece of each.
const IN_WORDS: &[&str] = &[
    "to the database itself",
    "are supported",
    "SET noisegate.",
    "The columns here are",
    "The policy names these tables",
    "Perhaps you meant",
    "lists the others",
    "Leave out ",
    "Only functions of pg_catalog",
    "Write a name, such as",
    "Casts ",
    "Below an aggregate there are",
    "Compare numbers and dates",
    "Only texts are taken",
    "select the keys alone",
];

/// All hints of the golden scripts, and what EXPLAIN says of private groups.
fn hints() -> BTreeSet<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut out = BTreeSet::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for line in text.lines().map(|l| l.trim_start_matches("> ").trim()) {
            let hint = line.strip_prefix("HINT: ").or_else(|| line.strip_prefix("to make them public: "));
            out.extend(hint.map(str::to_owned));
        }
    }
    out
}

/// It says how something is written.
fn has_example(hint: &str) -> bool {
    let words = ["SELECT", "WHERE ", "GROUP BY", "HAVING", "JOIN", "UNION", "ORDER BY", "OVER ("];
    words.iter().any(|w| hint.contains(w)) || hint.contains('(') && hint.contains(')') || hint.contains(" = ")
}

/// A string literal that begins behind its quote, without what is put into it: the pieces between.
fn literal(text: &str) -> (String, Vec<String>) {
    let (mut all, mut escaped) = (String::new(), false);
    for c in text.chars() {
        match (c, escaped) {
            ('"', false) => break,
            ('\\', false) => escaped = true,
            // A line of the text goes on behind the indentation of the next.
            ('\n', true) => escaped = false,
            (' ', _) if all.ends_with(' ') => {}
            _ => {
                all.push(c);
                escaped = false;
            }
        }
    }
    let pieces = all.split('{').map(|p| p.split_once('}').map_or(p, |(_, rest)| rest));
    let pieces = pieces.filter(|p| p.len() > 3).map(str::to_owned).collect();
    (all, pieces)
}

/// The texts of hints in the sources of a package: what stands in `.hint(…)`, and every other sentence that is no detail, since a hint
/// may be a constant, an argument, or one of several.
fn written(folder: &std::path::Path, out: &mut Vec<Vec<String>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            written(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let begins = |piece: &str| {
                let piece = piece.trim_start().trim_start_matches("format!(").trim_start();
                piece.strip_prefix('"').map(literal)
            };
            let hints = text.split(".hint(").skip(1).filter_map(begins);
            out.extend(hints.filter(|(all, _)| has_example(all)).map(|(_, pieces)| pieces));
            let sentence = |all: &str| all.ends_with('.') && all.starts_with(char::is_uppercase);
            // Comments, tests and entries for people are no refusals.
            let code = text.split("mod tests {").next().unwrap_or_default();
            let lines = code.lines().filter(|l| !l.trim_start().starts_with("//"));
            let code: String = lines.map(|l| format!("{l}\n")).collect();
            for (at, _) in code.match_indices('"') {
                let (all, pieces) = literal(&code[at + 1..]);
                let before = code[..at].trim_end().trim_end_matches("format!(").trim_end();
                let detail = before.ends_with(".detail(");
                if sentence(&all) && has_example(&all) && !detail && !out.contains(&pieces) {
                    out.push(pieces);
                }
            }
        }
    }
}

/// Every hint with an example is shown by a golden script, so that its example is tried.
#[test]
fn hints_with_examples_are_shown() {
    let (sources, all) = (std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), hints());
    let mut texts = Vec::new();
    ["plan", "sql"].iter().for_each(|package| written(&sources.join(package), &mut texts));
    assert!(texts.len() > 80, "{}", texts.len());
    let shown = |pieces: &Vec<String>| all.iter().any(|h| pieces.iter().all(|p| h.contains(p)));
    let excused =
        |pieces: &Vec<String>| pieces.iter().any(|p| NOT_SHOWN.iter().any(|(part, _)| p.contains(part)));
    let missing: Vec<_> = texts.iter().filter(|t| !shown(t) && !excused(t)).collect();
    assert!(missing.is_empty(), "no golden script shows these:\n{missing:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_hints_say_to_write_is_accepted() {
    let bikes = Bikes::collecting().await;
    let all = hints();
    assert!(all.len() > 50, "{}", all.len());
    let known = |h: &str| {
        TRIED.iter().any(|(part, _)| h.contains(part)) || IN_WORDS.iter().any(|part| h.contains(part))
    };
    let untried: Vec<&String> = all.iter().filter(|h| has_example(h) && !known(h)).collect();
    assert!(untried.is_empty(), "say in TRIED what these are tried with:\n{untried:#?}");
    let mut wrong = Vec::new();
    for (part, statements) in TRIED {
        if !all.iter().any(|h| h.contains(part)) {
            wrong.push(format!("no golden script shows a hint with: {part}"));
        }
        for sql in *statements {
            if let Err(e) = bikes.ask(sql).await {
                wrong.push(format!("{part}\n  {sql}\n  {e:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What no script can show is followed, too: under a setting, and of a type that the bikes do not have.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn hints_that_no_script_shows_are_followed() {
    let mut survey = Bikes::collecting().await;
    survey.intervals = true;
    let refused =
        survey.ask("SELECT answer, count(*) FROM survey GROUP BY GROUPING SETS ((answer), (answer))");
    let refused = refused.await.err().unwrap();
    assert!(refused.hint.unwrap().starts_with("Ask for each set once, or SET noisegate.intervals = off."));
    let once = "SELECT answer, count(*) FROM survey GROUP BY GROUPING SETS ((answer), ())";
    survey.ask(once).await.unwrap_or_else(|e| panic!("{e:?}"));
    survey.intervals = false;
    let twice = "SELECT answer, count(*) FROM survey GROUP BY GROUPING SETS ((answer), (answer))";
    survey.ask(twice).await.unwrap_or_else(|e| panic!("{e:?}"));

    let keys = "CREATE TABLE people (id int PRIMARY KEY, k uuid NOT NULL)";
    let rules = "[privacy]\nunit = \"people.id\"\n[statement]\ndelta = 1e-6\n[[budget]]\nname = \"everyone\"\naccounting = \"approx\"\n\
                 epsilon = 100\ndelta = 0.5\n[table.people]\nunit_column = \"id\"\ncolumns.k = {}\n";
    let people = Bikes::over(support::database(keys).await, rules).await;
    let plan =
        people.plan("SELECT k, count(*) FROM people GROUP BY k").await.unwrap_or_else(|e| panic!("{e:?}"));
    let listed = "WHERE k IN ('00000000-0000-0000-0000-000000000001')";
    assert!(plan.releases[0].groups_remedy.starts_with(listed), "{}", plan.releases[0].groups_remedy);
    let asked = people.ask(&format!("SELECT k, count(*) FROM people {listed} GROUP BY k")).await;
    assert_eq!(asked.unwrap_or_else(|e| panic!("{e:?}")).rows.len(), 1);
}

/// Analysts have the proxy and no checkout of it: what they are told names relations, settings and keys of the policy, and no
/// file. Looked for in all strings of the packages whose words reach a client.
#[test]
fn no_text_for_analysts_names_a_file_of_the_repository() {
    const PACKAGES: &[&str] = &[
        "answer", "backend", "catalogs", "emit", "frontend", "gateway", "grammar", "kernel", "ledger",
        "plan", "release", "sql", "store",
    ];
    const FILES: &[&str] =
        &["docs/", ".md", ".toml", "README", "CONTRIBUTING", "config/", "tests/", "src/", "examples/"];
    // `.md` is the end of a name, and the beginning of another function's.
    let names_a_file = |line: &str| {
        FILES.iter().any(|f| {
            line.match_indices(f).any(|(at, _)| {
                let next = line[at + f.len()..].chars().next();
                f.ends_with('/') || !next.is_some_and(char::is_alphanumeric)
            })
        })
    };
    fn sources(folder: &std::path::Path, out: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            match path.is_dir() {
                true if name != "tests" => sources(&path, out),
                false if path.extension().is_some_and(|e| e == "rs") && !name.ends_with("tests") => {
                    out.push(path)
                }
                _ => {}
            }
        }
    }
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    PACKAGES.iter().for_each(|p| sources(&root.join(p), &mut files));
    assert!(files.len() > 200, "{}", files.len());
    let mut strings = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let text = text.split("mod tests {\n").next().unwrap();
        for line in text.lines().filter(|l| !l.trim_start().starts_with("//") && l.contains('"')) {
            strings += 1;
            assert!(!names_a_file(line), "{}: {line}", file.display());
        }
    }
    assert!(strings > 1_000, "{strings}");
    let help = noisegate::gateway::help::HELP.iter().flat_map(|(_, lines)| *lines).copied();
    for line in help.chain(noisegate::plan::expr::entries().flat_map(|e| [e.form, e.types])) {
        assert!(!names_a_file(line), "{line}");
    }
}
