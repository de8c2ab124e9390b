//! Runs one task: each kind of work is a type whose `run` returns the remaining work. Tasks are idempotent: the keys of
//! all writes come from the task and the state.

use super::block::Block;
use super::catch_up::CatchUp;
use super::dormancy::BecomeDormant;
use super::edge::{RemoveFollowed, UpdateEdge};
use super::mode::PrepareFollowers;
use super::version::{DeliverToFollowers, DeliverVersion};
use super::{Hub, Rules};
use model::{ActivityId, Entry, EntryReason, EntryReasons, Filter, Order, Position, SortKey, State, Uid};
use store::trace::{self, SPANS};
use store::{Result, Slice, Store, Task, TracedWork, Work};
use tracing::{Instrument, Span, field, info_span};

/// Followers notified of an account change per task.
const FOLLOWERS_PER_TASK: usize = 2_000;
/// Own activities scanned per task for their recipients.
const PAGE: usize = 500;

/// What a task runs with.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) hub: &'a Hub,
    pub(super) rules: &'a Rules,
    /// The position of the task.
    pub(super) at: Position,
}

impl Context<'_> {
    /// The current state of an activity.
    pub(super) async fn state(&self, id: ActivityId) -> Result<Option<State>> {
        Ok(self.store.states(&[id]).await?.into_iter().flatten().next())
    }

    /// Writes entries at the position of the task.
    pub(super) async fn deliver(&self, entries: Vec<(Uid, Entry)>) -> Result<()> {
        let span = info_span!(target: SPANS, "deliver", tofrom.entries = entries.len() as i64);
        self.store.deliver(self.at, entries).instrument(span).await
    }

    /// Notes a change in the collections of these accounts and wakes their watchers.
    pub(super) async fn note_changes(&self, uids: Vec<Uid>) -> Result<()> {
        self.store.note_changes(self.at, &uids).await?;
        self.hub.wake_later(uids);
        Ok(())
    }
}

/// Runs a task. Returns the remaining work, in the trace of the task.
pub(super) async fn run(
    store: &dyn Store,
    hub: &Hub,
    rules: &Rules,
    task: &Task,
) -> Result<Option<TracedWork>> {
    let (ctx, span) = (Context { store, hub, rules, at: task.position }, span_of(task));
    let result = run_work(ctx, task.work.clone()).instrument(span.clone()).await;
    if let Err(error) = &result {
        span.record("otel.status_description", field::display(error));
    }
    Ok(result?.map(|more| more.in_trace(task.trace)))
}

/// The span of a task whose trace is recorded. It follows the span that left the task behind.
fn span_of(task: &Task) -> Span {
    let Some(context) = task.trace else { return Span::none() };
    let kind = kind(&task.work);
    let span = info_span!(
        target: SPANS, parent: None, "task", otel.name = %format_args!("task {kind}"), otel.kind = "consumer",
        tofrom.task = kind, tofrom.position = task.position.0.cast_signed(),
        tofrom.attempts = i64::from(task.attempts), otel.status_description = field::Empty
    );
    trace::set_parent(&span, context);
    span
}

/// The kind of a task in spans.
fn kind(work: &Work) -> &'static str {
    match work {
        Work::Version { .. } => "version",
        Work::Followers { .. } => "followers",
        Work::Edge { .. } => "edge",
        Work::Account { .. } => "account",
        Work::Addressed { .. } => "addressed",
        Work::Change { .. } => "change",
        Work::Block { .. } => "block",
        Work::RemoveFollowed { .. } => "remove followed",
        Work::Removal { .. } => "removal",
        Work::PrepareFollowers { .. } => "prepare followers",
        Work::BecomeDormant { .. } => "become dormant",
        Work::CatchUp { .. } => "catch up",
    }
}

