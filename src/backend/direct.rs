//! The login of passthrough roles: statements of owners, as they wrote them, in read-only transactions.
//!
//! It has a pool of its own and is no part of [`Backend`]: who holds a backend has no way to it.

use super::connect::ConnectError;
use super::connection::Pooled;
use super::error::RelayError;
use super::login::Login;
use super::options::{SameDatabase, common_options};
use super::param::Param;
use super::pool::{Backend, describe_by, pool, query_by};
use super::relay::Description;
use super::rows::Rows;
use super::settings::Settings;
use deadpool::managed::Pool;

const KEY: &str = "passthrough_url";

/// A database by the login that owners read it with.
pub struct Direct(Pool<Pooled>);

impl Direct {
    /// Connects the login, where the policy names one, to the database of `backend`.
    ///
    /// # Errors
    /// [`ConnectError`], with what to do.
    pub async fn connect(policy: &policy::Backend, backend: &Backend) -> Result<Option<Self>, ConnectError> {
        let Some(url) = &policy.passthrough_url else { return Ok(None) };
        let unusable = |cause| ConnectError::Url { key: KEY, cause };
        let url = policy::with_password(url, policy.password_file.as_deref()).map_err(unusable)?;
        let timeout = policy.statement_timeout;
        let login = Login::parse(&url, &common_options(timeout), timeout).map_err(unusable)?;
        let user = login.user.clone();
        let pool = pool(Pooled(login, SameDatabase::default()), policy.pool).map_err(unusable)?;
        let direct = Self(pool);
        let other = direct.database().await;
        let other = other.map_err(|e| ConnectError::Unreachable { key: KEY, user, cause: e.to_string() })?;
        let own = backend.finish_database().await.unwrap_or_default();
        match own == other {
            true => Ok(Some(direct)),
            false => Err(unusable(format!("it leads to database {other}, and finish_url to {own}"))),
        }
    }

    async fn database(&self) -> Result<String, RelayError> {
        let rows = self.query(&Settings::default(), super::connect::DATABASE, &[], &[]).await?;
        Ok(rows.into_texts().await?.into_iter().flatten().flatten().next().unwrap_or_default())
    }

    /// Prepares a statement and says what it needs and gives; see [`Backend::describe`].
    ///
    /// # Errors
    /// [`RelayError::Db`] with PostgreSQL's judgement; the others when it could not be asked.
    pub async fn describe(
        &self,
        settings: &Settings,
        sql: &str,
        parameter_types: &[u32],
    ) -> Result<Description, RelayError> {
        describe_by(&self.0, settings, sql, parameter_types).await
    }

    /// Runs a statement; see [`Backend::query`].
    ///
    /// # Errors
    /// As [`Self::describe`]; once rows flow, errors come in their stream.
    pub async fn query(
        &self,
        settings: &Settings,
        sql: &str,
        params: &[Param],
        formats: &[i16],
    ) -> Result<Rows, RelayError> {
        query_by(&self.0, settings, sql, params, formats).await
    }
}
