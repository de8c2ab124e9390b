//! Refuses header lines of HTTP/1 that end with a bare LF.
//!
//! RFC 9112 lets a recipient take a bare LF for a line end, and hyper does. A proxy before the service may not, and then
//! the two disagree where a header ends and whose request follows. So the bytes are followed through headers and bodies,
//! and a bare LF that ends a header line becomes a NUL, which hyper answers with 400.

/// The longest beginning of a header line that is kept to be read.
const KEPT_OF_LINE: usize = 64;
/// What a bare LF becomes.
const REFUSED: u8 = 0;

/// Follows the requests of a connection, byte by byte.
#[derive(Default)]
pub(super) struct HeaderLines {
    place: Place,
    /// The beginning of the line.
    line: Vec<u8>,
    /// Whether the last byte was a CR.
    after_cr: bool,
    /// The length of the body, as far as the header has said it.
    body: Body,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// In the request line or the header.
    #[default]
    Header,
    /// In a body or a chunk, with so many bytes left.
    Body(u64),
    /// In the line before a chunk.
    ChunkSize,
    /// In the CR and LF after a chunk.
    ChunkEnd(u8),
    /// In the lines after the last chunk.
    Trailers,
    /// In something that hyper refuses.
    Lost,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Body {
    #[default]
    None,
    Length(u64),
    Chunked,
}

impl HeaderLines {
    /// Follows what came, and spoils the first bare LF that ends a header line.
    pub(super) fn check(&mut self, mut came: &mut [u8]) {
        while !came.is_empty() {
            let used = match self.place {
                Place::Lost => return,
                Place::Body(left) => {
                    let used = usize::try_from(left).unwrap_or(usize::MAX).min(came.len());
                    let left = left - u64::try_from(used).unwrap_or(left);
                    self.place = match (left, self.body) {
                        (0, Body::Chunked) => Place::ChunkEnd(2),
                        (0, _) => self.next_request(),
                        _ => Place::Body(left),
                    };
                    used
                }
                Place::ChunkEnd(left) => {
                    self.place = if left > 1 { Place::ChunkEnd(left - 1) } else { Place::ChunkSize };
                    1
                }
                Place::Header | Place::ChunkSize | Place::Trailers => self.check_line(came),
            };
            came = came.get_mut(used..).unwrap_or_default();
        }
    }

    /// Follows a line to its end, or to the end of what came; gives the number of bytes.
    fn check_line(&mut self, came: &mut [u8]) -> usize {
        let end = came.iter().position(|byte| *byte == b'\n');
        let part = came.get(..end.unwrap_or(came.len())).unwrap_or_default();
        let room = KEPT_OF_LINE.saturating_sub(self.line.len());
        self.line.extend(part.iter().take(room));
        let ends_with_cr = part.last().map_or(self.after_cr, |last| *last == b'\r');
        let Some(end) = end else {
            self.after_cr = ends_with_cr;
            return came.len();
        };
        self.after_cr = false;
        if !ends_with_cr {
            self.place = Place::Lost;
            if let Some(byte) = came.get_mut(end) {
                *byte = REFUSED;
            }
            return end + 1;
        }
        let line = std::mem::take(&mut self.line);
        self.place = self.after_line(line.strip_suffix(b"\r").unwrap_or(&line));
        end + 1
    }

    fn after_line(&mut self, line: &[u8]) -> Place {
        match (self.place, line.is_empty()) {
            (Place::Header, false) => {
                self.note_length(line);
                Place::Header
            }
            (Place::Header, true) => match self.body {
                Body::None | Body::Length(0) => self.next_request(),
                Body::Length(length) => Place::Body(length),
                Body::Chunked => Place::ChunkSize,
            },
            (Place::ChunkSize, _) => match chunk_size(line) {
                Some(0) => Place::Trailers,
                Some(size) => Place::Body(size),
                None => Place::Lost,
            },
            (Place::Trailers, true) => self.next_request(),
            (place, _) => place,
        }
    }

    /// Reads what a header line says about the body. A wrong length ends the connection in hyper, so any number will do.
    fn note_length(&mut self, line: &[u8]) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { return };
        let (name, value) = line.split_at(colon);
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.body = Body::Chunked;
        } else if name.eq_ignore_ascii_case(b"content-length") && self.body != Body::Chunked {
            let text = str::from_utf8(value.get(1..).unwrap_or_default()).unwrap_or_default();
            self.body = Body::Length(text.trim().parse().unwrap_or(0));
        }
    }

    fn next_request(&mut self) -> Place {
        self.body = Body::None;
        Place::Header
    }
}

/// The number before a chunk, without its extensions.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|byte| *byte == b';').next()?;
    u64::from_str_radix(str::from_utf8(digits).ok()?.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of the bytes when they come in pieces of that size.
    fn checked(text: &str, piece: usize) -> String {
        let (mut lines, mut bytes) = (HeaderLines::default(), text.as_bytes().to_vec());
        bytes.chunks_mut(piece).for_each(|piece| lines.check(piece));
        String::from_utf8(bytes).unwrap()
    }

    const GET: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

    #[test]
    fn strict_requests_pass_one_after_the_other() {
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
    fn a_bare_lf_is_spoilt_wherever_a_line_ends_with_it() {
        let bodies = ["", "PUT / HTTP/1.1\r\nContent-Length: 3\r\n\r\n\n\n\n", GET];
        for before in bodies {
            for bad in [
                "GET / HTTP/1.1\nHost: x\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: x\r\n\n",
            ] {
                let text = format!("{before}{bad}");
                for piece in [1, 2, 5, 10_000] {
                    let came = checked(&text, piece);
                    assert_eq!(came.matches('\0').count(), 1, "{text:?} in pieces of {piece}");
                    assert!(came.starts_with(before));
                }
            }
        }
    }
}
