//! FROM and WHERE over private rows: whether every row that comes out is of one unit and looks at that unit's rows and
//! at public ones alone.
//!
//! Private scans meet by inner joins under conditions that put their units into one class (`classes`); what an outer join
//! leaves out must be tied to the unit of the row that stays.

use super::classes::{Classes, Col, Conditional, Fact, Scan, Term, unit_of};
use super::expression::{Allowed, column_of, conjuncts, term_of, walk};
use super::multiplicity::{Equation, full_rows, island_rows, left_rows};
use super::names::{ident, parts};
use super::shape::{plain_query, plain_select};
use super::types::{Ty, of as type_of};
use super::{Result, refuse};
use policy::{Policy, Privacy};
use schema::SqlType;
use sqlparser::ast::*;
use sqlparser::tokenizer::Location;
use std::collections::BTreeSet;
use std::rc::Rc;

/// What a scan is of.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A table of the policy.
    Table(usize),
    /// A derived table, or an earlier stage.
    Rows(Rc<Rows>),
}

/// What comes out of a query.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    /// Its columns.
    pub columns: Vec<(String, Found)>,
    /// Those that are the unit in every row; none where rows are public.
    pub units: Vec<usize>,
    /// The unit can be NULL.
    pub nullable: bool,
    /// Rows of one unit are at most so many.
    pub bound: Option<u64>,
}

/// What is known of a column.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// Its type.
    pub ty: Ty,
    /// Equal values are the same ones.
    pub deterministic: bool,
    /// A numeric whose values all have the same number of digits.
    pub scaled: bool,
    /// It counts: never NULL, at least 0.
    pub count: bool,
}

impl Found {
    pub fn of(ty: Ty) -> Self {
        Self { ty, deterministic: true, scaled: false, count: false }
    }
}

/// What everything is held against.
#[derive(Clone, Copy)]
pub(crate) struct Context<'p> {
    pub policy: &'p Policy,
    /// Where tables stand behind ONLY.
    pub only: &'p [Location],
}

/// One FROM and WHERE, inside of others.
pub(crate) struct Frame<'f> {
    pub context: Context<'f>,
    pub scans: Vec<Scan>,
    pub outer: Option<&'f Frame<'f>>,
    /// What is known of its rows.
    pub part: Part,
}

/// Conditions that hold for rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub facts: Vec<Fact>,
    pub equations: Vec<Equation>,
}

impl Known {
    fn and(&self, other: &Self) -> Self {
        let mut out = self.clone();
        out.facts.extend(other.facts.iter().cloned());
        out.equations.extend(other.equations.iter().cloned());
        out
    }

    /// Without those that look at these scans.
    fn without(&self, hidden: &BTreeSet<String>) -> Self {
        let seen = |t: &Term| t.iter().all(|c| !hidden.contains(&c.0));
        let facts = self.facts.iter().filter(|(a, b)| seen(a) && seen(b)).cloned().collect();
        let free = |e: &&Equation| !hidden.contains(&e.column.0) && e.needs.is_disjoint(hidden);
        Self { facts, equations: self.equations.iter().filter(free).cloned().collect() }
    }
}

/// Part of a FROM.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// Names of its scans.
    pub scans: BTreeSet<String>,
    /// Some of it is private.
    pub private: bool,
    /// Terms that are the unit of its rows.
    pub units: Vec<Term>,
    /// The unit can be NULL.
    pub nullable: bool,
    /// What holds for all of its rows.
    pub known: Known,
    /// What holds for some.
    pub conditional: Vec<Conditional>,
    /// Scans by whose key a row here is fixed.
    pub anchors: Vec<String>,
    /// Rows of one unit are at most so many.
    pub rows: Option<u64>,
}

/// What the rows of a part will meet.
#[derive(Clone, Default)]
struct Outside {
    scans: BTreeSet<String>,
    facts: Vec<Fact>,
    conditional: Vec<Conditional>,
}

enum Tree<'q> {
    Scan(String),
    Join { kind: Kind, left: Box<Tree<'q>>, right: Box<Tree<'q>>, on: Vec<&'q Expr> },
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Inner,
    Left,
    Full,
}

