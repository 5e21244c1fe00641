//! Connecting at start-up: what every session is set to, and what a server must be to be served.

use super::connection::{Fetching, Pooled};
use super::error::{FetchError, RelayError, cause};
use super::falls::Falls;
use super::login::Login;
use super::options::{SameDatabase, common_options, fetch_options};
use super::pool::{Backend, pool, query_by, readers};
use super::settings::Settings;
use super::shares::{AtOnce, Shares};
use super::terms::Terms;
use deadpool::managed::{Object, Pool};
use policy::Given;

/// Oldest and newest major version that is served.
const VERSIONS: std::ops::RangeInclusive<u32> = 13..=18;

/// Why the database cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// A URL of the policy is no use.
    #[error("backend.{key}: {cause}")]
    Url {
        /// `url`, `finish_url` or `passthrough_url`.
        key: &'static str,
        /// The mistake, and what would be right.
        cause: String,
    },
    /// No connection.
    #[error(
        "backend.{key}: the database cannot be reached as {user}: {cause}. Check that it runs, and that pg_hba.conf \
         lets this login in"
    )]
    Unreachable {
        /// `url`, `finish_url` or `passthrough_url`.
        key: &'static str,
        /// The login.
        user: String,
        /// Words of the system or the server.
        cause: String,
    },
    /// A limit of the server would let private rows decide whether a fetch fails.
    #[error("backend.url: {0}")]
    Limited(String),
    /// The server is too old or too new.
    #[error("the database runs PostgreSQL {found}; versions 13 to 18 are supported")]
    Version {
        /// `server_version`.
        found: String,
    },
    /// The database is not in UTF8.
    #[error(
        "the database has encoding {found}; only UTF8 is supported. Load the data into a database made with \
         CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
    )]
    Encoding {
        /// `server_encoding`.
        found: String,
    },
    /// The two logins see different databases.
    #[error(
        "backend.url leads to database {fetch} and backend.finish_url to {finish}; both must name the same one"
    )]
    OtherDatabase {
        /// Database of `url`.
        fetch: String,
        /// Database of `finish_url`.
        finish: String,
    },
}

impl Backend {
    /// Connects both logins and checks version, encoding and database. Hot standbys are fine. A fetch login with
    /// more rights than it needs is a warning.
    ///
    /// # Errors
    /// [`ConnectError`], each with what to do.
    pub async fn connect(policy: &policy::Backend) -> Result<Self, ConnectError> {
        let timeout = policy.statement_timeout;
        let url = |key, url: &Given<String>, gucs: Vec<(&str, String)>| {
            let url = policy::with_password(url, policy.password_file.as_ref());
            url.and_then(|url| Login::parse(&url, &gucs, timeout))
                .map_err(|cause| ConnectError::Url { key, cause })
        };
        let fetch = url("url", &policy.url, fetch_options(timeout, policy.fetch_work_mem().as_deref()))?;
        let finish = url("finish_url", &policy.finish_url, common_options(timeout))?;
        let users = (fetch.shown.clone(), finish.shown.clone());
        let unusable = |key| move |cause| ConnectError::Url { key, cause };
        let (same, falls) = (SameDatabase::default(), Falls::new(finish.clone()));
        let finish_pool = |size| {
            pool(Pooled(finish.clone(), same.clone(), falls.clone()), size).map_err(unusable("finish_url"))
        };
        let mut backend = Self {
            fetch: pool(Fetching(fetch.clone(), SameDatabase::default(), falls.by(fetch)), policy.pool)
                .map_err(unusable("url"))?,
            finish: finish_pool(policy.pool)?,
            aside: finish_pool(policy.pool.div_ceil(4))?,
            readers: readers(),
            falls: falls.clone(),
            shares: Shares::new(AtOnce { most: policy.pool_per_user, steady: policy.pool_per_user_steady }),
            public_timeout: policy.public_timeout,
            warnings: Vec::new(),
            server_version: 0,
            parameters: Default::default(),
        };
        let away = |key, user, cause: String| ConnectError::Unreachable { key, user, cause };
        let server = backend.inspect_server().await.map_err(|e| match e {
            FetchError::Limited(cause) => ConnectError::Limited(cause),
            FetchError::Unreachable(cause) => away("url", users.0.clone(), cause),
            other => away("url", users.0.clone(), other.to_string()),
        })?;
        check_server(&server)?;
        backend.server_version = server.version;
        let finish = backend.finish_connection().await.map_err(|e| {
            let cause = match e {
                RelayError::Unreachable(cause) => cause,
                other => other.to_string(),
            };
            away("finish_url", users.1.clone(), cause)
        })?;
        backend.parameters = finish.parameters().clone();
        drop(finish);
        let other = database_of(&backend.finish).await.map_err(|c| away("finish_url", users.1.clone(), c))?;
        if other != server.database {
            return Err(ConnectError::OtherDatabase { fetch: server.database, finish: other });
        }
        backend.warnings = server.warnings.iter().map(|w| format!("backend.url, {}: {w}", users.0)).collect();
        let endless = cell_of(&backend.finish, IS_ENDLESS).await;
        if endless.map_err(|c| away("finish_url", users.1.clone(), c))?.as_deref() == Some("true") {
            backend.warnings.push(format!("backend.finish_url, {}: {ENDLESS}", users.1));
        }
        let pid = cell_of(&backend.finish, "SELECT pg_catalog.pg_backend_pid()::pg_catalog.text").await;
        let pid = pid.map_err(|c| away("finish_url", users.1.clone(), c))?.unwrap_or_default();
        let uncapped = super::memory::warning(&backend.finish.manager().0.config, &pid);
        backend.warnings.extend(uncapped.map(|w| format!("backend.finish_url, {}: {w}", users.1)));
        Ok(backend)
    }

