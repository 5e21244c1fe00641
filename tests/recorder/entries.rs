//! Each entry of the allow-list keeps what is proven of it: its samples are filled with columns, constants and each other,
//! and PostgreSQL computes their texts over awkward rows, in awkward zones.
//!
//! Nothing may fail; every value lies in the proven span; NULL appears only where a value is nullable; and the steps that
//! a sum adds up stay within its ends.
//!
//! `NOISEGATE_ENTRIES` sets how many expressions are made of each sample, `NOISEGATE_RECORDER_SEED` what they are drawn from.

use crate::data::Variant;
use crate::harness::{Lab, plan_only};
use crate::query::{self, Ty};
use crate::rng::Rng;
use crate::samples::{Kind, Samples, asked};
use crate::support::{self, TestDb};
use noisegate::backend::introspect::read_schema;
use noisegate::plan::PartKind;
use noisegate::plan::expr::Scalar;
use noisegate::plan::expr::print::in_zone;
use noisegate::policy::{self, Policy};
use noisegate::schema::SqlType;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use tokio_postgres::Client;

const ZONES: [&str; 13] = [
    "UTC",
    "Pacific/Kiritimati",
    "Asia/Tokyo",
    "America/New_York",
    "Pacific/Apia",
    "Antarctica/Troll",
    "Asia/Kathmandu",
    "Africa/Monrovia",
    "Europe/Amsterdam",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "+15:59",
    "-15:59",
];

/// Rows, of which the first hold each value of a column once.
const ROWS: usize = 90;
/// Expressions in one statement.
const AT_ONCE: usize = 120;