impl<'f> Frame<'f> {
    /// Reads FROM and WHERE.
    pub fn of(select: &Select, outer: Option<&'f Frame<'f>>, context: Context<'f>) -> Result<Self> {
        let [from] = select.from.as_slice() else {
            return refuse("a FROM that is not one tree of joins", select);
        };
        let mut frame = Self { context, scans: Vec::new(), outer, part: Part::default() };
        let tree = frame.tree(from)?;
        let mut on = Vec::new();
        conditions(&tree, &mut on);
        let filter = conjuncts(select.selection.as_ref());
        let known = frame.known(&filter);
        let outside = frame.outside();
        let mut part = frame.part(&tree, &known, &outside)?;
        part.known = part.known.and(&known);
        // NULL is nobody's.
        let present = |e: &&Expr| match e {
            Expr::IsNotNull(x) => term_of(x).is_some_and(|t| part.units.contains(&t)),
            _ => false,
        };
        part.nullable &= !filter.iter().any(|e| present(&strip(e)));
        frame.part = part;
        if frame.part.private && outer.is_some() {
            frame.tied()?;
        }
        let row = Allowed::default();
        for e in on {
            walk(e, &frame, row, &mut Vec::new())?;
        }
        for e in filter {
            walk(e, &frame, Allowed { subqueries: true, ..row }, &mut Vec::new())?;
        }
        Ok(frame)
    }

    /// A stage that reads one earlier stage.
    pub fn stage(scans: Vec<Scan>, context: Context<'f>) -> Self {
        Self { context, scans, outer: None, part: Part::default() }
    }

    /// A subquery over private rows is tied to the unit of the row around it.
    fn tied(&self) -> Result<()> {
        let mut around = self.outer;
        while let Some(frame) = around {
            if frame.part.private {
                let classes = self.classes();
                let met = |a: &Term| frame.part.units.iter().any(|b| classes.same(a, b));
                return match self.part.units.iter().any(met) {
                    true => Ok(()),
                    false => refuse(
                        "a subquery over private rows that is not tied to the unit around it",
                        self.names(),
                    ),
                };
            }
            around = frame.outer;
        }
        refuse("a subquery over private rows among public ones", self.names())
    }

