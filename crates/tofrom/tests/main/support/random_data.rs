//! Random accounts, edges and activities in a real store, and the pages that a naive reading of all of them gives.

use super::chance::Chance;
use super::folder::Folder;
use model::{
    Account, AccountName, Activity, ActivityId, Body, Comments, Edge, Entry, EntryReason, Facet, FeedQuery,
    Kind, Millis, Object, Order, Position, Reader, Relation, Service, ServiceName, SortKey, State, Thumbnail,
    Uid, Verb, Version, Visibility, belongs, may_see,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use store::sqlite::{Options, SqliteStore};
use store::{Acceptance, Accepted, ExternalKey, NewAccount, Store};

pub(crate) struct RandomData {
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) accounts: Vec<Account>,
    pub(crate) edges: HashMap<(Uid, Uid), Edge>,
    pub(crate) removals: HashSet<(Uid, ActivityId)>,
    /// The latest version of each activity.
    pub(crate) activities: BTreeMap<ActivityId, Activity>,
    pub(crate) chance: Chance,
    /// Versions increase with every change.
    clock: i64,
    _folder: Folder,
}

const SERVICES: [&str; 3] = ["Flickr", "Last.fm", "Delicious"];
const KINDS: [&str; 3] = ["photo", "song", "bookmark"];
const VERBS: [&str; 3] = ["post", "like", "share"];

/// A short range, so that ties are frequent.
pub(crate) const FIRST: i64 = 1_700_000_000_000;
pub(crate) const SPAN: usize = 60;

impl RandomData {
    /// Accounts that follow each other at random; some are public, and sometimes one is removed.
    pub(crate) async fn new(seed: u64, people: usize, retention: Option<Duration>) -> RandomData {
        let folder = Folder::new();
        let options = Options { synchronous_off: true, retention, ..Options::default() };
        let store = Arc::new(SqliteStore::open(&folder.path().join("world.db"), options).unwrap());
        let mut chance = Chance::new(seed);
        let mut accounts = Vec::new();
        for number in 0..people {
            let new = NewAccount {
                name: AccountName::parse(&format!("person-{number}")).unwrap(),
                version: Version(1),
                given_name: (!chance.one_in(4)).then(|| format!("Given {number}")),
                family_name: (!chance.one_in(4)).then(|| "O'Family & <Sons>".to_owned()),
                public: chance.one_in(2),
                operator: false,
                password: None,
                created: Millis(FIRST),
            };
            let mut account = store::Accounts::create_account(&*store, new).await.unwrap().unwrap();
            if chance.one_in(10) {
                let before = account.version;
                account = Account { removed: true, version: Version(2), ..account };
                assert!(store::Accounts::replace_account(&*store, before, &account).await.unwrap());
                // Nothing watches this account yet, so its task is acknowledged unexecuted.
                let pending: Vec<Position> = store::Log::pending(&*store, 10)
                    .await
                    .unwrap()
                    .iter()
                    .map(|task| task.position)
                    .collect();
                store::Log::acknowledge(&*store, &pending, &[]).await.unwrap();
            }
            accounts.push(account);
        }
        let mut data = RandomData {
            store,
            accounts,
            edges: HashMap::new(),
            removals: HashSet::new(),
            activities: BTreeMap::new(),
            chance,
            clock: FIRST,
            _folder: folder,
        };
        for follower in 0..people {
            for followee in 0..people {
                if follower != followee && !data.chance.one_in(3) {
                    data.set_edge(follower, followee).await;
                }
            }
        }
        data
    }

    fn tick(&mut self) -> Version {
        self.clock += 1;
        Version(self.clock)
    }

    pub(crate) fn any_time(&mut self) -> Millis {
        Millis(FIRST + i64::try_from(self.chance.below(SPAN)).unwrap())
    }

    async fn set_edge(&mut self, follower: usize, followee: usize) {
        let (since, version) = (self.any_time(), self.tick());
        let from = (!self.chance.one_in(3)).then(|| SortKey {
            time: Millis(since.0 - i64::try_from(self.chance.below(20)).unwrap()),
            id: ActivityId::new(since, self.chance.bytes()),
        });
        let edge = Edge { following: !self.chance.one_in(5), ..Edge::new(version, since, from) };
        let ends = (self.accounts[follower].uid, self.accounts[followee].uid);
        let position = store::Graph::put_edge(&*self.store, ends.0, ends.1, &edge).await.unwrap();
        self.acknowledge(position).await;
        self.edges.insert(ends, edge);
    }

