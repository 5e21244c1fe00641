//! The databases that the recorder asks about: one family of schemas, with units chosen to hurt.
//!
//! Some units have nothing, some a hundred rows in one group at one end of every range, some a row in every group, and
//! in the dirty variants some hold what no declared range allows: NaN, infinities, the ends of every type, numbers of
//! four hundred digits, times before Christ. In one variant a unit's rows tie in what they are ordered by, and what is not
//! ordered by are values that are equal and look different.

use crate::rng::Rng;
use crate::support::{TestDb, nondeterministic_collation};
use noisegate::backend::introspect::read_schema;
use noisegate::policy::{self, Policy};
use noisegate::schema::quoted::string;
use std::fmt::Write;
use std::path::Path;

/// Units are numbered from 1 to this.
pub const UNITS: i64 = 60;
/// Of these, the first are made to hurt.
pub const HOSTILE: i64 = 12;
/// Rows of the last unit where rows tie.
pub const TIED: u32 = 1_000;

/// A member of the family.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Rows break what the policy declares.
    pub dirty: bool,
    /// trips.rider_id can be NULL, and sometimes is.
    pub nullable_unit: bool,
    /// Rows of a unit tie in all that they are likely to be ordered by, and so many are those of the last; 0 where they do not.
    pub tied: u32,
    /// What the rows are drawn from.
    pub seed: u64,
}

/// What the rows of a unit are like.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Empty,
    High,
    Low,
    Many,
    Extreme,
    Nulls,
    Plain,
    Tied,
}

fn kind(v: Variant, unit: i64) -> Kind {
    match unit {
        1 => Kind::Empty,
        2 | 3 => Kind::High,
        4 | 5 => Kind::Low,
        6 | 7 => Kind::Many,
        8..=10 => Kind::Extreme,
        11 => Kind::Nulls,
        _ if v.tied > 0 => Kind::Tied,
        _ => Kind::Plain,
    }
}

/// Members of every kind, in and out of range, and values that are no objects.
const PAYLOADS: &[&str] = &[
    r#"{"kind": "road", "size": {"cm": 54}, "price": 499.95, "free": "yes"}"#,
    r#"{"kind": "race", "size": {"cm": "58"}, "price": "12", "free": true}"#,
    r#"{"kind": 3, "size": {"cm": -2147483649}, "price": 1e131071, "free": ["a"]}"#,
    r#"{"kind": null, "size": 7, "price": "1e400", "free": {"a": 1}}"#,
    r#"{"kind": "road", "size": {"cm": null}, "price": "", "free": 0.10}"#,
    r#"{"kind": ["road"], "size": ["cm"], "price": -5}"#,
    r#"["kind", "road"]"#,
    r#""kind""#,
    "null",
    "{}",
];

/// Some kilobytes as it is stored, some megabytes as it is read.
const LONG_PAYLOAD: &str = r#"('{"kind": "road", "price": 1, "free": "' || repeat('a', 1000000) || '", "size": {"cm": 50}}')::jsonb"#;

const TABLES: &str = r#"
SET client_min_messages = error;
CREATE TYPE tier AS ENUM ('low', 'mid', 'high');
CREATE TABLE stations (station text PRIMARY KEY, city text NOT NULL, capacity int, opened date);
CREATE TABLE codes (id bigint PRIMARY KEY, label text NOT NULL);
CREATE TABLE moments (at timestamp PRIMARY KEY, label text NOT NULL);
CREATE TABLE riders (
  rider_id int PRIMARY KEY, birth_year int, plan text, city text, score float8, ref float8, active bool,
  tier tier, level smallint NOT NULL, joined date, born timestamp NOT NULL, loose text COLLATE loose,
  worth numeric, mass float8, weight float8 NOT NULL, pad bpchar);
CREATE TABLE trips (
  trip_id bigint PRIMARY KEY, rider_id int UNIT REFERENCES riders ON DELETE CASCADE,
  started_at timestamp NOT NULL, raw_at timestamp, zoned timestamptz,
  station text REFERENCES stations, minutes int, fare numeric(6,2), dist float8, temp float8, short real, note text COLLATE "C",
  big bigint, wide bigint, amount numeric, huge numeric, zero int NOT NULL, payload jsonb, lasts interval,
  soft text COLLATE loose);
