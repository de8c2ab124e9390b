//! How clients read.

use super::super::support::cursor_keys;
use super::clients::{ClientKind, FeedClient};
use super::reconcile::Change;
use super::sequence::{Harness, Violation, plan};
use super::steps::InjectedFault;
use domain::feed::{Event, ReadError};
use model::{Account, FeedQuery, RawQuery, Reader, Start, SyncToken};

/// The result of one read.
enum ReadOutcome {
    /// There may be more.
    More,
    /// No more for now.
    UpToDate,
    /// The node failed; the client continues from its last position.
    NodeFailed,
}

impl Harness<'_> {
    /// Updates the expectations of every client after a change.
    pub(super) fn update_expectations(&mut self, change: Change) {
        self.clients.iter_mut().for_each(|client| client.update_expectations(&self.naive, change));
    }

    /// A client reads, once or until it has seen everything.
    pub(super) async fn read(
        &mut self,
        number: usize,
        size: usize,
        whole: bool,
        fault: Option<InjectedFault>,
    ) -> Result<(), Violation> {
        let number = number % self.clients.len();
        let client = &self.clients[number];
        if !self.may_read(client) {
            return Ok(());
        }
        let reader = self.naive.reader(client.uid, client.query.owner);
        if client.kind == ClientKind::Stream && client.reader.is_some_and(|before| before != reader) {
            // A stream receives a reset when the rights of its reader change.
            self.resync(number, reader).await?;
        }
        self.clients[number].reader = Some(reader);
        plan(&self.bed.node, fault.into_iter().collect());
        let mut outcome = Ok(ReadOutcome::More);
        while matches!(outcome, Ok(ReadOutcome::More)) {
            outcome = self.read_once(number, reader, size, whole).await;
            if !whole {
                break;
            }
        }
        self.bed.node.calm();
        self.bed.node.restart();
        outcome?;
        self.mark_seen(number).await
    }

    /// An owner who polls has seen what the last page covers.
    async fn mark_seen(&self, number: usize) -> Result<(), Violation> {
        let FeedClient { uid, kind, query, start, .. } = &self.clients[number];
        if let (true, ClientKind::Poller, Some(Start::Updates(token))) = (*uid == query.owner, kind, start) {
            self.bed.feed.mark_seen(query, token).await.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Whether the client may read the collection: removed accounts neither read nor are read, and only the owner reads
    /// a private account, or one that blocks the reader.
    pub(super) fn may_read(&self, client: &FeedClient) -> bool {
        let (reader, owner) = (client.uid, client.query.owner);
        let hides = |account: &Account| account.uid == owner && reader != owner && !account.public;
        let left = |account: &Account| account.removed && [reader, owner].contains(&account.uid);
        let blocked = self.naive.relation(reader, owner).blocked_by;
        !blocked && !self.naive.accounts.iter().any(|account| hides(account) || left(account))
    }

    async fn read_once(
        &mut self,
        number: usize,
        reader: Reader,
        size: usize,
        whole: bool,
    ) -> Result<ReadOutcome, Violation> {
        match (&self.clients[number].start, self.clients[number].kind) {
            (Some(Start::Updates(sync_token)), ClientKind::Stream) => {
                let sync_token = sync_token.clone();
                self.receive_events(number, reader, &sync_token, size, whole).await
            }
            _ => self.read_page(number, reader, size).await,
        }
    }

    /// Reads a page of the walk or of the updates.
    async fn read_page(
        &mut self,
        number: usize,
        reader: Reader,
        size: usize,
    ) -> Result<ReadOutcome, Violation> {
        let client = &mut self.clients[number];
        let start = client.start.clone().unwrap_or(Start::Skip(0));
        let page = FeedQuery { count: u32::try_from(size).unwrap(), ..client.query.from(start) };
        let page = match self.bed.feed.page(reader, &through_text(&page)).await {
            Ok(page) => page,
            Err(ReadError::Store(_)) => return Ok(ReadOutcome::NodeFailed),
            Err(other) => return Err(other.to_string()),
        };
        page.items.iter().try_for_each(|item| client.show(item))?;
        // Updates follow the end of the walk.
        let walking = !matches!(client.start, Some(Start::Updates(_)));
        let outcome = if page.next.is_some() || walking { ReadOutcome::More } else { ReadOutcome::UpToDate };
        client.start = Some(page.next.unwrap_or(Start::Updates(page.sync_token)));
        Ok(outcome)
    }

    /// Receives the events after the sync token, as a stream sends them. A stream that is cut off receives only the
    /// first event and resumes from its sync token.
    async fn receive_events(
        &mut self,
        number: usize,
        reader: Reader,
        sync_token: &SyncToken,
        size: usize,
        whole: bool,
    ) -> Result<ReadOutcome, Violation> {
        let query = self.clients[number].query.clone();
        let found = match self.bed.feed.events(reader, &query, sync_token, size + 1).await {
            Ok(found) => found,
            Err(ReadError::Store(_)) => return Ok(ReadOutcome::NodeFailed),
            Err(other) => return Err(other.to_string()),
        };
        let taken = if whole { found.events.len() } else { size };
        let mut sync_token = if whole { found.sync_token } else { sync_token.clone() };
        for (event, after) in found.events.into_iter().take(taken) {
            let client = &mut self.clients[number];
            match event {
                Event::Activity(item) => client.show(&item)?,
                Event::Deleted(id) => client.retract(id)?,
                Event::Changed => self.resync(number, reader).await?,
            }
            if !whole {
                sync_token = after;
            }
        }
        self.clients[number].start = Some(Start::Updates(sync_token));
        Ok(if found.more { ReadOutcome::More } else { ReadOutcome::UpToDate })
    }

    /// A stream that receives a reset reads the collection again.
    async fn resync(&mut self, number: usize, reader: Reader) -> Result<(), Violation> {
        let client = &mut self.clients[number];
        let shown = std::mem::take(&mut client.shown);
        client.view.clear();
        let mut query = FeedQuery { count: 100, ..client.query.clone() };
        loop {
            // Without faults: a client retries this read until it succeeds.
            self.bed.node.calm();
            let page = self.bed.feed.page(reader, &query).await.map_err(|error| error.to_string())?;
            page.items.iter().try_for_each(|item| client.show(item))?;
            match page.next {
                Some(next) => query.start = next,
                None => break,
            }
        }
        // Only items of the stream count, not those of this read.
        client.shown = shown;
        Ok(())
    }
}

/// The query after a round trip through its text form.
fn through_text(query: &FeedQuery) -> FeedQuery {
    let raw = RawQuery::parse(query.render(&cursor_keys()).as_bytes());
    FeedQuery::resolve(&raw, query.owner, query.collection, &cursor_keys()).unwrap()
}
