//! Lengths of functions' results, from those of their arguments. A function that is not named here
//! gives what it was given, and a bit.

use super::Sizes;
use super::values::{CELL, CHARACTER, DIGITS, VALUE, number, text};
use crate::functions::{Growth, growth, lookup};
use crate::names::last;
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments, UnaryOperator,
    Value, WindowSpec, WindowType,
};

/// Rows of tables whose texts an aggregate puts together: more than these the database has by itself, and its time is limited.
const ROWS: u64 = 100;
/// Rows of a series of dates.
const DATES: u64 = 1_000;
/// Rows of a series that ends where a column says.
const OF_COLUMN: u64 = 10_000;
/// Rows of a series whose ends are computed.
const COMPUTED: u64 = 1_000_000;
/// A character in JSON, `\u0001`.
const ESCAPED: u64 = 6;
/// Places beyond the first in which the argument stands of a function that no table's statement has.
const LOOKED_UP: u64 = 3;
/// Bytes of one item of a format, at most.
const FORMAT_ITEM: u64 = 12;

/// The expressions among arguments.
pub(super) fn arguments(args: &[FunctionArg]) -> Vec<&Expr> {
    let exprs = args.iter().filter_map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(e))
        | FunctionArg::Named { arg: FunctionArgExpr::Expr(e), .. }
        | FunctionArg::ExprNamed { arg: FunctionArgExpr::Expr(e), .. } => Some(e),
        _ => None,
    });
    exprs.collect()
}

impl Sizes<'_> {
    pub(super) fn function(&mut self, function: &Function) -> u64 {
        for item in &function.within_group {
            self.expr(&item.expr);
        }
        self.plain(function.filter.as_deref());
        if let Some(WindowType::WindowSpec(WindowSpec { partition_by, order_by, .. })) = &function.over {
            self.plain(partition_by.iter().chain(order_by.iter().map(|o| &o.expr)));
        }
        let list = match &function.args {
            FunctionArguments::None => return VALUE,
            // `ARRAY(SELECT …)`
            FunctionArguments::Subquery(query) => {
                let found = self.columns(query);
                return found.longest().saturating_mul(found.rows.max(ROWS));
            }
            FunctionArguments::List(list) => list,
        };
        for clause in &list.clauses {
            match clause {
                FunctionArgumentClause::OrderBy(items) => {
                    self.plain(items.iter().map(|o| &o.expr));
                }
                FunctionArgumentClause::Limit(e) => {
                    self.expr(e);
                }
                _ => {}
            }
        }
        let mut args = arguments(&list.args);
        let within = function.within_group.iter().map(|o| &o.expr);
        args.extend(within);
        self.call(&last(&function.name), &args)
    }

    /// A call with plain arguments.
    pub(super) fn call(&mut self, name: &str, args: &[&Expr]) -> u64 {
        // Those that look into catalogs are printed with what they look for in several places.
        let copies = if lookup(name).is_some() { 0 } else { LOOKED_UP };
        let sizes: Vec<u64> = args.iter().map(|e| self.copied(e, copies)).collect();
        let rows = self.scopes.last().into_iter().flatten().fold(1, |n: u64, r| n.saturating_mul(r.rows));
        size(name, args, &sizes, rows.max(ROWS))
    }
}

/// Rows of a function in FROM; `size` is what it gives.
pub(super) fn rows(name: &str, args: &[&Expr], size: u64) -> u64 {
    if name != "generate_series" {
        return size;
    }
    let numbers: Option<Vec<i128>> = args.iter().map(|e| signed(e)).collect();
    match numbers.as_deref() {
        Some([from, to]) => u64::try_from(to - from + 1).unwrap_or(0),
        Some([from, to, step]) => {
            let step = step.unsigned_abs().max(1);
            u64::try_from((to - from).unsigned_abs() / step + 1).unwrap_or(u64::MAX)
        }
        _ if args.iter().any(|e| is_computed(e)) => COMPUTED,
        _ if args.iter().any(|e| text(e).is_some() || matches!(e, Expr::TypedString(_))) => DATES,
        _ => OF_COLUMN,
    }
}