    fn names(&self) -> String {
        self.scans.iter().map(|s| s.alias.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// What follows from all conditions that hold here.
    pub fn classes(&self) -> Classes {
        let mut outside = self.outside();
        outside.facts.extend(self.part.known.facts.iter().cloned());
        outside.conditional.extend(self.part.conditional.iter().cloned());
        self.close(&outside.facts, &outside.conditional)
    }

    fn close(&self, facts: &[Fact], conditional: &[Conditional]) -> Classes {
        let mut scans: Vec<&Scan> = self.scans.iter().collect();
        let mut outer = self.outer;
        while let Some(frame) = outer {
            scans.extend(&frame.scans);
            outer = frame.outer;
        }
        Classes::of(facts, conditional, &scans, self.context.policy)
    }

    fn outside(&self) -> Outside {
        let mut out = Outside::default();
        let mut outer = self.outer;
        while let Some(frame) = outer {
            out.facts.extend(frame.part.known.facts.iter().cloned());
            out.conditional.extend(frame.part.conditional.iter().cloned());
            outer = frame.outer;
        }
        out
    }

    /// A term that is the unit of every row.
    pub fn is_unit(&self, e: &Expr) -> bool {
        let Some(term) = term_of(e) else { return false };
        let classes = self.classes();
        self.part.units.iter().any(|u| classes.same(u, &term))
    }

    pub fn scan(&self, alias: &str) -> Option<&Scan> {
        let own = self.scans.iter().find(|s| s.alias == alias);
        own.or_else(|| self.outer.and_then(|f| f.scan(alias)))
    }

    /// What is known of a column; None where the policy does not show it.
    pub fn column(&self, col: &Col) -> Option<Found> {
        match &self.scan(&col.0)?.source {
            Source::Table(t) => table_column(self.context.policy, *t, &col.1),
            Source::Rows(rows) => rows.columns.iter().find(|(n, _)| *n == col.1).map(|(_, f)| f.clone()),
        }
    }

    fn add(&mut self, alias: String, source: Source) -> Result<Tree<'static>> {
        if self.scan(&alias).is_some() {
            return refuse("two scans of one name", alias);
        }
        self.scans.push(Scan { alias: alias.clone(), source });
        Ok(Tree::Scan(alias))
    }

    fn tree<'q>(&mut self, from: &'q TableWithJoins) -> Result<Tree<'q>> {
        let mut left = self.factor(&from.relation)?;
        for Join { relation, global, join_operator } in &from.joins {
            let right = self.factor(relation)?;
            let (kind, constraint) = match join_operator {
                JoinOperator::Join(c) | JoinOperator::Inner(c) => (Kind::Inner, c),
                JoinOperator::CrossJoin(c @ JoinConstraint::None) => (Kind::Inner, c),
                JoinOperator::Left(c) | JoinOperator::LeftOuter(c) => (Kind::Left, c),
                JoinOperator::FullOuter(c) => (Kind::Full, c),
                _ => return refuse("a join of an unknown kind", relation),
            };
            let on = match (constraint, join_operator) {
                (JoinConstraint::On(e), _) => conjuncts(Some(e)),
                (JoinConstraint::None, JoinOperator::CrossJoin(_)) => Vec::new(),
                _ => return refuse("a join without ON", relation),
            };
            if *global {
                return refuse("a join of an unknown kind", relation);
            }
            left = Tree::Join { kind, left: Box::new(left), right: Box::new(right), on };
        }
        Ok(left)
    }

    fn factor<'q>(&mut self, factor: &'q TableFactor) -> Result<Tree<'q>> {
        match factor {
            TableFactor::Table { name, alias, .. } => {
                let table = table_of(factor, self.context)?;
                let Some((alias, columns)) = alias_of(alias.as_ref())?.filter(|a| a.1.is_empty()) else {
                    return refuse("a table without a name of its own", name);
                };
                debug_assert!(columns.is_empty());
                self.add(alias, Source::Table(table))
            }
            TableFactor::Derived { lateral: false, subquery, alias, sample: None } => {
                let mut rows = set(plain_query(subquery)?, self.context)?;
                let Some((alias, names)) = alias_of(alias.as_ref())? else {
                    return refuse("a derived table without a name", subquery);
                };
                if names.len() != rows.columns.len() {
                    return refuse("a derived table without names of columns", subquery);
                }
                rows.columns = names.into_iter().zip(rows.columns).map(|(n, (_, f))| (n, f)).collect();
                self.add(alias, Source::Rows(Rc::new(rows)))
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => self.tree(table_with_joins),
            _ => refuse("something in FROM that is no table", factor),
        }
    }

    /// Facts and equations among conditions.
    fn known(&self, conditions: &[&Expr]) -> Known {
        let mut out = Known::default();
        for e in conditions {
            let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = strip(e) else { continue };
            let ((l, left_plain), (r, right_plain)) = (uncollated(left), uncollated(right));
            // Walked first: so they are not too deep, and hold no subquery.
            let plain = |e: &Expr| walk(e, self, Allowed::default(), &mut Vec::new()).is_ok();
            if !(plain(l) && plain(r)) {
                continue;
            }
            let ty = |e: &Expr| type_of(e, self, self.context.policy);
            if !ty(l).compares_exactly(&ty(r)) {
                continue;
            }
            let same = |term: &Term| {
                let found = |c: &Col| self.column(c).is_some_and(|f| f.deterministic);
                !(left_plain && right_plain) || term.iter().all(found)
            };
            if let (Some(a), Some(b)) = (term_of(l), term_of(r))
                && same(&a)
                && same(&b)
            {
                out.facts.push((a, b));
            }
            for (key, other) in [(l, r), (r, l)] {
                let mut seen = Vec::new();
                let Some(column) = column_of(key).filter(|c| same(&vec![c.clone()])) else { continue };
                if walk(other, self, Allowed::default(), &mut seen).is_ok() {
                    out.equations.push(Equation { column, needs: seen.into_iter().map(|c| c.0).collect() });
                }
            }
        }
        out
    }

    fn part(&self, tree: &Tree<'_>, known: &Known, outside: &Outside) -> Result<Part> {
        let (mut members, mut on) = (Vec::new(), Vec::new());
        gather(tree, &mut members, &mut on);
        let own = self.known(&on);
        let above = known.and(&own);
        let mut parts = Vec::with_capacity(members.len());
        for m in members {
            parts.push(match m {
                Tree::Scan(alias) => self.leaf(alias)?,
                Tree::Join { kind: Kind::Full, left, right, on } => self.full(left, right, on)?,
                Tree::Join { left, right, on, .. } => self.left(left, right, on, &above, outside)?,
            });
        }
        let all = parts.iter().fold(above, |k, p| k.and(&p.known));
        let conditional: Vec<Conditional> = parts.iter().flat_map(|p| &p.conditional).cloned().collect();
        let facts: Vec<Fact> = all.facts.iter().chain(&outside.facts).cloned().collect();
        let waiting: Vec<Conditional> = conditional.iter().chain(&outside.conditional).cloned().collect();
        let classes = self.close(&facts, &waiting);
        let mut out = Part { conditional, ..Part::default() };
        for p in &parts {
            if p.private && out.private && !met(&classes, &out.units, &p.units) {
                return refuse("private rows of different units are joined", format!("{:?}", p.scans));
            }
            out.nullable =
                p.private && p.nullable && (!out.private || out.nullable) || !p.private && out.nullable;
            out.private |= p.private;
            out.units.extend(p.units.iter().cloned());
            out.scans.extend(p.scans.iter().cloned());
        }
        // Equality is strict.
        let unit = |t: &Term| out.units.iter().any(|u| classes.same(u, t));
        let column = |t: &Term| t.iter().all(|c| !c.1.is_empty());
        out.nullable &= !all.facts.iter().any(|(a, b)| unit(a) && column(a) && unit(b) && column(b));
        (out.anchors, out.rows) = island_rows(self, &parts, &classes, &all.equations);
        out.known = parts.iter().fold(own, |k, p| k.and(&p.known));
        Ok(out)
    }

    fn leaf(&self, alias: &str) -> Result<Part> {
        let Some(scan) = self.scans.iter().find(|s| s.alias == alias) else {
            return refuse("no such scan", alias);
        };
        let mut out =
            Part { scans: [alias.to_owned()].into(), anchors: vec![alias.to_owned()], ..Part::default() };
        match &scan.source {
            Source::Table(t) => {
                let Some(table) = self.context.policy.tables.get(*t) else {
                    return refuse("no such table", alias);
                };
                out.private = table.privacy != Privacy::Public;
                if out.private {
                    out.units.push(unit_of(alias, table));
                    out.nullable = !matches!(table.privacy, Privacy::Private { nullable: false, .. });
                    out.rows = table.proven_rows.map(u64::from);
                }
            }
            Source::Rows(rows) => {
                out.private = !rows.units.is_empty();
                let names = rows.units.iter().filter_map(|i| rows.columns.get(*i));
                out.units = names.map(|(n, _)| vec![(alias.to_owned(), n.clone())]).collect();
                // They are equal in every row.
                let pairs = out.units.iter().zip(out.units.iter().skip(1));
                out.known.facts = pairs.map(|(a, b)| (a.clone(), b.clone())).collect();
                (out.nullable, out.rows) = (rows.nullable, rows.bound);
            }
        }
        Ok(out)
    }

    /// LEFT JOIN: what is on the right must be tied to the unit of the row that stays.
    fn left(
        &self,
        l: &Tree<'_>,
        r: &Tree<'_>,
        on: &[&Expr],
        known: &Known,
        outside: &Outside,
    ) -> Result<Part> {
        let mut names = Vec::new();
        aliases(l, &mut names);
        let left: BTreeSet<String> = names.into_iter().collect();
        let beside = |s: &&Scan| !left.contains(&s.alias) && !outside.scans.contains(&s.alias);
        let hidden: BTreeSet<String> = self.scans.iter().filter(beside).map(|s| s.alias.clone()).collect();
        let l = self.part(l, &known.without(&hidden), outside)?;
        let on = self.known(on);
        let mut around = outside.clone();
        around.scans.extend(left);
        around.facts.extend(l.known.facts.iter().cloned());
        around.conditional.extend(l.conditional.iter().cloned());
        let r = self.part(r, &on, &around)?;
        let inner = on.and(&r.known);
        around.facts.extend(inner.facts.iter().cloned());
        around.conditional.extend(r.conditional.iter().cloned());
        let classes = self.close(&around.facts, &around.conditional);
        if r.private && !l.private {
            return refuse("a LEFT JOIN of public rows with private ones", format!("{:?}", r.scans));
        }
        if r.private && !met(&classes, &l.units, &r.units) {
            return refuse("private rows of different units in a LEFT JOIN", format!("{:?}", r.scans));
        }
        let (anchors, rows) = left_rows(self, &l, &r, &classes, &inner.equations);
        let mut conditional = l.conditional;
        conditional.push(Conditional { scans: r.scans.clone(), facts: inner.facts });
        conditional.extend(r.conditional);
        let scans = l.scans.iter().chain(&r.scans).cloned().collect();
        Ok(Part { scans, conditional, anchors, rows, ..l })
    }

    /// FULL JOIN: the unit is that of the side that is there.
    fn full(&self, l: &Tree<'_>, r: &Tree<'_>, on: &[&Expr]) -> Result<Part> {
        let none = Known::default();
        let (l, r) = (self.part(l, &none, &Outside::default())?, self.part(r, &none, &Outside::default())?);
        let all = self.known(on).and(&l.known).and(&r.known);
        let waiting: Vec<Conditional> = l.conditional.iter().chain(&r.conditional).cloned().collect();
        let classes = self.close(&all.facts, &waiting);
        if l.private != r.private || (l.private && !met(&classes, &l.units, &r.units)) {
            return refuse("private rows of different units in a FULL JOIN", format!("{:?}", r.scans));
        }
        let real = |t: &&Term| t.iter().all(|c| !c.1.is_empty());
        let mut units: Vec<Term> = Vec::new();
        for a in l.units.iter().filter(real).take(8) {
            for b in r.units.iter().filter(real).take(8) {
                units.push(a.iter().chain(b).cloned().collect());
            }
        }
        let side = |p: &Part| Conditional { scans: p.scans.clone(), facts: p.known.facts.clone() };
        let mut conditional = vec![side(&l), side(&r)];
        conditional.extend(waiting);
        Ok(Part {
            scans: l.scans.iter().chain(&r.scans).cloned().collect(),
            private: l.private,
            units,
            nullable: l.nullable || r.nullable,
            known: none,
            conditional,
            anchors: Vec::new(),
            rows: full_rows(l.rows, r.rows),
        })
    }
}

