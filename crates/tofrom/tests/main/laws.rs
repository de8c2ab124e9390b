//! Properties of reading: a page equals a naive reading of all data for every query and reader; a walk returns each
//! item once, even while items arrive; `updates` returns everything that the walk missed.

use super::support::world::{FIRST, SPAN, World};
use model::{Collection, FeedQuery, Filter, Millis, Order, Range, Reader, Start};
use std::collections::HashSet;
use tofrom::accounts::AccountCache;
use tofrom::clock::Clock;
use tofrom::feed::{Feed, FeedLimits, Page, ReadError};

fn feed(world: &World, limits: FeedLimits) -> Feed {
    let now = Clock::from(|| Millis(FIRST + i64::try_from(SPAN).unwrap()));
    Feed::new(world.as_store(), AccountCache::new(world.as_store()), now, limits)
}

fn any_query(world: &mut World) -> (Reader, FeedQuery) {
    let owner = world.accounts[world.chance.below(world.accounts.len())].uid;
    let uid = world.accounts[world.chance.below(world.accounts.len())].uid;
    let follows_owner = world.edges.get(&(uid, owner)).is_some_and(|edge| edge.following);
    let reader = if uid == owner || world.chance.one_in(2) {
        Reader::Owner
    } else {
        Reader::Other { uid, follows_owner }
    };
    let mut words = |from: &[&str]| {
        let several = world.chance.one_in(3);
        let count = if several { 1 + world.chance.below(2) } else { 0 };
        (0..count).map(|_| (*world.chance.pick(from)).to_owned()).collect()
    };
    let (services, kinds, verbs) = (
        words(&["flickr", "last.fm", "nowhere"]),
        words(&["photo", "song", "hat"]),
        words(&["post", "like", "share"]),
    );
    let mut range = || {
        let rare = world.chance.one_in(4);
        let bound = |world: &mut World| (rare && !world.chance.one_in(3)).then(|| world.any_time());
        Range { since: bound(world), before: bound(world) }
    };
    let (received, published) = (range(), range());
    let start = if world.chance.one_in(2) { 0 } else { world.chance.below(30) };
    let query = FeedQuery {
        owner,
        collection: *world.chance.pick(&[Collection::To, Collection::From, Collection::ToFrom]),
        filter: Filter { services, kinds, verbs, received, published },
        order: *world.chance.pick(&[Order::Received, Order::Published]),
        start: Start::Skip(u32::try_from(start).unwrap()),
        count: u32::try_from(*world.chance.pick(&[0, 1, 2, 3, 7, 20, 1000])).unwrap(),
        format: None,
    };
    (reader, query)
}

async fn filled(seed: u64, activities: usize) -> World {
    let mut world = World::new(seed, 6).await;
    for _ in 0..activities {
        world.happen().await;
        if world.chance.one_in(10) {
            world.remove().await;
        }
    }
    world
}

fn ids(page: &Page) -> Vec<model::ActivityId> {
    page.items.iter().map(|item| item.state.id).collect()
}

/// 10,000 random queries over 100 random data sets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_equals_a_naive_reading() {
    let mut shown = 0;
    for seed in 0..100 {
        let mut world = filled(seed, 80).await;
        let feed = feed(&world, FeedLimits::default());
        for number in 0..100 {
            let (reader, query) = any_query(&mut world);
            let page = feed.page(reader, &query).await.unwrap();
            let Start::Skip(skip) = query.start else { unreachable!() };
            let whole = world.naive(reader, &query);
            let size = query.count as usize;
            let expected: Vec<_> = whole.iter().copied().skip(skip as usize).take(size).collect();
            assert_eq!(ids(&page), expected, "world {seed}, query {number}: {reader:?} {query:?}");
            let more = size > 0 && whole.len() > skip as usize + size;
            assert_eq!(page.next.is_some(), more, "next in world {seed}, query {number}: {query:?}");
            shown += expected.len();
        }
    }
    assert!(shown > 10_000, "the queries should find something: {shown}");
}

