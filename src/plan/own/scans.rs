//! The scans of one FROM, and what columns and subqueries of a statement are in terms of them.

use super::scope::Scope;
use crate::algebra::equivalence_classes::Col;
use crate::algebra::source::{Added, Branch, Leaf, Over, PrivateSource, Scan, Tree};
use crate::expr::{ColumnInfo, Columns, Scalar};
use crate::refusals::Refusal;
use crate::refusals::join::Join;
use crate::syntax::conditions::single;
use crate::syntax::grouping::is_over_several;
use answer::ClientError;
use policy::{Privacy, Table};
use schema::SqlType;
use sql::ast::*;
use std::collections::BTreeMap;
use std::rc::Rc;

pub(crate) type Result<T> = std::result::Result<T, Refusal>;

/// Relations under one release, those of CTEs as often as they are read: PostgreSQL's planning time grows fast with them.
const MAX_RELATIONS: usize = 100;

/// A column of a flattened derived table.
pub(crate) struct Substitute {
    /// The expression over scans that it is.
    pub expr: Expr,
    /// On an optional side it would not be NULL where the derived table has no row.
    pub lost: bool,
}

/// Scans, in the order in which FROM has them, and names for their columns.
pub(crate) struct Scans<'a> {
    /// The statement around.
    pub scope: Rc<Scope<'a>>,
    /// The scans; a tree of joins names them by their places.
    pub list: Vec<Scan>,
    /// Scans of the query around a subquery.
    around: Vec<Scan>,
    positions: BTreeMap<BindingId, Pos>,
    /// Of released rows, the columns that tell them apart.
    pub unique: BTreeMap<BindingId, Vec<usize>>,
    substitutes: BTreeMap<BindingId, Vec<Rc<Substitute>>>,
    /// Scalar subqueries that look at rows around them, and the expressions that they are.
    pub scalars: Vec<(Expr, Expr)>,
    /// IN and EXISTS that were made ready to be lowered, once units are found.
    pub prepared: Vec<(Expr, Scalar)>,
    /// Notes of what a release says of its scans.
    pub notes: Notes,
}

/// Notes on the scans of a release, for EXPLAIN and for locks.
#[derive(Default)]
pub(crate) struct Notes {
    /// Equalities that keep units apart.
    pub added: Vec<Added>,
    /// Scans inside subqueries.
    inside: Vec<Scan>,
    /// Tables that are read for their units only.
    pub served: Vec<usize>,
}

impl<'a> Scans<'a> {
    /// No scans yet.
    pub fn new(scope: Rc<Scope<'a>>) -> Self {
        Self {
            scope,
            list: Vec::new(),
            around: Vec::new(),
            positions: BTreeMap::new(),
            unique: BTreeMap::new(),
            substitutes: BTreeMap::new(),
            scalars: Vec::new(),
            prepared: Vec::new(),
            notes: Notes::default(),
        }
    }

    /// No scans yet, of a subquery that sees these.
    pub fn correlated(&self) -> Self {
        Self {
            around: self.around.iter().chain(&self.list).cloned().collect(),
            substitutes: self.substitutes.clone(),
            ..Self::new(self.scope.clone())
        }
    }

    /// Notes what was read inside a subquery or a branch.
    pub fn absorb(&mut self, inner: &Self) {
        let (notes, own) = (&inner.notes, &mut self.notes);
        own.served.extend(&notes.served);
        own.inside.extend(inner.list.iter().chain(&notes.inside).cloned());
        own.added.extend(notes.added.iter().map(|a| Added { inside: true, ..a.clone() }));
    }

    /// Tells a release what was noted.
    pub fn note(&self, source: &mut PrivateSource) {
        source.added.clone_from(&self.notes.added);
        source.inside.clone_from(&self.notes.inside);
        source.served.clone_from(&self.notes.served);
    }

    /// Adds a scan; gives its place.
    pub fn push(&mut self, scan: Scan, pos: Pos) -> Result<usize> {
        if !self.scope.takes_relation(MAX_RELATIONS) {
            return Err(Join::Relations(MAX_RELATIONS).at(pos));
        }
        let place = self.list.len();
        self.positions.insert(scan.binding, pos);
        self.list.push(scan);
        Ok(place)
    }

    /// Position of a scan in the text.
    pub fn position(&self, binding: BindingId) -> Pos {
        self.positions.get(&binding).copied().flatten()
    }

    /// A scan here or around.
    pub fn scan_of(&self, binding: BindingId) -> Option<&Scan> {
        self.list.iter().chain(&self.around).find(|s| s.binding == binding)
    }