    async fn inspect_server(&self) -> Result<Server, FetchError> {
        let client = self.fetch_connection().await?;
        let away = |e: tokio_postgres::Error| FetchError::Unreachable(cause(&e));
        let row = client.client.query_one(SERVER, &[]).await.map_err(away)?;
        let get = |n: usize| row.try_get::<_, Option<String>>(n).map(Option::unwrap_or_default);
        let bit = |n: usize| row.try_get::<_, Option<bool>>(n).map(Option::unwrap_or_default);
        let read = || -> Result<Server, tokio_postgres::Error> {
            let mut warnings = Vec::new();
            let mut warn = |n, text: &str| {
                bit(n).map(|set| {
                    if set {
                        warnings.push(text.to_owned())
                    }
                })
            };
            warn(
                4,
                "the fetch login is a superuser; use a role that owns nothing and has SELECT on the tables",
            )?;
            warn(5, "the fetch login bypasses row-level security; ALTER ROLE … NOBYPASSRLS")?;
            warn(6, "connections have no limit; as superuser: ALTER ROLE … CONNECTION LIMIT 100")?;
            let version = get(0)?.parse().unwrap_or_default();
            Ok(Server { version, name: get(1)?, encoding: get(2)?, database: get(3)?, warnings })
        };
        let server = read().map_err(away)?;
        // This connection has type information of a catalog that may be reloaded: start-up pays for a new one.
        drop(Object::take(client));
        Ok(server)
    }
}

/// The database that connections of a pool lead to.
pub(super) async fn database_of(pool: &Pool<Pooled>) -> Result<String, String> {
    let cell = cell_of(pool, DATABASE).await?;
    cell.ok_or_else(|| "the server does not say which database this is".to_owned())
}

/// The one cell that a question of ours gives.
async fn cell_of(pool: &Pool<Pooled>, sql: &str) -> Result<Option<String>, String> {
    let rows = query_by(pool, Terms::default(), &Settings::default(), sql, &[], &[]).await;
    let rows = rows.map_err(|e| e.to_string())?.into_texts().await.map_err(|e| e.to_string())?;
    Ok(rows.into_iter().flatten().flatten().next())
}

struct Server {
    version: u32,
    name: String,
    encoding: String,
    database: String,
    warnings: Vec<String>,
}

fn check_server(server: &Server) -> Result<(), ConnectError> {
    if !VERSIONS.contains(&(server.version / 10_000)) {
        return Err(ConnectError::Version { found: server.name.clone() });
    }
    if server.encoding != "UTF8" {
        return Err(ConnectError::Encoding { found: server.encoding.clone() });
    }
    Ok(())
}

/// The database's name and OID: a standby has the same ones as its primary.
const DATABASE: &str = "\
SELECT datname::pg_catalog.text || ' (oid ' || oid::pg_catalog.text || ')'
  FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()";

const SERVER: &str = "\
SELECT pg_catalog.current_setting('server_version_num'), pg_catalog.current_setting('server_version'),
       pg_catalog.current_setting('server_encoding'),
       (SELECT datname::pg_catalog.text || ' (oid ' || oid::pg_catalog.text || ')'
          FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()),
       r.rolsuper, r.rolbypassrls,
       r.rolconnlimit = -1
  FROM pg_catalog.pg_roles r WHERE r.rolname = SESSION_USER";

/// Of a finish login whose statements may fill the disk, or that may take all connections of the server.
const ENDLESS: &str = "temporary files or connections have no limit; as superuser: ALTER ROLE … SET temp_file_limit = '1GB'; ALTER ROLE … \
     CONNECTION LIMIT 100";

/// Whether the finish login is such a one.
const IS_ENDLESS: &str = "\
SELECT (pg_catalog.current_setting('temp_file_limit') = '-1' OR r.rolconnlimit = -1)::pg_catalog.text
  FROM pg_catalog.pg_roles r WHERE r.rolname = SESSION_USER";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_known_versions_in_utf8_are_served() {
        let server = |version, encoding: &str| Server {
            version,
            name: version.to_string(),
            encoding: encoding.into(),
            database: String::new(),
            warnings: Vec::new(),
        };
        for version in [130_000, 150_018, 180_004] {
            assert!(check_server(&server(version, "UTF8")).is_ok());
        }
        for version in [0, 90_624, 120_022, 190_000] {
            assert!(matches!(check_server(&server(version, "UTF8")), Err(ConnectError::Version { .. })));
        }
        let error = check_server(&server(150_000, "SQL_ASCII")).unwrap_err();
        assert!(error.to_string().contains("SQL_ASCII"), "{error}");
    }
}
