//! Judges what was said. Nothing here does I/O or reads a clock: the same activity at the same time is always judged
//! alike, whichever way it came.

use super::fields::{count, description, flag, number, text, title, url};
use super::raw::{RawActivity, RawObject, RawThumbnail};
use super::read::counts_after;
use super::{Refused, Said};
use model::{
    AccountName, Body, Comments, Format, Kind, Millis, Object, Service, ServiceName, Thumbnail, Verb,
    Visibility, parse_category,
};
use std::collections::BTreeSet;

/// Bytes of a source's identifier.
pub(crate) const MAX_SOURCE_ID: usize = 512;
/// Accounts that one activity addresses.
pub(crate) const MAX_TO: usize = 100;
/// How far ahead of the clock something may be published: clocks differ, and some people live in tomorrow.
const MAX_AHEAD: i64 = 24 * 60 * 60 * 1_000;

/// Which of what only Atom shows was not said: it stays as it was where there is an earlier version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsaid {
    /// The entry's own summary.
    pub summary: bool,
    /// The object's alternate link.
    pub alternate: bool,
    /// Counts that Atom cannot say.
    pub counts: bool,
}

/// An activity that may be taken in. What is `None` stays as it was where there is an earlier version, and has its
/// default where there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// What is shown of it.
    pub body: Body,
    /// What an earlier version adds to that.
    pub unsaid: Unsaid,
    /// The type of its object.
    pub kind: Kind,
    /// What was done.
    pub verb: Verb,
    /// When it was published; else when it is received.
    pub published: Option<Millis>,
    /// Who may see it; else everybody.
    pub visibility: Option<Visibility>,
    /// Whom it addresses; else nobody. Sorted, without repeats and without texts that can't be a name.
    pub to: Option<Vec<AccountName>>,
    /// When it was received, if not now. Nothing that comes from outside sets this: the demo does, to look like life.
    pub received: Option<Millis>,
}

