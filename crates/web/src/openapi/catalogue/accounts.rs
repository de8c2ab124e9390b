//! Accounts, their keys, followers and followees, and the accounts that they block and mute.

use super::super::operation::{Group, Operation, RequestBody, ResponseSpec, media_types};
use super::super::parameter;
use super::WITHOUT_ATOM;
use http::Method;

const USER: &str = "/200909/user/{user}";
const KEYS: &str = "/200909/user/{user}/keys";
const BLOCKED: &str = "/200909/user/{user}/blocked/{other}";
const MUTED: &str = "/200909/user/{user}/muted/{other}";
const EDGE: &str = "/200909/user/{user}/following/{other}";

pub(super) fn operations() -> Vec<Operation> {
    let mut all = accounts();
    all.extend(keys());
    all.extend(edges());
    all.extend(relations());
    all
}

fn accounts() -> Vec<Operation> {
    let body = RequestBody {
        about: "The fields to change. JSON: an object, optionally under `User` as in a response. XML and Fast Infoset: \
                the root element `User`. At most 64 KiB.",
        media: media_types(WITHOUT_ATOM, "AccountChanges", "AccountChanges").collect(),
        required: true,
    };
    vec![
        Operation::new(Method::GET, "readUser", USER, Group::Accounts)
            .does("Get an account's profile", "For callers that may read the account's collections.")
            .takes([parameter::format(WITHOUT_ATOM)])
            .responds(ResponseSpec::new(200, "The account.").formats(WITHOUT_ATOM, "User", "Account"))
            .fails(&["parameter", "not-found", "not-acceptable"]),
        Operation::new(Method::PUT, "putUser", USER, Group::Accounts)
            .does(
                "Create or update an account",
                "Operators create accounts and update any account. An account can update itself. An account created \
                 by this operation has no password.",
            )
            .sends(body)
            .responds(ResponseSpec::new(201, "The account was created.").headers(&["Location"]))
            .responds(ResponseSpec::new(200, "The account was updated."))
            .fails(&["forbidden", "not-found", "name-gone", "media-type", "unprocessable"]),
        Operation::new(Method::DELETE, "deleteUser", USER, Group::Accounts)
            .does(
                "Delete an account",
                "This cannot be undone. The account's credentials, follows and activities are deleted, and its name is \
                 never reused. A token cannot delete the account that granted it.",
            )
            .responds(ResponseSpec::new(204, "The account was deleted."))
            .fails(&["forbidden", "not-found"]),
    ]
}

fn keys() -> Vec<Operation> {
    let body = RequestBody {
        about: "JSON: an object, optionally under `Key`. XML and Fast Infoset: the root element `Key`. At most 64 KiB.",
        media: media_types(WITHOUT_ATOM, "NewKey", "NewKey").collect(),
        required: true,
    };
    vec![
        Operation::new(Method::GET, "readKeys", KEYS, Group::Accounts)
            .does(
                "List an account's keys",
                "The keys that are neither revoked nor expired, without their secrets. For the account itself and \
                 operators, not for tokens.",
            )
            .takes([parameter::format(WITHOUT_ATOM)])
            .responds(ResponseSpec::new(200, "The keys.").formats(WITHOUT_ATOM, "Keys", "KeyList"))
            .fails(&["parameter", "forbidden", "not-found", "not-acceptable"]),
        Operation::new(Method::POST, "createKey", KEYS, Group::Accounts)
            .does(
                "Create a key",
                "The response is the only one that contains the key. A short-lived key with the scope `read` lets a \
                 browser or a phone read directly. A key cannot create one that expires later than itself; without an \
                 expiry the new key gets its own. Needs the scope `write`; tokens cannot create keys.",
            )
            .takes([parameter::format(WITHOUT_ATOM)])
            .sends(body)
            .responds(
                ResponseSpec::new(201, "The key was created.")
                    .formats(WITHOUT_ATOM, "CreatedKey", "KeyWithSecret")
                    .headers(&["Location"]),
            )
            .fails(&["parameter", "forbidden", "quota", "not-found", "not-acceptable", "media-type", "unprocessable"])
            .example(
                r#"curl -H "ServicePSK: $KEY" -H 'Content-Type: application/json' -d '{"Name":"phone","ExpiresIn":900}' "$BASE/200909/user/alice/keys?format=json""#,
            ),
        Operation::new(Method::DELETE, "revokeKey", "/200909/user/{user}/keys/{id}", Group::Accounts)
            .does(
                "Revoke a key",
                "It stops working within 5 seconds, and so do the keys that it created. Needs the scope `write`, but a \
                 key can always revoke itself.",
            )
            .responds(ResponseSpec::new(204, "The key was revoked."))
            .fails(&["forbidden", "not-found"]),
    ]
}

