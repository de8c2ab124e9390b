//! The tables of collections, and the statements for them.

use super::super::Query;
use model::{EntryReason, Order};

/// A table of ordered rows, with its statements.
pub(super) struct Table {
    /// Parameters: version, TTL, entry, uid, reason, bucket, time, identifier.
    pub(super) put: Query,
    /// Parameters: version, cells, uid, reason, bucket, time, identifier. Removes only cells with these very bytes.
    pub(super) remove: Query,
    /// Parameters: uid, reason, bucket, upper bound (exclusive) of time and identifier, lower bound (inclusive),
    /// limit.
    pub(super) read: Query,
    /// Parameters: uid, reason, bucket, pairs of time and identifier.
    pub(super) look_up: Query,
    /// Parameters: uid, reason, bucket.
    pub(super) count: Query,
}

/// A table by facet.
pub(super) struct Runs {
    /// Parameters: uid, reason, facet, bucket, time, identifier, entry, version, TTL.
    pub(super) put: Query,
    /// As for a table; the facet follows the reason.
    pub(super) read: Query,
}

macro_rules! table {
    ($name:literal, $time:literal) => {
        Table {
            // Not an INSERT, which would leave an empty row where an entry was removed.
            put: Query::write(concat!(
                "UPDATE feed.",
                $name,
                " USING TIMESTAMP ? AND TTL ? SET entry = ? WHERE uid = ? AND reason = ? AND bucket = ? AND ",
                $time,
                " = ? AND aid = ?"
            )),
            remove: Query::write(concat!(
                "UPDATE feed.",
                $name,
                " USING TIMESTAMP ? SET entry = entry - ? WHERE uid = ? AND reason = ? AND bucket = ? AND ",
                $time,
                " = ? AND aid = ?"
            )),
            read: Query::read(concat!(
                "SELECT ",
                $time,
                ", aid, entry FROM feed.",
                $name,
                " WHERE uid = ? AND reason = ? AND bucket = ? ",
                "AND (",
                $time,
                ", aid) < (?, ?) AND (",
                $time,
                ", aid) >= (?, ?) LIMIT ?"
            )),
            look_up: Query::read(concat!(
                "SELECT ",
                $time,
                ", aid, entry FROM feed.",
                $name,
                " WHERE uid = ? AND reason = ? AND bucket = ? ",
                "AND (",
                $time,
                ", aid) IN ?"
            )),
            count: Query::read(concat!(
                "SELECT COUNT(*) FROM feed.",
                $name,
                " WHERE uid = ? AND reason = ? AND bucket = ?"
            )),
        }
    };
}

macro_rules! runs {
    ($name:literal, $time:literal) => {
        Runs {
            put: Query::write(concat!(
                "INSERT INTO feed.",
                $name,
                " (uid, reason, facet, bucket, ",
                $time,
                ", aid, entry) ",
                "VALUES (?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ? AND TTL ?"
            )),
            read: Query::read(concat!(
                "SELECT ",
                $time,
                ", aid, entry FROM feed.",
                $name,
                " WHERE uid = ? AND reason = ? AND facet = ? AND bucket = ? ",
                "AND (",
                $time,
                ", aid) < (?, ?) AND (",
                $time,
                ", aid) >= (?, ?) LIMIT ?"
            )),
        }
    };
}

static OWN_RECEIVED: Table = table!("own_received", "received_ms");
static OWN_PUBLISHED: Table = table!("own_published", "published_ms");
static FOLLOWED_RECEIVED: Table = table!("followed_received", "received_ms");
static FOLLOWED_PUBLISHED: Table = table!("followed_published", "published_ms");
static RUN_RECEIVED: Runs = runs!("run_received", "received_ms");
static RUN_PUBLISHED: Runs = runs!("run_published", "published_ms");

/// The table for a reason and an order.
pub(super) fn table(reason: EntryReason, order: Order) -> &'static Table {
    match (reason, order) {
        (EntryReason::Authored | EntryReason::Addressed, Order::Received) => &OWN_RECEIVED,
        (EntryReason::Authored | EntryReason::Addressed, Order::Published) => &OWN_PUBLISHED,
        (EntryReason::Followed, Order::Received) => &FOLLOWED_RECEIVED,
        (EntryReason::Followed, Order::Published) => &FOLLOWED_PUBLISHED,
    }
}

/// The table by facet, which only some reasons have.
pub(super) fn runs(reason: EntryReason, order: Order) -> Option<&'static Runs> {
    match (reason, order) {
        (EntryReason::Followed, _) => None,
        (_, Order::Received) => Some(&RUN_RECEIVED),
        (_, Order::Published) => Some(&RUN_PUBLISHED),
    }
}
