//! Validates activities. Nothing here does I/O or reads a clock: the same activity at the same time always gives the same
//! result.

use super::fields::{count, description, flag, number, text, title, url};
use super::raw::{RawActivity, RawObject, RawThumbnail};
use super::{RawValue, Refused};
use model::{
    AccountName, Body, Comments, Format, Kind, Millis, Object, Service, ServiceName, Thumbnail, Verb,
    Visibility, parse_category,
};
use std::collections::BTreeSet;

/// The maximum size of a source id in bytes.
pub const MAX_SOURCE_ID: usize = 512;
/// The maximum number of recipients.
pub const MAX_TO: usize = 100;
/// How far in the future a publication time may be: clocks and time zones differ.
const MAX_FUTURE: i64 = 24 * 60 * 60 * 1_000;

/// The Atom-only fields that the body omits. They keep their value if there is an earlier version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OmittedFields {
    /// The summary of the entry.
    pub summary: bool,
    /// The alternate link of the object.
    pub alternate: bool,
    /// The counts that Atom cannot express.
    pub counts: bool,
}

/// A validated activity. `None` keeps the value of an earlier version, or means the default if there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The content.
    pub body: Body,
    /// The omitted fields, which an earlier version fills in.
    pub omitted: OmittedFields,
    /// The type of its object.
    pub kind: Kind,
    /// The verb.
    pub verb: Verb,
    /// When it was published; by default when it is received.
    pub published: Option<Millis>,
    /// Who may see it; by default everyone.
    pub visibility: Option<Visibility>,
    /// The recipients; by default none. Sorted, without repeats and without invalid names.
    pub to: Option<Vec<AccountName>>,
    /// When it was received, if not now. Never set from outside: only the demo uses it.
    pub received: Option<Millis>,
}

impl Draft {
    /// The body of the next version, given the body of the version before. A summary that equals the description and an
    /// alternate link that equals the address are dropped: the other field is shown in their place anyway.
    pub fn body_after(&self, before: Option<&Body>) -> Body {
        let mut body = self.body.clone();
        if self.omitted.counts {
            let before = before.map(|before| before.comments);
            body.comments = counts_after(Format::Atom, body.comments, before);
        }
        body.to = match (&self.to, before) {
            (Some(to), _) => to.clone(),
            (None, Some(before)) => before.to.clone(),
            (None, None) => Vec::new(),
        };
        if let Some(before) = before {
            if self.omitted.summary {
                body.summary.clone_from(&before.summary);
            }
            if self.omitted.alternate {
                body.object.alternate.clone_from(&before.object.alternate);
            }
        }
        let object = &mut body.object;
        body.summary = body.summary.filter(|summary| object.description.as_ref() != Some(summary));
        object.alternate = match (object.alternate.take(), &object.url) {
            (Some(alternate), Some(url)) if alternate != *url => Some(alternate),
            _ => None,
        };
        body
    }
}

/// Validates an activity. Returns the first error.
pub fn normalise(raw: &RawActivity, now: Millis) -> Result<Draft, Refused> {
    let title = title("Title", &raw.title)?.ok_or_else(|| missing("Title", "a sentence for display"))?;
    let Facets { kind, verb, object, omits_alternate } = facets(raw)?;
    let summary = raw.summary.as_ref().map(|value| description("EntrySummary", value)).transpose()?;
    Ok(Draft {
        omitted: OmittedFields { summary: summary.is_none(), alternate: omits_alternate, counts: false },
        body: Body {
            source_id: source_id(&raw.source_id)?,
            title,
            summary: summary.flatten(),
            service: Service {
                name: service_name(&raw.service.name)?,
                icon: url("SourceService.IconURL", &raw.service.icon)?,
                website: url("SourceService.WebsiteURL", &raw.service.website)?,
            },
            comments: comments(raw)?,
            object,
            imported_by: None,
            to: Vec::new(),
        },
        kind,
        verb,
        published: published(&raw.published, now)?,
        visibility: visibility(&raw.visibility)?,
        to: raw.to.as_deref().map(addressed).transpose()?,
        received: None,
    })
}

