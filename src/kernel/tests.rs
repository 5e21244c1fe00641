//! Certified texts, and faults in them that must be found.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod clocks;
mod golden;
mod lexer;
mod light;
mod mutations;
mod rules;
mod spellings;
mod weights;

use crate::{Certified, Uncertified, certify};
use policy::Policy;
use schema::{Column, Key, Relation, RelationKind, Schema, SqlType};
use std::path::Path;
use std::sync::OnceLock;

/// Tables as `name: column type, …; key columns; …`. `?` follows a type that can be NULL, `*` one whose collation is
/// nondeterministic, `+` a table that has children.
const TABLES: &str = "
stations: station text, city text, capacity int4; station
riders: rider_id int4, birth_year int4, plan text, city text?, email text?, active bool?; rider_id
trips: trip_id int8, rider_id int4, started_at timestamp, day date, station text, minutes int4, fare money, stars int2?, note text?; trip_id
payments: payment_id int8, trip_id int8, rider_id int4, amount money, method text, paid_at timestamptz; payment_id
devices: rider_id int4, slot int4, kind gadget, battery float8?, signal float4?, version numeric?, serial int8?, code bpchar?; rider_id slot
app_events: event_id int8, rider_id int4, addr inet, payload jsonb?; event_id
legs: leg_id int8, trip_id int8?, km money, surface text; leg_id
fixes: fix_id int8, leg_id int8?, cost money, station text?; fix_id
visits: visit_id int8, rider_id int4?, minutes int4, place text*; visit_id
homes: rider_id int4, place text*; rider_id
events+: event_id int8, rider_id int4, minutes int4; event_id
zones: zone text, area int4; zone
codes: code bpchar, area int4; code
labels: code bpchar*, area int4; code
";

/// Beside the policy of tests/bikes.
const MORE: &str = "
[table.visits]
unit_column = \"rider_id\"
columns.minutes = { range = [0, 240] }
columns.place = {}
[table.homes]
unit_column = \"rider_id\"
columns.place = {}
[table.events]
unit_column = \"rider_id\"
columns.minutes = { range = [0, 240] }
[table.zones]
public = true
[table.codes]
public = true
[table.labels]
public = true
";

fn relation(line: &str) -> Relation {
    let (name, rest) = line.split_once(':').unwrap();
    let mut sections = rest.split(';').map(str::trim);
    let columns = sections.next().unwrap().split(", ").enumerate().map(|(i, c)| {
        let (name, ty) = c.split_once(' ').unwrap();
        let ty_name = ty.trim_end_matches(['?', '*']);
        let ty_known = match ty_name {
            "text" => SqlType::Text,
            "int2" => SqlType::Int2,
            "int4" => SqlType::Int4,
            "int8" => SqlType::Int8,
            "bool" => SqlType::Bool,
            "timestamp" => SqlType::Timestamp,
            "timestamptz" => SqlType::Timestamptz,
            "date" => SqlType::Date,
            "money" => SqlType::Numeric { scale: Some(2) },
            "numeric" => SqlType::Numeric { scale: None },
            "float4" => SqlType::Float4,
            "float8" => SqlType::Float8,
            "bpchar" => SqlType::Bpchar,
            "inet" => SqlType::Inet,
            "jsonb" => SqlType::Other { oid: 3802, name: "pg_catalog.jsonb".into() },
            "gadget" => SqlType::Enum { oid: 99, name: "public.gadget".into() },
            other => panic!("{other}"),
        };
        let labels = ["phone", "tablet", "watch"].map(str::to_owned).to_vec();
        Column {
            name: name.into(),
            attnum: i as i16 + 1,
            ty: ty_known,
            numeric_precision: None,
            virtual_expression: false,
            not_null: !ty.contains('?'),
            deterministic_collation: !ty.contains('*'),
            enum_labels: (ty_name == "gadget").then_some(labels),
        }
    });
    let columns = columns.collect();
    let key = |k: &str| Key {
        columns: k.split(' ').map(str::to_owned).collect(),
        primary: true,
        valid: true,
        immediate: true,
        partial: false,
    };
    let slot = name == "devices";
    Relation {
        oid: name.bytes().map(u32::from).sum(),
        schema: "public".into(),
        name: name.trim_end_matches('+').into(),
        kind: if name.ends_with('+') { RelationKind::InheritanceParent } else { RelationKind::Table },
        row_security: false,
        foreign_part: None,
        placement: None,
        columns,
        keys: sections.map(key).collect(),
        foreign_keys: Vec::new(),
        checks: slot
            .then(|| schema::Check {
                column: "slot".into(),
                low: Some("1".into()),
                high: Some("3".into()),
                values: None,
            })
            .into_iter()
            .collect(),
    }
}

fn policy() -> &'static Policy {
    static POLICY: OnceLock<Policy> = OnceLock::new();
    POLICY.get_or_init(|| {
        let relations = TABLES.trim().lines().map(relation).collect();
        let schema = Schema { server_version: 150_000, engine: Default::default(), relations };
        let rules = include_str!("../../tests/bikes/policy.toml");
        let head = "[backend]\nurl = \"postgres://a@h/b\"\nfinish_url = \"postgres://c@h/b\"\n[ledger]\nurl = \"sqlite:x.db\"\n";
        let raw = policy::parse(&format!("{head}{rules}{MORE}"), "policy.toml", Path::new(""));
        raw.unwrap_or_else(|e| panic!("{e}")).check(&schema).unwrap_or_else(|e| panic!("{e}"))
    })
}

/// `P.` stands for pg_catalog.
fn long(sql: &str) -> String {
    sql.replace("P.", "pg_catalog.")
}

fn check(sql: &str) -> Result<Certified, Uncertified> {
    certify(&long(sql), policy())
}

fn accept(sql: &str) -> Certified {
    check(sql).unwrap_or_else(|e| panic!("{e}\n{sql}"))
}

/// Refused, for a reason that has these words in it.
fn refused(name: &str, sql: &str, words: &str) {
    match check(sql) {
        Ok(c) => panic!("{name}: certified as {c:?}"),
        Err(e) => assert!(e.reason.contains(words), "{name}: {e}\n{sql}"),
    }
}

fn linf(c: &Certified) -> Vec<u128> {
    c.parts.iter().map(|p| p.linf).collect()
}
