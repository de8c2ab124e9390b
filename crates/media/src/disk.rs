//! The cache on disk: one file per picture and width, named by a hash of both.
//!
//! An index in memory has the size and the order of use of all files. Opening the cache rebuilds it from the folder: a
//! file's modification time is the time of its last use, give or take [`TOUCH_INTERVAL`]. A file is complete when it
//! gets its name. It begins with a header that reveals damage.

use aws_lc_rs::digest::{SHA256, digest};
use std::collections::{BTreeMap, HashMap};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// How long a picture is served without being fetched again.
pub(crate) const TTL: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The modification time of a file is updated at most this often.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// Files take whole blocks of the disk.
const BLOCK: u64 = 4_096;
/// The first bytes of a file. The digit changes with the format.
const MAGIC: &[u8; 4] = b"TFM1";
/// Marker, time of the fetch in seconds, and the start of the content's SHA-256.
const HEADER: usize = 4 + 8 + 16;
/// The ending of a file that is being written.
const UNFINISHED: &str = ".new";

/// The name of a stored picture.
pub(crate) type Key = [u8; 32];

/// A cache of files in a folder, limited in size. The least recently used files are removed. All methods block.
pub struct DiskCache {
    folder: PathBuf,
    max_bytes: u64,
    index: Mutex<Index>,
    /// Makes the names of unfinished files unique.
    unfinished: AtomicU64,
}

#[derive(Default)]
struct Index {
    files: HashMap<Key, Entry>,
    /// All keys in the order of use.
    order: BTreeMap<u64, Key>,
    /// The number of the next use.
    next: u64,
    bytes: u64,
}

struct Entry {
    bytes: u64,
    used: u64,
    /// The modification time of the file.
    touched: SystemTime,
}

impl DiskCache {
    /// Opens the folder, and creates it if it does not exist. Removes unfinished files and what exceeds the limit.
    pub fn open(folder: &Path, max_bytes: u64) -> io::Result<DiskCache> {
        create(folder)?;
        let mut found = Vec::new();
        for shard in std::fs::read_dir(folder)? {
            let shard = shard?.path();
            if !shard.is_dir() {
                continue;
            }
            for file in std::fs::read_dir(shard)? {
                let file = file?;
                let Some(key) = key_of(&file.path()) else {
                    if file.path().to_string_lossy().ends_with(UNFINISHED) {
                        std::fs::remove_file(file.path())?;
                    }
                    continue;
                };
                let metadata = file.metadata()?;
                found.push((metadata.modified()?, key, metadata.len()));
            }
        }
        found.sort_unstable();
        let mut index = Index::default();
        for (touched, key, length) in found {
            index.insert(key, length, touched);
        }
        let cache = DiskCache {
            folder: folder.to_owned(),
            max_bytes,
            index: Mutex::new(index),
            unfinished: AtomicU64::new(0),
        };
        cache.evict();
        Ok(cache)
    }

    /// The size of all files, in whole blocks.
    pub fn bytes(&self) -> u64 {
        self.index().bytes
    }

    /// A stored picture that was fetched less than [`TTL`] ago.
    pub(crate) fn get(&self, key: &Key, now: SystemTime) -> Option<Vec<u8>> {
        let touch = self.index().use_one(key, now)?;
        let path = self.path(key);
        let content = std::fs::read(&path).ok().and_then(|file| content_of(file, now));
        if content.is_none() {
            // Expired, damaged, or removed by another process.
            self.remove(key);
        } else if touch {
            // Without it, only the order after a restart is less exact.
            let _ = File::options().write(true).open(&path).and_then(|file| file.set_modified(now));
        }
        content
    }

    /// Stores a picture, and removes the least recently used ones if there are too many.
    pub(crate) fn put(&self, key: &Key, content: &[u8], now: SystemTime) -> io::Result<()> {
        let path = self.path(key);
        create(path.parent().unwrap_or(&self.folder))?;
        let number = self.unfinished.fetch_add(1, Ordering::Relaxed);
        let unfinished = path.with_extension(format!("{number}{UNFINISHED}"));
        let written = write(&unfinished, &path, content, now);
        if written.is_err() {
            let _ = std::fs::remove_file(&unfinished);
        }
        written?;
        let length = (HEADER + content.len()) as u64;
        self.index().insert(*key, length, now);
        self.evict();
        Ok(())
    }

