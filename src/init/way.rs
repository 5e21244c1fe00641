//! Ways from rows to their unit: foreign keys, followed to the unit's table.

use super::scope::Scope;
use schema::{ForeignKey, Relation, RelationKind};
use std::collections::HashMap;

/// The place of a relation in the policy.
#[derive(Debug, PartialEq)]
pub(super) enum Placed {
    /// Private, by the first of these ways; empty for the unit's own table.
    Private {
        /// Shortest first.
        ways: Vec<Way>,
    },
    /// Named public.
    Public,
    /// Left out.
    Not(Why),
}

/// Why a relation is left out.
#[derive(Debug, PartialEq)]
pub(super) enum Why {
    /// Views and the like cannot be private.
    Kind(&'static str),
    /// Row-level security.
    RowSecurity,
    /// A table of this name in another schema was taken.
    SameName(String),
    /// The relation is read through its parent.
    Partition,
    /// No foreign key leads to the unit.
    NoWay,
}

/// A way from a table to the unit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Way {
    /// Joins on the way.
    pub length: usize,
    /// The column that it starts with, or columns that do so together.
    pub columns: Vec<String>,
    /// A column of the way can be NULL: such rows belong to nobody.
    pub nullable: bool,
    /// The table that the foreign key leads to, and the columns there.
    pub to: (usize, Vec<String>),
    /// The column holds the unit itself: no join is needed.
    pub direct: bool,
}

/// Places every relation.
pub(super) fn place(scope: &Scope<'_>) -> Vec<Placed> {
    let mut names: HashMap<&str, usize> = HashMap::new();
    // The unit's table and public ones take their names first, then those of the schema that is meant by default.
    let of = |public: bool| {
        let all = scope.relations.iter().enumerate();
        all.filter(move |(_, r)| (r.schema == "public") == public).map(|(i, _)| i)
    };
    let first = std::iter::once(scope.unit.0).chain(scope.public.iter().copied());
    for i in first.chain(of(true)).chain(of(false)) {
        if let Some(r) = scope.relations.get(i).filter(|r| !is_partition(scope, r)) {
            names.entry(r.name.as_str()).or_insert(i);
        }
    }
    let mut placed: Vec<Option<Placed>> = scope
        .relations
        .iter()
        .enumerate()
        .map(|(i, r)| {
            if is_partition(scope, r) {
                return Some(Placed::Not(Why::Partition));
            }
            match names.get(r.name.as_str()).and_then(|taken| Some((*taken, scope.relations.get(*taken)?))) {
                Some((taken, other)) if taken != i => {
                    return Some(Placed::Not(Why::SameName(other.schema.clone())));
                }
                _ => {}
            }
            if i == scope.unit.0 {
                return Some(Placed::Private { ways: Vec::new() });
            }
            match (r.row_security, r.kind) {
                (true, _) => Some(Placed::Not(Why::RowSecurity)),
                _ if scope.public.contains(&i) => Some(Placed::Public),
                (_, RelationKind::View) => Some(Placed::Not(Why::Kind("a view"))),
                (_, RelationKind::MaterializedView) => Some(Placed::Not(Why::Kind("a materialised view"))),
                (_, RelationKind::Foreign) => Some(Placed::Not(Why::Kind("a foreign table"))),
                _ => None,
            }
        })
        .collect();
    follow(scope, &mut placed);
    placed.into_iter().map(|p| p.unwrap_or(Placed::Not(Why::NoWay))).collect()
}

fn is_partition(scope: &Scope<'_>, r: &Relation) -> bool {
    scope.catalog.partitions.contains(&(r.schema.clone(), r.name.clone()))
}

