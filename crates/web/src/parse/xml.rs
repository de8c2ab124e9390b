//! XML text as events, for the same sinks as Fast Infoset.
//!
//! The text is untrusted. quick-xml tokenises it but accepts much that is not well-formed, so this module enforces the
//! rules: valid names, declared namespaces, content in the right places. Nothing is ever expanded: document type
//! declarations are rejected, so the only entities are the five of XML itself. Parsing takes linear time.

use crate::parse::is_utf8;
use domain::ingest::Unreadable;
use infoset::{
    Attribute, Limits, Name, Namespace, Sink, XML_NAMESPACE, first_illegal, is_ncname, is_xml_char,
};
use quick_xml::Reader;
use quick_xml::events::attributes::AttrError;
use quick_xml::events::{BytesDecl, BytesStart, Event};
use std::collections::HashSet;

/// A message about a fault; the position is added in one place.
type Fault = String;

/// The blanks of XML.
const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

const DUPLICATE_ATTRIBUTE: &str = "an attribute is given twice";

/// The cost of an element, attribute or declaration besides its strings, as for Fast Infoset.
const NODE_COST: usize = 32;

/// Parses a document and sends its events to the sink. After an error, discard the sink. The limits `depth`, `attributes`
/// (including declarations) and `output` apply.
pub(super) fn read(bytes: &[u8], limits: &Limits, sink: &mut impl Sink) -> Result<(), Unreadable> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Unreadable::malformed(format!("invalid UTF-8 at byte {}", error.valid_up_to())))?;
    if let Some(wrong) = first_illegal(text) {
        let message = format!("the character U+{:04X} is not allowed in XML", u32::from(wrong));
        return Err(Unreadable::malformed(message));
    }
    if !text.trim_start_matches(BLANKS).starts_with('<') {
        return Err(Unreadable::malformed("expected XML, starting with <"));
    }
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_comments = true;
    let mut document =
        Document { limits, output: limits.output, sink, scope: Scope::default(), depth: 0, has_root: false };
    loop {
        let at = reader.buffer_position();
        let done = match reader.read_event() {
            Ok(Event::Eof) => return document.end().map_err(|fault| with_position(text, at, &fault)),
            Ok(event) => document.event(event, at),
            Err(wrong) => return Err(with_position(text, reader.error_position(), &wrong.to_string())),
        };
        done.map_err(|fault| with_position(text, at, &fault))?;
    }
}

/// A fault with its position.
fn with_position(text: &str, offset: u64, fault: &str) -> Unreadable {
    let before = usize::try_from(offset).ok().and_then(|end| text.get(..end)).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Unreadable::malformed(format!("{} (line {line}, column {column})", shortened(fault)))
}

/// A fault shortened to leave room for its position.
fn shortened(fault: &str) -> String {
    fault.chars().take(200).collect()
}

struct Document<'a, S> {
    limits: &'a Limits,
    /// The remaining output budget.
    output: usize,
    sink: &'a mut S,
    scope: Scope,
    /// The number of open elements.
    depth: usize,
    has_root: bool,
}

