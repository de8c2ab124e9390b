//! The open vocabulary of object types and verbs. A table has every spelling of the known words; other words pass
//! unchanged.
//!
//! A word is stored in one form (lower case; a verb as its infinitive) and shown in others: the past tense in
//! filters, capitalised in `Category` and in the name of the object's element, as an IRI in Atom. A compound of the
//! table is recognised in every spelling, with hyphens or without (`photo-album`, `PhotoAlbum`, `photoalbum`). Words
//! outside the table are never inflected and keep their hyphens, so that every shown form is parsed to the same word.

mod table;

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;
use table::{KINDS, SCHEMA, VERBS};

const MAX_WORD: usize = 64;

/// Element names that an activity already has: an object type with such a name gets a leading underscore.
const RESERVED: &[&str] = &["title", "category", "verb", "type", "to", "visibility"];

/// The type of an activity's object: `bookmark`, `photo`, `song` …
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(String);

/// What was done with the object, as an infinitive: `share`, `like`, `play` …
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Verb(String);

impl Kind {
    /// Parses a short name, an element name (`PhotoAlbum`) or an IRI, in any case.
    pub fn parse(text: &str) -> Option<Kind> {
        let word = last_segment(text);
        let word = plain_word(word.strip_prefix('_').unwrap_or(word))?;
        Some(Kind(KIND_OF.get(word.as_str()).map_or(word, |kind| (*kind).to_owned())))
    }

    /// The short name: `photo-album`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `http://activitystrea.ms/schema/1.0/photo-album`.
    pub fn iri(&self) -> String {
        format!("{SCHEMA}{}", self.0)
    }

    /// The name of the object's element: `PhotoAlbum`. A name that is not valid for an element, or that the activity
    /// already has, gets a leading underscore.
    pub fn element(&self) -> String {
        let reserved = RESERVED.contains(&self.0.as_str());
        let starts_badly = !self.0.starts_with(|c: char| c.is_ascii_alphabetic());
        if reserved || starts_badly { format!("_{}", self.capitalised()) } else { self.capitalised() }
    }

    fn capitalised(&self) -> String {
        if self.is_known() { camel(&self.0, "") } else { first_upper(&self.0) }
    }

    fn is_known(&self) -> bool {
        KINDS.contains(&self.0.as_str())
    }

    /// The rest of a `Category` after this type, in any of its spellings.
    fn strip_from<'a>(&self, category: &'a str) -> Option<&'a str> {
        let joined = if self.is_known() { joined(&self.0) } else { self.0.clone() };
        [joined.as_str(), self.as_str()].into_iter().find_map(|word| strip_any_case(category, word))
    }
}

impl Verb {
    /// Parses an infinitive, a past tense or an IRI, in any case.
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

    /// `shared`, for sentences. A word outside the table is unchanged.
    pub fn past_tense(&self) -> &str {
        self.past().unwrap_or(&self.0)
    }

    fn past(&self) -> Option<&'static str> {
        PAST_OF.get(self.0.as_str()).copied()
    }

    fn capitalised_past(&self) -> String {
        self.past().map_or_else(|| first_upper(&self.0), |past| camel(past, ""))
    }
}

/// `BookmarkShared`: type and past tense, capitalised and joined.
pub fn category(kind: &Kind, verb: &Verb) -> String {
    kind.capitalised() + &verb.capitalised_past()
}

/// `Photo Album Created`: the same for people, with spaces between the words. A hyphen of an unknown word becomes a
/// space.
pub fn category_label(kind: &Kind, verb: &Verb) -> String {
    let kind = if kind.is_known() { camel(&kind.0, " ") } else { kind.capitalised() };
    let verb = verb.past().map_or_else(|| verb.capitalised_past(), |past| camel(past, " "));
    let words = [kind, verb].join(" ").replace('-', " ");
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Splits a `Category` into type and verb. If the object's element is known, `element` shows where the type ends;
/// otherwise the longest known type that matches does.
pub fn parse_category(text: &str, element: Option<&Kind>) -> Option<(Kind, Verb)> {
    if let Some(kind) = element {
        return kind.strip_from(text).and_then(Verb::parse).map(|verb| (kind.clone(), verb));
    }
    let known = KINDS.iter().filter_map(|kind| {
        let kind = Kind((*kind).to_owned());
        let verb = kind.strip_from(text).filter(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))?;
        Some((verb.len(), kind, Verb::parse(verb)?))
    });
    known.min_by_key(|(rest, ..)| *rest).map(|(_, kind, verb)| (kind, verb))
}

/// The known types by every spelling in lower case.
static KIND_OF: LazyLock<HashMap<String, &str>> =
    LazyLock::new(|| KINDS.iter().flat_map(|kind| spellings(kind).map(|word| (word, *kind))).collect());

/// The infinitives of known verbs by every spelling in lower case.
static INFINITIVE_OF: LazyLock<HashMap<String, &str>> = LazyLock::new(|| {
    let of = |(infinitive, past): &(&'static str, &'static str)| {
        let (infinitive, past) = (*infinitive, *past);
        [infinitive, past].into_iter().flat_map(spellings).map(move |word| (word, infinitive))
    };
    VERBS.iter().flat_map(of).collect()
});

