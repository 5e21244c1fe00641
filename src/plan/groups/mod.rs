//! Groups of a release: whether the values of every key are public, and which they are.
//!
//! Rows that a condition drops are in no group, so that all that a condition says of keys narrows
//! the public domain: groups that are left out could only be empty. Conditions over keys alone are
//! applied to the domain by PostgreSQL; others narrow, by what they say about columns, the declared
//! ranges that keys follow from (`ranges`). Only the statement's text, the policy and the schema
//! are looked at (soundness rule 2).

mod clock;
mod conditions;
pub(crate) mod kept;
mod kept_rows;
pub mod key;
mod narrowed;
mod of_table;
mod ranges;
mod remedy;
mod together;
mod tuples;
mod values;

use crate::algebra::equivalence_classes::Classes;
use crate::algebra::source::PrivateSource;
use crate::expr::domain::{Domain, TuplesOf};
use crate::expr::interval::Interval;
use crate::expr::{Node, Scalar};
use crate::facts::Facts;
use crate::groups::key::Key;
use crate::own::scans::Scans;
use crate::stop::Stop;
use crate::{Settings, Size};
use conditions::{listed, over_keys, rejects_null, split};
use narrowed::Narrowed;
use policy::Policy;
use sql::ast::{BinaryOp, Expr};

type Result<T> = std::result::Result<T, Stop>;

/// Groups of a release.
pub(crate) struct Groups {
    /// All of them come back.
    pub public: bool,
    /// Why, for EXPLAIN.
    pub why: String,
    /// A remedy that makes private groups public.
    pub remedy: String,
    /// Conditions over the keys alone ([`crate::expr::StandIn::Key`]), which narrow the public domain.
    pub only: Vec<Scalar>,
}

/// Decides whether groups are public, and fills in domains. `written`: what the keys were lowered from. `having`: what stands
/// in HAVING over keys alone.
pub(crate) fn decide(
    scans: &Scans<'_>,
    source: &PrivateSource,
    (policy, settings, facts): (&Policy, &Settings, &Facts<'_>),
    keys: &mut [Key],
    written: &[Expr],
    having: &[Scalar],
) -> Result<Groups> {
    let private = |why: String, remedy| {
        Ok(Groups { public: false, why: format!("private: {why}"), remedy, only: Vec::new() })
    };
    if keys.is_empty() {
        let why = "one group: no GROUP BY".into();
        return Ok(Groups { public: true, why, remedy: String::new(), only: Vec::new() });
    }
    let limit = policy.limits.max_public_groups;
    let conditions = conditions::of(source, having);
    let kept = kept_rows::kept(policy, source);
    let narrowed = Narrowed::new(scans, &ranges::ranges(&conditions, settings.utc())).of_kept(kept);
    let mut found = Vec::with_capacity(keys.len());
    let within: Vec<Scalar> =
        keys.iter().zip(written).map(|(k, expr)| narrowed.lower(&k.scalar, expr)).collect();
    for (k, within) in keys.iter().zip(&within) {
        let listed = conditions.iter().find_map(|c| listed(c, &k.scalar));
        let Some(domain) = listed.or_else(|| values::of_key(within, &conditions, limit)) else {
            let why = format!("the values of {} do not follow from the policy or the statement", k.label);
            return private(why, remedy::of(&k.scalar));
        };
        let domain = of_table::narrowed(domain, &k.scalar, source, &conditions);
        let domain = clock::narrowed(domain, &k.scalar, &conditions);
        let with_null = within.nullable() && !conditions.iter().any(|f| rejects_null(f, &k.scalar));
        found.push((domain, with_null));
    }
    tuples::tuples(policy, source, (keys, &within), &conditions, limit, &mut found);
    let size_of = size_of(facts);
    // How many groups there are, and how many of them are read, where one key has no values.
    let (mut product, mut read): (usize, usize) = (1, 1);
    let mut reasons = Vec::with_capacity(keys.len());
    for (k, (domain, with_null)) in keys.iter().zip(&found) {
        let size = domain.size(&size_of).saturating_add(domain.nulls(*with_null));
        product = product.saturating_mul(size);
        // A key without any value makes no groups, and those beside it are read all the same.
        read = read.saturating_mul(size.max(1));
        reasons.push(format!("{}: {}", k.label, describe(policy, domain, *with_null)));
    }
    if read > limit {
        let why = format!("{read} public groups would exceed limits.max_public_groups = {limit}");
        return private(why, remedy::of_too_many(limit));
    }
    for (k, d) in keys.iter_mut().zip(found) {
        k.domain = Some(d);
    }
    let mut only = over_keys(&conditions, keys);
    only.extend(together::together(keys, &within, settings.utc()));
    if product <= WRITTEN.min(settings.max_groups as usize) {
        write_out(keys, settings.utc(), limit);
    }
    let narrower = match only.len() {
        0 => String::new(),
        n => format!("; {n} condition(s) on keys alone"),
    };
    let why = format!("public: {}{narrower}", reasons.join("; "));
    Ok(Groups { public: true, why, remedy: String::new(), only })
}

/// Series are written out where there are at most so many groups.
const WRITTEN: usize = 500;

/// Lists the values of series, where then all keys are listed: the kernel counts the groups, and where a unit may touch as many
/// nothing is ranked or spread. Few groups may be computed from very many values: series of more than `most` are not listed.
fn write_out(keys: &mut [Key], utc: bool, most: usize) {
    let each = keys.iter().map(|k| k.domain.clone().map(|(d, null)| (d.written_out(utc, most), null)));
    let each: Vec<_> = each.collect();
    if each.iter().all(|d| d.as_ref().is_some_and(|(d, _)| d.listed().is_some())) {
        keys.iter_mut().zip(each).for_each(|(k, d)| k.domain = d);
    }
}

/// Range of a value in every row that meets the conditions, `when` among them: within its own
/// bound. `written` is the expression over the scans that it was lowered from.
pub(crate) fn bound_within(
    scans: &Scans<'_>,
    source: &PrivateSource,
    settings: &Settings,
    (value, written): (&Scalar, &Expr),
    when: Option<&Scalar>,
) -> Interval {
    let mut conditions = conditions::of(source, &[]);
    if let Some(when) = when {
        split(when, &mut conditions);
    }
    let narrowed = Narrowed::new(scans, &ranges::ranges(&conditions, settings.utc()));
    let own = value.bound().interval();
    own.intersect(narrowed.lower(value, written).bound().interval()).unwrap_or_else(|| own.clone())
}

/// The columns that are equal in every row that is in a group.
pub(crate) fn equal_columns(source: &PrivateSource) -> Classes {
    let column = |s: &Scalar| match s.node() {
        Node::Column { binding, name } if s.canonical() => Some((*binding, name.clone())),
        _ => None,
    };
    let pairs: Vec<_> = conditions::of(source, &[])
        .iter()
        .filter_map(|c| match c.node() {
            Node::Compare(BinaryOp::Eq, a, b) => column(a).zip(column(b)),
            _ => None,
        })
        .collect();
    Classes::of(&pairs)
}

/// The most groups of these keys, when their domains are public.
pub(crate) fn size(keys: &[Key], facts: &Facts<'_>) -> usize {
    let size_of = size_of(facts);
    let domains = keys.iter().filter_map(|k| k.domain.as_ref());
    let each = domains.map(|(d, null)| d.size(&size_of).saturating_add(d.nulls(*null)));
    each.fold(1, usize::saturating_mul)
}

/// How many values a column of a public table has, or how many rows it has.
fn size_of<'f>(facts: &'f Facts<'_>) -> impl Fn(usize, Option<&str>) -> usize {
    |table, column| {
        let column = column.map(|column| Size::Distinct(table, column.to_owned()));
        facts.size(column.unwrap_or(Size::Rows(table)))
    }
}

