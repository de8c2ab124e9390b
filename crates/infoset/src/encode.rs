//! The Fast Infoset sink.
//!
//! A Fast Infoset document is the same event stream as XML text, with the names and the shorter strings
//! kept in tables: the first occurrence is written out and takes the next slot, later ones are an index.
//! The tables are never sent; the reader builds the same ones as it goes. What goes into them is fixed for
//! names and the writer's choice for values and text, see [`FastInfosetWriter::with_index_limit`].

mod octets;
mod tables;

use crate::chars::clean;
use crate::event::{Attribute, Name, Namespace, Sink, XML_NAMESPACE, assert_names};
use octets::{index2, index3, index4, length2, length5, length7};
use tables::{NameTable, Table};

/// Values and texts shorter than this many octets go into the tables by default.
///
/// Long enough for the URIs that repeat in feeds, short enough to keep prose out.
pub const DEFAULT_INDEX_LIMIT: usize = 64;

/// Writes events as a Fast Infoset document (ITU-T X.891 | ISO/IEC 24824-1, `application/fastinfoset`).
///
/// The output is a function of the events alone: the same events give the same octets. Text is written in
/// UTF-8. A single value or text must be shorter than 4 GiB.
///
/// ```
/// use infoset::{FastInfosetWriter, Name, Sink};
///
/// let mut document = FastInfosetWriter::new();
/// document.leaf(Name::local("e"), "hi");
/// let octets = document.finish();
/// assert_eq!(octets, b"\xE0\x00\x00\x01\x00\x3C\x00e\x91hi\xFF");
/// ```
#[derive(Debug)]
pub struct FastInfosetWriter {
    out: Vec<u8>,
    depth: usize,
    /// A terminator is half an octet. This one is pending until the next terminator (`FF`) or other item
    /// (`F0`).
    half_octet: bool,
    /// Text of the open element, pending until its end.
    text: String,
    index_limit: usize,
    prefixes: Table,
    namespaces: Table,
    locals: Table,
    elements: NameTable,
    attributes: NameTable,
    values: Table,
    chunks: Table,
}

impl FastInfosetWriter {
    /// A document, with the [`DEFAULT_INDEX_LIMIT`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_index_limit(DEFAULT_INDEX_LIMIT)
    }

    /// A document whose values and texts are put into the tables when they are shorter than `limit` octets
    /// of UTF-8. With 0 none is.
    #[must_use]
    pub fn with_index_limit(limit: usize) -> Self {
        Self {
            // The magic number, version 1, and no optional component.
            out: vec![0xE0, 0x00, 0x00, 0x01, 0x00],
            depth: 0,
            half_octet: false,
            text: String::new(),
            index_limit: limit,
            prefixes: Table::with("xml"),
            namespaces: Table::with(XML_NAMESPACE),
            locals: Table::default(),
            elements: NameTable::default(),
            attributes: NameTable::default(),
            values: Table::default(),
            chunks: Table::default(),
        }
    }

    /// Returns the document. Open elements are closed.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        while self.depth > 0 {
            self.end();
        }
        self.terminate();
        self.complete_octet();
        self.out
    }

    fn terminate(&mut self) {
        if self.half_octet {
            self.out.push(0xFF);
        }
        self.half_octet = !self.half_octet;
    }

    /// Only a terminator may begin in the middle of an octet.
    fn complete_octet(&mut self) {
        if self.half_octet {
            self.out.push(0xF0);
            self.half_octet = false;
        }
    }

    fn write_text(&mut self) {
        if self.text.is_empty() {
            return;
        }
        self.complete_octet();
        let text = self.text.as_str();
        let short = text.len() < self.index_limit;
        if short && let Some(index) = self.chunks.find(text) {
            index4(&mut self.out, 0xA0, index);
        } else {
            let add = if short && self.chunks.add(text) { 0x10 } else { 0 };
            length7(&mut self.out, 0x80 | add, text.len());
            self.out.extend_from_slice(text.as_bytes());
        }
        self.text.clear();
    }

    fn write_namespaces(&mut self, namespaces: &[Namespace<'_>]) {
        for Namespace { prefix, uri } in namespaces {
            let has_prefix = if prefix.is_empty() { 0 } else { 0x02 };
            let has_uri = if uri.is_empty() { 0 } else { 0x01 };
            self.out.push(0xCC | has_prefix | has_uri);
            if has_prefix != 0 {
                identifying(&mut self.out, &mut self.prefixes, prefix);
            }
            if has_uri != 0 {
                identifying(&mut self.out, &mut self.namespaces, &clean(uri));
            }
        }
        self.out.push(0xF0);
    }

    /// A name that is not yet in its table; `lead` is the first octet without the two presence flags.
    fn write_name(&mut self, lead: u8, name: Name<'_>) {
        let has_namespace = !name.namespace.is_empty();
        let has_prefix = has_namespace && !name.prefix.is_empty();
        self.out.push(lead | if has_prefix { 0x02 } else { 0 } | u8::from(has_namespace));
        if has_prefix {
            identifying(&mut self.out, &mut self.prefixes, name.prefix);
        }
        if has_namespace {
            identifying(&mut self.out, &mut self.namespaces, &clean(name.namespace));
        }
        identifying(&mut self.out, &mut self.locals, name.local);
    }

    fn write_element_name(&mut self, lead: u8, name: Name<'_>) {
        match self.elements.find_or_add(name) {
            Some(index) => index3(&mut self.out, lead, index),
            None => self.write_name(lead | 0x3C, name),
        }
    }

    fn write_attribute(&mut self, attribute: &Attribute<'_>) {
        match self.attributes.find_or_add(attribute.name) {
            Some(index) => index2(&mut self.out, 0, index),
            None => self.write_name(0x78, attribute.name),
        }
        let value = clean(attribute.value);
        if value.is_empty() {
            self.out.push(0xFF);
            return;
        }
        let short = value.len() < self.index_limit;
        if short && let Some(index) = self.values.find(&value) {
            index2(&mut self.out, 0x80, index);
        } else {
            let add = if short && self.values.add(&value) { 0x40 } else { 0 };
            length5(&mut self.out, add, value.len());
            self.out.extend_from_slice(value.as_bytes());
        }
    }
}

impl Default for FastInfosetWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl Sink for FastInfosetWriter {
    fn start(&mut self, name: Name<'_>, namespaces: &[Namespace<'_>], attributes: &[Attribute<'_>]) {
        assert_names(name, namespaces, attributes);
        self.write_text();
        self.complete_octet();
        self.depth += 1;
        let has_attributes = if attributes.is_empty() { 0 } else { 0x40 };
        if namespaces.is_empty() {
            self.write_element_name(has_attributes, name);
        } else {
            self.out.push(has_attributes | 0x38);
            self.write_namespaces(namespaces);
            self.write_element_name(0, name);
        }
        for attribute in attributes {
            self.write_attribute(attribute);
        }
        if !attributes.is_empty() {
            self.terminate();
        }
    }

    fn text(&mut self, text: &str) {
        if self.depth > 0 {
            self.text.push_str(&clean(text));
        }
    }

    fn end(&mut self) {
        debug_assert!(self.depth > 0, "end without start");
        if self.depth > 0 {
            self.write_text();
            self.terminate();
            self.depth -= 1;
        }
    }
}

/// A prefix, namespace name or local name: always added to its table.
fn identifying(out: &mut Vec<u8>, table: &mut Table, text: &str) {
    if let Some(index) = table.find(text) {
        index2(out, 0x80, index);
    } else {
        table.add(text);
        length2(out, text.len());
        out.extend_from_slice(text.as_bytes());
    }
}
