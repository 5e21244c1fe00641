//! Half widths of intervals, as expressions over released columns and the public parameters of
//! their noise.
//!
//! `plan::reach` takes a number apart, `plan::noise` says how noise moves through that, and
//! `plan::aggregates` what is released at its end.

use super::carried::Carried;
use super::printer::Printer;
use super::released::Row;
use crate::alias;
use plan::GroupingSets;
use plan::noise::number::{Cut, Number, reached};
use plan::noise::quantile::Quantile;
use plan::noise::real::Real;
use plan::reach::Uncertain;
use sql::ast::*;

impl Printer<'_> {
    /// `noisegate.low(x)` and its like; while the statement is typed, a number.
    pub(super) fn reach(&mut self, what: Reach, expr: &Expr, confidence: u32) {
        let end = self.queries.as_ref().zip(self.place).and_then(|(q, place)| q.end(what, expr, place));
        if let Some(end) = end {
            return self.wrapped("(", &end, ")::pg_catalog.float8");
        }
        let of = self.queries.as_ref().zip(self.place).map(|(queries, place)| queries.follow(expr, place));
        let Some(of) = of else {
            return self.wrapped("(", expr, ")::pg_catalog.float8");
        };
        let text = match of {
            Ok(of) => self.in_each_set(|p| reached(what, &p.number(&of), Quantile::of(confidence)).text()),
            // Whatever it is of was refused before anything was read.
            Err(_) => "NULL".into(),
        };
        self.put(&format!("({text})::pg_catalog.float8"));
    }

    /// A text for rows of each grouping set, where the SELECT being printed has any.
    pub(super) fn in_each_set(&mut self, mut text: impl FnMut(&mut Self) -> String) -> String {
        let Some((index, sets)) = self.release.and_then(|i| Some((i, self.sets_of(i)?))) else {
            return text(self);
        };
        let outer = self.branch;
        let mut cases = Vec::new();
        for (place, set) in sets.sets.iter().enumerate() {
            self.branch = Some(place);
            cases.push((sets.missing(set), text(self)));
        }
        self.branch = outer;
        match cases.as_slice() {
            [(_, first), rest @ ..] if rest.iter().all(|(_, text)| text == first) => first.clone(),
            _ => {
                let when: Vec<String> =
                    cases.iter().map(|(g, text)| format!("WHEN {g} THEN {text}")).collect();
                format!("CASE r{index}.g {} END", when.join(" "))
            }
        }
    }

    /// An aggregate in rows of the set that is being printed.
    fn of_set(&self, row: usize, sets: &GroupingSets, aggregate: usize) -> Option<Number> {
        let all = self.plan?.releases.as_slice();
        let set = sets.sets.get(self.branch?)?;
        let (from, r, output) = sets.released(all, set, aggregate)?;
        let carried = Carried::of(row, sets, set, all)?;
        let row = Row { row, from, cells: set.added.unwrap_or(1), carried: Some(&carried) };
        Some(output.number(&row.released(r)))
    }

    /// The text of an expression.
    pub(super) fn text(&mut self, e: &Expr) -> String {
        let (out, marks) = (std::mem::take(&mut self.out), self.marks.len());
        self.expr(e);
        self.marks.truncate(marks);
        std::mem::replace(&mut self.out, out)
    }

    fn float(&mut self, e: &Expr) -> Real {
        match &e.kind {
            ExprKind::Literal(Literal::Number(n)) => n.parse().map_or_else(|_| Real::of(n), Real::Known),
            _ => Real::of(&self.text(e)),
        }
    }

    pub(super) fn number(&mut self, of: &Uncertain<'_>) -> Number {
        match of {
            Uncertain::Exact(e) => Number::exact(self.float(e)),
            Uncertain::Released { row, from, output } => {
                let release = self.plan.and_then(|p| p.releases.get(*from));
                release.map_or_else(Number::unknown, |r| output.number(&Row::of(*row, *from).released(r)))
            }
            Uncertain::OfSets { row, sets, aggregate, .. } => {
                self.of_set(*row, sets, *aggregate).unwrap_or_else(Number::unknown)
            }
            Uncertain::Column { expr, binding, parts, .. } => {
                let beside = |what| match of.beside(what) {
                    Some(place) => Real::Text(format!("{}.c{place}", alias(*binding))),
                    None => Real::Text("NULL::pg_catalog.float8".into()),
                };
                let [variance, fourth, below, above] = Reach::CARRIED.map(beside);
                Number::column(self.text(expr), variance, fourth, Cut { below, above }, parts.clone())
            }
            Uncertain::Query { expr, query, parts } => {
                let mut inner = |what| {
                    let mut query = (*query).clone();
                    asking(&mut query.body, what);
                    let kind = ExprKind::Subquery(Box::new(query));
                    Real::Text(self.text(&Expr::new(kind, None)))
                };
                let [variance, fourth, below, above] = Reach::CARRIED.map(&mut inner);
                Number::column(self.text(expr), variance, fourth, Cut { below, above }, parts.clone())
            }
            Uncertain::Same(_, x) => self.number(x),
            Uncertain::Negated(_, x) => self.number(x).times(&Real::Known(-1.0)),
            Uncertain::Sum(_, minus, pair) => {
                let [x, y] = &**pair;
                let (x, y) = (self.number(x), self.number(y));
                x.plus(&if *minus { y.times(&Real::Known(-1.0)) } else { y })
            }
            Uncertain::Product(_, pair) => {
                let [x, y] = &**pair;
                let (x, y) = (self.number(x), self.number(y));
                x.multiplied(&y)
            }
            Uncertain::Quotient(_, pair) => {
                let [x, y] = &**pair;
                let (x, y) = (self.number(x), self.number(y));
                x.divided(&y)
            }
            Uncertain::Total { expr, mean, .. } => self.total(expr, of, *mean),
            Uncertain::Shifted { expr, .. } => self.total(expr, of, false),
        }
    }

    /// A sum or an average of rows, each with noise of its own.
    fn total(&mut self, e: &Expr, whole: &Uncertain<'_>, mean: bool) -> Number {
        // Of one integer over groups, what units lose has a norm of at most what they may lose in one; whatever is added up of it is
        // no more than the root of the squares of that (Cauchy and Schwarz).
        let one = whole.parts().len() == 1;
        let mut call = |name: Option<&'static str>, what: Option<Reach>| {
            let squared = one && matches!(what, Some(Reach::Below | Reach::Above));
            let outer = self.place;
            self.place = outer.map(plan::reach::Place::rows);
            let text = self.text(&calling(e, name, what, squared));
            self.place = outer;
            if squared { Real::of(&text).root() } else { Real::of(&text) }
        };
        let of = mean.then_some("sum");
        let [mut variance, mut fourth, mut below, mut above] =
            Reach::CARRIED.map(|what| call(of, Some(what)));
        if mean {
            let n = call(Some("count"), None);
            let square = n.times(&n);
            variance = variance.divided_by(&square);
            fourth = fourth.divided_by(&square.times(&square));
            (below, above) = (below.divided_by(&n), above.divided_by(&n));
        }
        Number::column(self.text(e), variance, fourth, Cut { below, above }, whole.parts())
    }
}

