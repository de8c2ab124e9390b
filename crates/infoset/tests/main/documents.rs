//! Test documents: a random generator, and conversions.

use infoset::{
    DecodeError, Element, FastInfosetWriter, Limits, Node, OwnedName, TreeBuilder, XML_NAMESPACE, XmlWriter,
    decode,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

pub(crate) fn to_fast_infoset(tree: &Element, index_limit: usize) -> Vec<u8> {
    let mut writer = FastInfosetWriter::with_index_limit(index_limit);
    tree.emit(&mut writer);
    writer.finish()
}

pub(crate) fn to_xml(tree: &Element) -> Vec<u8> {
    let mut writer = XmlWriter::new();
    tree.emit(&mut writer);
    writer.finish()
}

pub(crate) fn to_tree(octets: &[u8], limits: &Limits) -> Result<Element, DecodeError> {
    let mut builder = TreeBuilder::new();
    decode(octets, limits, &mut builder)?;
    Ok(builder.finish().expect("a decoded document has a root"))
}

/// Limits for trusted documents.
pub(crate) fn no_limits() -> Limits {
    let most = usize::MAX;
    Limits { bytes: most, depth: 1000, attributes: most, table_entries: most, string: most, output: most }
}

pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    assert!(digits.len().is_multiple_of(2), "odd number of digits in {text}");
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
}

pub(crate) fn local(name: &str) -> OwnedName {
    infoset::Name::local(name).into()
}

pub(crate) fn element(name: &str, children: Vec<Node>) -> Element {
    Element { name: local(name), children, ..Element::default() }
}

/// Random documents, the same ones on every run.
pub(crate) fn samples(count: usize) -> Vec<Element> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = documents();
    (0..count).map(|_| strategy.new_tree(&mut runner).expect("a document").current()).collect()
}

/// Any document: nested and shadowed namespaces, attributes, text with special characters.
pub(crate) fn documents() -> impl Strategy<Value = Element> {
    let node = |element: BoxedStrategy<RawElement>| prop_oneof![1 => text().prop_map(RawNode::Text), 2 => element.prop_map(RawNode::Element)];
    let nested = raw_element(Just(Vec::new()).boxed())
        .prop_recursive(5, 32, 3, move |inner| raw_element(vec(node(inner), 0..5).boxed()));
    // A root that is likely to have content; the recursion alone makes mostly single elements.
    raw_element(vec(node(nested.boxed()), 0..6).boxed()).prop_map(|raw| resolve(&raw, &mut Vec::new()))
}

/// Text without the characters that XML cannot carry.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let troublesome = prop_oneof![
        Just("&"),
        Just("<"),
        Just("]]>"),
        Just("\""),
        Just("'"),
        Just("\t"),
        Just("\n"),
        Just("\r"),
        Just("\r\n"),
        Just(" "),
        Just("é"),
        Just("☕"),
        Just("😀"),
        Just("\u{85}"),
        Just("\u{2028}"),
        Just("\u{7F}"),
        Just("\u{FEFF}"),
        Just("\u{FFFD}"),
        Just("\u{10FFFD}"),
        Just("&amp;"),
        Just("<!--"),
    ];
    prop_oneof![
        3 => prop_oneof![Just(""), Just("post"), Just("self"), Just("http://activitystrea.ms/schema/1.0/note")]
            .prop_map(str::to_owned),
        3 => vec(troublesome, 0..6).prop_map(|parts| parts.concat()),
        3 => any::<String>()
            .prop_map(|text| text.chars().filter(|&c| infoset::is_xml_char(c)).collect::<String>()),
        1 => ("[a-z☕]{1,3}", 1..120usize).prop_map(|(part, times)| part.repeat(times)),
    ]
}

/// An element whose names are choices among the declarations in scope at its final position.
#[derive(Clone, Debug)]
struct RawElement {
    declarations: Vec<(usize, usize)>,
    name: (String, usize),
    attributes: Vec<(String, usize, String)>,
    children: Vec<RawNode>,
}

#[derive(Clone, Debug)]
enum RawNode {
    Element(RawElement),
    Text(String),
}

