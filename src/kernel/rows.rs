//! FROM and WHERE over private rows: whether every row that comes out is of one unit and looks at that unit's rows and
//! at public ones alone, and how many rows a unit has, as far as keys prove it. The latter errs towards more.
//!
//! Every join with private rows must say in its conditions that the units of both sides are equal, or meet by a path; what
//! an outer join leaves out is tied to the unit of the row that stays, and a subquery to that of the row around it.

use super::facts::*;
use super::types::NUMERIC;
use grammar::tree::*;
use grammar::{Result, ensure, refuse};
use policy::{Policy, Privacy, Table};
use schema::SqlType;
use std::collections::{BTreeMap, BTreeSet};

impl Rows {
    /// Under the names that a scan gives to its columns.
    fn named(mut self, scan: &Scan) -> Result<Source> {
        let all = scan.columns.len() == self.columns.len();
        ensure(all, "a derived table without names of columns", scan)?;
        self.columns.iter_mut().zip(&scan.columns).for_each(|(c, n)| c.0.clone_from(n));
        Ok(Source::Rows(self))
    }
}

impl Part {
    /// Whether these are the same in all rows of a unit: they look at settled scans alone.
    pub fn settles(&self, items: &[Item]) -> bool {
        let settled = |e: &Expr| e.scans().is_some_and(|s| s.iter().all(|s| self.settled.contains(s)));
        items.iter().all(|(e, _)| settled(e))
    }

    /// Public rows that stand among others are of the unit of these.
    fn within(&self, around: &Self) -> Self {
        let units = if self.private { &self.units } else { &around.units };
        Self { units: units.clone(), ..self.clone() }
    }
}

impl<'p> Scans<'p> {
    pub fn new(policy: &'p Policy) -> Self {
        Self { policy, all: BTreeMap::new(), apart: false }
    }

    /// Scans of a domain: the form of its values follows from public rows, and a plan for them.
    pub fn of_domain(policy: &'p Policy) -> Self {
        Self { apart: true, ..Self::new(policy) }
    }

    /// The form of one of several that are equal.
    pub fn merged(&self, column: &Column) -> Form {
        if self.apart { column.form } else { column.merged() }
    }

    pub fn add(&mut self, name: &str, source: Source) -> Result<()> {
        ensure(self.all.insert(name.to_owned(), source).is_none(), "two scans of one name", name)
    }

    fn table(&self, scan: &str) -> Option<(usize, &'p Table)> {
        match self.all.get(scan)? {
            Source::Table(t) => Some((*t, self.policy.tables.get(*t)?)),
            Source::Rows(_) => None,
        }
    }

    /// Whether it is a column of a table.
    pub fn is_stored(&self, e: &Expr) -> bool {
        e.column().is_some_and(|(scan, _)| self.table(scan).is_some())
    }

    /// Facts about a column; None where the policy does not show it.
    pub fn column(&self, (scan, name): &Col) -> Option<Column> {
        match self.all.get(scan)? {
            Source::Table(t) => table_column(self.policy, *t, name),
            Source::Rows(rows) => rows.columns.iter().find(|(n, _)| n == name).map(|(_, c)| c.clone()),
        }
    }

    /// Refuses what an expression may not look at. Subqueries may stand where it is known which rows are around them.
    pub fn walk(&mut self, e: &Expr, around: Option<&Part>) -> Result<()> {
        self.looks(e, around)?;
        self.form(e).map(drop)
    }