/// The query with this of its only item.
fn asking(body: &mut Body, what: Reach) {
    match body {
        Body::Select(s) => {
            for item in &mut s.items {
                let expr = Box::new(item.expr.clone());
                item.expr = Expr::new(ExprKind::Reach { what, expr, confidence: Reach::USUAL }, None);
            }
        }
        Body::Query(q) => asking(&mut q.body, what),
        Body::SetOp { .. } | Body::Values(_) | Body::Rows { .. } => {}
    }
}

/// The aggregate, or the call over a window, under another name and of something of its argument, or of its square.
fn calling(e: &Expr, name: Option<&'static str>, what: Option<Reach>, squared: bool) -> Expr {
    let mut call = e.clone();
    let inner = match &mut call.kind {
        ExprKind::Window { function, .. } => &mut function.kind,
        kind => kind,
    };
    let (own, first) = match inner {
        ExprKind::Aggregate(a) => (&mut a.name, a.args.first_mut()),
        ExprKind::Call { name, args } => (name, args.first_mut()),
        _ => return call,
    };
    *own = name.unwrap_or(*own);
    if let (Some(what), Some(arg)) = (what, first) {
        let kind = ExprKind::Reach { what, expr: Box::new(arg.clone()), confidence: Reach::USUAL };
        *arg = Expr::new(kind, arg.pos);
        if squared {
            let (left, right) = (Box::new(arg.clone()), Box::new(arg.clone()));
            *arg = Expr::new(ExprKind::Binary { op: BinaryOp::Mul, left, right }, arg.pos);
        }
    }
    call
}
