//! Passwords: Argon2id in PHC strings. It is slow on purpose; requests go through `hashing`.

use super::primitives::{self, NoRandomness};
use argon2::password_hash::{Error, PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};

/// The longest password, in bytes.
const LONGEST: usize = 1024;
/// Memory in KiB, passes and lanes: what OWASP asks for, about 17 ms of a core.
const COST: (u32, u32, u32) = (19 * 1024, 2, 1);

/// A password can't be hashed.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    /// It is empty.
    #[error("a password can't be empty")]
    Empty,
    /// It is too long.
    #[error("a password has at most {LONGEST} bytes")]
    TooLong,
    /// It has a character that HTTP Basic can't carry.
    #[error("a password can't have control characters")]
    ControlCharacter,
    /// There is no salt.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    /// Argon2 did not run.
    #[error("the password could not be hashed: {0}")]
    Failed(String),
}

/// What every password must be like, wherever it comes from.
pub fn check(password: &str) -> Result<(), PasswordError> {
    if password.is_empty() {
        return Err(PasswordError::Empty);
    }
    if password.len() > LONGEST {
        return Err(PasswordError::TooLong);
    }
    if password.bytes().any(|byte| byte.is_ascii_control()) {
        return Err(PasswordError::ControlCharacter);
    }
    Ok(())
}

/// The hash to store for a password.
pub fn hash(password: &str) -> Result<String, PasswordError> {
    check(password)?;
    let (memory, passes, lanes) = COST;
    let cost =
        Params::new(memory, passes, lanes, None).map_err(|error| PasswordError::Failed(error.to_string()))?;
    Argon2::new(Algorithm::Argon2id, Version::V0x13, cost)
        .hash_password_with_salt(password.as_bytes(), primitives::random::<16>()?.as_ref())
        .map(|hash| hash.to_string())
        .map_err(|error| PasswordError::Failed(error.to_string()))
}

/// Whether that is the password, at the cost that the hash itself names.
pub fn verify(password: &str, hash: &str) -> bool {
    match Argon2::default().verify_password(password.as_bytes(), hash) {
        Ok(()) => true,
        Err(Error::PasswordInvalid) => false,
        Err(error) => {
            tracing::error!(%error, "a stored password hash can't be used");
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes() {
        let hashed = hash("correct horse").unwrap();
        assert!(hashed.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hashed}");
        assert!(verify("correct horse", &hashed));
        assert!(!verify("correct horsf", &hashed));
        assert!(!verify("correct horse", "not a hash"));
        assert_ne!(hashed, hash("correct horse").unwrap(), "salted");
    }

    #[test]
    fn refusals() {
        assert!(matches!(hash(""), Err(PasswordError::Empty)));
        assert!(matches!(hash(&"x".repeat(1025)), Err(PasswordError::TooLong)));
        assert!(matches!(hash("a\tb"), Err(PasswordError::ControlCharacter)));
        assert!(hash(&"x".repeat(1024)).is_ok());
    }
}
