//! Every validation rule, with bodies in JSON.

use super::*;
use crate::ingest::json::read;
use serde_json::{Value, json};

const NOW: Millis = Millis(1_794_696_243_123);

fn good() -> Value {
    json!({
        "SourceId": "1", "Title": "x", "Category": "BookmarkShared", "SourceService": {"Name": "Delicious"},
        "Bookmark": {"Title": "t", "Url": "https://example.org/"},
    })
}

/// The valid activity with other values at some JSON pointers; `null` removes a field.
fn with(changes: &[(&str, Value)]) -> Result<Draft, Refused> {
    let mut activity = good();
    for (pointer, value) in changes {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let parent = activity.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        parent.insert(name.to_owned(), value.clone());
    }
    normalise(&read(activity.to_string().as_bytes()).unwrap(), NOW)
}

#[test]
fn required_fields_are_enough() {
    let draft = with(&[]).unwrap();
    assert_eq!((draft.kind.as_str(), draft.verb.as_str()), ("bookmark", "share"));
    assert_eq!(draft.body.comments, Comments::Available(false));
    assert_eq!((draft.published, draft.visibility, draft.to), (None, None, None));
    assert!(with(&[("/Bookmark", json!({"Url": "http://example.org"}))]).is_ok());
    assert!(with(&[("/Bookmark", json!({"Title": "only a title"}))]).is_ok());
}

#[test]
fn errors_name_the_field() {
    let long = |n: usize| json!("x".repeat(n));
    for (pointer, value, field) in [
        ("/Title", json!(null), "Title"),
        ("/Title", json!("  "), "Title"),
        ("/Title", json!(["x"]), "Title"),
        ("/Title", json!("a\u{1}b"), "Title"),
        ("/Title", json!("a\u{fffe}b"), "Title"),
        ("/Title", long(1_001), "Title"),
        ("/SourceId", json!(null), "SourceId"),
        ("/SourceId", json!("a\tb"), "SourceId"),
        ("/SourceId", json!("ü".repeat(257)), "SourceId"),
        ("/SourceService", json!("Delicious"), "SourceService.Name"),
        ("/SourceService", json!({}), "SourceService.Name"),
        ("/SourceService", json!({"Name": "a/b"}), "SourceService.Name"),
        ("/SourceService", json!({"Name": "a", "IconURL": "icon.png"}), "SourceService.IconURL"),
        ("/SourceService", json!({"Name": "a", "WebsiteUrl": "ftp://a/"}), "SourceService.WebsiteURL"),
        ("/Category", json!(null), "Category"),
        ("/Category", json!("Shared"), "Category"),
        ("/Category", json!("Bookmark"), "Category"),
        ("/Category", json!("PhotoPosted"), "Photo"),
        ("/Verb", json!("liked"), "Verb"),
        ("/Verb", json!("two words"), "Verb"),
        ("/Type", json!("photo"), "Category"),
        ("/Type", json!("a_b"), "Type"),
        ("/Bookmark", json!(null), "Bookmark"),
        ("/Bookmark", json!("text"), "Bookmark"),
        ("/Bookmark", json!({"Description": "d"}), "Bookmark"),
        ("/Bookmark/Title", long(1_001), "Bookmark.Title"),
        ("/Bookmark/Description", long(16 * 1024 + 1), "Bookmark.Description"),
        ("/Bookmark/Url", json!("javascript:alert(1)"), "Bookmark.Url"),
        ("/Bookmark/Url", json!(" https://example.org/"), "Bookmark.Url"),
        ("/Bookmark/Url", json!("https://example.org/a b"), "Bookmark.Url"),
        ("/Bookmark/Url", json!(format!("https://example.org/{}", "x".repeat(2_048))), "Bookmark.Url"),
        ("/Bookmark/Thumbnail", json!("t.png"), "Bookmark.Thumbnail.Url"),
        ("/Bookmark/Thumbnail", json!({"Height": 8}), "Bookmark.Thumbnail.Url"),
        (
            "/Bookmark/Thumbnail",
            json!({"Url": "https://example.org/t", "Height": -1}),
            "Bookmark.Thumbnail.Height",
        ),
        ("/CommentCount", json!(-7), "CommentCount"),
        ("/CommentCount", json!("+7"), "CommentCount"),
        ("/CommentCount", json!(7.5), "CommentCount"),
        ("/LikeCount", json!("1".repeat(31)), "LikeCount"),
        ("/CommentsAvailable", json!("maybe"), "CommentsAvailable"),
        ("/PublishedDate", json!("yesterday"), "PublishedDate"),
        ("/PublishedDate", json!("2026-01-01T00:00:00"), "PublishedDate"),
        ("/PublishedDate", json!(Millis(NOW.0 + MAX_FUTURE + 1).zulu()), "PublishedDate"),
        ("/Visibility", json!("friends"), "Visibility"),
        ("/To", json!(vec!["bob"; 101]), "To"),
        ("/To", json!([{"name": "bob"}]), "To"),
    ] {
        let refused = with(&[(pointer, value.clone())]).expect_err(&format!("{pointer}: {value}"));
        assert_eq!(refused.field, field, "{pointer}: {value:.40}: {refused}");
        assert!(!refused.detail.is_empty());
    }
    assert_eq!(with(&[("/Category", json!(null)), ("/Verb", json!("shared"))]).unwrap_err().field, "Type");
    assert_eq!(with(&[("/Category", json!(null)), ("/Type", json!("photo"))]).unwrap_err().field, "Verb");
}

