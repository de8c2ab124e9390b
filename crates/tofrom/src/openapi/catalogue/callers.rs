//! Who asks, and the steps by which an application comes to ask for somebody.

use super::super::operation::{Answer, Body, Group, Operation};
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

/// The parameters of the protocol, where they do not come in a header.
fn protocol() -> Vec<(&'static str, Schema)> {
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

/// What a step that an application takes is, whichever method it is taken with.
struct Step {
    path: &'static str,
    /// What it takes besides the parameters of the protocol.
    takes: Vec<(&'static str, Schema)>,
    answer: Answer,
}

impl Step {
    fn with_post(self, id: &'static str) -> Operation {
        let about = "The protocol parameters, if they are neither in the `Authorization` header nor in the query. At \
                     most 8 KiB.";
        let form = protocol().into_iter().chain(self.takes);
        let form = form.fold(Schema::object(), |form, (name, schema)| form.field(name, schema));
        let body = Body { about, media: vec![(FORM, form)], needed: false };
        Operation::new(Method::POST, id, self.path, Group::OAuth).sends(body).answers(self.answer)
    }

    fn with_get(self, id: &'static str) -> Operation {
        let parameters = protocol().into_iter().chain(self.takes);
        Operation::new(Method::GET, id, self.path, Group::OAuth)
            .takes(parameters.map(|(name, schema)| parameter::of_step(name, schema)))
            .answers(self.answer)
    }
}

fn first_step() -> Step {
    let scope = Schema::text().words(["read", "write", "read write"]).default_to("read");
    Step {
        path: "/oauth/request_token",
        takes: vec![
            ("oauth_callback", Schema::text().about("`oob`, or an address like the registered one.")),
            ("scope", scope.about("Signed like any parameter; `write` includes `read`.")),
        ],
        answer: Answer::new(200, "A temporary token, as a form.")
            .media(FORM, Schema::named("TemporaryToken")),
    }
}

fn last_step() -> Step {
    Step {
        path: "/oauth/access_token",
        takes: vec![
            ("oauth_token", Schema::text().about("The temporary token.")),
            ("oauth_verifier", Schema::text().about("What the person brought back.")),
        ],
        answer: Answer::new(200, "An access token, as a form.").media(FORM, Schema::named("AccessToken")),
    }
}

fn request_token() -> Operation {
    first_step().with_post("requestToken").does(
        "Ask for a temporary token",
        "The first step. `oauth_callback` is needed. Then send the person to `/oauth/authorize?oauth_token=…`.",
    )
    .example(
        r#"curl -X POST -H "Authorization: OAuth oauth_consumer_key=\"$CONSUMER\", oauth_signature_method=\"PLAINTEXT\", oauth_callback=\"oob\", oauth_signature=\"$CONSUMER_SECRET%26\"" "$BASE/oauth/request_token""#,
    )
}

fn request_token_with_get() -> Operation {
    first_step().with_get("requestTokenWithGet").does(
        "Ask for a temporary token with GET",
        "The same, signed as a GET: OAuth Core 1.0 showed the steps so. There is no HEAD here.",
    )
    .example(
        r#"curl -H "Authorization: OAuth oauth_consumer_key=\"$CONSUMER\", oauth_signature_method=\"PLAINTEXT\", oauth_callback=\"oob\", oauth_signature=\"$CONSUMER_SECRET%26\"" "$BASE/oauth/request_token""#,
    )
}

fn access_token() -> Operation {
    last_step().with_post("accessToken")
    .does("Exchange a temporary token for an access token", "The last step, after the person has allowed it.")
    .example(
        r#"curl -X POST -H "Authorization: OAuth oauth_consumer_key=\"$CONSUMER\", oauth_signature_method=\"PLAINTEXT\", oauth_token=\"$TOKEN\", oauth_verifier=\"$VERIFIER\", oauth_signature=\"$CONSUMER_SECRET%26$TOKEN_SECRET\"" "$BASE/oauth/access_token""#,
    )
}

fn access_token_with_get() -> Operation {
    last_step().with_get("accessTokenWithGet").does(
        "Exchange a temporary token for an access token with GET",
        "The same, signed as a GET. There is no HEAD here.",
    )
    .example(
        r#"curl -H "Authorization: OAuth oauth_consumer_key=\"$CONSUMER\", oauth_signature_method=\"PLAINTEXT\", oauth_token=\"$TOKEN\", oauth_verifier=\"$VERIFIER\", oauth_signature=\"$CONSUMER_SECRET%26$TOKEN_SECRET\"" "$BASE/oauth/access_token""#,
    )
}
