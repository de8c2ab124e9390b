//! ActivityStreams 2.0 (W3C). A type of the vocabulary comes first, then the exact word as an IRI: readers that know
//! only the vocabulary understand each activity, and no word is lost.

use super::page::PageView;
use crate::site::Site;
use model::{Account, Body, Comments, Kind, Object, State, Thumbnail, Verb};
use serde_json::{Value, json};

const CONTEXT: &str = "https://www.w3.org/ns/activitystreams";
/// The size of the avatar in pixels.
const AVATAR: u16 = 200;

/// The page without its items: everything up to them, and everything after.
pub(super) fn page(view: &PageView<'_>, title: &str) -> (Vec<u8>, &'static [u8]) {
    let address =
        |rel: &str| view.links.iter().find(|(name, _)| *name == rel).map(|(_, href)| href.as_str().into());
    let head = members([
        ("@context", Some(CONTEXT.into())),
        ("type", Some("OrderedCollectionPage".into())),
        ("name", Some(title.into())),
        ("id", address("self")),
        ("partOf", address("first")),
        ("next", address("next")),
    ]);
    let mut text = head.to_string();
    text.pop();
    text.push_str(r#","orderedItems":["#);
    (text.into_bytes(), b"]}")
}

/// An activity.
pub(super) fn activity(site: &Site, state: &State, body: &Body, actor: &Account) -> Vec<u8> {
    let activity = members([
        ("id", Some(site.activity_url(state.id).into())),
        ("type", Some(types(verb_type(&state.facet.verb, &state.facet.kind), &state.facet.verb.iri()))),
        ("name", Some(body.title.as_str().into())),
        ("summary", body.summary.as_deref().map(|summary| super::atom::escape_html(summary).into())),
        ("published", Some(state.published.zulu().into())),
        ("updated", (state.updated != state.received).then(|| state.updated.zulu().into())),
        ("actor", Some(person(site, actor))),
        ("generator", Some(service(body))),
        ("object", Some(object(&state.facet.kind, &body.object, body.comments))),
    ]);
    activity.to_string().into_bytes()
}

/// An object of the members that have a value.
fn members<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// A type of the vocabulary and the exact word.
fn types(known: &str, word: &str) -> Value {
    json!([known, word])
}

fn person(site: &Site, actor: &Account) -> Value {
    json!({
        "id": site.profile_url(&actor.name),
        "type": "Person",
        "name": actor.display_name(),
        "preferredUsername": actor.name.as_str(),
        "url": site.profile_url(&actor.name),
        "icon": {
            "type": "Image",
            "mediaType": "image/png",
            "url": site.avatar_url(&actor.name, AVATAR),
            "width": AVATAR,
            "height": AVATAR,
        },
    })
}

fn service(body: &Body) -> Value {
    members([
        ("type", Some("Service".into())),
        ("name", Some(body.service.name.as_str().into())),
        ("url", body.service.website.as_deref().map(Value::from)),
        ("icon", body.service.icon.as_deref().map(|url| json!({ "type": "Image", "url": url }))),
    ])
}

fn object(kind: &Kind, object: &Object, comments: Comments) -> Value {
    let description = object.description.as_deref();
    let (replies, likes) = match comments {
        Comments::Counted { comments, likes } => (Some(total(comments)), Some(total(likes))),
        Comments::Available(_) => (None, None),
    };
    members([
        ("type", Some(types(kind_type(kind), &kind.iri()))),
        ("name", object.title.as_deref().map(Value::from)),
        ("content", description.map(Value::from)),
        // Otherwise it would be read as HTML.
        ("mediaType", description.map(|_| "text/plain".into())),
        ("url", object.url.as_deref().map(Value::from)),
        ("image", object.thumbnail.as_ref().map(image)),
        ("replies", replies),
        ("likes", likes),
    ])
}

fn image(thumbnail: &Thumbnail) -> Value {
    members([
        ("type", Some("Image".into())),
        ("url", Some(thumbnail.url.as_str().into())),
        ("width", thumbnail.width.map(Value::from)),
        ("height", thumbnail.height.map(Value::from)),
    ])
}

/// A collection of which only the number is known.
fn total(items: u64) -> Value {
    json!({ "type": "Collection", "totalItems": items })
}

/// The activity type of the vocabulary that is nearest to the verb.
fn verb_type(verb: &Verb, kind: &Kind) -> &'static str {
    match verb.as_str() {
        "accept" | "rsvp-yes" => "Accept",
        "add" | "append" | "attach" | "insert" | "save" | "tag" => "Add",
        "author" | "build" | "create" | "post" | "send" | "submit" => "Create",
        "at" | "checkin" => "Arrive",
        "delete" => "Delete",
        "dislike" => "Dislike",
        "favorite" | "like" => "Like",
        "flag-as-inappropriate" => "Flag",
        "follow" => "Follow",
        "ignore" => "Ignore",
        "invite" => "Invite",
        "join" => "Join",
        "leave" => "Leave",
        "listen" => "Listen",
        "offer" | "give" => "Offer",
        "play" if matches!(kind.as_str(), "audio" | "playlist" | "song") => "Listen",
        "play" | "watch" => "View",
        "read" => "Read",
        "reject" | "deny" | "rsvp-no" => "Reject",
        "remove" | "unsave" => "Remove",
        "rsvp-maybe" => "TentativeAccept",
        "share" => "Announce",
        "update" | "replace" => "Update",
        _ => "Activity",
    }
}

/// The object type of the vocabulary that is nearest to the type.
fn kind_type(kind: &Kind) -> &'static str {
    match kind.as_str() {
        "application" => "Application",
        "article" | "review" => "Article",
        "audio" | "song" => "Audio",
        "binary" | "book" | "file" => "Document",
        "bookmark" | "page" => "Page",
        "collection" | "folder" | "list" | "photo-album" | "playlist" => "Collection",
        "comment" | "note" | "status" => "Note",
        "event" => "Event",
        "group" | "team" => "Group",
        "image" | "photo" => "Image",
        "organization" => "Organization",
        "person" => "Person",
        "place" => "Place",
        "question" => "Question",
        "service" => "Service",
        "video" => "Video",
        _ => "Object",
    }
}
