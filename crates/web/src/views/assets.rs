//! Static files of the pages. Each name contains a hash of the content.
//!
//! Browsers can therefore cache a file forever, and a page never gets the style sheet of another version.

use crate::site::Site;
use std::sync::LazyLock;

/// Bytes of the content hash in the name: enough to make collisions between versions implausible.
const HASH_BYTES: usize = 8;

/// The style sheet of all pages.
pub static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("style", "css", "text/css; charset=utf-8", include_str!("../../assets/style.css"))
});

/// The script, which is progressive enhancement only.
pub static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("page", "js", "text/javascript; charset=utf-8", include_str!("../../assets/page.js"))
});

/// The logo: two arrows, to and from.
pub static MARK: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("mark", "svg", "image/svg+xml", include_str!("../../assets/mark.svg")));

/// A static file.
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

    /// The asset with this name (including the hash), if this version has it.
    pub fn find(name: &str) -> Option<&'static Asset> {
        [&STYLE, &SCRIPT, &MARK].into_iter().map(|asset| &**asset).find(|asset| asset.name == name)
    }

    /// Its name, with the hash.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path of the asset on the site.
    pub fn path(&self, site: &Site) -> String {
        format!("{}/assets/{}", site.prefix(), self.name)
    }

    /// The media type.
    pub fn media_type(&self) -> &'static str {
        self.media_type
    }

    /// The content.
    pub fn content(&self) -> &'static str {
        self.content
    }
}
