//! The API documentation: a reference of all operations, and a form that sends a request.

use crate::openapi::{Examples, Group, Operation, Parameter, ParameterLocation, Schema, operations};
use crate::problem::{KINDS, Kind};
use crate::site::Site;
use crate::views::frame::Frame;
use crate::views::pretty_print;
use askama::Template;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method, StatusCode};
use model::{Collection, Format, encode_component};
use serde_json::Value;

/// Bytes of a response body that are shown.
const MAX_SHOWN: usize = 64 << 10;

/// The operations of one group.
pub struct Chapter {
    group: Group,
    operations: Vec<Operation>,
}

/// The API reference.
#[derive(Template)]
#[template(path = "docs/page.html")]
pub struct Reference<'a> {
    site: &'a Site,
    frame: Frame<'a>,
    form: TryForm,
    chapters: Vec<Chapter>,
}

impl<'a> Reference<'a> {
    /// The reference, with the initial values of the form.
    pub fn new(site: &'a Site, frame: Frame<'a>, form: TryForm) -> Reference<'a> {
        let all = operations();
        let of = |group| all.iter().filter(|operation| operation.group == group).cloned().collect();
        let chapters = Group::ALL.into_iter().map(|group| Chapter { group, operations: of(group) });
        Reference { site, frame, form, chapters: chapters.collect() }
    }

    fn kinds(&self) -> &'static [&'static Kind] {
        KINDS
    }

    /// An earlier operation with the same parameters: a long list is shown only once.
    fn same_as(&self, operation: &Operation) -> Option<&Operation> {
        let mut before = self.chapters.iter().flat_map(|chapter| &chapter.operations);
        let first = before.find(|other| other.parameters == operation.parameters)?;
        (first.id != operation.id && operation.parameters.len() > 5).then_some(first)
    }

    /// The example of an operation's response: status, media type and body.
    fn response(&self, operation: &Operation) -> Option<(u16, &'static str, String)> {
        let response = operation.responses.iter().find(|response| response.status < 300)?;
        let example = Examples::of(operation.id, self.site).response;
        // A page is no example to read.
        let Some(body) = example.filter(Value::is_object) else {
            return Some((response.status, "no body", String::new())).filter(|_| response.media.is_empty());
        };
        let json = |media: &&(&'static str, Schema)| media.0.ends_with("json");
        let (media_type, _) = response.media.iter().find(json).or(response.media.first())?;
        Some((response.status, media_type, pretty_print::text("json", &body.to_string())))
    }

    /// The page that sends the operation with the session, if there is one.
    fn try_path(&self, operation: &Operation) -> Option<String> {
        let collection = operation.path.strip_prefix("/200909/activity/{user}/")?;
        let collection = Collection::parse(collection).filter(|_| operation.method == Method::GET)?;
        let query = self.form.query();
        self.frame.is_signed_in().then(|| format!("/docs/try?collection={}&{query}", collection.as_str()))
    }

    fn by_key(&self) -> String {
        format!("{} -H \"ServicePSK: $KEY\" \"{}/200909/whoami\"", self.site.curl(), self.site.base())
    }

    fn by_password(&self) -> String {
        let name = if self.frame.is_signed_in() { self.frame.name() } else { "alice" };
        format!("{} -u \"{name}:$PASSWORD\" \"{}/200909/whoami\"", self.site.curl(), self.site.base())
    }

    fn by_signature(&self) -> String {
        let signed = r#"-H "Authorization: OAuth oauth_consumer_key=\"$CONSUMER\", oauth_token=\"$TOKEN\", oauth_signature_method=\"PLAINTEXT\", oauth_signature=\"$CONSUMER_SECRET%26$TOKEN_SECRET\"""#;
        format!("{} {signed} \"{}/200909/whoami\"", self.site.curl(), self.site.base())
    }
}

/// Meaning, allowed values and default of a parameter.
fn meaning(parameter: &Parameter) -> String {
    let mut sentences = vec![parameter.about.clone()];
    if parameter.schema.is_list() {
        sentences.push("Repeat it or separate values with commas to match any of them.".to_owned());
    }
    let choices = parameter.schema.choices();
    // Problem types have a separate table.
    if !choices.is_empty() && parameter.location != ParameterLocation::Path {
        sentences.push(format!("One of `{}`.", choices.join("`, `")));
    }
    sentences.extend(parameter.schema.default_text().map(|value| format!("Default: `{value}`.")));
    sentences.join(" ")
}

