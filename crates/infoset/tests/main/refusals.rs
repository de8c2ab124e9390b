//! Rejected documents and their reasons.

use infoset::{Limit, Limits, Reason};

use crate::documents::{hex, no_limits, samples, to_fast_infoset, to_tree};

/// The reason for rejecting a document; the digits follow a plain header.
fn refusal(content: &str) -> Reason {
    refusal_of(&hex(&format!("e000000100 {content}")))
}

fn refusal_of(octets: &[u8]) -> Reason {
    match to_tree(octets, &Limits::default()) {
        Ok(tree) => panic!("accepted as {tree:?}"),
        Err(error) => error.reason(),
    }
}

#[test]
fn invalid_headers_are_rejected() {
    for header in ["", "e0", "e001000100", "e000000200", "3c3f786d6c3f3e"] {
        assert_eq!(refusal_of(&hex(header)), Reason::NotFastInfoset, "{header}");
    }
    for declaration in [
        "<?xml version=\"1.0\" encoding='finf'?>",
        "<?xml version='1.0'?>",
        "<?xml encoding='finf' standalone='maybe'?>",
        "<?xml encoding='finf' ?>",
        "<?xml version='1.2' encoding='finf'?>",
        " ",
    ] {
        let document = [declaration.as_bytes(), &hex("e000000100 3c0065 ff")].concat();
        assert_eq!(refusal_of(&document), Reason::NotFastInfoset, "{declaration}");
    }
    for (header, reason) in [
        ("80", Reason::Padding),
        ("10 f0", Reason::Notations),
        ("08 f0", Reason::UnparsedEntities),
        ("20 1000 04 75726e3a78", Reason::ExternalVocabulary),
        ("20 8000", Reason::Padding),
        ("20 0080 90", Reason::Padding),
        ("20 0080 00 80", Reason::Padding),
        ("20 0010 00 40 61", Reason::Padding),
        ("20 0002 00 04 00", Reason::Padding),
        ("20 0002 00 02 00 00", Reason::IllegalOctet(0x02)),
        ("20 0002 00 00 00", Reason::Index(1)),
        ("20 0080 00 00 31", Reason::IllegalName),
        ("02 02", Reason::Padding),
        ("01 02 322e30", Reason::XmlVersion),
        ("04 80", Reason::Padding),
    ] {
        assert_eq!(refusal_of(&hex(&format!("e0000001 {header} 3c0065 ff"))), reason, "{header}");
    }
}

#[test]
fn invalid_structure_is_rejected() {
    for (content, reason) in [
        ("f0", Reason::NoRoot),
        ("ff", Reason::Padding),
        ("f1", Reason::Padding),
        ("c4 f0 3c0065 ff", Reason::Dtd),
        ("c7 00 61 00 62 f0 3c0065 ff", Reason::Dtd),
        ("3c0065 c8 00 61 ff", Reason::EntityReference),
        ("3c0065 f0 3c0065 ff", Reason::SecondRoot),
        ("3c0065 f0 00 ff", Reason::SecondRoot),
        ("3c0065 ff 00", Reason::TrailingBytes),
        ("3c0065 f0 f0 f0", Reason::TrailingBytes),
        ("3c0065 f1 f0", Reason::Padding),
        ("7c0065 780061 40 31 f3", Reason::Padding),
        ("90 61 3c0065 ff", Reason::IllegalOctet(0x90)),
        ("3c0065 f0 a0 f0", Reason::IllegalOctet(0xA0)),
        ("3c0065 c0 ff", Reason::IllegalOctet(0xC0)),
        ("3c0065 e0 ff", Reason::IllegalOctet(0xE0)),
        ("3e 80 0065 ff", Reason::IllegalOctet(0x3E)),
        ("31 00000000", Reason::IllegalOctet(0x31)),
        ("38 cd 00 75 f0 38", Reason::IllegalOctet(0x38)),
        ("38 cd 00 75 f0 7d 81 0065 ff", Reason::Padding),
        ("38 cd 00 75 ff", Reason::Padding),
        ("38 c0", Reason::IllegalOctet(0xC0)),
        ("7c0065 70 000000", Reason::IllegalOctet(0x70)),
        ("7c0065 7a 80 0061 ff f0", Reason::IllegalOctet(0x7A)),
        ("7c0065 80", Reason::IllegalOctet(0x80)),
        ("7c0065 780061 f0", Reason::IllegalOctet(0xF0)),
        ("7c0065 780061 49 31", Reason::Padding),
        ("3c 41 05", Reason::Padding),
        ("3c0065 b9 000000 ff", Reason::IllegalOctet(0xB9)),
        ("3c0065 b8 100000 ff", Reason::Padding),
        ("30 100000 f0", Reason::Padding),
    ] {
        assert_eq!(refusal(content), reason, "{content}");
    }
}

