//! Names as PostgreSQL folds them, and the lists of functions and types that may occur.

use super::types::Ty;
use super::{Result, refuse};
use policy::Policy;
use schema::SqlType;
use sqlparser::ast::{
    DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName,
};

/// Longer names are cut by PostgreSQL: two could be one.
const NAME_BYTES: usize = 63;

/// Pure functions of pg_catalog: they look at nothing but their arguments, and let no argument choose how much memory
/// they take. Aggregates, the rank and generate_series are not among them: they have their places.
const FUNCTIONS: &[&str] = &[
    "abs",
    "age",
    "btrim",
    "ceil",
    "ceiling",
    "char_length",
    "concat",
    "date_bin",
    "date_larger",
    "date_part",
    "date_smaller",
    "date_trunc",
    "div",
    "exp",
    "float4larger",
    "float4smaller",
    "float8larger",
    "float8smaller",
    "floor",
    "hashtextextended",
    "initcap",
    "int2larger",
    "int2smaller",
    "int4larger",
    "int4smaller",
    "int8larger",
    "int8smaller",
    "left",
    "length",
    "ln",
    "log",
    "lower",
    "ltrim",
    "make_date",
    "md5",
    "mod",
    "numeric_larger",
    "numeric_smaller",
    "power",
    "replace",
    "right",
    "round",
    "rtrim",
    "sign",
    "split_part",
    "sqrt",
    "starts_with",
    "strpos",
    "substr",
    "substring",
    "text_larger",
    "text_smaller",
    "timestamp_larger",
    "timestamp_smaller",
    "timestamptz_larger",
    "timestamptz_smaller",
    "to_char",
    "translate",
    "trim_scale",
    "trunc",
    "upper",
    "width_bucket",
];

/// Keywords that look like functions, whose meaning no search path changes.
const KEYWORDS: &[&str] = &["coalesce", "greatest", "least", "nullif"];

/// Types of pg_catalog that casts may name.
const TYPES: &[(&str, Ty)] = &[
    ("bool", Ty::Bool),
    ("int2", Ty::Narrow),
    ("int4", Ty::Narrow),
    ("int8", Ty::Wide),
    ("numeric", Ty::Exact),
    ("float4", Ty::Float4),
    ("float8", Ty::Float8),
    ("text", Ty::Text),
    ("varchar", Ty::Text),
    ("bpchar", Ty::Padded),
    ("date", Ty::Date),
    ("timestamp", Ty::Timestamp),
    ("timestamptz", Ty::Timestamptz),
    ("time", Ty::Time),
    ("interval", Ty::Interval),
    ("uuid", Ty::Uuid),
];

/// A name as PostgreSQL reads it.
pub(crate) fn ident(i: &Ident) -> Result<String> {
    let name = match i.quote_style {
        None if i.value.is_ascii() => i.value.to_ascii_lowercase(),
        Some('"') => i.value.clone(),
        _ => return refuse("a name that could be read in two ways", i),
    };
    if name.is_empty() || name.len() > NAME_BYTES {
        return refuse("a name that PostgreSQL would cut", i);
    }
    Ok(name)
}

/// The parts of a qualified name.
pub(crate) fn parts(name: &ObjectName) -> Result<Vec<String>> {
    let one = |part: &sqlparser::ast::ObjectNamePart| match part.as_ident() {
        Some(i) => ident(i),
        None => refuse("a computed name", name),
    };
    name.0.iter().map(one).collect()
}

/// The name behind pg_catalog.
pub(crate) fn catalog(name: &ObjectName) -> Result<Option<String>> {
    let mut parts = parts(name)?;
    Ok(match (parts.pop(), parts.pop(), parts.is_empty()) {
        (Some(last), Some(schema), true) if schema == "pg_catalog" => Some(last),
        _ => None,
    })
}

/// What a call is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    /// COALESCE, NULLIF, LEAST, GREATEST.
    Keyword(String),
    /// A listed function.
    Pure(String),
    /// count or sum.
    Aggregate(String),
    /// The rank.
    RowNumber,
}

/// Which function is called; everything that is on no list is refused.
pub(crate) fn callee(f: &Function) -> Result<Callee> {
    if let [part] = f.name.0.as_slice()
        && let Some(i) = part.as_ident().filter(|i| i.quote_style.is_none())
    {
        let name = ident(i)?;
        if KEYWORDS.contains(&name.as_str()) {
            return Ok(Callee::Keyword(name));
        }
    }
    match catalog(&f.name)? {
        Some(name) if FUNCTIONS.contains(&name.as_str()) => Ok(Callee::Pure(name)),
        Some(name) if name == "count" || name == "sum" => Ok(Callee::Aggregate(name)),
        Some(name) if name == "row_number" => Ok(Callee::RowNumber),
        _ => refuse("a function that is not listed", &f.name),
    }
}

/// Plain arguments, and whether DISTINCT stands before them. `*` is no argument.
pub(crate) fn arguments(f: &Function) -> Result<(Vec<&Expr>, bool, bool)> {
    let plain = !f.uses_odbc_syntax
        && matches!(f.parameters, FunctionArguments::None)
        && f.within_group.is_empty()
        && f.filter.is_none()
        && f.null_treatment.is_none();
    let FunctionArguments::List(list) = &f.args else { return refuse("a call without arguments", f) };
    if !plain || !list.clauses.is_empty() {
        return refuse("a call with more than arguments", f);
    }
    let distinct = match &list.duplicate_treatment {
        None => false,
        Some(sqlparser::ast::DuplicateTreatment::Distinct) => true,
        Some(_) => return refuse("a call with ALL", f),
    };
    let mut out = Vec::new();
    let mut star = false;
    for arg in &list.args {
        match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => out.push(e),
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard) if list.args.len() == 1 => star = true,
            _ => return refuse("an argument of an unknown kind", f),
        }
    }
    Ok((out, star, distinct))
}

/// The type that a cast names: one of pg_catalog's, or an enum that a column of the policy has.
pub(crate) fn cast_type(ty: &DataType, policy: &Policy) -> Result<Ty> {
    let DataType::Custom(name, modifiers) = ty else {
        return refuse("a type that is not named by its schema", ty);
    };
    if !modifiers.is_empty() {
        return refuse("a type with modifiers", ty);
    }
    if let Some(last) = catalog(name)?
        && let Some((_, ty)) = TYPES.iter().find(|(known, _)| *known == last)
    {
        return Ok(ty.clone());
    }
    let written = name.to_string();
    let is_enum = |t: &SqlType| matches!(t, SqlType::Enum { name, .. } if *name == written);
    let known = policy.tables.iter().flat_map(|t| &t.columns).any(|c| is_enum(&c.ty));
    match known && name.0.len() == 2 {
        true => Ok(Ty::Enum(written)),
        false => refuse("a type that is not listed", ty),
    }
}
