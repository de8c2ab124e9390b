//! What developers read: every operation on a page, and a form that tries one.

use super::frame::Frame;
use super::readable;
use crate::http::{KINDS, Kind};
use crate::openapi::{Group, Operation, Parameter, ParameterLocation, Schema, operations};
use crate::site::Site;
use askama::Template;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use model::{Collection, Format, encode_component};

/// How much of an answer is shown.
const SHOWN: usize = 64 << 10;

/// Operations that are about one thing.
pub struct Chapter {
    group: Group,
    operations: Vec<Operation>,
}

/// The reference.
#[derive(Template)]
#[template(path = "docs/page.html")]
pub struct Reference<'a> {
    site: &'a Site,
    frame: Frame<'a>,
    asked: Asked,
    chapters: Vec<Chapter>,
}

impl<'a> Reference<'a> {
    /// The reference, with what the form is filled in with.
    pub fn new(site: &'a Site, frame: Frame<'a>, asked: Asked) -> Reference<'a> {
        let all = operations();
        let of = |group| all.iter().filter(|operation| operation.group == group).cloned().collect();
        let chapters = Group::ALL.into_iter().map(|group| Chapter { group, operations: of(group) });
        Reference { site, frame, asked, chapters: chapters.collect() }
    }

    fn kinds(&self) -> &'static [&'static Kind] {
        KINDS
    }

    /// The operation before it whose parameters are the same: a long list is shown once.
    fn same_as(&self, operation: &Operation) -> Option<&Operation> {
        let mut before = self.chapters.iter().flat_map(|chapter| &chapter.operations);
        let first = before.find(|other| other.parameters == operation.parameters)?;
        (first.id != operation.id && operation.parameters.len() > 5).then_some(first)
    }

    fn by_key(&self) -> String {
        format!("curl -H \"ServicePSK: $KEY\" \"{}/200909/whoami\"", self.site.base())
    }

    fn by_password(&self) -> String {
        let name = if self.frame.is_signed_in() { self.frame.name() } else { "alice" };
        format!("curl -u \"{name}:$PASSWORD\" \"{}/200909/whoami\"", self.site.base())
    }

    fn by_signature(&self) -> String {
        let signed = r#"curl -H "Authorization: OAuth oauth_consumer_key=\"$CONSUMER\", oauth_token=\"$TOKEN\", oauth_signature_method=\"PLAINTEXT\", oauth_signature=\"$CONSUMER_SECRET%26$TOKEN_SECRET\"""#;
        format!("{signed} \"{}/200909/whoami\"", self.site.base())
    }
}

/// What a parameter means and what it may be.
fn meaning(parameter: &Parameter) -> String {
    let mut said = vec![parameter.about.clone()];
    if parameter.schema.is_list() {
        said.push("Several, repeated or with commas, mean any of them.".to_owned());
    }
    let choices = parameter.schema.choices();
    // The kinds of problems have a table of their own.
    if !choices.is_empty() && parameter.location != ParameterLocation::Path {
        said.push(format!("One of `{}`.", choices.join("`, `")));
    }
    said.extend(parameter.schema.default_text().map(|value| format!("`{value}` if not said.")));
    said.join(" ")
}

/// Media types, in backquotes.
fn listed(media: &[(&'static str, Schema)]) -> String {
    media.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// What the form asks for.
#[derive(Clone, Debug)]
pub struct Asked(Vec<(&'static str, String)>);

impl Default for Asked {
    fn default() -> Asked {
        Asked(vec![("count", "3".to_owned()), ("format", "json".to_owned())])
    }
}

impl Asked {
    /// The fields that go into the address; `collection` is part of its path.
    const PARAMETERS: [&str; 6] = ["service", "type", "verb", "orderby", "count", "format"];

    /// What a query says. What is empty is left out, as a program would do it.
    pub fn of(query: &[u8]) -> Asked {
        let known =
            |name: &str| Asked::PARAMETERS.into_iter().chain(["collection"]).find(|known| *known == name);
        let pairs = url::form_urlencoded::parse(query).filter(|(_, value)| !value.is_empty());
        Asked(pairs.filter_map(|(name, value)| Some((known(&name)?, value.into_owned()))).collect())
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

    /// Which collection.
    pub fn collection(&self) -> Collection {
        Collection::parse(self.get("collection")).unwrap_or(Collection::ToFrom)
    }

    /// The rest, as it stands in the address.
    pub fn query(&self) -> String {
        let asked = self.0.iter().filter(|(name, _)| Asked::PARAMETERS.contains(name));
        let pairs = asked.map(|(name, value)| format!("{name}={}", encode_component(value)));
        pairs.collect::<Vec<_>>().join("&")
    }
}

/// What the service answered.
pub struct Told {
    status: String,
    headers: Vec<(String, String)>,
    body: String,
    /// What is said of the part that is not shown.
    rest: Option<String>,
}

impl Told {
    /// That answer, for people.
    pub fn new(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Told {
        let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let media_type = headers.get(CONTENT_TYPE).map(text).unwrap_or_default();
        let size = body.len();
        let (body, rest) = if media_type == Format::FastInfoset.media_type() {
            (readable::octets(body), Some(format!("In hexadecimal, at most 512 of {size} bytes.")))
        } else {
            let shown = String::from_utf8_lossy(body.get(..SHOWN).unwrap_or(body));
            let rest = (size > SHOWN).then(|| format!("The first 64 KiB of {size} bytes."));
            (readable::text(&media_type, &shown), rest)
        };
        Told {
            status: format!("{} {}", status.as_str(), status.canonical_reason().unwrap_or_default()),
            headers: headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
            body,
            rest,
        }
    }
}

/// A read that was tried.
#[derive(Template)]
#[template(path = "docs/try.html")]
pub struct Trial<'a> {
    site: &'a Site,
    frame: Frame<'a>,
    asked: Asked,
    told: Told,
}

impl<'a> Trial<'a> {
    /// What was asked and what was told.
    pub fn new(site: &'a Site, frame: Frame<'a>, asked: Asked, told: Told) -> Trial<'a> {
        Trial { site, frame, asked, told }
    }

    /// The address below the origin.
    fn target(&self) -> String {
        let (name, collection, query) =
            (self.frame.name(), self.asked.collection().as_str(), self.asked.query());
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}/200909/activity/{name}/{collection}{mark}{query}", self.site.prefix())
    }

    fn curl(&self) -> String {
        format!("curl -i -H \"ServicePSK: $KEY\" \"{}{}\"", self.site.origin(), self.target())
    }

    /// The request as it goes over the wire.
    fn request(&self) -> String {
        let origin = self.site.origin();
        let host = origin.split_once("://").map_or(origin, |(_, host)| host);
        format!("GET {} HTTP/1.1\nHost: {host}\nServicePSK: $KEY", self.target())
    }
}
