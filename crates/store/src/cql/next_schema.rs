//! What a next version of the program would do with one more field, column and table. For `scripts/prove-upgrade`
//! only: it runs this program beside one without the feature.
//!
//! All three values are the version of the state that they belong to, because a program without them may write a
//! later version and leave the column and the row as they are.

use super::db::{Db, Query, corrupt, uuid};
use crate::Result;
use crate::codec::StateCellWire;
use model::{ActivityId, State};
use prost::Message;
use tracing::debug;

const PUT_COLUMN: Query =
    Query::write("UPDATE feed.activity USING TIMESTAMP ? SET next_ver = ? WHERE aid = ?");
const PUT_ROW: Query =
    Query::write("INSERT INTO feed.next_version (aid, ver) VALUES (?, ?) USING TIMESTAMP ?");
const CELLS: Query = Query::read("SELECT state, next_ver FROM feed.activity WHERE aid = ?");
const ROW: Query = Query::read("SELECT ver FROM feed.next_version WHERE aid = ?");

/// Writes column and row of a state, before the state itself.
pub(super) async fn write(db: &Db, state: &State) -> Result<()> {
    let (id, version) = (uuid(state.id), state.version.0);
    db.write(&PUT_ROW, (id, version, version)).await?;
    db.write(&PUT_COLUMN, (version, version, id)).await
}

/// Fails if a state with the new field has lost its column or row.
pub(super) async fn verify(db: &Db, id: ActivityId) -> Result<()> {
    let cells = db.row::<(Option<Vec<u8>>, Option<i64>)>(&CELLS, (uuid(id),)).await?;
    let Some((Some(cell), column)) = cells else { return Ok(()) };
    let wire = StateCellWire::decode(cell.as_slice()).map_err(|error| corrupt(error.to_string()))?;
    let Some(field) = wire.next else {
        debug!(%id, had_before = column.is_some(), "state without the next field");
        return Ok(());
    };
    let row: Option<(i64,)> = db.row(&ROW, (uuid(id),)).await?;
    if column.is_none_or(|version| version < field) || row.is_none_or(|(version,)| version < field) {
        return Err(corrupt(format!("next field {field} of {id} with column {column:?} and row {row:?}")));
    }
    debug!(%id, "state with the next field");
    Ok(())
}
