//! Reads strings: literal or by index, in all supported encodings.

use super::Decoder;
use super::vocabulary::{Content, Identifying, Text};
use crate::chars::{first_illegal, is_ncname};
use crate::error::Reason;
use crate::limits::Limit;

impl<'a> Decoder<'a> {
    /// X.891 C.13: a prefix, namespace name, local name or target.
    pub(super) fn identifying(&mut self, table: Identifying) -> Result<&'a str, Reason> {
        let lead = self.reader.octet()?;
        if lead & 0x80 != 0 {
            let index = self.reader.index2(lead)?;
            return self.vocabulary.identifying(table, index);
        }
        self.identifying_literal(table, lead)
    }

    /// A literal, which is always added to its table.
    pub(super) fn identifying_literal(&mut self, table: Identifying, lead: u8) -> Result<&'a str, Reason> {
        let length = self.reader.length2(lead)?;
        let text = utf8(self.limited(length)?)?;
        let legal = match table {
            Identifying::Namespace => true,
            Identifying::Prefix | Identifying::Local | Identifying::Other => is_ncname(text),
        };
        if !legal {
            return Err(Reason::IllegalName);
        }
        self.vocabulary.add_identifying(table, text)?;
        Ok(text)
    }

    /// X.891 C.14: a value, a comment, data of a processing instruction or the version.
    pub(super) fn value(&mut self, table: Content) -> Result<Text<'a>, Reason> {
        let lead = self.reader.octet()?;
        if lead == 0xFF {
            return Ok(Text::Input(""));
        }
        if lead & 0x80 != 0 {
            let index = self.reader.index2(lead)?;
            return self.vocabulary.content(table, index);
        }
        let text = self.value_literal(table, lead)?;
        if lead & 0x40 != 0 {
            self.vocabulary.add_content(table, text.clone())?;
        }
        Ok(text)
    }

    pub(super) fn value_literal(&mut self, table: Content, lead: u8) -> Result<Text<'a>, Reason> {
        let (encoding, length_lead) = match lead & 0x30 {
            0x00 => (Encoding::Utf8, lead),
            0x10 => (Encoding::Utf16, lead),
            kind => {
                // The index of the alphabet or algorithm is the next eight bits, four in this octet.
                let second = self.reader.octet()?;
                let index = u16::from(lead & 0x0F) << 4 | u16::from(second >> 4);
                (Encoding::by_index(kind == 0x20, index + 1, table)?, second)
            }
        };
        let length = self.reader.length5(length_lead)?;
        encoding.text(self.limited(length)?)
    }

    /// X.891 C.15: text in an element. The two leading bits are already consumed.
    pub(super) fn chunk(&mut self, lead: u8) -> Result<Text<'a>, Reason> {
        if lead & 0x20 != 0 {
            let index = self.reader.index4(lead)?;
            return self.vocabulary.content(Content::Chunk, index);
        }
        let (encoding, length_lead) = match lead & 0x0C {
            0x00 => (Encoding::Utf8, lead),
            0x04 => (Encoding::Utf16, lead),
            kind => {
                let second = self.reader.octet()?;
                let index = u16::from(lead & 0x03) << 6 | u16::from(second >> 2);
                (Encoding::by_index(kind == 0x08, index + 1, Content::Chunk)?, second)
            }
        };
        let length = self.reader.length7(length_lead)?;
        let text = encoding.text(self.limited(length)?)?;
        if lead & 0x10 != 0 {
            self.vocabulary.add_content(Content::Chunk, text.clone())?;
        }
        Ok(text)
    }

    /// X.891 C.22: skips octets.
    pub(super) fn skip_octets(&mut self) -> Result<(), Reason> {
        let lead = self.reader.octet()?;
        if lead & 0x80 != 0 {
            return Err(Reason::Padding);
        }
        let length = self.reader.length2(lead)?;
        self.limited(length).map(|_| ())
    }

    fn limited(&mut self, length: usize) -> Result<&'a [u8], Reason> {
        if length > self.limits.string {
            return Err(Reason::Limit(Limit::String));
        }
        self.reader.octets(length)
    }
}

