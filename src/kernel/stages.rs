//! The stages of a fetch: rows per unit and group, at most so many groups of a unit, sums over units, and what comes back.
//!
//! Each stage is a CTE that reads tables, or the stage before. Another way to bound groups is another stage.

use super::classes::Scan;
use super::domain::{Domain, domain, matches, stage_of};
use super::expression::{Allowed, column_of, walk};
use super::names::{Callee, arguments, callee, ident};
use super::range;
use super::rows::{Context, Found, Frame, Rows, Source, strip, uncollated};
use super::shape::{grouped, items, ordered_query, plain_query, plain_select, select_of};
use super::text::Text;
use super::types::{Ty, of as type_of};
use super::{Certified, Part, Result, refuse};
use policy::Privacy;
use sqlparser::ast::*;
use std::collections::HashMap;
use std::rc::Rc;

/// A CTE that was understood.
enum Stage {
    /// Public rows.
    Domain(Domain),
    /// A row per unit and group.
    Units(Units),
    /// The same, with a number for each of a unit's rows.
    Ranked { units: Units, rank: String },
    /// A row per group.
    Groups(Groups),
}

#[derive(Clone)]
struct Units {
    /// All columns: the unit, keys, the rest.
    rows: Rc<Rows>,
    keys: Vec<Key>,
    /// Groups of one unit are at most so many.
    groups: Option<u64>,
}

/// A group key.
#[derive(Clone)]
struct Key {
    column: (String, Found),
    /// Equal keys look the same: which unit's spelling comes back does not matter.
    one_form: bool,
}

struct Groups {
    keys: Vec<Key>,
    sums: Vec<Sum>,
    groups: Option<u64>,
}

struct Sum {
    name: String,
    linf: u128,
    /// Counts units.
    units: bool,
}

/// Earlier stages, by their names.
struct Stages<'p> {
    known: HashMap<String, Stage>,
    context: Context<'p>,
}

/// Certifies a whole query.
pub(crate) fn certify(sql: &str, text: &Text, context: Context<'_>) -> Result<Certified> {
    let query = &text.query;
    let (body, order) = ordered_query(query)?;
    let mut stages = Stages { known: HashMap::new(), context };
    let Some(With { with_token: _, recursive: false, cte_tables }) = &query.with else {
        return refuse("a query without stages", query);
    };
    for Cte { alias, query, from, materialized: _, closing_paren_token: _ } in cte_tables {
        let name = ident(&alias.name)?;
        if from.is_some()
            || alias.at.is_some()
            || !alias.columns.is_empty()
            || stages.known.contains_key(&name)
        {
            return refuse("a stage of an unknown kind", &alias.name);
        }
        let select = select_of(plain_query(query)?)?;
        let stage = stages.stage(select)?;
        stages.known.insert(name, stage);
    }
    let select = select_of(body)?;
    plain_select(select)?;
    let [from] = select.from.as_slice() else { return refuse("a last SELECT of an unknown kind", select) };
    let free = matches!(&select.group_by, GroupByExpr::Expressions(g, m) if g.is_empty() && m.is_empty());
    if select.selection.is_some() || !free {
        return refuse("a last SELECT that does more than pass columns through", select);
    }
    let done = match from.joins.as_slice() {
        [] => stages.private_groups(from, select, order)?,
        [join] => stages.public_groups(from, join, select, order)?,
        _ => return refuse("a last SELECT of an unknown kind", from),
    };
    Ok(Certified { text: sql.to_owned(), seeded: text.seeded, ..done })
}

impl<'p> Stages<'p> {
    fn stage(&self, select: &Select) -> Result<Stage> {
        let first = select.from.first().map(|f| stage_of(&f.relation)).transpose()?.flatten();
        match first.and_then(|name| self.known.get(&name).map(|s| (name, s))) {
            Some((name, Stage::Units(units))) => match select.projection.first() {
                Some(SelectItem::QualifiedWildcard(..)) => self.ranked(select, &name, units),
                _ => self.groups(select, &name, units, None),
            },
            Some((name, Stage::Ranked { units, rank })) => self.groups(select, &name, units, Some(rank)),
            Some((name, _)) => refuse("a stage over a stage of the wrong kind", name),
            None if select.from.iter().any(|f| self.reads_private(f)) => self.rows(select),
            None => Ok(Stage::Domain(domain(select, self.context)?)),
        }
    }

