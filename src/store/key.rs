//! Under which key an answer is kept: everything that its distribution depends on, and nothing else.
//!
//! * what is read, in canonical form, as the SQL that reads it: tables by name, joins, filters, keys, domains, bounds;
//! * what each part counts or sums, and its noise and selection: ε, δ, `max_groups`, `max_rows` and the mechanism are in
//!   these, and only as far as they matter;
//! * the released values that its rows are compared with, the groups that rounds before it have selected, and the question that
//!   selects its groups where it is another;
//! * the session's time zone, where a value depends on it: its texts name it;
//! * the policy's version, the database and its server, the epoch of the data, and the role.

use super::canonical::Canonical;
use super::epoch::Epoch;
use backend::Param;
use bytes::Bytes;
use dp::{BigRatio, Distribution, Preference, Ratio, Selection, Spec, Used, Weights};
use emit::{fetch, scalar};
use plan::expr::print::in_zone;
use plan::expr::{GridValue, Scalar};
use plan::profiled::Own;
use plan::{Part, PartKind};
use policy::Policy;
use sha2::{Digest, Sha256};

/// A key: of a stored answer, of a list of answers, or of a part.
pub type Key = [u8; 32];

/// Context that an answer is kept for, beside its release.
#[derive(Clone, Debug)]
pub struct KeyContext<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// Server and database that were read.
    pub database: &'a str,
    /// When the data was read, as far as anybody distinguishes.
    pub epoch: &'a Epoch,
    /// Whose answers these are. Users without a role share theirs.
    pub role: Option<&'a str>,
    /// δ for each selection of groups.
    pub delta: &'a Ratio,
    /// Noise that the session asks for.
    pub mechanism: Preference,
    /// The values of the stages before.
    pub given: &'a [Param],
    /// The groups that rounds before it have selected, a column of keys each.
    pub without: &'a [Vec<Option<Bytes>>],
    /// The question that selects its groups, where another does.
    pub within: Option<Key>,
}

/// The keys of one release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// Name in the books: the rows that are read, without prices.
    pub statement: Key,
    /// Of the very release: the same groups, parts and noise.
    pub exact: Key,
    /// Of the list of releases from which this one may take its parts: the same groups, at the same price.
    pub like: Key,
    /// Of that of the same groups, whatever was paid.
    pub at_any_price: Key,
    /// Parts of the release.
    pub parts: Vec<Wanted>,
}

/// A part that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Key of the part.
    pub key: Key,
    /// The key of the plain sum, where this is a centred one that serves averages: that does, too.
    pub plain: Option<Key>,
    /// The keys of the centred sum and of the count of the same rows, where this is a plain one: it follows from both.
    pub centred: Option<[Key; 2]>,
}

/// Fields, each tagged by its place and preceded by its length.
struct Canon(Sha256);

