//! The measured pages, and the limit of each.

use super::fill::{FIRST, Filled};
use anyhow::Context;
use domain::feed::{Feed, FeedLimits, Page};
use model::{Clock, Collection, FeedQuery, Filter, Millis, Order, Range, Reader, Start};
use std::sync::Arc;
use std::time::Instant;
use store::{AccountCache, Store};

const COUNT: u32 = 20;

/// Rows of entries for each returned item.
const PER_ITEM: u64 = 4;

/// For each facet of the account: a row of the directory and the first row of the run for each of the three reasons,
/// and one for the item that only decides whether there is a next page.
const PER_FACET: u64 = 7;

/// How far next links are followed.
const FAR: usize = 1_000;

/// How often a page is read for its time.
const REPEATS: usize = 21;

/// A kind of page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    First,
    Filtered,
    Bounded,
    FilteredBounded,
    Far,
    FilteredFar,
}

/// The cost of a page.
pub(crate) struct Measured {
    /// The page number, if it is not the first.
    pub(crate) page: Option<usize>,
    pub(crate) items: usize,
    pub(crate) rows: u64,
    pub(crate) runs: u64,
    /// First read.
    pub(crate) first_micros: u128,
    /// Median of the later reads.
    pub(crate) micros: u128,
}

/// The maximum number of rows for a page of this many items.
pub(crate) fn bound(items: usize, facets: usize) -> u64 {
    PER_ITEM * items as u64 + PER_FACET * facets as u64
}

impl Case {
    pub(crate) const ALL: [Case; 6] =
        [Case::First, Case::Filtered, Case::Bounded, Case::FilteredBounded, Case::Far, Case::FilteredFar];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Case::First => "first",
            Case::Filtered => "first, filter 1 in 1,000",
            Case::Bounded => "first, bounded in time",
            Case::FilteredBounded => "first, filter and bounds",
            Case::Far => "by next links",
            Case::FilteredFar => "filter, by next links",
        }
    }

    fn query(self, filled: &Filled, order: Order) -> FeedQuery {
        let mut filter = Filter::default();
        if matches!(self, Case::Filtered | Case::FilteredBounded | Case::FilteredFar) {
            filter.services.insert(filled.rare.service.clone());
            filter.kinds.insert(filled.rare.kind.as_str().to_owned());
            filter.verbs.insert(filled.rare.verb.as_str().to_owned());
        }
        if matches!(self, Case::Bounded | Case::FilteredBounded) {
            // The middle half of the collection.
            let quarter = (filled.end.0 - FIRST) / 4;
            let range =
                Range { since: Some(Millis(FIRST + quarter)), before: Some(Millis(FIRST + 3 * quarter)) };
            match order {
                Order::Received => filter.received = range,
                Order::Published => filter.published = range,
            }
        }
        FeedQuery {
            owner: filled.owner,
            collection: Collection::ToFrom,
            filter,
            order,
            start: Start::Skip(0),
            count: COUNT,
            format: None,
        }
    }

    fn is_far(self) -> bool {
        matches!(self, Case::Far | Case::FilteredFar)
    }
}

/// Reads the page, counts its rows, and reads it again: the store caches first pages. `None` if the page does not
/// exist.
pub(crate) async fn measure(filled: &Filled, case: Case, order: Order) -> anyhow::Result<Option<Measured>> {
    let store = Arc::clone(&filled.store) as Arc<dyn Store>;
    let end = filled.end;
    let feed = Feed::new(
        Arc::clone(&store),
        AccountCache::new(store),
        Clock::from(move || end),
        FeedLimits::default(),
    );
    let mut query = case.query(filled, order);
    let mut number = 1;
    if case.is_far() {
        while number < FAR {
            let page: Page = feed.page(Reader::Owner, &query).await?;
            let Some(next) = page.next else { break };
            query = query.from(next);
            number += 1;
        }
    }
    if case.is_far() && number == 1 {
        return Ok(None);
    }
    let (rows, runs) = (filled.store.rows_stepped(), filled.store.runs_visited());
    let start = Instant::now();
    let items = feed.page(Reader::Owner, &query).await?.items.len();
    let first_micros = start.elapsed().as_micros();
    let (rows, runs) = (filled.store.rows_stepped() - rows, filled.store.runs_visited() - runs);

    let mut times = Vec::with_capacity(REPEATS);
    for _ in 0..REPEATS {
        let start = Instant::now();
        feed.page(Reader::Owner, &query).await?;
        times.push(start.elapsed().as_micros());
    }
    times.sort_unstable();
    let micros = *times.get(REPEATS / 2).context("no times")?;
    Ok(Some(Measured { page: case.is_far().then_some(number), items, rows, runs, first_micros, micros }))
}
