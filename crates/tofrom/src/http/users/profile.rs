//! The profile fields of a request body: given name, family name, `Public`. Absent fields keep their value, an empty
//! name is removed, and unknown fields are ignored, so that the body of a response can be sent back.

use super::super::Problem;
use super::texts::{flag, refused, texts};
use crate::accounts::person_name;
use crate::ingest::Refused;
use model::Format;

/// The requested changes. `None` keeps the value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::http) struct Changes {
    /// The given name; `Some(None)` removes it.
    pub(in crate::http) given_name: Option<Option<String>>,
    /// The family name; `Some(None)` removes it.
    pub(in crate::http) family_name: Option<Option<String>>,
    /// Whether every authenticated caller may read its public activities.
    pub(in crate::http) public: Option<bool>,
}

/// Parses a body.
pub(super) fn read(body: &[u8], form: Format) -> Result<Changes, Problem> {
    let fields = texts(body, form, "User")?;
    Ok(Changes {
        given_name: fields.get("GivenName").map(|value| name("GivenName", value)).transpose()?,
        family_name: fields.get("FamilyName").map(|value| name("FamilyName", value)).transpose()?,
        public: fields.get("Public").map(|value| flag("Public", value)).transpose()?.flatten(),
    })
}

/// A name of a person; `None` if it is empty.
fn name(field: &str, value: &Option<String>) -> Result<Option<String>, Refused> {
    let text = value.as_deref().ok_or_else(|| refused(field, "expected a string"))?;
    person_name(text).map_err(|why| refused(field, &why.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_json(text: &str) -> Result<Changes, Problem> {
        read(text.as_bytes(), Format::Json)
    }

    #[test]
    fn absent_fields_are_unchanged() {
        assert_eq!(read_json("{}").unwrap(), Changes::default());
        let value =
            read_json(r#"{"GivenName":" Ann ","FamilyName":null,"Public":true,"Other":[1]}"#).unwrap();
        assert_eq!(value.given_name, Some(Some("Ann".to_owned())));
        assert_eq!((value.family_name, value.public), (Some(None), Some(true)));
        let shown = r#"{"User":{"UserIdentifier":"ann","GivenName":"Ann","Public":"false"}}"#;
        assert_eq!(read_json(shown).unwrap().public, Some(false));
    }

    #[test]
    fn xml_is_parsed_like_json() {
        let text = "<User><UserIdentifier>ann</UserIdentifier><GivenName>Ann</GivenName><FamilyName/></User>";
        let value = read(text.as_bytes(), Format::Xml).unwrap();
        assert_eq!(value, read_json(r#"{"GivenName":"Ann","FamilyName":""}"#).unwrap());
        for wrong in ["<Missing/>", "<User>", "<User><GivenName>a</GivenName><GivenName>b</GivenName></User>"]
        {
            assert!(read(wrong.as_bytes(), Format::Xml).is_err(), "{wrong}");
        }
    }

    #[test]
    fn invalid_bodies_are_rejected() {
        let long = format!(r#"{{"GivenName":"{}"}}"#, "x".repeat(101));
        for wrong in
            ["", "[]", "{\"GivenName\":[]}", "{\"Public\":\"maybe\"}", "{\"FamilyName\":\"a\\nb\"}", &long]
        {
            assert!(read_json(wrong).is_err(), "{wrong:.30}");
        }
    }
}
