//! Puts the demo together: a server (or a database in a given one), its data, the logins, and a policy.

use super::binaries::is_installed;
use super::folder::{Folder, random_hex};
use super::load::{connect, load, run};
use super::logins::{GRANTS, Logins, ROLES, prove_finish_login};
use super::{Binaries, Cluster, Error, Options, policy, survey};
use std::path::PathBuf;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// Scales that fit a laptop.
pub const SCALES: std::ops::RangeInclusive<f64> = 0.001..=20.0;

/// Options of the demo.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// The `noisegate` program, for the watchdog.
    pub noisegate: PathBuf,
    /// A server to make a database in, as a user who may create databases and roles. `None`: a private server.
    pub backend: Option<String>,
    /// Programs of the private server. `None`: those that are found.
    pub binaries: Option<Binaries>,
    /// Multiplies riders and trips.
    pub scale: f64,
    /// Address that the gateway listens at, for the policy's text.
    pub listen: std::net::SocketAddr,
}

/// A database that is ready to be served. [`close`](Self::close) it at the end; if the process dies first, a
/// private server and the folder go all the same.
pub struct Demo {
    /// `backend.url`.
    pub fetch_url: String,
    /// `backend.finish_url`.
    pub finish_url: String,
    /// The policy, TOML.
    pub policy: String,
    /// The file that holds the policy, in a folder that only this user can read.
    pub policy_file: PathBuf,
    /// Path of the ledger in the policy; there is no such file yet.
    pub ledger_file: PathBuf,
    /// Name of psql here: by its path, when `PATH` has none.
    pub psql: String,
    admin: Config,
    logins: Logins,
    scale: f64,
    home: Home,
}

enum Home {
    Private(Box<Cluster>),
    /// A database in somebody's server, and our folder.
    Lent(Folder),
}

impl Demo {
    /// [`start`](Self::start) and [`fill`](Self::fill). What was made is removed where that fails.
    ///
    /// # Errors
    ///
    /// The step that failed, and why.
    pub async fn prepare(options: &DemoOptions) -> Result<Self, Error> {
        let demo = Self::start(options).await?;
        match demo.fill().await {
            Ok(()) => Ok(demo),
            Err(error) => {
                if let Err(second) = demo.close().await {
                    tracing::warn!(error = %second, "the failed demo may be left behind");
                }
                Err(error)
            }
        }
    }

    /// Starts the private server, or makes the folder. A lent server is not touched yet.
    ///
    /// # Errors
    ///
    /// No server programs, a server that does not start, a scale out of [`SCALES`].
    pub async fn start(options: &DemoOptions) -> Result<Self, Error> {
        if !SCALES.contains(&options.scale) {
            let (low, high) = (SCALES.start(), SCALES.end());
            return Err(Error::Argument(format!("the scale must lie between {low} and {high}")));
        }
        let noisegate = options.noisegate.clone();
        let mut psql = "psql".to_owned();
        let (admin, home, logins, folder) = match &options.backend {
            None => {
                let binaries = options.binaries.clone();
                let (cluster, own) = blocking(move || {
                    let binaries = binaries.map_or_else(Binaries::find, Ok)?;
                    let cluster = Cluster::start(&binaries, &Options::new(noisegate))?;
                    Ok((cluster, binaries.program("psql")))
                })
                .await?;
                if !is_installed("psql") && own.is_file() {
                    psql = own.display().to_string();
                }
                let (admin, folder) = (parse(&cluster.superuser_url("postgres"))?, cluster.private_dir());
                (admin, Home::Private(Box::new(cluster)), logins("demo", "")?, folder)
            }
            Some(url) => {
                let (admin, suffix) = (parse(url)?, format!("_{}", random_hex(4)?));
                let folder = blocking(move || Folder::new(&noisegate)).await?;
                let place = folder.private();
                (admin, Home::Lent(folder), logins(&format!("noisegate_demo{suffix}"), &suffix)?, place)
            }
        };
        let url = |user, password| url(&admin, user, password, &logins.database);
        let (fetch_url, finish_url) =
            (url(&logins.fetch, &logins.fetch_password), url(&logins.finish, &logins.finish_password));
        let collect_url = url(&logins.collect, &logins.collect_password);
        let verifier = postgres_protocol::password::scram_sha_256(random_hex(16)?.as_bytes());
        Ok(Self {
            policy: policy::text([&fetch_url, &finish_url, &collect_url], options.listen, &verifier),
            policy_file: folder.join("policy.toml"),
            ledger_file: folder.join(policy::LEDGER),
            fetch_url,
            finish_url,
            psql,
            admin,
            logins,
            scale: options.scale,
            home,
        })
    }

