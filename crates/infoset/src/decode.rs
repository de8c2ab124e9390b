//! Decodes Fast Infoset octets into events.
//!
//! The input is untrusted. The decoder does not recurse, borrows strings from the input instead of copying
//! them, stays within the limits, and sends the sink only events that XML text can express: valid names,
//! declared namespaces, legal characters.
//!
//! `reader` reads octets, `vocabulary` holds the tables, `strings` and `header` read what their names say,
//! `scope` tracks the namespaces, and this file walks the elements.

mod header;
mod reader;
mod scope;
mod strings;
mod vocabulary;

use std::collections::HashSet;

use crate::error::{DecodeError, Reason};
use crate::event::{Attribute, Name, Namespace, Sink};
use crate::limits::{Limit, Limits};
use reader::Reader;
use scope::Scope;
use vocabulary::{Content, Identifying, Named, Text, Vocabulary};

/// The cost of an element, attribute or declaration in [`Limits::output`] besides its strings: the memory that
/// a sink needs to keep it.
const NODE_COST: usize = 32;

/// Decodes a Fast Infoset document and sends its events to the sink.
///
/// Comments and processing instructions are skipped. Text may arrive in several pieces. Events are sent while
/// the input is read: if decoding fails, discard the content of the sink.
///
/// ```
/// use infoset::{Limits, XmlWriter, decode};
///
/// let octets = b"\xE0\x00\x00\x01\x00\x3C\x00e\x91hi\xFF";
/// let mut xml = XmlWriter::fragment();
/// decode(octets, &Limits::default(), &mut xml)?;
/// assert_eq!(xml.finish(), b"<e>hi</e>");
/// # Ok::<(), infoset::DecodeError>(())
/// ```
///
/// # Errors
///
/// [`Reason`] lists everything that is not a well-formed document within the limits.
pub fn decode(bytes: &[u8], limits: &Limits, sink: &mut (impl Sink + ?Sized)) -> Result<(), DecodeError> {
    if bytes.len() > limits.bytes {
        return Err(DecodeError::new(0, Reason::Limit(Limit::Bytes)));
    }
    let mut decoder = Decoder {
        reader: Reader::new(bytes),
        vocabulary: Vocabulary::new(limits.table_entries),
        scope: Scope::default(),
        limits,
        output: limits.output,
        depth: 0,
        namespaces: Vec::new(),
        attributes: Vec::new(),
    };
    decoder.document(sink).map_err(|reason| DecodeError::new(decoder.reader.item(), reason))
}

struct Decoder<'a> {
    reader: Reader<'a>,
    vocabulary: Vocabulary<'a>,
    scope: Scope<'a>,
    limits: &'a Limits,
    /// The remaining output budget.
    output: usize,
    /// The number of open elements.
    depth: usize,
    /// Declarations of the current element.
    namespaces: Vec<Namespace<'a>>,
    /// Attributes of the current element.
    attributes: Vec<(Name<'a>, Text<'a>)>,
}

impl<'a> Decoder<'a> {
    fn document(&mut self, sink: &mut (impl Sink + ?Sized)) -> Result<(), Reason> {
        self.header()?;
        let mut has_root = false;
        loop {
            self.reader.set_item(self.reader.offset());
            let octet = self.reader.octet()?;
            let terminators = match octet {
                0x00..=0x7F if self.depth == 0 && has_root => return Err(Reason::SecondRoot),
                0x00..=0x7F => {
                    has_root = true;
                    usize::from(self.element(octet, sink)?)
                }
                0x80..=0xBF if self.depth > 0 => {
                    let text = self.chunk(octet)?;
                    self.spend(text.len())?;
                    sink.text(&text);
                    0
                }
                0xC4..=0xC7 => return Err(Reason::Dtd),
                0xC8..=0xCB => return Err(Reason::EntityReference),
                0xE1 => {
                    self.identifying(Identifying::Other)?;
                    self.value(Content::Other)?;
                    0
                }
                0xE2 => {
                    self.value(Content::Other)?;
                    0
                }
                0xF0 => 1,
                0xFF if self.depth > 0 => 2,
                0xF1..=0xFF => return Err(Reason::Padding),
                _ => return Err(Reason::IllegalOctet(octet)),
            };
            for _ in 0..terminators {
                if self.depth == 0 {
                    return self.end_of_document(has_root);
                }
                self.scope.leave(self.depth);
                self.depth -= 1;
                sink.end();
            }
        }
    }

    fn end_of_document(&mut self, has_root: bool) -> Result<(), Reason> {
        if !has_root {
            return Err(Reason::NoRoot);
        }
        if !self.reader.is_empty() {
            self.reader.set_item(self.reader.offset());
            return Err(Reason::TrailingBytes);
        }
        Ok(())
    }

