#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! What needs no database: the schema that tests/policy reads, and shapes that one hardly meets.
use super::text::key;
use super::*;
use schema::Schema;
use std::path::Path;

fn catalog() -> Catalog {
    let schema: Schema = serde_json::from_str(include_str!("../../tests/policy/schema.json")).unwrap();
    Catalog { database: "da\"ta\nbase".into(), schema, ..Catalog::default() }
}

fn options(unit: &str, public: &[&str]) -> Options {
    let public = public.iter().map(|p| (*p).to_owned()).collect();
    Options { unit: unit.into(), public, schemas: Vec::new(), at_most: 90, address: "127.0.0.1:5433".into() }
}

/// Every single-column key of every table as the unit: the starter is a policy, or the unit is refused with a reason.
#[test]
fn any_key_makes_a_valid_policy() {
    let catalog = catalog();
    let mut made = 0;
    for r in &catalog.schema.relations {
        for c in &r.columns {
            let Ok(starter) =
                starter(&catalog, &options(&format!("{}.{}.{}", r.schema, r.name, c.name), &[]))
            else {
                continue;
            };
            made += 1;
            assert!(starter.private >= 1 && starter.public == 0);
            let raw = policy::parse(&starter.policy, "p", Path::new(""))
                .unwrap_or_else(|e| panic!("{e}\n{}", starter.policy));
            let errors = raw.check(&catalog.schema).err().map_or_else(Vec::new, |e| e.0);
            // Some types cannot name a unit, which `check` says.
            let unexpected: Vec<_> = errors
                .iter()
                .filter(|e| !e.message.contains("unit_path") && !e.message.contains("cannot name a unit"))
                .collect();
            assert!(unexpected.is_empty(), "{unexpected:?}\n{}", starter.policy);
        }
    }
    assert!(made >= 8, "{made}");
}

#[test]
fn names_cannot_leave_their_line() {
    let starter = starter(&catalog(), &options("riders.rider_id", &["stations"])).unwrap();
    assert!(
        starter.policy.starts_with("# Policy of the database da\"ta\u{fffd}base, "),
        "{}",
        starter.policy
    );
    assert!(starter.policy.contains("@127.0.0.1:5433/da%22ta%0Abase\""), "{}", starter.policy);
    assert!(
        starter.policy.contains("# REVOKE ALL ON DATABASE \"da\"\"ta\n# base\" FROM PUBLIC;"),
        "{}",
        starter.policy
    );
    assert!(
        starter.policy.contains("columns.station = { references = \"stations.station\" }"),
        "{}",
        starter.policy
    );
}

#[test]
fn text_helpers() {
    assert_eq!(quote("a\"b\\c\n\u{7f}"), "\"a\\\"b\\\\c\\u000A\\u007F\"");
    assert_eq!((key("a-b_1"), key("a b"), key("")), ("a-b_1".into(), "\"a b\"".into(), "\"\"".into()));
    assert_eq!(text::list(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    assert!(text::paragraph(&"word ".repeat(100)).lines().all(|l| l.starts_with("# ") && l.len() <= 116));
}
