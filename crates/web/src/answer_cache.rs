//! A cache of answers to reads of collections. They are sent again as long as their page is true.

use crate::negotiate::Coding;
use crate::respond::Answer;
use domain::feed::Page;
use http::HeaderMap;
use model::{Account, Collection, FeedQuery, Format, MAX_PAGE, RawQuery, Reader, Uid, Version};
use std::sync::Arc;

/// The memory limit.
const MAX_BYTES: u64 = 64 << 20;

/// Everything in a request that the answer depends on.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct AnswerKey {
    owner: Uid,
    owner_version: Version,
    reader: Reader,
    collection: Collection,
    pub(crate) raw: RawQuery,
    accepted: Option<Format>,
    coding: Coding,
}

impl AnswerKey {
    pub(crate) fn new(
        owner: &Account,
        reader: Reader,
        collection: Collection,
        raw: RawQuery,
        accepted: Option<Format>,
        headers: &HeaderMap,
    ) -> AnswerKey {
        AnswerKey {
            owner: owner.uid,
            owner_version: owner.version,
            reader,
            collection,
            raw,
            accepted,
            coding: Coding::choose(headers),
        }
    }
}

/// An answer and the page it shows.
pub(crate) struct CachedAnswer {
    pub(crate) query: FeedQuery,
    pub(crate) page: Page,
    pub(crate) answer: Answer,
}

/// The answers, within a memory limit.
pub(crate) struct AnswerCache(moka::sync::Cache<AnswerKey, Arc<CachedAnswer>>);

impl AnswerCache {
    pub(crate) fn new() -> AnswerCache {
        // The parameters are there twice: as sent, and in the query.
        let weigh = |key: &AnswerKey, cached: &Arc<CachedAnswer>| {
            let bytes = 2 * key.raw.bytes() + cached.answer.bytes() + cached.page.cached_bytes() + 1_024;
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        AnswerCache(moka::sync::Cache::builder().max_capacity(MAX_BYTES).weigher(weigh).build())
    }

    pub(crate) fn get(&self, key: &AnswerKey) -> Option<Arc<CachedAnswer>> {
        self.0.get(key)
    }

    /// Adds an answer, unless its page is large or cannot be cached.
    pub(crate) fn insert(&self, key: AnswerKey, query: FeedQuery, page: Page, answer: Answer) {
        if query.count <= MAX_PAGE
            && let Some(page) = page.cacheable()
        {
            self.0.insert(key, Arc::new(CachedAnswer { query, page, answer }));
        }
    }
}
