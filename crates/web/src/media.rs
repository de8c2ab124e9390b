//! Pictures of other sites on pages: their addresses at the media proxy of this server.

use crate::problem::Problem;
use crate::site::Site;
use ::media::{MediaError, MediaProxy, Picture};
use std::sync::Arc;

/// The media proxy as pages and handlers see it. Clones share it.
#[derive(Clone)]
pub struct Media {
    prefix: Arc<str>,
    proxy: Option<MediaProxy>,
}

impl Media {
    /// The proxy of this site. Without one, pages show no pictures of other sites.
    pub fn new(site: &Site, proxy: Option<MediaProxy>) -> Media {
        Media { prefix: site.prefix().into(), proxy }
    }

    /// The path of a picture at this server, for `src` and `srcset`: scaled down to the next of `media::WIDTHS` with at
    /// least `width` pixels. `None` if the proxy is off or `url` is not an address of http or https.
    pub fn address(&self, url: &str, width: u32) -> Option<String> {
        let sealed = self.proxy.as_ref()?.sealer().seal(url, width)?;
        Some(format!("{}/media/{sealed}", self.prefix))
    }

    /// The size of the cache in bytes; `None` if the proxy is off.
    pub(crate) fn cached_bytes(&self) -> Option<u64> {
        self.proxy.as_ref().map(MediaProxy::cached_bytes)
    }

    /// The picture of such a path. A wrong MAC is rejected without any work.
    pub(crate) async fn picture(&self, width: &str, mac: &str, address: &str) -> Result<Picture, Problem> {
        let proxy = self.proxy.as_ref().ok_or_else(Problem::not_found)?;
        let request = proxy.sealer().open(width, mac, address).ok_or_else(Problem::not_found)?;
        proxy.picture(&request).await.map_err(|error| match error {
            MediaError::NotFound => Problem::not_found(),
            MediaError::Busy => Problem::busy(),
        })
    }
}
