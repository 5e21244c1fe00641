//! Work that one private row can make (soundness rule 38): the time of a statement must not tell of
//! chosen rows more than it does of any.
//!
//! A row meets rows of public tables. A table whose key is fixed has one; of the others a row meets
//! all rows of the table, or all that share a value of the column that is equated. These numbers
//! are public. Their product is the fan-out, and each of these combinations is looked at by the
//! expressions of the statement, whose steps the table of `expr` bounds.
//!
//! A row meets rows of its own unit, too: one when a key fixes it, few when a subquery numbers
//! them, and else all, which is why they are read through a cap (`plan::normalise::cap`). One
//! relation of a join needs none: each of its rows is there anyway.

use crate::Size;
use crate::algebra::equivalence_classes::compared_exactly;
use crate::algebra::source::{Branch, Leaf, Over, PrivateSource, Scan, SetTree, Tree};
use crate::expr::{Node, Scalar};
use crate::facts::Facts;
use crate::normalise::cap::{Cap, unnarrowed};
use crate::own::row_bounds::first_rows;
use crate::own::scans::Scans;
use crate::refusals::Refusal;
use crate::refusals::join::Join;
use crate::stop::Stop;
use policy::{Policy, Privacy};
use sql::ast::{BinaryOp, BindingId, Pos};
use std::collections::BTreeSet;

/// The most that one private row can make PostgreSQL do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Combinations of public rows that it meets.
    pub fan_out: u64,
    /// Steps of expressions, of about a nanosecond each, over all of these.
    pub steps: u64,
}

/// `column = expression`, and the bindings that the expression looks at.
struct Equation<'s> {
    binding: BindingId,
    column: &'s str,
    needs: BTreeSet<BindingId>,
}

impl Scans<'_> {
    /// Bounds the work of a release.
    ///
    /// # Errors
    /// It is refused, or a relation is to be read through a cap.
    pub(crate) fn work(
        &self,
        source: &PrivateSource,
        expressions: &[&Scalar],
        facts: &Facts<'_>,
        pos: Pos,
    ) -> Result<Work, Stop> {
        bound(source, expressions, self.scope.policy, facts, pos).map_err(|e| match e {
            Stop::Refused(e) => Stop::Refused(e),
            Stop::Cap(cap) => {
                let binding = self.scope.origin(cap.binding);
                Stop::Cap(Cap { binding, pos: self.position(binding).or(pos) })
            }
        })
    }
}

/// Bounds the work of a release over these rows.
///
/// # Errors
/// It is refused, or a relation of theirs is to be read through a cap.
pub(crate) fn bound(
    source: &PrivateSource,
    expressions: &[&Scalar],
    policy: &Policy,
    facts: &Facts<'_>,
    pos: Pos,
) -> Result<Work, Stop> {
    let judge = Judge { policy, facts, pos };
    let outer: BTreeSet<BindingId> = source.scans.iter().map(|s| s.binding).collect();
    let mut on = Vec::new();
    conditions(&source.tree, &mut on);
    let mut all = source.filter.iter().chain(expressions.iter().copied()).chain(on.iter().copied());
    let asked = source.filter.iter().map(|s| judge.asked(s, &outer));
    let beside = expressions.iter().copied().chain(on.iter().copied()).map(|s| judge.subqueries(s, &outer));
    let asked = asked.chain(beside).try_fold(Asked::default(), |sum, a| Ok::<_, Stop>(sum.and(a?)))?;
    let own =
        judge.relation(&source.tree, &source.scans, &source.filter, &BTreeSet::new(), asked.loose > 0)?;
    let steps = all.try_fold(asked.tied, |sum, s| sum.checked_add(s.cost())).unwrap_or(u64::MAX);
    let steps = own.steps(steps, asked.loose);
    // A row of a derived table is computed once, whatever it meets.
    let steps = steps.saturating_add(judge.sets(&source.scans)?.saturating_mul(own.public));
    let limit = policy.limits.max_row_cost;
    if steps > limit {
        return Err(Join::Steps { steps, limit, joined: own.private > 1 }.at(pos).into());
    }
    Ok(Work { fan_out: own.public, steps })
}

/// Steps of subqueries, for one row around them.
#[derive(Clone, Copy, Default)]
struct Asked {
    /// Of those that look for the first row that is equal to one around them.
    tied: u64,
    /// Of the others: what a private row in them costs for each row of its unit around.
    loose: u64,
}

impl Asked {
    fn and(self, other: Self) -> Self {
        Self { tied: self.tied.saturating_add(other.tied), loose: self.loose.saturating_add(other.loose) }
    }
}