CREATE INDEX ON trips (rider_id);
CREATE TABLE slots (
  rider_id int NOT NULL REFERENCES riders ON DELETE CASCADE, n int NOT NULL CHECK (n BETWEEN 1 AND 5),
  v int, w numeric(4,1) NOT NULL, UNIQUE (rider_id, n));
-- Reached by paths: legs by one step, parts by two, marks by two columns, which with a third are a key.
CREATE TABLE legs (leg_id bigint PRIMARY KEY, trip_id bigint, km numeric(6,1), surface text);
CREATE TABLE parts (part_id int PRIMARY KEY, leg_id bigint, cost int, kind text);
CREATE INDEX ON legs (trip_id);
CREATE INDEX ON parts (leg_id);
CREATE TABLE marks (
  rider int NOT NULL, slot int NOT NULL, k int NOT NULL CHECK (k BETWEEN 1 AND 2), z int, UNIQUE (rider, slot, k));
"#;

/// Rows of the tables with a path; some of them lead nowhere. Units 2 to 5 have a hundred trips.
const PATHS: &str = r#"
INSERT INTO legs SELECT t.trip_id * 4 + g, t.trip_id,
    CASE WHEN t.rider_id IN (2, 3) THEN 20.5 WHEN t.trip_id % 13 = 0 THEN NULL ELSE (t.trip_id * 7 % 205) / 10.0 END,
    (ARRAY['road', 'path', NULL])[1 + (t.trip_id + g) % 3]
  FROM trips t, generate_series(1, (CASE WHEN t.rider_id = 4 THEN 3 ELSE t.trip_id % 3 END)::int) g WHERE t.trip_id % 50 = 0 OR t.trip_id < 10000000;
INSERT INTO legs SELECT 1000000 + g, CASE WHEN g % 2 = 0 THEN NULL ELSE 2000000 + g END, 3, 'road' FROM generate_series(1, 40) g;
INSERT INTO parts SELECT (leg_id * 2 + g)::int, leg_id, CASE WHEN leg_id % 5 = 0 THEN 30 ELSE (leg_id % 31)::int END, 'kind ' || leg_id % 4
  FROM legs, generate_series(0, 1) g WHERE leg_id % 2 = 0;
INSERT INTO parts SELECT 4000000 + g, CASE WHEN g % 2 = 0 THEN NULL ELSE 3000000 + g END, 5, 'kind 1' FROM generate_series(1, 40) g;
INSERT INTO marks SELECT rider_id, n, k, CASE WHEN (rider_id + n) % 7 = 0 THEN NULL ELSE rider_id % 3 * 10 - 10 END
  FROM slots, generate_series(1, 2) k WHERE rider_id % 4 <> 0 OR n = 1;
INSERT INTO marks SELECT 9000 + g, 1, 1, 10 FROM generate_series(1, 20) g;
"#;

/// What the declared ranges do not allow.
const DIRTY_PATHS: &str = "
UPDATE legs SET km = 99999.9 WHERE leg_id % 11 = 0;
UPDATE parts SET cost = -2147483648 WHERE part_id % 7 = 0;
UPDATE marks SET z = 2147483647 WHERE slot = 2;
";

const POLICY: &str = r#"
[server]
listen = ["127.0.0.1:0"]

[ledger]
url = "sqlite:recorder.db"

[privacy]
unit = "riders.rider_id"

[[budget]]
name = "everyone"
accounting = "zcdp"
epsilon = 8.0
delta = 1e-6

[[stream]]
name = "either"
variant = "improved"
epsilon = 1.0
positives = 2

[[stream]]
name = "rising"
variant = "monotone"
epsilon = 1.0
positives = 2

[table.riders]
unit_column = "rider_id"
columns.birth_year = { range = [1920, 2010] }
columns.plan = { values = ["day", "month", "year"] }
columns.city = {}
columns.score = { range = [-1, 1], grid = 0.001 }
columns.ref = { range = [0, 123456789012345678], grid = 1 }
columns.active = {}
columns.tier = {}
columns.level = { values = [1, 2, 3] }
columns.joined = { range = [2020-01-01, 2024-12-31] }
columns.born = {}
columns.loose = {}
columns.worth = {}
columns.mass = {}
columns.weight = { range = [1, 9], grid = 0.5, nan = false }
columns.pad = {}

