//! Questions to the books, and their outcomes.

use crate::account::BudgetState;
use crate::place::ReadPlace;
use crate::reads::ReadTerms;
use answer::Identity;
use dp::Charge;
use price::Proven;

/// A question: a charge that somebody asks for.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// User who asks.
    pub who: &'a Identity,
    /// Hash of what is asked.
    pub statement: [u8; 32],
    /// Charge, as it follows from what was proven.
    pub charge: &'a Proven,
    /// Tables of the policy that it reads; None counts as all.
    pub tables: Option<&'a [usize]>,
    /// Key under which its release will be kept, if it will be.
    pub release: Option<[u8; 32]>,
    /// On what terms the private rows are read that it pays for; None where nothing is read.
    pub read: Option<ReadTerms>,
    /// The stream that it opens.
    pub stream: Option<Opens<'a>>,
    /// Text for the entry, where the policy wants it.
    pub text: Option<&'a str>,
}

impl<'a> Question<'a> {
    /// A question that is kept nowhere, and may read any table.
    pub fn new(who: &'a Identity, statement: [u8; 32], charge: &'a Proven) -> Self {
        Self { who, statement, charge, tables: None, release: None, read: None, stream: None, text: None }
    }
}

/// A stream that a question opens.
#[derive(Clone, Copy, Debug)]
pub struct Opens<'a> {
    /// Name of the stream.
    pub name: &'a str,
    /// The latest entry by which the user opened it, as far as the asker knows; None where there is none. If there is a
    /// later one, somebody else has paid, and this is refused: nobody pays twice for one opening.
    pub after: Option<i64>,
}

/// A stream that was opened.
#[derive(Clone, Copy, Debug)]
pub struct Opened<'a> {
    /// Whose.
    pub user: &'a str,
    /// Name of the stream.
    pub stream: &'a str,
    /// The entry that paid for it.
    pub entry: i64,
}

/// Outcome of a question.
pub enum Payment {
    /// The charge is debited.
    Paid(Receipt),
    /// Somebody stored its release meanwhile: nothing was charged.
    Kept(Vec<u8>),
    /// Somebody else has paid for its release and not stored it yet: nothing was charged. Ask again in a while.
    Wait,
    /// As many reads of this user are under way as may still fail: nothing was charged. When to ask
    /// again, [`place_or_change`](crate::Ledger::place_or_change) says.
    Full,
}

/// Proof that a charge was paid, and to be spent on the one release it was paid for.
///
/// There is no way to one but [`pay`](crate::Ledger::pay) and [`debit`](crate::Ledger::debit), and no
/// way to two from one.
pub struct Receipt {
    pub(crate) charge: Charge,
    pub(crate) entry: i64,
    pub(crate) budgets: Vec<BudgetState>,
    pub(crate) read: Option<ReadPlace>,
    /// Noise that selects private groups was drawn for it.
    pub(crate) selected: bool,
}

impl Receipt {
    /// The charge that was paid.
    pub fn charge(&self) -> &Charge {
        &self.charge
    }

    /// The number of the ledger's entry.
    pub fn entry(&self) -> i64 {
        self.entry
    }

    /// Whether this is the first time that noise is drawn for it that selects private groups, as their rows come.
    pub fn begin_selection(&mut self) -> bool {
        !std::mem::replace(&mut self.selected, true)
    }

    /// Noise that selects private groups was drawn for it.
    pub fn has_selected(&self) -> bool {
        self.selected
    }

    /// The place of the read that it pays for, where there is one; once.
    pub fn take_read(&mut self) -> Option<ReadPlace> {
        self.read.take()
    }

    /// Every budget that was debited, after the debit.
    pub fn budgets(&self) -> &[BudgetState] {
        &self.budgets
    }
}
