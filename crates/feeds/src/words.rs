//! Verbs and object types, in the one form that each of them has: lower case, without the base of its IRI.

use model::{Kind, Verb};

/// The infinitive that a word or an IRI stands for.
pub(crate) fn verb(written: &str) -> Option<String> {
    Verb::parse(written.trim()).map(|verb| verb.as_str().to_owned())
}

/// The short name of an object type that a word or an IRI stands for.
pub(crate) fn kind(written: &str) -> Option<String> {
    Kind::parse(written.trim()).map(|kind| kind.as_str().to_owned())
}
