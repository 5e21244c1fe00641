//! Caps on private rows that meet several of their own unit: of one side of such a join a fixed
//! number of rows of each unit is read at most (soundness rule 50).
//!
//! When no key narrows a join of private rows, each row of a unit meets all of its rows on the
//! other side. One person with a million rows on both sides would stop the database, and the time
//! would tell that there is such a person. So the table is read through a derived table that
//! numbers the rows of each unit, and keeps the first: `(SELECT … FROM (SELECT …, row_number() OVER
//! (PARTITION BY unit) AS n FROM t) WHERE n <= 1000)`. That is planned, and proven, as if it had
//! been asked; ties are broken by all columns that the statement looks at, so that the rows that
//! remain depend on the rows of a unit alone.

use super::by_group::looks_at;
use super::rule::Rewrite;
use crate::facts::Facts;
use crate::refusals::Refusal;
use crate::refusals::join::Join;
use crate::syntax::conditions::conjuncts;
use policy::{Policy, Privacy, Table, UnitPath};
use schema::SqlType;
use sql::ast::*;
use std::collections::BTreeSet;

/// A table that stands there because of it alone; what stands for the analyst's own is still theirs.
const BY_CAP: Origin = Origin::AddedBy(Rule::Cap);

/// A relation to be read so.
#[derive(Debug)]
pub(crate) struct Cap {
    /// The statement's binding.
    pub binding: BindingId,
    /// Position in the text.
    pub pos: Pos,
}

/// Where a relation stands in a FROM.
#[derive(Default)]
struct Place {
    /// Conditions that hold for all of its rows that count.
    own: Vec<Expr>,
    /// Where it has no row, an outer join has one of NULLs.
    padded: bool,
    /// It stands in a FULL JOIN, whose sides keep their conditions to themselves.
    full: bool,
}

/// A table on the path to the unit, and how it is met from the one before.
struct Step<'p> {
    index: usize,
    table: &'p Table,
    path: &'p UnitPath,
}

/// Its tables up to the one that has the unit, and the place of the unit there.
fn path(table: usize, policy: &Policy) -> Option<(Vec<Step<'_>>, usize)> {
    let mut steps: Vec<Step> = Vec::new();
    let mut at = policy.tables.get(table)?;
    loop {
        match &at.privacy {
            Privacy::Public => return None,
            Privacy::Private { unit, .. } => return Some((steps, place_of(at, unit)?)),
            Privacy::Path(path) => {
                at = policy.tables.get(path.table)?;
                steps.push(Step { index: path.table, table: at, path });
            }
        }
    }
}

fn place_of(table: &Table, column: &str) -> Option<usize> {
    table.columns.iter().position(|c| c.name == column)
}

fn column(binding: BindingId, column: usize) -> Expr {
    Expr::new(ExprKind::Column { binding, column }, None)
}

/// Gives all columns of an expression, which are of one relation, this one.
fn rebind(e: &mut Expr, to: BindingId) {
    if let ExprKind::Column { binding, .. } = &mut e.kind {
        *binding = to;
    }
    e.children_mut().into_iter().for_each(|c| rebind(c, to));
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::new(ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }, None)
}

fn relation(binding: BindingId, query: Option<Select>) -> From {
    let query = query.map(|s| Box::new(Query::of(Body::Select(Box::new(s)))));
    From::Relation { binding, query, lateral: false, pos: None }
}

impl Rewrite for Cap {
    fn put(&self, statement: &mut Statement, policy: &Policy, _: &Facts<'_>) -> Result<bool, Refusal> {
        let mut found = None;
        statement.query.each_select(&mut |s| {
            let Some(mut place) = s.from.iter().find_map(|f| self.place(f)) else { return };
            if !place.padded {
                place.own.extend(conjuncts(s.filter.as_slice()));
            }
            found = Some(place);
        });
        let place = found.ok_or_else(|| unnarrowed(None))?;
        let written = self.written(statement, policy, place)?;
        statement.query.each_select(&mut |s| {
            s.from.iter_mut().for_each(|f| self.replace(f, &written));
        });
        Ok(true)
    }

    fn refused(&self) -> Refusal {
        unnarrowed(self.pos)
    }
}

impl Cap {
    /// Where it stands in a FROM.
    fn place(&self, from: &From) -> Option<Place> {
        let (left, right, kind, on) = match from {
            From::Relation { binding, query, .. } => {
                return (*binding == self.binding && query.is_none()).then(Place::default);
            }
            From::Join { left, right, kind, on, .. } => (left, right, *kind, on),
        };
        let (mut place, padded) = match self.place(left) {
            Some(place) => (place, kind == JoinKind::Right),
            None => (self.place(right)?, kind == JoinKind::Left),
        };
        if !place.padded && (padded || kind == JoinKind::Inner) {
            place.own.extend(conjuncts(on.as_slice()));
        }
        place.full |= kind == JoinKind::Full;
        place.padded |= padded || place.full;
        Some(place)
    }

    /// Puts it in the place of the table.
    fn replace(&self, from: &mut From, written: &From) {
        match from {
            From::Relation { binding, query: None, .. } if *binding == self.binding => {
                *from = written.clone();
            }
            From::Relation { .. } => {}
            From::Join { left, right, .. } => {
                self.replace(left, written);
                self.replace(right, written);
            }
        }
    }

