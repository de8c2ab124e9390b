//! Actions of accounts, through a node that may fail. `reconcile` finds out whether they took effect.

use super::sequence::{Harness, Violation, plan};
use super::steps::{Action, InjectedFault};
use domain::following::{FollowError, follow, unfollow};
use domain::ingest::{Draft, Outcome, RawActivity, RawObject, RawService, RawValue, normalise};
use domain::relations::DecideError;
use domain::{accounts, relations};
use model::{Account, EdgeFilter, Millis, Quotas, Uid, Version, Visibility};
use store::{ExternalKey, Result, Store};

/// Activities in a burst: more than a backfill brings.
const BURST: usize = 55;
/// The first address of a burst.
const BURST_FROM: usize = 100;

impl Harness<'_> {
    pub(crate) async fn act(
        &mut self,
        account: usize,
        action: &Action,
        fault: Option<InjectedFault>,
        retry: bool,
    ) -> std::result::Result<(), Violation> {
        let actor = self.naive.account(account).clone();
        if actor.removed {
            return Ok(());
        }
        let bed = self.bed;
        plan(&bed.node, fault.into_iter().collect());
        let mut done = self.perform(&actor, action).await;
        bed.node.calm();
        bed.node.restart();
        if done.is_err() && retry {
            self.reconcile(&actor, action, false).await?;
            let actor = self.naive.account(account).clone();
            if actor.removed {
                return Ok(());
            }
            done = self.perform(&actor, action).await;
            if let Err(error) = &done {
                return Err(format!("failed without an injected fault: {error}"));
            }
        }
        self.reconcile(&actor, action, done.is_ok()).await
    }

    async fn perform(&mut self, actor: &Account, action: &Action) -> Result<()> {
        let bed = self.bed;
        let node: &dyn Store = bed.node.as_ref();
        match action {
            Action::Write { address, title, to, visibility } => {
                self.next_receipt();
                let draft = self.draft(*address, *title, to.as_deref(), *visibility);
                bed.ingest.accept(actor, vec![draft]).await.map(assert_none_refused)
            }
            Action::Burst => {
                self.bursts.insert(actor.uid);
                let mut drafts = Vec::new();
                for address in burst() {
                    self.next_receipt();
                    let draft = self.draft(address, 0, None, None);
                    drafts.push(Draft { received: Some(bed.now()), ..draft });
                }
                bed.ingest.accept(actor, drafts).await.map(assert_none_refused)
            }
            Action::Delete { address } => {
                bed.ingest.delete(&external_key(actor.uid, *address)).await.map(drop)
            }
            Action::Follow { followee } => {
                let followee = self.naive.account(*followee).clone();
                if followee.removed || followee.uid == actor.uid {
                    return Ok(());
                }
                self.follow(actor, &followee, &EdgeFilter::default()).await
            }
            Action::FollowFiltered { followee, filter } => {
                let followee = self.naive.account(*followee).clone();
                if followee.removed || followee.uid == actor.uid {
                    return Ok(());
                }
                self.follow(actor, &followee, &edge_filter(*filter)).await
            }
            Action::RemoveFollower { follower } => {
                let follower = self.naive.account(*follower).uid;
                unfollow(node, &bed.clock, follower, actor.uid).await
            }
            Action::Decide { decision, other, holds } => {
                let other = self.naive.account(*other).clone();
                if other.uid == actor.uid {
                    return Ok(());
                }
                if !holds {
                    return relations::lift(node, &bed.clock, actor, *decision, &other.name).await;
                }
                let quotas = Quotas::default();
                let decided =
                    relations::decide(node, &bed.clock, actor, *decision, &other.name, &quotas).await;
                decided.map_err(|error| match error {
                    DecideError::Store(error) => error,
                    DecideError::Quota(reached) => panic!("{reached}"),
                })
            }
            Action::Addressable(by) => {
                let set = |account: &mut Account| account.addressable_by = *by;
                store::change_account(node, &bed.clock, actor.uid, set).await.map(drop)
            }
            Action::Unfollow { followee } => {
                let followee = self.naive.account(*followee).uid;
                unfollow(node, &bed.clock, actor.uid, followee).await
            }
            Action::RemoveFromTo { nth } => {
                let in_to = self.naive.in_to(actor.uid);
                let Some(state) = in_to.get(nth % in_to.len().max(1)) else { return Ok(()) };
                let version = Version::next(bed.now(), None);
                node.remove(actor.uid, state.id, state.received, version).await.map(drop)
            }
            Action::Public(public) => {
                let set = |account: &mut Account| account.public = *public;
                store::change_account(node, &bed.clock, actor.uid, set).await.map(drop)
            }
            Action::RemoveAccount => accounts::remove(node, &bed.clock, actor.uid).await.map(drop),
        }
    }

    /// A block between the two accounts is not a failure.
    async fn follow(&self, follower: &Account, followee: &Account, filter: &EdgeFilter) -> Result<()> {
        let (node, clock) = (self.bed.node.as_ref(), &self.bed.clock);
        match follow(node, clock, follower, followee, filter, &Quotas::default()).await {
            Ok(()) | Err(FollowError::Blocked(_)) => Ok(()),
            Err(FollowError::Store(error)) => Err(error),
            Err(FollowError::Quota(reached)) => panic!("{reached}"),
        }
    }

    /// Moves the clock to a time at which no activity was received yet.
    fn next_receipt(&mut self) {
        let now = self.bed.now().0.max(self.latest_receipt + i64::from(!self.ties));
        self.bed.set_time(now);
        self.latest_receipt = now;
    }

    fn draft(
        &self,
        address: usize,
        title: usize,
        to: Option<&[usize]>,
        visibility: Option<Visibility>,
    ) -> Draft {
        let name = |account: &usize| RawValue::text(self.naive.account(*account).name.as_str());
        // Type, verb and published time are immutable, so the address determines them.
        let (service, category, kind) = content_of(address);
        let published = (address % 2 == 1).then(|| Millis(self.first - 30 + address as i64).zulu());
        let raw = RawActivity {
            source_id: RawValue::text(address.to_string()),
            title: RawValue::text(format!("title {title}")),
            category: RawValue::text(category),
            service: RawService { name: RawValue::text(service), ..RawService::default() },
            published: published.map_or(RawValue::Absent, RawValue::text),
            visibility: visibility.map_or(RawValue::Absent, |visibility| RawValue::text(visibility.as_str())),
            to: to.map(|to| to.iter().map(name).collect()),
            objects: vec![(
                kind.to_owned(),
                RawObject { title: RawValue::text("x"), ..RawObject::default() },
            )],
            ..RawActivity::default()
        };
        normalise(&raw, self.bed.now()).unwrap()
    }
}

