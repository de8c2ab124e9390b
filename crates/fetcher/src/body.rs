//! Decompresses a body while it arrives and stops as soon as it exceeds a limit.
//!
//! A body passes a chain of stages: one for each coding, and a vector at the end. A meter precedes each stage,
//! because a decompression bomb of one coding may be hidden in another.

use crate::error::FetchError;
use flate2::write::MultiGzDecoder;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use zstd::stream::raw::{DParameter, Decoder as ZstdDecoder};
use zstd::stream::zio;

/// The supported codings, as sent in `Accept-Encoding`.
pub(crate) const CODINGS: &str = "gzip, br, zstd";

/// More codings than needed are another kind of bomb.
const MAX_CODINGS: usize = 2;
/// The ratio of shorter bodies is not limited.
const SHORT: usize = 64 << 10;
/// The window of zstd that browsers accept (RFC 9659): 8 MiB.
const ZSTD_WINDOW_LOG: u32 = 23;
/// The output buffer of brotli.
const BUFFER: usize = 16 << 10;

/// Decodes a body while it arrives.
pub(crate) struct BodyDecoder {
    first: Metered,
    meter: Arc<Meter>,
}

impl BodyDecoder {
    /// A decoder for these codings, given in the order in which they were applied.
    pub(crate) fn new(codings: &str, max_bytes: usize, max_ratio: usize) -> Result<BodyDecoder, FetchError> {
        let meter = Arc::new(Meter {
            received: AtomicUsize::new(0),
            exceeded: AtomicBool::new(false),
            max_bytes,
            max_ratio,
        });
        let mut next: Box<dyn Stage> = Box::new(Plain(Vec::new()));
        let codings = codings.split(',').map(|coding| coding.trim().to_ascii_lowercase());
        let codings: Vec<String> =
            codings.filter(|coding| !matches!(coding.as_str(), "" | "identity")).collect();
        if codings.len() > MAX_CODINGS {
            return Err(FetchError::InvalidResponse("it has more than two content codings"));
        }
        for coding in codings {
            let after = Metered { stage: next, passed: 0, meter: meter.clone() };
            next = match coding.as_str() {
                "gzip" | "x-gzip" => Box::new(Gzip(MultiGzDecoder::new(after))),
                "br" => Box::new(Brotli(Box::new(brotli::DecompressorWriter::new(after, BUFFER)))),
                "zstd" => Box::new(Zstd(zstd(after).map_err(|_| BROKEN)?)),
                _ => return Err(FetchError::InvalidResponse("its content coding is not supported")),
            };
        }
        Ok(BodyDecoder { first: Metered { stage: next, passed: 0, meter: meter.clone() }, meter })
    }

    /// Adds the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), FetchError> {
        self.meter.received.fetch_add(bytes.len(), Ordering::Relaxed);
        self.first.write_all(bytes).map_err(|_| self.meter.failure())
    }

    /// The complete body, after its last bytes.
    pub(crate) fn finish(self) -> Result<Vec<u8>, FetchError> {
        if self.meter.received.load(Ordering::Relaxed) == 0 {
            return Ok(Vec::new());
        }
        Box::new(self.first).finish().map_err(|_| self.meter.failure())
    }
}

const BROKEN: FetchError = FetchError::InvalidResponse("its body cannot be decompressed");

fn zstd(after: Metered) -> io::Result<zio::Writer<Metered, ZstdDecoder<'static>>> {
    let mut decoder = ZstdDecoder::new()?;
    decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG))?;
    Ok(zio::Writer::new(after, decoder))
}

struct Meter {
    received: AtomicUsize,
    exceeded: AtomicBool,
    max_bytes: usize,
    max_ratio: usize,
}

impl Meter {
    fn allows(&self, passed: usize) -> bool {
        let by_ratio = self.received.load(Ordering::Relaxed).saturating_mul(self.max_ratio).max(SHORT);
        let allowed = passed <= self.max_bytes.min(by_ratio);
        if !allowed {
            self.exceeded.store(true, Ordering::Relaxed);
        }
        allowed
    }

    /// The error of a failed stage: a limit was exceeded, or the data is invalid.
    fn failure(&self) -> FetchError {
        if self.exceeded.load(Ordering::Relaxed) { FetchError::TooLarge } else { BROKEN }
    }
}

trait Stage: Write + Send {
    fn finish(self: Box<Self>) -> io::Result<Vec<u8>>;
}

struct Metered {
    stage: Box<dyn Stage>,
    passed: usize,
    meter: Arc<Meter>,
}

impl Write for Metered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.passed = self.passed.saturating_add(bytes.len());
        if !self.meter.allows(self.passed) {
            return Err(io::Error::other("too large"));
        }
        self.stage.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stage.flush()
    }
}

impl Stage for Metered {
    fn finish(self: Box<Self>) -> io::Result<Vec<u8>> {
        self.stage.finish()
    }
}

struct Plain(Vec<u8>);
struct Gzip(MultiGzDecoder<Metered>);
struct Brotli(Box<brotli::DecompressorWriter<Metered>>);
struct Zstd(zio::Writer<Metered, ZstdDecoder<'static>>);

/// Forwards writes to the first field.
macro_rules! write_through {
    ($($stage:ty),*) => {$(
        impl Write for $stage {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.write(bytes)
            }

            fn flush(&mut self) -> io::Result<()> {
                self.0.flush()
            }
        }
    )*};
}
write_through!(Plain, Gzip, Brotli, Zstd);

impl Stage for Plain {
    fn finish(self: Box<Self>) -> io::Result<Vec<u8>> {
        Ok(self.0)
    }
}

impl Stage for Gzip {
    fn finish(self: Box<Self>) -> io::Result<Vec<u8>> {
        Box::new(self.0.finish()?).finish()
    }
}

impl Stage for Brotli {
    fn finish(self: Box<Self>) -> io::Result<Vec<u8>> {
        let after = self.0.into_inner().map_err(|_| io::ErrorKind::UnexpectedEof)?;
        Box::new(after).finish()
    }
}

impl Stage for Zstd {
    fn finish(mut self: Box<Self>) -> io::Result<Vec<u8>> {
        self.0.finish()?;
        Box::new(self.0.into_inner().0).finish()
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
