//! The stages of a fetch: `d`, the domain; `h`, which counts the rows of each unit (`light`); `c`,
//! a row per unit and group; `e`, which ranks a unit's groups or spreads its rows over them; `g`,
//! sums over units; and the rows that come back. Each but `g` may be missing. `e` and the rows that
//! come back follow from the others, to the letter.

use super::claim::{Claim, Part, Weights};
use super::domain::{Domain, domain};
use super::facts::{Column, Form, Key, Norm, Part as Joined, Rows, Scans, Share, Source, compared_exactly};
use super::forms::is_canonical_float;
use super::light;
use super::rows::table_of;
use super::sums::{Added, Middle, Over, added, magnitude, sums};
use super::weights::{self, Units, listed, order};
use grammar::parser::Parser;
use grammar::tree::*;
use grammar::{Result, ensure, refuse};
use policy::Policy;
use schema::SqlType;
use std::collections::BTreeSet;

/// `g`.
struct Groups {
    keys: Vec<Key>,
    sums: Vec<Added>,
    groups: Option<u64>,
}

/// Certifies a whole fetch: the change that one unit can make.
pub(crate) fn certify(sql: &str, policy: &Policy) -> Result<Claim> {
    let mut p = Parser::new(sql, policy)?;
    p.need("WITH")?;
    let domain = p.stage("d")?.map(|d| domain(&d, policy)).transpose()?;
    let heavy = p.stage("h")?;
    let units = p.stage("c")?.map(|c| units(heavy.as_ref(), c, policy)).transpose()?;
    ensure(heavy.is_none() || units.is_some(), "a count of rows that nothing looks at", sql)?;
    let weighted = match &units {
        Some(units) if domain.is_none() && units.light.is_none() => weights::stages(&mut p, units)?,
        _ => None,
    };
    let (middle, shares) = match &units {
        _ if weighted.is_some() => (Middle::Ranked, Vec::new()),
        Some(units) => middle(&mut p, units, domain.as_ref())?,
        None => (Middle::Missing, Vec::new()),
    };
    let last = if weighted.is_some() { None } else { p.stage("g")? };
    let weights = weighted.map_or(Weights::Units, |(weights, _)| weights);
    // Public groups that are not of the statement are seen by nobody.
    let size = domain.as_ref().and_then(|d| d.size);
    let g = match (weighted, units, last) {
        (Some((_, most)), Some(units), _) => {
            let groups = units.groups.into_iter().chain([most]).min();
            let weight = Added { name: "weight".into(), part: Part::in_all(1), units: true };
            Groups { keys: units.keys, sums: vec![weight], groups }
        }
        (_, Some(units), Some(last)) => sums_of_units(&last, (middle, shares), units, size, policy)?,
        (_, None, Some(last)) => direct(&last, size, policy)?,
        _ => return refuse("stages that are not d, c, e and g", sql),
    };
    let private = domain.is_none() && !g.keys.is_empty();
    let units = if weights == Weights::Units { "units" } else { "weight" };
    let selects = private && g.sums.first().is_some_and(|s| s.name == units);
    let names = selects.then(|| units.to_owned()).into_iter().chain((0..).map(|i| format!("a{i}")));
    let named = g.sums.iter().zip(names).all(|(s, name)| s.name == name);
    ensure(named, "sums that are not units, a0, a1, …", sql)?;
    let passed = p.exactly(&answer(&g, domain.as_ref())?)?;
    ensure(passed, "a last SELECT that does more than pass keys and sums through, in order", sql)?;
    p.end()?;
    let one_form = !private || g.keys.iter().all(|k| k.one_form);
    ensure(one_form, "a private key whose equals may look different", sql)?;
    let counted = !selects || g.sums.first().is_some_and(|s| s.units);
    ensure(counted, "private groups without a count of their units", sql)?;
    // Where nothing bounds them, all of them come back, however many a unit touches; or they are not selected by this text.
    ensure(g.groups.is_some() || !selects, "nothing bounds the groups of a unit", sql)?;
    Ok(Claim {
        seeded: middle == Middle::Ranked,
        keys: g.keys.len(),
        selects,
        weights,
        parts: g.sums.iter().skip(usize::from(selects)).map(|s| s.part).collect(),
        l0: g.groups.map_or(u64::MAX, |l0| l0.max(1)),
        public: !private,
        tables: p.tables().iter().map(|t| table_of(t, policy)).collect::<Result<_>>()?,
    })
}

