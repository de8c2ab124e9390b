//! One activity at its address.

use super::fixture::{JSON, NDJSON, activity, becomes, fixture, fresh, identifier, item, refusal, with};
use serde_json::{Value, json};

const FOUR: [&str; 4] =
    ["application/xml", "application/atom+xml", "application/json", "application/fastinfoset"];

fn rich() -> Value {
    with(
        activity("<b>R&D</b> \"quoted\" 'été' 😀"),
        json!({
            "PublishedDate": "2009-10-01T12:34:56.789+02:00", "CommentCount": 3, "LikeCount": "7",
            "SourceService": { "IconUrl": "https://example.org/i.png", "WebsiteURL": "https://example.org/" },
            "Bookmark": {
                "Title": "Ünïcode & <tags>", "Description": "two\nlines, ]]> and  blanks",
                "Thumbnail": { "Url": "https://example.org/t.png", "Height": 80, "Width": "120" },
                "Url": "https://example.org/?a=1&b=%20",
            },
        }),
    )
}

#[test]
fn a_put_is_201_then_200_and_only_new_content_is_a_new_version() {
    let (fixture, service) = (fixture(), fresh("item"));
    let id = fixture.wrote("bob", &service, "1", &activity("one"));
    let shown = fixture.demo.read("bob", "bob", "from", &format!("service={service}")).activities();
    assert_eq!((shown.len(), &shown[0]["ActivityIdentifier"]), (1, &Value::from(id.as_str())));
    let tag = |answer: &super::super::support::client::Answer| answer.header("etag").unwrap().to_owned();
    let before = fixture.request("GET", &item("bob", &service, "1"), "bob");
    assert_eq!(before.json(), shown[0], "the item equals the collection's");

    let repeated = fixture.put("bob", &service, "1", &activity("one"));
    assert_eq!((repeated.status, identifier(&repeated)), (200, id.clone()));
    assert_eq!(tag(&fixture.request("GET", &item("bob", &service, "1"), "bob")), tag(&before));

    let other = fixture.put("bob", &service, "1", &activity("two"));
    assert_eq!((other.status, identifier(&other)), (200, id));
    let after = fixture.request("GET", &item("bob", &service, "1"), "bob");
    assert_ne!(tag(&after), tag(&before));
    assert_eq!(after.json()["ReceivedDate"], before.json()["ReceivedDate"]);
    assert_eq!(fixture.titles("bob", "bob", "tofrom", &service), ["two"]);
    becomes(vec!["two".to_owned()], || fixture.titles("carol", "carol", "to", &service));
}

#[test]
fn line_separators_are_escaped_in_all_json() {
    let fixture = fixture();
    let (name, key) = fixture.new_account("separators", false);
    let target = item(&name, "Odd", "1");
    let said = "a\u{2028}b\u{2029}c";
    let body = with(activity(said), json!({ "Bookmark": { "Title": said } })).to_string();
    assert_eq!(fixture.by_key("PUT", &target, &key, JSON, body.as_bytes()).status, 201);
    let line = with(
        activity("t"),
        json!({ "SourceId": "2", "SourceService": { "Name": "Odd" }, "Visibility": said }),
    );
    let many = format!("/200909/activity/{name}/from");
    let exported = fixture.run(&["export", &name]);
    let answers = [
        fixture.by_key("GET", &target, &key, JSON, &[]),
        fixture.by_key("GET", &many, &key, JSON, &[]),
        fixture.by_key("POST", &many, &key, NDJSON, line.to_string().as_bytes()),
    ];
    for text in answers.iter().map(|answer| answer.text()).chain([exported.as_str()]) {
        assert!(!text.contains(['\u{2028}', '\u{2029}']), "{text}");
    }
    assert!(exported.contains(r"a\u2028b\u2029c"), "{exported}");
    assert_eq!(answers[1].activities()[0]["Title"], said);
}

