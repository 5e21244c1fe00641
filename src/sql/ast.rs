//! Our own tree of a statement: names resolved, wildcards expanded, parentheses gone.
//!
//! What PostgreSQL runs is printed from this tree and never from the analyst's text. A name is a pair of numbers
//! here, (binding, column), so no alias can capture another.

use schema::SqlType;

/// Character position in the analyst's text, from 1.
pub type Pos = Option<usize>;

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

/// A common table expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Cte {
    /// Number, unique in the statement.
    pub id: usize,
    /// Its query.
    pub query: Query,
}

/// What a query computes.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// SELECT.
    Select(Box<Select>),
    /// UNION, INTERSECT, EXCEPT.
    SetOp {
        /// Which.
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
    /// A query in parentheses.
    Query(Box<Query>),
}

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

/// One SELECT.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// Number, unique in the statement.
    pub id: usize,
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
    /// HAVING.
    pub having: Option<Expr>,
    /// Where the SELECT stands.
    pub pos: Pos,
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

/// One item of a select list.
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
        /// Index into [`Statement::bindings`].
        binding: usize,
        /// The query of a derived table.
        query: Option<Box<Query>>,
        /// Where it stands.
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
        /// Where it stands.
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

/// What a name in FROM stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The name that columns may be qualified with.
    pub name: String,
    /// Where the rows come from.
    pub source: Source,
    /// Its columns' names.
    pub columns: Vec<String>,
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

/// Where a binding's rows come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A table, by its index in the catalog.
    Table(usize),
    /// A relation of `noisegate.*`, whose rows the proxy itself knows.
    Own(Own),
    /// A derived table.
    Derived,
    /// A CTE, by its id.
    Cte(usize),
}

/// The relations of the schema `noisegate`: the same for every row of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Own {
    /// What is spent and left of the budgets that this user's statements debit.
    Budget,
    /// The columns that the policy shows, with their bounds and domains.
    Columns,
    /// The session's `noisegate.*` settings.
    Settings,
    /// This user's own statements, as the books have them.
    History,
    /// The streams that this user may open, and how they stand.
    Streams,
}

/// ORDER BY item.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderItem {
    /// What to sort by.
    pub expr: Expr,
    /// DESC.
    pub desc: bool,
    /// NULLS FIRST (true), NULLS LAST (false).
    pub nulls_first: Option<bool>,
}

/// An expression. Two expressions are equal when they mean the same, wherever they stand.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub pos: Pos,
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

/// What IS asks for.
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
        /// Binding.
        binding: usize,
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
        /// Which.
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
        /// What is asked.
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
        /// Its name in `pg_catalog`.
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
        /// The frame clause, printed from constants.
        frame: Option<String>,
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
}

/// An aggregate call.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// Its name in `pg_catalog`.
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
}

/// A type to cast to: one of ours, with modifiers as printed.
#[derive(Clone, Debug, PartialEq)]
pub struct CastType {
    /// The type.
    pub ty: SqlType,
    /// Modifiers in parentheses, for example `(10,2)`.
    pub modifier: String,
}

/// Session values that are constants within a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionValue {
    /// now() and its kin: timestamptz.
    Now,
    /// current_date.
    Date,
    /// localtimestamp.
    LocalTimestamp,
    /// current_user, session_user, user.
    User,
    /// current_database(), current_catalog.
    Database,
    /// current_schema().
    Schema,
}

/// A resolved query with all that its numbers point to.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The tree.
    pub query: Query,
    /// Bindings by number.
    pub bindings: Vec<Binding>,
}

impl Expr {
    /// An expression at a position.
    pub fn new(kind: ExprKind, pos: Pos) -> Self {
        Self { kind, pos }
    }

    /// The direct parts of this expression; queries inside it are not entered.
    pub fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Column { .. }
            | ExprKind::Output(_)
            | ExprKind::Literal(_)
            | ExprKind::Param(_)
            | ExprKind::Interval(_)
            | ExprKind::Session(_)
            | ExprKind::Subquery(_)
            | ExprKind::Exists { .. } => Vec::new(),
            ExprKind::Negate(e) | ExprKind::Not(e) => vec![e],
            ExprKind::Binary { left, right, .. } => vec![left, right],
            ExprKind::Any { expr, array, .. } => vec![expr, array],
            ExprKind::Is { expr, .. }
            | ExprKind::Cast { expr, .. }
            | ExprKind::Extract { expr, .. }
            | ExprKind::InQuery { expr, .. } => vec![expr],
            ExprKind::Like { expr, pattern, .. } => vec![expr, pattern],
            ExprKind::In { expr, list, .. } => std::iter::once(&**expr).chain(list).collect(),
            ExprKind::Between { expr, low, high, .. } => vec![expr, low, high],
            ExprKind::AtTimeZone { expr, zone } => vec![expr, zone],
            ExprKind::Case { branches, otherwise } => {
                branches.iter().flat_map(|(w, t)| [w, t]).chain(otherwise.as_deref()).collect()
            }
            ExprKind::Call { args, .. } | ExprKind::Array(args) => args.iter().collect(),
            ExprKind::Aggregate(a) => a
                .args
                .iter()
                .chain(a.order_by.iter().map(|o| &o.expr))
                .chain(a.filter.as_ref())
                .chain(a.within_group.iter().map(|o| &o.expr))
                .collect(),
            ExprKind::Window { function, partition_by, order_by, .. } => std::iter::once(&**function)
                .chain(partition_by)
                .chain(order_by.iter().map(|o| &o.expr))
                .collect(),
        }
    }

    /// Whether this expression, or a part of it (queries not entered), satisfies `test`.
    pub fn any(&self, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
        test(self) || self.children().into_iter().any(|c| c.any(test))
    }
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
            Body::Query(q) => q.body.names(),
        }
    }
}

