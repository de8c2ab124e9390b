//! Cursors: where paging continues, and what a polling reader has seen.
//!
//! A cursor is sealed, versioned, and bound to its collection and filters. It grants nothing, because its bearer is
//! authenticated like any other caller; the seal hides account numbers and positions.

use crate::hash::Fnv;
use crate::{ActivityId, CursorKeys, Millis, Order, Position, SortKey, Version};

/// The maximum number of items that a sync token remembers. Beyond it an item is repeated, never lost.
const MAX_SEEN: usize = 200;

/// The owner, collection and filters that a cursor is bound to. Not the order: a sync token is valid in both. The
/// filters are apart, because the seen position of a collection may come from a cursor under any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    pub(crate) collection: u64,
    pub(crate) filters: u64,
}

/// What a reader has seen of a collection: everything that had arrived at `offset`, and the few items that were shown
/// before they arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncToken {
    /// Everything up to this offset has been seen.
    pub offset: ArrivalOffset,
    seen: Vec<u64>,
}

/// A place among the arrivals: a position in the delivery log and, within a position, the last identifier seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrivalOffset {
    /// Arrivals before this position have been seen.
    pub position: Position,
    /// At this position: arrivals up to this identifier have been seen; `None` means all.
    pub inside: Option<ActivityId>,
}

impl ArrivalOffset {
    /// Everything up to and including this position.
    pub fn after(position: Position) -> ArrivalOffset {
        ArrivalOffset { position, inside: None }
    }

    /// Whether this offset is before an arrival.
    pub fn is_before(&self, position: Position, id: ActivityId) -> bool {
        position > self.position || position == self.position && self.inside.is_some_and(|seen| id > seen)
    }
}

impl SyncToken {
    /// The sync token of a reader who has seen everything up to `floor`.
    pub fn at(floor: Position) -> SyncToken {
        SyncToken { offset: ArrivalOffset::after(floor), seen: Vec::new() }
    }

    /// Remembers a shown item, with the version of the edge if it belongs by one: by a later edge it arrives again.
    /// Items that had arrived at the offset need not be remembered.
    pub fn shown(
        &mut self,
        id: ActivityId,
        version: Version,
        edge: Option<Version>,
        arrived: Option<Position>,
    ) {
        let settled = arrived.is_some_and(|position| !self.offset.is_before(position, id));
        let shown_hash = shown_hash(id, version, edge);
        if !settled && self.seen.len() < MAX_SEEN && !self.seen.contains(&shown_hash) {
            self.seen.push(shown_hash);
        }
    }

    /// Whether a reader with this token has seen this version, which arrived at `arrived`: it is behind the offset, or was
    /// shown before it arrived. `edge` as in [`SyncToken::shown`].
    pub fn covers(
        &self,
        id: ActivityId,
        version: Version,
        edge: Option<Version>,
        arrived: Option<Position>,
    ) -> bool {
        let settled = arrived.is_some_and(|position| !self.offset.is_before(position, id));
        settled || self.place(shown_hash(id, version, edge)).is_some()
    }

    /// Whether this version was shown before it arrived. It arrives once, so it is forgotten.
    ///
    /// Until the reader passes a change, the edge does not matter: a later one may exist already, but what it brings arrives
    /// after the change that ended the one before.
    pub fn forget(&mut self, id: ActivityId, version: Version, edge: Option<Version>) -> bool {
        let shown_hash = shown_hash(id, version, edge);
        let by_any_edge = || self.seen.iter().position(|seen| seen & !EDGE == shown_hash & !EDGE);
        let at = self.place(shown_hash).or_else(by_any_edge);
        at.map(|at| self.seen.swap_remove(at)).is_some()
    }

    /// Where this hash is remembered, before a change or past one.
    fn place(&self, shown_hash: u64) -> Option<usize> {
        self.seen.iter().position(|seen| seen & !PAST_CHANGE == shown_hash)
    }

    /// The reader passes a change, which may be the end of an edge.
    pub fn pass_change(&mut self) {
        self.seen.iter_mut().for_each(|seen| *seen |= PAST_CHANGE);
    }

    /// The token of a reader that has seen what either token covers, at the later offset. `None`: `other` is behind, or
    /// adds nothing. The items of `other` come first, so the oldest are forgotten when there are too many.
    #[must_use]
    pub fn joined(&self, other: &SyncToken) -> Option<SyncToken> {
        let mut joined = self.clone();
        joined.advance(other.offset);
        if joined.offset != other.offset {
            return None;
        }
        // A change may lie between the two offsets.
        if joined.offset != self.offset {
            joined.pass_change();
        }
        let older = std::mem::replace(&mut joined.seen, other.seen.clone());
        let older = older.into_iter().filter(|shown_hash| other.place(shown_hash & !PAST_CHANGE).is_none());
        joined.seen.extend(older.take(MAX_SEEN.saturating_sub(other.seen.len())));
        let adds = joined.offset != self.offset || other.seen.iter().any(|seen| !self.seen.contains(seen));
        adds.then_some(joined)
    }

