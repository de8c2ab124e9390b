//! What somebody asked for.

use std::time::Instant;
use tokio::io::{AsyncRead, AsyncReadExt};

const MAX_HEAD: usize = 64 << 10;

/// What somebody asked for.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// When.
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
    /// The first header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The fields of a form in the body.
    pub fn form(&self) -> Vec<(String, String)> {
        url::form_urlencoded::parse(&self.body).into_owned().collect()
    }

    /// Reads a request; `None` if the connection ends before it does.
    pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<RecordedRequest> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            assert!(head.len() < MAX_HEAD, "the head of a request does not end");
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
        let mut asked = RecordedRequest { at: Instant::now(), method, path, headers, body: Vec::new() };
        let length = asked.header("content-length").map_or(0, |length| length.parse().unwrap());
        asked.body.resize(length, 0);
        stream.read_exact(&mut asked.body).await.ok()?;
        Some(asked)
    }
}
