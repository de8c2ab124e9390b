//! Invariants for any input. Depends only on the crate, so a fuzzer can include it.

use infoset::{Element, FastInfosetWriter, Limits, Sink, TreeBuilder, XmlWriter, decode};

/// Decodes the input. If that succeeds, encoding and decoding the result must give the same tree, which is
/// returned.
pub(crate) fn check(data: &[u8]) -> Option<Element> {
    let limits = Limits {
        bytes: 1 << 16,
        depth: 32,
        attributes: 32,
        table_entries: 4096,
        string: 1 << 12,
        output: 1 << 16,
    };
    let tree = tree(|builder| decode(data, &limits, builder).is_ok())?;
    let mut writer = FastInfosetWriter::new();
    tree.emit(&mut writer);
    let round_trip = writer.finish();
    // The encoded form may be longer: literal names instead of indexes, UTF-8 instead of UTF-16.
    let round_trip = self::tree(|builder| decode(&round_trip, &Limits::default(), builder).is_ok());
    assert!(round_trip.as_ref() == Some(&tree), "{tree:?}\nround-tripped to\n{round_trip:?}");
    let mut xml = XmlWriter::new();
    assert!(decode(data, &limits, &mut xml as &mut dyn Sink).is_ok(), "decoding is not repeatable");
    assert!(!xml.finish().is_empty(), "empty XML text");
    Some(tree)
}

fn tree(fill: impl FnOnce(&mut TreeBuilder) -> bool) -> Option<Element> {
    let mut builder = TreeBuilder::new();
    if fill(&mut builder) { builder.finish() } else { None }
}