impl Canon {
    fn new(what: &str) -> Self {
        let mut canon = Self(Sha256::new());
        canon.text("noisegate answer 1");
        canon.text(what);
        canon
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    fn number(&mut self, n: impl Into<u64>) -> &mut Self {
        self.0.update(n.into().to_be_bytes());
        self
    }

    /// A value in binary form, or NULL.
    fn cell(&mut self, cell: Option<&[u8]>) -> &mut Self {
        self.number(cell.is_some()).bytes(cell.unwrap_or_default())
    }

    fn show(&mut self, x: &impl std::fmt::Display) -> &mut Self {
        self.text(&x.to_string())
    }

    fn option(&mut self, x: Option<&str>) -> &mut Self {
        self.number(x.is_some());
        self.text(x.unwrap_or_default())
    }

    fn key(self) -> Key {
        self.0.finalize().into()
    }
}

impl Keys {
    /// The keys of a release in canonical form. `spec` is its noise.
    pub fn of(canonical: &Canonical, spec: &Spec, context: &KeyContext<'_>) -> Self {
        let base = &canonical.base;
        let parts: Vec<Wanted> = canonical.parts.iter().map(|p| Wanted::of(p, &base.zone)).collect();
        let mut sorted: Vec<(&Key, usize)> = parts.iter().enumerate().map(|(i, p)| (&p.key, i)).collect();
        sorted.sort_unstable();
        let text = fetch::fetch(base, context.policy).sql;
        let mut statement = Canon::new("statement");
        statement
            .text(&text)
            .number(base.public_groups)
            .number(base.bounding.l0())
            .number(base.bounding.rows());
        sorted.iter().for_each(|(key, _)| {
            statement.bytes(*key);
        });
        let mut read = Canon::new("read");
        read.bytes(&context.policy.version);
        context.epoch.each(|part| {
            read.text(part);
        });
        read.text(context.database).option(context.role).text(&text);
        read.number(base.public_groups).number(base.bounding.l0()).number(base.bounding.rows());
        read.number(base.bounding.l0_stage()).number(base.bounding.rows_stage());
        // What is cut is told by it.
        read.option(base.bounding.item().map(|item| item.of.to_string()).as_deref());
        for n in &base.given {
            let value = context.given.get(*n);
            read.number(u64::try_from(*n).unwrap_or(u64::MAX)).number(value.map_or(0, |v| v.oid));
            read.cell(value.and_then(|v| v.value.as_deref()));
        }
        if base.is_later_round() {
            let without = rows(context.without, &canonical.keys);
            read.number(u64::try_from(without.len()).unwrap_or(u64::MAX));
            for cell in without.into_iter().flatten() {
                read.cell(cell);
            }
        }
        if let Some(selects) = &context.within {
            read.bytes(selects);
        }
        let read = read.key();
        let mut exact = Canon::new("release");
        exact.bytes(&read);
        for (key, i) in &sorted {
            exact.bytes(*key);
            match spec.aggregates.get(*i).map(|n| (n.sensitivity, &n.distribution)) {
                None => exact.text("missing"),
                Some((_, Distribution::None)) => exact.text("none"),
                Some((_, Distribution::Laplace { scale })) => exact.text("laplace").show(scale),
                Some((_, Distribution::Gaussian { variance })) => exact.text("gaussian").show(variance),
            };
            if let Some(dp::Noise { sensitivity: by, steps, .. }) = spec.aggregates.get(*i) {
                exact.number(*steps).show(&by.linf).show(&by.l1).show(&by.l2_squared).show(&by.groups);
            }
        }
        exact.number(spec.l0);
        exact.number(spec.selection.is_some());
        if let Some(Selection { weights, noise, threshold, delta }) = &spec.selection {
            match weights {
                Weights::Units => {}
                Weights::Sum(w) => {
                    exact.text("sum of weights").number(*w);
                }
                Weights::Squares(w) => {
                    exact.text("squares of weights").number(*w);
                }
            }
            match noise {
                Distribution::None => exact.text("none"),
                Distribution::Laplace { scale } => exact.show(scale),
                Distribution::Gaussian { variance } => exact.text("gaussian").show(variance),
            };
            exact.show(threshold).show(delta);
        }
        let (mut like, mut at_any_price) = (Canon::new("like"), Canon::new("at any price"));
        at_any_price.bytes(&read);
        if let Some(points) = &spec.points {
            // Choices are made together: others have other errors.
            let points = format!("{points:?}");
            exact.text(&points);
            like.text(&points);
            at_any_price.text(&points);
        }
        if let Some(top) = &spec.top {
            // Not all groups are there.
            let top = format!("{top:?}");
            exact.text(&top);
            like.text(&top);
            at_any_price.text(&top);
        }
        like.bytes(&read).show(&price(spec)).text(context.mechanism.word());
        if base.selects() {
            like.show(context.delta);
            at_any_price.show(context.delta);
        }
        let (statement, exact) = (statement.key(), exact.key());
        Self { statement, exact, like: like.key(), at_any_price: at_any_price.key(), parts }
    }
}

impl Keys {
    /// The keys of the same question in these groups, a column of keys each: what is released in groups that were selected
    /// before is kept for these.
    pub(super) fn in_groups<'g>(&self, groups: impl Iterator<Item = &'g [Option<Bytes>]>) -> Self {
        let mut canon = Canon::new("groups");
        for column in groups {
            canon.number(u64::try_from(column.len()).unwrap_or(u64::MAX));
            for cell in column {
                canon.cell(cell.as_deref());
            }
        }
        let groups = canon.key();
        let of = |key: &Key| {
            let mut canon = Canon::new("in groups");
            canon.bytes(key).bytes(&groups);
            canon.key()
        };
        let (exact, like, at_any_price) = (of(&self.exact), of(&self.like), of(&self.at_any_price));
        Self { exact, like, at_any_price, ..self.clone() }
    }
}