    /// Writes a random activity and delivers it: a new one, or at times an edit or a deletion of an earlier one.
    pub(crate) async fn write_random(&mut self) -> ActivityId {
        let known: Vec<ActivityId> = self.activities.keys().copied().collect();
        let edit = !known.is_empty() && self.chance.one_in(6);
        let before = edit.then(|| self.activities[self.chance.pick(&known)].clone());
        let activity = match &before {
            Some(old) => self.changed(old),
            None => self.new_activity(),
        };
        self.store_and_deliver(activity, before).await
    }

    /// Stores an activity, or a new version of `before`, and delivers it.
    pub(crate) async fn store_and_deliver(
        &mut self,
        activity: Activity,
        before: Option<Activity>,
    ) -> ActivityId {
        let source = ExternalKey {
            actor: activity.state.actor,
            service: activity.state.facet.service.clone(),
            id: activity.body.source_id.clone(),
        };
        let acceptance = Acceptance {
            source,
            before: before.as_ref().map(|old| old.state.version),
            fingerprint: self.chance.bytes(),
            prior: before.as_ref().map(|old| (&old.state).into()),
            activity: activity.clone(),
            usage: store::Usage::default(),
        };
        let accepted = store::Activities::accept(&*self.store, vec![acceptance]).await.unwrap();
        let Accepted::Stored(position) = accepted[0] else { panic!("{accepted:?}") };
        self.deliver(position, &activity.state, before.as_ref().map(|old| &old.state)).await;
        self.acknowledge(Some(position)).await;
        let id = activity.state.id;
        self.activities.insert(id, activity);
        id
    }

    pub(crate) fn new_activity(&mut self) -> Activity {
        let (received, published, version) = (self.any_time(), self.any_time(), self.tick());
        let service = *self.chance.pick(&SERVICES);
        let (kind, verb) = (*self.chance.pick(&KINDS), *self.chance.pick(&VERBS));
        let facet = Facet {
            service: service.to_lowercase(),
            kind: Kind::parse(kind).unwrap(),
            verb: Verb::parse(verb).unwrap(),
        }
        .into();
        let id = ActivityId::new(received, self.chance.bytes());
        let state = State {
            id,
            version,
            actor: self.any_uid(),
            facet,
            received,
            published,
            updated: received,
            deleted: false,
            visibility: self.any_visibility(),
            addressed: self.any_addressed(),
            pulled: false,
        };
        Activity { state, body: any_body(&mut self.chance, service, id.to_string()) }
    }

    fn changed(&mut self, old: &Activity) -> Activity {
        let version = self.tick();
        let state = State {
            version,
            updated: Millis(version.0),
            deleted: self.chance.one_in(2),
            visibility: self.any_visibility(),
            addressed: self.any_addressed(),
            ..old.state.clone()
        };
        let service = old.body.service.name.as_str().to_owned();
        Activity { state, body: any_body(&mut self.chance, &service, old.body.source_id.clone()) }
    }

    /// Entries for every account that may ever have a reason to see it: hints, some of them wrong.
    async fn deliver(&mut self, position: Position, state: &State, before: Option<&State>) {
        let mut deliveries = Vec::new();
        let prior = before.map_or(&[][..], |old| &old.addressed);
        for uid in self.accounts.iter().map(|account| account.uid) {
            if state.addressed.contains(&uid) || prior.contains(&uid) {
                let retracted = state.deleted || !state.addressed.contains(&uid);
                deliveries.push((uid, Entry::of(state, EntryReason::Addressed, retracted)));
            }
            if self.edges.contains_key(&(uid, state.actor)) {
                deliveries.push((uid, Entry::of(state, EntryReason::Followed, state.deleted)));
            }
        }
        store::Feeds::deliver(&*self.store, position, deliveries).await.unwrap();
    }

    /// The task was executed already, or makes no difference here.
    async fn acknowledge(&self, position: Option<Position>) {
        let done: Vec<Position> = position.into_iter().collect();
        store::Log::acknowledge(&*self.store, &done, &[]).await.unwrap();
    }