/// How many combinations of rows one private row meets, itself included.
#[derive(Clone, Copy)]
struct Met {
    /// Of public tables.
    public: u64,
    /// Of its own unit.
    private: u64,
    /// Those of its unit that there are in all, where subqueries are asked for each.
    all: u64,
}

impl Met {
    /// Steps of all combinations, of which each takes so many; `asked` for each of the unit's.
    fn steps(self, each: u64, asked: u64) -> u64 {
        let own = each.saturating_mul(self.private).saturating_add(asked.saturating_mul(self.all));
        own.saturating_mul(self.public)
    }
}

/// What a private row of a scan meets of its unit.
struct Narrowed {
    /// Combinations of those that are bounded.
    product: u64,
    /// Those that are not, and can be capped.
    capped: Vec<BindingId>,
    /// Those that are not, and cannot.
    open: usize,
}

impl Narrowed {
    fn badness(&self) -> (usize, usize, u64) {
        (self.open, self.capped.len(), self.product)
    }
}

struct Judge<'a> {
    policy: &'a Policy,
    facts: &'a Facts<'a>,
    pos: Pos,
}

impl Judge<'_> {
    fn is_public(&self, scan: &Scan) -> bool {
        match &scan.leaf {
            Leaf::Table(t, _) => self.policy.tables.get(*t).is_some_and(|t| t.privacy == Privacy::Public),
            Leaf::Set(rows) => rows.unit.is_none(),
        }
    }

    /// What one row of a relation meets, or one row around it.
    fn relation(
        &self,
        tree: &Tree,
        scans: &[Scan],
        filter: &[Scalar],
        given: &BTreeSet<BindingId>,
        asked: bool,
    ) -> Result<Met, Stop> {
        let mut on = Vec::new();
        conditions(tree, &mut on);
        on.extend(filter);
        let mut equations = Vec::new();
        on.iter().for_each(|c| equate(c, &mut equations));
        let (private, all) = self.private(scans, &on, &equations, asked)?;
        Ok(Met { public: self.public(scans, &equations, given)?, private, all })
    }

    /// Combinations of private rows of one unit, beginning with the scan that leaves the fewest others open: for each row of
    /// that, and in all. `asked`: subqueries are asked for each, so that it has to be bounded, too.
    fn private(
        &self,
        scans: &[Scan],
        on: &[&Scalar],
        equations: &[Equation],
        asked: bool,
    ) -> Result<(u64, u64), Stop> {
        let mut best: Option<(Narrowed, &Scan)> = None;
        for start in scans.iter().filter(|s| !self.is_public(s)) {
            let found = self.narrowed(scans, on, equations, start.binding);
            if best.as_ref().is_none_or(|(have, _)| found.badness() < have.badness()) {
                let nothing_left = found.badness() == (0, 0, 1);
                best = Some((found, start));
                if nothing_left {
                    break;
                }
            }
        }
        let Some((mut found, start)) = best else { return Ok((1, 1)) };
        let each = found.product;
        if asked {
            self.meet(start, on, &mut found);
        }
        match found.capped.first() {
            _ if found.open > 0 => Err(unnarrowed(self.pos).into()),
            Some(binding) => Err(Stop::Cap(Cap { binding: *binding, pos: self.pos })),
            None => Ok((each, found.product)),
        }
    }

    /// What a row of this scan meets.
    fn narrowed(&self, scans: &[Scan], on: &[&Scalar], equations: &[Equation], start: BindingId) -> Narrowed {
        let mut given: BTreeSet<BindingId> = [start].into();
        let mut left: Vec<&Scan> = scans.iter().filter(|s| s.binding != start).collect();
        let mut found = Narrowed { product: 1, capped: Vec::new(), open: 0 };
        loop {
            if let Some(fixed) = left.iter().position(|s| self.fixed(s, equations, &given)) {
                given.insert(left.remove(fixed).binding);
                continue;
            }
            let private = left.iter().position(|s| !self.is_public(s));
            let Some(scan) = private.map(|at| left.remove(at)) else { return found };
            given.insert(scan.binding);
            self.meet(scan, on, &mut found);
        }
    }

    /// All rows of a unit in a scan.
    fn meet(&self, scan: &Scan, on: &[&Scalar], found: &mut Narrowed) {
        let rows = match &scan.leaf {
            Leaf::Set(rows) => first_rows(scan, rows, on).or(rows.tree.bound()),
            Leaf::Table(t, _) => self.policy.tables.get(*t).and_then(|t| t.proven_rows).map(u64::from),
        };
        match (rows, &scan.leaf) {
            (Some(rows), _) => found.product = found.product.saturating_mul(rows.max(1)),
            (None, Leaf::Table(..)) => found.capped.push(scan.binding),
            (None, Leaf::Set(_)) => found.open += 1,
        }
    }

    /// Combinations of public rows.
    fn public(
        &self,
        scans: &[Scan],
        equations: &[Equation],
        given: &BTreeSet<BindingId>,
    ) -> Result<u64, Stop> {
        let mut given: BTreeSet<BindingId> = given.clone();
        given.extend(scans.iter().filter(|s| !self.is_public(s)).map(|s| s.binding));
        let mut left: Vec<&Scan> = scans.iter().filter(|s| self.is_public(s)).collect();
        let mut product: u64 = 1;
        while !left.is_empty() {
            if let Some(fixed) = left.iter().position(|s| self.fixed(s, equations, &given)) {
                given.insert(left.remove(fixed).binding);
                continue;
            }
            // Of what no key fixes, what an equation narrows comes first.
            let narrowed = |s: &&Scan| self.narrowing(s, equations, &given).is_some();
            let at = left.iter().position(narrowed).unwrap_or(0);
            let scan = left.remove(at);
            let rows = match &scan.leaf {
                Leaf::Set(rows) => self.rows_of(&rows.tree)?,
                Leaf::Table(table, _) => {
                    let size = match self.narrowing(scan, equations, &given) {
                        Some(column) => Size::PerValue(*table, column),
                        None => Size::Rows(*table),
                    };
                    u64::try_from(self.facts.size(size)).unwrap_or(u64::MAX)
                }
            };
            product = product.saturating_mul(rows.max(1));
            given.insert(scan.binding);
            let limit = self.policy.limits.max_fan_out;
            if product > limit {
                return Err(self.too_wide(product, limit).into());
            }
        }
        Ok(product)
    }

    /// Whether a key of the table is equated with what is given, or all that a derived table is grouped by.
    fn fixed(&self, scan: &Scan, equations: &[Equation], given: &BTreeSet<BindingId>) -> bool {
        if let Leaf::Set(rows) = &scan.leaf
            && let SetTree::Branch(b) = &rows.tree
            && matches!(b.over, Over::Groups(_))
        {
            let equated = |at: usize| {
                let name = format!("c{at}");
                let here = |e: &Equation| e.binding == scan.binding && e.column == name;
                equations.iter().any(|e| here(e) && e.needs.is_subset(given))
            };
            return (0..b.items.len()).all(equated);
        }
        let keys = scan.table().and_then(|t| self.policy.tables.get(t)).map_or(&[][..], |t| &t.keys);
        let equated = |column: &String| {
            equations
                .iter()
                .any(|e| e.binding == scan.binding && e.column == column && e.needs.is_subset(given))
        };
        keys.iter().any(|key| !key.is_empty() && key.iter().all(equated))
    }

    /// A column that is equated with what is given.
    fn narrowing(&self, scan: &Scan, equations: &[Equation], given: &BTreeSet<BindingId>) -> Option<String> {
        let mine = |e: &&Equation| e.binding == scan.binding && e.needs.is_subset(given);
        let mut columns: Vec<&str> = equations.iter().filter(mine).map(|e| e.column).collect();
        columns.sort_unstable();
        columns.first().map(|c| (*c).to_owned())
    }

    /// Rows of a public set operation.
    fn rows_of(&self, tree: &SetTree) -> Result<u64, Stop> {
        match tree {
            SetTree::Branch(b) => {
                Ok(self.relation(&b.tree, &b.scans, &b.filter, &BTreeSet::new(), false)?.public)
            }
            SetTree::Op { left, right, .. } => Ok(self.rows_of(left)?.saturating_add(self.rows_of(right)?)),
        }
    }

    /// Steps of the set operations that are read as tables.
    fn sets(&self, scans: &[Scan]) -> Result<u64, Stop> {
        let mut steps = 0u64;
        for scan in scans {
            if let Leaf::Set(rows) = &scan.leaf {
                steps = steps.saturating_add(self.set(&rows.tree)?);
            }
        }
        Ok(steps)
    }

    fn set(&self, tree: &SetTree) -> Result<u64, Stop> {
        match tree {
            SetTree::Branch(b) => self.branch(b, &BTreeSet::new()),
            SetTree::Op { left, right, .. } => Ok(self.set(left)?.saturating_add(self.set(right)?)),
        }
    }

    /// Steps of a branch for one of its rows.
    fn branch(&self, b: &Branch, around: &BTreeSet<BindingId>) -> Result<u64, Stop> {
        let mut outer = around.clone();
        outer.extend(b.scans.iter().map(|s| s.binding));
        let mut on = Vec::new();
        conditions(&b.tree, &mut on);
        let mut asked = Asked::default();
        for s in &b.filter {
            asked = asked.and(self.asked(s, &outer)?);
        }
        for s in b.items.iter().chain(b.over.scalars()).chain(on) {
            asked = asked.and(self.subqueries(s, &outer)?);
        }
        let met = self.relation(&b.tree, &b.scans, &b.filter, around, asked.loose > 0)?;
        let steps = met.steps(b.cost().saturating_add(asked.tied), asked.loose);
        Ok(steps.saturating_add(self.sets(&b.scans)?.saturating_mul(met.public)))
    }

    /// Steps of the subqueries in a conjunct of WHERE. Where one is the whole of it and all that ties it is equal, PostgreSQL
    /// looks for the first row that is tied so, and for no other.
    fn asked(&self, s: &Scalar, around: &BTreeSet<BindingId>) -> Result<Asked, Stop> {
        match s.node() {
            Node::Exists(rows, _) if is_equated(rows, around) => {
                Ok(Asked { tied: self.branch(rows, around)?, loose: 0 })
            }
            _ => self.subqueries(s, around),
        }
    }

    /// Steps of the subqueries in an expression. One over private rows is looked through for each row of its unit around it.
    fn subqueries(&self, s: &Scalar, around: &BTreeSet<BindingId>) -> Result<Asked, Stop> {
        let mut asked = Asked::default();
        if let Node::Exists(rows, _) | Node::InRows(_, rows, _) = s.node() {
            let steps = self.branch(rows, around)?;
            match rows.scans.iter().all(|s| self.is_public(s)) {
                true => asked.tied = steps,
                false => asked.loose = steps,
            }
        }
        s.children().into_iter().try_fold(asked, |sum, c| Ok(sum.and(self.subqueries(c, around)?)))
    }

    fn too_wide(&self, product: u64, limit: u64) -> Refusal {
        Join::FanOut { product, limit }.at(self.pos)
    }
}

