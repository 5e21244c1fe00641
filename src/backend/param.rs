//! Parameter values as they travel: an OID and PostgreSQL's binary form.

use bytes::{BufMut, Bytes, BytesMut};
use postgres_types::{IsNull, Kind, ToSql, Type};
use std::error::Error;
use std::fmt;

/// A typed parameter value.
#[derive(Clone, PartialEq, Eq)]
pub struct Param {
    /// `pg_type.oid`.
    pub oid: u32,
    /// The value in its format; None is NULL.
    pub value: Option<Bytes>,
    /// 0 text, 1 binary (as the type's send function writes it). Fetches take binary ones only.
    pub format: i16,
}

impl Param {
    /// A value of any type, in that type's binary form.
    pub fn new(oid: u32, value: Option<Bytes>) -> Self {
        Self { oid, value, format: 1 }
    }

    /// A bigint.
    pub fn int8(value: i64) -> Self {
        Self::new(20, Some(Bytes::copy_from_slice(&value.to_be_bytes())))
    }

    /// A text.
    pub fn text(value: impl Into<String>) -> Self {
        Self::new(25, Some(Bytes::from(value.into())))
    }

    /// The type for tokio-postgres, which sends nothing of it but the OID.
    pub(super) fn ty(&self) -> Type {
        Type::from_oid(self.oid)
            .unwrap_or_else(|| Type::new(String::new(), self.oid, Kind::Simple, String::new()))
    }
}

/// Values can be secret (the seed of a fetch) or an analyst's own: they are never printed.
impl fmt::Debug for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "Param({}, {} bytes)", self.oid, value.len()),
            None => write!(f, "Param({}, null)", self.oid),
        }
    }
}

impl ToSql for Param {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        Ok(match &self.value {
            Some(value) => {
                out.put_slice(value);
                IsNull::No
            }
            None => IsNull::Yes,
        })
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    postgres_types::to_sql_checked!();
}
