//! Accounts and their credentials.

use crate::{AccountName, AddressableBy, KeyId, Millis, Uid, Version};
use std::fmt;

/// An account: a person or organisation whose activities are collected, or a program that acts for accounts.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    /// The number in the store.
    pub uid: Uid,
    /// The name. It never changes and is never reused.
    pub name: AccountName,
    /// The version of everything below.
    pub version: Version,
    /// Given name.
    pub given_name: Option<String>,
    /// Family name.
    pub family_name: Option<String>,
    /// Whether every authenticated caller may read its public activities.
    pub public: bool,
    /// Whether it may act for any account.
    pub operator: bool,
    /// The hash of the password in PHC format. `None`: signing in with a password is not possible.
    pub password: Option<String>,
    /// When it was created.
    pub created: Millis,
    /// Whether it was removed: it has no collections, no credentials and no visible activities.
    pub removed: bool,
    /// Whether an operator disabled it: its credentials are refused. Its collections and activities stay.
    pub disabled: bool,
    /// The credential epoch. Raising it ends all sessions and access tokens. Each of them, and each authorisation of
    /// an application, is valid only in the epoch in which it was created.
    pub credential_epoch: u32,
    /// Who may address it.
    pub addressable_by: AddressableBy,
}

impl Account {
    /// Whether its credentials are accepted.
    pub fn may_act(&self) -> bool {
        !self.removed && !self.disabled
    }

    /// Disables or enables the account. Disabling ends its sessions and access tokens permanently: enabling does not
    /// revive them.
    pub fn set_disabled(&mut self, disabled: bool) {
        if disabled && !self.disabled {
            self.end_epoch();
        }
        self.disabled = disabled;
    }

    /// Ends all its sessions and access tokens permanently.
    pub fn end_epoch(&mut self) {
        self.credential_epoch = self.credential_epoch.saturating_add(1);
    }

    /// Given and family name, or the account's name if it has neither.
    pub fn display_name(&self) -> String {
        match (&self.given_name, &self.family_name) {
            (Some(given), Some(family)) => format!("{given} {family}"),
            (Some(name), None) | (None, Some(name)) => name.clone(),
            (None, None) => self.name.to_string(),
        }
    }
}

impl fmt::Debug for Account {
    /// Without the hash of the password: accounts appear in log lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Account({} {} {:?})", self.uid.0, self.name, self.version)
    }
}

/// The permissions of a credential. `write` includes `read`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scopes {
    /// Reading.
    Read,
    /// Reading and writing.
    ReadWrite,
}

impl Scopes {
    /// Parses `read`, `write`, or both in either order, separated by a space.
    pub fn parse(text: &str) -> Option<Scopes> {
        let mut words = text.split(' ').filter(|word| !word.is_empty()).peekable();
        words.peek()?;
        words.try_fold(Scopes::Read, |scopes, word| match word {
            "read" => Some(scopes),
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

    /// Whether writing is allowed.
    pub fn can_write(self) -> bool {
        self == Scopes::ReadWrite
    }
}

/// A pre-shared key. Only its hash is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The public identifier.
    pub id: KeyId,
    /// SHA-256 of the key. A key has 256 random bits, so a plain hash cannot be reversed.
    pub hash: [u8; 32],
    /// The account.
    pub owner: Uid,
    /// The name that its owner gave it.
    pub name: String,
    /// The permissions.
    pub scopes: Scopes,
    /// When it was created.
    pub created: Millis,
    /// When it expires.
    pub expires: Option<Millis>,
    /// When it was revoked.
    pub revoked: Option<Millis>,
    /// About when it was used last.
    pub used: Option<Millis>,
    /// The hash of the key that created it over HTTP. Revoking that one revokes this one.
    pub parent: Option<[u8; 32]>,
}

impl Key {
    /// Whether it is valid at `now`.
    pub fn is_live(&self, now: Millis) -> bool {
        self.revoked.is_none() && self.expires.is_none_or(|end| now < end)
    }
}

/// An application that acts for accounts; "consumer" in OAuth 1.0.
#[derive(Clone, PartialEq, Eq)]
pub struct Application {
    /// The consumer key. It is public, and sent as `ServiceConsumerKey`.
    pub key: String,
    /// The sealed secret. Verifying a signature needs it, so it cannot be a hash.
    pub sealed_secret: Vec<u8>,
    /// The name shown to people.
    pub name: String,
    /// The URL to which people are redirected.
    pub callback: String,
    /// The RSA public key in DER (SubjectPublicKeyInfo), if the application signs with one.
    pub rsa_key: Option<Vec<u8>>,
    /// When it was created.
    pub created: Millis,
    /// When it was removed.
    pub removed: Option<Millis>,
    /// The account that registered it. `None`: an operator, on the command line.
    pub owner: Option<Uid>,
}

impl fmt::Debug for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Application({} {:?})", self.key, self.name)
    }
}

/// Width and height in pixels of the sizes of an account's picture.
pub const PICTURE_SIZES: [u32; 3] = [80, 120, 200];

/// An account's picture.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    /// The version. The latest one wins.
    pub version: Version,
    /// PNG data in each of [`PICTURE_SIZES`]. If all are empty, the picture was deleted.
    pub sizes: [Vec<u8>; 3],
}

impl Picture {
    /// A deleted picture.
    pub fn none(version: Version) -> Picture {
        Picture { version, sizes: [const { Vec::new() }; 3] }
    }

    /// Whether the picture was deleted.
    pub fn is_none(&self) -> bool {
        self.sizes.iter().all(Vec::is_empty)
    }

    /// The PNG data of this size, if the size exists.
    pub fn sized(&self, pixels: u32) -> Option<&[u8]> {
        let at = PICTURE_SIZES.iter().position(|size| *size == pixels)?;
        self.sizes.get(at).map(Vec::as_slice)
    }
}

impl fmt::Debug for Picture {
    /// Without the image data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Picture({:?} {:?})", self.version, self.sizes.each_ref().map(Vec::len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_parsed() {
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