    fn looks(&mut self, e: &Expr, around: Option<&Part>) -> Result<()> {
        self.means_one_thing(e)?;
        match e {
            Expr::Column(c) => ensure(self.column(c).is_some(), "a column that the policy does not show", c),
            Expr::Cast(x, _) => self.looks(x, around),
            Expr::Call(name, args) if name == "CASE" => args.chunks(2).try_for_each(|pair| match pair {
                [when, then] => {
                    self.looks(when, around)?;
                    self.looks(super::clocks::guarded(when, then).unwrap_or(then), around)
                }
                rest => rest.iter().try_for_each(|e| self.looks(e, around)),
            }),
            Expr::Call(name, args) => {
                let single = !AGGREGATES.iter().chain(WINDOWS).any(|n| n == name);
                ensure(single, "a call that has no place here", e)?;
                args.iter().try_for_each(|a| self.looks(a, around))
            }
            Expr::Rows(select) => self.subquery(select, around),
            Expr::Number(_) | Expr::Text(_) | Expr::Bool(_) | Expr::Null => Ok(()),
        }
    }

    fn subquery(&mut self, select: &Select, around: Option<&Part>) -> Result<()> {
        let ([(item, _)], true, Some(around)) = (select.items.as_slice(), select.is_plain(), around) else {
            return refuse("a subquery that has no place here", select);
        };
        let outer: BTreeSet<String> = self.all.keys().cloned().collect();
        let inner = self.frame(select, around)?;
        let tied = !inner.private || inner.facts.meet(&inner.units, &around.units);
        ensure(tied, "a subquery over private rows that is not tied to the unit around it", select)?;
        self.walk(item, Some(&inner.within(around)))?;
        // Another subquery, which does not see these, may have scans of the same names.
        self.all.retain(|name, _| outer.contains(name));
        Ok(())
    }

    /// Reads FROM and WHERE, among the rows of `around`.
    pub fn frame(&mut self, select: &Select, around: &Part) -> Result<Part> {
        select.from.iter().try_for_each(|tree| self.enter(tree))?;
        let filter = self.facts(&select.filter);
        let known = self.closed(filter.clone().and(&around.facts));
        let mut part = select.from.as_ref().map_or(Ok(Part::default()), |tree| self.part(tree, &known))?;
        part.facts = self.closed(part.facts.and(&known));
        // NULL is nobody's.
        let present = |e: &Expr| matches!(e.call("IS NOT NULL"), Some([x]) if self.is_unit(x, &part));
        let nullable = part.nullable && !select.filter.iter().any(present);
        let within = part.within(around);
        select.filter.iter().try_for_each(|e| self.walk(e, Some(&within)))?;
        Ok(Part { nullable, ..part })
    }

    /// Whether an expression is the unit of every row.
    pub fn is_unit(&self, e: &Expr, part: &Part) -> bool {
        part.private && term_of(e.bare()).is_some_and(|t| part.facts.meet(&[t], &part.units))
    }

    /// Learns the scans of a FROM, and refuses conditions of its joins that look at more than their rows.
    fn enter(&mut self, tree: &Tree) -> Result<()> {
        match tree {
            Tree::Scan(scan) => {
                let source = match &scan.of {
                    Relation::Set(set) => self.set(set)?.named(scan)?,
                    Relation::Series(ends) => self.series(ends)?.named(scan)?,
                    of => {
                        ensure(scan.columns.is_empty(), "a table whose columns have other names", scan)?;
                        Source::Table(table_of(of, self.policy)?)
                    }
                };
                self.add(&scan.name, source)
            }
            Tree::Join(_, left, right, on) => {
                self.enter(left)?;
                self.enter(right)?;
                on.iter().try_for_each(|e| self.walk(e, None))
            }
        }
    }