#[test]
fn indexes_beyond_their_table_are_rejected() {
    for (content, index) in [
        ("00 ff", 1),
        ("20 00 ff", 33),
        ("28 0000 ff", 2081),
        ("30 000000 ff", 526_369),
        ("3c 80 ff", 1),
        ("3d 81 0065 ff", 2),
        ("3f 81 80 0065 ff", 2),
        ("3c0065 a0 ff", 1),
        ("3c0065 91 6869 a1 ff", 2),
        ("3c0065 b0 00 ff", 17),
        ("3c0065 b4 0000 ff", 1041),
        ("3c0065 b8 000000 ff", 263_185),
        ("3c0065 b8 0fffff ff", 263_184 + 0x10_0000),
        ("7c0065 00 40 31 ff f0", 1),
        ("7c0065 780061 80 ff f0", 1),
        ("7c0065 780061 c0 00 ff f0", 65),
        ("7c0065 780061 ef ffff ff f0", 8_257 + 0xF_FFFF),
        ("38 cf 81 00 75 f0", 2),
        ("e2 80 3c0065 ff", 1),
        ("e1 80 ff 3c0065 ff", 1),
    ] {
        assert_eq!(refusal(content), Reason::Index(index), "{content}");
    }
}

#[test]
fn undeclared_namespaces_are_rejected() {
    for (content, reason) in [
        // p:e where p is not declared, declared for another namespace, or declared only inside.
        ("3f 00 70 04 75726e3a78 00 65 ff", Reason::UndeclaredNamespace),
        ("38 cf 00 70 00 75 f0 3f 81 00 76 00 65 ff", Reason::UndeclaredNamespace),
        ("3c0065 38 cf 00 70 00 75 f0 3f 81 81 00 69 f0 01 ff f0", Reason::UndeclaredNamespace),
        // An element in an undeclared default namespace, or in none where one is declared.
        ("3d 00 75 00 65 ff", Reason::UndeclaredNamespace),
        ("38 cd 00 75 f0 3c 00 65 ff", Reason::UndeclaredNamespace),
        // Attributes: undeclared, and in a namespace without a prefix.
        ("7c0065 7b 00 70 00 75 00 61 40 31 ff f0", Reason::UndeclaredNamespace),
        ("78 cd 00 75 f0 3d 81 00 65 79 81 00 61 40 31 ff f0", Reason::UndeclaredNamespace),
        // The prefix xml with another namespace.
        ("38 cd 00 75 f0 3f 80 81 00 65 ff", Reason::UndeclaredNamespace),
        ("38 cf 80 00 75 f0 3c0065 ff", Reason::ReservedNamespace),
        ("38 cf 04 786d6c6e73 00 75 f0 3c0065 ff", Reason::ReservedNamespace),
        ("38 cf 00 70 80 f0 3c0065 ff", Reason::ReservedNamespace),
        ("38 ce 00 70 f0 3c0065 ff", Reason::ReservedNamespace),
        ("38 cf 00 70 00 75 cf 81 81 f0 3c0065 ff", Reason::DuplicateNamespace),
        ("38 cd 00 75 cc f0 3c0065 ff", Reason::DuplicateNamespace),
    ] {
        assert_eq!(refusal(content), reason, "{content}");
    }
}

