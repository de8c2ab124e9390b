//! What stands around every page of somebody who is signed in, and around those that others see too.

use crate::auth::session::SignedIn;
use crate::site::Site;
use http::Uri;

/// Where in the site a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Here {
    /// The collection.
    Feed,
    /// The person's own page.
    Me,
    /// Settings.
    Settings,
    /// What operators see.
    Operator,
    /// What developers read.
    Docs,
    /// A page that no menu leads to.
    Elsewhere,
}

/// What a person is told after a form did what it should: the word in the address, and the sentence.
const DONE: &[(&str, &str)] = &[
    ("removed", "Removed from your feed."),
    ("deleted", "Deleted, here and from everybody's feed."),
    ("saved", "Saved."),
    ("picture", "Your picture is changed. PulledActors see it within five minutes."),
    ("revoked", "Revoked. It stops working within five seconds."),
    ("ended", "That session has ended."),
    ("password", "Your password is changed. All other sessions have ended."),
    ("application", "The application is gone. Nothing that it holds works any more."),
    ("connected", "Connected. What was there came in; what is new follows by itself."),
    ("known", "You were connected to it already. Nothing was changed."),
    ("found", "There was something new. It is in your feed."),
    ("looked", "There was nothing new."),
    ("failed", "That did not work. Beside the source you see why."),
    ("paused", "Paused. Nothing comes in from there until you let it go on."),
    ("resumed", "It goes on."),
    ("disconnected", "Removed. What it brought is still there."),
    ("emptied", "Removed, with everything that it brought."),
    ("replayed", "It is tried again."),
    ("account", "The account is changed."),
];

/// The frame of a page.
pub struct Frame<'a> {
    site: &'a Site,
    person: Option<&'a SignedIn>,
    here: Here,
    notice: Option<&'static str>,
}

impl<'a> Frame<'a> {
    /// The frame of the page at that address.
    pub fn new(site: &'a Site, person: &'a SignedIn, here: Here, uri: &Uri) -> Frame<'a> {
        Frame::of_visitor(site, Some(person), here, uri)
    }

    /// The same of a page that everybody sees.
    pub fn of_visitor(site: &'a Site, person: Option<&'a SignedIn>, here: Here, uri: &Uri) -> Frame<'a> {
        let query = uri.query().unwrap_or_default().as_bytes();
        let done = url::form_urlencoded::parse(query).find(|(name, _)| name == "done");
        let notice = done.and_then(|(_, word)| DONE.iter().find(|(known, _)| *known == word));
        Frame { site, person, here, notice: notice.map(|(_, text)| *text) }
    }

    /// The address of a page or of a form.
    pub fn to(&self, path: impl AsRef<str>) -> String {
        format!("{}{}", self.site.prefix(), path.as_ref())
    }

    /// What a form that goes there has to carry.
    pub fn proof(&self, path: impl AsRef<str>) -> String {
        self.person.map_or_else(String::new, |person| person.csrf(path.as_ref()))
    }

    /// Whether somebody is signed in.
    pub fn is_signed_in(&self) -> bool {
        self.person.is_some()
    }

    /// The account's name.
    pub fn name(&self) -> &str {
        self.person.map_or("", |person| person.account.name.as_str())
    }

    /// Whether the account may see what operators see.
    pub fn operator(&self) -> bool {
        self.person.is_some_and(|person| person.account.operator)
    }

    /// Whether that is where the page is.
    pub fn is(&self, word: &str) -> bool {
        let here = match self.here {
            Here::Feed => "feed",
            Here::Me => "me",
            Here::Settings => "settings",
            Here::Operator => "operator",
            Here::Docs => "docs",
            Here::Elsewhere => "",
        };
        here == word
    }

    /// What was just done.
    pub fn notice(&self) -> Option<&'static str> {
        self.notice
    }
}