/// Rounds of one join each: after round n, every table that needs n joins or fewer is placed. Cycles end by
/// themselves, because a table is placed once.
fn follow(scope: &Scope<'_>, placed: &mut [Option<Placed>]) {
    let unit = Way {
        length: 0,
        columns: vec![scope.unit.1.clone()],
        nullable: false,
        to: (scope.unit.0, vec![scope.unit.1.clone()]),
        direct: true,
    };
    let mut chosen: HashMap<usize, Way> = HashMap::from([(scope.unit.0, unit)]);
    for length in 0..=scope.relations.len() {
        // Ways without a join reach further tables within the same round.
        loop {
            let open = scope.relations.iter().enumerate();
            let open = open.filter(|(i, _)| matches!(placed.get(*i), Some(None)) && !chosen.contains_key(i));
            let reached: Vec<(usize, Way)> = open
                .filter_map(|(i, r)| Some((i, ways(scope, i, r, &chosen).into_iter().next()?)))
                .filter(|(_, w)| w.length <= length)
                .collect();
            if reached.is_empty() {
                break;
            }
            chosen.extend(reached);
        }
    }
    // Now that the tables are placed, every way of each.
    for (i, r) in scope.relations.iter().enumerate() {
        if let Some(p) = placed.get_mut(i).filter(|p| p.is_none())
            && let Some(first) = chosen.get(&i)
        {
            let mut all = ways(scope, i, r, &chosen);
            // The one that others build on stays the first.
            all.retain(|w| w != first);
            all.insert(0, first.clone());
            *p = Some(Placed::Private { ways: all });
        }
    }
}

/// The ways of a table over placed ones: those with fewest joins first, and without NULL before others.
fn ways(scope: &Scope<'_>, from: usize, r: &Relation, chosen: &HashMap<usize, Way>) -> Vec<Way> {
    let mut ways: Vec<Way> = r.foreign_keys.iter().filter_map(|k| way(scope, from, r, k, chosen)).collect();
    ways.sort_by_key(|w| (w.length, w.nullable));
    let mut seen = Vec::new();
    ways.retain(|w| {
        let new = !seen.contains(&(w.columns.clone(), w.to.clone()));
        seen.push((w.columns.clone(), w.to.clone()));
        new
    });
    ways
}

fn way(
    scope: &Scope<'_>,
    from: usize,
    r: &Relation,
    k: &ForeignKey,
    chosen: &HashMap<usize, Way>,
) -> Option<Way> {
    let (schema, name) = &k.references;
    let to = scope.relations.iter().position(|t| t.schema == *schema && t.name == *name)?;
    // A row of the table itself says nothing of whose this one is.
    let next = chosen.get(&to).filter(|_| to != from)?;
    let parent = scope.relations.get(to)?;
    // Two columns that a join compares: equal to the database is equal to us.
    let alike = |column: &str, relation: &Relation, there: &str| {
        let c = r.column(column).filter(|c| !c.virtual_expression)?;
        let there = relation.column(there)?;
        let same = there.ty.oid() == c.ty.oid();
        (same && c.deterministic_collation && there.deterministic_collation).then_some(c)
    };
    let here = |there: &String| {
        let mut pairs = k.columns.iter().zip(&k.referenced_columns);
        pairs.find(|(_, c)| *c == there).map(|(mine, _)| mine)
    };
    // A foreign key that holds the columns by which the other table belongs to its unit, alone or among others: this
    // table has those columns itself, and can go on from there.
    let own: Option<Vec<&String>> = next.columns.iter().map(here).collect();
    if let Some(own) = own
        && let Some(own) =
            own.iter().zip(&next.columns).map(|(c, t)| alike(c, parent, t)).collect::<Option<Vec<_>>>()
        && (!next.direct || own.iter().all(|c| unit_type(scope) == Some(c.ty.oid())))
    {
        let columns = own.iter().map(|c| c.name.clone()).collect();
        return Some(Way { columns, nullable: own.iter().any(|c| !c.not_null), ..next.clone() });
    }
    // Each row must lead to one row at most.
    let there = &k.referenced_columns;
    let key = parent.usable_keys().iter().any(|key| key.iter().all(|c| there.contains(c)));
    let pairs = k.columns.iter().zip(there).map(|(mine, there)| alike(mine, parent, there));
    let own = pairs.collect::<Option<Vec<_>>>().filter(|_| key)?;
    // What a policy's path is written with cannot be in its names.
    let plain = |name: &String| k.columns.len() == 1 || !name.contains([',', '(', ')']);
    (k.columns.iter().chain(there).all(plain)).then(|| Way {
        length: next.length + 1,
        columns: k.columns.clone(),
        nullable: own.iter().any(|c| !c.not_null),
        to: (to, there.clone()),
        direct: false,
    })
}

fn unit_type(scope: &Scope<'_>) -> Option<u32> {
    Some(scope.unit_table()?.column(&scope.unit.1)?.ty.oid())
}
