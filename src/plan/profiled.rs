//! Profiles, as far as they say something of the rows that a statement reads.
//!
//! An item is the norm, for each unit of a table, of what all of its rows add up to in some groups.
//! It bounds that of any of these rows, in the same groups or in parts of them, and of what is no
//! larger for any row: norms grow with each entry, and that of parts is at most that of their sum.
//! So one item serves every condition, and every finer grouping.

use crate::algebra::source::PrivateSource;
use crate::expr::{GridValue, Node, Param, Scalar};
use crate::groups::key::Key;
use bigdecimal::BigDecimal;
use dp::profile::Tail;
use policy::{Added, ByKey, Calendar, Deviations, Item, Measure, Policy, Privacy, Table};
use schema::SqlType;
use sql::ast::{BinaryOp, BindingId};

/// What was measured of the units of a table of which a statement reads a part.
#[derive(Debug, PartialEq)]
pub struct Profiled {
    /// Name of the table.
    pub table: String,
    /// When it was measured, in microseconds since 1970.
    pub measured: i64,
    /// The number of its entry in the books.
    pub id: u64,
    /// It is taken for true still. Bounds follow from it either way: no promise of privacy rests on it.
    pub valid: bool,
    /// Items of rows that bound the statement's; that of all rows of a unit is the first.
    pub items: Vec<Serving>,
}

/// An item that bounds something of a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Serving {
    /// What was measured.
    pub of: Measure,
    /// What bounds on it cut.
    pub tail: Tail,
}

/// The norm by which the sums of a unit are bounded over its groups, whatever its rows are.
#[derive(Clone, Debug, PartialEq)]
pub struct Own {
    items: Vec<Serving>,
    /// The place of the item by which they are.
    at: usize,
    /// C, in numbers of the item's ends.
    most: u64,
    squared: bool,
    valid: bool,
}

/// The longest vector of sums in steps of their grid: in steps of a share a number that double precision holds.
const LONGEST: u64 = 1 << 46;

impl Own {
    /// Bounded by one of these items; None where there is none, or its tail is too long.
    pub(crate) fn of(items: Vec<Serving>, valid: bool) -> Option<Self> {
        let long = |item: &Serving| item.tail.h().checked_mul(item.steps()).is_none_or(|h| h > LONGEST);
        if items.is_empty() || items.iter().any(long) {
            return None;
        }
        let mut own = Self { items, at: 0, most: 0, squared: false, valid };
        own.follow(None);
        Some(own)
    }

    /// Takes the bound of the narrowest interval with this noise.
    pub(crate) fn follow(&mut self, drawn: Option<NoiseOfOne>) {
        if let Some((at, most)) = best(&self.items, drawn) {
            (self.at, self.most, self.squared) = (at, most, drawn.is_some_and(|d| d.gaussian));
        }
    }

    /// C, in numbers of the item's ends.
    pub fn ends(&self) -> u64 {
        self.most
    }

    /// C, in steps of the values' grid.
    pub fn most(&self) -> u64 {
        self.most.saturating_mul(self.item().map_or(1, Serving::steps))
    }

    /// The root of squares is what is bounded, else the sum of magnitudes.
    pub fn is_squared(&self) -> bool {
        self.squared
    }

    /// The item that says what is cut.
    pub fn item(&self) -> Option<&Serving> {
        self.items.get(self.at)
    }

    /// The most that a sum is short of in one group, in steps of the values' grid; NaN where nobody knows any more.
    pub fn lost(&self) -> f64 {
        let known = self.item().filter(|_| self.valid);
        known.map_or(f64::NAN, |item| item.tail.b_plus(self.most) * item.steps() as f64)
    }
}

/// The noise of an integer, by which its bound is chosen.
#[derive(Clone, Copy, Debug)]
pub struct NoiseOfOne {
    /// Half its interval, for each one of the bound.
    pub half: f64,
    /// It is Gaussian, so that the root of squares is what is bounded.
    pub gaussian: bool,
}

