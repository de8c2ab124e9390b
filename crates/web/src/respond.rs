//! The responder: entity tags, conditional requests, content codings and cache headers of every representation.
//!
//! A handler describes a [`Representation`] and supplies the body. It never compares tags or sets these headers itself.

use crate::negotiate::Coding;
use crate::problem::Problem;
use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use model::Format;
use std::fmt::Display;
use std::io::{self, Write};

/// Smaller bodies are sent without coding: it would cost more than it saves.
const MIN_CODED_SIZE: usize = 1024;
/// Larger bodies are encoded on a blocking thread, so that other requests do not wait.
const MIN_BLOCKING_ENCODE: usize = 256 << 10;
/// The memory limit of the response cache.
const MAX_CACHED_BYTES: u64 = 64 << 20;

/// The caching that a response allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caching {
    /// Only the caller's cache may keep it, and must revalidate it.
    Private,
    /// No cache may keep it.
    Never,
    /// The same for everybody, for five minutes.
    Minutes,
    /// The same for everybody, for an hour.
    Hour,
    /// The same for everybody, and not expected to change for a week.
    Week,
    /// The content of this address never changes.
    Immutable,
}

impl Caching {
    /// Its `Cache-Control` header.
    pub(crate) fn header(self) -> (HeaderName, HeaderValue) {
        let value = match self {
            Caching::Private => "private, no-cache",
            Caching::Never => "no-store",
            Caching::Minutes => "public, max-age=300",
            Caching::Hour => "public, max-age=3600",
            Caching::Week => "public, max-age=604800, immutable",
            Caching::Immutable => "public, max-age=31536000, immutable",
        };
        (CACHE_CONTROL, HeaderValue::from_static(value))
    }
}

