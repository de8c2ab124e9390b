//! How a path of the server behaves.

use crate::coding::Coding;
use crate::recorded_request::RecordedRequest;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::sleep;

/// How a path of the server behaves. The connection is closed after each answer.
#[derive(Clone)]
pub enum Behaviour {
    /// Answers as HTTP wants it. Who says with the right validator what is known gets 304.
    Answer(Answer),
    /// Sends these bytes, whatever they are.
    Raw(Vec<u8>),
    /// Sends the head of an answer, and then its body byte by byte, with a rest after each.
    Slow(Answer, Duration),
    /// A body that never ends.
    Endless,
    /// A head that never ends.
    EndlessHead,
    /// Takes the request and says nothing.
    Silent,
    /// Hangs up as soon as it has read the request.
    HangsUp,
    /// One after the other for each request; the last one stays.
    InTurn(Vec<Behaviour>),
    /// Whatever this says.
    By(Arc<dyn Fn(&RecordedRequest) -> Behaviour + Send + Sync>),
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    /// An answer with a status and nothing else.
    pub fn status(status: u16) -> Answer {
        Answer { status, headers: Vec::new(), body: Vec::new() }
    }

    /// A feed.
    pub fn feed(body: impl Into<Vec<u8>>) -> Answer {
        let answer = Answer { body: body.into(), ..Answer::status(200) };
        answer.with("Content-Type", "application/atom+xml; charset=utf-8")
    }

    /// A page.
    pub fn page(body: impl Into<Vec<u8>>) -> Answer {
        let answer = Answer { body: body.into(), ..Answer::status(200) };
        answer.with("Content-Type", "text/html; charset=utf-8")
    }

    /// Leads elsewhere.
    pub fn redirect(status: u16, to: impl Into<String>) -> Answer {
        Answer::status(status).with("Location", to)
    }

    /// With that header too.
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Answer {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// With another `Content-Type`.
    pub fn retyped(mut self, content_type: &str) -> Answer {
        self.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        self.with("Content-Type", content_type)
    }

    /// Compressed; twice if it is said twice.
    pub fn coded(mut self, coding: Coding) -> Answer {
        self.body = coding.encode(&self.body);
        self.with("Content-Encoding", coding.name())
    }

    /// With a body that is compressed already.
    pub fn with_coded_body(mut self, coding: Coding, body: Vec<u8>) -> Answer {
        self.body = body;
        self.with("Content-Encoding", coding.name())
    }

    fn header(&self, wanted: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.as_str())
    }

    /// What HTTP wants: the entity tag counts before the time.
    fn is_known_to(&self, asked: &RecordedRequest) -> bool {
        match asked.header("if-none-match") {
            Some(known) => self.header("etag") == Some(known),
            None => {
                let known = asked.header("if-modified-since");
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

impl From<Answer> for Behaviour {
    fn from(answer: Answer) -> Behaviour {
        Behaviour::Answer(answer)
    }
}

impl Behaviour {
    /// Behaves that way towards a request. `inside` is dropped just before the last byte: once that is sent, who asked
    /// may be gone, and with the next request before this one knows.
    pub(crate) async fn behave<I>(
        self,
        asked: &RecordedRequest,
        stream: &mut (impl AsyncWrite + Unpin),
        inside: I,
    ) -> io::Result<()> {
        match self {
            Behaviour::Answer(answer) if answer.status == 200 && answer.is_known_to(asked) => {
                finish(stream, &answer.head(304, 0), inside).await?;
            }
            Behaviour::Answer(answer) => {
                let head = answer.head(answer.status, answer.body.len());
                finish(stream, &[head, answer.body].concat(), inside).await?;
            }
            Behaviour::Raw(bytes) => finish(stream, &bytes, inside).await?,
            Behaviour::Slow(answer, rest) => {
                stream.write_all(&answer.head(answer.status, answer.body.len())).await?;
                let (last, body) = answer.body.split_last().expect("a slow body has bytes");
                for byte in body {
                    stream.write_all(&[*byte]).await?;
                    stream.flush().await?;
                    sleep(rest).await;
                }
                finish(stream, &[*last], inside).await?;
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
            Behaviour::HangsUp => drop(inside),
            Behaviour::InTurn(_) | Behaviour::By(_) => unreachable!("the server has chosen already"),
        }
        stream.shutdown().await
    }
}

async fn finish<I>(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8], inside: I) -> io::Result<()> {
    let (last, before) = bytes.split_last().expect("an answer has bytes");
    stream.write_all(before).await?;
    drop(inside);
    stream.write_all(&[*last]).await?;
    stream.flush().await
}
