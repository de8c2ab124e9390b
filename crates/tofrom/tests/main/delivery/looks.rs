//! How clients read.

use super::clients::{Client, Sort};
use super::learning::Change;
use super::sequence::{Broken, Stage, plan};
use super::steps::Trouble;
use model::{Account, FeedQuery, RawQuery, Reader, Start, SyncToken};
use tofrom::feed::{Event, ReadError};

/// The result of one read.
enum PollOutcome {
    /// There may be more.
    More,
    /// No more for now.
    All,
    /// The node failed; the client continues from its last position.
    Failed,
}

impl Stage<'_> {
    /// Updates the expectations of every client after a change.
    pub(super) fn notice(&mut self, change: Change) {
        self.clients.iter_mut().for_each(|client| client.notice(&self.naive, change));
    }

    /// A client reads, once or until it has seen everything.
    pub(super) async fn look(
        &mut self,
        number: usize,
        size: usize,
        whole: bool,
        trouble: Option<Trouble>,
    ) -> Result<(), Broken> {
        let number = number % self.clients.len();
        let client = &self.clients[number];
        if !self.may_look(client) {
            return Ok(());
        }
        let reader = self.naive.reader(client.uid, client.query.owner);
        if client.sort == Sort::Stream && client.reader.is_some_and(|before| before != reader) {
            // The server tells a stream to resync when the rights of its reader change.
            self.read_anew(number, reader).await?;
        }
        self.clients[number].reader = Some(reader);
        plan(&self.ground.node, trouble.into_iter().collect());
        let mut looked = Ok(PollOutcome::More);
        while matches!(looked, Ok(PollOutcome::More)) {
            looked = self.look_once(number, reader, size, whole).await;
            if !whole {
                break;
            }
        }
        self.ground.node.calm();
        self.ground.node.restart();
        looked.map(drop)
    }

    /// Whether the client may read the collection: removed accounts neither read nor are read, and only the owner reads
    /// a private account.
    pub(super) fn may_look(&self, client: &Client) -> bool {
        let (reader, owner) = (client.uid, client.query.owner);
        let hides = |account: &Account| account.uid == owner && reader != owner && !account.public;
        let left = |account: &Account| account.removed && [reader, owner].contains(&account.uid);
        !self.naive.accounts.iter().any(|account| hides(account) || left(account))
    }

    async fn look_once(
        &mut self,
        number: usize,
        reader: Reader,
        size: usize,
        whole: bool,
    ) -> Result<PollOutcome, Broken> {
        match (&self.clients[number].start, self.clients[number].sort) {
            (Some(Start::Updates(sync_token)), Sort::Stream) => {
                let sync_token = sync_token.clone();
                self.watch(number, reader, &sync_token, size, whole).await
            }
            _ => self.read_page(number, reader, size).await,
        }
    }

    /// Reads a page of the walk or of the updates.
    async fn read_page(&mut self, number: usize, reader: Reader, size: usize) -> Result<PollOutcome, Broken> {
        let client = &mut self.clients[number];
        let start = client.start.clone().unwrap_or(Start::Skip(0));
        let page = FeedQuery { count: u32::try_from(size).unwrap(), ..client.query.from(start) };
        let page = match self.ground.feed.page(reader, &through_text(&page)).await {
            Ok(page) => page,
            Err(ReadError::Store(_)) => return Ok(PollOutcome::Failed),
            Err(other) => return Err(other.to_string()),
        };
        page.items.iter().try_for_each(|item| client.see(item))?;
        // Updates follow the end of the walk.
        let walking = !matches!(client.start, Some(Start::Updates(_)));
        let looked = if page.next.is_some() || walking { PollOutcome::More } else { PollOutcome::All };
        client.start = Some(page.next.unwrap_or(Start::Updates(page.sync_token)));
        Ok(looked)
    }

    /// Receives the events after the sync token, as a stream sends them. A stream that is cut off receives only the
    /// first event and resumes from its sync token.
    async fn watch(
        &mut self,
        number: usize,
        reader: Reader,
        sync_token: &SyncToken,
        size: usize,
        whole: bool,
    ) -> Result<PollOutcome, Broken> {
        let query = self.clients[number].query.clone();
        let found = match self.ground.feed.events(reader, &query, sync_token, size + 1).await {
            Ok(found) => found,
            Err(ReadError::Store(_)) => return Ok(PollOutcome::Failed),
            Err(other) => return Err(other.to_string()),
        };
        let taken = if whole { found.events.len() } else { size };
        let mut sync_token = if whole { found.sync_token } else { sync_token.clone() };
        for (event, after) in found.events.into_iter().take(taken) {
            let client = &mut self.clients[number];
            match event {
                Event::Activity(item) => client.see(&item)?,
                Event::Deleted(id) => client.lose(id)?,
                Event::Changed => self.read_anew(number, reader).await?,
            }
            if !whole {
                sync_token = after;
            }
        }
        self.clients[number].start = Some(Start::Updates(sync_token));
        Ok(if found.more { PollOutcome::More } else { PollOutcome::All })
    }

    /// A stream that receives a reset reads the collection again.
    async fn read_anew(&mut self, number: usize, reader: Reader) -> Result<(), Broken> {
        let client = &mut self.clients[number];
        let shown = std::mem::take(&mut client.shown);
        client.view.clear();
        let mut query = FeedQuery { count: 100, ..client.query.clone() };
        loop {
            // Without faults: a client retries this read until it succeeds.
            self.ground.node.calm();
            let page = self.ground.feed.page(reader, &query).await.map_err(|error| error.to_string())?;
            page.items.iter().try_for_each(|item| client.see(item))?;
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
    let raw = RawQuery::parse(query.render().as_bytes());
    FeedQuery::resolve(&raw, query.owner, query.collection).unwrap()
}
