//! The description matches the routes, the parser, the problems and the formats.

use super::{Examples, Operation, ParameterLocation, document, operations, problems};
use crate::site::Site;
use crate::{Access, KINDS, ROUTES};
use model::{
    Collection, CursorKeys, FeedQuery, Filter, Format, Millis, Order, Range, RawQuery, Start, SyncToken, Uid,
};
use serde_json::Value;
use std::collections::BTreeSet;

fn site() -> Site {
    Site::new("https://feed.example:8443/social", "feed.example", CursorKeys::new(&[[1; 32]]))
}

/// Whether the route template matches a path of the document.
fn matches_route(route: &str, path: &str) -> bool {
    let (route, path): (Vec<&str>, Vec<&str>) = (route.split('/').collect(), path.split('/').collect());
    let segment = |(route, path): (&&str, &&str)| route == path || *route == "{collection}";
    route.len() == path.len() && route.iter().zip(&path).all(segment)
}

#[test]
fn every_api_route_is_described_and_no_other() {
    let operations = operations();
    let for_programs =
        |access| matches!(access, Access::Credential | Access::PageOrCredential | Access::Application);
    for route in ROUTES.iter().filter(|route| for_programs(route.access)) {
        let described: Vec<&Operation> =
            operations.iter().filter(|operation| matches_route(route.path, operation.path)).collect();
        assert!(!described.is_empty(), "{} is not described", route.path);
        assert!(described.iter().all(|operation| operation.access == route.access), "{}", route.path);
    }
    for operation in &operations {
        let route = ROUTES.iter().find(|route| matches_route(route.path, operation.path));
        let route = route.unwrap_or_else(|| panic!("no route for {}", operation.path));
        assert_eq!(route.access, operation.access, "{}", operation.path);
    }
    let collections = [Collection::To, Collection::From, Collection::ToFrom];
    for path in collections.map(|collection| format!("/200909/activity/{{user}}/{}", collection.as_str())) {
        assert!(operations.iter().any(|operation| operation.path == path), "{path}");
    }
}

#[test]
fn every_operation_is_complete() {
    let mut ids = BTreeSet::new();
    for operation in operations() {
        let id = operation.id;
        assert!(ids.insert(id), "duplicate operation id {id}");
        assert!(!operation.summary.is_empty() && !operation.about.is_empty(), "{id}");
        assert!(operation.curl(&site()).starts_with("curl "), "{id}");
        assert!(operation.curl(&site()).contains("https://feed.example:8443/social/"), "{id}");
        assert!(!operation.curl(&site()).contains(['{', '}']) || operation.body.is_some(), "{id}");
        assert!(operation.responses.iter().any(|response| response.status < 300), "{id}");
        let examples = Examples::of(id, &site());
        assert_eq!(examples.request.is_some(), operation.body.is_some(), "{id}");
        let has_body = operation.responses.iter().any(|response| !response.media.is_empty());
        assert_eq!(examples.response.is_some(), has_body, "{id}");
        let in_path =
            operation.parameters.iter().filter(|parameter| parameter.location == ParameterLocation::Path);
        assert_eq!(in_path.count(), operation.path.matches('{').count(), "{id}");
        let mut names = BTreeSet::new();
        assert!(operation.parameters.iter().all(|parameter| names.insert(parameter.name)), "{id}");
    }
}

/// A rendered query has every parameter that the parser knows.
#[test]
fn every_collection_parameter_is_described_and_no_other() {
    let words = || BTreeSet::from(["x".to_owned()]);
    let all = Range { since: Some(Millis(0)), before: Some(Millis(1)) };
    let filter = Filter { services: words(), kinds: words(), verbs: words(), received: all, published: all };
    let query = |start| FeedQuery {
        owner: Uid(1),
        collection: Collection::ToFrom,
        filter: filter.clone(),
        order: Order::Published,
        start,
        count: 7,
        format: Some(Format::Json),
    };
    let rendered = [Start::Skip(1), Start::Updates(SyncToken::default())]
        .map(|start| query(start).render(site().cursor_keys()));
    let known: BTreeSet<&str> =
        rendered.iter().flat_map(|text| text.split('&')).filter_map(|pair| pair.split('=').next()).collect();
    for operation in operations().iter().filter(|operation| operation.id.starts_with("readTo")) {
        let queries =
            operation.parameters.iter().filter(|parameter| parameter.location == ParameterLocation::Query);
        assert_eq!(
            queries.map(|parameter| parameter.name).collect::<BTreeSet<_>>(),
            known,
            "{}",
            operation.id
        );
    }
    // The parser validates each of them.
    for name in known.iter().filter(|name| !["service", "type", "verb"].contains(name)) {
        let raw = RawQuery::parse(format!("{name}=?").as_bytes());
        let error = site().query(&raw, Uid(1), Collection::To).unwrap_err();
        assert_eq!(error.parameter, *name);
    }
}

#[test]
fn every_kind_of_problem_is_a_response_of_an_operation() {
    let (site, operations) = (site(), operations());
    let document = document(&site);
    for kind in KINDS {
        let response = &document["components"]["responses"][kind.slug];
        assert!(response["description"].as_str().unwrap().contains(kind.title), "{}", kind.slug);
        let own = &response["content"]["application/problem+json"]["schema"]["properties"];
        assert_eq!(own["type"]["const"], site.problem_url(kind.slug));
        assert_eq!(own["status"]["const"], kind.status());
        let has =
            |operation: &Operation| problems::of(operation).values().flatten().any(|problem| problem == kind);
        // Operations have only supported methods.
        assert_eq!(operations.iter().any(has), kind.slug != "method", "{}", kind.slug);
    }
    for operation in operations {
        assert_eq!(operation.own_problems().len(), operation.problems.len(), "{}", operation.id);
    }
}

#[test]
fn every_reference_resolves() {
    fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let document = document(&site());
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    assert!(found.len() > 50, "{found:?}");
    for reference in &found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    for section in ["schemas", "headers"] {
        for name in document["components"][section].as_object().unwrap().keys() {
            let reference = format!("#/components/{section}/{name}");
            let unused = !found.contains(reference.as_str());
            assert!(!unused, "nothing refers to {reference}");
        }
    }
}

#[test]
fn formats_match_those_of_the_model() {
    let document = document(&site());
    let content = &document["paths"]["/200909/activity/{user}/tofrom"]["get"]["responses"]["200"]["content"];
    let described: BTreeSet<&str> = content.as_object().unwrap().keys().map(String::as_str).collect();
    let formats = Format::ALL.into_iter().map(Format::media_type);
    assert_eq!(described, formats.chain(["text/event-stream"]).collect());
    let about = document["info"]["description"].as_str().unwrap();
    assert!(about.contains(Format::ActivityStreams.media_type()));
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["servers"][0]["url"], "https://feed.example:8443/social");
    assert_eq!(document["components"]["securitySchemes"]["key"]["name"], "ServicePSK");
}
