//! How much work one private row can make (soundness rule 38): the time of a statement must not tell of chosen rows more
//! than it does of any.
//!
//! A row meets rows of public tables. Those that a key fixes are one each; of the others there are as many as the table
//! has, or as share a value of the column that is equated. These numbers are public. Their product is the fan-out, and
//! each of these combinations is looked at by the expressions of the statement, whose steps the table of `expr` bounds.

use super::expr::{Node, Scalar};
use super::source::{Branch, Leaf, PrivateSource, Scan, SetTree, Tree};
use super::units::compared_exactly;
use super::{PlanError, Size, Sizes};
use answer::{ClientError, SqlState};
use policy::{Policy, Privacy};
use sql::ast::{BinaryOp, Pos};
use std::collections::HashSet;

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
    binding: usize,
    column: &'s str,
    needs: HashSet<usize>,
}

/// Bounds the work of a release, or refuses it.
pub(super) fn bound(
    source: &PrivateSource,
    expressions: &[&Scalar],
    policy: &Policy,
    sizes: &Sizes,
    pos: Pos,
) -> Result<Work, PlanError> {
    let judge = Judge { policy, sizes, pos };
    let own = judge.relation(&source.tree, &source.scans, &source.filter, &HashSet::new())?;
    let mut all: Vec<&Scalar> = source.filter.iter().chain(expressions.iter().copied()).collect();
    let mut on = Vec::new();
    conditions(&source.tree, &mut on);
    all.extend(on);
    let outer: HashSet<usize> = source.scans.iter().map(|s| s.binding).collect();
    let mut steps = judge.sets(&source.scans)?;
    for s in &all {
        steps = steps.saturating_add(s.cost()).saturating_add(judge.subqueries(s, &outer)?);
    }
    let steps = steps.saturating_mul(own);
    let limit = policy.limits.max_row_cost;
    if steps > limit {
        let what = format!(
            "one row can take {steps} steps in this statement, more than limits.max_row_cost = {limit}"
        );
        return Err(ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, what)
            .detail("How long a statement takes would tell which rows there are. EXPLAIN of a shorter statement shows what costs.")
            .hint("Use fewer or shorter patterns and conditions, or join public tables by their keys.")
            .at(pos)
            .into());
    }
    Ok(Work { fan_out: own, steps })
}

struct Judge<'a> {
    policy: &'a Policy,
    sizes: &'a Sizes,
    pos: Pos,
}

