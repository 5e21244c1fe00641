#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
use super::*;

fn relation() -> Relation {
    let column = |name: &str, attnum, not_null| Column {
        name: name.into(),
        attnum,
        ty: SqlType::Int4,
        numeric_precision: None,
        virtual_expression: false,
        not_null,
        deterministic_collation: true,
        enum_labels: None,
    };
    Relation {
        oid: 20_000,
        schema: "public".into(),
        name: "trips".into(),
        kind: RelationKind::Table,
        row_security: false,
        foreign_part: None,
        placement: None,
        columns: vec![column("a", 1, true), column("b", 2, true), column("maybe", 4, false)],
        keys: Vec::new(),
        foreign_keys: Vec::new(),
        checks: Vec::new(),
    }
}

fn key(columns: &[&str]) -> Key {
    Key {
        columns: columns.iter().map(|c| (*c).to_owned()).collect(),
        primary: false,
        valid: true,
        immediate: true,
        partial: false,
    }
}

fn usable(kind: RelationKind, key: Key) -> bool {
    let keys = vec![key];
    !Relation { kind, keys, ..relation() }.usable_keys().is_empty()
}

#[test]
fn rule_07_what_proves_uniqueness() {
    for kind in [RelationKind::Table, RelationKind::Partitioned] {
        assert!(usable(kind, key(&["a"])));
        assert!(usable(kind, key(&["a", "b"])));
        assert!(usable(kind, Key { primary: true, ..key(&["b"]) }));
    }
}

#[test]
fn rule_07_what_proves_nothing() {
    let table = RelationKind::Table;
    assert!(!usable(table, Key { valid: false, ..key(&["a"]) }));
    assert!(!usable(table, Key { immediate: false, ..key(&["a"]) }));
    assert!(!usable(table, Key { partial: true, ..key(&["a"]) }));
    assert!(!usable(table, key(&[])), "an index over an expression");
    assert!(!usable(table, key(&["maybe"])), "NULLs are distinct");
    assert!(!usable(table, key(&["a", "maybe"])));
    assert!(!usable(table, key(&["gone"])));
    for kind in [
        RelationKind::InheritanceParent,
        RelationKind::View,
        RelationKind::MaterializedView,
        RelationKind::Foreign,
    ] {
        assert!(!usable(kind, key(&["a"])), "{kind:?}");
    }
}

#[test]
fn json_round_trip() {
    let mut r = relation();
    r.keys = vec![key(&["a"]), key(&[])];
    r.checks = vec![Check { column: "a".into(), low: Some("-1.5".into()), high: None, values: None }];
    r.foreign_keys = vec![ForeignKey {
        columns: vec!["a".into()],
        references: ("public".into(), "riders".into()),
        referenced_columns: vec!["rider_id".into()],
        valid: true,
    }];
    let types = [
        SqlType::Bool,
        SqlType::Numeric { scale: None },
        SqlType::Numeric { scale: Some(2) },
        SqlType::Enum { oid: 16_500, name: "public.\"Mood\"".into() },
        SqlType::Other { oid: 3802, name: "pg_catalog.jsonb".into() },
    ];
    for (ty, attnum) in types.into_iter().zip(10..) {
        let enum_labels = matches!(ty, SqlType::Enum { .. }).then(|| vec!["sad".into(), "ok".into()]);
        r.columns.push(Column { ty, attnum, enum_labels, ..r.columns[0].clone() });
    }
    let schema = Schema { server_version: 150_018, engine: Engine::Postgresql, relations: vec![r] };
    let json = serde_json::to_string(&schema).unwrap();
    assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), schema);
    assert!(serde_json::from_str::<Schema>("{}").is_err());
}

#[test]
fn snapshots_without_the_newer_fields_are_read() {
    let schema = Schema { server_version: 150_018, engine: Engine::Postgresql, relations: vec![relation()] };
    let json = serde_json::to_string(&schema).unwrap();
    let older = json.replace("\"numeric_precision\":null,\"virtual_expression\":false,", "");
    assert_ne!(json, older);
    assert_eq!(serde_json::from_str::<Schema>(&older).unwrap(), schema);
}

#[test]
fn types_by_oid() {
    assert_eq!(
        SqlType::from_oid(1700, ((6 << 16) | 2) + 4, "numeric(6,2)"),
        SqlType::Numeric { scale: Some(2) }
    );
    assert_eq!(SqlType::from_oid(1700, -1, "numeric"), SqlType::Numeric { scale: None });
    // numeric(5,-2)
    assert_eq!(SqlType::from_oid(1700, ((5 << 16) | 0x7fe) + 4, ""), SqlType::Numeric { scale: Some(0) });
    for oid in [16, 20, 21, 23, 25, 700, 701, 1042, 1043, 1082, 1083, 1114, 1184, 1186, 1700, 2950, 3802] {
        assert_eq!(SqlType::from_oid(oid, -1, "x").oid(), oid);
    }
}