/// A representation of a resource: everything but its body.
pub(crate) struct Representation {
    media_type: &'static str,
    caching: Caching,
    coding: Coding,
    tag: Option<String>,
    /// The client has this version already.
    is_known: bool,
    is_inert: bool,
    cache: Option<ResponseCache>,
    cached: Option<EncodedBody>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Representation {
    /// A representation of this media type, without a coding and without a tag.
    pub(crate) fn new(media_type: &'static str, caching: Caching) -> Representation {
        Representation {
            media_type,
            caching,
            coding: Coding::Identity,
            tag: None,
            is_known: false,
            is_inert: false,
            cache: None,
            cached: None,
            headers: Vec::new(),
        }
    }

    /// A representation that only the caller may keep.
    pub(crate) fn private(format: Format) -> Representation {
        Representation::new(format.media_type(), Caching::Private)
    }

    /// Encodes the body as the request prefers.
    #[must_use]
    pub(crate) fn encoded(self, request: &HeaderMap) -> Representation {
        Representation { coding: Coding::choose(request), ..self }
    }

    /// Tags the representation with a version that is known before the body is written. The tag is weak: two responses
    /// with the same tag may differ in their links.
    #[must_use]
    pub(crate) fn versioned(self, request: &HeaderMap, version: impl Display) -> Representation {
        let tag = format!("W/\"{version}.{}\"", self.coding.as_str());
        self.tagged(request, tag)
    }

    /// Tags the representation with the digest of its content.
    #[must_use]
    pub(crate) fn digested(self, request: &HeaderMap, content: &[u8]) -> Representation {
        self.tagged(request, format!("\"{}\"", short_digest(content)))
    }

    fn tagged(self, request: &HeaderMap, tag: String) -> Representation {
        Representation { is_known: is_not_modified(request, &tag), tag: Some(tag), ..self }
    }

    /// Forbids the content to run or load anything if a browser opens it as a document.
    #[must_use]
    pub(crate) fn inert(self) -> Representation {
        Representation { is_inert: true, ..self }
    }

    /// Adds a header.
    #[must_use]
    pub(crate) fn header(mut self, header: (HeaderName, HeaderValue)) -> Representation {
        self.headers.push(header);
        self
    }

    /// Responds with the body, or with 304 if the client has this version.
    pub(crate) fn respond(self, body: impl FnOnce() -> Vec<u8>) -> Result<Response, Problem> {
        if self.is_known {
            return self.not_modified();
        }
        let body = EncodedBody::new(self.coding, body());
        self.ok(body)
    }

    /// Takes the body from the cache if it is there, and puts a new one into it.
    #[must_use]
    pub(crate) fn cached_in(self, cache: Option<&ResponseCache>) -> Representation {
        let cache = cache.filter(|_| !self.is_known).cloned();
        let cached = cache.as_ref().zip(self.tag.as_ref()).and_then(|(cache, tag)| cache.0.get(tag));
        Representation { cache, cached, ..self }
    }

    /// Whether the response needs a body: the client does not have this version, and it is not cached.
    pub(crate) fn needs_body(&self) -> bool {
        !self.is_known && self.cached.is_none()
    }

    /// The answer, with a body that may be large or cached. It has no body if the client has this version.
    pub(crate) async fn answer(mut self, body: impl FnOnce() -> Vec<u8>) -> Result<Answer, Problem> {
        let body = match self.cached.take() {
            _ if self.is_known => None,
            Some(body) => Some(body),
            None => Some(EncodedBody::new_large(self.coding, body()).await?),
        };
        let cache = self.cache.as_ref().zip(self.tag.as_ref());
        if let Some(((cache, tag), body)) = cache.zip(body.as_ref()) {
            cache.0.insert(tag.clone(), body.clone());
        }
        let (tag, bytes) = (self.tag.clone(), body.as_ref().map(|body| body.bytes.clone()));
        let response = match body {
            Some(body) => self.ok(body)?,
            None => self.not_modified()?,
        };
        Ok(Answer { tag, headers: response.headers().clone(), body: bytes })
    }

    fn ok(self, body: EncodedBody) -> Result<Response, Problem> {
        let mut response = body.bytes.into_response();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        if body.coding != Coding::Identity {
            let coding = HeaderValue::from_static(body.coding.as_str());
            response.headers_mut().insert(CONTENT_ENCODING, coding);
        }
        if self.is_inert {
            let policy = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
            response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
        }
        self.with_headers(response)
    }

    fn not_modified(self) -> Result<Response, Problem> {
        self.with_headers((StatusCode::NOT_MODIFIED, unsized_body()).into_response())
    }

    fn with_headers(self, mut response: Response) -> Result<Response, Problem> {
        let tag = self.tag.map(|tag| HeaderValue::from_str(&tag)).transpose();
        let tag = tag.map_err(|_| Problem::internal())?.map(|tag| (ETAG, tag));
        response.headers_mut().extend([self.caching.header()].into_iter().chain(tag).chain(self.headers));
        Ok(response)
    }
}

/// An answer that can be sent many times.
pub(crate) struct Answer {
    tag: Option<String>,
    headers: HeaderMap,
    body: Option<Bytes>,
}

impl Answer {
    /// The response to a request: the body, or 304 if the client has this version. `None`: the client needs the body, and
    /// there is none.
    pub(crate) fn respond(&self, request: &HeaderMap) -> Option<Response> {
        let is_known = self.tag.as_ref().is_some_and(|tag| is_not_modified(request, tag));
        let mut response = match &self.body {
            _ if is_known => (StatusCode::NOT_MODIFIED, unsized_body()).into_response(),
            Some(body) => body.clone().into_response(),
            None => return None,
        };
        *response.headers_mut() = self.headers.clone();
        if is_known {
            for name in [CONTENT_TYPE, CONTENT_ENCODING] {
                response.headers_mut().remove(name);
            }
        }
        Some(response)
    }

