//! A client for a hub's requests: sends one request with or without TLS and reads the complete response.

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::Url;

/// Sends requests.
#[derive(Clone)]
pub(crate) struct Caller {
    roots: RootCertStore,
}

impl Caller {
    /// A caller that trusts these authorities.
    pub(crate) fn new(roots: RootCertStore) -> Caller {
        Caller { roots }
    }

    /// Sends a request and returns status and body.
    pub(crate) async fn call(
        &self,
        method: &str,
        url: &Url,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<(u16, Vec<u8>)> {
        let host = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or_default();
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let mut request = format!("{method} {}{query} HTTP/1.1\r\nHost: {host}:{port}\r\n", url.path());
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!("Connection: close\r\nContent-Length: {}\r\n\r\n", body.len()));
        let request = [request.as_bytes(), body].concat();
        let stream = TcpStream::connect((host.trim_matches(['[', ']']), port)).await?;
        if url.scheme() == "http" {
            return talk(stream, &request).await;
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(self.roots.clone())
            .with_no_client_auth();
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        talk(TlsConnector::from(Arc::new(config)).connect(name, stream).await?, &request).await
    }
}

/// The response must have a length or end with the connection: chunked encoding is not supported.
async fn talk(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &[u8]) -> io::Result<(u16, Vec<u8>)> {
    stream.write_all(request).await?;
    let mut answer = Vec::new();
    // Some servers close the connection without a TLS close_notify.
    let _ = stream.read_to_end(&mut answer).await;
    let text = String::from_utf8_lossy(&answer);
    let status = text.get(9..12).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| io::Error::other("no status"))?;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(answer.len());
    Ok((status, answer.get(end + 4..).unwrap_or_default().to_vec()))
}
