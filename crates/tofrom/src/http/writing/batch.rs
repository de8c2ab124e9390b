//! `POST /200909/activity/{user}/from`: many activities at once, each taken or refused by itself.

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

/// How many are taken in at once: a group is one write.
const GROUP: usize = 200;

const NDJSON: &str = "application/x-ndjson";
/// What may be sent, for whoever sends something else.
const ACCEPTS: &str = "application/x-ndjson, application/atom+xml";

/// How the activities are written.
#[derive(Clone, Copy)]
enum Many {
    /// A JSON object a line.
    Lines,
    /// An Atom feed.
    Feed,
}

impl Many {
    fn of_media_type(media_type: &str) -> Option<Many> {
        match media_type {
            NDJSON => Some(Many::Lines),
            "application/atom+xml" => Some(Many::Feed),
            _ => None,
        }
    }

    /// How each of them is written.
    fn form(self) -> Format {
        match self {
            Many::Lines => Format::Json,
            Many::Feed => Format::Atom,
        }
    }

    /// What each of them says, or why that can't be read.
    fn read(self, body: &[u8]) -> Result<Vec<Result<RawActivity, Unreadable>>, Unreadable> {
        match self {
            Many::Lines => lines(body),
            Many::Feed => read_feed(body),
        }
    }
}

/// An activity a line; a blank line says nothing.
fn lines(body: &[u8]) -> Result<Vec<Result<RawActivity, Unreadable>>, Unreadable> {
    let lines = || body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    if lines().count() > MAX_ENTRIES {
        return Err(Unreadable::TooMany);
    }
    Ok(lines().map(|line| read_activity(line, Format::Json)).collect())
}

impl Service {
    /// Takes in what comes at once; answers with a line for each, group by group: a slow cluster may need longer for all
    /// of them than an answer may take to begin.
    pub(in crate::http) async fn take_batch(
        self: Arc<Self>,
        caller: Arc<Principal>,
        request: Request,
    ) -> Result<Response, Problem> {
        let actor = self.open_for_writing(&caller, address::user(request.uri().path())).await?;
        let (head, sent) = request.into_parts();
        let many = incoming::kind_of(&head.headers, ACCEPTS, Many::of_media_type)?;
        let body = body::read(sent, MAX_FEED).await?;
        // Activities of this number can't be in memory for as many as may ask at once. The turn comes after the body,
        // which arrives as slowly as its sender likes.
        let turn = Arc::clone(&self.batches).acquire_owned().await.map_err(|_| Problem::internal())?;
        // Megabytes take a while to read; others must not wait for that.
        let items = tokio::task::spawn_blocking(move || many.read(&body)).await;
        let items = items.map_err(|_| Problem::internal())??;
        body::release(&head.extensions);
        let form = many.form();
        let submitted = items.into_iter().map(move |item| Ok(Submission { raw: item?, form }));
        let mut submitted = submitted.peekable();
        let first = self.take_group(&caller, &actor, next_group(&mut submitted, &actor)).await;
        let body = if submitted.peek().is_none() {
            Body::from(first)
        } else {
            let rest = stream::unfold((submitted, turn), move |(mut submitted, turn)| {
                let (service, caller, actor) = (Arc::clone(&self), Arc::clone(&caller), Arc::clone(&actor));
                async move {
                    let group = next_group(&mut submitted, &actor);
                    if group.is_empty() {
                        return None;
                    }
                    Some((service.take_group(&caller, &actor, group).await, (submitted, turn)))
                }
            });
            let lines =
                stream::iter([first]).chain(rest).map(|lines| Ok::<_, Infallible>(Bytes::from(lines)));
            Body::from_stream(lines)
        };
        Ok(([(CONTENT_TYPE, NDJSON)], body).into_response())
    }

    /// Takes a group in, and says of each of its items on a line what became of it.
    async fn take_group(
        &self,
        caller: &Principal,
        actor: &Account,
        group: Vec<Result<Submission, Problem>>,
    ) -> Vec<u8> {
        let (size, mut lines) = (group.len(), Vec::new());
        match self.take_in(caller, actor, group).await {
            Ok(taken) => taken.iter().for_each(|one| self.tell(one, &mut lines)),
            // What came before is on disk and told of, so the rest must be told of too. To send it again is safe.
            Err(problem) => (0..size).for_each(|_| self.tell(&Err(problem.clone()), &mut lines)),
        }
        lines
    }

    fn tell(&self, one: &Result<SubmitOutcome, Problem>, answer: &mut Vec<u8>) {
        match one {
            Ok(taken) => {
                let status = if taken.new { 201 } else { 200 };
                let address = json::text(self.site.activity_url(taken.id));
                let line = format!("{{\"status\":{status},\"ActivityUrl\":{address}}}");
                answer.extend_from_slice(line.as_bytes());
            }
            Err(problem) => answer.extend_from_slice(&problem.line(&self.site)),
        }
        answer.push(b'\n');
    }
}

/// The next items, up to one that is of the same address as one before it: that builds upon it.
fn next_group(
    items: &mut Peekable<impl Iterator<Item = Result<Submission, Problem>>>,
    actor: &Account,
) -> Vec<Result<Submission, Problem>> {
    let mut group = Vec::new();
    let mut met = HashSet::new();
    while group.len() < GROUP
        && let Some(next) = items.next_if(|item| {
            let source = item.as_ref().ok().and_then(|one| one.source(actor));
            source.is_none_or(|source| met.insert(source))
        })
    {
        group.push(next);
    }
    group
}
