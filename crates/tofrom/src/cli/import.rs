//! `tofrom import`: takes in what an account did, a JSON object a line, or an Atom feed.
//!
//! Lines are read on a thread of their own and taken in by batches: as many as are there, up to 200, so that a file
//! goes fast and a pipe is not kept waiting. What `--json` prints for a line is printed once it is on disk; whatever
//! happens to the process then, the line counts, and to import it again changes nothing.

mod lines;
mod report;

use super::output::note;
use super::{Global, account};
use crate::clock::Clock;
use crate::fanout::{Rules, deliver_pending};
use crate::ingest::{Draft, Ingest, MAX_FEED, RawActivity, Unreadable, json, normalise, read_feed};
use crate::site::Site;
use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use lines::{Line, Lines};
use model::{Account, AccountName};
use report::{Problem, Report};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::Store;

/// Lines that are taken in at once.
const BATCH: usize = 200;

/// Takes in what an account did, from JSON objects, one a line, or from an Atom feed
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tofrom import alice activities.ndjson --data ./data
  tofrom export bob --data ./data | tofrom import robert - --data ./other

A line:
  {\"SourceId\":\"42\",\"SourceService\":{\"Name\":\"Delicious\"},\"Category\":\"BookmarkShared\",
   \"Title\":\"Alice shared a bookmark\",\"Bookmark\":{\"Title\":\"Atom\",\"Url\":\"https://example.org/atom\"}}
and PublishedDate, To, Visibility (public, followers, direct), CommentCount, LikeCount as needed. SourceId is the
service's own id of it: the same id again changes that activity, the same content again changes nothing. With --json
a line is printed for each, once it is on disk. Lines that are refused do not hold the others back.

An input that begins with < is taken for an Atom feed of up to 1,000 entries and 8 MiB, as the batch takes it.")]
pub(super) struct Args {
    /// The account that did it
    #[arg(value_parser = AccountName::parse)]
    account: AccountName,
    /// The file; - is standard input
    file: PathBuf,
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let store = global.open_store().await?;
    let account = account::find(store.as_ref(), &args.account).await?;
    let base = global.settings()?.base_url;
    let import = Import {
        store,
        clock: Clock::system(),
        // Only addresses are made from it, never an Atom id, so the host in those does not matter.
        site: base.map(|base| Site::new(base, String::new())),
        account,
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
    done.with_context(|| format!("stopped after {counts}; to import the file again is safe"))?;
    if counts.refused > 0 {
        bail!("some lines were not taken in: {counts}");
    }
    note(counts);
    Ok(())
}

/// What there is to import.
enum Input {
    Lines(Lines),
    Feed(Vec<u8>),
}

impl Input {
    /// An Atom feed begins with a `<`, a JSON object never does.
    fn of(input: impl Read + Send + 'static) -> io::Result<Input> {
        let mut input = BufReader::new(input);
        let begins = input.fill_buf()?.trim_ascii_start();
        if !begins.strip_prefix(BYTE_ORDER_MARK).unwrap_or(begins).starts_with(b"<") {
            return Ok(Input::Lines(Lines::of(input)));
        }
        let mut bytes = Vec::new();
        // One more than may be, so that too much is found out.
        input.take(MAX_FEED as u64 + 1).read_to_end(&mut bytes)?;
        Ok(Input::Feed(bytes))
    }
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The input, and a bar for a file or a counter for a pipe; both draw nothing where standard error is no terminal.
fn open(file: &Path) -> anyhow::Result<(Input, ProgressBar)> {
    let (input, bar, template) = if file == Path::new("-") {
        (Input::of(io::stdin())?, ProgressBar::new_spinner(), "{spinner} {bytes} read, {elapsed}")
    } else {
        let opened = File::open(file).with_context(|| format!("{} can't be read", file.display()))?;
        let length = opened.metadata()?.len();
        (Input::of(opened)?, ProgressBar::new(length), "{bar:40} {bytes} of {total_bytes}, {eta} left")
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    Ok((input, bar))
}

/// Where an import's activities go.
struct Import {
    store: Arc<dyn Store>,
    clock: Clock,
    /// With an address of the service, activities are told by theirs.
    site: Option<Site>,
    account: Account,
}

impl Import {
    /// Takes in all lines. What is wrong with a line is told in the report; an error is what keeps the rest from
    /// going on.
    async fn run(&self, mut lines: Lines, report: &mut Report<'_>) -> anyhow::Result<()> {
        let ingest = Ingest::new(Arc::clone(&self.store), self.clock.clone());
        loop {
            let batch = lines.next_batch(BATCH).await?;
            let Some(last) = batch.last() else { return Ok(()) };
            let read = last.end;
            let judged = batch.into_iter().map(|line| (line.number, self.judge_line(line))).collect();
            self.take_in(&ingest, judged, report).await?;
            report.flush(read)?;
            // They are on disk and told of; that they reach everybody can wait for the service, if it must.
            deliver_pending(self.store.as_ref(), &self.clock, &Rules::default()).await?;
        }
    }

    /// Takes in the entries of an Atom feed.
    async fn run_feed(&self, bytes: &[u8], report: &mut Report<'_>) -> anyhow::Result<()> {
        let ingest = Ingest::new(Arc::clone(&self.store), self.clock.clone());
        let entries = read_feed(bytes)?;
        let judged = (1..).zip(entries).map(|(number, entry)| (number, self.judge(entry))).collect();
        self.take_in(&ingest, judged, report).await?;
        report.flush(bytes.len() as u64)?;
        deliver_pending(self.store.as_ref(), &self.clock, &Rules::default()).await?;
        Ok(())
    }

    async fn take_in(
        &self,
        ingest: &Ingest,
        judged: Vec<(u64, Result<Draft, Problem>)>,
        report: &mut Report<'_>,
    ) -> anyhow::Result<()> {
        let drafts = judged.iter().filter_map(|(_, one)| one.as_ref().ok().cloned()).collect();
        let mut outcomes = ingest.accept(&self.account, drafts).await?.into_iter();
        for (number, one) in judged {
            match one {
                Err(problem) => report.problem(number, &problem)?,
                Ok(_) => {
                    let outcome = outcomes.next().context("an activity got no answer")?;
                    report.outcome(number, outcome, self.site.as_ref())?;
                }
            }
        }
        Ok(())
    }

    fn judge_line(&self, line: Line) -> Result<Draft, Problem> {
        self.judge(json::read(&line.text?))
    }

    fn judge(&self, said: Result<RawActivity, Unreadable>) -> Result<Draft, Problem> {
        Ok(normalise(&said?, self.clock.now())?)
    }
}

#[cfg(test)]
mod tests;
