//! Readers' pages: checked against the expected ones, and their cost.

use super::graph::is_read;
use super::simulation::Simulation;
use domain::feed::{Feed, FeedLimits, Page};
use futures::{StreamExt, stream};
use model::{Collection, FeedQuery, Filter, Order, Reader, Start};
use std::collections::BTreeMap;
use std::time::Duration;
use store::AccountCache;

const SIZE: u32 = 20;
/// Concurrent page reads.
const CONCURRENCY: usize = 16;
/// Readers whose statements are counted.
const COUNTED: usize = 400;
/// The value does not matter, because the run marks accounts dormant itself. It must be set so that reads are recorded.
const IDLE_AFTER: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Statements of a page, and of an empty poll after it.
#[derive(Clone, Copy)]
pub(crate) struct StatementCounts {
    /// Without those for the states on the page, whose number does not depend on the rules.
    pub(crate) page: f64,
    pub(crate) poll: f64,
}

/// A feed that caches nothing of pulled actors between two pages.
pub(crate) fn feed(simulation: &Simulation) -> Feed {
    let limits = FeedLimits { idle_after: Some(IDLE_AFTER), ..FeedLimits::default() };
    Feed::new(
        simulation.api.clone(),
        AccountCache::new(simulation.api.clone()),
        simulation.clock.clone(),
        limits,
    )
}

/// Reads the first pages of these accounts; panics if one differs from the expected page.
pub(crate) async fn check(simulation: &Simulation, feed: &Feed, readers: &[usize]) {
    let pages = readers.iter().map(|reader| page(simulation, feed, *reader));
    stream::iter(pages).buffer_unordered(CONCURRENCY).collect::<Vec<Page>>().await;
}

/// Counts the statements of pages one after the other, for readers with activities of others on their pages.
pub(crate) async fn count(simulation: &Simulation, feed: &Feed) -> BTreeMap<usize, StatementCounts> {
    let has_some = |reader: &usize| {
        let found = simulation.graph.page(*reader, &simulation.actors, SIZE as usize);
        is_read(*reader) && found.iter().any(|step| simulation.actors[*step] != *reader)
    };
    let mut readers: Vec<usize> = (0..simulation.accounts.len()).filter(has_some).collect();
    // A sample of each part of the distribution, independent of later activities.
    readers.sort_by_key(|reader| reader % 97);
    let mut counted = BTreeMap::new();
    for reader in readers.into_iter().take(COUNTED) {
        // Fills the cache of profiles, which does not depend on the rules.
        page(simulation, feed, reader).await;
        let before = simulation.api.counted().0;
        let found = page(simulation, feed, reader).await;
        let states = simulation.graph.page(reader, &simulation.actors, SIZE as usize + 1).len();
        let between = simulation.api.counted().0;
        let poll = first_page(simulation, reader).from(Start::Updates(found.sync_token));
        assert!(feed.page(Reader::Owner, &poll).await.unwrap().items.is_empty(), "nothing came");
        let page = (between - before) as f64 - states as f64;
        counted.insert(reader, StatementCounts { page, poll: (simulation.api.counted().0 - between) as f64 });
    }
    counted
}

async fn page(simulation: &Simulation, feed: &Feed, reader: usize) -> Page {
    let page = feed.page(Reader::Owner, &first_page(simulation, reader)).await.unwrap();
    let expected = simulation.graph.page(reader, &simulation.actors, SIZE as usize);
    let found: Vec<usize> = page.items.iter().map(|item| simulation.steps[&item.state.id]).collect();
    assert_eq!(found, expected, "the page of account {reader}");
    page
}

fn first_page(simulation: &Simulation, reader: usize) -> FeedQuery {
    FeedQuery {
        owner: simulation.accounts[reader].uid,
        collection: Collection::ToFrom,
        filter: Filter::default(),
        order: Order::Received,
        start: Start::Skip(0),
        count: SIZE,
        format: None,
    }
}
