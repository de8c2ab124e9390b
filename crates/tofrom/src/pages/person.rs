//! The profile page of an account.

use super::frame::Frame;
use super::group::Group;
use super::sources::PageLink;
use crate::site::Site;
use askama::Template;
use model::{Account, FeedQuery};

/// The page.
#[derive(Template)]
#[template(path = "feed/person.html")]
pub struct PersonPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The account shown.
    pub owner: &'a Account,
    /// Whether the reader is this account.
    pub itself: bool,
    /// Whether the reader follows this account.
    pub followed: bool,
    /// Pages on other sites that link back to this profile.
    pub verified: Vec<PageLink>,
    /// The account's activities, grouped.
    pub groups: Vec<Group>,
    /// The query of the next page.
    pub next: Option<FeedQuery>,
    /// Whether pictures from other sites are shown.
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

    /// The target of the follow or unfollow form.
    fn follow_path(&self) -> String {
        let word = if self.followed { "unfollow" } else { "follow" };
        format!("/user/{}/{word}", self.owner.name)
    }

    fn avatar(&self) -> String {
        format!("{}/user/{}/avatar/120.png", self.site.prefix(), self.owner.name)
    }
}
