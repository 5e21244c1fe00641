//! Places of nodes in the text: where the first token of each is.
//!
//! The parser's own spans are of whole nodes: each asks all that is below it, and asked at each
//! level a chain of operators takes the square of its length, and a level of the stack for each.

use sqlparser::ast::{
    Expr, Function, Ident, Join, ObjectName, ObjectNamePart, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, Statement, TableFactor, Values,
};
use sqlparser::tokenizer::Location;

/// A node with a first token.
pub trait Place {
    /// The location of the first token that has one; the empty location where none does.
    fn location(&self) -> Location;
}

/// What stands first in a node.
enum First<'a> {
    At(Location),
    Expr(&'a Expr),
    Query(&'a Query),
    Body(&'a SetExpr),
}

impl First<'_> {
    fn location(mut self) -> Location {
        loop {
            self = match self {
                First::At(location) => return location,
                First::Expr(e) => first_of(e),
                First::Query(q) => match &q.with {
                    Some(with) => First::At(with.with_token.0.span.start),
                    None => First::Body(&q.body),
                },
                First::Body(SetExpr::Select(s)) => First::At(s.location()),
                First::Body(SetExpr::Query(q)) => First::Query(q),
                First::Body(SetExpr::SetOperation { left, .. }) => First::Body(left),
                First::Body(SetExpr::Values(values)) => of_rows(values),
                First::Body(
                    SetExpr::Insert(s) | SetExpr::Update(s) | SetExpr::Delete(s) | SetExpr::Merge(s),
                ) => First::At(match s {
                    Statement::Insert(insert) => insert.insert_token.0.span.start,
                    Statement::Update(update) => update.update_token.0.span.start,
                    Statement::Delete(delete) => delete.delete_token.0.span.start,
                    Statement::Merge(merge) => merge.merge_token.0.span.start,
                    _ => Location::empty(),
                }),
                First::Body(SetExpr::Table(_)) => First::At(Location::empty()),
            }
        }
    }
}

fn of_all(exprs: &[Expr]) -> First<'_> {
    exprs.first().map_or(First::At(Location::empty()), First::Expr)
}

fn of_rows(values: &Values) -> First<'_> {
    values.rows.first().map_or(First::At(Location::empty()), |row| of_all(&row.content))
}

