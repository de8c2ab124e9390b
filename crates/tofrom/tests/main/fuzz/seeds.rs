//! Starting points of mutations: inputs that get far, inputs that once failed, and words with a meaning.

use super::targets::{OWNER, all_written, cursor_keys};
use domain::ingest::normalise;
use infoset::{Attribute, FastInfosetWriter, Name, Namespace, Sink};
use model::{
    ActivityId, ArrivalOffset, Binding, Collection, Cursor, Filter, Format, Millis, Order, Position, SortKey,
    SyncToken, Version,
};
use web::parse::read_activity;

/// The inputs that a target's mutations start from, and the words that are inserted into them.
pub(crate) struct Seeds {
    pub(crate) inputs: Vec<Vec<u8>>,
    pub(crate) words: Vec<Vec<u8>>,
}

fn seeds<'a>(inputs: impl IntoIterator<Item = &'a str>, words: impl IntoIterator<Item = &'a str>) -> Seeds {
    let bytes = |text: &str| text.as_bytes().to_vec();
    Seeds { inputs: inputs.into_iter().map(bytes).collect(), words: words.into_iter().map(bytes).collect() }
}

const QUERIES: [&str; 14] = [
    "start=0&count=4&service=twitter&type=bookmark&verb=shared&orderby=pubDate",
    "receivedsince=2009-10-01T12:00:00.000+00:00&receivedbefore=2026-11-14T22:44:03.123Z",
    "publishedsince=2009-10-01T12:00:00,5-0730&publishedbefore=2009-12-31T23:59:60%2B14",
    "service=the+service,Last.fm&service=caf%C3%A9&type=http://activitystrea.ms/schema/1.0/photo-album,PhotoAlbum",
    "verb=share,LIKED,was-at,http://activitystrea.ms/schema/1.0/play&type=_Title,3d-model,top-hat",
    "count=2147483647&start=2147483647&format=fastinfoset",
    "format=ATOM&orderby=receiveddate&count=",
    "cursor=AQIsh8yGgoPj8wAAAAAAAAAAANzm1hOoY7Ox",
    "unknown=1&&=&a&=b&%&%4&%zz&count=0",
    "receivedsince=0001-01-01T00:00:00Z&receivedbefore=9999-12-31T23:59:59.999Z",
    "receivedsince=0001-01-01T00:00:00%2B23:59",
    // The Kelvin sign is no ASCII letter, but its lower case is one.
    "verb=li%E2%84%AAed",
    "type=_Boo%E2%84%AA",
    "service=%C4%B0%CE%A3,%20x%20&type=a/b%20c",
];

const QUERY_WORDS: [&str; 34] = [
    "start=",
    "count=",
    "service=",
    "type=",
    "verb=",
    "orderby=",
    "receivedsince=",
    "receivedbefore=",
    "publishedsince=",
    "publishedbefore=",
    "format=",
    "cursor=",
    "&",
    "%2C",
    "%2c",
    "%20",
    "%C2%A0",
    "%E2%84%AA",
    "%C4%B0",
    "%CE%A3",
    "%00",
    "%ff",
    "+",
    ",",
    "_",
    "/",
    "#",
    "2147483648",
    "pubDate",
    "2026-02-29T00:00:00Z",
    "+23:59",
    "0000",
    "photo-album",
    "made-friend",
];

pub(crate) fn query() -> Seeds {
    let mut seeds = seeds(QUERIES, QUERY_WORDS);
    let cursor = |cursor: &Cursor| format!("cursor={}", text(cursor)).into_bytes();
    seeds.inputs.extend(cursors().iter().map(cursor));
    seeds
}

pub(crate) fn accept() -> Seeds {
    seeds(
        [
            "application/xml",
            "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8",
            "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2",
            "application/json;q=0.2, application/*;q=0.1, */*;q=0.9",
            "application/atom+xml;type=feed, application/atom+xml;q=0.5",
            "text/plain;a=\"x, application/xml\\\"\", application/json\napplication/fastinfoset",
            "gzip, deflate, br;q=0.5, zstd;q=0\nidentity;q=0, x-gzip",
            "*/*;q=0, text/xml;q=1e-3",
            ",, ;q=, /, application/",
        ],
        [
            "application/",
            "xml",
            "atom+xml",
            "json",
            "fastinfoset",
            "text/xml",
            "problem+xml",
            "*/*",
            "*",
            ";q=",
            "q=0",
            "0.001",
            "NaN",
            "inf",
            "-1",
            "1e9",
            "\"",
            "\\",
            ",",
            ";",
            "\n",
            "gzip",
            "br",
            "zstd",
            "identity",
            "x-gzip",
        ],
    )
}