    /// A random account removes a random activity from its `to`.
    pub(crate) async fn remove(&mut self) {
        let known: Vec<ActivityId> = self.activities.keys().copied().collect();
        let (id, uid, version) = (*self.chance.pick(&known), self.any_uid(), self.tick());
        let received = self.activities[&id].state.received;
        let position = store::Feeds::remove(&*self.store, uid, id, received, version).await.unwrap();
        self.acknowledge(position).await;
        self.removals.insert((uid, id));
    }

    fn any_uid(&mut self) -> Uid {
        self.accounts[self.chance.below(self.accounts.len())].uid
    }

    fn any_visibility(&mut self) -> Visibility {
        *self.chance.pick(&[
            Visibility::Public,
            Visibility::Public,
            Visibility::Followers,
            Visibility::Direct,
        ])
    }

    fn any_addressed(&mut self) -> Vec<Uid> {
        (0..self.chance.below(3)).map(|_| self.any_uid()).collect()
    }

    /// Belong, filter, sort: the expected result of the query, from all activities.
    pub(crate) fn naive(&self, reader: Reader, query: &FeedQuery) -> Vec<ActivityId> {
        let accounts: HashMap<Uid, &Account> =
            self.accounts.iter().map(|account| (account.uid, account)).collect();
        let mut found: Vec<&State> = self
            .activities
            .values()
            .map(|activity| &activity.state)
            .filter(|state| {
                let edge = self.edges.get(&(query.owner, state.actor));
                let removed = self.removals.contains(&(query.owner, state.id));
                let filter = &query.filter;
                belongs(state, query.owner, edge, removed, Relation::default()).is_in(query.collection)
                    && may_see(reader, query.owner, state, accounts[&state.actor], false)
                    && filter.selects(&state.facet)
                    && filter.received.contains(state.received)
                    && filter.published.contains(state.published)
            })
            .collect();
        found.sort_by_key(|state| {
            let time = if query.order == Order::Received { state.received } else { state.published };
            std::cmp::Reverse((time, state.id))
        });
        found.into_iter().map(|state| state.id).collect()
    }

    pub(crate) fn as_store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store) as Arc<dyn Store>
    }
}

/// Texts that are hard to encode.
const TEXTS: [&str; 8] = [
    "A walk in the park",
    "Tom & Jerry <3 \"quotes\" 'n' stuff",
    "Café ☕ 😀 日本語",
    "two\nlines\tand a tab",
    "]]> &amp; &#65; <!-- -->",
    " space around ",
    "a\u{a0}b\u{2028}c",
    "x",
];

pub(crate) fn any_body(chance: &mut Chance, service: &str, source_id: String) -> Body {
    fn any_text(chance: &mut Chance) -> String {
        (*chance.pick(&TEXTS)).to_owned()
    }
    let url = |chance: &mut Chance| format!("https://example.org/{}?a=1&b=%20é", chance.below(1000));
    let thumbnail = Thumbnail {
        url: url(chance),
        height: (!chance.one_in(3)).then(|| u32::try_from(chance.below(500)).unwrap()),
        width: (!chance.one_in(3)).then_some(75),
    };
    let title = (!chance.one_in(4)).then(|| any_text(chance));
    let object_url = (title.is_none() || !chance.one_in(4)).then(|| url(chance));
    // Neither repeats the value beside it.
    let alternate = object_url.as_ref().filter(|_| chance.one_in(3)).map(|url| format!("{url}#about"));
    let description = chance.one_in(2).then(|| any_text(chance));
    let summary = chance.one_in(3).then(|| any_text(chance)).filter(|own| description.as_ref() != Some(own));
    Body {
        source_id,
        title: any_text(chance),
        summary,
        service: Service {
            name: ServiceName::parse(service).unwrap(),
            icon: chance.one_in(2).then(|| url(chance)),
            website: chance.one_in(2).then(|| url(chance)),
        },
        comments: if chance.one_in(2) {
            Comments::Available(chance.one_in(2))
        } else {
            Comments::Counted { comments: chance.next() % 1000, likes: chance.next() % 1000 }
        },
        object: Object {
            title,
            description,
            thumbnail: chance.one_in(2).then_some(thumbnail),
            url: object_url,
            alternate,
        },
        imported_by: None,
        to: Vec::new(),
    }
}