fn raw_element(children: BoxedStrategy<Vec<RawNode>>) -> impl Strategy<Value = RawElement> {
    (
        prop_oneof![3 => Just(Vec::new()), 2 => vec((any::<usize>(), any::<usize>()), 0..4)],
        (name(), any::<usize>()),
        vec((name(), any::<usize>(), text()), 0..4),
        children,
    )
        .prop_map(|(declarations, name, attributes, children)| RawElement {
            declarations,
            name,
            attributes,
            children,
        })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => prop_oneof![Just("entry"), Just("verb"), Just("link"), Just("rel"), Just("a")].prop_map(str::to_owned),
        1 => "[A-Za-z_éÀ日本][A-Za-z0-9._·本-]{0,6}",
    ]
}

const PREFIXES: [&str; 5] = ["", "activity", "a", "_x", "é"];
const URIS: [&str; 5] = [
    "http://www.w3.org/2005/Atom",
    "http://activitystrea.ms/spec/1.0/",
    "urn:x",
    "urn:a?b=1&c=\"<2>'",
    "urn:日本",
];

fn resolve(raw: &RawElement, scope: &mut Vec<(String, String)>) -> Element {
    let outside = scope.len();
    for &(prefix, uri) in &raw.declarations {
        let prefix = PREFIXES[prefix % PREFIXES.len()];
        // The additional choice undeclares the default namespace.
        let uri =
            URIS.get(uri % (URIS.len() + 1)).copied().unwrap_or(if prefix.is_empty() { "" } else { "urn:y" });
        if !scope[outside..].iter().any(|(declared, _)| declared == prefix) {
            scope.push((prefix.into(), uri.into()));
        }
    }
    let mut bindings = vec![(String::new(), String::new())];
    for (prefix, uri) in scope.iter() {
        bindings.retain(|(declared, _)| declared != prefix);
        bindings.push((prefix.clone(), uri.clone()));
    }
    let qualified = |bindings: &[(String, String)], pick: usize, local: &str| {
        let (prefix, namespace) = bindings[pick % bindings.len()].clone();
        OwnedName { prefix, namespace, local: local.into() }
    };
    let name = qualified(&bindings, raw.name.1, &raw.name.0);
    bindings.retain(|(prefix, _)| !prefix.is_empty());
    bindings.push((String::new(), String::new()));
    bindings.push(("xml".into(), XML_NAMESPACE.into()));
    let mut attributes: Vec<(OwnedName, String)> = Vec::new();
    for (local, pick, value) in &raw.attributes {
        let name = qualified(&bindings, *pick, local);
        if !attributes.iter().any(|(existing, _)| existing.is(&name.namespace, &name.local)) {
            attributes.push((name, value.clone()));
        }
    }
    let mut children: Vec<Node> = Vec::new();
    for child in &raw.children {
        match (child, children.last_mut()) {
            (RawNode::Element(child), _) => children.push(Node::Element(resolve(child, scope))),
            (RawNode::Text(text), _) if text.is_empty() => {}
            (RawNode::Text(text), Some(Node::Text(before))) => before.push_str(text),
            (RawNode::Text(text), _) => children.push(Node::Text(text.clone())),
        }
    }
    let namespaces = scope.split_off(outside);
    Element { name, namespaces, attributes, children }
}

/// Asserts that an independent XML parser reads the same tree.
pub(crate) fn assert_parses_to(xml: &[u8], tree: &Element) {
    let xml = str::from_utf8(xml).expect("UTF-8");
    let document = roxmltree::Document::parse(xml).unwrap_or_else(|error| panic!("{error} in {xml}"));
    assert_same(document.root_element(), tree);
}

fn assert_same(node: roxmltree::Node<'_, '_>, tree: &Element) {
    assert_eq!(node.tag_name().name(), tree.name.local);
    assert_eq!(node.tag_name().namespace().unwrap_or(""), tree.name.namespace);
    let attributes: Vec<_> =
        node.attributes().map(|a| (a.namespace().unwrap_or(""), a.name(), a.value())).collect();
    let expected: Vec<_> =
        tree.attributes.iter().map(|(name, value)| (&*name.namespace, &*name.local, &**value)).collect();
    assert_eq!(attributes, expected);
    assert_eq!(node.children().count(), tree.children.len(), "children of {:?}", tree.name);
    for (node, child) in node.children().zip(&tree.children) {
        match child {
            Node::Element(child) => assert_same(node, child),
            Node::Text(text) => assert_eq!(node.text(), Some(&**text)),
        }
    }
}
