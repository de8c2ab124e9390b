//! Writes XML text.
//!
//! Escapes so that a parser returns exactly the written events. A parser turns a raw carriage return into a
//! line feed, and a raw tab or line feed in an attribute into a space, so these are written as character
//! references.

use std::ops::Range;

use crate::chars::{REPLACEMENT, is_noncharacter};
use crate::event::{Attribute, Name, Namespace, Sink, assert_names};

const DECLARATION: &[u8] = br#"<?xml version="1.0" encoding="UTF-8"?>"#;

/// Writes events as XML 1.0 text in UTF-8.
///
/// ```
/// use infoset::{Attribute, Name, Sink, XmlWriter};
///
/// let mut xml = XmlWriter::fragment();
/// xml.start(Name::local("p"), &[], &[Attribute::new(Name::local("class"), "a\"b")]);
/// xml.text("1 < 2");
/// xml.leaf(Name::local("br"), "");
/// xml.end();
/// assert_eq!(xml.finish(), b"<p class=\"a&quot;b\">1 &lt; 2<br/></p>");
/// ```
#[derive(Debug)]
pub struct XmlWriter {
    out: Vec<u8>,
    /// The position of each open element's qualified name in `out`, from which the end tag copies it.
    open: Vec<Range<usize>>,
    /// Whether the last start tag still lacks its `>` or `/>`.
    in_tag: bool,
    fragment: bool,
}

impl XmlWriter {
    /// A document with an XML declaration.
    #[must_use]
    pub fn new() -> Self {
        Self { out: DECLARATION.to_vec(), fragment: false, ..Self::fragment() }
    }

    /// A fragment for [`raw`](Self::raw): no declaration, any number of elements, and text at the top level is
    /// kept.
    #[must_use]
    pub fn fragment() -> Self {
        Self { out: Vec::new(), open: Vec::new(), in_tag: false, fragment: true }
    }

    /// Appends rendered XML, such as another writer's fragment.
    ///
    /// The fragment is trusted and not checked: it must be well-formed UTF-8, and its namespaces must be
    /// declared inside or around it.
    ///
    /// ```
    /// use infoset::{Name, Sink, XmlWriter};
    ///
    /// let mut entry = XmlWriter::fragment();
    /// entry.leaf(Name::local("entry"), "1");
    /// let entry = entry.finish();
    ///
    /// let mut page = XmlWriter::fragment();
    /// page.open(Name::local("feed"));
    /// page.raw(&entry);
    /// page.raw(&entry);
    /// page.end();
    /// assert_eq!(page.finish(), b"<feed><entry>1</entry><entry>1</entry></feed>");
    /// ```
    pub fn raw(&mut self, fragment: &[u8]) {
        if !fragment.is_empty() {
            self.close_tag();
            self.out.extend_from_slice(fragment);
        }
    }

    /// Returns the text. Open elements are closed.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        while !self.open.is_empty() {
            self.end();
        }
        self.out
    }

    fn close_tag(&mut self) {
        if self.in_tag {
            self.out.push(b'>');
            self.in_tag = false;
        }
    }

    fn name(&mut self, name: Name<'_>) {
        if !name.prefix.is_empty() {
            self.out.extend_from_slice(name.prefix.as_bytes());
            self.out.push(b':');
        }
        self.out.extend_from_slice(name.local.as_bytes());
    }

    fn value(&mut self, value: &str) {
        self.out.extend_from_slice(b"=\"");
        escape(&mut self.out, value, EscapeContext::Attribute);
        self.out.push(b'"');
    }
}

impl Default for XmlWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl Sink for XmlWriter {
    fn start(&mut self, name: Name<'_>, namespaces: &[Namespace<'_>], attributes: &[Attribute<'_>]) {
        assert_names(name, namespaces, attributes);
        self.close_tag();
        self.out.push(b'<');
        let from = self.out.len();
        self.name(name);
        self.open.push(from..self.out.len());
        for namespace in namespaces {
            self.out.extend_from_slice(if namespace.prefix.is_empty() { b" xmlns" } else { b" xmlns:" });
            self.out.extend_from_slice(namespace.prefix.as_bytes());
            self.value(namespace.uri);
        }
        for attribute in attributes {
            self.out.push(b' ');
            self.name(attribute.name);
            self.value(attribute.value);
        }
        self.in_tag = true;
    }

    fn text(&mut self, text: &str) {
        if text.is_empty() || (self.open.is_empty() && !self.fragment) {
            return;
        }
        self.close_tag();
        escape(&mut self.out, text, EscapeContext::Content);
    }

    fn end(&mut self) {
        debug_assert!(!self.open.is_empty(), "end without start");
        let Some(name) = self.open.pop() else { return };
        if self.in_tag {
            self.out.extend_from_slice(b"/>");
            self.in_tag = false;
        } else {
            self.out.extend_from_slice(b"</");
            self.out.extend_from_within(name);
            self.out.push(b'>');
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum EscapeContext {
    Content,
    Attribute,
}

fn escape(out: &mut Vec<u8>, text: &str, context: EscapeContext) {
    let bytes = text.as_bytes();
    let in_attribute = context == EscapeContext::Attribute;
    let mut copied = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let (replacement, replaced) = match byte {
            b'&' => ("&amp;", 1),
            b'<' => ("&lt;", 1),
            b'>' => ("&gt;", 1),
            b'"' if in_attribute => ("&quot;", 1),
            b'\t' if in_attribute => ("&#9;", 1),
            b'\n' if in_attribute => ("&#10;", 1),
            b'\r' => ("&#13;", 1),
            b'\t' | b'\n' => continue,
            0..=0x1F => (REPLACEMENT, 1),
            0xEF if is_noncharacter(bytes, at) => (REPLACEMENT, 3),
            _ => continue,
        };
        out.extend_from_slice(bytes.get(copied..at).unwrap_or_default());
        out.extend_from_slice(replacement.as_bytes());
        copied = at + replaced;
    }
    out.extend_from_slice(bytes.get(copied..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut XmlWriter)) -> String {
        let mut xml = XmlWriter::fragment();
        write(&mut xml);
        String::from_utf8(xml.finish()).unwrap()
    }

    #[test]
    fn escaping_depends_on_the_context() {
        let raw = "&<>\"'\t\n\r\0\u{FFFE}\u{FFFD}é";
        assert_eq!(written(|xml| xml.text(raw)), "&amp;&lt;&gt;\"'\t\n&#13;\u{FFFD}\u{FFFD}\u{FFFD}é");
        assert_eq!(
            written(|xml| {
                xml.start(Name::local("e"), &[], &[Attribute::new(Name::local("a"), raw)]);
                xml.end();
            }),
            "<e a=\"&amp;&lt;&gt;&quot;'&#9;&#10;&#13;\u{FFFD}\u{FFFD}\u{FFFD}é\"/>"
        );
    }

    #[test]
    fn a_document_has_a_declaration_and_no_text_around_its_root() {
        let mut xml = XmlWriter::new();
        xml.text(" ");
        xml.leaf(Name::local("e"), "");
        xml.text("lost");
        assert_eq!(xml.finish(), br#"<?xml version="1.0" encoding="UTF-8"?><e/>"#);
    }

    #[test]
    fn finish_closes_open_elements() {
        assert_eq!(
            written(|xml| {
                xml.start(Name::qualified("p", "u", "a"), &[Namespace::new("p", "u")], &[]);
                xml.open(Name::local("b"));
            }),
            r#"<p:a xmlns:p="u"><b/></p:a>"#
        );
    }
}
