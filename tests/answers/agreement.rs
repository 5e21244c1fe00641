//! Where the price is so high that no noise is left and no bound binds, the answer is PostgreSQL's own to the
//! analyst's own text: values, types, NULLs, order.

use crate::bikes::Bikes;
use bigdecimal::BigDecimal;
use std::str::FromStr;

/// Statements whose answer must be equal. Groups of a public domain come back even where they are empty, so
/// statements over such domains filter on the count.
const STATEMENTS: &[&str] = &[
    // Counts and sums without groups.
    "SELECT count(*) FROM riders",
    "SELECT count(*), count(stars), count(DISTINCT rider_id), sum(stars), sum(minutes), sum(fare) FROM trips",
    "SELECT count(rider_id), count(DISTINCT rider_id), count(1), count('x'), count(NULL) FROM riders",
    "SELECT avg(minutes), avg(fare), avg(stars) FROM trips",
    "SELECT sum(battery), avg(battery), sum(signal), avg(signal) FROM devices",
    "SELECT count(*) FILTER (WHERE minutes > 60), sum(fare) FILTER (WHERE stars = 5), avg(fare) FILTER (WHERE stars IS NULL) FROM trips",
    "SELECT sum(1), sum(2.5), avg(7), count(*) FROM trips",
    // Signs belong to constants before these have a type.
    "SELECT sum(- -2147483648), sum(-2147483648), sum(-(-2147483648)), sum(- - -7), sum(+ -2.5) FROM trips",
    "SELECT sum(trip_id % 1000) FROM (SELECT least(greatest(trip_id, 0), 100000) AS trip_id FROM trips) t",
    // Variances, covariances, regressions; what decides a condition.
    "SELECT variance(minutes), var_samp(minutes), var_pop(minutes), stddev(minutes), stddev_samp(stars), stddev_pop(stars) FROM trips",
    "SELECT var_pop(fare), var_samp(fare), count(*), avg(fare), sum(fare), stddev_pop(fare) FROM trips",
    "SELECT variance(battery), stddev(battery), var_pop(signal), stddev_pop(signal) FROM devices",
    "SELECT corr(fare, minutes), corr(minutes, stars), covar_pop(fare, minutes), covar_samp(stars, minutes) FROM trips",
    "SELECT regr_slope(fare, minutes), regr_intercept(fare, minutes), regr_r2(fare, minutes), regr_count(stars, minutes) FROM trips",
    "SELECT regr_avgx(stars, minutes), regr_avgy(stars, minutes), regr_sxx(stars, minutes), regr_syy(stars, minutes), regr_sxy(stars, minutes) FROM trips",
    "SELECT corr(battery, signal), regr_slope(signal, battery) FROM devices",
    "SELECT variance(7), stddev_pop(2.5), corr(minutes, 1), regr_r2(1, minutes), regr_slope(3, minutes), covar_pop(minutes, 2) FROM trips",
    "SELECT variance(minutes) FILTER (WHERE stars = 5), corr(fare, minutes) FILTER (WHERE stars IS NOT NULL), regr_count(fare, stars) FILTER (WHERE minutes > 30) FROM trips",
    "SELECT station, stddev(fare), var_pop(minutes - stars), regr_slope(fare * 2, minutes) FROM trips GROUP BY station HAVING count(*) > 3 ORDER BY 1",
    "SELECT plan, var_samp(birth_year) FROM riders GROUP BY plan ORDER BY plan",
    "SELECT bool_and(minutes > 0), bool_or(minutes > 1000), every(stars > 3), bool_or(stars = 5), bool_and(stars > 0) FILTER (WHERE stars > 3), bool_or(NULL::boolean) FROM trips",
    "SELECT active, bool_or(plan = 'day'), every(birth_year > 1900) FROM riders GROUP BY active ORDER BY 1",
    "SELECT count(DISTINCT rider_id) FILTER (WHERE minutes > 60), count(DISTINCT rider_id) FILTER (WHERE stars = 5), count(DISTINCT rider_id) FROM trips",
    "SELECT station, count(DISTINCT rider_id) FILTER (WHERE fare > 30) FROM trips GROUP BY station HAVING count(*) > 0 ORDER BY 1",
    // Quantiles where the rank lies within a value, least and greatest values, modes.
    "SELECT percentile_disc(0.37) WITHIN GROUP (ORDER BY fare), percentile_disc(0.513) WITHIN GROUP (ORDER BY fare DESC) FROM trips",
    "SELECT percentile_disc(ARRAY[0.251, 0.503, 0.749]) WITHIN GROUP (ORDER BY fare), percentile_cont(ARRAY[0.5]) WITHIN GROUP (ORDER BY birth_year / 30) FROM trips JOIN riders USING (rider_id)",
    "SELECT min(birth_year / 20), max(birth_year / 20), count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY birth_year / 30) FROM riders",
    "SELECT percentile_disc(0.123) WITHIN GROUP (ORDER BY fare) FILTER (WHERE stars = 5) FROM trips",
    "SELECT mode() WITHIN GROUP (ORDER BY station), mode() WITHIN GROUP (ORDER BY stars > 2), count(*) FROM trips",
    "SELECT active, count(*), percentile_disc(0.31) WITHIN GROUP (ORDER BY birth_year), sum(birth_year) FROM riders GROUP BY active ORDER BY 1",
    "SELECT kind, mode() WITHIN GROUP (ORDER BY kind) FROM devices GROUP BY kind HAVING count(*) > 0 ORDER BY 1",
    // WHERE.
    "SELECT count(*) FROM trips WHERE minutes BETWEEN 10 AND 30 AND station IN ('Central', 'Museum') AND stars IS NOT NULL",
    "SELECT count(*) FROM trips WHERE NOT (note LIKE '1%' OR note ILIKE '%TYRE')",
    "SELECT count(*) FROM trips WHERE note LIKE '%!%%' ESCAPE '!' OR note LIKE 'flat\\_tyre'",
    "SELECT count(*) FROM trips WHERE stars IS DISTINCT FROM 3",
    "SELECT count(*) FROM trips WHERE stars IS NOT DISTINCT FROM NULL",
    "SELECT count(*) FROM trips WHERE stars NOT IN (1, 2)",
    "SELECT count(*) FROM trips WHERE stars NOT IN (1, NULL)",
    "SELECT count(*) FROM trips WHERE stars IN (1, NULL, 5)",
    "SELECT count(*) FROM trips WHERE (stars > 2) IS NOT TRUE",
    "SELECT count(*) FROM trips WHERE (stars > 2) IS UNKNOWN OR stars = 5",
    "SELECT count(*) FROM trips WHERE minutes NOT BETWEEN 20 AND 100",
    "SELECT count(*) FROM trips WHERE started_at >= '2024-01-01' AND day < DATE '2025-01-01'",
    "SELECT count(*) FROM trips WHERE started_at > day AND started_at < timestamp '2024-06-01 12:00'",
    "SELECT count(*) FROM payments WHERE paid_at >= '2024-01-01 00:00+02'",
    "SELECT count(*) FROM trips WHERE day::timestamp <= started_at AND started_at::date = day",
    "SELECT count(*) FROM riders WHERE active AND city = 'Norwick'",
    "SELECT count(*) FROM riders WHERE NOT active OR city IS NULL",
    "SELECT count(*) FROM devices WHERE kind = 'phone' OR battery < 50 AND signal >= 2.5",
    "SELECT count(*) FROM devices WHERE kind IN ('phone', 'watch') AND kind <> 'watch'",
    "SELECT count(*) FROM devices WHERE version > 0.5 AND serial > 5000000000000",
    "SELECT count(*) FROM trips WHERE minutes + stars > 60 AND minutes * 2 < 200 OR -minutes > -10",
    "SELECT count(*) FROM trips WHERE note > 'fine' AND note <= 'flat_tyre'",
    "SELECT count(*) FROM trips WHERE CASE WHEN stars > 3 THEN fare > 20 ELSE minutes > 20 END",
    "SELECT count(*) FROM trips WHERE coalesce(stars, 3) = 3",
    "SELECT count(*) FROM trips WHERE (stars = 5) = (fare > 30)",
    "SELECT count(*) FROM trips WHERE true AND NOT false AND (NULL OR minutes > 50)",
    // Row expressions.
    "SELECT sum(minutes + 1), sum(-minutes), sum(minutes - stars), sum(minutes * stars) FROM trips",
    "SELECT sum(minutes / 7), sum(-minutes / 7), sum(minutes % 7), sum(-minutes % 7), sum(mod(minutes, 60)) FROM trips",
    "SELECT sum(minutes / stars), sum(minutes % stars), sum(stars / 2) FROM trips",
    "SELECT sum(fare + 1), sum(fare - minutes), sum(fare * minutes), sum(fare * 1.19), avg(fare * 2 - 1) FROM trips",
    "SELECT sum(abs(fare - 30)), sum(abs(minutes - 60)), avg(abs(stars - 3)) FROM trips",
    "SELECT sum(round(fare)), sum(round(fare, 1)), sum(round(-fare)), sum(round(minutes, -1)) FROM trips",
    "SELECT sum(floor(fare)), sum(ceil(fare)), sum(ceiling(fare)), sum(trunc(fare)), sum(trunc(fare, 1)), sum(trunc(-fare)) FROM trips",
    "SELECT sum(floor(minutes)), sum(round(minutes)), sum(ceil(minutes)), sum(trunc(minutes)) FROM trips",
    "SELECT sum(floor(battery)), sum(ceil(battery)), sum(trunc(battery)), sum(abs(battery)) FROM devices",
    "SELECT sum(round(battery)), sum(round(signal)), sum(round(battery * 2)), sum(battery::int), sum((battery * 2)::int), sum(signal::int8) FROM devices",
    "SELECT sum(battery * 2), sum(battery + signal), sum(-signal), sum(battery - 1), avg(battery * 0.5) FROM devices",
    "SELECT sum(coalesce(stars, 0)), sum(coalesce(stars, minutes)), sum(coalesce(stars, 1.5)), avg(coalesce(stars, 0)) FROM trips",
    "SELECT sum(nullif(minutes, 5)), count(nullif(note, 'fine')), count(nullif(stars, 5)), sum(nullif(fare, 1.37)) FROM trips",
    "SELECT sum(least(fare, 20)), sum(greatest(fare, stars, 2)), sum(least(minutes, stars)), sum(greatest(minutes, 30)) FROM trips",
    "SELECT sum(CASE WHEN fare > 10 THEN 1 ELSE 0 END), avg(CASE WHEN stars >= 4 THEN 1.0 ELSE 0 END), sum(CASE stars WHEN 1 THEN 10 WHEN 2 THEN 20 END) FROM trips",
    "SELECT sum(CASE WHEN fare > 10 THEN minutes ELSE fare END), count(CASE WHEN note = 'fine' THEN 1 END) FROM trips",
    "SELECT sum(fare::int), sum(minutes::numeric), sum(fare::numeric(4,1)), sum(stars::bigint), avg(minutes::float8), sum(minutes::real) FROM trips",
    "SELECT sum((fare / 4)::numeric(6,2)), sum((-fare)::int), sum((minutes * 0.5)::int) FROM trips",
    "SELECT sum(extract(hour FROM started_at)), sum(extract(dow FROM day)), avg(extract(year FROM started_at)), sum(date_part('month', day)) FROM trips",
    "SELECT sum(extract(minute FROM started_at)), sum(extract(week FROM day)), sum(extract(doy FROM day)), sum(extract(quarter FROM paid.day)), sum(extract(isodow FROM day)) FROM trips paid",
    // Dates, timestamps and what lies between them.
    "SELECT date_trunc('minute', justify_hours(sum(started_at - day::timestamp))), count(started_at - day), avg(day::timestamp - started_at) < interval '0' FROM trips",
    "SELECT sum(day - DATE '2024-01-01'), avg(started_at::date - day), sum(DATE '2025-06-01' - (day + 7) - 3) FROM trips",
    "SELECT round(sum(extract(epoch FROM started_at - day::timestamp)), 1), sum(date_part('hour', started_at - '2024-01-01')), sum(extract(minute FROM day - started_at)) FROM trips",
    "SELECT count(*) FROM trips WHERE started_at - day::timestamp < interval '06:30' AND started_at + interval '1 day' > TIMESTAMP '2024-03-01'",
    "SELECT count(*) FROM trips WHERE started_at + '1 mon 2 days' >= '2024-03-31' OR day - interval '1 year' < '2023-02-01'",
    "SELECT count(*) FROM trips WHERE started_at - day::timestamp BETWEEN interval '1 hour' AND '12:30'::interval",
    "SELECT date_trunc('month', started_at - interval '5 days'), count(*) FROM trips GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT sum(extract(year FROM age(DATE '2031-05-05', day))), sum(extract(month FROM age(day, '2020-02-29'))), sum(date_part('day', age(started_at, TIMESTAMP '2020-01-31'))) FROM trips",
    "SELECT extract(hour FROM paid_at AT TIME ZONE 'Asia/Tokyo'), count(*) FROM payments GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT sum(extract(hour FROM started_at AT TIME ZONE 'America/New_York' AT TIME ZONE 'UTC')), count(*) FILTER (WHERE paid.d > '2024-06-01') FROM (SELECT started_at, timezone('UTC', started_at)::date AS d FROM trips) paid",
    "SELECT date_trunc('second', avg(LEAST(GREATEST(started_at - day::timestamp, interval '0'), interval '12 hours') * 2) + interval '0.1 seconds') FROM trips",
    // Texts.
    "SELECT count(*) FROM trips WHERE lower(note) = 'fine' OR upper(station) LIKE 'MUS%' OR initcap(note) = 'Flat_Tyre'",
    "SELECT sum(length(note)), sum(octet_length(station)), sum(position('e' in note)), sum(strpos(station, 'a')) FROM trips",
    "SELECT upper(left(note, 4)) || right(note, 1), count(*) FROM trips GROUP BY 1 HAVING count(*) > 2 ORDER BY 1",
    "SELECT substring(station from 2 for 2), count(*) FROM trips GROUP BY 1 HAVING count(*) > 4 ORDER BY 1",
    "SELECT count(*) FROM trips WHERE replace(note, 'i', 'oo') = 'foone' OR translate(note, 'fi', 'F') = 'Fne' OR split_part(note, '_', 2) = 'tyre'",
    "SELECT count(*) FROM trips WHERE concat(note, '-', stars) = 'fine-5' OR concat_ws(',', note, stars) = 'fine' OR note || stars = 'fine3'",
    "SELECT count(*) FROM trips WHERE btrim(note, 'ef') = 'in' OR ltrim(note, 'fl') = 'at_tyre' OR rtrim(note) = 'fine' OR trim(both 'f' from note) = 'ine'",
    "SELECT count(*) FROM trips WHERE starts_with(note, 'fi') OR reverse(note) = 'enif' OR minutes::text LIKE '1%'",
    "SELECT left(md5(note), 1) AS bin, count(*) FROM trips GROUP BY bin HAVING count(*) > 2 ORDER BY bin",
    // Joins with public tables.
    "SELECT count(*) FROM trips t JOIN stations s ON s.station = t.station WHERE s.capacity > 25",
    "SELECT count(*), sum(capacity) FROM trips JOIN stations USING (station)",
    "SELECT count(*) FROM trips NATURAL JOIN stations WHERE city = 'Norwick'",
    "SELECT count(*), count(s.station) FROM trips t LEFT JOIN stations s ON s.station = t.station AND s.capacity > 30",
    "SELECT count(*) FROM riders CROSS JOIN stations WHERE capacity > 20",
    "SELECT count(*), count(DISTINCT r.rider_id) FROM riders r, stations s WHERE r.birth_year > 1950 + s.capacity",
    "SELECT count(*) FROM stations s JOIN trips t ON t.station = s.station AND s.capacity < t.minutes",
    "SELECT count(*) FROM trips t JOIN stations a ON a.station = t.station JOIN stations b ON b.city = a.city AND b.station <> a.station",
    "SELECT count(*) FROM trips t JOIN (stations a JOIN stations b ON a.city = b.city) ON t.station = a.station",
    "SELECT count(*), sum(f) FROM (SELECT fare * 2 AS f, station FROM trips WHERE minutes > 5) t JOIN (SELECT station AS st FROM stations WHERE capacity > 20) s ON s.st = t.station WHERE t.f > 10",
    // Public groups.
    "SELECT plan, count(*), avg(birth_year), sum(birth_year) FROM riders GROUP BY plan ORDER BY plan",
    "SELECT active, count(*) FROM riders GROUP BY active ORDER BY active",
    "SELECT active, count(*) FROM riders GROUP BY active ORDER BY active DESC NULLS LAST",
    "SELECT kind, count(*), count(battery), avg(battery) FROM devices GROUP BY kind ORDER BY kind",
    "SELECT kind::text, count(*) FROM devices GROUP BY 1 ORDER BY 1",
    "SELECT method, sum(amount), avg(amount) FROM payments GROUP BY method ORDER BY method",
    "SELECT station, count(*) FROM trips GROUP BY station HAVING count(*) > 0 ORDER BY station",
    "SELECT s.city, count(*), sum(fare) FROM trips t JOIN stations s USING (station) GROUP BY s.city HAVING count(*) > 0 ORDER BY 1",
    "SELECT s.city, count(*) FROM trips t LEFT JOIN stations s ON s.station = t.station AND s.capacity > 30 GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT CASE WHEN minutes < 30 THEN 'short' WHEN minutes < 90 THEN 'medium' END AS length, count(*) FROM trips GROUP BY length ORDER BY 1",
    "SELECT CASE plan WHEN 'day' THEN 1 ELSE 2 END, count(*) FROM riders GROUP BY 1 ORDER BY 1",
    "SELECT stars > 3, fare > 30, count(*) FROM trips GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT stars IN (1, 2), count(*) FROM trips GROUP BY 1 ORDER BY 1",
    "SELECT coalesce(plan, 'none') AS p, count(*) FROM riders GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT city, count(*) FROM riders WHERE city IN ('Norwick', 'Eastport') GROUP BY city ORDER BY city",
    "SELECT stars, count(*), avg(fare) FROM trips WHERE stars IN (4, 5) GROUP BY stars ORDER BY stars",
    "SELECT fare, count(*) FROM trips WHERE fare IN (16.03, 16.7, 2.37) GROUP BY fare HAVING count(*) > 0 ORDER BY fare",
    "SELECT extract(year FROM started_at) AS y, count(*) FROM trips GROUP BY y HAVING count(*) > 0 ORDER BY y",
    "SELECT extract(dow FROM started_at), extract(quarter FROM day), count(*) FROM trips GROUP BY 1, 2 HAVING count(*) > 0 ORDER BY 1, 2",
    "SELECT date_part('hour', started_at), count(*) FROM trips GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT extract(decade FROM day), extract(century FROM day), count(*) FROM trips WHERE extract(century FROM day) = 21 GROUP BY 1, 2 HAVING count(*) > 0 ORDER BY 1, 2",
    "SELECT date_trunc('month', started_at), count(*) FROM trips GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT date_trunc('quarter', day), count(*) FROM trips GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT date_trunc('week', paid_at), count(*) FROM payments GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT date_trunc('year', started_at)::date, count(*) FROM trips GROUP BY date_trunc('year', started_at) HAVING count(*) > 0 ORDER BY 1",
    "SELECT started_at::date, count(*), sum(fare) FROM trips GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT floor(fare / 20) * 20 AS bin, count(*) FROM trips GROUP BY bin HAVING count(*) > 0 ORDER BY bin",
    "SELECT birth_year / 10 * 10 AS decade, count(*) FROM riders GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT round(fare, -1), count(*) FROM trips GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT round(minutes, -2), count(*) FROM trips GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT floor(minutes / 60.0), count(*) FROM trips GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT floor(battery / 25), count(*) FROM devices GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT ceil(stars / 2.0), count(*) FROM trips GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT stars::int, count(*) FROM trips GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT minutes / 60, count(*) FROM trips WHERE minutes >= 60 GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT (minutes - 60) / 50, count(*) FROM trips GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT plan, active, count(*), sum(birth_year) FROM riders GROUP BY plan, active ORDER BY 1, 2",
    "SELECT 'all' AS k, count(*) FROM riders GROUP BY k",
    "SELECT 7 AS k, count(*) FROM riders GROUP BY k",
    "SELECT plan FROM riders GROUP BY plan ORDER BY 1",
    // Public groups that WHERE narrows: no HAVING drops what is empty.
    "SELECT plan, count(*) FROM riders WHERE plan <> 'day' GROUP BY plan ORDER BY plan",
    "SELECT plan, count(*) FROM riders GROUP BY plan HAVING plan LIKE '%a%' ORDER BY plan",
    "SELECT active, count(*) FROM riders WHERE active IS DISTINCT FROM true GROUP BY active ORDER BY 1",
    "SELECT active, plan, count(*) FROM riders WHERE NOT active OR plan = 'day' GROUP BY active, plan ORDER BY 1, 2",
    "SELECT date_trunc('month', started_at), count(*) FROM trips WHERE started_at >= '2023-02-01' AND started_at < '2023-04-01' GROUP BY 1 ORDER BY 1",
    "SELECT date_trunc('month', started_at)::date, count(*) FROM trips WHERE started_at::date BETWEEN '2023-02-01' AND '2023-03-31' GROUP BY 1 ORDER BY 1",
    "SELECT date_trunc('month', day), count(*) FROM trips WHERE extract(year FROM day) = 2024 AND extract(month FROM day) > 10 GROUP BY 1 ORDER BY 1",
    "SELECT extract(quarter FROM started_at), count(*) FROM trips WHERE started_at < '2023-07-01' GROUP BY 1 ORDER BY 1",
    "SELECT extract(year FROM paid_at), count(*) FROM payments WHERE paid_at < '2025-01-01' GROUP BY 1 ORDER BY 1",
    "SELECT paid_at::date, count(*) FROM payments GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT date_trunc('quarter', paid_at), count(*) FROM payments WHERE paid_at >= '2024-01-01' AND paid_at < '2025-01-01' GROUP BY 1 ORDER BY 1",
    "SELECT floor(minutes / 60) * 60, count(*) FROM trips WHERE minutes < 120 GROUP BY 1 ORDER BY 1",
    "SELECT floor(fare / 20) * 20, count(*) FROM trips WHERE fare > 20 AND fare < 40 GROUP BY 1 ORDER BY 1",
    "SELECT s.station, s.capacity, count(*) FROM trips t JOIN stations s ON s.station = t.station AND s.capacity > 25 GROUP BY 1, 2 HAVING count(*) > 0 ORDER BY 1",
    "SELECT station, count(*) FROM trips WHERE station LIKE '%o%' AND station NOT IN ('Harbour') GROUP BY station HAVING count(*) > 0 ORDER BY station",
    "SELECT s.station, count(t.trip_id) FROM stations s LEFT JOIN trips t ON t.station = s.station AND s.station <> 'Museum' GROUP BY 1 ORDER BY 1",
    // Functions of what has public values.
    "SELECT extract(quarter FROM day) * 100 + extract(month FROM day), count(*) FROM trips WHERE day < '2023-06-01' GROUP BY 1 ORDER BY 1",
    "SELECT coalesce(nullif(station, 'Depot'), note), count(*) FROM trips WHERE note IN ('fine', 'late') GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT CASE WHEN station = 'Central' THEN plan ELSE station END, count(*) FROM trips JOIN riders USING (rider_id) GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT minutes, count(*) FROM trips WHERE minutes > 230 GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT day, count(*) FROM trips GROUP BY day HAVING count(*) > 0 ORDER BY day",
    // Private groups: here every group that holds two riders passes.
    "SELECT note, count(*), sum(fare) FROM trips GROUP BY note ORDER BY note",
    "SELECT city, count(*) FROM riders GROUP BY city HAVING count(*) > 2 ORDER BY city",
    "SELECT city, active, count(*) FROM riders GROUP BY 1, 2 HAVING count(*) > 2 ORDER BY 1, 2",
    "SELECT version, count(*), avg(battery) FROM devices GROUP BY version ORDER BY version",
    "SELECT signal, count(*) FROM devices GROUP BY signal HAVING count(*) > 2 ORDER BY signal",
    "SELECT minutes, count(*) FROM trips GROUP BY minutes HAVING count(*) > 2 ORDER BY minutes",
    "SELECT slot, count(*) FROM devices GROUP BY slot ORDER BY slot",
    "SELECT slot + 1, count(*) FROM devices GROUP BY slot + 1 ORDER BY slot + 1",
    "SELECT DISTINCT note FROM trips ORDER BY note",
    "SELECT slot::float8, count(*) FROM devices GROUP BY 1 ORDER BY 1",
    "SELECT slot::numeric, count(*) FROM devices GROUP BY 1 ORDER BY 1",
    "SELECT slot::int8, slot::int2, count(*) FROM devices GROUP BY 1, 2 HAVING count(*) > 0 ORDER BY 1",
    "SELECT least(greatest(version, 0), 2)::float8, count(*) FROM devices GROUP BY 1 ORDER BY 1",
    "SELECT signal::float8, count(*) FROM devices GROUP BY 1 HAVING count(*) > 2 ORDER BY 1",
    "SELECT stars::numeric, count(*) FROM trips WHERE stars::numeric IN (1, 2) GROUP BY 1 ORDER BY 1",
    "SELECT stars::real, count(*) FROM trips WHERE stars::real IN (1, 2) GROUP BY 1 ORDER BY 1",
    "SELECT -signal, abs(signal - 3), count(*) FROM devices GROUP BY 1, 2 HAVING count(*) > 2 ORDER BY 1, 2",
    "SELECT count(*) FROM devices WHERE battery > version AND signal < battery * 2 AND slot >= signal - 5",
    "SELECT minutes % 3, count(*) FROM trips GROUP BY 1 ORDER BY 1",
    "SELECT extract(second FROM started_at), count(*) FROM trips GROUP BY 1 ORDER BY 1",
    // Above the aggregates.
    "SELECT upper(plan), round(sum(birth_year)::numeric / count(*), 1), count(*) > 30 FROM riders GROUP BY plan ORDER BY 1",
    "SELECT plan, count(*) * 1.0 / sum(count(*)) OVER (), rank() OVER (ORDER BY count(*) DESC, plan) FROM riders GROUP BY plan ORDER BY 3",
    "SELECT station, count(*) AS n FROM trips GROUP BY station HAVING count(*) > 10 ORDER BY n DESC, station LIMIT 2 OFFSET 1",
    "SELECT station FROM trips GROUP BY station HAVING count(*) > 0 ORDER BY count(*) DESC, 1 FETCH FIRST 2 ROWS ONLY",
    "WITH n AS (SELECT station, count(*) AS k FROM trips GROUP BY station) SELECT s.city, sum(n.k) FROM n JOIN stations s USING (station) WHERE n.k > 0 GROUP BY s.city ORDER BY 1",
    "SELECT * FROM (SELECT plan, count(*) FROM riders GROUP BY plan) AS q(p, n) WHERE n > 0 ORDER BY p",
    "WITH n(p, k) AS (SELECT plan, count(*) FROM riders GROUP BY plan) SELECT a.p, b.p FROM n a JOIN n b ON a.k = b.k AND a.p < b.p ORDER BY 1, 2",
    "SELECT 'riders' AS what, count(*) FROM riders UNION ALL SELECT 'trips', count(*) FROM trips ORDER BY 1",
    "(SELECT plan, count(*) FROM riders GROUP BY plan ORDER BY 2, 1 DESC LIMIT 1) UNION ALL SELECT 'x', 0 ORDER BY 1",
    "SELECT (SELECT count(*) FROM trips) / 10 AS tenth, (SELECT avg(fare) FROM trips) > 20 AS dear",
    "SELECT (SELECT count(*) FROM riders) - count(*) AS others FROM riders WHERE plan = 'day'",
    "SELECT plan, count(*) FROM riders GROUP BY plan HAVING count(*) > (SELECT count(*) / 10 FROM riders) ORDER BY plan",
    "SELECT max(n), min(n), count(*) FROM (SELECT station, count(*) AS n FROM trips GROUP BY station HAVING count(*) > 0) q",
    "SELECT CASE WHEN count(*) > 5 THEN 'many' ELSE 'few' END, coalesce(sum(stars), 0), greatest(count(*), 3) FROM trips",
    "SELECT plan || '!', array_agg(x.n) FROM (SELECT plan, count(*) AS n FROM riders GROUP BY plan) x GROUP BY plan ORDER BY 1",
    "SELECT DISTINCT count(*) > 0 FROM riders GROUP BY plan",
    "SELECT count(*), extract(year FROM current_date) > 2000 FROM riders",
    "SELECT sum(t.b) FROM trips AS t(a, r, s, d, st, b)",
    "SELECT plan FROM riders GROUP BY plan HAVING plan <> 'day' ORDER BY plan DESC",
    "SELECT plan, count(*) FROM riders GROUP BY plan HAVING plan LIKE 'd%' OR count(*) > 31 ORDER BY plan",
    "SELECT count(*) FROM (SELECT 1 FROM trips) t",
    "SELECT count(*), sum(x) FROM (SELECT CASE WHEN minutes > 60 THEN 2 ELSE 1 END AS x FROM trips) t WHERE x = 2",
    "WITH t AS (SELECT * FROM trips) SELECT 1 AS one",
    "WITH t(a, b) AS (SELECT minutes, rider_id FROM trips) SELECT count(DISTINCT b), sum(a) FROM t WHERE a > 10",
    "WITH t AS (SELECT fare, station FROM trips WHERE minutes > 10) SELECT (SELECT count(*) FROM t), (SELECT sum(fare) FROM t WHERE station = 'Central')",
    "SELECT * FROM (WITH t AS (SELECT minutes AS m FROM trips) SELECT count(*), avg(m) FROM t) q",
    "SELECT avg(n), max(n) FROM (SELECT station, count(*) AS n FROM trips GROUP BY station HAVING count(*) > 0) q",
    "SELECT plan, count(*), count(*) OVER (), lag(count(*)) OVER (ORDER BY plan), sum(count(*)) FILTER (WHERE plan = 'day') OVER () FROM riders GROUP BY plan ORDER BY plan",
    "SELECT plan, avg(avg(birth_year)) OVER (ORDER BY plan ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM riders GROUP BY plan ORDER BY 1",
    "SELECT birth_year / 10, sum(birth_year / 10), count(*) FROM riders GROUP BY birth_year / 10 HAVING count(*) > 0 ORDER BY 1",
    "SELECT day, count(*) FROM trips WHERE day IN ('2023-05-05', '2024-02-29', '2023-01-23') GROUP BY day HAVING count(*) > 0 ORDER BY day",
    "SELECT date_trunc('month', started_at), count(*) FROM trips WHERE date_trunc('month', started_at) = '2024-03-01' GROUP BY 1",
    "SELECT extract(year FROM day), count(*) FROM trips WHERE extract(year FROM day) = 2024 GROUP BY 1",
    "SELECT kind, count(*) FROM devices WHERE kind IN ('phone', 'watch') GROUP BY kind ORDER BY kind DESC",
    "SELECT active, count(*) FROM riders WHERE active GROUP BY active HAVING count(*) > 0",
    "SELECT active IS NULL, coalesce(active, false), count(*) FROM riders GROUP BY 1, 2 HAVING count(*) > 0 ORDER BY 1, 2",
    "SELECT least(stars, 3), count(*) FROM trips GROUP BY 1 HAVING count(*) > 2 ORDER BY 1",
    "SELECT greatest(minutes / 40, 1), count(*) FROM trips GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT CASE WHEN fare > 30 THEN 1 WHEN fare > 20 THEN 2.5 ELSE NULL END, count(*) FROM trips GROUP BY 1 ORDER BY 1",
    "SELECT nullif(plan, 'day'), count(*) FROM riders GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT abs(minutes / 50 - 1), count(*) FROM trips GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT -(stars::int), count(*) FROM trips GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT trunc(fare / 10) * 0.5, count(*) FROM trips GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT s.capacity, s.capacity / 20 AS c, count(*) FROM trips t JOIN stations s USING (station) GROUP BY s.capacity, c HAVING count(*) > 0 ORDER BY 1",
    "SELECT station, plan, count(*) FROM (SELECT station, CASE WHEN fare > 20 THEN 'dear' ELSE 'cheap' END AS plan FROM trips) t GROUP BY station, plan HAVING count(*) > 0 ORDER BY 1, 2",
    "SELECT count(*) AS \"Weird \"\"name\"\"\", 'it''s' AS \"select\", E'a\\\\b' AS x FROM riders",
    "SELECT count(*) FROM trips WHERE note = 'it''s' OR note = E'\\\\' OR note LIKE '%\\_%'",
    "SELECT sum(a.n), count(*) FROM (SELECT plan, count(*) AS n FROM riders GROUP BY plan) a FULL JOIN (SELECT plan, count(*) AS n FROM riders GROUP BY plan) b ON a.n = b.n AND a.plan = b.plan",
    "SELECT plan, count(*) FROM riders GROUP BY plan UNION SELECT plan, count(*) FROM riders GROUP BY plan ORDER BY 1",
    "SELECT plan FROM riders GROUP BY plan INTERSECT SELECT 'day' ORDER BY 1",
    "SELECT x.plan, y.active FROM (SELECT DISTINCT plan FROM riders) x, (SELECT DISTINCT active FROM riders) y ORDER BY 1, 2",
    "SELECT count(*) filter (where stars = 1), count(*) filter (where not (stars = 1)), count(*) filter (where stars is null) FROM trips",
    "SELECT round(avg(fare), 2), to_char(sum(fare), '99999.99'), avg(fare)::int, sum(minutes)::text || ' min' FROM trips",
    "SELECT count(*) FROM trips WHERE started_at BETWEEN '2023-06-01' AND '2024-06-01' AND extract(hour FROM started_at) >= 12",
    "SELECT count(*) FROM payments WHERE paid_at > timestamptz '2025-01-01 00:00+01' OR date_trunc('day', paid_at) = '2023-05-05'",
    // Over several rows of one unit.
    "SELECT count(*), sum(n), avg(n) FROM (SELECT rider_id, count(*) AS n FROM trips GROUP BY rider_id) t",
    "SELECT n, count(*) FROM (SELECT rider_id, count(*) AS n FROM trips GROUP BY rider_id) t GROUP BY n HAVING count(*) > 0 ORDER BY n",
    "SELECT sum(total), avg(mean), sum(wide), count(short) FROM (SELECT rider_id, sum(minutes) AS total, round(avg(fare), 2) AS mean, max(fare) - min(fare) AS wide, min(note) AS short FROM trips GROUP BY rider_id HAVING count(*) > 1) t",
    "SELECT sum(s), sum(b), avg(m) FROM (SELECT rider_id, sum(stars) AS s, sum(birth_year::bigint) AS b, max(stars) AS m FROM trips JOIN riders USING (rider_id) GROUP BY rider_id) t",
    "SELECT station, count(*) FROM (SELECT DISTINCT rider_id, station FROM trips) t GROUP BY station HAVING count(*) > 0 ORDER BY 1",
    "SELECT d, count(*) FROM (SELECT rider_id, count(DISTINCT station) AS d FROM trips GROUP BY 1) t GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT good, count(*) FROM (SELECT rider_id, bool_and(stars > 2) AS good FROM trips GROUP BY 1) t GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT r.plan, count(*), sum(coalesce(t.n, 0)) FROM riders r LEFT JOIN (SELECT rider_id, count(*) AS n FROM trips WHERE fare > 20 GROUP BY rider_id) t ON t.rider_id = r.rider_id GROUP BY r.plan ORDER BY 1",
    "SELECT count(*) FROM riders WHERE rider_id IN (SELECT rider_id FROM trips GROUP BY rider_id HAVING count(*) > 3)",
    "WITH last AS (SELECT rider_id, max(day) AS day FROM trips GROUP BY rider_id) SELECT count(*), sum(fare) FROM trips t JOIN last l ON l.rider_id = t.rider_id AND l.day = t.day",
    "SELECT count(*), sum(fare - before) FROM (SELECT fare, lag(fare) OVER (PARTITION BY rider_id ORDER BY started_at, trip_id) AS before FROM trips) t WHERE fare > before",
    "SELECT station, count(*) FROM (SELECT station, row_number() OVER (PARTITION BY rider_id ORDER BY started_at, trip_id) AS rn FROM trips) t WHERE rn <= 2 GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT count(*), sum(fare) FROM (SELECT DISTINCT ON (rider_id) rider_id, fare FROM trips ORDER BY rider_id, started_at DESC, trip_id) t",
    "SELECT sum(recent), sum(place) FROM (SELECT sum(minutes) OVER (PARTITION BY rider_id ORDER BY trip_id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS recent, rank() OVER (PARTITION BY rider_id ORDER BY fare) AS place FROM trips) t",
    "SELECT count(*) FROM (SELECT rider_id, station FROM trips GROUP BY 1, 2 UNION SELECT rider_id, 'none' FROM payments) t",
    // Nothing private.
    "SELECT city, count(*), max(capacity), string_agg(station, ',' ORDER BY station) FROM stations GROUP BY 1 ORDER BY 1",
    "SELECT 5 AS k, count(*) FROM stations GROUP BY k",
    "SELECT a.station FROM stations a FULL JOIN stations b ON a.capacity = b.capacity + 10 WHERE b.station IS NULL ORDER BY 1",
    "SELECT DISTINCT ON (city) city, station FROM stations ORDER BY city, capacity DESC",
    "SELECT -5 % 3, 7 / 2, 7 / 2.0, 2 + 3 * 4, -(-3), NOT true OR true, 'a' || 1, 1 BETWEEN 0 AND 2",
    "SELECT s.*, row_number() OVER (PARTITION BY city ORDER BY capacity) FROM stations s ORDER BY 1",
];

