//! The stages of a fetch: `d`, the domain; `c`, a row per unit and group; `e`, at most so many groups of a unit; `g`, sums
//! over units; and what comes back. Each but `g` may be missing.

use super::domain::{Domain, domain};
use super::rows::{Column, Part as Joined, Rows, Scans, Source};
use super::sums::{magnitude, summed, zero_for_null};
use super::tree::*;
use super::{Certified, Part, Result, refuse};
use policy::Policy;
use schema::SqlType;

const NAMES: [&str; 4] = ["d", "c", "e", "g"];

/// A group key.
#[derive(Clone)]
struct Key {
    name: String,
    ty: Option<SqlType>,
    /// Equal keys look the same: which unit's spelling comes back does not matter.
    one_form: bool,
}

/// Rows with a unit, keys, and what was added up.
struct Units {
    columns: Vec<(String, Column)>,
    keys: Vec<Key>,
    /// Groups of one unit are at most so many.
    groups: Option<u64>,
    /// The column that numbers them.
    rank: Option<String>,
}

struct Groups {
    keys: Vec<Key>,
    /// Name, how much one unit changes it, whether it counts units.
    sums: Vec<(String, u128, bool)>,
    groups: Option<u64>,
}

/// Certifies a whole query.
pub(crate) fn certify(query: &Query, policy: &Policy) -> Result<Certified> {
    let stage = |name: &str| query.stages.iter().find(|(n, _)| n == name).map(|(_, s)| s);
    let known = NAMES.iter().filter(|n| stage(n).is_some());
    if !query.stages.iter().map(|(n, _)| n).eq(known) {
        return refuse("stages that are not d, c, e and g", &query.stages);
    }
    let domain = stage("d").map(|s| domain(s, policy)).transpose()?;
    let Some(last) = stage("g") else { return refuse("a fetch without groups", &query.last) };
    let groups = match (stage("c"), stage("e")) {
        (Some(c), None) => sums_of_units(last, "c", &units(c, policy)?, policy)?,
        (Some(c), Some(e)) => {
            sums_of_units(last, "e", &ranked(e, units(c, policy)?, domain.as_ref(), policy)?, policy)?
        }
        (None, None) => direct(last, policy)?,
        (None, Some(e)) => return refuse("a rank of nothing", e),
    };
    answer(query, &groups, domain.as_ref())
}

/// The rows of a stage over tables, each of one unit.
fn private<'p>(select: &Select, policy: &'p Policy) -> Result<(Scans<'p>, Joined)> {
    let mut scans = Scans::new(policy);
    let part = scans.frame(select, &Joined::default())?;
    match part {
        _ if select.distinct => refuse("DISTINCT", select),
        Joined { private: false, .. } => refuse("a stage that is neither a domain nor private", select),
        Joined { nullable: true, .. } => {
            refuse("rows of nobody are among the units': unit IS NOT NULL is missing", select)
        }
        part => Ok((scans, part)),
    }
}

/// `c`: grouped by the unit and the keys.
fn units(select: &Select, policy: &Policy) -> Result<Units> {
    let (mut scans, part) = private(select, policy)?;
    let (by, rest) = select.grouped();
    let Some(((unit, name), keys)) = by.split_first().filter(|((unit, _), _)| scans.is_unit(unit, &part))
    else {
        return refuse("rows that are not grouped by their unit first", select);
    };
    let mut columns = vec![(name.clone(), Column::of(scans.type_of(unit)))];
    let keys = keys.iter().map(|k| key(k, &mut scans, &part)).collect::<Result<Vec<_>>>()?;
    columns.extend(keys.iter().map(|k| (k.name.clone(), Column::of(k.ty.clone()))));
    for (e, name) in rest {
        let (args, count) = match (e.call("count"), summed(e)) {
            (Some(args), _) => (args, true),
            (_, Some(value)) => (std::slice::from_ref(value), false),
            _ => return refuse("neither a count nor a sum of integers or numerics", e),
        };
        args.iter().try_for_each(|e| scans.walk(e, Some(&part), &mut Vec::new()))?;
        columns.push((name.clone(), Column { count, ..Column::of(None) }));
    }
    names_differ(columns.iter().map(|c| &c.0))?;
    let groups = if keys.is_empty() { Some(1) } else { part.rows };
    Ok(Units { columns, keys, groups, rank: None })
}

