//! The OpenAPI document.

use super::operation::{Group, Operation, RequestBody, ResponseSpec};
use super::{bodies, operations, problems, security};
use crate::site::Site;
use serde_json::{Map, Value, json};

/// The version of OpenAPI.
const OPENAPI: &str = "3.1.0";
/// The version of the API, which is also in its paths.
const API_VERSION: &str = "200909";

const ABOUT: &str = "Activity feeds: everything that happens to and from a user of other services, in one collection. \
    `Accept` or `format` selects the representation: XML (the default), Atom, JSON or Fast Infoset. With `Accept: \
    text/event-stream` a collection is a live stream. Every `GET` also supports `HEAD`. Unknown parameters are ignored, \
    and empty ones count as absent. Sending a single-valued parameter twice is an error. The parameters of a \
    collection may also be sent as a form in the body of the GET. Errors are problem documents (RFC 9457).";

/// Response headers: name, whether a response that lists it always has it, description.
const HEADERS: &[(&str, bool, &str)] = &[
    ("Allow", true, "The supported methods."),
    ("ETag", false, "A weak entity tag, for `If-None-Match`. Streams have none."),
    (
        "Link",
        false,
        "Pagination links (RFC 8288): `self`, `first`, `next` if there are more items, and for a collection `updates`, \
         which returns everything that arrives after this page. Streams have none.",
    ),
    ("Location", true, "The address of the created or changed resource."),
    ("Retry-After", true, "The number of seconds to wait before the next request."),
    ("WWW-Authenticate", true, "The Basic and OAuth challenges."),
    ("X-Request-Id", false, "The request id in the server's log. Include it when you report a problem."),
];

/// The OpenAPI document of this site.
pub fn document(site: &Site) -> Value {
    let tags: Vec<Value> = Group::ALL
        .iter()
        .map(|group| json!({ "name": group.title(), "description": group.about() }))
        .collect();
    json!({
        "openapi": OPENAPI,
        "info": { "title": "tofrom", "version": API_VERSION, "description": ABOUT },
        "servers": [{ "url": site.base() }],
        "externalDocs": { "url": format!("{}/docs", site.base()), "description": "The documentation as a web page." },
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
        item.insert(operation.method.as_str().to_lowercase(), operation_object(&operation, site, false));
        if operation.has_head() {
            item.insert("head".to_owned(), operation_object(&operation, site, true));
        }
    }
    paths
}

/// The operation object. HEAD is the GET without response bodies.
fn operation_object(operation: &Operation, site: &Site, head: bool) -> Value {
    let mut responses = Map::new();
    for response in &operation.responses {
        responses.insert(response.status.to_string(), response_object(response, !head));
    }
    for (status, kinds) in problems::of(operation) {
        responses.insert(status.to_string(), problems::response_or_reference(&kinds, !head));
    }
    let parameters: Vec<Value> = operation.parameters.iter().map(|parameter| parameter.document()).collect();
    let id = if head { format!("{}Head", operation.id) } else { operation.id.to_owned() };
    let mut object = json!({
        "operationId": id,
        "tags": [operation.group.title()],
        "summary": if head { format!("{} (without the body)", operation.summary) } else { operation.summary.to_owned() },
        "description": operation.about,
        "parameters": parameters,
        "responses": responses,
        "security": security::accepted(operation.access),
    });
    if let (false, Value::Object(object)) = (head, &mut object) {
        object.extend(operation.body.as_ref().map(|body| ("requestBody".to_owned(), request_body(body))));
        let sample = json!([{ "lang": "Shell", "label": "curl", "source": operation.curl(site) }]);
        object.insert("x-codeSamples".to_owned(), sample);
    }
    object
}

fn response_object(response: &ResponseSpec, with_body: bool) -> Value {
    let names = response.headers.iter().chain(&["X-Request-Id"]);
    let headers: Map<String, Value> =
        names.map(|name| ((*name).to_owned(), problems::header(name))).collect();
    let mut object = json!({ "description": response.about, "headers": headers });
    if let (true, false, Value::Object(object)) = (with_body, response.media.is_empty(), &mut object) {
        object.insert("content".to_owned(), content(&response.media));
    }
    object
}

fn request_body(body: &RequestBody) -> Value {
    json!({ "description": body.about, "required": body.required, "content": content(&body.media) })
}

fn content(media: &[(&'static str, super::Schema)]) -> Value {
    let media_type = |(name, schema): &(&str, super::Schema)| {
        ((*name).to_owned(), json!({ "schema": Value::from(schema.clone()) }))
    };
    Value::Object(media.iter().map(media_type).collect())
}

fn schemas(site: &Site) -> Map<String, Value> {
    let own = bodies::all().into_iter().map(|(name, schema)| (name.to_owned(), schema));
    own.chain(problems::schemas(site)).map(|(name, schema)| (name, schema.into())).collect()
}

fn headers() -> Map<String, Value> {
    let header = |(name, always, about): &(&str, bool, &str)| {
        let object = json!({ "description": about, "required": always, "schema": { "type": "string" } });
        ((*name).to_owned(), object)
    };
    HEADERS.iter().map(header).collect()
}
