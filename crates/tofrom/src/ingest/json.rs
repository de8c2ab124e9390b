//! Activities as JSON objects with the names of the contract: what `import` reads a line at a time, and what `export`
//! writes so that it can be read again.

use super::{MAX_BODY, RawActivity, RawObject, RawService, RawThumbnail, Said};
use model::{AccountName, Activity, Comments, Object, Thumbnail, category};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// The fields of an activity that can't be its object, whatever its type is called.
const FIELDS: &[&str] = &[
    "ActivityIdentifier",
    "ActivityUrl",
    "Category",
    "CommentCount",
    "CommentsAvailable",
    "LikeCount",
    "PublishedDate",
    "ReceivedDate",
    "SourceId",
    "SourceService",
    "SourceUser",
    "Title",
    "To",
    "Type",
    "Verb",
    "Visibility",
];

/// Why bytes are no activity in JSON at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// More than [`MAX_BODY`].
    #[error("an activity is at most 64 KiB")]
    TooLarge,
    /// Not a JSON object.
    #[error("expected one JSON object: {0}")]
    NotJson(String),
}

/// Reads one activity. Values may be strings or their natural types, unknown fields say nothing, of a name that comes
/// twice the last one counts. Nesting is limited by the parser, to 128 levels.
pub fn read(bytes: &[u8]) -> Result<RawActivity, Unreadable> {
    if bytes.len() > MAX_BODY {
        return Err(Unreadable::TooLarge);
    }
    let fields: Map<String, Value> =
        serde_json::from_slice(bytes).map_err(|error| Unreadable::NotJson(error.to_string()))?;
    Ok(RawActivity {
        source_id: said(fields.get("SourceId")),
        title: said(fields.get("Title")),
        category: said(fields.get("Category")),
        verb: said(fields.get("Verb")),
        kind: said(fields.get("Type")),
        service: service(fields.get("SourceService")),
        comments_available: said(fields.get("CommentsAvailable")),
        comment_count: said(fields.get("CommentCount")),
        like_count: said(fields.get("LikeCount")),
        published: said(fields.get("PublishedDate")),
        visibility: said(fields.get("Visibility")),
        to: to(fields.get("To")),
        objects: fields
            .iter()
            .filter(|(name, _)| !FIELDS.contains(&name.as_str()))
            .filter_map(|(name, value)| Some((name.clone(), object(value.as_object()?))))
            .collect(),
    })
}

fn said(value: Option<&Value>) -> Said {
    match value {
        None | Some(Value::Null) => Said::Nothing,
        Some(Value::String(text)) => Said::text(text.as_str()),
        Some(Value::Bool(flag)) => Said::text(flag.to_string()),
        Some(Value::Number(number)) => Said::text(number.to_string()),
        Some(Value::Array(_) | Value::Object(_)) => Said::Other,
    }
}

/// A list of texts; a single text stands for a list of one.
fn to(value: Option<&Value>) -> Option<Vec<Said>> {
    match value {
        Some(Value::Array(items)) => Some(items.iter().map(|item| said(Some(item))).collect()),
        other => Some(said(other)).filter(|one| *one != Said::Nothing).map(|one| vec![one]),
    }
}

fn service(value: Option<&Value>) -> RawService {
    let Some(Value::Object(fields)) = value else {
        // A text where the object is due is at least no name: the complaint will be about that field.
        let name = if said(value) == Said::Nothing { Said::Nothing } else { Said::Other };
        return RawService { name, ..RawService::default() };
    };
    let either = |one: &str, other: &str| said(fields.get(one).or_else(|| fields.get(other)));
    RawService {
        name: said(fields.get("Name")),
        icon: either("IconURL", "IconUrl"),
        website: either("WebsiteURL", "WebsiteUrl"),
    }
}

fn object(fields: &Map<String, Value>) -> RawObject {
    RawObject {
        title: said(fields.get("Title")),
        description: said(fields.get("Description")),
        thumbnail: thumbnail(fields.get("Thumbnail")),
        url: said(fields.get("Url")),
    }
}

fn thumbnail(value: Option<&Value>) -> RawThumbnail {
    let Some(Value::Object(fields)) = value else {
        let url = if said(value) == Said::Nothing { Said::Nothing } else { Said::Other };
        return RawThumbnail { url, ..RawThumbnail::default() };
    };
    RawThumbnail {
        url: said(fields.get("Url")),
        height: said(fields.get("Height")),
        width: said(fields.get("Width")),
    }
}

