//! Character sets.

use crate::support::address;
use feeds::FeedError;

const FEED: &str = "<rss><channel><item><title>Æøå – café</title></item></channel></rss>";

fn title(bytes: &[u8], content_type: Option<&str>) -> Result<String, FeedError> {
    let feed = feeds::read(bytes, content_type, &address())?;
    Ok(feed.items[0].title.clone().unwrap())
}

fn utf16(text: &str, big: bool, mark: bool) -> Vec<u8> {
    let units = mark.then_some(0xfeff).into_iter().chain(text.encode_utf16());
    units.flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
}

#[test]
fn character_sets_are_detected_in_order() {
    let windows: Vec<u8> =
        FEED.chars().map(|c| if c == '–' { 0x96 } else { u8::try_from(u32::from(c)).unwrap() }).collect();
    let declared = [b"<?xml version='1.0' encoding='windows-1252'?>".as_slice(), &windows].concat();
    let marked =
        [b"\xEF\xBB\xBF<?xml version='1.0' encoding='windows-1252'?>".as_slice(), FEED.as_bytes()].concat();
    let misdeclared = [b"<?xml version='1.0' encoding='UTF-16'?>".as_slice(), FEED.as_bytes()].concat();
    for (case, bytes, content_type) in [
        ("UTF-8", FEED.as_bytes().to_vec(), None),
        ("header", windows.clone(), Some("text/xml; charset=\"Windows-1252\"")),
        ("declaration", declared.clone(), Some("application/rss+xml")),
        ("header over declaration", misdeclared.clone(), Some("text/xml;charset=utf-8")),
        ("an unknown header", declared, Some("text/xml; charset=klingon")),
        ("mark over all", marked, Some("text/xml; charset=iso-8859-1")),
        ("a wrong declaration", misdeclared, None),
        ("UTF-16 with a mark", utf16(FEED, false, true), None),
        ("UTF-16 without", utf16(FEED, true, false), None),
    ] {
        assert_eq!(title(&bytes, content_type).as_deref(), Ok("Æøå – café"), "{case}");
    }
}

#[test]
fn invalid_bytes_are_replaced_and_unknown_labels_rejected() {
    let invalid = b"<rss><channel><item><title>caf\xE9</title></item></channel></rss>";
    assert_eq!(title(invalid, None).as_deref(), Ok("caf\u{fffd}"));
    assert_eq!(
        title(invalid, Some("text/xml; charset=klingon")),
        Err(FeedError::Charset("klingon".to_owned()))
    );
    assert_eq!(
        title(invalid, Some("text/xml; charset=iso-2022-kr")),
        Err(FeedError::Charset("iso-2022-kr".to_owned()))
    );
    assert_eq!(title(FEED.as_bytes(), Some("text/xml; charset=klingon")).as_deref(), Ok("Æøå – café"));
    assert_eq!(title(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", None), Err(FeedError::NotAFeed));
    let page =
        b"<meta charset=iso-8859-1><p class=h-entry><a class=u-url href=/x></a><b class=p-name>caf\xE9</b>";
    assert_eq!(title(page, None).as_deref(), Ok("café"));
}
