//! Reads the settings of a NATS server from its monitoring endpoint: one small request over plain HTTP in the
//! internal network.

use std::io::{Error, Result};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const TIMEOUT: Duration = Duration::from_secs(2);
const MAX_RESPONSE_SIZE: u64 = 1 << 20;

/// Whether the server syncs every write before it acknowledges it.
pub(super) async fn syncs_always(address: &str) -> Result<bool> {
    let response =
        tokio::time::timeout(TIMEOUT, request(address)).await.map_err(|_| Error::other("timed out"))??;
    let (_, body) = response.split_once("\r\n\r\n").ok_or_else(|| Error::other("invalid HTTP response"))?;
    let value: serde_json::Value = serde_json::from_str(body).map_err(Error::other)?;
    let config = value.get("config").ok_or_else(|| Error::other("response without a configuration"))?;
    Ok(config.get("sync_always").and_then(serde_json::Value::as_bool).unwrap_or(false))
}

async fn request(address: &str) -> Result<String> {
    let address = address.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).await?;
    // HTTP 1.0, so that the response is not chunked and the connection closes after it.
    let request = format!("GET /jsz?config=true HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut response = String::new();
    stream.take(MAX_RESPONSE_SIZE).read_to_string(&mut response).await?;
    Ok(response)
}
