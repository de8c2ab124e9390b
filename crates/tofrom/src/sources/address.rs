//! A URL that is stored as text.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Deref;
use url::Url;

/// A URL that is serialised as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Address(Url);

impl From<Url> for Address {
    fn from(url: Url) -> Address {
        Address(url)
    }
}

impl From<Address> for String {
    fn from(address: Address) -> String {
        address.0.into()
    }
}

impl TryFrom<String> for Address {
    type Error = url::ParseError;

    fn try_from(text: String) -> Result<Address, url::ParseError> {
        Url::parse(&text).map(Address)
    }
}

impl Deref for Address {
    type Target = Url;

    fn deref(&self) -> &Url {
        &self.0
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
