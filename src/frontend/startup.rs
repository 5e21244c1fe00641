//! Before the login: encryption requests, cancel requests, and the startup packet.

use super::message::Body;
use super::stop::{Stop, violation};
use super::tls::Tls;
use super::wire::{Socket, Wire};
use answer::{ClientError, SqlState};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::startup::NegotiateProtocolVersion;
use policy::Limits;
use record::STRANGERS;
use std::collections::BTreeMap;
use tokio::time::timeout;

/// The type of a TLS record that holds a ClientHello; no startup packet is so long that it begins like this.
const TLS_HANDSHAKE: u8 = 0x16;
const CANCEL_REQUEST: i32 = 80_877_102;
const SSL_REQUEST: i32 = 80_877_103;
const GSSENC_REQUEST: i32 = 80_877_104;
/// The newest minor version of protocol 3.
const NEWEST_MINOR: i32 = 2;

/// The wish of a new connection.
pub(super) enum Opening {
    /// To log in.
    Login(Box<Login>),
    /// To cancel another session's statement.
    Cancel {
        /// The connection, which ends when the request is delivered.
        wire: Wire,
        /// The session.
        pid: i32,
        /// Secret of the session, as the client knows it.
        secret: Vec<u8>,
    },
    /// Nothing any more.
    Closed,
    /// The client has said nothing.
    Silent,
    /// The client broke the rules.
    Refused(Wire, ClientError),
}

/// A client that wants to log in.
pub(super) struct Login {
    /// The connection.
    pub wire: Wire,
    /// Whether TLS protects it.
    pub encrypted: bool,
    /// The common name of the certificate that the client has shown.
    pub certificate: Option<String>,
    /// Parameters of the start-up packet.
    pub startup: Startup,
}

/// A startup packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Startup {
    /// Minor protocol version that both sides speak.
    pub minor: i32,
    /// Every parameter.
    pub parameters: BTreeMap<String, String>,
    /// `_pq_.` options we do not know, and whether to tell so.
    negotiate: Option<Vec<String>>,
}

impl Startup {
    /// The user who wants in; checked to be there.
    pub fn user(&self) -> &str {
        self.parameters.get("user").map_or("", String::as_str)
    }

    /// The database that is asked for: the user's name, where nothing is said.
    pub fn database(&self) -> &str {
        self.parameters.get("database").map_or("", String::as_str)
    }

    /// Length of the cancel secret: 3.2 allows more than four bytes.
    pub fn secret_length(&self) -> usize {
        if self.minor >= 2 { 32 } else { 4 }
    }

    /// Tells the client what of its wishes the protocol version lacks, if anything.
    pub fn negotiation(&self) -> Option<PgWireBackendMessage> {
        let unknown = self.negotiate.clone()?;
        let version = (3 << 16) | NEWEST_MINOR.min(self.minor);
        Some(PgWireBackendMessage::NegotiateProtocolVersion(NegotiateProtocolVersion::new(version, unknown)))
    }
}

