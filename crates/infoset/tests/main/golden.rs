//! Octets of the reference implementation (FastInfoset for Java 1.2.12).

use infoset::{
    Attribute, FastInfosetWriter, Limits, Name, Namespace, Sink, XML_NAMESPACE, XmlWriter, decode,
};

use crate::documents::{hex, to_tree};

const D1: &str = "e0000001007c00727800614031780062fff07c00690080f0916869f041004032f0a0f03c0065fff0";

fn xml_of(octets: &[u8]) -> String {
    let mut xml = XmlWriter::fragment();
    decode(octets, &Limits::default(), &mut xml).unwrap();
    String::from_utf8(xml.finish()).unwrap()
}

fn d1(sink: &mut impl Sink) {
    let (a, b) = (Name::local("a"), Name::local("b"));
    sink.start(Name::local("r"), &[], &[Attribute::new(a, "1"), Attribute::new(b, "")]);
    for value in ["1", "2"] {
        sink.start(Name::local("i"), &[], &[Attribute::new(a, value)]);
        sink.text("hi");
        sink.end();
    }
    sink.leaf(Name::local("e"), "");
    sink.end();
}

#[test]
fn names_values_and_texts_are_written_by_index() {
    let mut writer = FastInfosetWriter::with_index_limit(32);
    d1(&mut writer);
    assert_eq!(writer.finish(), hex(D1));
    assert_eq!(xml_of(&hex(D1)), r#"<r a="1" b=""><i a="1">hi</i><i a="2">hi</i><e/></r>"#);
}

/// A small Atom feed, octet by octet.
fn d2_octets() -> Vec<u8> {
    let mut octets = hex("e000000100 78 cd1a");
    let mut push = |code: &str, text: &str| {
        octets.extend(hex(code));
        octets.extend(text.as_bytes());
    };
    push("", "http://www.w3.org/2005/Atom");
    push("cf07", "activity");
    push("20", "http://activitystrea.ms/spec/1.0/");
    push("f0 3d8103", "feed");
    push("7b808003", "lang");
    push("41", "fr");
    push("f0 3d8104", "title");
    push("920b", "Café ☕ 😀");
    push("f0 3f818203", "verb");
    push("9201", "post");
    push("f0 3d8104", "entry");
    push("02a1f0 7d8103", "link");
    push("7802", "rel");
    push("43", "self");
    push("7803", "href");
    push("4813", "http://example.org/a?b=1&c=2");
    push("fff0 78cf00", "x");
    push("04", "urn:x");
    push("f0 3f828300", "q");
    push("7b82838681 ffff", "");
    octets
}

fn d2(sink: &mut impl Sink) {
    const ATOM: &str = "http://www.w3.org/2005/Atom";
    const ACTIVITY: &str = "http://activitystrea.ms/spec/1.0/";
    const VERB: Name<'_> = Name::qualified("activity", ACTIVITY, "verb");
    let atom = |local| Name::qualified("", ATOM, local);
    let lang = Attribute::new(Name::qualified("xml", XML_NAMESPACE, "lang"), "fr");
    sink.start(atom("feed"), &[Namespace::new("", ATOM), Namespace::new("activity", ACTIVITY)], &[lang]);
    sink.leaf(atom("title"), "Café ☕ 😀");
    sink.leaf(VERB, "post");
    sink.open(atom("entry"));
    sink.leaf(VERB, "post");
    let rel = Attribute::new(Name::local("rel"), "self");
    let href = Attribute::new(Name::local("href"), "http://example.org/a?b=1&c=2");
    sink.start(atom("link"), &[], &[rel, href]);
    sink.end();
    sink.end();
    let rel = Attribute::new(Name::qualified("x", "urn:x", "rel"), "self");
    sink.start(Name::qualified("x", "urn:x", "q"), &[Namespace::new("x", "urn:x")], &[rel]);
    sink.end();
    sink.end();
}

#[test]
fn namespaces_prefixes_and_unicode_match_the_reference() {
    let mut writer = FastInfosetWriter::with_index_limit(32);
    d2(&mut writer);
    let octets = writer.finish();
    assert_eq!(octets.len(), 228);
    assert_eq!(octets, d2_octets());
    let mut xml = XmlWriter::fragment();
    d2(&mut xml);
    assert_eq!(xml_of(&octets).as_bytes(), xml.finish());
}

#[test]
fn long_strings_have_the_right_length_form() {
    let of_length = |length| "x".repeat(length);
    let mut writer = FastInfosetWriter::with_index_limit(32);
    let namespace = of_length(404);
    let name = of_length(70);
    writer.start(Name::qualified("", &namespace, &name), &[Namespace::new("", &namespace)], &[]);
    for (length, code) in
        [(31, "921c"), (65, "823e"), (200, "82c5"), (300, "8300000029"), (7500, "8300001c49")]
    {
        let mut text = FastInfosetWriter::with_index_limit(32);
        text.leaf(Name::local("e"), &of_length(length));
        let expected =
            [hex("e000000100 3c0065"), hex(code), of_length(length).into_bytes(), hex("ff")].concat();
        assert_eq!(text.finish(), expected, "text of {length}");
    }
    for (length, code) in [(31, "4816"), (65, "0838"), (200, "08bf"), (300, "0c00000023")] {
        let mut value = FastInfosetWriter::with_index_limit(32);
        value.start(Name::local("e"), &[], &[Attribute::new(Name::local("a"), &of_length(length))]);
        let expected =
            [hex("e000000100 7c0065 780061"), hex(code), of_length(length).into_bytes(), hex("fff0")]
                .concat();
        assert_eq!(value.finish(), expected, "value of {length}");
    }
    let expected = [
        hex("e000000100 38cd6000000053"),
        namespace.clone().into_bytes(),
        hex("f03d814005"),
        name.clone().into(),
    ];
    assert_eq!(writer.finish(), [expected.concat(), hex("ff")].concat());
    let mut long_name = FastInfosetWriter::new();
    long_name.leaf(Name::local(&of_length(330)), "");
    assert!(long_name.finish().starts_with(&hex("e000000100 3c6000000009")));
}

#[test]
fn the_default_limit_is_64_octets() {
    let twice = |length: usize| {
        let mut writer = FastInfosetWriter::new();
        writer.open(Name::local("r"));
        writer.leaf(Name::local("e"), &"x".repeat(length));
        writer.leaf(Name::local("e"), &"x".repeat(length));
        writer.finish().len()
    };
    assert!(twice(63) < 64 * 2);
    assert!(twice(64) > 64 * 2);
}

#[test]
fn adjacent_texts_are_joined_and_empty_ones_dropped() {
    let mut pieces = FastInfosetWriter::new();
    pieces.open(Name::local("e"));
    for piece in ["", "h", "", "i", ""] {
        pieces.text(piece);
    }
    pieces.end();
    let mut joined = FastInfosetWriter::new();
    joined.leaf(Name::local("e"), "hi");
    assert_eq!(pieces.finish(), joined.finish());
}

#[test]
fn every_encoding_of_text_is_accepted() {
    for (chunk, text) in [
        ("91 6869", "hi"),
        ("96 01 00680069", "hi"),
        ("86 01 d83dde00", "😀"),
        ("88 00 12", "12"),
        ("88 00 3f", "3"),
        ("88 02 00 123abf", "123-+"),
        ("88 06 07 2024a01a31c12b34b56d", "2024-01-31T12:34:56Z"),
        ("8c 01 0aff", "0AFF"),
        ("8c 06 00 666f6f", "Zm9v"),
        ("8c 05 666f", "Zm8="),
        ("8c 25 3c26", "<&"),
    ] {
        let octets = hex(&format!("e000000100 3c0065 {chunk} ff"));
        let tree = to_tree(&octets, &Limits::default()).unwrap_or_else(|error| panic!("{chunk}: {error}"));
        assert_eq!(tree.text(), text, "{chunk}");
    }
}

#[test]
fn every_encoding_of_values_is_accepted() {
    for (value, text) in [
        ("ff", ""),
        ("41 6869", "hi"),
        ("13 00680069", "hi"),
        ("20 00 12", "12"),
        ("20 10 3f", "3"),
        ("20 08 00 112233445566778899", "112233445566778899"),
        ("30 01 0aff", "0AFF"),
        ("30 12 666f6f", "Zm9v"),
    ] {
        let octets = hex(&format!("e000000100 7c0065 780061 {value} fff0"));
        let tree = to_tree(&octets, &Limits::default()).unwrap_or_else(|error| panic!("{value}: {error}"));
        assert_eq!(tree.attribute("", "a"), Some(text), "{value}");
    }
}

#[test]
fn converted_texts_can_be_referenced_by_index() {
    // A UTF-16 chunk and a numeric value that are added, then referenced by index.
    let octets = hex("e000000100 7c0065 780061 60 00 12 f0 96 01 00680069 40 00 80 f0 a0 ff f0");
    assert_eq!(xml_of(&octets), r#"<e a="12">hi<e a="12">hi</e></e>"#);
}

#[test]
fn the_nine_xml_declarations_are_accepted() {
    for version in ["", "version='1.0' ", "version='1.1' "] {
        for standalone in ["", " standalone='yes'", " standalone='no'"] {
            let declaration = format!("<?xml {version}encoding='finf'{standalone}?>");
            assert_eq!(xml_of(&[declaration.into_bytes(), hex(D1)].concat()), xml_of(&hex(D1)));
        }
    }
}

#[test]
fn optional_components_are_accepted() {
    for header in [
        "04 04 7574662d38",              // character encoding scheme
        "02 00",                         // standalone
        "02 01",                         // standalone
        "01 02 312e30",                  // version 1.0
        "07 04 7574662d38 01 42 312e31", // all of them
        "40 00 0475726e3a78 020a0b0c",   // additional data
    ] {
        assert_eq!(xml_of(&hex(&format!("e0000001 {header} 3c0065ff"))), "<e/>", "{header}");
    }
}

#[test]
fn an_initial_vocabulary_is_accepted() {
    // Prefix p, namespace urn:x, locals e and a, the names p:e and a, the value "1", the text "hi".
    let octets = hex("e0000001 20 03 9b  00 0070  00 0475726e3a78  01 0065 0061  00 00 31  00 01 6869 \
         00 03 01 01 00  00 00 01 \
         78 cf 81 81 f0 00 00 80 f0 a0 ff");
    assert_eq!(xml_of(&octets), r#"<p:e xmlns:p="urn:x" a="1">hi</p:e>"#);
    // Alphabets, algorithms, other names, URIs and strings are skipped, in that order.
    let octets =
        hex("e0000001 20 0c 64  00 02 616263  00 04 75726e3a61  00 00 74  00 04 75726e3a75  00 00 64 \
         e1 80 80  3c0065 ff");
    assert_eq!(xml_of(&octets), "<e/>");
}

#[test]
fn comments_and_processing_instructions_are_skipped() {
    let octets = hex("e000000100 e2 40 63 e1 00 74 40 64  3c0065 90 61 e2 80 90 62 e1 80 ff f0 e2 81 f0");
    assert_eq!(xml_of(&octets), "<e>ab</e>");
}

#[test]
fn terminators_need_not_share_octets() {
    assert_eq!(xml_of(&hex("e000000100 7c0065 780061 40 31 f0 3c0062 f0 f0 f0")), r#"<e a="1"><b/></e>"#);
}
