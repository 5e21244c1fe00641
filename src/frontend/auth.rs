//! Login: SCRAM-SHA-256 against PostgreSQL verifiers, a certificate, both, or trust on the loopback interface.
//!
//! A user who does not exist goes through the same exchange as one who does, with a salt that is always the same
//! for the same name, and fails with the same error.

use super::message::Body;
use super::peer::Visitor;
use super::service::{Account, Auth, Service};
use super::stop::{Stop, violation};
use super::tls::Tls;
use super::wire::Wire;
use answer::Identity;
use answer::{ClientError, SqlState};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hmac::{Hmac, Mac};
use pgwire::api::auth::sasl::scram::{ScramSecret, ScramServerAuth};
use pgwire::error::PgWireError;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::startup::Authentication;
use record::{STRANGERS, said};
use sha2::Sha256;

const SCRAM: &str = "SCRAM-SHA-256";
const SCRAM_PLUS: &str = "SCRAM-SHA-256-PLUS";

/// The secret behind the salts of users who do not exist. Salts of users who do stay as they are over restarts and reloads, and
/// are the same at each proxy of a policy: those of others must be, too, or a name is told by asking twice.
#[derive(Clone, Copy)]
pub(super) struct Mock([u8; 32]);

impl Mock {
    /// A new secret, for a service that has none that lasts.
    pub fn new() -> Result<Self, getrandom::Error> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)?;
        Ok(Self(secret))
    }

    /// The service's own secret, if it has one.
    fn or(self, lasting: Option<[u8; 32]>) -> Self {
        lasting.map_or(self, Self)
    }

    fn derive(&self, what: &str, user: &str) -> [u8; 32] {
        // HMAC takes keys of any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return [0; 32] };
        mac.update(what.as_bytes());
        mac.update(&[0]);
        mac.update(user.as_bytes());
        mac.finalize().into_bytes().into()
    }

    /// A verifier that no password meets.
    fn secret(&self, user: &str, iterations: &[u32]) -> ScramSecret {
        // By the highest digest, so that a count which comes or goes changes the pick of those alone who get it or had it.
        let drawn = iterations.iter().max_by_key(|count| self.derive(&format!("iterations {count}"), user));
        ScramSecret::Verifier {
            salt: self.derive("salt", user).into_iter().take(16).collect(),
            iterations: drawn.copied().unwrap_or(4096) as usize,
            stored_key: self.derive("stored key", user).to_vec(),
            server_key: self.derive("server key", user).to_vec(),
        }
    }
}

/// Authenticates who stands before the door, up to but not including AuthenticationOk. Every error must end the connection.
pub(super) async fn login<S: Service>(
    wire: &mut Wire,
    service: &S,
    visitor: &Visitor<'_>,
    binding: Option<&Tls>,
    mock: &Mock,
) -> Result<Identity, Stop> {
    let Visitor { peer, user, database, .. } = *visitor;
    // Whoever shows another certificate than the account's, or none, is treated as a user who does not exist.
    let account = service.user(user, database).await.filter(|account| {
        let holds = account.certificate.is_none() || account.certificate.as_deref() == visitor.certificate;
        if !holds {
            let shown = visitor.certificate.unwrap_or_default();
            tracing::warn!(
                target: STRANGERS, user = &*said(user), address = %peer, shown = &*said(shown),
                "the client's certificate is not the user's"
            );
        }
        holds
    });
    let known = match account {
        // Its certificate was compared above; an account without one has no way in.
        Some(Account { identity, auth: Auth::Certificate, certificate: Some(_) }) => return Ok(identity),
        Some(Account { auth: Auth::Certificate, certificate: None, .. }) => None,
        Some(Account { identity, auth: Auth::Trust, .. }) => {
            if peer.is_loopback() {
                return Ok(identity);
            }
            tracing::warn!(
                target: STRANGERS, user, address = %peer, "a user without a password may log in by 127.0.0.1 only"
            );
            None
        }
        Some(Account { identity, auth: Auth::Scram(verifier), .. }) => {
            let secret = verifier_secret(&verifier);
            if secret.is_none() {
                tracing::error!(
                    target: STRANGERS, user, "the user's SCRAM verifier is not valid; no password will be accepted"
                );
            }
            secret.map(|secret| (identity, secret))
        }
        None => None,
    };
    let (identity, secret) = match known {
        Some((identity, secret)) => (Some(identity), secret),
        None => {
            let mock = mock.or(service.login_secret(user, database));
            (None, mock.secret(user, &service.scram_iterations(user, database)))
        }
    };
    let proven = scram(wire, secret, binding.and_then(Tls::binding)).await?;
    match (proven, identity) {
        (Some(signature), Some(identity)) => {
            let last = Authentication::SASLFinal(signature.into());
            wire.writer.message(PgWireBackendMessage::Authentication(last));
            Ok(identity)
        }
        _ => {
            let message = format!("password authentication failed for user \"{user}\"");
            Err(ClientError::new(SqlState::INVALID_PASSWORD, message).fatal().into())
        }
    }
}