    /// Whether a private table stands in this FROM. Decides only which rules are tried.
    fn reads_private(&self, from: &TableWithJoins) -> bool {
        let factor = |f: &TableFactor| match f {
            TableFactor::Table { .. } => super::rows::table_of(f, self.context).is_ok_and(|t| {
                self.context.policy.tables.get(t).is_some_and(|t| t.privacy != Privacy::Public)
            }),
            TableFactor::NestedJoin { table_with_joins, .. } => self.reads_private(table_with_joins),
            TableFactor::Derived { subquery, .. } => self.set_reads_private(&subquery.body),
            _ => false,
        };
        factor(&from.relation) || from.joins.iter().any(|j| factor(&j.relation))
    }

    fn set_reads_private(&self, body: &SetExpr) -> bool {
        match body {
            SetExpr::Select(s) => s.from.iter().any(|f| self.reads_private(f)),
            SetExpr::Query(q) => self.set_reads_private(&q.body),
            SetExpr::SetOperation { left, right, .. } => {
                self.set_reads_private(left) || self.set_reads_private(right)
            }
            _ => false,
        }
    }

    /// A stage over tables: a row per unit and group, or a row per group straight from the rows.
    fn rows(&self, select: &Select) -> Result<Stage> {
        plain_select(select)?;
        let frame = Frame::of(select, None, self.context)?;
        let items = items(select)?;
        let grouped = grouped(select, &items)?;
        if !frame.part.private {
            return refuse("a stage that is neither a domain nor private", select);
        }
        if frame.part.nullable {
            return refuse("rows of nobody are among the units': unit IS NOT NULL is missing", select);
        }
        let (by, rest) = items.split_at_checked(grouped).unwrap_or_default();
        let key = |(e, name): &(&Expr, String)| self.key(e, name, &frame);
        let policy = self.context.policy;
        match by.split_first() {
            Some(((unit, name), keys)) if frame.is_unit(uncollated(unit).0) => {
                walk(unit, &frame, Allowed::default(), &mut Vec::new())?;
                let keys: Vec<Key> = keys.iter().map(key).collect::<Result<_>>()?;
                let mut columns = vec![(name.clone(), Found::of(type_of(unit, &frame, policy)))];
                columns.extend(keys.iter().map(|k| k.column.clone()));
                for (e, name) in rest {
                    let allowed = Allowed { subqueries: true, aggregates: true, ..Allowed::default() };
                    walk(e, &frame, allowed, &mut Vec::new())?;
                    let count = aggregate(e, "count").is_some();
                    columns.push((name.clone(), Found { count, ..Found::of(type_of(e, &frame, policy)) }));
                }
                names_differ(columns.iter().map(|(n, _)| n))?;
                let groups = if keys.is_empty() { Some(1) } else { frame.part.rows };
                let rows = Rows { columns, units: vec![0], ..Rows::default() };
                Ok(Stage::Units(Units { rows: Rc::new(rows), keys, groups }))
            }
            _ => {
                let keys: Vec<Key> = by.iter().map(key).collect::<Result<_>>()?;
                let Some(n) = frame.part.rows else {
                    return refuse("rows are added up that no key shows to be few for each unit", select);
                };
                let groups = if keys.is_empty() { Some(1) } else { Some(n) };
                self.sums(rest, &frame, keys, n, groups)
            }
        }
    }

