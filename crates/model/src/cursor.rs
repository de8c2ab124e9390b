//! Cursors: where a walk goes on, and what a poller has seen.
//!
//! A cursor is opaque to clients, versioned, and bound to the collection and the filters that it came from. It grants
//! nothing (whoever presents it is authenticated like everybody), so a checksum against accidents is enough.

use crate::hash::Fnv;
use crate::{ActivityId, Collection, Filter, Millis, Order, Position, SortKey, Uid, Version};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

const VERSION: u8 = 1;

/// How many unsettled items a sync_token remembers; one too many costs a repeat, never a hole.
const MAX_SEEN: usize = 200;

/// What a cursor is bound to: whose collection, which one, under which filters. Not the order: a sync_token is good in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding(u64);

impl Binding {
    /// The binding of cursors of that collection under that filter.
    pub fn new(owner: Uid, collection: Collection, filter: &Filter) -> Binding {
        let mut hash = Fnv::new().bytes(&owner.0.to_be_bytes()).text(collection.as_str());
        for (name, value) in filter.parameters() {
            hash = hash.text(name).text(&value);
        }
        Binding(hash.finish())
    }
}

/// What somebody who read up to some point has seen of a collection: everything that had arrived at `offset`, and
/// besides it the few items that were shown before their arrival was settled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncToken {
    /// Everything up to here has been seen.
    pub offset: ArrivalOffset,
    seen: Vec<u64>,
}

/// A offset among the arrivals: a position in the delivery log and, where one delivery brought many, the last
/// identifier seen of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrivalOffset {
    /// Arrivals at earlier positions have been seen.
    pub position: Position,
    /// Of this position: all up to this identifier; `None` means all of them.
    pub inside: Option<ActivityId>,
}

impl ArrivalOffset {
    /// Everything up to and including that position.
    pub fn after(position: Position) -> ArrivalOffset {
        ArrivalOffset { position, inside: None }
    }

    /// Whether an arrival there comes after this offset.
    pub fn is_before(&self, position: Position, id: ActivityId) -> bool {
        position > self.position || position == self.position && self.inside.is_some_and(|seen| id > seen)
    }
}

impl SyncToken {
    /// The sync_token of a reader who is shown everything up to `floor`.
    pub fn at(floor: Position) -> SyncToken {
        SyncToken { offset: ArrivalOffset::after(floor), seen: Vec::new() }
    }

    /// Remembers that an item was shown, and by which version of an edge if it is there by one: what comes over a later
    /// edge comes anew. What had arrived by the sync_token's offset needs no remembering.
    pub fn shown(
        &mut self,
        id: ActivityId,
        version: Version,
        edge: Option<Version>,
        arrived: Option<Position>,
    ) {
        let settled = arrived.is_some_and(|position| !self.offset.is_before(position, id));
        let pair = pair(id, version, edge);
        if !settled && self.seen.len() < MAX_SEEN && !self.seen.contains(&pair) {
            self.seen.push(pair);
        }
    }

    /// Whether that version was shown before it arrived. It arrives once, so it is forgotten then.
    pub fn forget(&mut self, id: ActivityId, version: Version, edge: Option<Version>) -> bool {
        let pair = pair(id, version, edge);
        let at = self.seen.iter().position(|one| *one == pair);
        at.map(|at| self.seen.swap_remove(at)).is_some()
    }

    /// Goes on to `offset`, never back.
    pub fn advance(&mut self, offset: ArrivalOffset) {
        let further = offset.position > self.offset.position
            || offset.position == self.offset.position
                && (offset.inside.is_none() || offset.inside > self.offset.inside);
        if further && !(offset.position == self.offset.position && self.offset.inside.is_none()) {
            self.offset = offset;
        }
    }
}

/// The hash by which a sync_token remembers a version of an activity.
fn pair(id: ActivityId, version: Version, edge: Option<Version>) -> u64 {
    let pair = Fnv::new().bytes(id.as_bytes()).bytes(&version.0.to_be_bytes());
    edge.into_iter().fold(pair, |pair, edge| pair.bytes(&edge.0.to_be_bytes())).finish()
}

/// Where to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// The next page of a walk through the collection.
    Page {
        /// The order that is walked in.
        order: Order,
        /// After this sort_key.
        after: SortKey,
        /// What the walk has seen: the sync_token of its first page and what the pages showed.
        sync_token: SyncToken,
    },
    /// Whatever arrived after the sync_token.
    Updates(SyncToken),
}

/// Why a cursor is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// It is none of ours, or was altered.
    #[error("not a cursor of this service, or altered on the way; follow the links of an answer as they are")]
    Altered,
    /// It is ours, but from elsewhere.
    #[error(
        "this cursor is from another collection, order or filter; follow the links of an answer as they are"
    )]
    Foreign,
}

impl Cursor {
    /// The text that stands in a link.
    pub fn encode(&self, binding: Binding) -> String {
        let mut bytes = vec![VERSION];
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
        bytes.extend(binding.0.to_be_bytes());
        bytes.extend(sync_token.offset.position.0.to_be_bytes());
        bytes.push(u8::from(sync_token.offset.inside.is_some()));
        bytes.extend(sync_token.offset.inside.iter().flat_map(|id| id.as_bytes()));
        bytes.extend(sync_token.seen.iter().flat_map(|pair| pair.to_be_bytes()));
        let checksum = Fnv::new().bytes(&bytes).finish();
        bytes.extend(checksum.to_be_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads a cursor that must have come from this collection, these filters and, for a page, this order.
    pub fn decode(text: &str, binding: Binding, order: Order) -> Result<Cursor, CursorError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| CursorError::Altered)?;
        let (content, checksum) = bytes.split_last_chunk::<8>().ok_or(CursorError::Altered)?;
        if Fnv::new().bytes(content).finish().to_be_bytes() != *checksum {
            return Err(CursorError::Altered);
        }
        let (cursor, bound) = Cursor::read(&mut Bytes(content)).ok_or(CursorError::Altered)?;
        let same_order = !matches!(cursor, Cursor::Page { order: walked, .. } if walked != order);
        if bound == binding && same_order { Ok(cursor) } else { Err(CursorError::Foreign) }
    }

    fn read(bytes: &mut Bytes<'_>) -> Option<(Cursor, Binding)> {
        let [VERSION, kind] = bytes.take::<2>()? else { return None };
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
        let binding = Binding(u64::from_be_bytes(bytes.take()?));
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
        let fits = sync_token.seen.len() <= MAX_SEEN;
        let cursor = match after {
            Some((order, after)) => Cursor::Page { order, after, sync_token },
            None => Cursor::Updates(sync_token),
        };
        fits.then_some((cursor, binding))
    }
}

/// Bytes that are being read from the front.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }
}
