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

/// Text that does not compress by more than a factor of a few.
fn text(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        b'a' + (state >> 60) as u8
    };
    (0..length).map(|_| next()).collect()
}

fn read(codings: &str, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    let mut intake = Intake::new(codings, FEW, 100)?;
    bytes.chunks(997).try_for_each(|chunk| intake.take(chunk))?;
    intake.finish()
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
fn what_is_cut_or_changed_is_no_body() {
    let text = text(30_000);
    for (codings, sent) in [("gzip", gzip(&text)), ("br", brotli(&text)), ("zstd", zstandard(&text))] {
        for kept in [1, 10, sent.len() / 2, sent.len() - 1] {
            assert_eq!(read(codings, &sent[..kept]), Err(BROKEN), "{codings}, {kept} of {}", sent.len());
        }
        assert_eq!(read(codings, b"<feed>this was never compressed</feed>"), Err(BROKEN), "{codings}");
        assert_eq!(read(codings, &[&sent[..], b"<feed/>"].concat()), Err(BROKEN), "{codings}, and more");
    }
    assert!(matches!(read("deflate", b"x"), Err(Failure::Garbled(_))));
    assert!(matches!(read("gzip, gzip, gzip", b"x"), Err(Failure::Garbled(_))));
}

#[test]
fn bombs_do_not_go_off() {
    let zeros = vec![0; 16 << 20];
    for (codings, sent) in [
        ("gzip", gzip(&zeros)),
        ("br", brotli(&zeros)),
        ("zstd", zstandard(&zeros)),
        ("gzip, gzip", gzip(&gzip(&zeros))),
        ("zstd, br", brotli(&zstandard(&zeros))),
        // The last layer has nothing in it, the one before it is the bomb: empty members of gzip, many times.
        ("gzip, gzip", gzip(&gzip(b"").repeat(500_000))),
        ("", zeros[..FEW + 1].to_vec()),
    ] {
        assert_eq!(read(codings, &sent), Err(Failure::TooLarge), "{codings}, {} bytes", sent.len());
    }
}

#[test]
fn a_short_body_may_be_as_repetitive_as_it_likes() {
    let spaces = vec![b' '; SHORT];
    assert_eq!(read("zstd", &zstandard(&spaces)), Ok(spaces));
    let more = vec![b' '; SHORT * 3];
    assert_eq!(read("zstd", &zstandard(&more)), Err(Failure::TooLarge));
}

#[test]
fn a_window_of_zstd_that_takes_much_memory_is_refused() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.window_log(27).unwrap();
    encoder.write_all(&text(200_000)).unwrap();
    let sent = encoder.finish().unwrap();
    assert_eq!(read("zstd", &sent), Err(BROKEN));
}

proptest! {
    /// Whatever is changed in a body, it is read or refused, and never more of it than is allowed.
    #[test]
    fn changed_bytes_do_no_harm(
        coding in 0_usize..3,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        kept in any::<prop::sample::Index>(),
    ) {
        let text = text(2_000);
        let (codings, mut sent) =
            vec![("gzip", gzip(&text)), ("br", brotli(&text)), ("zstd", zstandard(&text))].swap_remove(coding);
        for (place, byte) in changes {
            let place = place.index(sent.len());
            sent[place] = byte;
        }
        sent.truncate(kept.index(sent.len()) + 1);
        match read(codings, &sent) {
            Ok(body) => prop_assert!(body.len() <= FEW),
            Err(failure) => prop_assert!(failure == BROKEN || failure == Failure::TooLarge),
        }
    }
}
