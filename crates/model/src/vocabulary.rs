//! The open vocabulary of object types and verbs: one table gives every spelling of a word, and a word that is not in
//! it goes through unchanged.
//!
//! A word is kept in one form (lower case; a verb as its infinitive) and shown in others: the past tense in filters,
//! capitalised in `Category` and as the name of the object's element, as an IRI in Atom. Words outside the table are
//! never inflected and keep their hyphens, so that whatever is read can be put back and means the same.

mod table;

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;
use table::{KINDS, SCHEMA, VERBS};

const MAX_WORD: usize = 64;

/// Element names that an activity has already: an object type of that name gets an underscore before it.
const RESERVED: &[&str] = &["title", "category", "verb", "type", "to", "visibility"];

/// The type of an activity's object: `bookmark`, `photo`, `song` …
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(String);

/// What was done with the object, as an infinitive: `share`, `like`, `play` …
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Verb(String);

impl Kind {
    /// Reads a short name, an element name (`PhotoAlbum`) or an IRI.
    pub fn parse(text: &str) -> Option<Kind> {
        let word = last_segment(text);
        let word = word.strip_prefix('_').unwrap_or(word);
        KIND_OF_CAMEL.get(word).map(|kind| Kind((*kind).to_owned())).or_else(|| plain_word(word).map(Kind))
    }

    /// The short name: `photo-album`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `http://activitystrea.ms/schema/1.0/photo-album`.
    pub fn iri(&self) -> String {
        format!("{SCHEMA}{}", self.0)
    }

    /// The name of the element that holds the object: `PhotoAlbum`. What could not be an element's name, or would be
    /// one that the activity has already, gets an underscore before it.
    pub fn element(&self) -> String {
        let reserved = RESERVED.contains(&self.0.as_str());
        let starts_badly = !self.0.starts_with(|c: char| c.is_ascii_alphabetic());
        if reserved || starts_badly { format!("_{}", self.capitalised()) } else { self.capitalised() }
    }

    fn capitalised(&self) -> String {
        if KINDS.contains(&self.0.as_str()) { camel(&self.0, "") } else { first_upper(&self.0) }
    }
}

impl Verb {
    /// Reads an infinitive, a past tense or an IRI.
    pub fn parse(text: &str) -> Option<Verb> {
        let word = plain_word(last_segment(text))?;
        Some(Verb(INFINITIVE_OF.get(word.as_str()).map_or(word, |infinitive| (*infinitive).to_owned())))
    }

    /// The infinitive: `share`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `http://activitystrea.ms/schema/1.0/share`.
    pub fn iri(&self) -> String {
        format!("{SCHEMA}{}", self.0)
    }

    /// `shared`, as a sentence has it; a word outside the table stays as it is.
    pub fn past_tense(&self) -> &str {
        self.past().unwrap_or(&self.0)
    }

    fn past(&self) -> Option<&'static str> {
        PAST_OF.get(self.0.as_str()).copied()
    }

    fn capitalised_past(&self, seam: &str) -> String {
        self.past().map_or_else(|| first_upper(&self.0), |past| camel(past, seam))
    }
}

/// `BookmarkShared`: type and past tense, capitalised and joined.
pub fn category(kind: &Kind, verb: &Verb) -> String {
    kind.capitalised() + &verb.capitalised_past("")
}

/// `Bookmark Shared`: the same for people, with a space between.
pub fn category_label(kind: &Kind, verb: &Verb) -> String {
    format!("{} {}", kind.capitalised(), verb.capitalised_past(""))
}

/// Takes a `Category` apart again. Where the object's element is known, `element` says where the type ends; without
/// it the longest known type that fits does.
pub fn parse_category(text: &str, element: Option<&Kind>) -> Option<(Kind, Verb)> {
    if let Some(kind) = element {
        return text
            .strip_prefix(&kind.capitalised())
            .and_then(verb_of_camel)
            .map(|verb| (kind.clone(), verb));
    }
    let known = KIND_OF_CAMEL.iter().filter_map(|(camel, kind)| {
        let verb = text
            .strip_prefix(camel.as_str())
            .filter(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))?;
        Some((camel.len(), Kind((*kind).to_owned()), verb_of_camel(verb)?))
    });
    known.max_by_key(|(length, ..)| *length).map(|(_, kind, verb)| (kind, verb))
}

fn verb_of_camel(text: &str) -> Option<Verb> {
    VERB_OF_CAMEL.get(text).map(|verb| Verb((*verb).to_owned())).or_else(|| Verb::parse(text))
}