    fn key(&self, e: &Expr, name: &str, frame: &Frame<'_>) -> Result<Key> {
        let allowed = || Allowed { subqueries: true, ..Allowed::default() };
        walk(e, frame, allowed(), &mut Vec::new())?;
        // Of spellings that are equal, one comes back, and others' rows could change which.
        let (mut parts, mut seen) = (Vec::new(), Vec::new());
        shown(e, &mut parts);
        for part in parts.into_iter().filter(|e| type_of(e, frame, self.context.policy) != Ty::Bool) {
            walk(part, frame, allowed(), &mut seen)?;
        }
        if !seen.iter().all(|c| frame.column(c).is_some_and(|f| f.deterministic)) {
            return refuse("a key with a nondeterministic collation", e);
        }
        let ty = type_of(e, frame, self.context.policy);
        let one_form = one_form(e, &ty, frame, self.context);
        Ok(Key { column: (name.to_owned(), Found::of(ty)), one_form })
    }

    /// `SELECT c.*, row_number() OVER (PARTITION BY c.u ORDER BY …) AS r FROM c`, of groups of a domain where it is joined.
    fn ranked(&self, select: &Select, name: &str, units: &Units) -> Result<Stage> {
        plain_select(select)?;
        let free = matches!(&select.group_by, GroupByExpr::Expressions(g, m) if g.is_empty() && m.is_empty());
        let ([from], true, None) = (select.from.as_slice(), free, &select.selection) else {
            return refuse("a rank over something else than a stage", select);
        };
        let mut units = units.clone();
        match from.joins.as_slice() {
            [] => {}
            [Join { relation, global: false, join_operator: JoinOperator::Join(JoinConstraint::On(on)) }] => {
                let (d, domain) = self.domain(relation)?;
                let keys: Vec<_> = units.keys.iter().map(|k| k.column.clone()).collect();
                matches(on, (name, &keys), (&d, domain))?;
                units.groups = [units.groups, domain.size].into_iter().flatten().min();
            }
            _ => return refuse("a rank over something else than a stage and a domain", from),
        }
        let [
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(all), options),
            SelectItem::ExprWithAlias { expr: Expr::Function(f), alias },
        ] = select.projection.as_slice()
        else {
            return refuse("a rank of an unknown kind", select);
        };
        let all = match all.0.as_slice() {
            [one] => one.as_ident().map(ident).transpose()?,
            _ => None,
        };
        if all.as_deref() != Some(name) || !options.to_string().is_empty() {
            return refuse("a rank of an unknown kind", select);
        }
        let (args, star, distinct) = arguments(f)?;
        let Some(WindowType::WindowSpec(WindowSpec {
            window_name: None,
            partition_by,
            order_by,
            window_frame: None,
        })) = &f.over
        else {
            return refuse("a rank of an unknown kind", f);
        };
        if callee(f)? != Callee::RowNumber || !args.is_empty() || star || distinct {
            return refuse("a window that is no rank", f);
        }
        let column = |i: usize| units.rows.columns.get(i).map(|(n, _)| (name.to_owned(), n.clone()));
        let by: Vec<_> = partition_by.iter().map(column_of).collect();
        if by != [column(0)] {
            return refuse("a rank that is not one of the unit's rows", f);
        }
        let scan = Scan { alias: name.to_owned(), source: Source::Rows(Rc::clone(&units.rows)) };
        let frame = Frame::stage(vec![scan], self.context);
        let keys: Vec<_> = (1..=units.keys.len()).map(column).collect();
        let mut ordered = Vec::new();
        for OrderByExpr { expr, options: _, with_fill } in order_by {
            let mut seen = Vec::new();
            walk(expr, &frame, Allowed { seed: true, ..Allowed::default() }, &mut seen)?;
            let known =
                |c: &(String, String)| column(0).as_ref() == Some(c) || keys.iter().flatten().any(|k| k == c);
            if with_fill.is_some() || !seen.iter().all(known) {
                return refuse("a rank by something else than the unit and its keys", expr);
            }
            ordered.push(column_of(expr));
        }
        // Without ties: which group is dropped would hang on the order of others' rows.
        if !keys.iter().all(|k| ordered.contains(k)) {
            return refuse("a rank with ties", f);
        }
        let rank = ident(alias)?;
        if units.rows.columns.iter().any(|(n, _)| *n == rank) {
            return refuse("two columns of one name", alias);
        }
        Ok(Stage::Ranked { units, rank })
    }

    /// Sums over units.
    fn groups(&self, select: &Select, name: &str, units: &Units, rank: Option<&String>) -> Result<Stage> {
        plain_select(select)?;
        if !matches!(select.from.as_slice(), [TableWithJoins { relation: _, joins }] if joins.is_empty()) {
            return refuse("sums over more than one stage", select);
        }
        let kept = match (&select.selection, rank) {
            (None, _) => None,
            (Some(e), Some(rank)) => match strip(e) {
                Expr::BinaryOp { left, op: BinaryOperator::LtEq, right }
                    if column_of(left) == Some((name.to_owned(), rank.clone())) =>
                {
                    let nothing = Frame::stage(Vec::new(), self.context);
                    walk(right, &nothing, Allowed::default(), &mut Vec::new())?;
                    let k = range::of(right, &nothing);
                    match (k.lo, k.lo == k.hi) {
                        (Some(k), true) => Some(u64::try_from(k.max(0)).unwrap_or(u64::MAX)),
                        _ => return refuse("a rank that is compared with no constant", e),
                    }
                }
                _ => return refuse("a condition that is no rank", e),
            },
            (Some(e), None) => return refuse("a condition that is no rank", e),
        };
        let items = items(select)?;
        let grouped = grouped(select, &items)?;
        let (by, rest) = items.split_at_checked(grouped).unwrap_or_default();
        let is_key = |((e, _), k): (&(&Expr, String), &Key)| {
            column_of(e) == Some((name.to_owned(), k.column.0.clone()))
        };
        if by.len() != units.keys.len() || !by.iter().zip(&units.keys).all(is_key) {
            return refuse("groups by something else than all keys, in order", select);
        }
        let renamed = by
            .iter()
            .zip(&units.keys)
            .map(|((_, n), k)| Key { column: (n.clone(), k.column.1.clone()), ..*k });
        let scan = Scan { alias: name.to_owned(), source: Source::Rows(Rc::clone(&units.rows)) };
        let frame = Frame::stage(vec![scan], self.context);
        let groups = [units.groups, kept].into_iter().flatten().min();
        self.sums(rest, &frame, renamed.collect(), 1, groups)
    }

    /// What is added up over at most `n` rows for each unit and group.
    fn sums(
        &self,
        list: &[(&Expr, String)],
        frame: &Frame<'_>,
        keys: Vec<Key>,
        n: u64,
        groups: Option<u64>,
    ) -> Result<Stage> {
        let n = n.max(1);
        let mut sums = Vec::new();
        for (e, name) in list {
            let row = Allowed { subqueries: true, ..Allowed::default() };
            let (each, star) = match (aggregate(e, "count"), coalesced(e).and_then(|e| aggregate(e, "sum"))) {
                (Some((arg, star)), _) => {
                    arg.map_or(Ok(()), |arg| walk(arg, frame, row, &mut Vec::new()))?;
                    (1, star)
                }
                (None, Some((Some(v), _))) => {
                    walk(v, frame, row, &mut Vec::new())?;
                    if !type_of(v, frame, self.context.policy).is_integral() {
                        return refuse("a sum of what may be no integers", v);
                    }
                    match range::of(v, frame).magnitude() {
                        Some(most) => (most, false),
                        None => return refuse("a sum of values that no clamp bounds on both sides", v),
                    }
                }
                _ => return refuse("neither a count nor COALESCE(sum(…), 0)", e),
            };
            let Some(linf) = each.checked_mul(u128::from(n)) else {
                return refuse("a sum without bounds", e);
            };
            sums.push(Sum { name: name.clone(), linf, units: star && n == 1 });
        }
        names_differ(keys.iter().map(|k| &k.column.0).chain(sums.iter().map(|s| &s.name)))?;
        Ok(Stage::Groups(Groups { keys, sums, groups }))
    }

    fn domain(&self, factor: &TableFactor) -> Result<(String, &Domain)> {
        match stage_of(factor)?.and_then(|n| self.known.get_key_value(&n)) {
            Some((name, Stage::Domain(d))) => Ok((name.clone(), d)),
            _ => refuse("a join with something else than a domain", factor),
        }
    }

    fn last(&self, factor: &TableFactor) -> Result<(String, &Groups)> {
        match stage_of(factor)?.and_then(|n| self.known.get_key_value(&n)) {
            Some((name, Stage::Groups(g))) => Ok((name.clone(), g)),
            _ => refuse("a last SELECT of something else than groups", factor),
        }
    }

    /// `SELECT g.… FROM g`
    fn private_groups(
        &self,
        from: &TableWithJoins,
        select: &Select,
        order: Option<&OrderBy>,
    ) -> Result<Certified> {
        let (name, g) = self.last(&from.relation)?;
        let keys = g.keys.len();
        let mut sums = Vec::new();
        for (i, (e, _)) in items(select)?.into_iter().enumerate() {
            let column = column_of(e).filter(|c| c.0 == name);
            let sum = column.as_ref().and_then(|c| g.sums.iter().find(|s| s.name == c.1));
            match (g.keys.get(i), sum) {
                (Some(k), _) if column.as_ref().is_some_and(|c| c.1 == k.column.0) && k.one_form => {}
                (Some(k), _) if !k.one_form => {
                    return refuse("a private key whose equals may look different", e);
                }
                (None, Some(sum)) => sums.push(sum),
                _ => return refuse("a column that is neither a key nor a sum", e),
            }
        }
        if order.is_some() || select.projection.len() < keys {
            return refuse("a last SELECT without its keys, or in an order", select);
        }
        let selects = keys > 0;
        if selects && !sums.first().is_some_and(|s| s.units) {
            return refuse("private groups without a count of their units", select);
        }
        let parts: Vec<&Sum> = sums.split_off(usize::from(selects));
        self.certified(g, g.groups, &parts, selects, !selects)
    }

    /// `SELECT d.…, COALESCE(g.…, 0) FROM d LEFT JOIN g ON … ORDER BY 1, …`
    fn public_groups(
        &self,
        from: &TableWithJoins,
        join: &Join,
        select: &Select,
        order: Option<&OrderBy>,
    ) -> Result<Certified> {
        let (d, domain) = self.domain(&from.relation)?;
        let (name, g) = self.last(&join.relation)?;
        let (
            JoinOperator::Left(JoinConstraint::On(on)) | JoinOperator::LeftOuter(JoinConstraint::On(on)),
            false,
        ) = (&join.join_operator, join.global)
        else {
            return refuse("a join with a domain that loses groups", from);
        };
        let keys: Vec<_> = g.keys.iter().map(|k| k.column.clone()).collect();
        matches(on, (&name, &keys), (&d, domain))?;
        let mut sums = Vec::new();
        for (i, (e, _)) in items(select)?.into_iter().enumerate() {
            let key = domain.rows.columns.get(i).map(|(n, _)| (d.clone(), n.clone()));
            let column = coalesced(e).and_then(column_of).filter(|c| c.0 == name);
            let sum = column.and_then(|c| g.sums.iter().find(|s| s.name == c.1));
            match (key, sum) {
                (Some(key), _) if column_of(e) == Some(key.clone()) => {}
                (None, Some(sum)) => sums.push(sum),
                _ => return refuse("a column that is neither a key nor a sum", e),
            }
        }
        if !in_order(order, keys.len()) || select.projection.len() < keys.len() {
            return refuse("public groups that are not in the order of their keys", select);
        }
        let groups = [g.groups, domain.size].into_iter().flatten().min();
        self.certified(g, groups, &sums, false, true)
    }

    fn certified(
        &self,
        g: &Groups,
        groups: Option<u64>,
        parts: &[&Sum],
        selects: bool,
        public: bool,
    ) -> Result<Certified> {
        let l0 = match groups {
            Some(l0) => l0,
            // All of them come back, however many a unit touches.
            None if public => u64::MAX,
            None => return refuse("nothing bounds the groups of a unit", g.keys.len()),
        };
        Ok(Certified {
            text: String::new(),
            seeded: false,
            keys: g.keys.len(),
            selects,
            parts: parts.iter().map(|s| Part { linf: s.linf }).collect(),
            l0: l0.max(1),
            public,
        })
    }
}

