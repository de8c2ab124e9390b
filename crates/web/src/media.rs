//! Pictures of other sites on pages: their addresses at the media proxy of this server.

use crate::problem::Problem;
use crate::site::Site;
use ::media::{MediaError, MediaProxy, Picture};
use std::sync::Arc;

/// Maximum bytes of cached paths.
const MAX_CACHED_BYTES: u64 = 8 << 20;
/// About what an entry of the cache takes beside its texts.
const ENTRY_BYTES: usize = 200;
/// The widths in which pictures are shown, in CSS pixels: beside the text or in a row of covers, and as wide as the
/// column.
const SMALL: u32 = 160;
const LARGE: u32 = 640;

/// The paths of a picture on this site, for `src` and `srcset`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PicturePaths {
    /// For screens of single density.
    pub single: String,
    /// For screens of double density.
    pub double: String,
}

/// The paths of a picture in both sizes.
#[derive(Debug)]
pub struct PictureSizes {
    /// Beside the text or in a row of covers.
    pub small: PicturePaths,
    /// As wide as the column.
    pub large: PicturePaths,
}

/// The media proxy as pages and handlers see it. Clones share it.
#[derive(Clone)]
pub struct Media {
    prefix: Arc<str>,
    proxy: Option<MediaProxy>,
    /// By the address of the picture. Neither the key that seals nor the prefix changes while the process runs.
    sealed: moka::sync::Cache<Arc<str>, Arc<PictureSizes>>,
}

impl Media {
    /// The proxy of this site. Without one, pages show no pictures of other sites.
    pub fn new(site: &Site, proxy: Option<MediaProxy>) -> Media {
        let weigh = |url: &Arc<str>, sizes: &Arc<PictureSizes>| {
            let PictureSizes { small, large } = &**sizes;
            let paths = [small, large].map(|paths| paths.single.len() + paths.double.len());
            let bytes = ENTRY_BYTES + url.len() + paths.iter().sum::<usize>();
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        let sealed = moka::sync::Cache::builder().max_capacity(MAX_CACHED_BYTES).weigher(weigh).build();
        Media { prefix: site.prefix().into(), proxy, sealed }
    }

    /// The paths of a picture at this server. `None` if the proxy is off or `url` is not an address of http or https.
    pub fn paths(&self, url: &str) -> Option<Arc<PictureSizes>> {
        self.proxy.as_ref()?;
        if let Some(known) = self.sealed.get(url) {
            return Some(known);
        }
        let paths = |width| {
            let (single, double) = self.address(url, width).zip(self.address(url, 2 * width))?;
            Some(PicturePaths { single, double })
        };
        let sizes = Arc::new(PictureSizes { small: paths(SMALL)?, large: paths(LARGE)? });
        self.sealed.insert(url.into(), Arc::clone(&sizes));
        Some(sizes)
    }

    /// The path of a picture, scaled down to the next of `media::WIDTHS` with at least `width` pixels.
    fn address(&self, url: &str, width: u32) -> Option<String> {
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
