//! Parses a body of a few text fields in XML, JSON or Fast Infoset.

use super::super::Problem;
use super::super::writing::incoming;
use super::representation::OFFERS;
use crate::ingest::{Refused, format_of_media_type, read_element};
use http::HeaderMap;
use infoset::Element;
use model::Format;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The supported media types, for the problem document.
const ACCEPTS: &str = "application/xml, application/json, application/fastinfoset";

/// The format that `Content-Type` names.
pub(super) fn form(headers: &HeaderMap) -> Result<Format, Problem> {
    let offered =
        |essence: &str| format_of_media_type(essence).ok().flatten().filter(|form| OFFERS.contains(form));
    incoming::kind_of(headers, ACCEPTS, offered)
}

/// The text of each field; `None` if the value is not a text.
pub(super) type Texts = HashMap<String, Option<String>>;

/// The fields of a body with this root.
pub(super) fn texts(body: &[u8], form: Format, root: &str) -> Result<Texts, Problem> {
    if form == Format::Json { from_json(body, root) } else { from_elements(body, form, root) }
}

/// The object itself, or under its name as in a response.
fn from_json(body: &[u8], root: &str) -> Result<Texts, Problem> {
    let object = serde_json::from_slice::<Map<String, Value>>(body);
    let mut fields = object.map_err(|error| Problem::body(format!("expected a JSON object: {error}")))?;
    if let Some(Value::Object(inner)) = fields.remove(root) {
        fields = inner;
    }
    let text = |value| match value {
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    };
    Ok(fields.into_iter().map(|(name, value)| (name, text(value))).collect())
}

/// One element for each field, below the root.
fn from_elements(body: &[u8], form: Format, root: &str) -> Result<Texts, Problem> {
    let found = read_element(body, form)?;
    if !found.name.is("", root) {
        return Err(Problem::body(format!("expected the root element {root}, without a namespace")));
    }
    let text = |element: &Element| element.elements().next().is_none().then(|| element.text());
    let mut fields = Texts::new();
    for element in found.elements().filter(|element| element.name.namespace.is_empty()) {
        let name = &element.name.local;
        if fields.insert(name.clone(), text(element)).is_some() {
            return Err(Problem::body(format!("{name} appears twice")));
        }
    }
    Ok(fields)
}

/// `true` or `false`; `None` if the text is empty.
pub(super) fn flag(field: &str, value: &Option<String>) -> Result<Option<bool>, Refused> {
    match value.as_deref() {
        Some("") => Ok(None),
        Some(text) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
        Some(text) if text.eq_ignore_ascii_case("false") => Ok(Some(false)),
        _ => Err(refused(field, "expected true or false")),
    }
}

pub(super) fn refused(field: &str, detail: &str) -> Refused {
    Refused { field: field.to_owned(), detail: detail.to_owned() }
}
