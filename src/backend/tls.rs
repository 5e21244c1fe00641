//! TLS with a server: rustls, with what a URL says of whom to believe, and the binding of SCRAM to the server's certificate
//! (RFC 5929, `tls-server-end-point`).

use super::alive;
use policy::{Given, ServerTls, ServerUrl, Trust};
use postgres_protocol::authentication::sasl::ChannelBinding as Binding;
use sha2::{Digest, Sha256, Sha384, Sha512};
use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Config;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use x509_certificate::{CapturedX509Certificate, SignatureAlgorithm};

/// The client's side of TLS.
#[derive(Clone)]
pub struct Tls {
    connector: TlsConnector,
    /// Names are looked at.
    named: bool,
}

/// Settings of a connection string: for tokio-postgres, and of TLS.
///
/// # Errors
/// The mistake in it, or in a file that it names, without a word of it that may be secret.
pub fn server(url: &Given<String>) -> Result<(Config, Tls), String> {
    let ServerUrl { mut config, tls } = url.reveal().parse()?;
    alive::watched(&mut config);
    // Names of files are in it.
    let unusable =
        |why| if url.is_secret() { "the files for TLS that it names are of no use".to_owned() } else { why };
    Ok((config, Tls::load(&tls).map_err(unusable)?))
}

impl Tls {
    /// Reads certificates and keys.
    ///
    /// # Errors
    /// Which file is no use, and why.
    fn load(wanted: &ServerTls) -> Result<Self, String> {
        let provider = Arc::new(ring::default_provider());
        let verifier = verifier(wanted, &provider)?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| e.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match &wanted.own {
            None => builder.with_no_client_auth(),
            Some((cert, key)) => {
                let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| about("sslkey", key, e))?;
                let chain = certificates("sslcert", cert)?;
                builder.with_client_auth_cert(chain, secret).map_err(|e| about("sslcert", cert, e))?
            }
        };
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), named: wanted.named })
    }

    /// The handshake, with the server of this name or address.
    pub(super) async fn connect<S>(&self, host: &str, socket: S) -> io::Result<Secured<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        // An address stands for a name that nobody looks at: none is sent then.
        let nameless = || Ok(ServerName::IpAddress(std::net::IpAddr::from([0, 0, 0, 0]).into()));
        let name = match ServerName::try_from(host.to_owned()) {
            Err(_) if !self.named => nameless(),
            name => name
                .map_err(|_| io::Error::other(format!("TLS: {host:?} is no name that a certificate is for"))),
        };
        let stream = self.connector.connect(name?, socket).await;
        Ok(Secured(stream.map_err(|e| io::Error::new(e.kind(), told(&e)))?))
    }
}

/// The failure of a handshake in words, with what to do where rustls names no cause.
fn told(e: &io::Error) -> String {
    let version = if e.to_string().contains("UnsupportedCertVersion") { OLD } else { "" };
    format!("TLS: {e}{version}")
}

/// Of a certificate of version 1, as Citus makes one where its server has none.
const OLD: &str = "; the server's certificate is of X.509 version 1, which nobody can check: give the server one of version 3 \
    (openssl req -x509 makes one), or write sslmode=disable where the network is nobody else's";

fn about(key: &str, file: &Path, e: impl std::fmt::Display) -> String {
    format!("{key}: {}: {e}", file.display())
}

fn certificates(key: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let pem = std::fs::read(file).map_err(|e| about(key, file, e))?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match all.map_err(|e| about(key, file, e))? {
        none if none.is_empty() => Err(about(key, file, "no certificate in PEM form in it")),
        some => Ok(some),
    }
}

fn verifier(wanted: &ServerTls, provider: &Arc<CryptoProvider>) -> Result<Arc<Verifier>, String> {
    let mut roots = RootCertStore::empty();
    match &wanted.trust {
        None => return Ok(Arc::new(Verifier { trusted: None, named: false, provider: provider.clone() })),
        Some(Trust::File(file)) => {
            for certificate in certificates("sslrootcert", file)? {
                roots.add(certificate).map_err(|e| about("sslrootcert", file, e))?;
            }
        }
        Some(Trust::System) => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
            if roots.is_empty() {
                return Err("sslrootcert=system: this system has no certificates of authorities".into());
            }
        }
    }
    let trusted = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|e| format!("sslrootcert: {e}"))?;
    Ok(Arc::new(Verifier { trusted: Some(trusted), named: wanted.named, provider: provider.clone() }))
}

/// Believes as much as the URL says. That the server has the key of the certificate that it shows is always proven.
#[derive(Debug)]
struct Verifier {
    trusted: Option<Arc<WebPkiServerVerifier>>,
    named: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(trusted) = &self.trusted else { return Ok(ServerCertVerified::assertion()) };
        match trusted.verify_server_cert(certificate, others, name, ocsp, now) {
            // The name is looked at last, when all else holds.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.named => Ok(ServerCertVerified::assertion()),
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        tokio_rustls::rustls::crypto::verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        tokio_rustls::rustls::crypto::verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// A connection under TLS.
pub struct Secured<S>(tokio_rustls::client::TlsStream<S>);

impl<S> Secured<S> {
    /// The hash of the server's certificate by the function of its signature, and SHA-256 for those that are weaker. None
    /// where the signature has no function of its own (Ed25519): then there is nothing to bind to, as in PostgreSQL.
    fn end_point(&self) -> Option<Vec<u8>> {
        let shown = self.0.get_ref().1.peer_certificates()?.first()?;
        let certificate = CapturedX509Certificate::from_der(shown.to_vec()).ok()?;
        Some(match certificate.signature_algorithm()? {
            SignatureAlgorithm::RsaSha1 | SignatureAlgorithm::RsaSha256 | SignatureAlgorithm::EcdsaSha256 => {
                Sha256::digest(shown).to_vec()
            }
            SignatureAlgorithm::RsaSha384 | SignatureAlgorithm::EcdsaSha384 => Sha384::digest(shown).to_vec(),
            SignatureAlgorithm::RsaSha512 => Sha512::digest(shown).to_vec(),
            SignatureAlgorithm::Ed25519 | SignatureAlgorithm::NoSignature(_) => return None,
        })
    }

    /// For SCRAM of the relay.
    pub(super) fn binding(&self) -> Option<Binding> {
        self.end_point().map(Binding::tls_server_end_point)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Secured<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Secured<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Secured<S> {
    fn channel_binding(&self) -> ChannelBinding {
        self.end_point().map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

/// For tokio-postgres: TLS with the host that it has chosen.
pub struct Handshake {
    tls: Tls,
    host: String,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Secured<S>;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<Handshake> {
        Ok(Handshake { tls: self.clone(), host: host.to_owned() })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Handshake {
    type Stream = Secured<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Secured<S>>> + Send>>;

    fn connect(self, socket: S) -> Self::Future {
        Box::pin(async move { self.tls.connect(&self.host, socket).await })
    }
}
