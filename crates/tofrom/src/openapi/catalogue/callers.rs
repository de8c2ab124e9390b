//! Who asks, and the steps by which an application comes to ask for somebody.

use super::super::Schema;
use super::super::operation::{Answer, Body, Group, Operation};
use super::WITHOUT_ATOM;
use http::Method;

const FORM: &str = "application/x-www-form-urlencoded";

pub(super) fn operations() -> Vec<Operation> {
    vec![who_am_i(), end_token(), request_token(), access_token()]
}

fn who_am_i() -> Operation {
    Operation::new(Method::GET, "whoAmI", "/200909/whoami", Group::Caller)
        .does(
            "Ask what a credential stands for",
            "Any credential will do. Only `Accept` chooses the representation.",
        )
        .answers(Answer::new(200, "The caller.").formats(WITHOUT_ATOM, "WhoAmI", "Caller"))
        .fails(&["not-acceptable"])
        .example(r#"curl -H "ServicePSK: $KEY" -H "Accept: application/json" "$BASE/200909/whoami""#)
}

fn end_token() -> Operation {
    Operation::new(Method::DELETE, "endToken", "/200909/whoami/token", Group::Caller)
        .does(
            "End the token that signs the request",
            "An application gives back what it was granted; any scope will do. A password or a key can't do that.",
        )
        .answers(Answer::new(204, "The token opens nothing any more."))
        .fails(&["forbidden"])
        .example(
            r#"curl -X DELETE -H "Authorization: OAuth oauth_consumer_key=…, oauth_token=…, oauth_signature=…" "$BASE/200909/whoami/token""#,
        )
}

/// The parameters of the protocol, where they come as a form.
fn protocol() -> Schema {
    let method = Schema::text().words(["HMAC-SHA1", "HMAC-SHA256", "RSA-SHA1", "PLAINTEXT"]);
    Schema::object()
        .field("oauth_consumer_key", Schema::text())
        .field("oauth_signature_method", method)
        .field("oauth_signature", Schema::text())
        .field("oauth_timestamp", Schema::text().pattern("^[0-9]+$"))
        .field("oauth_nonce", Schema::text())
        .field("oauth_version", Schema::text().words(["1.0"]))
}

fn step(id: &'static str, path: &'static str, about: &'static str, form: Schema) -> Operation {
    let body = Body { about, media: vec![(FORM, form)], needed: false };
    Operation::new(Method::POST, id, path, Group::OAuth).sends(body)
}

fn request_token() -> Operation {
    let scope = Schema::text().words(["read", "write", "read write"]).default_to("read");
    let form = protocol()
        .field("oauth_callback", Schema::text().about("`oob`, or an address like the registered one."))
        .field("scope", scope.about("Signed like any parameter; `write` includes `read`."));
    step(
        "requestToken",
        "/oauth/request_token",
        "The protocol parameters, if they are neither in the `Authorization` header nor in the query. At most 8 KiB.",
        form,
    )
    .does(
        "Ask for a temporary token",
        "The first step. `oauth_callback` is needed. Then send the person to `/oauth/authorize?oauth_token=…`.",
    )
    .answers(Answer::new(200, "A temporary token, as a form.").media(FORM, Schema::named("TemporaryToken")))
    .example(
        r#"curl -X POST -H "Authorization: OAuth oauth_consumer_key=\"$CONSUMER\", oauth_signature_method=\"PLAINTEXT\", oauth_callback=\"oob\", oauth_signature=\"$CONSUMER_SECRET%26\"" "$BASE/oauth/request_token""#,
    )
}

fn access_token() -> Operation {
    let form = protocol()
        .field("oauth_token", Schema::text().about("The temporary token."))
        .field("oauth_verifier", Schema::text().about("What the person brought back."));
    step(
        "accessToken",
        "/oauth/access_token",
        "The protocol parameters, if they are neither in the `Authorization` header nor in the query. At most 8 KiB.",
        form,
    )
    .does("Exchange a temporary token for an access token", "The last step, after the person has allowed it.")
    .answers(Answer::new(200, "An access token, as a form.").media(FORM, Schema::named("AccessToken")))
    .example(
        r#"curl -X POST -H "Authorization: OAuth oauth_consumer_key=\"$CONSUMER\", oauth_signature_method=\"PLAINTEXT\", oauth_token=\"$TOKEN\", oauth_verifier=\"$VERIFIER\", oauth_signature=\"$CONSUMER_SECRET%26$TOKEN_SECRET\"" "$BASE/oauth/access_token""#,
    )
}
