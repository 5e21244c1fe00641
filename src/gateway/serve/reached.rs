//! Reach of a policy: the private tables of a database that it answers from. Books are of the data,
//! and two policies that answer from the same private rows answer from the same books (soundness
//! rule 52).

use backend::{Reader, introspect};
use policy::{GivenFile, LedgerLocation, Policy, Privacy};
use std::collections::BTreeMap;

/// The relations behind a policy's tables, of one database.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    /// The server, and the database on it.
    pub data: String,
    /// By OID: the name of the private table of the policy that shows its rows.
    private: BTreeMap<u32, String>,
    /// Of those that public tables show.
    public: BTreeMap<u32, String>,
}

impl Reached {
    /// Asks the database.
    pub(in crate::gateway) async fn of(data: &str, policy: &Policy, reader: &Reader) -> Result<Self, String> {
        let oids: Vec<u32> = policy.tables.iter().map(|t| t.oid).collect();
        let behind = introspect::behind(reader, &oids).await.map_err(|e| e.to_string())?;
        let mut reached = Self { data: data.to_owned(), ..Self::default() };
        for (by, oid) in behind {
            let Some(table) = policy.tables.iter().find(|t| t.oid == by) else { continue };
            // The owner says of a published view that what it shows of private rows may be known.
            if table.privacy != Privacy::Public {
                reached.private.insert(oid, table.name.clone());
            } else if !table.published {
                reached.public.insert(oid, table.name.clone());
            }
        }
        Ok(reached)
    }

    /// Why two policies cannot be served side by side, and what to write; None where they can. The first is called `name`.
    pub fn clash(&self, policy: &Policy, name: &str, other: &Self, others: &Policy) -> Option<String> {
        let one_ledger = same_books(&policy.ledger, &others.ledger);
        if self.data != other.data {
            return one_ledger.then(|| {
                format!(
                    "its ledger is {name}'s, too, and its data are not; give each policy books of its own"
                )
            });
        }
        let mixed = common(&self.private, &other.public).or_else(|| common(&self.public, &other.private));
        if let Some((ours, theirs)) = mixed {
            return Some(format!(
                "rows of {theirs} are those of {ours} in {name}, and they are public in one of the two: what is answered there is \
                 exact and in no budget; leave the table out of one, or make it private in both"
            ));
        }
        let shared = common(&self.private, &other.private);
        match (&shared, one_ledger) {
            (None, false) => return None,
            (Some((ours, theirs)), false) => {
                return Some(format!(
                    "rows of {theirs} are those of {ours} in {name}, and what is answered from either adds up: both need the same \
                     books; write [ledger] and every [[budget]] as in {name}, or leave the table out of one"
                ));
            }
            (_, true) => {}
        }
        let (unit, others_unit) = (policy.unit_name(), others.unit_name());
        if unit != others_unit {
            return Some(format!(
                "its ledger is {name}'s, too, and protects {unit}, not {others_unit}: one ledger has one privacy.unit; write the \
                 same, or leave what both reach out of one and give each books of its own"
            ));
        }
        (policy.budgets != others.budgets).then(|| {
            format!("its ledger is {name}'s, too: one ledger has one list of budgets; write every [[budget]] as in {name}")
        })
    }
}

/// The names in both of a relation that both reach.
fn common<'a>(
    ours: &'a BTreeMap<u32, String>,
    theirs: &'a BTreeMap<u32, String>,
) -> Option<(&'a str, &'a str)> {
    ours.iter().find_map(|(oid, name)| Some((name.as_str(), theirs.get(oid)?.as_str())))
}

/// Whether two policies name one ledger.
pub fn same_books(a: &LedgerLocation, b: &LedgerLocation) -> bool {
    match (a, b) {
        (LedgerLocation::Sqlite(a), LedgerLocation::Sqlite(b)) => {
            let place = |p: &GivenFile| std::fs::canonicalize(p).unwrap_or_else(|_| p.reveal().clone());
            place(a) == place(b)
        }
        (LedgerLocation::Postgres(a), LedgerLocation::Postgres(b)) => {
            a.url.reveal() == b.url.reveal() && a.schema == b.schema
        }
        _ => false,
    }
}
