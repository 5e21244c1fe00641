//! Reports × the values in question, each with its weight.

use super::build::*;
use super::members::{Facet, What};
use crate::ast::*;
use crate::resolve::resolver::Resolver;
use bigdecimal::{BigDecimal, ToPrimitive};
use policy::{Collect, Collected, Oracle, OracleKind, Randomiser};
use schema::SqlType;

/// Places of what an expansion has behind the visible columns, counted from their number.
pub(super) struct Hidden {
    /// The weight of the values beside it for one report of this kind: of all of them, or of those of sets alone.
    pub weight: usize,
    /// Number of equal reports.
    pub reports: usize,
    /// The number of the kind of report.
    pub kind: usize,
    /// Number of reports in all.
    pub total: usize,
}

impl Hidden {
    pub fn behind(visible: usize) -> Self {
        Self { weight: visible, reports: visible + 1, kind: visible + 2, total: visible + 3 }
    }

    /// The weight of the n-th column with an oracle that is asked about, where each has its own; and behind it 1 for one of its
    /// values and 0 for the others.
    ///
    /// Weights of all values are 1 together on average, and these exactly: an estimate that does not hang on a column takes them in
    /// place of its weights, and has no noise of it.
    pub fn own(&self, n: usize) -> (usize, usize) {
        (self.total + 1 + 2 * n, self.total + 2 + 2 * n)
    }
}

impl Resolver<'_> {
    /// The query that stands for a collected relation where the columns `used` are asked about. The others are NULL: a weight
    /// for values that nobody asks for would be noise and nothing else. Behind the columns stand the `facets` of sets.
    /// With `joint` there is one weight for all columns together, else each that is no set has its own ([`Hidden::own`]).
    pub(super) fn expansion(
        &mut self,
        collect: &Collect,
        used: &[bool],
        facets: &[Facet],
        joint: bool,
    ) -> Query {
        let wanted = |i: &usize| used.get(*i) == Some(&true) || facets.iter().any(|f| f.column == *i);
        let asked: Vec<(usize, &Collected)> =
            collect.columns.iter().enumerate().filter(|(i, _)| wanted(i)).collect();
        // SELECT t.a, t.b, count(*) FROM reports AS t GROUP BY 1, 2: equal reports have equal weights.
        let names = collect.columns.iter().map(|c| c.name.clone()).collect();
        let table = self.bindings.push(Binding {
            name: String::new(),
            source: Source::Table(collect.reports),
            columns: names,
            origin: Origin::AddedBy(Rule::Collected),
        });
        let keys: Vec<Expr> = asked.iter().map(|(i, _)| column(table, *i)).collect();
        let count = item(cast(aggregate("count", Vec::new(), None), SqlType::Float8), "n");
        let items = keys.iter().map(|k| item(k.clone(), "s")).chain([count]).collect();
        let kinds = self.of_items(items, vec![relation(table, None)], keys);
        // Their number, and how many reports there are in all.
        let inner = self.unnamed(Source::Derived, asked.len() + 1);
        let reports = column(inner, asked.len());
        let number = over_all(call("row_number", Vec::new()));
        let total = over_all(aggregate("sum", vec![reports.clone()], None));
        let items = (0..asked.len()).map(|i| item(column(inner, i), "s"));
        let items = items.chain([item(reports, "n"), item(number, "i"), item(total, "t")]).collect();
        let from = vec![relation(inner, Some(query(kinds)))];
        let numbered = self.of_items(items, from, Vec::new());
        // Each with every value of each column that is asked about.
        let kind = self.unnamed(Source::Derived, asked.len() + 3);
        let mut from = relation(kind, Some(query(numbered)));
        let mut weight: Option<Expr> = None;
        let mut own = Vec::new();
        let mut shown: Vec<Item> =
            collect.columns.iter().map(|c| item(cast(null(), c.kind.ty()), &c.name)).collect();
        shown.extend(facets.iter().map(|_| item(null(), "f")));
        for (place, (i, c)) in asked.iter().enumerate() {
            if let (Randomiser::Mean { low, grid, .. }, Some(affine)) = (&c.randomiser, c.affine()) {
                if let Some(item) = shown.get_mut(*i) {
                    item.expr = number_of(affine, low, grid, column(kind, place));
                }
                continue;
            }
            let report = column(kind, place);
            let weights = c.probabilities().map_or((1.0, 1.0), weights);
            let of = match &c.randomiser {
                Randomiser::Sets(sets) => {
                    let of: Vec<(usize, &What)> = facets
                        .iter()
                        .enumerate()
                        .filter(|(_, f)| f.column == *i)
                        .map(|(at, f)| (at, &f.what))
                        .collect();
                    let values = self.unnamed(Source::Derived, of.len() + 1);
                    let asked = Asked { values: &c.values, oracle: sets.oracle(), weights, report };
                    let (rows, weight) = asked.rows(&of, column(values, 0));
                    from = cross(from, relation(values, Some(Query::of(rows))));
                    for (n, (at, what)) in of.iter().enumerate() {
                        let value = column(values, n + 1);
                        if let Some(item) = shown.get_mut(collect.columns.len() + at) {
                            item.expr =
                                if **what == What::Member { cast(value, SqlType::Text) } else { value };
                        }
                    }
                    weight
                }
                Randomiser::Oracle(oracle) => {
                    let values = self.unnamed(Source::Derived, 2);
                    from = cross(from, relation(values, Some(Query::of(domain(c)))));
                    if let Some(item) = shown.get_mut(*i) {
                        item.expr = cast(column(values, 1), c.kind.ty());
                    }
                    let of = weight_of(oracle, weights, report, column(values, 0));
                    if !joint {
                        let first = binary(BinaryOp::Eq, column(values, 0), whole(0));
                        own.extend([of, choose(first, float(1.0), Some(float(0.0)))]);
                        continue;
                    }
                    of
                }
                Randomiser::Mean { .. } => continue,
            };
            weight = Some(match weight {
                None => of,
                Some(w) => times(w, of),
            });
        }
        let n = asked.len();
        let hidden =
            [weight.unwrap_or_else(|| float(1.0)), column(kind, n), column(kind, n + 1), column(kind, n + 2)];
        shown.extend(hidden.into_iter().chain(own).map(|e| item(e, "w")));
        let select = self.of_items(shown, vec![from], Vec::new());
        query(select)
    }
}

