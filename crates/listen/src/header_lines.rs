//! Rejects HTTP/1 header lines that end with a bare LF.
//!
//! RFC 9112 allows a recipient to accept a bare LF as a line end, and hyper does. A proxy in front may not, and then the
//! two disagree where a header ends: request smuggling. So the bytes are followed through headers and bodies, and a bare
//! LF that ends a header line is replaced by a NUL, which hyper rejects with 400.

/// How many bytes of a header line are kept for inspection.
const MAX_LINE_PREFIX: usize = 64;
/// The replacement of a bare LF.
const REPLACEMENT: u8 = 0;

/// Follows the requests of a connection byte by byte.
#[derive(Default)]
pub(super) struct HeaderLines {
    position: ParsePosition,
    /// The beginning of the current line.
    line: Vec<u8>,
    /// Whether the last byte was a CR.
    after_cr: bool,
    /// The length of the body, as stated by the header so far.
    body: BodyLength,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum ParsePosition {
    /// In the request line or the header.
    #[default]
    Header,
    /// In a body or a chunk, with this many bytes left.
    BodyLength(u64),
    /// In the line before a chunk.
    ChunkSize,
    /// In the CR and LF after a chunk.
    ChunkEnd(u8),
    /// In the trailers.
    Trailers,
    /// In malformed data that hyper rejects.
    Lost,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum BodyLength {
    #[default]
    None,
    Length(u64),
    Chunked,
}

impl HeaderLines {
    /// Follows the received bytes, and replaces the first bare LF that ends a header line.
    pub(super) fn check(&mut self, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            let used = match self.position {
                ParsePosition::Lost => return,
                ParsePosition::BodyLength(left) => {
                    let used = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    let left = left - u64::try_from(used).unwrap_or(left);
                    self.position = match (left, self.body) {
                        (0, BodyLength::Chunked) => ParsePosition::ChunkEnd(2),
                        (0, _) => self.next_request(),
                        _ => ParsePosition::BodyLength(left),
                    };
                    used
                }
                ParsePosition::ChunkEnd(left) => {
                    self.position =
                        if left > 1 { ParsePosition::ChunkEnd(left - 1) } else { ParsePosition::ChunkSize };
                    1
                }
                ParsePosition::Header | ParsePosition::ChunkSize | ParsePosition::Trailers => {
                    self.check_line(bytes)
                }
            };
            bytes = bytes.get_mut(used..).unwrap_or_default();
        }
    }

    /// Follows a line to its end, or to the end of the bytes. Returns the number of bytes consumed.
    fn check_line(&mut self, bytes: &mut [u8]) -> usize {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        let room = MAX_LINE_PREFIX.saturating_sub(self.line.len());
        self.line.extend(part.iter().take(room));
        let ends_with_cr = part.last().map_or(self.after_cr, |last| *last == b'\r');
        let Some(end) = end else {
            self.after_cr = ends_with_cr;
            return bytes.len();
        };
        self.after_cr = false;
        if !ends_with_cr {
            self.position = ParsePosition::Lost;
            if let Some(byte) = bytes.get_mut(end) {
                *byte = REPLACEMENT;
            }
            return end + 1;
        }
        let line = std::mem::take(&mut self.line);
        self.position = self.after_line(line.strip_suffix(b"\r").unwrap_or(&line));
        end + 1
    }

    fn after_line(&mut self, line: &[u8]) -> ParsePosition {
        match (self.position, line.is_empty()) {
            (ParsePosition::Header, false) => {
                self.read_body_length(line);
                ParsePosition::Header
            }
            (ParsePosition::Header, true) => match self.body {
                BodyLength::None | BodyLength::Length(0) => self.next_request(),
                BodyLength::Length(length) => ParsePosition::BodyLength(length),
                BodyLength::Chunked => ParsePosition::ChunkSize,
            },
            (ParsePosition::ChunkSize, _) => match chunk_size(line) {
                Some(0) => ParsePosition::Trailers,
                Some(size) => ParsePosition::BodyLength(size),
                None => ParsePosition::Lost,
            },
            (ParsePosition::Trailers, true) => self.next_request(),
            (position, _) => position,
        }
    }

    /// Reads the length of the body from a header line. hyper ends the connection for an invalid length, so any number
    /// will do then.
    fn read_body_length(&mut self, line: &[u8]) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { return };
        let (name, value) = line.split_at(colon);
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.body = BodyLength::Chunked;
        } else if name.eq_ignore_ascii_case(b"content-length") && self.body != BodyLength::Chunked {
            let text = str::from_utf8(value.get(1..).unwrap_or_default()).unwrap_or_default();
            self.body = BodyLength::Length(text.trim().parse().unwrap_or(0));
        }
    }

    fn next_request(&mut self) -> ParsePosition {
        self.body = BodyLength::None;
        ParsePosition::Header
    }
}

/// The size of a chunk, without its extensions.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|byte| *byte == b';').next()?;
    u64::from_str_radix(str::from_utf8(digits).ok()?.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checked bytes, received in pieces of that size.
    fn checked(text: &str, piece: usize) -> String {
        let (mut lines, mut bytes) = (HeaderLines::default(), text.as_bytes().to_vec());
        bytes.chunks_mut(piece).for_each(|piece| lines.check(piece));
        String::from_utf8(bytes).unwrap()
    }

    const GET: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

    #[test]
    fn strict_requests_pass_unchanged() {
        let with_length = "PUT / HTTP/1.1\r\nHost: x\r\ncontent-LENGTH:  6 \r\n\r\na\nb\n\r\n";
        let chunked =
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4;a=b\r\n\n\n\n\n\r\n0\r\nA: b\r\n\r\n";
        let long = format!("GET /{} HTTP/1.1\r\nX: {}\r\n\r\n", "p".repeat(300), "y".repeat(300));
        for text in [GET, with_length, chunked, &long] {
            let twice = format!("{text}{text}{GET}");
            for piece in [1, 2, 3, 7, 64, 10_000] {
                assert_eq!(checked(&twice, piece), twice, "in pieces of {piece}");
            }
        }
    }

    #[test]
    fn a_bare_lf_is_replaced_at_every_line_end() {
        let bodies = ["", "PUT / HTTP/1.1\r\nContent-Length: 3\r\n\r\n\n\n\n", GET];
        for before in bodies {
            for bad in [
                "GET / HTTP/1.1\nHost: x\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: x\r\n\n",
            ] {
                let text = format!("{before}{bad}");
                for piece in [1, 2, 5, 10_000] {
                    let bytes = checked(&text, piece);
                    assert_eq!(bytes.matches('\0').count(), 1, "{text:?} in pieces of {piece}");
                    assert!(bytes.starts_with(before));
                }
            }
        }
    }
}
