//! Parses XML into a tree. quick-xml expands no entities.
//!
//! Mistakes with an unambiguous meaning are accepted: an ampersand that begins no reference, HTML's character
//! names, undeclared prefixes (elements and attributes with them are ignored), and text before and after the
//! root. Anything else is an error, above all a document that ends too early: a truncated feed must not pass
//! for a complete one.

use crate::FeedError;
use crate::element::{Attribute, Element};
use crate::error::shortened;
use crate::limits::{MAX_ATTRIBUTES, MAX_DEPTH, MAX_NAME};
use crate::namespace::Ns;
use crate::references::{meaning, resolved};
use crate::tree::TreeBuilder;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::{NamespaceResolver, ResolveResult};
use quick_xml::reader::NsReader;

/// The root element of a document.
pub(crate) fn root(text: &str) -> Result<Element, FeedError> {
    let mut reader = NsReader::from_str(text);
    reader.config_mut().allow_dangling_amp = true;
    let mut tree: Option<TreeBuilder> = None;
    loop {
        let at = reader.buffer_position();
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => return Err(broken(text, reader.error_position(), &error.to_string())),
        };
        let empty = matches!(event, Event::Empty(_));
        match event {
            Event::Start(tag) | Event::Empty(tag) => {
                let element = element(&tag, reader.resolver()).map_err(|error| {
                    error.unwrap_or_else(|| broken(text, at, "an attribute is malformed"))
                })?;
                match &mut tree {
                    None => tree = Some(TreeBuilder::new(element)),
                    Some(tree) if tree.depth() >= MAX_DEPTH => {
                        return Err(FeedError::TooLarge("elements are nested more than 128 deep"));
                    }
                    Some(tree) => tree.open(element)?,
                }
                if empty && close(&mut tree) {
                    break;
                }
            }
            Event::End(_) => {
                if close(&mut tree) {
                    break;
                }
            }
            Event::Text(words) => add(&mut tree, &words.xml10_content()),
            Event::CData(words) => add(&mut tree, &words.xml10_content()),
            Event::GeneralRef(name) => match meaning(&name) {
                Some(meaning) => add(&mut tree, &meaning),
                None => add(&mut tree, &format!("&{};", &*name)),
            },
            // A document type with brackets contains definitions.
            Event::DocType(declaration) if declaration.contains('[') => return Err(FeedError::Doctype),
            Event::Eof => return Err(broken(text, at, "the document ends inside an element")),
            Event::DocType(_) | Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
        }
    }
    tree.and_then(TreeBuilder::done).ok_or(FeedError::NotAFeed)
}

fn add(tree: &mut Option<TreeBuilder>, text: &str) {
    if let Some(tree) = tree {
        tree.text(text);
    }
}

/// Closes an element. True if it was the root.
fn close(tree: &mut Option<TreeBuilder>) -> bool {
    tree.as_mut().is_none_or(|tree| {
        let was_root = tree.depth() == 1;
        tree.close();
        was_root
    })
}

/// Converts an element. The inner `None` of an error means a malformed attribute.
fn element(tag: &BytesStart<'_>, namespaces: &NamespaceResolver) -> Result<Element, Option<FeedError>> {
    let mut attributes = Vec::new();
    for (number, attribute) in tag.attributes().with_checks(false).enumerate() {
        let attribute = attribute.map_err(|_| None)?;
        if number >= MAX_ATTRIBUTES {
            return Err(Some(FeedError::TooLarge("an element has more than 64 attributes")));
        }
        let (ns, local) = namespaces.resolve_attribute(attribute.key);
        let name = checked(local.into_inner())?.into();
        attributes.push(Attribute {
            ns: namespace(&ns),
            name,
            value: resolved(&attribute.value).into_owned(),
        });
    }
    let (ns, local) = namespaces.resolve_element(tag.name());
    Ok(Element::new(namespace(&ns), checked(local.into_inner())?, attributes))
}

fn checked(name: &str) -> Result<&str, Option<FeedError>> {
    if name.len() > MAX_NAME {
        Err(Some(FeedError::TooLarge("a name has more than 256 bytes")))
    } else {
        Ok(name)
    }
}

fn namespace(found: &ResolveResult<'_>) -> Ns {
    match found {
        ResolveResult::Unbound => Ns::None,
        ResolveResult::Bound(namespace) => Ns::of(namespace.0.trim()),
        ResolveResult::Unknown(_) => Ns::Other,
    }
}

/// An error with its line and column.
fn broken(text: &str, offset: u64, fault: &str) -> FeedError {
    let before = usize::try_from(offset).ok().and_then(|end| text.get(..end)).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    FeedError::Broken(format!("{} (line {line}, column {column})", shortened(fault)))
}
