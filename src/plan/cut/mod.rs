//! The border between private and released: each maximal aggregate over private rows is a release,
//! and what is above it finishes released rows.

pub mod grouping_sets;
pub mod stages;
mod subqueries;

use crate::algebra::kinds::{Kinds, RelationKind};
use crate::algebra::rows::RowsPerUnit;
use crate::facts::Facts;
use crate::facts::public_rows::{self, PublicRows};
use crate::invariant::{Invariant, checked};
use crate::normalise::{self, Around, Rewrite, Site, mixed_union};
use crate::own::given::{Given, Stage};
use crate::own::relation::{Place, Reading, Relation};
use crate::own::scope::{Scope, Server};
use crate::refusals::group::Group;
use crate::refusals::meeting::Meeting;
use crate::refusals::returned::Returned;
use crate::refusals::set_operation::SetOperation;
use crate::refusals::within::Within;
use crate::refusals::{Refusal, position, rows_of_units};
use crate::release::{self, Builder, Release};
use crate::stop::Stop;
use crate::syntax::conditions;
use crate::syntax::grouping::{has_aggregate, has_windows, released_keys};
use crate::syntax::subqueries::{correlated, is_correlated};
use crate::{Settings, groups};
use grouping_sets::GroupingSets;
use policy::Policy;
use schema::SqlType;
use sql::Spend;
use sql::ast::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;

/// The clauses of a query behind its SELECT.
#[derive(Clone, Copy, Default)]
struct Behind<'a> {
    order_by: &'a [OrderItem],
    /// LIMIT or OFFSET leaves rows out.
    cut: bool,
    /// How many rows are asked for, where ORDER BY says which.
    first: Option<u32>,
}

/// A walk over a statement that knows of each relation in it whether it is public, private or released. It looks for what is to be
/// written in another way; or builds the releases.
struct Walk<'a> {
    policy: &'a Policy,
    settings: &'a Settings,
    facts: &'a Facts<'a>,
    spend: &'a Spend,
    bindings: &'a Bindings,
    types: &'a HashMap<TypesOf, Vec<SqlType>>,
    ctes: BTreeMap<CteId, &'a Query>,
    kinds: Kinds,
    /// The releases of each CTE.
    within: BTreeMap<CteId, Range<usize>>,
    /// The releases of each derived table, by its binding.
    derived: BTreeMap<BindingId, Range<usize>>,
    /// EXISTS and IN beside private rows whose FROM holds stages, by their first SELECT: what is grouped by is written twice.
    over_stages: BTreeSet<SelectId>,
    /// Whether SELECTs over private rows, by their numbers, are grouped by the unit.
    by_unit: BTreeMap<SelectId, bool>,
    /// The places that rules match, where it looks for them.
    matches: Option<Vec<Box<dyn Rewrite>>>,
    /// How many releases there are so far.
    released: usize,
    /// The releases, where it builds them.
    releases: Vec<Release>,
    stages: Vec<Stage>,
    grouping_sets: Vec<GroupingSets>,
    private_ctes: BTreeSet<CteId>,
    tables: Vec<usize>,
}

/// A statement whose private parts are releases.
pub(crate) struct Cut {
    /// Releases, in the order of the text.
    pub releases: Vec<Release>,
    /// Stages, which are released before other releases are read.
    pub stages: Vec<Stage>,
    /// SELECTs with grouping sets.
    pub grouping_sets: Vec<GroupingSets>,
    /// CTEs that are private rows.
    pub private_ctes: BTreeSet<CteId>,
    /// Tables whose definition it rests on.
    pub tables: Vec<usize>,
}

/// The unit of each release is a column of its own scans, and what its rows are compared with was released before it.
impl Invariant for Cut {
    fn broken(&self) -> Option<&'static str> {
        let width = self.stages.last().map_or(0, |s| s.first.saturating_add(s.width()));
        let owned = |r: &Release| {
            let scanned = |binding| r.source.scans.iter().any(|s| s.binding == binding);
            !r.source.unit.columns.is_empty() && r.source.unit.columns.iter().all(|(b, _)| scanned(*b))
        };
        let staged = |s: &Stage| s.releases.iter().all(|n| *n < self.releases.len());
        if !self.releases.iter().all(owned) {
            return Some("a release has no owner");
        }
        if !self.stages.is_sorted_by_key(|s| s.first) || !self.stages.iter().all(staged) {
            return Some("a stage comes before its releases");
        }
        let given = |r: &Release| r.given.iter().all(|n| *n < width);
        (!self.releases.iter().all(given)).then_some("a release is given what is not released")
    }
}