fn text(cursor: &Cursor) -> String {
    cursor.encode(Binding::new(OWNER, Collection::ToFrom, &Filter::default()), &cursor_keys())
}

fn cursors() -> Vec<Cursor> {
    let id = |number: u8| ActivityId::new(Millis(1_700_000_000_000), [number; 10]);
    let after = SortKey { time: Millis(1_700_000_000_123), id: id(1) };
    let mut seen = SyncToken::at(Position(70_000));
    for number in 0..5 {
        seen.shown(id(number), Version(i64::from(number)), None, None);
    }
    let mut inside = seen.clone();
    inside.advance(ArrivalOffset { position: Position(70_001), inside: Some(id(9)) });
    vec![
        Cursor::Updates(SyncToken::default()),
        Cursor::Updates(inside.clone()),
        Cursor::Page { order: Order::Received, after, sync_token: seen },
        Cursor::Page { order: Order::Published, after, sync_token: inside },
    ]
}

pub(crate) fn cursor() -> Seeds {
    let texts: Vec<String> = cursors().iter().map(text).collect();
    let mut seeds =
        seeds(texts.iter().map(String::as_str), ["=", "A", "_", "-", "AAAA", "\0\0\0\0\0\0\0\0", "\u{1}"]);
    let insides = texts.iter().map(|text| [b"=", &*cursor_keys().open(text).unwrap()].concat());
    seeds.inputs.extend(insides);
    seeds
}

pub(crate) fn authorization() -> Seeds {
    seeds(
        [
            "Basic YWxpY2U6c2VjcmV0",
            "basic    anVyZ2VuOnDDpHNzd8O2cmQ=\nCtfc_0123456789abcdefghijkl",
            "Basic Og==",
            "Ptfk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH",
            "Ptfk_x\nCtfc_x\nCtfc_y",
            "OAuth realm=\"x\", oauth_consumer_key=\"k\", oauth_signature=\"s%3D\"",
            "Bearer abc\nPtfk_x",
            "Basic YTpi, Basic YTpi",
            "Basic AGE6Yg==",
        ],
        [
            "Basic ", "BASIC", "OAuth ", "Bearer ", "P", "C", "\n", "tfk_", "tfc_", "=", "==", "Og", "AA",
            " ", "\u{e9}", ",",
        ],
    )
}

/// Documents with features that our writer never uses: other encodings and alphabets, initial vocabularies, comments.
const DOCUMENTS: [&str; 6] = [
    "e0000001007c00727800614031780062fff07c00690080f0916869f041004032f0a0f03c0065fff0",
    "e0000001007c00657800616000 12f096010068006940 0080f0a0fff0",
    "e000000120039b000070000475726e3a7801006500610000003100016869000301010000000178cf8181f0000080f0a0ff",
    "e000000107047574662d380142312e313c0065880607 2024a01a31c12b34b56d8c010aff8c0600666f6fff",
    "e000000100e24063e1007440643c00659061e28090628c253c26e180fff0e281f0",
    "3c3f786d6c20656e636f64696e673d2766696e66273f3ee00000010038cd0075f03d81006538ccf03c80f000fff0",
];

pub(crate) fn fast_infoset() -> Seeds {
    let hex = |text: &str| -> Vec<u8> {
        let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
        digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
    };
    let mut inputs: Vec<Vec<u8>> = DOCUMENTS.iter().map(|document| hex(document)).collect();
    inputs.push(small_page());
    inputs.push(small_feed());
    let telling = [
        "00", "01", "38", "3c", "3d", "3f", "40", "60", "78", "7b", "80", "81", "8c", "91", "a0", "cd", "cf",
        "e1", "f0", "ff", "3c0065", "9168", "b00000", "e0000001",
    ];
    Seeds { inputs, words: telling.iter().map(|word| hex(word)).collect() }
}

fn small_page() -> Vec<u8> {
    let mut writer = FastInfosetWriter::new();
    writer.open(Name::local("Activities"));
    for title in ["one", "two", "one"] {
        writer.open(Name::local("Activity"));
        writer.leaf(Name::local("Title"), title);
        writer.leaf(Name::local("LikeCount"), "0");
        writer.end();
    }
    writer.end();
    writer.finish()
}

