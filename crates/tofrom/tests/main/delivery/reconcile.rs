//! Finds out whether actions took effect. Where a fault left that open, the states in the store decide; entries are
//! never consulted. An action either took effect or did not, and it did if it was acknowledged.

use super::actions::{burst, external_key};
use super::naive_model::NaiveModel;
use super::sequence::{Harness, Violation};
use super::steps::Action;
use model::{Account, Decision, Edge, Relation, State, Uid, Visibility};

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
struct ExpectedState {
    visibility: Visibility,
    addressed: Vec<Uid>,
    deleted: bool,
}

impl ExpectedState {
    fn is(&self, state: &State) -> bool {
        let visible_alike = self.visibility == state.visibility && self.addressed == state.addressed;
        state.deleted == self.deleted && visible_alike
    }

    /// Whether it was this before. The same content again is no new version: recipients that were removed since are still
    /// named.
    fn is_still(&self, state: &State, naive: &NaiveModel) -> bool {
        let remaining = |uids: &[Uid]| -> Vec<Uid> {
            let accounts = naive.accounts.iter().filter(|account| !account.removed);
            accounts.map(|account| account.uid).filter(|uid| uids.contains(uid)).collect()
        };
        let [expected, found] = [&self.addressed, &state.addressed].map(|uids| remaining(uids));
        ExpectedState { addressed: expected, ..*self }.is(&State { addressed: found, ..state.clone() })
    }
}

