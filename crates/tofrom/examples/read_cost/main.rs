//! Measures the cost of a page in rows of the store, for collections of any size, and the disk space of an entry.
//!
//! ```sh
//! cargo run --release -p tofrom --example read_cost            # 10^2, 10^4 and 10^6 entries: some minutes
//! cargo run --release -p tofrom --example read_cost -- 100 10000
//! ```
//!
//! Prints the tables of `docs/performance.md` and ends with exit code 1 if a bound is broken.

mod bytes;
mod cases;
mod fill;

use anyhow::{Context, bail};
use cases::{Case, Measured};
use fill::Filled;
use std::io::{Write, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const SIZES: [usize; 3] = [100, 10_000, 1_000_000];
const FACETS: [usize; 2] = [10, 1_000];

/// A temporary folder that is removed with the measurement.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let sizes = sizes()?;
    let scratch = Scratch(std::env::temp_dir().join(format!("tofrom-read-cost-{}", std::process::id())));
    std::fs::create_dir_all(&scratch.0)?;
    let mut grown = Vec::new();
    let mut kept = true;
    heading()?;
    for size in sizes {
        for facets in FACETS {
            let file = scratch.0.join(format!("{size}-{facets}.db"));
            writeln!(stderr(), "{size} entries with {facets} facets ...")?;
            let filled = fill::fill(&file, size, facets).await?;
            kept &= measure(&filled).await?;
            grown.push((size, facets, sizes_on_disk(filled, &file)?));
        }
    }
    kept &= bytes::print(&mut stdout().lock(), &grown)?;
    if !kept {
        writeln!(stderr(), "a bound was exceeded")?;
    }
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn sizes() -> anyhow::Result<Vec<usize>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    if given.is_empty() {
        return Ok(SIZES.to_vec());
    }
    let sizes: Vec<usize> = given
        .iter()
        .map(|text| text.parse())
        .collect::<Result<_, _>>()
        .context("expected numbers of entries")?;
    if sizes.iter().any(|size| *size < fill::BATCH || size % fill::BATCH > 0) {
        bail!("a size must be a multiple of {}", fill::BATCH);
    }
    Ok(sizes)
}

fn heading() -> std::io::Result<()> {
    let mut out = stdout().lock();
    writeln!(
        out,
        "| entries | facets | page of 20 | order | items | rows stepped | directory rows | bound | kept | µs | again |"
    )?;
    writeln!(out, "|--:|--:|---|---|--:|--:|--:|--:|---|--:|--:|")
}

/// Reads every kind of page in both orders. Returns whether all bounds were kept.
async fn measure(filled: &Filled) -> anyhow::Result<bool> {
    let mut kept = true;
    for case in Case::ALL {
        for order in [model::Order::Received, model::Order::Published] {
            let Some(measured) = cases::measure(filled, case, order).await? else { continue };
            let Measured { page, items, rows, runs, first_micros, micros } = measured;
            let bound = cases::bound(items, filled.facets_present);
            let fits = rows + runs <= bound;
            kept &= fits;
            writeln!(
                stdout().lock(),
                "| {} | {} | {}{} | {} | {items} | {rows} | {runs} | {bound} | {} | {first_micros} | {micros} |",
                filled.entries,
                filled.facets_present,
                case.name(),
                page.map_or(String::new(), |page| format!(" ({page})")),
                if order == model::Order::Received { "received" } else { "published" },
                if fits { "yes" } else { "**no**" },
            )?;
        }
    }
    Ok(kept)
}

/// Closes the store, so that its write-ahead log is in the file, and measures the file.
fn sizes_on_disk(filled: Filled, file: &Path) -> anyhow::Result<bytes::Bytes> {
    drop(filled);
    bytes::Bytes::of(file)
}