/// Reads until the startup packet or a cancel request is there. The caller limits the time.
pub(super) async fn negotiate(socket: Box<dyn Socket>, tls: Option<&Tls>, limits: &Limits) -> Opening {
    let max_statement = limits.max_statement_bytes;
    let mut wire = Wire::new(socket, max_statement);
    let mut encrypted = false;
    let mut certificate = None;
    let (mut asked_tls, mut asked_gss) = (false, false);
    let Ok(first) = timeout(limits.first_byte_timeout, wire.reader.first()).await else {
        return Opening::Silent;
    };
    match (first, tls) {
        (Ok(TLS_HANDSHAKE), Some(tls)) => match tls.accept_direct(wire.into_socket()).await {
            Ok(secured) => {
                wire = Wire::new(secured.socket, max_statement);
                (encrypted, certificate) = (true, secured.certificate);
            }
            Err(e) => {
                tracing::info!(target: STRANGERS, error = %e, "a direct TLS handshake failed");
                return Opening::Closed;
            }
        },
        // As PostgreSQL: a handshake that nobody can answer is not answered.
        (Ok(TLS_HANDSHAKE), None) | (Err(_), _) => return Opening::Closed,
        (Ok(_), _) => {}
    }
    loop {
        let packet = match wire.reader.startup().await {
            Ok(packet) => packet,
            Err(Stop::Closed) => return Opening::Closed,
            Err(Stop::Error(e)) => return Opening::Refused(wire, e),
        };
        let mut body = Body(&packet);
        let code = match body.i32() {
            Ok(code) => code,
            Err(e) => return Opening::Refused(wire, e),
        };
        match code {
            CANCEL_REQUEST => {
                return match cancel(&mut body) {
                    Ok((pid, secret)) => Opening::Cancel { wire, pid, secret },
                    Err(e) => Opening::Refused(wire, e),
                };
            }
            SSL_REQUEST if !encrypted && !asked_tls && body.end().is_ok() => {
                asked_tls = true;
                let Some(tls) = tls else {
                    if !answer(&mut wire, b'N').await {
                        return Opening::Closed;
                    }
                    continue;
                };
                if wire.reader.has_buffered() {
                    // Somebody put plain bytes where only a TLS handshake may follow, hoping that they pass for
                    // encrypted ones (CVE-2021-23214). PostgreSQL, too, ends the connection.
                    tracing::warn!(
                        target: STRANGERS, "dropped a connection with unencrypted data behind its SSL request"
                    );
                    return Opening::Closed;
                }
                if !answer(&mut wire, b'S').await {
                    return Opening::Closed;
                }
                match tls.accept(wire.into_socket()).await {
                    Ok(secured) => {
                        wire = Wire::new(secured.socket, max_statement);
                        certificate = secured.certificate;
                    }
                    Err(e) => {
                        tracing::info!(target: STRANGERS, error = %e, "a TLS handshake failed");
                        return Opening::Closed;
                    }
                }
                encrypted = true;
            }
            GSSENC_REQUEST if !encrypted && !asked_gss && body.end().is_ok() => {
                asked_gss = true;
                if !answer(&mut wire, b'N').await {
                    return Opening::Closed;
                }
            }
            SSL_REQUEST | GSSENC_REQUEST => {
                return Opening::Refused(wire, violation("invalid encryption request"));
            }
            version => {
                if !encrypted && tls.is_some_and(Tls::required) {
                    let e = ClientError::new(SqlState::INVALID_AUTHORIZATION, "this server requires TLS")
                        .hint("Connect with sslmode=require or stronger.");
                    return Opening::Refused(wire, e);
                }
                return match startup(version, body) {
                    Ok(startup) => Opening::Login(Box::new(Login { wire, encrypted, certificate, startup })),
                    Err(e) => Opening::Refused(wire, e),
                };
            }
        }
    }
}

async fn answer(wire: &mut Wire, byte: u8) -> bool {
    wire.writer.byte(byte);
    wire.writer.flush().await.is_ok()
}

fn cancel(body: &mut Body<'_>) -> Result<(i32, Vec<u8>), ClientError> {
    let pid = body.i32()?;
    let length = body.0.len();
    // Protocol 3.2 allows 256 bytes.
    if !(4..=256).contains(&length) {
        return Err(violation("invalid length of cancel request packet"));
    }
    Ok((pid, body.take(length)?.to_vec()))
}

fn startup(version: i32, mut body: Body<'_>) -> Result<Startup, ClientError> {
    let (major, minor) = (version >> 16, version & 0xffff);
    if major != 3 {
        let message = format!(
            "unsupported frontend protocol {}.{minor}: server supports 3.0 to 3.{NEWEST_MINOR}",
            major & 0xffff
        );
        return Err(ClientError::unsupported(message));
    }
    let mut parameters = BTreeMap::new();
    let mut unknown = Vec::new();
    loop {
        let name = text(body.cstring()?)?;
        if name.is_empty() {
            break;
        }
        let value = text(body.cstring()?)?;
        if name.starts_with("_pq_.") {
            unknown.push(name);
        } else {
            parameters.insert(name, value);
        }
    }
    body.end().map_err(|_| violation("invalid startup packet layout: expected terminator as last byte"))?;
    let Some(user) = parameters.get("user").filter(|u| !u.is_empty()).cloned() else {
        let message = "no PostgreSQL user name specified in startup packet";
        return Err(ClientError::new(SqlState::INVALID_AUTHORIZATION, message));
    };
    // As PostgreSQL: an empty name is none.
    let database = parameters.entry("database".to_owned()).or_default();
    if database.is_empty() {
        *database = user;
    }
    check_encoding(&parameters)?;
    if let Some(replication) = parameters.get("replication")
        && !matches!(replication.as_str(), "false" | "off" | "no" | "0")
    {
        return Err(ClientError::unsupported("replication connections are not supported"));
    }
    let negotiate = (minor > NEWEST_MINOR || !unknown.is_empty()).then_some(unknown);
    Ok(Startup { minor: if minor >= NEWEST_MINOR { NEWEST_MINOR } else { 0 }, parameters, negotiate })
}

