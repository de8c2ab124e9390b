//! The compaction of tables, by engine and retention.
//!
//! `schema/*.cql` names a strategy that every engine has. Cassandra 5 gets its unified strategy instead, with the same
//! shape: levels (`L10`) or tiers (`T4`). With a retention the tables of entries get time windows. An SSTable of an
//! old window then has only expired rows and is dropped as a whole. The timestamps of entries are versions, so the
//! windows count milliseconds.
//!
//! States stay when their bodies expire. So the table of activities keeps its strategy, which compacts an SSTable
//! again when enough of it has expired.

use super::db::{Db, corrupt};
use super::schema::{VERSIONS, is_scylla, statements};
use crate::Result;
use std::collections::HashMap;
use std::time::Duration;

/// Tables whose rows all expire after the retention.
const ENTRIES: [&str; 6] = [
    "feed.own_received",
    "feed.own_published",
    "feed.followed_received",
    "feed.followed_published",
    "feed.run_received",
    "feed.run_published",
];
/// The table with bodies, which expire, and states, which do not.
const ACTIVITIES: &str = "feed.activity";

/// The number of windows in a retention.
const WINDOWS: u64 = 30;
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Expired rows stay on disk for this long at most, in seconds, so that a node that was down does not bring an
/// overwritten row back. If one does, it is older than the retention, and readers hide it. So the time is as short as
/// hints allow: a node keeps writes for a dead one for three hours, and drops those older than this.
const MAX_GC_GRACE: u64 = 3 * HOUR;

const LEVELED: &str = "{'class': 'LeveledCompactionStrategy'}";
const SIZE_TIERED: &str = "{'class': 'SizeTieredCompactionStrategy'}";

/// The first version of Cassandra with the unified strategy.
const UNIFIED_SINCE: u32 = 5;

/// The compaction for an engine and a retention.
pub(super) struct Compaction {
    unified: bool,
    retention: Option<Duration>,
}

/// Options of a table: those of the strategy, and the grace period if it is not the engine's own.
#[derive(Debug, PartialEq, Eq)]
struct TableOptions {
    strategy: String,
    gc_grace: Option<u64>,
}

impl TableOptions {
    fn text(&self) -> String {
        let grace = self.gc_grace.map(|seconds| format!("\n  AND gc_grace_seconds = {seconds}"));
        format!("compaction = {}{}", self.strategy, grace.unwrap_or_default())
    }
}

impl Compaction {
    pub(super) async fn of(db: &Db, retention: Option<Duration>) -> Result<Compaction> {
        let unified = !is_scylla(db).await? && release(db).await? >= UNIFIED_SINCE;
        Ok(Compaction { unified, retention })
    }

    /// A statement that creates a table, with the compaction of this engine.
    pub(super) fn adapted(&self, statement: &str) -> String {
        match self.table(statement) {
            Some((_, written, options)) => statement.replace(&written, &options.text()),
            None => statement.to_owned(),
        }
    }

    /// Of a statement that creates a table with a strategy that depends on the engine or the retention: the name of
    /// the table, the option as written, and the options to use.
    fn table(&self, statement: &str) -> Option<(String, String, TableOptions)> {
        let name = statement.strip_prefix("CREATE TABLE IF NOT EXISTS ")?.split_whitespace().next()?;
        let (written, unified) = [(LEVELED, "L10"), (SIZE_TIERED, "T4")]
            .into_iter()
            .find(|(strategy, _)| statement.contains(strategy))?;
        let windows = self.retention.filter(|_| ENTRIES.contains(&name)).map(windows);
        let strategy = windows.unwrap_or_else(|| match self.unified {
            true => format!("{{'class': 'UnifiedCompactionStrategy', 'scaling_parameters': '{unified}'}}"),
            false => written.to_owned(),
        });
        let expires = ENTRIES.contains(&name) || name == ACTIVITIES;
        let gc_grace = self.retention.filter(|_| expires).map(gc_grace);
        let written = format!("compaction = {written}");
        Some((name.to_owned(), written, TableOptions { strategy, gc_grace }))
    }

    /// The statements that change existing tables to these options.
    pub(super) async fn changes(&self, db: &Db) -> Result<Vec<String>> {
        let existing = existing(db).await?;
        let tables = VERSIONS.iter().flat_map(|version| statements(version));
        let changes = tables.filter_map(|statement| {
            let (name, _, options) = self.table(&statement)?;
            let name = db.with_keyspaces(&name);
            let (current, gc_grace) = existing.get(&name)?;
            let same = is_set(&options.strategy, current)
                && options.gc_grace.is_none_or(|seconds| u64::try_from(*gc_grace) == Ok(seconds));
            (!same).then(|| format!("ALTER TABLE {name} WITH {}", options.text()))
        });
        Ok(changes.collect())
    }

    /// Changes existing tables.
    pub(super) async fn apply(&self, db: &Db, progress: &mut (dyn FnMut(&str) + Send)) -> Result<()> {
        let changes = self.changes(db).await?;
        if changes.is_empty() {
            return Ok(());
        }
        db.change_schema(changes.into_iter().inspect(|statement| progress(statement))).await?;
        db.await_schema_agreement().await
    }
}