fn met(classes: &Classes, a: &[Term], b: &[Term]) -> bool {
    a.iter().any(|x| b.iter().any(|y| classes.same(x, y)))
}

/// Without brackets.
pub(crate) fn strip(e: &Expr) -> &Expr {
    let mut e = e;
    while let Expr::Nested(x) = e {
        e = x;
    }
    e
}

/// Without the one collation that may be written, and whether it was not there.
pub(crate) fn uncollated(e: &Expr) -> (&Expr, bool) {
    match strip(e) {
        Expr::Collate { expr, .. } => (strip(expr), false),
        e => (e, true),
    }
}

fn gather<'a, 'q>(tree: &'a Tree<'q>, members: &mut Vec<&'a Tree<'q>>, all: &mut Vec<&'q Expr>) {
    match tree {
        Tree::Join { kind: Kind::Inner, left, right, on } => {
            gather(left, members, all);
            gather(right, members, all);
            all.extend(on);
        }
        other => members.push(other),
    }
}

fn conditions<'q>(tree: &Tree<'q>, all: &mut Vec<&'q Expr>) {
    if let Tree::Join { left, right, on, .. } = tree {
        conditions(left, all);
        conditions(right, all);
        all.extend(on);
    }
}

fn aliases(tree: &Tree<'_>, out: &mut Vec<String>) {
    match tree {
        Tree::Scan(alias) => out.push(alias.clone()),
        Tree::Join { left, right, .. } => {
            aliases(left, out);
            aliases(right, out);
        }
    }
}

