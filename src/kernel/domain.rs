//! Public domains: constants and values of public tables, each combination of keys once.

use super::names::compared_exactly;
use super::rows::{Column, Rows, Scans, Source, table_of};
use super::tree::*;
use super::{Result, refuse};
use policy::{Policy, Privacy};
use schema::SqlType;

/// A domain that was read.
pub(crate) struct Domain {
    /// Its columns.
    pub keys: Vec<(String, Option<SqlType>)>,
    /// How many rows there are at most, if the text lists them.
    pub size: Option<u64>,
}

/// `SELECT x0.k AS k0, … FROM (…) AS x0(k) CROSS JOIN …`
pub(crate) fn domain(select: &Select, policy: &Policy) -> Result<Domain> {
    let mut out = Domain { keys: Vec::new(), size: Some(1) };
    let mut scans = Vec::new();
    let mut tree = select.from.as_ref();
    while let Some(Tree::Join(Kind::Inner, left, right, on)) = tree
        && on.is_empty()
    {
        scans.push(&**right);
        tree = Some(left);
    }
    scans.extend(tree);
    for ((item, name), scan) in select.items.iter().zip(scans.iter().rev()) {
        let Tree::Scan(Scan { name: of, columns, of: Relation::Set(set) }) = scan else {
            return refuse("a domain of an unknown kind", scan);
        };
        let column = item.column().filter(|c| c.0 == *of && *columns == [c.1.clone()]);
        // UNION and DISTINCT give each value once.
        let once = match set {
            Set::Op(op, _) => *op == "UNION",
            Set::Select(select) => select.distinct,
            Set::Values(_) => false,
        };
        if column.is_none() || !once {
            return refuse("a domain whose values could come twice, or out of order", item);
        }
        let (ty, size) = values(set, policy)?;
        out.size = out.size.zip(size).and_then(|(a, b)| a.checked_mul(b));
        out.keys.push((name.clone(), ty));
    }
    match select.is_plain() && select.filter.is_empty() && select.items.len() == scans.len() {
        true => Ok(out),
        false => refuse("a domain with conditions, or with parts that no column shows", select),
    }
}

/// The type of these values, and how many are listed.
fn values(set: &Set, policy: &Policy) -> Result<(Option<SqlType>, Option<u64>)> {
    let select = match set {
        Set::Op(_, list) => {
            let all = list.iter().map(|s| values(s, policy)).collect::<Result<Vec<_>>>()?;
            let sizes = all.iter().try_fold(0u64, |n, (_, size)| n.checked_add((*size)?));
            let Some((first, _)) = all.first().filter(|f| all.iter().all(|(t, _)| *t == f.0)) else {
                return refuse("a domain of several types", set);
            };
            return Ok((first.clone(), sizes));
        }
        Set::Select(select) => select,
        Set::Values(_) => return refuse("a domain of an unknown kind", set),
    };
    let ([(item, _)], 0) = (select.items.as_slice(), select.groups) else {
        return refuse("a domain of several columns, or that groups", select);
    };
    let (mut scans, mut size) = (Scans::new(policy), None);
    match &select.from {
        None => size = Some(u64::from(select.filter != [Expr::Bool(false)])),
        Some(Tree::Scan(Scan { name, columns, of })) => {
            let constants = match of {
                Relation::Set(Set::Values(list)) => {
                    size = u64::try_from(list.len()).ok();
                    list.as_slice()
                }
                Relation::Series(ends) => ends,
                _ => &[],
            };
            constants.iter().try_for_each(|e| Scans::new(policy).walk(e, None, &mut Vec::new()))?;
            let source = match constants.first().map(|e| scans.type_of(e)) {
                Some(ty) => {
                    // Other types beside it would change that of all.
                    let ty = ty.filter(|ty| constants.iter().all(|e| scans.type_of(e).as_ref() == Some(ty)));
                    let columns = columns.iter().map(|c| (c.clone(), Column::of(ty.clone()))).collect();
                    Source::Rows(Rows { columns, ..Rows::default() })
                }
                None => Source::Table(table_of(of, columns, policy)?),
            };
            let public = |t: &usize| policy.tables.get(*t).is_some_and(|t| t.privacy == Privacy::Public);
            if matches!(&source, Source::Table(t) if !public(t)) {
                return refuse("a domain that reads a private table", of);
            }
            scans.add(name, source)?;
        }
        Some(join) => return refuse("a domain with joins", join),
    }
    let all = select.filter.iter().chain([item]);
    all.into_iter().try_for_each(|e| scans.walk(e, None, &mut Vec::new()))?;
    Ok((scans.type_of(item), size))
}

impl Domain {
    /// Refuses conditions other than `of.k = d.k` for each key, NULL with NULL where both stand in ARRAY.
    pub fn matches(&self, on: &[Expr], of: &str, keys: &[(String, Option<SqlType>)]) -> Result<()> {
        let inner = |e: &Expr| match e.call("ARRAY") {
            Some([x]) => x.bare().clone(),
            _ => e.bare().clone(),
        };
        let equal = |(e, (ours, theirs)): (&Expr, (&(String, _), &(String, _)))| match e.call("=") {
            Some([a, b]) => {
                let pair =
                    (Expr::Column((of.into(), ours.0.clone())), Expr::Column(("d".into(), theirs.0.clone())));
                (inner(a), inner(b)) == pair && a.call("ARRAY").is_some() == b.call("ARRAY").is_some()
            }
            _ => false,
        };
        // Converted to another type, two rows of the domain could be one.
        let exact = |(a, b): (&(_, Option<_>), &(_, Option<_>))| compared_exactly(a.1.as_ref(), b.1.as_ref());
        let both = || keys.iter().zip(&self.keys);
        match on.len() == keys.len()
            && keys.len() == self.keys.len()
            && on.iter().zip(both()).all(equal)
            && both().all(exact)
        {
            true => Ok(()),
            false => {
                refuse("a join with a domain by something else than its keys, in order and of one type", on)
            }
        }
    }
}