fn first_of(e: &Expr) -> First<'_> {
    match e {
        Expr::Identifier(name) => First::At(name.span.start),
        Expr::CompoundIdentifier(names) => {
            First::At(names.first().map_or(Location::empty(), |n| n.span.start))
        }
        Expr::Value(value) => First::At(value.span.start),
        Expr::TypedString(typed) => First::At(typed.value.span.start),
        Expr::Function(function) => First::At(function.location()),
        Expr::Case { case_token, .. } => First::At(case_token.0.span.start),
        Expr::CompoundFieldAccess { root: e, .. }
        | Expr::JsonAccess { value: e, .. }
        | Expr::IsFalse(e)
        | Expr::IsNotFalse(e)
        | Expr::IsTrue(e)
        | Expr::IsNotTrue(e)
        | Expr::IsNull(e)
        | Expr::IsNotNull(e)
        | Expr::IsUnknown(e)
        | Expr::IsNotUnknown(e)
        | Expr::IsDistinctFrom(e, _)
        | Expr::IsNotDistinctFrom(e, _)
        | Expr::IsJson { expr: e, .. }
        | Expr::IsNormalized { expr: e, .. }
        | Expr::InList { expr: e, .. }
        | Expr::InSubquery { expr: e, .. }
        | Expr::InUnnest { expr: e, .. }
        | Expr::Between { expr: e, .. }
        | Expr::BinaryOp { left: e, .. }
        | Expr::Like { expr: e, .. }
        | Expr::ILike { expr: e, .. }
        | Expr::SimilarTo { expr: e, .. }
        | Expr::RLike { expr: e, .. }
        | Expr::AnyOp { left: e, .. }
        | Expr::AllOp { left: e, .. }
        | Expr::UnaryOp { expr: e, .. }
        | Expr::Convert { expr: e, .. }
        | Expr::Cast { expr: e, .. }
        | Expr::AtTimeZone { timestamp: e, .. }
        | Expr::Extract { expr: e, .. }
        | Expr::Ceil { expr: e, .. }
        | Expr::Floor { expr: e, .. }
        | Expr::Position { expr: e, .. }
        | Expr::Substring { expr: e, .. }
        | Expr::Overlay { expr: e, .. }
        | Expr::Collate { expr: e, .. }
        | Expr::Nested(e)
        | Expr::Prefixed { value: e, .. }
        | Expr::Named { expr: e, .. }
        | Expr::OuterJoin(e)
        | Expr::Prior(e) => First::Expr(e),
        // `TRIM(a FROM b)`: whichever is written first.
        Expr::Trim { expr, trim_what, .. } => First::Expr(trim_what.as_deref().unwrap_or(expr)),
        Expr::Interval(interval) => First::Expr(&interval.value),
        Expr::MemberOf(member) => First::Expr(&member.value),
        Expr::Exists { subquery: q, .. } | Expr::Subquery(q) => First::Query(q),
        Expr::GroupingSets(sets) | Expr::Cube(sets) | Expr::Rollup(sets) => {
            sets.iter().find(|set| !set.is_empty()).map_or(First::At(Location::empty()), |set| of_all(set))
        }
        Expr::Tuple(list) | Expr::Struct { values: list, .. } => of_all(list),
        Expr::Array(array) => of_all(&array.elem),
        Expr::Wildcard(token) => First::At(token.0.span.start),
        Expr::QualifiedWildcard(name, _) => First::At(name.location()),
        Expr::Dictionary(_) | Expr::Map(_) | Expr::Lambda(_) | Expr::MatchAgainst { .. } => {
            First::At(Location::empty())
        }
    }
}

impl Place for Expr {
    fn location(&self) -> Location {
        First::Expr(self).location()
    }
}

impl Place for Query {
    fn location(&self) -> Location {
        First::Query(self).location()
    }
}

impl Place for SetExpr {
    fn location(&self) -> Location {
        First::Body(self).location()
    }
}

impl Place for Select {
    fn location(&self) -> Location {
        self.select_token.0.span.start
    }
}

impl Place for Ident {
    fn location(&self) -> Location {
        self.span.start
    }
}

impl Place for ObjectName {
    fn location(&self) -> Location {
        match self.0.first() {
            Some(ObjectNamePart::Identifier(name)) => name.span.start,
            Some(ObjectNamePart::Function(function)) => function.name.span.start,
            None => Location::empty(),
        }
    }
}

impl Place for Function {
    fn location(&self) -> Location {
        self.name.location()
    }
}

impl Place for Join {
    fn location(&self) -> Location {
        self.relation.location()
    }
}

impl Place for TableFactor {
    fn location(&self) -> Location {
        let mut factor = self;
        loop {
            factor = match factor {
                Self::Table { name, .. } | Self::Function { name, .. } => return name.location(),
                Self::Derived { subquery, .. } => return subquery.location(),
                Self::UNNEST { array_exprs, .. } => return of_all(array_exprs).location(),
                Self::TableFunction { expr, .. } => return expr.location(),
                Self::NestedJoin { table_with_joins, .. } => &table_with_joins.relation,
                Self::Pivot { table, .. }
                | Self::Unpivot { table, .. }
                | Self::MatchRecognize { table, .. } => table,
                _ => return Location::empty(),
            }
        }
    }
}

impl Place for SelectItem {
    fn location(&self) -> Location {
        match self {
            Self::UnnamedExpr(e)
            | Self::ExprWithAlias { expr: e, .. }
            | Self::ExprWithAliases { expr: e, .. } => e.location(),
            Self::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => name.location(),
            Self::QualifiedWildcard(SelectItemQualifiedWildcardKind::Expr(e), _) => e.location(),
            Self::Wildcard(options) => options.wildcard_token.0.span.start,
        }
    }
}
