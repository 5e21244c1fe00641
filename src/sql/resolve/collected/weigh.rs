//! A SELECT over a collected relation, turned into one over weights.
//!
//! It becomes two: the inner one adds up, for each group and each kind of report, the weights of the values that belong to the
//! group, y, and those times the argument of a sum, z; the outer one adds these up over reports. What one report gives is then
//! at hand as a whole, and with it the variance of the estimate: a report that adds y to a count in which its writer counts m
//! times (0 or 1) has E[y²] = Var y + m² = Var y + E[y], so that Σ(y² - y) is an unbiased estimate of the variance of Σy that
//! randomisation causes; for sums, Σz² - (Σz)²/n is at least that in expectation (Cauchy and Schwarz).

use super::build::*;
use super::expansion::Hidden;
use super::{Bound, Estimates};
use crate::ast::*;
use crate::constants;
use crate::names::truncate;
use crate::resolve::{Resolver, Result};
use answer::{ClientError, SqlState};
use policy::Randomiser;
use schema::SqlType;
use std::collections::HashSet;

const AGGREGATE: &str = "Ask for numbers: SELECT answer, count(*) FROM survey GROUP BY answer.";

impl Resolver<'_> {
    /// Rewrites a SELECT that has a collected relation in its FROM; others stay as they are.
    pub(crate) fn weigh(&mut self, select: &mut Select, order: &mut [OrderItem]) -> Result<()> {
        let mut here = HashSet::new();
        select.from.iter().for_each(|f| f.bindings(&mut here));
        let mut bound: Vec<Bound<'_>> = here.iter().filter_map(|b| self.bound(*b)).collect();
        let (Some(Bound { binding, collect }), rest) = (bound.pop(), bound.len()) else { return Ok(()) };
        let collect = collect.clone();
        let pos = select.pos;
        let refused = |what: &str, hint: &str| Err(ClientError::unsupported(what).hint(hint).at(pos));
        if rest > 0 {
            return refused(
                "a join of collected relations is not supported",
                "No two reports are known to be of one writer: ask each by itself, and join the results.",
            );
        }
        if !kept(&select.from, binding) {
            return refused(
                "a collected relation on the optional side of an outer join is not supported",
                "Write it on the side that is kept: survey LEFT JOIN …; every value of its domains has a row as it is.",
            );
        }
        if !select.grouping_sets.is_empty() {
            return refused(
                "GROUPING SETS over a collected relation are not supported",
                "Ask for each set by itself.",
            );
        }
        if seen_from_within(select, order, binding) {
            return refused(
                "a subquery that looks at a collected relation around it is not supported",
                "Compare its columns with constants, or join it with public tables.",
            );
        }
        let aggregates = |e: &Expr| e.any(&mut |e| matches!(e.kind, ExprKind::Aggregate(_)));
        let above = || {
            select.items.iter().map(|i| &i.expr).chain(&select.having).chain(order.iter().map(|o| &o.expr))
        };
        if !select.has_group_by() && !above().any(aggregates) {
            return refused("rows of a collected relation are never returned: there are none", AGGREGATE);
        }
        if select.distinct != Distinct::No {
            return refused("DISTINCT over a collected relation is not supported", "Write GROUP BY.");
        }
        let visible = collect.columns.len();
        let on_average = |e: &Expr| match e.kind {
            ExprKind::Column { binding: b, column } if b == binding => {
                let column = collect.columns.get(column);
                column.is_some_and(|c| matches!(c.randomiser, Randomiser::Mean { .. }))
            }
            _ => false,
        };
        let mut misplaced = None;
        let mut look = |e: &Expr| misplaced = misplaced.or(alone(e, &on_average));
        above().chain(&select.filter).chain(&select.group_by).for_each(&mut look);
        select.from.iter().for_each(|f| conditions(f, &mut look));
        if let Some(at) = misplaced {
            return Err(ClientError::unsupported("a number that is collected stands here by itself")
                .hint("Each report of it is noise around it: its sum, its average and how many there are can be estimated, and nothing else.")
                .at(at));
        }
        let mut used = vec![false; visible];
        let mut note = |e: &Expr| {
            e.any(&mut |e| {
                if let ExprKind::Column { binding: b, column } = e.kind
                    && b == binding
                    && let Some(used) = used.get_mut(column)
                {
                    *used = true;
                }
                false
            });
        };
        above().chain(&select.filter).chain(&select.group_by).for_each(&mut note);
        select.from.iter().for_each(|f| conditions(f, &mut note));
        let plain = matches!(select.from.as_slice(), [From::Relation { .. }]);
        let asked = |i: &usize| used.get(*i) == Some(&true);
        let oracles = (0..visible).filter(asked).filter(|i| {
            collect.columns.get(*i).is_some_and(|c| matches!(c.randomiser, Randomiser::Oracle(_)))
        });
        // Sums and averages alone, and how many reports there are, are no parts of a whole.
        let consistent = self.catalog.estimates().consistent && oracles.count() > 0;
        let mut expansion = self.expansion(&collect, &used);
        if consistent {
            if above().any(|e| e.any(&mut |e| on_average(e))) {
                return refused(
                    "noisegate.consistent = on does not hold for sums and averages of collected numbers",
                    "SET noisegate.consistent = off, or ask for counts alone.",
                );
            }
            let by_name = |e: &Expr| e.any(&mut |e| matches!(e.kind, ExprKind::Reach { .. }));
            if self.catalog.estimates().intervals || above().any(by_name) {
                return refused(
                    "no interval is known of estimates that were made consistent",
                    "SET noisegate.consistent = off, or ask without intervals: cutting at 0 is a bias, which no report tells.",
                );
            }
            expansion = self.projected(&collect, expansion);
        }
        select.from.iter_mut().for_each(|f| fill(f, binding, &expansion));
        let hidden = Hidden::behind(visible);
        let mut w = Weigher {
            binding,
            hidden: &hidden,
            keys: select.group_by.clone(),
            outer: self.bindings.len(),
            cells: Vec::new(),
            plain,
            estimates: self.catalog.estimates(),
        };
        let mut items = Vec::with_capacity(select.items.len());
        let mut places = Vec::with_capacity(select.items.len());
        for i in &select.items {
            places.push(items.len());
            items.push(Item { expr: w.above(&i.expr)?, name: i.name.clone() });
            if w.estimates.intervals && w.estimate_in(&i.expr).is_some() {
                for what in [Reach::Low, Reach::High] {
                    let name = truncate(format!("{}_{}", i.name, what.name()));
                    items.push(Item { expr: w.reach(what, &i.expr)?, name });
                }
            }
        }
        let having = select.having.as_ref().map(|e| w.above(e)).transpose()?;
        for o in order.iter_mut() {
            match &mut o.expr.kind {
                ExprKind::Output(i) => *i = places.get(*i).copied().unwrap_or(*i),
                _ => o.expr = w.above(&o.expr)?,
            }
        }
        let (keys, cells) = (w.keys.len(), std::mem::take(&mut w.cells));
        // The inner SELECT: keys, how many reports, how many in all, and the cells.
        let of = |place| column(binding, place);
        let mut inside: Vec<Item> = select.group_by.iter().map(|k| item(k.clone(), "k")).collect();
        inside.push(item(of(hidden.reports), "n"));
        inside.push(item(of(hidden.total), "t"));
        inside.extend(cells.into_iter().map(|cell| item(or_zero(cell), "y")));
        let width = inside.len();
        let mut group_by = std::mem::take(&mut select.group_by);
        group_by.extend([of(hidden.kind), of(hidden.reports), of(hidden.total)]);
        let from = std::mem::take(&mut select.from);
        let mut inner = self.of_items(inside, from, group_by);
        inner.filter = select.filter.take();
        let outer = self.unnamed(Source::Derived, width);
        select.from = vec![relation(outer, Some(query(inner)))];
        select.group_by = (0..keys).map(|i| column(outer, i)).collect();
        (select.items, select.having) = (items, having);
        Ok(())
    }
}

