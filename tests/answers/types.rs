//! Types and formats: what comes back is PostgreSQL's own, byte for byte, in text and in binary, with its type and modifier, and
//! from no table (OID 0), since a client that were told of one would go and ask the catalogs for it.

use crate::city::{self, PASSWORD, policy};
use crate::support::{Gate, TestDb, Workdir, connect, database};
use noisegate::schema::quoted::string;
use std::fmt::Write;
use tokio_postgres::types::{FromSql, Type};
use tokio_postgres::{Client, SimpleQueryMessage};

/// A type as it is written, how it is called in a table's column, and two values: the first is a group's key below.
const TYPES: &[(&str, &str, [&str; 2])] = &[
    ("bool", "c_bool", ["true", "false"]),
    ("int2", "c_int2", ["-32768", "32767"]),
    ("int4", "c_int4", ["7", "-2147483648"]),
    ("int8", "c_int8", ["9007199254740993", "-9223372036854775808"]),
    ("float4", "c_float4", ["1.1", "-Infinity"]),
    ("float8", "c_float8", ["0.1", "NaN"]),
    ("numeric", "c_numeric", ["12.5", "-12345678901234567890.000100"]),
    ("numeric(8,3)", "c_decimal", ["1.125", "-99999.999"]),
    ("text", "c_text", ["it's ä\\n", ""]),
    ("varchar(5)", "c_varchar", ["abcde", "ä"]),
    ("char(4)", "c_char", ["ab", "abcd"]),
    ("bytea", "c_bytea", ["\\x00ff5c", "\\x"]),
    ("date", "c_date", ["2024-02-29", "0044-03-15 BC"]),
    ("time", "c_time", ["12:30:00.000001", "24:00:00"]),
    ("time(3)", "c_time3", ["12:30:00.125", "00:00:00"]),
    ("timetz", "c_timetz", ["12:30:00+05:30", "00:00:00-08"]),
    ("timestamp", "c_timestamp", ["2024-02-29 12:30:00.123456", "infinity"]),
    ("timestamp(0)", "c_timestamp0", ["2024-02-29 12:30:00", "0044-03-15 00:00:00 BC"]),
    ("timestamptz", "c_timestamptz", ["2024-02-29 12:30:00+02", "-infinity"]),
    ("timestamptz(3)", "c_timestamptz3", ["2024-02-29 12:30:00.125+00", "1900-01-01 00:00:00+00"]),
    ("interval", "c_interval", ["1 day 02:00:00", "-1 mons +3 days -00:00:00.000001"]),
    ("uuid", "c_uuid", ["00000000-0000-4000-8000-000000000001", "ffffffff-ffff-ffff-ffff-ffffffffffff"]),
    ("json", "c_json", ["{\"b\" : 1,  \"a\": null}", "[]"]),
    ("jsonb", "c_jsonb", ["{\"b\" : 1,  \"a\": null}", "\"ä\""]),
    ("inet", "c_inet", ["10.0.0.1/8", "::1"]),
    ("cidr", "c_cidr", ["10.0.0.0/8", "2001:db8::/32"]),
    ("macaddr", "c_macaddr", ["08:00:2b:01:02:03", "ff:ff:ff:ff:ff:ff"]),
    ("oid", "c_oid", ["1259", "4294967295"]),
    ("int4[]", "c_int4s", ["{1,NULL,3}", "[2:3]={7,8}"]),
    ("text[]", "c_texts", ["{a,\"b c\",\"NULL\",NULL}", "{}"]),
    ("numeric(5,2)[]", "c_decimals", ["{{1.5,2},{3,4.25}}", "{NULL}"]),
    ("timestamptz[]", "c_moments", ["{\"2024-02-29 12:30:00+02\"}", "{}"]),
    ("mood", "c_mood", ["glad", "sad"]),
];

/// Columns whose values may be private group keys, and are shown as they are stored.
const KEYS: &[&str] = &[
    "c_bool",
    "c_int2",
    "c_int4",
    "c_int8",
    "c_numeric",
    "c_decimal",
    "c_text",
    "c_varchar",
    "c_date",
    "c_time",
    "c_timestamp",
    "c_timestamptz",
    "c_uuid",
    "c_mood",
];

struct World {
    db: TestDb,
    gate: Gate,
    _dir: Workdir,
}

impl World {
    /// `kinds` is public and has both values and NULLs; `facts` is private: a hundred units with the first value.
    async fn new() -> Self {
        let columns: Vec<String> = TYPES.iter().map(|(ty, name, _)| format!("{name} {ty}")).collect();
        let row = |n: usize| TYPES.iter().map(|t| string(t.2[n])).collect::<Vec<_>>().join(", ");
        let columns = columns.join(", ");
        let setup = format!(
            "{}CREATE TYPE mood AS ENUM ('sad', 'glad');
             CREATE TABLE kinds (id int PRIMARY KEY, {columns});
             INSERT INTO kinds VALUES (1, {}), (2, {}); INSERT INTO kinds (id) VALUES (3);
             CREATE TABLE facts (rider_id int PRIMARY KEY REFERENCES riders, {columns});
             INSERT INTO facts SELECT r.rider_id, (k).* FROM riders r,
                (SELECT {} FROM kinds WHERE id = 1) k WHERE r.rider_id <= 100;",
            city::DATA,
            row(0),
            row(1),
            TYPES.iter().map(|t| t.1).collect::<Vec<_>>().join(", "),
        );
        let db = city::published(database(&setup).await).await;
        db.publish(&["kinds"]).await;
        let rules = "[statement]\nepsilon = 40\ndelta = 1e-6\nmax_groups = 1\nmax_rows = 1\n
            [[budget]]\nname = \"everyone\"\naccounting = \"approx\"\nepsilon = 1000\ndelta = 0.1\n[cache]\nenabled = true\n";
        let mut text = policy(&db.backend_toml(), &["ada"], rules);
        text.push_str("[table.kinds]\npublic = true\n[table.facts]\nunit_column = \"rider_id\"\n");
        KEYS.iter().for_each(|key| writeln!(text, "columns.{key} = {{}}").unwrap());
        let dir = Workdir::new(&text);
        let gate = dir.serve().await;
        Self { db, gate, _dir: dir }
    }

