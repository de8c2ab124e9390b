//! Conversion between columns and values. An invalid column is an error, never a panic.

use crate::{Result, StoreError, codec};
use model::{ActivityId, Entry, Kind, Millis, Position, State, Uid, Verb, Version, Visibility};
use rusqlite::{ErrorCode, Row};

impl From<rusqlite::Error> for StoreError {
    /// For every statement except a commit: nothing was changed. The kind of error decides whether a retry can help.
    fn from(error: rusqlite::Error) -> StoreError {
        use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType};
        let corrupt = match &error {
            FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) => true,
            other => matches!(
                other.sqlite_error_code(),
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::ConstraintViolation)
            ),
        };
        if corrupt {
            StoreError::Corrupt(error.to_string())
        } else {
            StoreError::Unavailable(error.to_string())
        }
    }
}

pub(super) fn corrupt(what: &str) -> StoreError {
    StoreError::Corrupt(what.to_owned())
}

pub(super) fn activity_id(row: &Row<'_>, column: usize) -> Result<ActivityId> {
    ActivityId::from_bytes(row.get(column)?).ok_or_else(|| corrupt("invalid activity identifier"))
}

pub(super) fn millis(row: &Row<'_>, column: usize) -> Result<Millis> {
    Ok(Millis(row.get(column)?))
}

pub(super) fn optional_millis(row: &Row<'_>, column: usize) -> Result<Option<Millis>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Millis))
}

pub(super) fn version(row: &Row<'_>, column: usize) -> Result<Version> {
    Ok(Version(row.get(column)?))
}

pub(super) fn position(row: &Row<'_>, column: usize) -> Result<Position> {
    u64::try_from(row.get::<_, i64>(column)?).map(Position).map_err(|_| corrupt("negative position"))
}

pub(super) fn kind(row: &Row<'_>, column: usize) -> Result<Kind> {
    Kind::parse(row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?)
        .ok_or_else(|| corrupt("invalid type"))
}

pub(super) fn verb(row: &Row<'_>, column: usize) -> Result<Verb> {
    Verb::parse(row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?)
        .ok_or_else(|| corrupt("invalid verb"))
}

/// SQLite's numbers are signed. No log reaches the upper half, so saturating changes no comparison.
pub(super) fn seq(position: Position) -> i64 {
    i64::try_from(position.0).unwrap_or(i64::MAX)
}

/// A parameter of LIMIT.
pub(super) fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Visibility and a flag in one small number: SQLite stores 0 and 1 without an extra byte.
fn flags(visibility: Visibility, flag: bool) -> i64 {
    visibility_number(visibility) + 4 * i64::from(flag)
}

pub(super) fn visibility_number(visibility: Visibility) -> i64 {
    codec::visibility_number(visibility).into()
}

fn unpack_flags(flags: i64) -> Result<(Visibility, bool)> {
    Ok((codec::visibility_of(flags & 3)?, flags & 4 != 0))
}

/// The flags of an activity: visibility + 4 * deleted + 8 * pulled.
pub(super) fn state_flags(state: &State) -> i64 {
    flags(state.visibility, state.deleted) + 8 * i64::from(state.pulled)
}

/// Visibility, deleted, pulled.
pub(super) fn unpack_state_flags(flags: i64) -> Result<(Visibility, bool, bool)> {
    let (visibility, deleted) = unpack_flags(flags & 7)?;
    Ok((visibility, deleted, last_flag(flags >> 3)?))
}

/// The flags of an entry: visibility + 4 * retracted + 8 * prior + 32 * pulled. `prior` is 3 - the prior visibility,
/// or 0 if there is none: a wider prior visibility is larger.
pub(super) fn entry_flags(entry: &Entry) -> i64 {
    let prior = entry.prior.map_or(0, |visibility| 3 - visibility_number(visibility));
    flags(entry.visibility, entry.retracted) + 8 * prior + 32 * i64::from(entry.pulled)
}

/// Visibility, retracted, prior visibility, pulled.
pub(super) fn unpack_entry_flags(flags: i64) -> Result<(Visibility, bool, Option<Visibility>, bool)> {
    let (visibility, retracted) = unpack_flags(flags & 7)?;
    let prior = match (flags >> 3) & 3 {
        0 => None,
        number => Some(codec::visibility_of(3 - number)?),
    };
    Ok((visibility, retracted, prior, last_flag(flags >> 5)?))
}

/// The highest flag.
fn last_flag(number: i64) -> Result<bool> {
    match number {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(corrupt("unknown flags")),
    }
}

/// Accounts in one column, eight bytes each.
pub(super) fn pack_uids(uids: &[Uid]) -> Vec<u8> {
    uids.iter().flat_map(|uid| uid.0.to_be_bytes()).collect()
}

pub(super) fn unpack_uids(row: &Row<'_>, column: usize) -> Result<Vec<Uid>> {
    let bytes = row.get_ref(column)?.as_blob().map_err(rusqlite::Error::from)?;
    let (numbers, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(corrupt("truncated list of accounts"));
    }
    Ok(numbers.iter().map(|number| Uid(i64::from_be_bytes(*number))).collect())
}
