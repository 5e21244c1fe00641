//! The fetch of a release: joins, filters, contribution bounding and clamping, down to one row of exact integers per
//! group.
//!
//! Layout of a row: the group keys; where groups are selected, the number of distinct units; then one integer per
//! part. Stages that keys prove idle are not printed.

use super::light;
use super::once::Once;
use super::shares::{scaled, share_of_rows, share_of_sum};
use super::{domain, rows, scalar};
use plan::bound::bounding::{Norm, STEPS};
use plan::expr::print::{COLLATE, in_zone};
use plan::expr::{GridValue, Scalar};
use plan::release::Release;
use plan::{Part, PartKind};
use policy::Policy;
use schema::{Engine, SqlType};

/// The text of a fetch, and whether it takes the secret seed as `$1` (int8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchText {
    /// Text of the statement.
    pub sql: String,
    /// `$1` is the seed of the random order in which surplus groups are dropped.
    pub seeded: bool,
}

/// Magnitudes of values of which no table has so many rows that their steps add up to more than an int8 holds.
const SMALL: u128 = 1 << 25;

struct Fetch<'a> {
    release: &'a Release,
    ctes: Vec<(&'static str, String)>,
    /// Counts per unit: None for all rows, else rows where the scalar is not NULL.
    counts: Vec<Option<Scalar>>,
    /// What the rows' values are computed in, where several sums share some.
    once: Option<Once>,
    /// Units with so many rows are added up together.
    light: Option<u32>,
}

/// Prints the fetch of a release.
pub fn fetch(release: &Release, policy: &Policy) -> FetchText {
    let mut f = Fetch {
        release,
        ctes: Vec::new(),
        counts: Vec::new(),
        // Citus runs what ends in an OFFSET by itself, in a snapshot of its own.
        once: Once::of(release).filter(|_| policy.backend.engine == Engine::Postgresql),
        light: release.light(),
    };
    let public = release.public_groups && !release.keys.is_empty();
    if public {
        f.ctes.push(("d", domain::unzoned(release, policy)));
    }
    if release.bounding.per_unit() {
        f.per_unit();
    } else {
        f.direct();
    }
    let body = f.last(public);
    let ctes: Vec<String> = f
        .ctes
        .iter()
        .map(|(name, sql)| {
            let hint = if matches!(*name, "d" | "x") { "MATERIALIZED " } else { "" };
            format!("{name} AS {hint}({sql})")
        })
        .collect();
    FetchText {
        sql: in_zone(&format!("WITH {} {body}", ctes.join(", ")), &release.zone),
        seeded: release.bounding.l0_stage() || release.round.is_some(),
    }
}

