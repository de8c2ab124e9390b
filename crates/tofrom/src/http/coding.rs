//! Encodes response bodies.

use super::negotiate::Coding;
use std::io::Write;

/// Smaller bodies are sent without coding: it would cost more than it saves.
const MIN_CODED_SIZE: usize = 1024;

/// The encoded body and the coding that was applied.
pub(super) fn encode(coding: Coding, body: Vec<u8>) -> (Coding, Vec<u8>) {
    if body.len() < MIN_CODED_SIZE {
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
    // Brotli costs about as much as gzip up to quality 4.
    let parameters = brotli::enc::BrotliEncoderParams { quality: 4, lgwin: 18, ..Default::default() };
    brotli::BrotliCompress(&mut &body[..], &mut coded, &parameters)?;
    Ok(coded)
}
