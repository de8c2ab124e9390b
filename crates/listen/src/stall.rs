//! Ends connections of clients that do not read: a stalled write becomes an error.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// The minimum progress for another period. Single bytes now and then would hold a response in memory forever.
const MIN_PROGRESS: usize = 4 * 1024;

/// A stream whose writes fail after the peer has received less than [`MIN_PROGRESS`] for `deadline`.
pub(super) struct Stall<S> {
    inner: S,
    deadline: Duration,
    /// Runs from the first write that had to wait, until a write completes.
    waiting: Option<Waiting>,
}

struct Waiting {
    until: Pin<Box<Sleep>>,
    written: usize,
}

impl<S> Stall<S> {
    pub(super) fn new(inner: S, deadline: Duration) -> Stall<S> {
        Stall { inner, deadline, waiting: None }
    }

    /// Checks the result of a write of `offered` bytes for progress.
    fn check_progress(
        &mut self,
        cx: &mut Context<'_>,
        offered: usize,
        answer: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match answer {
            Poll::Ready(Ok(written)) if written < offered => {
                if let Some(waiting) = &mut self.waiting {
                    waiting.written = waiting.written.saturating_add(written);
                }
                answer
            }
            Poll::Ready(_) => {
                self.waiting = None;
                answer
            }
            Poll::Pending => {
                let deadline = self.deadline;
                let waiting = self.waiting.get_or_insert_with(|| Waiting {
                    until: Box::pin(tokio::time::sleep(deadline)),
                    written: 0,
                });
                loop {
                    ready!(waiting.until.as_mut().poll(cx));
                    if waiting.written < MIN_PROGRESS {
                        return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                    }
                    waiting.written = 0;
                    waiting.until.as_mut().reset(Instant::now() + deadline);
                }
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stall<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stall<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let answer = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.check_progress(cx, buf.len(), answer)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let offered = bufs.iter().map(|buf| buf.len()).sum();
        let answer = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.check_progress(cx, offered, answer)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    const SHORT: Duration = Duration::from_millis(200);
    /// Long enough for a busy machine.
    const LONG: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn a_client_that_does_not_read_is_disconnected() {
        let (ours, _theirs) = duplex(1024);
        let mut stream = Stall::new(ours, SHORT);
        let error = stream.write_all(&[0; 4096]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_slow_reader_is_served_and_a_trickling_one_is_not() {
        for (bytes, deadline, served) in [(1024, LONG, true), (10, SHORT, false)] {
            let (ours, mut theirs) = duplex(1024);
            let mut stream = Stall::new(ours, deadline);
            tokio::spawn(async move {
                let mut buf = vec![0; bytes];
                while theirs.read_exact(&mut buf).await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            });
            assert_eq!(stream.write_all(&[0; 64 * 1024]).await.is_ok(), served, "{bytes} bytes now and then");
        }
    }
}
