//! The tree of an XML or HTML document.

use crate::address;
use crate::namespace::Ns;
use url::Url;

/// An element, with its namespace instead of a prefix.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) ns: Ns,
    pub(crate) name: Box<str>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) children: Vec<Node>,
}

#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) ns: Ns,
    pub(crate) name: Box<str>,
    pub(crate) value: String,
}

/// A child of an element.
#[derive(Debug)]
pub(crate) enum Node {
    Element(Element),
    Text(String),
}

impl Element {
    pub(crate) fn new(ns: Ns, name: &str, attributes: Vec<Attribute>) -> Element {
        Element { ns, name: name.into(), attributes, children: Vec::new() }
    }

    pub(crate) fn is(&self, ns: Ns, name: &str) -> bool {
        self.ns == ns && &*self.name == name
    }

    /// The child elements.
    pub(crate) fn elements(&self) -> impl Iterator<Item = &Element> {
        self.children.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// The child elements with this name.
    pub(crate) fn all<'a>(&'a self, ns: Ns, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.elements().filter(move |element| element.is(ns, name))
    }

    /// The first child element with this name.
    pub(crate) fn first(&self, ns: Ns, name: &str) -> Option<&Element> {
        self.elements().find(|element| element.is(ns, name))
    }

    /// The value of an attribute. An attribute without a prefix has no namespace.
    pub(crate) fn attribute(&self, ns: Ns, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|attribute| attribute.ns == ns && &*attribute.name == name)
            .map(|attribute| attribute.value.as_str())
    }

    /// The value of an attribute without a namespace.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.attribute(Ns::None, name)
    }

    /// All text inside, unchanged.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        self.add_text(&mut text);
        text
    }

    fn add_text(&self, text: &mut String) {
        for node in &self.children {
            match node {
                Node::Text(more) => text.push_str(more),
                Node::Element(element) => element.add_text(text),
            }
        }
    }

    /// The trimmed text of the first child element with this name, if it is not empty.
    pub(crate) fn text_of(&self, ns: Ns, name: &str) -> Option<String> {
        let text = self.first(ns, name)?.text();
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The base of relative addresses inside this element (`xml:base`).
    pub(crate) fn base(&self, outer: &Url) -> Url {
        let inner = self.attribute(Ns::Xml, "base").and_then(|base| address::resolved(base, outer));
        inner.unwrap_or_else(|| outer.clone())
    }
}
