//! The event stream: what a producer says and every sink hears.
//!
//! Everything else in the crate stands on one side of this trait. The decoder produces events, the XML
//! writer, the Fast Infoset writer and the tree builder consume them, so any pair can be joined.

use crate::chars::is_ncname;

/// The namespace that the prefix `xml` is bound to without being declared.
pub const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";

/// The name of an element or an attribute.
///
/// A part that is absent is the empty string.
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
    /// The namespace name; empty only to take the default namespace back (`xmlns=""`).
    pub uri: &'a str,
}

impl<'a> Namespace<'a> {
    /// A declaration of `prefix` for `uri`.
    #[must_use]
    pub const fn new(prefix: &'a str, uri: &'a str) -> Self {
        Self { prefix, uri }
    }
}

/// An attribute and its value, which is plain text: sinks do the escaping.
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

/// Where the events of one document go.
///
/// # What the caller promises
///
/// The writers do not check the structure, so that writing cannot fail; debug builds assert what is cheap
/// to assert. The caller sees to it that
///
/// * every [`start`](Sink::start) has its [`end`](Sink::end), and a document has one root element
///   (text outside of it is dropped);
/// * prefixes and local names are names ([`is_ncname`]), which matters when they come from input;
/// * the namespaces of names are declared, on the element itself or around it (`xml` never is), and no
///   attribute is given twice.
///
/// Text and values may hold any character. Those that XML 1.0 cannot carry ([`is_xml_char`]) are replaced
/// by U+FFFD in every writer alike; ask [`first_illegal`] first to refuse them instead.
///
/// [`is_xml_char`]: crate::is_xml_char
/// [`first_illegal`]: crate::first_illegal
pub trait Sink {
    /// An element begins.
    fn start(&mut self, name: Name<'_>, namespaces: &[Namespace<'_>], attributes: &[Attribute<'_>]);

    /// Text inside the open element. Adjacent calls make one text; empty text says nothing.
    fn text(&mut self, text: &str);

    /// The element that was opened last ends.
    fn end(&mut self);

    /// An element without attributes begins.
    fn open(&mut self, name: Name<'_>) {
        self.start(name, &[], &[]);
    }

    /// An element that holds only text, or nothing when the text is empty.
    fn leaf(&mut self, name: Name<'_>, text: &str) {
        self.open(name);
        self.text(text);
        self.end();
    }
}

/// What debug builds assert of a start event.
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
