//! One thing that a program can ask for.

use super::parameter::{self, Parameter, Place};
use super::{Schema, problems};
use crate::http::{Access, Kind};
use crate::site::Site;
use http::Method;
use model::Format;

/// What operations are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Collections.
    Collections,
    /// Single activities, and many at once.
    Activities,
    /// Accounts.
    Accounts,
    /// Who follows whom.
    Following,
    /// What accounts do elsewhere.
    Sources,
    /// Who asks.
    Caller,
    /// The steps of OAuth.
    OAuth,
    /// What explains the rest.
    About,
}

impl Group {
    /// All of them, in their order.
    pub const ALL: [Group; 8] = [
        Group::Collections,
        Group::Activities,
        Group::Accounts,
        Group::Following,
        Group::Sources,
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
            Group::Caller => "Who asks",
            Group::OAuth => "OAuth",
            Group::About => "About",
        }
    }

    /// Its anchor on the page.
    pub fn anchor(self) -> String {
        self.title().to_lowercase().replace(' ', "-")
    }

    /// What it is about.
    pub fn about(self) -> &'static str {
        match self {
            Group::Collections => {
                "Everything that happens to and from an account, newest first. A private account's collections are \
                 there for itself and for operators; to everybody else it looks like one that does not exist."
            }
            Group::Activities => {
                "What an account did comes in here. It takes a credential with the scope `write`, of the account \
                 itself or of an operator."
            }
            Group::Accounts => {
                "Operators make accounts; an account changes itself. A name is never given twice."
            }
            Group::Following => {
                "What an account follows comes into its `to` and `tofrom`. An account follows public accounts; \
                 operators make any edge."
            }
            Group::Sources => {
                "What an account does elsewhere comes in by itself: a source is a feed that the service looks at. An \
                 account's sources are there for itself and for operators. An account may have 30 addresses a minute \
                 looked at, and has at most 200 sources."
            }
            Group::Caller => "What a credential stands for, and how an application gives its own back.",
            Group::OAuth => {
                "An application acts for somebody without their password (RFC 5849). Between the two steps the person \
                 decides at `/oauth/authorize?oauth_token=…` in a browser."
            }
            Group::About => "For everybody, without a credential.",
        }
    }
}

/// A body of a request.
#[derive(Clone, Debug)]
pub struct Body {
    /// What it says.
    pub about: &'static str,
    /// In which media types, and what it looks like in each.
    pub media: Vec<(&'static str, Schema)>,
    /// Whether there has to be one.
    pub needed: bool,
}

/// An answer that is no problem.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// What it means.
    pub about: &'static str,
    /// In which media types, and what it looks like in each; none has no body.
    pub media: Vec<(&'static str, Schema)>,
    /// The headers that tell something.
    pub headers: &'static [&'static str],
}

impl Answer {
    /// An answer without a body.
    pub(super) fn new(status: u16, about: &'static str) -> Answer {
        Answer { status, about, media: Vec::new(), headers: &[] }
    }

    /// In this media type too.
    pub(super) fn media(mut self, media_type: &'static str, schema: Schema) -> Answer {
        self.media.push((media_type, schema));
        self
    }

    /// In these representations: what JSON has under `json`, XML has under `xml`.
    pub(super) fn formats(mut self, offers: &[Format], json: &str, xml: &str) -> Answer {
        self.media.extend(represented(offers, json, xml));
        self
    }

    /// With these headers.
    pub(super) fn headers(self, headers: &'static [&'static str]) -> Answer {
        Answer { headers, ..self }
    }
}

/// How each representation of a thing is described: only JSON and XML can be.
pub(super) fn represented(
    offers: &[Format],
    json: &str,
    xml: &str,
) -> impl Iterator<Item = (&'static str, Schema)> {
    offers.iter().map(move |offer| {
        let schema = match offer {
            Format::Json => Schema::named(json),
            Format::Xml => Schema::named(xml),
            Format::Atom => Schema::text().about("Atom (RFC 4287) with the activity-streams extensions."),
            Format::FastInfoset => {
                Schema::anything().about("The infoset of the XML in octets (ITU-T X.891).")
            }
        };
        (offer.media_type(), schema)
    })
}

/// One thing that a program can ask for.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Its name, and its anchor on the page.
    pub id: &'static str,
    /// How it is asked for. Where it is GET, HEAD gives the same without the body, but for steps of OAuth.
    pub method: Method,
    /// Where, below the base address.
    pub path: &'static str,
    /// What it is about.
    pub group: Group,
    /// What it does, in a few words.
    pub summary: &'static str,
    /// More of that.
    pub about: &'static str,
    /// Who may ask.
    pub access: Access,
    /// What can be said.
    pub parameters: Vec<Parameter>,
    /// What is sent.
    pub body: Option<Body>,
    /// What comes back.
    pub answers: Vec<Answer>,
    /// What can be wrong besides what can be wrong everywhere.
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
            answers: Vec::new(),
            problems: &[],
            example: "",
        }
    }

    /// At an address that is a page, too.
    pub(super) fn where_a_page_is(self) -> Operation {
        Operation { access: Access::PageOrCredential, ..self }
    }

    pub(super) fn does(self, summary: &'static str, about: &'static str) -> Operation {
        Operation { summary, about, ..self }
    }

    pub(super) fn takes(mut self, parameters: impl IntoIterator<Item = Parameter>) -> Operation {
        // The application's header comes last: it is the same everywhere.
        let at = self.parameters.iter().filter(|parameter| parameter.place == Place::Path).count();
        self.parameters.splice(at..at, parameters);
        self
    }

    pub(super) fn sends(self, body: Body) -> Operation {
        Operation { body: Some(body), ..self }
    }

    pub(super) fn answers(mut self, answer: Answer) -> Operation {
        self.answers.push(answer);
        self
    }

    pub(super) fn fails(self, problems: &'static [&'static str]) -> Operation {
        Operation { problems, ..self }
    }

    /// A curl line, with `$BASE` for the base address.
    pub(super) fn example(self, example: &'static str) -> Operation {
        Operation { example, ..self }
    }

    /// A curl line that asks for it.
    pub fn curl(&self, site: &Site) -> String {
        self.example.replace("$BASE", site.base())
    }

    /// Whether HEAD gives the same without the body.
    pub(super) fn has_head(&self) -> bool {
        self.method == Method::GET && self.group != Group::OAuth
    }

    /// The methods that come to it.
    pub fn methods(&self) -> &'static [&'static str] {
        match self.method {
            Method::GET if self.has_head() => &["GET", "HEAD"],
            Method::GET => &["GET"],
            Method::PUT => &["PUT"],
            Method::DELETE => &["DELETE"],
            _ => &["POST"],
        }
    }

    /// The kinds of problems that are its own.
    pub fn own_problems(&self) -> Vec<&'static Kind> {
        problems::named(self.problems).collect()
    }
}
