//! The Atom extensions, found by libxml2 with XPath: each by its namespace, with the values of JSON.

use super::super::support::folder::Folder;
use super::{Page, SET_UP, object, pages, text_at};
use model::{Kind, Verb, parse_category};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const ATOM: &str = "http://www.w3.org/2005/Atom";
const ACTIVITY: &str = "http://activitystrea.ms/spec/1.0/";
const SERVICE: &str = "http://activitystrea.ms/service-provider";
const POCO: &str = "http://portablecontacts.net/spec/1.0";
const THREAD: &str = "http://purl.org/syndication/thread/1.0";
const MEDIA: &str = "http://purl.org/syndication/atommedia";
const SCHEMA: &str = "http://activitystrea.ms/schema/1.0/";

/// Separates the values of one answer; no text of the demo contains it.
const SEAM: char = '\u{241f}';

fn xpath(file: &Path, expression: &str) -> String {
    let run = Command::new("xmllint").args(["--nonet", "--xpath", expression]).arg(file).output();
    let run = run.unwrap_or_else(|error| panic!("xmllint failed to start ({error}): {SET_UP}"));
    assert!(run.status.success(), "{expression}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap().trim_end_matches('\n').to_owned()
}

fn step(namespace: &str, local: &str) -> String {
    format!("*[local-name()='{local}' and namespace-uri()='{namespace}']")
}

/// The paths in an entry with their expected values; `None` where the path must be absent.
fn expected_values(activity: &Value) -> Vec<(String, Option<String>)> {
    let text = |path: &[&str]| text_at(activity, path).map(str::to_owned);
    let provider = step(SERVICE, "provider");
    let thing = step(ACTIVITY, "object");
    let actor = step(ACTIVITY, "actor");
    let name = format!("{actor}/{}", step(POCO, "name"));
    let (kind, verb) = words(activity);
    let user = text(&["SourceUser", "UserIdentifier"]).unwrap();
    let profile = text(&["SourceUser", "ProfileUrl"]).unwrap();
    let base = profile.strip_suffix(&format!("/user/{user}")).unwrap();
    let link = |rel: &str| format!("{}[@rel='{rel}']", step(ATOM, "link"));
    let media = |local: &str| format!("@*[local-name()='{local}' and namespace-uri()='{MEDIA}']");
    let thumbnail = |name: &str| text_at(object(activity), &["Thumbnail", name]).map(str::to_owned);
    let mut expected_values = vec![
        (step(ACTIVITY, "verb"), Some(verb.iri())),
        (format!("{provider}/{}", step(ATOM, "name")), text(&["SourceService", "Name"])),
        (format!("{provider}/{}", step(ATOM, "uri")), text(&["SourceService", "WebsiteURL"])),
        (format!("{provider}/{}", step(ATOM, "icon")), text(&["SourceService", "IconURL"])),
        (format!("{thing}/{}", step(ACTIVITY, "object-type")), Some(kind.iri())),
        (
            format!("{thing}/{}", step(ATOM, "title")),
            text_at(object(activity), &["Title"]).map(str::to_owned),
        ),
        (
            format!("{thing}/{}/@href", link("related")),
            text_at(object(activity), &["Url"]).map(str::to_owned),
        ),
        (format!("{thing}/{}/@href", link("preview")), thumbnail("Url")),
        (format!("{thing}/{}/{}", link("preview"), media("height")), thumbnail("Height")),
        (format!("{thing}/{}/{}", link("preview"), media("width")), thumbnail("Width")),
        (format!("{actor}/{}", step(ACTIVITY, "object-type")), Some(format!("{SCHEMA}person"))),
        (format!("{actor}/{}", step(ATOM, "id")), Some(user.clone())),
        (format!("{name}/{}", step(POCO, "givenName")), text(&["SourceUser", "GivenName"])),
        (format!("{name}/{}", step(POCO, "familyName")), text(&["SourceUser", "FamilyName"])),
        (step(THREAD, "total"), Some(text(&["CommentCount"]).unwrap_or("0".to_owned()))),
    ];
    for (at, size) in ["80", "120", "200"].into_iter().enumerate() {
        let avatar = format!("{actor}/{}[{}]", link("avatar"), at + 1);
        expected_values
            .push((format!("{avatar}/@href"), Some(format!("{base}/user/{user}/avatar/{size}.png"))));
        expected_values.push((format!("{avatar}/@type"), Some("image/png".to_owned())));
        expected_values.push((format!("{avatar}/{}", media("height")), Some(size.to_owned())));
        expected_values.push((format!("{avatar}/{}", media("width")), Some(size.to_owned())));
    }
    expected_values
}

/// Type and verb of a JSON activity, which only the category gives.
fn words(activity: &Value) -> (Kind, Verb) {
    let groups = activity.as_object().unwrap().iter().filter(|(_, value)| value.is_object());
    let mut kinds = groups.filter_map(|(name, _)| Kind::parse(name));
    kinds.find_map(|kind| parse_category(text_at(activity, &["Category"]).unwrap(), Some(&kind))).unwrap()
}

#[test]
fn libxml2_finds_every_extension() {
    let folder = Folder::new();
    let file = folder.path().join("page.atom");
    let mut entries = 0;
    for Page { atom, json } in pages("alice", "alice/tofrom") {
        std::fs::write(&file, &atom.body).unwrap();
        let activities = json.activities();
        let entry = step(ATOM, "entry");
        assert_eq!(
            xpath(&file, &format!("count(/{}/{entry})", step(ATOM, "feed"))),
            activities.len().to_string()
        );
        let one_each = format!(
            "count(//{entry}[count({})=1 and count({})=1])",
            step(ACTIVITY, "verb"),
            step(THREAD, "total")
        );
        assert_eq!(xpath(&file, &one_each), activities.len().to_string());
        for (at, activity) in activities.iter().enumerate() {
            // One process for each entry, not for each field: each value, and how often it occurs.
            let expected_values = expected_values(activity);
            let parts: Vec<String> = expected_values
                .iter()
                .map(|(path, _)| {
                    format!("count(/*/{entry}[{0}]/{path}),'{SEAM}',string(/*/{entry}[{0}]/{path})", at + 1)
                })
                .collect();
            let found = xpath(&file, &format!("concat({})", parts.join(&format!(",'{SEAM}',"))));
            let found: Vec<&str> = found.split(SEAM).collect();
            assert_eq!(found.len(), 2 * expected_values.len());
            for (pair, (path, value)) in found.chunks(2).zip(&expected_values) {
                let expected = value.as_ref().map_or(("0", ""), |value| ("1", value));
                assert_eq!((pair[0], pair[1]), expected, "{path} of {activity}");
            }
            entries += 1;
        }
    }
    assert!(entries >= 300, "expected at least 300 activities of alice: {entries}");
}