/// Time windows of a thirtieth of the retention, at least a minute.
fn windows(retention: Duration) -> String {
    let seconds = retention.as_secs().div_ceil(WINDOWS);
    let (unit, length) = match seconds {
        0..HOUR => ("MINUTES", MINUTE),
        HOUR..DAY => ("HOURS", HOUR),
        _ => ("DAYS", DAY),
    };
    let size = seconds.div_ceil(length).max(1);
    format!(
        "{{'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': '{unit}', \
         'compaction_window_size': '{size}', 'timestamp_resolution': 'MILLISECONDS'}}"
    )
}

fn gc_grace(retention: Duration) -> u64 {
    retention.as_secs().clamp(MINUTE, MAX_GC_GRACE)
}

/// Whether a table has all options of a strategy. It may have more: an operator's own, or the engine's defaults.
fn is_set(strategy: &str, current: &HashMap<String, String>) -> bool {
    let options = strategy.trim_matches(['{', '}']).split(", ");
    options.filter_map(|option| option.split_once(": ")).all(|(name, value)| {
        let (name, value) = (name.trim_matches('\''), value.trim_matches('\''));
        // The engines write the name of a class with its package.
        current.get(name).is_some_and(|current| match name {
            "class" => current.rsplit('.').next() == Some(value),
            _ => current == value,
        })
    })
}

/// The compaction and the grace period of the existing tables, by their names.
async fn existing(db: &Db) -> Result<HashMap<String, (HashMap<String, String>, i32)>> {
    let mut existing = HashMap::new();
    for keyspace in ["feed.", "ident."].map(|keyspace| db.with_keyspaces(keyspace)) {
        let keyspace = keyspace.trim_end_matches('.');
        let text = format!(
            "SELECT table_name, compaction, gc_grace_seconds FROM system_schema.tables WHERE keyspace_name = '{keyspace}'"
        );
        let Some(rows) = db.query_unprepared(text).await? else { continue };
        let rows = rows.rows::<(String, Option<HashMap<String, String>>, Option<i32>)>();
        for row in rows.map_err(|error| corrupt(error.to_string()))? {
            let (table, compaction, gc_grace) = row.map_err(|error| corrupt(error.to_string()))?;
            let options = (compaction.unwrap_or_default(), gc_grace.unwrap_or_default());
            existing.insert(format!("{keyspace}.{table}"), options);
        }
    }
    Ok(existing)
}

/// The first part of the engine's version.
async fn release(db: &Db) -> Result<u32> {
    let rows = db.query_unprepared("SELECT release_version FROM system.local".to_owned()).await?;
    let rows = rows.ok_or_else(|| corrupt("the engine has no version"))?;
    let (version,) = rows.first_row::<(String,)>().map_err(|error| corrupt(error.to_string()))?;
    Ok(version.split('.').next().and_then(|first| first.parse().ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::{Compaction, LEVELED, VERSIONS, gc_grace, is_set, statements, windows};
    use std::collections::HashMap;
    use std::time::Duration;

    #[test]
    fn a_retention_has_about_thirty_windows() {
        let window = |seconds| windows(Duration::from_secs(seconds));
        for (seconds, expected) in [
            (60, "'MINUTES', 'compaction_window_size': '1'"),
            (3_600, "'MINUTES', 'compaction_window_size': '2'"),
            (2 * 86_400, "'HOURS', 'compaction_window_size': '2'"),
            (90 * 86_400, "'DAYS', 'compaction_window_size': '3'"),
        ] {
            assert!(window(seconds).contains(expected), "{}", window(seconds));
        }
        assert_eq!(gc_grace(Duration::from_secs(300)), 300);
        assert_eq!(gc_grace(Duration::from_hours(24)), 10_800);
    }

    #[test]
    fn only_tables_of_activities_depend_on_the_retention() {
        let create: Vec<String> = VERSIONS.iter().flat_map(|version| statements(version)).collect();
        let plain = Compaction { unified: false, retention: None };
        assert!(create.iter().all(|statement| plain.adapted(statement) == *statement));
        let expiring = Compaction { unified: false, retention: Some(Duration::from_hours(24)) };
        let changed = create.iter().filter(|statement| expiring.adapted(statement) != **statement);
        assert_eq!(changed.count(), 7);
        let unified = Compaction { unified: true, retention: None };
        assert!(create.iter().all(|statement| {
            let adapted = unified.adapted(statement);
            !adapted.contains("Leveled") && !adapted.contains("SizeTiered")
        }));
    }

    #[test]
    fn further_options_of_a_table_do_not_matter() {
        let package = "org.apache.cassandra.db.compaction.LeveledCompactionStrategy";
        let options = |class: &str| {
            let options = [("class", class), ("max_threshold", "32")];
            HashMap::from(options.map(|(name, value)| (name.to_owned(), value.to_owned())))
        };
        assert!(is_set(LEVELED, &options(package)) && is_set(LEVELED, &options("LeveledCompactionStrategy")));
        assert!(!is_set(LEVELED, &options("SizeTieredCompactionStrategy")));
        assert!(!is_set(&windows(Duration::from_hours(1)), &options(package)));
    }
}
