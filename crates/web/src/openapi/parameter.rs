//! Parameters in paths, queries and headers.

use super::{Schema, examples};
use crate::KINDS;
use model::{DEFAULT_COUNT, Format, MAX_PAGE};
use serde_json::{Value, json};

/// Where a parameter is sent: `in` of OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterLocation {
    /// In the path.
    Path,
    /// In the query string.
    Query,
    /// In a header.
    Header,
}

impl ParameterLocation {
    /// Its value in the document.
    pub fn as_str(self) -> &'static str {
        match self {
            ParameterLocation::Path => "path",
            ParameterLocation::Query => "query",
            ParameterLocation::Header => "header",
        }
    }
}

/// A request parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Where it is sent.
    pub location: ParameterLocation,
    /// Its description.
    pub about: String,
    /// Its schema.
    pub schema: Schema,
    example: Option<Value>,
}

/// The maximum of `start` and `count`.
const MAX_NUMBER: u32 = i32::MAX as u32;
/// The pattern of account names, which are case-insensitive.
pub(super) const ACCOUNT_NAME: &str = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";
/// The pattern of activity identifiers.
pub(super) const IDENTIFIER: &str = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$";

/// The pattern of source names.
pub(super) const SOURCE_NAME: &str = "^[a-z0-9][a-z0-9._-]{0,63}$";

impl Parameter {
    fn new(
        name: &'static str,
        location: ParameterLocation,
        about: impl Into<String>,
        schema: Schema,
    ) -> Parameter {
        Parameter { name, location, about: about.into(), schema, example: None }
    }

    fn with_example(self, example: impl Into<Value>) -> Parameter {
        Parameter { example: Some(example.into()), ..self }
    }

    /// The path with the example in the place of this parameter.
    pub(super) fn fill_in(&self, path: &str) -> String {
        let example = self.example.as_ref().and_then(Value::as_str).unwrap_or_default();
        path.replace(&format!("{{{}}}", self.name), example)
    }

    /// The parameter object.
    pub(super) fn document(&self) -> Value {
        let mut object = json!({
            "name": self.name,
            "in": self.location.as_str(),
            "required": self.location == ParameterLocation::Path,
            "description": self.about,
            "schema": Value::from(self.schema.clone()),
        });
        if let (Some(example), Value::Object(object)) = (&self.example, &mut object) {
            object.insert("example".to_owned(), example.clone());
        }
        object
    }
}

/// The parameters of a path, in order.
pub(super) fn in_path(path: &str) -> Vec<Parameter> {
    let segments = path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    segments.filter_map(segment).collect()
}

fn segment(name: &str) -> Option<Parameter> {
    let account = |name, about| {
        Parameter::new(name, ParameterLocation::Path, about, Schema::text().pattern(ACCOUNT_NAME))
            .with_example("alice")
    };
    Some(match name {
        "user" => account("user", "The name of the account. Case-insensitive."),
        "other" => account("other", "The name of the other account. Case-insensitive.").with_example("carol"),
        "service" => Parameter::new(
            "service",
            ParameterLocation::Path,
            "The name of the service: 1 to 64 characters without slash, comma, control characters or surrounding \
             spaces, percent-encoded. Case-insensitive.",
            Schema::text().length(1, 64),
        )
        .with_example("Delicious"),
        "source" => Parameter::new(
            "source",
            ParameterLocation::Path,
            "The id of the activity on the service: 1 to 512 bytes of text without control characters, \
             percent-encoded. A slash is written `%2F`.",
            Schema::text().length(1, domain::ingest::MAX_SOURCE_ID),
        )
        .with_example("post-42"),
        "activity" => Parameter::new(
            "activity",
            ParameterLocation::Path,
            "The activity's identifier.",
            Schema::text().pattern(IDENTIFIER),
        )
        .with_example(examples::ACTIVITY),
        "id" => Parameter::new(
            "id",
            ParameterLocation::Path,
            "The `Id` of the key.",
            Schema::text().pattern("^[0-9a-f]{16}$"),
        )
        .with_example("be94dd29c62fe27e"),
        "name" => Parameter::new(
            "name",
            ParameterLocation::Path,
            "The name of the source.",
            Schema::text().pattern(SOURCE_NAME),
        )
        .with_example("blog"),
        "kind" => Parameter::new(
            "kind",
            ParameterLocation::Path,
            "The last segment of a problem's `type`.",
            Schema::text().words(KINDS.iter().map(|kind| kind.slug)),
        )
        .with_example("parameter"),
        _ => return None,
    })
}

