//! What an account does elsewhere.

use super::super::operation::{Answer, Body, Group, Operation, represented};
use super::super::parameter;
use super::WITHOUT_ATOM;
use http::Method;

const ALL: &str = "/200909/user/{user}/sources";
const ONE: &str = "/200909/user/{user}/sources/{name}";

pub(super) fn operations() -> Vec<Operation> {
    vec![read_all(), preview(), read(), put(), delete()]
}

fn body(about: &'static str, schema: &str) -> Body {
    Body { about, media: represented(WITHOUT_ATOM, schema, schema).collect(), needed: true }
}

fn read_all() -> Operation {
    Operation::new(Method::GET, "readSources", ALL, Group::Sources)
        .does("Read the sources of an account", "All of them, by name, each with how it is.")
        .takes([parameter::format(WITHOUT_ATOM)])
        .answers(Answer::new(200, "The sources.").formats(WITHOUT_ATOM, "Sources", "SourceList"))
        .fails(&["parameter", "not-found", "not-acceptable"])
        .example(r#"curl -H "ServicePSK: $KEY" "$BASE/200909/user/alice/sources?format=json""#)
}

fn preview() -> Operation {
    Operation::new(Method::POST, "previewSource", ALL, Group::Sources)
        .does(
            "Look what an address would bring",
            "Finds the feed of a page, and tells the newest 50 activities that a connection would bring. Nothing is \
             kept. The service's answer takes as long as that of the server that it asks.",
        )
        .takes([parameter::format(WITHOUT_ATOM)])
        .sends(body(
            "The address: a bare object in JSON, or under `Source`; `Source` at the root in XML and Fast Infoset. At \
             most 64 KiB.",
            "SourceAddress",
        ))
        .answers(Answer::new(200, "What would come in.").formats(WITHOUT_ATOM, "Preview", "PreviewList"))
        .fails(&[
            "parameter",
            "forbidden",
            "not-found",
            "not-acceptable",
            "media-type",
            "unprocessable",
        ])
        .example(
            r#"curl -H "ServicePSK: $KEY" -H "Content-Type: application/json" -d '{"Address": "https://example.org/blog"}' "$BASE/200909/user/alice/sources?format=json""#,
        )
}

fn read() -> Operation {
    Operation::new(Method::GET, "readSource", ONE, Group::Sources)
        .does(
            "Read how a source is",
            "When it was last looked at, what came of it, and when it is looked at next.",
        )
        .takes([parameter::format(WITHOUT_ATOM)])
        .answers(Answer::new(200, "The source.").formats(WITHOUT_ATOM, "Source", "SourceState"))
        .fails(&["parameter", "not-found", "not-acceptable"])
        .example(r#"curl -H "ServicePSK: $KEY" "$BASE/200909/user/alice/sources/blog?format=json""#)
}

fn put() -> Operation {
    Operation::new(Method::PUT, "putSource", ONE, Group::Sources)
        .does(
            "Connect an account to a source, or pause it",
            "Finds the feed of the address and brings the newest 50 of what is there; what is new follows by itself. \
             The same again changes nothing. A source that is there can be paused without naming its address; to \
             another address it is not changed: remove it first.",
        )
        .sends(body(
            "The address, whether it is paused, or both: a bare object in JSON, or under `Source`; `Source` at the \
             root in XML and Fast Infoset. At most 64 KiB.",
            "SourceChanges",
        ))
        .answers(Answer::new(201, "It is connected, and brought what was there.").headers(&["Location"]))
        .answers(Answer::new(200, "It was there, and is now as it was sent."))
        .fails(&["forbidden", "not-found", "media-type", "unprocessable"])
        .example(
            r#"curl -X PUT -H "ServicePSK: $KEY" -H "Content-Type: application/json" -d '{"Address": "https://example.org/blog"}' "$BASE/200909/user/alice/sources/blog""#,
        )
}

fn delete() -> Operation {
    Operation::new(Method::DELETE, "deleteSource", ONE, Group::Sources)
        .does("Disconnect an account from a source", "What it brought stays, unless `activities` is `true`.")
        .takes([parameter::activities()])
        .answers(Answer::new(204, "It is gone."))
        .fails(&["parameter", "forbidden", "not-found"])
        .example(
            r#"curl -X DELETE -H "ServicePSK: $KEY" "$BASE/200909/user/alice/sources/blog?activities=true""#,
        )
}
