//! Properties of every document.

use infoset::{Attribute, FastInfosetWriter, Limits, Name, Sink, XmlWriter, decode};
use proptest::prelude::*;

use crate::documents::{assert_parses_to, documents, to_fast_infoset, to_tree, to_xml};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fast_infoset_round_trips(tree in documents(), index_limit in prop_oneof![Just(0), Just(32), Just(64), Just(usize::MAX)]) {
        let octets = to_fast_infoset(&tree, index_limit);
        prop_assert_eq!(to_tree(&octets, &Limits::default()), Ok(tree));
    }

    #[test]
    fn an_xml_parser_reads_the_same_tree(tree in documents()) {
        assert_parses_to(&to_xml(&tree), &tree);
    }

    #[test]
    fn direct_and_decoded_xml_are_equal(tree in documents()) {
        let mut xml = XmlWriter::new();
        decode(&to_fast_infoset(&tree, 64), &Limits::default(), &mut xml).unwrap();
        prop_assert_eq!(xml.finish(), to_xml(&tree));
    }

    #[test]
    fn the_writers_agree_on_illegal_characters(text in "(?s)[\\x00-\\x20\u{FFFD}-\u{FFFF}a&]{0,12}", value in any::<String>()) {
        fn events(sink: &mut impl Sink, text: &str, value: &str) {
            sink.start(Name::local("e"), &[], &[Attribute::new(Name::local("a"), value)]);
            sink.text(text);
            sink.end();
        }
        let mut octets = FastInfosetWriter::new();
        events(&mut octets, &text, &value);
        let tree = to_tree(&octets.finish(), &Limits::default()).unwrap();
        let mut xml = XmlWriter::new();
        events(&mut xml, &text, &value);
        assert_parses_to(&xml.finish(), &tree);
        prop_assert_eq!(infoset::first_illegal(&text).is_none(), tree.text() == text);
    }
}
