//! Pictures of objects. Every page gets their addresses from [`picture_address`].

/// The size at which a picture is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PictureSize {
    /// Beside the text, or in a row of covers.
    Small,
    /// As wide as the column.
    Large,
}

/// The path on this site of a picture from another site. `None`: the picture cannot be shown, and a drawing takes its
/// place.
pub(super) fn picture_address(_url: &str, _size: PictureSize) -> Option<String> {
    None
}

/// A picture as shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureView {
    /// The path of the small picture. `None`: a drawing is shown.
    pub small: Option<String>,
    /// The path of the large picture.
    pub large: Option<String>,
    /// The drawing: `photo`, `video`, `song`, `book` or `link`.
    pub drawing: &'static str,
    /// The colour of the drawing, 0 to 5.
    pub hue: u8,
}

impl PictureView {
    /// The picture at this address, of an object of this type.
    pub fn of(url: &str, kind: &str) -> PictureView {
        let drawing = match kind {
            "photo" | "photo-album" | "image" => "photo",
            "video" => "video",
            "song" | "audio" | "playlist" => "song",
            "book" => "book",
            _ => "link",
        };
        let sum = url.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        PictureView {
            small: picture_address(url, PictureSize::Small),
            large: picture_address(url, PictureSize::Large),
            drawing,
            hue: u8::try_from(sum % 6).unwrap_or_default(),
        }
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
            "photo" | "photo-album" | "image" | "video" if made && picture.large.is_some() => Layout::Roomy,
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
        let drawn = PictureView::of("https://pictures.example/1.jpg", "photo");
        let shown =
            PictureView { small: Some("/s".to_owned()), large: Some("/l".to_owned()), ..drawn.clone() };
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
