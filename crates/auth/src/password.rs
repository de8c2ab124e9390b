//! Password strength, and Argon2id hashes as PHC strings. Both are slow, the hash on purpose; requests use `hashing`.
//!
//! A password is normalised (Unicode NFC) before it is checked, hashed or compared, so that it does not depend on the
//! keyboard.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{Error, PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use model::AccountName;
use seal::NoRandomness;
use unicode_normalization::UnicodeNormalization;
use zeroize::Zeroizing;
use zxcvbn::{Score, zxcvbn};

/// Length of a new password in characters.
const MIN_CHARACTERS: usize = 10;
const MAX_CHARACTERS: usize = 1024;
/// Characters that the strength estimate reads: its cost grows faster than the length.
const ESTIMATED_CHARACTERS: usize = 100;

/// Memory in KiB, passes and lanes: the minimum of OWASP, about 17 ms of a core.
const COST: (u32, u32, u32) = (19 * 1024, 2, 1);
/// Prefix of every hash with that cost.
const CURRENT_PARAMETERS: &str = "$argon2id$v=19$m=19456,t=2,p=1$";

/// Why a password is not acceptable.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    /// It is too short.
    #[error(
        "this password is too short: use {MIN_CHARACTERS} characters or more; four or five uncommon words \
         make a good password"
    )]
    TooShort,
    /// It is too long.
    #[error("this password is too long: use 1,024 characters or fewer")]
    TooLong,
    /// It has a character that HTTP Basic cannot transport.
    #[error("this password has control characters: use letters, digits, spaces and signs")]
    ControlCharacter,
    /// It is easy to guess. The text says why and what to use instead.
    #[error("this password is easy to guess. {0}")]
    Weak(String),
    /// No salt could be generated.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    /// Argon2 failed.
    #[error("the password could not be hashed: {0}")]
    Failed(String),
}

/// The account's names, which its password must not consist of.
pub fn names<'a>(name: &'a AccountName, given: Option<&'a str>, family: Option<&'a str>) -> Vec<&'a str> {
    [Some(name.as_str()), given, family].into_iter().flatten().collect()
}

/// The normalised form, in which a password is checked, hashed and compared.
pub fn normalized(password: &str) -> Zeroizing<String> {
    // NFC needs at most three times the bytes. A string that grows would leave copies of the secret in memory.
    let mut text = Zeroizing::new(String::with_capacity(password.len().saturating_mul(3)));
    text.extend(password.nfc());
    text
}

/// Checks length and characters of a new password. This is cheap.
pub fn check_shape(password: &str) -> Result<(), PasswordError> {
    let password = normalized(password);
    match password.chars().count() {
        ..MIN_CHARACTERS => return Err(PasswordError::TooShort),
        MIN_CHARACTERS..=MAX_CHARACTERS => {}
        _ => return Err(PasswordError::TooLong),
    }
    if password.chars().any(char::is_control) {
        return Err(PasswordError::ControlCharacter);
    }
    Ok(())
}

/// Checks a new password of an account with these names, including its strength. This takes milliseconds.
pub fn check(password: &str, names: &[&str]) -> Result<(), PasswordError> {
    check_shape(password)?;
    let estimated: Zeroizing<String> =
        Zeroizing::new(normalized(password).chars().take(ESTIMATED_CHARACTERS).collect());
    let estimate = zxcvbn(&estimated, names);
    if estimate.score() >= Score::Three {
        return Ok(());
    }
    let reason = estimate.feedback().and_then(|feedback| {
        let warning = feedback.warning().map(|warning| warning.to_string());
        warning.or_else(|| feedback.suggestions().first().map(ToString::to_string))
    });
    let advice = "Use four or five uncommon words that do not name you, or a generated password.";
    let sentences: Vec<String> = reason.into_iter().chain([advice.to_owned()]).collect();
    Err(PasswordError::Weak(sentences.join(" ")))
}

/// The hash of a new password for an account with these names, if the password is acceptable.
pub fn hash_checked(password: &str, names: &[&str]) -> Result<String, PasswordError> {
    check(password, names)?;
    hash(password)
}

/// The hash of a password, without a check of its strength.
pub fn hash(password: &str) -> Result<String, PasswordError> {
    hash_salted(password, seal::random::<16>()?.as_ref())
}

/// Whether a stored hash has other parameters than a new one.
pub fn is_outdated(stored: &str) -> bool {
    !stored.starts_with(CURRENT_PARAMETERS)
}

/// A new hash with the current parameters, of a password that matches the stored hash. Keeps the salt: see
/// [`identity`].
pub fn rehash(password: &str, stored: &str) -> Result<String, PasswordError> {
    let salt = PasswordHash::new(stored).ok().and_then(|hash| hash.salt);
    let salt = salt.ok_or_else(|| PasswordError::Failed("the stored hash has no salt".to_owned()))?;
    hash_salted(password, &salt)
}

