//! A store with one large collection, filled as the service fills it: accepted, delivered, acknowledged.

use anyhow::{Context, bail};
use model::{
    AccountName, Activity, ActivityId, Body, Comments, Edge, Entry, EntryReason, EntryReasons, Facet, Kind,
    Millis, Object, Position, Service, ServiceName, State, Uid, Verb, Version, Visibility,
};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use store::sqlite::{Options, SqliteStore};
use store::{Acceptance, Accepted, Accounts, Activities, ExternalKey, Feeds, Graph, Log, NewAccount};

/// Activities that are accepted together.
pub(crate) const BATCH: usize = 100;

/// The first entry's time of receipt; the next ones follow within seconds.
pub(crate) const FIRST: i64 = 1_700_000_000_000;

/// Number of followees.
const OTHERS: usize = 20;

/// A filled store.
pub(crate) struct Filled {
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) owner: Uid,
    pub(crate) entries: usize,
    /// Number of facets in the owner's collection: no more than it has entries.
    pub(crate) facets_present: usize,
    /// One entry in a thousand has it.
    pub(crate) rare: Arc<Facet>,
    /// After the last entry's time of receipt.
    pub(crate) end: Millis,
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        usize::try_from(self.0 >> 33).unwrap_or_default() % sides
    }

    fn millis(&mut self, below: usize) -> i64 {
        i64::try_from(self.roll(below)).unwrap_or_default()
    }

    fn bytes(&mut self) -> [u8; 10] {
        std::array::from_fn(|_| self.roll(256).to_le_bytes()[0])
    }
}

/// Creates the store: half of the entries are the owner's own; the others are followed, addressed, or both.
pub(crate) async fn fill(file: &Path, entries: usize, facets: usize) -> anyhow::Result<Filled> {
    let options = Options { synchronous_off: true, ..Options::default() };
    let store = Arc::new(SqliteStore::open(file, options)?);
    let owner = account(&store, "owner").await?;
    let mut others = Vec::new();
    for number in 0..OTHERS {
        let other = account(&store, &format!("other-{number}")).await?;
        let edge = Edge::new(Version(1), Millis(FIRST), None);
        store.put_edge(owner, other, &edge).await?;
        others.push(other);
    }
    let facets: Vec<_> = (0..facets).map(facet).collect::<Option<_>>().context("facets")?;
    let (rare, usual) = facets.split_last().context("no facets")?;

    let mut dice = Dice(1);
    let mut present = HashSet::new();
    let mut now = FIRST;
    for first in (0..entries).step_by(BATCH) {
        let mut batch = Vec::with_capacity(BATCH);
        for number in first..first + BATCH {
            now += 1 + dice.millis(20_000);
            let facet = if number % 1_000 == 50 { rare } else { pick(usual, dice.roll(usual.len()))? };
            present.insert(facet.clone());
            let actor = if dice.roll(2) == 0 { owner } else { *pick(&others, dice.roll(others.len()))? };
            // Three in ten of the entries of others address the owner.
            let addressed = if actor != owner && dice.roll(10) < 3 { vec![owner] } else { Vec::new() };
            batch.push(activity(&mut dice, number, now, facet, actor, addressed)?);
        }
        accept(&store, owner, batch, &mut dice).await?;
    }
    Ok(Filled {
        store,
        owner,
        entries,
        facets_present: present.len(),
        rare: rare.clone(),
        end: Millis(now + 1),
    })
}

async fn account(store: &SqliteStore, name: &str) -> anyhow::Result<Uid> {
    let new = NewAccount {
        name: AccountName::parse(name)?,
        version: Version(1),
        given_name: None,
        family_name: None,
        public: true,
        operator: false,
        password: None,
        created: Millis(FIRST),
    };
    Ok(store.create_account(new).await?.context("name already taken")?.uid)
}

fn facet(number: usize) -> Option<Arc<Facet>> {
    Some(Arc::new(Facet {
        service: format!("service{}", number % 10),
        kind: Kind::parse(&format!("kind{}", number / 10 % 10))?,
        verb: Verb::parse(&format!("verb{}", number / 100))?,
    }))
}

fn pick<T>(from: &[T], at: usize) -> anyhow::Result<&T> {
    from.get(at).context("empty list")
}

fn activity(
    dice: &mut Dice,
    number: usize,
    now: i64,
    facet: &Arc<Facet>,
    actor: Uid,
    addressed: Vec<Uid>,
) -> anyhow::Result<Activity> {
    // Half of them were published within seconds, half within a day: the two orders differ.
    let before = if dice.roll(2) == 0 { dice.millis(5_000) } else { dice.millis(86_400_000) };
    let received = Millis(now);
    let state = State {
        id: ActivityId::new(received, dice.bytes()),
        version: Version(now),
        actor,
        facet: Arc::clone(facet),
        received,
        published: Millis(now - before),
        updated: received,
        deleted: false,
        visibility: Visibility::Public,
        addressed,
        pulled: false,
    };
    let name = ServiceName::parse(&facet.service).context("a service's name")?;
    let body = Body {
        source_id: format!("{number}"),
        title: "Something happened".to_owned(),
        summary: None,
        service: Service { name, icon: None, website: None },
        comments: Comments::Available(true),
        object: Object { title: Some("An object".to_owned()), ..Object::default() },
        imported_by: None,
        to: Vec::new(),
    };
    Ok(Activity { state, body })
}

async fn accept(
    store: &SqliteStore,
    owner: Uid,
    batch: Vec<Activity>,
    dice: &mut Dice,
) -> anyhow::Result<()> {
    let acceptances = batch.iter().map(|activity| Acceptance {
        source: ExternalKey {
            actor: activity.state.actor,
            service: activity.state.facet.service.clone(),
            id: activity.body.source_id.clone(),
        },
        before: None,
        fingerprint: [7; 16],
        prior: None,
        activity: activity.clone(),
        usage: store::Usage::default(),
    });
    let accepted = store.accept(acceptances.collect()).await?;
    let mut positions = Vec::with_capacity(accepted.len());
    let mut deliveries = Vec::new();
    for (Activity { state, .. }, accepted) in batch.iter().zip(accepted) {
        let Accepted::Stored(position) = accepted else { bail!("two activities with one external key") };
        positions.push(position);
        if state.actor != owner {
            deliveries.push(deliver(store, owner, state, position, dice.roll(3) == 0));
        }
    }
    // Concurrently, so that the writer commits them together.
    futures::future::try_join_all(deliveries).await?;
    Ok(store.acknowledge(&positions, &[]).await?)
}

/// Delivers to the owner. The owner follows all actors, so an addressed activity has two reasons; `only_addressed`
/// leaves the second one out, as if the owner had followed later.
async fn deliver(
    store: &SqliteStore,
    owner: Uid,
    state: &State,
    position: Position,
    only_addressed: bool,
) -> store::Result<()> {
    let addressed = state.addressed.contains(&owner);
    let mut reasons = EntryReasons::default();
    if addressed {
        reasons = reasons.with(EntryReason::Addressed);
    }
    if !addressed || !only_addressed {
        reasons = reasons.with(EntryReason::Followed);
    }
    let entry = Entry {
        id: state.id,
        reasons,
        facet: state.facet.clone(),
        received: state.received,
        published: state.published,
        actor: state.actor,
        version: state.version,
        visibility: state.visibility,
        retracted: false,
        prior: None,
        arrived: None,
        pulled: false,
    };
    store.deliver(position, vec![(owner, entry)]).await
}
