//! Types that parameters may have, and the constants that stand for values which PostgreSQL has
//! told.
//!
//! By list, because input functions of other types look into catalogs (`regclass` would tell which
//! hidden tables exist) or run code that nobody here has read.

use answer::{ClientError, Values};
use backend::Param;
use bytes::Bytes;
use policy::Policy;
use schema::SqlType;
use sql::ast::{CastType, Expr, ExprKind, Literal, Pos};

/// Scalars beside those that [`SqlType`] names; they can be shown and compared above a release.
const OTHERS: &[(u32, &str)] = &[
    (17, "bytea"),
    (19, "name"),
    (26, "oid"),
    (114, "json"),
    (650, "cidr"),
    (829, "macaddr"),
    (869, "inet"),
    (1266, "timetz"),
    (3802, "jsonb"),
];

/// `pg_type.oid` of array types, for the array of an ANY, and of what is in them.
const ARRAYS: &[u32] = &[
    1000, 1005, 1007, 1016, 1231, 1021, 1022, 1009, 1015, 1014, 1182, 1115, 1185, 1183, 1187, 2951, 1001,
    1003, 1028, 199, 651, 1040, 1041, 1270, 3807,
];

/// The type of a constant, if it is one of the list.
pub fn scalar(oid: u32, policy: &Policy) -> Option<SqlType> {
    if let Some((_, name)) = OTHERS.iter().find(|(o, _)| *o == oid) {
        // Names are text with a length limit; as text they meet the planner's rules.
        return Some(match *name {
            "name" => SqlType::Text,
            name => SqlType::Other { oid, name: format!("pg_catalog.{name}") },
        });
    }
    match SqlType::from_oid(oid, -1, "") {
        SqlType::Other { .. } => {
            let columns = policy.tables.iter().flat_map(|t| &t.columns);
            columns.map(|c| &c.ty).find(|ty| matches!(ty, SqlType::Enum { oid: o, .. } if *o == oid)).cloned()
        }
        known => Some(known),
    }
}

/// Whether a parameter may have this type.
pub fn allowed(oid: u32, policy: &Policy) -> bool {
    scalar(oid, policy).is_some() || ARRAYS.contains(&oid)
}

/// 0A000 for a parameter.
pub fn refused(number: usize, oid: u32) -> ClientError {
    ClientError::unsupported(format!("parameter ${number} has a type that is not supported (OID {oid})"))
        .hint("Give it another type: $1::text, $1::numeric, … Numbers, text, dates, booleans, uuid, enums of the tables and arrays of these are supported.")
}

/// The client's values, as they came.
pub fn params(types: &[u32], values: &Values) -> Vec<Param> {
    let formats = values.formats.iter().copied().chain(std::iter::repeat(0));
    let values = values.parameters.iter().zip(formats);
    types
        .iter()
        .zip(values)
        .map(|(oid, (value, format))| Param { oid: *oid, value: value.clone(), format })
        .collect()
}

/// Some values of parameters of these types, by which it is seen what a statement is like; None where a type has none that is sure
/// to be read.
pub fn some(types: &[u32], policy: &Policy) -> Option<Values> {
    let value = |oid: &u32| Some(Some(Bytes::from_static(one(*oid, policy)?.as_bytes())));
    let parameters = types.iter().map(value).collect::<Option<Vec<_>>>()?;
    Some(Values { parameters, ..Values::default() })
}

fn one(oid: u32, policy: &Policy) -> Option<&'static str> {
    Some(match scalar(oid, policy) {
        Some(SqlType::Bool) => "t",
        Some(SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Numeric { .. }) => "1",
        Some(SqlType::Float4 | SqlType::Float8) => "1",
        Some(SqlType::Text | SqlType::Varchar | SqlType::Bpchar) => "1",
        Some(SqlType::Date | SqlType::Timestamp | SqlType::Timestamptz) => "2024-01-01",
        Some(SqlType::Time) => "12:00",
        Some(SqlType::Interval) => "1 day",
        Some(SqlType::Uuid) => "00000000-0000-0000-0000-000000000000",
        Some(SqlType::Inet | SqlType::Cidr) => "10.0.0.1",
        Some(SqlType::Enum { .. } | SqlType::Other { .. }) => return None,
        // Arrays of numbers and texts, and of dates and times.
        None => match oid {
            1005 | 1007 | 1016 | 1231 | 1021 | 1022 | 1009 | 1015 | 1014 => "{1}",
            1182 | 1115 | 1185 => "{2024-01-01}",
            _ => return None,
        },
    })
}

/// A constant of a type, from its text.
pub fn constant(text: Option<&str>, ty: &SqlType, pos: Pos) -> Expr {
    let cast = |l: Literal| {
        let expr = Box::new(Expr::new(ExprKind::Literal(l), pos));
        ExprKind::Cast { expr, ty: CastType { ty: ty.clone(), modifier: String::new() } }
    };
    let kind = match (text, ty) {
        (None, _) => cast(Literal::Null),
        (Some(text), SqlType::Bool) => ExprKind::Literal(Literal::Bool(text.starts_with('t'))),
        (Some(text), SqlType::Interval) => ExprKind::Interval(text.to_owned()),
        (Some(text), _) => cast(Literal::String(text.to_owned())),
    };
    Expr::new(kind, pos)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::path::Path;

    fn policy() -> Policy {
        let schema = serde_json::from_str(include_str!("../../../tests/policy/schema.json")).unwrap();
        let text = include_str!("../../../config/bikes.toml");
        policy::parse(text, "bikes.toml", Path::new("")).unwrap().check(&schema).unwrap()
    }

    #[test]
    fn types_that_look_into_catalogs_are_refused() {
        let policy = policy();
        // regproc, regoper, regclass, regtype, regrole, regnamespace, regconfig, xml, record, unknown enums.
        for oid in [24, 2203, 2205, 2206, 4096, 4089, 3734, 142, 2249, 99_999] {
            assert!(!allowed(oid, &policy), "{oid}");
        }
        for oid in [16, 20, 21, 23, 25, 700, 701, 1043, 1082, 1114, 1184, 1186, 1700, 2950, 19, 1007, 1009] {
            assert!(allowed(oid, &policy), "{oid}");
        }
    }
}
