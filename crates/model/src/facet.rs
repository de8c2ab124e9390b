//! Facets: service, type and verb as one triple, by which the three filters select. A collection has few of them, so
//! a filter picks the matching facets and reads their runs.

use crate::{Kind, Verb};
use serde::{Deserialize, Serialize};

/// The name of a service as it writes it: 1 to 64 characters without slash, comma or control character.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ServiceName(String);

impl ServiceName {
    /// Parses a name.
    pub fn parse(text: &str) -> Option<ServiceName> {
        let allowed = |c: char| !c.is_control() && c != '/' && c != ',';
        let fits =
            (1..=64).contains(&text.chars().count()) && text.chars().all(allowed) && text.trim() == text;
        fits.then(|| ServiceName(text.to_owned()))
    }

    /// The name as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form for comparisons.
    pub fn folded(&self) -> String {
        self.0.to_lowercase()
    }
}

/// Folded service, type and verb of an activity. It never changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Facet {
    /// The folded name of the service.
    pub service: String,
    /// The type of the object.
    pub kind: Kind,
    /// The verb.
    pub verb: Verb,
}
