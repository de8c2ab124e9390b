//! `POST /200909/activity/{user}/from`: many activities at once, each taken or refused by itself.

use super::super::{Problem, Service, body};
use super::taking::{Submitted, Taken};
use super::{address, incoming};
use crate::auth::Principal;
use crate::ingest::{MAX_ENTRIES, MAX_FEED, RawActivity, Unreadable, read_activity, read_feed};
use crate::json;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use model::{Account, Format};
use std::collections::HashSet;
use std::iter::Peekable;

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
    /// Takes in what comes at once; answers with a line for each.
    pub(in crate::http) async fn take_batch(
        &self,
        caller: &Principal,
        request: Request,
    ) -> Result<Response, Problem> {
        let actor = self.open_for_writing(caller, address::user(request.uri().path())).await?;
        let (head, sent) = request.into_parts();
        let many = incoming::kind_of(&head.headers, ACCEPTS, Many::of_media_type)?;
        // Bodies of this size can't be in memory for as many as may ask at once.
        let _turn = self.batches.acquire().await.map_err(|_| Problem::internal())?;
        let body = body::read(sent, MAX_FEED).await?;
        // Megabytes take a while to read; others must not wait for that.
        let items = tokio::task::spawn_blocking(move || many.read(&body)).await;
        let items = items.map_err(|_| Problem::internal())??;
        let answer = self.take_all(caller, &actor, items, many.form()).await;
        Ok(([(CONTENT_TYPE, NDJSON)], answer).into_response())
    }

    /// Takes the items in, group by group, and says of each on a line what became of it.
    async fn take_all(
        &self,
        caller: &Principal,
        actor: &Account,
        items: Vec<Result<RawActivity, Unreadable>>,
        form: Format,
    ) -> Vec<u8> {
        let submitted = items.into_iter().map(|item| Ok(Submitted { raw: item?, form }));
        let mut submitted = submitted.peekable();
        let mut answer = Vec::new();
        loop {
            let group = next_group(&mut submitted, actor);
            if group.is_empty() {
                return answer;
            }
            let size = group.len();
            match self.take_in(caller, actor, group).await {
                Ok(taken) => taken.iter().for_each(|one| self.tell(one, &mut answer)),
                // What came before is on disk and told of, so the rest must be told of too. To send it again is safe.
                Err(problem) => (0..size).for_each(|_| self.tell(&Err(problem.clone()), &mut answer)),
            }
        }
    }

    fn tell(&self, one: &Result<Taken, Problem>, answer: &mut Vec<u8>) {
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
    items: &mut Peekable<impl Iterator<Item = Result<Submitted, Problem>>>,
    actor: &Account,
) -> Vec<Result<Submitted, Problem>> {
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
