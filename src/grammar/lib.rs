//! The text of a fetch as a tree: a grammar of the few forms that are printed, and of listed names alone.
//!
//! It is written for the kernel, against PostgreSQL's manual and not against what prints: whatever PostgreSQL could read in
//! another way than it stands in the tree is refused. Nothing is proven here.

mod names;
pub mod parser;
mod tokens;
pub mod tree;

use std::fmt::{self, Debug, Write};

/// Why a text is not certified. For the operator: it may hold constants of the statement, and no rows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not certified: {reason}: {fragment}")]
pub struct Uncertified {
    /// The reason, in constant words.
    pub reason: &'static str,
    /// The piece of the text where it was found, shortened.
    pub fragment: String,
}

/// The reason of a text that is deeper than whoever walks its tree has stack for.
const TOO_DEEP: &str = "a text nested too deeply";

impl Uncertified {
    /// Whether the reason is nothing but how deep the text is nested: the author of the statement
    /// can write a flatter one.
    pub fn is_depth(&self) -> bool {
        self.reason == TOO_DEEP
    }
}

/// A tree, or the reason why there is none.
pub type Result<T> = std::result::Result<T, Uncertified>;

/// What of a text is shown.
const FRAGMENT: usize = 200;

/// Checks a condition; the reason, in constant words, is that for which a text is refused.
pub fn ensure(holds: bool, reason: &'static str, at: impl Debug) -> Result<()> {
    if holds { Ok(()) } else { refuse(reason, at) }
}

/// Not this, for a reason in constant words.
pub fn refuse<T>(reason: &'static str, at: impl Debug) -> Result<T> {
    let mut shown = Shown { text: String::new(), left: FRAGMENT };
    // The tree may be large: it is written as far as it is shown.
    let _ = write!(shown, "{at:?}");
    Err(Uncertified { reason, fragment: shown.text })
}

struct Shown {
    text: String,
    left: usize,
}

impl Write for Shown {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        for c in more.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(c);
        }
        Ok(())
    }
}