async fn run_work(ctx: Context<'_>, work: Work) -> Result<Option<Work>> {
    match work {
        Work::Version { id, version, prior, accepted } => {
            DeliverVersion { id, version, prior, accepted }.run(ctx).await
        }
        Work::Followers { id, version, prior, accepted, after } => {
            DeliverToFollowers { id, version, prior, accepted, after: Some(after) }.run(ctx).await
        }
        Work::Edge { follower, followee, version, following } => {
            UpdateEdge { follower, followee, version, following }.run(ctx).await
        }
        Work::Account { uid, after } => NotifyFollowers { uid, after }.run(ctx).await,
        Work::Addressed { uid, after } => NotifyRecipients { uid, after }.run(ctx).await,
        Work::Change { uid } => {
            ctx.note_changes(vec![uid]).await?;
            Ok(None)
        }
        Work::Block { owner, other } => Block { owner, other }.run(ctx).await,
        Work::RemoveFollowed { follower, followee, after } => {
            RemoveFollowed { follower, followee, after }.run(ctx).await
        }
        Work::Removal { owner, id } => DeliverRemoval { owner, id }.run(ctx).await,
        Work::PrepareFollowers { uid, after } => PrepareFollowers { uid, after }.run(ctx).await,
        Work::BecomeDormant { uid, version, after } => BecomeDormant { uid, version, after }.run(ctx).await,
        Work::CatchUp { uid, version, since, after, within } => {
            CatchUp { uid, version, since, after, within }.run(ctx).await
        }
    }
}

/// Notes a change of the account in its own collection and in those of its followers, then of its recipients.
struct NotifyFollowers {
    uid: Uid,
    after: Option<Uid>,
}

impl NotifyFollowers {
    async fn run(self, ctx: Context<'_>) -> Result<Option<Work>> {
        let NotifyFollowers { uid, after } = self;
        let followers = ctx.store.followers(uid, after, FOLLOWERS_PER_TASK).await?;
        let mut notified: Vec<Uid> = followers.iter().map(|follower| follower.uid).collect();
        let next = (notified.len() == FOLLOWERS_PER_TASK).then(|| notified.last().copied()).flatten();
        if after.is_none() {
            notified.push(uid);
        }
        ctx.note_changes(notified).await?;
        Ok(Some(match next {
            Some(last) => Work::Account { uid, after: Some(last) },
            None => Work::Addressed { uid, after: None },
        }))
    }
}

/// Notes a change of the account in the collections of its activities' recipients.
struct NotifyRecipients {
    uid: Uid,
    after: Option<SortKey>,
}

impl NotifyRecipients {
    async fn run(self, ctx: Context<'_>) -> Result<Option<Work>> {
        let NotifyRecipients { uid, after } = self;
        let filter = Filter::default();
        let own = ctx.store.slice(&Slice::own(uid, Order::Received, &filter, after, PAGE)).await?;
        // Retracted entries and prior recipients count too: this is their only notification that an activity of the
        // account is no longer visible to them.
        let ids: Vec<_> = own.iter().map(|entry| entry.id).collect();
        let (states, prior) = (ctx.store.states(&ids).await?, ctx.store.prior_audiences(&ids).await?);
        let present = states.into_iter().flatten().flat_map(|state| state.addressed);
        let before = prior.into_iter().flatten().flat_map(|before| before.addressed);
        let mut notified: Vec<Uid> = present.chain(before).collect();
        notified.sort_unstable();
        notified.dedup();
        ctx.note_changes(notified).await?;
        let last = own.last().filter(|_| own.len() == PAGE).map(|entry| entry.sort_key(Order::Received));
        Ok(last.map(|sort_key| Work::Addressed { uid, after: Some(sort_key) }))
    }
}

/// Retracts an activity that the owner of a collection removed from it.
struct DeliverRemoval {
    owner: Uid,
    id: ActivityId,
}

impl DeliverRemoval {
    async fn run(self, ctx: Context<'_>) -> Result<Option<Work>> {
        let DeliverRemoval { owner, id } = self;
        let Some(state) = ctx.state(id).await? else { return Ok(None) };
        let reasons = [EntryReason::Addressed, EntryReason::Followed].into_iter().collect::<EntryReasons>();
        let entry = Entry { reasons, ..Entry::of(&state, EntryReason::Addressed, true) };
        ctx.deliver(vec![(owner, entry)]).await?;
        ctx.hub.wake_later([owner]);
        Ok(None)
    }
}
