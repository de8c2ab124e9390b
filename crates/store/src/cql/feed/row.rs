//! A row of a collection: an activity with one reason.
//!
//! An entry is one cell with the version as timestamp, so the engine keeps the later version. It unites the cells of
//! one version. Their bytes begin with the position and the prior visibility, the wider being larger, and a message
//! has the rest. [`later`] chooses as the interface specifies.

use super::super::db::{activity_id, corrupt};
use crate::Result;
use crate::codec::{Encoded, EntryCell, take, visibility_number, visibility_of};
use model::{
    ActivityId, Entry, EntryReason, EntryReasons, Facet, Kind, Millis, Order, Position, SortKey, Verb,
    Visibility,
};
use std::cmp::Reverse;
use std::sync::Arc;
use uuid::Uuid;

/// The separator between the words of a facet. No word contains it.
const SEPARATOR: char = '\x1f';

/// The columns time, identifier and cells of the entry, usually one. A row that expires may have lost them already.
pub(super) type Columns = (i64, Uuid, Cells);
pub(super) type Cells = Option<Vec<Vec<u8>>>;

/// The cell of an entry that arrived at `at`. The time that orders the row is in its key.
pub(super) fn cell(entry: &Entry, at: Position, order: Order) -> Vec<u8> {
    let other_time = match order {
        Order::Received => entry.published,
        Order::Published => entry.received,
    };
    let message = EntryCell {
        actor: entry.actor,
        other_time,
        version: entry.version,
        facet: Arc::clone(&entry.facet),
        pulled: entry.pulled,
    };
    let visibility = visibility_number(entry.visibility);
    let ordered = [prior_number(entry.prior), visibility, u8::from(entry.retracted)];
    [at.0.to_be_bytes().as_slice(), &ordered, &message.encoded()].concat()
}

/// The entry of this row alone. `None` if it has expired.
pub(super) fn entry((time, id, cells): &Columns, reason: EntryReason, order: Order) -> Result<Option<Entry>> {
    let cells = cells.as_deref().unwrap_or_default();
    let entries = cells.iter().map(|cell| entry_of_cell(*time, *id, cell, reason, order));
    Ok(entries.collect::<Result<Vec<Entry>>>()?.into_iter().reduce(later))
}

fn entry_of_cell(time: i64, id: Uuid, mut cell: &[u8], reason: EntryReason, order: Order) -> Result<Entry> {
    let arrived = take(&mut cell).map(u64::from_be_bytes).map(Position)?;
    let [prior, visibility, retracted] = take(&mut cell)?;
    let EntryCell { actor, other_time, version, facet, pulled } = EntryCell::decoded(cell)?;
    let time = Millis(time);
    let (received, published) = match order {
        Order::Received => (time, other_time),
        Order::Published => (other_time, time),
    };
    Ok(Entry {
        id: activity_id(id)?,
        reasons: EntryReasons::default().with(reason),
        received,
        published,
        actor,
        version,
        facet,
        visibility: visibility_of(visibility)?,
        retracted: retracted != 0,
        prior: prior_of(prior)?,
        arrived: Some(arrived),
        pulled,
    })
}

/// Of two writes of one row, the one that counts.
pub(super) fn later(a: Entry, b: Entry) -> Entry {
    let rank = |entry: &Entry| (entry.version, entry.arrived, entry.prior.map(Reverse));
    if rank(&b) > rank(&a) { b } else { a }
}

/// The number of a prior visibility. A wider one is larger.
fn prior_number(prior: Option<Visibility>) -> u8 {
    prior.map_or(0, |visibility| 3 - visibility_number(visibility))
}

fn prior_of(number: u8) -> Result<Option<Visibility>> {
    match number {
        0 => Ok(None),
        number => visibility_of(3_u8.saturating_sub(number)).map(Some),
    }
}

/// The name of a facet in the directory.
pub(super) fn facet_name(facet: &Facet) -> String {
    let Facet { service, kind, verb } = facet;
    format!("{service}{SEPARATOR}{}{SEPARATOR}{}", kind.as_str(), verb.as_str())
}

