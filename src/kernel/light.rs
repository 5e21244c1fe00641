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

use super::rows::{Scans, uncast};
use grammar::tree::*;
use grammar::{Result, ensure, refuse};

/// `c` as if each unit had groups of its own, and how many rows a light unit has at most.
pub(crate) fn apart(h: &Select, mut c: Select) -> Result<(Select, u64)> {
    let counts = Expr::Call("count".into(), Vec::new());
    let (unit, counted) = match h.items.as_slice() {
        [(unit, u), (count, n)] => (unit, u == "u" && n == "n" && *count == counts),
        _ => return refuse("a count of rows that is not of each unit", h),
    };
    ensure(counted && h.groups == 1 && !h.distinct, "a count of rows that is not of each unit", h)?;
    let Some(Tree::Join(Kind::Left, rows, right, on)) = &c.from else {
        return refuse("rows without the join that tells light units", &c);
    };
    let heavy = matches!(&**right, Tree::Scan(s) if s.of == Relation::Stage && s.name == "h");
    ensure(heavy, "rows without the join that tells light units", right)?;
    let most = match on.as_slice() {
        [same, above] if same.call("=") == Some(&[of("u"), unit.clone()][..]) => match above.call(">") {
            Some([count, most]) if *count == of("n") => most.integer().and_then(|n| u64::try_from(n).ok()),
            _ => None,
        },
        _ => None,
    };
    let Some(most) = most else {
        return refuse("a join that tells light units by something else than the unit and a number", on);
    };
    let same = h.from.as_ref() == Some(&**rows) && h.filter == c.filter && is_whole(h);
    ensure(same, "units whose rows are counted among others than those that are added up", h)?;
    let from = (**rows).clone();
    match c.items.first_mut() {
        Some((e, name)) if *e == of("u") && name == "u" => e.clone_from(unit),
        _ => return refuse("rows that are not grouped by the unit that may be NULL", &c),
    }
    c.from = Some(from);
    Ok((c, most))
}

fn of(column: &str) -> Expr {
    Expr::Column(("h".into(), column.into()))
}

/// A tree says all that its text says, so that equal trees are equal rows: of windows it leaves out which way they are ordered, and
/// subqueries may hold some.
fn is_whole(select: &Select) -> bool {
    let plain = |e: &Expr| e.scans().is_some() && uncast(e).call("OVER").is_none();
    let from = select.from.as_ref().is_none_or(is_whole_tree);
    from && select.items.iter().all(|(e, _)| plain(e)) && select.filter.iter().all(plain)
}

fn is_whole_tree(tree: &Tree) -> bool {
    match tree {
        Tree::Scan(scan) => match &scan.of {
            Relation::Table(..) => true,
            Relation::Set(Set::Select(select)) => is_whole(select),
            _ => false,
        },
        Tree::Join(_, left, right, on) => {
            is_whole_tree(left) && is_whole_tree(right) && on.iter().all(|e| e.scans().is_some())
        }
    }
}

/// `(CASE WHEN stage.u IS NULL THEN stage.column ELSE bounded END)::type`, where the column adds up rows: how much one row changes
/// it, and what is said of a unit.
pub(crate) fn either<'e>(
    value: &'e Expr,
    stage: &str,
    scans: &Scans<'_>,
) -> Option<((u128, bool), &'e Expr)> {
    let Expr::Cast(inner, _) = value else { return None };
    let [light, whole, bounded] = inner.call("CASE")? else { return None };
    let [u] = light.call("IS NULL")? else { return None };
    (u.column()? == &(stage.to_owned(), "u".to_owned())).then_some(())?;
    Some((scans.column(whole.column()?)?.row?, bounded))
}
