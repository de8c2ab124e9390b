//! The fields of accounts, keys, sources and hooks: written in three representations, and parsed from request bodies.

use crate::body;
use crate::parse::{format_of_media_type, read_element};
use crate::problem::Problem;
use crate::render::document::{self, Fields};
use crate::site::Site;
use domain::ingest::Refused;
use domain::json;
use http::HeaderMap;
use infoset::{Element, FastInfosetWriter, Name, Sink, XmlWriter};
use model::{Account, Format};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The supported media types, for the problem document.
const ACCEPTS: &str = "application/xml, application/json, application/fastinfoset";

/// Atom has no representation of accounts.
pub(crate) const OFFERS: &[Format] = &[Format::Xml, Format::Json, Format::FastInfoset];

/// The fields of an account, in order.
#[derive(Default)]
struct FieldList(Row);

impl Fields for FieldList {
    fn text(&mut self, name: &str, value: &str) {
        self.0.push((name.to_owned(), value.into()));
    }

    // An account has no groups of fields.
    fn group(&mut self, _name: &str) {}
    fn end(&mut self) {}
}

/// The fields of an account.
pub(super) fn account_fields(site: &Site, account: &Account) -> Row {
    let mut fields = FieldList::default();
    document::user(site, account, &mut fields);
    fields.0
}

/// The value of a field.
pub(super) enum FieldValue {
    /// A text.
    One(String),
    /// A list: an array in JSON, repeated in XML.
    Many(Vec<String>),
}

impl From<String> for FieldValue {
    fn from(text: String) -> FieldValue {
        FieldValue::One(text)
    }
}

impl From<&str> for FieldValue {
    fn from(text: &str) -> FieldValue {
        FieldValue::One(text.to_owned())
    }
}

/// The fields of an item, in order.
pub(super) type Row = Vec<(String, FieldValue)>;

/// A list of accounts.
pub(super) fn users(site: &Site, accounts: &[Account], format: Format) -> Vec<u8> {
    let users: Vec<_> = accounts.iter().map(|account| account_fields(site, account)).collect();
    list(("Users", "User"), &users, format)
}

/// A list of items, with the names of the list and of an item.
pub(super) fn list((all, item): (&str, &str), rows: &[Row], format: Format) -> Vec<u8> {
    let objects = || {
        let objects: Vec<String> = rows.iter().map(object).collect();
        format!("{{{}:{{{}:[{}]}}}}", json::text(all), json::text(item), objects.join(","))
    };
    written(format, objects, |sink| {
        sink.open(Name::local(all));
        rows.iter().for_each(|row| element(item, row, sink));
        sink.end();
    })
}

/// One item, with its name.
pub(super) fn one(item: &str, row: &Row, format: Format) -> Vec<u8> {
    let wrapped = || format!("{{{}:{}}}", json::text(item), object(row));
    written(format, wrapped, |sink| element(item, row, sink))
}

fn written(format: Format, json: impl FnOnce() -> String, elements: impl FnOnce(&mut dyn Sink)) -> Vec<u8> {
    match format {
        Format::Json => json().into_bytes(),
        Format::FastInfoset => {
            let mut writer = FastInfosetWriter::new();
            elements(&mut writer);
            writer.finish()
        }
        Format::Xml | Format::Atom | Format::ActivityStreams => {
            let mut writer = XmlWriter::new();
            elements(&mut writer);
            writer.finish()
        }
    }
}

fn element(item: &str, row: &Row, sink: &mut dyn Sink) {
    sink.open(Name::local(item));
    for (name, value) in row {
        let texts = match value {
            FieldValue::One(text) => std::slice::from_ref(text),
            FieldValue::Many(texts) => texts,
        };
        texts.iter().for_each(|text| sink.leaf(Name::local(name), text));
    }
    sink.end();
}

/// Written by hand, because the fields have the order of the API contract.
fn object(row: &Row) -> String {
    let member = |(name, value): &(String, FieldValue)| {
        let value = match value {
            FieldValue::One(text) => json::text(text.as_str()),
            FieldValue::Many(texts) => json::text(texts.clone()),
        };
        format!("{}:{value}", json::text(name.as_str()))
    };
    format!("{{{}}}", row.iter().map(member).collect::<Vec<_>>().join(","))
}

