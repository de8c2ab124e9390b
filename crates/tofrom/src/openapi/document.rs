//! The OpenAPI document.

use super::operation::{Answer, Body, Group, Operation};
use super::{bodies, operations, problems, security};
use crate::site::Site;
use serde_json::{Map, Value, json};

/// The version of OpenAPI that the document speaks.
const OPENAPI: &str = "3.1.0";
/// The version of the interface, which is also in its addresses.
const INTERFACE: &str = "200909";

const ABOUT: &str = "Everything that happens to and from a user of other services, in one collection. The representation \
    is chosen by `Accept` or by `format`: XML (the default), Atom, JSON or Fast Infoset. The same addresses are live \
    streams with `Accept: text/event-stream`. Every `GET` also answers `HEAD`. A parameter that is not known is \
    ignored, an empty one is as if absent, and one that takes a single value and comes twice is refused; those of a \
    collection may also be sent as a form in the body of the GET. What goes wrong is a problem document (RFC 9457).";

/// Headers that tell something: name, whether an answer that lists it always has it, what it says.
const HEADERS: &[(&str, bool, &str)] = &[
    ("Allow", true, "The methods that the address takes."),
    ("ETag", false, "A weak tag of what is shown, for `If-None-Match`. A stream has none."),
    (
        "Link",
        false,
        "Where it goes on (RFC 8288): `self`, `first`, `next` while there is more, and of a collection `updates`, \
         which leads to whatever arrives after this page was made. A stream has none.",
    ),
    ("Location", true, "The address of what was written."),
    ("Retry-After", true, "How many seconds to wait."),
    ("WWW-Authenticate", true, "The challenges of Basic and OAuth."),
    ("X-Request-Id", false, "The request's id in the service's log; name it when you report a problem."),
];

/// The document of a service at that address.
pub fn document(site: &Site) -> Value {
    let tags: Vec<Value> = Group::ALL
        .iter()
        .map(|group| json!({ "name": group.title(), "description": group.about() }))
        .collect();
    json!({
        "openapi": OPENAPI,
        "info": { "title": "tofrom", "version": INTERFACE, "description": ABOUT },
        "servers": [{ "url": site.base() }],
        "externalDocs": { "url": format!("{}/docs", site.base()), "description": "The same for people." },
        "tags": tags,
        "paths": paths(site),
        "components": {
            "schemas": schemas(site),
            "responses": problems::responses(),
            "headers": headers(),
            "securitySchemes": security::schemes(site),
        },
    })
}

fn paths(site: &Site) -> Map<String, Value> {
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations() {
        let item = paths.entry(operation.path).or_insert_with(|| json!({}));
        let Value::Object(item) = item else { continue };
        item.insert(operation.method.as_str().to_lowercase(), said(&operation, site, false));
        if operation.has_head() {
            item.insert("head".to_owned(), said(&operation, site, true));
        }
    }
    paths
}

/// An operation; HEAD is the GET without the bodies of its answers.
fn said(operation: &Operation, site: &Site, head: bool) -> Value {
    let mut answers = Map::new();
    for one in &operation.answers {
        answers.insert(one.status.to_string(), answer(one, !head));
    }
    for (status, kinds) in problems::of(operation) {
        answers.insert(status.to_string(), problems::answer(&kinds, !head));
    }
    let parameters: Vec<Value> = operation.parameters.iter().map(|parameter| parameter.document()).collect();
    let id = if head { format!("{}Head", operation.id) } else { operation.id.to_owned() };
    let mut said = json!({
        "operationId": id,
        "tags": [operation.group.title()],
        "summary": if head { format!("{} (without the body)", operation.summary) } else { operation.summary.to_owned() },
        "description": operation.about,
        "parameters": parameters,
        "responses": answers,
        "security": security::needed(operation.access),
    });
    if let (false, Value::Object(said)) = (head, &mut said) {
        said.extend(operation.body.as_ref().map(|body| ("requestBody".to_owned(), request_body(body))));
        let sample = json!([{ "lang": "Shell", "label": "curl", "source": operation.curl(site) }]);
        said.insert("x-codeSamples".to_owned(), sample);
    }
    said
}

fn answer(answer: &Answer, with_body: bool) -> Value {
    let names = answer.headers.iter().chain(&["X-Request-Id"]);
    let headers: Map<String, Value> =
        names.map(|name| ((*name).to_owned(), problems::header(name))).collect();
    let mut said = json!({ "description": answer.about, "headers": headers });
    if let (true, false, Value::Object(said)) = (with_body, answer.media.is_empty(), &mut said) {
        said.insert("content".to_owned(), content(&answer.media));
    }
    said
}

fn request_body(body: &Body) -> Value {
    json!({ "description": body.about, "required": body.needed, "content": content(&body.media) })
}

fn content(media: &[(&'static str, super::Schema)]) -> Value {
    let one = |(name, schema): &(&str, super::Schema)| {
        ((*name).to_owned(), json!({ "schema": Value::from(schema.clone()) }))
    };
    Value::Object(media.iter().map(one).collect())
}

fn schemas(site: &Site) -> Map<String, Value> {
    let own = bodies::all().into_iter().map(|(name, schema)| (name.to_owned(), schema));
    own.chain(problems::schemas(site)).map(|(name, schema)| (name, schema.into())).collect()
}

fn headers() -> Map<String, Value> {
    let one = |(name, always, about): &(&str, bool, &str)| {
        let said = json!({ "description": about, "required": always, "schema": { "type": "string" } });
        ((*name).to_owned(), said)
    };
    HEADERS.iter().map(one).collect()
}
