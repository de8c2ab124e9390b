//! `POST /200909/activity/{user}/from`: a batch of activities. Each is accepted or rejected separately.

use crate::body;
use crate::parse::{MAX_ENTRIES, MAX_FEED, read_activity, read_feed};
use crate::problem::Problem;
use crate::service::Writer;
use auth::Principal;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use domain::ingest::{Outcome, RawActivity, Submission, UnknownRecipients, Unreadable};
use domain::json;
use futures::{StreamExt, stream};
use http::header::CONTENT_TYPE;
use model::{Account, ActivityId, Format};
use std::collections::HashSet;
use std::convert::Infallible;
use std::iter::Peekable;
use std::sync::Arc;

/// The maximum number of activities in one store write.
const MAX_GROUP: usize = 200;

const NDJSON: &str = "application/x-ndjson";
/// The supported media types, for the problem document.
const ACCEPTS: &str = "application/x-ndjson, application/atom+xml";

/// An accepted activity.
pub(crate) struct SubmitOutcome {
    /// Its identifier.
    pub(super) id: ActivityId,
    /// Whether the activity was created.
    pub(super) new: bool,
}

/// The format of a batch.
#[derive(Clone, Copy)]
enum BatchFormat {
    /// One JSON object per line.
    Lines,
    /// An Atom feed.
    Feed,
}

impl BatchFormat {
    fn of_media_type(media_type: &str) -> Option<BatchFormat> {
        match media_type {
            NDJSON => Some(BatchFormat::Lines),
            "application/atom+xml" => Some(BatchFormat::Feed),
            _ => None,
        }
    }

    /// The format of each activity.
    fn format(self) -> Format {
        match self {
            BatchFormat::Lines => Format::Json,
            BatchFormat::Feed => Format::Atom,
        }
    }

    /// The activities, each parsed or with its error.
    fn read(self, body: &[u8]) -> Result<Vec<Result<RawActivity, Unreadable>>, Unreadable> {
        match self {
            BatchFormat::Lines => lines(body),
            BatchFormat::Feed => read_feed(body),
        }
    }
}

/// One activity per line. Blank lines are skipped.
fn lines(body: &[u8]) -> Result<Vec<Result<RawActivity, Unreadable>>, Unreadable> {
    let lines = || body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    if lines().count() > MAX_ENTRIES {
        return Err(Unreadable::TooMany);
    }
    Ok(lines().map(|line| read_activity(line, Format::Json)).collect())
}

impl Writer {
    /// Submits a batch. The response has one line for each activity and is streamed group by group, because on a slow
    /// cluster the whole batch may take longer than a response may take to begin.
    pub(crate) async fn submit_batch(
        self: Arc<Self>,
        caller: Arc<Principal>,
        actor: Arc<Account>,
        request: Request,
    ) -> Result<Response, Problem> {
        let (head, sent) = request.into_parts();
        let batch_format = body::format_of(&head.headers, ACCEPTS, BatchFormat::of_media_type)?;
        let body = body::read(sent, MAX_FEED).await?;
        // The number of batches in memory is limited. The permit is acquired after the body has arrived, because that
        // takes as long as the sender likes.
        let permit = Arc::clone(&self.batches).acquire_owned().await.map_err(|_| Problem::internal())?;
        // Parsing megabytes takes a while and must not block other requests.
        let items = tokio::task::spawn_blocking(move || batch_format.read(&body)).await;
        let items = items.map_err(|_| Problem::internal())??;
        body::release(&head.extensions);
        let format = batch_format.format();
        let submitted = items.into_iter().map(move |item| Ok(Submission { raw: item?, format }));
        let mut submitted = submitted.peekable();
        let first = self.submit_group(&caller, &actor, next_group(&mut submitted, &actor)).await;
        let body = if submitted.peek().is_none() {
            Body::from(first)
        } else {
            let rest = stream::unfold((submitted, permit), move |(mut submitted, permit)| {
                let (writer, caller, actor) = (Arc::clone(&self), Arc::clone(&caller), Arc::clone(&actor));
                async move {
                    let group = next_group(&mut submitted, &actor);
                    if group.is_empty() {
                        return None;
                    }
                    Some((writer.submit_group(&caller, &actor, group).await, (submitted, permit)))
                }
            });
            let lines =
                stream::iter([first]).chain(rest).map(|lines| Ok::<_, Infallible>(Bytes::from(lines)));
            Body::from_stream(lines)
        };
        Ok(([(CONTENT_TYPE, NDJSON)], body).into_response())
    }

    /// Submits activities of `actor` and returns their outcomes in order.
    pub(crate) async fn submit(
        &self,
        caller: &Principal,
        actor: &Account,
        submissions: Vec<Submission>,
    ) -> Result<impl Iterator<Item = Result<SubmitOutcome, Problem>>, Problem> {
        // Operators may know every account, so unknown recipients are an error for them. To all others a private account
        // must look like an unknown one, so they get no error.
        let unknown = if caller.is_operator() { UnknownRecipients::Refuse } else { UnknownRecipients::Skip };
        let outcomes = self.ingest.submit(actor, submissions, unknown).await?;
        self.hub.wrote();
        Ok(outcomes.into_iter().map(|outcome| match outcome {
            Outcome::Created(id) => Ok(SubmitOutcome { id, new: true }),
            Outcome::Updated(id) | Outcome::Unchanged(id) => Ok(SubmitOutcome { id, new: false }),
            Outcome::Refused(refused) => Err(refused.into()),
            Outcome::Quota(reached) => Err(reached.into()),
        }))
    }

    /// Submits a group and writes a result line for each of its items.
    async fn submit_group(
        &self,
        caller: &Principal,
        actor: &Account,
        group: Vec<Result<Submission, Problem>>,
    ) -> Vec<u8> {
        let mut submissions = Vec::with_capacity(group.len());
        let read: Vec<Result<(), Problem>> =
            group.into_iter().map(|item| item.map(|submission| submissions.push(submission))).collect();
        let mut lines = Vec::new();
        match self.submit(caller, actor, submissions).await {
            Ok(mut outcomes) => {
                for item in read {
                    let outcome = item.and_then(|()| outcomes.next().ok_or_else(Problem::internal)?);
                    self.write_result(&outcome, &mut lines);
                }
            }
            // Earlier groups are durable and reported, so the remaining items need a result too. Sending them again is safe.
            Err(problem) => read.iter().for_each(|_| self.write_result(&Err(problem.clone()), &mut lines)),
        }
        lines
    }

    fn write_result(&self, result: &Result<SubmitOutcome, Problem>, lines: &mut Vec<u8>) {
        match result {
            Ok(outcome) => {
                let status = if outcome.new { 201 } else { 200 };
                let address = json::text(self.site.activity_url(outcome.id));
                let line = format!("{{\"status\":{status},\"ActivityUrl\":{address}}}");
                lines.extend_from_slice(line.as_bytes());
            }
            Err(problem) => lines.extend_from_slice(&problem.line(&self.site)),
        }
        lines.push(b'\n');
    }
}

/// The next items, up to the first with the same external key as an earlier one: it is a later version of that.
fn next_group(
    items: &mut Peekable<impl Iterator<Item = Result<Submission, Problem>>>,
    actor: &Account,
) -> Vec<Result<Submission, Problem>> {
    let mut group = Vec::new();
    let mut seen = HashSet::new();
    while group.len() < MAX_GROUP
        && let Some(next) = items.next_if(|item| {
            let source = item.as_ref().ok().and_then(|item| item.external_key(actor.uid));
            source.is_none_or(|source| seen.insert(source))
        })
    {
        group.push(next);
    }
    group
}
