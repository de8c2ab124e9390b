//! Queries: [`RawQuery`] has the parameters as sent, [`FeedQuery`] their meaning.

mod filter;
mod raw;

pub use filter::{Filter, Range};
pub use raw::{RawQuery, encode_component};

use crate::hash::Fnv;
use crate::{Binding, Collection, Cursor, CursorError, CursorKeys, Millis, Order, SortKey, SyncToken, Uid};

/// The default number of items on a page.
pub const DEFAULT_COUNT: u32 = 20;

/// The maximum number of accounts on a page of a list, and of recent activities at the start of a stream.
pub const MAX_PAGE: u32 = 200;

/// The maximum of `start` and `count`.
const MAX_NUMBER: u32 = i32::MAX as u32;

/// A representation of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// `application/xml`.
    Xml,
    /// `application/atom+xml`.
    Atom,
    /// `application/json`.
    Json,
    /// `application/fastinfoset`.
    FastInfoset,
    /// `application/activity+json`: ActivityStreams 2.0. Of collections only, and only if `Accept` names it.
    ActivityStreams,
}

impl Format {
    /// The formats that `format` and any range of `Accept` may select, the preferred one first.
    pub const ALL: [Format; 4] = [Format::Xml, Format::Atom, Format::Json, Format::FastInfoset];

    /// The value of the `format` parameter.
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Xml => "xml",
            Format::Atom => "atom",
            Format::Json => "json",
            Format::FastInfoset => "fastinfoset",
            Format::ActivityStreams => "activitystreams",
        }
    }

    /// The media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Format::Xml => "application/xml",
            Format::Atom => "application/atom+xml",
            Format::Json => "application/json",
            Format::FastInfoset => "application/fastinfoset",
            Format::ActivityStreams => "application/activity+json",
        }
    }
}

/// Where a page starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// After this number of items.
    Skip(u32),
    /// After the previous page.
    After {
        /// The last sort key of that page.
        sort_key: SortKey,
        /// The sync token of the pages so far.
        sync_token: SyncToken,
    },
    /// Everything that arrived after the sync token, in the order of arrival.
    Updates(SyncToken),
}

/// A query of one collection, validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedQuery {
    /// The owner of the collection.
    pub owner: Uid,
    /// The collection.
    pub collection: Collection,
    /// The filter.
    pub filter: Filter,
    /// The order.
    pub order: Order,
    /// The start.
    pub start: Start,
    /// The requested maximum number of items.
    pub count: u32,
    /// The representation requested by the URL.
    pub format: Option<Format>,
}

/// An invalid parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{parameter}: {detail}")]
pub struct ParameterError {
    /// The name of the parameter.
    pub parameter: &'static str,
    /// What is wrong, and what was expected.
    pub detail: String,
}

impl ParameterError {
    fn new(parameter: &'static str, detail: impl Into<String>) -> ParameterError {
        ParameterError { parameter, detail: detail.into() }
    }
}

impl FeedQuery {
    /// Validates the parameters of a query of this collection.
    pub fn resolve(
        raw: &RawQuery,
        owner: Uid,
        collection: Collection,
        keys: &CursorKeys,
    ) -> Result<FeedQuery, ParameterError> {
        let filter = Filter::resolve(raw)?;
        let order = match raw.scalar("orderby")? {
            None => Order::default(),
            Some(word) if word.eq_ignore_ascii_case("receivedDate") => Order::Received,
            Some(word) if word.eq_ignore_ascii_case("pubDate") => Order::Published,
            Some(_) => return Err(ParameterError::new("orderby", "expected receivedDate or pubDate")),
        };
        let format = match raw.scalar("format")? {
            None => None,
            Some(word) => {
                Some(Format::ALL.into_iter().find(|f| word.eq_ignore_ascii_case(f.as_str())).ok_or_else(
                    || ParameterError::new("format", "expected xml, atom, json or fastinfoset"),
                )?)
            }
        };
        let count = number(raw, "count")?.unwrap_or(DEFAULT_COUNT);
        let start = match (number(raw, "start")?, raw.scalar("cursor")?) {
            (Some(_), Some(_)) => {
                return Err(ParameterError::new(
                    "cursor",
                    "start and cursor exclude each other; send one of them",
                ));
            }
            (skip, None) => Start::Skip(skip.unwrap_or(0)),
            (None, Some(text)) => {
                let binding = Binding::new(owner, collection, &filter);
                match Cursor::decode(&text, binding, order, keys) {
                    Ok(Cursor::Page { after, sync_token, .. }) => {
                        Start::After { sort_key: after, sync_token }
                    }
                    Ok(Cursor::Updates(sync_token)) => Start::Updates(sync_token),
                    Err(error) => return Err(ParameterError::new("cursor", error.to_string())),
                }
            }
        };
        Ok(FeedQuery { owner, collection, filter, order, start, count, format })
    }