impl<S: Sink> Document<'_, S> {
    fn event(&mut self, event: Event<'_>, at: u64) -> Result<(), Fault> {
        match event {
            Event::Start(tag) => self.open(&tag),
            Event::Empty(tag) => {
                self.open(&tag)?;
                self.close();
                Ok(())
            }
            Event::End(_) => {
                self.close();
                Ok(())
            }
            Event::Text(text) if self.depth == 0 => {
                let blank = text.trim_matches(BLANKS).is_empty();
                if blank { Ok(()) } else { Err("text is only allowed inside the root element".to_owned()) }
            }
            Event::CData(_) | Event::GeneralRef(_) if self.depth == 0 => {
                Err("text is only allowed inside the root element".to_owned())
            }
            Event::Text(text) if text.contains("]]>") => Err("]]> in text must be written ]]&gt;".to_owned()),
            Event::Text(text) => self.text(&text.xml10_content()),
            Event::CData(text) => self.text(&text.xml10_content()),
            Event::GeneralRef(reference) => {
                let character = character(&reference)?;
                self.text(character.encode_utf8(&mut [0; 4]))
            }
            Event::PI(instruction) => {
                let target = instruction.target();
                let is_target = is_ncname(target) && !target.eq_ignore_ascii_case("xml");
                if is_target { Ok(()) } else { Err("invalid name of a processing instruction".to_owned()) }
            }
            Event::Decl(declaration) if at == 0 => check_declaration(&declaration),
            Event::Decl(_) => Err("the XML declaration must come first".to_owned()),
            Event::DocType(_) => Err("document type declarations are not allowed".to_owned()),
            Event::Comment(_) | Event::Eof => Ok(()),
        }
    }

    fn text(&mut self, text: &str) -> Result<(), Fault> {
        self.spend(text.len())?;
        self.sink.text(text);
        Ok(())
    }

    fn open(&mut self, tag: &BytesStart<'_>) -> Result<(), Fault> {
        if self.depth == 0 && self.has_root {
            return Err("more than one root element".to_owned());
        }
        if self.depth >= self.limits.depth {
            return Err(format!("elements are nested more than {} deep", self.limits.depth));
        }
        self.has_root = true;
        self.depth += 1;
        let (declared, attributes_found) = attributes(tag, self.limits.attributes)?;
        self.scope.enter(self.depth, &declared)?;
        let name = self.scope.element(tag.name().into_inner())?;
        let attributes = attributes_found
            .iter()
            .map(|(name, value)| Ok(Attribute::new(self.scope.attribute(name)?, value)))
            .collect::<Result<Vec<_>, Fault>>()?;
        // The tokeniser compares qualified names; two prefixes may still mean the same namespace.
        let mut names = HashSet::new();
        let mut prefixed = attributes.iter().filter(|one| !one.name.prefix.is_empty());
        if !prefixed.all(|one| names.insert((one.name.namespace, one.name.local))) {
            return Err(DUPLICATE_ATTRIBUTE.to_owned());
        }
        let namespaces: Vec<_> = declared.iter().map(|(prefix, uri)| Namespace::new(prefix, uri)).collect();
        let cost = cost(name, &namespaces, &attributes);
        self.output = self.output.checked_sub(cost).ok_or_else(too_much)?;
        self.sink.start(name, &namespaces, &attributes);
        Ok(())
    }

    /// quick-xml has checked that the end tag matches the start tag.
    fn close(&mut self) {
        self.scope.leave(self.depth);
        self.depth = self.depth.saturating_sub(1);
        self.sink.end();
    }

    fn end(&self) -> Result<(), Fault> {
        if self.depth > 0 {
            return Err("the document is cut off: an element has no end tag".to_owned());
        }
        if self.has_root { Ok(()) } else { Err("expected a root element".to_owned()) }
    }

    fn spend(&mut self, amount: usize) -> Result<(), Fault> {
        self.output = self.output.checked_sub(amount).ok_or_else(too_much)?;
        Ok(())
    }
}

fn too_much() -> Fault {
    "too many elements and attributes".to_owned()
}

/// The cost of an element within the output limit.
pub(super) fn cost(name: Name<'_>, namespaces: &[Namespace<'_>], attributes: &[Attribute<'_>]) -> usize {
    let of_name = |name: Name<'_>| name.prefix.len() + name.namespace.len() + name.local.len() + NODE_COST;
    let namespace_costs = namespaces.iter().map(|one| one.prefix.len() + one.uri.len() + NODE_COST);
    let attribute_costs = attributes.iter().map(|one| of_name(one.name) + one.value.len());
    namespace_costs.chain(attribute_costs).fold(of_name(name), usize::saturating_add)
}

/// Names (or prefixes) and values.
type Pairs<'a> = Vec<(&'a str, String)>;

