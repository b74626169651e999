//! Addresses of databases, and TLS for connections to them: with the system's certificates or those of a file, and always
//! checked in full.

mod address;

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use rustls_platform_verifier::ConfigVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as Tls;

pub use self::address::{PostgresAddress, TrustedRoots};

#[derive(Clone)]
pub struct Rustls(Arc<ClientConfig>);

impl Rustls {
    /// The error says what is wrong with the certificates that are to be trusted.
    pub fn new(roots: &TrustedRoots) -> Result<Self, String> {
        let config = match roots {
            TrustedRoots::System => {
                ClientConfig::with_platform_verifier().map_err(|error| error.to_string())?
            }
            TrustedRoots::File(path) => {
                ClientConfig::builder().with_root_certificates(read_roots(path)?).with_no_client_auth()
            }
        };
        Ok(Self(Arc::new(config)))
    }
}

fn read_roots(path: &Path) -> Result<RootCertStore, String> {
    let unreadable =
        |why: String| format!("the file of `sslrootcert` cannot be used: {}: {why}", path.display());
    let mut roots = RootCertStore::empty();
    let found = CertificateDer::pem_file_iter(path).map_err(|error| unreadable(error.to_string()))?;
    for certificate in found {
        let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
        roots.add(certificate).map_err(|error| unreadable(error.to_string()))?;
    }
    if roots.is_empty() { Err(unreadable("it holds no certificate".into())) } else { Ok(roots) }
}

/// What an operator can do about a handshake that failed.
fn explain(error: io::Error) -> io::Error {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    let hint = match cause {
        Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
            "its issuer is not trusted here; name the file of its authority with `sslrootcert=/path/ca.pem`"
        }
        Some(rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => "use a name of the host that it is for",
        Some(rustls::Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        )) => "it must be renewed",
        _ => return error,
    };
    io::Error::new(error.kind(), format!("the server's certificate is refused: {error}; {hint}"))
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Rustls {
    type Stream = Stream<S>;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Handshake> {
        let name = ServerName::try_from(domain.to_owned()).map_err(io::Error::other)?;
        Ok(Handshake { config: self.0.clone(), name })
    }
}

pub struct Handshake {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Handshake {
    type Stream = Stream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let connecting = TlsConnector::from(self.config).connect(self.name, stream);
        Box::pin(async move { Ok(Stream(Box::new(connecting.await.map_err(explain)?))) })
    }
}

/// An encrypted connection.
pub struct Stream<S>(Box<Tls<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Stream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(cx)
    }
}