fn edges() -> Vec<Operation> {
    let list = |id, path| {
        Operation::new(Method::GET, id, path, Group::Following)
            .takes(parameter::of_lists(WITHOUT_ATOM))
            .responds(
                ResponseSpec::new(200, "A page of the list.")
                    .formats(WITHOUT_ATOM, "Users", "UserList")
                    .headers(&["Link"]),
            )
            .fails(&["parameter", "not-found", "not-acceptable"])
    };
    let edge = |method, id| {
        Operation::new(method, id, EDGE, Group::Following)
            .responds(ResponseSpec::new(204, "The change is done, or there was nothing to change."))
            .fails(&["forbidden", "not-found", "unprocessable"])
    };
    let filter = RequestBody {
        about: "An optional filter. JSON: an object, optionally under `Filter`. XML and Fast Infoset: the root element \
                `Filter` with repeated elements. At most 8 KiB.",
        media: media_types(WITHOUT_ATOM, "EdgeFilter", "EdgeFilter").collect(),
        required: false,
    };
    let visibility =
        "Only the account itself and operators see private accounts in the list. The order is not specified.";
    vec![
        list("readFollowing", "/200909/user/{user}/following")
            .does("List the accounts that an account follows", visibility),
        list("readFollowers", "/200909/user/{user}/followers")
            .does("List the followers of an account", visibility)
            .example(r#"curl -H "ServicePSK: $KEY" "$BASE/200909/user/bob/followers?format=json""#),
        edge(Method::PUT, "follow")
            .does(
                "Follow an account",
                "Adds the newest 50 public activities of the followed account, and all that are received from then on. \
                 With a filter only matching activities come through, also of those already there; what addresses the \
                 follower is not filtered. Following again replaces the filter. An account cannot follow itself, and \
                 not an account that blocks it.",
            )
            .sends(filter)
            .fails(&["forbidden", "quota", "not-found", "media-type", "unprocessable"]),
        edge(Method::DELETE, "unfollow")
            .does(
                "Unfollow an account",
                "Removes the other account's activities immediately, except those addressed to the follower.",
            ),
        change(Method::DELETE, "removeFollower", "/200909/user/{user}/followers/{other}")
            .does(
                "Remove a follower",
                "The other account no longer follows this one. It may follow again; block it to prevent that.",
            ),
    ]
}

/// A request that changes something and has no response body.
fn change(method: Method, id: &'static str, path: &'static str) -> Operation {
    Operation::new(method, id, path, Group::Following)
        .responds(ResponseSpec::new(204, "The change is done, or there was nothing to change."))
        .fails(&["forbidden", "not-found"])
}

fn relations() -> Vec<Operation> {
    let list = |id, path| {
        Operation::new(Method::GET, id, path, Group::Following)
            .takes(parameter::of_lists(WITHOUT_ATOM))
            .responds(
                ResponseSpec::new(200, "A page of the list.")
                    .formats(WITHOUT_ATOM, "Users", "UserList")
                    .headers(&["Link"]),
            )
            .fails(&["parameter", "not-found", "not-acceptable"])
    };
    let put = &["forbidden", "quota", "not-found", "unprocessable"];
    let own = "Names in order, for the account itself and operators. A name need not exist.";
    vec![
        list("readBlocked", "/200909/user/{user}/blocked").does("List blocked accounts", own),
        change(Method::PUT, "block", BLOCKED)
            .does(
                "Block an account",
                "The other account can neither follow nor address this one, and sees it as private. Both stop following \
                 each other. Activities that it addressed to this account before leave `to` until the block is lifted; \
                 those that it addresses meanwhile never arrive. Works for every well-formed name, also one that no \
                 account has.",
            )
            .fails(put),
        change(Method::DELETE, "unblock", BLOCKED)
            .does("Unblock an account", "No follow comes back."),
        list("readMuted", "/200909/user/{user}/muted").does("List muted accounts", own),
        change(Method::PUT, "mute", MUTED)
            .does(
                "Mute an account",
                "Its activities leave `to` and `tofrom`, also those that address this account. The other account does \
                 not learn of it.",
            )
            .fails(put),
        change(Method::DELETE, "unmute", MUTED)
            .does("Unmute an account", "Its activities are back. Streams send `incomplete`."),
    ]
}
