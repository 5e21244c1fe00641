//! What a number above released numbers is made of.

use crate::GroupingSets;
use crate::aggregates::{Followed, Output};
use crate::noise::{Part, Rows};
use sql::ast::{BindingId, Expr, ExprKind, Query, Select};
use std::collections::BTreeSet;

/// A number above a release, and where its noise is from.
#[derive(Clone, Debug)]
pub enum Uncertain<'p> {
    /// Without noise.
    Exact(&'p Expr),
    /// One of the analyst's aggregates over private rows.
    Released {
        /// The first release of its SELECT, which names the row.
        row: usize,
        /// Its own release.
        from: usize,
        /// How it is computed.
        output: &'p Output,
    },
    /// One of the analyst's aggregates in rows of grouping sets, which have noise of their own in each.
    OfSets {
        /// The first release of its SELECT, which names the row.
        row: usize,
        /// The sets.
        sets: &'p GroupingSets,
        /// Its place among their aggregates.
        aggregate: usize,
        /// The released integers, as those of the first set.
        parts: BTreeSet<Part>,
    },
    /// A column of a query in FROM, and the places of its variance and fourth cumulant there.
    Column {
        /// The expression.
        expr: &'p Expr,
        /// The query's binding.
        binding: BindingId,
        /// The SELECT that it is an item of.
        select: &'p Select,
        /// Its place there.
        item: usize,
        /// All releases and parts that it is from.
        parts: BTreeSet<Part>,
        /// Several rows may have the same noise.
        shared: bool,
    },
    /// A scalar subquery, whose only item this is.
    Query {
        /// The expression.
        expr: &'p Expr,
        /// The query.
        query: &'p Query,
        /// All releases and parts that it is from.
        parts: BTreeSet<Part>,
    },
    /// The value itself, in another type or rounded.
    Same(&'p Expr, Box<Uncertain<'p>>),
    /// `-x`
    Negated(&'p Expr, Box<Uncertain<'p>>),
    /// `x + y`, `x - y`
    Sum(&'p Expr, bool, Box<[Uncertain<'p>; 2]>),
    /// `x * y`
    Product(&'p Expr, Box<[Uncertain<'p>; 2]>),
    /// `x / y`
    Quotient(&'p Expr, Box<[Uncertain<'p>; 2]>),
    /// The sum, or the mean, of so many rows.
    Total {
        /// The aggregate, or the window function.
        expr: &'p Expr,
        /// Of each row.
        of: Box<Uncertain<'p>>,
        /// The mean.
        mean: bool,
    },
    /// The number of a row before or behind.
    Shifted {
        /// The window function.
        expr: &'p Expr,
        /// Of each row.
        of: Box<Uncertain<'p>>,
        /// How many rows before.
        by: i64,
    },
}

impl Uncertain<'_> {
    /// Whether several rows of its relation may have the same noise in it.
    pub(super) fn shared(&self) -> bool {
        match self {
            Self::Exact(_) | Self::Released { .. } => false,
            Self::Column { shared, .. } => *shared,
            Self::OfSets { sets, .. } => sets.share(),
            Self::Query { .. } => true,
            Self::Total { expr, of, .. } => matches!(expr.kind, ExprKind::Window { .. }) || of.shared(),
            Self::Shifted { .. } => true,
            Self::Same(_, x) | Self::Negated(_, x) => x.shared(),
            Self::Sum(_, _, pair) | Self::Product(_, pair) | Self::Quotient(_, pair) => {
                pair.iter().any(Self::shared)
            }
        }
    }

    /// The released integers that its noise is of: releases, and parts of them.
    pub fn parts(&self) -> BTreeSet<Part> {
        match self {
            Self::Exact(_) => BTreeSet::new(),
            Self::Released { from, output, .. } => numbers(output)
                .into_iter()
                .map(|part| Part { release: *from, part, rows: Rows::Own })
                .collect(),
            Self::Column { parts, .. } | Self::Query { parts, .. } | Self::OfSets { parts, .. } => {
                parts.clone()
            }
            Self::Same(_, x) | Self::Negated(_, x) => x.parts(),
            Self::Total { of, .. } => of.parts().into_iter().map(|p| Part { rows: Rows::Any, ..p }).collect(),
            Self::Shifted { of, by, .. } => {
                let shifted = |p: Part| match p.rows {
                    Rows::Own => Part { rows: Rows::Shifted(*by), ..p },
                    _ => Part { rows: Rows::Any, ..p },
                };
                of.parts().into_iter().map(shifted).collect()
            }
            Self::Sum(_, _, pair) | Self::Product(_, pair) | Self::Quotient(_, pair) => {
                pair.iter().flat_map(Self::parts).collect()
            }
        }
    }
}

/// The parts that an aggregate with noise of which there is a rule follows from.
pub(super) fn numbers(output: &Output) -> Vec<usize> {
    if output.noise() == Followed::Known { output.parts() } else { Vec::new() }
}
