//! Types of statements that were typed before.

use answer::Field;
use backend::Settings;

/// Statements remembered.
const CAPACITY: usize = 1_000;
/// Bytes of the longest that is.
const LONGEST: usize = 16 * 1024;

/// Row descriptions by session settings and printed text.
pub struct Cache(quick_cache::sync::Cache<(Settings, String), Vec<Field>>);

impl Default for Cache {
    fn default() -> Self {
        Self(quick_cache::sync::Cache::new(CAPACITY))
    }
}

impl Cache {
    pub fn get(&self, settings: &Settings, sql: &str) -> Option<Vec<Field>> {
        self.0.get(&(settings.clone(), sql.to_owned()))
    }

    pub fn keep(&self, settings: &Settings, sql: &str, fields: &[Field]) {
        if sql.len() <= LONGEST {
            self.0.insert((settings.clone(), sql.to_owned()), fields.to_vec());
        }
    }
}
