//! The types that casts over catalogs may name.

use sql::text_size::LONGEST_CHAR;
use sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType, ExactNumberInfo, ObjectNamePart, TimezoneInfo,
};

/// Target of a cast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A type of `pg_catalog`, as it is printed, and its bare name.
    Plain(String, &'static str),
    /// A type whose values are OIDs that are shown as names.
    Named(Named),
    /// An array of such.
    NamedArray(Named),
}

/// Types whose input looks names up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// `regclass`.
    Relation,
    /// `regtype`.
    Type,
    /// `regproc`, `regprocedure`: the server's own functions.
    Function,
    /// `regnamespace`.
    Schema,
    /// `regrole`.
    Role,
}

/// Spellings and names.
const PLAIN: &[(&str, &str)] = &[
    ("text", "text"),
    ("name", "name"),
    ("oid", "oid"),
    ("char", "char"),
    ("bool", "bool"),
    ("boolean", "bool"),
    ("int2", "int2"),
    ("smallint", "int2"),
    ("int4", "int4"),
    ("int", "int4"),
    ("integer", "int4"),
    ("int8", "int8"),
    ("bigint", "int8"),
    ("float4", "float4"),
    ("real", "float4"),
    ("float8", "float8"),
    ("numeric", "numeric"),
    ("varchar", "varchar"),
    ("bpchar", "bpchar"),
    ("bytea", "bytea"),
    ("json", "json"),
    ("jsonb", "jsonb"),
    ("date", "date"),
    ("time", "time"),
    ("timestamp", "timestamp"),
    ("timestamptz", "timestamptz"),
    ("interval", "interval"),
    ("uuid", "uuid"),
    ("xid", "xid"),
    ("inet", "inet"),
    ("cidr", "cidr"),
    ("macaddr", "macaddr"),
    ("timetz", "timetz"),
    ("int2vector", "int2vector"),
    ("oidvector", "oidvector"),
    ("sql_identifier", "name"),
    ("character_data", "varchar"),
    ("yes_or_no", "varchar"),
    ("cardinal_number", "int4"),
];

const NAMED: &[(&str, Named)] = &[
    ("regclass", Named::Relation),
    ("regtype", Named::Type),
    ("regproc", Named::Function),
    ("regprocedure", Named::Function),
    ("regnamespace", Named::Schema),
    ("regrole", Named::Role),
];

fn plain(name: &str) -> Option<Target> {
    modified(name, None)
}

/// A type with its length, digits, or digits of seconds.
fn modified(name: &str, modifier: Option<u64>) -> Option<Target> {
    let (_, name) = PLAIN.iter().find(|(spelling, _)| *spelling == name)?;
    let printed = match (*name, modifier) {
        ("char", _) => "pg_catalog.\"char\"".to_owned(),
        (_, Some(n)) if n > LONGEST_CHAR => return None,
        (name, None) => format!("pg_catalog.{name}"),
        (name, Some(n)) => format!("pg_catalog.{name}({n})"),
    };
    Some(Target::Plain(printed, name))
}

/// The target; None is refused.
pub fn target(ty: &DataType) -> Option<Target> {
    let length = |l: &Option<CharacterLength>| match l {
        Some(CharacterLength::IntegerLength { length, .. }) => Some(*length),
        _ => None,
    };
    match ty {
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, None)) => match target(element)? {
            Target::Plain(printed, name) if !printed.ends_with(']') => {
                Some(Target::Plain(printed + "[]", name))
            }
            Target::Named(kind) => Some(Target::NamedArray(kind)),
            _ => None,
        },
        DataType::Varchar(l) | DataType::CharacterVarying(l) | DataType::CharVarying(l) => {
            modified("varchar", length(l))
        }
        DataType::Char(l) | DataType::Character(l) => modified("bpchar", Some(length(l).unwrap_or(1))),
        DataType::Text => plain("text"),
        DataType::Bool | DataType::Boolean => plain("bool"),
        DataType::SmallInt(None) | DataType::Int2(None) => plain("int2"),
        DataType::Int(None) | DataType::Integer(None) | DataType::Int4(None) => plain("int4"),
        DataType::BigInt(None) | DataType::Int8(None) => plain("int8"),
        DataType::Real | DataType::Float4 => plain("float4"),
        DataType::DoublePrecision
        | DataType::Float8
        | DataType::Float(ExactNumberInfo::None)
        | DataType::Double(ExactNumberInfo::None) => plain("float8"),
        DataType::Numeric(n) | DataType::Decimal(n) | DataType::Dec(n) => match n {
            ExactNumberInfo::None => plain("numeric"),
            ExactNumberInfo::Precision(p) => modified("numeric", Some(*p)),
            ExactNumberInfo::PrecisionAndScale(p, s) => {
                Some(Target::Plain(format!("pg_catalog.numeric({p},{s})"), "numeric"))
            }
        },
        DataType::Bytea => plain("bytea"),
        DataType::JSON => plain("json"),
        DataType::JSONB => plain("jsonb"),
        DataType::Date => plain("date"),
        DataType::Uuid => plain("uuid"),
        DataType::Time(p, zone) => modified(if zoned(zone) { "timetz" } else { "time" }, *p),
        DataType::Timestamp(p, zone) => modified(if zoned(zone) { "timestamptz" } else { "timestamp" }, *p),
        DataType::Interval { fields: None, precision: None } => plain("interval"),
        DataType::Regclass => Some(Target::Named(Named::Relation)),
        DataType::Custom(name, modifiers) if modifiers.is_empty() => {
            let mut parts = Vec::new();
            for part in &name.0 {
                let ObjectNamePart::Identifier(ident) = part else { return None };
                parts.push((sql::names::fold(ident), ident.quote_style.is_some()));
            }
            let (name, quoted) = match parts.as_slice() {
                [name] => name,
                [(schema, _), name] if schema == "pg_catalog" || schema == "information_schema" => name,
                _ => return None,
            };
            // `"char"` is a type of its own, `char` is bpchar.
            if name == "char" && !quoted {
                return modified("bpchar", Some(1));
            }
            let named = NAMED.iter().find(|(spelling, _)| spelling == name);
            named.map(|(_, kind)| Target::Named(*kind)).or_else(|| plain(name))
        }
        _ => None,
    }
}

fn zoned(zone: &TimezoneInfo) -> bool {
    matches!(zone, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz)
}
