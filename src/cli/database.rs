//! Connections to a database, for commands that read its catalogs and hang up.

use backend::{introspect, server};
use policy::{Given, with_password};
use schema::Schema;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use tokio_postgres::Client;

/// Time for the database to answer.
const CONNECT: Duration = Duration::from_secs(10);

/// Why there is no connection, without user and password.
#[derive(Debug)]
pub enum Failed {
    /// The server does not answer, or says that it cannot just now.
    Away(String),
    /// The server answers, and something has to be put right first.
    Refused(String),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Away(text) | Self::Refused(text)) = self;
        f.write_str(text)
    }
}

/// The error of a database, as one of a command.
impl From<Failed> for String {
    fn from(e: Failed) -> Self {
        e.to_string()
    }
}

/// A connection that ends when it is dropped.
pub struct Connected {
    /// The client.
    pub client: Client,
    driver: tokio::task::JoinHandle<()>,
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Connects, with a password of the file where the URL has none. `key` names the URL in messages, which never show it.
pub async fn connect(
    url: &Given<String>,
    password_file: Option<&Given<PathBuf>>,
    key: &str,
) -> Result<Connected, Failed> {
    let url = with_password(url, password_file).map_err(Failed::Refused)?;
    let (config, tls) = server(&url).map_err(|why| Failed::Refused(format!("{key}: {why}")))?;
    match tokio::time::timeout(CONNECT, config.connect(tls)).await {
        Ok(Ok((client, connection))) => {
            let driver = tokio::spawn(async {
                // The client reports what its own requests meet.
                let _ = connection.await;
            });
            Ok(Connected { client, driver })
        }
        Ok(Err(e)) => {
            let text = format!("cannot connect to {}: {}", place(&url), reason(&e));
            // 53: too many connections; 57: starting up or shutting down. The rest of its own errors are mistakes.
            let passing = |code: &str| code.starts_with("53") || code.starts_with("57");
            let mistake = e.as_db_error().is_some_and(|db| !passing(db.code().code()));
            Err(if mistake { Failed::Refused(text) } else { Failed::Away(text) })
        }
        Err(_) => Err(Failed::Away(format!("{} does not answer within {CONNECT:?}", place(&url)))),
    }
}

/// Connects to `--backend`: the database itself.
pub async fn backend(url: &str) -> Result<Connected, String> {
    let _: policy::ServerUrl = url.parse().map_err(|why| format!("--backend: {why}"))?;
    Ok(connect(&url.to_owned().into(), None, "--backend").await?)
}

/// Reads the schema over a connection.
pub async fn schema(connected: &Connected) -> Result<Schema, Failed> {
    introspect::read_schema(&connected.client).await.map_err(|e| Failed::Refused(e.to_string()))
}

/// Host, port and database of a URL, without user and password, as whoever gave it wrote them.
fn place(url: &Given<String>) -> String {
    let at = url.shown();
    format!("the database {:?} at {}:{}", at.database, at.host, at.port)
}

/// The cause below `tokio_postgres::Error`'s own words, which name only the stage.
pub fn reason(error: &tokio_postgres::Error) -> String {
    if let Some(db) = error.as_db_error() {
        return format!("{} (SQLSTATE {})", db.message(), db.code().code());
    }
    let whole = backend::cause(error);
    whole.strip_prefix(&format!("{error}: ")).map_or(whole.clone(), str::to_owned)
}
