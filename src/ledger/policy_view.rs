//! Terms of a policy that the books depend on: budgets, who is protected, and whose the rows of
//! each table are.

use super::account::Account;
use super::books::{self, Books, BudgetTerms, PUBLIC, TableTerms};
use super::error::LedgerError;
use policy::{Accounting, Budget, Policy, Privacy, Table};

/// The part of a policy that a ledger is kept under.
#[derive(Clone, Debug)]
pub struct Terms {
    budgets: Vec<Budget>,
    terms: books::Terms,
}

impl Terms {
    /// Of a policy that was checked against its database.
    pub fn of(policy: &Policy) -> Self {
        let rows = |t: &Table| match &t.privacy {
            Privacy::Public => PUBLIC.to_owned(),
            Privacy::Private { unit, .. } => format!("by {unit}"),
            Privacy::Path(path) => format!("by {}", path.text(policy)),
        };
        let mut terms = Self::unchecked(&policy.budgets, &policy.unit_name());
        terms.terms.version = Some(super::entry::hex(&policy.version));
        terms.terms.tables =
            policy.tables.iter().map(|t| TableTerms { name: t.name.clone(), rows: rows(t) }).collect();
        terms
    }

    /// Of a policy's text alone: its tables are compared when a server first serves it.
    pub fn unchecked(budgets: &[Budget], unit: &str) -> Self {
        let terms = books::Terms {
            version: None,
            data: None,
            unit: unit.to_owned(),
            tables: Vec::new(),
            budgets: budgets.iter().map(BudgetTerms::new).collect(),
        };
        Self { budgets: budgets.to_vec(), terms }
    }

    /// The same, of this database of this server: the books are of its rows.
    #[must_use]
    pub fn over(mut self, data: &str) -> Self {
        self.terms.data = Some(data.to_owned()).filter(|data| !data.is_empty());
        self
    }

    /// The budgets.
    pub fn budgets(&self) -> &[Budget] {
        &self.budgets
    }

    /// With the notion that the books hold for each budget whose owner named none: it was chosen when they were made, or when
    /// the budget was new. Where no server was asked, the data are those that the books are of.
    pub(super) fn settled(&self, books: &Books) -> Self {
        let mut settled = self.clone();
        let data = &mut settled.terms.data;
        *data = data.take().or_else(|| books.terms().and_then(|t| t.data.clone()));
        for (budget, terms) in settled.budgets.iter_mut().zip(&mut settled.terms.budgets) {
            let held = books.terms().and_then(|t| t.budgets.iter().find(|b| b.name == budget.name));
            let held = held.and_then(|b| Accounting::parse(&b.accounting));
            if let Some(held) = held.filter(|h| budget.choices.iter().any(|(choice, _)| choice == h)) {
                budget.accounting = held;
                *terms = BudgetTerms::new(budget);
            }
        }
        settled
    }

    /// As they are written.
    pub(super) fn for_the_books(&self) -> &books::Terms {
        &self.terms
    }

    /// Checks that each budget has a filter.
    pub(super) fn check(&self) -> Result<books::Terms, LedgerError> {
        for budget in &self.budgets {
            Account::new(budget)?;
        }
        Ok(self.terms.clone())
    }
}