[table.trips]
unit_column = "rider_id"
columns.trip_id = {}
columns.started_at = { range = [2024-01-01, 2024-12-31] }
columns.raw_at = {}
columns.zoned = { range = [2024-01-01, 2024-12-31] }
columns.station = { references = "stations.station" }
columns.minutes = { range = [0, 240] }
columns.fare = { range = [0, 60] }
columns.dist = { range = [0, 50], grid = 0.1 }
columns.temp = {}
columns.short = { range = [-5, 5], grid = 0.01 }
columns.note = {}
columns.payload = { paths = { kind = { values = ["road", "race", "3"] }, "size.cm" = { range = [40, 65] }, price = { range = [0, 999.5] }, free = {} } }
columns.big = { range = [1000000000000000000, 1000000000000000040] }
columns.wide = {}
columns.amount = { range = [-1000, 1000], grid = 0.01 }
columns.huge = {}
columns.zero = { range = [-2, 2] }
columns.lasts = {}
columns.soft = {}

[table.slots]
unit_column = "rider_id"
columns.n = {}
columns.v = { range = [-10, 10] }
columns.w = { range = [0, 99.9] }

[table.legs]
unit_path = "trip_id -> trips.trip_id"
max_rows = 4
max_total_rows = 6
columns.leg_id = {}
columns.km = { range = [0, 20.5] }
columns.surface = { values = ["road", "path"] }

[table.parts]
unit_path = "leg_id -> legs.leg_id"
max_rows = 4
columns.cost = { range = [0, 30] }
columns.kind = {}

[table.marks]
unit_path = "(rider, slot) -> slots.(rider_id, n)"
columns.k = {}
columns.z = { range = [-10, 10] }

[table.stations]
public = true

[table.codes]
public = true

[table.moments]
public = true
"#;

const STATIONS: [&str; 8] = ["Alpha", "Bravo", "Charlie", "Delta", "Echo", "Foxtrot", "Golf", "it's"];
const CITIES: [&str; 4] = ["Oslo", "Bergen", "", "Ålesund"];
const NOTES: [&str; 5] = ["late", "Late 50%", "a_b", "\\\\", ""];

/// The tables whose rows are of units.
const PRIVATE: [&str; 6] = ["riders", "trips", "slots", "legs", "parts", "marks"];

/// Schemas with the same rows in other orders on disk, and in which.
const ORDERS: [(&str, &str); 2] =
    [("scattered", "pg_catalog.md5(ctid::pg_catalog.text)"), ("backwards", "ctid DESC")];

/// Makes the tables in other orders ([`in_another_order`]).
pub fn orders() -> String {
    let mut sql = "CREATE SCHEMA aside;".to_owned();
    for (order, _) in ORDERS {
        let _ = writeln!(sql, "CREATE SCHEMA {order};");
        for table in PRIVATE {
            let _ = writeln!(sql, "CREATE TABLE {order}.{table} (LIKE public.{table} INCLUDING ALL);");
        }
    }
    sql + &reordered() + "ANALYZE;"
}

/// Has the other orders hold the rows that the tables have now.
pub fn reordered() -> String {
    let mut sql = String::new();
    for (order, by) in ORDERS {
        for table in PRIVATE {
            let _ = writeln!(
                sql,
                "DELETE FROM {order}.{table}; INSERT INTO {order}.{table} SELECT * FROM public.{table} ORDER BY {by};"
            );
        }
    }
    sql
}

/// Puts the same rows in another order in the place of the tables: of two databases that are neighbours nothing says that
/// rows lie in the same order in both.
pub fn in_another_order(nth: usize) -> String {
    let (order, _) = ORDERS[nth % ORDERS.len()];
    let swap = |table| {
        format!("ALTER TABLE public.{table} SET SCHEMA aside; ALTER TABLE {order}.{table} SET SCHEMA public;")
    };
    PRIVATE.map(swap).concat()
}

