//! A row of a collection: an activity in one reason.
//!
//! What it says is one cell, written with the version as its timestamp. Of two writes the engine keeps the one with
//! the later timestamp, and where they are equal the one with the larger bytes. These begin with the position and
//! with who could see what was before, the wider the larger: what the engine keeps is what the interface promises.

use super::super::db::{activity_id, corrupt};
use crate::Result;
use crate::bytes::{WireReader, WireWriter, visibility_number, visibility_of};
use model::{
    ActivityId, Entry, EntryReason, EntryReasons, Facet, Kind, Millis, Order, Position, SortKey, Verb,
    Visibility,
};
use std::cmp::Reverse;
use uuid::Uuid;

/// Between the words of a facet; no word has it.
const BETWEEN: char = '\x1f';

/// The columns time, identifier and entry.
pub(super) type Columns = (i64, Uuid, Vec<u8>);

/// What the cell says of an entry that arrived there. The time that orders the row is in its key.
pub(super) fn cell(entry: &Entry, at: Position, order: Order) -> Vec<u8> {
    let other_time = match order {
        Order::Received => entry.published,
        Order::Published => entry.received,
    };
    WireWriter::new()
        .ordered(at.0)
        .byte(formerly_number(entry.prior))
        .visibility(entry.visibility)
        .flag(entry.retracted)
        .signed(entry.actor.0)
        .signed(other_time.0)
        .signed(entry.version.0)
        .facet(&entry.facet)
        .mark(entry.pulled)
        .finish()
}

/// The entry that has this row only.
pub(super) fn entry((time, id, cell): Columns, one: EntryReason, order: Order) -> Result<Entry> {
    let mut take = WireReader::new(&cell);
    let arrived = Some(Position(take.ordered()?));
    let prior = formerly_of(take.byte()?)?;
    let visibility = take.visibility()?;
    let retracted = take.flag()?;
    let actor = take.uid()?;
    let (time, other_time) = (Millis(time), take.millis()?);
    let (received, published) = match order {
        Order::Received => (time, other_time),
        Order::Published => (other_time, time),
    };
    Ok(Entry {
        id: activity_id(id)?,
        reasons: EntryReasons::default().with(one),
        received,
        published,
        actor,
        version: take.version()?,
        facet: take.facet()?,
        visibility,
        retracted,
        prior,
        arrived,
        pulled: take.mark()?,
    })
}

/// Of two writes of one row that are in different partitions the one that the engine would have kept in one.
pub(super) fn later(one: Entry, other: Entry) -> Entry {
    let rank = |entry: &Entry| (entry.version, entry.arrived, entry.prior.map(Reverse));
    if rank(&other) > rank(&one) { other } else { one }
}

/// The number of who could see what was before: the wider, the larger.
fn formerly_number(prior: Option<Visibility>) -> u8 {
    prior.map_or(0, |visibility| 3 - visibility_number(visibility))
}

fn formerly_of(number: u8) -> Result<Option<Visibility>> {
    match number {
        0 => Ok(None),
        number => visibility_of(3_u8.saturating_sub(number)).map(Some),
    }
}

/// A facet as the directory names it.
pub(super) fn facet_name(facet: &Facet) -> String {
    let Facet { service, kind, verb } = facet;
    format!("{service}{BETWEEN}{}{BETWEEN}{}", kind.as_str(), verb.as_str())
}

/// The facet of that name.
pub(super) fn facet(name: &str) -> Result<Facet> {
    let mut words = name.splitn(3, BETWEEN);
    let found = (|| {
        Some(Facet {
            service: words.next()?.to_owned(),
            kind: Kind::parse(words.next()?)?,
            verb: Verb::parse(words.next()?)?,
        })
    })();
    found.ok_or_else(|| corrupt("a name of no facet"))
}

/// Below every row of that time or a later one.
pub(super) fn before(time: i64) -> SortKey {
    SortKey { time: Millis(time), id: ActivityId::MIN }
}

/// The number of a reason in the store.
pub(super) fn reason_number(one: EntryReason) -> i8 {
    one.number().cast_signed()
}

/// The reason of that number.
pub(super) fn reason_of(number: i8) -> Option<EntryReason> {
    EntryReason::ALL.into_iter().find(|one| reason_number(*one) == number)
}

/// The number of an order in the directory.
pub(super) fn order_number(order: Order) -> i8 {
    match order {
        Order::Received => 0,
        Order::Published => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::{cell, entry, facet, facet_name};
    use model::{
        ActivityId, Entry, EntryReason, EntryReasons, Facet, Kind, Millis, Order, Position, Uid, Verb,
        Version, Visibility,
    };
    use uuid::Uuid;

    fn one(prior: Option<Visibility>) -> Entry {
        Entry {
            id: ActivityId::new(Millis(7), [9; 10]),
            reasons: EntryReasons::default().with(EntryReason::Addressed),
            facet: Facet {
                service: "škoda".to_owned(),
                kind: Kind::parse("photo").unwrap(),
                verb: Verb::parse("post").unwrap(),
            },
            received: Millis(7),
            published: Millis(-7),
            actor: Uid(i64::MAX),
            version: Version(3),
            visibility: Visibility::Followers,
            retracted: true,
            prior,
            arrived: Some(Position(5)),
            pulled: false,
        }
    }

    #[test]
    fn rows_come_back_unchanged() {
        for prior in [None, Some(Visibility::Direct), Some(Visibility::Followers), Some(Visibility::Public)] {
            let told = one(prior);
            let id = Uuid::from_bytes(*told.id.as_bytes());
            for (order, time) in [(Order::Received, 7), (Order::Published, -7)] {
                let columns = (time, id, cell(&told, Position(5), order));
                assert_eq!(entry(columns, EntryReason::Addressed, order).unwrap(), told);
            }
        }
        assert_eq!(facet(&facet_name(&one(None).facet)).unwrap(), one(None).facet);
    }

    #[test]
    fn a_row_of_an_older_node_is_not_pulled() {
        let told = Entry { pulled: true, ..one(None) };
        let id = Uuid::from_bytes(*told.id.as_bytes());
        let read =
            |cell: &[u8]| entry((7, id, cell.to_vec()), EntryReason::Addressed, Order::Received).unwrap();
        let bytes = cell(&told, Position(5), Order::Received);
        assert_eq!(read(&bytes), told);
        let (_, older) = bytes.split_last().unwrap();
        assert_eq!(read(older), one(None));
        assert_eq!(older, cell(&one(None), Position(5), Order::Received), "nor does it see any difference");
    }

    #[test]
    fn the_larger_bytes_are_those_that_stay() {
        let bytes = |at, prior| cell(&one(prior), Position(at), Order::Received);
        let rising = [
            bytes(1, Some(Visibility::Public)),
            bytes(2, None),
            bytes(2, Some(Visibility::Direct)),
            bytes(2, Some(Visibility::Followers)),
            bytes(2, Some(Visibility::Public)),
            bytes(256, None),
        ];
        assert!(rising.is_sorted());
    }
}
