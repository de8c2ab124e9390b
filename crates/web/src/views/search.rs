//! The results of a search.

use super::frame::Frame;
use super::group::Day;
use crate::site::Site;
use askama::Template;
use model::Account;

/// The page.
#[derive(Template)]
#[template(path = "feed/search.html")]
pub struct SearchPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The search; empty for none.
    pub words: &'a str,
    /// The accounts whose name begins with it.
    pub people: Vec<Account>,
    /// The activities that have its words, by day.
    pub days: Vec<Day>,
    /// Whether the store can search activities.
    pub searches_text: bool,
    /// Whether the search took too long.
    pub is_too_broad: bool,
    /// Whether more activities may match.
    pub more: bool,
}
