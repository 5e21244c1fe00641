//! Typed row expressions: a node, and the facts that its constructor computed.
//!
//! Fields are private to this folder. The facts of every [`Scalar`] were computed from its
//! arguments' by the rule that stands beside its text; there is no way to copy one with other
//! facts.

use super::facts::{Declared, Facts, MOST_BEFORE_POINT, Phys, Proven, Spelling};
use super::print::{self, Print, alias, ident, number, string};
use super::refusal::Result;
use super::table::Function;
use super::{casts, choice, comparison, dates, times};
use crate::algebra::source::Branch;
use crate::expr::domain::Domain;
use crate::expr::interval::Interval;
use crate::refusals::value::Value;
use bigdecimal::BigDecimal;
use schema::SqlType;
use sql::ast::{BinaryOp, BindingId, Is};
use std::sync::Arc;

/// A typed row expression. Evaluating its text never fails, whatever the rows hold, and looks at nothing but its row.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    pub(super) node: Node,
    /// Facts, by themselves: recursion over an expression has as little of each level on the stack
    /// as can be. Copies of an expression share them.
    pub(super) facts: Arc<Facts>,
}

/// Constants of a function's application.
#[derive(Clone, Debug, PartialEq)]
pub enum Param {
    /// No parameter.
    None,
    /// Digits to round to.
    Digits(i64),
    /// Distance between points of a grid.
    Step(BigDecimal),
    /// A field of EXTRACT, or a unit of date_trunc, and the type of the result.
    Field(&'static str, SqlType),
    /// Months, days and microseconds.
    Interval([i64; 3]),
    /// A format of to_char.
    Format(String),
    /// A time zone, by its name.
    Zone(String),
    /// A regular expression, how many states it has, and whether letters match whatever their case.
    Regex {
        /// As PostgreSQL reads it.
        pattern: String,
        /// States of the pattern.
        states: u64,
        /// `~*`.
        insensitive: bool,
    },
    /// A path that the policy declares, of members of a json value.
    Path(Box<policy::JsonPath>),
    /// A pattern of LIKE, its escape character, and whether letters match whatever their case.
    Pattern {
        /// The pattern, which does not end in its escape character.
        pattern: String,
        /// ESCAPE.
        escape: Option<String>,
        /// ILIKE.
        insensitive: bool,
    },
}

/// The computation of a scalar. Partial operations have a total meaning, which the table of the
/// allow-list gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A column of a scan.
    Column {
        /// Binding.
        binding: BindingId,
        /// Name in the database.
        name: String,
    },
    /// A value that was released before this is read, by its number among those of the statement.
    Given(usize),
    /// A number.
    Number(BigDecimal),
    /// A string constant of the scalar's type.
    Text(String),
    /// TRUE, FALSE.
    Bool(bool),
    /// NULL.
    Null,
    /// A number, date or timestamp moved into its bound; NaN is NULL for floats whose owner does not rule it out.
    Clamp(Box<Scalar>),
    /// A numeric of private rows, rounded to 60 digits after the point.
    Short(Box<Scalar>),
    /// A date or timestamp, or a number to be cast, outside its span becomes NULL.
    Guard(Box<Scalar>),
    /// A function or an operator of the table.
    Apply(&'static Function, Vec<Scalar>, Param),
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
    /// COALESCE, LEAST, GREATEST.
    Choice(Choice, Vec<Scalar>),
    /// CASE.
    Case(Vec<(Scalar, Scalar)>, Option<Box<Scalar>>),
    /// A cast whose argument was made safe.
    Cast(Box<Scalar>),
    /// \[NOT\] EXISTS.
    Exists(Box<Branch>, bool),
    /// The first is \[NOT\] among the values of the second, which stand in the branch's only column. Where the branch
    /// is private, it holds rows of the row's own unit only.
    InRows(Box<Scalar>, Box<Branch>, bool),
}

/// A choice among values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// COALESCE
    Coalesce,
    /// LEAST
    Least,
    /// GREATEST
    Greatest,
}

/// A printer of relations inside an expression.
pub type Relation<'a> = &'a dyn Fn(&Branch) -> String;

