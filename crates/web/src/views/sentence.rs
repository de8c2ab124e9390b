//! The sentence of an activity: who did what with what, without saying anything twice.

/// Types whose text is the content: it is shown as a note below the sentence.
const NOTES: [&str; 3] = ["note", "status", "comment"];
/// Verbs that need other words before an object than their past tense.
const PHRASES: &[(&str, &str)] = &[
    ("agree", "agreed with"),
    ("at", "was at"),
    ("checkin", "checked in at"),
    ("disagree", "disagreed with"),
    ("flag-as-inappropriate", "flagged"),
    ("interact", "interacted with"),
    ("listen", "listened to"),
    ("make-friend", "made friends with"),
    ("remove-friend", "is no longer friends with"),
    ("request-friend", "asked to be friends with"),
    ("rsvp-maybe", "may attend"),
    ("rsvp-no", "will not attend"),
    ("rsvp-yes", "will attend"),
];
/// Words of a phrase that is taken from a title.
const MAX_PHRASE_WORDS: usize = 4;

/// The words of an activity.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Words<'a> {
    /// The names by which the title may call the actor, the longest first.
    pub(super) names: &'a [&'a str],
    /// The object type.
    pub(super) kind: &'a str,
    /// The verb.
    pub(super) verb: &'a str,
    /// The verb in the past tense.
    pub(super) done: &'a str,
    /// The activity's title.
    pub(super) title: &'a str,
    /// The object's title.
    pub(super) object: Option<&'a str>,
    /// The object's description.
    pub(super) description: Option<&'a str>,
}

/// The sentence without its subject, and the text below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence {
    /// What the actor did: `liked`, `posted a note`. Empty if `what` says it.
    pub did: String,
    /// The object's title.
    pub what: Option<String>,
    /// The text of a note.
    pub note: Option<String>,
    /// More about the object.
    pub text: Option<String>,
}

impl Sentence {
    /// The sentence for these words.
    pub(super) fn of(words: &Words<'_>) -> Sentence {
        let object = words.object.map(str::trim).filter(|object| !object.is_empty());
        let description = words.description.map(str::trim).filter(|text| !text.is_empty());
        let title = words.title.trim();
        if NOTES.contains(&words.kind) {
            let note = object.unwrap_or(title);
            let (note, text) = match description {
                Some(longer) if longer.starts_with(note.trim_end_matches('…')) => (longer, None),
                other => (note, other),
            };
            return Sentence {
                did: did_note(words),
                what: None,
                note: Some(note.to_owned()),
                text: text.map(str::to_owned),
            };
        }
        let (did, what) = match (object, rest_after_name(title, words.names)) {
            (Some(object), Some(rest)) => (phrase(rest, object).map(str::to_owned), object),
            (Some(object), None) => (None, object),
            // The title is the whole sentence.
            (None, Some(rest)) => (Some(String::new()), rest),
            (None, None) => (None, title),
        };
        let text = description.filter(|text| *text != what && *text != title);
        Sentence {
            did: did.unwrap_or_else(|| did_to_object(words)),
            what: Some(what.to_owned()).filter(|what| !what.is_empty()),
            note: None,
            text: text.map(str::to_owned),
        }
    }
}

/// `liked`, `checked in at`.
pub(super) fn did_to_object(words: &Words<'_>) -> String {
    let phrase = PHRASES.iter().find(|(verb, _)| *verb == words.verb).map(|(_, phrase)| *phrase);
    phrase.map_or_else(|| words.done.replace('-', " "), str::to_owned)
}

/// `posted a note`, `updated their status`.
fn did_note(words: &Words<'_>) -> String {
    if (words.kind, words.verb) == ("status", "update") {
        return "updated their status".to_owned();
    }
    let article = if words.kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{} {article} {}", did_to_object(words), words.kind.replace('-', " "))
}

/// `6 songs`, `2 photo albums`.
pub(super) fn counted(number: usize, kind: &str) -> String {
    let kind = kind.replace('-', " ");
    if number == 1 { format!("1 {kind}") } else { format!("{number} {}", plural(&kind)) }
}

/// `photo albums`, `statuses`, `people`.
pub(super) fn plural(kind: &str) -> String {
    match kind {
        "person" => "people".to_owned(),
        kind if kind.ends_with('s') => format!("{kind}es"),
        kind => match kind.strip_suffix('y') {
            Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
            _ => format!("{kind}s"),
        },
    }
}