    async fn both(&self) -> [Client; 2] {
        [connect(&self.gate.url("ada", PASSWORD, "bikes")).await, self.db.superuser().await]
    }
}

/// A value as it came.
struct Raw(Vec<u8>);

impl<'a> FromSql<'a> for Raw {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(raw.to_vec()))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Columns as name, type and modifier; then rows in binary, and in text.
async fn seen(client: &Client, sql: &str) -> String {
    let statement = match client.prepare(sql).await {
        Ok(statement) => statement,
        Err(e) => return format!("{e:?}"),
    };
    let mut out = String::new();
    for column in statement.columns() {
        writeln!(out, "{} {} {}", column.name(), column.type_().oid(), column.type_modifier()).unwrap();
    }
    for row in client.query(&statement, &[]).await.unwrap_or_else(|e| panic!("{sql}: {e:?}")) {
        let cells: Vec<_> = (0..row.len()).map(|n| row.get::<_, Option<Raw>>(n).map(|raw| raw.0)).collect();
        writeln!(out, "{cells:?}").unwrap();
    }
    for message in client.simple_query(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}")) {
        if let SimpleQueryMessage::Row(row) = message {
            let cells: Vec<_> = (0..row.len()).map(|n| row.get(n)).collect();
            writeln!(out, "{cells:?}").unwrap();
        }
    }
    out
}

/// What a session may have said of how values are written.
const SETTINGS: &[&[&str]] = &[
    &[],
    &["SET timezone = 'Asia/Kolkata'", "SET datestyle = 'German'", "SET intervalstyle = 'iso_8601'"],
    &["SET extra_float_digits = -3", "SET bytea_output = 'escape'", "SET intervalstyle = 'sql_standard'"],
];

async fn same(world: &World, settings: &[&str], statements: &[String]) {
    let [here, there] = world.both().await;
    let mut wrong = String::new();
    for client in [&here, &there] {
        client.batch_execute("SET timezone = 'UTC'").await.unwrap();
        for sql in settings {
            client.batch_execute(sql).await.unwrap();
        }
    }
    for sql in statements {
        let (ours, theirs) = (seen(&here, sql).await, seen(&there, sql).await);
        if ours != theirs || ours.starts_with("Error") {
            writeln!(wrong, "{settings:?} {sql}\n  here:  {ours}\n  there: {theirs}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[tokio::test(flavor = "multi_thread")]
async fn constants_and_columns_are_postgresqls_own_bytes() {
    let world = World::new().await;
    let mut statements = vec!["SELECT * FROM kinds ORDER BY id".to_owned()];
    for (ty, name, values) in TYPES {
        // No enum is named in a cast here: its values are those of a column.
        if *ty != "mood" {
            let [a, b] = values.map(string);
            statements.push(format!("SELECT {a}::{ty} AS a, {b}::{ty} AS b, NULL::{ty} AS c"));
        }
        statements.push(format!("SELECT {name} FROM kinds WHERE {name} IS NOT NULL ORDER BY id"));
    }
    // Many in one statement, and one of them an array.
    statements.push(
        "SELECT '{1,2}'::int4[], interval '1 day', interval '90' minute, '\\x00'::bytea, 1.5::numeric(6,2)"
            .into(),
    );
    for settings in SETTINGS {
        same(&world, settings, &statements).await;
    }
    let [here, _] = world.both().await;
    let statement = here.prepare("SELECT * FROM kinds").await.unwrap();
    assert!(statement.columns().iter().all(|c| c.table_oid().is_none() && c.column_id().is_none()));
}

#[tokio::test(flavor = "multi_thread")]
async fn released_keys_and_values_are_postgresqls_own_bytes() {
    let mut statements: Vec<String> = KEYS
        .iter()
        .map(|key| format!("SELECT {key}, count(*) AS n FROM facts GROUP BY {key} HAVING count(*) > 50"))
        .collect();
    for sql in [
        "SELECT count(*), count(*)::int4, count(*)::numeric, count(*)::float8, count(*) > 50, count(*)::text FROM facts",
        "SELECT array_agg(n), array_agg(k) FROM (SELECT c_text AS k, count(*) AS n FROM facts GROUP BY 1 HAVING count(*) > 50) x",
        "SELECT array_agg(k), array_agg(d) FROM (SELECT c_mood AS k, c_date AS d, count(*) AS n FROM facts GROUP BY 1, 2 HAVING count(*) > 50) x",
        "SELECT ARRAY[count(*), 2] FROM facts",
    ] {
        statements.push(sql.into());
    }
    // Each has a budget of its own: the settings are a part of what is asked.
    for settings in SETTINGS {
        same(&World::new().await, settings, &statements).await;
    }
}
