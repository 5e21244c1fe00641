//! Queries: WITH, SELECT, set operations, FROM, and what the names in FROM stand for.

use super::expr::{Expr, Pos};
use super::ids::{BindingId, CteId, SelectId};

/// A query with its WITH, ORDER BY and LIMIT.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// CTEs that this query defines, in order.
    pub with: Vec<Cte>,
    /// The body.
    pub body: Body,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// LIMIT.
    pub limit: Option<Expr>,
    /// OFFSET.
    pub offset: Option<Expr>,
}

impl Query {
    /// Of a body, and nothing else.
    pub fn of(body: Body) -> Self {
        Self { with: Vec::new(), body, order_by: Vec::new(), limit: None, offset: None }
    }
}

/// A common table expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Cte {
    /// Number of the CTE.
    pub id: CteId,
    /// The query.
    pub query: Query,
}

/// Computation of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// SELECT.
    Select(Box<Select>),
    /// UNION, INTERSECT, EXCEPT.
    SetOp {
        /// The operation.
        op: SetOp,
        /// ALL.
        all: bool,
        /// Left branch.
        left: Box<Body>,
        /// Right branch.
        right: Box<Body>,
    },
    /// VALUES.
    Values(Vec<Vec<Expr>>),
    /// The rows of a function of constants that stands in FROM.
    Rows {
        /// Name in `pg_catalog`, one of [`ROWS`].
        function: &'static str,
        /// Arguments of the function.
        args: Vec<Expr>,
    },
    /// A query in parentheses.
    Query(Box<Query>),
}

/// Functions that may stand in FROM.
pub const ROWS: &[&str] = &["generate_series", "unnest"];

/// A set operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOp {
    /// UNION
    Union,
    /// INTERSECT
    Intersect,
    /// EXCEPT
    Except,
}

/// A SELECT.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// Number of the SELECT, unless it stands for none of the analyst's.
    pub id: Option<SelectId>,
    /// DISTINCT.
    pub distinct: Distinct,
    /// The select list.
    pub items: Vec<Item>,
    /// FROM; several entries are a cross join.
    pub from: Vec<From>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// GROUP BY, ordinals and aliases replaced by the expressions they stand for.
    pub group_by: Vec<Expr>,
    /// GROUPING SETS, ROLLUP and CUBE written out: each set as places in `group_by`, ascending. Empty for a plain GROUP BY.
    pub grouping_sets: Vec<Vec<usize>>,
    /// HAVING.
    pub having: Option<Expr>,
    /// Position in the text.
    pub pos: Pos,
}

impl Select {
    /// `SELECT items`, of no rows of anything, without a number.
    pub fn of(items: Vec<Item>, pos: Pos) -> Self {
        Self {
            id: None,
            distinct: Distinct::No,
            items,
            from: Vec::new(),
            filter: None,
            group_by: Vec::new(),
            grouping_sets: Vec::new(),
            having: None,
            pos,
        }
    }

    /// Whether there is a GROUP BY, be it of no key.
    pub fn has_group_by(&self) -> bool {
        !self.group_by.is_empty() || !self.grouping_sets.is_empty()
    }
}

/// DISTINCT, and on what.
#[derive(Clone, Debug, PartialEq)]
pub enum Distinct {
    /// No DISTINCT.
    No,
    /// DISTINCT
    All,
    /// DISTINCT ON (…)
    On(Vec<Expr>),
}

/// An item of a select list.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The expression.
    pub expr: Expr,
    /// The output name: the alias, or what PostgreSQL derives.
    pub name: String,
}

/// An entry of FROM.
#[derive(Clone, Debug, PartialEq)]
pub enum From {
    /// A relation: table, derived table or CTE; see [`Binding`].
    Relation {
        /// Number of the binding.
        binding: BindingId,
        /// The query of a derived table.
        query: Option<Box<Query>>,
        /// A derived table that looks at what stands before it.
        lateral: bool,
        /// Position in the text.
        pos: Pos,
    },
    /// A join.
    Join {
        /// Left side.
        left: Box<From>,
        /// Right side.
        right: Box<From>,
        /// Kind.
        kind: JoinKind,
        /// ON (USING and NATURAL are turned into it); None for CROSS JOIN.
        on: Option<Expr>,
        /// Position in the text.
        pos: Pos,
    },
}

/// The kind of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// INNER and CROSS.
    Inner,
    /// LEFT
    Left,
    /// RIGHT
    Right,
    /// FULL
    Full,
}

/// Meaning of a name in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The name that columns may be qualified with.
    pub name: String,
    /// Source of the rows.
    pub source: Source,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Origin of the binding.
    pub origin: Origin,
}

/// Origin of a part of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The analyst's text.
    Written,
    /// A rule put it there, which writes a statement in another way.
    AddedBy(Rule),
}

/// A rule that writes a statement in another way, which means the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Estimates over what was collected.
    Collected,
    /// A subquery that is tied along the path to the unit.
    AlongPath,
    /// A subquery that is tied by something else than the unit.
    ByGroup,
    /// A UNION ALL of private rows and others.
    MixedUnion,
    /// A cap on the rows of each unit that are read of a table.
    Cap,
    /// A sum or an average of ages: its months.
    MonthsOfAges,
    /// Parts of ages below a month, in seconds.
    RestOfAges,
}

impl Binding {
    /// The table it reads itself, by its index in the catalog.
    pub fn table(&self) -> Option<usize> {
        match self.source {
            Source::Table(table) => Some(table),
            _ => None,
        }
    }
}

/// Source of a binding's rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A table, by its index in the catalog.
    Table(usize),
    /// A relation of `noisegate.*`, whose rows the proxy itself knows.
    Own(Own),
    /// A derived table.
    Derived,
    /// A derived table that the planner wrote in the place of a table: of each unit's rows at most
    /// a fixed number.
    Capped {
        /// The table, by its index in the catalog.
        table: usize,
        /// Number of rows.
        rows: u64,
    },
    /// A CTE, by its number.
    Cte(CteId),
}

/// The relations of the schema `noisegate`: the same for every row of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Own {
    /// Spending and rest of the budgets that this user's statements debit.
    Budget,
    /// The columns that the policy shows, with their bounds and domains.
    Columns,
    /// The session's `noisegate.*` settings.
    Settings,
    /// Statements of this user, as the books have them.
    History,
    /// The streams that this user may open, and how they stand.
    Streams,
    /// Help for analysts.
    Help,
    /// What was measured of how many rows units have, table by table.
    Bounds,
}

/// ORDER BY item.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderItem {
    /// The key.
    pub expr: Expr,
    /// DESC.
    pub desc: bool,
    /// NULLS FIRST (true), NULLS LAST (false).
    pub nulls_first: Option<bool>,
}

impl Body {
    /// Output names: those of the leftmost SELECT.
    pub fn names(&self) -> Vec<String> {
        match self {
            Body::Select(s) => s.items.iter().map(|i| i.name.clone()).collect(),
            Body::SetOp { left, .. } => left.names(),
            Body::Values(rows) => {
                (1..=rows.first().map_or(0, Vec::len)).map(|i| format!("column{i}")).collect()
            }
            Body::Rows { function, .. } => vec![(*function).to_owned()],
            Body::Query(q) => q.body.names(),
        }
    }

    /// The number of the leftmost SELECT: no other query begins with it but those in brackets around this one.
    pub fn first_select(&self) -> Option<SelectId> {
        match self {
            Body::Select(s) => s.id,
            Body::SetOp { left, .. } => left.first_select(),
            Body::Values(_) | Body::Rows { .. } => None,
            Body::Query(q) => q.body.first_select(),
        }
    }
}