fn missing(field: &str, what: &str) -> Refused {
    Refused::new(field, format!("required: {what}"))
}

fn source_id(value: &RawValue) -> Result<String, Refused> {
    let field = "SourceId";
    let id = text(field, value)?.ok_or_else(|| missing(field, "the id of the activity on the service"))?;
    if id.len() > MAX_SOURCE_ID || id.chars().any(char::is_control) {
        return Err(Refused::new(field, "expected 1 to 512 bytes without control characters"));
    }
    Ok(id.to_owned())
}

fn service_name(value: &RawValue) -> Result<ServiceName, Refused> {
    let field = "SourceService.Name";
    let name = text(field, value)?.ok_or_else(|| missing(field, "the service that it was done on"))?;
    ServiceName::parse(name).ok_or_else(|| {
        let rule =
            "expected 1 to 64 characters without slash, comma, control characters or surrounding spaces";
        Refused::new(field, rule)
    })
}

struct Facets {
    kind: Kind,
    verb: Verb,
    object: Object,
    omits_alternate: bool,
}

/// Type, verb and object belong together: the object is in a field named after its type, and a `Category` of an unknown
/// type can only be split with the help of that name.
fn facets(raw: &RawActivity) -> Result<Facets, Refused> {
    let word = "expected a word of letters, digits and hyphens, or its IRI";
    let kind = text("Type", &raw.kind)?
        .map(|text| Kind::parse(text).ok_or_else(|| Refused::new("Type", word)))
        .transpose()?;
    let verb = text("Verb", &raw.verb)?
        .map(|text| Verb::parse(text).ok_or_else(|| Refused::new("Verb", word)))
        .transpose()?;
    let categorised =
        text("Category", &raw.category)?.map(|text| split_category(text, kind.as_ref(), raw)).transpose()?;
    if let (Some((_, from_category)), Some(verb)) = (&categorised, &verb)
        && from_category != verb
    {
        return Err(Refused::new("Verb", "contradicts Category: send only one of them"));
    }
    let (kind, verb) = match (categorised, kind, verb) {
        (Some(both), ..) => both,
        (None, Some(kind), Some(verb)) => (kind, verb),
        (None, None, Some(_)) => {
            return Err(missing("Type", "the type of the object, such as bookmark, together with Verb"));
        }
        (None, Some(_), None) => {
            return Err(missing("Verb", "what was done, such as shared, together with Type"));
        }
        (None, None, None) => {
            return Err(missing("Category", "such as BookmarkShared, or else Verb and Type"));
        }
    };
    let (object, omits_alternate) = object(&kind, raw)?;
    Ok(Facets { kind, verb, object, omits_alternate })
}

/// Type and verb of a `Category`, given the `Type`, else an object in the body, else a known type.
fn split_category(text: &str, kind: Option<&Kind>, raw: &RawActivity) -> Result<(Kind, Verb), Refused> {
    let found = match kind {
        Some(kind) => parse_category(text, Some(kind)),
        None => {
            // The longest matching object name: `Top-hat` before `Top`.
            let mut kinds: Vec<_> = raw.objects.iter().filter_map(|(name, _)| Kind::parse(name)).collect();
            kinds.sort_by_key(|kind| std::cmp::Reverse(kind.as_str().len()));
            kinds
                .iter()
                .find_map(|kind| parse_category(text, Some(kind)))
                .or_else(|| parse_category(text, None))
        }
    };
    found.ok_or_else(|| {
        let rule = "expected the type of the object and what was done, such as BookmarkShared";
        Refused::new("Category", rule)
    })
}

