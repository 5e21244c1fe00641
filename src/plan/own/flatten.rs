//! From FROM and WHERE to joins of scans: derived tables and CTEs that only project and filter are read as part of the
//! query around them.

use super::per_unit::{RowsPerUnit, Selected};
use super::units::{Block, Found, Outside, Owner};
use crate::algebra::equivalence_classes::Col;
use crate::algebra::source::{Added, Leaf, PrivateSource, Scan, TableName};
use crate::expr::truth;
use crate::expr::{ColumnInfo, Columns, Scalar, lower};
use crate::own::given::Given;
use crate::refusals::Refusal;
use crate::refusals::join::Join;
use crate::syntax::conditions::{conjuncts, single, split};
use crate::syntax::grouping::has_windows;
use crate::syntax::grouping::is_over_several;
use crate::syntax::null_extension::{rejects, strict};
use crate::syntax::renumber::renumber;
use answer::ClientError;
use policy::{Policy, Privacy, Table};
use schema::SqlType;
use sql::Spend;
use sql::ast::*;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

pub(crate) type Result<T> = std::result::Result<T, Refusal>;

/// Relations under one release, those of CTEs as often as they are read: PostgreSQL's planning time grows fast with them.
const MAX_RELATIONS: usize = 100;

/// Joins before units are found.
pub(crate) enum Draft {
    /// A scan, by its place.
    Scan(usize),
    /// Inner, left or full.
    Join { kind: JoinKind, left: Box<Draft>, right: Box<Draft>, on: Vec<Expr>, pos: Pos },
}

/// A column of a flattened derived table.
struct Substitute {
    expr: Expr,
    /// On an optional side it would not be NULL where the derived table has no row.
    lost: bool,
}

/// Where a relation stands.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// On the nullable side of an outer join.
    pub nullable: bool,
    /// Where conditions of derived tables go: WHERE (0), or the ON of an outer join.
    pub sink: usize,
}

impl Place {
    /// Under no outer join.
    pub(crate) const TOP: Self = Self { nullable: false, sink: 0 };
}

/// Flattens the FROM and WHERE of a SELECT over private rows.
pub struct Flattener<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// The statement's bindings.
    pub bindings: &'a Bindings,
    /// Queries of CTEs by id.
    pub ctes: &'a HashMap<CteId, &'a Query>,
    /// EXTRACT's type.
    pub extract_type: SqlType,
    /// How many rows a unit is said to have.
    pub rows: RowsPerUnit,
    /// What was released before.
    pub(crate) given: Given,
    /// Of released rows in FROM, the columns that tell them apart.
    pub(crate) unique: HashMap<BindingId, Vec<usize>>,
    substitutes: HashMap<BindingId, Vec<Rc<Substitute>>>,
    pub(crate) scans: Vec<Scan>,
    pub(crate) positions: HashMap<BindingId, Pos>,
    /// Scans of the query around a subquery.
    pub(crate) around: Vec<Scan>,
    pub(crate) sinks: Vec<Vec<Expr>>,
    pub(crate) added: Vec<Added>,
    pub(crate) inside: Vec<Scan>,
    pub(crate) served: Vec<usize>,
    pub(crate) prepared: Vec<(Expr, Scalar)>,
    /// Scalar subqueries that look at rows around them, and what they are.
    pub(crate) scalars: Vec<(Expr, Expr)>,
    /// The rows that were found, for subqueries in what is computed from them.
    pub(crate) found: Option<Found>,
    pub(crate) optional: Vec<(HashSet<BindingId>, Pos)>,
    /// Which of the statement's bindings a binding of a CTE that is read here stands for.
    pub(crate) origin: HashMap<BindingId, BindingId>,
    /// The number of the next binding that the statement does not have.
    pub(crate) next: BindingId,
    relations: usize,
    /// What the statement has come to, in all of its releases.
    pub(crate) spend: Spend,
    /// How deep it is that stands where it is looked at.
    level: Cell<usize>,
}

impl<'a> Flattener<'a> {
    /// For one release.
    pub fn new(
        policy: &'a Policy,
        bindings: &'a Bindings,
        ctes: &'a HashMap<CteId, &'a Query>,
        extract_type: SqlType,
        rows: RowsPerUnit,
        spend: Spend,
    ) -> Self {
        Self {
            policy,
            bindings,
            ctes,
            extract_type,
            rows,
            given: Given::default(),
            unique: HashMap::new(),
            substitutes: HashMap::new(),
            scans: Vec::new(),
            positions: HashMap::new(),
            around: Vec::new(),
            sinks: vec![Vec::new()],
            added: Vec::new(),
            inside: Vec::new(),
            served: Vec::new(),
            prepared: Vec::new(),
            scalars: Vec::new(),
            found: None,
            optional: Vec::new(),
            origin: HashMap::new(),
            next: bindings.next(),
            relations: 0,
            spend,
            level: Cell::new(0),
        }
    }

