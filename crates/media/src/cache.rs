//! The cache of converted pictures: on disk, or in memory without a folder.

use crate::convert::Picture;
use crate::disk::{DiskCache, Key, TTL};
use crate::sealed::Width;
use aws_lc_rs::digest::{Context, SHA256};
use moka::sync::Cache as MemoryCache;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::task::spawn_blocking;
use url::Url;

/// The size of the cache in memory.
const MEMORY_BYTES: u64 = 32 << 20;

/// Converted pictures by address and width.
#[derive(Clone)]
pub(crate) enum Cache {
    Disk(Arc<DiskCache>),
    Memory(MemoryCache<Key, Picture>),
}

impl Cache {
    pub(crate) fn open(folder: Option<&Path>, max_bytes: u64) -> io::Result<Cache> {
        if let Some(folder) = folder {
            return Ok(Cache::Disk(Arc::new(DiskCache::open(folder, max_bytes)?)));
        }
        let weigh = |_: &Key, picture: &Picture| u32::try_from(picture.bytes.len() + 128).unwrap_or(u32::MAX);
        let memory = MemoryCache::builder().max_capacity(MEMORY_BYTES.min(max_bytes)).weigher(weigh);
        Ok(Cache::Memory(memory.time_to_live(TTL).build()))
    }

    pub(crate) async fn clear(&self) {
        match self {
            Cache::Memory(cache) => cache.invalidate_all(),
            Cache::Disk(cache) => {
                let cache = Arc::clone(cache);
                let _ = spawn_blocking(move || cache.clear()).await;
            }
        }
    }

    pub(crate) async fn get(&self, url: &Url, width: Width) -> Option<Picture> {
        let key = key(url, Some(width));
        match self {
            Cache::Memory(cache) => cache.get(&key),
            Cache::Disk(cache) => {
                let cache = Arc::clone(cache);
                let read = spawn_blocking(move || cache.get(&key, SystemTime::now()));
                read.await.ok().flatten().and_then(Picture::from_file)
            }
        }
    }

    pub(crate) async fn put(&self, url: &Url, width: Width, picture: &Picture) {
        let key = key(url, Some(width));
        match self {
            Cache::Memory(cache) => cache.insert(key, picture.clone()),
            Cache::Disk(cache) => {
                let (cache, bytes) = (Arc::clone(cache), Arc::clone(&picture.bytes));
                let written = spawn_blocking(move || cache.put(&key, &bytes, SystemTime::now())).await;
                if let Ok(Err(error)) = written {
                    tracing::warn!(%error, "writing to the media cache failed");
                }
            }
        }
    }

    /// The size of all pictures.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Cache::Memory(cache) => cache.weighted_size(),
            Cache::Disk(cache) => cache.bytes(),
        }
    }
}

/// The name of an address, or of an address in one width.
pub(crate) fn key(url: &Url, width: Option<Width>) -> Key {
    let mut context = Context::new(&SHA256);
    context.update(&width.map_or(0, Width::pixels).to_be_bytes());
    context.update(url.as_str().as_bytes());
    let mut key = [0; 32];
    key.iter_mut().zip(context.finish().as_ref()).for_each(|(to, from)| *to = *from);
    key
}
