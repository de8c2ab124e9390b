//! Accounts with very many followers: what they do is not pushed, but pulled by those who read.
//!
//! An account changes over when enough follow it, and back when few enough do. Before it does, each of its followers gets
//! to know by which mode things come to it; from then on every new one does. So whatever is marked as pulled, in whichever
//! moment, everybody whom it concerns looks for it, or gets it pushed.

use super::Rules;
use futures::{StreamExt, TryStreamExt, stream};
use model::{Edge, FanoutMode, FanoutStage, FanoutState, Fnv, Position, Uid};
use store::{Result, Store, Work};

/// Followers that are prepared in one go, and at once.
const PAGE: usize = 1_000;
const CONCURRENCY: usize = 32;
/// Of as many changes as the threshold has followers, so many count them.
const COUNTED: usize = 8;

async fn fanout_state(store: &dyn Store, uid: Uid) -> Result<FanoutState> {
    Ok(store.fanout_states(&[uid]).await?.into_iter().next().unwrap_or_default())
}

/// By which mode what is marked as pulled comes over a new edge.
pub(super) async fn assign(
    store: &dyn Store,
    rules: &Rules,
    follower: Uid,
    followee: Uid,
    at: Position,
    edge: &Edge,
) -> Result<FanoutMode> {
    if !fanout_state(store, followee).await?.stage.is_prepared() {
        return Ok(FanoutMode::Push);
    }
    store.assign_mode(follower, followee, at, edge.version, rules.max_pulled).await
}

/// Looks whether an account changes over, now that an edge to it was made or ended; gives what is to be done for that.
pub(super) async fn look(
    store: &dyn Store,
    rules: &Rules,
    follower: Uid,
    followee: Uid,
) -> Result<Option<Work>> {
    let Some(above) = rules.pull_above else { return Ok(None) };
    if !is_counted(follower, followee, above) {
        return Ok(None);
    }
    let FanoutState { version, stage } = fanout_state(store, followee).await?;
    let followers = match stage {
        // However many: nobody is pulled any more.
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

/// Prepares the followers after `after`; and when all are, lets the account be pulled. Gives what is still to be done.
pub(super) async fn prepare(
    store: &dyn Store,
    rules: &Rules,
    uid: Uid,
    after: Option<Uid>,
) -> Result<Option<Work>> {
    let FanoutState { version, stage } = fanout_state(store, uid).await?;
    let prepared = match stage {
        // First of all, so that whoever begins to follow meanwhile prepares too.
        FanoutStage::Push => {
            let begun = FanoutState { version: version.following(), stage: FanoutStage::Preparing };
            store.put_fanout_state(uid, &begun).await?;
            begun
        }
        FanoutStage::Preparing => FanoutState { version, stage },
        FanoutStage::Pull | FanoutStage::Reverted => return Ok(None),
    };
    let followers = store.followers(uid, after, PAGE).await?;
    let choices =
        followers.iter().map(|one| store.assign_mode(one.uid, uid, one.since, one.version, rules.max_pulled));
    let choices: Vec<_> = choices.collect();
    stream::iter(choices).buffer_unordered(CONCURRENCY).try_collect::<Vec<FanoutMode>>().await?;
    if let Some(last) = followers.last().filter(|_| followers.len() == PAGE) {
        return Ok(Some(Work::PrepareFollowers { uid, after: Some(last.uid) }));
    }
    let pulled = FanoutState { version: prepared.version.following(), stage: FanoutStage::Pull };
    store.put_fanout_state(uid, &pulled).await?;
    tracing::info!(account = uid.0, "very many follow an account: what it does is pulled from now on");
    Ok(None)
}

/// Whether followers are counted when this edge changes: the more it takes, the more rarely.
fn is_counted(follower: Uid, followee: Uid, above: usize) -> bool {
    let mixed = Fnv::new().bytes(&follower.0.to_be_bytes()).bytes(&followee.0.to_be_bytes()).finish();
    let rarely = (above.min(1 << 20) / COUNTED).max(1) as u64;
    mixed.is_multiple_of(rarely)
}

/// How many follow the account, counted up to `most`.
async fn count(store: &dyn Store, uid: Uid, most: usize) -> Result<usize> {
    let (mut counted, mut after) = (0, None);
    while counted < most {
        let asked = (most - counted).min(PAGE);
        let page = store.followers(uid, after, asked).await?;
        counted += page.len();
        after = page.last().map(|one| one.uid);
        if page.len() < asked {
            break;
        }
    }
    Ok(counted)
}
