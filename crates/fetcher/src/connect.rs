//! Connections to addresses that the guard let pass.

use crate::failure::{Failure, Tls, Unreachable};
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

/// How many of a host's addresses are tried.
const MAX_TRIED: usize = 4;

/// A connection, secure or not.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Connects to the first address that takes the connection. Each gets its share of the time that is left, so that one
/// that swallows everything does not keep the others from being tried.
pub(crate) async fn tcp(addresses: &[Vetted], deadline: Instant) -> Result<TcpStream, Failure> {
    let tried = addresses.len().min(MAX_TRIED);
    for (address, left) in addresses.iter().zip((1..=tried).rev()) {
        let share =
            deadline.saturating_duration_since(Instant::now()) / u32::try_from(left).unwrap_or(u32::MAX);
        if let Ok(stream) = one(*address, share).await {
            return Ok(stream);
        }
    }
    Err(Failure::Unreachable(Unreachable::NoConnection))
}

async fn one(address: Vetted, share: Duration) -> io::Result<TcpStream> {
    let stream = timeout(share, TcpStream::connect(address.address())).await??;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Makes the connection a secure one, if the address asks for that.
pub(crate) async fn secured(
    stream: TcpStream,
    url: &Url,
    config: &Arc<ClientConfig>,
) -> Result<Box<dyn Stream>, Failure> {
    if url.scheme() != "https" {
        return Ok(Box::new(stream));
    }
    let name = server_name(url).ok_or(Failure::Tls(Tls::Broken))?;
    let stream = TlsConnector::from(config.clone()).connect(name, stream).await;
    Ok(Box::new(stream.map_err(|error| Failure::Tls(kind(&error)))?))
}

fn server_name(url: &Url) -> Option<ServerName<'static>> {
    match url.host()? {
        Host::Domain(name) => ServerName::try_from(name.to_owned()).ok(),
        Host::Ipv4(address) => Some(ServerName::IpAddress(address.into())),
        Host::Ipv6(address) => Some(ServerName::IpAddress(address.into())),
    }
}

fn kind(error: &io::Error) -> Tls {
    let certificate = match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(rustls::Error::InvalidCertificate(certificate)) => certificate,
        _ => return Tls::Broken,
    };
    match certificate {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => Tls::WrongName,
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => Tls::Expired,
        _ => Tls::Untrusted,
    }
}