/// The parameters of a collection.
pub(super) fn of_collections() -> Vec<Parameter> {
    let query = |name, about: &str, schema| Parameter::new(name, ParameterLocation::Query, about, schema);
    let names = || Schema::list(Schema::text());
    let time = || Schema::text().format("date-time");
    vec![
        query(
            "start",
            "The number of items to skip, at most 100,000 entries unless the server is configured otherwise. Cannot be \
             combined with `cursor`, or used on a stream.",
            Schema::number(0, MAX_NUMBER).default_to(0),
        ),
        query(
            "count",
            &format!(
                "The maximum number of items. A page has at most 1,000 items unless the server is configured otherwise. \
                 A larger `count` is an error if more items than that match: request fewer and follow the `next` links. \
                 On a stream: the number of recent items to send first, at most {MAX_PAGE}, by default none."
            ),
            Schema::number(0, MAX_NUMBER).default_to(DEFAULT_COUNT),
        )
        .with_example(5),
        query("service", "Only activities on these services. Case-insensitive.", names()),
        query("type", "Only activities with objects of these types: words such as `photo`, or IRIs.", names()),
        query("verb", "Only activities with these verbs: `shared`, `share` or the IRI.", names()),
        query(
            "orderby",
            "The time to order by, newest first. Case-insensitive. A stream is in the order of arrival.",
            Schema::text().words(["receivedDate", "pubDate"]).default_to("receivedDate"),
        ),
        query("receivedsince", "Received at or after this time, with an offset.", time()),
        query("receivedbefore", "Received before this time.", time()),
        query("publishedsince", "Published at or after this time.", time()),
        query("publishedbefore", "Published before this time.", time()),
        format(&Format::ALL),
        query(
            "cursor",
            "Continues an earlier response: the value from its `next` or `updates` link.",
            Schema::text(),
        ),
        if_none_match(),
        Parameter::new(
            "Last-Event-ID",
            ParameterLocation::Header,
            "On a stream: the `id` of the last received event. Takes precedence over `cursor`.",
            Schema::text(),
        ),
    ]
}

/// The parameters of a list of accounts.
pub(super) fn of_lists(offers: &[Format]) -> Vec<Parameter> {
    let about =
        format!("The maximum number of accounts. A page has at most {MAX_PAGE}; its `next` link continues.");
    let count = Schema::number(0, MAX_NUMBER).default_to(DEFAULT_COUNT);
    let cursor = "Continues an earlier response: the value from its `next` link.";
    vec![
        Parameter::new("count", ParameterLocation::Query, about, count),
        format(offers),
        Parameter::new("cursor", ParameterLocation::Query, cursor, Schema::text()),
    ]
}

/// A parameter of a step of OAuth, sent in the query.
pub(super) fn of_step(name: &'static str, schema: Schema) -> Parameter {
    let about = "An OAuth protocol parameter. Send all of them either here or in the `Authorization` header.";
    Parameter::new(name, ParameterLocation::Query, about, schema)
}

/// The `format` parameter.
pub(super) fn format(offers: &[Format]) -> Parameter {
    let about =
        "The representation. Case-insensitive. Takes precedence over `Accept`; without both it is XML.";
    let words = Schema::text().words(offers.iter().map(|format| format.as_str()));
    Parameter::new("format", ParameterLocation::Query, about, words)
}

/// The `activities` parameter of the deletion of a source.
pub(super) fn activities() -> Parameter {
    let about = "Whether to delete the imported activities too.";
    Parameter::new(
        "activities",
        ParameterLocation::Query,
        about,
        Schema::text().words(["true", "false"]).default_to("false"),
    )
}

/// The `If-None-Match` header.
pub(super) fn if_none_match() -> Parameter {
    let about = "The `ETag` of an earlier response. If nothing has changed, the response is 304.";
    Parameter::new("If-None-Match", ParameterLocation::Header, about, Schema::text())
}

/// The consumer key header.
pub(super) fn consumer() -> Parameter {
    let about = "The consumer key of the calling application, in addition to Basic or a pre-shared key. A server can \
                 be configured to require it.";
    Parameter::new("ServiceConsumerKey", ParameterLocation::Header, about, Schema::text())
}