    /// For a subquery or a branch inside; `correlated`: it sees the rows around it.
    pub(crate) fn nested(&self, correlated: bool) -> Self {
        let (extract_type, spend) = (self.extract_type.clone(), self.spend.same());
        let mut inner = Self::new(self.policy, self.bindings, self.ctes, extract_type, self.rows, spend);
        inner.given = self.given.clone();
        inner.next = self.next;
        inner.origin = self.origin.clone();
        inner.relations = self.relations;
        inner.level.set(self.level.get());
        if correlated {
            inner.around = self.around.iter().chain(&self.scans).cloned().collect();
            inner.substitutes = self.substitutes.clone();
        }
        inner
    }

    /// Takes over what a nested one used up, and read.
    pub(crate) fn absorb(&mut self, inner: &Self) {
        self.next = inner.next;
        self.origin.extend(&inner.origin);
        self.relations = inner.relations;
        self.served.extend(&inner.served);
        self.inside.extend(inner.scans.iter().chain(&inner.inside).cloned());
        self.added.extend(inner.added.iter().map(|a| Added { inside: true, ..a.clone() }));
    }

    /// The private relation of this SELECT.
    pub fn flatten(&mut self, select: &Select) -> Result<PrivateSource> {
        let (draft, conditions) = self.draft(select)?;
        let block = self.block(draft, &conditions, &Outside::default())?;
        let mut filter = self.conditions(&conditions, &block)?;
        filter.extend(self.members_of_joins(&block.tree, &filter)?);
        let Owner::Unit(unit) = block.owner.clone() else {
            return Err(Refusal::Unread("FROM", select.pos));
        };
        let (exact, aliases) = (self.exact(&block), self.unit_columns(&block.bindings));
        self.private_optional(&block);
        self.found = Some(block.found());
        let mut source = PrivateSource {
            scans: self.scans.clone(),
            tree: block.tree,
            filter,
            unit,
            exact,
            aliases,
            rows: block.rows,
            added: Vec::new(),
            inside: Vec::new(),
            optional: self.optional.iter().map(|(of, _)| of.clone()).collect(),
            served: Vec::new(),
        };
        self.note(&mut source);
        Ok(source)
    }

    /// Notes what was read in subqueries.
    pub fn note(&self, source: &mut PrivateSource) {
        source.added.clone_from(&self.added);
        source.inside.clone_from(&self.inside);
        source.served.clone_from(&self.served);
    }

    /// A value of the rows that were found, subqueries in it included.
    pub fn value(&mut self, e: &Expr) -> Result<Scalar> {
        let e = self.expand(e)?;
        self.value_over_scans(&e)
    }

    /// The same of an expression over their scans.
    pub fn value_over_scans(&mut self, e: &Expr) -> Result<Scalar> {
        if let Some(found) = self.found.clone() {
            self.prepare(e, &found)?;
        }
        Ok(lower(e, self)?)
    }

    /// FROM as joins of scans, and WHERE with what derived tables add to it, as conjuncts.
    pub(crate) fn draft(&mut self, select: &Select) -> Result<(Draft, Vec<Expr>)> {
        let Some(draft) = self.list(&select.from, Place::TOP)? else {
            return Err(Refusal::Unread("FROM", select.pos));
        };
        let draft = self.with_scalars(draft, select)?;
        if let Some(f) = &select.filter {
            let f = self.expand(f)?;
            self.condition(f, Place::TOP);
        }
        let conditions = self.finished()?;
        Ok((draft, conditions))
    }

    /// All that WHERE says, once FROM is read.
    pub(crate) fn finished(&mut self) -> Result<Vec<Expr>> {
        let conditions = self.taken(Place::TOP);
        // WHERE that drops the rows without partners makes an inner join of public LEFT JOIN private.
        self.optional.retain(|(of, _)| !conditions.iter().any(|c| rejects(c, of)));
        for (of, pos) in &self.optional {
            if let Some(test) =
                conditions.iter().find_map(|c| crate::syntax::null_extension::null_test(c, of))
            {
                return Err(Join::Absence.at(test.pos.or(*pos)));
            }
        }
        Ok(conditions)
    }

    /// The conditions of WHERE, subqueries in them included.
    pub(crate) fn conditions(&mut self, conditions: &[Expr], block: &Block) -> Result<Vec<Scalar>> {
        for c in conditions {
            self.prepare(c, &block.found())?;
        }
        conditions.iter().map(|c| Ok(truth(lower(c, self)?, "WHERE", c.pos)?)).collect()
    }

