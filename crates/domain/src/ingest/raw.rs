//! A parsed activity: the fields of the API as text, not validated.
//!
//! All formats are parsed into this form, so that [`normalise`](super::normalise) applies the same rules to all of them.
//! Identifier, received date and user are not included: they never come from a body.

/// The value of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RawValue {
    /// Absent or empty.
    #[default]
    Absent,
    /// A text. Numbers and booleans as they are written.
    Text(String),
    /// Not a text: an object or a list.
    Other,
}

impl RawValue {
    /// A text; an empty one counts as absent.
    pub fn text(text: impl Into<String>) -> RawValue {
        let text = text.into();
        if text.is_empty() { RawValue::Absent } else { RawValue::Text(text) }
    }
}

/// All fields of an activity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawActivity {
    /// `SourceId`: the id of the activity on the service.
    pub source_id: RawValue,
    /// `Title`.
    pub title: RawValue,
    /// `EntrySummary`, the `summary` of an entry in Atom; `None` if omitted.
    pub summary: Option<RawValue>,
    /// `Category`: type and verb in one word.
    pub category: RawValue,
    /// `Verb`.
    pub verb: RawValue,
    /// `Type`.
    pub kind: RawValue,
    /// `SourceService`.
    pub service: RawService,
    /// `CommentsAvailable`.
    pub comments_available: RawValue,
    /// `CommentCount`.
    pub comment_count: RawValue,
    /// `LikeCount`.
    pub like_count: RawValue,
    /// `PublishedDate`.
    pub published: RawValue,
    /// `Visibility`.
    pub visibility: RawValue,
    /// `To`; `None` if omitted.
    pub to: Option<Vec<RawValue>>,
    /// All other fields that could be the object, by name. The type decides which one is.
    pub objects: Vec<(String, RawObject)>,
}

/// `SourceService`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawService {
    /// `Name`.
    pub name: RawValue,
    /// `IconURL`.
    pub icon: RawValue,
    /// `WebsiteURL`.
    pub website: RawValue,
}

/// The object, in a field named after its type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawObject {
    /// `Title`.
    pub title: RawValue,
    /// `Description`.
    pub description: RawValue,
    /// `Thumbnail`.
    pub thumbnail: RawThumbnail,
    /// `Url`.
    pub url: RawValue,
    /// `AlternateUrl`, the object's `link rel="alternate"` in Atom; `None` if omitted.
    pub alternate: Option<RawValue>,
}

/// `Thumbnail`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawThumbnail {
    /// `Url`.
    pub url: RawValue,
    /// `Height`.
    pub height: RawValue,
    /// `Width`.
    pub width: RawValue,
}
