//! Persons who give rows, where the policy tells them apart: a digest while a row waits, and
//! nothing once it is stored.

use crate::gateway::session::ask::Ask;
use answer::{ClientError, SqlState};
use persons::{ChargeError, Person, Secret, Spending, SpendingError, Window};
use policy::{CacheKey, Collect, Policy};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The files in which it is kept how much was said. A reload goes on with them: each is of one process, and open once.
#[derive(Default)]
pub(super) struct Files(Mutex<HashMap<PathBuf, Arc<Mutex<Spending>>>>);

/// A relation whose writers are told apart.
pub struct ToldApart {
    collect: Collect,
    secret: Secret,
    spending: Option<Arc<Mutex<Spending>>>,
}

/// The key of each relation whose writers are told apart.
///
/// # Errors
/// What is wrong with a key's file, for the owner.
pub fn secrets(policy: &Policy) -> Result<Vec<Secret>, String> {
    let of = policy.collects.iter().filter_map(|c| c.person.as_ref().map(|p| (c, p)));
    of.map(|(c, p)| {
        let key = CacheKey::File(p.key_file.clone()).read();
        key.map(Secret::new).map_err(|e| format!("[collect.{}]: {e}", c.name))
    })
    .collect()
}

impl Files {
    /// Opens what a policy needs; `secrets` are those of [`secrets`].
    pub(super) fn open(&self, policy: &Policy, secrets: Vec<Secret>) -> Result<Vec<Arc<ToldApart>>, String> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = Vec::new();
        let of = policy.collects.iter().filter_map(|c| c.person.as_ref().map(|p| (c, p)));
        for ((collect, person), secret) in of.zip(secrets) {
            let spending = match &person.limit {
                None => None,
                Some(limit) => Some(match files.get(limit.file.reveal()) {
                    // Under another key everybody would be somebody new.
                    Some(file) if !file.lock().unwrap_or_else(PoisonError::into_inner).is_under(&secret) => {
                        let other = SpendingError::Key(limit.file.to_string());
                        return Err(format!("[collect.{}]: {other}", collect.name));
                    }
                    Some(file) => file.clone(),
                    None => {
                        let opened =
                            Spending::open(limit.file.reveal(), &limit.file.to_string(), secret.clone());
                        let opened = opened.map_err(|e| format!("[collect.{}]: {e}", collect.name))?;
                        let opened = Arc::new(Mutex::new(opened));
                        files.insert(limit.file.reveal().clone(), opened.clone());
                        opened
                    }
                }),
            };
            all.push(Arc::new(ToldApart { collect: collect.clone(), secret, spending }));
        }
        Ok(all)
    }
}

impl Ask<'_> {
    /// The key by which the writers of a relation are told apart.
    pub(super) fn secret(&self, collect: &Collect) -> Option<Secret> {
        self.told_apart(collect).map(|t| t.secret.clone())
    }

    fn told_apart(&self, collect: &Collect) -> Option<&Arc<ToldApart>> {
        self.gateway.told_apart.iter().find(|t| t.collect == *collect)
    }

    /// Charges a report to each person, in the order of their rows, before any of them is stored: to all, or to none.
    ///
    /// Guarantee: `epsilon` of the policy for all that one person says in a window, in the local sense, in this relation.
    pub(super) async fn charge(&self, collect: &Collect, persons: Vec<Person>) -> Result<(), ClientError> {
        let Some(limit) = collect.person.as_ref().and_then(|p| p.limit.as_ref()) else { return Ok(()) };
        let internal = |cause: &dyn std::fmt::Display| {
            let message = "it cannot be kept who has said how much; nothing was stored";
            ClientError::incident(SqlState::INTERNAL, message, cause)
        };
        let Some(spending) = self.told_apart(collect).and_then(|t| t.spending.clone()) else {
            return Err(internal(&"the file is not open"));
        };
        let window = Window { length: limit.window, most: limit.rows };
        let charged = tokio::task::spawn_blocking(move || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            // What a panic left is whole: its transaction was rolled back.
            spending.lock().unwrap_or_else(PoisonError::into_inner).charge(window, now, &persons)
        });
        match charged.await.map_err(|e| internal(&e))? {
            Ok(()) => Ok(()),
            Err(ChargeError::Exceeded(at)) => {
                let message = format!(
                    "row {} is of a person who has said as much as \"{}\" takes of one in a window",
                    at + 1,
                    collect.name
                );
                let hint = format!(
                    "Nothing was stored. A person gives {} rows in {} s, which is an epsilon of {}: leave the row out until the next window.",
                    limit.rows, limit.window, limit.epsilon
                );
                Err(ClientError::new(SqlState::BUDGET_EXCEEDED, message).hint(hint))
            }
            Err(e) => Err(internal(&e)),
        }
    }
}
