//! XML text as a tree. quick-xml takes it apart and expands nothing.
//!
//! Forgiven is what leaves no doubt what was meant: an ampersand that begins no reference, HTML's names of characters,
//! prefixes that nobody declared (whatever has them means nothing), and anything before and after the root. All else
//! is broken, a document that ends too early above all: half a feed must not look like a whole one.

use crate::Unreadable;
use crate::element::{Attribute, Element};
use crate::limits::{MAX_ATTRIBUTES, MAX_DEPTH, MAX_NAME};
use crate::namespace::Ns;
use crate::references::{meaning, resolved};
use crate::tree::Growing;
use crate::unreadable::shortened;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::{NamespaceResolver, ResolveResult};
use quick_xml::reader::NsReader;

/// The root element of a document.
pub(crate) fn root(text: &str) -> Result<Element, Unreadable> {
    let mut reader = NsReader::from_str(text);
    reader.config_mut().allow_dangling_amp = true;
    let mut tree: Option<Growing> = None;
    loop {
        let at = reader.buffer_position();
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(wrong) => return Err(broken(text, reader.error_position(), &wrong.to_string())),
        };
        let empty = matches!(event, Event::Empty(_));
        match event {
            Event::Start(tag) | Event::Empty(tag) => {
                let element = element(&tag, reader.resolver()).map_err(|wrong| {
                    wrong.unwrap_or_else(|| broken(text, at, "an attribute is malformed"))
                })?;
                match &mut tree {
                    None => tree = Some(Growing::new(element)),
                    Some(tree) if tree.depth() >= MAX_DEPTH => {
                        return Err(Unreadable::TooMuch("its elements are more than 128 deep"));
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
            // Between the brackets stand definitions.
            Event::DocType(declaration) if declaration.contains('[') => return Err(Unreadable::Doctype),
            Event::Eof => return Err(broken(text, at, "it ends before its last element does")),
            Event::DocType(_) | Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
        }
    }
    tree.and_then(Growing::done).ok_or(Unreadable::NotAFeed)
}

fn add(tree: &mut Option<Growing>, text: &str) {
    if let Some(tree) = tree {
        tree.text(text);
    }
}

/// Ends an element; whether it was the root.
fn close(tree: &mut Option<Growing>) -> bool {
    tree.as_mut().is_none_or(|tree| {
        let was_root = tree.depth() == 1;
        tree.close();
        was_root
    })
}

/// An element by its namespace. The inner `None` of an error is a malformed attribute.
fn element(tag: &BytesStart<'_>, namespaces: &NamespaceResolver) -> Result<Element, Option<Unreadable>> {
    let mut attributes = Vec::new();
    for (number, attribute) in tag.attributes().with_checks(false).enumerate() {
        let attribute = attribute.map_err(|_| None)?;
        if number >= MAX_ATTRIBUTES {
            return Err(Some(Unreadable::TooMuch("an element has more than 64 attributes")));
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

fn checked(name: &str) -> Result<&str, Option<Unreadable>> {
    if name.len() > MAX_NAME {
        Err(Some(Unreadable::TooMuch("a name has more than 256 bytes")))
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

/// What is wrong, and where.
fn broken(text: &str, offset: u64, fault: &str) -> Unreadable {
    let before = usize::try_from(offset).ok().and_then(|end| text.get(..end)).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Unreadable::Broken(format!("{} (line {line}, column {column})", shortened(fault)))
}
