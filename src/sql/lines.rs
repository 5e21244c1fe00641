//! Positions in the text of a message.

use super::place::Place;
use sqlparser::tokenizer::Location;

/// Turns a line and a column into a character position in the message.
#[derive(Clone, Debug)]
pub struct Lines(std::sync::Arc<Vec<usize>>, usize);

impl Lines {
    pub(super) fn of(sql: &str) -> Self {
        let mut starts = vec![0];
        let mut length = 0;
        for (i, c) in sql.chars().enumerate() {
            length = i + 1;
            if c == '\n' {
                starts.push(i + 1);
            }
        }
        Self(starts.into(), length)
    }

    /// Of a text that the analyst did not write: nothing has a position.
    pub fn elsewhere() -> Self {
        Self(Vec::new().into(), 0)
    }

    /// The position behind the last character.
    pub(super) fn end(&self) -> usize {
        self.1 + 1
    }

    /// The position (characters, from 1) of a location; None for the empty location.
    pub fn position(&self, at: Location) -> Option<usize> {
        let line = usize::try_from(at.line).ok()?.checked_sub(1)?;
        Some(self.0.get(line)? + usize::try_from(at.column).ok()?)
    }

    /// The position where a node starts.
    pub fn start(&self, node: &impl Place) -> Option<usize> {
        self.position(node.location())
    }
}