/// The title after the actor's name at its beginning.
fn rest_after_name<'a>(title: &'a str, names: &[&str]) -> Option<&'a str> {
    let after =
        |name: &&str| Some(name).filter(|name| !name.is_empty()).and_then(|name| title.strip_prefix(*name));
    let rest = names.iter().filter_map(after).find(|rest| rest.starts_with(' '))?;
    Some(rest.trim_start()).filter(|rest| !rest.is_empty())
}

/// The few words between the name and the object, such as `finished reading`. A list of words that names the type
/// (`posted a photo:`) is longer than the verb alone and says no more.
fn phrase<'a>(rest: &'a str, object: &str) -> Option<&'a str> {
    let phrase = rest.strip_suffix(object)?.strip_suffix(' ')?;
    let plain = phrase.chars().all(|c| c.is_alphabetic() || c == ' ');
    let short = (1..=MAX_PHRASE_WORDS).contains(&phrase.split(' ').count());
    Some(phrase).filter(|_| plain && short)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: &[&str] = &["Alice Adair", "Alice", "alice"];

    fn like<'a>(title: &'a str, object: Option<&'a str>, description: Option<&'a str>) -> Sentence {
        let (kind, verb, done) = ("video", "like", "liked");
        Sentence::of(&Words { names: ALICE, kind, verb, done, title, object, description })
    }

    fn said(sentence: &Sentence) -> (&str, Option<&str>, Option<&str>) {
        (&sentence.did, sentence.what.as_deref(), sentence.text.as_deref())
    }

    #[test]
    fn the_object_is_named_once() {
        let what = Some("Kingfisher, 1,000 frames a second");
        for title in [
            "Kingfisher, 1,000 frames a second",
            "Alice liked a video: Kingfisher, 1,000 frames a second",
            "Alice liked “Kingfisher, 1,000 frames a second”",
            "Something else",
        ] {
            assert_eq!(said(&like(title, what, what)), ("liked", what, None), "{title}");
        }
        assert_eq!(said(&like("x", what, Some("One dive."))), ("liked", what, Some("One dive.")));
        assert_eq!(said(&like("Kingfisher", None, Some("Kingfisher"))), ("liked", Some("Kingfisher"), None));
        assert_eq!(said(&like("", None, None)), ("liked", None, None));
    }

    #[test]
    fn a_title_may_have_better_words_than_the_verb() {
        let what = Some("Moominland");
        for (title, did) in [
            ("Alice finished reading Moominland", "finished reading"),
            ("Alice Adair gave five stars to Moominland", "gave five stars to"),
            ("alice loves Moominland", "loves"),
            ("Alice, who reads, likes Moominland", "liked"),
            ("Alice took a very long look at Moominland", "liked"),
            ("Alice Moominland", "liked"),
            ("Bob loves Moominland", "liked"),
        ] {
            assert_eq!(said(&like(title, what, None)), (did, what, None), "{title}");
        }
        assert_eq!(said(&like("alice pushed to main", None, None)), ("", Some("pushed to main"), None));
    }

    #[test]
    fn a_note_is_text_below_the_sentence() {
        let note = |verb, done, kind, title, description| {
            Sentence::of(&Words { names: ALICE, kind, verb, done, title, object: Some(title), description })
        };
        let posted = note("post", "posted", "note", "Headwind both ways", Some("Headwind both ways"));
        assert_eq!((posted.did.as_str(), posted.what, posted.text), ("posted a note", None, None));
        assert_eq!(posted.note.as_deref(), Some("Headwind both ways"));
        let cut = note("post", "posted", "note", "Headwind…", Some("Headwind both ways"));
        assert_eq!((cut.note.as_deref(), cut.text), (Some("Headwind both ways"), None));
        assert_eq!(note("update", "updated", "status", "tired", None).did, "updated their status");
        assert_eq!(note("like", "liked", "comment", "Yes!", None).did, "liked a comment");
    }

    #[test]
    fn some_verbs_need_a_preposition() {
        let words = Words { verb: "checkin", done: "checked-in", ..Words::default() };
        assert_eq!(did_to_object(&words), "checked in at");
        assert_eq!(did_to_object(&Words { verb: "x-y", done: "x-y", ..words }), "x y");
    }

    #[test]
    fn numbers_of_things_are_plural() {
        for (number, kind, text) in [
            (1, "photo-album", "1 photo album"),
            (2, "photo-album", "2 photo albums"),
            (3, "status", "3 statuses"),
            (4, "person", "4 people"),
            (5, "story", "5 stories"),
            (6, "key", "6 keys"),
        ] {
            assert_eq!(counted(number, kind), text);
        }
    }
}
