//! Writing what an account did.

use super::super::operation::{Answer, Body, Group, Operation, represented};
use super::super::{Schema, parameter};
use http::Method;
use model::Format;

const ITEM: &str = "/200909/activity/{user}/from/{service}/{source}";

pub(super) fn operations() -> Vec<Operation> {
    vec![put(), read(), read_by_url(), delete(), post(), remove()]
}

fn put() -> Operation {
    let body = Body {
        about: "One activity: a bare object in JSON, `Activity` at the root in XML and Fast Infoset, an `entry` in Atom. \
                At most 64 KiB, in UTF-8, not compressed.",
        media: represented(&Format::ALL, "NewActivity", "NewActivity").collect(),
        needed: true,
    };
    Operation::new(Method::PUT, "putActivity", ITEM, Group::Activities)
        .does(
            "Write an activity",
            "The user did this on that service. The same content again changes nothing; other content is a new version \
             of the same activity, which keeps its identifier, received date, published time, type and verb.",
        )
        .sends(body)
        .answers(Answer::new(201, "It is new, and on disk.").headers(&["Location"]))
        .answers(Answer::new(200, "It was there, and is now as it was sent.").headers(&["Location"]))
        .fails(&["forbidden", "not-found", "media-type", "unprocessable"])
        .example(
            r#"curl -X PUT -H "ServicePSK: $KEY" -H "Content-Type: application/json" -d '{"Category": "BookmarkShared", "Title": "Alice shared a page", "Bookmark": {"Url": "https://example.org/atom"}}' "$BASE/200909/activity/alice/from/Delicious/post-42""#,
        )
}

fn read() -> Operation {
    Operation::new(Method::GET, "readActivity", ITEM, Group::Activities)
        .does("Read an activity", "For whoever may see it in the account's `from`.")
        .takes([parameter::format(&Format::ALL), parameter::if_none_match()])
        .answers(
            Answer::new(200, "The activity, as it can be put back.")
                .formats(&Format::ALL, "Activity", "Activity")
                .headers(&["ETag"]),
        )
        .answers(Answer::new(304, "It has not changed.").headers(&["ETag"]))
        .fails(&["parameter", "not-found", "not-acceptable"])
        .example(
            r#"curl -H "ServicePSK: $KEY" "$BASE/200909/activity/alice/from/Delicious/post-42?format=json""#,
        )
}

fn read_by_url() -> Operation {
    Operation::new(Method::GET, "readActivityByUrl", "/activity/{activity}", Group::Activities)
        .where_a_page_is()
        .does(
            "Read an activity at its ActivityUrl",
            "For every caller that may see it: its actor, the accounts that it addresses, the followers whom it \
             reaches, operators, and everybody if the actor's account and the activity are public. Without a credential \
             and with HTML preferred it is a page for people.",
        )
        .takes([parameter::format(&Format::ALL), parameter::if_none_match()])
        .answers(
            Answer::new(200, "The activity.").formats(&Format::ALL, "Activity", "Activity").headers(&["ETag"]),
        )
        .answers(Answer::new(304, "It has not changed.").headers(&["ETag"]))
        .fails(&["parameter", "not-found", "not-acceptable"])
        .example(
            r#"curl -H "ServicePSK: $KEY" -H "Accept: application/json" "$BASE/activity/01a1dc1e-de01-7f0f-88b3-717cbb004bb1""#,
        )
}

fn delete() -> Operation {
    Operation::new(Method::DELETE, "deleteActivity", ITEM, Group::Activities)
        .does("Take an activity back", "It leaves every collection at once. A later PUT is a new activity.")
        .answers(Answer::new(204, "It is gone."))
        .fails(&["forbidden", "not-found"])
        .example(
            r#"curl -X DELETE -H "ServicePSK: $KEY" "$BASE/200909/activity/alice/from/Delicious/post-42""#,
        )
}

fn post() -> Operation {
    let feed = Schema::text().about("An Atom feed whose entries have an `id` and a `service:provider`.");
    let body = Body {
        about: "Up to 1,000 activities and 8 MiB: an object a line, or an Atom feed.",
        media: vec![("application/x-ndjson", Schema::named("BatchItem")), ("application/atom+xml", feed)],
        needed: true,
    };
    Operation::new(Method::POST, "postActivities", "/200909/activity/{user}/from", Group::Activities)
        .does(
            "Write many activities at once",
            "Each is taken or refused by itself, in their order; a bad one does not hold the others back. To send them \
             again is safe.",
        )
        .sends(body)
        .answers(
            Answer::new(200, "What became of each: a line for each, in their order.")
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
            "Remove an activity from what reaches an account",
            "The recipient does not want to be reached by it. It stays where it is otherwise.",
        )
        .answers(Answer::new(204, "It is not in `to` any more."))
        .fails(&["forbidden", "not-found"])
        .example(
            r#"curl -X DELETE -H "ServicePSK: $KEY" "$BASE/200909/activity/alice/to/01a1dc1e-de01-7f0f-88b3-717cbb004bb1""#,
        )
}