impl Harness<'_> {
    /// Copies the outcome of an action into the model; `done` if it was acknowledged.
    pub(super) async fn reconcile(
        &mut self,
        actor: &Account,
        action: &Action,
        done: bool,
    ) -> Result<(), Violation> {
        match action {
            Action::Write { address, to, visibility, .. } => {
                let expected = self.expected(actor.uid, *address, to.as_deref(), *visibility);
                self.reconcile_write(actor.uid, *address, Some(&expected), done).await
            }
            Action::Burst => {
                for address in burst() {
                    self.reconcile_address(actor.uid, address).await?;
                }
                Ok(())
            }
            Action::Delete { address } => {
                let before = self.naive.at(actor.uid, *address).cloned();
                let expected = before.map(|state| ExpectedState {
                    visibility: state.visibility,
                    addressed: state.addressed,
                    deleted: true,
                });
                self.reconcile_write(actor.uid, *address, expected.as_ref(), done).await
            }
            Action::Follow { followee }
            | Action::FollowFiltered { followee, .. }
            | Action::Unfollow { followee } => {
                let followee = self.naive.account(*followee).clone();
                let following = !matches!(action, Action::Unfollow { .. });
                let Relation { blocks, blocked_by, .. } = self.naive.relation(actor.uid, followee.uid);
                let hindered = followee.removed || blocks || blocked_by;
                let possible = followee.uid != actor.uid && !(hindered && following);
                self.reconcile_edge_action(actor.uid, followee.uid, following, done && possible).await
            }
            Action::RemoveFollower { follower } => {
                let follower = self.naive.account(*follower).uid;
                let possible = follower != actor.uid;
                self.reconcile_edge_action(follower, actor.uid, false, done && possible).await
            }
            Action::Decide { decision, other, holds } => {
                self.reconcile_relations().await;
                self.reconcile_edges().await;
                let other = self.naive.account(*other).uid;
                let relation = self.naive.relation(actor.uid, other);
                let found = if *decision == Decision::Block { relation.blocks } else { relation.mutes };
                if done && other != actor.uid && found != *holds {
                    return Err(format!("expected {decision:?} = {holds}, found {relation:?}"));
                }
                let edge = [(actor.uid, other), (other, actor.uid)];
                let edges = edge.iter().any(|(from, to)| self.naive.follows(*from, *to));
                if done && relation.blocks && *decision == Decision::Block && edges {
                    return Err("an edge outlives a block".to_owned());
                }
                Ok(())
            }
            Action::RemoveFromTo { .. } => {
                self.reconcile_removals(actor.uid).await;
                Ok(())
            }
            Action::Public(_) | Action::Addressable(_) | Action::RemoveAccount => {
                self.reconcile_accounts().await;
                if matches!(action, Action::RemoveAccount) {
                    self.reconcile_edges().await;
                }
                Ok(())
            }
        }
    }

    fn expected(
        &self,
        actor: Uid,
        address: usize,
        to: Option<&[usize]>,
        visibility: Option<Visibility>,
    ) -> ExpectedState {
        let before = self.naive.at(actor, address).filter(|state| !state.deleted);
        let unchanged = before.map_or_else(Vec::new, |state| state.addressed.clone());
        // A name that the version before had keeps its judgement.
        let reached = |account: &&Account| {
            let judged = before.filter(|before| {
                let names = self.naive.named.get(&before.id);
                names.is_some_and(|names| names.contains(&account.name)) && account.created <= before.updated
            });
            judged.map_or_else(
                || self.naive.accepts(actor, account),
                |before| before.addressed.contains(&account.uid),
            )
        };
        let numbers = |to: &[usize]| {
            let existing =
                to.iter().map(|account| self.naive.account(*account)).filter(|account| !account.removed);
            let mut uids: Vec<Uid> = existing.filter(reached).map(|account| account.uid).collect();
            uids.sort();
            uids.dedup();
            uids
        };
        ExpectedState {
            visibility: visibility.or(before.map(|state| state.visibility)).unwrap_or_default(),
            addressed: to.map_or(unchanged, numbers),
            deleted: false,
        }
    }

    async fn reconcile_write(
        &mut self,
        actor: Uid,
        address: usize,
        expected: Option<&ExpectedState>,
        done: bool,
    ) -> Result<(), Violation> {
        let before = self.naive.at(actor, address).cloned();
        self.reconcile_address(actor, address).await?;
        let after = self.naive.at(actor, address);
        let as_expected = match (expected, after) {
            (Some(expected), Some(after)) if before.as_ref() == Some(after) => {
                expected.is_still(after, &self.naive)
            }
            (Some(expected), Some(after)) => expected.is(after),
            (None, after) => after.is_none(),
            (Some(_), None) => false,
        };
        let untouched = !done && before.as_ref() == after;
        let later = before.as_ref() == after || before.map(|state| state.version) < after.map(|s| s.version);
        if (as_expected || untouched) && later {
            return Ok(());
        }
        Err(format!("acknowledged: {done}, but the address holds {after:?}"))
    }

    /// Copies the content of an address into the model.
    async fn reconcile_address(&mut self, actor: Uid, address: usize) -> Result<(), Violation> {
        let store = &self.bed.store;
        let Some(claim) = store.claim(&external_key(actor, address)).await.unwrap() else { return Ok(()) };
        let before = self.naive.addresses.insert((actor, address), claim.id);
        // If the address holds another activity now, the old one has ended.
        let ids: Vec<_> = before.into_iter().filter(|id| *id != claim.id).chain([claim.id]).collect();
        let mut changed = false;
        for state in store.states(&ids).await.unwrap().into_iter().flatten() {
            if state.id != claim.id && !state.deleted {
                return Err(format!("{state:?} has no address and is not deleted"));
            }
            changed |= self.naive.states.insert(state.id, state.clone()) != Some(state);
        }
        for activity in store.activities(&[claim.id]).await.unwrap().into_iter().flatten() {
            self.naive.named.insert(activity.state.id, activity.body.to);
        }
        if changed {
            self.update_expectations(Change::Activity);
        }
        Ok(())
    }

    /// Copies the blocks and mutes of all accounts into the model.
    async fn reconcile_relations(&mut self) {
        let accounts = self.naive.accounts.clone();
        let names: Vec<_> = accounts.iter().map(|account| account.name.clone()).collect();
        let mut changed = false;
        for account in &accounts {
            let relations = self.bed.store.relations(&account.name, &names).await.unwrap();
            for (other, relation) in accounts.iter().zip(relations) {
                let before =
                    self.naive.relations.insert((account.uid, other.uid), relation).unwrap_or_default();
                changed |= before != relation;
                if before.blocked_by != relation.blocked_by {
                    *self.naive.blocks.entry(account.uid).or_default() += 1;
                }
            }
        }
        if changed {
            self.update_expectations(Change::Account);
        }
    }

    async fn reconcile_edge_action(
        &mut self,
        follower: Uid,
        followee: Uid,
        following: bool,
        done: bool,
    ) -> Result<(), Violation> {
        let before = self.naive.edges.get(&(follower, followee)).map(|edge| edge.version);
        self.reconcile_edge(follower, followee).await;
        let after = self.naive.edges.get(&(follower, followee)).cloned();
        if done && after.as_ref().is_some_and(|edge| edge.following) != following {
            return Err(format!("expected following = {following}, found {after:?}"));
        }
        let from = self.naive.backfill_start(followee);
        let wrong = |edge: &Edge| edge.following && (edge.since, edge.from) != (self.bed.now(), from);
        match after.filter(|edge| Some(edge.version) != before && wrong(edge)) {
            Some(edge) => Err(format!("expected a backfill from {from:?}: {edge:?}")),
            None => Ok(()),
        }
    }

    async fn reconcile_edge(&mut self, follower: Uid, followee: Uid) {
        let edges = self.bed.store.edges(follower, &[followee]).await.unwrap();
        let Some(edge) = edges.into_iter().flatten().next() else { return };
        let before = self.naive.edges.insert((follower, followee), edge.clone());
        if before.as_ref() != Some(&edge) {
            // Another filter brings no arrivals.
            let is_same = before.is_some_and(|before| before.version == edge.version);
            self.update_expectations(if is_same { Change::Account } else { Change::Edge(follower) });
        }
    }

    pub(super) async fn reconcile_edges(&mut self) {
        let uids: Vec<Uid> = self.naive.accounts.iter().map(|account| account.uid).collect();
        for follower in &uids {
            for followee in uids.iter().filter(|followee| *followee != follower) {
                self.reconcile_edge(*follower, *followee).await;
            }
        }
    }

    async fn reconcile_accounts(&mut self) {
        let uids: Vec<Uid> = self.naive.accounts.iter().map(|account| account.uid).collect();
        uids.iter().for_each(|uid| self.bed.accounts.forget(*uid));
        let accounts = self.bed.store.accounts(&uids).await.unwrap().into_iter().flatten().collect();
        let before = std::mem::replace(&mut self.naive.accounts, accounts);
        if before != self.naive.accounts {
            self.update_expectations(Change::Account);
        }
    }

    async fn reconcile_removals(&mut self, owner: Uid) {
        let items: Vec<_> = self.naive.states.values().map(|state| (state.id, state.received)).collect();
        let removed = self.bed.store.removed(owner, &items).await.unwrap();
        let removed = items.iter().zip(removed).filter(|(_, removed)| *removed);
        self.naive.removals.extend(removed.map(|((id, _), _)| (owner, *id)));
        self.update_expectations(Change::Activity);
    }

    /// Copies everything into the model after a late write.
    pub(super) async fn reconcile_all(&mut self) -> Result<(), Violation> {
        self.reconcile_accounts().await;
        self.reconcile_relations().await;
        self.reconcile_edges().await;
        for account in self.naive.accounts.clone() {
            let bursts = self.bursts.contains(&account.uid);
            for address in (0..2).chain(burst().filter(|_| bursts)) {
                self.reconcile_address(account.uid, address).await?;
            }
            self.reconcile_removals(account.uid).await;
        }
        Ok(())
    }
}