static INFINITIVE_OF: LazyLock<HashMap<&str, &str>> =
    LazyLock::new(|| VERBS.iter().map(|(infinitive, past)| (*past, *infinitive)).collect());

static PAST_OF: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| VERBS.iter().copied().collect());

static VERB_OF_CAMEL: LazyLock<HashMap<String, &str>> =
    LazyLock::new(|| VERBS.iter().map(|(infinitive, past)| (camel(past, ""), *infinitive)).collect());

static KIND_OF_CAMEL: LazyLock<HashMap<String, &str>> =
    LazyLock::new(|| KINDS.iter().map(|kind| (camel(kind, ""), *kind)).collect());

/// The last segment of an IRI; a text without one is its own.
fn last_segment(text: &str) -> &str {
    text.rsplit(['/', '#']).next().unwrap_or(text)
}

/// The word in lower case, if it is one.
fn plain_word(text: &str) -> Option<String> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    ((1..=MAX_WORD).contains(&text.len()) && text.bytes().all(allowed)).then(|| text.to_ascii_lowercase())
}

fn first_upper(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

/// `photo-album` as `PhotoAlbum`.
fn camel(word: &str, seam: &str) -> String {
    word.split('-').map(first_upper).collect::<Vec<_>>().join(seam)
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kind(text: &str) -> Kind {
        Kind::parse(text).unwrap()
    }

    fn verb(text: &str) -> Verb {
        Verb::parse(text).unwrap()
    }

    #[test]
    fn every_spelling_is_one_word() {
        for spelling in ["share", "shared", "SHARED", "http://activitystrea.ms/schema/1.0/share"] {
            assert_eq!(verb(spelling).as_str(), "share", "{spelling}");
        }
        for spelling in ["photo-album", "PhotoAlbum", "http://activitystrea.ms/schema/1.0/photo-album"] {
            assert_eq!(kind(spelling).as_str(), "photo-album", "{spelling}");
        }
    }

    #[test]
    fn categories() {
        for (k, v, term, label) in [
            ("bookmark", "share", "BookmarkShared", "Bookmark Shared"),
            ("photo", "posted", "PhotoPosted", "Photo Posted"),
            ("song", "play", "SongPlayed", "Song Played"),
            ("photo-album", "make-friend", "PhotoAlbumMadeFriend", "PhotoAlbum MadeFriend"),
            ("hat", "doff", "HatDoff", "Hat Doff"),
            ("top-hat", "doff-twice", "Top-hatDoff-twice", "Top-hat Doff-twice"),
        ] {
            assert_eq!(category(&kind(k), &verb(v)), term);
            assert_eq!(category_label(&kind(k), &verb(v)), label);
        }
    }

    #[test]
    fn a_category_alone_tells_known_types() {
        assert_eq!(parse_category("BookmarkShared", None), Some((kind("bookmark"), verb("share"))));
        assert_eq!(parse_category("BookSaved", None), Some((kind("book"), verb("save"))));
        assert_eq!(parse_category("PhotoAlbumPosted", None), Some((kind("photo-album"), verb("post"))));
        assert_eq!(parse_category("HatDoff", None), None);
        assert_eq!(parse_category("", None), None);
    }

    #[test]
    fn elements_never_clash_with_fields() {
        assert_eq!(kind("title").element(), "_Title");
        assert_eq!(kind("3d-model").element(), "_3d-model");
        assert_eq!(kind("_Title").as_str(), "title");
    }

    #[test]
    fn no_word_is_two() {
        let all = VERBS.iter().flat_map(|(a, b)| if a == b { vec![*a] } else { vec![*a, *b] });
        let mut seen = std::collections::HashSet::new();
        for word in all {
            assert!(seen.insert(word), "{word} is two verbs");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_can_be_put_back(k in "[a-z0-9-]{1,64}", v in "[a-z0-9-]{1,64}") {
            let (k, v) = (kind(&k), verb(&v));
            prop_assert_eq!(&Kind::parse(&k.element()).unwrap(), &k);
            prop_assert_eq!(&Kind::parse(&k.iri()).unwrap(), &k);
            prop_assert_eq!(&Verb::parse(&v.iri()).unwrap(), &v);
            prop_assert_eq!(parse_category(&category(&k, &v), Some(&k)), Some((k, v)));
        }

        #[test]
        fn every_known_pair_can_be_put_back(k in proptest::sample::select(KINDS), v in proptest::sample::select(VERBS)) {
            let (k, v) = (kind(k), verb(v.0));
            prop_assert_eq!(parse_category(&category(&k, &v), Some(&k)), Some((k.clone(), v.clone())));
            prop_assert_eq!(&Kind::parse(&k.element()).unwrap(), &k);
        }
    }
}
