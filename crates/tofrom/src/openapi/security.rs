//! The authentication schemes, and the schemes that each operation accepts.

use crate::http::Access;
use crate::site::Site;
use serde_json::{Value, json};

/// The three ways to authenticate.
pub(super) fn schemes(site: &Site) -> Value {
    let base = site.base();
    // OpenAPI has a type for OAuth 2 only, but `OAuth` is a registered HTTP authentication scheme.
    let oauth = format!(
        "OAuth 1.0a (RFC 5849), for applications that act for a user. `POST {base}/oauth/request_token`, then the user \
         approves at `{base}/oauth/authorize?oauth_token=…`, then `POST {base}/oauth/access_token`; every request is \
         signed with the access token. The signature methods are HMAC-SHA1, HMAC-SHA256, RSA-SHA1 and PLAINTEXT. The \
         parameters may also be sent in the query or in a form."
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

/// The schemes that this access accepts: one of them is required.
pub(super) fn accepted(access: Access) -> Value {
    match access {
        Access::Credential | Access::PageOrCredential => {
            json!([{ "key": [] }, { "basic": [] }, { "oauth1": [] }])
        }
        Access::Application => json!([{ "oauth1": [] }]),
        Access::Page | Access::Open => json!([]),
    }
}
