//! `tofrom import`: imports an account's activities from JSON lines or an Atom feed.
//!
//! A separate thread reads the lines. They are accepted in batches of up to 200 available lines, so that files are fast
//! and pipes are not delayed. `--json` prints the result of a line once the activity is durable. Importing a line again
//! changes nothing.

mod lines;
mod report;

use super::output::note;
use super::{Global, account};
use anyhow::{Context, bail};
use domain::fanout::{Rules, deliver_pending};
use domain::ingest::{Draft, Ingest, RawActivity, Unreadable, json, normalise};
use indicatif::{ProgressBar, ProgressStyle};
use lines::{Line, Lines};
use model::{Account, AccountName, Clock, CursorKeys, Quotas};
use report::{Problem, Report};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use web::parse::{MAX_FEED, read_feed};
use web::site::Site;

/// Maximum lines of a batch.
const BATCH: usize = 200;

/// Import an account's activities from JSON lines or an Atom feed
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tofrom import alice activities.ndjson --data ./data
  tofrom export bob --data ./data | tofrom import robert - --data ./other

Format of a line:
  {\"SourceId\":\"42\",\"SourceService\":{\"Name\":\"Delicious\"},\"Category\":\"BookmarkShared\",
   \"Title\":\"Alice shared a bookmark\",\"Bookmark\":{\"Title\":\"Atom\",\"Url\":\"https://example.org/atom\"}}
Optional: PublishedDate, To, Visibility (public, followers, direct), CommentCount, LikeCount. SourceId is the id of the
activity at its service: the same id updates the activity, the same content changes nothing. With --json a result is
printed for each line once the activity is on disk. Rejected lines do not stop the import.

Input that starts with < is read as an Atom feed of up to 1,000 entries and 8 MiB, like the batch endpoint does.")]
pub(super) struct Args {
    /// Account name
    #[arg(value_parser = AccountName::parse)]
    account: AccountName,
    /// File to import; - for standard input
    file: PathBuf,
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let store = global.open_store().await?;
    let account = account::find(store.as_ref(), &args.account).await?;
    let settings = global.settings()?;
    let (quotas, retention) = (settings.quotas()?, settings.storage()?.retention);
    let base = settings.base_url;
    let import = Import {
        store,
        clock: Clock::system(),
        // Used for addresses of activities only, so tag host and cursor keys do not matter.
        site: base.map(|base| Site::new(base, String::new(), CursorKeys::default())),
        account,
        quotas,
        retention,
    };
    let (input, progress) = open(&args.file)?;
    let mut out = io::BufWriter::new(io::stdout());
    let json = global.json.then_some(&mut out as &mut (dyn Write + Send));
    let mut report = Report::new(json, progress.clone());
    let done = match input {
        Input::Lines(lines) => import.run(lines, &mut report).await,
        Input::Feed(bytes) => import.run_feed(&bytes, &mut report).await,
    };
    progress.finish_and_clear();
    let counts = report.counts;
    import.store.flush_usage().await?;
    done.with_context(|| format!("import stopped after {counts}; it is safe to import the file again"))?;
    if counts.refused > 0 {
        bail!("some lines were rejected: {counts}");
    }
    note(counts);
    Ok(())
}

/// The input to import.
enum Input {
    Lines(Lines),
    Feed(Vec<u8>),
}

impl Input {
    /// An Atom feed starts with `<`, a JSON object never does.
    fn of(input: impl Read + Send + 'static) -> io::Result<Input> {
        let mut input = BufReader::new(input);
        let begins = input.fill_buf()?.trim_ascii_start();
        if !begins.strip_prefix(BYTE_ORDER_MARK).unwrap_or(begins).starts_with(b"<") {
            return Ok(Input::Lines(Lines::of(input)));
        }
        let mut bytes = Vec::new();
        // One byte more than allowed, to detect input that is too large.
        input.take(MAX_FEED as u64 + 1).read_to_end(&mut bytes)?;
        Ok(Input::Feed(bytes))
    }
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The input, with a progress bar for a file or a spinner for a pipe. Neither draws if standard error is not a terminal.
fn open(file: &Path) -> anyhow::Result<(Input, ProgressBar)> {
    let (input, bar, template) = if file == Path::new("-") {
        (Input::of(io::stdin())?, ProgressBar::new_spinner(), "{spinner} {bytes} read, {elapsed}")
    } else {
        let opened = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
        let length = opened.metadata()?.len();
        (Input::of(opened)?, ProgressBar::new(length), "{bar:40} {bytes} of {total_bytes}, {eta} left")
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    Ok((input, bar))
}

/// The target of an import.
struct Import {
    store: Arc<dyn Store>,
    clock: Clock,
    /// If the server's address is known, results include activity addresses.
    site: Option<Site>,
    account: Account,
    quotas: Quotas,
    retention: Option<Duration>,
}

impl Import {
    fn ingest(&self) -> Ingest {
        let ingest = Ingest::new(Arc::clone(&self.store), self.clock.clone());
        ingest.with_quotas(self.quotas, self.retention)
    }

    /// Imports all lines. The report lists rejected lines; an error stops the import.
    async fn run(&self, mut lines: Lines, report: &mut Report<'_>) -> anyhow::Result<()> {
        let ingest = self.ingest();
        loop {
            let batch = lines.next_batch(BATCH).await?;
            let Some(last) = batch.last() else { return Ok(()) };
            let read = last.end;
            let drafts = batch.into_iter().map(|line| (line.number, self.parse_line(line))).collect();
            self.accept(&ingest, drafts, report).await?;
            report.flush(read)?;
            // The activities are durable and reported. If delivery fails here, the server delivers later.
            deliver_pending(self.store.as_ref(), &self.clock, &Rules::default()).await?;
        }
    }

    /// Imports the entries of an Atom feed.
    async fn run_feed(&self, bytes: &[u8], report: &mut Report<'_>) -> anyhow::Result<()> {
        let ingest = self.ingest();
        let entries = read_feed(bytes)?;
        let drafts = (1..).zip(entries).map(|(number, entry)| (number, self.validate(entry))).collect();
        self.accept(&ingest, drafts, report).await?;
        report.flush(bytes.len() as u64)?;
        deliver_pending(self.store.as_ref(), &self.clock, &Rules::default()).await?;
        Ok(())
    }

    async fn accept(
        &self,
        ingest: &Ingest,
        numbered: Vec<(u64, Result<Draft, Problem>)>,
        report: &mut Report<'_>,
    ) -> anyhow::Result<()> {
        let drafts = numbered.iter().filter_map(|(_, draft)| draft.as_ref().ok().cloned()).collect();
        let mut outcomes = ingest.accept(&self.account, drafts).await?.into_iter();
        for (number, draft) in numbered {
            match draft {
                Err(problem) => report.problem(number, &problem)?,
                Ok(_) => {
                    let outcome = outcomes.next().context("an activity has no outcome")?;
                    report.outcome(number, outcome, self.site.as_ref())?;
                }
            }
        }
        Ok(())
    }

    fn parse_line(&self, line: Line) -> Result<Draft, Problem> {
        self.validate(json::read(&line.text?))
    }

    fn validate(&self, raw: Result<RawActivity, Unreadable>) -> Result<Draft, Problem> {
        Ok(normalise(&raw?, self.clock.now())?)
    }
}

#[cfg(test)]
mod tests;
