//! Expressions: the few kinds that noisegate knows.

use super::frame::Frame;
use super::ids::BindingId;
use super::query::{OrderItem, Origin, Query};
use schema::SqlType;

/// Character position in the analyst's text, from 1.
pub type Pos = Option<usize>;

/// An expression. Two expressions are equal when they mean the same, wherever they stand.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Kind of the expression.
    pub kind: ExprKind,
    /// Position in the text.
    pub pos: Pos,
}

impl Expr {
    /// An expression at a position.
    pub fn new(kind: ExprKind, pos: Pos) -> Self {
        Self { kind, pos }
    }
}

impl ExprKind {
    /// Whether it hangs by itself, whatever its parts are, on rows: no constant holds it.
    pub fn varies(&self) -> bool {
        matches!(
            self,
            Self::Column { .. }
                | Self::Output(_)
                | Self::Aggregate(_)
                | Self::Window { .. }
                | Self::Subquery(_)
                | Self::Exists { .. }
                | Self::InQuery { .. }
                | Self::Reach { .. }
        )
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

/// Comparison and arithmetic operators that noisegate knows; no operator is looked up by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Mod,
    /// `||`
    Concat,
    /// `->`, of json values
    Member,
    /// `->>`
    MemberText,
    /// `#>>`
    PathText,
    /// `=`
    Eq,
    /// `<>`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// AND
    And,
    /// OR
    Or,
    /// IS DISTINCT FROM
    Distinct,
    /// IS NOT DISTINCT FROM
    NotDistinct,
}

/// Question of IS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Is {
    /// IS NULL
    Null,
    /// IS TRUE
    True,
    /// IS FALSE
    False,
    /// IS UNKNOWN
    Unknown,
}

/// Kinds of patterns beside LIKE's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// SIMILAR TO
    Similar,
    /// `~`
    Regex,
    /// `~*`
    RegexAnyCase,
}

/// A constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// A number, as written.
    Number(String),
    /// A string of unknown type.
    String(String),
    /// TRUE, FALSE.
    Bool(bool),
    /// NULL.
    Null,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A column of a binding.
    Column {
        /// The relation.
        binding: BindingId,
        /// Index of the column.
        column: usize,
    },
    /// ORDER BY an output column, from 0.
    Output(usize),
    /// A constant.
    Literal(Literal),
    /// `$n`, a value that Bind brings; from 1.
    Param(usize),
    /// `-x`
    Negate(Box<Expr>),
    /// NOT.
    Not(Box<Expr>),
    /// A binary operator.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// IS \[NOT\] NULL and its like.
    Is {
        /// The operand.
        expr: Box<Expr>,
        /// The question.
        what: Is,
        /// NOT.
        negated: bool,
    },
    /// \[NOT\] LIKE, ILIKE.
    Like {
        /// The operand.
        expr: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// ESCAPE.
        escape: Option<String>,
        /// ILIKE.
        insensitive: bool,
        /// NOT.
        negated: bool,
    },
    /// \[NOT\] SIMILAR TO, ~ and its like.
    Matches {
        /// The operand.
        expr: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// Kind of the pattern.
        how: Pattern,
        /// NOT, or `!~`.
        negated: bool,
    },
    /// \[NOT\] IN a list.
    In {
        /// The operand.
        expr: Box<Expr>,
        /// The list.
        list: Vec<Expr>,
        /// NOT.
        negated: bool,
    },
    /// \[NOT\] BETWEEN.
    Between {
        /// The operand.
        expr: Box<Expr>,
        /// Lower bound.
        low: Box<Expr>,
        /// Upper bound.
        high: Box<Expr>,
        /// NOT.
        negated: bool,
    },
    /// `x op ANY (array)`, `x op ALL (array)`.
    Any {
        /// A comparison.
        op: BinaryOp,
        /// The operand.
        expr: Box<Expr>,
        /// The array.
        array: Box<Expr>,
        /// ALL.
        all: bool,
    },
    /// CASE (the form with an operand is turned into comparisons).
    Case {
        /// WHEN, THEN.
        branches: Vec<(Expr, Expr)>,
        /// ELSE.
        otherwise: Option<Box<Expr>>,
    },
    /// A cast.
    Cast {
        /// The operand.
        expr: Box<Expr>,
        /// The target.
        ty: CastType,
    },
    /// EXTRACT(field FROM x).
    Extract {
        /// Lower-case field name.
        field: String,
        /// The operand.
        expr: Box<Expr>,
    },
    /// `x AT TIME ZONE zone`
    AtTimeZone {
        /// The operand.
        expr: Box<Expr>,
        /// The zone.
        zone: Box<Expr>,
    },
    /// INTERVAL '…', as one string.
    Interval(String),
    /// A plain function of the allow-list.
    Call {
        /// Name in `pg_catalog`.
        name: &'static str,
        /// Arguments.
        args: Vec<Expr>,
    },
    /// A value of the session (`now()`, `current_user`), taken once and printed as a typed constant.
    Session(SessionValue),
    /// An aggregate.
    Aggregate(Box<Aggregate>),
    /// A window function, or an aggregate over a window.
    Window {
        /// The function: an aggregate, or a call.
        function: Box<Expr>,
        /// PARTITION BY.
        partition_by: Vec<Expr>,
        /// ORDER BY.
        order_by: Vec<OrderItem>,
        /// The frame clause.
        frame: Option<Frame>,
    },
    /// A scalar subquery.
    Subquery(Box<Query>),
    /// \[NOT\] EXISTS.
    Exists {
        /// The query.
        query: Box<Query>,
        /// NOT.
        negated: bool,
    },
    /// \[NOT\] IN (query).
    InQuery {
        /// The operand.
        expr: Box<Expr>,
        /// The query.
        query: Box<Query>,
        /// NOT.
        negated: bool,
    },
    /// `ARRAY[…]`
    Array(Vec<Expr>),
    /// `noisegate.low(x)` and its like: how far the noise of a number reaches.
    Reach {
        /// The question.
        what: Reach,
        /// The number.
        expr: Box<Expr>,
        /// In millionths, how often an interval holds.
        confidence: u32,
    },
}