static PAST_OF: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| VERBS.iter().copied().collect());

/// The spellings of a word of the table: with hyphens and without.
fn spellings(word: &str) -> [String; 2] {
    [word.to_owned(), joined(word)]
}

/// `photo-album` as `photoalbum`.
fn joined(word: &str) -> String {
    word.replace('-', "")
}

fn strip_any_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// The last segment of an IRI, or the whole text.
fn last_segment(text: &str) -> &str {
    text.rsplit(['/', '#']).next().unwrap_or(text)
}

/// The word in lower case, if it is a valid word.
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
    fn every_spelling_is_the_same_word() {
        for spelling in ["share", "shared", "SHARED", "http://activitystrea.ms/schema/1.0/share"] {
            assert_eq!(verb(spelling).as_str(), "share", "{spelling}");
        }
        for spelling in [
            "photo-album",
            "PhotoAlbum",
            "photoalbum",
            "Photo-Album",
            "PHOTOALBUM",
            "http://activitystrea.ms/schema/1.0/photo-album",
            "http://activitystrea.ms/schema/1.0/PhotoAlbum",
        ] {
            assert_eq!(kind(spelling).as_str(), "photo-album", "{spelling}");
        }
        for spelling in ["checkin", "CheckedIn", "checkedin", "checked-in", "CHECKED-IN"] {
            assert_eq!(verb(spelling).as_str(), "checkin", "{spelling}");
        }
        for unknown in ["top-hat", "book-mark"] {
            assert_eq!(kind(&unknown.to_uppercase()).as_str(), unknown, "an unknown word keeps its hyphen");
        }
    }

    #[test]
    fn categories_and_labels() {
        for (k, v, term, label) in [
            ("bookmark", "share", "BookmarkShared", "Bookmark Shared"),
            ("photo", "posted", "PhotoPosted", "Photo Posted"),
            ("song", "play", "SongPlayed", "Song Played"),
            ("photo-album", "make-friend", "PhotoAlbumMadeFriend", "Photo Album Made Friend"),
            ("place", "checkin", "PlaceCheckedIn", "Place Checked In"),
            ("hat", "doff", "HatDoff", "Hat Doff"),
            ("top-hat", "doff-twice", "Top-hatDoff-twice", "Top hat Doff twice"),
            ("-odd--hat-", "-", "-odd--hat--", "odd hat"),
        ] {
            assert_eq!(category(&kind(k), &verb(v)), term);
            assert_eq!(category_label(&kind(k), &verb(v)), label);
        }
    }

    #[test]
    fn a_category_alone_is_enough_for_known_types() {
        assert_eq!(parse_category("BookmarkShared", None), Some((kind("bookmark"), verb("share"))));
        assert_eq!(parse_category("BookSaved", None), Some((kind("book"), verb("save"))));
        assert_eq!(parse_category("PhotoAlbumPosted", None), Some((kind("photo-album"), verb("post"))));
        for spelling in ["PhotoalbumCreated", "Photo-albumCreated", "photo-albumCreated"] {
            assert_eq!(
                parse_category(spelling, None),
                Some((kind("photo-album"), verb("create"))),
                "{spelling}"
            );
        }
        assert_eq!(parse_category("PlaceChecked-in", None), Some((kind("place"), verb("checkin"))));
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
    fn no_spelling_belongs_to_two_words() {
        let mut seen = HashMap::new();
        for (infinitive, past) in VERBS {
            for word in [infinitive, past].into_iter().flat_map(|word| spellings(word)) {
                let other = seen.insert(word.clone(), infinitive).unwrap_or(infinitive);
                assert_eq!(other, infinitive, "{word} is two verbs");
            }
        }
        for kind in KINDS {
            assert!(spellings(kind).iter().all(|word| KIND_OF[word] == *kind), "{kind} is two types");
        }
    }

    proptest! {
        #[test]
        fn shown_forms_are_parsed_to_the_same_words(k in "[a-z0-9-]{1,64}", v in "[a-z0-9-]{1,64}") {
            let (k, v) = (kind(&k), verb(&v));
            prop_assert_eq!(&Kind::parse(&k.element()).unwrap(), &k);
            prop_assert_eq!(&Kind::parse(&k.iri()).unwrap(), &k);
            prop_assert_eq!(&Verb::parse(&v.iri()).unwrap(), &v);
            prop_assert_eq!(parse_category(&category(&k, &v), Some(&k)), Some((k, v)));
        }

        #[test]
        fn the_category_of_known_words_is_parsed_to_the_same_words(k in proptest::sample::select(KINDS), v in proptest::sample::select(VERBS)) {
            let (k, v) = (kind(k), verb(v.0));
            prop_assert_eq!(parse_category(&category(&k, &v), Some(&k)), Some((k.clone(), v.clone())));
            prop_assert_eq!(&Kind::parse(&k.element()).unwrap(), &k);
        }
    }
}
