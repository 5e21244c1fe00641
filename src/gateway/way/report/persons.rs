//! Persons who give rows, where the policy tells them apart: a digest while a row waits, and
//! nothing once it is stored.

use crate::gateway::session::ask::Ask;
use answer::{ClientError, SqlState};
use persons::{ChargeError, Person, Secret, Spending, SpendingError, Window};
use policy::{CacheKey, Collect, GivenFile, Limit, Policy};
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
            if let (Some(spending), Some(limit)) = (&spending, &person.limit) {
                let spending = spending.lock().unwrap_or_else(PoisonError::into_inner);
                spending.admits(&collect.name, window(limit)).map_err(|e| unsigned(&collect.name, &e))?;
            }
            all.push(Arc::new(ToldApart { collect: collect.clone(), secret, spending }));
        }
        Ok(all)
    }
}

/// The window of a limit.
fn window(limit: &Limit) -> Window {
    Window { length: limit.window, most: limit.rows }
}

/// Why a policy is not served: it lets persons say more than its owner has signed, or in other windows.
fn unsigned(relation: &str, error: &ChargeError) -> String {
    match error {
        ChargeError::Unsigned => format!(
            "[collect.{relation}]: epsilon and window are not those that its owner has signed. A relation that is new is added by \
             `noisegate collect create --policy FILE`; one that changed, so that persons may say more or in other windows, needs a reason: \
             `noisegate collect accept --policy FILE --reason \"why\"`"
        ),
        other => format!("[collect.{relation}]: {other}"),
    }
}

/// A file, and the relations that it is about.
struct Book<'a> {
    file: &'a GivenFile,
    secret: Secret,
    relations: Vec<(&'a str, Window)>,
}

/// What an owner does with the files of a policy: makes what was never there, or, with a signature, goes on from what is lost and
/// brings changed limits into force. In words.
///
/// # Errors
/// What is wrong with a key or a file, for the owner.
pub fn signed(
    collects: &[&Collect],
    accept: bool,
    by: persons::Signature<'_>,
) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut files: Vec<Book<'_>> = Vec::new();
    for c in collects {
        let Some((person, limit)) = c.person.as_ref().and_then(|p| Some((p, p.limit.as_ref()?))) else {
            continue;
        };
        let relation = (c.name.as_str(), window(limit));
        match files.iter_mut().find(|book| *book.file == limit.file) {
            Some(book) => book.relations.push(relation),
            None => {
                let key = CacheKey::File(person.key_file.clone()).read();
                let key = key.map_err(|e| format!("[collect.{}]: {e}", c.name))?;
                files.push(Book { file: &limit.file, secret: Secret::new(key), relations: vec![relation] });
            }
        }
    }
    let mut said = Vec::new();
    for Book { file, secret, relations } in files {
        let (path, named) = (file.reveal(), file.to_string());
        let mut owner = match (accept, path.exists()) {
            (true, _) => persons::Owner::restore(path, &named, secret),
            (false, true) => persons::Owner::open(path, &named, secret),
            (false, false) => persons::Owner::create(path, &named, secret),
        }?;
        said.extend(owner.sign(&relations, !accept, by)?);
    }
    Ok(said)
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
        let (window, relation) = (window(limit), collect.name.clone());
        let charged = tokio::task::spawn_blocking(move || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            // What a panic left is whole: its transaction was rolled back.
            spending.lock().unwrap_or_else(PoisonError::into_inner).charge(&relation, window, now, &persons)
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
            Err(ChargeError::Lost) => {
                let message = format!("\"{}\" takes no row of anybody until its window ends", collect.name);
                let hint = "Nothing was stored. What persons have said in this window was lost, and counts as all that they may say: write again in the next window.";
                Err(ClientError::new(SqlState::BUDGET_EXCEEDED, message).hint(hint))
            }
            Err(e) => Err(internal(&e)),
        }
    }
}