#[test]
fn duplicate_attributes_are_rejected() {
    assert_eq!(refusal("7c0065 780061 40 31 00 40 32 ff f0"), Reason::DuplicateAttribute);
    // Two literals, and two prefixes of one namespace.
    assert_eq!(refusal("7c0065 780061 40 31 7881 40 32 ff f0"), Reason::DuplicateAttribute);
    let two_prefixes = "78 cf 0070 0075 cf 0071 81 f0 3c0065 7b 81 81 0061 40 31 7b 82 81 81 80 ff f0";
    assert_eq!(refusal(two_prefixes), Reason::DuplicateAttribute);
    // With many attributes, which are compared with a hash set.
    let many: String = (0..20).map(|n| format!("78 00 {:02x} ff", 0x61 + n)).collect();
    assert!(to_tree(&hex(&format!("e000000100 7c0065 {many} fff0")), &Limits::default()).is_ok());
    assert_eq!(refusal(&format!("7c0065 {many} 03 ff fff0")), Reason::DuplicateAttribute);
}

#[test]
fn illegal_characters_and_names_are_rejected() {
    for (content, reason) in [
        ("3c0065 90 00 ff", Reason::IllegalCharacter('\0')),
        ("3c0065 92 00 efbfbe ff", Reason::IllegalCharacter('\u{FFFE}')),
        ("3c0065 85 0001 ff", Reason::IllegalCharacter('\u{1}')),
        ("3c0065 85 ffff ff", Reason::IllegalCharacter('\u{FFFF}')),
        ("7c0065 780061 40 0b ff f0", Reason::IllegalCharacter('\u{B}')),
        ("38 cd 00 01 f0 3d 81 0065 ff", Reason::IllegalCharacter('\u{1}')),
        ("e2 00 01 3c0065 ff", Reason::IllegalCharacter('\u{1}')),
        ("3c0065 8c 24 01 ff", Reason::IllegalCharacter('\u{1}')),
        ("3c0065 91 c080 ff", Reason::Encoding),
        ("3c0065 90 80 ff", Reason::Encoding),
        ("3c0065 92 00 eda080 ff", Reason::Encoding),
        ("3c0065 84 00 ff", Reason::Encoding),
        ("3c0065 85 d800 ff", Reason::Encoding),
        ("3c0065 88 00 f1 ff", Reason::Encoding),
        ("3c0065 88 01 1f11 ff", Reason::Encoding),
        ("3c 00 31 ff", Reason::IllegalName),
        ("3c 02 613a62 ff", Reason::IllegalName),
        ("3c 02 613c62 ff", Reason::IllegalName),
        ("7c0065 7800 20 40 31 ff f0", Reason::IllegalName),
        ("38 cf 00 2d 00 75 f0 3c0065 ff", Reason::IllegalName),
        ("e1 00 20 ff 3c0065 ff", Reason::IllegalName),
    ] {
        assert_eq!(refusal(content), reason, "{content}");
    }
}

#[test]
fn other_algorithms_and_alphabets_are_rejected() {
    for index in [3_u16, 9, 11, 33, 256] {
        let [high, low] = ((index - 1) << 2).to_be_bytes();
        let chunk = |kind: u8| format!("3c0065 {:02x} {low:02x} 31 ff", kind | high);
        assert_eq!(refusal(&chunk(0x8C)), Reason::Algorithm(index));
        assert_eq!(refusal(&chunk(0x88)), Reason::Alphabet(index));
        let [high, low] = ((index - 1) << 4).to_be_bytes();
        let value = |kind: u8| format!("7c0065 780061 {:02x} {low:02x} 31 ff f0", kind | high);
        assert_eq!(refusal(&value(0x30)), Reason::Algorithm(index));
        assert_eq!(refusal(&value(0x20)), Reason::Alphabet(index));
    }
    assert_eq!(refusal("7c0065 780061 30 90 31 ff f0"), Reason::Algorithm(10), "CDATA in an attribute");
}