/// Whether a subquery is tied to the rows around it by equalities alone, of an expression there and one of its own.
fn is_equated(rows: &Branch, around: &BTreeSet<BindingId>) -> bool {
    let looks = |s: &Scalar, there: bool| {
        let mut at = BTreeSet::new();
        looks_at(s, &mut at);
        at.iter().any(|b| around.contains(b) == there)
    };
    fn is_tied(c: &Scalar, looks: &dyn Fn(&Scalar, bool) -> bool) -> bool {
        let both = |s: &Scalar| looks(s, true) && looks(s, false);
        match c.node() {
            Node::Logic(BinaryOp::And, a, b) => is_tied(a, looks) && is_tied(b, looks),
            Node::Compare(BinaryOp::Eq, a, b) => !both(a) && !both(b),
            _ => !looks(c, true),
        }
    }
    let mut on = Vec::new();
    conditions(&rows.tree, &mut on);
    rows.filter.iter().all(|c| is_tied(c, &looks)) && !on.into_iter().any(|c| looks(c, true))
}

/// The conditions of the joins of a tree.
fn conditions<'t>(tree: &'t Tree, out: &mut Vec<&'t Scalar>) {
    if let Tree::Join { left, right, on, .. } = tree {
        conditions(left, out);
        conditions(right, out);
        out.extend(on);
    }
}

