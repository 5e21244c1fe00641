//! The stages of a fetch: `d`, the domain; `h`, which counts the rows of each unit (`light`); `c`, a row per unit and group; `e`, which ranks a unit's groups or spreads its
//! rows over them; `g`, sums over units; and what comes back. Each but `g` may be missing. `e` and what comes back follow
//! from the others, to the letter.

use super::Certified;
use super::domain::{Domain, domain};
use super::facts::compared_exactly;
use super::forms::Form;
use super::light;
use super::rows::{Column, Part as Joined, Rows, Scans, Source};
use super::sums::{Added, Middle, added, magnitude, sums, sums_or_light};
use super::tables::of_select;
use super::types::sum_of;
use super::weights::{self, Weights};
use grammar::parser::Parser;
use grammar::tree::*;
use grammar::{Result, refuse};
use policy::Policy;
use schema::SqlType;
use std::collections::BTreeSet;

/// A group key. They are k0, k1, … in each stage.
pub(crate) struct Key {
    pub ty: Option<SqlType>,
    /// Equal keys look the same: which unit's spelling comes back does not matter.
    one_form: bool,
    /// Equal keys are the same bytes.
    alone: bool,
    /// It is a number whose last zeros were cut off here.
    trimmed: bool,
}

/// `c`: rows with a unit, keys, and what was added up.
pub(crate) struct Units {
    columns: Vec<(String, Column)>,
    pub keys: Vec<Key>,
    /// Groups of one unit are at most so many.
    groups: Option<u64>,
    /// The unit is an integer.
    integer: bool,
    /// Equal units are the same bytes.
    alone: bool,
    /// Rows of units that have at most so many are together in their groups.
    light: Option<u64>,
}

/// `g`.
struct Groups {
    keys: Vec<Key>,
    sums: Vec<Added>,
    groups: Option<u64>,
}

/// Certifies a whole fetch.
pub(crate) fn certify(sql: &str, policy: &Policy) -> Result<Certified> {
    let mut p = Parser::new(sql, policy)?;
    let mut tables = BTreeSet::new();
    let mut stage = |p: &mut Parser, name| -> Result<Option<Select>> {
        let stage = p.stage(name)?;
        stage.iter().try_for_each(|s| of_select(s, policy, &mut tables))?;
        Ok(stage)
    };
    p.need("WITH")?;
    let domain = stage(&mut p, "d")?.map(|d| domain(&d, policy)).transpose()?;
    let heavy = stage(&mut p, "h")?;
    let units = stage(&mut p, "c")?.map(|c| units(heavy.as_ref(), c, policy)).transpose()?;
    if heavy.is_some() && units.is_none() {
        return refuse("a count of rows that nothing looks at", sql);
    }
    if let Some(units) = units.as_ref().filter(|u| domain.is_none() && u.light.is_none())
        && let Some((weights, most)) = weights::stages(&mut p, units)?
    {
        return Ok(Certified { tables, ..weighted(p, sql, units, weights, most)? });
    }
    let middle = match &units {
        Some(units) => middle(&mut p, units, domain.as_ref())?,
        None => Middle::Missing,
    };
    let Some(last) = stage(&mut p, "g")? else { return refuse("stages that are not d, c, e and g", sql) };
    // Public groups that are not of the statement are seen by nobody.
    let size = domain.as_ref().and_then(|d| d.size);
    let mut g = match units {
        Some(units) => sums_of_units(&last, middle, units, policy)?,
        None => direct(&last, policy)?,
    };
    g.groups = [g.groups, size].into_iter().flatten().min();
    let private = domain.is_none() && !g.keys.is_empty();
    let selects = private && g.sums.first().is_some_and(|s| s.name == "units");
    let names = selects.then(|| "units".to_owned()).into_iter().chain((0..).map(|i| format!("a{i}")));
    if !g.sums.iter().map(|s| &s.name).eq(names.take(g.sums.len()).collect::<Vec<_>>().iter()) {
        return refuse("sums that are not units, a0, a1, …", sql);
    }
    if !p.exactly(&answer(&g, domain.as_ref())?)? {
        return refuse(PASSES, sql);
    }
    p.end()?;
    if private {
        in_one_form(&g.keys, sql)?;
    }
    if selects && !g.sums.first().is_some_and(|s| s.units) {
        return refuse("private groups without a count of their units", sql);
    }
    let l0 = match g.groups {
        Some(l0) => l0.max(1),
        // All of them come back, however many a unit touches; or they are not selected by this text.
        None if !selects => u64::MAX,
        None => return refuse("nothing bounds the groups of a unit", sql),
    };
    let sums = g.sums.iter().skip(usize::from(selects));
    let Some(parts) = sums.map(|s| Some(s.by.part(middle, g.groups)?.rising(s.rises))).collect() else {
        return refuse("a multiple of a share that nothing bounds", sql);
    };
    Ok(Certified {
        text: sql.to_owned(),
        seeded: matches!(middle, Middle::Ranked | Middle::Sum(..)),
        keys: g.keys.len(),
        selects,
        weights: Weights::Units,
        parts,
        l0,
        public: !private,
        tables,
    })
}

