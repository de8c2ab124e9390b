//! The properties that must hold once everything is delivered.

use super::super::support::chance::Chance;
use super::clients::{Came, Client, Seen, Sort};
use super::sequence::{Broken, Stage, Subject, any_filter};
use model::{ActivityId, Collection, FeedQuery, Filter, Order, Reader, Start, Uid, Version, Visibility};
use std::collections::BTreeMap;

pub(crate) const COLLECTIONS: [Collection; 3] = [Collection::To, Collection::From, Collection::ToFrom];

/// Checks every client and every collection.
pub(super) async fn pronounce(stage: &mut Stage<'_>, chance: &mut Chance) -> Result<(), Broken> {
    for number in 0..stage.clients.len() {
        let size = *chance.pick(&[1, 2, 100]);
        stage.look(number, size, true, None).await?;
        let client = &stage.clients[number];
        if stage.may_look(client) {
            told_everything_once(stage, client)?;
            let told = client.shown.clone();
            stage.look(number, 10, true, None).await?;
            if told != stage.clients[number].shown {
                return Err(format!("{} is told something though nothing happens", stage.clients[number]));
            }
        }
    }
    let uids: Vec<Uid> = stage.naive.accounts.iter().filter(|a| !a.removed).map(|a| a.uid).collect();
    for owner in &uids {
        for collection in COLLECTIONS {
            let order = *chance.pick(&[Order::Received, Order::Published]);
            walk(stage, chance, Reader::Owner, query(*owner, collection, order, Filter::default())).await?;
        }
        let reader = stage.naive.reader(*chance.pick(&uids), *owner);
        let (collection, order) =
            (*chance.pick(&COLLECTIONS), *chance.pick(&[Order::Received, Order::Published]));
        let filter = if chance.one_in(2) { Filter::default() } else { any_filter(chance, stage.first) };
        let query = query(*owner, collection, order, filter);
        walk(stage, chance, reader, query.clone()).await?;
        start(stage, chance, Reader::Owner, query).await?;
    }
    Ok(())
}

/// A poller was shown every arrival, and none twice; the events of a stream add up to the collection.
fn told_everything_once(stage: &Stage<'_>, client: &Client) -> Result<(), Broken> {
    let missed = |(seen, came): (&Seen, &Came)| {
        (*came == Came::ByArrival && !client.shown.contains_key(seen)).then_some(*seen)
    };
    if client.sort == Sort::Poller
        && let Some((id, version)) = client.visible.iter().find_map(missed)
    {
        return Err(format!("{client} was never shown {id} in version {}", version.0));
    }
    let expected: BTreeMap<ActivityId, Version> = client.visible.keys().copied().collect();
    // An activity was public when the reader followed, became followers-only, and changed again before the reader was
    // notified. Its retraction may be missing, because only the narrowing version carried it.
    let untold = |id: &ActivityId| {
        let state = &stage.naive.states[id];
        !expected.contains_key(id) && !state.deleted && state.visibility == Visibility::Followers
    };
    let view: BTreeMap<_, _> =
        client.view.iter().filter(|(id, _)| !untold(id)).map(|(id, version)| (*id, *version)).collect();
    if client.sort == Sort::Stream && view != expected {
        return Err(format!("{client} thinks that there is {view:?}, but there is {expected:?}"));
    }
    for (seen, times) in &client.shown {
        let came = client.came.get(seen).copied().unwrap_or(0);
        if *times > came && !may_be_told_again(stage, client, seen.0) {
            return Err(format!("{client} was shown {seen:?} {times} times, though it came {came} times"));
        }
    }
    Ok(())
}

/// Its delivery failed and was logged twice.
fn may_be_told_again(stage: &Stage<'_>, client: &Client, id: ActivityId) -> bool {
    let actor = stage.naive.states[&id].actor;
    stage.logged_twice.contains(&Subject::Activity(id))
        || stage.logged_twice.contains(&Subject::Edge(client.query.owner, actor))
        || stage.logged_twice.contains(&Subject::Return(client.query.owner))
}

pub(crate) fn query(owner: Uid, collection: Collection, order: Order, filter: Filter) -> FeedQuery {
    FeedQuery { owner, collection, order, filter, start: Start::Skip(0), count: 1, format: None }
}

/// A walk in pages of any size gives the expected collection.
async fn walk(
    stage: &Stage<'_>,
    chance: &mut Chance,
    reader: Reader,
    query: FeedQuery,
) -> Result<(), Broken> {
    let expected = stage.naive.collection(reader, &query);
    let count = u32::try_from(*chance.pick(&[1, 3, 20, 200])).unwrap();
    let mut walked = Vec::new();
    let mut next = FeedQuery { count, ..query.clone() };
    loop {
        let page = stage.ground.feed.page(reader, &next).await.map_err(|error| error.to_string())?;
        walked.extend(page.items.iter().map(|item| (item.state.id, item.state.version)));
        let Some(start) = page.next else { break };
        next = next.from(start);
    }
    if walked != expected {
        return Err(format!("{reader:?} walks {query:?} and finds {walked:?} instead of {expected:?}"));
    }
    Ok(())
}

/// A page from any start offset gives the expected items.
async fn start(
    stage: &Stage<'_>,
    chance: &mut Chance,
    reader: Reader,
    query: FeedQuery,
) -> Result<(), Broken> {
    let expected = stage.naive.collection(reader, &query);
    let skipped = chance.below(expected.len() + 1);
    let from = FeedQuery { count: 2, ..query.from(Start::Skip(u32::try_from(skipped).unwrap())) };
    let page = stage.ground.feed.page(reader, &from).await.map_err(|error| error.to_string())?;
    let found: Vec<Seen> = page.items.iter().map(|item| (item.state.id, item.state.version)).collect();
    let expected: Vec<Seen> = expected.into_iter().skip(skipped).take(2).collect();
    if found != expected {
        return Err(format!(
            "{reader:?} starts {query:?} at {skipped} and finds {found:?}, not {expected:?}"
        ));
    }
    Ok(())
}