/// The tables and rows of a variant, as SQL.
pub fn setup(v: Variant) -> String {
    let mut rng = Rng::new(v.seed);
    let mut sql = nondeterministic_collation("loose", "und-u-ks-level2");
    sql += &TABLES.replace(" UNIT ", if v.nullable_unit { " " } else { " NOT NULL " });
    for (i, s) in STATIONS.iter().enumerate() {
        let capacity = if i == 3 { "NULL".into() } else { (i * 10 % 50).to_string() };
        let (name, city) = (string(s), CITIES[i % 3]);
        let _ = writeln!(
            sql,
            "INSERT INTO stations VALUES ({name}, '{city}', {capacity}, '2020-01-0{}');",
            i + 1
        );
    }
    // Two keys that are one number in double precision, and two clock times that are one moment in some zones.
    sql.push_str("INSERT INTO codes VALUES (9007199254740992, 'even'), (9007199254740993, 'odd');\n");
    sql.push_str("INSERT INTO codes SELECT g, 'code ' || g % 4 FROM generate_series(0, 40) AS g(g);\n");
    sql.push_str(
        "INSERT INTO moments VALUES ('2024-03-31 02:30', 'gap'), ('2024-03-31 03:30', 'after it');\n",
    );
    let mut trip = 0;
    for unit in 1..=UNITS {
        rider(&mut sql, &mut rng, v, unit);
        let rows = match kind(v, unit) {
            Kind::Empty => 0,
            Kind::High | Kind::Low => 100,
            Kind::Many => 60,
            Kind::Extreme => 20,
            Kind::Nulls => 5,
            Kind::Plain => rng.below(12) as i64,
            Kind::Tied => 0,
        };
        for row in 0..rows {
            trip += 1;
            let owner = unit.to_string();
            trip_row(&mut sql, &mut rng, v, kind(v, unit), trip, &owner, row);
        }
        for n in 1..=(if kind(v, unit) == Kind::Plain { rng.between(0, 5) } else { 5 }) {
            let at = |low: &str, high: &str, rng: &mut Rng| match kind(v, unit) {
                Kind::High => high.to_owned(),
                Kind::Low => low.to_owned(),
                Kind::Nulls => "NULL".to_owned(),
                Kind::Extreme if v.dirty => (*rng.pick(&["2147483647", "-2147483648"])).to_owned(),
                _ => rng.between(-10, 10).to_string(),
            };
            let value = at("-10", "10", &mut rng);
            let w = if kind(v, unit) == Kind::High { "99.9".into() } else { format!("{}.{}", n * 7, n) };
            let _ = writeln!(sql, "INSERT INTO slots VALUES ({unit}, {n}, {value}, {w});");
        }
    }
    if v.nullable_unit {
        for row in 0..30 {
            trip += 1;
            trip_row(&mut sql, &mut rng, v, Kind::Plain, trip, "NULL", row);
        }
    }
    if v.tied > 0 {
        sql.push_str(&tied_rows(v.tied));
    }
    sql.push_str(PATHS);
    if v.dirty {
        sql.push_str(DIRTY_PATHS);
    }
    sql.push_str("ANALYZE;");
    sql
}

