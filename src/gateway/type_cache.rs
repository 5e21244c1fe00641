//! Types of statements that were typed before.

use answer::Field;
use backend::Settings;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Statements remembered; when there are more, all are forgotten.
const CAPACITY: usize = 1_000;
/// Bytes of the longest that is.
const LONGEST: usize = 16 * 1024;

/// Row descriptions by session settings and printed text.
#[derive(Default)]
pub(super) struct Cache(Mutex<HashMap<(Settings, String), Vec<Field>>>);

impl Cache {
    pub(super) fn get(&self, settings: &Settings, sql: &str) -> Option<Vec<Field>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(settings.clone(), sql.to_owned())).cloned()
    }

    pub(super) fn keep(&self, settings: &Settings, sql: &str, fields: &[Field]) {
        if sql.len() > LONGEST {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= CAPACITY {
            known.clear();
        }
        known.insert((settings.clone(), sql.to_owned()), fields.to_vec());
    }
}