/// Turns what stands above the aggregates.
struct Weigher<'h> {
    binding: usize,
    hidden: &'h Hidden,
    /// The keys of GROUP BY.
    keys: Vec<Expr>,
    /// The binding that the inner SELECT will have.
    outer: usize,
    /// What the inner SELECT adds up.
    cells: Vec<Expr>,
    /// The collected relation stands alone in FROM: a writer counts once or not at all.
    plain: bool,
    estimates: Estimates,
}

/// An estimate.
enum Estimate {
    /// A count, of a cell.
    Count(usize),
    /// A sum, and the count of what is added up.
    Sum(usize),
    /// An average.
    Average { sum: usize, count: usize },
}

impl Weigher<'_> {
    /// What an expression above the aggregates becomes.
    fn above(&mut self, e: &Expr) -> Result<Expr> {
        if let Some(key) = self.keys.iter().position(|k| k == e) {
            return Ok(Expr::new(ExprKind::Column { binding: self.outer, column: key }, e.pos));
        }
        match &e.kind {
            ExprKind::Aggregate(a) => {
                let estimate = self.estimate(a, e.pos)?;
                Ok(self.value(&estimate))
            }
            ExprKind::Reach { what, expr, .. } => self.reach(*what, expr),
            ExprKind::Window { function, .. } => {
                let mut whole = e.clone();
                if let ExprKind::Window { function: out, partition_by, order_by, .. } = &mut whole.kind {
                    // Of an aggregate over a window the arguments are estimates, not itself.
                    let mut inner = (**function).clone();
                    inner.map_children(&mut |c| self.above(c))?;
                    **out = inner;
                    for p in partition_by.iter_mut() {
                        *p = self.above(p)?;
                    }
                    for o in order_by.iter_mut() {
                        o.expr = self.above(&o.expr)?;
                    }
                }
                Ok(whole)
            }
            ExprKind::Column { binding, .. } if *binding != self.outer => {
                let m = "a column that is selected beside aggregates must appear in the GROUP BY clause";
                Err(ClientError::new(SqlState::GROUPING_ERROR, m).at(e.pos))
            }
            _ => {
                let mut whole = e.clone();
                whole.map_children(&mut |c| self.above(c))?;
                Ok(whole)
            }
        }
    }

    /// The aggregate that an item is, if it is one.
    fn estimate_in<'e>(&self, e: &'e Expr) -> Option<&'e Aggregate> {
        match &e.kind {
            ExprKind::Aggregate(a) => Some(a),
            _ => None,
        }
    }

    fn cell(&mut self, e: Expr) -> usize {
        let place = self.cells.iter().position(|c| *c == e).unwrap_or_else(|| {
            self.cells.push(e);
            self.cells.len() - 1
        });
        self.keys.len() + 2 + place
    }

    fn estimate(&mut self, a: &Aggregate, pos: Pos) -> Result<Estimate> {
        let plain = !a.distinct && a.order_by.is_empty() && a.within_group.is_empty();
        let weight = column(self.binding, self.hidden.weight);
        let not_null = |arg: &Expr| {
            let is = ExprKind::Is { expr: Box::new(arg.clone()), what: Is::Null, negated: true };
            Expr::new(is, None)
        };
        let both = |arg: Option<&Expr>| match (a.filter.clone(), arg.map(not_null)) {
            (Some(f), Some(n)) => Some(binary(BinaryOp::And, f, n)),
            (f, n) => f.or(n),
        };
        match (a.name, a.args.as_slice(), plain) {
            ("count", [], true) => {
                Ok(Estimate::Count(self.cell(aggregate("sum", vec![weight], a.filter.clone()))))
            }
            ("count", [x], true) => {
                Ok(Estimate::Count(self.cell(aggregate("sum", vec![weight], both(Some(x))))))
            }
            ("sum" | "avg", [x], true) => {
                let weighted = times(weight.clone(), cast(x.clone(), SqlType::Float8));
                let sum = self.cell(aggregate("sum", vec![weighted], both(Some(x))));
                if a.name == "sum" {
                    return Ok(Estimate::Sum(sum));
                }
                let count = self.cell(aggregate("sum", vec![weight], both(Some(x))));
                Ok(Estimate::Average { sum, count })
            }
            (name, ..) => {
                let what = if a.distinct { format!("{name}(DISTINCT …)") } else { name.to_owned() };
                Err(ClientError::unsupported(format!("{what} of a collected relation is not supported"))
                    .hint("Counts, sums and averages are estimated, with FILTER; how values are distributed is told by a count for each of them.")
                    .at(pos))
            }
        }
    }

    /// Σ over reports of a product of cells.
    fn total(&self, cells: &[usize]) -> Expr {
        let n = column(self.outer, self.keys.len());
        let product = cells.iter().fold(n, |e, cell| times(e, column(self.outer, *cell)));
        or_zero(aggregate("sum", vec![product], None))
    }

    /// The number itself: a whole number for counts, as ever.
    fn value(&self, estimate: &Estimate) -> Expr {
        let rounded = |e: Expr| call("round", vec![cast(e, SqlType::Numeric { scale: None }), whole(6)]);
        match estimate {
            Estimate::Count(y) => cast(call("round", vec![self.total(&[*y])]), SqlType::Int8),
            Estimate::Sum(z) => rounded(self.total(&[*z])),
            Estimate::Average { sum, count } => {
                rounded(binary(BinaryOp::Div, self.total(&[*sum]), self.some(*count)))
            }
        }
    }

    /// A count to divide by: where the estimate is below one there is no average.
    fn some(&self, count: usize) -> Expr {
        let n = self.total(&[count]);
        choose(binary(BinaryOp::Ge, n.clone(), float(1.0)), n, None)
    }

    /// An estimate of the variance that randomisation gives it.
    fn variance(&self, estimate: &Estimate) -> Expr {
        let least = |e: Expr| call("greatest", vec![e, float(0.0)]);
        match estimate {
            Estimate::Count(y) if self.plain => least(minus(self.total(&[*y, *y]), self.total(&[*y]))),
            // A writer may count several times: E[y²] alone is no less.
            Estimate::Count(y) => self.total(&[*y, *y]),
            Estimate::Sum(z) => {
                let all = aggregate("max", vec![column(self.outer, self.keys.len() + 1)], None);
                let square = times(self.total(&[*z]), self.total(&[*z]));
                least(minus(self.total(&[*z, *z]), or_zero(binary(BinaryOp::Div, square, all))))
            }
            // The delta method: Σ(z - Ry)² / (Σy)².
            Estimate::Average { sum, count } => {
                let n = self.some(*count);
                let r = binary(BinaryOp::Div, self.total(&[*sum]), n.clone());
                let cross = times(times(float(2.0), r.clone()), self.total(&[*sum, *count]));
                let squares = binary(
                    BinaryOp::Add,
                    minus(self.total(&[*sum, *sum]), cross),
                    times(times(r.clone(), r), self.total(&[*count, *count])),
                );
                binary(BinaryOp::Div, least(squares), times(n.clone(), n))
            }
        }
    }

    /// `noisegate.low(x)` and its like.
    fn reach(&mut self, what: Reach, e: &Expr) -> Result<Expr> {
        let Some(a) = self.estimate_in(e) else {
            return Err(ClientError::unsupported("this interval of an estimate is not supported")
                .hint("Ask for it of a count, a sum or an average by itself.")
                .at(e.pos));
        };
        let estimate = self.estimate(a, e.pos)?;
        let variance = self.variance(&estimate);
        let half = |factor: f64| times(float(factor), call("sqrt", vec![variance.clone()]));
        let number = match &estimate {
            Estimate::Count(y) => self.total(&[*y]),
            Estimate::Sum(z) => self.total(&[*z]),
            Estimate::Average { sum, count } => binary(BinaryOp::Div, self.total(&[*sum]), self.some(*count)),
        };
        let quantile = self.estimates.quantile;
        let is_count = matches!(estimate, Estimate::Count(_));
        let whole_number = |name: &'static str, e: Expr| match is_count {
            true => cast(call(name, vec![e]), SqlType::Int8),
            false => call("round", vec![cast(e, SqlType::Numeric { scale: None }), whole(6)]),
        };
        Ok(match what {
            Reach::Low => whole_number("floor", minus(number, half(quantile))),
            Reach::High => whole_number("ceil", binary(BinaryOp::Add, number, half(quantile))),
            Reach::Deviation => half(1.0),
            Reach::Variance | Reach::Fourth => variance,
        })
    }
}