fn rider(sql: &mut String, rng: &mut Rng, v: Variant, unit: i64) {
    let (year, plan, score, active, tier, joined) = match kind(v, unit) {
        Kind::High => ("2010", "'year'", "1", "true", "'high'", "'2024-12-31'"),
        Kind::Low => ("1920", "'day'", "-1", "false", "'low'", "'2020-01-01'"),
        Kind::Nulls => ("NULL", "NULL", "NULL", "NULL", "NULL", "NULL"),
        Kind::Extreme if v.dirty => (
            *rng.pick(&["2147483647", "-2147483648", "0"]),
            *rng.pick(&["'weird'", "''"]),
            *rng.pick(&["'NaN'", "'Infinity'", "'-Infinity'", "'-0'", "1e-320", "1e308"]),
            "NULL",
            "'mid'",
            *rng.pick(&["'infinity'", "'-infinity'", "'4713-01-01 BC'", "'5874897-12-31'"]),
        ),
        _ => (
            *rng.pick(&["1950", "1961", "1975", "1999"]),
            *rng.pick(&["'day'", "'month'", "'year'"]),
            *rng.pick(&["0", "0.25", "-0.125", "0.5"]),
            *rng.pick(&["true", "false", "NULL"]),
            *rng.pick(&["'low'", "'mid'", "'high'"]),
            *rng.pick(&["'2021-02-03'", "'2022-11-30'", "'2023-07-01'"]),
        ),
    };
    let reference = match kind(v, unit) {
        Kind::High => "123456789012345678",
        Kind::Many | Kind::Low => "9007199254740992",
        Kind::Extreme if v.dirty => *rng.pick(&["'NaN'", "'Infinity'", "1e300", "-1e300"]),
        _ => *rng.pick(&["1", "2", "30", "0"]),
    };
    let born = match kind(v, unit) {
        Kind::Extreme if v.dirty => {
            *rng.pick(&["'infinity'", "'-infinity'", "'4000-01-01 BC'", "'294276-12-31'"])
        }
        Kind::High => "'2024-03-31 02:30'",
        _ => *rng.pick(&["'1980-02-29 12:30'", "'1999-12-31 23:59:59.999999'", "'2001-05-05'"]),
    };
    // Without a declared range they may be anything, in clean rows, too.
    let (worth, mass) = match kind(v, unit) {
        Kind::High => ("1e400", "1e308"),
        Kind::Low => ("-1e400", "-1e308"),
        Kind::Nulls => ("NULL", "NULL"),
        Kind::Extreme => {
            (*rng.pick(&HARD), *rng.pick(&["'NaN'", "'Infinity'", "'-Infinity'", "4.9e-324", "1e-30"]))
        }
        _ => (
            *rng.pick(&[
                "2.5",
                "0.005",
                "-3.5",
                "1.4999999999999999999",
                "1234567890499.9999999",
                "0",
                "NULL",
            ]),
            *rng.pick(&["0.5", "1.5", "2.5", "-2.5", "9007199254740993", "0", "NULL"]),
        ),
    };
    let weight = match kind(v, unit) {
        Kind::High => "9",
        Kind::Low => "1",
        Kind::Extreme if v.dirty => *rng.pick(&["'NaN'", "'NaN'", "'-Infinity'", "1e-30", "0"]),
        _ => *rng.pick(&["1", "2.5", "7"]),
    };
    let level = rng.between(1, if v.dirty { 4 } else { 3 });
    let city = if unit == 7 { "NULL".into() } else { string(CITIES[rng.below(CITIES.len())]) };
    let pad = ["'a'", "'a '", "'a  '", "'b'", "NULL"][(unit % 5) as usize];
    let loose = if unit % 2 == 0 { city.to_uppercase() } else { city.clone() };
    let _ = writeln!(
        sql,
        "INSERT INTO riders VALUES ({unit}, {year}, {plan}, {city}, {score}, {reference}, {active}, {tier}, {level}, {joined}, {born}, {loose}, {worth}, {mass}, {weight}, {pad});"
    );
}

/// Numbers that are hard on every type.
const HARD: [&str; 12] = [
    "1e-30",
    "2147483647.5",
    "'NaN'",
    "1e400",
    "-1e400",
    "1e-400",
    "-1e-400",
    "0.005",
    "0",
    "123456789.987654321",
    "'Infinity'",
    "-1e-16000",
];

/// What no clock has.
const LENGTHS: [&str; 4] =
    ["'178000000 years'", "'-178000000 years'", "'-1 mon 30 days'", "'0.000001 seconds'"];