    /// The approximate size in memory.
    pub(crate) fn bytes(&self) -> usize {
        let headers: usize = self.headers.values().map(|value| value.len() + 64).sum();
        headers + self.body.as_ref().map_or(0, Bytes::len)
    }
}

/// An empty body without a length, because that would be taken for the length of the content.
fn unsized_body() -> Body {
    Body::from_stream(futures::stream::empty::<io::Result<Bytes>>())
}

/// The start of a digest, long enough that two contents do not share it by chance.
pub(crate) fn short_digest(content: &[u8]) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, content);
    URL_SAFE_NO_PAD.encode(digest.as_ref().first_chunk::<12>().copied().unwrap_or_default())
}

/// Whether `If-None-Match` contains the tag (RFC 9110, 13.1.2; weak comparison).
fn is_not_modified(headers: &HeaderMap, tag: &str) -> bool {
    let opaque = |tag: &str| tag.strip_prefix("W/").unwrap_or(tag).to_owned();
    let ours = opaque(tag);
    let lines = headers.get_all(IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(tags).any(|theirs| theirs == "*" || opaque(theirs) == ours)
}

/// The tags of a list. Commas inside quotes do not separate.
fn tags(line: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let parts = line.split(move |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    });
    parts.map(str::trim).filter(|tag| !tag.is_empty())
}

/// A cache of encoded response bodies by entity tag.
///
/// Clients poll the same page again and again. Its tag is known before anything is rendered and covers everything that
/// the body depends on, except links. So all callers can share a cached body.
#[derive(Clone)]
pub(crate) struct ResponseCache(moka::sync::Cache<String, EncodedBody>);

impl ResponseCache {
    pub(crate) fn new() -> ResponseCache {
        let weigh = |tag: &String, body: &EncodedBody| {
            u32::try_from(tag.len() + body.bytes.len() + 128).unwrap_or(u32::MAX)
        };
        ResponseCache(moka::sync::Cache::builder().max_capacity(MAX_CACHED_BYTES).weigher(weigh).build())
    }
}

/// Encodes a body as the request prefers. Returns it with its `Content-Encoding`.
pub(crate) fn encode(request: &HeaderMap, body: Vec<u8>) -> (Bytes, Option<HeaderValue>) {
    let EncodedBody { coding, bytes } = EncodedBody::new(Coding::choose(request), body);
    (bytes, (coding != Coding::Identity).then(|| HeaderValue::from_static(coding.as_str())))
}

/// A body and the coding that was applied to it.
#[derive(Clone)]
struct EncodedBody {
    coding: Coding,
    bytes: Bytes,
}

impl EncodedBody {
    fn new(coding: Coding, body: Vec<u8>) -> EncodedBody {
        let coded = match coding {
            _ if body.len() < MIN_CODED_SIZE => None,
            Coding::Identity => None,
            Coding::Gzip => gzip(&body).ok(),
            Coding::Brotli => brotli(&body).ok(),
            Coding::Zstd => zstd::bulk::compress(&body, 3).ok(),
        };
        match coded {
            Some(coded) => EncodedBody { coding, bytes: coded.into() },
            None => EncodedBody { coding: Coding::Identity, bytes: body.into() },
        }
    }

    async fn new_large(coding: Coding, body: Vec<u8>) -> Result<EncodedBody, Problem> {
        if coding == Coding::Identity || body.len() <= MIN_BLOCKING_ENCODE {
            return Ok(EncodedBody::new(coding, body));
        }
        let encoded = tokio::task::spawn_blocking(move || EncodedBody::new(coding, body)).await;
        encoded.map_err(|_| Problem::internal())
    }
}

fn gzip(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder =
        flate2::write::GzEncoder::new(Vec::with_capacity(body.len() / 4), flate2::Compression::new(5));
    encoder.write_all(body)?;
    encoder.finish()
}

fn brotli(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut coded = Vec::with_capacity(body.len() / 4);
    // Brotli costs about as much as gzip up to quality 4.
    let parameters = brotli::enc::BrotliEncoderParams { quality: 4, lgwin: 18, ..Default::default() };
    brotli::BrotliCompress(&mut &body[..], &mut coded, &parameters)?;
    Ok(coded)
}
