//! By which way what is followed comes into collections. Everything that a reader needs to know lies in one partition, and
//! comes with one statement, because every page asks for it.

pub(super) mod cells;
mod choices;

use super::message::Ensure;
use super::{CqlStore, Query, together};
use crate::{LastRead, Result, Ways};
use async_trait::async_trait;
use model::{Audience, Entry, Millis, Phase, Position, Reading, Sleep, Uid, Version, Way};

const AUDIENCE: Query = Query::read("SELECT audience FROM feed.audience WHERE uid = ?");
const PUT_AUDIENCE: Query =
    Query::write("INSERT INTO feed.audience (uid, audience) VALUES (?, ?) USING TIMESTAMP ?");
const READING: Query = Query::read("SELECT followee, edge, phase FROM feed.reading WHERE uid = ?");
const LAST_READ: Query = Query::read("SELECT read_ms, phase FROM feed.reading WHERE uid = ? LIMIT 1");
const NOTE_READ: Query = Query::write("UPDATE feed.reading USING TIMESTAMP ? SET read_ms = ? WHERE uid = ?");
const PUT_PHASE: Query = Query::write("UPDATE feed.reading USING TIMESTAMP ? SET phase = ? WHERE uid = ?");

/// The columns followee, edge and phase; an account that never pulled has one row without the first two.
type ReadingRow = (Option<i64>, Option<Vec<u8>>, Option<Vec<u8>>);

/// The phase with its version; one that was never put has the first one.
fn phase_of(cell: Option<&[u8]>) -> Result<(Version, Phase)> {
    cell.map(cells::phase_of).transpose().map(Option::unwrap_or_default)
}

impl CqlStore {
    async fn audience(&self, uid: Uid) -> Result<Audience> {
        let found: Option<(Vec<u8>,)> = self.db.row(&AUDIENCE, (uid.0,)).await?;
        found.map(|(cell,)| cells::audience_of(&cell)).transpose().map(Option::unwrap_or_default)
    }

    async fn last_read(&self, uid: Uid) -> Result<LastRead> {
        let found: Option<(Option<i64>, Option<Vec<u8>>)> = self.db.row(&LAST_READ, (uid.0,)).await?;
        let (at, phase) = found.unwrap_or_default();
        let (version, phase) = phase_of(phase.as_deref())?;
        Ok(LastRead { at: at.map(Millis), version, phase })
    }

    /// Writes an account's phase; the latest version stays.
    pub(super) async fn write_phase(&self, uid: Uid, version: Version, phase: Phase) -> Result<()> {
        self.db.write(&PUT_PHASE, (version.0, cells::phase(version, phase), uid.0)).await
    }
}

#[async_trait]
impl Ways for CqlStore {
    async fn audiences(&self, uids: &[Uid]) -> Result<Vec<Audience>> {
        together(uids.iter().map(|uid| self.audience(*uid))).await
    }

    async fn put_audience(&self, uid: Uid, audience: &Audience) -> Result<()> {
        self.db.write(&PUT_AUDIENCE, (uid.0, cells::audience(audience), audience.version.0)).await
    }

    async fn choose(
        &self,
        follower: Uid,
        followee: Uid,
        since: Position,
        version: Version,
        most: usize,
    ) -> Result<Way> {
        let way = match self.chosen(follower, followee).await? {
            Some(way) => way,
            None => {
                let pulled = self.reading(follower).await?.pulled;
                let wish = if pulled.len() < most { Way::Pulled } else { Way::Pushed };
                self.make_choice(follower, followee, wish).await?
            }
        };
        self.write_way((follower, followee), way, Some(since), version).await?;
        Ok(way)
    }

    async fn unchoose(&self, follower: Uid, followee: Uid, version: Version) -> Result<()> {
        match self.chosen(follower, followee).await? {
            Some(way) => self.write_way((follower, followee), way, None, version).await,
            None => Ok(()),
        }
    }

    async fn pushed_followers(
        &self,
        followee: Uid,
        after: Option<Uid>,
        limit: usize,
    ) -> Result<Vec<(Uid, Position)>> {
        self.pushed_after(followee, after, limit).await
    }

    async fn reading(&self, uid: Uid) -> Result<Reading> {
        let rows: Vec<ReadingRow> = self.db.rows(&READING, (uid.0,)).await?;
        let (version, phase) = phase_of(rows.first().and_then(|(.., phase)| phase.as_deref()))?;
        let mut pulled = Vec::new();
        for (followee, edge, _) in rows {
            let Some((followee, edge)) = followee.zip(edge) else { continue };
            pulled.extend(cells::edge_of(&edge)?.map(|since| (Uid(followee), since)));
        }
        Ok(Reading { version, phase, pulled })
    }

    async fn note_read(&self, uid: Uid, at: Millis) -> Result<()> {
        self.db.write(&NOTE_READ, (at.0, at.0, uid.0)).await
    }

    async fn last_reads(&self, uids: &[Uid]) -> Result<Vec<LastRead>> {
        together(uids.iter().map(|uid| self.last_read(*uid))).await
    }

    async fn put_phase(&self, uid: Uid, version: Version, phase: Phase) -> Result<()> {
        self.write_phase(uid, version, phase).await
    }

    async fn wake(
        &self,
        uid: Uid,
        version: Version,
        since: Position,
        now: Millis,
    ) -> Result<Option<Position>> {
        if self.last_read(uid).await?.version > version {
            return Ok(None);
        }
        let returns = Ensure::Return { uid, version: version.following(), since, at: now };
        self.follow_up(returns).await.map(Some)
    }

    async fn put_sleep(
        &self,
        follower: Uid,
        followees: &[Uid],
        version: Version,
        sleep: Sleep,
    ) -> Result<()> {
        let all = followees.iter().map(|followee| self.write_sleep(follower, *followee, version, sleep));
        together(all).await.map(drop)
    }

    async fn followed_entries(&self, owner: Uid, own: &[Entry]) -> Result<Vec<Option<Entry>>> {
        self.look_up_followed(owner, own).await
    }
}