    /// The number of one more relation that the statement does not have.
    pub(crate) fn fresh(&mut self) -> BindingId {
        let fresh = self.next;
        self.next = fresh.next();
        fresh
    }

    /// The statement's binding behind this number.
    pub(crate) fn binding(&self, binding: BindingId) -> Option<&'a Binding> {
        self.bindings.get(*self.origin.get(&binding).unwrap_or(&binding))
    }

    pub(crate) fn table(&self, index: usize) -> Option<&'a Table> {
        self.policy.tables.get(index)
    }

    /// The table that a binding reads.
    pub(crate) fn table_of(&self, binding: BindingId) -> Option<&'a Table> {
        self.table(self.scan_of(binding)?.table()?)
    }

    pub(crate) fn scan_of(&self, binding: BindingId) -> Option<&Scan> {
        self.scans.iter().chain(&self.around).find(|s| s.binding == binding)
    }

    /// Several entries of FROM are a cross join.
    pub(crate) fn list(&mut self, list: &[From], at: Place) -> Result<Option<Draft>> {
        let mut all: Option<Draft> = None;
        for from in list {
            let next = self.from(from, at)?;
            all = Some(match all {
                None => next,
                Some(left) => Draft::Join {
                    kind: JoinKind::Inner,
                    left: Box::new(left),
                    right: Box::new(next),
                    on: Vec::new(),
                    pos: None,
                },
            });
        }
        Ok(all)
    }

    fn from(&mut self, from: &From, at: Place) -> Result<Draft> {
        match from {
            From::Relation { binding, query, pos, .. } => {
                let source = self.binding(*binding).map(|b| &b.source);
                let cte = match source {
                    Some(Source::Cte(id)) => self.ctes.get(id).copied(),
                    _ => None,
                };
                if let Some(q) = query.as_deref().or(cte)
                    && let Some(draft) = self.released(*binding, q, at.nullable, *pos)
                {
                    return draft;
                }
                match (source, query) {
                    (Some(Source::Table(table)), _) => {
                        let Some(t) = self.table(*table) else { return Err(Refusal::Unread("table", *pos)) };
                        self.scan(*binding, Leaf::Table(*table, TableName::of(t)), at.nullable, *pos)
                    }
                    // With its condition inside: a FULL JOIN has none for one side.
                    (Some(Source::Capped { .. }), Some(q)) if !numbers_rows(q) => {
                        self.set(*binding, q, at.nullable, *pos)
                    }
                    (Some(Source::Derived | Source::Capped { .. }), Some(q)) => {
                        self.derived(*binding, q, at, *pos)
                    }
                    (Some(Source::Cte(id)), _) => match self.ctes.get(id).copied() {
                        Some(q) => {
                            let own = renumber(q, &mut self.next, &mut self.origin);
                            self.derived(*binding, &own, at, *pos)
                        }
                        None => Err(Refusal::Unread("CTE", *pos)),
                    },
                    _ => Err(Refusal::Unread("FROM", *pos)),
                }
            }
            From::Join { left, right, kind, on, pos } => {
                let (kind, swapped) = match kind {
                    JoinKind::Right => (JoinKind::Left, true),
                    other => (*other, false),
                };
                self.joined(kind, swapped, (left, right), on.as_ref(), at, *pos)
            }
        }
    }

    /// A join; `swapped`: RIGHT, which is LEFT with its sides exchanged.
    fn joined(
        &mut self,
        kind: JoinKind,
        swapped: bool,
        (left, right): (&From, &From),
        on: Option<&Expr>,
        at: Place,
        pos: Pos,
    ) -> Result<Draft> {
        let private = |f: &Self, side: &From| f.is_private(side);
        let (l, r) = (private(self, left), private(self, right));
        let (kept, optional) = if swapped { (r, l) } else { (l, r) };
        let aside = |f: &mut Self| {
            f.sinks.push(Vec::new());
            Place { nullable: true, sink: f.sinks.len() - 1 }
        };
        // Soundness rule 8: read as an inner join, and the aggregates are held to what makes that the same.
        let by_rule_8 = kind == JoinKind::Left && !kept && optional;
        let (kind, at_left, at_right) = match kind {
            JoinKind::Left if by_rule_8 => {
                if at.nullable {
                    return Err(Join::OptionalInside.at(pos));
                }
                // What a derived table on the optional side drops is gone before it is missed.
                let inside = Place { nullable: false, ..aside(self) };
                if swapped { (JoinKind::Inner, inside, at) } else { (JoinKind::Inner, at, inside) }
            }
            JoinKind::Left if swapped => (kind, aside(self), at),
            JoinKind::Left => (kind, at, aside(self)),
            JoinKind::Full if !(l && r) => {
                return Err(Join::FullWithPublic.at(pos));
            }
            JoinKind::Full => (kind, aside(self), aside(self)),
            _ => (kind, at, at),
        };
        let before = self.scans.len();
        let left = self.from(left, at_left)?;
        let middle = self.scans.len();
        let right = self.from(right, at_right)?;
        let mut conditions = Vec::new();
        if let Some(on) = on {
            let on = self.expand(on)?;
            // The ON of inner joins is as good as WHERE, where conditions may hold subqueries.
            match kind == JoinKind::Inner && !by_rule_8 && !at.nullable {
                true => {
                    let (asked, plain): (Vec<Expr>, Vec<Expr>) =
                        conjuncts(&[on]).into_iter().partition(has_members);
                    asked.into_iter().for_each(|c| self.condition(c, at));
                    conditions.extend(plain);
                }
                false => conditions.push(on),
            }
        }
        if kind == JoinKind::Inner && !by_rule_8 {
            // Rows without partners, of joins below, are gone here.
            self.optional.retain(|(of, _)| !conditions.iter().any(|c| rejects(c, of)));
        }
        if by_rule_8 {
            let of = if swapped { before..middle } else { middle..self.scans.len() };
            let of = self.scans.get(of).unwrap_or_default().iter().map(|s| s.binding).collect();
            self.optional.push((of, pos));
        }
        match kind {
            _ if by_rule_8 || kind == JoinKind::Left => {
                let at = if swapped { at_left } else { at_right };
                conditions.extend(self.taken(at));
            }
            JoinKind::Full if !(self.taken(at_left).is_empty() && self.taken(at_right).is_empty()) => {
                return Err(Join::FullFiltered.at(pos));
            }
            _ => {}
        }
        let (left, right) = if swapped { (right, left) } else { (left, right) };
        Ok(Draft::Join { kind, left: Box::new(left), right: Box::new(right), on: conditions, pos })
    }

    pub(crate) fn scan(&mut self, binding: BindingId, leaf: Leaf, nullable: bool, pos: Pos) -> Result<Draft> {
        self.relations += 1;
        if self.relations > MAX_RELATIONS {
            return Err(Join::Relations(MAX_RELATIONS).at(pos));
        }
        let place = self.scans.len();
        self.positions.insert(binding, pos);
        self.scans.push(Scan { binding, leaf, nullable, serves: None });
        Ok(Draft::Scan(place))
    }

    /// A derived table: its columns become expressions over scans.
    fn derived(&mut self, binding: BindingId, q: &Query, at: Place, pos: Pos) -> Result<Draft> {
        let (s, order_by) = match single(q, pos)? {
            Some((s, order_by)) if !s.from.is_empty() => (s, order_by),
            _ => return self.set(binding, q, at.nullable, pos),
        };
        let before = self.scans.len();
        let Selected { draft, items } = self.selected(Some(binding), s, order_by, at, pos)?;
        let own: HashSet<BindingId> =
            self.scans.get(before..).unwrap_or_default().iter().map(|s| s.binding).collect();
        let columns = items.into_iter().map(|expr| {
            let lost = at.nullable && !strict(&expr, &own);
            Rc::new(Substitute { expr, lost })
        });
        let columns = columns.collect();
        self.substitutes.insert(binding, columns);
        Ok(draft)
    }

    /// A condition where those of derived tables go.
    pub(crate) fn condition(&mut self, e: Expr, at: Place) {
        if let Some(sink) = self.sinks.get_mut(at.sink) {
            split(e, sink);
        }
    }

    /// What went there.
    pub(crate) fn taken(&mut self, at: Place) -> Vec<Expr> {
        self.sinks.get_mut(at.sink).map(std::mem::take).unwrap_or_default()
    }

    /// The column of a derived table that is this column of a scan in it.
    pub(crate) fn derived_column(
        &self,
        derived: BindingId,
        binding: BindingId,
        column: usize,
    ) -> Option<usize> {
        let wanted = ExprKind::Column { binding, column };
        self.substitutes.get(&derived)?.iter().position(|s| s.expr.kind == wanted)
    }

    /// Whether this part of FROM holds private rows.
    pub(crate) fn is_private(&self, from: &From) -> bool {
        match from {
            From::Join { left, right, .. } => self.is_private(left) || self.is_private(right),
            From::Relation { binding, query, .. } if self.is_released(*binding, query.as_deref()) => false,
            From::Relation { binding, query, .. } => {
                match (self.binding(*binding).map(|b| &b.source), query) {
                    (Some(Source::Table(t)), _) => {
                        self.table(*t).is_none_or(|t| t.privacy != Privacy::Public)
                    }
                    (Some(Source::Cte(id)), _) => {
                        self.ctes.get(id).is_none_or(|q| self.is_private_body(&q.body))
                    }
                    (_, Some(q)) => self.is_private_body(&q.body),
                    _ => true,
                }
            }
        }
    }

    pub(crate) fn is_private_body(&self, body: &Body) -> bool {
        match body {
            Body::Select(s) => s.from.iter().any(|f| self.is_private(f)),
            Body::SetOp { left, right, .. } => self.is_private_body(left) || self.is_private_body(right),
            Body::Query(q) => self.is_private_body(&q.body),
            Body::Values(_) | Body::Rows { .. } => false,
        }
    }

    /// Whether a scan's rows are private.
    pub(crate) fn private_scan(&self, binding: BindingId) -> bool {
        match self.scan_of(binding).map(|s| &s.leaf) {
            Some(Leaf::Table(t, _)) => self.table(*t).is_none_or(|t| t.privacy != Privacy::Public),
            Some(Leaf::Set(rows)) => rows.unit.is_some(),
            None => false,
        }
    }

    /// The column that an expression is, if it is one.
    pub(crate) fn col(&self, e: &Expr) -> Option<Col> {
        let ExprKind::Column { binding, column } = &e.kind else { return None };
        let name = match &self.scan_of(*binding)?.leaf {
            Leaf::Table(t, _) => self.table(*t)?.columns.get(*column)?.name.clone(),
            Leaf::Set(_) => format!("c{column}"),
        };
        Some((*binding, name))
    }

    /// Replaces columns of flattened subqueries by what they stand for.
    pub fn expand(&mut self, e: &Expr) -> Result<Expr> {
        let mut out = e.clone();
        self.expand_in(&mut out)?;
        Ok(out)
    }

    /// In its place: a copy at each level would be the square of a chain.
    fn expand_in(&mut self, e: &mut Expr) -> Result<()> {
        let level = self.level.get();
        self.level.set(level + 1);
        let expanded = match self.flattened(1, level + 1) {
            Ok(()) => self.replace(e),
            Err(e) => Err(e),
        };
        self.level.set(level);
        expanded
    }

    /// More of the statement, so deep.
    fn flattened(&self, more: usize, levels: usize) -> Result<()> {
        let limits = &self.policy.limits;
        self.spend.take(more, "the statement, with its subqueries flattened,", limits)?;
        if levels > sql::spend::most_levels(limits) {
            return Err(sql::parse::nested(limits).into());
        }
        Ok(())
    }

    fn replace(&mut self, e: &mut Expr) -> Result<()> {
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
            self.flattened(inside.nodes, self.level.get().saturating_add(inside.levels))?;
            e.kind = inner.expr.kind.clone();
            return Ok(());
        }
        e.each_child(&mut |c| self.expand_in(c))
    }
}

