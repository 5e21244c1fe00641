//! Relations of which each row is computed from several rows of one unit: GROUP BY the unit, SELECT DISTINCT of it, windows
//! that are partitioned by it, DISTINCT ON.
//!
//! Each becomes a scan of its own, with the unit in its first column, and what the analyst selects becomes expressions over
//! its columns. What stands above aggregates or windows (HAVING, `max(x) - min(x)`, `rn = 1`) is thus read as if it stood in
//! the query around it.
//!
//! An order within a unit may leave ties, which are broken (`ties`): how a table lies on disk says nothing.

use super::relation::{Owned, Place, Read, Reading, Relation};
use super::scans::Result;
use crate::algebra::equivalence_classes::Col;
use crate::algebra::frames;
use crate::algebra::normal::Normal;
use crate::algebra::props::Owner;
use crate::algebra::source::{Leaf, Over, SetRows, SetTree, Unit};
use crate::algebra::ties::break_ties;
use crate::algebra::windows::Call;
use crate::algebra::windows::Sort;
use crate::algebra::windows::Sorted;
use crate::algebra::windows::Window;
use crate::expr::per_unit::{self, Place as Column};
use crate::expr::truth;
use crate::expr::{Scalar, filtered, is};
use crate::refusals::Refusal;
use crate::refusals::aggregate::Aggregation;
use crate::refusals::group::Group;
use crate::refusals::within::Within;
use crate::syntax::grouping::{has_windows, is_grouped, keys};
use schema::SqlType;
use sql::ast::*;

/// A SELECT as joins of scans, with what it selects over them.
pub(crate) struct Selected {
    pub tree: Normal,
    pub items: Vec<Expr>,
}

/// Rows under what is computed over several of them, with their units found.
struct Under<'a> {
    inner: Relation<'a, Owned>,
    unit: Unit,
    exact: Vec<Col>,
    bound: Option<u64>,
    /// Rows of a unit that sums over them take for as many.
    most: u32,
    /// The most that a number of them is: a bound that cuts few units makes little noise in what is computed of numbers.
    counted: u32,
    keeps: Option<usize>,
}

/// The scan in the making: its columns, and what in the analyst's expressions they stand for.
struct Made {
    binding: BindingId,
    columns: Vec<Scalar>,
    named: Vec<(Expr, usize)>,
}

impl Made {
    /// Where the next column stands.
    fn place(&self, nullable: bool) -> Column {
        Column { binding: self.binding, name: format!("c{}", self.columns.len()), nullable }
    }

    fn push(&mut self, e: &Expr, column: Scalar) {
        self.named.push((e.clone(), self.columns.len()));
        self.columns.push(column);
    }

    fn column(&self, e: &Expr) -> Option<Expr> {
        let (_, column) = self.named.iter().find(|(named, _)| named == e)?;
        Some(Expr::new(ExprKind::Column { binding: self.binding, column: *column }, e.pos))
    }
}

/// Aggregates that say how far values lie apart.
const SPREADS: &[&str] = &["variance", "var_samp", "var_pop", "stddev", "stddev_samp", "stddev_pop"];

