//! Who may ask, and how that is proved.

use crate::http::Access;
use crate::site::Site;
use serde_json::{Value, json};

/// The three ways to authenticate.
pub(super) fn schemes(site: &Site) -> Value {
    let base = site.base();
    // OpenAPI knows OAuth 2 alone; but `OAuth` is a registered scheme of HTTP's Authorization, and that is what this is.
    let oauth = format!(
        "OAuth 1.0a (RFC 5849), for applications that act for somebody. `POST {base}/oauth/request_token`, then the \
         person decides at `{base}/oauth/authorize?oauth_token=…`, then `POST {base}/oauth/access_token`; every \
         request is signed with what that gives. HMAC-SHA1, HMAC-SHA256, RSA-SHA1 and PLAINTEXT are taken. The \
         parameters may also stand in the query or in a form."
    );
    json!({
        "basic": {
            "type": "http",
            "scheme": "basic",
            "description": "The account's name and password (RFC 7617, UTF-8).",
        },
        "key": {
            "type": "apiKey",
            "in": "header",
            "name": "ServicePSK",
            "description": "A pre-shared key of the account: `tfk_` and 43 characters.",
        },
        "oauth1": { "type": "http", "scheme": "OAuth", "description": oauth },
    })
}

/// What such callers have to bring: one of these.
pub(super) fn needed(access: Access) -> Value {
    match access {
        Access::Credential | Access::PageOrCredential => {
            json!([{ "key": [] }, { "basic": [] }, { "oauth1": [] }])
        }
        Access::Application => json!([{ "oauth1": [] }]),
        Access::Page | Access::Open => json!([]),
    }
}
