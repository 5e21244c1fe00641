//! A fetch as a tree. Brackets are gone; operators, functions and other forms are all calls by their names.

use schema::SqlType;

/// The name of a scan, and a column of it. No column has an empty name.
pub type Col = (String, String);

/// An expression: a value for each row.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// `scan.column`
    Column(Col),
    /// A number, with its sign.
    Number(String),
    /// A string, without its quotes.
    Text(String),
    /// `true`, `false`
    Bool(bool),
    /// `NULL`
    Null,
    /// `x::schema.type`
    Cast(Box<Expr>, SqlType),
    /// A keyword or operators as they are written, a listed function, or one of [`AGGREGATES`]. CASE has its conditions and
    /// results in turn, and its ELSE.
    Call(String, Vec<Expr>),
    /// The rows that EXISTS and IN look at.
    Rows(Box<Select>),
}

/// Aggregates have their places, and stand nowhere else. They give the same in whatever order rows come, but for those of
/// [`WINDOWS`], whose calls are all called OVER: what is called, by what it is partitioned, and by what it is ordered. What
/// is called is in ROWS where its frame counts rows.
pub const AGGREGATES: &[&str] = &[
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "bool_and",
    "bool_or",
    "every",
    "variance",
    "var_samp",
    "var_pop",
    "stddev",
    "stddev_samp",
    "stddev_pop",
];

/// Functions that stand over windows alone.
pub const WINDOWS: &[&str] = &[
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "ntile",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
    "OVER",
    "ROWS",
];

/// An item, and the name it comes out under; a computed one may have none.
pub type Item = (Expr, String);

/// `SELECT … FROM … WHERE … GROUP BY 1, … OFFSET 0`
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// `SELECT DISTINCT`
    pub distinct: bool,
    /// Items, in order.
    pub items: Vec<Item>,
    /// The relation of its rows; a single row without it.
    pub from: Option<Tree>,
    /// Conjuncts of WHERE.
    pub filter: Vec<Expr>,
    /// Number of items that it is grouped by, which come first.
    pub groups: usize,
}

impl Select {
    /// The items that it is grouped by, and the others.
    pub fn grouped(&self) -> (&[Item], &[Item]) {
        self.items.split_at_checked(self.groups).unwrap_or_default()
    }

    /// Whether there is neither DISTINCT nor GROUP BY.
    pub fn is_plain(&self) -> bool {
        !self.distinct && self.groups == 0
    }
}

/// Rows of several SELECTs.
#[derive(Clone, Debug, PartialEq)]
pub enum Set {
    /// Rows of one SELECT.
    Select(Box<Select>),
    /// A column of constants.
    Values(Vec<Expr>),
    /// An operator as it is written, between all of these.
    Op(&'static str, Vec<Set>),
}

/// FROM.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// A scan under one name.
    Scan(Scan),
    /// Two sides, and what AND joins in ON.
    Join(Kind, Box<Tree>, Box<Tree>, Vec<Expr>),
}

/// A kind of join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `JOIN`, `CROSS JOIN`
    Inner,
    /// `LEFT JOIN`
    Left,
    /// `FULL JOIN`
    Full,
}

/// An entry of FROM under a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// The name it has for other parts of the SELECT.
    pub name: String,
    /// Names of its columns, where they are written.
    pub columns: Vec<String>,
    /// The relation that is read.
    pub of: Relation,
}

/// The relation of a scan.
#[derive(Clone, Debug, PartialEq)]
pub enum Relation {
    /// A table: schema, name, ONLY.
    Table(String, String, bool),
    /// A derived table.
    Set(Set),
    /// `generate_series` between these.
    Series(Vec<Expr>),
    /// A stage before this one, by its name.
    Stage,
}

impl Expr {
    /// The arguments of a call by this name.
    pub fn call(&self, name: &str) -> Option<&[Expr]> {
        match self {
            Self::Call(called, args) if called == name => Some(args),
            _ => None,
        }
    }

    /// The column that it is.
    pub fn column(&self) -> Option<&Col> {
        match self {
            Self::Column(c) => Some(c),
            _ => None,
        }
    }

    /// An integer constant.
    pub fn integer(&self) -> Option<i128> {
        match self {
            Self::Number(n) => n.parse().ok(),
            _ => None,
        }
    }

    /// Without the one collation that may be written.
    pub fn bare(&self) -> &Expr {
        match self.call("COLLATE") {
            Some([x]) => x,
            _ => self,
        }
    }

    /// The column that it is the text of.
    pub fn text_of(&self) -> Option<&Expr> {
        match self {
            Self::Cast(x, ty) if ty.is_text() && x.column().is_some() => Some(x),
            _ => None,
        }
    }

    /// The scans that it looks at; None where it has a subquery.
    pub fn scans(&self) -> Option<Vec<String>> {
        match self {
            Self::Column((scan, _)) => Some(vec![scan.clone()]),
            Self::Cast(x, _) => x.scans(),
            Self::Call(_, args) => {
                args.iter().try_fold(Vec::new(), |all, a| Some([all, a.scans()?].concat()))
            }
            Self::Rows(_) => None,
            _ => Some(Vec::new()),
        }
    }

    /// The conditions that AND joins.
    pub fn conjuncts(self) -> Vec<Expr> {
        match self {
            Self::Call(name, args) if name == "AND" => args.into_iter().flat_map(Self::conjuncts).collect(),
            e => vec![e],
        }
    }
}
