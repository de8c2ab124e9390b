//! A facet is what the three filters select by: service, type and verb as one triple. An account's collection has
//! few of them, so a filter picks the facets that match and reads their ordered runs.

use crate::{Kind, Verb};
use serde::{Deserialize, Serialize};

/// A source service's name as its people write it: 1 to 64 characters without slash, comma or control character.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ServiceName(String);

impl ServiceName {
    /// The name, if it can be one.
    pub fn parse(text: &str) -> Option<ServiceName> {
        let allowed = |c: char| !c.is_control() && c != '/' && c != ',';
        let fits =
            (1..=64).contains(&text.chars().count()) && text.chars().all(allowed) && text.trim() == text;
        fits.then(|| ServiceName(text.to_owned()))
    }

    /// As written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form that names are compared in.
    pub fn folded(&self) -> String {
        self.0.to_lowercase()
    }
}

/// Service (folded), type and verb of an activity. It never changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Facet {
    /// The service's name in the form that names are compared in.
    pub service: String,
    /// The type of the object.
    pub kind: Kind,
    /// What was done.
    pub verb: Verb,
}