/// Where a number stands that only sums and averages tell of: elsewhere than alone in one of them.
fn alone(e: &Expr, on_average: &dyn Fn(&Expr) -> bool) -> Option<Pos> {
    if on_average(e) {
        return Some(e.pos);
    }
    let within = |e: &Expr| e.children().into_iter().find_map(|c| alone(c, on_average));
    match &e.kind {
        ExprKind::Aggregate(a) if matches!(a.name, "sum" | "avg" | "count") => {
            let args = a.args.iter().filter(|arg| !on_average(arg));
            args.chain(&a.filter).find_map(|e| alone(e, on_average))
        }
        _ => within(e),
    }
}

/// Whether every row of the collected relation is kept as it is by the joins around it, or dropped.
fn kept(from: &[From], binding: usize) -> bool {
    fn within(f: &From, binding: usize) -> bool {
        match f {
            From::Relation { .. } => true,
            From::Join { left, right, kind, .. } => {
                let mut on_left = HashSet::new();
                left.bindings(&mut on_left);
                let mut on_right = HashSet::new();
                right.bindings(&mut on_right);
                if on_left.contains(&binding) {
                    matches!(kind, JoinKind::Inner | JoinKind::Left) && within(left, binding)
                } else if on_right.contains(&binding) {
                    matches!(kind, JoinKind::Inner | JoinKind::Right) && within(right, binding)
                } else {
                    true
                }
            }
        }
    }
    from.iter().all(|f| within(f, binding))
}

