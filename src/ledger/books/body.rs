//! Entries as they are written: canonical JSON, of a version, with nothing in it that is not declared here.
//!
//! Integers that may not fit 53 bits are text. What is read must be written again to the same bytes, so that a hash is of
//! a meaning and not of a spelling.

use super::Wrong;
use crate::ledger::entry::Charged;
use crate::policy::{Accounting, Budget, Declared, Scope, Window};
use bigdecimal::BigDecimal;
use serde::{Deserialize, Serialize};

/// The version of everything in this file.
pub(in crate::ledger) const VERSION: u32 = 1;

/// The largest number of microseconds that JSON readers hold exactly: a moment in 2255.
const LATEST: i64 = 1 << 53;

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::ledger) struct Entry {
    pub(in crate::ledger) v: u32,
    /// Microseconds since 1970; never less than in the entry before.
    pub(in crate::ledger) at: i64,
    pub(in crate::ledger) what: Body,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(in crate::ledger) enum Body {
    Opening(Opening),
    Policy(Accepted),
    Debit(Debit),
    Cached(Cached),
    Grant(Grant),
    Close(Close),
    Epoch(Epoch),
}

/// The first entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::ledger) struct Opening {
    /// Random: no two ledgers have the same.
    pub(in crate::ledger) id: String,
    pub(in crate::ledger) software: String,
}

/// A policy in force from here on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::ledger) struct Accepted {
    pub(in crate::ledger) terms: Terms,
    /// Somebody said that what this forgets may be forgotten.
    pub(in crate::ledger) forgets: bool,
    pub(in crate::ledger) author: String,
    pub(in crate::ledger) reason: String,
}

/// What of a policy the books depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::ledger) struct Terms {
    /// Hash of what changes the meaning of an answer; None when nobody has checked the policy against a database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::ledger) version: Option<String>,
    /// Table and column of who is protected.
    pub(in crate::ledger) unit: String,
    /// By name; empty when nobody has checked the policy against a database.
    pub(in crate::ledger) tables: Vec<TableTerms>,
    pub(in crate::ledger) budgets: Vec<BudgetTerms>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::ledger) struct TableTerms {
    pub(in crate::ledger) name: String,
    /// The unit column or path; "public".
    pub(in crate::ledger) rows: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::ledger) struct BudgetTerms {
    pub(in crate::ledger) name: String,
    pub(in crate::ledger) per: String,
    pub(in crate::ledger) tables: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::ledger) window: Option<String>,
    pub(in crate::ledger) accounting: String,
    pub(in crate::ledger) epsilon: String,
    pub(in crate::ledger) delta: String,
    pub(in crate::ledger) selection_delta: String,
    pub(in crate::ledger) mechanisms: Vec<DeclaredTerms>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::ledger) struct DeclaredTerms {
    /// Written as an event of one use.
    pub(in crate::ledger) noise: crate::ledger::entry::Record,
    pub(in crate::ledger) uses: u32,
}

/// A statement that was paid for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::ledger) struct Debit {
    pub(in crate::ledger) user: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::ledger) role: Option<String>,
    /// Hash of what is asked.
    pub(in crate::ledger) statement: String,
    /// Random: this asking of it.
    pub(in crate::ledger) id: String,
    /// Hash of the policy that it was planned under.
    pub(in crate::ledger) policy: String,
    /// Private tables that it reads, by name; None where nobody said which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::ledger) tables: Option<Vec<String>>,
    pub(in crate::ledger) charge: Charged,
    pub(in crate::ledger) paid: Vec<Paid>,
    /// Key under which the release will be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::ledger) release: Option<String>,
    /// The stream that this opens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::ledger) stream: Option<String>,
    /// What the database was sent, where the policy wants it written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::ledger) text: Option<String>,
}

/// A price in one budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::ledger) struct Paid {
    pub(in crate::ledger) budget: String,
    /// User or role; empty for everybody.
    pub(in crate::ledger) owner: String,
    /// Start of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::ledger) window: Option<i64>,
    pub(in crate::ledger) loss: String,
    pub(in crate::ledger) delta: String,
}