/// The namespaces that a tag declares, by prefix, and its other attributes, by qualified name.
fn attributes<'a>(tag: &'a BytesStart<'_>, limit: usize) -> Result<(Pairs<'a>, Pairs<'a>), Fault> {
    if !is_spaced(tag.attributes_raw()) {
        return Err("attributes must be separated by blanks".to_owned());
    }
    let (mut declared, mut attributes_found) = (Vec::new(), Vec::new());
    for (number, attribute) in tag.attributes().enumerate() {
        if number == limit {
            return Err(format!("an element has more than {limit} attributes"));
        }
        let attribute = attribute.map_err(|wrong| {
            let twice = matches!(wrong, AttrError::Duplicated(..));
            let fault =
                if twice { DUPLICATE_ATTRIBUTE } else { "an attribute is a name, = and a value in quotes" };
            fault.to_owned()
        })?;
        let (name, value) = (attribute.key.into_inner(), value(&attribute.value)?);
        match name.strip_prefix("xmlns:") {
            // This declaration is allowed but redundant.
            Some("xml") if value == XML_NAMESPACE => {}
            Some(prefix) if is_ncname(prefix) => declared.push((prefix, value)),
            Some(_) => return Err(format!("{name} declares nothing")),
            None if name == "xmlns" => declared.push(("", value)),
            None => attributes_found.push((name, value)),
        }
    }
    Ok((declared, attributes_found))
}

/// Whether every value is followed by a blank or the end.
fn is_spaced(attributes: &str) -> bool {
    let mut rest = attributes;
    while let Some((_, quoted)) = rest.split_once(['"', '\'']) {
        let quote = rest.as_bytes().get(rest.len() - quoted.len() - 1).copied().map_or('"', char::from);
        // Unmatched quotes are reported elsewhere.
        let Some((_, after)) = quoted.split_once(quote) else { return true };
        if !after.is_empty() && !after.starts_with(BLANKS) {
            return false;
        }
        rest = after;
    }
    true
}

/// The value of an attribute, with references resolved and all blanks as spaces.
fn value(raw: &str) -> Result<String, Fault> {
    if raw.contains('<') {
        return Err("< in a value must be written &lt;".to_owned());
    }
    let mut value = String::with_capacity(raw.len());
    for (number, piece) in raw.split('&').enumerate() {
        let mut plain = piece;
        if number > 0 {
            let (reference, after) =
                piece.split_once(';').ok_or_else(|| "& in a value must be written &amp;".to_owned())?;
            value.push(character(reference)?);
            plain = after;
        }
        value.push_str(&plain.replace("\r\n", " ").replace(['\t', '\n', '\r'], " "));
    }
    Ok(value)
}

/// The character of a reference.
fn character(reference: &str) -> Result<char, Fault> {
    let named = match reference {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "apos" => Some('\''),
        "quot" => Some('"'),
        _ => None,
    };
    named.or_else(|| numbered(reference)).ok_or_else(|| format!("unknown reference &{reference};"))
}

fn numbered(reference: &str) -> Option<char> {
    let digits = reference.strip_prefix('#')?;
    let (digits, radix) = digits.strip_prefix('x').map_or((digits, 10), |digits| (digits, 16));
    // The number parser would accept a sign.
    let number = u32::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with('+'))?;
    char::from_u32(number).filter(|c| is_xml_char(*c))
}

