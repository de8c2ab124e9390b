//! A test fixture: a store in a temporary folder, with a clock that tests set.

use super::{Draft, Ingest, json, normalise};
use model::{Account, AccountName, ActivityId, Clock, EntryReasons, Filter, Millis, Order, Version};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use store::sqlite::{Options, SqliteStore};
use store::{Accounts, Feeds, NewAccount, Slice};

/// The time at which tests start.
pub(crate) const NOW: Millis = Millis(1_794_696_243_123);

/// The fixture. Its folder is removed with the test.
pub(crate) struct IngestFixture {
    folder: PathBuf,
    time: Arc<AtomicI64>,
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) ingest: Ingest,
    pub(crate) clock: Clock,
}

impl IngestFixture {
    pub(crate) fn new() -> IngestFixture {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("tofrom-test-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let options = Options { synchronous_off: true, ..Options::default() };
        let store = Arc::new(SqliteStore::open(&folder.join("test.db"), options).unwrap());
        let time = Arc::new(AtomicI64::new(NOW.0));
        let clock_time = Arc::clone(&time);
        let clock = Clock::from(move || Millis(clock_time.load(Ordering::Relaxed)));
        let ingest = Ingest::new(store.clone(), clock.clone());
        IngestFixture { folder, time, store, ingest, clock }
    }

    /// Advances the clock by a millisecond.
    pub(crate) fn tick(&self) {
        self.time.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) async fn account(&self, name: &str) -> Account {
        let new = NewAccount {
            name: AccountName::parse(name).unwrap(),
            version: Version(1),
            given_name: None,
            family_name: None,
            public: true,
            operator: false,
            password: None,
            created: self.clock.now(),
        };
        self.store.create_account(new).await.unwrap().unwrap()
    }

    /// The first thousand entries with these reasons that are not retracted.
    pub(crate) async fn ids(&self, owner: &Account, reasons: EntryReasons) -> Vec<ActivityId> {
        let (filter, order) = (Filter::default(), Order::Received);
        let slice = Slice { owner: owner.uid, reasons, order, filter: &filter, after: None, limit: 1_000 };
        let entries = self.store.slice(&slice).await.unwrap();
        entries.into_iter().filter(|entry| !entry.retracted).map(|entry| entry.id).collect()
    }
}

impl Drop for IngestFixture {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

/// A bookmark shared on Delicious, with these additional or replaced fields.
pub(crate) fn draft(id: &str, more: Value) -> Draft {
    let mut activity = json!({
        "SourceId": id, "Title": "x", "Category": "BookmarkShared", "SourceService": {"Name": "Delicious"},
        "Bookmark": {"Title": "t", "Url": "https://example.org/"},
    });
    activity.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    normalise(&json::read(activity.to_string().as_bytes()).unwrap(), NOW).unwrap()
}