impl Judge<'_> {
    /// The fan-out of a relation for one row of each of its private scans and of what stands around it.
    fn relation(
        &self,
        tree: &Tree,
        scans: &[Scan],
        filter: &[Scalar],
        around: &HashSet<usize>,
    ) -> Result<u64, PlanError> {
        let mut on = Vec::new();
        conditions(tree, &mut on);
        on.extend(filter);
        let mut equations = Vec::new();
        on.iter().for_each(|c| equate(c, &mut equations));
        let public = |s: &&Scan| match &s.leaf {
            Leaf::Table(t, _) => self.policy.tables.get(*t).is_some_and(|t| t.privacy == Privacy::Public),
            Leaf::Set(rows) => rows.unit.is_none(),
        };
        let mut given: HashSet<usize> = around.clone();
        given.extend(scans.iter().filter(|s| !public(s)).map(|s| s.binding));
        let mut left: Vec<&Scan> = scans.iter().filter(public).collect();
        let mut product: u64 = 1;
        while !left.is_empty() {
            if let Some(fixed) = left.iter().position(|s| self.fixed(s, &equations, &given)) {
                given.insert(left.remove(fixed).binding);
                continue;
            }
            // Of what no key fixes, what an equation narrows comes first.
            let narrowed = |s: &&Scan| self.narrowing(s, &equations, &given).is_some();
            let at = left.iter().position(narrowed).unwrap_or(0);
            let scan = left.remove(at);
            let rows = match &scan.leaf {
                Leaf::Set(rows) => self.rows_of(&rows.tree)?,
                Leaf::Table(table, _) => {
                    let size = match self.narrowing(scan, &equations, &given) {
                        Some(column) => Size::PerValue(*table, column),
                        None => Size::Rows(*table),
                    };
                    let rows = *self.sizes.get(&size).ok_or(PlanError::NeedSize(size))?;
                    u64::try_from(rows).unwrap_or(u64::MAX)
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

    /// Whether a key of the table is equated with what is given.
    fn fixed(&self, scan: &Scan, equations: &[Equation], given: &HashSet<usize>) -> bool {
        let keys = scan.table().and_then(|t| self.policy.tables.get(t)).map_or(&[][..], |t| &t.keys);
        let equated = |column: &String| {
            equations
                .iter()
                .any(|e| e.binding == scan.binding && e.column == column && e.needs.is_subset(given))
        };
        keys.iter().any(|key| !key.is_empty() && key.iter().all(equated))
    }

    /// A column that is equated with what is given.
    fn narrowing(&self, scan: &Scan, equations: &[Equation], given: &HashSet<usize>) -> Option<String> {
        let mine = |e: &&Equation| e.binding == scan.binding && e.needs.is_subset(given);
        let mut columns: Vec<&str> = equations.iter().filter(mine).map(|e| e.column).collect();
        columns.sort_unstable();
        columns.first().map(|c| (*c).to_owned())
    }

    /// Rows of a public set operation.
    fn rows_of(&self, tree: &SetTree) -> Result<u64, PlanError> {
        match tree {
            SetTree::Branch(b) => self.relation(&b.tree, &b.scans, &b.filter, &HashSet::new()),
            SetTree::Op { left, right, .. } => Ok(self.rows_of(left)?.saturating_add(self.rows_of(right)?)),
        }
    }

    /// Steps of the set operations that are read as tables.
    fn sets(&self, scans: &[Scan]) -> Result<u64, PlanError> {
        let mut steps = 0u64;
        for scan in scans {
            if let Leaf::Set(rows) = &scan.leaf {
                steps = steps.saturating_add(self.set(&rows.tree)?);
            }
        }
        Ok(steps)
    }

    fn set(&self, tree: &SetTree) -> Result<u64, PlanError> {
        match tree {
            SetTree::Branch(b) => self.branch(b, &HashSet::new()),
            SetTree::Op { left, right, .. } => Ok(self.set(left)?.saturating_add(self.set(right)?)),
        }
    }

    /// Steps of a branch for one row around it.
    fn branch(&self, b: &Branch, around: &HashSet<usize>) -> Result<u64, PlanError> {
        let fan_out = self.relation(&b.tree, &b.scans, &b.filter, around)?;
        let mut outer = around.clone();
        outer.extend(b.scans.iter().map(|s| s.binding));
        let mut steps = b.cost().saturating_add(self.sets(&b.scans)?);
        let mut on = Vec::new();
        conditions(&b.tree, &mut on);
        for s in b.filter.iter().chain(&b.items).chain(b.over.scalars()).chain(on) {
            steps = steps.saturating_add(self.subqueries(s, &outer)?);
        }
        Ok(steps.saturating_mul(fan_out))
    }

    /// Steps of the subqueries in an expression.
    fn subqueries(&self, s: &Scalar, around: &HashSet<usize>) -> Result<u64, PlanError> {
        let mut steps = match s.node() {
            Node::Exists(rows, _) | Node::InRows(_, rows, _) => self.branch(rows, around)?,
            _ => 0,
        };
        for child in s.children() {
            steps = steps.saturating_add(self.subqueries(child, around)?);
        }
        Ok(steps)
    }

    fn too_wide(&self, product: u64, limit: u64) -> ClientError {
        let what = format!(
            "one private row can meet {product} or more public rows, more than limits.max_fan_out = {limit}"
        );
        ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, what)
            .detail("How long a statement takes would tell which rows there are.")
            .hint("Join public tables by the columns of a key.")
            .at(self.pos)
    }
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
                    let mut needs = HashSet::new();
                    looks_at(other, &mut needs);
                    out.push(Equation { binding: *binding, column: name, needs });
                }
            }
        }
        _ => {}
    }
}

/// The bindings that an expression looks at.
fn looks_at(s: &Scalar, out: &mut HashSet<usize>) {
    if let Node::Column { binding, .. } = s.node() {
        out.insert(*binding);
    }
    s.children().into_iter().for_each(|c| looks_at(c, out));
}