fn names_differ<'n>(names: impl Iterator<Item = &'n String>) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    for n in names {
        if n.is_empty() || !seen.insert(n) {
            return refuse("columns of a stage that have no names of their own", n);
        }
    }
    Ok(())
}

/// The argument of an aggregate, and whether it is `*`.
fn aggregate<'e>(e: &'e Expr, wanted: &str) -> Option<(Option<&'e Expr>, bool)> {
    let Expr::Function(f) = e else { return None };
    if f.over.is_some() || callee(f).ok()? != Callee::Aggregate(wanted.to_owned()) {
        return None;
    }
    match (arguments(f).ok()?, wanted) {
        ((args, true, false), "count") if args.is_empty() => Some((None, true)),
        ((args, false, false), _) => match args.as_slice() {
            [one] => Some((Some(one), false)),
            _ => None,
        },
        _ => None,
    }
}

/// The parts that a key can be: those that CASE chooses from, and not what it chooses by.
fn shown<'e>(e: &'e Expr, out: &mut Vec<&'e Expr>) {
    match strip(e) {
        Expr::Case { conditions, else_result, .. } => {
            conditions.iter().for_each(|c| shown(&c.result, out));
            else_result.iter().for_each(|e| shown(e, out));
        }
        e => out.push(e),
    }
}

