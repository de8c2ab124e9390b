//! Reads lines of a file or a pipe, each at most as long as an activity may be.

use domain::ingest::{MAX_BODY, Unreadable};
use std::io::{self, BufRead, BufReader, Read};
use std::time::Duration;
use tokio::sync::mpsc;

/// Time that a batch waits for another line.
const TIMEOUT: Duration = Duration::from_millis(50);
/// Capacity of the queue of lines that are read ahead.
const READ_AHEAD: usize = 256;
/// Bytes of white space that a line may have besides the activity.
const SLACK: usize = 1024;

/// A line that is not blank.
#[derive(Debug)]
pub(super) struct Line {
    /// The line number, starting at 1.
    pub(super) number: u64,
    /// The number of bytes read up to the end of the line.
    pub(super) end: u64,
    /// The text, or why it is unreadable.
    pub(super) text: Result<Vec<u8>, Unreadable>,
}

/// The lines of an input, read on a separate thread: an idle pipe must not keep the command from ending.
pub(crate) struct Lines(mpsc::Receiver<io::Result<Line>>);

impl Lines {
    /// Starts reading.
    pub(crate) fn of(input: impl Read + Send + 'static) -> Lines {
        let (sender, receiver) = mpsc::channel(READ_AHEAD);
        std::thread::spawn(move || {
            let mut input = BufReader::with_capacity(MAX_BODY, input);
            let (mut number, mut end) = (0, 0);
            loop {
                let Some(line) = next(&mut input, &mut number, &mut end).transpose() else { return };
                let failed = line.is_err();
                // The receiver is gone or the input failed: stop reading.
                if sender.blocking_send(line).is_err() || failed {
                    return;
                }
            }
        });
        Lines(receiver)
    }

    /// The available lines, at least one and at most `limit`; empty at the end of the input.
    pub(super) async fn next_batch(&mut self, limit: usize) -> io::Result<Vec<Line>> {
        let Some(first) = self.0.recv().await else { return Ok(Vec::new()) };
        let mut batch = vec![first?];
        while batch.len() < limit
            && let Ok(Some(line)) = tokio::time::timeout(TIMEOUT, self.0.recv()).await
        {
            batch.push(line?);
        }
        Ok(batch)
    }
}

/// The next line that is not blank.
fn next(input: &mut impl BufRead, number: &mut u64, end: &mut u64) -> io::Result<Option<Line>> {
    loop {
        let mut text = Vec::new();
        let limit = MAX_BODY + SLACK;
        let mut read = input.by_ref().take(limit as u64).read_until(b'\n', &mut text)?;
        if read == 0 {
            return Ok(None);
        }
        *number += 1;
        let too_long = read == limit && !text.ends_with(b"\n");
        if too_long {
            read += skip_line(input)?;
        }
        *end += read as u64;
        let text = text.trim_ascii();
        if too_long {
            return Ok(Some(Line { number: *number, end: *end, text: Err(Unreadable::TooLarge) }));
        }
        if !text.is_empty() {
            return Ok(Some(Line { number: *number, end: *end, text: Ok(text.to_vec()) }));
        }
    }
}

/// Skips the rest of a line.
fn skip_line(input: &mut impl BufRead) -> io::Result<usize> {
    let mut skipped = 0;
    loop {
        let buffer = input.fill_buf()?;
        let line_end = buffer.iter().position(|byte| *byte == b'\n');
        let taken = line_end.map_or(buffer.len(), |at| at + 1);
        input.consume(taken);
        skipped += taken;
        if line_end.is_some() || taken == 0 {
            return Ok(skipped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(text: impl Into<Vec<u8>>) -> Vec<(u64, Result<String, Unreadable>)> {
        let mut lines = Lines::of(io::Cursor::new(text.into()));
        let mut all = Vec::new();
        loop {
            let batch = lines.next_batch(3).await.unwrap();
            assert!(batch.len() <= 3);
            if batch.is_empty() {
                return all;
            }
            let text = |text: Vec<u8>| String::from_utf8(text).unwrap();
            all.extend(batch.into_iter().map(|line| (line.number, line.text.map(text))));
        }
    }

    #[tokio::test]
    async fn lines_end_with_any_line_break_or_the_end_of_input() {
        let lines = all("a\r\n\n \nb\nc\nd\ne").await;
        let expected = [(1, "a"), (4, "b"), (5, "c"), (6, "d"), (7, "e")];
        assert_eq!(lines, expected.map(|(number, text)| (number, Ok(text.to_owned()))));
        assert!(all("").await.is_empty());
    }

    #[tokio::test]
    async fn an_overlong_line_is_skipped() {
        let long = "x".repeat(MAX_BODY * 3);
        let lines = all(format!("a\n{long}\nb\n{long}")).await;
        let wrong = || Err(Unreadable::TooLarge);
        assert_eq!(lines, [(1, Ok("a".into())), (2, wrong()), (3, Ok("b".into())), (4, wrong())]);
    }
}
