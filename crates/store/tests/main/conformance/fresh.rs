//! Fresh test data that no other test uses.

use model::{
    Account, AccountName, Activity, ActivityId, Body, Comments, Entry, EntryReason, EntryReasons, Facet,
    Filter, Kind, Millis, Object, Order, PriorAudience, Service, ServiceName, State, Uid, Verb, Version,
    Visibility,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;
use store::{Acceptance, Accepted, ExternalKey, NewAccount, Slice, Store, Versioned};

/// An arbitrary time.
pub(crate) const NOON: i64 = 1_790_000_000_000;

/// A unique number, also across runs on the same engine.
pub(crate) fn number() -> u64 {
    static START: LazyLock<u64> = LazyLock::new(|| {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        u64::try_from(since.as_nanos() & 0xffff_ffff_ffff_ffff).unwrap()
    });
    static NEXT: AtomicU64 = AtomicU64::new(0);
    START.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn name() -> AccountName {
    AccountName::parse(&format!("n{:x}", number())).unwrap()
}

pub(crate) fn new_account(name: AccountName) -> NewAccount {
    NewAccount {
        name,
        version: Version(NOON),
        given_name: Some("Ada".to_owned()),
        family_name: None,
        public: true,
        operator: false,
        password: Some("$argon2id$…".to_owned()),
        created: Millis(NOON),
    }
}

pub(crate) async fn account(store: &dyn Store) -> Account {
    store.create_account(new_account(name())).await.unwrap().expect("a fresh name")
}

/// Replaces the stored version of a state if this one is later. `false`: it is not later.
pub(crate) async fn put<S: Versioned>(store: &dyn Store, state: &S) -> bool {
    let before = S::load(store, &state.key()).await.unwrap().map(|stored| stored.version());
    before.is_none_or(|before| before < state.version()) && state.replace(store, before).await.unwrap()
}

pub(crate) async fn uid(store: &dyn Store) -> Uid {
    account(store).await.uid
}

/// An identifier. Of two with the same time the newer is not always the larger.
pub(crate) fn id(received: i64) -> ActivityId {
    // Mixed, so that consecutive identifiers are far apart.
    let mixed = number().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut random = [0; 10];
    random[..8].copy_from_slice(&mixed.to_be_bytes());
    ActivityId::new(Millis(received), random)
}

pub(crate) fn facet(service: &str, kind: &str, verb: &str) -> Arc<Facet> {
    let (kind, verb) = (Kind::parse(kind).unwrap(), Verb::parse(verb).unwrap());
    Arc::new(Facet { service: service.to_owned(), kind, verb })
}

pub(crate) fn photo() -> Arc<Facet> {
    facet("flickr", "photo", "post")
}

pub(crate) fn reasons(reasons: &[EntryReason]) -> EntryReasons {
    reasons.iter().copied().collect()
}

pub(crate) fn entry(received: i64, published: i64, reasons_of_entry: &[EntryReason]) -> Entry {
    Entry {
        id: id(received),
        reasons: reasons(reasons_of_entry),
        facet: photo(),
        received: Millis(received),
        published: Millis(published),
        actor: Uid(7),
        version: Version(received),
        visibility: Visibility::Public,
        retracted: false,
        prior: None,
        arrived: None,
        pulled: false,
    }
}

pub(crate) fn body(title: &str) -> Body {
    Body {
        source_id: "1".to_owned(),
        title: title.to_owned(),
        summary: None,
        service: Service { name: ServiceName::parse("Flickr").unwrap(), icon: None, website: None },
        comments: Comments::Available(false),
        object: Object::default(),
        imported_by: None,
        to: Vec::new(),
    }
}

pub(crate) fn source(actor: Uid, id: &str) -> ExternalKey {
    ExternalKey { actor, service: "flickr".to_owned(), id: id.to_owned() }
}

/// The first version of an activity without recipients.
pub(crate) fn acceptance(actor: Uid, source_id: &str, received: i64) -> Acceptance {
    let state = State {
        id: id(received),
        version: Version(received),
        actor,
        facet: photo(),
        received: Millis(received),
        published: Millis(received - 5_000),
        updated: Millis(received),
        deleted: false,
        visibility: Visibility::Public,
        addressed: Vec::new(),
        pulled: false,
    };
    Acceptance {
        source: source(actor, source_id),
        before: None,
        fingerprint: [1; 16],
        prior: None,
        activity: Activity { state, body: body("first") },
        usage: store::Usage { activities: 1, bytes: 5 },
    }
}

/// The next version, a second later.
pub(crate) fn next(before: &Acceptance, title: &str, deleted: bool) -> Acceptance {
    let mut next = before.clone();
    let version = before.activity.state.version;
    next.before = Some(version);
    next.prior = Some(PriorAudience::from(&before.activity.state));
    next.fingerprint = [before.fingerprint[0] + 1; 16];
    next.activity.state.version = Version(version.0 + 1_000);
    next.activity.state.updated = Millis(version.0 + 1_000);
    next.activity.state.deleted = deleted;
    next.usage = store::Usage { activities: -i64::from(deleted), bytes: 1 };
    next.activity.body = body(title);
    next
}

/// Accepts an activity, which must be stored.
pub(crate) async fn accept(store: &dyn Store, item: &Acceptance) -> model::Position {
    match store.accept(vec![item.clone()]).await.unwrap()[..] {
        [Accepted::Stored(position)] => position,
        ref other => panic!("{other:?}"),
    }
}

/// All entries of an account with these reasons, in this order.
pub(crate) async fn all(store: &dyn Store, owner: Uid, reasons: EntryReasons, order: Order) -> Vec<Entry> {
    let filter = Filter::default();
    store.slice(&Slice { owner, reasons, order, filter: &filter, after: None, limit: 100_000 }).await.unwrap()
}

pub(crate) fn words(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// The numbers of followers.
pub(crate) async fn followers(
    store: &dyn Store,
    followee: Uid,
    after: Option<Uid>,
    limit: usize,
) -> Vec<Uid> {
    store.followers(followee, after, limit).await.unwrap().into_iter().map(|follower| follower.uid).collect()
}

/// The arriving entries; there must be no changes.
pub(crate) async fn arrivals(
    store: &dyn Store,
    owner: Uid,
    after: model::ArrivalOffset,
    floor: model::Position,
    limit: usize,
) -> Vec<Entry> {
    let entry = |arrival| match arrival {
        store::Arrival::Entry(entry) => entry,
        change => panic!("{change:?}"),
    };
    store.arrivals(owner, after, floor, limit).await.unwrap().into_iter().map(entry).collect()
}

/// All permutations.
pub(crate) fn every_order<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    let mut orders = vec![Vec::new()];
    for item in items {
        let with_it = |order: &Vec<T>| {
            let at = |index| [&order[..index], std::slice::from_ref(item), &order[index..]].concat();
            (0..=order.len()).map(at).collect::<Vec<_>>()
        };
        orders = orders.iter().flat_map(with_it).collect();
    }
    orders
}
