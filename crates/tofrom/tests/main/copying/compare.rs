//! Whether two stores hold the same service for every account.

use super::super::support::random_data::{FIRST, SPAN};
use domain::feed::{Feed, FeedLimits, Page};
use model::{
    Account, Activity, ActivityId, Clock, Collection, CursorKeys, Entry, EntryReason, EntryReasons,
    FeedQuery, Filter, Format, Millis, Order, Reader, SortKey, Start, SyncToken, Uid,
};
use std::sync::Arc;
use std::time::Duration;
use store::{AccountCache, Copying, ExternalKey, Slice, Store, hook_shard};
use web::render::{PageView, Renderer};
use web::site::Site;

/// Small, so that there are many pages.
const COUNT: u32 = 7;

pub(super) async fn assert_same(source: &Arc<dyn Copying>, target: &Arc<dyn Copying>) {
    let (accounts, others) = (all_accounts(source.as_ref()).await, all_accounts(target.as_ref()).await);
    assert!(accounts == others && accounts.iter().any(|account| account.removed));
    let disabled = accounts.iter().find(|account| account.disabled).unwrap();
    assert!(source.picture(disabled.uid).await.unwrap().is_some());
    assert_eq!(source.facts().await.unwrap(), target.facts().await.unwrap());
    assert!(source.applications().await.unwrap() == target.applications().await.unwrap());
    let (one, other) = (PageRenderer::new(source), PageRenderer::new(target));
    let mut pages = 0;
    for account in &accounts {
        assert_eq!(
            account_data(source.as_ref(), account.uid).await,
            account_data(target.as_ref(), account.uid).await
        );
        for collection in [Collection::To, Collection::From, Collection::ToFrom] {
            for order in [Order::Received, Order::Published] {
                pages += same_walk(&one, &other, account, collection, order).await;
            }
        }
    }
    assert!(pages > 100, "only {pages}");
}

async fn all_accounts(store: &dyn Copying) -> Vec<Account> {
    let mut all = Vec::new();
    loop {
        let after = all.last().map(|account: &Account| account.uid);
        let page = store.every_account(after, 5).await.unwrap();
        if page.is_empty() {
            all.sort_by_key(|account| account.uid);
            return all;
        }
        all.extend(page);
    }
}

/// Everything that the store holds of an account, as text.
async fn account_data(store: &dyn Copying, uid: Uid) -> Vec<String> {
    let mut all = vec![format!("{:?}", store.keys_of(uid).await.unwrap())];
    all.push(format!("{:?}", store.picture(uid).await.unwrap().map(|one| (one.version, one.sizes))));
    all.push(format!("{:?}", store.applications_of(uid).await.unwrap()));
    for token in store.tokens_of(uid).await.unwrap() {
        assert_eq!(store.token(&token.key).await.unwrap().as_ref(), Some(&token));
        let (key, secret, times) = (token.key, token.sealed_secret, (token.created, token.expires));
        all.push(format!(
            "{key} {secret:?} {times:?} {:?} {:?} {:?}",
            token.scopes, token.revoked, token.used
        ));
    }
    all.push(format!("{:?}", store.every_edge(uid, None, 100).await.unwrap()));
    all.push(format!("{:?}", store.every_usage(uid).await.unwrap()));
    let account = store.accounts(&[uid]).await.unwrap().remove(0).unwrap();
    all.push(format!("{:?}", store.every_decision(&account).await.unwrap()));
    let followers = store.followers(uid, None, 100).await.unwrap();
    all.push(format!("{:?}", followers.iter().map(|one| one.uid).collect::<Vec<_>>()));
    for connection in store.every_connection(uid).await.unwrap() {
        let source = store.source(connection.source).await.unwrap();
        let to = store.connections_to(connection.source, None, 100).await.unwrap();
        assert_eq!(to.contains(&connection), !connection.removed);
        all.push(format!("{connection:?} {source:?} {to:?}"));
    }
    for hook in store.every_hook(uid).await.unwrap() {
        let progress = store.hook_progress(&[hook.id]).await.unwrap();
        let listed = store.hooks_in(hook_shard(uid), None, 1_000).await.unwrap();
        let is_listed = listed.iter().any(|listed| listed.owner == uid && listed.name == hook.name);
        assert_eq!(is_listed, !hook.removed);
        all.push(format!("{hook:?} {progress:?}"));
    }
    for collection in Collection::ALL {
        all.push(format!("{:?}", store.seen(uid, collection).await.unwrap()));
    }
    for one in EntryReason::ALL {
        for entry in entries(store, uid, one).await {
            if one == EntryReason::Authored {
                all.push(activity(store, entry.id).await);
            }
            all.push(format!("{one:?} {entry:?}"));
        }
    }
    // Activities without an entry cannot exist.
    let ids: Vec<_> =
        entries(store, uid, EntryReason::Followed).await.iter().map(|e| (e.id, e.received)).collect();
    all.push(format!("{:?}", store.removed(uid, &ids).await.unwrap()));
    all
}

