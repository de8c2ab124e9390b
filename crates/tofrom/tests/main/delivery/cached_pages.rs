//! Cached pages: as long as the feed calls one current, and after every new read, another process that has
//! cached nothing reads the same page.

use super::clients::FeedClient;
use super::sequence::{Harness, Violation};
use domain::feed::{Feed, Page, Validity};
use model::{FeedQuery, Reader, Start};

/// A page that a client has read.
pub(crate) struct CachedPage {
    client: usize,
    reader: Reader,
    query: FeedQuery,
    page: Page,
}

impl Harness<'_> {
    /// Compares all cached pages with new ones, and replaces those that are out of date.
    pub(super) async fn check_cached(&mut self) -> Result<(), Violation> {
        self.bed.node.calm();
        let before = std::mem::take(&mut self.cached);
        for known in before {
            if let Some(still) = self.compare(known).await? {
                self.cached.push(still);
            }
        }
        for (client, query) in self.missing_queries() {
            if self.may_read(&self.clients[client]) {
                let reader = self.naive.reader(self.clients[client].uid, query.owner);
                let page = self.new_page(&self.bed.feeds[client % 2], reader, &query).await?;
                self.cached.push(CachedPage { client, reader, query, page });
            }
        }
        Ok(())
    }

    /// The first two pages of every client's collection, and the page that it reads next.
    fn missing_queries(&self) -> Vec<(usize, FeedQuery)> {
        let mut missing = Vec::new();
        for (number, client) in self.clients.iter().enumerate() {
            let starts = [Some(Start::Skip(0)), Some(Start::Skip(2)), client.start.clone()];
            for start in starts.into_iter().flatten() {
                let query = FeedQuery { count: 3, ..client.query.from(start) };
                if !self.cached.iter().any(|known| known.client == number && known.query == query) {
                    missing.push((number, query));
                }
            }
        }
        missing
    }

    /// The page if its client may still read it and the next one.
    async fn compare(&self, known: CachedPage) -> Result<Option<CachedPage>, Violation> {
        let CachedPage { client, reader, query, page } = known;
        let FeedClient { uid, start, .. } = &self.clients[client];
        let is_read = matches!(query.start, Start::Skip(_)) || Some(&query.start) == start.as_ref();
        let may_read = self.may_read(&self.clients[client]);
        if !is_read || !may_read || self.naive.reader(*uid, query.owner) != reader {
            return Ok(None);
        }
        let feed = &self.bed.feeds[client % 2];
        let validity = feed.validity(&query, &page).await.map_err(|error| error.to_string())?;
        let kept = match validity {
            Validity::Current => page,
            Validity::Moved(page) => *page,
            Validity::Outdated => {
                // The first read may reactivate the account, which moves the log.
                self.new_page(feed, reader, &query).await?;
                self.new_page(feed, reader, &query).await?
            }
        };
        let new = self.new_page(&self.bed.observers[client % 2], reader, &query).await?;
        let (cached, expected) = (shown(&kept), shown(&new));
        if cached != expected {
            return Err(format!("client {client} got the cached page\n{cached}\ninstead of\n{expected}"));
        }
        Ok(Some(CachedPage { client, reader, query, page: kept }))
    }

    async fn new_page(&self, feed: &Feed, reader: Reader, query: &FeedQuery) -> Result<Page, Violation> {
        feed.page(reader, query).await.map_err(|error| error.to_string())
    }
}

/// Everything that a response shows of a page, except bodies, whose content belongs to the version.
fn shown(page: &Page) -> String {
    let items: Vec<_> = page.items.iter().map(|item| (&item.state, &item.actor)).collect();
    format!("{items:?}\nnext {:?}\nsync token {:?}", page.next, page.sync_token)
}
