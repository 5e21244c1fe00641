//! Advice on a policy: what is allowed, and probably not meant.

use super::error::Findings;
use super::model::{Privacy, Table};
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
    let undecided = f.comments_with("TODO");
    if let Some(first) = undecided.first() {
        let what = match undecided.len() {
            1 => "a line is marked TODO".to_owned(),
            n => format!("{n} lines are marked TODO, from here on"),
        };
        f.warn(first, what, "somebody who knows the data decides it, and removes the mark");
    }
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
        f.warn(
            &written.name.span,
            format!("nobody can ask for a sum or an average of {shown}{more} in {:?}", table.name),
            "where one is meant, say what everybody may know of the values: range = [low, high] (and grid for floats)",
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