    /// Reads the start of an element. True if the element has already ended.
    fn element(&mut self, octet: u8, sink: &mut (impl Sink + ?Sized)) -> Result<bool, Reason> {
        if self.depth >= self.limits.depth {
            return Err(Reason::Limit(Limit::Depth));
        }
        let item = self.reader.item();
        let has_attributes = octet & 0x40 != 0;
        self.namespaces.clear();
        self.attributes.clear();
        let mut name_octet = octet & 0x3F;
        if name_octet == 0x38 {
            self.read_namespaces()?;
            self.reader.set_item(item);
            name_octet = self.reader.octet()?;
            // The first two bits are part of the first octet, so they are padding here.
            if name_octet & 0xC0 != 0 {
                return Err(Reason::Padding);
            }
        }
        let name = if name_octet & 0x3C == 0x3C {
            self.literal_name(Named::Element, name_octet)?
        } else {
            let index = self.reader.index3(name_octet)?;
            self.vocabulary.name(Named::Element, index)?
        };
        let ended = has_attributes && self.read_attributes()?;
        self.reader.set_item(item);
        self.spend_on_element(name)?;
        self.depth += 1;
        self.scope.enter(self.depth, &self.namespaces)?;
        self.scope.check_element(name)?;
        for (name, _) in &self.attributes {
            self.scope.check_attribute(*name)?;
        }
        if has_duplicates(&self.attributes) {
            return Err(Reason::DuplicateAttribute);
        }
        let attributes: Vec<_> =
            self.attributes.iter().map(|(name, value)| Attribute::new(*name, value)).collect();
        sink.start(name, &self.namespaces, &attributes);
        Ok(ended)
    }

    fn read_namespaces(&mut self) -> Result<(), Reason> {
        loop {
            self.reader.set_item(self.reader.offset());
            let octet = self.reader.octet()?;
            match octet {
                0xF0 => return Ok(()),
                0xCC..=0xCF => {}
                0xF1..=0xFF => return Err(Reason::Padding),
                _ => return Err(Reason::IllegalOctet(octet)),
            }
            self.check_attribute_count()?;
            let prefix = if octet & 0x02 != 0 { self.identifying(Identifying::Prefix)? } else { "" };
            let uri = if octet & 0x01 != 0 { self.identifying(Identifying::Namespace)? } else { "" };
            self.namespaces.push(Namespace::new(prefix, uri));
        }
    }

    /// True if the terminator of the element was combined with that of the attributes.
    fn read_attributes(&mut self) -> Result<bool, Reason> {
        loop {
            self.reader.set_item(self.reader.offset());
            let octet = self.reader.octet()?;
            match octet {
                0x00..=0x6F | 0x78..=0x7B => {}
                0xF0 => return Ok(false),
                0xFF => return Ok(true),
                0xF1..=0xFE => return Err(Reason::Padding),
                _ => return Err(Reason::IllegalOctet(octet)),
            }
            self.check_attribute_count()?;
            let name = if octet >= 0x78 {
                self.literal_name(Named::Attribute, octet)?
            } else {
                let index = self.reader.index2(octet)?;
                self.vocabulary.name(Named::Attribute, index)?
            };
            let value = self.value(Content::Value)?;
            self.attributes.push((name, value));
        }
    }

    /// A qualified name that takes the next slot of its table; two bits of the octet say which parts it has.
    fn literal_name(&mut self, table: Named, octet: u8) -> Result<Name<'a>, Reason> {
        let (prefix, namespace) = match octet & 0x03 {
            0x00 => ("", ""),
            0x01 => ("", self.identifying(Identifying::Namespace)?),
            0x03 => (self.identifying(Identifying::Prefix)?, self.identifying(Identifying::Namespace)?),
            // A prefix without a namespace.
            _ => return Err(Reason::IllegalOctet(octet)),
        };
        let name = Name::qualified(prefix, namespace, self.identifying(Identifying::Local)?);
        self.vocabulary.add_name(table, name)?;
        Ok(name)
    }

    fn check_attribute_count(&self) -> Result<(), Reason> {
        if self.namespaces.len() + self.attributes.len() >= self.limits.attributes {
            return Err(Reason::Limit(Limit::Attributes));
        }
        Ok(())
    }

    fn spend_on_element(&mut self, name: Name<'a>) -> Result<(), Reason> {
        let of_name =
            |name: &Name<'_>| name.prefix.len() + name.namespace.len() + name.local.len() + NODE_COST;
        let of_namespaces = self.namespaces.iter().map(|n| n.prefix.len() + n.uri.len() + NODE_COST);
        let of_attributes = self.attributes.iter().map(|(name, value)| of_name(name) + value.len());
        // Each part is at most as long as the input, and the number of parts is limited.
        let total = of_namespaces.chain(of_attributes).fold(of_name(&name), usize::saturating_add);
        self.spend(total)
    }

    fn spend(&mut self, amount: usize) -> Result<(), Reason> {
        self.output = self.output.checked_sub(amount).ok_or(Reason::Limit(Limit::Output))?;
        Ok(())
    }
}

/// Whether two attributes have the same name; prefixes are ignored.
fn has_duplicates(attributes: &[(Name<'_>, Text<'_>)]) -> bool {
    let names = || attributes.iter().map(|(name, _)| (name.local, name.namespace));
    // Pairwise comparison is fastest for the usual few attributes.
    if attributes.len() <= 8 {
        return names().enumerate().any(|(at, name)| names().skip(at + 1).any(|other| other == name));
    }
    let mut seen = HashSet::with_capacity(attributes.len());
    !names().all(|name| seen.insert(name))
}