/// The exchange of RFC 5802; gives the server's signature if the proof holds, nothing if it does not.
async fn scram(
    wire: &mut Wire,
    secret: ScramSecret,
    binding: Option<&ScramServerAuth>,
) -> Result<Option<String>, Stop> {
    let mut mechanisms = vec![SCRAM.to_owned()];
    if binding.is_some() {
        mechanisms.insert(0, SCRAM_PLUS.to_owned());
    }
    wire.writer.message(PgWireBackendMessage::Authentication(Authentication::SASL(mechanisms)));
    let first = exchange(wire).await?;
    let mut body = Body(&first);
    let mechanism = body.cstring()?;
    let length = body.i32()?;
    if usize::try_from(length) != Ok(body.0.len()) {
        return Err(violation("malformed SASL initial response").into());
    }
    let client_first = body.take(body.0.len())?;
    let plus = match std::str::from_utf8(mechanism) {
        Ok(SCRAM) => false,
        Ok(SCRAM_PLUS) if binding.is_some() => true,
        _ => return Err(violation("client selected an invalid SASL authentication mechanism").into()),
    };
    if plus != client_first.starts_with(b"p=") {
        return Err(violation("the SASL mechanism and the channel binding of the message do not fit").into());
    }
    let server = binding.cloned().unwrap_or_default();
    let (server_first, server) =
        server.on_client_first_message_with_secret(client_first, secret).map_err(malformed)?;
    let next = Authentication::SASLContinue(server_first.into());
    wire.writer.message(PgWireBackendMessage::Authentication(next));
    let client_final = exchange(wire).await?;
    match server.on_client_final_message(&client_final) {
        Ok(signature) => Ok(Some(signature)),
        Err(PgWireError::InvalidPassword(_)) => Ok(None),
        Err(e) => Err(malformed(e)),
    }
}

/// Sends what is queued and reads the client's answer, which must be of the password family.
async fn exchange(wire: &mut Wire) -> Result<Bytes, Stop> {
    wire.writer.flush().await?;
    let frame = wire.reader.next().await?;
    // The reader lets only these two through before the login.
    if frame.tag == b'p' { Ok(frame.body) } else { Err(Stop::Closed) }
}

fn malformed(e: PgWireError) -> Stop {
    tracing::debug!(error = %e, "SCRAM exchange broken off");
    violation("malformed SCRAM message").into()
}