fn key((e, name): &Item, scans: &mut Scans<'_>, part: &Joined) -> Result<Key> {
    scans.walk(e, Some(part), &mut Vec::new())?;
    // Of spellings that are equal, one comes back, and others' rows could change which.
    let mut columns = Vec::new();
    shown(e, &mut columns);
    if !columns.iter().all(|c| scans.column(c).is_some_and(|c| c.deterministic)) {
        return refuse("a key with a nondeterministic collation", e);
    }
    let ty = scans.type_of(e);
    let one_form = match &ty {
        Some(SqlType::Numeric { scale }) => scale.is_some() || e.call("trim_scale").is_some(),
        Some(t) if t.is_float() => is_canonical_float(e, t),
        Some(SqlType::Bpchar | SqlType::Interval | SqlType::Other { .. }) | None => false,
        Some(_) => true,
    };
    Ok(Key { name: name.clone(), ty, one_form })
}

/// The columns that a key can be: those that CASE chooses from, and not what it chooses by.
fn shown(e: &Expr, out: &mut Vec<Col>) {
    match e {
        Expr::Column(c) => out.push(c.clone()),
        Expr::Cast(x, ty) if *ty != SqlType::Bool => shown(x, out),
        Expr::Call(name, args) => {
            let chosen = |i: usize| name != "CASE" || i % 2 == 1 || i + 1 == args.len();
            args.iter().enumerate().filter(|(i, _)| chosen(*i)).for_each(|(_, e)| shown(e, out));
        }
        _ => {}
    }
}

/// A numeric as a float, which has no -0, or `CASE WHEN x = 0 THEN 0 WHEN x = 'NaN' THEN 'NaN' ELSE x END`.
fn is_canonical_float(e: &Expr, ty: &SqlType) -> bool {
    let Expr::Cast(inner, _) = e else { return false };
    let same = |x: &Expr, c: Expr| {
        [Expr::Call("=".into(), vec![x.clone(), c.clone()]), Expr::Cast(Box::new(c), ty.clone())]
    };
    match &**inner {
        // Of two arguments there is one for numerics alone.
        Expr::Call(name, args) if name == "round" => args.len() == 2,
        Expr::Call(name, args) if name == "CASE" => args.last().is_some_and(|x| {
            let each = [same(x, Expr::Number("0".into())), same(x, Expr::Text("NaN".into()))];
            x.column().is_some() && *args == [each.concat(), vec![x.clone()]].concat()
        }),
        _ => false,
    }
}

fn names_differ<'n>(names: impl Iterator<Item = &'n String>) -> Result<()> {
    let mut seen = std::collections::BTreeSet::new();
    for n in names {
        if n.is_empty() || !seen.insert(n) {
            return refuse("columns of a stage that have no names of their own", n);
        }
    }
    Ok(())
}

/// The one stage that a stage reads, and what it is joined to.
fn read<'s>(select: &'s Select, name: &str) -> Result<(bool, &'s [Expr])> {
    let is = |t: &Tree, n: &str| matches!(t, Tree::Scan(s) if s.of == Relation::Stage && s.name == n);
    match &select.from {
        _ if select.distinct => refuse("DISTINCT", select),
        Some(t) if is(t, name) => Ok((false, &[])),
        Some(Tree::Join(Kind::Inner, l, r, on)) if is(l, name) && is(r, "d") => Ok((true, on)),
        Some(Tree::Join(Kind::Left, l, r, on)) if name == "g" && is(l, "d") && is(r, name) => Ok((true, on)),
        _ => refuse("a stage over something else than the stage before and the domain", select),
    }
}

