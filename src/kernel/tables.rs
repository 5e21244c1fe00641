//! Which tables a text reads, wherever in it.

use super::rows::table_of;
use grammar::Result;
use grammar::tree::*;
use policy::Policy;
use std::collections::BTreeSet;

/// Adds those of a stage.
pub(crate) fn of_select(select: &Select, policy: &Policy, out: &mut BTreeSet<usize>) -> Result<()> {
    select.from.iter().try_for_each(|tree| of_tree(tree, policy, out))?;
    let all = select.items.iter().map(|(e, _)| e).chain(&select.filter);
    all.into_iter().try_for_each(|e| of_expr(e, policy, out))
}

fn of_tree(tree: &Tree, policy: &Policy, out: &mut BTreeSet<usize>) -> Result<()> {
    match tree {
        Tree::Scan(scan) => match &scan.of {
            Relation::Table(..) => {
                out.insert(table_of(&scan.of, &scan.columns, policy)?);
                Ok(())
            }
            Relation::Set(set) => of_set(set, policy, out),
            Relation::Series(ends) => ends.iter().try_for_each(|e| of_expr(e, policy, out)),
            Relation::Stage => Ok(()),
        },
        Tree::Join(_, left, right, on) => {
            of_tree(left, policy, out)?;
            of_tree(right, policy, out)?;
            on.iter().try_for_each(|e| of_expr(e, policy, out))
        }
    }
}

fn of_set(set: &Set, policy: &Policy, out: &mut BTreeSet<usize>) -> Result<()> {
    match set {
        Set::Select(select) => of_select(select, policy, out),
        Set::Values(list) => list.iter().try_for_each(|e| of_expr(e, policy, out)),
        Set::Op(_, list) => list.iter().try_for_each(|s| of_set(s, policy, out)),
    }
}

fn of_expr(e: &Expr, policy: &Policy, out: &mut BTreeSet<usize>) -> Result<()> {
    match e {
        Expr::Cast(x, _) => of_expr(x, policy, out),
        Expr::Call(_, args) => args.iter().try_for_each(|e| of_expr(e, policy, out)),
        Expr::Rows(select) => of_select(select, policy, out),
        Expr::Column(_) | Expr::Number(_) | Expr::Text(_) | Expr::Bool(_) | Expr::Null => Ok(()),
    }
}