const PASSES: &str = "a last SELECT that does more than pass keys and sums through, in order";

/// Keys and weights of private groups, and nothing else.
fn weighted(mut p: Parser, sql: &str, units: &Units, weights: Weights, most: u64) -> Result<Certified> {
    let keys = units.keys.len();
    if !p.exactly(&format!(" SELECT {}, g.weight FROM g", columns("g.k", keys).trim_start_matches(", ")))? {
        return refuse(PASSES, sql);
    }
    p.end()?;
    in_one_form(&units.keys, sql)?;
    Ok(Certified {
        text: sql.to_owned(),
        seeded: true,
        keys,
        selects: true,
        weights,
        parts: Vec::new(),
        l0: units.groups.map_or(most, |n| n.min(most)).max(1),
        public: false,
        tables: BTreeSet::new(),
    })
}

fn in_one_form(keys: &[Key], sql: &str) -> Result<()> {
    match keys.iter().all(|k| k.one_form) {
        true => Ok(()),
        false => refuse("a private key whose equals may look different", sql),
    }
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
    let mut columns = Vec::new();
    for (e, name) in by {
        let key = Column { form: scans.form(e)?, ..scans.known(e) };
        columns.push((name.clone(), Column { form: key.merged(), ..key }));
    }
    for (e, name) in rest {
        let Some((args, count, once)) = added(e) else {
            return refuse("neither a count nor a sum of integers or numerics", e);
        };
        args.iter().try_for_each(|e| scans.walk(e, Some(&part)))?;
        let row = if count { Some((1, true)) } else { args.first().and_then(|x| magnitude(x, &scans)) };
        let form = if count { Form::One } else { scans.of_all(args, None)? };
        let ty = match args {
            _ if count => Some(SqlType::Int8),
            [Expr::Cast(_, ty)] => sum_of(ty),
            _ => None,
        };
        let column = Column { count, form, row: row.filter(|_| !once), ..Column::of(ty) };
        columns.push((name.clone(), column));
    }
    let names: BTreeSet<&str> = columns.iter().map(|c| c.0.as_str()).chain(["u", "r", "t", ""]).collect();
    if names.len() != columns.len() + 4 {
        return refuse("columns of a stage that have no names of their own", select);
    }
    let groups = if part.settles(by) { Some(1) } else { part.rows };
    let ty = scans.type_of(u);
    let known = |c: &Col| scans.column(c).is_some_and(|c| c.deterministic);
    if light.is_some() && !(compared_exactly(ty.as_ref(), ty.as_ref()) && u.column().is_some_and(known)) {
        return refuse("units that are told apart by an equality that may not be that of groups", u);
    }
    let (integer, alone) = (ty.is_some_and(|t| t.is_integer()), scans.is_alone(u));
    Ok(Units { columns, keys, groups, integer, alone, light })
}

fn keys(by: &[Item], scans: &mut Scans<'_>, part: &Joined) -> Result<Vec<Key>> {
    by.iter()
        .enumerate()
        .map(|(i, (e, name))| match *name == format!("k{i}") {
            true => key(e, scans, part),
            false => refuse("a key that has another's place", e),
        })
        .collect()
}

fn key(e: &Expr, scans: &mut Scans<'_>, part: &Joined) -> Result<Key> {
    scans.walk(e, Some(part))?;
    // Of spellings that are equal, one comes back, and others' rows could change which.
    if !scans.is_deterministic(e) {
        return refuse("a key with a nondeterministic collation", e);
    }
    let (ty, trimmed) = (scans.type_of(e), e.call("trim_scale").is_some());
    let one_form = match &ty {
        Some(SqlType::Numeric { scale }) => scale.is_some() || trimmed,
        Some(t) if t.is_float() => is_canonical_float(e, t),
        Some(SqlType::Bpchar | SqlType::Interval | SqlType::Other { .. }) | None => false,
        Some(_) => true,
    };
    Ok(Key { ty, one_form, trimmed, alone: scans.is_alone(e) })
}