    /// Conditions on the table alone, of another number: rows that they drop are dropped before others are counted.
    fn renumbered(&self, conditions: Vec<Expr>, read: BindingId) -> Option<Expr> {
        let own = conditions.into_iter().filter(|c| looks_at(c, self.binding) == Some(true));
        let mut own = own.reduce(sql::resolve::and)?;
        rebind(&mut own, read);
        Some(own)
    }

    /// What stands in the place of the table: its first rows, joined to those that lead to their unit.
    fn written(&self, statement: &mut Statement, policy: &Policy, place: Place) -> Result<From, Refusal> {
        let own = statement.bindings.get(self.binding).cloned().ok_or_else(|| unnarrowed(None))?;
        let table = own.table().ok_or_else(|| unnarrowed(None))?;
        let t = policy.tables.get(table).ok_or_else(|| unnarrowed(None))?;
        let (steps, unit) = path(table, policy).ok_or_else(|| unnarrowed(None))?;
        let looked_at = statement.query.columns().filter(|(binding, _)| *binding == self.binding);
        let mut used: BTreeSet<usize> = looked_at.map(|(_, column)| column).collect();
        if let Some(first) = steps.first() {
            used.extend(first.path.columns.iter().filter_map(|c| place_of(t, c)));
        }
        let used: Vec<usize> = used.into_iter().collect();
        let untold = used.iter().filter_map(|i| t.columns.get(*i)).find(|c| {
            matches!(c.ty, SqlType::Other { .. })
                || (c.ty.is_text() || c.ty == SqlType::Bpchar) && !c.deterministic
        });
        if let Some(c) = untold {
            return Err(Join::Unnarrowed(Some((t.name.clone(), c.name.clone()))).at(None));
        }
        let rows = policy.limits.max_joined_rows;
        let item = |expr| Item { expr, name: String::new() };
        let mut bind = |binding: Binding| statement.bindings.push(binding);

        let read = bind(own.clone());
        let (from, owner) = along(relation(read, None), (read, t), &steps, &mut bind, None);
        let number = ExprKind::Window {
            function: Box::new(Expr::new(ExprKind::Call { name: "row_number", args: Vec::new() }, None)),
            partition_by: vec![column(owner, unit)],
            order_by: Vec::new(),
            frame: None,
        };
        let owned = steps.last().map_or(t, |s| s.table);
        let named = owned.columns.get(unit).map(|c| c.name.clone()).unwrap_or_default();
        let mut items: Vec<Item> = used.iter().map(|i| item(column(read, *i))).collect();
        items.push(item(column(owner, unit)));
        items.push(item(Expr::new(number, None)));
        let mut inner = Select::of(items, None);
        inner.from = vec![from];
        inner.filter = self.renumbered(place.own, read);

        let mut columns: Vec<String> = used.iter().filter_map(|i| own.columns.get(*i)).cloned().collect();
        columns.extend([named.clone(), "row_number".to_owned()]);
        let numbered = bind(Binding { source: Source::Capped { table, rows }, columns, ..own.clone() });
        let mut all: Vec<Item> = (0..own.columns.len())
            .map(|i| match used.binary_search(&i) {
                Ok(place) => item(column(numbered, place)),
                Err(_) => item(Expr::new(ExprKind::Literal(Literal::Null), None)),
            })
            .collect();
        all.push(item(column(numbered, used.len())));
        let most = Expr::new(ExprKind::Literal(Literal::Number(rows.to_string())), None);
        let mut outer = Select::of(all, None);
        outer.from = vec![relation(numbered, Some(inner))];
        outer.filter = Some(binary(BinaryOp::Le, column(numbered, used.len() + 1), most));

        let tie = (unit, column(self.binding, own.columns.len()));
        let (from, _) =
            along(relation(self.binding, Some(outer)), (self.binding, t), &steps, &mut bind, Some(tie));
        if let Some(capped) = statement.bindings.get_mut(self.binding) {
            capped.source = if place.full { Source::Capped { table, rows } } else { Source::Derived };
            capped.columns.push(named);
        }
        Ok(from)
    }
}

/// A relation with the rows that lead to its unit, and the last of these; `tie`: what a column of that is equal to, beside.
fn along(
    mut from: From,
    (mut child, mut of): (BindingId, &Table),
    steps: &[Step],
    bind: &mut impl FnMut(Binding) -> BindingId,
    mut tie: Option<(usize, Expr)>,
) -> (From, BindingId) {
    for (i, step) in steps.iter().enumerate() {
        let columns = step.table.columns.iter().map(|c| c.name.clone()).collect();
        let parent = bind(Binding {
            name: step.table.name.clone(),
            source: Source::Table(step.index),
            columns,
            origin: BY_CAP,
        });
        let met = step.path.columns.iter().zip(&step.path.key).filter_map(|(a, b)| {
            let (a, b) = (place_of(of, a)?, place_of(step.table, b)?);
            Some(binary(BinaryOp::Eq, column(child, a), column(parent, b)))
        });
        let ends = i + 1 == steps.len();
        let tie = tie.take_if(|_| ends).map(|(at, other)| binary(BinaryOp::Eq, column(parent, at), other));
        let on = met.chain(tie).reduce(sql::resolve::and);
        let (left, right) = (Box::new(from), Box::new(relation(parent, None)));
        from = From::Join { left, right, kind: JoinKind::Inner, on, pos: None };
        (child, of) = (parent, step.table);
    }
    (from, child)
}

/// The refusal of what cannot be read so.
pub(crate) fn unnarrowed(pos: Pos) -> Refusal {
    Join::Unnarrowed(None).at(pos)
}