    /// What conditions say of terms.
    fn facts<'e>(&self, conditions: impl IntoIterator<Item = &'e Expr>) -> Facts {
        let mut out = Facts::default();
        // Texts of values of char(n) are the same where these are equal, and there alone.
        let own = |e: &'e Expr| e.text_of().filter(|x| self.type_of(x) == Some(SqlType::Bpchar)).unwrap_or(e);
        for e in conditions {
            let Some([l, r]) = e.call("=") else { continue };
            let (a, b) = (l.bare(), r.bare());
            // One side that has a collation of its own gives it to both.
            let deterministic = (a, b) != (l, r) || self.is_deterministic(a) && self.is_deterministic(b);
            let exact = deterministic && compared_exactly(self.type_of(a).as_ref(), self.type_of(b).as_ref());
            let (true, a, b) = (exact, own(a), own(b)) else { continue };
            out.equal.extend(term_of(a).zip(term_of(b)));
            let of = |x: &Expr, y: &Expr| x.column().cloned().zip(y.scans());
            out.computed.extend(of(a, b).into_iter().chain(of(b, a)));
        }
        out
    }

    fn closed(&self, facts: Facts) -> Facts {
        let tables = self.all.keys().filter_map(|s| self.table(s).map(|(at, t)| (s.as_str(), at, t)));
        facts.with_paths(&tables.collect::<Vec<_>>())
    }

    /// `known`: what holds for all rows that count.
    fn part(&self, tree: &Tree, known: &Facts) -> Result<Part> {
        match tree {
            Tree::Scan(scan) => Ok(self.leaf(&scan.name, known)),
            Tree::Join(Kind::Left, l, r, on) => self.left(l, r, on, known),
            Tree::Join(Kind::Full, l, r, on) => self.full(l, r, on),
            Tree::Join(Kind::Inner, ..) => self.inner(tree, known),
        }
    }

    fn leaf(&self, name: &str, known: &Facts) -> Part {
        let name = name.to_owned();
        let mut out = Part { scans: [name.clone()].into(), anchors: vec![name.clone()], ..Part::default() };
        if let Some(Source::Rows(rows)) = self.all.get(&name) {
            let names = rows.units.iter().filter_map(|i| rows.columns.get(*i));
            out.units = names.map(|(n, _)| vec![(name.clone(), n.clone())]).collect();
            (out.nullable, out.rows) = (rows.nullable, rows.bound);
        } else if let Some((_, table)) = self.table(&name).filter(|(_, t)| t.privacy != Privacy::Public) {
            out.nullable = !matches!(table.privacy, Privacy::Private { nullable: false, .. });
            (out.units, out.rows) = (vec![unit_of(&name, table)], table.proven_rows.map(u64::from));
        }
        out.private = !out.units.is_empty();
        // A constant is its key.
        if self.is_fixed(&out, &BTreeSet::new(), known) {
            out.rows = Some(1);
        }
        out.settled.extend((out.private && out.rows == Some(1)).then_some(name));
        out
    }

    /// Inner joins, all together.
    fn inner(&self, tree: &Tree, known: &Facts) -> Result<Part> {
        let (members, on) = sides(tree, |kind| kind == Kind::Inner);
        let own = self.facts(on);
        let known = self.closed(known.clone().and(&own));
        let parts: Vec<Part> = members.into_iter().map(|m| self.part(m, &known)).collect::<Result<_>>()?;
        let all = self.closed(parts.iter().fold(known, |all, p| all.and(&p.facts)));
        let mut out = Part { facts: parts.iter().fold(own, |all, p| all.and(&p.facts)), ..Part::default() };
        for p in &parts {
            let both = p.private && out.private;
            let one_unit = !both || all.meet(&out.units, &p.units);
            ensure(one_unit, "private rows of different units are joined", &p.scans)?;
            // Equality is strict.
            out.nullable = p.nullable && out.nullable || !both && (p.nullable || out.nullable);
            out.private |= p.private;
            out.units.extend(p.units.iter().cloned());
            out.scans.extend(p.scans.iter().cloned());
            out.settled.extend(p.settled.iter().cloned());
        }
        let is_next = |p: &&Part, s: &BTreeSet<_>| !p.scans.is_subset(s) && self.is_fixed(p, s, &all);
        while let Some(p) = parts.iter().find(|p| is_next(p, &out.settled)) {
            out.settled.extend(p.scans.iter().cloned());
        }
        for start in &parts {
            let (mut fixed, mut rows, mut alone) = (start.scans.clone(), start.rows, true);
            let mut private = start.private;
            let mut left: Vec<&Part> = parts.iter().filter(|p| p.scans != start.scans).collect();
            while !left.is_empty() {
                // All that is private here is of one unit.
                let only = |p: &Part| private && p.private && p.rows == Some(1);
                let found = left.iter().position(|p| only(p) || self.is_fixed(p, &fixed, &all));
                let fewest =
                    (0..left.len()).min_by_key(|i| left.get(*i).and_then(|p| p.rows).unwrap_or(u64::MAX));
                let next = left.swap_remove(found.or(fewest).unwrap_or_default());
                if found.is_none() {
                    (alone, rows) = (false, times(rows, next.rows));
                }
                fixed.extend(next.scans.iter().cloned());
                private |= next.private;
            }
            if alone {
                out.anchors.extend(start.anchors.iter().cloned());
            }
            out.rows = [out.rows, rows].into_iter().flatten().min();
        }
        Ok(out)
    }

    /// Whether each combination of rows of `given` meets at most one row of the part: a key of it is equal to what is given.
    fn is_fixed(&self, part: &Part, given: &BTreeSet<String>, facts: &Facts) -> bool {
        part.anchors.iter().any(|anchor| {
            let fixed = |name: &String| facts.is_fixed(&vec![(anchor.clone(), name.clone())], given);
            let keys = self.table(anchor).map(|(_, t)| t.keys.as_slice()).unwrap_or_default();
            keys.iter().any(|key| !key.is_empty() && key.iter().all(fixed))
        })
    }

    /// What is on the right must be tied to the unit of the row that stays: conditions of WHERE come too late for that.
    fn left(&self, l: &Tree, r: &Tree, on: &[Expr], known: &Facts) -> Result<Part> {
        let name = |side: &Tree| if let Tree::Scan(s) = side { Some(s.name.clone()) } else { None };
        let scans = sides(l, |_| true).0.into_iter().filter_map(name).collect();
        let l = self.part(l, &known.only(&scans))?;
        let around = self.closed(l.facts.clone().and(&self.facts(on)));
        let r = self.part(r, &around)?;
        let all = self.closed(around.and(&r.facts));
        let one_unit = !r.private || l.private && all.meet(&l.units, &r.units);
        ensure(one_unit, "private rows of different units in a LEFT JOIN", &r.scans)?;
        let scans = l.scans.iter().chain(&r.scans).cloned().collect();
        if r.private && r.rows == Some(1) || self.is_fixed(&r, &l.scans, &all) {
            return Ok(Part { scans, ..l });
        }
        // Each row has its partners, or is alone.
        let mut rows = times(l.rows, r.rows.map(|n| n.max(1))).filter(|_| r.private);
        if self.is_fixed(&l, &r.scans, &all) {
            rows = rows.map(|n| n.min(plus(l.rows, r.rows).unwrap_or(n)));
        }
        Ok(Part { scans, rows, anchors: Vec::new(), ..l })
    }

    /// The unit is that of the side that is there. With some rows in pairs and others alone, the most are at a corner.
    fn full(&self, l: &Tree, r: &Tree, on: &[Expr]) -> Result<Part> {
        let (l, r) = (self.part(l, &Facts::default())?, self.part(r, &Facts::default())?);
        let all = self.closed(self.facts(on).and(&l.facts).and(&r.facts));
        let one_unit = l.private == r.private && (!l.private || all.meet(&l.units, &r.units));
        ensure(one_unit, "private rows of different units in a FULL JOIN", &r.scans)?;
        let real = |t: &&Term| t.iter().all(|c| !c.1.is_empty());
        let pair = |a: &Term| {
            r.units.iter().filter(real).map(|b| [a.clone(), b.clone()].concat()).collect::<Vec<_>>()
        };
        Ok(Part {
            units: l.units.iter().filter(real).flat_map(pair).collect(),
            private: l.private,
            nullable: l.nullable || r.nullable,
            rows: times(l.rows, r.rows).max(plus(l.rows, r.rows)).filter(|_| times(l.rows, r.rows).is_some()),
            scans: l.scans.into_iter().chain(r.scans).collect(),
            ..Part::default()
        })
    }

    /// A column of steps. Of moments they would be those of a clock.
    fn series(&self, ends: &[Expr]) -> Result<Rows> {
        let types: Vec<_> = ends.iter().map(|e| Scans::new(self.policy).type_of(e)).collect();
        let local = types == [Some(SqlType::Timestamp), Some(SqlType::Timestamp), Some(SqlType::Interval)];
        let numbers = types.iter().all(|t| t.as_ref().is_some_and(is_exact));
        ensure(local || numbers, "a series of moments whose steps are the session's", ends)?;
        let mut rows = self.constants(ends)?;
        rows.columns.iter_mut().filter(|_| local).for_each(|(_, c)| c.ty = Some(SqlType::Timestamp));
        Ok(rows)
    }

    /// A column of constants.
    fn constants(&self, list: &[Expr]) -> Result<Rows> {
        let mut none = Scans::new(self.policy);
        list.iter().try_for_each(|e| none.walk(e, None))?;
        // Other types beside it would change that of all.
        let types: Vec<_> = list.iter().map(|e| none.type_of(e)).collect();
        let ty = types.first().filter(|ty| types.iter().all(|t| t == *ty)).cloned().flatten();
        Ok(Rows { columns: vec![(String::new(), Column::of(ty))], ..Rows::default() })
    }

    /// Branches of one kind, with the unit at the same place in each, or of public rows alone.
    pub fn set(&mut self, set: &Set) -> Result<Rows> {
        let (op, list) = match set {
            Set::Select(select) => return self.branch(select),
            Set::Op(op, list) => (op, list),
            Set::Values(list) => return self.constants(list),
        };
        let mut all = list.iter().map(|s| self.set(s)).collect::<Result<Vec<_>>>()?.into_iter();
        let Some(mut out) = all.next() else { return refuse("no branches", set) };
        for r in all {
            let private = !(out.units.is_empty() && r.units.is_empty());
            out.bound = match op {
                op if op.starts_with("UNION") => plus(out.bound, r.bound),
                op if op.starts_with("INTERSECT") => out.bound.into_iter().chain(r.bound).min(),
                _ => out.bound,
            };
            out.nullable |= r.nullable;
            let mut exact = Vec::new();
            for ((_, a), (_, b)) in out.columns.iter_mut().zip(&r.columns) {
                let zoned = [&*a, b].iter().any(|c| c.ty == Some(SqlType::Timestamptz));
                let alike = a.ty == b.ty || !zoned;
                ensure(alike, "branches of which one has moments, and the other what clocks show", set)?;
                let same = compared_exactly(a.ty.as_ref(), b.ty.as_ref());
                let deterministic = a.deterministic && b.deterministic;
                exact.push(same && deterministic);
                let numeric = (same && a.ty.as_ref().is_some_and(is_exact)).then_some(NUMERIC);
                let ty = if a.ty == b.ty { a.ty.take() } else { numeric };
                let (form, trimmed) = (a.form.max(b.form), a.trimmed && b.trimmed);
                *a = Column { deterministic, form, trimmed, ..Column::of(ty) };
            }
            out.units.retain(|i| r.units.contains(i) && exact.get(*i) == Some(&true));
            let one_unit = out.columns.len() == r.columns.len() && (!private || !out.units.is_empty());
            ensure(one_unit, "branches that do not have the unit at the same place", set)?;
        }
        if *op != "UNION ALL" {
            out.columns.iter_mut().for_each(|(_, c)| c.form = self.merged(c));
        }
        Ok(out)
    }

    /// A SELECT of rows; or, where the unit is among the keys, of groups, of which each is of one unit.
    fn branch(&mut self, select: &Select) -> Result<Rows> {
        let part = self.frame(select, &Part::default())?;
        let bound = if select.groups == 1 { Some(1) } else { part.rows };
        let mut out = Rows { nullable: part.nullable, bound, ..Rows::default() };
        for (i, (e, _)) in select.items.iter().enumerate() {
            let looked_at = self.over_several(e, i >= select.groups && select.groups > 0, &part)?;
            looked_at.iter().try_for_each(|e| self.walk(e, Some(&part)))?;
            if self.is_unit(e, &part) {
                out.units.push(i);
            }
        }
        for ((e, _), form) in select.items.iter().zip(self.forms(select, &part)?) {
            out.columns.push((String::new(), Column { form, ..self.known(e) }));
        }
        let of_units = !out.units.is_empty() && !select.distinct;
        let holds = if part.private { of_units } else { select.groups == 0 };
        ensure(holds, "a branch that groups public rows, or over private rows without their unit", select)?;
        Ok(out)
    }

    /// What an item looks at: aggregates of groups at rows of one unit, which is among the keys, windows by their partition.
    fn over_several<'e>(&self, e: &'e Expr, grouped: bool, part: &Part) -> Result<Vec<&'e Expr>> {
        let bare = uncast(e);
        let args = |call: &'e Expr, lists: &[&[&str]]| match call {
            Expr::Call(name, args) if lists.concat().contains(&name.as_str()) => Some(args.as_slice()),
            _ => None,
        };
        match (grouped, bare.call("OVER")) {
            (false, None) => Some(vec![e]),
            (true, None) => args(bare, &[AGGREGATES]).map(|args| args.iter().collect()),
            (false, Some([called, by, rest @ ..])) if self.is_unit(by, part) => {
                let called = called.call("ROWS").and_then(<[Expr]>::first).unwrap_or(called);
                Some(
                    args(called, &[AGGREGATES, WINDOWS])
                        .unwrap_or_default()
                        .iter()
                        .chain([by])
                        .chain(rest)
                        .collect(),
                )
            }
            _ => None,
        }
        .map_or_else(|| refuse("something over rows of several units", e), Ok)
    }
}

