//! The private relation under a release: scans, joins and filters, flattened.
//!
//! Invariant: the rows of unit u depend on u's own rows and on public data only. It holds because exactly one scan
//! is private, every join partner is public, and every expression looks at its row alone.

use super::lower::{ColumnInfo, Columns, lower};
use super::scalar::Scalar;
use crate::error::ClientError;
use crate::policy::{Policy, Privacy, Table};
use crate::schema::SqlType;
use crate::sql::ast::*;
use crate::sql::resolve::and;
use std::cell::Cell;
use std::collections::HashMap;

type Result<T> = std::result::Result<T, ClientError>;

/// A table read under a binding.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// The binding that columns refer to.
    pub binding: usize,
    /// Index of the table in the policy.
    pub table: usize,
    /// On the nullable side of an outer join.
    pub nullable: bool,
}

/// The tree of joins.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// A scan, by its place in [`PrivateSource::scans`].
    Scan(usize),
    /// A join: inner, or left with the public side right.
    Join {
        /// Left side.
        left: Box<Tree>,
        /// Right side.
        right: Box<Tree>,
        /// LEFT JOIN.
        outer: bool,
        /// ON; None is a cross join.
        on: Option<Box<Scalar>>,
    },
}

/// A private relation: one private table, joined with public ones, filtered.
#[derive(Clone, Debug, PartialEq)]
pub struct PrivateSource {
    /// All scans.
    pub scans: Vec<Scan>,
    /// How they are joined.
    pub tree: Tree,
    /// WHERE, all conjuncts.
    pub filter: Vec<Scalar>,
    /// The private scan, by its place in `scans`.
    pub private: usize,
    /// Every join keeps at most one row for each row of the private scan.
    pub joins_keep_rows: bool,
}

/// Flattens the FROM and WHERE of a SELECT over private rows.
pub struct Flattener<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// The statement's bindings.
    pub bindings: &'a [Binding],
    /// Queries of CTEs by id.
    pub ctes: &'a HashMap<usize, &'a Query>,
    /// EXTRACT's type.
    pub extract_type: SqlType,
    /// Columns of flattened derived tables, as expressions over scans.
    substitutions: HashMap<usize, Vec<Expr>>,
    scans: Vec<Scan>,
    filter: Vec<Expr>,
    private: Option<usize>,
    joins_keep_rows: bool,
    size: usize,
    lowered: Cell<usize>,
}

impl<'a> Flattener<'a> {
    /// For one release.
    pub fn new(
        policy: &'a Policy,
        bindings: &'a [Binding],
        ctes: &'a HashMap<usize, &'a Query>,
        extract_type: SqlType,
    ) -> Self {
        Self {
            policy,
            bindings,
            ctes,
            extract_type,
            substitutions: HashMap::new(),
            scans: Vec::new(),
            filter: Vec::new(),
            private: None,
            joins_keep_rows: true,
            size: 0,
            lowered: Cell::new(0),
        }
    }

