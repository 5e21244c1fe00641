//! Advice on a policy: what is allowed, and probably not meant.

use super::error::Findings;
use super::model::{Privacy, Table};
use super::path;
use super::raw::RawPolicy;
use schema::SqlType;

/// Columns that a warning names; of more it says how many.
const SHOWN: usize = 6;

/// Warns of what is left undone. `tables` are those of the policy, in its order.
pub(super) fn advise(raw: &RawPolicy, tables: &[Option<Table>], f: &mut Findings) {
    if raw.users.is_empty() && raw.server.auth_query.is_none() {
        f.warn_of_file(
            "nobody may log in: the policy names no user",
            "add the [[user]] that `noisegate passwd NAME` prints, or server.users_file, or server.auth_query",
        );
    }
    let undecided = f.comments_marked("TODO");
    if let Some(first) = undecided.first() {
        let what = match undecided.len() {
            1 => "a line is marked TODO".to_owned(),
            n => format!("{n} lines are marked TODO, from here on"),
        };
        f.warn(first, what, "somebody who knows the data decides it, and removes the mark");
    }
    single_rows(raw, tables, f);
    for (written, table) in raw.tables.iter().zip(tables) {
        let Some(table) = table.as_ref().filter(|t| t.privacy != Privacy::Public) else { continue };
        let unbounded = sums_without_range(table);
        if unbounded.is_empty() {
            continue;
        }
        let shown = unbounded.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
        let more = match unbounded.len().saturating_sub(SHOWN) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        f.note(
            &written.name.span,
            format!("nobody can ask for a sum or an average of {shown}{more} in {:?}", table.name),
            "where one is meant, say what everybody may know of the values: range = [low, high] (and grid for floats)",
        );
    }
}

/// Warns of bounds of one row where the schema does not prove that a unit has no more. With `cut_rows` the owner has
/// measured what that cuts; with a wider bound over all groups, one row in each of them is meant.
fn single_rows(raw: &RawPolicy, tables: &[Option<Table>], f: &mut Findings) {
    let mut proven: Vec<Table> = tables.iter().flatten().cloned().collect();
    if proven.len() != tables.len() {
        return;
    }
    path::multiply_proven_rows(&mut proven);
    for (written, table) in raw.tables.iter().zip(&proven) {
        let key = match (table.max_rows, table.max_total_rows) {
            (_, Some(1)) => "max_total_rows",
            (Some(1), None) => "max_rows",
            _ => continue,
        };
        if table.privacy == Privacy::Public || table.proven_rows == Some(1) || table.cut_rows.is_some() {
            continue;
        }
        f.warn(
            &written.name.span,
            format!(
                "{key} = 1 for {:?}, where no key proves that a unit has one row: all that a unit has counts as one row, and \
                 totals are too low",
                table.name
            ),
            "write how many rows a unit usually has (noisegate profile measures it); where it has one, a key on the \
             columns that lead to the unit proves that",
        );
    }
}

/// Visible numbers that name nothing and have no bounds.
fn sums_without_range(table: &Table) -> Vec<&str> {
    let path = match &table.privacy {
        Privacy::Path(path) => path.columns.as_slice(),
        _ => &[],
    };
    let names_something = |name: &str| {
        table.unit_column() == Some(name)
            || path.iter().any(|c| c == name)
            || table.keys.iter().any(|key| key.iter().any(|c| c == name))
    };
    let number = |ty: &SqlType| {
        matches!(
            ty,
            SqlType::Int2
                | SqlType::Int4
                | SqlType::Int8
                | SqlType::Float4
                | SqlType::Float8
                | SqlType::Numeric { .. }
        )
    };
    let columns = table.columns.iter();
    columns
        .filter(|c| number(&c.ty) && c.range.is_none() && c.domain.is_none() && !names_something(&c.name))
        .map(|c| c.name.as_str())
        .collect()
}
