//! Octets, lengths and indexes, bounds-checked.
//!
//! Functions are named after the bit of the first octet at which the value begins. `lead` is that octet; bits
//! before the value are ignored. Indexes count from 0 here.

use crate::error::Reason;

pub(super) struct Reader<'a> {
    rest: &'a [u8],
    total: usize,
    item: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets, total: octets.len(), item: 0 }
    }

    pub(super) fn offset(&self) -> usize {
        self.total - self.rest.len()
    }

    /// The offset at which the current item begins, for error messages.
    pub(super) fn item(&self) -> usize {
        self.item
    }

    pub(super) fn set_item(&mut self, offset: usize) {
        self.item = offset;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Skips these octets if the input continues with them.
    pub(super) fn skip(&mut self, expected: &[u8]) -> bool {
        self.rest.strip_prefix(expected).map(|rest| self.rest = rest).is_some()
    }

    pub(super) fn octet(&mut self) -> Result<u8, Reason> {
        let (&first, rest) = self.rest.split_first().ok_or(Reason::Truncated)?;
        self.rest = rest;
        Ok(first)
    }

    /// Borrows from the input: a claimed length allocates nothing.
    pub(super) fn octets(&mut self, length: usize) -> Result<&'a [u8], Reason> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Reason::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn number(&mut self, octets: usize) -> Result<u32, Reason> {
        Ok(self.octets(octets)?.iter().fold(0, |number, &octet| number << 8 | u32::from(octet)))
    }

    fn long_length(&mut self, more_than: usize) -> Result<usize, Reason> {
        let length = usize::try_from(self.number(4)?).unwrap_or(usize::MAX);
        Ok(length.saturating_add(more_than))
    }

    /// X.891 C.22.
    pub(super) fn length2(&mut self, lead: u8) -> Result<usize, Reason> {
        match lead & 0x7F {
            small @ 0x00..=0x3F => Ok(usize::from(small) + 1),
            0x40 => Ok(usize::from(self.octet()?) + 65),
            0x60 => self.long_length(321),
            _ => Err(Reason::Padding),
        }
    }

    /// X.891 C.23.
    pub(super) fn length5(&mut self, lead: u8) -> Result<usize, Reason> {
        match lead & 0x0F {
            small @ 0x00..=0x07 => Ok(usize::from(small) + 1),
            0x08 => Ok(usize::from(self.octet()?) + 9),
            0x0C => self.long_length(265),
            _ => Err(Reason::Padding),
        }
    }

    /// X.891 C.24.
    pub(super) fn length7(&mut self, lead: u8) -> Result<usize, Reason> {
        match lead & 0x03 {
            small @ 0x00..=0x01 => Ok(usize::from(small) + 1),
            0x02 => Ok(usize::from(self.octet()?) + 3),
            _ => self.long_length(259),
        }
    }

    /// X.891 C.25.
    pub(super) fn index2(&mut self, lead: u8) -> Result<u32, Reason> {
        match lead & 0x7F {
            small @ 0x00..=0x3F => Ok(u32::from(small)),
            0x40..=0x5F => Ok((u32::from(lead & 0x1F) << 8 | self.number(1)?) + 64),
            0x60..=0x6F => Ok((u32::from(lead & 0x0F) << 16 | self.number(2)?) + 8256),
            _ => Err(Reason::IllegalOctet(lead)),
        }
    }

    /// X.891 C.27.
    pub(super) fn index3(&mut self, lead: u8) -> Result<u32, Reason> {
        match lead & 0x3F {
            small @ 0x00..=0x1F => Ok(u32::from(small)),
            0x20..=0x27 => Ok((u32::from(lead & 0x07) << 8 | self.number(1)?) + 32),
            0x28..=0x2F => Ok((u32::from(lead & 0x07) << 16 | self.number(2)?) + 2080),
            0x30 => Ok(self.long_index()? + 526_368),
            _ => Err(Reason::IllegalOctet(lead)),
        }
    }

    /// X.891 C.28.
    pub(super) fn index4(&mut self, lead: u8) -> Result<u32, Reason> {
        match lead & 0x1F {
            small @ 0x00..=0x0F => Ok(u32::from(small)),
            0x10..=0x13 => Ok((u32::from(lead & 0x03) << 8 | self.number(1)?) + 16),
            0x14..=0x17 => Ok((u32::from(lead & 0x03) << 16 | self.number(2)?) + 1040),
            0x18 => Ok(self.long_index()? + 263_184),
            _ => Err(Reason::IllegalOctet(lead)),
        }
    }

    /// Twenty bits after four of padding.
    fn long_index(&mut self) -> Result<u32, Reason> {
        match self.number(3)? {
            number @ 0..0x10_0000 => Ok(number),
            _ => Err(Reason::Padding),
        }
    }

    /// X.891 C.21: the number of items in a sequence.
    pub(super) fn count(&mut self) -> Result<u32, Reason> {
        match self.octet()? {
            small @ 0x00..=0x7F => Ok(u32::from(small) + 1),
            lead @ 0x80..=0x8F => Ok((u32::from(lead & 0x0F) << 16 | self.number(2)?) + 129),
            _ => Err(Reason::Padding),
        }
    }
}
