//! What somebody does elsewhere: the sources of an account, and what one would bring.

use super::frame::Frame;
use super::moment::Moment;
use crate::site::Site;
use crate::sources::{Listed, Preview};
use askama::Template;
use feeds::catalogue::{self, Service};
use model::Millis;
use url::Url;

/// Items of a source that are shown before it is connected.
const SHOWN: usize = 10;

/// The sources, and how to come to more.
#[derive(Template)]
#[template(path = "settings/sources.html")]
pub struct SourcesPage<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What stands around it.
    pub frame: Frame<'a>,
    /// What can't be.
    pub complaint: Option<&'a str>,
    /// What was typed.
    pub asked: &'a Asked,
    /// What became of a list.
    pub imported: Option<Imported>,
    /// By name.
    pub sources: Vec<SourceView>,
}

impl SourcesPage<'_> {
    fn services(&self) -> &'static [Service] {
        catalogue::services()
    }

    fn by_name(&self) -> impl Iterator<Item = &'static Service> {
        catalogue::services().iter().filter(|service| takes_names(service))
    }

    /// What a page has to say to be known as the account's.
    fn link(&self) -> String {
        format!("<a rel=\"me\" href=\"{}/user/{}\">tofrom</a>", self.site.base(), self.frame.name())
    }
}

/// Whether a name is enough to know where the feed is.
fn takes_names(service: &Service) -> bool {
    ["alice", "alice@example.org"].iter().any(|name| service.feed_of(name).is_some())
}

/// Where somebody says to be active.
#[derive(Debug, Default)]
pub struct Asked {
    /// The address of a page or a feed,
    pub address: String,
    /// or a service of the catalogue
    pub service: String,
    /// with a name there.
    pub person: String,
}

/// What became of a list of feeds.
#[derive(Debug, Default)]
pub struct Imported {
    /// So many are connected now,
    pub connected: usize,
    /// so many were so before,
    pub known: usize,
    /// and these can't be, each with the reason.
    pub refused: Vec<(String, String)>,
    /// These were too many.
    pub left: Vec<String>,
}

/// A source as it is listed.
pub struct SourceView {
    /// What the account calls it.
    pub name: String,
    /// What it calls itself.
    pub title: Option<String>,
    /// The service that its activities are of.
    pub service: String,
    /// Where it is.
    pub address: String,
    /// The page that it is about.
    pub page: Option<Link>,
    /// Whether that page says that it is the account's.
    pub verified: bool,
    /// Whether it brings nothing for now.
    pub paused: bool,
    /// Whether nobody needs to look at it.
    pub well: bool,
    /// How it is, in words.
    pub health: String,
}

impl SourceView {
    /// A source.
    pub fn of(listed: &Listed) -> SourceView {
        let wish = &listed.connection.settings;
        SourceView {
            name: listed.connection.name.clone(),
            title: listed.source.as_ref().and_then(|source| source.known.title.clone()),
            service: wish.service.clone(),
            address: listed.address(),
            page: wish.page.as_deref().and_then(Link::to),
            verified: wish.verified.is_some(),
            paused: wish.paused,
            well: listed.health.well,
            health: listed.health.words.clone(),
        }
    }

    fn shown(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    fn path(&self, what: &str) -> String {
        format!("/settings/sources/{}/{what}", self.name)
    }
}

/// A link to somebody else's page.
#[derive(Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it leads.
    pub address: String,
    /// The same as people write it.
    pub said: String,
}

impl Link {
    /// A link to an address of the web, and to nothing else.
    pub fn to(url: &Url) -> Option<Link> {
        let host = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https"))?;
        let said = format!("{}{}", host.strip_prefix("www.").unwrap_or(host), url.path());
        Some(Link { address: url.to_string(), said: said.trim_end_matches('/').to_owned() })
    }
}

/// What a source would bring.
#[derive(Template)]
#[template(path = "settings/source_preview.html")]
pub struct PreviewPage<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What stands around it.
    pub frame: Frame<'a>,
    /// What can't be.
    pub complaint: Option<&'a str>,
    /// What the account calls it, if it is connected to it.
    pub known: Option<&'a str>,
    /// What was typed.
    pub typed: &'a str,
    /// What it would be called.
    pub name: &'a str,
    /// What was found.
    pub found: &'a Preview,
    /// The time.
    pub now: Millis,
}

impl PreviewPage<'_> {
    fn title(&self) -> &str {
        self.found.title.as_deref().unwrap_or(self.found.address.as_str())
    }

    /// The first ones, each with its time.
    fn first(&self) -> Vec<(Moment, &str)> {
        let drafts = self.found.activities.iter().take(SHOWN);
        let told = |at: Option<Millis>| Moment::told(at.unwrap_or(self.now), self.now);
        drafts.map(|draft| (told(draft.published), draft.body.title.as_str())).collect()
    }

    /// How many more there are.
    fn rest(&self) -> usize {
        self.found.activities.len().saturating_sub(SHOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_the_web_and_are_told_as_people_write_them() {
        for (address, said) in [
            ("https://www.example.org/", Some("example.org")),
            ("http://example.org/~alice/?x=1", Some("example.org/~alice")),
            ("javascript:alert(1)", None),
            ("data:text/html,x", None),
        ] {
            let link = Link::to(&Url::parse(address).unwrap());
            assert_eq!(link.map(|link| link.said).as_deref(), said, "{address}");
        }
    }

    #[test]
    fn a_name_is_enough_for_most_services() {
        let by_name = |name: &str| takes_names(catalogue::by_name(name).unwrap());
        assert!(by_name("GitHub") && by_name("Mastodon"));
        assert!(!by_name("Flickr") && !by_name("Stack Overflow"));
    }
}
