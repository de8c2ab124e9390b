//! Switches accounts between push and pull by their number of followers.
//!
//! Before an account switches to pull, every follower is assigned a fan-out mode; from then on every new follower is
//! too. So at any moment each follower of an actor in pull mode either merges the actor's entries when it reads, or
//! gets them pushed.

use super::task::Context;
use futures::{StreamExt, TryStreamExt, stream};
use model::{Edge, FanoutMode, FanoutStage, FanoutState, Fnv, Uid};
use store::{Result, Store, Work};

/// Followers prepared per task, and concurrently.
const PAGE: usize = 1_000;
const CONCURRENCY: usize = 32;
/// Follower counts per `pull_above` changes of edges.
const COUNTS_PER_THRESHOLD: usize = 8;

async fn fanout_state(store: &dyn Store, uid: Uid) -> Result<FanoutState> {
    Ok(store.fanout_states(&[uid]).await?.into_iter().next().unwrap_or_default())
}

/// Assigns the fan-out mode of a new edge.
pub(super) async fn assign(
    ctx: Context<'_>,
    follower: Uid,
    followee: Uid,
    edge: &Edge,
) -> Result<FanoutMode> {
    if !fanout_state(ctx.store, followee).await?.stage.is_prepared() {
        return Ok(FanoutMode::Push);
    }
    ctx.store.assign_mode(follower, followee, ctx.at, edge.version, ctx.rules.max_pulled).await
}

/// Checks whether the followee switches its mode, after an edge to it was made or ended. Returns the work for that.
pub(super) async fn check_threshold(
    Context { store, rules, .. }: Context<'_>,
    follower: Uid,
    followee: Uid,
) -> Result<Option<Work>> {
    let Some(above) = rules.pull_above else { return Ok(None) };
    if !triggers_count(follower, followee, above) {
        return Ok(None);
    }
    let FanoutState { version, stage } = fanout_state(store, followee).await?;
    let followers = match stage {
        // The maximum means that pull mode is off.
        _ if above == usize::MAX => 0,
        FanoutStage::Pull => count(store, followee, above / 2 + 1).await?,
        _ => count(store, followee, above + 1).await?,
    };
    match stage.with_followers(followers, above) {
        same if same == stage => Ok(None),
        FanoutStage::Preparing => Ok(Some(Work::PrepareFollowers { uid: followee, after: None })),
        stage => {
            store.put_fanout_state(followee, &FanoutState { version: version.following(), stage }).await?;
            Ok(None)
        }
    }
}

/// Assigns modes to the followers after `after`, and switches the account to pull after the last one.
pub(super) struct PrepareFollowers {
    pub(super) uid: Uid,
    pub(super) after: Option<Uid>,
}

impl PrepareFollowers {
    pub(super) async fn run(self, Context { store, rules, .. }: Context<'_>) -> Result<Option<Work>> {
        let PrepareFollowers { uid, after } = self;
        let FanoutState { version, stage } = fanout_state(store, uid).await?;
        let prepared = match stage {
            // This is stored first, so that followers who arrive meanwhile are assigned a mode too.
            FanoutStage::Push => {
                let preparing = FanoutState { version: version.following(), stage: FanoutStage::Preparing };
                store.put_fanout_state(uid, &preparing).await?;
                preparing
            }
            FanoutStage::Preparing => FanoutState { version, stage },
            FanoutStage::Pull | FanoutStage::Reverted => return Ok(None),
        };
        let followers = store.followers(uid, after, PAGE).await?;
        let assignments: Vec<_> = followers
            .iter()
            .map(|follower| {
                store.assign_mode(follower.uid, uid, follower.since, follower.version, rules.max_pulled)
            })
            .collect();
        stream::iter(assignments).buffer_unordered(CONCURRENCY).try_collect::<Vec<FanoutMode>>().await?;
        if let Some(last) = followers.last().filter(|_| followers.len() == PAGE) {
            return Ok(Some(Work::PrepareFollowers { uid, after: Some(last.uid) }));
        }
        let pulled = FanoutState { version: prepared.version.following(), stage: FanoutStage::Pull };
        store.put_fanout_state(uid, &pulled).await?;
        tracing::info!(account = uid.0, "fan-out mode switched to pull");
        Ok(None)
    }
}

/// Whether a change of this edge triggers a count of the followers: the higher the threshold, the rarer.
fn triggers_count(follower: Uid, followee: Uid, above: usize) -> bool {
    let hash = Fnv::new().bytes(&follower.0.to_be_bytes()).bytes(&followee.0.to_be_bytes()).finish();
    let interval = (above.min(1 << 20) / COUNTS_PER_THRESHOLD).max(1) as u64;
    hash.is_multiple_of(interval)
}

/// Number of the account's followers, counted up to `max`.
async fn count(store: &dyn Store, uid: Uid, max: usize) -> Result<usize> {
    let (mut counted, mut after) = (0, None);
    while counted < max {
        let limit = (max - counted).min(PAGE);
        let page = store.followers(uid, after, limit).await?;
        counted += page.len();
        after = page.last().map(|follower| follower.uid);
        if page.len() < limit {
            break;
        }
    }
    Ok(counted)
}
