//! Proves that an erased account left no text in the files: collects its texts before the erasure, and searches for them
//! afterwards.

use super::SqliteStore;
use super::backup::beside;
use super::credentials::all;
use crate::codec::Encoded;
use crate::{Result, StoreError};
use aho_corasick::AhoCorasick;
use model::{Account, Body};
use rusqlite::{Connection, params};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Shorter texts are found by chance.
const MIN_TEXT: usize = 12;
/// Of a longer text, parts of this length are searched for, one in each step: a long value is not in one piece in the
/// file.
const SAMPLE: usize = 64;
const SAMPLE_STEP: usize = 512;
/// Attempts to truncate the write-ahead log, a second apart.
const TRUNCATE_ATTEMPTS: u32 = 20;
/// Texts searched for at once.
const PATTERNS: usize = 50_000;
/// Texts that are looked up in the tables, if the files contain them.
const MAX_LOOKED_UP: usize = 1_000;

/// The texts of an account.
#[derive(Clone, Debug, Default)]
pub struct Texts(BTreeSet<Vec<u8>>);

impl Texts {
    /// The number of texts.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add(&mut self, text: &[u8]) {
        if text.len() <= SAMPLE {
            self.0.extend((text.len() >= MIN_TEXT).then(|| text.to_vec()));
            return;
        }
        let starts = (0..=text.len() - SAMPLE).step_by(SAMPLE_STEP);
        self.0.extend(starts.filter_map(|at| text.get(at..at + SAMPLE)).map(<[u8]>::to_vec));
    }

    fn add_strings(&mut self, value: &serde_json::Value) {
        match value {
            serde_json::Value::String(text) => self.add(text.as_bytes()),
            serde_json::Value::Array(values) => values.iter().for_each(|value| self.add_strings(value)),
            serde_json::Value::Object(values) => values.values().for_each(|value| self.add_strings(value)),
            _ => {}
        }
    }
}

/// A text that is still in a file, although no row has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The file.
    pub file: PathBuf,
    /// The place of the text in the file.
    pub offset: usize,
}

const BODIES: &str = "SELECT content FROM entry INDEXED BY entry_own
     JOIN activity USING (aid) JOIN body ON body.id = activity.body
     WHERE uid = ?1 AND run % 4 = 0 AND body.received_ms IS NOT NULL";

/// Texts and other values that belong to an account.
const VALUES: &[&str] = &[
    "SELECT CAST(source_id AS BLOB) FROM claim WHERE actor = ?1",
    "SELECT CAST(name AS BLOB) FROM key WHERE owner = ?1",
    "SELECT CAST(device AS BLOB) FROM session WHERE owner = ?1",
    "SELECT CAST(name AS BLOB) FROM application WHERE owner = ?1",
    "SELECT CAST(callback AS BLOB) FROM application WHERE owner = ?1",
    "SELECT state FROM connection WHERE owner = ?1",
    "SELECT state FROM hook WHERE owner = ?1",
    "SELECT small FROM picture WHERE uid = ?1",
    "SELECT medium FROM picture WHERE uid = ?1",
    "SELECT large FROM picture WHERE uid = ?1",
];

fn collect(connection: &Connection, account: &Account) -> Result<Texts> {
    let mut texts = Texts::default();
    for name in [&account.given_name, &account.family_name, &account.password].into_iter().flatten() {
        texts.add(name.as_bytes());
    }
    for content in all(connection, BODIES, [account.uid.0], |row| Ok(row.get::<_, Vec<u8>>(0)?))? {
        let body = serde_json::to_value(Body::decoded(&content)?);
        texts.add_strings(&body.map_err(|error| StoreError::Corrupt(error.to_string()))?);
    }
    for statement in VALUES {
        let values = all(connection, statement, [account.uid.0], |row| Ok(row.get::<_, Vec<u8>>(0)?))?;
        values.iter().for_each(|value| texts.add(value));
    }
    Ok(texts)
}

/// The first place of each text in a file.
fn search(path: &Path, texts: &[&Vec<u8>]) -> Result<Vec<(usize, usize)>> {
    let failed = |error: std::io::Error| StoreError::Unavailable(format!("{}: {error}", path.display()));
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (group, patterns) in texts.chunks(PATTERNS).enumerate() {
        let file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened.map_err(failed)?,
        };
        let automaton = AhoCorasick::new(patterns)
            .map_err(|error| StoreError::Unavailable(format!("cannot search for texts: {error}")))?;
        let mut seen = BTreeSet::new();
        for hit in automaton.stream_find_iter(file) {
            let hit = hit.map_err(failed)?;
            if seen.insert(hit.pattern().as_usize()) {
                found.push((group * PATTERNS + hit.pattern().as_usize(), hit.start()));
            }
        }
    }
    Ok(found)
}

/// Whether a row of any table has the text.
fn is_live(connection: &Connection, text: &[u8]) -> Result<bool> {
    let columns = "SELECT tables.name, columns.name FROM sqlite_schema AS tables
         JOIN pragma_table_info(tables.name) AS columns
         WHERE tables.type = 'table' AND columns.type IN ('TEXT', 'BLOB')";
    let names = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
    for (table, column) in all(connection, columns, [], names)? {
        let any = format!("SELECT 1 FROM \"{table}\" WHERE instr(CAST(\"{column}\" AS BLOB), ?1) LIMIT 1");
        if connection.prepare(&any)?.exists(params![text])? {
            return Ok(true);
        }
    }
    Ok(false)
}

impl SqliteStore {
    /// The texts of an account that is not erased yet.
    pub async fn texts_of(&self, account: &Account) -> Result<Texts> {
        let account = account.clone();
        self.read_long(move |connection| collect(connection, &account)).await
    }

    /// The texts of an erased account that the files still contain, although no row has them.
    pub async fn traces(&self, texts: &Texts) -> Result<Vec<Trace>> {
        // The file has old texts until the write-ahead log is in it.
        self.truncate_due.store(true, Ordering::Relaxed);
        self.truncate_log(TRUNCATE_ATTEMPTS).await?;
        let (texts, path) = (texts.clone(), self.path.clone());
        self.read_long(move |connection| {
            let texts: Vec<&Vec<u8>> = texts.0.iter().collect();
            let mut traces = Vec::new();
            for file in [path.clone(), beside(&path, "-wal"), beside(&path, "-journal")] {
                for (number, offset) in search(&file, &texts)?.into_iter().take(MAX_LOOKED_UP) {
                    let live = texts.get(number).map(|text| is_live(connection, text)).transpose()?;
                    if live == Some(false) {
                        traces.push(Trace { file: file.clone(), offset });
                    }
                }
            }
            Ok(traces)
        })
        .await
    }

    /// Rewrites the whole file, so that nothing but its rows is left. No other process may use it.
    pub async fn rewrite(&self) -> Result<()> {
        let connection = super::connect::exclusive(&self.path)?;
        tokio::task::spawn_blocking(move || {
            connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")?;
            Ok(())
        })
        .await
        .map_err(|error| StoreError::Unavailable(error.to_string()))?
    }
}
