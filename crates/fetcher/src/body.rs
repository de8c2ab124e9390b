//! Takes a body in as it comes, inflates it, and stops as soon as it is too much.
//!
//! A body runs through a row of stages: one for each coding, and a vector at the end. Before each stage stands a meter,
//! because what one coding makes of a few bytes may be a bomb that the next one hides again.

use crate::failure::Failure;
use flate2::write::MultiGzDecoder;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use zstd::stream::raw::{DParameter, Decoder as ZstdDecoder};
use zstd::stream::zio;

/// What the fetcher understands, as it says in `Accept-Encoding`.
pub(crate) const CODINGS: &str = "gzip, br, zstd";

/// More codings than anybody needs are a bomb of another kind.
const MAX_CODINGS: usize = 2;
/// A short body may be as repetitive as it likes.
const SHORT: usize = 64 << 10;
/// The window of zstd that browsers take too (RFC 9659): 8 MiB.
const ZSTD_WINDOW_LOG: u32 = 23;
/// What brotli writes at once.
const BUFFER: usize = 16 << 10;

/// A body that is on its way.
pub(crate) struct Intake {
    first: Metered,
    meter: Arc<Meter>,
}

impl Intake {
    /// A body with those codings, in the order in which they were applied.
    pub(crate) fn new(codings: &str, max_bytes: usize, max_ratio: usize) -> Result<Intake, Failure> {
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
            return Err(Failure::Garbled("it is compressed more than twice"));
        }
        for coding in codings {
            let after = Metered { stage: next, passed: 0, meter: meter.clone() };
            next = match coding.as_str() {
                "gzip" | "x-gzip" => Box::new(Gzip(MultiGzDecoder::new(after))),
                "br" => Box::new(Brotli(Box::new(brotli::DecompressorWriter::new(after, BUFFER)))),
                "zstd" => Box::new(Zstd(zstd(after).map_err(|_| BROKEN)?)),
                _ => return Err(Failure::Garbled("it is compressed in a way that was not asked for")),
            };
        }
        Ok(Intake { first: Metered { stage: next, passed: 0, meter: meter.clone() }, meter })
    }

    /// Takes the next bytes.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.meter.received.fetch_add(bytes.len(), Ordering::Relaxed);
        self.first.write_all(bytes).map_err(|_| self.meter.failure())
    }

    /// The whole body, once all of it has come.
    pub(crate) fn finish(self) -> Result<Vec<u8>, Failure> {
        if self.meter.received.load(Ordering::Relaxed) == 0 {
            return Ok(Vec::new());
        }
        Box::new(self.first).finish().map_err(|_| self.meter.failure())
    }
}

const BROKEN: Failure = Failure::Garbled("it cannot be decompressed");

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

    /// Why a stage ended in an error: the meter's, or the stage's own.
    fn failure(&self) -> Failure {
        if self.exceeded.load(Ordering::Relaxed) { Failure::TooLarge } else { BROKEN }
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

/// Writes go to the one field.
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