/// Equal as text; numbers may differ in how many digits a quotient is carried to.
fn same(a: Option<&str>, b: Option<&str>, oid: u32) -> bool {
    let number = matches!(oid, 700 | 701 | 1700);
    match (a, b) {
        (Some(a), Some(b)) if number && a != b => {
            let (Ok(x), Ok(y)) = (BigDecimal::from_str(a), BigDecimal::from_str(b)) else { return false };
            let tolerance = if oid == 700 { "0.00001" } else { "0.000000000001" };
            let scale = x.abs().max(BigDecimal::from(1));
            (&x - &y).abs() <= scale * BigDecimal::from_str(tolerance).unwrap()
        }
        (a, b) => a == b,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn answers_are_postgresqls_own() {
    let bikes = Bikes::new().await.without_noise();
    let mut wrong = Vec::new();
    for sql in STATEMENTS {
        let (types, expected) = bikes.exact(sql).await;
        let asked = match bikes.ask(sql).await {
            Ok(asked) => asked,
            Err(e) => {
                wrong.push(format!("{sql}\n  refused: {e:?}"));
                continue;
            }
        };
        let oids: Vec<u32> = asked.fields.iter().map(|f| f.type_oid).collect();
        let equal = asked.rows.len() == expected.len()
            && asked.rows.iter().zip(&expected).all(|(a, b)| {
                let cells = a.iter().zip(b).zip(&types);
                a.len() == b.len()
                    && cells.into_iter().all(|((a, b), t)| same(a.as_deref(), b.as_deref(), *t))
            });
        if oids != types || !equal {
            wrong.push(format!(
                "{sql}\n  types {oids:?}, PostgreSQL {types:?}\n  answered {:?}\n  expected {expected:?}\n  fetch {:?}",
                asked.rows,
                asked.fetches.iter().map(|f| &f.sql).collect::<Vec<_>>()
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), STATEMENTS.len(), wrong.join("\n\n"));
}