/// What `COALESCE(…, 0)` is of.
fn coalesced(e: &Expr) -> Option<&Expr> {
    let Expr::Function(f) = e else { return None };
    let zero =
        |e: &Expr| matches!(e, Expr::Value(v) if matches!(&v.value, Value::Number(n, false) if n == "0"));
    match (callee(f).ok()?, arguments(f).ok()?) {
        (Callee::Keyword(name), (args, false, false)) if name == "coalesce" => match args[..] {
            [x, o] if zero(o) => Some(x),
            _ => None,
        },
        _ => None,
    }
}

/// `ORDER BY 1, 2, …`
fn in_order(order: Option<&OrderBy>, keys: usize) -> bool {
    let Some(OrderBy { kind: OrderByKind::Expressions(list), interpolate: None }) = order else {
        return false;
    };
    let place = |o: &OrderByExpr| match &o.expr {
        Expr::Value(v) if o.with_fill.is_none() => match &v.value {
            Value::Number(n, false) => n.parse::<usize>().ok(),
            _ => None,
        },
        _ => None,
    };
    list.iter().map(place).eq((1..=keys).map(Some))
}

/// Whether equal values of a key are printed the same.
fn one_form(e: &Expr, ty: &Ty, frame: &Frame<'_>, context: Context<'_>) -> bool {
    let exact = |e: &Expr| type_of(e, frame, context.policy).is_exact();
    match ty {
        Ty::Narrow | Ty::Wide | Ty::Bool | Ty::Text | Ty::Date | Ty::Timestamp | Ty::Timestamptz => true,
        Ty::Time | Ty::Uuid | Ty::Enum(_) => true,
        Ty::Integral | Ty::Exact => match strip(e) {
            Expr::Function(f) => callee(f).is_ok_and(|c| c == Callee::Pure("trim_scale".into())),
            e => column_of(e).and_then(|c| frame.column(&c)).is_some_and(|f| f.scaled),
        },
        Ty::Float4 | Ty::Float8 => match strip(e) {
            // A numeric has no -0.
            Expr::Cast { expr, .. } => exact(expr),
            // Nor is it here.
            Expr::Case { operand: None, conditions, else_result: Some(rest), .. } => match conditions.first()
            {
                Some(CaseWhen {
                    condition: Expr::BinaryOp { left, op: BinaryOperator::Eq, right }, ..
                }) => {
                    let zero = range::of(right, frame).magnitude() == Some(0);
                    left == rest && zero && conditions.iter().all(|c| constant(&c.result))
                }
                _ => false,
            },
            _ => false,
        },
        Ty::Padded | Ty::Interval | Ty::Null | Ty::Unknown => false,
    }
}

fn constant(e: &Expr) -> bool {
    match e {
        Expr::Cast { expr, .. } => constant(expr),
        e => matches!(e, Expr::Value(_)),
    }
}
