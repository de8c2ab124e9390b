//! `tofrom health`

use super::Global;
use super::output::line;
use anyhow::{Context, bail};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Ask a running server whether it is ready
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  tofrom health --config /etc/tofrom/tofrom.toml\n  tofrom health --admin 127.0.0.1:8444\n\n\
                        Prints the response of /readyz, and exits with 1 unless it is ready. For health checks of\n\
                        containers, which have no other client."
)]
pub(super) struct Args {
    /// Address of the admin listener [default: the setting admin_listen]
    #[arg(long, value_name = "ADDR")]
    admin: Option<SocketAddr>,
}

/// Time for the whole exchange: /readyz takes at most a few seconds.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum size of the response.
const MAX_RESPONSE: u64 = 64 << 10;

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let address = match args.admin {
        Some(address) => address,
        None => global.settings()?.admin_listen()?,
    };
    let asked = tokio::time::timeout(TIMEOUT, ask(address)).await;
    let response = asked
        .with_context(|| format!("no response from {address} within {} s", TIMEOUT.as_secs()))?
        .with_context(|| format!("cannot reach the admin listener at {address}: is the server running?"))?;
    let (head, body) = response.split_once("\r\n\r\n").unwrap_or((&response, ""));
    line(body.trim_end())?;
    if head.split(' ').nth(1) != Some("200") {
        bail!("the server is not ready");
    }
    Ok(())
}

async fn ask(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(connectable(address)).await?;
    let request = format!("GET /readyz HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut response = String::new();
    stream.take(MAX_RESPONSE).read_to_string(&mut response).await?;
    Ok(response)
}

/// A listener on all addresses is reached by the loopback address.
fn connectable(address: SocketAddr) -> SocketAddr {
    let mut address = address;
    if address.ip().is_unspecified() {
        address.set_ip(match address.is_ipv4() {
            true => std::net::Ipv4Addr::LOCALHOST.into(),
            false => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}
