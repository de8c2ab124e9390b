//! Ends connections to clients that do not read: a write that gets nowhere becomes an error.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Progress worth another period. A byte now and then would hold an answer in memory for ever.
const WORTH_MENTIONING: usize = 4 * 1024;

/// A stream whose writes fail once the other side has taken almost nothing for `deadline`.
pub(super) struct Stall<S> {
    inner: S,
    deadline: Duration,
    /// Runs from the moment when a write had to wait, until a write is taken whole.
    waiting: Option<Waiting>,
}

struct Waiting {
    until: Pin<Box<Sleep>>,
    taken: usize,
}

impl<S> Stall<S> {
    pub(super) fn new(inner: S, deadline: Duration) -> Stall<S> {
        Stall { inner, deadline, waiting: None }
    }

    /// What becomes of the answer that the stream gave to a write of `offered` bytes.
    fn judge(
        &mut self,
        cx: &mut Context<'_>,
        offered: usize,
        answer: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match answer {
            Poll::Ready(Ok(taken)) if taken < offered => {
                if let Some(waiting) = &mut self.waiting {
                    waiting.taken = waiting.taken.saturating_add(taken);
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
                    taken: 0,
                });
                loop {
                    ready!(waiting.until.as_mut().poll(cx));
                    if waiting.taken < WORTH_MENTIONING {
                        return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                    }
                    waiting.taken = 0;
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
        self.judge(cx, buf.len(), answer)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let offered = bufs.iter().map(|buf| buf.len()).sum();
        let answer = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.judge(cx, offered, answer)
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
    /// However busy the machine is.
    const LONG: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn a_client_that_does_not_read_is_given_up() {
        let (ours, _theirs) = duplex(1024);
        let mut stream = Stall::new(ours, SHORT);
        let error = stream.write_all(&[0; 4096]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn one_that_reads_slowly_is_served_and_one_that_trickles_is_not() {
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
