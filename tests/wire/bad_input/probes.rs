//! Probes for leaks, from what broke other engines: each asked of two neighbouring databases. Either both answer,
//! alike but for the noise, or both refuse in the very same bytes; a data error of PostgreSQL never comes through.

use super::World;
use crate::city::{self, WITHOUT_500, rows};
use crate::raw::{Client, Message, Reply};
use std::time::{Duration, Instant};

/// Unit 500 has at most this many rows in an answer.
const MOST_ROWS: f64 = 4.0;
const EPSILON: f64 = 8.0;

/// What a probe must get.
enum Want {
    /// The count that PostgreSQL gives for this condition without unit 500, and noise.
    Count(&'static str),
    /// An answer, whatever it says.
    Answer,
    /// An answer without rows.
    Nothing,
    /// A refusal with this SQLSTATE.
    Refusal(&'static str),
}
use Want::{Answer, Count, Nothing, Refusal};

/// Objects with the names of others, in schemas that come first for both logins. None may be used.
const TRAPS: &str = "
    CREATE SCHEMA evil;
    CREATE TABLE evil.trips AS SELECT * FROM public.trips LIMIT 0;
    CREATE TABLE evil.stations AS SELECT * FROM public.stations LIMIT 0;
    CREATE FUNCTION evil.trap() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped'; END $$;
    CREATE FUNCTION evil.abs(int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT evil.trap(); SELECT 31';
    CREATE FUNCTION evil.abs(int8) RETURNS int8 LANGUAGE sql VOLATILE AS 'SELECT evil.trap(); SELECT 31::int8';
    CREATE FUNCTION evil.count(int) RETURNS int8 LANGUAGE sql AS 'SELECT 0::int8';
    CREATE FUNCTION evil.same(int, int) RETURNS bool LANGUAGE sql VOLATILE AS 'SELECT evil.trap(); SELECT true';
    CREATE FUNCTION evil.plus(int, int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT evil.trap(); SELECT 0';
    CREATE OPERATOR evil.= (LEFTARG = int, RIGHTARG = int, FUNCTION = evil.same);
    CREATE OPERATOR evil.+ (LEFTARG = int, RIGHTARG = int, FUNCTION = evil.plus);
    CREATE DOMAIN evil.int4 AS text;
    GRANT USAGE ON SCHEMA evil TO PUBLIC;
    GRANT SELECT ON ALL TABLES IN SCHEMA evil TO PUBLIC;";

/// Conditions over `trips`. Minutes lie within 31..=90 and speeds within 0..=29, but for unit 500.
const CONDITIONS: &[(&str, Want)] = &[
    // Division, overflow, domain and range errors.
    ("1/(minutes-30) > 0", Count("minutes = 31")),
    ("minutes / (minutes - 30) > 1", Count("minutes BETWEEN 31 AND 60")),
    ("minutes % (minutes - 30) = 0", Count("minutes % (minutes - 30) = 0")),
    ("1.0/(fare + 9999.99) > 0", Count("true")),
    ("CASE WHEN minutes = 30 THEN 1/0 ELSE 1 END = 1", Count("true")),
    ("CASE WHEN minutes = 30 THEN 1/(minutes-30) ELSE 1 END = 1", Count("true")),
    ("minutes <> 30 AND 1/(minutes-30) >= 0", Count("true")),
    ("coalesce(1/(minutes-30), 0) >= 0", Count("true")),
    ("nullif(1/(minutes-30), 1) IS NULL", Count("minutes = 31")),
    ("minutes*2000000000 > 0", Count("true")),
    ("minutes*2000000000*2000000000*2000000000 > 0", Count("true")),
    ("minutes + 2147483647 > 0", Count("true")),
    ("-minutes - 2147483647 < 0", Count("true")),
    ("abs(minutes) = 31", Count("minutes = 31")),
    ("abs(-minutes) > 60", Count("minutes > 60")),
    ("minutes::smallint > 60", Count("minutes > 60")),
    ("(minutes * 1000)::smallint > 0", Count("minutes * 1000 < 32768")),
    ("fare::numeric(3,1) > 10", Count("fare::numeric(3,1) > 10")),
    ("round(fare, 1) > 10", Count("round(fare, 1) > 10")),
    ("fare * 1e50 * 1e50 > 1", Refusal("0A000")),
    ("speed * 1e10 > 0", Count("speed > 0")),
    ("speed > 5", Count("speed > 5")),
    ("speed / speed = 1", Count("speed > 0")),
    ("speed = 'NaN'", Count("speed = 'NaN'")),
    ("ln(minutes-30) > 0", Count("minutes > 31")),
    ("log(minutes-30) > 0", Count("minutes > 31")),
    ("sqrt(minutes-31) > 0", Count("minutes > 31")),
    ("exp(minutes*100) > 0", Refusal("0A000")),
    ("power(minutes, 1000) > 0", Refusal("0A000")),
    ("width_bucket(minutes, 0, 0, 5) = 1", Refusal("0A000")),
    ("factorial(minutes) > 0", Refusal("0A000")),
    ("minutes << minutes > 0", Refusal("0A000")),
    // Text that is no number, no date, no pattern.
    ("note::int > 0", Count("note ~ '^[1-9][0-9]*$'")),
    ("cast(note AS integer) > 0", Count("note ~ '^[1-9][0-9]*$'")),
    ("CAST(note AS numeric) > 0", Count("note ~ '^[1-9][0-9]*$'")),
    ("int4(note) > 0", Refusal("0A000")),
    ("note::date > '2024-01-01'", Count("false")),
    ("to_number(note, '999') > 0", Count("note ~ '^[1-9][0-9]{0,2}$'")),
    ("to_number(note, '9G999') > 0", Refusal("0A000")),
    ("to_date(note, 'YYYY') > '2024-01-01'", Refusal("0A000")),
    ("note > 5", Refusal("42804")),
    ("minutes = 'thirty'", Refusal("22P02")),
    ("started_at > 'no date'", Refusal("22007")),
    ("started_at > '2024-1-5'", Count("started_at > '2024-01-05'")),
    ("started_at > '2024-13-45'", Refusal("22008")),
    ("note LIKE '1_'", Count("note LIKE '1_'")),
    ("'1' LIKE note", Refusal("0A000")),
    (r"note LIKE 'a\'", Refusal("22025")),
    ("note LIKE '1!' ESCAPE '!'", Refusal("22025")),
    ("note ~ '(((a+)+)+)+$'", Count("note ~ 'a+$'")),
    ("note SIMILAR TO '(1|2)%'", Count("note ~ '^[12]'")),
    ("note COLLATE \"C\" < 'b'", Refusal("0A000")),
    ("(ARRAY[1,2])[minutes] = 1", Refusal("0A000")),
    ("repeat(note, minutes) = ''", Refusal("0A000")),
    // Dates at the ends of time.
    (
        "started_at + interval '1 year' > '2024-01-01'",
        Count("isfinite(started_at) OR started_at > '2024-01-01'"),
    ),
    ("started_at::date > '2024-06-01'", Count("started_at::date > '2024-06-01'")),
    ("extract(year FROM started_at) = 2024", Count("extract(year FROM started_at) = 2024")),
    (
        "date_trunc('month', started_at) = '2024-02-01'",
        Count("date_trunc('month', started_at) = '2024-02-01'"),
    ),
    ("started_at AT TIME ZONE 'Nowhere/None' > '2024-01-01'", Refusal("22023")),
    ("age(started_at) > interval '1 day'", Refusal("0A000")),
    // Functions that look elsewhere, wait, draw or remember.
    ("CASE WHEN minutes = 30 THEN pg_sleep(1) IS NULL ELSE true END", Refusal("0A000")),
    ("random() < 0.5", Refusal("0A000")),
    ("setseed(0.25) IS NULL", Refusal("0A000")),
    ("clock_timestamp() > started_at", Refusal("0A000")),
    ("now() > started_at", Count("true")),
    ("current_setting('is_superuser') = 'on'", Refusal("0A000")),
    ("set_config('x.y', note, false) = ''", Refusal("0A000")),
    ("query_to_xml('SELECT 1', true, false, '') IS NULL", Refusal("0A000")),
    ("pg_read_file('/etc/passwd') LIKE 'root%'", Refusal("0A000")),
    ("pg_ls_dir('.') IS NULL", Refusal("0A000")),
    ("pg_relation_size('trips') > 0", Refusal("0A000")),
    ("dblink('dbname=x', note) IS NULL", Refusal("0A000")),
    ("lo_import('/etc/passwd') > 0", Refusal("0A000")),
    ("lo_get(minutes) IS NULL", Refusal("0A000")),
    ("nextval('s') > 0", Refusal("0A000")),
    ("txid_current() > 0", Refusal("0A000")),
    ("pg_advisory_lock(minutes) IS NULL", Refusal("0A000")),
    ("pg_backend_pid() > 0", Refusal("0A000")),
    ("has_table_privilege('trips', 'SELECT')", Refusal("0A000")),
    ("row_number() OVER () < 5", Refusal("0A000")),
    // Another spelling of a name or of a constant.
    ("\"minutes\" = 31", Count("minutes = 31")),
    ("MINUTES = 31", Count("minutes = 31")),
    ("\"Minutes\" = 31", Refusal("42703")),
    ("trips.minutes = 31", Count("minutes = 31")),
    ("public.trips.minutes = 31", Count("minutes = 31")),
    ("U&\"m\\0069nutes\" = 31", Refusal("0A000")),
    ("pg_catalog.abs(minutes) = 31", Count("minutes = 31")),
    ("evil.abs(minutes) = 31", Refusal("0A000")),
    ("minutes OPERATOR(evil.=) 31", Refusal("0A000")),
    ("minutes OPERATOR(pg_catalog.=) 31", Count("minutes = 31")),
    ("minutes + 1 = 32", Count("minutes = 31")),
    ("'trips'::regclass IS NOT NULL", Refusal("0A000")),
    ("minutes::regclass IS NOT NULL", Refusal("0A000")),
    ("minutes::evil.int4 = '31'", Refusal("0A000")),
    ("minutes::int4 = 31", Count("minutes = 31")),
    ("note = '12' -- ' OR true", Count("note = '12'")),
    ("note = '12' /* ' OR true */", Count("note = '12'")),
    ("note = '12' /* /* nested */ OR true */", Count("note = '12'")),
    ("note = $$12$$", Count("note = '12'")),
    ("note = $a$12'; DROP TABLE trips; --$a$ OR minutes = 31", Count("minutes = 31")),
    ("note = E'1\\x32'", Count("note = '12'")),
    ("note = E'\\'' OR minutes = 31 OR note = ''''", Count("minutes = 31")),
    (r"note = '\' OR minutes = 31 OR note = '\\'", Count("minutes = 31")),
    ("note = U&'\\0031\\0032'", Count("note = '12'")),
    ("note = '1' '2'", Refusal("42601")),
    ("note = '1'\n'2'", Refusal("42601")),
    ("note = N'12'", Refusal("0A000")),
    ("note = 'x''; DROP TABLE trips; --' OR minutes = 31", Count("minutes = 31")),
    ("minutes = 0x1F", Refusal("0A000")),
    ("minutes = 31e0", Count("minutes = 31")),
    ("minutes = +31", Count("minutes = 31")),
    ("minutes = - -31", Count("minutes = 31")),
    // Whole rows and system columns.
    ("trips IS NOT NULL", Refusal("42703")),
    ("trips::text LIKE '%x%'", Refusal("42703")),
    ("ctid = '(0,1)'", Refusal("42703")),
    ("xmin::text = '1'", Refusal("42703")),
    ("tableoid > 0", Refusal("42703")),
    ("row_to_json(trips) IS NULL", Refusal("0A000")),
    // Other questions inside the question.
    ("minutes = (SELECT max(minutes) FROM trips)", Answer),
    (
        "EXISTS (SELECT 1 FROM riders r WHERE r.rider_id = trips.rider_id AND 1/(r.birth_year-2147483647) > 0)",
        Answer,
    ),
    ("rider_id IN (SELECT rider_id FROM riders WHERE city = 'Nowhere')", Answer),
];

/// Whole statements.
const STATEMENTS: &[(&str, Want)] = &[
    ("SELECT sum(minutes*2000000000) FROM trips", Answer),
    ("SELECT sum(1/(minutes-30)) FROM trips", Answer),
    ("SELECT avg(speed), avg(fare/minutes) FROM trips", Answer),
    ("SELECT avg(speed) FROM trips", Answer),
    ("SELECT avg(birth_year) FROM riders", Answer),
    ("SELECT sum(birth_year * birth_year) FROM riders", Answer),
    ("SELECT station, sum(fare) FROM trips GROUP BY station", Answer),
    ("SELECT date_trunc('quarter', started_at), count(*) FROM trips GROUP BY 1", Answer),
    ("SELECT count(*) FROM \"trips\"", Answer),
    ("SELECT count(*) FROM \"TRIPS\"", Refusal("42P01")),
    ("SELECT count(*) FROM public.trips", Answer),
    ("SELECT count(*) FROM evil.trips", Refusal("42P01")),
    ("SELECT count(*) FROM U&\"tr\\0069ps\"", Refusal("42601")),
    ("SELECT count(*) FROM bikes.public.trips", Answer),
    ("SELECT count(*) FROM ONLY trips", Refusal("42P01")),
    ("SELECT count(*) FROM trips *", Refusal("42601")),
    ("TABLE trips", Refusal("0A000")),
    ("SELECT count(*) FROM trips; DROP TABLE trips", Refusal("42501")),
    ("SELECT count(*) FROM trips; SELECT pg_sleep(1)", Answer),
    ("COMMIT; SELECT count(*) FROM trips", Answer),
    ("SELECT setseed(0.25)", Refusal("0A000")),
    ("SELECT random()", Refusal("0A000")),
    ("SELECT reltuples FROM pg_class WHERE relname = 'trips'", Answer),
    ("SELECT reltuples FROM pg_catalog.pg_class", Answer),
    ("SELECT * FROM pg_stats", Nothing),
    ("SELECT count(*) FROM pg_stat_user_tables", Answer),
    ("SELECT count(*) FROM pg_stat_activity", Answer),
    ("SELECT count(*) FROM pg_locks", Answer),
    ("SELECT * FROM pg_stat_statements", Refusal("42P01")),
    ("SELECT count(*) FROM information_schema.columns", Answer),
    ("SELECT pg_relation_size('trips')", Answer),
    ("SELECT pg_total_relation_size('trips')", Answer),
    ("SELECT query_to_xml('SELECT * FROM trips', true, false, '')", Refusal("0A000")),
    ("SELECT table_to_xml('trips', true, false, '')", Refusal("0A000")),
    ("SELECT pg_read_file('/etc/passwd')", Refusal("0A000")),
    ("SELECT lo_export(1, '/tmp/x')", Refusal("0A000")),
    ("SELECT * FROM dblink('dbname=bikes', 'SELECT 1') AS t(x int)", Refusal("0A000")),
    ("SELECT * FROM generate_series(1, 1000000000)", Refusal("54000")),
    ("SELECT * FROM pg_ls_dir('.')", Refusal("42501")),
    ("SELECT current_setting('data_directory')", Refusal("42704")),
    ("SELECT 'trips'::regclass", Answer),
    ("SELECT 'trips'::regclass::oid", Answer),
    ("SELECT to_regclass('trips')", Answer),
    ("SELECT string_agg(note, ',') FROM trips", Refusal("0A000")),
    ("SELECT array_agg(minutes) FROM trips", Refusal("0A000")),
    ("SELECT max(minutes) FROM trips", Answer),
    ("SELECT count(*) FROM trips TABLESAMPLE SYSTEM (10)", Refusal("0A000")),
    ("SELECT count(*) FROM (SELECT * FROM trips LIMIT 5) q", Refusal("0A000")),
    ("SELECT count(*) FROM (SELECT DISTINCT ON (station) * FROM trips ORDER BY station) q", Refusal("0A000")),
    ("SELECT count(*) FROM stations LIMIT (SELECT count(*) FROM trips)", Refusal("0A000")),
    ("SELECT count(*), (SELECT count(*) FROM trips) FROM stations", Refusal("0A000")),
    ("SELECT 1/0", Refusal("22012")),
    ("SELECT count(*) FROM stations WHERE 1/(capacity-10) > 0", Refusal("22012")),
    ("SELECT 'x'::int", Refusal("22P02")),
    ("SELECT station::int FROM stations", Refusal("22P02")),
];

async fn world(without_500: bool) -> World {
    let db = city::bikes().await;
    if without_500 {
        db.execute(WITHOUT_500).await;
    }
    db.execute(TRAPS).await;
    for who in ["fetch", "finish"] {
        db.execute(&format!("ALTER ROLE {0}_{who} SET search_path = evil, public, pg_catalog", db.name))
            .await;
    }
    db.execute(&format!("ALTER DATABASE {} SET search_path = evil, public, pg_catalog", db.name)).await;
    let budget = "[[budget]]\nname = \"everyone\"\naccounting = \"approx\"\nepsilon = 1000\ndelta = 1e-3\n";
    World::over(db, &format!("[statement]\nepsilon = {EPSILON}\nmax_rows = 4\nmax_groups = 1\n{budget}"))
        .await
}

/// Both must look the same but for what is released: the cells of rows, and what a NOTICE reads in their noisy values.
fn assert_alike(sql: &str, with: &Reply, without: &Reply) {
    let reads = |m: &Message| m.tag == 'N' && m.field('M').is_some_and(|text| text.contains("95 % error of"));
    let told = |reply: &Reply| reply.0.iter().filter(|m| !reads(m)).cloned().collect::<Vec<_>>();
    let (with, without) = (Reply(told(with)), Reply(told(without)));
    assert_eq!(with.tags(), without.tags(), "{sql}\n{with:?}\n{without:?}");
    for (a, b) in with.0.iter().zip(&without.0).filter(|(a, _)| a.tag != 'D') {
        assert_eq!(a, b, "{sql}");
    }
}

fn ask(pair: &mut [Client; 2], sql: &str) -> [Reply; 2] {
    let [with, without] = pair;
    let replies = [with.query(sql), without.query(sql)];
    assert_alike(sql, &replies[0], &replies[1]);
    replies
}

#[tokio::test(flavor = "multi_thread")]
async fn probes_get_answers_or_the_same_refusal_on_neighbouring_databases() {
    let (with, without) = tokio::join!(world(false), world(true));
    let mut pair = [with.raw(), without.raw()];
    let exact = without.db.superuser().await;
    // The traps catch whoever has the database's own path.
    assert!(exact.simple_query("SELECT 1 WHERE 1 = 1").await.is_err());
    exact.batch_execute("SET search_path = public").await.unwrap();
    // Δ = 4 rows of one group. 40 scales are passed with probability e^-40.
    let tolerance = 40.0 * MOST_ROWS / EPSILON + MOST_ROWS;
    let mut wrong = Vec::new();
    let conditions = CONDITIONS.iter().map(|(c, w)| (format!("SELECT count(*) FROM trips WHERE {c}"), w));
    let statements = STATEMENTS.iter().map(|(s, w)| ((*s).to_owned(), w));
    for (sql, want) in conditions.chain(statements) {
        let started = Instant::now();
        let [reply, other] = ask(&mut pair, &sql);
        assert!(started.elapsed() < Duration::from_secs(5), "{sql}");
        let error = reply.error().map(|(severity, code)| format!("{severity} {code}"));
        let heard = format!("{sql}: {error:?} {:?}", reply.error_field('M'));
        match want {
            Count(oracle) => {
                let oracle = format!("SELECT count(*) FROM trips WHERE {oracle}");
                let expected: f64 = number(&rows(&exact, &oracle).await.unwrap()[0][0]);
                for reply in [reply, other] {
                    match reply.rows().first().map(|cell| cell.parse::<f64>().unwrap()) {
                        Some(n) if (n - expected).abs() <= tolerance => {}
                        Some(n) => wrong.push(format!("{sql}: {n}, not {expected}")),
                        None => wrong.push(heard.clone()),
                    }
                }
            }
            Nothing if error.is_none() && reply.rows().is_empty() => {}
            Nothing => wrong.push(format!("{heard}, not an answer without rows")),
            Answer if reply.rows().is_empty() => wrong.push(heard),
            Answer => {}
            Refusal(code) if error == Some(format!("ERROR {code}")) => {}
            Refusal(code) => wrong.push(format!("{heard}, not {code}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn number(cell: &Option<String>) -> f64 {
    cell.as_ref().unwrap().parse().unwrap()
}