/// Reads `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`.
fn verifier_secret(text: &str) -> Option<ScramSecret> {
    let (costs, keys) = text.strip_prefix("SCRAM-SHA-256$")?.split_once('$')?;
    let (iterations, salt) = costs.split_once(':')?;
    let (stored, server) = keys.split_once(':')?;
    let iterations = iterations.parse::<u32>().ok().filter(|i| *i > 0)?;
    let key = |text: &str| STANDARD.decode(text).ok().filter(|k| k.len() == 32);
    Some(ScramSecret::Verifier {
        salt: STANDARD.decode(salt).ok().filter(|s| !s.is_empty())?,
        iterations: iterations as usize,
        stored_key: key(stored)?,
        server_key: key(server)?,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::peer::Peer;
    use super::super::service::{Client, Session};
    use super::*;
    use answer::Control;
    use answer::{Description, Notice, Outcome, Values};
    use std::collections::BTreeMap;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[test]
    fn verifiers_of_postgresql_are_read_and_others_refused() {
        // The verifier of the password `pencil` with the salt of RFC 7677.
        let good = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
                    wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";
        assert!(verifier_secret(good).is_some());
        for bad in
            ["", "md5abc", "SCRAM-SHA-256$0:YQ==$YQ==:YQ==", &good.replace("$WG5d", "$"), "SCRAM-SHA-256$"]
        {
            assert!(verifier_secret(bad).is_none(), "{bad}");
        }
    }

    /// One account, `ana`, without a password.
    struct Trusting;

    struct Nothing;

    impl Service for Trusting {
        type Session = Nothing;
        fn parameters(&self, _: &str, _: &str) -> Vec<(String, String)> {
            Vec::new()
        }
        async fn user(&self, name: &str, _: &str) -> Option<Account> {
            let identity = Identity { user: name.to_owned(), role: None };
            (name == "ana").then_some(Account { identity, auth: Auth::Trust, certificate: None })
        }
        async fn open(
            &self,
            _: Identity,
            _: BTreeMap<String, String>,
            _: Client,
        ) -> Result<Nothing, ClientError> {
            Ok(Nothing)
        }
    }

    impl Session for Nothing {
        type Statement = ();
        type Portal = ();
        fn parse(&mut self, _: &str) -> Result<Vec<()>, ClientError> {
            Ok(Vec::new())
        }
        fn control(&self, (): &()) -> Option<Control> {
            None
        }
        async fn run(&mut self, (): (), _: &mut Vec<Notice>) -> Result<Outcome, ClientError> {
            Ok(Outcome::Empty)
        }
        async fn describe(&mut self, (): &(), _: &[u32]) -> Result<Description, ClientError> {
            Ok(Description { parameters: Vec::new(), fields: None })
        }
        async fn bind(&mut self, (): &(), _: &Description, _: Values) -> Result<(), ClientError> {
            Ok(())
        }
        async fn execute(&mut self, (): (), _: &mut Vec<Notice>) -> Result<Outcome, ClientError> {
            Ok(Outcome::Empty)
        }
    }

    #[tokio::test]
    async fn trust_holds_on_the_loopback_interface_only() {
        let inet = |address: &str| Peer::inet(address.parse().unwrap());
        for (user, peer, trusted) in [
            ("ana", inet("127.0.0.1"), true),
            ("ana", inet("::1"), true),
            ("ana", inet("::ffff:127.0.0.1"), true),
            ("ana", inet("192.0.2.7"), false),
            ("ana", inet("::ffff:192.0.2.7"), false),
            ("ana", Peer::Local, false),
            ("bo", inet("127.0.0.1"), false),
        ] {
            let (server, mut client) = tokio::io::duplex(4096);
            let mut wire = Wire::new(Box::new(server), 100);
            let mock = Mock::new().unwrap();
            client.write_all(b"X\0\0\0\x04").await.unwrap();
            let visitor = Visitor { peer, encrypted: false, certificate: None, user, database: "d" };
            let result = login(&mut wire, &Trusting, &visitor, None, &mock).await;
            drop(wire);
            let mut sent = Vec::new();
            client.read_to_end(&mut sent).await.unwrap();
            assert_eq!(result.is_ok(), trusted, "{user} {peer}");
            assert_eq!(sent.starts_with(b"R"), !trusted, "{user} {peer} is asked for a password");
        }
    }

    #[test]
    fn a_user_who_does_not_exist_always_has_the_same_salt() {
        let mock = Mock::new().unwrap();
        let shape = |user: &str| match mock.secret(user, &[4096, 10_000]) {
            ScramSecret::Verifier { salt, iterations, .. } => (salt, iterations),
            ScramSecret::SaltedPassword { .. } => unreachable!("a verifier was made"),
        };
        assert_eq!(shape("eve"), shape("eve"));
        assert_ne!(shape("eve").0, shape("mallory").0);
        assert_eq!(shape("eve").0.len(), 16);
        assert!([4096, 10_000].contains(&shape("eve").1));
        // A secret that lasts is another process's, too; the order of users and how many there are decide nothing.
        let lasting = || Mock::new().unwrap().or(Some([7; 32]));
        let made = |mock: Mock, counts: &[u32], user: &str| match mock.secret(user, counts) {
            ScramSecret::Verifier { salt, iterations, .. } => (salt, iterations),
            ScramSecret::SaltedPassword { .. } => unreachable!("a verifier was made"),
        };
        for n in 0..64 {
            let user = format!("user{n}");
            let first = made(lasting(), &[4096, 10_000], &user);
            assert_eq!(first, made(lasting(), &[10_000, 4096, 10_000, 10_000], &user));
            let third = made(lasting(), &[4096, 10_000, 20_000], &user);
            assert!(third == first || third.1 == 20_000, "{third:?}");
        }
    }
}