impl Scalar {
    /// For the rules of this folder.
    pub(super) fn of(node: Node, facts: Facts) -> Self {
        Self { node, facts: Arc::new(facts) }
    }

    /// The computation.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The type that PostgreSQL gives the analyst's expression.
    pub fn ty(&self) -> &SqlType {
        &self.facts.ty
    }

    /// Whether it may be computed from what is released before it; of subqueries nobody looks which rows they read.
    pub fn is_given(&self) -> bool {
        matches!(self.node, Node::Given(_) | Node::Exists(..) | Node::InRows(..))
            || self.children().into_iter().any(Self::is_given)
    }

    /// The type of its text.
    pub fn phys(&self) -> Phys {
        self.facts.phys
    }

    /// The text is a number: of a number, or of an interval as its length in seconds.
    pub fn is_measured(&self) -> bool {
        self.facts.phys != Phys::Other
    }

    /// Whether a row can make it NULL (proven, where it is false).
    pub fn nullable(&self) -> bool {
        self.facts.nullable
    }

    /// Range of the value, whatever the rows hold.
    pub fn span(&self) -> &Proven {
        &self.facts.span
    }

    /// Range of the value by the word of the owner or the analyst. Sensitivity rests on it only
    /// through a clamp.
    pub fn bound(&self) -> &Declared {
        &self.facts.bound
    }

    /// A number that the value should be a multiple of.
    pub fn lattice(&self) -> Option<&BigDecimal> {
        self.facts.lattice.as_ref()
    }

    /// Multiples of its lattice are its values.
    pub fn binned(&self) -> bool {
        self.facts.binned
    }

    /// The column holds a numeric, of which the type that is shown says nothing.
    pub fn is_numeric_in_text(&self) -> bool {
        self.facts.phys == Phys::Num && !matches!(self.facts.ty, SqlType::Numeric { .. })
    }

    /// Values that compare equal are the same bytes, or are made so before they are shown.
    pub fn canonical(&self) -> bool {
        self.facts.canonical
    }

    /// The spelling follows from rows of the unit: of several equal values it is always the same
    /// one. Numbers are read as numerics before anything is computed with them, and have no -0
    /// there.
    pub fn has_one_spelling(&self) -> bool {
        self.facts.spelling == Spelling::Own || matches!(self.facts.phys, Phys::Int | Phys::Num)
    }

    /// A public domain of its values, NULL aside.
    pub fn domain(&self) -> Option<&Domain> {
        self.facts.domain.as_ref()
    }

    /// Characters that a text has at most, whatever the rows hold.
    pub fn longest(&self) -> u64 {
        self.facts.longest
    }

    /// Characters of a number as a text, at most, clamped or not.
    pub fn written(&self) -> u64 {
        match self.facts.phys {
            Phys::Int => 20,
            _ => MOST_BEFORE_POINT.saturating_add(2).saturating_add(self.facts.scale.into()),
        }
    }

    /// Steps of about a nanosecond that one evaluation takes at most.
    pub fn cost(&self) -> u64 {
        self.facts.cost
    }

    /// An application of a function of the table.
    pub(super) fn apply(f: &'static Function, args: Vec<Scalar>, param: Param) -> Result<Self, Value> {
        if !args.iter().all(Self::has_one_spelling) {
            return Err(Value::StandIn);
        }
        let mut facts = (f.rule)(&args, &param)?;
        facts.cost = args.iter().fold(facts.cost, |sum, x| sum.saturating_add(x.facts.cost));
        Ok(Self::of(Node::Apply(f, args, param), facts))
    }

    /// A column that is shown to nobody and computed with by nothing: a unit's, or one of a path to it.
    pub fn named((binding, name): &(BindingId, String), ty: SqlType, nullable: bool) -> Self {
        let node = Node::Column { binding: *binding, name: name.clone() };
        Self::of(node, Facts::of_type(ty, nullable))
    }

    /// A value that was released before: any that its type can hold, or NULL. `bound`: where it is said to lie.
    pub(crate) fn given(number: usize, ty: SqlType, bound: Interval) -> Self {
        let lattice = ty.is_integer().then(|| 1.into());
        let facts = Facts { bound: Declared::says(bound), lattice, ..Facts::of_stored(ty, true) };
        Self::of(Node::Given(number), facts)
    }

