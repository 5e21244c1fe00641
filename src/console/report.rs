//! A report: the pages of a policy and a ledger as one file.

use crate::pages;
use crate::reading::Reading;
use crate::source::InForce;
use ledger::{Head, LedgerError};
use policy::LedgerLocation;

/// A report on a ledger.
pub struct Report {
    /// The file, as HTML.
    pub html: String,
    /// The end of the ledger.
    pub head: Head,
    /// Why nobody would serve from it, where that is so: a copy has no mark, say.
    pub mismatch: Option<String>,
}

impl Report {
    /// Reads and proves the ledger, and makes the file. Blocks.
    ///
    /// # Errors
    /// The ledger cannot be read, or is not whole.
    pub fn of(about: &str, in_force: &InForce, ledger: &LedgerLocation) -> Result<Self, LedgerError> {
        let reading = Reading::of(ledger)?;
        let html = pages::report(about, &reading, in_force).into_string();
        Ok(Self { html, head: reading.head, mismatch: reading.mismatch })
    }
}
