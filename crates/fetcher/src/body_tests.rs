use super::*;
use flate2::Compression;
use proptest::prelude::*;

const FEW: usize = 1 << 20;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    brotli::CompressorWriter::new(&mut out, BUFFER, 5, 22).write_all(bytes).unwrap();
    out
}

fn zstandard(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

/// Text with a low compression ratio.
fn text(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        b'a' + (state >> 60) as u8
    };
    (0..length).map(|_| next()).collect()
}

fn read(codings: &str, bytes: &[u8]) -> Result<Vec<u8>, FetchError> {
    let mut decoder = BodyDecoder::new(codings, FEW, 100)?;
    bytes.chunks(997).try_for_each(|chunk| decoder.push(chunk))?;
    decoder.finish()
}

#[test]
fn every_coding_gives_the_text_back() {
    let text = text(300_000);
    for (codings, sent) in [
        ("", text.clone()),
        ("identity", text.clone()),
        ("gzip", gzip(&text)),
        ("X-GZIP", gzip(&text)),
        ("br", brotli(&text)),
        ("zstd", zstandard(&text)),
        ("gzip, gzip", gzip(&gzip(&text))),
        ("br,identity, zstd", zstandard(&brotli(&text))),
        ("gzip", [gzip(&text[..1000]), gzip(&text[1000..])].concat()),
    ] {
        assert_eq!(read(codings, &sent), Ok(text.clone()), "{codings}");
    }
    for codings in ["", "gzip", "br", "zstd"] {
        assert_eq!(read(codings, b""), Ok(Vec::new()), "{codings}");
    }
}

#[test]
fn truncated_and_changed_bodies_are_rejected() {
    let text = text(30_000);
    for (codings, sent) in [("gzip", gzip(&text)), ("br", brotli(&text)), ("zstd", zstandard(&text))] {
        for length in [1, 10, sent.len() / 2, sent.len() - 1] {
            assert_eq!(read(codings, &sent[..length]), Err(BROKEN), "{codings}, {length} of {}", sent.len());
        }
        assert_eq!(read(codings, b"<feed>this was never compressed</feed>"), Err(BROKEN), "{codings}");
        assert_eq!(read(codings, &[&sent[..], b"<feed/>"].concat()), Err(BROKEN), "{codings}, and more");
    }
    assert!(matches!(read("deflate", b"x"), Err(FetchError::InvalidResponse(_))));
    assert!(matches!(read("gzip, gzip, gzip", b"x"), Err(FetchError::InvalidResponse(_))));
}

#[test]
fn bombs_are_rejected() {
    let zeros = vec![0; 16 << 20];
    for (codings, sent) in [
        ("gzip", gzip(&zeros)),
        ("br", brotli(&zeros)),
        ("zstd", zstandard(&zeros)),
        ("gzip, gzip", gzip(&gzip(&zeros))),
        ("zstd, br", brotli(&zstandard(&zeros))),
        // The last layer is empty and the one before it is the bomb: many empty gzip members.
        ("gzip, gzip", gzip(&gzip(b"").repeat(500_000))),
        ("", zeros[..FEW + 1].to_vec()),
    ] {
        assert_eq!(read(codings, &sent), Err(FetchError::TooLarge), "{codings}, {} bytes", sent.len());
    }
}

#[test]
fn a_short_body_may_have_any_ratio() {
    let spaces = vec![b' '; SHORT];
    assert_eq!(read("zstd", &zstandard(&spaces)), Ok(spaces));
    let more = vec![b' '; SHORT * 3];
    assert_eq!(read("zstd", &zstandard(&more)), Err(FetchError::TooLarge));
}

#[test]
fn a_large_zstd_window_is_rejected() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.window_log(27).unwrap();
    encoder.write_all(&text(200_000)).unwrap();
    let sent = encoder.finish().unwrap();
    assert_eq!(read("zstd", &sent), Err(BROKEN));
}

proptest! {
    /// A body with any changed bytes is decoded or rejected, and never exceeds the limit.
    #[test]
    fn changed_bytes_are_decoded_or_rejected(
        coding in 0_usize..3,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        length in any::<prop::sample::Index>(),
    ) {
        let text = text(2_000);
        let (codings, mut sent) =
            vec![("gzip", gzip(&text)), ("br", brotli(&text)), ("zstd", zstandard(&text))].swap_remove(coding);
        for (position, byte) in changes {
            let position = position.index(sent.len());
            sent[position] = byte;
        }
        sent.truncate(length.index(sent.len()) + 1);
        match read(codings, &sent) {
            Ok(body) => prop_assert!(body.len() <= FEW),
            Err(failure) => prop_assert!(failure == BROKEN || failure == FetchError::TooLarge),
        }
    }
}
