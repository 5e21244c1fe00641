//! Public domains: constants and values of public tables, what expressions make of them, and conditions over both; each
//! combination of keys once.

use super::facts::{Column, Key, Rows, Scans, Source, compared_exactly, sides};
use grammar::tree::*;
use grammar::{Result, ensure, refuse};
use policy::Policy;
use schema::SqlType;

/// A domain that was read.
pub(crate) struct Domain {
    /// The types of its columns, which are k0, k1, …, and whether NULL is listed.
    keys: Vec<(Option<SqlType>, bool)>,
    /// The most rows, if the text lists them.
    pub size: Option<u64>,
}

/// `SELECT x0.k AS k0, … FROM (…) AS x0(k) CROSS JOIN …`
pub(crate) fn domain(select: &Select, policy: &Policy) -> Result<Domain> {
    let mut out = Domain { keys: Vec::new(), size: Some(1) };
    let mut shown = Scans::of_domain(policy);
    let inner = |kind| kind == Kind::Inner;
    let (scans, on) = select.from.as_ref().map(|tree| sides(tree, inner)).unwrap_or_default();
    for (i, ((item, name), scan)) in select.items.iter().zip(&scans).enumerate() {
        let Tree::Scan(Scan { name: of, columns, of: Relation::Set(set) }) = scan else {
            return refuse("a domain of an unknown kind", scan);
        };
        let own = item.column().is_some_and(|c| c.0 == *of && *columns == [c.1.clone()]);
        // UNION and DISTINCT give each value once.
        let once = match set {
            Set::Op(op, _) => *op == "UNION",
            Set::Select(select) => select.distinct,
            Set::Values(_) => false,
        };
        let told = own && once && *name == format!("k{i}");
        ensure(told, "a domain whose values could come twice, or out of order", item)?;
        let rows = Scans::of_domain(policy).set(set)?;
        let ([(_, column)], true) = (rows.columns.as_slice(), rows.units.is_empty()) else {
            return refuse("a domain of several columns, or of a private table", set);
        };
        let ty = column.ty.clone();
        out.size = out.size.zip(listed(set)).and_then(|(a, b)| a.checked_mul(b));
        let columns = columns.iter().map(|c| (c.clone(), Column::of(ty.clone()))).collect();
        shown.add(of, Source::Rows(Rows { columns, ..Rows::default() }))?;
        let null = |s: &Set| matches!(s, Set::Select(s) if matches!(s.items.as_slice(), [(Expr::Cast(x, _), _)] if **x == Expr::Null));
        out.keys.push((ty, matches!(set, Set::Op(_, list) if list.last().is_some_and(null))));
    }
    // No rows are around the conditions, so that they hold no subquery: they look at the domain's own columns.
    select.filter.iter().try_for_each(|e| shown.walk(e, None))?;
    let all = select.is_plain() && select.items.len() == scans.len() && on.is_empty();
    ensure(all, "a domain with parts that no column shows", select)?;
    Ok(out)
}

/// How many rows there are at most, where the text says it.
fn listed(set: &Set) -> Option<u64> {
    match set {
        Set::Values(list) => u64::try_from(list.len()).ok(),
        Set::Op(_, list) => list.iter().try_fold(0u64, |n, s| n.checked_add(listed(s)?)),
        Set::Select(select) => match &select.from {
            None => Some(u64::from(select.filter != [Expr::Bool(false)])),
            Some(Tree::Scan(Scan { of: Relation::Set(set), .. })) => listed(set),
            Some(_) => None,
        },
    }
}

impl Domain {
    /// Number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// The condition that joins keys of these types with it: NULL meets NULL where it is listed.
    pub fn joins(&self, of: &str, keys: &[Key]) -> Result<String> {
        // Converted to another type, two rows of the domain could be one.
        let exact =
            |(k, (ty, _)): (&Key, &(Option<_>, _))| compared_exactly(k.column.ty.as_ref(), ty.as_ref());
        let all = keys.len() == self.keys.len() && keys.iter().zip(&self.keys).all(exact);
        ensure(all, "a join with a domain by something else than its keys, of one type", of)?;
        Ok(same_keys(of, "d", self.keys.iter().map(|(ty, null)| (ty.as_ref(), *null))))
    }
}

/// The condition under which keys of two stages are the same: texts by their bytes, and NULL meets NULL where that is said.
pub(crate) fn same_keys<'t>(
    a: &str,
    b: &str,
    keys: impl Iterator<Item = (Option<&'t SqlType>, bool)>,
) -> String {
    let each = keys.enumerate().map(|(i, (ty, null))| {
        let text = ty.is_some_and(SqlType::is_text);
        let side = |of: &str| {
            let key = format!("{of}.k{i}{}", if text { " COLLATE pg_catalog.\"default\"" } else { "" });
            if null { format!("ARRAY[{key}]") } else { key }
        };
        format!("{} = {}", side(a), side(b))
    });
    each.collect::<Vec<_>>().join(" AND ")
}
