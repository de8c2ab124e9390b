//! Activities as JSON objects with the names of the API. `import` reads one per line, and `export` writes them so that
//! they can be read again.

use super::{MAX_BODY, RawActivity, RawObject, RawService, RawThumbnail, RawValue, Unreadable};
use model::{Activity, Comments, Object, Thumbnail, category};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::fmt;

/// The fields of an activity that cannot be its object.
pub const FIELDS: &[&str] = &[
    "ActivityIdentifier",
    "ActivityUrl",
    "Category",
    "CommentCount",
    "CommentsAvailable",
    "EntrySummary",
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

/// Parses an activity. Values may be strings or their natural JSON types. Unknown fields are ignored, but no name may be
/// repeated. The parser limits nesting to 128 levels.
pub fn read(bytes: &[u8]) -> Result<RawActivity, Unreadable> {
    if bytes.len() > MAX_BODY {
        return Err(Unreadable::TooLarge);
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let wrong =
        |wrong: &dyn fmt::Display| Unreadable::malformed(format!("expected one JSON object: {wrong}"));
    let fields = match serde_json::from_slice(bytes) {
        Ok(UniqueNames(Value::Object(fields))) => fields,
        Ok(UniqueNames(_)) => return Err(wrong(&"got another type")),
        Err(error) => return Err(wrong(&error)),
    };
    Ok(RawActivity {
        source_id: value_of(fields.get("SourceId")),
        title: value_of(fields.get("Title")),
        summary: optional_value(fields.get("EntrySummary")),
        category: value_of(fields.get("Category")),
        verb: value_of(fields.get("Verb")),
        kind: value_of(fields.get("Type")),
        service: service(fields.get("SourceService")),
        comments_available: value_of(fields.get("CommentsAvailable")),
        comment_count: value_of(fields.get("CommentCount")),
        like_count: value_of(fields.get("LikeCount")),
        published: value_of(fields.get("PublishedDate")),
        visibility: value_of(fields.get("Visibility")),
        to: to(fields.get("To")),
        objects: fields
            .iter()
            .filter(|(name, _)| !FIELDS.contains(&name.as_str()))
            .filter_map(|(name, value)| Some((name.clone(), object(value.as_object()?))))
            .collect(),
    })
}

fn value_of(value: Option<&Value>) -> RawValue {
    match value {
        None | Some(Value::Null) => RawValue::Absent,
        Some(Value::String(text)) => RawValue::text(text.as_str()),
        Some(Value::Bool(flag)) => RawValue::text(flag.to_string()),
        Some(Value::Number(number)) => RawValue::text(number.to_string()),
        Some(Value::Array(_) | Value::Object(_)) => RawValue::Other,
    }
}

/// An optional field.
fn optional_value(value: Option<&Value>) -> Option<RawValue> {
    Some(value_of(value)).filter(|value| *value != RawValue::Absent)
}

/// A list of texts; a single text counts as a list of one.
fn to(value: Option<&Value>) -> Option<Vec<RawValue>> {
    match value {
        Some(Value::Array(items)) => Some(items.iter().map(|item| value_of(Some(item))).collect()),
        other => optional_value(other).map(|one| vec![one]),
    }
}

fn service(value: Option<&Value>) -> RawService {
    let Some(Value::Object(fields)) = value else {
        // A text where an object is expected becomes `Other`, so that the error names this field.
        let name = if value_of(value) == RawValue::Absent { RawValue::Absent } else { RawValue::Other };
        return RawService { name, ..RawService::default() };
    };
    let either = |one: &str, other: &str| value_of(fields.get(one).or_else(|| fields.get(other)));
    RawService {
        name: value_of(fields.get("Name")),
        icon: either("IconURL", "IconUrl"),
        website: either("WebsiteURL", "WebsiteUrl"),
    }
}

fn object(fields: &Map<String, Value>) -> RawObject {
    RawObject {
        title: value_of(fields.get("Title")),
        description: value_of(fields.get("Description")),
        thumbnail: thumbnail(fields.get("Thumbnail")),
        url: value_of(fields.get("Url")),
        alternate: optional_value(fields.get("AlternateUrl")),
    }
}

fn thumbnail(value: Option<&Value>) -> RawThumbnail {
    let Some(Value::Object(fields)) = value else {
        let url = if value_of(value) == RawValue::Absent { RawValue::Absent } else { RawValue::Other };
        return RawThumbnail { url, ..RawThumbnail::default() };
    };
    RawThumbnail {
        url: value_of(fields.get("Url")),
        height: value_of(fields.get("Height")),
        width: value_of(fields.get("Width")),
    }
}

/// A value in which no object repeats a name: parsers that keep the first and parsers that keep the last would see
/// different activities.
struct UniqueNames(Value);

impl<'de> Deserialize<'de> for UniqueNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<UniqueNames, D::Error> {
        deserializer.deserialize_any(UniqueNamesVisitor).map(UniqueNames)
    }
}

struct UniqueNamesVisitor;

impl<'de> Visitor<'de> for UniqueNamesVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(UniqueNames(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            if fields.contains_key(&name) {
                return Err(de::Error::custom(format_args!("{name} appears twice")));
            }
            let UniqueNames(value) = entries.next_value()?;
            fields.insert(name, value);
        }
        Ok(fields.into())
    }
}

