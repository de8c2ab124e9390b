//! Reads the newest activities of an account that authorises it, with OAuth 1.0a, out of band. The crate
//! oauth1-request signs, curl sends.
//!
//! ```sh
//! BASE=https://127.0.0.1:8443 CONSUMER=tfc_… CONSUMER_SECRET=… CURL_CA_BUNDLE=ca.pem \
//!     cargo run --example client
//! ```

use std::env;
use std::error::Error;
use std::io::{BufRead, Write, stdin, stdout};
use std::num::NonZeroU64;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use oauth1_request::{Builder, Credentials, HMAC_SHA1, HmacSha1, ParameterList, to_query};
use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let setting = |name: &str| env::var(name).map_err(|_| format!("{name} is not set"));
    let base = setting("BASE")?;
    let consumer = Credentials::new(setting("CONSUMER")?, setting("CONSUMER_SECRET")?);
    let signer = Builder::new(consumer, HMAC_SHA1);

    // 1. The application requests temporary credentials.
    let mut asking = signer.clone();
    asking.callback("oob");
    let temporary = token(&send("POST", &format!("{base}/oauth/request_token"), &[], asking)?)?;

    // 2. The person decides in a browser and enters the code here.
    let mut out = stdout();
    let address = format!("{base}/oauth/authorize?oauth_token={}", temporary.identifier);
    write!(out, "Open this address, sign in and allow it:\n{address}\nThe code that is shown: ")?;
    out.flush()?;
    let mut verifier = String::new();
    stdin().lock().read_line(&mut verifier)?;

    // 3. The application exchanges both for an access token. Store its two parts for later runs.
    let mut exchanging = signer.clone();
    exchanging.token(temporary).verifier(verifier.trim());
    let access = token(&send("POST", &format!("{base}/oauth/access_token"), &[], exchanging)?)?;

    // From now on every request is signed with the access token.
    let mut signer = signer;
    signer.token(access);
    let who = send("GET", &format!("{base}/200909/whoami"), &[], signer.clone())?;
    let who: Value = serde_json::from_str(&who)?;
    let account = who.pointer("/WhoAmI/Account").and_then(Value::as_str).ok_or("whoami tells no account")?;
    let parameters = [("count", "3"), ("publishedsince", "2009-09-01T00:00:00+02:00")];
    let activities = send("GET", &format!("{base}/200909/activity/{account}/tofrom"), &parameters, signer)?;
    let activities: Value = serde_json::from_str(&activities)?;
    let activities = activities.pointer("/Activities/Activity").and_then(Value::as_array);
    for title in activities.into_iter().flatten().filter_map(|activity| activity.get("Title")?.as_str()) {
        writeln!(out, "{title}")?;
    }
    Ok(())
}

type Signer<'a> = Builder<'a, HmacSha1, String>;

/// Signs and sends a request, and returns the response body.
fn send(
    method: &str,
    address: &str,
    parameters: &[(&str, &str)],
    mut signer: Signer<'_>,
) -> Result<String, Box<dyn Error>> {
    let parameters = ParameterList::new(parameters.to_vec());
    // The crate reads the clock itself with its feature `std`.
    signer.timestamp(NonZeroU64::new(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs()));
    let authorization = signer.authorize(method, address, &parameters);
    // The headers go to curl's standard input: other users of this machine could see its arguments.
    let mut curl = Command::new("curl")
        .args(["--silent", "--show-error", "--fail-with-body", "--header", "@-", "--request", method])
        .arg(to_query(address.to_owned(), &parameters))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut headers = curl.stdin.take().ok_or("curl takes no headers")?;
    write!(headers, "Authorization: {authorization}\nAccept: application/json\n")?;
    drop(headers);
    let answer = curl.wait_with_output()?;
    let body = String::from_utf8(answer.stdout)?;
    if answer.status.success() { Ok(body) } else { Err(body.into()) }
}

/// Parses a token and its secret from a response: `oauth_token=…&oauth_token_secret=…`. Neither contains
/// escapes.
fn token(form: &str) -> Result<Credentials<String>, Box<dyn Error>> {
    let field = |name: &str| {
        let mut pairs = form.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(field, _)| *field == name).map(|(_, value)| value.to_owned())
    };
    match (field("oauth_token"), field("oauth_token_secret")) {
        (Some(token), Some(secret)) => Ok(Credentials::new(token, secret)),
        _ => Err(form.into()),
    }
}
