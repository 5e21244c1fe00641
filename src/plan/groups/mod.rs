//! Which groups come back: whether the values of every key are public, and which they are.
//!
//! Rows that a condition drops are in no group, so that whatever a condition says of keys narrows the public domain: groups
//! that are left out could only be empty. Conditions over keys alone are applied to the domain by PostgreSQL; of others,
//! what they say about columns narrows the declared ranges that keys follow from (`ranges`). Only the statement's text, the
//! policy and the schema are looked at (soundness rule 2).

mod clock;
pub(crate) mod kept;
pub mod key;
mod narrowed;
mod of_table;
mod ranges;
mod remedy;
mod together;
mod values;

use crate::algebra::equivalence_classes::Classes;
use crate::algebra::source::{Kind, PrivateSource, Tree};
use crate::expr::domain::Domain;
use crate::expr::interval::Interval;
use crate::expr::{KEYS, Node, Param, Scalar, alike};
use crate::groups::key::Key;
use crate::own::flatten::Flattener;
use crate::{PlanError, Settings, Size, Sizes};
use narrowed::Narrowed;
use policy::Policy;
use schema::SqlType;
use sql::ast::{BinaryOp, Expr, Is};

type Result<T> = std::result::Result<T, PlanError>;

/// Which groups a release has.
pub(crate) struct Groups {
    /// All of them come back.
    pub public: bool,
    /// Why, for EXPLAIN.
    pub why: String,
    /// What makes private ones public.
    pub remedy: String,
    /// Conditions over the keys alone (`expr::KEYS`), which narrow the public domain.
    pub only: Vec<Scalar>,
}

