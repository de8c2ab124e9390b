//! A small owned tree, for random access to a document.

use crate::event::{Attribute, Name, Namespace, Sink};

/// An owned [`Name`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OwnedName {
    /// The prefix; ignore it when comparing names.
    pub prefix: String,
    /// The namespace name; empty for none.
    pub namespace: String,
    /// The local name.
    pub local: String,
}

impl OwnedName {
    /// Borrows the name.
    #[must_use]
    pub fn as_name(&self) -> Name<'_> {
        Name::qualified(&self.prefix, &self.namespace, &self.local)
    }

    /// Whether the name has this namespace and local name.
    #[must_use]
    pub fn is(&self, namespace: &str, local: &str) -> bool {
        self.local == local && self.namespace == namespace
    }
}

impl From<Name<'_>> for OwnedName {
    fn from(name: Name<'_>) -> Self {
        Self { prefix: name.prefix.into(), namespace: name.namespace.into(), local: name.local.into() }
    }
}

/// A child of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A child element.
    Element(Element),
    /// Text, never empty and never next to another text.
    Text(String),
}

/// An element with its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// The name.
    pub name: OwnedName,
    /// The namespaces declared on this element: prefix and URI.
    pub namespaces: Vec<(String, String)>,
    /// The attributes and their values, in document order.
    pub attributes: Vec<(OwnedName, String)>,
    /// Elements and texts, in document order.
    pub children: Vec<Node>,
}

impl Element {
    /// The value of an attribute; the namespace is empty for ordinary attributes.
    #[must_use]
    pub fn attribute(&self, namespace: &str, local: &str) -> Option<&str> {
        self.attributes.iter().find(|(name, _)| name.is(namespace, local)).map(|(_, value)| value.as_str())
    }

    /// The child elements.
    pub fn elements(&self) -> impl Iterator<Item = &Element> {
        self.children.iter().filter_map(|child| match child {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// The first child element with this name.
    #[must_use]
    pub fn child(&self, namespace: &str, local: &str) -> Option<&Element> {
        self.elements().find(|element| element.name.is(namespace, local))
    }

    /// The joined text of all child text nodes.
    #[must_use]
    pub fn text(&self) -> String {
        self.children
            .iter()
            .filter_map(|child| if let Node::Text(text) = child { Some(&**text) } else { None })
            .collect()
    }

    /// Sends this element to a sink.
    pub fn emit(&self, sink: &mut (impl Sink + ?Sized)) {
        let namespaces: Vec<_> =
            self.namespaces.iter().map(|(prefix, uri)| Namespace::new(prefix, uri)).collect();
        let attributes: Vec<_> =
            self.attributes.iter().map(|(name, value)| Attribute::new(name.as_name(), value)).collect();
        sink.start(self.name.as_name(), &namespaces, &attributes);
        for child in &self.children {
            match child {
                Node::Element(element) => element.emit(sink),
                Node::Text(text) => sink.text(text),
            }
        }
        sink.end();
    }
}

/// A sink that builds the tree.
///
/// Trees are dropped and compared by recursion, so keep the depth bounded, as [`Limits`](crate::Limits)
/// does.
///
/// ```
/// use infoset::{Name, Sink, TreeBuilder};
///
/// let mut builder = TreeBuilder::new();
/// builder.open(Name::local("person"));
/// builder.leaf(Name::local("name"), "Ana");
/// builder.end();
/// let person = builder.finish().expect("the root has ended");
/// assert_eq!(person.child("", "name").map(|name| name.text()).as_deref(), Some("Ana"));
/// ```
#[derive(Debug, Default)]
pub struct TreeBuilder {
    open: Vec<Element>,
    root: Option<Element>,
}

impl TreeBuilder {
    /// An empty builder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The root element, if it is complete.
    #[must_use]
    pub fn finish(self) -> Option<Element> {
        self.root
    }
}

impl Sink for TreeBuilder {
    fn start(&mut self, name: Name<'_>, namespaces: &[Namespace<'_>], attributes: &[Attribute<'_>]) {
        self.open.push(Element {
            name: name.into(),
            namespaces: namespaces.iter().map(|n| (n.prefix.into(), n.uri.into())).collect(),
            attributes: attributes.iter().map(|a| (a.name.into(), a.value.into())).collect(),
            children: Vec::new(),
        });
    }

    fn text(&mut self, text: &str) {
        let Some(parent) = self.open.last_mut().filter(|_| !text.is_empty()) else { return };
        if let Some(Node::Text(before)) = parent.children.last_mut() {
            before.push_str(text);
        } else {
            parent.children.push(Node::Text(text.into()));
        }
    }

    fn end(&mut self) {
        let Some(element) = self.open.pop() else { return };
        match self.open.last_mut() {
            Some(parent) => parent.children.push(Node::Element(element)),
            None => self.root = Some(element),
        }
    }
}