fn trip_row(sql: &mut String, rng: &mut Rng, v: Variant, kind: Kind, trip: i64, unit: &str, row: i64) {
    let dirty = v.dirty && (kind == Kind::Extreme || (kind == Kind::Plain && rng.chance(3)));
    let many = kind == Kind::Many;
    let station = match kind {
        Kind::High | Kind::Low => "'Alpha'".to_owned(),
        Kind::Nulls => "NULL".to_owned(),
        _ if many => string(STATIONS[row as usize % 8]),
        _ => string(STATIONS[rng.below(STATIONS.len())]),
    };
    let month = if many { row % 12 + 1 } else { rng.between(1, 12) };
    let ordinary_time = format!("'2024-{month:02}-{:02} {:02}:30'", rng.between(1, 28), rng.between(0, 23));
    let time = |rng: &mut Rng| match kind {
        // Through the week in which the zone of the tests jumps.
        Kind::Many if row % 3 == 0 => format!("(timestamp '2024-02-24' + interval '{} hours')", row / 3 * 8),
        Kind::High => "'2024-12-31 23:59:59.999999'".to_owned(),
        Kind::Low => "'2024-01-01 00:00'".to_owned(),
        _ if dirty => {
            (*rng.pick(&["'infinity'", "'-infinity'", "'4713-02-01 BC'", "'294276-12-31'", "'0001-01-01'"]))
                .to_owned()
        }
        _ => ordinary_time.clone(),
    };
    let pick = |rng: &mut Rng, low: &str, high: &str, hard: &[&str], plain: &[&str]| match kind {
        Kind::High => high.to_owned(),
        Kind::Low => low.to_owned(),
        Kind::Nulls => "NULL".to_owned(),
        _ if dirty => (*rng.pick(hard)).to_owned(),
        _ => (*rng.pick(plain)).to_owned(),
    };
    let started = time(rng);
    let raw = if kind == Kind::Nulls { "NULL".to_owned() } else { time(rng) };
    let zoned = if kind == Kind::Nulls || rng.chance(10) { "NULL".to_owned() } else { time(rng) };
    let ints = ["2147483647", "-2147483648", "0", "-1", "241"];
    let minutes = pick(rng, "0", "240", &ints, &["3", "7", "30", "61", "0", "NULL"]);
    let fare = pick(rng, "0", "60", &["-9999.99", "9999.99", "0.01"], &["1.25", "9.99", "30", "NULL", "0"]);
    let floats = ["'NaN'", "'Infinity'", "'-Infinity'", "'-0'", "1e308", "4.9e-324", "1e-30"];
    let dist = pick(rng, "0", "50", &floats, &["1.5", "12.3", "'-0'", "NULL", "49.9"]);
    let temp = pick(rng, "-1e300", "1e300", &floats, &["20.5", "-3", "0", "'-0'", "NULL"]);
    let short =
        pick(rng, "-5", "5", &["'NaN'", "'Infinity'", "1e38", "1e-45"], &["0.5", "-0.25", "0", "NULL"]);
    let note = match kind {
        Kind::Nulls => "NULL".into(),
        // So long that a pattern may take minutes.
        Kind::Extreme if v.dirty && unit == "8" && row == 0 => "repeat('a', 1000000)".into(),
        _ => string(NOTES[rng.below(NOTES.len())]),
    };
    let (low, high) = ("1000000000000000000", "1000000000000000040");
    let longs = ["9223372036854775807", "-9223372036854775808", "0"];
    let big = pick(rng, low, high, &longs, &["1000000000000000001", "1000000000000000020", "NULL"]);
    let wide = pick(rng, "-9223372036854775808", "9223372036854775807", &longs, &["5", "-17", "NULL"]);
    let amount = pick(rng, "-1000", "1000", &HARD, &["10.10", "10.1", "-3.33", "0", "NULL"]);
    let huge = pick(rng, "-1e400", "1e400", &HARD, &["7", "7.0", "-2.50", "NULL"]);
    let zero = match kind {
        Kind::High => 2,
        Kind::Low => -2,
        _ => rng.between(-1, 1),
    };
    let payload = match kind {
        Kind::Nulls => "NULL".into(),
        _ => string(PAYLOADS[rng.below(PAYLOADS.len())]),
    };
    let payload = match v.dirty {
        true if row == 1 && kind == Kind::Extreme => LONG_PAYLOAD.into(),
        true => payload,
        false => payload.replace("1e131071", "7"),
    };
    // Drawn apart, so that the others are what they were.
    let twins = &mut Rng::of_case(v.seed, trip as u64);
    let lasts = pick(
        twins,
        "'178000000 years'",
        "'-178000000 years'",
        &LENGTHS,
        &["'1 day'", "'24 hours'", "'90 minutes'", "'1 mon'", "NULL"],
    );
    let soft = match kind {
        Kind::Nulls => "NULL".into(),
        _ => string(["Alpha", "alpha", "b", "B", ""][twins.below(5)]),
    };
    let _ = writeln!(
        sql,
        "INSERT INTO trips VALUES ({trip}, {unit}, {started}, {raw}, {zoned}, {station}, {minutes}, {fare}, {dist}, {temp}, {short}, {note}, {big}, {wide}, {amount}, {huge}, {zero}, {payload}, {lasts}, {soft});"
    );
}

