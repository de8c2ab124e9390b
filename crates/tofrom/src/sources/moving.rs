//! Feeds that move to another address.

use super::connection::Connection;
use super::look::PAGE;
use super::source::{Known, Source, id_of};
use super::{Address, Sources};
use store::Result;
use url::Url;

/// How often a server must say that a feed has moved for good before it is believed: many say so for a day by mistake.
const SIGHTINGS: u32 = 3;

impl Sources {
    /// Where a server has said often enough that the feed has moved for good, everybody is connected to the new address
    /// from now on. The old one stays due until all of them are, so that a crash in between is made good.
    pub(super) async fn move_on(&self, mut source: Source) -> Result<()> {
        let Some((to, sightings)) = source.known.moving.clone() else { return Ok(()) };
        let target = id_of(&to);
        if sightings < SIGHTINGS || target == source.id {
            return Ok(());
        }
        let mut there = match self.source(target).await? {
            Some(there) if there.due.is_some() => there,
            before => {
                let known = Known { address: to, moving: None, subscription: None, ..source.known.clone() };
                let version = before.and_then(|before| before.version);
                Source { id: target, version, due: None, known }
            }
        };
        there.known.awaited = true;
        there.due = Some(self.clock.now());
        self.keep(&mut there).await?;
        loop {
            let page = self.store.connections_to(source.id, None, PAGE).await?;
            if page.is_empty() {
                break;
            }
            for connection in page {
                let mut connection = Connection::read(connection)?;
                connection.source = target;
                // If somebody was connected there before, it may have brought them what it will not bring again.
                connection.wish.awaits = true;
                self.store.put_connection(&connection.noted()?).await?;
            }
        }
        source.due = None;
        self.note(&mut source).await
    }
}

/// Counts how often a server said the same of where the feed has moved to.
pub(super) fn note_move(source: &mut Source, moved: Option<Url>) {
    source.known.moving = moved.map(Address::from).map(|to| match source.known.moving.take() {
        Some((before, times)) if before == to => (to, times.saturating_add(1)),
        _ => (to, 1),
    });
}