/// The equations among the conjuncts of a condition.
fn equate<'s>(condition: &'s Scalar, out: &mut Vec<Equation<'s>>) {
    match condition.node() {
        Node::Logic(BinaryOp::And, a, b) => {
            equate(a, out);
            equate(b, out);
        }
        Node::Compare(BinaryOp::Eq, a, b) => {
            for (key, other) in [(a, b), (b, a)] {
                if let Node::Column { binding, name } = key.node()
                    && compared_exactly(key.ty(), other.ty())
                {
                    let mut needs = BTreeSet::new();
                    looks_at(other, &mut needs);
                    out.push(Equation { binding: *binding, column: name, needs });
                }
            }
        }
        _ => {}
    }
}

/// The bindings that an expression looks at, its subqueries included.
fn looks_at(s: &Scalar, out: &mut BTreeSet<BindingId>) {
    match s.node() {
        Node::Column { binding, .. } => {
            out.insert(*binding);
        }
        Node::Exists(rows, _) | Node::InRows(_, rows, _) => {
            let mut on = Vec::new();
            conditions(&rows.tree, &mut on);
            let inside = rows.filter.iter().chain(&rows.items).chain(rows.over.scalars()).chain(on);
            inside.for_each(|s| looks_at(s, out));
        }
        _ => {}
    }
    s.children().into_iter().for_each(|c| looks_at(c, out));
}
