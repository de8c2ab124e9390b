//! Content codings.

use std::io::Write;

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// gzip.
    Gzip,
    /// brotli.
    Brotli,
    /// zstd.
    Zstd,
}

impl Coding {
    /// All codings.
    pub const ALL: [Coding; 3] = [Coding::Gzip, Coding::Brotli, Coding::Zstd];

    /// Its name in `Content-Encoding`.
    pub fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
        }
    }

    /// Compresses the bytes.
    pub fn encode(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Coding::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            Coding::Brotli => {
                let mut encoded = Vec::new();
                brotli::CompressorWriter::new(&mut encoded, 1 << 16, 5, 22).write_all(bytes).unwrap();
                encoded
            }
            Coding::Zstd => zstd::encode_all(bytes, 3).unwrap(),
        }
    }

    /// A few bytes that decompress to many.
    pub fn bomb(self, megabytes: usize) -> Vec<u8> {
        self.encode(&vec![0; megabytes << 20])
    }
}
