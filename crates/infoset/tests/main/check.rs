//! What must hold for any octets whatever. Needs nothing but the crate, so that a fuzzer can include it.

use infoset::{Element, FastInfosetWriter, Limits, Sink, TreeBuilder, XmlWriter, decode};

/// Decodes; what decodes must come back the same after being written again. Returns what decoded.
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
    let again = writer.finish();
    // What is written again may be longer: names by name instead of by index, UTF-8 instead of UTF-16.
    let again = self::tree(|builder| decode(&again, &Limits::default(), builder).is_ok());
    assert!(again.as_ref() == Some(&tree), "{tree:?}\ncame back as\n{again:?}");
    let mut xml = XmlWriter::new();
    assert!(decode(data, &limits, &mut xml as &mut dyn Sink).is_ok(), "decodes only once");
    assert!(!xml.finish().is_empty(), "no text");
    Some(tree)
}

fn tree(fill: impl FnOnce(&mut TreeBuilder) -> bool) -> Option<Element> {
    let mut builder = TreeBuilder::new();
    if fill(&mut builder) { builder.finish() } else { None }
}