    /// NULL of a type.
    pub fn null(ty: SqlType) -> Self {
        let mut facts = Facts::of_type(ty, true);
        if facts.ty.is_number() {
            facts.phys = Phys::Int;
            facts.span = Proven::by_text(crate::expr::interval::Interval::point(0.into()));
            facts.bound = Declared::of(&facts.span);
            facts.lattice = Some(1.into());
        }
        Self::of(Node::Null, facts)
    }

    /// The first of several columns that is not NULL: the unit of a FULL JOIN.
    pub(crate) fn first_of(list: Vec<Scalar>, ty: SqlType, nullable: bool) -> Self {
        let cost = list.iter().fold(1, |sum: u64, x| sum.saturating_add(x.facts.cost));
        Self {
            node: Node::Choice(Choice::Coalesce, list),
            facts: Arc::new(Facts { cost, ..Facts::of_type(ty, nullable) }),
        }
    }

    /// A text.
    pub(super) fn text_constant(text: &str) -> Self {
        let longest = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
        let facts = Facts { longest, ..Facts::of_type(SqlType::Text, false) };
        Self::of(Node::Text(text.to_owned()), facts)
    }

    /// TRUE or FALSE.
    pub fn constant_truth(b: bool) -> Self {
        Self::of(Node::Bool(b), Facts::truth(false, 1))
    }

    /// \[NOT\] EXISTS: never NULL.
    pub fn exists(rows: Branch, negated: bool) -> Self {
        let cost = rows.cost();
        Self::of(Node::Exists(Box::new(rows), negated), Facts::truth(false, cost))
    }

    /// `x [NOT] IN (SELECT …)`: NULL where a member or x is.
    pub fn in_rows(x: Scalar, rows: Branch, negated: bool) -> Self {
        let cost = x.facts.cost.saturating_add(rows.cost());
        Self::of(Node::InRows(Box::new(x), Box::new(rows), negated), Facts::truth(true, cost))
    }

    /// The same column, of a scan that an outer join may fill with NULL.
    pub(crate) fn column_of(&self, binding: BindingId, name: String, padded: bool) -> Self {
        let nullable = self.facts.nullable || padded;
        let facts = match nullable == self.facts.nullable && self.facts.cost == 1 {
            true => self.facts.clone(),
            false => Arc::new(Facts { nullable, cost: 1, ..Facts::clone(&self.facts) }),
        };
        Self { node: Node::Column { binding, name }, facts }
    }

    /// The parts that stand in its text, those of subqueries aside.
    pub fn children(&self) -> Vec<&Scalar> {
        match &self.node {
            Node::Column { .. }
            | Node::Given(_)
            | Node::Number(_)
            | Node::Text(_)
            | Node::Bool(_)
            | Node::Null
            | Node::Exists(..) => Vec::new(),
            Node::Clamp(x)
            | Node::Short(x)
            | Node::Guard(x)
            | Node::Not(x)
            | Node::Is(x, ..)
            | Node::Cast(x)
            | Node::InRows(x, ..) => vec![x],
            Node::Apply(_, list, _) | Node::Choice(_, list) => list.iter().collect(),
            Node::Compare(_, a, b) | Node::Logic(_, a, b) => vec![a, b],
            Node::In(x, list, _) => std::iter::once(&**x).chain(list).collect(),
            Node::Case(branches, otherwise) => {
                let branches = branches.iter().flat_map(|(when, then)| [when, then]);
                branches.chain(otherwise.as_deref()).collect()
            }
        }
    }

    /// Whether it looks at these bindings alone, and at nothing through a subquery.
    pub fn looks_only_at(&self, bindings: &[BindingId]) -> bool {
        match &self.node {
            Node::Column { binding, .. } => bindings.contains(binding),
            Node::Exists(..) | Node::InRows(..) => false,
            _ => self.children().into_iter().all(|c| c.looks_only_at(bindings)),
        }
    }

