//! One person.

use super::frame::Frame;
use super::group::Group;
use super::sources::Link;
use crate::site::Site;
use askama::Template;
use model::{Account, FeedQuery};

/// The page.
#[derive(Template)]
#[template(path = "feed/person.html")]
pub struct PersonPage<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What stands around it.
    pub frame: Frame<'a>,
    /// Whom it is about.
    pub owner: &'a Account,
    /// Whether the reader is this person.
    pub itself: bool,
    /// Whether the reader follows them.
    pub followed: bool,
    /// Pages elsewhere that say to be theirs.
    pub verified: Vec<Link>,
    /// What they did.
    pub groups: Vec<Group>,
    /// Where it goes on.
    pub next: Option<FeedQuery>,
    /// Whether pictures of other sites are shown.
    pub pictures: bool,
}

impl PersonPage<'_> {
    fn path(&self, query: &str) -> String {
        let pictures = if self.pictures { "&pictures=1" } else { "" };
        format!("{}/user/{}?{query}{pictures}", self.site.prefix(), self.owner.name)
    }

    fn older(&self) -> Option<String> {
        Some(self.path(&self.next.as_ref()?.render()))
    }

    /// Where the form goes that changes whether the reader follows them.
    fn turn(&self) -> String {
        let word = if self.followed { "unfollow" } else { "follow" };
        format!("/user/{}/{word}", self.owner.name)
    }

    fn avatar(&self) -> String {
        format!("{}/user/{}/avatar/120.png", self.site.prefix(), self.owner.name)
    }
}