impl Expr {
    /// The direct parts of this expression, in the order of [`Self::children`]; queries inside it are not entered.
    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.kind {
            ExprKind::Column { .. }
            | ExprKind::Output(_)
            | ExprKind::Literal(_)
            | ExprKind::Param(_)
            | ExprKind::Interval(_)
            | ExprKind::Session(_)
            | ExprKind::Subquery(_)
            | ExprKind::Exists { .. } => Vec::new(),
            ExprKind::Negate(e) | ExprKind::Not(e) => vec![e],
            ExprKind::Binary { left, right, .. } => vec![left, right],
            ExprKind::Any { expr, array, .. } => vec![expr, array],
            ExprKind::Is { expr, .. }
            | ExprKind::Cast { expr, .. }
            | ExprKind::Extract { expr, .. }
            | ExprKind::InQuery { expr, .. } => vec![expr],
            ExprKind::Like { expr, pattern, .. } => vec![expr, pattern],
            ExprKind::In { expr, list, .. } => std::iter::once(&mut **expr).chain(list).collect(),
            ExprKind::Between { expr, low, high, .. } => vec![expr, low, high],
            ExprKind::AtTimeZone { expr, zone } => vec![expr, zone],
            ExprKind::Case { branches, otherwise } => {
                branches.iter_mut().flat_map(|(w, t)| [w, t]).chain(otherwise.as_deref_mut()).collect()
            }
            ExprKind::Call { args, .. } | ExprKind::Array(args) => args.iter_mut().collect(),
            ExprKind::Aggregate(a) => a
                .args
                .iter_mut()
                .chain(a.order_by.iter_mut().map(|o| &mut o.expr))
                .chain(a.filter.as_mut())
                .chain(a.within_group.iter_mut().map(|o| &mut o.expr))
                .collect(),
            ExprKind::Window { function, partition_by, order_by, .. } => std::iter::once(&mut **function)
                .chain(partition_by)
                .chain(order_by.iter_mut().map(|o| &mut o.expr))
                .collect(),
        }
    }

    /// Replaces each direct part by what `f` makes of it; queries inside are not entered.
    pub fn map_children<E>(&mut self, f: &mut dyn FnMut(&Expr) -> Result<Expr, E>) -> Result<(), E> {
        for child in self.children_mut() {
            *child = f(child)?;
        }
        Ok(())
    }
}

impl From {
    /// The bindings that stand in it, those inside derived tables left out.
    pub fn bindings(&self, out: &mut std::collections::HashSet<usize>) {
        match self {
            From::Relation { binding, .. } => {
                out.insert(*binding);
            }
            From::Join { left, right, .. } => {
                left.bindings(out);
                right.bindings(out);
            }
        }
    }

    fn exprs<'a>(&'a self, out: &mut Vec<&'a Expr>) {
        match self {
            From::Relation { query, .. } => out.extend(query.iter().flat_map(|q| q.exprs())),
            From::Join { left, right, on, .. } => {
                left.exprs(out);
                right.exprs(out);
                out.extend(on);
            }
        }
    }
}

impl Query {
    /// The outermost expressions of this query, of its CTEs, branches and derived tables; those of subqueries inside
    /// expressions are left to the caller.
    pub fn exprs(&self) -> Vec<&Expr> {
        let mut out: Vec<&Expr> = self.with.iter().flat_map(|c| c.query.exprs()).collect();
        self.body.exprs(&mut out);
        out.extend(self.order_by.iter().map(|o| &o.expr));
        out.extend(self.limit.iter().chain(&self.offset));
        out
    }
}

impl Body {
    fn exprs<'a>(&'a self, out: &mut Vec<&'a Expr>) {
        match self {
            Body::Select(s) => {
                s.from.iter().for_each(|f| f.exprs(out));
                out.extend(s.items.iter().map(|i| &i.expr));
                out.extend(s.filter.iter().chain(&s.group_by).chain(&s.having));
                if let Distinct::On(on) = &s.distinct {
                    out.extend(on);
                }
            }
            Body::SetOp { left, right, .. } => {
                left.exprs(out);
                right.exprs(out);
            }
            Body::Values(rows) => out.extend(rows.iter().flatten()),
            Body::Query(q) => out.extend(q.exprs()),
        }
    }
}
