//! What an address and its headers may say.

use super::Schema;
use crate::http::KINDS;
use model::{DEFAULT_COUNT, Format, MAX_PAGE};
use serde_json::{Value, json};

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the path.
    Path,
    /// In the query string.
    Query,
    /// In a header.
    Header,
}

impl Place {
    /// Its word in the document.
    pub fn as_str(self) -> &'static str {
        match self {
            Place::Path => "path",
            Place::Query => "query",
            Place::Header => "header",
        }
    }
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Where it stands.
    pub place: Place,
    /// What it means.
    pub about: String,
    /// What it may be.
    pub schema: Schema,
    example: Option<Value>,
}

/// The largest number that `start` and `count` take.
const MAX_NUMBER: u32 = i32::MAX as u32;
/// What an account's name looks like; its case does not matter.
pub(super) const ACCOUNT_NAME: &str = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";
/// What an activity's identifier looks like.
pub(super) const IDENTIFIER: &str = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$";

/// What a source's name looks like.
pub(super) const SOURCE_NAME: &str = "^[a-z0-9][a-z0-9._-]{0,63}$";

impl Parameter {
    fn new(name: &'static str, place: Place, about: impl Into<String>, schema: Schema) -> Parameter {
        Parameter { name, place, about: about.into(), schema, example: None }
    }

    fn like(self, example: impl Into<Value>) -> Parameter {
        Parameter { example: Some(example.into()), ..self }
    }

    /// As the document says it.
    pub(super) fn document(&self) -> Value {
        let mut said = json!({
            "name": self.name,
            "in": self.place.as_str(),
            "required": self.place == Place::Path,
            "description": self.about,
            "schema": Value::from(self.schema.clone()),
        });
        if let (Some(example), Value::Object(said)) = (&self.example, &mut said) {
            said.insert("example".to_owned(), example.clone());
        }
        said
    }
}

/// The parameters that stand in a path, in their order.
pub(super) fn in_path(path: &str) -> Vec<Parameter> {
    let segments = path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    segments.filter_map(segment).collect()
}

fn segment(name: &str) -> Option<Parameter> {
    let account = |name, about| {
        Parameter::new(name, Place::Path, about, Schema::text().pattern(ACCOUNT_NAME)).like("alice")
    };
    Some(match name {
        "user" => account("user", "The account's name, in any case."),
        "other" => account("other", "The name of the other account, in any case.").like("carol"),
        "service" => Parameter::new(
            "service",
            Place::Path,
            "The service's name: 1 to 64 characters without slash, comma, control character or blanks around it, \
             percent-encoded, in any case.",
            Schema::text().length(1, 64),
        )
        .like("Delicious"),
        "source" => Parameter::new(
            "source",
            Place::Path,
            "What the service itself calls the activity: 1 to 512 bytes of text without control characters, \
             percent-encoded; a slash in it is `%2F`.",
            Schema::text().length(1, crate::ingest::MAX_SOURCE_ID),
        )
        .like("post-42"),
        "activity" => Parameter::new(
            "activity",
            Place::Path,
            "The activity's identifier.",
            Schema::text().pattern(IDENTIFIER),
        )
        .like("01a1dc1e-de01-7f0f-88b3-717cbb004bb1"),
        "name" => Parameter::new(
            "name",
            Place::Path,
            "What the account calls the source.",
            Schema::text().pattern(SOURCE_NAME),
        )
        .like("blog"),
        "kind" => Parameter::new(
            "kind",
            Place::Path,
            "The last segment of a problem's `type`.",
            Schema::text().words(KINDS.iter().map(|kind| kind.slug)),
        )
        .like("parameter"),
        _ => return None,
    })
}

/// The parameters of a collection.
pub(super) fn of_collections() -> Vec<Parameter> {
    let query = |name, about: &str, schema| Parameter::new(name, Place::Query, about, schema);
    let names = || Schema::list(Schema::text());
    let time = || Schema::text().format("date-time");
    vec![
        query(
            "start",
            "How many items to step over; at most 100,000 entries unless the installation says otherwise. Not \
             together with `cursor`, and not on a stream.",
            Schema::number(0, MAX_NUMBER).default_to(0),
        ),
        query(
            "count",
            &format!(
                "How many items at most. Up to 1,000, unless the installation says otherwise, are served as asked. A \
                 larger number is served if no more items follow than that; else it is refused: ask for less and \
                 follow the `next` links. On a stream: how many recent ones come first, {MAX_PAGE} at most, none unless \
                 asked for."
            ),
            Schema::number(0, MAX_NUMBER).default_to(DEFAULT_COUNT),
        )
        .like(5),
        query("service", "Only from these services, in any case.", names()),
        query("type", "Only with objects of these types: words like `photo`, or their IRIs.", names()),
        query("verb", "Only where this was done: `shared`, `share` or the IRI.", names()),
        query(
            "orderby",
            "By which time, newest first; in any case. A stream is in the order of arrival.",
            Schema::text().words(["receivedDate", "pubDate"]).default_to("receivedDate"),
        ),
        query("receivedsince", "Received at or after this time, with an offset.", time()),
        query("receivedbefore", "Received before this time.", time()),
        query("publishedsince", "Published at or after this time.", time()),
        query("publishedbefore", "Published before this time.", time()),
        format(&Format::ALL),
        query(
            "cursor",
            "Goes on from an earlier answer: as it stands in a `next` or an `updates` link.",
            Schema::text(),
        ),
        if_none_match(),
        Parameter::new(
            "Last-Event-ID",
            Place::Header,
            "On a stream: the `id` of the last event that came before. It beats `cursor`.",
            Schema::text(),
        ),
    ]
}

/// The parameters of a list of people.
pub(super) fn of_lists(offers: &[Format]) -> Vec<Parameter> {
    let about = format!("How many accounts at most. A page holds {MAX_PAGE} and its `next` link goes on.");
    let count = Schema::number(0, MAX_NUMBER).default_to(DEFAULT_COUNT);
    let cursor = "Goes on from an earlier answer: as it stands in a `next` link.";
    vec![
        Parameter::new("count", Place::Query, about, count),
        format(offers),
        Parameter::new("cursor", Place::Query, cursor, Schema::text()),
    ]
}

/// A parameter of a step of OAuth, where it stands in the query.
pub(super) fn of_step(name: &'static str, schema: Schema) -> Parameter {
    let about =
        "A parameter of the protocol, if it is not in the `Authorization` header. All stand in one place.";
    Parameter::new(name, Place::Query, about, schema)
}

/// The representation, in the address.
pub(super) fn format(offers: &[Format]) -> Parameter {
    let about = "The representation, in any case; it beats `Accept`. Without both it is XML.";
    let words = Schema::text().words(offers.iter().map(|format| format.as_str()));
    Parameter::new("format", Place::Query, about, words)
}

/// Whether what a source brought goes with it.
pub(super) fn activities() -> Parameter {
    let about = "Whether everything that it brought is deleted too.";
    Parameter::new(
        "activities",
        Place::Query,
        about,
        Schema::text().words(["true", "false"]).default_to("false"),
    )
}

/// What the caller has already.
pub(super) fn if_none_match() -> Parameter {
    let about = "The `ETag` of an earlier answer: if nothing has changed, the answer is 304.";
    Parameter::new("If-None-Match", Place::Header, about, Schema::text())
}

/// Which application asks.
pub(super) fn consumer() -> Parameter {
    let about = "The consumer key of the application that asks, beside Basic or a pre-shared key. An installation can \
                 demand it.";
    Parameter::new("ServiceConsumerKey", Place::Header, about, Schema::text())
}
