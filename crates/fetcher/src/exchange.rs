//! One request and its response on one connection, which is closed afterwards.

use crate::body::BodyDecoder;
use crate::connect::Stream;
use crate::error::FetchError;
use crate::rules::Rules;
use http::header::{CONTENT_ENCODING, HeaderMap};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::pin::pin;
use tokio::time::timeout;

/// The longest head of a response, in bytes.
const MAX_HEAD: usize = 64 << 10;
/// How much of a body is kept for the log, in bytes.
const EXCERPT: usize = 4 << 10;

/// The part of the body to read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BodyMode {
    /// The complete, decompressed body, if the status is 200.
    Content,
    /// The first bytes, unchanged, for the log.
    Excerpt,
    /// Nothing: the status says it all.
    Nothing,
}

/// The response on one connection.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// Sends the request and reads the response.
pub(crate) async fn exchange(
    stream: Box<dyn Stream>,
    request: Request<Full<Bytes>>,
    body_mode: BodyMode,
    rules: &Rules,
) -> Result<Reply, FetchError> {
    let mut builder = http1::Builder::new();
    builder.max_header_size(MAX_HEAD).max_buf_size(MAX_HEAD);
    let (mut sender, connection) =
        builder.handshake(TokioIo::new(stream)).await.map_err(|error| failure(&error))?;
    let mut connection = pin!(connection);
    let mut work = pin!(async {
        let response = timeout(rules.head, sender.send_request(request)).await;
        let response = response.map_err(|_| FetchError::TooSlow)?.map_err(|error| failure(&error))?;
        let (head, body) = response.into_parts();
        let body = match body_mode {
            BodyMode::Content if head.status == StatusCode::OK => {
                full_body(body, &head.headers, rules).await?
            }
            BodyMode::Content | BodyMode::Nothing => Vec::new(),
            BodyMode::Excerpt => excerpt(body).await,
        };
        Ok(Reply { status: head.status, headers: head.headers, body })
    });
    // There is no separate task: when the work ends or is cancelled, the connection is dropped with it.
    tokio::select! {
        biased;
        reply = &mut work => reply,
        // The connection may end before the rest of the body is read.
        _ = &mut connection => work.await,
    }
}

async fn full_body(mut body: Incoming, headers: &HeaderMap, rules: &Rules) -> Result<Vec<u8>, FetchError> {
    if body.size_hint().lower() > rules.max_bytes as u64 {
        return Err(FetchError::TooLarge);
    }
    let codings: Result<Vec<&str>, _> =
        headers.get_all(CONTENT_ENCODING).iter().map(|value| value.to_str()).collect();
    let codings = codings.map_err(|_| FetchError::InvalidResponse("its content coding is not readable"))?;
    let mut decoder = BodyDecoder::new(&codings.join(","), rules.max_bytes, rules.max_ratio)?;
    while let Some(frame) = body.frame().await {
        if let Ok(bytes) = frame.map_err(|error| failure(&error))?.into_data() {
            decoder.push(&bytes)?;
        }
    }
    decoder.finish()
}

async fn excerpt(mut body: Incoming) -> Vec<u8> {
    let mut excerpt_bytes = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        if let Ok(bytes) = frame.into_data() {
            let room = EXCERPT.saturating_sub(excerpt_bytes.len());
            excerpt_bytes.extend(bytes.iter().take(room));
        }
        if excerpt_bytes.len() >= EXCERPT {
            break;
        }
    }
    excerpt_bytes
}

fn failure(error: &hyper::Error) -> FetchError {
    if error.is_parse_too_large() {
        FetchError::InvalidResponse("its head is too long")
    } else if error.is_parse() {
        FetchError::InvalidResponse("it is not HTTP")
    } else {
        FetchError::InvalidResponse("it ended too early")
    }
}
