//! Units that have few rows, told from others by `h`: their rows need no group for each unit.
//!
//! `h` counts the rows of each unit, and `c`, which is grouped by the unit and the keys, has `h.u` as its unit, from
//! `LEFT JOIN h ON h.u = unit AND h.n > most`. Let R be the rows that `c` reads but for that join. Where `h` counts these very rows by
//! their unit, it has at most one row for each unit, so that the join neither adds rows to R nor takes any; `h.u` is the unit of a
//! row whose unit has more than `most` rows in R, and NULL, which is no unit's, for all others. So `c` without the join and with the
//! unit in the place of `h.u` is the stage that is proven elsewhere, and differs in one thing: rows of light units, which have at
//! most `most` rows in R, are grouped by the keys alone, under NULL.
//!
//! What one unit changes: whether it is light hangs on its own rows. A heavy one is alone in its groups, as ever. A light one adds to
//! the groups under NULL what its rows add, whatever others do: over all groups no more than `most` times what one row adds. It is
//! one or the other, so that the larger of both bounds is one.

use super::claim::Part;
use super::facts::{Scans, sides, uncast};
use super::types::NUMERIC;
use grammar::tree::*;
use grammar::{Result, ensure, refuse};

/// `c` as if each unit had groups of its own, and how many rows a light unit has at most.
pub(crate) fn apart(h: &Select, mut c: Select) -> Result<(Select, u64)> {
    let of = |column: &str| Expr::Column(("h".into(), column.into()));
    let ([(unit, _), _], Some(rows)) = (h.items.as_slice(), &h.from) else {
        return refuse("a count of rows that is not of each unit", h);
    };
    let items = [(unit.clone(), "u".to_owned()), (Expr::Call("count".into(), Vec::new()), "n".to_owned())];
    let counts = h.items == items && h.groups == 1 && !h.distinct;
    ensure(counts, "a count of rows that is not of each unit", h)?;
    let above = if let Some(Tree::Join(_, _, _, on)) = &c.from { on.last() } else { None };
    let number = above.and_then(|e| e.call(">")?.last()?.integer());
    let Some(most) = number.and_then(|n| u64::try_from(n).ok()) else {
        return refuse("rows without the join that tells light units", &c);
    };
    let heavy = Tree::Scan(Scan { name: "h".into(), columns: Vec::new(), of: Relation::Stage });
    let told = [("=", of("u"), unit.clone()), (">", of("n"), Expr::Number(most.to_string()))];
    let on = told.map(|(op, a, b)| Expr::Call(op.into(), vec![a, b])).to_vec();
    let joined = Tree::Join(Kind::Left, Box::new(rows.clone()), Box::new(heavy), on);
    let same = c.from.as_ref() == Some(&joined) && h.filter == c.filter && is_whole(h);
    ensure(same, "units whose rows are counted among others than those that are added up", &c)?;
    match c.items.first_mut() {
        Some((e, name)) if *e == of("u") && name == "u" => e.clone_from(unit),
        _ => return refuse("rows that are not grouped by the unit that may be NULL", &c),
    }
    c.from.clone_from(&h.from);
    Ok((c, most))
}

/// A tree says all that its text says, so that equal trees are equal rows: of windows it leaves out which way they are ordered, and
/// subqueries may hold some.
fn is_whole(select: &Select) -> bool {
    let plain = |e: &Expr| e.scans().is_some() && uncast(e).call("OVER").is_none();
    let (scans, on) = select.from.as_ref().map(|tree| sides(tree, |_| true)).unwrap_or_default();
    let whole = |side: &&Tree| match side {
        Tree::Scan(Scan { of: Relation::Set(Set::Select(select)), .. }) => is_whole(select),
        side => matches!(side, Tree::Scan(Scan { of: Relation::Table(..), .. })),
    };
    let all = select.items.iter().map(|(e, _)| e).chain(&select.filter);
    scans.iter().all(whole) && all.chain(on).all(plain)
}

/// `(CASE WHEN stage.u IS NULL THEN stage.column * times ELSE bounded END)::type`, where the column adds
/// up rows: the most that a unit of few rows changes it by, and the change by other units.
pub(crate) fn either<'e>(
    value: &'e Expr,
    stage: &str,
    most: u64,
    scans: &Scans<'_>,
) -> Option<(Part, &'e Expr)> {
    let Expr::Cast(inner, _) = value else { return None };
    let [light, whole, bounded] = inner.call("CASE")? else { return None };
    let [u] = light.call("IS NULL")? else { return None };
    (u.column()? == &(stage.to_owned(), "u".to_owned())).then_some(())?;
    let [whole, times] = whole.call("*")? else { return None };
    // A numeric holds every sum.
    let whole = if let Expr::Cast(x, NUMERIC) = whole { x } else { whole };
    let (row, rises) = scans.column(whole.column()?)?.row?;
    let each = row.checked_mul(most.into())?.checked_mul(u128::try_from(times.integer()?).ok()?)?;
    Some((Part::in_all(each).rising(rises), bounded))
}
