//! Items of the outermost SELECT as they are shown, which is not what rows are sorted and compared by: without digits that say
//! nothing, and without values that do.

use super::printer::Printer;
use super::rounded;
use super::shown::Shown;
use plan::Plan;
use sql::ast::Expr;
use std::collections::BTreeMap;

/// The items that are shown in another way than they are, by their places. `types`: those of the columns.
pub(super) fn of(plan: &Plan, types: &[u32]) -> BTreeMap<usize, Shown> {
    let mut all: BTreeMap<usize, Shown> = BTreeMap::new();
    for (i, ty) in rounded::of(plan, types) {
        all.entry(i).or_default().rounded = Some(ty);
    }
    for i in plan.unsure.iter().flat_map(|unsure| &unsure.judged) {
        all.entry(*i).or_default().judged = true;
    }
    all
}

impl Printer<'_> {
    pub(super) fn shown(&mut self, e: &Expr, shown: &Shown) {
        let nothing = if shown.judged { self.says_nothing(e) } else { None };
        if let Some(nothing) = &nothing {
            self.put(&format!("(CASE WHEN {nothing} THEN NULL ELSE "));
        }
        match &shown.rounded {
            Some(ty) => self.rounded(e, ty),
            None => self.expr(e),
        }
        if nothing.is_some() {
            self.put(" END)");
        }
    }
}
