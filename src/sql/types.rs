//! Type names in casts: the built-in types that a statement may name.

use crate::ast::{CastType, Pos};
use crate::text_size::LONGEST_CHAR;
use answer::{ClientError, SqlState};
use schema::SqlType;
use sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType as D, ExactNumberInfo as N, TimezoneInfo as Tz,
};

/// The type of the elements of an array type without a length.
pub fn element_type(ty: &D) -> Option<&D> {
    match ty {
        D::Array(ArrayElemTypeDef::SquareBracket(of, None)) => Some(of),
        _ => None,
    }
}

/// The type that a cast names.
pub fn cast_type(data_type: &D, pos: Pos) -> Result<CastType, ClientError> {
    let plain = |ty| Ok(CastType { ty, modifier: String::new() });
    let number = |n: &N| match n {
        N::None => CastType { ty: SqlType::Numeric { scale: None }, modifier: String::new() },
        N::Precision(p) => CastType { ty: SqlType::Numeric { scale: Some(0) }, modifier: format!("({p})") },
        N::PrecisionAndScale(p, s) => CastType {
            ty: SqlType::Numeric { scale: Some(u16::try_from(*s).unwrap_or(0)) },
            modifier: format!("({p},{s})"),
        },
    };
    let text = |ty, length: &Option<CharacterLength>| {
        let modifier = match length {
            Some(CharacterLength::IntegerLength { length, .. }) if *length > LONGEST_CHAR => {
                let message = format!("a cast to a text of {length} characters is not supported");
                return Err(ClientError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                    .hint(format!(
                        "Casts to char(n) and varchar(n) take up to {LONGEST_CHAR}; text has no length."
                    ))
                    .at(pos));
            }
            Some(CharacterLength::IntegerLength { length, .. }) => format!("({length})"),
            _ => String::new(),
        };
        Ok(CastType { ty, modifier })
    };
    // Digits of seconds.
    let moment = |ty, precision: Option<u64>| match precision {
        Some(p) if p > 6 => Err(unknown(data_type, pos)),
        p => Ok(CastType { ty, modifier: p.map_or_else(String::new, |p| format!("({p})")) }),
    };
    match data_type {
        D::Bool | D::Boolean => plain(SqlType::Bool),
        D::SmallInt(None) | D::Int2(None) => plain(SqlType::Int2),
        D::Int(None) | D::Integer(None) | D::Int4(None) => plain(SqlType::Int4),
        D::BigInt(None) | D::Int8(None) => plain(SqlType::Int8),
        D::Numeric(n) | D::Decimal(n) | D::Dec(n) => Ok(number(n)),
        D::Real | D::Float4 => plain(SqlType::Float4),
        D::Float8 | D::DoublePrecision | D::Float(N::None) | D::Double(N::None) => plain(SqlType::Float8),
        D::Text => plain(SqlType::Text),
        D::Varchar(n) | D::CharacterVarying(n) | D::CharVarying(n) => text(SqlType::Varchar, n),
        D::Char(n) | D::Character(n) => text(SqlType::Bpchar, n),
        D::Date => plain(SqlType::Date),
        D::Timestamp(p, Tz::None | Tz::WithoutTimeZone) => moment(SqlType::Timestamp, *p),
        D::Timestamp(p, Tz::WithTimeZone | Tz::Tz) => moment(SqlType::Timestamptz, *p),
        D::Time(p, Tz::None | Tz::WithoutTimeZone) => moment(SqlType::Time, *p),
        D::Interval { fields: None, precision: None } => plain(SqlType::Interval),
        D::Uuid => plain(SqlType::Uuid),
        D::Custom(name, modifiers) if modifiers.is_empty() => {
            // `pg_catalog.int4` and the names that the parser does not know as keywords.
            let parts = crate::names::parts(name);
            let bare = match parts.as_slice() {
                [schema, name] if schema == "pg_catalog" => name.as_str(),
                [name] => name.as_str(),
                _ => return Err(unknown(data_type, pos)),
            };
            match bare {
                "bool" => plain(SqlType::Bool),
                "int2" => plain(SqlType::Int2),
                "int4" => plain(SqlType::Int4),
                "int8" => plain(SqlType::Int8),
                "numeric" => plain(SqlType::Numeric { scale: None }),
                "float4" => plain(SqlType::Float4),
                "float8" => plain(SqlType::Float8),
                "text" => plain(SqlType::Text),
                "varchar" => plain(SqlType::Varchar),
                "bpchar" => plain(SqlType::Bpchar),
                "date" => plain(SqlType::Date),
                "timestamp" => plain(SqlType::Timestamp),
                "timestamptz" => plain(SqlType::Timestamptz),
                "time" => plain(SqlType::Time),
                "interval" => plain(SqlType::Interval),
                "uuid" => plain(SqlType::Uuid),
                "inet" => plain(SqlType::Inet),
                "cidr" => plain(SqlType::Cidr),
                _ => Err(unknown(data_type, pos)),
            }
        }
        _ => Err(unknown(data_type, pos)),
    }
}

fn unknown(data_type: &D, pos: Pos) -> ClientError {
    ClientError::new(SqlState::FEATURE_NOT_SUPPORTED, format!("casts to type {data_type} are not supported"))
        .hint("Casts to boolean, integers, numeric, floats, text, dates and timestamps are.")
        .at(pos)
}
