//! The report of an import: a JSON object per line, or messages for people, and a summary.

use domain::ingest::{Outcome, Refused, Unreadable};
use indicatif::ProgressBar;
use model::{ActivityId, QuotaReached};
use serde::Serialize;
use std::io::{self, Write};
use web::site::Site;

/// Why a line was rejected.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Quota(#[from] QuotaReached),
}

impl Problem {
    fn status(&self) -> u16 {
        match self {
            Problem::Unreadable(Unreadable::TooLarge | Unreadable::TooMany) => 413,
            Problem::Unreadable(Unreadable::Malformed(_)) => 400,
            Problem::Refused(_) => 422,
            Problem::Quota(_) => 403,
        }
    }

    fn title(&self) -> &'static str {
        match self {
            Problem::Unreadable(Unreadable::TooLarge | Unreadable::TooMany) => "The activity is too large",
            Problem::Unreadable(Unreadable::Malformed(_)) => "The line is not readable",
            Problem::Refused(_) => "The activity can't be taken in",
            Problem::Quota(_) => "Quota reached",
        }
    }
}

/// Counts of lines by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) created: u64,
    pub(crate) updated: u64,
    pub(crate) unchanged: u64,
    pub(crate) refused: u64,
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Counts { created, updated, unchanged, refused } = self;
        write!(f, "{created} created, {updated} updated, {unchanged} unchanged, {refused} rejected")
    }
}

#[derive(Serialize)]
struct StoredLine<'a> {
    status: u16,
    #[serde(rename = "ActivityIdentifier")]
    id: &'a str,
    #[serde(rename = "ActivityUrl", skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

#[derive(Serialize)]
struct ProblemLine<'a> {
    status: u16,
    line: u64,
    title: &'a str,
    detail: &'a str,
}

/// Reports the progress of an import.
pub(crate) struct Report<'a> {
    pub(crate) counts: Counts,
    /// The output for JSON lines, with `--json`.
    json: Option<&'a mut (dyn Write + Send)>,
    progress: ProgressBar,
}

impl<'a> Report<'a> {
    /// A report as JSON lines to `json`, or for people if that is `None`.
    pub(crate) fn new(json: Option<&'a mut (dyn Write + Send)>, progress: ProgressBar) -> Report<'a> {
        Report { counts: Counts::default(), json, progress }
    }

    pub(super) fn outcome(&mut self, line: u64, outcome: Outcome, site: Option<&Site>) -> io::Result<()> {
        match outcome {
            Outcome::Created(id) => {
                self.counts.created += 1;
                self.stored(201, id, site)
            }
            Outcome::Updated(id) => {
                self.counts.updated += 1;
                self.stored(200, id, site)
            }
            Outcome::Unchanged(id) => {
                self.counts.unchanged += 1;
                self.stored(200, id, site)
            }
            Outcome::Refused(refused) => self.problem(line, &refused.into()),
            Outcome::Quota(reached) => self.problem(line, &reached.into()),
        }
    }

    fn stored(&mut self, status: u16, id: ActivityId, site: Option<&Site>) -> io::Result<()> {
        match &mut self.json {
            Some(json) => {
                let url = site.map(|site| site.activity_url(id));
                write_line(*json, &StoredLine { status, id: &id.to_string(), url })
            }
            None => Ok(()),
        }
    }

    pub(super) fn problem(&mut self, line: u64, problem: &Problem) -> io::Result<()> {
        self.counts.refused += 1;
        // The parser sees each line alone, so its line number is always 1.
        let detail = problem.to_string().replace(" at line 1 column ", " at column ");
        match &mut self.json {
            Some(json) => {
                let (status, title) = (problem.status(), problem.title());
                write_line(*json, &ProblemLine { status, line, title, detail: &detail })
            }
            None => self.progress.suspend(|| writeln!(io::stderr(), "line {line}: {detail}")),
        }
    }

    /// Flushes the report and sets the progress to `read` bytes.
    pub(super) fn flush(&mut self, read: u64) -> io::Result<()> {
        self.progress.set_position(read);
        match &mut self.json {
            Some(json) => json.flush(),
            None => Ok(()),
        }
    }
}

fn write_line(to: &mut (dyn Write + Send), value: &impl Serialize) -> io::Result<()> {
    domain::json::write(&mut *to, value)?;
    to.write_all(b"\n")
}