fn text(bytes: &[u8]) -> Result<String, ClientError> {
    std::str::from_utf8(bytes)
        .map(str::to_owned)
        .map_err(|_| violation("the startup packet is not valid UTF-8"))
}

/// Text goes through unconverted, so only names of UTF-8 are accepted, in any spelling PostgreSQL takes (asyncpg
/// even sends quotes), and the names that mean "do not convert".
fn check_encoding(parameters: &BTreeMap<String, String>) -> Result<(), ClientError> {
    let Some(encoding) = parameters.get("client_encoding") else { return Ok(()) };
    let plain: String = encoding.chars().filter(char::is_ascii_alphanumeric).collect();
    match plain.to_ascii_lowercase().as_str() {
        "" | "auto" | "utf8" | "unicode" | "sqlascii" => Ok(()),
        _ => {
            let message = format!("invalid value for parameter \"client_encoding\": \"{encoding}\"");
            Err(ClientError::new(SqlState::INVALID_PARAMETER_VALUE, message).hint(
                "Only UTF8 is spoken here: connect with client_encoding=UTF8 (or PGCLIENTENCODING=UTF8).",
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    fn parse(minor: i32, body: &[u8]) -> Result<Startup, ClientError> {
        startup((3 << 16) | minor, Body(body))
    }

    #[test]
    fn parameters_are_read_and_the_database_defaults_to_the_user() {
        let s = parse(0, b"user\0ana\0extra_float_digits\x002\0\0").unwrap();
        assert_eq!((s.user(), s.minor, s.secret_length()), ("ana", 0, 4));
        assert_eq!(s.parameters["database"], "ana");
        assert_eq!(s.parameters["extra_float_digits"], "2");
        assert!(s.negotiation().is_none());
    }

    #[test]
    fn higher_minors_and_unknown_options_are_negotiated() {
        let newest = parse(2, b"user\0ana\0\0").unwrap();
        assert_eq!((newest.minor, newest.secret_length(), newest.negotiation().is_none()), (2, 32, true));
        let higher = parse(9999, b"user\0ana\0_pq_.shine\x001\0\0").unwrap();
        assert_eq!(higher.minor, 2);
        let Some(PgWireBackendMessage::NegotiateProtocolVersion(m)) = higher.negotiation() else {
            unreachable!("a higher minor is always negotiated")
        };
        assert_eq!(
            (m.newest_minor_protocol, m.unsupported_options),
            (196_610, vec!["_pq_.shine".to_owned()])
        );
        assert!(!higher.parameters.contains_key("_pq_.shine"));
    }

    #[test]
    fn encodings_other_than_utf8_are_refused() {
        for good in ["UTF8", "'utf-8'", "unicode", "auto", "SQL_ASCII", ""] {
            parse(0, format!("user\0ana\0client_encoding\0{good}\0\0").as_bytes()).unwrap();
        }
        let e = parse(0, b"user\0ana\0client_encoding\0LATIN1\0\0").unwrap_err();
        assert_eq!(e.code.as_str(), "22023");
        assert!(e.hint.unwrap().contains("UTF8"));
    }

    #[test]
    fn broken_packets_are_refused() {
        for (body, code) in [
            (&b"user\0ana\0"[..], "08P01"),
            (b"user\0ana\0\0more", "08P01"),
            (b"user", "08P01"),
            (b"user\0\xff\0\0", "08P01"),
            (b"\0", "28000"),
            (b"user\0\0\0", "28000"),
            (b"user\0ana\0replication\0database\0\0", "0A000"),
        ] {
            assert_eq!(parse(0, body).unwrap_err().code.as_str(), code, "{body:?}");
        }
        assert_eq!(startup(2 << 16, Body(b"")).unwrap_err().code.as_str(), "0A000");
    }
}
