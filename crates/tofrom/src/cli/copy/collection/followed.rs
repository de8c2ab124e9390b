//! What an account finds among what those did whom it follows, because it pulls from them or because it sleeps. At the
//! target nobody does either yet, so there it lies in the account's own collection.

use super::{Counts, PAGE, Sides};
use indicatif::ProgressBar;
use model::{Dormancy, Edge, Entry, Filter, Order, Range, Uid};
use store::{Result, Slice};

impl Sides {
    /// Puts into the account's collection what would have been pushed to it.
    pub(super) async fn copy_followed(
        &self,
        owner: Uid,
        counts: &mut Counts,
        bar: &ProgressBar,
    ) -> Result<()> {
        let reading = self.source.delivery_state(owner).await?;
        if reading.dormancy == Dormancy::Active {
            let followees: Vec<Uid> = reading.pulled.into_iter().map(|(uid, _)| uid).collect();
            let edges = self.source.edges(owner, &followees).await?;
            let edges = followees.into_iter().zip(edges).filter_map(|(uid, edge)| Some((uid, edge?)));
            for (followee, edge) in edges.filter(|(_, edge)| edge.following) {
                self.copy_from(owner, followee, &edge, counts, bar).await?;
            }
            return Ok(());
        }
        let mut after = None;
        loop {
            let edges = self.source.following(owner, after, PAGE).await?;
            let Some((last, _)) = edges.last() else { return Ok(()) };
            after = Some(*last);
            for (followee, edge) in &edges {
                self.copy_from(owner, *followee, edge, counts, bar).await?;
            }
        }
    }

    /// Puts there what the followee did, from where the edge begins. What was pushed already is there: of two versions the
    /// later one stays.
    async fn copy_from(
        &self,
        owner: Uid,
        followee: Uid,
        edge: &Edge,
        counts: &mut Counts,
        bar: &ProgressBar,
    ) -> Result<()> {
        let since = edge.from.map(|oldest| oldest.time.min(edge.since));
        let filter = Filter { received: Range { since, before: None }, ..Filter::default() };
        let mut after = None;
        loop {
            let slice = Slice::own(followee, Order::Received, &filter, after, PAGE);
            let own = self.source.slice(&slice).await?;
            let Some(last) = own.last() else { return Ok(()) };
            after = Some(last.sort_key(Order::Received));
            let entries = own.into_iter().map(Entry::followed).collect();
            self.copy_entries(owner, entries, counts, bar).await?;
        }
    }
}
