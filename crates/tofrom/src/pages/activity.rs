//! One activity.

use super::frame::Frame;
use super::item::ItemView;
use crate::site::Site;
use askama::Template;
use model::State;

/// The page.
#[derive(Template)]
#[template(path = "feed/activity.html")]
pub struct ActivityPage<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What stands around it.
    pub frame: Frame<'a>,
    /// What is shown.
    pub item: ItemView,
    /// What is known besides.
    pub state: &'a State,
    /// Whether pictures of other sites are shown.
    pub pictures: bool,
}
