//! The caller's credential, and the steps of the OAuth flow.

use super::super::operation::{Group, Operation, RequestBody, ResponseSpec};
use super::super::{Schema, parameter};
use super::WITHOUT_ATOM;
use http::Method;

const FORM: &str = "application/x-www-form-urlencoded";

pub(super) fn operations() -> Vec<Operation> {
    vec![
        who_am_i(),
        end_token(),
        request_token(),
        request_token_with_get(),
        access_token(),
        access_token_with_get(),
    ]
}

fn who_am_i() -> Operation {
    Operation::new(Method::GET, "whoAmI", "/200909/whoami", Group::Caller)
        .does(
            "Get the authenticated account",
            "Accepts any credential. Only `Accept` selects the representation.",
        )
        .responds(ResponseSpec::new(200, "The caller.").formats(WITHOUT_ATOM, "WhoAmI", "Caller"))
        .fails(&["not-acceptable"])
}

fn end_token() -> Operation {
    Operation::new(Method::DELETE, "endToken", "/200909/whoami/token", Group::Caller)
        .does(
            "Revoke the access token",
            "Revokes the token that signs the request, with any scope. Cannot be used with a password or a key.",
        )
        .responds(ResponseSpec::new(204, "The token was revoked."))
        .fails(&["forbidden"])
        .example(
            r#"curl -X DELETE -H "Authorization: OAuth oauth_consumer_key=…, oauth_token=…, oauth_signature=…" "$BASE/200909/whoami/token""#,
        )
}

/// The protocol parameters, if they are not in a header.
fn protocol_parameters() -> Vec<(&'static str, Schema)> {
    let method = Schema::text().words(["HMAC-SHA1", "HMAC-SHA256", "RSA-SHA1", "PLAINTEXT"]);
    vec![
        ("oauth_consumer_key", Schema::text()),
        ("oauth_signature_method", method),
        ("oauth_signature", Schema::text()),
        ("oauth_timestamp", Schema::text().pattern("^[0-9]+$")),
        ("oauth_nonce", Schema::text()),
        ("oauth_version", Schema::text().words(["1.0"])),
    ]
}

/// A step of the OAuth flow, independent of the method.
struct OauthStep {
    path: &'static str,
    /// The parameters besides those of the protocol.
    parameters: Vec<(&'static str, Schema)>,
    response: ResponseSpec,
}

impl OauthStep {
    fn with_post(self, id: &'static str) -> Operation {
        let about = "The protocol parameters, unless they are in the `Authorization` header or in the query. At most \
                     8 KiB.";
        let form = protocol_parameters().into_iter().chain(self.parameters);
        let form = form.fold(Schema::object(), |form, (name, schema)| form.field(name, schema));
        let body = RequestBody { about, media: vec![(FORM, form)], required: false };
        Operation::new(Method::POST, id, self.path, Group::OAuth).sends(body).responds(self.response)
    }

    fn with_get(self, id: &'static str) -> Operation {
        let parameters = protocol_parameters().into_iter().chain(self.parameters);
        Operation::new(Method::GET, id, self.path, Group::OAuth)
            .takes(parameters.map(|(name, schema)| parameter::of_step(name, schema)))
            .responds(self.response)
    }
}

fn request_token_step() -> OauthStep {
    let scope = Schema::text().words(["read", "write", "read write"]).default_to("read");
    OauthStep {
        path: "/oauth/request_token",
        parameters: vec![
            ("oauth_callback", Schema::text().about("`oob`, or an address that matches the registered one.")),
            ("scope", scope.about("Signed like every parameter. `write` includes `read`.")),
        ],
        response: ResponseSpec::new(200, "A request token, form-encoded.")
            .media(FORM, Schema::named("TemporaryToken")),
    }
}

fn access_token_step() -> OauthStep {
    OauthStep {
        path: "/oauth/access_token",
        parameters: vec![
            ("oauth_token", Schema::text().about("The request token.")),
            ("oauth_verifier", Schema::text().about("The verifier from the consent page.")),
        ],
        response: ResponseSpec::new(200, "An access token, form-encoded.")
            .media(FORM, Schema::named("AccessToken")),
    }
}

fn request_token() -> Operation {
    request_token_step().with_post("requestToken").does(
        "Get a request token",
        "The first step. Requires `oauth_callback`. Then send the user to `/oauth/authorize?oauth_token=…`.",
    )
    .example(
        r#"curl -X POST -H "Authorization: OAuth oauth_consumer_key=\"$CONSUMER\", oauth_signature_method=\"PLAINTEXT\", oauth_callback=\"oob\", oauth_signature=\"$CONSUMER_SECRET%26\"" "$BASE/oauth/request_token""#,
    )
}

fn request_token_with_get() -> Operation {
    request_token_step().with_get("requestTokenWithGet").does(
        "Get a request token with GET",
        "The same, signed as a GET, as in the examples of OAuth Core 1.0. HEAD is not supported.",
    )
    .example(
        r#"curl -H "Authorization: OAuth oauth_consumer_key=\"$CONSUMER\", oauth_signature_method=\"PLAINTEXT\", oauth_callback=\"oob\", oauth_signature=\"$CONSUMER_SECRET%26\"" "$BASE/oauth/request_token""#,
    )
}

fn access_token() -> Operation {
    access_token_step().with_post("accessToken")
    .does("Exchange a request token for an access token", "The last step, after the user has approved.")
    .example(
        r#"curl -X POST -H "Authorization: OAuth oauth_consumer_key=\"$CONSUMER\", oauth_signature_method=\"PLAINTEXT\", oauth_token=\"$TOKEN\", oauth_verifier=\"$VERIFIER\", oauth_signature=\"$CONSUMER_SECRET%26$TOKEN_SECRET\"" "$BASE/oauth/access_token""#,
    )
}

fn access_token_with_get() -> Operation {
    access_token_step().with_get("accessTokenWithGet").does(
        "Exchange a request token for an access token with GET",
        "The same, signed as a GET. HEAD is not supported.",
    )
    .example(
        r#"curl -H "Authorization: OAuth oauth_consumer_key=\"$CONSUMER\", oauth_signature_method=\"PLAINTEXT\", oauth_token=\"$TOKEN\", oauth_verifier=\"$VERIFIER\", oauth_signature=\"$CONSUMER_SECRET%26$TOKEN_SECRET\"" "$BASE/oauth/access_token""#,
    )
}
