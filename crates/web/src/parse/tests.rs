//! Rules of all four formats, and the agreement of three of them.

use super::*;
use domain::ingest::RawValue;
use infoset::{FastInfosetWriter, Name, Sink};
use std::time::{Duration, Instant};

#[test]
fn media_types_select_the_format() {
    let unreadable = || Err("expected UTF-8");
    for (text, expected) in [
        ("application/json", Ok(Some(Format::Json))),
        ("Application/JSON", Ok(Some(Format::Json))),
        ("application/xml", Ok(Some(Format::Xml))),
        ("text/xml; charset=\"utf-8\"", Ok(Some(Format::Xml))),
        ("application/fastinfoset", Ok(Some(Format::FastInfoset))),
        ("application/atom+xml;type=entry", Ok(Some(Format::Atom))),
        ("application/atom+xml ; type=feed; Charset = UTF-8", Ok(Some(Format::Atom))),
        ("application/json; charset=utf8;", Ok(Some(Format::Json))),
        ("application/json;x", Ok(Some(Format::Json))),
        ("text/xml; charset=us-ascii", unreadable()),
        ("application/xml;charset='utf-8'", unreadable()),
        ("application/json;charset=iso-8859-1", unreadable()),
        ("text/plain; charset=iso-8859-1", Ok(None)),
        ("application/x-ndjson", Ok(None)),
        ("application/problem+json", Ok(None)),
        ("json", Ok(None)),
        ("", Ok(None)),
    ] {
        match (format_of_media_type(text), expected) {
            (Err(wrong), Err(part)) => assert!(wrong.to_string().contains(part), "{text}: {wrong}"),
            (form, expected) => assert_eq!(form.ok(), expected.ok(), "{text}"),
        }
    }
}

/// The same activity in the three formats with the names of the API.
fn same_activity() -> [(Format, Vec<u8>); 3] {
    let json = r#"{"Title": " R&D ", "Category": "BookmarkShared", "Verb": "share", "Type": "bookmark", "SourceId": "1",
        "SourceService": {"Name": "Delicious", "IconUrl": "i", "WebsiteURL": "w"}, "CommentsAvailable": true,
        "CommentCount": 3, "LikeCount": "7", "PublishedDate": "p", "Visibility": "direct", "To": ["bob", "carol"],
        "EntrySummary": "s",
        "Unknown": [{"Title": 1}], "ActivityUrl": "u", "SourceUser": {"UserIdentifier": "alice"},
        "Bookmark": {"Title": "t", "Description": "two\n\"lines\"", "Url": "l", "AlternateUrl": "a",
            "Thumbnail": {"Url": "x", "Height": 80, "Width": "120", "Depth": 1}}}"#;
    let xml = "<Activity xmlns:o='urn:other'><Title> R&amp;D </Title><Category>BookmarkShared</Category>
        <Verb>share</Verb><Type><!-- of the object -->book<![CDATA[mark]]></Type><SourceId>1</SourceId>
        <SourceService><Name>Delicious</Name><IconUrl>i</IconUrl><WebsiteURL>w</WebsiteURL></SourceService>
        <CommentsAvailable>true</CommentsAvailable><CommentCount>3</CommentCount><LikeCount>7</LikeCount>
        <PublishedDate>p</PublishedDate><Visibility>direct</Visibility><To>bob</To><To>carol</To>
        <EntrySummary>s</EntrySummary><Unknown><Title>1</Title><Title>1</Title></Unknown><Unknown/><o:Title>other</o:Title>
        <ActivityUrl>u</ActivityUrl><SourceUser><UserIdentifier>alice</UserIdentifier></SourceUser>
        <Bookmark><Title>t</Title><Description>two\n\"lines\"</Description><Url>l</Url><AlternateUrl>a</AlternateUrl>
            <Thumbnail><Url>x</Url><Height>80</Height><Width>120</Width><Depth>1</Depth></Thumbnail></Bookmark>
        </Activity>";
    let mut infoset = FastInfosetWriter::new();
    xml::read(xml.as_bytes(), &LIMITS, &mut infoset).unwrap();
    [(Format::Json, json.into()), (Format::Xml, xml.into()), (Format::FastInfoset, infoset.finish())]
}

#[test]
fn json_xml_and_fast_infoset_agree() {
    let [json, others @ ..] =
        same_activity().map(|(form, bytes)| (form, read_activity(&bytes, form).unwrap()));
    assert_eq!(json.1.title, RawValue::text(" R&D "), "surrounding blanks are kept");
    assert_eq!(json.1.to, Some(vec![RawValue::text("bob"), RawValue::text("carol")]));
    for (form, raw) in others {
        assert_eq!(raw, json.1, "{form:?}");
    }
}

#[test]
fn truncated_bodies_are_rejected() {
    let entry = "<entry xmlns='http://www.w3.org/2005/Atom'><title>x</title></entry>";
    for (form, bytes) in same_activity().into_iter().chain([(Format::Atom, entry.into())]) {
        assert!(read_activity(&bytes, form).is_ok());
        for end in 0..bytes.len() {
            let read = read_activity(&bytes[..end], form);
            assert!(matches!(read, Err(Unreadable::Malformed(_))), "{form:?} up to {end}");
        }
        let with_a_tail = [&bytes[..], b"x"].concat();
        assert!(read_activity(&with_a_tail, form).is_err(), "{form:?}");
        for other in Format::ALL.into_iter().filter(|other| *other != form) {
            assert!(read_activity(&bytes, other).is_err(), "{form:?} was read as {other:?}");
        }
        let long = [&bytes[..], &vec![b' '; MAX_BODY]].concat();
        assert_eq!(read_activity(&long, form), Err(Unreadable::TooLarge));
    }
}

#[test]
fn the_root_must_be_an_activity() {
    for (form, text, expected) in [
        (Format::Xml, "<Nothing/>", "expected Activity, without a namespace, at the root, not Nothing"),
        (Format::Xml, "<Activities><Activity/></Activities>", "not Activities"),
        (Format::Xml, "<Activity xmlns='urn:x'/>", "without a namespace"),
        (Format::Xml, "<activity/>", "not activity"),
        (Format::Atom, "<entry/>", "expected an Atom entry, in Atom's namespace, at the root, not entry"),
        (Format::Atom, "<feed xmlns='http://www.w3.org/2005/Atom'/>", "not feed"),
    ] {
        let message = read_activity(text.as_bytes(), form).unwrap_err().to_string();
        assert!(message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn hostile_infosets_cost_little() {
    let bomb = |write: &dyn Fn(&mut FastInfosetWriter)| {
        let mut writer = FastInfosetWriter::new();
        writer.open(Name::local("Activity"));
        write(&mut writer);
        writer.finish()
    };
    let deep = bomb(&|writer| (0..10_000).for_each(|_| writer.open(Name::local("a"))));
    let wide = bomb(&|writer| (0..30_000).for_each(|_| writer.leaf(Name::local("a"), "")));
    // The long text is in a table, and each following byte repeats it.
    let repeated = bomb(&|writer| (0..2_000).for_each(|_| writer.leaf(Name::local("a"), &"x".repeat(60))));
    for (what, bytes) in [("deep", deep), ("wide", wide), ("repeated", repeated)] {
        let start = Instant::now();
        let read = read_activity(&bytes, Format::FastInfoset);
        assert!(start.elapsed() < Duration::from_secs(5), "{what} took {:?}", start.elapsed());
        assert!(read.is_err() || what == "repeated", "{what} was accepted");
    }
}
