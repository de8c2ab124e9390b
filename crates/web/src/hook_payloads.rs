//! Renders what hooks send.

use crate::render::Renderer;
use crate::site::Site;
use domain::feed::Item;
use domain::hooks::Payloads;
use model::{Account, FeedQuery, Format};

/// Renders the activities and addresses in the messages of hooks.
pub struct HookPayloads {
    site: Site,
    renderer: Renderer,
}

impl HookPayloads {
    /// For this site.
    pub fn new(site: Site) -> HookPayloads {
        HookPayloads { renderer: Renderer::new(site.clone()), site }
    }
}

impl Payloads for HookPayloads {
    fn activity(&self, item: &Item) -> String {
        let json =
            item.body.as_ref().map(|body| self.renderer.single(&item.state, &item.actor, body, Format::Json));
        String::from_utf8_lossy(&json.unwrap_or_default()).into_owned()
    }

    fn collection_url(&self, owner: &Account, query: &FeedQuery) -> String {
        self.site.collection_url(&owner.name, query)
    }
}