fn describe(policy: &Policy, domain: &Domain, with_null: bool) -> String {
    let base = match domain {
        Domain::Bool => "true and false".into(),
        Domain::Values(v) if v.len() == 1 => "one listed value".into(),
        Domain::Values(v) => format!("{} listed values", v.len()),
        Domain::Table { table, column, only } => {
            let name = policy.tables.get(*table).map(|t| t.name.as_str()).unwrap_or_default();
            let rows =
                only.as_ref().map(|rows| format!(" in rows that meet {} condition(s)", rows.meets.len()));
            format!("the values of {name}.{column}{}", rows.unwrap_or_default())
        }
        Domain::Series { lo, hi, step } => {
            format!("{} to {} by {}", lo.to_plain_string(), hi.to_plain_string(), step.to_plain_string())
        }
        Domain::DateTrunc { unit, lo, hi, .. } => format!("every {unit} from {} to {}", day(*lo), day(*hi)),
        Domain::Days { lo, hi, .. } => format!("every day from {} to {}", day(*lo), day(*hi)),
        Domain::Image(image) if image.bases.is_empty() => "one value".into(),
        Domain::Tuple { tuple, at } => {
            let of = match &tuple.from {
                TuplesOf::Rows { table, null, .. } => {
                    let name = policy.tables.get(*table).map(|t| t.name.as_str()).unwrap_or_default();
                    format!("rows of {name}{}", if *null { ", and NULL" } else { "" })
                }
                TuplesOf::Base(b) => describe(policy, &b.domain, b.null),
            };
            return if *at == 0 { format!("its values for {of}") } else { "its values for the same".into() };
        }
        Domain::Image(image) => {
            let of: Vec<String> = image.bases.iter().map(|b| describe(policy, &b.domain, b.null)).collect();
            format!("its values for {}", of.join(" and "))
        }
    };
    if with_null { format!("{base}, and NULL") } else { base }
}

fn day(micros: i64) -> String {
    schema::time::date(micros)
}
