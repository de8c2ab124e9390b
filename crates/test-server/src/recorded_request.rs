//! A recorded request.

use std::time::Instant;
use tokio::io::{AsyncRead, AsyncReadExt};

const MAX_HEAD: usize = 64 << 10;

/// A request that the server received.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// The time of arrival.
    pub at: Instant,
    /// The method.
    pub method: String,
    /// The path and the query.
    pub path: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl RecordedRequest {
    /// The first header with this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    /// The fields of a form in the body.
    pub fn form(&self) -> Vec<(String, String)> {
        url::form_urlencoded::parse(&self.body).into_owned().collect()
    }

    /// Reads a request; `None` if the connection ends early.
    pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<RecordedRequest> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            assert!(head.len() < MAX_HEAD, "the head of the request is too long");
            head.push(stream.read_u8().await.ok()?);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut lines = head.lines();
        let mut words = lines.next()?.split(' ');
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let mut request = RecordedRequest { at: Instant::now(), method, path, headers, body: Vec::new() };
        let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
        request.body.resize(length, 0);
        stream.read_exact(&mut request.body).await.ok()?;
        Some(request)
    }
}
