//! Accounts, their keys, followers and followees.

use super::super::operation::{Group, Operation, RequestBody, ResponseSpec, media_types};
use super::super::parameter;
use super::WITHOUT_ATOM;
use http::Method;

const USER: &str = "/200909/user/{user}";
const KEYS: &str = "/200909/user/{user}/keys";
const EDGE: &str = "/200909/user/{user}/following/{other}";

pub(super) fn operations() -> Vec<Operation> {
    let mut all = accounts();
    all.extend(keys());
    all.extend(edges());
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
                 An account cannot follow itself.",
            ),
        edge(Method::DELETE, "unfollow")
            .does(
                "Unfollow an account",
                "Removes the other account's activities immediately, except those addressed to the follower.",
            ),
    ]
}
