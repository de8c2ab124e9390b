//! Seen positions and unread counts.

use super::super::operation::{Group, Operation, RequestBody, ResponseSpec, media_types};
use super::super::parameter;
use super::WITHOUT_ATOM;
use http::Method;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        count("countUnread", "/200909/activity/{user}/tofrom/unread").does(
            "Count unread activities to and from an account",
            "How many activities an `updates` walk from the seen position would bring, under the filters. The count is \
             exact up to 1,000. `Url` is that `updates` link. For the account itself and operators.",
        ),
        count("countUnreadTo", "/200909/activity/{user}/to/unread")
            .does("Count unread activities to an account", "The same for the `to` collection."),
        count("countUnreadFrom", "/200909/activity/{user}/from/unread")
            .does("Count unread activities from an account", "The same for the `from` collection."),
        seen("markSeen", "/200909/activity/{user}/tofrom/seen").does(
            "Mark activities to and from an account as seen",
            "Moves the seen position forward, never back. The scope `read` is enough. Streams that the account reads \
             itself send `seen`. For the account itself and operators.",
        ),
        seen("markSeenTo", "/200909/activity/{user}/to/seen")
            .does("Mark activities to an account as seen", "The same for the `to` collection."),
        seen("markSeenFrom", "/200909/activity/{user}/from/seen")
            .does("Mark activities from an account as seen", "The same for the `from` collection."),
    ]
}

fn count(id: &'static str, path: &'static str) -> Operation {
    Operation::new(Method::GET, id, path, Group::Collections)
        .takes(parameter::of_unread(WITHOUT_ATOM))
        .responds(ResponseSpec::new(200, "The count.").formats(WITHOUT_ATOM, "Unread", "UnreadCount"))
        .fails(&["parameter", "not-found", "not-acceptable", "too-broad"])
}

fn seen(id: &'static str, path: &'static str) -> Operation {
    let body = RequestBody {
        about: "The cursor of an `updates` link, or the id of an event, of this collection under any filters. Without a \
                body: everything that the collection shows now. JSON: an object. XML and Fast Infoset: the root element \
                `Seen`. At most 64 KiB.",
        media: media_types(WITHOUT_ATOM, "Seen", "Seen").collect(),
        required: false,
    };
    Operation::new(Method::PUT, id, path, Group::Collections)
        .sends(body)
        .responds(ResponseSpec::new(204, "The position is there, or further."))
        .fails(&["parameter", "not-found", "media-type", "too-broad"])
}