/// The rows of a stage over tables, each of one unit.
fn private<'p>(select: &Select, policy: &'p Policy) -> Result<(Scans<'p>, Joined)> {
    let mut scans = Scans::new(policy);
    let part = scans.frame(select, &Joined::default())?;
    ensure(!select.distinct, "DISTINCT", select)?;
    ensure(part.private, "a stage that is neither a domain nor private", select)?;
    let somebodys = !part.nullable;
    ensure(somebodys, "rows of nobody are among the units': unit IS NOT NULL is missing", select)?;
    Ok((scans, part))
}

/// `c`: grouped by the unit and the keys. With `h` before it, rows of light units by the keys alone.
fn units(heavy: Option<&Select>, select: Select, policy: &Policy) -> Result<Units> {
    let (select, light) = match heavy {
        Some(h) => light::apart(h, select).map(|(c, most)| (c, Some(most)))?,
        None => (select, None),
    };
    let select = &select;
    let (mut scans, part) = private(select, policy)?;
    let (by, rest) = select.grouped();
    let Some(((u, _), by)) = by.split_first().filter(|((e, name), _)| scans.is_unit(e, &part) && name == "u")
    else {
        return refuse("rows that are not grouped by their unit first", select);
    };
    let keys = keys(by, &mut scans, &part)?;
    let merged = |((_, name), k): (&Item, &Key)| {
        (name.clone(), Column { form: k.column.merged(), ..k.column.clone() })
    };
    let mut columns: Vec<_> = by.iter().zip(&keys).map(merged).collect();
    for (e, name) in rest {
        let Some((args, count, once)) = added(e) else {
            return refuse("neither a count nor a sum of integers or numerics", e);
        };
        args.iter().try_for_each(|e| scans.walk(e, Some(&part)))?;
        let row = if count { Some((1, true)) } else { args.first().and_then(|x| magnitude(x, &scans)) };
        let form = if count { Form::One } else { scans.of_all(args, None)? };
        let column = Column { count, form, row: row.filter(|_| !once), ..Column::of(scans.type_of(e)) };
        columns.push((name.clone(), column));
    }
    let names: BTreeSet<&str> = columns.iter().map(|c| c.0.as_str()).chain(["u", "r", "t", ""]).collect();
    ensure(names.len() == columns.len() + 4, "columns of a stage that have no names of their own", select)?;
    let groups = if part.settles(by) { Some(1) } else { part.rows };
    let unit = scans.known(u);
    let of_bytes =
        u.column().is_some() && unit.deterministic && compared_exactly(unit.ty.as_ref(), unit.ty.as_ref());
    ensure(light.is_none() || of_bytes, "units told apart by an equality that may not be that of groups", u)?;
    let counts_rows =
        rest.iter().any(|(e, name)| name == "n0" && *e == Expr::Call("count".into(), Vec::new()));
    Ok(Units { unit, columns, keys, groups, light, counts_rows })
}

fn keys(by: &[Item], scans: &mut Scans<'_>, part: &Joined) -> Result<Vec<Key>> {
    let mut out = Vec::new();
    for (i, (e, name)) in by.iter().enumerate() {
        ensure(*name == format!("k{i}"), "a key that has another's place", e)?;
        scans.walk(e, Some(part))?;
        let column = Column { form: scans.form(e)?, ..scans.known(e) };
        // Of spellings that are equal, one comes back, and others' rows could change which.
        ensure(column.deterministic, "a key with a nondeterministic collation", e)?;
        let one_form = match &column.ty {
            Some(SqlType::Numeric { scale }) => scale.is_some() || e.call("trim_scale").is_some(),
            Some(t) if t.is_float() => is_canonical_float(e, t),
            Some(SqlType::Bpchar | SqlType::Interval | SqlType::Other { .. }) | None => false,
            Some(_) => true,
        };
        out.push(Key { column, one_form });
    }
    Ok(out)
}

