//! The members of JSON Feed. A member with the wrong type counts as absent; only invalid JSON is an error.

use crate::limits::MAX_ITEMS_SCANNED;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawFeed {
    pub(crate) version: Text,
    pub(crate) title: Text,
    pub(crate) home_page_url: Text,
    pub(crate) feed_url: Text,
    pub(crate) icon: Text,
    pub(crate) favicon: Text,
    pub(crate) author: Object<RawAuthor>,
    pub(crate) authors: List<RawAuthor>,
    pub(crate) hubs: List<RawHub>,
    pub(crate) items: List<RawItem>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawItem {
    pub(crate) id: Text,
    pub(crate) url: Text,
    pub(crate) external_url: Text,
    pub(crate) title: Text,
    pub(crate) content_html: Text,
    pub(crate) content_text: Text,
    pub(crate) summary: Text,
    pub(crate) image: Text,
    pub(crate) banner_image: Text,
    pub(crate) date_published: Text,
    pub(crate) date_modified: Text,
    pub(crate) author: Object<RawAuthor>,
    pub(crate) authors: List<RawAuthor>,
    pub(crate) attachments: List<RawAttachment>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawAuthor {
    pub(crate) name: Text,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawHub {
    pub(crate) url: Text,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawAttachment {
    pub(crate) url: Text,
    pub(crate) mime_type: Text,
}

/// A string; a number is accepted too.
#[derive(Default)]
pub(crate) struct Text(Option<String>);

impl Text {
    pub(crate) fn get(&self) -> Option<&str> {
        self.0.as_deref().map(str::trim).filter(|text| !text.is_empty())
    }
}

/// An object.
pub(crate) struct Object<T>(pub(crate) Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Object<T> {
        Object(None)
    }
}

/// An array of objects. Its length is limited to bound the memory.
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List(Vec::new())
    }
}

/// Accepts any JSON value and keeps the parts that `T` can use.
struct Lenient<T>(PhantomData<T>);

/// Conversions from JSON values; each defaults to an empty value.
trait Fill: Default {
    fn text(_: &str) -> Self {
        Self::default()
    }

    fn map<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        skip_map(map).map(|()| Self::default())
    }

    fn seq<'de, A: SeqAccess<'de>>(seq: A) -> Result<Self, A::Error> {
        skip_seq(seq).map(|()| Self::default())
    }
}

fn skip_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<(), A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

fn skip_seq<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<(), A::Error> {
    while seq.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

impl Fill for Text {
    fn text(text: &str) -> Text {
        Text(Some(text.to_owned()))
    }
}

impl<T: for<'de> Deserialize<'de>> Fill for Object<T> {
    fn map<'de, A: MapAccess<'de>>(map: A) -> Result<Object<T>, A::Error> {
        T::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(|object| Object(Some(object)))
    }
}

impl<T: for<'de> Deserialize<'de>> Fill for List<T> {
    fn seq<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<List<T>, A::Error> {
        let mut list = Vec::new();
        while list.len() < MAX_ITEMS_SCANNED {
            match seq.next_element_seed(Lenient::<Object<T>>(PhantomData))? {
                Some(Object(object)) => list.extend(object),
                None => return Ok(List(list)),
            }
        }
        skip_seq(seq).map(|()| List(list))
    }
}

impl<'de, T: Fill> DeserializeSeed<'de> for Lenient<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Fill> Visitor<'de> for Lenient<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        Ok(T::text(text))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        Ok(T::text(&number.to_string()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        Ok(T::text(&number.to_string()))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::map(map)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<T, A::Error> {
        T::seq(seq)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        Lenient(PhantomData).deserialize(deserializer)
    }
}

impl<'de, T: for<'d> Deserialize<'d>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
        Lenient(PhantomData).deserialize(deserializer)
    }
}

impl<'de, T: for<'d> Deserialize<'d>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<List<T>, D::Error> {
        Lenient(PhantomData).deserialize(deserializer)
    }
}
