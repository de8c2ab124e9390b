//! What can go wrong. Every kind of problem is an answer of its own in the document; an operation whose status has
//! several kinds lists them.

use super::{Operation, Schema};
use crate::http::{Access, KINDS, Kind};
use crate::site::Site;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What can happen to any request.
const ANYWHERE: &[&str] = &["host", "uri-too-long", "headers-too-large", "unavailable", "internal"];
/// What can happen to any request that has to authenticate.
const WITH_CREDENTIAL: &[&str] =
    &["body", "credentials", "oauth", "unauthorized", "stalled", "too-large", "throttled", "too-often"];

/// The members that a kind has in any case, beside those that every problem has.
const MEMBERS: &[(&str, &[&str])] = &[
    ("parameter", &["parameter"]),
    ("oauth", &["reason", "oauth_problem"]),
    ("unauthorized", &["reason"]),
    ("forbidden", &["reason"]),
    ("not-acceptable", &["offers"]),
    ("cursor-expired", &["parameter", "first"]),
    ("unprocessable", &["field"]),
];

/// The header that a kind has in any case.
const HEADERS: &[(&str, &str)] = &[
    ("unauthorized", "WWW-Authenticate"),
    ("method", "Allow"),
    ("throttled", "Retry-After"),
    ("too-often", "Retry-After"),
    ("streams", "Retry-After"),
    ("too-broad", "Retry-After"),
    ("unavailable", "Retry-After"),
];

/// Further members of problems, and what they say.
const SAID: &[(&str, &str)] = &[
    ("parameter", "The parameter that can't be taken."),
    ("field", "The field that can't be taken, like `Bookmark.Url`."),
    ("reason", "Why the credential is not enough, as a word."),
    ("scope", "The scope that it takes."),
    ("offers", "The media types that there are."),
    ("accepts", "The media types that are taken."),
    ("first", "The page to read anew from."),
    ("oauth_problem", "Why a signed request is refused, in the words of OAuth's problem reporting."),
    ("method", "The method that was seen, to compare with what was signed."),
    ("base_uri", "The address that was seen, to compare with what was signed."),
    ("parameters", "The names of the parameters that were seen, to compare with what was signed."),
];

/// The kinds of these names.
pub(super) fn named(slugs: &[&str]) -> impl Iterator<Item = &'static Kind> {
    slugs.iter().filter_map(|slug| KINDS.iter().find(|kind| kind.slug == *slug).copied())
}

/// What can be wrong everywhere that such callers come to.
pub(super) fn common(access: Access) -> impl Iterator<Item = &'static Kind> {
    let with_credential = if access == Access::Open { &[] } else { WITH_CREDENTIAL };
    named(with_credential).chain(named(ANYWHERE))
}

/// All that can be wrong with an operation, by status.
pub(super) fn of(operation: &Operation) -> BTreeMap<u16, Vec<&'static Kind>> {
    let mut by_status: BTreeMap<u16, Vec<&'static Kind>> = BTreeMap::new();
    for kind in operation.own_problems().into_iter().chain(common(operation.access)) {
        let there = by_status.entry(kind.status()).or_default();
        if !there.contains(&kind) {
            there.push(kind);
        }
    }
    by_status
}

fn schema_name(kind: &Kind) -> String {
    format!("Problem.{}", kind.slug)
}

/// What a problem says: in general, and for each kind.
pub(super) fn schemas(site: &Site) -> Vec<(String, Schema)> {
    let general = Schema::object()
        .about("A problem (RFC 9457).")
        .needs("type", Schema::text().format("uri").about("The address of a page about the kind of problem."))
        .needs("title", Schema::text().about("The kind of problem in a few words."))
        .needs("status", Schema::number(400, 599).about("The status of the answer."))
        .needs("detail", Schema::text().about("What was wrong this time, and what would be right."))
        .others(Schema::text());
    let general =
        SAID.iter().fold(general, |schema, (name, words)| schema.field(name, Schema::text().about(words)));
    let special = KINDS.iter().map(|kind| {
        let members = MEMBERS.iter().find(|(slug, _)| *slug == kind.slug).map_or(&[][..], |(_, names)| names);
        let own = Schema::object()
            .field("type", Schema::exactly(site.problem_url(kind.slug)))
            .field("title", Schema::exactly(kind.title))
            .field("status", Schema::exactly(kind.status()));
        let own = if members.is_empty() { own } else { own.requires(members) };
        (schema_name(kind), Schema::all([Schema::named("Problem"), own]).about(kind.about))
    });
    [("Problem".to_owned(), general)].into_iter().chain(special).collect()
}

/// An answer for each kind.
pub(super) fn responses() -> Map<String, Value> {
    KINDS.iter().map(|kind| (kind.slug.to_owned(), response(&[kind], true))).collect()
}

/// The answer with these kinds, which have one status: by name where it is one kind. HEAD has no body.
pub(super) fn answer(kinds: &[&'static Kind], with_body: bool) -> Value {
    match kinds {
        [one] if with_body => json!({ "$ref": format!("#/components/responses/{}", one.slug) }),
        several => response(several, with_body),
    }
}

fn response(kinds: &[&'static Kind], with_body: bool) -> Value {
    let titles: Vec<String> = kinds.iter().map(|kind| format!("{} (`{}`).", kind.title, kind.slug)).collect();
    let mut headers = Map::new();
    headers.insert("X-Request-Id".to_owned(), header("X-Request-Id"));
    // A header that only some of the kinds have is not promised.
    let of = |kind: &Kind| HEADERS.iter().find(|(slug, _)| *slug == kind.slug).map(|(_, name)| *name);
    let (first, mut rest) = (kinds.first().and_then(|kind| of(kind)), kinds.iter().skip(1));
    if let Some(name) = first.filter(|name| rest.all(|kind| of(kind) == Some(name))) {
        headers.insert(name.to_owned(), header(name));
    }
    let mut response = json!({ "description": titles.join(" "), "headers": headers });
    if let (true, Value::Object(response)) = (with_body, &mut response) {
        let one_of = |kinds: &[&'static Kind]| match kinds {
            [one] => Schema::named(&schema_name(one)),
            several => Schema::any(several.iter().map(|kind| Schema::named(&schema_name(kind)))),
        };
        let xml = Schema::text().about("The same members as elements of `problem`.");
        let content = json!({
            "application/problem+json": { "schema": Value::from(one_of(kinds)) },
            "application/problem+xml": { "schema": Value::from(xml) },
        });
        response.insert("content".to_owned(), content);
    }
    response
}

pub(super) fn header(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}
