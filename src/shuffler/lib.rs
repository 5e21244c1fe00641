//! Between those who answer and who counts (Bittau et al., "Prochlo: Strong Privacy for Analytics in the Crowd", 2017).
//!
//! A [`Shuffler`] opens the outer layer of messages and puts what is inside into a [`Spool`], which is on disk before anything is
//! acknowledged. Reports that arrive twice count once; a group is held back until it is large enough, by a noisy threshold
//! ([`Rules`]); then who wrote is forgotten, and reports go out in batches, in an order that was drawn, each of which the
//! analyser may be given twice and knows by its id. No value is ever seen here: the inner layer is the analyser's, and there is
//! no key for it in this package.
//!
//! No clock and no network: moments are given by who calls.

mod deliver;
mod error;
mod rules;
mod spool;
mod writers;

pub use deliver::to_folder;
pub use error::{FormError, Full, SpoolError};
pub use rules::{Promise, Rules, Ruling};
pub use spool::{Accepted, Batch, Spool};
pub use writers::Writers;

use encode::{Collection, Message, OpenError, Opened, ShufflerKey};

/// The shuffler: opens the outer layer, of the collections that it knows.
pub struct Shuffler {
    key: ShufflerKey,
    collections: Vec<Collection>,
}

impl Shuffler {
    /// The holder of a key, for these collections.
    pub fn new(key: ShufflerKey, collections: Vec<Collection>) -> Self {
        Self { key, collections }
    }

    /// The collections.
    pub fn collections(&self) -> &[Collection] {
        &self.collections
    }

    /// Opens a message, of whichever collection it is.
    ///
    /// # Errors
    /// It is of none, or was not sealed to this key.
    pub fn open(&self, message: &Message) -> Result<(&Collection, Opened), OpenError> {
        let mut found = OpenError::Collection;
        for collection in &self.collections {
            match self.key.open(collection, message) {
                Ok(opened) => return Ok((collection, opened)),
                // A length is another collection's where there are several.
                Err(OpenError::Key) => found = OpenError::Key,
                Err(_) => {}
            }
        }
        Err(found)
    }

    /// Name of a writer: a digest under a secret that is derived from the key, so that a stolen
    /// spool names nobody.
    pub fn writer(&self, name: &str) -> [u8; 16] {
        writers::digest(&self.key.text(), name)
    }
}

#[cfg(test)]
mod tests;