#[test]
fn get_has_validators_and_head_has_no_body() {
    let (fixture, service) = (fixture(), fresh("item"));
    fixture.wrote("bob", &service, "1", &rich());
    let target = item("bob", &service, "1");
    for kind in FOUR {
        let headers = [("ServicePSK", fixture.demo.key("bob")), ("Accept", kind)];
        let answer = fixture.demo.client.get(&target, &headers);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)));
        assert_eq!(answer.header("cache-control"), Some("private, no-cache"));
        let tag = answer.header("etag").unwrap();
        let known = fixture.demo.client.get(&target, &[headers[0], headers[1], ("If-None-Match", tag)]);
        assert_eq!((known.status, known.header("etag"), known.body.len()), (304, Some(tag), 0));
        let head = fixture.demo.client.send("HEAD", &target, &headers, &[]);
        assert_eq!((head.status, head.header("etag"), head.body.len()), (200, Some(tag), 0));
    }
    let by_address = fixture.request("GET", &format!("{target}?format=atom"), "bob");
    assert_eq!(by_address.header("content-type"), Some("application/atom+xml"));
    let zipped = [("ServicePSK", fixture.demo.key("bob")), ("Accept", FOUR[1]), ("Accept-Encoding", "gzip")];
    assert_eq!(fixture.demo.client.get(&target, &zipped).header("content-encoding"), Some("gzip"));
    let none = [("ServicePSK", fixture.demo.key("bob")), ("Accept", "text/html")];
    assert_eq!(fixture.demo.client.get(&target, &none).status, 406);
    assert_eq!(refusal(&fixture.request("POST", &target, "bob"), "type").0, 405);
}

#[test]
fn a_read_activity_can_be_put_back_and_copied() {
    let (fixture, service) = (fixture(), fresh("Item"));
    fixture.wrote("bob", &service, "1", &rich());
    let read = |id: &str| fixture.request("GET", &item("bob", &service, id), "bob");
    let before = read("1");
    for kind in FOUR {
        // The address is case-insensitive.
        let target = item("bob", &service.to_lowercase(), "1");
        let headers = [("ServicePSK", fixture.demo.key("bob")), ("Accept", kind)];
        let got = fixture.demo.client.get(&target, &headers);
        let put = fixture.by_key("PUT", &target, fixture.demo.key("bob"), kind, &got.body);
        assert_eq!(put.status, 200, "{kind}: {}", put.text());
        assert_eq!(read("1").json(), before.json(), "{kind}: the content is unchanged");
        assert_eq!(read("1").header("etag"), before.header("etag"), "{kind}: the version is unchanged");

        let elsewhere = item("bob", &service, kind);
        let put = fixture.by_key("PUT", &elsewhere, fixture.demo.key("bob"), kind, &got.body);
        assert_eq!(put.status, 201, "{kind}: {}", put.text());
        let (mut copy, mut source) = (read(kind).json(), before.json());
        let mut own = vec!["ActivityIdentifier", "ActivityUrl", "ReceivedDate"];
        own.extend(if kind.contains("atom") { &["LikeCount"][..] } else { &[] });
        for field in own {
            copy[field].take();
            source[field].take();
        }
        assert_eq!(copy, source, "{kind}");
    }
}

#[test]
fn omitted_fields_keep_their_values() {
    let (fixture, service) = (fixture(), fresh("item"));
    let first = with(activity("one"), json!({ "Visibility": "direct", "To": ["alice"], "LikeCount": 7 }));
    let first = with(first, json!({ "PublishedDate": "2010-01-01T00:00:00Z" }));
    fixture.wrote("bob", &service, "1", &first);
    let bare = json!({ "Title": "two", "Bookmark": { "Title": "t" } });
    assert_eq!(fixture.put("bob", &service, "1", &bare).status, 200, "type and verb are unchanged");
    becomes(vec!["two".to_owned()], || fixture.titles("alice", "alice", "to", &service));
    assert_eq!(fixture.titles("carol", "bob", "from", &service), [""; 0], "still direct");
    let shown = fixture.request("GET", &item("bob", &service, "1"), "bob").json();
    assert_eq!((&shown["Category"], &shown["LikeCount"]), (&json!("BookmarkShared"), &Value::Null));
    assert_eq!(fixture.put("bob", &service, "new", &bare).status, 422, "a new activity needs them");
    let xml = "<Activity><Title>xml</Title><Bookmark><Title>t</Title></Bookmark></Activity>";
    let atom = "<entry xmlns='http://www.w3.org/2005/Atom' xmlns:a='http://activitystrea.ms/spec/1.0/'>\
                <title>atom</title><a:object><title>t</title></a:object></entry>";
    for (kind, body, title) in [(FOUR[0], xml, "xml"), (FOUR[1], atom, "atom")] {
        let put = fixture.by_key(
            "PUT",
            &item("bob", &service, "1"),
            fixture.demo.key("bob"),
            kind,
            body.as_bytes(),
        );
        assert_eq!(put.status, 200, "{kind}: {}", put.text());
        becomes(vec![title.to_owned()], || fixture.titles("alice", "alice", "to", &service));
    }

    for (field, more) in [
        ("PublishedDate", json!({ "PublishedDate": "2011-01-01T00:00:00Z" })),
        ("Verb", json!({ "Category": "BookmarkLiked" })),
        ("Type", json!({ "Category": "PhotoShared", "Photo": { "Title": "t" } })),
    ] {
        let answer = fixture.put("bob", &service, "1", &with(bare.clone(), more));
        assert_eq!(refusal(&answer, "field"), (422, field.to_owned()));
    }
    // It stays direct: if it were public, she would get it because she follows bob.
    let unaddressed = with(bare, json!({ "To": [] }));
    assert_eq!(fixture.put("bob", &service, "1", &unaddressed).status, 200);
    becomes(Vec::new(), || fixture.titles("alice", "alice", "to", &service));
}

