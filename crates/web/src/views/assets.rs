//! Static files of the pages. Each name contains a hash of the content.
//!
//! Browsers can therefore cache a file forever, and a page never gets the style sheet of another version.

use super::service_icon;
use crate::site::Site;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Bytes of the content hash in the name: enough to make collisions between versions implausible.
const HASH_BYTES: usize = 8;

/// The style sheet of all pages.
pub static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("style", "css", "text/css; charset=utf-8", &include_bytes!("../../assets/style.css")[..])
});

/// The script, which is progressive enhancement only.
pub static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("page", "js", "text/javascript; charset=utf-8", &include_bytes!("../../assets/page.js")[..])
});

/// The logo: two arrows, to and from.
pub static MARK: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("mark", "svg", "image/svg+xml", &include_bytes!("../../assets/mark.svg")[..])
});

/// The drawing of error pages.
pub static LOST: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("lost", "svg", "image/svg+xml", &include_bytes!("../../assets/lost.svg")[..])
});

/// The logo for home screens, 192 and 512 pixels wide.
pub static HOME_ICONS: LazyLock<[(u16, Asset); 2]> = LazyLock::new(|| {
    let icon = |png: &'static [u8]| Asset::new("icon", "png", "image/png", png);
    [
        (192, icon(include_bytes!("../../assets/icon-192.png"))),
        (512, icon(include_bytes!("../../assets/icon-512.png"))),
    ]
});

/// The icon that browsers request at a fixed address.
pub const FAVICON: &[u8] = include_bytes!("../../assets/favicon.ico");

/// A static file.
#[derive(Debug)]
pub struct Asset {
    name: String,
    media_type: &'static str,
    content: Cow<'static, [u8]>,
}

impl Asset {
    pub(super) fn new(
        stem: &str,
        extension: &str,
        media_type: &'static str,
        content: impl Into<Cow<'static, [u8]>>,
    ) -> Asset {
        let content = content.into();
        let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &content);
        let hash: String = hash.as_ref().iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect();
        Asset { name: format!("{stem}-{hash}.{extension}"), media_type, content }
    }

    /// The asset with this name (including the hash), if this version has it.
    pub fn find(name: &str) -> Option<&'static Asset> {
        let fixed = [&STYLE, &SCRIPT, &MARK, &LOST].into_iter().map(|asset| &**asset);
        let icons = HOME_ICONS.iter().map(|(_, asset)| asset).chain(service_icon::assets());
        fixed.chain(icons).find(|asset| asset.name == name)
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
    pub fn content(&self) -> &[u8] {
        &self.content
    }
}