/// `e`, if it is there, and the shares that it adds to the columns of `c`.
fn middle(p: &mut Parser, units: &Units, domain: Option<&Domain>) -> Result<(Middle, Vec<(String, Column)>)> {
    // Where values of a last key are counted, groups are of those before.
    let joined =
        domain.map(|d| d.joins("c", units.keys.get(..d.len()).unwrap_or(&units.keys))).transpose()?;
    let joined = joined.map_or_else(String::new, |on| format!(" JOIN d ON {on}"));
    // Of groups of the domain, where there is one: which is dropped hangs on no other unit's rows.
    let rank = |order: &str| {
        format!(
            "e AS (SELECT c.*, pg_catalog.row_number() OVER (PARTITION BY c.u ORDER BY {order}) AS r FROM c{joined}),"
        )
    };
    // A rank among groups of several units would drop those of one for rows of others.
    let order = order(units).filter(|_| units.light.is_none());
    if order.map_or(Ok(false), |order| p.exactly(&rank(&order)))? {
        return Ok((Middle::Ranked, Vec::new()));
    }
    if !p.exactly("e AS (SELECT c.*")? {
        return Ok((Middle::Missing, Vec::new()));
    }
    let mut shares = Vec::new();
    for (name, of) in &units.columns {
        let Some((kind, i)) = name.split_at_checked(1) else { continue };
        // Of all rows there are no fewer in a group than of some. What a row adds to a sum is a whole number, and so is the sum.
        let (over, to, rises) = match (kind, of.count, of.row) {
            ("n", true, _) if units.counts_rows => ("n0", "m", true),
            ("s", false, Some((_, rises))) => (name.as_str(), "t", rises),
            _ => continue,
        };
        for norm in [Norm::Sum as fn(u64) -> Norm, Norm::Squares] {
            let Some(most) = p.number_behind(">").filter(|most| *most <= LONGEST) else { break };
            if p.exactly(&format!("{} AS {to}{i}", share(name, over, norm(most))))? {
                let share = Some(Share { norm: norm(STEPS * most), rises });
                shares.push((format!("{to}{i}"), Column { share, ..Column::of(Some(SqlType::Int8)) }));
            }
        }
    }
    let read = p.exactly(&format!(" FROM c{joined} WINDOW v AS (PARTITION BY c.u)),"))?;
    ensure(read, "stages that are not d, c, e and g", &joined)?;
    Ok((Middle::Shares, shares))
}

/// What of a count enters a share: no sum of a unit's reaches the end of int8.
const COUNTED: &str = "1000000";
/// Steps that are one in a share.
const STEPS: u64 = 64;
/// The longest vector: in steps a number that double precision holds, and any part of it an int8.
const LONGEST: u64 = 1 << 46;

/// The share of a count or a sum x in its group, in steps. Where the norm N of a vector over the unit's groups is above a bound C,
/// 64·C·x/N cut towards zero, and else 64·x. Of a sum of magnitudes the quotient is exact; of the root of squares it is less by a
/// part in 10^9, where what four roundings in double precision can add is a part in 10^15. Where x is no longer than that vector,
/// which is x itself or counts more rows, shares are no longer than 64·C: scaling and cutting lengthen no vector.
fn share(name: &str, over: &str, norm: Norm) -> String {
    let capped = |n: &str| format!("LEAST(c.{n}, {COUNTED})::pg_catalog.int4");
    let (x, over, wide) = match over {
        "n0" => (capped(name), capped(over), "int8"),
        s => (format!("c.{name}"), format!("c.{s}"), "numeric"),
    };
    let share = match norm {
        Norm::Sum(most) => {
            let (steps, all) = (STEPS * most, format!("pg_catalog.sum(pg_catalog.abs({over})) OVER v"));
            format!("{all} > {most} THEN pg_catalog.div({x}::pg_catalog.numeric * {steps}, {all})")
        }
        Norm::Squares(most) => {
            let steps = STEPS * most;
            let all = format!("pg_catalog.sum({over}::pg_catalog.{wide} * {over}) OVER v");
            format!(
                "{all} > {most}::pg_catalog.{wide} * {most} THEN pg_catalog.trunc({x}::pg_catalog.float8 * {steps}::pg_catalog.float8 / pg_catalog.sqrt(({all})::pg_catalog.float8) * 0.999999999::pg_catalog.float8)"
            )
        }
    };
    format!(", CASE WHEN {share}::pg_catalog.int8 ELSE {x}::pg_catalog.int8 * {STEPS} END")
}