/// `VALUES (0, 'no'), (1, 'yes')`: the numbers of values as they are randomised, NULL the last.
fn domain(c: &Collected) -> Body {
    let missing = c.missing.then(null).into_iter();
    let values = c.values.iter().map(|v| string(v)).chain(missing);
    Body::Values(values.enumerate().map(|(i, v)| vec![whole(i), v]).collect())
}

/// What is asked of a set: its values as they are randomised, what says how probable each is, and a report.
struct Asked<'a> {
    values: &'a [String],
    oracle: &'a Oracle,
    /// Of a value that the report supports, and of another.
    weights: (f64, f64),
    report: Expr,
}

impl Asked<'_> {
    /// Rows whose first column tells them apart and whose others are the facets; and the weight of the row that `which` tells.
    ///
    /// Whether a set holds a constant has the weight w of that constant, and 1 - w of that it does not. Of several constants there is
    /// a row for each, and one for the rest, of weight 1 - Σw: over the rows the weights of each facet add up to those, and an
    /// estimate has one facet of a set.
    fn rows(&self, facets: &[(usize, &What)], which: Expr) -> (Body, Expr) {
        if let [(_, What::Member)] = facets {
            let rows = self.values.iter().enumerate().map(|(i, v)| vec![whole(i), string(v)]);
            return (Body::Values(rows.collect()), self.weight(which));
        }
        let row = |n: usize| {
            let held = (1..=facets.len()).map(|i| Expr::new(ExprKind::Literal(Literal::Bool(i == n)), None));
            std::iter::once(whole(n)).chain(held).collect::<Vec<_>>()
        };
        let of = |what: &What| match what {
            What::Holds(constant) => self.weight_of_constant(constant),
            What::Member => float(0.0),
        };
        let each: Vec<Expr> = facets.iter().map(|(_, what)| of(what)).collect();
        let rest = each.iter().fold(float(1.0), |rest, w| minus(rest, w.clone()));
        let branches =
            (1..).zip(each).map(|(n, w)| (binary(BinaryOp::Eq, which.clone(), whole(n)), w)).collect();
        let weight = Expr::new(ExprKind::Case { branches, otherwise: Some(Box::new(rest)) }, None);
        (Body::Values((0..=facets.len()).map(row).collect()), weight)
    }

    /// The weight of the value of this number.
    fn weight(&self, number: Expr) -> Expr {
        weight_of(self.oracle, self.weights, self.report.clone(), number)
    }

    /// The weight of a constant: none where it is no value of the domain, since nobody gave it.
    fn weight_of_constant(&self, constant: &Expr) -> Expr {
        match &constant.kind {
            ExprKind::Literal(Literal::String(text)) => match self.values.iter().position(|v| v == text) {
                Some(number) => self.weight(whole(number)),
                None => float(0.0),
            },
            // PostgreSQL is asked for its number once, before the statement is planned.
            _ => {
                let text = cast(constant.clone(), SqlType::Text);
                let is = |(i, v): (usize, &String)| (binary(BinaryOp::Eq, text.clone(), string(v)), whole(i));
                let branches = self.values.iter().enumerate().map(is).collect();
                let number = Expr::new(ExprKind::Case { branches, otherwise: None }, None);
                let none = ExprKind::Is { expr: Box::new(number.clone()), what: Is::Null, negated: false };
                choose(Expr::new(none, None), float(0.0), Some(self.weight(number)))
            }
        }
    }
}