#[test]
fn values_at_the_limit_are_valid() {
    for (pointer, value) in [
        ("/Title", json!("é".repeat(1_000))),
        ("/SourceId", json!("ü".repeat(256))),
        ("/SourceId", json!(" ")),
        ("/Bookmark/Description", json!("x".repeat(16 * 1024))),
        ("/PublishedDate", json!(Millis(NOW.0 + MAX_FUTURE).zulu())),
        ("/To", json!(vec!["bob"; 100])),
        ("/CommentCount", json!(2_147_483_647_u32)),
    ] {
        with(&[(pointer, value)]).unwrap_or_else(|refused| panic!("{pointer}: {refused}"));
    }
}

#[test]
fn verb_and_type_replace_category() {
    let iri = |word: &str| json!(format!("http://activitystrea.ms/schema/1.0/{word}"));
    for (verb, kind) in [(json!("shared"), json!("bookmark")), (iri("share"), iri("bookmark"))] {
        let draft = with(&[("/Category", json!(null)), ("/Verb", verb), ("/Type", kind)]).unwrap();
        assert_eq!((draft.kind.as_str(), draft.verb.as_str()), ("bookmark", "share"));
    }
    let all_three = [("/Verb", json!("share")), ("/Type", json!("bookmark"))];
    assert!(with(&all_three).is_ok(), "consistent fields were rejected");
}

#[test]
fn an_unknown_type_is_found_by_its_object() {
    let hat = json!({"Title": "a hat"});
    let draft =
        with(&[("/Category", json!("Top-hatDoffed")), ("/Top-hat", hat.clone()), ("/Top", hat.clone())]);
    assert_eq!(draft.unwrap().kind.as_str(), "top-hat");
    let lower = with(&[
        ("/Category", json!(null)),
        ("/Verb", json!("posted")),
        ("/Type", json!("photo")),
        ("/photo", hat),
    ]);
    assert!(lower.is_ok(), "the element name is case-sensitive");
}

#[test]
fn counts_take_precedence_over_the_flag() {
    let draft = with(&[("/LikeCount", json!("12")), ("/CommentsAvailable", json!(true))]).unwrap();
    assert_eq!(draft.body.comments, Comments::Counted { comments: 0, likes: 12 });
    let draft = with(&[("/CommentsAvailable", json!("TRUE"))]).unwrap();
    assert_eq!(draft.body.comments, Comments::Available(true));
}

#[test]
fn counts_have_a_limit() {
    for field in ["CommentCount", "LikeCount"] {
        let with_count = |count: Value| with(&[(&format!("/{field}"), count)]);
        assert!(with_count(json!(2_147_483_647_u32)).is_ok());
        for over in
            [json!(2_147_483_648_u32), json!("4294967297"), json!("9".repeat(30)), json!(-1), json!(1.5)]
        {
            let refused = with_count(over).unwrap_err();
            assert_eq!(refused.field, field);
            assert_eq!(refused.detail, "expected a whole number from 0 to 2147483647");
        }
    }
}

#[test]
fn invalid_names_are_no_recipients() {
    let draft = with(&[("/To", json!(["Bob", "no such name!", ""]))]).unwrap();
    assert_eq!(draft.to, Some(vec![AccountName::parse("bob").unwrap()]));
    assert_eq!(with(&[("/To", json!([]))]).unwrap().to, Some(Vec::new()));
}

#[test]
fn server_fields_in_a_body_are_ignored() {
    let draft = with(&[
        ("/ReceivedDate", json!("2001-01-01T00:00:00.000+00:00")),
        ("/ActivityIdentifier", json!({"odd": 1})),
        ("/SourceUser", json!({"Title": 3})),
        ("/Nonsense", json!({"Title": {"deep": [1, {"er": null}]}})),
    ]);
    assert_eq!(draft, with(&[]));
}

#[test]
fn counts_that_atom_omits_stay() {
    let counted = |comments, likes| Comments::Counted { comments, likes };
    let nothing = Comments::Available(false);
    for (sent, before, after) in [
        (nothing, None, nothing),
        (nothing, Some(Comments::Available(true)), Comments::Available(true)),
        (nothing, Some(counted(3, 7)), counted(3, 7)),
        (counted(0, 0), None, nothing),
        (counted(0, 0), Some(Comments::Available(true)), Comments::Available(true)),
        (counted(0, 0), Some(counted(3, 7)), counted(0, 7)),
        (counted(4, 0), None, counted(4, 0)),
        (counted(4, 0), Some(Comments::Available(true)), counted(4, 0)),
        (counted(4, 0), Some(counted(3, 7)), counted(4, 7)),
    ] {
        assert_eq!(counts_after(Format::Atom, sent, before), after, "{sent:?} after {before:?}");
        for other in [Format::Json, Format::Xml, Format::FastInfoset] {
            assert_eq!(counts_after(other, sent, before), sent, "other formats replace all counts");
        }
    }
}
