//! What a body says of an account: a given name, a family name, whether it is public. What it does not say stays as it
//! is, an empty name is taken away, and all else is passed over, so that what a read gives can be put back.

use super::super::Problem;
use super::texts::{flag, refused, texts};
use crate::accounts::person_name;
use crate::ingest::Refused;
use model::Format;

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
    let fields = texts(body, form, "User")?;
    Ok(Changes {
        given_name: fields.get("GivenName").map(|said| name("GivenName", said)).transpose()?,
        family_name: fields.get("FamilyName").map(|said| name("FamilyName", said)).transpose()?,
        public: fields.get("Public").map(|said| flag("Public", said)).transpose()?.flatten(),
    })
}

/// A name of a person, or that there is none.
fn name(field: &str, said: &Option<String>) -> Result<Option<String>, Refused> {
    let text = said.as_deref().ok_or_else(|| refused(field, "expected a text"))?;
    person_name(text).map_err(|why| refused(field, &why.to_string()))
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
