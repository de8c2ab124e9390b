//! An activity as somebody wrote it: the contract's fields, as text where text is due, unjudged.
//!
//! Every representation is read into this one form, so that the rules of [`normalise`](super::normalise) hold for all
//! of them alike. Identifier, received date and user are not among the fields: they never come from a body.

/// What was said of one field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Said {
    /// Nothing, or an empty text.
    #[default]
    Nothing,
    /// A text; numbers and booleans are what they are written as.
    Text(String),
    /// Something that is no text: an object, a list.
    Other,
}

impl Said {
    /// A text; an empty one says nothing.
    pub fn text(text: impl Into<String>) -> Said {
        let text = text.into();
        if text.is_empty() { Said::Nothing } else { Said::Text(text) }
    }
}

/// Everything that an activity can say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawActivity {
    /// `SourceId`: the service's own id of it.
    pub source_id: Said,
    /// `Title`.
    pub title: Said,
    /// `EntrySummary`, the `summary` of an entry in Atom; `None` where it is not said at all.
    pub summary: Option<Said>,
    /// `Category`: type and verb in one word.
    pub category: Said,
    /// `Verb`.
    pub verb: Said,
    /// `Type`.
    pub kind: Said,
    /// `SourceService`.
    pub service: RawService,
    /// `CommentsAvailable`.
    pub comments_available: Said,
    /// `CommentCount`.
    pub comment_count: Said,
    /// `LikeCount`.
    pub like_count: Said,
    /// `PublishedDate`.
    pub published: Said,
    /// `Visibility`.
    pub visibility: Said,
    /// `To`; `None` where it is not said at all.
    pub to: Option<Vec<Said>>,
    /// Everything else that could be the object, by its name: which one is, the type decides.
    pub objects: Vec<(String, RawObject)>,
}

/// `SourceService`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawService {
    /// `Name`.
    pub name: Said,
    /// `IconURL`.
    pub icon: Said,
    /// `WebsiteURL`.
    pub website: Said,
}

/// The object, under the name of its type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawObject {
    /// `Title`.
    pub title: Said,
    /// `Description`.
    pub description: Said,
    /// `Thumbnail`.
    pub thumbnail: RawThumbnail,
    /// `Url`.
    pub url: Said,
    /// `AlternateUrl`, the object's `link rel="alternate"` in Atom; `None` where it is not said at all.
    pub alternate: Option<Said>,
}

/// `Thumbnail`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawThumbnail {
    /// `Url`.
    pub url: Said,
    /// `Height`.
    pub height: Said,
    /// `Width`.
    pub width: Said,
}
