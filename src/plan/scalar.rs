//! Row expressions over private rows: typed, total, with bounds.
//!
//! A [`Scalar`] can be built only by `lower`, from the allow-list. Evaluating its text never fails, whatever the
//! rows hold, and looks at nothing but its row.

use super::domain::Domain;
use super::interval::Interval;
use super::source::Branch;
use bigdecimal::BigDecimal;
use schema::SqlType;
use sql::ast::{BinaryOp, Is};

/// How the text of a scalar is typed in PostgreSQL, where that differs from what the analyst sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phys {
    /// An integer that arithmetic may treat as int8: its span is within ±2^62.
    Int,
    /// numeric
    Num,
    /// A float column as it is stored; arithmetic reads it through a clamp, as numeric.
    Float,
    /// Everything that is not a number.
    Other,
}

/// A typed row expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    /// What it computes.
    pub node: Node,
    /// The type that PostgreSQL gives the analyst's expression.
    pub ty: SqlType,
    /// The type of its text.
    pub phys: Phys,
    /// It can be NULL.
    pub nullable: bool,
    /// Where the value lies whatever the rows hold: proven by types and clamps in the text. Totality rests on it.
    pub span: Interval,
    /// Where the owner or the analyst says the value lies. Sensitivity rests on it, and the text clamps to it.
    pub bound: Interval,
    /// The value is a multiple of this (declared for a column, derived for an expression).
    pub lattice: Option<BigDecimal>,
    /// Binned by floor, extract and their like: multiples of the lattice within `bound` are a public domain.
    pub binned: bool,
    /// Values that compare equal are the same bytes, or are made so before they are shown (soundness rule 4).
    pub canonical: bool,
    /// A public domain of its values (without NULL, which `nullable` adds).
    pub domain: Option<Domain>,
}

/// What a scalar computes. Partial operations have a total meaning, given here.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A column of a scan.
    Column {
        /// Binding.
        binding: usize,
        /// Its name in the database.
        name: String,
    },
    /// A number.
    Number(BigDecimal),
    /// A string constant of the scalar's type.
    Text(String),
    /// TRUE, FALSE.
    Bool(bool),
    /// NULL.
    Null,
    /// A number, date or timestamp moved into its span; NaN is NULL for floats.
    Clamp(Box<Scalar>),
    /// A date or timestamp, or a number to be cast, outside its span becomes NULL.
    Guard(Box<Scalar>),
    /// `+ - *`; `/ %` are NULL for a divisor of 0.
    Arith(BinaryOp, Box<Scalar>, Box<Scalar>),
    /// `-x`
    Neg(Box<Scalar>),
    /// A comparison.
    Compare(BinaryOp, Box<Scalar>, Box<Scalar>),
    /// AND, OR.
    Logic(BinaryOp, Box<Scalar>, Box<Scalar>),
    /// NOT.
    Not(Box<Scalar>),
    /// IS \[NOT\] NULL and its like.
    Is(Box<Scalar>, Is, bool),
    /// \[NOT\] IN a list of constants.
    In(Box<Scalar>, Vec<Scalar>, bool),
    /// \[NOT\] LIKE with a constant, valid pattern.
    Like {
        /// The operand.
        arg: Box<Scalar>,
        /// The pattern.
        pattern: String,
        /// ESCAPE.
        escape: Option<String>,
        /// ILIKE.
        insensitive: bool,
        /// NOT.
        negated: bool,
    },
    /// COALESCE, LEAST, GREATEST.
    Choice(Choice, Vec<Scalar>),
    /// CASE.
    Case(Vec<(Scalar, Scalar)>, Option<Box<Scalar>>),
    /// ABS.
    Abs(Box<Scalar>),
    /// ROUND, FLOOR, CEIL, TRUNC at so many digits.
    Round(Rounding, Box<Scalar>, i64),
    /// EXTRACT(field FROM x).
    Extract(&'static str, Box<Scalar>),
    /// date_trunc(unit, x).
    DateTrunc(&'static str, Box<Scalar>),
    /// A cast whose argument was made safe.
    Cast(Box<Scalar>),
    /// \[NOT\] EXISTS.
    Exists(Box<Branch>, bool),
    /// The first is \[NOT\] among the values of the second, which stand in the branch's only column. Where the branch
    /// is private, it holds rows of the row's own unit only.
    InRows(Box<Scalar>, Box<Branch>, bool),
}

/// Which choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// COALESCE
    Coalesce,
    /// LEAST
    Least,
    /// GREATEST
    Greatest,
}

/// Which rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Half away from zero.
    Round,
    /// Half to even, to no digits: what PostgreSQL does with floats.
    Even,
    /// Down.
    Floor,
    /// Up.
    Ceil,
    /// Towards zero.
    Trunc,
}

impl Scalar {
    /// A scalar of a type without bounds.
    pub fn other(node: Node, ty: SqlType, nullable: bool) -> Self {
        Self {
            node,
            ty,
            phys: Phys::Other,
            nullable,
            span: Interval::default(),
            bound: Interval::default(),
            lattice: None,
            binned: false,
            canonical: true,
            domain: None,
        }
    }

    /// A truth value.
    pub fn boolean(node: Node, nullable: bool) -> Self {
        let mut s = Self::other(node, SqlType::Bool, nullable);
        s.domain = Some(Domain::Bool);
        s
    }
}