/// A statement as it is seen before it is planned.
#[derive(Default)]
pub(crate) struct Look {
    /// The places that rules match: all of those before which nothing is refused.
    pub matches: Vec<Box<dyn Rewrite>>,
    /// Whether SELECTs over private rows, by their numbers, are grouped by the unit.
    by_unit: BTreeMap<SelectId, bool>,
}

/// Looks for places that rules match. A refusal ends the look, and is made by [`cut`], which comes to the same place.
pub(crate) fn look(statement: &Statement, policy: &Policy, settings: &Settings, facts: &Facts<'_>) -> Look {
    if !normalise::may_match(&statement.query) {
        return Look::default();
    }
    let mut walk = Walk::new(statement, policy, settings, facts);
    walk.matches = Some(Vec::new());
    let _refused = walk.query(&statement.query);
    Look { matches: walk.matches.unwrap_or_default(), by_unit: walk.by_unit }
}

/// Cuts a statement at its maximal aggregates over private rows.
///
/// # Errors
/// It is refused, or a relation of it is to be read through a cap.
pub(crate) fn cut(
    statement: &Statement,
    policy: &Policy,
    settings: &Settings,
    facts: &Facts<'_>,
    look: Look,
) -> Result<Cut, Stop> {
    let mut walk = Walk::new(statement, policy, settings, facts);
    walk.by_unit = look.by_unit;
    let rel = walk.query(&statement.query)?;
    if rel == RelationKind::Private {
        return Err(rows_of_units(&statement.query.body, policy, &walk.tables).into());
    }
    let Walk { releases, stages, grouping_sets, private_ctes, mut tables, .. } = walk;
    // Tables that only lead to the unit prove it by their keys (soundness rule 7).
    tables.extend(releases.iter().flat_map(|r| &r.source.served));
    // Domains are read by the fetch, too.
    let keys = releases.iter().flat_map(|r| &r.keys);
    tables.extend(keys.filter_map(|k| k.domain.as_ref()).flat_map(|(d, _)| d.tables()));
    tables.sort_unstable();
    tables.dedup();
    Ok(checked(Cut { releases, stages, grouping_sets, private_ctes, tables }))
}

impl<'a> Walk<'a> {
    fn new(
        statement: &'a Statement,
        policy: &'a Policy,
        settings: &'a Settings,
        facts: &'a Facts<'a>,
    ) -> Self {
        Self {
            policy,
            settings,
            facts,
            spend: &statement.spend,
            bindings: &statement.bindings,
            types: &statement.types,
            ctes: BTreeMap::new(),
            kinds: Kinds::default(),
            within: BTreeMap::new(),
            derived: BTreeMap::new(),
            over_stages: BTreeSet::new(),
            by_unit: BTreeMap::new(),
            matches: None,
            released: 0,
            releases: Vec::new(),
            stages: Vec::new(),
            grouping_sets: Vec::new(),
            private_ctes: BTreeSet::new(),
            tables: Vec::new(),
        }
    }

    /// Offers a site to the rules. Where one matches, its rewrite is noted; or the statement is refused, which rules were applied
    /// to as far as they could be.
    fn is_rewritten(&mut self, site: &Site<'_>) -> Result<bool, Stop> {
        let Some(rewrite) = normalise::matched(site, self) else { return Ok(false) };
        match &mut self.matches {
            Some(matches) => {
                matches.push(rewrite);
                Ok(true)
            }
            None => Err(rewrite.refused().into()),
        }
    }

    fn query(&mut self, q: &'a Query) -> Result<RelationKind, Stop> {
        for cte in &q.with {
            let before = self.released;
            let rel = self.query(&cte.query)?;
            self.ctes.insert(cte.id, &cte.query);
            self.kinds.ctes.insert(cte.id, rel);
            self.within.insert(cte.id, before..self.released);
            if rel == RelationKind::Private {
                self.private_ctes.insert(cte.id);
            }
        }
        match &q.body {
            Body::Select(s) => {
                let cut = q.limit.is_some() || q.offset.is_some();
                self.select(s, Behind { order_by: &q.order_by, cut, first: release::ranking::limit(q) })
            }
            body => {
                let rel = self.body(body)?;
                if rel == RelationKind::Private
                    && (q.limit.is_some() || q.offset.is_some() || !q.order_by.is_empty())
                {
                    return Err(Returned::Ordered.at(position(body)).into());
                }
                for o in &q.order_by {
                    self.subqueries(&o.expr, rel)?;
                }
                Ok(rel)
            }
        }
    }

