//! Sources: feeds of other sites.

use super::super::operation::{Group, Operation, RequestBody, ResponseSpec, media_types};
use super::super::parameter;
use super::WITHOUT_ATOM;
use http::Method;

const SOURCES: &str = "/200909/user/{user}/sources";
const SOURCE: &str = "/200909/user/{user}/sources/{name}";

pub(super) fn operations() -> Vec<Operation> {
    vec![read_all(), preview(), read(), put(), delete()]
}

fn body(about: &'static str, schema: &str) -> RequestBody {
    RequestBody { about, media: media_types(WITHOUT_ATOM, schema, schema).collect(), required: true }
}

fn read_all() -> Operation {
    Operation::new(Method::GET, "readSources", SOURCES, Group::Sources)
        .does("List an account's sources", "All sources with their status, by name.")
        .takes([parameter::format(WITHOUT_ATOM)])
        .responds(ResponseSpec::new(200, "The sources.").formats(WITHOUT_ATOM, "Sources", "SourceList"))
        .fails(&["parameter", "not-found", "not-acceptable"])
}

fn preview() -> Operation {
    Operation::new(Method::POST, "previewSource", SOURCES, Group::Sources)
        .does(
            "Preview the activities of a feed address",
            "Finds the feed of a page and returns the newest 50 activities that a connection would import. Nothing is \
             stored. The response takes as long as the remote server does.",
        )
        .takes([parameter::format(WITHOUT_ATOM)])
        .sends(body(
            "The address. JSON: an object, optionally under `Source`. XML and Fast Infoset: the root element `Source`. At \
             most 64 KiB.",
            "SourceAddress",
        ))
        .responds(ResponseSpec::new(200, "The activities that would be imported.").formats(WITHOUT_ATOM, "Preview", "PreviewList"))
        .fails(&[
            "parameter",
            "forbidden",
            "not-found",
            "not-acceptable",
            "media-type",
            "unprocessable",
        ])
}

fn read() -> Operation {
    Operation::new(Method::GET, "readSource", SOURCE, Group::Sources)
        .does("Get a source", "The source with the result of the last poll and the time of the next one.")
        .takes([parameter::format(WITHOUT_ATOM)])
        .responds(ResponseSpec::new(200, "The source.").formats(WITHOUT_ATOM, "Source", "SourceState"))
        .fails(&["parameter", "not-found", "not-acceptable"])
}

fn put() -> Operation {
    Operation::new(Method::PUT, "putSource", SOURCE, Group::Sources)
        .does(
            "Connect, pause or resume a source",
            "Finds the feed of the address, imports its newest 50 items, and polls it for new ones. Idempotent. To pause \
             or resume an existing source, the address can be left out. The address of a source cannot be changed: \
             delete the source first.",
        )
        .sends(body(
            "The address, the paused state, or both. JSON: an object, optionally under `Source`. XML and Fast Infoset: the \
             root element `Source`. At most 64 KiB.",
            "SourceChanges",
        ))
        .responds(ResponseSpec::new(201, "The source was connected, and its items were imported.").headers(&["Location"]))
        .responds(ResponseSpec::new(200, "The source exists and has the state of the request."))
        .fails(&["forbidden", "not-found", "media-type", "unprocessable"])
}

fn delete() -> Operation {
    Operation::new(Method::DELETE, "deleteSource", SOURCE, Group::Sources)
        .does("Delete a source", "Imported activities stay, unless `activities` is `true`.")
        .takes([parameter::activities()])
        .responds(ResponseSpec::new(204, "The source was deleted."))
        .fails(&["parameter", "forbidden", "not-found"])
        .example(
            r#"curl -X DELETE -H "ServicePSK: $KEY" "$BASE/200909/user/alice/sources/blog?activities=true""#,
        )
}