    /// Validates the parameters of a stream of this collection. `count` is the number of recent activities at its
    /// start, 0 by default. `last_event` is the id of the last event received; it takes precedence over a cursor.
    pub fn resolve_live(
        raw: &RawQuery,
        owner: Uid,
        collection: Collection,
        last_event: Option<&str>,
        keys: &CursorKeys,
    ) -> Result<FeedQuery, ParameterError> {
        let mut query = FeedQuery::resolve(raw, owner, collection, keys)?;
        if raw.scalar("start")?.is_some() {
            return Err(ParameterError::new("start", "a stream has no start; leave it out"));
        }
        if query.order != Order::Received {
            return Err(ParameterError::new("orderby", "a stream is in the order of arrival; leave it out"));
        }
        query.count = if raw.scalar("count")?.is_some() { query.count.min(MAX_PAGE) } else { 0 };
        if let Some(text) = last_event.filter(|text| !text.is_empty()) {
            query.start = match Cursor::decode(text, query.binding(), query.order, keys) {
                Ok(Cursor::Updates(sync_token)) => Start::Updates(sync_token),
                Ok(Cursor::Page { .. }) | Err(CursorError::Altered) => {
                    return Err(ParameterError::new(
                        "Last-Event-ID",
                        "expected the id of an event of this stream",
                    ));
                }
                Err(error) => return Err(ParameterError::new("Last-Event-ID", error.to_string())),
            };
        }
        match query.start {
            Start::After { .. } => {
                let detail = "expected the cursor of an updates link, or Last-Event-ID";
                Err(ParameterError::new("cursor", detail))
            }
            Start::Skip(_) | Start::Updates(_) => Ok(query),
        }
    }

    /// The text form of a sync token for this collection and filter: the id of an event, or the cursor of an updates
    /// link.
    pub fn sync_token_text(&self, sync_token: &SyncToken, keys: &CursorKeys) -> String {
        Cursor::Updates(sync_token.clone()).encode(self.binding(), keys)
    }

    /// Parses the cursor of an updates link, or an event id, of this collection under any filters.
    pub fn parse_sync_token(&self, text: &str, keys: &CursorKeys) -> Result<SyncToken, ParameterError> {
        Cursor::decode_sync_token(text, self.binding(), keys)
            .map_err(|error| ParameterError::new("Cursor", error.to_string()))
    }

    fn binding(&self) -> Binding {
        Binding::new(self.owner, self.collection, &self.filter)
    }

    /// The same query with another start.
    #[must_use]
    pub fn from(&self, start: Start) -> FeedQuery {
        FeedQuery { start, ..self.clone() }
    }

    /// The query string without its question mark. Defaults are left out.
    pub fn render(&self, keys: &CursorKeys) -> String {
        let mut pairs = self.filter.parameters();
        if self.order == Order::Published {
            pairs.push(("orderby", "pubDate".to_owned()));
        }
        if let Some(format) = self.format {
            pairs.push(("format", format.as_str().to_owned()));
        }
        if self.count != DEFAULT_COUNT {
            pairs.push(("count", self.count.to_string()));
        }
        let cursor = match &self.start {
            Start::Skip(0) => None,
            Start::Skip(skip) => {
                pairs.push(("start", skip.to_string()));
                None
            }
            Start::After { sort_key, sync_token } => {
                Some(Cursor::Page { order: self.order, after: *sort_key, sync_token: sync_token.clone() })
            }
            Start::Updates(sync_token) => Some(Cursor::Updates(sync_token.clone())),
        };
        if let Some(cursor) = cursor {
            pairs.push(("cursor", cursor.encode(self.binding(), keys)));
        }
        let parts: Vec<String> =
            pairs.iter().map(|(name, value)| format!("{name}={}", encode_component(value))).collect();
        parts.join("&")
    }
}

fn number(raw: &RawQuery, name: &'static str) -> Result<Option<u32>, ParameterError> {
    let Some(text) = raw.scalar(name)? else { return Ok(None) };
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number = if digits { text.parse::<u32>().ok().filter(|n| *n <= MAX_NUMBER) } else { None };
    let invalid = || ParameterError::new(name, format!("expected a whole number from 0 to {MAX_NUMBER}"));
    number.map(Some).ok_or_else(invalid)
}

fn instant(raw: &RawQuery, name: &'static str) -> Result<Option<Millis>, ParameterError> {
    let Some(text) = raw.scalar(name)? else { return Ok(None) };
    Millis::parse(&text).map(Some).map_err(|error| ParameterError::new(name, error.to_string()))
}

impl Binding {
    /// The binding of cursors of a collection with a filter.
    pub fn new(owner: Uid, collection: Collection, filter: &Filter) -> Binding {
        let hash = Fnv::new().bytes(&owner.0.to_be_bytes()).text(collection.as_str());
        let parameters = filter.parameters();
        let filters = parameters.iter().fold(Fnv::new(), |hash, (name, value)| hash.text(name).text(value));
        Binding { collection: hash.finish(), filters: filters.finish() }
    }
}