impl Fetch<'_> {
    /// What is added up. Of cells, their rows, once for all choices.
    fn parts(&self) -> &[Part] {
        let parts = self.release.parts.as_slice();
        if self.release.cells.is_some() { parts.get(..1).unwrap_or(parts) } else { parts }
    }

    fn keys(&mut self) -> Vec<String> {
        let canonical = !self.release.public_groups;
        let keys = self.release.keys.iter().map(|k| scalar::key(&k.scalar, canonical));
        let keys: Vec<String> = keys.collect();
        keys.into_iter().enumerate().map(|(i, k)| format!("{} AS k{i}", self.of_row(k))).collect()
    }

    /// What a row has, where it is computed.
    fn of_row(&mut self, text: String) -> String {
        match &mut self.once {
            Some(once) => once.column(&text),
            None => text,
        }
    }

    /// One row's value in grid units: rounded, centred, clamped.
    fn value(&self, s: &GridValue) -> String {
        self.once.as_ref().and_then(|once| once.value(s)).unwrap_or_else(|| value(s))
    }

    fn key_names(&self, of: &str) -> Vec<String> {
        (0..self.release.keys.len()).map(|i| format!("{of}.k{i}")).collect()
    }

    /// The value whose distinct ones are counted, as one more key of `c`; on its grid, where they are added up, too.
    fn value_key(&self) -> Option<String> {
        let added = self.release.parts.iter().find(|p| p.kind.adds_values());
        let added = added.and_then(|p| p.kind.on_grid()).map(value);
        added.or_else(|| Some(scalar::key(self.release.values()?, false)))
    }

    fn unit(&self) -> String {
        scalar::text(&self.release.source.unit.scalar())
    }

    /// ` FROM … WHERE …`. `beside`: what is joined to it.
    fn source_rows(&self, beside: &str) -> String {
        let source = &self.release.source;
        let unit = source.unit.nullable.then(|| self.unit());
        // NULL is no value, and no point; of public cells it is in no domain.
        let point =
            self.release.keys.last().filter(|_| self.release.cells.is_some() && !self.release.public_groups);
        let point = point.filter(|k| k.scalar.nullable()).map(|k| scalar::key(&k.scalar, true));
        let value = self.release.values().filter(|x| x.nullable()).and(self.value_key()).or(point);
        let present: Vec<String> =
            unit.into_iter().chain(value).map(|x| format!("{x} IS NOT NULL")).collect();
        let present = (!present.is_empty()).then(|| present.join(" AND "));
        let rows =
            |beside| rows::from_where(&source.tree, &source.scans, beside, present.clone(), &source.filter);
        match &self.once {
            Some(once) => once.from(&rows("")) + beside,
            None => rows(beside),
        }
    }

    fn count(&mut self, arg: Option<&Scalar>) -> usize {
        let arg = arg.filter(|a| a.nullable()).cloned();
        match self.counts.iter().position(|c| *c == arg) {
            Some(i) => i,
            None => {
                self.counts.push(arg);
                self.counts.len() - 1
            }
        }
    }

    /// `h`, where light units are told apart: how many rows each unit has. `c`: one row per unit and group, of light units one
    /// together. Then `e`: at most l0 groups per unit. Then `g`: one row per group.
    fn per_unit(&mut self) {
        let parts = self.parts().to_vec();
        let mut sums = Vec::new();
        let scaled = |p: &Part| p.own.is_none() && (p.kind.adds_rows() || p.kind.is_chosen());
        if self.release.bounding.rows_stage() && parts.iter().any(scaled) {
            // All integers of a unit are scaled down by what scales its rows.
            self.count(None);
        }
        for (i, p) in parts.iter().enumerate() {
            match &p.kind {
                PartKind::Count(arg) => {
                    self.count(arg.as_ref());
                }
                PartKind::Point(_) => {
                    self.count(None);
                }
                PartKind::Sum(s) => {
                    if p.own.is_none() {
                        self.count(Some(s.arg()));
                    }
                    sums.push(format!("COALESCE(pg_catalog.sum({}), 0) AS s{i}", self.value(s)));
                }
                PartKind::Units(arg) => {
                    if let Some(x) = arg {
                        self.count(Some(x));
                    }
                }
                PartKind::Values(_) | PartKind::SumOfValues(_) => {}
            }
        }
        let unit = self.unit();
        let unit = self.of_row(unit);
        let mut select = vec![self.light.map_or_else(|| format!("{unit} AS u"), |_| light::UNIT.to_owned())];
        select.extend(self.keys());
        select.extend(self.value_key().map(|x| format!("{x} AS k{}", self.release.keys.len())));
        let group: Vec<String> = (1..=select.len()).map(|i| i.to_string()).collect();
        for (i, c) in self.counts.clone().iter().enumerate() {
            select.push(match c {
                None => format!("pg_catalog.count(*) AS n{i}"),
                Some(x) => format!("pg_catalog.count({}) AS n{i}", self.of_row(scalar::presence(x))),
            });
        }
        select.extend(sums);
        let mut beside = String::new();
        if let Some(most) = self.light {
            self.ctes.push(("h", light::rows_of_units(&unit, &self.source_rows(""))));
            beside = light::heavy(&unit, most);
        }
        self.ctes.push((
            "c",
            format!(
                "SELECT {}{} GROUP BY {}",
                select.join(", "),
                self.source_rows(&beside),
                group.join(", ")
            ),
        ));
        if let Some(weights) = self.release.weights() {
            return self.weighted(weights);
        }
        let public = self.release.public_groups && !self.release.keys.is_empty();
        let mut from = "c".to_owned();
        let mut kept = String::new();
        // Rows outside a public domain are gone before a unit's groups are counted (soundness rule 2).
        let inside = if public { format!(" JOIN d ON {}", self.matches("c")) } else { String::new() };
        let mut shares: Vec<String> = Vec::new();
        if let Some(norm) = self.release.norm() {
            shares.extend((0..self.counts.len()).map(|i| share_of_rows(i, norm)));
        }
        shares.extend(parts.iter().enumerate().filter_map(|(i, p)| Some(share_of_sum(i, p.own.as_ref()?))));
        if !shares.is_empty() {
            let shares = shares.concat();
            let window = "WINDOW v AS (PARTITION BY c.u)";
            self.ctes.push(("e", format!("SELECT c.*{shares} FROM c{inside} {window}")));
            from = "e".into();
        }
        if self.release.bounding.l0_stage() {
            let order = self.order();
            self.ctes.push((
                "e",
                format!(
                    "SELECT c.*, pg_catalog.row_number() OVER (PARTITION BY c.u ORDER BY {order}) AS r FROM c{inside}"
                ),
            ));
            from = "e".into();
            kept = format!(" WHERE e.r <= {}", self.release.bounding.kept());
        }
        let mut select = self.key_names(&from);
        let group = self.group_by(select.len());
        if self.release.selects() {
            select.push("pg_catalog.count(*) AS units".into());
        }
        for (i, p) in parts.iter().enumerate() {
            select.push(format!("{} AS a{i}", self.bounded(&from, i, p)));
        }
        self.ctes.push(("g", format!("SELECT {} FROM {from}{kept}{group}", select.join(", "))));
    }

    /// `x`, groups that were selected before; `e`, which ranks and counts a unit's other groups; `g`, where each of the first of them
    /// gets what the unit adds that has so many.
    fn weighted(&mut self, weights: Norm) {
        let mut left = String::new();
        if self.release.is_later_round() {
            let arrays: Vec<String> = self
                .release
                .keys
                .iter()
                .zip(self.release.behind_given()..)
                .map(|(k, n)| format!("pg_catalog.unnest(${n}::{}[])", k.scalar.ty().sql_name()))
                .collect();
            let names: Vec<String> = (0..arrays.len()).map(|i| format!("k{i}")).collect();
            let (arrays, names) = (arrays.join(", "), names.join(", "));
            self.ctes.push(("x", format!("SELECT x0.* FROM ROWS FROM ({arrays}) AS x0({names})")));
            let same = self.release.keys.iter().enumerate().map(|(i, k)| {
                let collate = if k.scalar.ty().is_text() { COLLATE } else { "" };
                // NULL is a key like others.
                format!("ARRAY[c.k{i}{collate}] = ARRAY[x.k{i}{collate}]")
            });
            let same: Vec<String> = same.collect();
            left = format!(" WHERE NOT EXISTS (SELECT 1 FROM x WHERE {})", same.join(" AND "));
        }
        let order = self.order();
        self.ctes.push((
            "e",
            format!(
                "SELECT c.*, pg_catalog.row_number() OVER w AS r, pg_catalog.count(*) OVER v AS t FROM c{left} \
                 WINDOW v AS (PARTITION BY c.u), w AS (PARTITION BY c.u ORDER BY {order})"
            ),
        ));
        let most = self.release.bounding.l0();
        let each = match weights {
            Norm::Squares(w) => format!(
                "pg_catalog.floor({w}::pg_catalog.float8 / pg_catalog.sqrt(LEAST(e.t, {most})::pg_catalog.float8))"
            ),
            Norm::Sum(w) => format!("({w} / LEAST(e.t, {most}))"),
        };
        let mut select = self.key_names("e");
        let group = self.group_by(select.len());
        select.push(format!("COALESCE(pg_catalog.sum({each}::pg_catalog.int4), 0) AS weight"));
        self.ctes.push(("g", format!("SELECT {} FROM e WHERE e.r <= {most}{group}", select.join(", "))));
    }

    /// A part summed over units, each unit's share bounded.
    fn bounded(&mut self, from: &str, i: usize, p: &Part) -> String {
        let steps = self.release.bounding.steps(&p.kind);
        let rows = self.release.bounding.rows();
        let shares = self.release.norm().is_some();
        match &p.kind {
            PartKind::Count(_) | PartKind::Point(_) => {
                let n = format!("n{}", self.count(counted(p)));
                let bounded = match (shares, steps) {
                    (true, _) => format!("e.m{}::pg_catalog.int4", self.count(counted(p))),
                    (false, 1) => format!("LEAST({from}.{n}, {rows})::pg_catalog.int4"),
                    (false, _) => {
                        let most = rows.saturating_mul(steps);
                        let all = format!("GREATEST({from}.n0, {rows})");
                        format!("LEAST(GREATEST({from}.{n} * {most} / {all}, 0), {most})::pg_catalog.int4")
                    }
                };
                self.added(&bounded, from, &n, true)
            }
            PartKind::Sum(_) if p.own.is_some() => {
                format!("COALESCE(pg_catalog.sum(e.t{i}::pg_catalog.int8), 0)")
            }
            PartKind::Sum(s) if shares => self.shared(i, s),
            PartKind::Units(None) => "pg_catalog.count(*)".into(),
            PartKind::Values(_) => {
                format!("pg_catalog.count(DISTINCT {from}.k{})", self.release.keys.len())
            }
            PartKind::SumOfValues(s) => {
                let limit = s.bound();
                let clamped =
                    format!("LEAST(GREATEST({from}.k{}, (-{limit})), {limit})", self.release.keys.len());
                format!("COALESCE(pg_catalog.sum(DISTINCT {}), 0)", held(&clamped, limit))
            }
            PartKind::Units(Some(x)) => {
                let n = self.count(Some(x));
                format!("COALESCE(pg_catalog.sum(LEAST({from}.n{n}, 1)::pg_catalog.int4), 0)")
            }
            PartKind::Sum(s) => {
                let sum = format!("{from}.s{i}");
                let limit = p.linf.saturating_mul(steps.into());
                let scaled = match self.release.bounding.rows_stage() {
                    true => scaled(s, &sum, &format!("{from}.n0"), rows, steps),
                    false => sum,
                };
                // That no unit lowers such a sum is read off its text.
                let low = if s.ends().0 >= 0 { "0".to_owned() } else { format!("(-{limit})") };
                let clamped = format!("LEAST(GREATEST({scaled}, {low}), {limit})");
                self.added(&held(&clamped, limit), from, &format!("s{i}"), false)
            }
        }
    }

    /// A sum over units, each of which has a share of its rows in the group.
    fn shared(&mut self, i: usize, s: &GridValue) -> String {
        let n = self.count(Some(s.arg()));
        let (sum, n, m) = (format!("e.s{i}"), format!("e.n{n}"), format!("e.m{n}"));
        let scaled = match s.is_int4() {
            // sum · m / n without a product that could overflow.
            true => format!("({sum} / {n}) * {m} + ({sum} % {n}) * {m} / {n}"),
            false => format!("pg_catalog.div({sum} * {m}, {n}::pg_catalog.numeric)"),
        };
        let scaled = format!("CASE WHEN {n} * {STEPS} > {m} THEN {scaled} ELSE {sum} * {STEPS} END");
        let each = s.bound();
        let limit = u128::from(self.release.bounding.rows()) * u128::from(STEPS) * each;
        let wide = if limit < 1 << 63 { m.clone() } else { format!("{m}::pg_catalog.numeric") };
        let clamped = format!("LEAST(GREATEST({scaled}, {wide} * (-{each})), {wide} * {each})");
        self.added(&held(&clamped, limit), "e", &format!("s{i}"), s.bound() < SMALL)
    }

    /// The sum of what each unit adds to a group; where light units are told apart, of a row that is theirs the whole of this
    /// column in steps, an int8 or a numeric.
    fn added(&self, bounded: &str, stage: &str, column: &str, is_int8: bool) -> String {
        match self.light {
            Some(_) => {
                let either = light::or_bounded(stage, column, bounded, is_int8);
                format!("COALESCE(pg_catalog.sum({either}), 0)")
            }
            None => format!("COALESCE(pg_catalog.sum({bounded}), 0)"),
        }
    }

    /// `g` straight from the rows: keys prove that each unit has a bounded number of them.
    fn direct(&mut self) {
        if self.once.is_some() {
            // Whose rows they are is seen from a column of theirs.
            let unit = self.unit();
            self.of_row(unit);
        }
        let mut select = self.keys();
        let group = self.group_by(select.len());
        if self.release.selects() {
            select.push("pg_catalog.count(*) AS units".into());
        }
        for (i, p) in self.parts().to_vec().iter().enumerate() {
            let sql = match &p.kind {
                PartKind::Units(None) | PartKind::Count(None) | PartKind::Point(_) => {
                    "pg_catalog.count(*)".into()
                }
                PartKind::Units(Some(x)) | PartKind::Count(Some(x)) => {
                    format!("pg_catalog.count({})", self.of_row(scalar::presence(x)))
                }
                PartKind::Values(_) => {
                    format!("pg_catalog.count(DISTINCT {})", self.value_key().unwrap_or_default())
                }
                PartKind::SumOfValues(s) => format!("COALESCE(pg_catalog.sum(DISTINCT {}), 0)", value(s)),
                PartKind::Sum(s) => format!("COALESCE(pg_catalog.sum({}), 0)", self.value(s)),
            };
            select.push(format!("{sql} AS a{i}"));
        }
        self.ctes.push(("g", format!("SELECT {}{}{group}", select.join(", "), self.source_rows(""))));
    }

    fn group_by(&self, keys: usize) -> String {
        if keys == 0 {
            return String::new();
        }
        let list: Vec<String> = (1..=keys).map(|i| i.to_string()).collect();
        format!(" GROUP BY {}", list.join(", "))
    }

    /// Equality with the domain; NULL equals NULL, by a form that can still be hashed.
    fn matches(&self, of: &str) -> String {
        let each: Vec<String> = self
            .release
            .keys
            .iter()
            .enumerate()
            .map(|(i, k)| {
                let collate = if k.scalar.ty().is_text() { COLLATE } else { "" };
                match &k.domain {
                    Some((_, true)) => format!("ARRAY[{of}.k{i}{collate}] = ARRAY[d.k{i}{collate}]"),
                    _ => format!("{of}.k{i}{collate} = d.k{i}{collate}"),
                }
            })
            .collect();
        each.join(" AND ")
    }

    /// A random order of a unit's groups, by the query's secret seed, the unit and the keys alone.
    fn order(&self) -> String {
        let mut hash = match self.release.source.unit.ty.is_integer() {
            true => "pg_catalog.hashint8extended(c.u, $1::pg_catalog.int8)".to_owned(),
            false => "pg_catalog.hashtextextended(c.u::pg_catalog.text, $1::pg_catalog.int8)".to_owned(),
        };
        let keys = self.release.keys.iter().map(|k| Hashed::of(&k.scalar, !self.release.public_groups));
        // Values on a grid are integers.
        let on_grid = self.release.parts.iter().any(|p| p.kind.adds_values());
        let value = self.release.values();
        let value = value.map(|x| if on_grid { Hashed::Integer } else { Hashed::of(x, false) });
        let mut names = String::new();
        for (i, key) in keys.chain(value).enumerate() {
            hash = key.text(&format!("c.k{i}"), &hash);
            names += &format!(", c.k{i}");
        }
        hash + &names
    }

    fn last(&self, public: bool) -> String {
        let parts = 0..self.parts().len();
        if !public {
            let mut select = self.key_names("g");
            if self.release.round.is_some() {
                select.push("g.weight".into());
            } else if self.release.selects() {
                select.push("g.units".into());
            }
            select.extend(parts.map(|i| format!("g.a{i}")));
            return format!("SELECT {} FROM g", select.join(", "));
        }
        let mut select = self.key_names("d");
        let order: Vec<String> = (1..=select.len()).map(|i| i.to_string()).collect();
        select.extend(parts.map(|i| format!("COALESCE(g.a{i}, 0) AS a{i}")));
        format!(
            "SELECT {} FROM d LEFT JOIN g ON {} ORDER BY {}",
            select.join(", "),
            self.matches("g"),
            order.join(", ")
        )
    }
}

