//! A sample feed of every service, in the service's documented format, with the expected activities.

use feeds::catalogue::{self, Activity, Service};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use url::Url;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/main/samples");

pub(crate) fn documents() -> Vec<(String, Vec<u8>)> {
    let mut documents: Vec<_> = std::fs::read_dir(FOLDER)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with(".expected.json"))
        .map(|name| (name.clone(), std::fs::read(Path::new(FOLDER).join(name)).unwrap()))
        .collect();
    documents.sort();
    documents
}

fn file_of(service: &Service) -> String {
    service.name.to_lowercase().replace([' ', '.'], "-")
}

fn expected_of(stem: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{stem}.expected.json"))
}

fn shown(activity: &Activity) -> Value {
    let picture = activity.picture.as_ref();
    let picture =
        picture.map(|picture| json!({"url": picture.url, "width": picture.width, "height": picture.height}));
    json!({
        "id": activity.id,
        "title": activity.title,
        "verb": activity.verb,
        "kind": activity.kind,
        "object_title": activity.object_title,
        "object_text": activity.object_text,
        "object_url": activity.object_url,
        "picture": picture,
        "published": activity.published.map(model::Millis::zulu),
        "comments": activity.comments,
    })
}

fn activities_of(name: &str, document: &[u8]) -> Value {
    let stem = name.split('.').next().unwrap();
    let service = catalogue::services().iter().find(|service| file_of(service) == stem);
    let service = service.unwrap_or_else(|| panic!("no service for {name}"));
    let address = Url::parse(&service.site).unwrap();
    let feed = feeds::read(document, None, &address).unwrap_or_else(|error| panic!("{name}: {error}"));
    crate::check::check_feed(&feed, &address);
    feed.items.iter().map(|item| shown(&catalogue::activity(Some(service), &feed, item, "Alice"))).collect()
}

#[test]
fn every_sample_has_the_expected_activities() {
    for (name, document) in documents() {
        let stem = name.split('.').next().unwrap();
        let expected = std::fs::read(expected_of(stem)).unwrap_or_else(|error| panic!("{stem}: {error}"));
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        assert_eq!(activities_of(&name, &document), expected, "{name}");
    }
}

#[test]
fn every_service_has_a_sample() {
    let documents = documents();
    for service in catalogue::services() {
        let stem = format!("{}.", file_of(service));
        assert!(documents.iter().any(|(name, _)| name.starts_with(&stem)), "{}", service.name);
    }
}

/// For a new sample: writes the current result. Review it before you commit it.
#[test]
#[ignore = "writes into the folder of samples"]
fn write_missing_expectations() {
    for (name, document) in documents() {
        let path = expected_of(name.split('.').next().unwrap());
        if !path.exists() {
            let text = serde_json::to_string_pretty(&activities_of(&name, &document)).unwrap();
            std::fs::write(path, text + "\n").unwrap();
        }
    }
}
