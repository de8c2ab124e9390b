//! The content of a document independent of its representation: fields and groups of fields, in order.

use infoset::{Element, Node};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

/// There is nothing else: no numbers, no booleans, no null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Text(String),
    Group(Vec<(String, Content)>),
    List(Vec<Content>),
}

impl Content {
    /// The content of an element: its text, or its child elements.
    pub(super) fn of(element: &Element) -> Content {
        assert!(element.attributes.is_empty() && element.name.namespace.is_empty(), "{:?}", element.name);
        match element.children.as_slice() {
            [] => Content::Text(String::new()),
            [Node::Text(text)] => Content::Text(text.clone()),
            children => Content::Group(
                children
                    .iter()
                    .map(|child| match child {
                        Node::Element(element) => (element.name.local.clone(), Content::of(element)),
                        Node::Text(text) => panic!("{text:?} beside elements of {:?}", element.name),
                    })
                    .collect(),
            ),
        }
    }

    /// The text at the end of a path of names.
    pub(super) fn at(&self, path: &[&str]) -> Option<&str> {
        match (self, path) {
            (Content::Text(text), []) => Some(text),
            (Content::Group(fields), [name, rest @ ..]) => {
                fields.iter().find(|(field, _)| field == name).and_then(|(_, said)| said.at(rest))
            }
            _ => None,
        }
    }

    /// The name of the last field: in an activity, the object's.
    pub(super) fn last_name(&self) -> &str {
        match self {
            Content::Group(fields) => fields.last().map(|(name, _)| name.as_str()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn assert_nothing_empty(&self) {
        match self {
            Content::Text(text) => assert!(!text.is_empty(), "an empty text"),
            Content::Group(fields) => {
                assert!(!fields.is_empty(), "an empty group");
                fields.iter().for_each(|(_, said)| said.assert_nothing_empty());
            }
            Content::List(all) => all.iter().for_each(Content::assert_nothing_empty),
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Content, D::Error> {
        struct Strings;

        impl<'de> Visitor<'de> for Strings {
            type Value = Content;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string, an object or an array")
            }

            fn visit_str<E>(self, text: &str) -> Result<Content, E> {
                Ok(Content::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content, A::Error> {
                let mut fields: Vec<(String, Content)> = Vec::new();
                while let Some((name, said)) = map.next_entry::<String, Content>()? {
                    assert!(fields.iter().all(|(before, _)| *before != name), "{name} twice");
                    fields.push((name, said));
                }
                Ok(Content::Group(fields))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Content, A::Error> {
                let mut all = Vec::new();
                while let Some(said) = list.next_element()? {
                    all.push(said);
                }
                Ok(Content::List(all))
            }
        }

        deserializer.deserialize_any(Strings)
    }
}
