//! An operation of the API, with its request body and responses.

use super::parameter::{self, Parameter, ParameterLocation};
use super::samples::{Sample, samples};
use super::{Examples, Schema, problems};
use crate::site::Site;
use crate::{Access, Kind};
use http::Method;
use model::Format;

/// A group of operations: a tag of the document and a chapter of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Reading collections.
    Collections,
    /// Reading and writing activities.
    Activities,
    /// Accounts.
    Accounts,
    /// Followers and followees.
    Following,
    /// Feeds of other sites.
    Sources,
    /// Deliveries to other sites.
    Hooks,
    /// The caller's credential.
    Caller,
    /// The steps of the OAuth flow.
    OAuth,
    /// Documentation.
    About,
}

impl Group {
    /// All groups, in the order of the page.
    pub const ALL: [Group; 9] = [
        Group::Collections,
        Group::Activities,
        Group::Accounts,
        Group::Following,
        Group::Sources,
        Group::Hooks,
        Group::Caller,
        Group::OAuth,
        Group::About,
    ];

    /// Its name.
    pub fn title(self) -> &'static str {
        match self {
            Group::Collections => "Collections",
            Group::Activities => "Activities",
            Group::Accounts => "Accounts",
            Group::Following => "Following",
            Group::Sources => "Sources",
            Group::Hooks => "Hooks",
            Group::Caller => "Current account",
            Group::OAuth => "OAuth",
            Group::About => "About",
        }
    }

    /// Its anchor on the page.
    pub fn anchor(self) -> String {
        self.title().to_lowercase().replace(' ', "-")
    }

    /// Its description.
    pub fn about(self) -> &'static str {
        match self {
            Group::Collections => {
                "Everything that happens to and from an account, newest first. Only the account itself and operators \
                 may read the collections of a private account. To all other callers the account does not exist."
            }
            Group::Activities => {
                "Create, read and delete activities of an account. Writing requires a credential of the account \
                 itself or of an operator, with the scope `write`."
            }
            Group::Accounts => {
                "Operators create accounts. An account can change and delete itself. Names are never reused."
            }
            Group::Following => {
                "Activities of followed accounts appear in the follower's `to` and `tofrom`. An account can follow \
                 public accounts. Operators can make any account follow any other. An account can block and mute others."
            }
            Group::Sources => {
                "Import activities from other sites: a source is a feed that the server polls. Only the account itself \
                 and operators see its sources. An account has at most 200 sources and 30 source fetches a minute."
            }
            Group::Hooks => {
                "A hook sends each event of a collection to an https address, signed by the Standard Webhooks \
                 specification. Only the account itself and operators see its hooks. An account has at most 20."
            }
            Group::Caller => "Show the account behind a credential, and revoke an access token.",
            Group::OAuth => {
                "Get an access token for a user without their password (RFC 5849). Between the two requests the user \
                 approves the application at `/oauth/authorize?oauth_token=…` in a browser."
            }
            Group::About => "Public: no credential is required.",
        }
    }
}

/// The description of a request body.
#[derive(Clone, Debug)]
pub struct RequestBody {
    /// Its description.
    pub about: &'static str,
    /// The media types, each with its schema.
    pub media: Vec<(&'static str, Schema)>,
    /// Whether the body is required.
    pub required: bool,
}

/// The description of a successful response.
#[derive(Clone, Debug)]
pub struct ResponseSpec {
    /// Its status.
    pub status: u16,
    /// Its description.
    pub about: &'static str,
    /// The media types, each with its schema. A response without a body has none.
    pub media: Vec<(&'static str, Schema)>,
    /// The names of its headers.
    pub headers: &'static [&'static str],
}

impl ResponseSpec {
    /// A response without a body.
    pub(super) fn new(status: u16, about: &'static str) -> ResponseSpec {
        ResponseSpec { status, about, media: Vec::new(), headers: &[] }
    }

    /// Adds a media type.
    pub(super) fn media(mut self, media_type: &'static str, schema: Schema) -> ResponseSpec {
        self.media.push((media_type, schema));
        self
    }

    /// Adds these formats, with the schema names of the JSON and the XML representation.
    pub(super) fn formats(mut self, offers: &[Format], json: &str, xml: &str) -> ResponseSpec {
        self.media.extend(media_types(offers, json, xml));
        self
    }

    /// Sets the headers.
    pub(super) fn headers(self, headers: &'static [&'static str]) -> ResponseSpec {
        ResponseSpec { headers, ..self }
    }
}

/// The schema of each format. Only JSON and XML can be described in detail.
pub(super) fn media_types(
    offers: &[Format],
    json: &str,
    xml: &str,
) -> impl Iterator<Item = (&'static str, Schema)> {
    offers.iter().map(move |offer| {
        let schema = match offer {
            Format::Json => Schema::named(json),
            Format::Xml => Schema::named(xml),
            Format::Atom => Schema::text().about("Atom (RFC 4287) with the activity-streams extensions."),
            Format::ActivityStreams => Schema::object().about("An `OrderedCollectionPage`."),
            Format::FastInfoset => Schema::text()
                .format("binary")
                .about("The same document as in XML, encoded as Fast Infoset (ITU-T X.891)."),
        };
        (offer.media_type(), schema)
    })
}

