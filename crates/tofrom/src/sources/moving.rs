//! Feeds that move to another address.

use super::poll::PAGE;
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
        let now = self.clock.now();
        let arrives = self.update_source(target, |stored| {
            let version = stored.as_ref().and_then(|stored| stored.version);
            let mut there = stored.filter(|stored| stored.due.is_some()).unwrap_or_else(|| {
                let known =
                    Known { address: to.clone(), moving: None, subscription: None, ..source.known.clone() };
                Source { id: target, version, due: None, known }
            });
            there.known.awaited = true;
            there.due = Some(now);
            Some(there)
        });
        arrives.await?;
        loop {
            let page = self.store.connections_to(source.id, None, PAGE).await?;
            if page.is_empty() {
                break;
            }
            for store::Connection { owner, name, .. } in page {
                let moves = self.change_connection(owner, &name, |connection| {
                    if connection.source == source.id {
                        connection.source = target;
                        // An account that was connected there before may have missed what the source will not bring again.
                        connection.settings.awaits = true;
                    }
                });
                moves.await?;
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
