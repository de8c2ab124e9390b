//! Problem responses. The document defines a response for every kind of problem. Where several kinds of an operation
//! share a status, the operation lists them.

use super::{Operation, Schema, examples};
use crate::site::Site;
use crate::{Access, KINDS, Kind};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Problems that any request can cause.
const ANYWHERE: &[&str] = &["host", "uri-too-long", "headers-too-large", "unavailable", "internal"];
/// Problems that any authenticated request can cause.
const WITH_CREDENTIAL: &[&str] =
    &["body", "credentials", "oauth", "unauthorized", "stalled", "too-large", "throttled", "too-often"];

/// The members that a kind always has, besides those that every problem has.
const MEMBERS: &[(&str, &[&str])] = &[
    ("parameter", &["parameter"]),
    ("oauth", &["reason", "oauth_problem"]),
    ("unauthorized", &["reason"]),
    ("forbidden", &["reason"]),
    ("quota", &["quota"]),
    ("not-acceptable", &["offers"]),
    ("cursor-expired", &["parameter", "first"]),
    ("unprocessable", &["field"]),
];

/// The header that a kind always has.
const HEADERS: &[(&str, &str)] = &[
    ("unauthorized", "WWW-Authenticate"),
    ("method", "Allow"),
    ("throttled", "Retry-After"),
    ("too-often", "Retry-After"),
    ("streams", "Retry-After"),
    ("too-broad", "Retry-After"),
    ("unavailable", "Retry-After"),
];

/// The descriptions of additional members.
const MEMBER_DESCRIPTIONS: &[(&str, &str)] = &[
    ("parameter", "The invalid parameter."),
    ("field", "The invalid or missing field, such as `Bookmark.Url`."),
    ("reason", "Why the credential was rejected, as a code."),
    ("scope", "The required scope."),
    ("quota", "What the account has too much of."),
    ("offers", "The available media types."),
    ("accepts", "The supported media types."),
    ("first", "The page to start reading from again."),
    ("oauth_problem", "The code of the OAuth Problem Reporting extension."),
    ("method", "The method that the server saw, to compare with the signed one."),
    ("base_uri", "The address that the server saw, to compare with the signed one."),
    ("parameters", "The names of the parameters that the server saw, to compare with the signed ones."),
];

/// The kinds with these slugs.
pub(super) fn named(slugs: &[&str]) -> impl Iterator<Item = &'static Kind> {
    slugs.iter().filter_map(|slug| KINDS.iter().find(|kind| kind.slug == *slug).copied())
}

/// The problems that any operation with this access can cause.
pub(super) fn common(access: Access) -> impl Iterator<Item = &'static Kind> {
    let with_credential = if access == Access::Open { &[] } else { WITH_CREDENTIAL };
    named(with_credential).chain(named(ANYWHERE))
}

/// All problems of an operation, by status.
pub(super) fn of(operation: &Operation) -> BTreeMap<u16, Vec<&'static Kind>> {
    let mut by_status: BTreeMap<u16, Vec<&'static Kind>> = BTreeMap::new();
    for kind in operation.own_problems().into_iter().chain(common(operation.access)) {
        let kinds = by_status.entry(kind.status()).or_default();
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    by_status
}

/// The schema of all problems. It is one flat object with every member, because generators of clients make a type of
/// that, and nothing of one schema per kind. [`limits`] says more about the kinds of a response.
pub(super) fn schema(site: &Site) -> Schema {
    let address = "The address of the documentation page of this kind of problem.";
    let general = Schema::object()
        .about("A problem (RFC 9457). The last segment of `type` is its kind.")
        .example(examples::problem(site))
        .needs("type", Schema::text().format("uri").about(address))
        .needs("title", Schema::text().about("A short name of the kind of problem."))
        .needs("status", Schema::number(400, 599).about("The HTTP status."))
        .needs("detail", Schema::text().about("What was wrong with this request, and what was expected."))
        .additional(Schema::text());
    MEMBER_DESCRIPTIONS
        .iter()
        .fold(general, |schema, (name, about)| schema.field(name, Schema::text().about(about)))
}

/// What is always true of a problem of this kind.
fn limits(kind: &Kind, site: &Site) -> Schema {
    let members = MEMBERS.iter().find(|(slug, _)| *slug == kind.slug).map_or(&[][..], |(_, names)| names);
    Schema::default()
        .field("type", Schema::exactly(site.problem_url(kind.slug)))
        .field("title", Schema::exactly(kind.title))
        .field("status", Schema::exactly(kind.status()))
        .requires(members)
}

/// A problem of one of these kinds. The limits stand beside the reference, where validators apply them and generators
/// ignore them.
fn one_of(kinds: &[&'static Kind], site: &Site) -> Schema {
    let problem = Schema::named("Problem");
    match kinds {
        [kind] => problem.and(limits(kind, site)),
        several => problem.and(Schema::any(several.iter().map(|kind| limits(kind, site)))),
    }
}

/// A response for each kind.
pub(super) fn responses(site: &Site) -> Map<String, Value> {
    KINDS.iter().map(|kind| (kind.slug.to_owned(), response(&[kind], Some(site)))).collect()
}

/// The response for these kinds, which share a status: a reference if there is only one. HEAD has no body, and needs
/// no site.
pub(super) fn response_or_reference(kinds: &[&'static Kind], site: Option<&Site>) -> Value {
    match kinds {
        [kind] if site.is_some() => json!({ "$ref": format!("#/components/responses/{}", kind.slug) }),
        several => response(several, site),
    }
}

fn response(kinds: &[&'static Kind], site: Option<&Site>) -> Value {
    let titles: Vec<String> = kinds.iter().map(|kind| format!("{} (`{}`).", kind.title, kind.slug)).collect();
    let mut headers = Map::new();
    headers.insert("X-Request-Id".to_owned(), header("X-Request-Id"));
    // A header that only some of the kinds have is left out.
    let header_of = |kind: &Kind| HEADERS.iter().find(|(slug, _)| *slug == kind.slug).map(|(_, name)| *name);
    let (first, mut rest) = (kinds.first().and_then(|kind| header_of(kind)), kinds.iter().skip(1));
    if let Some(name) = first.filter(|name| rest.all(|kind| header_of(kind) == Some(name))) {
        headers.insert(name.to_owned(), header(name));
    }
    let mut response = json!({ "description": titles.join(" "), "headers": headers });
    if let (Some(site), Value::Object(response)) = (site, &mut response) {
        let xml = Schema::text().about("The same members as elements of `problem`.");
        let content = json!({
            "application/problem+json": { "schema": Value::from(one_of(kinds, site)) },
            "application/problem+xml": { "schema": Value::from(xml) },
        });
        response.insert("content".to_owned(), content);
    }
    response
}

pub(super) fn header(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}