fn typed(keys: &[Key]) -> Vec<(String, Option<SqlType>)> {
    keys.iter().map(|k| (k.name.clone(), k.ty.clone())).collect()
}

/// `e`: `SELECT c.*, row_number() OVER (PARTITION BY c.u ORDER BY …) AS r FROM c`, of groups of a domain where it is joined.
fn ranked(select: &Select, mut units: Units, domain: Option<&Domain>, policy: &Policy) -> Result<Units> {
    let (joined, on) = read(select, "c")?;
    match domain {
        Some(domain) if joined => {
            domain.matches(on, "c", &typed(&units.keys))?;
            units.groups = [units.groups, domain.size].into_iter().flatten().min();
        }
        _ if joined => return refuse("a join with a domain that is not there", select),
        _ => {}
    }
    let own = |name: &String| Expr::Column(("c".into(), name.clone()));
    let columns: Vec<Expr> = units.columns.iter().map(|(n, _)| own(n)).collect();
    let (by, _) = columns.split_at_checked(1 + units.keys.len()).unwrap_or_default();
    let all = Expr::Call("ALL".into(), vec![own(&String::new())]);
    let ([(first, _), (window, rank)], Some(unit), true, true) =
        (select.items.as_slice(), by.first(), select.groups == 0, select.filter.is_empty())
    else {
        return refuse("a rank of an unknown kind", select);
    };
    let Some([partition, order]) = window.call("row_number").filter(|_| *first == all) else {
        return refuse("a window that is no rank", window);
    };
    if partition.call("PARTITION") != Some(std::slice::from_ref(unit)) {
        return refuse("a rank that is not one of the unit's rows", window);
    }
    let order = order.call("ORDER").unwrap_or_default();
    // By nothing but the seed, the unit and the keys; and by all of these, without ties: which group is dropped would
    // hang on the order of others' rows.
    let mut scans = Scans::new(policy);
    scans.seed = true;
    let known = units.columns.iter().take(by.len()).cloned().collect();
    scans.add("c", Source::Rows(Rows { columns: known, ..Rows::default() }))?;
    order.iter().try_for_each(|e| scans.walk(e, None, &mut Vec::new()))?;
    if !by.iter().skip(1).all(|k| order.contains(k)) {
        return refuse("a rank with ties", window);
    }
    units.rank = Some(rank.clone());
    names_differ(units.columns.iter().map(|c| &c.0).chain([rank]))?;
    Ok(units)
}

/// `g` over `c` or `e`: sums over units.
fn sums_of_units(select: &Select, from: &str, units: &Units, policy: &Policy) -> Result<Groups> {
    let own = |name: &String| Expr::Column((from.to_owned(), name.clone()));
    let kept = match (select.filter.as_slice(), &units.rank) {
        ([], _) => None,
        ([e], Some(rank)) => match e.call("<=") {
            Some([r, most]) if *r == own(rank) => most.integer().and_then(|n| u64::try_from(n).ok()),
            _ => return refuse("a condition that is no rank", e),
        },
        _ => return refuse("a condition that is no rank", select),
    };
    let (by, rest) = select.grouped();
    let keys = by.iter().map(|(e, _)| e.clone());
    if !keys.eq(units.keys.iter().map(|k| own(&k.name))) || read(select, from)?.0 {
        return refuse("groups by something else than all keys, in order", select);
    }
    let renamed = units.keys.iter().zip(by).map(|(k, (_, n))| Key { name: n.clone(), ..k.clone() });
    let mut scans = Scans::new(policy);
    scans.add(from, Source::Rows(Rows { columns: units.columns.clone(), ..Rows::default() }))?;
    let groups = [units.groups, kept].into_iter().flatten().min();
    Ok(Groups { keys: renamed.collect(), sums: sums(rest, &mut scans, None, 1)?, groups })
}