fn times(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a?.checked_mul(b?)
}

fn plus(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a?.checked_add(b?)
}

/// The table of the policy that is scanned, with ONLY where the policy says so.
pub(crate) fn table_of(of: &Relation, policy: &Policy) -> Result<usize> {
    let Relation::Table(schema, name, only) = of else { return refuse("something that is no table", of) };
    let named = |t: &Table| t.schema == *schema && t.name == *name;
    let Some((at, table)) = policy.tables.iter().enumerate().find(|(_, t)| named(t)) else {
        return refuse("a table that the policy does not name", of);
    };
    let whole = table.only == *only || table.privacy == Privacy::Public;
    ensure(whole, "a private table with inheritance children is read with ONLY, others without", of)?;
    Ok(at)
}

/// A column of a table that the policy shows, or that leads to the unit, or is of a key.
fn table_column(policy: &Policy, at: usize, name: &str) -> Option<Column> {
    let table = policy.tables.get(at)?;
    if let Some(c) = table.column(name) {
        return Some(Column { deterministic: c.deterministic, ..Column::of(Some(c.ty.clone())) });
    }
    let own: Vec<(&String, &SqlType)> = match &table.privacy {
        Privacy::Private { unit, ty, .. } => vec![(unit, ty)],
        Privacy::Path(path) => path.columns.iter().zip(&path.types).collect(),
        Privacy::Public => Vec::new(),
    };
    let led = policy.tables.iter().filter_map(|t| match &t.privacy {
        Privacy::Path(path) if path.table == at => Some(path.key.iter().zip(&path.types)),
        _ => None,
    });
    let leads = own.into_iter().chain(led.flatten()).find(|(c, _)| *c == name);
    let is_key = || table.keys.iter().flatten().any(|c| c == name).then_some(None);
    leads.map(|(_, ty)| Some(ty.clone())).or_else(is_key).map(Column::of)
}