impl Serving {
    fn of(item: &Item) -> Self {
        Self { of: item.of.clone(), tail: item.tail.clone() }
    }

    /// Steps of a grid that are one of its ends.
    pub fn steps(&self) -> u64 {
        if let Added::Deviations(d) = &self.of.added { d.steps } else { 1 }
    }

    /// A norm by groups is the root of squares, which bounds no sum.
    fn serves(&self, gaussian: bool) -> bool {
        gaussian || self.of.by.is_none()
    }
}

/// The item and the bound of the narrowest interval; where the noise is not known, the first item, and all that it says.
pub(crate) fn best(items: &[Serving], drawn: Option<NoiseOfOne>) -> Option<(usize, u64)> {
    let Some(NoiseOfOne { half, gaussian }) = drawn else { return Some((0, items.first()?.tail.h())) };
    let each = items.iter().enumerate().filter(|(_, item)| item.serves(gaussian));
    let each = each.map(|(i, item)| {
        let c = item.tail.choose(half);
        (i, c, item.of.told(item.tail.width(half, c)))
    });
    each.reduce(|a, b| if b.2 < a.2 { b } else { a }).map(|(i, c, _)| (i, c))
}

impl Profiled {
    /// The profile of the table of which a unit has no more rows than in the statement: where there are several, of which it has
    /// fewest.
    pub(crate) fn of(source: &PrivateSource, policy: &Policy, keys: &[Key], day: i64) -> Option<Self> {
        let found = tables(source, policy)
            .filter_map(|(binding, t)| Some((binding, t, t.profile.as_ref()?, t.item_of_rows()?)));
        let (binding, table, profile, first) = found.min_by_key(|(.., item)| item.tail.h())?;
        let others = serving(source, keys, binding, table, &|of| *of == Added::Rows);
        Some(Self {
            table: table.name.clone(),
            measured: profile.measured,
            id: profile.id,
            valid: day <= profile.valid_until,
            items: [Serving::of(first)].into_iter().chain(others.filter(|i| i.of != first.of)).collect(),
        })
    }
}

/// Private tables of which a unit has no more rows than in the statement, with the scans that keep them.
fn tables<'p>(source: &'p PrivateSource, policy: &'p Policy) -> impl Iterator<Item = (BindingId, &'p Table)> {
    let keeps = |b: &BindingId| source.scans.iter().find(|s| s.binding == *b)?.keeps();
    source.rows.follows.iter().filter_map(move |b| {
        let table = policy.tables.get(keeps(b)?)?;
        (table.privacy != Privacy::Public).then_some((*b, table))
    })
}

/// Items of a table that bound what the statement adds up in its groups.
fn serving<'p>(
    source: &'p PrivateSource,
    keys: &'p [Key],
    binding: BindingId,
    table: &'p Table,
    added: &'p dyn Fn(&Added) -> bool,
) -> impl Iterator<Item = Serving> + 'p {
    let grouped = move |by: &ByKey| {
        keys.iter().any(|k| is_finer(&k.scalar, binding, by)) || is_one(source, binding, by)
    };
    let items = table.items().iter().filter(move |i| added(&i.of.added));
    items.filter(move |i| i.of.by.as_ref().is_none_or(&grouped)).map(Serving::of)
}

/// Items that bound the sums of a value on its grid.
pub(crate) fn of_sums(
    source: &PrivateSource,
    policy: &Policy,
    keys: &[Key],
    value: &GridValue,
) -> Vec<Serving> {
    let Some((binding, name)) = column(value.arg()) else { return Vec::new() };
    let Some((_, table)) = tables(source, policy).find(|(b, _)| *b == binding) else { return Vec::new() };
    let fits = |added: &Added| match added {
        Added::Deviations(d) => d.column == name && bounds(d, value),
        Added::Rows => false,
    };
    let mut items: Vec<Serving> = serving(source, keys, binding, table, &fits).collect();
    items.sort_by_key(|i| i.of.by.is_some());
    // Without the norm of all rows there is none for Laplace noise.
    if items.first().is_some_and(|i| i.of.by.is_none()) { items } else { Vec::new() }
}

