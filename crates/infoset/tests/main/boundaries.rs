//! Both sides of every size at which the encoding changes.

use infoset::{Element, Node};

use crate::documents::{element, local, no_limits, to_fast_infoset, to_tree};

fn assert_round_trip(tree: &Element, index_limit: usize) {
    let octets = to_fast_infoset(tree, index_limit);
    let back = to_tree(&octets, &no_limits()).unwrap();
    assert!(back == *tree, "a document of {} octets did not round-trip", octets.len());
}

#[test]
fn lengths_at_boundaries_round_trip() {
    for boundary in [1, 2, 8, 64, 258, 264, 320, 65_536] {
        for length in [boundary, boundary + 1] {
            let text = "x".repeat(length);
            let mut tree = element(&text, vec![Node::Text(text.clone())]);
            tree.attributes.push((local(&text), text.clone()));
            tree.namespaces.push((text.clone(), text.clone()));
            let again = Node::Element(tree.clone());
            tree.children.push(again);
            assert_round_trip(&tree, 0);
            assert_round_trip(&tree, usize::MAX);
        }
    }
}

#[test]
fn indexes_at_boundaries_round_trip() {
    // More than the 8,256 at which attributes, values and names take a third octet.
    let count = 8_300;
    let item = |n: usize| {
        let mut item = element(&format!("e{n}"), vec![Node::Text(format!("t{n}"))]);
        item.name.namespace = format!("urn:{n}");
        item.name.prefix = format!("p{n}");
        item.namespaces.push((item.name.prefix.clone(), item.name.namespace.clone()));
        item.attributes.push((local(&format!("a{n}")), format!("v{n}")));
        Node::Element(item)
    };
    let children = (0..count).chain(0..count).map(item).collect();
    assert_round_trip(&element("r", children), 64);
}

#[test]
fn a_full_table_stays_unchanged() {
    // Crosses text index 263,184, where a fourth octet is needed, and the 2^20 entries a table can hold.
    let count = (1 << 20) + 10;
    let texts = (0..count).chain(0..4).chain(263_180..263_190).chain(count - 14..count);
    let item = |n: usize| Node::Element(element("e", vec![Node::Text(n.to_string())]));
    let tree = element("r", texts.map(item).collect());
    assert_round_trip(&tree, 64);
}