/// The name behind AS, and names of columns.
pub(crate) fn alias_of(alias: Option<&TableAlias>) -> Result<Option<(String, Vec<String>)>> {
    let Some(TableAlias { explicit: _, name, columns, at }) = alias else { return Ok(None) };
    if at.is_some() || columns.iter().any(|c| c.data_type.is_some()) {
        return refuse("a name of an unknown kind", name);
    }
    Ok(Some((ident(name)?, columns.iter().map(|c| ident(&c.name)).collect::<Result<_>>()?)))
}

/// The table of the policy that is scanned, with ONLY where the policy says so.
pub(crate) fn table_of(factor: &TableFactor, context: Context<'_>) -> Result<usize> {
    let TableFactor::Table {
        name,
        alias: _,
        args: None,
        with_hints,
        version: None,
        with_ordinality: false,
        partitions,
        json_path: None,
        sample: None,
        index_hints,
    } = factor
    else {
        return refuse("something in FROM that is no plain table", factor);
    };
    if !(with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty()) {
        return refuse("something in FROM that is no plain table", factor);
    }
    let named = parts(name)?;
    let found = match named.as_slice() {
        [schema, table] => context.policy.tables.iter().position(|t| t.schema == *schema && t.name == *table),
        _ => None,
    };
    let Some((at, table)) = found.and_then(|i| Some((i, context.policy.tables.get(i)?))) else {
        return refuse("a table that the policy does not name", name);
    };
    let only =
        name.0.first().and_then(|p| p.as_ident()).is_some_and(|i| context.only.contains(&i.span.start));
    if table.only != only && table.privacy != Privacy::Public {
        return refuse("a private table with inheritance children is read with ONLY, others without", name);
    }
    Ok(at)
}