/// An answer that was given again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::ledger) struct Cached {
    pub(in crate::ledger) user: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::ledger) role: Option<String>,
    pub(in crate::ledger) statement: String,
    pub(in crate::ledger) release: String,
}

/// More of a budget, for one owner or for each, in the present window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::ledger) struct Grant {
    pub(in crate::ledger) budget: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::ledger) owner: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::ledger) window: Option<i64>,
    pub(in crate::ledger) epsilon: String,
    pub(in crate::ledger) delta: String,
    pub(in crate::ledger) selection_delta: String,
    pub(in crate::ledger) author: String,
    pub(in crate::ledger) reason: String,
}

/// An end for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::ledger) struct Close {
    pub(in crate::ledger) what: Closed,
    pub(in crate::ledger) author: String,
    pub(in crate::ledger) reason: String,
}

/// What has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(in crate::ledger) enum Closed {
    Budget(String),
    Stream(String),
}

/// The data are new: kept answers are not given any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::ledger) struct Epoch {
    pub(in crate::ledger) number: u64,
    pub(in crate::ledger) author: String,
    pub(in crate::ledger) reason: String,
}

impl Entry {
    pub(in crate::ledger) fn new(at: i64, what: Body) -> Self {
        Self { v: VERSION, at, what }
    }

    /// As it is written. None if it cannot be, which only a name that is no text could bring about.
    pub(in crate::ledger) fn write(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    /// As it was written, letter by letter.
    pub(in crate::ledger) fn read(id: i64, body: &str) -> Result<Self, Wrong> {
        let wrong = |why: String| Wrong { id, why };
        let entry: Self = serde_json::from_str(body).map_err(|e| wrong(format!("it cannot be read: {e}")))?;
        if entry.v != VERSION {
            return Err(wrong(format!("it is of version {}, this program reads {VERSION}", entry.v)));
        }
        if entry.write().as_deref() != Some(body) {
            return Err(wrong("it is not written as this program writes".into()));
        }
        if !entry.is_dated() {
            return Err(wrong(format!("its time is no time: {}", entry.at)));
        }
        Ok(entry)
    }

    /// Whether its time is one that JSON's readers hold exactly.
    pub(in crate::ledger) fn is_dated(&self) -> bool {
        (0..LATEST).contains(&self.at)
    }
}

impl BudgetTerms {
    pub(in crate::ledger) fn new(budget: &Budget) -> Self {
        let decimal = |d: &BigDecimal| d.normalized().to_string();
        let declared = |d: &Declared| DeclaredTerms {
            noise: crate::ledger::entry::record(&crate::dp::Event {
                mechanism: d.mechanism.clone(),
                times: 1,
            }),
            uses: d.uses,
        };
        Self {
            name: budget.name.clone(),
            per: budget.scope.word().into(),
            tables: budget.tables.clone(),
            window: budget.window.map(Window::word),
            accounting: budget.accounting.word().into(),
            epsilon: decimal(&budget.epsilon),
            delta: decimal(&budget.delta),
            selection_delta: decimal(&budget.selection_delta),
            mechanisms: budget.mechanisms.iter().map(declared).collect(),
        }
    }

    /// The budget. None if it is not what [`Self::new`] writes.
    pub(in crate::ledger) fn read(&self) -> Option<Budget> {
        let declared = |d: &DeclaredTerms| {
            let event = crate::ledger::entry::event(&d.noise)?;
            Some(Declared { mechanism: event.mechanism, uses: d.uses })
        };
        Some(Budget {
            name: self.name.clone(),
            scope: Scope::parse(&self.per)?,
            tables: self.tables.clone(),
            window: match &self.window {
                Some(word) => Some(Window::parse(word)?),
                None => None,
            },
            accounting: Accounting::parse(&self.accounting)?,
            epsilon: decimal(&self.epsilon)?,
            delta: decimal(&self.delta)?,
            selection_delta: decimal(&self.selection_delta)?,
            mechanisms: self.mechanisms.iter().map(declared).collect::<Option<_>>()?,
        })
    }
}

/// A decimal of bounded length.
pub(in crate::ledger) fn decimal(text: &str) -> Option<BigDecimal> {
    crate::policy::reader::decimal_text(text, 10)
}
