//! Writes the entries that an account would merge at read time: those of pulled actors and, for a dormant account, of all
//! followees. At the target no actor is in pull mode and no account is dormant, so the entries must be in the collection.

use super::{Counts, PAGE, Sides};
use indicatif::ProgressBar;
use model::{Dormancy, Edge, Entry, Filter, Order, Range, Uid};
use store::{Result, Slice};

impl Sides {
    /// Writes the entries that push mode would have written to the account's collection.
    pub(super) async fn copy_followed(
        &self,
        owner: Uid,
        counts: &mut Counts,
        bar: &ProgressBar,
    ) -> Result<()> {
        let delivery = self.source.delivery_state(owner).await?;
        if delivery.dormancy == Dormancy::Active {
            let followees: Vec<Uid> = delivery.pulled.into_iter().map(|(uid, _)| uid).collect();
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

    /// Writes the followee's entries from the start of the edge. Entries that were pushed already are kept: of two versions
    /// the later one wins.
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
