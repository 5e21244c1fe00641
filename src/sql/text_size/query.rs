//! Queries: what their columns can take.

use super::relations::{Column, Relation};
use super::values::CELL;
use super::{Sizes, functions};
use crate::names::{fold, last};
use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, JoinConstraint, JoinOperator, LimitClause, NamedWindowExpr, OrderBy,
    OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableAlias,
    TableFactor, TableWithJoins, With,
};

/// Steps of a recursive query that add to a text.
const STEPS: u64 = 1_000;
/// A text by which it is tried what a step repeats.
const LONG: u64 = 1 << 24;
/// Columns that a row of one value may have.
const MOST_PARTS: u64 = 1_600;
/// Columns of a recursive query.
const MOST_COLUMNS: usize = 40;

impl Sizes<'_> {
    /// The longest column of a query.
    pub(super) fn query(&mut self, query: &Query) -> u64 {
        self.columns(query).longest()
    }

    /// The columns of a query.
    pub(super) fn columns(&mut self, query: &Query) -> Relation {
        let outer = self.ctes.len();
        if let Some(with) = &query.with {
            self.with(with);
        }
        let found = self.body(&query.body);
        if let Some(OrderBy { kind: OrderByKind::Expressions(items), .. }) = &query.order_by {
            self.plain(items.iter().map(|o| &o.expr));
        }
        match &query.limit_clause {
            Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                self.plain(limit.iter().chain(offset.iter().map(|o| &o.value)));
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
                self.plain([offset, limit]);
            }
            None => {}
        }
        self.plain(query.fetch.iter().filter_map(|f| f.quantity.as_ref()));
        self.ctes.truncate(outer);
        found
    }

    fn with(&mut self, with: &With) {
        for cte in &with.cte_tables {
            let name = fold(&cte.alias.name);
            let names: Vec<String> = cte.alias.columns.iter().map(|c| fold(&c.name)).collect();
            let found = match &*cte.query.body {
                SetExpr::SetOperation { left, right, .. } if with.recursive => {
                    let first = self.body(left).renamed(name.clone(), names.clone());
                    self.recursive(first, right)
                }
                _ => self.columns(&cte.query),
            };
            self.ctes.push(found.renamed(name, names));
        }
    }

    /// A query that reads its own rows. Each step may add to a text what it does not depend on; one that repeats what it finds
    /// would double it without end.
    fn recursive(&mut self, mut first: Relation, step: &SetExpr) -> Relation {
        for column in &mut first.columns {
            column.bytes = column.bytes.max(CELL);
        }
        self.endless |= !self.ends(&first, step);
        let seen = self.step(first.clone(), step);
        for (n, column) in first.columns.iter_mut().enumerate() {
            let added = nth(&seen, n).saturating_sub(column.bytes);
            column.bytes = column.bytes.saturating_add(added.saturating_mul(STEPS));
        }
        first.rows = first.rows.max(STEPS);
        first
    }

    fn step(&mut self, found: Relation, step: &SetExpr) -> Relation {
        self.ctes.push(found);
        let seen = self.body(step);
        self.ctes.pop();
        seen
    }

    /// Whether no column comes back in itself more than once, over any number of steps: by how often each column stands in each
    /// of the next step's.
    fn ends(&mut self, first: &Relation, step: &SetExpr) -> bool {
        let width = first.columns.len();
        if first.starred || width > MOST_COLUMNS {
            return false;
        }
        // What is tried here is not what is counted.
        let counted = (self.total, self.over, self.nodes);
        let mut tried = |long: Option<usize>| {
            let mut relation = first.clone();
            for (n, column) in relation.columns.iter_mut().enumerate() {
                column.bytes = if Some(n) == long { 2 * LONG } else { LONG };
            }
            let seen = self.step(relation, step);
            (0..width).map(|n| nth(&seen, n)).collect::<Vec<u64>>()
        };
        let base = tried(None);
        let each: Vec<Vec<u64>> = (0..width).map(|n| tried(Some(n))).collect();
        (self.total, self.over, self.nodes) = counted;
        let stands = |from: &[u64]| -> Vec<u64> {
            from.iter().zip(&base).map(|(a, b)| a.saturating_sub(*b).div_ceil(LONG)).collect()
        };
        let once: Vec<Vec<u64>> = each.iter().map(|from| stands(from)).collect();
        let mut after = once.clone();
        for _ in 0..2 * width {
            let comes_back = after.iter().enumerate().filter_map(|(n, row)| row.get(n));
            if comes_back.into_iter().any(|times| *times > 1) {
                return false;
            }
            after = after.iter().map(|row| product(row, &once)).collect();
        }
        true
    }

    fn body(&mut self, body: &SetExpr) -> Relation {
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::Query(query) => self.columns(query),
            SetExpr::SetOperation { left, right, .. } => {
                let (mut left, right) = (self.body(left), self.body(right));
                let (longest, largest) = (right.longest(), right.largest());
                left.branches = left.branches.saturating_add(right.branches);
                let known = !left.starred && !right.starred;
                left.starred = !known;
                left.rows = left.rows.saturating_add(right.rows);
                for (n, column) in left.columns.iter_mut().enumerate() {
                    let other = right.columns.get(n).filter(|_| known);
                    column.bytes = column.bytes.max(other.map_or(longest, |c| c.bytes));
                    column.nodes = column.nodes.max(other.map_or(largest, |c| c.nodes));
                }
                left
            }
            SetExpr::Values(values) => {
                let mut columns: Vec<Column> = Vec::new();
                for row in &values.rows {
                    for (n, cell) in row.content.iter().enumerate() {
                        let found = self.computed(None, cell);
                        match columns.get_mut(n) {
                            Some(column) => {
                                column.bytes = column.bytes.max(found.bytes);
                                column.nodes = column.nodes.max(found.nodes);
                            }
                            None => {
                                columns.push(Column { name: Some(format!("column{}", n + 1)), ..found });
                            }
                        }
                    }
                }
                Relation { columns, rows: values.rows.len() as u64, ..Relation::default() }
            }
            _ => Relation::default(),
        }
    }

    fn select(&mut self, select: &Select) -> Relation {
        self.scopes.push(Vec::new());
        for item in &select.from {
            self.joins(item);
        }
        if let Some(Distinct::On(keys)) = &select.distinct {
            self.plain(keys);
        }
        let before = self.nodes;
        self.plain(select.selection.iter().chain(&select.having));
        let conditions = self.nodes.saturating_sub(before);
        if let GroupByExpr::Expressions(keys, _) = &select.group_by {
            self.plain(keys);
        }
        for window in &select.named_window {
            if let NamedWindowExpr::WindowSpec(spec) = &window.1 {
                self.plain(spec.partition_by.iter().chain(spec.order_by.iter().map(|o| &o.expr)));
            }
        }
        let mut columns = Vec::new();
        let mut starred = false;
        for item in &select.projection {
            match item {
                SelectItem::UnnamedExpr(e) => columns.push(self.computed(derived(e), e)),
                SelectItem::ExprWithAlias { expr, alias } => {
                    columns.push(self.computed(Some(fold(alias)), expr));
                }
                SelectItem::ExprWithAliases { expr, aliases } => {
                    let found = self.computed(None, expr);
                    columns.extend(aliases.iter().map(|a| Column { name: Some(fold(a)), ..found.clone() }));
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::Expr(e), _) => {
                    // Each column of the row is the whole of it.
                    let found = self.computed(None, e);
                    self.spend(found.nodes.saturating_mul(MOST_PARTS));
                    columns.push(found);
                    starred = true;
                }
                SelectItem::QualifiedWildcard(..) | SelectItem::Wildcard(_) => {
                    let all = || self.scopes.last().into_iter().flatten();
                    let nodes = all().fold(1, |sum: u64, r| sum.saturating_add(r.nodes()));
                    let held = all().map(|r| r.columns.len()).sum();
                    self.spend(nodes);
                    if self.hold(held) {
                        let all = self.scopes.last().into_iter().flatten();
                        columns.extend(all.flat_map(|r| r.columns.clone()));
                    }
                    // The columns of tables, whatever they are called.
                    columns.push(Column::any(CELL));
                    starred = true;
                }
            }
        }
        let from = self.scopes.pop().unwrap_or_default();
        let rows = from.iter().fold(1, |n: u64, r| n.saturating_mul(r.rows));
        let branches = from.iter().map(|r| r.branches).max().unwrap_or(1);
        self.spend(conditions.saturating_mul(branches.saturating_sub(1)));
        Relation { columns, rows, branches, starred, ..Relation::default() }
    }

    /// The CTE of a name of so many parts.
    fn cte(&self, name: &str, parts: usize) -> Option<&Relation> {
        self.ctes.iter().rev().find(|c| c.name == name).filter(|_| parts == 1)
    }

    /// A column that the query computes.
    fn computed(&mut self, name: Option<String>, e: &Expr) -> Column {
        let before = self.nodes;
        let bytes = self.expr(e);
        Column { name, bytes, nodes: self.nodes.saturating_sub(before) }
    }

    fn joins(&mut self, item: &TableWithJoins) {
        self.factor(&item.relation);
        for join in &item.joins {
            self.factor(&join.relation);
            let (JoinOperator::Join(on)
            | JoinOperator::Inner(on)
            | JoinOperator::Left(on)
            | JoinOperator::LeftOuter(on)
            | JoinOperator::Right(on)
            | JoinOperator::RightOuter(on)
            | JoinOperator::FullOuter(on)) = &join.join_operator
            else {
                continue;
            };
            if let JoinConstraint::On(on) = on {
                self.expr(on);
            }
        }
    }

    fn factor(&mut self, factor: &TableFactor) {
        match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let own = last(name);
                let known = self.cte(&own, name.0.len());
                let held = known.map_or(0, |k| k.columns.len());
                let found = match self.hold(held) {
                    true => self.cte(&own, name.0.len()).cloned().unwrap_or_default(),
                    false => Relation::default(),
                };
                self.bring(found, own, alias.as_ref());
            }
            TableFactor::Table { name, alias, args: Some(args), .. } => {
                self.rows(last(name), &functions::arguments(&args.args), alias.as_ref());
            }
            TableFactor::Function { name, args, alias, .. } => {
                self.rows(last(name), &functions::arguments(args), alias.as_ref());
            }
            TableFactor::UNNEST { alias, array_exprs, .. } => {
                let arrays: Vec<&Expr> = array_exprs.iter().collect();
                self.rows("unnest".into(), &arrays, alias.as_ref());
            }
            TableFactor::Derived { subquery, alias, .. } => {
                let found = self.columns(subquery);
                self.bring(found, String::new(), alias.as_ref());
            }
            TableFactor::NestedJoin { table_with_joins, .. } => self.joins(table_with_joins),
            _ => {}
        }
    }

    /// The rows of a function, whose columns may have any name.
    fn rows(&mut self, own: String, args: &[&Expr], alias: Option<&TableAlias>) {
        let size = self.call(&own, args);
        let rows = functions::rows(&own, args, size);
        self.bring(Relation { columns: vec![Column::any(size)], rows, ..Relation::default() }, own, alias);
    }

    fn bring(&mut self, found: Relation, own: String, alias: Option<&TableAlias>) {
        let name = alias.map_or(own, |a| fold(&a.name));
        let names = alias.iter().flat_map(|a| a.columns.iter().map(|c| fold(&c.name))).collect();
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(found.renamed(name, names));
        }
    }
}

/// The size of a column by its place.
fn nth(relation: &Relation, n: usize) -> u64 {
    relation.columns.get(n).filter(|_| !relation.starred).map_or(relation.longest(), |c| c.bytes)
}

/// A row of a matrix, times the matrix.
fn product(row: &[u64], matrix: &[Vec<u64>]) -> Vec<u64> {
    let mut sum = vec![0u64; row.len()];
    for (times, of) in row.iter().zip(matrix) {
        for (sum, n) in sum.iter_mut().zip(of) {
            *sum = sum.saturating_add(times.saturating_mul(*n));
        }
    }
    sum
}

/// What PostgreSQL calls a column that is only a name; others may be called anything.
fn derived(e: &Expr) -> Option<String> {
    match e {
        Expr::Identifier(name) => Some(fold(name)),
        Expr::CompoundIdentifier(names) => names.last().map(fold),
        _ => None,
    }
}