/// The part of a stored hash that identifies the password: the salt. A new password gets a new random salt; a rehash
/// keeps it. Sessions are bound to the salt, so they survive a rehash and end with a new password.
pub fn identity(stored: &str) -> &str {
    match stored.rsplit('$').nth(1) {
        Some(salt) if stored.starts_with('$') => salt,
        _ => stored,
    }
}

fn hash_salted(password: &str, salt: &[u8]) -> Result<String, PasswordError> {
    let (memory, passes, lanes) = COST;
    let cost =
        Params::new(memory, passes, lanes, None).map_err(|error| PasswordError::Failed(error.to_string()))?;
    Argon2::new(Algorithm::Argon2id, Version::V0x13, cost)
        .hash_password_with_salt(normalized(password).as_bytes(), salt)
        .map(|hash| hash.to_string())
        .map_err(|error| PasswordError::Failed(error.to_string()))
}

/// Whether the password matches, with the parameters of the hash.
pub fn verify(password: &str, hash: &str) -> bool {
    match Argon2::default().verify_password(normalized(password).as_bytes(), hash) {
        Ok(()) => true,
        Err(Error::PasswordInvalid) => false,
        Err(error) => {
            tracing::error!(%error, "invalid stored password hash");
            false
        }
    }
}

/// A hash with the parameters of an older version.
#[cfg(test)]
pub(super) fn outdated_hash(password: &str) -> String {
    let cheap = Params::new(64, 1, 1, None).unwrap();
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, cheap);
    let salt = seal::random::<16>().unwrap();
    argon.hash_password_with_salt(password.as_bytes(), salt.as_ref()).unwrap().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "tidal lantern quorum fig";

    #[test]
    fn a_hash_is_salted_and_verifies_its_password_only() {
        let hashed = hash("correct horse").unwrap();
        assert!(hashed.starts_with(CURRENT_PARAMETERS), "{hashed}");
        assert!(verify("correct horse", &hashed));
        assert!(!verify("correct horsf", &hashed));
        assert!(!verify("correct horse", "not a hash"));
        assert_ne!(hashed, hash("correct horse").unwrap(), "salted");
    }

    #[test]
    fn unicode_forms_of_a_password_are_equal() {
        let (composed, decomposed) = ("Žluťoučký kůň úpěl", "Žluťoučký kůň úpěl");
        let decomposed: String = decomposed.nfd().collect();
        assert_ne!(composed, decomposed);
        assert!(
            verify(&decomposed, &hash(composed).unwrap()) && verify(composed, &hash(&decomposed).unwrap())
        );
    }

    #[test]
    fn a_rehash_has_the_current_parameters_and_the_old_salt() {
        let old = outdated_hash(GOOD);
        let new = rehash(GOOD, &old).unwrap();
        assert!(is_outdated(&old) && !is_outdated(&new) && verify(GOOD, &new));
        assert_eq!(identity(&old), identity(&new));
        assert_ne!(identity(&new), identity(&hash(GOOD).unwrap()), "a new password has a new salt");
        assert_eq!((identity("plain"), identity("")), ("plain", ""));
        assert!(rehash(GOOD, "plain").is_err());
    }

    #[test]
    fn length_and_control_characters_are_checked() {
        let refused = |text: &str| check(text, &[]).unwrap_err();
        assert!(matches!(refused(""), PasswordError::TooShort));
        assert!(matches!(refused("vK7#qzR2!"), PasswordError::TooShort));
        let nine: String = "áéíóúýčďě".nfd().collect();
        assert!(matches!(refused(&nine), PasswordError::TooShort), "characters of the composed form count");
        assert!(matches!(refused(&GOOD.repeat(60)), PasswordError::TooLong));
        for control in ["tidal\tlantern quorum", "tidal lantern\u{85} quorum"] {
            assert!(matches!(refused(control), PasswordError::ControlCharacter));
        }
        assert!(check_shape(&"\u{1f98a}".repeat(1024)).is_ok(), "characters count, not bytes");
    }

    #[test]
    fn an_easily_guessed_password_is_refused_with_advice() {
        let names = ["alice-k2", "Alice", "Liddell"];
        for weak in
            ["password1234", "aaaaaaaaaaaa", "1234567890", "alice-k2alice-k2", "AliceLiddell", "qwertyuiop"]
        {
            let error = check(weak, &names).unwrap_err();
            let PasswordError::Weak(why) = &error else { panic!("{weak}: {error}") };
            assert!(why.contains("words") && !error.to_string().contains(weak), "{error}");
        }
        assert!(check("zyxommabarquentine", &["bob"]).is_ok());
        assert!(check("zyxommabarquentine", &["zyxomma", "barquentine"]).is_err(), "the account's names");
        let long: String =
            (0..1024_u32).filter_map(|n| char::from_u32(33 + n.wrapping_mul(2_654_435_761) % 90)).collect();
        for good in [GOOD, "the-very-own-word-of-alice", &"x7#Kd09 ".repeat(2), &long] {
            assert!(check(good, &names).is_ok(), "{good}");
        }
    }
}
