//! Lines of a file or a pipe, each no longer than an activity may be.

use crate::ingest::{MAX_BODY, Unreadable};
use std::io::{self, BufRead, BufReader, Read};
use std::time::Duration;
use tokio::sync::mpsc;

/// How long a batch waits for another line.
const TIMEOUT: Duration = Duration::from_millis(50);
/// Lines that are read ahead.
const AHEAD: usize = 256;
/// What may end a line beside the activity itself.
const SLACK: usize = 1024;

/// One line that says something.
#[derive(Debug)]
pub(super) struct Line {
    /// Counted from 1.
    pub(super) number: u64,
    /// How many bytes were read up to its end.
    pub(super) end: u64,
    /// Its text, or why there is none.
    pub(super) text: Result<Vec<u8>, Unreadable>,
}

/// The lines of an input, read on a thread of its own: a pipe that nobody writes to must not keep the command from
/// ending.
pub(crate) struct Lines(mpsc::Receiver<io::Result<Line>>);

impl Lines {
    /// Starts to read.
    pub(crate) fn of(input: impl Read + Send + 'static) -> Lines {
        let (sender, receiver) = mpsc::channel(AHEAD);
        std::thread::spawn(move || {
            let mut input = BufReader::with_capacity(MAX_BODY, input);
            let (mut number, mut end) = (0, 0);
            loop {
                let Some(line) = next(&mut input, &mut number, &mut end).transpose() else { return };
                let failed = line.is_err();
                // Where nobody listens any more, there is nothing left to do.
                if sender.blocking_send(line).is_err() || failed {
                    return;
                }
            }
        });
        Lines(receiver)
    }

    /// The lines that are there, at least one and at most `limit`; none at the end.
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

/// Reads over the rest of a line without keeping it.
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
    async fn lines_with_any_end_and_without_one() {
        let lines = all("a\r\n\n \nb\nc\nd\ne").await;
        let expected = [(1, "a"), (4, "b"), (5, "c"), (6, "d"), (7, "e")];
        assert_eq!(lines, expected.map(|(number, text)| (number, Ok(text.to_owned()))));
        assert!(all("").await.is_empty());
    }

    #[tokio::test]
    async fn a_line_that_never_ends_is_not_kept() {
        let long = "x".repeat(MAX_BODY * 3);
        let lines = all(format!("a\n{long}\nb\n{long}")).await;
        let wrong = || Err(Unreadable::TooLarge);
        assert_eq!(lines, [(1, Ok("a".into())), (2, wrong()), (3, Ok("b".into())), (4, wrong())]);
    }
}