    fn body(&mut self, body: &'a Body) -> Result<RelationKind, Stop> {
        match body {
            Body::Select(s) => self.select(s, Behind::default()),
            Body::Query(q) => self.query(q),
            Body::SetOp { op, all, left, right } => {
                let union_all = *all && *op == SetOp::Union;
                let of = if union_all { mixed_union::branches(body) } else { vec![&**left, &**right] };
                let kinds = of.into_iter().map(|b| self.body(b)).collect::<Result<Vec<_>, _>>()?;
                let private: Vec<bool> = kinds.iter().map(|kind| *kind == RelationKind::Private).collect();
                if private.contains(&true) && private.contains(&false) {
                    // The union comes out as released rows, once it is written anew.
                    return match self.is_rewritten(&Site::Mixed(body, &private))? {
                        true => Ok(RelationKind::Released),
                        false => Err(SetOperation::Mixed.at(position(left)).into()),
                    };
                }
                Ok(kinds.into_iter().fold(RelationKind::Public, RelationKind::or))
            }
            Body::Values(rows) => {
                for e in rows.iter().flatten() {
                    self.subqueries(e, RelationKind::Public)?;
                }
                Ok(RelationKind::Public)
            }
            Body::Rows { args, .. } => {
                args.iter().try_for_each(|e| self.subqueries(e, RelationKind::Public))?;
                Ok(RelationKind::Public)
            }
        }
    }

    /// The kinds of what stands in FROM, all of it visited.
    fn from(
        &mut self,
        from: &'a From,
        kinds: &mut Vec<RelationKind>,
        on: &mut Vec<&'a Expr>,
    ) -> Result<(), Stop> {
        match from {
            From::Join { left, right, on: condition, .. } => {
                self.from(left, kinds, on)?;
                self.from(right, kinds, on)?;
                on.extend(condition);
            }
            From::Relation { binding, query, pos, .. } => {
                match (self.bindings.get(*binding).map(|b| &b.source), query) {
                    (Some(Source::Table(t)), _) if *t < self.policy.tables.len() => self.tables.push(*t),
                    (Some(Source::Table(_)), _) => return Err(Refusal::Unread("table", *pos).into()),
                    (Some(Source::Own(_) | Source::Cte(_)), _) => {}
                    (_, Some(q)) => {
                        let before = self.released;
                        let rel = self.query(q)?;
                        self.kinds.derived.insert(*binding, rel);
                        self.derived.insert(*binding, before..self.released);
                    }
                    _ => return Err(Refusal::Unread("FROM", *pos).into()),
                }
                kinds.push(self.kind_of(*binding));
            }
        }
        Ok(())
    }

    /// The kind of a SELECT. One that is refused while facts are missing counts as released, so that the walk finds what else is
    /// missing.
    fn select(&mut self, s: &'a Select, behind: Behind<'a>) -> Result<RelationKind, Stop> {
        match self.select_over(s, behind) {
            Err(Stop::Refused(_)) if self.facts.are_missing() => Ok(RelationKind::Released),
            done => done,
        }
    }

