//! The page of one activity.

use super::frame::Frame;
use super::item::ItemView;
use crate::site::Site;
use askama::Template;
use model::State;

/// The page.
#[derive(Template)]
#[template(path = "feed/activity.html")]
pub struct ActivityPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The activity as shown.
    pub item: ItemView,
    /// Visibility and recipients.
    pub state: &'a State,
    /// Whether pictures from other sites are shown.
    pub pictures: bool,
}
