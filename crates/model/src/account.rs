//! Accounts and what they prove themselves with.

use crate::{AccountName, KeyId, Millis, Uid, Version};
use std::fmt;

/// An account: somebody whose activities are collected, or a program that acts for such people.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    /// Its number in the store.
    pub uid: Uid,
    /// Its name; never changes and is never given again.
    pub name: AccountName,
    /// The version of everything below.
    pub version: Version,
    /// Given name, if told.
    pub given_name: Option<String>,
    /// Family name, if told.
    pub family_name: Option<String>,
    /// Whether every authenticated caller may read its public activities.
    pub public: bool,
    /// Whether it reads and writes on behalf of any account.
    pub operator: bool,
    /// The password's hash in PHC form; without one nobody signs in with a password.
    pub password: Option<String>,
    /// When it was made.
    pub created: Millis,
    /// Removed: it has no collection, no credential and no visible activity any more.
    pub removed: bool,
    /// An operator disabled it: no credential of it opens anything. Its collection and activities stay as they are.
    pub disabled: bool,
    /// How often its sessions and access tokens were ended all at once. Each of them, and each decision to allow one,
    /// carries the epoch in which it was made and counts in that one only.
    pub credential_epoch: u32,
}

impl Account {
    /// Whether its credentials open anything.
    pub fn may_act(&self) -> bool {
        !self.removed && !self.disabled
    }

    /// Disables or enables it. Disabling ends its sessions and access tokens for good: enabling does not revive them.
    pub fn set_disabled(&mut self, disabled: bool) {
        if disabled && !self.disabled {
            self.end_epoch();
        }
        self.disabled = disabled;
    }

    /// Ends all its sessions and access tokens for good.
    pub fn end_epoch(&mut self) {
        self.credential_epoch = self.credential_epoch.saturating_add(1);
    }

    /// Given and family name, or the account's name where neither is told.
    pub fn display_name(&self) -> String {
        match (&self.given_name, &self.family_name) {
            (Some(given), Some(family)) => format!("{given} {family}"),
            (Some(one), None) | (None, Some(one)) => one.clone(),
            (None, None) => self.name.to_string(),
        }
    }
}

impl fmt::Debug for Account {
    /// Without the password's hash: accounts end up in log lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Account({} {} {:?})", self.uid.0, self.name, self.version)
    }
}

/// What a credential may be used for. `write` includes `read`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scopes {
    /// DeliveryState.
    Read,
    /// DeliveryState and writing.
    ReadWrite,
}

impl Scopes {
    /// Reads `read`, `write`, or both in either order with a space between.
    pub fn parse(text: &str) -> Option<Scopes> {
        let mut words = text.split(' ').filter(|word| !word.is_empty()).peekable();
        words.peek()?;
        words.try_fold(Scopes::Read, |so_far, word| match word {
            "read" => Some(so_far),
            "write" => Some(Scopes::ReadWrite),
            _ => None,
        })
    }

    /// `read` or `read write`.
    pub fn as_str(self) -> &'static str {
        match self {
            Scopes::Read => "read",
            Scopes::ReadWrite => "read write",
        }
    }

    /// Whether writing is among them.
    pub fn can_write(self) -> bool {
        self == Scopes::ReadWrite
    }
}

/// A pre-shared key as it is stored: by its hash, never itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its public name.
    pub id: KeyId,
    /// SHA-256 of the key. A key has 256 random bits, so a plain hash can't be guessed back.
    pub hash: [u8; 32],
    /// Whose it is.
    pub owner: Uid,
    /// What its owner calls it.
    pub name: String,
    /// What it may be used for.
    pub scopes: Scopes,
    /// When it was made.
    pub created: Millis,
    /// From when on it opens nothing.
    pub expires: Option<Millis>,
    /// When it was revoked.
    pub revoked: Option<Millis>,
    /// About when it was last used.
    pub used: Option<Millis>,
}

impl Key {
    /// Whether it opens anything at `now`.
    pub fn is_live(&self, now: Millis) -> bool {
        self.revoked.is_none() && self.expires.is_none_or(|end| now < end)
    }
}

/// An application that acts for accounts: a consumer, as OAuth 1.0 calls it.
#[derive(Clone, PartialEq, Eq)]
pub struct Application {
    /// Its consumer key: public, sent as `ServiceConsumerKey`.
    pub key: String,
    /// Its secret, sealed: signatures need it back, so it can't be a hash.
    pub sealed_secret: Vec<u8>,
    /// What people are shown.
    pub name: String,
    /// Where people are sent back to.
    pub callback: String,
    /// Its RSA public key in DER (SubjectPublicKeyInfo), if it signs with one.
    pub rsa_key: Option<Vec<u8>>,
    /// When it was made.
    pub created: Millis,
    /// When it was removed.
    pub removed: Option<Millis>,
    /// Who registered it; `None`: an operator, by the command line.
    pub owner: Option<Uid>,
}

impl fmt::Debug for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Application({} {:?})", self.key, self.name)
    }
}

/// How many pixels wide and high an account's picture is, in each of its sizes.
pub const PICTURE_SIZES: [u32; 3] = [80, 120, 200];

/// An account's picture.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    /// Which of several stays: the latest.
    pub version: Version,
    /// PNG, in each of [`PICTURE_SIZES`]. All are empty: there is no picture any more.
    pub sizes: [Vec<u8>; 3],
}

impl Picture {
    /// What says from then on that there is no picture any more.
    pub fn none(version: Version) -> Picture {
        Picture { version, sizes: [const { Vec::new() }; 3] }
    }

    /// Whether it says that there is none.
    pub fn is_none(&self) -> bool {
        self.sizes.iter().all(Vec::is_empty)
    }

    /// The PNG that many pixels wide, if there is that size.
    pub fn sized(&self, pixels: u32) -> Option<&[u8]> {
        let at = PICTURE_SIZES.iter().position(|size| *size == pixels)?;
        self.sizes.get(at).map(Vec::as_slice)
    }
}

impl fmt::Debug for Picture {
    /// Without thousands of numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Picture({:?} {:?})", self.version, self.sizes.each_ref().map(Vec::len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes() {
        for (text, scopes) in [
            ("read", Some(Scopes::Read)),
            ("write", Some(Scopes::ReadWrite)),
            ("read write", Some(Scopes::ReadWrite)),
            ("write read", Some(Scopes::ReadWrite)),
            ("", None),
            ("delete", None),
            ("read,write", None),
        ] {
            assert_eq!(Scopes::parse(text), scopes, "{text:?}");
        }
    }
}
