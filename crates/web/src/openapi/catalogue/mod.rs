//! Every operation, in the order in which the page shows them.

mod accounts;
mod activities;
mod callers;
mod hooks;
mod sources;
mod unread;

use super::operation::{Group, Operation, ResponseSpec};
use super::{Schema, parameter};
use http::Method;
use model::Format;

/// The formats of accounts, sources and callers: Atom has no representation of them.
const WITHOUT_ATOM: &[Format] = &[Format::Xml, Format::Json, Format::FastInfoset];

/// All operations.
pub fn operations() -> Vec<Operation> {
    let mut all = collections();
    all.extend(unread::operations());
    all.extend(activities::operations());
    all.extend(accounts::operations());
    all.extend(sources::operations());
    all.extend(hooks::operations());
    all.extend(callers::operations());
    all.extend(documentation());
    all
}

/// Reading collections, as pages and as streams.
fn collections() -> Vec<Operation> {
    vec![
        collection("readToFrom", "/200909/activity/{user}/tofrom")
            .does(
                "List activities to and from an account",
                "The `to` and `from` collections in one, each activity once. Several filters are combined with AND. To \
                 read everything, follow the `next` links. To stay up to date, poll the `updates` link, or open a \
                 stream with `Accept: text/event-stream`.",
            )
            .example(
                r#"curl -H "ServicePSK: $KEY" "$BASE/200909/activity/alice/tofrom?type=bookmark&count=4&format=json""#,
            ),
        collection("readTo", "/200909/activity/{user}/to")
            .does(
                "List activities to an account",
                "Activities addressed to the account, and activities of the accounts that it follows.",
            ),
        collection("readFrom", "/200909/activity/{user}/from")
            .does("List activities from an account", "Activities that the account performed, on all services.")
            .example(
                r#"curl -N -H "ServicePSK: $KEY" -H "Accept: text/event-stream" "$BASE/200909/activity/alice/from""#,
            ),
    ]
}

fn collection(id: &'static str, path: &'static str) -> Operation {
    let stream = Schema::text().about(
        "Events `activity` (with the JSON representation as data, on one line), `deleted` and `incomplete`; \
         on a stream of the caller's own account also `seen` without an `id`. Reconnect \
         with the `id` of the last event.",
    );
    // ActivityStreams is only in the text: generators of clients take the first media type of JSON in the alphabet.
    let page = ResponseSpec::new(200, "A page of the collection, or a live stream of it.")
        .formats(&Format::ALL, "Activities", "ActivityList")
        .media("text/event-stream", stream)
        .headers(&["ETag", "Link"]);
    Operation::new(Method::GET, id, path, Group::Collections)
        .takes(parameter::of_collections())
        .responds(page)
        .responds(ResponseSpec::new(304, "Nothing on the page has changed.").headers(&["ETag", "Link"]))
        .fails(&["parameter", "not-found", "not-acceptable", "cursor-expired", "streams", "too-broad"])
}

fn documentation() -> Vec<Operation> {
    let page = Schema::text().about("An HTML page.");
    let document = Schema::object().about("An OpenAPI document.").requires(&["openapi", "info", "paths"]);
    vec![
        Operation::new(Method::GET, "readDocument", "/openapi.json", Group::About)
            .does("Get the OpenAPI document", "This documentation as an OpenAPI 3.1 document.")
            .responds(ResponseSpec::new(200, "The document.").media("application/json", document)),
        Operation::new(Method::GET, "readProblem", "/docs/problems/{kind}", Group::About)
            .does("Get the documentation of a problem", "The `type` of a problem links to this page.")
            .responds(ResponseSpec::new(200, "The page.").media("text/html; charset=utf-8", page))
            .fails(&["not-found"]),
    ]
}