/// By what a key is hashed: by what is the same for keys that are equal (soundness rule 48), since which of them stands there is
/// left to how rows lie on disk.
#[derive(Clone, Copy)]
enum Hashed {
    Integer,
    Float,
    /// A numeric, which may have zeros behind its last digit.
    Trimmed,
    /// Its text: equal keys are the same.
    Text,
}

impl Hashed {
    /// `canonical`: the key is in the one form that is shown.
    fn of(key: &Scalar, canonical: bool) -> Self {
        match key.ty() {
            t if t.is_integer() => Self::Integer,
            SqlType::Float4 | SqlType::Float8 => Self::Float,
            SqlType::Numeric { .. } if !canonical => Self::Trimmed,
            _ => Self::Text,
        }
    }

    fn text(self, key: &str, seed: &str) -> String {
        match self {
            Self::Integer => format!("pg_catalog.hashint8extended(COALESCE({key}, 0), {seed})"),
            Self::Float => format!("pg_catalog.hashfloat8extended(COALESCE({key}, 0), {seed})"),
            Self::Trimmed => {
                format!(
                    "pg_catalog.hashtextextended(COALESCE(pg_catalog.trim_scale({key})::pg_catalog.text, ''), {seed})"
                )
            }
            Self::Text => {
                format!("pg_catalog.hashtextextended(COALESCE({key}::pg_catalog.text, ''), {seed})")
            }
        }
    }
}

/// Rows where what is not NULL are counted; None for all.
fn counted(p: &Part) -> Option<&Scalar> {
    match &p.kind {
        PartKind::Count(arg) => arg.as_ref(),
        _ => None,
    }
}

/// An integer within ±`limit`, in the narrowest type that holds it. The kernel takes no other form of a sum's argument.
fn held(clamped: &str, limit: u128) -> String {
    match limit {
        n if n < 1 << 31 => format!("({clamped})::pg_catalog.int4"),
        n if n < 1 << 63 => format!("({clamped})::pg_catalog.int8"),
        _ => format!("pg_catalog.round({clamped})::pg_catalog.numeric"),
    }
}

/// One row's value in grid units: rounded, centred, clamped.
fn value(s: &GridValue) -> String {
    s.text(&rows::subquery)
}