impl Draft {
    /// The body of the version that this becomes where `before` is the body of the version before. A summary that is the
    /// description is none, and so is an alternate link that is the address: both are shown for them anyway.
    pub fn body_after(&self, before: Option<&Body>) -> Body {
        let mut body = self.body.clone();
        if self.unsaid.counts {
            let before = before.map(|before| before.comments);
            body.comments = counts_after(Format::Atom, body.comments, before);
        }
        body.to = match (&self.to, before) {
            (Some(to), _) => to.clone(),
            (None, Some(before)) => before.to.clone(),
            (None, None) => Vec::new(),
        };
        if let Some(before) = before {
            if self.unsaid.summary {
                body.summary.clone_from(&before.summary);
            }
            if self.unsaid.alternate {
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

/// The draft of what was said, or the first thing that is wrong with it.
pub fn normalise(raw: &RawActivity, now: Millis) -> Result<Draft, Refused> {
    let title = title("Title", &raw.title)?.ok_or_else(|| missing("Title", "a sentence for people"))?;
    let Facets { kind, verb, object, unsaid_alternate } = facets(raw)?;
    let summary = raw.summary.as_ref().map(|said| description("EntrySummary", said)).transpose()?;
    Ok(Draft {
        unsaid: Unsaid { summary: summary.is_none(), alternate: unsaid_alternate, counts: false },
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
    Refused::new(field, format!("is needed: {what}"))
}

fn source_id(said: &Said) -> Result<String, Refused> {
    let field = "SourceId";
    let id = text(field, said)?
        .ok_or_else(|| missing(field, "the identifier that the service itself gives it"))?;
    if id.len() > MAX_SOURCE_ID || id.chars().any(char::is_control) {
        return Err(Refused::new(field, "expected 1 to 512 bytes without control characters"));
    }
    Ok(id.to_owned())
}

fn service_name(said: &Said) -> Result<ServiceName, Refused> {
    let field = "SourceService.Name";
    let name = text(field, said)?.ok_or_else(|| missing(field, "the service on which it was done"))?;
    ServiceName::parse(name).ok_or_else(|| {
        let rule = "expected 1 to 64 characters without slash, comma, control character or blanks around it";
        Refused::new(field, rule)
    })
}

struct Facets {
    kind: Kind,
    verb: Verb,
    object: Object,
    unsaid_alternate: bool,
}

/// Type, verb and object go together: the object stands under the name of its type, and `Category` can't be taken
/// apart for a type that nobody knows without that name.
fn facets(raw: &RawActivity) -> Result<Facets, Refused> {
    let word = "expected a word of letters, digits and hyphens, or its IRI";
    let kind = text("Type", &raw.kind)?
        .map(|text| Kind::parse(text).ok_or_else(|| Refused::new("Type", word)))
        .transpose()?;
    let verb = text("Verb", &raw.verb)?
        .map(|text| Verb::parse(text).ok_or_else(|| Refused::new("Verb", word)))
        .transpose()?;
    let spoken =
        text("Category", &raw.category)?.map(|text| categorised(text, kind.as_ref(), raw)).transpose()?;
    if let (Some((_, from_category)), Some(verb)) = (&spoken, &verb)
        && from_category != verb
    {
        return Err(Refused::new("Verb", "says something else than Category: give one of them"));
    }
    let (kind, verb) = match (spoken, kind, verb) {
        (Some(both), ..) => both,
        (None, Some(kind), Some(verb)) => (kind, verb),
        (None, None, Some(_)) => {
            return Err(missing("Type", "with Verb, the type of the object, like bookmark"));
        }
        (None, Some(_), None) => return Err(missing("Verb", "with Type, what was done, like shared")),
        (None, None, None) => {
            return Err(missing("Category", "like BookmarkShared, or else Verb and Type"));
        }
    };
    let (object, unsaid_alternate) = object(&kind, raw)?;
    Ok(Facets { kind, verb, object, unsaid_alternate })
}

/// The type and verb of a `Category`: of the `Type` beside it, else of an object that is there, else of a known type.
fn categorised(text: &str, told: Option<&Kind>, raw: &RawActivity) -> Result<(Kind, Verb), Refused> {
    let found = match told {
        Some(kind) => parse_category(text, Some(kind)),
        None => {
            // Of the objects whose type begins the word, the longest name: `Top-hat` before `Top`.
            let mut there: Vec<_> = raw.objects.iter().filter_map(|(name, _)| Kind::parse(name)).collect();
            there.sort_by_key(|kind| std::cmp::Reverse(kind.as_str().len()));
            there
                .iter()
                .find_map(|kind| parse_category(text, Some(kind)))
                .or_else(|| parse_category(text, None))
        }
    };
    found.ok_or_else(|| {
        let rule = "expected the object's type and what was done with it, like BookmarkShared";
        Refused::new("Category", rule)
    })
}

/// The object, and whether nothing was said of its alternate link.
fn object(kind: &Kind, raw: &RawActivity) -> Result<(Object, bool), Refused> {
    let name = kind.element();
    let exact = raw.objects.iter().find(|(element, _)| *element == name);
    let any_case = || raw.objects.iter().find(|(element, _)| Kind::parse(element).as_ref() == Some(kind));
    let what = "the object, with Title or Url";
    let (_, said) = exact.or_else(any_case).ok_or_else(|| missing(&name, what))?;
    let RawObject { title: object_title, description: text, thumbnail: picture, url: address, alternate } =
        said;
    let page = alternate.as_ref().map(|said| url(&format!("{name}.AlternateUrl"), said)).transpose()?;
    let object = Object {
        title: title(&format!("{name}.Title"), object_title)?,
        description: description(&format!("{name}.Description"), text)?,
        thumbnail: thumbnail(&name, picture)?,
        url: url(&format!("{name}.Url"), address)?,
        alternate: page.flatten(),
    };
    if object.title.is_none() && object.url.is_none() {
        return Err(Refused::new(name, "needs Title or Url"));
    }
    Ok((object, alternate.is_none()))
}

fn thumbnail(object: &str, said: &RawThumbnail) -> Result<Option<Thumbnail>, Refused> {
    if *said == RawThumbnail::default() {
        return Ok(None);
    }
    let field = format!("{object}.Thumbnail.Url");
    Ok(Some(Thumbnail {
        url: url(&field, &said.url)?.ok_or_else(|| missing(&field, "the picture's address"))?,
        height: number(&format!("{object}.Thumbnail.Height"), &said.height)?,
        width: number(&format!("{object}.Thumbnail.Width"), &said.width)?,
    }))
}

/// Counts beat the flag, and where one is given the other is 0.
fn comments(raw: &RawActivity) -> Result<Comments, Refused> {
    let comments = count("CommentCount", &raw.comment_count)?;
    let likes = count("LikeCount", &raw.like_count)?;
    let available = flag("CommentsAvailable", &raw.comments_available)?;
    Ok(match (comments, likes) {
        (None, None) => Comments::Available(available.unwrap_or(false)),
        (comments, likes) => Comments::Counted { comments: comments.unwrap_or(0), likes: likes.unwrap_or(0) },
    })
}

fn published(said: &Said, now: Millis) -> Result<Option<Millis>, Refused> {
    let field = "PublishedDate";
    let Some(text) = text(field, said)? else { return Ok(None) };
    let published = Millis::parse(text).map_err(|why| Refused::new(field, why.to_string()))?;
    if published.0 > now.0.saturating_add(MAX_AHEAD) {
        return Err(Refused::new(field, "is more than 24 hours ahead"));
    }
    Ok(Some(published))
}

fn visibility(said: &Said) -> Result<Option<Visibility>, Refused> {
    let field = "Visibility";
    let word = |text| {
        Visibility::parse(text).ok_or_else(|| Refused::new(field, "expected public, followers or direct"))
    };
    text(field, said)?.map(word).transpose()
}

fn addressed(names: &[Said]) -> Result<Vec<AccountName>, Refused> {
    if names.len() > MAX_TO {
        return Err(Refused::new("To", format!("at most {MAX_TO} names")));
    }
    let texts = names.iter().map(|name| text("To", name)).collect::<Result<Vec<_>, _>>()?;
    let names: BTreeSet<_> =
        texts.into_iter().flatten().filter_map(|name| AccountName::parse(name).ok()).collect();
    Ok(names.into_iter().collect())
}

#[cfg(test)]
#[path = "normalise_tests.rs"]
mod tests;