    /// Makes the database, the logins and the data, proves that the finish login reads public tables only, and
    /// writes the policy's file.
    ///
    /// # Errors
    ///
    /// The step that failed, and why. [`close`](Self::close) removes what was made until then.
    pub async fn fill(&self) -> Result<(), Error> {
        let server = connect(&self.admin).await?;
        // template0, because the server's template1 may hold anything, and have another encoding.
        run(&server, &self.logins.fill("CREATE DATABASE bikes TEMPLATE template0 ENCODING 'UTF8'")).await?;
        run(&server, &self.logins.fill(ROLES)).await?;
        run(&server, &self.logins.fill(survey::ROLE)).await?;
        let inside = self.admin_of_database();
        load(&inside, self.scale).await?;
        let owner = connect(&inside).await?;
        run(&owner, &self.logins.fill(GRANTS)).await?;
        run(&owner, &self.logins.fill(survey::TABLE)).await?;
        prove_finish_login(&connect(&parse(&self.finish_url)?).await?, policy::PUBLIC_TABLES).await?;
        let written = std::fs::write(&self.policy_file, &self.policy);
        written.map_err(Error::io(format!("cannot write {}", self.policy_file.display())))
    }

    /// A superuser's way into the demo's database.
    pub fn admin_of_database(&self) -> Config {
        let mut inside = self.admin.clone();
        inside.dbname(&self.logins.database);
        inside
    }

    /// Drops the database and its logins, or stops the private server; removes the folder.
    ///
    /// # Errors
    ///
    /// What could not be removed.
    pub async fn close(self) -> Result<(), Error> {
        match self.home {
            Home::Private(cluster) => blocking(move || cluster.stop()).await,
            Home::Lent(mut folder) => {
                let server = connect(&self.admin).await?;
                // FORCE ends connections that the gateway's pools may still hold.
                run(&server, &self.logins.fill("DROP DATABASE IF EXISTS bikes WITH (FORCE)")).await?;
                run(
                    &server,
                    &self.logins.fill("DROP ROLE IF EXISTS noisegate, noisegate_finish, noisegate_collect"),
                )
                .await?;
                blocking(move || folder.remove()).await
            }
        }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let joined = tokio::task::spawn_blocking(work).await;
    joined.map_err(|e| Error::io("a thread of the launcher failed")(e.into()))?
}

fn logins(database: &str, suffix: &str) -> Result<Logins, Error> {
    Ok(Logins {
        database: database.to_owned(),
        fetch: format!("noisegate{suffix}"),
        finish: format!("noisegate_finish{suffix}"),
        collect: format!("noisegate_collect{suffix}"),
        fetch_password: random_hex(16)?,
        finish_password: random_hex(16)?,
        collect_password: random_hex(16)?,
    })
}

fn parse(url: &str) -> Result<Config, Error> {
    // The URL may hold a password: it is not repeated.
    url.parse().map_err(Error::database("the backend's URL cannot be read"))
}

/// Where this login connects on the same server. Names and password must need no escaping.
fn url(server: &Config, user: &str, password: &str, database: &str) -> String {
    let port = server.get_ports().first().copied().unwrap_or(5432);
    match server.get_hosts().first() {
        Some(Host::Unix(path)) => {
            format!("postgres://{user}:{password}@/{database}?host={}&port={port}", path.display())
        }
        Some(Host::Tcp(name)) if name.contains(':') => {
            format!("postgres://{user}:{password}@[{name}]:{port}/{database}")
        }
        Some(Host::Tcp(name)) => format!("postgres://{user}:{password}@{name}:{port}/{database}"),
        None => format!("postgres://{user}:{password}@127.0.0.1:{port}/{database}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn logins_connect_where_the_superuser_does() {
        for (given, made) in [
            ("postgres://boss:secret@db.example:5433/x", "postgres://u:p@db.example:5433/d"),
            ("postgres://boss@[::1]/x", "postgres://u:p@[::1]:5432/d"),
            ("host=/run/postgresql user=boss", "postgres://u:p@/d?host=/run/postgresql&port=5432"),
        ] {
            let made_now = url(&parse(given).unwrap(), "u", "p", "d");
            assert_eq!(made_now, made);
            assert_eq!(parse(&made_now).unwrap().get_hosts(), parse(given).unwrap().get_hosts());
        }
    }

    #[tokio::test]
    async fn a_scale_out_of_range_is_refused_before_anything_starts() {
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let listen = "127.0.0.1:0".parse().unwrap();
            let options = DemoOptions {
                noisegate: "/nonexistent".into(),
                backend: None,
                binaries: None,
                scale,
                listen,
            };
            assert!(matches!(Demo::prepare(&options).await, Err(Error::Argument(_))), "{scale}");
        }
    }
}