    /// The table that a binding reads.
    pub fn table_of(&self, binding: BindingId) -> Option<&'a Table> {
        self.scope.table(self.scan_of(binding)?.table()?)
    }

    /// Whether a scan's rows are private.
    pub fn private_scan(&self, binding: BindingId) -> bool {
        match self.scan_of(binding).map(|s| &s.leaf) {
            Some(Leaf::Table(t, _)) => self.scope.table(*t).is_none_or(|t| t.privacy != Privacy::Public),
            Some(Leaf::Set(rows)) => rows.unit.is_some(),
            None => false,
        }
    }

    /// The column that an expression is, if it is one.
    pub fn col(&self, e: &Expr) -> Option<Col> {
        let ExprKind::Column { binding, column } = &e.kind else { return None };
        let name = match &self.scan_of(*binding)?.leaf {
            Leaf::Table(t, _) => self.scope.table(*t)?.columns.get(*column)?.name.clone(),
            Leaf::Set(_) => format!("c{column}"),
        };
        Some((*binding, name))
    }

    /// A branch of these scans.
    pub fn branch(&self, tree: Tree, filter: Vec<Scalar>, items: Vec<Scalar>) -> Branch {
        Branch { scans: self.list.clone(), tree, filter, items, over: Over::Rows, bound: None }
    }

    /// Says what the columns of a derived table are.
    pub fn substitute(&mut self, derived: BindingId, columns: Vec<Substitute>) {
        self.substitutes.insert(derived, columns.into_iter().map(Rc::new).collect());
    }

    /// The column of a derived table that is this column of a scan in it.
    pub fn derived_column(&self, derived: BindingId, binding: BindingId, column: usize) -> Option<usize> {
        let wanted = ExprKind::Column { binding, column };
        self.substitutes.get(&derived)?.iter().position(|s| s.expr.kind == wanted)
    }

    /// Replaces columns of flattened subqueries by the expressions that they are.
    pub fn expand(&self, e: &Expr) -> Result<Expr> {
        let mut out = e.clone();
        self.expand_in(&mut out)?;
        Ok(out)
    }

    /// In its place: a copy at each level would be the square of a chain.
    fn expand_in(&self, e: &mut Expr) -> Result<()> {
        self.scope.deeper(|level| {
            self.flattened(1, level)?;
            self.replace(e)
        })
    }

    /// More of the statement, so deep.
    fn flattened(&self, more: usize, levels: usize) -> Result<()> {
        self.scope.charge(more, "the statement, with its subqueries flattened,")?;
        let limits = &self.scope.policy.limits;
        if levels > sql::spend::most_levels(limits) {
            return Err(sql::parse::nested(limits).into());
        }
        Ok(())
    }

    fn replace(&self, e: &mut Expr) -> Result<()> {
        if let ExprKind::Subquery(q) = &e.kind {
            if let Some((_, value)) = self.scalars.iter().find(|(have, _)| have == e) {
                *e = value.clone();
                return Ok(());
            }
            if let Some(value) = constant(q) {
                *e = value.clone();
                return self.expand_in(e);
            }
        }
        if let ExprKind::Column { binding, column } = &e.kind {
            let Some(list) = self.substitutes.get(binding) else { return Ok(()) };
            let inner = list.get(*column).ok_or(Refusal::Unread("column", e.pos))?;
            if inner.lost {
                return Err(Join::OptionalComputed.at(e.pos));
            }
            let inside = inner.expr.size();
            self.flattened(inside.nodes, self.scope.level().saturating_add(inside.levels))?;
            e.kind = inner.expr.kind.clone();
            return Ok(());
        }
        e.each_child(&mut |c| self.expand_in(c))
    }
}

/// The expression that a subquery without FROM selects.
pub(crate) fn constant(q: &Query) -> Option<&Expr> {
    let Ok(Some((s, []))) = single(q, None) else { return None };
    let plain = s.from.is_empty() && s.filter.is_none() && !is_over_several(s);
    match s.items.as_slice() {
        [item] if plain => Some(&item.expr),
        _ => None,
    }
}

impl Columns for Scans<'_> {
    fn column(&self, binding: BindingId, column: usize) -> Option<ColumnInfo<'_>> {
        let scan = self.scan_of(binding)?;
        let index = scan.table()?;
        let table = self.scope.table(index)?;
        let c = table.columns.get(column)?;
        let public = table.privacy == Privacy::Public;
        Some(ColumnInfo {
            column: c,
            nullable: scan.nullable || !c.not_null,
            public_table: public.then_some(index),
        })
    }

    fn computed(&self, binding: BindingId, column: usize) -> Option<Scalar> {
        let scan = self.scan_of(binding)?;
        let Leaf::Set(rows) = &scan.leaf else { return None };
        Some(rows.columns.get(column)?.column_of(binding, format!("c{column}"), scan.nullable))
    }

    fn prepared(&self, e: &Expr) -> Option<Scalar> {
        self.prepared.iter().find(|(have, _)| have == e).map(|(_, s)| s.clone())
    }

    fn given(&self, q: &Query) -> Option<Scalar> {
        self.scope.given.value(q)
    }

    fn spend(&self) -> std::result::Result<(), ClientError> {
        self.scope.charge(1, "the statement, with NULLIF, BETWEEN and their like written out,")
    }

    fn extract_type(&self) -> SqlType {
        self.scope.server.extract.clone()
    }

    fn iso(&self) -> bool {
        self.scope.server.iso
    }

    fn utc(&self) -> bool {
        self.scope.server.utc
    }
}
