//! Answers every request with the same bytes, through the service's own listener: the minimum cost of an answer of that
//! size with this TLS and HTTP stack. `scripts/measure-request` compares the service with it.
//!
//! ```sh
//! cargo run --release -p tofrom --example static_answer -- 24000
//! ```
//!
//! Prints its address when it is ready, and runs until it is stopped.

use anyhow::Context;
use axum::body::Bytes;
use axum::routing::any;
use http::header::CONTENT_TYPE;
use listen::{Certificate, CertificateSource, Limits, Listeners, TlsFiles, serve};
use std::io::Write;
use std::path::Path;
use tofrom::cli::serve::stop_signal;
use tokio::net::TcpListener;

/// The same as the service's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let size: usize = std::env::args().nth(1).context("expected the number of bytes")?.parse()?;
    let stop = stop_signal()?;
    let certificate = certificate()?;
    let socket = TcpListener::bind("127.0.0.1:0").await?;
    let address = socket.local_addr()?;
    let body = Bytes::from(vec![b'x'; size]);
    let router = axum::Router::new()
        .fallback(any(move || std::future::ready(([(CONTENT_TYPE, "application/json")], body.clone()))));
    let mut out = std::io::stdout();
    writeln!(out, "{address}")?;
    out.flush()?;
    let listeners = Listeners { https: Some((socket, certificate)), ..Listeners::default() };
    Ok(serve(listeners, router, Limits::default(), stop).await?)
}

/// A temporary certificate: its files are deleted once they are read.
fn certificate() -> anyhow::Result<Certificate> {
    let folder = std::env::temp_dir().join(format!("tofrom-static-answer-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let loaded = load(&folder);
    std::fs::remove_dir_all(&folder)?;
    loaded
}

fn load(folder: &Path) -> anyhow::Result<Certificate> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()])?;
    let files = TlsFiles { certificate: folder.join("cert.pem"), private_key: folder.join("key.pem") };
    std::fs::write(&files.certificate, made.cert.pem())?;
    std::fs::write(&files.private_key, made.signing_key.serialize_pem())?;
    Ok(Certificate::load(&CertificateSource::Files(files))?)
}
