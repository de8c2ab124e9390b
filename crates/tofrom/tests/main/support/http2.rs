//! HTTP/2 connections under full control of a test, from any local address.

use axum::body::Bytes;
use h2::client::{SendRequest, handshake};
use http::Request;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The service's address and TLS configuration.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    tls: TlsConnector,
}

impl Target {
    /// Speaks one protocol, `h2` or `http/1.1`.
    pub(crate) fn new(address: SocketAddr, ca: &Path, protocol: &str) -> Target {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(ca).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let mut tls = builder.with_root_certificates(roots).with_no_client_auth();
        tls.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        Target { address, tls: TlsConnector::from(Arc::new(tls)) }
    }

    /// A connection from that address.
    pub(crate) async fn connect(&self, from: IpAddr) -> io::Result<TlsStream<TcpStream>> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::new(from, 0))?;
        let stream = socket.connect(self.address).await?;
        stream.set_nodelay(true)?;
        self.tls.connect(ServerName::from(self.address.ip()), stream).await
    }

    /// A connection of HTTP/2 that is driven in the background.
    pub(crate) async fn http2(&self, from: IpAddr) -> io::Result<SendRequest<Bytes>> {
        let (requests, connection) = handshake(self.connect(from).await?).await.map_err(io::Error::other)?;
        tokio::spawn(async move { drop(connection.await) });
        Ok(requests)
    }

    /// A request for that path.
    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Request<()> {
        let start = Request::builder().method(method).uri(format!("https://{}{path}", self.address));
        let built = headers.iter().fold(start, |request, (name, value)| request.header(*name, *value));
        built.body(()).unwrap()
    }
}
