//! The types that noisegate knows by name; every other type is carried by its OID.

use serde::{Deserialize, Serialize};

/// A PostgreSQL type with the modifiers that matter here.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SqlType {
    /// boolean
    Bool,
    /// smallint
    Int2,
    /// integer
    Int4,
    /// bigint
    Int8,
    /// numeric, with its declared scale (`numeric(6,2)` has 2)
    Numeric {
        /// Digits after the point, where declared.
        scale: Option<u16>,
    },
    /// real
    Float4,
    /// double precision
    Float8,
    /// text
    Text,
    /// character varying
    Varchar,
    /// character(n): has no canonical form
    Bpchar,
    /// date
    Date,
    /// timestamp without time zone
    Timestamp,
    /// timestamp with time zone
    Timestamptz,
    /// time without time zone
    Time,
    /// interval
    Interval,
    /// uuid
    Uuid,
    /// inet: an address, with the width of its network
    Inet,
    /// cidr: a network
    Cidr,
    /// An enum type, by OID and quoted, schema-qualified name.
    Enum {
        /// `pg_type.oid`
        oid: u32,
        /// `"schema"."name"`
        name: String,
    },
    /// Anything else.
    Other {
        /// `pg_type.oid`
        oid: u32,
        /// As `format_type` prints it.
        name: String,
    },
}

impl SqlType {
    /// The type with this OID; `typmod` is `atttypmod`, `name` as `format_type` prints it.
    pub fn from_oid(oid: u32, typmod: i32, name: &str) -> Self {
        match oid {
            16 => Self::Bool,
            21 => Self::Int2,
            23 => Self::Int4,
            20 => Self::Int8,
            1700 => Self::Numeric { scale: numeric_scale(typmod) },
            700 => Self::Float4,
            701 => Self::Float8,
            25 => Self::Text,
            1043 => Self::Varchar,
            1042 => Self::Bpchar,
            1082 => Self::Date,
            1114 => Self::Timestamp,
            1184 => Self::Timestamptz,
            1083 => Self::Time,
            1186 => Self::Interval,
            2950 => Self::Uuid,
            869 => Self::Inet,
            650 => Self::Cidr,
            _ => Self::Other { oid, name: name.to_owned() },
        }
    }

    /// `pg_type.oid`.
    pub fn oid(&self) -> u32 {
        match self {
            Self::Bool => 16,
            Self::Int2 => 21,
            Self::Int4 => 23,
            Self::Int8 => 20,
            Self::Numeric { .. } => 1700,
            Self::Float4 => 700,
            Self::Float8 => 701,
            Self::Text => 25,
            Self::Varchar => 1043,
            Self::Bpchar => 1042,
            Self::Date => 1082,
            Self::Timestamp => 1114,
            Self::Timestamptz => 1184,
            Self::Time => 1083,
            Self::Interval => 1186,
            Self::Uuid => 2950,
            Self::Inet => 869,
            Self::Cidr => 650,
            Self::Enum { oid, .. } | Self::Other { oid, .. } => *oid,
        }
    }

    /// `pg_type.typarray`; 0, which lets PostgreSQL take it from the cast in the text, for types without one here.
    pub fn array_oid(&self) -> u32 {
        match self {
            Self::Bool => 1000,
            Self::Int2 => 1005,
            Self::Int4 => 1007,
            Self::Int8 => 1016,
            Self::Numeric { .. } => 1231,
            Self::Float4 => 1021,
            Self::Float8 => 1022,
            Self::Text => 1009,
            Self::Varchar => 1015,
            Self::Date => 1182,
            Self::Timestamp => 1115,
            Self::Timestamptz => 1185,
            Self::Uuid => 2951,
            Self::Inet => 1041,
            Self::Cidr => 651,
            _ => 0,
        }
    }

    /// The name to cast to, qualified, safe to print into SQL.
    pub fn sql_name(&self) -> String {
        match self {
            Self::Bool => "pg_catalog.bool".into(),
            Self::Int2 => "pg_catalog.int2".into(),
            Self::Int4 => "pg_catalog.int4".into(),
            Self::Int8 => "pg_catalog.int8".into(),
            Self::Numeric { .. } => "pg_catalog.numeric".into(),
            Self::Float4 => "pg_catalog.float4".into(),
            Self::Float8 => "pg_catalog.float8".into(),
            Self::Text => "pg_catalog.text".into(),
            Self::Varchar => "pg_catalog.varchar".into(),
            Self::Bpchar => "pg_catalog.bpchar".into(),
            Self::Date => "pg_catalog.date".into(),
            Self::Timestamp => "pg_catalog.timestamp".into(),
            Self::Timestamptz => "pg_catalog.timestamptz".into(),
            Self::Time => "pg_catalog.time".into(),
            Self::Interval => "pg_catalog.interval".into(),
            Self::Uuid => "pg_catalog.uuid".into(),
            Self::Inet => "pg_catalog.inet".into(),
            Self::Cidr => "pg_catalog.cidr".into(),
            Self::Enum { name, .. } | Self::Other { name, .. } => name.clone(),
        }
    }

    /// Integers, numeric and floats.
    pub fn is_number(&self) -> bool {
        self.is_integer() || matches!(self, Self::Numeric { .. }) || self.is_float()
    }

    /// smallint, integer, bigint.
    pub fn is_integer(&self) -> bool {
        matches!(self, Self::Int2 | Self::Int4 | Self::Int8)
    }

    /// real, double precision.
    pub fn is_float(&self) -> bool {
        matches!(self, Self::Float4 | Self::Float8)
    }

    /// text and varchar: strings with a canonical form.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Text | Self::Varchar)
    }

    /// date, timestamp, timestamptz.
    pub fn is_datetime(&self) -> bool {
        matches!(self, Self::Date | Self::Timestamp | Self::Timestamptz)
    }
}

/// The scale in a numeric's typmod; negative scales count as 0.
fn numeric_scale(typmod: i32) -> Option<u16> {
    if typmod < 4 {
        return None;
    }
    // Eleven bits, signed since PostgreSQL 15.
    let scale = (typmod - 4) & 0x7ff;
    Some(if scale >= 1024 { 0 } else { scale as u16 })
}
