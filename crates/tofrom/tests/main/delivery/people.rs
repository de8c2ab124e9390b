//! Actions of accounts, through a node that may fail. `reconcile` finds out whether they took effect.

use super::sequence::{Broken, Stage, plan};
use super::steps::{Deed, Trouble};
use model::{Account, Millis, Uid, Version, Visibility};
use store::{ExternalKey, Result, Store};
use tofrom::accounts;
use tofrom::following::{follow, unfollow};
use tofrom::ingest::{Draft, Outcome, RawActivity, RawObject, RawService, Said, normalise};

/// Activities in a burst: more than a backfill brings.
const BURST: usize = 55;
/// The first address of a burst.
const BURST_FROM: usize = 100;

impl Stage<'_> {
    pub(crate) async fn person(
        &mut self,
        who: usize,
        deed: &Deed,
        trouble: Option<Trouble>,
        again: bool,
    ) -> std::result::Result<(), Broken> {
        let person = self.naive.account(who).clone();
        if person.removed {
            return Ok(());
        }
        let ground = self.ground;
        plan(&ground.node, trouble.into_iter().collect());
        let mut done = self.perform(&person, deed).await;
        ground.node.calm();
        ground.node.restart();
        if done.is_err() && again {
            self.learn(&person, deed, false).await?;
            let person = self.naive.account(who).clone();
            if person.removed {
                return Ok(());
            }
            done = self.perform(&person, deed).await;
            if let Err(error) = &done {
                return Err(format!("it fails without a fault: {error}"));
            }
        }
        self.learn(&person, deed, done.is_ok()).await
    }

    async fn perform(&mut self, person: &Account, deed: &Deed) -> Result<()> {
        let ground = self.ground;
        let node: &dyn Store = ground.node.as_ref();
        match deed {
            Deed::Write { address, title, to, visibility } => {
                self.next_receipt();
                let draft = self.draft(*address, *title, to.as_deref(), *visibility);
                ground.ingest.accept(person, vec![draft]).await.map(refuse_nothing)
            }
            Deed::Burst => {
                self.bursts.insert(person.uid);
                let mut drafts = Vec::new();
                for address in burst() {
                    self.next_receipt();
                    let draft = self.draft(address, 0, None, None);
                    drafts.push(Draft { received: Some(ground.now()), ..draft });
                }
                ground.ingest.accept(person, drafts).await.map(refuse_nothing)
            }
            Deed::Delete { address } => ground.ingest.delete(&source(person.uid, *address)).await.map(drop),
            Deed::Follow { whom } => {
                let whom = self.naive.account(*whom).clone();
                if whom.removed || whom.uid == person.uid {
                    return Ok(());
                }
                follow(node, &ground.clock, person.uid, &whom).await
            }
            Deed::Unfollow { whom } => {
                let whom = self.naive.account(*whom).uid;
                unfollow(node, &ground.clock, person.uid, whom).await
            }
            Deed::TakeOut { nth } => {
                let reaching = self.naive.reaching(person.uid);
                let Some(state) = reaching.get(nth % reaching.len().max(1)) else { return Ok(()) };
                let version = Version::next(ground.now(), None);
                node.remove(person.uid, state.id, state.received, version).await.map(drop)
            }
            Deed::Public(public) => {
                let set = |account: &mut Account| account.public = *public;
                accounts::change(node, &ground.clock, person.uid, set).await.map(drop)
            }
            Deed::Leave => accounts::remove(node, &ground.clock, person.uid).await.map(drop),
        }
    }

    /// Moves the clock to a time at which no activity was received yet.
    fn next_receipt(&mut self) {
        let now = self.ground.now().0.max(self.latest_receipt + i64::from(!self.ties));
        self.ground.set_time(now);
        self.latest_receipt = now;
    }

    fn draft(
        &self,
        address: usize,
        title: usize,
        to: Option<&[usize]>,
        visibility: Option<Visibility>,
    ) -> Draft {
        let name = |who: &usize| Said::text(self.naive.account(*who).name.as_str());
        // Type, verb and published time are immutable, so the address determines them.
        let (service, category, kind) = described(address);
        let published = (address % 2 == 1).then(|| Millis(self.first - 30 + address as i64).zulu());
        let raw = RawActivity {
            source_id: Said::text(address.to_string()),
            title: Said::text(format!("title {title}")),
            category: Said::text(category),
            service: RawService { name: Said::text(service), ..RawService::default() },
            published: published.map_or(Said::Nothing, Said::text),
            visibility: visibility.map_or(Said::Nothing, |visibility| Said::text(visibility.as_str())),
            to: to.map(|to| to.iter().map(name).collect()),
            objects: vec![(kind.to_owned(), RawObject { title: Said::text("x"), ..RawObject::default() })],
            ..RawActivity::default()
        };
        normalise(&raw, self.ground.now()).unwrap()
    }
}

fn refuse_nothing(outcomes: Vec<Outcome>) {
    for outcome in outcomes {
        assert!(!matches!(outcome, Outcome::Refused(_)), "{outcome:?}");
    }
}

/// The addresses that a burst writes to.
pub(crate) fn burst() -> std::ops::Range<usize> {
    BURST_FROM..BURST_FROM + BURST
}

/// Service, category and object of the activity at an address.
fn described(address: usize) -> (&'static str, &'static str, &'static str) {
    if address.is_multiple_of(2) {
        ("Flickr", "PhotoPosted", "Photo")
    } else {
        ("Delicious", "BookmarkShared", "Bookmark")
    }
}

pub(crate) fn source(actor: Uid, address: usize) -> ExternalKey {
    let (service, ..) = described(address);
    ExternalKey { actor, service: service.to_lowercase(), id: address.to_string() }
}