/// The centres about which sums of a value were measured, but for 0.
pub(crate) fn centres(source: &PrivateSource, policy: &Policy, value: &GridValue) -> Vec<i128> {
    let Some((binding, name)) = column(value.arg()) else { return Vec::new() };
    let Some((_, table)) = tables(source, policy).find(|(b, _)| *b == binding) else { return Vec::new() };
    let centre = |item: &Item| match &item.of.added {
        Added::Deviations(d) if d.column == name && d.grid == *value.grid() => value.steps_to(&d.about),
        _ => None,
    };
    table.items().iter().filter_map(centre).filter(|c| *c != 0).collect()
}

/// No value of a row deviates more from its centre than what was measured.
fn bounds(d: &Deviations, value: &GridValue) -> bool {
    let (low, high) = value.range();
    let about = BigDecimal::from(value.centre()) * value.grid();
    // Ends lie on the grid, up to a step further out than they were declared.
    let within = low > &d.low - &d.grid && high < &d.high + &d.grid && low <= d.about && d.about <= high;
    // Values that are cut alike deviate alike, wherever the centre is.
    let same = (&low, &high) == (&d.low, &d.high);
    *value.grid() == d.grid && about == d.about && (within || same)
}

/// The column whose value is added up, for some rows: NULL adds nothing.
fn column(x: &Scalar) -> Option<(BindingId, &str)> {
    match x.node() {
        Node::Clamp(x) | Node::Short(x) => column(x),
        Node::Case(when, None) => match when.as_slice() {
            [(_, x)] => column(x),
            _ => None,
        },
        _ => whole_column(x),
    }
}

/// The column that an expression is in every row: as a key, what is NULL for some puts rows of several groups into one.
fn whole_column(x: &Scalar) -> Option<(BindingId, &str)> {
    match x.node() {
        Node::Column { binding, name } => Some((*binding, name)),
        Node::Clamp(x) | Node::Short(x) => whole_column(x),
        _ => None,
    }
}

/// Groups by a key are those of an item, or parts of them.
fn is_finer(key: &Scalar, binding: BindingId, by: &ByKey) -> bool {
    // Months of a moment are those of a time zone.
    let unzoned = |x: &Scalar| by.to.is_none() || *x.ty() != SqlType::Timestamptz;
    let is_column =
        |x: &Scalar| unzoned(x) && whole_column(x).is_some_and(|(b, name)| b == binding && name == by.column);
    match (key.node(), by.to) {
        (Node::Apply(f, args, Param::Field(unit, _)), Some(to)) if f.name == "date_trunc" => {
            let coarser = match to {
                Calendar::Year => ["decade", "century", "millennium"].as_slice(),
                Calendar::Month => &["quarter", "year", "decade", "century", "millennium"],
            };
            // Weeks lie across months and years.
            !coarser.contains(unit) && *unit != "week" && args.first().is_some_and(is_column)
        }
        _ => is_column(key),
    }
}

/// A condition leaves rows of one group of an item.
fn is_one(source: &PrivateSource, binding: BindingId, by: &ByKey) -> bool {
    let is_column = |x: &Scalar| matches!(x.node(), Node::Column { binding: b, name } if *b == binding && *name == by.column);
    let constant = |x: &Scalar| matches!(x.node(), Node::Number(_) | Node::Text(_) | Node::Bool(_));
    source.filter.iter().any(|c| match c.node() {
        Node::Compare(BinaryOp::Eq, a, b) => is_column(a) && constant(b) || constant(a) && is_column(b),
        _ => false,
    })
}
