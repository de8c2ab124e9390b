//! The OpenAPI document.

use super::operation::{Group, Operation, RequestBody, ResponseSpec};
use super::{Examples, Schema, bodies, operations, problems};
use crate::Access;
use crate::site::Site;
use model::Format;
use serde_json::{Map, Value, json};

/// The version of OpenAPI.
const OPENAPI: &str = "3.1.0";
/// The version of the API, which is also in its paths.
const API_VERSION: &str = "200909";

const ABOUT: &str = "Activity feeds: everything that happens to and from a user of other services, in one collection. \
    `Accept` or `format` selects the representation: XML (the default), Atom, JSON or Fast Infoset. With `Accept: \
    application/activity+json` a collection is a page of ActivityStreams 2.0, with `text/event-stream` a live stream. \
    Every `GET` also supports `HEAD`. Unknown parameters are ignored, and empty ones count as absent. Sending a \
    single-valued parameter twice is an error. The parameters of a collection may also be sent as a form in the body of \
    the GET. Errors are problem documents (RFC 9457).";

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
            "responses": problems::responses(site),
            "headers": headers(),
            "securitySchemes": security_schemes(site),
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
    let examples = Examples::of(operation.id, site);
    let mut responses = Map::new();
    for response in &operation.responses {
        let content = (!head && !response.media.is_empty())
            .then(|| content(&response.media, examples.response.as_ref()));
        responses.insert(response.status.to_string(), response_object(response, content));
    }
    for (status, kinds) in problems::of(operation) {
        responses
            .insert(status.to_string(), problems::response_or_reference(&kinds, (!head).then_some(site)));
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
        "security": accepted_schemes(operation.access),
    });
    if let (false, Value::Object(object)) = (head, &mut object) {
        if let Some(body) = &operation.body {
            object.insert("requestBody".to_owned(), request_body(body, examples.request.as_ref()));
        }
        let samples = operation.samples(site).into_iter().map(|sample| {
            let language = if sample.language == "curl" { "Shell" } else { sample.language };
            json!({ "lang": language, "label": sample.language, "source": sample.code })
        });
        object.insert("x-codeSamples".to_owned(), samples.collect());
    }
    object
}

fn response_object(response: &ResponseSpec, content: Option<Value>) -> Value {
    let names = response.headers.iter().chain(&["X-Request-Id"]);
    let headers: Map<String, Value> =
        names.map(|name| ((*name).to_owned(), problems::header(name))).collect();
    let mut object = json!({ "description": response.about, "headers": headers });
    if let (Some(content), Value::Object(object)) = (content, &mut object) {
        object.insert("content".to_owned(), content);
    }
    object
}

fn request_body(body: &RequestBody, example: Option<&Value>) -> Value {
    json!({ "description": body.about, "required": body.required, "content": content(&body.media, example) })
}

/// The schema of every media type. The example is in JSON, or in the only media type.
fn content(media: &[(&'static str, Schema)], example: Option<&Value>) -> Value {
    let json = media.iter().any(|(name, _)| *name == Format::Json.media_type());
    let mut content = Map::new();
    for (at, (name, schema)) in media.iter().enumerate() {
        let mut object = json!({ "schema": Value::from(schema.clone()) });
        let shown = if json { *name == Format::Json.media_type() } else { at == 0 };
        if let (true, Some(example), Value::Object(object)) = (shown, example, &mut object) {
            object.insert("example".to_owned(), example.clone());
        }
        content.insert((*name).to_owned(), object);
    }
    Value::Object(content)
}

fn schemas(site: &Site) -> Map<String, Value> {
    let all = bodies::all().into_iter().chain([("Problem", problems::schema(site))]);
    all.map(|(name, schema)| (name.to_owned(), schema.into())).collect()
}

fn headers() -> Map<String, Value> {
    let header = |(name, always, about): &(&str, bool, &str)| {
        let object = json!({ "description": about, "required": always, "schema": { "type": "string" } });
        ((*name).to_owned(), object)
    };
    HEADERS.iter().map(header).collect()
}

/// The three ways to authenticate.
fn security_schemes(site: &Site) -> Value {
    let base = site.base();
    // OpenAPI has a type for OAuth 2 only, but `OAuth` is a registered HTTP authentication scheme.
    let oauth = format!(
        "OAuth 1.0a (RFC 5849), for applications that act for a user. `POST {base}/oauth/request_token`, then the user \
         approves at `{base}/oauth/authorize?oauth_token=…`, then `POST {base}/oauth/access_token`; every request is \
         signed with the access token. The signature methods are HMAC-SHA1, HMAC-SHA256, RSA-SHA1 and PLAINTEXT. The \
         parameters may also be sent in the query or in a form."
    );
    json!({
        "basic": {
            "type": "http",
            "scheme": "basic",
            "description": "The account's name and password (RFC 7617, UTF-8).",
        },
        "key": {
            "type": "apiKey",
            "in": "header",
            "name": "ServicePSK",
            "description": "A pre-shared key of the account: `tfk_` and 43 characters.",
        },
        "oauth1": { "type": "http", "scheme": "OAuth", "description": oauth },
    })
}

/// The schemes that this access accepts: one of them is required.
fn accepted_schemes(access: Access) -> Value {
    match access {
        Access::Credential | Access::PageOrCredential => {
            json!([{ "key": [] }, { "basic": [] }, { "oauth1": [] }])
        }
        Access::Application => json!([{ "oauth1": [] }]),
        Access::Page | Access::Open => json!([]),
    }
}