/// Rows of the units without others, a dozen of each, and so many of the last: all tie in times, stations and fares. Of what is
/// equal each has another form.
fn tied_rows(last: u32) -> String {
    let of = |values: &str, salt: u32| {
        format!("(ARRAY[{values}])[1 + (pg_catalog.hashint4(i + {salt}) & 1023) % 3]")
    };
    format!(
        "INSERT INTO trips SELECT 10000000 + i, u, '2024-05-05', '2024-05-05', '2024-05-05', 'Alpha', {}, 30, {}, {}, {}, {}, 1000000000000000001,
             {}, {}, {}, 0, {}, {}, {}
           FROM (SELECT i, {HOSTILE} + 1 + i % ({UNITS} - {HOSTILE} - 1) FROM pg_catalog.generate_series(1, 12 * ({UNITS} - {HOSTILE} - 1)) i
                 UNION ALL SELECT 1000 + i, {UNITS} FROM pg_catalog.generate_series(1, {last}) i) AS o(i, u)
          ORDER BY pg_catalog.md5(i::text);\n",
        of("3, 61, 240", 1),
        of("'-0', 0, 1.4::float8", 2),
        of("'-0', 0, 0::float8", 3),
        of("'-0', 0, 0.5::real", 4),
        of("'late', 'a_b', ''", 5),
        of("5, -17, 9007199254740993", 6),
        of("10.1, 10.10, 10.1000000000000000000000", 7),
        of("7, 7.0, 7.00", 8),
        of(r#"'{"price": 1, "kind": "road"}', '{"price": 1.0, "kind": "road"}', '{"price": 1.00, "kind": "race"}'::jsonb"#, 9),
        of("'1 day', '24 hours', '1440 minutes'::interval", 10),
        of("'alpha', 'Alpha', 'ALPHA'", 11),
    )
}

/// Deletes all rows of a unit.
pub fn forget(unit: i64) -> String {
    // Foreign keys are not looked after: all rows of the unit are named here.
    format!(
        "DELETE FROM public.parts WHERE leg_id IN (SELECT l.leg_id FROM public.legs l JOIN public.trips t USING (trip_id) WHERE t.rider_id = {unit});
         DELETE FROM public.legs WHERE trip_id IN (SELECT t.trip_id FROM public.trips t WHERE t.rider_id = {unit});
         DELETE FROM public.marks WHERE rider = {unit};
         DELETE FROM public.slots WHERE rider_id = {unit};
         DELETE FROM public.trips WHERE rider_id = {unit};
         DELETE FROM public.riders WHERE rider_id = {unit}"
    )
}

/// Deletes the rows that belong to nobody, which no statement reads.
pub const NOBODYS: &str = "
    DELETE FROM public.trips WHERE rider_id IS NULL;
    DELETE FROM public.legs WHERE trip_id IS NULL OR trip_id NOT IN (SELECT trip_id FROM public.trips);
    DELETE FROM public.parts WHERE leg_id IS NULL OR leg_id NOT IN (SELECT leg_id FROM public.legs);
    DELETE FROM public.marks m WHERE NOT EXISTS (SELECT FROM public.slots x WHERE (x.rider_id, x.n) = (m.rider, m.slot))";

/// The policy, checked against the database as a gateway does at start-up.
pub async fn policy(db: &TestDb) -> Policy {
    let text = format!("{}{POLICY}", db.backend_toml());
    let schema = read_schema(&db.superuser().await).await.unwrap();
    policy::parse(&text, "recorder.toml", Path::new("."))
        .unwrap_or_else(|e| panic!("{e}"))
        .check(&schema)
        .unwrap_or_else(|e| panic!("{e}"))
}
