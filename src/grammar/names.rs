//! Functions and types that may occur, and what is known of types.

use super::tokens::{self, Token};
use super::tree::Expr;
use policy::Policy;
use schema::SqlType;

/// Pure functions of pg_catalog: they look at nothing but their arguments, and let no argument choose how much memory
/// they take; and the aggregates, which have their places.
const FUNCTIONS: &str = "abs age atan atan2 btrim cbrt ceil cos count date_larger date_smaller date_trunc degrees div exp float8larger \
    float8smaller floor initcap int8larger int8smaller jsonb_extract_path jsonb_extract_path_text jsonb_typeof left length ln log lower ltrim make_date md5 numeric_larger \
    numeric_smaller octet_length pg_column_size power radians replace reverse right round rtrim sign sin split_part sqrt \
    starts_with strpos substr sum tan texticregexeq textregexeq timestamp_larger timestamp_smaller \
    timestamptz_larger timestamptz_smaller timezone to_char to_timestamp translate trim_scale trunc upper width_bucket";

/// Keywords that look like functions, whose meaning no search path changes.
pub const KEYWORDS: &[&str] = &["COALESCE", "GREATEST", "LEAST", "NULLIF"];

/// Types of pg_catalog that casts may name.
const TYPES: &[SqlType] = &[
    SqlType::Bool,
    SqlType::Int2,
    SqlType::Int4,
    SqlType::Int8,
    SqlType::Numeric { scale: None },
    SqlType::Float4,
    SqlType::Float8,
    SqlType::Text,
    SqlType::Varchar,
    SqlType::Bpchar,
    SqlType::Date,
    SqlType::Timestamp,
    SqlType::Timestamptz,
    SqlType::Time,
    SqlType::Interval,
    SqlType::Uuid,
    SqlType::Inet,
    SqlType::Cidr,
];

/// Of these, the others than the first are constants: rows must not choose how much they do, or what fails.
const FIXED: &str = "jsonb_extract_path jsonb_extract_path_text replace split_part texticregexeq textregexeq to_char translate";

/// Whether a function may have these arguments. An age needs two: with one, the clock is the other.
pub fn takes(name: &str, args: &[Expr]) -> bool {
    let constant = |e: &Expr| match e {
        Expr::Cast(x, _) => matches!(**x, Expr::Text(_)),
        e => matches!(e, Expr::Text(_) | Expr::Number(_)),
    };
    (name != "age" || args.len() == 2)
        && (!FIXED.split(' ').any(|f| f == name) || args.iter().skip(1).all(constant))
}

/// Whether a function of pg_catalog may be called.
pub fn is_listed(name: &str) -> bool {
    FUNCTIONS.split(' ').any(|f| f == name)
}

/// The type that a cast names: one of pg_catalog's, or an enum that a column of the policy has.
pub fn type_of(schema: &str, name: &str, policy: &Policy) -> Option<SqlType> {
    let known = TYPES.iter().find(|t| t.sql_name().strip_prefix("pg_catalog.") == Some(name));
    let written = |t: &SqlType| match tokens::read(&t.sql_name()).unwrap_or_default().as_slice() {
        [Token::Name(a), Token::Mark(_), Token::Name(b)] => a == schema && b == name,
        _ => false,
    };
    let is_enum = |t: &&SqlType| matches!(t, SqlType::Enum { .. }) && written(t);
    let mut enums = policy.tables.iter().flat_map(|t| &t.columns).map(|c| &c.ty).filter(is_enum);
    if schema == "pg_catalog" { known.cloned() } else { enums.next().cloned() }
}
