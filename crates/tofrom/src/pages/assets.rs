//! The files that pages refer to, each under a name that changes with its content.
//!
//! So a browser may keep one for ever, and yet never shows a page with a style that is not the page's.

use crate::site::Site;
use std::sync::LazyLock;

/// How many bytes of the content's hash are in the name: enough that no two versions share one.
const HASH_BYTES: usize = 8;

/// The style of all pages.
pub static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("style", "css", "text/css; charset=utf-8", include_str!("../../assets/style.css"))
});

/// What makes pages nicer.
pub static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("page", "js", "text/javascript; charset=utf-8", include_str!("../../assets/page.js"))
});

/// Two arrows, to and fro: the icon, and what stands before the name.
pub static MARK: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("mark", "svg", "image/svg+xml", include_str!("../../assets/mark.svg")));

/// A file that pages refer to.
#[derive(Debug)]
pub struct Asset {
    name: String,
    media_type: &'static str,
    content: &'static str,
}

impl Asset {
    fn new(stem: &str, extension: &str, media_type: &'static str, content: &'static str) -> Asset {
        let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, content.as_bytes());
        let hash: String = hash.as_ref().iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect();
        Asset { name: format!("{stem}-{hash}.{extension}"), media_type, content }
    }

    /// The asset of that name, if there is one now.
    pub fn find(name: &str) -> Option<&'static Asset> {
        [&STYLE, &SCRIPT, &MARK].into_iter().map(|asset| &**asset).find(|asset| asset.name == name)
    }

    /// Its name, with the hash.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where pages of that site find it.
    pub fn path(&self, site: &Site) -> String {
        format!("{}/assets/{}", site.prefix(), self.name)
    }

    /// What it is.
    pub fn media_type(&self) -> &'static str {
        self.media_type
    }

    /// What is in it.
    pub fn content(&self) -> &'static str {
        self.content
    }
}
