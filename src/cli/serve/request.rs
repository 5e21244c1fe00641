//! Messages over the control socket.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// To read the policy again.
    Reload {
        /// The policy that is meant: it must be the one that is served.
        policy: PathBuf,
        /// Only to say what would come of it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        check: bool,
    },
    /// To end all kept answers.
    Refresh {
        /// The policy that is meant.
        policy: PathBuf,
        /// Author of the request.
        author: String,
        /// Why.
        reason: String,
    },
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The new policy is in force.
    Reloaded {
        /// Keys that changed with it.
        changed: Vec<String>,
        /// Keys that changed and need a restart.
        restart: Vec<String>,
        /// Warnings: allowed, but probably not meant.
        warnings: Vec<String>,
    },
    /// Kept answers have ended.
    Refreshed,
    /// The old one stays in force, and why.
    Refused(String),
}