/// A numeric as a float, which has no -0, or `CASE WHEN x = 0 THEN 0 WHEN x = 'NaN' THEN 'NaN' ELSE x END`.
pub(crate) fn is_canonical_float(e: &Expr, ty: &SqlType) -> bool {
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

/// `e`, if it is there.
fn middle(p: &mut Parser, units: &Units, domain: Option<&Domain>) -> Result<Middle> {
    // Where values of a last key are counted, groups are of those before.
    let joined =
        domain.map(|d| d.joins("c", units.keys.get(..d.len()).unwrap_or(&units.keys))).transpose()?;
    let joined = joined.map_or_else(String::new, |on| format!(" JOIN d ON {on}"));
    let order = order(units);
    // A rank among groups of several units would drop those of one for rows of others.
    if let Some(order) = order.as_ref().filter(|_| units.light.is_none())
        && p.exactly(&rank(order, &joined))?
    {
        return Ok(Middle::Ranked);
    }
    let Some(most) = p.number_behind(">") else { return Ok(Middle::Missing) };
    let each = p.number_behind("LEAST (");
    if let Some(order) = &order
        && p.exactly(&spread(units, order, &joined, most, each))?
    {
        return Ok(Middle::Sum(most, each.unwrap_or(most)));
    }
    Ok(if p.exactly(&spread_squares(units, &joined, most))? {
        Middle::Squares(most)
    } else {
        Middle::Missing
    })
}

/// A random order of a unit's groups: by nothing but the seed, the unit and what the keys equal, and without ties. None where
/// equal values of a type could have different hashes.
pub(crate) fn order(units: &Units) -> Option<String> {
    let mut hash = match units.integer {
        true => "pg_catalog.hashint8extended(c.u, $1::pg_catalog.int8)".to_owned(),
        false => "pg_catalog.hashtextextended(c.u::pg_catalog.text, $1::pg_catalog.int8)".to_owned(),
    };
    for (i, key) in units.keys.iter().enumerate() {
        let text = |key: String| {
            format!("pg_catalog.hashtextextended(COALESCE({key}::pg_catalog.text, ''), {hash})")
        };
        hash = match &key.ty {
            Some(t) if t.is_integer() => format!("pg_catalog.hashint8extended(COALESCE(c.k{i}, 0), {hash})"),
            Some(t) if t.is_float() => format!("pg_catalog.hashfloat8extended(COALESCE(c.k{i}, 0), {hash})"),
            Some(SqlType::Numeric { .. }) if !key.trimmed => text(format!("pg_catalog.trim_scale(c.k{i})")),
            _ if key.alone => text(format!("c.k{i}")),
            _ => return None,
        };
    }
    units.alone.then(|| hash + &columns("c.k", units.keys.len()))
}

/// A rank of each unit's groups, of those of the domain where there is one: which group is dropped hangs on no other unit's
/// rows.
fn rank(order: &str, joined: &str) -> String {
    format!(
        "e AS (SELECT c.*, pg_catalog.row_number() OVER (PARTITION BY c.u ORDER BY {order}) AS r FROM c{joined}),"
    )
}

/// What of a count enters a share: no sum of a unit's reaches the end of int8.
const COUNTED: &str = "1000000";

/// The counts of `c`, and a share of each by this rule, where the sum over the unit's groups is above a bound.
fn shares(units: &Units, share: impl Fn(&str) -> String) -> String {
    let counts = (0..)
        .map(|i| format!("n{i}"))
        .take_while(|n| units.columns.iter().any(|(name, c)| name == n && c.count));
    let each = counts.enumerate().map(|(i, n)| {
        let n = format!("LEAST(c.{n}, {COUNTED})::pg_catalog.int4");
        format!(", {} AS m{i}", share(&n))
    });
    each.collect()
}

/// Shares of at most `most` rows in all: differences of ⌊C·most/T⌋, where C adds up a unit's counts and T is their sum, which
/// add up to ⌊most⌋ in any order; cut to `each` where there is such a number.
fn spread(units: &Units, order: &str, joined: &str, most: u64, each: Option<u64>) -> String {
    let shares = shares(units, |n| {
        let (upto, all) = (format!("pg_catalog.sum({n}) OVER w"), format!("pg_catalog.sum({n}) OVER v"));
        let share = format!(
            "CASE WHEN {all} > {most} THEN {upto} * {most} / {all} - ({upto} - {n}) * {most} / {all} ELSE {n} END"
        );
        each.map_or(share.clone(), |each| format!("LEAST({each}, {share})"))
    });
    format!(
        "e AS (SELECT c.*{shares} FROM c{joined} WINDOW v AS (PARTITION BY c.u), w AS (PARTITION BY c.u ORDER BY {order} ROWS UNBOUNDED PRECEDING)),"
    )
}

/// Shares whose squares add up to at most `most`: ⌊n·√(most/Q)⌋, where Q adds up the squares of a unit's counts. The factor is
/// less than exact by a part in 10^9; what its four roundings in double precision can add is a part in 10^15.
fn spread_squares(units: &Units, joined: &str, most: u64) -> String {
    let shares = shares(units, |n| {
        let all = format!("pg_catalog.sum({n}::pg_catalog.int8 * {n}) OVER v");
        format!(
            "CASE WHEN {all} > {most} THEN pg_catalog.floor({n}::pg_catalog.float8 * pg_catalog.sqrt({most} / ({all})::pg_catalog.float8) * 0.999999999::pg_catalog.float8)::pg_catalog.int8 ELSE {n} END"
        )
    });
    format!("e AS (SELECT c.*{shares} FROM c{joined} WINDOW v AS (PARTITION BY c.u)),")
}

/// `, c.k0, c.k1`
fn columns(prefix: &str, n: usize) -> String {
    (0..n).map(|i| format!(", {prefix}{i}")).collect()
}

/// `g` over `c` or `e`: sums over units.
fn sums_of_units(select: &Select, middle: Middle, mut units: Units, policy: &Policy) -> Result<Groups> {
    let from = if middle == Middle::Missing { "c" } else { "e" };
    let own = |name: &str| Expr::Column((from.to_owned(), name.to_owned()));
    let kept = match select.filter.as_slice() {
        [] => None,
        [e] => match e.call("<=") {
            Some([r, most]) if middle == Middle::Ranked && *r == own("r") => {
                most.integer().and_then(|n| u64::try_from(n).ok())
            }
            _ => return refuse("a condition that is no rank", e),
        },
        _ => return refuse("a condition that is no rank", select),
    };
    let (by, rest) = select.grouped();
    let groups = [units.groups, kept].into_iter().flatten().min();
    // Of equal values of the last key one counts: each row of the stage before changes one of them in one group, and a unit has
    // no more rows there than `groups`, which are told apart by that key too.
    let last = units.keys.len().checked_sub(1).map(|i| own(&format!("k{i}")));
    let once =
        |(e, _): &Item| matches!(added(e), Some(([x], count, true)) if !count || Some(x) == last.as_ref());
    let values = !rest.is_empty() && rest.iter().all(once);
    if values {
        units.keys.pop();
    }
    let keys = (0..units.keys.len()).map(|i| format!("k{i}"));
    let read = |t: &Tree| matches!(t, Tree::Scan(s) if s.of == Relation::Stage && s.name == from);
    if !keys.map(|k| (own(&k), k)).eq(by.iter().cloned())
        || select.distinct
        || !select.from.as_ref().is_some_and(read)
    {
        return refuse("groups of something else than the stage before, by all keys, in order", select);
    }
    if values && groups.is_none() {
        return refuse("nothing bounds the values of a unit", select);
    }
    let mut scans = Scans::new(policy);
    let mut columns = units.columns;
    if !values && matches!(middle, Middle::Sum(..) | Middle::Squares(_)) {
        let share = |i| (format!("m{i}"), Column { share: true, ..Column::of(Some(SqlType::Int8)) });
        columns.extend((0..columns.len()).map(share));
    }
    scans.add(from, Source::Rows(Rows { columns, ..Rows::default() }))?;
    let sums = match units.light {
        Some(most) => sums_or_light(rest, &mut scans, from, most)?,
        None => sums(rest, &mut scans, None, groups.filter(|_| values))?,
    };
    Ok(Groups { keys: units.keys, sums, groups })
}

/// `g` straight from the rows, of which a unit has few.
fn direct(select: &Select, policy: &Policy) -> Result<Groups> {
    let (mut scans, part) = private(select, policy)?;
    let Some(n) = part.rows.map(|n| n.max(1)) else {
        return refuse("rows are added up that no key shows to be few for each unit", select);
    };
    let (by, rest) = select.grouped();
    let keys = keys(by, &mut scans, &part)?;
    let groups = if part.settles(by) { Some(1) } else { Some(n) };
    Ok(Groups { keys, sums: sums(rest, &mut scans, Some(&part), Some(n))?, groups })
}

/// What comes back: all of the domain, or the groups that there are.
fn answer(g: &Groups, domain: Option<&Domain>) -> Result<String> {
    let keys = g.keys.len();
    let of = if domain.is_some() { "d.k" } else { "g.k" };
    let sum = |name: &String| match domain {
        Some(_) => format!(", COALESCE(g.{name}, 0) AS {name}"),
        None => format!(", g.{name}"),
    };
    let list = columns(of, keys) + &g.sums.iter().map(|s| sum(&s.name)).collect::<String>();
    let list = list.trim_start_matches(", ");
    let Some(domain) = domain else { return Ok(format!("SELECT {list} FROM g")) };
    let (on, order) = (domain.joins("g", &g.keys)?, (1..=keys).map(|i| i.to_string()).collect::<Vec<_>>());
    Ok(format!("SELECT {list} FROM d LEFT JOIN g ON {on} ORDER BY {}", order.join(", ")))
}