/// Decides whether groups are public, and fills in domains. `written`: what the keys were lowered from. `having`: what stands
/// in HAVING over keys alone.
pub(crate) fn decide(
    flattener: &Flattener<'_>,
    source: &PrivateSource,
    (policy, settings, sizes): (&Policy, &Settings, &Sizes),
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
    let conditions = conditions(source, having);
    let narrowed = Narrowed::new(flattener, &ranges::ranges(&conditions, settings.utc()));
    let mut found = Vec::with_capacity(keys.len());
    let mut reasons = Vec::with_capacity(keys.len());
    // How many groups there are, and how many of them are read, where one key has no values.
    let (mut product, mut read): (usize, usize) = (1, 1);
    let within: Vec<Scalar> =
        keys.iter().zip(written).map(|(k, expr)| narrowed.lower(&k.scalar, expr)).collect();
    let size_of = |table: usize, column: &str| {
        let size = Size::Distinct(table, column.to_owned());
        sizes.get(&size).copied().ok_or(PlanError::NeedSize(size))
    };
    for (k, within) in keys.iter().zip(&within) {
        let listed = conditions.iter().find_map(|c| listed(c, &k.scalar));
        let Some(domain) = listed.or_else(|| values::of_key(within, &conditions, limit)) else {
            let why = format!("the values of {} do not follow from the policy or the statement", k.label);
            return private(why, remedy::of(&k.scalar));
        };
        let domain = of_table::narrowed(domain, &k.scalar, source, &conditions);
        let domain = clock::narrowed(domain, &k.scalar, &conditions);
        let with_null = k.scalar.nullable() && !conditions.iter().any(|f| rejects_null(f, &k.scalar));
        let size = domain.size(&size_of)?;
        let size = size.saturating_add(usize::from(with_null));
        product = product.saturating_mul(size);
        // A key without any value makes no groups, and those beside it are read all the same.
        read = read.saturating_mul(size.max(1));
        reasons.push(format!("{}: {}", k.label, describe(policy, &domain, with_null)));
        found.push((domain, with_null));
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

/// What is true of every row that is in a group, as conjuncts.
fn conditions(source: &PrivateSource, having: &[Scalar]) -> Vec<Scalar> {
    let mut all = Vec::new();
    // Public LEFT JOIN private has groups without rows, which its ON does not drop.
    if source.optional.is_empty() {
        joined(&source.tree, &mut all);
    }
    for f in source.filter.iter().chain(having) {
        split(f, &mut all);
    }
    all
}

/// Where a value lies in every row that meets the conditions, `when` among them: within its own bound. `written` is the
/// expression over the scans that it was lowered from.
pub(crate) fn bound_within(
    flattener: &Flattener<'_>,
    source: &PrivateSource,
    settings: &Settings,
    (value, written): (&Scalar, &Expr),
    when: Option<&Scalar>,
) -> Interval {
    let mut conditions = conditions(source, &[]);
    if let Some(when) = when {
        split(when, &mut conditions);
    }
    let narrowed = Narrowed::new(flattener, &ranges::ranges(&conditions, settings.utc()));
    let own = value.bound().interval();
    own.intersect(narrowed.lower(value, written).bound().interval()).unwrap_or_else(|| own.clone())
}

/// The columns that are equal in every row that is in a group.
pub(crate) fn equal_columns(source: &PrivateSource) -> Classes {
    let column = |s: &Scalar| match s.node() {
        Node::Column { binding, name } if s.canonical() => Some((*binding, name.clone())),
        _ => None,
    };
    let pairs: Vec<_> = conditions(source, &[])
        .iter()
        .filter_map(|c| match c.node() {
            Node::Compare(BinaryOp::Eq, a, b) => column(a).zip(column(b)),
            _ => None,
        })
        .collect();
    Classes::of(&pairs)
}

/// The conditions of joins that drop rows, both sides included.
fn joined(tree: &Tree, out: &mut Vec<Scalar>) {
    match tree {
        Tree::Join { kind: Kind::Inner, left, right, on } => {
            joined(left, out);
            joined(right, out);
            on.iter().for_each(|c| split(c, out));
        }
        Tree::Join { kind: Kind::Left, left, .. } => joined(left, out),
        Tree::Join { kind: Kind::Full, .. } | Tree::Scan(_) => {}
    }
}

fn split(condition: &Scalar, out: &mut Vec<Scalar>) {
    match condition.node() {
        Node::Logic(BinaryOp::And, a, b) => {
            split(a, out);
            split(b, out);
        }
        _ => out.push(condition.clone()),
    }
}

/// The conditions over keys alone, each once. A column that a condition equates with a key is as good as the key.
fn over_keys(conditions: &[Scalar], keys: &[Key]) -> Vec<Scalar> {
    let stands: Vec<Scalar> = keys.iter().enumerate().map(|(i, k)| k.scalar.stand_in(KEYS + i)).collect();
    let mut given: Vec<(&Scalar, Scalar)> =
        keys.iter().zip(&stands).map(|(k, stand)| (&k.scalar, stand.clone())).collect();
    for (a, b) in conditions.iter().filter_map(equated) {
        for (key, other) in [(a, b), (b, a)] {
            if let Some(at) = keys.iter().position(|k| k.scalar == *key)
                && let Some(stand) = stands.get(at)
            {
                given.push((other, stand.clone()));
            }
        }
    }
    let mut only: Vec<Scalar> = Vec::new();
    for condition in conditions {
        // The domain has what is listed, and NULL where it is not excluded.
        let known = |k: &Key| match (condition.node(), &k.domain) {
            (Node::Is(x, Is::Null, true), _) => **x == k.scalar,
            (_, Some((domain, _))) => listed(condition, &k.scalar).as_ref() == Some(domain),
            _ => false,
        };
        if keys.iter().any(known) {
            continue;
        }
        // One that looks at nothing is true of all groups or of none, and is left to the rows.
        let Some(over) = condition.over(&given).filter(|c| looks(c) && is_same_anywhere(c)) else { continue };
        // An equality of two columns that are one key says that it is not NULL, which the rows see to.
        if !only.contains(&over) && equated(&over).is_none_or(|(a, b)| a != b) {
            only.push(over);
        }
    }
    only
}

/// Two columns of one type whose equal values are the same ones.
fn equated(condition: &Scalar) -> Option<(&Scalar, &Scalar)> {
    let column = |s: &Scalar| matches!(s.node(), Node::Column { .. });
    match condition.node() {
        Node::Compare(BinaryOp::Eq, a, b)
            if column(a) && column(b) && a.ty() == b.ty() && a.canonical() && b.canonical() =>
        {
            Some((a, b))
        }
        _ => None,
    }
}

/// Whether an expression looks at a column.
fn looks(s: &Scalar) -> bool {
    matches!(s.node(), Node::Column { .. }) || s.children().into_iter().any(looks)
}

/// Whether a condition means the same over the texts of a domain as over the rows': the order of texts, and what their
/// letters are, is a matter of the collation of a column.
fn is_same_anywhere(s: &Scalar) -> bool {
    let by_order = |op: &BinaryOp| matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge);
    let here = match s.node() {
        Node::Compare(op, a, b) => !(by_order(op) && (a.ty().is_text() || b.ty().is_text())),
        Node::Column { .. } => s.canonical(),
        Node::Apply(_, _, Param::Pattern { pattern, insensitive: true, .. }) => pattern.is_ascii(),
        _ => true,
    };
    here && s.children().into_iter().all(is_same_anywhere)
}

/// How many groups these keys have, at most, where their domains are public.
pub(crate) fn size(keys: &[Key], sizes: &Sizes) -> Result<usize> {
    let size_of = |table: usize, column: &str| {
        let size = Size::Distinct(table, column.to_owned());
        sizes.get(&size).copied().ok_or(PlanError::NeedSize(size))
    };
    let mut product: usize = 1;
    for (domain, with_null) in keys.iter().filter_map(|k| k.domain.as_ref()) {
        let size = domain.size(&size_of)?;
        product = product.saturating_mul(size.saturating_add(usize::from(*with_null)));
    }
    Ok(product)
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
/// The constants that a conjunct `key = c` or `key IN (c, …)` leaves.
fn listed(filter: &Scalar, key: &Scalar) -> Option<Domain> {
    let text = |s: &Scalar| match s.node() {
        Node::Number(n) => Some(n.to_plain_string()),
        Node::Text(t) if !s.ty().is_number() => Some(t.clone()),
        Node::Bool(b) => Some(b.to_string()),
        _ => None,
    };
    let values: Option<Vec<String>> = match filter.node() {
        Node::In(arg, items, false) if **arg == *key => {
            items.iter().filter(|i| !matches!(i.node(), Node::Null)).map(text).collect()
        }
        Node::Compare(BinaryOp::Eq, a, b) if **a == *key => Some(vec![text(b)?]),
        Node::Compare(BinaryOp::Eq, a, b) if **b == *key => Some(vec![text(a)?]),
        _ => None,
    };
    let mut values = values?;
    let mut seen = std::collections::HashSet::new();
    values.retain(|v| seen.insert(v.clone()));
    // Integers must be written as such to be cast to the key's type; others match no row.
    if key.ty().is_integer() {
        values.retain(|v| v.parse::<i64>().is_ok_and(|n| fits(key.ty(), n)));
    }
    (!values.is_empty()).then_some(Domain::Values(values))
}

fn fits(ty: &SqlType, n: i64) -> bool {
    match ty {
        SqlType::Int2 => i16::try_from(n).is_ok(),
        SqlType::Int4 => i32::try_from(n).is_ok(),
        _ => true,
    }
}

/// Whether a conjunct is never true where the key is NULL.
fn rejects_null(filter: &Scalar, key: &Scalar) -> bool {
    match filter.node() {
        Node::Compare(op, a, b) if !matches!(op, BinaryOp::Distinct | BinaryOp::NotDistinct) => {
            alike(a, key) || alike(b, key)
        }
        Node::In(arg, _, false) => alike(arg, key),
        Node::Is(arg, Is::Null, true) => alike(arg, key),
        Node::Apply(f, args, _) if f.name == "like" => args.first().is_some_and(|x| alike(x, key)),
        Node::Logic(BinaryOp::And, a, b) => rejects_null(a, key) || rejects_null(b, key),
        _ => false,
    }
}