/// An operation of the API.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Its name, and its anchor on the page.
    pub id: &'static str,
    /// The method. GET operations also support HEAD, except for the steps of OAuth.
    pub method: Method,
    /// The path below the base address.
    pub path: &'static str,
    /// Its group.
    pub group: Group,
    /// What it does, as a short imperative.
    pub summary: &'static str,
    /// The description.
    pub about: &'static str,
    /// The access it requires.
    pub access: Access,
    /// The parameters: path parameters first.
    pub parameters: Vec<Parameter>,
    /// The request body.
    pub body: Option<RequestBody>,
    /// The successful responses.
    pub responses: Vec<ResponseSpec>,
    /// The slugs of its specific problems, besides the common ones.
    pub problems: &'static [&'static str],
    example: &'static str,
}

impl Operation {
    pub(super) fn new(method: Method, id: &'static str, path: &'static str, group: Group) -> Operation {
        let access = match group {
            Group::OAuth => Access::Application,
            Group::About => Access::Open,
            _ => Access::Credential,
        };
        let mut parameters = parameter::in_path(path);
        parameters.extend((access == Access::Credential).then(parameter::consumer));
        Operation {
            id,
            method,
            path,
            group,
            summary: "",
            about: "",
            access,
            parameters,
            body: None,
            responses: Vec::new(),
            problems: &[],
            example: "",
        }
    }

    /// Marks an address that also serves an HTML page.
    pub(super) fn also_a_page(self) -> Operation {
        Operation { access: Access::PageOrCredential, ..self }
    }

    pub(super) fn does(self, summary: &'static str, about: &'static str) -> Operation {
        Operation { summary, about, ..self }
    }

    pub(super) fn takes(mut self, parameters: impl IntoIterator<Item = Parameter>) -> Operation {
        // The consumer key header stays last, because it is the same everywhere.
        let at =
            self.parameters.iter().filter(|parameter| parameter.location == ParameterLocation::Path).count();
        self.parameters.splice(at..at, parameters);
        self
    }

    pub(super) fn sends(self, body: RequestBody) -> Operation {
        Operation { body: Some(body), ..self }
    }

    pub(super) fn responds(mut self, response: ResponseSpec) -> Operation {
        self.responses.push(response);
        self
    }

    pub(super) fn fails(self, problems: &'static [&'static str]) -> Operation {
        Operation { problems, ..self }
    }

    /// Sets the curl command, with `$BASE` for the base address, if it is not the usual one.
    pub(super) fn example(self, example: &'static str) -> Operation {
        Operation { example, ..self }
    }

    /// The curl command for this site: by default with the examples of the path parameters and the body, in JSON.
    pub fn curl(&self, site: &Site) -> String {
        if !self.example.is_empty() {
            return self.example.replace("$BASE", site.base()).replacen("curl", &site.curl(), 1);
        }
        let has_format = self.parameters.iter().any(|parameter| parameter.name == "format");
        let several = self.responses.first().is_some_and(|response| response.media.len() > 1);
        let mut curl = site.curl();
        if matches!(self.method, Method::PUT | Method::DELETE) {
            curl.push_str(&format!(" -X {}", self.method));
        }
        if self.access != Access::Open {
            curl.push_str(r#" -H "ServicePSK: $KEY""#);
        }
        if several && !has_format {
            curl.push_str(r#" -H "Accept: application/json""#);
        }
        if let Some(body) = Examples::of(self.id, site).request {
            curl.push_str(&format!(r#" -H "Content-Type: application/json" -d '{body}'"#));
        }
        let path =
            self.parameters.iter().fold(self.path.to_owned(), |path, parameter| parameter.fill_in(&path));
        format!(r#"{curl} "{}{path}{}""#, site.base(), if has_format { "?format=json" } else { "" })
    }

    /// The request in several languages, curl first.
    pub fn samples(&self, site: &Site) -> Vec<Sample> {
        samples(&self.curl(site))
    }

    /// Whether HEAD is supported.
    pub(super) fn has_head(&self) -> bool {
        self.method == Method::GET && self.group != Group::OAuth
    }

    /// The method in at most four letters.
    pub fn short_method(&self) -> &str {
        if self.method == Method::DELETE { "DEL" } else { self.method.as_str() }
    }

    /// The supported methods.
    pub fn methods(&self) -> &'static [&'static str] {
        match self.method {
            Method::GET if self.has_head() => &["GET", "HEAD"],
            Method::GET => &["GET"],
            Method::PUT => &["PUT"],
            Method::DELETE => &["DELETE"],
            _ => &["POST"],
        }
    }

    /// The kinds of its specific problems.
    pub fn own_problems(&self) -> Vec<&'static Kind> {
        problems::named(self.problems).collect()
    }
}
