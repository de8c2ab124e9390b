//! The sources of an account, and the preview of a new one.

use super::display_time::DisplayTime;
use super::frame::Frame;
use crate::site::Site;
use askama::Template;
use domain::sources::{Listed, Preview};
use feeds::catalogue::{self, Service};
use model::Millis;
use url::Url;

/// Items shown in a preview.
const MAX_SHOWN: usize = 10;

/// The list of sources, with the forms to add more.
#[derive(Template)]
#[template(path = "settings/sources.html")]
pub struct SourcesPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The error to show, if any.
    pub complaint: Option<&'a str>,
    /// The submitted form, or an empty one.
    pub form: &'a SourceForm,
    /// The result of an OPML import.
    pub imported: Option<Imported>,
    /// The connected sources, by name.
    pub sources: Vec<SourceView>,
}

impl SourcesPage<'_> {
    fn services(&self) -> &'static [Service] {
        catalogue::services()
    }

    fn by_name(&self) -> impl Iterator<Item = &'static Service> {
        catalogue::services().iter().filter(|service| takes_names(service))
    }

    /// The link that a page must contain to be verified as the account's.
    fn link(&self) -> String {
        format!("<a rel=\"me\" href=\"{}/user/{}\">tofrom</a>", self.site.base(), self.frame.name())
    }
}

/// Whether a username is enough to find the feed.
fn takes_names(service: &Service) -> bool {
    ["alice", "alice@example.org"].iter().any(|name| service.feed_of(name).is_some())
}

/// The form to add a source: an address, or a service and a username.
#[derive(Debug, Default)]
pub struct SourceForm {
    /// The address of a page or a feed.
    pub address: String,
    /// A service of the catalogue.
    pub service: String,
    /// The username at that service.
    pub person: String,
    /// The service that the user chose elsewhere, if it needs an address.
    pub asked: Option<&'static Service>,
}

impl SourceForm {
    /// The form for a service of the catalogue; empty if the catalogue does not have it.
    pub fn for_service(name: &str) -> SourceForm {
        match catalogue::by_name(name) {
            Some(service) if takes_names(service) => {
                SourceForm { service: service.name.clone(), ..SourceForm::default() }
            }
            asked => SourceForm { asked, ..SourceForm::default() },
        }
    }
}

/// The result of an OPML import.
#[derive(Debug, Default)]
pub struct Imported {
    /// Feeds that are newly connected.
    pub connected: usize,
    /// Feeds that were already connected.
    pub known: usize,
    /// Addresses that could not be connected, each with the reason.
    pub refused: Vec<(String, String)>,
    /// Addresses beyond the limit of one import.
    pub skipped: Vec<String>,
}

/// A source as listed.
pub struct SourceView {
    /// The name the account gave it.
    pub name: String,
    /// The feed's title.
    pub title: Option<String>,
    /// The service of its activities.
    pub service: String,
    /// The address of the feed.
    pub address: String,
    /// The page that the feed belongs to.
    pub page: Option<PageLink>,
    /// Whether that page links back to the account.
    pub verified: bool,
    /// Whether it is paused.
    pub paused: bool,
    /// Whether it works without problems.
    pub well: bool,
    /// Its status, as text.
    pub health: String,
}

impl SourceView {
    /// The view of a listed source.
    pub fn of(listed: &Listed) -> SourceView {
        let settings = &listed.connection.settings;
        SourceView {
            name: listed.connection.name.clone(),
            title: listed.source.as_ref().and_then(|source| source.known.title.clone()),
            service: settings.service.clone(),
            address: listed.address(),
            page: settings.page.as_deref().and_then(PageLink::to),
            verified: settings.verified.is_some(),
            paused: settings.paused,
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

/// A link to a page on another site.
#[derive(Debug, PartialEq, Eq)]
pub struct PageLink {
    /// The address.
    pub address: String,
    /// The address as shown: without scheme, `www.` and trailing slash.
    pub label: String,
}

impl PageLink {
    /// A link if the scheme is `http` or `https`; `None` otherwise.
    pub fn to(url: &Url) -> Option<PageLink> {
        let host = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https"))?;
        let label = format!("{}{}", host.strip_prefix("www.").unwrap_or(host), url.path());
        Some(PageLink { address: url.to_string(), label: label.trim_end_matches('/').to_owned() })
    }
}

/// The preview of a source before it is connected.
#[derive(Template)]
#[template(path = "settings/source_preview.html")]
pub struct PreviewPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The error to show, if any.
    pub complaint: Option<&'a str>,
    /// The name of the account's existing connection to this source.
    pub known: Option<&'a str>,
    /// The address as entered.
    pub typed: &'a str,
    /// The suggested name.
    pub name: &'a str,
    /// The source and its items.
    pub found: &'a Preview,
    /// The current time.
    pub now: Millis,
}

impl PreviewPage<'_> {
    fn title(&self) -> &str {
        self.found.title.as_deref().unwrap_or(self.found.address.as_str())
    }

    /// Time and title of the first items.
    fn first(&self) -> Vec<(DisplayTime, &str)> {
        let drafts = self.found.activities.iter().take(MAX_SHOWN);
        let time = |at: Option<Millis>| DisplayTime::new(at.unwrap_or(self.now), self.now);
        drafts.map(|draft| (time(draft.published), draft.body.title.as_str())).collect()
    }

    /// The number of further items.
    fn rest(&self) -> usize {
        self.found.activities.len().saturating_sub(MAX_SHOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_addresses_become_links_with_a_short_label() {
        for (address, label) in [
            ("https://www.example.org/", Some("example.org")),
            ("http://example.org/~alice/?x=1", Some("example.org/~alice")),
            ("javascript:alert(1)", None),
            ("data:text/html,x", None),
        ] {
            let link = PageLink::to(&Url::parse(address).unwrap());
            assert_eq!(link.map(|link| link.label).as_deref(), label, "{address}");
        }
    }

    #[test]
    fn a_username_is_enough_for_some_services() {
        let by_name = |name: &str| takes_names(catalogue::by_name(name).unwrap());
        assert!(by_name("GitHub") && by_name("Mastodon"));
        assert!(!by_name("Flickr") && !by_name("Stack Overflow"));
    }
}
