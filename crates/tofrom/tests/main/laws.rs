//! Properties of reading: a page equals a naive reading of all data for every query and reader; a walk returns each
//! item once, even while items arrive; `updates` returns everything that the walk missed.

use super::support::cursor_keys;
use super::support::random_data::{FIRST, RandomData, SPAN};
use domain::feed::{Feed, FeedLimits, Page, ReadError};
use model::{Clock, Collection, FeedQuery, Filter, Millis, Order, Range, Reader, Start, Version};
use std::collections::HashSet;
use std::time::Duration;
use store::AccountCache;

/// The end of the data's range.
const NOW: Millis = Millis(FIRST + SPAN as i64);

fn feed(data: &RandomData, limits: FeedLimits) -> Feed {
    let now = Clock::from(|| NOW);
    Feed::new(data.as_store(), AccountCache::new(data.as_store()), now, limits)
}

fn any_query(data: &mut RandomData) -> (Reader, FeedQuery) {
    let owner = data.accounts[data.chance.below(data.accounts.len())].uid;
    let uid = data.accounts[data.chance.below(data.accounts.len())].uid;
    let follows_owner = data.edges.get(&(uid, owner)).is_some_and(|edge| edge.following);
    let reader = if uid == owner || data.chance.one_in(2) {
        Reader::Owner
    } else {
        Reader::Other { uid, follows_owner, blocks: Version::default() }
    };
    let mut words = |from: &[&str]| {
        let several = data.chance.one_in(3);
        let count = if several { 1 + data.chance.below(2) } else { 0 };
        (0..count).map(|_| (*data.chance.pick(from)).to_owned()).collect()
    };
    let (services, kinds, verbs) = (
        words(&["flickr", "last.fm", "nowhere"]),
        words(&["photo", "song", "hat"]),
        words(&["post", "like", "share"]),
    );
    let mut range = || {
        let rare = data.chance.one_in(4);
        let bound = |data: &mut RandomData| (rare && !data.chance.one_in(3)).then(|| data.any_time());
        Range { since: bound(data), before: bound(data) }
    };
    let (received, published) = (range(), range());
    let start = if data.chance.one_in(2) { 0 } else { data.chance.below(30) };
    let query = FeedQuery {
        owner,
        collection: *data.chance.pick(&[Collection::To, Collection::From, Collection::ToFrom]),
        filter: Filter { services, kinds, verbs, received, published },
        order: *data.chance.pick(&[Order::Received, Order::Published]),
        start: Start::Skip(u32::try_from(start).unwrap()),
        count: u32::try_from(*data.chance.pick(&[0, 1, 2, 3, 7, 20, 1000])).unwrap(),
        format: None,
    };
    (reader, query)
}

async fn filled(seed: u64, activities: usize) -> RandomData {
    filled_with_retention(seed, activities, None).await
}

/// With a retention, old entries and bodies are deleted now and then.
async fn filled_with_retention(seed: u64, activities: usize, retention: Option<Duration>) -> RandomData {
    let mut data = RandomData::new(seed, 6, retention).await;
    for _ in 0..activities {
        data.write_random().await;
        if data.chance.one_in(10) {
            data.remove().await;
        }
        if retention.is_some() && data.chance.one_in(10) {
            data.as_store().forget_expired(NOW).await.unwrap();
        }
    }
    data
}

fn ids(page: &Page) -> Vec<model::ActivityId> {
    page.items.iter().map(|item| item.state.id).collect()
}

/// 10,000 random queries over 100 random data sets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_equals_a_naive_reading() {
    let mut shown = 0;
    for seed in 0..100 {
        let mut data = filled(seed, 80).await;
        let feed = feed(&data, FeedLimits::default());
        for number in 0..100 {
            let (reader, query) = any_query(&mut data);
            let page = feed.page(reader, &query).await.unwrap();
            let Start::Skip(skip) = query.start else { unreachable!() };
            let all_items = data.naive(reader, &query);
            let size = query.count as usize;
            let expected: Vec<_> = all_items.iter().copied().skip(skip as usize).take(size).collect();
            assert_eq!(ids(&page), expected, "seed {seed}, query {number}: {reader:?} {query:?}");
            let more = size > 0 && all_items.len() > skip as usize + size;
            assert_eq!(page.next.is_some(), more, "next in seed {seed}, query {number}: {query:?}");
            shown += expected.len();
        }
    }
    assert!(shown > 10_000, "the queries found too little: {shown}");
}