    /// The private relation of this SELECT.
    pub fn flatten(&mut self, select: &Select) -> Result<PrivateSource> {
        let mut tree: Option<Tree> = None;
        for from in &select.from {
            let next = self.from(from, false)?;
            tree = Some(match tree {
                None => next,
                Some(left) => self.join(left, next, false, None)?,
            });
        }
        if let Some(f) = &select.filter {
            let f = self.expand(f)?;
            self.filter.push(f);
        }
        let (Some(tree), Some(private)) = (tree, self.private) else {
            return Err(ClientError::unsupported("this FROM is not supported").at(select.pos));
        };
        let mut conjuncts = Vec::new();
        for f in std::mem::take(&mut self.filter) {
            split(f, &mut conjuncts);
        }
        let filter = conjuncts
            .iter()
            .map(|c| {
                let s = lower(c, self)?;
                match s.ty {
                    SqlType::Bool => Ok(s),
                    _ => Err(ClientError::new(
                        crate::error::SqlState::DATATYPE_MISMATCH,
                        "argument of WHERE must be type boolean",
                    )
                    .at(c.pos)),
                }
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(PrivateSource {
            scans: self.scans.clone(),
            tree,
            filter,
            private,
            joins_keep_rows: self.joins_keep_rows,
        })
    }

    fn table(&self, index: usize) -> Option<&'a Table> {
        self.policy.tables.get(index)
    }

    fn from(&mut self, from: &From, nullable: bool) -> Result<Tree> {
        match from {
            From::Relation { binding, query, pos } => {
                let source = self.bindings.get(*binding).map(|b| &b.source);
                match (source, query) {
                    (Some(Source::Table(table)), _) => self.scan(*binding, *table, nullable, *pos),
                    (Some(Source::Derived), Some(q)) => self.derived(*binding, q, nullable, *pos),
                    (Some(Source::Cte(id)), _) => match self.ctes.get(id).copied() {
                        Some(q) => self.derived(*binding, q, nullable, *pos),
                        None => Err(unsupported("this CTE", *pos)),
                    },
                    _ => Err(unsupported("this FROM", *pos)),
                }
            }
            From::Join { left, right, kind, on, pos } => {
                let outer = match kind {
                    JoinKind::Inner => false,
                    JoinKind::Left => true,
                    JoinKind::Right | JoinKind::Full => {
                        return Err(unsupported("RIGHT and FULL JOIN over private rows", *pos)
                            .hint("Write private LEFT JOIN public, or an inner JOIN."));
                    }
                };
                let had_private = self.private.is_some();
                let l = self.from(left, nullable)?;
                let left_private = self.private.is_some();
                let r = self.from(right, nullable || outer)?;
                let right_private = self.private.is_some() && !left_private;
                if outer && right_private && !had_private {
                    return Err(unsupported("public LEFT JOIN private", *pos).hint(
                        "Group by the public key over an inner JOIN: public groups without rows come back too, with noise.",
                    ));
                }
                let on = on.as_ref().map(|e| self.expand(e)).transpose()?;
                self.join(l, r, outer, on)
            }
        }
    }

    fn scan(&mut self, binding: usize, table: usize, nullable: bool, pos: Pos) -> Result<Tree> {
        let Some(t) = self.table(table) else { return Err(unsupported("this table", pos)) };
        let place = self.scans.len();
        if t.privacy != Privacy::Public {
            if self.private.is_some() {
                return Err(unsupported("a join of private tables", pos).hint(
                    "Ask about one private table at a time, joined with public tables; joins of private tables are not built yet.",
                ));
            }
            self.private = Some(place);
        }
        self.scans.push(Scan { binding, table, nullable });
        Ok(Tree::Scan(place))
    }

    /// A projection-only subquery: its columns become expressions over its own scans.
    fn derived(&mut self, binding: usize, q: &Query, nullable: bool, pos: Pos) -> Result<Tree> {
        let Body::Select(s) = &q.body else {
            return Err(unsupported("a set operation over private rows", pos)
                .hint("Aggregate in each branch: SELECT count(*) … UNION ALL SELECT count(*) …"));
        };
        if q.limit.is_some()
            || q.offset.is_some()
            || !q.order_by.is_empty()
            || !matches!(s.distinct, Distinct::No)
        {
            return Err(unsupported("LIMIT, OFFSET, ORDER BY or DISTINCT over private rows", pos)
                .hint("Which rows remain would depend on private rows. Filter with WHERE, or order and limit above the aggregates."));
        }
        if !s.group_by.is_empty()
            || s.having.is_some()
            || s.items.iter().any(|i| super::has_aggregate(&i.expr))
        {
            return Err(unsupported("a join of private rows with an aggregated subquery", pos)
                .hint("Release each by itself, and join the results."));
        }
        if nullable {
            return Err(unsupported(
                "a subquery on the optional side of an outer join over private rows",
                pos,
            )
            .hint("Join the table itself."));
        }
        let mut tree: Option<Tree> = None;
        for from in &s.from {
            let next = self.from(from, nullable)?;
            tree = Some(match tree {
                None => next,
                Some(left) => self.join(left, next, false, None)?,
            });
        }
        let Some(tree) = tree else { return Err(unsupported("a subquery without FROM in this place", pos)) };
        if let Some(f) = &s.filter {
            let f = self.expand(f)?;
            self.filter.push(f);
        }
        let columns = s.items.iter().map(|i| self.expand(&i.expr)).collect::<Result<Vec<_>>>()?;
        self.substitutions.insert(binding, columns);
        Ok(tree)
    }

    fn join(&mut self, left: Tree, right: Tree, outer: bool, on: Option<Expr>) -> Result<Tree> {
        // The side that holds no private scan must be matched by a key for rows to keep their number.
        let keeps = match (&left, &right) {
            (l, Tree::Scan(r)) if !self.holds_private(&right) && self.holds_private(l) => {
                on.as_ref().is_some_and(|on| self.by_key(*r, on))
            }
            (Tree::Scan(l), r) if !self.holds_private(&left) && self.holds_private(r) && !outer => {
                on.as_ref().is_some_and(|on| self.by_key(*l, on))
            }
            _ => false,
        };
        self.joins_keep_rows &= keeps;
        let pos = on.as_ref().and_then(|e| e.pos);
        let on = on.map(|e| lower(&e, self)).transpose()?;
        if let Some(s) = &on
            && s.ty != SqlType::Bool
        {
            return Err(ClientError::new(
                crate::error::SqlState::DATATYPE_MISMATCH,
                "argument of JOIN/ON must be type boolean",
            )
            .at(pos));
        }
        Ok(Tree::Join { left: Box::new(left), right: Box::new(right), outer, on: on.map(Box::new) })
    }

    fn holds_private(&self, tree: &Tree) -> bool {
        match tree {
            Tree::Scan(s) => self.private == Some(*s),
            Tree::Join { left, right, .. } => self.holds_private(left) || self.holds_private(right),
        }
    }

    /// Whether `on` equates every column of a usable key of this scan with columns of others.
    fn by_key(&self, scan: usize, on: &Expr) -> bool {
        let Some(scan) = self.scans.get(scan) else { return false };
        let Some(table) = self.table(scan.table) else { return false };
        let mut conjuncts = Vec::new();
        split(on.clone(), &mut conjuncts);
        let mut equated: Vec<String> = Vec::new();
        for c in &conjuncts {
            let ExprKind::Binary { op: BinaryOp::Eq, left, right } = &c.kind else { continue };
            for (a, b) in [(left, right), (right, left)] {
                if let ExprKind::Column { binding, column } = &a.kind
                    && *binding == scan.binding
                    && !b.any(&mut |e| matches!(e.kind, ExprKind::Column { binding, .. } if binding == scan.binding))
                    && let Some(c) = table.columns.get(*column)
                    && c.deterministic
                    && lower(b, self).is_ok_and(|other| compared_exactly(&c.ty, &other.ty))
                {
                    equated.push(c.name.clone());
                }
            }
        }
        table.keys.iter().any(|k| k.iter().all(|c| equated.contains(c)))
    }

    /// Replaces columns of flattened subqueries by what they stand for.
    pub fn expand(&mut self, e: &Expr) -> Result<Expr> {
        self.size += 1;
        if self.size > self.policy.limits.max_expressions {
            return Err(crate::sql::parse::too_large(
                "the statement, with its subqueries flattened,",
                "max_expressions",
                self.policy.limits.max_expressions,
            ));
        }
        let mut out = e.clone();
        if let ExprKind::Column { binding, column } = &e.kind {
            if let Some(list) = self.substitutions.get(binding) {
                let inner = list.get(*column).cloned().ok_or_else(|| unsupported("this column", e.pos))?;
                self.size += count(&inner);
                out.kind = inner.kind;
            }
            return Ok(out);
        }
        out.map_children(&mut |c| self.expand(c))?;
        Ok(out)
    }
}

impl Columns for Flattener<'_> {
    fn column(&self, binding: usize, column: usize) -> Option<ColumnInfo<'_>> {
        let scan = self.scans.iter().find(|s| s.binding == binding)?;
        let table = self.table(scan.table)?;
        let c = table.columns.get(column)?;
        let public = table.privacy == Privacy::Public;
        Some(ColumnInfo {
            column: c,
            nullable: scan.nullable || !c.not_null,
            table: &table.name,
            public_table: public.then_some(scan.table),
        })
    }

    fn spend(&self) -> Result<()> {
        self.lowered.set(self.lowered.get().saturating_add(1));
        let limit = self.policy.limits.max_expressions;
        if self.lowered.get() > limit {
            return Err(crate::sql::parse::too_large(
                "the statement, with NULLIF, BETWEEN and their like written out,",
                "max_expressions",
                limit,
            ));
        }
        Ok(())
    }

    fn extract_type(&self) -> SqlType {
        self.extract_type.clone()
    }
}

/// Whether `=` between these types compares the key's own values. Where the key is converted first, two keys may
/// become one: bigints beyond 2^53 as floats, timestamps in the hour that daylight saving skips.
fn compared_exactly(key: &SqlType, other: &SqlType) -> bool {
    let exact_number = |t: &SqlType| t.is_integer() || matches!(t, SqlType::Numeric { .. });
    key == other || (exact_number(key) && exact_number(other)) || (key.is_text() && other.is_text())
}

fn unsupported(what: &str, pos: Pos) -> ClientError {
    ClientError::unsupported(format!("{what} is not supported")).at(pos)
}

fn count(e: &Expr) -> usize {
    let mut n = 0;
    e.any(&mut |_| {
        n += 1;
        false
    });
    n
}

/// Splits a condition at its ANDs.
pub fn split(e: Expr, out: &mut Vec<Expr>) {
    match e.kind {
        ExprKind::Binary { op: BinaryOp::And, left, right } => {
            split(*left, out);
            split(*right, out);
        }
        kind => out.push(Expr { kind, pos: e.pos }),
    }
}

/// Joins conditions by AND.
pub fn conjunction(list: Vec<Expr>) -> Option<Expr> {
    list.into_iter().reduce(and)
}
