//! The behaviour of a path.

use crate::coding::Coding;
use crate::recorded_request::RecordedRequest;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::sleep;

/// The behaviour of a path. The connection is closed after each response.
#[derive(Clone)]
pub enum Behaviour {
    /// A correct response. A request with a matching validator gets 304.
    Respond(CannedResponse),
    /// Sends these bytes unchanged.
    Raw(Vec<u8>),
    /// Sends the head, and then the body byte by byte with a pause after each.
    Slow(CannedResponse, Duration),
    /// An endless body.
    Endless,
    /// An endless head.
    EndlessHead,
    /// Reads the request and never responds.
    Silent,
    /// Closes the connection after reading the request.
    HangsUp,
    /// One behaviour after the other, one for each request; the last one is repeated.
    InTurn(Vec<Behaviour>),
    /// Computed from the request.
    Dynamic(Arc<dyn Fn(&RecordedRequest) -> Behaviour + Send + Sync>),
}

/// A complete response.
#[derive(Clone, Debug)]
pub struct CannedResponse {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl CannedResponse {
    /// A response with a status and no body.
    pub fn status(status: u16) -> CannedResponse {
        CannedResponse { status, headers: Vec::new(), body: Vec::new() }
    }

    /// A feed.
    pub fn feed(body: impl Into<Vec<u8>>) -> CannedResponse {
        let response = CannedResponse { body: body.into(), ..CannedResponse::status(200) };
        response.with("Content-Type", "application/atom+xml; charset=utf-8")
    }

    /// A page.
    pub fn page(body: impl Into<Vec<u8>>) -> CannedResponse {
        let response = CannedResponse { body: body.into(), ..CannedResponse::status(200) };
        response.with("Content-Type", "text/html; charset=utf-8")
    }

    /// A redirect.
    pub fn redirect(status: u16, to: impl Into<String>) -> CannedResponse {
        CannedResponse::status(status).with("Location", to)
    }

    /// Adds a header.
    pub fn with(mut self, name: &str, value: impl Into<String>) -> CannedResponse {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Replaces the `Content-Type`.
    pub fn retyped(mut self, content_type: &str) -> CannedResponse {
        self.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        self.with("Content-Type", content_type)
    }

    /// Compresses the body; may be called twice.
    pub fn coded(mut self, coding: Coding) -> CannedResponse {
        self.body = coding.encode(&self.body);
        self.with("Content-Encoding", coding.name())
    }

    /// Replaces the body with a compressed one.
    pub fn with_coded_body(mut self, coding: Coding, body: Vec<u8>) -> CannedResponse {
        self.body = body;
        self.with("Content-Encoding", coding.name())
    }

    fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name));
        header.map(|(_, value)| value.as_str())
    }

    /// Compares validators: `If-None-Match` precedes `If-Modified-Since`.
    fn is_current(&self, request: &RecordedRequest) -> bool {
        match request.header("if-none-match") {
            Some(known) => self.header("etag") == Some(known),
            None => {
                let known = request.header("if-modified-since");
                known.is_some() && self.header("last-modified") == known
            }
        }
    }

    fn head(&self, status: u16, length: usize) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {status} Test\r\nConnection: close\r\n");
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if status != 304 {
            head.push_str(&format!("Content-Length: {length}\r\n"));
        }
        head.push_str("\r\n");
        head.into_bytes()
    }
}

impl From<CannedResponse> for Behaviour {
    fn from(response: CannedResponse) -> Behaviour {
        Behaviour::Respond(response)
    }
}

impl Behaviour {
    /// Responds to a request. `in_flight` is dropped just before the last byte: after that byte the client may
    /// start its next request before this task continues.
    pub(crate) async fn behave<I>(
        self,
        request: &RecordedRequest,
        stream: &mut (impl AsyncWrite + Unpin),
        in_flight: I,
    ) -> io::Result<()> {
        match self {
            Behaviour::Respond(response) if response.status == 200 && response.is_current(request) => {
                finish(stream, &response.head(304, 0), in_flight).await?;
            }
            Behaviour::Respond(response) => {
                let head = response.head(response.status, response.body.len());
                finish(stream, &[head, response.body].concat(), in_flight).await?;
            }
            Behaviour::Raw(bytes) => finish(stream, &bytes, in_flight).await?,
            Behaviour::Slow(response, pause) => {
                stream.write_all(&response.head(response.status, response.body.len())).await?;
                let (last, body) = response.body.split_last().expect("a slow body is not empty");
                for byte in body {
                    stream.write_all(&[*byte]).await?;
                    stream.flush().await?;
                    sleep(pause).await;
                }
                finish(stream, &[*last], in_flight).await?;
            }
            Behaviour::Endless => {
                stream.write_all(b"HTTP/1.1 200 Test\r\nConnection: close\r\n\r\n").await?;
                loop {
                    stream.write_all(&[b' '; 4_096]).await?;
                }
            }
            Behaviour::EndlessHead => {
                stream.write_all(b"HTTP/1.1 200 Test\r\n").await?;
                loop {
                    stream.write_all(b"X-More: and more, and more, and more, and more\r\n").await?;
                }
            }
            Behaviour::Silent => std::future::pending().await,
            Behaviour::HangsUp => drop(in_flight),
            Behaviour::InTurn(_) | Behaviour::Dynamic(_) => unreachable!("resolved by the server"),
        }
        stream.shutdown().await
    }
}

async fn finish<I>(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8], in_flight: I) -> io::Result<()> {
    let (last, before) = bytes.split_last().expect("a response is not empty");
    stream.write_all(before).await?;
    drop(in_flight);
    stream.write_all(&[*last]).await?;
    stream.flush().await
}