/// `g` straight from the rows, of which a unit has few.
fn direct(select: &Select, policy: &Policy) -> Result<Groups> {
    let (mut scans, part) = private(select, policy)?;
    let Some(n) = part.rows.map(|n| n.max(1)) else {
        return refuse("rows are added up that no key shows to be few for each unit", select);
    };
    let (by, rest) = select.grouped();
    let keys = by.iter().map(|k| key(k, &mut scans, &part)).collect::<Result<Vec<_>>>()?;
    let groups = if keys.is_empty() { Some(1) } else { Some(n) };
    Ok(Groups { keys, sums: sums(rest, &mut scans, Some(&part), n)?, groups })
}

/// What is added up over at most `n` rows for each unit and group.
fn sums(
    list: &[Item],
    scans: &mut Scans<'_>,
    part: Option<&Joined>,
    n: u64,
) -> Result<Vec<(String, u128, bool)>> {
    let mut out = Vec::new();
    for (e, name) in list {
        let (args, each) = match (e.call("count"), summed(e)) {
            (Some(args), _) => (args, Some(1)),
            (_, Some(value)) => (std::slice::from_ref(value), magnitude(value, scans)),
            _ => return refuse("neither a count nor COALESCE(sum(…), 0)", e),
        };
        args.iter().try_for_each(|e| scans.walk(e, part, &mut Vec::new()))?;
        let Some(linf) = each.and_then(|x| x.checked_mul(n.into())) else {
            return refuse("a sum of values that no clamp bounds on both sides", e);
        };
        out.push((name.clone(), linf, n == 1 && e.call("count").is_some_and(<[Expr]>::is_empty)));
    }
    Ok(out)
}

/// `SELECT g.… FROM g`, or `SELECT d.…, COALESCE(g.…, 0) FROM d LEFT JOIN g ON … ORDER BY 1, …`
fn answer(query: &Query, g: &Groups, domain: Option<&Domain>) -> Result<Certified> {
    let last = &query.last;
    let (public, on) = read(last, "g")?;
    names_differ(g.keys.iter().map(|k| &k.name).chain(g.sums.iter().map(|s| &s.0)))?;
    let (from, keys, groups) = match domain {
        Some(domain) if public => {
            domain.matches(on, "g", &typed(&g.keys))?;
            ("d", domain.keys.clone(), [g.groups, domain.size].into_iter().flatten().min())
        }
        _ => ("g", typed(&g.keys), g.groups),
    };
    let own = |from: &str, name: &String| Expr::Column((from.to_owned(), name.clone()));
    let Some((by, rest)) = last.items.split_at_checked(keys.len()) else {
        return refuse("a last SELECT without its keys", last);
    };
    if !by.iter().map(|(e, _)| e).eq(keys.iter().map(|(n, _)| own(from, n)).collect::<Vec<_>>().iter()) {
        return refuse("columns that are not the keys, in order", last);
    }
    if query.order != if public { keys.len() } else { 0 } || !last.is_plain() || !last.filter.is_empty() {
        return refuse(
            "a last SELECT that does more than pass columns through, in the order of public keys",
            last,
        );
    }
    let mut parts = Vec::new();
    for (e, _) in rest {
        let column = if public { zero_for_null(e) } else { Some(e) };
        match g.sums.iter().find(|s| column == Some(&own("g", &s.0))) {
            Some(sum) => parts.push(sum),
            None => return refuse("a column that is no sum", e),
        }
    }
    let selects = !public && !keys.is_empty();
    if selects && !g.keys.iter().all(|k| k.one_form) {
        return refuse("a private key whose equals may look different", last);
    }
    if selects && !parts.first().is_some_and(|s| s.2) {
        return refuse("private groups without a count of their units", last);
    }
    let l0 = match groups {
        Some(l0) => l0.max(1),
        // All of them come back, however many a unit touches.
        None if public => u64::MAX,
        None => return refuse("nothing bounds the groups of a unit", last),
    };
    let parts = parts.into_iter().skip(usize::from(selects)).map(|s| Part { linf: s.1 }).collect();
    Ok(Certified {
        text: String::new(),
        seeded: query.seeded,
        keys: keys.len(),
        selects,
        parts,
        l0,
        public: !selects,
    })
}
