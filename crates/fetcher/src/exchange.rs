//! One request and its answer on one connection, which is closed after it.

use crate::body::Intake;
use crate::connect::Stream;
use crate::failure::Failure;
use crate::rules::Rules;
use http::header::{CONTENT_ENCODING, HeaderMap};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::pin::pin;
use tokio::time::timeout;

/// The longest head of an answer, in bytes.
const MAX_HEAD: usize = 64 << 10;
/// How much of an answer is kept for the log.
const EXCERPT: usize = 4 << 10;

/// Which part of an answer's body is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// All of it, inflated, if the status is 200.
    Content,
    /// The first few bytes as they are, for the log.
    Excerpt,
}

/// What came back on one connection.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// Sends the request and reads what is wanted of the answer.
pub(crate) async fn exchange(
    stream: Box<dyn Stream>,
    request: Request<Full<Bytes>>,
    wanted: Wanted,
    rules: &Rules,
) -> Result<Reply, Failure> {
    let mut builder = http1::Builder::new();
    builder.max_header_size(MAX_HEAD).max_buf_size(MAX_HEAD);
    let (mut sender, connection) =
        builder.handshake(TokioIo::new(stream)).await.map_err(|error| failure(&error))?;
    let mut connection = pin!(connection);
    let mut work = pin!(async {
        let response = timeout(rules.head, sender.send_request(request)).await;
        let response = response.map_err(|_| Failure::TooSlow)?.map_err(|error| failure(&error))?;
        let (head, body) = response.into_parts();
        let body = match wanted {
            Wanted::Content if head.status == StatusCode::OK => whole(body, &head.headers, rules).await?,
            Wanted::Content => Vec::new(),
            Wanted::Excerpt => excerpt(body).await,
        };
        Ok(Reply { status: head.status, headers: head.headers, body })
    });
    // No task of its own: when the work is done, or given up, the connection is gone with it.
    tokio::select! {
        biased;
        reply = &mut work => reply,
        // It may end while the last of the body still waits to be read.
        _ = &mut connection => work.await,
    }
}

async fn whole(mut body: Incoming, headers: &HeaderMap, rules: &Rules) -> Result<Vec<u8>, Failure> {
    if body.size_hint().lower() > rules.max_bytes as u64 {
        return Err(Failure::TooLarge);
    }
    let codings: Result<Vec<&str>, _> =
        headers.get_all(CONTENT_ENCODING).iter().map(|value| value.to_str()).collect();
    let codings = codings.map_err(|_| Failure::Garbled("its compression has no readable name"))?;
    let mut intake = Intake::new(&codings.join(","), rules.max_bytes, rules.max_ratio)?;
    while let Some(frame) = body.frame().await {
        if let Ok(bytes) = frame.map_err(|error| failure(&error))?.into_data() {
            intake.take(&bytes)?;
        }
    }
    intake.finish()
}

async fn excerpt(mut body: Incoming) -> Vec<u8> {
    let mut kept = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        if let Ok(bytes) = frame.into_data() {
            let room = EXCERPT.saturating_sub(kept.len());
            kept.extend(bytes.iter().take(room));
        }
        if kept.len() >= EXCERPT {
            break;
        }
    }
    kept
}

fn failure(error: &hyper::Error) -> Failure {
    if error.is_parse_too_large() {
        Failure::Garbled("its head is too long")
    } else if error.is_parse() {
        Failure::Garbled("it is not HTTP")
    } else {
        Failure::Garbled("it ended too early")
    }
}