/// The format that `Content-Type` names.
pub(crate) fn format_of(headers: &HeaderMap) -> Result<Format, Problem> {
    let offered =
        |essence: &str| format_of_media_type(essence).ok().flatten().filter(|form| OFFERS.contains(form));
    body::format_of(headers, ACCEPTS, offered)
}

/// The text of each field; `None` if the value is not a text.
pub(crate) type Texts = HashMap<String, Option<String>>;

/// The fields of a body with this root.
pub(crate) fn texts(body: &[u8], form: Format, root: &str) -> Result<Texts, Problem> {
    if form == Format::Json { from_json(body, root) } else { from_elements(body, form, root) }
}

fn from_json(body: &[u8], root: &str) -> Result<Texts, Problem> {
    Ok(json_fields(body, root)?.into_iter().map(|(name, value)| (name, json_text(value))).collect())
}

/// The object itself, or under its name as in a response.
fn json_fields(body: &[u8], root: &str) -> Result<Map<String, Value>, Problem> {
    let object = serde_json::from_slice::<Map<String, Value>>(body);
    let mut fields = object.map_err(|error| Problem::body(format!("expected a JSON object: {error}")))?;
    match fields.remove(root) {
        Some(Value::Object(inner)) => Ok(inner),
        _ => Ok(fields),
    }
}

fn json_text(value: Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

fn from_elements(body: &[u8], form: Format, root: &str) -> Result<Texts, Problem> {
    let mut fields = Texts::new();
    for (name, text) in element_fields(body, form, root)? {
        if fields.contains_key(&name) {
            return Err(Problem::body(format!("{name} appears twice")));
        }
        fields.insert(name, text);
    }
    Ok(fields)
}

/// The elements below the root, in order.
fn element_fields(body: &[u8], form: Format, root: &str) -> Result<Vec<(String, Option<String>)>, Problem> {
    let found = read_element(body, form)?;
    if !found.name.is("", root) {
        return Err(Problem::body(format!("expected the root element {root}, without a namespace")));
    }
    let text = |element: &Element| element.elements().next().is_none().then(|| element.text());
    let own = found.elements().filter(|element| element.name.namespace.is_empty());
    Ok(own.map(|element| (element.name.local.clone(), text(element))).collect())
}

/// The texts of each field, in which a field may be repeated or a list; `None` if a value is not a text.
pub(crate) type Values = HashMap<String, Option<Vec<String>>>;

/// The fields of a body with this root, of which some are lists.
pub(super) fn values(body: &[u8], form: Format, root: &str) -> Result<Values, Problem> {
    let texts = |value| match value {
        Value::Array(values) => values.into_iter().map(json_text).collect(),
        value => json_text(value).map(|text| vec![text]),
    };
    values_by(body, form, root, texts)
}

/// `texts` makes the texts of a value in JSON.
fn values_by(
    body: &[u8],
    form: Format,
    root: &str,
    texts: impl Fn(Value) -> Option<Vec<String>>,
) -> Result<Values, Problem> {
    if form == Format::Json {
        let fields = json_fields(body, root)?.into_iter();
        return Ok(fields.map(|(name, value)| (name, texts(value))).collect());
    }
    let mut fields = Values::new();
    for (name, text) in element_fields(body, form, root)? {
        let values = fields.entry(name).or_insert_with(|| Some(Vec::new()));
        match (values.as_mut(), text) {
            (Some(values), Some(text)) => values.push(text),
            _ => *values = None,
        }
    }
    Ok(fields)
}

/// Lists of texts by name.
pub(super) type Lists = HashMap<String, Vec<String>>;

/// The fields of a body with this root, all of which are lists. Unlike in [`values`], a number is not a text.
pub(super) fn lists(body: &[u8], form: Format, root: &str) -> Result<Lists, Problem> {
    let text = |value| if let Value::String(text) = value { Some(text) } else { None };
    let texts = |value| match value {
        Value::Null => Some(Vec::new()),
        Value::Array(values) => values.into_iter().map(text).collect(),
        value => text(value).map(|text| vec![text]),
    };
    let list = |(name, texts): (String, Option<Vec<String>>)| match texts {
        Some(texts) => Ok((name, texts)),
        None => Err(refused(&name, "expected a list of texts").into()),
    };
    values_by(body, form, root, texts)?.into_iter().map(list).collect()
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