/// The object, and whether its alternate link was omitted.
fn object(kind: &Kind, raw: &RawActivity) -> Result<(Object, bool), Refused> {
    let name = kind.element();
    let exact = raw.objects.iter().find(|(element, _)| *element == name);
    let any_case = || raw.objects.iter().find(|(element, _)| Kind::parse(element).as_ref() == Some(kind));
    let what = "the object, with Title or Url";
    let (_, value) = exact.or_else(any_case).ok_or_else(|| missing(&name, what))?;
    let RawObject { title: object_title, description: text, thumbnail: picture, url: address, alternate } =
        value;
    let page = alternate.as_ref().map(|value| url(&format!("{name}.AlternateUrl"), value)).transpose()?;
    let object = Object {
        title: title(&format!("{name}.Title"), object_title)?,
        description: description(&format!("{name}.Description"), text)?,
        thumbnail: thumbnail(&name, picture)?,
        url: url(&format!("{name}.Url"), address)?,
        alternate: page.flatten(),
    };
    if object.title.is_none() && object.url.is_none() {
        return Err(Refused::new(name, "requires Title or Url"));
    }
    Ok((object, alternate.is_none()))
}

fn thumbnail(object: &str, value: &RawThumbnail) -> Result<Option<Thumbnail>, Refused> {
    if *value == RawThumbnail::default() {
        return Ok(None);
    }
    let field = format!("{object}.Thumbnail.Url");
    Ok(Some(Thumbnail {
        url: url(&field, &value.url)?.ok_or_else(|| missing(&field, "the address of the picture"))?,
        height: number(&format!("{object}.Thumbnail.Height"), &value.height)?,
        width: number(&format!("{object}.Thumbnail.Width"), &value.width)?,
    }))
}

/// Counts take precedence over the flag. If only one count is sent, the other is 0.
fn comments(raw: &RawActivity) -> Result<Comments, Refused> {
    let comments = count("CommentCount", &raw.comment_count)?;
    let likes = count("LikeCount", &raw.like_count)?;
    let available = flag("CommentsAvailable", &raw.comments_available)?;
    Ok(match (comments, likes) {
        (None, None) => Comments::Available(available.unwrap_or(false)),
        (comments, likes) => Comments::Counted { comments: comments.unwrap_or(0), likes: likes.unwrap_or(0) },
    })
}

fn published(value: &RawValue, now: Millis) -> Result<Option<Millis>, Refused> {
    let field = "PublishedDate";
    let Some(text) = text(field, value)? else { return Ok(None) };
    let published = Millis::parse(text).map_err(|why| Refused::new(field, why.to_string()))?;
    if published.0 > now.0.saturating_add(MAX_FUTURE) {
        return Err(Refused::new(field, "is more than 24 hours in the future"));
    }
    Ok(Some(published))
}

fn visibility(value: &RawValue) -> Result<Option<Visibility>, Refused> {
    let field = "Visibility";
    let word = |text| {
        Visibility::parse(text).ok_or_else(|| Refused::new(field, "expected public, followers or direct"))
    };
    text(field, value)?.map(word).transpose()
}

fn addressed(names: &[RawValue]) -> Result<Vec<AccountName>, Refused> {
    if names.len() > MAX_TO {
        return Err(Refused::new("To", format!("expected at most {MAX_TO} names")));
    }
    let texts = names.iter().map(|name| text("To", name)).collect::<Result<Vec<_>, _>>()?;
    let names: BTreeSet<_> =
        texts.into_iter().flatten().filter_map(|name| AccountName::parse(name).ok()).collect();
    Ok(names.into_iter().collect())
}

/// The comment and like counts after a body in this format sent `sent`, where they were `before`.
///
/// Atom cannot express likes, so they stay unchanged, and so does everything that an entry leaves out. Its `thr:total` is
/// 0 also for unknown counts, so a 0 does not count as a count if there was none before.
pub fn counts_after(form: Format, sent: Comments, before: Option<Comments>) -> Comments {
    match (form, sent, before) {
        (Format::Atom, Comments::Available(_), Some(before)) => before,
        (Format::Atom, Comments::Counted { comments: 0, .. }, None) => Comments::Available(false),
        (Format::Atom, Comments::Counted { comments: 0, .. }, Some(Comments::Available(available))) => {
            Comments::Available(available)
        }
        (Format::Atom, Comments::Counted { comments, .. }, Some(Comments::Counted { likes, .. })) => {
            Comments::Counted { comments, likes }
        }
        _ => sent,
    }
}

#[cfg(test)]
#[path = "normalise_tests.rs"]
mod tests;