/// An activity in the form that [`read`] parses, with everything needed to create it again elsewhere: external key,
/// published time, visibility, and the names in `To` as they were sent. Listing only existing accounts would reveal to
/// the actor which private accounts exist.
pub struct ExportedActivity<'a>(pub &'a Activity);

impl Serialize for ExportedActivity<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (state, body) = (&self.0.state, &self.0.body);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("SourceId", &body.source_id)?;
        map.serialize_entry("PublishedDate", &state.published.with_offset())?;
        map.serialize_entry("Category", &category(&state.facet.kind, &state.facet.verb))?;
        map.serialize_entry("Title", &body.title)?;
        if let Some(summary) = &body.summary {
            map.serialize_entry("EntrySummary", summary)?;
        }
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
        map.serialize_entry(&state.facet.kind.element(), &ExportedObject(&body.object))?;
        map.serialize_entry("Visibility", state.visibility.as_str())?;
        if !body.to.is_empty() {
            map.serialize_entry("To", &body.to)?;
        }
        map.end()
    }
}

/// The present fields.
struct Fields<'a>(&'a [(&'a str, Option<&'a str>)]);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().filter_map(|(name, text)| Some((name, (*text)?))))
    }
}

struct ExportedObject<'a>(&'a Object);

impl Serialize for ExportedObject<'_> {
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
        for (name, url) in [("Url", &object.url), ("AlternateUrl", &object.alternate)] {
            if let Some(url) = url {
                map.serialize_entry(name, url)?;
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn natural_types_and_strings_are_equal() {
        let natural = br#"{"CommentCount": 3, "CommentsAvailable": true, "To": ["bob"], "Title": "x"}"#;
        let strings = br#"{"CommentCount": "3", "CommentsAvailable": "true", "To": "bob", "Title": "x"}"#;
        assert_eq!(read(natural), read(strings));
    }

    #[test]
    fn empty_and_null_are_absent() {
        let empty =
            br#"{"Title": "", "Verb": null, "To": "", "SourceService": null, "Photo": {"Thumbnail": ""}}"#;
        let raw = RawActivity {
            objects: vec![("Photo".to_owned(), RawObject::default())],
            ..RawActivity::default()
        };
        assert_eq!(read(empty), Ok(raw));
        assert_eq!(read(b"{}"), Ok(RawActivity::default()));
        assert_eq!(
            read(br#"{"To": []}"#).unwrap().to,
            Some(Vec::new()),
            "an empty list is not an absent one"
        );
    }

    #[test]
    fn both_spellings_of_url_fields_are_read() {
        let raw = read(br#"{"SourceService": {"IconUrl": "i", "WebsiteURL": "w"}}"#).unwrap();
        assert_eq!((raw.service.icon, raw.service.website), (RawValue::text("i"), RawValue::text("w")));
    }

    #[test]
    fn malformed_bodies_are_rejected() {
        let deep = format!("{{\"Deep\": {}{}}}", "[".repeat(1_000), "]".repeat(1_000));
        let with_a_tail = "{} {}";
        for wrong in
            ["", "[]", "null", "\"x\"", "{\"Title\": \"x\"", with_a_tail, &deep, "{\"Title\":\"\\ud800\"}"]
        {
            assert!(matches!(read(wrong.as_bytes()), Err(Unreadable::Malformed(_))), "{wrong:.40}");
        }
        assert!(matches!(read(b"{\"Title\":\"\xff\"}"), Err(Unreadable::Malformed(_))));
        assert_eq!(read(&vec![b' '; MAX_BODY + 1]), Err(Unreadable::TooLarge));
    }
    #[test]
    fn repeated_names_are_rejected() {
        for (wrong, name) in [
            (r#"{"Title": "x", "Title": "x"}"#, "Title"),
            (r#"{"Bookmark": {"Url": "x", "Title": null, "Url": "y"}}"#, "Url"),
            (r#"{"Unknown": [{"deep": 1, "\u0064eep": 2}]}"#, "deep"),
        ] {
            let Err(Unreadable::Malformed(message)) = read(wrong.as_bytes()) else { panic!("{wrong}") };
            assert!(message.contains(&format!("{name} appears twice at line 1 column ")), "{message}");
        }
        let long = format!(r#"{{"{0}":1,"{0}":1}}"#, "x".repeat(10_000));
        assert!(read(long.as_bytes()).unwrap_err().to_string().len() < 1_000, "the message is too long");
        assert!(read(br#"{"a": {"a": [{"a": 1}, {"a": 1}]}}"#).is_ok());
    }

    #[test]
    fn a_byte_order_mark_is_ignored() {
        assert_eq!(read(b"\xEF\xBB\xBF{}"), Ok(RawActivity::default()));
        assert!(read(b"\xEF\xBB\xBF\xEF\xBB\xBF{}").is_err());
    }
}
