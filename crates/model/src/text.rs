//! Rules for texts: characters that every representation can contain, and the names of people.

/// The first character that XML 1.0 cannot contain: a control character other than tab and line breaks, U+FFFE or
/// U+FFFF.
pub fn first_illegal(text: &str) -> Option<char> {
    let is_illegal = |c: &char| match c {
        '\t' | '\n' | '\r' => false,
        '\0'..='\u{1F}' | '\u{FFFE}' | '\u{FFFF}' => true,
        _ => false,
    };
    text.chars().find(is_illegal)
}

/// Maximum length of a given or family name in characters.
pub const MAX_PERSON_NAME: usize = 100;

/// Why a given or family name is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPersonName {
    /// It is too long.
    #[error("the name is too long: a given or family name has at most {MAX_PERSON_NAME} characters")]
    TooLong,
    /// It has control characters.
    #[error("the name has control characters: use letters, digits, spaces and signs")]
    ControlCharacter,
}

/// Validates a given or family name from a form. An empty name counts as absent.
pub fn person_name(text: &str) -> Result<Option<String>, BadPersonName> {
    let name = text.trim();
    if name.chars().count() > MAX_PERSON_NAME {
        return Err(BadPersonName::TooLong);
    }
    if first_illegal(name).is_some() || name.chars().any(char::is_control) {
        return Err(BadPersonName::ControlCharacter);
    }
    Ok(Some(name.to_owned()).filter(|name| !name.is_empty()))
}
