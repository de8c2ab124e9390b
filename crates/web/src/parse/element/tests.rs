//! Elements of an activity, and repeated ones.

use super::super::read_activity;
use super::*;
use model::Format;

fn read(inside: &str) -> Result<RawActivity, Unreadable> {
    read_activity(format!("<Activity>{inside}</Activity>").as_bytes(), Format::Xml)
}

fn text(text: &str) -> RawValue {
    RawValue::text(text)
}

#[test]
fn empty_elements_are_absent() {
    assert_eq!(read(""), Ok(RawActivity::default()));
    assert_eq!(
        read("<Title/><SourceService/><Verb></Verb>\n text <Unknown>x</Unknown>"),
        Ok(RawActivity::default())
    );
    assert_eq!(read("<Title>x<b/></Title>").unwrap().title, RawValue::Other);
    assert_eq!(read("<Title> \n</Title>").unwrap().title, text(" \n"), "blank values are validated later");
}

#[test]
fn recipients_are_read_from_to() {
    for (inside, to) in [
        ("", None),
        ("<To/>", Some(vec![RawValue::Absent])),
        ("<To>bob</To>", Some(vec![text("bob")])),
        ("<To>bob</To><Title>x</Title><To>bob</To>", Some(vec![text("bob"), text("bob")])),
        ("<To><Name>bob</Name></To>", Some(vec![RawValue::Other])),
    ] {
        assert_eq!(read(inside).unwrap().to, to, "{inside}");
    }
}

#[test]
fn groups_and_texts_in_each_others_place_are_reported() {
    let service = read("<SourceService>Delicious</SourceService>").unwrap().service;
    assert_eq!(service.name, RawValue::Other, "the error names the field");
    let service = read(
        "<SourceService><IconUrl>old</IconUrl><IconURL>new</IconURL><WebsiteUrl>w</WebsiteUrl></SourceService>",
    );
    let service = service.unwrap().service;
    assert_eq!((service.icon, service.website), (text("new"), text("w")));
    let picture = |inside: &str| {
        let raw = read(&format!("<Type>photo</Type><Photo><Title>x</Title>{inside}</Photo>")).unwrap();
        raw.objects[0].1.thumbnail.clone()
    };
    assert_eq!(picture("<Thumbnail/>"), RawThumbnail::default());
    assert_eq!(picture("<Thumbnail>x</Thumbnail>").url, RawValue::Other);
    assert_eq!(picture("<Thumbnail><Width> 3</Width></Thumbnail>").width, text(" 3"));
}

#[test]
fn the_object_is_named_by_type_or_category() {
    for (inside, expected) in [
        ("<Category>BookmarkShared</Category>", &["Bookmark"][..]),
        ("<Category>Top-hatDoff</Category>", &["Top-hat", "Top"]),
        ("<Type>bookmark</Type><Category>PhotoPosted</Category>", &["Bookmark"]),
        ("<Type>http://activitystrea.ms/schema/1.0/photo-album</Type>", &["PhotoAlbum", "Photo-Album"]),
        ("<Type>title</Type>", &["_Title"]),
        ("<Type>text</Type>", &[]),
        ("<Type><Name>photo</Name></Type>", &[]),
        (
            "<Verb>share</Verb>",
            &["Bookmark", "Photo", "PhotoAlbum", "Photo-Album", "Top-hat", "Top", "_Title"],
        ),
    ] {
        let candidates: String =
            ["Bookmark", "Photo", "PhotoAlbum", "Photo-Album", "Top-hat", "Top", "_Title"]
                .iter()
                .map(|name| format!("<{name}><Title>x</Title></{name}>"))
                .collect();
        let tags = "<Tag><Name>x</Name></Tag><Tag><Name>y</Name></Tag>";
        let raw = read(&format!("{inside}<Text>x</Text>{candidates}{tags}")).unwrap();
        let names: Vec<_> = raw.objects.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, expected, "{inside}");
    }
}

#[test]
fn repeated_fields_are_rejected() {
    let photo = "<Type>photo</Type>";
    for (inside, message) in [
        ("<Title>x</Title><Title>x</Title>", "Title appears twice in Activity"),
        ("<Title/><Title>x</Title>", "Title appears twice in Activity"),
        ("<SourceService/><SourceService/>", "SourceService appears twice in Activity"),
        (
            "<SourceService><Name>a</Name><Name>b</Name></SourceService>",
            "Name appears twice in SourceService",
        ),
        (
            "<SourceService><Name>a</Name><IconUrl/><IconUrl/></SourceService>",
            "IconUrl appears twice in SourceService",
        ),
        ("<Photo><Title>x</Title></Photo><Photo><Title>x</Title></Photo>", "Photo appears twice in Activity"),
        ("<Photo><Url>x</Url><Url>y</Url></Photo>", "Url appears twice in Photo"),
        ("<Photo><Thumbnail><Url>x</Url><Url>y</Url></Thumbnail></Photo>", "Url appears twice in Thumbnail"),
    ] {
        assert_eq!(
            read(&format!("{photo}{inside}")),
            Err(Unreadable::Malformed(message.to_owned())),
            "{inside}"
        );
    }
    for fine in [
        "<Tag>a</Tag><Tag>b</Tag>",
        "<Comment><Title>a</Title><Title>a</Title></Comment><Comment><Title>b</Title></Comment>",
        "<SourceUser/><SourceUser/><ActivityUrl/><ActivityUrl/>",
        "<x:Title xmlns:x='u'/><Title>x</Title><x:Title xmlns:x='u'/>",
    ] {
        assert!(read(&format!("{photo}{fine}")).is_ok(), "{fine}");
    }
}