    /// The same expression over other names and in another order, for a form that is hashed and not run
    /// (`store::canonical`): `f` gives for each child one of the same facts. Facts stay.
    pub fn reworded(&self, f: &mut dyn FnMut(&Scalar) -> Scalar) -> Self {
        let mut one = |x: &Scalar| Box::new(f(x));
        let node = match &self.node {
            Node::Clamp(x) => Node::Clamp(one(x)),
            Node::Short(x) => Node::Short(one(x)),
            Node::Guard(x) => Node::Guard(one(x)),
            Node::Not(x) => Node::Not(one(x)),
            Node::Is(x, what, negated) => Node::Is(one(x), *what, *negated),
            Node::Cast(x) => Node::Cast(one(x)),
            Node::InRows(x, rows, negated) => Node::InRows(one(x), rows.clone(), *negated),
            Node::Apply(g, list, param) => Node::Apply(g, list.iter().map(f).collect(), param.clone()),
            Node::Choice(which, list) => Node::Choice(*which, list.iter().map(f).collect()),
            Node::Compare(op, a, b) => Node::Compare(*op, one(a), one(b)),
            Node::Logic(op, a, b) => Node::Logic(*op, one(a), one(b)),
            Node::In(x, list, negated) => Node::In(one(x), list.iter().map(f).collect(), *negated),
            Node::Case(branches, otherwise) => {
                let branches = branches.iter().map(|(when, then)| (f(when), f(then))).collect();
                Node::Case(branches, otherwise.as_deref().map(|x| Box::new(f(x))))
            }
            same => same.clone(),
        };
        Self { node, facts: self.facts.clone() }
    }

    /// The same column under another name, for a form that is hashed and not run.
    pub fn renamed(&self, binding: BindingId) -> Self {
        match &self.node {
            Node::Column { name, .. } => {
                Self { node: Node::Column { binding, name: name.clone() }, facts: self.facts.clone() }
            }
            _ => self.clone(),
        }
    }

    /// A text that is NULL where the value is, for what counts values.
    pub fn presence(&self, relation: Relation) -> String {
        times::presence_text(self, &|x: &Scalar| x.text(relation))
    }

    /// Text of the scalar, in its physical type.
    pub fn text(&self, relation: Relation) -> String {
        let print: Print = &|x: &Scalar| x.text(relation);
        match &self.node {
            Node::Column { binding, name } => format!("{}.{}", alias(*binding), ident(name)),
            // `$1` is the seed.
            Node::Given(n) => format!("${}::{}", n.saturating_add(2), self.facts.ty.sql_name()),
            Node::Number(n) => number(n),
            Node::Text(t) if self.facts.ty == SqlType::Interval => {
                format!("{}::pg_catalog.interval", string(&dates::spelled(t)))
            }
            Node::Text(t) => format!("{}::{}", string(t), self.facts.ty.sql_name()),
            Node::Bool(b) => b.to_string(),
            // In an IN list, a NULL of a float type would turn the whole list and its operand into floats.
            Node::Null if self.facts.phys != Phys::Other => "NULL::pg_catalog.int4".into(),
            Node::Null => format!("NULL::{}", self.facts.ty.sql_name()),
            Node::Clamp(x) => times::clamp_text(self, x, print),
            Node::Short(x) => format!("pg_catalog.round({}, {})", print(x), super::facts::FINEST),
            Node::Guard(x) => times::guard_text(self, x, print),
            Node::Apply(f, args, param) => (f.text)(self, args, param, print),
            Node::Compare(..) | Node::Logic(..) | Node::Not(_) | Node::Is(..) | Node::In(..) => {
                comparison::text(&self.node, print)
            }
            Node::Choice(..) | Node::Case(..) => choice::text(self, print),
            Node::Exists(rows, negated) => {
                format!("({}EXISTS ({}))", if *negated { "NOT " } else { "" }, relation(rows))
            }
            Node::InRows(x, rows, negated) => {
                let not = if *negated { "NOT " } else { "" };
                let x = match x.facts.ty.is_text() && print::is_varied(x) {
                    true => print::collated(x, print),
                    false => print(x),
                };
                format!("({x} {not}IN ({}))", relation(rows))
            }
            Node::Cast(x) => casts::text(self, x, print),
        }
    }

    /// A number in the type that computes: int8 or numeric.
    pub fn operand_text(&self, phys: Phys, relation: Relation) -> String {
        print::operand(self, phys, &|x: &Scalar| x.text(relation))
    }
}
