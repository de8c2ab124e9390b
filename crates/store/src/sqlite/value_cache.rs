//! Caches of values that are read from the file again only after a change.

use super::SqliteStore;
use super::feed::FirstSlice;
use crate::Result;
use crate::dependencies::{Mark, Subject, recording_since};
use model::{AccountName, ActivityId, DeliveryState, Edge, Entry, Position, State, Uid};
use moka::sync::Cache;
use rusqlite::Connection;
use std::hash::Hash;

/// The maximum number of entries in cached slices, about 300 bytes each.
const MAX_ENTRIES: u64 = 100_000;

/// What most pages ask for.
pub(super) struct ValueCaches {
    pub(super) floor: ValueCache<(), Position>,
    pub(super) slices: ValueCache<FirstSlice, Vec<Entry>>,
    pub(super) states: ValueCache<ActivityId, Option<State>>,
    pub(super) edges: ValueCache<(Uid, Uid), Option<Edge>>,
    pub(super) delivery_states: ValueCache<Uid, DeliveryState>,
    /// Whether an account has removed anything: most have not.
    pub(super) any_removals: ValueCache<Uid, bool>,
    /// Whether an account blocks or mutes anybody or is blocked: most do not and are not.
    pub(super) any_relations: ValueCache<AccountName, bool>,
}

impl Default for ValueCaches {
    fn default() -> ValueCaches {
        let entries = |_: &FirstSlice, (_, entries): &(Mark, Vec<Entry>)| {
            u32::try_from(entries.len() + 1).unwrap_or(u32::MAX)
        };
        ValueCaches {
            floor: ValueCache::new(1),
            slices: ValueCache(Cache::builder().max_capacity(MAX_ENTRIES).weigher(entries).build()),
            states: ValueCache::new(50_000),
            edges: ValueCache::new(50_000),
            delivery_states: ValueCache::new(20_000),
            any_removals: ValueCache::new(20_000),
            any_relations: ValueCache::new(20_000),
        }
    }
}

/// Values by key, each with a mark from before it was read.
pub(super) struct ValueCache<K, V>(Cache<K, (Mark, V)>);

impl<K, V> ValueCache<K, V>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// No values yet, and at most `capacity` of them later.
    fn new(capacity: u64) -> ValueCache<K, V> {
        ValueCache(Cache::new(capacity))
    }
}

impl SqliteStore {
    /// The values of these keys. `read` is called once, with those that are not cached or whose subjects may have
    /// changed. If it needs several statements, it takes a snapshot.
    ///
    /// Outside of a recorded read nothing is cached: only its mark shows that no other process has committed.
    pub(super) async fn read_cached<K, V>(
        &self,
        cache: &ValueCache<K, V>,
        keys: &[K],
        subject: impl Fn(&K) -> Subject + Send,
        read: impl FnOnce(&Connection, &[K]) -> Result<Vec<V>> + Send,
    ) -> Result<Vec<V>>
    where
        K: Clone + Eq + Hash + Send + Sync + 'static,
        V: Clone + Send + Sync + 'static,
    {
        let Some(now) = recording_since() else {
            return self.read(|connection| read(connection, keys)).await;
        };
        let is_current = |since: Mark, key: &K| {
            now.certain && since.foreign == now.foreign && self.changes.has_not_changed(since, subject(key))
        };
        let mut missing = Vec::new();
        let mut cached = |key: &K| {
            let value = cache.0.get(key).filter(|(since, _)| is_current(*since, key));
            if value.is_none() {
                missing.push(key.clone());
            }
            value.map(|(_, value)| value)
        };
        let values: Vec<Option<V>> = keys.iter().map(&mut cached).collect();
        if missing.is_empty() {
            return Ok(values.into_iter().flatten().collect());
        }
        let read = self.read(|connection| read(connection, &missing)).await?;
        for (key, value) in missing.into_iter().zip(&read) {
            cache.0.insert(key, (now, value.clone()));
        }
        let mut read = read.into_iter();
        Ok(values.into_iter().filter_map(|value| value.or_else(|| read.next())).collect())
    }

    /// The value of one key, likewise.
    pub(super) async fn read_one_cached<K, V>(
        &self,
        cache: &ValueCache<K, V>,
        key: &K,
        subject: Subject,
        read: impl FnOnce(&Connection) -> Result<V> + Send,
    ) -> Result<V>
    where
        K: Clone + Eq + Hash + Send + Sync + 'static,
        V: Clone + Send + Sync + 'static + Default,
    {
        let keys = std::slice::from_ref(key);
        let read = |connection: &Connection, _: &[K]| read(connection).map(|value| vec![value]);
        let values = self.read_cached(cache, keys, |_| subject, read).await?;
        Ok(values.into_iter().next().unwrap_or_default())
    }
}