impl Wanted {
    fn of(part: &Part, zone: &str) -> Self {
        let (plain, centred) = match &part.kind {
            PartKind::Sum(s) if s.centre() != 0 => (Some(sum(&s.uncentred(), zone)), None),
            PartKind::Sum(s) if s.centred().centre() != 0 => {
                let rows = PartKind::rows_of(s.arg());
                (None, Some([sum(&s.centred(), zone), part_key(&rows, zone)]))
            }
            _ => (None, None),
        };
        match &part.own {
            None => Self { key: part_key(&part.kind, zone), plain, centred },
            Some(own) => Self { key: own_key(&part_key(&part.kind, zone), own), plain: None, centred: None },
        }
    }

    /// The lists of keys that it follows from, each of which is enough.
    pub(super) fn ways(&self) -> impl Iterator<Item = &[Key]> {
        let alone = std::iter::once(&self.key).chain(&self.plain).map(std::slice::from_ref);
        alone.chain(self.centred.iter().map(<[Key; 2]>::as_slice))
    }
}

/// What a part counts or sums: with the source, groups and bounds, the whole of what it depends on.
fn part_key(kind: &PartKind, zone: &str) -> Key {
    let text = |x: &Scalar| in_zone(&scalar::text(x), zone);
    let mut canon = Canon::new("part");
    match kind {
        PartKind::Count(None) => canon.text("rows"),
        PartKind::Count(Some(x)) => canon.text("count").text(&text(x)),
        PartKind::Units(None) => canon.text("units"),
        PartKind::Units(Some(x)) => canon.text("units where").text(&text(x)),
        PartKind::Values(x) => canon.text("values").text(&text(x)),
        PartKind::Point(pick) => canon.text("point").text(&format!("{pick:?}")),
        PartKind::Sum(s) => return sum(s, zone),
        PartKind::SumOfValues(s) => canon.text("sum of values").bytes(&sum(s, zone)),
    };
    canon.key()
}

/// The key of a sum that is bounded by its own norm: what it was bounded by says what is cut of it, too.
fn own_key(part: &Key, own: &Own) -> Key {
    let mut canon = Canon::new("own");
    canon.bytes(part).number(own.most()).number(own.is_squared());
    canon.option(own.item().map(|item| item.of.to_string()).as_deref());
    canon.key()
}

fn sum(s: &GridValue, zone: &str) -> Key {
    let mut canon = Canon::new("part");
    canon.text("sum").text(&in_zone(&scalar::text(s.arg()), zone)).number(s.arg().nullable());
    let (low, high) = s.ends();
    canon.show(&s.grid().normalized()).show(&s.centre()).show(&low).show(&high);
    canon.key()
}

/// ε² of the least name that pays for a release. The same for any number of parts that share one price.
fn price(spec: &Spec) -> BigRatio {
    Used::by([spec]).unwrap_or_default().square()
}

/// Rows of these columns, taken in this order, themselves in one that follows from them.
fn rows<'c>(columns: &'c [Vec<Option<Bytes>>], order: &[usize]) -> Vec<Vec<Option<&'c [u8]>>> {
    let columns: Vec<&Vec<Option<Bytes>>> = order.iter().filter_map(|place| columns.get(*place)).collect();
    let cell = |column: &&'c Vec<Option<Bytes>>, row: usize| column.get(row).and_then(|cell| cell.as_deref());
    let count = columns.first().map_or(0, |column| column.len());
    let mut rows: Vec<Vec<_>> =
        (0..count).map(|row| columns.iter().map(|column| cell(column, row)).collect()).collect();
    rows.sort_unstable();
    rows
}

/// The places of one key: the first is the key itself.
pub(super) fn nth(key: &Key, n: u64) -> Key {
    if n == 0 {
        return *key;
    }
    let mut canon = Canon::new("place");
    canon.bytes(key).number(n);
    canon.key()
}

/// The keys of the list of releases like one.
pub(super) fn member(like: &Key, n: u64) -> Key {
    let mut canon = Canon::new("member");
    canon.bytes(like).number(n);
    canon.key()
}

/// The key of what a user wrote.
pub(super) fn asked(epoch: &Epoch, user: &str, statement: &[u8; 32]) -> Key {
    let mut canon = Canon::new("asked");
    epoch.each(|part| {
        canon.text(part);
    });
    canon.text(user).bytes(statement);
    canon.key()
}

/// Key of a payment for several releases.
pub fn together(keys: &[Key]) -> Key {
    match keys {
        [one] => *one,
        several => {
            let mut sorted = several.to_vec();
            sorted.sort_unstable();
            let mut canon = Canon::new("together");
            sorted.iter().for_each(|k| {
                canon.bytes(k);
            });
            canon.key()
        }
    }
}
