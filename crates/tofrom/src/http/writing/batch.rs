//! `POST /200909/activity/{user}/from`: a batch of activities. Each is accepted or rejected separately.

use super::super::{Problem, Service, body};
use super::submit::{Submission, SubmitOutcome};
use super::{address, incoming};
use crate::auth::Principal;
use crate::ingest::{MAX_ENTRIES, MAX_FEED, RawActivity, Unreadable, read_activity, read_feed};
use crate::json;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use futures::{StreamExt, stream};
use http::header::CONTENT_TYPE;
use model::{Account, Format};
use std::collections::HashSet;
use std::convert::Infallible;
use std::iter::Peekable;
use std::sync::Arc;

/// The maximum number of activities in one store write.
const MAX_GROUP: usize = 200;

const NDJSON: &str = "application/x-ndjson";
/// The supported media types, for the problem document.
const ACCEPTS: &str = "application/x-ndjson, application/atom+xml";

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
    fn form(self) -> Format {
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

impl Service {
    /// Submits a batch. The response has one line for each activity and is streamed group by group, because on a slow
    /// cluster the whole batch may take longer than a response may take to begin.
    pub(in crate::http) async fn submit_batch(
        self: Arc<Self>,
        caller: Arc<Principal>,
        request: Request,
    ) -> Result<Response, Problem> {
        let actor = self.open_for_writing(&caller, address::user(request.uri().path())).await?;
        let (head, sent) = request.into_parts();
        let batch_format = incoming::kind_of(&head.headers, ACCEPTS, BatchFormat::of_media_type)?;
        let body = body::read(sent, MAX_FEED).await?;
        // The number of batches in memory is limited. The permit is acquired after the body has arrived, because that
        // takes as long as the sender likes.
        let permit = Arc::clone(&self.batches).acquire_owned().await.map_err(|_| Problem::internal())?;
        // Parsing megabytes takes a while and must not block other requests.
        let items = tokio::task::spawn_blocking(move || batch_format.read(&body)).await;
        let items = items.map_err(|_| Problem::internal())??;
        body::release(&head.extensions);
        let form = batch_format.form();
        let submitted = items.into_iter().map(move |item| Ok(Submission { raw: item?, form }));
        let mut submitted = submitted.peekable();
        let first = self.submit_group(&caller, &actor, next_group(&mut submitted, &actor)).await;
        let body = if submitted.peek().is_none() {
            Body::from(first)
        } else {
            let rest = stream::unfold((submitted, permit), move |(mut submitted, permit)| {
                let (service, caller, actor) = (Arc::clone(&self), Arc::clone(&caller), Arc::clone(&actor));
                async move {
                    let group = next_group(&mut submitted, &actor);
                    if group.is_empty() {
                        return None;
                    }
                    Some((service.submit_group(&caller, &actor, group).await, (submitted, permit)))
                }
            });
            let lines =
                stream::iter([first]).chain(rest).map(|lines| Ok::<_, Infallible>(Bytes::from(lines)));
            Body::from_stream(lines)
        };
        Ok(([(CONTENT_TYPE, NDJSON)], body).into_response())
    }

    /// Submits a group and writes a result line for each of its items.
    async fn submit_group(
        &self,
        caller: &Principal,
        actor: &Account,
        group: Vec<Result<Submission, Problem>>,
    ) -> Vec<u8> {
        let (size, mut lines) = (group.len(), Vec::new());
        match self.submit(caller, actor, group).await {
            Ok(outcome) => outcome.iter().for_each(|result| self.write_result(result, &mut lines)),
            // Earlier groups are durable and reported, so the remaining items need a result too. Sending them again is safe.
            Err(problem) => (0..size).for_each(|_| self.write_result(&Err(problem.clone()), &mut lines)),
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
            let source = item.as_ref().ok().and_then(|result| result.source(actor));
            source.is_none_or(|source| seen.insert(source))
        })
    {
        group.push(next);
    }
    group
}
