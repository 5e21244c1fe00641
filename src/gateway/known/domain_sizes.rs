//! Sizes of public tables and domains, believed for a minute.

use answer::{ClientError, SqlState};
use backend::{Backend, RelayError};
use emit::print;
use plan::{Size, Sizes};
use policy::Policy;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time for which a size is believed.
const LIFETIME: Duration = Duration::from_secs(60);

/// Sizes, and when they were counted.
#[derive(Default)]
pub struct DomainSizes(Mutex<HashMap<Size, (usize, Instant)>>);

impl DomainSizes {
    /// The sizes that are still believed.
    pub fn known(&self) -> Sizes {
        let mut sizes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sizes.retain(|_, (_, at)| at.elapsed() < LIFETIME);
        sizes.iter().map(|(k, (n, _))| (k.clone(), *n)).collect()
    }

    /// Measures public tables, by the login that reads public tables only.
    pub async fn measure(
        &self,
        backend: &Backend,
        policy: &Policy,
        sizes: Vec<Size>,
    ) -> Result<(), ClientError> {
        for size in sizes {
            self.measure_one(backend, policy, size).await?;
        }
        Ok(())
    }

    async fn measure_one(&self, backend: &Backend, policy: &Policy, size: Size) -> Result<(), ClientError> {
        let sql = print::size(policy, &size);
        let settings = backend::Settings::default();
        let rows = backend.query(&settings, &sql, &[], &[0]).await.map_err(RelayError::into_finish_error)?;
        let rows = rows.into_texts().await.map_err(RelayError::into_finish_error)?;
        let cell = rows.into_iter().flatten().flatten().next();
        let n = cell.and_then(|n| n.parse().ok()).ok_or_else(|| {
            ClientError::incident(
                SqlState::INTERNAL,
                "a public table could not be measured",
                &"no count came back",
            )
        })?;
        let mut sizes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sizes.insert(size, (n, Instant::now()));
        Ok(())
    }
}
