//! The server's certificate and the TLS handshake.

use super::wire::Socket;
use pgwire::api::auth::sasl::scram::ScramServerAuth;
use pgwire::tokio::TlsAcceptor;
use pgwire::tokio::tokio_rustls::rustls::crypto::ring;
use pgwire::tokio::tokio_rustls::rustls::pki_types::pem::PemObject;
use pgwire::tokio::tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use pgwire::tokio::tokio_rustls::rustls::server::WebPkiClientVerifier;
use pgwire::tokio::tokio_rustls::rustls::server::danger::ClientCertVerifier;
use pgwire::tokio::tokio_rustls::rustls::{RootCertStore, ServerConfig};
use pgwire::tokio::tokio_rustls::server::TlsStream;
use policy::GivenFile;
use sha2::{Digest, Sha256};
use std::fmt::Display;
use std::io;
use std::sync::Arc;
use x509_certificate::X509Certificate;

/// The protocol's registered name.
const ALPN: &[u8] = b"postgresql";

/// What browsers call the protocol that the console speaks.
const HTTP: &[u8] = b"http/1.1";

/// TLS as the policy wants it.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    http: TlsAcceptor,
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
        let (of_browsers, their_key) = (chain.clone(), key.clone_key());
        let (verifier, authorities) = clients(from.client_ca.as_ref())?;
        let digest = Sha256::new().chain_update(&pem).chain_update([0]).chain_update(&secret);
        let digest = digest.chain_update([0]).chain_update(&authorities).finalize();
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .map_err(|e| about(&from.cert, e))?;
        // Browsers are asked for a password alone.
        let mut http = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(of_browsers, their_key)
            .map_err(|e| about(&from.cert, e))?;
        http.alpn_protocols = vec![HTTP.to_vec()];
        // Clients that name no protocol go on; those that name others only are refused.
        config.alpn_protocols = vec![ALPN.to_vec()];
        // A certificate with a signature that RFC 5929 gives no hash for (Ed25519) cannot be bound to; the
        // mechanism is not offered then, as in PostgreSQL.
        let mut binding = ScramServerAuth::new();
        let binding = binding.configure_certificate(&pem).is_ok().then_some(binding);
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            http: TlsAcceptor::from(Arc::new(http)),
            required: from.required,
            binding,
            digest: digest.into(),
        })
    }

    /// The same certificate for browsers.
    pub fn http(&self) -> &TlsAcceptor {
        &self.http
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
    pub(super) async fn accept_direct(&self, socket: Box<dyn Socket>) -> io::Result<Secured> {
        let stream = self.acceptor.accept(socket).await?;
        match stream.get_ref().1.alpn_protocol() {
            Some(ALPN) => Ok(Secured::of(stream)),
            _ => Err(io::Error::other("direct TLS without ALPN protocol negotiation")),
        }
    }

    /// The server's side of the handshake.
    pub(super) async fn accept(&self, socket: Box<dyn Socket>) -> io::Result<Secured> {
        Ok(Secured::of(self.acceptor.accept(socket).await?))
    }
}

/// A connection after the handshake.
pub(super) struct Secured {
    /// The socket inside.
    pub socket: Box<dyn Socket>,
    /// The common name of the client's certificate, which somebody whom we believe has signed. None where the client has
    /// shown none, or one that has not just one such name.
    pub certificate: Option<String>,
}

impl Secured {
    fn of(stream: TlsStream<Box<dyn Socket>>) -> Self {
        let shown = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
        let certificate = shown.and_then(|c| X509Certificate::from_der(c.as_ref()).ok()).and_then(|c| {
            let mut names = c.subject_name().iter_common_name();
            let name = names.next()?.to_string().ok()?;
            names.next().is_none().then_some(name)
        });
        Self { socket: Box::new(stream), certificate }
    }
}

/// Who judges clients' certificates, and the file that says whom to believe. A client need not show one: who must is said of
/// each user.
fn clients(file: Option<&GivenFile>) -> io::Result<(Arc<dyn ClientCertVerifier>, Vec<u8>)> {
    let Some(file) = file else { return Ok((WebPkiClientVerifier::no_client_auth(), Vec::new())) };
    let pem = std::fs::read(file).map_err(|e| about(file, e))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        roots.add(certificate.map_err(|e| about(file, e))?).map_err(|e| about(file, e))?;
    }
    if roots.is_empty() {
        return Err(about(file, "no certificate in PEM form in it"));
    }
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let verifier = verifier.allow_unauthenticated().build().map_err(|e| about(file, e))?;
    Ok((verifier, pem))
}

fn about(file: &GivenFile, e: impl Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("server.tls: {file}: {e}"))
}