#[test]
fn known_compound_types_are_one_word_in_every_spelling() {
    let (fixture, service) = (fixture(), fresh("item"));
    let thing = json!({ "Title": "t" });
    let albums =
        ["PhotoAlbum", "photoalbum", "photo-album", "http://activitystrea.ms/schema/1.0/photo-album"];
    let checked_in = ["CheckedIn", "checkedin", "checked-in", "checkin"];
    for (number, (kind, verb)) in albums.into_iter().zip(checked_in).enumerate() {
        let name = kind.rsplit('/').next().unwrap();
        let body = json!({ "Title": verb, "Type": kind, "Verb": verb, name: thing });
        fixture.wrote("bob", &service, &format!("words {number}"), &body);
    }
    for (number, (category, name)) in
        [("PhotoalbumCheckedin", "Photoalbum"), ("Photo-albumChecked-in", "photo-album")]
            .into_iter()
            .enumerate()
    {
        let body = json!({ "Title": category, "Category": category, name: thing });
        fixture.wrote("bob", &service, &format!("category {number}"), &body);
    }
    let hat = json!({ "Title": "hat", "Type": "top-hat", "Verb": "doff-twice", "Top-hat": thing });
    fixture.wrote("bob", &service, "hat", &hat);

    let found = |query: &str| {
        let page = fixture.demo.read("bob", "bob", "from", &format!("service={service}&{query}"));
        page.activities().iter().map(|one| one["Category"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for kind in albums.into_iter().chain(["PHOTOALBUM", "Photo-Album"]) {
        assert_eq!(found(&format!("type={kind}")), ["PhotoAlbumCheckedIn"; 6], "{kind}");
    }
    for verb in checked_in.into_iter().chain(["CHECKEDIN", "http://activitystrea.ms/schema/1.0/checkin"]) {
        assert_eq!(found(&format!("verb={verb}")), ["PhotoAlbumCheckedIn"; 6], "{verb}");
    }
    assert_eq!(found("type=Top-Hat&verb=DOFF-TWICE"), ["Top-hatDoff-twice"]);
    assert_eq!(found("type=tophat"), [""; 0], "an unknown word is stored as written");
    let atom = fixture.demo.read("bob", "bob", "from", &format!("service={service}&format=atom"));
    assert_eq!(atom.text().matches("label=\"Photo Album Checked In\"").count(), 6, "{}", atom.text());
    assert_eq!(atom.text().matches("label=\"Top hat Doff twice\"").count(), 1, "{}", atom.text());
}

#[test]
fn a_put_in_atom_keeps_likes() {
    let (fixture, service) = (fixture(), fresh("item"));
    let target = item("bob", &service, "1");
    fixture.wrote("bob", &service, "1", &with(activity("x"), json!({ "CommentCount": 3, "LikeCount": 7 })));
    let atom = fixture.request("GET", &format!("{target}?format=atom"), "bob").text().to_owned();
    let put = |text: &str| {
        let answer = fixture.by_key("PUT", &target, fixture.demo.key("bob"), FOUR[1], text.as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.text());
        let shown = fixture.request("GET", &target, "bob").json();
        (shown["CommentCount"].as_str().unwrap().to_owned(), shown["LikeCount"].as_str().unwrap().to_owned())
    };
    let counts = |comments: &str| (comments.to_owned(), "7".to_owned());
    assert_eq!(put(&atom.replace(">3</thr:total>", ">4</thr:total>")), counts("4"));
    assert_eq!(put(&atom.replace("<thr:total>3</thr:total>", "")), counts("4"));
}

/// An entry with its own summary and alternate link.
fn entry(summary: &str, object: &str) -> String {
    let schema = "http://activitystrea.ms/schema/1.0";
    format!(
        "<entry xmlns='http://www.w3.org/2005/Atom' xmlns:activity='http://activitystrea.ms/spec/1.0/'>\
         <activity:verb>{schema}/share</activity:verb><title>x</title>{summary}\
         <activity:object><activity:object-type>{schema}/bookmark</activity:object-type><title>t</title>{object}\
         </activity:object></entry>"
    )
}

const OWN: &str = "<summary type='html'>What bob says &amp;amp; means</summary>";
const ALTERNATE: &str = "<link rel='alternate' type='text/html' href='https://example.org/about'/>";
const RELATED: &str = "<link rel='related' href='https://example.org/page'/>";
const DESCRIPTION: &str = "<summary>What the page says</summary>";

#[test]
fn a_summary_and_an_alternate_link_from_atom_are_stored() {
    let (fixture, service) = (fixture(), fresh("item"));
    let target = item("bob", &service, "1");
    let put =
        |kind: &str, body: &[u8]| fixture.by_key("PUT", &target, fixture.demo.key("bob"), kind, body).status;
    let read = |format: &str| fixture.request("GET", &format!("{target}?format={format}"), "bob");
    let shows = |parts: &[&str]| {
        let atom = read("atom").text().to_owned();
        for part in parts {
            assert!(atom.contains(part), "{part}: {atom}");
        }
    };
    let own = "<summary type=\"html\">What bob says &amp;amp; means</summary>";
    let alternate = "<link rel=\"alternate\" type=\"text/html\" href=\"https://example.org/about\"/>";
    assert_eq!(put(FOUR[1], entry(OWN, &[ALTERNATE, RELATED, DESCRIPTION].concat()).as_bytes()), 201);
    shows(&[
        own,
        alternate,
        "href=\"https://example.org/page\"",
        "<summary type=\"text\">What the page says</summary>",
    ]);
    let bookmark =
        json!({ "Title": "t", "Description": "What the page says", "Url": "https://example.org/page" });
    assert_eq!(read("json").json()["Bookmark"], bookmark);

    // The result of a read can be put back in any representation, and changes nothing.
    let before = read("atom");
    for (kind, format) in FOUR.into_iter().zip(["xml", "atom", "json", "fastinfoset"]) {
        let tag = read(format).header("etag").unwrap().to_owned();
        assert_eq!(put(kind, &read(format).body), 200, "{kind}");
        assert_eq!(read(format).header("etag"), Some(tag.as_str()), "{kind}");
    }
    assert_eq!(read("atom").text(), before.text());

    // Other representations cannot express them, so they stay when other fields change.
    let other =
        json!({ "Title": "other", "Bookmark": { "Url": "https://example.org/other", "Description": "d" } });
    assert_eq!(put(JSON, other.to_string().as_bytes()), 200);
    shows(&[
        own,
        alternate,
        "rel=\"related\" href=\"https://example.org/other\"",
        ">d</summary>",
        ">other</title>",
    ]);
    let xml =
        "<Activity><Title>third</Title><Bookmark><Url>https://example.org/third</Url></Bookmark></Activity>";
    assert_eq!(put(FOUR[0], xml.as_bytes()), 200);
    shows(&[own, alternate, "rel=\"related\" href=\"https://example.org/third\""]);
    let exported = fixture.run(&["export", "bob"]);
    let line = exported.lines().find(|line| line.contains(&service)).unwrap();
    let (name, key) = fixture.new_account("summary", true);
    fixture.run_with_input(&["import", &name, "-"], line);
    let copy = fixture.by_key("GET", &format!("{}?format=atom", item(&name, &service, "1")), &key, JSON, &[]);
    assert!(copy.text().contains(own) && copy.text().contains(alternate), "{}", copy.text());

    // Atom can express them, so an entry without them removes them.
    assert_eq!(put(FOUR[1], entry("", &[RELATED, DESCRIPTION].concat()).as_bytes()), 200);
    shows(&[
        "<summary type=\"html\">What the page says</summary>",
        "<link rel=\"alternate\" type=\"text/html\" href=\"https://example.org/page\"/>",
    ]);
}

#[test]
fn a_lone_summary_is_no_description_and_a_lone_alternate_link_is_the_url() {
    let (fixture, service) = (fixture(), fresh("item"));
    let put = |id: &str, body: &str| {
        let target = item("bob", &service, id);
        let answer = fixture.by_key("PUT", &target, fixture.demo.key("bob"), FOUR[1], body.as_bytes());
        assert_eq!(answer.status, 201, "{}", answer.text());
        let read = |format: &str| fixture.request("GET", &format!("{target}?format={format}"), "bob");
        (read("atom").text().to_owned(), read("json").json()["Bookmark"].clone())
    };
    let (atom, bookmark) = put("summary", &entry(OWN, ""));
    assert_eq!(bookmark, json!({ "Title": "t" }));
    assert_eq!(atom.matches("<summary").count(), 1, "{atom}");
    assert!(!atom.contains("rel=\"related\"") && !atom.contains("text/html"), "{atom}");
    let (atom, bookmark) = put("alternate", &entry("", ALTERNATE));
    assert_eq!(bookmark, json!({ "Title": "t", "Url": "https://example.org/about" }));
    assert_eq!(atom.matches("href=\"https://example.org/about\"").count(), 2, "{atom}");

    let wrong = entry("", &[RELATED, "<link rel='alternate' href='javascript:alert(1)'/>"].concat());
    let target = item("bob", &service, "wrong");
    let answer = fixture.by_key("PUT", &target, fixture.demo.key("bob"), FOUR[1], wrong.as_bytes());
    assert_eq!(refusal(&answer, "field"), (422, "Bookmark.AlternateUrl".to_owned()));
    let long = entry(&format!("<summary>{}</summary>", "x".repeat(17_000)), "");
    let answer = fixture.by_key("PUT", &target, fixture.demo.key("bob"), FOUR[1], long.as_bytes());
    assert_eq!(refusal(&answer, "field"), (422, "EntrySummary".to_owned()));
}

#[test]
fn a_deleted_activity_is_gone_and_a_later_put_creates_a_new_one() {
    let (fixture, service) = (fixture(), fresh("item"));
    let id = fixture.wrote("bob", &service, "1", &activity("one"));
    becomes(vec!["one".to_owned()], || fixture.titles("carol", "carol", "to", &service));
    let delete = || fixture.request("DELETE", &item("bob", &service, "1"), "bob").status;
    assert_eq!(delete(), 204);
    assert_eq!(fixture.titles("bob", "bob", "from", &service), [""; 0]);
    assert_eq!(fixture.titles("carol", "carol", "to", &service), [""; 0], "immediately");
    assert_eq!(fixture.request("GET", &item("bob", &service, "1"), "bob").status, 404);
    assert_eq!(delete(), 404);
    assert_ne!(fixture.wrote("bob", &service, "1", &activity("back")), id);
    assert_eq!(fixture.titles("bob", "bob", "from", &service), ["back"]);
}

#[test]
fn user_service_and_id_come_from_the_address() {
    let (fixture, service) = (fixture(), fresh("item"));
    let lie = "018bcfe5-6800-7000-8000-000000000000";
    let body = with(
        activity("x"),
        json!({
            "ActivityIdentifier": lie, "ActivityUrl": "https://example.org/", "SourceId": "other",
            "ReceivedDate": "2001-01-01T00:00:00Z", "SourceUser": { "UserIdentifier": "alice" },
            "SourceService": { "Name": "another", "IconURL": "https://example.org/i.png" },
        }),
    );
    let id = fixture.wrote("bob", &service, "a/b c%", &body);
    assert_ne!(id, lie);
    let shown = fixture.request("GET", &item("bob", &service, "a/b c%"), "bob").json();
    assert_eq!(shown["SourceUser"]["UserIdentifier"], "bob");
    assert_eq!(shown["SourceService"]["Name"], service);
    assert_eq!(shown["SourceService"]["IconURL"], "https://example.org/i.png");
    assert!(!shown["ReceivedDate"].as_str().unwrap().starts_with("2001"));
    for other in ["other", "a", "a%2Fb c%", "A/b c%", "a/b+c%"] {
        assert_eq!(fixture.request("GET", &item("bob", &service, other), "bob").status, 404, "{other}");
    }
    let unescaped = format!("/200909/activity/bob/from/{service}/a/b");
    assert_eq!(fixture.request("PUT", &unescaped, "bob").status, 404);
    assert_eq!(fixture.by_key("PUT", &unescaped, fixture.demo.key("bob"), JSON, b"{}").status, 404);
}