#[test]
fn every_limit_is_enforced() {
    // <e a="1" xmlns:p="u"><e/>hihi</e>
    let octets = hex("e000000100 78 cf 0070 0075 f0 3c0065 780061 40 31 f0 00 f0 91 6869 a0 ff");
    let output = (1 + 32) + (1 + 1 + 32) + (1 + 1 + 32) + (1 + 32) + 4;
    let exact = Limits { bytes: octets.len(), depth: 2, attributes: 2, table_entries: 8, string: 2, output };
    assert!(to_tree(&octets, &exact).is_ok());
    for (limits, limit) in [
        (Limits { bytes: exact.bytes - 1, ..exact.clone() }, Limit::Bytes),
        (Limits { depth: 1, ..exact.clone() }, Limit::Depth),
        (Limits { attributes: 1, ..exact.clone() }, Limit::Attributes),
        (Limits { table_entries: 7, ..exact.clone() }, Limit::TableEntries),
        (Limits { string: 1, ..exact.clone() }, Limit::String),
        (Limits { output: output - 1, ..exact.clone() }, Limit::Output),
    ] {
        assert_eq!(to_tree(&octets, &limits).unwrap_err().reason(), Reason::Limit(limit));
    }
}

#[test]
fn errors_have_an_offset_and_a_reason() {
    let octets = hex("e000000100 3c0065 91 6869 a1 ff");
    let error = to_tree(&octets, &Limits::default()).unwrap_err();
    assert_eq!(error.offset(), 11);
    assert_eq!(error.to_string(), "no table entry with index 2 (item at octet 11)");
}

#[test]
fn truncated_documents_are_rejected() {
    for tree in samples(40) {
        let octets = to_fast_infoset(&tree, 64);
        for length in 0..octets.len() {
            let error = to_tree(&octets[..length], &Limits::default()).unwrap_err();
            let expected = if length < 4 { Reason::NotFastInfoset } else { Reason::Truncated };
            assert_eq!(error.reason(), expected, "{length} of {} octets", octets.len());
        }
    }
}

#[test]
fn a_claimed_length_allocates_nothing() {
    let before = peak_kibibytes();
    for content in [
        "3c0065 83 ffffffff",
        "3c0065 87 ffffffff",
        "3c0065 88 03 ffffffff",
        "3c0065 8c 03 ffffffff",
        "3c 60 ffffffff",
        "7c0065 780061 0c ffffffff",
    ] {
        let octets = hex(&format!("e000000100 {content}"));
        assert_eq!(to_tree(&octets, &no_limits()).unwrap_err().reason(), Reason::Truncated, "{content}");
        assert_eq!(refusal_of(&octets), Reason::Limit(Limit::String), "{content}");
    }
    assert_eq!(refusal_of(&hex("e0000001 20 0080 8fffff")), Reason::Truncated);
    let grown = peak_kibibytes().saturating_sub(before);
    assert!(grown < 2 << 20, "the address space grew by {grown} KiB");
}

/// The peak address space of this process; zero if the system does not report it.
fn peak_kibibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

#[test]
fn repeating_a_long_text_is_rejected() {
    // 64 KiB of text, then two million octets that each repeat it: 128 GiB.
    let length = 1_u32 << 16;
    let mut bomb = hex("e000000100 3c0065 93");
    bomb.extend((length - 259).to_be_bytes());
    bomb.extend(vec![b'x'; length as usize]);
    bomb.extend(vec![0xA0; 2 << 20]);
    bomb.push(0xFF);
    assert_eq!(refusal_of(&bomb), Reason::Limit(Limit::Output));
    // The same with a namespace, which every element repeats.
    let mut bomb = hex("e000000100 38 cd 60");
    bomb.extend((length - 321).to_be_bytes());
    bomb.extend(vec![b'x'; length as usize]);
    bomb.extend(hex("f0 3d 81 00 65"));
    bomb.extend([0x00, 0xF0].repeat(1 << 20));
    bomb.push(0xFF);
    assert_eq!(refusal_of(&bomb), Reason::Limit(Limit::Output));
}
