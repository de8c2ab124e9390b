//! Finds out whether actions took effect. Where a fault left that open, the states in the store decide; entries are
//! never consulted. An action either took effect or did not, and it did if it was acknowledged.

use super::people::{burst, source};
use super::sequence::{Broken, Stage};
use super::steps::Deed;
use model::{Account, Edge, State, Uid, Visibility};

/// A change, by the way in which clients learn of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// An activity: it arrives where it belongs.
    Activity,
    /// An edge of this account: its backfill arrives in the account's own collections. Other activities that it makes
    /// visible do not arrive.
    Edge(Uid),
    /// An account's setting: nothing arrives.
    Account,
}

/// The expected content of an address after a write.
struct Wanted {
    visibility: Visibility,
    addressed: Vec<Uid>,
    deleted: bool,
}

impl Wanted {
    fn is(&self, state: &State) -> bool {
        let visible_alike = self.visibility == state.visibility && self.addressed == state.addressed;
        state.deleted == self.deleted && visible_alike
    }
}

impl Stage<'_> {
    /// Copies the outcome of an action into the model; `done` if it was acknowledged.
    pub(super) async fn learn(&mut self, person: &Account, deed: &Deed, done: bool) -> Result<(), Broken> {
        match deed {
            Deed::Write { address, to, visibility, .. } => {
                let wanted = self.wanted(person.uid, *address, to.as_deref(), *visibility);
                self.learn_write(person.uid, *address, Some(&wanted), done).await
            }
            Deed::Burst => {
                for address in burst() {
                    self.learn_address(person.uid, address).await?;
                }
                Ok(())
            }
            Deed::Delete { address } => {
                let before = self.naive.at(person.uid, *address).cloned();
                let wanted = before.map(|state| Wanted {
                    visibility: state.visibility,
                    addressed: state.addressed,
                    deleted: true,
                });
                self.learn_write(person.uid, *address, wanted.as_ref(), done).await
            }
            Deed::Follow { whom } | Deed::Unfollow { whom } => {
                let whom = self.naive.account(*whom).clone();
                let following = matches!(deed, Deed::Follow { .. });
                let possible = whom.uid != person.uid && !(whom.removed && following);
                self.learn_deed_of_edge(person.uid, whom.uid, following, done && possible).await
            }
            Deed::TakeOut { .. } => {
                self.learn_removals(person.uid).await;
                Ok(())
            }
            Deed::Public(_) | Deed::Leave => {
                self.learn_accounts().await;
                if matches!(deed, Deed::Leave) {
                    self.learn_edges().await;
                }
                Ok(())
            }
        }
    }

    fn wanted(
        &self,
        actor: Uid,
        address: usize,
        to: Option<&[usize]>,
        visibility: Option<Visibility>,
    ) -> Wanted {
        let before = self.naive.at(actor, address).filter(|state| !state.deleted);
        let stays = before.map_or_else(Vec::new, |state| state.addressed.clone());
        let numbers = |to: &[usize]| {
            let there = to.iter().map(|who| self.naive.account(*who)).filter(|account| !account.removed);
            let mut uids: Vec<Uid> = there.map(|account| account.uid).collect();
            uids.sort();
            uids.dedup();
            uids
        };
        Wanted {
            visibility: visibility.or(before.map(|state| state.visibility)).unwrap_or_default(),
            addressed: to.map_or(stays, numbers),
            deleted: false,
        }
    }

    async fn learn_write(
        &mut self,
        actor: Uid,
        address: usize,
        wanted: Option<&Wanted>,
        done: bool,
    ) -> Result<(), Broken> {
        let before = self.naive.at(actor, address).cloned();
        self.learn_address(actor, address).await?;
        let after = self.naive.at(actor, address);
        let as_wanted = match (wanted, after) {
            (Some(wanted), Some(after)) => wanted.is(after),
            (None, after) => after.is_none(),
            (Some(_), None) => false,
        };
        let untouched = !done && before.as_ref() == after;
        let later = before.as_ref() == after || before.map(|state| state.version) < after.map(|s| s.version);
        if (as_wanted || untouched) && later {
            return Ok(());
        }
        Err(format!("acknowledged: {done}, but at the address stands {after:?}"))
    }

    /// Copies the content of an address into the model.
    async fn learn_address(&mut self, actor: Uid, address: usize) -> Result<(), Broken> {
        let store = &self.ground.store;
        let Some(claim) = store.claim(&source(actor, address)).await.unwrap() else { return Ok(()) };
        let before = self.naive.addresses.insert((actor, address), claim.id);
        // If the address holds another activity now, the old one has ended.
        let ids: Vec<_> = before.into_iter().filter(|id| *id != claim.id).chain([claim.id]).collect();
        let mut changed = false;
        for state in store.states(&ids).await.unwrap().into_iter().flatten() {
            if state.id != claim.id && !state.deleted {
                return Err(format!("{state:?} stands at no address and is not deleted"));
            }
            changed |= self.naive.states.insert(state.id, state.clone()) != Some(state);
        }
        if changed {
            self.notice(Change::Activity);
        }
        Ok(())
    }

    async fn learn_deed_of_edge(
        &mut self,
        follower: Uid,
        followee: Uid,
        following: bool,
        done: bool,
    ) -> Result<(), Broken> {
        let before = self.naive.edges.get(&(follower, followee)).copied();
        self.learn_edge(follower, followee).await;
        let after = self.naive.edges.get(&(follower, followee)).copied();
        if done && after.is_some_and(|edge| edge.following) != following {
            return Err(format!("following should be {following} by now, but there is {after:?}"));
        }
        let from = self.naive.brought_along_from(followee);
        let wrong = |edge: &Edge| edge.following && (edge.since, edge.from) != (self.ground.now(), from);
        match after.filter(|edge| Some(*edge) != before && wrong(edge)) {
            Some(edge) => Err(format!("the edge should bring what is from {from:?} on: {edge:?}")),
            None => Ok(()),
        }
    }

    async fn learn_edge(&mut self, follower: Uid, followee: Uid) {
        let edges = self.ground.store.edges(follower, &[followee]).await.unwrap();
        let Some(edge) = edges.into_iter().flatten().next() else { return };
        if self.naive.edges.insert((follower, followee), edge) != Some(edge) {
            self.notice(Change::Edge(follower));
        }
    }

    async fn learn_edges(&mut self) {
        let uids: Vec<Uid> = self.naive.accounts.iter().map(|account| account.uid).collect();
        for follower in &uids {
            for followee in uids.iter().filter(|followee| *followee != follower) {
                self.learn_edge(*follower, *followee).await;
            }
        }
    }

    async fn learn_accounts(&mut self) {
        let uids: Vec<Uid> = self.naive.accounts.iter().map(|account| account.uid).collect();
        uids.iter().for_each(|uid| self.ground.accounts.forget(*uid));
        let accounts = self.ground.store.accounts(&uids).await.unwrap().into_iter().flatten().collect();
        let before = std::mem::replace(&mut self.naive.accounts, accounts);
        if before != self.naive.accounts {
            self.notice(Change::Account);
        }
    }

    async fn learn_removals(&mut self, owner: Uid) {
        let items: Vec<_> = self.naive.states.values().map(|state| (state.id, state.received)).collect();
        let removed = self.ground.store.removed(owner, &items).await.unwrap();
        let removed = items.iter().zip(removed).filter(|(_, removed)| *removed);
        self.naive.removals.extend(removed.map(|((id, _), _)| (owner, *id)));
        self.notice(Change::Activity);
    }

    /// Copies everything into the model after a late write.
    pub(super) async fn learn_all(&mut self) -> Result<(), Broken> {
        self.learn_accounts().await;
        self.learn_edges().await;
        for account in self.naive.accounts.clone() {
            let bursts = self.bursts.contains(&account.uid);
            for address in (0..2).chain(burst().filter(|_| bursts)) {
                self.learn_address(account.uid, address).await?;
            }
            self.learn_removals(account.uid).await;
        }
        Ok(())
    }
}
