//! Sealed addresses: `{width}/{mac}/{address}`.
//!
//! The address of the picture is in Base64, so that it is one segment of a path. The MAC covers width and address.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use url::Url;

/// The widths in pixels that pictures are served in: icons, thumbnails and large pictures, each for screens of single
/// and double density.
pub const WIDTHS: [u32; 6] = [32, 64, 160, 320, 640, 1_280];

/// The longest address of a picture, in bytes, as in the fetcher.
const MAX_ADDRESS: usize = 2_048;
/// The length of a MAC in bytes: HMAC-SHA256, cut to 128 bits.
const MAC_LENGTH: usize = 16;

/// One of [`WIDTHS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Width(u32);

impl Width {
    /// The smallest width with at least this many pixels, or the largest of all.
    pub fn at_least(pixels: u32) -> Width {
        let [.., largest] = WIDTHS;
        Width(WIDTHS.into_iter().find(|width| *width >= pixels).unwrap_or(largest))
    }

    /// The width in pixels.
    pub fn pixels(self) -> u32 {
        self.0
    }

    /// This width and the other one of its pair. Both are made from one fetch.
    pub(crate) fn pair(self) -> [Width; 2] {
        let pairs = WIDTHS.chunks_exact(2).filter_map(|pair| pair.first_chunk::<2>());
        pairs.copied().find(|pair| pair.contains(&self.0)).unwrap_or([self.0; 2]).map(Width)
    }

    fn parse(text: &str) -> Option<Width> {
        WIDTHS.into_iter().find(|width| width.to_string() == text).map(Width)
    }
}

/// A request for a picture that one of our pages printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaRequest {
    /// The address of the picture.
    pub url: Url,
    /// The width to serve it in.
    pub width: Width,
}

/// Seals addresses of pictures.
pub struct Sealer {
    /// The first one seals, any of them opens.
    keys: Vec<hmac::Key>,
}

impl Sealer {
    /// A sealer with these keys: the first one seals, any of them opens.
    pub fn new(keys: Vec<hmac::Key>) -> Sealer {
        Sealer { keys }
    }

    /// The sealed address of a picture in at least this width. `None` if the address is not one of http or https, or
    /// too long.
    pub fn seal(&self, address: &str, pixels: u32) -> Option<String> {
        if address.len() > MAX_ADDRESS {
            return None;
        }
        let mut url = Url::parse(address).ok().filter(is_web)?;
        url.set_fragment(None);
        if url.as_str().len() > MAX_ADDRESS {
            return None;
        }
        let width = Width::at_least(pixels);
        let tag = mac(self.keys.first()?, width, url.as_str());
        let (tag, address) = (URL_SAFE_NO_PAD.encode(tag), URL_SAFE_NO_PAD.encode(url.as_str()));
        Some(format!("{}/{tag}/{address}", width.pixels()))
    }

    /// Opens a sealed address. `None` unless the MAC is right.
    pub fn open(&self, width: &str, tag: &str, address: &str) -> Option<MediaRequest> {
        let width = Width::parse(width)?;
        let tag = URL_SAFE_NO_PAD.decode(tag).ok()?;
        let address = String::from_utf8(URL_SAFE_NO_PAD.decode(address).ok()?).ok()?;
        let verifies = |key: &hmac::Key| verify_slices_are_equal(&mac(key, width, &address), &tag).is_ok();
        if !self.keys.iter().any(verifies) {
            return None;
        }
        let url = Url::parse(&address).ok().filter(is_web)?;
        Some(MediaRequest { url, width })
    }
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host()
}

fn mac(key: &hmac::Key, width: Width, address: &str) -> [u8; MAC_LENGTH] {
    let tag = hmac::sign(key, format!("{} {address}", width.pixels()).as_bytes());
    tag.as_ref().first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "https://pictures.example.net/a.jpg?size=l";

    fn key(byte: u8) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &[byte; 32])
    }

    fn open(sealer: &Sealer, path: &str) -> Option<MediaRequest> {
        let parts: Vec<&str> = path.split('/').collect();
        sealer.open(parts[0], parts[1], parts[2])
    }

    #[test]
    fn a_sealed_address_opens_to_address_and_width() {
        let sealer = Sealer::new(vec![key(1)]);
        let path = sealer.seal(ADDRESS, 100).unwrap();
        assert!(path.starts_with("160/") && path.split('/').count() == 3, "{path}");
        assert!(path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_-".contains(&byte)), "{path}");
        let request = open(&sealer, &path).unwrap();
        assert_eq!((request.url.as_str(), request.width.pixels()), (ADDRESS, 160));
        assert_eq!(sealer.seal(&format!("{ADDRESS}#part"), 100).unwrap(), path, "without the fragment");
    }

    #[test]
    fn any_change_makes_a_sealed_address_invalid() {
        let sealer = Sealer::new(vec![key(1)]);
        let path = sealer.seal(ADDRESS, 100).unwrap();
        for at in 0..path.len() {
            let mut altered = path.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            if altered.split('/').count() == 3 {
                assert_eq!(open(&sealer, &altered), None, "{altered}");
            }
        }
        let wider = path.replacen("160/", "320/", 1);
        assert_eq!(open(&sealer, &wider), None, "the width is sealed too");
        for path in ["160//", "160/AAAA/aHR0cHM6Ly9hLmI", "0160/AAAA/aHR0cHM6Ly9hLmI"] {
            assert_eq!(open(&sealer, path), None, "{path}");
        }
    }

    #[test]
    fn an_older_key_opens_and_an_unknown_one_does_not() {
        let old = Sealer::new(vec![key(1)]).seal(ADDRESS, 64).unwrap();
        let both = Sealer::new(vec![key(2), key(1)]);
        assert!(open(&both, &old).is_some());
        assert_ne!(both.seal(ADDRESS, 64).unwrap(), old);
        assert_eq!(open(&Sealer::new(vec![key(2)]), &old), None);
        assert_eq!(Sealer::new(Vec::new()).seal(ADDRESS, 64), None);
    }

    #[test]
    fn only_web_addresses_are_sealed() {
        let sealer = Sealer::new(vec![key(1)]);
        let long = format!("https://a.example/{}", "x".repeat(MAX_ADDRESS));
        for address in
            ["", "picture.png", "data:image/png;base64,AAAA", "file:///etc/passwd", "ftp://a.b/c", &long]
        {
            assert_eq!(sealer.seal(address, 64), None, "{address}");
        }
        assert!(sealer.seal("http://a.example/", 64).is_some());
    }

    #[test]
    fn widths_are_rounded_up_and_come_in_pairs() {
        for (pixels, width) in [(0, 32), (32, 32), (33, 64), (88, 160), (700, 1_280), (9_999, 1_280)] {
            assert_eq!(Width::at_least(pixels).pixels(), width);
        }
        for (width, pair) in [(32, [32, 64]), (320, [160, 320]), (1_280, [640, 1_280])] {
            assert_eq!(Width::at_least(width).pair().map(Width::pixels), pair);
        }
    }
}
