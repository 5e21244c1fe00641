//! Public domains: constants and values of public tables, what expressions make of them, and conditions over both; each
//! combination of keys once. Sets that have each tuple once have a product that has each once, where all columns of all
//! sets are shown: a row meets one combination at most, whether values come together or each with each.

use super::facts::{Column, Key, Rows, Scans, Source, compared_exactly, sides};
use grammar::tree::*;
use grammar::{Result, ensure, refuse};
use policy::Policy;
use schema::SqlType;

/// A domain that was read.
pub(crate) struct Domain {
    /// Places and types of its columns, which are k0, k1, …, and whether NULL is listed: in tuples any value may be.
    keys: Vec<(usize, Option<SqlType>, bool)>,
    /// The most rows, if the text lists them.
    pub size: Option<u64>,
}

/// `SELECT x0.k AS k0, x0.k1 AS k1, … FROM (…) AS x0(k, k1) CROSS JOIN …`
pub(crate) fn domain(select: &Select, policy: &Policy) -> Result<Domain> {
    let mut out = Domain { keys: Vec::new(), size: Some(1) };
    let mut shown = Scans::of_domain(policy);
    let inner = |kind| kind == Kind::Inner;
    let (scans, on) = select.from.as_ref().map(|tree| sides(tree, inner)).unwrap_or_default();
    let told = "a domain whose values could come twice, or out of order";
    for scan in &scans {
        let Tree::Scan(Scan { name: of, columns, of: Relation::Set(set) }) = scan else {
            return refuse("a domain of an unknown kind", scan);
        };
        // UNION and DISTINCT give each tuple once, and all columns of it are shown.
        let once = match set {
            Set::Op(op, _) => *op == "UNION",
            Set::Select(select) => select.distinct,
            Set::Values(_) => false,
        };
        let rows = Scans::of_domain(policy).set(set)?;
        let public = rows.units.is_empty() && rows.columns.len() == columns.len();
        ensure(public, "a domain of other columns, or of a private table", set)?;
        ensure(once, told, set)?;
        out.size = out.size.zip(listed(set)).and_then(|(a, b)| a.checked_mul(b));
        let null = |s: &Set| matches!(s, Set::Select(s) if matches!(s.items.as_slice(), [(Expr::Cast(x, _), _)] if **x == Expr::Null));
        let null = columns.len() > 1 || matches!(set, Set::Op(_, list) if list.last().is_some_and(null));
        let mut typed = Vec::new();
        for (own, (_, column)) in columns.iter().zip(&rows.columns) {
            let shows = |(i, (item, name)): &(usize, &(Expr, String))| {
                item.column().is_some_and(|c| c.0 == *of && c.1 == *own) && *name == format!("k{i}")
            };
            let place = select.items.iter().enumerate().find(shows).map_or(usize::MAX, |(i, _)| i);
            out.keys.push((place, column.ty.clone(), null));
            typed.push((own.clone(), Column::of(column.ty.clone())));
        }
        shown.add(of, Source::Rows(Rows { columns: typed, ..Rows::default() }))?;
    }
    // Each item is one column of one set, and has the name of its place.
    out.keys.sort_by_key(|k| k.0);
    ensure(out.keys.iter().map(|k| k.0).eq(0..select.items.len()), told, select)?;
    // No rows are around the conditions, so that they hold no subquery: they look at the domain's own columns.
    select.filter.iter().try_for_each(|e| shown.walk(e, None))?;
    ensure(select.is_plain() && on.is_empty(), "a domain with parts that no column shows", select)?;
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
        let same = |(k, d): (&Key, &(_, Option<_>, _))| compared_exactly(k.column.ty.as_ref(), d.1.as_ref());
        let all = keys.len() == self.keys.len() && keys.iter().zip(&self.keys).all(same);
        ensure(all, "a join with a domain by something else than its keys, of one type", of)?;
        Ok(same_keys(of, "d", self.keys.iter().map(|(_, ty, null)| (ty.as_ref(), *null))))
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
