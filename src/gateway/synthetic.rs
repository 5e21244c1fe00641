//! Users of a synthetic role: their statements are planned and certified as everybody's, and answered from rows that are made
//! up from the policy. The finish login runs them, which reads no private row; nothing is charged, looked up or kept.

use super::execution::Step;
use super::pay::fetches;
use super::stages::Asked;
use super::{Gateway, Session};
use answer::{ClientError, Notice, SqlState};
use backend::{Param, RelayError};
use plan::Plan;
use policy::Mode;
use release::Noisy;
use release::synthetic::{Made, answer};

/// The seed of the order in which a unit's surplus groups are dropped: a secret elsewhere.
const SEED: i64 = 0;

impl Session {
    /// What users of this session's role are answered.
    pub(super) fn mode(&self, gateway: &Gateway) -> Mode {
        gateway.policy.mode(self.identity.role.as_deref())
    }

    /// A step's answers, put into their places.
    pub(super) async fn made_up(
        &self,
        of: &Asked<'_>,
        plan: &Plan,
        step: &Step<'_>,
        noisy: &mut [Noisy],
    ) -> Result<(), ClientError> {
        let gateway = of.gateway;
        for place in &step.places {
            let Some(release) = plan.releases.get(*place) else { continue };
            for text in fetches(gateway, &[(*place, release)], true, step.given)? {
                let sql = emit::synthetic::fetch(text.certified.text(), &gateway.policy);
                let mut params = text.params;
                if let Some(seed) = params.first_mut() {
                    *seed = Param::int8(SEED);
                }
                let rows = gateway
                    .backend
                    .serve(self.behalf(true), &self.settings.backend(), &sql, &params, &[1])
                    .await;
                let rows = rows.map_err(RelayError::into_finish_error)?;
                let types = rows.fields.iter().map(|f| f.type_oid).collect();
                let rows = rows.into_cells().await.map_err(RelayError::into_finish_error)?;
                let made = answer(Made { types, rows }, text.certified.keys(), &release.spec);
                if let Some(slot) = noisy.get_mut(*place) {
                    *slot = made.map_err(|e| e.client())?;
                }
            }
        }
        Ok(())
    }
}

/// What whoever reads the answer must know.
pub(super) fn notice() -> Notice {
    Notice::new(
        "synthetic rows: these numbers are made up from the policy and say nothing of anybody; nothing was spent",
    )
}

/// Streams have a state that is paid for.
pub(super) fn no_stream() -> ClientError {
    ClientError::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        "questions to a stream are not answered from synthetic rows",
    )
    .hint("RESET noisegate.stream, and ask for the number itself.")
}
