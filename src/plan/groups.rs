//! Which groups come back: whether the values of every key are public, and which they are.

use super::domain::{Domain, of_lattice};
use super::release::Key;
use super::source::PrivateSource;
use super::{PlanError, Size, Sizes};
use crate::expr::{Node, Scalar, type_span};
use policy::Policy;
use schema::SqlType;
use sql::ast::BinaryOp;

type Result<T> = std::result::Result<T, PlanError>;

/// Decides whether groups are public, and fills in domains.
pub(super) fn decide(
    source: &PrivateSource,
    policy: &Policy,
    sizes: &Sizes,
    keys: &mut [Key],
) -> Result<(bool, String)> {
    if keys.is_empty() {
        return Ok((true, "one group: no GROUP BY".into()));
    }
    let mut found = Vec::with_capacity(keys.len());
    let mut reasons = Vec::with_capacity(keys.len());
    let mut product: usize = 1;
    for k in keys.iter() {
        let Some(domain) = domain(source, &k.scalar) else {
            return Ok((
                false,
                format!("private: the values of {} do not follow from the policy or the statement", k.label),
            ));
        };
        let with_null = k.scalar.nullable() && !source.filter.iter().any(|f| rejects_null(f, &k.scalar));
        let size = match (&domain, domain.size()) {
            (_, Some(n)) => n,
            (Domain::Table { table, column }, None) => {
                let size = Size::Distinct(*table, column.clone());
                *sizes.get(&size).ok_or(PlanError::NeedSize(size))?
            }
            (_, None) => usize::MAX,
        };
        product = product.saturating_mul(size.saturating_add(usize::from(with_null)));
        reasons.push(format!("{}: {}", k.label, describe(policy, &domain, with_null)));
        found.push((domain, with_null));
    }
    let limit = policy.limits.max_public_groups;
    if product > limit {
        return Ok((
            false,
            format!("private: {product} public groups would exceed limits.max_public_groups = {limit}"),
        ));
    }
    for (k, d) in keys.iter_mut().zip(found) {
        k.domain = Some(d);
    }
    Ok((true, format!("public: {}", reasons.join("; "))))
}

fn domain(source: &PrivateSource, key: &Scalar) -> Option<Domain> {
    let listed = source.filter.iter().find_map(|f| listed(f, key));
    listed.or_else(|| key.domain().cloned()).or_else(|| {
        if !key.binned() || matches!(key.node(), Node::Number(_)) {
            return None;
        }
        // A cast to an integer type is NULL beyond it, and so are values that no cast could print.
        match key.bound().interval().intersect(&type_span(key.ty())) {
            // All of it is beyond the type.
            None => Some(Domain::Values(Vec::new())),
            Some(held) => of_lattice(&held, key.lattice()),
        }
    })
}

/// How many groups these keys have, at most, where their domains are public.
pub(super) fn size(keys: &[Key], sizes: &Sizes) -> Result<usize> {
    let mut product: usize = 1;
    for (domain, with_null) in keys.iter().filter_map(|k| k.domain.as_ref()) {
        let size = match (domain, domain.size()) {
            (_, Some(n)) => n,
            (Domain::Table { table, column }, None) => {
                let size = Size::Distinct(*table, column.clone());
                *sizes.get(&size).ok_or(PlanError::NeedSize(size))?
            }
            (_, None) => usize::MAX,
        };
        product = product.saturating_mul(size.saturating_add(usize::from(*with_null)));
    }
    Ok(product)
}

fn describe(policy: &Policy, domain: &Domain, with_null: bool) -> String {
    let base = match domain {
        Domain::Bool => "true and false".into(),
        Domain::Values(v) if v.len() == 1 => "one listed value".into(),
        Domain::Values(v) => format!("{} listed values", v.len()),
        Domain::Table { table, column } => {
            let name = policy.tables.get(*table).map(|t| t.name.as_str()).unwrap_or_default();
            format!("the values of {name}.{column}")
        }
        Domain::Series { lo, hi, step } => {
            format!("{} to {} by {}", lo.to_plain_string(), hi.to_plain_string(), step.to_plain_string())
        }
        Domain::DateTrunc { unit, .. } => format!("every {unit} of the declared range"),
        Domain::Days { .. } => "every day of the declared range".into(),
    };
    if with_null { format!("{base}, and NULL") } else { base }
}

/// The constants that a conjunct `key = c` or `key IN (c, …)` leaves.
fn listed(filter: &Scalar, key: &Scalar) -> Option<Domain> {
    let text = |s: &Scalar| match s.node() {
        Node::Number(n) => Some(n.to_plain_string()),
        Node::Text(t) => Some(t.clone()),
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
    use sql::ast::Is;
    match filter.node() {
        Node::Compare(op, a, b) if !matches!(op, BinaryOp::Distinct | BinaryOp::NotDistinct) => {
            **a == *key || **b == *key
        }
        Node::In(arg, _, false) => **arg == *key,
        Node::Is(arg, Is::Null, true) => **arg == *key,
        Node::Apply(f, args, _) if f.name == "like" => args.first() == Some(key),
        Node::Logic(BinaryOp::And, a, b) => rejects_null(a, key) || rejects_null(b, key),
        _ => false,
    }
}
