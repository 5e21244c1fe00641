//! Health: whether statements can be answered at this moment.

use crate::gateway::Gateway;
use std::time::Duration;
use tokio::time::timeout;

/// The time that ledger and catalogs may take to answer.
const PATIENCE: Duration = Duration::from_secs(3);

impl Gateway {
    /// Why statements cannot be answered at this moment; nothing where they can. Words of ours alone: the log has the causes.
    pub async fn troubles(&self) -> Vec<&'static str> {
        let tables: Vec<usize> = (0..self.policy.tables.len()).collect();
        let (database, ledger, altered) = tokio::join!(
            self.backend.ping(),
            timeout(PATIENCE, self.ledger.probe()),
            timeout(PATIENCE, self.fingerprints.change(&self.backend, &self.policy, &tables)),
        );
        let mut troubles = Vec::new();
        if let Err(cause) = database {
            tracing::warn!(%cause, "not ready: the database does not answer");
            troubles.push("the database does not answer");
        }
        match ledger {
            Ok(Ok(())) => {}
            Ok(Err(refusal)) => {
                tracing::warn!(cause = %refusal, "not ready: the ledger cannot be written");
                troubles.push("the ledger cannot be written");
            }
            Err(_) => troubles.push("the ledger does not answer"),
        }
        if let Ok(Some(change)) = altered {
            tracing::warn!(cause = %change, "not ready: the policy does not fit the database");
            troubles.push("tables were altered since the policy was checked; reload it");
        }
        troubles
    }
}
