//! The event stream between producers and sinks.
//!
//! The decoder produces events. The XML writer, the Fast Infoset writer and the tree builder consume them. Any
//! producer works with any sink.

use crate::chars::is_ncname;

/// The namespace of the prefix `xml`, which needs no declaration.
pub const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";

/// The name of an element or an attribute.
///
/// An absent part is the empty string.
///
/// ```
/// use infoset::Name;
///
/// const TITLE: Name<'_> = Name::qualified("", "http://www.w3.org/2005/Atom", "title");
/// const REL: Name<'_> = Name::local("rel");
/// assert_eq!(REL.namespace, "");
/// assert_eq!(TITLE.local, "title");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Name<'a> {
    /// The prefix; empty for names in the default namespace and for names without a namespace.
    pub prefix: &'a str,
    /// The namespace name (URI); empty for names without a namespace.
    pub namespace: &'a str,
    /// The part after the colon.
    pub local: &'a str,
}

impl<'a> Name<'a> {
    /// A name in no namespace.
    #[must_use]
    pub const fn local(local: &'a str) -> Self {
        Self { prefix: "", namespace: "", local }
    }

    /// A name in a namespace; an empty prefix means the default namespace (elements only).
    #[must_use]
    pub const fn qualified(prefix: &'a str, namespace: &'a str, local: &'a str) -> Self {
        Self { prefix, namespace, local }
    }
}

/// A namespace declaration: `xmlns:prefix="uri"`, or `xmlns="uri"` when the prefix is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Namespace<'a> {
    /// The prefix that is declared; empty for the default namespace.
    pub prefix: &'a str,
    /// The namespace name; empty only to undeclare the default namespace (`xmlns=""`).
    pub uri: &'a str,
}

impl<'a> Namespace<'a> {
    /// A declaration of `prefix` for `uri`.
    #[must_use]
    pub const fn new(prefix: &'a str, uri: &'a str) -> Self {
        Self { prefix, uri }
    }
}

/// An attribute and its value. The value is plain text: sinks escape it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attribute<'a> {
    /// The name; an attribute in a namespace has a prefix.
    pub name: Name<'a>,
    /// The value.
    pub value: &'a str,
}

impl<'a> Attribute<'a> {
    /// An attribute.
    #[must_use]
    pub const fn new(name: Name<'a>, value: &'a str) -> Self {
        Self { name, value }
    }
}

/// Receives the events of one document.
///
/// # Requirements for callers
///
/// The writers do not check the structure, so writing cannot fail; debug builds assert what is cheap to assert.
/// The caller ensures that
///
/// * every [`start`](Sink::start) has its [`end`](Sink::end), and a document has one root element
///   (text outside of it is dropped);
/// * prefixes and local names are names ([`is_ncname`]), which matters when they come from input;
/// * the namespaces of names are declared, on the element itself or around it (`xml` never is), and no
///   attribute is given twice.
///
/// Text and values may contain any character. Every writer replaces characters that XML 1.0 cannot carry
/// ([`is_xml_char`]) by U+FFFD; use [`first_illegal`] to reject them instead.
///
/// [`is_xml_char`]: crate::is_xml_char
/// [`first_illegal`]: crate::first_illegal
pub trait Sink {
    /// Begins an element.
    fn start(&mut self, name: Name<'_>, namespaces: &[Namespace<'_>], attributes: &[Attribute<'_>]);

    /// Adds text to the open element. Adjacent calls make one text; empty text has no effect.
    fn text(&mut self, text: &str);

    /// Ends the element that was opened last.
    fn end(&mut self);

    /// Begins an element without attributes.
    fn open(&mut self, name: Name<'_>) {
        self.start(name, &[], &[]);
    }

    /// An element that contains only text, or nothing if the text is empty.
    fn leaf(&mut self, name: Name<'_>, text: &str) {
        self.open(name);
        self.text(text);
        self.end();
    }
}

/// Assertions of debug builds for a start event.
pub(crate) fn assert_names(name: Name<'_>, namespaces: &[Namespace<'_>], attributes: &[Attribute<'_>]) {
    let legal = |name: Name<'_>| {
        is_ncname(name.local)
            && (name.prefix.is_empty() || (is_ncname(name.prefix) && !name.namespace.is_empty()))
    };
    debug_assert!(legal(name), "illegal element name: {name:?}");
    for attribute in attributes {
        let name = attribute.name;
        debug_assert!(legal(name), "illegal attribute name: {name:?}");
        debug_assert!(name.namespace.is_empty() || !name.prefix.is_empty(), "no prefix: {name:?}");
    }
    for namespace in namespaces {
        debug_assert!(
            namespace.prefix.is_empty() || (is_ncname(namespace.prefix) && !namespace.uri.is_empty()),
            "illegal namespace declaration: {namespace:?}"
        );
    }
}