fn small_feed() -> Vec<u8> {
    let atom = |local| Name::qualified("", "urn:a", local);
    let namespaces = [Namespace::new("", "urn:a"), Namespace::new("m", "urn:m")];
    let attributes = [
        Attribute::new(Name::local("rel"), "avatar"),
        Attribute::new(Name::qualified("m", "urn:m", "width"), "80"),
    ];
    let mut writer = FastInfosetWriter::new();
    writer.start(atom("feed"), &namespaces, &[]);
    for _ in 0..2 {
        writer.start(atom("link"), &[], &attributes);
        writer.text("caf\u{e9} \u{1f600}");
        writer.end();
    }
    writer.end();
    writer.finish()
}

/// Activities with all fields that a body may have; those of the last line are put into each representation.
const BODIES: [&str; 5] = [
    "<?xml version='1.0' encoding='UTF-8'?><Activity xmlns:o='urn:o'><!-- -->\n\
     <Title>R&amp;D <![CDATA[<b>]]>&#233;</Title>\
     <Verb>liked</Verb><Type>photo-album</Type><To>bob</To><To/><Visibility>direct</Visibility><o:x y='1'/>\
     <PhotoAlbum><Url>https://example.org/?a=1&amp;b</Url></PhotoAlbum></Activity>",
    "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:activity='http://activitystrea.ms/spec/1.0/'><id>urn:f</id><entry>\
     <id>urn:1</id><title>t</title><summary type='html'>&lt;b>own&lt;/b></summary><activity:verb>post</activity:verb><activity:object><activity:object-type>note\
     </activity:object-type><title type='html'>a &amp;amp; b</title></activity:object></entry><entry/></feed>",
    "<a:entry xmlns:a='http://www.w3.org/2005/Atom' xmlns:b='http://activitystrea.ms/spec/1.0/'><a:title>x</a:title>\
     <a:category term='BookSaved'/><b:object><a:title>t</a:title><a:link href='https://a/'/></b:object></a:entry>",
    r#"{"Title":"x\ud83d\ude00\r\n","Category":"_-Top-hatDoff","_-top-hat":{"Title":1},"To":[],"CommentCount":0}"#,
    r#"{"SourceId":"1","SourceService":{"Name":"x","IconUrl":"https://i/","WebsiteURL":"https://w/"},"Title":"<x>&\r",
     "EntrySummary":"own & <b>","Category":"BookmarkShared","CommentCount":3,"LikeCount":"7","PublishedDate":"2009-10-01T12:34:56.789+02:00",
     "Bookmark":{"Title":" t ","Description":"two\nlines ]]>","Url":"https://example.org/?a=1&b=%20",
     "AlternateUrl":"https://example.org/about","Thumbnail":{"Url":"https://t/","Height":"80","Width":120}}}"#,
];

const BODY_WORDS: [&str; 47] = [
    "<",
    ">",
    "/>",
    "</",
    "&",
    ";",
    "&amp;",
    "&#13;",
    "&#x0;",
    "]]>",
    "<![CDATA[",
    "<!--",
    "-->",
    "<?x?>",
    "<!DOCTYPE a>",
    " xmlns='urn:x'",
    " xmlns:a='urn:x'",
    " type='html'",
    " type='text'",
    "<Title>",
    "</Title>",
    "<Title/>",
    "<Type>",
    "<Bookmark>",
    "<thr:total>1</thr:total>",
    "related",
    "alternate",
    "preview",
    "media:",
    "activity:",
    "\"",
    "\\",
    "\\u",
    "\\ud800",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "true",
    "1e9",
    "\"Title\":\"\",",
    "\u{feff}",
    "\u{fffe}",
    "\r\n",
];

pub(crate) fn body() -> Seeds {
    let mut seeds = seeds(BODIES, BODY_WORDS);
    let all = BODIES[BODIES.len() - 1].as_bytes();
    let draft = normalise(&read_activity(all, Format::Json).unwrap(), Millis(i64::MAX)).unwrap();
    seeds.inputs.extend(all_written(&draft).into_iter().map(|(_, written)| written));
    seeds.words.extend([vec![0xF0], vec![0xFF], vec![0x3C, 0x00, 0x61], vec![0x91, 0x68], vec![0xC3, 0x28]]);
    seeds
}