fn assert_none_refused(outcomes: Vec<Outcome>) {
    for outcome in outcomes {
        assert!(!matches!(outcome, Outcome::Refused(_)), "{outcome:?}");
    }
}

/// The filter with this number. One selects everything.
pub(crate) fn edge_filter(number: usize) -> EdgeFilter {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    match number {
        0 => EdgeFilter::default(),
        1 => EdgeFilter::of(&words(&["flickr"]), &[], &[]),
        2 => EdgeFilter::of(&[], &words(&["bookmark"]), &[]),
        3 => EdgeFilter::of(&words(&["flickr", "delicious"]), &[], &words(&["post"])),
        _ => EdgeFilter::of(&words(&["flickr"]), &words(&["bookmark"]), &[]),
    }
}

/// The addresses that a burst writes to.
pub(crate) fn burst() -> std::ops::Range<usize> {
    BURST_FROM..BURST_FROM + BURST
}

/// Service, category and object of the activity at an address.
fn content_of(address: usize) -> (&'static str, &'static str, &'static str) {
    if address.is_multiple_of(2) {
        ("Flickr", "PhotoPosted", "Photo")
    } else {
        ("Delicious", "BookmarkShared", "Bookmark")
    }
}

pub(crate) fn external_key(actor: Uid, address: usize) -> ExternalKey {
    let (service, ..) = content_of(address);
    ExternalKey { actor, service: service.to_lowercase(), id: address.to_string() }
}