    /// The bytes of a token, in a cursor and in the store.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.offset.position.0.to_be_bytes().to_vec();
        bytes.push(u8::from(self.offset.inside.is_some()));
        bytes.extend(self.offset.inside.iter().flat_map(|id| id.as_bytes()));
        bytes.extend(self.seen.iter().flat_map(|shown_hash| shown_hash.to_be_bytes()));
        bytes
    }

    /// Parses the bytes of a token.
    pub fn from_bytes(bytes: &[u8]) -> Option<SyncToken> {
        let mut bytes = Bytes(bytes);
        let position = Position(u64::from_be_bytes(bytes.take()?));
        let inside = match bytes.take()? {
            [0] => None,
            [1] => Some(ActivityId::from_bytes(bytes.take()?)?),
            _ => return None,
        };
        let mut seen = Vec::new();
        while !bytes.0.is_empty() {
            seen.push(u64::from_be_bytes(bytes.take()?));
        }
        let sync_token = SyncToken { offset: ArrivalOffset { position, inside }, seen };
        (sync_token.seen.len() <= MAX_SEEN).then_some(sync_token)
    }

    /// Advances to `offset`, never back.
    pub fn advance(&mut self, offset: ArrivalOffset) {
        let further = offset.position > self.offset.position
            || offset.position == self.offset.position
                && (offset.inside.is_none() || offset.inside > self.offset.inside);
        if further && !(offset.position == self.offset.position && self.offset.inside.is_none()) {
            self.offset = offset;
        }
    }
}

/// The bits of a remembered hash that come from the edge.
const EDGE: u64 = 0xfffe;
/// The bit of a remembered hash that says that the reader has passed a change since.
const PAST_CHANGE: u64 = 1;

/// The hash by which a sync token remembers a shown version of an activity.
fn shown_hash(id: ActivityId, version: Version, edge: Option<Version>) -> u64 {
    let shown = Fnv::new().bytes(id.as_bytes()).bytes(&version.0.to_be_bytes()).finish();
    let edge = edge.map_or(0, |edge| Fnv::new().bytes(&edge.0.to_be_bytes()).finish());
    shown & !EDGE & !PAST_CHANGE | edge & EDGE
}

/// A cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// The next page of a collection.
    Page {
        /// The order of the pages.
        order: Order,
        /// The last sort key of the previous page.
        after: SortKey,
        /// The sync token of the first page, with the items that the pages have shown.
        sync_token: SyncToken,
    },
    /// Everything that arrived after the sync token.
    Updates(SyncToken),
}

/// The reason why a cursor is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// It is not a cursor of tofrom, or was altered.
    #[error("invalid cursor: follow the links of a response unchanged")]
    Altered,
    /// It belongs to another collection, order or filter.
    #[error(
        "the cursor belongs to another collection, order or filter: follow the links of a response unchanged"
    )]
    Foreign,
}

impl Cursor {
    /// The text form in a link.
    pub fn encode(&self, binding: Binding, keys: &CursorKeys) -> String {
        let mut bytes = Vec::with_capacity(128);
        let sync_token = match self {
            Cursor::Page { order, after, sync_token } => {
                bytes.push(match order {
                    Order::Received => 0,
                    Order::Published => 1,
                });
                bytes.extend(after.time.0.to_be_bytes());
                bytes.extend(after.id.as_bytes());
                sync_token
            }
            Cursor::Updates(sync_token) => {
                bytes.push(2);
                sync_token
            }
        };
        bytes.extend(binding.collection.to_be_bytes());
        bytes.extend(binding.filters.to_be_bytes());
        bytes.extend(sync_token.to_bytes());
        keys.seal(bytes)
    }

    /// Parses a cursor, which must belong to this collection, these filters and, for a page, this order.
    pub fn decode(
        text: &str,
        binding: Binding,
        order: Order,
        keys: &CursorKeys,
    ) -> Result<Cursor, CursorError> {
        let (cursor, bound) = Cursor::open(text, keys)?;
        let same_order = !matches!(cursor, Cursor::Page { order: page_order, .. } if page_order != order);
        if bound == binding && same_order { Ok(cursor) } else { Err(CursorError::Foreign) }
    }

    /// The sync token of an updates link or an event id, which must belong to the collection of `binding`, under any
    /// filters.
    pub fn decode_sync_token(
        text: &str,
        binding: Binding,
        keys: &CursorKeys,
    ) -> Result<SyncToken, CursorError> {
        match Cursor::open(text, keys)? {
            (Cursor::Updates(sync_token), bound) if bound.collection == binding.collection => Ok(sync_token),
            _ => Err(CursorError::Foreign),
        }
    }

    fn open(text: &str, keys: &CursorKeys) -> Result<(Cursor, Binding), CursorError> {
        let content = keys.open(text).ok_or(CursorError::Altered)?;
        Cursor::read(&mut Bytes(&content)).ok_or(CursorError::Altered)
    }

    fn read(bytes: &mut Bytes<'_>) -> Option<(Cursor, Binding)> {
        let [kind] = bytes.take()?;
        let page = match kind {
            0 => Some(Order::Received),
            1 => Some(Order::Published),
            2 => None,
            _ => return None,
        };
        let after = match page {
            Some(order) => {
                let time = Millis(i64::from_be_bytes(bytes.take()?));
                Some((order, SortKey { time, id: ActivityId::from_bytes(bytes.take()?)? }))
            }
            None => None,
        };
        let collection = u64::from_be_bytes(bytes.take()?);
        let binding = Binding { collection, filters: u64::from_be_bytes(bytes.take()?) };
        let sync_token = SyncToken::from_bytes(bytes.0)?;
        let cursor = match after {
            Some((order, after)) => Cursor::Page { order, after, sync_token },
            None => Cursor::Updates(sync_token),
        };
        Some((cursor, binding))
    }
}

/// A reader of bytes.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }
}