/// Media types, in backquotes.
fn listed(media: &[(&'static str, Schema)]) -> String {
    media.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The fields of the form.
#[derive(Clone, Debug)]
pub struct TryForm(Vec<(&'static str, String)>);

impl Default for TryForm {
    fn default() -> TryForm {
        TryForm(vec![("count", "3".to_owned()), ("format", "json".to_owned())])
    }
}

impl TryForm {
    /// The fields that become query parameters; `collection` is part of the path.
    const PARAMETERS: [&str; 6] = ["service", "type", "verb", "orderby", "count", "format"];

    /// The fields of a query string, without unknown and empty ones.
    pub fn of(query: &[u8]) -> TryForm {
        let known =
            |name: &str| TryForm::PARAMETERS.into_iter().chain(["collection"]).find(|known| *known == name);
        let pairs = url::form_urlencoded::parse(query).filter(|(_, value)| !value.is_empty());
        TryForm(pairs.filter_map(|(name, value)| Some((known(&name)?, value.into_owned()))).collect())
    }

    fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.get(name) == value
    }

    fn formats(&self) -> [Format; 4] {
        Format::ALL
    }

    /// The collection to read.
    pub fn collection(&self) -> Collection {
        Collection::parse(self.get("collection")).unwrap_or(Collection::ToFrom)
    }

    /// The query string of the API request.
    pub fn query(&self) -> String {
        let parameters = self.0.iter().filter(|(name, _)| TryForm::PARAMETERS.contains(name));
        let pairs = parameters.map(|(name, value)| format!("{name}={}", encode_component(value)));
        pairs.collect::<Vec<_>>().join("&")
    }
}

/// The response to the request.
pub struct TryResponse {
    status: String,
    headers: Vec<(String, String)>,
    body: String,
    /// A note if only a part of the body is shown.
    truncated: Option<String>,
}

impl TryResponse {
    /// The response, formatted for people.
    pub fn new(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> TryResponse {
        let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let media_type = headers.get(CONTENT_TYPE).map(text).unwrap_or_default();
        let size = body.len();
        let (body, truncated) = if media_type == Format::FastInfoset.media_type() {
            (pretty_print::hex_dump(body), Some(format!("Hexadecimal, up to 512 of {size} bytes.")))
        } else {
            let shown = String::from_utf8_lossy(body.get(..MAX_SHOWN).unwrap_or(body));
            let truncated = (size > MAX_SHOWN).then(|| format!("First 64 KiB of {size} bytes."));
            (pretty_print::text(&media_type, &shown), truncated)
        };
        TryResponse {
            status: format!("{} {}", status.as_str(), status.canonical_reason().unwrap_or_default()),
            headers: headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
            body,
            truncated,
        }
    }
}

/// The page with a request and its response.
#[derive(Template)]
#[template(path = "docs/try.html")]
pub struct TryPage<'a> {
    site: &'a Site,
    frame: Frame<'a>,
    form: TryForm,
    response: TryResponse,
}

impl<'a> TryPage<'a> {
    /// The page for this request and response.
    pub fn new(site: &'a Site, frame: Frame<'a>, form: TryForm, response: TryResponse) -> TryPage<'a> {
        TryPage { site, frame, form, response }
    }

    /// The request target: path and query.
    fn target(&self) -> String {
        let (name, collection, query) =
            (self.frame.name(), self.form.collection().as_str(), self.form.query());
        let separator = if query.is_empty() { "" } else { "?" };
        format!("{}/200909/activity/{name}/{collection}{separator}{query}", self.site.prefix())
    }

    fn curl(&self) -> String {
        let curl = self.site.curl();
        format!("{curl} -i -H \"ServicePSK: $KEY\" \"{}{}\"", self.site.origin(), self.target())
    }

    /// The request as it goes over the wire.
    fn request(&self) -> String {
        let origin = self.site.origin();
        let host = origin.split_once("://").map_or(origin, |(_, host)| host);
        format!("GET {} HTTP/1.1\nHost: {host}\nServicePSK: $KEY", self.target())
    }
}

/// A page that explains a part of the API, such as a problem type.
#[derive(Debug, Template)]
#[template(path = "explanation.html")]
pub struct Explanation<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// The heading.
    pub title: &'a str,
    /// The explanation. Text in backquotes is shown as code.
    pub paragraphs: &'a [&'a str],
    /// The footer line.
    pub foot: &'a str,
}
