//! Examples of request and response bodies. The accounts and activities are those of the demo.

use crate::site::Site;
use serde_json::{Value, json};

/// The example bodies of an operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Examples {
    /// The body of the request, if it has one.
    pub request: Option<Value>,
    /// The body of the response, if it has one.
    pub response: Option<Value>,
}

impl Examples {
    /// The examples of this operation. The members of an example are those of its schema: a batch is one line, a form
    /// an object.
    pub fn of(operation: &str, site: &Site) -> Examples {
        Examples { request: request(operation), response: response(operation, site) }
    }
}

/// The identifier of the activity in the examples.
pub(super) const ACTIVITY: &str = "01a1dc1e-de01-7f0f-88b3-717cbb004bb1";

fn request(operation: &str) -> Option<Value> {
    let bookmark = json!({
        "Category": "BookmarkShared",
        "Title": "Alice shared a bookmark: Activity Streams",
        "Bookmark": { "Title": "Activity Streams", "Url": "https://activitystrea.ms/" },
    });
    Some(match operation {
        "putActivity" => bookmark,
        "postActivities" => json!({
            "SourceId": "1",
            "SourceService": { "Name": "Flickr" },
            "Category": "PhotoPosted",
            "Title": "Alice posted a photo: Fog on the Öresund bridge",
            "Photo": { "Title": "Fog on the Öresund bridge" },
        }),
        "putUser" => json!({ "GivenName": "Alice", "FamilyName": "Adair", "Public": true }),
        "follow" => json!({ "Service": ["Flickr"], "Verb": ["posted", "shared"] }),
        "createKey" => json!({ "Name": "phone", "Scope": "read", "ExpiresIn": 900 }),
        "markSeen" | "markSeenTo" | "markSeenFrom" => json!({ "Cursor": CURSOR }),
        "putHook" => {
            json!({ "Url": "https://example.org/hook", "Collection": "tofrom", "Type": ["photo"] })
        }
        "previewSource" | "putSource" => json!({ "Address": "https://example.org/blog" }),
        "requestToken" => json!({ "oauth_callback": "oob", "scope": "read" }),
        "accessToken" => {
            json!({ "oauth_token": "tft_9Xk2mQ7vBn4sLr8w", "oauth_verifier": "83640172" })
        }
        _ => return None,
    })
}

fn response(operation: &str, site: &Site) -> Option<Value> {
    let page = |activities: &[Value]| json!({ "Activities": { "Activity": activities } });
    let users = |users: &[Value]| json!({ "Users": { "User": users } });
    Some(match operation {
        "readToFrom" => page(&[by_bob(site), by_alice(site)]),
        "readTo" => page(&[by_bob(site)]),
        "readFrom" => page(&[by_alice(site)]),
        "readActivity" | "readActivityByUrl" => by_alice(site),
        "postActivities" => json!({ "status": 201, "ActivityUrl": activity_url(site, ACTIVITY) }),
        "readUser" => {
            let mut account = user(site, "alice", "Alice", "Adair");
            if let Value::Object(fields) = &mut account {
                fields.insert("Public".to_owned(), json!("false"));
                fields.insert("AddressableBy".to_owned(), json!("everyone"));
            }
            json!({ "User": account })
        }
        "readFollowing" => users(&[user(site, "bob", "Bob", "Bergström"), user(site, "erin", "Erin", "Ek")]),
        "readFollowers" => users(&[user(site, "alice", "Alice", "Adair")]),
        "readBlocked" | "readMuted" => users(&[json!({
            "UserIdentifier": "mallory",
            "ProfileUrl": format!("{}/user/mallory", site.base()),
        })]),
        "readKeys" => json!({ "Keys": { "Key": [key(None)] } }),
        "createKey" => json!({ "Key": key(Some("tfk_m1XgbpJ0sD4mMcQGbTJrV0Q5jhO2yWqvI8E6yX3kRnA")) }),
        "countUnread" => unread(site, "tofrom"),
        "countUnreadTo" => unread(site, "to"),
        "countUnreadFrom" => unread(site, "from"),
        "readHooks" => json!({ "Hooks": { "Hook": [hook(None)] } }),
        "readHook" => json!({ "Hook": hook(None) }),
        "putHook" => json!({ "Hook": hook(Some(SECRET)) }),
        "rotateHook" => json!({ "Hook": { "Name": "search", "Secret": SECRET } }),
        "testHook" => json!({ "Ping": { "Delivered": "true", "Status": "204" } }),
        "readSources" => json!({ "Sources": { "Source": [source()] } }),
        "readSource" => json!({ "Source": source() }),
        "previewSource" => json!({ "Preview": { "Activity": [{
            "Title": "Alice posted an article: Fog",
            "Category": "ArticlePosted",
            "Service": "example.org",
            "Url": "https://example.org/blog/fog",
            "PublishedDate": "2026-11-17T06:00:00.000+00:00",
            "SourceId": "https://example.org/blog/fog",
            "Address": "https://example.org/blog/feed.atom",
        }] } }),
        "whoAmI" => {
            json!({ "WhoAmI": { "Account": "alice", "Method": "psk", "Scopes": "read write" } })
        }
        "requestToken" | "requestTokenWithGet" => json!({
            "oauth_token": "tft_9Xk2mQ7vBn4sLr8w",
            "oauth_token_secret": "c2Vrcml0LW9mLXRoZS10b2tlbg",
            "oauth_callback_confirmed": "true",
        }),
        "accessToken" | "accessTokenWithGet" => json!({
            "oauth_token": "tfa_4Hd6pZ1yTc3eWq5u",
            "oauth_token_secret": "c2Vrcml0LW9mLWFjY2Vzcw",
        }),
        "readDocument" => json!({
            "openapi": "3.1.0",
            "info": { "title": "tofrom", "version": "200909" },
            "paths": {},
        }),
        "readProblem" => json!("<!doctype html><title>Invalid parameter</title>"),
        _ => return None,
    })
}