/// An activity in the form that [`read`] reads, with all that makes it again elsewhere: its source, when it was
/// published, who may see it and whom it addresses (`to`, by name).
pub struct Written<'a> {
    /// The activity.
    pub activity: &'a Activity,
    /// The names of the accounts that it addresses.
    pub to: &'a [AccountName],
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (state, body) = (&self.activity.state, &self.activity.body);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("SourceId", &body.source_id)?;
        map.serialize_entry("PublishedDate", &state.published.with_offset())?;
        map.serialize_entry("Category", &category(&state.facet.kind, &state.facet.verb))?;
        map.serialize_entry("Title", &body.title)?;
        map.serialize_entry(
            "SourceService",
            &Fields(&[
                ("Name", Some(body.service.name.as_str())),
                ("IconURL", body.service.icon.as_deref()),
                ("WebsiteURL", body.service.website.as_deref()),
            ]),
        )?;
        match body.comments {
            Comments::Available(available) => {
                map.serialize_entry("CommentsAvailable", &available.to_string())?;
            }
            Comments::Counted { comments, likes } => {
                map.serialize_entry("CommentCount", &comments.to_string())?;
                map.serialize_entry("LikeCount", &likes.to_string())?;
            }
        }
        map.serialize_entry(&state.facet.kind.element(), &WrittenObject(&body.object))?;
        map.serialize_entry("Visibility", state.visibility.as_str())?;
        if !self.to.is_empty() {
            map.serialize_entry("To", &self.to.iter().map(AccountName::as_str).collect::<Vec<_>>())?;
        }
        map.end()
    }
}

/// The fields that there are.
struct Fields<'a>(&'a [(&'a str, Option<&'a str>)]);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().filter_map(|(name, text)| Some((name, (*text)?))))
    }
}

struct WrittenObject<'a>(&'a Object);

impl Serialize for WrittenObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let object = self.0;
        let mut map = serializer.serialize_map(None)?;
        for (name, text) in [("Title", &object.title), ("Description", &object.description)] {
            if let Some(text) = text {
                map.serialize_entry(name, text)?;
            }
        }
        if let Some(Thumbnail { url, height, width }) = &object.thumbnail {
            let (height, width) = (height.map(|n| n.to_string()), width.map(|n| n.to_string()));
            let fields =
                [("Url", Some(url.as_str())), ("Height", height.as_deref()), ("Width", width.as_deref())];
            map.serialize_entry("Thumbnail", &Fields(&fields))?;
        }
        if let Some(url) = &object.url {
            map.serialize_entry("Url", url)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn natural_types_and_strings_say_the_same() {
        let natural = br#"{"CommentCount": 3, "CommentsAvailable": true, "To": ["bob"], "Title": "x"}"#;
        let strings = br#"{"CommentCount": "3", "CommentsAvailable": "true", "To": "bob", "Title": "x"}"#;
        assert_eq!(read(natural), read(strings));
    }

    #[test]
    fn empty_and_null_say_nothing() {
        let empty =
            br#"{"Title": "", "Verb": null, "To": "", "SourceService": null, "Photo": {"Thumbnail": ""}}"#;
        let raw = RawActivity {
            objects: vec![("Photo".to_owned(), RawObject::default())],
            ..RawActivity::default()
        };
        assert_eq!(read(empty), Ok(raw));
        assert_eq!(read(b"{}"), Ok(RawActivity::default()));
        assert_eq!(read(br#"{"To": []}"#).unwrap().to, Some(Vec::new()), "nobody is not nothing");
    }

    #[test]
    fn both_spellings_of_addresses() {
        let raw = read(br#"{"SourceService": {"IconUrl": "i", "WebsiteURL": "w"}}"#).unwrap();
        assert_eq!((raw.service.icon, raw.service.website), (Said::text("i"), Said::text("w")));
    }

    #[test]
    fn what_is_no_object_is_told() {
        let deep = format!("{{\"Deep\": {}{}}}", "[".repeat(1_000), "]".repeat(1_000));
        let with_a_tail = "{} {}";
        for wrong in
            ["", "[]", "null", "\"x\"", "{\"Title\": \"x\"", with_a_tail, &deep, "{\"Title\":\"\\ud800\"}"]
        {
            assert!(matches!(read(wrong.as_bytes()), Err(Unreadable::NotJson(_))), "{wrong:.40}");
        }
        assert!(matches!(read(b"{\"Title\":\"\xff\"}"), Err(Unreadable::NotJson(_))));
        assert_eq!(read(&vec![b' '; MAX_BODY + 1]), Err(Unreadable::TooLarge));
    }
}
