//! Encoding of values for cells and messages: numbers with fixed or variable length, texts with a length prefix.

use crate::{Result, StoreError};
use model::{
    Account, AccountName, ActivityId, Facet, Kind, Millis, Position, PriorAudience, SortKey, State, Uid,
    Verb, Version, Visibility,
};

/// Appends encoded values to a buffer.
#[derive(Default)]
pub(crate) struct WireWriter(Vec<u8>);

impl WireWriter {
    pub(crate) fn new() -> WireWriter {
        WireWriter::default()
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn byte(mut self, byte: u8) -> WireWriter {
        self.0.push(byte);
        self
    }

    pub(crate) fn flag(self, flag: bool) -> WireWriter {
        self.byte(u8::from(flag))
    }

    /// Eight bytes that sort like the numbers.
    pub(crate) fn ordered(mut self, number: u64) -> WireWriter {
        self.0.extend(number.to_be_bytes());
        self
    }

    /// A variable-length number.
    pub(crate) fn number(mut self, mut number: u64) -> WireWriter {
        while number >= 0x80 {
            self.0.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.byte(number.to_le_bytes()[0])
    }

    /// A variable-length number with a sign.
    pub(crate) fn signed(self, number: i64) -> WireWriter {
        self.number(((number << 1) ^ (number >> 63)).cast_unsigned())
    }

    pub(crate) fn blob(mut self, bytes: &[u8]) -> WireWriter {
        self = self.number(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    pub(crate) fn text(self, text: &str) -> WireWriter {
        self.blob(text.as_bytes())
    }

    pub(crate) fn id(mut self, id: ActivityId) -> WireWriter {
        self.0.extend(id.as_bytes());
        self
    }

    pub(crate) fn visibility(self, visibility: Visibility) -> WireWriter {
        self.byte(visibility_number(visibility))
    }

    pub(crate) fn option<T>(
        self,
        value: Option<T>,
        put: impl FnOnce(WireWriter, T) -> WireWriter,
    ) -> WireWriter {
        match value {
            Some(value) => put(self.byte(1), value),
            None => self.byte(0),
        }
    }

    pub(crate) fn many<T>(self, values: &[T], put: impl Fn(WireWriter, &T) -> WireWriter) -> WireWriter {
        values.iter().fold(self.number(values.len() as u64), put)
    }

    pub(crate) fn sort_key(self, sort_key: SortKey) -> WireWriter {
        self.signed(sort_key.time.0).id(sort_key.id)
    }

    pub(crate) fn facet(self, facet: &Facet) -> WireWriter {
        self.text(&facet.service).text(facet.kind.as_str()).text(facet.verb.as_str())
    }

    pub(crate) fn prior_audience(self, prior: &PriorAudience) -> WireWriter {
        self.visibility(prior.visibility).many(&prior.addressed, |put, uid| put.signed(uid.0))
    }

    /// A state without `pulled`, which is a trailing [`flag`](WireWriter::trailing_flag) of the enclosing value.
    pub(crate) fn state(self, state: &State) -> WireWriter {
        self.id(state.id)
            .signed(state.version.0)
            .signed(state.actor.0)
            .facet(&state.facet)
            .signed(state.received.0)
            .signed(state.published.0)
            .signed(state.updated.0)
            .flag(state.deleted)
            .visibility(state.visibility)
            .many(&state.addressed, |put, uid| put.signed(uid.0))
    }

    /// An account without its number. It must be the last part of a value: values of earlier versions end before the
    /// fields that were added later.
    pub(crate) fn account(self, account: &Account) -> WireWriter {
        self.text(account.name.as_str())
            .signed(account.version.0)
            .option(account.given_name.as_deref(), WireWriter::text)
            .option(account.family_name.as_deref(), WireWriter::text)
            .flag(account.public)
            .flag(account.operator)
            .option(account.password.as_deref(), WireWriter::text)
            .signed(account.created.0)
            .flag(account.removed)
            .flag(account.disabled)
            .number(u64::from(account.credential_epoch))
    }

    /// An optional last part of a value, written only if set. Earlier versions do not read it.
    pub(crate) fn trailing_flag(self, set: bool) -> WireWriter {
        if set { self.flag(true) } else { self }
    }
}

/// Reads values from the front of a buffer.
pub(crate) struct WireReader<'a>(&'a [u8]);

impl<'a> WireReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> WireReader<'a> {
        WireReader(bytes)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or_else(truncated)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn flag(&mut self) -> Result<bool> {
        Ok(self.byte()? != 0)
    }

    pub(crate) fn ordered(&mut self) -> Result<u64> {
        self.array().map(u64::from_be_bytes)
    }

    pub(crate) fn number(&mut self) -> Result<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(truncated())
    }

    pub(crate) fn signed(&mut self) -> Result<i64> {
        let number = self.number()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    pub(crate) fn blob(&mut self) -> Result<&'a [u8]> {
        let length = usize::try_from(self.number()?).map_err(|_| truncated())?;
        self.take(length)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.blob()?).map_err(|_| invalid("text"))
    }

    pub(crate) fn id(&mut self) -> Result<ActivityId> {
        ActivityId::from_bytes(self.array()?).ok_or_else(|| invalid("activity identifier"))
    }

    pub(crate) fn version(&mut self) -> Result<Version> {
        self.signed().map(Version)
    }

    pub(crate) fn uid(&mut self) -> Result<Uid> {
        self.signed().map(Uid)
    }

    pub(crate) fn millis(&mut self) -> Result<Millis> {
        self.signed().map(Millis)
    }

    pub(crate) fn position(&mut self) -> Result<Position> {
        self.number().map(Position)
    }

    pub(crate) fn visibility(&mut self) -> Result<Visibility> {
        visibility_of(self.byte()?)
    }

    pub(crate) fn option<T>(&mut self, take: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        if self.flag()? { take(self).map(Some) } else { Ok(None) }
    }

    /// A part that earlier versions did not write: `None` if the value ends before it.
    pub(crate) fn unless_ended<T>(&mut self, take: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        if self.0.is_empty() { Ok(None) } else { take(self).map(Some) }
    }

    /// A credential epoch; 0 if the value ends before it.
    pub(crate) fn epoch(&mut self) -> Result<u32> {
        let number = self.unless_ended(WireReader::number)?.unwrap_or(0);
        u32::try_from(number).map_err(|_| invalid("credential epoch"))
    }

    /// A flag that is `false` if the value ends before it.
    pub(crate) fn trailing_flag(&mut self) -> Result<bool> {
        Ok(self.unless_ended(WireReader::flag)?.unwrap_or(false))
    }

    pub(crate) fn many<T>(&mut self, take: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let number = self.number()?;
        (0..number).map(|_| take(self)).collect()
    }

    pub(crate) fn sort_key(&mut self) -> Result<SortKey> {
        Ok(SortKey { time: self.millis()?, id: self.id()? })
    }

    pub(crate) fn facet(&mut self) -> Result<Facet> {
        Ok(Facet {
            service: self.text()?.to_owned(),
            kind: Kind::parse(self.text()?).ok_or_else(|| invalid("type"))?,
            verb: Verb::parse(self.text()?).ok_or_else(|| invalid("verb"))?,
        })
    }

    pub(crate) fn prior_audience(&mut self) -> Result<PriorAudience> {
        Ok(PriorAudience { visibility: self.visibility()?, addressed: self.many(WireReader::uid)? })
    }

    /// A state whose `pulled` is not set yet; see [`WireWriter::state`].
    pub(crate) fn state(&mut self) -> Result<State> {
        Ok(State {
            id: self.id()?,
            version: self.version()?,
            actor: self.uid()?,
            facet: self.facet()?,
            received: self.millis()?,
            published: self.millis()?,
            updated: self.millis()?,
            deleted: self.flag()?,
            visibility: self.visibility()?,
            addressed: self.many(WireReader::uid)?,
            pulled: false,
        })
    }

    pub(crate) fn account(&mut self, uid: Uid) -> Result<Account> {
        let text = |take: &mut WireReader<'_>| take.text().map(str::to_owned);
        Ok(Account {
            uid,
            name: AccountName::parse(self.text()?).map_err(|_| invalid("account name"))?,
            version: self.version()?,
            given_name: self.option(text)?,
            family_name: self.option(text)?,
            public: self.flag()?,
            operator: self.flag()?,
            password: self.option(text)?,
            created: self.millis()?,
            removed: self.flag()?,
            disabled: self.trailing_flag()?,
            credential_epoch: self.epoch()?,
        })
    }
}

/// The number of a visibility. A wider visibility has a smaller number.
pub(crate) fn visibility_number(visibility: Visibility) -> u8 {
    match visibility {
        Visibility::Public => 0,
        Visibility::Followers => 1,
        Visibility::Direct => 2,
    }
}

pub(crate) fn visibility_of(number: u8) -> Result<Visibility> {
    match number {
        0 => Ok(Visibility::Public),
        1 => Ok(Visibility::Followers),
        2 => Ok(Visibility::Direct),
        _ => Err(invalid("visibility")),
    }
}

fn truncated() -> StoreError {
    StoreError::Corrupt("truncated value".to_owned())
}

fn invalid(what: &str) -> StoreError {
    StoreError::Corrupt(format!("invalid {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_encoded_by_an_earlier_version_is_not_disabled() {
        let account = Account {
            uid: Uid(7),
            name: AccountName::parse("ada").unwrap(),
            version: Version(9),
            given_name: Some("Ada".to_owned()),
            family_name: None,
            public: true,
            operator: false,
            password: None,
            created: Millis(5),
            removed: false,
            disabled: true,
            credential_epoch: 3,
        };
        let bytes = WireWriter::new().account(&account).finish();
        assert!(WireReader::new(&bytes).account(account.uid).unwrap() == account);
        let (older, _) = bytes.split_at(bytes.len() - 2);
        let read = WireReader::new(older).account(account.uid).unwrap();
        assert!(read == Account { disabled: false, credential_epoch: 0, ..account });
    }
}