/// Walks by `next` with any page size and filter; a cursor survives its text form and never returns more than its
/// query.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_walk_returns_each_item_once() {
    for seed in 1_000..1_030 {
        let mut world = filled(seed, 80).await;
        let feed = feed(&world, FeedLimits::default());
        for _ in 0..20 {
            let (reader, query) = any_query(&mut world);
            let query = FeedQuery { count: query.count.max(1), ..query }.from(Start::Skip(0));
            let mut walked = Vec::new();
            let mut next = query.clone();
            loop {
                let page = feed.page(reader, &next).await.unwrap();
                walked.extend(ids(&page));
                let Some(start) = page.next else { break };
                next = through_text(&query.from(start));
            }
            assert_eq!(walked, world.naive(reader, &query), "world {seed}: {reader:?} {query:?}");
        }
    }
}

fn through_text(query: &FeedQuery) -> FeedQuery {
    let raw = model::RawQuery::parse(query.render().as_bytes());
    FeedQuery::resolve(&raw, query.owner, query.collection).unwrap()
}

/// Items arrive and change between the pages of a walk. An item that stays is shown once, none is shown twice, and
/// after the walk `updates` returns exactly the versions that were not shown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_walk_and_its_updates_return_everything_once() {
    for seed in 2_000..2_040 {
        let mut world = filled(seed, 40).await;
        let feed = feed(&world, FeedLimits::default());
        for _ in 0..6 {
            let (_, query) = any_query(&mut world);
            let (reader, count) = (Reader::Owner, 1 + u32::try_from(world.chance.below(9)).unwrap());
            let query = FeedQuery { count, ..query }.from(Start::Skip(0));
            let at_first: HashSet<_> = world.naive(reader, &query).into_iter().collect();
            let mut shown = Vec::new();
            let mut start = Start::Skip(0);
            let sync_token = loop {
                let page = feed.page(reader, &through_text(&query.from(start))).await.unwrap();
                shown.extend(page.items.iter().map(|item| (item.state.id, item.state.version)));
                for _ in 0..world.chance.below(4) {
                    world.happen().await;
                }
                match page.next {
                    Some(next) => start = next,
                    None => break page.sync_token,
                }
            };
            let walked: HashSet<_> = shown.iter().map(|(id, _)| *id).collect();
            assert_eq!(walked.len(), shown.len(), "world {seed}: a walk repeats {query:?}");
            let at_last: HashSet<_> = world.naive(reader, &query).into_iter().collect();
            let lost: Vec<_> = at_first.intersection(&at_last).filter(|id| !walked.contains(id)).collect();
            assert!(lost.is_empty(), "world {seed}: a walk loses {lost:?} of {query:?}");

            let mut start = Start::Updates(sync_token);
            loop {
                let page = feed.page(reader, &through_text(&query.from(start))).await.unwrap();
                shown.extend(page.items.iter().map(|item| (item.state.id, item.state.version)));
                match page.next {
                    Some(next) => start = next,
                    None => break start = Start::Updates(page.sync_token),
                }
            }
            let versions: HashSet<_> = shown.iter().copied().collect();
            assert_eq!(versions.len(), shown.len(), "world {seed}: updates repeat a version of {query:?}");
            for id in &at_last {
                let present = (*id, world.activities[id].state.version);
                assert!(
                    versions.contains(&present),
                    "world {seed}: {present:?} was never shown by {query:?}"
                );
            }
            let quiet = feed.page(reader, &through_text(&query.from(start))).await.unwrap();
            assert!(quiet.items.is_empty() && quiet.next.is_none(), "nothing arrived since");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retention_bounds_the_time_of_receipt() {
    for seed in 3_000..3_010 {
        let mut world = filled(seed, 60).await;
        let kept = std::time::Duration::from_millis(SPAN as u64 / 2);
        let feed = feed(&world, FeedLimits { retention: Some(kept), ..FeedLimits::default() });
        for _ in 0..30 {
            let (reader, query) = any_query(&mut world);
            let page = feed.page(reader, &query.from(Start::Skip(0))).await.unwrap();
            let oldest = Millis(FIRST + i64::try_from(SPAN).unwrap() - i64::try_from(SPAN / 2).unwrap());
            let mut bounded = query.clone();
            bounded.filter.received.since = bounded.filter.received.since.max(Some(oldest));
            let expected: Vec<_> =
                world.naive(reader, &bounded).into_iter().take(query.count as usize).collect();
            assert_eq!(ids(&page), expected, "world {seed}: {query:?}");
        }
    }
}

/// A page has the requested number of items or all remaining ones, or is refused: it is never cut short silently.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_complete_or_refused() {
    const MAX_COUNT: u32 = 7;
    let (mut refused, mut whole_pages) = (0, 0);
    for seed in 5_000..5_020 {
        let mut world = filled(seed, 80).await;
        let feed = feed(&world, FeedLimits { max_count: MAX_COUNT, ..FeedLimits::default() });
        for _ in 0..60 {
            let (reader, query) = any_query(&mut world);
            let Start::Skip(skip) = query.start else { unreachable!() };
            let rest: Vec<_> = world.naive(reader, &query).into_iter().skip(skip as usize).collect();
            let result = feed.page(reader, &query).await;
            if query.count > MAX_COUNT && rest.len() > MAX_COUNT as usize {
                assert!(
                    matches!(result, Err(ReadError::CountTooLarge(MAX_COUNT))),
                    "world {seed}: {query:?}"
                );
                refused += 1;
                continue;
            }
            let page = result.unwrap();
            let expected = &rest[..rest.len().min(query.count as usize)];
            assert_eq!(ids(&page), expected, "world {seed}: {query:?}");
            let more = query.count > 0 && expected.len() < rest.len();
            assert_eq!(page.next.is_some(), more, "world {seed}: {query:?}");
            whole_pages += usize::from(query.count > MAX_COUNT && !expected.is_empty());
        }
    }
    assert!(refused > 25 && whole_pages > 25, "both happen: {refused}, {whole_pages}");
}

/// The same for `updates`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_updates_page_is_complete_or_refused() {
    const MAX_COUNT: u32 = 7;
    let mut world = filled(6_000, 20).await;
    let feed = feed(&world, FeedLimits { max_count: MAX_COUNT, ..FeedLimits::default() });
    let owner = world.accounts.iter().find(|account| !account.removed).unwrap().uid;
    let all = FeedQuery {
        owner,
        collection: Collection::ToFrom,
        filter: Filter::default(),
        order: Order::Received,
        start: Start::Skip(0),
        count: 0,
        format: None,
    };
    let (mut refused, mut served) = (0, 0);
    for _ in 0..40 {
        let sync_token = feed.page(Reader::Owner, &all).await.unwrap().sync_token;
        for _ in 0..world.chance.below(60) {
            world.happen().await;
        }
        let asked = |count| FeedQuery { count, ..all.from(Start::Updates(sync_token.clone())) };
        let first = feed.page(Reader::Owner, &asked(MAX_COUNT)).await.unwrap();
        for count in [MAX_COUNT + 1, 1_000] {
            match feed.page(Reader::Owner, &asked(count)).await {
                Err(ReadError::CountTooLarge(MAX_COUNT)) => {
                    assert!(first.next.is_some());
                    refused += 1;
                }
                page => {
                    assert_eq!((ids(&page.unwrap()), first.next.is_some()), (ids(&first), false));
                    served += 1;
                }
            }
        }
    }
    assert!(refused > 5 && served > 5, "both happen: {refused}, {served}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_beyond_the_limit_is_refused_unless_the_collection_ends_before() {
    let world = filled(4_000, 80).await;
    let owner = world.accounts.iter().find(|account| !account.removed).unwrap().uid;
    let query = |start| FeedQuery {
        owner,
        collection: Collection::ToFrom,
        filter: Filter::default(),
        order: Order::Received,
        start: Start::Skip(start),
        count: 20,
        format: None,
    };
    let narrow = feed(&world, FeedLimits { max_start: 5, ..FeedLimits::default() });
    assert!(narrow.page(Reader::Owner, &query(6)).await.is_err());
    assert!(narrow.page(Reader::Owner, &query(5)).await.is_ok());
    let wide = feed(&world, FeedLimits::default());
    assert!(wide.page(Reader::Owner, &query(1_000_000)).await.unwrap().items.is_empty());
    let stranger = Reader::Other { uid: world.accounts.last().unwrap().uid, follows_owner: false };
    assert!(wide.page(stranger, &query(i32::MAX as u32)).await.unwrap().items.is_empty());
}
