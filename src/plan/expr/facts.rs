//! Facts about an expression's values, and how sure they are.
//!
//! *Proven* facts follow from the text that PostgreSQL runs and from what the schema enforces, whatever the rows hold. *Declared* facts follow from the policy or from what the analyst wrote, and may be false for a row. They are different types: overflow, divisors, integer widths and nullness take proven facts only, and the one way from declared to proven is a clamp, which is printed (soundness rule 36).

use crate::expr::domain::Domain;
use crate::expr::interval::Interval;
use bigdecimal::BigDecimal;
use schema::SqlType;

/// Type of a scalar's text in PostgreSQL, when it differs from the type that the analyst sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phys {
    /// An integer that arithmetic may treat as int8: its proven span is within ±2^62.
    Int,
    /// numeric
    Num,
    /// A float column as it is stored; arithmetic reads it through a clamp, as numeric.
    Float,
    /// Everything that is not a number.
    Other,
}

/// Spelling of a value among several that are equal without being the same: `0` and `-0`, a day and
/// 24 hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// The rows of its unit say it.
    Own,
    /// Any spelling: it depends on how rows lie on disk, with rows of other units between them
    /// (soundness rule 48), and nothing may show it.
    Any,
}

/// Range of the printed text's value, whatever the rows hold (or NULL, when that is possible).
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Proven(Interval);

/// Range of the value by the word of the owner or the analyst.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Declared(Interval);

impl Proven {
    /// By the meaning of a text; for the rules of this folder.
    pub(super) fn by_text(interval: Interval) -> Self {
        Self(interval)
    }

    /// A unary rule.
    pub(super) fn one(&self, f: impl Fn(&Interval) -> Interval) -> Self {
        Self(f(&self.0))
    }

    /// A binary rule.
    pub(super) fn two(&self, other: &Self, f: impl Fn(&Interval, &Interval) -> Interval) -> Self {
        Self(f(&self.0, &other.0))
    }

    /// The interval.
    pub fn interval(&self) -> &Interval {
        &self.0
    }

    /// The two ends, when both are finite.
    pub fn finite(&self) -> Option<(&BigDecimal, &BigDecimal)> {
        self.0.finite()
    }

    /// Whether the whole of it lies in `limit`.
    pub fn inside(&self, limit: &Interval) -> bool {
        let (Some((lo, hi)), Some((least, most))) = (self.finite(), limit.finite()) else { return false };
        least <= lo && hi <= most
    }

    /// Whether it lies within ±limit.
    pub fn within(&self, limit: &BigDecimal) -> bool {
        self.0.within(limit)
    }
}

impl Declared {
    /// A range by somebody's word.
    pub fn says(interval: Interval) -> Self {
        Self(interval)
    }

    /// A proven range, which may be declared as well.
    pub(super) fn of(proven: &Proven) -> Self {
        Self(proven.0.clone())
    }

    pub(super) fn one(&self, f: impl Fn(&Interval) -> Interval) -> Self {
        Self(f(&self.0))
    }

    pub(super) fn two(&self, other: &Self, f: impl Fn(&Interval, &Interval) -> Interval) -> Self {
        Self(f(&self.0, &other.0))
    }

    /// The interval.
    pub fn interval(&self) -> &Interval {
        &self.0
    }

    /// The two ends, when both are finite.
    pub fn finite(&self) -> Option<(&BigDecimal, &BigDecimal)> {
        self.0.finite()
    }
}

/// Facts about a scalar. Made by the constructors of this folder alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The type that PostgreSQL gives the analyst's expression.
    pub(super) ty: SqlType,
    /// The type of its text.
    pub(super) phys: Phys,
    /// Proven: false only where no row can make it NULL.
    pub(super) nullable: bool,
    pub(super) span: Proven,
    pub(super) bound: Declared,
    /// The value should be a multiple of this.
    pub(super) lattice: Option<BigDecimal>,
    /// Binned by floor, extract and their like: multiples of the lattice within `bound` are a public domain.
    pub(super) binned: bool,
    /// Values that compare equal are the same bytes, or are made so before they are shown (soundness rule 4).
    pub(super) canonical: bool,
    /// Spelling among equal values; of a number that is computed with, it says nothing.
    pub(super) spelling: Spelling,
    /// A public domain of its values (without NULL, which `nullable` adds).
    pub(super) domain: Option<Domain>,
    /// Of a float: NaN is moved to the upper end of a clamp, where it would be NULL otherwise.
    pub(super) nan_is_end: bool,
    /// Proven: no more digits than this stand after the point of a number.
    pub(super) scale: u32,
    /// Proven: the most characters of a text.
    pub(super) longest: u64,
    /// Proven: the most steps, of about a nanosecond each, that evaluating the text for one row
    /// takes, subqueries aside.
    pub(super) cost: u64,
}

