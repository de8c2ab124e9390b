//! ActivityStreams 2.0 against JSON: equal where they overlap, and the time of publication.

use super::super::support::pages::RenderedPage;
use domain::feed::Item;
use serde_json::Value;

/// Checks the page and each of its activities.
pub(super) fn assert_page(shown: &RenderedPage) {
    let page: Value = serde_json::from_slice(&shown.activity_streams).unwrap();
    let json: Value = serde_json::from_slice(&shown.json).unwrap();
    assert_eq!(page["@context"], "https://www.w3.org/ns/activitystreams");
    assert_eq!(page["type"], "OrderedCollectionPage");
    let link = |rel: &str| shown.links.iter().find(|(name, _)| *name == rel).map(|(_, href)| href.as_str());
    for (name, rel) in [("id", "self"), ("partOf", "first"), ("next", "next")] {
        assert_eq!(page[name].as_str(), link(rel), "{name}");
    }
    let (items, expected) = (page["orderedItems"].as_array().unwrap(), &json["Activities"]["Activity"]);
    let expected = expected.as_array().unwrap();
    assert_eq!(items.len(), expected.len());
    for ((found, expected), item) in items.iter().zip(expected).zip(&shown.items) {
        assert_activity(found, expected, item);
    }
}

fn assert_activity(found: &Value, expected: &Value, item: &Item) {
    let facet = &item.state.facet;
    assert_eq!(found["published"], item.state.published.zulu());
    assert_eq!(found["type"][1], facet.verb.iri());
    assert_eq!(found["object"]["type"][1], facet.kind.iri());
    let (user, service) = (&expected["SourceUser"], &expected["SourceService"]);
    let (object, counts) = (&expected[facet.kind.element()], &found["object"]);
    for (found, expected) in [
        (&found["id"], &expected["ActivityUrl"]),
        (&found["name"], &expected["Title"]),
        (&found["actor"]["preferredUsername"], &user["UserIdentifier"]),
        (&found["actor"]["url"], &user["ProfileUrl"]),
        (&found["generator"]["name"], &service["Name"]),
        (&found["generator"]["url"], &service["WebsiteURL"]),
        (&found["generator"]["icon"]["url"], &service["IconURL"]),
        (&found["object"]["name"], &object["Title"]),
        (&found["object"]["content"], &object["Description"]),
        (&found["object"]["url"], &object["Url"]),
        (&found["object"]["image"]["url"], &object["Thumbnail"]["Url"]),
    ] {
        assert_eq!(found, expected);
    }
    for (found, expected) in [
        (&counts["replies"]["totalItems"], &expected["CommentCount"]),
        (&counts["likes"]["totalItems"], &expected["LikeCount"]),
        (&counts["image"]["width"], &object["Thumbnail"]["Width"]),
        (&counts["image"]["height"], &object["Thumbnail"]["Height"]),
    ] {
        assert_eq!(found.as_u64().map(|number| number.to_string()).as_deref(), expected.as_str());
    }
}
