//! Entries as they are written: canonical JSON, of a version, with nothing in it that is not declared here.
//!
//! Integers that may not fit 53 bits are text. What is read must be written again to the same bytes, so that a hash is of
//! a meaning and not of a spelling.

use crate::entry::Charged;
use crate::faults::Wrong;
use bigdecimal::BigDecimal;
use policy::{Accounting, Budget, Declared, Scope, Window};
use serde::{Deserialize, Serialize};

/// The version of everything in this file.
pub(crate) const VERSION: u32 = 1;

/// The largest number of microseconds that JSON readers hold exactly: a moment in 2255.
pub(super) const LATEST: i64 = 1 << 53;

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) v: u32,
    /// Microseconds since 1970; never less than in the entry before.
    pub(crate) at: i64,
    pub(crate) what: Body,
}

/// Contents of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Body {
    Opening(Opening),
    Policy(Accepted),
    Debit(Debit),
    Cached(Cached),
    Grant(Grant),
    Close(Close),
    Epoch(Epoch),
    Restore(Restore),
    Profile(Profile),
}

/// The first entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Opening {
    /// Random: no two ledgers have the same.
    pub(crate) id: String,
    pub(crate) software: String,
}

/// A policy in force from here on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Accepted {
    pub(crate) terms: Terms,
    /// Somebody said that what this forgets may be forgotten.
    pub(crate) forgets: bool,
    pub(crate) author: String,
    pub(crate) reason: String,
}

/// Terms of a policy that the books depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Terms {
    /// Hash of what changes the meaning of an answer; None when nobody has checked the policy against a database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    /// Server and database of the tables; None where no server was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<String>,
    /// Table and column of who is protected.
    pub(crate) unit: String,
    /// By name; empty when nobody has checked the policy against a database.
    pub(crate) tables: Vec<TableTerms>,
    pub(crate) budgets: Vec<BudgetTerms>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableTerms {
    pub(crate) name: String,
    /// The unit column or path; "public".
    pub(crate) rows: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BudgetTerms {
    pub(crate) name: String,
    pub(crate) per: String,
    pub(crate) tables: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) window: Option<String>,
    pub(crate) accounting: String,
    pub(crate) epsilon: String,
    pub(crate) delta: String,
    pub(crate) selection_delta: String,
    pub(crate) mechanisms: Vec<DeclaredTerms>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeclaredTerms {
    /// Written as an event of one use.
    pub(crate) noise: crate::entry::Record,
    pub(crate) uses: u32,
}

/// A statement that was paid for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Debit {
    pub(crate) user: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<String>,
    /// Hash of what is asked.
    pub(crate) statement: String,
    /// Random: this asking of it.
    pub(crate) id: String,
    /// Hash of the policy that it was planned under.
    pub(crate) policy: String,
    /// Private tables that it reads, by name; None where nobody said which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tables: Option<Vec<String>>,
    pub(crate) charge: Charged,
    /// The version of pricing that made the prices.
    #[serde(default = "first_pricing", skip_serializing_if = "is_first_pricing")]
    pub(crate) pricing: u32,
    pub(crate) paid: Vec<Paid>,
    /// Key under which the release will be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) release: Option<String>,
    /// The stream that this opens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stream: Option<String>,
    /// Text that the database was sent, where the policy wants it written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
}

/// The pricing of entries that say none.
const FIRST_PRICING: u32 = 1;

fn first_pricing() -> u32 {
    FIRST_PRICING
}

fn is_first_pricing(pricing: &u32) -> bool {
    *pricing == FIRST_PRICING
}

/// A price in one budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Paid {
    pub(crate) budget: String,
    /// User or role; empty for everybody.
    pub(crate) owner: String,
    /// Start of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) window: Option<i64>,
    pub(crate) loss: String,
    pub(crate) delta: String,
}

/// An answer that was given again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cached {
    pub(crate) user: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<String>,
    pub(crate) statement: String,
    pub(crate) release: String,
}

/// More of a budget, for one owner or for each, in the present window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Grant {
    pub(crate) budget: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) window: Option<i64>,
    pub(crate) epsilon: String,
    pub(crate) delta: String,
    pub(crate) selection_delta: String,
    pub(crate) author: String,
    pub(crate) reason: String,
}

/// An end for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Close {
    pub(crate) what: Closed,
    pub(crate) author: String,
    pub(crate) reason: String,
}

/// Things that have ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Closed {
    Budget(String),
    Stream(String),
}

/// Entries were lost, and the ledger goes on from those that are left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Restore {
    /// The last entry that was known to be there; None where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expected: Option<End>,
    /// The last one that was found: the one before this.
    pub(crate) found: End,
    /// Charge for all that was lost, in every budget, for each of its owners; None where it is
    /// unknown: then all that each has counts as spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) charge: Option<Charged>,
    pub(crate) author: String,
    pub(crate) reason: String,
}

/// End of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct End {
    pub(crate) id: i64,
    pub(crate) hash: String,
}

/// The data are new: kept answers are not given any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Epoch {
    pub(crate) number: u64,
    pub(crate) author: String,
    pub(crate) reason: String,
}

/// What was measured of a table's units. A later one of the same table replaces it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    pub(crate) profile: schema::Profile,
    /// Entries that paid for it.
    pub(crate) paid_by: Vec<i64>,
    pub(crate) author: String,
    pub(crate) reason: String,
}

impl Entry {
    pub(crate) fn new(at: i64, what: Body) -> Self {
        Self { v: VERSION, at, what }
    }

    /// As it is written. None if it cannot be, which only a name that is no text could bring about.
    pub(crate) fn write(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    /// As it was written, letter by letter.
    pub(crate) fn read(id: i64, body: &str) -> Result<Self, Wrong> {
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
    pub(crate) fn is_dated(&self) -> bool {
        (0..LATEST).contains(&self.at)
    }
}

impl BudgetTerms {
    pub(crate) fn new(budget: &Budget) -> Self {
        let decimal = |d: &BigDecimal| d.normalized().to_string();
        let declared = |d: &Declared| DeclaredTerms {
            noise: crate::entry::record(&dp::Event { mechanism: d.mechanism.clone(), times: 1 }),
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
    pub(crate) fn read(&self) -> Option<Budget> {
        let declared = |d: &DeclaredTerms| {
            let event = crate::entry::event(&d.noise)?;
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
            choices: Vec::new(),
        })
    }
}

/// A decimal of bounded length.
pub(crate) fn decimal(text: &str) -> Option<BigDecimal> {
    policy::decimal_text(text, 10)
}