    fn select_over(&mut self, s: &'a Select, behind: Behind<'a>) -> Result<RelationKind, Stop> {
        let before = self.released;
        let mut kinds = Vec::new();
        let mut on = Vec::new();
        for f in &s.from {
            self.from(f, &mut kinds, &mut on)?;
        }
        let rel = kinds.iter().copied().fold(RelationKind::Public, RelationKind::or);
        if rel == RelationKind::Private {
            let mut kinds = kinds.iter();
            s.from.iter().try_for_each(|f| self.computed(f, &mut kinds))?;
        }
        on.into_iter().try_for_each(|e| {
            self.subqueries(e, if rel == RelationKind::Private { rel } else { RelationKind::Public })
        })?;
        let above: Vec<&Expr> = s
            .items
            .iter()
            .map(|i| &i.expr)
            .chain(&s.having)
            .chain(behind.order_by.iter().map(|o| &o.expr))
            .collect();
        let around = if rel == RelationKind::Public && !s.from.is_empty() {
            RelationKind::Public
        } else {
            RelationKind::Released
        };
        let keys = released_keys(s);
        let grouped = s.has_group_by() || !keys.is_empty() || above.iter().any(|e| has_aggregate(e));
        // IN and EXISTS over private rows are tied to the rows around them when these are flattened. Above the aggregates
        // there are none.
        let rows = |e: &Expr| rel == RelationKind::Private && (!grouped || keys.contains(e));
        for e in above.iter().copied() {
            match rel {
                RelationKind::Private => self.above_rows(e, around, &rows)?,
                _ => self.subqueries(e, around)?,
            }
        }
        let below = if rel == RelationKind::Private { RelationKind::Private } else { around };
        for e in s.group_by.iter().chain(&s.filter) {
            self.subqueries(e, below)?;
        }
        if rel != RelationKind::Private {
            let inside = if self.released > before { RelationKind::Released } else { RelationKind::Public };
            return Ok(rel.or(inside));
        }
        // The finish has no row of these tables to give to a subquery.
        let mut own = BTreeSet::new();
        s.from.iter().for_each(|f| f.bindings(&mut own));
        if let Some(e) = above.iter().find_map(|e| correlated(e, &own, &rows)) {
            return Err(Meeting::Around.at(e.pos).into());
        }
        let of_each = matches!(s.distinct, Distinct::On(_));
        let grouped =
            above.iter().any(|e| has_aggregate(e)) || s.has_group_by() || matches!(s.distinct, Distinct::All);
        if of_each || grouped && self.is_by_unit(s)? || !grouped && has_windows(s) {
            if !s.grouping_sets.is_empty() {
                return Err(Within::Sets.at(s.pos).into());
            }
            if behind.cut {
                return Err(Within::Ordered.at(s.pos).into());
            }
            // What it is read as, and whether it is of one unit, is seen here first.
            self.relation().selected(None, s, behind.order_by, Place::TOP, s.pos)?;
            return Ok(RelationKind::Private);
        }
        if !grouped {
            if s.having.is_some() {
                return Err(Group::Having.at(s.pos).into());
            }
            if behind.cut || !behind.order_by.is_empty() {
                return Err(Returned::Ordered.at(s.pos).into());
            }
            return Ok(RelationKind::Private);
        }
        self.is_rewritten(&Site::Aggregates(s, &above))?;
        if self.matches.is_none() {
            self.build(s, behind, &above)?;
        } else {
            self.released += 1;
        }
        Ok(RelationKind::Released)
    }

    /// Builds the releases of a SELECT. `above`: every expression over its aggregates.
    fn build(&mut self, s: &'a Select, behind: Behind<'_>, above: &[&Expr]) -> Result<(), Stop> {
        let given = (self.policy, self.settings, self.facts);
        if s.grouping_sets.is_empty() {
            let keys = released_keys(s);
            let builder = Builder::new(self.relation(), self.policy, self.settings, self.facts, s)?;
            let mut releases = builder.build(s, &keys, &keys, above)?;
            if let (Some(_), [release]) = (behind.first, releases.as_slice()) {
                let groups = if release.public_groups { groups::size(&release.keys, self.facts) } else { 0 };
                release::ranking::decide(
                    &mut releases,
                    s,
                    behind.order_by,
                    behind.first,
                    groups,
                    self.settings,
                );
            }
            self.releases.extend(releases);
        } else {
            let (releases, sets) = grouping_sets::build(s, above, &|| self.relation(), given)?;
            self.releases.extend(releases);
            self.grouping_sets.push(sets);
        }
        self.released = self.releases.len();
        Ok(())
    }

    /// Whether a SELECT over private rows is grouped by the unit.
    fn is_by_unit(&mut self, s: &Select) -> Result<bool, Refusal> {
        if let Some(known) = s.id.and_then(|id| self.by_unit.get(&id)) {
            return Ok(*known);
        }
        let by_unit = self.relation().grouped_by_unit(s)?;
        self.by_unit.extend(s.id.map(|id| (id, by_unit)));
        Ok(by_unit)
    }