/// A whole number that is written out, of either sign, as a text, too.
fn signed(e: &Expr) -> Option<i128> {
    match e {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => signed(inner),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => signed(expr).map(|n| -n),
        e => text(e).map_or_else(|| number(e).map(i128::from), |digits| digits.trim().parse().ok()),
    }
}

/// Whether more than columns, constants and calls stand there.
fn is_computed(e: &Expr) -> bool {
    match e {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => is_computed(inner),
        Expr::Function(Function { args: FunctionArguments::List(list), .. }) => {
            arguments(&list.args).into_iter().any(is_computed)
        }
        Expr::Value(value) => matches!(value.value, Value::Placeholder(_)),
        Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::TypedString(_)
        | Expr::Interval(_)
        | Expr::Function(_) => false,
        _ => signed(e).is_none(),
    }
}

/// What a call gives, at most, where an aggregate has so many rows.
fn size(name: &str, args: &[&Expr], sizes: &[u64], rows: u64) -> u64 {
    let of = |n: usize| sizes.get(n).copied().unwrap_or(0);
    let all = sizes.iter().fold(VALUE, |sum, s| sum.saturating_add(*s));
    let longest = sizes.iter().copied().max().unwrap_or(0);
    let count = |n: usize| args.get(n).and_then(|e| number(e));
    match growth(name) {
        Growth::Longest => longest,
        Growth::Cut(n) => count(n).map_or(of(0), |n| n.saturating_mul(CHARACTER).min(of(0))),
        Growth::Times(n, more) => of(0).saturating_mul(n).saturating_add(more),
        Growth::Translated => match args.get(2).and_then(|e| text(e)) {
            Some(to) if to.is_ascii() => of(0),
            _ => of(0).saturating_mul(CHARACTER),
        },
        Growth::Replaced => {
            // As often as what is sought fits, it becomes the other.
            let sought = args.get(1).and_then(|e| text(e)).map_or(1, |from| from.len().max(1) as u64);
            (of(0) / sought).saturating_mul(of(2)).saturating_add(of(0))
        }
        // The empty text is found everywhere, and `\&` puts in what was found.
        Growth::RegexReplaced => {
            of(0).saturating_add(1).saturating_mul(of(2).saturating_mul(2).saturating_add(1))
        }
        Growth::ElementsReplaced => of(0).saturating_mul(of(2).max(1)),
        Growth::Joined => of(0).saturating_mul(of(1).saturating_add(of(2)).saturating_add(1)).max(CELL),
        Growth::Formatted => of(1).saturating_mul(FORMAT_ITEM).saturating_add(VALUE),
        Growth::Format => format(args, all, longest),
        Growth::Power => DIGITS / 2,
        Growth::Rounded if sizes.len() > 1 => {
            all.saturating_add(count(1).unwrap_or(DIGITS / 10).min(DIGITS / 10))
        }
        Growth::Sum | Growth::Rounded => all,
        Growth::Gathered => all.saturating_mul(rows),
        Growth::GatheredJson => all.saturating_mul(ESCAPED).saturating_mul(rows),
        Growth::Json => all.saturating_mul(ESCAPED),
        Growth::Value => VALUE,
    }
}

/// `format`: each `%` may put in the longest argument, padded to the width that stands there; a width that an argument brings
/// is not known.
fn format(args: &[&Expr], all: u64, longest: u64) -> u64 {
    let Some(format) = args.first().and_then(|e| text(e)) else { return u64::MAX };
    if format.contains('*') {
        return u64::MAX;
    }
    let places = format.matches('%').count() as u64;
    let widths = format.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let widths = widths.fold(0u64, |sum, w| sum.saturating_add(w.parse().unwrap_or(u64::MAX)));
    // %I and %L double quotes.
    let put = places.saturating_mul(longest.saturating_mul(2).saturating_add(4));
    all.saturating_add(put).saturating_add(widths)
}