/// The facet with this name.
pub(super) fn facet(name: &str) -> Result<Facet> {
    let mut words = name.splitn(3, SEPARATOR);
    let found = (|| {
        Some(Facet {
            service: words.next()?.to_owned(),
            kind: Kind::parse(words.next()?)?,
            verb: Verb::parse(words.next()?)?,
        })
    })();
    found.ok_or_else(|| corrupt("invalid name of a facet"))
}

/// The sort key below every row of this time or later.
pub(super) fn before(time: i64) -> SortKey {
    SortKey { time: Millis(time), id: ActivityId::MIN }
}

/// The number of a reason.
pub(super) fn reason_number(reason: EntryReason) -> i8 {
    reason.number().cast_signed()
}

/// The reason with this number.
pub(super) fn reason_of(number: i8) -> Option<EntryReason> {
    EntryReason::ALL.into_iter().find(|reason| reason_number(*reason) == number)
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

    fn example(prior: Option<Visibility>) -> Entry {
        Entry {
            id: ActivityId::new(Millis(7), [9; 10]),
            reasons: EntryReasons::default().with(EntryReason::Addressed),
            facet: Facet {
                service: "škoda".to_owned(),
                kind: Kind::parse("photo").unwrap(),
                verb: Verb::parse("post").unwrap(),
            }
            .into(),
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
    fn encoded_rows_decode_to_the_same_entry() {
        for prior in [None, Some(Visibility::Direct), Some(Visibility::Followers), Some(Visibility::Public)] {
            let expected = example(prior);
            let id = Uuid::from_bytes(*expected.id.as_bytes());
            for (order, time) in [(Order::Received, 7), (Order::Published, -7)] {
                let columns = (time, id, Some(vec![cell(&expected, Position(5), order)]));
                assert_eq!(entry(&columns, EntryReason::Addressed, order).unwrap(), Some(expected.clone()));
            }
        }
        assert_eq!(facet(&facet_name(&example(None).facet)).unwrap(), *example(None).facet);
    }

    #[test]
    fn a_row_encoded_by_an_earlier_version_is_not_pulled() {
        let expected = Entry { pulled: true, ..example(None) };
        let id = Uuid::from_bytes(*expected.id.as_bytes());
        let read = |cell: &[u8]| {
            let columns = (7, id, Some(vec![cell.to_vec()]));
            entry(&columns, EntryReason::Addressed, Order::Received).unwrap().unwrap()
        };
        let bytes = cell(&expected, Position(5), Order::Received);
        assert_eq!(read(&bytes), expected);
        // The tag and the value of the last field.
        let (older, _) = bytes.split_at(bytes.len() - 2);
        assert_eq!(read(older), example(None));
        assert_eq!(
            older,
            cell(&example(None), Position(5), Order::Received),
            "an earlier version sees no difference"
        );
    }

    #[test]
    fn of_one_version_the_later_position_and_the_wider_prior_visibility_count() {
        let written = |at, prior| cell(&example(prior), Position(at), Order::Received);
        let rising = [
            (1, Some(Visibility::Public)),
            (2, None),
            (2, Some(Visibility::Direct)),
            (2, Some(Visibility::Followers)),
            (2, Some(Visibility::Public)),
            (256, None),
        ];
        let id = Uuid::from_bytes(*example(None).id.as_bytes());
        let read = |cells| entry(&(7, id, cells), EntryReason::Addressed, Order::Received).unwrap();
        for pair in rising.windows(2) {
            let [(first, prior), (last, expected)] = pair else { unreachable!() };
            let mut cells = vec![written(*first, *prior), written(*last, *expected)];
            for _ in 0..2 {
                let found = read(Some(cells.clone())).unwrap();
                assert_eq!((found.arrived, found.prior), (Some(Position(*last)), *expected));
                cells.reverse();
            }
        }
        assert_eq!(read(None), None, "an expired row");
    }
}
