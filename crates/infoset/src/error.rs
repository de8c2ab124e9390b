//! Decoding errors.

use std::error::Error;
use std::fmt;

use crate::limits::Limit;

/// A decoding error: the reason and its offset in the octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    offset: usize,
    reason: Reason,
}

impl DecodeError {
    pub(crate) const fn new(offset: usize, reason: Reason) -> Self {
        Self { offset, reason }
    }

    /// The offset of the item that could not be decoded: an element, an attribute, a text, the header.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// The reason.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        self.reason
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (item at octet {})", self.reason, self.offset)
    }
}

impl Error for DecodeError {}

/// Why a document was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The octets end too early.
    Truncated,
    /// The document is not Fast Infoset version 1.
    NotFastInfoset,
    /// It states a version of XML other than 1.0 and 1.1.
    XmlVersion,
    /// An octet that is not allowed at its position.
    IllegalOctet(u8),
    /// Bits that must be zero are not, or a terminator has nothing to end.
    Padding,
    /// A document type declaration.
    Dtd,
    /// An unexpanded entity reference.
    EntityReference,
    /// A vocabulary outside of the document.
    ExternalVocabulary,
    /// Notations.
    Notations,
    /// Unparsed entities.
    UnparsedEntities,
    /// An encoding algorithm other than hexadecimal (1), base64 (2) and, in text, CDATA (10).
    Algorithm(u16),
    /// A restricted alphabet other than numeric (1) and date and time (2).
    Alphabet(u16),
    /// A table has no entry with this index (counted from 1).
    Index(u32),
    /// Octets that are invalid in their encoding: UTF-8, UTF-16 or a restricted alphabet.
    Encoding,
    /// A character that XML 1.0 cannot carry.
    IllegalCharacter(char),
    /// A local name, prefix or target that is not a name.
    IllegalName,
    /// A name with a prefix that is not declared for its namespace.
    UndeclaredNamespace,
    /// A forbidden declaration: `xml`, `xmlns`, their namespaces, or an undeclared prefix.
    ReservedNamespace,
    /// One prefix declared twice on one element.
    DuplicateNamespace,
    /// One attribute given twice on one element.
    DuplicateAttribute,
    /// No root element.
    NoRoot,
    /// More than one root element.
    SecondRoot,
    /// Octets after the end of the document.
    TrailingBytes,
    /// The document exceeds a limit.
    Limit(Limit),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the document is cut off"),
            Self::NotFastInfoset => f.write_str("not a Fast Infoset document of version 1"),
            Self::XmlVersion => f.write_str("the XML version is neither 1.0 nor 1.1"),
            Self::IllegalOctet(octet) => write!(f, "octet {octet:#04X} cannot stand here"),
            Self::Padding => f.write_str("padding is not zero or a terminator ends nothing"),
            Self::Dtd => f.write_str("document type declarations are refused"),
            Self::EntityReference => f.write_str("entity references are refused"),
            Self::ExternalVocabulary => f.write_str("external vocabularies are refused"),
            Self::Notations => f.write_str("notations are refused"),
            Self::UnparsedEntities => f.write_str("unparsed entities are refused"),
            Self::Algorithm(index) => write!(f, "encoding algorithm {index} is not supported here"),
            Self::Alphabet(index) => write!(f, "restricted alphabet {index} is not supported"),
            Self::Index(index) => write!(f, "no table entry with index {index}"),
            Self::Encoding => f.write_str("malformed character encoding"),
            Self::IllegalCharacter(c) => write!(f, "character U+{:04X} is not allowed in XML", u32::from(*c)),
            Self::IllegalName => f.write_str("not an XML name"),
            Self::UndeclaredNamespace => f.write_str("the namespace of a name is not declared"),
            Self::ReservedNamespace => f.write_str("a namespace declaration that XML does not allow"),
            Self::DuplicateNamespace => f.write_str("a namespace prefix is declared twice"),
            Self::DuplicateAttribute => f.write_str("an attribute is given twice"),
            Self::NoRoot => f.write_str("there is no root element"),
            Self::SecondRoot => f.write_str("there is more than one root element"),
            Self::TrailingBytes => f.write_str("octets follow the end of the document"),
            Self::Limit(limit) => write!(f, "{limit}"),
        }
    }
}
