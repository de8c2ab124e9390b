//! Activities as elements without a namespace, with the names of the API: the common structure of XML and Fast Infoset.

use super::other_root;
use domain::ingest::json::FIELDS;
use domain::ingest::{RawActivity, RawObject, RawService, RawThumbnail, RawValue, Unreadable};
use infoset::Element;
use model::{Kind, parse_category};
use std::collections::HashSet;

/// Parses an `Activity` element.
pub(super) fn activity(root: &Element) -> Result<RawActivity, Unreadable> {
    if !root.name.is("", "Activity") {
        return Err(other_root(root, "Activity, without a namespace,"));
    }
    let field = |name: &str| field(root, name);
    let (category, kind) = (field("Category")?, field("Type")?);
    Ok(RawActivity {
        source_id: field("SourceId")?,
        title: field("Title")?,
        summary: optional_field(root, "EntrySummary")?,
        verb: field("Verb")?,
        service: service(only(root, "", "SourceService")?)?,
        comments_available: field("CommentsAvailable")?,
        comment_count: field("CommentCount")?,
        like_count: field("LikeCount")?,
        published: field("PublishedDate")?,
        visibility: field("Visibility")?,
        to: to(root),
        objects: objects(root, &category, &kind)?,
        category,
        kind,
    })
}

/// The only child element with this name, if there is one.
pub(super) fn only<'a>(
    parent: &'a Element,
    namespace: &str,
    local: &str,
) -> Result<Option<&'a Element>, Unreadable> {
    let mut found = parent.elements().filter(|element| element.name.is(namespace, local));
    let first = found.next();
    if found.next().is_some() { Err(repeated(parent, local)) } else { Ok(first) }
}

fn repeated(parent: &Element, local: &str) -> Unreadable {
    Unreadable::malformed(format!("{local} appears twice in {}", parent.name.local))
}

/// The value of an element: its text as it is.
pub(super) fn value_of(element: &Element) -> RawValue {
    if is_group(element) { RawValue::Other } else { RawValue::text(element.text()) }
}

/// Whether an element contains elements.
fn is_group(element: &Element) -> bool {
    element.elements().next().is_some()
}

fn field(parent: &Element, name: &str) -> Result<RawValue, Unreadable> {
    Ok(only(parent, "", name)?.map(value_of).unwrap_or_default())
}

/// An optional field.
fn optional_field(parent: &Element, name: &str) -> Result<Option<RawValue>, Unreadable> {
    Ok(Some(field(parent, name)?).filter(|value| *value != RawValue::Absent))
}

/// Each `To` is a name. An empty `To` means no recipients, which differs from an absent one.
fn to(root: &Element) -> Option<Vec<RawValue>> {
    let names: Vec<RawValue> =
        root.elements().filter(|element| element.name.is("", "To")).map(value_of).collect();
    (!names.is_empty()).then_some(names)
}

/// The value if a text appears where a group is expected: anything but blanks is `Other`, so that the error names this
/// field.
fn value_in_place_of_group(element: &Element) -> RawValue {
    if element.text().trim().is_empty() { RawValue::Absent } else { RawValue::Other }
}

fn service(element: Option<&Element>) -> Result<RawService, Unreadable> {
    let Some(group) = element else { return Ok(RawService::default()) };
    if !is_group(group) {
        return Ok(RawService { name: value_in_place_of_group(group), ..RawService::default() });
    }
    let either = |one: &str, other: &str| -> Result<RawValue, Unreadable> {
        let (one, other) = (only(group, "", one)?, only(group, "", other)?);
        Ok(one.or(other).map(value_of).unwrap_or_default())
    };
    Ok(RawService {
        name: field(group, "Name")?,
        icon: either("IconURL", "IconUrl")?,
        website: either("WebsiteURL", "WebsiteUrl")?,
    })
}

/// The elements that type or category name as the object. If both are absent, all that could be the object, because the
/// existing activity decides which it is. Other elements may be repeated and have any content.
fn objects(
    root: &Element,
    category: &RawValue,
    kind: &RawValue,
) -> Result<Vec<(String, RawObject)>, Unreadable> {
    let is_named = |element: &Element| match (Kind::parse(&element.name.local), kind, category) {
        (Some(found), RawValue::Text(kind), _) => Kind::parse(kind).as_ref() == Some(&found),
        (Some(found), _, RawValue::Text(category)) => parse_category(category, Some(&found)).is_some(),
        (Some(_), RawValue::Absent, RawValue::Absent) => {
            element.child("", "Title").or_else(|| element.child("", "Url")).is_some()
        }
        _ => false,
    };
    let is_field = |element: &Element| FIELDS.contains(&element.name.local.as_str());
    let mut names = HashSet::new();
    let mut objects = Vec::new();
    for element in root.elements().filter(|element| element.name.namespace.is_empty() && !is_field(element)) {
        if is_group(element) && is_named(element) {
            if !names.insert(&element.name.local) {
                return Err(repeated(root, &element.name.local));
            }
            objects.push((element.name.local.clone(), object(element)?));
        }
    }
    Ok(objects)
}

fn object(group: &Element) -> Result<RawObject, Unreadable> {
    Ok(RawObject {
        title: field(group, "Title")?,
        description: field(group, "Description")?,
        thumbnail: thumbnail(only(group, "", "Thumbnail")?)?,
        url: field(group, "Url")?,
        alternate: optional_field(group, "AlternateUrl")?,
    })
}

fn thumbnail(element: Option<&Element>) -> Result<RawThumbnail, Unreadable> {
    let Some(group) = element else { return Ok(RawThumbnail::default()) };
    if !is_group(group) {
        return Ok(RawThumbnail { url: value_in_place_of_group(group), ..RawThumbnail::default() });
    }
    Ok(RawThumbnail {
        url: field(group, "Url")?,
        height: field(group, "Height")?,
        width: field(group, "Width")?,
    })
}

#[cfg(test)]
mod tests;