/// A column: name, type, what it is good for, declared range.
type Column = (&'static str, &'static str, Ty, &'static str);

const COLUMNS: &[Column] = &[
    ("i2", "smallint", Ty::Unbounded, ""),
    ("i4", "int", Ty::Unbounded, ""),
    ("i8", "bigint", Ty::Unbounded, ""),
    ("n", "numeric", Ty::Unbounded, ""),
    ("n4", "numeric(20, 4)", Ty::Unbounded, ""),
    ("f8", "float8", Ty::RawFloat, ""),
    ("f4", "real", Ty::RawFloat, ""),
    ("d", "date", Ty::Date, ""),
    ("ts", "timestamp", Ty::Time, ""),
    ("tz", "timestamptz", Ty::Time, ""),
    ("t", "text", Ty::Text, ""),
    ("u", "text COLLATE \"C\"", Ty::Text, ""),
    ("b", "bool", Ty::Bool, ""),
    ("j", "jsonb", Ty::Json, JSON_PATHS),
    ("ri2", "smallint", Ty::Number, "range = [-5, 5]"),
    ("ri4", "int", Ty::Number, "range = [0, 240]"),
    ("ri8", "bigint", Ty::Number, "range = [1000000000000000000, 1000000000000000040]"),
    ("rn", "numeric", Ty::Number, "range = [-1000, 1000], grid = 0.01"),
    ("rw", "numeric", Ty::Number, "range = [0, 1234567890499.9999], grid = 0.0001"),
    ("rf8", "float8", Ty::Float, "range = [0, 50], grid = 0.1"),
    ("rw8", "float8", Ty::Float, "range = [-0.005, 2147483647.5], grid = 0.0005"),
    ("rf4", "real", Ty::Float, "range = [-5, 5], grid = 0.01"),
    ("rd", "date", Ty::Date, "range = [2020-01-01, 2024-12-31]"),
    ("rts", "timestamp", Ty::Time, "range = [2024-01-01, 2024-12-31]"),
    ("rtz", "timestamptz", Ty::Time, "range = [2011-12-29, 2012-01-01]"),
    ("ni4", "int NOT NULL", Ty::Unbounded, ""),
    ("nn", "numeric NOT NULL", Ty::Unbounded, ""),
    ("nf8", "float8 NOT NULL", Ty::RawFloat, ""),
    ("nd", "date NOT NULL", Ty::Date, ""),
    ("nts", "timestamp NOT NULL", Ty::Time, ""),
    ("ntz", "timestamptz NOT NULL", Ty::Time, ""),
    ("nt", "text NOT NULL", Ty::Text, ""),
    ("nb", "bool NOT NULL", Ty::Bool, ""),
    ("pi4", "int NOT NULL", Ty::Number, "range = [1, 9]"),
    ("pn", "numeric NOT NULL", Ty::Number, "range = [0.3, 9], grid = 0.3"),
    ("pf8", "float8 NOT NULL", Ty::Float, "range = [1, 9], grid = 0.5"),
    ("pts", "timestamp NOT NULL", Ty::Time, "range = [2023-01-01, 2023-12-31]"),
    ("ptz", "timestamptz NOT NULL", Ty::Time, "range = [2024-01-01, 2024-12-31]"),
];

const JSON_PATHS: &str = "paths = { kind = { values = [\"road\"] }, \"size.cm\" = { range = [40, 65] }, price = { range = [0, 999.5] }, free = {} }";
const JSON: &[&str] = &[
    r#"'{"kind": "road", "size": {"cm": 54}, "price": 499.95, "free": "yes"}'"#,
    r#"'{"kind": 3, "size": {"cm": "58"}, "price": 1e131071, "free": ["a"]}'"#,
    r#"'{"kind": null, "size": 7, "price": "1e400", "free": {"a": 1}}'"#,
    r#"'{"kind": true, "size": {"cm": -2147483649}, "price": " -12.5 ", "free": "\ud83d\ude00"}'"#,
    r#"'{"size": {"cm": 1e30}, "price": -1e-16383, "free": "\""}'"#,
    r#"'["kind", {"kind": "road"}]'"#,
    r#"'"kind"'"#,
    "'17'",
    "'null'",
    "'{}'",
    r#"('{"kind": "road", "free": "' || repeat('a', 1000000) || '"}')::jsonb"#,
    r#"jsonb_build_object('free', (SELECT jsonb_agg(0) FROM generate_series(1, 100000)), 'kind', 'road')"#,
];

const INT2: &[&str] = &["0", "1", "-1", "32767", "-32768", "5", "-5", "7"];
const INT4: &[&str] = &["0", "1", "-1", "2147483647", "-2147483648", "240", "241", "9", "2", "-7"];
const INT8: &[&str] = &[
    "0",
    "1",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "4611686018427387904",
    "-4611686018427387905",
    "1000000000000000000",
    "1000000000000000040",
    "9007199254740993",
    "2147483648",
];
const NUMERIC: &[&str] = &[
    "0",
    "1",
    "9",
    "-1",
    "0.005",
    "-0.005",
    "0.015",
    "0.5",
    "1.5",
    "2.5",
    "-2.5",
    "1.4999999999999999999",
    "1234567890499.9999999",
    "1234567890500",
    "2147483647.5",
    "-2147483648.5",
    "9007199254740993",
    "4611686018427387904",
    "9223372036854775807.5",
    "999999999999999999.0",
    "999999999999999999.5",
    "'NaN'",
    "1e400",
    "-1e400",
    "1e131071",
    "-1e131071",
    "1e-400",
    "1e-16383",
    "-1e-16383",
    "1e-30",
    "1e-61",
    "-1000",
    "1000",
    "0.0049999",
    "('0.' || repeat('9', 16383))::numeric",
    "('9.' || repeat('4', 16382) || '5')::numeric",
];
const NUMERIC_14: &[&str] = &["'Infinity'", "'-Infinity'"];
const FLOAT: &[&str] = &[
    "0",
    "'-0'",
    "0.5",
    "1.5",
    "2.5",
    "-2.5",
    "-0.5",
    "0.005",
    "0.49999999999999994",
    "'NaN'",
    "'Infinity'",
    "'-Infinity'",
    "4.9e-324",
    "-4.9e-324",
    "2.2250738585072014e-308",
    "1e308",
    "-1e308",
    "1e-30",
    "2147483647.5",
    "-2147483648.5",
    "9007199254740993",
    "4611686018427387904",
    "9223372036854775807",
    "1234567890499.9999999",
    "1e15",
    "999999999999999.5",
    "50",
    "1",
    "9",
];
const REAL: &[&str] = &[
    "0",
    "'-0'",
    "0.5",
    "2.5",
    "-5",
    "5",
    "'NaN'",
    "'Infinity'",
    "'-Infinity'",
    "1e-45",
    "3.4e38",
    "-3.4e38",
    "16777217",
];
const DATE: &[&str] = &[
    "infinity",
    "-infinity",
    "4713-01-01 BC",
    "5874897-12-31",
    "0001-01-01",
    "0001-12-31 BC",
    "9999-12-31",
    "10000-01-01",
    "2011-12-29",
    "2011-12-30",
    "2011-12-31",
    "2024-02-29",
    "2000-01-01",
    "1999-12-31",
    "2024-12-30",
    "2021-01-03",
    "2020-01-01",
    "0100-12-31",
    "1000-12-31",
];
const TIME: &[&str] = &[
    "infinity",
    "-infinity",
    "4713-01-01 00:00 BC",
    "294276-12-31 23:59:59.999999",
    "0001-01-01 00:00",
    "0001-12-31 23:59:59.999999 BC",
    "9999-12-31 23:59:59.999999",
    "10000-01-01 00:00",
    "2024-03-31 02:30",
    "2024-03-31 01:00",
    "2024-10-27 02:30",
    "2024-03-10 02:30",
    "2011-12-29 23:59:59.999999",
    "2011-12-30 09:59:59.999999",
    "2011-12-30 10:00",
    "2011-12-30 12:00",
    "2024-01-01 00:00",
    "2024-12-31 23:59:59.999999",
    "2024-12-31 00:00",
    "2023-12-31 23:59:59.999999",
    "2023-01-01 00:00",
    "1937-06-30 23:59:59.5",
    "1972-01-07 00:20",
    "1883-11-18 17:00",
    "2000-01-01 00:00",
    "0001-01-01 15:58",
    "9999-12-31 08:01",
    "2018-11-04 00:30",
    "2024-04-07 01:45",
];
const TEXT: &[&str] = &[
    "''",
    "'late'",
    "'Oslo'",
    "'a_b'",
    "'%'",
    "'\\\\'",
    "'day'",
    "'Alpha'",
    "U&'e\\0301'",
    "U&'\\00e9'",
    "'🚲'",
    "'ﬀ'",
    "'İ'",
    "repeat('a', 1000000)",
    "repeat(U&'e\\0301', 20000)",
    "'it''s'",
    "'ŉΐǰ'",
    "'a,b,,c'",
    "'2024-02-29'",
    "' 12.5 '",
];

fn values(ty: &str, version: u32) -> Vec<String> {
    let ty = ty.trim_end_matches(" NOT NULL");
    let plain = |list: &[&str]| list.iter().map(|v| (*v).to_owned()).collect();
    let quoted = |list: &[&str], zone: &str| {
        let with = |v: &&str| match v.strip_suffix(" BC") {
            Some(v) => format!("'{v}{zone} BC'"),
            None if v.ends_with("infinity") => format!("'{v}'"),
            None => format!("'{v}{zone}'"),
        };
        list.iter().map(with).collect()
    };
    match ty {
        "smallint" => plain(INT2),
        "int" => plain(INT4),
        "bigint" => plain(INT8),
        "numeric(20, 4)" => {
            plain(&["0", "0.00005", "-0.00005", "9999999999999999.9999", "2.5", "'NaN'", "0.0001"])
        }
        "numeric" if version >= 140_000 => plain(&[NUMERIC, NUMERIC_14].concat()),
        "numeric" => plain(NUMERIC),
        "float8" => plain(FLOAT),
        "real" => plain(REAL),
        "date" => quoted(DATE, ""),
        "timestamp" => quoted(TIME, ""),
        "timestamptz" => quoted(TIME, "+00"),
        "bool" => plain(&["true", "false"]),
        "jsonb" => plain(JSON),
        _ => plain(TEXT),
    }
}

/// The table, each of its rows, and its policy.
async fn table(version: u32, rng: &mut Rng) -> (TestDb, Policy) {
    let columns: Vec<String> = COLUMNS.iter().map(|(name, ty, ..)| format!("{name} {ty}")).collect();
    let mut sql = format!(
        "SET timezone = 'UTC'; CREATE TABLE owners (id int PRIMARY KEY); INSERT INTO owners SELECT generate_series(1, 9);
         CREATE TABLE facts (row int PRIMARY KEY, owner int NOT NULL REFERENCES owners, {});\n",
        columns.join(", ")
    );
    for row in 0..ROWS {
        let mut cells = Vec::new();
        for (_, ty, ..) in COLUMNS {
            let list = values(ty, version);
            let plain = list.get(row).cloned().unwrap_or_else(|| rng.pick(&list).clone());
            let null = !ty.ends_with("NOT NULL") && (row == list.len() || row > list.len() && rng.chance(15));
            // Texts of a megabyte once each: they are slow, and not more awkward in more rows.
            let long = row >= list.len() && plain.starts_with("repeat(");
            cells.push(if null {
                "NULL".into()
            } else if long {
                "'late'".into()
            } else {
                plain
            });
        }
        let _ = writeln!(sql, "INSERT INTO facts VALUES ({row}, {}, {});", row % 9 + 1, cells.join(", "));
    }
    let db = support::database(&sql).await;
    let mut text = db.backend_toml();
    text += "[server]\nlisten = [\"127.0.0.1:0\"]\n[ledger]\nurl = \"sqlite:entries.db\"\n[privacy]\nunit = \"owners.id\"\n";
    text += "[[budget]]\nname = \"everyone\"\naccounting = \"zcdp\"\nepsilon = 8.0\ndelta = 1e-6\n";
    text += "[table.owners]\nunit_column = \"id\"\n[table.facts]\nunit_column = \"owner\"\n";
    for (name, _, _, range) in COLUMNS {
        let _ = writeln!(text, "columns.{name} = {{ {range} }}");
    }
    let schema = read_schema(&db.superuser().await).await.unwrap();
    let policy = policy::parse(&text, "entries.toml", Path::new("."))
        .unwrap_or_else(|e| panic!("{e}"))
        .check(&schema)
        .unwrap_or_else(|e| panic!("{e}"));
    (db, policy)
}

/// What must hold of one text over all rows.
struct Check {
    /// As the analyst wrote it.
    written: String,
    /// What PostgreSQL computes.
    text: String,
    /// A condition on `v`, the value, that must hold in every row.
    holds: String,
    /// What that says, for a message.
    says: String,
    /// It depends on the zone.
    zoned: bool,
}

fn nothing(_: &noisegate::plan::algebra::source::Branch) -> String {
    panic!("an entry with a subquery")
}

/// A constant of a span's end, in the type of a value.
fn end(ty: &SqlType, micros: &str) -> String {
    let zero = match ty {
        SqlType::Date => return format!("(date '2000-01-01' + floor({micros} / 86400000000)::int)"),
        SqlType::Timestamptz => "timestamptz '2000-01-01 00:00+00'",
        _ => "timestamp '2000-01-01 00:00'",
    };
    format!(
        "({zero} + floor({micros} / 1000000)::float8 * interval '1 second' + mod({micros}, 1000000)::float8 * interval '1 microsecond')"
    )
}

fn check(written: &str, x: &Scalar, zoned: bool) -> Check {
    let mut all = Vec::new();
    if !x.nullable() {
        all.push("v IS NOT NULL".to_owned());
    }
    let span = x.span().interval();
    let constant = |n: &bigdecimal::BigDecimal| match x.ty() {
        t if t.is_datetime() => end(t, &n.to_plain_string()),
        _ => format!("({})", n.to_plain_string()),
    };
    // A float without a proven span is compared with nothing.
    if x.is_measured() || x.ty().is_datetime() {
        if let Some(lo) = &span.lo {
            all.push(format!("(v IS NULL OR v >= {})", constant(lo)));
        }
        if let Some(hi) = &span.hi {
            all.push(format!("(v IS NULL OR v <= {})", constant(hi)));
        }
    }
    if x.ty().is_text() && x.longest() < u64::MAX {
        all.push(format!("(v IS NULL OR length(v) <= {})", x.longest()));
    }
    let holds = if all.is_empty() { "true".into() } else { all.join(" AND ") };
    let says = format!("span {span:?}, nullable {}, {:?}", x.nullable(), x.phys());
    Check { written: written.into(), text: x.text(&nothing), holds, says, zoned }
}

/// All that must hold of an expression: of its value, of its clamps and parts, and of what a sum of it adds up.
fn checks(written: &str, kind: Kind, policy: &Policy) -> Option<Vec<Check>> {
    let plan =
        plan_only(&format!("SELECT count(*) FILTER (WHERE ({written}) IS NULL) FROM facts x"), policy)?;
    let PartKind::Count(Some(counted)) = &plan.releases[0].parts[0].kind else { panic!("{written}") };
    let x = asked(counted);
    let zoned = ["ts", "tz", "x.d", "x.rd", "x.nd", "TIMESTAMP", "DATE"].iter().any(|w| written.contains(w));
    let mut all = vec![check(written, x, zoned)];
    if kind == Kind::Number {
        for aggregate in ["sum", "avg"] {
            let Some(plan) = plan_only(&format!("SELECT {aggregate}({written}) FROM facts x"), policy) else {
                continue;
            };
            for part in plan.releases.iter().flat_map(|r| &r.parts) {
                let PartKind::Sum(s) = &part.kind else { continue };
                let (lo, hi) = s.ends();
                let arg = s.arg().text(&nothing);
                all.push(check(&format!("the argument of {aggregate}({written})"), s.arg(), zoned));
                all.push(Check {
                    written: format!("{aggregate}({written})"),
                    text: format!("ARRAY[({})::numeric, ({arg})::numeric]", s.text(&nothing)),
                    holds: format!(
                        "(v[1] IS NULL) = (v[2] IS NULL) AND (v[1] IS NULL OR v[1] BETWEEN {lo} AND {hi} AND trunc(v[1]) = v[1])"
                    ),
                    says: format!("ends {lo} to {hi}, NULL where the argument is"),
                    zoned,
                });
            }
        }
    }
    // Each text once: nested expressions share parts.
    all.dedup_by(|a, b| a.text == b.text && a.holds == b.holds);
    Some(all)
}

/// One statement for many; where it fails, halves of it.
async fn run(client: &Client, zone: &str, list: &[&Check], failures: &mut Vec<String>) {
    let mut work = vec![list];
    while let Some(list) = work.pop() {
        if failures.len() > 20 || list.is_empty() {
            return;
        }
        let texts: Vec<String> =
            list.iter().enumerate().map(|(i, c)| format!("{} AS v{i}", in_zone(&c.text, zone))).collect();
        let holds = |(i, c): (usize, &&Check)| format!("bool_and({})", named(&c.holds, i));
        let holds: Vec<String> = list.iter().enumerate().map(holds).collect();
        let sql = format!(
            "SELECT {} FROM (SELECT {} FROM public.facts AS b0 OFFSET 0) AS q",
            holds.join(", "),
            texts.join(", ")
        );
        match client.query_one(&sql, &[]).await {
            Ok(row) => {
                for (i, c) in list.iter().enumerate() {
                    if row.get::<_, Option<bool>>(i) != Some(true) {
                        let sql = format!(
                            "SELECT string_agg(row || ': ' || coalesce(left(v::text, 200), 'NULL'), '; ') FROM (SELECT row, {} AS v FROM public.facts AS b0 OFFSET 0) q WHERE ({}) IS NOT TRUE",
                            in_zone(&c.text, zone),
                            c.holds
                        );
                        let rows: Option<String> =
                            client.query_one(&sql, &[]).await.map_or(None, |r| r.get(0));
                        let rows: String = rows.unwrap_or_default().chars().take(600).collect();
                        failures.push(format!(
                            "{}\n  {} ({zone})\n  rows {rows}\n  text: {}\n",
                            c.written, c.says, c.text
                        ));
                    }
                }
            }
            Err(e) if list.len() == 1 => {
                let e = e.as_db_error().map_or_else(|| e.to_string(), |d| d.message().into());
                failures.push(format!(
                    "{}\n  {e} ({zone})\n  {}\n  text: {}\n",
                    list[0].written, list[0].says, list[0].text
                ));
            }
            Err(_) => {
                let (a, b) = list.split_at(list.len() / 2);
                work.push(a);
                work.push(b);
            }
        }
    }
}

/// The condition with the value's name in the statement for many.
fn named(holds: &str, i: usize) -> String {
    let mut out = String::new();
    let mut before = ' ';
    let chars: Vec<char> = holds.chars().collect();
    for (at, c) in chars.iter().enumerate() {
        let after = chars.get(at + 1).copied().unwrap_or(' ');
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
        if *c == 'v' && !word(before) && !word(after) {
            let _ = write!(out, "v{i}");
        } else {
            out.push(*c);
        }
        before = *c;
    }
    out
}

/// What a session may be set to, whoever asks.
const STYLES: &[&str] = &[
    "SET timezone = 'UTC'; SET datestyle = 'ISO, MDY'; SET intervalstyle = 'postgres'; SET extra_float_digits = 1; SET bytea_output = 'hex'",
    "SET timezone = 'Asia/Tokyo'; SET datestyle = 'ISO, DMY'; SET intervalstyle = 'sql_standard'; SET extra_float_digits = -15; SET bytea_output = 'escape'",
    "SET timezone = 'America/St_Johns'; SET datestyle = 'German, DMY'; SET intervalstyle = 'postgres_verbose'; SET extra_float_digits = 3",
    "SET timezone = 'Pacific/Apia'; SET datestyle = 'SQL, YMD'; SET intervalstyle = 'iso_8601'; SET extra_float_digits = 0; SET bytea_output = 'hex'",
    "SET timezone = '+15:59'; SET datestyle = 'Postgres, MDY'; SET intervalstyle = 'sql_standard'; SET timezone_abbreviations = 'India'",
];

/// The bytes that each of these gives over all rows, as a hash of them all.
async fn bytes(client: &Client, zone: &str, list: &[&Check]) -> String {
    let texts: Vec<String> =
        list.iter().enumerate().map(|(i, c)| format!("{} AS v{i}", in_zone(&c.text, zone))).collect();
    let sql = format!(
        "SELECT md5(string_agg(md5(record_send(q)), '' ORDER BY q.row)) FROM (SELECT row, {} FROM public.facts AS b0 OFFSET 0) AS q",
        texts.join(", ")
    );
    client.query_one(&sql, &[]).await.unwrap_or_else(|e| panic!("{e:?}\n{sql}")).get(0)
}

/// A table, and what expressions over it are made of.
struct World {
    db: TestDb,
    policy: Policy,
    samples: Samples,
    columns: Vec<(String, Ty)>,
}

impl World {
    async fn new(rng: &mut Rng) -> Self {
        // Only to learn what the samples give.
        let mut lab = Lab::new(Variant { dirty: false, nullable_unit: false, tied: 0, seed: 7 }).await;
        let samples = Samples::of_lab(&mut lab).await;
        let version: String = lab.client.query_one("SHOW server_version_num", &[]).await.unwrap().get(0);
        let (db, policy) = table(version.parse().unwrap(), rng).await;
        let columns = COLUMNS.iter().map(|(n, _, ty, _)| (format!("x.{n}"), *ty)).collect();
        Self { db, policy, samples, columns }
    }
}

/// A text reads the same whatever the session is set to: its zone is in it, and its constants have one reading.
#[tokio::test]
async fn rule_49_a_text_gives_the_same_bytes_under_every_setting() {
    let mut rng = Rng::of_case(crate::seed(), 0x49);
    let World { db, policy, samples, columns } = World::new(&mut rng).await;
    let mut all: Vec<Check> = Vec::new();
    for (sample, kind) in samples.all() {
        for depth in [0, 0, 1] {
            let written = query::filled(&mut rng, &samples, &columns, sample, depth);
            all.extend(checks(&written, kind, &policy).unwrap_or_default());
        }
    }
    let client = db.superuser().await;
    client.batch_execute("SET search_path = pg_catalog; SET jit = off").await.unwrap();
    let mut failures = Vec::new();
    for zone in ["UTC", "America/New_York", "Australia/Lord_Howe", "<-07>+07"] {
        for some in all.chunks(AT_ONCE) {
            let mut work = vec![some.iter().collect::<Vec<_>>()];
            while let Some(list) = work.pop().filter(|_| failures.len() < 10) {
                let mut found = Vec::new();
                for style in STYLES {
                    client.batch_execute(style).await.unwrap();
                    found.push(bytes(&client, zone, &list).await);
                }
                if found.iter().all(|f| *f == found[0]) {
                    continue;
                }
                if let [one] = list.as_slice() {
                    failures.push(format!("{} in {zone}: {}", one.written, in_zone(&one.text, zone)));
                    continue;
                }
                let (a, b) = list.split_at(list.len() / 2);
                work.extend([a.to_vec(), b.to_vec()]);
            }
        }
    }
    assert!(all.len() > 500, "{}", all.len());
    assert!(
        failures.is_empty(),
        "{} texts are read as the session is set:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[tokio::test]
async fn rule_36_values_lie_where_their_entries_prove() {
    let each = crate::number("NOISEGATE_ENTRIES").unwrap_or(24);
    let seed = crate::seed();
    let mut rng = Rng::of_case(seed, 0xe17);
    let World { db, policy, samples, columns } = World::new(&mut rng).await;

    let mut all: Vec<Check> = Vec::new();
    let mut accepted: BTreeMap<&str, u64> = BTreeMap::new();
    for (sample, kind) in samples.all() {
        let count = accepted.entry(sample).or_default();
        for i in 0..each {
            // Alone, nested once, nested twice.
            let depth = [0, 0, 1, 2][(i % 4) as usize];
            let written = query::filled(&mut rng, &samples, &columns, sample, depth);
            if let Some(some) = checks(&written, kind, &policy) {
                *count += 1;
                all.extend(some);
            }
        }
    }
    for _ in 0..each * 12 {
        let written = query::aimed(&mut rng, &samples, &columns);
        all.extend(checks(&written, Kind::Number, &policy).unwrap_or_default());
    }
    for (name, ..) in COLUMNS {
        for nullable in ["x.#", "COALESCE(x.#, x.#)", "NULLIF(x.#, x.#)"] {
            let kind = if nullable == "x.#" { Kind::Number } else { Kind::Text };
            all.extend(checks(&nullable.replace('#', name), kind, &policy).unwrap_or_default());
        }
    }
    let rare: Vec<_> = accepted.iter().filter(|(_, n)| **n * 8 < each).collect();
    assert!(rare.is_empty(), "samples that are hardly ever accepted: {rare:?}");

    let client = db.superuser().await;
    client
        .batch_execute("SET search_path = pg_catalog; SET jit = off; SET statement_timeout = '60s'")
        .await
        .unwrap();
    let (mut failures, mut computed) = (Vec::new(), 0);
    for (i, zone) in ZONES.iter().enumerate() {
        client.batch_execute(&format!("SET timezone = '{zone}'")).await.unwrap();
        // What no zone changes is computed in one of them.
        let here: Vec<&Check> =
            all.iter().enumerate().filter(|(n, c)| c.zoned || n % ZONES.len() == i).map(|(_, c)| c).collect();
        computed += here.len();
        for some in here.chunks(AT_ONCE) {
            run(&client, zone, some, &mut failures).await;
        }
    }
    println!(
        "seed {seed}: {} texts of {} samples, {computed} columns of {ROWS} rows computed",
        all.len(),
        accepted.len()
    );
    assert!(failures.is_empty(), "{} failures, of which:\n{}", failures.len(), failures.join("\n"));
}