impl<'a> Relation<'a, Reading> {
    /// Whether a SELECT is grouped by its unit: its rows are then of one unit each.
    pub(crate) fn grouped_by_unit(self, s: &Select) -> Result<bool> {
        let keys = keys(s);
        if keys.is_empty() {
            return Ok(false);
        }
        let (Relation { scans, state }, _) = self.read(s)?.owned(None, None)?;
        let exact = scans.exact(&state.props);
        for k in &keys {
            let k = scans.expand(k)?;
            if scans.col(&k).is_some_and(|c| exact.contains(&c)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The rows of a SELECT below a release. `binding`: the derived table that it is, or is part of, if it is one.
    pub(crate) fn selected(
        &mut self,
        binding: Option<BindingId>,
        s: &Select,
        order_by: &[OrderItem],
        at: Place,
        pos: Pos,
    ) -> Result<Selected> {
        let pos = s.pos.or(pos);
        if !s.grouping_sets.is_empty() {
            return Err(Within::Sets.at(pos));
        }
        let grouped = is_grouped(s) || s.distinct == Distinct::All;
        let windows = has_windows(s);
        match &s.distinct {
            Distinct::On(on) => return self.first_of_each(binding, (s, on, order_by), at, pos),
            _ if !order_by.is_empty() => return Err(Within::Ordered.at(pos)),
            Distinct::All if is_grouped(s) || windows => {
                return Err(Within::DistinctComputed.at(pos));
            }
            _ => {}
        }
        match (grouped, windows) {
            (false, false) => self.plain_rows(s, at, pos),
            (true, false) => self.grouped(binding, s, at, pos),
            (_, true) => {
                let (under, items) = self.below(binding, s, pos)?;
                self.windowed(binding, under, &items, at, pos)
            }
        }
    }

    /// A SELECT that only projects and filters.
    fn plain_rows(&mut self, s: &Select, at: Place, pos: Pos) -> Result<Selected> {
        let Some(tree) = self.list(&s.from, at)? else {
            return Err(Within::NoFrom.at(pos));
        };
        let tree = self.with_scalars(tree, s)?;
        if let Some(f) = &s.filter {
            let f = self.scans.expand(f)?;
            self.condition(f, at);
        }
        let items = s.items.iter().map(|i| self.scans.expand(&i.expr)).collect::<Result<Vec<_>>>()?;
        Ok(Selected { tree, items })
    }

    /// What windows stand over: rows, or groups of them.
    fn below(&self, binding: Option<BindingId>, s: &Select, pos: Pos) -> Result<(Under<'a>, Vec<Expr>)> {
        let mut inner = self.nested();
        let (inner, items) = if is_grouped(s) {
            let Selected { tree, items } = inner.grouped(binding, s, Place::TOP, pos)?;
            (inner.finished(tree)?, items)
        } else {
            let inner = inner.read(s)?;
            let items = s.items.iter().map(|i| inner.scans.expand(&i.expr)).collect::<Result<Vec<_>>>()?;
            (inner, items)
        };
        Ok((inner.under(pos)?, items))
    }

    /// DISTINCT ON: the rows that a window numbers 1.
    fn first_of_each(
        &mut self,
        binding: Option<BindingId>,
        (s, on, order_by): (&Select, &[Expr], &[OrderItem]),
        at: Place,
        pos: Pos,
    ) -> Result<Selected> {
        let (under, mut items) = self.below(binding, s, pos)?;
        let mut written = |e: &Expr| match &e.kind {
            ExprKind::Output(i) => items.get(*i).cloned().ok_or_else(|| Within::Ordered.at(pos)),
            _ => under.inner.scans.expand(e),
        };
        let partition_by = on.iter().map(&mut written).collect::<Result<Vec<_>>>()?;
        let mut order = Vec::new();
        for o in order_by {
            let expr = written(&o.expr)?;
            if !partition_by.contains(&expr) {
                order.push(OrderItem { expr, ..o.clone() });
            }
        }
        if !partition_by.iter().any(|p| under.is_unit(p)) {
            return Err(Within::DistinctOn { unit: under.unit_name() }.at(pos));
        }
        let function = Box::new(Expr::new(ExprKind::Call { name: "row_number", args: Vec::new() }, pos));
        let kind = ExprKind::Window { function, partition_by, order_by: order, frame: None };
        items.push(Expr::new(kind, pos));
        let Selected { tree, mut items } = self.windowed(binding, under, &items, at, pos)?;
        let number = items.pop().ok_or_else(|| Within::Ordered.at(pos))?;
        let one = Expr::new(ExprKind::Literal(Literal::Number("1".into())), pos);
        let first = ExprKind::Binary { op: BinaryOp::Eq, left: Box::new(number), right: Box::new(one) };
        self.condition(Expr::new(first, pos), at);
        Ok(Selected { tree, items })
    }

    /// GROUP BY the unit, and perhaps more.
    fn grouped(&mut self, binding: Option<BindingId>, s: &Select, at: Place, pos: Pos) -> Result<Selected> {
        let inner = self.nested().read(s)?;
        let mut keys = keys(s).iter().map(|k| inner.scans.expand(k)).collect::<Result<Vec<_>>>()?;
        let mut items = s.items.iter().map(|i| inner.scans.expand(&i.expr)).collect::<Result<Vec<_>>>()?;
        items.extend(s.having.as_ref().map(|h| inner.scans.expand(h)).transpose()?);
        let mut under = inner.under(pos)?;
        let Some(unit) = keys.iter().position(|k| under.is_unit(k)) else {
            return Err(Within::Several { unit: under.unit_name() }.at(pos));
        };
        keys.swap(0, unit);
        let mut made = under.made();
        let mut values = Vec::with_capacity(keys.len());
        for k in &keys {
            let value = per_unit::merged(under.inner.value(k)?, false);
            made.push(k, per_unit::one_of(made.place(false), &value, "GROUP BY", k.pos)?);
            values.push(value);
        }
        let mut calls = Vec::new();
        let mut items =
            items.iter().map(|e| under.above(e, &mut made, &mut calls)).collect::<Result<Vec<_>>>()?;
        if values.len() == 1 {
            under.bound = Some(1);
        }
        let tree = self.scan_over(binding, under, made, (values, Over::Groups(calls)), at, pos)?;
        if s.having.is_some()
            && let Some(having) = items.pop()
        {
            self.condition(having, at);
        }
        Ok(Selected { tree, items })
    }

    /// Windows partitioned by the unit, and perhaps more.
    fn windowed(
        &mut self,
        binding: Option<BindingId>,
        mut under: Under<'a>,
        items: &[Expr],
        at: Place,
        pos: Pos,
    ) -> Result<Selected> {
        if under.unit.columns.len() != 1 {
            return Err(Within::WindowFull.at(pos));
        }
        let mut made = under.made();
        let unit = under.unit.scalar();
        made.columns.push(per_unit::one_of(made.place(false), &unit, "a window", pos)?);
        let mut values = vec![unit];
        for e in items {
            under.columns_of(e, &mut made, &mut values)?;
        }
        let mut calls = Vec::new();
        for e in items {
            under.calls_of(e, &mut made, &mut calls)?;
        }
        let called = calls.into_iter().map(|(e, call)| under.window(&e, call));
        let mut windows = called.collect::<Result<Vec<_>>>()?;
        break_ties(values.get(1..).unwrap_or_default(), &mut windows);
        let windows = windows.into_iter().map(|w| frames::bounded(w, pos)).collect::<Result<_>>()?;
        let mut items = items.to_vec();
        items.iter_mut().for_each(|e| named(e, &made));
        let tree = self.scan_over(binding, under, made, (values, Over::Windows(windows)), at, pos)?;
        Ok(Selected { tree, items })
    }

    /// The scan of what was made.
    fn scan_over(
        &mut self,
        binding: Option<BindingId>,
        under: Under<'a>,
        made: Made,
        (items, over): (Vec<Scalar>, Over),
        at: Place,
        pos: Pos,
    ) -> Result<Normal> {
        let unit_name = under.unit_name();
        let Under { inner: Relation { scans, state }, bound, keeps, .. } = under;
        let mut branch = scans.branch(state.tree, state.filter, items);
        (branch.over, branch.bound) = (over, bound);
        self.scans.absorb(&scans);
        if let Some(derived) = binding {
            self.scans.scope.stands_for(made.binding, derived);
        }
        let tree = SetTree::Branch(Box::new(branch));
        let capped = match binding.and_then(|b| self.scans.scope.binding(b)).map(|b| &b.source) {
            Some(Source::Capped { table, rows }) => Some((*table, *rows)),
            _ => None,
        };
        let rows = SetRows { tree, columns: made.columns, unit: Some(0), unit_name, keeps, capped };
        self.scan(made.binding, Leaf::Set(Box::new(rows)), at.nullable, pos)
    }
}

impl<'a> Relation<'a, Read> {
    /// Finds whose the rows are.
    fn under(self, pos: Pos) -> Result<Under<'a>> {
        self.no_optional(pos)?;
        let inner = self.filtered()?;
        let (scans, props) = (&inner.scans, &inner.state.props);
        let unit = match props.owner.clone() {
            Owner::Unit(unit) => unit,
            Owner::Public => return Err(Within::Public.at(pos)),
            Owner::Outside { .. } | Owner::Unfound => return Err(Refusal::Unread("FROM", pos)),
        };
        let own = props.rows.follows.iter().filter_map(|b| scans.scan_of(*b)?.keeps());
        let own = own.filter_map(|t| Some((scans.scope.table(t)?.max_rows?, t))).min();
        let given = scans.scope.rows;
        let said = given.chosen.or(own.map(|o| o.0)).unwrap_or(given.otherwise);
        let proven = props.rows.bound.and_then(|n| u32::try_from(n).ok());
        let least = |said: u32| proven.map_or(said, |p| p.min(said)).max(1);
        let tables = props.rows.follows.iter().filter_map(|b| scans.scope.table(scans.scan_of(*b)?.keeps()?));
        let known = tables.filter_map(|t| u32::try_from(t.item_of_rows()?.tail.h()).ok()).min();
        let known = known.filter(|_| given.profiles && given.chosen.is_none());
        let (most, counted) = (least(said), least(known.unwrap_or(said)));
        let (exact, bound, keeps) = (scans.exact(props), props.rows.bound, own.map(|o| o.1));
        Ok(Under { inner, unit, exact, bound, most, counted, keeps })
    }
}

impl Under<'_> {
    fn made(&self) -> Made {
        let binding = self.inner.scans.scope.fresh();
        Made { binding, columns: Vec::new(), named: Vec::new() }
    }

    /// Whether an expression is the unit in every row.
    fn is_unit(&self, e: &Expr) -> bool {
        self.inner.scans.col(e).is_some_and(|c| self.exact.contains(&c))
    }

    /// What the analyst calls the unit.
    fn unit_name(&self) -> String {
        self.unit.columns.first().map(|c| self.inner.scans.shown(c)).unwrap_or_default()
    }

    /// An expression above groups, over the columns that they come out with.
    fn above(&mut self, e: &Expr, made: &mut Made, calls: &mut Vec<Call>) -> Result<Expr> {
        let mut out = e.clone();
        self.put_above(&mut out, made, calls)?;
        Ok(out)
    }

    fn put_above(&mut self, e: &mut Expr, made: &mut Made, calls: &mut Vec<Call>) -> Result<()> {
        if let Some(column) = made.column(e) {
            *e = column;
            return Ok(());
        }
        if matches!(e.kind, ExprKind::Aggregate(_)) {
            let (call, column) = self.called(e, made, false)?;
            calls.push(call);
            made.push(e, column);
            *e = made.column(e).ok_or(Refusal::Unread("aggregate", e.pos))?;
            return Ok(());
        }
        match &mut e.kind {
            ExprKind::Column { binding, column } => {
                let b = self.inner.scans.scope.binding(*binding);
                let column = b.and_then(|b| b.columns.get(*column)).cloned().unwrap_or_default();
                let table = b.map(|b| b.name.clone()).unwrap_or_default();
                Err(Group::Ungrouped { table, column }.at(e.pos))
            }
            // What is called over a window is no aggregate of the groups; what stands in it may be.
            ExprKind::Window { function, partition_by, order_by, .. } => {
                function.each_child(&mut |c| self.put_above(c, made, calls))?;
                let mut rest = partition_by.iter_mut().chain(order_by.iter_mut().map(|o| &mut o.expr));
                rest.try_for_each(|c| self.put_above(c, made, calls))
            }
            _ => e.each_child(&mut |c| self.put_above(c, made, calls)),
        }
    }

    /// The columns that stand beside windows.
    fn columns_of(&mut self, e: &Expr, made: &mut Made, values: &mut Vec<Scalar>) -> Result<()> {
        match &e.kind {
            ExprKind::Window { .. } => Ok(()),
            ExprKind::Column { .. } if made.column(e).is_some() => Ok(()),
            ExprKind::Column { .. } if self.is_unit(e) => {
                made.named.push((e.clone(), 0));
                Ok(())
            }
            ExprKind::Column { .. } => {
                let value = self.inner.value(e)?;
                made.push(e, per_unit::one_of(made.place(false), &value, "a SELECT with windows", e.pos)?);
                values.push(value);
                Ok(())
            }
            _ => e.children().into_iter().try_for_each(|c| self.columns_of(c, made, values)),
        }
    }

    /// The calls over windows, each once.
    fn calls_of(&mut self, e: &Expr, made: &mut Made, calls: &mut Vec<(Expr, Call)>) -> Result<()> {
        match &e.kind {
            ExprKind::Window { .. } if made.column(e).is_some() => Ok(()),
            ExprKind::Window { function, .. } => {
                let (call, column) = self.called(function, made, true)?;
                made.push(e, column);
                calls.push((e.clone(), call));
                Ok(())
            }
            _ => e.children().into_iter().try_for_each(|c| self.calls_of(c, made, calls)),
        }
    }

    fn window(&mut self, e: &Expr, call: Call) -> Result<Window> {
        let ExprKind::Window { partition_by, order_by, frame, .. } = &e.kind else {
            return Err(Refusal::Unread("window", e.pos));
        };
        if !partition_by.iter().any(|p| self.is_unit(p)) {
            return Err(Within::WindowSeveral { unit: self.unit_name() }.at(e.pos));
        }
        let others = partition_by.iter().filter(|p| !self.is_unit(p));
        let others: Vec<&Expr> = others.collect();
        let partition = others.into_iter().map(|p| self.told_apart(p)).collect::<Result<Vec<_>>>()?;
        let mut order = Vec::new();
        for o in order_by {
            let by = self.told_apart(&o.expr)?;
            order.push(Sorted { by, desc: o.desc, nulls_first: o.nulls_first, of: Sort::Value });
        }
        Ok(Window { call, partition, order, frame: *frame })
    }

    /// What a window tells rows apart by. Of a type that is not listed nothing is known of values that are equal.
    fn told_apart(&mut self, e: &Expr) -> Result<Scalar> {
        match self.inner.value(e)? {
            x if matches!(x.ty(), SqlType::Other { .. }) => Err(Within::WindowType.at(e.pos)),
            x => Ok(x),
        }
    }

    /// An aggregate or a window function, and the column that it comes out as. `window`: a frame may be empty.
    fn called(&mut self, e: &Expr, made: &Made, window: bool) -> Result<(Call, Scalar)> {
        let (name, args, distinct, filter) = match &e.kind {
            // Of rows in another order, those on the list are the same.
            ExprKind::Aggregate(a) if a.within_group.is_empty() => {
                (a.name, a.args.as_slice(), a.distinct, a.filter.as_ref())
            }
            ExprKind::Call { name, args } => (*name, args.as_slice(), false, None),
            _ => return Err(Within::Unlisted("an ordered-set aggregate").at(e.pos)),
        };
        let when = filter.map(|f| truth(self.inner.value(f)?, "FILTER", f.pos)).transpose()?;
        let arg = args.first().map(|x| self.inner.value(x)).transpose()?;
        let arg = match (when, arg, name) {
            (Some(w), Some(x), _) => Some(filtered(w, x)),
            (Some(w), None, _) => Some(filtered(w, Scalar::constant_truth(true))),
            (None, x, _) => x,
        };
        let arg = match arg {
            // Of such a type nothing is known but whether there is a value.
            Some(x) if window && matches!(x.ty(), SqlType::Other { .. }) => {
                Some(filtered(is(x, Is::Null, true), Scalar::constant_truth(true)))
            }
            x => x,
        };
        let place = made.place(window);
        let call = |arg| Call { name, distinct, arg, offset: None };
        Ok(match (name, args, arg) {
            ("count", [] | [_], arg) => {
                let least = u32::from(!window && arg.as_ref().is_none_or(|x| !x.nullable()));
                (call(arg), per_unit::count(made.place(false), least, self.counted))
            }
            ("sum" | "avg", [x], Some(arg)) if *arg.ty() == SqlType::Interval && !arg.is_measured() => {
                return Err(Aggregation::Ages.at(x.pos));
            }
            ("sum" | "avg", [x], Some(arg)) => {
                let arg = per_unit::addend(arg, x.pos)?;
                let arg = if distinct { per_unit::merged(arg, false) } else { arg };
                let column = match name {
                    "sum" => per_unit::sum(place, &arg, self.most),
                    _ => per_unit::average(place, &arg),
                };
                (call(Some(arg)), column)
            }
            (name, [x], Some(arg)) if SPREADS.contains(&name) => {
                let arg = per_unit::addend(arg, x.pos)?;
                let arg = if distinct { per_unit::merged(arg, false) } else { arg };
                let column = per_unit::spread(place, &arg, name);
                (call(Some(arg)), column)
            }
            ("percent_rank" | "cume_dist", [], _) if window => (call(None), per_unit::standing(place, None)),
            ("ntile", [n], _) if window => {
                let most = constant_number(n).filter(|n| *n > 0).ok_or_else(|| Within::Ntile.at(e.pos))?;
                let place = made.place(false);
                (Call { offset: Some(most), ..call(None) }, per_unit::standing(place, Some(most)))
            }
            ("nth_value", [x, n], Some(arg)) if window => {
                let column = per_unit::one_of(place, &arg, name, x.pos)?;
                let nth = constant_number(n).filter(|n| *n > 0).ok_or_else(|| Within::NthValue.at(e.pos))?;
                (Call { offset: Some(nth), ..call(Some(arg)) }, column)
            }
            ("bool_and" | "bool_or" | "every", [x], Some(arg)) => {
                let arg = truth(arg, name, x.pos)?;
                let column = per_unit::truth(place, &arg);
                (call(Some(arg)), column)
            }
            ("row_number" | "rank" | "dense_rank", [], _) if window => {
                (call(None), per_unit::count(made.place(false), 1, self.counted))
            }
            ("min" | "max", [x], Some(arg)) => {
                let arg = per_unit::merged(arg, false);
                let column = per_unit::one_of(place, &arg, name, x.pos)?;
                (call(Some(arg)), column)
            }
            ("first_value" | "last_value", [x], Some(arg)) if window => {
                let column = per_unit::one_of(place, &arg, name, x.pos)?;
                (call(Some(arg)), column)
            }
            ("lag" | "lead", [x, rest @ ..], Some(arg)) if window && rest.len() <= 1 => {
                let column = per_unit::one_of(place, &arg, name, x.pos)?;
                let offset = rest.first().map(constant_number);
                if offset == Some(None) {
                    return Err(Within::Offset(name).at(e.pos));
                }
                (Call { offset: offset.flatten(), ..call(Some(arg)) }, column)
            }
            _ => return Err(Within::Unlisted(name).at(e.pos)),
        })
    }
}

/// A constant number of rows.
fn constant_number(e: &Expr) -> Option<u32> {
    match &e.kind {
        ExprKind::Literal(Literal::Number(n)) => n.parse::<u32>().ok().filter(|n| *n <= 1_000_000),
        _ => None,
    }
}

/// An expression over windows, over the columns that they come out with.
fn named(e: &mut Expr, made: &Made) {
    match made.column(e) {
        Some(column) => *e = column,
        None => e.children_mut().into_iter().for_each(|c| named(c, made)),
    }
}
