//! The frame of a page: header, navigation, sign-out form and notice.

use super::service_icon;
use super::unread::Badge;
use crate::site::Site;
use auth::session::SignedIn;
use http::Uri;
use model::Collection;

/// The section of the site that a page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// A collection.
    Feed(Collection),
    /// Public accounts.
    People,
    /// The person's own page.
    Me,
    /// Settings.
    Settings,
    /// The operator pages.
    Operator,
    /// The API documentation.
    Docs,
    /// A page outside the navigation.
    Other,
}

/// The largest number that is counted for the badge beside the feed: it shows `99+`.
pub const MAX_BADGE: usize = 100;

/// Notices after a form has succeeded: the value of the query parameter `done`, and the text.
const DONE: &[(&str, &str)] = &[
    ("posted", "Posted."),
    ("removed", "Removed from your feed."),
    ("deleted", "Deleted from every feed."),
    ("read", "Marked as read."),
    ("saved", "Saved."),
    ("picture", "Picture updated. Others see the change within five minutes."),
    ("revoked", "Revoked. It stops working within five seconds."),
    ("ended", "Session revoked."),
    ("password", "Password changed. All other sessions are signed out."),
    ("application", "Application removed. Its credentials no longer work."),
    ("connected", "Connected. Existing items are imported; new ones follow automatically."),
    ("known", "This source was already connected. Nothing changed."),
    ("found", "New activities found and added to your feed."),
    ("looked", "No new activity."),
    ("failed", "The check failed. The source shows the reason."),
    ("paused", "Paused. Nothing is imported until you resume the source."),
    ("resumed", "Resumed."),
    ("disconnected", "Source removed. Its imported activities are kept."),
    ("emptied", "Source removed, with all its imported activities."),
    ("tested", "The receiver accepted the test."),
    ("hook-removed", "Hook removed. Nothing more is sent."),
    ("replayed", "Queued for another attempt."),
    ("account", "Account updated."),
    ("blocked", "Blocked. They can neither follow nor address you."),
    ("unblocked", "Unblocked. They can follow you again."),
    ("muted", "Muted. Their activities are no longer in your feed."),
    ("unmuted", "Unmuted."),
    ("follower", "Follower removed. They can follow you again."),
    ("factor-needed", "Operators of this server need two-factor authentication. Set it up first."),
    ("factor-off", "Two-factor authentication is off."),
];

/// The name of a collection on pages.
pub fn label(collection: Collection) -> &'static str {
    match collection {
        Collection::ToFrom => "Everything",
        Collection::To => "To you",
        Collection::From => "From you",
    }
}

/// The frame of a page.
pub struct Frame<'a> {
    site: &'a Site,
    person: Option<&'a SignedIn>,
    section: Section,
    notice: Option<&'static str>,
    badge: Option<Badge>,
}

impl<'a> Frame<'a> {
    /// The frame of a page for a signed-in user. The query of `uri` selects the notice.
    pub fn new(site: &'a Site, person: &'a SignedIn, section: Section, uri: &Uri) -> Frame<'a> {
        Frame::of_visitor(site, Some(person), section, uri)
    }

    /// The frame of a page that visitors can see without signing in.
    pub fn of_visitor(
        site: &'a Site,
        person: Option<&'a SignedIn>,
        section: Section,
        uri: &Uri,
    ) -> Frame<'a> {
        let query = uri.query().unwrap_or_default().as_bytes();
        let done = url::form_urlencoded::parse(query).find(|(name, _)| name == "done");
        let notice = done.and_then(|(_, word)| DONE.iter().find(|(known, _)| *known == word));
        Frame { site, person, section, notice: notice.map(|(_, text)| *text), badge: None }
    }

    /// The frame with the number of unread activities. Without it the script asks for the number.
    pub fn counting(self, badge: Option<Badge>) -> Frame<'a> {
        Frame { badge, ..self }
    }

    /// The number of unread activities, if the page has counted them.
    pub fn badge(&self) -> Option<Badge> {
        self.badge
    }

    /// Whether the script need not ask for the number.
    pub fn is_badge_exact(&self) -> bool {
        self.badge.is_some_and(|badge| !badge.at_least)
    }

    /// Whether there is nothing to show in the badge yet.
    pub fn is_badge_hidden(&self) -> bool {
        self.badge.is_none_or(|badge| badge.count == 0)
    }

    /// The path prefix of all addresses.
    pub fn prefix(&self) -> &'a str {
        self.site.prefix()
    }

    /// The address of a page or of a form.
    pub fn to(&self, path: impl AsRef<str>) -> String {
        format!("{}{}", self.site.prefix(), path.as_ref())
    }

    /// The CSRF token for a form that posts to `path`.
    pub fn proof(&self, path: impl AsRef<str>) -> String {
        self.person.map_or_else(String::new, |person| person.csrf(path.as_ref()))
    }

    /// Whether the visitor is signed in.
    pub fn is_signed_in(&self) -> bool {
        self.person.is_some()
    }

    /// The account's display name; empty for a visitor.
    pub fn display_name(&self) -> String {
        self.person.map_or_else(String::new, |person| person.account.display_name())
    }

    /// The collections, as word, address and label.
    pub fn collections(&self) -> [(&'static str, String, &'static str); 3] {
        [Collection::ToFrom, Collection::To, Collection::From].map(|collection| {
            let query = match collection {
                Collection::ToFrom => String::new(),
                other => format!("?collection={}", other.as_str()),
            };
            (collection.as_str(), self.to(format!("/feed{query}")), label(collection))
        })
    }

    /// What the search box finds.
    pub fn search_label(&self) -> &'static str {
        if self.site.searches_text() { "Search your activities" } else { "Search people" }
    }

    /// The path of the service's icon.
    pub fn icon(&self, service: &str) -> String {
        service_icon::path(service, self.site)
    }

    /// The account's name; empty for a visitor.
    pub fn name(&self) -> &str {
        self.person.map_or("", |person| person.account.name.as_str())
    }

    /// Whether the account is an operator.
    pub fn operator(&self) -> bool {
        self.person.is_some_and(|person| person.account.operator)
    }

    /// Whether the page belongs to the section with this name.
    pub fn is(&self, word: &str) -> bool {
        let section = match self.section {
            Section::Feed(collection) => collection.as_str(),
            Section::People => "people",
            Section::Me => "me",
            Section::Settings => "settings",
            Section::Operator => "operator",
            Section::Docs => "docs",
            Section::Other => "",
        };
        section == word
    }

    /// The notice about the last form, if any.
    pub fn notice(&self) -> Option<&'static str> {
        self.notice
    }
}