/// Accepts version 1.0 and no encoding but UTF-8.
fn check_declaration(declaration: &BytesDecl<'_>) -> Result<(), Fault> {
    let tag = BytesStart::from_content(&**declaration, "xml".len());
    let (declared, attributes_found) = attributes(&tag, 3)?;
    let mut rest = attributes_found.as_slice();
    let mut next = |name: &str| {
        let (first, others) = rest.split_first().filter(|((found, _), _)| *found == name)?;
        rest = others;
        Some(first.1.as_str())
    };
    if next("version") != Some("1.0") {
        return Err("expected version 1.0 in the XML declaration".to_owned());
    }
    if let Some(other) = next("encoding").filter(|name| !is_utf8(name)) {
        return Err(format!("expected UTF-8, not the encoding {other}"));
    }
    let standalone = next("standalone").is_none_or(|word| matches!(word, "yes" | "no"));
    if standalone && rest.is_empty() && declared.is_empty() {
        Ok(())
    } else {
        Err("expected only version, encoding and standalone in the XML declaration".to_owned())
    }
}

const XMLNS_NAMESPACE: &str = "http://www.w3.org/2000/xmlns/";

/// The maximum number of declarations in scope: each name is looked up among them.
const MAX_IN_SCOPE: usize = 64;

/// The declarations in scope.
#[derive(Default)]
struct Scope(Vec<Declaration>);

struct Declaration {
    /// The depth of the element that declares it.
    depth: usize,
    prefix: String,
    namespace: String,
}

impl Scope {
    /// Adds the declarations of the element at this depth. The tokeniser has checked that none is repeated.
    fn enter(&mut self, depth: usize, declared: &[(&str, String)]) -> Result<(), Fault> {
        for (prefix, namespace) in declared {
            let reserved = matches!(*prefix, "xml" | "xmlns")
                || matches!(namespace.as_str(), XML_NAMESPACE | XMLNS_NAMESPACE);
            // The default namespace can be undeclared, a prefix cannot.
            let taken_back = namespace.is_empty() && !prefix.is_empty();
            if reserved || taken_back {
                return Err(format!("the prefix {prefix} can't be declared like this"));
            }
            if self.0.len() == MAX_IN_SCOPE {
                return Err(format!("more than {MAX_IN_SCOPE} namespaces are declared"));
            }
            let (prefix, namespace) = ((*prefix).to_owned(), namespace.clone());
            self.0.push(Declaration { depth, prefix, namespace });
        }
        Ok(())
    }

    /// Removes the declarations of the element at this depth.
    fn leave(&mut self, depth: usize) {
        while self.0.pop_if(|declared| declared.depth == depth).is_some() {}
    }

    /// The name of an element. Without a prefix it is in the default namespace.
    fn element<'a>(&'a self, qualified: &'a str) -> Result<Name<'a>, Fault> {
        match qualified.split_once(':') {
            Some((prefix, local)) => self.prefixed(prefix, local),
            None if is_ncname(qualified) => {
                Ok(Name::qualified("", self.namespace("").unwrap_or_default(), qualified))
            }
            None => Err(invalid_name(qualified)),
        }
    }

    /// The name of an attribute. Without a prefix it is in no namespace.
    fn attribute<'a>(&'a self, qualified: &'a str) -> Result<Name<'a>, Fault> {
        match qualified.split_once(':') {
            Some((prefix, local)) => self.prefixed(prefix, local),
            None if is_ncname(qualified) => Ok(Name::local(qualified)),
            None => Err(invalid_name(qualified)),
        }
    }

    fn prefixed<'a>(&'a self, prefix: &'a str, local: &'a str) -> Result<Name<'a>, Fault> {
        if !is_ncname(prefix) || !is_ncname(local) {
            return Err(invalid_name(&format!("{prefix}:{local}")));
        }
        let namespace =
            self.namespace(prefix).ok_or_else(|| format!("the prefix {prefix} is not declared"))?;
        Ok(Name::qualified(prefix, namespace, local))
    }

    fn namespace(&self, prefix: &str) -> Option<&str> {
        if prefix == "xml" {
            return Some(XML_NAMESPACE);
        }
        self.0.iter().rev().find(|declared| declared.prefix == prefix).map(|found| found.namespace.as_str())
    }
}

fn invalid_name(text: &str) -> Fault {
    format!("invalid name {text}")
}

#[cfg(test)]
mod tests;