async fn entries(store: &dyn Copying, owner: Uid, one: EntryReason) -> Vec<Entry> {
    let (reasons, filter) = (EntryReasons::default().with(one), Filter::default());
    let slice = Slice { owner, reasons, order: Order::Received, filter: &filter, after: None, limit: 10_000 };
    let found = store.slice(&slice).await.unwrap();
    found.into_iter().map(|entry| Entry { arrived: None, ..entry }).collect()
}

async fn activity(store: &dyn Copying, id: ActivityId) -> String {
    let Activity { state, body } = store.activities(&[id]).await.unwrap().remove(0).unwrap();
    let prior = store.prior_audiences(&[id]).await.unwrap();
    let source =
        ExternalKey { actor: state.actor, service: state.facet.service.clone(), id: body.source_id.clone() };
    let claim = store.claim(&source).await.unwrap();
    assert!(claim.is_some());
    format!("{state:?} {body:?} {prior:?} {claim:?}")
}

/// Renders pages of a store.
struct PageRenderer {
    feed: Feed,
    renderer: Renderer,
}

impl PageRenderer {
    fn new(store: &Arc<dyn Copying>) -> PageRenderer {
        let store = Arc::clone(store) as Arc<dyn Store>;
        let now = Clock::from(|| Millis(FIRST + i64::try_from(SPAN).unwrap()));
        let accounts = AccountCache::new(Arc::clone(&store));
        // A test cluster may be slow, and speed is not tested here.
        let limits = FeedLimits { deadline: Duration::from_secs(300), ..FeedLimits::default() };
        PageRenderer {
            feed: Feed::new(store, accounts, now, limits),
            renderer: Renderer::new(Site::new("https://feed.example", "feed.example", CursorKeys::default())),
        }
    }

    async fn page(&self, query: &FeedQuery) -> Page {
        self.feed.page(Reader::Owner, query).await.unwrap()
    }

    async fn written(&self, owner: &Account, query: &FeedQuery, page: &Page, format: Format) -> Vec<u8> {
        let mut items = page.items.clone();
        let remembered = self.renderer.cached_fragments(&items, format);
        assert!(self.feed.hydrate(&mut items, |at| remembered[at].is_none()).await.unwrap());
        // Links carry sync tokens, which differ between stores.
        let links = vec![("self", format!("https://feed.example/{}", query.collection.as_str()))];
        let view = PageView { owner, collection: query.collection, links: &links };
        self.renderer.page(&view, &items, remembered, format)
    }
}

/// Walks through a collection in both stores, and in the second one again by the cursors of the first.
async fn same_walk(
    one: &PageRenderer,
    other: &PageRenderer,
    owner: &Account,
    collection: Collection,
    order: Order,
) -> usize {
    let start = |start| FeedQuery {
        owner: owner.uid,
        collection,
        filter: Filter::default(),
        order,
        start,
        count: COUNT,
        format: None,
    };
    let (mut query, mut own_query) = (start(Start::Skip(0)), start(Start::Skip(0)));
    for pages in 1.. {
        let page = one.page(&query).await;
        let (by_link, by_own) = (other.page(&query).await, other.page(&own_query).await);
        for format in Format::ALL {
            let written = one.written(owner, &query, &page, format).await;
            for copied in [&by_link, &by_own] {
                assert!(
                    other.written(owner, &query, copied, format).await == written,
                    "{format:?} {query:?}"
                );
            }
        }
        assert_eq!(sort_key(&page), sort_key(&by_own));
        assert_eq!(sort_key(&page), sort_key(&by_link));
        // A sync token of one store has expired in the other.
        assert!(other.feed.has_expired(&page.sync_token).await.unwrap(), "{:?}", page.sync_token);
        assert!(!other.feed.has_expired(&by_own.sync_token).await.unwrap(), "{:?}", by_own.sync_token);
        assert!(by_own.sync_token != SyncToken::default());
        let (Some(next), Some(own_next)) = (page.next, by_own.next) else { return pages };
        (query, own_query) = (start(next), start(own_next));
    }
    0
}

fn sort_key(page: &Page) -> Option<SortKey> {
    match &page.next {
        Some(Start::After { sort_key, .. }) => Some(*sort_key),
        _ => None,
    }
}
