//! Reading and writing activities.

use super::super::operation::{Group, Operation, RequestBody, ResponseSpec, media_types};
use super::super::{Schema, parameter};
use http::Method;
use model::Format;

const ITEM: &str = "/200909/activity/{user}/from/{service}/{source}";

pub(super) fn operations() -> Vec<Operation> {
    vec![put(), read(), read_by_url(), delete(), post(), remove()]
}

fn put() -> Operation {
    let body = RequestBody {
        about: "The activity. JSON: an object. XML and Fast Infoset: the root element `Activity`. Atom: an `entry`. At \
                most 64 KiB, in UTF-8, not compressed.",
        media: media_types(&Format::ALL, "NewActivity", "NewActivity").collect(),
        required: true,
    };
    Operation::new(Method::PUT, "putActivity", ITEM, Group::Activities)
        .does(
            "Create or update an activity",
            "Records what the user did on a service. Idempotent: the same content changes nothing. Different content \
             updates the activity, which keeps its identifier, received date, published time, type and verb.",
        )
        .sends(body)
        .responds(ResponseSpec::new(201, "The activity was created and is durable.").headers(&["Location"]))
        .responds(ResponseSpec::new(200, "The activity exists and has the content of the request.").headers(&["Location"]))
        .fails(&["forbidden", "not-found", "media-type", "unprocessable"])
}

fn read() -> Operation {
    Operation::new(Method::GET, "readActivity", ITEM, Group::Activities)
        .does("Get an activity", "For callers that may see it in the account's `from`.")
        .takes([parameter::format(&Format::ALL), parameter::if_none_match()])
        .responds(
            ResponseSpec::new(200, "The activity, in a form that can be sent back with PUT.")
                .formats(&Format::ALL, "Activity", "Activity")
                .headers(&["ETag"]),
        )
        .responds(ResponseSpec::new(304, "The activity has not changed.").headers(&["ETag"]))
        .fails(&["parameter", "not-found", "not-acceptable"])
}

fn read_by_url() -> Operation {
    Operation::new(Method::GET, "readActivityByUrl", "/activity/{activity}", Group::Activities)
        .also_a_page()
        .does(
            "Get an activity by its ActivityUrl",
            "For callers that may see the activity: its actor, its recipients, the followers that it was delivered to, \
             operators, and every caller if the actor's account and the activity are public. Without a credential, a \
             client that prefers HTML gets a web page.",
        )
        .takes([parameter::format(&Format::ALL), parameter::if_none_match()])
        .responds(
            ResponseSpec::new(200, "The activity.").formats(&Format::ALL, "Activity", "Activity").headers(&["ETag"]),
        )
        .responds(ResponseSpec::new(304, "The activity has not changed.").headers(&["ETag"]))
        .fails(&["parameter", "not-found", "not-acceptable"])
}

fn delete() -> Operation {
    Operation::new(Method::DELETE, "deleteActivity", ITEM, Group::Activities)
        .does(
            "Delete an activity",
            "Removes it from every collection immediately. A later PUT creates a new activity.",
        )
        .responds(ResponseSpec::new(204, "The activity was deleted."))
        .fails(&["forbidden", "not-found"])
}

fn post() -> Operation {
    let feed = Schema::text().about("An Atom feed whose entries have an `id` and a `service:provider`.");
    let body = RequestBody {
        about: "At most 1,000 activities and 8 MiB: one JSON object per line, or an Atom feed.",
        media: vec![("application/x-ndjson", Schema::named("BatchItem")), ("application/atom+xml", feed)],
        required: true,
    };
    Operation::new(Method::POST, "postActivities", "/200909/activity/{user}/from", Group::Activities)
        .does(
            "Create or update a batch of activities",
            "Each activity is accepted or rejected separately, in order. An invalid one does not affect the others. \
             Idempotent: the batch can safely be sent again.",
        )
        .sends(body)
        .responds(
            ResponseSpec::new(200, "One result per line, in the order of the request.")
                .media("application/x-ndjson", Schema::named("BatchLine")),
        )
        .fails(&["forbidden", "not-found", "media-type"])
        .example(
            r#"curl -H "ServicePSK: $KEY" -H "Content-Type: application/x-ndjson" --data-binary @many.ndjson "$BASE/200909/activity/alice/from""#,
        )
}

fn remove() -> Operation {
    let path = "/200909/activity/{user}/to/{activity}";
    Operation::new(Method::DELETE, "removeReceived", path, Group::Activities)
        .does(
            "Remove a received activity",
            "Removes the activity from the recipient's `to` and `tofrom`. Other collections are not affected.",
        )
        .responds(ResponseSpec::new(204, "The activity was removed from `to`."))
        .fails(&["forbidden", "not-found"])
}
