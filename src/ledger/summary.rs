//! What the owner sees of the books, read beside a running server.

use super::account::Account;
use super::error::{LedgerError, decimal};
use super::schema::{check, connect, io};
use crate::dp::Cost;
use crate::policy::{Budget, Scope};
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// One budget and everyone who has drawn on it.
pub struct BudgetSummary {
    account: Account,
    /// The file knows it. A budget that is in the policy only counts past entries when the server next starts.
    recorded: bool,
    spent: BTreeMap<String, Cost>,
}

/// Every budget of the policy, with its sums. Opens the file for reading only, so a server may have it open.
pub fn summary(path: &Path, budgets: &[Budget]) -> Result<Vec<BudgetSummary>, LedgerError> {
    if !path.exists() {
        return Err(LedgerError::Missing(path.to_owned()));
    }
    let sql = |e: rusqlite::Error| io(path, e);
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(sql)?;
    check(path, &connection)?;
    // One snapshot for all budgets.
    connection.execute_batch("BEGIN").map_err(sql)?;
    let summaries = budgets.iter().map(|budget| {
        let account = Account::new(budget)?;
        let known: i64 = connection
            .query_row("SELECT count(*) FROM budgets WHERE name = ?", [&budget.name], |row| row.get(0))
            .map_err(sql)?;
        let spent = spent(&connection, &budget.name).map_err(sql)?;
        Ok(BudgetSummary { account, recorded: known > 0, spent })
    });
    summaries.collect()
}

fn spent(connection: &Connection, name: &str) -> rusqlite::Result<BTreeMap<String, Cost>> {
    let mut debits = connection.prepare_cached(
        "SELECT d.owner, d.loss, d.delta FROM debits d JOIN budgets b ON b.id = d.budget WHERE b.name = ?",
    )?;
    let mut rows = debits.query([name])?;
    let mut sums = BTreeMap::<String, Cost>::new();
    while let Some(row) = rows.next()? {
        // Only the server's own reading decides anything; here an unreadable amount counts as all there is.
        let text = |column: usize| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
        let cost = Cost::from_text(text(1)?, text(2)?);
        let all = Cost { loss: u128::MAX, delta: u128::MAX, ..Cost::default() };
        let sum = sums.entry(row.get(0)?).or_default();
        *sum = sum.saturating_add(cost.unwrap_or(all));
    }
    Ok(sums)
}

impl fmt::Display for BudgetSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (budget, filter) = (&self.account.budget, &self.account.filter);
        let per = match budget.scope {
            Scope::Dataset => "for everybody together".to_owned(),
            scope => format!("per {}", scope.word()),
        };
        write!(
            f,
            "{} ({}, {per}): epsilon = {}, delta = {}",
            budget.name,
            budget.accounting.word(),
            budget.epsilon,
            budget.delta
        )?;
        if !self.recorded {
            return write!(f, "\n  not in the ledger yet: added when the server next starts");
        }
        if self.spent.is_empty() {
            return write!(f, "\n  nothing spent");
        }
        for (owner, spent) in &self.spent {
            let owner = if owner.is_empty() { "everybody" } else { owner };
            let left = self.account.state(*spent).fraction_left() * 100.0;
            let (loss, limit) = filter.reading(*spent);
            write!(
                f,
                "\n  {owner}: {} = {} of {} spent, {left:.1} % left",
                filter.notion.symbol(),
                decimal(loss, true),
                decimal(limit, false)
            )?;
            if filter.limit.delta > 0 {
                let (spent, limit) = (decimal(spent.delta, true), decimal(filter.limit.delta, false));
                write!(f, "; δ of private groups = {spent} of {limit}")?;
            }
        }
        Ok(())
    }
}
