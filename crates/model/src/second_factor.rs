//! The second factor of an account: one-time passwords by time (TOTP, RFC 6238) and recovery codes.

use crate::{Millis, Uid, Version};
use std::fmt;

/// The second factor of an account. It is asked for after the password, on pages.
#[derive(Clone, PartialEq, Eq)]
pub struct SecondFactor {
    /// The account.
    pub owner: Uid,
    /// The version of everything below.
    pub version: Version,
    /// The sealed secret. `None`: the second factor was removed.
    pub sealed_secret: Option<Vec<u8>>,
    /// The time step of the last accepted code. Codes of this step and of earlier ones are refused.
    pub last_step: u64,
    /// SHA-256 of each unused recovery code. A code has 120 random bits, so a plain hash cannot be reversed.
    pub recovery_codes: Vec<[u8; 32]>,
    /// Wrong codes since `wrong_since`. They are counted here, so that all processes count together.
    pub wrong: u32,
    /// When the first of them came.
    pub wrong_since: Millis,
    /// Whether the API refuses the account's password.
    pub refuses_basic: bool,
}

impl SecondFactor {
    /// No second factor.
    pub fn none(owner: Uid) -> SecondFactor {
        SecondFactor {
            owner,
            version: Version(0),
            sealed_secret: None,
            last_step: 0,
            recovery_codes: Vec::new(),
            wrong: 0,
            wrong_since: Millis(0),
            refuses_basic: false,
        }
    }
}

impl fmt::Debug for SecondFactor {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecondFactor({} {:?})", self.owner.0, self.version)
    }
}
