//! One activity as elements without a namespace, with the names of the contract: what XML text and Fast Infoset have in
//! common.

use super::json::FIELDS;
use super::read::other_root;
use super::{RawActivity, RawObject, RawService, RawThumbnail, Said, Unreadable};
use infoset::Element;
use model::{Kind, parse_category};
use std::collections::HashSet;

/// What an `Activity` says.
pub(super) fn activity(root: &Element) -> Result<RawActivity, Unreadable> {
    if !root.name.is("", "Activity") {
        return Err(other_root(root, "Activity, without a namespace,"));
    }
    let field = |name: &str| field(root, name);
    let (category, kind) = (field("Category")?, field("Type")?);
    Ok(RawActivity {
        source_id: field("SourceId")?,
        title: field("Title")?,
        summary: field_at_all(root, "EntrySummary")?,
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

/// The only element of that name directly inside, if there is one.
pub(super) fn only<'a>(
    parent: &'a Element,
    namespace: &str,
    local: &str,
) -> Result<Option<&'a Element>, Unreadable> {
    let mut found = parent.elements().filter(|element| element.name.is(namespace, local));
    let first = found.next();
    if found.next().is_some() { Err(twice(parent, local)) } else { Ok(first) }
}

fn twice(parent: &Element, local: &str) -> Unreadable {
    Unreadable::malformed(format!("{local} is there twice in {}", parent.name.local))
}

/// What an element says: its text, as it stands.
pub(super) fn said(element: &Element) -> Said {
    if is_group(element) { Said::Other } else { Said::text(element.text()) }
}

/// Whether an element holds elements.
fn is_group(element: &Element) -> bool {
    element.elements().next().is_some()
}

fn field(parent: &Element, name: &str) -> Result<Said, Unreadable> {
    Ok(only(parent, "", name)?.map(said).unwrap_or_default())
}

/// The same of a field that need not be said.
fn field_at_all(parent: &Element, name: &str) -> Result<Option<Said>, Unreadable> {
    Ok(Some(field(parent, name)?).filter(|said| *said != Said::Nothing))
}

/// Each `To` is a name. One without a name addresses nobody, which is not the same as none at all.
fn to(root: &Element) -> Option<Vec<Said>> {
    let names: Vec<Said> = root.elements().filter(|element| element.name.is("", "To")).map(said).collect();
    (!names.is_empty()).then_some(names)
}

/// What is said where a group is due: anything but a blank is at least no text, so that the complaint will be about
/// that field.
fn in_place_of_a_group(element: &Element) -> Said {
    if element.text().trim().is_empty() { Said::Nothing } else { Said::Other }
}

fn service(element: Option<&Element>) -> Result<RawService, Unreadable> {
    let Some(group) = element else { return Ok(RawService::default()) };
    if !is_group(group) {
        return Ok(RawService { name: in_place_of_a_group(group), ..RawService::default() });
    }
    let either = |one: &str, other: &str| -> Result<Said, Unreadable> {
        let (one, other) = (only(group, "", one)?, only(group, "", other)?);
        Ok(one.or(other).map(said).unwrap_or_default())
    };
    Ok(RawService {
        name: field(group, "Name")?,
        icon: either("IconURL", "IconUrl")?,
        website: either("WebsiteURL", "WebsiteUrl")?,
    })
}

/// The elements that type or category name as the object; where neither is said, those that could be one, because what
/// stands at its address will tell which it is. What else there is may come twice and have anything in it.
fn objects(root: &Element, category: &Said, kind: &Said) -> Result<Vec<(String, RawObject)>, Unreadable> {
    let is_named = |element: &Element| match (Kind::parse(&element.name.local), kind, category) {
        (Some(found), Said::Text(kind), _) => Kind::parse(kind).as_ref() == Some(&found),
        (Some(found), _, Said::Text(category)) => parse_category(category, Some(&found)).is_some(),
        (Some(_), Said::Nothing, Said::Nothing) => {
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
                return Err(twice(root, &element.name.local));
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
        alternate: field_at_all(group, "AlternateUrl")?,
    })
}

fn thumbnail(element: Option<&Element>) -> Result<RawThumbnail, Unreadable> {
    let Some(group) = element else { return Ok(RawThumbnail::default()) };
    if !is_group(group) {
        return Ok(RawThumbnail { url: in_place_of_a_group(group), ..RawThumbnail::default() });
    }
    Ok(RawThumbnail {
        url: field(group, "Url")?,
        height: field(group, "Height")?,
        width: field(group, "Width")?,
    })
}

#[cfg(test)]
mod tests;
