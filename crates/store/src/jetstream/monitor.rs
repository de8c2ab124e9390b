//! Asks a server's monitor about its settings. It is plain HTTP in the service's own network, one small request.

use std::io::{Error, Result};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const TIMEOUT: Duration = Duration::from_secs(2);
const LARGEST_ANSWER: u64 = 1 << 20;

/// Whether the server syncs every write before it acknowledges it.
pub(super) async fn syncs_always(address: &str) -> Result<bool> {
    let answer = tokio::time::timeout(TIMEOUT, ask(address))
        .await
        .map_err(|_| Error::other("no answer in time"))??;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or_else(|| Error::other("not an answer"))?;
    let value: serde_json::Value = serde_json::from_str(body).map_err(Error::other)?;
    let config = value.get("config").ok_or_else(|| Error::other("an answer without a configuration"))?;
    Ok(config.get("sync_always").and_then(serde_json::Value::as_bool).unwrap_or(false))
}

async fn ask(address: &str) -> Result<String> {
    let address = address.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).await?;
    // Version 1.0, so that the answer comes whole and the connection ends with it.
    let request = format!("GET /jsz?config=true HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.take(LARGEST_ANSWER).read_to_string(&mut answer).await?;
    Ok(answer)
}
