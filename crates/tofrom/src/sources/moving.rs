//! Follows feeds to another address.

use super::poll::PAGE;
use super::source::{Source, SourceState, id_of};
use super::{Address, Sources};
use store::Result;
use url::Url;

/// How often in a row a permanent redirect must be seen before it is followed: many are there for a day by mistake.
const MIN_SIGHTINGS: u32 = 3;

impl Sources {
    /// Moves all connections to the new address of a feed after enough sightings. The old source stays due until all are
    /// moved, so that a crash in between is repaired.
    pub(super) async fn move_on(&self, mut source: Source) -> Result<()> {
        let Some((to, sightings)) = source.known.moving.clone() else { return Ok(()) };
        let target = id_of(&to);
        if sightings < MIN_SIGHTINGS || target == source.id {
            return Ok(());
        }
        let now = self.clock.now();
        let update = self.update_source(target, |stored| {
            let version = stored.as_ref().and_then(|stored| stored.version);
            let mut moved = stored.filter(|stored| stored.due.is_some()).unwrap_or_else(|| {
                let known = SourceState {
                    address: to.clone(),
                    moving: None,
                    subscription: None,
                    ..source.known.clone()
                };
                Source { id: target, version, due: None, known }
            });
            moved.known.awaited = true;
            moved.due = Some(now);
            Some(moved)
        });
        update.await?;
        loop {
            let page = self.store.connections_to(source.id, None, PAGE).await?;
            if page.is_empty() {
                break;
            }
            for store::Connection { owner, name, .. } in page {
                let update = self.change_connection(owner, &name, |connection| {
                    if connection.source == source.id {
                        connection.source = target;
                        // An account that was already connected to the new source may have missed items that it will not bring again.
                        connection.settings.awaits = true;
                    }
                });
                update.await?;
            }
        }
        source.due = None;
        self.save(&mut source).await
    }
}

/// Counts how often in a row the server reported this new address.
pub(super) fn record_move(source: &mut Source, moved: Option<Url>) {
    source.known.moving = moved.map(Address::from).map(|to| match source.known.moving.take() {
        Some((before, times)) if before == to => (to, times.saturating_add(1)),
        _ => (to, 1),
    });
}
