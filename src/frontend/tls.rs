//! The server's certificate and the TLS handshake.

use super::wire::Socket;
use pgwire::api::auth::sasl::scram::ScramServerAuth;
use pgwire::tokio::TlsAcceptor;
use pgwire::tokio::tokio_rustls::rustls::ServerConfig;
use pgwire::tokio::tokio_rustls::rustls::crypto::ring;
use pgwire::tokio::tokio_rustls::rustls::pki_types::pem::PemObject;
use pgwire::tokio::tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The protocol's registered name.
const ALPN: &[u8] = b"postgresql";

/// TLS as the policy wants it.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    required: bool,
    binding: Option<ScramServerAuth>,
    digest: [u8; 32],
}

impl Tls {
    /// Reads certificate and key. Errors name the file.
    pub fn load(from: &policy::Tls) -> io::Result<Self> {
        let pem = std::fs::read(&from.cert).map_err(|e| about(&from.cert, e))?;
        let chain = CertificateDer::pem_slice_iter(&pem)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|e| about(&from.cert, e))?;
        if chain.is_empty() {
            return Err(about(&from.cert, "no certificate in PEM form in it"));
        }
        let secret = std::fs::read(&from.key).map_err(|e| about(&from.key, e))?;
        let key = PrivateKeyDer::from_pem_slice(&secret).map_err(|e| about(&from.key, e))?;
        let digest = Sha256::new().chain_update(&pem).chain_update([0]).chain_update(&secret).finalize();
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|e| about(&from.cert, e))?;
        // Clients that name no protocol go on; those that name others only are refused.
        config.alpn_protocols = vec![ALPN.to_vec()];
        // A certificate with a signature that RFC 5929 gives no hash for (Ed25519) cannot be bound to; the
        // mechanism is not offered then, as in PostgreSQL.
        let mut binding = ScramServerAuth::new();
        let binding = binding.configure_certificate(&pem).is_ok().then_some(binding);
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            required: from.required,
            binding,
            digest: digest.into(),
        })
    }

    /// Tells one certificate and key from another.
    pub(super) fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Whether plain connections are refused.
    pub(super) fn required(&self) -> bool {
        self.required
    }

    /// SCRAM bound to this certificate, for SCRAM-SHA-256-PLUS.
    pub(super) fn binding(&self) -> Option<&ScramServerAuth> {
        self.binding.as_ref()
    }

    /// The server's side of a handshake that begins with the connection. The client must name the protocol: bytes that were
    /// meant for another kind of server are not taken for ours.
    pub(super) async fn accept_direct(&self, socket: Box<dyn Socket>) -> io::Result<Box<dyn Socket>> {
        let stream = self.acceptor.accept(socket).await?;
        match stream.get_ref().1.alpn_protocol() {
            Some(ALPN) => Ok(Box::new(stream)),
            _ => Err(io::Error::other("direct TLS without ALPN protocol negotiation")),
        }
    }

    /// The server's side of the handshake.
    pub(super) async fn accept(&self, socket: Box<dyn Socket>) -> io::Result<Box<dyn Socket>> {
        Ok(Box::new(self.acceptor.accept(socket).await?))
    }
}

fn about(file: &Path, e: impl Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("server.tls: {}: {e}", file.display()))
}