/// The conditions of joins.
fn conditions(f: &From, note: &mut dyn FnMut(&Expr)) {
    if let From::Join { left, right, on, .. } = f {
        conditions(left, note);
        conditions(right, note);
        on.iter().for_each(note);
    }
}

/// Gives the binding its query.
fn fill(f: &mut From, binding: usize, expansion: &Query) {
    match f {
        From::Relation { binding: b, query, .. } if *b == binding => {
            *query = Some(Box::new(expansion.clone()))
        }
        From::Relation { .. } => {}
        From::Join { left, right, .. } => {
            fill(left, binding, expansion);
            fill(right, binding, expansion);
        }
    }
}

/// Whether a query inside the SELECT names a column of the relation: in an expression, or by LATERAL.
fn seen_from_within(select: &Select, order: &[OrderItem], binding: usize) -> bool {
    // Of a copy that has no FROM of its own but the queries in it, and no expression but the subqueries.
    let mut found = false;
    let mut inside = |q: &Query| {
        let mut statement = Statement { query: q.clone(), bindings: Vec::new(), types: Default::default() };
        constants::each(&mut statement, &mut |e| {
            found |= matches!(e.kind, ExprKind::Column { binding: b, .. } if b == binding);
        });
    };
    let mut subqueries = |e: &Expr| {
        e.any(&mut |e| {
            if let ExprKind::Subquery(q)
            | ExprKind::Exists { query: q, .. }
            | ExprKind::InQuery { query: q, .. } = &e.kind
            {
                inside(q);
            }
            false
        });
    };
    let items = select.items.iter().map(|i| &i.expr).chain(&select.filter).chain(&select.having);
    items.chain(&select.group_by).chain(order.iter().map(|o| &o.expr)).for_each(&mut subqueries);
    select.from.iter().for_each(|f| conditions(f, &mut subqueries));
    fn queries(f: &From, inside: &mut dyn FnMut(&Query)) {
        match f {
            From::Relation { query, .. } => query.iter().for_each(|q| inside(q)),
            From::Join { left, right, .. } => {
                queries(left, inside);
                queries(right, inside);
            }
        }
    }
    select.from.iter().for_each(|f| queries(f, &mut inside));
    found
}
