//! Public accounts.

use super::frame::Frame;
use crate::site::Site;
use askama::Template;
use model::Account;

/// An account as listed.
pub struct Listed {
    /// The account.
    pub account: Account,
    /// Whether it is the reader's own.
    pub itself: bool,
    /// Whether the reader follows it.
    pub followed: bool,
}

impl Listed {
    /// The target of the follow or unfollow form.
    fn follow_path(&self) -> String {
        let word = if self.followed { "unfollow" } else { "follow" };
        format!("/user/{}/{word}", self.account.name)
    }
}

/// The page.
#[derive(Template)]
#[template(path = "people.html")]
pub struct FindPeoplePage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The search; empty for none.
    pub words: &'a str,
    /// The accounts found or suggested.
    pub people: Vec<Listed>,
    /// Whether more accounts match.
    pub more: bool,
}