/// A column of a table that the policy shows, or that leads to the unit.
fn table_column(policy: &Policy, at: usize, name: &str) -> Option<Found> {
    let table = policy.tables.get(at)?;
    if let Some(c) = table.column(name) {
        let scaled = matches!(c.ty, SqlType::Numeric { scale: Some(_) });
        return Some(Found { deterministic: c.deterministic, scaled, ..Found::of(Ty::of(&c.ty)) });
    }
    let leads = |columns: &[String], types: &[SqlType]| {
        columns.iter().zip(types).find(|(c, _)| *c == name).map(|(_, t)| Found::of(Ty::of(t)))
    };
    match &table.privacy {
        Privacy::Private { unit, ty, .. } if unit == name => return Some(Found::of(Ty::of(ty))),
        Privacy::Path(path) => {
            if let Some(found) = leads(&path.columns, &path.types) {
                return Some(found);
            }
        }
        _ => {}
    }
    let paths = policy.tables.iter().filter_map(|t| match &t.privacy {
        Privacy::Path(path) if path.table == at => leads(&path.key, &path.types),
        _ => None,
    });
    let key = || table.keys.iter().flatten().any(|c| c == name).then(|| Found::of(Ty::Unknown));
    paths.into_iter().next().or_else(key)
}

/// A derived table: branches of one kind, with the unit at the same place in each.
fn set(body: &SetExpr, context: Context<'_>) -> Result<Rows> {
    match body {
        SetExpr::Query(query) => set(plain_query(query)?, context),
        SetExpr::Select(select) => branch(select, context),
        SetExpr::SetOperation { left, op, set_quantifier, right } => {
            if !matches!(set_quantifier, SetQuantifier::All | SetQuantifier::Distinct | SetQuantifier::None) {
                return refuse("a set operation of an unknown kind", set_quantifier);
            }
            let (l, r) = (set(left, context)?, set(right, context)?);
            if l.columns.len() != r.columns.len() {
                return refuse("branches of different width", body);
            }
            let bound = match op {
                SetOperator::Union => l.bound.zip(r.bound).and_then(|(a, b)| a.checked_add(b)),
                SetOperator::Intersect => l.bound.into_iter().chain(r.bound).min(),
                SetOperator::Except => l.bound,
                SetOperator::Minus => return refuse("a set operation of an unknown kind", op),
            };
            let exact = |i: &usize| match (l.columns.get(*i), r.columns.get(*i)) {
                (Some((_, a)), Some((_, b))) => a.ty.compares_exactly(&b.ty),
                _ => false,
            };
            let units: Vec<usize> =
                l.units.iter().copied().filter(|i| r.units.contains(i)).filter(exact).collect();
            if units.is_empty() && !(l.units.is_empty() && r.units.is_empty()) {
                return refuse("branches that do not have the unit at the same place", body);
            }
            let both = l.columns.into_iter().zip(r.columns);
            let columns = both.map(|((n, a), (_, b))| {
                let deterministic = a.deterministic && b.deterministic;
                (n, Found { deterministic, scaled: false, count: false, ty: a.ty.or(b.ty) })
            });
            Ok(Rows { columns: columns.collect(), units, nullable: l.nullable || r.nullable, bound })
        }
        _ => refuse("a derived table of an unknown kind", body),
    }
}

fn branch(select: &Select, context: Context<'_>) -> Result<Rows> {
    plain_select(select)?;
    if !matches!(&select.group_by, GroupByExpr::Expressions(g, m) if g.is_empty() && m.is_empty()) {
        return refuse("a derived table that groups", select);
    }
    let frame = Frame::of(select, None, context)?;
    let mut rows = Rows { nullable: frame.part.nullable, bound: frame.part.rows, ..Rows::default() };
    for (i, item) in select.projection.iter().enumerate() {
        let (SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. }) = item else {
            return refuse("an item of an unknown kind", item);
        };
        let mut seen = Vec::new();
        walk(e, &frame, Allowed { subqueries: true, ..Allowed::default() }, &mut seen)?;
        let deterministic = seen.iter().all(|c| frame.column(c).is_some_and(|f| f.deterministic));
        let ty = type_of(e, &frame, context.policy);
        if frame.part.private && frame.is_unit(uncollated(e).0) {
            rows.units.push(i);
        }
        rows.columns.push((String::new(), Found { deterministic, ..Found::of(ty) }));
    }
    if frame.part.private && rows.units.is_empty() {
        return refuse("a branch over private rows without the unit among its columns", select);
    }
    Ok(rows)
}
