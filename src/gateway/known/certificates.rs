//! Certificates of texts: no text over private rows runs without one (soundness rule 46).

use answer::{ClientError, SqlState};
use kernel::{Certified, certify};
use plan::Release;
use policy::Policy;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Proofs that are kept. A policy's own cache goes with its gateway when it is reloaded.
const KEPT: usize = 2_000;

/// Proofs under one policy.
#[derive(Default)]
pub struct Certificates(Mutex<HashMap<String, Arc<Certified>>>);

impl Certificates {
    /// The proof for the fetch of a release, which must not allow more than the release has noise for. `groups`: what
    /// bounds the groups of a unit matters (for a question to a stream it does not: each group is asked by itself).
    ///
    /// # Errors
    /// Before anything is charged: 54000, where the text is deeper than the kernel reads; an incident, where planner and kernel
    /// disagree.
    pub fn of(
        &self,
        release: &Release,
        sql: String,
        policy: &Policy,
        groups: bool,
    ) -> Result<Arc<Certified>, ClientError> {
        let disagree = |e: &dyn std::fmt::Display| {
            let m = "the statement was not certified, and so it was not run";
            ClientError::incident(SqlState::INTERNAL, m, e)
        };
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&sql).cloned();
        let certified = match known {
            Some(certified) => certified,
            None => {
                let certified = certify(&sql, policy).map_err(|e| match e.is_depth() {
                    true => sql::parse::nested(&policy.limits),
                    false => disagree(&e),
                });
                let certified = Arc::new(certified?);
                let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                if all.len() >= KEPT {
                    all.clear();
                }
                all.insert(sql, certified.clone());
                certified
            }
        };
        let same_keys = certified.keys == release.keys.len();
        if !same_keys || !price::covers(&price::Proof::from(&*certified), &release.spec, groups) {
            let proven = format!(
                "proven are l0 = {} and {:?}, planned {:?}: {}",
                certified.l0,
                certified.parts,
                release.spec,
                certified.text()
            );
            return Err(disagree(&proven));
        }
        Ok(certified)
    }
}
