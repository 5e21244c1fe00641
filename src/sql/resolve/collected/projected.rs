//! Estimates that can be true: none below 0, and all values together as many as there are reports.
//!
//! The estimates of all combinations of the values that a statement asks about are replaced by the nearest ones (least squares)
//! that are not negative and add up to the number of reports: max(u - θ, 0), where θ is the greatest of (S_j - n)/j, S_j being the
//! sum of the j greatest estimates (Duchi, Shalev-Shwartz, Singer and Chandra 2008, Figure 1). Wang, Lopuhaä-Zwakenberg, Li,
//! Skoric and Li (2020) call it Norm-Sub, and find it to have the least error of ten ways of consistency. It is post-processing. It
//! is a bias, too: what is rare is cut to 0, and what is frequent loses as much.

use super::build::*;
use super::expansion::Hidden;
use crate::ast::*;
use crate::resolve::resolver::Resolver;
use policy::Collect;
use schema::SqlType;

impl Resolver<'_> {
    /// The relation of [`expansion`](Resolver::expansion), with one row for each combination of values, whose weight is its share.
    pub(super) fn projected(&mut self, collect: &Collect, facets: usize, expansion: Query) -> Query {
        let visible = collect.columns.len() + facets;
        let hidden = Hidden::behind(visible);
        let named =
            || collect.columns.iter().map(|c| c.name.clone()).chain((0..facets).map(|_| "f".to_owned()));
        // SELECT a, b, sum(weight * reports), max(total) … GROUP BY a, b: the estimates.
        let raw = self.unnamed(Source::Derived, visible + 4);
        let keys: Vec<Expr> = (0..visible).map(|i| column(raw, i)).collect();
        let weighed = times(column(raw, hidden.weight), column(raw, hidden.reports));
        let sum = aggregate("sum", vec![weighed], None);
        let total = aggregate("max", vec![column(raw, hidden.total)], None);
        let items = keys.iter().zip(named()).map(|(k, name)| item(k.clone(), &name));
        let items = items.chain([item(sum, "u"), item(total, "t")]).collect();
        let estimates = self.of_items(items, vec![relation(raw, Some(expansion))], keys);
        // Their order, the greatest first: each has a number of its own.
        let (estimate, all) = (visible, visible + 1);
        let at = self.unnamed(Source::Derived, visible + 2);
        let greatest_first = OrderItem { expr: column(at, estimate), desc: true, nulls_first: None };
        let number = over(call("row_number", Vec::new()), vec![greatest_first]);
        let passed =
            |binding: BindingId, until: usize| (0..until).map(move |i| item(column(binding, i), "c"));
        let items = passed(at, visible + 2).chain([item(number, "j")]).collect();
        let numbered = self.of_items(items, vec![relation(at, Some(query(estimates)))], Vec::new());
        // θ_j: numbers differ, so that a sum up to a number is one of so many estimates.
        let place = visible + 2;
        let from = self.unnamed(Source::Derived, visible + 3);
        let up_to = OrderItem { expr: column(from, place), desc: false, nulls_first: None };
        let sums = over(aggregate("sum", vec![column(from, estimate)], None), vec![up_to]);
        let count = cast(column(from, place), SqlType::Float8);
        let theta = binary(BinaryOp::Div, minus(sums, column(from, all)), count);
        let items = passed(from, visible + 3).chain([item(theta, "o")]).collect();
        let offset = self.of_items(items, vec![relation(from, Some(query(numbered)))], Vec::new());
        // What is left above the greatest of them.
        let theta = visible + 3;
        let from = self.unnamed(Source::Derived, visible + 4);
        let most = over_all(aggregate("max", vec![column(from, theta)], None));
        let left = call("greatest", vec![minus(column(from, estimate), most), float(0.0)]);
        let shares = [left, float(1.0), column(from, place), column(from, all)];
        let items = (0..visible).zip(named()).map(|(i, name)| item(column(from, i), &name));
        let items = items.chain(shares.into_iter().map(|e| item(e, "w"))).collect();
        let projected = self.of_items(items, vec![relation(from, Some(query(offset)))], Vec::new());
        query(projected)
    }
}