/// Digits after the point that a numeric without a declared scale can have.
pub(super) const LONGEST: u32 = 16_383;

/// Digits before the point that a numeric can have.
pub(super) const MOST_BEFORE_POINT: u64 = 131_072;

/// Digits after the point of a double precision number that was cast to numeric: 15 digits of 1e-308.
pub(super) const OF_FLOAT: u32 = 323;

impl Facts {
    /// Of a type, without bounds.
    pub(super) fn of_type(ty: SqlType, nullable: bool) -> Self {
        Self {
            ty,
            phys: Phys::Other,
            nullable,
            span: Proven::default(),
            bound: Declared::default(),
            lattice: None,
            binned: false,
            canonical: true,
            spelling: Spelling::Own,
            domain: None,
            nan_is_end: false,
            scale: 0,
            longest: u64::MAX,
            cost: 1,
        }
    }

    /// Of an int4 that lies between these ends by its text, whatever rows hold.
    pub(super) fn whole(ends: Interval, nullable: bool) -> Self {
        let span = Proven::by_text(ends);
        Self {
            phys: Phys::Int,
            bound: Declared::of(&span),
            span,
            lattice: Some(1.into()),
            binned: true,
            ..Self::of_type(SqlType::Int4, nullable)
        }
    }

    /// Of a value as a table stores it: any that the type can hold.
    pub(super) fn of_stored(ty: SqlType, nullable: bool) -> Self {
        let phys = match &ty {
            // An int8 may lie beyond the limit of int8 arithmetic: it is computed as numeric.
            SqlType::Int8 | SqlType::Numeric { .. } => Phys::Num,
            t if t.is_integer() => Phys::Int,
            t if t.is_float() => Phys::Float,
            _ => Phys::Other,
        };
        let scale = match &ty {
            SqlType::Numeric { scale: Some(s) } => u32::from(*s),
            SqlType::Numeric { scale: None } => LONGEST,
            t if t.is_float() => OF_FLOAT,
            _ => 0,
        };
        let span = Proven::by_text(type_span(&ty));
        Self { phys, span, scale, ..Self::of_type(ty, nullable) }
    }

    /// A truth value.
    pub(super) fn truth(nullable: bool, cost: u64) -> Self {
        Self { domain: Some(Domain::Bool), cost, ..Self::of_type(SqlType::Bool, nullable) }
    }

    /// Decimal digits of a number, at most.
    pub(super) fn digits(&self) -> u64 {
        let whole = match self.span.interval().magnitude() {
            _ if self.phys == Phys::Int => return 19,
            Some(m) => m.digits().saturating_sub(m.fractional_digit_count().max(0).unsigned_abs()),
            None => 61,
        };
        whole.saturating_add(u64::from(self.scale)).max(1)
    }
}

/// Range of a whole-number type; no bounds for other types.
pub fn type_span(ty: &SqlType) -> Interval {
    match ty {
        SqlType::Int2 => Interval::new(i64::from(i16::MIN), i64::from(i16::MAX)),
        SqlType::Int4 => Interval::new(i64::from(i32::MIN), i64::from(i32::MAX)),
        SqlType::Int8 => Interval::new(i64::MIN, i64::MAX),
        _ => Interval::default(),
    }
}

/// Integers up to this magnitude are computed as int8: sums of two, and products checked by span, cannot overflow.
pub(super) fn int_limit() -> BigDecimal {
    BigDecimal::from(1i64 << 62)
}

/// Spans beyond this are refused: numeric would hold them, but slowly.
pub(super) fn num_limit() -> BigDecimal {
    BigDecimal::new(1.into(), -60)
}

/// Digits after the point of the finest lattice that is remembered. Numbers of private rows are
/// rounded to as many before anything is computed with them: a numeric may have 16,383.
pub(super) const FINEST: i64 = 60;
