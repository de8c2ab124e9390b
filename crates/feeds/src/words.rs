//! Canonical forms of verbs and object types: lower case, without the base of the IRI.

use model::{Kind, Verb};

/// The infinitive of a verb that is written as a word or an IRI.
pub(crate) fn verb(written: &str) -> Option<String> {
    Verb::parse(written.trim()).map(|verb| verb.as_str().to_owned())
}

/// The short name of an object type that is written as a word or an IRI.
pub(crate) fn kind(written: &str) -> Option<String> {
    Kind::parse(written.trim()).map(|kind| kind.as_str().to_owned())
}