    /// Asks for public rows of FROM that are computed beside private ones. `kinds`: of what stands there, in order.
    fn computed(
        &mut self,
        from: &'a From,
        kinds: &mut std::slice::Iter<'_, RelationKind>,
    ) -> Result<(), Stop> {
        match from {
            From::Join { left, right, .. } => {
                self.computed(left, kinds)?;
                self.computed(right, kinds)
            }
            From::Relation { binding, query, pos, .. } => {
                let kind = kinds.next().copied();
                let public = kind == Some(RelationKind::Public);
                let cte = match self.bindings.get(*binding).map(|b| &b.source) {
                    Some(Source::Cte(id)) => self.ctes.get(id).copied(),
                    _ => None,
                };
                let known = self.known();
                match query.as_deref().or(cte) {
                    Some(q) if public && !public_rows::is_plain(q, known) => {
                        // What it looks at around it differs from row to row.
                        if is_correlated(q) {
                            return Err(Meeting::Lateral.at(*pos).into());
                        }
                        self.facts.want_rows(PublicRows::relation(*binding, q, known, *pos));
                        Ok(())
                    }
                    Some(q) if kind == Some(RelationKind::Released) && !is_correlated(q) => {
                        let releases = match self.bindings.get(*binding).map(|b| &b.source) {
                            Some(Source::Cte(id)) => self.within.get(id),
                            _ => self.derived.get(binding),
                        };
                        let releases = releases.cloned().unwrap_or_default();
                        self.stage_rows(q, releases, *pos)
                    }
                    _ if kind == Some(RelationKind::Released) => Err(Meeting::Joined.at(*pos).into()),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Whether the releases in a subquery beside private rows, from `before` on, are all those of its FROM, and so can stand
    /// there as constants: `EXISTS (SELECT 1 FROM top WHERE top.station = t.station)`.
    fn over_stages(&mut self, q: &'a Query, before: usize, pos: Pos) -> Result<bool, Stop> {
        let Ok(Some((s, []))) = conditions::single(q, pos) else { return Ok(false) };
        let grouped = s.has_group_by() || s.having.is_some() || s.distinct != Distinct::No;
        let mut kinds = Vec::new();
        s.from.iter().for_each(|f| self.kinds_of(f, &mut kinds));
        if grouped
            || s.items.iter().any(|i| has_aggregate(&i.expr))
            || !kinds.contains(&RelationKind::Released)
        {
            return Ok(false);
        }
        let mut kinds = kinds.iter();
        s.from.iter().try_for_each(|f| self.computed(f, &mut kinds))?;
        let staged = |n: usize| self.stages.iter().any(|s| s.releases.contains(&n));
        let all = (before..self.released).all(staged);
        self.over_stages.extend(q.body.first_select().filter(|_| all));
        Ok(all)
    }

    /// A relation in the making, of a release over what was found so far.
    fn relation(&self) -> Relation<'_, Reading> {
        let extract =
            if self.settings.old_extract { SqlType::Float8 } else { SqlType::Numeric { scale: None } };
        let rows = RowsPerUnit {
            chosen: self.settings.chosen_rows,
            otherwise: self.settings.max_rows,
            profiles: self.settings.profiles,
        };
        let server = Server { extract, utc: self.settings.utc(), iso: self.settings.iso };
        let of = (self.bindings, &self.ctes, &self.kinds);
        let given = Given::new(&self.stages);
        Relation::new(Rc::new(Scope::new(self.policy, of, server, rows, given, self.spend.same())))
    }

    fn kind_of(&self, binding: BindingId) -> RelationKind {
        self.kinds.of(binding, self.bindings, self.policy)
    }

    /// The kinds of the relations in a FROM that was visited, in order.
    fn kinds_of(&self, from: &From, out: &mut Vec<RelationKind>) {
        match from {
            From::Join { left, right, .. } => {
                self.kinds_of(left, out);
                self.kinds_of(right, out);
            }
            From::Relation { binding, .. } => out.push(self.kind_of(*binding)),
        }
    }

    fn known(&self) -> public_rows::Known<'_> {
        public_rows::Known { bindings: self.bindings, ctes: &self.ctes }
    }

    /// Visits the queries inside an expression above aggregates, whose arguments are computed from rows, as is what `rows`
    /// says.
    fn above_rows(
        &mut self,
        e: &'a Expr,
        around: RelationKind,
        rows: &dyn Fn(&Expr) -> bool,
    ) -> Result<(), Stop> {
        if rows(e) || matches!(e.kind, ExprKind::Aggregate(_)) {
            return self.subqueries(e, RelationKind::Private);
        }
        self.query_of(e, around)?;
        e.operands().into_iter().try_for_each(|c| self.above_rows(c, around, rows))
    }
}

impl Around for Walk<'_> {
    fn policy(&self) -> &Policy {
        self.policy
    }

    fn bindings(&self) -> &Bindings {
        self.bindings
    }

    fn is_of_several_units(&self, s: &Select) -> bool {
        let mut kinds = Vec::new();
        s.from.iter().for_each(|f| self.kinds_of(f, &mut kinds));
        let private = kinds.contains(&RelationKind::Private);
        private && self.relation().grouped_by_unit(s).is_ok_and(|of_one| !of_one)
    }
}
