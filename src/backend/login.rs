//! Start-up of a relay connection: parameters, authentication, and the settings every session of ours has.

use super::error::{DbError, NO_PASSWORD, RelayError};
use super::socket::{Channel, Frame, Target, targets};
use super::tls::{Secured, Tls, server};
use bytes::BytesMut;
use policy::Given;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio_postgres::config::{self, TargetSessionAttrs};
use tokio_postgres::fallible_iterator::FallibleIterator;
use tokio_postgres::{Client, Connection, Socket};

/// A login: where and as whom to connect, and what the session is set to.
#[derive(Clone)]
pub struct Login {
    targets: Vec<Target>,
    pub(super) tls: Tls,
    /// The role.
    pub user: String,
    /// The same for messages.
    pub shown: String,
    password: Option<Vec<u8>>,
    database: Option<String>,
    options: String,
    /// For tokio-postgres: the same login.
    pub config: tokio_postgres::Config,
    /// `statement_timeout` of the session.
    statement_timeout: Duration,
}

impl std::fmt::Debug for Login {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").field("targets", &self.targets).field("user", &self.shown).finish()
    }
}

impl Login {
    /// Reads a `postgres://` URL (or libpq's `key=value` form). `gucs` are set at connect and proven after it.
    pub fn parse(url: &Given<String>, gucs: &[(&str, String)], timeout: Duration) -> Result<Self, String> {
        let (mut config, tls) = server(url)?;
        if config.get_target_session_attrs() != TargetSessionAttrs::Any {
            return Err("target_session_attrs is not supported: name one server".into());
        }
        let user =
            config.get_user().ok_or("it names no user; write postgres://user@host/database")?.to_owned();
        let targets = targets(&config, &tls);
        if targets.is_empty() {
            return Err("it names no host; write postgres://user@host/database".into());
        }
        // The owner's own options come first: ours win.
        let mut options = config.get_options().unwrap_or_default().to_owned();
        for (name, value) in gucs {
            let value = value.replace('\\', "\\\\").replace(' ', "\\ ");
            options.push_str(&format!(" -c {name}={value}"));
        }
        config.options(options.clone()).application_name("noisegate");
        Ok(Self {
            targets,
            tls,
            user,
            shown: url.shown().user,
            password: config.get_password().map(<[u8]>::to_vec),
            database: config.get_dbname().map(str::to_owned),
            options,
            config,
            statement_timeout: timeout,
        })
    }

    /// A connection of tokio-postgres, and what drives it.
    ///
    /// # Errors
    /// What the system, TLS or the server says.
    pub async fn connect(
        &self,
    ) -> Result<(Client, Connection<Socket, Secured<Socket>>), tokio_postgres::Error> {
        self.config.connect(self.tls.clone()).await
    }

    /// Time to wait for an answer: as long as a statement may run, and what the network may add to
    /// that. Without a limit for statements, a day.
    pub(super) fn patience(&self) -> Duration {
        match self.statement_timeout {
            Duration::ZERO => Duration::from_secs(24 * 60 * 60),
            limit => limit.saturating_add(Duration::from_secs(5)),
        }
    }

    /// Connects to the first address that answers.
    pub(super) async fn open(&self) -> Result<Session, RelayError> {
        let mut causes = Vec::new();
        for target in &self.targets {
            match Channel::open(target).await {
                Ok(channel) => return self.start(channel).await,
                Err(e) => causes.push(format!("{target:?}: {e}")),
            }
        }
        Err(RelayError::Unreachable(causes.join("; ")))
    }

    async fn start(&self, mut channel: Channel) -> Result<Session, RelayError> {
        let mut out = BytesMut::new();
        let mut parameters = vec![
            ("client_encoding", "UTF8"),
            ("user", self.user.as_str()),
            ("application_name", "noisegate"),
            ("options", self.options.as_str()),
        ];
        parameters.extend(self.database.as_deref().map(|d| ("database", d)));
        frontend::startup_message(parameters, &mut out).map_err(RelayError::io)?;
        channel.send(&out).await?;
        self.authenticate(&mut channel).await?;
        let mut session = Session { channel, key: None, parameters: BTreeMap::new() };
        loop {
            match next(&mut session.channel).await? {
                Message::BackendKeyData(body) => session.key = Some((body.process_id(), body.secret_key())),
                Message::ParameterStatus(body) => {
                    let name = body.name().map_err(RelayError::io)?.to_owned();
                    session.parameters.insert(name, body.value().map_err(RelayError::io)?.to_owned());
                }
                Message::NoticeResponse(_) => {}
                Message::ReadyForQuery(_) => return Ok(session),
                _ => return Err(unexpected("start-up")),
            }
        }
    }

