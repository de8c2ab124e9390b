//! A block that began: ends the edges between the two accounts, in case the process that stored the block stopped before.

use super::task::Context;
use crate::following;
use model::{Edge, Uid};
use store::{Result, Store, Work};

/// Ends the edges between an account and one that it blocks, and records the change for both.
pub(super) struct Block {
    pub(super) owner: Uid,
    pub(super) other: Uid,
}

impl Block {
    pub(super) async fn run(self, ctx: Context<'_>) -> Result<Option<Work>> {
        let Block { owner, other } = self;
        let mut changed = vec![owner];
        let holds = holds(ctx.store, owner, other).await?;
        for (follower, followee) in [(other, owner), (owner, other)] {
            let Some(edge) = following::edge(ctx.store, follower, followee).await? else { continue };
            changed.push(follower);
            if edge.following && holds {
                // The version does not come from the clock, so that a repeated task writes the same.
                let ended = Edge { following: false, version: edge.version.following(), ..edge };
                ctx.store.put_edge(follower, followee, &ended).await?;
            }
        }
        changed.dedup();
        ctx.note_changes(changed).await?;
        Ok(None)
    }
}

/// Whether the account still blocks the other one.
async fn holds(store: &dyn Store, owner: Uid, other: Uid) -> Result<bool> {
    let accounts: Vec<_> = store.accounts(&[owner, other]).await?.into_iter().flatten().collect();
    match accounts.as_slice() {
        [owner, other] => Ok(following::relation(store, &owner.name, &other.name).await?.blocks),
        _ => Ok(false),
    }
}
