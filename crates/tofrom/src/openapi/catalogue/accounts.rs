//! Accounts, and who follows whom.

use super::super::operation::{Answer, Body, Group, Operation, represented};
use super::super::parameter;
use super::WITHOUT_ATOM;
use http::Method;

const USER: &str = "/200909/user/{user}";
const EDGE: &str = "/200909/user/{user}/following/{other}";

pub(super) fn operations() -> Vec<Operation> {
    let mut all = accounts();
    all.extend(edges());
    all
}

fn accounts() -> Vec<Operation> {
    let body = Body {
        about: "The fields to change: a bare object in JSON, or under `User`, as a read gives it; `User` at the root in \
                XML and Fast Infoset. At most 64 KiB.",
        media: represented(WITHOUT_ATOM, "AccountChanges", "AccountChanges").collect(),
        needed: true,
    };
    vec![
        Operation::new(Method::GET, "readUser", USER, Group::Accounts)
            .does("Read what is told of an account", "For whoever may read its collections.")
            .takes([parameter::format(WITHOUT_ATOM)])
            .answers(Answer::new(200, "The account.").formats(WITHOUT_ATOM, "User", "Account"))
            .fails(&["parameter", "not-found", "not-acceptable"])
            .example(r#"curl -H "ServicePSK: $KEY" "$BASE/200909/user/alice?format=json""#),
        Operation::new(Method::PUT, "putUser", USER, Group::Accounts)
            .does(
                "Make or change an account",
                "An operator makes an account or changes any; an account changes itself. One that is made like this \
                 has no password.",
            )
            .sends(body)
            .answers(Answer::new(201, "It is new.").headers(&["Location"]))
            .answers(Answer::new(200, "It was there, and is changed."))
            .fails(&["forbidden", "not-found", "name-gone", "media-type", "unprocessable"])
            .example(
                r#"curl -X PUT -H "ServicePSK: $KEY" -H "Content-Type: application/json" -d '{"GivenName": "Alice", "Public": true}' "$BASE/200909/user/alice""#,
            ),
        Operation::new(Method::DELETE, "deleteUser", USER, Group::Accounts)
            .does(
                "Remove an account for good",
                "Its credentials and edges end, its activities leave every collection, and its name is not given again. \
                 A token can't remove the account that lent it.",
            )
            .answers(Answer::new(204, "It is gone."))
            .fails(&["forbidden", "not-found"])
            .example(r#"curl -X DELETE -H "ServicePSK: $KEY" "$BASE/200909/user/alice""#),
    ]
}

fn edges() -> Vec<Operation> {
    let list = |id, path| {
        Operation::new(Method::GET, id, path, Group::Following)
            .takes(parameter::of_lists(WITHOUT_ATOM))
            .answers(
                Answer::new(200, "A page of the list.")
                    .formats(WITHOUT_ATOM, "Users", "UserList")
                    .headers(&["Link"]),
            )
            .fails(&["parameter", "not-found", "not-acceptable"])
    };
    let edge = |method, id| {
        Operation::new(method, id, EDGE, Group::Following)
            .answers(Answer::new(204, "It is so, or was already."))
            .fails(&["forbidden", "not-found", "unprocessable"])
    };
    let others = "PulledActors than the account itself and operators see only public accounts in it. The order is the service's.";
    vec![
        list("readFollowing", "/200909/user/{user}/following")
            .does("Read whom an account follows", others)
            .example(r#"curl -H "ServicePSK: $KEY" "$BASE/200909/user/alice/following?format=json""#),
        list("readFollowers", "/200909/user/{user}/followers")
            .does("Read who follows an account", others)
            .example(r#"curl -H "ServicePSK: $KEY" "$BASE/200909/user/alice/followers?format=json""#),
        edge(Method::PUT, "follow")
            .does(
                "Follow an account",
                "It brings what is received from then on, and the newest 50 public ones from before. Nobody follows \
                 themselves.",
            )
            .example(r#"curl -X PUT -H "ServicePSK: $KEY" "$BASE/200909/user/alice/following/carol""#),
        edge(Method::DELETE, "unfollow")
            .does(
                "Do not follow an account any more",
                "It takes the other's activities out at once, but for those that address the account.",
            )
            .example(r#"curl -X DELETE -H "ServicePSK: $KEY" "$BASE/200909/user/alice/following/carol""#),
    ]
}
