//! The login of passthrough roles: statements of owners, as they wrote them, in read-only transactions.
//!
//! It has a pool of its own and is no part of [`Backend`]: who holds a backend has no way to it.

use super::connect::{ConnectError, database_of};
use super::connection::Pooled;
use super::error::RelayError;
use super::login::Login;
use super::options::{SameDatabase, common_options};
use super::param::Param;
use super::pool::{Backend, describe_by, pool, query_by};
use super::relay::Description;
use super::rows::Rows;
use super::settings::Settings;
use super::terms::Terms;
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
        let url = policy::with_password(url, policy.password_file.as_ref()).map_err(unusable)?;
        let timeout = policy.statement_timeout;
        let login = Login::parse(&url, &common_options(timeout), timeout).map_err(unusable)?;
        let user = login.shown.clone();
        let pool = pool(Pooled(login.clone(), SameDatabase::default(), backend.falls.by(login)), policy.pool)
            .map_err(unusable)?;
        let direct = Self(pool);
        let away = |cause| ConnectError::Unreachable { key: KEY, user, cause };
        let other = database_of(&direct.0).await.map_err(away)?;
        let own = database_of(&backend.finish).await.map_err(unusable)?;
        match own == other {
            true => Ok(Some(direct)),
            false => Err(unusable(format!("it leads to database {other}, and finish_url to {own}"))),
        }
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
        let terms = Terms { undone: true, ..Terms::default() };
        query_by(&self.0, terms, settings, sql, params, formats).await
    }
}
