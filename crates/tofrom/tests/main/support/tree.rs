//! Documents as an independent parser sees them, in the form of our decoder.

use infoset::{Element, Limits, Node, OwnedName, TreeBuilder, decode};

/// The tree of XML text by an independent parser, without insignificant parts: prefixes, declarations, the order of
/// attributes.
pub(crate) fn of_xml(xml: &[u8]) -> Element {
    let xml = std::str::from_utf8(xml).unwrap();
    let document = roxmltree::Document::parse(xml).unwrap_or_else(|error| panic!("{error}: {xml}"));
    plain(of_node(document.root_element()))
}

/// The tree of a Fast Infoset document by our decoder, in the same form.
pub(crate) fn of_fast_infoset(octets: &[u8]) -> Element {
    let mut builder = TreeBuilder::new();
    decode(octets, &Limits::default(), &mut builder).unwrap_or_else(|error| panic!("{error}: {octets:02x?}"));
    plain(builder.finish().unwrap())
}

fn of_node(node: roxmltree::Node<'_, '_>) -> Element {
    let name = |namespace: Option<&str>, local: &str| OwnedName {
        prefix: String::new(),
        namespace: namespace.unwrap_or_default().to_owned(),
        local: local.to_owned(),
    };
    let attributes = node.attributes().map(|one| (name(one.namespace(), one.name()), one.value().to_owned()));
    let children = node.children().map(|child| match child.text().filter(|_| child.is_text()) {
        Some(text) => Node::Text(text.to_owned()),
        None => Node::Element(of_node(child)),
    });
    Element {
        name: name(node.tag_name().namespace(), node.tag_name().name()),
        namespaces: Vec::new(),
        attributes: attributes.collect(),
        children: children.collect(),
    }
}

fn plain(mut element: Element) -> Element {
    element.namespaces.clear();
    element.name.prefix.clear();
    element.attributes.iter_mut().for_each(|(name, _)| name.prefix.clear());
    element.attributes.sort_by(|(a, _), (b, _)| (&a.namespace, &a.local).cmp(&(&b.namespace, &b.local)));
    for child in &mut element.children {
        if let Node::Element(inner) = child {
            *inner = plain(std::mem::take(inner));
        }
    }
    element
}