/// Walks by `next` with any page size and filter; a cursor survives its text form and never returns more than its
/// query.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_walk_returns_each_item_once() {
    for seed in 1_000..1_030 {
        let mut data = filled(seed, 80).await;
        let feed = feed(&data, FeedLimits::default());
        for _ in 0..20 {
            let (reader, query) = any_query(&mut data);
            let query = FeedQuery { count: query.count.max(1), ..query }.from(Start::Skip(0));
            let mut walked = Vec::new();
            let mut next = query.clone();
            loop {
                let page = feed.page(reader, &next).await.unwrap();
                walked.extend(ids(&page));
                let Some(start) = page.next else { break };
                next = through_text(&query.from(start));
            }
            assert_eq!(walked, data.naive(reader, &query), "seed {seed}: {reader:?} {query:?}");
        }
    }
}

fn through_text(query: &FeedQuery) -> FeedQuery {
    let raw = model::RawQuery::parse(query.render(&cursor_keys()).as_bytes());
    FeedQuery::resolve(&raw, query.owner, query.collection, &cursor_keys()).unwrap()
}

/// Items arrive and change between the pages of a walk. An item that stays is shown once, none is shown twice, and
/// after the walk `updates` returns exactly the versions that were not shown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_walk_and_its_updates_return_everything_once() {
    for seed in 2_000..2_040 {
        let mut data = filled(seed, 40).await;
        let feed = feed(&data, FeedLimits::default());
        for _ in 0..6 {
            let (_, query) = any_query(&mut data);
            let (reader, count) = (Reader::Owner, 1 + u32::try_from(data.chance.below(9)).unwrap());
            let query = FeedQuery { count, ..query }.from(Start::Skip(0));
            let at_first: HashSet<_> = data.naive(reader, &query).into_iter().collect();
            let mut shown = Vec::new();
            let mut start = Start::Skip(0);
            let sync_token = loop {
                let page = feed.page(reader, &through_text(&query.from(start))).await.unwrap();
                shown.extend(page.items.iter().map(|item| (item.state.id, item.state.version)));
                for _ in 0..data.chance.below(4) {
                    data.write_random().await;
                }
                match page.next {
                    Some(next) => start = next,
                    None => break page.sync_token,
                }
            };
            let walked: HashSet<_> = shown.iter().map(|(id, _)| *id).collect();
            assert_eq!(walked.len(), shown.len(), "seed {seed}: repeated items in a walk of {query:?}");
            let at_last: HashSet<_> = data.naive(reader, &query).into_iter().collect();
            let lost: Vec<_> = at_first.intersection(&at_last).filter(|id| !walked.contains(id)).collect();
            assert!(lost.is_empty(), "seed {seed}: lost items {lost:?} in a walk of {query:?}");

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
            assert_eq!(
                versions.len(),
                shown.len(),
                "seed {seed}: repeated versions in the updates of {query:?}"
            );
            for id in &at_last {
                let present = (*id, data.activities[id].state.version);
                assert!(versions.contains(&present), "seed {seed}: {present:?} was never shown by {query:?}");
            }
            let quiet = feed.page(reader, &through_text(&query.from(start))).await.unwrap();
            assert!(quiet.items.is_empty() && quiet.next.is_none(), "no further arrivals");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retention_bounds_the_time_of_receipt() {
    for seed in 3_000..3_020 {
        let retention = Duration::from_millis(SPAN as u64 / 2);
        // Hidden only, or deleted too: the pages are the same.
        let deleted = (seed % 2 == 0).then_some(retention);
        let mut data = filled_with_retention(seed, 60, deleted).await;
        let feed = feed(&data, FeedLimits { retention: Some(retention), ..FeedLimits::default() });
        for _ in 0..30 {
            let (reader, query) = any_query(&mut data);
            let page = feed.page(reader, &query.from(Start::Skip(0))).await.unwrap();
            let oldest = Millis(NOW.0 - i64::try_from(SPAN / 2).unwrap());
            let mut bounded = query.clone();
            bounded.filter.received.since = bounded.filter.received.since.max(Some(oldest));
            let expected: Vec<_> =
                data.naive(reader, &bounded).into_iter().take(query.count as usize).collect();
            assert_eq!(ids(&page), expected, "seed {seed}: {query:?}");
        }
    }
}

/// A page has the requested number of items or all remaining ones, or is refused: it is never cut short silently.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_complete_or_refused() {
    const MAX_COUNT: u32 = 7;
    let (mut refused, mut whole_pages) = (0, 0);
    for seed in 5_000..5_020 {
        let mut data = filled(seed, 80).await;
        let feed = feed(&data, FeedLimits { max_count: MAX_COUNT, ..FeedLimits::default() });
        for _ in 0..60 {
            let (reader, query) = any_query(&mut data);
            let Start::Skip(skip) = query.start else { unreachable!() };
            let rest: Vec<_> = data.naive(reader, &query).into_iter().skip(skip as usize).collect();
            let result = feed.page(reader, &query).await;
            if query.count > MAX_COUNT && rest.len() > MAX_COUNT as usize {
                assert!(matches!(result, Err(ReadError::CountTooLarge(MAX_COUNT))), "seed {seed}: {query:?}");
                refused += 1;
                continue;
            }
            let page = result.unwrap();
            let expected = &rest[..rest.len().min(query.count as usize)];
            assert_eq!(ids(&page), expected, "seed {seed}: {query:?}");
            let more = query.count > 0 && expected.len() < rest.len();
            assert_eq!(page.next.is_some(), more, "seed {seed}: {query:?}");
            whole_pages += usize::from(query.count > MAX_COUNT && !expected.is_empty());
        }
    }
    assert!(refused > 25 && whole_pages > 25, "too few cases: {refused}, {whole_pages}");
}

/// The same for `updates`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_updates_page_is_complete_or_refused() {
    const MAX_COUNT: u32 = 7;
    let mut data = filled(6_000, 20).await;
    let feed = feed(&data, FeedLimits { max_count: MAX_COUNT, ..FeedLimits::default() });
    let owner = data.accounts.iter().find(|account| !account.removed).unwrap().uid;
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
        for _ in 0..data.chance.below(60) {
            data.write_random().await;
        }
        let updates_query = |count| FeedQuery { count, ..all.from(Start::Updates(sync_token.clone())) };
        let first = feed.page(Reader::Owner, &updates_query(MAX_COUNT)).await.unwrap();
        for count in [MAX_COUNT + 1, 1_000] {
            match feed.page(Reader::Owner, &updates_query(count)).await {
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
    assert!(refused > 5 && served > 5, "too few cases: {refused}, {served}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_beyond_the_limit_is_refused_unless_the_collection_ends_before() {
    let data = filled(4_000, 80).await;
    let owner = data.accounts.iter().find(|account| !account.removed).unwrap().uid;
    let query = |start| FeedQuery {
        owner,
        collection: Collection::ToFrom,
        filter: Filter::default(),
        order: Order::Received,
        start: Start::Skip(start),
        count: 20,
        format: None,
    };
    let narrow = feed(&data, FeedLimits { max_start: 5, ..FeedLimits::default() });
    assert!(narrow.page(Reader::Owner, &query(6)).await.is_err());
    assert!(narrow.page(Reader::Owner, &query(5)).await.is_ok());
    let wide = feed(&data, FeedLimits::default());
    assert!(wide.page(Reader::Owner, &query(1_000_000)).await.unwrap().items.is_empty());
    let uid = data.accounts.last().unwrap().uid;
    let stranger = Reader::Other { uid, follows_owner: false, blocks: Version::default() };
    assert!(wide.page(stranger, &query(i32::MAX as u32)).await.unwrap().items.is_empty());
}
