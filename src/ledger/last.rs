//! The latest entry of one user for one statement: what a restarted proxy can know of what it had in memory.

use super::store::Store;
use super::writer::Request;
use super::{Ledger, Refusal, entry};
use rusqlite::params;
use tokio::sync::oneshot;

impl Ledger {
    /// The number of the latest entry of this user for the statement with this hash; None where there is none.
    pub async fn last_entry(&self, user: &str, statement_hash: [u8; 32]) -> Result<Option<i64>, Refusal> {
        let (reply, answer) = oneshot::channel();
        let statement = entry::hex(&statement_hash);
        self.send(Request::Last { user: user.to_owned(), statement, reply }).await?;
        answer.await.map_err(|_| Refusal::Unavailable("the ledger's writer has stopped".into()))?
    }
}

impl Store {
    pub(super) fn last(&self, user: &str, statement: &str) -> rusqlite::Result<Option<i64>> {
        let sql = "SELECT max(id) FROM entries WHERE user = ? AND statement = ?";
        self.connection.query_row(sql, params![user, statement], |row| row.get(0))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::answer::Identity;
    use crate::dp::{Charge, Guarantee, Ratio};
    use crate::policy::{Accounting, Budget, Scope};

    #[tokio::test]
    async fn the_latest_entry_outlives_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("books.db");
        let budget = Budget {
            name: "everyone".into(),
            scope: Scope::Dataset,
            accounting: Accounting::Zcdp,
            epsilon: 10.into(),
            delta: "1e-6".parse().unwrap(),
            selection_delta: "5e-7".parse().unwrap(),
        };
        Ledger::create(&path, std::slice::from_ref(&budget)).unwrap();
        let (epsilon, delta) = (Ratio::new(1, 2), Ratio::new(1, 1_000_000_000));
        let rho = crate::dp::BigRatio::new(1u8.into(), 7u8.into());
        let guarantees = [
            Guarantee::Pure { epsilon },
            Guarantee::BoundedRange { epsilon },
            Guarantee::Approximate { epsilon, delta },
        ];
        let who = |user: &str| Identity { user: user.into(), role: None };
        let mut spent = Vec::new();
        let open = || Ledger::open(&path, std::slice::from_ref(&budget)).unwrap();
        {
            let ledger = open();
            assert_eq!(ledger.last_entry("ada", [1; 32]).await.unwrap(), None);
            for guarantee in &guarantees {
                let charge = Charge::guaranteed(guarantee).unwrap();
                ledger.debit(&who("ada"), [1; 32], &charge).await.unwrap();
            }
            // Guarantees without an epsilon are named by one that somebody chose.
            for guarantee in
                [Guarantee::Concentrated { rho: rho.clone() }, Guarantee::Gaussian { square: rho }]
            {
                let event =
                    crate::dp::Event { mechanism: crate::dp::Mechanism::Guaranteed(guarantee), times: 2 };
                let charge = Charge { epsilon, events: vec![event], selection_delta: Ratio::from_integer(0) };
                let encoded = entry::encode(&charge.events);
                assert_eq!(entry::decode("1/2", "0", &encoded).unwrap(), charge);
                let paid = ledger.debit(&who("bob"), [1; 32], &charge).await.unwrap();
                spent.push(paid.budgets().first().unwrap().spent);
            }
            assert_eq!(ledger.last_entry("ada", [1; 32]).await.unwrap(), Some(3));
            assert_eq!(ledger.last_entry("bob", [1; 32]).await.unwrap(), Some(5));
            assert_eq!(ledger.last_entry("ada", [2; 32]).await.unwrap(), None);
        }
        // Read back, the same events have the same sums.
        let ledger = open();
        assert_eq!(ledger.last_entry("ada", [1; 32]).await.unwrap(), Some(3));
        let states = ledger.remaining(&who("ada")).await.unwrap();
        assert_eq!(Some(&states.first().unwrap().spent), spent.last());
        assert!(states.first().unwrap().spent.delta > 0);
    }
}