/// What a report says for a value: unbiased for 1 where it is the writer's, and for 0 where it is not.
fn weight_of(oracle: &Oracle, (supported, other): (f64, f64), report: Expr, value: Expr) -> Expr {
    let supports = match oracle.kind() {
        OracleKind::Response => binary(BinaryOp::Eq, report, value),
        OracleKind::Unary => binary(BinaryOp::Eq, call("get_bit", vec![report, value]), whole(1)),
        // Value v has row v + 1 of the matrix; its entry in the column that is reported is the parity of what both have.
        OracleKind::Hadamard => {
            let row = binary(BinaryOp::Add, value, whole(1));
            let both = call("int4and", vec![report, row]);
            let table = cast(string(&parities(oracle.symbols().unwrap_or(2))), bytea());
            binary(BinaryOp::Eq, call("get_bit", vec![table, both]), whole(0))
        }
    };
    choose(supports, float(supported), Some(float(other)))
}

/// The weight of a value that a report supports, and of one that it does not, where a report supports its writer's value with
/// probability p and another with q: on average 1 and 0 (Wang, Blocki, Li and Jha 2017, section 3).
fn weights((p, q): (f64, f64)) -> (f64, f64) {
    ((1.0 - q) / (p - q), -q / (p - q))
}

/// The parities of 0, …, n - 1, as the text of a bytea whose bits they are.
fn parities(n: u32) -> String {
    let bit = |i: u32| u8::from(i.count_ones() % 2 == 1);
    let byte = |b: u32| (0..8).fold(0u8, |byte, i| byte | bit(b * 8 + i) << i);
    let digits: String = (0..n.div_ceil(8)).map(|b| format!("{:02x}", byte(b))).collect();
    format!("\\x{digits}")
}

fn bytea() -> SqlType {
    SqlType::Other { oid: 17, name: "pg_catalog.bytea".into() }
}

/// What a report says for a number: unbiased for it, far outside of its range for each.
fn number_of((scale, offset): (f64, f64), low: &BigDecimal, grid: &BigDecimal, report: Expr) -> Expr {
    let (low, grid) = (low.to_f64().unwrap_or_default(), grid.to_f64().unwrap_or(1.0));
    let (slope, start) = (scale * grid, low + offset * grid);
    binary(BinaryOp::Add, times(cast(report, SqlType::Float8), float(slope)), float(start))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::weights;
    use policy::{Oracle, OracleKind, Randomiser, Ratio, Sets};

    /// Mutation: the weight of what is not supported without its -q.
    #[test]
    fn weights_are_unbiased() {
        for (p, q) in [(0.9, 0.1), (0.5, 0.2), (0.731, 0.269), (0.003, 0.001)] {
            let (supported, other) = weights((p, q));
            assert!((p * supported + (1.0 - p) * other - 1.0).abs() < 1e-9, "{p} {q}");
            assert!((q * supported + (1.0 - q) * other).abs() < 1e-9, "{p} {q}");
        }
    }

    /// A value of a set of three is drawn in one case of three, and is as good as another in the rest.
    #[test]
    fn weights_of_sets_are_unbiased() {
        for kind in OracleKind::ALL {
            let oracle = Oracle::new(kind, 6, &Ratio::from_integer(1)).unwrap();
            let (p, q) = oracle.probabilities();
            let sets = Randomiser::Sets(Sets::new(oracle, 3).unwrap());
            let (supported, other) = weights(sets.probabilities().unwrap());
            let given = p / 3.0 + q * 2.0 / 3.0;
            assert!((given * supported + (1.0 - given) * other - 1.0).abs() < 1e-9, "{kind:?}");
            assert!((q * supported + (1.0 - q) * other).abs() < 1e-9, "{kind:?}");
        }
    }
}
