//! Pictures of objects. Their addresses lead to the media proxy of this server.

use crate::media::{Media, PicturePaths, PictureSizes};
use std::sync::Arc;

/// A picture as shown.
#[derive(Clone, Debug)]
pub struct PictureView {
    /// `None`: a drawing is shown.
    sizes: Option<Arc<PictureSizes>>,
    /// The drawing: `photo`, `video`, `song`, `book` or `link`.
    pub drawing: &'static str,
    /// The colour of the drawing, 0 to 5.
    pub hue: u8,
}

impl PictureView {
    /// The picture at this address of another site, of an object of this type.
    pub fn of(media: &Media, url: &str, kind: &str) -> PictureView {
        PictureView { sizes: media.paths(url), ..PictureView::drawn(url, kind) }
    }

    /// The small picture.
    pub fn small(&self) -> Option<&PicturePaths> {
        self.sizes.as_ref().map(|sizes| &sizes.small)
    }

    /// The large picture.
    pub fn large(&self) -> Option<&PicturePaths> {
        self.sizes.as_ref().map(|sizes| &sizes.large)
    }

    /// A drawing in place of the picture.
    fn drawn(url: &str, kind: &str) -> PictureView {
        let drawing = match kind {
            "photo" | "photo-album" | "image" => "photo",
            "video" => "video",
            "song" | "audio" | "playlist" => "song",
            "book" => "book",
            _ => "link",
        };
        let sum = url.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        PictureView { sizes: None, drawing, hue: u8::try_from(sum % 6).unwrap_or_default() }
    }
}

/// How much room an item takes: size follows weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Text only.
    Plain,
    /// A small cover at the end of the line.
    Brief,
    /// A small picture beside the text.
    Beside,
    /// A picture as wide as the column.
    Roomy,
}

impl Layout {
    /// The layout of an activity with this verb, object type and picture.
    pub fn of(verb: &str, kind: &str, picture: Option<&PictureView>) -> Layout {
        let Some(picture) = picture else { return Layout::Plain };
        let made = matches!(verb, "post" | "create" | "add" | "share");
        match kind {
            "song" | "audio" | "book" => Layout::Brief,
            "photo" | "photo-album" | "image" | "video" if made && picture.large().is_some() => Layout::Roomy,
            _ => Layout::Beside,
        }
    }

    /// The class of the item.
    pub fn class(self) -> &'static str {
        match self {
            Layout::Plain | Layout::Beside => "item",
            Layout::Brief => "item brief",
            Layout::Roomy => "item roomy",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_follows_weight() {
        let drawn = PictureView::drawn("https://pictures.example/1.jpg", "photo");
        let paths = PicturePaths { single: "/1".to_owned(), double: "/2".to_owned() };
        let sizes = Arc::new(PictureSizes { small: paths.clone(), large: paths });
        let shown = PictureView { sizes: Some(sizes), ..drawn.clone() };
        for (verb, kind, picture, layout) in [
            ("post", "photo", None, Layout::Plain),
            ("post", "photo", Some(&drawn), Layout::Beside),
            ("post", "photo", Some(&shown), Layout::Roomy),
            ("like", "video", Some(&shown), Layout::Beside),
            ("play", "song", Some(&shown), Layout::Brief),
            ("post", "article", Some(&shown), Layout::Beside),
        ] {
            assert_eq!(Layout::of(verb, kind, picture), layout, "{verb} {kind}");
        }
    }
}
