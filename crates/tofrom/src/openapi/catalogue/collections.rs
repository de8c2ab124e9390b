//! Reading collections, as pages and as streams.

use super::super::operation::{Group, Operation, ResponseSpec};
use super::super::{Schema, parameter};
use http::Method;
use model::Format;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        read("readToFrom", "/200909/activity/{user}/tofrom")
            .does(
                "List activities to and from an account",
                "The `to` and `from` collections in one, each activity once. Several filters are combined with AND. To \
                 read everything, follow the `next` links. To stay up to date, poll the `updates` link, or open a \
                 stream with `Accept: text/event-stream`.",
            )
            .example(
                r#"curl -H "ServicePSK: $KEY" "$BASE/200909/activity/alice/tofrom?type=bookmark&count=4&format=json""#,
            ),
        read("readTo", "/200909/activity/{user}/to")
            .does(
                "List activities to an account",
                "Activities addressed to the account, and activities of the accounts that it follows.",
            )
            .example(r#"curl -H "ServicePSK: $KEY" "$BASE/200909/activity/alice/to?format=json""#),
        read("readFrom", "/200909/activity/{user}/from")
            .does("List activities from an account", "Activities that the account performed, on all services.")
            .example(
                r#"curl -N -H "ServicePSK: $KEY" -H "Accept: text/event-stream" "$BASE/200909/activity/alice/from""#,
            ),
    ]
}

fn read(id: &'static str, path: &'static str) -> Operation {
    let stream = Schema::text().about(
        "Events `activity` (with the JSON representation as data, on one line), `deleted` and `incomplete`. Reconnect \
         with the `id` of the last event.",
    );
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