enum Encoding {
    Utf8,
    Utf16,
    Alphabet(&'static [u8; 15]),
    Hexadecimal,
    Base64,
}

impl Encoding {
    /// The alphabet or algorithm with this index, counted from 1.
    fn by_index(alphabet: bool, index: u16, table: Content) -> Result<Self, Reason> {
        match (alphabet, index) {
            (true, 1) => Ok(Self::Alphabet(b"0123456789-+.e ")),
            (true, 2) => Ok(Self::Alphabet(b"0123456789-:TZ ")),
            (true, _) => Err(Reason::Alphabet(index)),
            (false, 1) => Ok(Self::Hexadecimal),
            (false, 2) => Ok(Self::Base64),
            // CDATA is plain UTF-8 of a former CDATA section. Attributes have none.
            (false, 10) if table == Content::Chunk => Ok(Self::Utf8),
            (false, _) => Err(Reason::Algorithm(index)),
        }
    }

    fn text<'a>(&self, octets: &'a [u8]) -> Result<Text<'a>, Reason> {
        let text = match self {
            Self::Utf8 => return utf8(octets).map(Text::Input),
            Self::Utf16 => utf16(octets)?,
            Self::Alphabet(characters) => restricted(octets, characters)?,
            Self::Hexadecimal => hexadecimal(octets),
            Self::Base64 => base64(octets),
        };
        Ok(Text::Converted(text.into()))
    }
}

fn utf8(octets: &[u8]) -> Result<&str, Reason> {
    let text = str::from_utf8(octets).map_err(|_| Reason::Encoding)?;
    legal(text)?;
    Ok(text)
}

fn utf16(octets: &[u8]) -> Result<String, Reason> {
    let (pairs, rest) = octets.as_chunks();
    if !rest.is_empty() {
        return Err(Reason::Encoding);
    }
    let units = pairs.iter().map(|&pair| u16::from_be_bytes(pair));
    let text: String = char::decode_utf16(units).collect::<Result<_, _>>().map_err(|_| Reason::Encoding)?;
    legal(&text)?;
    Ok(text)
}

/// Four bits for each character; an odd number of characters is padded with ones.
fn restricted(octets: &[u8], characters: &[u8; 15]) -> Result<String, Reason> {
    let character = |nibble: u8| characters.get(usize::from(nibble)).map(|&octet| char::from(octet));
    let mut text = String::with_capacity(octets.len() * 2);
    for (at, octet) in octets.iter().enumerate() {
        text.push(character(octet >> 4).ok_or(Reason::Encoding)?);
        match character(octet & 0x0F) {
            Some(second) => text.push(second),
            None if at + 1 == octets.len() => {}
            None => return Err(Reason::Encoding),
        }
    }
    Ok(text)
}

fn hexadecimal(octets: &[u8]) -> String {
    let digits = octets.iter().flat_map(|octet| [octet >> 4, octet & 0x0F]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .map(|digit| digit.to_ascii_uppercase())
        .collect()
}

fn base64(octets: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(octets.len().div_ceil(3) * 4);
    for group in octets.chunks(3) {
        let bits =
            group.iter().fold(0, |bits, &octet| bits << 8 | usize::from(octet)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let digit = ALPHABET.get(bits >> (18 - 6 * place) & 0x3F).filter(|_| place <= group.len());
            text.push(digit.map_or('=', |&digit| char::from(digit)));
        }
    }
    text
}

fn legal(text: &str) -> Result<(), Reason> {
    first_illegal(text).map_or(Ok(()), |c| Err(Reason::IllegalCharacter(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_is_upper_case() {
        assert_eq!(hexadecimal(&[0x00, 0x9A, 0xFF]), "009AFF");
    }

    #[test]
    fn base64_of_each_remainder() {
        for (octets, text) in [("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(octets.as_bytes()), text);
        }
        assert_eq!(base64(&[0xFB, 0xFF, 0xBF]), "+/+/");
    }
}
