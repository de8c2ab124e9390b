//! Disk space of entries, as the file grows.

use rusqlite::Connection;
use std::io::Write;
use std::path::Path;

/// The aims: bytes per entry without and with the index for `updates`.
const AIM_WITHOUT: f64 = 130.0;
const AIM_WITH: f64 = 175.0;

/// In small files the last, half-empty pages dominate; they are printed, but not checked.
const WORTH_MEASURING: usize = 10_000;

/// Bytes per row of the table of entries.
pub(crate) struct Bytes {
    rows: f64,
    entries: f64,
    published: f64,
    arrival: f64,
    /// Everything else except bodies: states, claims, the directory of runs.
    rest: f64,
}

impl Bytes {
    pub(crate) fn of(file: &Path) -> anyhow::Result<Bytes> {
        let file = Connection::open(file)?;
        let rows: f64 = file.query_row("SELECT count(*) FROM entry", [], |row| row.get(0))?;
        let size = |wanted: &str| -> anyhow::Result<f64> {
            let sum = format!("SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE {wanted}");
            Ok(file.query_row(&sum, [], |row| row.get::<_, f64>(0))? / rows)
        };
        Ok(Bytes {
            rows,
            entries: size("name = 'entry'")?,
            published: size("name = 'entry_published'")?,
            arrival: size("name = 'entry_arrival'")?,
            rest: size("name NOT LIKE 'entry%' AND name <> 'body'")?,
        })
    }

    fn without(&self) -> f64 {
        self.entries + self.published
    }

    fn with(&self) -> f64 {
        self.without() + self.arrival
    }
}

/// Prints the table. Returns whether the aims are reached.
pub(crate) fn print(out: &mut impl Write, grown: &[(usize, usize, Bytes)]) -> std::io::Result<bool> {
    writeln!(out)?;
    writeln!(
        out,
        "| collection | facets | rows | row and order of receipt | order of publication | without `updates` \
         | index for `updates` | with `updates` | kept | states, claims, directory |"
    )?;
    writeln!(out, "|--:|--:|--:|--:|--:|--:|--:|--:|---|--:|")?;
    let mut kept = true;
    for (entries, facets, bytes) in grown {
        let (without, with) = (bytes.without(), bytes.with());
        let counts = *entries >= WORTH_MEASURING;
        let fits = without <= AIM_WITHOUT && with <= AIM_WITH;
        kept &= fits || !counts;
        writeln!(
            out,
            "| {entries} | {facets} | {} | {:.1} | {:.1} | {without:.1} | {:.1} | {with:.1} | {} | {:.1} |",
            bytes.rows,
            bytes.entries,
            bytes.published,
            bytes.arrival,
            match (counts, fits) {
                (false, _) => "-",
                (true, true) => "yes",
                (true, false) => "**no**",
            },
            bytes.rest,
        )?;
    }
    Ok(kept)
}
