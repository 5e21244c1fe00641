//! Users of a synthetic role: their statements are planned and certified as everybody's, and answered from rows that are made
//! up from the policy. The finish login runs them, which reads no private row; nothing is charged, looked up or kept.

use super::pay::fetches;
use super::step::Step;
use crate::gateway::session::ask::Ask;
use crate::gateway::{ActiveGateway, Checked, Databases, Gateway, OpenError, Session};
use answer::{ClientError, Identity, Notice, Outcome, SqlState};
use backend::{Param, RelayError};
use emit::synthetic::Sizes;
use futures::TryStreamExt;
use ledger::{Ledger, Terms};
use plan::Plan;
use policy::{Cache, LedgerLocation, Mode, Role};
use release::Noisy;
use release::synthetic::{Made, answer};
use std::path::Path;

/// Name of the only user, and of its role, where all rows are made up.
const ROLE: &str = "synthetic";

/// The seed of the order in which a unit's surplus groups are dropped: a secret elsewhere.
const SEED: i64 = 0;

/// The texts of a statement.
#[derive(Debug, Default)]
pub struct Texts {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows, in text format.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Gateway {
    /// A gateway whose only role is answered from rows that are made up, as many as `sizes` says, and a session of it. Whatever
    /// is asked there is planned, certified and finished as everybody's statements are; no private row is read, and books of its
    /// own in `folder`, which is empty, stand where the policy's would.
    ///
    /// # Errors
    /// The books cannot be made, or what a start refuses is refused.
    pub fn of_synthetic_rows(
        mut checked: Checked,
        sizes: Sizes,
        folder: &Path,
    ) -> Result<Session, OpenError> {
        let policy = &mut checked.policy;
        policy.ledger = LedgerLocation::Sqlite(folder.join("ledger.db").into());
        policy.roles = vec![Role {
            name: ROLE.into(),
            mode: Mode::Synthetic,
            notices: false,
            intervals: false,
            null_unsure: None,
        }];
        policy.users.clear();
        policy.cache = Cache { enabled: false, ..Cache::default() };
        Ledger::create(&policy.ledger, &Terms::of(policy))?;
        let gateway = Self::open_with(checked, None, sizes)?;
        let active = ActiveGateway::new(gateway);
        let identity = Identity { user: ROLE.into(), role: Some(ROLE.into()) };
        Ok(Session::new(active.clone(), Databases::one(active), identity, String::new()))
    }
}

impl Ask<'_> {
    /// The mode of the session's role.
    pub fn mode(&self) -> Mode {
        let gateway = self.gateway;
        gateway.policy.mode(self.identity.role.as_deref())
    }

    /// A step's answers, put into their places.
    pub async fn made_up(
        &self,
        plan: &Plan,
        step: &Step<'_>,
        noisy: &mut [Noisy],
    ) -> Result<(), ClientError> {
        let gateway = self.gateway;
        for place in &step.places {
            let Some(release) = plan.releases.get(*place) else { continue };
            let without = step.left_out(plan, &[*place])?;
            for text in fetches(gateway, &[(*place, release)], true, step.given, &without)? {
                let sql = emit::synthetic::fetch(text.certified.text(), &gateway.policy, &gateway.made_up);
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
                let made = answer(Made { types, rows }, text.certified.keys, &release.spec);
                if let Some(slot) = noisy.get_mut(*place) {
                    *slot = made.map_err(|e| e.client())?;
                }
            }
        }
        Ok(())
    }
}

impl Session {
    /// The columns of a text's last statement, and its rows as text.
    ///
    /// # Errors
    /// What a client is told.
    pub async fn texts(&mut self, sql: &str) -> Result<Texts, ClientError> {
        let mut texts = Texts::default();
        for statement in self.parse(sql)? {
            if let Outcome::Rows { fields, rows, .. } = self.run(statement, &mut Vec::new()).await? {
                let rows: Vec<_> = rows.try_collect().await?;
                let rows = rows.iter().map(backend::texts).collect::<Result<_, _>>();
                let columns = fields.into_iter().map(|f| f.name).collect();
                texts = Texts { columns, rows: rows.map_err(RelayError::into_finish_error)? };
            }
        }
        Ok(texts)
    }
}

/// The notice that an answer is made up.
pub fn notice() -> Notice {
    Notice::new(
        "synthetic rows: these numbers are made up from the policy and say nothing of anybody; nothing was spent",
    )
}

/// Streams have a state that is paid for.
pub fn no_stream() -> ClientError {
    ClientError::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        "questions to a stream are not answered from synthetic rows",
    )
    .hint("RESET noisegate.stream, and ask for the number itself.")
}