/// `g` over `c` or `e`: sums over units.
fn sums_of_units(
    select: &Select,
    (middle, shares): (Middle, Vec<(String, Column)>),
    mut units: Units,
    size: Option<u64>,
    policy: &Policy,
) -> Result<Groups> {
    let from = if middle == Middle::Missing { "c" } else { "e" };
    let own = |name: &str| Expr::Column((from.to_owned(), name.to_owned()));
    let rank = |e: &Expr| match e.call("<=") {
        Some([r, most]) if middle == Middle::Ranked && *r == own("r") => u64::try_from(most.integer()?).ok(),
        _ => None,
    };
    let kept = if let [e] = select.filter.as_slice() { rank(e) } else { None };
    ensure(select.filter.is_empty() || kept.is_some(), "a condition that is no rank", select)?;
    let (by, rest) = select.grouped();
    let rows = [units.groups, kept].into_iter().flatten().min();
    // Of equal values of the last key one counts: each row of the stage before changes one of them in one group, and a unit has
    // no more rows there than `rows`, which are told apart by that key too.
    let last = units.keys.len().checked_sub(1).map(|i| own(&format!("k{i}")));
    let once =
        |(e, _): &Item| matches!(added(e), Some(([x], count, true)) if !count || Some(x) == last.as_ref());
    let values = !rest.is_empty() && rest.iter().all(once);
    if values {
        units.keys.pop();
    }
    let keys = (0..units.keys.len()).map(|i| format!("k{i}"));
    let read = |t: &Tree| matches!(t, Tree::Scan(s) if s.of == Relation::Stage && s.name == from);
    let grouped = keys.map(|k| (own(&k), k)).eq(by.iter().cloned()) && !select.distinct;
    let whole = grouped && select.from.as_ref().is_some_and(read);
    ensure(whole, "groups of something else than the stage before, by all keys, in order", select)?;
    ensure(!values || rows.is_some(), "nothing bounds the values of a unit", select)?;
    let mut scans = Scans::new(policy);
    // A vector of shares has an entry for each row, which is one for each group but where values are counted.
    let columns = units.columns.into_iter().chain(shares.into_iter().filter(|_| !values)).collect();
    scans.add(from, Source::Rows(Rows { columns, ..Rows::default() }))?;
    let groups = rows.into_iter().chain(size).min();
    let light = units.light.map(|most| (from, most));
    let over = Over { groups, rows: rows.filter(|_| values), light, part: None };
    let sums = sums(rest, &mut scans, &over)?;
    Ok(Groups { keys: units.keys, sums, groups })
}

/// `g` straight from the rows, of which a unit has few.
fn direct(select: &Select, size: Option<u64>, policy: &Policy) -> Result<Groups> {
    let (mut scans, part) = private(select, policy)?;
    let Some(n) = part.rows.map(|n| n.max(1)) else {
        return refuse("rows are added up that no key shows to be few for each unit", select);
    };
    let (by, rest) = select.grouped();
    let keys = keys(by, &mut scans, &part)?;
    let groups = if part.settles(by) { 1 } else { n };
    let groups = size.into_iter().chain([groups]).min();
    let over = Over { groups, rows: Some(n), light: None, part: Some(&part) };
    Ok(Groups { keys, sums: sums(rest, &mut scans, &over)?, groups })
}

/// What comes back: all of the domain, or the groups that there are.
fn answer(g: &Groups, domain: Option<&Domain>) -> Result<String> {
    let of = if domain.is_some() { "d" } else { "g" };
    let keys = (0..g.keys.len()).map(|i| format!("{of}.k{i}"));
    let sums = g.sums.iter().map(|s| match domain {
        Some(_) => format!("COALESCE(g.{name}, 0) AS {name}", name = s.name),
        None => format!("g.{}", s.name),
    });
    let list = keys.chain(sums).collect::<Vec<_>>().join(", ");
    let Some(domain) = domain else { return Ok(format!("SELECT {list} FROM g")) };
    let (on, order) = (domain.joins("g", &g.keys)?, listed(g.keys.len(), |i| (i + 1).to_string()));
    Ok(format!("SELECT {list} FROM d LEFT JOIN g ON {on} ORDER BY {order}"))
}