/// Whether a query has windows over its rows.
fn numbers_rows(q: &Query) -> bool {
    matches!(&q.body, Body::Select(s) if has_windows(s))
}

/// Whether IN or EXISTS over a subquery stands in it.
fn has_members(e: &Expr) -> bool {
    e.any(&mut |e| matches!(e.kind, ExprKind::Exists { .. } | ExprKind::InQuery { .. }))
}

/// What a subquery without FROM selects.
pub(crate) fn constant(q: &Query) -> Option<&Expr> {
    let Ok(Some((s, []))) = single(q, None) else { return None };
    let plain = s.from.is_empty() && s.filter.is_none() && !is_over_several(s);
    match s.items.as_slice() {
        [item] if plain => Some(&item.expr),
        _ => None,
    }
}

impl Columns for Flattener<'_> {
    fn column(&self, binding: BindingId, column: usize) -> Option<ColumnInfo<'_>> {
        let scan = self.scan_of(binding)?;
        let index = scan.table()?;
        let table = self.table(index)?;
        let c = table.columns.get(column)?;
        let public = table.privacy == Privacy::Public;
        Some(ColumnInfo {
            column: c,
            nullable: scan.nullable || !c.not_null,
            table: &table.name,
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
        self.given.value(q)
    }

    fn spend(&self) -> std::result::Result<(), ClientError> {
        let of = "the statement, with NULLIF, BETWEEN and their like written out,";
        self.spend.take(1, of, &self.policy.limits)
    }

    fn extract_type(&self) -> SqlType {
        self.extract_type.clone()
    }
}