/// Question about the noise of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The lower end of its interval.
    Low,
    /// The upper end.
    High,
    /// The standard deviation.
    Deviation,
    /// The variance, beside a column that others compute with.
    Variance,
    /// The fourth cumulant, beside it.
    Fourth,
    /// How far below it the truth may lie for what bounds cut, beside it.
    Below,
    /// How far above it.
    Above,
}

impl Reach {
    /// 95 %.
    pub const USUAL: u32 = 950_000;

    /// What stands beside a column that others compute with.
    pub const CARRIED: [Self; 4] = [Self::Variance, Self::Fourth, Self::Below, Self::Above];

    /// The function's name, where it has one.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::High => "high",
            Self::Deviation => "stddev",
            Self::Variance => "variance",
            Self::Fourth => "fourth",
            Self::Below => "below",
            Self::Above => "above",
        }
    }

    /// The function by its name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Low, Self::High, Self::Deviation].into_iter().find(|r| r.name() == name)
    }
}

/// An aggregate call.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// Name in `pg_catalog`.
    pub name: &'static str,
    /// Arguments; empty for `count(*)`.
    pub args: Vec<Expr>,
    /// DISTINCT.
    pub distinct: bool,
    /// ORDER BY inside the call.
    pub order_by: Vec<OrderItem>,
    /// FILTER (WHERE …).
    pub filter: Option<Expr>,
    /// WITHIN GROUP (ORDER BY …).
    pub within_group: Vec<OrderItem>,
    /// Origin of the aggregate.
    pub origin: Origin,
}

/// A type to cast to: one of ours, with modifiers as printed.
#[derive(Clone, Debug, PartialEq)]
pub struct CastType {
    /// The type.
    pub ty: SqlType,
    /// Modifiers in parentheses, for example `(10,2)`.
    pub modifier: String,
}

/// Session values that are constants within a statement. Of one that has several names it has the one that was written, which
/// is its column's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionValue {
    /// now() and its kin: timestamptz.
    Now(&'static str),
    /// current_date.
    Date,
    /// localtimestamp.
    LocalTimestamp,
    /// current_user, session_user, user.
    User(&'static str),
    /// current_database(), current_catalog.
    Database(&'static str),
    /// current_schema().
    Schema,
}
