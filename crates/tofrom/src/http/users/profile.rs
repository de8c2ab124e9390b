//! What a body says of an account: a given name, a family name, whether it is public. What it does not say stays as it
//! is, an empty name is taken away, and all else is passed over, so that what a read gives can be put back.

use super::super::Problem;
use crate::accounts::person_name;
use crate::ingest::{Refused, read_element};
use infoset::Element;
use model::Format;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// What is to be changed: `None` is what stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::http) struct Changes {
    /// The given name, or that there is none.
    pub(in crate::http) given_name: Option<Option<String>>,
    /// The family name, or that there is none.
    pub(in crate::http) family_name: Option<Option<String>>,
    /// Whether every authenticated caller may read its public activities.
    pub(in crate::http) public: Option<bool>,
}

/// Reads what a body says.
pub(super) fn read(body: &[u8], form: Format) -> Result<Changes, Problem> {
    let fields = if form == Format::Json { from_json(body)? } else { from_elements(body, form)? };
    Ok(Changes {
        given_name: fields.get("GivenName").map(|said| name("GivenName", said)).transpose()?,
        family_name: fields.get("FamilyName").map(|said| name("FamilyName", said)).transpose()?,
        public: fields.get("Public").map(|said| flag("Public", said)).transpose()?.flatten(),
    })
}

/// A text for each field; `None` where something stands that is no text.
type Texts = HashMap<String, Option<String>>;

/// The object alone, or under its name, as a read gives it.
fn from_json(body: &[u8]) -> Result<Texts, Problem> {
    let object = serde_json::from_slice::<Map<String, Value>>(body);
    let mut fields = object.map_err(|error| Problem::body(format!("expected one JSON object: {error}")))?;
    if let Some(Value::Object(inner)) = fields.remove("User") {
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

/// `User` at the root, with an element for each field.
fn from_elements(body: &[u8], form: Format) -> Result<Texts, Problem> {
    let root = read_element(body, form)?;
    if !root.name.is("", "User") {
        return Err(Problem::body("expected User, without a namespace, at the root"));
    }
    let text = |element: &Element| element.elements().next().is_none().then(|| element.text());
    let mut fields = Texts::new();
    for element in root.elements().filter(|element| element.name.namespace.is_empty()) {
        let name = &element.name.local;
        if fields.insert(name.clone(), text(element)).is_some() {
            return Err(Problem::body(format!("{name} is there twice")));
        }
    }
    Ok(fields)
}

/// A name of a person, or that there is none.
fn name(field: &str, said: &Option<String>) -> Result<Option<String>, Refused> {
    let text = said.as_deref().ok_or_else(|| refused(field, "expected a text"))?;
    person_name(text).map_err(|why| refused(field, &why.to_string()))
}

fn flag(field: &str, said: &Option<String>) -> Result<Option<bool>, Refused> {
    match said.as_deref() {
        Some("") => Ok(None),
        Some(text) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
        Some(text) if text.eq_ignore_ascii_case("false") => Ok(Some(false)),
        _ => Err(refused(field, "expected true or false")),
    }
}

fn refused(field: &str, detail: &str) -> Refused {
    Refused { field: field.to_owned(), detail: detail.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_json(text: &str) -> Result<Changes, Problem> {
        read(text.as_bytes(), Format::Json)
    }

    #[test]
    fn what_is_not_said_stays() {
        assert_eq!(read_json("{}").unwrap(), Changes::default());
        let said = read_json(r#"{"GivenName":" Ann ","FamilyName":null,"Public":true,"Other":[1]}"#).unwrap();
        assert_eq!(said.given_name, Some(Some("Ann".to_owned())));
        assert_eq!((said.family_name, said.public), (Some(None), Some(true)));
        let shown = r#"{"User":{"UserIdentifier":"ann","GivenName":"Ann","Public":"false"}}"#;
        assert_eq!(read_json(shown).unwrap().public, Some(false));
    }

    #[test]
    fn elements_say_the_same() {
        let text = "<User><UserIdentifier>ann</UserIdentifier><GivenName>Ann</GivenName><FamilyName/></User>";
        let said = read(text.as_bytes(), Format::Xml).unwrap();
        assert_eq!(said, read_json(r#"{"GivenName":"Ann","FamilyName":""}"#).unwrap());
        for wrong in ["<Nobody/>", "<User>", "<User><GivenName>a</GivenName><GivenName>b</GivenName></User>"]
        {
            assert!(read(wrong.as_bytes(), Format::Xml).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let long = format!(r#"{{"GivenName":"{}"}}"#, "x".repeat(101));
        for wrong in
            ["", "[]", "{\"GivenName\":[]}", "{\"Public\":\"maybe\"}", "{\"FamilyName\":\"a\\nb\"}", &long]
        {
            assert!(read_json(wrong).is_err(), "{wrong:.30}");
        }
    }
}
