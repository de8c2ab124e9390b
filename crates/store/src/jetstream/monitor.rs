//! Reads the settings of a NATS server from its monitoring endpoint: one small request over HTTP or HTTPS.

use crate::links::ClientTls;
use rustls::pki_types::ServerName;
use std::io::{Error, Result};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

const TIMEOUT: Duration = Duration::from_secs(2);
const MAX_RESPONSE_SIZE: u64 = 1 << 20;

/// Whether the server syncs every write before it acknowledges it.
pub(super) async fn syncs_always(address: &str, tls: Option<&ClientTls>) -> Result<bool> {
    let response = tokio::time::timeout(TIMEOUT, request(address, tls))
        .await
        .map_err(|_| Error::other("timed out"))??;
    let (_, body) = response.split_once("\r\n\r\n").ok_or_else(|| Error::other("invalid HTTP response"))?;
    let value: serde_json::Value = serde_json::from_str(body).map_err(Error::other)?;
    let config = value.get("config").ok_or_else(|| Error::other("response without a configuration"))?;
    Ok(config.get("sync_always").and_then(serde_json::Value::as_bool).unwrap_or(false))
}

async fn request(address: &str, tls: Option<&ClientTls>) -> Result<String> {
    let Some(encrypted) = address.strip_prefix("https://") else {
        let address = address.trim_start_matches("http://").trim_end_matches('/');
        return get(address, TcpStream::connect(address).await?).await;
    };
    let address = encrypted.trim_end_matches('/');
    let tls = tls.ok_or_else(|| Error::other("https needs nats.tls.ca"))?;
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']);
    let name = ServerName::try_from(host.to_owned()).map_err(Error::other)?;
    let connector = TlsConnector::from(tls.client_config().map_err(Error::other)?);
    get(address, connector.connect(name, TcpStream::connect(address).await?).await?).await
}

async fn get(host: &str, mut stream: impl AsyncRead + AsyncWrite + Unpin) -> Result<String> {
    // HTTP 1.0, so that the response is not chunked and the connection closes after it.
    let request = format!("GET /jsz?config=true HTTP/1.0\r\nHost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut response = String::new();
    stream.take(MAX_RESPONSE_SIZE).read_to_string(&mut response).await?;
    Ok(response)
}
