//! Bodies in the coding that was agreed upon.

use super::negotiate::Coding;
use std::io::Write;

/// Smaller bodies are sent as they are: coding them costs more than it saves.
const WORTH_CODING: usize = 1024;

/// The body in that coding, and the coding that it is really in.
pub(super) fn encode(coding: Coding, body: Vec<u8>) -> (Coding, Vec<u8>) {
    if body.len() < WORTH_CODING {
        return (Coding::Identity, body);
    }
    let coded = match coding {
        Coding::Identity => None,
        Coding::Gzip => gzip(&body).ok(),
        Coding::Brotli => brotli(&body).ok(),
        Coding::Zstd => zstd::bulk::compress(&body, 3).ok(),
    };
    coded.map_or((Coding::Identity, body), |coded| (coding, coded))
}

fn gzip(body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder =
        flate2::write::GzEncoder::new(Vec::with_capacity(body.len() / 4), flate2::Compression::new(5));
    encoder.write_all(body)?;
    encoder.finish()
}

fn brotli(body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut coded = Vec::with_capacity(body.len() / 4);
    // Quality 4 is where brotli still costs about what gzip does.
    let parameters = brotli::enc::BrotliEncoderParams { quality: 4, lgwin: 18, ..Default::default() };
    brotli::BrotliCompress(&mut &body[..], &mut coded, &parameters)?;
    Ok(coded)
}