    /// Removes all pictures.
    pub fn clear(&self) {
        let index = std::mem::take(&mut *self.index());
        for key in index.files.keys() {
            let _ = std::fs::remove_file(self.path(key));
        }
    }

    fn evict(&self) {
        loop {
            let mut index = self.index();
            let oldest = index.order.first_key_value().map(|(_, key)| *key);
            let Some(oldest) = oldest.filter(|_| index.bytes > self.max_bytes) else { return };
            index.remove(&oldest);
            drop(index);
            let _ = std::fs::remove_file(self.path(&oldest));
        }
    }

    fn remove(&self, key: &Key) {
        self.index().remove(key);
        let _ = std::fs::remove_file(self.path(key));
    }

    fn path(&self, key: &Key) -> PathBuf {
        let name = hex::encode(key);
        let shard = name.get(..2).unwrap_or_default();
        self.folder.join(shard).join(name)
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index {
    fn insert(&mut self, key: Key, length: u64, touched: SystemTime) {
        self.remove(&key);
        let bytes = length.div_ceil(BLOCK) * BLOCK;
        self.bytes += bytes;
        self.order.insert(self.next, key);
        self.files.insert(key, Entry { bytes, used: self.next, touched });
        self.next += 1;
    }

    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.files.remove(key) {
            self.order.remove(&entry.used);
            self.bytes -= entry.bytes;
        }
    }

    /// Moves a file to the end of the order. Returns whether its modification time is due, or `None` if there is no
    /// such file.
    fn use_one(&mut self, key: &Key, now: SystemTime) -> Option<bool> {
        let entry = self.files.get_mut(key)?;
        self.order.remove(&entry.used);
        self.order.insert(self.next, *key);
        entry.used = self.next;
        self.next += 1;
        let is_due = now.duration_since(entry.touched).is_ok_and(|since| since >= TOUCH_INTERVAL);
        if is_due {
            entry.touched = now;
        }
        Some(is_due)
    }
}

/// Creates a folder that only the owner may use.
fn create(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn key_of(path: &Path) -> Option<Key> {
    let mut key = [0; 32];
    hex::decode_to_slice(path.file_name()?.to_str()?, &mut key).ok()?;
    Some(key)
}

fn write(unfinished: &Path, path: &Path, content: &[u8], now: SystemTime) -> io::Result<()> {
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(unfinished)?;
    file.write_all(&[MAGIC, &seconds(now).to_be_bytes()[..], &checksum(content)].concat())?;
    file.write_all(content)?;
    // Not synced: a file that a crash damaged does not match its checksum.
    std::fs::rename(unfinished, path)
}

/// The content of a file. `None` if it is damaged or expired.
fn content_of(mut file: Vec<u8>, now: SystemTime) -> Option<Vec<u8>> {
    let (magic, rest) = file.split_first_chunk::<4>()?;
    let (fetched, rest) = rest.split_first_chunk::<8>()?;
    let (sum, content) = rest.split_first_chunk::<16>()?;
    let age = seconds(now).saturating_sub(u64::from_be_bytes(*fetched));
    if magic != MAGIC || *sum != checksum(content) || age >= TTL.as_secs() {
        return None;
    }
    file.drain(..HEADER);
    Some(file)
}

fn checksum(content: &[u8]) -> [u8; 16] {
    digest(&SHA256, content).as_ref().first_chunk().copied().unwrap_or_default()
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("tofrom-media-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            Folder(path)
        }

        fn files(&self) -> Vec<PathBuf> {
            let shards = std::fs::read_dir(&self.0).unwrap().map(|shard| shard.unwrap().path());
            shards
                .flat_map(|shard| std::fs::read_dir(shard).unwrap())
                .map(|file| file.unwrap().path())
                .collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn key(number: u8) -> Key {
        [number; 32]
    }

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    fn after(seconds: u64) -> SystemTime {
        NOW + Duration::from_secs(seconds)
    }

    #[test]
    fn the_least_recently_used_pictures_are_removed() {
        let folder = Folder::new("bound");
        let cache = DiskCache::open(&folder.0, 4 * BLOCK).unwrap();
        for number in 0..4 {
            cache.put(&key(number), &[number; 100], NOW).unwrap();
        }
        assert_eq!(cache.get(&key(0), NOW).unwrap(), [0; 100], "now used");
        cache.put(&key(4), &vec![4; 6_000], NOW).unwrap();
        let kept: Vec<u8> = (0..5).filter(|number| cache.get(&key(*number), NOW).is_some()).collect();
        assert_eq!(kept, [0, 3, 4], "two blocks were needed");
        assert_eq!((cache.bytes(), folder.files().len()), (4 * BLOCK, 3));
        cache.put(&key(5), &vec![5; 10 * 4_096], NOW).unwrap();
        assert_eq!((cache.bytes(), folder.files().len()), (0, 0), "larger than the whole cache");
    }

    #[test]
    fn a_replaced_picture_counts_once() {
        let folder = Folder::new("replace");
        let cache = DiskCache::open(&folder.0, 1 << 20).unwrap();
        for length in [10, 9_000, 20] {
            cache.put(&key(1), &vec![7; length], NOW).unwrap();
        }
        assert_eq!((cache.bytes(), cache.get(&key(1), NOW).unwrap().len()), (BLOCK, 20));
    }

    #[test]
    fn an_opened_cache_has_the_files_and_the_order_of_the_last_one() {
        let folder = Folder::new("reopen");
        let cache = DiskCache::open(&folder.0, 1 << 20).unwrap();
        for number in 0..4 {
            cache.put(&key(number), &[number], after(0)).unwrap();
            let file = File::options().write(true).open(cache.path(&key(number))).unwrap();
            file.set_modified(after(u64::from(number))).unwrap();
        }
        assert!(cache.get(&key(0), after(2 * 60 * 60)).is_some(), "sets the modification time");
        let unfinished = cache.path(&key(9)).with_extension(format!("1{UNFINISHED}"));
        create(unfinished.parent().unwrap()).unwrap();
        std::fs::write(&unfinished, "x").unwrap();
        drop(cache);
        let cache = DiskCache::open(&folder.0, 2 * BLOCK).unwrap();
        let kept: Vec<u8> = (0..4).filter(|number| cache.get(&key(*number), NOW).is_some()).collect();
        assert_eq!(kept, [0, 3]);
        assert!(!unfinished.exists());
    }

    #[test]
    fn files_are_private_and_damaged_or_old_ones_are_not_served() {
        let folder = Folder::new("damage");
        let cache = DiskCache::open(&folder.0, 1 << 20).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        for (number, damage) in (0..).zip([
            |file: &mut Vec<u8>| file.truncate(HEADER - 1),
            |file: &mut Vec<u8>| file.truncate(HEADER + 3),
            |file: &mut Vec<u8>| file[HEADER] ^= 1,
            |file: &mut Vec<u8>| file[0] = 0,
            |file: &mut Vec<u8>| file.clear(),
        ]) {
            cache.put(&key(number), b"content", NOW).unwrap();
            let path = cache.path(&key(number));
            assert_eq!((mode(&path), mode(path.parent().unwrap()), mode(&folder.0)), (0o600, 0o700, 0o700));
            let mut file = std::fs::read(&path).unwrap();
            damage(&mut file);
            std::fs::write(&path, file).unwrap();
            assert_eq!(cache.get(&key(number), NOW), None);
            assert!(!path.exists());
        }
        cache.put(&key(7), b"content", NOW).unwrap();
        assert!(cache.get(&key(7), after(TTL.as_secs() - 1)).is_some());
        assert!(cache.get(&key(7), after(TTL.as_secs())).is_none());
        assert_eq!(cache.bytes(), 0);
    }
}