/// A problem: what the collections respond to `count=many`.
pub(super) fn problem(site: &Site) -> Value {
    json!({
        "type": site.problem_url("parameter"),
        "title": "Invalid parameter",
        "status": 400,
        "detail": "count: expected a whole number from 0 to 2147483647",
        "parameter": "count",
    })
}

/// The cursor in the examples.
const CURSOR: &str = "AgKXnNDoRtQkNQAAAAAAAAAAAAAAAAAAABIA1nqEhFkZAeQ";
/// The secret in the examples.
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn unread(site: &Site, collection: &str) -> Value {
    let url = format!("{}/200909/activity/alice/{collection}?cursor={CURSOR}", site.base());
    json!({ "Unread": { "Count": "17", "AtLeast": "false", "Url": url } })
}

fn hook(secret: Option<&str>) -> Value {
    let mut hook = json!({
        "Name": "search",
        "Url": "https://example.org/hook",
        "Collection": "tofrom",
        "Type": ["photo"],
        "CreatedDate": "2026-11-17T06:00:00.000+00:00",
        "LastStatus": "204",
        "LastDate": "2026-11-17T08:12:54.481+00:00",
        "Lag": "0",
        "Disabled": "false",
    });
    if let (Value::Object(fields), Some(secret)) = (&mut hook, secret) {
        for absent in ["LastStatus", "LastDate"] {
            fields.remove(absent);
        }
        fields.insert("Secret".to_owned(), json!(secret));
    }
    hook
}

fn activity_url(site: &Site, identifier: &str) -> String {
    format!("{}/activity/{identifier}", site.base())
}

fn user(site: &Site, name: &str, given: &str, family: &str) -> Value {
    json!({
        "UserIdentifier": name,
        "ProfileUrl": format!("{}/user/{name}", site.base()),
        "GivenName": given,
        "FamilyName": family,
    })
}

fn by_alice(site: &Site) -> Value {
    json!({
        "ActivityUrl": activity_url(site, ACTIVITY),
        "ActivityIdentifier": ACTIVITY,
        "ReceivedDate": "2026-11-13T13:29:37.644+00:00",
        "Category": "BookmarkShared",
        "Title": "Alice shared a bookmark: Activity Streams",
        "SourceUser": user(site, "alice", "Alice", "Adair"),
        "SourceService": {
            "Name": "Delicious",
            "IconURL": "https://pictures.demo.invalid/icon/delicious.png",
            "WebsiteURL": "https://delicious.com/",
        },
        "CommentsAvailable": "false",
        "Bookmark": {
            "Title": "Activity Streams",
            "Description": "Who did what with which thing.",
            "Url": "https://activitystrea.ms/",
        },
    })
}

fn by_bob(site: &Site) -> Value {
    let identifier = "01a1ea48-a716-783e-90b8-9414833cdd1a";
    json!({
        "ActivityUrl": activity_url(site, identifier),
        "ActivityIdentifier": identifier,
        "ReceivedDate": "2026-11-17T16:13:12.342+00:00",
        "Category": "VideoPosted",
        "Title": "Bob posted a video: How a mechanical watch works",
        "SourceUser": user(site, "bob", "Bob", "Bergström"),
        "SourceService": {
            "Name": "Vimeo",
            "IconURL": "https://pictures.demo.invalid/icon/vimeo.png",
            "WebsiteURL": "https://vimeo.com/",
        },
        "CommentsAvailable": "false",
        "Video": {
            "Title": "How a mechanical watch works",
            "Description": "Eleven minutes of very small wheels.",
            "Thumbnail": {
                "Url": "https://pictures.demo.invalid/still/6701628.png",
                "Height": "90",
                "Width": "120",
            },
            "Url": "https://vimeo.com/6701628",
        },
    })
}

fn source() -> Value {
    json!({
        "Name": "blog",
        "Address": "https://example.org/blog/feed.atom",
        "Service": "example.org",
        "Title": "Alice's blog",
        "Page": "https://example.org/blog",
        "Verified": "true",
        "Paused": "false",
        "Well": "true",
        "Health": "Checked 5 minutes ago, nothing new; next in 25 minutes.",
        "CheckedDate": "2026-11-17T16:00:00.000+00:00",
        "NextDate": "2026-11-17T16:30:00.000+00:00",
    })
}

fn key(secret: Option<&str>) -> Value {
    let mut key = json!({
        "Id": "be94dd29c62fe27e",
        "Name": "phone",
        "Scope": "read",
        "Expires": "2026-11-17T06:15:00.000+00:00",
        "CreatedDate": "2026-11-17T06:00:00.000+00:00",
    });
    if let (Value::Object(fields), Some(secret)) = (&mut key, secret) {
        fields.insert("Key".to_owned(), json!(secret));
    }
    key
}
