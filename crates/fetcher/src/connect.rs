//! Connections to addresses that the guard accepted.

use crate::error::{FetchError, TlsError, Unreachable};
use crate::guard::Vetted;
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use url::{Host, Url};

/// The most addresses of a host that are tried.
const MAX_TRIED: usize = 4;

/// A connection with or without TLS.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Connects to the first address that accepts the connection. Each address gets its share of the remaining
/// time, so an address that drops packets does not use it up.
pub(crate) async fn tcp(addresses: &[Vetted], deadline: Instant) -> Result<TcpStream, FetchError> {
    let tried = addresses.len().min(MAX_TRIED);
    for (address, left) in addresses.iter().zip((1..=tried).rev()) {
        let share =
            deadline.saturating_duration_since(Instant::now()) / u32::try_from(left).unwrap_or(u32::MAX);
        if let Ok(stream) = connect_one(*address, share).await {
            return Ok(stream);
        }
    }
    Err(FetchError::Unreachable(Unreachable::NoConnection))
}

async fn connect_one(address: Vetted, share: Duration) -> io::Result<TcpStream> {
    let stream = timeout(share, TcpStream::connect(address.address())).await??;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Starts TLS if the scheme is https.
pub(crate) async fn secured(
    stream: TcpStream,
    url: &Url,
    config: &Arc<ClientConfig>,
) -> Result<Box<dyn Stream>, FetchError> {
    if url.scheme() != "https" {
        return Ok(Box::new(stream));
    }
    let name = server_name(url).ok_or(FetchError::Tls(TlsError::Broken))?;
    let stream = TlsConnector::from(config.clone()).connect(name, stream).await;
    Ok(Box::new(stream.map_err(|error| FetchError::Tls(kind(&error)))?))
}

fn server_name(url: &Url) -> Option<ServerName<'static>> {
    match url.host()? {
        Host::Domain(name) => ServerName::try_from(name.to_owned()).ok(),
        Host::Ipv4(address) => Some(ServerName::IpAddress(address.into())),
        Host::Ipv6(address) => Some(ServerName::IpAddress(address.into())),
    }
}

fn kind(error: &io::Error) -> TlsError {
    let certificate = match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(rustls::Error::InvalidCertificate(certificate)) => certificate,
        _ => return TlsError::Broken,
    };
    match certificate {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            TlsError::WrongName
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => TlsError::Expired,
        _ => TlsError::Untrusted,
    }
}