    async fn authenticate(&self, channel: &mut Channel) -> Result<(), RelayError> {
        let mut out = BytesMut::new();
        match next(channel).await? {
            Message::AuthenticationOk => return Ok(()),
            Message::AuthenticationCleartextPassword => {
                frontend::password_message(self.password()?, &mut out).map_err(RelayError::io)?;
            }
            Message::AuthenticationMd5Password(body) => {
                let hash = md5_hash(self.user.as_bytes(), self.password()?, body.salt());
                frontend::password_message(hash.as_bytes(), &mut out).map_err(RelayError::io)?;
            }
            Message::AuthenticationSasl(body) => self.scram(channel, &body).await?,
            _ => {
                return Err(RelayError::Unreachable(
                    "the server asks for an authentication method that is not supported; use scram-sha-256"
                        .into(),
                ));
            }
        }
        if !out.is_empty() {
            channel.send(&out).await?;
        }
        match next(channel).await? {
            Message::AuthenticationOk => Ok(()),
            _ => Err(unexpected("authentication")),
        }
    }

    /// SCRAM-SHA-256 up to and including the proof that the server knows the password too.
    async fn scram(&self, channel: &mut Channel, offer: &AuthenticationSaslBody) -> Result<(), RelayError> {
        let (mut plain, mut bound) = (false, false);
        let mut each = offer.mechanisms();
        while let Some(name) = each.next().map_err(RelayError::io)? {
            plain |= name == SCRAM_SHA_256;
            bound |= name == SCRAM_SHA_256_PLUS;
        }
        let refused = |why: &str| Err(RelayError::Unreachable(why.into()));
        if !plain && !bound {
            return refused("the server offers no SCRAM-SHA-256");
        }
        let wanted = self.config.get_channel_binding();
        let binding = channel.binding().filter(|_| wanted != config::ChannelBinding::Disable);
        let (mechanism, binding) = match binding {
            Some(binding) if bound => (SCRAM_SHA_256_PLUS, binding),
            _ if wanted == config::ChannelBinding::Require => {
                return refused("channel_binding=require, and the server's certificate cannot be bound to");
            }
            // Had the server offered it, and somebody between removed that, the server would notice.
            Some(_) => (SCRAM_SHA_256, ChannelBinding::unrequested()),
            None => (SCRAM_SHA_256, ChannelBinding::unsupported()),
        };
        let mut out = BytesMut::new();
        let mut scram = ScramSha256::new(self.password()?, binding);
        frontend::sasl_initial_response(mechanism, scram.message(), &mut out).map_err(RelayError::io)?;
        channel.send(&out).await?;
        let Message::AuthenticationSaslContinue(body) = next(channel).await? else {
            return Err(unexpected("authentication"));
        };
        scram.update(body.data()).map_err(RelayError::io)?;
        out.clear();
        frontend::sasl_response(scram.message(), &mut out).map_err(RelayError::io)?;
        channel.send(&out).await?;
        let Message::AuthenticationSaslFinal(body) = next(channel).await? else {
            return Err(unexpected("authentication"));
        };
        scram.finish(body.data()).map_err(RelayError::io)
    }

    fn password(&self) -> Result<&[u8], RelayError> {
        self.password.as_deref().ok_or_else(|| RelayError::Unreachable(NO_PASSWORD.into()))
    }
}

/// A connection after login.
pub(super) struct Session {
    pub(super) channel: Channel,
    /// Key that a cancel request must name.
    pub(super) key: Option<(i32, i32)>,
    /// ParameterStatus values.
    pub(super) parameters: BTreeMap<String, String>,
}

/// The next message of a start-up, where an error ends the attempt and rows do not come.
async fn next(channel: &mut Channel) -> Result<Message, RelayError> {
    match channel.receive().await? {
        Frame::Other(Message::ErrorResponse(body)) => {
            let error = DbError::read(body.fields());
            Err(RelayError::Unreachable(error.to_string()))
        }
        Frame::Other(message) => Ok(message),
        Frame::Row(_) => Err(unexpected("start-up")),
    }
}

fn unexpected(what: &str) -> RelayError {
    RelayError::Protocol(format!("unexpected message during {what}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn parse(url: &str) -> Result<Login, String> {
        let gucs = [("default_transaction_isolation", "repeatable read".to_owned())];
        Login::parse(&url.into(), &gucs, Duration::from_secs(1))
    }

    #[test]
    fn a_url_must_be_plain_and_complete() {
        for (url, word) in [
            ("postgres://u@h/d?sslmode=verify-full", "needs sslrootcert"),
            ("postgres://u@h/d?sslrootcert=/nowhere.pem&sslmode=verify-full", "/nowhere.pem"),
            ("postgres://u@h/d?target_session_attrs=read-write", "target_session_attrs"),
            ("postgres://h/d", "names no user"),
            ("postgres://u@/d", "names no host"),
            ("mysql://u@h/d", "not a PostgreSQL connection URL"),
        ] {
            let error = parse(url).unwrap_err();
            assert!(error.contains(word), "{url}: {error}");
        }
    }

    #[test]
    fn options_of_ours_come_last_and_are_escaped() {
        let login = parse("postgres://u:secret@h:1234/d?options=-c%20work_mem%3D1MB").unwrap();
        assert_eq!(login.options, r"-c work_mem=1MB -c default_transaction_isolation=repeatable\ read");
        assert!(matches!(login.targets.as_slice(), [t] if format!("{t:?}") == "h:1234"));
        assert!(!format!("{login:?}").contains("secret"));
    }
}
