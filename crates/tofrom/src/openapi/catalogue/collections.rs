//! Reading collections, as pages and as streams.

use super::super::operation::{Answer, Group, Operation};
use super::super::{Schema, parameter};
use http::Method;
use model::Format;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        read("readToFrom", "/200909/activity/{user}/tofrom")
            .does(
                "Read what happened to and from an account",
                "Both collections in one, each activity once. Filters are joined by AND. To read everything, follow \
                 the `next` links; to stay up to date, follow `updates`, or open it as a stream with \
                 `Accept: text/event-stream`.",
            )
            .example(
                r#"curl -H "ServicePSK: $KEY" "$BASE/200909/activity/alice/tofrom?type=bookmark&count=4&format=json""#,
            ),
        read("readTo", "/200909/activity/{user}/to")
            .does(
                "Read what reached an account",
                "What addresses the account, and what the accounts do that it follows.",
            )
            .example(r#"curl -H "ServicePSK: $KEY" "$BASE/200909/activity/alice/to?format=json""#),
        read("readFrom", "/200909/activity/{user}/from")
            .does("Read what an account did", "What the account did, on whichever service.")
            .example(
                r#"curl -N -H "ServicePSK: $KEY" -H "Accept: text/event-stream" "$BASE/200909/activity/alice/from""#,
            ),
    ]
}

fn read(id: &'static str, path: &'static str) -> Operation {
    let stream = Schema::text().about(
        "Events `activity` (its data as in JSON, on one line), `deleted` and `incomplete`. An event's `id` is where to \
         go on.",
    );
    let page = Answer::new(200, "A page of the collection, or the collection as it changes.")
        .formats(&Format::ALL, "Activities", "ActivityList")
        .media("text/event-stream", stream)
        .headers(&["ETag", "Link"]);
    Operation::new(Method::GET, id, path, Group::Collections)
        .takes(parameter::of_collections())
        .answers(page)
        .answers(Answer::new(304, "Nothing on the page has changed.").headers(&["ETag", "Link"]))
        .fails(&["parameter", "not-found", "not-acceptable", "cursor-expired", "streams", "too-broad"])
}
