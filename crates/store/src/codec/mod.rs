//! The codec of stored and logged values: protobuf messages.
//!
//! A process ignores the fields that a newer one added, and a newer one accepts their absence. So during an upgrade
//! both read the same data: a new field gets a new tag and is optional, and a tag is never used again for another
//! field. A field that every version writes is required: without it, a value is corrupt.
//!
//! Two kinds of bytes are no messages. Keys and columns keep the types of their engine. A cell of which the engine
//! keeps the larger bytes begins with [ordered bytes](take), before its message.

mod accounts;
mod activities;
mod log;
#[cfg(test)]
mod tests;

pub(crate) use accounts::{addressable_by, progress};
#[cfg(feature = "next-schema")]
pub(crate) use activities::StateCellWire;
pub(crate) use activities::{BodyCell, EntryCell, StateCell};

use crate::{Result, StoreError};
use model::{ActivityId, Millis, Position, SortKey, Uid, Version, Visibility};
use prost::Message;

/// A value that is stored or logged as a message.
pub(crate) trait Encoded: Sized {
    /// The message.
    type Wire: Message + Default;
    /// Parts of the value that stand beside the message, such as the key of its row.
    type Beside;

    fn to_wire(&self) -> Self::Wire;

    fn from_wire(wire: Self::Wire, beside: Self::Beside) -> Result<Self>;

    fn encoded(&self) -> Vec<u8> {
        self.to_wire().encode_to_vec()
    }

    fn decoded_beside(bytes: &[u8], beside: Self::Beside) -> Result<Self> {
        let wire = Self::Wire::decode(bytes).map_err(|error| corrupt(error.to_string()))?;
        Self::from_wire(wire, beside)
    }

    fn decoded(bytes: &[u8]) -> Result<Self>
    where
        Self: Encoded<Beside = ()>,
    {
        Self::decoded_beside(bytes, ())
    }
}

/// A part of a message that is a message itself.
fn part<T: Encoded<Beside = ()>>(wire: Option<T::Wire>) -> Result<Option<T>> {
    wire.map(|wire| T::from_wire(wire, ())).transpose()
}

/// Takes ordered bytes from the front of a cell.
pub(crate) fn take<const N: usize>(cell: &mut &[u8]) -> Result<[u8; N]> {
    let (taken, rest) = cell.split_first_chunk::<N>().ok_or_else(|| corrupt("truncated value"))?;
    *cell = rest;
    Ok(*taken)
}

/// A byte array of fixed length.
pub(crate) fn exactly<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| corrupt("invalid length of a hash"))
}

/// The number of a visibility. A wider visibility has a smaller number.
pub(crate) fn visibility_number(visibility: Visibility) -> u8 {
    match visibility {
        Visibility::Public => 0,
        Visibility::Followers => 1,
        Visibility::Direct => 2,
    }
}

pub(crate) fn visibility_of(number: impl TryInto<u8>) -> Result<Visibility> {
    match number.try_into() {
        Ok(0) => Ok(Visibility::Public),
        Ok(1) => Ok(Visibility::Followers),
        Ok(2) => Ok(Visibility::Direct),
        _ => Err(corrupt("invalid visibility")),
    }
}

fn corrupt(detail: impl Into<String>) -> StoreError {
    StoreError::Corrupt(detail.into())
}

fn required<T>(field: Option<T>, name: &str) -> Result<T> {
    field.ok_or_else(|| corrupt(format!("missing {name}")))
}

fn version(field: Option<i64>) -> Result<Version> {
    required(field, "version").map(Version)
}

fn uid(field: Option<i64>) -> Result<Uid> {
    required(field, "account number").map(Uid)
}

fn millis(field: Option<i64>) -> Result<Millis> {
    required(field, "time").map(Millis)
}

fn position(field: Option<u64>) -> Result<Position> {
    required(field, "position").map(Position)
}

fn uids(numbers: Vec<i64>) -> Vec<Uid> {
    numbers.into_iter().map(Uid).collect()
}

fn numbers(uids: &[Uid]) -> Vec<i64> {
    uids.iter().map(|uid| uid.0).collect()
}

fn id_bytes(id: ActivityId) -> Option<Vec<u8>> {
    Some(id.as_bytes().to_vec())
}

fn activity_id(field: Option<Vec<u8>>) -> Result<ActivityId> {
    let bytes = exactly(&required(field, "activity identifier")?)?;
    ActivityId::from_bytes(bytes).ok_or_else(|| corrupt("invalid activity identifier"))
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SortKeyWire {
    #[prost(sint64, optional, tag = "1")]
    time: Option<i64>,
    #[prost(bytes = "vec", optional, tag = "2")]
    id: Option<Vec<u8>>,
}

impl Encoded for SortKey {
    type Wire = SortKeyWire;
    type Beside = ();

    fn to_wire(&self) -> SortKeyWire {
        SortKeyWire { time: Some(self.time.0), id: id_bytes(self.id) }
    }

    fn from_wire(wire: SortKeyWire, (): ()) -> Result<SortKey> {
        Ok(SortKey { time: millis(wire.time)?, id: activity_id(wire.id)? })
    }
}
